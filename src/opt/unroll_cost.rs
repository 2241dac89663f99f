//! The cost model of unrolling: what a loop costs as it is, and in copies ([`super::unroll`]
//! decides by it).

use super::cost::{CACHE, Cost, Walk};
use super::rewrite::touches_carry;
use crate::ir::*;
use rustc_hash::FxHashSet;

/// A loop whose rounds are known.
pub(super) struct Counted {
    /// Its blocks in the order of the layout, the header first.
    pub blocks: Vec<BlockId>,
    /// Where it leads to when it is left.
    pub exit: BlockId,
    /// The block that enters it.
    pub from: BlockId,
    /// The block that goes round.
    pub latch: BlockId,
    /// The block that leaves, and whether it does so by its first edge.
    pub leaves: BlockId,
    pub by_then: bool,
    /// How often the branch that leaves does not.
    pub rounds: usize,
}

impl Counted {
    /// What a block of the loop is in a copy of it.
    pub(crate) fn in_copy(&self, copy: &[BlockId], b: BlockId) -> BlockId {
        copy[self.blocks.iter().position(|&o| o == b).unwrap_or(0)]
    }
}

/// How a loop is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is.
    Loop,
    /// So many rounds, of which the first alone asks whether there is another.
    Part(usize),
    /// All rounds, one after the other.
    Copies,
}

/// What is best, and what that is estimated to cost.
pub(crate) struct Choice {
    /// Copies of the body, if it does not stay as it is: one for each round where the loop goes
    /// altogether.
    pub copies: Option<usize>,
    /// Cycles and instructions of the loop as it is, and in the form that was looked at last.
    pub now: (u64, u32),
    pub then: (u64, u32),
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (now, then) = (self.now, self.then);
        write!(f, "{} cycles in {} instructions, {} in {}", now.0, now.1, then.0, then.1)
    }
}

/// How many copies of the body are worth their place, if there may be so many instructions.
pub(super) fn choose(f: &Function, l: &Counted, warps: u32, most: usize) -> Choice {
    let rounds = l.rounds as u64;
    let of = |form: Form, times: u64| {
        let cost = cost(f, l, form);
        (cost.cycles(warps) as u64 * times, cost.instructions)
    };
    let now = of(Form::Loop, rounds);
    let size = now.1.max(1) as usize;
    let mut then = now;
    let mut saves = |form: Form, times: u64| {
        then = of(form, times);
        let (before, after, more) = (now.0, then.0, u64::from(then.1.saturating_sub(now.1)));
        // The share of the cycles must be worth the share of the cache.
        before > after && (before - after) * u64::from(CACHE) >= WORTH * more * before
    };
    let copies = if l.rounds * size <= most && saves(Form::Copies, 1) {
        Some(l.rounds)
    } else {
        let parts = [8, 4, 2].into_iter().filter(|&n| l.rounds > n && l.rounds.is_multiple_of(n));
        let small = parts.filter(|n| n * size <= PART);
        small.into_iter().find(|&n| saves(Form::Part(n), rounds / n as u64))
    };
    Choice { copies, now, then }
}

/// How much more the share of the loop's cycles that is saved must be than the share of the cache
/// that is taken. From 8 on, loops of the corpora that gain a quarter for five times their size
/// stay: they are what instruction counts suffer from.
const WORTH: u64 = 8;
/// Instructions of the copies of a loop that stays one.
const PART: usize = 64;

/// What a loop costs: a round of it, or as many as are written.
fn cost(f: &Function, l: &Counted, form: Form) -> Cost {
    let counted = match form {
        Form::Loop => FxHashSet::default(),
        Form::Part(_) | Form::Copies => known(f, l, form == Form::Copies),
    };
    let rounds = match form {
        Form::Loop => 1,
        Form::Part(n) => n,
        Form::Copies => l.rounds,
    };
    let header = l.blocks[0];
    let mut walk = Walk::default();
    for round in 0..rounds {
        // The first copy of a loop that stays is a round as it was.
        let whole = form != Form::Copies && round == 0;
        for &b in &l.blocks {
            let block = &f.blocks[b];
            for &i in &block.body {
                let inst = &f.insts[i];
                let free = inst.dsts.first().is_some_and(|d| counted.contains(d)) && !whole;
                if !free {
                    walk.execute(inst);
                }
            }
            match &block.term {
                Term::Branch { cond, .. } if b == l.leaves && whole => walk.branch(Some(*cond), 1),
                Term::Branch { .. } if b == l.leaves => {}
                // Divergent or not, both sides are executed by some warps.
                Term::Branch { cond, .. } => walk.branch(Some(*cond), 2),
                _ => {}
            }
            for e in block.term.edges().filter(|e| e.to != header && l.blocks.contains(&e.to)) {
                pass(f, &mut walk, e);
            }
        }
        if let Some(e) = f.blocks[l.latch].term.edges().find(|e| e.to == header) {
            pass(f, &mut walk, e);
        }
    }
    if form != Form::Copies {
        walk.branch(None, u32::from(l.latch != l.leaves));
    }
    walk.cost
}

