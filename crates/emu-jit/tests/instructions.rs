//! Random instructions with hard values, by the interpreter and compiled from the same state: everything that a warp has must be the
//! same behind them.

use nvir_base::Chip;
use nvir_base::random::Random;
use nvir_emu::engine::{Engine, Interpreter, Lockstep};
use nvir_emu::{Launch, Memory, Options, Program};
use nvir_emu_jit::Compiled;
use nvir_isa as isa;

const CHIPS: [Chip; 3] = [Chip::Gf100, Chip::Gk104, Chip::Gk110];

/// One instruction of each kind, at least; bits of them are flipped. Not all chips have all.
const SEEDS: [&str; 76] = [
    "MOV R0, R1",
    "MOV R0, c[0x0][0x44]",
    "FADD R0, R1, R2",
    "FADD.FTZ R0, -R1, |R2|",
    "FADD.SAT R0, R1, c[0x0][0x48]",
    "FMUL R0, R1, R2",
    "FMUL.FTZ R0, R1, R2",
    "FMUL.FMZ R0, R1, R2",
    "FFMA R0, R1, R2, R3",
    "FFMA.FTZ R0, R1, R2, R3",
    "FFMA.FMZ.SAT R0, R1, R2, -R3",
    "FMNMX R0, R1, R2, PT",
    "FMNMX.FTZ R0, R1, -R2, !PT",
    "FMNMX R0, R1, R2, P1",
    "FSETP.LT.AND P0, P1, R1, R2, P2",
    "FSETP.GEU.FTZ.OR P0, P1, R1, |R2|, !P2",
    "FSETP.EQU.XOR P0, P1, R1, -R2, PT",
    "FSET.BF.LT.AND R0, R1, R2, P2",
    "FSET.NE.AND R0, R1, R2, P0",
    "FCMP.GT R0, R1, R2, R3",
    "FCMP.LEU.FTZ R0, R1, R2, R3",
    "MUFU.RCP R0, R1",
    "IADD R0, R1, R2",
    "ISUB R0.CC, R1, R2",
    "IADD.X R0, R1, R2",
    "IADD.X R0.CC, -R1, R2",
    "IADD.SAT R0, R1, R2",
    "IADD.PO R0, R1, R2",
    "ISUB R0, R1, R2",
    "ISCADD R0, R1, R2, 0x5",
    "ISCADD R0.CC, R1, R2, 0x3",
    "IMAD R0, R1, R2, R3",
    "IMAD R0.CC, R1, R2, R3",
    "IMAD.U32.U32.HI.X R0, R1, R2, R3",
    "IMAD.HI R0, R1, R2, R3",
    "IMAD.U32.U32 R0, -R1, R2, R3",
    "IMAD.HI.SAT R0, R1, R2, R3",
    "IMUL R0, R1, R2",
    "IMUL.U32.U32.HI R0, R1, R2",
    "IMNMX R0, R1, R2, PT",
    "IMNMX.U32 R0, R1, R2, !PT",
    "IMNMX.U32.XLO R0, R1, R2, P0",
    "ISETP.LT.AND P0, P1, R1, R2, P2",
    "ISETP.GE.U32.OR P0, P1, R1, R2, !P2",
    "ISETP.LT.X.AND P0, P1, R1, R2, PT",
    "ISETP.GT.U32.X.XOR P0, P1, R1, R2, P3",
    "ISET.BF.NE.AND R0, R1, R2, P1",
    "ISET.LT.X.AND R0, R1, R2, P1",
    "ICMP.LT R0, R1, R2, R3",
    "SEL R0, R1, R2, P0",
    "LOP.AND R0, R1, R2",
    "LOP.XOR R0, R1, ~R2",
    "LOP.OR R0.CC, R1, R2",
    "LOP.PASS_B.X R0, R1, ~R2",
    "SHL R0, R1, R2",
    "SHL.W R0, R1, 0x7",
    "SHL R0, R1, c[0x0][0x4c]",
    "SHR R0, R1, R2",
    "SHR.U32 R0, R1, 0x9",
    "SHR.U32.W R0, R1, R2",
    "SHF.L.W R0, R1, R2, R3",
    "SHF.R.U64 R0, R1, 0x21, R3",
    "SHF.R.S64 R0, R1, 0x5, R3",
    "BFE R0, R1, R2",
    "BFE.U32 R0, R1, 0x805",
    "BFI R0, R1, 0x904, R3",
    "FLO.U32 R0, R1",
    "POPC R0, R1, R2",
    "PRMT R0, R1, 0x5230, R2",
    "PSETP.AND.OR P0, P1, P2, !P3, P4",
    "I2F.F32.S32 R0, R1",
    "I2F.F32.U16 R0, R1",
    "F2I.S32.F32.TRUNC R0, R1",
    "F2I.FTZ.U32.F32 R0, R1",
    "F2F.F32.F32.FLOOR R0, R1",
    "I2I.S16.S8 R0, -R1",
];

