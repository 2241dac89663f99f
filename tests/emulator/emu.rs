//! The emulator as its users see it: programs in SASS, memory, faults by kind and place, and the same result for
//! any number of threads and any bytes as code.

use nvir::emu::engine::{Engine, Interpreter, Lockstep};
use nvir::emu::{Checks, FaultKind, Launch, Memory, Options, Program, Side, Stats, run};
use nvir::{Chip, isa};

/// Assembles GF100 code.
fn assemble_gf100(lines: &[&str]) -> Vec<u64> {
    let word = |(i, line): (usize, &&str)| {
        let pc = i as u32 * 8;
        let m = isa::text::parse(Chip::Gf100, line, pc, &|_| None).unwrap_or_else(|e| panic!("{line}: {e}"));
        isa::encode(Chip::Gf100, &m, pc).unwrap_or_else(|e| panic!("{line}: {e:?}"))
    };
    lines.iter().enumerate().map(word).collect()
}

/// Assembles GK110 code with empty scheduling words.
fn assemble(lines: &[&str]) -> Vec<u64> {
    let mut words: Vec<u64> = Vec::new();
    for line in lines {
        if words.len().is_multiple_of(8) {
            words.push(0x0800_0000_0000_0000);
        }
        let pc = words.len() as u32 * 8;
        let m = isa::text::parse(Chip::Gk110, line, pc, &|_| None).unwrap_or_else(|e| panic!("{line}: {e}"));
        words.push(isa::encode(Chip::Gk110, &m, pc).unwrap_or_else(|e| panic!("{line}: {e:?}")));
    }
    words
}

/// Puts the address of the buffer that c[0x0][0x0] names into R2, R3.
const ADDRESS: [&str; 2] = ["MOV R2, c[0x0][0x0]", "MOV R3, c[0x0][0x4]"];

struct Setup {
    block: u32,
    grid: u32,
    checks: Checks,
    threads: usize,
    step_limit: u64,
    first: Side,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            block: 1,
            grid: 1,
            checks: Checks::ALL,
            threads: 1,
            step_limit: 1_000_000,
            first: Side::Taken,
        }
    }
}

/// Runs code on a 4 KiB buffer; gives the fault's kind and place, or the buffer's first words.
fn execute(words: &[u64], chip: Chip, s: &Setup) -> Result<Vec<u32>, Box<nvir::emu::Fault>> {
    execute_with_stats(words, chip, s).map(|(out, _)| out)
}

fn execute_with_stats(
    words: &[u64],
    chip: Chip,
    s: &Setup,
) -> Result<(Vec<u32>, Stats), Box<nvir::emu::Fault>> {
    let program = Program::new(chip, words);
    let mut memory = Memory::new();
    let buffer = memory.alloc(4096, 16).expect("it fits");
    let mut launch = Launch::new(&program);
    launch.kernel = "test".to_string();
    launch.block = [s.block, 1, 1];
    launch.grid = [s.grid, 1, 1];
    launch.shared_bytes = 1024;
    launch.local_bytes = 256;
    launch.set_const(0, 0, &buffer.to_le_bytes());
    let mut options = Options {
        checks: s.checks,
        threads: s.threads,
        step_limit: s.step_limit,
        first: s.first,
        ..Options::default()
    };
    let stats = run(&launch, &mut memory, &mut options)?;
    let bytes = memory.read(buffer, 4096).expect("it is there");
    Ok((bytes.chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect(), stats))
}

fn run_sass(lines: &[&str], s: &Setup) -> Result<Vec<u32>, Box<nvir::emu::Fault>> {
    execute(&assemble(&[&ADDRESS[..], lines].concat()), Chip::Gk110, s)
}

/// The fault of code that follows [`ADDRESS`].
fn fault(lines: &[&str], s: &Setup) -> nvir::emu::Fault {
    *run_sass(lines, s).expect_err("it must fault")
}

/// The address of instruction `n` (from 0) after [`ADDRESS`].
fn address_of(n: u32) -> u32 {
    let n = n + 2;
    (n / 7 * 8 + n % 7 + 1) * 8
}

#[test]
fn a_misaligned_pair_is_a_fault_at_the_store() {
    let f = fault(&["MOV R4, RZ", "MOV R5, RZ", "ST.E.64 [R2+0x4], R4", "EXIT"], &Setup::default());
    assert_eq!((f.kind, f.place.pc), (FaultKind::Misaligned, address_of(2)));
    assert_eq!(f.place.instruction, "ST.E.64 [R2+0x4], R4");
}

