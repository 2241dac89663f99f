//! What the compiler and the emulator are held against.
//!
//! - [`tgsi`] executes TGSI from its syntax tree, without the compiler's lowering and without machine code.
//! - [`eval`] executes IR, and [`allocated`] IR whose values have registers.
//! - [`random`] makes random programs in IR.
//! - [`softmath`] is what operations compute: for [`tgsi`], and for oracles of other crates.
//!
//! They share plain data with what they judge: texel formats, how an image is described and lies in memory, the memory
//! that a kernel and its judge both see, and kinds of faults. What an instruction of IR computes [`eval`] takes from
//! [`nvir::num`], which is held against [`softmath`].

pub mod allocated;
pub mod eval;
pub mod random;
pub mod softmath;
pub mod tgsi;
