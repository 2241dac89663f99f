//! What is in a page, without a browser.

use nvir::image::cubin;
use nvir::{Chip, Compiler, Observer, OptLevel, Options, Shader, Source};
use nvir_explore::{Against, Failed, Page, Subject};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const BFS: &str = "nir-fixtures/bfs_step.nir";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

/// A file of the repository.
fn subject(file: &str) -> Subject {
    Subject::new(root().join(file))
}

fn page(subject: Subject) -> Page {
    Page { subject, against: None, version: "1".into() }
}

/// The data in a page.
fn data(html: &str) -> Value {
    let start = html.find("id=\"data\">").expect("the element") + "id=\"data\">".len();
    let end = start + html[start..].find("</script>").expect("its end");
    serde_json::from_str(&html[start..end]).expect("JSON")
}

fn shown(page: &Page) -> Value {
    data(&page.html().expect("a page"))
}

/// What the compiler makes of [`BFS`].
fn compiled(chip: Chip, level: OptLevel) -> Shader {
    let text = std::fs::read_to_string(root().join(BFS)).expect("a source");
    Compiler::new(chip).with_options(Options::at(level)).compile(&Source::nir(&text)).expect("code")
}

fn numbers(v: &Value) -> Vec<i64> {
    v.as_array().expect("a list").iter().map(|n| n.as_i64().expect("a number")).collect()
}

/// Source lines from 1 by place.
fn lines(d: &Value) -> Vec<i64> {
    numbers(&d["places"]).chunks(3).map(|p| p[1]).collect()
}

/// The IR of each step, as texts with source lines.
fn steps(d: &Value, side: &Value) -> Vec<Vec<(String, i64)>> {
    let (ir, lines) = (numbers(&side["ir"]), lines(d));
    let mut all: Vec<Vec<i64>> = Vec::new();
    for step in side["steps"].as_array().expect("steps") {
        let mut ops = numbers(&step["ops"]).into_iter();
        let mut before = all.last().cloned().unwrap_or_default().into_iter();
        let mut now = Vec::new();
        while let Some(keep) = ops.next() {
            let (drop, add) = (ops.next().expect("a count"), ops.next().expect("a count"));
            now.extend(before.by_ref().take(keep as usize));
            before.by_ref().take(drop as usize).for_each(drop_it);
            now.extend(ops.by_ref().take(add as usize));
        }
        assert_eq!(before.count(), 0, "every line of the step before is spoken of");
        all.push(now);
    }
    let shown = |n: i64| {
        let (text, place) = (ir[2 * n as usize], ir[2 * n as usize + 1]);
        (d["texts"][text as usize].as_str().expect("text").to_string(), lines[place as usize])
    };
    all.into_iter().map(|step| step.into_iter().map(shown).collect()).collect()
}

fn drop_it(_: i64) {}

#[test]
fn every_instruction_has_a_line_or_a_cause() {
    let (mut all, mut known) = (0, 0);
    for file in
        ["nir-fixtures/black_scholes.nir", "nir-fixtures/aes_sbox_lds.nir", "nir-fixtures/bfs_step.nir"]
    {
        for level in [OptLevel::O0, OptLevel::O3] {
            let d = shown(&page(Subject { level, ..subject(file) }));
            let (side, lines) = (&d["sides"][0], lines(&d));
            let source = d["sources"][0]["lines"].as_array().expect("lines").len() as i64;
            let sass = &side["sass"];
            for (place, made) in numbers(&sass["place"]).iter().zip(numbers(&sass["made"])) {
                let line = lines[*place as usize];
                assert!(line <= source);
                all += 1;
                known += i64::from(line > 0 || made > 0);
            }
            assert_eq!(numbers(&sass["pc"]).len(), numbers(&sass["text"]).len());
        }
    }
    assert!(all > 500 && known * 100 >= all * 98, "{known} of {all}");
}

