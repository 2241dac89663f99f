//! Formats of Kepler's images, as the words of an image name them. Source: envytools `g80_defs.xml`
//! (GK104_IMAGE_FORMAT).

use nvir_base::format::{Format, Kind};

/// GK104_IMAGE_FORMAT of envytools' `g80_defs`: number, kind, bits of a channel, channels.
const CODES: [(u8, Kind, u8, u8); 36] = {
    use Kind::*;
    [
        (0x02, Float, 32, 4),
        (0x03, Sint, 32, 4),
        (0x04, Uint, 32, 4),
        (0x08, Unorm, 16, 4),
        (0x09, Snorm, 16, 4),
        (0x0a, Sint, 16, 4),
        (0x0b, Uint, 16, 4),
        (0x0c, Float, 16, 4),
        (0x0d, Float, 32, 2),
        (0x0e, Sint, 32, 2),
        (0x0f, Uint, 32, 2),
        (0x18, Unorm, 8, 4),
        (0x1a, Snorm, 8, 4),
        (0x1b, Sint, 8, 4),
        (0x1c, Uint, 8, 4),
        (0x1d, Unorm, 16, 2),
        (0x1e, Snorm, 16, 2),
        (0x1f, Sint, 16, 2),
        (0x20, Uint, 16, 2),
        (0x21, Float, 16, 2),
        (0x27, Sint, 32, 1),
        (0x28, Uint, 32, 1),
        (0x29, Float, 32, 1),
        (0x2e, Unorm, 8, 2),
        (0x2f, Snorm, 8, 2),
        (0x30, Sint, 8, 2),
        (0x31, Uint, 8, 2),
        (0x32, Unorm, 16, 1),
        (0x33, Snorm, 16, 1),
        (0x34, Sint, 16, 1),
        (0x35, Uint, 16, 1),
        (0x36, Float, 16, 1),
        (0x37, Unorm, 8, 1),
        (0x38, Snorm, 8, 1),
        (0x39, Sint, 8, 1),
        (0x3a, Uint, 8, 1),
    ]
};

/// Formats whose channels are not alike.
const PACKED: [(u8, Format); 4] = [
    (BGRA8, Format { kind: Kind::Unorm, bits: [8; 4], bgra: true }),
    (RGB10_A2, Format { kind: Kind::Unorm, bits: [10, 10, 10, 2], bgra: false }),
    (RGB10_A2UI, Format { kind: Kind::Uint, bits: [10, 10, 10, 2], bgra: false }),
    (R11G11B10F, Format { kind: Kind::Float, bits: [11, 11, 10, 0], bgra: false }),
];
/// GL's BGRA8.
pub const BGRA8: u8 = 0x11;
/// GL's RGB10_A2.
pub const RGB10_A2: u8 = 0x13;
/// GL's RGB10_A2UI.
pub const RGB10_A2UI: u8 = 0x15;
/// GL's R11F_G11F_B10F.
pub const R11G11B10F: u8 = 0x24;

/// Every format with its number.
pub fn formats() -> impl Iterator<Item = (u8, Format)> {
    let plain = CODES.iter().map(|&(code, kind, bits, channels)| {
        let bits = std::array::from_fn(|i| if i < channels.into() { bits } else { 0 });
        (code, Format { kind, bits, bgra: false })
    });
    plain.chain(PACKED)
}

/// The format that a format word names.
pub fn format_of(word: u32) -> Option<Format> {
    let code = (word & 0xff) as u8;
    formats().find(|f| f.0 == code).map(|f| f.1)
}

/// Word 1: number, what a channel and how many they are (packed formats as four of 8 bits), bytes
/// of a texel. `None`: images cannot have this format.
pub fn word(format: Format) -> Option<u32> {
    let code = u32::from(formats().find(|f| f.1 == format)?.0);
    let (bits, channels) = match format.bits {
        [10 | 11, ..] => (8, 4),
        [bits, ..] => (bits, format.channels()),
    };
    let size = match bits {
        32 => 0,
        16 => 1,
        _ => 2,
    };
    let count = [0, 0, 1, 0, 2][channels];
    Some(code | (size | count << 2) << 8 | 0x4000 | format.bytes().trailing_zeros() << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_number_of_its_own() {
        for (code, f) in formats() {
            assert_eq!(format_of(code.into()), Some(f));
            assert_eq!(formats().filter(|g| g.1 == f).count(), 1, "{f}");
            assert_eq!(word(f).map(|w| w & 0xff), Some(code.into()));
        }
        assert_eq!(formats().count(), 40);
    }

    #[test]
    fn format_words_are_the_drivers() {
        for (name, expected) in [
            ("rgba32f", 0x44802),
            ("rgba16i", 0x3490a),
            ("rg32ui", 0x3440f),
            ("rgb10_a2", 0x24a13),
            ("bgra8", 0x24a11),
            ("rgba8", 0x24a18),
            ("r11f_g11f_b10f", 0x24a24),
            ("rg16f", 0x24521),
            ("r32ui", 0x24028),
            ("rg8i", 0x14630),
            ("r16f", 0x14136),
            ("r8ui", 0x0423a),
        ] {
            assert_eq!(word(name.parse().unwrap()), Some(expected), "{name}");
        }
        assert_eq!(word("rgb32f".parse().unwrap()), None);
    }
}
