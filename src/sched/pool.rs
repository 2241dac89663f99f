//! Which registers are free while a block is scheduled, and who is in the others.

use super::live::Set;
use super::model::{Cycle, latency_of};
use super::webs::{NONE, WebId, Webs};
use crate::isa::effects::Resource;
use crate::isa::{Op, latency};

/// What may become of an instruction that wants registers.
pub enum Room {
    Found,
    /// There will be, in that cycle.
    Later(Cycle),
    /// Not before another web ends.
    No,
}

/// The registers of a warp during a block.
pub struct Pool {
    /// By web: its register, once it has one, as [`Resource::index`].
    register: Vec<u16>,
    /// By web: names that are still to come.
    names: Vec<u32>,
    /// By web: the cycle from which its register may be written once it has ended.
    busy: Vec<Cycle>,
    /// By register: the first cycle in which it may be written by a new web, and whether somebody is there.
    free_at: [Cycle; Resource::COUNT],
    taken: Set,
    /// By register: the web that had it last.
    holder: [WebId; Resource::COUNT],
    /// Registers that webs may move to.
    allowed: Set,
    /// By register: the first instruction of the old order that writes it for good, if none has issued yet.
    claimed: [u32; Resource::COUNT],
    /// Where the search for a register goes on: the one that has been free for long is not waited for.
    next: u16,
    /// Registers that the code as it was had, and how many there may be.
    old: u16,
    limit: u16,
    /// One more than the last that a web has had.
    used: u16,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            register: Vec::new(),
            names: Vec::new(),
            busy: Vec::new(),
            free_at: [0; Resource::COUNT],
            taken: Set::default(),
            holder: [NONE; Resource::COUNT],
            allowed: Set::default(),
            claimed: [u32::MAX; Resource::COUNT],
            next: FIRST,
            old: 0,
            limit: 0,
            used: 0,
        }
    }
}

const NOWHERE: u16 = u16::MAX;
const FIRST: u16 = Resource::Gpr(0).index() as u16;

impl Pool {
    /// A block starts: what comes into it, or goes through it, has its register. Webs may move to those
    /// of `allowed` below `limit`; the code has `old` registers so far.
    pub fn start(&mut self, webs: &Webs, after: &Set, allowed: &Set, old: u32, limit: u32) {
        let n = webs.webs.len();
        self.register.clear();
        self.names.clear();
        self.busy.clear();
        self.busy.resize(n, 0);
        self.free_at.fill(0);
        self.claimed.fill(u32::MAX);
        self.next = FIRST;
        self.used = 0;
        self.old = FIRST + old.min(limit).min(254) as u16;
        self.limit = FIRST + limit.min(254) as u16;
        self.allowed = *allowed;
        // What is read afterwards and not named here goes through.
        self.taken = *after;
        for w in &webs.webs {
            self.register.push(if w.pinned { w.register } else { NOWHERE });
            self.names.push(w.names);
            if w.pinned && !w.enters {
                self.taken.remove(w.register);
                let claimed = &mut self.claimed[usize::from(w.register)];
                *claimed = w.first.min(*claimed);
            }
        }
        for w in webs.webs.iter().filter(|w| w.enters) {
            self.taken.insert(w.register);
            self.holder[usize::from(w.register)] = w.is;
            self.claimed[usize::from(w.register)] = u32::MAX;
        }
    }

    /// General registers up to the last one that a web has had.
    pub fn used(&self) -> u32 {
        u32::from(self.used.saturating_sub(FIRST))
    }

    /// The register of every web, as [`Resource::index`].
    pub fn registers(&self) -> &[u16] {
        &self.register
    }

    /// The register of a web that has been defined.
    pub fn register(&self, web: WebId) -> u16 {
        self.register[web as usize]
    }

    /// Finds room for what an instruction writes: for webs that are not there yet. `now` is when it issues, `strictly`
    /// whether registers that become free in this cycle are out of the question: it goes before an instruction that
    /// has issued in it, which may read them.
    pub fn place(
        &mut self,
        webs: &Webs,
        reads: &[WebId],
        writes: &[WebId],
        op: Op,
        now: Cycle,
        strictly: bool,
    ) -> Room {
        // What it reads last is free for what it writes, unless it is read late.
        let early = !strictly && !latency::holds_sources(op) && !latency::is_texture(op);
        if early {
            self.count_down(webs, reads);
        }
        let room = self.find(webs, writes, now + Cycle::from(!strictly));
        if early {
            self.count_up(webs, reads, !matches!(room, Room::Found));
        }
        room
    }

    fn count_down(&mut self, webs: &Webs, reads: &[WebId]) {
        for &web in reads {
            self.names[web as usize] -= 1;
            if self.names[web as usize] == 0 && !webs.webs[web as usize].leaves {
                self.taken.remove(self.register[web as usize]);
            }
        }
    }

    /// The opposite; `back` if nobody has taken the registers meanwhile.
    fn count_up(&mut self, webs: &Webs, reads: &[WebId], back: bool) {
        for &web in reads {
            self.names[web as usize] += 1;
            if back && !webs.webs[web as usize].leaves {
                let r = self.register[web as usize];
                self.taken.insert(r);
                self.holder[usize::from(r)] = web;
            }
        }
    }

