//! The manual: every `console` block is run, and what it prints is compared with what stands there.
//!
//! A line that begins with `$ ` is a command; a here-document belongs to it. What follows is its output, both streams: `...` alone
//! on a line stands for any lines, in a line for any text. The commands of a page run one after the other, in one shell and one
//! folder, in which the repository's fixtures are at hand.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Pages whose commands need what a test cannot count on, and what that is.
const NEEDS: &[(&str, &str)] = &[
    ("compile-time.md", "figures of one machine"),
    (
        "driver.md",
        "a new Cargo project; examples/driver and crates/driver/tests are built from the same code",
    ),
    ("emulator.md", "no commands"),
    ("fixtures-graphics.md", "no commands; its fixtures are in tgsi/graphics"),
    ("graphics-size.md", "figures"),
    ("isa.md", "no commands"),
    ("json.md", "fields only; below is a test of them"),
    ("library.md", "Rust; examples/driver and the library's own documents are compiled"),
    ("longer-than-mesa.md", "figures"),
    ("registers.md", "figures of the corpus"),
    ("mesa.md", "Mesa's source package"),
    ("nir.md", "no commands"),
    ("nir-options.md", "no commands"),
    ("nir-vs-ptxas.md", "NVIDIA's compiler"),
    ("README.md", "the two commands of a new clone, which .ci/run and tests/readme.rs run"),
    ("scheduling.md", "cubins of NVIDIA's compiler"),
    ("virtual-gpu.md", "Mesa; crates/vgpu-preload/tests runs it where that is installed"),
];

/// A command and the output that the page shows.
struct Step {
    line: usize,
    command: String,
    output: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    let mut until: Option<String> = None;
    for (n, line) in page.lines().enumerate() {
        if !inside {
            inside = line.trim_end() == "```console";
            continue;
        }
        if let Some(end) = &until {
            let step = steps.last_mut().expect("a command is open");
            step.command += &format!("{line}\n");
            if line == end {
                until = None;
            }
            continue;
        }
        if line == "```" {
            inside = false;
        } else if let Some(command) = line.strip_prefix("$ ") {
            until =
                command.split_once("<<'").and_then(|(_, rest)| Some(rest.split_once('\'')?.0.to_string()));
            steps.push(Step { line: n + 1, command: format!("{command}\n"), output: Vec::new() });
        } else {
            steps.last_mut().expect("a block begins with a command").output.push(line.to_string());
        }
    }
    steps
}

