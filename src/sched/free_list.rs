//! The free list: which registers are free while a block is scheduled, and which live range
//! occupies each of the others.

use super::live_ranges::{LiveRanges, NONE, RangeId};
use super::liveness::Set;
use crate::isa::effects::{Resource, is_texture};
use crate::isa::{Op, latency};
use nvir_asm::model::{Cycle, latency_of};

/// What may become of an instruction that wants registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    Found,
    /// There will be, in that cycle.
    Later(Cycle),
    /// Not before another live range ends.
    No,
}

/// What becomes of a range.
#[derive(Clone, Copy)]
struct Occupant {
    /// Its register, once it has one, as [`Resource::index`].
    register: u16,
    /// It is read after the block.
    leaves: bool,
    /// Names that are still to come.
    names: u32,
    /// The cycle from which its register may be written once it has ended.
    busy: Cycle,
}

/// The registers of a warp during a block.
pub(crate) struct FreeList {
    /// By range.
    occupants: Vec<Occupant>,
    /// By register: the first cycle in which it may be written by a new live range, and whether
    /// somebody is there.
    free_at: [Cycle; Resource::COUNT],
    taken: Set,
    /// By register: the live range that had it last.
    holder: [RangeId; Resource::COUNT],
    /// Registers that live ranges may move to.
    allowed: Set,
    /// By register: the first instruction of the old order that writes it for good, if none has
    /// issued yet.
    claimed: [u32; Resource::COUNT],
    /// Where the search for a register goes on: the one that has been free for long is not waited
    /// for.
    next: u16,
    /// Registers that the code as it was had, and how many there may be.
    old: u16,
    limit: u16,
    /// One more than the last that a live range has had.
    used: u16,
    /// How groups lie, by the live range that stands for each, as far as it was asked for.
    groups: Vec<Option<Group>>,
    /// How groups of the block lie, each once.
    shapes: Vec<Shape>,
    /// The first of the instructions for which registers are claimed.
    claims: u32,
    vain: Vain,
    /// What room was last looked for for in vain, if that was all that was looked for.
    wanted: Option<Kind>,
}

/// How the registers of a group lie in the code.
#[derive(Clone, Copy)]
struct Group {
    lowest: u16,
    /// Where its last live range ends in the old order.
    last: u32,
    shape: Shape,
    /// What its shape is looked up by in [`Vain`].
    kind: Kind,
}

/// What groups have in common for which there is room in the same places.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    gpr: bool,
    align: u16,
    residue: u16,
    /// Registers from the lowest to the highest.
    span: u16,
    /// A mask of those that it has, the lowest first; those far behind are left out.
    members: u64,
}

impl Shape {
    /// Whether it says all of how a group lies.
    fn is_whole(&self) -> bool {
        u32::from(self.span) <= u64::BITS
    }
}

/// What was looked for in vain, for an instruction that issues before a cycle, since registers were
/// taken or became free last. Many wait for the same, and are tried again whenever one becomes free.
#[derive(Default)]
struct Vain {
    before: Cycle,
    /// The number of what has happened to registers last, and the last number.
    stamp: u32,
    last: u32,
    known: [InVain; KINDS],
}

/// What room is looked for for, as a number.
pub(super) type Kind = u8;

/// What was found from a register on, when something had that number.
#[derive(Clone, Copy)]
struct InVain {
    stamp: u32,
    next: u16,
    room: Room,
}

impl Default for InVain {
    fn default() -> InVain {
        InVain { stamp: u32::MAX, next: 0, room: Room::No }
    }
}

/// What room is looked for for: a predicate, the condition code, a general register, and groups of so many shapes.
const KINDS: usize = 3 + 8;

impl Vain {
    /// Something has happened: gives what to go back to if it has not.
    fn renew(&mut self) -> u32 {
        self.last += 1;
        std::mem::replace(&mut self.stamp, self.last)
    }
}

