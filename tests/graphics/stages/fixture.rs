//! Fixtures of graphics stages from SASS or words with a header: the runner without the compiler.

use super::*;
use nvir::stage::Stage;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use nvir_fixture::{Fixture, FixtureError};
use std::path::Path;

fn hex(header: &Header) -> String {
    header.encode().map(|w| format!("{w:08x}")).join(" ")
}

fn load(json: &str, source: &str) -> Result<Loaded, FixtureError> {
    let path = Path::new("test.json");
    Loaded::new(path, Fixture::parse(path, json)?, source.as_bytes().to_vec())
}

fn outcomes(json: &str, source: &str, chip: Chip) -> Vec<Outcome> {
    let loaded = load(json, source).unwrap_or_else(|e| panic!("{e}"));
    let settings = Settings { checks: Checks::ALL, ..Settings::default() };
    loaded.run(chip, None, &settings, &mut None, |_, _| ()).into_iter().map(|r| r.outcome).collect()
}

fn vertex_header() -> Header {
    declared(Header::new(Stage::Vertex), &[0x80, 0x84, 0x2fc], &[0x70, 0x74, 0x80])
}

const VERTEX: &str = "ALD.64 R0, a[0x80]\nFADD R0, R0, c[0x0][0x4]\nFADD R1, R1, c[0x1][0x0]\nAST.64 a[0x70], R0\nALD R2, a[0x2fc]\n\
    IADD R2, R2, c[0xf][0x1a0]\nAST a[0x80], R2\nEXIT\n";

fn vertex_fixture(more: &str, expect: &str) -> String {
    format!(
        r#"{{"source": "test.sass", "stage": "vert", "header": "{}", "tests": [{{"name": "t",
        "vertices": {{"count": 2, "inputs": {{"IN[0]": [[1.5, 2.0], [-1.0, 0.5]]}},
            "system": {{"VERTEXID": [5, 6], "BASEVERTEX": [100, 100]}}}},
        "uniforms": "u", "ubo": {{"0": "b"}}, "expect": {expect}{more},
        "buffers": {{"u": {{"type": "f32", "len": 2, "init": [0, 0.25]}}, "b": {{"type": "f32", "len": 1, "init": [8]}}}}}}]}}"#,
        hex(&vertex_header())
    )
}

