//! Recordings: what the recorder writes, the replayer executes.

mod common;

use common::{Client, Commands, MEMORY, THREE_D, Text};
use nvir::Chip;
use nvir_emu_jit::Choice;
use nvir_hw::method::{bindings, m2mf, query, upload};
use nvir_vgpu::Config;
use nvir_vgpu::replay::{Options, Report, replay};
use nvir_vgpu::trace::TraceError;
use std::path::{Path, PathBuf};

fn run(recording: &str) -> Result<Report, TraceError> {
    replay(recording.as_bytes(), Options::default(), &mut |_| {})
}

/// A client that uploads, copies, and asks for the time.
fn record(chip: Chip) -> String {
    let text = Text::default();
    let mut config = Config::new(chip);
    config.trace = Some(Box::new(text.clone()));
    let c = Client::with(config);
    c.file.object_alloc(c.channel, 0xbeef, common::classes(chip)[0]).unwrap();
    let (a, b) = (c.filled(4096, &[1, 2, 3, 0, 0, 0, 0, 0, 0, 4]), c.buffer(8192));
    let mut push = Commands::default();
    if chip == Chip::Gf100 {
        push.address(MEMORY, m2mf::OFFSET_OUT_HIGH, b.offset + 16)
            .inc(MEMORY, m2mf::LINE_LENGTH_IN, &[8, 1])
            .inc(MEMORY, m2mf::EXEC, &[0x10_0111]);
        push.same(MEMORY, m2mf::DATA, &[7, 7]);
    } else {
        push.address(MEMORY, upload::UPLOAD_DST_ADDRESS_HIGH, b.offset + 16)
            .inc(MEMORY, upload::UPLOAD_LINE_LENGTH_IN, &[8, 1])
            .once(MEMORY, upload::UPLOAD_EXEC, &[1, 7, 7]);
    }
    push.inc(THREE_D, query::QUERY_ADDRESS_HIGH, &[(a.offset >> 32) as u32, a.offset as u32 + 64, 5, 0x5002]);
    c.run(&push).unwrap();
    c.gpu().write(a.offset, &[9]).unwrap();
    let mut push = Commands::default();
    push.inc(THREE_D, bindings::CB_SIZE, &[64, (b.offset >> 32) as u32, b.offset as u32]);
    push.once(THREE_D, bindings::CB_POS, &[4, 0xabc]);
    c.run(&push).unwrap();
    c.file.gem_close(a.handle).unwrap();
    drop(c);
    text.get()
}

#[test]
fn what_was_recorded_replays() {
    for chip in Chip::ALL {
        let text = record(chip);
        let report = run(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert!(report.passed(), "{report:?}\n{text}");
        // The client binds its classes first.
        assert_eq!(report.submissions, 3);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "trace 1");
        assert!(lines.iter().any(|l| l.starts_with("object beef class ")), "{text}");
        for want in [
            "bo 2 va 100002000 size 80000 domain c tile_mode 0 tile_flags 0 align 0",
            "cpu 100083000 c 1 2 3",
            "cpu 100083024 4 4",
            "gpu 100085010 8 7 *2",
            "cpu 100083000 4 9",
            "gpu 100085004 4 abc",
            "free 3 va 100083000",
        ] {
            assert!(lines.contains(&want), "{want}\n{text}");
        }
        assert!(lines.iter().any(|l| l.starts_with("submit 1 100002000:4:0:4")), "{text}");
        // Times differ from run to run.
        let time = lines.iter().find(|l| l.starts_with("gpu 100083040 ")).unwrap();
        let other = text.replace(time, "gpu 100083040 10 5 0 123 456");
        assert!(run(&other).unwrap().passed(), "{text}");
    }
}

/// Every recording in a folder and those below it.
fn traces(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(traces(&path));
        } else if path.extension().is_some_and(|e| e == "trace") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What Mesa 22.3.6 submitted for `gl_client`, whose kernels, copies and clears were right on each chip, and for `scenes`, whose
