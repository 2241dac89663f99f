//! Loops whose number of rounds is known only when they run: several rounds at once, then the rest.
//!
//! ```text
//!     jump b1(0)                          max s32 %r8 %r9 0x80000003
//! b1(%r1): loop exit b3 cont b2           sub s32 %r7 %r8 0x3
//!     set.ge pred s32 %p2 %r1 %r9         jump b4(0)
//!     branch %p2 b3 b2           ->   b4(%r4): loop exit b6 cont b5
//! b2: ..                                  set.ge pred s32 %p5 %r4 %r7
//!     add u32 %r3 %r1 0x1                 branch %p5 b6 b5
//!     jump b1(%r3)                    b5: ..                          four times
//!                                         jump b4(%r6)
//!                                     b6: jump b1(%r4)
//!                                     b1(%r1): ..                     as it was
//! ```
//!
//! The counter must be compared with something that the loop does not change, in front of its body,
//! and step by a constant towards it; a bound that is computed in each round moves in front of the
//! loop. Then the comparison with the bound of the last of the rounds decides about all of them: where
//! the counter is at least three steps in front of the bound, the next three comparisons would say the
//! same. A bound so near to the end of its type that three
//! steps before it there is nothing leaves the first loop no rounds.
//!
//! What is left of a loop that loads, up to three rounds, does two at once before the last one.
//!
//! Done for short bodies, of which test, counter and branch are a large part, and where all lanes
//! leave together: else those with few rounds wait twice. Loops that load wait for memory in each
//! round: there loads of several rounds on the way at once are worth that.
//!
//! Safe because the same instructions are executed in the same order, but for tests that would let
//! the loop go on.

use super::Ctx;
use super::cost::Walk;
use super::rewrite::{imm_src, touches_carry};
use super::rounds::{Loop, constant};
use super::sink::is_constant;
use super::unroll_copy::{copy_blocks, repeat};
use crate::analysis::divergence::uniform_branches;
use crate::ir::*;
use cranelift_entity::EntitySet;

/// Rounds that become one.
const ROUNDS: u32 = 4;

/// Instructions of a round, test and counter included. With more, what they take is little of it.
const LONGEST: u32 = 24;

/// The same where a round waits for memory.
const LONGEST_OF_LOADS: u32 = 40;

/// Instructions that compute a bound.
const INVARIANTS: usize = 8;

/// Instructions that all new copies of a function's loops may have.
const GROWTH: u32 = 512;

/// Gives the loops that are worth it several rounds at once, and the number of them.
pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>, loops: Vec<Loop>) -> usize {
    let counted = |l: Loop| {
        let c = counter(f, &l)?;
        Some((l, c))
    };
    let mut found: Vec<(Loop, Counter)> = loops.into_iter().filter_map(counted).collect();
    if found.is_empty() {
        return 0;
    }
    let uniform = uniform_branches(f);
    let mut left = GROWTH;
    found.retain(|(l, c)| {
        let insts = l.blocks.iter().flat_map(|&b| &f.blocks[b].body);
        let length = insts.map(|&i| Walk::length(&f.insts[i])).sum::<u32>() + 1;
        let waits = waits_for_memory(f, l);
        let longest = if waits { LONGEST_OF_LOADS } else { LONGEST };
        let fits = length <= longest && length * ROUNDS <= left && (uniform.contains(c.test) || waits);
        if fits {
            left -= length * ROUNDS;
        }
        fits
    });
    for (l, c) in &found {
        ctx.note(format!("{}: {ROUNDS} rounds at once, then the rest", l.header()));
        move_bound(f, l, c);
        let (mut made, behind) = several_at_once(f, l, c, ROUNDS);
        if waits_for_memory(f, l) {
            // Of the rest, two that wait together.
            let rest = Loop { from: behind, ..l.clone() };
            made.extend(several_at_once(f, &rest, c, 2).0);
        }
        let at = f.layout.iter().position(|&b| b == l.header()).unwrap_or(0);
        f.layout.splice(at..at, made);
    }
    found.len()
}

/// Whether rounds load from memory that answers late.
fn waits_for_memory(f: &Function, l: &Loop) -> bool {
    let loads =
        |i: InstId| f.insts[i].op == Op::Ld && f.insts[i].mem.is_some_and(|m| m.space == Space::Global);
    l.blocks.iter().flat_map(|&b| &f.blocks[b].body).any(|&i| loads(i))
}

