//! Engines: what executes warps. The interpreter executes everything; another engine may take code that it knows, and gives
//! back what it does not.
//!
//! All keep to these rules, which `docs/emulator.md` has with their reasons:
//!
//! - A slice ends only where a basic block begins: limits are looked at there, and nowhere else.
//! - Instructions are counted by block: a block that begins counts whole, unless it faults.
//! - An instruction that faults leaves the warp, the block and memory as they were.
//! - The clock is the number of instructions that the block's warps have executed.

pub use crate::code::program::Code;
pub use crate::cx::Cx;
pub use crate::interpreter::Yield;
pub use crate::state::warp::Warp;
pub use crate::trap::Trap;
pub use lockstep::Lockstep;

mod lockstep;
pub mod open;

use crate::cx::Env;
use crate::interpreter;
use crate::{Checks, Options, Side};
use std::fmt::Debug;
use std::sync::Arc;

/// Makes executors.
pub trait Engine: Sync + Debug {
    /// An executor of this code; none if the interpreter is to execute it.
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>>;
}

/// Executes warps of one code.
pub trait Exec: Send + Sync {
    /// Runs a warp until it stops, or until the block has executed `until` instructions and a basic block begins.
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap>;
}

/// The interpreter as an engine.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter;

impl Engine for Interpreter {
    fn prepare(&self, _: &Arc<Code>) -> Option<Arc<dyn Exec>> {
        Some(Arc::new(Interpreter))
    }
}

impl Exec for Interpreter {
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap> {
        interpreter::run(cx, warp, until)
    }
}

/// The executor of a launch: another engine's than the interpreter only where nothing is asked for that it does not do.
pub(crate) fn executor(env: &Env<'_>, options: &Options<'_>) -> Option<Arc<dyn Exec>> {
    let bound = env.bound;
    let Checks { memory, init, race, strict_race: _, global_race, sync } = options.checks;
    let plain = memory && !(init || race || global_race || sync);
    let watched = options.trace.is_some() || options.profile || options.faults > 1 || env.tracker.is_some();
    let engine = options.engine.filter(|_| plain && !watched && options.first == Side::Taken)?;
    // What this launch lacks, the code does not know.
    if bound.is_patched() {
        return None;
    }
    engine.prepare(&bound.launch.program.code)
}

/// Runs a warp by an executor, and by the interpreter where that has none for an instruction.
pub(crate) fn run(
    exec: Option<&dyn Exec>,
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    until: u64,
) -> Result<Yield, Trap> {
    let Some(exec) = exec else { return interpreter::run(cx, warp, until) };
    loop {
        match exec.run(cx, warp, until)? {
            Yield::Step => {
                if let Some(end) = interpreter::step(cx, warp)? {
                    return Ok(end);
                }
            }
            end => return Ok(end),
        }
    }
}
