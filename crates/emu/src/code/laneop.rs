//! What operations on one lane compute: a name for each, and one table that all who execute, compile or follow them read.
//!
//! [`LaneOp::eval`] is the meaning, by [`nvir_base::num`]. [`RowOp`] and [`super::rows`] do the same for a whole warp, in a form of which
//! the compiler makes vector code where there is any; [`LaneOp::definedness`] says how undefined bits pass through. A new operation is a
//! variant, a line of the table and, where one undefined bit does not spoil the whole result, a line of `definedness`; the tests
//! below hold the three against each other once it is in their list.

use super::compare::CmpOp;
use super::kernel::{Kernels, RowFn, RowKernel};
use super::operand::{FloatOp, Fp, VideoOp};
use super::video;
use crate::state::lanes::{LANES, LaneVec, Mask, Src, lanes};
use nvir_base::num::Round;
use nvir_base::num::float::{self, canon32, ftz32, sat32};
use nvir_base::num::int::{self, Found, Permute};
use nvir_base::num::mufu::{self, Func, mufu};
use nvir_simd::{Features, Processor};

/// An operation on up to three 32-bit values of one lane; those that it does not name do not matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneOp {
    /// `a`.
    Mov,
    /// `a + b`, rounded to nearest.
    FAdd {
        ftz: bool,
    },
    /// `a b`, rounded to nearest.
    FMul {
        ftz: bool,
    },
    /// `a b + c`, rounded once, to nearest.
    FFma {
        ftz: bool,
    },
    FMin {
        ftz: bool,
    },
    FMax {
        ftz: bool,
    },
    /// The first three with other rounding and modifiers.
    Float(FloatOp, Fp),
    /// `a` if `c` compares with zero as `test` says, else `b`.
    FSel {
        test: u8,
        ftz: bool,
    },
    /// A special function of `a`.
    Mufu {
        func: Func,
        sat: bool,
    },
    /// The high word of a double's approximate reciprocal, from its high word.
    Rcp64h,
    /// The same of the reciprocal root.
    Rsq64h,
    Add,
    /// `a + b + 1`.
    AddOne,
    /// `a - b`.
    Sub,
    /// `b - a`.
    SubFrom,
    /// `!a + !b + 1`.
    AddNot,
    /// `(a << c) + b`.
    ShlAdd,
    /// `a b + c`.
    MulAdd,
    /// `c - a b`.
    MulSub,
    /// The high half of `a b`, plus `c`; which of the two are signed.
    MulHiAdd {
        signed: [bool; 2],
    },
    /// IMADSP: `a b + c` of parts.
    MadSp([Part; 3]),
    /// IMADSP.SD: `b` itself says which parts.
    MadSpDescribed,
    Min {
        signed: bool,
    },
    Max {
        signed: bool,
    },
    /// `a` if `c` compares with zero as `test` says, else `b`.
    Sel {
        test: u8,
        signed: bool,
    },
    /// `|a - b| + c`.
    Sad {
        signed: bool,
    },
    /// The field of `a`, or of `a` reversed, that `b` describes.
    Bfe {
        signed: bool,
        reverse: bool,
    },
    /// `c` with the low bits of `a` in the field that `b` describes.
    Bfi,
    Shl {
        wrap: bool,
    },
    Shr {
        signed: bool,
        wrap: bool,
        reverse: bool,
    },
    /// `c:a` shifted by `b`.
    Shf(Funnel),
    And,
    Or,
    Xor,
    /// The highest bit of `a`, or for `shift` how far it is from the top.
    Flo {
        signed: bool,
        shift: bool,
    },
    /// The bits of `a & b` counted.
    Popc,
    /// Bytes of `c:a` as `b` selects.
    Prmt(Permute),
    /// A video instruction.
    Video(VideoOp),
    /// SUEAU: the address in units of 256 bytes.
    SurfaceAddress,
}

/// How undefined bits of operands pass into a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Definedness {
    /// One undefined bit makes the whole result undefined.
    Spoils,
    /// Bits of the operands in this set (bit i: operand i) are moved, as the other operands say, which must be defined.
    Moves(u8),
    /// As bits of an AND: a zero decides.
    And,
    /// A one decides.
    Or,
    /// Bit by bit.
    Xor,
}

