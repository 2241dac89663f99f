//! Programs launched without a fixture, `--profile`, and the JSON of what ran.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const SCALE: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 32
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL BUFFER[0]
DCL BUFFER[1]
DCL TEMP[0..1]
IMM[0] UINT32 {2, 3, 0, 0}
  0: SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx
  1: LOAD TEMP[1].x, BUFFER[0], TEMP[0].xxxx
  2: UMUL TEMP[1].x, TEMP[1].xxxx, IMM[0].yyyy
  3: STORE BUFFER[1].x, TEMP[0].xxxx, TEMP[1].xxxx
  4: END
";

/// x[i] = x[i] + a, with 32-bit addresses.
const ADD: &str = "program

kernel main() {
b0:
    rdsv u32 %r0 sv[tid.x]
    shl u32 %r1 %r0 0x2
    ld u32 %r2 c0[0x0]
    ld f32 %r3 c0[0x4]
    add u32 %r4 %r2 %r1
    ld f32 %r5 g[%r4+0x0 align 4]
    add f32 %r6 %r5 %r3
    st f32 # g[%r4+0x0 align 4] %r6
    exit
}
";

/// image[tid] = colour[0]
const PAINT: &str = "COMP
DCL SV[0], THREAD_ID
DCL CONST[0]
DCL IMAGE[0], 2D, PIPE_FORMAT_R32_UINT, WR
  0: STORE IMAGE[0].x, SV[0], CONST[0]
  1: END
";

const SASS: &str = "        S2R R0, SR_TID.X;
        MOV R2, c[0x0][0x0];
        ISCADD R2, R0, R2, 0x2;
        IADD R1, R0, 0x5;
        ST [R2], R1;
        EXIT;
";

const FIXTURE: &str = "source = \"scale.tgsi\"
[[tests]]
name = \"three\"
grid = [1, 1, 1]
block = [32, 1, 1]
ssbo = { 0 = \"in\", 1 = \"out\" }
[tests.buffers.in]
type = \"u32\"
len = 2
init = [1, 2]
[tests.buffers.out]
type = \"u32\"
len = 2
expect = [3, 6]
";

/// A folder of its own with the programs.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("launch").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    let files = [
        ("scale.tgsi", SCALE),
        ("add.ir", ADD),
        ("paint.tgsi", PAINT),
        ("five.sass", SASS),
        ("scale.toml", FIXTURE),
    ];
    for (name, text) in files {
        std::fs::write(dir.join(name), text).expect("written");
    }
    dir
}

/// Exit status, standard output, standard error.
fn nvir(dir: &Path, args: &str) -> (i32, String, String) {
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    let ran = c.args(args.split(' ')).current_dir(dir).env_remove("RUST_LOG").output().expect("starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (ran.status.code().expect("no signal"), text(ran.stdout), text(ran.stderr))
}

fn json_of(dir: &Path, args: &str) -> Value {
    let (_, out, err) = nvir(dir, args);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args}: {e}: {out}{err}"))
}

#[test]
fn a_program_where_a_fixture_is_wanted_is_told_from_a_broken_fixture() {
    let dir = folder("wanted");
    for command in ["run", "test", "interp", "check"] {
        let (code, out, err) = nvir(&dir, &format!("{command} scale.tgsi"));
        let said = out + &err;
        assert_eq!(code, 1, "{command}: {said}");
        for part in
            ["a program, where a fixture", "nvir new scale.tgsi", "nvir run scale.tgsi --grid 1 --block"]
        {
            assert!(said.contains(part), "{command}: {part}: {said}");
        }
        assert!(!said.contains("TOML"), "{command}: {said}");
    }
}

