//! The pipeline from a program in IR to its machine code.
//!
//! ```text
//! Front --lower--> Ssa --opt--> Ssa --legalise--> Legal --schedule, assign registers--> select --schedule--> words
//! ```
//!
//! Errors are the input's: something that the chip cannot do, or too few registers. Each carries the place in the
//! source where that is known.

use crate::analysis::divergence::{self, UniformBranches};
use crate::chip::{Chip, LimitError};
use crate::diag::{Diagnostic, Diagnostics};
use crate::driver::{Abi, CONST_BANK_BYTES};
use crate::image::{Binding, BindingKind, Image, crs, layout};
use crate::ir::Phase;
use crate::ir::{Loc, Op, Program, compact};
use crate::isa::code::Code;
use crate::opt::{self, Stage};
use crate::sched::{order, texbar};
use crate::{emit, lower, ra, verify};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Choices of one compile. [`Options::new`] gives the defaults of a chip.
#[derive(Clone, Debug)]
pub struct Options {
    /// 0 to 3: how much effort goes into good code.
    pub opt_level: u8,
    /// A bound on general registers below the chip's.
    pub max_gprs: Option<u32>,
    /// What to do about registers read before any write: 0 nothing, 1 initialise all at entry, 2 the possibly
    /// uninitialised ones at entry, 3 on the edges where they are missing.
    pub init_regs: u8,
    /// Only these optimiser passes, in the pipeline's order.
    pub passes: Option<Vec<String>>,
    /// Only that many pass runs.
    pub bisect_limit: Option<u32>,
    /// Verify the IR after each pass; always so in debug builds.
    pub verify_each: bool,
    /// Passes (or `all`) before and after which the IR is put into the report.
    pub print_before: Vec<String>,
    pub print_after: Vec<String>,
    /// Put the time of each pass into the report.
    pub time_passes: bool,
    pub abi: Abi,
    /// What may be assumed of the address of a buffer argument, in bytes.
    pub pointer_align: u32,
    /// Bytes of private memory that a TGSI program addresses itself.
    pub private_bytes: u32,
    /// Threads of the largest block that will be launched, where the program does not declare it.
    pub threads: Option<u32>,
}

impl Options {
    pub fn new(chip: Chip) -> Options {
        Options {
            opt_level: 3,
            max_gprs: None,
            init_regs: 3,
            passes: None,
            bisect_limit: None,
            verify_each: false,
            print_before: Vec::new(),
            print_after: Vec::new(),
            time_passes: false,
            abi: Abi::nvc0(chip),
            pointer_align: 4,
            private_bytes: 0,
            threads: None,
        }
    }
}

