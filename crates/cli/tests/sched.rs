//! `nvir sched` as people meet it: each kind of input, its table, its code, its JSON, and its exit status.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Exit status, standard output, standard error.
fn nvir(args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_nvir"))
        .args(args)
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // It may end before it has read everything.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let out = child.wait_with_output().expect("it ends");
    let text = |b: Vec<u8>| String::from_utf8(b).expect("text");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

fn file(name: &str, text: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sched");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("it can be written");
    path
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

/// ptxas's code for a kernel of our own: a wide load, a shift, a product, a store.
const WORDS: &str = "08a010fca08010c0 64c03c00089c0006 64c03c00281c000a 407fffffe01c0405 64c03c00289c000e
c6800000001c0810 dfe01400031c1002 64c03c002a1c0012
08000000bc10a010 64c03c002a9c0016 e1c01800001c1802 e4800000001c1000 18000000001c003c\n";

const BROKEN: &str = ".chip gk110\n.kernel early\n.sched 0x20 0x04 0x20 0x2f 0x20 0x20 0x20
MOV R1, R2;\nMOV R3, R4;\nIADD R5, R1, R3;\nEXIT;\n";

#[test]
fn words_are_measured_and_nothing_is_found_in_code_of_ptxas() {
    let (code, out, err) = nvir(&["sched", "-"], WORDS);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> = out.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0],
        ["kernel", "instrs", "pairs", "paired", "counts", "cycles", "asked", "banks", "violations"]
    );
    assert_eq!(lines[1], ["kernel", "11", "4", "72.7", "%", "93", "261", "100.0", "%", "0", "0"]);
    // Columns are as wide as their widest cell.
    let ends: Vec<usize> = out.lines().map(|l| l.len()).collect();
    assert_eq!(ends, [ends[0]; 2]);
}

#[test]
fn the_code_is_shown_with_what_it_waits_for() {
    let (code, out, _) = nvir(&["sched", "-v", "-"], WORDS);
    assert_eq!(code, Some(0));
    for line in [
        "     0    17      0008  MOV R1, c[0x0][0x44]",
        "    17     0  {   0010  MOV R2, c[0x0][0x140]                                R1 of 0008: 9 asked for",
        "    17     1  }   0018  IADD32I R1, R1, -0x40",
        "    27    32      0028  LD.E.128 R4, [R2]                                    R3 of 0020",
        "    59     0  {   0030  SHF.L.W R0, R4, R6, R5                               R4 of 0028",
    ] {
        assert!(out.lines().any(|l| l == line), "{line}\n{out}");
    }
}

#[test]
fn a_broken_rule_is_named_with_both_instructions_and_the_exit_status_says_so() {
    let path = file("early.sass", BROKEN.as_bytes());
    let (code, out, err) = nvir(&["sched", &path.to_string_lossy()], "");
    assert_eq!((code, err.as_str()), (Some(1), ""));
    let said =
        "early: `IADD R5, R1, R3` at 0018 reads R1 8 cycles before `MOV R1, R2` at 0008 has written it";
    assert!(out.contains(said), "{out}");
    let (code, out, _) = nvir(&["sched", "-v", "-"], BROKEN);
    assert_eq!(code, Some(1));
    assert!(out.contains("              ^ `IADD R5, R1, R3` at 0018 reads R1 8 cycles before"), "{out}");

    let (code, out, _) = nvir(&["sched", "--json", "-v", "-"], BROKEN);
    assert_eq!(code, Some(1));
    let value = json(&out);
    let kernel = &value["kernels"][0];
    assert_eq!((&kernel["kernel"], &kernel["chip"]), (&"early".into(), &"gk110".into()));
    assert_eq!(
        (&kernel["instructions"], &kernel["pairs"], &kernel["counts"]),
        (&4.into(), &1.into(), &18.into())
    );
    let found = kernel["violations"].as_array().expect("a list");
    let rules: Vec<&str> = found.iter().filter_map(|v| v["rule"].as_str()).collect();
    assert_eq!(rules, ["pair-reads", "read", "read"]);
    assert_eq!(
        (&found[1]["at"], &found[1]["by"], &found[1]["what"], &found[1]["short"]),
        (&24.into(), &8.into(), &"R1".into(), &8.into())
    );
    assert_eq!(kernel["code"][1]["asked"], 9);
    assert_eq!(value["totals"]["violations"], 3);
}

