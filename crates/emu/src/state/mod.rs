//! What warps and blocks are at: data, and what changes it without a look at code or memory.

pub(crate) mod block;
pub(crate) mod defined;
pub(crate) mod lanes;
pub(crate) mod stack;
pub(crate) mod warp;
