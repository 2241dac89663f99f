//! The arithmetic of all oracles: what operations compute, from their definitions (NIR's table of opcodes, TGSI's documentation,
//! the PTX ISA, IEEE 754), in the host's integers and floats and in exact integers. It shares nothing with the compiler's and the
//! emulator's [`nvir::num`]; random tests compare the two.
//!
//! [`Op`] has the operations of scalars by NIR's names, [`float`] binary floating point in all rounding modes,
//! [`operands`] what is worth trying.

pub mod float;
mod op;
pub mod operands;

use float::{F16, F64, Fmt, Mode};
pub use op::Op;

/// What a result must be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Want {
    /// These bits.
    Bits(u64),
    /// A float of the result's size, with what it may differ by: units in the last place, and an absolute amount. Of no number
    /// any pattern will do.
    Float(f64, f64, f64),
    /// Not defined for these operands. The interpreter takes these bits, which are the machine's where that matters.
    Any(u64),
}

impl Want {
    /// Exactly a float.
    pub fn exact(x: f64) -> Want {
        Want::Float(x, 0.0, 0.0)
    }

    /// Exactly a float, but a zero may have either sign.
    pub fn zero(x: f64) -> Want {
        Want::Float(x, 0.0, if x == 0.0 { f64::MIN_POSITIVE } else { 0.0 })
    }

    /// 1 or 0, or all ones or zero.
    pub fn boolean(yes: bool, bits: u32) -> Want {
        Want::Bits(if yes { mask(bits) } else { 0 })
    }

    /// The best result of that size; no number has the pattern that the machine gives it.
    pub fn bits(self, bits: u32) -> u64 {
        match self {
            Want::Bits(x) | Want::Any(x) => x,
            Want::Float(x, ..) if x.is_nan() => Fmt::of(bits).nan(),
            Want::Float(x, ..) => round(x, bits),
        }
    }

    /// Whether a component of that size is what it must be.
    pub fn accepts(self, got: u64, bits: u32) -> bool {
        let (x, ulp, abs) = match self {
            Want::Any(_) => return true,
            Want::Bits(w) => return got == w,
            Want::Float(x, ulp, abs) => (x, ulp, abs),
        };
        let (near, g) = (round(x, bits), value(got, bits));
        let w = value(near, bits);
        if w.is_nan() {
            return g.is_nan();
        }
        if got == near {
            return true;
        }
        if ulp == 0.0 && abs == 0.0 || g.is_nan() {
            return false;
        }
        if w.is_infinite() || g.is_infinite() {
            // Just beyond the largest number.
            return ulp > 0.0 && round(x * 0.999, bits) != near && g.signum() == w.signum();
        }
        let unit = (value(near + 1, bits) - w).abs().min((w - value(near.wrapping_sub(1), bits)).abs());
        let unit = if unit.is_finite() { unit } else { 0.0 };
        (g - w).abs() <= (ulp * unit).max(abs) + unit * f64::from(u8::from(ulp > 0.0)) * 0.5
    }
}

/// Ones in so many of the lowest bits.
pub fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The lowest bits.
pub fn low(v: u64, bits: u32) -> u64 {
    v & mask(bits)
}

/// The lowest bits as a number with a sign.
pub fn signed(v: u64, bits: u32) -> i64 {
    (v << (64 - bits)) as i64 >> (64 - bits)
}

/// The lowest bits as a number.
pub fn number(v: u64, bits: u32, sign: bool) -> i128 {
    if sign { signed(v, bits).into() } else { low(v, bits).into() }
}

/// What of a number fits into a type of so many bits.
pub fn clamp(v: i128, bits: u32, sign: bool) -> u64 {
    let (least, most) =
        if sign { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, mask(bits).into()) };
    low(v.clamp(least, most) as u64, bits)
}

/// A float's value.
pub fn value(x: u64, bits: u32) -> f64 {
    match bits {
        32 => f32::from_bits(x as u32).into(),
        64 => f64::from_bits(x),
        _ => f64::from_bits(F64.from(F16.num(x), Mode::Near)),
    }
}

