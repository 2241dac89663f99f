//! `racecheck`: accesses of two threads to the same memory, at least one of which writes, that
//! nothing orders.
//!
//! What orders is found by vector clocks over warps ([`clock`]); what an access may be in conflict
//! with is remembered word by word ([`history`]).
//!
//! - The instructions of a warp are ordered by lockstep. Two of its lanes race only if one
//!   instruction writes different values to one place.
//! - What a warp did before it arrives at a barrier comes before what those do that leave it.
//! - An atomic orders nothing: it is relaxed, as in GLSL and OpenCL. It publishes what its warp did
//!   before the last fence (MEMBAR) in front of it; a warp that accesses the same place atomically
//!   later has learnt of that after its next fence. A fence for the block (MEMBAR.CTA) does so
//!   among the warps of the block only. A barrier is such a fence, too: compilers leave one out
//!   where a barrier follows.
//! - Atomic are ATOM and RED, LDSLK that gets the lock and the store that gives it back, and loads
//!   and stores past the incoherent cache (.CG, .CV, .WT), which is what atomic loads, volatile and
//!   coherent accesses are compiled to. They are in conflict with other accesses, not with each
//!   other.
//! - A loop around a compare-and-swap begins with a plain read, which it then confirms. So a read
//!   of what another warp writes atomically is a race only if the warp gets to a barrier or to its
//!   end without an atomic of its own on that place.
//! - Two warps that write the same value race as well, but whichever wins, the value is there: a
//!   note, unless the check is strict.
//!
//! A block's shared memory is always watched; global memory (among the blocks of a launch and the
//! warps of each) on request. Then blocks run in order, on one thread of the host. Nothing is
//! remembered from one launch to the next.

mod clock;
mod history;

use crate::check::Checks;
use crate::code::operand::Scope;
use crate::fault::FaultKind;
use crate::trap::{NoteKey, Other, Trap};
pub(crate) use clock::Clock;
use clock::Who;
pub(crate) use history::Class;
use history::{Access, History};
use rustc_hash::{FxHashMap, FxHashSet};

impl Scope {
    const ALL: [Scope; 2] = [Scope::Block, Scope::Device];

    /// What a fence of this scope does among narrower ones, too.
    fn and_narrower(self) -> impl Iterator<Item = usize> {
        0..=self as usize
    }
}

/// A word of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Word {
    Shared(usize),
    /// Of a buffer.
    Global(usize, usize),
}

/// What one lane does to one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Does {
    pub class: Class,
    pub warp: u32,
    pub lane: usize,
    pub pc: u32,
    /// The instruction, by a number that no other one of the block has.
    pub stamp: u64,
    /// A bit for each byte of the word.
    pub bytes: u8,
    /// Of those, the ones that a plain write leaves as they are.
    pub same: u8,
}

/// A memory: who accessed it, and what atomics publish there.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    history: History,
    /// By word, and by the block among whose warps it is published, if not among all.
    published: FxHashMap<(Word, Option<u32>), Clock>,
}

impl Watched {
    pub(crate) fn new() -> Watched {
        Watched { history: History::new(), published: FxHashMap::default() }
    }
}

/// What is known of a warp; arrays are by [`Scope`].
#[derive(Clone, Debug)]
struct Order {
    now: Clock,
    /// What it had done, and knew of, at its last fence.
    fenced: [Clock; 2],
    /// What it has met by atomics since its last fence.
    met: [Clock; 2],
    /// Its own count at the last barrier.
    settled: u32,
}

/// The race checker of a block.
#[derive(Clone, Debug)]
pub(crate) struct Races {
    block: u32,
    strict: bool,
    warps: Vec<Order>,
    shared: Watched,
    /// Global memory, if it is watched, while the block runs.
    global: Option<Box<Watched>>,
    /// What the lanes of the current instruction have written.
    written: FxHashMap<Word, Vec<(usize, u8)>>,
    stamp: u64,
    /// Unordered writes of the same value that have been noted, by the places of both.
    same_values: FxHashSet<(u32, u32)>,
    /// Those of them that nobody has taken yet.
    fresh: Vec<Trap>,
    /// Reads, by their warps, of what others write atomically, numbered as they were found.
    doubts: FxHashMap<(u32, Word), (u64, Trap)>,
    doubted: u64,
}

