//! The checkers of memory that need a record of every access: `initcheck` of memory, and what
//! `racecheck` ([`super::race`]) is told of accesses.

use super::block::{Env, State};
use super::fault::FaultKind;
use super::race::{Class, Does, Races, Scope, Word};
use super::trap::Trap;
use super::warp::Warp;
use std::sync::atomic::Ordering::Relaxed;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Read,
    /// These words; a narrow one has its bits from bit 0 on.
    Write([u32; 4]),
    /// Loads that are atomic, and those that lock.
    AtomicRead,
    /// Stores that are atomic, and those that unlock.
    AtomicWrite,
    /// Both at once.
    Atomic,
}

impl Kind {
    fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::AtomicRead | Kind::Atomic)
    }

    fn class(self) -> Class {
        match self {
            Kind::Read => Class::Read,
            Kind::Write(_) => Class::Write,
            Kind::AtomicRead => Class::AtomicRead,
            Kind::AtomicWrite | Kind::Atomic => Class::AtomicWrite,
        }
    }
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
    /// Bytes: 1, 2, or whole words.
    pub size: u32,
    pub kind: Kind,
}

/// The record of a block.
#[derive(Debug)]
pub struct Shadow {
    /// Which bytes of shared memory have been written, with `initcheck`.
    written: Option<Vec<bool>>,
    pub races: Option<Box<Races>>,
}

impl Shadow {
    /// What the checkers of a launch need, if they need anything.
    pub fn new(env: &Env<'_>, block: u64, warps: usize) -> Option<Box<Shadow>> {
        let checks = env.checks;
        let blocks = env.shape.grid.iter().fold(1u64, |n, &g| n.saturating_mul(g.into()));
        let races =
            (checks.race || checks.global_race).then(|| Box::new(Races::new(block, blocks, warps, checks)));
        let written = checks.init.then(|| vec![false; env.shape.shared_bytes as usize]);
        (races.is_some() || written.is_some()).then(|| Box::new(Shadow { written, races }))
    }

    /// The bits of a word of shared memory that nothing has written.
    pub fn unwritten(&self, word: usize) -> u32 {
        let Some(all) = &self.written else { return 0 };
        let written = |byte: usize| all.get(byte).copied().unwrap_or(true);
        (0..4).filter(|b| !written(4 * word + b)).fold(0, |m, b| m | 0xff << (8 * b))
    }

    /// A byte was written with bits that are undefined.
    pub fn unwrite(&mut self, byte: usize) {
        if let Some(written) = self.written.as_mut().and_then(|w| w.get_mut(byte)) {
            *written = false;
        }
    }
}

impl State {
    pub(super) fn races(&mut self) -> Option<&mut Races> {
        self.shadow.as_mut().and_then(|s| s.races.as_deref_mut())
    }

    /// Checks and records one lane's access.
    #[inline]
    pub(super) fn check(&mut self, env: &Env<'_>, w: &Warp, r: Request) -> Result<(), Trap> {
        if self.shadow.is_none() { Ok(()) } else { self.check_slow(env, w, r) }
    }

    #[cold]
    fn check_slow(&mut self, env: &Env<'_>, w: &Warp, r: Request) -> Result<(), Trap> {
        let size = r.size as usize;
        match r.at {
            Where::Shared(at) if !r.kind.reads() => {
                if let Some(written) = self.shadow.as_mut().and_then(|s| s.written.as_mut()) {
                    let end = written.len().min(at + size);
                    written[at.min(end)..end].fill(true);
                }
            }
            Where::Global(b) => {
                let buffer = &env.bound.memory.buffers[b];
                let init = buffer.init.as_ref().filter(|_| env.checks.init);
                let first = (r.addr - buffer.origin) as usize;
                for (bit, init) in init.iter().flat_map(|init| (first..first + size).map(|bit| (bit, *init)))
                {
                    let (word, bit) = (&init[bit / 32], 1 << (bit % 32));
                    if !r.kind.reads() {
                        word.fetch_or(bit, Relaxed);
                    } else if word.load(Relaxed) & bit == 0 {
                        let detail = format!("global memory at {:#x}, which nothing has written", r.addr);
                        return Err(Trap::new(FaultKind::Uninitialized, r.lane, detail));
                    }
                }
            }
            Where::Shared(_) | Where::Local => {}
        }
        self.check_race(env, w, r)
    }

    /// The same for races alone.
    pub(super) fn check_race(&mut self, env: &Env<'_>, w: &Warp, r: Request) -> Result<(), Trap> {
        let (first, byte, watched) = match r.at {
            Where::Global(b) => {
                (env.bound.memory.buffers[b].word(r.addr), r.addr & 3, env.checks.global_race)
            }
            Where::Shared(at) => (at / 4, at as u64 & 3, env.checks.race),
            Where::Local => return Ok(()),
        };
        // What lanes do that run for others only has no effect.
        let for_others = (self.ghosts | w.phantoms) >> r.lane & 1 != 0;
        let races = self.shadow.as_mut().and_then(|s| s.races.as_mut());
        let Some(races) = races.filter(|_| watched && !for_others) else { return Ok(()) };
        let word = |k: usize| match r.at {
            Where::Global(b) => Word::Global(b, first + k),
            _ => Word::Shared(first + k),
        };
        if matches!(r.kind, Kind::AtomicRead | Kind::Atomic) {
            races.meet(w.index, word(0));
        }
        let (byte, bytes) = match r.size {
            1 | 2 => (byte as u32, ((1 << r.size) - 1) << byte & 15),
            _ => (0, 15),
        };
        for k in 0..r.size.div_ceil(4) as usize {
            let old = match r.at {
                Where::Global(b) => env.bound.memory.buffers[b].words[first + k].load(Relaxed),
                _ => self.shared.get(first + k).copied().unwrap_or(0),
            };
            let same = match r.kind {
                Kind::Write(words) => {
                    let differs = (words[k] << (8 * byte) ^ old).to_le_bytes();
                    (0..4).filter(|&b| differs[b] == 0).fold(0, |m, b| m | 1 << b)
                }
                _ => 0,
            };
            let does = Does {
                class: r.kind.class(),
                warp: w.index,
                lane: r.lane,
                pc: w.at,
                stamp: self.steps,
                bytes,
                same,
            };
            races.access(word(k), does, |byte| match r.at {
                Where::Global(b) => {
                    let at = env.bound.memory.buffers[b].origin + 4 * (first + k) as u64 + u64::from(byte);
                    format!("global memory at {at:#x}{}", env.bound.memory.nearest(at))
                }
                _ => format!("shared memory at {:#x}", 4 * (first + k) as u64 + u64::from(byte)),
            })?;
        }
        if matches!(r.kind, Kind::AtomicWrite | Kind::Atomic) {
            races.publish(w.index, word(0));
        }
        Ok(())
    }

    /// A warp is at a barrier or at its end: whether it has read what others write atomically.
    pub(super) fn settle_reads(&mut self, env: &Env<'_>, w: &Warp) -> Result<(), Trap> {
        while let Some(trap) = self.races().and_then(|r| r.settle(w.index)) {
            if !self.goes_on(env, w, &trap) {
                return Err(trap);
            }
        }
        Ok(())
    }

    /// A warp executes a fence.
    pub(super) fn fence(&mut self, w: &Warp, scope: Scope) {
        if let Some(races) = self.races() {
            races.fence(w.index, scope);
        }
    }
}
