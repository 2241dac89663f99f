//! `nvir check`, and what it has in common with `run`, `test` and `interp`: mistakes of fixtures, blocks of another size than
//! declared, and files in folders that are not fixtures.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 32\nDCL SV[0], BLOCK_SIZE\nDCL BUFFER[0]\n\
                       IMM[0] UINT32 {0, 0, 0, 0}\nSTORE BUFFER[0].x, IMM[0].xxxx, SV[0].xxxx\nEND\n";

fn fixture(block: u32) -> String {
    format!(
        "source = \"k.tgsi\"\n[[tests]]\nname = \"t\"\ngrid = [1, 1, 1]\nblock = [{block}, 1, 1]\nssbo = {{ 0 = \"o\" }}\n\
         [tests.buffers.o]\ntype = \"u32\"\nlen = 1\nexpect = [{block}]\n"
    )
}

/// A folder with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("writable");
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("writable");
    }
    folder
}

fn nvir(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nvir")).args(args).current_dir(folder).output().expect("it runs")
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

#[test]
fn a_block_of_another_size_is_refused_by_every_command() {
    let folder = folder("other-block", &[("k.tgsi", PROGRAM), ("k.toml", &fixture(16))]);
    for args in [
        &["check", "k.toml"][..],
        &["run", "k.toml"],
        &["run", "k.toml", "-O0"],
        &["run", "k.toml", "--sanitize", "global"],
        &["run", "k.toml", "--device", "virtual"],
        &["test", "."],
        &["test", "k.toml", "--device", "virtual"],
        &["interp", "k.toml"],
        &["bisect", "k.toml"],
        &["reduce", "k.toml"],
    ] {
        let out = nvir(&folder, args);
        assert_eq!(out.status.code(), Some(1), "{args:?}: {}", said(&out));
        let why = "a block of [16, 1, 1]: the program declares 32 in x";
        assert!(said(&out).contains(why), "{args:?}: {}", said(&out));
    }
    std::fs::write(folder.join("k.toml"), fixture(32)).expect("writable");
    for args in [
        &["check", "k.toml"][..],
        &["run", "k.toml", "--device", "virtual"],
        &["test", "k.toml"],
        &["interp", "k.toml"],
    ] {
        let out = nvir(&folder, args);
        assert!(out.status.success(), "{args:?}: {}", said(&out));
    }
}

#[test]
fn json_of_a_compile_says_each_dimension_that_is_declared() {
    let height = PROGRAM.replace("WIDTH 32", "HEIGHT 4");
    let both = PROGRAM.replace(
        "PROPERTY CS_FIXED_BLOCK_WIDTH 32\n",
        "PROPERTY CS_FIXED_BLOCK_WIDTH 32\nPROPERTY CS_FIXED_BLOCK_HEIGHT 2\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\n",
    );
    let none = PROGRAM.replace("PROPERTY CS_FIXED_BLOCK_WIDTH 32\n", "");
    let folder = folder(
        "block-json",
        &[("width.tgsi", PROGRAM), ("height.tgsi", &height), ("both.tgsi", &both), ("none.tgsi", &none)],
    );
    for (file, size) in [
        ("width.tgsi", serde_json::json!([32, 0, 0])),
        ("height.tgsi", serde_json::json!([0, 4, 0])),
        ("both.tgsi", serde_json::json!([32, 2, 1])),
        ("none.tgsi", Value::Null),
    ] {
        let out = nvir(&folder, &["compile", file, "--emit", "json"]);
        let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        assert_eq!(json["block_size"], size, "{file}");
    }
}

/// Kernels that are linked, and those in a container, are for their declared block, too.
#[test]
fn a_cubin_says_the_block_that_it_is_for() {
    let text = |block: u32| {
        fixture(block)
            .replace("k.tgsi", "k.cubin")
            .replace("ssbo = { 0 = \"o\" }\n", "args = [{ buffer = \"o\" }]\n")
    };
    let ir = "program block 32 1 1 input 8\n\nkernel main() {\nb0:\n    ld u32 %r0 c0[0x140 align 4]\n    rdsv u32 %r1 sv[ntid.x]\n    \
              st u32 # g[%r0+0x0 align 4] %r1\n    exit\n}\n";
    let folder = folder("cubin-block", &[("k.ir", ir), ("right.toml", &text(32)), ("wrong.toml", &text(16))]);
    for separate in [false, true] {
        if separate {
            assert!(nvir(&folder, &["compile", "--separate", "k.ir", "-o", "unit.cubin"]).status.success());
            assert!(nvir(&folder, &["link", "unit.cubin", "-o", "k.cubin"]).status.success());
        } else {
            assert!(nvir(&folder, &["compile", "k.ir", "--emit", "cubin", "-o", "k.cubin"]).status.success());
        }
        for device in [&[][..], &["--device", "virtual"]] {
            let out = nvir(&folder, &[&["run", "right.toml"], device].concat());
            assert!(out.status.success(), "{}", said(&out));
            let out = nvir(&folder, &[&["run", "wrong.toml"], device].concat());
            assert_eq!(out.status.code(), Some(1));
            assert!(said(&out).contains("the program declares 32 in x"), "{}", said(&out));
        }
    }
}

/// What is wrong with a fixture is not what its program does.
#[test]
fn mistakes_of_a_fixture_are_no_fault() {
    let pixels = "FRAG\nDCL IN[0], GENERIC[0], LINEAR\nDCL OUT[0], COLOR\nMOV OUT[0], IN[0]\nEND\n";
    let test = |extra: &str, window: &str| {
        format!(
            "{{\"source\": \"k.tgsi\", \"tests\": [{{\"name\": \"t\", {extra} \"fault\": \"illegal_instruction\",\n\
             \"triangle\": {{\"window\": {window}, \"varyings\": {{\"GENERIC[0]\": [[1.0], [1.0], [1.0]]}}}},\n\
             \"quads\": [{{\"at\": [0, 0], \"cover\": [1, 1, 1, 1]}}]}}]}}"
        )
    };
    let window = "[[0, 0, 0, 1], [8, 0, 0, 1], [0, 8, 0, 1]]";
    for (n, (text, says)) in [
        (test("\"samples\": 3,", window), "3 is not a number of samples"),
        (test("", "[[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1]]"), "no area"),
        (test("\"sample\": [99],", window), "sample 99"),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = folder(&format!("no-fault-{n}"), &[("k.tgsi", pixels), ("k.json", &text)]);
        for command in ["check", "run", "test", "interp"] {
            let out = nvir(&folder, &[command, "k.json"]);
            assert_eq!(out.status.code(), Some(1), "{command}: {}", said(&out));
            assert!(said(&out).contains(says) && said(&out).contains("k.json:"), "{command}: {}", said(&out));
        }
    }
}

#[test]
fn files_that_are_not_fixtures_are_skipped_and_counted() {
    let files = [
        ("k.tgsi", PROGRAM),
        ("k.toml", &fixture(32)[..]),
        ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\n"),
        ("package.json", "{\"name\": \"x\", \"tests\": 1}"),
        ("tsconfig.json", "{\n  // Comments make it no JSON.\n  \"compilerOptions\": {}\n}\n"),
        ("list.json", "[1, 2]"),
        ("notes.txt", "source = 1"),
    ];
    let folder = folder("skipped", &files);
    let out = nvir(&folder, &["check", "."]);
    assert!(out.status.success(), "{}", said(&out));
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        "ok ./k.toml\n1 valid, 0 invalid, 4 skipped (not fixtures)\n"
    );
    let out = nvir(&folder, &["check", ".", "--json"]);
    let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!((&json["valid"], &json["invalid"], &json["skipped"]), (&1.into(), &0.into(), &4.into()));
    assert_eq!(json["fixtures"][0]["fixture"], "./k.toml");
    for command in ["test", "interp"] {
        let out = nvir(&folder, &[command, "."]);
        assert!(out.status.success(), "{command}: {}", said(&out));
        assert!(String::from_utf8_lossy(&out.stderr).contains("4 skipped (not fixtures)"), "{}", said(&out));
        assert!(!String::from_utf8_lossy(&out.stdout).contains("not fixtures"));
    }
    // One that is named is not skipped.
    for file in ["Cargo.toml", "package.json", "tsconfig.json"] {
        let out = nvir(&folder, &["check", file]);
        assert_eq!(out.status.code(), Some(1), "{file}: {}", said(&out));
        assert!(said(&out).contains("0 valid, 1 invalid\n"), "{}", said(&out));
    }
}

