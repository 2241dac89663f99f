//! Exact binary arithmetic on unpacked numbers, rounded once at the end.
//!
//! A [`Num`] is `(-1)^sign * man * 2^exp` with up to 127 significant bits. Where bits fall off, the
//! lowest bit is set ("jamming"): at least two bits below the result's last one are always exact,
//! so that the one rounding at the end sees on which side of a tie the exact value lies.

use super::Round;

/// A binary interchange format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Explicit mantissa bits.
    pub mant: u32,
    /// Exponent bits.
    pub exp: u32,
}

pub const F16: Format = Format { mant: 10, exp: 5 };
pub const F32: Format = Format { mant: 23, exp: 8 };
pub const F64: Format = Format { mant: 52, exp: 11 };

impl Format {
    #[inline]
    const fn bias(self) -> i32 {
        (1 << (self.exp - 1)) - 1
    }

    #[inline]
    const fn max_exp(self) -> u64 {
        (1 << self.exp) - 1
    }

    #[inline]
    const fn sign(self, bits: u64) -> bool {
        bits >> (self.mant + self.exp) & 1 != 0
    }

    /// Infinity without sign.
    #[inline]
    pub const fn inf(self) -> u64 {
        self.max_exp() << self.mant
    }

    #[inline]
    pub const fn sign_bit(self) -> u64 {
        1 << (self.mant + self.exp)
    }

    #[inline]
    pub const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign_bit() - 1) > self.inf()
    }

    /// Subnormal, not zero.
    #[inline]
    pub const fn is_subnormal(self, bits: u64) -> bool {
        bits & self.inf() == 0 && bits & ((1 << self.mant) - 1) != 0
    }

    /// Subnormals become zeros of the same sign.
    #[inline]
    pub const fn flush(self, bits: u64) -> u64 {
        if bits & self.inf() == 0 { bits & self.sign_bit() } else { bits }
    }
}

/// What a bit pattern stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Nan,
    Inf(bool),
    /// Finite, zero included.
    Num(Num),
}

/// `(-1)^neg * man * 2^exp`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Num {
    pub neg: bool,
    pub man: u128,
    pub exp: i32,
}

pub fn unpack(f: Format, bits: u64) -> Class {
    let neg = f.sign(bits);
    let exp = bits >> f.mant & f.max_exp();
    let man = bits & ((1 << f.mant) - 1);
    if exp == f.max_exp() {
        return if man == 0 { Class::Inf(neg) } else { Class::Nan };
    }
    let low = 1 - f.bias() - f.mant as i32;
    Class::Num(match exp {
        0 => Num { neg, man: man.into(), exp: low },
        e => Num { neg, man: (man | 1 << f.mant).into(), exp: low + e as i32 - 1 },
    })
}

/// Shifts right, keeping "something was lost" in the lowest bit.
fn jam(man: u128, by: u32) -> u128 {
    match by {
        0 => man,
        1..128 => man >> by | u128::from(man << (128 - by) != 0),
        _ => u128::from(man != 0),
    }
}

impl Num {
    /// An integer.
    pub fn from_int(neg: bool, magnitude: u128) -> Num {
        Num { neg, man: magnitude, exp: 0 }
    }

    /// The same value with its highest bit at bit 125, so that a carry still fits.
    fn normal(self) -> Num {
        let up = self.man.leading_zeros() as i32 - 2;
        let man = if up >= 0 { self.man << up } else { jam(self.man, up.unsigned_abs()) };
        Num { man, exp: self.exp - up, ..self }
    }

    /// The exact product; the operands have at most 64 significant bits.
    pub fn times(self, b: Num) -> Num {
        Num { neg: self.neg != b.neg, man: self.man * b.man, exp: self.exp + b.exp }
    }

    /// The sum, jammed. An exact zero is negative only if both operands are, or in [`Round::Rm`].
    pub fn add(self, b: Num, round: Round) -> Num {
        match (self.man, b.man) {
            (0, 0) => {
                let neg = if self.neg == b.neg { self.neg } else { round == Round::Rm };
                return Num { neg, ..self };
            }
            (0, _) => return b,
            (_, 0) => return self,
            _ => {}
        }
        let (mut x, mut y) = (self.normal(), b.normal());
        if (x.exp, x.man) < (y.exp, y.man) {
            std::mem::swap(&mut x, &mut y);
        }
        let small = jam(y.man, (x.exp - y.exp).unsigned_abs());
        if x.neg == y.neg {
            return Num { man: x.man + small, ..x };
        }
        match x.man - small {
            0 => Num { neg: round == Round::Rm, man: 0, exp: 0 },
            man => Num { man, ..x },
        }
    }

    /// Multiplied by a power of two.
    pub fn scale(self, by: i32) -> Num {
        Num { exp: self.exp + by, ..self }
    }

