//! Control flow clean-up: branches that are decided, blocks that cannot be reached, jumps to jumps,
//! and blocks that are one in truth.
//!
//! ```text
//! b0: mov pred %p0 0x1
//!     if %p0 b1 b2 join b3    ->  jump b1             b2 is gone
//! b1: jump b3(%r1)
//! b4: jump b5                 ->  (b5's code stands in b4)
//! b5: ...
//! ```
//!
//! The structure stays valid. A branch that is none any more has no join. A block that a construct
//! names (join, exit, continue) is never joined with another nor threaded through: lanes wait
//! there. A loop whose continue block cannot be reached is a region that is left early; if control
//! leaves it in one place only, it is no construct. What ends a construct stays where it is though
//! nobody can get there, as an empty block: without it, nobody could tell what is inside. An `if`
//! has no construct only when it has no arms either, since both edges leave a loop.
//!
//! Safe because only blocks that no edge reaches are removed, and a block with a single predecessor
//! that goes nowhere else runs exactly after it.

use super::Ctx;
use super::rewrite::map_uses;
use crate::ir::*;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut changed = 0;
    if f.layout.len() == 1 {
        return false;
    }
    // Each round can only uncover what the one before left; all but contrived inputs need one or
    // two.
    for _ in 0..4 {
        let mut round = decide(f);
        round += thread(f);
        round += remove_unreachable(f);
        round += join_blocks(f);
        changed += round;
        if round == 0 {
            break;
        }
    }
    ctx.count("flow: changes", changed);
    changed > 0
}

/// The constant that a predicate is, if its definition says so.
fn constant(f: &Function, v: ValueId) -> Option<bool> {
    let d = f.def_inst(v)?;
    let s = d.srcs.first()?;
    match s.kind {
        SrcKind::Imm(x) if d.op == Op::Mov && d.guard.is_none() => Some((x != 0) != s.mods.inv),
        _ => None,
    }
}

/// Branches whose condition is constant or whose edges are the same become jumps; conditions that
/// are the negation of another are exchanged for it.
fn decide(f: &mut Function) -> usize {
    let mut changed = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        while let Term::Branch { cond, not, .. } = f.blocks[b].term
            && let Some(d) = f.def_inst(cond)
            && d.op == Op::Mov
            && d.guard.is_none()
            && let Some(v) = d.srcs[0].as_val()
            && f.values[v].class == Class::Pred
        {
            let flip = d.srcs[0].mods.inv;
            if let Term::Branch { cond, not: n, .. } = &mut f.blocks[b].term {
                (*cond, *n) = (v, not != flip);
            }
            changed += 1;
        }
        let Term::Branch { cond, not, then, els } = &f.blocks[b].term else { continue };
        let edge = match constant(f, *cond) {
            Some(c) if c != *not => then.clone(),
            Some(_) => els.clone(),
            None if then == els => then.clone(),
            None => continue,
        };
        let block = &mut f.blocks[b];
        block.term = Term::Jump(edge);
        if matches!(block.merge, Merge::If { .. }) {
            block.merge = Merge::None;
        }
        changed += 1;
    }
    changed
}

/// Blocks that constructs name.
fn named(f: &Function) -> EntitySet<BlockId> {
    let mut set = EntitySet::with_capacity(f.blocks.len());
    for &b in &f.layout {
        let mut m = f.blocks[b].merge;
        m.blocks_mut().for_each(|&mut t| {
            set.insert(t);
        });
    }
    set
}

