//! Live ranges of a block: what its instructions keep in registers, apart from which registers they
//! are.
//!
//! A *live range* is a definition with everything that reads it: a register of its own, as far as
//! the block goes. What comes into the block or leaves it, and what is named implicitly, keeps its
//! register (it is *pinned*); everything else may move to another one. LiveRanges that an
//! instruction names as a vector move together and keep their alignment: a *group*.

use super::guards;
use super::liveness::Set;
use crate::emit::code::Line;
use crate::isa::effects::{self, Access, Resource, Slot, Touched};
use crate::isa::{MInst, Mod, Op, Operand, Pred, Reg};

/// A live range, by its number in the block.
pub(crate) type RangeId = u32;

pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveRange {
    /// The register, predicate or condition code that it has in the code, as [`Resource::index`].
    pub register: u16,
    /// How many instructions name it: twice those that read and write it.
    pub names: u32,
    /// It keeps its register.
    pub pinned: bool,
    /// It is read after the block.
    pub leaves: bool,
    /// It is there when the block starts.
    pub enters: bool,
    /// The first and the last instruction that name it.
    pub first: u32,
    pub last: u32,
    /// The live range that it has become one with, or itself.
    pub is: RangeId,
    /// The group that it is part of: another live range of it, or itself.
    group: RangeId,
    /// Registers that the group's place is a multiple of, if this live range stands for it.
    align: u8,
}

/// Where an instruction names a range.
#[derive(Clone, Copy)]
struct Name {
    slot: Slot,
    /// The register in the code, as [`Resource::index`].
    register: u16,
    range: RangeId,
}

/// The live ranges of a block. Built once and used for all blocks of a program.
#[derive(Default)]
pub(crate) struct LiveRanges {
    pub list: Vec<LiveRange>,
    /// What each instruction reads, then what it writes.
    touched: Vec<RangeId>,
    /// Where each instruction's reads and writes start.
    starts: Vec<(u32, u32)>,
    names: Vec<Name>,
    named: Vec<u32>,
    /// By [`Resource::index`]: the live range that is there.
    current: Vec<RangeId>,
    /// Whether nobody reads what a predicated instruction leaves where it is not executed; empty without any.
    whole: Vec<bool>,
    /// Chains of condition codes that go from instruction to instruction: the first, and the last that reads one.
    pub carries: Vec<(u32, u32)>,
    /// One more than the last register that one has in the code, as [`Resource::index`].
    end: u16,
    /// LiveRanges in the order of their groups, and where each one's group is.
    members: Vec<RangeId>,
    places: Vec<(u32, u32)>,
}

/// Whether live ranges may move.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moves {
    Allowed,
    /// Each register is one range.
    Forbidden,
}

impl LiveRanges {
    /// For blocks of so many instructions at most.
    pub(super) fn new(instructions: usize) -> LiveRanges {
        LiveRanges {
            list: Vec::with_capacity(2 * instructions),
            touched: Vec::with_capacity(6 * instructions),
            starts: Vec::with_capacity(instructions + 1),
            names: Vec::with_capacity(4 * instructions),
            named: Vec::with_capacity(instructions + 1),
            current: vec![NONE; Resource::COUNT],
            whole: Vec::new(),
            carries: Vec::new(),
            end: 0,
            members: Vec::with_capacity(2 * instructions),
            places: Vec::with_capacity(2 * instructions),
        }
    }

    /// What an instruction reads.
    pub(super) fn reads(&self, k: usize) -> &[RangeId] {
        let (reads, writes) = self.starts[k];
        &self.touched[reads as usize..writes as usize]
    }

    /// What an instruction writes.
    pub(super) fn writes(&self, k: usize) -> &[RangeId] {
        &self.touched[self.starts[k].1 as usize..self.starts[k + 1].0 as usize]
    }

    /// All live ranges that move with this one, itself among them, by register.
    pub(super) fn group(&self, range: RangeId) -> &[RangeId] {
        let (start, end) = self.places[self.root(range) as usize];
        &self.members[start as usize..end as usize]
    }

    /// One more than the last register that a live range has in the code, as [`Resource::index`].
    pub(super) fn end(&self) -> u16 {
        self.end
    }

    /// Registers that the place of a live range's group is a multiple of.
    pub(super) fn align(&self, range: RangeId) -> u16 {
        self.list[self.root(range) as usize].align.into()
    }

    /// The live range that stands for a group.
    pub(super) fn root(&self, mut range: RangeId) -> RangeId {
        while self.list[range as usize].group != range {
            range = self.list[range as usize].group;
        }
        range
    }

