//! The checkers of memory that need a record of every access: `initcheck` and `racecheck`.
//!
//! Races are found by vector clocks over warps: a barrier, or an atomic on the same address, orders what came
//! before it in one warp with what comes after it in another. Instructions of one warp are ordered by lockstep;
//! two of its lanes race only if one instruction writes different values to one place. Two warps that write the same
//! value race as well, but whichever wins, the value is there: a note, unless the check is strict.

use super::Checks;
use super::block::{Env, State};
use super::fault::FaultKind;
use super::inst::Width;
use super::trap::{Other, Trap};
use super::warp::Warp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::Ordering::Relaxed;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Read,
    /// The words tell whether two threads that write the same place agree.
    Write([u32; 4]),
    AtomicRead,
    AtomicWrite,
}

/// Where an access goes: a buffer, or a byte offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where {
    Global(usize),
    Shared(usize),
    Local,
}

/// One lane's access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    pub lane: usize,
    pub at: Where,
    pub addr: u64,
    pub width: Width,
    pub kind: Kind,
}

/// One recorded access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Access {
    warp: u32,
    lane: usize,
    pc: u32,
    /// The warp's own clock.
    clock: u32,
    /// The step it happened in.
    stamp: u64,
    /// Of the byte.
    value: u8,
    atomic: bool,
}

/// What is known of one byte of shared memory.
#[derive(Clone, Default, Debug)]
struct Cell {
    written: bool,
    write: Option<Access>,
    /// The last read of each warp since the last write.
    reads: Vec<Access>,
}

/// The record of a block.
#[derive(Debug)]
pub struct Shadow {
    shared: Vec<Cell>,
    /// By warp: the clock of every warp that it has synchronised with.
    clocks: Vec<Vec<u32>>,
    /// By address of an atomic: the clocks that its last writer had.
    atomics: FxHashMap<usize, Vec<u32>>,
    race: bool,
    strict: bool,
    init: bool,
    /// Unordered writes of the same value, by the places of both.
    agreements: FxHashSet<(u32, u32)>,
    /// Those of them that nobody has taken yet.
    fresh: Vec<Trap>,
}

fn join(to: &mut [u32], from: &[u32]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t = (*t).max(*f);
    }
}

impl Shadow {
    pub fn new(shared: usize, warps: usize, checks: Checks) -> Shadow {
        let clocks = (0..warps).map(|w| (0..warps).map(|i| u32::from(i == w)).collect()).collect();
        Shadow {
            shared: vec![Cell::default(); shared],
            clocks,
            atomics: FxHashMap::default(),
            race: checks.race,
            strict: checks.strict_race,
            init: checks.init,
            agreements: FxHashSet::default(),
            fresh: Vec::new(),
        }
    }

    /// Unordered writes of the same value that were found since the last call: one for each pair of instructions.
    pub fn take_agreements(&mut self) -> Vec<Trap> {
        std::mem::take(&mut self.fresh)
    }

    /// A warp arrives at a barrier: what it did is published in `barrier`.
    pub fn arrive(&mut self, warp: u32, barrier: &mut Vec<u32>) {
        let mine = &mut self.clocks[warp as usize];
        if barrier.is_empty() {
            barrier.resize(mine.len(), 0);
        }
        join(barrier, mine);
        mine[warp as usize] += 1;
    }

    /// A warp leaves a barrier.
    pub fn leave(&mut self, warp: u32, barrier: &[u32]) {
        join(&mut self.clocks[warp as usize], barrier);
    }