/// Gives a block's parameters what an edge brings.
fn pass(f: &Function, walk: &mut Walk, e: &Edge) {
    let times: Vec<u32> = e.args.iter().map(|&a| walk.ready(a)).collect();
    for (&p, at) in f.blocks[e.to].params.iter().zip(times) {
        walk.set_ready(p, at);
    }
}

/// Values that the number of the round decides: in copies of all rounds they are constants, and
/// what adds them to an address is part of the access. In copies of some rounds the counter is
/// another one plus a constant.
fn known(f: &Function, l: &Counted, all: bool) -> FxHashSet<ValueId> {
    let constant = |v: ValueId| {
        f.def_inst(v).is_some_and(|d| d.op == Op::Mov && super::rewrite::imm_src(d, 0).is_some())
    };
    let header = l.blocks[0];
    let edge = |b: BlockId| f.blocks[b].term.edges().find(|e| e.to == header);
    let (Some(first), Some(again)) = (edge(l.from), edge(l.latch)) else { return FxHashSet::default() };
    let params = &f.blocks[header].params;
    // Parameters that begin as constants, less those that something else goes into.
    let mut counters: FxHashSet<ValueId> =
        params.iter().zip(&first.args).filter(|&(_, &a)| !all || constant(a)).map(|(&p, _)| p).collect();
    let mut known = FxHashSet::default();
    loop {
        known.clone_from(&counters);
        for &b in &l.blocks {
            for &i in &f.blocks[b].body {
                let inst = &f.insts[i];
                let plain = inst.guard.is_none() && !touches_carry(f, inst);
                let mut decided = plain && inst.is_pure() && inst.mem.is_none();
                inst.for_uses(|v| decided &= known.contains(&v) || constant(v));
                if decided {
                    known.extend(&inst.dsts);
                }
            }
        }
        let before = counters.len();
        for (p, a) in params.iter().zip(&again.args) {
            if !known.contains(a) && !constant(*a) {
                counters.remove(p);
            }
        }
        if counters.len() == before {
            break;
        }
    }
    if !all {
        // The counter's own steps and the question whether it is at its end.
        let mut steps: FxHashSet<ValueId> =
            again.args.iter().copied().filter(|a| known.contains(a)).collect();
        if let Term::Branch { cond, .. } = &f.blocks[l.leaves].term {
            steps.insert(*cond);
        }
        known.retain(|v| steps.contains(v));
    }
    addresses(f, l, &mut known, &counters);
    known
}

/// Adds the sums of something and a known value that nothing but addresses read.
fn addresses(f: &Function, l: &Counted, known: &mut FxHashSet<ValueId>, counters: &FxHashSet<ValueId>) {
    let mut read = FxHashSet::default();
    for &b in &l.blocks {
        for &i in &f.blocks[b].body {
            read.extend(f.insts[i].srcs.iter().flat_map(Src::values));
        }
        f.blocks[b].term.for_uses(|v| {
            read.insert(v);
        });
    }
    for &b in &l.blocks {
        for &i in &f.blocks[b].body {
            let inst = &f.insts[i];
            let decided = |v: &ValueId| known.contains(v) || counters.contains(v);
            let is_known = |s: &Src| !s.values().is_empty() && s.values().iter().all(decided);
            if inst.op == Op::Add
                && inst.srcs.iter().any(is_known)
                && inst.dsts.iter().all(|d| !read.contains(d))
            {
                known.extend(&inst.dsts);
            }
        }
    }
}