#[test]
fn what_is_wrong_with_a_launch_is_named() {
    let dir = folder("wrong");
    std::fs::write(dir.join("m.spv"), [3, 2, 0x23, 7]).expect("written");
    let vertex = "VERT\nDCL OUT[0], POSITION\nDCL IN[0]\n  0: MOV OUT[0], IN[0]\n  1: END\n";
    std::fs::write(dir.join("v.tgsi"), vertex).expect("written");
    for (args, code, part) in [
        ("scale.tgsi --ssbo 0", 2, "a slot's number, `=`"),
        ("scale.tgsi --ssbo x=u32[4]", 2, "`x` is not a slot's number"),
        ("scale.tgsi --ssbo 0=u33[4]", 2, "unknown type `u33`; available: u8"),
        ("scale.tgsi --ssbo 0=u32[x]", 2, "`u32[x]` is not a type with a length"),
        ("scale.tgsi --ssbo 0=u32", 2, "has no length: write u32[64]"),
        ("scale.tgsi --ssbo 0=u32:iota", 2, "has no length"),
        ("scale.tgsi --ssbo 0=u32[4]:ones", 2, "unknown contents `ones`; available: zeros, iota"),
        ("scale.tgsi --ssbo 0=u8[4]:fill=256", 2, "256 does not fit into 8 bits"),
        ("scale.tgsi --ssbo 0=u32[4]:list=1,x", 2, "`x` is not a number"),
        ("scale.tgsi --ssbo 0=u32[4]:hex=0", 2, "an odd number of hexadecimal digits"),
        ("scale.tgsi --grid 1,1,1,1", 2, "three dimensions at most"),
        ("scale.tgsi --grid x", 2, "`x` is not a valid size"),
        ("scale.tgsi --arg u32", 2, "a kind and a value are expected"),
        ("scale.tgsi --arg int:5", 2, "unknown argument `int`; available: buffer, bytes, shared, u8"),
        ("scale.tgsi --pointer-bytes 5", 2, "4 or 8 is expected"),
        ("paint.tgsi --image 0=2d:rgba8", 2, "such as 2d:rgba8:16x16"),
        ("paint.tgsi --image 0=2e:rgba8:4x4", 2, "unknown image type `2e`"),
        ("paint.tgsi --image 0=2d:rgba9:4x4", 2, "rgba9"),
        ("paint.tgsi --image 0=2d:rgba8:4xx", 2, "`4xx` is not a size"),
        ("scale.toml --grid 1", 2, "a fixture says these itself"),
        ("scale.tgsi --grid 1 --dump out", 2, "unknown buffer `out` in test `scale`, which has none"),
        ("scale.tgsi --ssbo 0=u32[2]:list=1,2,3", 1, "3 elements for 2"),
        ("scale.tgsi --ssbo 0=u32:file=none", 1, "none: file not found"),
        ("scale.tgsi --ssbo 0=u32[4] --ssbo 0=u32[4]", 1, "`ssbo0` is given twice"),
        ("add.ir --arg buffer:x", 1, "no buffer `x` comes before"),
        ("scale.tgsi --block 2048", 1, "2048"),
        ("m.spv --grid 1", 1, "the header of a SPIR-V module has five words"),
        ("v.tgsi --grid 1", 1, "nvir new v.tgsi"),
        ("none.tgsi --grid 1", 1, "none.tgsi: file not found"),
    ] {
        let (got, out, err) = nvir(&dir, &format!("run {args}"));
        let said = out + &err;
        assert!(got == code && said.contains(part), "{args}: {got}, wanted {code} and {part}: {said}");
    }
}

#[test]
fn buffers_that_a_launch_changes_are_printed_by_their_types() {
    let dir = folder("changed");
    let (code, out, err) = nvir(&dir, "run scale.tgsi --ssbo 0=u32[4]:iota --ssbo 1=i32[4]");
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let (text, last) = out.trim_end().rsplit_once('\n').expect("lines");
    assert_eq!(text, "ssbo1 after scale:\n  000000: 0 3 6 9");
    assert!(last.starts_with("ok gk110 scale: "), "{last}");

    let (_, out, err) = nvir(&dir, "run scale.tgsi --ssbo 0=u32[4] --ssbo 1=i32[4]");
    assert!(out.starts_with("ok gk110"), "{out}");
    assert!(err.contains("changed no buffer or image"), "{err}");
    let (_, out, _) = nvir(&dir, "run scale.tgsi --ssbo 0=u32[2]:fill=7 --ssbo 1=i32[2] --dump ssbo0:x16");
    assert!(out.starts_with("ssbo0 after scale:\n  000000: 0007 0000 0007 0000\n"), "{out}");

    std::fs::write(dir.join("in.bin"), [1, 0, 0, 0, 2, 0, 0, 0]).expect("written");
    for init in ["file=in.bin", "list=1,2", "hex=0100000002000000"] {
        let (_, out, _) = nvir(&dir, &format!("run scale.tgsi --ssbo 0=u32:{init} --ssbo 1=u32[2] -t gf100"));
        assert!(out.starts_with("ssbo1 after scale:\n  000000: 3 6\n"), "{init}: {out}");
        assert!(out.contains("ok gf100 scale"), "{out}");
    }
    let random = || nvir(&dir, "run scale.tgsi --ssbo 0=u32[3]:random=7 --ssbo 1=u32[3] --dump ssbo0").1;
    assert_eq!(random(), random());
    let other = nvir(&dir, "run scale.tgsi --ssbo 0=u32[3]:random=8 --ssbo 1=u32[3] --dump ssbo0").1;
    assert_ne!(random(), other);
}

