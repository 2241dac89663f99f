//! The operation table: everything a generic pass needs to know about an operation, in one row each.
//!
//! Names are nv50_ir's neutral ones. The comment on a row gives its operands and meaning; `d` is the
//! destination, `a b c` the sources, each of the instruction's type [`super::Inst::ty`] unless said otherwise.
//! Operations of the first phase that no machine instruction performs are marked with the pass that removes them.

/// Facts about one operation.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    pub name: &'static str,
    /// Source operands: at least, at most (without a carry-in, which may follow where `CARRY` says so).
    pub srcs: (u8, u8),
    pub flags: u16,
}

/// Sources 0 and 1 may be exchanged.
pub const COMMUTES: u16 = 1 << 0;
/// Must not be removed, duplicated or reordered with others of this kind even if nobody reads its results.
pub const EFFECT: u16 = 1 << 1;
/// Has a memory operand [`super::MemRef`].
pub const MEMORY: u16 = 1 << 2;
/// Reads memory or other state: equal operands do not mean equal results.
pub const READS: u16 = 1 << 3;
/// May take a carry as its last source and give one as its last destination.
pub const CARRY: u16 = 1 << 4;
/// Sources may carry neg and abs (floats) where the instruction's type is a float.
pub const FMODS: u16 = 1 << 5;
/// Sources may carry neg where the type is a 32-bit integer.
pub const INEG: u16 = 1 << 6;
/// Sources may carry a bitwise (or, for predicates, logical) not.
pub const NOT: u16 = 1 << 7;
/// Reads or writes registers of other lanes, so the set of active lanes matters: never moved across control flow.
pub const CROSS: u16 = 1 << 8;
/// Exists only before lowering.
pub const FRONT: u16 = 1 << 9;

