//! Machine code of three kinds: instructions with flipped bits, nested control flow, accesses to memory.

use nvir::Chip;
use nvir::emu::Program;
use nvir::isa;
use nvir::random::Random;

/// A program, and its instructions as text.
pub(super) type Made = (Program, Vec<String>);

/// One instruction of each kind, at least; bits of them are flipped. Not all chips have all.
const SEEDS: [&str; 93] = [
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
    "MUFU.RCP.SAT R0, -R1",
    "MUFU.RSQ R0, |R1|",
    "MUFU.EX2 R0, R1",
    "MUFU.LG2 R0, R1",
    "MUFU.SIN R0, R1",
    "MUFU.COS R0, -|R1|",
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
    "SHFL.IDX PT, R0, R1, 0x5, 0x1f",
    "SHFL.IDX P0, R1, R1, 0x3, 0x181f",
    "SHFL.UP P0, R2, R1, 0x1, 0x0",
    "SHFL.UP P1, R0, R1, 0x9, 0x1000",
    "SHFL.DOWN P0, R0, R1, 0x6, 0x1f",
    "SHFL.DOWN P1, R1, R1, 0x2, 0x1807",
    "SHFL.BFLY P0, R0, R1, 0x3, 0x1f",
    "SHFL.BFLY P0, R0, R1, R2, R3",
    "VOTE.ALL R0, P0, P1",
    "VOTE.ANY R1, P0, !P1",
    "VOTE.EQ R0, P1, P0",
];

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
        let scheduling = match self.chip {
            Chip::Gf100 => return,
            Chip::Gk104 => 0x2000_0000_0000_0007,
            Chip::Gk110 => 0x0800_0000_0000_0000,
        };
        if self.words.len().is_multiple_of(8) {
            self.words.push(scheduling);
        }
    }

    fn line(&mut self, line: &str) {
        self.align();
        let m = isa::text::parse(self.chip, line, self.pc(), &|_| None).expect(line);
        self.words.push(isa::encode(self.chip, &m, self.pc()).expect(line));
    }

    /// Lines, some of which are labels that others name.
    fn labelled(chip: Chip, lines: &[String]) -> Code {
        let mut labels: Vec<(&str, u32)> = Vec::new();
        // Where labels are does not depend on where they lead.
        let mut code = Code { chip, words: Vec::new() };
        for line in lines {
            code.align();
            match line.strip_suffix(':') {
                Some(label) => labels.push((label, code.pc())),
                None => code.words.push(0),
            }
        }
        let mut code = Code { chip, words: Vec::new() };
        for line in lines.iter().filter(|l| !l.ends_with(':')) {
            let named = labels.iter().find(|(label, _)| line.ends_with(label));
            code.line(&match named {
                Some((label, at)) => line.replace(label, &format!("{at:#x}")),
                None => line.clone(),
            });
        }
        code
    }
}

/// Exactly these instructions.
#[cfg(test)]
pub(super) fn of_lines(chip: Chip, lines: &[&str]) -> Made {
    let mut code = Code { chip, words: Vec::new() };
    lines.iter().for_each(|line| code.line(line));
    (Program::new(chip, &code.words), lines.iter().map(|l| l.to_string()).collect())
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
    // What waits, ends or goes on for ever is for whole kernels; no launch has the banks.
    let others = [
        "BRA", "BRX", "JMP", "JMX", "CAL", "JCAL", "RET", "BAR", "EXIT", "BPT", "BRK", "CONT", "LONGJMP",
        "SSY", "PBK", "PCNT", "PRET", "KIL", "LD", "ST", "ATOM", "RED", "NOP.S", "CCTL", "S2R", "TEX", "SU",
        "OUT", ".S ", "c[0x12", "c[0x13", "c[0x14", "c[0x15", "c[0x16", "c[0x17", "c[0x18", "c[0x19",
        "c[0x1a", "c[0x1b", "c[0x1c", "c[0x1d", "c[0x1e", "c[0x1f",
    ];
    let mut padded = vec![0; pc as usize / 8];
    padded.push(word);
    if Program::new(chip, &padded).illegal(pc).is_some() {
        return None;
    }
    (!others.iter().any(|other| text.contains(other))).then_some(word)
}

/// A program of instructions behind what gives registers, predicates and flags values.
pub(super) fn instructions(r: &mut Random, chip: Chip, count: usize) -> Made {
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
    // What registers and predicates hold counts in the end, too.
    for k in 0..6 {
        code.line(&format!("LOP.XOR R5, R5, R{k}"));
    }
    for line in [
        "P2R R4, PR, RZ, 0x7f",
        "S2R R0, SR_TID.X",
        "SHL R0, R0, 0x2",
        "MOV R2, c[0x0][0x0]",
        "MOV R3, c[0x0][0x4]",
        "IADD R2, R2, R0",
        "ST.E [R2], R5",
        "ST.E [R2+0x400], R4",
        "EXIT",
    ] {
        code.line(line);
    }
    (Program::new(chip, &code.words), text)
}

