//! The commands with a graphics stage: what they print of fixtures that are part of the project.

use std::path::{Path, PathBuf};
use std::process::Command;

fn nvir(arguments: &[&str]) -> (Option<i32>, String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new(env!("CARGO_BIN_EXE_nvir")).args(arguments).current_dir(root).output();
    let ran = ran.expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

/// What a run prints that ends well.
fn good(arguments: &[&str]) -> (String, String) {
    let (code, out, err) = nvir(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {out}{err}");
    (out, err)
}

fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("graphics");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder.join(name)
}

/// A fixture of each stage, and how often its tests run on three chips.
const FIXTURES: [(&str, u32); 5] = [
    ("tgsi/graphics/vs-clip-planes.toml", 3),
    ("tgsi/graphics/tcs-basic.json", 3),
    ("nir-fixtures/graphics/tes-quads.json", 3),
    ("tgsi/graphics/gs-three-streams.toml", 3),
    ("tgsi/graphics/fs-flat-shade.toml", 6),
];

#[test]
fn fixtures_of_every_stage_run_and_are_tested() {
    for (fixture, runs) in FIXTURES {
        let (out, _) = good(&["run", "--check", "all", fixture]);
        assert!(out.ends_with(&format!("{runs} passed, 0 failed\n")), "{out}");
        let (out, _) = good(&["test", fixture]);
        assert!(out.ends_with(&format!("{runs} passed, 0 failed, 0 skipped\n")), "{out}");
    }
    let (_, trace) = good(&["run", "-t", "gk110", "--trace", FIXTURES[0].0]);
    assert!(trace.contains("ALD.128 R0, a[0x80]"), "{trace}");
}

#[test]
fn a_wrong_value_is_told_with_its_place() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(FIXTURES[3].0));
    let text = text.expect("readable");
    // What is expected of the first stream's first vertex.
    let text = text.replacen("POSITION = [1.0, 2.0", "POSITION = [1.0, 2.5", 1);
    let path = file("gs-three-streams.toml");
    std::fs::write(&path, text).expect("writable");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tgsi/graphics/gs-three-streams.tgsi");
    std::fs::copy(program, file("gs-three-streams.tgsi")).expect("it can be copied");
    let (code, out, err) = nvir(&["run", "-t", "gk104", path.to_str().expect("text")]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("y is 2 (0x40000000), expected 2.5"), "{out}{err}");
}

#[test]
fn tgsi_is_interpreted() {
    for (fixture, runs) in FIXTURES.into_iter().filter(|f| f.0.starts_with("tgsi")) {
        let (out, _) = good(&["interp", fixture]);
        assert!(out.contains(&format!("{} passed, 0 failed", runs / 3)), "{fixture}: {out}");
    }
}

#[test]
fn a_header_is_written_and_read() {
    let hex = file("clip.hex");
    let path = hex.to_str().expect("text");
    let planes = "clip-planes=5";
    good(&[
        "compile",
        "tgsi/graphics/vs-clip-planes.tgsi",
        "--stage-info",
        planes,
        "--emit",
        "words",
        "-o",
        path,
    ]);
    let said = "vertex shader\n  reads IN[0].xyzw\n  writes POSITION.xyzw\n  writes CLIPDIST[0].xyzw\n  writes CLIPDIST[1].x\n";
    assert_eq!(good(&["header", path]).0, said);
    let (out, _) = good(&["header", "--json", path]);
    assert!(out.contains("\"words\":[\"00020461\""), "{out}");
    let (out, _) = good(&["disasm", "-t", "gk110", path]);
    let comments: String = said.lines().map(|l| format!("// {l}\n")).collect();
    assert!(out.starts_with(&comments) && out.contains("ALD.128 R0, a[0x80];"), "{out}");
}

#[test]
fn passes_statistics_and_ir_know_graphics() {
    let (_, err) = good(&["compile", "--print-after", "all", "tgsi/graphics/fs-discard.tgsi"]);
    assert!(err.contains("; after dce") && err.contains("stage frag\n") && err.contains("discard"), "{err}");
    let (out, _) = good(&["stats", "tgsi/graphics", "nir-fixtures/graphics"]);
    assert!(out.contains("gs-three-streams.tgsi") && out.contains("compiled"), "{out}");
    let total = out.lines().find(|l| l.starts_with("total: ")).expect("a total");
    let mut words = total.split(' ').skip(1);
    assert_eq!(words.next(), words.nth(1), "all of them compile: {total}");

    for program in ["vs-branchy", "tcs-basic", "tes-quads", "gs-clip-psize", "fs-tex2d"] {
        let ir = file(&format!("{program}.ir"));
        let path = ir.to_str().expect("text");
        let tgsi = format!("tgsi/graphics/{program}.tgsi");
        good(&["compile", &tgsi, "-O0", "--emit", "ir", "-o", path]);
        let stage = std::fs::read_to_string(path).expect("written");
        let stage = stage.lines().find(|l| l.starts_with("stage ")).expect("it says its stage").to_string();
        for passes in ["dce,gvn,fold,mem_combine", "sink,flow"] {
            let (out, _) = good(&["opt", path, "--stage", "legal", "--passes", passes]);
            assert!(out.contains(&stage), "{out}");
        }
        // What passes printed is a program, too.
        let (out, _) = good(&["opt", path, "--stage", "legal"]);
        let again = file(&format!("{program}.again.ir"));
        std::fs::write(&again, &out).expect("writable");
        good(&["opt", again.to_str().expect("text"), "--stage", "legal", "--passes", "dce"]);
    }
}
