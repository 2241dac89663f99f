//! The cost model of unrolling: what a loop costs as it is, and in copies ([`super::unroll`]
//! decides by it).

use super::Ctx;
use super::cost::{BRANCH, CACHE, Cost, Walk};
use super::rewrite::touches_carry;
use super::rounds::{Loop, Rounds, Tally, constant, is_private};
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};
use rustc_hash::FxHashSet;

/// How a loop may be written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// So many rounds, of which the first alone asks whether there is another.
    Part(usize),
    /// All rounds, one after the other.
    Copies,
}

/// What is best, and what that is estimated to cost.
pub(super) struct Choice {
    /// None if it stays as it is.
    pub form: Option<Form>,
    /// Rounds, if it is known how many there are.
    rounds: Option<usize>,
    /// Cycles and instructions of the loop as it is, and in the form that was looked at last.
    now: (u64, u64),
    then: (u64, u64),
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(rounds) = self.rounds else {
            return write!(f, "how often it iterates is not known in advance, or too often");
        };
        match self.form {
            None => write!(f, "copies for {rounds} rounds are not worth their size (")?,
            Some(Form::Part(n)) => write!(f, "{n} copies for {rounds} rounds (")?,
            Some(Form::Copies) => write!(f, "{rounds} rounds in copies (")?,
        }
        let (now, then) = (self.now, self.then);
        write!(f, "{} cycles in {} instructions, {} in {})", now.0, now.1, then.0, then.1)
    }
}

/// How much copies may cost.
pub(super) struct Limits {
    /// Instructions of all copies of one loop together, as estimated: what other passes then find in
    /// them is a third.
    whole: u32,
    /// By so many instructions loops may still make the function longer.
    growth: u32,
    /// How many quarters the share of the loop's cycles that is saved must be more than the share of
    /// the cache that is taken.
    worth: u64,
    /// Cycles alone count, not instructions.
    cycles: bool,
    /// Instructions of rounds that may still be looked at.
    pub steps: usize,
}

/// Instructions of the copies of a loop that stays one.
const PART: usize = 64;
/// Instructions of the rounds of one loop that are looked at.
const STEPS: usize = 32 * 1024;

impl Limits {
    pub(super) fn new(f: &Function, ctx: &Ctx<'_>) -> Limits {
        let steps = 4 * STEPS + 8 * f.inst_count();
        if ctx.graphics {
            // From 8 on, loops of the corpora that gain a quarter for five times their size stay:
            // they are what instruction counts suffer from.
            Limits { whole: CACHE / 4, growth: u32::MAX, worth: 32, cycles: true, steps }
        } else {
            Limits { whole: CACHE + CACHE / 2, growth: 4 * CACHE, worth: 1, cycles: false, steps }
        }
    }

    /// Whether what is saved is worth so many more instructions.
    fn pays(&self, before: u64, after: u64, more: u64) -> bool {
        before > after && 4 * (before - after) * u64::from(CACHE) >= self.worth * more * before
    }
}

/// Elements of private arrays that may become registers: what passes remember of them.
const ELEMENTS: u32 = 512;

