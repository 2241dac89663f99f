//! Idiom recognition: arithmetic that other compilers write out, as the operation that it is.
//!
//! Mesa's lowering passes expand what its other drivers lack. Each file here finds one of those
//! expansions, proves that it computes the operation for all inputs, and puts the operation back,
//! which [`crate::lower`] expands better or the machine has. Which options of NIR avoid the
//! expansion in the first place is in `docs/nir-options.md`.

pub(super) mod long_division;
pub(super) mod quotient;
pub(super) mod saturate;
