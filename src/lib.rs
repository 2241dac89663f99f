//! nvir: a shader code generator for NVIDIA's Fermi and Kepler, and an emulator that runs what it makes.

#![warn(missing_docs)]
// The library returns what it has to say.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod chip;
pub mod compiler;
pub mod diag;
pub mod driver;
pub mod emu;
#[cfg(feature = "fixture")]
pub mod fixture;
pub mod format;
pub mod image;
pub mod isa;
pub mod tiling;

// What the compiler is made of: for nvir's own tests and program. It changes without notice.
#[doc(hidden)]
pub mod analysis;
#[doc(hidden)]
pub mod emit;
#[doc(hidden)]
pub mod front;
#[doc(hidden)]
pub mod input;
#[doc(hidden)]
pub mod ir;
#[doc(hidden)]
pub mod lower;
#[doc(hidden)]
pub mod num;
#[doc(hidden)]
pub mod opt;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod ra;
#[doc(hidden)]
pub mod reference;
#[doc(hidden)]
pub mod sched;
#[doc(hidden)]
pub mod select;
#[doc(hidden)]
pub mod verify;

mod caught;

pub use chip::Chip;
pub use compiler::{Cancel, CompileError, Compiler, InitRegs, Language, OptLevel, Options, Source};
pub use image::Shader;
