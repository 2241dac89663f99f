//! An order of a block while it is being made.

use super::free_list::{self, FreeList, Kind as Wanted, Room};
use super::ready::Ready;
use super::tables::{Clock, Rank, Tables};
use crate::emit::code::Line;
use crate::isa::effects::Resource;
use nvir_asm::issue;
use nvir_asm::issue_class::{self, Kind};
use nvir_asm::model::Cycle;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An instruction of the block.
#[derive(Clone, Copy, Default)]
struct Node {
    /// How many edges come from instructions that have not issued.
    open: u32,
    /// The first cycle at which it may issue, as far as those before it have.
    ready: Cycle,
    class: u8,
}

/// Until when an instruction waits, and below that its rank: one word, which is compared at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wait(u64);

impl Wait {
    fn new(at: Cycle, rank: Rank) -> Wait {
        Wait(at << 32 | Cycle::from(rank))
    }

    fn at(self) -> Cycle {
        self.0 >> 32
    }
}

/// What changes while an order is being made, in tables that are made once.
#[derive(Default)]
pub(super) struct Scratch {
    nodes: Vec<Node>,
    /// Candidates; those that wait for a cycle, for a register, and for the window to come to them.
    ready: Ready,
    waiting: BinaryHeap<Reverse<Wait>>,
    blocked: Vec<u32>,
    outside: BinaryHeap<Reverse<usize>>,
    issued: Vec<bool>,
    /// By instruction: what registers it found no room for, if what it reads did not matter.
    wanted: Vec<Option<Wanted>>,
    /// Candidates that do not issue in this cycle, and stay candidates.
    rejected: Vec<u32>,
    /// An instruction had to wait for a register, since this was last made false.
    pub short: bool,
}

impl Scratch {
    /// No instruction of the block has issued.
    fn start(&mut self, tables: &Tables) {
        let node = |(&open, kind): (&u32, &Kind)| Node { open, ready: 0, class: kind.class };
        self.nodes.clear();
        self.nodes.extend(tables.edges.iter().zip(&tables.kinds).map(node));
        self.ready.start(tables.kinds.len());
        self.waiting.clear();
        self.blocked.clear();
        self.outside.clear();
        self.issued.clear();
        self.issued.resize(tables.kinds.len(), false);
        self.rejected.clear();
        self.wanted.clear();
        self.wanted.resize(tables.kinds.len(), None);
    }

    /// Makes an instruction a candidate.
    fn push(&mut self, k: usize, rank: Rank) {
        self.ready.insert(self.nodes[k].class.into(), rank);
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
pub(super) struct List<'a> {
    tables: &'a Tables,
    free_list: &'a mut FreeList,
    s: &'a mut Scratch,
    lines: &'a [&'a Line],
    pub clock: Clock,
    pub order: Vec<u32>,
    window: usize,
    /// The first instruction of the old order that has not issued.
    oldest: usize,
}

/// With more candidates than that waiting for a register, the order is given up.
const MOST_BLOCKED: usize = 128;

/// Candidates of each class that are tried for the second place of a pair: registers may lie in the
/// wrong banks.
const TRIES: usize = 4;

