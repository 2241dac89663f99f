//! Names of numbered things that several operations share: special registers and condition-code tests.

use nvir_base::chip::Chip;

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

/// Whether a special register is a clock: `SR_CLOCK`, `SR_CLOCKLO`, `SR_CLOCKHI`.
pub fn is_clock(number: u8) -> bool {
    matches!(number, 1 | 80 | 81)
}

/// Special registers of one generation: until GK110, blocks and grids have their sizes in registers.
/// Source: envytools' table of GF100, in the spelling of the others.
const UNTIL_GK110: &[(u8, &str)] = &[
    (40, "SR_NTID"),
    (41, "SR_NTID.X"),
    (42, "SR_NTID.Y"),
    (43, "SR_NTID.Z"),
    (44, "SR_GRIDID"),
    (45, "SR_NCTAID.X"),
    (46, "SR_NCTAID.Y"),
    (47, "SR_NCTAID.Z"),
];

/// Source: nvdisasm.
const GK110: &[(u8, &str)] = &[(40, "SR_NTID"), (41, "SR_CirQueueIncrMinusOne"), (42, "SR_NLATC")];

/// Special registers of every generation, by number.
const SPECIAL: &[(u8, &str)] = &[
    (0, "SR_LANEID"),
    (1, "SR_CLOCK"),
    (2, "SR_VIRTCFG"),
    (3, "SR_VIRTID"),
    (4, "SR_PM0"),
    (5, "SR_PM1"),
    (6, "SR_PM2"),
    (7, "SR_PM3"),
    (8, "SR_PM4"),
    (9, "SR_PM5"),
    (10, "SR_PM6"),
    (11, "SR_PM7"),
    (16, "SR_PRIM_TYPE"),
    (17, "SR_INVOCATION_ID"),
    (18, "SR_Y_DIRECTION"),
    (19, "SR_THREAD_KILL"),
    (20, "SM_SHADER_TYPE"),
    (24, "SR_MACHINE_ID_0"),
    (25, "SR_MACHINE_ID_1"),
    (26, "SR_MACHINE_ID_2"),
    (27, "SR_MACHINE_ID_3"),
    (28, "SR_AFFINITY"),
    (32, "SR_TID"),
    (33, "SR_TID.X"),
    (34, "SR_TID.Y"),
    (35, "SR_TID.Z"),
    (36, "SR_CTA_PARAM"),
    (37, "SR_CTAID.X"),
    (38, "SR_CTAID.Y"),
    (39, "SR_CTAID.Z"),
    (48, "SR_SWINLO"),
    (49, "SR_SWINSZ"),
    (50, "SR_SMEMSZ"),
    (51, "SR_SMEMBANKS"),
    (52, "SR_LWINLO"),
    (53, "SR_LWINSZ"),
    (54, "SR_LMEMLOSZ"),
    (55, "SR_LMEMHIOFF"),
    (56, "SR_EQMASK"),
    (57, "SR_LTMASK"),
    (58, "SR_LEMASK"),
    (59, "SR_GTMASK"),
    (60, "SR_GEMASK"),
    (61, "SR_REGALLOC"),
    (62, "SR_CTXADDR"),
    (64, "SR_GLOBALERRORSTATUS"),
    (66, "SR_WARPERRORSTATUS"),
    (67, "SR_WARPERRORSTATUSCLEAR"),
    (80, "SR_CLOCKLO"),
    (81, "SR_CLOCKHI"),
    (82, "SR_GLOBALTIMERLO"),
    (83, "SR_GLOBALTIMERHI"),
    (96, "SR_HWTASKID"),
    (97, "SR_CIRCULARQUEUEENTRYINDEX"),
    (98, "SR_CIRCULARQUEUEENTRYADDRESSLOW"),
    (99, "SR_CIRCULARQUEUEENTRYADDRESSHIGH"),
];

fn specials(chip: Chip) -> impl Iterator<Item = &'static (u8, &'static str)> {
    SPECIAL.iter().chain(if chip == Chip::Gk110 { GK110 } else { UNTIL_GK110 })
}

/// The name of a special register; one without a name is written `SR` and its number.
pub fn special(chip: Chip, number: u8) -> Option<&'static str> {
    specials(chip).find(|s| s.0 == number).map(|s| s.1)
}

/// The number of a special register.
pub fn special_number(chip: Chip, name: &str) -> Option<u8> {
    match specials(chip).find(|s| s.1 == name) {
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
