//! Logarithms, and functions that are made of them.
//!
//! `x = 2^k m` with m from sqrt(1/2) to sqrt(2), and `log(m) = 2 s + s^3 P(s^2)` with `s = (m - 1) / (m + 1)`.

use super::exp::{Pair, product, sum, through_double};
use super::real::{Int, Real};
use crate::ir::Cond;
use std::f64::consts::{LN_2, LOG2_E, LOG10_2, LOG10_E};

const P: &[f64] = &[
    0.6666666666666666,
    0.3999999999999999,
    0.2857142857143538,
    0.22222222219852464,
    0.1818181859457047,
    0.15384575060560599,
    0.13335641774000268,
    0.1168805409426866,
    0.11882627381096524,
];
/// P(z) = 2 / 3 + z P_POWER(z), for powers.
const P_POWER: &[f64] = &[
    0.4,
    0.2857142857142937,
    0.22222222221654733,
    0.1818181833565416,
    0.15384594934597917,
    0.13334806212100603,
    0.11706195689881364,
    0.11723603622905411,
];
/// The same, for results of 24 bits that a factor of 128 was lost of.
const P_MIDDLE: &[f64] =
    &[0.6666666666737665, 0.39999998795219155, 0.2857175496835035, 0.22191373380944632, 0.19363186932161763];
/// For results of 24 bits.
const P_SINGLE: &[f64] = &[0.6666666655430018, 0.4000012200081688, 0.2855080255327671, 0.2333096405177204];

/// 2 / 3 without its first 53 bits.
const TWO_THIRDS_LOW: f64 = 3.700743415417188e-17;
/// ln(2) in two parts, of which the first has 40 bits.
const LN_2_FIRST: f64 = 0.6931471805592082;
const LN_2_SECOND: f64 = 7.371002565167799e-13;
const LOG2_E_LOW: f64 = 2.0355273740931033e-17;
const LOG10_E_LOW: f64 = 1.098319650216765e-17;
const LOG10_2_LOW: f64 = -2.8037281277851704e-18;

/// `2^k m`, of a number above 0.
struct Split<'m> {
    m: Real<'m>,
    k: Int<'m>,
}

fn split(x: Real<'_>) -> Split<'_> {
    // Bits of the significand in the word with the exponent; what makes subnormal numbers normal.
    let (bits, scale, least) = x.by_width((20, 54, f64::MIN_POSITIVE), (23, 24, f32::MIN_POSITIVE.into()));
    let tiny = x.lt(least);
    let x = x.but(tiny, x * f64::powi(2.0, scale));
    let high = x.high();
    // The exponent goes up where the significand is above sqrt(2).
    let root = high.number(x.by_width(std::f64::consts::FRAC_1_SQRT_2.to_bits() >> 32, 0x3f35_04f3) as u32);
    let one = high.number(x.by_width(0x3ff0_0000, 0x3f80_0000));
    let moved = high + (one - root);
    let bias = x.by_width(1023, 127);
    let k = moved.shr(high.number(bits)) - high.number(bias);
    let m = moved.and((1 << bits) - 1) + root;
    let extra = k.number(0).but(tiny, k.number(scale as u32));
    Split { m: x.with_high(m), k: k - extra }
}

/// How many bits of a logarithm count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bits {
    /// So many that 24 are left where a power is made of it.
    Single,
    /// 53.
    Double,
    /// So many that 53 are left where a power is made of it.
    Power,
}

impl Bits {
    fn of(single: bool) -> Bits {
        if single { Bits::Single } else { Bits::Double }
    }
}

/// log(m + c) of a number from sqrt(1/2) to sqrt(2), in doubles.
fn reduced<'m>(m: Real<'m>, c: Option<Real<'m>>, bits: Bits) -> Pair<'m> {
    let f = m - 1.0;
    let n = match c {
        Some(c) => sum(f, c),
        None => Pair { high: f, low: m.number(0.0) },
    };
    let d = n.high + 2.0;
    // What the divisor was rounded by.
    let rest = n.high - (d - 2.0) + n.low;
    let r = m.number(1.0).over(d);
    let s = n.high * r;
    let low = (s.fma(-d, n.high) + n.low - s * rest) * r;
    if bits == Bits::Power {
        // The first term of the polynomial as a pair, too.
        let square = product(s, s);
        let cube = product(square.high, s);
        let cube_low = square.low.fma(s, cube.low);
        let first = product(cube.high, m.number(2.0 / 3.0));
        let first_low = cube.high.fma(TWO_THIRDS_LOW, cube_low.fma(2.0 / 3.0, first.low));
        let others = cube.high * square.high * square.high.poly(P_POWER);
        // What is missing of s, in 2 s and in the cube.
        let twice = low + low;
        let missing = twice.fma(square.high, twice);
        let t = sum(s + s, first.high);
        return Pair { high: t.high, low: t.low + (first_low + others + missing) };
    }
    let z = s * s;
    let p = z.poly(if bits == Bits::Single { P_MIDDLE } else { P });
    Pair { high: s + s, low: (s * z).fma(p, low + low) }
}