macro_rules! ops {
    ($($(#[$doc:meta])* $var:ident $name:literal $min:literal $max:literal $flags:expr;)*) => {
        /// An operation; see the module's documentation for the notation.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[$doc])* $var,)* }

        impl Op {
            pub const ALL: &'static [Op] = &[$(Op::$var,)*];

            pub const fn info(self) -> &'static OpInfo {
                const TABLE: &[OpInfo] = &[$(OpInfo { name: $name, srcs: ($min, $max), flags: $flags },)*];
                &TABLE[self as usize]
            }
        }
    };
}

ops! {
    // ---- moves and choices
    /// `d = a`; of class predicate too (then `not` is allowed on the source)
    Mov "mov" 1 1 NOT;
    /// no value was written: any bits, differing from use to use
    Undef "undef" 0 0 0;
    /// `d = c ? a : b`, c a predicate (third source), `not` allowed on it
    Sel "sel" 3 3 0;
    /// `d = (c cond 0) ? a : b`, c of type `sty`
    Slct "slct" 3 3 0;

    // ---- integer (u32 s32; u64 s64 until lower/int64) and float arithmetic (f32, f64)
    /// `d = a + b (+ carry)`
    Add "add" 2 2 COMMUTES | CARRY | FMODS | INEG;
    /// `d = a - b (- borrow)`: the carry is the machine's, set when there is no borrow
    Sub "sub" 2 2 CARRY | FMODS | INEG;
    /// `d = a * b`, the low half for integers
    Mul "mul" 2 2 COMMUTES | FMODS;
    /// f32: `d = a * b`, but 0 if either is 0 (or subnormal), whatever the other is
    MulZ "mulz" 2 2 COMMUTES | FMODS;
    /// high half of the double-width product
    MulHi "mulhi" 2 2 COMMUTES | CARRY;
    /// `d = a * b + c`: integers the low half; floats fused, one rounding
    Mad "mad" 3 3 COMMUTES | FMODS | INEG | CARRY;
    /// `d = high(a * b) + c`
    MadHi "madhi" 3 3 COMMUTES | INEG | CARRY;
    /// `d = (a << b) + c`, b an immediate below 32
    ShlAdd "shladd" 3 3 INEG | CARRY;
    /// `d = |a - b| + c`
    Sad "sad" 3 3 0;
    /// quotient, truncated; x / 0 is all ones unsigned (lower/int_div); floats: IEEE for f64, 1 ulp for f32 (lower/float)
    Div "div" 2 2 FMODS | FRONT;
    /// remainder with the sign of the dividend; x % 0 is all ones (lower/int_div)
    Mod "mod" 2 2 FRONT;
    Neg "neg" 1 1 FMODS;
    Abs "abs" 1 1 FMODS;
    /// floats: a NaN operand loses (IEEE 754-2008 minNum)
    Min "min" 2 2 COMMUTES | FMODS;
    Max "max" 2 2 COMMUTES | FMODS;

    // ---- bits
    And "and" 2 2 COMMUTES | NOT;
    Or "or" 2 2 COMMUTES | NOT;
    Xor "xor" 2 2 COMMUTES | NOT;
    Not "not" 1 1 NOT;
    /// `d = a << b`: amounts of the width and above give 0 ([`super::Aux::Wrap`]: amount modulo the width)
    Shl "shl" 2 2 0;
    /// `d = a >> b`, arithmetic for signed types: amounts beyond the width give 0 or the sign ([`super::Aux::Wrap`] likewise)
    Shr "shr" 2 2 0;
    /// funnel shift left: high word of (pair c:a) << b, amount modulo 32; with an `sty` of 64 bits, of any amount (GK110)
    ShfL "shf.l" 3 3 0;
    /// funnel shift right: low word of (pair c:a) >> b, amount modulo 32; with an `sty` of 64 bits, of any amount, and
    /// arithmetic if it is signed (GK110)
    ShfR "shf.r" 3 3 0;
    /// bit field extract: b = position | length << 8; sign-extends for s32
    Ext "ext" 2 2 0;
    /// bit field insert: low bits of a into c; b = position | length << 8
    Ins "ins" 3 3 0;
    /// `d = number of ones in a (& b)`
    Popc "popc" 1 2 NOT;
    /// position of the highest one (signed: highest bit unlike the sign), -1 if none; [`super::Aux::Shift`]: as a shift amount
    Flo "flo" 1 1 NOT;
    /// bit reversal
    Brev "brev" 1 1 0;
    /// bytes of the pair c:a by the selector nibbles of b
    Prmt "prmt" 3 3 0;

    // ---- special functions (f32; f64 forms until lower/f64)
    Rcp "rcp" 1 1 FMODS;
    Rsq "rsq" 1 1 FMODS;
    Sqrt "sqrt" 1 1 FMODS | FRONT;
    /// argument in radians (lower/float puts presin before it; after that in the machine's form)
    Sin "sin" 1 1 FMODS;
    Cos "cos" 1 1 FMODS;
    Ex2 "ex2" 1 1 FMODS;
    Lg2 "lg2" 1 1 FMODS;
    /// range reduction for sin and cos
    PreSin "presin" 1 1 FMODS;
    /// range reduction for ex2
    PreEx2 "preex2" 1 1 FMODS;
    /// the machine's approximation of 1/x on the high word of an f64
    Rcp64h "rcp64h" 1 1 FMODS;
    /// the machine's approximation of 1/sqrt(x) on the high word of an f64
    Rsq64h "rsq64h" 1 1 FMODS;
    /// `d = a * 2^b`, b s32 (lower/float)
    Ldexp "ldexp" 2 2 FMODS | FRONT;

    // ---- conversions and comparisons
    /// from type `sty` to `ty` with rounding `rnd`, saturating where `sat`; float to float of one type rounds to
    /// an integral value where [`super::Aux::Integral`]; [`super::Aux::Byte`] picks the byte or half of the source
    Cvt "cvt" 1 1 FMODS | INEG;
    /// `d = a cond b` compared as `sty`; into a predicate, or into a register as all ones (`u32`) or 1.0 (`f32`);
    /// a third source (predicate) is combined by the instruction's logic operation. A fourth one, a carry, makes it a
    /// comparison of several words: `a` and `b` are the highest, the carry is that of the difference of the others
    Set "set" 2 3 FMODS | CARRY;

    // ---- memory
    Ld "ld" 0 0 MEMORY | READS;
    /// stores source 0
    St "st" 1 1 MEMORY | EFFECT;
    /// atomic with operand a (cas: compare a, new b); gives the old value
    Atom "atom" 0 2 MEMORY | EFFECT | READS;
    /// load and lock a word of shared memory: value, and whether the lock was got (predicate)
    LdLock "ldlk" 0 0 MEMORY | EFFECT | READS;
    /// store and unlock; on Kepler gives whether it succeeded (predicate)
    StUnlock "stul" 1 1 MEMORY | EFFECT;
    /// memory barrier of [`super::Aux::Scope`]
    Membar "membar" 0 0 EFFECT;
    /// invalidate the first-level cache line (or, without an address, all)
    Cctl "cctl" 0 0 MEMORY | EFFECT;
    /// size in bytes of the buffer of the memory operand (lower/buffers)
    BufSize "bufsize" 0 0 MEMORY | FRONT;

    // ---- lanes, barriers, state
    /// special register or, before lower/sysval, any system value [`super::Aux::Sv`]
    Rdsv "rdsv" 0 0 0;
    /// execution barrier: [`super::Aux::Bar`]; sources: barrier id, thread count (both optional), predicate for reductions
    Bar "bar" 0 3 EFFECT | CROSS;
    /// [`super::Aux::Vote`] of predicate a: into a register (ballot of the lanes where it holds) and/or a predicate
    Vote "vote" 1 1 READS | CROSS | NOT;
    /// value a of lane computed from b and clamp word c by [`super::Aux::Shfl`]; second destination: lane in range (predicate)
    Shfl "shfl" 3 3 READS | CROSS;
    /// difference between lanes of a quad: a from lane per [`super::Aux::Quad`]
    Quadop "quadop" 2 2 READS | CROSS | FMODS;

    // ---- textures and surfaces
    /// [`super::Tex`]; destinations: the components of its mask
    Tex "tex" 0 2 READS | CROSS;
    /// wait until at most [`super::Aux::Count`] texture operations are outstanding
    Texbar "texbar" 0 0 EFFECT;
    /// [`super::Surf`] load
    Suld "suld" 0 3 READS;
    /// [`super::Surf`] store
    Sust "sust" 0 4 EFFECT;
    /// [`super::Surf`] atomic
    Sured "sured" 0 3 EFFECT | READS;
    /// [`super::Surf`] query (lower/surfaces)
    Suq "suq" 0 1 FRONT;
    /// Kepler surface address: clamp coordinate a to b, [`super::Aux::Suclamp`]; destinations: value, out of bounds (predicate)
    Suclamp "suclamp" 3 3 0;
    /// Kepler surface address: bit field merge of a, b, c; destinations: value, predicate
    Subfm "subfm" 3 3 0;
    /// Kepler surface address: effective address unit
    Sueau "sueau" 3 3 0;
    /// `d = a.part * b.part + c` for surface addressing, [`super::Aux::Madsp`]
    Madsp "madsp" 3 3 0;

    // ---- calls and register bookkeeping
    /// [`super::Call`]
    Call "call" 0 0 EFFECT | READS;
    /// parallel copy: destination i = source i (before register assignment)
    Pcopy "pcopy" 0 4 0;
}

impl Op {
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    pub const fn is(self, flag: u16) -> bool {
        self.info().flags & flag != 0
    }

    /// Whether an instruction of this kind may be removed when nobody reads its results.
    pub const fn removable(self) -> bool {
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

/// A set of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpSet(u128);

const _: () = assert!(Op::ALL.len() <= u128::BITS as usize);

impl OpSet {
    pub const fn of(ops: &[Op]) -> OpSet {
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

    /// With those of another set.
    pub const fn and(self, other: OpSet) -> OpSet {
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
