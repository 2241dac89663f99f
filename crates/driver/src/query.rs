//! Fences and time stamps.

use crate::context::Context;
use crate::device::{Alloc, Domain};
use crate::error::Result;
use crate::memory::Shared;
use nvir_hw::word::QueryGet;
use std::sync::Arc;

/// A point in a context's commands that can be waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fence(u32);

/// A time that the card notes when it comes there.
#[derive(Clone, Debug)]
pub struct Stamp {
    shared: Arc<Shared>,
}

impl Context {
    /// Submits what is queued; [`Context::wait`] waits for it.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn fence(&mut self) -> Result<Fence> {
        self.flush()?;
        Ok(Fence(self.last()))
    }

    /// Waits for a fence of this context.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn wait(&mut self, fence: Fence) -> Result<()> {
        self.alive()?;
        self.wait_for(fence.0)
    }

    /// Lets the card note the time when everything before is done.
    ///
    /// # Errors
    /// No memory, or the context is lost.
    pub fn stamp(&mut self) -> Result<Stamp> {
        self.alive()?;
        let shared = self.alloc(Alloc::linear(16, Domain::Host))?;
        self.using(&shared);
        self.release(shared.memory.address, 0, QueryGet::TIME);
        self.queued()?;
        Ok(Stamp { shared })
    }

    /// The time of a stamp in nanoseconds, of the clock of [`crate::Device::time`]. Waits for it.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub fn time(&mut self, stamp: &Stamp) -> Result<u64> {
        self.finish()?;
        let mut bytes = [0; 8];
        self.device.read(&stamp.shared.memory, 8, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}