#[test]
fn arguments_go_where_fixtures_put_them() {
    let dir = folder("arguments");
    let add = "run add.ir --block 3 --pointer-bytes 4 --arg buffer:x=f32:list=1,2.5,nan --arg f32:0.5";
    let (code, out, err) = nvir(&dir, add);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("x after add:\n  000000: 1.5 3.0 nan\n"), "{out}");
    let (_, out, _) = nvir(&dir, "run five.sass --block 4 --arg buffer:out=u8[16]");
    assert!(out.starts_with("out after five:\n  000000: 5 0 0 0 6 0 0 0 7 0 0 0 8 0 0 0\n"), "{out}");
    let (code, out, _) = nvir(&dir, "run five.sass --block 5 --arg buffer:out=u32[4]");
    assert_eq!(code, 1);
    assert!(out.contains("FAILED gk110 five: out_of_bounds: 4 bytes at "), "{out}");

    let paint = "run paint.tgsi --block 2 --uniforms u32[4]:fill=9 --image 0=2d:r32ui:2x2:fill=1";
    let (code, out, err) = nvir(&dir, paint);
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("image0 after paint:\n  000000: 00000009 00000009 00000001 00000001\n"), "{out}");
}

#[test]
fn a_profile_has_code_lines_and_cycles() {
    let dir = folder("profile");
    let (_, out, _) = nvir(&dir, "run scale.toml --profile -t gk110");
    let row = |part: &str| out.lines().find(|l| l.contains(part)).unwrap_or_else(|| panic!("{part}: {out}"));
    assert!(row("profile of main on gk110").contains(" cycles of issue by the scheduling words"), "{out}");
    assert!(
        row(" ST.E [").ends_with("scale.tgsi:13: 3: STORE BUFFER[1].x, TEMP[0].xxxx, TEMP[1].xxxx"),
        "{out}"
    );
    assert!(out.contains("by source line:\n") && out.contains("by operation:\n"), "{out}");
    // What executes it when nothing is counted, and why: a single launch is not worth compiling.
    let engine = row("  without a profile ").trim_start_matches("  without a profile ");
    #[cfg(feature = "compiled")]
    assert!(
        engine.starts_with("interpreted: compiled from ") && engine.contains(" instructions on"),
        "{engine}"
    );
    #[cfg(not(feature = "compiled"))]
    assert_eq!(engine, "interpreted: this is built without the compiled engine");
    let all = json_of(&dir, "test scale.toml --profile --json -t gk110");
    assert_eq!(all["tests"][0]["engines"], json!([{ "kernel": "main", "engine": engine }]));
    assert_eq!(json_of(&dir, "test scale.toml --json -t gk110")["tests"][0]["engines"], json!(null));
    let (_, out, _) = nvir(&dir, "run scale.toml --profile --engine interpreter -t gk110");
    assert!(out.contains("  without a profile interpreted"), "{out}");
    let (_, out, _) = nvir(&dir, "run scale.toml --profile -t gf100");
    assert!(out.contains("cycles of issue are not available: gf100"), "{out}");
    assert!(!out.contains("multiprocessor"), "{out}");
    // A warp alone waits for memory, which its counts do not know.
    let (_, out, _) = nvir(&dir, "run scale.toml --profile -t gk110");
    let cycles =
        out.split("its launches take ").nth(1).and_then(|t| t.split(' ').next()?.parse::<u64>().ok());
    let issued = json_of(&dir, "run scale.toml --profile --json -t gk110")["tests"][0].clone();
    assert_eq!(issued["model_cycles"].as_u64(), cycles, "{out}");
    assert!(cycles > issued["issue_cycles"].as_u64(), "{issued}");

    // The sum over lines is that over instructions is the total, and the instructions are those that were executed.
    let all = json_of(&dir, "run scale.toml --profile --json -t gk104");
    let test = &all["tests"][0];
    let sum = |list: &Value, key: &str| -> u64 {
        list.as_array().expect("rows").iter().map(|r| r[key].as_u64().expect("a number")).sum()
    };
    let profile = &test["profile"][0];
    for part in ["code", "lines"] {
        assert_eq!(json!(sum(&profile[part], "issues")), test["warp_instructions"], "{part}");
        assert_eq!(json!(sum(&profile[part], "threads")), test["thread_instructions"], "{part}");
        assert_eq!(json!(sum(&profile[part], "cycles")), test["issue_cycles"], "{part}");
    }
    assert!(test["issue_cycles"].as_u64() > test["warp_instructions"].as_u64(), "{test}");
}

