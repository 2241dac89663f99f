//! Every graphics program of the corpus in NIR compiles, and its header and slots are Mesa's where Mesa's are known.
//!
//! The corpus is not part of the project: `NVIR_CORPUS` names the folder with `graphics` and `gfx`, else `../shared/corpus`.
//! What NIR text does not say comes from the same program's TGSI text, or from the fixture.

use nvir::compiler::{Distances, Domain, Options, StageOptions, TessInfo};
use nvir::image::stage::{Slot, SlotLocation};
use nvir::isa::header::{Header, WORDS};
use nvir::stage::ATTRIBUTE_BYTES;
use nvir::{Chip, Compiler, OptLevel, Source};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn corpus(folder: &str) -> Option<PathBuf> {
    let default = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus"));
    let root = std::env::var_os("NVIR_CORPUS").map_or_else(default, PathBuf::from);
    let found = root.join(folder);
    if !found.is_dir() {
        eprintln!("SKIPPED: no {}: NVIR_CORPUS names the folder that it is in", found.display());
        return None;
    }
    Some(found)
}

fn texts(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "nir"));
    files.sort();
    files
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What a TGSI text says of its stage.
fn said_by_tgsi(text: &str) -> StageOptions {
    let property = |name: &str| {
        let line = text.lines().find(|l| l.starts_with("PROPERTY ") && l.contains(name))?;
        line.rsplit(' ').next()?.parse::<u8>().ok()
    };
    let domain = match property("TES_PRIM_MODE") {
        Some(4) => Some(Domain::Triangles),
        Some(7) => Some(Domain::Quads),
        Some(1) => Some(Domain::Isolines),
        _ => None,
    };
    let vertices_out = property("TCS_VERTICES_OUT").unwrap_or(0);
    StageOptions {
        tess: Some(TessInfo { vertices_out, domain, ..TessInfo::default() }),
        ..StageOptions::default()
    }
}

/// What a fixture, or a file of Mesa's results, says of the stage.
fn said_by(info: &Value) -> StageOptions {
    let number = |v: &Value| v.as_u64().unwrap_or(0) as u8;
    let tess = info.get("nir_tess").map(|t| TessInfo {
        vertices_out: number(&t["vertices_out"]),
        domain: [None, Some(Domain::Triangles), Some(Domain::Quads), Some(Domain::Isolines)]
            [usize::from(number(&t["primitive_mode"]).min(3))],
        ..TessInfo::default()
    });
    let distances = info
        .get("nir_info")
        .map(|d| Distances { clip: number(&d["clip_distances"]), cull: number(&d["cull_distances"]) });
    StageOptions { tess, distances, ..StageOptions::default() }
}

fn compile(text: &str, chip: Chip, level: OptLevel, stage: StageOptions) -> Result<nvir::Shader, String> {
    let mut options = Options { stage, ..Options::at(level) };
    options.debug.verify_each = true;
    Compiler::new(chip).with_options(options).compile(&Source::nir(text)).map_err(|e| e.to_string())
}

