//! Random TGSI programs that are well defined: every thread works on its own registers, its own element of each array
//! and its own memory, loops end, and float operations are precise.

use arbitrary::{Result, Unstructured};
use std::fmt::Write;

/// Threads of the only block.
pub const THREADS: u32 = 64;
/// Words that a thread reads and writes.
pub const WORDS: u32 = 32;

/// Vector registers of the program: plain ones, then the array.
const PLAIN: u32 = 6;
const ARRAY: u32 = 4;
/// Registers that hold loop counters, one a depth; nothing else writes them.
const COUNTERS: u32 = PLAIN + ARRAY;
const SCRATCH: u32 = COUNTERS + 4;

/// Operations by the types of their operands: 32-bit ones.
const WORD: &[(&str, usize)] = &[
    ("MOV", 1),
    ("UADD", 2),
    ("UMUL", 2),
    ("UMAD", 3),
    ("UDIV", 2),
    ("UMOD", 2),
    ("IDIV", 2),
    ("MOD", 2),
    ("IMUL_HI", 2),
    ("UMUL_HI", 2),
    ("UMAX", 2),
    ("UMIN", 2),
    ("IMAX", 2),
    ("IMIN", 2),
    ("INEG", 1),
    ("IABS", 1),
    ("ISSG", 1),
    ("USEQ", 2),
    ("USNE", 2),
    ("USLT", 2),
    ("USGE", 2),
    ("ISLT", 2),
    ("ISGE", 2),
    ("NOT", 1),
    ("AND", 2),
    ("OR", 2),
    ("XOR", 2),
    ("SHL", 2),
    ("USHR", 2),
    ("ISHR", 2),
    ("BREV", 1),
    ("POPC", 1),
    ("LSB", 1),
    ("IMSB", 1),
    ("UMSB", 1),
    ("UCMP", 3),
    ("CMP", 3),
    ("I2F", 1),
    ("U2F", 1),
    ("F2I", 1),
    ("F2U", 1),
    ("ADD_PRECISE", 2),
    ("MUL_PRECISE", 2),
    ("FMA_PRECISE", 3),
    ("MIN", 2),
    ("MAX", 2),
    ("FSLT", 2),
    ("FSGE", 2),
    ("FSEQ", 2),
    ("FSNE", 2),
    ("SLT", 2),
    ("SNE", 2),
    ("SSG", 1),
    ("FLR", 1),
    ("CEIL", 1),
    ("ROUND", 1),
    ("TRUNC", 1),
    ("ADD_SAT_PRECISE", 2),
    ("MUL_SAT_PRECISE", 2),
    ("UP2H", 1),
];

/// 64-bit operations: name, operands, whether the result is 32 bits wide.
const PAIR: &[(&str, usize)] = &[
    ("U64ADD", 2),
    ("U64MUL", 2),
    ("U64DIV", 2),
    ("U64MOD", 2),
    ("I64DIV", 2),
    ("I64MOD", 2),
    ("I64ABS", 1),
    ("I64NEG", 1),
    ("I64SSG", 1),
    ("I64MIN", 2),
    ("I64MAX", 2),
    ("U64MIN", 2),
    ("U64MAX", 2),
    ("U64SHL", 2),
    ("I64SHR", 2),
    ("U64SHR", 2),
    ("DADD_PRECISE", 2),
    ("DMUL_PRECISE", 2),
    ("DFMA_PRECISE", 3),
    ("DMIN", 2),
    ("DMAX", 2),
    ("DABS", 1),
    ("DNEG", 1),
    ("DTRUNC", 1),
    ("DFLR", 1),
    ("DCEIL", 1),
    ("DROUND", 1),
    ("DSSG", 1),
    ("F2D", 1),
    ("I2D", 1),
    ("U2D", 1),
    ("I2I64", 1),
    ("U2I64", 1),
    ("F2I64", 1),
    ("F2U64", 1),
    ("D2I64", 1),
    ("D2U64", 1),
    ("I642D", 1),
    ("U642D", 1),
];

const FROM_PAIR: &[(&str, usize)] = &[
    ("DSLT", 2),
    ("DSGE", 2),
    ("DSEQ", 2),
    ("DSNE", 2),
    ("U64SEQ", 2),
    ("U64SNE", 2),
    ("U64SLT", 2),
    ("U64SGE", 2),
    ("I64SLT", 2),
    ("I64SGE", 2),
    ("D2F", 1),
    ("D2I", 1),
    ("D2U", 1),
    ("I642F", 1),
    ("U642F", 1),
];

