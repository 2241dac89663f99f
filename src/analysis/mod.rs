//! Facts about functions that passes compute when they need them; nothing here is stored in the IR.

pub mod cfg;
pub mod liveness;
