//! Binary floating point in integers, from IEEE 754 and the PTX ISA: exact sums and products, rounded once.

/// A format: bits of the fraction, bits of the exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fmt {
    /// Bits of the fraction.
    pub frac: u32,
    /// Bits of the exponent.
    pub exp: u32,
}

/// Half precision.
pub const F16: Fmt = Fmt { frac: 10, exp: 5 };
/// Single precision.
pub const F32: Fmt = Fmt { frac: 23, exp: 8 };
/// Double precision.
pub const F64: Fmt = Fmt { frac: 52, exp: 11 };

/// How a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// To the nearest, ties to even.
    Near,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
}

/// What bits stand for. A finite number is `mant * 2^exp`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Num {
    /// No number.
    Nan,
    /// An infinity.
    Inf {
        /// Whether it is the negative one.
        neg: bool,
    },
    /// A finite number.
    Fin {
        /// Its sign.
        neg: bool,
        /// Its magnitude over `2^exp`.
        mant: u64,
        /// The exponent of its last bit.
        exp: i32,
    },
}

impl Fmt {
    /// The format of so many bits.
    pub fn of(bits: u32) -> Fmt {
        match bits {
            64 => F64,
            32 => F32,
            _ => F16,
        }
    }

    /// Bits of a value.
    pub fn bits(self) -> u32 {
        1 + self.exp + self.frac
    }

    fn bias(self) -> i32 {
        (1 << (self.exp - 1)) - 1
    }

    /// NVIDIA's NaN: all bits but the sign.
    pub fn nan(self) -> u64 {
        (1 << (self.bits() - 1)) - 1
    }

    /// Infinity of a sign.
    pub fn inf(self, neg: bool) -> u64 {
        self.sign(neg) | ((1 << self.exp) - 1) << self.frac
    }

    /// Zero of a sign.
    pub fn sign(self, neg: bool) -> u64 {
        u64::from(neg) << (self.bits() - 1)
    }

    /// Whether the sign bit is set.
    pub(crate) fn is_neg(self, bits: u64) -> bool {
        bits >> (self.bits() - 1) & 1 != 0
    }

    /// Whether bits stand for no number.
    pub fn is_nan(self, bits: u64) -> bool {
        self.num(bits) == Num::Nan
    }

