//! `--watch`: the program runs until it is killed; files change and what it prints is read.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const SCALE: &str = "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 4
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL BUFFER[0]
DCL TEMP[0..1]
IMM[0] UINT32 {2, 3, 0, 0}
  0: SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx
  1: UMUL TEMP[1].x, SV[0].xxxx, IMM[0].yyyy
  2: STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx
  3: END
";

const FIXTURE: &str = "source = \"k.tgsi\"
targets = [\"gk110\"]
[[tests]]
name = \"t\"
grid = [1, 1, 1]
block = [4, 1, 1]
ssbo = { 0 = \"out\" }
[tests.buffers.out]
type = \"u32\"
len = 4
expect = { file = \"want.bin\" }
";

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("watch").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    put(&dir, "k.tgsi", SCALE);
    put(&dir, "k.toml", FIXTURE);
    want(&dir, 3);
    dir
}

fn put(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("written");
}

/// As editors save: under another name, then renamed.
fn save(dir: &Path, name: &str, text: &str) {
    put(dir, "saved~", text);
    std::fs::rename(dir.join("saved~"), dir.join(name)).expect("renamed");
}

/// What the test expects: multiples of a number.
fn want(dir: &Path, factor: u32) {
    let bytes: Vec<u8> = (0..4u32).flat_map(|i| (i * factor).to_le_bytes()).collect();
    std::fs::write(dir.join("want.bin"), bytes).expect("written");
}

/// The program, and the lines of both its streams as they come.
struct Watching {
    program: Child,
    lines: Receiver<String>,
    /// Lines that nobody has waited for yet: those of one stream may overtake those of the other.
    seen: RefCell<Vec<String>>,
}

impl Watching {
    fn start(dir: &Path, args: &str) -> Watching {
        let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
        c.args(args.split(' ')).current_dir(dir).env_remove("RUST_LOG");
        let mut program = c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let (to, lines) = channel();
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(program.stdout.take().expect("piped")),
            Box::new(program.stderr.take().expect("piped")),
        ];
        for stream in streams {
            let to = to.clone();
            std::thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).for_each(|l| drop(to.send(l)));
            });
        }
        Watching { program, lines, seen: RefCell::default() }
    }

    /// Waits for a line with this in it.
    fn until(&self, part: &str) {
        let mut seen = self.seen.borrow_mut();
        loop {
            if let Some(n) = seen.iter().position(|l| l.contains(part)) {
                seen.remove(n);
                return;
            }
            match self.lines.recv_timeout(Duration::from_secs(60)) {
                Ok(line) => seen.push(line),
                Err(e) => panic!("no `{part}` ({e}) in {seen:?}"),
            }
        }
    }

    /// Nothing more is printed for a while.
    fn quiet(&self) {
        match self.lines.recv_timeout(Duration::from_millis(900)) {
            Err(RecvTimeoutError::Timeout) => {}
            other => panic!("{other:?} without a change"),
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[test]
fn what_can_not_be_watched_ends_at_once() {
    let dir = folder("refused");
    for (args, code) in [
        ("run none.toml --watch", 1),
        ("compile - --format tgsi --watch", 2),
        ("run k.toml --test other --watch", 2),
        ("test k.toml --watch --check nothing", 2),
    ] {
        let mut c = Command::new(env!("CARGO_BIN_EXE_nvir"));
        let ran = c.args(args.split(' ')).current_dir(&dir).stdin(Stdio::null()).output().expect("starts");
        assert_eq!(ran.status.code(), Some(code), "{args}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn run_follows_the_program_the_fixture_and_its_files() {
    let dir = folder("run");
    let w = Watching::start(&dir, "run k.toml --watch");
    w.until("1 passed, 0 failed");
    w.quiet();
    save(&dir, "k.tgsi", &SCALE.replace("{2, 3,", "{2, 5,"));
    w.until("--- changed: k.tgsi");
    w.until("FAILED gk110 t: out[1] is 5");
    want(&dir, 5);
    w.until("--- changed: want.bin");
    w.until("1 passed, 0 failed");
    // What does not compile stays watched.
    put(&dir, "k.tgsi", "COMP\n  0: NOTHING\n");
    w.until("is not an instruction");
    std::fs::remove_file(dir.join("k.toml")).expect("removed");
    w.until("--- changed: k.toml");
    save(&dir, "k.toml", FIXTURE);
    w.until("is not an instruction");
    save(&dir, "k.tgsi", &SCALE.replace("{2, 3,", "{2, 5,"));
    w.until("1 passed, 0 failed");
}

#[test]
fn a_launch_without_a_fixture_follows_its_program_and_files() {
    let dir = folder("launch");
    let w = Watching::start(&dir, "run k.tgsi --ssbo 0=u32:file=want.bin --watch");
    w.until("ok gk110 k: ");
    save(&dir, "k.tgsi", &SCALE.replace("{2, 3,", "{2, 7,"));
    w.until("000000: 0 7 14 21");
    want(&dir, 7);
    w.until("changed no buffer or image");
}

#[test]
fn test_follows_fixtures_that_come_and_go() {
    let dir = folder("test");
    let w = Watching::start(&dir, "test . --watch -t gk110 --junit report.xml");
    w.until("1 passed, 0 failed");
    // Its own report, or any other file that is not a fixture, is no reason to run.
    put(&dir, "notes.txt", "x");
    w.quiet();
    put(&dir, "other.toml", &FIXTURE.replace("name = \"t\"", "name = \"second\""));
    w.until("ok other/second gk110");
    w.until("2 passed, 0 failed");
    std::fs::remove_file(dir.join("other.toml")).expect("removed");
    w.until("1 passed, 0 failed");
    save(&dir, "k.tgsi", &SCALE.replace("{2, 3,", "{2, 4,"));
    w.until("FAILED k/t gk110");
}

#[test]
fn compile_follows_its_inputs() {
    let dir = folder("compile");
    let w = Watching::start(&dir, "compile k.tgsi --watch");
    w.until("EXIT;");
    w.quiet();
    put(&dir, "k.tgsi", "COMP\n  0: NOTHING\n");
    w.until("--- changed: k.tgsi");
    w.until("is not an instruction");
    save(&dir, "k.tgsi", SCALE);
    w.until("EXIT;");
}
