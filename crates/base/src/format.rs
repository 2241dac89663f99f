//! Texel formats: what the channels of an image are and how wide.
//!
//! [`Format`] is one of the formats that images have, and nothing else; [`Layout`] is any
//! arrangement of channels, for what also render targets and textures have.

use crate::diag::{Diagnostic, Span, closest};
use std::fmt;
use std::str::FromStr;

/// How the bits of one channel are read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Fractions from 0 to 1.
    Unorm,
    /// Fractions from -1 to 1.
    Snorm,
    /// Unsigned integers.
    Uint,
    /// Signed integers.
    Sint,
    /// IEEE of 16 or 32 bits; 10 and 11 bits: the unsigned small floats.
    Float,
}

/// How a texel lies in memory: channels from the least significant bit up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// What the channels are.
    pub kind: Kind,
    /// Bits of channels r, g, b, a; 0: absent.
    pub bits: [u8; 4],
    /// The first two bytes are blue and red exchanged (`bgra8`).
    pub bgra: bool,
}

impl Layout {
    /// Bytes of a texel.
    #[inline]
    pub fn bytes(self) -> u32 {
        self.bits.iter().map(|&b| u32::from(b)).sum::<u32>() / 8
    }

    /// Channels that are present.
    #[inline]
    pub fn channels(self) -> usize {
        self.bits.iter().filter(|&&b| b != 0).count()
    }
}

/// A format of images: a row of the table below. There is no value for a format that images do not
/// have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format(u8);

/// What is known of a format.
struct Row {
    /// GL's name in lower case.
    name: &'static str,
    /// Gallium's name in lower case: `PIPE_FORMAT_R8_UINT` is `r8_uint`.
    gallium: &'static str,
    layout: Layout,
    kepler: u8,
    fermi: u8,
}

const fn row(
    name: &'static str,
    gallium: &'static str,
    kind: Kind,
    bits: [u8; 4],
    kepler: u8,
    fermi: u8,
) -> Row {
    Row { name, gallium, layout: Layout { kind, bits, bgra: false }, kepler, fermi }
}

/// The formats of images on these chips: those of Mesa's `nve4_su_format_map` (`nvc0_tex.c`), which
/// are also those that `nv50_formats` marks for images on GF100. With Kepler's number,
/// GK104_IMAGE_FORMAT of envytools' `g80_defs`, and Fermi's, G80_SURFACE_FORMAT there.
#[rustfmt::skip]
static TABLE: [Row; 40] = {
    use Kind::*;
    [
        row("rgba32f", "r32g32b32a32_float", Float, [32; 4], 0x02, 0xc0),
        row("rgba32i", "r32g32b32a32_sint", Sint, [32; 4], 0x03, 0xc1),
        row("rgba32ui", "r32g32b32a32_uint", Uint, [32; 4], 0x04, 0xc2),
        row("rgba16", "r16g16b16a16_unorm", Unorm, [16; 4], 0x08, 0xc6),
        row("rgba16_snorm", "r16g16b16a16_snorm", Snorm, [16; 4], 0x09, 0xc7),
        row("rgba16i", "r16g16b16a16_sint", Sint, [16; 4], 0x0a, 0xc8),
        row("rgba16ui", "r16g16b16a16_uint", Uint, [16; 4], 0x0b, 0xc9),
        row("rgba16f", "r16g16b16a16_float", Float, [16; 4], 0x0c, 0xca),
        row("rg32f", "r32g32_float", Float, [32, 32, 0, 0], 0x0d, 0xcb),
        row("rg32i", "r32g32_sint", Sint, [32, 32, 0, 0], 0x0e, 0xcc),
        row("rg32ui", "r32g32_uint", Uint, [32, 32, 0, 0], 0x0f, 0xcd),
        Row { layout: Layout { kind: Unorm, bits: [8; 4], bgra: true }, ..row("bgra8", "b8g8r8a8_unorm", Unorm, [8; 4], 0x11, 0xcf) },
        row("rgb10_a2", "r10g10b10a2_unorm", Unorm, [10, 10, 10, 2], 0x13, 0xd1),
        row("rgb10_a2ui", "r10g10b10a2_uint", Uint, [10, 10, 10, 2], 0x15, 0xd2),
        row("rgba8", "r8g8b8a8_unorm", Unorm, [8; 4], 0x18, 0xd5),
        row("rgba8_snorm", "r8g8b8a8_snorm", Snorm, [8; 4], 0x1a, 0xd7),
        row("rgba8i", "r8g8b8a8_sint", Sint, [8; 4], 0x1b, 0xd8),
        row("rgba8ui", "r8g8b8a8_uint", Uint, [8; 4], 0x1c, 0xd9),
        row("rg16", "r16g16_unorm", Unorm, [16, 16, 0, 0], 0x1d, 0xda),
        row("rg16_snorm", "r16g16_snorm", Snorm, [16, 16, 0, 0], 0x1e, 0xdb),
        row("rg16i", "r16g16_sint", Sint, [16, 16, 0, 0], 0x1f, 0xdc),
        row("rg16ui", "r16g16_uint", Uint, [16, 16, 0, 0], 0x20, 0xdd),
        row("rg16f", "r16g16_float", Float, [16, 16, 0, 0], 0x21, 0xde),
        row("r11f_g11f_b10f", "r11g11b10_float", Float, [11, 11, 10, 0], 0x24, 0xe0),
        row("r32i", "r32_sint", Sint, [32, 0, 0, 0], 0x27, 0xe3),
        row("r32ui", "r32_uint", Uint, [32, 0, 0, 0], 0x28, 0xe4),
        row("r32f", "r32_float", Float, [32, 0, 0, 0], 0x29, 0xe5),
        row("rg8", "r8g8_unorm", Unorm, [8, 8, 0, 0], 0x2e, 0xea),
        row("rg8_snorm", "r8g8_snorm", Snorm, [8, 8, 0, 0], 0x2f, 0xeb),
        row("rg8i", "r8g8_sint", Sint, [8, 8, 0, 0], 0x30, 0xec),
        row("rg8ui", "r8g8_uint", Uint, [8, 8, 0, 0], 0x31, 0xed),
        row("r16", "r16_unorm", Unorm, [16, 0, 0, 0], 0x32, 0xee),
        row("r16_snorm", "r16_snorm", Snorm, [16, 0, 0, 0], 0x33, 0xef),
        row("r16i", "r16_sint", Sint, [16, 0, 0, 0], 0x34, 0xf0),
        row("r16ui", "r16_uint", Uint, [16, 0, 0, 0], 0x35, 0xf1),
        row("r16f", "r16_float", Float, [16, 0, 0, 0], 0x36, 0xf2),
        row("r8", "r8_unorm", Unorm, [8, 0, 0, 0], 0x37, 0xf3),
        row("r8_snorm", "r8_snorm", Snorm, [8, 0, 0, 0], 0x38, 0xf4),
        row("r8i", "r8_sint", Sint, [8, 0, 0, 0], 0x39, 0xf5),
        row("r8ui", "r8_uint", Uint, [8, 0, 0, 0], 0x3a, 0xf6),
    ]
};

