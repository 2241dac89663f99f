//! Facts about the engines of NVIDIA's Fermi and Kepler, each in one place: what a driver writes and a card reads.
//!
//! - [`class`]: numbers of classes; [`method`]: their methods; [`word`]: words of methods that have fields.
//! - [`surface`]: what a driver writes for an image; [`samples`]: samples of a pixel.
//!
//! There is no behaviour here: the driver, the virtual GPU, the emulator and the compiler read these tables and do what they
//! say. Source of everything that does not say another: envytools' rnndb and NVIDIA's open class headers.

#![warn(missing_docs)]

pub mod class;
pub mod method;
pub mod push;
pub mod samples;
pub mod surface;
pub mod word;

pub use class::Class;
