//! How long compiling takes: `cargo bench --bench compile [-- SHAPE...]`; `NVIR_WRITE=DIR` also writes the programs there.
//!
//! Each shape of program is compiled at 1,000, 10,000 and 100,000 instructions, on one thread, for GK110 at the highest
//! optimisation level, with the program's allocator. The columns are microseconds for each instruction of the input, its
//! parsing included, then how many times longer ten times the instructions take: 10 is linear. Last come the steps that
//! take most of the largest.

use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, Language, Observer, Options, Source};
use nvir::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Instructions of the programs.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Makes the texts of about that many instructions in all.
type Make = fn(usize) -> Vec<String>;

const SHAPES: &[(&str, Language, Make)] = &[
    ("kernels of 20", Language::Tgsi, kernels),
    ("straight", Language::Tgsi, |n| vec![tgsi(16, &mut straight(n))]),
    ("constants", Language::Tgsi, constants),
    ("memory", Language::Tgsi, |n| vec![tgsi(16, &mut memory(n))]),
    ("branches", Language::Tgsi, |n| vec![tgsi(16, &mut branches(n))]),
    ("nested", Language::Tgsi, |n| vec![tgsi(16, &mut nested(n))]),
    ("loop", Language::Tgsi, |n| vec![tgsi(16, &mut one_loop(n))]),
    ("loops", Language::Tgsi, |n| vec![tgsi(16, &mut loops(n))]),
    ("subroutines", Language::Tgsi, |n| vec![tgsi(16, &mut subroutines(n))]),
    ("pressure", Language::Tgsi, |n| vec![tgsi(80, &mut pressure(n))]),
    ("nir straight", Language::Nir, nir_straight),
    ("nir branches", Language::Nir, nir_branches),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    println!("{:<14}{:>8}{:>8}{:>8}{:>9}{:>10}", "us/inst at", "1k", "10k", "100k", "10k/1k", "100k/10k");
    for (name, language, make) in SHAPES {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        if let Some(folder) = std::env::var_os("NVIR_WRITE") {
            write(folder.as_ref(), name, *language, *make);
        }
        let runs = SIZES.map(|n| fastest(*language, &make(n), 200_000 / n));
        let each = [0, 1, 2].map(|k| runs[k].time.as_secs_f64() * 1e6 / SIZES[k] as f64);
        let mut line = format!("{name:<14}{:>8.2}{:>8.2}{:>8.2}", each[0], each[1], each[2]);
        let _ = write!(line, "{:>9.1}{:>10.1}  ", 10.0 * each[1] / each[0], 10.0 * each[2] / each[1]);
        for (step, share) in runs[2].steps.iter().take(6) {
            let _ = write!(line, " {step} {:.0}%", 100.0 * share);
        }
        println!("{line}");
    }
}

