//! Textures and samplers of a launch: entries of the tables in memory, named by handles or by bound
//! slots.

use crate::Memory;
use crate::compute::State;
use crate::texture::{tic, tsc};
use nvir_base::Chip;
use nvir_emu::{Sampler, Texture, TextureSource};
use nvir_hw::method::shader::{TIC_ADDRESS_HIGH, TSC_ADDRESS_HIGH};
use nvir_hw::tic::{BYTES, Tic, WORDS};
use nvir_hw::tsc::Tsc;

/// Where the tables are, and what is bound to slots.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    chip: Chip,
    tic: Table,
    tsc: Table,
    /// GF100's slots.
    state: Option<&'a State>,
}

#[derive(Clone, Copy, Debug)]
struct Table {
    name: &'static str,
    address: u64,
    /// The last entry.
    limit: u32,
}

impl Table {
    fn of(state: &State, name: &'static str, at: u32) -> Table {
        Table { name, address: state.regs.address(at), limit: state.regs.get(at + 8) }
    }

    /// An entry. There is none beyond the limit: drivers name one there where nothing is bound.
    fn entry(&self, memory: &Memory, index: u32) -> Result<Option<[u32; WORDS]>, String> {
        let Table { name, address, limit } = *self;
        if index > limit {
            return Ok(None);
        }
        let mut words = [0; WORDS];
        let at = address + u64::from(index) * BYTES;
        memory.read_words(at, &mut words).map_err(|e| format!("{name} entry {index}: {e}"))?;
        Ok(Some(words))
    }
}

impl<'a> Tables<'a> {
    pub fn new(chip: Chip, state: &'a State) -> Tables<'a> {
        Tables {
            chip,
            tic: Table::of(state, "TIC", TIC_ADDRESS_HIGH),
            tsc: Table::of(state, "TSC", TSC_ADDRESS_HIGH),
            state: (chip == Chip::Gf100).then_some(state),
        }
    }
}

impl Tables<'_> {
    /// The number of an entry: on GF100 of what is bound to the slot `index`.
    fn number(&self, index: u32, slots: impl Fn(&State) -> &[Option<u32>]) -> Option<u32> {
        match self.state {
            Some(state) => slots(state).get(index as usize).copied().flatten(),
            None => Some(index),
        }
    }
}

impl TextureSource for Tables<'_> {
    fn texture(&self, memory: &Memory, index: u32) -> Result<Texture, String> {
        let Some(number) = self.number(index, |s| &s.textures) else { return Ok(Texture::none()) };
        let Some(words) = self.tic.entry(memory, number)? else { return Ok(Texture::none()) };
        tic::texture(&Tic(words)).map_err(|e| format!("TIC entry {number}: {e}"))
    }

    fn sampler(&self, memory: &Memory, index: u32) -> Result<Sampler, String> {
        let Some(number) = self.number(index, |s| &s.samplers) else { return Ok(Sampler::default()) };
        let entry = self.tsc.entry(memory, number)?;
        Ok(entry.map_or(Sampler::default(), |words| tsc::sampler(self.chip, &Tsc(words))))
    }
}
