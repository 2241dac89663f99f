//! Double-precision division and roots, correctly rounded: the machine has only rough reciprocals
//! of the high word.
//!
//! All work on significands in [1, 2) with the exponents put aside, so that nothing overflows or
//! loses bits on the way. Newton's iteration from the machine's estimate (about 20 bits) doubles
//! the correct bits; the last correction uses the exact remainder that a fused multiply-add gives
//! (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor",
//! 1990). A result that is subnormal is rounded once, in integers, from the truncated quotient and
//! the sign of its remainder.
//!
//! Negation, absolute value, copies and choices of doubles are integer operations on the high word
//! here too.

use super::library::{Library, Routine, words};
use crate::ir::build::Builder;
use crate::ir::expand::{expand, word};
use crate::ir::*;

/// Lowers what the machine lacks of double precision.
pub fn run(f: &mut Function, library: &mut Library) -> bool {
    let double = |i: &Inst| i.ty == Type::F64;
    expand(f, double, |b, i| {
        match i.op {
            Op::Div | Op::Rcp | Op::Sqrt | Op::Rsq => {
                let (routine, args) = match i.op {
                    Op::Div => {
                        let mut args = operand(b, &i.srcs[0]).to_vec();
                        args.extend(operand(b, &i.srcs[1]));
                        (Routine::F64Div, args)
                    }
                    Op::Rcp => {
                        let mut args = words(b, &Src::f64(1.0), 2);
                        args.extend(operand(b, &i.srcs[0]));
                        (Routine::F64Div, args)
                    }
                    Op::Sqrt => (Routine::F64Sqrt, operand(b, &i.srcs[0]).to_vec()),
                    _ => (Routine::F64Rsq, operand(b, &i.srcs[0]).to_vec()),
                };
                let r = library.call(b, routine, args);
                finish(b, i, [r[0], r[1]]);
            }
            Op::Neg | Op::Abs | Op::Mov => {
                let x = operand(b, &i.srcs[0]);
                let high = match i.op {
                    Op::Neg => b.op2(Op::Xor, Type::U32, x[1], SIGN),
                    Op::Abs => b.op2(Op::And, Type::U32, x[1], !SIGN),
                    _ => x[1],
                };
                finish(b, i, [x[0], high]);
            }
            Op::Sel => {
                let (x, y) = (operand(b, &i.srcs[0]), operand(b, &i.srcs[1]));
                let r = [0, 1].map(|n| b.sel(i.srcs[2], x[n], y[n]));
                finish(b, i, r);
            }
            Op::Slct => {
                let (x, y) = (operand(b, &i.srcs[0]), operand(b, &i.srcs[1]));
                let zero = if i.sty.words() == 2 { Src::imm64(0) } else { Src::imm(0) };
                let p = b.setp(i.cond, i.sty, i.srcs[2], zero);
                let r = [0, 1].map(|n| b.sel(p, x[n], y[n]));
                finish(b, i, r);
            }
            // There is no saturating form of double arithmetic.
            _ if i.sat
                && matches!(i.op, Op::Add | Op::Mul | Op::Mad | Op::Min | Op::Max | Op::Sub | Op::Cvt) =>
            {
                let mut plain = i.clone();
                plain.sat = false;
                plain.dsts.clear();
                let r = b.pair(plain);
                finish(b, i, r);
            }
            _ => return false,
        }
        true
    })
}

const SIGN: u32 = 0x8000_0000;

/// The two words of an operand, its modifiers applied.
pub(super) fn operand(b: &mut Builder<'_>, s: &Src) -> Pair {
    let mut high = word(s, 1);
    if s.mods.abs {
        high = b.op2(Op::And, Type::U32, high, !SIGN).into();
    }
    if s.mods.neg {
        high = b.op2(Op::Xor, Type::U32, high, SIGN).into();
    }
    let low = words(b, &word(s, 0), 1)[0];
    [low, words(b, &high, 1)[0]]
}

