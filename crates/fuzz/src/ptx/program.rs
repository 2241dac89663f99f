//! A PTX kernel as text and meaning side by side. Each instruction carries what it computes, so that the text for
//! ptxas and the values on the host come from one place of the generator.

use std::fmt::Write;
use std::rc::Rc;

/// Bytes that a thread has in each memory for itself.
pub(super) const OWN: u32 = 64;
/// Words that all threads of the block add up, in shared and in global memory.
pub(super) const SUMS: u32 = 16;
/// Words that a thread reads.
pub(super) const INPUTS: u32 = 48;

/// Files of registers. `Opaque` ones come from memory and are never written again, so that ptxas knows nothing of
/// them; `Carry` is the condition code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum File {
    Half,
    Word,
    Pair,
    Float,
    Double,
    Pred,
    Opaque,
    OpaquePair,
    Carry,
    Counter,
}

pub(super) const FILES: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reg(pub File, pub u8);

impl Reg {
    pub fn bits(self) -> u32 {
        match self.0 {
            File::Half => 16,
            File::Word | File::Float | File::Opaque | File::Counter => 32,
            File::Pair | File::Double | File::OpaquePair => 64,
            File::Pred | File::Carry => 1,
        }
    }
}

impl std::fmt::Display for Reg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = ["h", "r", "d", "f", "g", "p", "o", "q", "cc", "n"][self.0 as usize];
        write!(f, "%{file}{}", self.1)
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Src {
    Reg(Reg),
    Imm(u64),
}

/// The registers of a kind that a kernel has.
pub(super) const COUNTS: [(File, u8); 9] = [
    (File::Half, 4),
    (File::Word, 8),
    (File::Pair, 5),
    (File::Float, 6),
    (File::Double, 4),
    (File::Pred, 4),
    (File::Opaque, 4),
    (File::OpaquePair, 2),
    (File::Counter, 4),
];

pub(super) fn count(file: File) -> u8 {
    COUNTS.iter().find(|c| c.0 == file).map_or(1, |c| c.1)
}

/// From the operands of each lane to the results of each lane.
pub(super) type WarpMeaning = Rc<dyn Fn(&[Vec<u64>]) -> Vec<Vec<u64>>>;
/// From operands to results.
pub(super) type Meaning = Rc<dyn Fn(&[u64]) -> Vec<u64>>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Global,
    Shared,
    Local,
}

impl Space {
    pub fn name(self) -> &'static str {
        ["global", "shared", "local"][self as usize]
    }
}

/// Where a thread accesses memory of its own: an offset, and a register that is added after a mask, if any.
#[derive(Clone, Copy)]
pub struct Place {
    pub space: Space,
    pub offset: u32,
    pub index: Option<(Reg, u32)>,
}

/// What an access does: bytes of an element, how many, whether a load extends the sign.
#[derive(Clone, Copy)]
pub struct Access {
    pub bytes: u32,
    pub signed: bool,
}

#[derive(Clone)]
pub enum What {
    /// Each thread by itself.
    Pure(Meaning),
    Load(Place, Access),
    Store(Place, Access),
    /// From the old value and the operands to the new value; the destination, if any, gets the old one.
    Atomic(Place, Access, Meaning),
    /// The same on a word that all threads share, whose order does not show.
    Sum(Space, u32, Access, Meaning),
    /// From the values of the operands in all lanes of a warp to the results of all lanes.
    Warp(WarpMeaning),
    /// Threads give each other a word: the source of thread `tid ^ .0` becomes the destination.
    Exchange(u32),
}

#[derive(Clone)]
pub struct Inst {
    /// Lines without indentation; each gets the guard.
    pub text: Vec<String>,
    pub guard: Option<(Reg, bool)>,
    pub dst: Vec<Reg>,
    pub src: Vec<Src>,
    pub what: What,
}

#[derive(Clone)]
pub enum Stmt {
    Inst(Inst),
    /// The condition; true: negated.
    If(Reg, bool, Vec<Stmt>, Vec<Stmt>),
    /// As many rounds as the counter register says; it is set from the operand and counted down.
    Loop {
        counter: Reg,
        rounds: Src,
        body: Vec<Stmt>,
    },
    Break(Reg, bool),
    Continue(Reg, bool),
}

#[derive(Clone)]
pub struct Kernel {
    pub name: String,
    pub threads: u32,
    pub body: Vec<Stmt>,
    pub seed: u64,
}

/// Words that a thread leaves, memory included.
pub(super) fn outputs() -> u32 {
    let words: u32 = COUNTS[..5].iter().map(|&(f, n)| u32::from(n) * Reg(f, 0).bits().max(32) / 32).sum();
    (words + 1).next_multiple_of(4) + OWN / 2
}

