//! Functions of the circle, and their inverses.
//!
//! An argument is the nearest multiple of pi / 2 and a rest. Of small arguments pi / 2 in three parts is taken off; of large ones
//! the product with 2 / pi is made in integers, of which only the bits around the point are computed (M. Payne, R. Hanek,
//! "Radian reduction for trigonometric functions", 1983).

use super::exp::{product, sum};
use super::real::{Int, Real, Truth};
use crate::ir::Cond;
use std::f64::consts::{FRAC_1_PI, FRAC_2_PI, FRAC_PI_2, PI};

/// sin(r) = r + r^3 S(r^2), cos(r) = 1 - r^2 / 2 + r^4 C(r^2) for |r| <= pi / 4.
const S: &[f64] = &[
    -0.16666666666666666,
    0.008333333333333331,
    -0.0001984126984126504,
    2.7557319219320575e-06,
    -2.5052106225992787e-08,
    1.6058530596390244e-10,
    -7.586636867766497e-13,
];
const S_SINGLE: &[f64] = &[-0.16666664656310706, 0.008332747104372895, -0.000195876390357926];
const C: &[f64] = &[
    0.041666666666666664,
    -0.0013888888888888887,
    2.4801587301584632e-05,
    -2.755731922139249e-07,
    2.0876755787491707e-09,
    -1.1470460319067341e-11,
    4.7458384041586735e-14,
];
const C_SINGLE: &[f64] = &[0.04166666465348729, -0.0013888301867270142, 2.4547689709382208e-05];

/// pi / 2 in three parts.
const HALF_PI: [f64; 3] = [FRAC_PI_2, 6.123233995736766e-17, -1.497384905065873e-33];
const HALF_PI_SINGLE: [f64; 3] = [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15];

/// Bits of 2 / pi behind the point, the first word the highest.
const TWO_OVER_PI: [u32; 40] = [
    0xa2f9_836e,
    0x4e44_1529,
    0xfc27_57d1,
    0xf534_ddc0,
    0xdb62_9599,
    0x3c43_9041,
    0xfe51_63ab,
    0xdebb_c561,
    0xb724_6e3a,
    0x424d_d2e0,
    0x0649_2eea,
    0x09d1_921c,
    0xfe1d_eb1c,
    0xb129_a73e,
    0xe882_35f5,
    0x2ebb_4484,
    0xe99c_7026,
    0xb45f_7e41,
    0x3991_d639,
    0x8353_39f4,
    0x9c84_5f8b,
    0xbdf9_283b,
    0x1ff8_97ff,
    0xde05_980f,
    0xef2f_118b,
    0x5a0a_6d1f,
    0x6d36_7ecf,
    0x27cb_09b7,
    0x4f46_3f66,
    0x9e5f_ea2d,
    0x7527_bac7,
    0xebe5_f17b,
    0x3d07_39f7,
    0x8a52_92ea,
    0x6bfb_5fb1,
    0x1f8d_5d08,
    0x5603_3046,
    0xfc7b_6bab,
    0xf0cf_bc20,
    0x9af4_361d,
];

/// A rest of at most pi / 4, and the number of quarters of a turn.
struct Reduced<'m> {
    r: Real<'m>,
    low: Option<Real<'m>>,
    n: Int<'m>,
}

/// An argument without multiples of pi / 2.
fn reduce(x: Real<'_>) -> Reduced<'_> {
    let near = x.by_width(1e6, 1e5);
    let n = (x * FRAC_2_PI).rint();
    let parts = x.by_width(HALF_PI, HALF_PI_SINGLE);
    let (r, low) = if x.is_double() {
        let t = n.fma(-parts[0], x);
        let p = product(n, x.number(parts[1]));
        let s = sum(t, -p.high);
        (s.high, n.fma(-parts[2], s.low - p.low))
    } else {
        let r = parts.iter().fold(x, |r, &part| n.fma(-part, r));
        (r, x.number(0.0))
    };
    let number = n.to_int();
    let far = x.abs().lt(near).not();
    // The integer goes the same way, as the bits of a float.
    let [r, low, number] = Real::unless(far, [r, low, number.as_single()], || {
        let (r, low, n) = reduce_far(x);
        [r, low, n.as_single()]
    });
    let low = x.is_double().then_some(low);
    Reduced { r, low, n: number.high() }
}

/// Words of a table from a number on, which has so many bits.
fn window<'m>(table: &[u32], number: Int<'m>, bits: u32, count: usize) -> Vec<Int<'m>> {
    let mut words: Vec<Int<'m>> = table.iter().map(|&w| number.number(w)).collect();
    words.resize((1 << bits) + count, number.number(0));
    // By each bit of the number, the words that are so many further on.
    for step in (0..bits).rev().map(|bit| 1usize << bit) {
        let set = number.and(step as u32).is(Cond::Ne, 0);
        words = (0..step + count - 1).map(|i| words[i].but(set, words[i + step])).collect();
    }
    words
}

