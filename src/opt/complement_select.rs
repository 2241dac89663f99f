//! Complementary selects: of two selects between the same two constants, in opposite order, by one
//! condition, the second is derived from the first by an exclusive or.
//!
//! ```text
//! sel u32 %r1 0x0 0x3f800000 %p0
//! sel u32 %r2 0x3f800000 0x0 %p0   ->  sel u32 %r2 0x3f800000 0x0 %p0
//!                                      xor u32 %r1 %r2 0x3f800000
//! ```
//!
//! Safe because `a ^ (a ^ b)` is `b`. The number of instructions stays, but the condition has one
//! reader less: if the choice that is left is one that a comparison gives by itself (`1.0` or `-1`,
//! else `0`), no predicate is needed. A condition that is a single comparison is left alone: that
//! one gives both numbers directly.

use super::Ctx;
use super::rewrite::{is_scalar, scalar_def};
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut found = 0;
    // The first choice by a key, and whether its larger constant is the one for a condition that
    // does not hold; nothing once it has its pair.
    let mut seen: FxHashMap<Key, Option<(InstId, bool)>> = FxHashMap::default();
    let mut choices: Vec<(InstId, Choice)> = Vec::new();
    let mut pairs: Vec<(InstId, InstId)> = Vec::new();
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        choices.clear();
        for &i in &f.blocks[b].body {
            let inst = &f.insts[i];
            if matches!(inst.op, Op::Sel | Op::Slct) {
                choices.extend(choice(f, inst).map(|c| (i, c)));
            }
        }
        if choices.len() < 2 {
            continue;
        }
        seen.clear();
        for (i, c) in &choices {
            let swapped = c.then < c.els;
            let (low, high) = if swapped { (c.then, c.els) } else { (c.els, c.then) };
            let entry = seen.entry((c.by, c.cond, c.sty, low, high)).or_insert(Some((*i, swapped)));
            if let Some((first, _)) = entry.take_if(|(_, order)| *order != swapped) {
                pairs.push((first, *i));
            }
        }
        if !pairs.is_empty() {
            found += pairs.len();
            derive(f, b, &pairs);
            pairs.clear();
        }
    }
    ctx.count("complement_select: derived", found);
    found > 0
}

/// What is chosen by: a value, the comparison that it is asked for, and the two constants, the
/// smaller first.
type Key = (ValueId, Cond, Type, u32, u32);

/// A choice between two different constants.
struct Choice {
    by: ValueId,
    /// The comparison with zero that `by` is asked for; `Ne` for predicates.
    cond: Cond,
    sty: Type,
    then: u32,
    els: u32,
}

/// What a `sel` or `slct` chooses, if that is between constants.
fn choice(f: &Function, inst: &Inst) -> Option<Choice> {
    if inst.ty == Type::Pred || !is_scalar(f, inst) {
        return None;
    }
    let arm = |n: usize| inst.srcs[n].as_imm().filter(|_| inst.srcs[n].mods == SrcMods::default());
    let (mut then, mut els) = (arm(0)?, arm(1)?);
    let selector = inst.srcs[2];
    let by = selector.as_val()?;
    if then == els || is_comparison(f, &selector) {
        return None;
    }
    let (mut cond, sty) = if inst.op == Op::Sel { (Cond::Ne, Type::Pred) } else { (inst.cond, inst.sty) };
    let mut flip = selector.mods.inv && inst.op == Op::Sel;
    if inst.op == Op::Slct {
        if !selector.is_plain_val() || sty.words() != 1 {
            return None;
        }
        // An integer is equal to zero or not.
        if !sty.is_float() && cond.ordered() == Cond::Eq {
            cond = Cond::Ne;
            flip = true;
        }
    }
    if flip {
        std::mem::swap(&mut then, &mut els);
    }
    Some(Choice { by, cond, sty, then, els })
}

/// Whether a condition is a single comparison of words; one that asks a mask whether it is zero is
/// what made the mask.
fn is_comparison(f: &Function, s: &Src) -> bool {
    let Some(d) = scalar_def(f, s).filter(|d| d.op == Op::Set && d.srcs.len() == 2) else { return false };
    let of_mask = d.ty == Type::Pred && d.compares_at_once() && d.srcs[1].as_imm() == Some(0);
    match scalar_def(f, &d.srcs[0]).filter(|_| of_mask) {
        Some(mask) if matches!(mask.op, Op::And | Op::Or | Op::Xor | Op::Not) => false,
        Some(mask) if mask.op == Op::Set => mask.srcs.len() == 2 && mask.compares_at_once(),
        _ => d.compares_at_once(),
    }
}

/// Makes one choice of each pair, in the order of the block, from the other. The one that is kept
/// is the one with zero as its second arm; if that is the later one, it moves up to the first.
fn derive(f: &mut Function, b: BlockId, pairs: &[(InstId, InstId)]) {
    let mut moved: FxHashMap<InstId, InstId> = FxHashMap::default();
    for &(first, later) in pairs {
        let Some(c) = choice(f, &f.insts[first]) else { continue };
        let (kept, derived) = if c.then == 0 { (later, first) } else { (first, later) };
        let mut xor = Inst::new(Op::Xor, Type::U32).src(f.insts[kept].dsts[0]).src(c.then ^ c.els);
        xor.dsts = f.insts[derived].dsts;
        xor.loc = f.insts[derived].loc;
        f.replace(derived, xor);
        if kept == later {
            moved.insert(first, later);
        }
    }
    if moved.is_empty() {
        return;
    }
    let gone: FxHashSet<InstId> = moved.values().copied().collect();
    let mut body = Vec::with_capacity(f.blocks[b].body.len());
    for &i in &f.blocks[b].body {
        body.extend(moved.get(&i));
        if !gone.contains(&i) {
            body.push(i);
        }
    }
    f.blocks[b].body = body;
}
