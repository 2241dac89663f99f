//! Launches: what they bind, their blocks, and the order of those.

pub(crate) mod attached;
pub(crate) mod block;
pub(crate) mod bound;
pub(crate) mod conflict;
pub(crate) mod grid;
