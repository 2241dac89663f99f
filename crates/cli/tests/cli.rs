//! The program as people meet it: real pipes, full disks, wrong names, wrong files. Messages and exit codes are compared.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a run left.
struct Ran {
    /// `None`: ended by a signal.
    code: Option<i32>,
    out: String,
    err: String,
}

/// Nothing here takes longer than a few seconds, unless something does not end.
const LIMIT: Duration = Duration::from_secs(120);

fn finish(mut command: Command) -> Ran {
    let mut child = command.spawn().expect("the program starts");
    let reader = |from: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(mut from) = from {
                from.read_to_end(&mut text).expect("its output can be read");
            }
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let out = reader(child.stdout.take().map(|o| Box::new(o) as _));
    let err = reader(child.stderr.take().map(|e| Box::new(e) as _));
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("its status can be asked for") {
            break status.code();
        }
        if start.elapsed() > LIMIT {
            child.kill().expect("it can be ended");
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (out, err) = (out.join().expect("read"), err.join().expect("read"));
    assert!(!err.contains("panicked"), "{command:?}: {err}");
    Ran { code, out, err }
}

fn command(args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    c.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).env_remove("RUST_LOG");
    c
}

fn nvir(args: &[&str]) -> Ran {
    finish(command(args))
}

/// An empty folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder can be made");
    dir
}

fn put(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path.to_str().expect("text").to_string()
}

/// Stores 7 at byte 4 of buffer 0, after it read buffer 1.
const STORE: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 1
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL BUFFER[0]
DCL BUFFER[1]
DCL TEMP[0]
IMM[0] UINT32 {7, 0, 4, 0}
  0: LOAD TEMP[0].x, BUFFER[1], IMM[0].yyyy
  1: STORE BUFFER[0].x, IMM[0].zzzz, IMM[0].xxxx
  2: STORE BUFFER[0].x, IMM[0].yyyy, TEMP[0].xxxx
  3: END
";

/// A fixture of it; `{}` of the two places are replaced.
fn fixture(dir: &Path, name: &str, test: &str, buffer: &str) -> String {
    put(dir, "store.tgsi", STORE);
    let text = format!(
        "source = \"store.tgsi\"\n[[tests]]\nname = \"t\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n{test}\n\
         [tests.buffers.out]\n{buffer}\n[tests.buffers.in]\ntype = \"u32\"\nlen = 1\ninit = [9]\n"
    );
    put(dir, name, &text)
}

const BOUND: &str = "ssbo = { 0 = \"out\", 1 = \"in\" }";
const RIGHT: &str = "type = \"u32\"\nlen = 3\nexpect = [9, 7, 0]";

fn assert_error(args: &[&str], code: i32, message: &str) {
    let r = nvir(args);
    let all = format!("{}{}", r.out, r.err);
    assert!(all.contains(message), "{args:?}: expected `{message}` in: {all}");
    assert_eq!(r.code, Some(code), "{args:?}: {all}");
    assert!(!all.contains("internal error") && !all.contains("bug in nvir"), "{args:?}: {all}");
}

#[test]
fn json_that_is_no_fixture_is_passed_over_in_folders_only() {
    let dir = folder("other_json");
    fixture(&dir, "good.toml", BOUND, RIGHT);
    let other = put(&dir, "results.json", "{\"c0\": {\"instructions\": 3}}");
    put(&dir, "list.json", "[1, 2]");
    let path = dir.to_str().expect("text");
    let r = nvir(&["test", path]);
    assert!(r.out.ends_with("3 passed, 0 failed, 0 skipped\n"), "{}{}", r.out, r.err);
    assert_error(&["test", &other], 1, "unknown field `c0`");
    // What is meant for a fixture is not passed over.
    put(&dir, "misspelt.json", "{\"source\": \"store.tgsi\", \"test\": []}");
    assert_error(&["test", path], 1, "FAILED misspelt:");
    put(&dir, "misspelt.json", "{\"source\": ");
    assert_error(&["test", path], 1, "FAILED misspelt:");
    let empty = folder("no_fixture");
    put(&empty, "results.json", "{}");
    assert_error(&["test", empty.to_str().expect("text")], 1, "no fixture below");
}

