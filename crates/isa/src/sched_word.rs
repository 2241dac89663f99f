//! Kepler's scheduling words: the first word of every 64 bytes says how the seven that follow it
//! issue.
//!
//! Source: envytools, Mesa, and ptxas's output for sm_35. GF100 has none.

use bitfield_struct::bitfield;
use nvir_base::Chip;

/// Bytes from one scheduling word to the next.
pub const GROUP_BYTES: u32 = 64;
/// Instructions that one scheduling word speaks about.
pub const SLOTS: usize = 7;

/// The address of the `n`th instruction of a kernel.
pub fn address(chip: Chip, n: u32) -> u32 {
    let slots = SLOTS as u32;
    if chip.has_sched_words() { (n / slots * (slots + 1) + 1 + n % slots) * 8 } else { n * 8 }
}

/// Issue control of one instruction.
#[bitfield(u8)]
#[derive(PartialEq, Eq, Hash)]
pub struct Issue {
    /// With `wait` set: cycles to the next issue, less one.
    #[bits(5)]
    pub stall: u8,
    /// The count in `stall` is valid.
    pub wait: bool,
    /// Like `wait`, after a write of shader outputs (Mesa sets it).
    pub export: bool,
    /// Seen on TEXDEPBAR only.
    pub texture: bool,
}

impl Issue {
    /// Issue together with the next instruction.
    pub const DUAL: Issue = Issue::from_bits(0x04);
    /// Nothing is known: the hardware waits the longest.
    pub const UNKNOWN: Issue = Issue::from_bits(0);

    /// The same behind a store of a shader output: another bit says that the count is valid.
    pub fn after_output(cycles: u32) -> Issue {
        Issue::after(cycles).with_wait(false).with_export(true)
    }

    /// Issue the next instruction after `cycles`, at least 1 and at most 32.
    pub fn after(cycles: u32) -> Issue {
        Issue::new().with_wait(true).with_stall((cycles.clamp(1, 32) - 1) as u8)
    }

    /// The same on TEXDEPBAR, at least 4 and at most 19: more than 4 have a form of their own, in
    /// steps of 4.
    pub fn texture_barrier(cycles: u32) -> Issue {
        match cycles {
            0..=4 => Issue::after(4),
            _ => Issue::from_bits(0x82 | (cycles.min(19) / 4 * 16) as u8),
        }
    }

    /// Cycles to the next issue.
    pub fn cycles(self) -> u32 {
        match self {
            _ if self.texture() => u32::from(self.into_bits() >> 2 & 31) + 3,
            Issue::DUAL => 0,
            Issue::UNKNOWN => 32,
            _ => u32::from(self.stall()) + 1,
        }
    }
}

/// GK110's word.
#[bitfield(u64)]
struct Gk110Word {
    #[bits(2)]
    low: u8,
    #[bits(56)]
    slots: u64,
    #[bits(6)]
    tag: u8,
}

/// GK104's word.
#[bitfield(u64)]
struct Gk104Word {
    #[bits(4)]
    low: u8,
    #[bits(56)]
    slots: u64,
    #[bits(4)]
    tag: u8,
}

/// The scheduling word of seven instructions; none on a chip without them.
pub fn encode(chip: Chip, slots: [Issue; SLOTS]) -> Option<u64> {
    let bits = slots.iter().rev().fold(0u64, |w, s| (w << 8) | u64::from(s.into_bits()));
    match chip {
        Chip::Gf100 => None,
        Chip::Gk104 => Some(Gk104Word::new().with_low(7).with_slots(bits).with_tag(2).into_bits()),
        Chip::Gk110 => Some(Gk110Word::new().with_slots(bits).with_tag(2).into_bits()),
    }
}

/// The seven issue controls, if the word is a scheduling word.
pub fn decode(chip: Chip, word: u64) -> Option<[Issue; SLOTS]> {
    let bits = match chip {
        Chip::Gf100 => return None,
        Chip::Gk104 => {
            let w = Gk104Word::from_bits(word);
            (w.low() == 7 && w.tag() == 2).then(|| w.slots())
        }
        Chip::Gk110 => {
            let w = Gk110Word::from_bits(word);
            (w.low() == 0 && w.tag() == 2).then(|| w.slots())
        }
    }?;
    Some(std::array::from_fn(|i| Issue::from_bits((bits >> (8 * i)) as u8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_both_compilers_have_these_fields() {
        let bytes = |chip, w| decode(chip, w).map(|s| s.map(Issue::into_bits));
        let gk110 = bytes(Chip::Gk110, 0x0880b01080b0a080);
        assert_eq!(gk110, Some([0x20, 0x28, 0x2c, 0x20, 0x4, 0x2c, 0x20]));
        let gk104 = bytes(Chip::Gk104, 0x2200428042004207);
        assert_eq!(gk104, Some([0x20, 0x4, 0x20, 0x4, 0x28, 0x4, 0x20]));
        assert_eq!(bytes(Chip::Gf100, 0x2200428042004207), None);
        assert_eq!(bytes(Chip::Gk110, 0x0880b01080b0a081), None);
    }

    #[test]
    fn encoding_is_the_inverse() {
        for (chip, word) in [(Chip::Gk110, 0x0880b01080b0a080), (Chip::Gk104, 0x2200428042004207)] {
            assert_eq!(decode(chip, word).and_then(|s| encode(chip, s)), Some(word));
        }
    }
}
