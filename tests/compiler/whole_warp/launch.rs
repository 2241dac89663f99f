//! What a launch must say, and is refused for.

use super::text::{FOOT, head};
use super::{Case, input};
use nvir::Chip;
use nvir::compiler::{Compiler, OptLevel, Source};

/// The sum of a warp, lanes that nobody asked for giving nothing; beside it who was asked, the number of the warp, of the
/// thread, and the block's size as the program sees it.
fn sum(block: [u32; 3], declared: bool) -> String {
    head(block, declared)
        + "MOV TEMP[4], IMM[0].xxxx\nMOV TEMP[7].x, IMM[0].xxxx\nIF_ASKED\nMOV TEMP[4].x, TEMP[3].xxxx\nMOV TEMP[7].x, IMM[0].yyyy\nENDIF\n\
           XOR TEMP[18].x, SV[2].xxxx, IMM[3].zzzz\nREAD_INVOC TEMP[19].x, TEMP[4].xxxx, TEMP[18].xxxx\nUADD TEMP[4].x, TEMP[4].xxxx, TEMP[19].xxxx\n\
           XOR TEMP[18].x, SV[2].xxxx, IMM[3].yyyy\nREAD_INVOC TEMP[19].x, TEMP[4].xxxx, TEMP[18].xxxx\nUADD TEMP[4].x, TEMP[4].xxxx, TEMP[19].xxxx\n\
           XOR TEMP[18].x, SV[2].xxxx, IMM[3].xxxx\nREAD_INVOC TEMP[19].x, TEMP[4].xxxx, TEMP[18].xxxx\nUADD TEMP[4].x, TEMP[4].xxxx, TEMP[19].xxxx\n\
           XOR TEMP[18].x, SV[2].xxxx, IMM[0].zzzz\nREAD_INVOC TEMP[19].x, TEMP[4].xxxx, TEMP[18].xxxx\nUADD TEMP[4].x, TEMP[4].xxxx, TEMP[19].xxxx\n\
           XOR TEMP[18].x, SV[2].xxxx, IMM[0].yyyy\nREAD_INVOC TEMP[19].x, TEMP[4].xxxx, TEMP[18].xxxx\nUADD TEMP[4].x, TEMP[4].xxxx, TEMP[19].xxxx\n\
           BALLOT TEMP[5].xy, TEMP[7].xxxx\nBALLOT TEMP[6].xy, IMM[0].yyyy\nMOV TEMP[4].y, TEMP[5].xxxx\nMOV TEMP[4].z, TEMP[6].xxxx\nMOV TEMP[4].w, TEMP[0].xxxx\n\
           MOV TEMP[6].xyz, SV[0].xyzw\nUMAD TEMP[6].w, SV[1].xxxx, SV[1].yyyy, SV[1].zzzz\n"
        + FOOT
}

fn expected(block: [u32; 3]) -> Vec<u32> {
    let [x, y, z] = block;
    let asked = x * y * z;
    let running = asked.next_multiple_of(32);
    let mut want = Vec::new();
    for t in 0..running {
        let first = t / 32 * 32;
        let of_warp = || first..(first + 32).min(asked);
        let total = of_warp().fold(0u32, |sum, t| sum.wrapping_add(input(t)));
        let lanes = of_warp().fold(0u32, |mask, t| mask | 1 << (t % 32));
        let at = match (y, z) {
            (1, 1) => [t, 0, 0],
            (_, 1) => [t % x, t / x, 0],
            _ => [t % x, t / x % y, t / x / y],
        };
        want.extend([total, lanes, u32::MAX, t, at[0], at[1], at[2], x * y + z]);
    }
    want
}

#[test]
fn sums_ballots_and_coordinates_of_blocks_of_any_shape() {
    for block in [[1, 1, 1], [45, 1, 1], [64, 1, 1], [5, 7, 1], [3, 5, 7], [2, 1, 17], [1000, 1, 1]] {
        for declared in [true, false] {
            let case = Case { name: "case.tgsi", text: sum(block, declared), block };
            let want = expected(block);
            assert_eq!(case.interpreted().expect("it ends"), want, "{block:?}");
            case.compare(&want).unwrap_or_else(|why| panic!("{block:?}, {declared}: {why}"));
        }
    }
}

#[test]
fn every_block_size_is_divided_right() {
    // 41 and 61: `n * (1 / size)` is below the integer that it should be. Others with many quotients.
    for block in [
        [41, 24, 1],
        [61, 16, 1],
        [7, 141, 1],
        [31, 33, 1],
        [341, 3, 1],
        [511, 2, 1],
        [3, 341, 1],
        [1, 1023, 1],
        [3, 11, 31],
        [10, 10, 10],
    ] {
        let case = Case { name: "case.tgsi", text: sum(block, false), block };
        case.compare_one(Chip::Gk110, OptLevel::O3, None, &expected(block))
            .unwrap_or_else(|why| panic!("{block:?}: {why}"));
    }
}

#[test]
fn code_for_one_size_of_blocks_is_not_launched_with_another() {
    let shader = |text: &str| Compiler::new(Chip::Gk104).compile(&Source::tgsi(text)).expect("it compiles");
    let fixed = shader(&sum([5, 7, 1], true));
    assert!(fixed.whole_warps && fixed.block_size == Some([5, 7, 1]));
    assert_eq!(fixed.launch_block([5, 7, 1]), Ok([64, 1, 1]));
    let why = fixed.launch_block([5, 6, 1]).expect_err("another size");
    assert!(why.contains("[5, 6, 1]") && why.contains("the program declares 7 in y"), "{why}");
    let any = shader(&sum([5, 7, 1], false));
    assert_eq!((any.block_size, any.launch_block([5, 6, 1])), (None, Ok([32, 1, 1])));
    assert!(any.check_container().is_err());
    // The emulator's launch refuses it, too.
    let case = Case { name: "case.tgsi", text: sum([5, 7, 1], true), block: [5, 6, 1] };
    let why = case.run(Chip::Gk104, OptLevel::O3, None).expect_err("another size");
    assert!(why.contains("the program declares 7 in y"), "{why}");
    let other = shader("COMP\nEND\n");
    assert_eq!((other.whole_warps, other.launch_block([5, 6, 1])), (false, Ok([5, 6, 1])));
}