#[test]
fn the_thread_beyond_the_buffer_is_named() {
    let code = [
        "S2R R0, SR_TID.X",
        "SHL R1, R0, 0x7",
        "IADD R2.CC, R2, R1",
        "IADD.X R3, R3, RZ",
        "ST.E [R2], R0",
        "EXIT",
    ];
    let f = fault(&code, &Setup { block: 64, ..Setup::default() });
    assert_eq!((f.kind, f.place.thread, f.place.pc), (FaultKind::OutOfBounds, [32, 0, 0], address_of(4)));
}

#[test]
fn without_memcheck_bad_writes_are_dropped() {
    let checks = Checks { memory: false, ..Checks::default() };
    let out = run_sass(
        &["MOV32I R0, 0x7", "ST.E [R2+0x8000], R0", "ST.E [R2], R0", "EXIT"],
        &Setup { checks, ..Setup::default() },
    );
    assert_eq!(out.unwrap()[0], 7);
}

#[test]
fn an_unwritten_register_is_reported_where_it_was_first_read() {
    let code = ["IADD R5, R4, 0x1", "MOV R6, R5", "ST.E [R2], R6", "EXIT"];
    let f = fault(&code, &Setup::default());
    assert_eq!((f.kind, f.place.pc), (FaultKind::Uninitialized, address_of(0)));
    assert_eq!(f.other.expect("the store").pc, address_of(2));
}

#[test]
fn undefined_bits_that_are_masked_off_are_fine() {
    let code = [
        "LOP32I.AND R5, R4, 0x0",
        "PRMT R6, RZ, 0x7610, R4",
        "BFE.U32 R6, R6, 0x1000",
        "ST.E [R2], R5",
        "EXIT",
    ];
    assert!(run_sass(&code, &Setup::default()).is_ok());
}

#[test]
fn unwritten_shared_memory_is_reported_where_it_was_loaded_if_it_matters() {
    let code = ["MOV32I R0, 0x10", "LDS R4, [R0]", "IADD R5, R4, 0x1", "ST.E [R2], R5", "EXIT"];
    let f = fault(&code, &Setup::default());
    assert_eq!((f.kind, f.place.pc), (FaultKind::Uninitialized, address_of(1)));
    let code = ["MOV32I R0, 0x10", "LDS R4, [R0]", "IADD R5, R4, 0x1", "ST.E [R2], R0", "EXIT"];
    assert!(run_sass(&code, &Setup::default()).is_ok());
}

#[test]
fn a_barrier_that_half_a_warp_reaches_is_divergent() {
    let code = ["S2R R0, SR_TID.X", "ISETP.LT.AND P0, PT, R0, 0x10, PT", "@P0 BAR.SYNC 0x0", "EXIT"];
    let f = fault(&code, &Setup { block: 32, ..Setup::default() });
    assert_eq!((f.kind, f.place.pc), (FaultKind::DivergentBarrier, address_of(2)));
}

#[test]
fn warps_at_different_barriers_are_deadlocked() {
    let code = [
        "S2R R0, SR_TID.X",
        "ISETP.LT.AND P0, PT, R0, 0x20, PT",
        "@P0 BAR.SYNC 0x1, 0x40",
        "@!P0 BAR.SYNC 0x2, 0x40",
        "EXIT",
    ];
    let f = fault(&code, &Setup { block: 64, ..Setup::default() });
    assert_eq!((f.kind, f.place.pc), (FaultKind::Deadlock, address_of(2)));
    assert_eq!(f.other.expect("the other warp").pc, address_of(3));
}

#[test]
fn a_barrier_orders_what_would_race() {
    let race = [
        "S2R R0, SR_TID.X",
        "SHL R1, R0, 0x2",
        "STS [R1], R0",
        "LOP32I.XOR R1, R1, 0x80",
        "LDS R4, [R1]",
        "ST.E [R2], R4",
        "EXIT",
    ];
    let s = Setup { block: 64, checks: Checks { init: false, ..Checks::ALL }, ..Setup::default() };
    let f = fault(&race, &s);
    assert_eq!((f.kind, f.place.pc), (FaultKind::Race, address_of(2)));
    assert_eq!(f.other.expect("the read").pc, address_of(4));
    let mut fine = race.to_vec();
    fine.insert(3, "BAR.SYNC 0x0");
    fine[6] = "NOP";
    assert!(run_sass(&fine, &s).is_ok());
}

