//! The steps of one thread: each instruction of its warp with what it writes there.

use crate::{Frame, Shared};
use nvir_base::stage::Stage;
use nvir_emu::engine::steps::Recorder;
use nvir_emu::engine::{Code, Cx, Engine, Exec, SingleSteps, Trap, Warp, Yield};
use nvir_emu::{FaultKind, Program};
use nvir_vgpu::replay::Options;
use nvir_vgpu::watch::{Done, Seen, Thread, Wanted, Watch};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Instructions that are listed.
const MAX_STEPS: usize = 20_000;

/// Which thread.
#[derive(Clone, Debug)]
pub(crate) struct Which {
    /// Its command.
    pub command: u64,
    pub stage: Stage,
    pub thread: Thread,
    /// What was wanted of fragments when the thread was found: launches are counted with it.
    pub wanted: Wanted,
}

#[derive(Default)]
struct State {
    /// The command that executes, and how many launches its stage had.
    command: u64,
    launches: u32,
    /// The launch that is looked for is the one that runs.
    is_here: bool,
    seen: Recorder,
    program: Option<Program>,
    cut: bool,
}

/// Who looks for the thread: a watch, which knows what runs, and an engine, which sees it run.
#[derive(Clone)]
struct Follower {
    which: Arc<Which>,
    state: Shared<State>,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Follower").field(&self.which).finish()
    }
}

impl Watch for Follower {
    fn begin(&mut self, seen: &Seen<'_>) -> Wanted {
        let mut state = self.state.lock();
        (state.command, state.launches, state.is_here) = (seen.number, 0, false);
        if seen.number == self.which.command { self.which.wanted.clone() } else { Wanted::Nothing }
    }

    fn end(&mut self, _: &Seen<'_>, _: &Done) {
        self.state.lock().is_here = false;
    }

    fn runs(&mut self, stage: Stage) {
        let which = &self.which;
        let mut state = self.state.lock();
        state.is_here = false;
        if stage == which.stage && state.command == which.command {
            state.is_here = state.launches == which.thread.launch;
            state.launches += 1;
        }
    }
}

impl Engine for Follower {
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>> {
        Some(Arc::new(Stepping { steps: SingleSteps.prepare(code)?, follower: self.clone() }))
    }

    fn shares_memory(&self) -> bool {
        false
    }
}

/// Looks at the warp before each instruction.
struct Stepping {
    steps: Arc<dyn Exec>,
    follower: Follower,
}

impl Exec for Stepping {
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap> {
        let end = self.steps.run(cx, warp, until)?;
        let which = &self.follower.which;
        let mut state = self.follower.state.lock();
        // A stage's warp is a block of its grid.
        let is_here = state.is_here && cx.block()[0] == which.thread.warp;
        if state.program.is_some() && !is_here || state.seen.len() >= MAX_STEPS {
            state.cut = state.seen.len() >= MAX_STEPS;
            return Err(Trap::new(FaultKind::Trap, 0, "the thread has been seen"));
        }
        if end == Yield::Step && is_here {
            state.program.get_or_insert_with(|| cx.program().clone());
            state.seen.look(cx, warp);
        }
        Ok(end)
    }
}

/// The steps of a thread.
pub(crate) fn of(frame: &Frame, which: Which) -> Result<Value, String> {
    let follower = Follower { which: Arc::new(which), state: Shared::default() };
    let lane = follower.which.thread.lane as usize;
    let options = Options { engine: Some(Arc::new(follower.clone())), ..Options::default() };
    frame.replay(follower.clone(), options, &mut |_| {})?;
    let mut state = follower.state.lock();
    let Some(program) = state.program.take() else {
        return Err("there is no such thread".into());
    };
    let seen = state.seen.finish();
    Ok(nvir_page::steps::of_thread(&seen, &program, lane, state.cut))
}