#[test]
fn the_steps_are_those_that_print_after_shows() {
    let d = shown(&page(subject("nir-fixtures/black_scholes.nir")));
    let steps = steps(&d, &d["sides"][0]);
    let names: Vec<&str> =
        d["sides"][0]["steps"].as_array().expect("steps").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names[0], "front-end");
    assert!(names.contains(&"lower") && names.contains(&"dce"), "{names:?}");
    assert!(steps.windows(2).all(|w| w[0] != w[1]), "each changed something");
    let text = std::fs::read_to_string(root().join("nir-fixtures/black_scholes.nir")).expect("a source");
    let ir = Compiler::new(Chip::Gk110).optimised(&Source::nir(&text), &mut Observer::default()).expect("IR");
    let last: Vec<&str> = steps.last().expect("steps").iter().map(|l| l.0.as_str()).collect();
    assert_eq!(last, ir.to_string().lines().collect::<Vec<_>>());
    // Instructions know their lines in each step.
    for (step, name) in steps.iter().zip(names) {
        let code: Vec<_> = step.iter().filter(|l| l.0.starts_with("    ")).collect();
        let with = code.iter().filter(|l| l.1 > 0).count();
        assert!(with * 100 >= code.len() * 95, "{name}: {with} of {}", code.len());
    }
}

#[test]
fn machine_code_is_that_of_compile() {
    let (chip, level) = (Chip::Gk104, OptLevel::O2);
    let d = shown(&page(Subject { chip: Some(chip), level, ..subject(BFS) }));
    let words = compiled(chip, level).code;
    let sass = &d["sides"][0]["sass"];
    let shown = sass["word"].as_array().expect("words");
    assert!(shown.len() > 10);
    for (pc, word) in numbers(&sass["pc"]).iter().zip(shown) {
        assert_eq!(format!("{:016x}", words[*pc as usize / 8]), word.as_str().expect("text"));
    }
    // Each block begins where the one before ends; edges lead to blocks.
    let starts = numbers(&sass["starts"]);
    assert_eq!(starts[0], 0);
    assert!(starts.windows(2).all(|w| w[0] < w[1]));
    let edges = sass["edges"].as_array().expect("edges");
    assert!(
        edges.iter().all(|e| (e[1].as_u64().expect("a block") as usize) < starts.len()) && edges.len() > 2
    );
    assert!(numbers(&sass["issue"]["count"]).iter().all(|&c| (0..=32).contains(&c)));
}

#[test]
fn liveness_is_that_of_the_code() {
    let dir = folder("alive");
    let text = ".chip gk110\n.kernel k\n.registers 8\n        MOV R0, c[0x0][0x140];\n        MOV R1, c[0x0][0x144];\n        \
                MOV R2, c[0x0][0x148];\n        IADD R3, R0, R1;\n        IADD R3, R3, R2;\n        ST [R0], R3;\n        EXIT;\n";
    std::fs::write(dir.join("k.sass"), text).expect("written");
    let d = shown(&page(Subject::new(dir.join("k.sass"))));
    let sass = &d["sides"][0]["sass"];
    assert_eq!(numbers(&sass["alive"]), [1, 2, 3, 3, 3, 2, 0]);
    // Registers from 8; first and last row.
    assert_eq!(numbers(&sass["ranges"]), [8, 0, 5, 9, 1, 3, 10, 2, 4, 11, 3, 5]);
    assert_eq!(d["sides"][0]["source"], Value::Null);
}

#[test]
fn a_fixture_has_counts() {
    let d = shown(&page(subject("nir-fixtures/bfs_step.json")));
    let side = &d["sides"][0];
    assert_eq!(side["counts"]["outcome"], "passed");
    let counts = &side["sass"]["counts"];
    let issues = numbers(&counts["issues"]);
    assert!(issues[0] > 0, "the first instruction is executed");
    let threads = numbers(&counts["threads"]);
    assert!(issues.iter().zip(&threads).all(|(i, t)| *t <= 32 * i));
    let facts = side["facts"].as_array().expect("facts");
    let executed = facts.iter().find(|f| f[0] == "executed").expect("the sum");
    assert_eq!(executed[1], json!(issues.iter().sum::<i64>().to_string()));
}

