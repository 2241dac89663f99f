//! TGSI text: what is read, and what is said about what cannot be.

use std::time::{Duration, Instant};

use nvir::Chip;
use nvir::diag;
use nvir::front::tgsi::ast::*;
use nvir::front::tgsi::parse;
use nvir::{Compiler, Source};
use pretty_assertions::assert_eq;

fn report(text: &str) -> String {
    let diags = parse(text).expect_err("the text is wrong");
    diag::render(&diags, "k.tgsi", text, false)
}

fn program(text: &str) -> Program {
    match parse(text) {
        Ok(p) => p,
        Err(d) => panic!("{}", diag::render(&d, "k.tgsi", text, false)),
    }
}

#[test]
fn a_report_shows_place_line_caret_and_what_was_expected() {
    let text = "COMP\nDCL TEMP[0]\n  0: UADD TEMP[0].x, TEMP[0].xxxx TEMP[0].yyyy\n  1: END\n";
    assert_eq!(
        report(text),
        "\
error: expected `,`, found `TEMP`
 --> k.tgsi:3:35
  |
3 |   0: UADD TEMP[0].x, TEMP[0].xxxx TEMP[0].yyyy
  |                                   ^^^^ expected `,`
"
    );
}

#[test]
fn several_errors_are_reported_at_once_with_the_nearest_name() {
    let text = "COMP\nDCL SV[0], THREADID\n  0: UADDD TEMP[0], TEMP[0], TEMP[0]\n  1: MOV TEMP[0], TMP[1]\n  2: END\n";
    let r = report(text);
    for part in [
        "k.tgsi:2:12",
        "did you mean `THREAD_ID`?",
        "k.tgsi:3:6",
        "did you mean `UADD`?",
        "k.tgsi:4:19",
        "did you mean `TEMP`?",
    ] {
        assert!(r.contains(part), "{part} in\n{r}");
    }
}

#[test]
fn an_operand_missing_at_the_end_of_a_line_is_missed_there() {
    let r = report("COMP\n0: MOV TEMP[0],\n1: END\n");
    assert!(r.contains("k.tgsi:2:16"), "{r}");
}

#[test]
fn nesting_is_checked() {
    let r = report("COMP\nUIF TEMP[0]\nENDLOOP\nEND\n");
    assert!(r.contains("ENDLOOP does not match") && r.contains("expected ENDIF"), "{r}");
    assert!(report("COMP\nBRK\nEND\n").contains("BRK outside a loop or switch"));
    assert!(report("COMP\nBGNLOOP\nEND\n").contains("BGNLOOP has no ENDLOOP"));
    assert!(report("COMP\nCAL :1\nEND\n").contains("no subroutine begins at instruction 1"));
}

#[test]
fn partners_tie_control_flow_together() {
    let p = program("COMP\nBGNLOOP\nUIF TEMP[0]\nBRK\nELSE\nCONT\nENDIF\nENDLOOP\nEND\n");
    assert_eq!(p.partner, [6, 3, 6, 5, 6, 5, 0, 7]);
    let p =
        program("COMP\nSWITCH TEMP[0]\nCASE TEMP[1]\nBRK\nDEFAULT\nENDSWITCH\nCAL :7\nEND\nBGNSUB\nENDSUB\n");
    assert_eq!(p.partner, [1, 3, 4, 4, 4, 7, 6, 8, 7]);
}

#[test]
fn operands_keep_their_modifiers_swizzles_and_indirections() {
    let p = program(
        "COMP\nMAD_SAT TEMP[ADDR[0].y-3](2).xw, -|CONST[ADDR[1].x+1][4].wzyx|, |IMM[0]|, -SV[0].xxxx\nEND",
    );
    let i = p.inst(0);
    assert!(i.saturate && !i.precise);
    assert_eq!(i.dsts[0].mask, 0b1001);
    let at = i.dsts[0].reg.index;
    assert_eq!(
        (at.offset, at.indirect.map(|x| (x.file, x.index, x.comp, x.array))),
        (-3, Some((File::Addr, 0, 1, 2)))
    );
    let s = &i.srcs[0];
    assert_eq!((s.neg, s.abs, s.swizzle), (true, true, [3, 2, 1, 0]));
    assert_eq!(s.reg.dim.and_then(|d| d.indirect).map(|x| (x.index, x.comp)), Some((1, 0)));
    assert_eq!(s.reg.index, Index { offset: 4, indirect: None });
    assert_eq!(i.srcs[2].swizzle, [0; 4]);
}