impl Format {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Format> + Clone {
        (0..TABLE.len() as u8).map(Format)
    }

    fn row(self) -> &'static Row {
        &TABLE[usize::from(self.0)]
    }

    /// How a texel lies in memory.
    pub fn layout(self) -> Layout {
        self.row().layout
    }

    /// What the channels are.
    pub fn kind(self) -> Kind {
        self.row().layout.kind
    }

    /// Bytes of a texel: 1, 2, 4, 8 or 16.
    pub fn bytes(self) -> u32 {
        self.layout().bytes()
    }

    /// Channels that are present.
    pub fn channels(self) -> usize {
        self.layout().channels()
    }

    /// GL's name in lower case: `rgba8`, `rg16i`, `r11f_g11f_b10f`; `bgra8`, which GL has no image
    /// of, is like them.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Gallium's name in lower case, as NIR's listings have it: `r8g8b8a8_unorm`.
    pub fn gallium_name(self) -> &'static str {
        self.row().gallium
    }

    /// Kepler's number of the format: bits 7:0 of the driver's format word.
    pub fn kepler_code(self) -> u8 {
        self.row().kepler
    }

    /// Fermi's number of the format, in its surface slots.
    pub fn fermi_code(self) -> u8 {
        self.row().fermi
    }

    /// The format with Gallium's name in lower case.
    pub fn from_gallium(name: &str) -> Result<Format, UnknownFormat> {
        Format::find(name, Format::gallium_name)
    }

    /// The format that TGSI calls `PIPE_FORMAT_R8_UINT`.
    pub fn from_pipe(name: &str) -> Result<Format, UnknownFormat> {
        let short = name.strip_prefix(PIPE).unwrap_or("").to_ascii_lowercase();
        Format::from_gallium(&short).map_err(|unknown| UnknownFormat {
            name: name.to_string(),
            nearest: unknown.nearest.map(|near| format!("{PIPE}{}", near.to_ascii_uppercase())),
        })
    }

    fn find(name: &str, of: fn(Format) -> &'static str) -> Result<Format, UnknownFormat> {
        Format::all().find(|&f| of(f) == name).ok_or_else(|| {
            let names: Vec<&str> = Format::all().map(of).collect();
            UnknownFormat { name: name.to_string(), nearest: closest(name, &names).map(str::to_string) }
        })
    }
}

