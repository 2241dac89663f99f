//! Machine arithmetic, once: what instructions compute, for the emulator and for constant folding
//! alike.
//!
//! Everything here is a pure function of bit patterns. Floats travel as bits (`u32`, `u64`),
//! because NaNs do not survive a trip through the host's registers on every machine.
//!
//! ```
//! use nvir_base::num::{Round, float};
//! assert_eq!(float::add32(1.0f32.to_bits(), 1e-30f32.to_bits(), Round::Rp), 1.0f32.to_bits() + 1);
//! ```

pub mod conv;
pub mod float;
pub mod int;
mod mods;
pub mod mufu;
pub mod soft;
pub mod video;

pub use mods::SrcMods;

/// Rounding of an inexact result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Round {
    /// To nearest, ties to even.
    #[default]
    Rn,
    /// Towards minus infinity.
    Rm,
    /// Towards plus infinity.
    Rp,
    /// Towards zero.
    Rz,
}

impl Round {
    #[inline]
    pub fn from_index(i: u64) -> Round {
        [Round::Rn, Round::Rm, Round::Rp, Round::Rz][i as usize & 3]
    }
}
