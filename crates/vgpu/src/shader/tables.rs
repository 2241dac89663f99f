//! Textures and samplers of a launch: entries of the tables in memory, named by handles or by bound
//! slots.

use super::Bindings;
use crate::Memory;
use crate::engine::registers::Registers;
use crate::image::texture::{tic, tsc};
use crate::watch::{Reads, SamplerState, TextureHeader};
use nvir_base::Chip;
use nvir_emu::{Sampler, Texture, TextureSource};
use nvir_hw::method::bindings::TEX_MISC;
use nvir_hw::method::shader::{TIC_ADDRESS_HIGH, TSC_ADDRESS_HIGH};
use nvir_hw::tic::{BYTES, Tic, WORDS};
use nvir_hw::tsc::Tsc;
use nvir_hw::word::TexMisc;
use std::sync::{Mutex, PoisonError};

/// Where the tables are, and what is bound to slots.
#[derive(Debug)]
pub(crate) struct Tables<'a> {
    chip: Chip,
    tic: Table,
    tsc: Table,
    /// GF100's slots.
    slots: Option<&'a Bindings>,
    /// GF100's samplers filter over the edges of cubes, all or none.
    seamless: bool,
    /// What has been asked for, for who looks on.
    asked: Option<Mutex<Reads>>,
}

#[derive(Clone, Copy, Debug)]
struct Table {
    name: &'static str,
    address: u64,
    /// The last entry.
    limit: u32,
}

impl Table {
    fn of(regs: &Registers, name: &'static str, at: u32) -> Table {
        Table { name, address: regs.address(at), limit: regs.get(at + 8) }
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
    /// Those that a class's registers name.
    pub(crate) fn new(chip: Chip, regs: &Registers, bindings: &'a Bindings) -> Tables<'a> {
        let fermi = chip == Chip::Gf100;
        Tables {
            chip,
            tic: Table::of(regs, "TIC", TIC_ADDRESS_HIGH),
            tsc: Table::of(regs, "TSC", TSC_ADDRESS_HIGH),
            slots: fermi.then_some(bindings),
            seamless: fermi && TexMisc::from_bits(regs.get(TEX_MISC)).seamless_cube(),
            asked: None,
        }
    }

    /// The same, that remember what is asked for, if somebody looks on.
    pub(crate) fn watched(self, is_watched: bool) -> Tables<'a> {
        Tables { asked: is_watched.then(Mutex::default), ..self }
    }

    /// What has been asked for, if it was to be remembered.
    pub(crate) fn asked(self) -> Reads {
        self.asked.map(|m| m.into_inner().unwrap_or_else(PoisonError::into_inner)).unwrap_or_default()
    }

    fn note(&self, add: impl FnOnce(&mut Reads)) {
        if let Some(asked) = &self.asked {
            add(&mut asked.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The number of an entry: on GF100 of what is bound to the slot `index`.
    fn number(&self, index: u32, slots: impl Fn(&Bindings) -> &[Option<u32>]) -> Option<u32> {
        match self.slots {
            Some(bindings) => slots(bindings).get(index as usize).copied().flatten(),
            None => Some(index),
        }
    }
}

impl TextureSource for Tables<'_> {
    fn texture(&self, memory: &Memory, index: u32) -> Result<Texture, String> {
        let Some(number) = self.number(index, |s| &s.textures) else { return Ok(Texture::none()) };
        let Some(words) = self.tic.entry(memory, number)? else { return Ok(Texture::none()) };
        self.note(|asked| {
            asked.textures.extend(TextureHeader::new(Tic(words)).map(|header| (number, header)));
        });
        tic::texture(&Tic(words)).map_err(|e| format!("TIC entry {number}: {e}"))
    }

    fn sampler(&self, memory: &Memory, index: u32) -> Result<Sampler, String> {
        let Some(number) = self.number(index, |s| &s.samplers) else { return Ok(Sampler::default()) };
        let entry = self.tsc.entry(memory, number)?;
        self.note(|asked| {
            let state = |words| SamplerState { chip: self.chip, entry: Tsc(words) };
            asked.samplers.extend(entry.map(|words| (number, state(words))));
        });
        let mut sampler = entry.map_or(Sampler::default(), |words| tsc::sampler(self.chip, &Tsc(words)));
        sampler.seamless |= self.seamless;
        Ok(sampler)
    }
}