    /// Reads the instructions of a block, of which `after` is read later.
    pub(super) fn build(&mut self, lines: &[&Line], touched: &Touched, after: &Set, moves: Moves) {
        self.list.clear();
        self.touched.clear();
        self.starts.clear();
        self.names.clear();
        self.named.clear();
        self.current.fill(NONE);
        if moves == Moves::Allowed {
            guards::find_whole(lines, touched, after, &mut self.whole);
        }
        for (k, line) in (0u32..).zip(lines) {
            self.named.push(self.names.len() as u32);
            let reads = self.touched.len() as u32;
            if moves == Moves::Forbidden {
                touched.reads(line.touches).iter().for_each(|&r| self.fixed(k, r));
                self.starts.push((reads, self.touched.len() as u32));
                touched.writes(line.touches).iter().for_each(|&r| self.fixed(k, r));
            } else {
                self.line(k, &line.inst, reads);
            }
        }
        self.starts.push((self.touched.len() as u32, 0));
        self.named.push(self.names.len() as u32);
        self.end = 0;
        for (range, w) in (0..).zip(&mut self.list) {
            self.end = self.end.max(w.register + 1);
            if self.current[usize::from(w.register)] == range && after.has(w.register) {
                (w.leaves, w.pinned) = (true, true);
            }
        }
        self.find_carries();
        self.collect();
    }

    /// Finds the chains of condition codes; those that are long keep their order.
    fn find_carries(&mut self) {
        self.carries.clear();
        let mut chain: Vec<RangeId> = Vec::new();
        for range in 0..self.list.len() as RangeId {
            let w = self.list[range as usize];
            if w.register != CARRY {
                continue;
            }
            let goes_on = chain.last().is_some_and(|&c| !w.pinned && self.list[c as usize].last == w.first);
            if !goes_on {
                self.end_chain(&mut chain);
            }
            chain.push(range);
        }
        self.end_chain(&mut chain);
    }

    fn end_chain(&mut self, chain: &mut Vec<RangeId>) {
        if let (Some(&first), Some(&last)) = (chain.first(), chain.last()) {
            let (from, to) = (self.list[first as usize].first, self.list[last as usize].last);
            if to - from > LONGEST_CHAIN || chain.iter().any(|&c| self.list[c as usize].pinned) {
                chain.iter().for_each(|&c| self.list[c as usize].pinned = true);
            } else if to > from {
                self.carries.push((from, to));
            }
        }
        chain.clear();
    }

    /// Names a register that is one live range from the start to the end of the block.
    fn fixed(&mut self, k: u32, r: u16) {
        let range = self.present(k, r);
        self.name(k, range);
        self.touched.push(range);
    }

    fn line(&mut self, k: u32, m: &MInst, reads: u32) {
        let mut writes = NONE;
        // A predicated write leaves what was there where it is not executed, which may be read, and
        // some forms add to their destination.
        let whole = m.guard.is_true() || self.whole.get(k as usize) == Some(&true);
        let replaces = whole && !guards::adds(m);
        let swaps = m.op == Op::Atom && m.has(Mod::Cas);
        let mut swap: RangeId = NONE;
        let each = |slot: Slot, first: Resource, width: u8, access: Access| {
            if access == Access::Write && writes == NONE {
                writes = self.touched.len() as u32;
            }
            let r = first.index() as u16;
            let mut leader = NONE;
            for r in r..(r + u16::from(width)).min(Resource::COUNT as u16) {
                let range = match access {
                    Access::Write if replaces => self.fresh(k, r),
                    _ => self.present(k, r),
                };
                self.name(k, range);
                self.touched.push(range);
                // There is one condition code: it moves nowhere, and is free for the next one.
                if slot == Slot::Implied && r != CARRY {
                    self.list[range as usize].pinned = true;
                }
                if leader == NONE {
                    leader = range;
                    self.names.push(Name { slot, register: r, range });
                } else {
                    self.join(leader, range, width);
                }
            }
            // The two values of a compare-and-swap follow each other.
            let value = || matches!(slot, Slot::Operand(n) if matches!(m.operands[usize::from(n)], Operand::Reg { .. }));
            if swaps && access == Access::Read && leader != NONE && value() {
                if swap != NONE {
                    self.join(swap, leader, 2 * width);
                }
                swap = leader;
            }
        };
        effects::named(m, each, |_| ());
        self.starts.push((reads, if writes == NONE { self.touched.len() as u32 } else { writes }));
    }

    fn name(&mut self, k: u32, range: RangeId) {
        let w = &mut self.list[range as usize];
        w.names += 1;
        w.last = k;
    }

    /// The live range in a register; what nobody has written came into the block.
    fn present(&mut self, k: u32, r: u16) -> RangeId {
        let range = self.current[usize::from(r)];
        if range != NONE {
            return range;
        }
        let range = self.fresh(k, r);
        let w = &mut self.list[range as usize];
        (w.pinned, w.enters) = (true, true);
        range
    }

    fn fresh(&mut self, k: u32, r: u16) -> RangeId {
        let range = self.list.len() as RangeId;
        self.list.push(LiveRange {
            register: r,
            names: 0,
            pinned: false,
            leaves: false,
            enters: false,
            first: k,
            last: k,
            is: range,
            group: range,
            align: 1,
        });
        self.current[usize::from(r)] = range;
        range
    }

