//! Loop-invariant code motion.
//!
//! ```text
//! b1(%r1): loop ...                   mul u32 %r3 %r0 %r2       (before the loop)
//!     mul u32 %r3 %r0 %r2     ->  b1(%r1): loop ...
//!     add u32 %r4 %r3 %r1             add u32 %r4 %r3 %r1
//! ```
//!
//! A pure operation whose operands are all defined outside a loop moves to the end of the block in
//! front of its header. Inner loops come first, so that an operation climbs as far as it can. A
//! loop keeps its constants and copies (they cost no register there until they are needed, and
//! [`super::loop_constants`] comes later), and
//! each loop gives up at most `MOST` results that it reads, since each holds a register through the
//! whole loop.
//!
//! Safe because pure operations cannot fault, so executing one that the loop might not have reached
//! does no harm, and its operands are defined in front of the loop, hence read nothing undefined
//! that was not so before. Constant-buffer words at fixed places count as pure. What depends on the
//! set of active lanes, and carries, stay.

use super::Ctx;
use super::rewrite::touches_carry;
use crate::analysis::cfg::{Cfg, LoopTree};
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Results moved out of one loop.
const MOST: usize = 12;

/// Blocks up to which a loop that gave up so much is looked at again by the loop around: nests may
/// be deep.
const FEW: usize = 64;

/// The block of each value's definition.
type Homes = SecondaryMap<ValueId, PackedOption<BlockId>>;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    if !f.layout.iter().any(|&b| matches!(f.blocks[b].merge, Merge::Loop { .. })) {
        return false;
    }
    let cfg = Cfg::new(f);
    let mut home: Homes = SecondaryMap::new();
    home.resize(f.values.len());
    for &b in &f.layout {
        f.blocks[b].params.iter().for_each(|&p| home[p] = b.into());
        for &i in &f.blocks[b].body {
            f.insts[i].for_defs(|v| home[v] = b.into());
        }
    }
    let mut headers: Vec<BlockId> = f.layout.iter().copied().filter(|&b| cfg.is_loop_header(b)).collect();
    headers.sort_by_key(|&h| std::cmp::Reverse(cfg.loop_depth(h)));
    let mut position: SecondaryMap<BlockId, usize> = f.block_table();
    for (n, &b) in f.layout.iter().enumerate() {
        position[b] = n;
    }
    let tree = cfg.loop_tree();
    // Blocks of each loop that may hold something to move, in the order of the layout. Those of an
    // inner loop are done with when it has been looked at: what does not change in a loop changes
    // in no loop inside it either. If a loop keeps something because it has given up enough, the
    // loop around looks at that again.
    let mut blocks: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
    for &b in &f.layout {
        if let Some(h) = cfg.loop_header(b) {
            blocks[h].push(b);
        }
    }
    // Loops inside each of which that is not so: that have given up enough, or have no place in
    // front of them.
    let mut left: SecondaryMap<BlockId, Vec<BlockId>> = SecondaryMap::new();
    let mut moved = 0;
    for h in headers {
        let Some(front) = front(f, &cfg, &tree, h) else {
            if let Some(outer) = cfg.parent_loop(h) {
                left[outer].push(h);
            }
            continue;
        };
        let mut scanned = std::mem::take(&mut blocks[h]);
        let mut inner = std::mem::take(&mut left[h]);
        if !inner.is_empty() {
            while let Some(l) = inner.pop() {
                scanned.append(&mut blocks[l]);
                inner.append(&mut left[l]);
            }
            scanned.sort_by_key(|&b| position[b]);
        }
        let mut count = 0;
        for &b in &scanned {
            let moves = |f: &Function, home: &Homes, i: InstId| {
                let inst = &f.insts[i];
                let mut moves = worth_moving(f, inst);
                inst.for_uses(|v| moves &= home[v].expand().is_none_or(|d| !tree.contains(h, d)));
                moves
            };
            if !f.blocks[b].body.iter().any(|&i| moves(f, &home, i)) {
                continue;
            }
            let body = std::mem::take(&mut f.blocks[b].body);
            let mut kept = Vec::with_capacity(body.len());
            for i in body {
                if count == MOST || !moves(f, &home, i) {
                    kept.push(i);
                    continue;
                }
                f.insts[i].for_defs(|v| home[v] = front.into());
                f.blocks[front].body.push(i);
                count += 1;
            }
            f.blocks[b].body = kept;
            if count == MOST {
                break;
            }
        }
        moved += count;
        if count == MOST
            && scanned.len() <= FEW
            && let Some(outer) = cfg.parent_loop(h)
        {
            blocks[h] = scanned;
            left[outer].push(h);
        }
    }
    ctx.count("licm: moved", moved);
    moved > 0
}

/// The block in front of a loop: the only predecessor from outside, and it goes nowhere else.
pub(super) fn front(f: &Function, cfg: &Cfg, tree: &LoopTree<'_>, h: BlockId) -> Option<BlockId> {
    let mut outside = cfg.preds(h).iter().filter(|&&p| !tree.contains(h, p));
    match (outside.next(), outside.next()) {
        (Some(&front), None) => Some(front).filter(|&b| matches!(f.blocks[b].term, Term::Jump(_))),
        _ => None,
    }
}

fn worth_moving(f: &Function, inst: &Inst) -> bool {
    if inst.guard.is_some() || inst.ext.is_some() || inst.dsts.is_empty() || touches_carry(f, inst) {
        return false;
    }
    match inst.op {
        // These are operands, not instructions, where they are read.
        Op::Mov | Op::Pcopy | Op::Undef | Op::Ld => false,
        Op::Set if inst.ty == Type::Pred => false,
        _ => inst.is_pure() && inst.dsts.iter().all(|&d| f.class(d) == Class::Gpr),
    }
}