/// The part of an operand that IMADSP reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Whole,
    Low16,
    SignedLow16,
    High16,
    SignedHigh16,
    Low24,
    SignedLow24,
}

impl Part {
    fn take(self, v: u32) -> u32 {
        match self {
            Part::Whole => v,
            Part::Low16 => v & 0xffff,
            Part::SignedLow16 => int::sext(v, 16),
            Part::High16 => v >> 16,
            Part::SignedHigh16 => (v as i32 >> 16) as u32,
            Part::Low24 => v & 0x00ff_ffff,
            Part::SignedLow24 => int::sext(v, 24),
        }
    }
}

/// A shift of two words. To the left it gives the high word, to the right the low one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Funnel {
    pub left: bool,
    /// It shifts by up to 63.
    pub wide: bool,
    pub signed: bool,
    /// The distance wraps around, rather than being limited.
    pub wrap: bool,
    /// To the right: the high word.
    pub high: bool,
}

impl Funnel {
    fn shift(self, lo: u32, by: u32, hi: u32) -> u32 {
        let limit = if self.wide { 64 } else { 32 };
        let by = if self.wrap { by & (limit - 1) } else { by.min(limit) };
        let v = u64::from(hi) << 32 | u64::from(lo);
        if self.left {
            return (u128::from(v) << by >> 32) as u32;
        }
        let r = if self.signed { (i128::from(v as i64) >> by) as u64 } else { (u128::from(v) >> by) as u64 };
        if self.high { (r >> 32) as u32 } else { r as u32 }
    }
}

/// Makes `eval` of all lines, and kernels ([`super::rows`]) of those for which the compiler has vector code, or that cost so little that
/// it pays to compute them for lanes that are off. Those that often have operands with modifiers have kernels with them, too. What
/// saturates has its meaning among the scalar ones.
macro_rules! table {
    (
        modified { $($m:pat => |$($mp:ident),*| $me:expr;)* }
        saturated { $($t:pat => |$($tp:ident),*| $te:expr;)* }
        vector { $($v:pat => |$($vp:ident),*| $ve:expr;)* }
        scalar { $($s:pat => |$sa:pat_param, $sb:pat_param, $sc:pat_param| $se:expr;)* }
    ) => {
        impl LaneOp {
            /// The result in one lane.
            pub fn eval(self, a: u32, b: u32, c: u32) -> u32 {
                use LaneOp::*;
                match self {
                    FFma { ftz } => fma_lane(a, b, c, ftz),
                    $($m => { table!(@bind (a) (b) (c); $($mp)*); $me })*
                    $($v => { table!(@bind (a) (b) (c); $($vp)*); $ve })*
                    $($s => { let ($sa, $sb, $sc) = (a, b, c); $se })*
                }
            }

            /// The same in the lanes of a mask, one by one.
            fn eval_lanes(self, mask: Mask, [a, b, c]: &[LaneVec; 3], out: &mut LaneVec) {
                use LaneOp::*;
                match self {
                    $($s => for l in lanes(mask) {
                        let ($sa, $sb, $sc) = (a.0[l], b.0[l], c.0[l]);
                        out.0[l] = $se;
                    })*
                    // Kernels do the others.
                    _ => lanes(mask).for_each(|l| out.0[l] = self.eval(a.0[l], b.0[l], c.0[l])),
                }
            }

            /// The same for all lanes, as compiled for a processor, unless that must be done lane by lane.
            pub(super) fn kernels(self, processor: Processor) -> Option<Kernels> {
                use LaneOp::*;
                Some(match self {
                    FFma { ftz: false } => Kernels::with_modifiers::<Fma<false, false>>(processor),
                    FFma { ftz: true } => Kernels::with_modifiers::<Fma<true, false>>(processor),
                    Float(FloatOp::Fma, Fp::SAT) => Kernels::with_modifiers::<Fma<false, true>>(processor),
                    Float(FloatOp::Fma, Fp::FTZ_SAT) => Kernels::with_modifiers::<Fma<true, true>>(processor),
                    Mufu { func: Func::Sin, sat: false } => Kernels::with_modifiers::<Wave<0>>(processor),
                    Mufu { func: Func::Cos, sat: false } => Kernels::with_modifiers::<Wave<1>>(processor),
                    $($m => { table!(@kernel $me; $($mp)*); Kernels::with_modifiers::<K>(processor) })*
                    $($t => { table!(@kernel $te; $($tp)*); Kernels::with_modifiers::<K>(processor) })*
                    $($v => { table!(@kernel $ve; $($vp)*); Kernels::without_modifiers::<K>(processor) })*
                    _ => return None,
                })
            }
        }
    };
    (@bind ($a:expr) ($b:expr) ($c:expr); $x:ident) => { let $x = $a; };
    (@bind ($a:expr) ($b:expr) ($c:expr); $x:ident $y:ident) => { let ($x, $y) = ($a, $b); };
    (@bind ($a:expr) ($b:expr) ($c:expr); $x:ident $y:ident $z:ident) => { let ($x, $y, $z) = ($a, $b, $c); };
    (@kernel $e:expr; $($p:ident)*) => {
        struct K;
        impl RowKernel for K {
            const OPERANDS: usize = [$(stringify!($p)),*].len();

            #[inline(always)]
            fn rows<F: Features>(operands: [&LaneVec; 3], out: &mut LaneVec) {
                for i in 0..LANES {
                    table!(@bind (operands[0].0[i]) (operands[1].0[i]) (operands[2].0[i]); $($p)*);
                    out.0[i] = $e;
                }
            }
        }
    };
}

