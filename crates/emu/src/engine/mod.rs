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
pub use crate::run::block::Turns;
pub use crate::state::warp::Warp;
pub use crate::trap::Trap;
pub use lockstep::Lockstep;

mod inspect;
mod lockstep;
pub mod open;
pub mod steps;

use crate::interpreter;
use std::fmt::Debug;
use std::sync::Arc;

/// Makes executors.
pub trait Engine: Send + Sync + Debug {
    /// An executor of this code; none if the interpreter is to execute it.
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>>;

    /// Whether blocks of a launch may execute on several threads.
    fn shares_memory(&self) -> bool {
        true
    }
}

/// Executes warps of one code.
pub trait Exec: Send + Sync {
    /// Runs a warp until it stops, or until the block has executed `until` instructions and a basic block begins.
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap>;

    /// Runs the warp whose turn it is, and may go on to others' turns as [`Turns::next`] begins them. How the last one ended.
    fn run_turns(&self, cx: &mut Cx<'_>, turns: &mut Turns<'_>) -> Result<Yield, Trap> {
        let (warp, until) = turns.current();
        self.run(cx, warp, until)
    }

    /// Whether warps of fragments whose program only ends need not come to it: it has no other purpose than to execute.
    fn only_executes(&self) -> bool {
        false
    }
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

    fn only_executes(&self) -> bool {
        true
    }
}

/// The interpreter an instruction at a time, without its ways for many of them: what [`Interpreter`] is held against.
#[derive(Clone, Copy, Debug)]
pub struct SingleSteps;

impl Engine for SingleSteps {
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>> {
        Some(Arc::new(Stepper(code.clone())))
    }
}

struct Stepper(Arc<Code>);

impl Exec for Stepper {
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap> {
        let begins = self.0.index(warp.pc).is_none_or(|at| self.0.insts[at].leader);
        Ok(if begins && cx.block.steps >= until { Yield::Slice } else { Yield::Step })
    }
}

/// Runs the warp whose turn it is, and those whose turns follow, by an executor, and by the interpreter where that has none for an
/// instruction.
pub(crate) fn run(exec: Option<&dyn Exec>, cx: &mut Cx<'_>, turns: &mut Turns<'_>) -> Result<Yield, Trap> {
    let Some(exec) = exec else {
        loop {
            let (warp, until) = turns.current();
            let ended = interpreter::run(cx, warp, until)?;
            if !turns.next(cx) {
                return Ok(ended);
            }
        }
    };
    loop {
        match exec.run_turns(cx, turns)? {
            Yield::Step => {
                if let Some(end) = interpreter::step(cx, turns.current().0)? {
                    return Ok(end);
                }
            }
            end => return Ok(end),
        }
    }
}
