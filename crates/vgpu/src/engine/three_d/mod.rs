//! The 3D classes 9097 (GF100), a097 (GK104), a197 (GK110).

mod clear;
mod regs;

use super::registers::Registers;
use super::upload::Inline;
use super::{Engine, condition, constants, query};
use crate::device::{Device, EngineResult};
use nvir_base::Chip;
use nvir_hw::method::condition::COND_ADDRESS_HIGH;
use nvir_hw::method::query::QUERY_GET;
use nvir_hw::method::three_d::*;

/// The class of a channel.
pub(super) struct ThreeD {
    regs: Registers,
    /// Kepler's data in the stream.
    inline: Option<Inline>,
}

impl ThreeD {
    pub fn new(chip: Chip, regs: Registers) -> ThreeD {
        ThreeD { regs, inline: (chip != Chip::Gf100).then(Inline::default) }
    }
}

impl Engine for ThreeD {
    fn registers(&mut self) -> &mut Registers {
        &mut self.regs
    }

    fn method(&mut self, device: &mut Device, method: u32, value: u32) -> EngineResult {
        let regs = &mut self.regs;
        if let Some(inline) = &mut self.inline
            && inline.method(device, regs, method, value)?
        {
            return Ok(());
        }
        match method {
            QUERY_GET => query::get(device, regs),
            m if constants::is_data(m) => constants::data(device, regs, &[value]),
            CLEAR_BUFFERS if condition::holds(device, regs, COND_ADDRESS_HIGH)? => clear::clear(device, regs),
            VERTEX_BEGIN_GL | CLIPID_FILL => Err("drawing is not implemented".into()),
            _ => Ok(()),
        }
    }

    fn bulk(&mut self, device: &mut Device, method: u32, words: &[u32]) -> EngineResult<bool> {
        if constants::is_data(method) {
            constants::data(device, &mut self.regs, words)?;
            return Ok(true);
        }
        self.inline.as_mut().map_or(Ok(false), |inline| inline.bulk(device, method, words))
    }
}