/// MUFU.SIN (0) or MUFU.COS (1).
struct Wave<const QUARTERS: u64>;

impl<const QUARTERS: u64> RowKernel for Wave<QUARTERS> {
    const OPERANDS: usize = 1;

    #[inline(always)]
    fn rows<F: Features>(operands: [&LaneVec; 3], out: &mut LaneVec) {
        let angles = operands[0];
        let mut all_near = true;
        for i in 0..LANES {
            out.0[i] = mufu::wave::<QUARTERS>(angles.0[i]);
            all_near &= mufu::is_near(angles.0[i]);
        }
        if !all_near {
            let func = if QUARTERS == 0 { Func::Sin } else { Func::Cos };
            (0..LANES).for_each(|i| out.0[i] = far(func, angles.0[i]));
        }
    }
}

/// What rarely happens.
#[cold]
#[inline(never)]
fn far(func: Func, angle: u32) -> u32 {
    mufu(func, angle)
}

fn add32(a: u32, b: u32) -> u32 {
    canon32(f32::from_bits(a) + f32::from_bits(b))
}

fn mul32(a: u32, b: u32) -> u32 {
    canon32(f32::from_bits(a) * f32::from_bits(b))
}

fn mul_hi(a: u32, b: u32, a_signed: bool, b_signed: bool) -> u32 {
    (int::mul_wide(int::factor(a, a_signed), int::factor(b, b_signed)) >> 32) as u32
}