/// A slip in a fixture does not make it another file.
#[test]
fn a_broken_fixture_is_not_skipped() {
    let broken = fixture(32).replace("[[tests]]", "[[tests]");
    let json = "{\"source\": \"k.tgsi\", \"tests\": [}";
    let folder = folder("broken", &[("k.tgsi", PROGRAM), ("a.toml", &broken), ("b.json", json)]);
    let out = nvir(&folder, &["check", "."]);
    assert_eq!(out.status.code(), Some(1));
    assert!(said(&out).contains("0 valid, 2 invalid\n"), "{}", said(&out));
}

#[test]
fn json_of_a_check_has_the_places() {
    let mistake = fixture(32).replace("len = 1", "len = 1\ntolerance = { ulp = -1 }");
    let files =
        [("k.tgsi", PROGRAM), ("a.toml", &fixture(16)[..]), ("b.toml", &mistake), ("c.toml", &fixture(32))];
    let folder = folder("check-json", &files);
    let out = nvir(&folder, &["check", "--json", "."]);
    assert_eq!(out.status.code(), Some(1));
    assert!(out.stderr.is_empty(), "{}", said(&out));
    let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!((&json["valid"], &json["invalid"], &json["skipped"]), (&1.into(), &2.into(), &0.into()));
    let error = |n: usize| &json["fixtures"][n]["errors"][0];
    assert_eq!((&error(0)["line"], &error(0)["column"]), (&2.into(), &Value::Null));
    assert!(error(0)["message"].as_str().is_some_and(|m| m.contains("a block of [16, 1, 1]")), "{json}");
    assert_eq!((&error(1)["line"], &error(1)["column"]), (&10.into(), &21.into()));
    assert_eq!(
        (&json["fixtures"][2]["ok"], &json["fixtures"][2]["errors"]),
        (&true.into(), &serde_json::json!([]))
    );
}
