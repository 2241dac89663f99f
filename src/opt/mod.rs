//! The optimiser: a pass manager and one file a pass.
//!
//! A [`Pass`] is a name and a function; [`PASSES`] lists all of them, and [`pipeline`] says which
//! run in which [`Stage`], in which order. The manager, once for all passes, verifies the IR after
//! each (debug builds, tests, `--verify-each`), prints it before or after, stops after a number of
//! runs (`--bisect-limit`), counts and times.
//!
//! The stages are the phases of the IR. On `Front`, operands are whatever is simplest: immediates
//! stand in any operand, 64-bit quantities are pairs. On `Ssa`, after lowering, the operations are
//! the machine's. On `Legal` every instruction encodes, and what changes one asks
//! [`crate::select::legal`] whether the new one does.
//!
//! A pass returns whether it changed anything: one that comes again in a stage is left out where
//! nothing changed since. A function pass sees one function and [`Ctx`]; a program pass sees all
//! functions (inlining, parameters that nobody needs).

mod address;
mod algebra;
mod calls;
pub(crate) mod compare_chain;
mod compare_order;
pub(crate) mod complement_select;
mod copy_prop;
mod cost;
mod dce;
mod dead_params;
mod divmod;
pub(crate) mod emit_cut;
mod fault_injection;
mod flow;
pub mod fold;
mod fuse;
mod gvn;
mod hoist;
mod idioms;
pub(crate) mod if_convert;
mod init_regs;
mod inline;
mod invert;
mod known_bits;
mod licm;
mod loop_carried;
mod loop_constants;
mod loop_lag;
mod loop_loads;
mod madsp;
mod mem_combine;
pub(crate) mod mem_forward;
mod merge_exits;
mod mods;
mod operand;
pub(crate) mod perspective_divide;
mod private_words;
mod prmt;
pub(crate) mod rewrite;
mod rotate;
mod rounds;
mod short_circuit;
mod sink;
mod slct;
pub mod snapshot;
pub(crate) mod store_merge;
pub(crate) mod strength;
pub(crate) mod unroll;
mod unroll_copy;
mod unroll_cost;
mod unroll_rest;

use crate::analysis::known_bits::Launch;
use crate::chip::Chip;
use crate::diag::{Loc, closest};
use crate::ir::Phase;
use crate::ir::{Function, Linkage, Merge, Op, OpSet, Program};
use crate::options::{BadOption, OptLevel, Options};
use crate::remark::Remark;
use crate::verify;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Where in the pipeline passes run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stage {
    /// On what the front-end made.
    Front,
    /// After lowering to operations of the chip.
    Ssa,
    /// After legalisation, before scheduling and register assignment.
    Legal,
}

impl Stage {
    /// The phase of the IR in it.
    pub fn phase(self) -> Phase {
        match self {
            Stage::Front => Phase::Front,
            Stage::Ssa => Phase::Ssa,
            Stage::Legal => Phase::Legal,
        }
    }
}

/// The pass of that name.
pub fn named(name: &str) -> Result<&'static Pass, BadOption> {
    find(name).ok_or_else(|| {
        let names: Vec<&'static str> = PASSES.iter().map(|p| p.name).collect();
        let help = match closest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("available: {}", names.join(", ")),
        };
        BadOption::Pass { name: name.to_string(), help }
    })
}

