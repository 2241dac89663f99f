//! Formats of texture headers: sizes of the components that follow each other from the lowest bit
//! on, and a type for each. Sources: envytools `g80_texture.xml`, NVIDIA's cl9097tex.h.

use nvir_base::format::Kind;

/// How a block of 4 by 4 texels is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are the meaning")]
pub enum Scheme {
    Dxt1,
    Dxt23,
    Dxt45,
    Rgtc1,
    Rgtc2,
    Bc6hSigned,
    Bc6hUnsigned,
    Bc7,
}

/// What the number of component sizes says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sizes {
    /// Bits of each component; the one that depth comparisons read.
    Fields(&'static [u8], usize),
    /// Blocks of 4 by 4 texels.
    Compressed(Scheme),
    /// Three mantissas of nine bits with one exponent.
    SharedExponent,
    /// Two texels that share two of three components: the byte of red, green and blue of each.
    Shared([[u32; 3]; 2]),
}

use Sizes::{Compressed, Fields, Shared, SharedExponent};

/// By number. Where several have the same sizes, the first is the one for colours.
const SIZES: [(u32, Sizes); 38] = [
    (0x01, Fields(&[32, 32, 32, 32], 0)),
    (0x02, Fields(&[32, 32, 32], 0)),
    (0x03, Fields(&[16, 16, 16, 16], 0)),
    (0x04, Fields(&[32, 32], 0)),
    (0x05, Fields(&[32, 8, 24], 0)),
    (0x08, Fields(&[8, 8, 8, 8], 0)),
    (0x09, Fields(&[10, 10, 10, 2], 0)),
    (0x0c, Fields(&[16, 16], 0)),
    (0x0d, Fields(&[24, 8], 0)),
    (0x0e, Fields(&[8, 24], 0)),
    (0x0f, Fields(&[32], 0)),
    (0x10, Compressed(Scheme::Bc6hSigned)),
    (0x11, Compressed(Scheme::Bc6hUnsigned)),
    (0x12, Fields(&[4, 4, 4, 4], 0)),
    (0x13, Fields(&[1, 5, 5, 5], 0)),
    (0x14, Fields(&[5, 5, 5, 1], 0)),
    (0x15, Fields(&[5, 6, 5], 0)),
    (0x16, Fields(&[5, 5, 6], 0)),
    (0x17, Compressed(Scheme::Bc7)),
    (0x18, Fields(&[8, 8], 0)),
    (0x1b, Fields(&[16], 0)),
    (0x1d, Fields(&[8], 0)),
    (0x1e, Fields(&[4, 4], 0)),
    (0x20, SharedExponent),
    (0x21, Fields(&[11, 11, 10], 0)),
    // Bytes: red, green, blue, green; green, red, green, blue.
    (0x22, Shared([[0, 1, 2], [0, 3, 2]])),
    (0x23, Shared([[1, 0, 3], [1, 2, 3]])),
    (0x24, Compressed(Scheme::Dxt1)),
    (0x25, Compressed(Scheme::Dxt23)),
    (0x26, Compressed(Scheme::Dxt45)),
    (0x27, Compressed(Scheme::Rgtc1)),
    (0x28, Compressed(Scheme::Rgtc2)),
    // Depth in the upper bits.
    (0x29, Fields(&[8, 24], 1)),
    (0x2a, Fields(&[24, 8], 0)),
    (0x2b, Fields(&[24, 8], 0)),
    (0x2f, Fields(&[32], 0)),
    (0x30, Fields(&[32, 8, 24], 0)),
    (0x3a, Fields(&[16], 0)),
];

impl Sizes {
    /// What a number says.
    pub fn from_code(code: u32) -> Option<Sizes> {
        SIZES.binary_search_by_key(&code, |s| s.0).ok().map(|i| SIZES[i].1)
    }

    /// The number of components of these bits; absent ones, at the end, have 0.
    pub fn code(bits: [u8; 4]) -> Option<u32> {
        let count = bits.iter().position(|&b| b == 0).unwrap_or(4);
        SIZES.iter().find(|s| matches!(s.1, Fields(b, _) if *b == bits[..count])).map(|s| s.0)
    }
}

/// How a component is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type(pub Kind);

impl Type {
    /// The type with a number; 5 and 6 are 1 and 2 in half precision.
    pub const fn from_code(code: u32) -> Option<Type> {
        Some(Type(match code {
            1 | 5 => Kind::Snorm,
            2 | 6 => Kind::Unorm,
            3 => Kind::Sint,
            4 => Kind::Uint,
            7 => Kind::Float,
            _ => return None,
        }))
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        match self.0 {
            Kind::Snorm => 1,
            Kind::Unorm => 2,
            Kind::Sint => 3,
            Kind::Uint => 4,
            Kind::Float => 7,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_map_both_ways() {
        assert!(SIZES.is_sorted_by(|a, b| a.0 < b.0));
        for code in 0..0x40 {
            let Some(Fields(bits, _)) = Sizes::from_code(code) else { continue };
            let mut all = [0; 4];
            all[..bits.len()].copy_from_slice(bits);
            let first = Sizes::code(all).expect("it is there");
            assert!(first <= code);
            assert!(matches!(Sizes::from_code(first), Some(Fields(b, _)) if b == bits), "{code:#x}");
        }
        assert_eq!(Sizes::code([8, 24, 0, 0]), Some(0x0e));
        assert_eq!((Sizes::code([8, 8, 8, 0]), Sizes::from_code(0x3f)), (None, None));
        for code in 0..8 {
            assert!(Type::from_code(code).is_none_or(|t| Type::from_code(t.code()) == Some(t)));
        }
    }
}
