//! Inlining of subroutines.
//!
//! ```text
//! sub f(%r0) -> r { b0: add u32 %r1 %r0 0x4   ret {%r1} }
//! call %r5 f0{%r3}            ->  add u32 %r5 %r3 0x4
//! ```
//!
//! A call of a subroutine that is called once, or is short, becomes a copy of its body. The block
//! with the call is split; the callee's returns jump to the second half, whose parameters are the
//! results. Callees are looked at before their callers, so chains collapse; recursion does not
//! occur (front-ends refuse it).
//!
//! The callee's blocks are put between the halves, so constructs stay together. A return from
//! inside a branch leaves its construct early, which only a region with an exit may do: then the
//! copy is wrapped into one. A callee that returns from inside a loop is not inlined. Library
//! routines stay calls: they are long, and shared.

use super::Ctx;
use crate::analysis::functions::callees_first;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Instructions up to which a subroutine is copied to several callers: at -Os those that a call takes itself, with the moves
/// around it.
const SHORT: usize = 40;
const SHORT_FOR_SIZE: usize = 4;
/// Instructions up to which a function may grow.
const LARGEST: usize = 20_000;
/// Instructions of longer callees that are copied in all, each time that they are: in a chain of
/// calls, what the last link is made of is copied at each link.
const COPIES: usize = 10 * LARGEST;

pub(super) fn run(p: &mut Program, ctx: &mut Ctx<'_>) -> bool {
    if p.funcs.len() < 2 {
        return false;
    }
    let mut calls: SecondaryMap<FuncId, u32> = SecondaryMap::new();
    for f in p.funcs.values() {
        for (_, i) in f.insts_in_order() {
            if let Some(c) = f.insts[i].call() {
                calls[c.func] += 1;
            }
        }
    }
    let mut inlined = 0;
    let mut copies = COPIES;
    let short = if ctx.options.opt_level.may_lengthen() { SHORT } else { SHORT_FOR_SIZE };
    // What the kernel, or somebody else, reaches.
    let called = p.funcs.iter().filter(|(_, f)| f.linkage == Linkage::Visible).map(|(id, _)| id);
    for caller in callees_first(p, std::iter::once(p.entry).chain(called)) {
        let mut f = std::mem::replace(&mut p.funcs[caller], Function::new(""));
        let mut size = f.inst_count();
        let mut conts = EntitySet::new();
        let mark_conts = |f: &Function, blocks: &[BlockId], conts: &mut EntitySet<BlockId>| {
            for &h in blocks {
                if let Merge::Loop { cont, .. } = f.blocks[h].merge
                    && cont != h
                {
                    conts.insert(cont);
                }
            }
        };
        mark_conts(&f, &f.layout, &mut conts);
        let mut n = 0;
        while n < f.layout.len() {
            let b = f.layout[n];
            n += 1;
            // A continue block jumps back to its header by itself: it cannot be split.
            if conts.contains(b) {
                continue;
            }
            let Some((at, callee)) = f.blocks[b].body.iter().enumerate().find_map(|(at, &i)| {
                let callee = f.insts[i].call()?.func;
                let g = &p.funcs[callee];
                let length = g.inst_count();
                let wanted =
                    (calls[callee] == 1 && length <= copies || length <= short) && size + length <= LARGEST;
                // Both use local memory from address 0 on.
                let frames = f.local_bytes != 0 && g.local_bytes != 0;
                // One that calls itself is refused later.
                let here = g.linkage != Linkage::Declared && callee != caller;
                (wanted && here && !frames && !g.library && can_inline(g)).then_some((at, callee))
            }) else {
                continue;
            };
            let length = p.funcs[callee].inst_count();
            size += length;
            copies -= if length > short { length } else { 0 };
            let copied = inline(&mut f, n - 1, at, &p.funcs[callee]);
            if calls[callee] == 1 && length > short && p.funcs[callee].linkage == Linkage::Internal {
                // Nobody calls it any more: what it is made of need not be kept.
                let name = std::mem::take(&mut p.funcs[callee].name);
                p.funcs[callee] = Function::new(name);
                p.funcs[callee].new_block();
            }
            mark_conts(&f, &f.layout[n..n + copied], &mut conts);
            inlined += 1;
            // The copy's own calls were decided on when it was the caller: go on behind it.
            n += copied - 1;
        }
        p.funcs[caller] = f;
    }
    ctx.count("inline: calls", inlined);
    inlined > 0
}

/// Where a function returns, relative to its constructs.
#[derive(PartialEq)]
enum Returns {
    /// Once, outside all constructs.
    AtEnd,
    /// From inside branches, or several times.
    Early,
    InLoop,
}

