//! Instructions, their operands and memory references.

use super::list::List;
use super::op::{Op, Types};
use super::types::Type;
use super::{BlockId, FuncId, ValueId};
use crate::diag::Loc;
use crate::format::Format;
use crate::num::SrcMods;

/// What a source operand reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SrcKind {
    Val(ValueId),
    /// Tuples: consecutive registers once assigned, low word first.
    Pair([ValueId; 2]),
    Triple([ValueId; 3]),
    Quad([ValueId; 4]),
    /// A 32-bit pattern; zero stands for that of 96 and 128 bits, too.
    Imm(u32),
    /// A 64-bit pattern.
    Imm64([u32; 2]),
    /// `c[bank][offset]`, offset in bytes, as wide as the operand.
    Const {
        bank: u8,
        offset: u16,
    },
}

/// A source operand. The modifiers of a tuple apply to the quantity that it makes up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Src {
    pub kind: SrcKind,
    pub mods: SrcMods,
}

impl Type {
    /// The number that a 32-bit pattern with modifiers is, read as this type; `None` where the
    /// combination has no meaning.
    pub fn modified(self, bits: u32, mods: SrcMods) -> Option<u32> {
        let mut x = bits;
        if mods.inv {
            x = if self == Type::Pred { (x == 0) as u32 } else { !x };
        }
        if self == Type::F32 {
            if mods.abs {
                x &= 0x7fff_ffff;
            }
            if mods.neg {
                x ^= 0x8000_0000;
            }
        } else if matches!(self, Type::U32 | Type::S32) {
            if mods.abs {
                x = (x as i32).unsigned_abs();
            }
            if mods.neg {
                x = x.wrapping_neg();
            }
        } else if mods.abs || mods.neg {
            return None;
        }
        Some(x)
    }
}

impl Src {
    /// An immediate read as type `ty`, its modifiers applied; `None` if it is none, or the
    /// combination has no meaning.
    pub fn immediate(self, ty: Type) -> Option<Src> {
        match self.kind {
            SrcKind::Imm(x) => ty.modified(x, self.mods).map(Src::imm),
            // The sign of a double is that of its high word.
            SrcKind::Imm64([lo, hi]) if ty == Type::F64 => {
                let kind = SrcKind::Imm64([lo, Type::F32.modified(hi, self.mods)?]);
                Some(Src { kind, mods: SrcMods::default() })
            }
            _ => None,
        }
    }

    pub const fn val(v: ValueId) -> Src {
        Src { kind: SrcKind::Val(v), mods: SrcMods { neg: false, abs: false, inv: false } }
    }

    pub const fn imm(bits: u32) -> Src {
        Src { kind: SrcKind::Imm(bits), mods: SrcMods { neg: false, abs: false, inv: false } }
    }

    pub const fn imm64(bits: u64) -> Src {
        Src {
            kind: SrcKind::Imm64([bits as u32, (bits >> 32) as u32]),
            mods: SrcMods { neg: false, abs: false, inv: false },
        }
    }

    pub const fn f32(x: f32) -> Src {
        Src::imm(x.to_bits())
    }

    pub const fn f64(x: f64) -> Src {
        Src::imm64(x.to_bits())
    }

    pub const fn cbuf(bank: u8, offset: u16) -> Src {
        Src { kind: SrcKind::Const { bank, offset }, mods: SrcMods { neg: false, abs: false, inv: false } }
    }

    /// One to four values as one operand, low word first.
    ///
    /// # Panics
    /// If there are none or more than four.
    pub fn tuple(values: &[ValueId]) -> Src {
        let kind = match *values {
            [a] => SrcKind::Val(a),
            [a, b] => SrcKind::Pair([a, b]),
            [a, b, c] => SrcKind::Triple([a, b, c]),
            [a, b, c, d] => SrcKind::Quad([a, b, c, d]),
            _ => panic!("a tuple has one to four values, not {}", values.len()),
        };
        Src { kind, mods: SrcMods::default() }
    }

    /// The low word of an operand of any width, modifiers kept: negation and inversion commute with
    /// it.
    pub fn low_word(&self) -> Src {
        let kind = match self.kind {
            SrcKind::Imm64([low, _]) => SrcKind::Imm(low),
            SrcKind::Pair([v, ..]) | SrcKind::Triple([v, ..]) | SrcKind::Quad([v, ..]) => SrcKind::Val(v),
            kind => kind,
        };
        Src { kind, ..*self }
    }

    /// The values read, in order; empty for immediates and constant-buffer operands.
    pub fn values(&self) -> &[ValueId] {
        match &self.kind {
            SrcKind::Val(v) => std::slice::from_ref(v),
            SrcKind::Pair(v) => v,
            SrcKind::Triple(v) => v,
            SrcKind::Quad(v) => v,
            _ => &[],
        }
    }

    /// Calls `f` with the values read.
    #[inline]
    fn for_values(&self, mut f: impl FnMut(ValueId)) {
        self.values().iter().for_each(|&v| f(v));
    }

