//! Conversions between integers and floats of all widths.

use super::Round;
use super::float::{NAN32, NAN64, canon32, ftz32};
use super::soft::{Class, F16, F32, F64, Format, Num, unpack};

/// A float's width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Float {
    F16,
    F32,
    F64,
}

impl Float {
    #[inline]
    pub const fn format(self) -> Format {
        match self {
            Float::F16 => F16,
            Float::F32 => F32,
            Float::F64 => F64,
        }
    }

    /// The NaN that conversions make.
    #[inline]
    pub const fn nan(self) -> u64 {
        match self {
            Float::F16 => 0x7fff,
            Float::F32 => NAN32 as u64,
            Float::F64 => NAN64,
        }
    }
}

/// An integer's width and signedness.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Int {
    /// 8, 16, 32 or 64.
    pub bits: u32,
    pub signed: bool,
}

impl Int {
    #[inline]
    pub const fn new(bits: u32, signed: bool) -> Int {
        Int { bits, signed }
    }

    /// The value of the low bits of `raw`.
    #[inline]
    pub fn extend(self, raw: u64) -> i128 {
        let up = 128 - self.bits;
        let wide = u128::from(raw) << up;
        if self.signed { wide as i128 >> up } else { (wide >> up) as i128 }
    }

    #[inline]
    pub const fn min(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    #[inline]
    pub const fn max(self) -> i128 {
        (1 << (self.bits - self.signed as u32)) - 1
    }
}

/// F2I: rounded, then clamped to the integer's range. NaN gives 0 if neither type has 64 bits, else
/// the integer with only its highest bit. The result is extended to 64 bits by its sign. Source:
/// PTX ISA, `cvt`.
#[inline]
pub fn f2i(from: Float, a: u64, to: Int, round: Round, ftz: bool) -> u64 {
    if from == Float::F32 && to.bits < 64 {
        let f = f32::from_bits(if ftz { ftz32(a as u32) } else { a as u32 });
        // `as` clamps to 64 bits, and makes zero of a NaN.
        return (integral(f, round) as i64).clamp(to.min() as i64, to.max() as i64) as u64;
    }
    f2i_soft(from, a, to, round, ftz)
}

/// The nearest integer in a direction.
#[inline]
fn integral(f: f32, round: Round) -> f32 {
    match round {
        Round::Rn => f.round_ties_even(),
        Round::Rm => f.floor(),
        Round::Rp => f.ceil(),
        Round::Rz => f.trunc(),
    }
}

fn f2i_soft(from: Float, a: u64, to: Int, round: Round, ftz: bool) -> u64 {
    let f = from.format();
    let a = if ftz && from == Float::F32 { f.flush(a) } else { a };
    match unpack(f, a) {
        Class::Nan if from != Float::F64 && to.bits != 64 => 0,
        Class::Nan => to.extend(1 << (to.bits - 1)) as u64,
        Class::Inf(neg) => (if neg { to.min() } else { to.max() }) as u64,
        Class::Num(n) => {
            let magnitude = n.round_int(round).min(1 << 100) as i128;
            (if n.neg { -magnitude } else { magnitude }).clamp(to.min(), to.max()) as u64
        }
    }
}

/// I2F.
#[inline]
pub fn i2f(from: Int, a: u64, to: Float, round: Round) -> u64 {
    match (to, round, i64::try_from(from.extend(a))) {
        (Float::F32, Round::Rn, Ok(v)) => (v as f32).to_bits().into(),
        (Float::F64, Round::Rn, Ok(v)) => (v as f64).to_bits(),
        _ => i2f_soft(from, a, to, round),
    }
}

fn i2f_soft(from: Int, a: u64, to: Float, round: Round) -> u64 {
    let v = from.extend(a);
    Num::from_int(v < 0, v.unsigned_abs()).pack(to.format(), round)
}

/// I2I: the value of one type in another, cut or (`sat`) clamped, extended to 64 bits by the
/// target's sign.
#[inline]
pub fn i2i(from: Int, a: u64, to: Int, sat: bool) -> u64 {
    let v = from.extend(a);
    if sat { v.clamp(to.min(), to.max()) as u64 } else { to.extend(v as u64) as u64 }
}

/// F2F between widths.
#[inline]
pub fn f2f(from: Float, a: u64, to: Float, round: Round, ftz: bool) -> u64 {
    if from == Float::F32 && to == Float::F32 {
        let a = canon32(f32::from_bits(a as u32));
        return if ftz { ftz32(a) } else { a }.into();
    }
    f2f_soft(from, a, to, round, ftz)
}

fn f2f_soft(from: Float, a: u64, to: Float, round: Round, ftz: bool) -> u64 {
    let (f, t) = (from.format(), to.format());
    let a = if ftz && from == Float::F32 { f.flush(a) } else { a };
    let bits = match unpack(f, a) {
        Class::Nan => to.nan(),
        Class::Inf(neg) => t.inf() | if neg { t.sign_bit() } else { 0 },
        Class::Num(n) => n.pack(t, round),
    };
    if ftz && to == Float::F32 { t.flush(bits) } else { bits }
}

/// F2F from 16 to 32 bits, in a few operations of the host.
#[inline]
pub fn half_to_float(half: u32) -> u32 {
    let (sign, magnitude) = ((half & 0x8000) << 16, half & 0x7fff);
    if magnitude >= F16_INF {
        return if magnitude > F16_INF { NAN32 } else { sign | 0x7f80_0000 };
    }
    // The mantissa in its place and the exponent too small by the difference of the biases: exact, subnormals too.
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    sign | (f32::from_bits(magnitude << 13) * SCALE).to_bits()
}

/// F2F from 32 to 16 bits, rounded to the nearest ([`Round::Rn`]) or to zero.
#[inline]
pub fn float_to_half(float: u32, round: Round) -> u32 {
    let (sign, magnitude) = (float >> 16 & 0x8000, float & 0x7fff_ffff);
    let nearest = round == Round::Rn;
    let half = match magnitude {
        0x7f80_0001.. => return Float::F16.nan() as u32,
        0x7f80_0000 => F16_INF,
        // Half a unit above the largest half, and that itself.
        0x477f_f000.. if nearest => F16_INF,
        0x4780_0000.. => F16_INF - 1,
        // 2^-14, the least normal one.
        0x3880_0000.. => {
            let rebased = magnitude - (112 << 23);
            let up = if nearest { 0xfff + (rebased >> 13 & 1) } else { 0 };
            (rebased + up) >> 13
        }
        // The last bit of numbers from 0.5 on is that of subnormals: the addition rounds, ties to even.
        _ if nearest => (f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000,
        // 2^-24, the least subnormal one.
        0x3380_0000.. => (magnitude & 0x7f_ffff | 0x80_0000) >> (126 - (magnitude >> 23)),
        _ => 0,
    };
    sign | half
}

/// Infinity in 16 bits.
const F16_INF: u32 = 0x7c00;

/// F2F with a rounding to an integer (`.ROUND` is [`Round::Rn`], `.FLOOR`, `.CEIL`, `.TRUNC`);
/// keeps the sign of zero.
#[inline]
pub fn round_int(fmt: Float, a: u64, round: Round, ftz: bool) -> u64 {
    if fmt == Float::F32 {
        let a = if ftz { ftz32(a as u32) } else { a as u32 };
        return canon32(integral(f32::from_bits(a), round)).into();
    }
    round_int_soft(fmt, a, round, ftz)
}

fn round_int_soft(fmt: Float, a: u64, round: Round, ftz: bool) -> u64 {
    let f = fmt.format();
    let a = if ftz && fmt == Float::F32 { f.flush(a) } else { a };
    match unpack(f, a) {
        Class::Nan => fmt.nan(),
        Class::Num(n) if n.exp < 0 => Num::from_int(n.neg, n.round_int(round)).pack(f, Round::Rz),
        _ => a,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const I32: Int = Int::new(32, true);
    const U8: Int = Int::new(8, false);

    fn f32b(f: f32) -> u64 {
        f.to_bits().into()
    }

    #[test]
    fn halves_are_converted_as_f2f_does_it() {
        let slow = |v: u32, round| f2f(Float::F32, v.into(), Float::F16, round, false) as u32;
        let same = |v: u32| {
            for round in [Round::Rn, Round::Rz] {
                assert_eq!(float_to_half(v, round), slow(v, round), "{v:#x} {round:?}");
            }
        };
        for half in 0..=0xffff {
            let float = f2f(Float::F16, half.into(), Float::F32, Round::Rn, false) as u32;
            assert_eq!(half_to_float(half), float, "{half:#x}");
            // The float itself, what is beside it, and the middle to the next half with what is beside that.
            for v in [float, float + 1, float.wrapping_sub(1), float | 0xfff, float | 0x1000, float | 0x1001]
            {
                same(v);
            }
        }
        // All exponents with mantissas of few bits.
        for high in 0..=0x1ff {
            for bit in 0..23 {
                same(high << 23 | 1 << bit);
                same(high << 23 | (0x7f_ffff >> bit));
            }
        }
    }

    #[test]
    fn floats_become_integers_by_rounding_then_clamping() {
        assert_eq!(f2i(Float::F32, f32b(2.5), I32, Round::Rn, false), 2);
        assert_eq!(f2i(Float::F32, f32b(-2.5), I32, Round::Rm, false) as i64, -3);
        assert_eq!(f2i(Float::F32, f32b(-2.5), I32, Round::Rz, false) as i64, -2);
        assert_eq!(f2i(Float::F32, f32b(1e30), I32, Round::Rz, false), i32::MAX as u64);
        assert_eq!(f2i(Float::F32, f32b(-1.0), U8, Round::Rz, false), 0);
        assert_eq!(f2i(Float::F32, f32b(f32::NAN), I32, Round::Rz, false), 0);
        assert_eq!(
            f2i(Float::F64, 1e18f64.to_bits(), Int::new(64, true), Round::Rz, false),
            1_000_000_000_000_000_000
        );
        assert_eq!(f2i(Float::F32, 1, U8, Round::Rp, false), 1);
        assert_eq!(f2i(Float::F32, 1, U8, Round::Rp, true), 0);
        assert_eq!(f2i(Float::F64, f64::MAX.to_bits(), Int::new(64, false), Round::Rz, false), u64::MAX);
    }

    #[test]
    fn nan_is_zero_as_an_integer_only_where_neither_type_has_64_bits() {
        let nan = |from: Float, to: Int| f2i(from, from.nan(), to, Round::Rz, false);
        for from in [Float::F16, Float::F32] {
            for bits in [8, 16, 32] {
                assert_eq!([false, true].map(|signed| nan(from, Int::new(bits, signed))), [0, 0]);
            }
        }
        for (from, bits) in
            [(Float::F16, 64), (Float::F32, 64), (Float::F64, 64), (Float::F64, 32), (Float::F64, 16)]
        {
            let top = 1u64 << (bits - 1);
            assert_eq!(nan(from, Int::new(bits, false)), top);
            assert_eq!(nan(from, Int::new(bits, true)), top.wrapping_neg());
        }
    }

    #[test]
    fn integers_become_floats_with_every_rounding() {
        let odd = 0x0100_0001;
        assert_eq!(i2f(I32, odd, Float::F32, Round::Rn), f32b(16_777_216.0));
        assert_eq!(i2f(I32, odd, Float::F32, Round::Rp), f32b(16_777_218.0));
        assert_eq!(i2f(Int::new(64, false), u64::MAX, Float::F64, Round::Rn), 2f64.powi(64).to_bits());
        assert_eq!(i2f(Int::new(8, true), 0xff, Float::F16, Round::Rn), 0xbc00);
        assert_eq!(i2f(I32, 70000, Float::F16, Round::Rn), 0x7c00);
    }

    #[test]
    fn widths_of_floats_change_with_rounding_and_flushing() {
        assert_eq!(f2f(Float::F32, f32b(65520.0), Float::F16, Round::Rn, false), 0x7c00);
        assert_eq!(f2f(Float::F32, f32b(65520.0), Float::F16, Round::Rz, false), 0x7bff);
        assert_eq!(f2f(Float::F16, 1, Float::F32, Round::Rn, false), f32b(5.960_464_5e-8));
        assert_eq!(f2f(Float::F64, 1e-40f64.to_bits(), Float::F32, Round::Rn, true), 0);
        assert_eq!(round_int(Float::F32, f32b(-0.4), Round::Rn, false), f32b(-0.0));
        assert_eq!(round_int(Float::F32, f32b(2.5), Round::Rn, false), f32b(2.0));
        assert_eq!(round_int(Float::F64, 1e300f64.to_bits(), Round::Rm, false), 1e300f64.to_bits());
    }

    #[test]
    fn the_hosts_conversions_are_those_in_software() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 20
        };
        for n in 0..200_000u64 {
            let random = next();
            // Every exponent, few bits, ties; and the ends of integers.
            let near =
                (random as i32 % 9) as i64 + [0, 1 << 24, 1 << 31, 1 << 32, i64::MAX >> 1][n as usize % 5];
            let bits = match n % 4 {
                0 => random as u32,
                1 => random as u32 & 0xff80_0000 | (random >> 33) as u32 & 0xf,
                2 => (near as f32).to_bits() ^ (random as u32 & 3),
                _ => ((random as i32 >> (random >> 40 & 31)) as f32 / 2.0).to_bits(),
            };
            let a = u64::from(bits);
            for round in [Round::Rn, Round::Rm, Round::Rp, Round::Rz] {
                for ftz in [false, true] {
                    for (bits, signed) in [8, 16, 32].into_iter().flat_map(|b| [(b, false), (b, true)]) {
                        let to = Int::new(bits, signed);
                        let [x, y] = [f2i, f2i_soft].map(|f| f(Float::F32, a, to, round, ftz));
                        assert_eq!(x, y, "{a:#x} as {to:?}, {round:?}");
                    }
                    let [x, y] = [round_int, round_int_soft].map(|f| f(Float::F32, a, round, ftz));
                    assert_eq!(x, y, "{a:#x} as an integer, {round:?}");
                    let [x, y] = [f2f, f2f_soft].map(|f| f(Float::F32, a, Float::F32, round, ftz));
                    assert_eq!(x, y, "{a:#x} as itself");
                }
                for from in [8, 16, 32, 64].into_iter().flat_map(|b| [Int::new(b, false), Int::new(b, true)])
                {
                    for to in [Float::F16, Float::F32, Float::F64] {
                        for a in [near as u64, random << 20, a] {
                            assert_eq!(
                                i2f(from, a, to, round),
                                i2f_soft(from, a, to, round),
                                "{a:#x} {from:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn integers_are_cut_or_clamped() {
        assert_eq!(i2i(I32, 300, U8, true), 255);
        assert_eq!(i2i(I32, 300, U8, false), 44);
        assert_eq!(i2i(I32, 0xffff_ff80, Int::new(16, true), true) as i64, -128);
        assert_eq!(i2i(Int::new(32, false), 0xffff_ffff, I32, true), i32::MAX as u64);
    }
}
