//! Compiling to be linked later: each function that others may call on its own, with its row of facts.

use super::pipeline::{Compile, Result, unsupported};
use crate::analysis::divergence;
use crate::analysis::functions::Table;
use crate::diag::Diagnostic;
use crate::emit::code::{Code, MBlock};
use crate::image::crs;
use crate::image::separate::{
    Call, Facts, Function, Launch, MOST_FUNCTIONS, Reloc, Target, Unit, frame_relocs, is_symbol,
};
use crate::ir::{self, BlockId, FuncId, Linkage, Op, Program, Term};
use crate::isa::Reg;
use crate::isa::effects::{Resource, reads, writes};
use crate::ra::calling_convention as abi;
use std::collections::{BTreeMap, BTreeSet};

/// Refuses programs that are not whole, where nothing will be linked to them.
pub(super) fn check_whole(p: &Program) -> Result<()> {
    let help = "`nvir compile --separate` compiles functions that are linked later";
    if let Some(f) = p.funcs.values().find(|f| f.linkage == Linkage::Declared) {
        let what = format!("the function `{}` is declared only", f.name);
        return Err(Box::new(Diagnostic::error(what).help(help)));
    }
    if !p.has_kernel() {
        return Err(Box::new(Diagnostic::error("a program has a `kernel`").help(help)));
    }
    Ok(())
}

/// Lets others call the functions of a program that are neither the kernel nor routines of the library.
pub(super) fn show(p: &mut Program) {
    let entry = p.entry;
    for (_, f) in p.funcs.iter_mut().filter(|(id, f)| *id != entry && !f.library) {
        if f.linkage == Linkage::Internal {
            f.linkage = Linkage::Visible;
        }
    }
}

/// Refuses functions that no symbol can stand for, or whose parameters have no registers.
fn check_functions(p: &Program) -> Result<()> {
    if p.funcs.len() > MOST_FUNCTIONS {
        return Err(unsupported(format!("a text of more than {MOST_FUNCTIONS} functions")));
    }
    let mut names = BTreeSet::new();
    for (id, f) in p.funcs.iter() {
        let called = |i| f.insts[i].call().is_some_and(|c| c.func == p.entry && p.has_kernel());
        if f.insts_in_order().any(|(_, i)| called(i)) {
            let what = format!("`{}` calls `{}`, which is a kernel", f.name, p.funcs[p.entry].name);
            return Err(Box::new(Diagnostic::error(what)));
        }
        if f.linkage == Linkage::Internal && id != p.entry {
            continue;
        }
        if !is_symbol(&f.name) {
            return Err(unsupported(format!("the name `{}` cannot be a symbol", f.name)));
        }
        if !names.insert(&f.name) {
            return Err(Box::new(Diagnostic::error(format!("two functions have the name `{}`", f.name))));
        }
        if let Some(why) = abi::refuses(f).filter(|_| f.linkage != Linkage::Internal) {
            return Err(unsupported(why));
        }
    }
    Ok(())
}

/// What each function calls that is compiled separately, in the order of first calls, and whether by a part of the lanes.
type Calls = BTreeMap<FuncId, Vec<(FuncId, bool)>>;

fn calls(p: &Program) -> Result<Calls> {
    let mut all = Calls::new();
    for (id, f) in p.funcs.iter() {
        let mut apart = None;
        let mut places: BTreeMap<FuncId, usize> = BTreeMap::new();
        for (b, i) in f.insts_in_order() {
            let Some(call) = f.insts[i].call() else { continue };
            let callee = &p.funcs[call.func];
            if callee.linkage == Linkage::Internal {
                continue;
            }
            if !is_root(p, id) {
                return Err(unsupported(format!(
                    "`{}` is not a function that others may call, and calls `{}`, which is linked separately",
                    f.name, callee.name
                )));
            }
            let apart = apart.get_or_insert_with(|| divergence::apart(f)).contains(b);
            let list = all.entry(id).or_default();
            let at = *places.entry(call.func).or_insert(list.len());
            match list.get_mut(at) {
                Some(known) => known.1 |= apart,
                None => list.push((call.func, apart)),
            }
        }
    }
    Ok(all)
}

/// Whether lanes of a warp may part in a function.
fn parts(f: &ir::Function) -> bool {
    let uniform = divergence::uniform_branches(f);
    let is_branch = |b: BlockId| matches!(f.blocks[b].term, Term::Branch { .. });
    f.layout.iter().any(|&b| is_branch(b) && !uniform.contains(b))
}

