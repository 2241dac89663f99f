//! Loop-invariant code motion.
//!
//! ```text
//! b1(%r1): loop ...                   mul u32 %r3 %r0 %r2       (before the loop)
//!     mul u32 %r3 %r0 %r2     ->  b1(%r1): loop ...
//!     add u32 %r4 %r3 %r1             add u32 %r4 %r3 %r1
//! ```
//!
//! A pure operation whose operands are all defined outside a loop moves to the end of the block in front of its
//! header. Inner loops come first, so that an operation climbs as far as it can. A loop keeps its constants and
//! copies (they cost no register there until they are needed), and each loop gives up at most `MOST` results that
//! it reads, since each holds a register through the whole loop.
//!
//! Safe because pure operations cannot fault, so executing one that the loop might not have reached does no harm,
//! and its operands are defined in front of the loop, hence read nothing undefined that was not so before. Constant-buffer
//! words at fixed places count as pure. What depends on the set of active lanes, and carries, stay.

use super::Ctx;
use super::edit::{block_table, touches_carry};
use crate::analysis::cfg::Cfg;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Results moved out of one loop.
const MOST: usize = 12;

pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    if !f.layout.iter().any(|&b| matches!(f.blocks[b].merge, Merge::Loop { .. })) {
        return false;
    }
    let cfg = Cfg::new(f);
    let mut home: SecondaryMap<ValueId, PackedOption<BlockId>> = SecondaryMap::new();
    home.resize(f.values.len());
    for &b in &f.layout {
        f.blocks[b].params.iter().for_each(|&p| home[p] = b.into());
        for &i in &f.blocks[b].body {
            f.insts[i].for_defs(|v| home[v] = b.into());
        }
    }
    let mut headers: Vec<BlockId> = f.layout.iter().copied().filter(|&b| cfg.is_loop_header(b)).collect();
    headers.sort_by_key(|&h| std::cmp::Reverse(cfg.loop_depth(h)));
    let mut position: SecondaryMap<BlockId, usize> = block_table(f);
    for (n, &b) in f.layout.iter().enumerate() {
        position[b] = n;
    }
    let mut moved = 0;
    for h in headers {
        // The block in front: the only predecessor from outside, and it goes nowhere else.
        let mut outside = cfg.preds(h).iter().filter(|&&p| !cfg.in_loop(p, h));
        let (Some(&front), None) = (outside.next(), outside.next()) else { continue };
        if !matches!(f.blocks[front].term, Term::Jump(_)) {
            continue;
        }
        let mut count = 0;
        for n in position[h]..f.layout.len() {
            let b = f.layout[n];
            if !cfg.in_loop(b, h) {
                if let Merge::Loop { exit, .. } = f.blocks[h].merge
                    && exit == b
                {
                    break;
                }
                continue;
            }
            let invariant = |f: &Function, i: InstId| {
                let inst = &f.insts[i];
                let mut outside = worth_moving(f, inst);
                inst.for_uses(|v| outside &= home[v].expand().is_none_or(|d| !cfg.in_loop(d, h)));
                outside
            };
            if !f.blocks[b].body.iter().any(|&i| invariant(f, i)) {
                continue;
            }
            let body = std::mem::take(&mut f.blocks[b].body);
            let mut kept = Vec::with_capacity(body.len());
            for i in body {
                let inst = &f.insts[i];
                let mut moves = count < MOST && worth_moving(f, inst);
                inst.for_uses(|v| moves &= home[v].expand().is_none_or(|d| !cfg.in_loop(d, h)));
                if !moves {
                    kept.push(i);
                    continue;
                }
                inst.for_defs(|v| home[v] = front.into());
                f.blocks[front].body.push(i);
                count += 1;
            }
            f.blocks[b].body = kept;
        }
        moved += count;
    }
    ctx.count("licm: moved", moved);
    moved > 0
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