fn returns(g: &Function) -> Returns {
    let around = super::flow::constructs(g);
    let (mut count, mut inside) = (0, false);
    for &b in &g.layout {
        if !matches!(g.blocks[b].term, Term::Ret(_)) {
            continue;
        }
        count += 1;
        let mut at = around[b].expand();
        if matches!(g.blocks[b].merge, Merge::Loop { .. }) {
            return Returns::InLoop;
        }
        while let Some(h) = at {
            inside = true;
            if matches!(g.blocks[h].merge, Merge::Loop { .. }) {
                return Returns::InLoop;
            }
            at = around[h].expand();
        }
    }
    if count == 1 && !inside { Returns::AtEnd } else { Returns::Early }
}

fn can_inline(g: &Function) -> bool {
    returns(g) != Returns::InLoop
}

/// Replaces the call at position `at` of the block at position `n` of the layout. Returns how many
/// blocks follow that block now which did not before; the last of them is its second half.
fn inline(f: &mut Function, n: usize, at: usize, g: &Function) -> usize {
    let b = f.layout[n];
    let call_inst = f.blocks[b].body[at];
    let loc = f.insts[call_inst].loc;
    let call = f.insts[call_inst].call().expect("the caller found a call").clone();

    // The second half: what follows the call, the terminator, and the construct that the terminator
    // opens.
    let rest = f.detached_block();
    let tail = f.blocks[b].body.split_off(at + 1);
    f.blocks[b].body.pop();
    f.blocks[rest].body = tail;
    f.blocks[rest].term = std::mem::replace(&mut f.blocks[b].term, Term::Unreachable);
    f.blocks[rest].term_loc = f.blocks[b].term_loc;
    if let Merge::If { .. } = f.blocks[b].merge {
        f.blocks[rest].merge = std::mem::take(&mut f.blocks[b].merge);
    }
    f.insts[call_inst].ext = None;
    for &r in &call.results {
        f.values[r].def = Def::Block(rest);
    }
    f.blocks[rest].params = call.results.clone();

    // The copy.
    let mut values: SecondaryMap<ValueId, Option<ValueId>> = SecondaryMap::new();
    let mut blocks: SecondaryMap<BlockId, Option<BlockId>> = SecondaryMap::new();
    for (&p, &a) in g.params.iter().zip(&call.args) {
        values[p] = Some(a);
    }
    for &o in &g.layout {
        let c = f.detached_block();
        blocks[o] = Some(c);
        for &p in &g.blocks[o].params {
            values[p] = Some(f.add_block_param(c, g.class(p)));
        }
        for &i in &g.blocks[o].body {
            g.insts[i].for_defs(|v| values[v] = Some(f.new_value(g.class(v))));
        }
    }
    let value = |v: ValueId| values[v].expect("definitions dominate uses");
    let block = |o: BlockId| blocks[o].expect("edges stay in the layout");
    let early = returns(g) == Returns::Early;
    let mut copies = Vec::with_capacity(g.layout.len() + 2);
    for &o in &g.layout {
        let c = block(o);
        copies.push(c);
        for &i in &g.blocks[o].body {
            let mut inst = g.insts[i].clone();
            inst.map_uses(value);
            inst.map_defs(value);
            if inst.loc == Loc::default() {
                inst.loc = loc;
            }
            f.append(c, inst);
        }
        let mut term = g.blocks[o].term.clone();
        term.map_uses(value);
        for e in term.edges_mut() {
            e.to = block(e.to);
        }
        if let Term::Ret(results) = term {
            term = Term::Jump(Edge { to: rest, args: results });
        }
        f.blocks[c].term = term;
        f.blocks[c].term_loc = g.blocks[o].term_loc;
        let mut merge = g.blocks[o].merge;
        merge.blocks_mut().for_each(|t| *t = block(*t));
        f.blocks[c].merge = merge;
    }
    let first = copies[0];
    if early {
        // A region that is left early: its header is a block of its own, so that the callee's first
        // block may be one too.
        let header = f.detached_block();
        f.blocks[header].merge = Merge::Loop { exit: rest, cont: header };
        f.blocks[header].term = Term::Jump(Edge::to(first));
        f.blocks[b].term = Term::Jump(Edge::to(header));
        copies.insert(0, header);
    } else {
        f.blocks[b].term = Term::Jump(Edge::to(first));
    }
    copies.push(rest);
    let count = copies.len();
    f.layout.splice(n + 1..n + 1, copies);
    f.local_bytes = f.local_bytes.max(g.local_bytes);
    count
}
