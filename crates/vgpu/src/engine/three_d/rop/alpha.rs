//! What the alpha of a fragment does before anything is written: alpha test and alpha to coverage.

use super::{Compare, passes};

/// The alpha test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct AlphaTest {
    pub func: Compare,
    pub reference: f32,
}

impl AlphaTest {
    /// Whether a fragment stays.
    pub(crate) fn passes(&self, alpha: f32) -> bool {
        passes(self.func, alpha, self.reference)
    }
}

/// The samples that an alpha covers: as many as its part of all, rounded up, the lowest first. NaN covers none.
pub(crate) fn to_coverage(alpha: f32, samples: u32) -> u8 {
    let covered = |s: &u32| f64::from(alpha) * f64::from(samples) > f64::from(*s);
    (0..samples.min(8)).filter(covered).fold(0, |mask, s| mask | 1 << s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_covers_the_lowest_samples() {
        assert_eq!(
            [f32::NAN, -1.0, 0.0, 0.01, 0.25, 0.26, 0.5, 1.0, 9.0].map(|a| to_coverage(a, 4)),
            [0, 0, 0, 1, 1, 3, 3, 15, 15]
        );
        assert_eq!([to_coverage(0.5, 1), to_coverage(1.0, 8), to_coverage(0.9, 8)], [1, 255, 255]);
    }

    #[test]
    fn nan_fails_most_alpha_tests() {
        let test = AlphaTest { func: Compare::GreaterOrEqual, reference: 0.5 };
        assert_eq!([f32::NAN, 0.49, 0.5].map(|a| test.passes(a)), [false, false, true]);
    }
}
