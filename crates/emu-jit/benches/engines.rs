//! Thread-instructions a second on one core, under each engine: classes of kernels, in GK110's code.
//!
//! Divan's throughput column counts warp instructions times the lanes that executed them.

use divan::Bencher;
use divan::counter::ItemsCount;
use nvir_base::Chip;
use nvir_emu::{Launch, Memory, Options, Program, run};
use nvir_emu_jit::{Choice, Compiled};

#[path = "../../emu/benches/assembler/mod.rs"]
mod assembler;
#[path = "../../emu/benches/scenes/mod.rs"]
mod scenes;

fn main() {
    divan::main();
}

/// What is compared.
const ENGINES: [Choice; 2] = [Choice::Interpreter, Choice::Compiled];

fn assemble(text: &str) -> Program {
    Program::new(Chip::Gk110, &assembler::assemble(text))
}

fn measure(bencher: Bencher<'_, '_>, engine: Choice, text: &str, blocks: u32) {
    measure_with(bencher, engine, text, blocks, 1 << 22);
}

/// With a buffer of so many bytes.
fn measure_with(bencher: Bencher<'_, '_>, engine: Choice, text: &str, blocks: u32, bytes: u64) {
    let program = assemble(text);
    let mut memory = Memory::new();
    let buffer = memory.alloc(bytes, 16).expect("it fits");
    // Pages that nobody has written are all the same one.
    memory.fill(buffer, bytes, &[0]).expect("it is there");
    let mut launch = Launch::new(&program);
    (launch.block, launch.grid) = ([256, 1, 1], [blocks, 1, 1]);
    (launch.gprs, launch.shared_bytes) = (24, 4096);
    launch.set_const(0, 0, &buffer.to_le_bytes());
    launch.set_const(0, 8, &2.0f32.to_le_bytes());
    scenes::textures(&mut launch, &mut memory);
    let engine = engine.engine();
    let mut once = || {
        let mut options = Options { threads: 1, engine: engine.as_deref(), ..Options::default() };
        run(&launch, &mut memory, &mut options).expect("no fault")
    };
    let count = once().thread_instructions;
    bencher.counter(ItemsCount::new(count)).bench_local(once);
}

/// What compiling takes: of each instruction of a short kernel with accesses, if it is decoded and executed once by one warp.
#[divan::bench(args = [None, Some(Compiled::Eager)])]
fn compile(bencher: Bencher<'_, '_>, engine: Option<Compiled>) {
    let code = assembler::assemble(SAXPY);
    let mut memory = Memory::new();
    let buffer = memory.alloc(1 << 22, 16).expect("it fits");
    bencher.counter(ItemsCount::new(SAXPY.trim().lines().count())).bench_local(|| {
        let program = Program::new(Chip::Gk110, &code);
        let mut launch = Launch::new(&program);
        (launch.gprs, launch.block) = (24, [32, 1, 1]);
        launch.set_const(0, 0, &buffer.to_le_bytes());
        launch.set_const(0, 8, &2.0f32.to_le_bytes());
        let engine = engine.as_ref().map(|e| e as _);
        run(&launch, &mut memory, &mut Options { engine, ..Options::default() }).expect("no fault")
    });
}

/// Loops 1000 times over what has addresses in R2, R3 and R1, shared memory's.
fn looped(bencher: Bencher<'_, '_>, engine: Choice, body: &str) {
    let head = "
        S2R R0, SR_TID.X
        MOV R8, RZ
        SHL R1, R0, 0x2
        MOV R2, c[0x0][0x0]
        MOV R3, c[0x0][0x4]
        IADD R2.CC, R2, R1
        IADD.X R3, R3, RZ
        MOV32I R4, 0x3f800000
        MOV32I R5, 0x3f000000
        MOV32I R6, 0x3e800000
        LOOP:";
    let tail = "
        IADD R8, R8, 0x1
        ISETP.LT.AND P0, PT, R8, 0x3e8, PT
        @P0 BRA LOOP
        EXIT";
    measure(bencher, engine, &format!("{head}\n{body}\n{tail}"), 1);
}

#[divan::bench(args = ENGINES)]
fn float_chain(b: Bencher<'_, '_>, engine: Choice) {
    looped(
        b,
        engine,
        "FFMA R4, R4, R5, R6
        FADD R9, R4, R6
        FMUL R10, R9, R5
        FFMA R7, R4, R5, R6
        FFMA R4, R7, R5, R10
        FMUL R4, R4, R5",
    );
}

