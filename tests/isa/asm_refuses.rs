//! What `nvir asm` refuses: operands with which an instruction would fault whenever it is executed, numbers that do not fit,
//! names that mean nothing. What is refused for what it would do still has a word, which `.unchecked` asks for.

use nvir::diag;
use nvir::emu::{Launch, Memory, Options, Program, run};
use nvir::image::listing::{self, assemble};
use nvir::{Chip, isa};

/// A line, the words that are wrong in it, and the title and the label of the message.
struct Refused(Chip, &'static str, &'static str, &'static str, &'static str);

use Chip::{Gf100, Gk104, Gk110};

/// These have a word.
const FAULTS: &[Refused] = &[
    Refused(Gk110, "BAR.SYNC 0x10", "0x10", "value out of range", "expected 0 to 0xf"),
    Refused(Gk110, "BAR.ARV 0xff, 0x40", "0xff", "value out of range", "expected 0 to 0xf"),
    Refused(Gk110, "BAR.SYNC 0x0, 0x21", "0x21", "value out of range", "expected a multiple of 32"),
    Refused(Gf100, "BAR.ARV 0x0, 0x21", "0x21", "value out of range", "expected a multiple of 32"),
    Refused(Gk110, "DADD R1, R2, R4", "R1", "misaligned register", "expected a multiple of 2"),
    Refused(Gk110, "DADD R2, R3, R4", "R3", "misaligned register", "expected a multiple of 2"),
    Refused(Gf100, "DFMA R0, R2, R4, R7", "R7", "misaligned register", "expected a multiple of 2"),
    Refused(
        Gk110,
        "DSETP.LT.AND P0, PT, R2, R5, PT",
        "R5",
        "misaligned register",
        "expected a multiple of 2",
    ),
    Refused(Gk110, "DADD R2, R4, c[0x0][0x144]", "c[0x0][0x144]", "misaligned address", "a multiple of 8"),
    Refused(Gk110, "F2F.F64.F32 R3, R2", "R3", "misaligned register", "expected a multiple of 2"),
    Refused(Gk110, "F2F.F32.F64 R3, R5", "R5", "misaligned register", "expected a multiple of 2"),
    Refused(Gk110, "LD.64 R1, [R2]", "R1", "misaligned register", "expected a multiple of 2"),
    Refused(Gk110, "LD.128 R2, [R8]", "R2", "misaligned register", "expected a multiple of 4"),
    Refused(Gk104, "ST.128 [R8], R2", "R2", "misaligned register", "expected a multiple of 4"),
    Refused(Gk110, "LD.E R4, [R3]", "[R3]", "misaligned register", "expected a multiple of 2"),
    Refused(Gk110, "LD.128 R252, [R0]", "R252", "register out of range", "the last is R254"),
    Refused(Gk110, "TEX R253, R0, 0x0, 2D, 0xf", "R253", "register out of range", "the last is R254"),
    Refused(Gk110, "LDS.64 R0, [0x4]", "[0x4]", "misaligned address", "expected a multiple of 8"),
    Refused(Gk110, "LDS.128 R0, [0x18]", "[0x18]", "misaligned address", "expected a multiple of 16"),
    Refused(Gf100, "STS [0x2], R0", "[0x2]", "misaligned address", "expected a multiple of 4"),
    Refused(Gk110, "LDC R0, c[0x0][0x2]", "c[0x0][0x2]", "misaligned address", "expected a multiple of 4"),
    Refused(Gk110, "LDC.64 R0, c[0x0][0x4]", "c[0x0][0x4]", "misaligned address", "a multiple of 8"),
    Refused(Gk110, "BRA 0xc", "0xc", "misaligned branch target", "expected a multiple of 8"),
    Refused(Gk110, "BRA 0x7", "0x7", "misaligned branch target", "expected a multiple of 8"),
    Refused(Gf100, "BRA 0x6", "0x6", "misaligned branch target", "expected a multiple of 4"),
];

/// These fault in graphics stages only, or where the emulator has no such case.
const FAULTS_ELSEWHERE: &[Refused] = &[
    Refused(Gf100, "LD.128 R60, [R0]", "R60", "register out of range", "the last is R62"),
    Refused(Gk110, "ALD.64 R0, a[0x84]", "a[0x84]", "misaligned address", "expected a multiple of 8"),
    Refused(Gk110, "ALD.128 R2, a[0x80]", "R2", "misaligned register", "expected a multiple of 4"),
    Refused(Gk110, "IPA R0, a[0x82], RZ", "a[0x82]", "misaligned address", "expected a multiple of 4"),
    Refused(Gk110, "CAL 0x14", "0x14", "misaligned branch target", "expected a multiple of 8"),
    Refused(Gk110, "SSY 0x2c", "0x2c", "misaligned branch target", "expected a multiple of 8"),
];

