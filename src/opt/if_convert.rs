//! If-conversion: short sides of a branch are executed by all lanes, with `sel` to choose results
//! and guards on what has effects.
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
//! A divergent branch costs SSY, BRA and a `.S` that is not free, what its block and each side wait
//! for before it, and both sides anyway where some lanes go each way. Without it, both sides cost
//! their instructions always, and the choices. Which is less is estimated (`opt/cost.rs`): the
//! fewer warps there are, the more waiting counts.
//!
//! Safe because what is executed speculatively are pure operations, which cannot fault, on values
//! that dominate the branch or were computed on the same side. Loads are not speculated: a guarded
//! load leaves its destination undefined, and the `sel` after it would read a register that nothing
//! has written. An operation that reads other lanes, a barrier, a call, a carry is left where it
//! is, and so is its branch. An argument that is undefined gives way to the other.

use super::Ctx;
use super::cost::{Alive, BETWEEN, Cost, Walk, warps_of_scheduler};
use super::rewrite::{BlockCounts, touches_carry};
use crate::chip::Chip;
use crate::ir::*;
use crate::isa::{self, latency};
use cranelift_entity::SecondaryMap;

/// Instructions of both sides together above which nothing is converted.
const MOST: u32 = 32;
/// The same, choices included, where registers decide how many warps there are: values of both
/// sides live at once.
const CROWDED: u32 = 12;
/// Instructions of a divergent branch.
const BRANCH: u32 = 3;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    if f.layout.len() < 2 {
        return false;
    }
    let mut counts = BlockCounts::of(f);
    let mut converted = 0;
    let most = ctx.warps.min(ctx.chip.most_warps());
    let mut warps = Warps { chip: ctx.chip, most, alive: None, walk: Walk::of_function(f) };
    // Inner constructs come later in the layout: from the back, they are straight code when the
    // outer one is looked at.
    for n in (0..f.layout.len()).rev() {
        let b = f.layout[n];
        let Some(plan) = plan(f, b, &counts.preds, &mut warps) else { continue };
        convert(f, b, &plan, &mut counts);
        converted += 1;
    }
    if converted > 0 {
        super::flow::run(f, ctx);
    }
    ctx.count("if_convert: converted", converted);
    converted > 0
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

fn plan(f: &Function, b: BlockId, preds: &SecondaryMap<BlockId, u32>, warps: &mut Warps) -> Option<Plan> {
    let Merge::If { join } = f.blocks[b].merge else { return None };
    let Term::Branch { cond, not, then, els } = &f.blocks[b].term else { return None };
    // The join must be reached from here alone, or its other edges must be this construct's: breaks
    // out of an inner construct do not come here.
    if preds[join] != 2 {
        return None;
    }
    let mut plan = Plan { cond: *cond, not: *not, join, sides: [None; 2], args: [Vec::new(), Vec::new()] };
    let mut out = [then, els];
    for (side, e) in plan.sides.iter_mut().zip(&mut out) {
        if e.to == join {
            continue;
        }
        let block = &f.blocks[e.to];
        if preds[e.to] != 1 || block.merge != Merge::None || !block.params.is_empty() {
            return None;
        }
        *side = Some(e.to);
        match &block.term {
            Term::Jump(jump) if jump.to == join => *e = jump,
            _ => return None,
        }
    }
    let mut costs = [Cost::default(); 2];
    for (cost, side) in costs.iter_mut().zip(plan.sides) {
        let Some(side) = side else { continue };
        let walk = &mut warps.walk;
        walk.restart();
        for &i in &f.blocks[side].body {
            if !speculates(f, &f.insts[i]) {
                return None;
            }
            walk.execute(&f.insts[i]);
            if walk.cost.instructions > MOST {
                return None;
            }
        }
        *cost = walk.cost;
    }
    plan.args = out.map(|e| e.args.clone());
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
    let pays = |warps: u32| cheaper(&costs, real as u32, warps);
    let short = costs[0].instructions + costs[1].instructions + real as u32 <= CROWDED;
    if choices > 8 || predicates || !pays(1) {
        return None;
    }
    // The estimate is linear in the warps: what pays with one and with most pays with any. Long
    // sides have to pay with most.
    let pays_most = pays(warps.most());
    if short == pays_most {
        return short.then_some(plan);
    }
    let resident = warps.at(f, b);
    (pays(resident) && (short || resident == warps.most())).then_some(plan)
}

/// Warps that a scheduler has to choose from: what it costs to know is spent where it matters.
struct Warps {
    chip: Chip,
    most: u32,
    /// Once asked for.
    alive: Option<Alive>,
    /// Tables for walks through sides.
    walk: Walk,
}

impl Warps {
    /// If registers bound nothing.
    fn most(&self) -> u32 {
        warps_of_scheduler(self.chip, 1, self.most)
    }

    /// With the registers that live into a block.
    fn at(&mut self, f: &Function, b: BlockId) -> u32 {
        let alive = self.alive.get_or_insert_with(|| Alive::new(f));
        warps_of_scheduler(self.chip, alive.at(b) + BETWEEN, self.most)
    }
}

/// Whether both sides of a branch, with so many choices behind them, cost less than the branch does
/// on the average of its ways: one side, the other one, both.
fn cheaper(sides: &[Cost; 2], choices: u32, warps: u32) -> bool {
    let [x, y] = sides;
    let (issue, waits) = (x.issue() + y.issue(), x.waits + y.waits);
    // All times three ways and the number of warps.
    let choice = if choices > 0 { latency::result(isa::Op::Sel) } else { 0 };
    let straight = 3 * (warps * (issue + choices) + x.waits.max(y.waits) + choice);
    let branch = warps * (3 * BRANCH + 2 * issue) + 2 * waits + 7 * latency::DRAIN;
    straight <= branch
}

/// Whether all lanes may execute it, some of them under a guard.
pub(super) fn speculates(f: &Function, inst: &Inst) -> bool {
    // Two guards do not fit.
    if inst.ext.is_some() || touches_carry(f, inst) || inst.guard.is_some() {
        return false;
    }
    match inst.op {
        Op::St => true,
        Op::Atom => inst.dsts.is_empty(),
        // A constant-buffer word at a fixed place cannot fault.
        Op::Ld => {
            inst.mem.is_some_and(|m| m.space == Space::Const && m.index.is_none() && m.base().is_empty())
        }
        Op::Div | Op::Mod | Op::Sqrt => false,
        _ => inst.is_pure(),
    }
}

fn convert(f: &mut Function, b: BlockId, plan: &Plan, counts: &mut BlockCounts) {
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
    // The join's code belongs to this block from now on, so that the next outer branch sees one
    // block. Nobody converts a branch around more than the limit: longer code stays where it is, or
    // each of many branches would move it.
    let short = f.blocks[plan.join].body.len() <= MOST as usize;
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
        f.append(b, Inst::new(Op::Mov, f.class(p).move_type()).src(a).dst(p));
    }
    let body = std::mem::take(&mut f.blocks[s].body);
    f.blocks[b].body.extend_from_slice(&body);
    f.blocks[b].term = std::mem::replace(&mut f.blocks[s].term, Term::Unreachable);
    f.blocks[b].term_loc = f.blocks[s].term_loc;
}