table! {
    modified {
        FAdd { ftz: false } => |a, b| add32(a, b);
        FAdd { ftz: true } => |a, b| ftz32(add32(ftz32(a), ftz32(b)));
        FMul { ftz: false } => |a, b| mul32(a, b);
        FMul { ftz: true } => |a, b| ftz32(mul32(ftz32(a), ftz32(b)));
        FMin { ftz: false } => |a, b| float::min32(a, b);
        FMin { ftz: true } => |a, b| float::min32(ftz32(a), ftz32(b));
        FMax { ftz: false } => |a, b| float::max32(a, b);
        FMax { ftz: true } => |a, b| float::max32(ftz32(a), ftz32(b));
        And => |a, b| a & b;
        Or => |a, b| a | b;
        Xor => |a, b| a ^ b;
        Mufu { func: Func::Rcp, sat: false } => |a| mufu(Func::Rcp, a);
        Mufu { func: Func::Rsq, sat: false } => |a| mufu(Func::Rsq, a);
        Mufu { func: Func::Ex2, sat: false } => |a| mufu(Func::Ex2, a);
        Mufu { func: Func::Lg2, sat: false } => |a| mufu(Func::Lg2, a);
    }
    saturated {
        Float(FloatOp::Add, Fp::SAT) => |a, b| sat32(add32(a, b));
        Float(FloatOp::Add, Fp::FTZ_SAT) => |a, b| sat32(ftz32(add32(ftz32(a), ftz32(b))));
        Float(FloatOp::Mul, Fp::SAT) => |a, b| sat32(mul32(a, b));
        Float(FloatOp::Mul, Fp::FTZ_SAT) => |a, b| sat32(ftz32(mul32(ftz32(a), ftz32(b))));
    }
    vector {
        Mov => |a| a;
        Add => |a, b| a.wrapping_add(b);
        AddOne => |a, b| a.wrapping_add(b).wrapping_add(1);
        Sub => |a, b| a.wrapping_sub(b);
        SubFrom => |a, b| b.wrapping_sub(a);
        AddNot => |a, b| (!a).wrapping_add(!b).wrapping_add(1);
        ShlAdd => |a, b, c| (a << (c & 31)).wrapping_add(b);
        MulAdd => |a, b, c| a.wrapping_mul(b).wrapping_add(c);
        MulSub => |a, b, c| c.wrapping_sub(a.wrapping_mul(b));
        MulHiAdd { signed: [false, false] } => |a, b, c| mul_hi(a, b, false, false).wrapping_add(c);
        MulHiAdd { signed: [true, true] } => |a, b, c| mul_hi(a, b, true, true).wrapping_add(c);
        MulHiAdd { signed: [true, false] } => |a, b, c| mul_hi(a, b, true, false).wrapping_add(c);
        MulHiAdd { signed: [false, true] } => |a, b, c| mul_hi(a, b, false, true).wrapping_add(c);
        Min { signed: true } => |a, b| (a as i32).min(b as i32) as u32;
        Min { signed: false } => |a, b| a.min(b);
        Max { signed: true } => |a, b| (a as i32).max(b as i32) as u32;
        Max { signed: false } => |a, b| a.max(b);
        Sad { signed: true } => |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c);
        Sad { signed: false } => |a, b, c| a.abs_diff(b).wrapping_add(c);
        Bfe { signed: true, reverse: false } => |a, b| int::bfe(a, b, true);
        Bfe { signed: false, reverse: false } => |a, b| int::bfe(a, b, false);
        Bfe { signed: true, reverse: true } => |a, b| int::bfe(a.reverse_bits(), b, true);
        Bfe { signed: false, reverse: true } => |a, b| int::bfe(a.reverse_bits(), b, false);
        Bfi => |a, b, c| int::bfi(a, b, c);
        Shl { wrap: false } => |a, b| int::shl(a, b);
        Shl { wrap: true } => |a, b| a << (b & 31);
        Shr { signed: false, wrap: false, reverse: false } => |a, b| int::shr_u(a, b);
        Shr { signed: false, wrap: true, reverse: false } => |a, b| a >> (b & 31);
        Shr { signed: true, wrap: false, reverse: false } => |a, b| int::shr_s(a, b);
        Shr { signed: true, wrap: true, reverse: false } => |a, b| (a as i32 >> (b & 31)) as u32;
        Shr { signed: false, wrap: false, reverse: true } => |a, b| int::shr_u(a.reverse_bits(), b);
        Shr { signed: false, wrap: true, reverse: true } => |a, b| a.reverse_bits() >> (b & 31);
        Shr { signed: true, wrap: false, reverse: true } => |a, b| int::shr_s(a.reverse_bits(), b);
        Shr { signed: true, wrap: true, reverse: true } => |a, b| (a.reverse_bits() as i32 >> (b & 31)) as u32;
        Flo { signed: true, shift: true } => |a| int::flo(a, true, Found::Shift);
        Flo { signed: true, shift: false } => |a| int::flo(a, true, Found::Bit);
        Flo { signed: false, shift: true } => |a| int::flo(a, false, Found::Shift);
        Flo { signed: false, shift: false } => |a| int::flo(a, false, Found::Bit);
        Popc => |a, b| (a & b).count_ones();
        Prmt(Permute::Index) => |a, b, c| int::prmt(a, b, c, Permute::Index);
    }
    scalar {
        Float(op, fp) => |a, b, c| float_lane(op, fp, a, b, c);
        FSel { test, ftz } => |a, b, c| if float::test32(test, if ftz { ftz32(c) } else { c }, 0) { a } else { b };
        Mufu { func, sat } => |a, _, _| {
            let v = mufu(func, a);
            if sat { sat32(v) } else { v }
        };
        Rcp64h => |a, _, _| mufu::rcp64h(a);
        Rsq64h => |a, _, _| mufu::rsq64h(a);
        MadSp([x, y, z]) => |a, b, c| x.take(a).wrapping_mul(y.take(b)).wrapping_add(z.take(c));
        MadSpDescribed => |a, b, c| described(a, b, c);
        Sel { test, signed } => |a, b, c| if (CmpOp::Int { test, signed }).eval(c, 0) { a } else { b };
        Shf(funnel) => |a, b, c| funnel.shift(a, b, c);
        Prmt(mode) => |a, b, c| int::prmt(a, b, c, mode);
        Video(op) => |a, b, c| video::eval(&op, a, b, c);
        SurfaceAddress => |a, b, c| upper_address(a, b, c);
    }
}

