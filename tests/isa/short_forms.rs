//! GF100's instructions of 4 bytes: listings keep them, and the emulator executes them as their long forms.

use nvir::emu::{Checks, Fault, FaultKind, Launch, Memory, Options, Program, run};
use nvir::image::cubin::Kernel;
use nvir::image::listing::{self, assemble};
use nvir::isa::fetch::{self, Fetched};
use nvir::isa::{self, MInst, Op, Operand, Reg, Table};
use nvir::random::Random;
use nvir::{Chip, image};
use pretty_assertions::assert_eq;

const CHIP: Chip = Chip::Gf100;

fn code(text: &str) -> Vec<u64> {
    assemble(text, CHIP, "k").unwrap_or_else(|e| panic!("{e:?}\n{text}")).kernels.remove(0).code
}

fn listing_of(code: &[u64]) -> String {
    let kernel = Kernel { name: "k".into(), code: code.to_vec(), ..Kernel::default() };
    listing::print(CHIP, &[kernel], listing::Options::default())
}

/// Runs code with threads on a buffer of words, whose address is at the start of bank 0.
fn execute(code: &[u64], threads: u32, input: &[u32], profile: bool) -> Result<Vec<u32>, Box<Fault>> {
    let program = Program::new(CHIP, code);
    let mut memory = Memory::new();
    let buffer = memory.alloc(input.len() as u64 * 4, 16).expect("it fits");
    let bytes: Vec<u8> = input.iter().flat_map(|w| w.to_le_bytes()).collect();
    memory.write(buffer, &bytes).expect("it is there");
    let mut launch = Launch::new(&program);
    launch.block = [threads, 1, 1];
    launch.shared_bytes = 1024;
    launch.local_bytes = 1024;
    launch.gprs = 63;
    for bank in [0, 1, 16] {
        for n in 0..64u32 {
            launch.set_const_u32(bank, n as usize * 4, (bank as u32 + 3 * n).wrapping_mul(0x9e37_79b9));
        }
    }
    launch.set_const(0, 0, &buffer.to_le_bytes());
    let checks = Checks { init: false, ..Checks::ALL };
    let mut options = Options { checks, profile, step_limit: 1_000_000, ..Options::default() };
    let stats = run(&launch, &mut memory, &mut options)?;
    assert_eq!(stats.profile.is_some(), profile);
    let bytes = memory.read(buffer, input.len() as u64 * 4).expect("it is there");
    Ok(bytes.chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
}

/// Divides R0 by R1, from the highest bit of R0 on, so that threads leave the loop at different times.
const DIVISION: &str = "
        S2R R10, SR_TID.X {short}
        MOV R2, c[0x0][0x0] {short}
        MOV R3, c[0x0][0x4] {short}
        SHL R11, R10, 0x4 {short}
        IADD R2.CC, R2, R11
        IADD.X R3, R3, RZ
        LD.E.64 R0, [R2] {short}
        CAL divide {short}
        NOP {short}
        ST.E [R2+0x8], R4 {short}
        ST.E [R2+0xc], R5 {short}
        EXIT {short}
divide: MOV R4, 0x0 {short}
        MOV R5, RZ {short}
        FLO.U32 R6, R0
        SSY done {short}
loop:   SHL R5, R5, 0x1 {short}
        SHR.U32 R7, R0, R6
        LOP.AND R7, R7, 0x1 {short}
        IADD R5, R5, R7 {short}
        SHL R4, R4, 0x1 {short}
        ISETP.GE.U32.AND P0, PT, R5, R1, PT
    @P0 IADD R5, -R1, R5 {short}
    @P0 IADD R4, R4, 0x1 {short}
        IADD R6, R6, -0x1 {short}
        ISETP.GE.AND P1, PT, R6, 0x0, PT {short}
    @P1 BRA loop {short}
        NOP.S
done:   RET {short}
";

#[test]
fn a_division_of_short_and_long_forms_gives_quotients_and_remainders() {
    let mut rng = Random::new(0x5eed_0001);
    let mut input = vec![0u32; 4 * 64];
    for four in input.chunks_mut(4) {
        let (n, d) = (rng.word(), rng.word());
        four[0] = (n >> 32) as u32 >> (n & 31);
        four[1] = ((d >> 33) as u32 >> (d & 31)).clamp(1, 0x7fff_ffff);
    }
    input[0] = 0;
    (input[4], input[5]) = (u32::MAX, 1);
    let code = code(DIVISION);
    let long_forms = code_bytes(&DIVISION.replace("{short}", ""));
    assert!(code.len() as u32 * 8 < long_forms * 2 / 3, "{} bytes", code.len() * 8);
    for profile in [false, true] {
        let out = execute(&code, 64, &input, profile).expect("no fault");
        for four in out.chunks(4) {
            let (n, d) = (four[0], four[1]);
            assert_eq!((four[2], four[3]), (n / d, n % d), "{n} / {d}");
        }
    }
}

fn code_bytes(text: &str) -> u32 {
    code(text).len() as u32 * 8
}

#[test]
fn a_listing_of_short_forms_assembles_to_the_same_bytes() {
    let first = code(DIVISION);
    let text = listing_of(&first);
    assert!(text.contains("CAL .L_0038 {short};"), "{text}");
    assert!(text.contains(".L_0038:\n        MOV R4, 0x0 {short};"), "{text}");
    assert_eq!(code(&text), first, "{text}");
    let kernel = Kernel { name: "k".into(), code: first.clone(), ..Kernel::default() };
    let with_words = listing::print(CHIP, &[kernel], listing::Options { words: true });
    assert_eq!(code(&with_words), first, "{with_words}");
}

#[test]
fn any_words_of_gf100_survive_a_listing() {
    let mut rng = Random::new(0x5eed_0002);
    let rows = Table::for_chip(CHIP).rows();
    let shorts: Vec<_> = rows.iter().filter(|r| r.short).collect();
    for _ in 0..2000 {
        let mut insts = Vec::new();
        for _ in 0..12 {
            let short = shorts[rng.word() as usize % shorts.len()];
            let half = (rng.word() & rng.word() & !short.mask | short.bits) as u32;
            insts.push(match rng.word() % 4 {
                0 => Fetched::long(rng.word() & !8),
                1 => Fetched::half(rng.word() as u32),
                _ => Fetched::half(half),
            });
        }
        let words = fetch::pack(&insts);
        let text = listing_of(&words);
        assert_eq!(code(&text), words, "{text}");
    }
}

#[test]
fn half_a_word_may_be_given_as_it_is_and_a_short_form_fills_the_last() {
    let words = code(".half 0xfffffff8\n EXIT\n RET {short}\n EXIT {short};\n");
    assert_eq!(words.len(), 3);
    let text = listing_of(&words);
    let lines: Vec<&str> = text.lines().skip(3).map(str::trim).collect();
    assert_eq!(lines, [".half 0xfffffff8", "EXIT;", "RET {short};", "EXIT {short};", "NOP {short};"]);
}

#[test]
fn what_has_no_short_form_is_refused_at_its_line() {
    for (chip, text) in [
        (Chip::Gf100, "FADD.FTZ R0, R1, R2 {short}"),
        (Chip::Gf100, "IADD R0, R1, 0x80 {short}"),
        (Chip::Gf100, "LDL R0, [R1+0x200] {short}"),
        (Chip::Gf100, "LDL R0, [R1+0x2] {short}"),
        (Chip::Gf100, "MOV R0, c[0x2][0x0] {short}"),
        (Chip::Gf100, "MOV R0, c[0x0][0x100] {short}"),
        (Chip::Gf100, "@P0 FFMA R0, R1, R2, R3 {short}"),
        (Chip::Gf100, "BRA 0x40000 {short}"),
        (Chip::Gf100, "BRA 0x2 {short}"),
        (Chip::Gf100, "ISETP.LT.AND P0, P1, R0, R1, PT {short}"),
        (Chip::Gf100, "NOP.S {short}"),
        (Chip::Gf100, "NOP {shor}"),
        (Chip::Gf100, "NOP {form 0x800000000000000}"),
        (Chip::Gk104, "NOP {short}"),
        (Chip::Gk104, ".half 0x1c08"),
        (Chip::Gk110, "NOP {short}"),
    ] {
        let found = assemble(text, chip, "k").expect_err(text);
        assert!(found.has_errors(), "{text}");
    }
}

/// Registers and predicates that the test of single instructions fills and looks at.
const REGISTERS: u8 = 16;
const INPUTS: usize = REGISTERS as usize + 1;
const OUTPUTS: usize = INPUTS + 1;

/// A program that loads registers, predicates and flags, executes something, and stores them all.
fn around(what: &str) -> String {
    let mut text = String::from(
        "S2R R60, SR_TID.X\nIMUL.U32.U32 R59, R60, 0xa0\nMOV R60, c[0x0][0x0]\nMOV R61, c[0x0][0x4]\n\
         IADD R60.CC, R60, R59\nIADD.X R61, R61, RZ\n",
    );
    for n in 0..INPUTS {
        let reg = if n < usize::from(REGISTERS) { n } else { 58 };
        text += &format!("LD.E R{reg}, [R60+{:#x}]\n", n * 4);
    }
    text += &format!("MOV32I R57, 0xf07f\nR2P PR, R58, R57\n{what}\nP2R R58, PR, RZ, R57\n");
    for n in 0..INPUTS {
        let reg = if n < usize::from(REGISTERS) { n } else { 58 };
        text += &format!("ST.E [R60+{:#x}], R{reg}\n", (n + OUTPUTS) * 4);
    }
    text + "EXIT\n"
}

/// What touches nothing but registers, predicates and constants.
fn is_plain(op: Op) -> bool {
    use Op::*;
    !matches!(
        op,
        Bra | Ssy
            | Cal
            | Ret
            | Exit
            | Bpt
            | Bar
            | Ld
            | St
            | Ldl
            | Stl
            | Lds
            | Sts
            | Ldc
            | Ipa
            | Ald
            | Ast
            | Vmad
    )
}

fn has_low_registers(m: &MInst) -> bool {
    m.operands.iter().all(|o| !matches!(o, Operand::Reg { reg, .. } if *reg != Reg::Z && reg.0 >= REGISTERS))
}

#[test]
fn every_short_form_computes_what_its_long_form_does() {
    let mut rng = Random::new(0x5eed_0003);
    let stride = 40;
    let (mut compared, mut changed) = (0, 0);
    for row in Table::for_chip(CHIP).rows().iter().filter(|r| r.short && is_plain(r.op)) {
        let mut of_row = 0;
        for _ in 0..4000 {
            let word = rng.word() & rng.word() & !row.mask | row.bits;
            let Some((m, found)) = isa::decode_row(CHIP, word, 0) else { continue };
            if !std::ptr::eq(found, row) || !has_low_registers(&m) {
                continue;
            }
            assert_eq!((m.bytes(), word >> 32), (4, 0));
            let text = isa::text::print(CHIP, &m);
            let long = text.strip_suffix(" {short}").expect("a short form");
            // The one immediate that the long form has no room for.
            let wide = m.op == Op::Mov && matches!(m.operands[1], Operand::Imm { .. });
            let long = if wide { long.replace("MOV", "MOV32I") } else { long.to_string() };
            let mut input: Vec<u32> = (0..32 * stride).map(|_| (rng.word() >> 32) as u32).collect();
            input.iter_mut().step_by(3).for_each(|v| *v = f32::from_bits(*v & 0x3f).to_bits());
            let short_code = code(&around(&text));
            // A second short form, so that half of what follows lies in one word.
            let pair_code = code(&around(&format!("{text}\nNOP {{short}}")));
            let want =
                execute(&code(&around(&long)), 32, &input, false).unwrap_or_else(|e| panic!("{long}: {e}"));
            for (got, what) in [(short_code, "odd"), (pair_code, "even")] {
                let got = execute(&got, 32, &input, false).unwrap_or_else(|e| panic!("{text}: {e}"));
                // S2R of a clock may differ.
                if m.op != Op::S2r {
                    assert_eq!(got, want, "{text} {what}");
                }
            }
            let outputs = |n: usize| &want[n * stride + OUTPUTS..n * stride + OUTPUTS + INPUTS];
            changed += u32::from((0..32).any(|n| outputs(n) != &input[n * stride..n * stride + INPUTS]));
            of_row += 1;
            if of_row == 6 {
                break;
            }
        }
        assert!(of_row > 0, "{} {:08x} was not tried", row.op, row.bits);
        compared += of_row;
    }
    assert!(compared > 400 && changed * 2 > compared, "{compared} compared, {changed} with an effect");
}

#[test]
fn loads_and_stores_count_words_and_pairs() {
    let text = "
        MOV R2, c[0x0][0x0] {short}
        MOV R3, c[0x0][0x4] {short}
        IADD R2, R2, 0x40 {short}
        LD.E R4, [R2+-0x40] {short}
        LD.E.64 R6, [R2+-0x38] {short}
        STL [0x8], R4 {short}
        MOV R9, 0x18 {short}
        STS.64 [R9+-0x8], R6 {short}
        LDL R10, [R9+-0x10] {short}
        LDS.64 R12, [0x10] {short}
        LDS R14, [R9+-0x4] {short}
        MOV R5, 0x80 {short}
        LDC R15, c[0x1][R5+-0x78] {short}
        ST.E [R2+0x1fc], R10 {short}
        ST.E.64 [R2+-0x10], R12 {short}
        ST.E [R2+-0x8], R14 {short}
        ST.E [R2], R15 {short}
        EXIT {short}
    ";
    let mut input = vec![0; 160];
    input[..4].copy_from_slice(&[0x11, 0x22, 0x33, 0x44]);
    let mut want = input.clone();
    (want[16 + 127], want[12], want[13], want[14]) = (0x11, 0x33, 0x44, 0x44);
    want[16] = 7u32.wrapping_mul(0x9e37_79b9);
    assert_eq!(execute(&code(text), 1, &input, false), Ok(want));
}

#[test]
fn a_barrier_and_a_branch_by_flags_have_short_forms() {
    let text = "
        S2R R0, SR_TID.X {short}
        SHL R1, R0, 0x2 {short}
        STS [R1], R0 {short}
        BAR.SYNC 0x0 {short}
        LOP.XOR R2, R1, 0x7c {short}
        LDS R3, [R2] {short}
        MOV R4, c[0x0][0x0] {short}
        MOV R5, c[0x0][0x4] {short}
        IADD R4, R4, R1 {short}
        IADD RZ.CC, R0, -0x5
        BRA CC.EQ, five {short}
        BRA store {short}
five:   MOV R3, 0x3f800000 {short}
store:  ST.E [R4], R3 {short}
        EXIT {short}
    ";
    let want: Vec<u32> = (0..32).map(|n| if n == 5 { 0x3f80_0000 } else { 31 - n }).collect();
    assert_eq!(execute(&code(text), 32, &[0; 32], false), Ok(want));
}

#[test]
fn faults_name_addresses_between_words() {
    let fault = |text: &str| execute(&code(text), 1, &[0; 4], false).expect_err(text);
    let f =
        fault("NOP {short}\n MOV R2, 0x0 {short}\n NOP {short}\n LD R0, [R2+0x4] {short}\n EXIT {short}\n");
    assert_eq!((f.kind, f.place.pc), (FaultKind::OutOfBounds, 12), "{f}");
    assert_eq!(f.place.instruction, "LD R0, [R2+0x4] {short}");
    let f = fault("NOP {short}\n BRA 0x1000 {short}\n");
    assert_eq!((f.kind, f.place.pc), (FaultKind::OutOfBounds, 0x1000), "{f}");
    let f = fault(".unchecked\nNOP {short}\n JMP 0x6\n");
    assert_eq!((f.kind, f.place.pc), (FaultKind::Misaligned, 6), "{f}");
    let f = fault("NOP {short}\n.half 0xfffffff8\nEXIT\n");
    assert_eq!((f.kind, f.place.pc), (FaultKind::IllegalInstruction, 4), "{f}");
    assert_eq!(f.place.instruction, "<unknown 0xfffffff8>");
    // The first half of a long instruction at the end of the code.
    let f = fault(&format!("NOP {{short}}\n.half {:#x}\n", 0x1de7));
    assert_eq!((f.kind, f.place.pc), (FaultKind::IllegalInstruction, 4), "{f}");
    // Without a short form, instructions are at multiples of 8 as on the other chips.
    let f = fault("JMP 0x4\n");
    assert_eq!((f.kind, f.place.pc), (FaultKind::Misaligned, 4), "{f}");
}

#[test]
fn a_multiply_add_without_a_documented_sum_is_illegal() {
    let text = "VMAD.U8.U8 R0, R1, R2 {short}\nEXIT {short}\n";
    let f = execute(&code(text), 1, &[0; 4], false).expect_err("a fault");
    assert_eq!((f.kind, f.place.pc), (FaultKind::IllegalInstruction, 0), "{f}");
}

#[test]
fn a_container_lists_the_exits_where_they_are() {
    let mut kernel = Kernel { name: "k".into(), gprs: 4, ..Kernel::default() };
    kernel.code = code("NOP {short}\n EXIT {short}\n NOP {short}\n EXIT\n");
    let instructions = nvir::Shader::assembled(CHIP, kernel.clone()).instructions;
    assert_eq!(instructions, 5, "the one that fills the last word among them");
    let cubin = image::cubin::write(CHIP, std::slice::from_ref(&kernel));
    let exits: Vec<u8> = [4u32, 12].iter().flat_map(|e| e.to_le_bytes()).collect();
    assert!(cubin.windows(12).any(|w| w[..4] == [4, 0x1c, 8, 0] && w[4..] == exits), "the record of exits");
}