/// Every command with something that makes it write a result.
fn every_command(dir: &Path) -> Vec<Vec<String>> {
    let good = fixture(dir, "good.toml", BOUND, RIGHT);
    let tgsi = put(dir, "store.tgsi", STORE);
    let sass = dir.join("store.sass");
    let made = nvir(&["compile", &tgsi, "-o", sass.to_str().expect("text")]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let sass = sass.to_str().expect("text");
    let hex = put(dir, "exit.hex", "18000000001c003c\n");
    let ir = put(dir, "exit.ir", "program block 1 1 1\n\nkernel main() {\nb0:\n    exit\n}\n");
    [
        vec!["compile", tgsi.as_str()],
        vec!["compile", &tgsi, "--emit", "json"],
        vec!["compile", &tgsi, "--emit", "bin"],
        vec!["asm", sass],
        vec!["disasm", &hex],
        vec!["disasm", "--words", &hex],
        vec!["isa"],
        vec!["isa", "FADD"],
        vec!["opt", &ir],
        vec!["stats", &tgsi],
        vec!["stats", "--json", &tgsi],
        vec!["run", &good],
        vec!["run", &good, "--dump", "out"],
        vec!["run", &good, "--profile"],
        vec!["run", &good, "--trace"],
        vec!["test", &good],
        vec!["interp", &good],
        vec!["--help"],
        vec!["help", "compile"],
        vec!["--version"],
    ]
    .map(|c| c.into_iter().map(str::to_string).collect())
    .to_vec()
}

#[test]
fn a_full_disk_is_an_error_of_every_command() {
    if !Path::new("/dev/full").exists() {
        eprintln!("SKIPPED: there is no /dev/full");
        return;
    }
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("it opens");
    let dir = folder("full");
    for args in every_command(&dir) {
        let mut c = command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        c.stdout(full());
        let r = finish(c);
        assert!(r.err.contains("error: standard output: "), "{args:?}: {}", r.err);
        assert_eq!(r.code, Some(1), "{args:?}");
    }
    // The trace goes to standard error.
    let good = fixture(&dir, "good.toml", BOUND, RIGHT);
    let mut c = command(&["run", &good, "--trace"]);
    c.stderr(full());
    assert_eq!(finish(c).code, Some(1));
    assert_error(&["compile", &put(&dir, "a.tgsi", STORE), "-o", "/dev/full"], 1, "error: /dev/full: ");
}

#[test]
fn a_closed_pipe_ends_every_command_quietly() {
    let dir = folder("pipe");
    for args in every_command(&dir) {
        let run = || {
            let mut c = command(&args.iter().map(String::as_str).collect::<Vec<_>>());
            // A pipe whose other end is gone before the program starts.
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            c.stdout(writer);
            if args.iter().any(|a| a == "--trace") {
                let (reader, writer) = std::io::pipe().expect("a pipe");
                drop(reader);
                c.stderr(writer);
            }
            finish(c)
        };
        // A program that another test starts at this moment holds the reader until it executes.
        let r = (0..5).map(|_| run()).find(|r| r.code != Some(0)).unwrap_or_else(run);
        assert_eq!(r.err, "", "{args:?}");
        // As a shell reports SIGPIPE.
        assert_eq!(r.code, Some(141), "{args:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_the_inputs_fault_in_every_command() {
    let none = folder("missing").join("none.tgsi");
    let none = none.to_str().expect("text");
    for name in ["compile", "asm", "disasm", "header", "opt", "run", "test", "interp", "stats"] {
        assert_error(&[name, none], 1, none);
    }
}

#[test]
fn names_that_do_not_exist_are_wrong_usage() {
    let dir = folder("names");
    let (good, tgsi) = (fixture(&dir, "good.toml", BOUND, RIGHT), put(&dir, "store.tgsi", STORE));
    assert_error(&["compile", &tgsi, "--passes", "gvm"], 2, "unknown pass `gvm`; did you mean `gvn`?");
    assert_error(&["compile", &tgsi, "--passes", "nope"], 2, "unknown pass `nope`; available: ");
    assert_error(&["compile", &tgsi, "--print-after", "dcee"], 2, "did you mean `dce`?");
    assert_error(&["compile", &tgsi, "--print-before", "fold,nope"], 2, "unknown pass `nope`");
    assert_error(&["run", &good, "--passes", "dce,flod"], 2, "did you mean `fold`?");
    assert_error(&["test", &good, "--passes", "nope"], 2, "unknown pass `nope`");
    assert_error(&["opt", &tgsi, "--passes", "gvm"], 2, "did you mean `gvn`?");
    assert_error(&["compile", &tgsi, "--pointer-align", "3"], 2, "power of two");
    assert_error(&["run", &good, "--test", "u"], 2, "unknown test `u`; available: `t`");
    assert_error(&["interp", &good, "--test", "u"], 2, "no test `u`");
    assert_error(
        &["run", &good, "--dump", "outt"],
        2,
        "unknown buffer `outt` in test `t`; available: `in`, `out`",
    );
    assert_error(&["test", &good, "--jobs", "999999"], 2, "0..=1024");
    assert_error(&["stats", &tgsi, "--repeat", "18446744073709551615"], 2, "--repeat");
    assert_error(&["isa", "FADDD"], 1, "did you mean `FADD`?");
    for jobs in ["0", "1", "1000"] {
        assert_eq!(nvir(&["test", &good, "--jobs", jobs]).code, Some(0));
    }
    let all = nvir(&["compile", &tgsi, "--print-after", "all", "--passes", "dce,fold"]);
    assert_eq!(all.code, Some(0), "{}", all.err);
    assert!(all.err.contains("; after dce") && !all.err.contains("; after gvn"));
}

#[test]
fn tests_that_check_nothing_are_refused_or_warned_about() {
    let dir = folder("nothing");
    let with = |name: &str, test: &str, buffer: &str| fixture(&dir, name, test, buffer);
    let good = nvir(&["test", &with("good.toml", BOUND, RIGHT)]);
    assert_eq!((good.code, good.err.as_str()), (Some(0), ""));

    let u32s = |rest: &str| format!("type = \"u32\"\nlen = 3\n{rest}");
    for run in ["run", "test", "interp"] {
        let empty = with("empty.toml", BOUND, &u32s("expect = []"));
        assert_error(&[run, &empty], 1, "buffer out, expect: it is empty, so nothing is compared");
        for short in ["[9, 7]", "{ hex = \"0900000007000000\" }", "{ words = [9, 7] }"] {
            let short = with("short.toml", BOUND, &u32s(&format!("expect = {short}")));
            assert_error(&[run, &short], 1, "buffer out, expect: 2 elements for 3");
        }
        let none = put(&dir, "none.toml", "source = \"store.tgsi\"\n");
        assert_error(&[run, &none], 1, "no test: expected");
    }
    let empty = dir.join("empty");
    std::fs::create_dir_all(empty.join("deeper")).expect("a folder");
    for (name, what) in [("test", "fixture"), ("interp", "fixture"), ("stats", ".tgsi, .nir or .spv file")] {
        assert_error(&[name, empty.to_str().expect("text")], 1, &format!("no {what} below"));
    }

    let warned = |name: &str, test: &str, buffer: &str, message: &str| {
        let path = with(name, test, buffer);
        for run in ["run", "test"] {
            let r = nvir(&[run, &path]);
            assert!(r.err.contains(message), "{run}: {}", r.err);
            assert_eq!(r.err.matches(message).count(), 1, "once, not for each chip: {}", r.err);
            assert_eq!(r.code, Some(0), "{run}: {}", r.out);
        }
    };
    warned("silent.toml", BOUND, &u32s(""), "warning: ");
    warned("silent.toml", BOUND, &u32s(""), "test `t` compares nothing");
    let unread = "type = \"u32\"\nlen = 3\nexpect = [0, 7, 0]";
    let half = "ssbo = { 0 = \"out\" }";
    warned("half.toml", half, unread, "the program uses storage buffer 1, which `ssbo` does not bind");
    warned("half.toml", half, unread, "buffer `in` is bound nowhere");
}

#[test]
fn fixture_errors_name_the_place_and_what_was_expected() {
    let dir = folder("places");
    let case = |buffer: &str, place: &str, message: &str| {
        let path = fixture(&dir, "wrong.toml", BOUND, buffer);
        assert_error(&["run", &path], 1, &format!("wrong.toml:{place}"));
        assert_error(&["run", &path], 1, message);
        assert_error(&["test", &path], 1, &format!("wrong.toml:{place}: {message}"));
    };
    let len = "type = \"u32\"\nlen = 3\n";
    case(
        &format!("{len}expect = true"),
        "10:10",
        "invalid type: boolean `true`, expected a list of values, or a table",
    );
    case(
        &format!("{len}expect = [0, \"0xzz\"]"),
        "10:14",
        "invalid value: string \"0xzz\", expected a number, or \"nan\"",
    );
    case(
        &format!("{len}expect = {{ fil = 1 }}"),
        "10:10",
        "unknown field `fil`, expected one of `fill`, `file`, `hex`, `words`",
    );
    case(
        &format!("{len}expect = {{ fill = 1, hex = \"00\" }}"),
        "10:10",
        "`hex` beside `fill`: expected one of them",
    );
    case(&format!("{len}init = {{ hex = \"0\" }}"), "10:16", "an odd number of hexadecimal digits");
    case("type = \"u31\"\nlen = 3", "8:8", "unknown variant `u31`");
    case(&format!("{len}exepct = [1]"), "10:1", "unknown field `exepct`");
    let path = fixture(&dir, "near.toml", "fault = \"misalined\"", RIGHT);
    assert_error(&["run", &path], 1, "did you mean `misaligned`?");
    let path = fixture(&dir, "near.toml", "ssob = { }", RIGHT);
    assert_error(&["run", &path], 1, "did you mean `ssbo`?");
    let path = fixture(&dir, "near.toml", "kernel = 1.5", RIGHT);
    assert_error(&["run", &path], 1, "expected a kernel's name or a TGSI instruction number");

    let json = "{\"source\": \"store.tgsi\",\n \"tests\": [{\"name\": \"t\", \"gird\": [1, 1, 1]}]}";
    assert_error(&["run", &put(&dir, "wrong.json", json)], 1, "wrong.json:2:31");
    assert_error(&["run", &put(&dir, "wrong.json", json)], 1, "did you mean `grid`?");
    let json = "{\"source\": \"store.tgsi\", \"tests\": [{\"name\": \"t\", \"kernel\": [1]}]}";
    assert_error(&["test", &put(&dir, "wrong.json", json)], 1, "expected a kernel's name");
}

#[test]
fn shared_arguments_that_cannot_be_are_errors() {
    let dir = folder("shared");
    for args in [
        "args = [{ shared = 4294967295 }]",
        "args = [{ shared = 4294967295 }, { shared = 4294967295 }]",
        "args = [{ shared = 2147483649 }]\nshared_dynamic = 4294967295",
        "shared_dynamic = 4294967295",
        "launches = [{ grid = [4294967295, 4294967295, 4294967295], block = [1, 1, 1] }]",
        "launches = [{ grid = [1, 1, 1], block = [4294967295, 4294967295, 4294967295] }]",
        "launches = [{ grid = [1, 1, 1], block = [65536, 65536, 1] }]",
    ] {
        let path = fixture(&dir, "huge.toml", &format!("{args}\n{BOUND}"), RIGHT);
        if args.starts_with("launches") {
            // In place of the test's grid and block.
            let text = std::fs::read_to_string(&path).expect("written");
            put(&dir, "huge.toml", &text.replace("grid = [1, 1, 1]\nblock = [1, 1, 1]\n", ""));
        }
        let r = nvir(&["run", &path, "-t", "gk110"]);
        let refused = r.out.contains("FAILED") || r.err.starts_with("error: test `t`");
        assert!(
            r.code == Some(1) && refused && !r.err.contains("beside"),
            "{args}: {:?} {} {}",
            r.code,
            r.out,
            r.err
        );
        assert_eq!(nvir(&["interp", &path, "--step-limit", "100000"]).code, Some(1), "{args}");
    }
}

#[test]
fn memory_that_is_too_large_is_refused() {
    let dir = folder("large");
    let path = fixture(&dir, "large.toml", BOUND, "type = \"f64\"\nlen = 4294967295\nexpect = { fill = 0 }");
    assert_error(&["run", &path], 1, "the test's memory is more than 2048 MiB");
    let images = "images_bound = { 0 = \"i\" }\n[tests.images.i]\ntype = \"3d\"\nformat = \"rgba32f\"\n\
                  size = [4294967295, 4294967295, 4294967295]";
    assert_error(
        &["run", &fixture(&dir, "image.toml", &format!("{BOUND}\n{images}"), RIGHT)],
        1,
        "an extent is at most 16384",
    );
}

#[test]
fn input_that_never_ends_is_refused() {
    if !Path::new("/dev/zero").exists() {
        eprintln!("SKIPPED: there is no /dev/zero");
        return;
    }
    for args in [
        &["compile", "/dev/zero", "--format", "tgsi"][..],
        &["asm", "/dev/zero"],
        &["disasm", "/dev/zero"],
        &["run", "/dev/zero"],
        &["test", "/dev/zero"],
    ] {
        assert_error(args, 1, "larger than 256 MiB");
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_links_are_inputs_like_files() {
    let dir = folder("links");
    let good = fixture(&dir, "good.toml", BOUND, RIGHT);
    let below = dir.join("below");
    std::fs::create_dir_all(&below).expect("a folder");
    for (to, name) in [("..", "up"), (".", "here"), ("nowhere", "dangling")] {
        std::os::unix::fs::symlink(to, below.join(name)).expect("a link");
    }
    let r = nvir(&["test", dir.to_str().expect("text"), "-t", "gk110"]);
    assert_eq!(
        (r.code, r.out.as_str()),
        (Some(0), "ok good/t gk110\n1 passed, 0 failed, 0 skipped\n"),
        "{}",
        r.err
    );

    // Sources are looked for where the program runs.
    for name in ["-", "/dev/stdin"] {
        let mut c = command(&["run", name, "-t", "gk110"]);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        std::io::Write::write_all(&mut { writer }, &std::fs::read(&good).expect("it is there"))
            .expect("it fits");
        c.stdin(reader).current_dir(&dir);
        let r = finish(c);
        assert_eq!(r.code, Some(0), "{name}: {}{}", r.out, r.err);
    }
    let mut c = command(&["compile", "/dev/stdin"]);
    c.stdin(std::fs::File::open(dir.join("store.tgsi")).expect("it is there"));
    let r = finish(c);
    assert_eq!(r.code, Some(2));
    assert!(r.err.contains("--format"), "{}", r.err);
}

#[test]
fn names_and_first_bytes_do_not_matter_where_they_mean_nothing() {
    let dir = folder("spelling");
    let upper = put(&dir, "STORE.TGSI", STORE);
    assert_eq!(nvir(&["compile", &upper]).code, Some(0));
    assert!(nvir(&["stats", dir.to_str().expect("text")]).out.contains("total: 1 of 1 compiled"));
    let marked = put(&dir, "marked.tgsi", &format!("\u{feff}{STORE}"));
    assert_eq!(nvir(&["compile", &marked]).code, Some(0));
    let wrong = put(&dir, "wrong.tgsi", &format!("\u{feff}{}", STORE.replace("COMP", "COPM")));
    assert_error(&["compile", &wrong], 1, "wrong.tgsi:1:1");
    let good = fixture(&dir, "good.toml", BOUND, RIGHT);
    let text = std::fs::read_to_string(&good).expect("it is there");
    let marked = put(&dir, "MARKED.TOML", &format!("\u{feff}{}", text.replace("store.tgsi", "marked.tgsi")));
    assert_eq!(nvir(&["test", &marked]).code, Some(0));
    assert_eq!(nvir(&["interp", &marked]).code, Some(0));
    std::fs::write(dir.join("wide.tgsi"), b"\xff\xfeC\0").expect("it can be written");
    assert_error(&["compile", dir.join("wide.tgsi").to_str().expect("text")], 1, "UTF-16");
    assert_error(&["stats", &good], 1, "expected a .tgsi, .nir, .spv or .ir file");
}

#[test]
fn colour_is_as_asked_for_and_never_in_pipes_otherwise() {
    let dir = folder("colour");
    let wrong = put(&dir, "wrong.tgsi", "COPM\n");
    let wrong_fixture = put(&dir, "wrong.toml", "source = 1\n");
    for args in [&["compile", &wrong][..], &["run", &wrong_fixture], &["compile", "--no-such-option"]] {
        let with = |color: &str| nvir(&[args, &["--color", color]].concat()).err;
        let plain = nvir(args).err;
        assert!(!plain.contains('\x1b') && plain.contains("error"), "{args:?}: {plain:?}");
        assert_eq!(with("never"), plain, "{args:?}");
        assert!(with("always").contains("\x1b["), "{args:?}");
    }
    assert!(nvir(&["--color=always", "--help"]).out.contains("\x1b["));
    assert!(!nvir(&["--help"]).out.contains('\x1b'));
    assert_error(&["compile", "--color", "sometimes", &wrong], 2, "[possible values: auto, always, never]");
}

#[test]
fn ir_that_breaks_a_rule_is_the_inputs_fault() {
    let dir = folder("ir");
    let kernel = |line: &str| {
        format!(
            "program block 32 1 1\n\nkernel main() {{\nb0:\n    rdsv u32 %r0 sv[tid.x]\n    {line}\n    \
             st u32 # g[%r0+0x0] %r1\n    exit\n}}\n"
        )
    };
    for (line, message) in [
        ("add u32 %r1 %r0 c0[0x3]", "a constant at an offset that is not a multiple of 4"),
        ("add u32 %r1 %r0 %r7", "%r7 is read and nowhere defined"),
    ] {
        let path = put(&dir, "wrong.ir", &kernel(line));
        for args in [&["compile", &path][..], &["compile", &path, "-O0", "--emit", "hex"], &["opt", &path]] {
            assert_error(args, 1, message);
            assert_error(args, 1, "wrong.ir:6:5");
        }
        assert_error(&["stats", &path], 0, message);
    }
    assert_eq!(nvir(&["compile", &put(&dir, "right.ir", &kernel("add u32 %r1 %r0 c0[0x4]"))]).code, Some(0));
}

#[test]
fn misspelt_nir_names_what_was_meant() {
    let dir = folder("nir");
    let kernel = |op: &str, intrinsic: &str| {
        format!(
            "shader: MESA_SHADER_COMPUTE\nworkgroup-size: 1, 1, 1\ndecl_function main (0 params)\n\nimpl main {{\n\
             \tblock block_0:\n\t/* preds: */\n\tvec1 32 ssa_0 = load_const (0x00000000 = 0.000000)\n\
             \tvec1 32 ssa_1 = {op} ssa_0, ssa_0\n\tvec1 32 ssa_2 = intrinsic {intrinsic} (ssa_0, ssa_1) \
             (access=0, align_mul=4, align_offset=0)\n\t/* succs: block_1 */\n\tblock block_1:\n}}\n"
        )
    };
    let right = put(&dir, "right.nir", &kernel("iadd", "load_ssbo"));
    assert_eq!(nvir(&["compile", &right]).code, Some(0));
    assert_error(
        &["compile", &put(&dir, "op.nir", &kernel("iaddd", "load_ssbo"))],
        1,
        "did you mean `iadd`?",
    );
    assert_error(
        &["compile", &put(&dir, "in.nir", &kernel("iadd", "load_sbo"))],
        1,
        "did you mean `load_ssbo`?",
    );
    let tgsi = put(&dir, "op.tgsi", &STORE.replace("1: STORE", "1: STOER"));
    assert_error(&["compile", &tgsi], 1, "did you mean `STORE`?");
}

/// Block 16 stores at an address that is no multiple of four.
const FAULT: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 1
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], BLOCK_ID
DCL MEMORY[0], GLOBAL
DCL TEMP[0]
IMM[0] UINT32 {16, 0, 2, 0}
  0: USGE TEMP[0].x, SV[0].xxxx, IMM[0].xxxx
  1: UIF TEMP[0].xxxx
  2:   STORE MEMORY[0].x, IMM[0].zzzz, IMM[0].xxxx
  3: ENDIF
  4: END
";

#[test]
fn no_block_begins_after_a_fault() {
    let dir = folder("fault");
    put(&dir, "fault.tgsi", FAULT);
    let path = put(
        &dir,
        "fault.toml",
        "source = \"fault.tgsi\"\n[[tests]]\nname = \"t\"\ngrid = [65535, 16384, 1]\nblock = [1, 1, 1]\n",
    );
    // A thousand million blocks would take an hour.
    assert_error(&["run", &path, "-t", "gk110"], 1, "block (16,0,0) thread (0,0,0)");
    assert_error(&["test", &path, "-t", "gk110"], 1, "block (16,0,0) thread (0,0,0)");
}

/// `p < 6 && a[p] == 4` without a branch, for p of 0, 3, 6 ..., as Mesa's front-end makes it.
fn eager(store: &str) -> String {
    format!(
        "shader: MESA_SHADER_COMPUTE\nworkgroup-size: 32, 1, 1\nscratch: 24\ndecl_function main (0 params)\n\n\
         impl main {{\n\tblock block_0:\n\t/* preds: */\n\
         \tvec1 32 ssa_0 = load_const (0x00000000 = 0.000000)\n\tvec1 32 ssa_1 = load_const (0x00000004 = 0.000000)\n\
         \tvec1 32 ssa_2 = load_const (0x0000000c = 0.000000)\n\tvec1 32 ssa_3 = load_const (0x00000018 = 0.000000)\n\
         \tintrinsic store_scratch (ssa_0, ssa_0) (align_mul=4, align_offset=0, wrmask=x)\n\
         \tintrinsic store_scratch (ssa_1, ssa_2) (align_mul=4, align_offset=0, wrmask=x)\n\
         \tvec3 32 ssa_4 = intrinsic load_local_invocation_id () ()\n\
         \tvec1 32 ssa_5 = imul ssa_4.x, ssa_2\n\
         {store}\
         \tvec1 32 ssa_6 = intrinsic load_scratch (ssa_5) (align_mul=4, align_offset=0)\n\
         \tvec1 1 ssa_7 = ult ssa_5, ssa_3\n\tvec1 1 ssa_8 = ieq ssa_6, ssa_1\n\tvec1 1 ssa_9 = iand ssa_7, ssa_8\n\
         \tvec1 32 ssa_10 = b2i32 ssa_9\n\tvec1 32 ssa_11 = imul ssa_4.x, ssa_1\n\
         \tintrinsic store_ssbo (ssa_10, ssa_0, ssa_11) (access=0, align_mul=4, align_offset=0, wrmask=x)\n\
         \t/* succs: block_1 */\n\tblock block_1:\n}}\n"
    )
}

#[test]
fn reading_outside_private_memory_is_noted_and_writing_there_is_a_fault() {
    let dir = folder("private");
    let fixture = |name: &str| {
        let values = format!("0, 1{}", ", 0".repeat(30));
        let text = format!(
            "source = \"{name}.nir\"\n[[tests]]\nname = \"t\"\ngrid = [2, 1, 1]\nblock = [32, 1, 1]\n\
             ssbo = {{ 0 = \"out\" }}\n[tests.buffers.out]\ntype = \"u32\"\nlen = 32\nexpect = [{values}]\n"
        );
        put(&dir, &format!("{name}.toml"), &text)
    };
    put(&dir, "read.nir", &eager(""));
    let read = fixture("read");
    for level in ["-O0", "-O3"] {
        for check in ["memcheck", "none", "all"] {
            let r = nvir(&["run", &read, level, "--check", check]);
            assert_eq!(r.code, Some(0), "{level} {check}: {}{}", r.out, r.err);
            let notes = r.err.lines().filter(|l| l.starts_with("note: ")).count();
            assert_eq!(notes, if check == "none" { 0 } else { 3 }, "{level} {check}: {}", r.err);
        }
    }
    let noted = nvir(&["run", &read, "-t", "gk104"]).err;
    assert!(noted.contains("out_of_bounds: 4 bytes") && noted.contains("block (0,0,0) thread ("), "{noted}");
    // Most lanes of both blocks; the frame may be larger than the 24 bytes that the program has in it.
    let times =
        noted.trim_end().rsplit("; ").next().and_then(|t| t.strip_suffix(" times")?.parse::<u32>().ok());
    assert!(times.is_some_and(|n| n % 2 == 0 && (50..=58).contains(&n)), "{noted}");
    put(
        &dir,
        "write.nir",
        &eager("\tintrinsic store_scratch (ssa_1, ssa_5) (align_mul=4, align_offset=0, wrmask=x)\n"),
    );
    for level in ["-O0", "-O3"] {
        assert_error(&["run", &fixture("write"), level], 1, "out_of_bounds");
    }
}

/// A header is 20 words: by itself, in front of code, in text or binary; what is none is said to be none.
#[test]
fn headers_are_shown_in_words() {
    let dir = folder("header");
    let words = "00020461 00000010 00000000 00000000 000ff000 00000000 00000003 00000000 00000000 00000000 80000000 00000000 \
                 00000000 0000f000 00000000 00000000 00000000 00000000 00000000 00000000";
    let said = "vertex shader\n  local memory: 16 bytes a thread\n  reads IN[0].xy\n  reads VERTEXID.x\n  writes POSITION.xyzw\n";
    let text = put(&dir, "vertex.hex", words);
    let ran = nvir(&["header", &text]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), said), "{}", ran.err);
    let bytes: Vec<u8> = words
        .split_whitespace()
        .flat_map(|w| u32::from_str_radix(w, 16).expect("a word").to_le_bytes())
        .collect();
    let binary = dir.join("vertex.bin");
    std::fs::write(&binary, bytes).expect("written");
    let ran = nvir(&["header", "--json", binary.to_str().expect("text")]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in ["\"stage\":\"vert\"", "\"local_bytes\":16", "\"IN[0]\":\"xy\"", "\"POSITION\":\"xyzw\""] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    // In front of code.
    let both = put(&dir, "both.hex", &format!("{words}\n18000000001c003c\n"));
    let ran = nvir(&["disasm", &both]);
    assert!(ran.out.starts_with("// vertex shader\n//   local memory"), "{}", ran.out);
    assert!(ran.out.contains("EXIT;") && !ran.out.contains("unknown"), "{}", ran.out);
    let listing = put(&dir, "both.sass", &ran.out);
    assert_eq!(nvir(&["asm", &listing]).code, Some(0), "comments are no part of it");
    let ran = nvir(&["disasm", "--no-header", &both]);
    assert!(!ran.out.contains("vertex") && ran.out.contains(".raw"), "{}", ran.out);
    let short = put(&dir, "short.hex", "00020461");
    assert_error(&["header", &short], 1, "fewer than the 20 words of a header");
    let bad = put(&dir, "bad.hex", &words.replacen("00020461", "00020462", 1));
    assert_error(&["header", &bad], 1, "no stage has kind 2 and number 1");
    let bits = put(&dir, "bits.hex", &words.replacen("00000010", "01000010", 1));
    assert_error(
        &["header", &bits],
        1,
        "word 1 of a vert header has bits 0x1000000, which mean nothing there",
    );
}

/// Two instructions of 4 bytes share a line of `--words`, one alone has eight digits, and nothing else is made of halves.
#[test]
fn lines_of_words_hold_one_or_two_short_forms() {
    let dir = folder("short-forms");
    let words = "90001dff040000ac\n00001c08\n0000000000001c08\n8000000000001de7\n00001c0890001dff\n28000000fc001c08\n";
    let texts = "@P0 IADD R0, R0, 0x1 {short}; RET {short}\nNOP {short}\n<unknown 0x0000000000001c08>\nEXIT\n\
                 RET {short}; NOP {short}\n<unknown 0x28000000fc001c08>\n";
    let hex = put(&dir, "words.hex", words);
    let ran = nvir(&["disasm", "--words", "-t", "gf100", &hex]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), texts), "{}", ran.err);
    let sass = put(&dir, "words.sass", texts);
    let ran = nvir(&["asm", "--words", "-t", "gf100", &sass]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), words), "{}", ran.err);
    // The distance of a branch counts from where it stands.
    let near = put(&dir, "near.sass", "BRA 0x100 {short}; BRA 0x100 {short}\n");
    let ran = nvir(&["asm", "--words", "-t", "gf100", "--base", "0x100", &near]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "0fff9dff0fffddff\n"), "{}", ran.err);
    for bad in [
        "NOP {short}; EXIT",
        "EXIT; NOP {short}",
        "NOP {short}; NOP {short}; NOP {short}",
        "NOP {short}; FOO",
    ] {
        let sass = put(&dir, "bad.sass", bad);
        let ran = nvir(&["asm", "--words", "-t", "gf100", &sass]);
        assert_eq!(ran.code, Some(1), "{bad}: {}", ran.out);
        assert!(ran.err.contains("bad.sass:1:"), "{bad}: {}", ran.err);
    }
}