/// What a pass works on. Both kinds return whether they changed anything.
#[derive(Clone, Copy)]
pub enum Run {
    /// Sees one function at a time.
    Function(fn(&mut Function, &mut Ctx<'_>) -> bool),
    /// Sees all functions of the program.
    Program(fn(&mut Program, &mut Ctx<'_>) -> bool),
}

/// A pass by its name.
pub struct Pass {
    /// Its name, as `--passes` takes it.
    pub name: &'static str,
    /// What it does, in a line of at most 100 columns.
    pub summary: &'static str,
    /// What it does.
    pub run: Run,
    /// It has nothing to do in a function without these operations.
    pub about: Option<OpSet>,
    /// It has nothing to do in a function without loops.
    pub loops: bool,
}

const fn on_function(
    name: &'static str,
    run: fn(&mut Function, &mut Ctx<'_>) -> bool,
    summary: &'static str,
) -> Pass {
    Pass { name, summary, run: Run::Function(run), about: None, loops: false }
}

const fn on_program(
    name: &'static str,
    run: fn(&mut Program, &mut Ctx<'_>) -> bool,
    summary: &'static str,
) -> Pass {
    Pass { name, summary, run: Run::Program(run), about: None, loops: false }
}

impl Pass {
    /// Has nothing to do without one of these operations.
    const fn about(self, ops: &[Op]) -> Pass {
        Pass { about: Some(OpSet::new(ops)), ..self }
    }

    /// Has nothing to do without a loop.
    const fn about_loops(self) -> Pass {
        Pass { loops: true, ..self }
    }

    /// Whether it may find something to do.
    fn concerns(&self, program: &Program) -> bool {
        let loops = |f: &Function| f.layout.iter().any(|&b| matches!(f.blocks[b].merge, Merge::Loop { .. }));
        self.about.is_none_or(|ops| program.funcs.values().any(|f| f.ops.meets(ops)))
            && (!self.loops || program.funcs.values().any(loops))
    }
}

/// All passes, in alphabetical order.
pub static PASSES: &[Pass] = &[
    on_function(
        "address",
        address::run,
        "constant additions move from the base of an access into its offset",
    ),
    on_function("algebra", algebra::run, "identities, canonical forms, booleans as predicates"),
    on_program(
        "calls",
        calls::run,
        "records what callees do and what callers pass, where the linkage lets it be assumed",
    )
    .about(&[Op::Call]),
    on_function(
        "compare_chain",
        compare_chain::run,
        "logic on the masks of comparisons becomes a chain of comparisons through predicates",
    )
    .about(&[Op::Set]),
    on_function(
        "compare_order",
        compare_order::run,
        "of the comparisons of a chain, the one whose operands come last goes last",
    )
    .about(&[Op::Set]),
    on_function(
        "complement_select",
        complement_select::run,
        "of two selects by one condition in opposite order, the second is derived from the first",
    )
    .about(&[Op::Sel, Op::Slct]),
    on_function("copy_prop", copy_prop::run, "reads of a copy become reads of the original"),
    on_function("dce", dce::run, "removes what nobody reads and has no effect"),
    on_program(
        "dead_params",
        dead_params::run,
        "removes parameters that a subroutine does not read and results that no caller reads",
    ),
    on_function("divmod", divmod::run, "divisions by constants become multiplications and shifts")
        .about(&[Op::Div, Op::Mod]),
    on_function("emit_cut", emit_cut::run, "a cut merges into the emit before it").about(&[Op::Emit]),
    on_function("flow", flow::run, "simplifies decided branches, unreachable blocks and jumps to jumps"),
    on_function("fold", fold::run, "an operation on constants becomes its result"),
    on_function("fuse", fuse::run, "forms multiply-add, shift-add and byte permutations"),
    on_function("gvn", gvn::run, "of two computations of the same thing, the dominated one goes"),
    on_function("hoist", hoist::run, "what both sides of a branch compute is computed in front of it"),
    on_function("if_convert", if_convert::run, "all lanes execute the short sides of a branch"),
    on_function("init_regs", init_regs::run, "registers read before any write get a value")
        .about(&[Op::Undef]),
    on_program("inline", inline::run, "subroutines become part of their callers"),
    on_function("invert", invert::run, "the test in front of a loop's body goes behind it").about_loops(),
    on_function("known_bits", known_bits::run, "simplifies what known bits and ranges decide"),
    on_function("licm", licm::run, "loop invariants move in front of the loop").about_loops(),
    on_function("long_division", idioms::long_division::run, "recognises a division written out bit by bit")
        .about(&[Op::Sel]),
    on_function(
        "loop_carried",
        loop_carried::run,
        "what a loop's parameter is next is made when it is read no more",
    )
    .about_loops(),
    on_function(
        "loop_constants",
        loop_constants::run,
        "constants in registers move in front of loops that have registers left",
    )
    .about_loops(),
    on_function(
        "loop_lag",
        loop_lag::run,
        "what a loop's parameter was a round before is computed behind the loop",
    )
    .about_loops(),
    on_function("loop_loads", loop_loads::run, "loads that nothing in a loop can change move in front of it")
        .about_loops()
        .about(&[Op::Ld]),
    on_function(
        "madsp",
        madsp::run,
        "multiplications of 16 or 24 bits use the multiply-add for parts of registers",
    )
    .about(&[Op::Mul, Op::Mad]),
    on_function("mem_combine", mem_combine::run, "neighbouring accesses become one of 64 or 128 bits"),
    on_function(
        "mem_forward",
        mem_forward::run,
        "forwards stores to loads; removes repeated loads and dead stores",
    ),
    on_function("merge_exits", merge_exits::run, "two exits of a loop, one behind the other, become one")
        .about_loops(),
    on_function(
        "mods",
        mods::run,
        "folds negation, absolute value and saturation into instructions that can carry them",
    ),
    on_function("operand", operand::run, "constants become operands where the instruction encodes them"),
    on_function(
        "perspective_divide",
        perspective_divide::run,
        "an input that is divided by another takes it in place of w",
    )
    .about(&[Op::Interp]),
    on_function(
        "quotient",
        idioms::quotient::run,
        "recognises a division by a constant that is estimated and corrected",
    )
    .about(&[Op::MulHi]),
    on_function("rotate", rotate::run, "two shifts of a word by a variable become a rotation")
        .about(&[Op::Shr]),
    on_function(
        "saturate",
        idioms::saturate::run,
        "recognises sums whose overflow is compared as saturating ones",
    )
    .about(&[Op::Sel]),
    on_function(
        "short_circuit",
        short_circuit::run,
        "nested branches become one by the conjunction of their conditions",
    ),
    on_function("sink", sink::run, "constants and inputs move to where they are read"),
    on_function("slct", slct::run, "a select by a comparison with zero becomes a compare-and-select")
        .about(&[Op::Sel]),
    on_function(
        "store_merge",
        store_merge::run,
        "stores of neighbouring bytes with known values become one store",
    )
    .about(&[Op::St]),
    on_function("strength", strength::run, "multiplications by constants become cheaper operations")
        .about(&[Op::Mul, Op::Mad]),
    on_function("unroll", unroll::run, "a loop with a known, small trip count becomes copies of its body")
        .about_loops(),
];

/// Looks names up at compile time, for [`pipeline`].
macro_rules! passes {
    ($($name:ident)*) => { const { &[$(position(stringify!($name))),*] } };
}

/// The first passes of the higher levels; two lists of those about loops stand among them.
macro_rules! front {
    ([$($tests:ident)*] [$($copies:ident)*]) => {
        passes!(
            inline dead_params calls flow copy_prop quotient long_division gvn saturate fold complement_select compare_chain algebra dce $($tests)* merge_exits $($copies)* address mem_forward
            hoist short_circuit if_convert known_bits divmod copy_prop address dce
        )
    };
}

/// The passes of a stage at an optimisation level, in order, as indices into [`PASSES`]. The same
/// pass may come several times. One whose work another of the pipeline finishes on every input at
/// hand is not in it.
pub fn pipeline(stage: Stage, level: OptLevel) -> &'static [usize] {
    match (stage, level) {
        // Blocks that cannot be reached are in the way of everybody.
        (Stage::Front, OptLevel::O0) => passes!(flow),
        (Stage::Ssa, OptLevel::O0) => passes!(init_regs),
        (Stage::Legal, OptLevel::O0) => &[],
        (Stage::Front, OptLevel::O1) => {
            passes!(dead_params calls flow copy_prop fold algebra copy_prop gvn address dce)
        }
        // Nothing that copies loops or their tests.
        (Stage::Front, OptLevel::Os) => front!([] []),
        (Stage::Front, _) => front!([rotate] [loop_lag loop_loads unroll]),
        (Stage::Ssa, _) => passes!(
            dead_params copy_prop fold algebra perspective_divide gvn address store_merge mods fuse strength madsp invert licm if_convert copy_prop flow emit_cut dce init_regs
        ),
        (Stage::Legal, _) => {
            passes!(gvn operand slct dce compare_order loop_constants sink mem_combine loop_carried)
        }
    }
}

/// Looks a pass up by its name.
pub fn find(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.name == name)
}

/// Where in [`PASSES`] a name stands.
const fn position(name: &str) -> usize {
    let mut k = 0;
    while !equal(PASSES[k].name.as_bytes(), name.as_bytes()) {
        k += 1;
    }
    k
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut k = 0;
    while k < a.len() && k < b.len() && a[k] == b[k] {
        k += 1;
    }
    k == a.len() && k == b.len()
}

/// What a pass may know besides the function, and where it counts what it does.
pub struct Ctx<'a> {
    /// The chip that is compiled for.
    pub chip: Chip,
    /// Where in the pipeline the pass runs.
    pub stage: Stage,
    /// The program is a stage of a draw.
    pub graphics: bool,
    /// What is known of every launch.
    pub launch: Launch,
    /// Warps that a multiprocessor holds of the program's blocks, whatever their registers.
    pub warps: u32,
    /// The choices of the compile.
    pub options: &'a Options,
    stats: &'a mut Vec<(&'static str, u64)>,
    notes: &'a mut Vec<String>,
    remarks: &'a mut Vec<Remark>,
}

impl Ctx<'_> {
    /// A line about one thing done, for the log and for `--print-after`.
    pub fn note(&mut self, line: String) {
        log::debug!("{line}");
        self.notes.push(line);
    }

    /// Says what a pass did not do, and why, where that is wanted.
    pub fn missed(&mut self, pass: &'static str, loc: Loc, message: impl FnOnce() -> String) {
        if self.options.debug.remarks {
            self.remarks.push(Remark { loc, pass, message: message() });
        }
    }

    /// Adds to a counter of the report, if there will be one; by convention `pass: what`.
    pub fn count(&mut self, what: &'static str, n: impl TryInto<u64>) {
        let n = n.try_into().unwrap_or(0);
        if n == 0 || !self.options.debug.time_passes {
            return;
        }
        match self.stats.iter_mut().find(|(w, _)| *w == what) {
            Some((_, total)) => *total += n,
            None => self.stats.push((what, n)),
        }
    }
}

/// A compile's runs of the optimiser, one for each stage: counters and text live across them.
#[derive(Default)]
pub struct Session {
    /// Pass runs so far, for `--bisect-limit`.
    runs: u32,
    times: Vec<(&'static str, Duration)>,
    stats: Vec<(&'static str, u64)>,
    /// IR listings that were asked for.
    pub text: String,
    /// What was not done, if that was asked for.
    pub remarks: Vec<Remark>,
    /// What the program was after each step.
    pub steps: snapshot::Steps,
}

/// A pass left the IR in a state that the verifier refuses: a defect of this compiler, never of its
/// input.
#[derive(Debug, thiserror::Error)]
#[error("after pass `{pass}` ({stage:?}): {findings}\n--- before:\n{before}\n--- after:\n{after}")]
pub struct Broken {
    /// Its name.
    pub pass: &'static str,
    /// Where in the pipeline it ran.
    pub stage: Stage,
    /// What the verifier says.
    pub findings: String,
    /// The IR before it.
    pub before: String,
    /// The IR that it left.
    pub after: String,
}

impl Session {
    /// Before the first pass.
    pub fn new() -> Session {
        Session::default()
    }

    /// Runs the passes of a stage: the pipeline's, or those of the options that it contains.
    pub fn run(
        &mut self,
        stage: Stage,
        program: &mut Program,
        chip: Chip,
        options: &Options,
    ) -> Result<(), Box<Broken>> {
        self.run_while(stage, program, chip, options, &mut || true)
    }

    /// The same, as long as the result is wanted: that is asked before each pass.
    pub(crate) fn run_while(
        &mut self,
        stage: Stage,
        program: &mut Program,
        chip: Chip,
        options: &Options,
        wanted: &mut dyn FnMut() -> bool,
    ) -> Result<(), Box<Broken>> {
        // A pass is not run again on what it left: for each that ran, the number of the last change
        // by then.
        let mut changes = 0u32;
        let mut left = [u32::MAX; PASSES.len()];
        for &index in pipeline(stage, options.opt_level) {
            let pass = &PASSES[index];
            let skipped =
                options.debug.passes.as_ref().is_some_and(|only| !only.iter().any(|p| p == pass.name));
            if skipped || !pass.concerns(program) || left[index] == changes {
                continue;
            }
            if !wanted() {
                break;
            }
            changes += u32::from(self.run_pass(pass, stage, program, chip, options)?);
            left[index] = changes;
        }
        Ok(())
    }

    /// Runs one pass, with everything around it; tells whether it changed anything.
    pub fn run_pass(
        &mut self,
        pass: &'static Pass,
        stage: Stage,
        program: &mut Program,
        chip: Chip,
        options: &Options,
    ) -> Result<bool, Box<Broken>> {
        if options.debug.bisect_limit.is_some_and(|limit| self.runs >= limit) {
            return Ok(false);
        }
        self.runs += 1;
        let wanted = |list: &[String]| list.iter().any(|p| p == pass.name || p == "all");
        if wanted(&options.debug.print_before) {
            let _ = writeln!(self.text, "; before {} ({stage:?})\n{program}", pass.name);
        }
        let verifying = options.debug.verify_each || cfg!(debug_assertions);
        let before = verifying.then(|| program.clone());
        let start = options.debug.time_passes.then(Instant::now);
        let mut notes = Vec::new();
        // Functions that others may call hold for blocks of any size.
        let block_size = program.launched_block();
        let threads = block_size.map(|size| size.iter().product()).or(options.threads);
        let mut ctx = Ctx {
            chip,
            warps: chip.resident_warps_of_blocks(threads, program.shared_bytes),
            stage,
            graphics: program.stage().is_graphics(),
            launch: Launch { block_size, max_grid_x: Some(chip.max_grid()[0]) },
            options,
            stats: &mut self.stats,
            notes: &mut notes,
            remarks: &mut self.remarks,
        };
        let changed = match pass.run {
            Run::Program(run) => run(program, &mut ctx),
            Run::Function(run) => program.funcs.values_mut().fold(false, |any, f| {
                ctx.launch.block_size = if f.linkage == Linkage::Internal { block_size } else { None };
                run(f, &mut ctx) | any
            }),
        };
        let fault = options.debug.inject.filter(|d| d.pass() == pass.name);
        let changed = fault.is_some_and(|d| fault_injection::apply(d, program)) | changed;
        if let Some(start) = start {
            let took = start.elapsed();
            match self.times.iter_mut().find(|(p, _)| *p == pass.name) {
                Some((_, total)) => *total += took,
                None => self.times.push((pass.name, took)),
            }
        }
        if changed {
            self.steps.note(pass.name, stage.phase(), program, &notes);
        }
        if wanted(&options.debug.print_after) {
            for note in &notes {
                let _ = writeln!(self.text, "; {note}");
            }
            let _ = writeln!(self.text, "; after {} ({stage:?})\n{program}", pass.name);
        }
        let Some(before) = before else { return Ok(changed) };
        let broken = |findings: String| {
            let (before, after) = (before.to_string(), program.to_string());
            Box::new(Broken { pass: pass.name, stage, findings, before, after })
        };
        verify::for_chip(program, stage.phase(), chip).map_err(|v| broken(v.to_string()))?;
        if !changed && before.to_string() != program.to_string() {
            return Err(broken("it said that it changed nothing".into()));
        }
        Ok(changed)
    }

    /// Adds to the time of a step of the pipeline that is no pass.
    pub fn time(&mut self, step: &'static str, took: Duration) {
        match self.times.iter_mut().find(|(p, _)| *p == step) {
            Some((_, total)) => *total += took,
            None => self.times.push((step, took)),
        }
    }

    /// Times of the passes and what they did, for `--time-passes`.
    pub fn report(&self) -> String {
        let mut text = String::new();
        let total: Duration = self.times.iter().map(|t| t.1).sum();
        let mut times = self.times.clone();
        times.sort_by_key(|t| std::cmp::Reverse(t.1));
        for (pass, time) in &times {
            let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(1e-9);
            let _ = writeln!(text, "{:10.1} us {share:5.1} %  {pass}", time.as_secs_f64() * 1e6);
        }
        let mut stats = self.stats.clone();
        stats.sort_unstable();
        for (what, n) in &stats {
            let _ = writeln!(text, "{n:10}  {what}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_has_a_name_in_order_and_a_short_summary() {
        assert!(PASSES.is_sorted_by_key(|p| p.name));
        assert!(PASSES.iter().all(|p| !p.summary.is_empty() && p.summary.len() <= 100));
    }
}
