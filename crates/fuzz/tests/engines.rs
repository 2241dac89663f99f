//! Every fixture of the project by the compiled engine: block by block against the interpreter, and alone.

use nvir::emu::engine::{Engine, Interpreter, Lockstep};
use nvir_emu_jit::Compiled;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

static LOCKSTEP: Lockstep<'static> = Lockstep::new(&Compiled::Exact, &Interpreter);
const ENGINES: [(&str, &'static dyn Engine); 2] = [("lockstep", &LOCKSTEP), ("alone", &Compiled::Eager)];

fn failures(file: &Path) -> Vec<String> {
    let loaded = match Loaded::read(file) {
        Ok(loaded) => loaded,
        Err(why) => return vec![why.to_string()],
    };
    let chips = loaded.chips().expect("fixtures name chips");
    let mut wrong = Vec::new();
    for (what, engine) in ENGINES {
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

#[test]
fn fixtures_pass_compiled() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in ["tgsi", "nir-fixtures"] {
        nvir::input::walk(&root.join(folder), &|f| nvir::input::ends_in(f, &["toml", "json"]), &mut files)
            .expect("the fixtures are readable");
    }
    assert!(files.len() >= 16, "only {} fixtures found", files.len());
    let (next, wrong) = (Mutex::new(files.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(file) = next.lock().expect("no panic").next() else { break };
                    let found = failures(file);
                    wrong.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
