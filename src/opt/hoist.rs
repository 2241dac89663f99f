//! What both sides of a branch compute is computed in front of it.
//!
//! ```text
//! b0: if %p0 b1 b2 join b3          b0: mul f32 %r3 %r1 %r2
//! b1: mul f32 %r3 %r1 %r2               if %p0 b1 b2 join b3
//!     ..                        ->  b1: ..
//! b2: mul f32 %r4 %r2 %r1           b2: ..                        which reads %r3 instead of %r4
//! ```
//!
//! Of two equal instructions one is left, and the sides get shorter, which may let them be executed
//! by all lanes ([`super::if_convert`]). Inner branches come first, so that what all ends of a
//! chain of choices compute goes up to its beginning.
//!
//! Safe because every lane that comes to the branch takes one of the sides, and both do it: as in
//! [`super::gvn`], only pure operations move, and loads from memory that does not change. What
//! touches the carry stays, since something between might write it.

use super::Ctx;
use super::gvn::{Leader, Leaders, is_candidate, results};
use super::rewrite::{self, touches_carry};
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHashSet;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    if f.layout.len() < 4 {
        return false;
    }
    let mut preds: SecondaryMap<BlockId, u32> = f.block_table();
    for &b in &f.layout {
        f.blocks[b].term.successors().for_each(|s| preds[s] += 1);
    }
    let mut same: SecondaryMap<ValueId, PackedOption<ValueId>> = SecondaryMap::new();
    let mut found = 0;
    for n in (0..f.layout.len()).rev() {
        let b = f.layout[n];
        if let Some(sides) = sides(f, b, &preds) {
            found += hoist(f, b, sides, &mut same);
        }
    }
    if found > 0 {
        // What stands for a value may itself have gone, into a branch around.
        let leading = |mut v: ValueId| {
            while let Some(w) = same[v].expand() {
                v = w;
            }
            v
        };
        for n in 0..f.layout.len() {
            let block = &mut f.blocks[f.layout[n]];
            for &i in &block.body {
                f.insts[i].map_uses(leading);
            }
            block.term.map_uses(leading);
        }
    }
    ctx.count("hoist: shared", found);
    found > 0
}

/// The two sides of a branch, if nothing else comes to them.
fn sides(f: &Function, b: BlockId, preds: &SecondaryMap<BlockId, u32>) -> Option<[BlockId; 2]> {
    let (Merge::If { .. }, Term::Branch { then, els, .. }) = (&f.blocks[b].merge, &f.blocks[b].term) else {
        return None;
    };
    let alone = |s: BlockId| preds[s] == 1 && f.blocks[s].params.is_empty() && !f.blocks[s].body.is_empty();
    (then.to != els.to && alone(then.to) && alone(els.to)).then_some([then.to, els.to])
}

/// Moves what both sides compute to the end of the block before them; `same`: what is read instead
/// of the second side's.
fn hoist(
    f: &mut Function,
    b: BlockId,
    [first, second]: [BlockId; 2],
    same: &mut SecondaryMap<ValueId, PackedOption<ValueId>>,
) -> usize {
    let moves = |f: &Function, i: InstId| is_candidate(&f.insts[i], false) && !touches_carry(f, &f.insts[i]);
    let mut leaders = Leaders::new(f.blocks[first].body.len());
    for &i in &f.blocks[first].body {
        if moves(f, i) {
            let (hash, place) = leaders.entry(f, &f.insts[i]);
            if place.inst.is_none() {
                *place = Leader { hash, inst: i.into(), block: 0 };
            }
        }
    }
    let (mut shared, mut moving) = (Vec::new(), FxHashSet::default());
    let mut body = std::mem::take(&mut f.blocks[second].body);
    rewrite::retain(&mut body, 0, |i| {
        if !moves(f, i) {
            return true;
        }
        let leader = if shared.is_empty() {
            leaders.entry(f, &f.insts[i]).1.inst
        } else {
            let mut renamed = f.insts[i].clone();
            renamed.map_uses(|v| same[v].expand().unwrap_or(v));
            leaders.entry(f, &renamed).1.inst
        };
        let Some(leader) = leader.expand() else { return true };
        for (&gone, &kept) in results(&f.insts[i]).iter().zip(results(&f.insts[leader])) {
            same[gone] = kept.into();
            f.values[gone].def = Def::None;
        }
        // A text says of a side what holds where lanes take it.
        let (known, align) = (f.insts[i].known, f.insts[i].mem.map(|m| m.align));
        let kept = &mut f.insts[leader];
        kept.known = kept.known.common(known);
        if let (Some(m), Some(align)) = (&mut kept.mem, align) {
            m.align = m.align.common(align);
        }
        if moving.insert(leader) {
            shared.push(leader);
        }
        false
    });
    f.blocks[second].body = body;
    if !shared.is_empty() {
        f.blocks[first].body.retain(|i| !moving.contains(i));
        f.blocks[b].body.extend_from_slice(&shared);
    }
    shared.len()
}
