//! Integer division and remainder: there is no instruction for them.
//!
//! An estimate of the reciprocal from the float unit is refined in integers until the quotient is
//! at most two too small, and then corrected. Dividing by zero gives all ones for quotient and
//! remainder, as gallium's UDIV and UMOD define it.
//!
//! Sources of the method: T. Granlund and P. Montgomery's and the AMDGPU back end's use of Newton's
//! iteration on the reciprocal; the bounds hold for an estimate within one unit in the last place
//! of an f32.

use super::library::{Library, Routine, words};
use crate::ir::build::Builder;
use crate::ir::expand::expand;
use crate::ir::*;
use rustc_hash::FxHashMap;

/// Turns divisions and remainders into calls of the library. A division and a remainder of the same
/// operands in one block share a call.
pub(crate) fn run(f: &mut Function, library: &mut Library) -> bool {
    let mut done: FxHashMap<(Type, Src, Src), Vec<ValueId>> = FxHashMap::default();
    let mut block = None;
    let division = |i: &Inst| matches!(i.op, Op::Div | Op::Mod) && !i.ty.is_float();
    expand(f, division, |b, i| {
        if block.replace(b.block) != Some(b.block) {
            done.clear();
        }
        let routine = match i.ty {
            Type::U64 => Routine::U64Div,
            Type::S64 => Routine::S64Div,
            Type::S32 => Routine::S32Div,
            _ => Routine::U32Div,
        };
        let n = i.ty.words();
        let results = done.entry((i.ty, i.srcs[0], i.srcs[1])).or_insert_with(|| {
            let mut args = words(b, &i.srcs[0], n);
            args.extend(words(b, &i.srcs[1], n));
            library.call(b, routine, args)
        });
        let results = if i.op == Op::Div { &results[..n] } else { &results[n..] };
        for (&d, &r) in i.dsts.iter().zip(results) {
            b.push(Inst::new(Op::Mov, Type::U32).dst(d).src(r));
        }
        true
    })
}

/// Quotient and remainder of unsigned words.
pub(crate) fn u32_div(b: &mut Builder<'_>, x: ValueId, y: ValueId) -> [ValueId; 2] {
    let results = estimated(b, x, y);
    all_ones(b, y, results)
}

/// Quotient and remainder of words, where the divisor is not 0.
fn estimated(b: &mut Builder<'_>, x: ValueId, y: ValueId) -> [ValueId; 2] {
    // 2^32 / y from below: 0x4f7ffffe is the largest f32 for which the product never exceeds it.
    let yf = b.cvt(Type::F32, Type::U32, y);
    let rcp = b.op1(Op::Rcp, Type::F32, yf);
    let scaled = b.mul(Type::F32, rcp, 0x4f7f_fffeu32);
    let mut cvt = Inst::new(Op::Cvt, Type::U32).src(scaled);
    (cvt.sty, cvt.rnd) = (Type::F32, Rnd::Zero);
    let estimate = b.value(cvt);
    // One Newton step: z += high(z * -(y * z)).
    let product = b.mul(Type::U32, y, estimate);
    let error = b.op1(Op::Neg, Type::U32, product);
    let delta = b.op2(Op::MulHi, Type::U32, estimate, error);
    let z = b.add(Type::U32, estimate, delta);
    let mut q = b.op2(Op::MulHi, Type::U32, x, z);
    let whole = b.mul(Type::U32, q, y);
    let mut r = b.op2(Op::Sub, Type::U32, x, whole);
    for _ in 0..2 {
        let p = b.setp(Cond::Ge, Type::U32, r, y);
        let (q1, r1) = (b.add(Type::U32, q, 1u32), b.op2(Op::Sub, Type::U32, r, y));
        (q, r) = (b.sel(p, q1, q), b.sel(p, r1, r));
    }
    [q, r]
}

fn all_ones(b: &mut Builder<'_>, y: ValueId, results: [ValueId; 2]) -> [ValueId; 2] {
    let zero = b.setp(Cond::Eq, Type::U32, y, 0u32);
    results.map(|v| b.sel(zero, u32::MAX, v))
}

/// Quotient and remainder of signed words; the remainder has the dividend's sign.
pub(crate) fn s32_div(b: &mut Builder<'_>, x: ValueId, y: ValueId) -> [ValueId; 2] {
    let [mx, my] = [x, y].map(|v| b.op1(Op::Abs, Type::S32, v));
    let [q, r] = estimated(b, mx, my);
    let [x_negative, y_negative] = [x, y].map(|v| b.setp(Cond::Lt, Type::S32, v, 0u32));
    let differ = b.op2(Op::Xor, Type::Pred, y_negative, x_negative);
    let [minus_q, minus_r] = [q, r].map(|v| b.op1(Op::Neg, Type::S32, v));
    let results = [b.sel(differ, minus_q, q), b.sel(x_negative, minus_r, r)];
    all_ones(b, y, results)
}

