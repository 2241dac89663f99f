//! The engines of a channel, one of each class.

use crate::device::{Device, EngineResult};
use crate::engine::registers::Registers;
use crate::engine::{Engine, compute, copy, m2mf, p2mf, three_d, twod};
use nvir_base::Chip;
use nvir_hw::Class;

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

/// All that a subchannel can be bound to.
pub(super) struct Engines {
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
    pub(super) fn new(chip: Chip) -> Engines {
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
    pub(super) fn get(&mut self, class: Class) -> &mut dyn Engine {
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
