//! What random kernels, and those of tests/whole_warp, have in common.

use std::fmt::Write;

/// What is before the question in every kernel.
pub(super) fn head(block: [u32; 3], declared: bool) -> String {
    let mut text = String::from("COMP\n");
    if declared {
        let [x, y, z] = block;
        let _ = writeln!(
            text,
            "PROPERTY CS_FIXED_BLOCK_WIDTH {x}\nPROPERTY CS_FIXED_BLOCK_HEIGHT {y}\nPROPERTY CS_FIXED_BLOCK_DEPTH {z}"
        );
    }
    text += "DCL SV[0], THREAD_ID\nDCL SV[1], BLOCK_SIZE\nDCL SV[2], SUBGROUP_INVOCATION\nDCL SV[3], BLOCK_ID\nDCL BUFFER[0]\nDCL BUFFER[1]\nDCL TEMP[0..29]\n\
             IMM[0] UINT32 {0, 1, 2, 16}\nIMM[1] UINT32 {7, 77, 13, 40503}\nIMM[2] INT32 {-1, 5, 32, 3}\nIMM[3] UINT32 {4, 8, 16, 1}\n\
             UMAD TEMP[0].x, SV[0].zzzz, SV[1].yyyy, SV[0].yyyy\nUMAD TEMP[0].x, TEMP[0].xxxx, SV[1].xxxx, SV[0].xxxx\n\
             SHL TEMP[2].x, TEMP[0].xxxx, IMM[0].zzzz\nLOAD TEMP[3].x, BUFFER[0], TEMP[2].xxxx\n";
    text
}

/// What is behind the tail in every kernel: the first block stores what is left.
pub(super) const FOOT: &str = "SHL TEMP[2].x, TEMP[0].xxxx, IMM[2].yyyy\nUSEQ TEMP[1].x, SV[3].xxxx, IMM[0].xxxx\nUIF TEMP[1].xxxx\n\
    STORE BUFFER[1].xyzw, TEMP[2].xxxx, TEMP[4]\nUADD TEMP[2].x, TEMP[2].xxxx, IMM[0].wwww\nSTORE BUFFER[1].xyzw, TEMP[2].xxxx, TEMP[6]\nENDIF\nEND\n";
