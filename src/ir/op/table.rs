//! The rows.
//!
//! Names are nv50_ir's neutral ones. The comment on a row gives its operands and meaning; `d` is
//! the destination, `a b c` the sources, each of the instruction's type unless said otherwise. What
//! no machine instruction performs is marked with the pass that removes it. The comments are what
//! `nvir ir` prints.

use super::row::*;
use crate::ir::Space;

macro_rules! ops {
    ($($(#[doc = $doc:literal])* $var:ident $name:literal = $row:expr;)*) => {
        /// An operation; see the module's documentation for the notation.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])* $var,)* }

        static ROWS: &[Row] = &[$($row.named($name, &[$($doc),*]),)*];
        const NAMES_AND_FLAGS: &[(&str, u16, u8)] = &[$(($name, $row.flags, $row.least() as u8),)*];

        const MODIFIABLE: &[bool] = &[$($row.is_modifiable(),)*];

        impl Op {
            pub const ALL: &'static [Op] = &[$(Op::$var,)*];
        }
    };
}

/// A number with all its modifiers: neg and abs of floats, neg of integers.
const N: Source = Source::TY.float().neg();
/// A float with its modifiers; an integer without.
const F: Source = Source::TY.float();
/// Bits, which may be complemented.
const B: Source = Source::TY.not();
const A: Source = Source::TY;
const W: Source = Source::WORD;
const P: Source = Source::PRED;
const T: Source = Source::TUPLE;

const BITS: Types = Types::INT.union(Types::PRED);
const ARITHMETIC: u16 = FTZ | RND;
const CARRY: u16 = CARRY_IN | CARRY_OUT;

const WRITABLE: &[Space] = &[
    Space::Global,
    Space::Shared,
    Space::Local,
    Space::Buffer,
    Space::Generic,
    Space::Output,
    Space::PatchOutput,
];
const ATOMIC: &[Space] = &[Space::Global, Space::Shared, Space::Buffer, Space::Generic];

ops! {
    // ---- moves and choices
    /// `d = a`
    Mov "mov" = Row::new(Types::WHOLE.union(Types::PRED), &[Source::TY.float().neg().abs().not()]).flags(WIDE);
    /// no value was written: any bits, differing from use to use
    Undef "undef" = Row::new(Types::ALL, &[]).flags(WIDE);
    /// `d = c ? a : b`, c a predicate
    Sel "sel" = Row::new(Types::WHOLE.union(Types::PRED), &[A, A, P]);
    /// `d = (c cond 0) ? a : b`, c of the source type
    Slct "slct" = Row::new(Types::NUMBER, &[A, A, Source::STY])
        .from(Types::WORD.union(Types::WIDE).union(Types::F32)).flags(COND | FTZ);

    // ---- integer (u32 s32; u64 s64 until lower/int64) and float arithmetic (f32, f64)
    /// `d = a + b (+ carry)`
    Add "add" = Row::new(Types::NUMBER, &[N, N]).sat(Types::F32).flags(COMMUTES | CARRY | ARITHMETIC);
    /// `d = a - b (- borrow)`: the carry is the machine's, set when there is no borrow
    Sub "sub" = Row::new(Types::NUMBER, &[N, N]).sat(Types::F32).flags(CARRY | ARITHMETIC);
    /// `d = a + b`, the nearest number of 32 bits where that is none
    AddSat "addsat" = Row::new(Types::new(&[crate::ir::Type::S32]), &[A, A]).flags(COMMUTES);
    /// `d = a - b`, likewise
    SubSat "subsat" = Row::new(Types::new(&[crate::ir::Type::S32]), &[A, A]);
    /// `d = a * b`, the low half for integers
    Mul "mul" = Row::new(Types::NUMBER, &[F, F]).sat(Types::F32).flags(COMMUTES | ARITHMETIC);
    /// `d = a * b`, but 0 if either is 0 (or subnormal), whatever the other is
    MulZ "mulz" = Row::new(Types::F32, &[F, F]).sat(Types::F32).flags(COMMUTES | ARITHMETIC);
    /// high half of the double-width product
    MulHi "mulhi" = Row::new(Types::INT, &[A, A]).flags(COMMUTES | CARRY_OUT);
    /// `d = a * b + c`: integers the low half; floats fused, one rounding
    Mad "mad" = Row::new(Types::NUMBER, &[N, N, N]).sat(Types::F32).flags(COMMUTES | CARRY | ARITHMETIC);
    /// `d = high(a * b) + c`: no negated factor, since the machine negates the whole product
    MadHi "madhi" = Row::new(Types::WORD, &[A, A, N]).flags(COMMUTES | CARRY);
    /// `d = (a << b) + c`, b an immediate below 32
    ShlAdd "shladd" = Row::new(Types::WORD, &[Source::TY.neg(), W.below(32), Source::TY.neg()]).flags(CARRY_OUT);
    /// `d = |a - b| + c`
    Sad "sad" = Row::new(Types::WORD, &[A, A, A]);
    /// quotient, truncated; x / 0 is all ones unsigned (lower/int_div); floats: IEEE for f64, 1 ulp
    /// for f32 (lower/float)
    Div "div" = Row::new(Types::NUMBER, &[F, F]).sat(Types::F32).flags(ARITHMETIC | FRONT);
    /// remainder with the sign of the dividend; x % 0 is all ones (lower/int_div)
    Mod "mod" = Row::new(Types::INT, &[A, A]).flags(FRONT);
    /// `d = -a`
    Neg "neg" = Row::new(Types::NUMBER, &[F]).sat(Types::F32).flags(FTZ);
    /// `d = |a|`
    Abs "abs" = Row::new(Types::NUMBER, &[F]).sat(Types::F32).flags(FTZ);
    /// the lesser; floats: a NaN operand loses (IEEE 754-2008 minNum)
    Min "min" = Row::new(Types::NUMBER, &[F, F]).sat(Types::F32).flags(COMMUTES | FTZ);
    /// the greater; floats: a NaN operand loses
    Max "max" = Row::new(Types::NUMBER, &[F, F]).sat(Types::F32).flags(COMMUTES | FTZ);

    // ---- bits
    /// `d = a & b`
    And "and" = Row::new(BITS, &[B, B]).flags(COMMUTES);
    /// `d = a | b`
    Or "or" = Row::new(BITS, &[B, B]).flags(COMMUTES);
    /// `d = a ^ b`
    Xor "xor" = Row::new(BITS, &[B, B]).flags(COMMUTES);
    /// `d = ~a`
    Not "not" = Row::new(BITS, &[B]);
    /// `d = a << b`: amounts of the width and above give 0; `.wrap`: the amount modulo the width
    Shl "shl" = Row::new(Types::INT, &[A, W]).detail(Detail::Wrap);
    /// `d = a >> b`, arithmetic for signed types: amounts beyond the width give 0 or the sign;
    /// `.wrap` likewise
    Shr "shr" = Row::new(Types::INT, &[A, W]).detail(Detail::Wrap);
    /// funnel shift left: high word of (pair c:a) << b, amount modulo 32; with a source type of 64
    /// bits, of any amount (GK110)
    ShfL "shf.l" = Row::new(Types::WORD, &[A, W, A]).from(Types::INT).flags(WIDE);
    /// funnel shift right: low word of (pair c:a) >> b, amount modulo 32; with a source type of 64
    /// bits, of any amount, and arithmetic if it is signed (GK110)
    ShfR "shf.r" = Row::new(Types::WORD, &[A, W, A]).from(Types::INT).flags(WIDE);
    /// bit field extract: b = position | length << 8; sign-extends for s32
    Ext "ext" = Row::new(Types::WORD, &[A, W]);
    /// bit field insert: low bits of a into c; b = position | length << 8
    Ins "ins" = Row::new(Types::WORD, &[A, W, A]);
    /// `d = number of ones in a (& b)`
    Popc "popc" = Row::new(Types::WORD, &[Source::STY.not(), Source::STY.not().optional()]).from(Types::INT);
    /// position of the highest one (signed: highest bit unlike the sign), -1 if none; `.shift`: as
    /// a shift amount
    Flo "flo" = Row::new(Types::WORD, &[Source::STY.not()]).from(Types::INT).detail(Detail::Shift);
    /// bit reversal
    Brev "brev" = Row::new(Types::INT, &[A]);
    /// bytes of the pair c:a by the selector nibbles of b
    Prmt "prmt" = Row::new(Types::WORD, &[A, W, A]);

    // ---- special functions (f32; f64 forms until lower/f64)
    /// `d = 1 / a`
    Rcp "rcp" = Row::new(Types::FLOAT, &[F]).sat(Types::F32).flags(ARITHMETIC);
    /// `d = 1 / sqrt(a)`
    Rsq "rsq" = Row::new(Types::FLOAT, &[F]).sat(Types::F32).flags(ARITHMETIC);
    /// square root
    Sqrt "sqrt" = Row::new(Types::FLOAT, &[F]).sat(Types::F32).flags(ARITHMETIC | FRONT);
    /// argument in radians (lower/float puts presin before it; after that in the machine's form)
    Sin "sin" = Row::new(Types::F32, &[F]).sat(Types::F32).flags(FTZ);
    /// argument in radians, likewise
    Cos "cos" = Row::new(Types::F32, &[F]).sat(Types::F32).flags(FTZ);
    /// `d = 2^a` (lower/float puts preex2 before it)
    Ex2 "ex2" = Row::new(Types::F32, &[F]).sat(Types::F32).flags(FTZ);
    /// logarithm to base 2
    Lg2 "lg2" = Row::new(Types::F32, &[F]).sat(Types::F32).flags(FTZ);
    /// range reduction for sin and cos
    PreSin "presin" = Row::new(Types::F32, &[F]).flags(FTZ);
    /// range reduction for ex2
    PreEx2 "preex2" = Row::new(Types::F32, &[F]).flags(FTZ);
    /// the machine's approximation of 1/x on the high word of an f64
    Rcp64h "rcp64h" = Row::new(Types::new(&[crate::ir::Type::U32]), &[A]);
    /// the machine's approximation of 1/sqrt(x) on the high word of an f64
    Rsq64h "rsq64h" = Row::new(Types::new(&[crate::ir::Type::U32]), &[A]);
    /// `d = a * 2^b`, b an integer (lower/float)
    Ldexp "ldexp" = Row::new(Types::FLOAT, &[F, W]).sat(Types::FLOAT).flags(FTZ | FRONT);

    // ---- conversions and comparisons
    /// from the source type to the type, saturating where `.sat`; float to float of one type rounds
    /// to an integral value where `.int`; `.bN` picks the byte or half of the source
    Cvt "cvt" = Row::new(Types::NUMBER.union(Types::SMALL), &[Source::STY.float().neg().abs()])
        .from(Types::NUMBER.union(Types::SMALL).union(Types::PRED)).detail(Detail::Part)
        .sat(Types::ALL).flags(ARITHMETIC | WIDE);
    /// `d = a cond b` compared as the source type; into a predicate, or into a register as all ones
    /// (`u32`) or 1.0 (`f32`); a third source (predicate) is combined by the logic operation. A
    /// fourth one, a carry, makes it a comparison of several words: `a` and `b` are the highest,
    /// the carry is that of the difference of the others
    Set "set" = Row::new(Types::PRED.union(Types::WORD).union(Types::F32),
        &[Source::STY.float(), Source::STY.float(), P.optional()])
        .from(Types::NUMBER.union(Types::PRED)).flags(COND | LOGIC | CARRY_IN | FTZ);

    // ---- memory
    /// loads
    Ld "ld" = Row::new(Types::DATA, &[]).memory(&Space::ALL).flags(READS | WIDE);
    /// stores a
    St "st" = Row::new(Types::DATA, &[A]).gives(Results::None).memory(WRITABLE).flags(EFFECT | WIDE);
    /// atomic with operand a (cas: compare a, new b; load: none); gives the old value
    Atom "atom" = Row::new(Types::NUMBER, &[A.optional(), A.optional()]).gives(Results::MaybeValue)
        .detail(Detail::Atom).memory(ATOMIC).flags(EFFECT | READS | WIDE);
    /// load and lock a word or pair of shared memory: value, and whether the lock was got
    /// (predicate)
    LdLock "ldlk" = Row::new(Types::NUMBER, &[]).gives(Results::ValuePred).memory(&[Space::Shared])
        .flags(EFFECT | READS | WIDE);
    /// store and unlock; on Kepler gives whether it succeeded (predicate)
    StUnlock "stul" = Row::new(Types::NUMBER, &[A]).gives(Results::MaybePred).memory(&[Space::Shared])
        .flags(EFFECT | WIDE);
    /// memory barrier
    Membar "membar" = Row::new(Types::WORD, &[]).gives(Results::None).detail(Detail::Scope).flags(EFFECT);
    /// invalidate the first-level cache line (or, at address 0 without a base, all)
    Cctl "cctl" = Row::new(Types::WORD, &[]).gives(Results::None).memory(&[Space::Global, Space::Generic])
        .flags(EFFECT);
    /// size in bytes of the buffer of the memory operand (lower/buffers)
    BufSize "bufsize" = Row::new(Types::WORD, &[]).memory(&[Space::Buffer, Space::Uniform]).flags(FRONT);

    // ---- lanes, barriers, state
    /// special register or, before lower/sysval, any system value; of 64 bits the clock only
    Rdsv "rdsv" = Row::new(Types::WORD.union(Types::WIDE), &[]).detail(Detail::Sv);
    /// execution barrier; sources: barrier number, thread count (both optional), predicate for
    /// reductions
    Bar "bar" = Row::new(Types::WORD, &[W.optional(), W.optional(), P.optional()]).gives(Results::None)
        .detail(Detail::Bar).flags(EFFECT | CROSS);
    /// vote of predicate a: into a register (ballot of the lanes where it holds) and/or a predicate
    Vote "vote" = Row::new(Types::WORD.union(Types::PRED), &[P]).gives(Results::Ballot).detail(Detail::Vote)
        .flags(READS | CROSS);
    /// value a of the lane computed from b and clamp word c; second destination: lane in range
    /// (predicate)
    Shfl "shfl" = Row::new(Types::WORD.union(Types::F32), &[A, W, W]).gives(Results::ValuePred)
        .detail(Detail::Shfl).flags(READS | CROSS);
    /// difference between lanes of a quad: a from the lane
    Quadop "quadop" = Row::new(Types::F32, &[F, F]).detail(Detail::Quad).flags(READS | CROSS | FTZ | RND);

    /// whether this lane was asked for: lanes beyond the block's size run too, since whole warps
    /// are launched; a kernel has one at most, in its first block, whose branch alone reads it
    /// (`whole_warp`)
    WholeWarp "wholewarp" = Row::new(Types::PRED, &[]).flags(EFFECT | CROSS | FRONT);

    // ---- textures and surfaces
    /// texture operation; destinations: the components of its mask; sources only after
    /// lower/textures
    Tex "tex" = Row::new(Types::WORD.union(Types::F32), &[T.optional(), T.optional()]).gives(Results::Components)
        .detail(Detail::Tex).flags(READS | CROSS);
    /// wait until at most so many texture operations are outstanding
    Texbar "texbar" = Row::new(Types::WORD, &[]).gives(Results::None).detail(Detail::Count).flags(EFFECT);
    /// image load; sources only after lower/surfaces
    Suld "suld" = Row::new(Types::DATA, &[T.optional(), T.optional(), T.optional()]).gives(Results::Image)
        .detail(Detail::Surf).flags(READS | WIDE);
    /// image store; sources only after lower/surfaces
    Sust "sust" = Row::new(Types::DATA, &[T.optional(), T.optional(), T.optional(), T.optional()])
        .gives(Results::None).detail(Detail::Surf).flags(EFFECT | WIDE);
    /// image atomic (lower/surfaces)
    Sured "sured" = Row::new(Types::NUMBER, &[T.optional(), T.optional(), T.optional()]).gives(Results::Image)
        .detail(Detail::Surf).flags(EFFECT | READS | WIDE);
    /// image size (lower/surfaces)
    Suq "suq" = Row::new(Types::WORD, &[T.optional()]).gives(Results::Image).detail(Detail::Surf).flags(FRONT);
    /// Kepler surface address: clamp coordinate a to b; destinations: value, out of bounds
    /// (predicate)
    Suclamp "suclamp" = Row::new(Types::WORD, &[A, A, A]).gives(Results::ValuePred).detail(Detail::Suclamp);
    /// Kepler surface address: bit field merge of a, b, c; destinations: value, predicate
    Subfm "subfm" = Row::new(Types::WORD, &[A, A, A]).gives(Results::ValuePred).detail(Detail::Subfm);
    /// Kepler surface address: effective address unit
    Sueau "sueau" = Row::new(Types::WORD, &[A, A, A]);
    /// `d = a.part * b.part + c` for surface addressing
    Madsp "madsp" = Row::new(Types::WORD, &[A, A, A]).detail(Detail::Madsp);

    // ---- graphics stages
    /// an input of a fragment shader at its place in the triangle; a the inverse of w there, for
    /// `.persp` and `.color` (lower/stage adds it); b the offset, for `.offset`; words only where
    /// it is flat
    Interp "interp" = Row::new(Types::WORD.union(Types::F32), &[W.optional(), W.optional()]).sat(Types::F32)
        .detail(Detail::Interp).memory(&[Space::Input]);
    /// vertex a (+ b) of the primitive or patch, as loads of inputs take it
    Vertex "vertex" = Row::new(Types::new(&[crate::ir::Type::U32]), &[W.below(256), W.optional()]);
    /// where the machine keeps the attribute at an address that is computed (GK104, GK110)
    AttrAddr "attraddr" = Row::new(Types::new(&[crate::ir::Type::U32]), &[]).memory(&[Space::Input, Space::Output]);
    /// emits vertex a of stream b, ends its strip, or both; gives the next vertex
    Emit "emit" = Row::new(Types::new(&[crate::ir::Type::U32]), &[W, W]).detail(Detail::Emit).flags(EFFECT);
    /// the fragment goes no further than this shader; the lane goes on for its neighbours'
    /// derivatives
    Discard "discard" = Row::new(Types::new(&[crate::ir::Type::U32]), &[]).gives(Results::None).flags(EFFECT);
    /// about the pixel
    Pixel "pixel" = Row::new(Types::new(&[crate::ir::Type::U32]), &[W.optional()]).detail(Detail::Pixel).flags(READS);
    /// `d = a` where the driver finds the fact true when it uses the shader, else `b`
    SelFact "selfact" = Row::new(Types::new(&[crate::ir::Type::U32]), &[W, W]).detail(Detail::Fact);

    // ---- calls and register bookkeeping
    /// call of another function
    Call "call" = Row::new(Types::WORD, &[]).gives(Results::Call).detail(Detail::Call).flags(EFFECT | READS);
    /// parallel copy: destination i = source i (before register assignment)
    Pcopy "pcopy" = Row::new(Types::ALL, &[T.optional(), T.optional(), T.optional(), T.optional()])
        .gives(Results::Copies).flags(WIDE);
}

impl Op {
    /// Everything about it.
    #[inline]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    pub const fn name(self) -> &'static str {
        NAMES_AND_FLAGS[self as usize].0
    }

    /// Whether its row has one of these flags.
    pub const fn is(self, flag: u16) -> bool {
        NAMES_AND_FLAGS[self as usize].1 & flag != 0
    }

    /// Sources at least, without a carry.
    pub(crate) const fn least_sources(self) -> u8 {
        NAMES_AND_FLAGS[self as usize].2
    }

    /// Whether an instruction of this kind may be removed when nobody reads its results.
    pub(crate) const fn removable(self) -> bool {
        !self.is(EFFECT)
    }

    /// Whether equal operands give equal results, anywhere and any number of times.
    pub const fn is_pure(self) -> bool {
        !self.is(EFFECT | READS | CROSS) && !matches!(self, Op::Undef)
    }

    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|o| o.name() == name)
    }
}

/// The operations of which a source that is no predicate may carry a modifier.
pub(crate) const fn with_modifiers() -> OpSet {
    let (mut set, mut k) = (OpSet::new(&[]), 0);
    while k < Op::ALL.len() {
        if MODIFIABLE[k] {
            set.insert(Op::ALL[k]);
        }
        k += 1;
    }
    set
}

/// A set of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpSet(u128);

const _: () = assert!(Op::ALL.len() <= u128::BITS as usize);

impl OpSet {
    pub const fn new(ops: &[Op]) -> OpSet {
        let mut set = OpSet(0);
        let mut k = 0;
        while k < ops.len() {
            set.insert(ops[k]);
            k += 1;
        }
        set
    }

    pub const fn insert(&mut self, op: Op) {
        self.0 |= 1 << op as u8;
    }

    pub const fn contains(self, op: Op) -> bool {
        self.meets(OpSet(1 << op as u8))
    }

    /// The operations of both sets.
    pub const fn union(self, other: OpSet) -> OpSet {
        OpSet(self.0 | other.0)
    }

    /// Whether the sets have an operation in common.
    pub const fn meets(self, other: OpSet) -> bool {
        self.0 & other.0 != 0
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