    fn find(&mut self, webs: &Webs, writes: &[WebId], before: Cycle) -> Room {
        let mut found: Vec<WebId> = Vec::new();
        let mut room = Room::Found;
        for &web in writes {
            let w = &webs.webs[web as usize];
            let there = self.register[web as usize];
            if w.pinned {
                let new = !w.enters && self.names[web as usize] == w.names;
                if new && self.taken.has(there) {
                    room = Room::No;
                } else if new && self.free_at[usize::from(there)] >= before {
                    room = Room::Later(self.free_at[usize::from(there)]);
                }
            } else if there == NOWHERE {
                room = self.find_group(webs, web, before);
                if matches!(room, Room::Found) {
                    found.push(web);
                }
            }
            if !matches!(room, Room::Found) {
                break;
            }
        }
        if !matches!(room, Room::Found) {
            for web in found {
                for &m in webs.group(web) {
                    self.taken.remove(self.register[m as usize]);
                    self.register[m as usize] = NOWHERE;
                }
            }
        }
        room
    }

    /// Takes registers for a group: of those that the code had the next ones that are free, or else new ones.
    fn find_group(&mut self, webs: &Webs, web: WebId, before: Cycle) -> Room {
        let group = webs.group(web);
        if let &[single] = group {
            return self.find_single(webs, single, before);
        }
        let register = |m: WebId| webs.webs[m as usize].register;
        let (lowest, highest) =
            group.iter().fold((u16::MAX, 0), |(l, h), &m| (l.min(register(m)), h.max(register(m))));
        let gpr = Resource::register(lowest).is_some();
        let (start, old, end) = if gpr { (FIRST, self.old, self.limit) } else { (0, 7, 7) };
        let (align, span) = (webs.align(web), highest - lowest + 1);
        let residue = (lowest - start) % align;
        let next = if gpr { start + (self.next - start) / align * align + residue } else { start };
        let mut best: Option<(Cycle, u16)> = None;
        for (from, to) in [(next, old), (start + residue, next), (old.next_multiple_of(align) + residue, end)]
        {
            let mut base = from;
            while base + span <= to {
                let free = |at: Cycle, &m: &WebId| {
                    self.free_for(webs, m, base + register(m) - lowest).map(|r| at.max(r))
                };
                if let Some(at) = group.iter().try_fold(0, free) {
                    if at < before {
                        self.take(group, base, lowest, webs);
                        return Room::Found;
                    }
                    if best.is_none_or(|b| at < b.0) {
                        best = Some((at, base));
                    }
                }
                base += align;
            }
        }
        best.map_or(Room::No, |(at, _)| Room::Later(at))
    }

    /// The same for a web of its own.
    fn find_single(&mut self, webs: &Webs, web: WebId, before: Cycle) -> Room {
        let w = &webs.webs[web as usize];
        let gpr = Resource::register(w.register).is_some();
        let (start, old, end) = if gpr { (FIRST, self.old, self.limit) } else { (0, 7, 7) };
        let next = if gpr { self.next.min(old) } else { start };
        let mut best: Option<Cycle> = None;
        for range in [next..old, start..next, old..end] {
            let (mut from, to) = (range.start, range.end);
            while let Some(r) = self.allowed.first_without(&self.taken, from..to) {
                from = r + 1;
                if w.last >= self.claimed[usize::from(r)] {
                    continue;
                }
                let at = self.free_at[usize::from(r)];
                if at < before {
                    self.take(&[web], r, w.register, webs);
                    return Room::Found;
                }
                best = Some(best.map_or(at, |b| b.min(at)));
            }
        }
        best.map_or(Room::No, Room::Later)
    }

    fn take(&mut self, group: &[WebId], base: u16, lowest: u16, webs: &Webs) {
        for &m in group {
            // Those that have become one with another are taken twice.
            let r = base + webs.webs[m as usize].register - lowest;
            self.register[m as usize] = r;
            self.taken.insert(r);
            self.holder[usize::from(r)] = webs.webs[m as usize].is;
        }
        self.next = (base + 1).max(FIRST);
    }

    /// The cycle from which a register is free for a web, until that ends. One that somebody is to have later, whatever
    /// happens, is free for those that ended before that in the old order: then nothing that they wait for waits for it.
    fn free_for(&self, webs: &Webs, web: WebId, r: u16) -> Option<Cycle> {
        let free = self.allowed.has(r)
            && !self.taken.has(r)
            && webs.webs[web as usize].last < self.claimed[usize::from(r)];
        free.then(|| self.free_at[usize::from(r)])
    }

    /// An instruction issues: webs end, and those that it defines are there.
    pub fn issue(&mut self, webs: &Webs, reads: &[WebId], writes: &[WebId], op: Op, now: Cycle) {
        let hold = if latency::holds_sources(op) { latency::HOLD } else { 0 };
        for &web in reads {
            let busy = &mut self.busy[web as usize];
            *busy = (*busy).max(now + Cycle::from(hold));
        }
        // First those that end: a new one may take their register.
        reads.iter().for_each(|&web| self.named(webs, web));
        for &web in writes {
            let r = self.register[web as usize];
            self.taken.insert(r);
            self.holder[usize::from(r)] = web;
            if webs.webs[web as usize].pinned {
                self.claimed[usize::from(r)] = u32::MAX;
            }
            if Resource::register(r).is_some() {
                self.used = self.used.max(r + 1);
            }
            let there = latency_of(op, r).min(latency::typical(op).max(latency::CARRY));
            let busy = &mut self.busy[web as usize];
            *busy = (*busy).max(now + Cycle::from(there));
            self.named(webs, web);
        }
    }

    /// One more instruction that names a web has issued; the last one ends it.
    fn named(&mut self, webs: &Webs, web: WebId) {
        let k = web as usize;
        self.names[k] -= 1;
        if self.names[k] == 0 && !webs.webs[k].leaves {
            let r = self.register[k];
            if self.holder[usize::from(r)] != web {
                return;
            }
            self.taken.remove(r);
            self.free_at[usize::from(r)] = self.busy[k];
        }
    }
}
