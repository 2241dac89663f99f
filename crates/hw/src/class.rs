//! The classes of engines, and on which chip they are. Source: NVIDIA's class headers, Mesa
//! `nv_object.xml.h`.

use crate::method::{self, Table};
use nvir_base::Chip;

/// An engine as a subchannel sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Drawing.
    ThreeD,
    /// Kernels.
    Compute,
    /// GF100's copies.
    M2mf,
    /// Kepler's uploads.
    P2mf,
    /// Blits.
    TwoD,
    /// Kepler's copies.
    Copy,
    /// Methods that the kernel driver would see.
    Software,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 7] =
        [Class::ThreeD, Class::Compute, Class::M2mf, Class::P2mf, Class::TwoD, Class::Copy, Class::Software];

    /// The number on a chip that has it.
    pub const fn number(self, chip: Chip) -> Option<u32> {
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

    /// The class with a number, and the oldest chip that has it.
    pub fn find(number: u32) -> Option<(Class, Chip)> {
        Chip::ALL.into_iter().find_map(|chip| Some((Class::of(number, chip)?, chip)))
    }

    /// The class that takes data from the stream on a chip: M2MF, which also copies, or P2MF.
    pub const fn upload(chip: Chip) -> Class {
        match chip {
            Chip::Gf100 => Class::M2mf,
            Chip::Gk104 | Chip::Gk110 => Class::P2mf,
        }
    }

    /// The class's methods on a chip that has it.
    pub fn table(self, chip: Chip) -> &'static Table {
        match (self, chip) {
            (Class::ThreeD, _) => &method::THREE_D,
            (Class::Compute, Chip::Gf100) => &method::FERMI_COMPUTE,
            (Class::Compute, _) => &method::KEPLER_COMPUTE,
            (Class::M2mf, _) => &method::M2MF,
            (Class::P2mf, _) => &method::P2MF,
            (Class::TwoD, _) => &method::TWO_D,
            (Class::Copy, _) => &method::COPY,
            (Class::Software, _) => &method::SOFTWARE,
        }
    }

    /// The subchannel to which Mesa's driver binds it.
    pub const fn subchannel(self) -> u32 {
        match self {
            Class::ThreeD => 0,
            Class::Compute => 1,
            Class::M2mf | Class::P2mf => 2,
            Class::TwoD => 3,
            Class::Copy => 4,
            Class::Software => 7,
        }
    }
}

/// Subchannels of a channel.
pub const SUBCHANNELS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_classes_map_both_ways() {
        let mut all = Vec::new();
        for chip in Chip::ALL {
            for class in Class::ALL {
                let Some(number) = class.number(chip) else { continue };
                assert_eq!(Class::of(number, chip), Some(class));
                assert_eq!(Class::find(number).map(|(class, _)| class), Some(class));
                all.push(number);
            }
            assert!(Class::upload(chip).number(chip).is_some());
        }
        assert_eq!(all.len(), 3 + 3 + 1 + 2 + 3 + 2 + 3);
        assert_eq!(Class::of(0xa097, Chip::Gk110), None);
        assert_eq!(Class::find(0), None);
    }
}