/// Headers of loops in whose copies all elements of the private arrays have known addresses, if that
/// is so wherever they are accessed: they can be registers then, and that decides.
pub(super) fn of_private_arrays(
    f: &Function,
    loops: &SecondaryMap<BlockId, Option<Loop>>,
    rounds: &mut Rounds<'_>,
    limits: &mut Limits,
) -> EntitySet<BlockId> {
    let mut found = EntitySet::with_capacity(f.blocks.len());
    let accesses = |b: BlockId| f.blocks[b].body.iter().any(|&i| is_private(&f.insts[i]));
    let escape = |&i: &InstId| {
        f.insts[i].call().is_some() || f.insts[i].mem.is_some_and(|m| m.space == Space::Generic)
    };
    let blocks = || f.layout.iter().copied();
    if limits.cycles
        || f.local_bytes > 4 * ELEMENTS
        || !blocks().any(accesses)
        || blocks().any(|b| f.blocks[b].body.iter().any(escape))
    {
        return found;
    }
    let mut seen: EntitySet<BlockId> = EntitySet::with_capacity(f.blocks.len());
    let mut sum = 0;
    for l in blocks().filter_map(|b| loops[b].as_ref()) {
        if !l.blocks.iter().any(|&b| accesses(b)) {
            continue;
        }
        if l.nest || l.breaks || l.skips {
            found.clear();
            return found;
        }
        let most = limits.growth.saturating_sub(sum);
        let mut tally = Tally { private: Some(true), ..Tally::new(most, rounds.begin_walk()) };
        let kept = rounds.steps.saturating_sub(STEPS);
        rounds.steps -= kept;
        let counted = rounds.count_rounds(f, l, Some(&mut tally));
        rounds.steps += kept;
        rounds.forget(f, l);
        let Tally { walk, private, .. } = tally;
        let instructions = walk.cost.instructions;
        rounds.end_walk(walk);
        if counted.is_none_or(|n| n == 0) || private != Some(true) {
            found.clear();
            return found;
        }
        sum += instructions;
        found.insert(l.header());
        seen.extend(l.blocks.iter().copied());
    }
    let known = |i: InstId| rounds.has_known_address(f, &f.insts[i]);
    let elsewhere = |b: BlockId| f.blocks[b].body.iter().all(|&i| !is_private(&f.insts[i]) || known(i));
    if !blocks().all(|b| seen.contains(b) || elsewhere(b)) {
        found.clear();
        return found;
    }
    if !found.is_empty() {
        limits.growth -= sum;
    }
    found
}

/// How many copies of the body are worth their place.
pub(super) fn choose(
    f: &Function,
    l: &Loop,
    rounds: &mut Rounds<'_>,
    warps: u32,
    limits: &mut Limits,
) -> Choice {
    let size: usize = l.blocks.iter().map(|&b| f.blocks[b].body.len()).sum();
    let mut walk = rounds.begin_walk();
    let round = if l.nest { Cost::default() } else { part(f, l, 1, &mut walk) };
    let now = (u64::from(round.cycles(warps)), u64::from(round.instructions));
    let mut choice = Choice { form: None, rounds: None, now, then: now };
    let most = limits.whole.min(limits.growth);
    let mut tally = Tally::new(most, walk);
    let kept = rounds.steps.saturating_sub(STEPS);
    rounds.steps -= kept;
    let counted = rounds.count_rounds(f, l, Some(&mut tally));
    if let Some(n) = counted {
        let cost = tally.walk.cost;
        let then = (u64::from(cost.cycles(warps)), u64::from(cost.instructions));
        let more = then.1.saturating_sub(now.1.max(size as u64));
        choice.rounds = Some(n);
        choice.then = then;
        choice.now.0 *= n as u64;
        let saves = !limits.cycles && limits.pays(tally.executed, then.1, more)
            || !l.nest && limits.pays(choice.now.0, then.0, more);
        if n > 0 && saves && (!l.nest || rounds.count_rounds(f, l, None) == counted) {
            choice.form = Some(Form::Copies);
            limits.growth = limits.growth.saturating_sub(more as u32);
        }
    }
    let alone = !l.nest && !l.breaks && !l.skips && size <= PART / 2;
    if choice.form.is_none()
        && alone
        && let Some(n) = counted.or_else(|| rounds.count_rounds(f, l, None))
    {
        choice.rounds = Some(n);
        choice.now.0 = now.0 * n as u64;
        for copies in [8, 4, 2].into_iter().filter(|&c| n > c && n.is_multiple_of(c)) {
            if copies * now.1 as usize > PART {
                continue;
            }
            let cost = part(f, l, copies, &mut tally.walk);
            let cycles = u64::from(cost.cycles(warps)) * (n / copies) as u64;
            choice.then = (cycles, u64::from(cost.instructions));
            if limits.pays(choice.now.0, cycles, choice.then.1.saturating_sub(now.1)) {
                choice.form = Some(Form::Part(copies));
                break;
            }
        }
    }
    rounds.steps += kept;
    rounds.end_walk(tally.walk);
    choice
}

