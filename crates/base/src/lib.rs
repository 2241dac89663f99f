//! What all crates of nvir stand on: facts about the three chips ([`chip`]), texel formats ([`mod@format`]) and how images lie in
//! memory ([`tiling`]), shader stages and where their attributes lie ([`stage`]), what machine instructions compute ([`num`]),
//! input files ([`input`]), what is
//! wrong with one and where ([`diag`]), panics as errors ([`caught`]), and random numbers ([`random`]).
//!
//! The crate `nvir` re-exports all of it under the same names.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod caught;
pub mod chip;
pub mod diag;
pub mod format;
pub mod input;
// Named after what they compute, as the instructions are.
#[allow(missing_docs)]
pub mod num;
pub mod random;
pub mod srgb;
pub mod stage;
pub mod tiling;

pub use chip::Chip;
