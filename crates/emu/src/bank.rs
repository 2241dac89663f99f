//! Constant banks: bytes of a launch's own, or a part of global memory.

use crate::memory::{Buffer, Memory};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Constant banks a launch can bind: `c[0x0]` to `c[0x11]`.
pub const CONST_BANKS: usize = 18;

/// Bytes a constant bank can have.
pub const CONST_BANK_BYTES: usize = nvir_base::chip::CONST_BANK_BYTES as usize;

/// What a constant bank holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bank {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Memory as it is at the launch, or when the kernel reads it. The address is a multiple of 4; what of it lies outside
    /// the buffer that it is in is zero.
    Memory {
        /// Of its first byte.
        address: u64,
        /// Bytes.
        size: u32,
    },
}

impl Default for Bank {
    fn default() -> Bank {
        Bank::Bytes(Vec::new())
    }
}

impl Bank {
    /// Bytes.
    pub fn size(&self) -> usize {
        match self {
            Bank::Bytes(bytes) => bytes.len(),
            Bank::Memory { size, .. } => *size as usize,
        }
    }

    /// The bytes, where it has its own.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Bank::Bytes(bytes) => Some(bytes),
            Bank::Memory { .. } => None,
        }
    }

    /// Writes `data` at a byte offset of bytes, which grow as needed up to [`CONST_BANK_BYTES`]; the rest is dropped. A
    /// bank in memory is replaced.
    pub(crate) fn set(&mut self, offset: usize, data: &[u8]) {
        let end = (offset + data.len()).min(CONST_BANK_BYTES);
        if offset >= end {
            return;
        }
        self.grow(end);
        if let Bank::Bytes(bytes) = self {
            bytes[offset..end].copy_from_slice(&data[..end - offset]);
        }
    }

    /// Gives a bank of bytes at least `size`.
    pub fn grow(&mut self, size: usize) {
        match self {
            Bank::Bytes(bytes) if bytes.len() < size => bytes.resize(size, 0),
            Bank::Bytes(_) => {}
            Bank::Memory { .. } => *self = Bank::Bytes(vec![0; size]),
        }
    }
}

/// A bank during a launch.
#[derive(Clone, Copy, Debug)]
enum Data<'a> {
    Bytes(&'a [u8]),
    Words(&'a [AtomicU32]),
    /// The memory does not exist.
    Unmapped(u64),
}

/// A constant bank as a kernel reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    data: Data<'a>,
    /// Bytes; beyond them there is nothing.
    size: u32,
    /// Reads beyond the end give zero instead of a fault.
    lenient: bool,
}

impl<'a> View<'a> {
    /// A bank that holds nothing.
    pub(crate) const fn none(lenient: bool) -> View<'a> {
        View { data: Data::Bytes(&[]), size: 0, lenient }
    }

    fn of(bank: &'a Bank, memory: &'a Memory, lenient: bool) -> View<'a> {
        let size = bank.size().min(CONST_BANK_BYTES) as u32;
        let data = match bank {
            Bank::Bytes(bytes) => Data::Bytes(bytes),
            Bank::Memory { address, .. } => {
                let aligned = address.is_multiple_of(4).then(|| memory.find(*address, 1)).flatten();
                let words = |b: &'a Buffer| &b.words[b.word(*address)..];
                match aligned.map(|b| words(&memory.buffers[b])) {
                    Some(words) => Data::Words(&words[..words.len().min(size.div_ceil(4) as usize)]),
                    None => Data::Unmapped(*address),
                }
            }
        };
        View { data, size, lenient }
    }

    /// All banks of a launch.
    pub(crate) fn all(banks: &'a [Bank], memory: &'a Memory, lenient: bool) -> [View<'a>; CONST_BANKS] {
        let none = View::none(lenient);
        std::array::from_fn(|i| banks.get(i).map_or(none, |b| View::of(b, memory, lenient)))
    }

    /// Why a read of `size` bytes at `at` is a fault, if it is one.
    pub(crate) fn refuses(&self, at: u32, size: u32) -> Option<String> {
        let end = u64::from(at) + u64::from(size);
        match self.data {
            Data::Unmapped(address) => Some(format!("the bank is at {address:#x}, which is not mapped")),
            _ if self.lenient || end <= u64::from(self.size).next_multiple_of(4) => None,
            _ => Some(format!("the bank has {} bytes", self.size)),
        }
    }

    /// The word at a byte offset; beyond the end zero.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u32 {
        match self.data {
            Data::Bytes(data) => {
                let byte = |i: usize| u32::from(data.get(at + i).copied().unwrap_or(0));
                byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24
            }
            Data::Words(words) => {
                let word = |i: usize| {
                    let v = words.get(i).map_or(0, |w| w.load(Relaxed));
                    let left = (self.size as usize).saturating_sub(4 * i);
                    if left >= 4 { v } else { v & ((1 << (8 * left)) - 1) }
                };
                match at % 4 {
                    0 => word(at / 4),
                    n => word(at / 4) >> (8 * n) | word(at / 4 + 1) << (32 - 8 * n),
                }
            }
            Data::Unmapped(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_memory_read_alike() {
        let data: Vec<u8> = (1..=22).collect();
        let mut memory = Memory::new();
        let at = memory.alloc(22, 4).unwrap();
        memory.write(at, &data).unwrap();
        let own = Bank::Bytes(data);
        let there = Bank::Memory { address: at, size: 22 };
        let wider = Bank::Memory { address: at, size: 100 };
        let [a, b, c] = [&own, &there, &wider].map(|b| View::of(b, &memory, false));
        for at in 0..32 {
            assert_eq!(a.word(at), b.word(at), "{at}");
            assert_eq!(a.word(at), c.word(at), "{at}");
            assert_eq!(a.refuses(at as u32, 4), b.refuses(at as u32, 4));
        }
        assert_eq!(a.word(20), 0x1615);
        assert!(a.refuses(20, 4).is_none() && a.refuses(22, 4).is_some());
        let lenient = View::of(&own, &memory, true);
        assert!(lenient.refuses(400, 16).is_none());
    }

    #[test]
    fn a_bank_without_memory_refuses_every_read() {
        let memory = Memory::new();
        let bank = Bank::Memory { address: 0x1000, size: 16 };
        let view = View::of(&bank, &memory, true);
        assert!(view.refuses(0, 4).is_some_and(|why| why.contains("0x1000")));
        assert_eq!(view.word(0), 0);
    }

    #[test]
    fn a_bank_that_is_written_becomes_bytes() {
        let mut bank = Bank::Memory { address: 0x1000, size: 16 };
        bank.set(2, &[7]);
        assert_eq!(bank, Bank::Bytes(vec![0, 0, 7]));
        bank.set(CONST_BANK_BYTES - 1, &[1, 2]);
        assert_eq!(bank.size(), CONST_BANK_BYTES);
    }
}
