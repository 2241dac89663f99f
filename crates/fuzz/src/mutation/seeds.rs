//! What mutants are made from: the project's own kernels, tests and known words, and a folder of more.

use nvir::compiler::{Compiler, Language, Options, Source, StageOptions};
use nvir::image::cubin::Kernel;
use nvir::image::stage::Graphics;
use nvir::image::{cubin, listing};
use nvir::input::walk;
use nvir::{Chip, isa};
use nvir_fixture::format::Fixture;
use nvir_fixture::run::Loaded;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Larger inputs take long and are the same otherwise.
const LARGEST: usize = 40_000;

/// An input, and how its kernel is launched.
pub(super) struct Seed<T> {
    pub data: T,
    pub fixture: Fixture,
}

/// The launch of a kernel that has none of its own: some memory of each kind.
const LAUNCH: &str = r#"
source = "k"
[[tests]]
name = "t"
grid = [2, 1, 1]
block = [33, 2, 1]
args = [{ buffer = "a" }, { buffer = "b" }, { u32 = 5 }, { u32 = 0 }, { u64 = 3 }]
ssbo = { 0 = "a", 1 = "b" }
ubo = { 0 = "b" }
uniforms = "b"
images_bound = { 0 = "i" }
textures = { 0 = { image = "i" } }
[tests.buffers.a]
type = "u32"
len = 256
[tests.buffers.b]
type = "u32"
len = 64
init = { fill = 3 }
[tests.images.i]
type = "2d"
format = "r32ui"
size = [8, 8, 1]
"#;

/// A fixture around a source of that ending.
pub(super) fn launch(ending: &str) -> Fixture {
    let mut f = Fixture::parse(Path::new("k.toml"), LAUNCH).expect("a fixture");
    f.source = PathBuf::from(format!("k.{ending}"));
    f
}

fn root(folder: &str) -> PathBuf {
    crate::project().join(folder)
}

/// Files with one of the endings in the project's folders and in the folder of further seeds.
pub(super) fn files(folders: &[&str], endings: &[&str]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let wanted = |p: &Path| p.extension().is_some_and(|e| endings.iter().any(|w| e == *w));
    for f in folders {
        walk(&root(f), &wanted, &mut all).expect("part of the project");
    }
    if let Some(more) = std::env::var_os("NVIR_FUZZ_CORPUS") {
        walk(Path::new(&more), &wanted, &mut all).expect("a folder of seeds");
    }
    all.retain(|p| std::fs::metadata(p).is_ok_and(|m| m.len() < LARGEST as u64));
    all
}

pub(super) fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).expect("readable")).into_owned()
}

/// Programs with the fixture beside them, if there is one.
pub(super) fn programs(ending: &str) -> Vec<Seed<String>> {
    let seed = |path: &PathBuf| {
        let beside = ["toml", "json"].iter().map(|e| path.with_extension(e)).find(|p| p.exists());
        let fixture = beside.and_then(|p| Fixture::read(&p).ok()).filter(|f| path.ends_with(&f.source));
        Seed { data: read(path), fixture: fixture.unwrap_or_else(|| launch(ending)) }
    };
    let mut all: Vec<Seed<String>> = files(&["tgsi", "nir-fixtures"], &[ending]).iter().map(seed).collect();
    // What none of them has.
    let extra = match ending {
        "tgsi" => super::programs::TGSI,
        "nir" => super::programs::NIR,
        _ => &[],
    };
    for text in extra {
        all.push(Seed { data: text.to_string(), fixture: launch(ending) });
    }
    all
}

/// SPIR-V modules with the fixture that names them, if there is one.
pub(super) fn modules() -> Vec<Seed<Vec<u8>>> {
    const FOLDER: &[&str] = &["spirv-fixtures"];
    let read = |path: PathBuf| {
        let fixture = Fixture::read(&path).ok()?;
        Some((path.parent()?.join(&fixture.source), fixture))
    };
    let fixtures: BTreeMap<PathBuf, Fixture> =
        files(FOLDER, &["toml", "json"]).into_iter().filter_map(read).collect();
    let seed = |path: &PathBuf| Seed {
        data: std::fs::read(path).expect("readable"),
        fixture: fixtures.get(path).cloned().unwrap_or_else(|| launch("spv")),
    };
    files(FOLDER, &["spv"]).iter().map(seed).collect()
}

/// What the fixture says of the stage where the text does not; most NIR of tessellation needs it.
pub(super) fn stage(fixture: &Fixture) -> StageOptions {
    fixture.stage_options(StageOptions::default()).unwrap_or_default()
}

