//! Thread-instructions a second of the emulator on one core, for each class of kernel: arithmetic with full and divergent warps,
//! memory by pattern, short kernels, special functions, textures, atomics, fragments.

use divan::Bencher;
use divan::counter::ItemsCount;
use nvir_base::Chip;
use nvir_emu::{Launch, Memory, Options, Program, run};

mod assembler;
mod scenes;

use assembler::assemble;
use scenes::lit;

fn main() {
    divan::main();
}

/// R0: the thread's number in the grid; R2 and R3: the address of its word in a buffer.
const HEAD: &str = "
    S2R R0, SR_CTAID.X
    S2R R1, SR_TID.X
    IMAD R0, R0, 0x100, R1
    SHL R4, R0, 0x2
    MOV R2, c[0x0][0x0]
    MOV R3, c[0x0][0x4]
    IADD R2.CC, R2, R4
    IADD.X R3, R3, RZ
";

/// Where everything is: addresses of two buffers of zeros at 0 and 8, a step in the complex plane at 16, 1000 at 24,
/// a number of many digits at 28.
struct Setup {
    grid: [u32; 3],
    block: [u32; 3],
}

const BLOCKS: Setup = Setup { grid: [64, 1, 1], block: [256, 1, 1] };

fn measure(bencher: Bencher<'_, '_>, setup: &Setup, source: &str) {
    let program = Program::new(Chip::Gk110, &assemble(source));
    let mut memory = Memory::new();
    let [a, b] = [(); 2].map(|()| memory.alloc(1 << 20, 16).expect("it fits"));
    let mut launch = Launch::new(&program);
    scenes::textures(&mut launch, &mut memory);
    (launch.grid, launch.block) = (setup.grid, setup.block);
    launch.gprs = 32;
    launch.shared_bytes = 4096;
    launch.set_const(0, 0, &a.to_le_bytes());
    launch.set_const(0, 8, &b.to_le_bytes());
    launch.set_const_u32(0, 16, (3.0f32 / 256.0).to_bits());
    launch.set_const_u32(0, 20, (-2.0f32).to_bits());
    launch.set_const_u32(0, 24, 1000);
    launch.set_const_u32(0, 28, 0.731_058_6f32.to_bits());
    let mut once =
        || run(&launch, &mut memory, &mut Options { threads: 1, ..Options::default() }).expect("no fault");
    let count = once().thread_instructions;
    bencher.counter(ItemsCount::new(count)).bench_local(once);
}

