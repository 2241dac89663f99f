//! The record of a block's accesses that checkers need.

use super::race::{Class, Races};
use crate::check::Checks;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
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
    pub(crate) fn reads(self) -> bool {
        matches!(self, Kind::Read | Kind::AtomicRead | Kind::Atomic)
    }

    pub(crate) fn class(self) -> Class {
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
pub(crate) enum Where {
    Global(usize),
    Shared(usize),
    Local,
}

/// One lane's access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub lane: usize,
    pub at: Where,
    pub addr: u64,
    /// Bytes: 1, 2, or whole words.
    pub size: u32,
    pub kind: Kind,
}

/// The record of a block.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    /// Which bytes of shared memory have been written, with `initcheck`.
    pub written: Option<Vec<bool>>,
    pub races: Option<Box<Races>>,
}

impl Shadow {
    /// What the checkers of a block need, if they need anything.
    pub(crate) fn new(
        checks: Checks,
        grid: [u32; 3],
        shared_bytes: u32,
        block: u64,
        warps: usize,
    ) -> Option<Box<Shadow>> {
        let blocks = grid.iter().fold(1u64, |n, &g| n.saturating_mul(g.into()));
        let races =
            (checks.race || checks.global_race).then(|| Box::new(Races::new(block, blocks, warps, checks)));
        let written = checks.init.then(|| vec![false; shared_bytes as usize]);
        (races.is_some() || written.is_some()).then(|| Box::new(Shadow { written, races }))
    }

    /// The bits of a word of shared memory that nothing has written.
    pub(crate) fn unwritten(&self, word: usize) -> u32 {
        let Some(all) = &self.written else { return 0 };
        let written = |byte: usize| all.get(byte).copied().unwrap_or(true);
        (0..4).filter(|b| !written(4 * word + b)).fold(0, |m, b| m | 0xff << (8 * b))
    }

    /// A byte was written with bits that are undefined.
    pub(crate) fn mark_undefined(&mut self, byte: usize) {
        if let Some(written) = self.written.as_mut().and_then(|w| w.get_mut(byte)) {
            *written = false;
        }
    }
}
