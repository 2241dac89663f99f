//! Front-ends: text to IR.

pub mod nir;
pub mod tgsi;
