//! What `racecheck` finds: each rule with a program that races and a neighbour of it that does not.

use nvir::compiler::{OptLevel, Options};
use nvir::emu::{self, Checks, FaultKind};
use nvir::{Chip, isa};
use nvir_fixture::format::Fixture;
use nvir_fixture::run::{Loaded, Outcome, Settings};
use std::path::Path;

const SHARED: &str = "racecheck";
const GLOBAL: &str = "racecheck=global";

/// A TGSI kernel of blocks of 64 threads. TEMP[0]: four times the thread's number, the thread, its
/// warp, its block.
fn kernel(code: &str) -> String {
    format!(
        "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH 64
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL SV[1], BLOCK_ID
DCL MEMORY[0], SHARED
DCL BUFFER[0]
DCL BUFFER[1]
DCL TEMP[0..5]
IMM[0] UINT32 {{0, 1, 4, 5}}
IMM[1] UINT32 {{2, 16, 15, 8}}
IMM[2] UINT32 {{128, 512, 32, 3}}
SHL TEMP[0].x, SV[0].xxxx, IMM[1].xxxx
MOV TEMP[0].y, SV[0].xxxx
USHR TEMP[0].z, SV[0].xxxx, IMM[0].wwww
MOV TEMP[0].w, SV[1].xxxx
{code}END
"
    )
}

/// The first words of `out` and how many notes there are, or the first fault. All chips agree, and
/// both ends of optimisation.
fn run_on(code: &str, grid: u32, checks: &str, threads: usize) -> Result<([u32; 4], usize), String> {
    let fixture = format!(
        "source = \"k.tgsi\"\n[[tests]]\nname = \"t\"\ngrid = [{grid}, 1, 1]\nblock = [64, 1, 1]\n\
         shared_dynamic = 64\nssbo = {{ 0 = \"out\", 1 = \"flags\" }}\n[tests.buffers.out]\ntype = \"u32\"\n\
         len = 256\ninit = {{ fill = 0 }}\n[tests.buffers.flags]\ntype = \"u32\"\nlen = 16\ninit = {{ fill = 0 }}\n"
    );
    let path = Path::new("k.toml");
    let fixture = Fixture::parse(path, &fixture).expect("written above");
    let loaded = Loaded::new(path, fixture, kernel(code).into_bytes()).expect("written above");
    let mut results = Vec::new();
    for (chip, level) in Chip::ALL.into_iter().flat_map(|c| [(c, OptLevel::O0), (c, OptLevel::O3)]) {
        let checks = checks.parse().expect("names of checkers");
        let settings = Settings { options: Options::at(level), checks, threads, ..Settings::default() };
        let mut values = [0; 4];
        let reports = loaded.run(chip, None, &settings, &mut None, |_, env| {
            let bytes = env.buffer("out").and_then(|b| env.read(&b)).expect("it is bound");
            let words = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
            values.iter_mut().zip(words).for_each(|(v, w)| *v = w);
        });
        let report = &reports[0];
        results.push(match &report.outcome {
            Outcome::Failed(why) => Err(why.clone()),
            _ => Ok((values, report.stats.notes.len())),
        });
    }
    // Compiled code differs, and so do the addresses in a fault's text.
    let alike = |a: &Result<_, String>, b: &Result<_, String>| match (a, b) {
        (Err(a), Err(b)) => a.split(" (").next() == b.split(" (").next(),
        (a, b) => a == b,
    };
    assert!(results.iter().all(|r| alike(r, &results[0])), "{results:#?}\n{code}");
    results.swap_remove(0)
}

/// The words that are left where nothing races.
fn clean(code: &str, grid: u32, checks: &str) -> [u32; 4] {
    match run_on(code, grid, checks, 1) {
        Ok((values, 0)) => values,
        other => panic!("{other:?}\n{code}"),
    }
}

/// What is said of the race, before the place.
fn race(code: &str, grid: u32, checks: &str) -> String {
    let why = run_on(code, grid, checks, 1).expect_err(code);
    let (_, race) = why.split_once("race: ").unwrap_or_else(|| panic!("{why}"));
    race.split(" (kernel").next().unwrap_or(race).to_string()
}

