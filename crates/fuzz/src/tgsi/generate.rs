//! Random TGSI programs that are well defined: every thread works on its own registers, its own element of each array
//! and its own memory; what threads share they exchange across barriers, or add up in an order that does not matter;
//! loops end; float operations are precise, or their results go to a buffer that is compared with tolerance.

use super::case::Setup;
use super::resources::Resources;
use arbitrary::{Result, Unstructured};
use std::fmt::Write;

/// Threads of the only block.
pub(super) const THREADS: u32 = 64;
/// Words that a thread reads and writes.
pub(super) const WORDS: u32 = 32;

/// Vector registers of the program, then two arrays.
pub(super) const PLAIN: u32 = 6;
pub(super) const ARRAY: u32 = 4;
pub(super) const SECOND: u32 = PLAIN + ARRAY;
/// What a thread knows of itself: its number, its word of shared memory, its place in the buffers, its part of global
/// memory. Written at the start.
pub(super) const SELF: u32 = 13;
/// For one statement: values, indices, addresses. What keeps an access in bounds is in `INDEX`.
pub(super) const SCRATCH: u32 = 14;
pub(super) const INDEX: u32 = 15;
/// Loop counters: of the main code, of each subroutine.
pub(super) const COUNTERS: u32 = 16;
/// Where the texel of each image is that belongs to the thread.
pub(super) const TEXEL: u32 = 19;
/// Operands that are in the range of a function.
pub(super) const OPERANDS: u32 = 22;
/// Results that nobody looks at.
pub(super) const NOWHERE: u32 = 25;
pub(super) const LAST: u32 = NOWHERE;

/// Shared memory: a vector of each thread, what is exchanged, what is added up.
pub(super) const EXCHANGE: u32 = THREADS * 16;
pub(super) const SUMS: u32 = 2 * EXCHANGE;
pub(super) const SHARED: u32 = SUMS + 64;
pub(super) const PRIVATE: u32 = 64;
/// The kernel input: the default uniforms lie at its beginning, then comes a pointer to global memory.
pub(super) const POINTER: u32 = 128;
/// The first words of this buffer are added up by all threads.
pub(super) const SUM_BUFFER: u32 = 3;
/// Buffers of 64 words to be read by a dynamic number.
pub(super) const TABLES: [u32; 2] = [4, 5];

/// A program and what it runs on. It reads buffer 0 and writes buffer 1, and with tolerance buffer 2.
pub(super) struct Program {
    pub text: String,
    pub setup: Setup,
}

/// See [`Generator::place`].
type Place = ((usize, usize), bool, bool, bool, bool);

pub(super) struct Generator<'u, 'a> {
    pub u: &'u mut Unstructured<'a>,
    pub text: String,
    pub decls: String,
    pub imms: Vec<[u32; 4]>,
    /// Instructions written so far.
    pub count: u32,
    /// Instructions that may still come.
    pub left: u32,
    /// Enclosing loops, and constructs of any kind.
    pub loops: usize,
    pub depth: usize,
    /// The innermost loop may be left early, and begun again early: its rounds are counted.
    pub may_leave: bool,
    pub may_continue: bool,
    /// All threads that have not ended are here together.
    pub uniform: bool,
    /// No loop, switch or call is around: threads of a warp at the same instruction are there at the same time.
    pub together: bool,
    /// Some thread may have ended.
    pub ended: bool,
    /// Subroutines that may be called from here: the first, and the number of all.
    pub callable: (usize, usize),
    /// The subroutine being written; 0: the main code.
    pub function: u32,
    /// Results in the buffer that is compared with tolerance.
    pub slots: u32,
    pub resources: Resources,
}

