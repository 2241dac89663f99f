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
    let mut words: Vec<u64> = Vec::new();
    for line in LINES.iter().filter(|l| **l != "other") {
        if words.len().is_multiple_of(8) {
            words.push(0x0800_0000_0000_0000);
        }
        let pc = words.len() as u32 * 8;
        let m = isa::text::parse(Chip::Gk110, line, pc, &|_| Some(other))
            .unwrap_or_else(|e| panic!("{line}: {e}"));
        words.push(isa::encode(Chip::Gk110, &m, pc).unwrap_or_else(|e| panic!("{line}: {e:?}")));
    }
    let program = Program::new(Chip::Gk110, &words);
    let with = |engine: &dyn Engine| {
        let mut memory = Memory::new();
        let buffer = memory.alloc(4096, 16).expect("it fits");
        let mut launch = Launch::new(&program);
        (launch.block, launch.grid, launch.gprs) = ([80, 1, 1], [2, 1, 1], 32);
        launch.set_const(0, 0, &buffer.to_le_bytes());
        let engine = Some(engine);
        let checks = emu::Checks { init: false, ..emu::Checks::default() };
        let stats =
            emu::run(&launch, &mut memory, &mut emu::Options { engine, checks, ..emu::Options::default() });
        let stats = stats.expect("no fault");
        (stats.warp_instructions, stats.thread_instructions, memory.read(buffer, 4096).expect("it is there"))
    };
    let wanted = with(&Interpreter);
    for (what, engine) in engines() {
        assert_eq!(with(&*engine), wanted, "{what}");
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