    /// Whether bits stand for a number below the normal ones.
    pub fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & self.nan();
        magnitude != 0 && magnitude >> self.frac == 0
    }

    /// What bits stand for.
    pub fn num(self, bits: u64) -> Num {
        let neg = self.is_neg(bits);
        let e = (bits >> self.frac & ((1 << self.exp) - 1)) as i32;
        let mant = bits & ((1 << self.frac) - 1);
        let lowest = 1 - self.bias() - self.frac as i32;
        match e {
            0 => Num::Fin { neg, mant, exp: lowest },
            e if e == (1 << self.exp) - 1 => {
                if mant == 0 {
                    Num::Inf { neg }
                } else {
                    Num::Nan
                }
            }
            e => Num::Fin { neg, mant: mant | 1 << self.frac, exp: lowest + e - 1 },
        }
    }

    /// A subnormal number becomes a zero of its sign.
    pub fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & !self.nan() } else { bits }
    }

    /// `mant * 2^exp`, of which a bit somewhere below may be lost (`sticky`), rounded.
    fn round(self, neg: bool, mant: u128, exp: i32, sticky: bool, mode: Mode) -> u64 {
        let Some(top) = mant.checked_ilog2() else {
            return self.sign(neg);
        };
        let lowest = 1 - self.bias() - self.frac as i32;
        // The exponent of the last place of the result.
        let last = (exp + top as i32 - self.frac as i32).max(lowest);
        let shift = last - exp;
        let (mut kept, rest, half) = if shift <= 0 {
            (mant << -shift, 0, false)
        } else if shift > 127 {
            (0, mant, false)
        } else {
            let below = mant & ((1u128 << shift) - 1);
            let half = 1u128 << (shift - 1);
            (mant >> shift, below & (half - 1), below & half != 0)
        };
        let rest = rest != 0 || sticky;
        let up = match mode {
            Mode::Near => half && (rest || kept & 1 != 0),
            Mode::Zero => false,
            Mode::Down => neg && (half || rest),
            Mode::Up => !neg && (half || rest),
        };
        kept += u128::from(up);
        // A carry into the exponent is what rounding up the largest fraction means.
        let biased = if kept >> self.frac == 0 { 0 } else { (last - lowest) as u128 };
        let bits = (biased << self.frac) + kept;
        let infinite = u128::from(self.inf(false));
        if bits < infinite {
            return self.sign(neg) | bits as u64;
        }
        let away = match mode {
            Mode::Near => true,
            Mode::Zero => false,
            Mode::Down => neg,
            Mode::Up => !neg,
        };
        self.sign(neg) | (self.inf(false) - u64::from(!away))
    }

    /// An integer.
    pub fn of_int(self, neg: bool, magnitude: u64, mode: Mode) -> u64 {
        self.round(neg, magnitude.into(), 0, false, mode)
    }

    /// A number of another format.
    pub fn from(self, n: Num, mode: Mode) -> u64 {
        match n {
            Num::Nan => self.nan(),
            Num::Inf { neg } => self.inf(neg),
            Num::Fin { neg, mant, exp } => self.round(neg, mant.into(), exp, false, mode),
        }
    }

    /// The product, rounded once.
    pub fn mul(self, a: u64, b: u64, mode: Mode) -> u64 {
        match (self.num(a), self.num(b)) {
            (Num::Fin { neg: n, mant: x, exp: e }, Num::Fin { neg: m, mant: y, exp: f }) => {
                self.round(n != m, u128::from(x) * u128::from(y), e + f, false, mode)
            }
            (Num::Nan, _) | (_, Num::Nan) => self.nan(),
            (Num::Inf { .. }, Num::Fin { mant: 0, .. }) | (Num::Fin { mant: 0, .. }, Num::Inf { .. }) => {
                self.nan()
            }
            _ => self.inf(self.is_neg(a) != self.is_neg(b)),
        }
    }

    /// The sum, rounded once.
    pub fn add(self, a: u64, b: u64, mode: Mode) -> u64 {
        let one = (self.bias() as u64) << self.frac;
        self.fma(a, one, b, mode)
    }

    /// `a * b + c` with one rounding.
    pub fn fma(self, a: u64, b: u64, c: u64, mode: Mode) -> u64 {
        let negative = self.is_neg(a) != self.is_neg(b);
        let (x, y, z) = (self.num(a), self.num(b), self.num(c));
        let (Num::Fin { mant: x, exp: e, .. }, Num::Fin { mant: y, exp: f, .. }) = (x, y) else {
            let product = self.mul(a, b, mode);
            return match (self.num(product), z) {
                (Num::Nan, _) | (_, Num::Nan) => self.nan(),
                (Num::Inf { neg }, Num::Inf { neg: other }) if neg != other => self.nan(),
                _ => product,
            };
        };
        let Num::Fin { neg, mant: z, exp: g } = z else { return self.from(z, mode) };
        let mut p = (negative, u128::from(x) * u128::from(y), e + f);
        let mut q = (neg, u128::from(z), g);
        if p.1 == 0 && q.1 == 0 {
            // The sum of two zeros of different sign is positive, but negative when rounding down.
            return self.sign(if p.0 == q.0 { p.0 } else { mode == Mode::Down });
        }
        if p.1 == 0 || q.1 == 0 {
            let n = if p.1 == 0 { q } else { p };
            return self.round(n.0, n.1, n.2, false, mode);
        }
        // Both as far left as they go with a bit for the carry; then the smaller one gives up what it does not need.
        for n in [&mut p, &mut q] {
            let free = n.1.leading_zeros() as i32 - 2;
            *n = (n.0, n.1 << free, n.2 - free);
        }
        if p.2 < q.2 {
            std::mem::swap(&mut p, &mut q);
        }
        let apart = (p.2 - q.2) as u32;
        let (low, lost) = match apart {
            0 => (q.1, false),
            1..=127 => (q.1 >> apart, q.1 & ((1u128 << apart) - 1) != 0),
            _ => (0, true),
        };
        if p.0 == q.0 {
            return self.round(p.0, p.1 + low, p.2, lost, mode);
        }
        if p.1 == low && !lost {
            return self.sign(mode == Mode::Down);
        }
        if p.1 >= low + u128::from(lost) {
            // What was lost lies below: one less, and something remains.
            self.round(p.0, p.1 - low - u128::from(lost), p.2, lost, mode)
        } else {
            self.round(q.0, low - p.1, p.2, lost, mode)
        }
    }

    /// `x * 2^n`, rounded once.
    pub fn scale(self, x: u64, n: i32) -> u64 {
        match self.num(x) {
            Num::Fin { neg, mant, exp } => {
                self.round(neg, mant.into(), exp + n.clamp(-4000, 4000), false, Mode::Near)
            }
            _ => x,
        }
    }

    /// Significand in [0.5, 1) and exponent; zeros, infinities and what is no number as they are.
    pub fn parts(self, x: u64) -> (u64, i32) {
        match self.num(x) {
            Num::Fin { mant, exp, .. } if mant != 0 => {
                let n = exp + 64 - mant.leading_zeros() as i32;
                (self.scale(x, -n), n)
            }
            _ => (x, 0),
        }
    }

    /// Equal, less, greater, unordered: numbers, not bits.
    pub fn order(self, a: u64, b: u64) -> Option<std::cmp::Ordering> {
        if self.is_nan(a) || self.is_nan(b) {
            return None;
        }
        let key = |v: u64| {
            let magnitude = (v & self.nan()) as i64;
            if self.is_neg(v) { -magnitude } else { magnitude }
        };
        Some(key(a).cmp(&key(b)))
    }

    /// The smaller or larger number; of one NaN and a number the number; -0 is less than +0.
    pub fn pick(self, a: u64, b: u64, larger: bool) -> u64 {
        match (self.is_nan(a), self.is_nan(b)) {
            (true, true) => return self.nan(),
            (true, false) => return b,
            (false, true) => return a,
            _ => {}
        }
        let less = match self.order(a, b) {
            Some(std::cmp::Ordering::Less) => true,
            Some(std::cmp::Ordering::Equal) => self.is_neg(a) && !self.is_neg(b),
            _ => false,
        };
        if less != larger { a } else { b }
    }

    /// Clamped to 0 to 1; NaN becomes 0.
    pub fn saturate(self, v: u64) -> u64 {
        let one = (self.bias() as u64) << self.frac;
        if self.is_nan(v) || self.is_neg(v) { 0 } else { v.min(one) }
    }

    /// The number as an integer, rounded: sign and magnitude, which stops at 2^65.
    pub fn to_int(self, v: u64, mode: Mode) -> Option<(bool, u128)> {
        const MOST: u128 = 1 << 65;
        Some(match self.num(v) {
            Num::Nan => return None,
            Num::Inf { neg } => (neg, MOST),
            Num::Fin { neg, mant, exp } if exp >= 0 => (
                neg,
                if mant == 0 {
                    0
                } else {
                    u128::from(mant)
                        .checked_shl(exp as u32)
                        .map_or(MOST, |m| if exp > 64 { MOST } else { m.min(MOST) })
                },
            ),
            Num::Fin { neg, mant, exp } => {
                let shift = (-exp) as u32;
                let mant = u128::from(mant);
                let (whole, below) = if shift > 100 {
                    (0, u128::from(mant != 0))
                } else {
                    (mant >> shift, mant & ((1 << shift) - 1))
                };
                let half = if shift > 100 { 2 } else { 1u128 << (shift - 1) };
                let up = match mode {
                    Mode::Near => below > half || below == half && whole & 1 != 0,
                    Mode::Zero => false,
                    Mode::Down => neg && below != 0,
                    Mode::Up => !neg && below != 0,
                };
                (neg, whole + u128::from(up))
            }
        })
    }

    /// The number rounded to an integer, in the same format.
    pub fn integral(self, v: u64, mode: Mode) -> u64 {
        match self.num(v) {
            Num::Nan => self.nan(),
            Num::Fin { neg, exp, .. } if exp < 0 => {
                let (_, whole) = self.to_int(v, mode).unwrap_or_default();
                self.of_int(neg, whole as u64, Mode::Near)
            }
            _ => v,
        }
    }
}