impl Default for FreeList {
    fn default() -> FreeList {
        FreeList {
            occupants: Vec::new(),
            free_at: [0; Resource::COUNT],
            taken: Set::default(),
            holder: [NONE; Resource::COUNT],
            allowed: Set::default(),
            claimed: [u32::MAX; Resource::COUNT],
            next: FIRST,
            old: 0,
            limit: 0,
            used: 0,
            groups: Vec::new(),
            shapes: Vec::new(),
            claims: 0,
            vain: Vain::default(),
            wanted: None,
        }
    }
}

/// Whether what an instruction reads last is not free for what it writes.
pub(super) fn reads_late(op: Op) -> bool {
    latency::holds_sources(op) || is_texture(op)
}

const CARRY: u16 = Resource::Carry.index() as u16;
const NOWHERE: u16 = u16::MAX;
const FIRST: u16 = Resource::Gpr(0).index() as u16;

impl FreeList {
    /// A block starts: what comes into it, or goes through it, has its register. LiveRanges may
    /// move to those of `allowed` below `limit`; the code has `old` registers so far.
    pub(super) fn start(&mut self, ranges: &LiveRanges, after: &Set, allowed: &Set, old: u32, limit: u32) {
        self.next = FIRST;
        self.used = 0;
        self.vain = Vain::default();
        self.shapes.clear();
        self.groups.clear();
        self.groups.resize(ranges.list.len(), None);
        self.old = FIRST + old.min(limit).min(254) as u16;
        self.limit = FIRST + limit.min(254) as u16;
        // Nobody looks at others.
        let end = usize::from(self.limit.max(ranges.end()));
        self.free_at[..end].fill(0);
        self.claimed[..end].fill(u32::MAX);
        self.occupants.clear();
        self.allowed = *allowed;
        // What is read afterwards and not named here goes through.
        self.taken = *after;
        for w in &ranges.list {
            let register = if w.pinned { w.register } else { NOWHERE };
            self.occupants.push(Occupant { register, leaves: w.leaves, names: w.names, busy: 0 });
            if w.pinned && !w.enters {
                self.taken.remove(w.register);
                let claimed = &mut self.claimed[usize::from(w.register)];
                *claimed = w.first.min(*claimed);
            }
        }
        self.claims = self.claimed[..end].iter().copied().min().unwrap_or(u32::MAX);
        for w in ranges.list.iter().filter(|w| w.enters) {
            self.taken.insert(w.register);
            self.holder[usize::from(w.register)] = w.is;
            self.claimed[usize::from(w.register)] = u32::MAX;
        }
    }

    /// General registers up to the last one that a live range has had.
    pub(super) fn used(&self) -> u32 {
        u32::from(self.used.saturating_sub(FIRST))
    }

    /// The register of every live range, as [`Resource::index`].
    pub(super) fn registers(&self) -> Vec<u16> {
        self.occupants.iter().map(|s| s.register).collect()
    }

    /// The register of a live range that has been defined.
    pub(super) fn register(&self, range: RangeId) -> u16 {
        self.occupants[range as usize].register
    }

    /// Finds room for what an instruction writes: for live ranges that are not there yet. `now` is
    /// when it issues, `strictly` whether registers that become free in this cycle are out of the
    /// question: it goes before an instruction that has issued in it, which may read them.
    pub(crate) fn find_room(
        &mut self,
        ranges: &LiveRanges,
        reads: &[RangeId],
        writes: &[RangeId],
        op: Op,
        now: Cycle,
        strictly: bool,
    ) -> Room {
        let before = now + Cycle::from(!strictly);
        if self.vain.before != before {
            self.vain.before = before;
            self.vain.renew();
        }
        if reads.is_empty() {
            return self.find(ranges, writes, before);
        }
        // What it reads last is free for what it writes, unless it is read late.
        let early = !strictly && !reads_late(op);
        if !early {
            return self.find(ranges, writes, before);
        }
        let free = self.count_down(reads);
        // With these registers there may be room.
        let stamp = free.then(|| self.vain.renew());
        let room = self.find(ranges, writes, before);
        let back = !matches!(room, Room::Found);
        self.count_up(reads, back);
        if let Some(stamp) = stamp {
            self.vain.renew();
            if back {
                self.vain.stamp = stamp;
            }
        }
        room
    }

