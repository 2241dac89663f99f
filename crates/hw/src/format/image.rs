//! Formats of Kepler's images, as the words of an image name them: [`Format`] has their numbers.

use nvir_base::format::Format;

/// The format that a format word names.
pub fn format_of(word: u32) -> Option<Format> {
    let code = (word & 0xff) as u8;
    Format::all().find(|f| f.kepler_code() == code)
}

/// Word 1: number, what a channel and how many they are (packed formats as four of 8 bits), bytes
/// of a texel.
pub fn word(format: Format) -> u32 {
    let code = u32::from(format.kepler_code());
    let (bits, channels) = match format.layout().bits {
        [10 | 11, ..] => (8, 4),
        [bits, ..] => (bits, format.channels()),
    };
    let size = match bits {
        32 => 0,
        16 => 1,
        _ => 2,
    };
    let count = [0, 0, 1, 0, 2][channels];
    code | (size | count << 2) << 8 | 0x4000 | format.bytes().trailing_zeros() << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_word_names_its_format() {
        for f in Format::all() {
            assert_eq!(format_of(word(f)), Some(f));
        }
        assert_eq!((format_of(0), format_of(0x10)), (None, None));
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
            assert_eq!(word(name.parse().unwrap()), expected, "{name}");
        }
    }
}
