//! `nvir frame`: the files that it writes, and what it refuses. The page itself is tested where it is made, in `crates/frame`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frame").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

fn frame(dir: &Path, args: &[&str]) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
    c.arg("frame").args(args).current_dir(dir).env_remove("RUST_LOG").output().expect("nvir runs")
}

/// A recording of the repository, copied.
fn recording(dir: &Path, name: &str) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vgpu/tests/recordings/scenes").join(name);
    std::fs::copy(from, dir.join("k.trace")).expect("a recording");
}

#[test]
fn a_page_is_written() {
    let dir = folder("page");
    recording(&dir, "draws.e4.trace");
    let out = frame(&dir, &["k.trace", "--pixel", "2,2"]);
    let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert_eq!(said.trim(), "wrote k.html");
    let html = std::fs::read(dir.join("k.html")).expect("the page");
    assert!(
        frame(&dir, &["k.trace", "--pixel", "2,2", "-o", "-"]).stdout == html,
        "the same on standard output"
    );
    let part = frame(&dir, &["k.trace", "--first", "1", "--count", "1", "-o", "part.html"]);
    assert!(part.status.success());
    let text = std::fs::read_to_string(dir.join("part.html")).expect("the page");
    assert_eq!(text.matches("\"submission\":").count(), 1);
}

#[test]
fn what_is_wrong_is_said() {
    let dir = folder("wrong");
    recording(&dir, "draws.c0.trace");
    std::fs::write(dir.join("bad.trace"), "no").expect("written");
    for (args, code, said) in [
        (&["missing.trace"][..], 1, "missing.trace: file not found"),
        (&["missing.trace", "--serve"], 1, "missing.trace: file not found"),
        (&["bad.trace"], 1, "bad.trace"),
        (&["k.trace", "--first", "100000"], 1, "there is no command 100000"),
        (&["k.trace", "--pixel", "7"], 2, "expected X,Y"),
        (&["k.trace", "--pixel", "7,70000"], 2, "expected X,Y"),
        (&["k.trace", "--count", "0"], 2, "count"),
        (&["k.trace", "--port", "80"], 2, "--serve"),
        (&["k.trace", "--serve", "-o", "x.html"], 2, "cannot be used"),
        (&["k.trace", "-o", "k.trace"], 2, "k.trace"),
        (&["k.trace", "--", "true"], 2, "cannot be used"),
        (&["--", "no-such-program"], 1, "no-such-program: program not found"),
        (&["--", "true"], 1, "the program submits nothing"),
        (&[], 2, "RECORDING"),
    ] {
        let out = frame(&dir, args);
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(said), "{args:?}: {text}");
    }
    assert!(!dir.join("bad.html").exists() && !dir.join("x.html").exists());
}