/// What ends a loop.
struct Counter {
    /// The block that ends in the test.
    test: BlockId,
    /// Its comparison, and which of the operands is the bound.
    compare: InstId,
    bound: usize,
    /// What computes the bound within the loop, in order.
    invariant: Vec<InstId>,
    /// The loop goes on as long as the other operand is on this side of the bound.
    below: bool,
    /// What the operand gains in a round.
    step: i32,
}

fn counter(f: &Function, l: &Loop) -> Option<Counter> {
    if l.nest || l.breaks || l.skips {
        return None;
    }
    let header = l.header();
    let test = match &f.blocks[header].term {
        Term::Jump(e) if l.blocks.get(1) == Some(&e.to) && e.to != l.cont => e.to,
        Term::Branch { .. } => header,
        _ => return None,
    };
    let Term::Branch { cond, not, then, els } = &f.blocks[test].term else { return None };
    if (then.to == l.exit) == (els.to == l.exit) || test == l.latch {
        return None;
    }
    // Who leaves the first loop executes it once more.
    let front = if test == header { &l.blocks[..1] } else { &l.blocks[..2] };
    let again =
        |&i: &InstId| (f.insts[i].is_pure() || is_constant(&f.insts[i])) && f.insts[i].guard.is_none();
    if !front.iter().all(|&b| f.blocks[b].body.iter().all(again)) {
        return None;
    }
    let Def::Inst(compare) = f.values[*cond].def else { return None };
    let inst = &f.insts[compare];
    let words = inst.op == Op::Set && matches!(inst.sty, Type::U32 | Type::S32);
    if !words || inst.ty != Type::Pred || inst.srcs.len() != 2 || inst.guard.is_some() || inst.dsts.len() != 1
    {
        return None;
    }
    let mut inside: EntitySet<ValueId> = EntitySet::new();
    for &b in &l.blocks {
        inside.extend(f.blocks[b].params.iter().copied());
        f.blocks[b].body.iter().for_each(|&i| f.insts[i].for_defs(|v| _ = inside.insert(v)));
    }
    let stay = if (then.to == l.exit) != *not { inst.cond.negate() } else { inst.cond };
    let params = &f.blocks[header].params;
    let entering = f.blocks[l.from].term.edges().find(|e| e.to == header)?;
    let again = f.blocks[l.latch].term.edges().find(|e| e.to == header)?;
    [1, 0].into_iter().find_map(|bound| {
        let counter = plain(inst, 1 - bound)?;
        let k = params.iter().position(|&p| p == counter)?;
        let mut invariant = Vec::new();
        let known = match inst.srcs[bound].kind {
            SrcKind::Imm(_) => true,
            _ => {
                let v = plain(inst, bound)?;
                let made_here = f.def_inst(v).is_some_and(is_constant);
                if !made_here && !is_invariant(f, v, &inside, &mut invariant) {
                    return None;
                }
                constant(f, v).is_some()
            }
        };
        // Where all is known, copies of rounds have been looked at.
        if known && constant(f, *entering.args.get(k)?).is_some() {
            return None;
        }
        let step = step(f, *again.args.get(k)?, counter)?;
        let towards = if bound == 1 { stay } else { stay.swap() };
        let below = match towards {
            // Integers are in order, whatever the negated condition says about NaN.
            Cond::Lt | Cond::Le | Cond::Ltu | Cond::Leu if step > 0 => true,
            Cond::Gt | Cond::Ge | Cond::Gtu | Cond::Geu if step < 0 => false,
            _ => return None,
        };
        // What the last of the rounds adds must be far from the end of the type.
        (step.unsigned_abs() <= 0xffff).then_some(Counter { test, compare, bound, invariant, below, step })
    })
}

/// Whether a value is the same in all rounds; adds what computes it there, in order.
fn is_invariant(f: &Function, v: ValueId, inside: &EntitySet<ValueId>, by: &mut Vec<InstId>) -> bool {
    if !inside.contains(v) {
        return true;
    }
    let Def::Inst(i) = f.values[v].def else { return false };
    let inst = &f.insts[i];
    let may_move = (inst.is_pure() || is_constant(inst)) && inst.guard.is_none() && !touches_carry(f, inst);
    if by.contains(&i) || !may_move || by.len() >= INVARIANTS {
        return by.contains(&i);
    }
    let mut all = true;
    inst.for_uses(|v| all = all && is_invariant(f, v, inside, by));
    by.push(i);
    all
}

/// The value that an operand is.
fn plain(inst: &Inst, n: usize) -> Option<ValueId> {
    inst.srcs[n].as_val().filter(|_| inst.srcs[n].is_plain_val())
}

