//! Global memory: separately allocated buffers in a 40-bit address space.
//!
//! Every buffer lies at exactly the alignment that was asked for and no better, with unmapped gaps around it, and
//! outside the 32-bit shared and local windows. Words are atomics, so that blocks can run on several threads
//! without `unsafe`; [`crate::run::conflict`] guarantees that the order of blocks never shows in a result.

mod transfer;
mod words;

pub use words::Words;

use std::sync::atomic::AtomicU32;

/// Bytes that nothing maps between two buffers, and below the first.
const GUARD: u64 = 0x1_0000;

/// The first address that is handed out: above the 4 GiB in which the shared and local windows lie would
/// break 32-bit pointers, so low memory is used first, below the windows at 0xfe000000.
const FIRST: u64 = 0x0010_0000;

/// Buffers that do not fit below this address go above 4 GiB.
const LOW_END: u64 = 0xf000_0000;

/// The end of the address space.
const HIGH_END: u64 = 1 << 40;

/// No buffer of this address space is larger.
pub const MAX_BUFFER: u64 = 1 << 32;

/// One allocation.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// Address of the first byte.
    pub base: u64,
    /// Bytes.
    pub size: u64,
    /// `base` rounded down to a multiple of 4: the address of `words[0]`.
    pub origin: u64,
    pub words: Words,
    /// What reports call it.
    pub name: Option<Box<str>>,
    /// Bit n: byte n of the memory from `origin` on has been written. Absent: all of it.
    pub init: Option<Vec<AtomicU32>>,
}

impl Buffer {
    /// Whether `size` bytes at `addr` lie inside.
    #[inline]
    pub(crate) fn contains(&self, addr: u64, size: u64) -> bool {
        addr.wrapping_sub(self.base) < self.size && addr - self.base + size <= self.size
    }

    /// The index of the word that holds `addr`.
    #[inline]
    pub(crate) fn word(&self, addr: u64) -> usize {
        ((addr - self.origin) >> 2) as usize
    }
}

/// The global memory of a run.
#[derive(Debug, Default)]
pub struct Memory {
    /// By address.
    pub(crate) buffers: Vec<Buffer>,
    low: u64,
    high: u64,
}

/// A request that cannot be satisfied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MemoryError {
    /// More bytes than there are addresses.
    #[error("{0} bytes do not fit into the address space")]
    TooLarge(u64),
    /// No power of two, or too large.
    #[error("alignment {0} is not a power of two between 1 and 65536")]
    Alignment(u64),
    /// Not all of it is in one buffer.
    #[error("{size} bytes at {addr:#x} are not inside one buffer")]
    Unmapped {
        /// Of the first byte.
        addr: u64,
        /// Bytes.
        size: u64,
    },
    /// An address that no buffer may have.
    #[error("a buffer at {0:#x}: not a multiple of 4")]
    Misplaced(u64),
    /// Words given for a buffer that needs more.
    #[error("{words} words for a buffer of {size} bytes")]
    TooFew {
        /// What there is.
        words: usize,
        /// Bytes that they should hold.
        size: u64,
    },
    /// Another buffer is there.
    #[error("{size} bytes at {base:#x} overlap the buffer at {by:#x}")]
    Taken {
        /// Of the first byte.
        base: u64,
        /// Bytes.
        size: u64,
        /// Address of the buffer that is there.
        by: u64,
    },
}

impl Memory {
    /// Nothing is mapped.
    pub fn new() -> Memory {
        Memory { buffers: Vec::new(), low: FIRST, high: 1 << 32 }
    }

    /// Allocates `size` zero bytes at an address that is a multiple of `align` but not of `2 * align`.
    pub fn alloc(&mut self, size: u64, align: u64) -> Result<u64, MemoryError> {
        if !align.is_power_of_two() || align > GUARD {
            return Err(MemoryError::Alignment(align));
        }
        if size > MAX_BUFFER {
            return Err(MemoryError::TooLarge(size));
        }
        let place = |from: u64| from.next_multiple_of(2 * GUARD) + align;
        let mut base = place(self.low.max(FIRST));
        if base + size + GUARD <= LOW_END {
            self.low = base + size + GUARD;
        } else {
            base = place(self.high.max(1 << 32));
            if base + size + GUARD > HIGH_END {
                return Err(MemoryError::TooLarge(size));
            }
            self.high = base + size + GUARD;
        }
        let origin = base & !3;
        let words = (base + size).next_multiple_of(4) - origin;
        let words = Words::zeroed((words / 4) as usize);
        let at = self.buffers.partition_point(|b| b.base < base);
        self.buffers.insert(at, Buffer { base, size, origin, words, name: None, init: None });
        Ok(base)
    }

