//! The order of instructions in straight code, and the registers that they use meanwhile: a list scheduler.
//!
//! ```text
//! SHL R3, R0, 0x8                SHL R3, R0, 0x8     SHL R4, R1, 0x8
//! LOP.OR R0, R0, R3              (the second of each line issues with the first)
//! SHL R3, R1, 0x8          ->    ..
//! LOP.OR R1, R1, R3              LOP.OR R0, R0, R3   LOP.OR R1, R1, R4
//! ```
//!
//! Warps issue in order, so an instruction whose operands are not there yet holds up all behind it. Cycle by cycle, of
//! those whose predecessors have issued and whose port is free, the one with the longest way of latencies to the end of
//! the block is taken, and on Kepler another one that may issue with it. Registers have been assigned before, with as
//! few of them as possible, so what is independent often shares one; what begins and ends in a block ([`Webs`]) gets
//! another register where there is one. If registers do not suffice for an order, instructions that are far behind in the
//! old one wait; if that does not help, the block keeps its registers. A new order is taken if it takes fewer cycles
//! than the old one.
//!
//! Safe because what [`Graph`] orders keeps its order. Control flow stays behind everything else of its block.

use super::graph::Graph;
use super::issue;
use super::live::{self, Set};
use super::model::{Cycle, Port, Ports};
use super::pool::{Pool, Room};
use super::webs::{Moves, NONE, Webs};
use crate::chip::Chip;
use crate::isa::code::{Code, Line, MBlock};
use crate::isa::effects::{Resource, Touched};
use crate::isa::latency::{self, PairSet};
use crate::isa::sched_word::SLOTS;
use crate::isa::{MInst, Op};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The registers of a program.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// How many the code uses.
    pub used: u32,
    /// How many it may use.
    pub limit: u32,
    /// How many are read where a thread ends.
    pub results: u32,
}

/// Reorders the instructions of every block. Gives the registers that the code uses now.
pub fn run(chip: Chip, code: &mut Code, registers: Registers) -> u32 {
    let after = live::after(code, registers.results);
    // A lane may read what another one has in a register while that one is elsewhere, and functions use no register
    // that their callers want kept: then only registers that the block has written, or nobody uses, will do.
    let lanes = |l: &Line| matches!(l.inst.op, Op::Shfl | Op::Fswz | Op::Cal);
    let strict = code.calls || code.blocks.iter().flat_map(MBlock::lines).any(lanes);
    let mut s = Scheduler {
        pairs: chip.has_sched_words(),
        strict,
        placed: 0,
        fresh: registers.used,
        used: registers.used,
        limit: registers.limit,
        tables: Tables::default(),
        pool: Pool::default(),
        scratch: Scratch::default(),
    };
    for (block, after) in code.blocks.iter_mut().zip(&after) {
        s.block(block, &mut code.touched, after);
        s.placed += block.body.len() + block.tail.len();
    }
    s.used
}

/// Instructions that need the same ports and pair with the same others.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Class {
    port: Port,
    pair: PairSet,
    texture: bool,
}

impl Class {
    fn of(m: &MInst) -> Class {
        Class { port: Port::of(m), pair: latency::pair_set(m.op), texture: latency::is_texture(m.op) }
    }
}

/// An instruction of the block.
#[derive(Clone, Copy, Default)]
struct Node {
    /// How many edges come from instructions that have not issued.
    open: u32,
    /// The first cycle at which it may issue, as far as those before it have.
    ready: Cycle,
    class: u8,
}

/// An instruction by its place among all of the block, most urgent first.
type Rank = u32;

/// What is known of the block, in tables that are made once.
#[derive(Default)]
struct Tables {
    webs: Webs,
    graph: Graph,
    classes: Vec<Class>,
    /// By class: masks of those that may be the second of a pair behind it, and of those that may only be the first.
    behind: Vec<u64>,
    before: Vec<u64>,
    /// By instruction: its class, and the number of edges to it.
    class: Vec<u8>,
    edges: Vec<u32>,
    /// By instruction, those after it with the cycles in between; where each one's start.
    later: Vec<(u32, u32)>,
    starts: Vec<u32>,
    /// Cycles from each instruction to the end of the block.
    height: Vec<u32>,
    /// Instructions by rank, and ranks by instruction.
    ranked: Vec<u32>,
    rank: Vec<Rank>,
}