/// Bytes of the buffer of a kernel's results: each thread's outputs, each thread's memory, the sums.
pub(super) fn out_bytes(threads: u32) -> u32 {
    threads * outputs() * 4 + threads * OWN + SUMS * 4
}

fn shared_bytes(threads: u32) -> u32 {
    threads * OWN + SUMS * 4 + threads * 4
}

/// A module of kernels.
pub(super) fn module(kernels: &[Kernel]) -> String {
    let mut text = String::from(".version 5.0\n.target sm_35\n.address_size 64\n");
    for k in kernels {
        text += &kernel(k);
    }
    text
}

pub(super) fn kernel(k: &Kernel) -> String {
    let (threads, own) = (k.threads, OWN);
    let mut t = String::new();
    let _ = write!(
        t,
        "\n.visible .entry {}(.param .u64 pin, .param .u64 pout)\n.maxntid {threads}, 1, 1\n{{\n\
         .shared .align 16 .b8 sm_{}[{}];\n.local .align 16 .b8 lm[{own}];\n\
         .reg .b16 %h<5>; .reg .b32 %r<9>, %o<5>, %n<5>, %t<4>; .reg .b64 %d<6>, %q<3>, %a<4>;\n\
         .reg .f32 %f<7>; .reg .f64 %g<5>; .reg .pred %p<5>, %z;\n\
         .reg .b32 %tid, %sb, %lb, %xb, %x, %y; .reg .b64 %in, %out, %gb, %sum; .reg .f32 %fx; .reg .f64 %gx;\n\
         ld.param.u64 %in, [pin];\nld.param.u64 %out, [pout];\nmov.u32 %tid, %tid.x;\n",
        k.name,
        k.name,
        shared_bytes(threads),
    );
    // Predefined names are not registers of ours: %tid.x is one, %tid the vector.
    t = t.replace("%tid,", "%me,").replace("mov.u32 %tid, %tid.x", "mov.u32 %me, %tid.x");
    let _ = write!(
        t,
        "mad.wide.u32 %in, %me, {}, %in;\nadd.u64 %gb, %out, {};\nadd.u64 %sum, %gb, {};\n\
         mad.wide.u32 %out, %me, {}, %out;\nmad.wide.u32 %gb, %me, {own}, %gb;\nmov.u32 %sb, sm_{};\n\
         mad.lo.u32 %sb, %me, {own}, %sb;\nmov.u32 %lb, lm;\n",
        INPUTS * 4,
        threads * outputs() * 4,
        threads * own,
        outputs() * 4,
        k.name,
    );
    let mut at = 0;
    for (file, n) in COUNTS {
        for i in 0..n {
            let r = Reg(file, i);
            match file {
                File::Pred => {
                    let _ = write!(
                        t,
                        "ld.global.u32 %x, [%in+{at}];\nand.b32 %x, %x, 1;\nsetp.ne.u32 {r}, %x, 0;\n"
                    );
                }
                File::Counter => {
                    let _ = writeln!(t, "mov.u32 {r}, 0;");
                    continue;
                }
                _ => {
                    let _ = writeln!(t, "ld.global.b{} {r}, [%in+{at}];", r.bits());
                }
            }
            at += r.bits().max(32) / 8;
        }
    }
    for n in (0..own).step_by(16) {
        for (space, base) in [("global", "%gb"), ("shared", "%sb"), ("local", "%lb")] {
            let _ = writeln!(t, "st.{space}.v4.u32 [{base}+{n}], {{%o0, %o1, %o2, %o3}};");
        }
    }
    let base = format!("sm_{}+{}", k.name, threads * own);
    let _ = write!(
        t,
        "setp.lt.u32 %z, %me, {SUMS};\nmov.u32 %x, {base};\nmad.lo.u32 %x, %me, 4, %x;\n@%z st.shared.u32 [%x], 64;\nmov.u32 %xb, {base};\nadd.u32 %xb, %xb, {};\nbar.sync 0;\n",
        SUMS * 4
    );
    let mut label = 0;
    stmts(&mut t, &k.body, &mut label, None, &base);
    end(&mut t, &base);
    t + "}\n"
}

