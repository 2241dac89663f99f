//! What spilling decided and colouring carries out: which values are in registers where.
//!
//! A plan without entries says: every live value is in a register everywhere. Predicates always are
//! (those beyond the seven have become general values before).

use super::remat::Remat;
use crate::ir::{BlockId, InstId, ValueId};
use cranelift_entity::SecondaryMap;

/// Where a value that is not always in a register can be had from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum SpillLocation {
    /// From no place: it is in a register wherever it is live.
    #[default]
    None,
    /// A word of local memory, at a byte offset; written once, where the value is defined.
    Slot(u32),
    Remat(Remat),
}

/// A change of what is in registers, at an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// The value's register is given up before the instruction.
    DropBefore(ValueId),
    /// The value is brought into a register before the instruction (after the dropping).
    Reload(ValueId),
    /// The value's register is given up once the instruction has read its operands.
    DropAfter(ValueId),
}

/// The result of spilling.
#[derive(Default)]
pub(super) struct Plan {
    /// Whether anything is spilled; if not, everything else is empty.
    pub active: bool,
    /// General values in registers on entry to a block, its parameters included.
    pub entry: SecondaryMap<BlockId, Vec<ValueId>>,
    pub spill_locations: SecondaryMap<ValueId, SpillLocation>,
    pub actions: Vec<Action>,
    pub spans: SecondaryMap<InstId, (u32, u32)>,
    /// End of the slots, as a byte offset in local memory.
    pub frame_end: u32,
}

impl Plan {
    /// What happens at an instruction.
    pub(super) fn at(&self, i: InstId) -> &[Action] {
        let (a, b) = self.spans[i];
        &self.actions[a as usize..b as usize]
    }
}
