//! Nested branches become one branch by the conjunction of their conditions.
//!
//! ```text
//! b0: if %p0 b1 b2 join b3                b0: set.lt pred s32 %p1 %r1 %r2
//! b1: set.lt pred s32 %p1 %r1 %r2             and pred %p9 %p0 %p1
//!     if %p1 b4 b5 join b5          ->        if %p9 b4 b5 join b5
//! b4: ...                                 b4: ...
//!     jump b5                                 jump b5
//! b5: jump b3(0)                          b5: sel u32 %r3 0 -1 %p0
//! b2: jump b3(-1)                             ...
//! b3(%r3): ...
//! ```
//!
//! That is what `if (a && b) .. else ..` looks like in every language. Each divergent branch costs SSY, BRA and what
//! its blocks wait for, and what the sides bring along costs a move; the comparisons become a chain through
//! predicates, and masks that say how the conditions went become predicates, too.
//!
//! Safe because what more lanes execute than before is pure.

use super::Ctx;
use super::cost::Walk;
use super::if_convert::speculates;
use super::rewrite::BlockCounts;
use crate::ir::*;

/// Instructions that lanes execute for which the first condition does not hold.
const MOST: u32 = 12;
/// What the sides may bring along that is not the same.
const CHOICES: usize = 2;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    if f.layout.len() < 5 {
        return false;
    }
    let mut joined = 0;
    // Of several, each time half as many are left.
    loop {
        let mut counts = BlockCounts::of(f);
        let before = joined;
        for n in (0..f.layout.len()).rev() {
            let b = f.layout[n];
            let Some(plan) = plan(f, b, &counts) else { continue };
            convert(f, b, plan, &mut counts);
            joined += 1;
        }
        if joined == before {
            break;
        }
        super::flow::run(f, ctx);
    }
    ctx.count("short_circuit: joined", joined);
    joined > 0
}

/// A branch to another branch.
struct Plan {
    /// The block of the inner branch, and the one behind the outer one's other side, if there is one.
    inner: BlockId,
    other: Option<BlockId>,
    /// Where the outer condition leads to the inner branch, and that to what it guards.
    conds: [Src; 2],
    guarded: BlockId,
    /// Where all meet that the inner branch parted, and its other edge's arguments.
    meet: BlockId,
    skipping: Vec<ValueId>,
    /// What goes on behind the outer branch from the inner one, and from its other side.
    join: BlockId,
    args: [Vec<ValueId>; 2],
}

/// A condition as an operand that holds where an edge of a branch is taken.
fn condition(cond: ValueId, not: bool, els: bool) -> Src {
    if not == els { Src::val(cond) } else { Src::val(cond).inv() }
}

fn plan(f: &Function, b: BlockId, counts: &BlockCounts) -> Option<Plan> {
    let Merge::If { join } = f.blocks[b].merge else { return None };
    let Term::Branch { cond, not, then, els } = &f.blocks[b].term else { return None };
    [(then, els, false), (els, then, true)].into_iter().find_map(|(to, past, is_els)| {
        let inner = to.to;
        let Merge::If { join: meet } = f.blocks[inner].merge else { return None };
        if counts.preds[inner] != 1 || !f.blocks[inner].params.is_empty() {
            return None;
        }
        // The outer branch's other side does nothing.
        let (other, from_other) = if past.to == join {
            (None, past)
        } else {
            let side = &f.blocks[past.to];
            let Term::Jump(e) = &side.term else { return None };
            let alone = counts.preds[past.to] == 1 && side.merge == Merge::None && side.params.is_empty();
            if !alone || e.to != join {
                return None;
            }
            (Some(past.to), e)
        };
        let Term::Branch { cond: inner_cond, not: inner_not, then, els } = &f.blocks[inner].term else {
            return None;
        };
        let (guarded, skip, skips_then) = match (then.to == meet, els.to == meet) {
            (false, true) => (then, els, false),
            (true, false) => (els, then, true),
            _ => return None,
        };
        let Term::Jump(behind) = &f.blocks[meet].term else { return None };
        let ends = behind.to == join && f.blocks[meet].merge == Merge::None;
        if counts.preds[meet] != 2 || !guarded.args.is_empty() || !ends || counts.preds[join] != 2 {
            return None;
        }
        let all = [Some(inner), other, Some(meet)];
        let mut length = 0;
        for &i in all.into_iter().flatten().flat_map(|b| &f.blocks[b].body) {
            let inst = &f.insts[i];
            length += Walk::length(inst);
            if inst.op.is(op::EFFECT) || !speculates(f, inst) || length > MOST {
                return None;
            }
        }
        let differ = || behind.args.iter().zip(&from_other.args).filter(|(x, y)| x != y);
        if differ().count() > CHOICES || differ().any(|(&x, _)| f.class(x) != Class::Gpr) {
            return None;
        }
        Some(Plan {
            inner,
            other,
            conds: [condition(*cond, *not, is_els), condition(*inner_cond, *inner_not, skips_then)],
            guarded: guarded.to,
            meet,
            skipping: skip.args.clone(),
            join,
            args: [behind.args.clone(), from_other.args.clone()],
        })
    })
}

fn convert(f: &mut Function, b: BlockId, plan: Plan, counts: &mut BlockCounts) {
    let Plan { inner, other, conds: [first, second], guarded, meet, skipping, join, args } = plan;
    for side in other.into_iter().chain([inner]) {
        let body = std::mem::take(&mut f.blocks[side].body);
        f.blocks[b].body.extend(body);
        f.blocks[side].merge = Merge::None;
        counts.preds[side] = 0;
    }
    let loc = f.blocks[inner].term_loc;
    f.blocks[inner].term = Term::Unreachable;
    if let Some(side) = other {
        f.blocks[side].term = Term::Unreachable;
    }
    let both = f.new_value(Class::Pred);
    let mut and = Inst::new(Op::And, Type::Pred).src(second).src(first).dst(both);
    and.loc = loc;
    f.append(b, and);
    // Who comes from where, as a choice.
    let [behind, past] = args;
    let mut chosen = Vec::with_capacity(behind.len());
    for (&x, &y) in behind.iter().zip(&past) {
        if x == y {
            chosen.push(x);
            continue;
        }
        let constant = |v: ValueId| {
            let mov = f.def_inst(v).filter(|d| d.op == Op::Mov && d.guard.is_none());
            mov.and_then(|d| d.srcs[0].as_imm()).map_or(Src::val(v), Src::imm)
        };
        let (x, y) = if first.mods.inv { (constant(y), constant(x)) } else { (constant(x), constant(y)) };
        let d = f.new_value(Class::Gpr);
        let mut cond = first;
        cond.mods.inv = false;
        let mut sel = Inst::new(Op::Sel, Type::U32).src(x).src(y).src(cond).dst(d);
        sel.loc = loc;
        f.append(meet, sel);
        chosen.push(d);
    }
    f.blocks[meet].term = Term::Jump(Edge { to: join, args: chosen });
    counts.preds[join] = 1;
    counts.named[join] -= 1;
    f.blocks[b].merge = Merge::If { join: meet };
    f.blocks[b].term_loc = loc;
    let els = Edge { to: meet, args: skipping };
    f.blocks[b].term = Term::Branch { cond: both, not: false, then: Edge::to(guarded), els };
}
