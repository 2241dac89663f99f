//! The optimiser as a whole: what it must achieve, and that no pass is needed for, or in the way of, right values.

use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, OptLevel, Options, Source};
use nvir::input;
use nvir::opt::{self, Stage};
use nvir_fixture::run::{Loaded, Outcome, Settings};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

fn tgsi() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tgsi")
}

fn compiled(file: &str, entry: &str, chip: Chip, pointer_align: u32) -> nvir::image::Shader {
    let text = std::fs::read_to_string(tgsi().join(file)).expect("readable");
    let options = Options { pointer_align, ..Options::default() };
    let source = Source::tgsi(&text).with_entry(Some(entry));
    Compiler::new(chip).with_options(options).compile(&source).expect("it compiles")
}

#[test]
fn fill3d_takes_nineteen_instructions_on_kepler() {
    for chip in [Chip::Gk104, Chip::Gk110] {
        let image = compiled("get-num-groups.tgsi", "25", chip, 4);
        assert!(image.instructions <= 19, "{chip}: {}", image.instructions);
    }
}

/// Runs every TGSI fixture on one chip; the names of tests that fail.
fn failures(settings: &Settings, chip: Chip) -> Vec<String> {
    let mut files = Vec::new();
    input::walk(&tgsi(), &|f| input::ends_in(f, &["toml"]), &mut files).expect("readable");
    files
        .par_iter()
        .flat_map_iter(|file| {
            let loaded = Loaded::read(file).unwrap_or_else(|e| panic!("{e}"));
            let reports = if loaded.chips().is_ok_and(|c| c.contains(&chip)) {
                loaded.run(chip, None, settings, &mut None, |_, _| ())
            } else {
                Vec::new()
            };
            reports.into_iter().filter_map(|r| match r.outcome {
                Outcome::Failed(why) => Some(format!("{}: {why}", r.name)),
                _ => None,
            })
        })
        .collect()
}

fn debugging(debug: DebugOptions) -> Settings {
    Settings { options: Options { debug, ..Options::default() }, ..Settings::default() }
}

#[test]
fn every_fixture_gives_the_same_values_without_any_single_pass() {
    for pass in opt::PASSES {
        let others = opt::PASSES.iter().map(|p| p.name.to_string()).filter(|n| n != pass.name).collect();
        let settings = debugging(DebugOptions { passes: Some(others), ..DebugOptions::default() });
        assert_eq!(failures(&settings, Chip::Gk104), [] as [String; 0], "without {}", pass.name);
    }
}

#[test]
fn every_fixture_gives_the_same_values_for_each_prefix_of_the_pipeline() {
    let runs: usize =
        [Stage::Front, Stage::Ssa, Stage::Legal].iter().map(|&s| opt::pipeline(s, OptLevel::O3).len()).sum();
    for limit in (0..runs as u32).step_by(3) {
        let settings = debugging(DebugOptions { bisect_limit: Some(limit), ..DebugOptions::default() });
        assert_eq!(failures(&settings, Chip::Gk110), [] as [String; 0], "with {limit} pass runs");
    }
}

#[test]
fn at_os_code_is_a_tenth_shorter_than_at_o3_and_hardly_any_fixture_is_longer() {
    let mut files = Vec::new();
    let folders = [tgsi(), tgsi().with_file_name("nir-fixtures")];
    for folder in &folders {
        input::walk(folder, &|f| input::ends_in(f, &["tgsi", "nir"]), &mut files).expect("readable");
    }
    let lengths: Vec<(String, [usize; 2])> = files
        .par_iter()
        .filter_map(|file| {
            let text = std::fs::read_to_string(file).expect("readable");
            let tgsi = input::ends_in(file, &["tgsi"]);
            let source = if tgsi { Source::tgsi(&text) } else { Source::nir(&text) };
            let length = |level| {
                let compiler = Compiler::new(Chip::Gk110).with_options(Options::at(level));
                Some(compiler.compile(&source).ok()?.code.len())
            };
            let name = file.file_name()?.to_string_lossy().into_owned();
            Some((name, [length(OptLevel::Os)?, length(OptLevel::O3)?]))
        })
        .collect();
    assert!(lengths.len() > 200, "{}", lengths.len());
    for (name, [small, fast]) in &lengths {
        assert!(*small <= fast + fast / 8 + 16, "{name}: {small} words, {fast} at -O3");
    }
    let all = |n: usize| lengths.iter().map(|l| l.1[n]).sum::<usize>();
    assert!(10 * all(0) < 9 * all(1), "{} words, {} at -O3", all(0), all(1));
}