    /// What room was last looked for for in vain, if whoever wants the same finds as little; what an instruction reads does
    /// not matter to it.
    pub(super) fn wanted(&self) -> Option<Kind> {
        self.wanted
    }

    /// What [`find_room`](Self::find_room) says of an instruction that wanted this for the first of `writes`, if nothing has
    /// happened to registers since it was looked for.
    pub(super) fn still_in_vain(
        &self,
        kind: Kind,
        writes: &[RangeId],
        now: Cycle,
        strictly: bool,
    ) -> Option<Room> {
        let nowhere = |&range: &RangeId| self.occupants[range as usize].register == NOWHERE;
        let same = self.vain.before == now + Cycle::from(!strictly) && writes.first().is_some_and(nowhere);
        self.in_vain(kind).filter(|_| same)
    }

    /// Tells whether registers are free then.
    fn count_down(&mut self, reads: &[RangeId]) -> bool {
        let mut free = false;
        for &range in reads {
            let occupant = &mut self.occupants[range as usize];
            occupant.names -= 1;
            if occupant.names == 0 && !occupant.leaves {
                self.taken.remove(occupant.register);
                free = true;
            }
        }
        free
    }

    /// The opposite; `back` if nobody has taken the registers meanwhile.
    fn count_up(&mut self, reads: &[RangeId], back: bool) {
        for &range in reads {
            let occupant = &mut self.occupants[range as usize];
            occupant.names += 1;
            if back && !occupant.leaves {
                self.taken.insert(occupant.register);
                self.holder[usize::from(occupant.register)] = range;
            }
        }
    }

    fn find(&mut self, ranges: &LiveRanges, writes: &[RangeId], before: Cycle) -> Room {
        // A mask of those that have got a register here.
        let mut found = 0u64;
        self.wanted = None;
        for (n, &range) in writes.iter().enumerate() {
            let w = &ranges.list[range as usize];
            let occupant = self.occupants[range as usize];
            let mut room = Room::Found;
            if w.pinned {
                let new = !w.enters && occupant.names == w.names;
                if new && self.taken.has(occupant.register) {
                    room = Room::No;
                } else if new && self.free_at[usize::from(occupant.register)] >= before {
                    room = Room::Later(self.free_at[usize::from(occupant.register)]);
                }
            } else if occupant.register == NOWHERE {
                room = self.find_group(ranges, range, before);
                found |= u64::from(matches!(room, Room::Found)) << n;
            }
            if !matches!(room, Room::Found) {
                if n > 0 {
                    self.wanted = None;
                }
                if found == 0 {
                    return room;
                }
                let found = writes.iter().enumerate().filter(|(n, _)| found >> n & 1 != 0);
                for &m in found.flat_map(|(_, &range)| ranges.group(range)) {
                    let occupant = &mut self.occupants[m as usize];
                    self.taken.remove(occupant.register);
                    occupant.register = NOWHERE;
                    self.vain.renew();
                }
                return room;
            }
        }
        Room::Found
    }

