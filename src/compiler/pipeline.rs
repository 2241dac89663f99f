//! From a program in IR to its machine code.
//!
//! ```text
//! Front --opt, lower--> Ssa --opt, legalise--> Legal --opt, registers--> machine code --schedule--> words
//! ```
//!
//! Errors are the input's, with the place in the source where that is known: something that the chip cannot do. A
//! violated invariant is an error of its own kind.

use super::cancel::Cancel;
use super::{Compiler, Report};
use super::{remarks, resources, stage};
use crate::analysis::divergence::{self, UniformBranches};
use crate::chip::CONST_BANK_BYTES;
use crate::chip::Chip;
use crate::diag::{Diagnostic, Loc};
use crate::driver::sanitizer::Sanitizer;
use crate::emit::code::Code;
use crate::image::{Shader, crs, layout};
use crate::ir::{FuncId, Inst, Phase, Program, renumber};
use crate::opt::{Session, Stage};
use crate::options::{OptLevel, Sanitize};
use crate::sched::{order, texbar};
use crate::{emit, lower, ra, sanitizer, verify, whole_warp};
use nvir_asm::check;
use std::time::Instant;

pub(super) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// One compile.
pub(super) struct Compile<'a> {
    pub compiler: &'a Compiler,
    pub cancel: &'a Cancel,
    pub session: Session,
    /// Functions of others will be linked to it.
    pub separate: bool,
    /// What the launch of the program must know if it checks itself.
    sanitizer: Option<Box<Sanitizer>>,
}