    pub fn values_mut(&mut self) -> &mut [ValueId] {
        match &mut self.kind {
            SrcKind::Val(v) => std::slice::from_mut(v),
            SrcKind::Pair(v) => v,
            SrcKind::Triple(v) => v,
            SrcKind::Quad(v) => v,
            _ => &mut [],
        }
    }

    /// The single value read, without regard to modifiers.
    pub(crate) fn as_val(&self) -> Option<ValueId> {
        if let SrcKind::Val(v) = self.kind { Some(v) } else { None }
    }

    /// The bits of a 32-bit immediate without modifiers.
    pub(crate) fn as_imm(&self) -> Option<u32> {
        match self.kind {
            SrcKind::Imm(x) if self.mods == SrcMods::default() => Some(x),
            _ => None,
        }
    }

    /// The bits of a 64-bit immediate without modifiers.
    pub(crate) fn as_imm64(&self) -> Option<u64> {
        match self.kind {
            SrcKind::Imm64([lo, hi]) if self.mods == SrcMods::default() => {
                Some(lo as u64 | (hi as u64) << 32)
            }
            _ => None,
        }
    }

    /// A plain value: one register, no modifiers.
    pub(crate) fn is_plain_val(&self) -> bool {
        matches!(self.kind, SrcKind::Val(_)) && self.mods == SrcMods::default()
    }

    pub const fn neg(mut self) -> Src {
        self.mods.neg = !self.mods.neg;
        self
    }

    pub const fn abs(mut self) -> Src {
        self.mods.abs = true;
        self.mods.neg = false;
        self
    }

    /// Bitwise complement; logical not of a predicate.
    pub const fn inv(mut self) -> Src {
        self.mods.inv = !self.mods.inv;
        self
    }
}

impl Default for Src {
    fn default() -> Src {
        Src::imm(0)
    }
}

impl From<ValueId> for Src {
    fn from(v: ValueId) -> Src {
        Src::val(v)
    }
}

impl From<u32> for Src {
    fn from(x: u32) -> Src {
        Src::imm(x)
    }
}

impl From<[ValueId; 2]> for Src {
    fn from(v: [ValueId; 2]) -> Src {
        Src::tuple(&v)
    }
}

/// A condition on execution: the instruction has no effect where it does not hold. A guarded
/// instruction's destinations are undefined in the threads that skip it, so only stores,
/// barriers-free effects and values that are read under the same guard make sense; `sel` merges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    pub pred: ValueId,
    pub not: bool,
}

/// Memory spaces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Space {
    /// Global memory; base of one value: 32-bit address, of two: 64-bit.
    Global,
    /// Shared memory of the block; byte addresses from 0.
    Shared,
    /// Memory of the thread; byte addresses from 0.
    Local,
    /// Constant buffer `buffer`; a dynamic `index` is added to the bank number.
    Const,
    /// Storage buffer `buffer + index` with bounds checks (lower/buffers).
    Buffer,
    /// Any of global, shared and local by address window (64-bit base).
    Generic,
    /// Uniform block `buffer + index` wherever the driver put it (lower/buffers).
    Uniform,
    /// Inputs of a graphics stage, at the addresses of [`crate::stage`]; `index` is the vertex that
    /// is read, as `vertex` gives it.
    Input,
    /// Its outputs; loads read those of the thread that `index` names, in a tessellation control
    /// shader. `index` of a store is the vertex being made by a geometry shader, as `emit` gives
    /// it.
    Output,
    /// Inputs that belong to the patch.
    PatchInput,
    /// Outputs that belong to the patch.
    PatchOutput,
}

impl Space {
    pub const ALL: [Space; 11] = [
        Space::Global,
        Space::Shared,
        Space::Local,
        Space::Const,
        Space::Buffer,
        Space::Generic,
        Space::Uniform,
        Space::Input,
        Space::Output,
        Space::PatchInput,
        Space::PatchOutput,
    ];

    /// The letter in the listing: `g[..]`.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Global => "g",
            Space::Shared => "s",
            Space::Local => "l",
            Space::Const => "c",
            Space::Buffer => "b",
            Space::Generic => "x",
            Space::Uniform => "u",
            Space::Input => "a",
            Space::Output => "o",
            Space::PatchInput => "p",
            Space::PatchOutput => "q",
        }
    }

    /// Whether the program can never write it.
    pub(crate) const fn is_constant(self) -> bool {
        matches!(self, Space::Const | Space::Uniform | Space::Input | Space::PatchInput)
    }

    /// Whether it is what a graphics stage takes or gives.
    pub const fn is_attribute(self) -> bool {
        matches!(self, Space::Input | Space::Output | Space::PatchInput | Space::PatchOutput)
    }
}

/// A proven fact about an address: `(base + offset) mod 2^log2 == rest`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Align {
    pub log2: u8,
    pub rest: u32,
}

impl Align {
    /// Nothing is known.
    pub const ANY: Align = Align { log2: 0, rest: 0 };

