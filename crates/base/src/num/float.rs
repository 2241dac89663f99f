//! IEEE addition, multiplication and fused multiply-add with any rounding, minimum, maximum and
//! comparison.
//!
//! A 32-bit operation that makes a NaN gives 0x7fffffff; a 64-bit one keeps the payload of a NaN
//! operand (quieted) and otherwise gives 0xfff8000000000000. Source: `CUDART_NAN_F`, `CUDART_NAN`;
//! PTX ISA, "NaN payloads".

use super::Round;
use super::soft::{Class, F32, F64, Format, Num, unpack};

/// The NaN of 32-bit operations.
pub const NAN32: u32 = 0x7fff_ffff;

/// The NaN of 64-bit operations without a NaN operand.
pub(crate) const NAN64: u64 = 0xfff8_0000_0000_0000;

/// Subnormals become zeros of the same sign.
#[inline]
pub const fn ftz32(a: u32) -> u32 {
    if a & 0x7f80_0000 == 0 { a & 0x8000_0000 } else { a }
}

/// `.SAT`: clamped to 0..=1, NaN gives 0.
#[inline]
pub fn sat32(a: u32) -> u32 {
    let f = f32::from_bits(a);
    if f >= 1.0 {
        0x3f80_0000
    } else if f > 0.0 {
        a
    } else {
        0
    }
}

/// Every NaN becomes the machine's.
#[inline]
pub fn canon32(f: f32) -> u32 {
    if f.is_nan() { NAN32 } else { f.to_bits() }
}

fn nan64(operands: &[u64]) -> u64 {
    operands.iter().find(|&&x| F64.is_nan(x)).map_or(NAN64, |&x| x | 1 << 51)
}

/// `a * b + c` of a format, `None` for a NaN result.
fn fma_soft(f: Format, a: u64, b: u64, c: u64, scale: i32, round: Round) -> Option<u64> {
    let inf = |neg| Some(f.inf() | if neg { f.sign_bit() } else { 0 });
    let product: Option<Num> = match (unpack(f, a), unpack(f, b)) {
        (Class::Nan, _) | (_, Class::Nan) => return None,
        (Class::Inf(x), Class::Inf(y)) => {
            return match unpack(f, c) {
                Class::Nan => None,
                Class::Inf(z) if z != (x != y) => None,
                _ => inf(x != y),
            };
        }
        (Class::Inf(x), Class::Num(n)) | (Class::Num(n), Class::Inf(x)) => {
            if n.man == 0 {
                return None;
            }
            return match unpack(f, c) {
                Class::Nan => None,
                Class::Inf(z) if z != (x != n.neg) => None,
                _ => inf(x != n.neg),
            };
        }
        (Class::Num(x), Class::Num(y)) => Some(x.times(y).scale(scale)),
    };
    match (product, unpack(f, c)) {
        (_, Class::Nan) | (None, _) => None,
        (_, Class::Inf(z)) => inf(z),
        (Some(p), Class::Num(z)) => Some(p.add(z, round).pack(f, round)),
    }
}

/// `a * b` with the product scaled by `2^scale`, of a format; `None` for a NaN result.
fn mul_soft(f: Format, a: u64, b: u64, scale: i32, round: Round) -> Option<u64> {
    match (unpack(f, a), unpack(f, b)) {
        (Class::Num(x), Class::Num(y)) => Some(x.times(y).scale(scale).pack(f, round)),
        _ => {
            // An addend of the product's own sign changes no infinity and no NaN.
            let zero = (a ^ b) & f.sign_bit();
            fma_soft(f, a, b, zero, 0, round)
        }
    }
}

/// FADD.
#[inline]
pub fn add32(a: u32, b: u32, round: Round) -> u32 {
    if round == Round::Rn {
        return canon32(f32::from_bits(a) + f32::from_bits(b));
    }
    fma_soft(F32, a.into(), 0x3f80_0000, b.into(), 0, round).map_or(NAN32, |x| x as u32)
}

/// FMUL; the product is multiplied by `2^scale` before it is rounded (`.D2` is -1, `.M8` is 3).
#[inline]
pub fn mul32(a: u32, b: u32, scale: i32, round: Round) -> u32 {
    if round == Round::Rn && scale == 0 {
        return canon32(f32::from_bits(a) * f32::from_bits(b));
    }
    mul_soft(F32, a.into(), b.into(), scale, round).map_or(NAN32, |x| x as u32)
}

/// FFMA: one rounding.
#[inline]
pub fn fma32(a: u32, b: u32, c: u32, round: Round) -> u32 {
    if round == Round::Rn {
        // The product is exact in 64 bits. The sum is not: rounding it twice is wrong only if the
        // first rounding lands on a tie of the second, or below the normal range.
        let p = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
        let s = p + f64::from(f32::from_bits(c));
        if !double_rounding(s) {
            return canon32(s as f32);
        }
    }
    fma_soft(F32, a.into(), b.into(), c.into(), 0, round).map_or(NAN32, |x| x as u32)
}

/// Whether rounding this 64-bit sum to 32 bits may differ from rounding the exact sum.
#[inline]
pub fn double_rounding(s: f64) -> bool {
    let bits = s.to_bits();
    let tie = bits as u32 & 0x1fff_ffff == 0x1000_0000;
    let small = s.abs() < 1.2e-38 && s != 0.0;
    tie || small
}

/// DADD.
#[inline]
pub fn add64(a: u64, b: u64, round: Round) -> u64 {
    if round == Round::Rn {
        let s = f64::from_bits(a) + f64::from_bits(b);
        return if s.is_nan() { nan64(&[a, b]) } else { s.to_bits() };
    }
    fma_soft(F64, a, 1f64.to_bits(), b, 0, round).unwrap_or_else(|| nan64(&[a, b]))
}

