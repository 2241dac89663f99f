//! The executable form of an instruction: operands resolved to rows, modifiers to functions.

use super::lanes::{LaneFn, Mask, Row, Src};
use super::race::Scope;
use super::texture::TexOp;
use super::undef::Route;
use arrayvec::ArrayVec;
use nvir_base::num::conv::{Float, Int};
use nvir_base::num::video::{Primary, Secondary};
use nvir_base::num::{Round, mufu};

/// The destination that drops what is written.
pub(crate) const SINK: u8 = 255;

/// A predicate operand; 7 is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PSrc {
    pub num: u8,
    pub not: bool,
}

impl PSrc {
    pub(crate) const TRUE: PSrc = PSrc { num: 7, not: false };
}

/// Combines two predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bop {
    And,
    Or,
    Xor,
}

impl Bop {
    pub(crate) fn of(self, a: Mask, b: Mask) -> Mask {
        match self {
            Bop::And => a & b,
            Bop::Or => a | b,
            Bop::Xor => a ^ b,
        }
    }
}

/// A 64-bit operand: its two words, the high one with the float modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Src2 {
    pub lo: Src,
    pub hi: Src,
}

impl Src2 {
    pub(crate) const ZERO: Src2 = Src2 { lo: Src::ZERO, hi: Src::ZERO };
}

/// Where a comparison goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SetDst {
    /// The result, and its complement combined with the same predicate.
    Preds(u8, u8),
    /// All ones, or 1.0f with `bf`.
    Reg { dst: u8, bf: bool },
}

/// What a comparison compares.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cmp {
    Rows {
        f: fn(&Row, &Row) -> Mask,
        a: Src,
        b: Src,
    },
    /// The high words of a wider comparison, whose lower words left their flags in CC.
    IntX {
        test: u8,
        signed: bool,
        a: Src,
        b: Src,
    },
    F64 {
        test: u8,
        a: Src2,
        b: Src2,
    },
    Preds {
        a: PSrc,
        b: PSrc,
        bop: Bop,
    },
    Cc(u8),
}

/// The carry that goes into a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CarryIn {
    Zero,
    One,
    Flag,
}

/// What a memory instruction addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Space {
    /// Global, or shared and local through their windows.
    Generic,
    Shared,
    Local,
}

/// An address: base register (pair with `wide`), and offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Addr {
    pub base: Src,
    pub base_hi: Option<Src>,
    pub offset: i64,
    /// Past the cache that multiprocessors do not keep coherent (`.CG`, `.CV`, `.WT`): what atomic loads and stores,
    /// volatile and coherent accesses are compiled to.
    pub coherent: bool,
}

/// Width of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    U8,
    S8,
    U16,
    S16,
    B32,
    B64,
    B96,
    B128,
}

impl Width {
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Width::U8 | Width::S8 => 1,
            Width::U16 | Width::S16 => 2,
            Width::B32 => 4,
            Width::B64 => 8,
            Width::B96 => 12,
            Width::B128 => 16,
        }
    }

    /// 32-bit registers that hold it.
    pub(crate) fn regs(self) -> u32 {
        self.bytes().div_ceil(4)
    }

    /// What an address must be a multiple of.
    pub(crate) fn align(self) -> u32 {
        if self == Width::B96 { 16 } else { self.bytes() }
    }
}

/// What an atomic does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtomOp {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Safeadd,
}

/// The type of an atomic's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtomTy {
    U32,
    S32,
    U64,
    S64,
    F32 { ftz: bool },
}

/// The words of a wide minimum: computed from the high one down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MinMaxPart {
    Low,
    Middle,
    High,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShflMode {
    Idx,
    Up,
    Down,
    Bfly,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VoteMode {
    All,
    Any,
    Eq,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BarMode {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FloatOp {
    Add,
    Mul,
    Fma,
}

/// Modifiers of float arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fp {
    pub round: Round,
    pub ftz: bool,
    /// Flushes operands, and zero times anything is zero.
    pub fmz: bool,
    pub sat: bool,
    /// The product times two to this.
    pub scale: i32,
}

/// A number format of conversions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumType {
    Float(Float),
    Int(Int),
}

/// F2F, F2I, I2F, I2I.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Conv {
    pub from: NumType,
    pub to: NumType,
    pub round: Round,
    /// F2F within one format rounds to an integer.
    pub to_integer: bool,
    pub ftz: bool,
    pub sat: bool,
    pub neg: bool,
    pub abs: bool,
    /// The operand starts at this bit of its register.
    pub shift: u8,
}

