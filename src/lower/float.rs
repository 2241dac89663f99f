//! Single-precision functions that are a sequence on the machine.
//!
//! - `div`: a times the reciprocal of b, after scaling where b's reciprocal would be subnormal or
//!   infinite;
//! - `sqrt`: the reciprocal of the reciprocal root, so that 0 and infinity come out right;
//! - `sin`, `cos`, `ex2`: range reduction first (RRO);
//! - `ldexp`: up to three multiplications by powers of two, so that a subnormal result is rounded
//!   once (for doubles too).
//!
//! Runs once: afterwards `sin`, `cos` and `ex2` are the machine's, which take a reduced argument.

use crate::ir::build::Builder;
use crate::ir::expand::{expand, word};
use crate::ir::*;
use crate::options::Options;

/// What becomes of subnormal numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subnormals {
    Kept,
    /// All operations take them for zero.
    Flushed,
}

impl Subnormals {
    pub(super) fn of(interface: &Option<Box<Interface>>, options: &Options) -> Subnormals {
        match interface.is_some() && options.stage.flush_subnormals {
            true => Subnormals::Flushed,
            false => Subnormals::Kept,
        }
    }
}

/// Lowers a function.
pub(super) fn run(f: &mut Function, subnormals: Subnormals) -> bool {
    let sequence = |i: &Inst| matches!(i.op, Op::Div | Op::Sqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Ldexp);
    expand(f, sequence, |b, i| lower(b, i, subnormals))
}

fn lower(b: &mut Builder<'_>, i: &Inst, subnormals: Subnormals) -> bool {
    match (i.op, i.ty) {
        (Op::Div, Type::F32) => divide(b, i, subnormals),
        (Op::Sqrt, Type::F32) => {
            let mut rsq = i.clone();
            rsq.op = Op::Rsq;
            (rsq.sat, rsq.dsts) = (false, Default::default());
            let r = b.value(rsq);
            finish(b, i, Inst::new(Op::Rcp, Type::F32).src(r));
        }
        (Op::Sin | Op::Cos | Op::Ex2, Type::F32) => {
            let pre = if i.op == Op::Ex2 { Op::PreEx2 } else { Op::PreSin };
            let r = b.op1(pre, Type::F32, i.srcs[0]);
            finish(b, i, Inst::new(i.op, Type::F32).src(r));
        }
        (Op::Ldexp, Type::F32 | Type::F64) => ldexp(b, i),
        _ => return false,
    }
    true
}

/// Appends the last instruction of a sequence with the destinations, saturation and flushing of the
/// original.
fn finish(b: &mut Builder<'_>, i: &Inst, mut last: Inst) {
    last.sat = i.sat;
    last.ftz = i.ftz;
    last.exact = i.exact;
    last.dsts = i.dsts;
    b.push(last);
}

/// a / b. A divisor beyond 2^126 has a subnormal reciprocal, which the special function unit
/// flushes; it and the dividend are scaled down by 2^-32 then, and up by 2^32 where the divisor is
/// subnormal. Where subnormal numbers are flushed, that is what they become.
fn divide(b: &mut Builder<'_>, i: &Inst, subnormals: Subnormals) {
    let (x, y) = (i.srcs[0], i.srcs[1]);
    if let Some(c) = y.as_imm().map(f32::from_bits)
        && c.is_normal()
        && (1.0 / c).is_normal()
    {
        let r = Src::f32(1.0 / c);
        // Exact for powers of two; within one unit in the last place otherwise.
        return finish(b, i, Inst::new(Op::Mul, Type::F32).src(x).src(r));
    }
    if subnormals == Subnormals::Flushed {
        let r = b.op1(Op::Rcp, Type::F32, y);
        return finish(b, i, Inst::new(Op::Mul, Type::F32).src(x).src(r));
    }
    let magnitude = |s: Src| Src { mods: SrcMods { neg: false, abs: true, inv: false }, ..s };
    let large = b.setp(Cond::Gt, Type::F32, magnitude(y), Src::f32(2f32.powi(125)));
    let small = b.setp(Cond::Lt, Type::F32, magnitude(y), Src::f32(2f32.powi(-125)));
    let factor = b.sel(large, Src::f32(2f32.powi(-32)), Src::f32(1.0));
    let factor = b.sel(small, Src::f32(2f32.powi(32)), factor);
    let scaled = b.mul(Type::F32, y, factor);
    let r = b.op1(Op::Rcp, Type::F32, scaled);
    let q = b.mul(Type::F32, x, r);
    finish(b, i, Inst::new(Op::Mul, Type::F32).src(q).src(factor));
}

/// a * 2^b: a factor that clamps the exponent first, then 2^(what is left), which is a normal
/// number.
fn ldexp(b: &mut Builder<'_>, i: &Inst) {
    let double = i.ty == Type::F64;
    // Largest and smallest exponents of normal numbers; the significand's bits.
    let (max, min, bits) = if double { (1023i32, -1022i32, 53) } else { (127, -126, 24) };
    let power = |e: i32| if double { Src::f64(2f64.powi(e)) } else { Src::f32(2f32.powi(e)) };
    // Multiplying by 2^(min + bits) instead of 2^min keeps all bits until the last step.
    let down = min + bits;
    let mut n: Src = i.srcs[1];
    let mut x: Src = i.srcs[0];
    let values = |b: &mut Builder<'_>, inst: Inst| Src::tuple(&b.values(inst));
    for _ in 0..2 {
        let over = b.setp(Cond::Gt, Type::S32, n, max as u32);
        let under = b.setp(Cond::Lt, Type::S32, n, min as u32);
        let pick = |b: &mut Builder<'_>, w: usize| {
            let part = |e: i32| word(&power(e), w);
            let f = b.sel(over, part(max), part(0));
            b.sel(under, part(down), f)
        };
        let factor: Vec<ValueId> = (0..i.ty.words()).map(|w| pick(b, w)).collect();
        x = values(b, Inst::new(Op::Mul, i.ty).src(x).src(Src::tuple(&factor)));
        let taken = b.sel(over, max as u32, 0u32);
        let taken = b.sel(under, down as u32, taken);
        n = b.op2(Op::Sub, Type::U32, n, taken).into();
    }
    let n = b.op2(Op::Min, Type::S32, n, max as u32);
    let n = b.op2(Op::Max, Type::S32, n, min as u32);
    let biased = b.add(Type::U32, n, max as u32);
    let last = b.op2(Op::Shl, Type::U32, biased, if double { 20u32 } else { 23 });
    let factor = if double {
        let zero = b.mov(0u32);
        Src::tuple(&[zero, last])
    } else {
        last.into()
    };
    finish(b, i, Inst::new(Op::Mul, i.ty).src(x).src(factor));
}
