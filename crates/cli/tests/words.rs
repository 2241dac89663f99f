//! The English of messages, help and documentation: words and turns that only this project would use are kept out.
//!
//! Looked at is what people read: string literals of all crates that are no tests (a test's texts are quotations), the help of
//! every command, README and `docs`. Each entry of [`PRIVATE`] stands for a phrase that was once in use here; the second column is
//! what the field says.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whole words, in lower case, and what to write.
const PRIVATE: &[(&str, &str)] = &[
    ("told", "reported, printed, given"),
    ("not there", "does not exist, not implemented, missing"),
    ("say what it is", "unknown file type; use --format"),
    ("this is no", "invalid, unknown, not a"),
    ("goes round", "iterates"),
    ("go round", "iterate"),
    ("for ever", "forever, without end"),
    ("wrong usage", "usage error"),
    ("a page to look at", "an HTML report"),
    ("the way of data", "how data moves"),
    ("issue control", "scheduling words"),
    ("than there are", "than the chip, program ... has"),
    ("; there are", "available: ..., or index out of range (0 to N)"),
    (": there are", "available: ..., or index out of range (0 to N)"),
];

/// What follows a phrase where it is plain English.
const FINE: &[(&str, &[&str])] = &[("told", &["apart", "from"])];

/// After `X is no`: not a thing that X is not.
const DEGREES: &[&str] = &["longer", "more", "less", "fewer", "larger", "other", "way", "need", "place"];

/// The private phrases in a text, each with what stands around it.
fn private(text: &str) -> Vec<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let around = |at: usize| {
        let from = text[..at].char_indices().rev().nth(40).map_or(0, |(i, _)| i);
        text[from..].chars().take(90).collect::<String>()
    };
    let mut found = Vec::new();
    for (phrase, instead) in PRIVATE {
        for (at, _) in text.match_indices(phrase) {
            let after = &text[at + phrase.len()..];
            let next = after.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
            let fine = FINE.iter().any(|(p, words)| p == phrase && words.contains(&next));
            let within = word(phrase.chars().next()) && word(text[..at].chars().next_back());
            if !fine && !within && !word(after.chars().next()) {
                found.push(format!("`{phrase}` ({instead}): {}", around(at)));
            }
        }
    }
    // `X is no Y` for `X is not a Y`.
    for verb in [" is no ", " are no "] {
        for (at, _) in text.match_indices(verb) {
            let next = text[at + verb.len()..].split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
            if !text[..at].ends_with("there") && !DEGREES.contains(&next) {
                found.push(format!(
                    "`{}{next}` (not a, invalid, unknown): {}",
                    verb.trim_start(),
                    around(at)
                ));
            }
        }
    }
    found
}

/// String literals of a source, without those of its tests; a line break with a backslash is none.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or(source);
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let here = &rest[at..];
        let raw = rest[..at].trim_end_matches('#');
        let hashes = at - raw.len();
        rest = if here.starts_with("//") {
            here.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(text) = here.strip_prefix('"') {
            if raw.ends_with('r') {
                let (text, rest) =
                    text.split_once(&format!("\"{}", "#".repeat(hashes))).unwrap_or((text, ""));
                found.push(text.to_string());
                rest
            } else {
                let mut escaped = false;
                let end = text.find(|c| {
                    let end = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    end
                });
                let (text, rest) = text.split_at(end.unwrap_or(text.len()));
                found.push(text.replace("\\\n", " ").replace("\\n", " "));
                rest.get(1..).unwrap_or("")
            }
        } else if let Some(behind) = here.strip_prefix("'\"'") {
            behind
        } else if here.starts_with("'\\") {
            // An escaped character, of which the next may be a quote.
            here.get(3..).unwrap_or("")
        } else {
            &here[1..]
        };
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn files(folder: &Path, ending: &str, skip: &[&str]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let wanted = |p: &Path| {
        let skipped = p.components().any(|c| skip.iter().any(|s| c.as_os_str() == *s));
        p.extension().is_some_and(|e| e == ending) && !skipped
    };
    nvir::input::walk(folder, &wanted, &mut all).expect("part of the project");
    all
}

fn help(arguments: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_nvir")).args(arguments).output().expect("it runs");
    assert!(ran.status.success(), "{arguments:?}");
    String::from_utf8(ran.stdout).expect("text")
}

#[test]
fn private_words_are_found() {
    for (text, want) in [
        ("the place is told", 1),
        ("two things are told apart, pointers are told from numbers", 0),
        ("ssbo 99: there are 32", 1),
        ("there are no textures", 0),
        ("this is no instruction", 2),
        ("`x` is no\nsize", 1),
        ("there is no kernel; it is no longer used", 0),
        ("drawing is not there", 1),
        ("untold", 0),
    ] {
        assert_eq!(private(text).len(), want, "{text}: {:?}", private(text));
    }
    let source = "f(\"one \\\"two\\\"\"); // \"three\"\nlet c = '\"'; let d = '\\\"'; let e: &'a str = r#\"fo\"ur\"#;\n\
                  g(\"five \\\n   six\");\n#[cfg(test)]\nmod tests { \"seven\" }";
    let words: Vec<String> =
        literals(source).iter().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(words, ["one \\\"two\\\"", "fo\"ur", "five six"]);
}

#[test]
fn messages_have_no_private_words() {
    let mut wrong = Vec::new();
    let mut read = 0;
    for folder in ["src", "crates"] {
        // What is for tests, and the fuzzer's reports to ourselves.
        for file in
            files(&root().join(folder), "rs", &["tests", "tests.rs", "examples", "benches", "fuzz", "target"])
        {
            let text = std::fs::read_to_string(&file).expect("readable");
            let all = literals(&text);
            read += all.len();
            for found in all.iter().flat_map(|l| private(l)) {
                wrong.push(format!("{}: {found}", file.strip_prefix(root()).unwrap_or(&file).display()));
            }
        }
    }
    assert!(read > 5000, "{read} literals");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn help_has_no_private_words() {
    let top = help(&["--help"]);
    let commands = top.split("Commands:").nth(1).expect("commands").split("Options:").next().expect("a list");
    // A name begins two columns in; what is said of it may go on below.
    let names = commands.lines().filter_map(|l| l.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
    let names: Vec<&str> =
        names.filter_map(|l| l.split_whitespace().next()).filter(|n| *n != "help").collect();
    assert!(names.len() > 20, "{names:?}");
    let mut wrong = private(&top);
    for name in names {
        wrong.extend(private(&help(&[name, "--help"])).into_iter().map(|w| format!("{name}: {w}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn documentation_has_no_private_words() {
    let mut pages = files(&root().join("docs"), "md", &[]);
    assert!(pages.len() > 15, "{pages:?}");
    pages.extend(["README.md", "contrib/editors/README.md"].map(|p| root().join(p)));
    let mut wrong = Vec::new();
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("readable");
        wrong.extend(private(&text).into_iter().map(|w| format!("{}: {w}", page.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
