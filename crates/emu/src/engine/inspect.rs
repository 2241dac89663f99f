//! What an engine that only looks on sees of an execution: the code, the block, memory, and what an instruction has written.

use super::{Cx, Warp};
use crate::check::trace;
use crate::code::program::Program;
use crate::state::warp::State;
use std::sync::atomic::Ordering;

impl<'a> Cx<'a> {
    /// The code, with what is known of its source.
    pub fn program(&self) -> &'a Program {
        self.env.bound.launch.program
    }

    /// The kernel's name; empty where nobody gave it one.
    pub fn kernel(&self) -> &'a str {
        &self.env.bound.launch.kernel
    }

    /// Which block of the grid it is.
    pub fn block(&self) -> [u32; 3] {
        self.block.ctaid
    }

    /// Whether a warp of the block has ended.
    pub fn has_ended(&self, warp: u32) -> bool {
        self.block.warp_states.get(warp as usize) == Some(&State::Done)
    }

    /// The word of shared memory at a byte offset, a multiple of 4.
    pub fn shared_word(&self, offset: u64) -> Option<u32> {
        let at = usize::try_from(offset / 4).ok()?;
        self.block.shared.get(at).copied().filter(|_| offset.is_multiple_of(4))
    }

    /// The word of global memory at an address, a multiple of 4; none where no buffer has all of it.
    pub fn global_word(&self, address: u64) -> Option<u32> {
        let memory = &self.env.bound.memory;
        let buffer = &memory.buffers[memory.find(address, 4)?];
        address.is_multiple_of(4).then(|| buffer.words[buffer.word(address)].load(Ordering::Relaxed))
    }

    /// The instruction that the warp has executed last, with what it wrote, as a trace has it.
    pub fn executed(&self, warp: &Warp) -> Option<String> {
        let code = self.code();
        let inst = code.instructions().get(code.index(warp.at)?)?;
        Some(trace::line(self, warp, inst, warp.active))
    }
}