    /// Takes registers for a group: of those that the code had the next ones that are free, or else
    /// new ones.
    fn find_group(&mut self, ranges: &LiveRanges, range: RangeId, before: Cycle) -> Room {
        let root = ranges.root(range);
        let group = ranges.group(root);
        if let &[single] = group {
            return self.find_single(ranges, single, before);
        }
        let Group { lowest, last, shape, kind } = self.group(ranges, root, group);
        let Shape { gpr, align, residue, span, .. } = shape;
        // Nobody's claim is in the way of those that end before.
        let free = last < self.claims && shape.is_whole();
        self.wanted = Some(kind).filter(|_| free);
        let known = self.wanted.and_then(|kind| self.in_vain(kind));
        if let Some(room) = known.filter(|_| !cfg!(debug_assertions)) {
            return room;
        }
        let register = |m: RangeId| ranges.list[m as usize].register;
        let (start, old, end) = self.bounds(lowest);
        let next = if gpr { start + (self.next - start) / align * align + residue } else { start };
        let mut best: Option<(Cycle, u16)> = None;
        for (from, to) in [(next, old), (start + residue, next), (old.next_multiple_of(align) + residue, end)]
        {
            let mut base = from;
            while base + span <= to {
                let free = |at: Cycle, &m: &RangeId| {
                    self.free_for(ranges, m, base + register(m) - lowest).map(|r| at.max(r))
                };
                if let Some(at) = group.iter().try_fold(0, free) {
                    if at < before {
                        debug_assert_eq!(known, None, "there is room");
                        self.take(group, base, lowest, ranges);
                        return Room::Found;
                    }
                    if best.is_none_or(|b| at < b.0) {
                        best = Some((at, base));
                    }
                }
                base += align;
            }
        }
        let room = best.map_or(Room::No, |(at, _)| Room::Later(at));
        debug_assert!(known.is_none_or(|known| known == room), "{known:?} is {room:?}");
        if free && known.is_none() {
            self.note_vain(kind, room);
        }
        room
    }

    /// How a group lies.
    fn group(&mut self, ranges: &LiveRanges, root: RangeId, group: &[RangeId]) -> Group {
        if let Some(group) = self.groups[root as usize] {
            return group;
        }
        let range = |&m: &RangeId| &ranges.list[m as usize];
        let lowest = group.iter().map(|m| range(m).register).min().unwrap_or(FIRST);
        let last = group.iter().map(|m| range(m).last).max().unwrap_or(0);
        let place = |m| range(m).register - lowest;
        let members = group.iter().fold(0, |mask, m| mask | 1u64.unbounded_shl(place(m).into()));
        let span = 1 + group.iter().map(place).max().unwrap_or(0);
        let gpr = Resource::register(lowest).is_some();
        let (start, align) = (if gpr { FIRST } else { 0 }, ranges.align(root));
        let shape = Shape { gpr, align, residue: (lowest - start) % align, span, members };
        // Blocks with more shapes are rare.
        let known = self.shapes.iter().position(|s| *s == shape).unwrap_or(self.shapes.len());
        let kind = 3 + known as Kind;
        if known == self.shapes.len() && usize::from(kind) < KINDS {
            self.shapes.push(shape);
        }
        *self.groups[root as usize].insert(Group { lowest, last, shape, kind })
    }

    /// What was found for a kind since something happened to registers.
    fn in_vain(&self, kind: Kind) -> Option<Room> {
        let known = self.vain.known.get(usize::from(kind))?;
        (known.stamp == self.vain.stamp && known.next == self.next).then_some(known.room)
    }

    fn note_vain(&mut self, kind: Kind, room: Room) {
        if let Some(known) = self.vain.known.get_mut(usize::from(kind)) {
            *known = InVain { stamp: self.vain.stamp, next: self.next, room };
        }
    }

    /// The first register that may be free, the end of those that the code had, and of all.
    fn bounds(&self, register: u16) -> (u16, u16, u16) {
        match register {
            FIRST.. => (FIRST, self.old, self.limit),
            // There is one condition code.
            CARRY => (CARRY, CARRY + 1, CARRY + 1),
            _ => (0, 7, 7),
        }
    }

