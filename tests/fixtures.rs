//! Every fixture of the project, on every chip that it allows, at the lowest and the highest optimisation level and for size,
//! under all checkers of the emulator; and again with few registers and with values that cross blocks in memory only, where
//! the results must be the same; and TGSI under the reference interpreter.
//!
//! Kernels are also executed by the interpreter in lockstep with itself, an instruction at a time.
//!
//! One test for each fixture and way of compiling: `cargo test --test fixtures -- sort` runs those about sorting.

use libtest_mimic::{Arguments, Failed, Trial};
use nvir::compiler::{DebugOptions, OptLevel, Options};
use nvir::emu::engine::{Engine, Interpreter, Lockstep, SingleSteps};
use nvir::emu::{Checks, Side};
use nvir::input;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The ways of compiling: level, register limit, and whether values cross blocks in memory only.
const WAYS: [(OptLevel, Option<u32>, bool); 5] = [
    (OptLevel::O0, None, false),
    (OptLevel::O3, None, false),
    (OptLevel::O3, Some(18), false),
    (OptLevel::O2, None, true),
    (OptLevel::Os, None, false),
];

fn run(file: &Path, settings: &Settings) -> Result<(), Failed> {
    let loaded = Loaded::read(file).map_err(|e| e.to_string())?;
    if loaded.fixture.tests.is_empty() {
        return Err("the fixture has no tests".into());
    }
    let mut wrong = String::new();
    for chip in loaded.chips().map_err(|e| e.to_string())? {
        for r in loaded.run(chip, None, settings, &mut None, |_, _| ()) {
            if let Outcome::Failed(why) = r.outcome {
                wrong += &format!("{chip}, {}: {why}\n", r.name);
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// TGSI under the reference interpreter, which knows nothing of the compiler; other sources pass.
fn interpret(file: &Path) -> Result<(), Failed> {
    let loaded = Loaded::read(file).map_err(|e| e.to_string())?;
    let mut wrong = String::new();
    for (test, outcome) in loaded.interpret(None, 1 << 30, |_, _| ()) {
        if let Outcome::Failed(why) = outcome {
            wrong += &format!("{test}: {why}\n");
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders: Vec<PathBuf> = ["tgsi", "nir-fixtures", "spirv-fixtures"]
        .map(|d| root.join(d))
        .into_iter()
        .filter(|d| d.is_dir())
        .collect();
    let mut files = Vec::new();
    for folder in folders {
        input::walk(&folder, &|f| input::ends_in(f, &["toml", "json"]), &mut files)
            .expect("the fixture folders are readable");
    }
    assert!(files.len() >= 16, "only {} fixtures found", files.len());
    let mut trials = Vec::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).with_extension("").to_string_lossy().into_owned();
        let path = file.clone();
        trials.push(Trial::test(format!("{name} interpreted"), move || interpret(&path)));
        for (opt_level, max_gprs, through_memory) in WAYS {
            let way = match max_gprs {
                None if through_memory => format!("O{opt_level} through memory"),
                None => format!("O{opt_level}"),
                Some(n) => format!("O{opt_level} {n} registers"),
            };
            let debug = DebugOptions { through_memory, ..DebugOptions::verifying() };
            let settings = Settings {
                options: Options { max_gprs, debug, ..Options::at(opt_level) },
                checks: Checks::ALL,
                ..Settings::default()
            };
            // Locks must be given back whichever side of a branch runs first.
            if name.contains("atomic") || name.contains("shared") || name.contains("histogram") {
                let settings = Settings { first: Side::FallThrough, ..settings.clone() };
                let file = file.clone();
                let name = format!("{name} {way}, taken side last");
                trials.push(Trial::test(name, move || run(&file, &settings)));
            }
            if (opt_level, max_gprs, through_memory) == WAYS[1] {
                let engine: Arc<dyn Engine> = Arc::new(Lockstep::new(&Interpreter, &SingleSteps));
                let engine = Some(engine);
                let settings = Settings { checks: Checks::default(), engine, ..settings.clone() };
                let file = file.clone();
                trials.push(Trial::test(format!("{name} in lockstep"), move || run(&file, &settings)));
            }
            let file = file.clone();
            trials.push(Trial::test(format!("{name} {way}"), move || run(&file, &settings)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
