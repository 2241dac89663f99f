//! Machine code that Mesa's compiler made for the five graphics stages gives, in the emulator, what rasterisers gave for the
//! same programs.
//!
//! Programs and values are not part of the project: `NVIR_CORPUS` names the folder with `gfx`, else `../shared/corpus`.

use nvir::emu::Checks;
use nvir::image::fixup::{self, Fixup, State};
use nvir::image::raw;
use nvir::isa::header::Interpolation;
use nvir::{Chip, isa};
use nvir_fixture::format::Item;
use nvir_fixture::stage::format::Tree;
use nvir_fixture::{Fixture, Outcome, Settings, run::Loaded};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("NVIR_CORPUS").map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus")));
    Some(folder.join("gfx")).filter(|f| f.is_dir())
}

const CHIPS: [(&str, Chip); 3] = [("c0", Chip::Gf100), ("e4", Chip::Gk104), ("f0", Chip::Gk110)];

/// What is not compared, and why: neither the emulator nor Mesa's machine code as such is at fault.
fn forgive(name: &str, front: &str, expect: &mut Tree) {
    let Tree::Table(results) = expect else { return };
    if name != "fs-interpolate-at" {
        return;
    }
    // Mesa's NIR front end divides by the w of the pixel's centre, wherever the value is taken.
    if front == "nir" {
        results.remove("COLOR[0]");
    }
    // The rasteriser divided 0 by 0 in the linear input.
    forgive_nan(results.get_mut("COLOR[1]").expect("it is expected"));
}

fn forgive_nan(tree: &mut Tree) {
    match tree {
        Tree::List(list) => list.iter_mut().for_each(forgive_nan),
        Tree::Item(Item::Text(text)) if text == "nan" => *tree = Tree::Nothing,
        _ => {}
    }
}

/// The header and the code of a program, as a `.hex` file has them.
fn words(program: &Value) -> String {
    let list = |key: &str| -> Vec<String> {
        let words = program[key].as_array().expect("words").iter();
        words.map(|w| w.as_str().expect("hexadecimal").to_string()).collect()
    };
    [list("hdr"), list("code")].concat().join("\n")
}

fn programs(folder: &Path) -> Vec<(String, Value)> {
    let mut files = Vec::new();
    nvir::input::walk(&folder.join("mesa"), &|f| nvir::input::ends_in(f, &["json"]), &mut files)
        .expect("readable");
    let read = |f: &PathBuf| -> (String, Value) {
        let text = std::fs::read_to_string(f).expect("readable");
        (
            f.file_stem().expect("a name").to_string_lossy().into_owned(),
            serde_json::from_str(&text).expect("JSON"),
        )
    };
    files.iter().map(read).collect()
}

#[test]
fn mesas_code_gives_the_values_of_rasterisers() {
    let Some(folder) = corpus() else {
        eprintln!("SKIPPED: no corpus with gfx: NVIR_CORPUS names its folder");
        return;
    };
    let settings = Settings { checks: Checks::ALL, ..Settings::default() };
    let (mut count, mut calls) = (0, 0);
    let mut wrong = Vec::new();
    for (name, all) in programs(&folder) {
        for front in ["tgsi", "nir"] {
            let path = folder.join(format!("{name}.{front}.json"));
            for (key, chip) in CHIPS {
                let mut fixture = Fixture::read(&path).unwrap_or_else(|e| panic!("{e}"));
                fixture.source = PathBuf::from("program.hex");
                // Calls of Mesa's library, which is not there.
                if all[front][key]["relocs"].as_array().is_some_and(|r| !r.is_empty()) {
                    calls += 1;
                    continue;
                }
                fixture
                    .tests
                    .iter_mut()
                    .filter_map(|t| t.expect.as_mut())
                    .for_each(|e| forgive(&name, front, e));
                let text = words(&all[front][key]);
                let loaded = Loaded::new(&path, fixture, text.into_bytes()).unwrap_or_else(|e| panic!("{e}"));
                for report in loaded.run(chip, None, &settings, &mut None, |_, _| ()) {
                    count += 1;
                    if report.outcome != Outcome::Passed {
                        wrong.push(format!("{name} {front} {chip}: {:?}", report.outcome));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 140 && calls <= 3, "{count} runs, {calls} programs with calls");
}

/// A record as Mesa's compiler has it: the interpolation's four bits are mode and sample.
fn fixup(record: &Value) -> Fixup {
    let number = |key: &str| record[key].as_u64().expect("a number");
    let ipa = number("ipa") as u8;
    let pc = 4 * number("word") as u32;
    Fixup::Interpolation { pc, mode: ipa & 3, sample: ipa >> 2, w: number("reg") as u8 }
}

#[test]
fn mesas_records_say_what_its_code_has() {
    let Some(folder) = corpus() else {
        eprintln!("SKIPPED: no corpus with gfx: NVIR_CORPUS names its folder");
        return;
    };
    let mut count = 0;
    for (name, all) in programs(&folder) {
        for (key, chip) in CHIPS {
            let program = &all["tgsi"][key];
            let raw = raw::read(words(program).as_bytes()).expect("words");
            let mut header = raw.header.expect("a header");
            let fixups: Vec<Fixup> =
                program["fixups"].as_array().expect("a list").iter().map(fixup).collect();
            let mut code = raw.code.clone();
            // Without a change of state nothing changes.
            fixup::apply(chip, &fixups, &[None; 2], State::default(), &mut header, &mut code)
                .expect("inside");
            assert_eq!(code, raw.code, "{name} {chip}");
            // Run once a sample, everything smooth is interpolated there.
            let state = State { per_sample: true, ..State::default() };
            fixup::apply(chip, &fixups, &[None; 2], state, &mut header, &mut code).expect("inside");
            for f in &fixups {
                let Fixup::Interpolation { pc, mode, sample, .. } = *f else { continue };
                let text = isa::text::print(
                    chip,
                    &isa::decode(chip, code[pc as usize / 8], pc).expect("it decodes"),
                );
                let wanted = match (mode, sample) {
                    (fixup::MODE_CONSTANT, _) => false,
                    (_, sample) => sample < 2,
                };
                assert_eq!(text.contains(".CENTROID"), wanted, "{name} {chip}: {text}");
                count += 1;
            }
            assert_eq!(header.interpolation(0x280), Interpolation::Unused);
        }
    }
    assert!(count > 200, "{count} records");
}