/// An atomic of a kind that is in line, or of another one.
fn atomic(r: &mut Random, offset: usize) -> String {
    let op =
        r.pick(&["ADD", "MIN", "MAX.S32", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "ADD.F32.FTZ.RN"]);
    match r.below(3) {
        0 => format!("RED.E.ADD{} [R2+{offset:#x}], R8", r.pick(&["", ".S32"])),
        1 => format!("ATOM.E.CAS R9, [R2+{offset:#x}], R12, R13"),
        _ => format!("ATOM.E.{op} R{}, [R2+{offset:#x}], R12", r.pick(&[9, 12, 13])),
    }
}

/// Nested branches, loops, subroutines and ends of threads, by conditions that differ from lane to lane.
struct Flow<'r> {
    r: &'r mut Random,
    chip: Chip,
    /// Lines; what ends with a colon is a label.
    lines: Vec<String>,
    labels: usize,
}

impl Flow<'_> {
    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}_", self.labels)
    }

    /// Something that all that come here do; it says which ways they came.
    fn work(&mut self) {
        let (a, b, k) = (4 + self.r.below(4), 4 + self.r.below(4), self.r.below(1 << 16));
        let guard = self.r.pick(&["", "", "", "@P0 ", "@!P1 "]);
        self.line(format!("{guard}IMAD R{a}, R{b}, R{a}, R0"));
        if self.r.one_in(2) {
            self.seed();
        }
        self.line(format!("LOP.XOR R{a}, R{a}, {k:#x}"));
    }

    /// An instruction of any kind, on the registers that hold values.
    fn seed(&mut self) {
        let line = self.r.pick(&SEEDS);
        if isa::text::parse(self.chip, line, 8, &|_| None).is_ok() {
            let line = ["R3", "R2", "R1", "R0"].iter().zip(["R7", "R6", "R5", "R4"]).fold(
                line.to_string(),
                |line, (from, to)| {
                    line.replace(&format!(" {from}"), &format!(" {to}"))
                        .replace(&format!("-{from}"), &format!("-{to}"))
                },
            );
            self.line(line);
        }
    }

    /// A predicate that holds for some lanes.
    fn condition(&mut self, p: usize) {
        let (reg, bits) = (self.r.pick(&[0, 0, 4, 5, 6]), self.r.pick(&[1, 2, 3, 4, 8, 16, 24, 31]));
        self.line(format!("LOP.AND R8, R{reg}, {bits:#x}"));
        let test = self.r.pick(&["EQ", "NE", "LT", "GT"]);
        let with = self.r.below(9);
        self.line(format!("ISETP.{test}.AND P{p}, PT, R8, {with:#x}, PT"));
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..1 + self.r.below(3) {
            self.work();
            if depth == 0 {
                continue;
            }
            match self.r.below(6) {
                0 | 1 => self.branch(depth),
                2 | 3 => self.counted(depth),
                4 if self.r.one_in(3) => {
                    self.condition(0);
                    self.line("@P0 EXIT");
                }
                4 => {
                    self.line("CAL SUBROUTINE");
                }
                5 if self.r.one_in(3) => {
                    let guard = self.r.pick(&["", "", "@P0 "]);
                    self.line(format!("STS [R1], R4\n{guard}BAR.SYNC 0x0\nLDS R5, [R1+0x40]"));
                }
                _ => {}
            }
        }
    }

    fn branch(&mut self, depth: usize) {
        let (join, other) = (self.label(), self.label());
        self.condition(0);
        self.line(format!("SSY {join}"));
        let (guard, how) = (self.r.pick(&["@P0", "@!P0"]), self.r.pick(&["", "", ".U"]));
        self.line(format!("{guard} BRA{how} {other}"));
        self.statements(depth - 1);
        if self.r.one_in(3) {
            self.line("@P0 NOP.S");
        }
        // Or both sides end alike.
        if !self.r.one_in(4) {
            self.line("NOP.S");
        }
        self.line(format!("{other}:"));
        self.statements(depth - 1);
        self.line("NOP.S");
        self.line(format!("{join}:"));
    }

    fn counted(&mut self, depth: usize) {
        let (head, next, done) = (self.label(), self.label(), self.label());
        // A counter for each depth.
        let counter = 8 + depth;
        let rounds = self.r.pick(&[0, 4, 5]);
        self.line(format!("LOP.AND R{counter}, R{rounds}, 0x3"));
        self.line(format!("PBK {done}"));
        self.line(format!("{head}:"));
        self.line(format!("PCNT {next}"));
        self.statements(depth - 1);
        self.condition(1);
        self.line("@P1 CONT");
        self.work();
        self.line(format!("ISETP.EQ.AND P1, PT, R{counter}, RZ, PT"));
        self.line("@P1 BRK");
        self.line("CONT");
        self.line(format!("{next}:"));
        self.line(format!("IADD R{counter}, R{counter}, -0x1"));
        self.line(format!("ISETP.LT.AND P1, PT, R{counter}, RZ, PT"));
        self.line("@P1 BRK");
        self.line(format!("BRA {head}"));
        self.line(format!("{done}:"));
    }

    fn kernel(r: &mut Random, chip: Chip) -> Made {
        let mut this = Flow { r, chip, lines: Vec::new(), labels: 0 };
        let first = this.r.pick(&[
            "S2R R0, SR_TID.X",
            "S2R R0, SR_LANEID",
            "S2R R0, SR_LEMASK",
            "S2R R0, SR_CLOCKLO",
        ]);
        for line in [first, "S2R R1, SR_TID.X", "S2R R4, SR_CTAID.X", "S2R R5, SR_TID.Y", "S2R R6, SR_GTMASK"]
        {
            this.line(line);
        }
        this.line(
            "MOV R2, c[0x0][0x0]\nMOV R3, c[0x0][0x4]\nSHL R1, R1, 0x2\nIADD R2, R2, R1\nLD.E R7, [R2]",
        );
        if this.r.one_in(2) {
            this.line("LD.E R5, [R2+0x200]");
        }
        this.statements(3);
        for k in 4..8 {
            this.line(format!("ST.E [R2+{:#x}], R{k}", 0x200 * (k - 4)));
        }
        this.line("EXIT\nSUBROUTINE:");
        this.statements(0);
        this.condition(0);
        this.line("@P0 RET");
        this.work();
        this.line("RET");
        let lines: Vec<String> = this.lines.iter().flat_map(|l| l.split('\n')).map(String::from).collect();
        let code = Code::labelled(chip, &lines);
        (Program::new(chip, &code.words), lines)
    }
}

