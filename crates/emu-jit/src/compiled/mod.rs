//! Kernels and graphics stages as host code.
//!
//! Code is compiled once it has executed so many instructions that compiling pays, and kept beside the decoded program. Before
//! that, and where something cannot be compiled, the interpreter executes.

mod access;
mod blocks;
mod frame;
mod host;
mod lift;
mod liveness;

use frame::Function;
use lift::Keep;
use nvir_emu::engine::open::{self};
use nvir_emu::engine::{Code, Cx, Engine, Exec, Trap, Warp, Yield};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Instructions that warps execute of a kernel before it is compiled, times its length: what compiling one takes, the interpreter
/// executes a thousand to two thousand in.
const WORTH: u64 = 2000;

/// The engine that compiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compiled {
    /// What has executed often enough.
    Hot,
    /// Everything, at once: for tests.
    Eager,
    /// The same, and registers that nothing reads any more are as the interpreter leaves them: for comparisons of single blocks.
    Exact,
}

impl Engine for Compiled {
    fn prepare(&self, code: &Arc<Code>) -> Option<Arc<dyn Exec>> {
        let _ = code;
        Some(Arc::new(*self))
    }
}

/// What has become of a program: it goes with it.
#[derive(Default)]
struct Attached {
    kernel: Form,
    stage: Form,
    /// The same for [`Compiled::Exact`].
    exact: [Form; 2],
}

/// One of kernels, one of stages: what the ends of programs read differs.
#[derive(Default)]
struct Form {
    /// Instructions that were interpreted.
    executed: AtomicU64,
    compiled: OnceLock<Result<lift::Compiled, host::Refused>>,
}

impl Attached {
    fn form(&self, how: Compiled, is_stage: bool) -> &Form {
        match (how, is_stage) {
            (Compiled::Exact, _) => &self.exact[usize::from(is_stage)],
            (_, false) => &self.kernel,
            (_, true) => &self.stage,
        }
    }
}

impl Form {
    fn compile(&self, cx: &Cx<'_>, keep: Keep) -> Option<&lift::Compiled> {
        let make = || {
            let code = cx.code();
            let roots: Vec<usize> = code.index(cx.entry()).into_iter().collect();
            lift::compile(code, &roots, cx.is_stage(), keep)
        };
        self.compiled.get_or_init(make).as_ref().ok()
    }
}

impl Exec for Compiled {
    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap> {
        let code = cx.code();
        let Some(attached) = code.attached().get(Attached::default) else {
            return open::run(cx, warp, until);
        };
        let form = attached.form(*self, cx.is_stage());
        let length = code.instructions().len() as u64;
        let hot = *self != Compiled::Hot || form.executed.load(Relaxed) >= WORTH * length;
        let keep = if *self == Compiled::Exact { Keep::All } else { Keep::Live };
        let compiled = if hot { form.compile(cx, keep) } else { None };
        let Some(compiled) = compiled else {
            let before = cx.steps();
            let end = open::run(cx, warp, until);
            form.executed.fetch_add(cx.steps() - before, Relaxed);
            return end;
        };
        let Some(at) = code.index(warp.pc) else { return Ok(Yield::Step) };
        let block = compiled.numbers[at];
        if block == frame::ELSEWHERE || warp.registers() < compiled.registers {
            // A computed jump led into the middle of a block, or this launch begins elsewhere. (One with too few registers has no engine.)
            return open::run(cx, warp, until);
        }
        let function =
            Function { entry: compiled.blob.entry, numbers: &compiled.numbers, accesses: &compiled.accesses };
        // SAFETY: `compile` made the function of the code that it is beside, which is the one that `cx` executes.
        unsafe { frame::enter(function, cx, warp, block, until) }
    }
}
