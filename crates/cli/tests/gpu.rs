//! `nvir gpu` and `nvir replay` as scripts use them: what becomes of files, and the exit status. The program on the virtual
//! GPU is `nvir` itself, which opens the card as any client does.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const NVIR: &str = env!("CARGO_BIN_EXE_nvir");
const CARD: &str = "/dev/dri/renderD128";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// An empty folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gpu").join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder can be made");
    dir
}

fn nvir(dir: &Path, args: &[&str]) -> Command {
    let mut c = Command::new(NVIR);
    c.args(args).current_dir(dir).env_remove("RUST_LOG");
    // The library is not left in the home of whoever runs tests.
    c.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    for name in ["TRACE", "LOG", "FAULTS_JSON", "ERROR_EXITCODE", "DUMP_FRAMES", "FRAME", "RUN", "PARENT"] {
        c.env_remove(format!("NVIR_VGPU_{name}"));
    }
    c
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// `nvir gpu` with options, and a program.
fn gpu(dir: &Path, options: &[&str], program: &[&str]) -> Ran {
    ran(nvir(dir, &[&["gpu", "-t", "gk110"], options, &["--"], program].concat()).output().expect("it runs"))
}

fn fixture(name: &str) -> String {
    root().join(name).to_str().expect("text").to_string()
}

/// Runs on the card, right.
fn good() -> Vec<String> {
    [NVIR, "run", "-t", "gk110", "--device", CARD, &fixture("tgsi/crc32.toml")].map(str::to_string).to_vec()
}

/// Faults on the card.
fn bad() -> Vec<String> {
    [NVIR, "run", "-t", "gk110", "--device", CARD, &fixture("crates/cli/tests/data/fault.toml")]
        .map(str::to_string)
        .to_vec()
}

fn parts(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

fn json(path: &Path) -> serde_json::Value {
    let text = fs::read_to_string(path).expect("there");
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn files_of_other_kinds_survive_and_nothing_runs() {
    let dir = folder("foreign");
    fs::write(dir.join("photo"), b"\x89PNG and more").expect("written");
    for option in ["--trace", "--log", "--faults-json"] {
        let r = gpu(&dir, &[option, "photo"], &["touch", "ran"]);
        assert_eq!(r.code, Some(1), "{}", r.err);
        assert!(r.err.starts_with("error: photo: the file exists and is not "), "{}", r.err);
        assert_eq!(fs::read(dir.join("photo")).expect("there"), b"\x89PNG and more");
        let r = gpu(&dir, &[option, "no/folder"], &["touch", "ran"]);
        assert!(r.code == Some(1) && r.err.contains("no/folder: the folder does not exist"), "{}", r.err);
        let r = gpu(&dir, &[option, "."], &["touch", "ran"]);
        assert!(r.code == Some(1) && r.err.contains("is a folder, not a file"), "{}", r.err);
    }
    assert!(!dir.join("ran").exists());
    assert_eq!(gpu(&dir, &["--trace", "-"], &["true"]).code, Some(2));
}

#[test]
fn a_program_that_opens_no_card_leaves_nothing_behind() {
    let dir = folder("no-card");
    fs::write(dir.join("old.trace"), "trace 1\nchip f0\n").expect("written");
    fs::write(dir.join("old.log"), "nvir-vgpu log 1\nhello\n").expect("written");
    let r = gpu(&dir, &["--trace", "old.trace", "--log", "old.log"], &["true"]);
    assert_eq!((r.code, r.err.as_str()), (Some(0), ""));
    let r = gpu(&dir, &["--trace", "new.trace", "--log", "new.log"], &["sh", "-c", "exit 3"]);
    assert_eq!((r.code, r.err.as_str()), (Some(3), ""));
    assert_eq!(fs::read_to_string(dir.join("old.trace")).expect("there"), "trace 1\nchip f0\n");
    assert_eq!(fs::read_to_string(dir.join("old.log")).expect("there"), "nvir-vgpu log 1\nhello\n");
    assert_eq!(fs::read_dir(&dir).expect("there").count(), 2, "nothing new");
}

#[test]
fn devices_and_pipes_are_written_to() {
    let dir = folder("devices");
    for device in ["/dev/null", "/dev/stderr"] {
        let r = gpu(&dir, &["--trace", device, "--log", device], &parts(&good()));
        assert_eq!(r.code, Some(0), "{}", r.err);
        assert_eq!(r.err.contains("trace 1\nchip f0\n"), device == "/dev/stderr", "{}", r.err);
    }
    assert!(fs::metadata("/dev/null").expect("there").file_type().is_char_device());
    // A file behind standard output gets the recording where the program's own output is.
    let file = fs::File::create(dir.join("all")).expect("made");
    let mut c = nvir(&dir, &["gpu", "--trace", "/dev/stdout", "--", "sh", "-c"]);
    c.arg(format!("echo before; {}; echo behind", good().join(" "))).stdout(file);
    assert!(c.status().expect("it runs").success());
    let all = fs::read_to_string(dir.join("all")).expect("text");
    assert!(all.starts_with("before\ntrace 1\n") && all.ends_with("\nbehind\n"), "{}", &all[..200]);
    let fifo = dir.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("it runs").success());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        fs::File::open(&fifo).expect("opened").read_to_string(&mut text).expect("text");
        (text, fs::metadata(&fifo).expect("there").file_type().is_fifo())
    });
    let r = gpu(&dir, &["--trace", "fifo"], &parts(&good()));
    assert_eq!(r.code, Some(0), "{}", r.err);
    let (text, is_fifo) = reader.join().expect("read");
    assert!(is_fifo && text.starts_with("trace 1\nchip f0\n") && text.ends_with('\n'));
}