struct Scheduler {
    /// Whether two may issue together.
    pairs: bool,
    /// Registers are shared with those who are not in the block.
    strict: bool,
    /// Instructions before the block.
    placed: usize,
    /// The first register that the code did not use.
    fresh: u32,
    /// How many are in use, and how many may be.
    used: u32,
    limit: u32,
    tables: Tables,
    pool: Pool,
    scratch: Scratch,
}

/// So many instructions of the old order are looked at together, one try after the other.
const WINDOWS: [usize; 2] = [usize::MAX, 24];

/// Registers that the code did not have are taken for an order that takes fewer cycles by this share, in percent. Over
/// 73 kernels that ptxas compiles too, cycles are 0.997 of its without new registers, 0.949 with 45, 0.925 with 30 and
/// 0.914 with 12 here, and registers 0.854, 0.880, 0.943 and 1.002 of its.
const WORTH: Cycle = 40;

/// An order of a block, and the registers that its webs have in it.
struct Plan {
    cycles: Cycle,
    order: Vec<u32>,
    registers: Vec<u16>,
    used: u32,
}

impl Scheduler {
    fn block(&mut self, block: &mut MBlock, touched: &mut Touched, after: &Set) {
        if block.body.len() < 2 {
            return;
        }
        let lines: Vec<&Line> = block.lines().collect();
        let plan = self.plan(&lines, touched, after);
        if let Some(plan) = plan {
            self.used = self.used.max(plan.used);
            self.apply(block, touched, plan);
        }
    }

    /// The best order that is found, if it is better than the old one.
    fn plan(&mut self, lines: &[&Line], touched: &Touched, after: &Set) -> Option<Plan> {
        if lines.iter().all(|l| l.inst.op != Op::Cal) {
            let allowed = self.allowed(lines, touched);
            self.tables.read(lines, touched, after, Moves::Allowed);
            let old = self.in_order(lines);
            let least = self.tables.longest().max(lines.len() as Cycle / 2);
            if old <= least {
                return None;
            }
            let mut best = self.windows(lines, after, &allowed, self.used);
            let cycles = best.as_ref().map_or(old, |p| p.cycles.min(old));
            let enough = cycles * (100 - WORTH) / 100;
            if self.limit > self.used && least <= enough {
                let more = self.windows(lines, after, &allowed, self.limit);
                best = more.filter(|m| m.cycles <= enough).or(best);
            }
            if best.is_some() {
                return best.filter(|p| p.cycles < old);
            }
        }
        self.tables.read(lines, touched, after, Moves::Forbidden);
        let old = self.in_order(lines);
        let best = self.list(lines, after, &Set::default(), 0, usize::MAX);
        best.filter(|p| p.cycles < old)
    }

    /// The order that is found with so many registers, the more of the block being looked at the better.
    fn windows(&mut self, lines: &[&Line], after: &Set, allowed: &Set, limit: u32) -> Option<Plan> {
        let smaller = WINDOWS.into_iter().skip(1).filter(|&w| w < lines.len());
        WINDOWS.into_iter().take(1).chain(smaller).find_map(|w| self.list(lines, after, allowed, limit, w))
    }

    /// The registers that webs of a block may move to.
    fn allowed(&self, lines: &[&Line], touched: &Touched) -> Set {
        if !self.strict {
            return Set::ALL;
        }
        let mut allowed = Set::default();
        lines.iter().flat_map(|l| touched.writes(l.touches)).for_each(|&r| allowed.insert(r));
        (self.fresh..255).for_each(|r| allowed.insert(Resource::Gpr(r as u8).index() as u16));
        allowed
    }

