//! Buffers.

use crate::device::{Device, Memory};
use std::fmt;
use std::sync::Arc;

/// Memory that goes back to the device with its last user: a buffer, an image, commands that are not submitted.
pub(crate) struct Shared {
    device: Arc<dyn Device>,
    pub memory: Memory,
}

impl Shared {
    pub(crate) fn new(device: Arc<dyn Device>, memory: Memory) -> Arc<Shared> {
        Arc::new(Shared { device, memory })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.device.free(self.memory.handle);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.memory).finish()
    }
}

/// Linear memory of the card. Clones are the same memory; it is given back with the last one.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(crate) shared: Arc<Shared>,
    bytes: u64,
}

impl Buffer {
    pub(crate) fn new(shared: Arc<Shared>, bytes: u64) -> Buffer {
        Buffer { shared, bytes }
    }

    /// GPU address of the first byte: a multiple of 4096.
    pub fn address(&self) -> u64 {
        self.shared.memory.address
    }

    /// How many bytes were asked for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All of it.
    pub fn whole(&self) -> Slice {
        Slice { buffer: self.clone(), offset: 0, bytes: self.bytes }
    }

    /// A part of it. It is checked where it is used.
    pub fn slice(&self, offset: u64, bytes: u64) -> Slice {
        Slice { buffer: self.clone(), offset, bytes }
    }
}

/// A part of a buffer.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Whose part it is.
    pub buffer: Buffer,
    /// Bytes from the buffer's first byte on.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Slice {
    /// GPU address of the first byte.
    pub fn address(&self) -> u64 {
        self.buffer.address() + self.offset
    }
}