#[test]
fn what_does_not_fit_is_reported() {
    let dir = folder("full");
    for (option, variable, what) in [("--trace", "TRACE", "recording"), ("--log", "LOG", "log")] {
        let r = gpu(&dir, &[option, "/dev/full"], &parts(&good()));
        assert_eq!(r.code, Some(1), "{}", r.err);
        assert!(r.out.contains(" 0 failed"), "the program goes on: {}", r.out);
        let says = format!(
            "nvir-vgpu: NVIR_VGPU_{variable}=/dev/full: no space left on device; the {what} is incomplete"
        );
        assert_eq!(r.err.matches(&says).count(), 1, "{}", r.err);
    }
    // Whatever the program makes of the status of what it runs.
    let script = format!("{}; exit 0", good().join(" "));
    assert_eq!(gpu(&dir, &["--trace", "/dev/full"], &["sh", "-c", &script]).code, Some(1));
    let r = gpu(&dir, &["--dump-shaders", "/proc/self"], &parts(&good()));
    assert!(
        r.code == Some(1) && r.err.contains("NVIR_VGPU_DUMP_SHADERS=/proc/self: "),
        "{:?} {}",
        r.code,
        r.err
    );
    let r = gpu(&dir, &["--faults-json", "/dev/full"], &["true"]);
    assert!(r.code == Some(1) && r.err.contains("/dev/full: No space left"), "{}", r.err);
}

#[test]
fn a_run_replaces_what_an_earlier_one_left() {
    let dir = folder("again");
    let size = |name: &str| fs::metadata(dir.join(name)).expect("there").len();
    let mut first = (0, 0);
    for round in 0..2 {
        let r = gpu(&dir, &["--trace", "a.trace", "--log", "a.log"], &parts(&good()));
        assert_eq!((r.code, r.err.as_str()), (Some(0), ""));
        let now = (size("a.trace"), size("a.log"));
        assert!(round == 0 || now == first, "{first:?} {now:?}");
        first = now;
    }
    // Two processes of a run: a recording each, and one log.
    let twice = format!("{0} && {0}", good().join(" "));
    let r = gpu(&dir, &["--trace", "a.trace", "--log", "a.log"], &["sh", "-c", &twice]);
    assert_eq!((r.code, r.err.as_str()), (Some(0), ""));
    assert_eq!((size("a.trace"), size("a.2.trace")), (first.0, first.0));
    let log = fs::read_to_string(dir.join("a.log")).expect("text");
    assert!(log.starts_with("nvir-vgpu log 1\nsubmission 0: "), "{}", &log[..100]);
    assert_eq!((log.matches("nvir-vgpu log").count(), log.matches("submission 0: ").count()), (1, 2));
    let r = ran(nvir(&dir, &["replay", "a.trace", "a.2.trace"]).output().expect("it runs"));
    assert_eq!(r.code, Some(0), "{}{}", r.out, r.err);
}

