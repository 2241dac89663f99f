//! The compute classes 90c0 (GF100), a0c0 (GK104), a1c0 (GK110): what a descriptor or the registers
//! ask, run by the emulator on the card's memory in place.

mod fermi;
mod kepler;
mod request;

pub(super) use fermi::surfaces;
pub(super) use kepler::texture_bank;
use request::Request;
pub use request::State;

use super::query::Release;
use super::registers::Registers;
use super::upload::Inline;
use super::{Engine, constants, query};
use crate::Memory;
use crate::device::{Device, EngineResult, work};
use crate::shader::{Bindings, Failure, Kernel, Launcher, Tables, bind_banks};
use crate::watch::{Ran, What};
use nvir_base::Chip;
use nvir_base::stage::Stage;
use nvir_emu::{self as emu, Launch, Program};
use nvir_hw::method::query::QUERY_GET;
use nvir_hw::method::{compute::SHARED_BASE, fermi_compute, kepler_compute, shader::LOCAL_BASE};
use nvir_hw::window;
use std::sync::Arc;

/// The class of a channel.
pub(crate) struct Compute {
    state: State,
    /// Kepler's data in the stream.
    inline: Option<Inline>,
}

impl Compute {
    pub(crate) fn new(chip: Chip, regs: Registers) -> Compute {
        let state = State { regs, bindings: Bindings::default() };
        Compute { state, inline: (chip != Chip::Gf100).then(Inline::default) }
    }

    /// GF100's methods, but for those of queries.
    fn fermi(&mut self, device: &mut Device, method: u32, value: u32) -> EngineResult {
        let State { regs, bindings } = &mut self.state;
        match method {
            m if constants::is_data(m) => return constants::data(device, regs, &[value]),
            fermi_compute::CB_BIND => bindings.bind_bank(value, constants::bank(regs)),
            fermi_compute::BIND_TSC => bindings.bind_sampler(value),
            fermi_compute::BIND_TIC => bindings.bind_texture(value),
            fermi_compute::LAUNCH => return self.launch(device),
            _ => {}
        }
        Ok(())
    }

    fn launch(&self, device: &mut Device) -> EngineResult {
        let what = match device.watch.is_some() {
            true => describe(device, &self.state),
            false => String::new(),
        };
        device.command(
            &self.state.regs,
            || What::Launch(what.clone()),
            Vec::new,
            |device| self.execute(device),
        )
    }

    fn execute(&self, device: &mut Device) -> EngineResult {
        device.charge(work::LAUNCH)?;
        device.log_launch();
        let Device { chip, memory, launcher, log, ran, .. } = device;
        let mut line = log.as_mut().map(|log| |text: &str| log.line(format_args!("{text}")));
        let context = Context {
            chip: *chip,
            state: &self.state,
            memory,
            log: line.as_mut().map(|l| l as &mut dyn FnMut(&str)),
            ran: ran.as_mut(),
        };
        let report = launch(launcher, context).map_err(|failure| {
            device.found = failure.found.clone();
            String::from(failure)
        })?;
        device.advance(report.nanoseconds);
        report.releases.iter().flatten().try_for_each(|release| release.write(device))
    }
}

impl Engine for Compute {
    fn registers(&mut self) -> &mut Registers {
        &mut self.state.regs
    }

    fn method(&mut self, device: &mut Device, method: u32, value: u32) -> EngineResult {
        if method == QUERY_GET {
            return query::get(device, &self.state.regs, |_| 0);
        }
        let Some(inline) = &mut self.inline else { return self.fermi(device, method, value) };
        if method == kepler_compute::LAUNCH {
            return self.launch(device);
        }
        inline.method(device, &self.state.regs, method, value).map(|_| ())
    }

    fn bulk(&mut self, device: &mut Device, method: u32, words: &[u32]) -> EngineResult<bool> {
        if let Some(inline) = &mut self.inline {
            return inline.bulk(device, method, words);
        }
        if !constants::is_data(method) {
            return Ok(false);
        }
        constants::data(device, &mut self.state.regs, words)?;
        Ok(true)
    }
}

/// A launch in words.
fn describe(device: &Device, state: &State) -> String {
    let request = match device.chip {
        Chip::Gf100 => Ok(fermi::request(state)),
        Chip::Gk104 | Chip::Gk110 => kepler::request(state, &device.memory),
    };
    match request {
        Ok(r) => format!("{:#x}, grid {:?}, block {:?}", r.address(), r.grid, r.block),
        Err(why) => why,
    }
}

