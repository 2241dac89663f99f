//! Comparisons of 32-bit values, as [`super::laneop`] has operations.

use crate::state::lanes::{LaneVec, Mask};
use nvir_base::num::float::{self, ftz32};
use nvir_simd::{Compiled, Features, Kernel, Processor};

/// A comparison of whole rows, as compiled for a processor: the lanes for which it holds.
pub(crate) type CompareFn = Compiled<(), LaneVec, LaneVec, (), Mask>;

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
    pub(crate) fn compiled(self, processor: Processor) -> CompareFn {
        /// Kernels by number of a test and a further choice.
        macro_rules! kernels {
            ($kernel:ident, $test:expr, $choice:expr, $($t:literal)*) => {
                match ($test, $choice) {
                    $(
                        ($t, false) => processor.compiled::<$kernel<$t, false>, _, _, _, _, _>(),
                        ($t, true) => processor.compiled::<$kernel<$t, true>, _, _, _, _, _>(),
                    )*
                    // It holds whatever is compared.
                    _ => processor.compiled::<$kernel<15, false>, _, _, _, _, _>(),
                }
            };
        }
        match self {
            CmpOp::Int { test, signed } => kernels!(Ints, test & 7, signed, 0 1 2 3 4 5 6 7),
            CmpOp::Float { test, ftz } => {
                kernels!(Floats, test & 15, ftz, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
            }
            CmpOp::Division => processor.compiled::<Divisions<false>, _, _, _, _, _>(),
            CmpOp::Division64 => processor.compiled::<Divisions<true>, _, _, _, _, _>(),
        }
    }
}

/// The lanes of two rows for which a test holds.
#[inline(always)]
fn mask<F: Features>(a: &LaneVec, b: &LaneVec, holds: impl Fn(u32, u32) -> bool) -> Mask {
    let all = std::array::from_fn(|i| if holds(a.0[i], b.0[i]) { u32::MAX } else { 0 });
    F::sign_bits(&all)
}

struct Ints<const TEST: u8, const SIGNED: bool>;

impl<const TEST: u8, const SIGNED: bool> Kernel<(), LaneVec, LaneVec, (), Mask> for Ints<TEST, SIGNED> {
    #[inline(always)]
    fn run<F: Features>(_: &mut (), a: &LaneVec, b: &LaneVec, _: &(), _: u32) -> Mask {
        // Signed numbers are in the order of unsigned ones that lie half the range higher.
        let order = |v: u32| if SIGNED { v as i32 } else { (v ^ 1 << 31) as i32 };
        mask::<F>(a, b, |a, b| {
            let (a, b) = (order(a), order(b));
            (TEST & 1 != 0 && a < b) | (TEST & 2 != 0 && a == b) | (TEST & 4 != 0 && a > b)
        })
    }
}

struct Floats<const TEST: u8, const FTZ: bool>;

impl<const TEST: u8, const FTZ: bool> Kernel<(), LaneVec, LaneVec, (), Mask> for Floats<TEST, FTZ> {
    #[inline(always)]
    fn run<F: Features>(_: &mut (), a: &LaneVec, b: &LaneVec, _: &(), _: u32) -> Mask {
        mask::<F>(a, b, |a, b| {
            let [x, y] = [a, b].map(|v| f32::from_bits(if FTZ { ftz32(v) } else { v }));
            (TEST & 1 != 0 && x < y)
                | (TEST & 2 != 0 && x == y)
                | (TEST & 4 != 0 && x > y)
                | (TEST & 8 != 0 && (x.is_nan() | y.is_nan()))
        })
    }
}

struct Divisions<const DOUBLE: bool>;

impl<const DOUBLE: bool> Kernel<(), LaneVec, LaneVec, (), Mask> for Divisions<DOUBLE> {
    #[inline(always)]
    fn run<F: Features>(_: &mut (), a: &LaneVec, b: &LaneVec, _: &(), _: u32) -> Mask {
        mask::<F>(a, b, if DOUBLE { division_is_special64 } else { division_is_special })
    }
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
    use crate::state::lanes::{LANES, hard_values as row};

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
        for (op, processor) in
            comparisons.into_iter().flat_map(|op| Processor::all().into_iter().map(move |p| (op, p)))
        {
            for round in 0..60 {
                let [a, mut b] = [0; 2].map(|_| row(&mut seed));
                if round % 3 == 0 {
                    b.0[..16].copy_from_slice(&a.0[..16]);
                }
                let mask = op.compiled(processor)(&mut (), &a, &b, &(), 0);
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
