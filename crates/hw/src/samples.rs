//! Samples of a pixel: where they lie in an image, and where in the pixel.

/// Where samples 0 to 7 lie in the grid of a pixel (Mesa's driver writes this table at byte 0xc0 of its bank).
pub const SAMPLE_POSITIONS: [(u32, u32); 8] =
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)];

/// Where a sample of a pixel with 1, 2, 4 or 8 samples lies, from the pixel's corner; the pixel has size 1. What there is no
/// such sample of lies in the middle. Source: Mesa 22.3.6, nvc0_context.c (`nvc0_context_get_sample_position`).
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