/// What a launch sees.
pub struct Context<'a> {
    /// What it runs on.
    pub chip: Chip,
    /// Registers and bindings of the class.
    pub state: &'a State,
    /// The card's memory.
    pub memory: &'a mut Memory,
    /// Gets lines for the log, if there is one.
    pub log: Option<&'a mut dyn FnMut(&str)>,
    /// Gets the kernel with what it has read, if somebody wants it.
    pub ran: Option<&'a mut Vec<Ran>>,
}

/// What a launch did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Instructions that warps executed.
    pub warp_instructions: u64,
    /// Instructions that threads executed.
    pub thread_instructions: u64,
    /// By how much the card's time advances.
    pub nanoseconds: u64,
    /// What is to be written then.
    pub(crate) releases: [Option<Release>; 2],
}

/// Runs the grid that a write of LAUNCH starts: on GF100 from the registers and bindings, on Kepler
/// from the descriptor at LAUNCH_DESC_ADDRESS. With the error, the channel ends.
///
/// # Errors
/// A descriptor that no card takes, and what stopped the kernel.
pub fn launch(launcher: &mut Launcher, context: Context<'_>) -> Result<Report, Failure> {
    let Context { chip, state, memory, log, ran } = context;
    let request = match chip {
        Chip::Gf100 => fermi::request(state),
        Chip::Gk104 | Chip::Gk110 => kepler::request(state, memory)?,
    };
    let at = request.address();
    if let Some(log) = log {
        let Request { grid, block, gprs, shared, local, .. } = &request;
        log(&format!(
            "launch of {at:#x}: grid {grid:?}, block {block:?}, {gprs} registers, {shared} bytes shared, {local} local"
        ));
    }
    if request.is_empty() {
        return Ok(Report { releases: request.releases, ..Report::default() });
    }
    let refused = |why: String| Failure::from(format!("launch of the kernel at {at:#x}: {why}"));
    request.check(chip).map_err(refused)?;
    let program = launcher.program(chip, memory, request.code, request.entry).map_err(refused)?;
    run(launcher, &request, &program, (chip, state), memory, ran)
}

fn run(
    launcher: &mut Launcher,
    request: &Request,
    program: &Arc<Program>,
    (chip, state): (Chip, &State),
    memory: &mut Memory,
    ran: Option<&mut Vec<Ran>>,
) -> Result<Report, Failure> {
    let Request { code, entry, gprs, shared, local, block, grid, releases, .. } = *request;
    let address = request.address();
    launcher.launched(&Kernel { header: None, code, entry, program, gprs, shared, local, block }, program);
    let tables = Tables::new(chip, &state.regs, &state.bindings).watched(ran.is_some());
    let mut launch = Launch::new(program);
    launch.kernel = format!("at {address:#x}");
    launch.entry = entry;
    launch.grid = grid;
    launch.block = block;
    launch.gprs = gprs.max(1);
    launch.shared_bytes = shared;
    launch.local_bytes = local as u32;
    bind_banks(&mut launch, &request.banks)
        .map_err(|why| format!("launch of the kernel at {address:#x}: {why}"))?;
    launch.tables = Some(&tables);
    launch.shared_window = state.regs.get(SHARED_BASE) & window::MASK;
    launch.local_window = state.regs.get(LOCAL_BASE) & window::MASK;
    match chip {
        Chip::Gf100 => launch.surfaces = fermi::surfaces(&state.regs),
        Chip::Gk104 | Chip::Gk110 => launch.texture_bank = kepler::texture_bank(&state.regs),
    }
    let blocks = grid.iter().fold(1, |n: u64, &g| n.saturating_mul(g.into()));
    launcher.prepare(&mut launch);
    let counts = launcher.run(program, (address, blocks), |how| emu::run(&launch, memory, how))?;
    if let Some(ran) = ran {
        let reads = tables.asked().with_banks(&request.banks);
        let (instructions, profile) = (counts.threads, launcher.take_profile(program));
        let program = program.clone();
        ran.push(Ran { stage: Stage::Compute, address, entry, program, instructions, profile, reads });
    }
    Ok(Report {
        warp_instructions: counts.warps,
        thread_instructions: counts.threads,
        nanoseconds: counts.warps.max(1),
        releases,
    })
}
