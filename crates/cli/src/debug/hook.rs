//! The engine that looks on, and the executions that it goes through.

use super::input::Input;
use super::session::{Next, Session};
use super::target::Target;
use crate::out::outln;
use nvir::emu::FaultKind;
use nvir::emu::engine::{Code, Cx, Engine, Exec, SingleSteps, Trap, Warp, Yield};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct Debugger(Mutex<Session>);

impl Debugger {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Debugger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Debugger")
    }
}

impl Engine for &'static Debugger {
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>> {
        Some(Arc::new(Hook { steps: SingleSteps.prepare(code)?, debugger: self }))
    }

    fn shares_memory(&self) -> bool {
        false
    }
}

/// Asks the session before each instruction.
struct Hook {
    steps: Arc<dyn Exec>,
    debugger: &'static Debugger,
}

impl Exec for Hook {
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap> {
        let end = self.steps.run(cx, warp, until)?;
        if end == Yield::Step && !self.debugger.session().before(cx, warp) {
            return Err(Trap::new(FaultKind::Trap, 0, "the debugger begins again"));
        }
        Ok(end)
    }
}

/// Debugs until it is enough.
pub(super) fn debug(target: &Target, input: Input) -> ExitCode {
    // An engine lives as long as the process.
    let debugger: &'static Debugger = Box::leak(Box::new(Debugger(Mutex::new(Session::new(input)))));
    let engine: &'static &'static Debugger = Box::leak(Box::new(debugger));
    outln!("{}; `help` lists the commands", target.title());
    loop {
        let end = target.execute(engine);
        let mut session = debugger.session();
        match session.ended(&end) {
            Next::Again => session.begin(),
            Next::Quit => return ExitCode::SUCCESS,
        }
    }
}
