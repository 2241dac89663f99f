//! `contrib/editors` shows the languages of nvir as nvir reads them: the syntaxes are written from its tables. After a change
//! of these, `BLESS=1 cargo test --test compiler editors` writes them again.
//!
//! A tokeniser that works as editors' do reads the grammars here; `NVIR_CORPUS` names a folder with more texts to read.

mod language;
mod languages;

use language::{INTRINSIC, Kind, Language, OPCODE, Tokeniser};
use nvir::front::nir::{alu, intrinsics};
use nvir::front::tgsi::ast::Opcode;
use nvir::image::listing;
use nvir::{Chip, diag, isa};
use regex_lite::Regex;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    let path = root().join("contrib/editors").join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&read(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn grammar(l: &Language) -> String {
    format!("vscode/syntaxes/{}.tmLanguage.json", l.id)
}

#[test]
fn the_files_are_what_the_tables_say() {
    for l in languages::all() {
        let files = [
            (grammar(&l), l.textmate()),
            (format!("vscode/{}.language-configuration.json", l.id), l.configuration()),
            (format!("vim/syntax/{}.vim", l.id), l.vim()),
        ];
        for (path, text) in files {
            if std::env::var_os("BLESS").is_some() {
                let path = root().join("contrib/editors").join(&path);
                fs::create_dir_all(path.parent().expect("it has a folder")).expect("writable");
                fs::write(path, &text).expect("writable");
            }
            assert!(
                read(&path) == text,
                "{path} is not what the tables say: `BLESS=1 cargo test --test compiler editors`"
            );
        }
    }
}

#[test]
fn the_extension_names_every_file_and_every_language() {
    let package = json("vscode/package.json");
    let contributes = &package["contributes"];
    for l in languages::all() {
        let of = |list: &str, key: &str| {
            let all = contributes[list].as_array().expect(list).iter();
            all.filter(|v| v[key] == l.id).cloned().collect::<Vec<_>>()
        };
        let [language] = &of("languages", "id")[..] else { panic!("{}", l.id) };
        let endings: Vec<String> = l.endings.iter().map(|e| format!(".{e}")).collect();
        assert_eq!(language["extensions"], Value::from(endings));
        let [grammar] = &of("grammars", "language")[..] else { panic!("{}", l.id) };
        assert_eq!(grammar["scopeName"], Value::from(format!("source.{}", l.id)));
        for path in [&language["configuration"], &grammar["path"]] {
            json(&format!("vscode/{}", path.as_str().expect("a path").trim_start_matches("./")));
        }
        let detect = read("vim/ftdetect/nvir.vim");
        for ending in l.endings {
            assert!(
                detect.contains(&format!("*.{ending}")) && detect.contains(&format!("setfiletype {}", l.id))
            );
        }
    }
    assert!(json("vscode/tasks.json")["tasks"].as_array().is_some_and(|t| !t.is_empty()));
}

#[test]
fn the_problem_matcher_finds_the_place_in_short_messages() {
    let package = json("vscode/package.json");
    let matcher = &package["contributes"]["problemMatchers"][0]["pattern"];
    let regex = Regex::new(matcher["regexp"].as_str().expect("a pattern")).expect("a regular expression");
    for (line, wanted) in [
        (
            "a/k.tgsi:12:6: error: `UMULL` is not an instruction",
            ["a/k.tgsi", "12", "6", "error", "`UMULL` is not an instruction"],
        ),
        ("my k.nir:1:1: warning: a: b", ["my k.nir", "1", "1", "warning", "a: b"]),
    ] {
        let found = regex.captures(line).expect(line);
        let part = |key: &str| {
            let n = matcher[key].as_u64().expect(key) as usize;
            found.get(n).map_or("", |m| m.as_str())
        };
        assert_eq!(["file", "line", "column", "severity", "message"].map(part), wanted);
    }
    assert!(regex.captures("12 instructions, 4 registers").is_none());
}

/// The scope of a word in a line.
fn scope(t: &mut Tokeniser, line: &str, word: &str) -> String {
    let parts = t.line(line);
    let hit = parts.iter().find(|(_, text)| *text == word);
    hit.unwrap_or_else(|| panic!("`{word}` is not one piece of `{line}`: {parts:?}")).0.clone()
}

/// Every word, in a line of its own, has this kind.
fn covered(id: &str, kind: Kind, words: impl IntoIterator<Item = String>, line: impl Fn(&str) -> String) {
    let all = languages::all();
    let l = all.iter().find(|l| l.id == id).expect(id);
    let mut t = Tokeniser::new(&read(&grammar(l)));
    let mut count = 0;
    for word in words {
        assert_eq!(scope(&mut t, &line(&word), &word), format!("{}.{id}", kind.scope), "{word}");
        count += 1;
    }
    assert!(count > 40, "{id}: {count} words");
}

#[test]
fn every_operation_is_known_to_the_grammars() {
    let opcodes = Opcode::ALL.iter().map(|o| o.name().to_string());
    let opcodes = opcodes.flat_map(|o| [o.to_lowercase(), format!("{o}_SAT"), o]);
    covered("tgsi", OPCODE, opcodes, |o| format!("  0: {o} TEMP[0], TEMP[1]"));
    covered("nir", OPCODE, alu::names().map(str::to_string), |o| format!("\tvec1 32 ssa_1 = {o} ssa_0"));
    let intrinsics = intrinsics::names().map(str::to_string);
    covered("nir", INTRINSIC, intrinsics, |i| format!("\tvec1 32 ssa_1 = intrinsic {i} (ssa_0) (base=0)"));
    covered("nvir", OPCODE, nvir::ir::op::Op::ALL.iter().map(|o| o.name().to_string()), |o| {
        format!("    {o} u32 %r0 %r1")
    });
    covered("sass", OPCODE, isa::Op::ALL.iter().map(|o| o.name().to_string()), |o| {
        format!("    @!P0 {o} R0, R1;")
    });
}

/// Files below a folder, in order.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    all.sort();
    for path in all {
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// Everything that is printed has a scope.
fn reads_all(t: &mut Tokeniser, name: &str, text: &str) -> usize {
    for (n, line) in text.lines().enumerate() {
        for (scope, piece) in t.line(line) {
            assert!(!scope.is_empty() || piece.trim().is_empty(), "{name}:{}: `{piece}` in `{line}`", n + 1);
        }
    }
    text.lines().count()
}

#[test]
fn nothing_of_our_texts_is_unknown_to_the_grammars() {
    let mut paths = Vec::new();
    for folder in ["tgsi", "nir-fixtures", "tests"] {
        files(&root().join(folder), &mut paths);
    }
    if let Some(corpus) = std::env::var_os("NVIR_CORPUS") {
        files(Path::new(&corpus), &mut paths);
    }
    for l in languages::all() {
        let mut t = Tokeniser::new(&read(&grammar(&l)));
        let mut lines = 0;
        for path in &paths {
            let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
            let Some(text) = l.endings.contains(&ending).then(|| fs::read_to_string(path).ok()).flatten()
            else {
                continue;
            };
            lines += reads_all(&mut t, &path.display().to_string(), &text);
        }
        assert!(lines > 20, "{}: {lines} lines", l.id);
        println!("{}: {lines} lines", l.id);
    }
}

/// What nvir prints is read, too: the IR and the listing of a program with a bit of everything.
#[test]
fn what_is_printed_is_known_to_the_grammars() {
    let text = fs::read_to_string(root().join("tgsi/array-counting-sort.tgsi")).expect("a fixture");
    let all = languages::all();
    let tokeniser = |id: &str| Tokeniser::new(&read(&grammar(all.iter().find(|l| l.id == id).expect(id))));
    for chip in Chip::ALL {
        let shader = nvir::Compiler::new(chip).compile(&nvir::Source::tgsi(&text)).unwrap_or_else(|e| {
            panic!("{}", diag::render(e.diagnostics(), "k", &text, false));
        });
        let options = listing::Options { words: true };
        let text = listing::print(chip, &[shader.kernel()], options);
        reads_all(&mut tokeniser("sass"), "listing", &text);
    }
}
