//! Loads that nothing in a loop can change move in front of it.
//!
//! ```text
//! b1(%r1): loop exit b3 cont b2           ld u32 %r2 g[%r0+0x4]       (before the loop)
//!     ld u32 %r2 g[%r0+0x4]           b1(%r1): loop exit b3 cont b2
//!     set.ge pred u32 %p3 %r1 %r2 ->      set.ge pred u32 %p3 %r1 %r2
//!     branch %p3 b3 b2                    branch %p3 b3 b2
//! ```
//!
//! With a load goes what its address needs, carries included. Innermost loops only, and only loads at their
//! beginning, which every round executes: what is in front of the loop is executed when the loop is.
//!
//! Safe because the loop has no store, atomic, barrier or call, the load is a weak one, and the same
//! threads execute it at the same address. What other threads store meanwhile a weak load need not see; but a loop
//! that waits for it must not wait for ever, so loops stay as they are that are left by what loads alone give.

use super::Ctx;
use super::licm::front;
use crate::analysis::cfg::Cfg;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};

/// Loads moved out of one loop: each holds a register through the whole of it.
const MOST: usize = 8;
/// Instructions that may go with a load.
const CHAIN: usize = 8;
/// Parameters of a loop that is looked at.
const PARAMS: usize = 16;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let is_header = |b: &BlockId| matches!(f.blocks[*b].merge, Merge::Loop { .. });
    if ctx.graphics || !f.layout.iter().any(is_header) {
        return false;
    }
    let cfg = Cfg::new(f);
    let mut blocks: SecondaryMap<BlockId, Vec<BlockId>> = f.block_table();
    let mut outer = EntitySet::with_capacity(f.blocks.len());
    for &b in &f.layout {
        if let Some(h) = cfg.loop_header(b) {
            blocks[h].push(b);
        }
        if cfg.is_loop_header(b) {
            outer.extend(cfg.parent_loop(b));
        }
    }
    let tree = cfg.loop_tree();
    let mut moved = 0;
    for h in f.layout.clone() {
        if !cfg.is_loop_header(h) || outer.contains(h) || !is_quiet(f, &blocks[h]) {
            continue;
        }
        let Some(front) = front(f, &cfg, &tree, h) else { continue };
        let first = first_blocks(f, &cfg, h);
        if !first.iter().any(|&b| f.blocks[b].body.iter().any(|&i| is_load(&f.insts[i]))) {
            continue;
        }
        if counts(f, h, &blocks[h]) {
            moved += move_loads(f, &blocks[h], &first, front);
        }
    }
    ctx.count("loop_loads: moved", moved);
    moved > 0
}

/// No instruction changes memory, or waits for who does.
fn is_quiet(f: &Function, blocks: &[BlockId]) -> bool {
    let quiet = |inst: &Inst| {
        !inst.op.is(op::EFFECT) && inst.ext.is_none() && inst.mem.is_none_or(|m| m.order == Order::Weak)
    };
    blocks.iter().all(|&b| f.blocks[b].body.iter().all(|&i| quiet(&f.insts[i])))
}

fn is_load(inst: &Inst) -> bool {
    inst.op == Op::Ld && inst.guard.is_none()
}

/// The blocks that each round begins with.
fn first_blocks(f: &Function, cfg: &Cfg, h: BlockId) -> Vec<BlockId> {
    let mut first = vec![h];
    let mut at = h;
    while let Term::Jump(e) = &f.blocks[at].term
        && let &[_] = cfg.preds(e.to)
    {
        at = e.to;
        first.push(at);
    }
    first
}

