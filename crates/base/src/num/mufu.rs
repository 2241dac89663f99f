//! The special function unit.
//!
//! No public source has the tables of this generation. Results are the exact functions, rounded to
//! nearest, which lies inside the documented bounds (CUDA C programming guide, intrinsics:
//! reciprocal and reciprocal root 1 ulp, EX2 and LG2 2 ulp or 2^-22, SIN and COS 2^-20.9 absolute
//! in -pi..pi). Subnormal operands count as zeros and subnormal results become zeros. RRO's
//! fixed-point result is modelled as the operand itself, so that the reduction is exact.

use super::float::{NAN32, ftz32};

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
#[inline]
pub fn mufu(func: Func, a: u32) -> u32 {
    let x = f64::from(f32::from_bits(ftz32(a)));
    let y = match func {
        Func::Cos => x.cos(),
        Func::Sin => x.sin(),
        Func::Ex2 => x.exp2(),
        Func::Lg2 => x.log2(),
        Func::Rcp => 1.0 / x,
        Func::Rsq if x == 0.0 => f64::INFINITY.copysign(x),
        Func::Rsq => 1.0 / x.sqrt(),
    } as f32;
    if y.is_nan() { NAN32 } else { ftz32(y.to_bits()) }
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
        assert_eq!(rcp64h(0x4000_0000), 0x3fe0_0000);
        assert_eq!(rsq64h(0x4010_0000), 0x3fe0_0000);
        assert_eq!(rcp64h(0), 0x7ff0_0000);
    }
}