/// An operand of a video instruction: where its lanes are taken from, and how they are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VideoSrc {
    /// Lane i of a two- or four-lane form is part `pick[i]` of the eight bytes (four halves) of both operands; a
    /// single-lane form starts at bit `pick[0]`.
    pub pick: [u8; 4],
    pub bits: u8,
    pub signed: bool,
    pub neg: bool,
}

/// A video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VideoOp {
    pub op: Primary,
    /// 1, 2 or 4.
    pub lanes: u8,
    pub a: VideoSrc,
    pub b: VideoSrc,
    pub signed: bool,
    pub sat: bool,
    pub wrap: bool,
    pub second: Secondary,
    /// Lanes of a two- or four-lane form that are computed; the others come from `c`.
    pub write: u8,
    /// VMAD: shift of the product-sum, negation of `c`, and one more.
    pub mad: Option<MadTail>,
}

/// What VMAD does after its product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MadTail {
    pub shift: u8,
    pub neg_product: bool,
    pub neg_c: bool,
    pub plus_one: bool,
}

/// Transfers of control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    Bra {
        target: u32,
        cc: u8,
        /// `.U`: taken by all running threads or by none; those of one that is not come to the test again.
        uniform: bool,
    },
    /// To `reg + base`, each thread to its own.
    Brx {
        reg: Src,
        base: i64,
        cc: u8,
    },
    Ssy(u32),
    Pbk(u32),
    Pcnt(u32),
    Pret(u32),
    Plongjmp(u32),
    Cal(u32),
    Brk(u8),
    Cont(u8),
    Ret(u8),
    Longjmp(u8),
    Exit(u8),
    /// Pixels are discarded; their threads go on as helpers. In a compute program they end.
    Kil(u8),
    /// All threads of quads run of which one does, until [`Flow::QuadPop`].
    QuadOn,
    QuadPop,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A scheduling word, stepped over.
    Sched,
    /// What cannot run, and why.
    Illegal(&'static str),
    /// What names a register or constant that the launch does not have.
    OutOfBounds(Box<str>),
    Nop,
    /// MEMBAR: nothing but an order of accesses.
    Fence(Scope),
    Map {
        f: LaneFn,
        dst: u8,
        src: [Src; 3],
    },
    /// As [`Body::Map`], one lane at a time, for what no vector code exists; `param` carries the modifiers.
    Scalar {
        f: fn(u64, u32, u32, u32) -> u32,
        param: u64,
        dst: u8,
        src: [Src; 3],
    },
    /// Float arithmetic with a rounding or modifier for which there is no vector code.
    Float {
        op: FloatOp,
        fp: Fp,
        dst: u8,
        src: [Src; 3],
    },
    Conv {
        conv: Conv,
        dst: u8,
        wide: bool,
        src: Src2,
    },
    Video {
        op: VideoOp,
        dst: u8,
        src: [Src; 3],
    },
    /// On 64-bit values; a 32-bit destination takes the low word.
    Wide {
        f: fn(u64, u64, u64, u64) -> u64,
        param: u64,
        dst: u8,
        wide: bool,
        src: [Src2; 3],
    },
    /// A sum with carry in or out; `inv` complements the operands.
    Sum {
        dst: u8,
        src: [Src; 2],
        inv: [bool; 2],
        carry: CarryIn,
        sat: bool,
        shift: u8,
    },
    /// A product's half, plus `c`, with carry in or out.
    Mad {
        dst: u8,
        src: [Src; 3],
        signed: [bool; 2],
        hi: bool,
        neg: [bool; 2],
        carry: CarryIn,
        sat: bool,
    },
    /// A part of a minimum (`pick` true) or maximum of wide integers.
    MinMaxX {
        dst: u8,
        src: [Src; 2],
        signed: bool,
        pick: PSrc,
        part: MinMaxPart,
    },
    MinMax {
        dst: u8,
        src: [Src; 2],
        min: LaneFn,
        max: LaneFn,
        pick: PSrc,
    },
    MinMax64 {
        dst: u8,
        src: [Src2; 2],
        pick: PSrc,
    },
    Sel {
        dst: u8,
        src: [Src; 2],
        pick: PSrc,
    },
    Set {
        dst: SetDst,
        cmp: Cmp,
        with: PSrc,
        bop: Bop,
    },
    Mufu {
        func: mufu::Func,
        sat: bool,
        dst: u8,
        src: Src,
    },
    /// The swizzled sum of quads; two bits of `ops` a lane, the highest for the first: a+b, b-a, a-b, b.
    Fswz {
        dst: u8,
        src: [Src; 2],
        swizzle: u8,
        ops: u16,
        ftz: bool,
    },
    S2r {
        dst: u8,
        reg: u8,
    },
    P2r {
        dst: u8,
        src: Src,
        mask: Src,
        high: bool,
    },
    R2p {
        src: Src,
        mask: Src,
        high: bool,
    },
    B2r {
        dst: u8,
        pred: u8,
    },
    Lepc {
        dst: u8,
    },
    Vote {
        mode: VoteMode,
        dst: u8,
        pdst: u8,
        src: PSrc,
    },
    Shfl {
        mode: ShflMode,
        dst: u8,
        pdst: u8,
        src: [Src; 3],
    },
    Load {
        space: Space,
        width: Width,
        dst: u8,
        addr: Addr,
    },
    Store {
        space: Space,
        width: Width,
        src: u8,
        addr: Addr,
    },
    LoadLock {
        width: Width,
        dst: u8,
        pdst: u8,
        addr: Addr,
    },
    /// `cond`: the store may fail, and says so.
    StoreUnlock {
        width: Width,
        src: u8,
        pdst: u8,
        addr: Addr,
        cond: bool,
    },
    LoadConst {
        bank: u8,
        width: Width,
        dst: u8,
        base: Src,
        offset: i32,
        indexed: bool,
    },
    Atom {
        op: AtomOp,
        ty: AtomTy,
        dst: u8,
        addr: Addr,
        src: [u8; 2],
    },
    /// The result of a reduction goes to `dst` and `pdst` once the barrier is complete.
    Bar {
        mode: BarMode,
        id: Src,
        count: Option<Src>,
        pred: PSrc,
        dst: u8,
        pdst: u8,
    },
    Trap,
    Flow(Flow),
    Tex(Box<TexOp>),
    /// Coordinate, extent word, bias.
    SuClamp {
        dst: u8,
        pdst: u8,
        src: [Src; 3],
        how: super::surface::Clamp,
    },
    SuBfm {
        dst: u8,
        pdst: u8,
        src: [Src; 3],
        three_d: bool,
    },
    SuEau {
        dst: u8,
        src: [Src; 3],
    },
    Surface(Box<super::surface::SurfaceOp>),
    /// What only graphics stages have.
    Stage(Box<super::stage::Op>),
}

