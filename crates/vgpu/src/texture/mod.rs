//! Textures and samplers: entries of the tables in memory as the emulator needs them.

mod compressed;
mod format;
pub mod tic;
pub mod tsc;

/// Bytes of an entry of either table.
pub const ENTRY_BYTES: u64 = 32;
/// Words of it.
pub const ENTRY_WORDS: usize = 8;
