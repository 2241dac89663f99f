//! Every fixture of the project by the compiled engine: block by block against the interpreter, and alone; every recording alone.

use nvir::emu::engine::{Engine, Interpreter, Lockstep};
use nvir::emu::{self, Launch, Memory, Program};
use nvir::{Chip, isa};
use nvir_emu_jit::Compiled;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use nvir_vgpu::replay::{Options, replay};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

fn engines() -> [(&'static str, Arc<dyn Engine>); 2] {
    let both = Lockstep::new(&Compiled::Exact, &Interpreter);
    [("lockstep", Arc::new(both)), ("alone", Arc::new(Compiled::Eager))]
}

fn failures(file: &Path) -> Vec<String> {
    let loaded = match Loaded::read(file) {
        Ok(loaded) => loaded,
        Err(why) => return vec![why.to_string()],
    };
    let chips = loaded.chips().expect("fixtures name chips");
    let mut wrong = Vec::new();
    for (what, engine) in engines() {
        let settings = Settings { engine: Some(engine), ..Settings::default() };
        for &chip in &chips {
            for r in loaded.run(chip, None, &settings, &mut None, |_, _| ()) {
                if let Outcome::Failed(why) = r.outcome {
                    wrong.push(format!("{} {chip} {}, {what}: {why}", file.display(), r.name));
                }
            }
        }
    }
    wrong
}

/// What is wrong in a recording whose programs are all compiled: memory after each submission is the interpreter's.
fn differences(file: &Path) -> Vec<String> {
    let recording = std::fs::read(file).expect("recordings are readable");
    let options = Options { engine: Some(Arc::new(Compiled::Eager)), ..Options::default() };
    match replay(&recording[..], options, &mut |_| {}) {
        Ok(report) if report.passed() => Vec::new(),
        Ok(report) => vec![format!("{}: {report:?}", file.display())],
        Err(why) => vec![format!("{}: {why}", file.display())],
    }
}

/// The files with these endings in folders of the project.
fn files(folders: &[&str], endings: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in folders {
        nvir::input::walk(&root.join(folder), &|f| nvir::input::ends_in(f, endings), &mut files)
            .expect("the folders are readable");
    }
    files
}

#[test]
fn fixtures_pass_compiled() {
    let files = files(&["tgsi", "nir-fixtures", "spirv-fixtures"], &["toml", "json"]);
    assert!(files.len() >= 16, "only {} fixtures found", files.len());
    all_pass(&files, failures);
}

#[test]
fn recordings_replay_compiled() {
    let files = files(&["crates/vgpu/tests/recordings"], &["trace"]);
    assert!(files.len() >= 50, "only {} recordings found", files.len());
    all_pass(&files, differences);
}

/// Distances and places in registers that the code sets: for all lanes, for some, on one side of a branch, and until they are written.
#[test]
fn constants_in_registers_are_those_that_each_lane_has() {
    const LINES: &[&str] = &[
        "S2R R0, SR_TID.X",
        "SHL R4, R0, 0x2",
        "MOV R2, c[0x0][0x0]",
        "MOV R3, c[0x0][0x4]",
        "IADD R2.CC, R2, R4",
        "IADD.X R3, R3, RZ",
        "IMUL.U32.U32 R1, R0, 0x1357b",
        "ISETP.LT.AND P0, PT, R0, 0x5, PT",
        "MOV32I R10, 0x3",
        "SHF.L.W.U64 R5, R0, R10, R1",
        "MOV32I R12, 0x804",
        "LD.E R6, [R2]",
        "BFE.U32 R7, R1, R12",
        "LOP.XOR R5, R5, R7",
        "SHF.R.W R7, R1, R10, R5",
        "LOP.XOR R5, R5, R7",
        "@P0 MOV32I R10, 0x7",
        "SHF.L.W.U64 R7, R1, R10, R5",
        "LOP.XOR R5, R5, R7",
        "MOV32I R10, 0x2",
        "IADD R10, R10, R0",
        "SHF.L.W.U64 R7, R1, R10, R5",
        "LOP.XOR R5, R5, R7",
        "MOV32I R10, 0x9",
        "@P0 BRA other",
        "MOV32I R10, 0x1",
        "SHF.L.W.U64 R7, R1, R10, R5",
        "LOP.XOR R5, R5, R7",
        "other",
        "SHF.L.W.U64 R7, R1, R10, R5",
        "LOP.XOR R5, R5, R7",
        "ST.E [R2], R5",
        "EXIT",
    ];
    let place = |n: usize| 8 * (n + n / 7 + 1) as u32;
    let other = LINES.iter().position(|l| *l == "other").map(place).expect("it is there");
    let program = assembled(LINES.iter().copied().filter(|l| *l != "other"), other);
    all_alike(&program, [80, 2], &[], "registers");
}

/// Accesses of lanes that are equally far from the next ones: every width, steps of both signs, and first and last lanes at, in front of
/// and behind the ends of a buffer, of 32 bits, and of shared memory's window.
#[test]
fn lanes_that_are_equally_far_from_the_next_ones_access_what_each_lane_names() {
    const HEAD: [&str; 9] = [
        "S2R R0, SR_TID.X",
        "MOV R4, c[0x0][0x8]",
        "IMAD R4, R0, c[0x0][0xc], R4",
        "SHR R5, R4, 0x1f",
        "IADD R2.CC, R4, c[0x0][0x0]",
        "IADD.X R3, R5, c[0x0][0x4]",
        "IMUL.U32.U32 R8, R0, 0x1357b",
        "LOP.XOR R9, R8, R4",
        "IADD R10, R8, R9",
    ];
    // What was found goes to the buffer's second half, which the accesses do not reach.
    const TAIL: [&str; 9] = [
        "IADD R14, R14, R13",
        "IADD R14, R14, R15",
        "LOP.XOR R12, R12, R14",
        "SHL R4, R0, 0x2",
        "IADD R4, R4, 0x2000",
        "IADD R2.CC, R4, c[0x0][0x0]",
        "IADD.X R3, RZ, c[0x0][0x4]",
        "ST.E [R2], R12",
        "EXIT",
    ];
    let widths = ["U8", "S8", "U16", "S16", "", "64", "128"].into_iter().zip([1, 1, 2, 2, 4, 8, 16]);
    let mut cases: Vec<(Vec<String>, i32)> = Vec::new();
    for (width, bytes) in widths {
        let dot = if width.is_empty() { String::new() } else { format!(".{width}") };
        let both = |load: &str, store: &str, at: &str| {
            vec![
                format!("{store}{dot} [{at}], R8"),
                format!("{load}{dot} R12, [{at}]"),
                format!("{load}{dot} R12, [{at}+{:#x}]", 16 * bytes),
                format!("{store}{dot} [{at}+{:#x}], RZ", 32 * bytes),
            ]
        };
        cases.push((both("LD.E", "ST.E", "R2"), bytes));
        cases.push((both("LDS", "STS", "R4"), bytes));
    }
    cases.push((vec!["ATOM.E.ADD R12, [R2], R8".to_owned(), "RED.E.ADD [R2+0x40], R9".to_owned()], 4));
    for (accesses, bytes) in &cases {
        let lines = HEAD.into_iter().chain(accesses.iter().map(String::as_str)).chain(TAIL);
        let program = assembled(lines, 0);
        for step in [0, 1, 2, 3, 4, 5, 16, 40, -1, -2, -4].map(|n| n * bytes) {
            let reach = 31 * step;
            let ends = [0, -reach, 4096 - 32 * bytes, 0x2000 - reach - 33 * bytes, 0x2000, -64 * 1024];
            for start in
                ends.into_iter().flat_map(|at| [at - bytes, at, at + bytes]).chain([6, 256, 0x00ff_ffc0])
            {
                let set = [start, step].map(|v| v as u32);
                for threads in [32, 64, 40] {
                    all_alike(&program, [threads, 1], &set, &format!("{accesses:?} from {start} by {step}"));
                }
            }
        }
    }
}

/// Lines of GK110's code, with a place that branches go to; scheduling words are zero.
fn assembled<'l>(lines: impl Iterator<Item = &'l str>, to: u32) -> Program {
    let mut words: Vec<u64> = Vec::new();
    for line in lines {
        if words.len().is_multiple_of(8) {
            words.push(0x0800_0000_0000_0000);
        }
        let pc = words.len() as u32 * 8;
        let m =
            isa::text::parse(Chip::Gk110, line, pc, &|_| Some(to)).unwrap_or_else(|e| panic!("{line}: {e}"));
        words.push(isa::encode(Chip::Gk110, &m, pc).unwrap_or_else(|e| panic!("{line}: {e:?}")));
    }
    Program::new(Chip::Gk110, &words)
}