    /// What an instruction would find in a register instead of what it reads, if there is such an instruction: its place in
    /// the old order, and the register.
    fn mistake(&self, plan: &Plan) -> Option<(u32, u16)> {
        let webs = &self.tables.webs;
        let mut there = [NONE; Resource::COUNT];
        for (web, w) in (0..).zip(&webs.webs).filter(|(_, w)| w.enters) {
            there[usize::from(w.register)] = web;
        }
        for &k in &plan.order {
            for &web in webs.reads(k as usize) {
                let r = plan.registers[web as usize];
                if there[usize::from(r)] != web {
                    return Some((k, r));
                }
            }
            webs.writes(k as usize)
                .iter()
                .for_each(|&web| there[usize::from(plan.registers[web as usize])] = web);
        }
        None
    }

    /// Puts the instructions into an order, with the registers that were found on the way.
    fn apply(&self, block: &mut MBlock, touched: &mut Touched, plan: Plan) {
        debug_assert_eq!(self.mistake(&plan), None, "an instruction finds another value in a register");
        let Plan { mut order, registers, .. } = plan;
        let body = block.body.len();
        for (k, line) in block.body.iter_mut().chain(&mut block.tail).enumerate() {
            let old = line.inst.clone();
            self.tables.webs.rewrite(k, &mut line.inst, |web| registers[web as usize]);
            if line.inst != old {
                line.touches = touched.add(&line.inst);
            }
        }
        order.truncate(body);
        permute(&mut block.body, &mut order);
    }

    /// Cycles that the old order takes, with registers enough.
    fn in_order(&self, lines: &[&Line]) -> Cycle {
        let t = &self.tables;
        let class = |k: usize| &t.classes[usize::from(t.class[k])];
        let mut clock = Clock::default();
        let mut issued: Vec<Cycle> = Vec::with_capacity(lines.len());
        let ready = |issued: &[Cycle], k: usize| {
            t.graph.edges(k).iter().fold(0, |at, e| match issued.get(e.earlier as usize) {
                Some(i) => at.max(i + Cycle::from(e.cycles)),
                // The first of a pair, which issues now.
                None => at.max(if e.cycles == 0 { 0 } else { Cycle::MAX }),
            })
        };
        let mut k = 0;
        while k < lines.len() {
            clock.now = clock.free_at(class(k)).max(ready(&issued, k));
            clock.issue(class(k));
            let mut gap = latency::behind(&lines[k].inst);
            let may_pair = self.may_pair(k);
            k += 1;
            if may_pair
                && let Some(next) = lines.get(k)
                && issue::compatible(&lines[k - 1].inst, &next.inst)
                && ready(&issued, k) <= clock.now
                && clock.free_at(class(k)) <= clock.now
            {
                clock.issue(class(k));
                gap = gap.max(latency::behind(&next.inst));
                k += 1;
            }
            issued.resize(k, clock.now);
            clock.now += Cycle::from(gap);
        }
        clock.now
    }

    /// Whether the instruction at this place of the block may be the first of a pair.
    fn may_pair(&self, place: usize) -> bool {
        self.pairs && (self.placed + place) % SLOTS < SLOTS - 1
    }

    /// Finds an order; none if so many registers do not suffice for it.
    fn list(
        &mut self,
        lines: &[&Line],
        after: &Set,
        allowed: &Set,
        limit: u32,
        window: usize,
    ) -> Option<Plan> {
        let (placed, pairs) = (self.placed, self.pairs);
        self.pool.start(&self.tables.webs, after, allowed, self.used, limit);
        let mut list = List::new(&self.tables, &mut self.pool, &mut self.scratch, lines, window);
        while list.order.len() < lines.len() {
            let now = list.clock.now;
            list.wake(now);
            let Some(first) = list.first()? else { continue };
            let place = list.order.len();
            let mut gap = latency::behind(&lines[first].inst);
            list.issue(first);
            if pairs && (placed + place) % SLOTS < SLOTS - 1 && gap == 1 {
                list.wake(now);
                if let Some(second) = list.second(first) {
                    gap = latency::behind(&lines[second].inst);
                }
            }
            list.clock.now += Cycle::from(gap);
        }
        let (cycles, order) = (list.clock.now, list.order);
        Some(Plan { cycles, order, registers: self.pool.registers().to_vec(), used: self.pool.used() })
    }
}