/// A loop of `times` over `body`, which may use all registers from R5 on but R20.
fn repeat(times: u32, before: &str, body: &str) -> String {
    format!(
        "{HEAD}{before}
        MOV R20, RZ
        loop:
        {body}
        IADD R20, R20, 0x1
        ISETP.LT.AND P0, PT, R20, {times:#x}, PT
        @P0 BRA loop
        EXIT"
    )
}

#[divan::bench]
fn float_chain(b: Bencher<'_, '_>) {
    let before = "I2F.F32.U32 R5, R0
        MOV R6, c[0x0][0x1c]
        MOV R7, R6";
    let body = "FFMA R7, R5, R6, R6
        FFMA R5, R7, c[0x0][0x1c], R6
        FMUL R8, R5, R7
        FADD R7, R8, R6
        FFMA R5, -R7, R6, R8
        FMNMX R5, R5, 1, PT
        FADD R5, R5, R7";
    measure(b, &Setup { grid: [8, 1, 1], ..BLOCKS }, &repeat(200, before, body));
}

/// Sums that end between two floats, or below the normal ones: exact where there is no instruction for a fused multiply-add.
#[divan::bench]
fn float_chain_of_ties(b: Bencher<'_, '_>) {
    let before = "I2F.F32.U32 R5, R0
        MOV R6, c[0x0][0x10]
        FMUL R7, R5, R6";
    let body = "FFMA R7, R5, R6, R7
        FADD R5, R7, R6
        FMUL R7, R7, c[0x0][0x10]
        FFMA R5, R5, R6, -R7
        FADD R7, R7, 1
        FFMA R5, R7, R6, R5
        FMNMX R5, R5, 1, PT";
    measure(b, &Setup { grid: [8, 1, 1], ..BLOCKS }, &repeat(200, before, body));
}

#[divan::bench]
fn integer_chain(b: Bencher<'_, '_>) {
    let body = "IADD R5, R5, R0
        LOP.XOR R6, R5, R7
        SHL R7, R6, 0x3
        IMAD R8, R5, R6, R7
        ISCADD R5, R5, R8, 0x2
        LOP32I.AND R7, R8, 0xffff";
    measure(b, &Setup { grid: [8, 1, 1], ..BLOCKS }, &repeat(200, "", body));
}

#[divan::bench]
fn mandelbrot(b: Bencher<'_, '_>) {
    let code = format!(
        "{HEAD}
        LOP.AND R4, R0, 0xff
        SHR.U32 R5, R0, 0x8
        I2F.F32.U32 R4, R4
        I2F.F32.U32 R5, R5
        MOV R6, c[0x0][0x14]
        FFMA R4, R4, c[0x0][0x10], R6
        FMUL R5, R5, c[0x0][0x10]
        MOV R6, RZ
        MOV R7, RZ
        MOV R8, RZ
        PBK end
        loop:
        FMUL R9, R6, R6
        FMUL R10, R7, R7
        FADD R11, R9, R10
        FSETP.GT.AND P0, PT, R11, 4, PT
        @P0 BRK
        FADD R9, R9, -R10
        FADD R11, R6, R6
        FADD R6, R9, R4
        FFMA R7, R11, R7, R5
        IADD R8, R8, 0x1
        ISETP.LT.AND P0, PT, R8, 0x80, PT
        @P0 BRA loop
        BRK
        end:
        ST.E [R2], R8
        EXIT"
    );
    measure(b, &BLOCKS, &code);
}

#[divan::bench]
fn collatz(b: Bencher<'_, '_>) {
    let code = format!(
        "{HEAD}
        IADD R4, R0, 0x1b
        MOV R5, RZ
        MOV R6, RZ
        PBK end
        loop:
        ISETP.EQ.U32.AND P0, PT, R4, 0x1, PT
        ISETP.EQ.U32.AND P0, PT, R5, RZ, P0
        @P0 BRK
        LOP.AND R7, R4, 0x1
        ISETP.EQ.AND P1, PT, R7, RZ, PT
        SSY join
        @P1 BRA even
        IADD R8.CC, R4, R4
        IADD.X R9, R5, R5
        IADD R4.CC, R4, R8
        IADD.X R5, R5, R9
        IADD R4.CC, R4, 0x1
        IADD.X R5, R5, RZ
        NOP.S
        even:
        SHR.U32 R4, R4, 0x1
        SHL R8, R5, 0x1f
        LOP.OR R4, R4, R8
        SHR.U32 R5, R5, 0x1
        NOP.S
        join:
        IADD R6, R6, 0x1
        BRA loop
        end:
        ST.E [R2], R6
        EXIT"
    );
    measure(b, &Setup { grid: [8, 1, 1], ..BLOCKS }, &code);
}

#[divan::bench]
fn global_contiguous(b: Bencher<'_, '_>) {
    let body = "LD.E R5, [R2]
        LD.E R6, [R2+0x400]
        ST.E [R2+0x800], R5
        LD.E.64 R8, [R2+0xc00]
        ST.E [R2+0x1000], R6
        ST.E [R2+0x1400], R7";
    let body = body.replace("LD.E.64 R8", "LD.E R7");
    measure(b, &Setup { grid: [8, 1, 1], ..BLOCKS }, &repeat(100, "", &body));
}

#[divan::bench]
fn shared_contiguous(b: Bencher<'_, '_>) {
    let body = "STS [R4], R5
        LDS R6, [R4]
        LDS R7, [R4]
        STS [R4+0x400], R6";
    measure(b, &Setup { grid: [8, 1, 1], ..BLOCKS }, &repeat(100, "SHL R4, R1, 0x2", body));
}

#[divan::bench]
fn tiles(b: Bencher<'_, '_>) {
    // C = A B of 64 x 64 numbers, by tiles of 8 x 8.
    let multiply: String = (0..8)
        .map(|k| {
            format!("LDS R12, [R10+{:#x}]\nLDS R13, [R11+{:#x}]\nFFMA R9, R12, R13, R9\n", 4 * k, 32 * k)
        })
        .collect();
    let code = format!(
        "
        S2R R0, SR_TID.X
        S2R R1, SR_TID.Y
        S2R R2, SR_CTAID.X
        S2R R3, SR_CTAID.Y
        IMAD R2, R2, 0x8, R0
        IMAD R3, R3, 0x8, R1
        IMAD R4, R3, 0x40, R0
        SHL R4, R4, 0x2
        IMAD R6, R1, 0x40, R2
        SHL R6, R6, 0x2
        IADD R4.CC, R4, c[0x0][0x0]
        MOV R5, c[0x0][0x4]
        IADD.X R5, R5, RZ
        IADD R6.CC, R6, c[0x0][0x8]
        MOV R7, c[0x0][0xc]
        IADD.X R7, R7, RZ
        IMAD R8, R1, 0x8, R0
        SHL R8, R8, 0x2
        SHL R10, R1, 0x5
        SHL R11, R0, 0x2
        IADD R11, R11, 0x100
        MOV R9, RZ
        MOV R14, RZ
        loop:
        LD.E R12, [R4]
        LD.E R13, [R6]
        STS [R8], R12
        STS [R8+0x100], R13
        BAR.SYNC 0x0
        {multiply}
        BAR.SYNC 0x0
        IADD R4.CC, R4, 0x20
        IADD.X R5, R5, RZ
        IADD R6.CC, R6, 0x800
        IADD.X R7, R7, RZ
        IADD R14, R14, 0x1
        ISETP.LT.AND P0, PT, R14, 0x8, PT
        @P0 BRA loop
        IMAD R2, R3, 0x40, R2
        SHL R2, R2, 0x2
        IADD R2.CC, R2, c[0x0][0x0]
        MOV R3, c[0x0][0x4]
        IADD.X R3, R3, RZ
        ST.E [R2+0x8000], R9
        EXIT"
    );
    measure(b, &Setup { grid: [8, 8, 1], block: [8, 8, 1] }, &code);
}

#[divan::bench]
fn gathers(b: Bencher<'_, '_>) {
    let before = "MOV R5, R0
        MOV32I R6, 0x19660d
        MOV R12, RZ";
    let body = "IMAD R5, R5, R6, 0x3c6
        LOP.AND R7, R5, 0xffc
        MOV R8, c[0x0][0x0]
        IADD R8.CC, R8, R7
        MOV R9, c[0x0][0x4]
        IADD.X R9, R9, RZ
        LD.E R10, [R8]
        LDS R11, [R7]
        IADD R12, R12, R10
        IADD R12, R12, R11";
    let body = body.replace("IMAD R5, R5, R6, 0x3c6", "IMAD R5, R5, R6, R6");
    measure(b, &Setup { grid: [8, 1, 1], ..BLOCKS }, &repeat(50, before, &body));
}

#[divan::bench]
fn reductions(b: Bencher<'_, '_>) {
    let code = format!(
        "{HEAD}
        LD.E R5, [R2]
        SHL R4, R1, 0x2
        STS [R4], R5
        MOV R6, 0x80
        loop:
        BAR.SYNC 0x0
        ISETP.LT.AND P0, PT, R1, R6, PT
        ISCADD R7, R6, R4, 0x2
        @P0 LDS R8, [R7]
        @P0 LDS R9, [R4]
        @P0 FADD R9, R9, R8
        @P0 STS [R4], R9
        SHR.U32 R6, R6, 0x1
        ISETP.NE.AND P1, PT, R6, RZ, PT
        @P1 BRA loop
        ISETP.EQ.AND P0, PT, R1, RZ, PT
        @P0 LDS R5, [RZ]
        @P0 ST.E [R2], R5
        EXIT"
    );
    measure(b, &BLOCKS, &code);
}

#[divan::bench]
fn short_saxpy(b: Bencher<'_, '_>) {
    let code = format!(
        "{HEAD}
        ISETP.GE.AND P0, PT, R0, 0x4000, PT
        @P0 EXIT
        MOV R6, c[0x0][0x8]
        MOV R7, c[0x0][0xc]
        IADD R6.CC, R6, R4
        IADD.X R7, R7, RZ
        LD.E R8, [R2]
        LD.E R9, [R6]
        FFMA R8, R8, c[0x0][0x10], R9
        ST.E [R6], R8
        EXIT"
    );
    measure(b, &BLOCKS, &code);
}

#[divan::bench]
fn short_fill(b: Bencher<'_, '_>) {
    measure(b, &BLOCKS, &format!("{HEAD}\nST.E [R2], R0\nEXIT"));
}

#[divan::bench]
fn special_functions(b: Bencher<'_, '_>) {
    let before = "I2F.F32.U32 R5, R0";
    let body = "MUFU.RCP R6, R5
        MUFU.RSQ R7, R5
        FADD R5, R5, 1
        MUFU.EX2 R8, R6
        MUFU.LG2 R9, R5
        RRO.SINCOS R10, R7
        MUFU.SIN R10, R10";
    measure(b, &Setup { grid: [2, 1, 1], ..BLOCKS }, &repeat(40, before, body));
}

/// A filtered lookup in four instructions: of bytes, of halves, compared with floats.
#[divan::bench(args = ["TEX.LZ.P R8, R6, 0x0, 2D, 0xf", "TEX.LZ.P R8, R6, 0x1, 2D, 0xf", "TEX.LZ.DC.P R8, R6, 0x2, 2D, 0x1"])]
fn textures(b: Bencher<'_, '_>, lookup: &str) {
    let before = "I2F.F32.U32 R5, R0
        FMUL R6, R5, c[0x0][0x10]
        MOV R8, RZ";
    let body = format!(
        "{lookup}
        FADD R6, R6, c[0x0][0x10]
        FFMA R7, R6, R8, R6"
    );
    measure(b, &Setup { grid: [2, 1, 1], ..BLOCKS }, &repeat(10, before, &body));
}

#[divan::bench]
fn atomics(b: Bencher<'_, '_>) {
    let before = "LOP.AND R5, R0, 0xfc
        MOV R6, c[0x0][0x8]
        MOV R7, c[0x0][0xc]
        IADD R6.CC, R6, R5
        IADD.X R7, R7, RZ";
    let body = "RED.E.ADD [R6], R0
        ATOM.E.ADD R8, [R2], R0
        RED.E.MAX [R6+0x100], R8";
    measure(b, &Setup { grid: [2, 1, 1], ..BLOCKS }, &repeat(40, before, body));
}

fn fragments(b: Bencher<'_, '_>, source: &str, quads_a_triangle: u32) {
    scenes::fragments(b, None, &assemble(source), quads_a_triangle);
}

#[divan::bench(args = [1, 8, 64])]
fn fragments_that_only_end(b: Bencher<'_, '_>, quads_a_triangle: u32) {
    fragments(b, "EXIT", quads_a_triangle);
}

#[divan::bench(args = [1, 8, 64])]
fn fragments_with_a_colour(b: Bencher<'_, '_>, quads_a_triangle: u32) {
    let lines = "IPA.PASS R4, a[0x7c], RZ
        MUFU.RCP R4, R4
        IPA R0, a[0x80], R4
        IPA R1, a[0x84], R4
        IPA R2, a[0x88], R4
        IPA R3, a[0x8c], R4
        EXIT";
    fragments(b, lines, quads_a_triangle);
}

#[divan::bench]
fn fragments_lit(b: Bencher<'_, '_>) {
    fragments(b, &lit("MOV R4, R12\nMOV R5, R13\nMOV R6, R12\nMOV R7, R13"), 64);
}

#[divan::bench]
fn fragments_lit_and_textured(b: Bencher<'_, '_>) {
    fragments(b, &lit("TEX.P R4, R12, 0x0, 2D, 0xf\nTEXDEPBAR 0x0"), 64);
}