impl Races {
    pub(crate) fn new(block: u64, blocks: u64, warps: usize, checks: Checks) -> Races {
        let block = block as u32;
        let empty = Clock::new(if checks.global_race { blocks } else { 1 });
        let order = |warp: usize| {
            let mut now = empty.clone();
            now.advance(Who { block, warp: warp as u8 });
            Order { now, fenced: Default::default(), met: Default::default(), settled: 0 }
        };
        Races {
            block,
            strict: checks.strict_race,
            warps: (0..warps).map(order).collect(),
            shared: Watched::new(),
            global: None,
            written: FxHashMap::default(),
            stamp: 0,
            same_values: FxHashSet::default(),
            fresh: Vec::new(),
            doubts: FxHashMap::default(),
            doubted: 0,
        }
    }

    /// Exchanges the record of global memory, which goes from block to block.
    pub(crate) fn exchange_global(&mut self, global: &mut Option<Box<Watched>>) {
        std::mem::swap(&mut self.global, global);
    }

    /// Unordered writes of the same value that were found since the last call: one for each pair of
    /// instructions.
    pub(crate) fn take_same_values(&mut self) -> impl Iterator<Item = (NoteKey, Trap)> {
        let key = |t: &Trap| (t.0.pc.unwrap_or_default(), t.0.other.map(|o| o.pc), None);
        std::mem::take(&mut self.fresh).into_iter().map(move |t| (key(&t), t))
    }

    fn who(&self, warp: u32) -> Who {
        Who { block: self.block, warp: warp as u8 }
    }

    /// A warp executes a fence.
    pub(crate) fn fence(&mut self, warp: u32, scope: Scope) {
        let who = self.who(warp);
        let order = &mut self.warps[warp as usize];
        scope.and_narrower().for_each(|s| order.now.join(&std::mem::take(&mut order.met[s])));
        scope.and_narrower().for_each(|s| order.fenced[s] = order.now.clone());
        order.now.advance(who);
    }

    /// A warp arrives at a barrier: what it did is published in `barrier`.
    pub(crate) fn arrive(&mut self, warp: u32, barrier: &mut Clock) {
        self.fence(warp, Scope::Block);
        barrier.join(&self.warps[warp as usize].fenced[Scope::Block as usize]);
    }

    /// A warp leaves a barrier.
    pub(crate) fn leave(&mut self, warp: u32, barrier: &Clock) {
        self.warps[warp as usize].now.join(barrier);
        self.fence(warp, Scope::Block);
    }

    fn watched(&mut self, word: Word) -> Option<&mut Watched> {
        match word {
            Word::Shared(_) => Some(&mut self.shared),
            Word::Global(..) => self.global.as_deref_mut(),
        }
    }

    /// A warp has read a place atomically.
    pub(crate) fn meet(&mut self, warp: u32, word: Word) {
        for scope in Scope::ALL {
            let among = (scope == Scope::Block).then_some(self.block);
            let clock = self.watched(word).and_then(|w| w.published.get(&(word, among)));
            if let Some(clock) = clock.cloned() {
                self.warps[warp as usize].met[scope as usize].join(&clock);
            }
        }
    }

    /// A warp has written a place atomically.
    pub(crate) fn publish(&mut self, warp: u32, word: Word) {
        for scope in Scope::ALL {
            let among = (scope == Scope::Block).then_some(self.block);
            let clock = self.warps[warp as usize].fenced[scope as usize].clone();
            if let Some(watched) = self.watched(word).filter(|_| !clock.is_empty()) {
                watched.published.entry((word, among)).or_default().join(&clock);
            }
        }
    }