    /// The live range that stands for a group; the ways to it get shorter.
    fn find(&mut self, mut range: RangeId) -> RangeId {
        loop {
            let next = self.list[range as usize].group;
            if next == range {
                return range;
            }
            let after = self.list[next as usize].group;
            self.list[range as usize].group = after;
            range = after;
        }
    }

    /// Two live ranges are parts of one vector of so many registers.
    fn join(&mut self, a: RangeId, b: RangeId, width: u8) {
        let (a, b) = (self.find(a), self.find(b));
        let align = self.list[a as usize].align.max(self.list[b as usize].align);
        let of_width = if width > 2 { 4 } else { width };
        let (a, b) = (a.min(b), a.max(b));
        self.list[b as usize].group = a;
        self.list[a as usize].align = align.max(of_width);
    }

    /// Groups have their members together; one that is pinned pins all.
    fn collect(&mut self) {
        let n = self.list.len();
        self.places.clear();
        self.places.resize(n, (0, 0));
        for range in 0..n as RangeId {
            let root = self.root(range);
            // Shorter ways from now on; a root comes before its members.
            self.list[range as usize].group = root;
            self.places[root as usize].1 += 1;
            let pinned = self.list[range as usize].pinned;
            self.list[root as usize].pinned |= pinned;
        }
        let mut end = 0;
        for p in &mut self.places {
            let size = p.1;
            *p = (end, end);
            end += size;
        }
        self.members.clear();
        self.members.resize(n, 0);
        for range in 0..n as RangeId {
            let root = self.list[range as usize].group;
            let pinned = self.list[root as usize].pinned;
            self.list[range as usize].pinned = pinned;
            let p = &mut self.places[root as usize];
            self.members[p.1 as usize] = range;
            p.1 += 1;
        }
        self.unite();
    }

    /// LiveRanges that will share a register whatever happens become one, so that they keep their
    /// order: those that are pinned to it, and those that have the same place in a group.
    fn unite(&mut self) {
        let mut united = false;
        self.current.fill(NONE);
        for range in 0..self.list.len() as RangeId {
            united |= self.list[range as usize].pinned && self.unite_with_first(range);
        }
        for root in 0..self.list.len() {
            let (start, end) = self.places[root];
            if end - start < 2 || self.list[root].pinned {
                continue;
            }
            let members = start as usize..end as usize;
            for m in members.clone() {
                let r = self.register_of(m);
                self.current[r] = NONE;
            }
            members.for_each(|m| united |= self.unite_with_first(self.members[m]));
        }
        if united {
            let ranges = &self.list;
            let one = |range: &mut RangeId| *range = ranges[*range as usize].is;
            self.touched.iter_mut().for_each(one);
            self.names.iter_mut().for_each(|n| one(&mut n.range));
        }
    }

    fn register_of(&self, member: usize) -> usize {
        self.list[self.members[member] as usize].register.into()
    }

    /// Unites a live range with the first one that has been asked for with its register, if it is
    /// not that itself.
    fn unite_with_first(&mut self, range: RangeId) -> bool {
        let w = self.list[range as usize];
        let first = &mut self.current[usize::from(w.register)];
        if *first == NONE {
            *first = range;
            return false;
        }
        self.list[range as usize].is = *first;
        let into = &mut self.list[*first as usize];
        into.names += w.names;
        into.last = into.last.max(w.last);
        into.leaves |= w.leaves;
        true
    }

    /// Rewrites an instruction for the registers that live ranges have now, by [`Resource::index`];
    /// whether that changes it.
    pub(crate) fn rewrite(&self, k: usize, m: &mut MInst, register: impl Fn(RangeId) -> u16) -> bool {
        let mut changed = false;
        for name in &self.names[self.named[k] as usize..self.named[k + 1] as usize] {
            let new = register(name.range);
            if name.register == new {
                continue;
            }
            changed = true;
            let (gpr, pred) = (Resource::register(new).map(Reg), new as u8);
            match name.slot {
                Slot::Guard => m.guard = Pred { num: pred, ..m.guard },
                Slot::Implied => {}
                Slot::Operand(n) => match (&mut m.operands[usize::from(n)], gpr) {
                    (Operand::Pred(p), _) => *p = Pred { num: pred, ..*p },
                    (Operand::Reg { reg, .. }, Some(r)) => *reg = r,
                    (
                        Operand::Mem { base, .. } | Operand::Const { base, .. } | Operand::Attr { base, .. },
                        Some(r),
                    ) => *base = r,
                    _ => {}
                },
            }
        }
        changed
    }
}

/// Instructions from the first to the last of a chain of condition codes that may change places with others.
const LONGEST_CHAIN: u32 = 16;

const CARRY: u16 = Resource::Carry.index() as u16;