    /// A multiple of `bytes`, a power of two.
    pub const fn multiple_of(bytes: u32) -> Align {
        Align { log2: bytes.trailing_zeros() as u8, rest: 0 }
    }

    /// NIR's `align_mul`, `align_offset`; `mul` a power of two.
    pub const fn new(mul: u32, rest: u32) -> Align {
        Align { log2: mul.trailing_zeros() as u8, rest: rest & (mul.wrapping_sub(1)) }
    }

    /// The fact about an address `delta` bytes further on.
    pub const fn plus(self, delta: i32) -> Align {
        let mask = (1u64 << self.log2) - 1;
        Align { log2: self.log2, rest: ((self.rest as i64 + delta as i64) as u64 & mask) as u32 }
    }

    /// The largest power of two that is proven to divide the address (at most 2^31).
    pub const fn bytes(self) -> u32 {
        let log2 = if self.log2 > 31 { 31 } else { self.log2 };
        if self.rest == 0 {
            1 << log2
        } else {
            let t = self.rest.trailing_zeros();
            1 << (if t < log2 as u32 { t } else { log2 as u32 })
        }
    }

    /// What both facts say: all that is known where either may be the true one.
    pub const fn common(self, other: Align) -> Align {
        let same = (self.rest ^ other.rest).trailing_zeros();
        let log2 = if self.log2 < other.log2 { self.log2 } else { other.log2 };
        let log2 = if (log2 as u32) < same { log2 } else { same as u8 };
        Align { log2, rest: self.rest & ((1u64 << log2) - 1) as u32 }
    }

    /// The stronger of two true facts about the same address.
    pub(crate) const fn strongest(self, other: Align) -> Align {
        if other.log2 > self.log2 { other } else { self }
    }
}

/// Caching and ordering of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// May be cached, combined, forwarded and removed.
    #[default]
    Weak,
    /// Visible to other threads: cached at the second level, not removed or forwarded across
    /// barriers.
    Coherent,
    /// Performed exactly as written.
    Volatile,
}

/// The memory operand: the one place of everything about an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemRef {
    pub space: Space,
    pub order: Order,
    /// Constant bank, buffer or uniform block number; 0 elsewhere.
    pub buffer: u16,
    /// Dynamic part of the buffer number; of attributes the vertex. In phase `Ssa`, only constant
    /// banks and attributes have one: banks as the high half of a register whose low half is the
    /// address; there is no base then.
    pub index: Option<ValueId>,
    /// Address: none (absolute), one value (32 bits) or two (64 bits, low word first).
    base: List<ValueId, 2>,
    /// Bytes, added to the base.
    pub offset: i32,
    /// Of base + offset.
    pub align: Align,
    /// The access cannot fault and no store to the same memory happens during the launch.
    pub readonly: bool,
    /// The variable that it goes to, by its place in [`Program::extents`](super::Program::extents)
    /// plus one; 0: not known. Told by front-ends, and only where the memory is sanitized; lowering
    /// reads and forgets it. It is no part of listings.
    pub var: u16,
}

impl MemRef {
    pub fn new(space: Space) -> MemRef {
        MemRef {
            space,
            order: Order::Weak,
            buffer: 0,
            index: None,
            base: List::new(),
            offset: 0,
            align: Align::ANY,
            readonly: false,
            var: 0,
        }
    }

    /// Base of none, one or two values.
    ///
    /// # Panics
    /// If there are more than two.
    pub fn with_base(mut self, base: &[ValueId]) -> MemRef {
        self.set_base(base);
        self
    }

    pub fn with_offset(mut self, offset: i32) -> MemRef {
        self.offset = offset;
        self
    }

    pub fn with_align(mut self, align: Align) -> MemRef {
        self.align = align;
        self
    }

    pub(crate) fn with_buffer(mut self, buffer: u16) -> MemRef {
        self.buffer = buffer;
        self
    }

    /// The same, to the variable of that number: [`MemRef::var`].
    pub(crate) fn with_var(mut self, var: u16) -> MemRef {
        self.var = var;
        self
    }

    pub(crate) fn set_base(&mut self, base: &[ValueId]) {
        assert!(base.len() <= 2, "an address has at most two words");
        self.base = base.iter().copied().collect();
    }

    /// The address values, low word first.
    pub fn base(&self) -> List<ValueId, 2> {
        self.base
    }

    /// The largest power of two (up to 2^31) that is proven to divide the address: by the fact, or
    /// because the address is a number.
    pub fn proven(&self) -> u32 {
        let stated = self.align.bytes();
        if !self.base.is_empty() || self.index.is_some() {
            return stated;
        }
        stated.max(1 << self.offset.trailing_zeros().min(31))
    }

    /// The only address value, where there is just one.
    pub(crate) fn base32(&self) -> Option<ValueId> {
        if let [base] = *self.base { Some(base) } else { None }
    }

    /// Exchanges the base for another and moves the offset by `delta`, where
    /// `old base == new base + delta`. The alignment fact is about their sum, which stays the same.
    pub fn rebase(&mut self, base: &[ValueId], delta: i32) {
        self.set_base(base);
        self.offset = self.offset.wrapping_add(delta);
    }
}