#[divan::bench(args = ENGINES)]
fn integer_chain(b: Bencher<'_, '_>, engine: Choice) {
    looped(
        b,
        engine,
        "IADD R4, R4, R5
        LOP.XOR R5, R4, R6
        SHL R6, R5, 0x3
        IMAD R7, R4, R5, R6
        ISCADD R4, R4, R7, 0x2
        LOP32I.AND R6, R7, 0xffff",
    );
}

#[divan::bench(args = ENGINES)]
fn global_memory(b: Bencher<'_, '_>, engine: Choice) {
    looped(
        b,
        engine,
        "LD.E R4, [R2]
        LD.E R5, [R2+0x400]
        ST.E [R2+0x800], R4
        LD.E R6, [R2+0xc00]
        ST.E [R2+0x1000], R5
        ST.E [R2+0x1400], R6",
    );
}

/// The same by two and four words a lane.
#[divan::bench(args = ENGINES)]
fn global_memory_wide(b: Bencher<'_, '_>, engine: Choice) {
    looped(
        b,
        engine,
        "MOV R14, c[0x0][0x0]
        MOV R13, R3
        ISCADD R12, R0, R14, 0x4
        LD.E.128 R4, [R12]
        ST.E.128 [R12+0x1000], R4
        ISCADD R12, R0, R14, 0x3
        LD.E.64 R4, [R12+0x800]
        ST.E.64 [R12+0x2000], R4",
    );
}

/// More than the host's caches hold, once: sixteen loads of words in the order of lanes.
#[divan::bench(args = ENGINES, sample_count = 10)]
fn large_memory(b: Bencher<'_, '_>, engine: Choice) {
    let head = "
        S2R R0, SR_TID.X
        S2R R1, SR_CTAID.X
        SHL R0, R0, 0x2
        IMAD R0, R1, 0x4000, R0
        MOV R2, c[0x0][0x0]
        MOV R3, c[0x0][0x4]
        IADD R2.CC, R2, R0
        IADD.X R3, R3, RZ
        MOV R5, RZ";
    let each = "
        LD.E R4, [R2]
        FADD R5, R5, R4
        IADD R2.CC, R2, 0x400
        IADD.X R3, R3, RZ";
    let text = format!("{head}{}\nST.E [R2+-0x400], R5\nEXIT", each.repeat(16));
    const BYTES: u64 = 1 << 27;
    measure_with(b, engine, &text, (BYTES >> 14) as u32, BYTES);
}

#[divan::bench(args = ENGINES)]
fn shared_memory(b: Bencher<'_, '_>, engine: Choice) {
    looped(b, engine, "STS [R1], R4\nLDS R5, [R1]\nLDS R6, [R1]\nSTS [R1+0x400], R5");
}

/// Each lane reads where another one is.
#[divan::bench(args = ENGINES)]
fn gathers(b: Bencher<'_, '_>, engine: Choice) {
    looped(
        b,
        engine,
        "LOP.XOR R9, R1, 0x7c
        STS [R9], R4
        LDS R5, [R1]
        IADD R4, R4, R5
        LDS R6, [R9+0x400]
        IADD R4, R4, R6",
    );
}

#[divan::bench(args = ENGINES)]
fn special_functions(b: Bencher<'_, '_>, engine: Choice) {
    looped(b, engine, "MUFU.RCP R4, R4\nFADD R4, R4, R5\nMUFU.RSQ R6, R4\nFFMA R4, R6, R5, R4");
}

/// Sums of a warp by shuffles, and votes.
#[divan::bench(args = ENGINES)]
fn shuffles(b: Bencher<'_, '_>, engine: Choice) {
    looped(
        b,
        engine,
        "SHFL.BFLY PT, R6, R4, 0x1, 0x1f
        FADD R4, R4, R6
        SHFL.BFLY PT, R6, R4, 0x2, 0x1f
        FADD R4, R4, R6
        VOTE.ANY R7, PT, P0
        IADD R9, R7, R9",
    );
}