/// Defines an instruction's destinations, clamped to [0, 1] where it saturates.
pub(super) fn finish(b: &mut Builder<'_>, i: &Inst, mut r: Pair) {
    if i.sat {
        // maxNum drops a NaN, so that it becomes 0.
        r = b.pair(Inst::new(Op::Max, Type::F64).src(r).src(Src::f64(0.0)));
        r = b.pair(Inst::new(Op::Min, Type::F64).src(r).src(Src::f64(1.0)));
    }
    for (&d, v) in i.dsts.iter().zip(r) {
        b.push(Inst::new(Op::Mov, Type::U32).dst(d).src(v));
    }
}

pub(super) type Pair = [ValueId; 2];

pub(super) fn op2(b: &mut Builder<'_>, op: Op, x: impl Into<Src>, y: impl Into<Src>) -> Pair {
    b.pair(Inst::new(op, Type::F64).src(x).src(y))
}

pub(super) fn fma(b: &mut Builder<'_>, x: impl Into<Src>, y: impl Into<Src>, z: impl Into<Src>) -> Pair {
    let mut i = Inst::new(Op::Mad, Type::F64).src(x).src(y).src(z);
    i.exact = true;
    b.pair(i)
}

pub(super) fn minus(x: Pair) -> Src {
    Src::from(x).neg()
}

/// A finite number other than zero as (significand in [1, 2), unbiased exponent), without its sign.
struct Split {
    significand: Pair,
    exponent: ValueId,
}

fn split(b: &mut Builder<'_>, x: Pair) -> Split {
    let field = |b: &mut Builder<'_>, high: ValueId| b.op2(Op::Ext, Type::U32, high, 20u32 | 11 << 8);
    let magnitude = b.op2(Op::And, Type::U32, x[1], !SIGN);
    // Subnormal numbers are brought into the normal range first.
    let subnormal = b.setp(Cond::Lt, Type::U32, magnitude, 0x0010_0000u32);
    let lifted = op2(b, Op::Mul, [x[0], magnitude], Src::f64(2f64.powi(64)));
    let low = b.sel(subnormal, lifted[0], x[0]);
    let high = b.sel(subnormal, lifted[1], magnitude);
    let biased = field(b, high);
    let bias = b.sel(subnormal, 1023u32 + 64, 1023u32);
    let exponent = b.op2(Op::Sub, Type::U32, biased, bias);
    let fraction = b.op2(Op::And, Type::U32, high, 0x000f_ffffu32);
    let one = b.op2(Op::Or, Type::U32, fraction, 0x3ff0_0000u32);
    Split { significand: [low, one], exponent }
}