/// What a launch reads: hard values, and among them what makes predicates and flags.
fn values(r: &mut Random, count: usize) -> Vec<u32> {
    const HARD: [u32; 20] = [
        0,
        1,
        5,
        31,
        32,
        33,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0xffff_fffe,
        0x7fff_ffff,
        0x0000_0400,
        0x8000_0001,
        0x0080_0000,
        0x8000_0000,
        0x3f80_0000,
        0x4f00_0000,
        0xcf00_0000,
        0x007f_ffff,
        u32::MAX,
    ];
    (0..count)
        .map(|_| match r.below(4) {
            0 | 1 => HARD[r.below(HARD.len())],
            2 => r.word() as u32,
            // A float of moderate size.
            _ => r.word() as u32 & 0x87ff_ffff | 0x3800_0000,
        })
        .collect()
}

struct Code {
    chip: Chip,
    words: Vec<u64>,
}

impl Code {
    fn pc(&self) -> u32 {
        8 * self.words.len() as u32
    }

    /// Every eighth word is one of scheduling, on chips that have these.
    fn align(&mut self) {
        let group = match self.chip {
            Chip::Gf100 => return,
            Chip::Gk104 => (8, 0x2000_0000_0000_0007),
            _ => (8, 0x0800_0000_0000_0000),
        };
        if self.words.len().is_multiple_of(group.0) {
            self.words.push(group.1);
        }
    }

    fn line(&mut self, line: &str) {
        self.align();
        let m = isa::text::parse(self.chip, line, self.pc(), &|_| None).expect(line);
        self.words.push(isa::encode(self.chip, &m, self.pc()).expect(line));
    }
}

/// A word that is an instruction, made of a seed.
fn mutated(r: &mut Random, chip: Chip, pc: u32) -> Option<u64> {
    let line = SEEDS[r.below(SEEDS.len())];
    let m = isa::text::parse(chip, line, pc, &|_| None).ok()?;
    let mut word = isa::encode(chip, &m, pc).ok()?;
    for _ in 0..r.below(7) {
        word ^= 1 << r.below(64);
    }
    let m = isa::decode(chip, word, pc)?;
    let text = isa::text::print(chip, &m);
    // What waits, ends or goes on for ever is for the tests of whole kernels.
    let flow = [
        "BRA", "BRX", "JMP", "JMX", "CAL", "JCAL", "RET", "BAR", "EXIT", "BPT", "BRK", "CONT", "LONGJMP",
        "SSY", "PBK", "PCNT", "PRET", "KIL", "LD", "ST", "ATOM", "RED", "NOP.S", "CCTL", "S2R", "TEX", "SU",
        "OUT",
    ];
    let mut padded = vec![0; pc as usize / 8];
    padded.push(word);
    if Program::new(chip, &padded).illegal(pc).is_some() {
        return None;
    }
    // Banks that no launch has.
    let flow = flow.iter().chain(&[
        "c[0x12", "c[0x13", "c[0x14", "c[0x15", "c[0x16", "c[0x17", "c[0x18", "c[0x19", "c[0x1a", "c[0x1b",
        "c[0x1c", "c[0x1d", "c[0x1e", "c[0x1f",
    ]);
    (!flow.clone().any(|f| text.contains(f)) && !text.contains(".S ")).then_some(word)
}

