//! The tables of textures (TIC) and samplers (TSC): 2048 entries of 32 bytes each.
//!
//! An entry is a description, so equal ones are the same entry; when a table is full, all are forgotten once nothing runs
//! that uses them.

use crate::context::Context;
use crate::device::{Alloc, Device, Domain, Memory};
use crate::error::Result;
use crate::memory::Shared;
use nvir_hw::method::shader::{TEX_CACHE_CTL, TIC_FLUSH, TSC_FLUSH};
use nvir_hw::tic;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const TABLE_ENTRIES: u32 = 2048;
/// Of the samplers behind the textures.
pub(crate) const SAMPLERS_OFFSET: u64 = TABLE_ENTRIES as u64 * tic::BYTES;

/// An entry of either table.
pub(crate) type Entry = [u32; tic::WORDS];

#[derive(Debug)]
pub(crate) struct Tables {
    shared: Arc<Shared>,
    /// Textures, samplers.
    known: [BTreeMap<Entry, u32>; 2],
}

impl Tables {
    pub(crate) fn new(device: &Arc<dyn Device>) -> Result<Tables> {
        let memory = device.alloc(Alloc::linear(2 * SAMPLERS_OFFSET, Domain::Vram))?;
        Ok(Tables { shared: Shared::new(device.clone(), memory), known: Default::default() })
    }

    pub(crate) fn address(&self) -> u64 {
        self.shared.memory.address
    }

    pub(crate) fn memory(&self) -> Memory {
        self.shared.memory
    }
}

impl Context {
    /// The numbers of the textures and samplers of a launch or draw.
    pub(crate) fn entries(&mut self, wanted: &[(Entry, Entry)]) -> Result<Vec<[u32; 2]>> {
        let room = |known: &BTreeMap<Entry, u32>| known.len() + wanted.len() <= TABLE_ENTRIES as usize;
        if !self.tables.known.iter().all(room) {
            self.finish()?;
            self.tables.known = Default::default();
        }
        let mut changed = [false; 2];
        let mut all = Vec::with_capacity(wanted.len());
        for &(texture, sampler) in wanted {
            let mut numbers = [0; 2];
            for (table, entry) in [texture, sampler].into_iter().enumerate() {
                let known = &mut self.tables.known[table];
                let next = known.len() as u32;
                let number = *known.entry(entry).or_insert(next);
                if number == next {
                    changed[table] = true;
                    let at = table as u64 * SAMPLERS_OFFSET + u64::from(number) * tic::BYTES;
                    let bytes: Vec<u8> = entry.iter().flat_map(|w| w.to_le_bytes()).collect();
                    self.upload(self.tables.address() + at, &bytes)?;
                }
                numbers[table] = number;
            }
            all.push(numbers);
        }
        for (method, _) in [TIC_FLUSH, TSC_FLUSH].into_iter().zip(changed).filter(|(_, changed)| *changed) {
            // An entry that one class sees as new the other may have cached as what it was before.
            for class in self.programmed() {
                self.commands.methods(class, method, &[0]);
            }
        }
        if !wanted.is_empty() {
            // Kernels and draws may have written what textures read.
            for class in self.programmed() {
                self.commands.methods(class, TEX_CACHE_CTL, &[0]);
            }
        }
        Ok(all)
    }
}