/// Exit statuses of `link`, and of what goes to it: the files are at fault, or the command line is.
#[test]
fn what_cannot_be_linked_is_told_by_status_and_name() {
    let dir = folder("link");
    let out = |name: &str| dir.join(name).to_str().expect("text").to_string();
    let caller = put(&dir, "a.ir", "program\nkernel k() {\nb0:\n call u32 # f1{}\n exit\n}\nextern f()\n");
    let callee = put(&dir, "b.ir", "program\nsub f() {\nb0:\n ret\n}\n");
    let (a, b, k) = (out("a.cubin"), out("b.cubin"), out("k.cubin"));
    assert_error(&["compile", &caller, "-o", &k], 1, "the function `f` is declared only");
    for (text, cubin) in [(&caller, &a), (&callee, &b)] {
        assert_error(&["compile", "--separate", text, "-o", cubin], 0, "");
    }
    assert_error(&["link", &a, &b, "-o", &k], 0, "");
    assert_error(&["link", &a, "-o", &k], 1, "`f` is not defined; `k` in ");
    assert_error(&["link", &b, "-o", &k], 1, "no kernel, only functions");
    assert_error(&["link", &k], 1, "k.cubin: it is not relocatable");
    assert_error(&["link", &callee], 1, "b.ir: not an ELF file");
    assert_error(&["link", &out("none.cubin")], 1, "none.cubin");
    assert_error(&["link"], 2, "INPUT");
    assert_error(&["link", &a, &b, "--facts", "-o", &k], 2, "--facts");
    assert_error(&["compile", "--separate", &callee, "--emit", "sass"], 2, "--emit");
    let fixture = put(
        &dir,
        "a.toml",
        "source = \"a.cubin\"\n[[tests]]\nname = \"t\"\ngrid = [1, 1, 1]\nblock = [1, 1, 1]\n",
    );
    assert_error(&["run", &fixture], 1, "`nvir link` makes a kernel of them");
}

