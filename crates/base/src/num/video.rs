//! The video instructions: one, two or four small integers at once, a saturation, and a second
//! operation. Source: PTX ISA, "Video Instructions".

/// What a video instruction computes from its two selected operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Primary {
    Add,
    Sub,
    /// The average, rounded up in magnitude as PTX says for `vavrg`.
    Avrg,
    AbsDiff,
    Min,
    Max,
    /// A comparison: less 1, equal 2, greater 4.
    Set(u8),
    Shl,
    Shr,
    /// `a << 8 | b` style selections do not exist; VSEL takes `b` where `c`'s lane is zero.
    Sel,
}

/// What happens with the result and the third operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Secondary {
    #[default]
    None,
    /// Added to `c` (of all lanes, for the two- and four-lane forms).
    Acc,
    Min,
    Max,
    /// Into a half or byte of `c`: the bit position and width.
    Merge(u32, u32),
}

/// A lane's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lane {
    pub bits: u32,
    pub signed: bool,
}

impl Lane {
    #[inline]
    pub fn clamp(self, v: i64) -> i64 {
        let (lo, hi) = if self.signed {
            (-(1i64 << (self.bits - 1)), (1i64 << (self.bits - 1)) - 1)
        } else {
            (0, (1i64 << self.bits) - 1)
        };
        v.clamp(lo, hi)
    }
}

/// The primary operation, exact.
#[inline]
pub fn primary(op: Primary, a: i64, b: i64, wrap: bool) -> i64 {
    match op {
        Primary::Add => a + b,
        Primary::Sub => a - b,
        Primary::Avrg => {
            let s = a + b;
            // Rounded away from zero at a half.
            if s >= 0 { (s + 1) >> 1 } else { s >> 1 }
        }
        Primary::AbsDiff => (a - b).abs(),
        Primary::Min => a.min(b),
        Primary::Max => a.max(b),
        Primary::Set(test) => {
            let bit = match a.cmp(&b) {
                std::cmp::Ordering::Less => 1,
                std::cmp::Ordering::Equal => 2,
                std::cmp::Ordering::Greater => 4,
            };
            i64::from(test & bit != 0)
        }
        Primary::Shl => {
            let by = shift(b, wrap);
            if by >= 32 { 0 } else { a << by }
        }
        Primary::Shr => a >> shift(b, wrap),
        Primary::Sel => a,
    }
}

fn shift(b: i64, wrap: bool) -> i64 {
    if wrap { b & 31 } else { i64::from((b as u32).min(32)) }
}

/// How the one-lane form makes its result of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finish {
    /// Whether the destination is.
    pub signed: bool,
    /// Whether the value is saturated to the destination's bits.
    pub sat: bool,
    /// How it is combined with the third operand.
    pub second: Secondary,
}

/// One-lane form: the value in the destination, combined with `c`.
#[inline]
pub fn finish(v: i64, c: u32, Finish { signed, sat, second }: Finish) -> u32 {
    let width = match second {
        Secondary::Merge(_, bits) => bits,
        _ => 32,
    };
    let lane = Lane { bits: width, signed };
    let r = if sat { lane.clamp(v) } else { v } as u32;
    match second {
        Secondary::None => r,
        Secondary::Acc => r.wrapping_add(c),
        Secondary::Min if signed => (r as i32).min(c as i32) as u32,
        Secondary::Min => r.min(c),
        Secondary::Max if signed => (r as i32).max(c as i32) as u32,
        Secondary::Max => r.max(c),
        Secondary::Merge(pos, bits) => {
            let mask = ((1u32 << bits) - 1) << pos;
            r << pos & mask | c & !mask
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturation_precedes_the_second_operation() {
        let done = |v, c, signed, sat, second| finish(v, c, Finish { signed, sat, second });
        assert_eq!(done(300, 0xaabb_ccdd, false, true, Secondary::Merge(16, 8)), 0xaaff_ccdd);
        assert_eq!(done(-5, 10, true, false, Secondary::Acc), 5);
        assert_eq!(done(-5, 10, false, true, Secondary::Max), 10);
        assert_eq!(primary(Primary::Avrg, 1, 2, false), 2);
        assert_eq!(primary(Primary::AbsDiff, -3, 4, false), 7);
    }
}
