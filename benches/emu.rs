//! How many thread-instructions a second the emulator executes on one core, and how blocks scale.
//!
//! Divan's throughput column counts thread-instructions: warp instructions times the lanes that executed them. `crates/emu/benches`
//! has more kernels, and fragments.

use divan::Bencher;
use divan::counter::ItemsCount;
use nvir::emu::{Launch, Memory, Options, Program, run};
use nvir::{Chip, isa};

fn main() {
    divan::main();
}

/// Assembles GK110 code; each scheduling word is zero.
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

/// Loops 1000 times over `body`, which starts at address 0x40.
fn kernel(body: &[&str]) -> Vec<u64> {
    let head = [
        "S2R R0, SR_TID.X",
        "MOV R8, RZ",
        "SHL R1, R0, 0x2",
        "MOV R2, c[0x0][0x0]",
        "MOV R3, c[0x0][0x4]",
        "IADD R2.CC, R2, R1",
        "IADD.X R3, R3, RZ",
    ];
    let tail = ["IADD R8, R8, 0x1", "ISETP.LT.AND P0, PT, R8, 0x3e8, PT", "@P0 BRA 0x48", "EXIT"];
    assemble(&head.iter().chain(body).chain(&tail).copied().collect::<Vec<_>>())
}

fn measure(bencher: Bencher<'_, '_>, body: &[&str], blocks: u32, threads: usize) {
    let program = Program::new(Chip::Gk110, &kernel(body));
    let mut memory = Memory::new();
    let buffer = memory.alloc(1 << 16, 16).expect("it fits");
    let mut launch = Launch::new(&program);
    launch.block = [256, 1, 1];
    launch.grid = [blocks, 1, 1];
    launch.gprs = 32;
    launch.shared_bytes = 4096;
    launch.set_const(0, 0, &buffer.to_le_bytes());
    let mut once =
        || run(&launch, &mut memory, &mut Options { threads, ..Options::default() }).expect("no fault");
    let count = once().thread_instructions;
    bencher.counter(ItemsCount::new(count)).bench_local(once);
}

const FLOAT: [&str; 6] = [
    "FFMA R4, R4, R5, R6",
    "FADD R5, R4, R6",
    "FMUL R6, R5, c[0x0][0x0]",
    "FFMA R7, R4, R5, R6",
    "FADD R4, R4, 1",
    "FFMA R6, R7, R5, R4",
];

const INTEGER: [&str; 6] = [
    "IADD R4, R4, R5",
    "LOP.XOR R5, R4, R6",
    "SHL R6, R5, 0x3",
    "IMAD R7, R4, R5, R6",
    "ISCADD R4, R4, R7, 0x2",
    "LOP32I.AND R6, R7, 0xffff",
];

const MEMORY: [&str; 6] = [
    "LD.E R4, [R2]",
    "LD.E R5, [R2+0x400]",
    "ST.E [R2+0x800], R4",
    "LD.E R6, [R2+0xc00]",
    "ST.E [R2+0x1000], R5",
    "ST.E [R2+0x1400], R6",
];

const SHARED: [&str; 4] = ["STS [R1], R4", "LDS R5, [R1]", "LDS R6, [R1]", "STS [R1+0x400], R5"];

#[divan::bench]
fn integer(b: Bencher<'_, '_>) {
    measure(b, &INTEGER, 1, 1);
}

#[divan::bench]
fn float(b: Bencher<'_, '_>) {
    measure(b, &FLOAT, 1, 1);
}

#[divan::bench]
fn global_memory(b: Bencher<'_, '_>) {
    measure(b, &MEMORY, 1, 1);
}

#[divan::bench]
fn shared_memory(b: Bencher<'_, '_>) {
    measure(b, &SHARED, 1, 1);
}

#[divan::bench(args = [1, 2, 4])]
fn blocks_on_threads(b: Bencher<'_, '_>, threads: usize) {
    measure(b, &INTEGER, 16, threads);
}
