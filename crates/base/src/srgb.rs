//! sRGB (IEC 61966-2-1): 8 bits to linear values and back, the same on every host.
//!
//! Powers come from IEEE operations alone, not from the host's library, and are computed by the compiler.

/// The linear value of a number of eight bits.
const LINEAR: [f32; 256] = {
    let mut table = [0.0; 256];
    let mut n = 0;
    while n < 256 {
        table[n] = linear(n as f64 / 255.0) as f32;
        n += 1;
    }
    table
};

/// From here on a linear value is nearer to `n + 1` than to `n`.
const THRESHOLDS: [f64; 255] = {
    let mut table = [0.0; 255];
    let mut n = 0;
    while n < 255 {
        table[n] = linear((n as f64 + 0.5) / 255.0);
        n += 1;
    }
    table
};

/// The curve: from an encoded value to a linear one, 0 to 1.
const fn linear(v: f64) -> f64 {
    if v <= 0.04045 {
        return v / 12.92;
    }
    let base = (v + 0.055) / 1.055;
    // base^2.4 is base^2 times the fifth root of base^2.
    base * base * fifth_root(base * base)
}

/// The fifth root of a value up to 1, by Newton's method from above.
const fn fifth_root(v: f64) -> f64 {
    let mut root = 1.0;
    let mut step = 0;
    while step < 40 {
        root = (4.0 * root + v / (root * root * root * root)) / 5.0;
        step += 1;
    }
    root
}

/// The linear value of any fraction, for formats of other widths.
pub fn fraction_to_linear(encoded: f32) -> f32 {
    linear(encoded.into()) as f32
}

/// The linear value of a number of eight bits: 0 to 1.
#[inline]
pub fn to_linear(encoded: u8) -> f32 {
    LINEAR[usize::from(encoded)]
}

/// The number of eight bits nearest to a linear value, which is clamped to 0 to 1; NaN is 0.
#[inline]
pub fn from_linear(linear: f32) -> u8 {
    let v = f64::from(linear);
    THRESHOLDS.partition_point(|&t| t <= v) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_are_clamped() {
        let bad = [f32::NAN, f32::NEG_INFINITY, -1.0, -0.0];
        assert!(bad.into_iter().all(|v| from_linear(v) == 0));
        assert_eq!([1.0, 2.0, f32::INFINITY].map(from_linear), [255; 3]);
    }

    #[test]
    fn the_curve() {
        assert_eq!((to_linear(0), to_linear(255)), (0.0, 1.0));
        // The linear part ends between 10 and 11.
        assert_eq!(to_linear(10), (10.0 / 255.0 / 12.92) as f32);
        assert_eq!(to_linear(188), 0.502_886_5);
        assert_eq!([0.5, 0.25, 0.0015].map(from_linear), [188, 137, 5]);
        assert!((0..=255).all(|n| from_linear(to_linear(n)) == n));
        assert_eq!(fraction_to_linear(1.0), 1.0);
        for n in 0..=255u8 {
            let exact = (f64::from(n) / 255.0 + 0.055) / 1.055;
            let library = if n < 11 { f64::from(n) / 255.0 / 12.92 } else { exact.powf(2.4) };
            assert!((f64::from(to_linear(n)) - library).abs() <= library * 6e-8, "{n}");
        }
    }
}