/// A program of instructions behind what gives registers, predicates and flags values.
fn program(r: &mut Random, chip: Chip, count: usize) -> (Program, Vec<String>) {
    let mut code = Code { chip, words: Vec::new() };
    code.line("S2R R0, SR_TID.X");
    code.line("MOV R6, c[0x0][0x0]");
    code.line("MOV R7, c[0x0][0x4]");
    code.line("SHL R0, R0, 0x6");
    code.line("IADD R6, R6, R0");
    code.line("LD.E.64 R4, [R6+0x20]");
    code.line("R2P PR, R4, 0x7f");
    code.line("ISETP.LT.AND P6, PT, R5, 0x10, PT");
    for k in 0..6 {
        code.line(&format!("LD.E R{k}, [R6+{:#x}]", 4 * k));
    }
    code.line("LD.E R7, [R6+0x18]");
    code.line("IADD R6.CC, R7, R3");
    let mut text = Vec::new();
    while text.len() < count {
        code.align();
        if let Some(word) = mutated(r, chip, code.pc()) {
            text.push(isa::text::print(chip, &isa::decode(chip, word, code.pc()).expect("it was decoded")));
            code.words.push(word);
        }
    }
    code.line("EXIT");
    (Program::new(chip, &code.words), text)
}

fn launch(
    program: &Program,
    threads: u32,
    data: &[u32],
    bank: &[u8],
    engine: &dyn Engine,
) -> Result<(), String> {
    let mut memory = Memory::new();
    let buffer = memory.alloc(64 * 64, 64).expect("it fits");
    memory.write_words(buffer, data).expect("it fits");
    let mut launch = Launch::new(program);
    launch.block = [threads, 1, 1];
    launch.zero_beyond_banks = true;
    let mut first = bank.to_vec();
    first[..8].copy_from_slice(&buffer.to_le_bytes());
    launch.set_const(0, 0, &first);
    let mut options = Options { engine: Some(engine), step_limit: 10_000, threads: 1, ..Options::default() };
    match nvir_emu::run(&launch, &mut memory, &mut options) {
        Err(f) if f.kind == nvir_emu::FaultKind::Defect => Err(f.to_string()),
        _ => Ok(()),
    }
}

#[test]
fn each_seed_is_an_instruction_of_a_chip() {
    let known = |line: &&str| CHIPS.iter().any(|&chip| isa::text::parse(chip, line, 8, &|_| None).is_ok());
    let unknown: Vec<&str> = SEEDS.iter().copied().filter(|line| !known(line)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn compiled_instructions_are_what_the_interpreter_executes() {
    let rounds: u64 = std::env::var("NVIR_ROUNDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let mut wrong = Vec::new();
    for chip in CHIPS {
        for seed in 0..rounds {
            let mut r = Random::new(seed);
            let (program, text) = program(&mut r, chip, 12);
            let data = values(&mut r, 64 * 16);
            let bank: Vec<u8> = values(&mut r, 0x1000).iter().flat_map(|w| w.to_le_bytes()).collect();
            let lockstep = Lockstep::new(&Compiled::Exact, &Interpreter);
            let threads = if seed % 2 == 0 { 32 } else { 45 };
            if let Err(why) = launch(&program, threads, &data, &bank, &lockstep) {
                wrong.push(format!("{chip} {seed}: {why}\n{}", text.join("\n")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong, such as {}", wrong.len(), wrong[0]);
}
