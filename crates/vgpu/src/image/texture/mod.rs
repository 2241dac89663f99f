//! Textures and samplers: entries of the tables in memory as the emulator needs them.

pub(crate) mod format;
pub mod tic;
pub mod tsc;
