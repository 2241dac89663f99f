//! A tree as TGSI, NIR and IR. What each computes is in buffer 0 afterwards: a word for each thread that came to the end.

use super::tree::{COUNTERS, Cond, Stmt, Tree};
use std::fmt::Write;

pub(super) fn tgsi(tree: &Tree) -> String {
    let mut p = Tgsi::default();
    for line in [
        "SHL TEMP[2].x, SV[0].xxxx, IMM[0].zzzz",
        "LOAD TEMP[3].x, BUFFER[0], TEMP[2].xxxx",
        "LOAD TEMP[4].x, BUFFER[1], IMM[0].xxxx",
        "MOV TEMP[0].x, SV[0].xxxx",
        "MOV TEMP[5].xyz, IMM[0].xxxx",
    ] {
        p.line(line);
    }
    p.body(&tree.main);
    p.line("STORE BUFFER[0].x, TEMP[2].xxxx, TEMP[0].xxxx");
    p.line("END");
    let mut begins = Vec::new();
    for sub in &tree.subs {
        begins.push(p.lines.len());
        p.line("BGNSUB");
        p.body(sub);
        p.line("ENDSUB");
    }
    let mut text = String::from(
        "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 64\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\n\
         DCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL BUFFER[1]\nDCL TEMP[0..8]\n",
    );
    for n in 0..25 {
        let _ = writeln!(text, "IMM[{n}] UINT32 {{{}, {}, {}, {}}}", 4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3);
    }
    for (n, line) in p.lines.iter().enumerate() {
        let line = match line.strip_prefix("CAL ") {
            Some(sub) => format!("CAL :{}", begins[sub.parse::<usize>().expect("a number")]),
            None => line.clone(),
        };
        let _ = writeln!(text, "{n:3}: {line}");
    }
    text
}

#[derive(Default)]
struct Tgsi {
    lines: Vec<String>,
}

/// Where a small number is.
fn imm(n: u32) -> String {
    let c = ["x", "y", "z", "w"][n as usize % 4].repeat(4);
    format!("IMM[{}].{c}", n / 4)
}

impl Tgsi {
    fn line(&mut self, s: &str) {
        self.lines.push(s.to_owned());
    }

    fn body(&mut self, body: &[Stmt]) {
        body.iter().for_each(|s| self.stmt(s));
    }

    fn counter(n: usize) -> (String, String) {
        let c = ["x", "y", "z"][n];
        (format!("TEMP[5].{c}"), format!("TEMP[5].{}", c.repeat(4)))
    }

    fn begin_if(&mut self, cond: Cond) {
        let test = match cond {
            Cond::Result(bit) => format!("AND TEMP[1].x, TEMP[0].xxxx, {}", imm(bit)),
            Cond::Thread(bit) => format!("AND TEMP[1].x, SV[0].xxxx, {}", imm(bit)),
            Cond::Below(n) => format!("USLT TEMP[1].x, SV[0].xxxx, {}", imm(n)),
            Cond::Counter(n, bit) => format!("AND TEMP[1].x, {}, {}", Self::counter(n).1, imm(bit)),
            Cond::Always => return self.line("UIF TEMP[3].xxxx"),
            Cond::Never => format!("USEQ TEMP[1].x, TEMP[3].xxxx, {}", imm(0)),
            Cond::NeverAll => return self.line("UIF TEMP[4].xxxx"),
        };
        self.line(&test);
        self.line("UIF TEMP[1].xxxx");
    }

    fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Add(k) => self.line(&format!("UMAD TEMP[0].x, TEMP[0].xxxx, {}, {}", imm(5), imm(*k))),
            Stmt::Mix => {
                self.line(&format!("UMUL TEMP[8].x, SV[0].xxxx, {}", imm(77)));
                self.line("XOR TEMP[0].x, TEMP[0].xxxx, TEMP[8].xxxx");
            }
            Stmt::Ballot => {
                self.line(&format!("BALLOT TEMP[8].xy, {}", imm(1)));
                self.line(&format!("UMAD TEMP[0].x, TEMP[8].xxxx, {}, TEMP[0].xxxx", imm(3)));
            }
            Stmt::If(cond, then, els) => {
                self.begin_if(*cond);
                self.body(then);
                if !els.is_empty() {
                    self.line("ELSE");
                    self.body(els);
                }
                self.line("ENDIF");
            }
            Stmt::Counted(n, rounds, body) => {
                let (to, from) = Self::counter(*n);
                self.line(&format!("MOV {to}, {}", imm(0)));
                self.line("BGNLOOP");
                self.line(&format!("UADD {to}, {from}, {}", imm(1)));
                self.line(&format!("USLT TEMP[1].x, {}, {from}", imm(*rounds)));
                ["UIF TEMP[1].xxxx", "BRK", "ENDIF"].iter().for_each(|l| self.line(l));
                self.body(body);
                self.line("ENDLOOP");
            }
            Stmt::Loop(body) => {
                self.line("BGNLOOP");
                self.body(body);
                self.line("ENDLOOP");
            }
            Stmt::Switch(cases) => {
                self.line(&format!("USHR TEMP[8].x, TEMP[0].xxxx, {}", imm(1)));
                self.line(&format!("AND TEMP[8].x, TEMP[8].xxxx, {}", imm(3)));
                self.line("SWITCH TEMP[8].xxxx");
                for case in cases {
                    match case.value {
                        Some(v) => self.line(&format!("CASE {}", imm(v))),
                        None => self.line("DEFAULT"),
                    }
                    self.body(&case.body);
                }
                self.line("ENDSWITCH");
            }
            Stmt::Break => self.line("BRK"),
            Stmt::Continue => self.line("CONT"),
            Stmt::End => self.line("END"),
            Stmt::Return => self.line("RET"),
            Stmt::Call(n) => self.line(&format!("CAL {n}")),
            Stmt::Barrier => self.line("BARRIER"),
        }
    }
}

/// Without switches, subroutines and code behind jumps, which NIR has not.
pub(super) fn nir(tree: &Tree) -> String {
    let mut p = Nir { text: String::new(), next: 0, constants: Vec::new() };
    p.text.push_str(
        "shader: MESA_SHADER_COMPUTE\nname: case\nworkgroup-size: 64, 1, 1\nshared-size: 0\n\ndecl_function main (0 params)\n\nimpl main {\n",
    );
    for r in 0..=COUNTERS {
        let _ = writeln!(p.text, "\tdecl_reg vec1 32 r{r}");
    }
    // Constants first, so that they reach everything.
    p.constants = (0..100).map(|n| p.ssa(32, &format!("load_const (0x{n:08x} = 0.000000)"))).collect();
    let c = |p: &Nir, n: usize| p.constants[n].clone();
    let thread = p.ssa(32, "intrinsic load_local_invocation_index () ()");
    let (zero, two) = (c(&p, 0), c(&p, 2));
    let address = p.ssa(32, &format!("ishl {thread}, {two}"));
    let loaded = p
        .ssa(32, &format!("intrinsic load_ssbo ({zero}, {address}) (access=0, align_mul=4, align_offset=0)"));
    let one = c(&p, 1);
    let none =
        p.ssa(32, &format!("intrinsic load_ssbo ({one}, {zero}) (access=0, align_mul=4, align_offset=0)"));
    p.line(&format!("r0 = mov {thread}"));
    for r in 1..=COUNTERS {
        p.line(&format!("r{r} = mov {zero}"));
    }
    let names = Names { thread, loaded, none };
    p.body(&tree.main, &names);
    p.line(&format!(
        "intrinsic store_ssbo (r0, {zero}, {address}) (wrmask=x /*1*/, access=0, align_mul=4, align_offset=0)"
    ));
    p.text.push_str("}\n");
    p.text
}

struct Nir {
    text: String,
    next: u32,
    constants: Vec<String>,
}

struct Names {
    thread: String,
    loaded: String,
    none: String,
}

