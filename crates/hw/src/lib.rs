//! Facts about the engines of NVIDIA's Fermi and Kepler, each in one place: what a driver writes
//! and a card reads.
//!
//! - [`class`]: numbers of classes; [`method`]: their methods; [`word`]: words of methods that have
//!   fields; [`push`]: packets.
//! - [`mod@format`]: formats of render targets, depth buffers, textures, vertices and images.
//! - [`tic`], [`tsc`], [`qmd`]: texture headers, samplers and Kepler's launch descriptors, by
//!   field.
//! - [`samples`], [`image_word`], [`window`], [`special`]: grids of samples, the 16 words of an
//!   image, the windows of shared and local memory, special registers. Where attributes lie is in
//!   [`nvir_base::stage::attribute`].
//! - [`surface`]: what a driver writes for an image.
//!
//! There is no behaviour here: the driver, the virtual GPU, the emulator and the compiler read
//! these tables and do what they say. Each module names its sources.

pub mod class;
mod field;
pub mod format;
pub mod image_word;
pub mod method;
pub mod push;
pub mod qmd;
pub mod samples;
pub mod special;
pub mod state;
pub mod surface;
pub mod tic;
pub mod tsc;
pub mod window;
pub mod word;

pub use class::Class;
pub use field::{Field, Fields};
