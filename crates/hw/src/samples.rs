//! Samples of a pixel: how many there are in which mode, the grid of texels that holds them, and
//! where they lie. Sources: NVIDIA's cl9097.h (SET_ANTI_ALIAS), Mesa 22.3.6 `nvc0_context.c`
//! (`nvc0_context_get_sample_position`).

/// What a mode is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// Its number: `MULTISAMPLE_MODE`, and in texture headers.
    pub code: u32,
    /// Samples of a pixel that have a colour of their own.
    pub samples: u32,
    /// Log2 of the texels of a pixel in x and y.
    pub grid: (u32, u32),
}

/// All modes. Those that the driver chooses come first; then Direct3D's order, 16 samples, and
/// samples for coverage only.
const MODES: [Mode; 11] = [
    Mode { code: 0x0, samples: 1, grid: (0, 0) },
    Mode { code: 0x1, samples: 2, grid: (1, 0) },
    Mode { code: 0x2, samples: 4, grid: (1, 1) },
    Mode { code: 0x3, samples: 8, grid: (2, 1) },
    Mode { code: 0x4, samples: 8, grid: (2, 1) },
    Mode { code: 0x5, samples: 2, grid: (1, 0) },
    Mode { code: 0x6, samples: 16, grid: (2, 2) },
    Mode { code: 0x8, samples: 4, grid: (1, 1) },
    Mode { code: 0x9, samples: 4, grid: (1, 1) },
    Mode { code: 0xa, samples: 8, grid: (2, 1) },
    Mode { code: 0xb, samples: 8, grid: (2, 1) },
];

impl Mode {
    /// The mode with a number; what has none is that of one sample.
    pub fn from_code(code: u32) -> Mode {
        MODES.into_iter().find(|m| m.code == code).unwrap_or(MODES[0])
    }

    /// The mode for at least so many samples; 8 are the most.
    pub const fn of(samples: u32) -> Mode {
        MODES[match samples {
            0 | 1 => 0,
            2 => 1,
            3 | 4 => 2,
            _ => 3,
        }]
    }
}

/// Where samples 0 to 7 lie in the grid of a pixel (Mesa's driver writes this table at byte 0xc0 of
/// its bank).
pub const SAMPLE_POSITIONS: [(u32, u32); 8] =
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)];

/// Where a sample of a pixel with 1, 2, 4 or 8 samples lies, from the pixel's corner; the pixel has
/// size 1. What there is no such sample of lies in the middle.
pub fn sample_position(samples: u32, sample: u32) -> [f32; 2] {
    const TWO: &[[u8; 2]] = &[[4, 4], [12, 12]];
    const FOUR: &[[u8; 2]] = &[[6, 2], [14, 6], [2, 10], [10, 14]];
    const EIGHT: &[[u8; 2]] = &[[1, 7], [5, 3], [3, 13], [7, 11], [9, 5], [15, 1], [11, 15], [13, 9]];
    let table = match samples {
        2 => TWO,
        4 => FOUR,
        8 => EIGHT,
        _ => &[],
    };
    table.get(sample as usize).unwrap_or(&[8, 8]).map(|v| f32::from(v) / 16.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_hold_their_samples() {
        for m in MODES {
            assert_eq!(1 << (m.grid.0 + m.grid.1), m.samples);
            assert_eq!(Mode::from_code(m.code), m);
        }
        for samples in [1, 2, 4, 8] {
            assert_eq!(Mode::of(samples).samples, samples);
            let (x, y) = Mode::of(samples).grid;
            assert!(SAMPLE_POSITIONS[..samples as usize].iter().all(|s| s.0 < 1 << x && s.1 < 1 << y));
        }
        assert_eq!((Mode::from_code(7).samples, Mode::from_code(15).samples), (1, 1));
        assert_eq!((sample_position(4, 1), sample_position(4, 4)), ([14.0 / 16.0, 6.0 / 16.0], [0.5, 0.5]));
    }
}