/// These have none.
const WORDLESS: &[Refused] = &[
    Refused(Gk110, "FADD R0, R0, 1e400", "1e400", "value out of range", "hold exactly"),
    Refused(Gk110, "FADD32I R0, R0, 1e39", "1e39", "value out of range", "a number that a float can be"),
    Refused(Gk110, "FADD32I R0, R0, -1e400", "-1e400", "value out of range", "a number that a float can be"),
    Refused(Gk110, "DADD R0, R2, 1e400", "1e400", "value out of range", "hold exactly"),
    Refused(Gk110, "DADD R0, R2, 0.1", "0.1", "value out of range", "hold exactly"),
    Refused(
        Gk110,
        "MOV32I R0, 0x100000000",
        "0x100000000",
        "value out of range",
        "expected a number of 32 bits",
    ),
    Refused(
        Gf100,
        "MOV32I R0, 0x100000000",
        "0x100000000",
        "value out of range",
        "expected a number of 32 bits",
    ),
    Refused(Gk104, "IADD32I R0, R0, -0x80000001", "-0x80000001", "value out of range", "a number of 32 bits"),
    Refused(Gk110, "MOV32I R0, 0xffffffffffffffffffff", "0xffffffffffffffffffff", "value out of range", ""),
    Refused(Gk110, "IADD R0, R0, 0x80000", "0x80000", "value out of range", "expected -0x80000 to 0x7ffff"),
    Refused(Gk110, "LD R0, [R2+0x80000000000]", "0x80000000000", "value out of range", "32 bits"),
    Refused(Gk110, "ALD R0, a[0x400]", "a[0x400]", "value out of range", "expected an offset up to 0x3ff"),
    Refused(Gk110, "BRA 0x100000000", "0x100000000", "value out of range", ""),
    Refused(Gk110, "MOV R0, c[0x20][0x0]", "c[0x20][0x0]", "value out of range", "banks 0 to 0x1f"),
    Refused(Gk110, "MOV R0, c[0x100][0x0]", "0x100", "value out of range", "0 to 0x1f"),
    Refused(Gk110, "MOV R0, c[0x0][0x2]", "c[0x0][0x2]", "value out of range", "a multiple of 4"),
    Refused(Gk110, "MOV R0, c[0x0][0x10000]", "c[0x0][0x10000]", "value out of range", "offsets 0 to 0xfffc"),
    Refused(Gk110, "MOV R0, R255", "R255", "register out of range", "expected R0 to R254, or RZ"),
    Refused(Gf100, "MOV R0, R63", "R63", "register out of range", ""),
    Refused(Gf100, "MOV R0, R300", "R300", "register out of range", "expected R0 to R62, or RZ"),
    Refused(Gk110, "@P7 EXIT", "P7", "invalid operand", "P0 to P6 or PT"),
    Refused(Gk110, "ISETP.LT.AND P9, PT, R0, R1, PT", "P9", "predicate out of range", "P0 to P6, or PT"),
    Refused(Gk110, "UMOV R0, R1", "UMOV", "unknown mnemonic `UMOV`", "did you mean `MOV`?"),
    Refused(
        Gf100,
        "SHF.L R0, R1, R2, R3",
        "SHF.L",
        "unsupported mnemonic",
        "the chip does not have this operation",
    ),
    Refused(Gk110, "FADD.FTZZ R0, R1, R2", "FTZZ", "unknown suffix `FTZZ`", "did you mean `FTZ`?"),
    Refused(Gk110, "IADD.FTZ R0, R1, R2", "IADD.FTZ", "invalid suffix", ""),
    Refused(Gk110, "BRA nowhere", "nowhere", "undefined name", "no label"),
    Refused(Gk110, "S2R R0, SR_TIDX", "SR_TIDX", "unknown special register", "SR_TID.X"),
    Refused(Gk110, "FADD R0, R1, [R2]", "FADD", "invalid operands", ""),
    Refused(Gk110, "FADD R0, R1,", "", "syntax error", "expected an operand"),
    Refused(Gk110, "EXIT now", "now", "undefined name", ""),
];

fn message(chip: Chip, text: &str) -> String {
    let diags = assemble(text, chip, "k").map(|_| ()).expect_err(text);
    diag::render(&diags, "k.sass", text, false)
}

fn check(Refused(chip, line, at, title, label): &Refused) {
    let text = format!("NOP\n  {line}\nEXIT\n");
    let said = message(*chip, &text);
    assert!(said.starts_with(&format!("error: {title}\n")), "{chip} {line}:\n{said}");
    assert!(said.contains(label), "{chip} {line}: {label} in\n{said}");
    let column = line.rfind(at).filter(|_| !at.is_empty()).unwrap_or(line.len()) + 3;
    assert!(said.contains(&format!("k.sass:2:{column}\n")), "{chip} {line}: column {column} in\n{said}");
}

