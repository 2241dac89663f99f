//! Operand modifiers.

use std::hash::{Hash, Hasher};

/// Modifiers on one source operand, as SASS writes them: `-R0`, `|R0|`, `-|R0|`, `~R0`.
#[derive(Clone, Copy, Debug, Eq, Default)]
pub struct SrcMods {
    pub neg: bool,
    pub abs: bool,
    /// Bitwise complement, `~R0`.
    pub inv: bool,
}

impl SrcMods {
    /// A bit for each. Operands are compared and hashed all the time: this way without a branch.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.neg as u8 | (self.abs as u8) << 1 | (self.inv as u8) << 2
    }
}

impl PartialEq for SrcMods {
    #[inline]
    fn eq(&self, other: &SrcMods) -> bool {
        self.bits() == other.bits()
    }
}

impl Hash for SrcMods {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.bits());
    }
}
