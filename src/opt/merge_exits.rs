//! Two exits of a loop, one behind the other, become one.
//!
//! ```text
//!     if %p1 b4 b6 join b6                    set.gt pred u32 %p2 %r1 0x9
//! b4: jump b3(0)                              or pred %p3 %p1 %p2
//! b6: set.gt pred u32 %p2 %r1 0x9     ->      if %p3 b3 b9 join b9
//!     if %p2 b7 b9 join b9                b9: ...
//! b7: jump b3(1)                          b3: sel u32 %r4 0 1 %p1
//! b9: ...
//! b3(%r4): ...
//! ```
//!
//! Each exit costs an instruction that lanes leave by and a wait for its condition, in every round; and what
//! the exits bring along costs a move. The comparisons become a chain through predicates, and what was brought
//! follows from the first condition, behind the loop, where each lane has the one that it left with.
//!
//! Safe because what stands between the exits is pure: who has left by the first may compute it.

use super::Ctx;
use super::rewrite::{BlockCounts, touches_carry};
use crate::ir::*;
use cranelift_entity::EntitySet;

/// Instructions between the exits.
const BETWEEN: usize = 4;
/// What the exits may bring along that is not the same.
const CHOICES: usize = 2;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let is_header = |b: &BlockId| matches!(f.blocks[*b].merge, Merge::Loop { .. });
    if ctx.graphics || !f.layout.iter().any(is_header) {
        return false;
    }
    let mut exits = EntitySet::with_capacity(f.blocks.len());
    exits.extend(f.layout.iter().filter_map(|&b| match f.blocks[b].merge {
        Merge::Loop { exit, .. } => Some(exit),
        _ => None,
    }));
    let mut counts = BlockCounts::of(f);
    let mut merged = 0;
    for b in f.layout.clone() {
        while merge(f, b, &exits, &mut counts) {
            merged += 1;
        }
    }
    if merged > 0 {
        super::flow::run(f, ctx);
    }
    ctx.count("merge_exits: merged", merged);
    merged > 0
}

/// A branch with one side out of a loop.
struct Exit {
    to: BlockId,
    /// The block on the way, which does nothing.
    by: Option<BlockId>,
    args: Vec<Src>,
    /// Leaves where this holds, inverted or not.
    cond: Src,
    stay: BlockId,
}

fn exit(f: &Function, b: BlockId, exits: &EntitySet<BlockId>, counts: &BlockCounts) -> Option<Exit> {
    let Term::Branch { cond, not, then, els } = &f.blocks[b].term else { return None };
    let Merge::If { join } = f.blocks[b].merge else { return None };
    let (out, by_then) = match (then.to == join, els.to == join) {
        (true, false) => (els, false),
        (false, true) => (then, true),
        _ => return None,
    };
    let stay = if by_then { els } else { then };
    if !stay.args.is_empty() {
        return None;
    }
    let cond = if *not == by_then { Src::val(*cond).inv() } else { Src::val(*cond) };
    let plain = |args: &[ValueId]| args.iter().map(|&a| Src::val(a)).collect();
    if exits.contains(out.to) {
        return Some(Exit { to: out.to, by: None, args: plain(&out.args), cond, stay: join });
    }
    let by = &f.blocks[out.to];
    let alone = counts.preds[out.to] == 1 && counts.named[out.to] == 0 && by.merge == Merge::None;
    let Term::Jump(e) = &by.term else { return None };
    if !alone || !by.params.is_empty() || !exits.contains(e.to) {
        return None;
    }
    let number = |i: InstId| {
        let inst = &f.insts[i];
        let word = inst.op == Op::Mov && inst.guard.is_none();
        let d = *inst.dsts.first().filter(|&&d| word && f.class(d) == Class::Gpr)?;
        Some((d, inst.srcs[0].as_imm()?))
    };
    let numbers: Vec<(ValueId, u32)> = by.body.iter().map(|&i| number(i)).collect::<Option<_>>()?;
    let of = |a: ValueId| numbers.iter().find(|n| n.0 == a).map_or(Src::val(a), |n| Src::imm(n.1));
    let args = e.args.iter().map(|&a| of(a)).collect();
    Some(Exit { to: e.to, by: Some(out.to), args, cond, stay: join })
}

