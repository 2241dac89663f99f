//! Accesses as the checkers of memory see them: `initcheck` of memory, and what `racecheck` ([`super::race`]) is told.

use super::race::{Does, Races, Word};
use super::shadow::{Kind, Request, Where};
use crate::code::micro::Scope;
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::state::warp::Warp;
use crate::trap::Trap;
use std::sync::atomic::Ordering::Relaxed;

impl Cx<'_> {
    pub(crate) fn races(&mut self) -> Option<&mut Races> {
        self.block.shadow.as_mut().and_then(|s| s.races.as_deref_mut())
    }

    /// Checks and records one lane's access.
    #[inline]
    pub(crate) fn check(&mut self, w: &Warp, r: Request) -> Result<(), Trap> {
        if self.block.shadow.is_none() { Ok(()) } else { self.check_slow(w, r) }
    }

    #[cold]
    fn check_slow(&mut self, w: &Warp, r: Request) -> Result<(), Trap> {
        let size = r.size as usize;
        match r.at {
            Where::Shared(at) if !r.kind.reads() => {
                if let Some(written) = self.block.shadow.as_mut().and_then(|s| s.written.as_mut()) {
                    let end = written.len().min(at + size);
                    written[at.min(end)..end].fill(true);
                }
            }
            Where::Global(b) => {
                let buffer = &self.env.bound.memory.buffers[b];
                let init = buffer.init.as_ref().filter(|_| self.env.checks.init);
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
        self.check_race(w, r)
    }

    /// The same for races alone.
    pub(crate) fn check_race(&mut self, w: &Warp, r: Request) -> Result<(), Trap> {
        let (first, byte, watched) = match r.at {
            Where::Global(b) => {
                (self.env.bound.memory.buffers[b].word(r.addr), r.addr & 3, self.env.checks.global_race)
            }
            Where::Shared(at) => (at / 4, at as u64 & 3, self.env.checks.race),
            Where::Local => return Ok(()),
        };
        // What lanes do that run for others only has no effect.
        let for_others = (self.block.helpers | w.quad_helpers) >> r.lane & 1 != 0;
        let races = self.block.shadow.as_mut().and_then(|s| s.races.as_mut());
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
                Where::Global(b) => self.env.bound.memory.buffers[b].words[first + k].load(Relaxed),
                _ => self.block.shared.get(first + k).copied().unwrap_or(0),
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
                stamp: self.block.steps,
                bytes,
                same,
            };
            races.access(word(k), does, |byte| match r.at {
                Where::Global(b) => {
                    let at =
                        self.env.bound.memory.buffers[b].origin + 4 * (first + k) as u64 + u64::from(byte);
                    format!("global memory at {at:#x}{}", self.env.bound.memory.nearest(at))
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
    #[inline]
    pub(crate) fn settle_reads(&mut self, w: &Warp) -> Result<(), Trap> {
        if self.block.shadow.is_some() { self.settle(w) } else { Ok(()) }
    }

    fn settle(&mut self, w: &Warp) -> Result<(), Trap> {
        while let Some(trap) = self.races().and_then(|r| r.settle(w.index)) {
            if !self.goes_on(w, &trap) {
                return Err(trap);
            }
        }
        Ok(())
    }

    /// A warp executes a fence.
    pub(crate) fn fence(&mut self, w: &Warp, scope: Scope) {
        if let Some(races) = self.races() {
            races.fence(w.index, scope);
        }
    }
}
