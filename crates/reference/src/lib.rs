//! What the compiler and the emulator are held against.
//!
//! - [`tgsi`] executes TGSI from its syntax tree, without the compiler's lowering and without machine code.
//! - [`eval`] executes IR, and [`allocated`] IR whose values have registers.
//! - [`random`] makes random programs in IR.
//!
//! They share plain data with what they judge: texel formats, how an image is described and lies in memory, the memory
//! that a kernel and its judge both see, and kinds of faults. What an instruction computes they take from [`nvir::num`],
//! whose functions are tested by themselves.

pub mod allocated;
pub mod eval;
pub mod random;
pub mod tgsi;
