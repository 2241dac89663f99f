//! Kernels and graphics stages as host code.
//!
//! Code is compiled once it has executed so many instructions that compiling pays, and kept beside the decoded program. Before
//! that, and where something cannot be compiled, the interpreter executes.

mod access;
mod blocks;
mod constants;
mod engine;
mod frame;
mod host;
mod lift;
mod liveness;

pub use engine::Compiled;
pub(crate) use engine::outlook;
