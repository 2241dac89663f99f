//! Dead code elimination.
//!
//! ```text
//! add u32 %r3 %r2 0x4        (gone: nothing with an effect reads %r3)
//! st u32 # g[%r2+0x4] %r5
//! ```
//!
//! What has an effect is alive, and so is every definition that something alive reads. Block
//! parameters are alive like other values, so a variable that only feeds itself around a loop goes,
//! with its arguments on the edges. Because uses are only what `for_uses` reports, an address that
//! was folded away leaves nothing behind. An atomic stays, but a result that nobody reads is taken
//! from it: it needs no register, and the chip need not send it back. Texture operations give the
//! components that are read only.
//!
//! Of integers of 64 bits the low word may be all that is read, as where a sum of extended indices
//! is truncated again. Operations whose low word comes from low words are then made in 32 bits, and
//! a carry that nobody reads is not made at all:
//!
//! ```text
//! mul u64 {%r4 %r5} {%r0 %r1} {%r2 %r3}        mul u32 %r4 %r0 %r2
//! add u64 {%r8 %r9} {%r4 %r5} {%r6 %r7}   ->   add u32 %r8 %r4 %r6      (nobody reads %r9)
//! ```
//!
//! Safe because nothing observes a value but the instructions that read it; instructions whose
//! operation has an effect, and volatile accesses, always stay.

use super::{Ctx, rewrite};
use crate::ir::*;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};

/// The values that something with an effect reads.
type Live = PrimaryMap<ValueId, bool>;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut live: Live = vec![false; f.values.len().max(1)].into();
    let params = f.layout.iter().any(|&b| !f.blocks[b].params.is_empty());
    // Going backwards, all readers of a value come before its definition, but for the arguments of
    // back edges.
    if params && has_back_arguments(f) {
        mark_all(f, &mut live);
    }
    let mut removed = 0;
    for n in (0..f.layout.len()).rev() {
        let b = f.layout[n];
        mark_term(f, b, &mut live);
        removed += sweep(f, b, &mut live);
    }
    if params {
        removed += rewrite::remove_params(f, |p| live[p]);
    }
    ctx.count("dce: removed", removed);
    removed > 0
}

/// Goes backwards over a block: removes what nobody reads, marks what the rest reads. Gives the
/// number of changes.
fn sweep(f: &mut Function, b: BlockId, live: &mut Live) -> usize {
    let Function { blocks, insts, values, .. } = f;
    let body = &mut blocks[b].body;
    let mut removed = 0;
    // What stays moves to the end.
    let mut first = body.len();
    for at in (0..body.len()).rev() {
        let i = body[at];
        let inst = &mut insts[i];
        let needed = matches!(inst.dsts[..], [d] if live[d]) || trim(inst, values, live, &mut removed);
        if needed {
            inst.for_uses(|v| live[v] = true);
            first -= 1;
            body[first] = i;
        }
    }
    body.drain(..first);
    removed
}

/// Takes from an instruction what nobody reads of its results. False: nobody needs it at all.
fn trim(
    inst: &mut Inst,
    values: &mut PrimaryMap<ValueId, ValueData>,
    live: &Live,
    removed: &mut usize,
) -> bool {
    let called = || inst.call().is_some_and(|c| c.results.iter().any(|&r| live[r]));
    let read = inst.dsts.iter().any(|&d| live[d]) || called();
    if !read && inst.removable() {
        *removed += 1;
        inst.for_defs(|v| values[v].def = Def::None);
        return false;
    }
    let reduces = matches!((inst.op, inst.aux), (Op::Atom, Aux::Atom(op)) if !op.returns());
    if !read && reduces && !inst.dsts.is_empty() {
        *removed += 1;
        inst.for_defs(|v| values[v].def = Def::None);
        inst.dsts.clear();
    } else if low_word(inst) && !live[inst.dsts[1]] {
        *removed += 1;
        values[inst.dsts[1]].def = Def::None;
        narrow(inst);
    } else if read && narrow_texel(inst, values, live) {
        *removed += 1;
    } else if let [_, .., last] = inst.dsts[..]
        && values[last].class == Class::Carry
        && !live[last]
    {
        *removed += 1;
        values[last].def = Def::None;
        inst.dsts.pop();
    }
    true
}