/// The first program of each size.
fn write(folder: &Path, name: &str, language: Language, make: Make) {
    let ending = if language == Language::Tgsi { "tgsi" } else { "nir" };
    for n in SIZES {
        let path = folder.join(format!("{}-{n}.{ending}", name.replace(' ', "-")));
        std::fs::write(&path, &make(n)[0]).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

struct Run {
    time: Duration,
    /// Steps with their shares of the time, the longest first.
    steps: Vec<(String, f64)>,
}

/// The fastest of some runs over all texts.
fn fastest(language: Language, texts: &[String], runs: usize) -> Run {
    (0..runs.clamp(1, 20)).map(|_| run(language, texts)).min_by_key(|r| r.time).expect("at least one run")
}

fn run(language: Language, texts: &[String]) -> Run {
    let chip = Chip::Gk110;
    let debug = DebugOptions { time_passes: true, ..DebugOptions::default() };
    let compiler = Compiler::new(chip).with_options(Options { debug, ..Options::default() });
    let mut steps: BTreeMap<String, f64> = BTreeMap::new();
    let mut observer = Observer::default();
    let start = Instant::now();
    for text in texts {
        let source = Source { language, text, entry: None, name: "bench" };
        compiler.observed(&source, &mut observer).unwrap_or_else(|e| panic!("{e}"));
    }
    let time = start.elapsed();
    for line in observer.report.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [us, "us", _, "%", step @ ..] = &words[..] {
            *steps.entry(step.join(" ")).or_default() += us.parse().unwrap_or(0.0);
        }
    }
    let mut steps: Vec<_> = steps.into_iter().map(|(s, us)| (s, us / 1e6 / time.as_secs_f64())).collect();
    steps.sort_by(|a, b| b.1.total_cmp(&a.1));
    Run { time, steps }
}

/// Lines of TGSI and what they still need.
struct Body {
    lines: Vec<String>,
    subs: Vec<String>,
    imms: usize,
    random: Random,
}

impl Body {
    fn new() -> Body {
        Body { lines: Vec::new(), subs: Vec::new(), imms: 8, random: Random::new(1) }
    }

    fn line(&mut self, text: impl Into<String>) {
        self.lines.push(text.into());
    }

    /// A number below `n`.
    fn pick(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    /// An operand: mostly registers.
    fn src(&mut self, temps: u64) -> String {
        let swizzle = ["xxxx", "yyyy", "zwxy", "xyzw", "wwxx"][self.pick(5) as usize];
        match self.pick(8) {
            0 => format!("CONST[0][{}].{swizzle}", self.pick(16)),
            1 => format!("IMM[{}].{swizzle}", self.pick(8)),
            _ => format!("TEMP[{}].{swizzle}", self.pick(temps)),
        }
    }

    /// An arithmetic instruction on the first `temps` registers.
    fn arithmetic(&mut self, temps: u64) {
        const OPS: [(&str, usize); 14] = [
            ("ADD", 2),
            ("MUL", 2),
            ("MAD", 3),
            ("UADD", 2),
            ("UMUL", 2),
            ("AND", 2),
            ("XOR", 2),
            ("SHL", 2),
            ("MAX", 2),
            ("MOV", 1),
            ("FSLT", 2),
            ("UCMP", 3),
            ("RCP", 1),
            ("I2F", 1),
        ];
        let (op, n) = OPS[self.pick(OPS.len() as u64) as usize];
        let mask = [".x", ".y", ".xy", ".zw", ""][self.pick(5) as usize];
        let mut text = format!("{op} TEMP[{}]{mask}", self.pick(temps));
        for _ in 0..n {
            let src = self.src(temps);
            let _ = write!(text, ", {src}");
        }
        self.line(text);
    }

    /// Reads all registers from memory, or writes them to it.
    fn registers(&mut self, temps: u64, store: bool) {
        for n in 0..temps {
            self.line(format!("UADD TEMP[{temps}].y, TEMP[{temps}].xxxx, IMM[{}].xxxx", n % 8));
            self.line(if store {
                format!("STORE BUFFER[0], TEMP[{temps}].yyyy, TEMP[{n}]")
            } else {
                format!("LOAD TEMP[{n}], BUFFER[0], TEMP[{temps}].yyyy")
            });
        }
    }
}

/// A program of `temps` registers that come from memory before the lines and go there after them.
fn tgsi(temps: u64, body: &mut Body) -> String {
    let mut all = Body::new();
    all.line(format!("SHL TEMP[{temps}].x, SV[0].xxxx, IMM[1].xxxx"));
    all.registers(temps, false);
    all.lines.append(&mut body.lines);
    all.registers(temps, true);
    all.line("END");
    all.lines.append(&mut body.subs);
    let mut text = String::from(
        "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 64\nPROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\n\
         DCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL CONST[0][0..15]\n",
    );
    let _ = writeln!(text, "DCL TEMP[0..{}]", temps + 4);
    for n in 0..body.imms {
        let _ = writeln!(text, "IMM[{n}] UINT32 {{{}, {}, 7, {}}}", 16 * n, n + 1, 0x3f80_0000 + 3 * n);
    }
    for (n, line) in all.lines.iter().enumerate() {
        let _ = writeln!(text, "{n:>3}: {line}");
    }
    text
}

fn straight(n: usize) -> Body {
    let mut b = Body::new();
    (0..n).for_each(|_| b.arithmetic(16));
    b
}

/// Many small programs.
fn kernels(n: usize) -> Vec<String> {
    let one = |seed| {
        let mut b = Body { random: Random::new(seed), ..Body::new() };
        (0..11).for_each(|_| b.arithmetic(2));
        tgsi(2, &mut b)
    };
    (0..n as u64 / 20).map(one).collect()
}

/// Few constants are read twice.
fn constants(n: usize) -> Vec<String> {
    let mut b = Body { imms: n / 4 + 8, ..Body::new() };
    for k in 0..n {
        let part = ["xyxx", "yxxx", "wxxx", "wwxx"][k % 4];
        b.line(format!("UMAD TEMP[{}].xy, TEMP[{}], TEMP[3].zzzz, IMM[{}].{part}", k % 16, k % 15, k / 4));
    }
    vec![tgsi(16, &mut b)]
}

/// Loads and stores, neighbours and not.
fn memory(n: usize) -> Body {
    let mut b = Body::new();
    for k in 0..n / 4 {
        let (base, other) = (b.pick(4), b.pick(8));
        b.line(format!("UADD TEMP[16].y, TEMP[16].xxxx, IMM[{other}].xxxx"));
        b.line(format!("LOAD TEMP[{}].xy, BUFFER[0], TEMP[16].yyyy", 4 + k % 8));
        b.line(format!("UADD TEMP[{base}].x, TEMP[{}].xxxx, TEMP[{}].yyyy", 4 + k % 7, 4 + k % 5));
        b.line(format!("STORE BUFFER[0].x, TEMP[16].yyyy, TEMP[{base}].xxxx"));
    }
    b
}

/// Short conditionals in a row.
fn branches(n: usize) -> Body {
    let mut b = Body::new();
    for k in 0..n / 6 {
        b.line(format!("UIF TEMP[{}].xxxx", k % 16));
        b.arithmetic(16);
        b.line(format!("STORE BUFFER[0].x, TEMP[16].xxxx, TEMP[{}].xxxx", k % 16));
        b.line("ELSE");
        b.arithmetic(16);
        b.line("ENDIF");
    }
    b
}

/// Conditionals inside each other, to a depth of 200.
fn nested(n: usize) -> Body {
    let mut b = Body::new();
    let depth = 200;
    for _ in 0..n.div_ceil(4 * depth) {
        for k in 0..depth {
            b.line(format!("UIF TEMP[{}].xxxx", k % 16));
            b.arithmetic(16);
        }
        for _ in 0..depth {
            b.arithmetic(16);
            b.line("ENDIF");
        }
    }
    b
}

/// A loop around `n` instructions.
fn repeated(b: &mut Body, n: usize) {
    b.line("MOV TEMP[17].x, IMM[0].xxxx");
    b.line("BGNLOOP");
    b.line("USGE TEMP[17].y, TEMP[17].xxxx, TEMP[0].xxxx");
    b.line("UIF TEMP[17].yyyy");
    b.line("BRK");
    b.line("ENDIF");
    (0..n).for_each(|_| b.arithmetic(16));
    b.line("UADD TEMP[17].x, TEMP[17].xxxx, IMM[1].yyyy");
    b.line("ENDLOOP");
}

fn one_loop(n: usize) -> Body {
    let mut b = Body::new();
    repeated(&mut b, n);
    b
}

/// Short loops in a row.
fn loops(n: usize) -> Body {
    let mut b = Body::new();
    (0..n / 20).for_each(|_| repeated(&mut b, 12));
    b
}

/// Subroutines, each called twice.
fn subroutines(n: usize) -> Body {
    let (mut b, mut calls) = (Body::new(), Vec::new());
    let (subs, body) = (n / 40, 35);
    // Labels are instruction numbers; before the subroutines stand what `tgsi` adds, the calls and END.
    let first = 1 + 2 * 2 * 16 + 2 * subs + 1;
    for k in 0..subs {
        b.line("BGNSUB");
        (0..body).for_each(|_| b.arithmetic(16));
        b.line("RET");
        b.line("ENDSUB");
        b.subs.append(&mut b.lines);
        calls.extend([(); 2].map(|()| format!("CAL :{}", first + k * (body + 3))));
    }
    b.lines = calls;
    b
}

/// 320 values that live all the time.
fn pressure(n: usize) -> Body {
    let mut b = Body::new();
    (0..n).for_each(|_| b.arithmetic(80));
    b
}

const NIR_HEAD: &str = "shader: MESA_SHADER_COMPUTE\nname: k\nworkgroup-size: 64, 1, 1\nshared-size: 0\ninputs: 0\n\
    outputs: 0\nuniforms: 0\nshared: 0\nray queries: 0\ndecl_var ssbo INTERP_MODE_NONE uint[] m (0, 0, 0)\n\
    decl_function main (0 params)\n\nimpl main {\n\tblock block_0:\n\t/* preds: */\n\
    \tvec3 32 ssa_0 = intrinsic load_local_invocation_id () ()\n\tvec1 32 ssa_1 = load_const (0x00000000 = 0.000000)\n\
    \tvec1 32 ssa_2 = load_const (0x00000004 = 0.000000)\n\tvec1 32 ssa_3 = imul ssa_0.x, ssa_2\n\
    \tvec1 32 ssa_4 = intrinsic load_ssbo (ssa_1, ssa_3) (access=0, align_mul=4, align_offset=0)\n";

fn nir_arithmetic(b: &mut Body, text: &mut String, ssa: usize) {
    let op = ["fadd", "fmul", "iadd", "imul", "iand", "ixor", "fmax", "imin"][b.pick(8) as usize];
    let back = |b: &mut Body| ssa - 1 - b.pick((ssa as u64 - 3).min(12)) as usize;
    let (x, y) = (back(b), back(b));
    let _ = writeln!(text, "\tvec1 32 ssa_{ssa} = {op} ssa_{x}, ssa_{y}");
}

fn nir_store(text: &mut String, ssa: usize) {
    let _ = writeln!(
        text,
        "\tintrinsic store_ssbo (ssa_{ssa}, ssa_1, ssa_3) (wrmask=x /*1*/, access=0, align_mul=4, align_offset=0)"
    );
}

fn nir_straight(n: usize) -> Vec<String> {
    let (mut b, mut text) = (Body::new(), String::from(NIR_HEAD));
    for ssa in 5..n {
        nir_arithmetic(&mut b, &mut text, ssa);
        if ssa % 20 == 0 {
            nir_store(&mut text, ssa);
        }
    }
    nir_store(&mut text, n - 1);
    text += "\t/* succs: block_1 */\n\tblock block_1:\n}\n";
    vec![text]
}

fn nir_branches(n: usize) -> Vec<String> {
    let mut text = String::from(NIR_HEAD);
    let (mut ssa, mut block) = (5, 0);
    for _ in 0..n / 6 {
        let (then, els, next) = (block + 1, block + 2, block + 3);
        let (x, y, c, phi) = (ssa, ssa + 1, ssa + 2, ssa + 3);
        let _ = write!(
            text,
            "\tvec1 1 ssa_{c} = ult ssa_{}, ssa_3\n\t/* succs: block_{then} block_{els} */\n\tif ssa_{c} {{\n\
             \t\tblock block_{then}:\n\t\t/* preds: block_{block} */\n\t\tvec1 32 ssa_{x} = iadd ssa_4, ssa_{}\n",
            ssa - 1,
            ssa - 1,
        );
        nir_store(&mut text, x);
        let _ = write!(
            text,
            "\t\t/* succs: block_{next} */\n\t}} else {{\n\t\tblock block_{els}:\n\t\t/* preds: block_{block} */\n\
             \t\tvec1 32 ssa_{y} = imul ssa_4, ssa_{}\n\t\t/* succs: block_{next} */\n\t}}\n\tblock block_{next}:\n\
             \t/* preds: block_{then} block_{els} */\n\tvec1 32 ssa_{phi} = phi block_{then}: ssa_{x}, block_{els}: ssa_{y}\n",
            ssa - 1,
        );
        (ssa, block) = (ssa + 4, next);
    }
    nir_store(&mut text, ssa - 1);
    let _ = write!(text, "\t/* succs: block_{} */\n\tblock block_{}:\n}}\n", block + 1, block + 1);
    vec![text]
}
