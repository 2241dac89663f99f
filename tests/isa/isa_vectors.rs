//! Known words: their text as NVIDIA's disassembler prints it, and the way back.

use nvir::Chip;
use nvir::isa;
use pretty_assertions::assert_eq;

const PC: u32 = 0x10008;

fn vectors(chip: Chip) -> impl Iterator<Item = (u64, &'static str)> {
    let text = match chip {
        Chip::Gf100 => include_str!("../data/isa/gf100.tsv"),
        Chip::Gk104 => include_str!("../data/isa/gk104.tsv"),
        Chip::Gk110 => include_str!("../data/isa/gk110.tsv"),
    };
    text.lines().map(|l| {
        let (word, text) = l.split_once('\t').expect("a tab");
        (u64::from_str_radix(word, 16).expect("a word"), text)
    })
}

fn printed(chip: Chip, word: u64) -> String {
    let Some((m, row)) = isa::decode_row(chip, word, PC) else { return "unknown".to_string() };
    let mut text = String::new();
    isa::text::print_row(&mut text, chip, &m, Some(row));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// nvdisasm does not say which NaN it is.
fn without_payload(text: &str) -> String {
    match text.split_once("NAN(").and_then(|(head, rest)| Some((head, rest.split_once(')')?.1))) {
        Some((head, tail)) => format!("{head}NAN{tail}"),
        None => text.to_string(),
    }
}

fn texts_agree(chip: Chip) {
    let wrong: Vec<String> = vectors(chip)
        .filter_map(|(word, want)| {
            let got = without_payload(&printed(chip, word));
            (got != want).then(|| format!("{word:016x} want {want} got {got}"))
        })
        .take(20)
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn gk110_words_print_as_nvdisasm_prints_them() {
    texts_agree(Chip::Gk110);
}

#[test]
fn gf100_words_keep_their_texts() {
    texts_agree(Chip::Gf100);
}

#[test]
fn gk104_words_keep_their_texts() {
    texts_agree(Chip::Gk104);
}

#[test]
fn known_words_survive_decoding_and_encoding() {
    for chip in Chip::ALL {
        for (word, text) in vectors(chip) {
            let m = isa::decode(chip, word, PC).unwrap_or_else(|| panic!("{chip} {word:016x} {text}"));
            assert_eq!(isa::encode(chip, &m, PC), Ok(word), "{chip} {text}");
            assert!(isa::fits(chip, &m).is_ok() != isa::codec::never_selected(&m), "{chip} {text}");
        }
    }
}