/// The highest general register that code names, plus one.
fn registers_of(code: &Code) -> u32 {
    let mut end = 0;
    let mut see = |r| match r {
        Resource::Gpr(r) if r != Reg::Z.0 => end = end.max(u32::from(r) + 1),
        _ => {}
    };
    for line in code.blocks.iter().flat_map(MBlock::lines) {
        reads(&line.inst, &mut see);
        writes(&line.inst, &mut see);
    }
    end
}

/// Whether a function has a section of its own: others may call it, or it is the kernel.
fn is_root(p: &Program, id: FuncId) -> bool {
    p.funcs[id].linkage == Linkage::Visible || id == p.entry
}

impl Compile<'_> {
    /// From a program in phase `Front` to a unit.
    pub(super) fn unit(&mut self, p: &mut Program) -> Result<Unit> {
        self.check_separate(p)?;
        check_functions(p)?;
        let uses = self.optimise(p)?;
        let chip = self.compiler.chip;
        let table = Table::new(p);
        let limit = self.limit(p);
        let own = p.funcs.values().map(|f| f.local_bytes).max().unwrap_or(0).max(p.private_bytes);
        // Before edges are split and copies are made.
        let calls = calls(p)?;
        abi::name_registers(p);
        let alloc = self.registers(p, limit)?;
        let uniform = self.uniform(p)?;
        let input_bytes = p.input_bytes.max(uses.bytes_of_bank(self.compiler.abi().input_bank));
        let mut functions = Vec::new();
        let others = p.funcs.keys().filter(|&id| id != p.entry && is_root(p, id));
        for id in std::iter::once(p.entry).chain(others) {
            let f = &p.funcs[id];
            let kernel = id == p.entry && p.has_kernel();
            let most = if kernel { limit } else { limit.min(abi::CALLEES) };
            let used = alloc.funcs[id].gprs.max(1);
            let (code, section, _) = self.machine(p, id, &alloc, &uniform, [used, most.max(used), 0])?;
            let facts = table.own(id);
            let called = calls.get(&id).map_or(&[][..], |c| c);
            let depths: BTreeMap<FuncId, u32> = code
                .external
                .iter()
                .zip(crs::at_external_calls(&code))
                .map(|(&(_, callee), (_, depth))| (callee, depth))
                .collect();
            let number: BTreeMap<FuncId, u32> =
                called.iter().zip(0..).map(|(&(callee, _), n)| (callee, n)).collect();
            let mut relocs: Vec<Reloc> = section
                .calls
                .iter()
                .filter_map(|&(pc, callee)| Some(Reloc { pc, to: Target::Call(*number.get(&callee)?) }))
                .collect();
            let frame = alloc.funcs[id].summary.frame_end - alloc.frame_base;
            relocs.extend(frame_relocs(chip, &section.words, alloc.frame_base, frame));
            relocs.sort_by_key(|r| r.pc);
            functions.push(Function {
                name: f.name.clone(),
                kernel: kernel.then_some(Launch { block_size: p.block_size, limit, input_bytes }),
                facts: Facts {
                    params: f.params.len() as u32,
                    results: if kernel { 0 } else { f.results.len() as u32 },
                    gprs: registers_of(&code),
                    frame,
                    memory: own,
                    shared: if kernel || facts.shared { p.shared_bytes } else { 0 },
                    barriers: facts.barriers,
                    stack: crs::depth(&code),
                    sysvals: facts.sysvals,
                    diverges: parts(f),
                    returns: facts.returns,
                    effects: facts.effects,
                },
                code: section.words,
                calls: called
                    .iter()
                    .map(|&(callee, apart)| {
                        let g = &p.funcs[callee];
                        Call {
                            name: g.name.clone(),
                            params: g.params.len() as u32,
                            results: g.results.len() as u32,
                            stack: depths.get(&callee).copied().unwrap_or(0),
                            apart,
                        }
                    })
                    .collect(),
                relocs,
            });
        }
        Ok(Unit { chip, functions })
    }

    /// Refuses what has no way of being linked.
    fn check_separate(&self, p: &Program) -> Result<()> {
        let refuse = |what: &str| Err(unsupported(format!("{what} cannot be compiled separately")));
        let options = self.compiler.options();
        if p.stage().is_graphics() {
            return refuse("a graphics stage");
        }
        if p.whole_warps || p.funcs.values().any(|f| f.ops.contains(Op::WholeWarp)) {
            return refuse("a kernel that runs whole warps");
        }
        if !options.sanitize.is_none() {
            return refuse("a program that checks its own accesses");
        }
        if p.shared_pointers {
            return refuse("a kernel whose pointers to shared memory come from outside");
        }
        if options.work_dim.is_some() {
            return refuse("a program for a work dimension given in advance");
        }
        Ok(())
    }
}
