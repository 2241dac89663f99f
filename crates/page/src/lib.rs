//! Pages for browsers that need nothing else: one HTML file with style, script and data in it, or the same served to this
//! machine alone.
//!
//! The crate writes no file and prints nothing; that is for who calls it.

#![warn(clippy::print_stdout)]

#[cfg(feature = "browser")]
pub mod browser;
mod html;
mod serve;
pub mod steps;

pub use html::{Parts, html};
pub use serve::{Served, Server, Site};

/// The script that shows [`steps`]: a class `Steps`, and how words are read.
pub const STEPS: &str = include_str!("steps.js");
