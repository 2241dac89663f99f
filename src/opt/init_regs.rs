//! Registers that are read before any write get a value, so that a read of one is never left to
//! chance.
//!
//! ```text
//! b0: undef u32 %r0                       b0: mov u32 %r7 0x0
//!     jump b1(%r0)                ->          jump b1(%r7)        --init-regs 3: on the edge where it is missing
//! b1(%r1): ...
//! ```
//!
//! `--init-regs`:
//! - 0: nothing; an uninitialised register keeps what was in it;
//! - 1: every register of the source that is not written on some way is zeroed at entry, whether it
//!   is read or not;
//! - 2: those that may be read uninitialised are zeroed at entry;
//! - 3: a zero is brought in where it is missing: in front of the edge that carries no value, or of
//!   the instruction that reads it. The register is not occupied from entry on.
//!
//! Where ways meet of which one leaves a register unwritten, it may have what the other one writes
//! (from -O1 on): no branch is needed for it then.
//!
//! Each initialisation gives a line in the log (`RUST_LOG=nvir=debug`) and, with
//! `--print-after init_regs`, in the report. The case that this is for: a loop whose variable is
//! first read when `i != 0` and written at the end of each round (GCC PR target/104440); what looks
//! like dead code on the first round made ptxas move the read up.

use super::Ctx;
use crate::analysis::must_init::{Init, MustInit};
use crate::ir::*;
use crate::options::InitRegs;
use cranelift_entity::{EntitySet, SecondaryMap};

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mode = ctx.options.init_regs;
    let undefined: Vec<(BlockId, InstId)> = f
        .insts_in_order()
        .filter(|&(_, i)| f.insts[i].op == Op::Undef && !f.insts[i].dsts.is_empty())
        .collect();
    if mode == InitRegs::Leave || undefined.is_empty() {
        return false;
    }
    let count = match mode {
        InitRegs::All => at_entry(f, ctx, &undefined, |_| true),
        InitRegs::AtEntry => {
            let read = read_values(f);
            at_entry(f, ctx, &undefined, |v| read.contains(v))
        }
        InitRegs::OnEdges => where_missing(f, ctx),
        InitRegs::Leave => 0,
    };
    ctx.count("init_regs: initialised", count);
    count > 0
}

/// Values in a place for channels that a store's format does not have: nobody reads them.
fn padding(i: &Inst) -> &[ValueId] {
    let format = i.surf().filter(|_| i.op == Op::Sust).and_then(|s| s.format);
    match (format, i.srcs.get(2).map(Src::values)) {
        (Some(format), Some(data)) if data.len() == 4 => &data[format.channels()..],
        _ => &[],
    }
}

/// Values that an instruction or a branch reads, directly or through block parameters.
fn read_values(f: &Function) -> EntitySet<ValueId> {
    let mut read = EntitySet::with_capacity(f.values.len());
    let mut worklist = Vec::new();
    let mut args: SecondaryMap<ValueId, Vec<ValueId>> = SecondaryMap::new();
    for &b in &f.layout {
        let block = &f.blocks[b];
        for &i in &block.body {
            let inst = &f.insts[i];
            inst.for_uses(|v| {
                if !padding(inst).contains(&v) {
                    worklist.push(v);
                }
            });
        }
        match &block.term {
            Term::Branch { cond, .. } => worklist.push(*cond),
            // What a stage leaves unwritten, nobody counts on.
            Term::Ret(values) if f.result_regs.is_empty() => worklist.extend(values),
            _ => {}
        }
        for e in block.term.edges() {
            for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
                args[p].push(a);
            }
        }
    }
    while let Some(v) = worklist.pop() {
        if read.insert(v) {
            worklist.extend(&args[v]);
        }
    }
    read
}

/// The undefined values become zeros, at the top of the entry block.
fn at_entry(
    f: &mut Function,
    ctx: &mut Ctx<'_>,
    undefined: &[(BlockId, InstId)],
    wanted: impl Fn(ValueId) -> bool,
) -> usize {
    let mut count = 0;
    let mut zeros = Vec::new();
    for &(b, i) in undefined {
        let v = f.insts[i].dsts[0];
        if !wanted(v) {
            continue;
        }
        let zero = Inst::new(Op::Mov, f.class(v).move_type()).src(0).dst(v);
        f.replace(i, zero);
        f.blocks[b].body.retain(|&x| x != i);
        zeros.push(i);
        ctx.note(format!("init_regs: {}: {v} zeroed at entry", f.name));
        count += 1;
    }
    let entry = f.entry();
    f.blocks[entry].body.splice(0..0, zeros);
    count
}

/// A zero on each edge, and in front of each instruction, that carries or reads an undefined value.
fn where_missing(f: &mut Function, ctx: &mut Ctx<'_>) -> usize {
    let init = MustInit::new(f);
    let read = read_values(f);
    let missing = |v: ValueId| init.state(v) == Init::Never;
    let mut count = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        // One zero a class serves the whole block from its first need on.
        let mut zeros: [Option<ValueId>; 2] = [None; 2];
        let body = std::mem::take(&mut f.blocks[b].body);
        let mut out = Vec::with_capacity(body.len() + 1);
        let mut zero = |f: &mut Function, out: &mut Vec<InstId>, v: ValueId| {
            let class = f.class(v);
            let slot = &mut zeros[(class == Class::Pred) as usize];
            *slot.get_or_insert_with(|| {
                super::rewrite::emit(f, out, Inst::new(Op::Mov, class.move_type()).src(0))
            })
        };
        for i in body {
            let mut here = Vec::new();
            let inst = &f.insts[i];
            inst.for_uses(|v| {
                if missing(v) && !padding(inst).contains(&v) {
                    here.push(v);
                }
            });
            for v in here {
                let z = zero(f, &mut out, v);
                ctx.note(format!("init_regs: {}: {v} zeroed for its reader in {b}", f.name));
                f.insts[i].map_uses(|u| if u == v { z } else { u });
                count += 1;
            }
            out.push(i);
        }
        let mut term = std::mem::replace(&mut f.blocks[b].term, Term::Unreachable);
        let targets: Vec<Vec<ValueId>> = term.edges().map(|e| f.blocks[e.to].params.clone()).collect();
        for (e, params) in term.edges_mut().zip(targets) {
            for (a, &p) in e.args.iter_mut().zip(&params) {
                if missing(*a) && read.contains(p) {
                    ctx.note(format!("init_regs: {}: {a} zeroed on the edge from {b} to {}", f.name, e.to));
                    *a = zero(f, &mut out, *a);
                    count += 1;
                }
            }
        }
        if let Term::Branch { cond, .. } = &mut term
            && missing(*cond)
        {
            ctx.note(format!("init_regs: {}: {cond} zeroed for the branch of {b}", f.name));
            *cond = zero(f, &mut out, *cond);
            count += 1;
        }
        if let Term::Ret(values) = &mut term {
            for v in values.iter_mut().filter(|v| missing(**v)) {
                *v = zero(f, &mut out, *v);
                count += 1;
            }
        }
        f.blocks[b].term = term;
        f.blocks[b].body = out;
    }
    count
}