#[test]
fn reductions_at_barriers_reach_every_warp() {
    let s = Setup { block: 96, ..Setup::default() };
    let gk110 = [
        "S2R R0, SR_TID.X",
        "ISETP.GT.AND P0, PT, R0, 0x5, PT",
        "BAR.RED.POPC 0x0, P0",
        "B2R.RESULT R4",
        "ISCADD R2.CC, R0, R2, 0x2",
        "IADD.X R3, R3, RZ",
        "ST.E [R2], R4",
        "EXIT",
    ];
    assert_eq!(run_sass(&gk110, &s).unwrap()[..96], [90; 96]);
    let gf100 = [
        "S2R R0, SR_TID.X",
        "ISETP.GT.AND P0, PT, R0, 0x5, PT",
        "BAR.RED.POPC PT, R4, 0x0, RZ, P0",
        "ISCADD R2.CC, R0, R2, 0x2",
        "IADD.X R3, R3, RZ",
        "ST.E [R2], R4",
        "EXIT",
    ];
    let words = assemble_gf100(&[&ADDRESS[..], &gf100].concat());
    assert_eq!(execute(&words, Chip::Gf100, &s).unwrap()[..96], [90; 96]);
}

#[test]
fn a_uniform_branch_is_taken_by_the_whole_warp_or_not_at_all() {
    let to = address_of(8);
    let (branch, push) = (format!("@P0 BRA.U {to:#x}"), format!("SSY {to:#x}"));
    let code = [
        "S2R R0, SR_TID.X",
        "ISETP.GT.AND P0, PT, R0, 0x5, PT",
        "MOV32I R4, 0x1",
        &branch,
        &push,
        "@P0 NOP.S",
        "MOV32I R4, 0x2",
        "NOP.S",
        // A part of a warp would be a fault here.
        "BAR.SYNC 0x0",
        "ISCADD R2.CC, R0, R2, 0x2",
        "IADD.X R3, R3, RZ",
        "ST.E [R2], R4",
        "EXIT",
    ];
    let left = run_sass(&code, &Setup { block: 64, ..Setup::default() }).unwrap();
    assert_eq!(left[..64], std::array::from_fn::<u32, 64, _>(|n| if n > 5 { 1 } else { 2 }));
}

#[test]
fn misuse_of_the_divergence_stack_is_a_fault() {
    assert_eq!(fault(&["NOP.S", "EXIT"], &Setup::default()).kind, FaultKind::Stack);
    assert_eq!(fault(&["RET"], &Setup::default()).kind, FaultKind::Stack);
    assert_eq!(fault(&["CAL 0x8"], &Setup::default()).kind, FaultKind::Stack);
}

#[test]
fn traps_endless_loops_and_bad_words_stop() {
    assert_eq!(fault(&["BPT.TRAP", "EXIT"], &Setup::default()).kind, FaultKind::Trap);
    assert_eq!(fault(&["BRA 0x18"], &Setup::default()).kind, FaultKind::StepLimit);
    assert_eq!(
        execute(&[u64::MAX], Chip::Gk110, &Setup::default()).unwrap_err().kind,
        FaultKind::IllegalInstruction
    );
    assert_eq!(fault(&["NOP"], &Setup::default()).kind, FaultKind::OutOfBounds);
}

#[test]
fn sums_over_blocks_do_not_depend_on_the_number_of_threads() {
    // Each thread takes a ticket and leaves its block's number there: the order of blocks shows.
    let code = [
        "S2R R0, SR_CTAID.X",
        "MOV32I R4, 0x1",
        "ATOM.E.ADD R5, [R2], R4",
        "SHL R5, R5, 0x2",
        "IADD R6.CC, R2, R5",
        "IADD.X R7, R3, RZ",
        "ST.E [R6+0x10], R0",
        "RED.E.ADD [R2+0x4], R0",
        "EXIT",
    ];
    let result =
        |threads| run_sass(&code, &Setup { block: 8, grid: 40, threads, ..Setup::default() }).unwrap();
    let one = result(1);
    assert_eq!((one[0], one[1]), (320, 8 * (39 * 40 / 2)));
    for threads in [2, 3, 8] {
        assert_eq!(result(threads), one);
    }
}

