//! The programs of the five stages, and what is bound to them.

use super::state::State;
use crate::device::{Device, EngineResult};
use crate::engine::compute;
use crate::engine::registers::Registers;
use crate::shader::{Kernel, Tables, bind_banks};
use nvir_base::Chip;
use nvir_base::stage::Stage;
use nvir_emu::Launch;
use nvir_emu::stage::batch::Interface;
use nvir_hw::method::shader::{CODE_ADDRESS_HIGH, LOCAL_BASE};
use nvir_hw::method::three_d::*;
use nvir_hw::window;
use nvir_hw::word::ProgramSelect;
use nvir_isa::header::{self, Header};
use std::sync::Arc;

/// A stage by its number in SP_SELECT: those of bindings begin at 0 with the vertex stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    Vertex = 1,
    TessControl,
    TessEval,
    Geometry,
    Fragment,
}

impl Slot {
    /// All of them, in the order of a draw.
    pub(super) const ALL: [Slot; 5] =
        [Slot::Vertex, Slot::TessControl, Slot::TessEval, Slot::Geometry, Slot::Fragment];

    /// Which of the stages' bindings are its own.
    pub(super) fn binding(self) -> usize {
        self as usize - 1
    }

    /// The stage.
    pub(super) fn stage(self) -> Stage {
        match self {
            Slot::Vertex => Stage::Vertex,
            Slot::TessControl => Stage::TessControl,
            Slot::TessEval => Stage::TessEval,
            Slot::Geometry => Stage::Geometry,
            Slot::Fragment => Stage::Fragment,
        }
    }
}

/// A program that is bound to a stage.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub slot: Slot,
    pub interface: Arc<Interface>,
    /// The header's words.
    words: [u32; header::WORDS],
    pub code: Arc<nvir_emu::Program>,
    /// Of the first instruction: from the code's start, and in memory.
    pub entry: u32,
    pub address: u64,
    gprs: u32,
}

/// Whether a stage has a program.
pub(super) fn is_enabled(r: &Registers, slot: Slot) -> bool {
    ProgramSelect::from_bits(r.get(SP_SELECT.at(slot as u32))).enable()
}

impl Program {
    /// The program of a stage, if it has one: `known`, if that is it.
    pub(super) fn of(
        device: &mut Device,
        r: &Registers,
        slot: Slot,
        known: Option<Program>,
    ) -> EngineResult<Option<Program>> {
        if !is_enabled(r, slot) {
            return Ok(None);
        }
        let (base, start) = (r.address(CODE_ADDRESS_HIGH), r.get(SP_START_ID.at(slot as u32)));
        let at = base.wrapping_add(start.into());
        let bad = |why: String| format!("the {} program at {at:#x}: {why}", slot.stage());
        let mut words = [0; header::WORDS];
        device.memory.read_words(at, &mut words).map_err(|e| bad(e.to_string()))?;
        let entry = start.wrapping_add(header::BYTES);
        let Device { chip, memory, launcher, .. } = device;
        let code = launcher.program(*chip, memory, base, entry).map_err(bad)?;
        let gprs = r.get(SP_GPR_ALLOC.at(slot as u32)).clamp(1, chip.gprs());
        let address = base.wrapping_add(entry.into());
        let interface = match known.filter(|p| p.words == words) {
            Some(known) => known.interface,
            None => {
                let header = Header::decode(&words).map_err(|e| bad(e.to_string()))?;
                if header.stage() != slot.stage() {
                    return Err(bad(format!("its header is that of a {} program", header.stage())));
                }
                Arc::new(Interface::new(header, *chip))
            }
        };
        Ok(Some(Program { slot, interface, words, code, entry, address, gprs }))
    }

    /// What it declares.
    pub(super) fn header(&self) -> &Header {
        &self.interface.header
    }

    /// What is told of it.
    pub(super) fn kernel(&self) -> Kernel<'_> {
        Kernel {
            header: Some(self.header()),
            code: self.address.wrapping_sub(self.entry.into()),
            entry: self.entry,
            program: &self.code,
            gprs: self.gprs,
            shared: 0,
            local: self.header().local_bytes.into(),
            block: [32, 1, 1],
        }
    }

    /// A launch of it with what is bound to its stage.
    pub(super) fn launch<'a>(
        &'a self,
        chip: Chip,
        state: &'a State,
        tables: &'a Tables<'a>,
    ) -> EngineResult<Launch<'a>> {
        let mut launch = Launch::new(&self.code);
        launch.kernel = format!("of the {} stage at {:#x}", self.slot.stage(), self.address);
        launch.entry = self.entry;
        launch.gprs = self.gprs;
        launch.local_bytes = self.header().local_bytes;
        launch.local_window = state.regs.get(LOCAL_BASE) & window::MASK;
        launch.tables = Some(tables);
        bind_banks(&mut launch, &state.bindings[self.slot.binding()].banks)?;
        match chip {
            Chip::Gf100 if self.slot == Slot::Fragment => {
                launch.surfaces = compute::surfaces(&state.regs);
            }
            Chip::Gf100 => {}
            Chip::Gk104 | Chip::Gk110 => launch.texture_bank = compute::texture_bank(&state.regs),
        }
        Ok(launch)
    }
}