/// Comparison conditions; the `U` forms are also true when an operand is NaN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Cond {
    Never,
    #[default]
    Lt,
    Eq,
    Le,
    Gt,
    Ne,
    Ge,
    /// Neither operand is NaN.
    Num,
    /// An operand is NaN.
    Nan,
    Ltu,
    Equ,
    Leu,
    Gtu,
    Neu,
    Geu,
    Always,
}

impl Cond {
    pub const ALL: [Cond; 16] = [
        Cond::Never,
        Cond::Lt,
        Cond::Eq,
        Cond::Le,
        Cond::Gt,
        Cond::Ne,
        Cond::Ge,
        Cond::Num,
        Cond::Nan,
        Cond::Ltu,
        Cond::Equ,
        Cond::Leu,
        Cond::Gtu,
        Cond::Neu,
        Cond::Geu,
        Cond::Always,
    ];

    /// The condition that holds exactly where this one does not, for floats with NaN too. For
    /// integers use [`Cond::ordered`] on the result.
    pub const fn negate(self) -> Cond {
        Cond::ALL[15 - self as usize]
    }

    /// The condition after exchanging the operands.
    pub const fn swap(self) -> Cond {
        match self {
            Cond::Lt => Cond::Gt,
            Cond::Gt => Cond::Lt,
            Cond::Le => Cond::Ge,
            Cond::Ge => Cond::Le,
            Cond::Ltu => Cond::Gtu,
            Cond::Gtu => Cond::Ltu,
            Cond::Leu => Cond::Geu,
            Cond::Geu => Cond::Leu,
            c => c,
        }
    }

    /// The same condition for operands that are never NaN: without `U`.
    pub const fn ordered(self) -> Cond {
        match self {
            Cond::Ltu => Cond::Lt,
            Cond::Equ => Cond::Eq,
            Cond::Leu => Cond::Le,
            Cond::Gtu => Cond::Gt,
            Cond::Neu => Cond::Ne,
            Cond::Geu => Cond::Ge,
            Cond::Num => Cond::Always,
            Cond::Nan => Cond::Never,
            c => c,
        }
    }

    pub const fn name(self) -> &'static str {
        [
            "never", "lt", "eq", "le", "gt", "ne", "ge", "num", "nan", "ltu", "equ", "leu", "gtu", "neu",
            "geu", "always",
        ][self as usize]
    }
}

/// How a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Rnd {
    /// To nearest, ties to even.
    #[default]
    Near,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// Towards zero.
    Zero,
}

impl Rnd {
    pub const ALL: [Rnd; 4] = [Rnd::Near, Rnd::Down, Rnd::Up, Rnd::Zero];

    pub const fn name(self) -> &'static str {
        ["rn", "rm", "rp", "rz"][self as usize]
    }
}

/// How the third source of `set` is combined with the comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Logic {
    #[default]
    And,
    Or,
    Xor,
}

impl Logic {
    pub const ALL: [Logic; 3] = [Logic::And, Logic::Or, Logic::Xor];

    pub const fn name(self) -> &'static str {
        ["and", "or", "xor"][self as usize]
    }
}

/// Declares a fieldless enum with a name for each variant in the listing.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $var:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $var,)* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$var,)*];

            pub const fn name(self) -> &'static str {
                const NAMES: &[&str] = &[$($text,)*];
                NAMES[self as usize]
            }

            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|x| x.name() == name)
            }
        }
    };
}

named! {
    /// System values; the first group are special registers of all chips, the others are lowered by
    /// lower/sysval.
    Sv {
        TidX "tid.x", TidY "tid.y", TidZ "tid.z", CtaidX "ctaid.x", CtaidY "ctaid.y", CtaidZ "ctaid.z",
        Laneid "laneid", LanemaskEq "lanemask.eq", LanemaskLt "lanemask.lt", LanemaskLe "lanemask.le",
        LanemaskGt "lanemask.gt", LanemaskGe "lanemask.ge", ClockLo "clock.lo", ClockHi "clock.hi",
        Virtid "virtid", SharedWindow "swinbase", LocalWindow "lwinbase",
        /// Block size: a special register on GF100, in the driver's constant buffer on Kepler.
        NtidX "ntid.x", NtidY "ntid.y", NtidZ "ntid.z",
        /// Blocks in the grid, likewise.
        NctaidX "nctaid.x", NctaidY "nctaid.y", NctaidZ "nctaid.z",
        Gridid "gridid", WorkDim "workdim",
        /// Number of the warp in the block.
        WarpId "warpid", NumWarps "nwarps",
        // What graphics stages are told; lower/stage makes attribute loads, constants and the
        // special registers of it.
        /// Number of the vertex, and of the instance.
        VertexId "vertexid", InstanceId "instanceid",
        /// What a draw adds to these, and its number.
        BaseVertex "basevertex", BaseInstance "baseinstance", DrawId "drawid",
        /// Number of the primitive.
        PrimitiveId "primid",
        /// Number of the invocation of a primitive, or of the output vertex of a patch.
        InvocationId "invocationid",
        /// Vertices of the input patch.
        VerticesIn "verticesin",
        /// The machine's word about the primitive; bits 8 to 15 are the vertices of the patch.
        PrimType "primtype",
        /// Where in the patch the vertex lies.
        TessCoordX "tesscoord.x", TessCoordY "tesscoord.y", TessCoordZ "tesscoord.z",
        /// All ones where the fragment belongs to a front face.
        FrontFace "frontface",
        /// All ones in lanes that run for their neighbours' derivatives only.
        Helper "helper",
        /// Number of the sample that the fragment stands for, where it lies in the pixel, which
        /// samples are covered.
        SampleId "sampleid", SamplePosX "samplepos.x", SamplePosY "samplepos.y", SampleMaskIn "samplemask",
        /// The machine's flag of lanes that are killed or help.
        ThreadKill "threadkill",
    }
}