#[test]
fn faults_decide_the_status_if_asked() {
    let dir = folder("status");
    let hidden = format!("{}; exit 0", bad().join(" "));
    let killed = format!("{}; kill -ABRT $$", bad().join(" "));
    for script in [&hidden, &killed] {
        let r = gpu(&dir, &["--error-exitcode", "9"], &["sh", "-c", script]);
        assert_eq!(r.code, Some(9), "{}", r.err);
    }
    let r = gpu(&dir, &["--error-exitcode", "9", "--on-fault", "exit"], &parts(&bad()));
    assert_eq!(r.code, Some(9), "{}", r.err);
    assert_eq!(gpu(&dir, &[], &["sh", "-c", &hidden]).code, Some(0), "the program's own");
    // No fault: the program's status.
    let kills = "kill -TERM $$";
    for (program, code) in
        [(parts(&good()), 0), (vec!["sh", "-c", "exit 7"], 7), (vec!["sh", "-c", kills], 128 + 15)]
    {
        assert_eq!(gpu(&dir, &["--error-exitcode", "9"], &program).code, Some(code));
    }
    for wrong in ["0", "256", "x"] {
        assert_eq!(gpu(&dir, &["--error-exitcode", wrong], &["true"]).code, Some(2));
    }
    assert_eq!(gpu(&dir, &["--error-exitcode", "9"], &["/no/such"]).code, Some(1));
}

