//! Colour formats of render targets, of the 2D engine and of GF100's surface slots. Source:
//! envytools `g80_defs.xml` (G80_SURFACE_FORMAT).

use nvir_base::format::{Format, Kind};

/// What the bits beside red, green and blue are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Alpha {
    /// As the format says.
    Plain,
    /// They are no channel: alpha is one.
    Ignored,
    /// Alpha is all there is.
    Only,
}

/// How texels are stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Color {
    /// Channels from the lowest bit on.
    pub format: Format,
    /// Red, green and blue are stored as sRGB.
    pub srgb: bool,
    /// What the fourth channel is.
    pub alpha: Alpha,
}

/// The lowest number.
const FIRST: u32 = 0xc0;
/// How many numbers there are from it on.
const COUNT: usize = 0x3b;

/// A format by its number less [`FIRST`].
const COLORS: [Option<Color>; COUNT] = {
    use Alpha::{Ignored, Only, Plain};
    use Kind::{Float, Sint, Snorm, Uint, Unorm};
    const RGBA: bool = false;
    const BGRA: bool = true;
    const SRGB: bool = true;
    const LINEAR: bool = false;
    let mut all = [None; COUNT];
    let table = [
        (0xc0, Float, [32; 4], RGBA, LINEAR, Plain),
        (0xc1, Sint, [32; 4], RGBA, LINEAR, Plain),
        (0xc2, Uint, [32; 4], RGBA, LINEAR, Plain),
        (0xc3, Float, [32; 4], RGBA, LINEAR, Ignored),
        (0xc4, Sint, [32; 4], RGBA, LINEAR, Ignored),
        (0xc5, Uint, [32; 4], RGBA, LINEAR, Ignored),
        (0xc6, Unorm, [16; 4], RGBA, LINEAR, Plain),
        (0xc7, Snorm, [16; 4], RGBA, LINEAR, Plain),
        (0xc8, Sint, [16; 4], RGBA, LINEAR, Plain),
        (0xc9, Uint, [16; 4], RGBA, LINEAR, Plain),
        (0xca, Float, [16; 4], RGBA, LINEAR, Plain),
        (0xcb, Float, [32, 32, 0, 0], RGBA, LINEAR, Plain),
        (0xcc, Sint, [32, 32, 0, 0], RGBA, LINEAR, Plain),
        (0xcd, Uint, [32, 32, 0, 0], RGBA, LINEAR, Plain),
        (0xce, Float, [16; 4], RGBA, LINEAR, Ignored),
        (0xcf, Unorm, [8; 4], BGRA, LINEAR, Plain),
        (0xd0, Unorm, [8; 4], BGRA, SRGB, Plain),
        (0xd1, Unorm, [10, 10, 10, 2], RGBA, LINEAR, Plain),
        (0xd2, Uint, [10, 10, 10, 2], RGBA, LINEAR, Plain),
        (0xd5, Unorm, [8; 4], RGBA, LINEAR, Plain),
        (0xd6, Unorm, [8; 4], RGBA, SRGB, Plain),
        (0xd7, Snorm, [8; 4], RGBA, LINEAR, Plain),
        (0xd8, Sint, [8; 4], RGBA, LINEAR, Plain),
        (0xd9, Uint, [8; 4], RGBA, LINEAR, Plain),
        (0xda, Unorm, [16, 16, 0, 0], RGBA, LINEAR, Plain),
        (0xdb, Snorm, [16, 16, 0, 0], RGBA, LINEAR, Plain),
        (0xdc, Sint, [16, 16, 0, 0], RGBA, LINEAR, Plain),
        (0xdd, Uint, [16, 16, 0, 0], RGBA, LINEAR, Plain),
        (0xde, Float, [16, 16, 0, 0], RGBA, LINEAR, Plain),
        (0xdf, Unorm, [10, 10, 10, 2], BGRA, LINEAR, Plain),
        (0xe0, Float, [11, 11, 10, 0], RGBA, LINEAR, Plain),
        (0xe3, Sint, [32, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xe4, Uint, [32, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xe5, Float, [32, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xe6, Unorm, [8; 4], BGRA, LINEAR, Ignored),
        (0xe7, Unorm, [8; 4], BGRA, SRGB, Ignored),
        (0xe8, Unorm, [5, 6, 5, 0], BGRA, LINEAR, Plain),
        (0xe9, Unorm, [5, 5, 5, 1], BGRA, LINEAR, Plain),
        (0xea, Unorm, [8, 8, 0, 0], RGBA, LINEAR, Plain),
        (0xeb, Snorm, [8, 8, 0, 0], RGBA, LINEAR, Plain),
        (0xec, Sint, [8, 8, 0, 0], RGBA, LINEAR, Plain),
        (0xed, Uint, [8, 8, 0, 0], RGBA, LINEAR, Plain),
        (0xee, Unorm, [16, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xef, Snorm, [16, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xf0, Sint, [16, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xf1, Uint, [16, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xf2, Float, [16, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xf3, Unorm, [8, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xf4, Snorm, [8, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xf5, Sint, [8, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xf6, Uint, [8, 0, 0, 0], RGBA, LINEAR, Plain),
        (0xf7, Unorm, [8, 0, 0, 0], RGBA, LINEAR, Only),
        (0xf8, Unorm, [5, 5, 5, 1], BGRA, LINEAR, Ignored),
        (0xf9, Unorm, [8; 4], RGBA, LINEAR, Ignored),
        (0xfa, Unorm, [8; 4], RGBA, SRGB, Ignored),
    ];
    let mut i = 0;
    while i < table.len() {
        let (code, kind, bits, bgra, srgb, alpha) = table[i];
        assert!(all[code - FIRST as usize].is_none(), "two formats have the same number");
        all[code - FIRST as usize] = Some(Color { format: Format { kind, bits, bgra }, srgb, alpha });
        i += 1;
    }
    all
};

impl Color {
    /// The format with a number.
    pub fn from_code(code: u32) -> Option<Color> {
        *COLORS.get(code.checked_sub(FIRST)? as usize)?
    }

    /// Its number.
    pub fn code(self) -> Option<u32> {
        (FIRST..).zip(COLORS).find(|c| c.1 == Some(self)).map(|c| c.0)
    }

    /// What stores the channels of a format as they are.
    pub const fn plain(format: Format) -> Color {
        Color { format, srgb: false, alpha: Alpha::Plain }
    }

    /// All formats with their numbers.
    pub fn all() -> impl Iterator<Item = (u32, Color)> {
        (FIRST..).zip(COLORS).filter_map(|(code, color)| Some((code, color?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_map_both_ways() {
        for (code, color) in Color::all() {
            assert_eq!((Color::from_code(code), color.code()), (Some(color), Some(code)));
        }
        assert_eq!(Color::all().count(), 55);
        assert_eq!(Color::plain("rgba8".parse().unwrap()).code(), Some(0xd5));
        assert_eq!(Color::plain("bgra8".parse().unwrap()).code(), Some(0xcf));
        for bad in [0, 0xbf, 0xd3, 0xfb, 0x1d5] {
            assert_eq!(Color::from_code(bad), None, "{bad:#x}");
        }
    }
}
