//! Constant folding: an operation on constants becomes its result.
//!
//! ```text
//! mul u32 %r1 0x3 0x4     ->  mov u32 %r1 0xc
//! ```
//!
//! Arithmetic is [`crate::num`], which the emulator uses too, so that folding cannot change a
//! result. Of a reciprocal and a reciprocal root the machine promises 1 ulp; what stands here is
//! the nearest number. The other special functions are left to the machine: the host's are not the
//! same everywhere.

use super::Ctx;
use super::rewrite::{as_mov, imm_src, is_scalar, rewrite_each};
use crate::ir::*;
use crate::num::mufu::{Func, mufu};
use crate::num::{Round, conv, float, int};

/// Folds what has constant operands; whether anything changed.
pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut folded = 0;
    rewrite_each(f, |f, _, i| {
        let inst = &f.insts[i];
        // Most instructions read something else than constants.
        if inst.srcs.is_empty() || !inst.srcs.iter().all(|s| constant(f, s).is_some()) {
            return false;
        }
        if let Some(bits) = double(inst) {
            let mut mov = Inst::new(Op::Mov, Type::U64).src(Src::imm64(bits));
            (mov.dsts, mov.loc) = (inst.dsts, inst.loc);
            f.replace(i, mov);
            folded += 1;
            return true;
        }
        let plain_mov = inst.op == Op::Mov && inst.srcs[0].mods == SrcMods::default();
        if plain_mov || !is_scalar(f, inst) {
            return false;
        }
        let Some(x) = value_of(f, inst) else { return false };
        let mov = as_mov(inst, Src::imm(x));
        f.replace(i, mov);
        folded += 1;
        true
    });
    ctx.count("fold: folded", folded);
    folded > 0
}

/// The bits of an operand that is an immediate, or a copy of one.
fn constant(f: &Function, s: &Src) -> Option<u32> {
    match s.kind {
        SrcKind::Imm(x) => Some(x),
        SrcKind::Val(v) => {
            let copy = f.def_inst(v).filter(|d| d.op == Op::Mov && is_scalar(f, d))?;
            copy.srcs[0].as_imm()
        }
        _ => None,
    }
}

/// The double that a conversion of an immediate is.
fn double(inst: &Inst) -> Option<u64> {
    let one = inst.op == Op::Cvt && inst.ty == Type::F64 && inst.guard.is_none();
    let x = imm_src(inst, 0).filter(|_| one && inst.srcs.len() == 1 && inst.aux == Aux::None && !inst.sat)?;
    let round = rounding(inst.rnd);
    match inst.sty {
        Type::U32 | Type::S32 => {
            let from = conv::Int::new(32, inst.sty.is_signed());
            Some(conv::i2f(from, x.into(), conv::Float::F64, round))
        }
        Type::F32 => Some(conv::f2f(conv::Float::F32, x.into(), conv::Float::F64, round, inst.ftz)),
        _ => None,
    }
}

/// What an instruction computes from constants.
fn value_of(f: &Function, inst: &Inst) -> Option<u32> {
    if inst.srcs.iter().all(|s| s.as_val().is_none()) {
        return eval(inst);
    }
    let mut plain = inst.clone();
    for s in &mut plain.srcs {
        s.kind = SrcKind::Imm(constant(f, s)?);
    }
    eval(&plain)
}

/// The result of an instruction all of whose operands are immediates; a predicate as 0 or 1.
pub fn eval(inst: &Inst) -> Option<u32> {
    eval_with(inst, |n| imm_src(inst, n))
}

/// The same with other sources.
pub(crate) fn eval_with(inst: &Inst, mut src: impl FnMut(usize) -> Option<u32>) -> Option<u32> {
    if inst.srcs.is_empty() || inst.srcs.len() > 3 || !inst.is_pure() {
        return None;
    }
    let mut x = [0; 3];
    for (n, x) in x.iter_mut().enumerate().take(inst.srcs.len()) {
        *x = src(n)?;
    }
    let [a, b, c] = x;
    match (inst.op, inst.ty) {
        (Op::Set, _) => set(inst, a, b, c),
        (Op::Mov, _) => Some(a),
        (Op::Sel, _) => Some(if c != 0 { a } else { b }),
        (Op::Slct, _) => Some(if compare(inst.cond, inst.sty, c, 0, inst.ftz)? { a } else { b }),
        (Op::Cvt, _) => convert(inst, a),
        (_, Type::F32) => eval_f32(inst, a, b, c),
        (_, Type::U32 | Type::S32) => eval_int(inst, a, b, c),
        (_, Type::Pred) => match inst.op {
            Op::And => Some(a & b),
            Op::Or => Some(a | b),
            Op::Xor => Some(a ^ b),
            Op::Not => Some(a ^ 1),
            _ => None,
        },
        _ => None,
    }
}

