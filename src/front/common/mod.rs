//! What every front-end makes of the same things, so that a reader only says what its text asks for: operands by their roles
//! become instructions here, and nothing here knows a language.
//!
//! Values are operands of the IR. Readers keep their own form of values (constants, truth values, narrow numbers) and their
//! own diagnostics.

pub mod convert;
pub mod graphics;
pub mod image;
pub mod lanes;
pub mod ssa;
pub mod texture;
