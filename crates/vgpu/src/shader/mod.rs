//! Programs: what is bound to them, how they run, what they tell. Compute and drawing share all of
//! it.

mod bindings;
mod cycles;
mod linked;
mod report;
mod tables;

pub(crate) use bindings::bind_banks;
pub use bindings::{Bank, Bindings};
pub use cycles::estimated_cycles;
pub use report::{DrawProfile, DrawProfiles, Failure, Kernel, KernelProfile, OnKernel};
pub(crate) use tables::Tables;

use crate::Memory;
use nvir_base::Chip;
use nvir_emu::{self as emu, Checks, CodeCache, Fault, FaultKind, Launch, Note, Profile, Program, Stats};
use report::Kernels;
use std::fmt;
use std::sync::Arc;

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
    /// What executes programs; `None`: the interpreter. Results do not depend on it.
    pub engine: Option<Arc<dyn emu::engine::Engine>>,
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
            engine: None,
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
            .field("engine", &self.engine)
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
    kernels: Kernels,
    draws: DrawProfiles,
}

/// Instructions that a launch executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub warps: u64,
    pub threads: u64,
}

impl Launcher {
    /// One that has launched nothing yet.
    pub fn new(options: Options) -> Launcher {
        let steps = options.submission_step_limit;
        Launcher {
            options,
            code: CodeCache::default(),
            clock: 0,
            steps,
            kernels: Kernels::default(),
            draws: DrawProfiles::default(),
        }
    }

    /// A submission begins.
    pub fn begin(&mut self) {
        self.steps = self.options.submission_step_limit;
    }

    /// The program whose first instruction is `entry` bytes behind `base`, decoded. An error: there
    /// is no code.
    pub(crate) fn program(
        &mut self,
        chip: Chip,
        memory: &Memory,
        base: u64,
        entry: u32,
    ) -> Result<Arc<Program>, String> {
        let program = self.code.get(chip, memory, base, entry);
        let mut first = [0; 2];
        memory.read_words(base.wrapping_add(entry.into()), &mut first).map_err(|e| e.to_string())?;
        if first == [0; 2] {
            return Err("there is no code; its compiler may have failed".into());
        }
        Ok(program)
    }

    /// Notes a launch of a kernel or of a stage of a draw, which whoever asked for it is told of.
    pub(crate) fn launched(&mut self, kernel: &Kernel<'_>, program: &Arc<Program>) {
        self.kernels.launched(kernel, program, &mut self.options.on_kernel);
    }

    /// A draw has ended.
    pub(crate) fn ended(&mut self, draw: &DrawProfile) {
        if self.options.profile {
            self.draws.add(draw);
        }
    }

    /// What draws did so far, if they are profiled.
    pub fn draws(&self) -> &DrawProfiles {
        &self.draws
    }

    /// Whether reads of what nobody gave are reported.
    pub(crate) fn checks_definedness(&self) -> bool {
        self.options.checks.init
    }

    /// Reports what is no fault of a program.
    pub(crate) fn note(&mut self, note: &Note) {
        if let Some(on_note) = &mut self.options.on_note {
            on_note(note);
        }
    }

    /// Gives a launch what all of this card's have.
    pub(crate) fn prepare(&self, launch: &mut Launch<'_>) {
        launch.zero_beyond_banks = !self.options.strict_constants;
        launch.clock = self.clock;
    }

    /// Runs a launch of a program, at `address` and of so many blocks, by `execute` with this card's
    /// options, within what is left of the submission's instructions.
    pub(crate) fn run(
        &mut self,
        program: &Program,
        (address, blocks): (u64, u64),
        execute: impl FnOnce(&mut emu::Options<'_>) -> Result<Stats, Box<Fault>>,
    ) -> Result<Counts, Failure> {
        let Launcher { options, clock, steps, kernels, .. } = self;
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
            engine: options.engine.as_deref(),
            ..emu::Options::default()
        };
        let result = execute(&mut how);
        tell(if result.is_ok() { blocks } else { 0 }, true);
        let stats = result.map_err(|mut fault| {
            if fault.kind == FaultKind::StepLimit && *steps < options.step_limit {
                fault.detail = "the limit of one submission's launches together is reached".into();
            }
            Failure::of(fault, program)
        })?;
        *steps = steps.saturating_sub(stats.warp_instructions);
        if let Some(on_note) = &mut options.on_note {
            stats.notes.iter().for_each(on_note);
        }
        *clock = clock.wrapping_add(stats.warp_instructions);
        if !stats.faults.is_empty() {
            return Err(Failure::of_several(&stats.faults, program));
        }
        let counts = Counts { warps: stats.warp_instructions, threads: stats.thread_instructions };
        kernels.ran(program, stats);
        Ok(counts)
    }

    pub(crate) fn forked(&mut self) {
        self.options.threads = 1;
        self.kernels = Kernels::default();
        self.draws = DrawProfiles::default();
    }

    /// What a program was profiled to do since it was last asked here, which is from then on no part of [`Launcher::profile`].
    pub(crate) fn take_profile(&mut self, program: &Program) -> Option<Profile> {
        self.kernels.take_profile(program)
    }

    /// What kernels did so far, in the order of their first launches.
    pub fn profile(&self) -> &[KernelProfile] {
        self.kernels.profile()
    }
}
