//! Facts about functions that passes compute when they need them; nothing here is stored in the IR.

pub mod alias;
pub mod cfg;
pub mod divergence;
pub mod functions;
pub mod known_bits;
pub mod liveness;
pub mod must_init;
