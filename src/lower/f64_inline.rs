//! Double-precision division, reciprocal and root in line, where exponents are not near an end of
//! their range; the routines of [`super::f64`] for the rest.
//!
//! ```text
//!     div f64 {%r4 %r5} {%r0 %r1} {%r2 %r3}    ->      (estimate, two Newton steps, quotient, correction)
//!                                                      branch %p9 b2(%r6 %r7) b1      merge b2
//!                                                  b1: call f64_div(%r0 %r1 %r2 %r3) -> %r7 %r8
//!                                                      jump b2(%r7 %r8)
//!                                                  b2(%r4 %r5):
//! ```
//!
//! The first Newton step is one of third order: the machine's estimate, off by e (about 2^-20), becomes
//! r (1 + e + e^2), off by e^3. The last correction by the exact remainder rounds right (P. Markstein, 1990) but
//! for divisors whose significand is all ones, of which the reciprocal is just above the middle between two
//! doubles: an estimate with the low word 1, above it, stays above it.
//!
//! Safe because the tests exclude what the steps in between cannot represent: a remainder below the
//! subnormal numbers, an infinite estimate, results that are subnormal, infinite or NaN. Programs with many of these
//! operations, and stages of a draw, which are short, call the routine.

use super::blocks::{self, Detour};
use super::f64::{Pair, finish, fma, minus, op2, operand};
use super::library::{Library, Routine, words};
use crate::ir::build::Builder;
use crate::ir::*;

/// Operations of a function up to which they are worth their size: about 25 instructions each.
const MOST: usize = 16;

/// The high word from which a number's remainders are doubles: 105 binary places above the least.
const SMALL: u32 = 0x0360_0000;

/// The high word up to which a number is no NaN as a float, and its reciprocal not subnormal.
const LARGE: u32 = 0x7f7f_f000;

/// Does it for a function; the rest are calls.
pub(super) fn run(f: &mut Function, library: &mut Library) {
    let wanted = |f: &Function, i: InstId| {
        let i = &f.insts[i];
        i.ty == Type::F64 && matches!(i.op, Op::Div | Op::Rcp | Op::Sqrt) && i.guard.is_none()
    };
    let count = f.insts_in_order().filter(|&(_, i)| wanted(f, i)).count();
    if !(1..=MOST).contains(&count) {
        return;
    }
    let mut layout = Vec::with_capacity(f.layout.len() + 2 * count);
    for mut block in std::mem::take(&mut f.layout) {
        layout.push(block);
        for i in std::mem::take(&mut f.blocks[block].body) {
            if !wanted(f, i) {
                f.blocks[block].body.push(i);
                continue;
            }
            let inst = f.insts[i].clone();
            let Detour { from, rare, join } = blocks::detour(f, &mut layout, block);
            let r = [0, 1].map(|_| f.add_block_param(join, Class::Gpr));
            let mut b = Builder::new(f, from);
            b.loc = inst.loc;
            in_line(&mut b, &inst, library, rare, join);
            let mut b = Builder::new(f, join);
            b.loc = inst.loc;
            finish(&mut b, &inst, r);
            block = join;
        }
    }
    f.layout = layout;
}

/// Builds an operation up to the branch around the routine, and the block that calls that.
fn in_line(b: &mut Builder<'_>, i: &Inst, library: &mut Library, slow: BlockId, join: BlockId) {
    let x = operand(b, &i.srcs[0]);
    let (fast, result, routine, args) = match i.op {
        Op::Sqrt => {
            let (fast, r) = sqrt(b, x);
            (fast, r, Routine::F64Sqrt, x.to_vec())
        }
        Op::Rcp => {
            let (fast, r) = reciprocal(b, x);
            let one = words(b, &Src::f64(1.0), 2);
            (fast, r, Routine::F64Div, [&one[..], &x[..]].concat())
        }
        _ => {
            let y = operand(b, &i.srcs[1]);
            let (fast, r) = divide(b, x, y);
            (fast, r, Routine::F64Div, [x, y].concat())
        }
    };
    let to = |args: Vec<ValueId>| Edge { to: join, args };
    b.terminate(Term::Branch { cond: fast, not: false, then: to(result.to_vec()), els: Edge::to(slow) });
    b.block = slow;
    let r = library.call(b, routine, args);
    b.terminate(Term::Jump(to(r)));
}

