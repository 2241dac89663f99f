//! nvir: a shader code generator for NVIDIA's Fermi and Kepler, and an emulator that runs what it makes.

// The library returns what it has to say.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod analysis;
pub mod chip;
pub mod compiler;
pub mod diag;
pub mod driver;
pub mod emit;
pub mod emu;
#[cfg(feature = "fixture")]
pub mod fixture;
pub mod format;
pub mod front;
pub mod image;
pub mod input;
pub mod ir;
pub mod isa;
pub mod lower;
pub mod num;
pub mod opt;
pub mod ra;
pub mod reference;
pub mod sched;
pub mod select;
pub mod tiling;
pub mod verify;

pub use chip::Chip;