/// What so many rounds of a loop cost that stays one.
fn part(f: &Function, l: &Loop, rounds: usize, walk: &mut Walk) -> Cost {
    walk.restart();
    let steps = if rounds > 1 { steps(f, l) } else { FxHashSet::default() };
    let header = l.header();
    let inside: FxHashSet<BlockId> = l.blocks.iter().copied().collect();
    for round in 0..rounds {
        // The first copy is a round as it was.
        let whole = round == 0;
        for &b in &l.blocks {
            let block = &f.blocks[b];
            for &i in &block.body {
                let inst = &f.insts[i];
                let free = inst.dsts.first().is_some_and(|d| steps.contains(d)) && !whole;
                if !free {
                    walk.execute(inst);
                }
            }
            match &block.term {
                Term::Branch { cond, .. } if leaves(f, l, b) && whole => walk.branch(Some(*cond), 1),
                Term::Branch { .. } if leaves(f, l, b) => {}
                // Divergent or not, both sides are executed by some warps.
                Term::Branch { cond, .. } => walk.branch(Some(*cond), BRANCH),
                _ => {}
            }
            for e in block.term.edges().filter(|e| e.to != header && inside.contains(&e.to)) {
                walk.pass(&f.blocks[e.to].params, &e.args);
            }
        }
        if let Some(e) = f.blocks[l.latch].term.edges().find(|e| e.to == header) {
            walk.pass(&f.blocks[header].params, &e.args);
        }
    }
    walk.branch(None, u32::from(!leaves(f, l, l.latch)));
    walk.cost
}

/// Whether a loop is left from a block.
fn leaves(f: &Function, l: &Loop, b: BlockId) -> bool {
    f.blocks[b].term.successors().any(|s| s == l.exit)
}

/// The counter's own steps, the question whether it is at its end, and what adds it to an address:
/// in copies of some rounds the counter is another one plus a constant.
fn steps(f: &Function, l: &Loop) -> FxHashSet<ValueId> {
    let header = l.header();
    let again = f.blocks[l.latch].term.edges().find(|e| e.to == header);
    let Some(again) = again else { return FxHashSet::default() };
    let params = &f.blocks[header].params;
    let mut counters: FxHashSet<ValueId> = params.iter().copied().collect();
    let mut known = FxHashSet::default();
    loop {
        known.clone_from(&counters);
        for &b in &l.blocks {
            for &i in &f.blocks[b].body {
                let inst = &f.insts[i];
                let plain = inst.guard.is_none() && !touches_carry(f, inst);
                let mut decided = plain && inst.is_pure() && inst.mem.is_none();
                inst.for_uses(|v| decided &= known.contains(&v) || constant(f, v).is_some());
                if decided {
                    known.extend(&inst.dsts);
                }
            }
        }
        let before = counters.len();
        for (p, a) in params.iter().zip(&again.args) {
            if !known.contains(a) && constant(f, *a).is_none() {
                counters.remove(p);
            }
        }
        if counters.len() == before {
            break;
        }
    }
    let mut steps: FxHashSet<ValueId> = again.args.iter().copied().filter(|a| known.contains(a)).collect();
    for &b in &l.blocks {
        if let Term::Branch { cond, .. } = &f.blocks[b].term
            && leaves(f, l, b)
        {
            steps.insert(*cond);
        }
    }
    known.retain(|v| steps.contains(v));
    addresses(f, l, &mut known, &counters);
    known
}

/// Adds the sums of something and a known value that nothing but addresses read.
fn addresses(f: &Function, l: &Loop, known: &mut FxHashSet<ValueId>, counters: &FxHashSet<ValueId>) {
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
