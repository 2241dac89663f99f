//! The special function unit.
//!
//! No public source has the tables of this generation. Results are the exact functions, rounded to
//! nearest (but for arguments of which a double lies within 2^-50 of the middle of two floats), which lies inside
//! the documented bounds (CUDA C programming guide, intrinsics:
//! reciprocal and reciprocal root 1 ulp, EX2 and LG2 2 ulp or 2^-22, SIN and COS 2^-20.9 absolute
//! in -pi..pi). Subnormal operands count as zeros and subnormal results become zeros. RRO's
//! fixed-point result is modelled as the operand itself, so that the reduction is exact.
//!
//! What is computed are sums and products of doubles without branches: the compiler makes vector code of it for rows of values,
//! and it is the same on all hosts.

use super::float::{NAN32, ftz32};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, LN_2, LOG2_E};

/// A function of MUFU on 32-bit floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Func {
    Cos,
    Sin,
    Ex2,
    Lg2,
    Rcp,
    Rsq,
}

/// MUFU of 32 bits.
#[inline(always)]
pub fn mufu(func: Func, a: u32) -> u32 {
    let x = f32::from_bits(ftz32(a));
    let y = match func {
        Func::Cos if !is_near(a) => f64::from(x).cos() as f32,
        Func::Sin if !is_near(a) => f64::from(x).sin() as f32,
        Func::Cos => return wave::<1>(a),
        Func::Sin => return wave::<0>(a),
        Func::Ex2 => exp2(x.into()) as f32,
        Func::Lg2 => log2(x.into()) as f32,
        // A quotient of floats rounds to the same float by way of a double.
        Func::Rcp => 1.0 / x,
        Func::Rsq => (1.0 / f64::from(x).sqrt()) as f32,
    };
    result(y)
}

#[inline(always)]
fn result(y: f32) -> u32 {
    if y.is_nan() { NAN32 } else { ftz32(y.to_bits()) }
}

/// Whether [`wave`] is for a float: it is below 2^20.
#[inline(always)]
pub fn is_near(a: u32) -> bool {
    const LIMIT: f32 = (1 << 20) as f32;
    f32::from_bits(a).abs() < LIMIT
}

/// `a` where `truth` is all ones, `b` where it is all zeros: the compiler is not to make a branch of it.
#[inline(always)]
fn pick(truth: bool, a: f64, b: f64) -> f64 {
    let mask = 0u64.wrapping_sub(truth.into());
    f64::from_bits(a.to_bits() & mask | b.to_bits() & !mask)
}

/// A sum by powers of `x`, from that of the highest power down.
#[inline(always)]
fn series<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    coefficients[..N - 1].iter().rev().fold(coefficients[N - 1], |sum, c| sum * x + c)
}

/// What makes doubles whole numbers if it is added, and has their low bits then.
const WHOLE: f64 = 1.5 * (1u64 << 52) as f64;

/// Bits of a double's fraction.
const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;

/// Taylor's coefficients of 2^x.
const EXP2: [f64; 14] = [
    1.0,
    LN_2,
    0.24022650695910072,
    0.05550410866482158,
    0.009618129107628477,
    0.0013333558146428443,
    0.0001540353039338161,
    1.5252733804059841e-05,
    1.321548679014431e-06,
    1.01780860092397e-07,
    7.054911620801123e-09,
    4.4455382718708116e-10,
    2.5678435993488206e-11,
    1.3691488853904128e-12,
];

#[inline(always)]
fn exp2(x: f64) -> f64 {
    // What is further away is infinite or zero as a float.
    const FAR: f64 = 200.0;
    let x = pick(x < -FAR, -FAR, x);
    let x = pick(x > FAR, FAR, x);
    let nearest = x + WHOLE;
    let power = series(x - (nearest - WHOLE), &EXP2);
    f64::from_bits(power.to_bits().wrapping_add(nearest.to_bits() << FRACTION))
}

/// Coefficients of log2((1 + s) / (1 - s)) / s by powers of s^2.
const LOG2: [f64; 11] = {
    let mut all = [0.0; 11];
    let mut k = 0;
    while k < all.len() {
        all[k] = 2.0 * LOG2_E / (2 * k + 1) as f64;
        k += 1;
    }
    all
};

#[inline(always)]
fn log2(x: f64) -> f64 {
    const EXPONENTS: u64 = u64::MAX << FRACTION;
    /// One more than the exponent of one, so that exponents of floats stay positive.
    const BIAS: u64 = 1024;
    const LARGE: f64 = (1u64 << FRACTION) as f64;
    // x is 2^e m, m between the roots of 1/2 and 2.
    let above = x.to_bits().wrapping_sub(FRAC_1_SQRT_2.to_bits().wrapping_sub(BIAS << FRACTION));
    let m = f64::from_bits(x.to_bits().wrapping_sub(above & EXPONENTS).wrapping_add(BIAS << FRACTION));
    let e = f64::from_bits((above >> FRACTION) + LARGE.to_bits()) - (LARGE + BIAS as f64);
    let s = (m - 1.0) / (m + 1.0);
    let y = e + s * series(s * s, &LOG2);
    let y = pick(x == f64::INFINITY, f64::INFINITY, y);
    let other = pick(x == 0.0, f64::NEG_INFINITY, f64::NAN);
    pick(x > 0.0, y, other)
}

/// Parts of a quarter of a turn: products of the first two with integers below 2^20 are exact.
const QUARTER: [f64; 3] = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21];

