//! Where the bytes of buffers lie.

use crate::Words;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;

/// Gives buffers their bytes. The virtual card keeps no copy: what it writes, the client sees at once.
pub trait Backing: Send + Sync {
    /// `bytes` zero bytes, a multiple of [`crate::PAGE`], and the offset that a client gives to `mmap` for them. `None`:
    /// there is no memory.
    fn alloc(&self, bytes: u64) -> Option<(u64, Words)>;

    /// Takes back what `alloc` gave. The memory must be zero when it is handed out again.
    fn free(&self, map_handle: u64, bytes: u64);
}

/// Buffers of the process's own memory, for a driver in the same process, and tests.
#[derive(Debug, Default)]
pub struct Owned {
    next: Mutex<u64>,
}

impl Backing for Owned {
    fn alloc(&self, bytes: u64) -> Option<(u64, Words)> {
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let handle = *next;
        *next = next.checked_add(bytes)?;
        let count = usize::try_from(bytes / 4).ok()?;
        // Whether there is so much: zeroed memory, which costs nothing until it is touched, cannot be asked for with care.
        Vec::<AtomicU32>::new().try_reserve_exact(count).ok()?;
        Some((handle, Words::zeroed(count)))
    }

    fn free(&self, _: u64, _: u64) {}
}