#[test]
fn faults_are_listed_as_json() {
    let dir = folder("json");
    let file = dir.join("f.json");
    let r = gpu(&dir, &["--faults-json", "f.json"], &parts(&good()));
    assert_eq!(
        (r.code, json(&file)),
        (Some(0), serde_json::json!({ "schema": 1, "faults": [] })),
        "{}",
        r.err
    );
    let script = format!("{0}; {0}; exit 0", bad().join(" "));
    let r = gpu(&dir, &["--faults-json", "f.json"], &["sh", "-c", &script]);
    assert_eq!(r.code, Some(0), "{}", r.err);
    let all = json(&file);
    let faults = all["faults"].as_array().expect("a list");
    assert_eq!(faults.len(), 2, "of both processes: {all}");
    let f = &faults[0];
    assert_eq!(
        (&f["kind"], &f["address"], &f["times"]),
        (&"out_of_bounds".into(), &0x10.into(), &1.into()),
        "{f}"
    );
    assert_eq!((&f["block"], &f["thread"]), (&serde_json::json!([0, 0, 0]), &serde_json::json!([0, 0, 0])));
    let text = |key: &str| f[key].as_str().unwrap_or_else(|| panic!("{key}: {f}")).to_string();
    assert!(text("kernel").starts_with("at 0x") && text("instruction").starts_with("ST"), "{f}");
    assert!(text("message").contains("submission ") && text("message").contains("out_of_bounds"), "{f}");
    assert!(f["pc"].is_u64() && f["submission"].is_u64() && f["command"].is_u64() && f["card"] == 0, "{f}");
    // Each field is documented.
    let page = fs::read_to_string(root().join("docs/json.md")).expect("there");
    let (_, page) = page.split_once("## `nvir gpu --faults-json` (schema 1)").expect("a section");
    let page = page.split("\n## ").next().unwrap_or(page);
    for key in f.as_object().expect("an object").keys() {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
    // The variable alone adds to a file; without `nvir gpu` the process that faulted has the status.
    let mut c = nvir(&dir, &["gpu", "--"]);
    c.args(bad()).env("NVIR_VGPU_FAULTS_JSON", &file).env("NVIR_VGPU_ERROR_EXITCODE", "11");
    assert_eq!(ran(c.output().expect("it runs")).code, Some(11));
    assert_eq!(json(&file)["faults"].as_array().map(Vec::len), Some(3));
}

/// What is sent to `nvir gpu` reaches the program.
#[test]
fn a_signal_ends_the_program() {
    let dir = folder("signal");
    let mut child =
        nvir(&dir, &["gpu", "--error-exitcode", "9", "--", "sh", "-c", "echo ready; exec sleep 60"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
    let mut ready = [0; 6];
    child.stdout.take().expect("a pipe").read_exact(&mut ready).expect("the program runs");
    let start = Instant::now();
    assert!(Command::new("kill").arg(child.id().to_string()).status().expect("it runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15));
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn the_library_is_unpacked_to_a_private_folder() {
    let dir = folder("unpacked");
    // Away from all that a build leaves beside the program.
    let alone = dir.join("bin");
    fs::create_dir_all(&alone).expect("a folder");
    let program = alone.join("nvir");
    if fs::hard_link(NVIR, &program).is_err() {
        fs::copy(NVIR, &program).expect("copied");
    }
    let run = |cache: &Path| {
        let mut c = Command::new(&program);
        c.args(["gpu", "-t", "gk104", "--", NVIR, "devices"]).env("XDG_CACHE_HOME", cache);
        ran(c.output().expect("it runs"))
    };
    for _ in 0..2 {
        let r = run(&dir.join("cache"));
        assert_eq!(r.out, format!("virtual gf100 gk104 gk110\n{CARD} gk104\n"), "{}", r.err);
    }
    let cache = dir.join("cache/nvir");
    assert_eq!(fs::metadata(&cache).expect("there").mode() & 0o777, 0o700);
    let files: Vec<_> = fs::read_dir(&cache).expect("there").map(|e| e.expect("an entry").path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    // A folder that others may write to is passed over.
    let open = dir.join("open");
    fs::create_dir_all(open.join("nvir")).expect("a folder");
    let all = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777);
    fs::set_permissions(open.join("nvir"), all).expect("changed");
    let r = run(&open);
    assert!(r.out.contains("gk104"), "{}", r.err);
    assert_eq!(fs::read_dir(open.join("nvir")).expect("there").count(), 0);
}

#[test]
fn recordings_that_were_cut_are_truncated_and_logs_of_replays_keep_the_rules() {
    let dir = folder("replay");
    assert_eq!(gpu(&dir, &["--trace", "a.trace"], &parts(&good())).code, Some(0));
    let whole = fs::read(dir.join("a.trace")).expect("there");
    let replay = |args: &[&str]| ran(nvir(&dir, &[&["replay"], args].concat()).output().expect("it runs"));
    let bytes = whole.len() * 2 / 3;
    let cut = if whole[bytes - 1] == b'\n' { bytes - 1 } else { bytes };
    fs::write(dir.join("cut.trace"), &whole[..cut]).expect("written");
    let r = replay(&["cut.trace"]);
    let line = whole[..cut].iter().filter(|b| **b == b'\n').count() + 1;
    let says = format!(
        "FAILED cut.trace: line {line}: truncated: the recording ends within this line, after {cut} bytes\n"
    );
    assert_eq!((r.code, r.out), (Some(1), says));
    fs::write(dir.join("photo"), "photo").expect("written");
    for (log, why) in [
        ("photo", "is not a log"),
        ("/dev/full", "no space left on device"),
        ("no/such", "the folder does not exist"),
    ] {
        let r = replay(&["a.trace", "--log", log]);
        assert!(r.code == Some(1) && r.out.contains(why), "{log}: {}{}", r.out, r.err);
    }
    assert_eq!(fs::read(dir.join("photo")).expect("there"), b"photo");
    for _ in 0..2 {
        assert_eq!(replay(&["a.trace", "--log", "a.log"]).code, Some(0));
        let log = fs::read_to_string(dir.join("a.log")).expect("text");
        assert!(
            log.starts_with("nvir-vgpu log 1\nsubmission 0: ") && log.matches("submission 0: ").count() == 1
        );
    }
    assert!(gpu(&dir, &["--trace", "bad.trace"], &parts(&bad())).err.contains("out_of_bounds"));
    assert_eq!(replay(&["bad.trace"]).code, Some(1));
    assert_eq!(replay(&["bad.trace", "--error-exitcode", "9"]).code, Some(9));
    assert_eq!(replay(&["cut.trace", "--error-exitcode", "9"]).code, Some(1), "not a fault");
    let r = replay(&["bad.trace", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&r.out).expect("JSON");
    assert_eq!(all["traces"][0]["fault"]["found"][0]["kind"], "out_of_bounds", "{all}");
}

/// Size and bytes of a PNG.
fn png(path: &Path) -> (u32, u32, png::ColorType, Vec<u8>) {
    let file =
        std::io::BufReader::new(fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("small")];
    let info = reader.next_frame(&mut bytes).expect("pixels");
    (info.width, info.height, info.color_type, bytes)
}

fn names(dir: &Path) -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir(dir)
        .expect("there")
        .map(|e| e.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    all.sort();
    all
}

#[test]
fn frames_are_pictures_of_all_targets() {
    let dir = folder("frames");
    let scene = fixture("crates/vgpu/tests/recordings/scenes/clipping.f0.trace");
    let replay =
        |args: &[&str]| ran(nvir(&dir, &[&["replay", &scene], args].concat()).output().expect("it runs"));
    let r = replay(&["--dump-frames", "all"]);
    assert_eq!(r.code, Some(0), "{}{}", r.out, r.err);
    let all = names(&dir.join("all"));
    let last = all.iter().rfind(|n| n.ends_with("-color.png")).expect("a frame");
    let (width, height, kind, bytes) = png(&dir.join("all").join(last));
    assert_eq!((width, height, kind), (64, 24, png::ColorType::Rgba));
    // The second cell of the upper row: a square within a scissor.
    let pixel = |x: usize, y: usize| &bytes[4 * (64 * y + x)..][..4];
    assert_eq!([pixel(19, 3), pixel(27, 9)], [[255; 4]; 2], "inside");
    assert_eq!([pixel(18, 3), pixel(19, 2), pixel(28, 9), pixel(27, 10)], [[32, 32, 64, 255]; 4], "cleared");
    assert_eq!(
        all.iter().filter(|n| n.ends_with("-depth.png")).count(),
        all.iter().filter(|n| n.ends_with("-stencil.png")).count()
    );
    // The other way up, if the first row is the top one.
    assert_eq!(replay(&["--dump-frames", "turned", "--top-first"]).code, Some(0));
    let (_, _, _, turned) = png(&dir.join("turned").join(last));
    assert!(turned.chunks(64 * 4).rev().eq(bytes.chunks(64 * 4)));
    assert_ne!(turned, bytes);
    // One of them alone; and one that there is not.
    assert_eq!(replay(&["--dump-frames", "one", "--frame", "2"]).code, Some(0));
    let one = names(&dir.join("one"));
    assert!(
        !one.is_empty() && one.iter().all(|n| n.starts_with("clipping.f0-frame-0002-") && all.contains(n)),
        "{one:?}"
    );
    let r = replay(&["--dump-frames", "none", "--frame", "99"]);
    assert!(
        r.code == Some(1) && r.out.contains("none: no frame 99 was drawn; nothing is written"),
        "{}{}",
        r.out,
        r.err
    );
    let r = replay(&["--dump-frames", "/proc/self"]);
    assert!(r.code == Some(1) && r.out.contains("frames are missing"), "{}{}", r.out, r.err);
    assert_eq!(replay(&["--frame", "2"]).code, Some(2));
}

#[test]
fn a_program_that_draws_nothing_has_no_frames() {
    let dir = folder("no_frames");
    let r = gpu(&dir, &["--dump-frames", "frames"], &parts(&good()));
    assert_eq!(r.code, Some(1), "{}", r.err);
    assert!(r.err.contains("error: frames: no frame was drawn; nothing is written"), "{}", r.err);
    let r = gpu(&dir, &["--dump-frames", "frames", "--frame", "3"], &parts(&good()));
    assert!(r.err.contains("no frame 3 was drawn"), "{}", r.err);
    assert_eq!(gpu(&dir, &["--frame", "0", "--dump-frames", "frames"], &["true"]).code, Some(2));
}

#[test]
fn a_client_of_opengl_is_seen_frame_by_frame() {
    let dir = folder("client");
    let scenes = fixture("crates/vgpu/tests/scenes/scenes.py");
    let options =
        ["--dump-frames", "frames", "--profile", "--log", "log", "--check", "all", "--error-exitcode", "9"];
    let r = gpu(&dir, &options, &["python3", &scenes, "draws"]);
    if r.code != Some(0)
        && (r.err.contains("libEGL") || r.err.contains("no display") || r.err.contains("not found"))
    {
        println!("SKIPPED: OpenGL through EGL with Mesa's nouveau driver and Python are needed: {}", r.err);
        return;
    }
    assert_eq!(r.code, Some(0), "{}", r.err);
    let (width, height, ..) = png(&dir.join("frames/frame-0001-1-color.png"));
    assert_eq!((width, height), (64, 36));
    let log = fs::read_to_string(dir.join("log")).expect("text");
    assert!(log.contains("  color 0: rgba8_unorm 64x36 at "), "draws are logged with their state");
    let draws = r.err.lines().find(|l| l.contains(" draws: ")).expect(&r.err);
    assert!(draws.contains(" vertices, ") && draws.contains(" fragments, "), "{draws}");
    assert!(r.err.contains("vert program at 0x") && r.err.contains(" fragment instructions"), "{}", r.err);
}
