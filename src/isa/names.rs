//! Names of numbered things that several operations share: special registers and condition-code tests.

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

/// Special registers that have a name, by number.
const SPECIAL: &[(u8, &str)] = &[
    (0, "SR_LANEID"),
    (1, "SR_CLOCK"),
    (2, "SR_VIRTCFG"),
    (3, "SR_VIRTID"),
    (32, "SR_TID"),
    (33, "SR_TID.X"),
    (34, "SR_TID.Y"),
    (35, "SR_TID.Z"),
    (37, "SR_CTAID.X"),
    (38, "SR_CTAID.Y"),
    (39, "SR_CTAID.Z"),
];

/// The name of a special register; one without a name is written `SR` and its number.
pub fn special(number: u8) -> Option<&'static str> {
    SPECIAL.iter().find(|s| s.0 == number).map(|s| s.1)
}

/// The number of a special register.
pub fn special_number(name: &str) -> Option<u8> {
    match SPECIAL.iter().find(|s| s.1 == name) {
        Some(s) => Some(s.0),
        None => name.strip_prefix("SR").and_then(|n| n.parse().ok()),
    }
}