/// High words of doubles compared as floats: absolute values in order, NaN for what is too large.
fn compare(b: &mut Builder<'_>, cond: Cond, high: ValueId, with: u32) -> ValueId {
    b.setp(cond, Type::F32, Src::val(high).abs(), Src::imm(with))
}

/// Whether the quotient is a normal number, and no divisor was so large that its reciprocal is not.
fn in_range(b: &mut Builder<'_>, quotient: Pair, divisor: Pair) -> ValueId {
    // The least normal float, so that it is the same where subnormal floats count as zeros.
    let normal = compare(b, Cond::Ge, quotient[1], f32::MIN_POSITIVE.to_bits());
    let small = compare(b, Cond::Le, divisor[1], LARGE);
    b.op2(Op::And, Type::Pred, normal, small)
}

/// 1 / y, correctly rounded where the result and y are in range.
fn newton(b: &mut Builder<'_>, y: Pair) -> Pair {
    let high = b.op1(Op::Rcp64h, Type::U32, y[1]);
    let low = b.mov(1u32);
    let r = [low, high];
    let e = fma(b, minus(y), r, Src::f64(1.0));
    let e = fma(b, e, e, e);
    let r = fma(b, r, e, r);
    let e = fma(b, minus(y), r, Src::f64(1.0));
    fma(b, r, e, r)
}

fn reciprocal(b: &mut Builder<'_>, y: Pair) -> (ValueId, Pair) {
    let r = newton(b, y);
    (in_range(b, r, y), r)
}

fn divide(b: &mut Builder<'_>, x: Pair, y: Pair) -> (ValueId, Pair) {
    let r = newton(b, y);
    let q = op2(b, Op::Mul, x, r);
    let rest = fma(b, minus(y), q, x);
    let q = fma(b, r, rest, q);
    let fast = in_range(b, q, y);
    let large = compare(b, Cond::Ge, x[1], SMALL);
    (b.op2(Op::And, Type::Pred, fast, large), q)
}

/// The root by its reciprocal: a step of third order, then the correction by the remainder.
fn sqrt(b: &mut Builder<'_>, x: Pair) -> (ValueId, Pair) {
    let high = b.op1(Op::Rsq64h, Type::U32, x[1]);
    // The machine's estimate has no low word, and any does. A zero would be shared with those of constants.
    let low = b.add(Type::U32, x[1], 0u32.wrapping_sub(SMALL));
    let y = [low, high];
    let square = op2(b, Op::Mul, y, y);
    let e = fma(b, x, minus(square), Src::f64(1.0));
    let c = fma(b, e, Src::f64(0.375), Src::f64(0.5));
    let step = op2(b, Op::Mul, y, e);
    let y = fma(b, c, step, y);
    let g = op2(b, Op::Mul, x, y);
    let half = [y[0], b.add(Type::U32, y[1], 0u32.wrapping_sub(1 << 20))];
    let rest = fma(b, minus(g), g, x);
    let g = fma(b, rest, half, g);
    // Positive, finite, and large enough for the remainder.
    let large = b.setp(Cond::Ge, Type::F32, x[1], Src::imm(SMALL));
    let finite = b.setp(Cond::Le, Type::F32, x[1], Src::imm(LARGE));
    (b.op2(Op::And, Type::Pred, large, finite), g)
}

#[cfg(test)]
mod tests {
    use nvir_base::num::mufu::{rcp64h, rsq64h};
    use nvir_base::random::Random;

