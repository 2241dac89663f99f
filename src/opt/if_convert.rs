//! If-conversion: short sides of a branch are executed by all lanes, with `sel` to choose results and guards on what
//! has effects.
//!
//! ```text
//! b0: if %p0 b1 b2 join b3                b0: add u32 %r4 %r1 0x1
//! b1: add u32 %r4 %r1 0x1                     @%p0 st u32 # g[%r5+0x0] %r4
//!     st u32 # g[%r5+0x0] %r4      ->         sel u32 %r6 %r4 %r2 %p0
//!     jump b3(%r4)                            jump b3
//! b2: jump b3(%r2)
//! b3(%r6): ...
//! ```
//!
//! A divergent branch costs about four instructions (SSY, BRA, the `.S` that is not free, the jump over the other
//! side) and issue slots on both sides anyway, so up to `LIMIT` weighted operations are cheaper without it.
//!
//! Safe because what is executed speculatively are pure operations, which cannot fault, on values that dominate the
//! branch or were computed on the same side. Loads are not speculated: a guarded load leaves its destination
//! undefined, and the `sel` after it would read a register that nothing has written. An operation that reads other
//! lanes, a barrier, a call, a carry is left where it is, and so is its branch. An argument that is undefined gives
//! way to the other.

use super::Ctx;
use super::edit::{block_table, touches_carry};
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Cost up to which both sides together are converted, in operations at the addition's rate.
const LIMIT: u32 = 12;

pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    if f.layout.len() < 2 {
        return false;
    }
    let mut counts = Counts { preds: block_table(f), named: block_table(f) };
    for &b in &f.layout {
        f.blocks[b].term.successors().for_each(|s| counts.preds[s] += 1);
        let mut merge = f.blocks[b].merge;
        merge.blocks_mut().for_each(|&mut t| counts.named[t] += 1);
    }
    let mut converted = 0;
    // Inner constructs come later in the layout: from the back, they are straight code when the outer one is looked at.
    for n in (0..f.layout.len()).rev() {
        let b = f.layout[n];
        let Some(plan) = plan(f, b, &counts.preds) else { continue };
        convert(f, b, &plan, &mut counts);
        converted += 1;
    }
    if converted > 0 {
        super::flow::run(f, ctx);
    }
    ctx.count("if_convert: converted", converted);
    converted > 0
}

/// Edges into each block, and constructs that name it.
struct Counts {
    preds: SecondaryMap<BlockId, u32>,
    named: SecondaryMap<BlockId, u32>,
}

/// A branch that can go.
struct Plan {
    cond: ValueId,
    not: bool,
    join: BlockId,
    /// The block of each side; none where the edge goes to the join directly.
    sides: [Option<BlockId>; 2],
    /// Arguments for the join from each side.
    args: [Vec<ValueId>; 2],
}

fn plan(f: &Function, b: BlockId, preds: &SecondaryMap<BlockId, u32>) -> Option<Plan> {
    let Merge::If { join } = f.blocks[b].merge else { return None };
    let Term::Branch { cond, not, then, els } = &f.blocks[b].term else { return None };
    let mut plan = Plan { cond: *cond, not: *not, join, sides: [None; 2], args: [Vec::new(), Vec::new()] };
    let mut cost = 0;
    for (k, e) in [then, els].into_iter().enumerate() {
        if e.to == join {
            plan.args[k] = e.args.clone();
            continue;
        }
        let side = &f.blocks[e.to];
        if preds[e.to] != 1 || side.merge != Merge::None || !side.params.is_empty() {
            return None;
        }
        let Term::Jump(out) = &side.term else { return None };
        if out.to != join {
            return None;
        }
        plan.sides[k] = Some(e.to);
        plan.args[k] = out.args.clone();
        for &i in &side.body {
            cost += cost_of(f, &f.insts[i])?;
            if cost > LIMIT {
                return None;
            }
        }
    }
    // The join must be reached from here alone, or its other edges must be this construct's: breaks out of an inner
    // construct do not come here.
    if preds[join] != 2 {
        return None;
    }
    let choices = (0..plan.args[0].len()).filter(|&n| plan.args[0][n] != plan.args[1][n]).count();
    let undefined = |v: ValueId| f.def_inst(v).is_some_and(|d| d.op == Op::Undef);
    let real = (0..plan.args[0].len())
        .filter(|&n| {
            let (x, y) = (plan.args[0][n], plan.args[1][n]);
            x != y && !undefined(x) && !undefined(y)
        })
        .count();
    let predicates = (0..plan.args[0].len())
        .any(|n| plan.args[0][n] != plan.args[1][n] && f.class(plan.args[0][n]) == Class::Pred);
    (cost + real as u32 <= LIMIT && choices <= 8 && !predicates).then_some(plan)
}

