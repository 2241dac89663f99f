//! Launches: what a descriptor or the registers ask, run by the emulator on the card's memory in place.

mod cycles;
mod fermi;
mod image;
mod kepler;
mod report;
mod tables;

pub use report::{Failure, Kernel, KernelProfile, OnKernel};

use crate::query::Release;
use crate::{Memory, compute::State};
use nvir_base::Chip;
use nvir_emu::{self as emu, Bank, Checks, CodeCache, FaultKind, Launch, Note, Program};
use nvir_hw::method::{compute::SHARED_BASE, shader::LOCAL_BASE};
use nvir_hw::window;
use std::fmt;
use std::sync::Arc;
use tables::Tables;

/// How launches run, for the life of a card.
pub struct Options {
    /// What is checked in each kernel. A kernel that reads or writes outside every buffer is a fault on a card, too.
    pub checks: Checks,
    /// The fault of a kind that ends a block's run: those before it are gathered, and told together when the launch has ended.
    pub faults: u32,
    /// Constants at or above the length of their bank are a fault. Else they are zero, as OpenGL's robust access wants.
    pub strict_constants: bool,
    /// Whether [`Launcher::profile`] counts by instruction, too.
    pub profile: bool,
    /// Instructions of warps that a launch may execute.
    pub step_limit: u64,
    /// The same for all launches of a submission together.
    pub submission_step_limit: u64,
    /// Threads that execute blocks; 0: as many as there are cores. Results do not depend on it.
    pub threads: usize,
    /// Gets each kernel when it is launched for the first time, and again when its code has changed.
    pub on_kernel: Option<OnKernel>,
    /// Gets what checkers report without stopping.
    pub on_note: Option<OnNote>,
    /// Told how far a launch has come, often.
    pub on_progress: Option<OnProgress>,
}

/// Who is told of notes.
pub type OnNote = Box<dyn FnMut(&Note) + Send>;

/// Who is told of progress: by any thread that executes blocks.
pub type OnProgress = Box<dyn Fn(&Progress) + Send + Sync>;

/// How far a launch has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Address of the kernel's first instruction.
    pub kernel: u64,
    /// Blocks that have ended. It may go back: blocks on several threads begin again, in order, where that could show.
    pub done: u64,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Whether the launch has ended, by a fault if blocks are left.
    pub ended: bool,
}

/// Minutes of work.
const STEP_LIMIT: u64 = 1 << 32;