#[test]
fn the_model_says_nothing_of_what_it_is_not_shown() {
    let dir = folder("model");
    let model = |text: &str| {
        std::fs::write(dir.join("k.sass"), text).expect("written");
        let test = json_of(&dir, "run k.sass --profile --json --block 32 -t gk110")["tests"][0].clone();
        assert_eq!(test["ok"], true, "{test}");
        test["model_cycles"].as_u64()
    };
    let rounds = |n: u32| {
        format!(
            "MOV R0, RZ;\nMOV32I R1, {n:#x};\n.L:\nIADD R0, R0, 0x1;\nISETP.LT.AND P0, PT, R0, R1, PT;\n@P0 BRA `(.L);\nEXIT;\n"
        )
    };
    assert!(model(&rounds(100)) > Some(3 * 100));
    assert_eq!(model(&rounds(nvir::emu::MOST_RUNS + 1)), None, "more rounds than are written down");

    // Threads of graphics stages are not shown.
    let stage = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tgsi/graphics");
    let fixtures = std::fs::read_dir(stage).expect("there").map(|e| e.expect("read").path());
    let first =
        fixtures.filter(|p| p.extension().is_some_and(|e| e == "toml" || e == "json")).min().expect("one");
    let all = json_of(&dir, &format!("test {} --profile --json -t gk110", first.display()));
    assert_eq!(all["tests"][0]["model_cycles"], Value::Null, "{first:?}");
}

#[test]
fn run_test_and_interp_write_the_same_fields() {
    let dir = folder("json");
    let none = nvir(&dir, "test scale.toml --profile");
    assert_eq!(none.0, 2, "--profile of test is for --json: {}", none.2);
    let fields = |v: &Value| v.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let test = json_of(&dir, "test scale.toml --json -t gk110");
    let run = json_of(&dir, "run scale.toml --json -t gk110 --dump out");
    let interp = json_of(&dir, "interp scale.toml --json");
    for (what, all) in [("test", &test), ("run", &run), ("interp", &interp)] {
        let one = &all["tests"][0];
        assert_eq!(
            (&all["schema"], &all["passed"], &one["ok"]),
            (&json!(1), &json!(1), &json!(true)),
            "{what}"
        );
        assert_eq!((&one["result"], &one["message"]), (&json!("passed"), &Value::Null), "{what}");
        assert_eq!((&one["issue_cycles"], &one["model_cycles"]), (&Value::Null, &Value::Null), "{what}");
        for key in fields(&test["tests"][0]) {
            assert!(one.get(&key).is_some(), "{what}: no {key}");
        }
    }
    assert_eq!(
        run["tests"][0]["buffers"],
        json!([{"name": "out", "type": "u32", "values": [3, 6], "error": null}])
    );
    assert_eq!(run["tests"][0]["chip"], "gk110");
    assert_eq!(interp["tests"][0]["thread_instructions"], Value::Null);
    assert_eq!(run["tests"][0]["warp_instructions"], test["tests"][0]["warp_instructions"]);
    assert!(run["tests"][0]["thread_instructions"].as_u64() > Some(0));
    let profiled = json_of(&dir, "test scale.toml --json --profile");
    for key in ["issue_cycles", "model_cycles"] {
        let tests = profiled["tests"].as_array().expect("tests");
        let cycles: Vec<bool> = tests.iter().map(|t| t[key].is_u64()).collect();
        assert_eq!(cycles, [false, true, true], "Fermi has no scheduling words: {key}");
    }

    let text = std::fs::read_to_string(dir.join("scale.toml")).expect("there").replace("[3, 6]", "[3, 7]");
    std::fs::write(dir.join("scale.toml"), text).expect("written");
    for command in ["run", "test", "interp"] {
        let all = json_of(&dir, &format!("{command} scale.toml --json"));
        assert_eq!(all["tests"][0]["ok"], false, "{command}");
        let message = all["tests"][0]["message"].as_str().expect("why");
        assert!(message.starts_with("out[1] is 6"), "{command}: {message}");
    }
    let launched = json_of(&dir, "run scale.tgsi --ssbo 0=f32[2]:fill=nan --ssbo 1=u32[1] --json");
    assert_eq!(launched["tests"][0]["buffers"][0]["name"], "ssbo1");
    let broken = json_of(&dir, "run scale.tgsi --block 2048 --json");
    assert_eq!((&broken["tests"][0]["ok"], &broken["failed"]), (&json!(false), &json!(1)));
}
