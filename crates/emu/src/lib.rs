//! The emulator: machine code of the three chips, executed as the hardware is documented to execute it.
//!
//! A [`Program`] is code decoded once; a [`Launch`] is one grid of it with its constant banks, textures and
//! sizes; [`run`] executes it against a [`Memory`] and ends with [`Stats`] or a [`Fault`]. Faults are values:
//! arbitrary bytes as code end in one, or at the step limit.
//!
//! ```
//! use nvir_base::Chip;
//! use nvir_emu as emu;
//! let program = emu::Program::new(Chip::Gk110, &[0x18000000001c003c]); // EXIT
//! let mut memory = emu::Memory::new();
//! let launch = emu::Launch::new(&program);
//! let stats = emu::run(&launch, &mut memory, &mut emu::Options::default()).unwrap();
//! assert_eq!(stats.thread_instructions, 1);
//! ```

mod bank;
mod check;
// Engines in other crates see micro-ops (`engine::open`), whose names are those of the machine.
#[allow(missing_docs)]
mod code;
mod cx;
pub mod engine;
mod fault;
pub mod image;
mod interpreter;
mod launch;
mod memory;
mod options;
mod run;
pub mod stage;
#[allow(missing_docs)]
mod state;
mod stats;
pub mod texel;
mod trap;
mod units;

pub use bank::{Bank, CONST_BANK_BYTES, CONST_BANKS};
pub use check::Checks;
pub use code::cache::CodeCache;
pub use code::program::Program;
pub use fault::{Fault, FaultKind, Note, Place};
pub use image::{Dim, Filter, Format, Image, ImageDesc, MipFilter, Sampler, Wrap};
pub use launch::Launch;
pub use memory::{MAX_BUFFER, Memory, MemoryError, Words};
pub use options::{MOST_RUNS, Options, Timeline};
pub use run::grid::{run, thread_limit};
pub use state::warp::Side;
pub use stats::{PcProfile, Profile, Stats};
pub use texel::{Channels, decode as decode_texel, encode as encode_texel};
pub use units::texture::{Channel, Field, Source, Texels, Texture, TextureSource};
