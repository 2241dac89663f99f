//! Comparisons of 32-bit values, as [`super::laneop`] has operations.

use crate::state::lanes::{LANES, LaneVec, Mask};
use nvir_base::num::float::{self, ftz32};

/// A comparison of whole rows.
pub type MaskFn = fn(&LaneVec, &LaneVec) -> Mask;

/// A comparison of two 32-bit values. Tests are bits: less 1, equal 2, greater 4, unordered 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CmpOp {
    Int {
        test: u8,
        signed: bool,
    },
    Float {
        test: u8,
        ftz: bool,
    },
    /// FCHK.DIVIDE: whether `a / b` cannot be computed from the reciprocal by Newton's method, because an operand or an
    /// intermediate result is special, zero, or near the ends of the exponent range.
    Division,
    /// DCHK.DIVIDE, on the high words.
    Division64,
}

impl CmpOp {
    /// Whether it holds in one lane.
    pub fn eval(self, a: u32, b: u32) -> bool {
        match self {
            CmpOp::Int { test, signed } => {
                let order = if signed { (a as i32).cmp(&(b as i32)) } else { a.cmp(&b) };
                let bit = match order {
                    std::cmp::Ordering::Less => 1,
                    std::cmp::Ordering::Equal => 2,
                    std::cmp::Ordering::Greater => 4,
                };
                test & bit != 0
            }
            CmpOp::Float { test, ftz: true } => float::test32(test, ftz32(a), ftz32(b)),
            CmpOp::Float { test, ftz: false } => float::test32(test, a, b),
            CmpOp::Division => division_is_special(a, b),
            CmpOp::Division64 => division_is_special64(a, b),
        }
    }

    /// The same for all lanes.
    pub fn vector(self) -> MaskFn {
        /// The lanes of two rows for which an expression holds.
        macro_rules! mask {
            (|$a:pat_param, $b:pat_param| $e:expr) => {
                |a, b| {
                    let mut m = 0;
                    for i in 0..LANES {
                        let ($a, $b) = (a.0[i], b.0[i]);
                        m |= u32::from($e) << i;
                    }
                    m
                }
            };
        }
        macro_rules! float_tests {
            ($test:expr, $ftz:expr, $($t:literal)*) => {
                match ($test, $ftz) {
                    $(($t, false) => compare::<$t, false>, ($t, true) => compare::<$t, true>,)*
                    (_, false) => compare::<15, false>,
                    (_, true) => compare::<15, true>,
                }
            };
        }
        match self {
            CmpOp::Int { test, signed } => match (test & 7, signed) {
                (0, _) => |_, _| 0,
                (1, true) => mask!(|a, b| (a as i32) < b as i32),
                (1, false) => mask!(|a, b| a < b),
                (2, _) => mask!(|a, b| a == b),
                (3, true) => mask!(|a, b| a as i32 <= b as i32),
                (3, false) => mask!(|a, b| a <= b),
                (4, true) => mask!(|a, b| a as i32 > b as i32),
                (4, false) => mask!(|a, b| a > b),
                (5, _) => mask!(|a, b| a != b),
                (6, true) => mask!(|a, b| a as i32 >= b as i32),
                (6, false) => mask!(|a, b| a >= b),
                (_, _) => |_, _| Mask::MAX,
            },
            CmpOp::Float { test, ftz } => float_tests!(test, ftz, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14),
            CmpOp::Division => mask!(|a, b| division_is_special(a, b)),
            CmpOp::Division64 => mask!(|a, b| division_is_special64(a, b)),
        }
    }
}

fn compare<const T: u8, const FTZ: bool>(a: &LaneVec, b: &LaneVec) -> Mask {
    let mut m = 0;
    for i in 0..LANES {
        let [x, y] = [a.0[i], b.0[i]].map(|v| f32::from_bits(if FTZ { ftz32(v) } else { v }));
        let unordered = x.is_nan() | y.is_nan();
        let holds = (T & 1 != 0 && x < y)
            | (T & 2 != 0 && x == y)
            | (T & 4 != 0 && x > y)
            | (T & 8 != 0 && unordered);
        m |= u32::from(holds) << i;
    }
    m
}

fn division_is_special(a: u32, b: u32) -> bool {
    let exp = |x: u32| (x >> 23 & 0xff) as i32;
    let (ea, eb) = (exp(a), exp(b));
    let quotient = ea - eb;
    !(25..=254).contains(&ea) || !(1..=252).contains(&eb) || !(-100..=125).contains(&quotient)
}

fn division_is_special64(a: u32, b: u32) -> bool {
    let exp = |x: u32| (x >> 20 & 0x7ff) as i32;
    let (ea, eb) = (exp(a), exp(b));
    let quotient = ea - eb;
    !(55..=2046).contains(&ea) || !(1..=2044).contains(&eb) || !(-960..=1021).contains(&quotient)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::lanes::hard_values as row;

    #[test]
    fn rows_are_what_single_lanes_give() {
        let mut seed = 777;
        let mut comparisons = vec![CmpOp::Division, CmpOp::Division64];
        for test in 0..16 {
            for x in [false, true] {
                comparisons.push(CmpOp::Float { test, ftz: x });
                comparisons.push(CmpOp::Int { test: test & 7, signed: x });
            }
        }
        for op in comparisons {
            for _ in 0..60 {
                let [a, b] = [0; 2].map(|_| row(&mut seed));
                let mask = op.vector()(&a, &b);
                for l in 0..LANES {
                    assert_eq!(
                        mask >> l & 1 != 0,
                        op.eval(a.0[l], b.0[l]),
                        "{op:?} {:#x} {:#x}",
                        a.0[l],
                        b.0[l]
                    );
                }
            }
        }
    }

    #[test]
    fn division_check_lets_ordinary_numbers_pass() {
        let special = |a: f32, b: f32| CmpOp::Division.eval(a.to_bits(), b.to_bits());
        assert!(!special(1.0, 3.0));
        assert!(special(1.0, 0.0) && special(f32::NAN, 1.0) && special(1e38, 1e-38));
    }
}