/// pictures were llvmpipe's (scenes/record); and, if the variable NVIR_TRACES names a folder, the recordings there.
#[test]
fn recordings_of_mesas_driver_replay() {
    let own = traces(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings"));
    assert_eq!(own.len(), 6 + 16 * Chip::ALL.len());
    let more = std::env::var_os("NVIR_TRACES").map_or_else(Vec::new, |folder| traces(Path::new(&folder)));
    for path in own.iter().chain(&more) {
        let text = std::fs::read_to_string(path).unwrap();
        let report = run(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(report.passed(), "{}: {report:#?}", path.display());
        // Each opens a context, does something and closes it.
        assert!(report.submissions > 2 && report.compared > 1 << 19, "{}: {report:?}", path.display());
    }
    println!("{} recordings", own.len() + more.len());
}

/// Scenes whose programs are executed by both engines, a basic block at a time: one that finds another state ends the submission
/// with a fault.
fn both_engines_agree(chip: &str) {
    let own = traces(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/scenes"));
    let of_chip = |path: &&PathBuf| path.file_stem().is_some_and(|s| s.to_string_lossy().ends_with(chip));
    let own: Vec<&PathBuf> = own.iter().filter(of_chip).collect();
    assert_eq!(own.len(), 16);
    for path in own {
        let text = std::fs::read_to_string(path).unwrap();
        let options = Options { engine: Choice::Both.engine(), ..Options::default() };
        let report = replay(text.as_bytes(), options, &mut |_| {});
        let report = report.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(report.passed(), "{}: {report:#?}", path.display());
    }
}

#[test]
fn both_engines_agree_on_scenes_of_gf100() {
    both_engines_agree(".c0");
}

#[test]
fn both_engines_agree_on_scenes_of_gk104() {
    both_engines_agree(".e4");
}

#[test]
fn both_engines_agree_on_scenes_of_gk110() {
    both_engines_agree(".f0");
}

#[test]
fn differences_name_buffer_and_method() {
    let text = record(Chip::Gk104);
    let report = run(&text.replace("gpu 100085010 8 7 *2", "gpu 100085010 8 7 8")).unwrap();
    assert_eq!((report.wrong, report.differences.len()), (1, 1));
    assert_eq!(
        report.differences[0].to_string(),
        "submission 1: 0x100085014 (buffer 4 at 0x100085000 + 0x14): expected 00000008, found 00000007; written by \
         submission 1, word at 0x100002020: subchannel 2 class a040 UPLOAD_DATA (01b4)"
    );
    let report = run(&text.replace("gpu 100085004 4 abc", "gpu 100085200 4 abc")).unwrap();
    assert_eq!(report.wrong, 2);
    let texts: Vec<String> = report.differences.iter().map(ToString::to_string).collect();
    assert!(texts[0].contains("expected 00000000, found 00000abc; written by"), "{texts:?}");
    assert!(
        texts[1].contains("expected 00000abc, found 00000000; nothing wrote there; nearest was"),
        "{texts:?}"
    );
}

#[test]
fn recordings_that_are_none() {
    for (text, why) in [
        ("", "line 0: not a recording: the file is empty"),
        ("trace 2\n", "line 1: unknown version of recordings; only version 1 is supported"),
        ("hello", "line 1: not a recording: the first line is not `trace 1`"),
        ("tra", "line 1: truncated: the recording ends within this line, after 3 bytes"),
        // Without the end of its line, 18 may have been 1800.
        (
            "trace 1\nchip f0\nfree 2 va 18",
            "line 3: truncated: the recording ends within this line, after 28 bytes",
        ),
        ("trace 1\n", "line 1: expected `chip` and a hexadecimal number"),
        ("trace 1\nchip 50\n", "line 2: chip 50 is not known"),
        ("trace 1\nchip f0\nx\n", "line 3: unknown record `x`"),
        ("trace 1\nchip f0\nbo 2 va 1000\n", "line 3: size is missing"),
        ("trace 1\nchip f0\ncpu 1000 8 1\n", "line 3: 1 words for 0x8 bytes"),
        ("trace 1\nchip f0\ncpu 1000 8 1 *9\n", "line 3: `*9` repeats to more than 0x8 bytes, or to none"),
        ("trace 1\nchip f0\ncpu 1000 8 *2\n", "line 3: a repeat count without a word before it"),
        ("trace 1\nchip f0\ncpu 1000 8 1 1\n", "line 3: 0x8 bytes at 0x1000 are in no buffer"),
        ("trace 1\nchip f0\ncpu 1000 ffffffff0 1 1\n", "line 3: a record of 0xffffffff0 bytes"),
        ("trace 1\nchip f0\ngpu 1000 4 1\n", "line 3: `gpu` without a submission"),
        ("trace 1\nchip f0\npush 1000 4 0 1\n", "line 3: `push` without `submit`"),
        ("trace 1\nchip f0\nsubmit 0 1000:1:1:1\nsubmit 1\n", "line 4: there is no buffer at 0x1000"),
        ("trace 1\nchip f0\nsubmit 0 1000:1:1:1:1\n", "line 3: unexpected `1` at the end"),
        ("trace 1\nchip f0\nfree 2 va 1000\n", "line 3: there is no buffer at 0x1000"),
        ("trace 1\nchip f0\nobject 1 class 9097\n", "line 3: class 9097 does not exist on gk110"),
        (
            "trace 1\nchip f0\nbo 2 va 1001 size 10 domain 2 tile_mode 0 tile_flags 0 align 0\n",
            "line 3: 4096 bytes at 0x1001 are taken",
        ),
    ] {
        match run(text) {
            Err(e) => assert_eq!(e.to_string(), why),
            Ok(report) => panic!("{text}: {report:?}"),
        }
    }
}
