//! Texel formats: what the channels of an image are and how wide.

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

/// A texel format: channels from the least significant bit up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// What the channels are.
    pub kind: Kind,
    /// Bits of channels r, g, b, a; 0: absent.
    pub bits: [u8; 4],
    /// The first two bytes are blue and red exchanged (`bgra8`).
    pub bgra: bool,
}

impl Format {
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

impl FromStr for Format {
    type Err = String;

    /// GL's names in lower case: `rgba8`, `rgba8_snorm`, `r32f`, `rg16i`, `r11f_g11f_b10f`, `rgb10_a2ui`, `bgra8`.
    fn from_str(s: &str) -> Result<Format, String> {
        let special = |kind, bits| Ok(Format { kind, bits, bgra: false });
        match s {
            "r11f_g11f_b10f" => return special(Kind::Float, [11, 11, 10, 0]),
            "rgb10_a2" => return special(Kind::Unorm, [10, 10, 10, 2]),
            "rgb10_a2ui" => return special(Kind::Uint, [10, 10, 10, 2]),
            "bgra8" => return Ok(Format { kind: Kind::Unorm, bits: [8; 4], bgra: true }),
            _ => {}
        }
        let bad = || format!("unknown image format `{s}`");
        let letters = s.find(|c: char| c.is_ascii_digit()).ok_or_else(bad)?;
        let channels = match &s[..letters] {
            "r" => 1,
            "rg" => 2,
            "rgb" => 3,
            "rgba" => 4,
            _ => return Err(bad()),
        };
        let rest = &s[letters..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let bits: u8 = rest[..digits].parse().map_err(|_| bad())?;
        let kind = match (&rest[digits..], bits) {
            ("", 8 | 16) => Kind::Unorm,
            ("_snorm", 8 | 16) => Kind::Snorm,
            ("ui", 8 | 16 | 32) => Kind::Uint,
            ("i", 8 | 16 | 32) => Kind::Sint,
            ("f", 16 | 32) => Kind::Float,
            _ => return Err(bad()),
        };
        let mut all = [0; 4];
        all[..channels].fill(bits);
        special(kind, all)
    }
}

impl fmt::Display for Format {
    /// The name that [`Format::from_str`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind, self.bits) {
            (Kind::Float, [11, 11, 10, 0]) => return f.write_str("r11f_g11f_b10f"),
            (Kind::Unorm, [10, 10, 10, 2]) => return f.write_str("rgb10_a2"),
            (Kind::Uint, [10, 10, 10, 2]) => return f.write_str("rgb10_a2ui"),
            _ => {}
        }
        let suffix = match self.kind {
            Kind::Unorm => "",
            Kind::Snorm => "_snorm",
            Kind::Uint => "ui",
            Kind::Sint => "i",
            Kind::Float => "f",
        };
        let channels = if self.bgra { "bgra" } else { &"rgba"[..self.channels()] };
        write!(f, "{channels}{}{suffix}", self.bits[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_its_format() {
        for name in [
            "rgba8",
            "rgba8_snorm",
            "r32f",
            "rg16i",
            "r11f_g11f_b10f",
            "rgb10_a2",
            "rgb10_a2ui",
            "bgra8",
            "rgba32ui",
        ] {
            let format: Format = name.parse().expect("a known name");
            assert_eq!(format.to_string(), name);
        }
        assert!("rgba9".parse::<Format>().is_err());
    }
}
