//! Facts about the engines of NVIDIA Fermi and Kepler, without behaviour.
//!
//! - [`surface`]: what a driver writes for an image
//! - [`samples`]: samples of a pixel

#![warn(missing_docs)]

pub mod samples;
pub mod surface;
