//! What sources and results of intrinsics may be: the words of the table of [`intrinsics`](super::intrinsics).
//!
//! Components are those of Mesa's `nir_intrinsics.py` (22.3 and later). It says nothing of the bits of most sources, since
//! drivers choose how wide buffers' numbers and offsets are; nouveau's are 32 bits wide, which is what the rest of
//! this front-end reads, so the table asks for that.

use std::fmt;

/// Sizes that a component may have, as a set: each is a bit by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bits {
    /// One of these.
    Of(u8),
    /// As many as the source of that number has.
    OfSource(u8),
}

impl Bits {
    pub const ANY: Bits = Bits::Of(1 | 8 | 16 | 32 | 64);
    /// What memory can hold.
    pub const BYTES: Bits = Bits::Of(8 | 16 | 32 | 64);
    /// A boolean, before or after `nir_lower_bool_to_int32`, or to a smaller size.
    pub const BOOL: Bits = Bits::Of(1 | 8 | 16 | 32);
    pub const B32: Bits = Bits::Of(32);
    pub(crate) const B32_64: Bits = Bits::Of(32 | 64);
}

/// How many components there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comps {
    Any,
    N(u8),
    /// All operands of the instruction that have this one have equally many.
    Vector,
    /// The same, and at most four: what a texel or a slot has room for.
    Vec4,
}

/// What a source must come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Anywhere,
    Deref,
    /// `decl_reg`
    Register,
}

/// A source or the result of an intrinsic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// In messages.
    pub what: &'static str,
    pub bits: Bits,
    pub comps: Comps,
    pub from: Origin,
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bits::Of(set) = *self else { return Ok(()) };
        let sizes = [1, 8, 16, 32, 64].into_iter().filter(|b| set & b != 0);
        let words: Vec<String> = sizes.map(|b| b.to_string()).collect();
        match words.split_last() {
            Some((last, rest)) if !rest.is_empty() => write!(f, "{} or {last}", rest.join(", ")),
            _ => f.write_str(&words.concat()),
        }
    }
}

const fn operand(what: &'static str, bits: Bits, comps: Comps) -> Operand {
    Operand { what, bits, comps, from: Origin::Anywhere }
}

/// A scalar of 32 bits.
const fn word(what: &'static str) -> Operand {
    operand(what, Bits::B32, Comps::N(1))
}

const fn from(what: &'static str, from: Origin) -> Operand {
    Operand { what, bits: Bits::ANY, comps: Comps::Any, from }
}

// ---- sources

pub(super) const ADDRESS: Operand = operand("address", Bits::B32_64, Comps::N(1));
pub(super) const ADDRESS_2X32: Operand = operand("address", Bits::B32, Comps::N(2));
pub(super) const BUFFER: Operand = word("buffer's number");
pub(super) const OFFSET: Operand = word("offset");
pub(super) const BOUND: Operand = word("bound");
pub(super) const VERTEX: Operand = word("vertex");
pub(super) const BYTES: Operand = operand("number of bytes", Bits::B32_64, Comps::N(1));
pub(super) const STORED: Operand = operand("value to store", Bits::BYTES, Comps::Vector);
pub(super) const STORED_TO_SLOT: Operand = operand("value to store", Bits::BYTES, Comps::Vec4);
pub(super) const STORED_ANY: Operand = operand("value to store", Bits::ANY, Comps::Vector);
/// Of an atomic.
pub(super) const DATA: Operand = operand("data", Bits::BYTES, Comps::N(1));
pub(super) const CONDITION: Operand = operand("condition", Bits::BOOL, Comps::N(1));
pub(super) const SAMPLE: Operand = word("sample");
pub(super) const LEVEL: Operand = word("level");
pub(super) const PIXEL_OFFSET: Operand = operand("offset in the pixel", Bits::B32, Comps::N(2));
pub(super) const BARYCENTRIC: Operand = operand("barycentric coordinates", Bits::B32, Comps::N(2));
pub(super) const VECTOR: Operand = operand("value", Bits::ANY, Comps::Vector);
/// Four components before 23.1, later one may do for warps of 32 lanes.
pub(super) const BALLOT: Operand = operand("ballot", Bits::B32_64, Comps::Any);
pub(super) const LANE: Operand = word("lane");
pub(super) const IMAGE: Operand = operand("image's number", Bits::B32, Comps::N(1));
pub(super) const IMAGE_HANDLE: Operand = operand("image's handle", Bits::B32_64, Comps::Any);
pub(super) const COORDINATES: Operand = operand("coordinates", Bits::B32, Comps::N(4));
pub(super) const TEXEL: Operand = operand("texel", Bits::BYTES, Comps::Vec4);
pub(super) const DEREF: Operand = from("pointer", Origin::Deref);
pub(super) const REGISTER: Operand = from("register", Origin::Register);

// ---- results

/// Of a load from memory.
pub(super) const LOADED: Option<Operand> = Some(operand("result", Bits::BYTES, Comps::Vector));
/// Of a load from a slot of an input or output, or from an image.
pub(super) const LOADED_VEC4: Option<Operand> = Some(operand("result", Bits::BYTES, Comps::Vec4));
pub(super) const ANY: Option<Operand> = Some(operand("result", Bits::ANY, Comps::Vector));
/// As the first source, component by component.
pub(super) const LIKE_FIRST: Option<Operand> = Some(operand("result", Bits::OfSource(0), Comps::Vector));
pub(super) const BOOL: Option<Operand> = number(1, Bits::BOOL);

/// So many components of so many bits.
pub(super) const fn number(comps: u8, bits: Bits) -> Option<Operand> {
    Some(operand("result", bits, Comps::N(comps)))
}

/// So many components of 32 bits.
pub(super) const fn words(comps: u8) -> Option<Operand> {
    number(comps, Bits::B32)
}

/// The same of addresses' size, where the program wants it.
pub(super) const fn wide(comps: u8) -> Option<Operand> {
    number(comps, Bits::B32_64)
}

/// Of an image, by dimension.
pub(super) const SIZES: Option<Operand> = Some(operand("result", Bits::B32, Comps::Vec4));
/// As many components as the program wants.
pub(super) const MASK: Option<Operand> = Some(operand("result", Bits::B32_64, Comps::Vector));

/// What an atomic gives back, like its data, which is the source of that number.
pub(super) const fn like(source: u8) -> Option<Operand> {
    number(1, Bits::OfSource(source))
}