    fn high(x: f64) -> u32 {
        (x.to_bits() >> 32) as u32
    }

    fn double(high: u32, low: u32) -> f64 {
        f64::from_bits(u64::from(high) << 32 | u64::from(low))
    }

    /// What the code in line computes, without its tests.
    fn divide(x: f64, y: f64) -> f64 {
        let r = double(rcp64h(high(y)), 1);
        let e = (-y).mul_add(r, 1.0);
        let r = r.mul_add(e.mul_add(e, e), r);
        let r = r.mul_add((-y).mul_add(r, 1.0), r);
        let q = x * r;
        r.mul_add((-y).mul_add(q, x), q)
    }

    fn sqrt(x: f64) -> f64 {
        let y = double(rsq64h(high(x)), high(x).wrapping_sub(super::SMALL));
        let e = x.mul_add(-(y * y), 1.0);
        let y = e.mul_add(0.375, 0.5).mul_add(y * e, y);
        let g = x * y;
        (-g).mul_add(g, x).mul_add(y / 2.0, g)
    }

    /// A significand in [1, 2), often near an end or with few bits.
    fn significand(r: &mut Random) -> u64 {
        let bits = r.word() & 0xf_ffff_ffff_ffff;
        match r.below(4) {
            0 => r.below(64),
            1 => 0xf_ffff_ffff_ffff - r.below(64),
            2 => bits & 0xf_ffff_ffff_ffff << r.below(52),
            _ => bits,
        }
    }

    fn number(r: &mut Random) -> f64 {
        f64::from_bits((1023 - 100 + r.below(200)) << 52 | significand(r) & 0xf_ffff_ffff_ffff)
    }

    #[test]
    fn quotients_are_rounded_right() {
        let mut r = Random::new(1);
        for _ in 0..1_000_000 {
            let (x, y) = (number(&mut r), number(&mut r));
            assert_eq!(divide(x, y), x / y, "{x:e} / {y:e}");
            assert_eq!(divide(1.0, y), 1.0 / y, "1 / {y:e}");
            // A quotient just beside the middle between two doubles, or beside a double.
            let x = y * x;
            assert_eq!(divide(x, y), x / y, "{x:e} / {y:e}");
        }
    }

    /// Odd numbers of which the square is `k` modulo a power of two.
    fn roots_modulo(k: u64, places: u32) -> Vec<u64> {
        let mut found = vec![1u64, 3, 5, 7];
        for n in 4..=places {
            let mask = (1u64 << n) - 1;
            // There are four; those of one place more differ in the highest two places.
            let wider = found.iter().flat_map(|&g| [g, g ^ 1 << (n - 2), g ^ 1 << (n - 1)]);
            found = wider.filter(|&g| g.wrapping_mul(g) & mask == k & mask).map(|g| g & mask).collect();
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    #[test]
    fn roots_are_rounded_right() {
        let mut r = Random::new(2);
        let same = |x: f64| assert_eq!(sqrt(x), x.sqrt(), "root of {x:e}");
        for _ in 0..1_000_000 {
            let x = number(&mut r);
            same(x);
            same(x * x);
            same(f64::from_bits((x * x).to_bits() + 1));
        }
        // As near as can be to the middle g between two doubles: g^2 - k has 53 significant bits.
        let mut hard = 0;
        for k in (-4000i64..4000).map(|k| 8 * k + 1) {
            for places in [54, 55] {
                for g in roots_modulo(k as u64, places) {
                    let square = i128::from(g) * i128::from(g) - i128::from(k);
                    let zeros = square.trailing_zeros();
                    if square > 0 && square >> zeros < 1 << 53 && g >> 53 == 1 {
                        same((square >> zeros) as f64 * 2f64.powi(zeros as i32 - 100));
                        same((square >> zeros) as f64 * 2f64.powi(zeros as i32 + 101));
                        hard += 1;
                    }
                }
            }
        }
        assert!(hard > 10_000, "{hard}");
    }
}