/// Whether a line is as the page has it.
fn line_matches(want: &str, got: &str) -> bool {
    let mut parts = want.split("...");
    let Some(mut rest) = parts.next().and_then(|first| got.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether output is as the page has it: lines of `...` stand for any lines.
fn matches(want: &[String], got: &[&str]) -> bool {
    match want.split_first() {
        None => got.is_empty(),
        Some((dots, rest)) if dots.trim() == "..." => (0..=got.len()).any(|n| matches(rest, &got[n..])),
        Some((first, rest)) => got
            .split_first()
            .is_some_and(|(g, others)| line_matches(first, g.trim_end()) && matches(rest, others)),
    }
}

fn pages() -> Vec<PathBuf> {
    let folder = root().join("docs");
    let mut pages: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("docs")
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.sort();
    pages.push(root().join("README.md"));
    pages
}

#[test]
fn commands_of_every_page_do_what_it_says() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no bash, in which the manual's commands run");
        return;
    }
    let program = Path::new(env!("CARGO_BIN_EXE_nvir")).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut wrong = String::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("the page");
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        let steps = steps(&text);
        if steps.is_empty() {
            let excused = NEEDS.iter().any(|(p, _)| *p == name) || name == "SUMMARY.md";
            assert!(excused, "{name} has no command that is run");
            continue;
        }
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual").join(&name);
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        for link in ["crates", "tgsi", "nir-fixtures", "spirv-fixtures", "scenes"] {
            std::os::unix::fs::symlink(root().join(link), dir.join(link)).expect("a link");
        }
        const MARK: &str = "=== next step";
        let script: String = steps.iter().map(|s| format!("{}echo '{MARK}'\n", s.command)).collect();
        let mut command = Command::new("bash");
        command.args(["-c", &format!("exec 2>&1\n{script}")]).current_dir(&dir).env("PATH", &path);
        for name in ["RUST_LOG", "CI_NODE_INDEX", "CI_NODE_TOTAL", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS"] {
            command.env_remove(name);
        }
        let ran = command.output().expect("bash runs");
        let text = String::from_utf8(ran.stdout).expect("text");
        let outputs: Vec<&str> = text.split(&format!("{MARK}\n")).collect();
        assert_eq!(outputs.len(), steps.len() + 1, "{name}: {text}");
        for (step, got) in steps.iter().zip(outputs) {
            let lines: Vec<&str> = got.lines().collect();
            let want = step.output.join("\n");
            if !matches(&step.output, &lines) {
                let command = step.command.lines().next().unwrap_or_default();
                wrong += &format!(
                    "{name}:{}: `{command}` printed\n{got}\nand the page says\n{want}\n\n",
                    step.line
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_summary_has_every_page_and_links_lead_somewhere() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).expect("there");
    for page in pages() {
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        if name != "README.md" && name != "SUMMARY.md" {
            assert!(summary.contains(&format!("({name})")), "SUMMARY.md has no {name}");
        }
        let text = std::fs::read_to_string(&page).expect("there");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|l| l.0) {
            let file = link.split('#').next().unwrap_or(link);
            let at = page.parent().expect("a folder").join(file);
            assert!(file.is_empty() || file.contains("://") || at.exists(), "{name}: no {link}");
        }
    }
}

#[test]
fn json_has_the_fields_that_the_manual_names() {
    let text = std::fs::read_to_string(root().join("docs/json.md")).expect("there");
    let run = |args: &[&str]| -> serde_json::Value {
        let ran =
            Command::new(env!("CARGO_BIN_EXE_nvir")).args(args).current_dir(root()).output().expect("runs");
        serde_json::from_slice(&ran.stdout).expect("JSON")
    };
    let section = |title: &str| {
        let (_, rest) =
            text.split_once(&format!("## `nvir {title}` (schema ")).unwrap_or_else(|| panic!("{title}"));
        let (schema, rest) = rest.split_once(')').expect("a number");
        (schema.parse::<u64>().expect("a number"), rest.split("\n## ").next().unwrap_or(rest).to_string())
    };
    let keys = |v: &serde_json::Value| v.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let named = |title: &str, all: &serde_json::Value, objects: &[&serde_json::Value]| {
        let (schema, text) = section(title);
        assert_eq!(all["schema"], schema, "{title}");
        for key in objects.iter().flat_map(|o| keys(o)).filter(|k| k != "schema") {
            assert!(text.contains(&format!("`{key}`")), "docs/json.md, {title}: no `{key}`");
        }
    };
    let stats = run(&["stats", "tgsi/crc32.tgsi", "--json"]);
    named("stats --json", &stats, &[&stats, &stats["rows"][0], &stats["totals"]]);
    let tests = run(&["test", "tgsi/crc32.toml", "--json"]);
    named("test --json", &tests, &[&tests, &tests["tests"][0]]);
    let ran = run(&["run", "tgsi/crc32.toml", "-t", "gk110", "--json", "--profile", "--dump", "crc"]);
    let (test, profile) = (&ran["tests"][0], &ran["tests"][0]["profile"][0]);
    let own = serde_json::json!({ "buffers": test["buffers"], "profile": test["profile"], "schema": 1 });
    named(
        "run --json",
        &own,
        &[&own, &test["buffers"][0], profile, &profile["code"][0], &profile["lines"][0]],
    );
    let interpreted = run(&["interp", "tgsi/crc32.toml", "--json"]);
    named("interp --json", &interpreted, &[&interpreted, &interpreted["tests"][0]]);
    let shader = run(&["compile", "tgsi/crc32.tgsi", "--emit", "json", "--remarks"]);
    named("compile --emit json", &shader, &[&shader, &shader["bindings"][0], &shader["lines"][0]]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual");
    std::fs::create_dir_all(&folder).expect("a folder");
    let words = folder.join("header.hex");
    let words = words.to_str().expect("text");
    let made = ["compile", "tgsi/graphics/vs-clip-planes.tgsi", "--emit", "words", "-o", words];
    assert!(
        Command::new(env!("CARGO_BIN_EXE_nvir"))
            .args(made)
            .current_dir(root())
            .status()
            .is_ok_and(|s| s.success())
    );
    let header = run(&["header", "--json", words]);
    named("header --json", &header, &[&header]);
    let sched = run(&["sched", "tgsi/crc32.tgsi", "--json", "-v"]);
    let kernel = &sched["kernels"][0];
    named("sched --json", &sched, &[&sched, &sched["totals"], kernel, &kernel["code"][0]]);
    let devices = run(&["devices", "--json"]);
    named("devices --json", &devices, &[&devices, &devices["devices"][0]]);
    let passes = run(&["passes", "--json"]);
    named("passes --json", &passes, &[&passes, &passes["pipeline"], &passes["passes"][0]]);
}
