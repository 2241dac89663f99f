//! Exponential functions, and those that are made of them.

use super::log;
use super::real::{Int, Real, Truth};
use crate::ir::Cond;
use std::f64::consts::{LN_2, LN_10, LOG2_10, LOG2_E, LOG10_2};

/// A number that is not rounded: the sum of two.
#[derive(Clone, Copy)]
pub(super) struct Pair<'m> {
    pub(super) high: Real<'m>,
    pub(super) low: Real<'m>,
}

/// The exact product.
pub(super) fn product<'m>(x: Real<'m>, y: Real<'m>) -> Pair<'m> {
    let high = x * y;
    Pair { high, low: x.fma(y, -high) }
}

/// The exact sum.
pub(super) fn sum<'m>(x: Real<'m>, y: Real<'m>) -> Pair<'m> {
    let high = x + y;
    let of_y = high - x;
    let of_x = high - of_y;
    Pair { high, low: (x - of_x) + (y - of_y) }
}

const LN_2_LOW: f64 = 2.3190468138462996e-17;
/// log10(2) and ln(10) without their first 53 bits.
const LOG10_2_LOW: f64 = -2.8037281277851704e-18;
const LN_10_LOW: f64 = -2.1707562233822494e-16;

/// exp(r) = 1 + r + r^2 P(r) for |r| <= ln(2) / 2.
const P: &[f64] = &[
    0.5,
    0.16666666666666666,
    0.04166666666666668,
    0.008333333333333333,
    0.0013888888888879073,
    0.00019841269841263298,
    2.4801587336442236e-05,
    2.755731924721873e-06,
    2.75572632790885e-07,
    2.505207109429355e-08,
    2.0918137737642736e-09,
    1.608662795678037e-10,
];
/// The same, for results of 24 bits.
const P_SINGLE: &[f64] = &[
    0.500000001346581,
    0.16666666681623232,
    0.041666464925285904,
    0.0083333109254809,
    0.0013933649996309251,
    0.00019890990824673654,
];

/// A power of e that is not scaled yet: `2^n * (1 + m)`.
struct Power<'m> {
    m: Real<'m>,
    n: Real<'m>,
}

impl<'m> Power<'m> {
    /// The number, times 2^by.
    fn value(self, by: i32) -> Real<'m> {
        let n = self.n.to_int() + self.n.integer(by);
        (self.m + 1.0).ldexp(n)
    }
}

/// Keeps exponents in a range in which nothing but the scaling overflows. NaN stays one.
fn kept(x: Real<'_>, limit: f64) -> Real<'_> {
    x.max(-limit).min(limit).but(x.is_nan(), x)
}

/// e^(x + low), computed in doubles; `single`: for a result of 24 bits.
fn power<'m>(x: Real<'m>, low: Option<Real<'m>>, single: bool) -> Power<'m> {
    let x = kept(x, 2000.0);
    let n = (x * LOG2_E).rint();
    let mut r = n.fma(-LN_2, x);
    let mut rest = n * -LN_2_LOW;
    if let Some(low) = low {
        // Beyond the range of results it may be anything.
        rest = rest + low.but(x.abs().gt(1500.0), 0.0);
    }
    if low.is_some() || !single {
        r = r + rest;
    }
    let p = r.poly(if single { P_SINGLE } else { P });
    Power { m: (r * r).fma(p, r), n }
}

/// e^(x + low) times 2^by, in doubles.
pub(super) fn of_pair<'m>(x: Pair<'m>, single: bool, by: i32) -> Real<'m> {
    power(x.high, Some(x.low), single).value(by)
}

/// e^x in doubles.
pub(super) fn plain(x: Real<'_>, single: bool) -> Real<'_> {
    power(x, None, single).value(0)
}

/// 2^(n + r) of 32 bits, the fraction a part of the exponent of the machine's function.
fn scaled<'m>(r: Real<'m>, n: Real<'m>) -> Real<'m> {
    r.ex2().ldexp(n.to_int())
}

pub(super) fn exp(x: Real<'_>) -> Real<'_> {
    if x.is_double() {
        return plain(x, false);
    }
    let x = kept(x, 200.0);
    let n = (x * LOG2_E).rint();
    // ln(2) in two parts, of which the first has 16 bits.
    let r = n.fma(-0.693145751953125, x);
    let r = n.fma(-1.428606765330187e-06, r);
    scaled(r * LOG2_E, n)
}

pub(super) fn exp2(x: Real<'_>) -> Real<'_> {
    let x = kept(x, 2000.0);
    let n = x.rint();
    let r = x - n;
    if !x.is_double() {
        return scaled(r, n);
    }
    let t = product(r, x.number(LN_2));
    let low = r.fma(LN_2_LOW, t.low);
    let r = t.high + low;
    Power { m: (r * r).fma(r.poly(P), r), n }.value(0)
}

pub(super) fn exp10(x: Real<'_>) -> Real<'_> {
    if !x.is_double() {
        let x = kept(x, 100.0);
        let n = (x * LOG2_10).rint();
        // log10(2) in two parts likewise.
        let r = n.fma(-0.301025390625, x);
        let r = n.fma(-4.605038981195214e-06, r);
        return scaled(r * LOG2_10, n);
    }
    let x = kept(x, 1000.0);
    let n = (x * LOG2_10).rint();
    let r = n.fma(-LOG10_2, x);
    let r = n.fma(-LOG10_2_LOW, r);
    let t = product(r, x.number(LN_10));
    let r = t.high + r.fma(LN_10_LOW, t.low);
    Power { m: (r * r).fma(r.poly(P), r), n }.value(0)
}

/// e^x - 1 in doubles.
fn minus_one(x: Real<'_>, single: bool) -> Real<'_> {
    let p = power(kept(x, 710.0), None, single);
    // Half the power, and twice the difference: the power itself may overflow where the difference does not.
    let half = p.n.number(1.0).ldexp(p.n.to_int() + p.n.integer(-1));
    let r = half.fma(p.m, half - 0.5);
    // Next to zero it is the argument, and zero keeps its sign.
    (r + r).but(x.abs().lt(1e-300), x)
}

pub(super) fn expm1(x: Real<'_>) -> Real<'_> {
    through_double(x, minus_one)
}

/// A function that is computed in doubles; `f` also gets whether its result is rounded to 24 bits.
pub(super) fn through_double<'m>(x: Real<'m>, f: impl FnOnce(Real<'m>, bool) -> Real<'m>) -> Real<'m> {
    if x.is_double() { f(x, false) } else { f(x.double(), true).single() }
}

pub(super) fn sinh(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        let a = x.abs();
        let t = minus_one(a, single);
        let near = (t + t.over(t + 1.0)) * 0.5;
        let far = power(a, None, single).value(-1);
        near.but(a.gt(30.0), far).signed_as(x).but(x.is_nan(), x)
    })
}

pub(super) fn cosh(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        let half = power(x.abs(), None, single).value(-1);
        half + x.number(0.25).over(half)
    })
}

pub(super) fn tanh(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        let a = x.abs().min(30.0);
        let t = minus_one(a + a, single);
        t.over(t + 2.0).signed_as(x).but(x.is_nan(), x)
    })
}