impl LaneOp {
    /// The undefined bits of the result in one lane, by the operands' values and their undefined bits.
    pub fn undefined(self, values: [u32; 3], undefined: [u32; 3]) -> u32 {
        let [a, b, _] = values;
        let [ua, ub, _] = undefined;
        let any = undefined.iter().enumerate().any(|(i, u)| i < self.operands() && *u != 0);
        match self.definedness() {
            Definedness::Spoils if any => u32::MAX,
            Definedness::Spoils => 0,
            Definedness::Moves(data) => {
                let moved = |i: usize| data >> i & 1 != 0;
                // An undefined distance or selector makes everything undefined.
                if (0..self.operands()).any(|i| !moved(i) && undefined[i] != 0) {
                    return u32::MAX;
                }
                let [a, b, c] = std::array::from_fn(|i| if moved(i) { undefined[i] } else { values[i] });
                self.eval(a, b, c)
            }
            Definedness::And => (ua | ub) & (ua | a) & (ub | b),
            Definedness::Or => (ua | ub) & (ua | !a) & (ub | !b),
            Definedness::Xor => ua | ub,
        }
    }

    /// How many operands it has: the first ones.
    pub fn operands(self) -> usize {
        use LaneOp::*;
        match self {
            Mov | Mufu { .. } | Rcp64h | Rsq64h | Flo { .. } => 1,
            FAdd { .. } | FMul { .. } | FMin { .. } | FMax { .. } | Float(FloatOp::Add | FloatOp::Mul, _) => {
                2
            }
            Add | AddOne | Sub | SubFrom | AddNot | Min { .. } | Max { .. } => 2,
            Bfe { .. } | Shl { .. } | Shr { .. } | And | Or | Xor | Popc => 2,
            _ => 3,
        }
    }

    /// How undefined bits pass through it.
    pub fn definedness(self) -> Definedness {
        match self {
            LaneOp::Mov | LaneOp::Bfe { .. } | LaneOp::Shl { .. } | LaneOp::Shr { .. } => {
                Definedness::Moves(1)
            }
            LaneOp::FSel { .. } | LaneOp::Sel { .. } => Definedness::Moves(3),
            LaneOp::Bfi | LaneOp::Prmt(_) | LaneOp::Shf(_) => Definedness::Moves(5),
            LaneOp::And => Definedness::And,
            LaneOp::Or => Definedness::Or,
            LaneOp::Xor => Definedness::Xor,
            _ => Definedness::Spoils,
        }
    }
}

/// A lane operation with what does it for whole rows.
#[derive(Clone, Copy, Debug)]
pub struct RowOp {
    pub op: LaneOp,
    row: Option<RowFn>,
}

impl RowOp {
    pub fn new(op: LaneOp) -> RowOp {
        RowOp { op, row: op.kernels(Processor::detect()).map(|k| k.plain.full) }
    }

