//! What every front-end makes of the same things, so that a reader only says what its text asks for: operands by their roles
//! become instructions here, and nothing here knows a language.
//!
//! Values are operands of the IR, but for [`emit`], where readers of vectors share what a component is. Diagnostics are the
//! readers' own.

pub mod convert;
pub mod emit;
pub mod graphics;
pub mod image;
pub mod lanes;
pub mod ssa;
pub mod texture;