#[test]
fn any_bytes_as_code_end_in_a_fault_or_normally() {
    for chip in Chip::ALL {
        arbtest::arbtest(|u| {
            let words: Vec<u64> = u.arbitrary()?;
            let words: Vec<u64> = words.into_iter().take(64).collect();
            let s = Setup { block: 40, grid: 3, step_limit: 2000, ..Setup::default() };
            let _ = execute(&words, chip, &s);
            let _ = execute(
                &words,
                chip,
                &Setup { checks: Checks { memory: false, ..Checks::default() }, threads: 2, ..s },
            );
            Ok(())
        })
        .budget_ms(400);
    }
}

/// Words that decode are rare among random ones: bits of real instructions are flipped instead.
#[test]
fn damaged_instructions_end_in_a_fault_or_normally() {
    let code = assemble(&[
        "S2R R0, SR_TID.X",
        "SSY 0x50",
        "ISETP.LT.AND P0, PT, R0, 0x5, PT",
        "@P0 BRA 0x48",
        "LD.E.64 R4, [R2]",
        "NOP.S",
        "DFMA R4, R4, R6, R8",
        "STS.64 [R1], R4",
        "BAR.RED.POPC 0x0, P0",
        "SHFL.IDX PT, R0, R0, R6, 0x1f",
        "LDC.64 R4, c[0x1][R0+0x30]",
        "TEX.LZ.P R4, R2, 0x0, 2D, 0xf",
        "ATOM.E.ADD.U64 R4, [R8], R4",
        "BRX R0",
        "F2I.S64.F64 R4, R6",
        "I2F.F64.U64 R4, R6",
        "VADD.U8.U16.SAT R0, R0, R6, R7",
        "PBK 0x40",
        "BRK",
        "PCNT 0x8",
        "CONT",
        "CAL 0x30",
        "RET",
        "LDSLK P0, R5, [R6]",
        "STSCUL P0, [R6], R5",
        "PRMT R0, R0, R5, R1",
        "EXIT",
    ]);
    let mut random = nvir::random::Random::new(0);
    for _ in 0..3000 {
        let mut words = code.clone();
        for _ in 0..1 + random.word() % 4 {
            let at = random.word() as usize % words.len();
            words[at] ^= 1 << (random.word() % 64);
        }
        let s = Setup { block: 33, grid: 2, step_limit: 3000, ..Setup::default() };
        let _ = execute(&words, Chip::Gk110, &s);
    }
}

/// Carry and sign are set, then lost and brought back.
#[test]
fn p2r_and_r2p_keep_the_condition_code_in_bits_12_to_15() {
    let code = [
        "MOV32I R4, 0xffffffff",
        "ISETP.EQ.AND P1, PT, RZ, RZ, PT",
        "ISETP.NE.AND P0, P2, RZ, RZ, PT",
        "IADD RZ.CC, R4, R4",
        "P2R R5, PR, RZ, 0xf000",
        "P2R R6, PR, R4, 0x3007",
        "IADD RZ.CC, RZ, RZ",
        "P2R R7, PR, RZ, 0xf007",
        "R2P PR, R5, 0xf000",
        "IADD.X R8, RZ, RZ",
        "CSETP.SFT.AND P3, PT, CC, PT",
        "SEL R9, R4, RZ, P3",
        "R2P PR, R4, 0x1000",
        "P2R R10, PR, RZ, 0xf007",
        "ST.E [R2], R5",
        "ST.E [R2+0x4], R6",
        "ST.E [R2+0x8], R7",
        "ST.E [R2+0xc], R8",
        "ST.E [R2+0x10], R9",
        "ST.E [R2+0x14], R10",
        "EXIT",
    ];
    let out = run_sass(&code, &Setup::default()).expect("no fault");
    // Sign and carry; in the first bits P1 and P2.
    assert_eq!(out[..6], [0x6000, 0xffff_effe, 0x1006, 1, u32::MAX, 0x7006]);
}

#[test]
fn flags_that_nothing_has_written_stay_so_through_p2r_and_r2p() {
    let code = ["P2R R5, PR, RZ, 0xf000", "LOP32I.AND R6, R5, 0xfff", "ST.E [R2], R6", "EXIT"];
    assert!(run_sass(&code, &Setup::default()).is_ok());
    let code = ["P2R R5, PR, RZ, 0xf000", "ST.E [R2], R5", "EXIT"];
    let f = fault(&code, &Setup::default());
    assert_eq!((f.kind, f.place.pc), (FaultKind::Uninitialized, address_of(0)));
    let code = ["R2P PR, RZ, 0x3000", "IADD.X R5, RZ, RZ", "ST.E [R2], R5", "EXIT"];
    assert_eq!(fault(&code, &Setup::default()).kind, FaultKind::Uninitialized);
    let code = ["R2P PR, RZ, 0xf000", "IADD.X R5, RZ, RZ", "ST.E [R2], R5", "EXIT"];
    assert!(run_sass(&code, &Setup::default()).is_ok());
}

