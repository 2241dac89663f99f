//! Dead code elimination.
//!
//! ```text
//! add u32 %r3 %r2 0x4        (gone: nothing with an effect reads %r3)
//! st u32 # g[%r2+0x4] %r5
//! ```
//!
//! What has an effect is alive, and so is every definition that something alive reads. Block parameters are alive
//! like other values, so a variable that only feeds itself around a loop goes, with its arguments on the edges.
//! Because uses are only what `for_uses` reports, an address that was folded away leaves nothing behind. An atomic stays,
//! but a result that nobody reads is taken from it: it needs no register, and the chip need not send it back.
//!
//! Of integers of 64 bits the low word may be all that is read, as where a sum of extended indices is truncated again. Operations
//! whose low word comes from low words are then made in 32 bits, and a carry that nobody reads is not made at all:
//!
//! ```text
//! mul u64 {%r4 %r5} {%r0 %r1} {%r2 %r3}        mul u32 %r4 %r0 %r2
//! add u64 {%r8 %r9} {%r4 %r5} {%r6 %r7}   ->   add u32 %r8 %r4 %r6      (nobody reads %r9)
//! ```
//!
//! Safe because nothing observes a value but the instructions that read it; instructions whose operation has an
//! effect, and volatile accesses, always stay.

use super::Ctx;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut live = Liveness {
        values: SecondaryMap::with_capacity(f.values.len()),
        insts: SecondaryMap::with_capacity(f.insts.len()),
        lows: SecondaryMap::new(),
        work: Vec::with_capacity(64),
    };
    live.values.resize(f.values.len());
    live.insts.resize(f.insts.len());
    let has_params = f.layout.iter().any(|&b| !f.blocks[b].params.is_empty());
    // For block parameters: the position in its block, and the edges into each block.
    let mut index: SecondaryMap<ValueId, u32> = SecondaryMap::new();
    let mut incoming: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
    if has_params {
        for &b in &f.layout {
            for (n, &p) in f.blocks[b].params.iter().enumerate() {
                index[p] = n as u32;
            }
            for e in f.blocks[b].term.edges() {
                if !e.args.is_empty() {
                    incoming[e.to].push(b);
                }
            }
        }
    }

    for &b in &f.layout {
        let block = &f.blocks[b];
        for &i in &block.body {
            if !f.insts[i].removable() {
                live.mark_inst(f, i);
            }
        }
        match &block.term {
            Term::Branch { cond, .. } => live.mark(*cond),
            Term::Ret(values) => values.iter().for_each(|&v| live.mark(v)),
            Term::Jump(_) | Term::Exit | Term::Unreachable => {}
        }
    }
    while let Some(v) = live.work.pop() {
        match f.values[v].def {
            Def::Inst(i) if low_word(&f.insts[i]) && f.insts[i].dsts[0] == v => live.mark_low(f, i),
            Def::Inst(i) => live.mark_inst(f, i),
            Def::Block(b) => {
                let n = index[v] as usize;
                for &p in &incoming[b] {
                    for e in f.blocks[p].term.edges().filter(|e| e.to == b) {
                        live.mark(e.args[n]);
                    }
                }
            }
            Def::Func | Def::None => {}
        }
    }

    let mut removed = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let (blocks, insts, values) = (&mut f.blocks, &mut f.insts, &mut f.values);
        blocks[b].body.retain(|&i| {
            let inst = &mut insts[i];
            let keep = live.insts[i] || live.lows[i];
            let reduces = matches!((inst.op, inst.aux), (Op::Atom, Aux::Atom(op)) if !op.returns());
            let unread = reduces && !inst.dsts.iter().any(|&d| live.values[d]);
            if !keep || unread && !inst.dsts.is_empty() {
                removed += 1;
                inst.for_defs(|v| values[v].def = Def::None);
            }
            if unread {
                inst.dsts.clear();
            }
            if keep && low_word(inst) && !live.values[inst.dsts[1]] {
                removed += 1;
                values[inst.dsts[1]].def = Def::None;
                narrow(inst);
            }
            if let [_, .., last] = inst.dsts[..]
                && keep
                && values[last].class == Class::Carry
                && !live.values[last]
            {
                removed += 1;
                values[last].def = Def::None;
                inst.dsts.pop();
            }
            keep
        });
    }
    if has_params {
        let dead = |f: &Function, b: BlockId| f.blocks[b].params.iter().any(|&p| !live.values[p]);
        for n in 0..f.layout.len() {
            let b = f.layout[n];
            let mut term = std::mem::replace(&mut f.blocks[b].term, Term::Unreachable);
            for e in term.edges_mut().filter(|e| !e.args.is_empty() && dead(f, e.to)) {
                let params = &f.blocks[e.to].params;
                let mut n = 0;
                e.args.retain(|_| {
                    n += 1;
                    live.values[params[n - 1]]
                });
            }
            f.blocks[b].term = term;
        }
        for n in 0..f.layout.len() {
            let b = f.layout[n];
            let (blocks, values) = (&mut f.blocks, &mut f.values);
            blocks[b].params.retain(|&p| {
                let keep = live.values[p];
                if !keep {
                    removed += 1;
                    values[p].def = Def::None;
                }
                keep
            });
        }
    }
    ctx.count("dce: removed", removed);
    removed > 0
}

/// Whether the low word of a 64-bit result depends on nothing but low words.
fn low_word(inst: &Inst) -> bool {
    let shift = || inst.srcs[1].as_imm().is_some_and(|n| n < 32);
    matches!(inst.ty, Type::U64 | Type::S64)
        && inst.dsts.len() == 2
        && inst.guard.is_none()
        && inst.srcs.iter().all(|s| !s.mods.abs)
        && match inst.op {
            Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::And | Op::Or | Op::Xor | Op::Not => true,
            Op::Shl => shift(),
            _ => false,
        }
}

/// How many sources have 64 bits: not a shift's amount.
fn wide_sources(inst: &Inst) -> usize {
    if inst.op == Op::Shl { 1 } else { inst.srcs.len() }
}

/// The operation on low words.
fn narrow(inst: &mut Inst) {
    let wide = wide_sources(inst);
    for s in inst.srcs.iter_mut().take(wide) {
        *s = s.low_word();
    }
    inst.dsts.pop();
    (inst.ty, inst.sty) = (Type::U32, Type::U32);
}

struct Liveness {
    values: SecondaryMap<ValueId, bool>,
    /// Alive with all that they read.
    insts: SecondaryMap<InstId, bool>,
    /// Alive with the low words that they read.
    lows: SecondaryMap<InstId, bool>,
    work: Vec<ValueId>,
}

impl Liveness {
    fn mark(&mut self, v: ValueId) {
        if !std::mem::replace(&mut self.values[v], true) {
            self.work.push(v);
        }
    }

    /// The low word is read.
    fn mark_low(&mut self, f: &Function, i: InstId) {
        let inst = &f.insts[i];
        if !std::mem::replace(&mut self.lows[i], true) {
            for s in inst.srcs.iter().take(wide_sources(inst)) {
                s.low_word().values().iter().for_each(|&v| self.mark(v));
            }
        }
    }

    fn mark_inst(&mut self, f: &Function, i: InstId) {
        if !std::mem::replace(&mut self.insts[i], true) {
            f.insts[i].for_uses(|v| self.mark(v));
        }
    }
}