impl Nir {
    fn line(&mut self, s: &str) {
        let _ = writeln!(self.text, "\t{s}");
    }

    fn ssa(&mut self, bits: u32, what: &str) -> String {
        let name = format!("ssa_{}", self.next);
        self.next += 1;
        self.line(&format!("vec1 {bits} {name} = {what}"));
        name
    }

    fn constant(&self, n: u32) -> String {
        self.constants[n as usize].clone()
    }

    /// Whether control comes to the end of it.
    fn body(&mut self, body: &[Stmt], names: &Names) -> bool {
        body.iter().all(|s| self.stmt(s, names))
    }

    fn cond(&mut self, cond: Cond, names: &Names) -> String {
        let zero = self.constant(0);
        let bit_of = |p: &mut Nir, value: &str, bit: u32| {
            let bit = p.constant(bit);
            let masked = p.ssa(32, &format!("iand {value}, {bit}"));
            p.ssa(1, &format!("ine {masked}, {zero}"))
        };
        match cond {
            Cond::Result(bit) => bit_of(self, "r0", bit),
            Cond::Thread(bit) => bit_of(self, &names.thread, bit),
            Cond::Counter(n, bit) => bit_of(self, &format!("r{}", n + 1), bit),
            Cond::Below(n) => {
                let n = self.constant(n);
                self.ssa(1, &format!("ult {}, {n}", names.thread))
            }
            Cond::Always => self.ssa(1, &format!("ine {}, {zero}", names.loaded)),
            Cond::Never => self.ssa(1, &format!("ieq {}, {zero}", names.loaded)),
            Cond::NeverAll => self.ssa(1, &format!("ine {}, {zero}", names.none)),
        }
    }

    fn stmt(&mut self, s: &Stmt, names: &Names) -> bool {
        match s {
            Stmt::Add(k) => {
                let (five, k) = (self.constant(5), self.constant(*k));
                let v = self.ssa(32, &format!("imul r0, {five}"));
                self.line(&format!("r0 = iadd {v}, {k}"));
            }
            Stmt::Mix => {
                let k = self.constant(77);
                let v = self.ssa(32, &format!("imul {}, {k}", names.thread));
                self.line(&format!("r0 = ixor r0, {v}"));
            }
            Stmt::Ballot => {
                let (zero, one, three) = (self.constant(0), self.constant(1), self.constant(3));
                let yes = self.ssa(1, &format!("ine {one}, {zero}"));
                let ballot = self.ssa(32, &format!("intrinsic ballot ({yes}) ()"));
                let v = self.ssa(32, &format!("imul {ballot}, {three}"));
                self.line(&format!("r0 = iadd r0, {v}"));
            }
            Stmt::If(cond, then, els) => {
                let cond = self.cond(*cond, names);
                self.line(&format!("if {cond} {{"));
                let a = self.body(then, names);
                self.line("} else {");
                let b = self.body(els, names);
                self.line("}");
                let _ = (a, b);
            }
            Stmt::Counted(n, rounds, body) => {
                let (zero, one, rounds) = (self.constant(0), self.constant(1), self.constant(*rounds));
                let r = format!("r{}", n + 1);
                self.line(&format!("{r} = mov {zero}"));
                self.line("loop {");
                self.line(&format!("{r} = iadd {r}, {one}"));
                let done = self.ssa(1, &format!("ult {rounds}, {r}"));
                self.line(&format!("if {done} {{\n\tbreak\n\t}} else {{\n\t}}"));
                self.body(body, names);
                self.line("}");
            }
            Stmt::Loop(body) => {
                self.line("loop {");
                self.body(body, names);
                self.line("}");
            }
            Stmt::Break | Stmt::Continue | Stmt::End | Stmt::Return => {
                self.line(match s {
                    Stmt::Break => "break",
                    Stmt::Continue => "continue",
                    _ => "return",
                });
                return false;
            }
            Stmt::Barrier => self.line(
                "intrinsic scoped_barrier () (execution_scope=WORKGROUP /*2*/, memory_scope=WORKGROUP /*2*/, mem_semantics=ACQ|REL /*3*/, mem_modes=ssbo /*1*/)",
            ),
            Stmt::Switch(_) | Stmt::Call(_) => unreachable!("not allowed in NIR"),
        }
        true
    }
}