/// Adds a word into an array of words, the first the lowest; carries beyond the last are lost.
fn add_at<'m>(words: &mut [Int<'m>], at: usize, w: Int<'m>) {
    let mut carry = w;
    for word in words.iter_mut().skip(at) {
        let sum = *word + carry;
        carry = word.number(0).but(sum.below(carry), word.number(1));
        *word = sum;
    }
}

/// The same of large arguments.
fn reduce_far(x: Real<'_>) -> (Real<'_>, Real<'_>, Int<'_>) {
    let high = x.high();
    let int = |n: u32| high.number(n);
    // x = significand * 2^exponent
    let (field, bias) = x.by_width((20, 1023 + 52), (23, 127 + 23));
    let magnitude = high.and(0x7fff_ffff);
    let exponent = magnitude.shr(int(field)) - int(bias);
    let top = magnitude.and((1 << field) - 1).or(int(1 << field));
    let factor = if x.is_double() { vec![x.low(), top] } else { vec![top] };
    // Bits of 2 / pi that make multiples of 4 when the significand is multiplied are left out: the window begins at the bit
    // number `exponent - 2` behind the point. It may begin before the point, so there are words of zeros in front.
    let (zeros, bits, kept) = x.by_width((2, 6, 6usize), (1, 3, 3));
    let mut table = vec![0; zeros];
    table.extend(TWO_OVER_PI);
    let from = exponent + int(32 * zeros as u32 - 2);
    let words = window(&table, from.shr(int(5)), bits, kept + 1);
    let shift = from.and(31);
    let back = int(32) - shift;
    let aligned = (0..kept).map(|i| words[i].shl(shift).or(words[i + 1].shr(back)));
    let aligned: Vec<Int<'_>> = aligned.collect();
    // The product, its lowest word first; of the window the first is the highest.
    let mut product_words = vec![int(0); kept];
    for (i, &w) in aligned.iter().rev().enumerate() {
        for (j, &f) in factor.iter().enumerate() {
            let (low, upper) = w.product(f);
            add_at(&mut product_words, i + j, low);
            add_at(&mut product_words, i + j + 1, upper);
        }
    }
    // Two bits of quarters, and the fraction of one, whose sign says that the next quarter is nearer.
    product_words.reverse();
    let quarter = product_words[0].shr(int(30));
    let fraction: Vec<Int<'_>> =
        product_words.windows(2).map(|w| w[0].shl(int(2)).or(w[1].shr(int(30)))).collect();
    let n = quarter - fraction[0].sign();
    let (r, low) = if x.is_double() {
        // Each word is exact, and the first two may cancel.
        let part = |n: usize| fraction[n].wide_real(int(0)) * f64::powi(2.0, -32 * (n as i32 + 1));
        let first = fraction[0].real(x) * f64::powi(2.0, -32);
        let s = sum(first, part(1));
        let rest = s.low + (part(2) + part(3));
        let t = product(s.high, x.number(HALF_PI[0]));
        let low = s.high.fma(HALF_PI[1], rest.fma(HALF_PI[0], t.low));
        let r = t.high + low;
        (r, low - (r - t.high))
    } else {
        let fraction = fraction[1].wide_real(fraction[0]) * f64::powi(2.0, -64);
        ((fraction * FRAC_PI_2).single(), x.number(0.0))
    };
    // Of a negative argument, all the other way round.
    let minus = high.is(Cond::Lt, 0);
    let n = n.but(minus, int(0) - n);
    let (r, low) = (r.but(minus, -r), low.but(minus, -low));
    let none = x.is_infinite().or(x.is_nan());
    (r.but(none, f64::NAN), low, n)
}