/// log(x + c) of a finite number above 0, of which c is a small part.
fn with_rest<'m>(x: Real<'m>, c: Option<Real<'m>>, bits: Bits) -> Pair<'m> {
    let Split { m, k } = split(x);
    let c = c.map(|c| c.ldexp(k.number(0) - k));
    let l = reduced(m, c, bits);
    let k = k.real(x);
    let t = sum(k * LN_2_FIRST, l.high);
    let low = k.fma(LN_2_SECOND, t.low + l.low);
    let high = t.high + low;
    Pair { high, low: low - (high - t.high) }
}

/// log(x) of a finite number above 0, in doubles; `single`: for a result of 24 bits.
pub(super) fn pair(x: Real<'_>, single: bool) -> Pair<'_> {
    with_rest(x, None, if single { Bits::Single } else { Bits::Power })
}

/// What logarithms give where there is none.
fn edges<'m>(r: Real<'m>, x: Real<'m>) -> Real<'m> {
    let r = r.but(x.eq(0.0), f64::NEG_INFINITY);
    let r = r.but(x.eq(f64::INFINITY), f64::INFINITY);
    r.but(x.lt(0.0).or(x.is_nan()), f64::NAN)
}

/// log(m) of 32 bits, of a number from sqrt(1/2) to sqrt(2).
fn reduced_single(m: Real<'_>) -> Real<'_> {
    let f = m - 1.0;
    let s = f.over(f + 2.0);
    let z = s * s;
    // 2 s = f - s f, and s f = f^2 / 2 - s f^2 / 2.
    let half = f * f * 0.5;
    let p = z * z.poly(P_SINGLE);
    f - (half - s * (half + p))
}

pub(super) fn log(x: Real<'_>) -> Real<'_> {
    let r = if x.is_double() {
        with_rest(x, None, Bits::Double).high
    } else {
        let Split { m, k } = split(x);
        let k = k.real(x);
        let t = k.fma(1.428606765330187e-06, reduced_single(m));
        k.fma(0.693145751953125, t)
    };
    edges(r, x)
}

/// log(x) by another base: `k by_two + log(m) factor`.
fn based<'m>(x: Real<'m>, by_two: [f64; 2], factor: [f64; 2]) -> Real<'m> {
    let Split { m, k } = split(x);
    let k = k.real(x);
    if !x.is_double() {
        let l = reduced_single(m);
        let first = f64::from(factor[0] as f32);
        // So few bits that products with exponents are exact.
        let two = f64::from(f32::from_bits((by_two[0] as f32).to_bits() & !0xfff));
        let t = l * (factor[0] - first);
        let t = k.fma(by_two[0] - two, t);
        let t = l.fma(first, t);
        return edges(k.fma(two, t), x);
    }
    let l = reduced(m, None, Bits::Double);
    let t = product(l.high, x.number(factor[0]));
    let low = l.low.fma(factor[0], l.high.fma(factor[1], t.low));
    let k_part = product(k, x.number(by_two[0]));
    let s = sum(k_part.high, t.high);
    let low = k.fma(by_two[1], k_part.low + (s.low + low));
    edges(s.high + low, x)
}

pub(super) fn log2(x: Real<'_>) -> Real<'_> {
    based(x, [1.0, 0.0], [LOG2_E, LOG2_E_LOW])
}

pub(super) fn log10(x: Real<'_>) -> Real<'_> {
    based(x, [LOG10_2, LOG10_2_LOW], [LOG10_E, LOG10_E_LOW])
}

/// log(1 + x) in doubles.
fn plus_one(x: Real<'_>, single: bool) -> Real<'_> {
    let u = sum(x.number(1.0), x);
    // Infinity has no rest.
    let rest = u.low.but(x.is_infinite(), 0.0);
    let r = edges(with_rest(u.high, Some(rest), Bits::of(single)).high, u.high);
    // Zero keeps its sign, and what is next to it is its own logarithm.
    r.but(x.abs().lt(1e-300), x)
}

pub(super) fn log1p(x: Real<'_>) -> Real<'_> {
    through_double(x, plus_one)
}

pub(super) fn asinh(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        let a = x.abs();
        // Beyond that, x^2 + 1 is x^2.
        let large = a.gt(1e9);
        let a2 = a * a;
        let t = a + a2.over((a2 + 1.0).sqrt() + 1.0);
        let near = plus_one(t.but(large, 1.0), single);
        let far = edges(with_rest(a, None, Bits::of(single)).high, a) + LN_2;
        near.but(large, far).signed_as(x).but(x.is_nan(), x)
    })
}

pub(super) fn acosh(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        let large = x.gt(1e9);
        let t = x - 1.0;
        let t = t + (t + t).fma(1.0, t * t).sqrt();
        let near = plus_one(t.but(large, 1.0), single);
        let far = edges(with_rest(x, None, Bits::of(single)).high, x) + LN_2;
        near.but(large, far).but(x.lt(1.0).or(x.is_nan()), f64::NAN)
    })
}

pub(super) fn atanh(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        let a = x.abs();
        let t = (a + a).over(x.number(1.0) - a);
        let r = plus_one(t, single) * 0.5;
        r.but(a.gt(1.0), f64::NAN).but(a.eq(1.0), f64::INFINITY).signed_as(x).but(x.is_nan(), x)
    })
}