/// A choice that does not exist, or that the chip cannot do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadOption {
    #[error("no pass `{name}`{}", did_you_mean(.nearest))]
    Pass { name: String, nearest: Option<&'static str> },
    #[error("opt_level is 0 to 3, not {0}")]
    OptLevel(u8),
    #[error("init_regs is 0 to 3, not {0}")]
    InitRegs(u8),
    #[error("pointer_align is a power of two, not {0}")]
    PointerAlign(u32),
    #[error(transparent)]
    Limit(#[from] LimitError),
}

fn did_you_mean(nearest: &Option<&str>) -> String {
    let names = || opt::PASSES.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    nearest.map_or_else(|| format!("; there are {}", names()), |n| format!("; did you mean `{n}`?"))
}

impl Options {
    /// Whether every choice exists and the chip can do what numbers ask for. A compile refuses options that fail it.
    pub fn check(&self, chip: Chip) -> Result<(), BadOption> {
        if self.opt_level > 3 {
            return Err(BadOption::OptLevel(self.opt_level));
        }
        if self.init_regs > 3 {
            return Err(BadOption::InitRegs(self.init_regs));
        }
        if !self.pointer_align.is_power_of_two() {
            return Err(BadOption::PointerAlign(self.pointer_align));
        }
        let number = |what, value: Option<u32>, min, max| match value {
            Some(n) if n < min || n > max => Err(LimitError::Number { chip, what, value: n, min, max }),
            _ => Ok(()),
        };
        // More than the chip has is no bound, but nothing wrong.
        number("max_gprs", self.max_gprs, ra::Target::MIN_GPRS, Chip::MAX_GPRS)?;
        number("threads", self.threads, 1, chip.max_block_threads())?;
        number("private_bytes", Some(self.private_bytes), 0, chip.max_local())?;
        let printed = self.print_before.iter().chain(&self.print_after).filter(|n| *n != "all");
        self.passes.iter().flatten().chain(printed).try_for_each(|name| opt::named(name).map(drop))
    }
}

/// Text that a compile was asked to give besides its image: IR listings, times, notes.
pub type Report = String;

/// Compiles a program whose IR is in its first phase.
pub fn compile(program: Program, chip: Chip, options: &Options) -> Result<Image, Diagnostics> {
    compile_with_report(program, chip, options, &mut Report::new())
}

/// The same, with what the options ask to print.
pub fn compile_with_report(
    mut program: Program,
    chip: Chip,
    options: &Options,
    report: &mut Report,
) -> Result<Image, Diagnostics> {
    reporting(chip, options, report, |session| {
        optimise(&mut program, chip, options, session)?;
        generate(&mut program, chip, options, session)
    })
}

/// The program as it is before registers are assigned: phase `Legal`, in the order in which it will be emitted.
pub fn optimised(
    mut program: Program,
    chip: Chip,
    options: &Options,
    report: &mut Report,
) -> Result<Program, Diagnostics> {
    reporting(chip, options, report, |session| optimise(&mut program, chip, options, session))?;
    Ok(program)
}

fn reporting<T>(
    chip: Chip,
    options: &Options,
    report: &mut Report,
    work: impl FnOnce(&mut opt::Session) -> Result<T, Box<Diagnostic>>,
) -> Result<T, Diagnostics> {
    options.check(chip).map_err(|e| Diagnostics::from(Diagnostic::error(e.to_string())))?;
    let mut session = opt::Session::new();
    // A violated invariant must not take the caller down with it: a driver goes on without this kernel.
    let result =
        catch_unwind(AssertUnwindSafe(|| work(&mut session))).unwrap_or_else(|panic| Err(died(&*panic)));
    report.push_str(&session.text);
    if options.time_passes {
        report.push_str(&session.report());
    }
    result.map_err(Into::into)
}

fn optimise(
    program: &mut Program,
    chip: Chip,
    options: &Options,
    session: &mut opt::Session,
) -> Result<(), Box<Diagnostic>> {
    let check = |program: &Program, phase, stage: &str| {
        if !(options.verify_each || cfg!(debug_assertions)) {
            return Ok(());
        }
        verify::for_chip(program, phase, chip).map_err(|v| defect(format!("after {stage}: {v}")))
    };
    check_limits(program, chip)?;
    check(program, Phase::Front, "the front-end")?;
    session.run(Stage::Front, program, chip, options).map_err(|b| defect(b.to_string()))?;
    timed(session, options, "lower", || lower::run(program, chip, options));
    check(program, Phase::Ssa, "lowering")?;
    session.run(Stage::Ssa, program, chip, options).map_err(|b| defect(b.to_string()))?;
    timed(session, options, "legalise", || {
        program.funcs.values_mut().try_for_each(|f| lower::legalise::run(f, chip))
    })
    .map_err(|e| located(Diagnostic::error(e.to_string()), e.loc))?;
    check(program, Phase::Legal, "legalisation")?;
    session.run(Stage::Legal, program, chip, options).map_err(|b| defect(b.to_string()))?;
    program.funcs.values_mut().for_each(compact::large);
    check(program, Phase::Legal, "renumbering")
}

/// A program that no launch on the chip could run is refused. Front-ends, which know where it says so, do that first.
fn check_limits(program: &Program, chip: Chip) -> Result<(), Box<Diagnostic>> {
    let refused = |e: LimitError| Box::new(Diagnostic::error(e.to_string()));
    if let Some(size) = program.block_size {
        chip.check_block(size).map_err(refused)?;
    }
    chip.check_shared(program.shared_bytes.into()).map_err(refused)?;
    let own = program.funcs.values().map(|f| f.local_bytes).max().unwrap_or(0);
    chip.check_local(own.max(program.private_bytes)).map_err(refused)?;
    if program.input_bytes > CONST_BANK_BYTES {
        let bytes = program.input_bytes;
        let what = format!("{bytes} bytes of kernel input: a constant bank has {CONST_BANK_BYTES}");
        return Err(Box::new(Diagnostic::error(what)));
    }
    Ok(())
}

/// Registers, machine code, words.
fn generate(
    program: &mut Program,
    chip: Chip,
    options: &Options,
    session: &mut opt::Session,
) -> Result<Image, Box<Diagnostic>> {
    let threads = program.block_size.map(|size| size.iter().product()).or(options.threads);
    let limit = chip.register_limit(threads).min(options.max_gprs.unwrap_or(u32::MAX));
    let target = ra::Target {
        chip,
        gpr_limit: limit,
        most_warps: chip.resident_warps_of_blocks(threads, program.shared_bytes),
        verify: options.verify_each,
    };
    let alloc = timed(session, options, "registers", || ra::allocate_program(program, &target))
        .map_err(|e| Box::new(Diagnostic::error(e.to_string())))?;
    chip.check_local(alloc.local_bytes).map_err(|e| Box::new(Diagnostic::error(e.to_string())))?;

    let uniform = if options.opt_level > 0 {
        timed(session, options, "divergence", || divergence::of_program(program))
    } else {
        UniformBranches::new()
    };
    let mut code = timed(session, options, "emit", || emit::emit_program(chip, program, &alloc, &uniform))
        .map_err(|e| located(*defect(e.to_string()), e.loc))?;
    code.note_touches();
    if options.opt_level > 1 {
        timed(session, options, "schedule", || order::run(&mut code));
    }
    if chip.has_sched_words() {
        timed(session, options, "texture barriers", || texbar::insert(&mut code));
    }
    let section = timed(session, options, "layout", || layout::section(chip, &code))
        .map_err(|e| located(*defect(e.to_string()), e.loc))?;
    Ok(Image {
        chip,
        entry_name: program.funcs[program.entry].name.clone(),
        entry: 0,
        // A thread has one register at least.
        gprs: alloc.gprs.max(1),
        local_bytes: alloc.local_bytes,
        stack_bytes: crs::bytes(crs::depth(&code)),
        shared_bytes: program.shared_bytes,
        barriers: barriers(program),
        instructions: section.instructions,
        library: section.library,
        cycles: section.cycles,
        spills: alloc.funcs.values().map(|a| a.spills).sum(),
        fills: alloc.funcs.values().map(|a| a.fills).sum(),
        block_size: program.block_size,
        input_bytes: program.input_bytes,
        bindings: bindings(&code),
        relocations: Vec::new(),
        code: section.words,
        lines: section.lines,
    })
}

/// Does a step of the pipeline, and measures its time where that is wanted: looking at the clock takes time, too.
fn timed<T>(
    session: &mut opt::Session,
    options: &Options,
    name: &'static str,
    work: impl FnOnce() -> T,
) -> T {
    if !options.time_passes {
        return work();
    }
    let start = Instant::now();
    let result = work();
    session.time(name, start.elapsed());
    result
}

/// A defect of the compiler itself: never the input's fault, but better told than died of.
fn defect(what: String) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(format!("internal error: {what}"))
            .help("this is a bug in nvir: please report it with the input and the command line"),
    )
}

/// What a panic said, as a defect.
fn died(panic: &(dyn Any + Send)) -> Box<Diagnostic> {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    defect(message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("panic").to_string())
}

fn located(d: Diagnostic, loc: Loc) -> Box<Diagnostic> {
    Box::new(match loc.0 {
        Some(span) => d.at(span, "this needs it"),
        None => d,
    })
}

/// The highest barrier number used, plus one; all sixteen where a number is not known.
fn barriers(program: &Program) -> u32 {
    let mut count = 0;
    for f in program.funcs.values() {
        for (_, i) in f.insts_in_order() {
            let inst = &f.insts[i];
            if inst.op == Op::Bar {
                count = count.max(match inst.srcs.first() {
                    None => 1,
                    Some(s) => s.as_imm().map_or(16, |n| n.saturating_add(1).min(16)),
                });
            }
        }
    }
    count
}

/// The banks of constant memory that the code reads.
fn bindings(code: &Code) -> Vec<Binding> {
    let used = (0..u32::BITS).filter(|&n| code.touched.banks >> n & 1 != 0);
    used.map(|slot| Binding { kind: BindingKind::Constant, slot, count: 1 }).collect()
}