/// IR: the cases of the passes' tests, and what the front-end makes of TGSI.
pub(super) fn ir() -> Vec<Seed<String>> {
    let mut all = Vec::new();
    let mut push = |text: &str, fixture: Option<Fixture>| {
        let fixture = fixture.unwrap_or_else(|| launch("ir"));
        all.push(Seed { data: text.to_string(), fixture: Fixture { source: "k.ir".into(), ..fixture } });
    };
    for path in files(&["tests/ir"], &["ir"]) {
        let text = read(&path);
        for case in text.split("\n; --- ").skip(1) {
            let body = case.split_once('\n').map_or("", |c| c.1).split("; ==>").next().unwrap_or("");
            if body.trim_start().starts_with("program") {
                push(body, None);
            } else {
                push(&format!("program\nkernel k() {{\n{body}}}\n"), None);
            }
        }
    }
    for (language, ending) in [(Language::Tgsi, "tgsi"), (Language::Nir, "nir")] {
        for seed in programs(ending) {
            let entry = seed.fixture.kernel.as_ref().map(|k| k.to_string());
            let source = Source { language, text: &seed.data, entry: entry.as_deref(), name: "seed" };
            let options = Options { stage: stage(&seed.fixture), ..Options::default() };
            if let Ok(p) = Compiler::new(Chip::Gk110).with_options(options).front(&source) {
                let text = p.to_string();
                if text.len() < LARGEST {
                    push(&text, Some(Fixture { kernel: None, ..seed.fixture }));
                }
            }
        }
    }
    all
}

/// Machine code: our kernels for each chip, and known words in pieces of sixteen.
fn kernels() -> Vec<(Chip, Kernel, Option<Fixture>)> {
    let mut all = Vec::new();
    for (language, ending) in [(Language::Tgsi, "tgsi"), (Language::Nir, "nir")] {
        for (n, seed) in programs(ending).into_iter().enumerate() {
            let chip = Chip::ALL[n % 3];
            let source = Source { language, text: &seed.data, entry: None, name: "seed" };
            let options = Options { stage: stage(&seed.fixture), ..Options::default() };
            let compiler = Compiler::new(chip).with_options(options);
            let Ok(image) = compiler.compile(&source) else { continue };
            let kernel = image.kernel();
            if kernel.code.len() < 1000 {
                // Machine code of a graphics stage says nothing of its header.
                let words = |g: &Graphics| g.header.encode().map(|w| format!("{w:08x}")).join(" ");
                let header = image.stage.as_deref().map(words);
                let fixture = Fixture { kernel: None, header, ..seed.fixture };
                all.push((chip, kernel, Some(fixture)));
            }
        }
    }
    for chip in Chip::ALL {
        let text = read(&root("tests/data/isa").join(format!("{chip}.tsv")));
        let words: Vec<u64> = text
            .lines()
            .filter_map(|l| u64::from_str_radix(l.split_once('\t')?.0, 16).ok())
            .filter(|&w| isa::decode(chip, w, 0x10008).is_some())
            .collect();
        for piece in words.chunks(16) {
            let kernel = Kernel {
                name: "k".into(),
                code: piece.to_vec(),
                gprs: 63,
                shared: 4096,
                ..Kernel::default()
            };
            all.push((chip, kernel, None));
        }
    }
    all
}

pub(super) fn sass() -> Vec<Seed<String>> {
    let listed = kernels().into_iter().map(|(chip, kernel, fixture)| {
        let text = listing::print(chip, &[kernel], listing::Options::default());
        let fixture = fixture.unwrap_or_else(|| launch("sass"));
        Seed { data: text, fixture: Fixture { source: "k.sass".into(), ..fixture } }
    });
    let own = files(&["tgsi"], &["sass"]);
    listed.chain(own.iter().map(|p| Seed { data: read(p), fixture: launch("sass") })).collect()
}

pub(super) fn cubins() -> Vec<Seed<Vec<u8>>> {
    let written = kernels().into_iter().enumerate().map(|(n, (chip, mut kernel, fixture))| {
        kernel.param_bytes = kernel.param_bytes.max(40);
        if n % 3 == 0 {
            kernel.banks = vec![(2, vec![7; 40])];
        }
        let fixture = fixture.unwrap_or_else(|| launch("cubin"));
        let data = cubin::write(chip, &[kernel]);
        Seed { data, fixture: Fixture { source: "k.cubin".into(), kernel: None, ..fixture } }
    });
    let found = files(&[], &["cubin"]);
    let found =
        found.iter().map(|p| Seed { data: std::fs::read(p).expect("readable"), fixture: launch("cubin") });
    written.chain(found).collect()
}

/// A fixture's text, its path and its source's bytes.
pub(super) struct FixtureSeed {
    pub path: PathBuf,
    pub text: String,
    pub source: Vec<u8>,
}

pub(super) fn fixtures() -> Vec<FixtureSeed> {
    let all = files(&["tgsi", "nir-fixtures"], &["toml", "json"]);
    all.into_iter()
        .filter_map(|path| {
            let source = Loaded::read(&path).ok()?.fixture.source;
            let source = std::fs::read(path.parent()?.join(source)).ok()?;
            (source.len() < LARGEST).then(|| FixtureSeed { text: read(&path), path, source })
        })
        .collect()
}
