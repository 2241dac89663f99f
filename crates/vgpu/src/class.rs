//! The classes of engines, and on which chip they are.

use nvir_base::Chip;

/// An engine as a subchannel sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    ThreeD,
    Compute,
    /// GF100's copies.
    M2mf,
    /// Kepler's uploads.
    P2mf,
    TwoD,
    /// Kepler's copies.
    Copy,
    /// Methods that the kernel driver would see.
    Software,
}

impl Class {
    pub const ALL: [Class; 7] =
        [Class::ThreeD, Class::Compute, Class::M2mf, Class::P2mf, Class::TwoD, Class::Copy, Class::Software];

    /// The number on a chip that has it.
    pub fn number(self, chip: Chip) -> Option<u32> {
        use Chip::{Gf100, Gk104, Gk110};
        Some(match (self, chip) {
            (Class::ThreeD, Gf100) => 0x9097,
            (Class::ThreeD, Gk104) => 0xa097,
            (Class::ThreeD, Gk110) => 0xa197,
            (Class::Compute, Gf100) => 0x90c0,
            (Class::Compute, Gk104) => 0xa0c0,
            (Class::Compute, Gk110) => 0xa1c0,
            (Class::M2mf, Gf100) => 0x9039,
            (Class::P2mf, Gk104) => 0xa040,
            (Class::P2mf, Gk110) => 0xa140,
            (Class::Copy, Gk104 | Gk110) => 0xa0b5,
            (Class::TwoD, _) => 0x902d,
            (Class::Software, _) => 0x906e,
            _ => return None,
        })
    }

    /// The class with a number on a chip.
    pub fn of(number: u32, chip: Chip) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.number(chip) == Some(number))
    }
}