/// Whether every way out of the loop depends on something that the loop computes from round to round, without loads.
fn counts(f: &Function, h: BlockId, blocks: &[BlockId]) -> bool {
    let inside: FxHashSet<BlockId> = blocks.iter().copied().collect();
    let params = &f.blocks[h].params;
    let back: Vec<&Edge> =
        blocks.iter().flat_map(|&b| f.blocks[b].term.edges()).filter(|e| e.to == h).collect();
    if params.len() > PARAMS {
        return false;
    }
    let mut kept: Vec<ValueId> = params.clone();
    loop {
        let mut varies: FxHashSet<ValueId> = kept.iter().copied().collect();
        for &b in blocks {
            for &i in &f.blocks[b].body {
                let inst = &f.insts[i];
                let mut reads = false;
                inst.for_uses(|v| reads |= varies.contains(&v));
                if reads && inst.is_pure() {
                    inst.for_defs(|v| _ = varies.insert(v));
                }
            }
        }
        let stays = |p: &ValueId| {
            let k = params.iter().position(|q| q == p);
            let computed = |v: &ValueId| varies.contains(v) && !params.contains(v);
            k.is_some_and(|k| back.iter().all(|e| e.args.get(k).is_some_and(computed)))
        };
        let before = kept.len();
        kept.retain(stays);
        if kept.len() < before {
            continue;
        }
        let leaves = |b: BlockId| f.blocks[b].term.successors().any(|s| !inside.contains(&s));
        return blocks.iter().copied().filter(|&b| leaves(b)).all(|b| match &f.blocks[b].term {
            Term::Branch { cond, .. } => varies.contains(cond),
            // Who comes there was sent by a branch inside.
            _ => true,
        });
    }
}

fn move_loads(f: &mut Function, blocks: &[BlockId], first: &[BlockId], front: BlockId) -> usize {
    let mut inside: FxHashSet<ValueId> = FxHashSet::default();
    let mut reads: FxHashMap<ValueId, u32> = FxHashMap::default();
    for &b in blocks {
        inside.extend(f.blocks[b].params.iter().copied());
        for &i in &f.blocks[b].body {
            f.insts[i].for_defs(|v| _ = inside.insert(v));
            f.insts[i].for_uses(|v| *reads.entry(v).or_default() += 1);
        }
    }
    let candidates: Vec<InstId> = first.iter().flat_map(|&b| f.blocks[b].body.clone()).collect();
    let place: FxHashMap<InstId, u32> = candidates.iter().copied().zip(0..).collect();
    let mut gone: FxHashSet<InstId> = FxHashSet::default();
    let mut count = 0;
    for &load in candidates.iter().filter(|&&i| is_load(&f.insts[i])) {
        if count == MOST {
            break;
        }
        let Some(mut chain) = chain(f, load, &inside, &place, &reads) else { continue };
        chain.sort_unstable_by_key(|i| place[i]);
        for i in chain {
            f.insts[i].for_defs(|v| _ = inside.remove(&v));
            f.blocks[front].body.push(i);
            gone.insert(i);
        }
        count += 1;
    }
    if count > 0 {
        for &b in first {
            f.blocks[b].body.retain(|&i| !gone.contains(&i));
        }
    }
    count
}

/// A load and what it needs of the loop, if all of that can go.
fn chain(
    f: &Function,
    load: InstId,
    inside: &FxHashSet<ValueId>,
    place: &FxHashMap<InstId, u32>,
    reads: &FxHashMap<ValueId, u32>,
) -> Option<Vec<InstId>> {
    let read = |v: &ValueId| reads.get(v).copied().unwrap_or(0);
    let mut chain = vec![load];
    let mut at = 0;
    while let Some(&i) = chain.get(at) {
        at += 1;
        let mut needed: Vec<ValueId> = Vec::new();
        f.insts[i].for_uses(|v| needed.extend(inside.contains(&v).then_some(v)));
        for v in needed {
            let Def::Inst(d) = f.values[v].def else { return None };
            let inst = &f.insts[d];
            let movable =
                inst.is_pure() && inst.guard.is_none() && inst.ext.is_none() && place.contains_key(&d);
            // Who reads a carry goes with it.
            let carries = |d: &ValueId| f.class(*d) == Class::Carry && read(d) > 1;
            if !movable || inst.dsts.iter().any(carries) || chain.len() > CHAIN {
                return None;
            }
            if !chain.contains(&d) {
                chain.push(d);
            }
        }
    }
    // A carry that stays may not lose its reader, nor one that goes its source.
    let whole = chain.iter().all(|&i| {
        let unread = |&d: &ValueId| {
            f.class(d) == Class::Carry
                && read(&d) > 0
                && !chain.iter().any(|&r| {
                    let mut found = false;
                    f.insts[r].for_uses(|v| found |= v == d);
                    found
                })
        };
        !f.insts[i].dsts.iter().any(unread)
    });
    whole.then_some(chain)
}
