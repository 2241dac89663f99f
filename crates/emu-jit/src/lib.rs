//! Engines of the emulator beside the interpreter: [`Choice`] is what a user asks for, `Compiled` makes host code.
//!
//! An engine is given to a launch as [`nvir_emu::Options::engine`]. What a program computes, counts and reports is what the
//! interpreter does, to the bit; `docs/emulator.md` says how, and when code is not compiled. Without the feature `cranelift` there is
//! the interpreter alone.

mod choice;
#[cfg(feature = "cranelift")]
mod compiled;

pub use choice::{Choice, Threads};
#[cfg(feature = "cranelift")]
pub use compiled::Compiled;
