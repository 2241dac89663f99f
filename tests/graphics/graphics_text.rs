//! IR text of graphics stages: what is printed is read back as the same program, which compiles to the same code.

use nvir::compiler::{Compiler, Language, OptLevel, Options, Source, StageOptions};
use nvir::ir::{Phase, parse};
use nvir::stage::Stage;
use nvir::{Chip, input, verify};
use nvir_fixture::Fixture;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The graphics fixtures with a text: path of the text, its language, and what the fixture says of its stage.
fn programs() -> Vec<(PathBuf, Language, StageOptions)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["tgsi/graphics", "nir-fixtures/graphics"] {
        input::walk(&root.join(folder), &|f| input::ends_in(f, &["toml", "json"]), &mut files)
            .expect("readable");
    }
    let program = |path: &PathBuf| {
        let fixture = Fixture::read(path).unwrap_or_else(|e| panic!("{e}"));
        let stage = fixture.stage_options(StageOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let source = path.with_file_name(&fixture.source);
        let language = Language::of(&source).expect("a text");
        (source, language, stage)
    };
    files.iter().map(program).collect()
}

#[test]
fn the_listing_of_every_graphics_stage_is_read_back() {
    let mut stages: BTreeMap<Stage, u32> = BTreeMap::new();
    for (path, language, stage) in programs() {
        let name = path.display();
        let text = std::fs::read_to_string(&path).expect("readable");
        let source = Source { language, text: &text, entry: None, name: "text" };
        let compiler =
            |chip| Compiler::new(chip).with_options(Options { stage, ..Options::at(OptLevel::O2) });
        for chip in Chip::ALL {
            let program = compiler(chip).front(&source).unwrap_or_else(|e| panic!("{name}: {e}"));
            *stages.entry(program.stage()).or_default() += 1;
            let listing = program.to_string();
            let again =
                parse::program(&listing).unwrap_or_else(|d| panic!("{name}: {}\n{listing}", d.message));
            assert_eq!(again.to_string(), listing, "{name}");
            assert_eq!(again.interface, program.interface, "{name}");
            verify::program(&again, Phase::Front).unwrap_or_else(|v| panic!("{name}: {v}"));
            // Source lines are not in the text.
            let made = compiler(chip).compile(program).unwrap_or_else(|e| panic!("{name}: {e}"));
            let other = compiler(chip).compile(again).unwrap_or_else(|e| panic!("{name} read back: {e}"));
            assert!(made.code == other.code, "{name} {chip}: other code");
            let header = |s: &nvir::Shader| s.stage.as_ref().map(|g| g.header.encode());
            assert_eq!(header(&made), header(&other), "{name} {chip}");
        }
    }
    assert_eq!(stages.len(), 5, "{stages:?}");
    assert!(stages.values().all(|&n| n >= 6), "{stages:?}");
}

#[test]
fn a_colour_has_four_registers_even_if_one_component_is_written() {
    for (text, registers) in [
        (
            "FRAG\nDCL OUT[0], COLOR\nDCL OUT[1], COLOR[1]\nIMM[0] FLT32 {1.0, 0.0, 0.0, 0.0}\n  0: MOV OUT[1].x, IMM[0].xxxx\n  1: END\n",
            8,
        ),
        (
            "FRAG\nDCL OUT[0], COLOR[2]\nIMM[0] FLT32 {1.0, 0.0, 0.0, 0.0}\n  0: MOV OUT[0].y, IMM[0].xxxx\n  1: END\n",
            4,
        ),
        // Without a result the header still declares a colour.
        ("FRAG\n  0: END\n", 4),
    ] {
        for chip in Chip::ALL {
            let shader = Compiler::new(chip).compile(&Source::tgsi(text)).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(shader.gprs, registers, "{chip}: {text}");
        }
    }
}

#[test]
fn attributes_that_lie_between_words_are_refused() {
    let program = |align: &str| {
        let text = format!(
            "program\nstage vert\noutput GENERIC[0] xyzw\n\nkernel main() {{\nb0:\n    \
             mov u32 %r0 0x1\n    st u32 # o[0x8c align {align}] %r0\n    exit\n}}\n"
        );
        let program = parse::program(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
        verify::program(&program, Phase::Front).map_err(|v| v.to_string())
    };
    assert_eq!(program("16+12"), Ok(()));
    for align in ["16+13", "2"] {
        let why = program(align).expect_err("it is no word");
        assert!(why.contains("attributes lie at multiples of 4"), "{why}");
    }
}

#[test]
fn two_results_in_one_register_are_refused() {
    let text = "program\nstage frag\noutput COLOR[0] xyzw\n\nkernel main() -> rrrr in 0 1 3 3 {\nb0:\n    mov u32 %r0 0x1\n    ret {%r0 %r0 %r0 %r0}\n}\n";
    let verified = |text: &str| {
        let program = parse::program(text).unwrap_or_else(|d| panic!("{}\n{text}", d.message));
        verify::program(&program, Phase::Front).map_err(|v| v.to_string())
    };
    assert_eq!(verified(&text.replace("1 3 3", "1 2 3")), Ok(()));
    let why = verified(text).expect_err("a register holds one of them");
    assert!(why.contains("two results of the kernel have one register"), "{why}");
}
