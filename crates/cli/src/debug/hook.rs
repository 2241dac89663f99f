//! The engine that looks on, and the executions that it goes through.

use super::input::Input;
use super::session::{Next, Session};
use super::target::Target;
use crate::out::outln;
use nvir::emu::FaultKind;
use nvir::emu::engine::{Code, Cx, Engine, Exec, SingleSteps, Trap, Warp, Yield};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct Debugger(Arc<Mutex<Session>>);

fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Debugger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Debugger")
    }
}

impl Engine for Debugger {
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>> {
        Some(Arc::new(Hook { steps: SingleSteps.prepare(code)?, session: self.0.clone() }))
    }

    fn shares_memory(&self) -> bool {
        false
    }
}

/// Asks the session before each instruction.
struct Hook {
    steps: Arc<dyn Exec>,
    session: Arc<Mutex<Session>>,
}

impl Exec for Hook {
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap> {
        let end = self.steps.run(cx, warp, until)?;
        if end == Yield::Step && !locked(&self.session).before(cx, warp) {
            return Err(Trap::new(FaultKind::Trap, 0, "the debugger begins again"));
        }
        Ok(end)
    }
}

/// Debugs until it is enough.
pub(super) fn debug(target: &Target, input: Input) -> ExitCode {
    let session = Arc::new(Mutex::new(Session::new(input)));
    let engine: Arc<dyn Engine> = Arc::new(Debugger(session.clone()));
    outln!("{}; `help` lists the commands", target.title());
    loop {
        let end = target.execute(&engine);
        let mut session = locked(&session);
        match session.ended(&end) {
            Next::Again => session.begin(),
            Next::Quit => return ExitCode::SUCCESS,
        }
    }
}
