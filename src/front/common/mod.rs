//! What every front-end makes of the same things, so that a reader only says what its text asks for: operands by their roles
//! become instructions here, and nothing here knows a language.
//!
//! Values are operands of the IR, but for [`emit`], where readers of vectors share what a component is. Diagnostics are the
//! readers' own.

pub(crate) mod convert;
pub(crate) mod emit;
pub(crate) mod graphics;
pub(crate) mod image;
pub(crate) mod kept;
pub(crate) mod lanes;
pub(crate) mod ssa;
pub(crate) mod texture;