#[test]
fn a_fixture_has_the_steps_of_a_warp() {
    let file = "nir-fixtures/bfs_step.json";
    let d = shown(&page(subject(file)));
    let side = &d["sides"][0];
    assert_eq!(side["warp"]["title"], "warp 0 of block (0, 0, 0)");
    let found = &side["warp"]["found"];
    assert_eq!((&found["lanes"], &found["cut"]), (&json!(32), &json!(false)));
    let steps = found["steps"].as_array().expect("steps");
    // It begins and ends as the code does, and each instruction is one of the code's.
    let pcs = numbers(&side["sass"]["pc"]);
    let at: Vec<i64> = steps.iter().map(|s| s[0].as_i64().expect("an address")).collect();
    assert!(at.len() > 10 && at[0] == pcs[0] && at.iter().all(|pc| pcs.contains(pc)));
    let listing = found["program"].as_array().expect("texts");
    let text = |pc: i64| listing.iter().find(|l| l[0] == pc).and_then(|l| l[1].as_str()).expect("its text");
    assert!(text(*at.last().expect("a step")).contains("EXIT"));
    // A load of global memory says where it reads, and what it loads is what it writes.
    let load = steps.iter().find(|s| s[5][0] == "global" && s[5][1] == false).expect("a load");
    assert!(text(load[0].as_i64().expect("an address")).contains("LD"), "{load}");
    assert_eq!(load[5][2], 4);
    assert!(load[5][3].is_array() || load[5][3].as_str().is_some_and(|a| a.starts_with("0x")), "{load}");
    assert_eq!(load[2].as_array().map(Vec::len), Some(1));
    // Another warp, and one that is not there.
    let of = |warp: &str| page(Subject { warp: Some(warp.parse().expect("a warp")), ..subject(file) });
    let other = shown(&of("0:1"));
    assert_eq!(other["sides"][0]["warp"]["title"], "warp 1 of block (0, 0, 0)");
    let wrong = of("9999").html().expect_err("no such block");
    assert!(matches!(wrong, Failed::Usage(why) if why.ends_with("has no warp 0 of block (9999, 0, 0)")));
    // Threads of a graphics stage, too; a program alone has none.
    let d = shown(&page(subject("tgsi/graphics/fs-derivatives.json")));
    assert!(d["sides"][0]["warp"]["found"]["steps"].as_array().expect("steps").len() > 3);
    assert_eq!(shown(&page(subject(BFS)))["sides"][0]["warp"], Value::Null);
}

#[test]
fn two_sides_are_aligned() {
    let d = shown(&Page { against: Some("gk104,-O1".parse().expect("options")), ..page(subject(BFS)) });
    assert_eq!(d["sides"][0]["title"], "gk110 -O3");
    assert_eq!(d["sides"][1]["title"], "gk104 -O1");
    let pairs = numbers(&d["pairs"]);
    for side in 0..2 {
        let rows: Vec<i64> = pairs.iter().skip(side).step_by(2).copied().filter(|&n| n >= 0).collect();
        let all = numbers(&d["sides"][side]["sass"]["pc"]).len() as i64;
        assert_eq!(rows, (0..all).collect::<Vec<_>>(), "each row once, in order");
    }
    assert_eq!(d["sources"].as_array().expect("sources").len(), 1, "both have one source");
}

#[test]
fn another_compilers_code_stands_beside() {
    let dir = folder("cubin");
    let other = dir.join("other.cubin");
    let cubin = cubin::write(Chip::Gk110, &[compiled(Chip::Gk110, OptLevel::O1).kernel()]);
    std::fs::write(&other, cubin).expect("written");
    let d = shown(&Page { against: Some(Against::File(other)), ..page(subject(BFS)) });
    assert_eq!(d["sides"][1]["title"], "gk110 other.cubin");
    assert!(numbers(&d["sides"][1]["sass"]["pc"]).len() > 10);
    assert!(d["sides"][1]["steps"].as_array().expect("steps").is_empty());
}

#[test]
fn what_is_wrong_has_its_kind() {
    let dir = folder("wrong");
    std::fs::write(dir.join("bad.tgsi"), "COMP\n  0: MOVE TEMP[0], TEMP[0]\n").expect("written");
    std::fs::write(dir.join("k.txt"), "no code").expect("written");
    let failed = |name: &str, against: Option<Against>| {
        Page { against, ..page(Subject::new(dir.join(name))) }.html().expect_err("no page")
    };
    assert!(matches!(failed("missing.tgsi", None), Failed::File(_, why) if why == "file not found"));
    assert!(matches!(failed("k.txt", None), Failed::File(_, why) if why.starts_with("unknown file type")));
    assert!(matches!(failed("bad.tgsi", None), Failed::Found(found) if found.text.starts_with("COMP")));
    let same = Against::Options { chip: None, level: Some(OptLevel::O3) };
    assert!(matches!(failed("bad.tgsi", Some(same)), Failed::Usage(why) if why.contains("same compile")));
    assert!("-O7".parse::<Against>().is_err_and(|e| e == "`7` is not a level: 0, 1, 2, 3 or s"));
    assert_eq!("k.cubin".parse(), Ok(Against::File("k.cubin".into())));
}
