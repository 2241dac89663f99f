//! Calls of macros: the parameters that come first, and the subchannel that the macro works on.

use super::channel::Channel;
use super::{log, mme};
use crate::device::{Device, EngineResult, MethodLocation, work};
use nvir_hw::method::macros;

/// No packet has more.
const MAX_PARAMETERS: usize = 0x2000;

/// A macro whose parameters are coming.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub subchannel: usize,
    pub id: usize,
    pub parameters: Vec<u32>,
    /// Where it was called.
    pub place: MethodLocation,
}

impl Call {
    /// Takes a parameter; whether the method is one of this call.
    pub(super) fn parameter(&mut self, subchannel: usize, method: u32, value: u32) -> EngineResult<bool> {
        if subchannel != self.subchannel || method != macros::MACRO_PARAM.at(self.id as u32) {
            return Ok(false);
        }
        if self.parameters.len() == MAX_PARAMETERS {
            return Err("too many parameters".into());
        }
        self.parameters.push(value);
        Ok(true)
    }
}

/// What a macro reads and writes: the subchannel that called it.
pub(super) struct Target<'a> {
    pub channel: &'a mut Channel,
    pub device: &'a mut Device,
    pub subchannel: usize,
}

impl mme::Target for Target<'_> {
    fn read(&mut self, method: u32) -> u32 {
        self.channel.read(self.subchannel, method)
    }

    fn write(&mut self, method: u32, value: u32) -> Result<(), String> {
        if (macros::MACRO_UPLOAD_POS..=macros::MACRO_POS).contains(&method) || method >= macros::MACRO.first {
            return Err(format!("writes method {method:04x}: macros cannot call or change macros"));
        }
        log::macro_write(self.device, self.subchannel, method, value);
        self.channel.write(self.device, self.subchannel, method, value)
    }

    fn step(&mut self) -> Result<(), String> {
        self.device.charge(work::MACRO_STEP)
    }
}