impl<'a> Compile<'a> {
    pub(super) fn new(compiler: &'a Compiler, cancel: &'a Cancel) -> Compile<'a> {
        Compile { compiler, cancel, session: Session::new(), separate: false, sanitizer: None }
    }

    /// What the options ask to print.
    pub(super) fn report(&self) -> Report {
        let mut report = self.session.text.clone();
        if self.compiler.options.debug.time_passes {
            report.push_str(&self.session.report());
        }
        report
    }

    /// Phase `Front` to phase `Legal`; and what the program uses, which lowering would hide.
    pub(super) fn optimise(&mut self, program: &mut Program) -> Result<crate::image::Resources> {
        let (chip, options) = (self.compiler.chip, &self.compiler.options);
        let abi = self.compiler.abi_of(program.stage());
        program.block_size = block_size(program.block_size, options.block_size);
        check_limits(program, chip, options.sanitize)?;
        if !self.separate {
            super::separate::check_whole(program)?;
        }
        self.verify(program, Phase::Front, "the front-end")?;
        self.session.steps.note("front-end", Phase::Front, program, &[]);
        // Before any pass, so that none has to know what may be done with the lanes that were asked for.
        whole_warp::lower(program, abi);
        self.verify(program, Phase::Front, "whole warps")?;
        self.session.steps.note("whole_warp", Phase::Front, program, &[]);
        self.passes(Stage::Front, program)?;
        let uses = resources::of_program(program);
        if let Some(refused) = sanitizer::refuses(program, options.sanitize) {
            return Err(Box::new(refused));
        }
        let mut remarks = Vec::new();
        self.sanitizer =
            self.timed("lower", || sanitizer::lower(program, chip, abi, options, &mut remarks))?;
        if options.debug.remarks {
            self.session.remarks.append(&mut remarks);
        }
        self.verify(program, Phase::Ssa, "lowering")?;
        self.session.steps.note("lower", Phase::Ssa, program, &[]);
        self.passes(Stage::Ssa, program)?;
        if program.interface.is_some() && options.stage.flush_subnormals {
            program.funcs.values_mut().for_each(lower::flush::run);
        }
        self.timed("legalise", || {
            program.funcs.values_mut().try_for_each(|f| lower::legalise::run(f, chip))
        })?
        .map_err(|e| located(Diagnostic::unsupported(e.to_string()), e.loc))?;
        self.verify(program, Phase::Legal, "legalisation")?;
        self.session.steps.note("legalise", Phase::Legal, program, &[]);
        self.passes(Stage::Legal, program)?;
        program.funcs.values_mut().for_each(renumber::large);
        self.verify(program, Phase::Legal, "renumbering")?;
        Ok(uses)
    }

    /// Registers, machine code, words.
    pub(super) fn generate(
        &mut self,
        program: &mut Program,
        mut uses: crate::image::Resources,
    ) -> Result<Shader> {
        let chip = self.compiler.chip;
        uses.constants = resources::constants(program);
        let limit = self.limit(program);
        let alloc = self.registers(program, limit)?;
        let uniform = self.uniform(program)?;
        // A thread has one register at least, and those of its results.
        let results = program.interface.as_deref().map_or(0, |i| stage::result_registers(chip, i));
        let gprs = alloc.gprs.max(results).max(1);
        let (code, section, gprs) =
            self.machine(program, program.entry, &alloc, &uniform, [gprs, limit, results])?;
        let interface = program.interface.as_deref();
        let stage =
            interface.map(|i| Box::new(stage::graphics(chip, program, i, alloc.local_bytes, section.fixups)));
        Ok(Shader {
            chip,
            entry_name: program.funcs[program.entry].name.clone(),
            gprs,
            local_bytes: alloc.local_bytes,
            stack_bytes: crs::bytes(crs::depth(&code)),
            shared_bytes: program.shared_bytes,
            // The lanes of a patch meet without one.
            barriers: if program.stage() == crate::ir::Stage::TessControl { 0 } else { barriers(program) },
            instructions: section.instructions,
            library: section.library,
            cycles: section.cycles,
            spills: alloc.funcs.values().map(|a| a.spills).sum(),
            fills: alloc.funcs.values().map(|a| a.fills).sum(),
            block_size: program.block_size,
            whole_warps: program.whole_warps,
            input_bytes: program.input_bytes.max(uses.bytes_of_bank(self.compiler.abi.input_bank)),
            resources: uses,
            sanitizer: self.sanitizer.take(),
            stage,
            code: section.words,
            lines: section.lines,
            made: section.made,
        })
    }

    /// General registers that threads may have.
    pub(super) fn limit(&self, program: &Program) -> u32 {
        let (chip, options) = (self.compiler.chip, &self.compiler.options);
        let threads = self.threads(program);
        // No block has to fit where there are none.
        let most = if program.stage().is_graphics() { chip.gprs() } else { chip.register_limit(threads) };
        most.min(options.max_gprs.unwrap_or(u32::MAX))
    }

    fn threads(&self, program: &Program) -> Option<u32> {
        program.launched_block().map(|size| size.iter().product()).or(self.compiler.options.threads)
    }

    /// Where everything is, with so many registers at most.
    pub(super) fn registers(&mut self, program: &mut Program, limit: u32) -> Result<ra::ProgramAllocation> {
        let (chip, options) = (self.compiler.chip, &self.compiler.options);
        let moved = self.sanitizer.as_ref().is_some_and(|s| s.moved);
        let shared = if moved { 0 } else { program.shared_bytes };
        let target = ra::Target {
            chip,
            gpr_limit: limit,
            fewest: program.stage().is_graphics(),
            threads: self.threads(program),
            shared,
            verify: options.debug.verify_each,
            through_memory: options.debug.through_memory,
        };
        let alloc =
            self.timed("registers", || ra::allocate_program(program, &target))?.map_err(unsupported)?;
        chip.check_local(alloc.local_bytes).map_err(unsupported)?;
        if options.debug.remarks {
            self.session.remarks.extend(remarks::spills(program, &alloc, limit));
        }
        Ok(alloc)
    }

    /// Branches that no lanes part at, as far as the level looks for them.
    pub(super) fn uniform(&mut self, program: &Program) -> Result<UniformBranches> {
        if self.compiler.options.opt_level == OptLevel::O0 {
            return Ok(UniformBranches::new());
        }
        self.timed("divergence", || divergence::of_program(program))
    }

    /// Machine code of a function and of those that it calls and nobody else may call, in its order, with its words, and how
    /// many registers it uses: `registers` are those used, those that may be, and those that results are in.
    pub(super) fn machine(
        &mut self,
        program: &Program,
        root: FuncId,
        alloc: &ra::ProgramAllocation,
        uniform: &UniformBranches,
        registers: [u32; 3],
    ) -> Result<(Code, layout::Section, u32)> {
        let (chip, options) = (self.compiler.chip, &self.compiler.options);
        let [mut gprs, limit, results] = registers;
        // Tests of loops are written twice where they are executed often, and may part lanes.
        let rotate = options.opt_level.may_lengthen() && !program.stage().is_graphics();
        let mut code = self
            .timed("emit", || emit::emit_function(chip, program, root, alloc, uniform, rotate))?
            .map_err(|e| located(Diagnostic::defect(&e), e.loc))?;
        code.note_touches();
        if options.opt_level > OptLevel::O1 {
            code.join_blocks();
            // Kepler's warps issue two instructions at once where registers let them; graphics stages are launched in
            // numbers that registers decide about.
            let most = if program.stage().is_graphics() || !chip.has_sched_words() {
                gprs
            } else {
                chip.gprs_of_occupancy(self.threads(program), gprs, program.shared_bytes)
            };
            let ends = program.funcs[root].result_regs.iter().map(|&r| u32::from(r) + 1);
            let results = ends.max().unwrap_or(0).max(results);
            let registers = order::Registers { used: gprs, limit: most.min(limit).max(gprs), results };
            gprs = self.timed("schedule", || order::run(chip, &mut code, registers))?;
        }
        if chip.has_sched_words() {
            self.timed("texture barriers", || texbar::insert(&mut code))?;
        }
        let section = self
            .timed("layout", || layout::section(chip, &code))?
            .map_err(|e| located(Diagnostic::defect(&e), e.loc))?;
        if options.debug.verify_each || cfg!(debug_assertions) {
            check::verify(chip, &section.words)
                .map_err(|v| Box::new(Diagnostic::defect(format_args!("after scheduling: {v}"))))?;
        }
        Ok((code, section, gprs))
    }

    fn verify(&self, program: &Program, phase: Phase, stage: &str) -> Result<()> {
        if !(self.compiler.options.debug.verify_each || cfg!(debug_assertions)) {
            return Ok(());
        }
        verify::for_chip(program, phase, self.compiler.chip)
            .map_err(|v| Box::new(Diagnostic::defect(format_args!("after {stage}: {v}"))))
    }

    fn passes(&mut self, stage: Stage, program: &mut Program) -> Result<()> {
        let Compiler { chip, options, .. } = self.compiler;
        let cancel = self.cancel;
        let mut wanted = || !cancel.is_due();
        self.session
            .run_while(stage, program, *chip, options, &mut wanted)
            .map_err(|b| Box::new(Diagnostic::defect(b)))?;
        cancel.check()
    }

    /// Does a step of the pipeline, and measures its time where that is wanted: looking at the clock takes time, too.
    fn timed<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> Result<T> {
        self.cancel.check()?;
        if !self.compiler.options.debug.time_passes {
            return Ok(work());
        }
        let start = Instant::now();
        let result = work();
        self.session.time(name, start.elapsed());
        Ok(result)
    }
}

