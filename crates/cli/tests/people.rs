//! What people do with the program beside compiling: compare statistics, run tests at scale, look for defects.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The repository's root, where its fixtures are.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// An empty folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("people").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder can be made");
    dir
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Ran { code: output.status.code().expect("no signal"), out: text(output.stdout), err: text(output.stderr) }
}

/// Variables that runners set would choose a part of the tests.
const SHARDS: [&str; 4] = ["CI_NODE_INDEX", "CI_NODE_TOTAL", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS"];

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    c.args(args).current_dir(dir).env_remove("RUST_LOG");
    for name in SHARDS {
        c.env_remove(name);
    }
    c
}

fn nvir(dir: &Path, args: &[&str]) -> Ran {
    ran(command(dir, args).output().expect("the program starts"))
}

fn with(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    ran(command(dir, args).envs(variables.iter().copied()).output().expect("the program starts"))
}

fn good(dir: &Path, args: &[&str]) -> String {
    let r = nvir(dir, args);
    assert_eq!(r.code, 0, "{args:?}: {}{}", r.out, r.err);
    r.out
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn put(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("it can be written");
}

fn row(input: &str, instructions: u32, cycles: u32) -> String {
    format!(
        "{{\"input\": \"{input}\", \"chip\": \"gk110\", \"ok\": true, \"error\": null, \"instructions\": {instructions}, \
         \"cycles\": {cycles}, \"gprs\": 8, \"compile_us\": 10.0}}"
    )
}

#[test]
fn statistics_are_compared_as_shader_db_does() {
    let dir = folder("compare");
    let file = |name: &str, rows: &[String]| {
        put(&dir, name, &format!("{{\"schema\": 1, \"rows\": [{}], \"totals\": {{}}}}", rows.join(", ")))
    };
    file(
        "a.json",
        &[
            row("s/x/1.nir", 100, 10),
            row("s/x/2.nir", 100, 10),
            row("s/y/3.nir", 40, 40),
            row("s/old.nir", 1, 1),
        ],
    );
    file("b.json", &[row("s/x/1.nir", 90, 10), row("s/x/2.nir", 110, 10), row("s/y/3.nir", 10, 40)]);
    let text = good(&dir, &["stats", "--compare", "a.json", "b.json"]);
    for part in [
        "3 compiled in both",
        "1 in the file before only",
        "worst instructions:",
        "+10.00 %  100 -> 110  s/x/2.nir",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let line = |name: &str| {
        let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
        line.split_whitespace().map(str::to_string).collect::<Vec<_>>()
    };
    // (0.9 * 1.1 * 0.25)^(1/3)
    assert_eq!(line("instructions ")[1..], ["240", "210", "-12.50", "%", "0.6279", "2", "1"]);
    assert_eq!(line("cycles ")[1..], ["60", "60", "+0.00", "%", "1.0000", "0", "0"]);
    assert_eq!(line("x  ")[1..], ["200", "200", "+0.00", "%", "0.9950", "1", "1"]);
    let all = json(&good(&dir, &["stats", "--compare", "a.json", "b.json", "--json"]));
    assert_eq!(all["metrics"]["instructions"]["categories"]["y"]["helped"], 1);
    assert_eq!(all["schema"], 1);

    let limited = |args: &[&str]| nvir(&dir, &[&["stats", "--compare"], args].concat());
    assert_eq!(limited(&["a.json", "b.json", "--max-regression", "1"]).code, 0, "the mean is better");
    let worst = limited(&["a.json", "b.json", "--max-worst", "instructions=9.5"]);
    assert_eq!(worst.code, 1);
    assert!(
        worst.out.contains("past the limit:\n  instructions: s/x/2.nir worse by 10.00 %"),
        "{}",
        worst.out
    );
    assert_eq!(limited(&["a.json", "b.json", "--max-worst", "cycles=0"]).code, 0);
    assert_eq!(limited(&["b.json", "a.json", "--max-regression", "instructions=10"]).code, 1);
    assert_eq!(limited(&["a.json", "b.json", "--max-worst", "speed=1"]).code, 2);
    assert_eq!(limited(&["a.json"]).code, 2);
    put(&dir, "new.json", "{\"schema\": 99, \"rows\": []}");
    assert!(limited(&["a.json", "new.json"]).err.contains("schema 99"));
}

#[test]
fn statistics_have_a_row_a_kernel_and_a_row_a_register_limit() {
    let root = root();
    let text = good(&root, &["stats", "tgsi/get-num-groups.tgsi", "--kernels", "--csv"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("input,entry,chip,ok,"), "{text}");
    let entries: Vec<&str> = lines[1..].iter().filter_map(|l| l.split(',').nth(1)).collect();
    assert_eq!(entries, ["0", "9", "25"], "{text}");
    let all = json(&good(&root, &["stats", "tgsi/crc32.tgsi", "--sweep-gprs", "16,20", "--json"]));
    let limits: Vec<_> =
        all["rows"].as_array().expect("rows").iter().map(|r| r["max_gprs"].as_u64()).collect();
    assert_eq!(limits, [Some(16), Some(20)]);
    assert_eq!(nvir(&root, &["stats", "tgsi/crc32.tgsi", "--sweep-gprs", "1"]).code, 2);
}

#[test]
fn tests_are_listed_filtered_and_divided() {
    let root = root();
    let names = |args: &[&str], variables: &[(&str, &str)]| {
        let r = with(&root, &[&["test", "tgsi", "--list"], args].concat(), variables);
        assert_eq!(r.code, 0, "{}", r.err);
        r.out.lines().map(str::to_string).collect::<Vec<_>>()
    };
    let all = names(&[], &[]);
    assert!(all.len() > 300 && all.contains(&"get-num-groups/1D, 16 items in groups of 1 gk104".to_string()));
    let some = names(&["--filter", "num-groups*gk104", "--filter", "crc32"], &[]);
    assert!(some.len() == 11 && some.iter().all(|n| n.contains("gk104") || n.contains("crc32")), "{some:?}");
    let mut parts = Vec::new();
    for k in 1..=3 {
        let part = names(&["--shard", &format!("{k}/3")], &[]);
        assert!(part.len() > all.len() / 5, "parts are about equal");
        assert_eq!(names(&[], &[("CI_NODE_INDEX", &k.to_string()), ("CI_NODE_TOTAL", "3")]), part);
        assert_eq!(
            names(&[], &[("TEST_SHARD_INDEX", &(k - 1).to_string()), ("TEST_TOTAL_SHARDS", "3")]),
            part
        );
        parts.extend(part);
    }
    parts.sort();
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(parts, sorted, "each test is in one part");
    assert_eq!(nvir(&root, &["test", "tgsi", "--shard", "4/3"]).code, 2);
    assert_eq!(with(&root, &["test", "tgsi"], &[("CI_NODE_INDEX", "9"), ("CI_NODE_TOTAL", "3")]).code, 2);
}

/// Stores 1, 2 and 3 at 0, 4 and 8 of buffer 0.
const STORES: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 1
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL BUFFER[0]
IMM[0] UINT32 {0, 4, 8, 0}
IMM[1] UINT32 {1, 2, 3, 1065353217}
  0: STORE BUFFER[0].x, IMM[0].xxxx, IMM[1].xxxx
  1: STORE BUFFER[0].x, IMM[0].yyyy, IMM[1].yyyy
  2: STORE BUFFER[0].x, IMM[0].zzzz, IMM[1].wwww
  3: END
";

fn stores(dir: &Path, name: &str, expect: &str, ty: &str) {
    put(dir, "stores.tgsi", STORES);
    let text = format!(
        "# kept\nsource = \"stores.tgsi\"\n\n[[tests]]\nname = \"t\"   # kept, too\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n\
         ssbo = {{ 0 = \"out\" }}\n[tests.buffers.out]\ntype = \"{ty}\"\nlen = 3\nexpect = {expect} # and this\n"
    );
    put(dir, name, &text);
}

#[test]
fn failures_are_told_in_every_form() {
    let dir = folder("forms");
    stores(&dir, "a.toml", "[1, 2, \"0x3f800001\"]", "u32");
    stores(&dir, "b.toml", "[0, 0, 1.0]", "f32");
    let r = nvir(&dir, &["test", ".", "-t", "gk110", "--junit", "out.xml", "--json"]);
    assert_eq!(r.code, 1);
    let all = json(&r.out);
    assert_eq!((&all["schema"], &all["passed"], &all["failed"]), (&1.into(), &1.into(), &1.into()));
    let failed =
        all["tests"].as_array().and_then(|t| t.iter().find(|t| t["result"] == "failed")).expect("one");
    let message = failed["message"].as_str().expect("text");
    // 1 and 2 as f32 are the smallest numbers that there are.
    assert!(
        message.contains("[2] is 1.0000001 (0x3f800001), expected 1 (0x3f800000) (1 ulp off)"),
        "{message}"
    );
    assert!(message.contains("[1] is 3e-45 (0x2), expected 0 (0x0) (2 ulp off)"), "{message}");
    let xml = std::fs::read_to_string(dir.join("out.xml")).expect("a report");
    assert!(
        xml.contains("tests=\"2\"") && xml.contains("failures=\"1\"") && xml.contains("1 ulp off"),
        "{xml}"
    );
    let r = nvir(&dir, &["test", "b.toml", "a.toml", "--fail-fast", "--jobs", "1"]);
    assert_eq!((r.code, r.out.lines().count()), (1, 2), "one failure and the counts: {}", r.out);
    let dump = |what: &str| good(&dir, &["run", "a.toml", "-t", "gk110", "--dump", what]);
    assert!(dump("out").contains("  000000: 1 2 1065353217\n"));
    assert!(dump("out:f32").contains("  000000: 1e-45 3e-45 1.0000001\n"));
    assert!(dump("out:x16").contains("  000000: 0001 0000 0002 0000 0001 3f80\n"));
}

#[test]
fn blessing_changes_values_and_nothing_else() {
    let dir = folder("bless");
    let text = |name: &str| std::fs::read_to_string(dir.join(name)).expect("there");
    stores(&dir, "list.toml", "[1, 9, \"0x0\"]", "u32");
    stores(&dir, "fill.toml", "{ fill = 0.0 }", "f32");
    stores(&dir, "hex.toml", "{ hex = \"000000000000000000000000\" }", "u32");
    let before = text("list.toml");
    let r = nvir(&dir, &["test", ".", "--bless"]);
    assert_eq!(r.code, 0, "{}{}", r.out, r.err);
    assert_eq!(text("list.toml"), before.replace("[1, 9, \"0x0\"]", "[1, 2, \"0x3f800001\"]"));
    assert!(
        text("fill.toml").contains("expect = [1e-45, 3e-45, 1.0000001] # and this"),
        "{}",
        text("fill.toml")
    );
    assert!(text("hex.toml").contains("{ hex = \"01000000020000000100803f\" }"));
    good(&dir, &["test", "."]);

    let fixture = "{ \"source\": \"stores.tgsi\", \"tests\": [ {\"name\": \"t\",\n   \"grid\": [1,1,1], \"block\": [1,1,1], \
                   \"ssbo\": {\"0\": \"out\"}, \"buffers\": {\"out\": {\"type\":\"u32\", \"len\":3, \"expect\" : [null,7,7] }}}]}\n";
    put(&dir, "j.json", fixture);
    good(&dir, &["test", "j.json", "--bless"]);
    assert_eq!(text("j.json"), fixture.replace("[null,7,7]", "[null, 2, 1065353217]"));

    // A test that stops is not blessed.
    stores(&dir, "fault.toml", "[1, 9, 9]", "u32");
    put(
        &dir,
        "stores.tgsi",
        &STORES
            .replace("STORE BUFFER[0].x, IMM[0].zzzz", "STORE MEMORY[0].x, IMM[0].zzzz")
            .replace("DCL BUFFER[0]", "DCL BUFFER[0]\nDCL MEMORY[0], GLOBAL"),
    );
    let before = text("fault.toml");
    let r = nvir(&dir, &["test", "fault.toml", "--bless"]);
    assert!(r.code == 1 && r.err.contains("test `t` is not blessed: gf100: out_of_bounds"), "{}", r.err);
    assert_eq!(text("fault.toml"), before);
}

#[test]
fn googletests_protocol_is_spoken() {
    let root = root();
    let list = good(&root, &["test", "tgsi", "-t", "gk110", "--gtest_list_tests"]);
    let mut tests = Vec::new();
    let mut suite = "";
    for line in list.lines() {
        match line.strip_prefix("  ") {
            Some(test) => tests.push(format!("{suite}{test}")),
            None => suite = line,
        }
    }
    assert!(
        tests.len() > 100
            && tests.iter().all(|t| t.matches('.').count() == 1 && !t.contains(['-', ':', ' '])),
        "{list}"
    );
    let some: Vec<&str> = tests.iter().filter(|t| t.contains("num_groups")).map(String::as_str).collect();
    let filter = format!("--gtest_filter={}", some.join(":"));
    let r = with(
        &root,
        &["test", "tgsi", "-t", "gk110", &filter],
        &[("NVIR_TEST_SEED_FAILURE", "groups of 4x2x1")],
    );
    assert_eq!(r.code, 1);
    for (test, verdict) in [(some[0], "[       OK ]"), (some[7], "[  FAILED  ]")] {
        assert!(r.out.contains(&format!("[ RUN      ] {test}\n{verdict} {test} (")), "{}", r.out);
    }
    assert!(r.out.contains("[  PASSED  ] 7 tests.\n[  FAILED  ] 1 tests, listed below:\n"), "{}", r.out);
    let other = good(&root, &["test", "tgsi", "--gtest_filter=*crc32*-*gk104"]);
    assert!(other.contains("[  PASSED  ] 2 tests."), "{other}");
    // A flake fails once.
    let mark = folder("flake").join("mark");
    let flake = format!("crc32/=={}", mark.display()).replace("==", "=");
    let run = || {
        with(&root, &["test", "tgsi/crc32.toml", "-t", "gk110", "-q"], &[("NVIR_TEST_SEED_FLAKE", &flake)])
            .code
    };
    assert_eq!((run(), run()), (1, 0));
}

#[test]
fn fixtures_are_validated_without_running() {
    let dir = folder("check");
    stores(&dir, "a.toml", "[0, 0, 0]", "u32");
    assert_eq!(good(&dir, &["check", "a.toml"]), "ok a.toml\n1 valid, 0 invalid\n");
    stores(&dir, "b.toml", "[0, 0]", "u32");
    let r = nvir(&dir, &["check", "b.toml"]);
    assert!(
        r.code == 1 && r.err.contains("b.toml:4: test `t`: buffer out, expect: 2 elements for 3"),
        "{}",
        r.err
    );
    let text = std::fs::read_to_string(dir.join("a.toml")).expect("there");
    put(&dir, "c.toml", &text.replace("0 = \"out\"", "0 = \"out\", 3 = \"out\""));
    let r = nvir(&dir, &["check", "c.toml"]);
    assert!(
        r.code == 0 && r.err.contains("`ssbo` binds storage buffer 3, which the program does not use"),
        "{}",
        r.err
    );
    put(&dir, "d.toml", &text.replace("[[tests]]", "kernel = 7\n[[tests]]"));
    assert!(nvir(&dir, &["check", "d.toml"]).err.contains("no kernel `7`"));
    let r = nvir(&root(), &["check", "tgsi", "nir-fixtures", "-q"]);
    assert_eq!(r.code, 0, "{}", r.err);
}

#[test]
fn the_schema_has_every_key_of_every_fixture() {
    let schema = json(&good(&root(), &["check", "--schema"]));
    assert_eq!(schema["title"], "Fixture");
    let test = &schema["$defs"]["Test"];
    for key in
        ["grid", "ssbo", "textures", "quads", "expect", "fault", "buffers", "launches", "images_bindless"]
    {
        assert!(test["properties"][key].is_object(), "{key}: {test}");
    }
    assert_eq!(test["additionalProperties"], false);
    assert_eq!(schema["$defs"]["Fault"]["enum"].as_array().map(Vec::len), Some(11));
    // Editors show the sentences of the format.
    assert!(
        schema["properties"]["pointer_align"]["description"].as_str().is_some_and(|d| d.contains("assume"))
    );
}

#[test]
fn passes_have_a_line_each() {
    let text = good(&root(), &["passes"]);
    assert!(
        text.lines().any(|l| l.starts_with("dce ") && l.contains(" what nobody reads"))
            && text.contains("The pipeline at -O3:\nfront "),
        "{text}"
    );
    let all = json(&good(&root(), &["passes", "--json", "-O0"]));
    assert_eq!(all["pipeline"]["ssa"], serde_json::json!(["init_regs"]));
}

#[test]
fn differences_are_shown_by_block() {
    let root = root();
    let input = "tgsi/array-counting-sort.tgsi";
    let text = good(&root, &["diff", input, "-O", "1", "-O", "3"]);
    assert!(text.contains("entry | entry:\n") && text.contains("\n-") && text.contains("\n+"), "{text}");
    assert!(text.lines().last().is_some_and(|l| l.contains("lines are the same")));
    // Two builds that are one make the same code, whatever the labels' addresses.
    let text = good(&root, &["diff", input, "--build", env!("CARGO_BIN_EXE_nvir"), "--exit-code"]);
    assert!(text.ends_with(" lines are the same, 0 in A only, 0 in B only\n"), "{text}");
    let r = nvir(&root, &["diff", input, "-t", "gk104", "-t", "gk110", "--exit-code"]);
    assert_eq!(r.code, 1, "{}", r.err);
    let colour = good(&root, &["diff", input, "-O0", "-O3", "--emit", "ir", "--color", "always"]);
    assert!(colour.contains("\x1b[31m-") && colour.contains("\x1b[32m+"));
    assert_eq!(nvir(&root, &["diff", input]).code, 2);
}

/// The pass that a seeded defect is in, a fixture that shows it, and how many lines are enough for it.
const SEEDED: [(&str, &str, usize); 3] =
    [("fold", "game-of-life", 14), ("gvn", "double-roots", 11), ("copy_prop", "game-of-life", 6)];

#[test]
fn bisect_finds_the_pass_of_seeded_defects() {
    for (pass, fixture, _) in SEEDED {
        let path = format!("tgsi/{fixture}.toml");
        let r = with(&root(), &["bisect", &path, "-t", "gk110", "--json"], &[("NVIR_SEED_DEFECT", pass)]);
        assert_eq!(r.code, 0, "{pass}: {}", r.err);
        let found = json(&r.out);
        assert_eq!(found["pass"], pass, "{}", r.out);
        let changed = found["difference"].as_str().expect("a difference");
        assert!(changed.lines().any(|l| l.starts_with('-')), "{pass}: {changed}");
    }
    let r = nvir(&root(), &["bisect", "tgsi/crc32.toml"]);
    assert!(r.code == 1 && r.err.contains("every test passes"), "{}", r.err);
}

#[test]
fn reduce_keeps_what_fails_and_little_else() {
    let dir = folder("reduce");
    for (pass, fixture, most) in SEEDED {
        let path = root().join(format!("tgsi/{fixture}.toml"));
        let path = path.to_str().expect("text");
        let seed = [("NVIR_SEED_DEFECT", pass)];
        let r = with(&dir, &["reduce", path, "-t", "gk110", "-o", "small.tgsi"], &seed);
        assert_eq!(r.code, 0, "{pass}: {}", r.err);
        let small = std::fs::read_to_string(dir.join("small.tgsi")).expect("the program");
        assert!(small.lines().count() <= most, "{pass}: {small}");
        // The fixture of it fails with the defect; without, it passes.
        let r = with(&dir, &["run", "small.json", "--verify-each"], &seed);
        assert_eq!(r.code, 1, "{pass}: {}{}", r.out, r.err);
        good(&dir, &["run", "small.json"]);
    }
}

#[test]
fn a_refusal_and_a_hang_are_reduced_too() {
    let dir = folder("refused");
    let hang = STORES.replace(
        "  3: END",
        "  3: BGNLOOP\n  4: STORE BUFFER[0].x, IMM[0].xxxx, IMM[1].yyyy\n  5: ENDLOOP\n  6: END",
    );
    stores(&dir, "a.toml", "[1, 2, 3]", "u32");
    put(&dir, "stores.tgsi", &hang);
    let r = nvir(&dir, &["reduce", "a.toml", "-t", "gk110", "--step-limit", "10000"]);
    assert_eq!(r.code, 0, "{}", r.err);
    assert!(r.out.contains("BGNLOOP") && r.out.lines().count() <= 4, "{}", r.out);
    put(&dir, "stores.tgsi", &STORES.replace("2: STORE BUFFER[0].x", "2: STORE BUFFER[0].x, BUFFER[0].x"));
    let r = nvir(&dir, &["reduce", "a.toml", "-t", "gk110"]);
    assert_eq!(r.code, 0, "{}", r.err);
    assert!(r.out.contains("STORE BUFFER[0].x, BUFFER[0].x") && r.out.lines().count() <= 4, "{}", r.out);
}

#[test]
fn code_is_shown_with_its_source() {
    let root = root();
    let input = "tgsi/array-counting-sort.tgsi";
    let text = good(&root, &["compile", input, "--lines"]);
    assert!(
        text.contains("// tgsi/array-counting-sort.tgsi:") && text.contains("UADD") && text.contains("EXIT;"),
        "{text}"
    );
    // Comments are comments: it can be assembled, to the same words.
    let dir = folder("lines");
    for args in [&["--lines"][..], &["--words"], &["--lines", "--words"]] {
        put(&dir, "a.sass", &good(&root, &[&["compile", input], args].concat()));
        good(&dir, &["asm", "a.sass", "-t", "gk110", "-o", "a.bin"]);
        good(&root, &["compile", input, "--emit", "bin", "-o", dir.join("b.bin").to_str().expect("text")]);
        let read = |name: &str| std::fs::read(dir.join(name)).expect("there");
        assert_eq!(read("a.bin"), read("b.bin"), "{args:?}");
    }
    let graph = good(&root, &["compile", input, "--emit", "cfg"]);
    assert!(
        graph.starts_with("digraph \"main\" {\n")
            && graph.contains("-> b")
            && graph.contains("[label=\"break\"]"),
        "{graph}"
    );
    let changed = nvir(&root, &["compile", input, "--print-changed"]);
    assert!(
        changed.err.contains("; fold (front) changed\n") || changed.err.contains("; gvn (front) changed\n"),
        "{}",
        changed.err
    );
    assert!(!changed.err.contains("; after"), "{}", changed.err);
    let all = json(&good(&root, &["compile", input, "--emit", "json", "--remarks"]));
    assert!(
        all["lines"].as_array().is_some_and(|l| l.len() > 10)
            && all["remarks"].is_array()
            && all["schema"] == 1
    );
}

#[test]
fn remarks_say_why_not() {
    let root = root();
    let told = |args: &[&str]| {
        let r = nvir(&root, &[&["compile", "--remarks", "--emit", "hex"], args].concat());
        assert_eq!(r.code, 0, "{}", r.err);
        r.err
    };
    let text = told(&["tgsi/get-num-groups.tgsi", "-e", "25"]);
    assert!(
        text.contains("get-num-groups.tgsi:")
            && text.contains("remark: not merged: alignment 4 is proven, 8 needed [mem_combine]"),
        "{text}"
    );
    let text = told(&["tgsi/array-counting-sort.tgsi"]);
    assert!(text.contains("remark: not unrolled: "), "{text}");
    let spilled = told(&["tgsi/gl.double_mat.tgsi", "--max-gprs", "16"]);
    assert!(
        spilled.contains("remark: spilled: ") && spilled.contains("16 registers hold [registers]"),
        "{spilled}"
    );
}

#[test]
fn several_inputs_are_compiled_at_once() {
    let (root, dir) = (root(), folder("several"));
    let out = dir.join("made");
    let (a, b) = ("tgsi/crc32.tgsi", "tgsi/bitonic-sort.tgsi");
    good(&root, &["compile", a, b, "--emit", "cubin", "-o", out.to_str().expect("text")]);
    assert!(out.join("crc32.cubin").exists() && out.join("bitonic-sort.cubin").exists());
    let text = good(&root, &["compile", a, b]);
    assert!(text.starts_with("// tgsi/crc32.tgsi\n") && text.contains("\n// tgsi/bitonic-sort.tgsi\n"));
    assert_eq!(nvir(&root, &["compile", a, b, "--emit", "cubin"]).code, 2);
    put(&dir, "wrong.tgsi", "COPM\n");
    let wrong = dir.join("wrong.tgsi");
    let r = nvir(&root, &["compile", wrong.to_str().expect("text"), a]);
    assert!(r.code == 1 && r.out.contains("EXIT") && r.err.contains("wrong.tgsi:1:1"), "{}", r.err);
}

/// Threads store at 4 * id of buffers of too few words, and one reads in front of one.
const FAULTS: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 8
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL MEMORY[0], GLOBAL
DCL MEMORY[3], INPUT
DCL TEMP[0..2]
IMM[0] UINT32 {0, 4, 2, 16}
  0: LOAD TEMP[1].x, MEMORY[3], IMM[0].xxxx
  1: SHL TEMP[0].x, SV[0].xxxx, IMM[0].zzzz
  2: UADD TEMP[0].x, TEMP[0].xxxx, TEMP[1].xxxx
  3: STORE MEMORY[0].x, TEMP[0].xxxx, SV[0].xxxx
  4: UADD TEMP[1].x, TEMP[1].xxxx, -IMM[0].yyyy
  5: LOAD TEMP[2].x, MEMORY[0], TEMP[1].xxxx
  6: STORE MEMORY[0].x, TEMP[0].xxxx, TEMP[2].xxxx
  7: END
";

#[test]
fn checkers_go_on_and_tell_all() {
    let dir = folder("faults");
    put(&dir, "faults.tgsi", FAULTS);
    let fixture = "source = \"faults.tgsi\"\n[[tests]]\nname = \"t\"\ngrid = [1, 1, 1]\nblock = [8, 1, 1]\nargs = [{ buffer = \"data\" }]\n\
                   [tests.buffers.data]\ntype = \"u32\"\nlen = 5\nexpect = { fill = 0 }\n";
    put(&dir, "faults.toml", fixture);
    let run = |more: &[&str]| nvir(&dir, &[&["run", "faults.toml", "-t", "gk110", "-O0"], more].concat());
    let first = run(&[]);
    assert!(
        first.code == 1 && first.out.contains("4 bytes at ") && first.out.contains("`data`, 20 bytes at"),
        "{}",
        first.out
    );
    assert!(!first.out.contains("times"));
    let all = run(&["--max-faults", "100"]);
    assert!(all.out.contains("14 faults at 3 instructions (14 out_of_bounds)"), "{}", all.out);
    assert!(
        all.out.contains("thread (5,0,0)") && all.out.contains("; 3 times") && all.out.contains("; 8 times"),
        "{}",
        all.out
    );
    assert!(all.out.contains("4 bytes before `data`"), "{}", all.out);
    let few = run(&["--max-faults", "4"]);
    assert!(few.out.contains("4 faults at 2 instructions"), "{}", few.out);
    let r = nvir(&dir, &["test", "faults.toml", "-t", "gk110", "-O0", "--max-faults", "100", "--json"]);
    let faults = &json(&r.out)["tests"][0]["faults"];
    assert_eq!(faults.as_array().map(Vec::len), Some(3), "{faults}");
    assert_eq!((&faults[0]["kind"], &faults[0]["times"]), (&"out_of_bounds".into(), &3.into()));
    assert_eq!(faults[0]["place"]["thread"], serde_json::json!([5, 0, 0]));
    // Where the fault is expected, it is found among them.
    put(&dir, "faults.toml", &fixture.replace("name = \"t\"", "name = \"t\"\nfault = \"out_of_bounds\""));
    assert_eq!(run(&["--max-faults", "100"]).code, 0);
}