/// Code without some of its lines, which are counted from 0.
fn without(code: &str, lines: &[usize]) -> String {
    let kept = code.lines().enumerate().filter(|(n, _)| !lines.contains(n));
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

// ---- shared memory

/// Each thread adds 1 to one of 16 counters.
const HISTOGRAM: &str = "USLT TEMP[1].x, TEMP[0].yyyy, IMM[1].yyyy
UIF TEMP[1].xxxx
STORE MEMORY[0].x, TEMP[0].xxxx, IMM[0].xxxx
ENDIF
BARRIER
AND TEMP[2].x, TEMP[0].yyyy, IMM[1].zzzz
SHL TEMP[2].x, TEMP[2].xxxx, IMM[1].xxxx
ATOMUADD TEMP[3].x, MEMORY[0], TEMP[2].xxxx, IMM[0].yyyy
BARRIER
UIF TEMP[1].xxxx
LOAD TEMP[3].x, MEMORY[0], TEMP[0].xxxx
STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[3].xxxx
ENDIF
";

#[test]
fn a_histogram_needs_both_of_its_barriers() {
    assert_eq!(clean(HISTOGRAM, 2, SHARED), [4; 4]);
    let cleared = "atomic access to shared memory at 0x0, written by another warp without a barrier between";
    assert_eq!(race(&without(HISTOGRAM, &[4]), 1, SHARED), cleared);
    assert_eq!(race(&without(HISTOGRAM, &[4, 8]), 1, SHARED), cleared);
    // The first warp reads before or after the second one adds, as the slices are.
    let read = race(&without(HISTOGRAM, &[8]), 1, SHARED);
    assert!(read.contains("another warp without a barrier between") && read.contains("atomic"), "{read}");
}

#[test]
fn an_atomic_of_its_own_does_not_hide_a_warps_store() {
    // Both warps add to a word that the first one stores before it adds.
    let code = "UIF TEMP[0].zzzz
ELSE
STORE MEMORY[0].x, IMM[0].xxxx, IMM[0].wwww
ENDIF
ATOMUADD TEMP[1].x, MEMORY[0], IMM[0].xxxx, IMM[0].yyyy
";
    assert!(
        race(code, 1, SHARED).starts_with("atomic access to shared memory at 0x0, written by another warp")
    );
    let ordered = code.replace("ENDIF\n", "ENDIF\nBARRIER\n");
    assert_eq!(clean(&ordered, 1, SHARED), [0; 4]);
}

#[test]
fn an_atomic_and_a_plain_read_of_another_warp_race() {
    let code = "STORE MEMORY[0].x, IMM[0].xxxx, IMM[0].xxxx
BARRIER
UIF TEMP[0].zzzz
ATOMUADD TEMP[1].x, MEMORY[0], IMM[0].xxxx, IMM[0].yyyy
ELSE
LOAD TEMP[1].x, MEMORY[0], IMM[0].xxxx
STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx
ENDIF
";
    let said = "of shared memory at 0x0, atomically written by another warp without a barrier between";
    assert_eq!(race(code, 1, SHARED), format!("read {said}"));
    let atomic = code.replace(
        "LOAD TEMP[1].x, MEMORY[0], IMM[0].xxxx",
        "ATOMOR TEMP[1].x, MEMORY[0], IMM[0].xxxx, IMM[0].xxxx",
    );
    let values = run_on(&atomic, 1, SHARED, 1).expect("atomics do not race with each other");
    assert!(values.0[0] <= 32);
}

/// All threads add 5 to a word by reading it and trying to exchange it.
const SWAP: &str = "BARRIER
LOAD TEMP[1].x, MEMORY[0], IMM[0].xxxx
BGNLOOP
UADD TEMP[2].x, TEMP[1].xxxx, IMM[0].wwww
ATOMCAS TEMP[3].x, MEMORY[0], IMM[0].xxxx, TEMP[1].xxxx, TEMP[2].xxxx
USEQ TEMP[2].x, TEMP[3].xxxx, TEMP[1].xxxx
UIF TEMP[2].xxxx
BRK
ENDIF
MOV TEMP[1].x, TEMP[3].xxxx
ENDLOOP
BARRIER
UIF TEMP[0].zzzz
ELSE
LOAD TEMP[2].x, MEMORY[0], IMM[0].xxxx
STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx
ENDIF
";

#[test]
fn a_read_that_an_atomic_of_its_warp_confirms_is_the_beginning_of_a_loop() {
    let zeros = "UIF TEMP[0].zzzz\nELSE\nSTORE MEMORY[0].x, IMM[0].xxxx, IMM[0].xxxx\nENDIF\n";
    let code = format!("{zeros}{SWAP}");
    assert_eq!(clean(&code, 1, SHARED), [320; 4]);
    let global = code
        .replace("MEMORY[0]", "BUFFER[1]")
        .replace("BARRIER\nUIF", "UIF")
        .replace("TEMP[2].x, BUFFER[1]", "TEMP[2].x, BUFFER[0]");
    assert_eq!(clean(&global, 1, GLOBAL), [0; 4]);
    // The barrier behind the loop is missing: what the first warp reads at the end is confirmed by
    // nothing.
    let racy = code.replace("BARRIER\nUIF", "UIF");
    let said = "read of shared memory at 0x0, atomically written by another warp without a barrier between";
    let other = "atomic access to shared memory at 0x0, read by another warp without a barrier between";
    let why = race(&racy, 1, SHARED);
    assert!(why == said || why == other, "{why}");
}

/// A thread of each warp adds 5 to the word at 4 under the lock at 0; the fences are lines 14 and
/// 18.
const LOCK: &str = "UIF TEMP[0].zzzz
ELSE
STORE MEMORY[0].x, IMM[0].xxxx, IMM[0].xxxx
STORE MEMORY[0].x, IMM[0].zzzz, IMM[0].xxxx
ENDIF
BARRIER
USEQ TEMP[1].x, TEMP[0].yyyy, IMM[0].xxxx
USEQ TEMP[1].y, TEMP[0].yyyy, IMM[2].zzzz
OR TEMP[1].x, TEMP[1].xxxx, TEMP[1].yyyy
UIF TEMP[1].xxxx
BGNLOOP
ATOMCAS TEMP[1].x, MEMORY[0], IMM[0].xxxx, IMM[0].xxxx, IMM[0].yyyy
USEQ TEMP[1].y, TEMP[1].xxxx, IMM[0].xxxx
UIF TEMP[1].yyyy
MEMBAR IMM[1].wwww
LOAD TEMP[2].x, MEMORY[0], IMM[0].zzzz
UADD TEMP[2].x, TEMP[2].xxxx, IMM[0].wwww
STORE MEMORY[0].x, IMM[0].zzzz, TEMP[2].xxxx
MEMBAR IMM[1].wwww
ATOMXCHG TEMP[1].x, MEMORY[0], IMM[0].xxxx, IMM[0].xxxx
BRK
ENDIF
ENDLOOP
ENDIF
BARRIER
UIF TEMP[0].zzzz
ELSE
LOAD TEMP[2].x, MEMORY[0], IMM[0].zzzz
STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[2].xxxx
ENDIF
";

#[test]
fn a_lock_is_handed_over_by_a_fence_on_either_side() {
    assert_eq!(clean(LOCK, 1, SHARED), [10; 4]);
    for missing in [&[14][..], &[18], &[14, 18]] {
        let said = race(&without(LOCK, missing), 1, SHARED);
        assert_eq!(said, "read of shared memory at 0x4, written by another warp without a barrier between");
    }
}

// ---- global memory

/// Threads read what threads of the other warp have written.
const ACROSS: &str = "STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[0].yyyy
BARRIER
XOR TEMP[1].x, TEMP[0].xxxx, IMM[2].xxxx
LOAD TEMP[4].x, BUFFER[0], TEMP[1].xxxx
UADD TEMP[1].x, TEMP[0].xxxx, IMM[2].yyyy
STORE BUFFER[0].x, TEMP[1].xxxx, TEMP[4].xxxx
";

#[test]
fn a_barrier_orders_the_global_memory_of_a_block() {
    assert_eq!(clean(ACROSS, 1, GLOBAL), [0, 1, 2, 3]);
    let racy = without(ACROSS, &[1]);
    let said = race(&racy, 1, GLOBAL);
    assert!(said.contains(" global memory at ") && said.contains(" of `out`, 1024 bytes at "), "{said}");
    assert!(said.ends_with("by another warp without a barrier between"), "{said}");
    assert!(run_on(&racy, 1, "all", 1).is_ok(), "only on request");
    // A second block writes what the first one has read.
    let said = race(ACROSS, 2, GLOBAL);
    assert!(
        said.starts_with("write to ") && said.ends_with(", read by another block and nothing orders the two"),
        "{said}"
    );
}

/// A thread of block 0 passes 5 to one of block 1, which waits for a flag: the fences are lines 5
/// and 15.
const FLAG: &str = "USEQ TEMP[3].x, TEMP[0].yyyy, IMM[0].xxxx
UIF TEMP[3].xxxx
UIF TEMP[0].wwww
ELSE
STORE BUFFER[0].x, IMM[0].xxxx, IMM[0].wwww
MEMBAR IMM[0].yyyy
ATOMXCHG TEMP[1].x, BUFFER[1], IMM[0].xxxx, IMM[0].yyyy
ENDIF
UIF TEMP[0].wwww
BGNLOOP
LOAD TEMP[1].x, BUFFER[1], IMM[0].xxxx, COHERENT
UIF TEMP[1].xxxx
BRK
ENDIF
ENDLOOP
MEMBAR IMM[0].yyyy
LOAD TEMP[1].x, BUFFER[0], IMM[0].xxxx
STORE BUFFER[0].x, IMM[0].zzzz, TEMP[1].xxxx
ENDIF
ENDIF
";

#[test]
fn a_flag_between_blocks_needs_a_fence_on_either_side() {
    let end =
        "(byte 0 of `out`, 1024 bytes at 0x120004), written by another block and nothing orders the two";
    assert_eq!(clean(FLAG, 2, GLOBAL)[..2], [5, 5]);
    let short = |line: usize| {
        let mut lines: Vec<&str> = FLAG.lines().collect();
        lines[line] = "MEMBAR IMM[1].wwww";
        format!("{}\n", lines.join("\n"))
    };
    for racy in [without(FLAG, &[5]), without(FLAG, &[15]), without(FLAG, &[5, 15]), short(5), short(15)] {
        let said = race(&racy, 2, GLOBAL);
        assert!(said.starts_with("read of global memory at ") && said.ends_with(end), "{said}\n{racy}");
    }
    // A plain read of the flag learns of nothing, so the value races.
    let plain = FLAG.replace(", COHERENT", "");
    assert!(race(&plain, 2, GLOBAL).ends_with(end));
    // A coherent store passes it on as well; a plain one is in conflict with the coherent loads.
    let stored = FLAG.replace(
        "ATOMXCHG TEMP[1].x, BUFFER[1], IMM[0].xxxx, IMM[0].yyyy",
        "STORE BUFFER[1].x, IMM[0].xxxx, IMM[0].yyyy, COHERENT",
    );
    assert_eq!(clean(&stored, 2, GLOBAL)[..2], [5, 5]);
    let stored = stored.replace("IMM[0].yyyy, COHERENT", "IMM[0].yyyy");
    assert!(race(&stored, 2, GLOBAL).starts_with("atomic access to global memory"));
}

/// The block that comes last adds what the others have left. What orders: a barrier in line 5, for
/// what another warp of the block wrote, and fences in lines 8 and 10.
const LAST: &str = "SHL TEMP[3].x, TEMP[0].wwww, IMM[1].xxxx
USEQ TEMP[3].y, TEMP[0].yyyy, IMM[2].zzzz
UIF TEMP[3].yyyy
STORE BUFFER[0].x, TEMP[3].xxxx, IMM[0].wwww
ENDIF
BARRIER
USEQ TEMP[3].y, TEMP[0].yyyy, IMM[0].xxxx
UIF TEMP[3].yyyy
MEMBAR IMM[0].yyyy
ATOMUADD TEMP[1].x, BUFFER[1], IMM[0].xxxx, IMM[0].yyyy
MEMBAR IMM[0].yyyy
USEQ TEMP[1].x, TEMP[1].xxxx, IMM[2].wwww
UIF TEMP[1].xxxx
LOAD TEMP[1].x, BUFFER[0], IMM[0].xxxx
LOAD TEMP[4].x, BUFFER[0], IMM[0].zzzz
LOAD TEMP[5].x, BUFFER[0], IMM[1].wwww
UADD TEMP[1].x, TEMP[1].xxxx, TEMP[4].xxxx
UADD TEMP[1].x, TEMP[1].xxxx, TEMP[5].xxxx
STORE BUFFER[0].x, IMM[0].xxxx, TEMP[1].xxxx
ENDIF
ENDIF
";

#[test]
fn the_last_of_many_blocks_knows_what_all_of_them_did() {
    assert_eq!(clean(LAST, 4, GLOBAL)[..3], [15, 5, 5]);
    for missing in [5, 8, 10] {
        let said = race(&without(LAST, &[missing]), 4, GLOBAL);
        assert!(said.contains("written by another ") && said.contains("of `out`"), "{missing}: {said}");
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let racy = "USLT TEMP[1].x, TEMP[0].wwww, IMM[2].zzzz
UIF TEMP[1].xxxx
STORE BUFFER[0].x, TEMP[0].xxxx, IMM[0].wwww
ELSE
STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[0].wwww
ENDIF
";
    for grid in [20, 40] {
        let [one, four] = [1, 4].map(|threads| run_on(racy, grid, GLOBAL, threads));
        assert_eq!((&one, one.is_ok()), (&four, grid == 20));
    }
    // The same value from all of them is a note, unless the check is strict.
    assert!(run_on(racy, 20, GLOBAL, 4).is_ok_and(|(_, notes)| notes == 1));
    assert!(run_on(racy, 20, "racecheck=global,racecheck=strict", 1).is_err());
}

#[test]
fn both_sides_of_a_race_are_named() {
    let why = run_on(&without(ACROSS, &[1]), 1, GLOBAL, 1).expect_err("it races");
    let (first, other) = why.split_once("; other: ").expect("the other side");
    for side in [first, other] {
        assert!(side.contains("block (0,0,0) thread ") && side.contains("[k.tgsi:"), "{why}");
    }
    let why = run_on(ACROSS, 2, GLOBAL, 1).expect_err("it races");
    let (first, other) = why.split_once("; other: ").expect("the other side");
    assert!(first.contains("block (1,0,0)") && other.contains("block (0,0,0)"), "{why}");
}

// ---- machine code

/// Runs each of the programs for GK110, one launch each, over one buffer, whose address is in R2,
/// R3. R0: the thread; R1: four times the block.
fn launches(programs: &[&[&str]], grid: u32, block: u32, checks: &str) -> Result<usize, Box<emu::Fault>> {
    let mut memory = emu::Memory::new();
    let buffer = memory.alloc(4096, 16).expect("it fits");
    let mut notes = 0;
    for lines in programs {
        let begin = [
            "MOV R2, c[0x0][0x0]",
            "MOV R3, c[0x0][0x4]",
            "S2R R0, SR_TID.X",
            "S2R R1, SR_CTAID.X",
            "SHL R1, R1, 0x2",
        ];
        let mut words: Vec<u64> = Vec::new();
        for line in begin.iter().chain(*lines).chain(&["EXIT"]) {
            if words.len().is_multiple_of(8) {
                words.push(0x0800_0000_0000_0000);
            }
            let pc = words.len() as u32 * 8;
            let m =
                isa::text::parse(Chip::Gk110, line, pc, &|_| None).unwrap_or_else(|e| panic!("{line}: {e}"));
            words.push(isa::encode(Chip::Gk110, &m, pc).unwrap_or_else(|e| panic!("{line}: {e:?}")));
        }
        let program = emu::Program::new(Chip::Gk110, &words);
        let mut launch = emu::Launch::new(&program);
        (launch.grid, launch.block, launch.shared_bytes) = ([grid, 1, 1], [block, 1, 1], 1024);
        launch.set_const(0, 0, &buffer.to_le_bytes());
        let checks: Checks = checks.parse().expect("names of checkers");
        let mut options = emu::Options { checks, ..emu::Options::default() };
        notes += emu::run(&launch, &mut memory, &mut options)?.notes.len();
    }
    Ok(notes)
}

/// Whether it races: notes, or the fault's text.
fn one(lines: &[&str], grid: u32, block: u32, checks: &str) -> Result<usize, String> {
    launches(&[lines], grid, block, checks).map_err(|f| {
        assert_eq!(f.kind, FaultKind::Race, "{f}");
        f.detail
    })
}

#[test]
fn launches_are_ordered() {
    let write = ["IADD R4.CC, R2, R1", "IADD.X R5, R3, RZ", "ST.E [R4], R1"];
    let read =
        ["LOP.XOR R1, R1, 0x4", "IADD R4.CC, R2, R1", "IADD.X R5, R3, RZ", "LD.E R6, [R4]", "ST.E [R4], R6"];
    assert_eq!(launches(&[&write, &read, &write], 2, 1, GLOBAL), Ok(0));
    let both = [&write[..], &read[..]].concat();
    assert!(one(&both, 2, 1, GLOBAL).is_err_and(|why| why.contains("another block")));
    assert_eq!(one(&both, 2, 1, "all"), Ok(0));
    assert_eq!(one(&both, 1, 1, "racecheck=global").map_err(|_| ()), Ok(0));
}

#[test]
fn the_instructions_of_a_warp_are_ordered() {
    // Each thread reads what its neighbour has written.
    let code = ["SHL R4, R0, 0x2", "STS [R4], R0", "LOP.XOR R4, R4, 0x4", "LDS R5, [R4]", "STS [R4], R5"];
    assert_eq!(one(&code, 1, 64, SHARED), Ok(0));
    let far = ["SHL R4, R0, 0x2", "STS [R4], R0", "LOP.XOR R4, R4, 0x80", "LDS R5, [R4]"];
    assert_eq!(one(&far, 1, 32, SHARED).map_err(|_| ()), Ok(0));
    let why = one(&far, 1, 64, SHARED);
    assert!(why.as_ref().is_err_and(|why| why.contains("shared memory at 0x")), "{why:?}");
    // One instruction, two values.
    let why = one(&["STS [RZ], R0"], 1, 2, SHARED).expect_err("which of them?");
    assert_eq!(
        why,
        "write to shared memory at 0x0, where another thread of the warp writes another value by the same instruction"
    );
    assert!(one(&["ST.E [R2], R0"], 1, 2, GLOBAL).is_err_and(|why| why.contains("the same instruction")));
    assert_eq!(one(&["ST.E [R2], R0"], 1, 2, SHARED), Ok(0));
    assert_eq!(one(&["STS [RZ], R1"], 1, 32, SHARED), Ok(0));
}

#[test]
fn bytes_of_a_word_are_apart() {
    // R4: the warp.
    let warp = "SHR.U32 R4, R0, 0x5";
    assert_eq!(one(&[warp, "IADD R4, R4, 0x1", "STS.U8 [R4], R4", "LDS.U8 R5, [R4]"], 1, 64, SHARED), Ok(0));
    let halves = [warp, "SHL R5, R4, 0x1", "STS.U16 [R5], R4", "LDS.U8 R6, [R5+0x1]"];
    assert_eq!(one(&halves, 1, 64, SHARED), Ok(0));
    let overlap = [warp, "SHL R5, R4, 0x1", "STS.U16 [R5], R4", "LDS.U8 R6, [0x1]"];
    let why = one(&overlap, 1, 64, SHARED).expect_err("the second warp reads what the first one writes");
    assert_eq!(why, "read of shared memory at 0x1, written by another warp without a barrier between");
    // A wide store reaches the word behind.
    let wide = [warp, "SHL R5, R4, 0x3", "MOV R6, R4", "MOV R7, R4", "STS.64 [R5], R6", "LDS R8, [0x8]"];
    assert!(one(&wide, 1, 64, SHARED).is_err_and(|why| why.contains("at 0x8,")));
    let global = [
        "SHR.U32 R4, R0, 0x5",
        "IADD R2.CC, R2, R4",
        "IADD.X R3, R3, RZ",
        "ST.E.U8 [R2], R4",
        "LD.E.U8 R6, [R2]",
    ];
    assert_eq!(one(&global, 1, 64, GLOBAL), Ok(0));
}

#[test]
fn a_constant_outside_its_bank_is_named_with_the_banks_size() {
    let f = launches(&[&["IADD R4, R0, c[0x0][0x140]"]], 1, 1, "memcheck").expect_err("the bank has 8 bytes");
    assert_eq!(
        (f.kind, &*f.detail),
        (FaultKind::OutOfBounds, "4 bytes at c[0x0][0x140]; the bank has 8 bytes")
    );
}
