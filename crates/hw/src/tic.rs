//! Texture headers: entries of the TIC table, version 2, of Fermi and Kepler. Sources: NVIDIA's
//! cl9097tex.h, whose names the fields have; envytools `g80_texture.xml`; Mesa `nvc0_tex.c`
//! (`gf100_create_texture_view`).

use crate::field::words;

/// Bytes of an entry.
pub const BYTES: u64 = 32;
/// Words of an entry.
pub const WORDS: usize = 8;
/// How often longer than wide footprints are filtered with full sharpness, at most, by code.
pub const ANISOTROPY: [u32; 8] = [1, 2, 4, 6, 8, 10, 12, 16];

words! {
    /// An entry.
    pub struct Tic[8];

    /// [`crate::format::texture`].
    COMPONENT_SIZES = 0[5:0];
    /// How each component is read: [`crate::format::texture::Type`].
    DATA_TYPE[4; 3] = 0[8:6];
    /// Where each component of a result comes from: [`Source`].
    SOURCE[4; 3] = 0[20:18];
    /// Of the first byte.
    OFFSET_LOWER = 1[31:0];
    /// See there.
    OFFSET_UPPER = 2[7:0];
    /// Red, green and blue are stored as sRGB.
    SRGB_CONVERSION = 2[10:10];
    /// Quality, as the next ones.
    LOD_ANISO_QUALITY2 = 2[12:12];
    /// [`TextureType`].
    TEXTURE_TYPE = 2[17:14];
    /// 0 in blocks, 1 row by row.
    MEMORY_LAYOUT = 2[18:18];
    /// Log2, as the next ones: 0.
    GOBS_PER_BLOCK_WIDTH = 2[21:19];
    /// See there.
    GOBS_PER_BLOCK_HEIGHT = 2[24:22];
    /// See there.
    GOBS_PER_BLOCK_DEPTH = 2[27:25];
    /// 1: reads two sectors.
    SECTOR_PROMOTION = 2[29:28];
    /// 1: a border comes from the sampler.
    BORDER_SOURCE = 2[30:30];
    /// Coordinates are 0 to 1; else they count texels.
    NORMALIZED_COORDS = 2[31:31];
    /// Bytes from row to row, where they lie row by row.
    PITCH = 3[19:0];
    /// See above.
    LOD_ANISO_QUALITY = 3[20:20];
    /// See above.
    LOD_ISO_QUALITY = 3[21:21];
    /// Texels.
    WIDTH = 4[29:0];
    /// This layout of fields.
    USE_TEXTURE_HEADER_VERSION2 = 4[31:31];
    /// Texels.
    HEIGHT = 5[15:0];
    /// Slices, layers, or cubes.
    DEPTH = 5[27:16];
    /// The last level that there is.
    MAX_MIP_LEVEL = 5[31:28];
    /// Anisotropic filters: see [`Tic::MAX_ANISOTROPY`].
    ANISO_FINE_SPREAD_FUNC = 6[24:23];
    /// See there.
    ANISO_COARSE_SPREAD_FUNC = 6[26:25];
    /// [`ANISOTROPY`] to 1.
    MAX_ANISOTROPY = 6[29:27];
    /// The first level that is seen.
    RES_VIEW_MIN_MIP_LEVEL = 7[3:0];
    /// The last.
    RES_VIEW_MAX_MIP_LEVEL = 7[7:4];
    /// [`crate::samples::Mode`].
    MULTI_SAMPLE_COUNT = 7[15:12];
    /// Level of detail at least, 8 bits of fraction.
    MIN_LOD_CLAMP = 7[27:16];
}

impl Tic {
    /// Of the first byte: 40 bits.
    pub const fn address(&self) -> u64 {
        (self.get(Tic::OFFSET_UPPER) as u64) << 32 | self.get(Tic::OFFSET_LOWER) as u64
    }

    /// Sets it.
    pub fn set_address(&mut self, address: u64) -> &mut Tic {
        self.set(Tic::OFFSET_LOWER, address as u32).set(Tic::OFFSET_UPPER, (address >> 32) as u32 & 0xff)
    }
}

/// The shape of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are the meaning")]
pub enum TextureType {
    D1 = 0,
    D2 = 1,
    D3 = 2,
    Cube = 3,
    D1Array = 4,
    D2Array = 5,
    Buffer = 6,
    /// Row by row.
    D2NoMipmap = 7,
    CubeArray = 8,
}

impl TextureType {
    /// All of them, by number.
    pub const ALL: [TextureType; 9] = [
        TextureType::D1,
        TextureType::D2,
        TextureType::D3,
        TextureType::Cube,
        TextureType::D1Array,
        TextureType::D2Array,
        TextureType::Buffer,
        TextureType::D2NoMipmap,
        TextureType::CubeArray,
    ];

    /// The one with a number.
    pub fn from_code(code: u32) -> Option<TextureType> {
        TextureType::ALL.get(code as usize).copied()
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// Where a component of a lookup's result comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// Zero.
    Zero,
    /// Of the texel: 0 to 3.
    Channel(u8),
    /// The integer 1.
    OneInt,
    /// The float 1.
    OneFloat,
}

impl Source {
    /// Each channel from itself.
    pub const IDENTITY: [Source; 4] =
        [Source::Channel(0), Source::Channel(1), Source::Channel(2), Source::Channel(3)];

    /// The one with a number.
    pub const fn from_code(code: u32) -> Option<Source> {
        Some(match code {
            0 => Source::Zero,
            2..=5 => Source::Channel(code as u8 - 2),
            6 => Source::OneInt,
            7 => Source::OneFloat,
            _ => return None,
        })
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        match self {
            Source::Zero => 0,
            Source::Channel(n) => 2 + n as u32,
            Source::OneInt => 6,
            Source::OneFloat => 7,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_apart_and_codes_map_both_ways() {
        crate::field::check_apart(&Tic::fields());
        for code in 0..16 {
            assert!(TextureType::from_code(code).is_none_or(|t| t.code() == code));
        }
        assert_eq!((0..16).filter_map(TextureType::from_code).count(), 9);
        for code in 0..8 {
            assert!(Source::from_code(code).is_none_or(|s| s.code() == code));
        }
        assert_eq!((0..8).filter_map(Source::from_code).count(), 7);
        let mut t = Tic::default();
        assert_eq!(t.set_address(0xff_1234_5678).address(), 0xff_1234_5678);
        t.set(Tic::SOURCE.at(3), 7).set(Tic::DATA_TYPE.at(1), 2);
        assert_eq!(t.0[..3], [7 << 27 | 2 << 9, 0x1234_5678, 0xff]);
    }
}