/// A rounding of the IR as `num` has it.
pub fn rounding(r: Rnd) -> Round {
    match r {
        Rnd::Near => Round::Rn,
        Rnd::Down => Round::Rm,
        Rnd::Up => Round::Rp,
        Rnd::Zero => Round::Rz,
    }
}

fn eval_f32(inst: &Inst, a: u32, b: u32, c: u32) -> Option<u32> {
    let flush = |x| if inst.ftz { float::ftz32(x) } else { x };
    let (a, b, c) = (flush(a), flush(b), flush(c));
    let round = rounding(inst.rnd);
    let minus = |x: u32| x ^ 0x8000_0000;
    let x = match inst.op {
        Op::Add => float::add32(a, b, round),
        Op::Sub => float::add32(a, minus(b), round),
        Op::Mul => float::mul32(a, b, 0, round),
        Op::MulZ => return Some(mulz(inst, a, b)),
        Op::Mad => float::fma32(a, b, c, round),
        Op::Min => float::min32(a, b),
        Op::Max => float::max32(a, b),
        Op::Neg => minus(a),
        Op::Abs => a & 0x7fff_ffff,
        Op::Rcp => mufu(Func::Rcp, a),
        Op::Rsq => mufu(Func::Rsq, a),
        _ => return None,
    };
    let x = flush(x);
    Some(if inst.sat { float::sat32(x) } else { x })
}

/// A product in which zero wins; it flushes subnormals (FMUL.FMZ).
fn mulz(inst: &Inst, a: u32, b: u32) -> u32 {
    let (a, b) = (float::ftz32(a), float::ftz32(b));
    let zero = |x: u32| x << 1 == 0;
    let x = if zero(a) || zero(b) { 0 } else { float::ftz32(float::mul32(a, b, 0, rounding(inst.rnd))) };
    if inst.sat { float::sat32(x) } else { x }
}

fn eval_int(inst: &Inst, a: u32, b: u32, c: u32) -> Option<u32> {
    let signed = inst.ty == Type::S32;
    if inst.sat {
        return None;
    }
    let by = |n: u32| if inst.aux == Aux::Wrap { n & 31 } else { n };
    let high = |a, b| (int::mul_wide(int::factor(a, signed), int::factor(b, signed)) >> 32) as u32;
    let (sa, sb) = (a as i32, b as i32);
    Some(match inst.op {
        Op::Add if inst.srcs.len() == 2 => a.wrapping_add(b),
        Op::Sub if inst.srcs.len() == 2 => a.wrapping_sub(b),
        Op::AddSat => sa.saturating_add(sb) as u32,
        Op::SubSat => sa.saturating_sub(sb) as u32,
        Op::Mul => a.wrapping_mul(b),
        Op::MulHi => high(a, b),
        Op::Mad => a.wrapping_mul(b).wrapping_add(c),
        Op::MadHi => high(a, b).wrapping_add(c),
        Op::ShlAdd => int::shl(a, b).wrapping_add(c),
        Op::Sad if signed => sa.abs_diff(sb).wrapping_add(c),
        Op::Sad => a.abs_diff(b).wrapping_add(c),
        Op::Div if b == 0 || signed && sa == i32::MIN && sb == -1 => return None,
        Op::Mod if b == 0 || signed && sa == i32::MIN && sb == -1 => return None,
        Op::Div if signed => (sa / sb) as u32,
        Op::Mod if signed => (sa % sb) as u32,
        Op::Div => a / b,
        Op::Mod => a % b,
        Op::Neg => a.wrapping_neg(),
        Op::Abs => sa.unsigned_abs(),
        Op::Min if signed => sa.min(sb) as u32,
        Op::Max if signed => sa.max(sb) as u32,
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Not => !a,
        Op::Shl => int::shl(a, by(b)),
        Op::Shr if signed => int::shr_s(a, by(b)),
        Op::Shr => int::shr_u(a, by(b)),
        Op::ShfL | Op::ShfR => {
            let pair = u64::from(c) << 32 | u64::from(a);
            match (inst.op, inst.sty) {
                (Op::ShfL, Type::U64) => (pair.checked_shl(b).unwrap_or(0) >> 32) as u32,
                (Op::ShfL, _) => (pair << (b & 31) >> 32) as u32,
                (_, Type::U64) => pair.checked_shr(b).unwrap_or(0) as u32,
                (_, Type::S64) => (pair as i64 >> b.min(63)) as u32,
                _ => (pair >> (b & 31)) as u32,
            }
        }
        Op::Ext => int::bfe(a, b, signed),
        Op::Ins => int::bfi(a, b, c),
        Op::Popc if inst.srcs.len() == 2 => (a & b).count_ones(),
        Op::Popc => a.count_ones(),
        Op::Flo if inst.aux == Aux::Shift => int::flo(a, signed, int::Found::Shift),
        Op::Flo => int::flo(a, signed, int::Found::Bit),
        Op::Brev => a.reverse_bits(),
        Op::Prmt => int::prmt(a, b, c, int::Permute::Index),
        _ => return None,
    })
}