#[divan::bench(args = ENGINES)]
fn textures(b: Bencher<'_, '_>, engine: Choice) {
    let body = "TEX.LZ.P R12, R4, 0x0, 2D, 0xf\nFADD R4, R4, R6\nFFMA R5, R12, R4, R13";
    looped(b, engine, body);
}

/// Fragments with a light and a texture, without the rasteriser.
#[divan::bench(args = ENGINES)]
fn fragments_lit_and_textured(b: Bencher<'_, '_>, engine: Choice) {
    let code = assembler::assemble(&scenes::lit("TEX.P R4, R12, 0x0, 2D, 0xf\nTEXDEPBAR 0x0"));
    scenes::fragments(b, engine.engine().as_deref(), &code, 64);
}

#[divan::bench(args = ENGINES)]
fn atomics(b: Bencher<'_, '_>, engine: Choice) {
    looped(b, engine, "RED.E.ADD [R2], R8\nIADD R4, R4, R8");
}

#[divan::bench(args = ENGINES)]
fn reductions(b: Bencher<'_, '_>, engine: Choice) {
    looped(
        b,
        engine,
        "STS [R1], R8
        BAR.SYNC 0x0
        ISETP.LT.AND P1, PT, R0, 0x80, PT
        SSY JOIN
        @!P1 BRA SKIP
        LDS R4, [R1+0x200]
        IADD R5, R4, R5
        STS [R1], R5
        SKIP:
        NOP.S
        JOIN:
        BAR.SYNC 0x0",
    );
}

/// Some tens of iterations, of a different number in each lane.
#[divan::bench(args = ENGINES)]
fn mandelbrot(b: Bencher<'_, '_>, engine: Choice) {
    let text = "
        S2R R0, SR_TID.X
        S2R R1, SR_CTAID.X
        I2F.F32.S32 R2, R0
        I2F.F32.S32 R3, R1
        MOV32I R10, 0x3c000000
        MOV32I R11, 0xbfc00000
        FFMA R2, R2, R10, R11
        FMUL R3, R3, 0.03125
        MOV R4, RZ
        MOV R5, RZ
        MOV R6, RZ
        PBK DONE
        LOOP:
        FMUL R7, R4, R4
        FMUL R8, R5, R5
        FADD R9, R7, R8
        FSETP.GT.AND P0, PT, R9, 4, PT
        @P0 BRK
        FMUL R9, R4, R5
        FADD R7, R7, -R8
        FADD R4, R7, R2
        FADD R9, R9, R9
        FADD R5, R9, R3
        IADD R6, R6, 0x1
        ISETP.LT.AND P1, PT, R6, 0x100, PT
        @P1 BRA LOOP
        BRK
        DONE:
        EXIT";
    measure(b, engine, text, 16);
}

/// Steps of 3n + 1, whose two sides are branches.
#[divan::bench(args = ENGINES)]
fn collatz(b: Bencher<'_, '_>, engine: Choice) {
    let text = "
        S2R R0, SR_TID.X
        S2R R1, SR_CTAID.X
        IMAD R2, R1, 0x100, R0
        IADD R2, R2, 0x2
        MOV R3, RZ
        PBK DONE
        LOOP:
        LOP.AND R4, R2, 0x1
        ISETP.EQ.AND P0, PT, R4, RZ, PT
        SSY JOIN
        @P0 BRA EVEN
        IMAD R2, R2, 0x3, RZ
        IADD R2, R2, 0x1
        NOP.S
        EVEN:
        SHR.U32 R2, R2, 0x1
        NOP.S
        JOIN:
        IADD R3, R3, 0x1
        ISETP.EQ.AND P1, PT, R2, 0x1, PT
        @P1 BRK
        BRA LOOP
        DONE:
        EXIT";
    measure(b, engine, text, 16);
}

const SAXPY: &str = "
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    IMAD R0, R1, 0x100, R0
    SHL R0, R0, 0x2
    MOV R2, c[0x0][0x0]
    MOV R3, c[0x0][0x4]
    IADD R2.CC, R2, R0
    IADD.X R3, R3, RZ
    LD.E R4, [R2]
    LD.E R5, [R2+0x100000]
    FFMA R4, R4, c[0x0][0x8], R5
    ST.E [R2+0x100000], R4
    EXIT";

#[divan::bench(args = ENGINES)]
fn saxpy(b: Bencher<'_, '_>, engine: Choice) {
    measure(b, engine, SAXPY, 1024);
}