/// Sine and cosine of a rest.
fn both<'m>(q: &Reduced<'m>) -> (Real<'m>, Real<'m>) {
    let r = q.r;
    let z = r * r;
    let (s, c) = (r.by_width(S, S_SINGLE), r.by_width(C, C_SINGLE));
    let s = z.poly(s);
    let half = z * 0.5;
    let one = r.number(1.0);
    let w = one - half;
    let c = z * z.poly(c);
    let rest = z.fma(c, (one - w) - half);
    match q.low {
        None => ((r * z).fma(s, r), w + rest),
        // sin(r + low) = sin(r) + low cos(r), cos(r + low) = cos(r) - low sin(r)
        Some(low) => (r + (r * z).fma(s, low.fma(-half, low)), w + (rest - r * low)),
    }
}

/// The sine, n quarters of a turn further.
fn turned<'m>(q: &Reduced<'m>, quarters: u32) -> Real<'m> {
    let (s, c) = both(q);
    let n = q.n + q.n.number(quarters);
    let v = s.but(n.and(1).is(Cond::Ne, 0), c);
    v.but(n.and(2).is(Cond::Ne, 0), -v)
}

pub(super) fn sin(x: Real<'_>) -> Real<'_> {
    // Zero keeps its sign.
    turned(&reduce(x), 0).but(x.eq(0.0), x)
}

pub(super) fn cos(x: Real<'_>) -> Real<'_> {
    turned(&reduce(x), 1)
}

pub(super) fn sincos(x: Real<'_>) -> (Real<'_>, Real<'_>) {
    let q = reduce(x);
    (turned(&q, 0).but(x.eq(0.0), x), turned(&q, 1))
}

fn tangent<'m>(q: &Reduced<'m>) -> Real<'m> {
    let (s, c) = both(q);
    let odd = q.n.and(1).is(Cond::Ne, 0);
    s.but(odd, -c).over(c.but(odd, s))
}