    fn shared(&mut self, w: &Warp, pc: u32, stamp: u64, at: usize, r: Request) -> Result<(), Trap> {
        let Request { lane, width, kind, .. } = r;
        let size = width.bytes() as usize;
        let warp = w.index as usize;
        if kind == Kind::AtomicRead
            && let Some(seen) = self.atomics.get(&at)
        {
            join(&mut self.clocks[warp], seen);
        }
        let value = |byte: usize| match kind {
            Kind::Write(words) => words[(byte - at) / 4].to_le_bytes()[(byte - at) % 4],
            _ => 0,
        };
        let reads = matches!(kind, Kind::Read | Kind::AtomicRead);
        let atomic = matches!(kind, Kind::AtomicRead | Kind::AtomicWrite);
        let clock = self.clocks[warp][warp];
        for byte in at..(at + size).min(self.shared.len()) {
            let me = Access { warp: w.index, lane, pc, clock, stamp, value: value(byte), atomic };
            let cell = &mut self.shared[byte];
            if self.race {
                let clocks = &self.clocks[warp];
                // A plain read beside an atomic is how loops around compare-and-swap begin.
                let ordered = |a: &Access| a.warp == me.warp || a.clock <= clocks[a.warp as usize];
                let same = |a: &&Access| {
                    !reads
                        && a.warp == me.warp
                        && a.stamp == me.stamp
                        && a.lane != me.lane
                        && a.value != me.value
                };
                let bad_write = cell.write.as_ref().filter(|a| !(ordered(a) || reads && a.atomic) || same(a));
                let bad_read = if reads || atomic { None } else { cell.reads.iter().find(|a| !ordered(a)) };
                let agrees = |a: &&Access| {
                    !self.strict && !reads && !atomic && !a.atomic && a.warp != me.warp && a.value == me.value
                };
                let agreed = bad_write.filter(agrees).filter(|_| bad_read.is_none());
                if let Some(other) = agreed {
                    if self.agreements.insert((pc, other.pc)) {
                        let detail = format!(
                            "two warps write the same value to shared memory at {byte:#x} without a barrier between"
                        );
                        let other = Other { warp: other.warp, lane: other.lane, pc: other.pc };
                        let mut note = Trap::new(FaultKind::Race, lane, detail).with_other(other);
                        note.0.pc = Some(pc);
                        self.fresh.push(note);
                    }
                } else if let Some(other) = bad_write.or(bad_read) {
                    let (mine, theirs) = (
                        if reads { "read" } else { "write" },
                        if bad_write.is_some() { "written" } else { "read" },
                    );
                    let detail = format!(
                        "{mine} of shared memory at {byte:#x}, {theirs} by another thread without a barrier between"
                    );
                    let other = Other { warp: other.warp, lane: other.lane, pc: other.pc };
                    return Err(Trap::new(FaultKind::Race, lane, detail).with_other(other));
                }
            }
            if reads {
                match cell.reads.iter_mut().find(|a| a.warp == me.warp) {
                    Some(a) => *a = me,
                    None if self.race => cell.reads.push(me),
                    None => {}
                }
            } else {
                cell.written = true;
                cell.write = Some(me);
                cell.reads.clear();
            }
        }
        if kind == Kind::AtomicWrite {
            let n = self.clocks.len();
            join(self.atomics.entry(at).or_insert_with(|| vec![0; n]), &self.clocks[warp]);
            self.clocks[warp][warp] += 1;
        }
        Ok(())
    }
}

impl Shadow {
    /// The bits of a word of shared memory that nothing has written.
    pub fn unwritten(&self, word: usize) -> u32 {
        if !self.init {
            return 0;
        }
        let written = |byte: usize| self.shared.get(byte).is_none_or(|c| c.written);
        (0..4).filter(|b| !written(4 * word + b)).fold(0, |m, b| m | 0xff << (8 * b))
    }

    /// A byte was written with bits that are undefined.
    pub fn unwrite(&mut self, byte: usize) {
        if let Some(cell) = self.shared.get_mut(byte) {
            cell.written = false;
        }
    }
}

impl State {
    /// Checks and records one lane's access.
    #[inline]
    pub(super) fn check(&mut self, env: &Env<'_>, w: &Warp, r: Request) -> Result<(), Trap> {
        if self.shadow.is_none() {
            return Ok(());
        }
        self.check_slow(env, w, r)
    }

    #[cold]
    fn check_slow(&mut self, env: &Env<'_>, w: &Warp, r: Request) -> Result<(), Trap> {
        let Request { lane, at, addr, width, kind } = r;
        let size = width.bytes() as usize;
        let reads = matches!(kind, Kind::Read | Kind::AtomicRead);
        let unwritten = |what: &str| {
            let detail = format!("{what} at {addr:#x}, which nothing has written");
            Err(Trap::new(FaultKind::Uninitialized, lane, detail))
        };
        match at {
            Where::Shared(at) => {
                let (pc, stamp) = (w.at, self.steps);
                match &mut self.shadow {
                    Some(shadow) => shadow.shared(w, pc, stamp, at, r),
                    None => Ok(()),
                }
            }
            Where::Local => Ok(()),
            Where::Global(b) => {
                let buffer = &env.memory.buffers[b];
                let Some(init) = buffer.init.as_ref().filter(|_| env.checks.init) else { return Ok(()) };
                for i in 0..size {
                    let bit = (addr - buffer.origin) as usize + i;
                    let (word, bit) = (&init[bit / 32], 1 << (bit % 32));
                    if !reads {
                        word.fetch_or(bit, Relaxed);
                    } else if word.load(Relaxed) & bit == 0 {
                        return unwritten("global memory");
                    }
                }
                Ok(())
            }
        }
    }
}
