//! Numbers and names of the special registers that S2R reads. Sources: envytools' table of GF100 in
//! the spelling of the others, nvdisasm.
//!
//! A line is a register: its number, the constant, and the name in SASS.

use nvir_base::Chip;

macro_rules! registers {
    ($(#[$doc:meta])* $table:ident: $($number:literal $register:ident $name:literal;)*) => {
        $(#[doc = concat!("`", $name, "`.")] pub const $register: u8 = $number;)*
        $(#[$doc])*
        const $table: &[(u8, &str)] = &[$(($number, $name)),*];
    };
}

registers! {
    /// Those of every generation.
    ALL:
    0 LANEID "SR_LANEID";
    1 CLOCK "SR_CLOCK";
    2 VIRTCFG "SR_VIRTCFG";
    3 VIRTID "SR_VIRTID";
    4 PM0 "SR_PM0";
    5 PM1 "SR_PM1";
    6 PM2 "SR_PM2";
    7 PM3 "SR_PM3";
    8 PM4 "SR_PM4";
    9 PM5 "SR_PM5";
    10 PM6 "SR_PM6";
    11 PM7 "SR_PM7";
    16 PRIM_TYPE "SR_PRIM_TYPE";
    17 INVOCATION_ID "SR_INVOCATION_ID";
    18 Y_DIRECTION "SR_Y_DIRECTION";
    19 THREAD_KILL "SR_THREAD_KILL";
    20 SM_SHADER_TYPE "SM_SHADER_TYPE";
    24 MACHINE_ID_0 "SR_MACHINE_ID_0";
    25 MACHINE_ID_1 "SR_MACHINE_ID_1";
    26 MACHINE_ID_2 "SR_MACHINE_ID_2";
    27 MACHINE_ID_3 "SR_MACHINE_ID_3";
    28 AFFINITY "SR_AFFINITY";
    32 TID "SR_TID";
    33 TID_X "SR_TID.X";
    34 TID_Y "SR_TID.Y";
    35 TID_Z "SR_TID.Z";
    36 CTA_PARAM "SR_CTA_PARAM";
    37 CTAID_X "SR_CTAID.X";
    38 CTAID_Y "SR_CTAID.Y";
    39 CTAID_Z "SR_CTAID.Z";
    40 NTID "SR_NTID";
    48 SWINLO "SR_SWINLO";
    49 SWINSZ "SR_SWINSZ";
    50 SMEMSZ "SR_SMEMSZ";
    51 SMEMBANKS "SR_SMEMBANKS";
    52 LWINLO "SR_LWINLO";
    53 LWINSZ "SR_LWINSZ";
    54 LMEMLOSZ "SR_LMEMLOSZ";
    55 LMEMHIOFF "SR_LMEMHIOFF";
    56 EQMASK "SR_EQMASK";
    57 LTMASK "SR_LTMASK";
    58 LEMASK "SR_LEMASK";
    59 GTMASK "SR_GTMASK";
    60 GEMASK "SR_GEMASK";
    61 REGALLOC "SR_REGALLOC";
    62 CTXADDR "SR_CTXADDR";
    64 GLOBALERRORSTATUS "SR_GLOBALERRORSTATUS";
    66 WARPERRORSTATUS "SR_WARPERRORSTATUS";
    67 WARPERRORSTATUSCLEAR "SR_WARPERRORSTATUSCLEAR";
    80 CLOCKLO "SR_CLOCKLO";
    81 CLOCKHI "SR_CLOCKHI";
    82 GLOBALTIMERLO "SR_GLOBALTIMERLO";
    83 GLOBALTIMERHI "SR_GLOBALTIMERHI";
    96 HWTASKID "SR_HWTASKID";
    97 CIRCULARQUEUEENTRYINDEX "SR_CIRCULARQUEUEENTRYINDEX";
    98 CIRCULARQUEUEENTRYADDRESSLOW "SR_CIRCULARQUEUEENTRYADDRESSLOW";
    99 CIRCULARQUEUEENTRYADDRESSHIGH "SR_CIRCULARQUEUEENTRYADDRESSHIGH";
}

registers! {
    /// Until GK110, blocks and grids have their sizes in registers.
    UNTIL_GK110:
    41 NTID_X "SR_NTID.X";
    42 NTID_Y "SR_NTID.Y";
    43 NTID_Z "SR_NTID.Z";
    44 GRIDID "SR_GRIDID";
    45 NCTAID_X "SR_NCTAID.X";
    46 NCTAID_Y "SR_NCTAID.Y";
    47 NCTAID_Z "SR_NCTAID.Z";
}

registers! {
    /// GK110's.
    GK110:
    41 CIR_QUEUE_INCR_MINUS_ONE "SR_CirQueueIncrMinusOne";
    42 NLATC "SR_NLATC";
}

/// The names of a chip's registers, with their numbers.
pub fn all(chip: Chip) -> impl Iterator<Item = (u8, &'static str)> {
    let own = if chip == Chip::Gk110 { GK110 } else { UNTIL_GK110 };
    ALL.iter().chain(own).copied()
}

/// Whether a register is a clock.
pub const fn is_clock(number: u8) -> bool {
    matches!(number, CLOCK | CLOCKLO | CLOCKHI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_map_both_ways() {
        for chip in Chip::ALL {
            for (number, name) in all(chip) {
                assert_eq!(all(chip).filter(|r| r.0 == number || r.1 == name).count(), 1, "{chip} {name}");
            }
        }
        assert_eq!((NCTAID_X, LANEID, GLOBALTIMERHI), (45, 0, 83));
    }
}