impl Sv {
    /// Whether all chips have a special register for it.
    pub(crate) const fn is_special_register(self) -> bool {
        (self as u8) < Sv::NtidX as u8 || matches!(self, Sv::PrimType | Sv::InvocationId | Sv::ThreadKill)
    }

    /// Whether two reads may differ: lanes become helpers on the way.
    pub(crate) const fn is_volatile(self) -> bool {
        matches!(self, Sv::ClockLo | Sv::ClockHi | Sv::Helper | Sv::ThreadKill)
    }
}

named! {
    /// Atomic operations.
    AtomOp {
        Add "add", Min "min", Max "max", Inc "inc", Dec "dec", And "and", Or "or", Xor "xor", Exch "exch", Cas "cas",
        /// Load, as an atomic (TGSI and NIR coherent reads of images).
        Load "load",
        Sub "sub",
        Fmin "fmin", Fmax "fmax",
        /// A sum of floats that keeps denormals, wherever it is: global memory's own makes them
        /// zeros.
        Fadd "fadd",
    }
}

impl AtomOp {
    /// The types that it has.
    pub const fn types(self) -> Types {
        match self {
            AtomOp::Add | AtomOp::Min | AtomOp::Max | AtomOp::Exch | AtomOp::Cas | AtomOp::Load => {
                Types::NUMBER
            }
            AtomOp::Sub => Types::NUMBER,
            AtomOp::Inc | AtomOp::Dec | AtomOp::And | AtomOp::Or | AtomOp::Xor => Types::INT,
            AtomOp::Fmin | AtomOp::Fmax | AtomOp::Fadd => Types::FLOAT,
        }
    }

    /// Whether there is no form that only changes memory (`RED`); ptxas too keeps a register for
    /// the result of an exchange that nobody reads.
    pub const fn returns(self) -> bool {
        matches!(self, AtomOp::Exch | AtomOp::Cas | AtomOp::Load)
    }
}

named! { /** Execution barriers. */ BarOp { Sync "sync", Arrive "arv", RedPopc "popc", RedAnd "and", RedOr "or", } }
named! { /** Whom a memory barrier orders for. */ Scope { Cta "cta", Gpu "gl", System "sys", } }
named! { /** Vote modes. */ VoteOp { All "all", Any "any", Uni "uni", } }
named! { /** Where a shuffle reads: lane b, lane - b, lane + b, lane ^ b. */ ShflOp { Idx "idx", Up "up", Down "down", Bfly "bfly", } }

/// Detail of an operation that is neither an operand nor a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Aux {
    #[default]
    None,
    Sv(Sv),
    Atom(AtomOp),
    Bar(BarOp),
    Scope(Scope),
    Vote(VoteOp),
    Shfl(ShflOp),
    /// Number of the byte (8-bit `sty`) or half (16-bit) of the source that `cvt` reads.
    Byte(u8),
    /// `cvt` between equal float types rounds to an integral value.
    Integral,
    /// Shift amounts are taken modulo the width.
    Wrap,
    /// `flo` gives the shift amount that would move the bit to the top, instead of its position.
    Shift,
    /// Lane pattern of `quadop`, two bits an operation and lane, as the machine encodes it.
    Quad {
        lane: u8,
        ops: u8,
    },
    /// Outstanding texture operations that may remain.
    Count(u8),
    /// Machine mode of `suclamp`: kind (sd, pl, bl and their sizes, as the machine numbers them)
    /// and 2-D flag; signed coordinate.
    Suclamp {
        mode: u8,
        two_d: bool,
        signed: bool,
        imm: i8,
    },
    /// `subfm` in three dimensions.
    Subfm {
        three_d: bool,
    },
    /// Operand parts of `madsp`: [`super::madsp`].
    Madsp(u16),
    Interp(Interp),
    Pixel(PixelOp),
    Emit(EmitOp),
    Fact(Fact),
}

/// How an input of a fragment shader is interpolated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Interp {
    pub mode: InterpMode,
    pub at: InterpAt,
}

