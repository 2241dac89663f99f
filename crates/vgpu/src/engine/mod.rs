//! The engines of a card: a file or folder for each class, which says what its methods do.

pub mod compute;
mod condition;
mod constants;
mod copy;
mod m2mf;
mod p2mf;
pub(crate) mod query;
pub mod registers;
mod three_d;
mod twod;
mod upload;

use crate::device::{Device, EngineResult};
use nvir_base::Chip;
use nvir_hw::Class;
use registers::Registers;

/// What a subchannel's methods go to.
pub(crate) trait Engine {
    /// What was written to the methods: what macros read.
    fn registers(&mut self) -> &mut Registers;

    /// Does what a method says whose register holds the value already.
    fn method(&mut self, device: &mut Device, method: u32, value: u32) -> EngineResult;

    /// Takes all words of a packet for one method at once, where they are data. Whether they were.
    fn bulk(&mut self, _device: &mut Device, _method: u32, _words: &[u32]) -> EngineResult<bool> {
        Ok(false)
    }
}

/// Methods that nothing looks at.
struct Software(Registers);

impl Engine for Software {
    fn registers(&mut self) -> &mut Registers {
        &mut self.0
    }

    fn method(&mut self, _: &mut Device, _: u32, _: u32) -> EngineResult {
        Ok(())
    }
}

/// The engines of a channel.
pub(crate) struct Engines {
    three_d: three_d::ThreeD,
    compute: compute::Compute,
    m2mf: m2mf::M2mf,
    p2mf: p2mf::P2mf,
    two_d: twod::TwoD,
    copy: copy::Copy,
    software: Software,
}

impl Engines {
    /// Those of a chip, with the registers as they are at reset.
    pub fn new(chip: Chip) -> Engines {
        let registers = |class: Class| {
            class.number(chip).map_or_else(Registers::default, |_| Registers::of(class.table(chip)))
        };
        Engines {
            three_d: three_d::ThreeD::new(chip, registers(Class::ThreeD)),
            compute: compute::Compute::new(chip, registers(Class::Compute)),
            m2mf: m2mf::M2mf::new(registers(Class::M2mf)),
            p2mf: p2mf::P2mf::new(registers(Class::P2mf)),
            two_d: twod::TwoD::new(registers(Class::TwoD)),
            copy: copy::Copy::new(registers(Class::Copy)),
            software: Software(registers(Class::Software)),
        }
    }

    /// The engine of a class.
    pub fn get(&mut self, class: Class) -> &mut dyn Engine {
        match class {
            Class::ThreeD => &mut self.three_d,
            Class::Compute => &mut self.compute,
            Class::M2mf => &mut self.m2mf,
            Class::P2mf => &mut self.p2mf,
            Class::TwoD => &mut self.two_d,
            Class::Copy => &mut self.copy,
            Class::Software => &mut self.software,
        }
    }
}