#[test]
fn a_module_is_compiled_by_its_entry_point_and_shows_the_lines_of_its_source() {
    let module = |name: &str| format!("{}/../../spirv-fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let many = module("multi-entry.spv");
    assert_error(&["compile", &many, "-e", "nobody"], 1, "no entry point `nobody`");
    assert_error(&["compile", &many, "--spec", "three=1"], 2, "not a SpecId");
    // A vertex, a fragment and a compute shader, of which the first is taken.
    for name in ["first", "second", "third"] {
        let named = nvir(&["compile", &many, "-e", name, "--emit", "sass"]);
        assert_eq!((named.code, named.out.contains("EXIT;")), (Some(0), true), "{}", named.err);
        assert!(named.out.contains(&format!(".kernel {name}")), "{}", named.out);
        let unnamed = nvir(&["compile", &many, "--emit", "sass"]);
        assert_eq!(unnamed.out == named.out, name == "first");
    }
    // With places in the listing, and by words alone.
    let [json, words] = ["json", "words"].map(|form| nvir(&["compile", &many, "--emit", form]).out);
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let code = json["code"].as_array().expect("the words").iter().filter_map(|word| word.as_str());
    let code: String = code.map(|word| format!("{}\n", word.trim_start_matches("0x"))).collect();
    assert!(!code.is_empty() && words.ends_with(&code), "{words}");
    let sized = module("spec-workgroup-size.spv");
    assert_error(&["compile", &sized, "--spec", "0=0"], 1, "at least 1");
    // What is wrong has its line in the listing, however it was compiled.
    let [listed, plain] =
        ["ir", "sass"].map(|form| nvir(&["compile", &sized, "--spec", "0=0", "--emit", form]).err);
    assert!(plain.contains("spec-workgroup-size.spv:") && plain.contains("OpEntryPoint"), "{plain}");
    assert_eq!(listed, plain);
    assert_eq!(nvir(&["compile", &sized, "--spec", "0=0x20", "--emit", "sass"]).code, Some(0));
    let profile = nvir(&["run", &module("groups-debug.json"), "-t", "gk110", "--opt", "0", "--profile"]);
    assert!(profile.out.contains("köln/α.comp:11"), "{}{}", profile.out, profile.err);
}

#[test]
fn remarks_and_profiles_of_modules_show_lines_of_glsl_opencl_and_wgsl() {
    let module = |name: &str| format!("{}/../../spirv-fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    for (fixture, source, line) in [
        (
            "gl.loops_nested_return.V.g.json",
            "gl.loops_nested_return.V.g.spv",
            "gl.loops_nested_return.V.comp:",
        ),
        ("bfs_queue.g.json", "bfs_queue.O0.g.spv", "bfs_queue.cl:"),
        ("w04_switch_loop.g.json", "w04_switch_loop.g.spv", "w04_switch_loop.wgsl:"),
    ] {
        let profile = nvir(&["run", &module(fixture), "-t", "gk110", "--profile"]);
        assert!(profile.out.contains(line), "{}{}", profile.out, profile.err);
        let compiled = nvir(&["compile", &module(source), "--remarks", "--emit", "json"]);
        let value: serde_json::Value = serde_json::from_str(&compiled.out).expect("it is JSON");
        let of_source = |r: &serde_json::Value| r["source"].as_str().is_some_and(|s| s.contains(line));
        let remarks = value["remarks"].as_array().expect("remarks");
        assert!(remarks.iter().any(of_source), "{}", compiled.out);
        let said = nvir(&["compile", &module(source), "--remarks", "--emit", "sass"]).err;
        assert!(said.contains(line), "{said}");
    }
}
