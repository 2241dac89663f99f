//! Colour formats of render targets, of the 2D engine and of GF100's surface slots. Source:
//! envytools `g80_defs.xml` (G80_SURFACE_FORMAT).

use nvir_base::format::{Format, Kind, Layout};

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
    pub format: Layout,
    /// Red, green and blue are stored as sRGB.
    pub srgb: bool,
    /// What the fourth channel is.
    pub alpha: Alpha,
}

const fn linear(code: u32, format: Layout, alpha: Alpha) -> (u32, Color) {
    (code, Color { format, srgb: false, alpha })
}

const fn srgb(code: u32, format: Layout, alpha: Alpha) -> (u32, Color) {
    (code, Color { format, srgb: true, alpha })
}

const fn rgba(kind: Kind, bits: [u8; 4]) -> Layout {
    Layout { kind, bits, bgra: false }
}

const fn bgra(kind: Kind, bits: [u8; 4]) -> Layout {
    Layout { kind, bits, bgra: true }
}

/// What images do not have; the formats of images have their numbers in [`Format`].
const OTHERS: [(u32, Color); 15] = {
    use Alpha::{Ignored, Only, Plain};
    use Kind::{Float, Sint, Uint, Unorm};
    [
        linear(0xc3, rgba(Float, [32; 4]), Ignored),
        linear(0xc4, rgba(Sint, [32; 4]), Ignored),
        linear(0xc5, rgba(Uint, [32; 4]), Ignored),
        linear(0xce, rgba(Float, [16; 4]), Ignored),
        srgb(0xd0, bgra(Unorm, [8; 4]), Plain),
        srgb(0xd6, rgba(Unorm, [8; 4]), Plain),
        linear(0xdf, bgra(Unorm, [10, 10, 10, 2]), Plain),
        linear(0xe6, bgra(Unorm, [8; 4]), Ignored),
        srgb(0xe7, bgra(Unorm, [8; 4]), Ignored),
        linear(0xe8, bgra(Unorm, [5, 6, 5, 0]), Plain),
        linear(0xe9, bgra(Unorm, [5, 5, 5, 1]), Plain),
        linear(0xf7, rgba(Unorm, [8, 0, 0, 0]), Only),
        linear(0xf8, bgra(Unorm, [5, 5, 5, 1]), Ignored),
        linear(0xf9, rgba(Unorm, [8; 4]), Ignored),
        srgb(0xfa, rgba(Unorm, [8; 4]), Ignored),
    ]
};

impl Color {
    /// The format with a number.
    pub fn from_code(code: u32) -> Option<Color> {
        Color::all().find(|c| c.0 == code).map(|c| c.1)
    }

    /// Its number.
    pub fn code(self) -> Option<u32> {
        Color::all().find(|c| c.1 == self).map(|c| c.0)
    }

    /// What stores the channels of a format as they are.
    pub const fn plain(format: Layout) -> Color {
        Color { format, srgb: false, alpha: Alpha::Plain }
    }

    /// All formats with their numbers.
    pub fn all() -> impl Iterator<Item = (u32, Color)> {
        let images = Format::all().map(|f| (f.fermi_code().into(), Color::plain(f.layout())));
        images.chain(OTHERS)
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
        let plain = |name: &str| Color::plain(name.parse::<Format>().unwrap().layout()).code();
        assert_eq!((plain("rgba8"), plain("bgra8")), (Some(0xd5), Some(0xcf)));
        for bad in [0, 0xbf, 0xd3, 0xfb, 0x1d5] {
            assert_eq!(Color::from_code(bad), None, "{bad:#x}");
        }
    }
}