#[test]
fn immediates_of_every_type() {
    let p = program(
        "COMP\nIMM[0] FLT32 {0x3f800000, -1.5, 1e3, inf}\nIMM INT32 {-1, 2, 0x10, 4}\nIMM[2] FLT64 {1.0, -0.5}\n\
         IMM[3] UINT64 {18446744073709551615, 1}\nIMM[4] INT64 {-2, 0}\nNOP\nIMM[5] UINT32 {7, 0, 0, 0}\nEND\n",
    );
    let words: Vec<[u32; 4]> = p.imms.iter().map(|i| i.words).collect();
    assert_eq!(words[0], [1f32.to_bits(), (-1.5f32).to_bits(), 1e3f32.to_bits(), f32::INFINITY.to_bits()]);
    assert_eq!(words[1], [u32::MAX, 2, 16, 4]);
    assert_eq!(words[2], [0, 0x3ff0_0000, 0, 0xbfe0_0000]);
    assert_eq!(words[3], [u32::MAX, u32::MAX, 1, 0]);
    assert_eq!(words[4], [0xffff_fffe, u32::MAX, 0, 0]);
    assert_eq!(words[5], [7, 0, 0, 0]);
    assert!(report("COMP\nIMM[0] UINT32 {1, x, 0, 0}\nEND").contains("expected a number of type UINT32"));
    assert!(report("COMP\nIMM[1] UINT32 {1, 0, 0, 0}\nEND").contains("immediates are not in order"));
}

#[test]
fn the_dialect_of_2011_and_what_the_preprocessor_leaves() {
    let p = program(
        "# 1 \"<stdin>\"\nCOMP\nDCL RES[0], BUFFER, RAW, WR\nDCL RES[1..3], 2D // textures\nIMM UINT32 { 8, 0, 0, 0 }\n\
         BGNSUB  LOAD TEMP[1].xy, RINPUT, TEMP[0]\n LOAD TEMP[1].x, RES[TEMP[1].x+2], TEMP[0] /* any */\n\
         MFENCE RES[32766]\n RET\nENDSUB\n",
    );
    assert_eq!(p.code.len(), 6);
    assert_eq!(p.inst(1).srcs[0].reg.index.offset, 32764);
    assert_eq!(p.decls[1].kind, DeclKind::Res { target: Target::D2, writable: false, raw: false });
    assert!(!p.has_main());
    assert_eq!(p.subs().collect::<Vec<_>>(), [0]);
}

#[test]
fn declarations_of_every_kind() {
    let p = program(
        "FRAG\nPROPERTY FS_COORD_ORIGIN LOWER_LEFT\nPROPERTY CS_FIXED_BLOCK_WIDTH 10\nDCL IN[0].xy, COLOR, COLOR, CENTROID\n\
         DCL OUT[1], GENERIC[12], STREAM(1, 2, 3, 0), INVARIANT\nDCL CONST[2][0..7]\nDCL TEMP[3..9], ARRAY(1), LOCAL\n\
         DCL IMAGE[0], 2D_ARRAY, PIPE_FORMAT_R32_UINT, WR, RAW\nDCL SVIEW[0], SHADOW2D, FLOAT\nDCL BUFFER[0], ATOMIC\n\
         DCL MEMORY[0], SHARED\nDCL HWATOMIC[0][1..2], ARRAY(1)\nDCL SAMP[0]\n0: END\n",
    );
    assert_eq!(p.property(Property::FsCoordOrigin), Some(1));
    assert_eq!(p.decls[0].interpolate, Some(Interpolate::Color));
    assert_eq!(p.decls[0].location, Some(Location::Centroid));
    assert_eq!(p.decls[1].streams, [1, 2, 3, 0]);
    assert_eq!((p.decls[2].dim, p.decls[2].last), (Some(2), 7));
    assert_eq!((p.decls[3].array, p.decls[3].local), (1, true));
    assert_eq!(p.decls[6].kind, DeclKind::Buffer { atomic: true });
    assert_eq!(p.decls[7].kind, DeclKind::Memory(MemoryKind::Shared));
    assert_eq!(p.decls[8].dim, Some(0));
}

/// Runs `f` and says how long it took.
fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let v = f();
    (v, start.elapsed())
}