impl Tables {
    /// Reads a block.
    fn read(&mut self, lines: &[&Line], touched: &Touched, after: &Set, moves: Moves) {
        self.webs.build(lines, touched, after, moves);
        self.graph.build(lines, &self.webs);
        let n = lines.len();
        self.class.clear();
        self.edges.clear();
        self.starts.clear();
        self.starts.resize(n + 1, 0);
        for (k, line) in lines.iter().enumerate() {
            let class = Class::of(&line.inst);
            let known = self.classes.iter().position(|c| *c == class);
            let class = known.unwrap_or_else(|| self.add_class(class));
            self.class.push(class as u8);
            let edges = self.graph.edges(k);
            self.edges.push(edges.len() as u32);
            edges.iter().for_each(|e| self.starts[e.earlier as usize] += 1);
        }
        // Starts of the lists: first their ends, which filling them moves back.
        let mut end = 0;
        for s in &mut self.starts {
            end += *s;
            *s = end;
        }
        self.later.clear();
        self.later.resize(end as usize, (0, 0));
        self.height.clear();
        self.height.resize(n, 0);
        for k in (0..n).rev() {
            let height = self.height[k];
            for e in self.graph.edges(k) {
                let earlier = e.earlier as usize;
                self.starts[earlier] -= 1;
                self.later[self.starts[earlier] as usize] = (k as u32, e.cycles);
                self.height[earlier] = self.height[earlier].max(height + e.cycles.max(1));
            }
        }
        self.ranked.clear();
        self.ranked.extend(0..n as u32);
        self.ranked.sort_by_key(|&k| Reverse(self.height[k as usize]));
        self.rank.clear();
        self.rank.resize(n, 0);
        for (rank, &k) in self.ranked.iter().enumerate() {
            self.rank[k as usize] = rank as Rank;
        }
    }

    fn add_class(&mut self, class: Class) -> usize {
        let n = self.classes.len();
        debug_assert!(n < 64, "masks of classes");
        self.classes.push(class);
        self.behind.push(0);
        self.before.push(0);
        for k in 0..=n {
            let forth = latency::units_pair(self.classes[k].pair, class.pair);
            let back = latency::units_pair(class.pair, self.classes[k].pair);
            self.behind[k] |= u64::from(forth) << n;
            self.before[k] |= u64::from(back && !forth) << n;
            self.behind[n] |= u64::from(back) << k;
            self.before[n] |= u64::from(forth && !back) << k;
        }
        n
    }

    /// Cycles that the block takes at least.
    fn longest(&self) -> Cycle {
        self.height.iter().max().map_or(0, |&h| Cycle::from(h) + 1)
    }

    fn later(&self, k: usize) -> &[(u32, u32)] {
        &self.later[self.starts[k] as usize..self.starts[k + 1] as usize]
    }
}

/// What changes while an order is being made, in tables that are made once.
#[derive(Default)]
struct Scratch {
    nodes: Vec<Node>,
    /// Candidates by class; those that wait for a cycle, for a register, and for the window to come to them.
    ready: Vec<BinaryHeap<Reverse<Rank>>>,
    waiting: BinaryHeap<Reverse<(Cycle, Rank)>>,
    blocked: Vec<u32>,
    outside: BinaryHeap<Reverse<usize>>,
    /// A mask of the classes that have candidates.
    present: u64,
    issued: Vec<bool>,
    rejected: Vec<u32>,
}

impl Scratch {
    /// No instruction of the block has issued.
    fn start(&mut self, tables: &Tables) {
        let node = |(&open, &class): (&u32, &u8)| Node { open, ready: 0, class };
        self.nodes.clear();
        self.nodes.extend(tables.edges.iter().zip(&tables.class).map(node));
        self.ready.resize_with(tables.classes.len(), BinaryHeap::new);
        self.ready.iter_mut().for_each(BinaryHeap::clear);
        self.waiting.clear();
        self.blocked.clear();
        self.outside.clear();
        self.present = 0;
        self.issued.clear();
        self.issued.resize(tables.class.len(), false);
        self.rejected.clear();
    }

