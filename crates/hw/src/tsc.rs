//! Samplers: entries of the TSC table. Sources: NVIDIA's cl9097tex.h (TEXSAMP), whose names the
//! fields have; envytools `g80_texture.xml` (G80_TSC); Mesa `nvc0_state.c`.

use crate::field::words;
use std::str::FromStr;

words! {
    /// An entry.
    pub struct Tsc[8];

    /// What lies beyond the edge in each coordinate: [`Wrap`].
    ADDRESS[3; 3] = 0[2:0];
    /// Lookups compare.
    DEPTH_COMPARE = 0[9:9];
    /// How: [`Compare`].
    DEPTH_COMPARE_FUNC = 0[12:10];
    /// sRGB textures are converted.
    SRGB_CONVERSION = 0[13:13];
    /// 1.
    FONT_FILTER_WIDTH = 0[16:14];
    /// 1.
    FONT_FILTER_HEIGHT = 0[19:17];
    /// As in the texture header.
    MAX_ANISOTROPY = 0[22:20];
    /// Where texels are larger than pixels: [`Filter`].
    MAG_FILTER = 1[1:0];
    /// Where they are smaller.
    MIN_FILTER = 1[5:4];
    /// Between levels: [`MipFilter`].
    MIP_FILTER = 1[7:6];
    /// Filters go across the edges of a cube's faces (Kepler).
    CUBEMAP_INTERFACE_FILTERING = 1[9:9];
    /// Added to the level of detail: signed, 8 bits of fraction.
    MIP_LOD_BIAS = 1[24:12];
    /// Coordinates count texels whatever the texture says (Kepler).
    FORCE_UNNORMALIZED_COORDS = 1[25:25];
    /// Level of detail at least, 8 bits of fraction.
    MIN_LOD_CLAMP = 2[11:0];
    /// At most.
    MAX_LOD_CLAMP = 2[23:12];
    /// The border, by component: floats, or what the format has.
    BORDER_COLOR[4; 32] = 4[31:0];
}

/// How texels become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Filter {
    /// The one that the coordinate lies in.
    #[default]
    Nearest,
    /// Weighted by distance.
    Linear,
}

/// How levels become one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MipFilter {
    /// Only the first.
    #[default]
    None,
    /// The one that is nearest.
    Nearest,
    /// Weighted by distance.
    Linear,
}

/// What lies beyond the edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Wrap {
    /// The image again.
    #[default]
    Repeat,
    /// The image again, mirrored each time.
    MirroredRepeat,
    /// The texel at the edge.
    ClampToEdge,
    /// The border.
    ClampToBorder,
    /// Mirrored once, then the texel at the edge.
    MirrorClampToEdge,
    /// To the edge itself: a filter mixes the last texel and the border there.
    Clamp,
    /// Mirrored once, then the border.
    MirrorClampToBorder,
    /// Mirrored once, then half the border.
    MirrorClamp,
}

/// Comparison of a shadow lookup: reference OP texel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// Never.
    Never,
    /// If the reference is less.
    Less,
    /// If it is equal.
    Equal,
    /// If it is less or equal.
    Lequal,
    /// If it is greater.
    Greater,
    /// If it is not equal.
    Notequal,
    /// If it is greater or equal.
    Gequal,
    /// Always.
    Always,
}

impl Filter {
    /// The one with a number; what has none is nearest.
    pub const fn from_code(code: u32) -> Filter {
        if code == 2 { Filter::Linear } else { Filter::Nearest }
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        match self {
            Filter::Nearest => 1,
            Filter::Linear => 2,
        }
    }
}

impl MipFilter {
    /// The one with a number; what has none is none.
    pub const fn from_code(code: u32) -> MipFilter {
        match code {
            2 => MipFilter::Nearest,
            3 => MipFilter::Linear,
            _ => MipFilter::None,
        }
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        match self {
            MipFilter::None => 1,
            MipFilter::Nearest => 2,
            MipFilter::Linear => 3,
        }
    }
}

impl Wrap {
    /// All of them, by number.
    pub const ALL: [Wrap; 8] = [
        Wrap::Repeat,
        Wrap::MirroredRepeat,
        Wrap::ClampToEdge,
        Wrap::ClampToBorder,
        Wrap::Clamp,
        Wrap::MirrorClampToEdge,
        Wrap::MirrorClampToBorder,
        Wrap::MirrorClamp,
    ];

    /// The one with a number of three bits.
    pub const fn from_code(code: u32) -> Wrap {
        Wrap::ALL[code as usize & 7]
    }

    /// Its number.
    pub fn code(self) -> u32 {
        (0..).zip(Wrap::ALL).find(|w| w.1 == self).map_or(0, |w| w.0)
    }
}

impl Compare {
    /// All of them, by number: in the order of OpenGL.
    pub const ALL: [Compare; 8] = [
        Compare::Never,
        Compare::Less,
        Compare::Equal,
        Compare::Lequal,
        Compare::Greater,
        Compare::Notequal,
        Compare::Gequal,
        Compare::Always,
    ];

    /// The one with a number of three bits.
    pub const fn from_code(code: u32) -> Compare {
        Compare::ALL[code as usize & 7]
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

macro_rules! names {
    ($ty:ident: $($name:literal $var:ident),*) => {
        impl FromStr for $ty {
            type Err = String;
            fn from_str(s: &str) -> Result<$ty, String> {
                match s {
                    $($name => Ok($ty::$var),)*
                    _ => Err(format!("`{s}` is none of {}", [$($name),*].join(", "))),
                }
            }
        }
    };
}

names!(Filter: "nearest" Nearest, "linear" Linear);
names!(MipFilter: "none" None, "nearest" Nearest, "linear" Linear);
names!(Wrap: "repeat" Repeat, "mirrored_repeat" MirroredRepeat, "clamp_to_edge" ClampToEdge,
    "clamp_to_border" ClampToBorder, "mirror_clamp_to_edge" MirrorClampToEdge);
names!(Compare: "never" Never, "less" Less, "equal" Equal, "lequal" Lequal, "greater" Greater,
    "notequal" Notequal, "gequal" Gequal, "always" Always);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_apart_and_codes_map_both_ways() {
        crate::field::check_apart(&Tsc::fields());
        for code in 0..8 {
            assert_eq!(Wrap::from_code(code).code(), code);
            assert_eq!(Compare::from_code(code).code(), code);
        }
        for filter in [Filter::Nearest, Filter::Linear] {
            assert_eq!(Filter::from_code(filter.code()), filter);
        }
        for filter in [MipFilter::None, MipFilter::Nearest, MipFilter::Linear] {
            assert_eq!(MipFilter::from_code(filter.code()), filter);
        }
    }
}