/// The nearest float of that size, ties to even.
pub fn round(x: f64, bits: u32) -> u64 {
    match bits {
        32 => (x as f32).to_bits().into(),
        64 => x.to_bits(),
        _ => F16.from(F64.num(x.to_bits()), Mode::Near),
    }
}

/// A byte of eight, or its sign in all bits.
pub fn permuted(bytes: u64, selector: u64) -> u64 {
    let byte = bytes >> (8 * (selector & 7)) & 255;
    if selector & 8 == 0 { byte } else { (byte >> 7) * 255 }
}

/// A field of a word; one that reaches beyond bit 31 has what lies inside, continued by the sign or zeros. Of position and
/// length the lowest byte counts.
pub fn extract(v: u64, position: u64, length: u64, sign: bool) -> u64 {
    let (p, n) = (position & 0xff, (length & 0xff) as u32);
    let from = number(v, 32, sign) >> p.min(63);
    if n == 0 { 0 } else { number(from as u64, n.min(32), sign) as u64 & mask(32) }
}

/// `base` with a field of it replaced; what of the field lies beyond bit 31 is dropped.
pub fn insert(base: u64, v: u64, position: u64, length: u64) -> u64 {
    let (p, n) = ((position & 0xff) as u32, (length & 0xff) as u32);
    if n == 0 || p >= 32 {
        return base;
    }
    let field = mask(n.min(32)) << p & mask(32);
    base & !field | v << p & field
}

/// A float as a normalised field. No number counts as the lowest value.
pub fn normalised(x: f64, bits: u32, sign: bool) -> u64 {
    let most = (mask(bits) >> u32::from(sign)) as f32;
    let least = if sign { -1.0 } else { 0.0 };
    let x = if x > least { x.min(1.0) } else { least };
    (x as f32 * most).round_ties_even() as i64 as u64 & mask(bits)
}

/// Floats as normalised fields of a word, the lowest first.
pub fn packed(all: &[f64], sign: bool) -> Want {
    let bits = 32 / all.len() as u32;
    let word = all.iter().rev().fold(0, |word, &x| word << bits | normalised(x, bits, sign));
    if all.iter().any(|x| x.is_nan()) { Want::Any(word) } else { Want::Bits(word) }
}

/// A half in the lowest bits that may have become a zero if it is subnormal.
pub fn half_flushed(half: u64) -> Want {
    let half = half & 0xffff;
    if F16.is_subnormal(half) { Want::Any(0) } else { Want::exact(value(half, 16)) }
}

/// Two floats as halves in a word.
pub fn half_pair(x: f64, y: f64, mode: Mode) -> Want {
    let half = |x: f64| F16.from(F64.num(x.to_bits()), mode);
    let both = half(x) | half(y) << 16;
    if x.is_nan() || y.is_nan() { Want::Any(both) } else { Want::Bits(both) }
}

