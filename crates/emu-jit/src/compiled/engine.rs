//! The engine: what is compiled when, and what is interpreted.

use super::frame::{self, Function};
use super::host;
use super::lift::{self, Keep};
use crate::Threads;
use nvir_emu::Program;
use nvir_emu::engine::open::{self, Inst, Micro};
use nvir_emu::engine::{Code, Cx, Engine, Exec, Trap, Turns, Warp, Yield};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Instructions that warps execute of code before it is compiled, times what [`work`] says: compiling one takes up to 60 us, in which
/// the interpreter executes six thousand. A program that ends then has lost little.
const WORTH: u64 = 16_000;

/// How much code becomes of other code, in parts of what becomes of a sum: accesses to memory take a check and a loop.
fn work(code: &Code) -> u64 {
    const ACCESS: u64 = 6;
    let each = |i: &Inst| match i.micro {
        Micro::Sched => 0,
        Micro::Load { .. } | Micro::Store { .. } | Micro::Atom { .. } => ACCESS,
        _ => 1,
    };
    code.instructions().iter().map(each).sum()
}

/// The instructions that warps execute of code before it is compiled; none: it would not become faster, since nearly all of its
/// instructions are calls then, as in programs of draws that pass their inputs on.
fn worth(code: &Code, threads: Threads) -> Option<u64> {
    const PART: usize = 4;
    let all =
        || (0..code.instructions().len()).filter(|&i| !matches!(code.instructions()[i].micro, Micro::Sched));
    let in_line = all().filter(|&i| lift::is_in_code(code, i, threads)).count();
    (PART * in_line >= all().count()).then(|| WORTH * work(code))
}

/// What this engine makes of a program of which warps executed so many instructions, in a sentence.
pub(crate) fn outlook(program: &Program, threads: Threads, executed: u64) -> String {
    if let Err(why) = host::instruction_set() {
        return format!("interpreted: {why}");
    }
    let code = program.decoded();
    let Some(worth) = worth(code, threads) else {
        return "interpreted: nearly all of its instructions would be calls".to_string();
    };
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    let all = || code.instructions().iter().enumerate().filter(|(_, i)| !matches!(i.micro, Micro::Sched));
    for (at, _) in all().filter(|(at, _)| !lift::is_in_line(code, *at, threads)) {
        let name = program.instruction(code.address(at)).map_or("unknown", |m| m.op.name());
        *calls.entry(name).or_default() += 1;
    }
    let when = if executed < worth { "interpreted: compiled from" } else { "compiled after" };
    let mut text = format!("{when} {worth} instructions on");
    if !calls.is_empty() {
        let each: Vec<String> = calls.iter().map(|(name, n)| format!("{n} {name}")).collect();
        let _ = write!(text, "; of {} in the code the interpreter has {}", all().count(), each.join(", "));
    }
    text
}

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
        let attached = code.attached().get(|| Arc::new(Attached::new(code)))?.clone();
        Some(Arc::new(Executor { how: *self, attached }))
    }
}

/// Executes one code.
struct Executor {
    how: Compiled,
    attached: Arc<Attached>,
}

/// What has become of a program: it goes with it.
#[derive(Default)]
struct Attached {
    /// How many instructions are interpreted before it is compiled, if it is, of kernels and of stages.
    worth: [Option<u64>; 2],
    /// Of kernels, and of stages: what the ends of programs read differs.
    forms: [Form; 2],
    /// The same for [`Compiled::Exact`].
    exact: [Form; 2],
}

/// A form of the code.
#[derive(Default)]
struct Form {
    /// Instructions that were interpreted.
    executed: AtomicU64,
    compiled: OnceLock<Result<lift::Compiled, host::Refused>>,
}

impl Attached {
    fn new(code: &Code) -> Attached {
        Attached { worth: [Threads::Kernel, Threads::Stage].map(|of| worth(code, of)), ..Attached::default() }
    }

    fn form(&self, how: Compiled, threads: Threads) -> &Form {
        let [kernel, stage] = match how {
            Compiled::Exact => &self.exact,
            Compiled::Hot | Compiled::Eager => &self.forms,
        };
        match threads {
            Threads::Kernel => kernel,
            Threads::Stage => stage,
        }
    }
}

impl Form {
    fn compile(&self, cx: &Cx<'_>, threads: Threads, keep: Keep) -> Option<&lift::Compiled> {
        let make = || {
            let code = cx.code();
            let roots: Vec<usize> = code.index(cx.entry()).into_iter().collect();
            lift::compile(code, &roots, threads, keep)
        };
        self.compiled.get_or_init(make).as_ref().ok()
    }
}

impl Executor {
    /// Compiles a form if it is time; whether there is code.
    fn compiles(&self, cx: &Cx<'_>, form: &Form, threads: Threads) -> bool {
        let [kernel, stage] = self.attached.worth;
        let worth = if threads == Threads::Kernel { kernel } else { stage };
        let hot = self.how != Compiled::Hot || worth.is_some_and(|n| form.executed.load(Relaxed) >= n);
        let keep = if self.how == Compiled::Exact { Keep::All } else { Keep::Live };
        hot && form.compile(cx, threads, keep).is_some()
    }
}

impl Exec for Executor {
    fn only_executes(&self) -> bool {
        true
    }

    fn run(&self, cx: &mut Cx<'_>, warp: &mut Warp, until: u64) -> Result<Yield, Trap> {
        self.run_turns(cx, &mut Turns::one(warp, until))
    }

    fn run_turns(&self, cx: &mut Cx<'_>, turns: &mut Turns<'_>) -> Result<Yield, Trap> {
        let threads = if cx.is_stage() { Threads::Stage } else { Threads::Kernel };
        let form = self.attached.form(self.how, threads);
        if form.compiled.get().is_none() && !self.compiles(cx, form, threads) {
            let (warp, until) = turns.current();
            let before = cx.steps();
            let end = open::run(cx, warp, until);
            form.executed.fetch_add(cx.steps() - before, Relaxed);
            return end;
        }
        if let Some(Ok(compiled)) = form.compiled.get() {
            let (numbers, accesses) = (&compiled.numbers[..], &compiled.accesses[..]);
            let function = Function { entry: compiled.blob.entry, numbers, accesses };
            let has_registers = turns.current().0.registers() >= compiled.registers;
            while has_registers && let Some(block) = function.block(cx.code(), turns.current().0) {
                // SAFETY: `compile` made the function of the code that it is beside, which is the one that `cx` executes.
                if let Some(end) = unsafe { frame::enter(function, cx, turns, block) }? {
                    return Ok(end);
                }
            }
        }
        // Nothing is compiled; or a computed jump led into the middle of a block, or this launch begins elsewhere. (One with too few
        // registers has no engine.)
        let (warp, until) = turns.current();
        open::run(cx, warp, until)
    }
}
