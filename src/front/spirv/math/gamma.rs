//! The error functions and the gamma function.

use super::circle;
use super::exp::{Pair, of_pair, product, sum, through_double};
use super::log;
use super::real::{Int, Real};
use crate::ir::Cond;
use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// erf(x) = x E(x^2) for |x| <= 1.
const E: &[f64] = &[
    FRAC_2_SQRT_PI,
    -0.37612638903183754,
    0.1128379167095512,
    -0.02686617064512984,
    0.0052239776254232985,
    -0.000854832702193483,
    0.00012055332902888736,
    -1.4925647567519332e-05,
    1.6462045441468418e-06,
    -1.6364642158167616e-07,
    1.4792401209404813e-08,
    -1.216456005728345e-09,
    8.709045129053106e-11,
    -4.230945824295338e-12,
];

/// erfc(x) = exp(-x^2) Q(t) / (1 + 2 x) with t = (x - 4) / (x + 4), for x from 1/2 to 27.5 (M. Shepherd, J. Laframboise,
/// "Chebyshev approximation of (1 + 2x) exp(x^2) erfc(x)", 1981).
const Q: &[f64] = &[
    1.2329951186255526,
    -0.13962111684056253,
    0.015379652102619127,
    0.06809705425469505,
    -0.10103906603626016,
    0.09373283499827546,
    -0.0663303658134497,
    0.03716751553844642,
    -0.01619773404021866,
    0.005031969972671415,
    -0.00075777343482625,
    -0.00019925669365832713,
    0.0001506224355538403,
    -2.4399065923152382e-05,
    -1.122457422226363e-05,
    5.708855199403216e-06,
    2.9930534208115295e-07,
    -8.228929299321569e-07,
    6.724741028727314e-08,
    1.0597059762801646e-07,
    -1.2307439672359532e-08,
    -1.0584315800092537e-08,
];

/// erfc of a number from 1/2 on.
fn complement(x: Real<'_>, single: bool) -> Real<'_> {
    let x = x.max(0.5).min(27.5);
    let t = (x - 4.0).over(x + 4.0);
    let q = t.poly(Q).over(x + x + 1.0);
    let square = product(x, x);
    of_pair(Pair { high: -square.high, low: -square.low }, single, 0) * q
}

pub(super) fn erf(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        let a = x.abs();
        let near = a * (a * a).poly(E);
        let [r] = Real::unless(a.gt(1.0), [near], || [x.number(1.0) - complement(a, single)]);
        r.signed_as(x).but(x.is_nan(), x)
    })
}

pub(super) fn erfc(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        let a = x.abs();
        let near = x.number(1.0) - x * (x * x).poly(E);
        let [r] = Real::unless(a.gt(0.5), [near], || {
            let c = complement(a, single);
            let c = c.but(a.gt(27.3), 0.0);
            [c.but(x.lt(0.0), x.number(2.0) - c)]
        });
        r.but(x.is_nan(), x)
    })
}

/// Stirling's series, in 1 / x^2: what log(gamma(x)) is besides (x - 1/2) log(x) - x + log(2 pi) / 2, times x.
const STIRLING: &[f64] = &[
    0.08333333333333333,
    -0.002777777777777778,
    0.0007936507936507937,
    -0.0005952380952380953,
    0.0008417508417508417,
    -0.0019175269175269176,
    0.00641025641025641,
    -0.029550653594771242,
];
/// Where the series is exact enough.
const FROM: u32 = 10;
const HALF_LOG_2_PI: f64 = 0.9189385332046728;
const ROOT_2_PI: f64 = 2.5066282746310007;

/// gamma(x) = e^(exponent) * e^(series) * sqrt(2 pi) / product, for x above 0.
struct Parts<'m> {
    exponent: Pair<'m>,
    series: Real<'m>,
    product: Real<'m>,
}

