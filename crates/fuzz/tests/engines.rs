//! Every fixture of the project by the compiled engine: block by block against the interpreter, and alone; every recording alone.

use nvir::emu::engine::{Engine, Interpreter, Lockstep};
use nvir_emu_jit::Compiled;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use nvir_vgpu::replay::{Options, replay};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn engines() -> [(&'static str, Arc<dyn Engine>); 2] {
    let both = Lockstep::new(&Compiled::Exact, &Interpreter);
    [("lockstep", Arc::new(both)), ("alone", Arc::new(Compiled::Eager))]
}

fn failures(file: &Path) -> Vec<String> {
    let loaded = match Loaded::read(file) {
        Ok(loaded) => loaded,
        Err(why) => return vec![why.to_string()],
    };
    let chips = loaded.chips().expect("fixtures name chips");
    let mut wrong = Vec::new();
    for (what, engine) in engines() {
        let settings = Settings { engine: Some(engine), ..Settings::default() };
        for &chip in &chips {
            for r in loaded.run(chip, None, &settings, &mut None, |_, _| ()) {
                if let Outcome::Failed(why) = r.outcome {
                    wrong.push(format!("{} {chip} {}, {what}: {why}", file.display(), r.name));
                }
            }
        }
    }
    wrong
}

/// What is wrong in a recording whose programs are all compiled: memory after each submission is the interpreter's.
fn differences(file: &Path) -> Vec<String> {
    let recording = std::fs::read(file).expect("recordings are readable");
    let options = Options { engine: Some(Arc::new(Compiled::Eager)), ..Options::default() };
    match replay(&recording[..], options, &mut |_| {}) {
        Ok(report) if report.passed() => Vec::new(),
        Ok(report) => vec![format!("{}: {report:?}", file.display())],
        Err(why) => vec![format!("{}: {why}", file.display())],
    }
}

/// The files with these endings in folders of the project.
fn files(folders: &[&str], endings: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in folders {
        nvir::input::walk(&root.join(folder), &|f| nvir::input::ends_in(f, endings), &mut files)
            .expect("the folders are readable");
    }
    files
}

#[test]
fn fixtures_pass_compiled() {
    let files = files(&["tgsi", "nir-fixtures", "spirv-fixtures"], &["toml", "json"]);
    assert!(files.len() >= 16, "only {} fixtures found", files.len());
    all_pass(&files, failures);
}

#[test]
fn recordings_replay_compiled() {
    let files = files(&["crates/vgpu/tests/recordings"], &["trace"]);
    assert!(files.len() >= 50, "only {} recordings found", files.len());
    all_pass(&files, differences);
}

fn all_pass(files: &[PathBuf], wrong_in: fn(&Path) -> Vec<String>) {
    let (next, wrong) = (Mutex::new(files.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(file) = next.lock().expect("no panic").next() else { break };
                    let found = wrong_in(file);
                    wrong.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