/// Edges into blocks that do nothing but jump on go there directly.
fn thread(f: &mut Function) -> usize {
    let named = named(f);
    let empty = |f: &Function, b: BlockId| {
        let block = &f.blocks[b];
        block.body.is_empty()
            && block.params.is_empty()
            && block.merge == Merge::None
            && !named.contains(b)
            && matches!(&block.term, Term::Jump(e) if e.to != b)
    };
    let mut changed = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        let mut term = std::mem::replace(&mut f.blocks[b].term, Term::Unreachable);
        for e in term.edges_mut() {
            // Empty blocks may form a ring, which the bound leaves alone.
            for _ in 0..16 {
                if e.to == b || !empty(f, e.to) {
                    break;
                }
                if let Term::Jump(next) = &f.blocks[e.to].term {
                    *e = next.clone();
                    changed += 1;
                }
            }
        }
        f.blocks[b].term = term;
    }
    changed
}

fn remove_unreachable(f: &mut Function) -> usize {
    let mut reached = EntitySet::with_capacity(f.blocks.len());
    let mut worklist = vec![f.entry()];
    reached.insert(f.entry());
    while let Some(b) = worklist.pop() {
        worklist.extend(f.blocks[b].term.successors().filter(|&s| reached.insert(s)));
    }
    if f.layout.iter().all(|&b| reached.contains(b)) {
        return dissolve_regions(f);
    }
    // Ends of constructs stay as places that are never reached.
    let mut kept = EntitySet::with_capacity(f.blocks.len());
    let mut removed = 0;
    let mut loops = OpenLoops::default();
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        if !reached.contains(b) {
            loops.enter(b, Merge::None);
            continue;
        }
        if let Merge::Loop { cont, .. } = &mut f.blocks[b].merge
            && !reached.contains(*cont)
        {
            *cont = b;
            removed += 1;
        }
        loops.enter(b, f.blocks[b].merge);
        let block = &mut f.blocks[b];
        match &mut block.merge {
            Merge::If { join } => {
                let join = *join;
                let armless = block.term.successors().all(|s| loops.left_by(s));
                if armless && !reached.contains(join) {
                    block.merge = Merge::None;
                    removed += 1;
                } else {
                    kept.insert(join);
                }
            }
            Merge::Loop { exit, .. } => {
                kept.insert(*exit);
            }
            Merge::None => {}
        }
    }
    let layout = std::mem::take(&mut f.layout);
    for &b in &layout {
        if reached.contains(b) {
            f.layout.push(b);
            continue;
        }
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            let values = &mut f.values;
            f.insts[i].for_defs(|v| values[v].def = Def::None);
        }
        let block = &mut f.blocks[b];
        for p in block.params.drain(..) {
            f.values[p].def = Def::None;
        }
        removed += (!kept.contains(b) || !block.body.is_empty() || block.term != Term::Unreachable) as usize;
        block.body.clear();
        block.term = Term::Unreachable;
        block.merge = Merge::None;
        if kept.contains(b) {
            f.layout.push(b);
        }
    }
    removed + dissolve_regions(f)
}

/// Loop constructs without a back edge, left in one place at their own level, are none. If a branch
/// leaves there, its other side is the whole rest of the region, which never comes to where the
/// region ends: an arm of an `if` that meets nobody there.
fn dissolve_regions(f: &mut Function) -> usize {
    if !f.layout.iter().any(|&b| matches!(f.blocks[b].merge, Merge::Loop { .. })) {
        return 0;
    }
    let around = constructs(f);
    let mut position: SecondaryMap<BlockId, u32> = f.block_table();
    for (n, &b) in f.layout.iter().enumerate() {
        position[b] = n as u32;
    }
    let mut incoming: SecondaryMap<BlockId, (u32, PackedOption<BlockId>)> = f.block_table();
    // Headers that something goes back to.
    let mut repeated = EntitySet::with_capacity(f.blocks.len());
    for &b in &f.layout {
        for s in f.blocks[b].term.successors() {
            incoming[s].0 += 1;
            incoming[s].1 = b.into();
            if position[s] <= position[b] {
                repeated.insert(s);
            }
        }
    }
    let mut changed = 0;
    for n in 0..f.layout.len() {
        let h = f.layout[n];
        let Merge::Loop { exit, cont } = f.blocks[h].merge else { continue };
        if repeated.contains(h) {
            continue;
        }
        let in_region = |b: BlockId| around[b].expand() == Some(h) || b == h;
        let jumps = |b: BlockId| matches!(f.blocks[b].term, Term::Jump(_));
        // Without a back edge nothing may count on the continue block being where lanes gather,
        // unless it is the header.
        let straight = match incoming[cont] {
            _ if cont == h => true,
            (0, _) => true,
            (1, from) => from.expand().is_some_and(|p| in_region(p) && jumps(p)),
            _ => false,
        };
        let left = match incoming[exit] {
            (0, _) => None,
            (1, from) if from.expand().is_some_and(in_region) => from.expand(),
            _ => continue,
        };
        if !straight {
            continue;
        }
        let branch = left.filter(|&p| !jumps(p));
        f.blocks[h].merge = Merge::None;
        if let Some(p) = branch {
            f.blocks[p].merge = Merge::If { join: exit };
        }
        changed += 1;
    }
    changed
}