/// Without switches. What lives across blocks is in the thread's private memory: result, counters, what was loaded.
pub(super) fn ir(tree: &Tree) -> String {
    let mut text = String::from("program block 64 1 1 private 32\n\n");
    let mut p = Ir { text: String::new(), values: 0, blocks: 1, loops: Vec::new(), exit: "exit" };
    p.text.push_str("kernel k() {\nb0:\n");
    for line in [
        "rdsv u32 %r9000 sv[tid.x]",
        "shl u32 %r9001 %r9000 0x2",
        "ld u32 %r9002 b0[%r9001+0x0 align 4]",
        "ld u32 %r9003 b1[0x0 align 4]",
        "st u32 # l[0x0 align 4] %r9000",
        "st u32 # l[0x10 align 4] %r9002",
        "st u32 # l[0x14 align 4] %r9003",
        "st u32 # l[0x4 align 4] 0x0",
        "st u32 # l[0x8 align 4] 0x0",
        "st u32 # l[0xc align 4] 0x0",
    ] {
        p.line(line);
    }
    p.body(&tree.main);
    p.line("ld u32 %r9004 l[0x0 align 4]");
    p.line("st u32 # b0[%r9001+0x0 align 4] %r9004");
    p.line("exit");
    p.text.push_str("}\n");
    for (n, sub) in tree.subs.iter().enumerate() {
        (p.values, p.blocks, p.exit) = (0, 1, "ret {}");
        let _ = write!(p.text, "\nsub s{n}() {{\nb0:\n");
        p.body(sub);
        p.line("ret {}");
        p.text.push_str("}\n");
    }
    text.push_str(&p.text.replace("%r900", "%r400"));
    text
}

struct Ir {
    text: String,
    values: u32,
    blocks: u32,
    /// Exit and continue block of the loops around.
    loops: Vec<(u32, u32)>,
    /// What a return is here.
    exit: &'static str,
}

impl Ir {
    fn line(&mut self, s: &str) {
        let _ = writeln!(self.text, "    {s}");
    }

    fn value(&mut self, what: &str) -> String {
        let (head, rest) = what.split_once(" = ").expect("a place for the name");
        let name = format!("%r{}", self.values);
        self.values += 1;
        self.line(&format!("{head} {name} {rest}"));
        name
    }

    fn load(&mut self, at: u32) -> String {
        self.value(&format!("ld u32 = l[{at:#x} align 4]"))
    }