/// A sum whose order is not laid down, so that beyond the range anything can come.
pub fn sum(terms: &[f64], bits: u32) -> Want {
    let unit = 2f64.powi(-(Fmt::of(bits).frac as i32) - 1);
    let magnitude: f64 = terms.iter().map(|t| t.abs()).sum();
    let sum = terms.iter().sum();
    if magnitude.is_finite() && value(round(magnitude, bits), bits).is_finite() {
        Want::Float(sum, 1.0, magnitude * unit * terms.len() as f64)
    } else {
        Want::Any(round(sum, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::float::{F32, Mode};
    use super::*;
    use nvir::num::{Round, conv, float, int};
    use nvir::random::Random;

    const MODES: [(Mode, Round); 4] =
        [(Mode::Near, Round::Rn), (Mode::Zero, Round::Rz), (Mode::Down, Round::Rm), (Mode::Up, Round::Rp)];

    /// Equal, or both no number.
    fn same(fmt: Fmt, got: u64, want: u64, what: &str) {
        assert!(got == want || fmt.is_nan(got) && fmt.is_nan(want), "{what}: {got:#x}, not {want:#x}");
    }

    #[test]
    fn floats_are_what_the_emulator_computes() {
        let mut r = Random::new(1);
        for _ in 0..100_000 {
            let [a, b, c] = [(); 3].map(|()| r.special(32));
            let (x, y, z) = (a as u32, b as u32, c as u32);
            let [d, e, f] = [(); 3].map(|()| r.special(64));
            for (mode, round) in MODES {
                let what = format!("{a:#x} {b:#x} {c:#x}, {d:#x} {e:#x} {f:#x}, {mode:?}");
                let single = |got, want: u32| same(F32, got, want.into(), &what);
                single(F32.add(a, b, mode), float::add32(x, y, round));
                single(F32.mul(a, b, mode), float::mul32(x, y, 0, round));
                single(F32.fma(a, b, c, mode), float::fma32(x, y, z, round));
                same(F64, F64.add(d, e, mode), float::add64(d, e, round), &what);
                same(F64, F64.mul(d, e, mode), float::mul64(d, e, round), &what);
                same(F64, F64.fma(d, e, f, mode), float::fma64(d, e, f, round), &what);
                single(
                    F32.from(F64.num(d), mode),
                    conv::f2f(conv::Float::F64, d, conv::Float::F32, round, false) as u32,
                );
                single(F32.integral(a, mode), conv::round_int(conv::Float::F32, a, round, false) as u32);
                for (bits, sign) in [(32, true), (32, false), (64, true), (64, false)] {
                    let want = conv::f2i(conv::Float::F32, a, conv::Int::new(bits, sign), round, false);
                    let got = F32.to_int(a, mode).map(|(neg, n)| if neg { -(n as i128) } else { n as i128 });
                    // Of no number the machine makes something of its own.
                    let got = got.map_or(want, |n| clamp(n, bits, sign));
                    assert_eq!(low(got, bits), low(want, bits), "{what} to {bits} {sign}");
                    let n = number(d, bits, sign);
                    let want = conv::i2f(conv::Int::new(bits, sign), low(d, bits), conv::Float::F32, round);
                    assert_eq!(
                        F32.of_int(n < 0, n.unsigned_abs() as u64, mode),
                        want,
                        "{what} of {bits} {sign}"
                    );
                }
            }
            same(F32, F32.pick(a, b, false), float::min32(x, y).into(), "min");
            same(F32, F32.pick(a, b, true), float::max32(x, y).into(), "max");
            same(F64, F64.pick(d, e, false), float::min64(d, e), "min");
            same(F64, F64.pick(d, e, true), float::max64(d, e), "max");
        }
    }

    #[test]
    fn integers_are_what_the_emulator_computes() {
        let mut r = Random::new(2);
        for _ in 0..100_000 {
            let [a, b, c] = [(); 3].map(|()| operands::operand(&mut r, 'i', 32));
            let (x, y) = (a as u32, b as u32);
            let (position, length) = (r.below(70u64), r.below(70u64));
            let field = (position | length << 8) as u32;
            let op = |op: Op| op.eval(32, &[32; 3], &[a, b, c]).bits(32) as u32;
            assert_eq!(extract(a, position, length, false) as u32, int::bfe(x, field, false));
            assert_eq!(
                extract(a, position, length, true) as u32,
                int::bfe(x, field, true),
                "{a:#x} {field:#x}"
            );
            assert_eq!(
                insert(b, a, position, length) as u32,
                int::bfi(x, field, y),
                "{a:#x} {field:#x} {b:#x}"
            );
            assert_eq!(op(Op::ufind_msb), int::flo(x, false, int::Found::Bit));
            assert_eq!(op(Op::ifind_msb), int::flo(x, true, int::Found::Bit));
            assert_eq!(op(Op::prmt_nv), int::prmt(y, x, c as u32, int::Permute::Index));
            for (high, sign) in [(Op::umul_high, false), (Op::imul_high, true)] {
                assert_eq!(
                    op(high),
                    (int::mul_wide(int::factor(x, sign), int::factor(y, sign)) >> 32) as u32
                );
            }
        }
    }
}
