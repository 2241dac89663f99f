//! What launches find, and what they ask, the same for all generations.

use crate::engine::query::Release;
use crate::engine::registers::Registers;
use crate::shader::{Bank, Bindings};
use nvir_base::Chip;

/// What a launch finds in the subchannel.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// All methods' registers.
    pub regs: Registers,
    /// GF100's. Kepler has everything in memory.
    pub bindings: Bindings,
}

/// What a descriptor or the registers ask, before anything is looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Request {
    /// The address that code addresses count from, and the first instruction's there.
    pub code: u64,
    pub entry: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub gprs: u32,
    pub shared: u32,
    pub local: u64,
    pub banks: Vec<Option<Bank>>,
    /// What is written when the last block has ended.
    pub releases: [Option<Release>; 2],
}

impl Request {
    /// Whether the chip can launch it.
    pub(super) fn check(&self, chip: Chip) -> Result<(), String> {
        let refused = |e: nvir_base::chip::LimitError| e.to_string();
        chip.check_launch(self.grid, self.block, 0).map_err(refused)?;
        chip.check_shared(self.shared.into()).map_err(refused)?;
        chip.check_local(u32::try_from(self.local).unwrap_or(u32::MAX)).map_err(refused)?;
        let threads: u32 = self.block.iter().product();
        let (most, file) = (chip.gprs(), chip.register_file());
        if self.gprs > most || self.gprs * threads > file {
            return Err(format!(
                "{threads} threads with {} registers each: {chip} has {file}, and {most} a thread",
                self.gprs
            ));
        }
        Ok(())
    }

    /// Of the first instruction.
    pub(super) fn address(&self) -> u64 {
        self.code.wrapping_add(self.entry.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}
