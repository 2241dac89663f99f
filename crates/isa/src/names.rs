//! Names of numbered things that several operations share: special registers and condition-code
//! tests.

use nvir_base::chip::Chip;
use nvir_hw::special;
pub use nvir_hw::special::is_clock;

/// Condition-code tests by number; 15 is always and is not written.
pub const CC_TESTS: [&str; 32] = [
    "F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU", "T",
    "OFF", "LO", "SFF", "LS", "HI", "SFT", "HS", "OFT", "CSM_TA", "CSM_TR", "CSM_MX", "FCSM_TA", "FCSM_TR",
    "FCSM_MX", "RLE", "RGT",
];

/// The number of a condition-code test.
pub fn cc_test(name: &str) -> Option<u8> {
    CC_TESTS.iter().position(|&n| n == name).map(|n| n as u8)
}

/// The name of a special register; one without a name is written `SR` and its number.
pub fn special(chip: Chip, number: u8) -> Option<&'static str> {
    special::all(chip).find(|s| s.0 == number).map(|s| s.1)
}

/// The number of a special register.
pub(crate) fn special_number(chip: Chip, name: &str) -> Option<u8> {
    match special::all(chip).find(|s| s.1 == name) {
        Some(s) => Some(s.0),
        None => name.strip_prefix("SR").and_then(|n| n.parse().ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_registers_have_one_name_on_each_chip() {
        for chip in Chip::ALL {
            for n in 0..=u8::MAX {
                if let Some(name) = special(chip, n) {
                    assert_eq!(special_number(chip, name), Some(n), "{chip}");
                }
            }
        }
        assert_eq!(special(Chip::Gf100, 45), Some("SR_NCTAID.X"));
        assert_eq!(special(Chip::Gk110, 45), None);
    }
}