    fn block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks - 1
    }

    fn label(&mut self, b: u32, merge: &str) {
        let _ = writeln!(self.text, "b{b}:{merge}");
    }

    fn body(&mut self, body: &[Stmt]) {
        for s in body {
            self.stmt(s);
        }
    }

    /// A predicate that says whether it holds.
    fn cond(&mut self, cond: Cond) -> String {
        let (value, test) = match cond {
            Cond::Result(bit) => (self.load(0), Ok(bit)),
            Cond::Thread(bit) => (self.value("rdsv u32 = sv[tid.x]"), Ok(bit)),
            Cond::Below(n) => (self.value("rdsv u32 = sv[tid.x]"), Err(format!("lt {n:#x}"))),
            Cond::Counter(n, bit) => (self.load(4 * n as u32 + 4), Ok(bit)),
            Cond::Always => (self.load(0x10), Err("ne 0x0".into())),
            Cond::Never => (self.load(0x10), Err("eq 0x0".into())),
            Cond::NeverAll => (self.load(0x14), Err("ne 0x0".into())),
        };
        let (value, test) = match test {
            Ok(bit) => (self.value(&format!("and u32 = {value} {bit:#x}")), "ne 0x0".to_owned()),
            Err(test) => (value, test),
        };
        let (cond, with) = test.split_once(' ').expect("two words");
        let name = format!("%p{}", self.values);
        self.values += 1;
        self.line(&format!("set.{cond} pred u32 {name} {value} {with}"));
        name
    }

    fn leave(&mut self, how: &str) {
        self.line(how);
        let dead = self.block();
        self.label(dead, "");
    }

    fn looped(&mut self, counted: Option<(usize, u32)>, body: &[Stmt]) {
        let [header, start, cont, exit] = [(); 4].map(|()| self.block());
        self.line(&format!("jump b{header}"));
        self.label(header, &format!(" loop exit b{exit} cont b{cont}"));
        self.line(&format!("jump b{start}"));
        self.label(start, "");
        if let Some((n, rounds)) = counted {
            let at = 4 * n as u32 + 4;
            let old = self.load(at);
            let new = self.value(&format!("add u32 = {old} 0x1"));
            self.line(&format!("st u32 # l[{at:#x} align 4] {new}"));
            let [on] = [self.block()];
            let done = format!("%p{}", self.values);
            self.values += 1;
            self.line(&format!("set.gt pred u32 {done} {new} {rounds:#x}"));
            self.line(&format!("if {done} b{exit} b{on} join b{on}"));
            self.label(on, "");
        }
        self.loops.push((exit, cont));
        self.body(body);
        self.loops.pop();
        self.line(&format!("jump b{cont}"));
        self.label(cont, "");
        self.line(&format!("jump b{header}"));
        self.label(exit, "");
    }

    fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Add(k) => {
                let old = self.load(0);
                let new = self.value(&format!("mad u32 = {old} 0x5 {k:#x}"));
                self.line(&format!("st u32 # l[0x0 align 4] {new}"));
            }
            Stmt::Mix => {
                let (old, thread) = (self.load(0), self.value("rdsv u32 = sv[tid.x]"));
                let thread = self.value(&format!("mul u32 = {thread} 0x4d"));
                let new = self.value(&format!("xor u32 = {old} {thread}"));
                self.line(&format!("st u32 # l[0x0 align 4] {new}"));
            }
            Stmt::Ballot => {
                let old = self.load(0);
                let lanes = self.value("vote.any u32 = 0x1");
                let new = self.value(&format!("mad u32 = {lanes} 0x3 {old}"));
                self.line(&format!("st u32 # l[0x0 align 4] {new}"));
            }
            Stmt::If(cond, then, els) => {
                let [a, b, join] = [(); 3].map(|()| self.block());
                let name = self.cond(*cond);
                self.line(&format!("if {name} b{a} b{b} join b{join}"));
                self.label(a, "");
                match (cond, &then[..]) {
                    (Cond::Never | Cond::NeverAll, [Stmt::End]) => self.line("unreachable"),
                    _ => {
                        self.body(then);
                        self.line(&format!("jump b{join}"));
                    }
                }
                self.label(b, "");
                self.body(els);
                self.line(&format!("jump b{join}"));
                self.label(join, "");
            }
            Stmt::Counted(n, rounds, body) => {
                self.line(&format!("st u32 # l[{:#x} align 4] 0x0", 4 * n + 4));
                self.looped(Some((*n, *rounds)), body);
            }
            Stmt::Loop(body) => self.looped(None, body),
            Stmt::Break | Stmt::Continue => {
                if let Some(&(exit, cont)) = self.loops.last() {
                    let to = if matches!(s, Stmt::Break) { exit } else { cont };
                    self.leave(&format!("jump b{to}"));
                }
            }
            Stmt::End => self.leave("exit"),
            Stmt::Return => {
                let exit = self.exit;
                self.leave(exit);
            }
            Stmt::Call(n) => self.line(&format!("call u32 # f{}{{}}", n + 1)),
            Stmt::Barrier => self.line("bar.sync u32 #"),
            Stmt::Switch(_) => unreachable!("not allowed in IR"),
        }
    }
}