#[test]
fn a_barrier_in_the_body_is_seen_where_lanes_are_left_over() {
    let text = |block| {
        head(block, false)
            + "MOV TEMP[4], IMM[0].xxxx\nMOV TEMP[6], IMM[0].xxxx\nIF_ASKED\nBARRIER\nENDIF\n"
            + FOOT
    };
    for chip in Chip::ALL {
        for opt_level in OptLevel::ALL {
            let case = Case { name: "case.tgsi", text: text([45, 1, 1]), block: [45, 1, 1] };
            case.run_expecting(chip, opt_level, None, Some("divergent_barrier"))
                .unwrap_or_else(|why| panic!("{chip} -O{opt_level}: {why}"));
            let full = Case { name: "case.tgsi", text: text([64, 1, 1]), block: [64, 1, 1] };
            full.run(chip, opt_level, None).unwrap_or_else(|why| panic!("{chip} -O{opt_level}: {why}"));
        }
    }
}

#[test]
fn what_front_ends_are_given_wrong_is_refused_with_its_place() {
    let compile = |source: Source<'_>| {
        Compiler::new(Chip::Gk110).compile(&source).expect_err("it is wrong").to_string()
    };
    let tgsi = |body: &str| {
        compile(Source::tgsi(&format!("COMP\nDCL SV[0], THREAD_ID\nDCL TEMP[0..1]\n{body}\nEND\n")))
    };
    for (body, part) in [
        ("IF_ASKED\nENDIF\nIF_ASKED\nENDIF", "first block"),
        ("UIF SV[0].xxxx\nENDIF\nIF_ASKED\nENDIF", "first block"),
        ("UIF SV[0].xxxx\nIF_ASKED\nENDIF\nENDIF", "first block"),
        ("BGNLOOP\nIF_ASKED\nBRK\nENDIF\nENDLOOP", "first block"),
        ("IF_ASKED\nUIF SV[0].xxxx\nRET\nENDIF\nENDIF", "would miss"),
        ("IF_ASKED\nELSE\nRET\nENDIF", "would miss"),
        ("CAL :2\nEND\nBGNSUB\nIF_ASKED\nENDIF\nENDSUB", "not in what it calls"),
        ("IF_ASKED\nCAL :4\nENDIF\nEND\nBGNSUB\nUIF SV[0].xxxx\nEND\nENDIF\nENDSUB", "would miss"),
        ("IF_ASKED", "IF_ASKED has no ENDIF"),
    ] {
        let why = tgsi(body);
        assert!(why.contains(part) && why.contains("shader.tgsi:"), "{body}:\n{why}");
    }
    let nir = |body: &str| {
        compile(Source::nir(&format!(
            "shader: MESA_SHADER_COMPUTE\nworkgroup_size: 40, 1, 1\n\nimpl main {{\n    block b0:  // preds:\n    1     %0 = @init_whole_warp\n{body}}}\n"
        )))
    };
    for (body, part) in [
        (
            "    32    %1 = b2i32 %0\n    32    %2 = load_const (0x0)\n    @store_ssbo (%1, %2, %2) (wrmask=x, access=none, align_mul=4, align_offset=0)\n",
            "nothing else",
        ),
        (
            "    1     %1 = @init_whole_warp\n    if %0 {\n        block b1:  // preds: b0\n    } else {\n        block b2:  // preds: b0\n    }\n    block b3:  // preds: b1 b2\n",
            "says once",
        ),
    ] {
        let why = nir(body);
        assert!(why.contains(part) && why.contains("shader.nir:"), "{body}:\n{why}");
    }
}

#[test]
fn the_number_of_a_thread_is_right_in_nir_where_a_block_has_one() {
    for block in [[1, 1, 1], [1, 3, 1], [40, 1, 1], [2, 3, 7]] {
        let [x, y, z] = block;
        let text = format!(
            "shader: MESA_SHADER_COMPUTE\nworkgroup_size: {x}, {y}, {z}\n\nimpl main {{\n    block b0:  // preds:\n    1     %0 = @init_whole_warp\n\
             \x20   if %0 {{\n        block b1:  // preds: b0\n    }} else {{\n        block b2:  // preds: b0\n    }}\n    block b3:  // preds: b1 b2\n\
             \x20   32    %1 = @load_local_invocation_index\n    32    %2 = load_const (0x00000005)\n    32    %3 = ishl %1, %2\n    32    %4 = iadd %1, %2\n\
             \x20   32    %5 = load_const (0x00000001)\n\
             \x20   @store_ssbo (%4, %5, %3) (wrmask=x, access=none, align_mul=4, align_offset=0)\n    // succs: b4\n    block b4:\n}}\n"
        );
        let case = Case { name: "case.nir", text, block };
        let want: Vec<u32> = (0..case.threads()).flat_map(|t| [t + 5, 0, 0, 0, 0, 0, 0, 0]).collect();
        case.compare(&want).unwrap_or_else(|why| panic!("{block:?}: {why}"));
    }
}