    /// Makes an instruction a candidate.
    fn push(&mut self, k: u32, rank: Rank) {
        let class = usize::from(self.nodes[k as usize].class);
        self.ready[class].push(Reverse(rank));
        self.present |= 1 << class;
    }

    /// Takes the most urgent candidate of a class.
    fn pop(&mut self, class: usize) {
        self.ready[class].pop();
        if self.ready[class].is_empty() {
            self.present &= !(1 << class);
        }
    }
}

/// The positions of the bits of a mask, ascending.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let k = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(k)
    })
}

/// An order that is being made.
struct List<'a> {
    tables: &'a Tables,
    pool: &'a mut Pool,
    s: &'a mut Scratch,
    lines: &'a [&'a Line],
    clock: Clock,
    order: Vec<u32>,
    window: usize,
    /// The first instruction of the old order that has not issued.
    oldest: usize,
}

/// Candidates of each class that are tried for the second place of a pair: registers may lie in the wrong banks.
const TRIES: usize = 4;

impl<'a> List<'a> {
    fn new(
        tables: &'a Tables,
        pool: &'a mut Pool,
        s: &'a mut Scratch,
        lines: &'a [&'a Line],
        window: usize,
    ) -> List<'a> {
        s.start(tables);
        let order = Vec::with_capacity(lines.len());
        let mut list = List { tables, pool, s, lines, clock: Clock::default(), order, window, oldest: 0 };
        (0..lines.len()).filter(|&k| tables.edges[k] == 0).for_each(|k| list.make_ready(k));
        list
    }

    fn class(&self, k: usize) -> usize {
        self.s.nodes[k].class.into()
    }

    /// All before it have issued.
    fn make_ready(&mut self, k: usize) {
        let ready = self.s.nodes[k].ready;
        let rank = self.tables.rank[k];
        if k - self.oldest >= self.window {
            self.s.outside.push(Reverse(k));
        } else if ready <= self.clock.now {
            self.s.push(k as u32, rank);
        } else {
            self.s.waiting.push(Reverse((ready, rank)));
        }
    }

    /// Those that have waited long enough become candidates.
    fn wake(&mut self, now: Cycle) {
        while let Some(&Reverse((at, rank))) = self.s.waiting.peek()
            && at <= now
        {
            self.s.waiting.pop();
            self.s.push(self.tables.ranked[rank as usize], rank);
        }
    }

    /// Whether there are registers for a candidate; if not, it is put where it has to wait.
    fn place(&mut self, k: usize, strictly: bool) -> bool {
        let (webs, now) = (&self.tables.webs, self.clock.now);
        let op = self.lines[k].inst.op;
        match self.pool.place(webs, webs.reads(k), webs.writes(k), op, now, strictly) {
            Room::Found => true,
            Room::Later(at) => {
                self.s.waiting.push(Reverse((at.max(now + 1), self.tables.rank[k])));
                false
            }
            Room::No => {
                self.s.blocked.push(k as u32);
                false
            }
        }
    }

    /// Takes the most urgent candidate whose port is free and for which there are registers; if there is none, lets time
    /// go on to where there may be one. None at all if there never will be.
    fn first(&mut self) -> Option<Option<usize>> {
        loop {
            let mut best: Option<(Rank, usize)> = None;
            let mut next = self.s.waiting.peek().map_or(Cycle::MAX, |w| w.0.0);
            for c in bits(self.s.present) {
                let Some(&Reverse(rank)) = self.s.ready[c].peek() else { continue };
                let free = self.clock.free_at(&self.tables.classes[c]);
                if free > self.clock.now {
                    next = next.min(free);
                } else if best.is_none_or(|b| rank < b.0) {
                    best = Some((rank, c));
                }
            }
            let Some((rank, class)) = best else {
                if next == Cycle::MAX {
                    return None;
                }
                self.clock.now = next;
                return Some(None);
            };
            self.s.pop(class);
            let k = self.tables.ranked[rank as usize] as usize;
            if self.place(k, false) {
                return Some(Some(k));
            }
        }
    }

    /// Issues the most urgent candidate that may issue together with `first`, before or behind it.
    fn second(&mut self, first: usize) -> Option<usize> {
        let t = self.tables;
        let (behind, before) = (t.behind[self.class(first)], t.before[self.class(first)]);
        let mut best: Option<(Rank, usize, bool)> = None;
        for c in bits(self.s.present & (behind | before)) {
            if self.clock.free_at(&t.classes[c]) > self.clock.now {
                continue;
            }
            let behind = behind >> c & 1 != 0;
            for _ in 0..TRIES {
                let Some(&Reverse(rank)) = self.s.ready[c].peek() else { break };
                if best.is_some_and(|b| b.0 < rank) {
                    break;
                }
                self.s.pop(c);
                let k = t.ranked[rank as usize] as usize;
                if self.pair(first, k, behind) {
                    if let Some((_, other, _)) = best.replace((rank, k, !behind)) {
                        self.s.rejected.push(other as u32);
                    }
                    break;
                }
                self.s.rejected.push(k as u32);
            }
        }
        let chosen = best.filter(|&(_, k, before)| self.place(k, before));
        while let Some(k) = self.s.rejected.pop() {
            self.s.push(k, t.rank[k as usize]);
        }
        let (_, k, before) = chosen?;
        self.issue(k);
        if before {
            let n = self.order.len();
            self.order.swap(n - 2, n - 1);
        }
        Some(k)
    }

    /// Whether two candidates may issue together.
    fn pair(&self, first: usize, k: usize, behind: bool) -> bool {
        let (a, b) = if behind { (first, k) } else { (k, first) };
        let webs = &self.tables.webs;
        let sources = |k: usize| {
            let registers = webs.reads(k).iter().map(|&web| self.pool.register(web));
            registers.filter_map(Resource::register)
        };
        issue::compatible(&self.lines[a].inst, &self.lines[b].inst)
            && (behind || self.tables.later(first).iter().all(|l| l.0 as usize != k))
            && !issue::banks_conflict(&self.lines[a].inst, &self.lines[b].inst, sources(a), sources(b))
    }

    /// Puts an instruction at the end of the order.
    fn issue(&mut self, k: usize) {
        let (tables, now) = (self.tables, self.clock.now);
        self.clock.issue(&tables.classes[self.class(k)]);
        let webs = &tables.webs;
        self.pool.issue(webs, webs.reads(k), webs.writes(k), self.lines[k].inst.op, now);
        self.order.push(k as u32);
        self.s.issued[k] = true;
        for &(later, cycles) in tables.later(k) {
            let node = &mut self.s.nodes[later as usize];
            node.ready = node.ready.max(now + Cycle::from(cycles));
            node.open -= 1;
            if node.open == 0 {
                self.make_ready(later as usize);
            }
        }
        while self.s.issued.get(self.oldest) == Some(&true) {
            self.oldest += 1;
        }
        while let Some(&Reverse(k)) = self.s.outside.peek()
            && k - self.oldest < self.window
        {
            self.s.outside.pop();
            self.make_ready(k);
        }
        while let Some(k) = self.s.blocked.pop() {
            self.make_ready(k as usize);
        }
    }
}