named! {
    /// Between the corners of the triangle.
    InterpMode {
        /// The value of the provoking vertex.
        Flat "flat",
        /// By the distance in the window.
        Linear "linear",
        /// By the distance in space: what the machine interpolates (the attribute over w), times w.
        Perspective "persp",
        /// A perspective attribute still divided by w. Only instructions have this mode, no
        /// attribute is declared so.
        OverW "over_w",
        /// Of a colour: perspective, or flat where the state says so.
        Color "color",
    }
}

named! {
    /// Where in the pixel.
    InterpAt {
        /// In its middle, or at the sample where the shader runs for each.
        Center "center",
        /// In what is covered of it.
        Centroid "centroid",
        /// As far from the middle as an operand says: x in the low half, y in the high one, in
        /// 4096ths of a pixel.
        Offset "offset",
    }
}

named! {
    /// What is asked of a pixel.
    PixelOp {
        /// The samples that are covered, a bit each.
        CoverageMask "mask",
        /// Where sample a lies, as [`InterpAt::Offset`] takes it.
        SampleOffset "offset",
        /// Number of the sample that the fragment stands for.
        SampleId "sample",
    }
}

named! {
    /// What becomes of the vertex that a geometry shader has made.
    EmitOp { Emit "vertex", Cut "cut", EmitCut "both", }
}

named! {
    /// What is known when the shader is put to use.
    Fact {
        /// It runs for each sample although it does not ask for it.
        PerSample "persample",
        /// There are several samples to a pixel.
        Multisample "msaa",
    }
}

named! {
    /// What a call does besides giving results, the least first. Who calls may only assume what
    /// [`functions`](crate::analysis::functions) has found.
    Effects {
        /// Equal arguments give equal results, control comes back, and nobody notices whether it
        /// was called.
        None "pure",
        /// It reads what others write, or where it runs: nobody notices whether it was called.
        Reads "reads",
        /// Anything.
        Any "any",
    }
}

/// A call of another function of the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    pub func: FuncId,
    /// One value a parameter of the function.
    pub args: Vec<ValueId>,
    /// One value a result of the function.
    pub results: Vec<ValueId>,
    /// What it does besides, as far as somebody has found out.
    pub effects: Effects,
}

impl Call {
    /// One of which nothing is known.
    pub fn new(func: FuncId, args: Vec<ValueId>, results: Vec<ValueId>) -> Call {
        Call { func, args, results, effects: Effects::Any }
    }
}

named! {
    /// Shape of a texture or image.
    Dim { Buffer "buffer", D1 "1d", D2 "2d", D3 "3d", Cube "cube", Ms "2d_ms", }
}

impl Dim {
    /// Coordinates of a texel, without the layer.
    pub const fn coordinates(self) -> usize {
        match self {
            Dim::Buffer | Dim::D1 => 1,
            Dim::D2 | Dim::Ms => 2,
            Dim::D3 | Dim::Cube => 3,
        }
    }
}

named! {
    /// What a texture instruction does.
    TexOp {
        /// Sample with the level of detail from derivatives (in compute: level 0) plus bias.
        Sample "tex",
        /// With explicit level of detail.
        Lod "txl",
        /// With bias.
        Bias "txb",
        /// With explicit derivatives.
        Grad "txd",
        /// Fetch a texel by integer coordinates.
        Fetch "txf",
        /// Gather one component of four texels.
        Gather "tg4",
        /// Size: width, height, depth or layers, levels.
        Size "txq",
        /// Samples.
        Samples "txqs",
        /// Level-of-detail query: clamped level, unclamped.
        LodQuery "lodq",
    }
}

named! {
    /// Role of an operand of a texture instruction before lowering.
    TexRole {
        /// Coordinates, then the layer for arrays.
        Coord "coord",
        Lod "lod", Bias "bias", Compare "cmp", Ddx "ddx", Ddy "ddy",
        /// Texel offsets: packed values, one a dimension (gather: up to four pairs).
        Offset "offset",
        Sample "sample",
        /// Dynamic part of the texture and sampler number.
        Index "index",
        SamplerIndex "sindex",
        /// Bindless handle (pair: texture and sampler in one 64-bit handle).
        Handle "handle",
    }
}

/// Details of a texture instruction. Before lower/textures its operands stand here by role and
/// [`Inst::srcs`] is empty; after it, they are the machine's one or two tuples in `srcs` and
/// `operands` is empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tex {
    pub op: TexOp,
    pub dim: Dim,
    pub array: bool,
    pub shadow: bool,
    pub texture: u16,
    pub sampler: u16,
    /// Components wanted, bit 0 = x; one destination for each bit set.
    pub mask: u8,
    /// Component that a gather reads.
    pub component: u8,
    /// The level of detail is zero, known at compile time (machine form `.LZ`).
    pub level_zero: bool,
    /// Constant texel offsets, one signed nibble a dimension; also in the machine form.
    pub offset: Option<[i8; 3]>,
    /// Result type: f32, s32 or u32.
    pub ty: Type,
    pub operands: Vec<(TexRole, Vec<ValueId>)>,
    /// After lowering: the machine's handle comes in a register (`.B`), not in the instruction.
    pub indirect: bool,
    /// After lowering: an operand for offsets is present (`.AOFFI` / `.PTP`).
    pub machine_offsets: bool,
}