/// What executing it in all lanes costs; `None` if it cannot be.
fn cost_of(f: &Function, inst: &Inst) -> Option<u32> {
    if inst.ext.is_some() || touches_carry(f, inst) {
        return None;
    }
    if inst.guard.is_some() {
        // Two guards do not fit.
        return None;
    }
    let heavy = matches!(
        inst.op,
        Op::Mul
            | Op::MulZ
            | Op::MulHi
            | Op::Mad
            | Op::MadHi
            | Op::Rcp
            | Op::Rsq
            | Op::Sin
            | Op::Cos
            | Op::Ex2
            | Op::Lg2
            | Op::Div
            | Op::Mod
            | Op::Sqrt
    ) && (!inst.ty.is_float() || !matches!(inst.op, Op::Mul | Op::Mad));
    match inst.op {
        Op::St => Some(2),
        Op::Atom if inst.dsts.is_empty() => Some(2),
        Op::Ld => {
            let m = inst.mem.as_ref()?;
            // A constant-buffer word at a fixed place cannot fault.
            (m.space == Space::Const && m.index.is_none() && m.base().is_empty()).then_some(1)
        }
        Op::Undef => Some(0),
        Op::Div | Op::Mod | Op::Sqrt => None,
        _ if !inst.is_pure() => None,
        _ if matches!(inst.ty, Type::F64 | Type::U64 | Type::S64) => Some(4),
        _ => Some(if heavy { 4 } else { 1 }),
    }
}

fn convert(f: &mut Function, b: BlockId, plan: &Plan, counts: &mut Counts) {
    for (k, side) in plan.sides.iter().enumerate() {
        let Some(side) = *side else { continue };
        let body = std::mem::take(&mut f.blocks[side].body);
        for &i in &body {
            let inst = &mut f.insts[i];
            if inst.op.is(op::EFFECT) {
                inst.guard = Some(Guard { pred: plan.cond, not: plan.not != (k == 1) });
            }
        }
        f.blocks[b].body.extend_from_slice(&body);
        f.blocks[side].term = Term::Unreachable;
        counts.preds[side] = 0;
    }
    let undefined = |f: &Function, v: ValueId| f.def_inst(v).is_some_and(|d| d.op == Op::Undef);
    let mut args = Vec::with_capacity(plan.args[0].len());
    for (&x, &y) in plan.args[0].iter().zip(&plan.args[1]) {
        if x == y || undefined(f, y) {
            args.push(x);
        } else if undefined(f, x) {
            args.push(y);
        } else {
            let (x, y) = if plan.not { (y, x) } else { (x, y) };
            let d = f.new_value(Class::Gpr);
            let mut sel = Inst::new(Op::Sel, Type::U32).src(x).src(y).src(plan.cond).dst(d);
            sel.loc = f.blocks[b].term_loc;
            f.append(b, sel);
            args.push(d);
        }
    }
    f.blocks[b].merge = Merge::None;
    f.blocks[b].term = Term::Jump(Edge { to: plan.join, args });
    counts.preds[plan.join] = 1;
    counts.named[plan.join] -= 1;
    // The join's code belongs to this block from now on, so that the next outer branch sees one block. Nobody converts
    // a branch around more than the limit: longer code stays where it is, or each of many branches would move it.
    let short = f.blocks[plan.join].body.len() <= 2 * LIMIT as usize;
    if short && counts.named[plan.join] == 0 && f.blocks[plan.join].merge == Merge::None {
        absorb(f, b, plan.join);
        counts.preds[plan.join] = 0;
    }
}

/// Appends a block's code to its only predecessor.
fn absorb(f: &mut Function, b: BlockId, s: BlockId) {
    let Term::Jump(e) = &f.blocks[b].term else { return };
    let args = e.args.clone();
    let params = std::mem::take(&mut f.blocks[s].params);
    // A parameter stays a value of its own, defined by a copy.
    for (&p, &a) in params.iter().zip(&args) {
        let ty = if f.class(p) == Class::Pred { Type::Pred } else { Type::U32 };
        f.append(b, Inst::new(Op::Mov, ty).src(a).dst(p));
    }
    let body = std::mem::take(&mut f.blocks[s].body);
    f.blocks[b].body.extend_from_slice(&body);
    f.blocks[b].term = std::mem::replace(&mut f.blocks[s].term, Term::Unreachable);
    f.blocks[b].term_loc = f.blocks[s].term_loc;
}