/// Time, and when ports are free.
#[derive(Default)]
struct Clock {
    now: Cycle,
    ports: Ports,
    /// Until then only textures issue.
    textures: Cycle,
}

impl Clock {
    fn free_at(&self, class: &Class) -> Cycle {
        let at = self.now.max(self.ports.free_at(&class.port));
        if class.texture { at } else { at.max(self.textures) }
    }

    fn issue(&mut self, class: &Class) {
        self.ports.issue(&class.port, self.now);
        if class.texture {
            self.textures = self.now + Cycle::from(latency::BEHIND_TEXTURE);
        }
    }
}

/// Puts the lines into an order: the places from which they come.
fn permute(lines: &mut [Line], order: &mut [u32]) {
    for k in 0..lines.len() {
        let mut from = order[k] as usize;
        // It has been moved to where the one that took its place came from.
        while from < k {
            from = order[from] as usize;
        }
        lines.swap(k, from);
        order[k] = from as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::Chip;
    use crate::diag::Loc;
    use crate::isa::code::MBlock;
    use crate::isa::text;

    fn reordered(lines: &[&str]) -> Vec<String> {
        let line = |s: &&str| Line::new(text::parse(Chip::Gk110, s, 8, &|_| None).unwrap(), Loc::default());
        let block = MBlock { body: lines.iter().map(line).collect(), ..MBlock::default() };
        let mut code = Code { blocks: vec![block], ..Code::default() };
        code.note_touches();
        run(Chip::Gk110, &mut code, Registers { used: 41, limit: 41, results: 41 });
        code.blocks[0].body.iter().map(|l| text::print(Chip::Gk110, &l.inst)).collect()
    }

    #[track_caller]
    fn stays(lines: &[&str]) {
        assert_eq!(reordered(lines), lines);
    }

    #[test]
    fn stores_and_loads_keep_their_order() {
        stays(&["ST.E [R2], R0", "LD.E R6, [R4]", "MOV R0, R9", "ST.E [R8], R6"]);
        stays(&["IADD R0, R0, R5", "ATOM.ADD R1, [R0], R0", "LDS R6, [R7]"]);
    }

    #[test]
    fn what_is_read_is_not_overwritten_before_and_the_last_write_stays_the_last() {
        stays(&["IADD R1, R0, R0", "ISETP.LT.AND P0, PT, R1, R2, PT", "@P0 MOV R3, R4", "MOV R3, R5"]);
        stays(&["IADD R1, R0, R0", "IADD R2, R1, R1", "MOV R1, R5"]);
    }

    #[test]
    fn a_carry_is_not_replaced_between_its_definition_and_its_reader() {
        let code = [
            "IADD R1.CC, R0, R0",
            "IADD.X R2, R0, R0",
            "IADD R3.CC, R4, R4",
            "IADD.X R5, R4, R4",
            "MOV R9, R8",
        ];
        let new = reordered(&code);
        let at = |s: &str| new.iter().position(|l| l == s).unwrap();
        assert!(
            at(code[0]) < at(code[1]) && at(code[1]) < at(code[2]) && at(code[2]) < at(code[3]),
            "{new:?}"
        );
        assert_ne!(new, code);
    }

    #[test]
    fn nothing_moves_past_a_reading_of_the_clock() {
        stays(&["IADD R0, R0, R5", "IADD R1, R0, R5", "S2R R2, SR_CLOCKLO", "MOV R3, R4"]);
    }

    #[test]
    fn what_does_not_wait_goes_first_and_loads_early() {
        assert_eq!(
            reordered(&["S2R R0, SR_TID.X", "SHL R1, R0, 0x2", "MOV R2, R10", "MOV R3, R11"]),
            ["S2R R0, SR_TID.X", "MOV R2, R10", "MOV R3, R11", "SHL R1, R0, 0x2"]
        );
        assert_eq!(
            reordered(&["FADD R4, R5, R6", "FADD R4, R4, R6", "LD.E R0, [R2]", "FADD R1, R0, R4"])[0],
            "LD.E R0, [R2]"
        );
    }

    #[test]
    fn regions_of_any_length_keep_all_their_instructions() {
        let text: Vec<String> =
            (0..200).map(|k| format!("IADD R{}, R{}, R{}", k % 40, k % 7, (k * 5) % 40)).collect();
        let lines: Vec<&str> = text.iter().map(String::as_str).collect();
        let mut new = reordered(&lines);
        assert_ne!(new, lines);
        new.sort();
        let mut all = text.clone();
        all.sort();
        assert_eq!(new, all);
    }
}