    /// Records what a lane does to a word, unless that is a race. `place` names a byte of the word.
    pub(crate) fn access(
        &mut self,
        word: Word,
        does: Does,
        place: impl Fn(u32) -> String,
    ) -> Result<(), Trap> {
        let who = self.who(does.warp);
        let clock = self.warps[does.warp as usize].now.get(who);
        let me = Access { who, clock, pc: does.pc, lane: does.lane as u8, bytes: does.bytes };
        if does.class == Class::Write
            && let Some((lane, byte)) = self.written_otherwise(word, does)
        {
            let detail = format!(
                "write to {}, where another thread of the warp writes another value by the same instruction",
                place(byte)
            );
            let other = Other { block: None, warp: does.warp, lane, pc: does.pc };
            return Err(Trap::new(FaultKind::Race, does.lane, detail).with_other(other));
        }
        let (watched, at) = match word {
            Word::Shared(word) => (&mut self.shared, (0, word)),
            Word::Global(buffer, word) => match &mut self.global {
                Some(watched) => (&mut **watched, (buffer, word)),
                None => return Ok(()),
            },
        };
        let (warps, block) = (&self.warps, self.block);
        let settled = |who: Who| match who.block == block {
            true => warps[usize::from(who.warp)].settled,
            false => u32::MAX,
        };
        let same = if self.strict { 0 } else { does.same };
        let now = &warps[does.warp as usize].now;
        let found = watched.history.access(at, does.class, me, same, now, &settled);
        let common = |a: Access| place((a.bytes & me.bytes).trailing_zeros());
        if let Some((class, a)) = found.race {
            return Err(self.race((does.class, me), (class, a), &common(a)));
        }
        if matches!(does.class, Class::AtomicRead | Class::AtomicWrite) {
            self.doubts.remove(&(does.warp, word));
        }
        for a in found.doubts {
            let (read, write) = if does.class == Class::Read { (me, a) } else { (a, me) };
            let key = (u32::from(read.who.warp), word);
            if !self.doubts.contains_key(&key) {
                let race = self.race((Class::Read, read), (Class::AtomicWrite, write), &common(a));
                self.doubted += 1;
                self.doubts.insert(key, (self.doubted, race));
            }
        }
        if let Some(a) = found.agrees.filter(|a| self.same_values.insert((me.pc, a.pc))) {
            let (party, nothing) = self.parties(a);
            let detail = format!("two {party}s write the same value to {} {nothing}", common(a));
            self.fresh.push(self.trap(me, a, detail));
        }
        Ok(())
    }

    /// What the other side is, and what is missing.
    fn parties(&self, other: Access) -> (&'static str, &'static str) {
        match other.who.block == self.block {
            true => ("warp", "without a barrier between"),
            false => ("block", "and nothing orders the two"),
        }
    }

    fn race(&self, (mine, me): (Class, Access), (theirs, other): (Class, Access), place: &str) -> Trap {
        let (party, nothing) = self.parties(other);
        let mine = match mine {
            Class::Write => "write to",
            Class::Read => "read of",
            Class::AtomicWrite | Class::AtomicRead => "atomic access to",
        };
        let theirs = match theirs {
            Class::Write => "written",
            Class::Read => "read",
            Class::AtomicWrite => "atomically written",
            Class::AtomicRead => "atomically read",
        };
        self.trap(me, other, format!("{mine} {place}, {theirs} by another {party} {nothing}"))
    }

    fn trap(&self, me: Access, other: Access, detail: String) -> Trap {
        let other = Other {
            block: (other.who.block != self.block).then_some(other.who.block),
            warp: other.who.warp.into(),
            lane: other.lane.into(),
            pc: other.pc,
        };
        let mut trap = Trap::new(FaultKind::Race, me.lane.into(), detail).with_other(other);
        trap.0.pc = Some(me.pc);
        trap
    }

    /// A race of a warp that gets to a barrier or to its end without an atomic of its own where it
    /// has read what others write atomically: the first of those that are left. None: no read of it
    /// is confirmed any more.
    pub(crate) fn settle(&mut self, warp: u32) -> Option<Trap> {
        let who = self.who(warp);
        let mine = self.doubts.iter().filter(|((w, _), _)| *w == warp);
        let Some(key) = mine.min_by_key(|(_, (n, _))| *n).map(|(key, _)| *key) else {
            let order = &mut self.warps[warp as usize];
            order.settled = order.now.get(who);
            return None;
        };
        self.doubts.remove(&key).map(|(_, trap)| trap)
    }

    /// The lane that has written another value to some of the same bytes by the same instruction,
    /// and the first of them.
    fn written_otherwise(&mut self, word: Word, does: Does) -> Option<(usize, u32)> {
        if self.stamp != does.stamp {
            self.stamp = does.stamp;
            self.written.clear();
        }
        let lanes = self.written.entry(word).or_default();
        let differs = does.bytes & !does.same;
        let other = lanes.iter().find(|(lane, bytes)| *lane != does.lane && bytes & differs != 0);
        if let Some(&(lane, bytes)) = other {
            return Some((lane, (bytes & differs).trailing_zeros()));
        }
        lanes.push((does.lane, does.bytes));
        None
    }
}