type Pair = [ValueId; 2];

fn op2(b: &mut Builder<'_>, op: Op, x: impl Into<Src>, y: impl Into<Src>) -> Pair {
    b.pair(Inst::new(op, Type::U64).src(x).src(y))
}

fn choose(b: &mut Builder<'_>, p: ValueId, x: Pair, y: Pair) -> Pair {
    [b.sel(p, x[0], y[0]), b.sel(p, x[1], y[1])]
}

/// Quotient and remainder of unsigned 64-bit integers.
pub(crate) fn u64_div(b: &mut Builder<'_>, x: Pair, y: Pair) -> [Pair; 2] {
    let (lo, hi) = (b.cvt(Type::F32, Type::U32, y[0]), b.cvt(Type::F32, Type::U32, y[1]));
    let yf = b.op3(Op::Mad, Type::F32, hi, Src::f32(4294967296.0), lo);
    let rcp = b.op1(Op::Rcp, Type::F32, yf);
    // 2^64 / y from below, as high and low word: 0x5f7ffffc is 2^64 less the slack that the
    // estimate needs.
    let scaled = b.mul(Type::F32, rcp, 0x5f7f_fffcu32);
    let upper = b.mul(Type::F32, scaled, Src::f32(1.0 / 4294967296.0));
    let mut trunc = Inst::new(Op::Cvt, Type::F32).src(upper).with_aux(Aux::Integral);
    trunc.rnd = Rnd::Zero;
    let upper = b.value(trunc);
    let lower = b.op3(Op::Mad, Type::F32, upper, Src::f32(-4294967296.0), scaled);
    let to_int = |b: &mut Builder<'_>, v: ValueId| {
        let mut c = Inst::new(Op::Cvt, Type::U32).src(v);
        (c.sty, c.rnd) = (Type::F32, Rnd::Zero);
        b.value(c)
    };
    let mut z = [to_int(b, lower), to_int(b, upper)];
    let minus_y = op2(b, Op::Sub, Src::imm64(0), y);
    for _ in 0..2 {
        let error = op2(b, Op::Mul, minus_y, z);
        let delta = op2(b, Op::MulHi, z, error);
        z = op2(b, Op::Add, z, delta);
    }
    let mut q = op2(b, Op::MulHi, x, z);
    let product = op2(b, Op::Mul, y, q);
    let mut r = op2(b, Op::Sub, x, product);
    for _ in 0..2 {
        let p = b.setp(Cond::Ge, Type::U64, r, y);
        let (q1, r1) = (op2(b, Op::Add, q, Src::imm64(1)), op2(b, Op::Sub, r, y));
        (q, r) = (choose(b, p, q1, q), choose(b, p, r1, r));
    }
    all_ones_for_zero(b, y, q, r)
}

fn all_ones_for_zero(b: &mut Builder<'_>, y: Pair, q: Pair, r: Pair) -> [Pair; 2] {
    let zero = b.setp(Cond::Eq, Type::U64, y, Src::imm64(0));
    [q, r].map(|v| v.map(|w| b.sel(zero, u32::MAX, w)))
}

/// Quotient and remainder of signed 64-bit integers.
pub(crate) fn s64_div(b: &mut Builder<'_>, x: Pair, y: Pair) -> [Pair; 2] {
    let signed = |b: &mut Builder<'_>, negative: ValueId, v: Pair| {
        let minus = op2(b, Op::Sub, Src::imm64(0), v);
        choose(b, negative, minus, v)
    };
    let (x_negative, y_negative) =
        (b.setp(Cond::Lt, Type::S32, x[1], 0u32), b.setp(Cond::Lt, Type::S32, y[1], 0u32));
    let (mx, my) = (signed(b, x_negative, x), signed(b, y_negative, y));
    let [q, r] = u64_div(b, mx, my);
    let signs = b.op2(Op::Xor, Type::U32, x[1], y[1]);
    let differ = b.setp(Cond::Lt, Type::S32, signs, 0u32);
    let (q, r) = (signed(b, differ, q), signed(b, x_negative, r));
    all_ones_for_zero(b, y, q, r)
}