/// Makes a program.
pub(super) fn program(u: &mut Unstructured<'_>) -> Result<Program> {
    let subs = u.int_in_range(0..=2)?;
    let resources = Resources::new(u)?;
    let mut g = Generator {
        u,
        text: String::new(),
        decls: String::new(),
        imms: Vec::new(),
        count: 0,
        left: 60,
        loops: 0,
        depth: 0,
        may_leave: false,
        may_continue: false,
        uniform: true,
        together: true,
        ended: false,
        callable: (0, subs),
        function: 0,
        slots: 0,
        resources,
    };
    let block = g.begin()?;
    g.body(12)?;
    g.end()?;
    let mut starts = Vec::new();
    (g.uniform, g.together) = (false, false);
    for n in 0..subs {
        g.left = 15;
        g.callable = (n + 1, subs);
        g.function = n as u32 + 1;
        starts.push(g.count);
        g.line("BGNSUB");
        g.body(5)?;
        g.line("ENDSUB");
    }
    let mut body = std::mem::take(&mut g.text);
    for (n, start) in starts.iter().enumerate() {
        body = body.replace(&format!(":sub{n}\n"), &format!(":{start}\n"));
    }
    let mut text = std::mem::take(&mut g.decls);
    for (n, v) in g.imms.iter().enumerate() {
        let _ = writeln!(text, "IMM[{n}] UINT32 {{{}, {}, {}, {}}}", v[0], v[1], v[2], v[3]);
    }
    text += &body;
    let setup = g.resources.bind(Setup::new(1, block).shared(SHARED).private(PRIVATE));
    Ok(Program { text, setup })
}

