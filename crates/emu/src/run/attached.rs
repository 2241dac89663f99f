//! What an engine keeps beside code and beside a block.

use crate::memory::Buffer;
use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// Something that an engine has made of code; it goes with the code.
#[derive(Default)]
pub struct Attached(OnceLock<Box<dyn Any + Send + Sync>>);

impl Attached {
    /// What is there, or what `make` makes; nothing if another engine was there before.
    pub fn get<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.0.get_or_init(|| Box::new(make())).downcast_ref()
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "Attached" } else { "Nothing" })
    }
}

/// A buffer of global memory as generated code finds it: byte `base + n` is at `data + n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Slot {
    /// The address of its first byte.
    pub base: u64,
    /// Bytes that may be accessed at once.
    pub size: u64,
    /// The host's address of its first byte.
    pub data: u64,
    /// Bytes that may be accessed if [`Cx::track`](crate::engine::Cx::track) agrees to each word.
    pub tracked: u64,
    /// Where the host has what the first lane of a whole warp accessed last, if the engine says so and each lane's place is equally far
    /// from the next one's.
    pub last: u64,
    /// How far that is.
    pub step: i64,
    /// The same place of the first warp of the block, for engines that compare it with the next block's.
    pub first: u64,
    /// Which buffer those are of.
    pub(crate) buffer: usize,
}

impl Slot {
    /// Nothing is in it.
    pub const EMPTY: Slot =
        Slot { base: 0, size: 0, data: 0, tracked: 0, last: 0, step: 0, first: 0, buffer: 0 };

    pub(crate) fn of(buffer: &Buffer) -> Slot {
        let Buffer { base, size, origin, words, .. } = buffer;
        let data = words.as_ptr().expose_provenance() as u64 + (base - origin);
        Slot { base: *base, size: *size, data, ..Slot::EMPTY }
    }
}
