//! What a draw begins with.

use super::assemble::{Assembler, Topology};
use super::bindings::Program;
use super::fetch;
use super::query::Counters;
use crate::engine::registers::Registers;
use crate::shader::Bindings;
use nvir_emu::stage::batch::Slots;
use std::sync::Arc;

/// What draws find in the subchannel.
pub(super) struct State {
    pub regs: Registers,
    /// By stage: vertex, tessellation control and evaluation, geometry, fragment.
    pub bindings: [Bindings; 5],
    pub current: fetch::Current,
}

/// A sequence of vertices.
pub(super) struct Sequence {
    pub topology: Topology,
    pub instance: u32,
    pub vertex: Program,
    pub slots: Arc<Slots>,
    pub assembler: Assembler,
    /// The counters when it began.
    pub before: Counters,
    /// The first index of the index buffer that it reads, and how many; `None`: none.
    pub indices: Option<[u64; 2]>,
}