struct Generator<'u, 'a> {
    u: &'u mut Unstructured<'a>,
    text: String,
    /// Instructions written so far.
    count: u32,
    /// Instructions that may still come.
    left: u32,
    /// Enclosing loops, and whether a switch is inside the innermost.
    loops: usize,
    depth: usize,
    /// Subroutines that may be called from here: the first, and the number of all.
    callable: (usize, usize),
    /// Places of calls in the text, to be filled in: subroutine number.
    in_sub: bool,
}

/// A program: text that reads BUFFER[0] and writes BUFFER[1].
pub fn program(u: &mut Unstructured<'_>) -> Result<String> {
    let subs = u.int_in_range(0..=2)?;
    let mut g = Generator {
        u,
        text: String::new(),
        count: 0,
        left: 60,
        loops: 0,
        depth: 0,
        callable: (0, subs),
        in_sub: false,
    };
    g.begin()?;
    g.body(12)?;
    g.end()?;
    let mut starts = Vec::new();
    for n in 0..subs {
        g.left = 15;
        g.callable = (n + 1, subs);
        g.in_sub = true;
        starts.push(g.count);
        g.line("BGNSUB");
        g.body(5)?;
        g.line("ENDSUB");
    }
    let mut text = std::mem::take(&mut g.text);
    for (n, start) in starts.iter().enumerate() {
        text = text.replace(&format!(":sub{n}\n"), &format!(":{start}\n"));
    }
    Ok(text)
}

