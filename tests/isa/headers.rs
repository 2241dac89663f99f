//! Headers that Mesa makes for 2010 programs are read and written again without a change.
//!
//! They are not part of the project: `NVIR_CORPUS` names the folder with `graphics/headers.tsv`, else `../shared/corpus`.

use nvir::isa::header::{Header, WORDS};
use nvir::stage::{Semantic, Stage};
use std::path::PathBuf;

fn corpus(file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("NVIR_CORPUS").map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus")));
    Some(folder.join(file)).filter(|f| f.exists())
}

/// A slot as the table has it, `NAME.index:components:address:how...`: semantic, components, address, whether it is a patch's.
fn slot(text: &str) -> Option<(Semantic, u32, u32, bool)> {
    let parts: Vec<&str> = text.split(':').collect();
    let (name, index) = parts[0].rsplit_once('.')?;
    let hex = |n: usize| u32::from_str_radix(parts.get(n)?, 16).ok();
    Some((Semantic::from_name(name, index.parse().ok()?)?, hex(1)?, hex(2)?, parts.contains(&"patch")))
}

/// The slots of vertices.
fn slots(text: &str) -> impl Iterator<Item = (Semantic, u32, u32)> {
    text.split_whitespace()
        .filter_map(slot)
        .filter(|s| !s.3)
        .map(|(semantic, mask, at, _)| (semantic, mask, at))
}

#[test]
fn mesas_headers_are_read_and_written_again() {
    let Some(file) = corpus("graphics/headers.tsv") else {
        eprintln!("SKIPPED: no corpus with graphics/headers.tsv: NVIR_CORPUS names its folder");
        return;
    };
    let text = std::fs::read_to_string(file).expect("readable");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a first line").split('\t').collect();
    let column = |name: &str| names.iter().position(|n| *n == name).expect("a column");
    let [stage, header, inputs, outputs, local] =
        ["stage", "header", "inputs", "outputs", "local_bytes"].map(column);
    let mut count = 0;
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let Some(words) = cells.get(header).filter(|h| h.len() > 20) else { continue };
        let words: Vec<u32> = words.split(' ').map(|w| u32::from_str_radix(w, 16).expect("a word")).collect();
        let words: [u32; WORDS] = words.try_into().expect("20 words");
        let read = Header::decode(&words).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(read.encode(), words, "{line}");
        assert_eq!(read.stage().name(), cells[stage], "{line}");
        let bytes: u32 = cells[local].parse().expect("a number");
        assert_eq!(read.local_bytes, bytes.next_multiple_of(16), "{line}");
        // What the slots name is declared.
        for (semantic, mask, address) in slots(cells[inputs]).filter(|s| s.0 != Semantic::Face) {
            for c in (0..4).filter(|c| mask >> c & 1 != 0) {
                assert!(read.reads(address + 4 * c), "{semantic} {c}: {line}");
            }
        }
        for (semantic, mask, address) in slots(cells[outputs]) {
            for c in (0..4).filter(|c| mask >> c & 1 != 0) {
                let declared = match (read.stage(), semantic) {
                    (Stage::Fragment, Semantic::Color(n)) => read.color_mask(n.into()) >> c & 1 != 0,
                    (Stage::Fragment, _) => read.writes_depth(),
                    _ => read.writes(address + 4 * c),
                };
                assert!(declared, "{semantic} {c}: {line}");
            }
        }
        count += 1;
    }
    assert!(count > 6000, "{count} headers");
}