#[test]
fn hostile_texts_end_in_a_report_in_under_a_second() {
    let long = format!("COMP\n0: MOV {}\n", "TEMP[0], ".repeat(10 << 20 >> 3));
    let ifs = format!("COMP\n{}END\n", "UIF TEMP[0].xxxx\n".repeat(100_000));
    let mut state = 1u32;
    let noise: String = (0..1 << 20)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from((state >> 24) as u8)
        })
        .collect();
    for text in ["", "\u{feff}", "COMP", "COMP\n", &long, &ifs, &noise, &"x".repeat(10 << 20), "/*"] {
        let (r, time) = timed(|| report(text));
        assert!(r.contains("k.tgsi:"), "{r}");
        assert!(r.len() < 20_000, "a report of {} bytes", r.len());
        assert!(time < Duration::from_secs(1), "{time:?} for {} bytes", text.len());
    }
}

#[test]
fn a_hundred_thousand_nested_ifs_parse() {
    const N: usize = 100_000;
    let text = format!("COMP\n{}{}END\n", "UIF TEMP[0].xxxx\n".repeat(N), "ENDIF\n".repeat(N));
    let (p, time) = timed(|| program(&text));
    assert_eq!(p.partner[0], 2 * N as u32 - 1);
    assert!(time < Duration::from_secs(1), "{time:?}");
}

/// Also one that is not a text's own fault.
#[test]
fn a_stage_that_is_not_compiled_is_named_with_its_place() {
    let nir = "shader: MESA_SHADER_MESH\ndecl_function main () (entrypoint)\n\nimpl main {\nblock b0:\n}\n";
    let error = Compiler::new(Chip::Gk110).front(&Source::nir(nir)).expect_err("no such stage");
    assert!(error.diagnostics().list[0].primary.is_some());
}

/// What stands in a construct that cannot be opened must not be taken for a part of the one around it.
#[test]
fn a_construct_with_an_error_still_ends_where_it_ends() {
    let lowered = |text: &str| {
        let error = Compiler::new(Chip::Gk110).front(&Source::tgsi(text)).expect_err("the text is wrong");
        error.diagnostics().list.iter().map(|d| d.message.clone()).collect::<Vec<_>>()
    };
    let switch = |inner: &str| {
        format!(
            "COMP\nDCL TEMP[0..1]\nSWITCH TEMP[0].xxxx\nCASE TEMP[1].xxxx\n{inner}DEFAULT\nBRK\nENDSWITCH\nEND\n"
        )
    };
    let defaults = "SWITCH TEMP[0].xxxx\nCASE TEMP[1].xxxx\nDEFAULT\nDEFAULT\nENDSWITCH\n";
    assert_eq!(lowered(&switch(defaults)), ["a switch has two DEFAULTs"]);
    for inner in ["UIF IMM[7].xxxx\nELSE\nENDIF\n", "SWITCH IMM[7].xxxx\nCASE TEMP[1].xxxx\nENDSWITCH\n"] {
        assert_eq!(lowered(&switch(inner)).len(), 1, "{inner}");
    }
}

#[test]
fn a_foreign_character_is_reported_where_it_stands() {
    let r = report("COMP\n\0 0: END\n");
    assert!(r.contains("k.tgsi:2:1\n") && r.contains("found `\\0`"), "{r}");
    let r = report("COMP\nDCL TEMP[0]\n\n   @\n0: END\n");
    assert!(r.contains("k.tgsi:4:4\n"), "{r}");
    // Behind the number of an instruction it is the instruction that is missing.
    let r = report("COMP\n0:\n");
    assert!(r.contains("k.tgsi:2:3\n") && r.contains("expected an instruction"), "{r}");
}

#[test]
fn what_is_declared_twice_is_refused_with_both_places() {
    for (lines, message, places) in [
        ("DCL SV[0], THREAD_ID\nDCL SV[0], BLOCK_ID", "SV[0] is declared twice", ["3:1", "2:1"]),
        ("DCL TEMP[0..3]\nDCL TEMP[2..7]", "TEMP[2] is declared twice", ["3:1", "2:1"]),
        ("DCL TEMP[2..7]\nDCL TEMP[0..3]", "TEMP[2] is declared twice", ["3:1", "2:1"]),
        ("DCL TEMP[0..9]\nDCL TEMP[1]\nDCL TEMP[9]", "TEMP[9] is declared twice", ["4:1", "2:1"]),
        ("DCL CONST[1][0..3]\nDCL CONST[1][3]", "CONST[3] is declared twice", ["3:1", "2:1"]),
        ("DCL IMAGE[0], 2D\nDCL IMAGE[0], 3D", "IMAGE[0] is declared twice", ["3:1", "2:1"]),
        ("DCL BUFFER[0]\nDCL BUFFER[0]", "BUFFER[0] is declared twice", ["3:1", "2:1"]),
        (
            "PROPERTY CS_FIXED_BLOCK_WIDTH 1\nPROPERTY CS_FIXED_BLOCK_WIDTH 2",
            "property CS_FIXED_BLOCK_WIDTH is set twice",
            ["3:1", "2:1"],
        ),
    ] {
        let r = report(&format!("COMP\n{lines}\n0: END\n"));
        assert!(r.contains(&format!("error: {message}\n")), "{message} in\n{r}");
        for place in places {
            assert!(r.contains(&format!("k.tgsi:{place}\n")), "{place} in\n{r}");
        }
    }
}