/// Cube root: the machine's logarithm and power of two give 20 bits, Newton's steps the others.
pub(super) fn cbrt(x: Real<'_>) -> Real<'_> {
    let a = x.abs();
    if !x.is_double() {
        let tiny = a.lt(f64::from(f32::MIN_POSITIVE));
        let b = a.but(tiny, a * f64::powi(2.0, 24));
        let t = (b.lg2() * (1.0 / 3.0)).ex2();
        let r = (t * t).fma(t, -b);
        let t = r.fma(-((t * t * 3.0).rcp()), t);
        let t = t.but(tiny, t * f64::powi(2.0, -8));
        return t.signed_as(x).but(x.eq(0.0).or(x.is_infinite()).or(x.is_nan()), x + x);
    }
    // Significand from 1 to 8, and a third of the exponent.
    let Split { m, k } = split(a);
    let third = ((k.real(x) * (1.0 / 3.0)).floor()).to_int();
    let left = k - (third + third + third);
    let m = m.ldexp(left);
    let single = m.single();
    let t = (single.lg2() * (1.0 / 3.0)).ex2();
    let slope = (t * t * 3.0).rcp().double();
    let mut t = t.double();
    for _ in 0..3 {
        let square = product(t, t);
        // The rest of t^3 - m, of which the first 53 bits cancel.
        let cube = product(square.high, t);
        let r = (cube.high - m) + square.low.fma(t, cube.low);
        t = r.fma(-slope, t);
    }
    let r = t.ldexp(third).signed_as(x);
    r.but(x.eq(0.0).or(x.is_infinite()).or(x.is_nan()), x + x)
}

/// sqrt(x^2 + y^2) of numbers that are brought next to 1 first.
pub(super) fn hypot<'m>(x: Real<'m>, y: Real<'m>) -> Real<'m> {
    let (a, b) = (x.abs(), y.abs());
    let (bits, bias) = x.by_width((20, 1023), (23, 127));
    let large = a.max(b);
    let high = large.high();
    let k = high.shr(high.number(bits)) - high.number(bias);
    // Of subnormal numbers all bits come up; of infinity and NaN nothing counts.
    let k = k.but(k.is(Cond::Lt, 1 - i64::from(bias)), k.number(x.by_width(-1074i32, -149) as u32));
    let down = k.number(0) - k;
    let (a, b) = (a.ldexp(down), b.ldexp(down));
    let r = if x.is_double() {
        let (a2, b2) = (product(a, a), product(b, b));
        let s = sum(a2.high, b2.high);
        (s.high + (s.low + a2.low + b2.low)).sqrt()
    } else {
        a.fma(a, b * b).sqrt()
    };
    let r = r.ldexp(k);
    let r = r.but(x.is_nan().or(y.is_nan()), f64::NAN);
    r.but(x.is_infinite().or(y.is_infinite()), f64::INFINITY)
}