    /// The same for a live range of its own.
    fn find_single(&mut self, ranges: &LiveRanges, range: RangeId, before: Cycle) -> Room {
        let w = &ranges.list[range as usize];
        let gpr = Resource::register(w.register).is_some();
        let free = w.last < self.claims;
        let kind = match w.register {
            FIRST.. => 2,
            CARRY => 1,
            _ => 0,
        };
        self.wanted = Some(kind).filter(|_| free);
        let known = self.wanted.and_then(|kind| self.in_vain(kind));
        if let Some(room) = known.filter(|_| !cfg!(debug_assertions)) {
            return room;
        }
        let (start, old, end) = self.bounds(w.register);
        let next = if gpr { self.next.min(old) } else { start };
        let mut best: Option<Cycle> = None;
        for registers in [next..old, start..next, old..end] {
            let (mut from, to) = (registers.start, registers.end);
            while let Some(r) = self.allowed.first_without(&self.taken, from..to) {
                from = r + 1;
                if w.last >= self.claimed[usize::from(r)] {
                    continue;
                }
                let at = self.free_at[usize::from(r)];
                if at < before {
                    debug_assert_eq!(known, None, "there is room");
                    self.take(&[range], r, w.register, ranges);
                    return Room::Found;
                }
                best = Some(best.map_or(at, |b| b.min(at)));
            }
        }
        let room = best.map_or(Room::No, Room::Later);
        debug_assert!(known.is_none_or(|known| known == room), "{known:?} is {room:?}");
        if free {
            self.note_vain(kind, room);
        }
        room
    }

    fn take(&mut self, group: &[RangeId], base: u16, lowest: u16, ranges: &LiveRanges) {
        self.vain.renew();
        for &m in group {
            // Those that have become one with another are taken twice.
            let r = base + ranges.list[m as usize].register - lowest;
            self.occupants[m as usize].register = r;
            self.taken.insert(r);
            self.holder[usize::from(r)] = ranges.list[m as usize].is;
        }
        if base >= FIRST {
            self.next = base + 1;
        }
    }

    /// The cycle from which a register is free for a live range, until that ends. One that somebody
    /// is to have later, whatever happens, is free for those that ended before that in the old
    /// order: then nothing that they wait for waits for it.
    fn free_for(&self, ranges: &LiveRanges, range: RangeId, r: u16) -> Option<Cycle> {
        let free = self.allowed.has(r)
            && !self.taken.has(r)
            && ranges.list[range as usize].last < self.claimed[usize::from(r)];
        free.then(|| self.free_at[usize::from(r)])
    }

    /// An instruction issues: live ranges end, and those that it defines are there. Tells whether
    /// there may be room where there was none: a register is free, or nobody but the last one that
    /// reads it keeps it.
    pub(super) fn issue(
        &mut self,
        ranges: &LiveRanges,
        reads: &[RangeId],
        writes: &[RangeId],
        op: Op,
        now: Cycle,
    ) -> bool {
        self.vain.renew();
        let hold = if latency::holds_sources(op) { latency::HOLD } else { 0 };
        for &range in reads {
            let busy = &mut self.occupants[range as usize].busy;
            *busy = (*busy).max(now + Cycle::from(hold));
        }
        // First those that end: a new one may take their register.
        let mut room = false;
        for &range in reads {
            self.named(range);
            room |= self.occupants[range as usize].names < 2;
        }
        for &range in writes {
            let occupant = &mut self.occupants[range as usize];
            let r = occupant.register;
            self.taken.insert(r);
            self.holder[usize::from(r)] = range;
            if ranges.list[range as usize].pinned {
                room |= self.claimed[usize::from(r)] != u32::MAX;
                self.claimed[usize::from(r)] = u32::MAX;
            }
            if Resource::register(r).is_some() {
                self.used = self.used.max(r + 1);
            }
            let there = latency_of(op, r).min(latency::typical(op).max(latency::CARRY));
            occupant.busy = occupant.busy.max(now + Cycle::from(there));
            self.named(range);
            room |= self.occupants[range as usize].names == 0;
        }
        room
    }

    /// One more instruction that names a live range has issued; the last one ends it.
    fn named(&mut self, range: RangeId) {
        let occupant = &mut self.occupants[range as usize];
        occupant.names -= 1;
        if occupant.names == 0 && !occupant.leaves {
            let r = usize::from(occupant.register);
            if self.holder[r] != range {
                return;
            }
            self.taken.remove(occupant.register);
            self.free_at[r] = occupant.busy;
        }
    }
}