/// What a power of a negative number is of: `odd`, `whole` are of the exponent.
struct Exponent<'m> {
    y: Real<'m>,
    odd: Truth<'m>,
    whole: Truth<'m>,
}

fn exponent(y: Real<'_>) -> Exponent<'_> {
    let whole = y.floor().eq(y);
    let half = y * 0.5;
    Exponent { y, odd: whole.and(half.floor().eq(half).not()), whole }
}

/// |x|^y in doubles, for finite x above 0.
fn raised<'m>(x: Real<'m>, y: Real<'m>, single: bool) -> Real<'m> {
    let l = log::pair(x, single);
    let t = product(y, l.high);
    let low = y.fma(l.low, t.low);
    // A product that overflows has no rest.
    let low = low.but(t.high.is_infinite(), 0.0);
    of_pair(Pair { high: t.high, low }, single, 0)
}

/// Powers by the rules of C: `x` to the power of `e`.
fn power_of<'m>(x: Real<'m>, e: &Exponent<'m>, single: bool) -> Real<'m> {
    let (a, y) = (x.abs(), e.y);
    let r = raised(a, y, single);
    let zero = x.number(0.0);
    let infinite = x.number(f64::INFINITY);
    // Where x or y has no bits to compute with.
    let rising = y.gt(0.0);
    let r = r.but(a.eq(0.0), infinite.but(rising, 0.0));
    let r = r.but(a.is_infinite(), zero.but(rising, infinite));
    let grows = a.gt(1.0);
    let same = grows.and(rising).or(grows.not().and(rising.not()));
    let r = r.but(y.is_infinite(), zero.but(same, infinite));
    let r = r.but(a.eq(1.0), 1.0);
    let negative = x.high().is(Cond::Lt, 0);
    let r = r.but(negative.and(e.odd), -r);
    let nan = x.lt(0.0).and(e.whole.not()).and(x.is_infinite().not());
    let r = r.but(nan, f64::NAN);
    let r = r.but(x.is_nan().or(y.is_nan()), f64::NAN);
    r.but(y.eq(0.0).or(x.eq(1.0)), 1.0)
}

pub(super) fn pow<'m>(x: Real<'m>, y: Real<'m>) -> Real<'m> {
    through_double(x, |x, single| power_of(x, &exponent(y.double()), single))
}

pub(super) fn pown<'m>(x: Real<'m>, n: Int<'m>) -> Real<'m> {
    through_double(x, |x, single| power_of(x, &exponent(n.real(x)), single))
}

/// x^y of x at least 0: e^(y log(x)), and undefined where that is.
pub(super) fn powr<'m>(x: Real<'m>, y: Real<'m>) -> Real<'m> {
    through_double(x, |x, single| {
        let y = y.double();
        let r = power_of(x.abs(), &exponent(y), single);
        let zero = y.eq(0.0).and(x.eq(0.0).or(x.is_infinite()));
        let nan = x.lt(0.0).or(zero).or(x.eq(1.0).and(y.is_infinite())).or(x.is_nan()).or(y.is_nan());
        r.but(nan, f64::NAN)
    })
}

pub(super) fn rootn<'m>(x: Real<'m>, n: Int<'m>) -> Real<'m> {
    through_double(x, |x, single| {
        let (a, y) = (x.abs(), n.real(x));
        let l = log::pair(a, single);
        let high = l.high.over(y);
        let rest = high.fma(-y, l.high) + l.low;
        let r = of_pair(Pair { high, low: rest.over(y) }, single, 0);
        let rising = y.gt(0.0);
        let infinite = x.number(f64::INFINITY);
        let r = r.but(a.eq(0.0), infinite.but(rising, 0.0));
        let r = r.but(a.is_infinite(), x.number(0.0).but(rising, infinite));
        let odd = n.and(1).is(Cond::Ne, 0);
        let negative = x.high().is(Cond::Lt, 0);
        let r = r.but(negative.and(odd), -r);
        let nan = x.lt(0.0).and(odd.not()).or(y.eq(0.0)).or(x.is_nan());
        r.but(nan, f64::NAN)
    })
}
