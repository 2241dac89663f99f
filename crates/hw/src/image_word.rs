//! The 16 words of an image in the driver's constant bank, by which compiled code finds its texels.
//! Source: Mesa 22.3.6 `nvc0_program.h` (NVC0_SU_INFO), `nvc0_tex.c` (`nve4_set_surface_info`,
//! `nvc0_set_surface_info`).

/// How many there are.
pub const COUNT: usize = 16;
/// Their bytes.
pub const BYTES: usize = 4 * COUNT;

/// The address / 256.
pub const ADDRESS: usize = 0;
/// Kepler: [`crate::format::image::word`].
pub const FORMAT: usize = 1;
/// Clamping (Kepler) or tiling (GF100) of each coordinate.
pub const DIM: [usize; 3] = [2, 4, 6];
/// Kepler: bytes of a row / 64, or texels where rows follow each other.
pub const PITCH: usize = 3;
/// Bytes from a layer to the next / 256.
pub const ARRAY: usize = 5;
/// Kepler: bit 0 three dimensions, 31:16 the first slice. GF100: the first slice.
pub const LAYER: usize = 7;
/// Width, height, depth or layers.
pub const SIZE: usize = 8;
/// Kepler: what kind of image it is.
pub const TARGET: usize = 11;
/// Bytes of a texel; on GF100 their logarithm.
pub const TEXEL: usize = 12;
/// Kepler: clamping of a first coordinate that counts bytes.
pub const CLAMP_BYTES: usize = 13;
/// Log2 of a pixel's samples in x.
pub const MS_X: usize = 14;
/// In y.
pub const MS_Y: usize = 15;

/// The byte that a word begins with.
pub const fn byte(word: usize) -> u32 {
    4 * word as u32
}