/// The header of the innermost construct around each block (a header lies in what is around its own
/// construct).
pub(super) fn constructs(f: &Function) -> SecondaryMap<BlockId, PackedOption<BlockId>> {
    let mut around = f.block_table();
    let mut open: Vec<(BlockId, BlockId)> = Vec::new();
    for &b in &f.layout {
        while open.last().is_some_and(|o| o.1 == b) {
            open.pop();
        }
        around[b] = open.last().map(|o| o.0).into();
        match f.blocks[b].merge {
            Merge::None => {}
            Merge::If { join } => open.push((b, join)),
            Merge::Loop { exit, .. } => open.push((b, exit)),
        }
    }
    around
}

/// A block whose only successor has no other predecessor takes its code.
fn join_blocks(f: &mut Function) -> usize {
    let named = named(f);
    let mut preds: SecondaryMap<BlockId, u32> = f.block_table();
    for &b in &f.layout {
        f.blocks[b].term.successors().for_each(|s| preds[s] += 1);
    }
    let mut gone: EntitySet<BlockId> = EntitySet::with_capacity(f.blocks.len());
    let mut copies: Option<SecondaryMap<ValueId, PackedOption<ValueId>>> = None;
    let mut joined = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        if gone.contains(b) {
            continue;
        }
        while let Term::Jump(e) = &f.blocks[b].term {
            let s = e.to;
            if preds[s] != 1 || named.contains(s) || s == b || gone.contains(s) {
                break;
            }
            // A loop's header may not become the header of an `if` as well.
            if f.blocks[b].merge != Merge::None && f.blocks[s].merge != Merge::None {
                break;
            }
            let args = e.args.clone();
            let next = std::mem::replace(
                &mut f.blocks[s],
                Block {
                    params: Vec::new(),
                    body: Vec::new(),
                    term: Term::Unreachable,
                    term_loc: Loc::default(),
                    merge: Merge::None,
                },
            );
            if !next.params.is_empty() {
                let copies = copies.get_or_insert_default();
                for (&p, &a) in next.params.iter().zip(&args) {
                    let a = copies.get(a).and_then(|c| c.expand()).unwrap_or(a);
                    copies[p] = a.into();
                    f.values[p].def = Def::None;
                }
            }
            let block = &mut f.blocks[b];
            block.body.extend_from_slice(&next.body);
            block.term = next.term;
            block.term_loc = next.term_loc;
            if next.merge != Merge::None {
                block.merge = next.merge;
            }
            gone.insert(s);
            joined += 1;
        }
    }
    if joined > 0 {
        f.layout.retain(|&b| !gone.contains(b));
        if let Some(copies) = copies {
            // An argument may be a parameter that was itself replaced later: follow the chain.
            let last = |mut v: ValueId| {
                while let Some(w) = copies.get(v).and_then(|c| c.expand()) {
                    v = w;
                }
                v
            };
            map_uses(f, last);
        }
    }
    joined
}