/// Stores everything; NaNs get one form, since their payload is nobody's business.
fn end(t: &mut String, base: &str) {
    *t += "bar.sync 0;\n";
    let mut at = 0;
    for (file, n) in &COUNTS[..5] {
        for i in 0..*n {
            let r = Reg(*file, i);
            let _ = match file {
                File::Half => write!(t, "cvt.u32.u16 %x, {r};\nst.global.u32 [%out+{at}], %x;\n"),
                File::Float => write!(
                    t,
                    "setp.nan.f32 %z, {r}, {r};\nselp.f32 %fx, 0f7fffffff, {r}, %z;\nst.global.f32 [%out+{at}], %fx;\n"
                ),
                File::Double => write!(
                    t,
                    "setp.nan.f64 %z, {r}, {r};\nselp.f64 %gx, 0d7fffffffffffffff, {r}, %z;\nst.global.f64 [%out+{at}], %gx;\n"
                ),
                _ => writeln!(t, "st.global.b{} [%out+{at}], {r};", r.bits()),
            };
            at += r.bits().max(32) / 8;
        }
        at = at.next_multiple_of(8);
    }
    *t += "mov.u32 %x, 0;\n";
    for i in 0..count(File::Pred) {
        let _ = write!(t, "selp.u32 %y, {}, 0, %p{i};\nor.b32 %x, %x, %y;\n", 1 << i);
    }
    let _ = writeln!(t, "st.global.u32 [%out+{at}], %x;");
    at += 4;
    for (space, b) in [("shared", "%sb"), ("local", "%lb")] {
        at = at.next_multiple_of(16);
        for n in (0..OWN).step_by(16) {
            let _ = write!(
                t,
                "ld.{space}.v4.u32 {{%o0, %o1, %o2, %o3}}, [{b}+{n}];\nst.global.v4.u32 [%out+{at}], {{%o0, %o1, %o2, %o3}};\n"
            );
            at += 16;
        }
    }
    assert!(at <= outputs() * 4, "{at} bytes of output");
    // Shared sums are added to those in global memory.
    let _ = write!(
        t,
        "setp.lt.u32 %z, %me, {SUMS};\nmov.u32 %x, {base};\nmad.lo.u32 %x, %me, 4, %x;\nmad.wide.u32 %a0, %me, 4, %sum;\n\
         @%z ld.shared.u32 %x, [%x];\n@%z red.global.add.u32 [%a0], %x;\nret;\n"
    );
}

fn stmts(t: &mut String, all: &[Stmt], label: &mut u32, around: Option<u32>, sums: &str) {
    let not = |n: bool| if n { "!" } else { "" };
    for s in all {
        match s {
            Stmt::Inst(i) => {
                let guard = i.guard.map_or(String::new(), |(p, n)| format!("@{}{p} ", not(n)));
                for line in &i.text {
                    let _ = writeln!(t, "{guard}{};", line.replace("SUMS", sums).replace("EXCHANGE", "%xb"));
                }
            }
            Stmt::If(p, neg, yes, no) => {
                let l = *label;
                *label += 1;
                let _ = writeln!(t, "@{}{p} bra E{l};", not(!neg));
                stmts(t, yes, label, around, sums);
                if !no.is_empty() {
                    let _ = write!(t, "bra J{l};\nE{l}:\n");
                    stmts(t, no, label, around, sums);
                    let _ = writeln!(t, "J{l}:");
                } else {
                    let _ = writeln!(t, "E{l}:");
                }
            }
            Stmt::Loop { counter, rounds, body } => {
                let l = *label;
                *label += 1;
                match rounds {
                    Src::Imm(n) => writeln!(t, "mov.u32 {counter}, {n};"),
                    Src::Reg(r) => writeln!(t, "and.b32 {counter}, {r}, 3;"),
                }
                .unwrap_or_default();
                let _ = write!(
                    t,
                    "B{l}:\nsetp.eq.u32 %z, {counter}, 0;\n@%z bra X{l};\nsub.u32 {counter}, {counter}, 1;\n"
                );
                stmts(t, body, label, Some(l), sums);
                let _ = write!(t, "bra B{l};\nX{l}:\n");
            }
            Stmt::Break(p, neg) => {
                let _ = writeln!(t, "@{}{p} bra X{};", not(*neg), around.unwrap_or_default());
            }
            Stmt::Continue(p, neg) => {
                let _ = writeln!(t, "@{}{p} bra B{};", not(*neg), around.unwrap_or_default());
            }
        }
    }
}

/// What a word of a thread's outputs holds.
pub(super) fn output_name(n: usize) -> String {
    let mut at = 0;
    for (file, count) in &COUNTS[..5] {
        for i in 0..*count {
            let words = if Reg(*file, i).bits() == 64 { 2 } else { 1 };
            if n < at + words {
                return Reg(*file, i).to_string();
            }
            at += words;
        }
        at = at.next_multiple_of(2);
    }
    match n - at {
        0 => "predicates".to_owned(),
        n if n < 4 + OWN as usize / 4 => format!("shared+{}", (4 * n).saturating_sub(16)),
        n => format!("local+{}", 4 * (n - 4 - OWN as usize / 4)),
    }
}

/// The statements as text, without what stands around them.
pub(super) fn kernel_body(k: &Kernel) -> String {
    let mut t = String::new();
    stmts(&mut t, &k.body, &mut 0, None, "SUMS");
    t
}
