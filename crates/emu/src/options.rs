//! How a launch is run.

use crate::check::Checks;
use crate::cx::Env;
use crate::engine::{Engine, Exec};
use crate::launch::Launch;
use crate::run::bound::Bound;
use crate::run::conflict::Tracker;
use crate::stage::Context;
use crate::state::block::Shape;
use crate::state::warp::Side;
use crate::units::special::ThreadNumbers;
use nvir_isa::fetch::Run;
use nvir_simd::Processor;
use std::sync::Arc;

/// Runs of a block that are written down: 12 MiB of them.
pub const MOST_RUNS: u32 = 1 << 20;

/// Is shown what the warps of a kernel's launch executed, in which order: a model of time.
pub trait Timeline {
    /// A launch begins; whether its blocks are to be shown.
    fn begin(&mut self, launch: &Launch<'_>) -> bool;

    /// A block has ended: what each of its warps executed; nothing if that was more than [`MOST_RUNS`] runs. Blocks come in the order
    /// in which they end.
    fn block(&mut self, warps: Vec<Vec<Run>>);
}

/// How to run, as opposed to what.
pub struct Options<'a> {
    /// What is checked.
    pub checks: Checks,
    /// Instructions of warps that the whole launch may execute.
    pub step_limit: u64,
    /// Threads that execute blocks; 0: as many as there are cores. The result does not depend on it.
    pub threads: usize,
    /// Gets a line for every instruction that a warp executes: place, active mask, text, results.
    pub trace: Option<&'a mut dyn FnMut(&str)>,
    /// Told how many blocks have ended, and of how many, after each block and while long ones run. With several threads
    /// calls come from all of them, and a count may go back to zero: the launch begins again where it could not be shared.
    pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
    /// Whether [`Stats::profile`](crate::Stats::profile) is filled.
    pub profile: bool,
    /// Is shown what warps executed, with a profile; threads of a graphics stage are not.
    pub timeline: Option<&'a mut dyn Timeline>,
    /// The fault of a kind that ends a block's run: after those before it (bad accesses, races, reads of what nothing has
    /// written) the thread goes on without what it was to do, and they are in [`Stats::faults`](crate::Stats::faults). 1: the first fault ends the
    /// launch, as an error. Above that the launch is no error: what ends it is the last of those faults.
    pub faults: u32,
    /// What executes code instead of the interpreter, where nothing is asked for that it does not do: checks other than of memory,
    /// traces, profiles, going on after faults.
    pub engine: Option<&'a dyn Engine>,
    /// Which side of a divergent branch runs first. A card runs [`Side::Taken`]; a program that depends on it is worth
    /// a look, so the other can be tried.
    pub first: Side,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            checks: Checks::default(),
            step_limit: 1 << 32,
            threads: 1,
            trace: None,
            progress: None,
            profile: false,
            timeline: None,
            faults: 1,
            engine: None,
            first: Side::default(),
        }
    }
}

impl Options<'_> {
    /// What all blocks of a launch share.
    pub(crate) fn env<'a>(
        &self,
        bound: &'a Bound<'a>,
        shape: Shape,
        tracker: Option<&'a Tracker>,
        stage: Option<&'a Context<'a>>,
    ) -> Env<'a> {
        let checks = self.checks;
        let partial = || bound.memory.buffers.iter().any(|b| b.init.is_some());
        Env {
            bound,
            shape,
            checks,
            faults: self.faults,
            observed: tracker.is_some() || checks.global_race || checks.init && partial(),
            tracker,
            profile: self.profile,
            timeline: false,
            processor: Processor::detect(),
            threads: ThreadNumbers::new(if stage.is_some() { [0; 3] } else { shape.block }),
            first: self.first,
            stage,
        }
    }

    /// The executor of a launch: another engine's than the interpreter only where nothing is asked for that it does not do.
    pub(crate) fn executor(&self, env: &Env<'_>) -> Option<Arc<dyn Exec>> {
        let bound = env.bound;
        let Checks { memory, init, race, strict_race: _, global_race, sync } = self.checks;
        let plain = memory && !(init || race || global_race || sync);
        let watched = self.trace.is_some() || self.profile || self.faults > 1;
        let engine = self.engine.filter(|_| plain && !watched && self.first == Side::Taken)?;
        // What this launch lacks, the code does not know.
        if bound.is_patched() {
            return None;
        }
        engine.prepare(&bound.launch.program.code)
    }
}