#[test]
fn what_faults_whenever_it_is_executed_is_refused_with_place_and_what_would_be_right() {
    FAULTS.iter().chain(FAULTS_ELSEWHERE).for_each(check);
}

#[test]
fn what_has_no_word_is_refused_with_place_and_what_would_be_right() {
    WORDLESS.iter().for_each(check);
}

#[test]
fn unchecked_text_assembles_to_the_word_that_single_words_have() {
    for Refused(chip, line, ..) in FAULTS.iter().chain(FAULTS_ELSEWHERE) {
        let text = format!(".raw\n.unchecked\n{line}\nEXIT\n");
        let code =
            assemble(&text, *chip, "k").unwrap_or_else(|e| panic!("{line}: {e}")).kernels.remove(0).code;
        let m = isa::text::parse(*chip, line, 0, &|_| None).expect(line);
        assert_eq!(isa::encode(*chip, &m, 0), Ok(code[0]), "{line}");
    }
}

#[test]
fn what_is_refused_for_its_fault_faults() {
    for Refused(chip, line, ..) in FAULTS {
        let text = format!(".unchecked\n{line}\nEXIT\n");
        let code =
            assemble(&text, *chip, "k").unwrap_or_else(|e| panic!("{line}: {e}")).kernels.remove(0).code;
        let program = Program::new(*chip, &code);
        let mut launch = Launch::new(&program);
        (launch.block, launch.grid) = ([64, 1, 1], [1, 1, 1]);
        launch.shared_bytes = 1024;
        launch.set_const(0, 0, &[0; 1024]);
        let fault = run(&launch, &mut Memory::new(), &mut Options::default()).map(|_| ()).expect_err(line);
        assert!(
            ["misaligned", "illegal_instruction", "divergent_barrier"].contains(&fault.kind.name()),
            "{chip} {line}: {fault}"
        );
    }
}

#[test]
fn what_is_right_is_taken() {
    for (chip, line) in [
        (Gk110, "BAR.SYNC 0xf, 0x40"),
        (Gk110, "BAR.SYNC R0"),
        (Gk110, "DADD R2, R4, c[0x0][0x148]"),
        (Gk110, "DADD RZ, RZ, RZ"),
        (Gk110, "LD.E.128 R4, [R2+0x4]"),
        (Gk110, "LD.128 R248, [R1]"),
        (Gk110, "LDS.64 R0, [R1+0x4]"),
        (Gk110, "LDC R0, c[0x0][R1+0x2]"),
        (Gk110, "F2F.F32.F64 R3, R4"),
        (Gk110, "TEX R1, R3, 0x0, 2D, 0xf"),
        (Gk110, "TEX R254, R3, 0x0, 2D, 0x1"),
        (Gk110, "ALD.128 R0, a[0x80], R1"),
        (Gk110, "AST.64 a[0x80], R2, R1"),
        (Gk110, "FADD R0, R0, +INF"),
        (Gk110, "FADD32I R0, R0, 3.4028234e38"),
        (Gk110, "MOV32I R0, -0x80000000"),
        (Gf100, "BRA 0x4"),
        (Gf100, "LD.128 R56, [R0]"),
    ] {
        let found = assemble(&format!("{line}\nEXIT\n"), chip, "k");
        assert!(found.is_ok(), "{chip} {line}: {found:?}");
    }
}

#[test]
fn code_that_could_not_be_written_is_listed_so_that_it_assembles_again() {
    let raw = |lines: &str| assemble(&format!(".raw\n.unchecked\n{lines}"), Gk110, "k").expect(lines).kernels;
    let kernels = raw("BAR.SYNC 0x10\nDADD R1, R3, R5\nEXIT\n");
    let text = listing::print(Gk110, &kernels, listing::Options::default());
    assert!(text.contains("\n.unchecked\n") && text.contains("DADD R1, R3, R5;"), "{text}");
    assert_eq!(assemble(&text, Gk110, "k").expect("its own text").kernels[0].code, kernels[0].code);
    let text = listing::print(Gk110, &raw("DADD R2, R4, R6\nEXIT\n"), listing::Options::default());
    assert!(!text.contains(".unchecked"), "{text}");
}

#[test]
fn many_errors_are_found_in_a_moment() {
    let begin = std::time::Instant::now();
    let text = "UMOV R0, R1\nFADD.FTZZ R0, R1, R2\nLD.64 R1, [R2]\n".repeat(20_000);
    let diags = assemble(&text, Gk110, "k").expect_err("all are wrong");
    assert_eq!((diags.list.len(), diags.dropped), (20, 59_980));
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
}
