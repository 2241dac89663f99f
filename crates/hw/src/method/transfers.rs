//! Engines that move bytes: M2MF (9039) of GF100, P2MF (a040, a140) and the copy engine (a0b5) of
//! Kepler.

use super::methods;

methods! {
    /// GF100's copies, and data in the stream.
    pub mod m2mf;

    0x0204 TILING_MODE_IN        Copy;
    0x0208 TILING_PITCH_IN       Copy;
    0x020c TILING_HEIGHT_IN      Copy;
    0x0210 TILING_DEPTH_IN       Copy;
    0x0214 TILING_POSITION_IN_Z  Copy;
    0x0220 TILING_MODE_OUT       Copy;
    0x0224 TILING_PITCH_OUT      Copy;
    0x0228 TILING_HEIGHT_OUT     Copy;
    0x022c TILING_DEPTH_OUT      Copy;
    0x0230 TILING_POSITION_OUT_Z Copy;
    0x0238 OFFSET_OUT_HIGH       Copy;
    0x023c OFFSET_OUT_LOW        Copy;
    0x027c FIRMWARE[32; 0x4]     Firmware;
    0x0300 EXEC                  Copy acts;
    0x0304 DATA                  Copy acts;
    0x030c OFFSET_IN_HIGH        Copy;
    0x0310 OFFSET_IN_LOW         Copy;
    0x0314 PITCH_IN              Copy;
    0x0318 PITCH_OUT             Copy;
    0x031c LINE_LENGTH_IN        Copy;
    0x0320 LINE_COUNT            Copy;
    0x032c QUERY_ADDRESS_HIGH    Query;
    0x0330 QUERY_ADDRESS_LOW     Query;
    0x0334 QUERY_SEQUENCE        Query;
    0x0338 COND_ADDRESS_HIGH     Condition;
    0x033c COND_ADDRESS_LOW      Condition;
    0x0340 COND_MODE             Condition = 1;
    0x0344 TILING_POSITION_IN_X  Copy;
    0x0348 TILING_POSITION_IN_Y  Copy;
    0x034c TILING_POSITION_OUT_X Copy;
    0x0350 TILING_POSITION_OUT_Y Copy;
}

methods! {
    /// Kepler's data in the stream, besides [`upload`](super::upload) and
    /// [`condition`](super::condition).
    pub mod p2mf;

    0x0200 FIRMWARE[32; 0x4] Firmware;
}

methods! {
    /// Kepler's copies. Mesa's header has the names of the two layouts in EXEC exchanged.
    pub mod copy;

    0x0240 QUERY_ADDRESS_HIGH   Query;
    0x0244 QUERY_ADDRESS_LOW    Query;
    0x0248 QUERY_SEQUENCE       Query;
    0x0300 EXEC                 Copy acts;
    0x0400 SRC_ADDRESS_HIGH     Copy;
    0x0404 SRC_ADDRESS_LOW      Copy;
    0x0408 DST_ADDRESS_HIGH     Copy;
    0x040c DST_ADDRESS_LOW      Copy;
    0x0410 SRC_PITCH            Copy;
    0x0414 DST_PITCH            Copy;
    0x0418 X_COUNT              Copy;
    0x041c Y_COUNT              Copy;
    0x0700 REMAP_CONST_A        Copy;
    0x0704 REMAP_CONST_B        Copy;
    0x0708 SWIZZLE              Copy;
    0x070c DST_BLOCK_DIMENSIONS Copy;
    0x0710 DST_SIZE_X           Copy;
    0x0714 DST_SIZE_Y           Copy;
    0x0718 DST_SIZE_Z           Copy;
    0x071c DST_POS_Z            Copy;
    0x0720 DST_POS_XY           Copy;
    0x0728 SRC_BLOCK_DIMENSIONS Copy;
    0x072c SRC_SIZE_X           Copy;
    0x0730 SRC_SIZE_Y           Copy;
    0x0734 SRC_SIZE_Z           Copy;
    0x0738 SRC_POS_Z            Copy;
    0x073c SRC_POS_XY           Copy;
}
