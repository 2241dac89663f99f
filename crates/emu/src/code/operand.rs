//! Operands of micro-ops and their modifiers.

use crate::state::lanes::{Mask, Src};
use nvir_base::num::Round;
use nvir_base::num::conv::{Float, Int};
use nvir_base::num::video::{Primary, Secondary};

/// The null register: it drops what is written.
pub const NULL: u8 = 255;

/// A predicate operand; 7 is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PSrc {
    pub num: u8,
    pub not: bool,
}

impl PSrc {
    pub const TRUE: PSrc = PSrc { num: 7, not: false };
}

/// Combines two predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bop {
    And,
    Or,
    Xor,
}

impl Bop {
    pub fn of(self, a: Mask, b: Mask) -> Mask {
        match self {
            Bop::And => a & b,
            Bop::Or => a | b,
            Bop::Xor => a ^ b,
        }
    }
}

/// A 64-bit operand: its two words, the high one with the float modifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Src2 {
    pub lo: Src,
    pub hi: Src,
}

impl Src2 {
    pub const ZERO: Src2 = Src2 { lo: Src::ZERO, hi: Src::ZERO };
}

/// Where a comparison goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetDst {
    /// The result, and its complement combined with the same predicate.
    Preds(u8, u8),
    /// All ones, or 1.0f with `bf`.
    Reg { dst: u8, bf: bool },
}

/// The carry that goes into a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CarryIn {
    Zero,
    One,
    Flag,
}

/// What a memory instruction addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Global, or shared and local through their windows.
    Generic,
    Shared,
    Local,
}

/// An address: base register (pair with `wide`), and offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addr {
    pub base: Src,
    pub base_hi: Option<Src>,
    pub offset: i64,
    /// Past the cache that multiprocessors do not keep coherent (`.CG`, `.CV`, `.WT`): what atomic loads and stores,
    /// volatile and coherent accesses are compiled to.
    pub coherent: bool,
}

/// Width of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
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
    pub fn bytes(self) -> u32 {
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
    pub fn regs(self) -> u32 {
        self.bytes().div_ceil(4)
    }

    /// What an address must be a multiple of.
    pub fn align(self) -> u32 {
        if self == Width::B96 { 16 } else { self.bytes() }
    }
}

/// What an atomic does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomOp {
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
pub enum AtomTy {
    U32,
    S32,
    U64,
    S64,
    F32 { ftz: bool },
}

/// The words of a wide minimum: computed from the high one down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinMaxPart {
    Low,
    Middle,
    High,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShflMode {
    Idx,
    Up,
    Down,
    Bfly,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VoteMode {
    All,
    Any,
    Eq,
}

/// What a barrier does beside waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum BarMode {
    #[default]
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloatOp {
    Add,
    Mul,
    Fma,
}

/// Modifiers of float arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fp {
    pub round: Round,
    pub ftz: bool,
    /// Flushes operands, and zero times anything is zero.
    pub fmz: bool,
    pub sat: bool,
    /// The product times two to this.
    pub scale: i32,
}

impl Fp {
    /// Saturation and nothing else.
    pub const SAT: Fp = Fp { round: Round::Rn, ftz: false, fmz: false, sat: true, scale: 0 };

    /// The same with flushed operands and results.
    pub const FTZ_SAT: Fp = Fp { ftz: true, ..Fp::SAT };
}

/// A number format of conversions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumType {
    Float(Float),
    Int(Int),
}

impl NumType {
    /// Its size.
    pub fn bits(self) -> u32 {
        match self {
            NumType::Int(i) => i.bits,
            NumType::Float(Float::F16) => 16,
            NumType::Float(Float::F32) => 32,
            NumType::Float(Float::F64) => 64,
        }
    }
}

/// An operand of a video instruction: where its lanes are taken from, and how they are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoSrc {
    /// Lane i of a two- or four-lane form is part `pick[i]` of the eight bytes (four halves) of both operands; a
    /// single-lane form starts at bit `pick[0]`.
    pub pick: [u8; 4],
    pub bits: u8,
    pub signed: bool,
    pub neg: bool,
}

/// A video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VideoOp {
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
pub struct MadTail {
    pub shift: u8,
    pub neg_product: bool,
    pub neg_c: bool,
    pub plus_one: bool,
}

/// Whom a fence orders for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Block,
    Device,
}