    /// First address and bytes of each buffer, ascending.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buffers.iter().map(|b| (b.base, b.size))
    }

    /// Gives the buffer that begins at an address a name for reports; none there: nothing happens.
    pub fn name(&mut self, base: u64, name: &str) {
        if let Ok(at) = self.buffers.binary_search_by_key(&base, |b| b.base) {
            self.buffers[at].name = Some(name.into());
        }
    }

    /// Maps words that exist at an address, a multiple of 4: what is written there is written to them. They may reach
    /// further than `size` bytes, not less far.
    pub fn insert(&mut self, base: u64, size: u64, words: Words) -> Result<(), MemoryError> {
        let end = base.checked_add(size).filter(|&end| end <= HIGH_END).ok_or(MemoryError::TooLarge(size))?;
        if !base.is_multiple_of(4) {
            return Err(MemoryError::Misplaced(base));
        }
        if size == 0 || words.len() as u64 * 4 < size {
            return Err(MemoryError::TooFew { words: words.len(), size });
        }
        let at = self.buffers.partition_point(|b| b.base < base);
        let before = at.checked_sub(1).map(|i| &self.buffers[i]).filter(|b| b.base + b.size > base);
        if let Some(b) = before.or(self.buffers.get(at).filter(|b| b.base < end)) {
            return Err(MemoryError::Taken { base, size, by: b.base });
        }
        self.buffers.insert(at, Buffer { base, size, origin: base, words, name: None, init: None });
        Ok(())
    }

    /// Unmaps the buffer that begins at `base`, and gives its words back.
    pub fn remove(&mut self, base: u64) -> Option<Words> {
        let at = self.buffers.binary_search_by_key(&base, |b| b.base).ok()?;
        Some(self.buffers.remove(at).words)
    }

    /// Marks the buffer at `addr` as never written, for `initcheck`.
    pub fn mark_uninitialized(&mut self, addr: u64) {
        if let Some(b) = self.buffers.iter_mut().find(|b| b.base == addr) {
            b.init = Some((0..b.words.len().div_ceil(8)).map(|_| AtomicU32::new(0)).collect());
        }
    }

    /// The index of the buffer that holds `size` bytes at `addr`.
    #[inline]
    pub(crate) fn find(&self, addr: u64, size: u64) -> Option<usize> {
        let at = self.buffers.partition_point(|b| b.base <= addr).checked_sub(1)?;
        self.buffers[at].contains(addr, size).then_some(at)
    }

    /// Where an address lies relative to the nearest buffer, for reports.
    pub(crate) fn nearest(&self, addr: u64) -> String {
        let distance = |b: &&Buffer| {
            let end = b.base + b.size;
            if addr < b.base { b.base - addr } else { (addr + 1).saturating_sub(end) }
        };
        let Some(b) = self.buffers.iter().min_by_key(distance) else { return String::new() };
        let what = match &b.name {
            Some(name) => format!("`{name}`, {} bytes at {:#x}", b.size, b.base),
            None => format!("a buffer of {} bytes at {:#x}", b.size, b.base),
        };
        if addr < b.base {
            return format!(", {} bytes before {what}", b.base - addr);
        }
        format!(" (byte {} of {what})", addr - b.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_lie_at_exactly_the_alignment_asked_for() {
        let mut m = Memory::new();
        for align in [1, 2, 4, 8, 16, 256, 4096] {
            let a = m.alloc(100, align).unwrap();
            assert_eq!(a % align, 0);
            assert_ne!(a % (2 * align), 0);
            m.write(a, &[1, 2, 3, 4, 5]).unwrap();
            assert_eq!(m.read(a, 6).unwrap(), [1, 2, 3, 4, 5, 0]);
            assert!(m.read(a + 99, 2).is_err());
            assert!(m.read(a - 1, 1).is_err());
        }
    }

    #[test]
    fn large_buffers_go_above_the_windows() {
        let mut m = Memory::new();
        assert!(m.alloc(1 << 41, 4).is_err());
        m.low = LOW_END - 10;
        assert!(m.alloc(16, 4).unwrap() > 1 << 32);
    }
    #[test]
    fn words_of_others_are_mapped_and_given_back() {
        static WORDS: [AtomicU32; 4] = [const { AtomicU32::new(7) }; 4];
        let mut m = Memory::new();
        m.insert(0x1_0000_0000, 12, Words::Static(&WORDS)).unwrap();
        m.insert(0x1_0000_000c, 8, Words::zeroed(2)).unwrap();
        m.write(0x1_0000_0003, &[1, 2]).unwrap();
        assert_eq!(WORDS[0].load(std::sync::atomic::Ordering::Relaxed), 0x0100_0007);
        assert_eq!(WORDS[1].load(std::sync::atomic::Ordering::Relaxed), 2);
        let refused = |m: &mut Memory, base, size, n| m.insert(base, size, Words::zeroed(n)).unwrap_err();
        let by = 0x1_0000_0000;
        assert_eq!(refused(&mut m, by - 4, 8, 2), MemoryError::Taken { base: by - 4, size: 8, by });
        assert_eq!(refused(&mut m, by + 8, 4, 1), MemoryError::Taken { base: by + 8, size: 4, by });
        assert_eq!(refused(&mut m, by + 0x21, 4, 1), MemoryError::Misplaced(by + 0x21));
        assert_eq!(refused(&mut m, by + 0x20, 8, 1), MemoryError::TooFew { words: 1, size: 8 });
        assert_eq!(refused(&mut m, (1 << 40) - 4, 8, 2), MemoryError::TooLarge(8));
        assert_eq!(refused(&mut m, 4, u64::MAX - 3, 2), MemoryError::TooLarge(u64::MAX - 3));
        assert!(m.remove(by + 4).is_none());
        assert!(matches!(m.remove(by), Some(Words::Static(w)) if w.len() == 4));
        assert!(!m.contains(by, 1) && m.contains(by + 12, 8) && !m.contains(by + 12, 9));
    }
}
