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
//! Safe because nothing observes a value but the instructions that read it; instructions whose operation has an
//! effect, and volatile accesses, always stay.

use super::Ctx;
use crate::ir::*;
use cranelift_entity::SecondaryMap;

pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut live = Liveness {
        values: SecondaryMap::with_capacity(f.values.len()),
        insts: SecondaryMap::with_capacity(f.insts.len()),
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
            let keep = live.insts[i];
            let reduces = matches!((inst.op, inst.aux), (Op::Atom, Aux::Atom(op)) if !op.returns());
            let unread = reduces && !inst.dsts.iter().any(|&d| live.values[d]);
            if !keep || unread && !inst.dsts.is_empty() {
                removed += 1;
                inst.for_defs(|v| values[v].def = Def::None);
            }
            if unread {
                inst.dsts.clear();
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

struct Liveness {
    values: SecondaryMap<ValueId, bool>,
    insts: SecondaryMap<InstId, bool>,
    work: Vec<ValueId>,
}

impl Liveness {
    fn mark(&mut self, v: ValueId) {
        if !std::mem::replace(&mut self.values[v], true) {
            self.work.push(v);
        }
    }

    fn mark_inst(&mut self, f: &Function, i: InstId) {
        if !std::mem::replace(&mut self.insts[i], true) {
            f.insts[i].for_uses(|v| self.mark(v));
        }
    }
}