#[test]
fn vertices_run_from_assembly() {
    for chip in Chip::ALL {
        let source = format!(".chip {chip}\n{VERTEX}");
        let good =
            vertex_fixture("", r#"{"POSITION": [[1.75, 10.0], [-0.75, 8.5]], "GENERIC[0]": [[105], [106]]}"#);
        assert_eq!(outcomes(&good, &source, chip), [Outcome::Passed], "{chip}");
        let near =
            vertex_fixture(r#", "tolerance": {"abs": 0.01}"#, r#"{"POSITION": [[1.755, null], null]}"#);
        assert_eq!(outcomes(&near, &source, chip), [Outcome::Passed], "{chip}");
        let wrong = vertex_fixture("", r#"{"GENERIC[0]": [[105], [107]]}"#);
        let [Outcome::Failed(why)] = &outcomes(&wrong, &source, chip)[..] else { panic!() };
        assert_eq!(why, "GENERIC[0], vertex 1, x is 106 (0x6a), expected 107 (0x6b); 1 of 2 values wrong");
        // Words, with the header in front.
        let code = assemble(chip, &VERTEX.lines().collect::<Vec<_>>());
        let words: String = code.iter().map(|w| format!("{w:016x}\n")).collect();
        let json = good.replace("test.sass", "test.hex").replacen(
            &hex(&vertex_header()),
            &hex(&Header::new(Stage::Vertex)),
            1,
        );
        assert_eq!(
            outcomes(&json, &format!("{}\n{words}", hex(&vertex_header())), chip),
            [Outcome::Passed],
            "{chip}"
        );
    }
}

#[test]
fn a_fault_can_be_expected() {
    let source = ".chip gk110\nALD R0, a[0x90]\nEXIT\n";
    let json = vertex_fixture(r#", "fault": "out_of_bounds""#, r#"{"POSITION": [null, null]}"#);
    assert_eq!(outcomes(&json, source, Chip::Gk110), [Outcome::Passed]);
    let json = vertex_fixture("", r#"{"POSITION": [[1.0], null]}"#);
    let [Outcome::Failed(why)] = &outcomes(&json, source, Chip::Gk110)[..] else { panic!() };
    assert!(
        why.contains("out_of_bounds: reads input a[0x90], which the header does not declare (vertex 5)"),
        "{why}"
    );
}

#[test]
fn patches_primitives_and_pixels_run_too() {
    let chip = Chip::Gk110;
    let run = |header: &Header, source: &str, test: &str| {
        let json = format!(
            r#"{{"source": "x.sass", "header": "{}", "tests": [{{"name": "t", {test}}}]}}"#,
            hex(header)
        );
        let outcome = outcomes(&json, &format!(".chip gk110\n{source}\nEXIT\n"), chip);
        assert_eq!(outcome, [Outcome::Passed]);
    };
    let mut control = declared(Header::new(Stage::TessControl), &[0x70], &[0x80]);
    (control.threads, control.patch_words) = (2, 12);
    run(
        &control,
        "S2R R0, SR_INVOCATION_ID\nVILD R1, v[R0]\nALD R2, a[0x70], R1\nAST a[0x80], R2\nAST.P a[0x20], R2",
        r#""patches": {"count": 2, "vertices_in": 2, "vertices_out": 2, "inputs": {"POSITION": [[[1.0], [2.0]], [[3.0], [4.0]]]}},
        "expect": {"vertex": {"GENERIC[0]": [[[1.0], [2.0]], [[3.0], [4.0]]]}, "patch": {"PATCH[0]": [[2.0], [4.0]]}}"#,
    );
    let mut evaluation = declared(Header::new(Stage::TessEval), &[], &[0x70, 0x74, 0x78]);
    evaluation.set_read_back(0x2f0);
    run(
        &evaluation,
        "S2R R3, SR_LANEID\nALD.O R0, a[0x2f0], R3\nALD.P.64 R4, a[0x30]\nAST a[0x70], R0\nAST a[0x74], R4\nAST a[0x78], R5",
        r#""patches": {"count": 1, "vertices_in": 1, "patch_inputs": {"PATCH[1]": [[7, 8]]},
            "invocations": {"patch": [0, 0], "TESSCOORD": [[0.25, 0.5, 0], [1, 0]]}},
        "expect": {"POSITION": [[0.25, 7, 8], [1.0, 7]]}"#,
    );
    let mut geometry = declared(Header::new(Stage::Geometry), &[0x60], &[0x60, 0x64]);
    (geometry.threads, geometry.max_vertices, geometry.streams) = (1, 1, 1);
    geometry.topology = Some(nvir::isa::header::Topology::Lines);
    run(
        &geometry,
        "ALD R1, a[0x60]\nAST a[0x60], R1\nAST a[0x64], R1\nOUT.EMIT R0, RZ, RZ",
        r#""primitives": {"count": 2, "vertices_in": 1, "invocations": 1, "system": {"PRIMID": [30, 40]}},
        "expect": {"streams": {"0": [{"PRIMID": 30, "LAYER": [30]}, "cut", {"LAYER": [40]}, "cut"]}}"#,
    );
    let mut fragment = Header::new(Stage::Fragment);
    fragment.kills = true;
    fragment.set_interpolation(0x80, nvir::isa::header::Interpolation::Flat);
    fragment.set_color_mask(0, 15);
    fragment.set_depth(true);
    run(
        &fragment,
        "IPA.CONSTANT R0, a[0x80], RZ\nS2R R1, SR_LANEID\nISETP.EQ.AND P0, PT, R1, 0x2, PT\n@P0 KIL\nMOV32I R5, 0x3f000000\nMOV R2, c[0xf][0x1a0]",
        r#""triangle": {"window": [[0, 0, 0, 1], [8, 0, 0, 1], [0, 8, 0, 1]], "varyings": {"GENERIC[0]": [[1.0], [2.0], [3.0]]}},
        "quads": [{"at": [0, 0], "cover": [1, 1, 1, 0]}], "samples": 1,
        "expect": {"COLOR[0]": [[[3.0, 0, 0.5], [3.0, 1], null, null]], "KILLED": [[0, 0, 1, 0]], "DEPTH": [[0.5, 0.5, null, null]]}"#,
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_its_reason() {
    let header = hex(&vertex_header());
    let source = format!(".chip gk110\n{VERTEX}");
    let with = |top: &str, test: &str| {
        format!(r#"{{"source": "x.sass", "header": "{header}"{top}, "tests": [{{"name": "t"{test}}}]}}"#)
    };
    let vertices = r#", "vertices": {"count": 1}"#;
    for (top, test, why) in [
        ("", "", "grid and block, launches, vertices, patches, primitives or triangle are missing"),
        ("", r#", "grid": [1, 1, 1]"#, "are missing"),
        (
            "",
            r#", "vertices": {"count": 1}, "grid": [1, 1, 1], "block": [1, 1, 1]"#,
            "`vertices` beside `grid and block`",
        ),
        (
            "",
            r#", "vertices": {"count": 1}, "quads": [{"at": [0, 0], "cover": [1, 1, 1, 1]}]"#,
            "go with `triangle`",
        ),
        (r#", "stage": "frag""#, vertices, "the fixture's stage is frag, the test is of a vert shader"),
        (r#", "stage": "vert""#, r#", "grid": [1, 1, 1], "block": [1, 1, 1]"#, "the test is of a kernel"),
        (r#", "stage": "pixel""#, vertices, "unknown variant `pixel`"),
        (
            r#", "nir_tess": {"spacing": 4}"#,
            vertices,
            "spacing 4: 1 equal, 2 fractional odd, 3 fractional even",
        ),
        (r#", "nir_fs": {"uses_discard": 2}"#, vertices, "true, false, 1 or 0"),
        (r#", "nir_gs": {"input": 4}"#, vertices, "missing field"),
        (r#", "nir_info": {"clip": 1}"#, vertices, "unknown field `clip`"),
        (r#", "clip_planes": [[1, 2, 3]]"#, vertices, "length"),
        ("", r#", "vertices": {"count": 1, "input": {}}"#, "unknown field `input`"),
        (
            "",
            r#", "vertices": {"count": 1, "inputs": {"IN[0]": [[1, 2, 3, 4, 5]]}}"#,
            "at most four components",
        ),
        ("", r#", "vertices": {"count": 1, "system": {"VERTEXID": ["a"]}}"#, "invalid type"),
        (
            "",
            r#", "grid": [1, 1, 1], "block": [1, 1, 1], "expect": {}"#,
            "`expect` of the test is for graphics stages",
        ),
    ] {
        let error = load(&with(top, test), &source).err().unwrap_or_else(|| panic!("{why}: accepted"));
        assert!(error.to_string().contains(why), "{why}: {error}");
    }
    for (text, why) in [
        ("1 2 3", "expected 20 words"),
        (&"0 ".repeat(20), "no stage has kind 0"),
        ("x", "expected 20 words"),
    ] {
        let json =
            format!(r#"{{"source": "x.sass", "header": "{text}", "tests": [{{"name": "t"{vertices}}}]}}"#);
        assert!(load(&json, &source).err().unwrap().to_string().contains(why), "{why}");
    }
    for (test, why) in [
        (r#", "vertices": {"count": 0}"#, "there is nothing to do"),
        (r#", "vertices": {"count": 2, "inputs": {"IN[0]": [[1]]}}"#, "IN[0] has 1 values for 2"),
        (r#", "vertices": {"count": 1, "inputs": {"IN[32]": [[1]]}}"#, "IN[0] to IN[31]"),
        (
            r#", "vertices": {"count": 1, "inputs": {"POSITION": [[1]]}}"#,
            "is not an input of a vertex shader",
        ),
        (r#", "vertices": {"count": 1, "inputs": {"IN[0]": [[4294967296]]}}"#, "does not fit into 32 bits"),
        (
            r#", "vertices": {"count": 2, "system": {"BASEVERTEX": [1, 2]}}"#,
            "BASEVERTEX differs between vertices",
        ),
        (r#", "vertices": {"count": 2, "system": {"INSTANCEID": [1]}}"#, "INSTANCEID has 1 values for 2"),
        (
            r#", "patches": {"count": 1, "vertices_in": 1}"#,
            "the test is of a tesc shader, the program is a vert shader",
        ),
        (
            r#", "triangle": {"window": [[0,0,0,1],[1,0,0,1],[0,1,0,1]]}, "quads": [{"at": [0, 0], "cover": [1, 1, 1, 1]}]"#,
            "the test is of a frag shader",
        ),
    ] {
        let [Outcome::Failed(got)] = &outcomes(&with("", test), &source, Chip::Gk110)[..] else {
            panic!("{why}")
        };
        assert!(got.contains(why), "{why}: {got}");
    }
    // A program without a header is a kernel.
    let json = r#"{"source": "x.sass", "tests": [{"name": "t", "vertices": {"count": 1}}]}"#;
    let [Outcome::Failed(got)] = &outcomes(json, &source, Chip::Gk110)[..] else { panic!() };
    assert!(got.ends_with(":1: the program is a kernel, the test is of a graphics stage"), "{got}");
}
