//! The steps of one thread: each instruction of its warp with what it writes there.

use crate::collect::listing;
use crate::{Frame, Shared};
use nvir_base::stage::Stage;
use nvir_emu::FaultKind;
use nvir_emu::engine::{Code, Cx, Engine, Exec, SingleSteps, Trap, Warp, Yield};
use nvir_vgpu::watch::{Done, Seen, Thread, Wanted, Watch};
use serde_json::{Value, json};
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
    /// The instruction before: its address, and the mask it ran with.
    before: Option<(u32, u32)>,
    start: Option<Value>,
    program: Vec<Value>,
    steps: Vec<Value>,
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
        if state.start.is_some() && !is_here || state.steps.len() >= MAX_STEPS {
            state.cut = state.steps.len() >= MAX_STEPS;
            return Err(Trap::new(FaultKind::Trap, 0, "the thread has been seen"));
        }
        if end == Yield::Step && is_here {
            state.look(cx, warp, which.thread.lane as usize);
        }
        Ok(end)
    }
}

impl State {
    /// Tells what the instruction before has written, and begins the one that comes.
    fn look(&mut self, cx: &Cx<'_>, warp: &Warp, lane: usize) {
        let program = cx.program();
        if program.is_scheduling_word(warp.pc) {
            return;
        }
        if self.start.is_none() {
            self.program = listing(program);
            let registers = warp.regs.iter().map(|row| row.0[lane]);
            self.start = Some(json!({
                "registers": registers.collect::<Vec<_>>(),
                "predicates": (0..7).map(|p| warp.preds[p] >> lane & 1).collect::<Vec<_>>(),
            }));
        }
        if let Some((pc, mask)) = self.before.replace((warp.pc, warp.active)) {
            self.wrote(cx, warp, (pc, mask), lane);
        }
    }

    fn wrote(&mut self, cx: &Cx<'_>, warp: &Warp, (pc, mask): (u32, u32), lane: usize) {
        let code = cx.code();
        let runs = mask >> lane & 1 != 0;
        let inst = code.index(pc).and_then(|at| code.instructions().get(at)).filter(|_| runs);
        let written = inst.iter().flat_map(|i| &i.writes).flat_map(|&(first, n)| {
            (usize::from(first)..usize::from(first) + usize::from(n))
                .filter_map(|r| Some(json!([r, warp.regs.get(r)?.0[lane]])))
        });
        let written: Vec<Value> = written.collect();
        let predicates = inst.map_or(0, |i| i.pred_writes);
        let predicates = (0..7).filter(|p| predicates >> p & 1 != 0);
        let predicates = predicates.map(|p| json!([p, warp.preds[p] >> lane & 1]));
        self.steps.push(json!([
            pc,
            format!("{mask:08x}"),
            written,
            predicates.collect::<Vec<_>>(),
            warp.stack.len(),
        ]));
    }
}

/// The steps of a thread.
pub(crate) fn of(frame: &Frame, which: Which) -> Result<Value, String> {
    let follower = Follower { which: Arc::new(which), state: Shared::default() };
    // An engine lives as long as the process; one is made for each thread that somebody looks at.
    let engine: &'static Follower = Box::leak(Box::new(follower.clone()));
    frame.replay(follower.clone(), Some(engine), &mut |_| {})?;
    let mut state = follower.state.lock();
    let Some(start) = state.start.take() else {
        return Err("there is no such thread".into());
    };
    // Behind the last there is nothing to see.
    if let Some((pc, mask)) = state.before.take() {
        let depth = 0;
        let nothing: [u32; 0] = [];
        state.steps.push(json!([pc, format!("{mask:08x}"), nothing, nothing, depth]));
    }
    Ok(json!({
        "start": start,
        "program": std::mem::take(&mut state.program),
        "steps": std::mem::take(&mut state.steps),
        "cut": state.cut,
    }))
}