impl Tex {
    /// In place of a texture's number: the framebuffer, as the driver binds it.
    pub const FRAMEBUFFER: u16 = u16::MAX;
}

/// Details of an image instruction. Before lower/surfaces `coords` and `data` stand here; after it,
/// the machine's operands in [`Inst::srcs`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Surf {
    pub dim: Dim,
    pub array: bool,
    /// Image number, plus the dynamic `index`.
    pub image: u16,
    pub index: Option<ValueId>,
    /// A bindless handle instead of an image number (Kepler).
    pub handle: Option<ValueId>,
    /// The declared format, where there is one.
    pub format: Option<Format>,
    /// Components; one destination (load) or data value (store) each.
    pub mask: u8,
    /// How the components are read: f32, u32, s32; raw words for `Type::B128`, where the first
    /// coordinate counts bytes.
    pub ty: Type,
    pub atom: Option<AtomOp>,
    pub coords: Vec<ValueId>,
    pub sample: Option<ValueId>,
    pub data: Vec<ValueId>,
    pub order: Order,
    /// After lowering.
    pub machine: Option<SurfMachine>,
}

/// What a lowered image instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SurfMachine {
    pub shape: SurfShape,
    pub access: SurfAccess,
}

named! { /** The coordinates of GF100's instructions: one, two, two and a layer. */ SurfShape { D1 "1d", D2 "2d", Layers "layers", } }

named! {
    /// What is loaded or stored.
    SurfAccess {
        /// A texel: loads give its words, stores convert to the surface's format.
        Texel "texel",
        /// Its words as they are.
        Bytes "bytes",
        /// Its address, and whether it lies outside (GF100).
        Address "address",
    }
}

/// Rare, large details of an instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ext {
    Call(Call),
    Tex(Tex),
    Surf(Surf),
}

impl Ext {
    fn for_uses(&self, mut f: impl FnMut(ValueId)) {
        match self {
            Ext::Call(c) => c.args.iter().for_each(|&v| f(v)),
            Ext::Tex(t) => t.operands.iter().flat_map(|(_, v)| v).for_each(|&v| f(v)),
            Ext::Surf(s) => {
                let values = s.coords.iter().chain(&s.data).chain(&s.index).chain(&s.handle).chain(&s.sample);
                values.for_each(|&v| f(v));
            }
        }
    }

    fn map_uses(&mut self, mut f: impl FnMut(ValueId) -> ValueId) {
        match self {
            Ext::Call(c) => c.args.iter_mut().for_each(|v| *v = f(*v)),
            Ext::Tex(t) => t.operands.iter_mut().flat_map(|(_, v)| v).for_each(|v| *v = f(*v)),
            Ext::Surf(s) => {
                let values = s
                    .coords
                    .iter_mut()
                    .chain(&mut s.data)
                    .chain(&mut s.index)
                    .chain(&mut s.handle)
                    .chain(&mut s.sample);
                values.for_each(|v| *v = f(*v));
            }
        }
    }
}

/// One instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    pub op: Op,
    /// Type of the operation and its result.
    pub ty: Type,
    /// Type of the sources where it differs (`cvt`, `set`, `slct`); otherwise equal to `ty`.
    pub sty: Type,
    pub cond: Cond,
    pub logic: Logic,
    pub rnd: Rnd,
    /// Clamp the result: floats to [0, 1] (NaN gives 0), conversions to the range of the type.
    pub sat: bool,
    /// Flush f32 denormals to zero, operands and result.
    pub ftz: bool,
    /// The result must be exactly what the operations as written give: no contraction, no
    /// reassociation.
    pub exact: bool,
    pub aux: Aux,
    /// On a load of one word: what is proven of the value loaded, `value mod 2^log2 == rest`. A
    /// front-end puts it on the load of a pointer argument whose alignment the user promised;
    /// nothing guesses it. Listing: `known 16`, `known 16+4` where the rest is not 0, after the
    /// address.
    pub known: Align,
    pub guard: Option<Guard>,
    pub dsts: List<ValueId, 5>,
    pub srcs: List<Src, 4>,
    pub mem: Option<MemRef>,
    pub ext: Option<Box<Ext>>,
    pub loc: Loc,
}

impl Inst {
    pub fn new(op: Op, ty: Type) -> Inst {
        Inst {
            op,
            ty,
            sty: ty,
            cond: Cond::default(),
            logic: Logic::And,
            rnd: Rnd::Near,
            sat: false,
            ftz: false,
            exact: false,
            aux: Aux::None,
            known: Align::ANY,
            guard: None,
            dsts: List::new(),
            srcs: List::new(),
            mem: None,
            ext: None,
            loc: Loc::default(),
        }
    }