/// Nested control flow.
pub(super) fn flow(r: &mut Random, chip: Chip) -> Made {
    Flow::kernel(r, chip)
}

/// Accesses of all kinds, in and out of order, of whole warps and parts, some outside memory.
pub(super) fn accesses(r: &mut Random, chip: Chip) -> Made {
    let mut code = Code { chip, words: Vec::new() };
    let mut text = Vec::new();
    let mut line = |line: String| {
        code.line(&line);
        text.push(line);
    };
    let shift = r.pick(&[0, 2, 2, 2, 3, 4, 5, 6]);
    for head in ["S2R R0, SR_TID.X", "S2R R1, SR_LANEID", "MOV R2, c[0x0][0x0]", "MOV R3, c[0x0][0x4]"] {
        line(head.into());
    }
    line(format!("SHL R4, R{}, {shift:#x}", r.below(2)));
    if r.one_in(3) {
        line(format!("LOP.XOR R4, R4, {:#x}", r.pick(&[4, 8, 16, 28, 124, 3])));
    }
    line("IADD R2.CC, R2, R4".into());
    line("IADD.X R3, R3, RZ".into());
    if r.one_in(2) {
        // The two blocks access mostly different words.
        for by_block in ["S2R R5, SR_CTAID.X", "SHL R5, R5, 0xb", "IADD R2, R2, R5"] {
            line(by_block.into());
        }
    }
    line(format!("ISETP.LT.AND P0, PT, R1, {:#x}, PT", r.below(33)));
    for k in 8..16 {
        line(format!("LOP.XOR R{k}, R0, {:#x}", r.below(0x4000)));
    }
    for _ in 0..10 {
        let guard = r.pick(&["", "", "", "@P0 ", "@!P0 "]);
        let width = r.pick(&["", "", ".64", ".128", ".U8", ".S8", ".U16", ".S16"]);
        let size = match width {
            ".64" => 2,
            ".128" => 4,
            _ => 1,
        };
        let reg = 8 + r.below(2) * 4;
        let offset = if r.one_in(12) { r.below(0x1000) } else { 4 * size * r.below(8) };
        let reg = if size == 1 && r.one_in(8) { "RZ".to_string() } else { format!("R{reg}") };
        let access = match r.below(7) {
            0 => format!("LD.E{width} {reg}, [R2+{offset:#x}]"),
            1 => format!("ST.E{width} [R2+{offset:#x}], {reg}"),
            2 => format!("LDS{width} {reg}, [R4+{offset:#x}]"),
            3 => format!("STS{width} [R4+{offset:#x}], {reg}"),
            4 => format!("LDL{width} {reg}, [{offset:#x}]"),
            5 if r.one_in(2) => atomic(r, offset),
            _ => format!("STL{width} [{offset:#x}], {reg}"),
        };
        line(format!("{guard}{access}"));
        if r.one_in(3) {
            line(format!("IADD R{}, R{}, R8", r.pick(&[8, 9, 12]), r.pick(&[9, 12, 13])));
        }
    }
    line("EXIT".into());
    (Program::new(chip, &code.words), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_is_an_instruction_of_a_chip() {
        let known =
            |line: &&str| Chip::ALL.iter().any(|&chip| isa::text::parse(chip, line, 8, &|_| None).is_ok());
        let unknown: Vec<&str> = SEEDS.iter().copied().filter(|line| !known(line)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
