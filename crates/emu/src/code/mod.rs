//! Code: decoded once to micro-ops in basic blocks, and kept by its contents.

mod beginning;
pub(crate) mod blocks;
pub(crate) mod cache;
pub(crate) mod compare;
pub(crate) mod decode;
mod kernel;
pub(crate) mod laneop;
pub(crate) mod micro;
pub(crate) mod operand;
pub(crate) mod program;
mod reach;
pub(crate) mod rows;
pub(crate) mod stageop;
pub(crate) mod steps;
pub(crate) mod surfop;
pub(crate) mod texop;
mod video;
pub(crate) mod wideop;
