//! The operand formats of `madsp`, the multiply-add that reads parts of registers:
//! `d = a.part * b.part + c.part`, modulo 2^32. Source: envytools (gf100.c, `imadsp` on GK104),
//! nvdisasm for GK110.
//!
//! In [`Aux::Madsp`](super::Aux::Madsp) they are a number: two bits for the first factor's part,
//! one for the second's, two for the addend's, and a sign for each factor. An addend's part is
//! signed where a factor is.

/// Which bits of a register are read, and whether the highest is a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    pub bits: Bits,
    pub signed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bits {
    All,
    Low24,
    Low16,
    High16,
}

impl Part {
    /// The whole register; a sign makes no difference modulo 2^32.
    pub const WHOLE: Part = Part { bits: Bits::All, signed: false };
    pub const U24: Part = Part { bits: Bits::Low24, signed: false };
    pub const S24: Part = Part { bits: Bits::Low24, signed: true };
    pub const U16H0: Part = Part { bits: Bits::Low16, signed: false };
    pub const S16H0: Part = Part { bits: Bits::Low16, signed: true };

    /// A bit field.
    pub const fn field(at: u32, width: u32, signed: bool) -> Option<Part> {
        let bits = match (at, width) {
            (0, 24) => Bits::Low24,
            (0, 16) => Bits::Low16,
            (16, 16) => Bits::High16,
            _ => return None,
        };
        Some(Part { bits, signed })
    }
}

/// The parts, as [`Aux::Madsp`](super::Aux::Madsp) has them; `None` where the machine has no such
/// combination.
pub const fn formats(a: Part, b: Part, c: Part) -> Option<u16> {
    let second = match b.bits {
        Bits::Low24 => 0,
        Bits::Low16 => 1,
        _ => return None,
    };
    if matches!(c.bits, Bits::High16) || c.signed {
        return None;
    }
    Some(a.bits as u16 | second << 2 | (c.bits as u16) << 4 | (a.signed as u16) << 6 | (b.signed as u16) << 7)
}

/// As the descriptor's word in the second operand says itself.
pub const SD: u16 = u16::MAX;