impl<'a> List<'a> {
    pub(super) fn new(
        tables: &'a Tables,
        free_list: &'a mut FreeList,
        s: &'a mut Scratch,
        lines: &'a [&'a Line],
        window: usize,
    ) -> List<'a> {
        s.start(tables);
        let order = Vec::with_capacity(lines.len());
        let mut list =
            List { tables, free_list, s, lines, clock: Clock::default(), order, window, oldest: 0 };
        (0..lines.len()).filter(|&k| tables.edges[k] == 0).for_each(|k| list.make_ready(k));
        list
    }

    /// All before it have issued.
    fn make_ready(&mut self, k: usize) {
        let ready = self.s.nodes[k].ready;
        let rank = self.tables.rank[k];
        if k - self.oldest >= self.window {
            self.s.outside.push(Reverse(k));
        } else if ready <= self.clock.now {
            self.s.push(k, rank);
        } else {
            self.s.waiting.push(Reverse(Wait::new(ready, rank)));
        }
    }

    /// Those that have waited long enough become candidates.
    #[inline]
    pub(crate) fn wake(&mut self, now: Cycle) {
        while let Some(&Reverse(wait)) = self.s.waiting.peek()
            && wait.at() <= now
        {
            self.s.waiting.pop();
            let rank = wait.0 as Rank;
            self.s.push(self.tables.ranked(rank), rank);
        }
    }

    /// Whether there are registers for a candidate; if not, it is put where it has to wait.
    fn place(&mut self, k: usize, strictly: bool) -> bool {
        let (ranges, now) = (&self.tables.ranges, self.clock.now);
        let (reads, writes) = (ranges.reads(k), ranges.writes(k));
        let known =
            self.s.wanted[k].and_then(|kind| self.free_list.still_in_vain(kind, writes, now, strictly));
        let room = match known.filter(|_| !cfg!(debug_assertions)) {
            Some(room) => room,
            None => {
                let op = self.lines[k].inst.op;
                let room = self.free_list.find_room(ranges, reads, writes, op, now, strictly);
                if !matches!(room, Room::Found) && (reads.is_empty() || free_list::reads_late(op)) {
                    self.s.wanted[k] = self.free_list.wanted();
                }
                room
            }
        };
        debug_assert!(known.is_none_or(|known| known == room), "{known:?} is {room:?}");
        match room {
            Room::Found => return true,
            Room::Later(at) => {
                self.s.waiting.push(Reverse(Wait::new(at.max(now + 1), self.tables.rank[k])));
            }
            // Behind the first of the pair there may be room.
            Room::No if strictly => self.s.rejected.push(k as u32),
            Room::No => self.s.blocked.push(k as u32),
        }
        self.s.short = true;
        false
    }

    /// Takes the most urgent candidate whose port is free and for which there are registers; if
    /// there is none, lets time go on to where there may be one. None at all if there never will
    /// be.
    pub(super) fn first(&mut self) -> Option<Option<usize>> {
        loop {
            let mut best: Option<(Rank, usize)> = None;
            // The most urgent candidate of other classes, whose turn comes next.
            let mut other = Rank::MAX;
            let mut next = self.s.waiting.peek().map_or(Cycle::MAX, |w| w.0.at());
            for c in bits(self.s.ready.present) {
                let Some(rank) = self.s.ready.first(c) else { continue };
                if best.is_some_and(|b| b.0 < rank) {
                    other = other.min(rank);
                    continue;
                }
                let free = self.clock.free_at(issue_class::get(c as u8));
                if free > self.clock.now {
                    next = next.min(free);
                } else if let Some((before, _)) = best.replace((rank, c)) {
                    other = other.min(before);
                }
            }
            let Some((mut rank, class)) = best else {
                if next == Cycle::MAX {
                    return None;
                }
                self.clock.now = next;
                return Some(None);
            };
            loop {
                self.s.ready.remove(class, rank);
                let k = self.tables.ranked(rank);
                if self.place(k, false) {
                    return Some(Some(k));
                }
                // Each of them is tried again whenever registers become free.
                if self.s.blocked.len() > MOST_BLOCKED {
                    return None;
                }
                match self.s.ready.first(class) {
                    Some(next) if next < other => rank = next,
                    _ => break,
                }
            }
        }
    }

    /// Issues the most urgent candidate that may issue together with `first`, before or behind it.
    pub(super) fn second(&mut self, first: usize) -> Option<usize> {
        let t = self.tables;
        let class = self.s.nodes[first].class;
        let (behind, before) = (issue_class::behind(class), issue_class::before(class));
        let mut best: Option<(Rank, usize, bool)> = None;
        for c in bits(self.s.ready.present & (behind | before)) {
            if self.clock.free_at(issue_class::get(c as u8)) > self.clock.now {
                continue;
            }
            let behind = behind >> c & 1 != 0;
            for _ in 0..TRIES {
                let Some(rank) = self.s.ready.first(c) else { break };
                if best.is_some_and(|b| b.0 < rank) {
                    break;
                }
                self.s.ready.remove(c, rank);
                let k = t.ranked(rank);
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
            self.s.push(k as usize, t.rank[k as usize]);
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
        let ranges = &self.tables.ranges;
        let sources = |k: usize| {
            let registers = ranges.reads(k).iter().map(|&range| self.free_list.register(range));
            registers.filter_map(Resource::register)
        };
        // What goes in front leaves the registers alone that `first` reads: one that ends there may
        // be its own already.
        let overwrites = || {
            let mut written = ranges.writes(k).iter().map(|&range| self.free_list.register(range));
            written.any(|w| ranges.reads(first).iter().any(|&range| self.free_list.register(range) == w))
        };
        let (op_a, op_b) = (self.lines[a].inst.op, self.lines[b].inst.op);
        self.tables.kinds[a].leads(&self.tables.kinds[b])
            && (behind || self.tables.later(first).iter().all(|l| l.0 as usize != k) && !overwrites())
            && !issue::banks_conflict(op_a, op_b, sources(a), sources(b))
    }

    /// Puts an instruction at the end of the order.
    pub(super) fn issue(&mut self, k: usize) {
        let (tables, now) = (self.tables, self.clock.now);
        self.clock.issue(tables.kinds[k].class());
        let ranges = &tables.ranges;
        let room =
            self.free_list.issue(ranges, ranges.reads(k), ranges.writes(k), self.lines[k].inst.op, now);
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
        while room && let Some(k) = self.s.blocked.pop() {
            self.make_ready(k as usize);
        }
    }
}
