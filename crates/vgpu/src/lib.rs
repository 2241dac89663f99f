//! A virtual NVIDIA Fermi or Kepler: push buffers and engines over nvir's emulator.
//!
//! A [`Gpu`] is one card. [`Gpu::open`] gives a [`File`], which is what a client of the kernel's `nouveau` driver has
//! when it opened the device: its buffers and channels, and a method for each call that the driver knows. A submission
//! executes before the call returns, all of it under the card's one lock; so results never depend on timing.
//!
//! Bad arguments are errors of the call; bad commands are a fault of their channel, which is lost from then on, as with
//! the real driver.

#![warn(missing_docs)]

mod backing;
mod buffers;
mod card;
mod channel;
mod clear;
mod colour;
pub mod compute;
mod condition;
mod constants;
mod copy;
mod device;
mod engine;
mod error;
mod gpu;
pub mod launch;
mod log;
mod m2mf;
mod mme;
#[cfg(unix)]
pub mod output;
mod push;
mod query;
pub mod registers;
pub mod replay;
pub mod texture;
pub mod trace;
mod transfer;
mod twod;
mod upload;

pub use backing::{Backing, Owned};
pub use device::{Place, What, Written};
pub use error::{Error, ErrorKind};
pub use gpu::{
    BufferUse, ChannelFault, ChannelInfo, Config, File, GemInfo, GemNew, Gpu, OnFault, Push, SharedBuffer,
    Space,
};
pub use nvir_emu::{Memory, Words};

/// Bytes of a page: sizes and addresses of buffers are multiples.
pub const PAGE: u64 = 4096;

/// Where a buffer may lie: bits of `domain` and of a submission's read, write and valid domains.
pub mod domain {
    /// The processor's memory.
    pub const CPU: u32 = 1;
    /// Video memory.
    pub const VRAM: u32 = 2;
    /// System memory that the card can address.
    pub const GART: u32 = 4;
    /// The processor can see it.
    pub const MAPPABLE: u32 = 8;
    /// Caches of processor and card agree.
    pub const COHERENT: u32 = 16;
}
