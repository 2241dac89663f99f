//! The same program in the older and in the newer printer's form gives the same IR.

use nvir::chip::Chip;
use nvir::{Compiler, Options, Source};
use std::collections::HashMap;
use std::fmt::Write;

/// Rewrites a text of Mesa 22.3 as a later printer would write it: sizes, value names, intrinsics, labels,
/// comments, access qualifiers, and constants repeated after their uses.
fn newer(text: &str) -> String {
    let mut constants: HashMap<&str, String> = HashMap::new();
    let mut out = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let body = line.trim_start();
        if body.starts_with("/* ") {
            writeln!(out, "{}    // {}", "    ".repeat(indent), &body[3..body.len() - 2]).expect("a string");
            continue;
        }
        // Comments within a line are not written any more.
        let mut bare = String::new();
        let mut rest = body;
        while let Some((before, after)) = rest.split_once("/*") {
            bare += before.trim_end_matches(' ');
            rest = after.split_once("*/").map_or("", |(_, after)| after);
        }
        bare += rest;
        let bare = bare.replace("block block_", "block b").replace(" () ()", "").replace(") ()", ")");
        let mut s = String::new();
        let is_def = bare.starts_with("vec") && bare.contains(" = ");
        let words: Vec<&str> = bare.split(' ').filter(|w| !w.is_empty()).collect();
        let mut at = 0;
        if is_def {
            let comps = &words[0][3..];
            let size = if comps == "1" { words[1].to_string() } else { format!("{}x{comps}", words[1]) };
            write!(s, "div {size:6} %{}", &words[2][4..]).expect("a string");
            at = 3;
            if let Some(&"load_const") = words.get(at + 1) {
                let list = &body[body.find('(').expect("a list") + 1..];
                let values = list.split([')', '=']).next().expect("values").trim();
                let terse: Vec<String> = values.split(", ").map(|v| v.to_string()).collect();
                constants.insert(
                    &body[body.find("ssa_").expect("a name") + 4..body.find(" =").expect("=")],
                    terse.join(", "),
                );
            }
        }
        let is_const = bare.contains("= load_const");
        for (i, word) in words.iter().enumerate().skip(at) {
            if i > 0 {
                s.push(' ');
            }
            let start = word.find("ssa_").filter(|_| !is_const);
            match (*word, start) {
                ("intrinsic", _) => s.push('@'),
                (_, Some(start)) => {
                    let tail = &word[start + 4..];
                    let len = tail.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(tail.len());
                    let (digits, after) = tail.split_at(len);
                    write!(s, "{}%{digits}", &word[..start]).expect("a string");
                    if let Some(values) = constants.get(digits) {
                        write!(s, " ({values})").expect("a string");
                    }
                    s += after;
                }
                (word, _) if word.starts_with("block_") && word.ends_with(':') => {
                    s.push('b');
                    s += &word[6..];
                }
                (word, _) => s += word,
            }
        }
        let s = s
            .replace("@ ", "@")
            .replace("access=0", "access=none")
            .replace("access=80", "access=readonly|reorderable");
        let s = s.replace("access=16", "access=readonly").replace("access=8", "access=writeonly");
        let s = s.replace("access=4,", "access=volatile,").replace("access=5,", "access=coherent|volatile,");
        let s = s.replace("access=1,", "access=coherent,").replace("(0 params)", "() (entrypoint)");
        writeln!(out, "{}{s}", "    ".repeat(indent)).expect("a string");
    }
    out.replace("shared-size:", "shared_size:").replace("workgroup-size:", "workgroup_size:")
}

#[test]
fn every_fixture_gives_the_same_ir_in_both_forms() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/nir-fixtures");
    let mut count = 0;
    let chip = Chip::Gk110;
    let compiler = Compiler::new(chip).with_options(Options { pointer_align: 1, ..Options::default() });
    let ir = |text: &str| compiler.front(&Source::nir(text)).map(|p| p.to_string());
    for entry in std::fs::read_dir(dir).expect("the fixtures are part of the project") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|e| e != "nir") {
            continue;
        }
        let old = std::fs::read_to_string(&path).expect("text");
        if !old.contains("ssa_") {
            continue;
        }
        // Texts written by hand stand beside their newer form.
        let beside =
            path.to_str().and_then(|p| p.strip_suffix("_old.nir")).map(|stem| format!("{stem}_new.nir"));
        let new = match beside {
            Some(path) => std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")),
            None => newer(&old),
        };
        let want = ir(&old).unwrap_or_else(|d| panic!("{}: {d}", path.display()));
        let got = ir(&new).unwrap_or_else(|d| panic!("{} in the newer form: {d}\n{new}", path.display()));
        assert!(want == got, "{}: the IR differs\n{new}", path.display());
        count += 1;
    }
    assert!(count >= 60, "only {count} fixtures");
}

#[test]
fn a_continue_inside_a_continue_construct_is_refused_with_its_place() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/nir-fixtures/hand.continue_construct.nir");
    let text = std::fs::read_to_string(path).expect("the fixture is there");
    let line = "            32    %18 = ixor %15, %1\n";
    assert!(text.contains(line));
    let text = text.replace(line, &format!("{line}            continue\n"));
    let refused = Compiler::new(Chip::Gk110)
        .front(&Source::nir(&text))
        .expect_err("no such program exists")
        .to_string();
    assert!(refused.contains("`continue` inside a continue construct"), "{refused}");
}