/// What is known of blocks: in each dimension what the program declares, else what the options say.
fn block_size(declared: Option<[u32; 3]>, option: Option<[u32; 3]>) -> Option<[u32; 3]> {
    let (Some(declared), Some(option)) = (declared, option) else { return declared.or(option) };
    Some(std::array::from_fn(|d| if declared[d] != 0 { declared[d] } else { option[d] }))
}

/// What neither input nor compiler is to blame for, without a place.
pub(super) fn unsupported(e: impl std::fmt::Display) -> Box<Diagnostic> {
    Box::new(Diagnostic::unsupported(e.to_string()))
}

/// A program that no launch on the chip could run is refused. Front-ends, which know where it says so, do that first.
fn check_limits(program: &Program, chip: Chip, sanitize: Sanitize) -> Result<()> {
    if let Some(size) = program.block_size {
        // The least that it may be.
        chip.check_block(size.map(|n| n.max(1))).map_err(unsupported)?;
    }
    let zones = if sanitize.shared { program.red_zone_bytes } else { 0 };
    chip.check_shared(program.shared_bytes.saturating_sub(zones).into()).map_err(unsupported)?;
    let own = program.funcs.values().map(|f| f.local_bytes).max().unwrap_or(0);
    chip.check_local(own.max(program.private_bytes)).map_err(unsupported)?;
    let results = &program.funcs[program.entry].result_regs;
    if let Some(r) = results.iter().find(|&&r| u32::from(r) >= chip.gprs()) {
        let what = format!("a result in register {r}: {chip} has {}", chip.gprs());
        return Err(Box::new(Diagnostic::unsupported(what)));
    }
    if program.input_bytes > CONST_BANK_BYTES {
        let bytes = program.input_bytes;
        let what = format!("{bytes} bytes of kernel input: a constant bank has {CONST_BANK_BYTES}");
        return Err(Box::new(Diagnostic::unsupported(what)));
    }
    Ok(())
}

fn located(d: Diagnostic, loc: Loc) -> Box<Diagnostic> {
    Box::new(match loc.0 {
        Some(span) => d.at(span, "this needs it"),
        None => d,
    })
}

/// The highest barrier number used, plus one; all sixteen where a number is not known.
fn barriers(program: &Program) -> u32 {
    let insts = program.funcs.values().flat_map(|f| f.insts_in_order().map(|(_, i)| &f.insts[i]));
    insts.map(Inst::barriers).max().unwrap_or(0)
}
