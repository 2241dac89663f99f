//! Where code comes from: lines of listings, and instructions of finished code.

use nvir::compiler::{Compiler, Language, Observer, OptLevel, Options, Source};
use nvir::image::Made;
use nvir::isa::{self, sched_word};
use nvir::{Chip, Shader, input};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Texts below folders.
fn texts(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for f in folders {
        input::walk(f, &|f| input::ends_in(f, &["tgsi", "nir"]), &mut files).expect("readable");
    }
    files
}

/// Addresses of a shader's instructions.
fn instructions(s: &Shader) -> impl Iterator<Item = u32> + '_ {
    let is_word = |pc: u32, w: u64| {
        s.chip.has_sched_words()
            && pc.is_multiple_of(sched_word::GROUP_BYTES)
            && sched_word::decode(s.chip, w).is_some()
    };
    isa::fetch::sweep(s.chip, &s.code).filter(move |&(pc, f)| !is_word(pc, f.word)).map(|(pc, _)| pc)
}

#[derive(Default)]
struct Count {
    files: u32,
    all: u32,
    with_line: u32,
    with_cause: u32,
    /// Neither, by operation.
    neither: BTreeMap<&'static str, u32>,
    by_file: Vec<(u32, String)>,
}

impl Count {
    fn share(&self) -> f64 {
        f64::from(self.with_line + self.with_cause) / f64::from(self.all.max(1))
    }

    fn add(&mut self, path: &Path) {
        let text = std::fs::read_to_string(path).expect("readable");
        let language = Language::of(path).expect("a text");
        let source = Source { language, text: &text, entry: None, name: "text" };
        let compiler = Compiler::new(Chip::Gk110).with_options(Options::at(OptLevel::O3));
        let mut observer = Observer::with_steps();
        let result = compiler.observed(&source, &mut observer);
        for s in observer.steps.iter().flatten() {
            assert_eq!(s.text.lines().count(), s.places.len(), "{}: {}\n{}", path.display(), s.name, s.text);
        }
        let Ok(shader) = result else { return };
        self.files += 1;
        let mut missing = 0;
        for pc in instructions(&shader) {
            self.all += 1;
            if shader.loc(pc).0.is_some() {
                self.with_line += 1;
            } else if shader.made(pc) != Made::Selected {
                self.with_cause += 1;
            } else {
                missing += 1;
                let m = isa::decode(shader.chip, shader.code[pc as usize / 8], pc);
                *self.neither.entry(m.map_or("?", |m| m.op.name())).or_default() += 1;
            }
        }
        if missing > 0 {
            self.by_file.push((missing, path.display().to_string()));
        }
    }
}

fn counted(files: &[PathBuf]) -> Count {
    let mut count = Count::default();
    files.iter().for_each(|f| count.add(f));
    count.by_file.sort_by_key(|f| std::cmp::Reverse(f.0));
    count
}

fn told(what: &str, c: &Count) {
    println!(
        "{what}: {} files, {} instructions: {} have a line, {} a cause, {:.2} %; without: {:?}; {:?}",
        c.files,
        c.all,
        c.with_line,
        c.with_cause,
        100.0 * c.share(),
        c.neither,
        &c.by_file[..c.by_file.len().min(8)]
    );
}

#[test]
fn nearly_every_instruction_has_a_line_or_a_cause() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let c = counted(&texts(&[root.join("tgsi"), root.join("nir-fixtures")]));
    told("fixtures", &c);
    assert!(c.all > 5000, "{}", c.all);
    assert!(c.share() >= 0.98, "{}", c.share());
}

#[test]
fn so_it_is_in_the_corpora() {
    let Some(corpus) = std::env::var_os("NVIR_CORPUS").map(PathBuf::from) else {
        println!("skipped: NVIR_CORPUS names no corpora");
        return;
    };
    let mut all = (0, 0);
    for name in ["tgsi", "nir", "graphics/tgsi", "graphics/nir", "ptxas/nir"] {
        let files = texts(&[corpus.join(name)]);
        let every = std::env::var("NVIR_EVERY").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
        let files: Vec<PathBuf> = files.into_iter().step_by(every).collect();
        let c = counted(&files);
        told(name, &c);
        all = (all.0 + c.with_line + c.with_cause, all.1 + c.all);
    }
    let share = f64::from(all.0) / f64::from(all.1.max(1));
    println!("all: {:.2} %", 100.0 * share);
    assert!(all.1 > 0 && share >= 0.98, "{share}");
}