/// Whether `a cond b` holds, compared as `ty`.
pub fn compare(cond: Cond, ty: Type, a: u32, b: u32, ftz: bool) -> Option<bool> {
    let test = cond as u8;
    Some(match ty {
        Type::F32 => {
            let flush = |x| if ftz { float::ftz32(x) } else { x };
            float::test32(test, flush(a), flush(b))
        }
        Type::U32 | Type::S32 => {
            let order = if ty == Type::S32 { (a as i32).cmp(&(b as i32)) } else { a.cmp(&b) };
            test & (1 << (order as i8 + 1)) != 0
        }
        _ => return None,
    })
}

fn set(inst: &Inst, a: u32, b: u32, c: u32) -> Option<u32> {
    let mut holds = compare(inst.cond, inst.sty, a, b, inst.ftz)?;
    if inst.srcs.len() == 3 {
        let c = c != 0;
        holds = match inst.logic {
            Logic::And => holds & c,
            Logic::Or => holds | c,
            Logic::Xor => holds ^ c,
        };
    }
    Some(match inst.ty {
        Type::Pred => holds as u32,
        Type::F32 => {
            if holds {
                1f32.to_bits()
            } else {
                0
            }
        }
        _ => {
            if holds {
                u32::MAX
            } else {
                0
            }
        }
    })
}

fn convert(inst: &Inst, a: u32) -> Option<u32> {
    let int_of = |t: Type| match t {
        Type::U8 | Type::S8 | Type::U16 | Type::S16 | Type::U32 | Type::S32 => {
            Some(conv::Int::new(t.bits(), t.is_signed()))
        }
        _ => None,
    };
    let float_of = |t: Type| match t {
        Type::F16 => Some(conv::Float::F16),
        Type::F32 => Some(conv::Float::F32),
        _ => None,
    };
    let round = rounding(inst.rnd);
    let raw = match inst.aux {
        Aux::None | Aux::Integral => u64::from(a),
        Aux::Byte(n) => u64::from(a >> (inst.sty.bits() * u32::from(n)).min(31)),
        _ => return None,
    };
    let x = match (int_of(inst.sty), float_of(inst.sty), int_of(inst.ty), float_of(inst.ty)) {
        (Some(from), _, Some(to), _) => conv::i2i(from, raw, to, inst.sat),
        (Some(from), _, _, Some(to)) => conv::i2f(from, raw, to, round),
        (_, Some(from), Some(to), _) => conv::f2i(from, raw, to, round, inst.ftz),
        (_, Some(from), _, Some(to)) if inst.aux == Aux::Integral && from == to => {
            conv::round_int(from, raw, round, inst.ftz)
        }
        (_, Some(from), _, Some(to)) if inst.aux == Aux::None => conv::f2f(from, raw, to, round, inst.ftz),
        _ => return None,
    };
    let x = x as u32;
    Some(if inst.sat && inst.ty == Type::F32 { float::sat32(x) } else { x })
}