/// Counts the block's threads in a word of shared memory, in a loop whose losers go back while the winners still hold
/// the lock: it ends only if those that branch to the update run first.
const LOCK_LOOP: [&str; 15] = [
    "STS [RZ], RZ",
    "BAR.SYNC 0x0",
    "ISETP.NE.AND P1, PT, RZ, RZ, PT",
    "SSY 0x78",
    "LDSLK P0, R4, [RZ]", // 0x38
    "@P0 BRA 0x58",
    "BRA 0x68",
    "IADD R4, R4, 0x1", // 0x58
    "STSCUL P1, [RZ], R4",
    "@!P1 BRA 0x38", // 0x68
    "NOP.S",
    "BAR.SYNC 0x0", // 0x78
    "LDS R5, [RZ]",
    "ST.E [R2], R5",
    "EXIT",
];

#[test]
fn a_lock_loop_ends_because_the_lanes_that_take_a_branch_run_first() {
    let s = Setup { block: 64, checks: Checks { init: false, ..Checks::ALL }, ..Setup::default() };
    assert_eq!(run_sass(&LOCK_LOOP, &s).expect("it ends")[0], 64);
    let s = Setup { first: Side::FallThrough, step_limit: 100_000, ..s };
    assert_eq!(fault(&LOCK_LOOP, &s).kind, FaultKind::StepLimit);
}

/// What `n` warps do when each stores R4 (and R5) to the first bytes of shared memory.
fn race(store: &[&str], block: u32, checks: Checks) -> Result<usize, FaultKind> {
    let code = [&ADDRESS[..], &["S2R R0, SR_TID.X"], store, &["BAR.SYNC 0x0", "EXIT"]].concat();
    let s = Setup { block, checks, ..Setup::default() };
    execute_with_stats(&assemble(&code), Chip::Gk110, &s)
        .map(|(_, stats)| stats.notes.len())
        .map_err(|f| f.kind)
}

#[test]
fn warps_that_write_the_same_value_are_noted_and_a_race_if_the_check_is_strict() {
    let strict = Checks { strict_race: true, ..Checks::ALL };
    let same = ["MOV32I R4, 0x12345678", "STS [RZ], R4"];
    assert_eq!(race(&same, 32, strict), Ok(0));
    assert_eq!(race(&same, 128, Checks::ALL), Ok(1));
    assert_eq!(race(&same, 128, strict), Err(FaultKind::Race));
    let by_warp = ["SHR.U32 R4, R0, 0x5", "STS [RZ], R4"];
    assert_eq!(race(&by_warp, 32, Checks::ALL), Ok(0));
    assert_eq!(race(&by_warp, 64, Checks::ALL), Err(FaultKind::Race));
}

#[test]
fn every_byte_of_a_store_counts_when_two_threads_write_the_same_place() {
    // The low words agree, the high words do not; of the bytes that are stored the values agree.
    let high = ["MOV32I R4, 0x1", "MOV R5, R0", "STS.64 [RZ], R4"];
    assert_eq!(race(&high, 2, Checks::ALL), Err(FaultKind::Race));
    let byte = ["SHL R4, R0, 0x8", "STS.U8 [RZ], R4"];
    assert_eq!(race(&byte, 2, Checks::ALL), Ok(0));
}

#[test]
fn notes_do_not_depend_on_the_number_of_threads() {
    let words = assemble(&["MOV32I R4, 0x7", "STS [RZ], R4", "EXIT"]);
    let notes = |threads| {
        let s = Setup { block: 64, grid: 40, threads, ..Setup::default() };
        execute_with_stats(&words, Chip::Gk110, &s).expect("no fault").1.notes
    };
    assert_eq!(notes(1).len(), 1);
    assert_eq!(notes(1)[0].what.place.block, [0; 3]);
    assert_eq!(notes(4), notes(1));
}