/// What TGSI's names of formats begin with.
const PIPE: &str = "PIPE_FORMAT_";

/// A name that no format of images has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownFormat {
    /// As it was written.
    pub name: String,
    /// What was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown image format `{}`", self.name)?;
        match &self.nearest {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownFormat {}

impl UnknownFormat {
    /// As an error at a place of a text.
    pub fn at(&self, span: Span) -> Diagnostic {
        let d = Diagnostic::error(format!("unknown image format `{}`", self.name));
        d.at(span, "images of these chips do not have this format").did_you_mean(self.nearest.as_deref())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    /// GL's names in lower case: `rgba8`, `rgba8_snorm`, `r32f`, `rg16i`, `r11f_g11f_b10f`,
    /// `rgb10_a2ui`, `bgra8`.
    fn from_str(s: &str) -> Result<Format, UnknownFormat> {
        Format::find(s, Format::name)
    }
}

impl fmt::Display for Format {
    /// The name that [`Format::from_str`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_images_do_not_have_is_no_format() {
        for name in
            ["R1_UINT", "R4_UNORM", "R7_FLOAT", "R1G1B1A1_SINT", "R255_UINT", "R12_UINT", "R20G12_UINT"]
                .into_iter()
                .chain([
                    "R64_UINT",
                    "R8G8B8_UNORM",
                    "R3G3B2_UNORM",
                    "DXT1_RGB",
                    "R8_FLOAT",
                    "R32_UNORM",
                    "NONE",
                    "",
                ])
        {
            let pipe = format!("PIPE_FORMAT_{name}");
            assert_eq!(Format::from_pipe(&pipe).map_err(|e| e.name), Err(pipe));
            assert!(Format::from_gallium(&name.to_lowercase()).is_err(), "{name}");
        }
        for name in ["rgba9", "rgb8", "rgb32f", "rgba4", "r8f", "r64ui", "rgba32", "", "RGBA8"] {
            assert!(name.parse::<Format>().is_err(), "{name}");
        }
        assert!(Format::from_pipe("R8_UINT").is_err());
    }

    #[test]
    fn an_unknown_name_comes_with_the_nearest() {
        let near = |pipe: &str| Format::from_pipe(pipe).unwrap_err().nearest;
        assert_eq!(near("PIPE_FORMAT_R12_UINT").as_deref(), Some("PIPE_FORMAT_R16_UINT"));
        assert_eq!(near("PIPE_FORMAT_R8G8B8_UNORM").as_deref(), Some("PIPE_FORMAT_R8G8B8A8_UNORM"));
        assert_eq!(near("PIPE_FORMAT_ETC2_SRGB8A1"), None);
        let message = "rgba9".parse::<Format>().unwrap_err().to_string();
        assert_eq!(message, "unknown image format `rgba9`; did you mean `rgba8`?");
    }

    #[test]
    fn rows_agree_with_their_names_and_differ() {
        for f in Format::all() {
            assert_eq!(f.name().parse(), Ok(f));
            assert_eq!(Format::from_gallium(f.gallium_name()), Ok(f));
            assert_eq!(Format::from_pipe(&format!("PIPE_FORMAT_{}", f.gallium_name().to_uppercase())), Ok(f));
            // The name says what the layout is.
            let Layout { kind, bits, bgra } = f.layout();
            let letters = if bgra { "bgra" } else { "rgba" };
            let channels = letters.chars().zip(bits).filter(|c| c.1 != 0);
            let channels: String = channels.map(|(letter, bits)| format!("{letter}{bits}")).collect();
            assert_eq!(f.gallium_name(), format!("{channels}_{}", format!("{kind:?}").to_lowercase()));
            assert!(f.bytes().is_power_of_two() && f.bytes() <= 16, "{f}");
            let same = |g: &Format| g.kepler_code() == f.kepler_code() || g.fermi_code() == f.fermi_code();
            assert_eq!(Format::all().filter(same).count(), 1, "{f}");
        }
    }

    #[test]
    fn both_names_mean_the_same() {
        for (gl, gallium) in [
            ("rgba8", "r8g8b8a8_unorm"),
            ("r32ui", "r32_uint"),
            ("rg16i", "r16g16_sint"),
            ("r11f_g11f_b10f", "r11g11b10_float"),
            ("rgb10_a2", "r10g10b10a2_unorm"),
            ("bgra8", "b8g8r8a8_unorm"),
            ("rgba8_snorm", "r8g8b8a8_snorm"),
        ] {
            assert_eq!(gl.parse(), Format::from_gallium(gallium), "{gl}");
        }
    }
}