pub(super) fn tan(x: Real<'_>) -> Real<'_> {
    tangent(&reduce(x)).but(x.eq(0.0), x)
}

/// An argument in half turns.
fn half_turns(x: Real<'_>) -> Reduced<'_> {
    // Whole turns come off exactly first, so that quarters are a small number.
    let x = x - (x * 0.5).rint() * 2.0;
    let n = (x + x).rint();
    let t = n.fma(-0.5, x);
    let p = product(t, x.number(PI));
    let rest = if x.is_double() {
        t.fma(1.2246467991473532e-16, p.low)
    } else {
        t.fma(-8.742277657347586e-08, p.low)
    };
    let low = x.is_double().then_some(rest);
    let r = if x.is_double() { p.high } else { p.high + rest };
    Reduced { r, low, n: n.to_int() }
}

pub(super) fn sinpi(x: Real<'_>) -> Real<'_> {
    let whole = x.floor().eq(x);
    let r = turned(&half_turns(x), 0);
    // Of whole numbers, zero with the sign of the argument.
    r.but(whole, x.number(0.0).signed_as(x)).but(x.is_infinite(), f64::NAN)
}

pub(super) fn cospi(x: Real<'_>) -> Real<'_> {
    let q = half_turns(x);
    let r = turned(&q, 1);
    // Of halves, zero.
    let twice = x + x;
    let half = twice.floor().eq(twice).and(x.floor().eq(x).not());
    r.but(half, 0.0).but(x.is_infinite(), f64::NAN)
}

pub(super) fn tanpi(x: Real<'_>) -> Real<'_> {
    let q = half_turns(x);
    let r = tangent(&q);
    // Zeros of even numbers have the argument's sign, of odd ones the other; poles likewise.
    let n = x - (x * 0.5).floor() * 2.0;
    let zero = x.number(0.0).signed_as(x);
    let r = r.but(n.eq(0.0), zero).but(n.eq(1.0), -zero);
    let pole = x.number(f64::INFINITY).signed_as(x);
    let r = r.but(n.eq(0.5), pole).but(n.eq(1.5), -pole);
    r.but(x.is_infinite(), f64::NAN)
}

/// atan(t) = t + t^3 A(t^2) for t from 0 to 1.
const A: &[f64] = &[
    -0.3333333333333333,
    0.1999999999999753,
    -0.14285714285384132,
    0.11111111093490827,
    -0.09090908590891934,
    0.07692298971033217,
    -0.06666564699289104,
    0.05881506877793656,
    -0.052579733342841106,
    0.04737749579527779,
    -0.04260356632601652,
    0.03749486812535247,
    -0.031277189066996385,
    0.023696731580048622,
    -0.015535152475414177,
    0.008368931178450162,
    -0.0034958859739163094,
    0.0010496035084968515,
    -0.00019996189377901382,
    1.806195461861215e-05,
];
const A_SINGLE: &[f64] = &[
    -0.33333323100516077,
    0.1999868117224476,
    -0.1425704492587806,
    0.10865759084376636,
    -0.0800968171696076,
    0.04891432153762489,
    -0.020026747641797547,
    0.003866738913916773,
];

/// The angle of which t is the tangent, from 0 to 1; `over`: its complement.
fn angle<'m>(t: Real<'m>, over: Truth<'m>) -> Real<'m> {
    let z = t * t;
    let a = (t * z).fma(z.poly(t.by_width(A, A_SINGLE)), t);
    let [high, low] = parts(t);
    let complement = t.number(high) - (a - low);
    a.but(over, complement)
}

/// The first two parts of pi / 2.
fn parts(like: Real<'_>) -> [f64; 2] {
    let p = like.by_width(HALF_PI, HALF_PI_SINGLE);
    [p[0], p[1]]
}

pub(super) fn atan(x: Real<'_>) -> Real<'_> {
    let a = x.abs();
    let over = a.gt(1.0);
    let t = a.but(over, a.number(1.0).over(a));
    angle(t, over).signed_as(x).but(x.is_nan(), x)
}

pub(super) fn atan2<'m>(y: Real<'m>, x: Real<'m>) -> Real<'m> {
    let (a, b) = (y.abs(), x.abs());
    let over = a.gt(b);
    let t = a.min(b).over(a.max(b));
    // 0 / 0 and infinity / infinity.
    let t = t.but(a.eq(0.0).and(b.eq(0.0)), 0.0);
    let t = t.but(a.is_infinite().and(b.is_infinite()), 1.0);
    let r = angle(t, over);
    let [high, low] = parts(x);
    let other = x.number(2.0 * high) - (r - 2.0 * low);
    let r = r.but(x.high().is(Cond::Lt, 0), other).signed_as(y);
    r.but(x.is_nan().or(y.is_nan()), f64::NAN)
}

/// asin(t) = t + t^3 N(t^2) for t from 0 to 1/2.
const SINE: &[f64] = &[
    0.16666666666666669,
    0.07499999999998433,
    0.04464285714635543,
    0.030381944138531247,
    0.02237217294214989,
    0.017352392720869973,
    0.013971212973552933,
    0.011479177415184906,
    0.01032281435018578,
    0.005457506718640358,
    0.01740087944269402,
    -0.014851887071247204,
    0.028757851367421566,
];
const SINE_SINGLE: &[f64] = &[
    0.16666672414795305,
    0.07498855072600821,
    0.04500138006991017,
    0.026554542206161328,
    0.038085023561092654,
];

/// For |x|: whether it is above 1/2, and asin of it, or of sqrt((1 - |x|) / 2) if so.
fn arc(x: Real<'_>) -> (Truth<'_>, Real<'_>) {
    let a = x.abs();
    let large = a.gt(0.5);
    let half = (x.number(1.0) - a) * 0.5;
    let root = half.sqrt();
    let t = a.but(large, root);
    let z = (a * a).but(large, half);
    (large, (t * z).fma(z.poly(x.by_width(SINE, SINE_SINGLE)), t))
}

pub(super) fn asin(x: Real<'_>) -> Real<'_> {
    let (large, r) = arc(x);
    let [high, low] = parts(x);
    let r = r.but(large, x.number(high) - (r + r - low)).signed_as(x);
    r.but(x.abs().gt(1.0), f64::NAN).but(x.is_nan(), x)
}

pub(super) fn acos(x: Real<'_>) -> Real<'_> {
    let (large, r) = arc(x);
    let [high, low] = parts(x);
    let small = x.number(high) - (r.signed_as(x) - low);
    let twice = r + r;
    let negative = x.number(2.0 * high) - (twice - 2.0 * low);
    let r = small.but(large, twice.but(x.lt(0.0), negative));
    r.but(x.abs().gt(1.0), f64::NAN).but(x.is_nan(), x)
}

/// An angle in half turns.
pub(super) fn in_half_turns(r: Real<'_>) -> Real<'_> {
    r * FRAC_1_PI
}