/// A branch in the middle of a routine: `then` builds the block for where `p` holds; the rest goes
/// on where it does not. Both meet again with the values that `then` and `els` give.
fn if_else(
    b: &mut Builder<'_>,
    p: ValueId,
    then: impl FnOnce(&mut Builder<'_>) -> Pair,
    els: impl FnOnce(&mut Builder<'_>) -> Pair,
) -> Pair {
    let header = b.block;
    let (t, e) = (b.func.new_block(), b.func.detached_block());
    b.block = t;
    let x = then(b);
    let t_end = b.block;
    b.func.layout.push(e);
    b.block = e;
    let y = els(b);
    let e_end = b.block;
    let join = b.func.new_block();
    let r = [b.func.add_block_param(join, Class::Gpr), b.func.add_block_param(join, Class::Gpr)];
    for (end, args) in [(t_end, x), (e_end, y)] {
        b.block = end;
        b.terminate(Term::Jump(Edge { to: join, args: args.to_vec() }));
    }
    b.block = header;
    b.branch(p, t, e);
    b.func.blocks[header].merge = Merge::If { join };
    b.block = join;
    r
}

/// Builds `a / b`.
pub fn div(b: &mut Builder<'_>, x: Pair, y: Pair) -> Pair {
    let sign = b.op2(Op::Xor, Type::U32, x[1], y[1]);
    let sign = b.op2(Op::And, Type::U32, sign, SIGN);
    // Zero, infinity or NaN among the operands: the answer is a table's.
    let special = special(b, x);
    let special_y = self::special(b, y);
    let special = b.op2(Op::Or, Type::Pred, special, special_y);
    if_else(
        b,
        special,
        |b| div_special(b, x, y, sign),
        |b| {
            let (n, d) = (split(b, x), split(b, y));
            let exponent = b.op2(Op::Sub, Type::U32, n.exponent, d.exponent);
            let (n, d) = (n.significand, d.significand);
            let high = b.op1(Op::Rcp64h, Type::U32, d[1]);
            let zero = b.mov(0u32);
            let mut r = [zero, high];
            for _ in 0..3 {
                let e = fma(b, minus(d), r, Src::f64(1.0));
                r = fma(b, e, r, r);
            }
            let mut q = op2(b, Op::Mul, n, r);
            for _ in 0..2 {
                let rest = fma(b, minus(d), q, n);
                q = fma(b, rest, r, q);
            }
            let q = nearest(b, n, d, q);
            let rest = fma(b, minus(d), q, n);
            compose(b, q, rest, exponent, sign)
        },
    )
}

/// The double nearest to n / d, from one that is at most one unit too small. Markstein's correction
/// is right but for divisors whose significand is all ones, where it can stop half a unit below.
fn nearest(b: &mut Builder<'_>, n: Pair, d: Pair, q: Pair) -> Pair {
    let one = b.mov(1u32);
    let zero = b.mov(0u32);
    let up = b.pair(Inst::new(Op::Add, Type::U64).src(q).src([one, zero]));
    let unit = op2(b, Op::Add, up, minus(q));
    let rest = fma(b, minus(d), q, n);
    // The remainder is more than half of what a whole unit would take away: 2 rest > unit d, all
    // exact.
    let twice = op2(b, Op::Add, rest, rest);
    let whole = op2(b, Op::Mul, unit, d);
    let low = b.setp(Cond::Gt, Type::F64, twice, whole);
    [0, 1].map(|w| b.sel(low, up[w], q[w]))
}

/// Zero, infinite or NaN.
fn special(b: &mut Builder<'_>, x: Pair) -> ValueId {
    let magnitude = b.op2(Op::And, Type::U32, x[1], !SIGN);
    let any = b.op2(Op::Or, Type::U32, magnitude, x[0]);
    let zero = b.setp(Cond::Eq, Type::U32, any, 0u32);
    let huge = b.setp(Cond::Ge, Type::U32, magnitude, 0x7ff0_0000u32);
    b.op2(Op::Or, Type::Pred, zero, huge)
}

fn div_special(b: &mut Builder<'_>, x: Pair, y: Pair, sign: ValueId) -> Pair {
    let zero = Src::f64(0.0);
    let infinity = Src::f64(f64::INFINITY);
    let test =
        |b: &mut Builder<'_>, cond, v: Pair, with: Src| b.setp(cond, Type::F64, Src::from(v).abs(), with);
    // x / y with a zero or infinity: 0 where x is 0 or y infinite, else infinity; NaN for 0/0,
    // inf/inf and NaN.
    let (x0, y0) = (test(b, Cond::Eq, x, zero), test(b, Cond::Eq, y, zero));
    let (xi, yi) = (test(b, Cond::Equ, x, infinity), test(b, Cond::Equ, y, infinity));
    let (xn, yn) = (test(b, Cond::Nan, x, zero), test(b, Cond::Nan, y, zero));
    let small = b.op2(Op::Or, Type::Pred, x0, yi);
    let both_zero = b.op2(Op::And, Type::Pred, x0, y0);
    let both_infinite = b.op2(Op::And, Type::Pred, xi, yi);
    let mut nan = b.op2(Op::Or, Type::Pred, both_zero, both_infinite);
    for p in [xn, yn] {
        nan = b.op2(Op::Or, Type::Pred, nan, p);
    }
    let high = b.sel(small, 0u32, 0x7ff0_0000u32);
    let high = b.op2(Op::Or, Type::U32, high, sign);
    let high = b.sel(nan, 0x7fff_ffffu32, high);
    [b.sel(nan, u32::MAX, 0u32), high]
}

/// `q * 2^exponent` with a sign, rounded once: q in [0.5, 2) is the nearest double to the exact
/// quotient, which lies on the side of `rest` (a NaN-free number of the sign of exact - q).
fn compose(b: &mut Builder<'_>, q: Pair, rest: Pair, exponent: ValueId, sign: ValueId) -> Pair {
    let field = b.op2(Op::Ext, Type::U32, q[1], 20u32 | 11 << 8);
    let biased = b.add(Type::U32, field, exponent);
    let subnormal = b.setp(Cond::Le, Type::S32, biased, 0u32);
    if_else(
        b,
        subnormal,
        |b| {
            // Truncate to 53 bits, remember whether anything is below, and shift into place with
            // one rounding.
            let below = b.setp(Cond::Lt, Type::F64, rest, Src::f64(0.0));
            let exact = b.setp(Cond::Eq, Type::F64, rest, Src::f64(0.0));
            let step = b.sel(below, 1u32, 0u32);
            let zero = b.mov(0u32);
            let fraction = b.op2(Op::And, Type::U32, q[1], 0x000f_ffffu32);
            let whole = b.op2(Op::Or, Type::U32, fraction, 0x0010_0000u32);
            let int =
                |b: &mut Builder<'_>, op, x: Pair, y: Src| b.pair(Inst::new(op, Type::U64).src(x).src(y));
            let m = int(b, Op::Sub, [q[0], whole], [step, zero].into());
            let sticky = b.sel(exact, 0u32, 1u32);
            // Two more bits for what is below, then shift right by 1 - biased, keeping that
            // non-zero bits fell off.
            let m = int(b, Op::Shl, m, Src::imm(2));
            let low = b.op2(Op::Or, Type::U32, m[0], sticky);
            let m = [low, m[1]];
            let shift = b.op2(Op::Sub, Type::U32, 1u32, biased);
            let shift = b.op2(Op::Min, Type::U32, shift, 63u32);
            let shifted = int(b, Op::Shr, m, shift.into());
            let restored = int(b, Op::Shl, shifted, shift.into());
            let lost = b.setp(Cond::Ne, Type::U64, restored, m);
            let sticky = b.sel(lost, 1u32, 0u32);
            let low = b.op2(Op::Or, Type::U32, shifted[0], sticky);
            // Round to nearest even on the two low bits: add 1 and the lowest kept bit, minus one
            // half, in quarters.
            let odd = b.op2(Op::Ext, Type::U32, low, 2u32 | 1 << 8);
            let bump = b.add(Type::U32, odd, 1u32);
            let sum = int(b, Op::Add, [low, shifted[1]], [bump, zero].into());
            let r = int(b, Op::Shr, sum, Src::imm(2));
            [r[0], b.op2(Op::Or, Type::U32, r[1], sign)]
        },
        |b| {
            let moved = b.op2(Op::Shl, Type::U32, exponent, 20u32);
            let high = b.add(Type::U32, q[1], moved);
            let overflow = b.setp(Cond::Ge, Type::S32, biased, 0x7ffu32);
            let high = b.sel(overflow, 0x7ff0_0000u32, high);
            let low = b.sel(overflow, 0u32, q[0]);
            [low, b.op2(Op::Or, Type::U32, high, sign)]
        },
    )
}

/// The machine's estimate of 1 / sqrt(x), refined, for x in [1, 4), with x itself and half the
/// exponent of the number.
struct Root {
    x: Pair,
    /// Within a few units in the last place.
    rsq: Pair,
    half_exponent: ValueId,
}

fn root(b: &mut Builder<'_>, a: Pair) -> Root {
    let s = split(b, a);
    // An even exponent: an odd one gives a factor of two to the significand.
    let odd = b.op2(Op::And, Type::U32, s.exponent, 1u32);
    let even = b.op2(Op::Sub, Type::U32, s.exponent, odd);
    let half_exponent = b.op2(Op::Shr, Type::S32, even, 1u32);
    let up = b.op2(Op::Shl, Type::U32, odd, 20u32);
    let x = [s.significand[0], b.add(Type::U32, s.significand[1], up)];
    let high = b.op1(Op::Rsq64h, Type::U32, x[1]);
    let zero = b.mov(0u32);
    let mut r = [zero, high];
    // r += r * (1 - x r^2) / 2
    for _ in 0..3 {
        let xr = op2(b, Op::Mul, x, r);
        let e = fma(b, minus(xr), r, Src::f64(1.0));
        let half = op2(b, Op::Mul, r, Src::f64(0.5));
        r = fma(b, half, e, r);
    }
    Root { x, rsq: r, half_exponent }
}

/// Below zero (not -0), zero, infinite or NaN, for roots.
fn root_special(b: &mut Builder<'_>, a: Pair) -> ValueId {
    let p = special(b, a);
    let negative = b.setp(Cond::Lt, Type::S32, a[1], 0u32);
    b.op2(Op::Or, Type::Pred, p, negative)
}

fn scale(b: &mut Builder<'_>, x: Pair, exponent: ValueId) -> Pair {
    let moved = b.op2(Op::Shl, Type::U32, exponent, 20u32);
    [x[0], b.add(Type::U32, x[1], moved)]
}

/// Builds the square root.
pub fn sqrt(b: &mut Builder<'_>, a: Pair) -> Pair {
    let special = root_special(b, a);
    if_else(
        b,
        special,
        |b| {
            // Zeros, +infinity and NaN are their own roots; everything else here is negative.
            let low_part = b.setp(Cond::Lt, Type::F64, a, Src::f64(0.0));
            let nan = b.setp(Cond::Nan, Type::F64, a, Src::f64(0.0));
            let bad = b.op2(Op::Or, Type::Pred, low_part, nan);
            [b.sel(bad, u32::MAX, a[0]), b.sel(bad, 0x7fff_ffffu32, a[1])]
        },
        |b| {
            let r = root(b, a);
            let mut g = op2(b, Op::Mul, r.x, r.rsq);
            let h = op2(b, Op::Mul, r.rsq, Src::f64(0.5));
            for _ in 0..2 {
                let rest = fma(b, minus(g), g, r.x);
                g = fma(b, rest, h, g);
            }
            scale(b, g, r.half_exponent)
        },
    )
}

/// Builds the reciprocal square root.
pub fn rsq(b: &mut Builder<'_>, a: Pair) -> Pair {
    let special = root_special(b, a);
    if_else(
        b,
        special,
        |b| {
            // +-0 gives +-infinity, +infinity 0, everything else NaN.
            let zero = b.setp(Cond::Eq, Type::F64, a, Src::f64(0.0));
            let infinite = b.setp(Cond::Eq, Type::F64, a, Src::f64(f64::INFINITY));
            let good = b.op2(Op::Or, Type::Pred, zero, infinite);
            let sign = b.op2(Op::And, Type::U32, a[1], SIGN);
            let inf = b.op2(Op::Or, Type::U32, sign, 0x7ff0_0000u32);
            let high = b.sel(zero, inf, 0u32);
            [b.sel(good, 0u32, u32::MAX), b.sel(good, high, 0x7fff_ffffu32)]
        },
        |b| {
            let r = root(b, a);
            let minus_half = b.op2(Op::Sub, Type::U32, 0u32, r.half_exponent);
            scale(b, r.rsq, minus_half)
        },
    )
}
