//! Blocks on several threads, with the result of blocks in order.
//!
//! Every word of global memory has a tag that says which block has touched it and how. Reads by many blocks, and
//! the same order-free reduction by many, are fine; anything else that two blocks do to one word is a conflict:
//! memory goes back to what it was, and the launch runs again, one block after the other. So the number of
//! threads never shows, and kernels without such sharing gain from every core.

use crate::code::micro::{AtomOp, AtomTy};
use crate::memory::Memory;
use crate::trap::Trap;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

const UNTOUCHED: u32 = 0;
const READ_BY_MANY: u32 = 1;
/// Plus the number of the reduction.
const REDUCED: u32 = 2;
/// Plus twice the block's number: read by it; and one more: written by it.
const OWNED: u32 = 64;

/// Blocks that tags can tell apart.
pub(crate) const MAX_BLOCKS: u64 = ((u32::MAX - OWNED) / 2) as u64;

/// A tag for every word of every buffer.
#[derive(Debug)]
pub(crate) struct Tracker {
    tags: Vec<Vec<AtomicU32>>,
}

impl Tracker {
    pub(crate) fn new(memory: &Memory) -> Tracker {
        let tags =
            memory.buffers.iter().map(|b| (0..b.words.len()).map(|_| AtomicU32::new(UNTOUCHED)).collect());
        Tracker { tags: tags.collect() }
    }

    fn update(&self, buffer: usize, word: usize, next: impl Fn(u32) -> Option<u32>) -> Result<(), Trap> {
        let tag = &self.tags[buffer][word];
        let mut old = tag.load(Relaxed);
        loop {
            let new = next(old).ok_or_else(Trap::conflict)?;
            if new == old {
                return Ok(());
            }
            match tag.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => old = now,
            }
        }
    }

    pub(crate) fn read(&self, buffer: usize, word: usize, block: u32) -> Result<(), Trap> {
        let mine = OWNED + 2 * block;
        self.update(buffer, word, |old| match old {
            UNTOUCHED => Some(mine),
            READ_BY_MANY => Some(old),
            OWNED.. if old & !1 == mine => Some(old),
            OWNED.. if old & 1 == 0 => Some(READ_BY_MANY),
            _ => None,
        })
    }

    pub(crate) fn write(&self, buffer: usize, word: usize, block: u32) -> Result<(), Trap> {
        let mine = OWNED + 2 * block;
        self.update(buffer, word, |old| match old {
            UNTOUCHED => Some(mine | 1),
            OWNED.. if old & !1 == mine => Some(mine | 1),
            _ => None,
        })
    }

    /// A reduction whose order does not matter.
    pub(crate) fn reduce(
        &self,
        buffer: usize,
        word: usize,
        block: u32,
        op: AtomOp,
        ty: AtomTy,
    ) -> Result<(), Trap> {
        let code = match (op, ty) {
            (_, AtomTy::F32 { .. }) => None,
            (AtomOp::Add, _) => Some(0),
            (AtomOp::And, _) => Some(1),
            (AtomOp::Or, _) => Some(2),
            (AtomOp::Xor, _) => Some(3),
            (AtomOp::Min, AtomTy::S32) => Some(4),
            (AtomOp::Max, AtomTy::S32) => Some(5),
            (AtomOp::Min, AtomTy::U32) => Some(6),
            (AtomOp::Max, AtomTy::U32) => Some(7),
            _ => None,
        };
        let Some(code) = code else { return self.write(buffer, word, block) };
        let mine = OWNED + 2 * block;
        self.update(buffer, word, |old| match old {
            UNTOUCHED => Some(REDUCED + code),
            _ if old == REDUCED + code => Some(old),
            OWNED.. if old & !1 == mine => Some(mine | 1),
            _ => None,
        })
    }
}

/// What memory held.
#[derive(PartialEq, Debug)]
pub(crate) struct Snapshot(Vec<(Vec<u32>, Option<Vec<u32>>)>);

impl Snapshot {
    pub(crate) fn take(memory: &Memory) -> Snapshot {
        let copy = |v: &[AtomicU32]| v.iter().map(|w| w.load(Relaxed)).collect();
        Snapshot(memory.buffers.iter().map(|b| (copy(&b.words), b.init.as_deref().map(copy))).collect())
    }

    pub(crate) fn restore(&self, memory: &Memory) {
        let back =
            |to: &[AtomicU32], from: &[u32]| to.iter().zip(from).for_each(|(t, f)| t.store(*f, Relaxed));
        for (b, (words, init)) in memory.buffers.iter().zip(&self.0) {
            back(&b.words, words);
            if let (Some(to), Some(from)) = (&b.init, init) {
                back(to, from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_order_free_sharing_passes() {
        let mut m = Memory::new();
        m.alloc(64, 4).unwrap();
        let t = Tracker::new(&m);
        assert!(t.read(0, 0, 1).is_ok() && t.read(0, 0, 2).is_ok());
        assert!(t.write(0, 0, 1).is_err());
        assert!(t.write(0, 1, 1).is_ok() && t.read(0, 1, 1).is_ok() && t.write(0, 1, 1).is_ok());
        assert!(t.read(0, 1, 2).is_err());
        let add = |b| t.reduce(0, 2, b, AtomOp::Add, AtomTy::U32);
        assert!(add(1).is_ok() && add(2).is_ok());
        assert!(t.reduce(0, 2, 3, AtomOp::Or, AtomTy::U32).is_err());
        assert!(t.read(0, 2, 1).is_err());
        assert!(t.reduce(0, 3, 0, AtomOp::Add, AtomTy::F32 { ftz: false }).is_ok());
        assert!(t.reduce(0, 3, 1, AtomOp::Add, AtomTy::F32 { ftz: false }).is_err());
    }
}