/// Merges the exit that a block ends in with the next one.
fn merge(f: &mut Function, b: BlockId, exits: &EntitySet<BlockId>, counts: &mut BlockCounts) -> bool {
    let Some(first) = exit(f, b, exits, counts) else { return false };
    let next = first.stay;
    let own = counts.preds[next] == 1 && counts.named[next] == 1 && f.blocks[next].params.is_empty();
    let between = |&i: &InstId| {
        let inst = &f.insts[i];
        inst.is_pure()
            && inst.guard.is_none()
            && inst.ext.is_none()
            && !touches_carry(f, inst)
            && !matches!(inst.op, Op::Div | Op::Mod | Op::Sqrt)
    };
    let body = &f.blocks[next].body;
    if !own || next == first.to || body.len() > BETWEEN || !body.iter().all(between) {
        return false;
    }
    let Some(second) = exit(f, next, exits, counts).filter(|s| s.to == first.to) else { return false };
    let x = first.to;
    let differ: Vec<usize> = (0..first.args.len()).filter(|&k| first.args[k] != second.args[k]).collect();
    let words = differ.iter().all(|&k| f.class(f.blocks[x].params[k]) == Class::Gpr);
    // The choice is made where nobody else comes.
    let ours = counts.preds[x] == 2;
    if differ.len() > CHOICES || !words || !differ.is_empty() && !ours {
        return false;
    }
    let mut args = Vec::new();
    if ours {
        let params = std::mem::take(&mut f.blocks[x].params);
        let made: Vec<InstId> = params
            .iter()
            .enumerate()
            .map(|(k, &p)| {
                let (a, c) = (first.args[k], second.args[k]);
                let mut inst = match differ.contains(&k) {
                    // A select takes no inverted condition.
                    true if first.cond.mods.inv => choice(p, c, a, first.cond.inv()),
                    true => choice(p, a, c, first.cond),
                    false => Inst::new(Op::Mov, f.class(p).move_type()).src(a).dst(p),
                };
                inst.loc = f.blocks[b].term_loc;
                f.make(inst)
            })
            .collect();
        f.blocks[x].body.splice(0..0, made);
    } else if let Term::Branch { then, els, .. } = &f.blocks[b].term {
        let out = if then.to == next { els } else { then };
        let by = first.by.and_then(|t| f.blocks[t].term.edges().next());
        args = by.unwrap_or(out).args.clone();
    }
    let body = std::mem::take(&mut f.blocks[next].body);
    f.blocks[b].body.extend(body);
    let any = f.new_value(Class::Pred);
    let mut or = Inst::new(Op::Or, Type::Pred).src(first.cond).src(second.cond).dst(any);
    or.loc = f.blocks[next].term_loc;
    f.append(b, or);
    // On the way out of a loop that others leave as well, what was made on the way is still made.
    let out = match first.by.filter(|_| !ours) {
        Some(by) => Edge::to(by),
        None => Edge { to: x, args },
    };
    let stay = Edge::to(second.stay);
    f.blocks[b].term = Term::Branch { cond: any, not: false, then: out, els: stay };
    f.blocks[b].merge = f.blocks[next].merge;
    for gone in [Some(next), second.by, first.by.filter(|_| ours)].into_iter().flatten() {
        let block = &mut f.blocks[gone];
        (block.term, block.merge) = (Term::Unreachable, Merge::None);
    }
    counts.preds[next] = 0;
    counts.named[next] = 0;
    counts.preds[x] -= 1;
    true
}

fn choice(p: ValueId, yes: Src, no: Src, cond: Src) -> Inst {
    Inst::new(Op::Sel, Type::U32).src(yes).src(no).src(cond).dst(p)
}