/// What an addition gives more than a counter.
fn step(f: &Function, next: ValueId, counter: ValueId) -> Option<i32> {
    let inst = f.def_inst(next)?;
    let word = matches!(inst.ty, Type::U32 | Type::S32) && !inst.sat && inst.guard.is_none();
    if !word || inst.srcs.len() != 2 || inst.dsts.len() != 1 {
        return None;
    }
    let amount = |n: usize| {
        let of_value = || constant(f, plain(inst, n)?);
        imm_src(inst, n).or_else(of_value)
    };
    let by = match inst.op {
        Op::Add if plain(inst, 0) == Some(counter) => amount(1)?,
        Op::Add if plain(inst, 1) == Some(counter) => amount(0)?,
        Op::Sub if plain(inst, 0) == Some(counter) => amount(1)?.wrapping_neg(),
        _ => return None,
    };
    Some(by as i32)
}

/// Moves what computes the bound in front of the loop.
fn move_bound(f: &mut Function, l: &Loop, c: &Counter) {
    if !c.invariant.is_empty() {
        l.blocks.iter().for_each(|&b| f.blocks[b].body.retain(|i| !c.invariant.contains(i)));
        f.blocks[l.from].body.extend(&c.invariant);
    }
}

/// Puts a loop in front of a loop that does so many of its rounds at once; gives its blocks, and the one behind it.
fn several_at_once(f: &mut Function, l: &Loop, c: &Counter, rounds: u32) -> (Vec<BlockId>, BlockId) {
    let header = l.header();
    let nearer = nearer_bound(f, l, c, rounds);
    let (copies, values) = copy_blocks(f, &l.blocks);
    let first = copies[&header];
    let behind = f.detached_block();
    f.blocks[behind].term_loc = f.blocks[c.test].term_loc;
    let params = f.blocks[first].params.clone();
    f.blocks[behind].term = Term::Jump(Edge { to: header, args: params });
    f.blocks[l.from].term.edges_mut().filter(|e| e.to == header).for_each(|e| e.to = first);
    let cont = copies.get(&l.cont).copied().unwrap_or(first);
    f.blocks[first].merge = Merge::Loop { exit: behind, cont };
    for e in f.blocks[copies[&c.test]].term.edges_mut().filter(|e| e.to == l.exit) {
        *e = Edge::to(behind);
    }
    let compared = f.insts[c.compare].dsts[0];
    if let Some(Def::Inst(i)) = values.get(&compared).map(|&v| f.values[v].def) {
        f.insts[i].srcs[c.bound] = Src::val(nearer);
    }
    let block = |b: &BlockId| copies.get(b).copied().unwrap_or(*b);
    let blocks: Vec<BlockId> = l.blocks.iter().map(block).collect();
    let sure = l.sure.iter().map(block).collect();
    let several =
        Loop { blocks: blocks.clone(), exit: behind, cont, from: l.from, latch: block(&l.latch), sure, ..*l };
    let more = repeat(f, &several, rounds as usize);
    (blocks.into_iter().chain(more).chain([behind]).collect(), behind)
}

/// In front of a loop, the bound of a round from which so many others follow.
fn nearer_bound(f: &mut Function, l: &Loop, c: &Counter, rounds: u32) -> ValueId {
    let inst = f.insts[c.compare].clone();
    let ahead = (c.step as u32).wrapping_mul(rounds - 1);
    let mut bound = inst.srcs[c.bound];
    if let Some(made) = bound.as_val().and_then(|v| f.def_inst(v)).filter(|d| is_constant(d)) {
        let mut again = made.clone();
        let v = f.new_value(Class::Gpr);
        again.dsts[0] = v;
        f.append(l.from, again);
        bound = Src::val(v);
    }
    let (least, most) = match inst.sty {
        Type::S32 => (i32::MIN as u32, i32::MAX as u32),
        _ => (0, u32::MAX),
    };
    let (op, end) = if c.below { (Op::Max, least) } else { (Op::Min, most) };
    let mut add = |inst: Inst| {
        let v = f.new_value(Class::Gpr);
        let mut inst = inst.dst(v);
        inst.loc = f.insts[c.compare].loc;
        f.append(l.from, inst);
        v
    };
    let far = add(Inst::new(op, inst.sty).src(bound).src(Src::imm(end.wrapping_add(ahead))));
    add(Inst::new(Op::Add, Type::U32).src(far).src(Src::imm(ahead.wrapping_neg())))
}