/// A run of registers: first and count.
pub(crate) type Regs = (u8, u8);

/// One decoded word.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub body: Body,
    /// How far it is to the next instruction.
    pub bytes: u8,
    pub guard: PSrc,
    /// `.S`.
    pub sync: bool,
    /// The lanes of each quad that execute it.
    pub quad: u8,
    /// The result's flags go to CC.
    pub cc: bool,
    /// `.X` of an instruction that has no carry: its zero flag continues the previous one.
    pub chain: bool,
    /// What it reads and writes, for the checks and for bounds.
    pub reads: ArrayVec<Regs, 8>,
    pub writes: ArrayVec<Regs, 4>,
    /// Predicates read (guard included) and written, one bit each.
    pub pred_reads: u8,
    pub pred_writes: u8,
    pub reads_cc: bool,
    /// How undefined bits pass through it.
    pub route: Route,
    /// Entries of the program's pool that it reads.
    pub uniforms: ArrayVec<u16, 8>,
}

impl Inst {
    pub(crate) fn new(body: Body) -> Inst {
        Inst {
            body,
            bytes: 8,
            guard: PSrc::TRUE,
            sync: false,
            quad: 15,
            cc: false,
            chain: false,
            reads: ArrayVec::new(),
            writes: ArrayVec::new(),
            pred_reads: 0,
            pred_writes: 0,
            reads_cc: false,
            route: Route::Mix,
            uniforms: ArrayVec::new(),
        }
    }

    /// Whether it may change global memory.
    pub fn writes_memory(&self) -> bool {
        match &self.body {
            Body::Store { space, .. } => *space == Space::Generic,
            Body::Surface(op) => op.access.writes(),
            Body::Atom { .. } => true,
            _ => false,
        }
    }

    /// One above the highest register it names.
    pub(crate) fn gprs(&self) -> u32 {
        self.reads.iter().chain(&self.writes).map(|&(r, n)| u32::from(r) + u32::from(n)).max().unwrap_or(0)
    }
}
