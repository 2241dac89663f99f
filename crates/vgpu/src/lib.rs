//! A virtual NVIDIA Fermi or Kepler: push buffers and engines over nvir's emulator.
//!
//! A [`Gpu`] is one card. [`Gpu::open`] gives a [`File`], which is what a client of the kernel's
//! `nouveau` driver has when it opened the device: its buffers and channels, and a method for each
//! call that the driver knows. A submission executes before the call returns, all of it under the
//! card's one lock; so results never depend on timing.
//!
//! Bad arguments are errors of the call; bad commands are a fault of their channel, which is lost
//! from then on, as with the real driver.
//!
//! The rooms, in the order of a word's way: `file` (calls, buffers), `fifo` (push buffers, channels,
//! macros), `engine` (what methods do, a file a class), `shader` (programs, what is bound to them,
//! their launches), `image` (rows, blocks, texels). `device` is what engines share.

mod device;
mod engine;
mod error;
mod fifo;
mod file;
pub mod frames;
mod image;
mod log;
#[cfg(unix)]
pub mod output;
pub mod replay;
mod result;
pub mod shader;
pub mod trace;
pub mod watch;

pub use device::{MethodLocation, WriteKind, Written};
pub use engine::{compute, registers};
pub use error::{Error, ErrorKind};
pub use file::backing::{Backing, Owned};
pub use file::calls::{BufferUse, ChannelFault, ChannelInfo, GemInfo, GemNew, Push, Space};
pub use file::gpu::{Config, File, Gpu, OnFault, SharedBuffer};
pub use image::texture;
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
