//! The front doors: what goes into the program (arguments, names, folders, files) and what comes out of it (files, messages),
//! where both are as bad as they can be.

use nvir::random::Random;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const NVIR: &str = env!("CARGO_BIN_EXE_nvir");

/// An empty folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doors").join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder can be made");
    dir
}

fn put(dir: &Path, name: &str, data: impl AsRef<[u8]>) {
    fs::write(dir.join(name), data).expect("it can be written");
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn ran(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        code: output.status.code().expect("no signal"),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

fn command(dir: &Path, args: &[impl AsRef<OsStr>]) -> Command {
    let mut c = Command::new(NVIR);
    c.args(args).current_dir(dir).env_remove("RUST_LOG").stdin(Stdio::null());
    c
}

fn nvir(dir: &Path, args: &[impl AsRef<OsStr>]) -> Ran {
    ran(&command(dir, args).output().expect("the program starts"))
}

/// By a shell, so that it has its limits, and ends after half a minute.
fn shell(dir: &Path, line: &str) -> Ran {
    let line = line.replace("nvir ", &format!("timeout 30 {NVIR} "));
    let mut c = Command::new("bash");
    c.args(["-c", &line]).current_dir(dir).env_remove("RUST_LOG").stdin(Stdio::null());
    ran(&c.output().expect("bash"))
}

/// What lies in a folder, with the contents of files.
fn contents(dir: &Path) -> Vec<(OsString, Option<Vec<u8>>)> {
    let entries = fs::read_dir(dir).expect("a folder");
    let mut all: Vec<_> =
        entries.map(|e| e.expect("an entry")).map(|e| (e.file_name(), fs::read(e.path()).ok())).collect();
    all.sort();
    all
}

const KERNEL: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 1
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL BUFFER[0]
IMM[0] UINT32 {5, 0, 0, 0}
  0: STORE BUFFER[0].x, IMM[0].yyyy, IMM[0].xxxx
  1: END
";

/// A fixture of it, as JSON: any text can stand in that. `want` is what the buffer must hold.
fn fixture(dir: &Path, file: &str, test: &str, buffer: &str, want: u32) {
    put(dir, "k.tgsi", KERNEL);
    let value = serde_json::json!({"source": "k.tgsi", "tests": [{
        "name": test, "grid": [1, 1, 1], "block": [1, 1, 1], "ssbo": {"0": buffer},
        "buffers": {buffer: {"type": "u32", "len": 1, "expect": [want]}},
    }]});
    put(dir, file, value.to_string());
}

const COMMANDS: [&str; 26] = [
    "compile",
    "opt",
    "asm",
    "bisect",
    "check",
    "completions",
    "diff",
    "disasm",
    "devices",
    "explore",
    "frame",
    "gpu",
    "header",
    "interp",
    "ir",
    "isa",
    "link",
    "man",
    "new",
    "passes",
    "reduce",
    "replay",
    "run",
    "sched",
    "test",
    "stats",
];

#[test]
fn no_command_minds_bytes_that_are_not_text() {
    let dir = folder("bytes");
    let bytes = OsStr::from_bytes;
    for name in COMMANDS {
        for args in [
            &[bytes(b"\xff")][..],
            &[bytes(b"-o\xff"), bytes(b"\xfe.tgsi")],
            &[bytes(b"--\xff")],
            &[bytes(b"--color"), bytes(b"\xff")],
            &[bytes(b"--message-format=\xff")],
            &[bytes(b"--"), bytes(b"\xff"), bytes(b"\xfe")],
        ] {
            // `man` makes a folder of any name.
            let r = nvir(&dir, &[&[OsStr::new(name)], args].concat());
            assert!((0..=2).contains(&r.code), "{name} {args:?}: {} {}", r.code, r.err);
            assert!(!r.err.contains("panicked"), "{name} {args:?}: {}", r.err);
        }
    }
    let file = bytes(b"k\xff.tgsi");
    fs::write(dir.join(file), KERNEL).expect("a name of any bytes");
    let out = bytes(b"\xfe.sass");
    assert_eq!(nvir(&dir, &[OsStr::new("compile"), file, OsStr::new("-o"), out]).code, 0);
    assert!(dir.join(out).is_file());
    assert_eq!(nvir(&dir, &[OsStr::new("stats"), file]).code, 0);
    assert_eq!(nvir(&dir, &[OsStr::new("explore"), file]).code, 0);
    assert!(dir.join(bytes(b"k\xff.html")).is_file());
    let text = serde_json::json!({"source": "k.tgsi", "tests": []}).to_string();
    fs::write(dir.join(bytes(b"\xff.json")), text).expect("a name of any bytes");
    for name in ["check", "test", "run", "interp", "bisect", "reduce"] {
        let r = nvir(&dir, &[OsStr::new(name), bytes(b"\xff.json")]);
        assert_eq!(r.code, 1, "{name}: {}", r.err);
    }
    // What the results are called, not `kernel` for every such name.
    fs::create_dir(dir.join("all")).expect("a folder");
    let two = [OsStr::new("compile"), file, bytes(b"all/../\xfd.tgsi"), OsStr::new("-o"), OsStr::new("all")];
    fs::write(dir.join(bytes(b"\xfd.tgsi")), KERNEL).expect("a name of any bytes");
    assert_eq!(nvir(&dir, &two).code, 0);
    assert_eq!(contents(&dir.join("all")).len(), 2);
}

#[test]
fn results_of_one_name_are_refused_before_anything_is_written() {
    let dir = folder("one-name");
    for name in ["a", "b"] {
        fs::create_dir(dir.join(name)).expect("a folder");
        put(&dir.join(name), "k.tgsi", KERNEL);
    }
    put(&dir.join("b"), "k.v2.tgsi", KERNEL);
    fs::create_dir(dir.join("out")).expect("a folder");
    let r = nvir(&dir, &["compile", "a/k.tgsi", "b/k.tgsi", "-o", "out"]);
    assert_eq!(r.code, 2, "{}", r.err);
    assert!(
        r.err.contains("error: out/k.sass: ") && r.err.contains("`a/k.tgsi` and `b/k.tgsi`"),
        "{}",
        r.err
    );
    assert!(contents(&dir.join("out")).is_empty());
    assert_eq!(nvir(&dir, &["compile", "a/k.tgsi", "b/k.tgsi", "-o", "new/folder"]).code, 2);
    assert!(!dir.join("new").exists());
    // One input by two names is one result by two names, too.
    assert_eq!(nvir(&dir, &["compile", "a/k.tgsi", "b/../a/k.tgsi", "-o", "out"]).code, 2);
    symlink("k.sass", dir.join("out/k.v2.sass")).expect("a link");
    assert_eq!(nvir(&dir, &["compile", "a/k.tgsi", "b/k.v2.tgsi", "-o", "out"]).code, 2);
    fs::remove_file(dir.join("out/k.v2.sass")).expect("the link");
    assert_eq!(nvir(&dir, &["compile", "a/k.tgsi", "b/k.v2.tgsi", "-o", "out"]).code, 0);
    assert_eq!(contents(&dir.join("out")).len(), 2, "the ending alone is another");
}

#[test]
fn no_result_replaces_an_input() {
    let dir = folder("input");
    put(&dir, "k.tgsi", KERNEL);
    let make = |args: &[&str]| assert_eq!(nvir(&dir, args).code, 0, "{args:?}");
    make(&["compile", "k.tgsi", "--emit", "sass", "-o", "k.sass"]);
    make(&["compile", "k.tgsi", "--emit", "ir", "-o", "k.ir"]);
    make(&["compile", "k.tgsi", "--emit", "hex", "-o", "k.hex"]);
    make(&["compile", "k.ir", "--separate", "-o", "k.cubin"]);
    make(&["stats", "k.tgsi", "--json", "-o", "stats.json"]);
    fixture(&dir, "f.json", "t", "b", 5);
    fixture(&dir, "wrong.json", "t", "b", 6);
    let all: [(&[&str], &str, &str); 15] = [
        (&["compile", "k.tgsi"], "k.tgsi", "-o"),
        (&["asm", "k.sass"], "k.sass", "-o"),
        (&["disasm", "k.hex"], "k.hex", "-o"),
        (&["disasm", "--words", "k.hex"], "k.hex", "-o"),
        (&["opt", "k.ir"], "k.ir", "-o"),
        (&["link", "k.cubin"], "k.cubin", "-o"),
        (&["diff", "k.tgsi", "k.sass"], "k.sass", "-o"),
        (&["stats", "."], "k.tgsi", "-o"),
        (&["stats", "--compare", "stats.json", "stats.json"], "stats.json", "-o"),
        (&["sched", "k.sass"], "k.sass", "-o"),
        (&["explore", "k.tgsi"], "k.tgsi", "-o"),
        (&["explore", "f.json"], "k.tgsi", "-o"),
        (&["explore", "k.tgsi", "--against", "k.sass"], "k.sass", "-o"),
        (&["test", "f.json"], "f.json", "--junit"),
        (&["replay", "k.hex"], "k.hex", "--log"),
    ];
    for (args, input, option) in all {
        let link = dir.join("link");
        let hard = dir.join("hard");
        symlink(input, &link).expect("a link");
        fs::hard_link(dir.join(input), &hard).expect("a link");
        let before = contents(&dir);
        for output in [input, &format!("./{input}"), "link", "hard"] {
            let r = nvir(&dir, &[args, &[option, output]].concat());
            assert_eq!(r.code, 2, "{args:?} {option} {output}: {}{}", r.out, r.err);
            assert!(r.err.contains("would replace the input"), "{args:?} {output}: {}", r.err);
            assert!(contents(&dir) == before, "{args:?} {output}: a file is another");
        }
        fs::remove_file(link).expect("the link");
        fs::remove_file(hard).expect("the link");
    }
    // The program, and its fixture beside it.
    let before = contents(&dir);
    for output in ["k.tgsi", "wrong.tgsi", "small.json"] {
        let r = nvir(&dir, &["reduce", "wrong.json", "-t", "gk110", "-o", output]);
        let why = if output == "small.json" { "would have this name" } else { "would replace the input" };
        assert_eq!(r.code, 2, "{output}: {}", r.err);
        assert!(r.err.contains(why), "{output}: {}", r.err);
        assert!(contents(&dir) == before, "{output}: a file is another");
    }
}

#[test]
fn a_result_is_written_whole_or_not_at_all() {
    let dir = folder("whole");
    put(&dir, "k.tgsi", KERNEL);
    put(&dir, "page.html", "the old page");
    let before = contents(&dir);
    // Files of at most a block of 1024 bytes.
    for output in ["page.html", "new.html"] {
        let r = shell(&dir, &format!("trap '' XFSZ; ulimit -f 1; nvir explore k.tgsi -o {output}"));
        assert_eq!(r.code, 1, "{}{}", r.out, r.err);
        assert!(r.err.contains(&format!("error: {output}: file too large")), "{}", r.err);
        assert!(contents(&dir) == before, "{output}: something was written");
    }
    if Path::new("/dev/full").exists() {
        let r = nvir(&dir, &["compile", "k.tgsi", "-o", "/dev/full"]);
        assert!(r.code == 1 && r.err.contains("error: /dev/full: no space left"), "{}", r.err);
    }
    let r = nvir(&dir, &["compile", "k.tgsi", "-o", "none/k.sass"]);
    assert!(r.code == 1 && r.err.contains("error: none/k.sass: the folder does not exist"), "{}", r.err);
    let text = nvir(&dir, &["compile", "k.tgsi"]).out;
    for line in [
        "nvir compile k.tgsi -o -",
        "nvir compile k.tgsi -o /dev/stdout",
        "nvir compile k.tgsi -o /dev/stdout | cat",
        "nvir compile k.tgsi -o /dev/fd/3 3>file; cat file",
        "mkfifo pipe; cat pipe & nvir compile k.tgsi -o pipe; wait; [ -p pipe ] && rm pipe",
        "echo old >out; ln -s out link; nvir compile k.tgsi -o link; [ -L link ] && cat out",
        "echo old >shown; chmod 640 shown; nvir compile k.tgsi -o shown; [ $(stat -c %a shown) = 640 ] && cat shown",
    ] {
        let r = shell(&dir, line);
        assert!(r.code == 0 && r.out == text, "{line}: {}{}", r.out, r.err);
    }
    assert!(contents(&dir).iter().all(|(name, _)| !name.to_string_lossy().contains(".tmp")));
}

#[test]
fn folders_have_regular_files_and_each_of_them_once() {
    let dir = folder("pipes");
    fixture(&dir, "f.json", "t", "b", 5);
    let r = shell(&dir, "mkfifo p.toml p.json p.tgsi p.nir p.cubin p.sass");
    assert_eq!(r.code, 0, "{}", r.err);
    let _socket = std::os::unix::net::UnixListener::bind(dir.join("s.tgsi"));
    symlink("/dev/zero", dir.join("z.tgsi")).expect("a link");
    symlink("f.json", dir.join("g.json")).expect("a link");
    symlink(".", dir.join("again")).expect("a link");
    for (line, want) in [
        ("nvir check .", "ok ./f.json"),
        ("nvir test . -t gk110", "1 passed, 0 failed, 0 skipped"),
        ("nvir test . f.json ./again/g.json . -t gk110", "1 passed, 0 failed, 0 skipped"),
        ("nvir interp . f.json", "1 passed, 0 failed, 0 skipped"),
        ("nvir stats . k.tgsi", "total: 1 of 1 compiled"),
        ("nvir sched . k.tgsi", "k  "),
    ] {
        let r = shell(&dir, line);
        assert_eq!(r.code, 0, "{line}: {}{}", r.out, r.err);
        assert_eq!(r.out.matches(want).count(), 1, "{line}: {}", r.out);
    }
    // One that is named is read, as `<(command)` wants.
    let r = shell(&dir, "(cat f.json >p.json &) ; nvir test p.json -t gk110");
    assert_eq!(
        (r.code, r.out.lines().last()),
        (0, Some("1 passed, 0 failed, 0 skipped")),
        "{}{}",
        r.out,
        r.err
    );
}

/// A fixture may be somebody else's: what it names is not what the user has chosen.
#[test]
fn what_a_fixture_names_is_a_regular_file() {
    let dir = folder("named-pipes");
    fixture(&dir, "f.json", "t", "b", 5);
    let text = fs::read_to_string(dir.join("f.json")).expect("it was written");
    assert_eq!(shell(&dir, "mkfifo p.tgsi p").code, 0);
    put(&dir, "source.json", text.replace("k.tgsi", "p.tgsi"));
    put(&dir, "device.json", text.replace("k.tgsi", "/dev/zero"));
    put(&dir, "init.json", text.replace("\"len\":", "\"init\": {\"file\": \"p\"}, \"len\":"));
    for name in ["source.json", "device.json", "init.json"] {
        assert_ne!(fs::read_to_string(dir.join(name)).expect("written"), text, "{name}");
        for command in ["run", "test", "check"] {
            let r = shell(&dir, &format!("nvir {command} {name}"));
            assert_eq!(r.code, 1, "{command} {name}: {}{}", r.out, r.err);
            assert!((r.out + &r.err).contains("is not a regular file"), "{command} {name}");
        }
    }
}

/// Clears the screen, turns the direction of text, and has a line that looks like a result.
const EVIL: &str = "a\nok b gk110\u{1b}[2J\u{202e}\r\0c";

#[test]
fn names_of_inputs_stay_names() {
    let dir = folder("names");
    fixture(&dir, "f.json", EVIL, "b", 5);
    fixture(&dir, "wrong.json", "t", EVIL, 6);
    let lines =
        |r: &Ran| -> Vec<String> { format!("{}{}", r.out, r.err).lines().map(str::to_string).collect() };
    let harmless = |args: &[&str]| {
        let r = nvir(&dir, args);
        let all = format!("{}{}", r.out, r.err);
        for c in ['\u{1b}', '\u{202e}', '\r', '\0'] {
            assert!(!all.contains(c), "{args:?}: {c:?} in {all:?}");
        }
        for line in lines(&r) {
            assert!(!line.starts_with("ok b"), "{args:?}: {all}");
        }
        r
    };
    for args in [
        &["test", "f.json", "wrong.json"][..],
        &["test", "f.json", "--list"],
        &["run", "f.json", "-t", "gk110", "--dump", "b"],
        &["run", "wrong.json", "-t", "gk110"],
        &["run", "f.json", "--test", EVIL.trim_end_matches('c').split('\0').next().expect("a part")],
        &["interp", "f.json", "wrong.json"],
        &["bisect", "wrong.json"],
    ] {
        let r = harmless(args);
        assert!(format!("{}{}", r.out, r.err).contains("\\u{1b}[2J"), "{args:?}: {}{}", r.out, r.err);
    }
    harmless(&["check", "f.json", "wrong.json"]);
    harmless(&["reduce", "wrong.json"]);
    // Machines get the name as it is.
    let r = nvir(&dir, &["test", "f.json", "--json", "-t", "gk110"]);
    let value: serde_json::Value = serde_json::from_str(&r.out).expect("JSON");
    assert_eq!(value["tests"][0]["test"], EVIL);
    // Names of files.
    let name = "x\nok b gk110\u{1b}[2J.tgsi";
    put(&dir, name, "COPM\n");
    put(&dir, &name.replace("tgsi", "json"), "{");
    for args in [
        &["compile", name][..],
        &["stats", name],
        &["explore", name],
        &["frame", name],
        &["compile", "none\nok b gk110\u{1b}[2J.tgsi"],
        &["test", &name.replace("tgsi", "json")],
        &["check", &name.replace("tgsi", "json")],
        &["interp", &name.replace("tgsi", "json")],
    ] {
        assert_ne!(harmless(args).code, 101);
    }
    // Names of kernels.
    let text = "program\nkernel k() {\nb0:\n exit\n}\n";
    put(&dir, "k.ir", text);
    harmless(&["compile", "k.ir", "-e", EVIL.split('\0').next().expect("a part")]);
}

#[test]
fn what_is_not_machine_code_is_not_shown_as_such() {
    let dir = folder("code");
    put(&dir, "k.tgsi", KERNEL);
    let noise = Random::new(0).bytes(4096);
    for name in ["noise.cubin", "noise.CUBIN", "noise", "noise.dat"] {
        put(&dir, name, &noise);
        for args in [&["disasm", name][..], &["explore", name], &["sched", name], &["diff", name, "k.tgsi"]] {
            for chip in ["gf100", "gk104", "gk110"] {
                let r = nvir(&dir, &[args, &["-t", chip]].concat());
                assert_eq!(r.code, 1, "{args:?}: {}{}", r.out, r.err);
                assert!(r.err.contains("ELF file") && r.err.contains("--format raw"), "{args:?}: {}", r.err);
            }
        }
    }
    put(&dir, "words.cubin", "18000000001c003c\n");
    assert!(nvir(&dir, &["disasm", "words.cubin"]).err.contains("not an ELF file"));
    put(&dir, "empty", "");
    assert_eq!(nvir(&dir, &["disasm", "empty"]).err, "error: empty: the file is empty\n");
    put(&dir, "odd.bin", [0; 12]);
    assert!(nvir(&dir, &["disasm", "odd.bin"]).err.contains("12 bytes, not a multiple of 8"));
    put(&dir, "text", "hello\n");
    let r = nvir(&dir, &["disasm", "text"]);
    assert!(r.code == 1 && r.err.contains("text:1:1") && r.err.contains("expected a word"), "{}", r.err);

    // Asked for, it is read; and so is real code of every chip, in each form, by name or from a pipe.
    assert_eq!(nvir(&dir, &["disasm", "noise.cubin", "--format", "raw"]).code, 0);
    put(&dir, "digits", "1234567812345678");
    let shown = |args: &[&str]| nvir(&dir, &[&["disasm"], args].concat()).out;
    assert!(shown(&["digits", "--format", "raw", "-x"]).contains("0x3837363534333231"));
    assert!(shown(&["digits", "-x"]).contains("0x1234567812345678"));
    for chip in ["gf100", "gk104", "gk110"] {
        for (form, ending) in
            [("bin", "bin"), ("bin", "unknown"), ("hex", "hex"), ("words", "txt"), ("cubin", "cubin")]
        {
            let file = format!("{chip}.{ending}");
            let r = nvir(&dir, &["compile", "k.tgsi", "-t", chip, "--emit", form, "-o", &file]);
            assert_eq!(r.code, 0, "{}", r.err);
            let r = nvir(&dir, &["disasm", &file, "-t", chip]);
            assert!(r.code == 0 && r.out.contains("EXIT"), "{file}: {}{}", r.out, r.err);
            let r = shell(&dir, &format!("cat {file} | nvir disasm - -t {chip}"));
            assert!(r.code == 0 && r.out.contains("EXIT"), "- {file}: {}{}", r.out, r.err);
        }
    }
    let r = nvir(&dir, &["disasm", "gk110.hex", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&r.out).expect("JSON");
    let code = value["kernels"][0]["code"].as_array().expect("code");
    assert!(
        code.iter().any(|c| c["text"] == "EXIT;" && c["word"].is_string() && c["pc"].is_u64()),
        "{}",
        r.out
    );
}

/// Where the system gives too little, that is said: not that nvir is at fault, and not where it was built. Rust ends a process
/// whose allocator fails; no thread is begun that would only get that far.
#[test]
fn little_memory_is_not_a_defect() {
    let dir = folder("memory");
    fixture(&dir, "f.json", "t", "b", 5);
    for mib in [100, 200, 400, 800] {
        for args in ["run f.json", "test f.json", "stats .", "compile k.tgsi", "check ."] {
            let line = format!(
                "(ulimit -v {}; RAYON_NUM_THREADS=600 RUST_BACKTRACE=0 nvir {args}) 2>&1; echo $?",
                mib << 10
            );
            let all = shell(&dir, &line).out;
            assert!(
                !all.contains("defect") && !all.contains(".rs:") && !all.contains("panicked"),
                "{mib} {args}: {all}"
            );
            let ended = all.lines().last().and_then(|l| l.parse::<i32>().ok());
            let aborted = ended == Some(134) && all.contains("memory allocation of ");
            assert!(ended == Some(0) || aborted && mib < 400, "{mib} {args}: {all}");
        }
    }
}

#[test]
fn kernels_have_the_names_that_listings_give_them() {
    let dir = folder("kernel-names");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tgsi/get-num-groups.tgsi");
    let file = root.to_str().expect("text");
    let named = |name: &str| nvir(&dir, &["compile", file, "-e", name]);
    assert!(named("25").out.contains(".kernel kernel25\n"));
    assert_eq!(named("kernel25").out, named("25").out);
    for wrong in ["kernel26", "kernel", "kernelkernel25", "Kernel25"] {
        assert_eq!(named(wrong).code, 1, "{wrong}");
    }
}

#[test]
fn a_missing_file_is_missing_in_the_same_words_everywhere() {
    let dir = folder("missing");
    put(&dir, "k.tgsi", KERNEL);
    for args in [
        "compile no.tgsi",
        "compile no",
        "opt no",
        "asm no",
        "disasm no",
        "disasm --words no",
        "header no",
        "diff no.tgsi k.tgsi",
        "explore no",
        "explore no.tgsi",
        "explore no.json",
        "explore no --serve",
        "frame no",
        "frame no.trace --serve",
        "link no",
        "run no.json",
        "run no.toml",
        "run no.tgsi",
        "run no.cubin",
        "bisect no.nir",
        "reduce no.ir",
        "bisect no.toml",
        "reduce no.toml",
        "test no",
        "check no",
        "interp no",
        "stats no",
        "sched no",
        "stats --compare no k.tgsi",
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        let name = words.iter().find(|w| w.starts_with("no")).expect("a name");
        let r = nvir(&dir, &words);
        assert_eq!(r.code, 1, "{args}: {}", r.err);
        assert_eq!(r.err, format!("error: {name}: file not found\n"), "{args}");
    }
    let r = nvir(&dir, &["compile", "."]);
    assert!(r.code == 1 && r.err.starts_with("error: .: is a folder"), "{}", r.err);
    let r = nvir(&dir, &["replay", "no.trace"]);
    assert_eq!((r.code, r.out.as_str()), (1, "FAILED no.trace: file not found\n"));
    for option in ["--log", "--trace", "--faults-json"] {
        let r = nvir(&dir, &["gpu", option, "no/where", "--", "true"]);
        assert_eq!((r.code, r.err.as_str()), (1, "error: no/where: the folder does not exist\n"), "{option}");
    }
    let r = nvir(&dir, &["gpu", "--dump-shaders", "k.tgsi", "--", "true"]);
    assert_eq!((r.code, r.err.as_str()), (1, "error: k.tgsi: exists and is not a folder\n"));
}

#[test]
fn diagnostics_come_as_lines_and_as_json() {
    let dir = folder("formats");
    put(&dir, "k.tgsi", KERNEL);
    put(&dir, "bad.tgsi", KERNEL.replace("1: END", "1: ENDD\n  2: FOO"));
    put(&dir, "bad.sass", "MOVE R0;\n");
    put(&dir, "bad.ir", "program\nkernel k() {\nb0:\n rdsv f32 %r0 sv[tid.x]\n exit\n}\n");
    put(&dir, "bad.toml", "source = 1\n");
    put(&dir, "bad.json", "{");
    put(&dir, "words.hex", "xyz\n");
    fixture(&dir, "unseen.json", "t", "b", 5);
    let text = fs::read_to_string(dir.join("unseen.json")).expect("there");
    put(&dir, "unseen.json", text.replace(",\"ssbo\":{\"0\":\"b\"}", ""));
    // Arguments; class; severity; whether there is a line.
    let all: [(&[&str], &str, &str, bool); 19] = [
        (&["compile", "bad.tgsi"], "input", "error", true),
        (&["asm", "bad.sass"], "input", "error", true),
        (&["opt", "bad.ir"], "input", "error", true),
        (&["compile", "bad.ir"], "input", "error", true),
        (&["explore", "bad.tgsi"], "input", "error", true),
        (&["disasm", "words.hex"], "input", "error", true),
        (&["diff", "bad.tgsi", "k.tgsi"], "input", "error", true),
        (&["sched", "bad.sass"], "input", "error", true),
        (&["run", "bad.toml"], "input", "error", true),
        (&["check", "bad.json"], "input", "error", true),
        (&["explore", "bad.toml"], "input", "error", true),
        (&["check", "unseen.json"], "input", "warning", false),
        (&["compile", "none.tgsi"], "input", "error", false),
        (&["link", "k.tgsi"], "input", "error", false),
        (&["compile", "k.tgsi", "-o", "none/k"], "system", "error", false),
        (&["compile", "k.txt"], "input", "error", false),
        (&["compile", "k.tgsi", "-o", "k.tgsi"], "usage", "error", false),
        (&["compile", "k.tgsi", "--emitt", "sass"], "usage", "error", false),
        (&["compile", "k.tgsi", "--emit", "sas"], "usage", "error", false),
    ];
    for (args, class, severity, placed) in all {
        let human = nvir(&dir, args);
        let short = nvir(&dir, &[args, &["--message-format", "short"]].concat());
        let json = nvir(&dir, &[&["--message-format=json"], args].concat());
        assert!(human.code == short.code && human.code == json.code, "{args:?}");
        assert_eq!(human.out, json.out, "{args:?}: results are the same");
        assert!(!short.err.is_empty(), "{args:?}");
        let objects: Vec<serde_json::Value> = json
            .err
            .lines()
            .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{args:?}: {e}: {l}")))
            .collect();
        assert_eq!(objects.len(), short.err.lines().count(), "{args:?}: {}{}", short.err, json.err);
        for (line, o) in short.err.lines().zip(&objects) {
            assert_eq!(o["schema"], 1, "{args:?}");
            assert_eq!(
                (o["severity"].as_str(), o["class"].as_str()),
                (Some(severity), Some(class)),
                "{args:?}: {o}"
            );
            let message = o["message"].as_str().expect("a message");
            let file = o["file"].as_str().map_or(String::new(), |f| format!("{f}: "));
            let place = match (placed, o["line"].as_u64(), o["column"].as_u64()) {
                (true, Some(l), Some(c)) => format!("{}:{l}:{c}: ", file.trim_end_matches(": ")),
                (false, None, None) => file,
                _ => panic!("{args:?}: {o}"),
            };
            assert!(line.starts_with(&format!("{place}{severity}: {message}")), "{args:?}: {line}: {o}");
            assert!(
                human.err.contains(message.split('\n').next().expect("a line")),
                "{args:?}: {message}: {}",
                human.err
            );
            if placed {
                assert!(human.err.contains(place.trim_end_matches(": ")), "{args:?}: {}", human.err);
                assert!(o["end"]["line"].as_u64() >= o["line"].as_u64(), "{args:?}: {o}");
            }
            assert!(o["labels"].is_array() && o["helps"].is_array(), "{args:?}: {o}");
        }
    }
    // Remarks are diagnostics of their own kind.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tgsi");
    let json =
        nvir(&root, &["compile", "get-num-groups.tgsi", "-e", "25", "--remarks", "--message-format", "json"]);
    let first: serde_json::Value =
        serde_json::from_str(json.err.lines().next().expect("a remark")).expect("JSON");
    assert_eq!((first["severity"].as_str(), first["class"].as_str()), (Some("remark"), Some("input")));
    assert!(first["line"].is_u64(), "{first}");
    // What helps is said to machines, too.
    let o = nvir(&dir, &["compile", "k.tgsi", "--emitt", "sass", "--message-format", "json"]).err;
    assert!(o.contains("--emit") && !o.contains("Usage:"), "{o}");
    let o = nvir(&dir, &["compile", "k.tgsi", "--message-format", "shrt"]);
    assert!(o.code == 2 && o.err.contains("possible values: human, short, json"), "{}", o.err);
}

#[test]
fn the_same_option_means_the_same_everywhere() {
    let dir = folder("same");
    let help = |name: &str| nvir(&dir, &[name, "--help"]).out;
    for name in COMMANDS {
        let text = help(name);
        // The default is said wherever there is a chip to choose.
        if let Some(at) = text.find("--target <CHIP>") {
            let said: String = text[at..].split("\n  -").next().expect("its lines").to_lowercase();
            assert!(said.contains("default"), "{name}: {said}");
        }
        for option in ["--message-format <FORMAT>", "--color <WHEN>"] {
            assert!(text.contains(option), "{name}: {option}");
        }
        assert!(!text.contains("For scripts"), "{name}");
    }
    for (name, headings) in [
        ("compile", &["Output:", "Passes:", "Limits and launch:"][..]),
        ("test", &["Which tests:", "Output:", "Passes:", "Checks:", "Limits and launch:"]),
    ] {
        let text = help(name);
        headings.iter().for_each(|h| assert!(text.contains(&format!("\n{h}\n")), "{name}: {h}: {text}"));
    }
    // One line of JSON each, and `words` wherever `hex` is.
    let words = "00020461 00000010 00000000 00000000 000ff000 00000000 00000003 00000000 00000000 00000000 80000000 00000000 \
                 00000000 0000f000 00000000 00000000 00000000 00000000 00000000 00000000";
    put(&dir, "h.hex", words);
    put(&dir, "k.tgsi", KERNEL);
    put(&dir, "k.sass", nvir(&dir, &["compile", "k.tgsi"]).out);
    for args in [
        &["header", "h.hex", "--json"][..],
        &["stats", "k.tgsi", "--json"],
        &["sched", "k.sass", "--json"],
        &["diff", "k.tgsi", "-O", "0", "-O", "3", "--json"],
        &["disasm", "h.hex", "--json"],
        &["passes", "--json"],
    ] {
        let r = nvir(&dir, args);
        assert_eq!((r.code, r.out.lines().count()), (0, 1), "{args:?}: {}{}", r.out, r.err);
        let value: serde_json::Value = serde_json::from_str(&r.out).expect("JSON");
        assert_eq!(value["schema"], 1, "{args:?}");
    }
    let emitted = |form: &str| nvir(&dir, &["asm", "k.sass", "--emit", form]).out;
    assert_eq!(emitted("words"), emitted("hex"));
    let mut both = command(&dir, &["disasm", "-", "--words"]);
    let mut child = both.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(b"18000000001c003c\n").expect("it reads");
    assert_eq!(ran(&child.wait_with_output().expect("it ends")).out, "EXIT\n");
}