    /// Whether a comparison is one instruction of the machine: 64-bit integers are compared by words.
    pub(crate) fn compares_at_once(&self) -> bool {
        self.sty.words() == 1 || self.sty == Type::F64
    }

    pub fn src(mut self, s: impl Into<Src>) -> Inst {
        self.srcs.push(s.into());
        self
    }

    pub fn dst(mut self, d: ValueId) -> Inst {
        self.dsts.push(d);
        self
    }

    pub(crate) fn with_mem(mut self, mem: MemRef) -> Inst {
        self.mem = Some(mem);
        self
    }

    pub fn with_aux(mut self, aux: Aux) -> Inst {
        self.aux = aux;
        self
    }

    /// Whether equal operands give equal results, anywhere and any number of times.
    pub fn is_pure(&self) -> bool {
        self.op.is_pure() && !matches!(self.aux, Aux::Sv(sv) if sv.is_volatile())
    }

    /// Barriers that it says are used: the highest number plus one; all sixteen where the number is
    /// not known.
    pub fn barriers(&self) -> u32 {
        match self.srcs.first() {
            _ if self.op != Op::Bar => 0,
            None => 1,
            Some(s) => s.as_imm().map_or(16, |n| n.saturating_add(1).min(16)),
        }
    }

    /// Whether only graphics stages have it: the operation, the memory space or the system value.
    pub fn is_of_graphics(&self) -> bool {
        let of_stage = matches!(
            self.op,
            Op::Interp | Op::Vertex | Op::AttrAddr | Op::Emit | Op::Discard | Op::Pixel | Op::SelFact
        );
        of_stage
            || self.mem.is_some_and(|m| m.space.is_attribute())
            || matches!(self.aux, Aux::Sv(sv) if sv as u8 >= Sv::VertexId as u8)
    }

    /// Whether it may go when nobody reads its results.
    pub(crate) fn removable(&self) -> bool {
        (self.op.removable() || self.call().is_some_and(|c| c.effects != Effects::Any))
            && !matches!(self.aux, Aux::Sv(Sv::ClockLo | Sv::ClockHi))
            && !matches!(self.mem, Some(m) if m.order == Order::Volatile)
    }

    pub fn call(&self) -> Option<&Call> {
        match self.ext.as_deref() {
            Some(Ext::Call(c)) => Some(c),
            _ => None,
        }
    }

    pub fn tex(&self) -> Option<&Tex> {
        match self.ext.as_deref() {
            Some(Ext::Tex(t)) => Some(t),
            _ => None,
        }
    }

    pub fn surf(&self) -> Option<&Surf> {
        match self.ext.as_deref() {
            Some(Ext::Surf(s)) => Some(s),
            _ => None,
        }
    }

    /// Calls `f` with every value that the instruction reads: operands, address, buffer index,
    /// guard, call arguments. Together with [`Term::for_uses`](super::Term::for_uses) this is the
    /// only way that uses are found.
    #[inline]
    pub fn for_uses(&self, mut f: impl FnMut(ValueId)) {
        self.srcs.iter().for_each(|s| s.for_values(&mut f));
        if let Some(m) = &self.mem {
            m.base.iter().for_each(|&v| f(v));
            m.index.iter().for_each(|&v| f(v));
        }
        if let Some(g) = &self.guard {
            f(g.pred);
        }
        if let Some(ext) = &self.ext {
            ext.for_uses(f);
        }
    }

    /// Replaces every value read by `f` of it; the same places as [`Inst::for_uses`].
    #[inline]
    pub fn map_uses(&mut self, mut f: impl FnMut(ValueId) -> ValueId) {
        for s in &mut self.srcs {
            s.values_mut().iter_mut().for_each(|v| *v = f(*v));
        }
        if let Some(m) = &mut self.mem {
            m.base.iter_mut().for_each(|v| *v = f(*v));
            m.index.iter_mut().for_each(|v| *v = f(*v));
        }
        if let Some(g) = &mut self.guard {
            g.pred = f(g.pred);
        }
        if let Some(ext) = &mut self.ext {
            ext.map_uses(f);
        }
    }

    /// Calls `f` with every value that the instruction defines: destinations and call results.
    #[inline]
    pub(crate) fn for_defs(&self, mut f: impl FnMut(ValueId)) {
        self.dsts.iter().for_each(|&v| f(v));
        if let Some(Ext::Call(c)) = self.ext.as_deref() {
            c.results.iter().for_each(|&v| f(v));
        }
    }

    /// Replaces every value defined by `f` of it.
    pub(crate) fn map_defs(&mut self, mut f: impl FnMut(ValueId) -> ValueId) {
        self.dsts.iter_mut().for_each(|v| *v = f(*v));
        if let Some(Ext::Call(c)) = self.ext.as_deref_mut() {
            c.results.iter_mut().for_each(|v| *v = f(*v));
        }
    }
}

/// A transfer of control to a block, with a value for each of its parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    pub to: BlockId,
    pub args: Vec<ValueId>,
}

impl Edge {
    pub fn to(to: BlockId) -> Edge {
        Edge { to, args: Vec::new() }
    }
}