fn gamma_parts(a: Real<'_>, single: bool) -> Parts<'_> {
    // Moved to where the series is exact, and divided by what that multiplied it with.
    let small = a.lt(f64::from(FROM));
    let mut y = a;
    let mut factors = a.number(1.0);
    let mut low = a.number(0.0);
    for _ in 0..FROM {
        let below = y.lt(f64::from(FROM));
        factors = factors.but(below, factors * (y + low));
        let next = sum(y, a.number(1.0));
        low = low.but(below, low + next.low);
        y = y.but(below, next.high);
    }
    let factors = factors.but(small.not(), 1.0);
    let r = a.number(1.0).over(y);
    let series = r * (r * r).poly(STIRLING);
    let l = log::pair(y, single);
    // (y - 1/2) (log(y) - 1) - 1/2, of y + low.
    let m = sum(y, a.number(-0.5));
    let m_low = m.low + low;
    let k = sum(l.high, a.number(-1.0));
    let t = product(m.high, k.high);
    let t_low = m.high.fma(k.low + l.low, m_low.fma(k.high, t.low));
    // What the shift's rest does to the logarithm.
    let t_low = low.fma(1.0, t_low) - low * 0.5 * r;
    let e = sum(t.high, a.number(-0.5));
    Parts { exponent: Pair { high: e.high, low: e.low + t_low }, series, product: factors }
}

pub(super) fn tgamma(x: Real<'_>) -> Real<'_> {
    through_double(x, |x, single| {
        // Beyond, the result overflows or is zero.
        let a = x.abs().min(200.0);
        let p = gamma_parts(a, single);
        let negative = x.lt(0.0);
        let (high, low) = (p.exponent.high, p.exponent.low + p.series);
        // gamma(-a) = -pi / (a sin(pi a) gamma(a))
        let (high, low) = (high.but(negative, -high), low.but(negative, -low));
        // In two factors, as one of them may overflow where the result does not.
        let half = of_pair(Pair { high: high * 0.5, low: low * 0.5 }, single, 0);
        let up = x.number(ROOT_2_PI).over(p.product);
        let sine = circle::sinpi(a);
        let down = (p.product * (-PI / ROOT_2_PI)).over(a * sine);
        let r = half * up.but(negative, down) * half;
        let r = r.but(x.lt(-190.0), 0.0).but(x.gt(180.0), f64::INFINITY);
        // Next to zero it is 1 / x.
        let r = r.but(a.lt(1e-17), x.number(1.0).over(x));
        let pole = negative.and(x.floor().eq(x));
        r.but(pole, f64::NAN).but(x.is_nan(), x)
    })
}

/// log |gamma(x)|, and the sign of gamma(x).
pub(super) fn lgamma(x: Real<'_>) -> (Real<'_>, Int<'_>) {
    let double = x.double();
    let single = !x.is_double();
    let a = double.abs();
    let huge = a.gt(1e300);
    let p = gamma_parts(a.but(huge, 1.0).but(a.lt(1e-17), 1.0), single);
    let positive = p.exponent.high + (p.exponent.low + (p.series + HALF_LOG_2_PI));
    let positive = positive - log::log(p.product);
    let positive = positive.but(a.lt(1e-17), -log::log(a));
    let positive = positive.but(a.eq(1.0).or(a.eq(2.0)), 0.0);
    let positive = positive.but(huge, f64::INFINITY);
    let sine = circle::sinpi(a);
    let reflected = log::log(double.number(PI).over((a * sine).abs())) - positive;
    let reflected = reflected.but(a.lt(1e-17), positive);
    let whole = double.floor().eq(double);
    let negative = double.lt(0.0);
    let r = positive.but(negative, reflected).but(negative.and(whole), f64::INFINITY);
    let r = r.but(a.is_infinite(), f64::INFINITY).but(double.is_nan(), double);
    let minus = negative.and(sine.high().is(Cond::Gt, 0)).and(whole.not());
    let minus_zero = double.eq(0.0).and(double.high().is(Cond::Lt, 0));
    let one = x.integer(1);
    let sign = one.but(minus.or(minus_zero), x.integer(-1)).but(negative.and(whole), x.integer(0));
    (if single { r.single() } else { r }, sign)
}
