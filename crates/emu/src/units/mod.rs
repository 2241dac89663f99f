//! What micro-ops do beyond a lane's registers: each a function of the context, the warp, the operands and a mask.

pub(crate) mod barrier;
pub(crate) mod flow;
pub(crate) mod memory;
mod reach;
mod rows;
pub(crate) mod special;
pub(crate) mod surface;
pub(crate) mod texels;
pub(crate) mod texture;