impl Generator<'_, '_> {
    pub(super) fn line(&mut self, s: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:3}: {}", self.count, s.as_ref());
        self.count += 1;
        self.left = self.left.saturating_sub(1);
    }

    pub(super) fn below(&mut self, n: u32) -> Result<u32> {
        self.u.int_in_range(0..=n - 1)
    }

    pub(super) fn pick<T: Copy>(&mut self, all: &[T]) -> Result<T> {
        self.u.choose(all).copied()
    }

    /// An immediate with these words.
    pub(super) fn imm(&mut self, v: [u32; 4]) -> String {
        let known = self.imms.iter().position(|w| *w == v);
        let n = known.unwrap_or_else(|| {
            self.imms.push(v);
            self.imms.len() - 1
        });
        format!("IMM[{n}]")
    }

    /// An immediate with the same word in all components.
    pub(super) fn all(&mut self, v: u32) -> String {
        self.imm([v; 4])
    }

    pub(super) fn all_float(&mut self, v: f32) -> String {
        self.all(v.to_bits())
    }

    fn begin(&mut self) -> Result<[u32; 3]> {
        let block = self.pick(&[[64, 1, 1], [64, 1, 1], [8, 8, 1], [4, 4, 4], [16, 2, 2]])?;
        self.decls = "COMP\n".to_owned();
        if self.u.ratio(3, 4)? {
            for (name, n) in ["WIDTH", "HEIGHT", "DEPTH"].into_iter().zip(block) {
                let _ = writeln!(self.decls, "PROPERTY CS_FIXED_BLOCK_{name} {n}");
            }
        }
        let _ = write!(
            self.decls,
            "DCL SV[0], THREAD_ID
DCL SV[1], BLOCK_SIZE
DCL SV[2], SUBGROUP_INVOCATION
DCL SV[3], GRID_SIZE
DCL BUFFER[0..5]
DCL HWATOMIC[0][0..3]
DCL MEMORY[0], SHARED
DCL MEMORY[1], PRIVATE
DCL MEMORY[2], GLOBAL
DCL MEMORY[3], INPUT
DCL CONST[0][0..7]
DCL CONST[1][0..7]
DCL CONST[2][0..7]
{}DCL TEMP[0..{}]
DCL TEMP[{PLAIN}..{}], ARRAY(1), LOCAL
DCL TEMP[{SECOND}..{}], ARRAY(2), LOCAL
DCL TEMP[{SELF}..{LAST}]
DCL ADDR[0..3]
",
            self.resources.declarations(),
            PLAIN - 1,
            SECOND - 1,
            SELF - 1,
        );
        for _ in 0..2 {
            let mut words = [0u32; 4];
            for w in &mut words {
                *w = match self.below(3)? {
                    0 => self.below(64)?,
                    1 => ((self.below(256)? as f32) - 128.0).to_bits(),
                    _ => self.u.arbitrary()?,
                };
            }
            self.imms.push(words);
        }
        // Everything has a value, so that programs stay defined when lines are taken out.
        let none = self.all(0);
        for r in SELF..=LAST {
            self.line(format!("MOV TEMP[{r}], {none}"));
        }
        for r in 0..4 {
            self.line(format!("MOV ADDR[{r}], {none}"));
        }
        let (x, xy) = (self.all(block[0]), self.all(block[0] * block[1]));
        self.line(format!("UMAD TEMP[{SELF}].x, SV[0].yyyy, {x}, SV[0].xxxx"));
        self.line(format!("UMAD TEMP[{SELF}].x, SV[0].zzzz, {xy}, TEMP[{SELF}].xxxx"));
        let (vector, words) = (self.all(16), self.all(WORDS * 4));
        self.line(format!("UMUL TEMP[{SELF}].y, TEMP[{SELF}].xxxx, {vector}"));
        self.line(format!("UMUL TEMP[{SELF}].z, TEMP[{SELF}].xxxx, {words}"));
        let pointer = self.all(POINTER);
        self.line(format!("LOAD TEMP[{SELF}].w, MEMORY[3].xxxx, {pointer}"));
        self.line(format!("UADD TEMP[{SELF}].w, TEMP[{SELF}].wwww, TEMP[{SELF}].zzzz"));
        self.line(format!("MOV TEMP[{INDEX}].x, TEMP[{SELF}].zzzz"));
        for r in 0..PLAIN {
            self.line(format!("LOAD TEMP[{r}], BUFFER[0], TEMP[{INDEX}].xxxx"));
            self.line(format!("UADD TEMP[{INDEX}].x, TEMP[{INDEX}].xxxx, {vector}"));
        }
        for r in PLAIN..SELF {
            self.line(format!("XOR TEMP[{r}], TEMP[{}], IMM[0]", r - PLAIN));
        }
        self.line(format!("STORE MEMORY[0], TEMP[{SELF}].yyyy, TEMP[0]"));
        let base = self.all(EXCHANGE);
        self.line(format!("UADD TEMP[{INDEX}].x, TEMP[{SELF}].yyyy, {base}"));
        self.line(format!("STORE MEMORY[0], TEMP[{INDEX}].xxxx, TEMP[1]"));
        for n in 0..PRIVATE / 16 {
            let at = self.all(16 * n);
            self.line(format!("STORE MEMORY[1], {at}, TEMP[{n}]"));
        }
        self.begin_sums()?;
        self.image_texels();
        // What is above this line stays when a program is made smaller.
        self.line("NOP");
        self.left = 60;
        Ok(block)
    }

    /// The first threads set what all add up in shared memory.
    fn begin_sums(&mut self) -> Result<()> {
        let (sixteen, four, base, start) = (self.all(16), self.all(4), self.all(SUMS), self.all(0x40));
        self.line(format!("USLT TEMP[{INDEX}].y, TEMP[{SELF}].xxxx, {sixteen}"));
        self.line(format!("UMAD TEMP[{INDEX}].x, TEMP[{SELF}].xxxx, {four}, {base}"));
        self.line(format!("UIF TEMP[{INDEX}].yyyy"));
        self.line(format!("STORE MEMORY[0].x, TEMP[{INDEX}].xxxx, {start}"));
        self.line("ENDIF");
        self.line("BARRIER");
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let (vector, four, mask, base) = (self.all(16), self.all(4), self.all(15), self.all(SUMS));
        self.line("BARRIER");
        self.line(format!("MOV TEMP[{INDEX}].x, TEMP[{SELF}].zzzz"));
        for r in 0..PLAIN {
            self.line(format!("STORE BUFFER[1], TEMP[{INDEX}].xxxx, TEMP[{r}]"));
            self.line(format!("UADD TEMP[{INDEX}].x, TEMP[{INDEX}].xxxx, {vector}"));
        }
        self.line(format!("LOAD TEMP[0], MEMORY[0], TEMP[{SELF}].yyyy"));
        self.line(format!("STORE BUFFER[1], TEMP[{INDEX}].xxxx, TEMP[0]"));
        self.line(format!("UADD TEMP[{INDEX}].x, TEMP[{INDEX}].xxxx, {vector}"));
        self.line(format!("AND TEMP[{INDEX}].y, TEMP[{SELF}].xxxx, {mask}"));
        self.line(format!("UMAD TEMP[{INDEX}].y, TEMP[{INDEX}].yyyy, {four}, {base}"));
        self.line(format!("LOAD TEMP[0].x, MEMORY[0], TEMP[{INDEX}].yyyy"));
        self.line(format!("MOV TEMP[0].y, TEMP[{}].yyyy", PLAIN + 1));
        self.line(format!("MOV TEMP[0].z, TEMP[{SECOND}].zzzz"));
        self.line(format!("LOAD TEMP[0].w, MEMORY[1].xxxx, {vector}"));
        self.line(format!("STORE BUFFER[1], TEMP[{INDEX}].xxxx, TEMP[0]"));
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
        match self.below(36)? {
            0 | 1 if nest => self.branch(),
            2 if nest && self.loops < 3 => self.repeat(),
            3 if nest => self.switch(),
            4 if self.callable.0 < self.callable.1 => self.call(),
            5 if self.may_leave => self.leave(),
            6 if self.function != 0 && self.depth > 0 => self.guarded("RET"),
            7 if self.u.ratio(1, 8)? => self.stop(),
            8 | 9 => self.indexed(),
            10 => self.shared(),
            11 if self.u.ratio(1, 2)? => self.private(),
            11 => self.global(),
            12 | 13 => self.constant(),
            14 => self.table(),
            15 => self.sum(),
            16 | 17 => self.image(),
            18 | 19 => self.texture(),
            20 | 21 => self.approximate(),
            22 if self.together => self.lanes(),
            23 if self.uniform => self.exchange(),
            24..=27 => self.wide(),
            28 if nest => self.endless(),
            _ => self.word(),
        }
    }

    fn branch(&mut self) -> Result<()> {
        self.depth += 1;
        let uniform = std::mem::take(&mut self.uniform);
        let c = self.source(0)?;
        let op = if self.u.ratio(1, 4)? { "IF" } else { "UIF" };
        self.line(format!("{op} {c}"));
        self.body(4)?;
        if self.u.ratio(1, 2)? {
            self.line("ELSE");
            self.body(4)?;
        }
        self.line("ENDIF");
        self.uniform = uniform;
        self.depth -= 1;
        Ok(())
    }

    /// A loop of four rounds at most. One that all threads leave together may have barriers in it.
    fn repeat(&mut self) -> Result<()> {
        let comp = ["x", "y", "z", "w"][self.loops];
        let counter = format!("TEMP[{}].{comp}", COUNTERS + self.function);
        let read = format!("TEMP[{}].{}", COUNTERS + self.function, comp.repeat(4));
        let (none, one, three) = (self.all(0), self.all(1), self.all(3));
        let early = !self.uniform || self.u.ratio(2, 3)?;
        self.line(format!("MOV {counter}, {none}"));
        self.line("BGNLOOP");
        self.line(format!("USLT TEMP[{INDEX}].y, {three}, {read}"));
        if self.u.ratio(1, 4)? {
            self.line(format!("BREAKC TEMP[{INDEX}].yyyy"));
        } else {
            self.line(format!("UIF TEMP[{INDEX}].yyyy"));
            self.line("BRK");
            self.line("ENDIF");
        }
        self.line(format!("UADD {counter}, {read}, {one}"));
        let before = self.place();
        self.uniform &= !early;
        self.together = false;
        (self.may_leave, self.may_continue) = (early, early);
        // Few calls from loops: rounds multiply.
        if self.loops > 0 || self.u.ratio(2, 3)? {
            self.callable = (0, 0);
        }
        self.loops += 1;
        self.depth += 1;
        self.body(5)?;
        self.return_to(before);
        self.depth -= 1;
        self.loops -= 1;
        self.line("ENDLOOP");
        Ok(())
    }

    /// What is allowed here, to be restored behind a construct.
    fn place(&self) -> Place {
        (self.callable, self.uniform, self.together, self.may_leave, self.may_continue)
    }

    fn return_to(&mut self, place: Place) {
        (self.callable, self.uniform, self.together, self.may_leave, self.may_continue) = place;
    }

    /// A loop without a way out where no thread comes: behind a condition that never holds, or in a loop that all
    /// threads leave before it. The compiler does not know that a square has no bit 1. Nothing counts the rounds of the
    /// outer loop: it may be left, but not begun again.
    fn endless(&mut self) -> Result<()> {
        let (s, two, none) = (self.source(0)?, self.all(2), self.all(0));
        let c = format!("TEMP[{INDEX}].w");
        let square = |g: &mut Self| {
            g.line(format!("MOV {c}, {s}"));
            g.line(format!("UMUL {c}, TEMP[{INDEX}].wwww, TEMP[{INDEX}].wwww"));
            g.line(format!("AND {c}, TEMP[{INDEX}].wwww, {two}"));
        };
        let before = self.place();
        let inside = self.u.ratio(1, 2)?;
        self.return_to(((0, 0), false, false, inside, false));
        self.depth += 1;
        if inside {
            self.line("BGNLOOP");
            if self.u.ratio(1, 2)? {
                self.body(2)?;
            }
            square(self);
            self.line(format!("USEQ {c}, TEMP[{INDEX}].wwww, {none}"));
            self.line(format!("UIF TEMP[{INDEX}].wwww"));
            self.line("BRK");
            self.line("ENDIF");
        } else {
            square(self);
            self.line(format!("UIF TEMP[{INDEX}].wwww"));
        }
        self.line("BGNLOOP");
        self.may_leave = false;
        if self.u.ratio(1, 2)? {
            self.word()?;
        }
        self.line("ENDLOOP");
        self.line(if inside { "ENDLOOP" } else { "ENDIF" });
        self.depth -= 1;
        self.return_to(before);
        Ok(())
    }

    fn switch(&mut self) -> Result<()> {
        self.depth += 1;
        let before = (self.uniform, self.together);
        (self.uniform, self.together) = (false, false);
        let s = self.source(0)?;
        let three = self.all(3);
        self.line(format!("AND TEMP[{SCRATCH}].y, {s}, {three}"));
        self.line(format!("SWITCH TEMP[{SCRATCH}].yyyy"));
        let default = self.below(4)?;
        for n in 0..3u32 {
            if n == default {
                self.line("DEFAULT");
            } else {
                let case = self.all(n);
                self.line(format!("CASE {case}.xxxx"));
            }
            self.body(2)?;
            if self.u.ratio(2, 3)? {
                self.line("BRK");
            }
        }
        self.line("ENDSWITCH");
        (self.uniform, self.together) = before;
        self.depth -= 1;
        Ok(())
    }

    fn call(&mut self) -> Result<()> {
        let n = self.u.int_in_range(self.callable.0..=self.callable.1 - 1)?;
        if self.u.ratio(1, 3)? {
            let c = self.source(0)?;
            self.line(format!("CALLNZ {c} :sub{n}"));
        } else {
            self.line(format!("CAL :sub{n}"));
        }
        // Subroutines may end threads.
        self.ended = true;
        Ok(())
    }

    fn leave(&mut self) -> Result<()> {
        if self.u.ratio(1, 3)? {
            let c = self.source(0)?;
            self.line(format!("BREAKC {c}"));
            return Ok(());
        }
        let exit = if self.may_continue && self.u.ratio(1, 2)? { "CONT" } else { "BRK" };
        self.guarded(exit)
    }

    fn guarded(&mut self, what: &str) -> Result<()> {
        let c = self.source(0)?;
        self.line(format!("UIF {c}"));
        self.line(what);
        self.line("ENDIF");
        Ok(())
    }

    /// A few threads end here.
    fn stop(&mut self) -> Result<()> {
        let (mask, which) = (self.all(15), self.below(16)?);
        let which = self.all(which);
        self.line(format!("AND TEMP[{SCRATCH}].x, TEMP[{SELF}].xxxx, {mask}"));
        self.line(format!("USEQ TEMP[{SCRATCH}].x, TEMP[{SCRATCH}].xxxx, {which}"));
        self.line(format!("UIF TEMP[{SCRATCH}].xxxx"));
        self.line("END");
        self.line("ENDIF");
        self.ended = true;
        Ok(())
    }

    /// Votes and reads among the threads of a warp.
    fn lanes(&mut self) -> Result<()> {
        let (d, m, s) = (self.below(PLAIN)?, self.mask()?, self.source(0)?);
        let line = match self.below(6)? {
            0 => format!("VOTE_ANY TEMP[{d}]{m}, {s}"),
            1 => format!("VOTE_ALL TEMP[{d}]{m}, {s}"),
            2 => format!("VOTE_EQ TEMP[{d}]{m}, {s}"),
            3 => format!("BALLOT TEMP[{d}].xy, {s}"),
            4 => format!("READ_FIRST TEMP[{d}]{m}, {s}"),
            // A lane that is not here has nothing to read.
            _ if self.ended || !self.uniform => format!("BALLOT TEMP[{d}].zw, {s}"),
            _ => format!("READ_INVOC TEMP[{d}]{m}, {s}, {}", self.source(0)?),
        };
        self.line(line);
        Ok(())
    }

    pub(super) fn mask(&mut self) -> Result<String> {
        let m = self.u.int_in_range(1..=15u32)?;
        let comps: String = (0..4).filter(|c| m >> c & 1 != 0).map(|c| char::from(b"xyzw"[c])).collect();
        Ok(if m == 15 { String::new() } else { format!(".{comps}") })
    }

    /// A register to be written.
    pub(super) fn target(&mut self) -> Result<u32> {
        self.below(PLAIN)
    }

    /// An operand; `modifiers`: bit 0 negation, bit 1 absolute value may stand on it.
    pub(super) fn source(&mut self, modifiers: u32) -> Result<String> {
        let reg = match self.below(16)? {
            0 | 1 => format!("IMM[{}]", self.below(self.imms.len() as u32)?),
            2 => format!("SV[{}]", self.below(4)?),
            3 | 4 => format!("TEMP[{}]", PLAIN + self.below(ARRAY)?),
            5 => format!("CONST[{}][{}]", self.below(3)?, self.below(8)?),
            6 => format!("TEMP[{}]", SECOND + self.below(3)?),
            _ => format!("TEMP[{}]", self.below(PLAIN)?),
        };
        // The number of a lane is one word.
        let scalar = reg == "SV[2]";
        let mut swizzle = String::new();
        for _ in 0..4 {
            swizzle.push(if scalar { 'x' } else { char::from(b"xyzw"[self.below(4)? as usize]) });
        }
        let reg = format!("{reg}.{swizzle}");
        let reg = if modifiers & 2 != 0 && self.u.ratio(1, 8)? { format!("|{reg}|") } else { reg };
        Ok(if modifiers & 1 != 0 && self.u.ratio(1, 6)? { format!("-{reg}") } else { reg })
    }

    pub(super) fn resources(&self) -> &Resources {
        &self.resources
    }
}