    /// The results in the lanes of a mask; in others anything.
    #[inline]
    pub fn apply(&self, mask: Mask, operands: &[LaneVec; 3], out: &mut LaneVec) {
        match self.row {
            // The operands stand in for a launch's uniform rows, the result for its registers.
            Some(row) => row(std::slice::from_mut(out), operands, &Src::POOLED, &operands[0], 0),
            None => self.op.eval_lanes(mask, operands, out),
        }
    }
}

fn fma_lane(a: u32, b: u32, c: u32, ftz: bool) -> u32 {
    let flush = |x: u32| if ftz { ftz32(x) } else { x };
    flush(float::fma32(flush(a), flush(b), flush(c), Round::Rn))
}

/// The fused multiply-add of a warp.
struct Fma<const FTZ: bool, const SAT: bool>;

impl<const FTZ: bool, const SAT: bool> RowKernel for Fma<FTZ, SAT> {
    const OPERANDS: usize = 3;

    #[inline(always)]
    fn rows<F: Features>([a, b, c]: [&LaneVec; 3], out: &mut LaneVec) {
        let flush = |x: u32| if FTZ { ftz32(x) } else { x };
        let float = |x: u32| f32::from_bits(flush(x));
        let finish = |x: u32| if SAT { sat32(flush(x)) } else { flush(x) };
        if F::FMA {
            for i in 0..LANES {
                out.0[i] = finish(canon32(float(a.0[i]).mul_add(float(b.0[i]), float(c.0[i]))));
            }
            return;
        }
        // 64-bit sums, and the exact way where they could round twice.
        let mut hazard = 0u32;
        for i in 0..LANES {
            let [x, y, z] = [a.0[i], b.0[i], c.0[i]].map(|v| f64::from(float(v)));
            let s = x * y + z;
            hazard |= u32::from(float::double_rounding(s));
            out.0[i] = finish(canon32(s as f32));
        }
        if hazard != 0 {
            for i in 0..LANES {
                out.0[i] = finish(fma_lane(a.0[i], b.0[i], c.0[i], FTZ));
            }
        }
    }
}

/// FADD, FMUL and FFMA with every modifier.
fn float_lane(op: FloatOp, fp: Fp, a: u32, b: u32, c: u32) -> u32 {
    let flush = |v| if fp.ftz || fp.fmz { ftz32(v) } else { v };
    let (a, b, c) = (flush(a), flush(b), flush(c));
    let zero = |v: u32| v << 1 == 0;
    let v = match op {
        FloatOp::Add => float::add32(a, b, fp.round),
        FloatOp::Mul if fp.fmz && (zero(a) || zero(b)) => 0,
        FloatOp::Mul => float::mul32(a, b, fp.scale, fp.round),
        FloatOp::Fma if fp.fmz && (zero(a) || zero(b)) => float::add32(0, c, fp.round),
        FloatOp::Fma => float::fma32(a, b, c, fp.round),
    };
    let v = flush(v);
    if fp.sat { sat32(v) } else { v }
}

/// IMADSP.SD: bits 31:26 of the second operand say which parts are read, of itself too. Source: NAK's tests on cards
/// (Mesa `hw_tests.rs`).
fn described(a: u32, b: u32, c: u32) -> u32 {
    let first = [Part::Whole, Part::Low24, Part::Low16, Part::High16][(b >> 30) as usize];
    let second = [Part::Low16, Part::Low24][(b >> 28 & 1) as usize];
    let third = [Part::Whole, Part::Low24, Part::Low16, Part::Whole][(b >> 26 & 3) as usize];
    first.take(a).wrapping_mul(second.take(b)).wrapping_add(third.take(c))
}

/// SUEAU. Source: NAK's authors found it on cards (Mesa `src/nouveau/compiler/nak`: ir.rs, hw_tests.rs).
fn upper_address(offset: u32, bits: u32, base: u32) -> u32 {
    let shift = bits >> 12 & 15;
    let offset = if bits >> 11 & 1 == 0 {
        (offset << (shift + 1) | (bits >> 16 & 0x7ff) << 1 | bits >> 8 & 1) & 0x07ff_ffff
    } else if shift < 8 {
        offset >> (8 - shift) & 0x00ff_ffff
    } else {
        offset << (shift - 8) & 0x00ff_ffff
    };
    base.wrapping_add(offset)
}