#[test]
fn what_only_looks_declared_twice_is_taken() {
    for lines in [
        // The halves of an input, which Mesa declares apart.
        "DCL IN[0].xy, GENERIC[0], PERSPECTIVE\nDCL IN[0].zw, GENERIC[0], PERSPECTIVE",
        "DCL CONST[0][0..3]\nDCL CONST[1][0..3]",
        "DCL TEMP[0..1]\nDCL TEMP[2..3], ARRAY(1)\nDCL TEMP[4]",
        "DCL SV[0], POSITION\nDCL SV[1], POSITION",
        "DCL SAMP[0]\nDCL SVIEW[0], 2D, FLOAT\nDCL IMAGE[0], 2D\nDCL BUFFER[0]",
    ] {
        program(&format!("FRAG\n{lines}\n0: END\n"));
    }
}

#[test]
fn many_duplicates_are_found_in_a_moment() {
    let begin = Instant::now();
    let properties =
        "PROPERTY CS_FIXED_BLOCK_WIDTH 1\n".repeat(100_000) + &"PROPERTY NEXT_SHADER FRAG\n".repeat(100_000);
    let diags = parse(&format!("COMP\n{properties}{}0: END\n", "DCL TEMP[0..9]\n".repeat(100_000)))
        .expect_err("twice");
    assert_eq!(diags.list.len() + diags.dropped, 299_997);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn a_block_that_is_too_large_points_at_its_dimension() {
    for (n, name) in [(2, "WIDTH"), (3, "HEIGHT"), (4, "DEPTH")] {
        let size = |of: &str| if of == name { 5000 } else { 1 };
        let text = format!(
            "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH {}\nPROPERTY CS_FIXED_BLOCK_HEIGHT {}\n\
             PROPERTY CS_FIXED_BLOCK_DEPTH {}\n0: END\n",
            size("WIDTH"),
            size("HEIGHT"),
            size("DEPTH")
        );
        let e = Compiler::new(Chip::Gk110).compile(&Source::tgsi(&text)).expect_err("too large");
        let span = e.diagnostics().list[0].primary.as_ref().expect("a place").0;
        assert_eq!(diag::line_column(&text, span.start).0, n, "{name}");
    }
}

#[test]
fn a_mistyped_opcode_suggests_the_one_that_was_meant() {
    for (wrong, meant) in [("UMADD", "UMAD"), ("UADDD", "UADD"), ("MVO", "MOV"), ("STOER", "STORE")] {
        let r = report(&format!("COMP\n0: {wrong} TEMP[0], TEMP[0], TEMP[0]\n1: END\n"));
        assert!(r.contains(&format!("did you mean `{meant}`?")), "{r}");
    }
}

#[test]
fn atomics_of_helpers_give_the_same_value_twice_in_loops() {
    let shader = |before: &str, after: &str| {
        let text = format!(
            "FRAG\nDCL OUT[0], COLOR\nDCL BUFFER[0]\nDCL TEMP[0]\nIMM[0] UINT32 {{0, 1, 0, 0}}\n{before}\
             ATOMUMAX TEMP[0].x, BUFFER[0], IMM[0].xxxx, IMM[0].yyyy\n{after}MOV OUT[0], TEMP[0]\nEND\n"
        );
        let compiler = Compiler::new(Chip::Gk110);
        compiler.front(&Source::tgsi(&text)).unwrap_or_else(|e| panic!("{e}")).to_string()
    };
    let retried = shader(
        "BGNLOOP\n",
        "USEQ TEMP[0].y, TEMP[0].xxxx, IMM[0].yyyy\nUIF TEMP[0].yyyy\nBRK\nENDIF\nENDLOOP\n",
    );
    assert_eq!(retried.matches("sv[threadkill]").count(), 1, "{retried}");
    let once = shader("BGNLOOP\nBRK\nENDLOOP\n", "");
    assert_eq!(once.matches("sv[threadkill]").count(), 0, "{once}");
}
