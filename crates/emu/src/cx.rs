//! The context that every micro-op is executed in.

use crate::check::Checks;
use crate::code::micro::{AtomOp, AtomTy};
use crate::run::bound::Bound;
use crate::run::conflict::Tracker;
use crate::stage::Context;
use crate::state::block::{BlockState, Shape};
use crate::state::warp::Side;
use crate::trap::Trap;
use crate::units::special::ThreadNumbers;
use nvir_simd::Processor;

/// What all blocks of a launch share.
pub(crate) struct Env<'a> {
    pub bound: &'a Bound<'a>,
    pub shape: Shape,
    pub checks: Checks,
    /// The fault of a kind that ends a block.
    pub faults: u32,
    /// Every global access must be looked at on its own.
    pub observed: bool,
    pub tracker: Option<&'a Tracker>,
    pub profile: bool,
    /// Whether it is written down what warps execute.
    pub timeline: bool,
    /// What kernels are compiled for.
    pub processor: Processor,
    /// Of the threads of a kernel's blocks.
    pub threads: ThreadNumbers,
    pub first: Side,
    /// What is around the threads of a graphics stage; kernels have none.
    pub stage: Option<&'a Context<'a>>,
}

/// All that a micro-op sees and changes beside its warp.
pub struct Cx<'a> {
    pub(crate) env: &'a Env<'a>,
    pub(crate) block: &'a mut BlockState,
    /// Gets a line for each instruction.
    pub(crate) trace: Trace<'a>,
}

/// Receives the lines of a trace.
pub(crate) type Trace<'a> = Option<&'a mut (dyn FnMut(&str) + 'a)>;

impl Cx<'_> {
    /// The block reads a word of global memory.
    pub fn track_read(&self, buffer: usize, word: usize) -> Result<(), Trap> {
        self.env.tracker.map_or(Ok(()), |t| t.read(buffer, word, self.block.number))
    }

    /// The block writes a word of global memory.
    pub fn track_write(&self, buffer: usize, word: usize) -> Result<(), Trap> {
        self.env.tracker.map_or(Ok(()), |t| t.write(buffer, word, self.block.number))
    }

    /// The block does an atomic to a word, or a reduction, whose order with others does not matter.
    pub fn track_atomic(
        &self,
        buffer: usize,
        word: usize,
        reduction: Option<(AtomOp, AtomTy)>,
    ) -> Result<(), Trap> {
        match (self.env.tracker, reduction) {
            (None, _) => Ok(()),
            (Some(t), Some((op, ty))) => t.reduce(buffer, word, self.block.number, op, ty),
            (Some(t), None) => t.write(buffer, word, self.block.number),
        }
    }
}