#[cfg(test)]
mod tests {
    use super::super::operand::VideoSrc;
    use super::*;
    use crate::state::lanes::hard_values as row;
    use crate::state::lanes::{Modifier, POOL};
    use nvir_base::num::video::{Primary, Secondary};

    /// Every operation with every modifier that has a line of its own.
    fn all() -> Vec<LaneOp> {
        use LaneOp::*;
        let both = [false, true];
        let mut all = vec![
            Mov,
            Rcp64h,
            Rsq64h,
            Add,
            AddOne,
            Sub,
            SubFrom,
            AddNot,
            ShlAdd,
            MulAdd,
            MulSub,
            MadSpDescribed,
            Bfi,
            And,
            Or,
            Xor,
            Popc,
            SurfaceAddress,
        ];
        for x in both {
            all.extend([FAdd { ftz: x }, FMul { ftz: x }, FFma { ftz: x }, FMin { ftz: x }, FMax { ftz: x }]);
            all.extend([Min { signed: x }, Max { signed: x }, Sad { signed: x }, Shl { wrap: x }]);
            for test in 0..16 {
                all.extend([FSel { test, ftz: x }, Sel { test: test & 7, signed: x }]);
            }
            for y in both {
                all.extend([
                    MulHiAdd { signed: [x, y] },
                    Bfe { signed: x, reverse: y },
                    Flo { signed: x, shift: y },
                ]);
                all.extend(both.map(|z| Shr { signed: x, wrap: y, reverse: z }));
                for left in both {
                    all.extend(both.map(|high| Shf(Funnel { left, wide: !left, signed: x, wrap: y, high })));
                }
            }
            let funcs = [Func::Rcp, Func::Rsq, Func::Ex2, Func::Sin];
            all.extend(funcs.map(|func| Mufu { func, sat: x }));
            for op in [FloatOp::Add, FloatOp::Mul, FloatOp::Fma] {
                all.extend([Round::Rz, Round::Rp].map(|round| {
                    Float(op, Fp { round, ftz: x, fmz: !x && op == FloatOp::Mul, sat: x, scale: 0 })
                }));
                all.push(Float(op, if x { Fp::FTZ_SAT } else { Fp::SAT }));
            }
        }
        use Permute::*;
        all.extend([Index, F4e, B4e, Rc8, Ecl, Ecr, Rc16].map(Prmt));
        let parts = [
            Part::Whole,
            Part::Low16,
            Part::SignedLow16,
            Part::High16,
            Part::SignedHigh16,
            Part::Low24,
            Part::SignedLow24,
        ];
        all.extend(parts.map(|p| MadSp([p, Part::Low16, Part::Whole])));
        let src = VideoSrc { pick: [0, 1, 2, 3], bits: 8, signed: true, neg: false };
        let four = VideoOp {
            op: Primary::Add,
            lanes: 4,
            a: src,
            b: VideoSrc { pick: [4, 5, 6, 7], ..src },
            signed: true,
            sat: true,
            wrap: false,
            second: Secondary::None,
            write: 5,
            mad: None,
        };
        all.push(Video(four));
        all
    }

    #[test]
    fn rows_are_what_single_lanes_give() {
        let mut seed = 12345;
        for op in all() {
            for _ in 0..60 {
                let operands = [0; 3].map(|_| row(&mut seed));
                let mut out = LaneVec::ZERO;
                let mask = seed | 1 << 7;
                RowOp::new(op).apply(mask, &operands, &mut out);
                for l in lanes(mask) {
                    let [a, b, c] = operands.each_ref().map(|row| row.0[l]);
                    assert_eq!(out.0[l], op.eval(a, b, c), "{op:?} {a:#x} {b:#x} {c:#x}");
                }
            }
        }
    }

