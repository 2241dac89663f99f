//! P2MF (a040, a140): data in the command stream, of Kepler.

use super::registers::Registers;
use super::{Engine, upload::Inline};
use crate::device::{Device, EngineResult};

/// The class of a channel.
pub(crate) struct P2mf {
    regs: Registers,
    inline: Inline,
}

impl P2mf {
    pub(crate) fn new(regs: Registers) -> P2mf {
        P2mf { regs, inline: Inline::default() }
    }
}

impl Engine for P2mf {
    fn registers(&mut self) -> &mut Registers {
        &mut self.regs
    }

    fn method(&mut self, device: &mut Device, method: u32, value: u32) -> EngineResult {
        self.inline.method(device, &self.regs, method, value).map(|_| ())
    }

    fn bulk(&mut self, device: &mut Device, method: u32, words: &[u32]) -> EngineResult<bool> {
        self.inline.bulk(device, method, words)
    }
}