/// The interpreter held against itself, block by block: blocks that take turns, barriers, locks, and where a fault is.
#[test]
fn engines_in_lockstep_give_what_the_interpreter_gives() {
    let store = [
        "S2R R4, SR_TID.X",
        "ISCADD R2, R4, R2, 0x2",
        "S2R R5, SR_CLOCKLO",
        "BAR.SYNC 0x0",
        "ST.E [R2], R5",
        "EXIT",
    ];
    let outside = ["S2R R4, SR_TID.X", "ISCADD R2, R4, R2, 0x8", "ST.E [R2], R4", "EXIT"];
    for lines in [&store[..], &outside] {
        let program = Program::new(Chip::Gf100, &assemble_gf100(&[&ADDRESS, lines].concat()));
        let with = |engine: Option<&dyn Engine>| {
            let mut memory = Memory::new();
            let buffer = memory.alloc(4096, 16).expect("it fits");
            let mut launch = Launch::new(&program);
            (launch.block, launch.grid) = ([80, 1, 1], [3, 1, 1]);
            launch.set_const(0, 0, &buffer.to_le_bytes());
            let stats = run(&launch, &mut memory, &mut Options { engine, ..Options::default() });
            (stats.map_err(|f| f.to_string()), memory.read(buffer, 4096).expect("it is there"))
        };
        assert_eq!(with(Some(&Lockstep::new(&Interpreter, &Interpreter))), with(None));
    }
}

#[test]
fn what_no_card_has_is_an_illegal_instruction() {
    for line in ["SHF.L.U64.HI R4, RZ, RZ, RZ", "SHF.L.HI R4, RZ, 0x1, RZ", "F2I.U8.F32 R4, RZ"] {
        let f = fault(&[line, "EXIT"], &Setup::default());
        assert_eq!((f.kind, f.place.pc), (FaultKind::IllegalInstruction, address_of(0)), "{line}");
    }
    for line in ["SHF.L.U64 R4, RZ, RZ, RZ", "SHF.R.U64.HI R4, RZ, RZ, RZ", "F2I.U16.F32 R4, RZ"] {
        assert!(run_sass(&[line, "EXIT"], &Setup::default()).is_ok(), "{line}");
    }
}

/// SASS text writes the value of the 16 bits that the instruction has (nvdisasm 11.8 reads 0xc540001e001c1801 so).
#[test]
fn an_immediate_half_is_converted_from_its_16_bits() {
    assert_eq!(
        isa::decode(Chip::Gk110, 0xc540_001e_001c_1801, 8)
            .map(|m| isa::text::print(Chip::Gk110, &m))
            .as_deref(),
        Some("F2F.F32.F16 R0, 1")
    );
    let run =
        |line: &str| run_sass(&[line, "ST.E [R2], R4", "EXIT"], &Setup::default()).expect("no fault")[0];
    assert_eq!(run("F2F.F32.F16 R4, 1"), 1f32.to_bits());
    assert_eq!(run("F2F.F32.F16 R4, -0.5"), (-0.5f32).to_bits());
    assert_eq!(run("F2F.F32.F16 R4, 5.9604644775390625e-08"), 2f32.powi(-24).to_bits());
    assert_eq!(run("F2I.S32.F16 R4, 2"), 2);
}

/// On GF100: four lanes of the immediate 5 as its lowest byte is chosen for all, or as it stands.
#[test]
fn lanes_of_an_immediate_are_chosen_as_those_of_a_register() {
    let run = |line: &str| {
        let code = ["MOV R2, c[0x0][0x0]", "MOV R3, c[0x0][0x4]", "MOV32I R4, 0x1020304", line];
        let words = assemble_gf100(&[&code[..], &["ST.E [R2], R5", "EXIT"]].concat());
        execute(&words, Chip::Gf100, &Setup::default()).expect("no fault")[0]
    };
    assert_eq!(run("VADD4.UD.U8.U8 R5, R4, 0x5, RZ"), 0x0102_0309);
    assert_eq!(run("VADD4.UD.U8.U8 R5, R4, 0x5.4444, RZ"), 0x0607_0809);
}

#[test]
fn the_profile_counts_requests_at_the_end_of_the_address_space() {
    let words = assemble(&[ADDRESS[0], ADDRESS[1], "LD.E R0, [R2]", "EXIT"]);
    let program = Program::new(Chip::Gk110, &words);
    let mut launch = Launch::new(&program);
    launch.set_const(0, 0, &(u64::MAX - 2).to_le_bytes());
    let checks = Checks { memory: false, ..Checks::default() };
    let mut options = Options { profile: true, checks, ..Options::default() };
    let stats = run(&launch, &mut Memory::new(), &mut options).expect("without memcheck a bad read gives 0");
    let profile = stats.profile.expect("it was asked for");
    assert_eq!(profile.by_pc.values().map(|c| c.transactions).sum::<u64>(), 1);
}