#[test]
fn every_program_compiles() {
    let Some(folder) = corpus("graphics") else { return };
    let (mut count, mut wrong) = (0, Vec::new());
    for stage in ["vert", "tesc", "tese", "geom", "frag"] {
        for (n, file) in texts(&folder.join("nir").join(stage)).iter().enumerate() {
            let twin = folder
                .join("tgsi")
                .join(stage)
                .join(file.file_name().expect("a name"))
                .with_extension("tgsi");
            let (text, said) = (read(file), said_by_tgsi(&read(&twin)));
            // Every level and every chip for some, the highest level for all.
            let (chip, level) = (Chip::ALL[n % 3], OptLevel::ALL[n / 3 % 4]);
            for (chip, level) in [(chip, OptLevel::O3), (Chip::ALL[(n + 1) % 3], level)] {
                count += 1;
                if let Err(e) = compile(&text, chip, level, said) {
                    wrong.push(format!("{} {chip} -O{level}: {e}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
    assert!(count >= 2010 * 2, "only {count}");
}

/// Why a header says more than Mesa's, which goes by the types of variables where ours goes by the code that is left.
fn difference(ours: &Header, mesa: &Header) -> Option<String> {
    for a in (0..ATTRIBUTE_BYTES).step_by(4) {
        let more = [
            ("reads", ours.reads(a) && !mesa.reads(a)),
            ("writes", ours.writes(a) && !mesa.writes(a)),
            ("reads back", ours.reads_back(a) && !mesa.reads_back(a)),
        ];
        if let Some((what, _)) = more.into_iter().find(|m| m.1) {
            return Some(format!("{what} {a:#x}"));
        }
    }
    let counts = |h: &Header| (h.threads, h.topology, h.max_vertices, h.streams, h.patch_words);
    let results = |h: &Header| (h.several_targets, h.writes_depth(), h.writes_sample_mask(), h.kills);
    let both = |h: &Header| format!("{:?} {:?}", counts(h), results(h));
    let colors = (0..8).any(|n| ours.color_mask(n) != mesa.color_mask(n));
    (both(ours) != both(mesa) || colors).then(|| format!("{} rather than {}", both(ours), both(mesa)))
}

/// Masks and places of slots, as Mesa lists them: by the number of a register.
fn slots(list: &[Slot]) -> Vec<(u64, u64)> {
    let place = |s: &Slot| match s.location {
        SlotLocation::Vertex(a) | SlotLocation::Patch(a) => Some((s.mask.into(), u64::from(a / 4))),
        _ => None,
    };
    list.iter().filter_map(place).collect()
}

fn mesas_slots(list: &Value) -> Vec<(u64, u64)> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let number = |v: &Value| v.as_u64().unwrap_or(0);
    list.iter().map(|s| (number(&s["mask"]), s["slot"].as_array().map_or(0, |a| number(&a[0])))).collect()
}

#[test]
fn headers_and_slots_are_mesas() {
    let Some(folder) = corpus("gfx") else { return };
    let files: Vec<PathBuf> = texts(&folder).into_iter().chain(texts(&folder.join("texts"))).collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for file in &files {
        let own = file.parent() == Some(&folder);
        let name = file.file_name().and_then(|n| n.to_str()).expect("a name");
        let results = match own {
            true => folder.join("mesa").join(name).with_extension("json"),
            false => file.with_extension("nir.mesa.json"),
        };
        let results: Value = serde_json::from_str(&read(&results)).expect("JSON");
        let results = if own { &results["nir"] } else { &results };
        let mut said = match own {
            true => said_by(&serde_json::from_str(&read(&file.with_extension("nir.json"))).expect("JSON")),
            false => StageOptions::default(),
        };
        for (chip, key) in [(Chip::Gf100, "c0"), (Chip::Gk104, "e4"), (Chip::Gk110, "f0")] {
            let mesa = &results[key];
            said.clip_planes = mesa["vp"]["num_ucps"].as_u64().filter(|&n| n <= 8).unwrap_or(0) as u8;
            let shader = match compile(&read(file), chip, OptLevel::O3, said) {
                Ok(shader) => shader,
                Err(e) => {
                    wrong.push(format!("{name} {chip}: {e}"));
                    continue;
                }
            };
            count += 1;
            let g = shader.stage.as_deref().expect("a graphics stage");
            let words = mesa["hdr"].as_array().expect("a header").iter();
            let words: Vec<u32> = words
                .map(|w| u32::from_str_radix(w.as_str().unwrap_or(""), 16).expect("hexadecimal"))
                .collect();
            let header =
                Header::decode(&<[u32; WORDS]>::try_from(words).expect("20 words")).expect("a header");
            wrong.extend(difference(&g.header, &header).map(|d| format!("{name} {chip}: {d}")));
            let fragment = mesa["stage"] == "frag";
            for (what, ours, theirs) in [("in", &g.inputs, &mesa["in"]), ("out", &g.outputs, &mesa["out"])] {
                let (ours, theirs) = (slots(ours), mesas_slots(theirs));
                if ours != theirs && !(fragment && what == "out") {
                    wrong.push(format!("{name} {chip}: {what} {ours:x?} rather than {theirs:x?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 3 * 50, "only {count}");
}