impl Generator<'_, '_> {
    fn line(&mut self, s: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:3}: {}", self.count, s.as_ref());
        self.count += 1;
        self.left = self.left.saturating_sub(1);
    }

    fn below(&mut self, n: u32) -> Result<u32> {
        self.u.int_in_range(0..=n - 1)
    }

    fn begin(&mut self) -> Result<()> {
        let last = SCRATCH + 1;
        self.text = format!(
            "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH {THREADS}
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL BUFFER[0]
DCL BUFFER[1]
DCL MEMORY[0], SHARED
DCL TEMP[0..{}]
DCL TEMP[{PLAIN}..{}], ARRAY(1), LOCAL
DCL TEMP[{COUNTERS}..{last}]
DCL ADDR[0..1]
IMM[0] UINT32 {{0, 1, 3, 12}}
IMM[1] UINT32 {{{}, 16, 5, 2}}
",
            PLAIN - 1,
            PLAIN + ARRAY - 1,
            WORDS * 4,
        );
        for n in 2..4 {
            let mut words = [0u32; 4];
            for w in &mut words {
                *w = match self.below(3)? {
                    0 => self.below(64)?,
                    1 => ((self.below(256)? as f32) - 128.0).to_bits(),
                    _ => self.u.arbitrary()?,
                };
            }
            let _ = writeln!(
                self.text,
                "IMM[{n}] UINT32 {{{}, {}, {}, {}}}",
                words[0], words[1], words[2], words[3]
            );
        }
        self.line(format!("UMUL TEMP[{SCRATCH}].x, SV[0].xxxx, IMM[1].xxxx"));
        for r in 0..PLAIN {
            self.line(format!("LOAD TEMP[{r}], BUFFER[0], TEMP[{SCRATCH}].xxxx"));
            self.line(format!("UADD TEMP[{SCRATCH}].x, TEMP[{SCRATCH}].xxxx, IMM[1].yyyy"));
        }
        for r in 0..ARRAY {
            self.line(format!("XOR TEMP[{}], TEMP[{r}], IMM[2]", PLAIN + r));
        }
        self.line(format!("UMUL TEMP[{SCRATCH}].z, SV[0].xxxx, IMM[1].yyyy"));
        self.line(format!("STORE MEMORY[0], TEMP[{SCRATCH}].zzzz, TEMP[0]"));
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.line(format!("UMUL TEMP[{SCRATCH}].x, SV[0].xxxx, IMM[1].xxxx"));
        for r in 0..PLAIN {
            self.line(format!("STORE BUFFER[1], TEMP[{SCRATCH}].xxxx, TEMP[{r}]"));
            self.line(format!("UADD TEMP[{SCRATCH}].x, TEMP[{SCRATCH}].xxxx, IMM[1].yyyy"));
        }
        self.line(format!("LOAD TEMP[0], MEMORY[0], TEMP[{SCRATCH}].zzzz"));
        self.line(format!("STORE BUFFER[1], TEMP[{SCRATCH}].xxxx, TEMP[0]"));
        self.line("END");
        Ok(())
    }

    fn body(&mut self, statements: u32) -> Result<()> {
        for _ in 0..self.u.int_in_range(1..=statements)? {
            if self.left == 0 || self.u.is_empty() {
                break;
            }
            self.statement()?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<()> {
        let nest = self.depth < 4;
        match self.below(20)? {
            0 | 1 if nest => self.branch(),
            2 if nest && self.loops < 3 => self.repeat(),
            3 if nest => self.switch(),
            4 if self.callable.0 < self.callable.1 => {
                let n = self.u.int_in_range(self.callable.0..=self.callable.1 - 1)?;
                self.line(format!("CAL :sub{n}"));
                Ok(())
            }
            5 if self.loops > 0 => {
                let c = self.source(0)?;
                self.line(format!("UIF {c}"));
                let exit = if self.u.ratio(1, 2)? { "BRK" } else { "CONT" };
                self.line(exit);
                self.line("ENDIF");
                Ok(())
            }
            6 if self.in_sub && self.depth > 0 => {
                let c = self.source(0)?;
                self.line(format!("UIF {c}"));
                self.line("RET");
                self.line("ENDIF");
                Ok(())
            }
            7 | 8 => self.indexed(),
            9 => self.memory(),
            10..=12 => self.wide(),
            _ => self.word(),
        }
    }

    fn branch(&mut self) -> Result<()> {
        self.depth += 1;
        let c = self.source(0)?;
        let op = if self.u.ratio(1, 4)? { "IF" } else { "UIF" };
        self.line(format!("{op} {c}"));
        self.body(4)?;
        if self.u.ratio(1, 2)? {
            self.line("ELSE");
            self.body(4)?;
        }
        self.line("ENDIF");
        self.depth -= 1;
        Ok(())
    }

    fn repeat(&mut self) -> Result<()> {
        let counter = format!("TEMP[{}]", COUNTERS + self.loops as u32 + if self.in_sub { 2 } else { 0 });
        let (loops, comp) = (self.loops, ["x", "y", "z"][self.depth.min(2)]);
        // Subroutines have counters of their own, so that they do not disturb their callers'.
        let comp = if self.in_sub { ["z", "w", "w"][loops.min(2)] } else { comp };
        self.line(format!("MOV {counter}.{comp}, IMM[0].xxxx"));
        self.line("BGNLOOP");
        self.line(format!("USLT TEMP[{SCRATCH}].y, IMM[0].zzzz, {counter}.{}", comp.repeat(4)));
        self.line(format!("UIF TEMP[{SCRATCH}].yyyy"));
        self.line("BRK");
        self.line("ENDIF");
        self.line(format!("UADD {counter}.{comp}, {counter}.{}, IMM[0].yyyy", comp.repeat(4)));
        self.loops += 1;
        self.depth += 1;
        let calls = std::mem::take(&mut self.callable);
        self.body(5)?;
        self.callable = calls;
        self.depth -= 1;
        self.loops -= 1;
        self.line("ENDLOOP");
        Ok(())
    }

    fn switch(&mut self) -> Result<()> {
        self.depth += 1;
        let s = self.source(0)?;
        self.line(format!("AND TEMP[{SCRATCH}].y, {s}, IMM[0].zzzz"));
        self.line(format!("SWITCH TEMP[{SCRATCH}].yyyy"));
        let default = self.below(4)?;
        for n in 0..3u32 {
            if n == default {
                self.line("DEFAULT");
            } else {
                self.line(format!("CASE IMM[0].{}", ["xxxx", "yyyy", "zzzz"][n as usize]));
            }
            self.body(2)?;
            if self.u.ratio(2, 3)? {
                self.line("BRK");
            }
        }
        self.line("ENDSWITCH");
        self.depth -= 1;
        Ok(())
    }

    fn indexed(&mut self) -> Result<()> {
        let s = self.source(0)?;
        self.line(format!("AND TEMP[{SCRATCH}].y, {s}, IMM[0].zzzz"));
        self.line(format!("UARL ADDR[0].x, TEMP[{SCRATCH}].yyyy"));
        let (d, m) = (self.below(PLAIN)?, self.mask()?);
        let element = format!("TEMP[ADDR[0].x+{PLAIN}](1)");
        if self.u.ratio(1, 2)? {
            self.line(format!("MOV {element}{m}, TEMP[{d}]"));
        } else {
            self.line(format!("MOV TEMP[{d}]{m}, {element}"));
        }
        Ok(())
    }

    fn memory(&mut self) -> Result<()> {
        let s = self.source(0)?;
        self.line(format!("AND TEMP[{SCRATCH}].y, {s}, IMM[0].wwww"));
        self.line(format!("UADD TEMP[{SCRATCH}].y, TEMP[{SCRATCH}].yyyy, TEMP[{SCRATCH}].zzzz"));
        let (d, v) = (self.below(PLAIN)?, self.source(0)?);
        match self.below(3)? {
            0 => self.line(format!("STORE MEMORY[0].x, TEMP[{SCRATCH}].yyyy, {v}")),
            1 => self.line(format!("LOAD TEMP[{d}].x, MEMORY[0], TEMP[{SCRATCH}].yyyy")),
            _ => {
                let op = ["ATOMUADD", "ATOMUMAX", "ATOMIMIN", "ATOMXOR", "ATOMXCHG"][self.below(5)? as usize];
                self.line(format!("{op} TEMP[{d}].x, MEMORY[0], TEMP[{SCRATCH}].yyyy, {v}"));
            }
        }
        Ok(())
    }

    fn mask(&mut self) -> Result<String> {
        let m = self.u.int_in_range(1..=15u32)?;
        let comps: String = (0..4).filter(|c| m >> c & 1 != 0).map(|c| char::from(b"xyzw"[c])).collect();
        Ok(if m == 15 { String::new() } else { format!(".{comps}") })
    }

    /// An operand; `modifiers`: bit 0 negation, bit 1 absolute value may stand on it.
    fn source(&mut self, modifiers: u32) -> Result<String> {
        let reg = match self.below(8)? {
            0 => format!("IMM[{}]", self.below(4)?),
            1 => "SV[0]".to_owned(),
            2 => format!("TEMP[{}]", PLAIN + self.below(ARRAY)?),
            _ => format!("TEMP[{}]", self.below(PLAIN)?),
        };
        let mut swizzle = String::new();
        for _ in 0..4 {
            swizzle.push(char::from(b"xyzw"[self.below(4)? as usize]));
        }
        let reg = format!("{reg}.{swizzle}");
        let reg = if modifiers & 2 != 0 && self.u.ratio(1, 8)? { format!("|{reg}|") } else { reg };
        Ok(if modifiers & 1 != 0 && self.u.ratio(1, 6)? { format!("-{reg}") } else { reg })
    }

    fn emit(&mut self, op: &str, dst: String, n: usize) -> Result<()> {
        let mut line = format!("{op} {dst}");
        for _ in 0..n {
            let s = self.source(3)?;
            let _ = write!(line, ", {s}");
        }
        self.line(line);
        Ok(())
    }

    fn word(&mut self) -> Result<()> {
        if self.u.ratio(1, 12)? {
            // Fields that lie inside the word.
            let (d, m) = (self.below(PLAIN)?, self.mask()?);
            let (a, b) = (self.source(1)?, self.source(1)?);
            let op = ["UBFE", "IBFE", "BFI"][self.below(3)? as usize];
            let insert = if op == "BFI" { format!(", {b}") } else { String::new() };
            self.line(format!("{op} TEMP[{d}]{m}, {a}{insert}, IMM[1].zzzz, IMM[0].wwww"));
            return Ok(());
        }
        let &(op, n) = self.u.choose(WORD)?;
        let (d, m) = (self.below(PLAIN)?, self.mask()?);
        self.emit(op, format!("TEMP[{d}]{m}"), n)
    }

    fn wide(&mut self) -> Result<()> {
        let d = self.below(PLAIN)?;
        if self.u.ratio(1, 3)? {
            let &(op, n) = self.u.choose(FROM_PAIR)?;
            let m = [".x", ".xz", ".xy", ".y"][self.below(4)? as usize];
            return self.emit(op, format!("TEMP[{d}]{m}"), n);
        }
        let &(op, n) = self.u.choose(PAIR)?;
        let m = [".xy", ".zw", ""][self.below(3)? as usize];
        self.emit(op, format!("TEMP[{d}]{m}"), n)?;
        if op.starts_with('D') || op.ends_with("2D") {
            // Which pattern a result that is no number has is open: make it zero.
            self.line(format!("DSEQ TEMP[{}].xz, TEMP[{d}], TEMP[{d}]", SCRATCH + 1));
            self.line(format!("UCMP TEMP[{d}], TEMP[{}].xxzz, TEMP[{d}], IMM[0].xxxx", SCRATCH + 1));
        }
        Ok(())
    }
}