    /// The nearest number of the format in the rounding's sense.
    pub fn pack(self, f: Format, round: Round) -> u64 {
        let sign = if self.neg { f.sign_bit() } else { 0 };
        if self.man == 0 {
            return sign;
        }
        let top = 127 - self.man.leading_zeros() as i32 + self.exp;
        let last = top.max(1 - f.bias()) - f.mant as i32;
        let man = round_shift(self.man, last - self.exp, self.neg, round);
        // The implicit bit of a normal number adds the missing one to the exponent, and so does a
        // carry.
        let exp = last + f.mant as i32 + f.bias() - 1;
        if i64::from(exp) + (man >> f.mant) as i64 >= f.max_exp() as i64 {
            let away = match round {
                Round::Rn => true,
                Round::Rz => false,
                Round::Rm => self.neg,
                Round::Rp => !self.neg,
            };
            return sign | if away { f.inf() } else { f.inf() - 1 };
        }
        sign | (((exp as u64) << f.mant) + man as u64)
    }

    /// The nearest integer's magnitude in the rounding's sense; saturated at 2^127.
    pub fn round_int(self, round: Round) -> u128 {
        if self.man != 0 && self.exp + 127 - self.man.leading_zeros() as i32 >= 127 {
            return 1 << 127;
        }
        round_shift(self.man, -self.exp, self.neg, round)
    }
}

/// `man * 2^-shift`, rounded to an integer. `man << -shift` must fit.
fn round_shift(man: u128, shift: i32, neg: bool, round: Round) -> u128 {
    if shift <= 0 {
        return if man == 0 { 0 } else { man << -shift };
    }
    let (whole, rest) = if shift < 128 { (man >> shift, man << (128 - shift)) } else { (0, 1.min(man)) };
    let up = match round {
        Round::Rn => rest > 1 << 127 || rest == 1 << 127 && whole & 1 != 0,
        Round::Rz => false,
        Round::Rm => neg && rest != 0,
        Round::Rp => !neg && rest != 0,
    };
    whole + u128::from(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn num(f: f64) -> Num {
        match unpack(F64, f.to_bits()) {
            Class::Num(n) => n,
            other => panic!("{other:?}"),
        }
    }

    /// A deterministic stream of bit patterns with many extreme exponents.
    fn patterns() -> impl Iterator<Item = u64> {
        let mut random = crate::random::Random::new(0);
        (0..200_000).map(move |i| {
            let s = random.word();
            match i % 4 {
                0 => s,
                1 => s & 0x800f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000,
                2 => s & 0x803f_ffff_0000_00ff,
                _ => s & 0x800f_0000_0000_000f | (0x3fe0_0000_0000_0000 + (s & 0x7) * 0x0010_0000_0000_0000),
            }
        })
    }

    #[test]
    fn packing_what_was_unpacked_gives_it_back() {
        for bits in patterns() {
            if let Class::Num(n) = unpack(F64, bits) {
                for round in [Round::Rn, Round::Rm, Round::Rp, Round::Rz] {
                    assert_eq!(n.pack(F64, round), bits);
                }
            }
        }
    }

    #[test]
    fn round_to_nearest_agrees_with_the_host() {
        let all: Vec<u64> = patterns().collect();
        for w in all.windows(3) {
            let [a, b, c] = [w[0], w[1], w[2]].map(f64::from_bits);
            if !(a.is_finite() && b.is_finite() && c.is_finite()) {
                continue;
            }
            let (x, y, z) = (num(a), num(b), num(c));
            assert_eq!(x.add(y, Round::Rn).pack(F64, Round::Rn), (a + b).to_bits(), "{a:e} + {b:e}");
            assert_eq!(x.times(y).pack(F64, Round::Rn), (a * b).to_bits(), "{a:e} * {b:e}");
            let fma = x.times(y).add(z, Round::Rn).pack(F64, Round::Rn);
            assert_eq!(fma, a.mul_add(b, c).to_bits(), "{a:e} * {b:e} + {c:e}");
            assert_eq!(x.pack(F32, Round::Rn) as u32, (a as f32).to_bits(), "{a:e}");
        }
    }

    #[test]
    fn directed_roundings_bracket_the_exact_value() {
        let (one, tiny) = (num(1.0), num(1e-300));
        let up = one.add(tiny, Round::Rp).pack(F64, Round::Rp);
        assert_eq!(f64::from_bits(up), 1.0 + f64::EPSILON);
        assert_eq!(one.add(tiny, Round::Rm).pack(F64, Round::Rm), 1f64.to_bits());
        let minus = num(-1.0).add(tiny, Round::Rz).pack(F64, Round::Rz);
        assert_eq!(f64::from_bits(minus), -(1.0 - f64::EPSILON / 2.0));
        assert_eq!(num(f64::MAX).scale(1).pack(F64, Round::Rz), f64::MAX.to_bits());
        assert_eq!(num(-f64::MAX).scale(1).pack(F64, Round::Rm), f64::NEG_INFINITY.to_bits());
    }
}
