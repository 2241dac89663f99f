//! Facts about functions that passes compute when they need them; nothing here is stored in the IR.

pub(crate) mod alias;
pub(crate) mod cfg;
pub(crate) mod divergence;
pub(crate) mod functions;
pub(crate) mod known_bits;
pub(crate) mod liveness;
pub(crate) mod must_init;