#[test]
fn listings_of_nvidias_tools_are_read_by_their_words() {
    let mut dump = "\tcode for sm_35\n\t\tFunction : one\n\t.headerflags    @\"EF_CUDA_SM35 EF_CUDA_PTX_SM(EF_CUDA_SM35)\"\n".to_string();
    for (n, word) in WORDS.split_whitespace().enumerate() {
        dump += &if n % 8 == 0 {
            format!("   /* 0x{word} */\n")
        } else {
            format!("  /*{:04x}*/  TEXT; /* 0x{word} */\n", 8 * n)
        };
    }
    dump += "\t\t..........\n";
    let twice = format!("{dump}{}", dump.replace("one", "two"));
    let (code, out, err) = nvir(&["sched", "--json", "-t", "gk104", "-"], &twice);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let value = json(&out);
    let names: Vec<&str> =
        value["kernels"].as_array().expect("a list").iter().filter_map(|k| k["kernel"].as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!((&value["totals"]["instructions"], &value["totals"]["counts"]), (&22.into(), &186.into()));
    let (_, out, _) = nvir(&["sched", "--json", "-k", "two", "-"], &twice);
    assert_eq!(json(&out)["totals"]["kernels"], 1);
    let (code, _, err) = nvir(&["sched", "-k", "three", "-"], &twice);
    assert_eq!(code, Some(1));
    assert!(err.contains("unknown kernel `three`"), "{err}");
}

#[test]
fn sources_are_compiled_and_cubins_opened() {
    let source = "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 32\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL TEMP[0..1]\nIMM[0] UINT32 {2, 0, 0, 0}
  0: SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx\n  1: STORE BUFFER[0].x, TEMP[0].xxxx, SV[0].xxxx\n  2: END\n";
    let path = file("fill.tgsi", source.as_bytes());
    let path = path.to_string_lossy();
    for chip in ["gk104", "gk110"] {
        let cubin = file(&format!("fill.{chip}.cubin"), b"");
        let cubin = cubin.to_string_lossy();
        let (code, _, err) = nvir(&["compile", &path, "-t", chip, "--emit", "cubin", "-o", &cubin], "");
        assert_eq!((code, err.as_str()), (Some(0), ""));
        let [a, b] =
            [&path, &cubin].map(|f| json(&nvir(&["sched", "--json", "-t", chip, f], "").1)["totals"].clone());
        assert_eq!(a, b, "{chip}");
        let (_, words, _) = nvir(&["compile", &path, "-t", chip, "--emit", "words"], "");
        assert_eq!(json(&nvir(&["sched", "--json", "-t", chip, "-"], &words).1)["totals"], a, "{chip}");
        let (_, sass, _) = nvir(&["compile", &path, "-t", chip], "");
        assert_eq!(json(&nvir(&["sched", "--json", "-"], &sass).1)["totals"], a, "{chip}");
    }
}

#[test]
fn what_cannot_be_checked_is_refused_with_the_reason() {
    let path = file("empty.sass", b"");
    for (args, input, says) in [
        (&["sched", "-t", "gf100", "-"][..], WORDS, "gf100 has no scheduling words"),
        (
            &["sched", "-"],
            "18000000001c003c\n",
            "-: kernel: 0x18000000001c003c at 0x0000 is not a scheduling word of gk110",
        ),
        (&["sched", "-"], "MOVE R0;\n", "unknown mnemonic `MOVE`"),
        (&["sched", &path.to_string_lossy()], "", "the file is empty"),
        (&["sched", "there-is-no-such-file"], "", "there-is-no-such-file: file not found"),
    ] {
        let (code, _, err) = nvir(args, input);
        assert_eq!(code, Some(1), "{args:?}: {err}");
        assert!(err.contains(says), "{args:?}: {err}");
    }
    assert_eq!(nvir(&["sched"], "").0, Some(2));
}

#[test]
fn the_reference_page_says_when_results_are_there_how_often_an_operation_issues_and_what_with() {
    for (args, says) in [
        (
            &["isa", "imad"][..],
            &["result     after 9 cycles", "one in 4 cycles, and with IMUL", "pairs      slow"][..],
        ),
        (
            &["isa", "ld"],
            &["when the hardware says so", "sources    kept for 15 cycles", "pairs      memory"],
        ),
        (&["isa", "tex"], &["behind TEXDEPBAR", "pairs      texture"]),
        (&["isa", "dadd", "-t", "gk104"], &["after 10 cycles", "pairs      double"]),
        (&["isa", "s2r"], &["pairs      slow and predicate"]),
        (&["isa", "bar"], &["pairs      alone"]),
    ] {
        let (code, out, _) = nvir(args, "");
        assert_eq!(code, Some(0));
        says.iter().for_each(|s| assert!(out.contains(s), "{args:?}: {s}\n{out}"));
    }
    let page = nvir(&["isa", "dsetp"], "").1;
    assert!(page.contains("predicate  after 14 cycles") && !page.contains("result"), "{page}");
    assert!(!nvir(&["isa", "st"], "").1.contains("cycles as a rule"));
    assert!(!nvir(&["isa", "imad", "-t", "gf100"], "").1.contains("pairs"));
}
