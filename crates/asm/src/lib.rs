//! Whole kernels of machine code, as files and as text: what assemblers, disassemblers and loaders
//! need, without a compiler.
//!
//! - [`listing`]: SASS listings, both ways, and listings of NVIDIA's tools
//! - [`cubin`]: NVIDIA's container, both ways
//! - [`raw`]: words, as bytes or in hexadecimal
//! - [`file`](mod@file): which of these a file is, and what is in it
//! - [`cfg`](mod@cfg): control flow graphs of any of them
//! - [`issue`]: Kepler's issue control (stall counts and dual issue), by the [`model`] of what
//!   instructions wait for
//! - [`check`]: finished code against the rules of issue control
//! - [`multiprocessor`]: how long what warps executed takes where they share one

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod cfg;
pub mod check;
pub mod cubin;
pub mod file;
pub mod issue;
pub mod issue_class;
pub mod listing;
pub mod model;
pub mod multiprocessor;
pub mod raw;