/// Taylor's coefficients by powers of x^2: of sin(x) / x, and of cos(x).
const SIN: [f64; 8] = taylor(1);
const COS: [f64; 9] = taylor(0);

const fn taylor<const N: usize>(first: usize) -> [f64; N] {
    let mut all = [1.0; N];
    let (mut k, mut factorial) = (1, 1.0);
    while k < N {
        factorial *= -(((2 * k + first - 1) * (2 * k + first)) as f64);
        all[k] = 1.0 / factorial;
        k += 1;
    }
    all
}

/// MUFU.SIN (0) or MUFU.COS (1) of what is [near](is_near): the sine of so many quarters of a turn more.
#[inline(always)]
pub fn wave<const QUARTERS: u64>(a: u32) -> u32 {
    let x = f64::from(f32::from_bits(ftz32(a)));
    let nearest = x * FRAC_2_PI + WHOLE;
    let n = nearest - WHOLE;
    let rest = QUARTER.iter().fold(x, |rest, part| rest - n * part);
    let square = rest * rest;
    let (sin, cos) = (rest * series(square, &SIN), series(square, &COS));
    let quadrant = nearest.to_bits().wrapping_add(QUARTERS);
    // In odd quarters it is the other function; the third and fourth have its sign.
    let y = pick(quadrant & 1 != 0, cos, sin);
    let sign = (quadrant & 2) << (u64::BITS - 2);
    result(f64::from_bits(y.to_bits() ^ sign) as f32)
}

/// MUFU.RCP64H: the high word of an approximate reciprocal of the double with high word `a` and low
/// word 0.
#[inline]
pub fn rcp64h(a: u32) -> u32 {
    high_word(1.0 / high_double(a))
}

/// MUFU.RSQ64H.
#[inline]
pub fn rsq64h(a: u32) -> u32 {
    let x = high_double(a);
    high_word(if x == 0.0 { f64::INFINITY.copysign(x) } else { 1.0 / x.sqrt() })
}

#[inline]
fn high_double(a: u32) -> f64 {
    // Subnormal operands count as zeros.
    let a = if a & 0x7ff0_0000 == 0 { a & 0x8000_0000 } else { a };
    f64::from_bits(u64::from(a) << 32)
}

#[inline]
fn high_word(y: f64) -> u32 {
    let high = (y.to_bits() >> 32) as u32;
    if y.is_nan() {
        0x7fff_ffff
    } else if high & 0x7ff0_0000 == 0 {
        high & 0x8000_0000
    } else {
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values_follow_the_ptx_manual() {
        let b = f32::to_bits;
        assert_eq!(mufu(Func::Rcp, b(0.0)), b(f32::INFINITY));
        assert_eq!(mufu(Func::Rcp, b(-0.0)), b(f32::NEG_INFINITY));
        assert_eq!(mufu(Func::Rcp, b(f32::INFINITY)), 0);
        assert_eq!(mufu(Func::Rsq, b(-0.0)), b(f32::NEG_INFINITY));
        assert_eq!(mufu(Func::Rsq, b(-1.0)), NAN32);
        assert_eq!(mufu(Func::Lg2, b(0.0)), b(f32::NEG_INFINITY));
        assert_eq!(mufu(Func::Ex2, b(f32::NEG_INFINITY)), 0);
        assert_eq!(mufu(Func::Ex2, b(3.0)), b(8.0));
        assert_eq!(mufu(Func::Sin, b(f32::INFINITY)), NAN32);
        assert_eq!(mufu(Func::Lg2, b(f32::INFINITY)), b(f32::INFINITY));
        assert_eq!(mufu(Func::Lg2, b(-1.0)), NAN32);
        assert_eq!(mufu(Func::Lg2, b(f32::NAN)), NAN32);
        assert_eq!(mufu(Func::Ex2, b(f32::NAN)), NAN32);
        assert_eq!(mufu(Func::Ex2, b(f32::INFINITY)), b(f32::INFINITY));
        assert_eq!(mufu(Func::Sin, b(-0.0)), b(-0.0));
        assert_eq!(mufu(Func::Cos, b(-0.0)), b(1.0));
        assert_eq!(rcp64h(0x4000_0000), 0x3fe0_0000);
        assert_eq!(rsq64h(0x4010_0000), 0x3fe0_0000);
        assert_eq!(rcp64h(0), 0x7ff0_0000);
    }

    /// What the host's library says, rounded to a float.
    fn reference(func: Func, bits: u32) -> u32 {
        let x = f64::from(f32::from_bits(ftz32(bits)));
        let y = match func {
            Func::Cos => x.cos(),
            Func::Sin => x.sin(),
            Func::Ex2 => x.exp2(),
            Func::Lg2 => x.log2(),
            Func::Rcp => 1.0 / x,
            Func::Rsq => 1.0 / x.sqrt(),
        } as f32;
        if y.is_nan() { NAN32 } else { ftz32(y.to_bits()) }
    }

    /// Arguments of which `func` is not what the library gives, among those that `step` leads to.
    fn differences(func: Func, step: usize) -> Vec<u32> {
        (0..=u32::MAX).step_by(step).filter(|&bits| mufu(func, bits) != reference(func, bits)).collect()
    }

    const ALL: [Func; 6] = [Func::Cos, Func::Sin, Func::Ex2, Func::Lg2, Func::Rcp, Func::Rsq];

    #[test]
    fn functions_are_those_of_the_hosts_library_rounded_to_floats() {
        for func in ALL {
            assert_eq!(differences(func, 9973), [], "{func:?}");
        }
    }
}
