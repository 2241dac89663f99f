//! Passes on small pieces of IR: `tests/ir/PASS/*.ir`.
//!
//! The first line of a file is the command, `; nvir opt --passes=gvn`, with `--stage` and `-t` where they matter. A
//! case begins with a line `; --- what must hold`, then IR text before, a line `; ==>`, and IR text after; `; ==> the
//! same` says that nothing changes. Text that does not begin with `program` is the body of a kernel. Numbers count;
//! spacing does not. With `BLESS=1` in the environment the texts after are written instead of compared.

use nvir::Chip;
use nvir::compiler::{DebugOptions, Options};
use nvir::ir::{Program, parse};
use nvir::opt::{self, Session, Stage};
use nvir::verify;
use std::fmt::Write;
use std::path::{Path, PathBuf};

struct Command {
    passes: Vec<&'static opt::Pass>,
    stage: Stage,
    chip: Chip,
}

fn command(line: &str, at: &Path) -> Command {
    let mut c = Command { passes: Vec::new(), stage: Stage::Front, chip: Chip::Gk110 };
    let rest = line.strip_prefix("; nvir opt ").unwrap_or_else(|| panic!("{}: no command", at.display()));
    let words: Vec<&str> = rest.split_whitespace().collect();
    for (n, word) in words.iter().enumerate() {
        if let Some(passes) = word.strip_prefix("--passes=") {
            let find = |p| opt::find(p).unwrap_or_else(|| panic!("{}: no pass {p}", at.display()));
            c.passes = passes.split(',').map(find).collect();
        } else if let Some(stage) = word.strip_prefix("--stage=") {
            c.stage = match stage {
                "front" => Stage::Front,
                "ssa" => Stage::Ssa,
                "legal" => Stage::Legal,
                other => panic!("{}: no stage {other}", at.display()),
            };
        } else if *word == "-t" {
            c.chip = words[n + 1].parse().expect("a chip");
        }
    }
    c
}

fn whole(text: &str) -> String {
    if text.trim_start().starts_with("program") {
        text.to_string()
    } else {
        format!("program\nkernel k() {{\n{text}\n}}\n")
    }
}

fn read(text: &str, at: &str) -> Program {
    parse::program(&whole(text)).unwrap_or_else(|d| panic!("{at}: {d:?}"))
}

/// The blocks alone, as a case writes them.
fn body(p: &Program, wrapped: bool) -> String {
    let text = p.to_string();
    if !wrapped {
        return text;
    }
    let start = text.find("{\n").map_or(0, |n| n + 2);
    let end = text.rfind('}').unwrap_or(text.len());
    text[start..end].to_string()
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).expect("tests/ir exists").map(|e| e.expect("readable").path()).collect();
    entries.sort();
    for e in entries {
        if e.is_dir() {
            files(&e, found);
        } else if e.extension().is_some_and(|x| x == "ir") {
            found.push(e);
        }
    }
}

#[test]
fn each_pass_makes_of_each_case_what_its_file_says() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir"), &mut found);
    let mut failures = String::new();
    let mut cases = 0;
    for path in &found {
        let text = std::fs::read_to_string(path).expect("readable");
        let (first, rest) = text.split_once('\n').expect("a command and cases");
        let command = command(first, path);
        let mut blessed = format!("{first}\n");
        for case in rest.split("; --- ").skip(1) {
            cases += 1;
            let (name, case) = case.split_once('\n').expect("a case has a text");
            let at = format!("{}: {name}", path.display());
            let (before, after) = case.split_once("; ==>").unwrap_or((case, ""));
            let wrapped = !before.trim_start().starts_with("program");
            let mut program = read(before, &at);
            verify::program(&program, command.stage.phase()).unwrap_or_else(|v| panic!("{at}: {v}"));
            let original = program.to_string();
            let options = Options { debug: DebugOptions::verifying(), ..Options::default() };
            let mut session = Session::new();
            for &pass in &command.passes {
                session
                    .run_pass(pass, command.stage, &mut program, command.chip, &options)
                    .unwrap_or_else(|b| panic!("{at}: {b}"));
            }
            let got = program.to_string();
            let result =
                if got == original { " the same\n".into() } else { format!("\n{}", body(&program, wrapped)) };
            let _ = write!(blessed, "\n; --- {name}\n{}\n; ==>{result}", before.trim_end());
            let want = if after.trim() == "the same" { original } else { read_or_empty(after, &at, bless) };
            if !bless && got != want {
                let _ = writeln!(failures, "{at}\n--- want\n{want}--- got\n{got}");
            }
        }
        if bless {
            std::fs::write(path, blessed).expect("writable");
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(cases > 0, "there are cases");
}

fn read_or_empty(text: &str, at: &str, bless: bool) -> String {
    if bless { String::new() } else { read(text, at).to_string() }
}