/// DMUL.
#[inline]
pub fn mul64(a: u64, b: u64, round: Round) -> u64 {
    if round == Round::Rn {
        let s = f64::from_bits(a) * f64::from_bits(b);
        return if s.is_nan() { nan64(&[a, b]) } else { s.to_bits() };
    }
    mul_soft(F64, a, b, 0, round).unwrap_or_else(|| nan64(&[a, b]))
}

/// DFMA.
#[inline]
pub fn fma64(a: u64, b: u64, c: u64, round: Round) -> u64 {
    if round == Round::Rn {
        let s = f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c));
        return if s.is_nan() { nan64(&[a, b, c]) } else { s.to_bits() };
    }
    fma_soft(F64, a, b, c, 0, round).unwrap_or_else(|| nan64(&[a, b, c]))
}

/// FMNMX: a NaN gives way to a number; -0 is less than +0.
#[inline]
pub fn min32(a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => NAN32,
        (true, false) => b,
        (false, true) => a,
        _ if x == y => a | b,
        _ => {
            if x < y {
                a
            } else {
                b
            }
        }
    }
}

/// FMNMX, the greater.
#[inline]
pub fn max32(a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => NAN32,
        (true, false) => b,
        (false, true) => a,
        _ if x == y => a & b,
        _ => {
            if x > y {
                a
            } else {
                b
            }
        }
    }
}

/// DMNMX.
#[inline]
pub fn min64(a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => nan64(&[a, b]),
        (true, false) => b,
        (false, true) => a,
        _ if x == y => a | b,
        _ => {
            if x < y {
                a
            } else {
                b
            }
        }
    }
}

/// DMNMX, the greater.
#[inline]
pub fn max64(a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => nan64(&[a, b]),
        (true, false) => b,
        (false, true) => a,
        _ if x == y => a & b,
        _ => {
            if x > y {
                a
            } else {
                b
            }
        }
    }
}

/// A comparison as the hardware's four bits: less, equal, greater, unordered. The sixteen sets are
/// the tests F LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU T in this order.
pub type Test = u8;

/// Which of the four bits holds for a pair.
#[inline]
pub(crate) fn order64(x: f64, y: f64) -> Test {
    match x.partial_cmp(&y) {
        Some(std::cmp::Ordering::Less) => 1,
        Some(std::cmp::Ordering::Equal) => 2,
        Some(std::cmp::Ordering::Greater) => 4,
        None => 8,
    }
}

/// FSET, FSETP, FCMP.
#[inline]
pub fn test32(test: Test, a: u32, b: u32) -> bool {
    test & order64(f32::from_bits(a).into(), f32::from_bits(b).into()) != 0
}

/// DSET, DSETP.
#[inline]
pub fn test64(test: Test, a: u64, b: u64) -> bool {
    test & order64(f64::from_bits(a), f64::from_bits(b)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Vec<u32> {
        let mut random = crate::random::Random::new(0);
        (0..60_000)
            .map(|i| {
                let s = random.word();
                match i % 3 {
                    0 => s as u32,
                    1 => s as u32 & 0x807f_ffff | 0x3f80_0000,
                    _ => s as u32 & 0x83ff_f00f,
                }
            })
            .collect()
    }

    #[test]
    fn fused_multiply_add_rounds_once() {
        for w in stream().windows(3) {
            let [a, b, c] = [w[0], w[1], w[2]];
            let want = canon32(f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c)));
            assert_eq!(fma32(a, b, c, Round::Rn), want, "{a:08x} {b:08x} {c:08x}");
            let soft = fma_soft(F32, a.into(), b.into(), c.into(), 0, Round::Rn).map_or(NAN32, |x| x as u32);
            assert_eq!(soft, want);
            // A tie with the product just below it.
            let c2 = (f32::from_bits(a) * f32::from_bits(b) * 3e7).to_bits();
            let want = canon32(f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c2)));
            assert_eq!(fma32(a, b, c2, Round::Rn), want);
        }
    }

    #[test]
    fn directed_sums_are_one_step_apart_when_inexact() {
        for w in stream().windows(2) {
            let (a, b) = (w[0], w[1]);
            let exact = f64::from(f32::from_bits(a)) + f64::from(f32::from_bits(b));
            let (lo, hi) = (f32::from_bits(add32(a, b, Round::Rm)), f32::from_bits(add32(a, b, Round::Rp)));
            if exact.is_finite() {
                assert!(f64::from(lo) <= exact && exact <= f64::from(hi));
            }
        }
    }

    #[test]
    fn minimum_prefers_numbers_and_knows_signed_zeros() {
        let (nan, one) = (0x7fc0_0001, 1f32.to_bits());
        assert_eq!(min32(nan, one), one);
        assert_eq!(max32(one, nan), one);
        assert_eq!(min32(nan, nan), NAN32);
        assert_eq!(min32(0, 0x8000_0000), 0x8000_0000);
        assert_eq!(max32(0x8000_0000, 0), 0);
    }

    #[test]
    fn infinities_and_zeros_make_nans_where_ieee_says_so() {
        let inf = f32::INFINITY.to_bits();
        for round in [Round::Rn, Round::Rz, Round::Rm, Round::Rp] {
            assert_eq!(mul32(inf, 0, 0, round), NAN32);
            assert_eq!(add32(inf, inf ^ 0x8000_0000, round), NAN32);
            assert_eq!(fma32(inf, one(), 0, round), inf);
            assert_eq!(mul32(inf, one() | 0x8000_0000, 0, round), inf | 0x8000_0000);
        }
        fn one() -> u32 {
            1f32.to_bits()
        }
    }
}