    /// Every kernel for every set of features that this processor has, with all lanes and some, from registers and uniform rows, with
    /// modifiers and without, into a register of its own and over each operand.
    #[test]
    fn kernels_write_what_single_lanes_give_and_nothing_else() {
        const MODIFIERS: [Modifier; 5] =
            [Modifier::None, Modifier::NegF32, Modifier::AbsF32, Modifier::NegAbsF32, Modifier::Inv];
        let mut seed = 4321;
        for (op, processor) in
            all().into_iter().flat_map(|op| Processor::all().into_iter().map(move |p| (op, p)))
        {
            let Some(kernels) = op.kernels(processor) else { continue };
            for round in 0..60 {
                let before: [LaneVec; 5] = std::array::from_fn(|_| row(&mut seed));
                let pool: [LaneVec; 3] = std::array::from_fn(|_| row(&mut seed));
                let mut pick = |n: u32| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 16) % n
                };
                let src: [Src; 3] = std::array::from_fn(|_| {
                    let row = [0, 1, 2, POOL, POOL + 1, POOL + 2][pick(6) as usize];
                    let modifier = if round % 2 == 0 { Modifier::None } else { MODIFIERS[pick(5) as usize] };
                    Src { row, modifier }
                });
                let dst = pick(4) as usize;
                let mask = [Mask::MAX, 1 << pick(32), pick(1 << 16) << 16 | pick(1 << 16)][round % 3];
                let Some(forms) = kernels.forms(&src) else {
                    assert!(src.iter().any(|s| s.modifier != Modifier::None), "{op:?}");
                    continue;
                };
                let mut regs = before;
                let kernel = if mask == Mask::MAX { forms.full } else { forms.partial };
                kernel(&mut regs, &pool, &src, &LaneVec::expand(mask), dst as u32);
                let expected = |r: usize, l: usize| {
                    let [a, b, c] = src.map(|s| s.lane(&before, &pool, l));
                    if r == dst && mask >> l & 1 != 0 { op.eval(a, b, c) } else { before[r].0[l] }
                };
                for (r, l) in (0..before.len()).flat_map(|r| (0..LANES).map(move |l| (r, l))) {
                    assert_eq!(
                        regs[r].0[l],
                        expected(r, l),
                        "{op:?} {processor:?} {src:?} to {dst}, lanes {mask:#x}: R{r} of {l}"
                    );
                }
            }
        }
    }

    /// Bits that are said to be defined are the same whatever undefined bits of operands are.
    #[test]
    fn undefined_bits_reach_no_more_than_they_are_said_to() {
        let mut seed = 99;
        for op in all() {
            for _ in 0..40 {
                let values = [0; 3].map(|_| row(&mut seed));
                let other = [0; 3].map(|_| row(&mut seed));
                let mut undefined = [0; 3].map(|_| row(&mut seed));
                // Operands without undefined bits, too.
                undefined[(seed >> 5) as usize % 3] = LaneVec::ZERO;
                for l in 0..LANES {
                    let v: [u32; 3] = std::array::from_fn(|i| values[i].0[l]);
                    let u: [u32; 3] = std::array::from_fn(|i| undefined[i].0[l]);
                    let changed: [u32; 3] = std::array::from_fn(|i| v[i] & !u[i] | other[i].0[l] & u[i]);
                    let said = op.undefined(v, u);
                    let (x, y) = (op.eval(v[0], v[1], v[2]), op.eval(changed[0], changed[1], changed[2]));
                    assert_eq!((x ^ y) & !said, 0, "{op:?} of {v:x?} with {u:x?} undefined: {said:#x}");
                }
            }
        }
    }

    #[test]
    fn funnel_shifts_join_two_words() {
        let f = Funnel::default();
        let shf = |f: Funnel, lo, by, hi| LaneOp::Shf(f).eval(lo, by, hi);
        assert_eq!(shf(Funnel { left: true, ..f }, 0x8000_0000, 1, 1), 3);
        assert_eq!(shf(Funnel { left: true, wrap: true, ..f }, 0x8000_0000, 33, 1), 3);
        assert_eq!(shf(Funnel { left: true, ..f }, 7, 40, 1), 7);
        let wide = Funnel { wide: true, signed: true, ..f };
        assert_eq!(shf(wide, 0, 36, 0x8000_0000), 0xf800_0000);
        assert_eq!(shf(Funnel { high: true, ..wide }, 0, 36, 0x8000_0000), 0xffff_ffff);
        assert_eq!(shf(f, 0x10, 4, 0xf), 0xf000_0001);
    }
}