#[test]
fn soft_floats_agree_with_the_host() {
    let mut rng = nvir::random::Random::new(7);
    for _ in 0..200_000 {
        let (a, b, c) = (rng.special(32) as u32, rng.special(32) as u32, rng.special(32) as u32);
        let (x, y, z) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        let same = |got: u64, want: f32, what: &str| {
            let got = f32::from_bits(got as u32);
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{what} {a:#x} {b:#x} {c:#x}: {got:?}, the host says {want:?}"
            );
        };
        let (a, b, c) = (a.into(), b.into(), c.into());
        same(F32.add(a, b, Mode::Near), x + y, "add");
        same(F32.mul(a, b, Mode::Near), x * y, "mul");
        same(F32.fma(a, b, c, Mode::Near), x.mul_add(y, z), "fma");
        same(F32.integral(a, Mode::Near), x.round_ties_even(), "rni");
        same(F32.integral(a, Mode::Down), x.floor(), "rmi");
        let d = rng.special(64);
        same(F32.from(F64.num(d), Mode::Near), f64::from_bits(d) as f32, "cvt");
        same(F32.of_int(false, d, Mode::Near), d as f32, "from u64");
        let (e, f) = (rng.special(64), rng.special(64));
        let sum = f64::from_bits(d).mul_add(f64::from_bits(e), f64::from_bits(f));
        let got = f64::from_bits(F64.fma(d, e, f, Mode::Near));
        assert!(
            got.to_bits() == sum.to_bits() || got.is_nan() && sum.is_nan(),
            "{d:#x} {e:#x} {f:#x}: {got}"
        );
        if let Some((neg, n)) = F64.to_int(d, Mode::Zero) {
            let n = n.min(u64::MAX.into()) as u64;
            assert_eq!(if neg { 0 } else { n }, f64::from_bits(d) as u64, "{d:#x}");
        }
    }
}
