//! Formats of vertex attributes: `VERTEX_ATTRIB_FORMAT`. Sources: rnndb `gf100_3d.xml`, NVIDIA's
//! cl9097.h (SET_VERTEX_ATTRIBUTE_A).

use bitfield_struct::bitfield;
use std::fmt;
use std::str::FromStr;

/// `VERTEX_ATTRIB_FORMAT`.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Attribute {
    /// The array that it is read from.
    #[bits(5)]
    pub array: u32,
    __: bool,
    /// It has the value that `VTX_ATTR_DEFINE` gave, for all vertices.
    pub constant: bool,
    /// Bytes from the start of an element.
    #[bits(14)]
    pub offset: u32,
    /// [`bits`].
    #[bits(6)]
    pub size: u32,
    /// [`Type`].
    #[bits(3)]
    pub ty: u32,
    __: bool,
    /// Red and blue are exchanged.
    pub bgra: bool,
}

/// Sizes of the components from x on, by number.
const SIZES: [(u32, [u8; 4]); 14] = [
    (0x01, [32, 32, 32, 32]),
    (0x02, [32, 32, 32, 0]),
    (0x03, [16, 16, 16, 16]),
    (0x04, [32, 32, 0, 0]),
    (0x05, [16, 16, 16, 0]),
    (0x0a, [8, 8, 8, 8]),
    (0x0f, [16, 16, 0, 0]),
    (0x12, [32, 0, 0, 0]),
    (0x13, [8, 8, 8, 0]),
    (0x18, [8, 8, 0, 0]),
    (0x1b, [16, 0, 0, 0]),
    (0x1d, [8, 0, 0, 0]),
    (0x30, [10, 10, 10, 2]),
    (0x31, [11, 11, 10, 0]),
];

/// Bits of the components, x in the lowest; absent ones have 0.
pub fn bits(size: u32) -> Option<[u8; 4]> {
    SIZES.binary_search_by_key(&size, |s| s.0).ok().map(|i| SIZES[i].1)
}

/// The number of components of these bits.
pub fn size(bits: [u8; 4]) -> Option<u32> {
    SIZES.iter().find(|s| s.1 == bits).map(|s| s.0)
}

/// How a component is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// Fractions from -1 to 1.
    Snorm = 1,
    /// Fractions from 0 to 1.
    Unorm = 2,
    /// Signed integers.
    Sint = 3,
    /// Unsigned integers.
    Uint = 4,
    /// Unsigned integers that become floats.
    Uscaled = 5,
    /// Signed integers that become floats.
    Sscaled = 6,
    /// Floats of 32, 16, 11 or 10 bits.
    Float = 7,
}

impl Type {
    /// All of them.
    pub const ALL: [Type; 7] =
        [Type::Snorm, Type::Unorm, Type::Sint, Type::Uint, Type::Uscaled, Type::Sscaled, Type::Float];

    /// The type with a number.
    pub fn from_code(code: u32) -> Option<Type> {
        Type::ALL.get((code as usize).checked_sub(1)?).copied()
    }

    /// Its number.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

/// The format of an attribute in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// How a component becomes a value.
    pub ty: Type,
    /// Bits of the components, x first; 0: there is none.
    pub bits: [u8; 4],
    /// Red and blue are exchanged.
    pub bgra: bool,
}

impl Format {
    /// Four fractions of a byte: a colour.
    pub const COLOR: Format = Format { ty: Type::Unorm, bits: [8; 4], bgra: false };

    /// So many floats of 32 bits: 1 to 4.
    pub const fn floats(count: u32) -> Format {
        let mut bits = [0; 4];
        let mut i = 0;
        while i < count && i < 4 {
            bits[i as usize] = 32;
            i += 1;
        }
        Format { ty: Type::Float, bits, bgra: false }
    }

    /// All that the hardware has.
    pub fn all() -> impl Iterator<Item = Format> {
        SIZES.into_iter().flat_map(|(_, bits)| {
            let types = Type::ALL.into_iter().filter(move |ty| match bits {
                [11, 11, 10, 0] => *ty == Type::Float,
                [8, ..] | [10, ..] => *ty != Type::Float,
                _ => true,
            });
            types.flat_map(move |ty| {
                let exchanged = matches!(bits, [8, 8, 8, 8] | [10, ..]) && ty == Type::Unorm;
                let of = move |bgra| Format { ty, bits, bgra };
                [Some(of(false)), exchanged.then(|| of(true))].into_iter().flatten()
            })
        })
    }
}

/// As WebGPU names them: `float32x3`, `unorm8x4`, `unorm8x4-bgra`, `unorm10-10-10-2`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.ty {
            Type::Snorm => "snorm",
            Type::Unorm => "unorm",
            Type::Sint => "sint",
            Type::Uint => "uint",
            Type::Uscaled => "uscaled",
            Type::Sscaled => "sscaled",
            Type::Float => "float",
        })?;
        let there: Vec<u8> = self.bits.into_iter().filter(|&b| b != 0).collect();
        match there[..] {
            [one] => write!(f, "{one}")?,
            [first, ..] if there.iter().all(|&b| b == first) => write!(f, "{first}x{}", there.len())?,
            _ => {
                let all: Vec<String> = there.iter().map(u8::to_string).collect();
                f.write_str(&all.join("-"))?;
            }
        }
        f.write_str(if self.bgra { "-bgra" } else { "" })
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        Format::all().find(|f| f.to_string() == name).ok_or_else(|| {
            format!("unknown vertex format `{name}`: names are those of WebGPU, as `float32x3`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_map_both_ways() {
        let mut names = std::collections::BTreeSet::new();
        for f in Format::all() {
            assert_eq!(f.to_string().parse(), Ok(f));
            assert!(names.insert(f.to_string()) && size(f.bits).is_some(), "{f}");
        }
        for name in ["float32", "float32x4", "unorm8x4-bgra", "unorm10-10-10-2", "float11-11-10", "sint16x2"]
        {
            assert!(names.contains(name), "{name}");
        }
        assert!("float8x4".parse::<Format>().is_err() && "float32x5".parse::<Format>().is_err());
        assert_eq!(Format::floats(3).to_string(), "float32x3");
    }

    #[test]
    fn codes_map_both_ways() {
        assert!(SIZES.is_sorted_by(|a, b| a.0 < b.0));
        for (code, components) in SIZES {
            assert_eq!((bits(code), size(components)), (Some(components), Some(code)));
        }
        assert_eq!((bits(0), size([8, 0, 8, 0])), (None, None));
        assert!(Type::ALL.iter().all(|&t| Type::from_code(t.code()) == Some(t)));
        assert_eq!((Type::from_code(0), Type::from_code(8)), (None, None));
        // What Mesa writes for an attribute that nothing is bound to.
        let unused = Attribute::from_bits(0x3a40_0040);
        assert_eq!(
            (unused.constant(), bits(unused.size()), Type::from_code(unused.ty())),
            (true, Some([32, 0, 0, 0]), Some(Type::Float))
        );
    }
}