impl Default for Options {
    fn default() -> Options {
        Options {
            checks: Checks::default(),
            faults: 1,
            strict_constants: false,
            profile: false,
            step_limit: STEP_LIMIT,
            submission_step_limit: 4 * STEP_LIMIT,
            threads: 1,
            on_kernel: None,
            on_note: None,
            on_progress: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("checks", &self.checks)
            .field("faults", &self.faults)
            .field("strict_constants", &self.strict_constants)
            .field("profile", &self.profile)
            .field("step_limit", &self.step_limit)
            .field("submission_step_limit", &self.submission_step_limit)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// What stays from launch to launch.
#[derive(Debug)]
pub struct Launcher {
    options: Options,
    code: CodeCache,
    /// Instructions that all warps have issued: the clock that kernels read.
    clock: u64,
    /// Instructions that are left for this submission.
    steps: u64,
    kernels: report::Kernels,
}

/// What a launch sees.
pub struct Context<'a> {
    /// What it runs on.
    pub chip: Chip,
    /// Registers and bindings of the class.
    pub state: &'a State,
    /// The card's memory.
    pub memory: &'a mut Memory,
    /// The card's time when the launch begins, nanoseconds.
    pub time: u64,
    /// Gets lines for the log, if there is one.
    pub log: Option<&'a mut dyn FnMut(&str)>,
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

/// What a descriptor or the registers ask, before anything is looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Request {
    /// The address that code addresses count from, and the first instruction's there.
    code: u64,
    entry: u32,
    grid: [u32; 3],
    block: [u32; 3],
    gprs: u32,
    shared: u32,
    local: u64,
    banks: Vec<Option<crate::compute::Bank>>,
    /// What is written when the last block has ended.
    releases: [Option<Release>; 2],
}

impl Request {
    /// Whether the chip can launch it.
    fn check(&self, chip: Chip) -> Result<(), String> {
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
        for (i, bank) in self.banks.iter().enumerate() {
            if let Some(bank) = bank.filter(|b| !b.address.is_multiple_of(4)) {
                return Err(format!("c[{i:#x}] is at {:#x}, which is not a multiple of 4", bank.address));
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }
}

impl Launcher {
    /// One that has launched nothing yet.
    pub fn new(options: Options) -> Launcher {
        let steps = options.submission_step_limit;
        Launcher { options, code: CodeCache::default(), clock: 0, steps, kernels: Default::default() }
    }

    /// A submission begins.
    pub fn begin(&mut self) {
        self.steps = self.options.submission_step_limit;
    }

    /// Runs the grid that a write of LAUNCH starts: on GF100 from the registers and bindings, on Kepler from the descriptor
    /// at LAUNCH_DESC_ADDRESS. With the error, the channel ends.
    ///
    /// # Errors
    /// A descriptor that no card takes, and what stopped the kernel.
    pub fn launch(&mut self, context: Context<'_>) -> Result<Report, Failure> {
        let Context { chip, state, memory, log, .. } = context;
        let request = match chip {
            Chip::Gf100 => fermi::request(state),
            Chip::Gk104 | Chip::Gk110 => kepler::request(state, memory)?,
        };
        let at = request.code.wrapping_add(request.entry.into());
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
        let program = self.code.get(chip, memory, request.code, request.entry);
        let mut first = [0; 2];
        memory.read_words(at, &mut first).map_err(|e| refused(e.to_string()))?;
        if first == [0; 2] {
            return Err(refused("there is no code; its compiler may have failed".into()));
        }
        self.run(request, &program, chip, state, memory)
    }

    fn run(
        &mut self,
        request: Request,
        program: &Arc<Program>,
        chip: Chip,
        state: &State,
        memory: &mut Memory,
    ) -> Result<Report, Failure> {
        let Launcher { options, clock, steps, kernels, .. } = self;
        let address = request.code.wrapping_add(request.entry.into());
        kernels.launched(&request, program, &mut options.on_kernel);
        let tables = Tables::new(chip, state);
        let mut launch = Launch::new(program);
        launch.kernel = format!("at {address:#x}");
        launch.entry = request.entry;
        launch.grid = request.grid;
        launch.block = request.block;
        launch.gprs = request.gprs.max(1);
        launch.shared_bytes = request.shared;
        launch.local_bytes = request.local as u32;
        for (bank, bound) in launch.consts.iter_mut().zip(&request.banks) {
            if let Some(b) = bound {
                *bank = Bank::Memory { address: b.address, size: b.size };
            }
        }
        launch.zero_beyond_banks = !options.strict_constants;
        launch.tables = Some(&tables);
        launch.clock = *clock;
        launch.shared_window = state.regs.get(SHARED_BASE) & window::MASK;
        launch.local_window = state.regs.get(LOCAL_BASE) & window::MASK;
        match chip {
            Chip::Gf100 => launch.surfaces = fermi::surfaces(state),
            Chip::Gk104 | Chip::Gk110 => launch.texture_bank = kepler::texture_bank(state),
        }
        let blocks = launch.grid.iter().fold(1, |n: u64, &g| n.saturating_mul(g.into()));
        let tell = |done, ended| {
            if let Some(tell) = &options.on_progress {
                tell(&Progress { kernel: address, done, blocks, ended });
            }
        };
        let running = |done, _| tell(done, false);
        let mut how = emu::Options {
            checks: options.checks,
            faults: options.faults,
            step_limit: options.step_limit.min(*steps),
            threads: options.threads,
            progress: options.on_progress.is_some().then_some(&running),
            profile: options.profile,
            ..emu::Options::default()
        };
        let result = emu::run(&launch, memory, &mut how);
        tell(if result.is_ok() { blocks } else { 0 }, true);
        let stats = result.map_err(|mut fault| {
            if fault.kind == FaultKind::StepLimit && *steps < options.step_limit {
                fault.detail = "the limit of one submission's launches together is reached".into();
            }
            Failure::of(fault, &launch)
        })?;
        *steps = steps.saturating_sub(stats.warp_instructions);
        if let Some(on_note) = &mut options.on_note {
            stats.notes.iter().for_each(on_note);
        }
        *clock = clock.wrapping_add(stats.warp_instructions);
        if !stats.faults.is_empty() {
            return Err(Failure::of_several(&stats.faults, &launch));
        }
        let (warp_instructions, thread_instructions) = (stats.warp_instructions, stats.thread_instructions);
        kernels.ran(program, stats);
        let (nanoseconds, releases) = (warp_instructions.max(1), request.releases);
        Ok(Report { warp_instructions, thread_instructions, nanoseconds, releases })
    }

    pub(crate) fn forked(&mut self) {
        self.options.threads = 1;
        self.kernels = Default::default();
    }

    /// What kernels did so far, in the order of their first launches.
    pub fn profile(&self) -> &[KernelProfile] {
        self.kernels.profile()
    }
}
