//! The two commands that README prints for a new clone, and the gate that runs them.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// What stands in the page's blocks of a kind.
fn blocks(text: &str, kind: &str) -> Vec<String> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some((_, block)) = rest.split_once(&format!("\n```{kind}\n")) {
        let (block, behind) = block.split_once("\n```\n").expect("a block has an end");
        found.push(block.to_string());
        rest = behind;
    }
    found
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).expect("there")
}

#[test]
fn readme_has_two_commands_and_the_gate_runs_these() {
    let commands = blocks(&readme(), "sh");
    let [main, test] = &commands[..] else { panic!("one to run and one to test: {commands:?}") };
    assert!(main.starts_with("cargo run --release -- ") && !main.contains('\n'), "{main}");
    assert_eq!(test, "cargo test --release");
    assert!(!readme().contains("console\n"), "other commands would need the program installed");
    let gate = root().join(".ci/run");
    if !gate.exists() {
        return eprintln!("SKIPPED: this copy of the project has no gate");
    }
    let Ok(said) = Command::new("bash").arg(gate).arg("--commands").output() else {
        return eprintln!("SKIPPED: bash is not installed");
    };
    assert_eq!(String::from_utf8_lossy(&said.stdout), format!("{main}\n{test}\n"));
}

/// The first command, with the program that the test was built with.
#[test]
fn the_main_command_prints_what_readme_shows() {
    let text = readme();
    let command = blocks(&text, "sh").remove(0);
    let arguments = command.split_once(" -- ").expect("arguments").1;
    let ran = Command::new(env!("CARGO_BIN_EXE_nvir"))
        .args(arguments.split(' '))
        .current_dir(root())
        .output()
        .expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let out = String::from_utf8(ran.stdout).expect("text");
    let shown = blocks(&text, "text").remove(0);
    let (first, last) = shown.split_once("\n...\n").expect("dots between");
    let (start, end) = first.split_once("...").expect("a number left out");
    let line = out.lines().next().expect("a line");
    assert!(line.starts_with(start) && line.ends_with(end), "{line}");
    assert_eq!(out.lines().last(), Some(last));
}