/// Launches blocks of so many threads, and so many of them, under each engine: counts or faults, and memory, are the interpreter's.
/// The first bank has the address of 16 KiB, and then these words.
fn all_alike(program: &Program, [threads, blocks]: [u32; 2], words: &[u32], what: &str) {
    const BYTES: u64 = 16 << 10;
    let with = |engine: &dyn Engine| {
        let mut memory = Memory::new();
        let buffer = memory.alloc(BYTES, 16).expect("it fits");
        for n in 0..BYTES / 4 {
            memory.set_word(buffer + 4 * n, (n as u32).wrapping_mul(0x9e37_79b9)).expect("it is there");
        }
        let mut launch = Launch::new(program);
        (launch.block, launch.grid, launch.gprs) = ([threads, 1, 1], [blocks, 1, 1], 32);
        launch.shared_bytes = 4096;
        launch.set_const(0, 0, &buffer.to_le_bytes());
        words.iter().zip((8..).step_by(4)).for_each(|(&w, at)| launch.set_const_u32(0, at, w));
        let engine = Some(engine);
        let checks = emu::Checks { init: false, ..emu::Checks::default() };
        let ran =
            emu::run(&launch, &mut memory, &mut emu::Options { engine, checks, ..emu::Options::default() });
        let ran = match ran {
            Ok(stats) => format!("{} {}", stats.warp_instructions, stats.thread_instructions),
            Err(fault) => fault.to_string(),
        };
        (ran, memory.read(buffer, BYTES).expect("it is there"))
    };
    let wanted = with(&Interpreter);
    for (engine, made) in engines() {
        let (got, bytes) = with(&*made);
        assert_eq!(got, wanted.0, "{what}, {threads} threads, {engine}");
        assert!(bytes == wanted.1, "{what}, {threads} threads, {engine}: memory differs");
    }
}

fn all_pass(files: &[PathBuf], wrong_in: fn(&Path) -> Vec<String>) {
    let (next, wrong) = (Mutex::new(files.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(file) = next.lock().expect("no panic").next() else { break };
                    let found = wrong_in(file);
                    wrong.lock().expect("no panic").extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
