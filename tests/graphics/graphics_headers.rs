//! Headers, slots, driver state and fixups of graphics programs against what Mesa's own compiler gives its driver.
//!
//! Runs where `../shared/corpus/graphics` is. What may differ is named in [`difference`]: we declare less where our code
//! reads or writes less.

use nvir::image::fixup::Fixup;
use nvir::image::stage::{Attribute, Graphics, SlotLocation};
use nvir::isa::header::{Header, Interpolation, WORDS};
use nvir::stage::{ATTRIBUTE_BYTES, Semantic, Stage};
use nvir::{Chip, Compiler, Shader, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A row of the table, by the names of its columns.
type Row<'a> = BTreeMap<&'a str, &'a str>;

fn mesa_header(row: &Row<'_>) -> Header {
    let words: Vec<u32> =
        row["header"].split(' ').map(|w| u32::from_str_radix(w, 16).expect("hexadecimal")).collect();
    Header::decode(&<[u32; WORDS]>::try_from(words).expect("20 words")).expect("a header")
}

/// Why a header says more than Mesa's, or says something else; `None` if it is equal or says less in one of the ways that are
/// right:
/// - an input that no instruction reads any more, an output that none writes;
/// - less local memory, or none;
/// - fewer outputs read back.
fn difference(ours: &Header, mesa: &Header) -> Option<String> {
    for a in (0..ATTRIBUTE_BYTES).step_by(4) {
        if ours.reads(a) && !mesa.reads(a) {
            return Some(format!("reads {a:#x}"));
        }
        if ours.writes(a) && !mesa.writes(a) {
            return Some(format!("writes {a:#x}"));
        }
        let kinds = [ours, mesa].map(|h| h.interpolation(a));
        if kinds[0] != Interpolation::Unused && kinds[0] != kinds[1] {
            return Some(format!("{:?} rather than {:?} at {a:#x}", kinds[0], kinds[1]));
        }
        if ours.reads_back(a) && !mesa.reads_back(a) {
            return Some(format!("reads back {a:#x}"));
        }
    }
    if (0..8).any(|n| ours.color_mask(n) != mesa.color_mask(n)) {
        return Some("colour targets".into());
    }
    let counts = |h: &Header| (h.threads, h.topology, h.max_vertices, h.streams, h.patch_words);
    if counts(ours) != counts(mesa) {
        return Some(format!("counts {:?} rather than {:?}", counts(ours), counts(mesa)));
    }
    let results = |h: &Header| (h.several_targets, h.writes_depth(), h.writes_sample_mask());
    if results(ours) != results(mesa) {
        return Some(format!("results {:?} rather than {:?}", results(ours), results(mesa)));
    }
    let flags = |h: &Header| [h.kills, h.global_stores, h.doubles];
    let more = |(o, m): (bool, bool)| o && !m;
    if flags(ours).into_iter().zip(flags(mesa)).any(more) {
        return Some(format!("kills, stores, doubles {:?} rather than {:?}", flags(ours), flags(mesa)));
    }
    None
}

/// `clip_enable=0 zcull=11`.
fn state(text: &str) -> BTreeMap<&str, &str> {
    text.split(' ').filter_map(|f| f.split_once('=')).collect()
}

fn state_difference(g: &Graphics, text: &str) -> Option<String> {
    let mesa = state(text);
    let bit = |b: bool| u32::from(b).to_string();
    let mut ours: BTreeMap<&str, String> = BTreeMap::new();
    match g.stage {
        Stage::Fragment => {
            ours.insert("zcull", format!("{:x}", g.zcull_flags()));
            ours.insert("early_z", bit(g.early_tests));
            ours.insert("sample_mask_in", bit(g.reads_sample_mask));
            ours.insert("reads_fb", bit(g.reads_framebuffer));
            ours.insert("post_depth", bit(g.post_depth_coverage));
            let colors = (0..2).filter(|&n| g.colors[n].is_some()).map(|n| 1 << n).sum::<u32>();
            ours.insert("colors", colors.to_string());
            let interp = g.colors.map(|c| c.map_or(0, |c| u32::from(c.mask) << 4 | c.interpolation as u32));
            ours.insert("color_interp", format!("{:x},{:x}", interp[0], interp[1]));
        }
        stage => {
            ours.insert("clip_enable", format!("{:x}", g.clip_enable));
            ours.insert("cull_enable", format!("{:x}", g.cull_enable));
            ours.insert("clip_mode", format!("{:x}", g.clip_mode));
            if stage == Stage::Vertex {
                ours.insert("edgeflag", g.edge_flag.map_or(255, u32::from).to_string());
                ours.insert("vertex_id", bit(g.needs_vertex_id));
                ours.insert("draw_params", bit(g.needs_draw_parameters));
            }
            if matches!(stage, Stage::TessControl | Stage::TessEval) {
                ours.insert("tess_mode", format!("{:x}", g.tess_mode.unwrap_or(u32::MAX)));
            }
        }
    }
    let differs = ours.iter().find(|(k, v)| mesa.get(*k).is_some_and(|m| m != v));
    differs.map(|(k, v)| format!("{k}={v} rather than {}", mesa[k]))
}

/// Slots of both lists: a name, and where it lies. What nobody uses may be missing from either.
fn slots_difference(g: &Graphics, row: &Row<'_>) -> Option<String> {
    for (slots, column) in [(&g.inputs, "inputs"), (&g.outputs, "outputs")] {
        let ours: Vec<String> = (slots.iter().filter(|s| s.mask != 0))
            .filter_map(|s| match s.location {
                SlotLocation::Vertex(a) | SlotLocation::Patch(a) => Some(format!("{:x}:{a:x}", s.mask)),
                // Depth and coverage have no slot of their own in Mesa.
                SlotLocation::Register(r) => {
                    matches!(s.what, Attribute::Semantic(Semantic::Color(_))).then(|| format!("r{:x}", 4 * r))
                }
                SlotLocation::Nowhere => None,
            })
            .collect();
        let mesa = row[column].split(' ').filter(|s| *s != "-").filter_map(|slot| {
            let parts: Vec<&str> = slot.split(':').collect();
            let fragment = column == "outputs" && g.stage == Stage::Fragment;
            let used = parts[1] != "0"
                && !parts[0].starts_with("EDGEFLAG")
                && (!fragment || parts[0].starts_with("COLOR"));
            used.then(
                || if fragment { format!("r{}", parts[2]) } else { format!("{}:{}", parts[1], parts[2]) },
            )
        });
        let mesa: Vec<String> = mesa.collect();
        if ours != mesa {
            return Some(format!("{column} {ours:?} rather than {mesa:?}"));
        }
    }
    None
}

/// The kinds of fixups, as a set: a mode and sample, or a condition. At the centroid, Mesa multiplies with the w of the pixel's
/// middle; we interpolate that of the centroid (PASS there, `ipa:4`).
fn fixups_difference(g: &Graphics, row: &Row<'_>) -> Option<String> {
    let ours: BTreeSet<String> = (g.fixups.iter())
        .map(|f| match f {
            Fixup::Interpolation { mode, sample, .. } => format!("ipa:{:x}", mode | sample << 2),
            Fixup::Selection { when, .. } => format!("{when:?}"),
        })
        .collect();
    let mesa: BTreeSet<String> = (row["fixups"].split(' ').filter(|f| *f != "-"))
        .map(|f| f.split(':').skip(1).take(2).collect::<Vec<_>>().join(":"))
        .collect();
    let own_w = |f: &&String| *f == "ipa:4" && mesa.contains("ipa:5");
    let extra = ours.difference(&mesa).find(|f| !own_w(f));
    extra.map(|f| format!("fixup {f}, which Mesa has not: {mesa:?}"))
}

#[test]
fn headers_slots_and_driver_state_agree_with_mesas() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/graphics");
    let Ok(table) = std::fs::read_to_string(folder.join("headers.tsv")) else {
        eprintln!("skipped: no {}", folder.display());
        return;
    };
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("a header").split('\t').collect();
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut checked = 0;
    for line in lines {
        let row: Row<'_> = columns.iter().copied().zip(line.split('\t')).collect();
        if row["status"] != "ok" {
            continue;
        }
        let chip = match row["chip"] {
            "c0" => Chip::Gf100,
            "e4" => Chip::Gk104,
            _ => Chip::Gk110,
        };
        let text = std::fs::read_to_string(folder.join(row["file"])).expect("the program");
        let shader: Shader = match Compiler::new(chip).compile(&Source::tgsi(&text)) {
            Ok(shader) => shader,
            Err(e) => {
                wrong.entry("does not compile".into()).or_default().push(format!("{}: {e}", row["file"]));
                continue;
            }
        };
        let g = shader.stage.as_deref().expect("a graphics stage");
        checked += 1;
        let found = [
            ("header", difference(&g.header, &mesa_header(&row))),
            ("driver state", state_difference(g, row["driver_state"])),
            ("slots", slots_difference(g, &row)),
            ("fixups", fixups_difference(g, &row)),
        ];
        for (what, why) in found {
            if let Some(why) = why {
                wrong.entry(what.into()).or_default().push(format!("{} {}: {why}", row["file"], row["chip"]));
            }
        }
    }
    for (what, list) in &wrong {
        eprintln!("{what}: {} of {checked}", list.len());
        list.iter()
            .take(if std::env::var_os("ALL").is_some() { 100_000 } else { 5 })
            .for_each(|w| eprintln!("  {w}"));
    }
    assert!(wrong.is_empty());
}
