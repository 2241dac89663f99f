//! Formats of depth buffers. Source: envytools `g80_defs.xml` (G80_ZETA_FORMAT).

/// Depth and stencil of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Zeta {
    /// Depth as a float.
    Z32 = 0x0a,
    /// Depth of 16 bits.
    Z16 = 0x13,
    /// Stencil in the low byte.
    S8Z24 = 0x14,
    /// Depth in the lower bits, and nothing above.
    Z24X8 = 0x15,
    /// Stencil in the high byte.
    Z24S8 = 0x16,
    /// Depth as a float; stencil in the first byte of the second word.
    Z32S8 = 0x19,
}

impl Zeta {
    /// All formats.
    pub const ALL: [Zeta; 6] = [Zeta::Z32, Zeta::Z16, Zeta::S8Z24, Zeta::Z24X8, Zeta::Z24S8, Zeta::Z32S8];

    /// The format with a number.
    pub fn from_code(code: u32) -> Option<Zeta> {
        Zeta::ALL.into_iter().find(|z| z.code() == code)
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// Its name: depth and stencil from the lowest bit on.
    pub const fn name(self) -> &'static str {
        match self {
            Zeta::Z32 => "z32f",
            Zeta::Z16 => "z16",
            Zeta::S8Z24 => "s8z24",
            Zeta::Z24X8 => "z24x8",
            Zeta::Z24S8 => "z24s8",
            Zeta::Z32S8 => "z32f_s8",
        }
    }

    /// The format with a name.
    pub fn from_name(name: &str) -> Option<Zeta> {
        Zeta::ALL.into_iter().find(|z| z.name() == name)
    }

    /// The format of colours, by GL's name, that has the same bits.
    pub const fn texels(self) -> &'static str {
        match self {
            Zeta::Z16 => "r16",
            Zeta::Z32 => "r32f",
            Zeta::S8Z24 | Zeta::Z24X8 | Zeta::Z24S8 => "r32ui",
            Zeta::Z32S8 => "rg32ui",
        }
    }

    /// Bytes of a texel.
    pub const fn bytes(self) -> usize {
        match self {
            Zeta::Z16 => 2,
            Zeta::Z32 | Zeta::S8Z24 | Zeta::Z24X8 | Zeta::Z24S8 => 4,
            Zeta::Z32S8 => 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Zeta;

    #[test]
    fn codes_map_both_ways() {
        assert!(Zeta::ALL.iter().all(|&z| Zeta::from_code(z.code()) == Some(z)));
        assert_eq!((0..0x100).filter_map(Zeta::from_code).count(), Zeta::ALL.len());
        for z in Zeta::ALL {
            assert_eq!(Zeta::from_name(z.name()), Some(z));
            let texels: nvir_base::format::Format = z.texels().parse().unwrap();
            assert_eq!(texels.bytes() as usize, z.bytes());
        }
    }
}