/// Takes from a texture operation the components that nobody reads; false if there are none.
fn narrow_texel(inst: &mut Inst, values: &mut PrimaryMap<ValueId, ValueData>, live: &Live) -> bool {
    let Some(Ext::Tex(t)) = inst.ext.as_deref_mut() else { return false };
    let texels =
        matches!(t.op, TexOp::Sample | TexOp::Bias | TexOp::Lod | TexOp::Grad | TexOp::Fetch | TexOp::Gather);
    let one_each = inst.dsts.len() == t.mask.count_ones() as usize;
    if !texels || !one_each || inst.dsts.iter().all(|&d| live[d]) {
        return false;
    }
    let all = t.mask;
    let bits = (0..8).map(|n| 1u8 << n).filter(|bit| all & bit != 0);
    let dsts = std::mem::take(&mut inst.dsts);
    let mut mask = 0;
    for (&d, bit) in dsts.iter().zip(bits) {
        if live[d] {
            mask |= bit;
            inst.dsts.push(d);
        } else {
            values[d].def = Def::None;
        }
    }
    t.mask = mask;
    true
}

/// Marks what a block's terminator reads: arguments, if the parameters that they are for are read.
fn mark_term(f: &Function, b: BlockId, live: &mut Live) {
    let term = &f.blocks[b].term;
    match term {
        Term::Ret(values) => values.iter().for_each(|&v| live[v] = true),
        Term::Branch { cond, .. } => live[*cond] = true,
        Term::Jump(_) | Term::Exit | Term::Unreachable => {}
    }
    for e in term.edges() {
        for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
            live[a] |= live[p];
        }
    }
}

/// Whether an edge with arguments leads back to a block that stands before it.
fn has_back_arguments(f: &Function) -> bool {
    let mut seen: EntitySet<BlockId> = EntitySet::with_capacity(f.blocks.len());
    f.layout.iter().any(|&b| {
        seen.insert(b);
        f.blocks[b].term.edges().any(|e| !e.args.is_empty() && seen.contains(e.to))
    })
}

/// Marks everything that is live, from what has an effect along definitions and edges.
fn mark_all(f: &Function, live: &mut Live) {
    // The position of each parameter in its block, and the edges into each block.
    let mut index: SecondaryMap<ValueId, u32> = SecondaryMap::new();
    index.resize(f.values.len());
    let mut incoming: SecondaryMap<BlockId, Vec<BlockId>> = f.block_table();
    let mut worklist: Vec<ValueId> = Vec::new();
    for &b in &f.layout {
        let block = &f.blocks[b];
        for (n, &p) in block.params.iter().enumerate() {
            index[p] = n as u32;
        }
        for e in block.term.edges().filter(|e| !e.args.is_empty()) {
            incoming[e.to].push(b);
        }
        for &i in block.body.iter().filter(|&&i| !f.insts[i].removable()) {
            f.insts[i].for_uses(|v| worklist.push(v));
        }
        match &block.term {
            Term::Ret(values) => worklist.extend(values),
            Term::Branch { cond, .. } => worklist.push(*cond),
            Term::Jump(_) | Term::Exit | Term::Unreachable => {}
        }
    }
    while let Some(v) = worklist.pop() {
        if std::mem::replace(&mut live[v], true) {
            continue;
        }
        match f.values[v].def {
            Def::Inst(i) => {
                let inst = &f.insts[i];
                if low_word(inst) && v == inst.dsts[0] {
                    let wide = inst.srcs.iter().take(wide_sources(inst));
                    wide.for_each(|s| worklist.extend(s.low_word().values()));
                } else {
                    inst.for_uses(|v| worklist.push(v));
                }
            }
            Def::Block(b) => {
                for &p in &incoming[b] {
                    let edges = f.blocks[p].term.edges().filter(|e| e.to == b);
                    worklist.extend(edges.map(|e| e.args[index[v] as usize]));
                }
            }
            Def::Func | Def::None => {}
        }
    }
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
