//! Opcodes that only compute: each with registers, modifiers, swizzles, masks, saturation, overlapping destination,
//! dynamic indices, constants and immediates.

use super::case::{self, Setup};
use nvir::front::tgsi::ast::{Info, Opcode, Shape, Ty};
use nvir::random::Random;
use nvir::{Chip, OptLevel, Options};
use nvir_fixture::run::Settings;
use nvir_reference::softmath::{Want, operands};
use nvir_reference::tgsi::alu;
use std::fmt::Write;

/// Threads of a block.
const BLOCK: u32 = 64;

/// Threads of a launch, each with a vector for every operand. `NVIR_OPERANDS=4096 cargo test --release --test front tgsi_opcodes`
/// is the long form.
fn threads() -> u32 {
    let wanted = std::env::var("NVIR_OPERANDS").ok().and_then(|n| n.parse::<u32>().ok());
    wanted.unwrap_or(128).clamp(BLOCK, 1 << 16).next_multiple_of(BLOCK)
}

/// What a destination holds before the operation.
const BEFORE: [u32; 4] = [0x1111_1111, 0x2222_2222, 0x3333_3333, 0x4444_4444];

/// Opcodes that this file tests.
pub(crate) fn opcodes() -> impl Iterator<Item = Opcode> {
    let shapes =
        |op: &Opcode| matches!(op.info().shape, Shape::Comp | Shape::Scalar | Shape::Dot(_) | Shape::Vec);
    Opcode::ALL.iter().copied().filter(shapes)
}

/// How an operand is written.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Temp,
    Indexed,
    Const,
    Block,
    IndexedConst,
    Imm,
}

#[derive(Clone)]
struct Operand {
    place: Place,
    swizzle: [usize; 4],
    neg: bool,
    abs: bool,
}

/// One way of writing an instruction.
#[derive(Clone)]
struct Form {
    srcs: Vec<Operand>,
    mask: u8,
    saturate: bool,
    /// The destination is the first operand.
    overlap: bool,
    indexed: bool,
}

const COMPS: &[u8; 4] = b"xyzw";

fn letters(comps: impl IntoIterator<Item = usize>) -> String {
    comps.into_iter().map(|c| char::from(COMPS[c])).collect()
}

/// The masks of an opcode's results: pairs where they are 64 bits wide, the first of a pair for comparisons of such.
fn masks(info: &Info) -> &'static [u8] {
    match (info.dsts[0].is_64(), info.srcs[0].is_64(), info.srcs.len()) {
        (true, ..) => &[0xf, 0x3, 0xc],
        (_, true, 1) => &[0x3, 0x1, 0x2],
        (_, true, _) => &[0x5, 0x1, 0x4],
        _ => &[0xf, 0x2, 0x5, 0xc],
    }
}

fn forms(op: Opcode) -> Vec<Form> {
    let info = op.info();
    let plain = Operand { place: Place::Temp, swizzle: [0, 1, 2, 3], neg: false, abs: false };
    let masks = masks(info);
    let base = Form {
        srcs: vec![plain; info.srcs.len()],
        mask: masks[0],
        saturate: false,
        overlap: false,
        indexed: false,
    };
    let mut all = vec![base.clone()];
    for k in 1..4 {
        let mut f = base.clone();
        for (i, s) in f.srcs.iter_mut().enumerate() {
            (s.neg, s.abs) = ((k + i) % 2 != 0, (k + i) / 2 % 2 != 0);
        }
        all.push(f);
    }
    // Pairs may be exchanged and repeated, not torn apart.
    let wide: [[usize; 4]; 3] = [[2, 3, 0, 1], [0, 1, 0, 1], [2, 3, 2, 3]];
    let narrow: [[usize; 4]; 3] = [[3, 2, 1, 0], [1, 1, 2, 2], [2, 0, 3, 1]];
    for k in 0..3 {
        let mut f = base.clone();
        f.mask = masks[k % masks.len()];
        f.saturate =
            k == 1 && matches!(info.dsts[0], Ty::F32 | Ty::Any) && op != Opcode::CMP && op != Opcode::UCMP;
        for (i, (s, ty)) in f.srcs.iter_mut().zip(info.srcs).enumerate() {
            s.swizzle = if ty.is_64() { wide[(k + i) % 3] } else { narrow[(k + i) % 3] };
        }
        all.push(f.clone());
        f.overlap = true;
        f.mask = masks[(k + 1) % masks.len()];
        all.push(f);
    }
    let mut indexed = base.clone();
    indexed.indexed = true;
    indexed.srcs.iter_mut().for_each(|s| s.place = Place::Indexed);
    all.push(indexed);
    let uniform = [Place::Const, Place::Block, Place::IndexedConst, Place::Imm];
    for (k, &place) in uniform.iter().enumerate() {
        for which in 0..info.srcs.len() {
            let mut f = base.clone();
            f.srcs[which].place = place;
            (f.srcs[which].neg, f.srcs[which].abs) = ((k + which) % 2 != 0, (k + which) / 2 % 2 != 0);
            all.push(f);
        }
        let mut f = base.clone();
        f.srcs.iter_mut().for_each(|s| s.place = place);
        all.push(f);
    }
    all
}

/// A vector of operands of a type.
fn vector(r: &mut Random, ty: Ty) -> [u32; 4] {
    let mut pairs = |base| {
        let [a, b] = [(); 2].map(|()| operands::operand(r, base, 64));
        [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
    };
    match ty {
        Ty::F64 => pairs('f'),
        Ty::U64 | Ty::I64 => pairs('i'),
        _ => {
            let base = if ty == Ty::F32 || ty == Ty::Any && r.one_in(2) { 'f' } else { 'i' };
            std::array::from_fn(|_| operands::operand(r, base, 32) as u32)
        }
    }
}

/// The operands of one form: of each thread, and those that all threads share.
struct Data {
    threads: Vec<[[u32; 4]; 4]>,
    shared: [[u32; 4]; 4],
}

fn data(op: Opcode, random: &mut Random) -> Data {
    let info = op.info();
    let ty = |i: usize| info.srcs.get(i).copied().unwrap_or(Ty::U32);
    let mut vectors = || std::array::from_fn(|i| vector(random, ty(i)));
    let shared = vectors();
    Data { threads: (0..threads()).map(|_| vectors()).collect(), shared }
}

fn number(i: usize, place: Place) -> String {
    match place {
        Place::Temp => format!("TEMP[{i}]"),
        Place::Indexed => format!("TEMP[ADDR[0].x+{i}](1)"),
        Place::Const => format!("CONST[0][{i}]"),
        Place::Block => format!("CONST[1][{i}]"),
        Place::IndexedConst => format!("CONST[0][ADDR[0].x+{i}]"),
        Place::Imm => format!("IMM[{}]", i + 3),
    }
}

fn instruction(op: Opcode, f: &Form) -> String {
    let info = op.info();
    let suffix = if f.saturate { "_SAT" } else { "" };
    let mask = letters((0..4).filter(|c| f.mask >> c & 1 != 0));
    let dst = match (f.overlap, f.indexed) {
        (true, _) => "TEMP[0]",
        (_, true) => "TEMP[ADDR[0].x+4](2)",
        _ => "TEMP[4]",
    };
    let mut line = format!("{}{suffix} {dst}.{mask}", op.name());
    if info.dsts.len() > 1 {
        line += ", TEMP[5]";
    }
    for (i, s) in f.srcs.iter().enumerate() {
        let mut text = format!("{}.{}", number(i, s.place), letters(s.swizzle));
        if s.abs {
            text = format!("|{text}|");
        }
        if s.neg {
            text = format!("-{text}");
        }
        let _ = write!(line, ", {text}");
    }
    line
}

fn text(op: Opcode, f: &Form, data: &Data) -> String {
    let mut t = format!(
        "COMP
PROPERTY CS_FIXED_BLOCK_WIDTH {BLOCK}
PROPERTY CS_FIXED_BLOCK_HEIGHT 1
PROPERTY CS_FIXED_BLOCK_DEPTH 1
DCL SV[0], THREAD_ID
DCL SV[1], BLOCK_ID
DCL BUFFER[0]
DCL BUFFER[1]
DCL CONST[0][0..3]
DCL CONST[1][0..3]
DCL TEMP[0..3], ARRAY(1), LOCAL
DCL TEMP[4..5], ARRAY(2), LOCAL
DCL TEMP[6..7], LOCAL
DCL ADDR[0..1]
IMM[0] UINT32 {{{BLOCK}, 64, 16, 5}}
IMM[1] UINT32 {{{}, {}, {}, {}}}
IMM[2] UINT32 {{31, 0, 0, 0}}
",
        BEFORE[0], BEFORE[1], BEFORE[2], BEFORE[3]
    );
    for (i, v) in data.shared.iter().enumerate() {
        let _ = writeln!(t, "IMM[{}] UINT32 {{{}, {}, {}, {}}}", i + 3, v[0], v[1], v[2], v[3]);
    }
    let mut lines = vec![
        "UMAD TEMP[6].x, SV[1].xxxx, IMM[0].xxxx, SV[0].xxxx".to_owned(),
        "UMUL TEMP[6].y, TEMP[6].xxxx, IMM[0].yyyy".to_owned(),
        // Zero, but not to the compiler.
        "USHR TEMP[6].z, SV[0].xxxx, IMM[2].xxxx".to_owned(),
        "UARL ADDR[0].x, TEMP[6].zzzz".to_owned(),
    ];
    for i in 0..4 {
        lines.push(format!("LOAD TEMP[{i}], BUFFER[0], TEMP[6].yyyy"));
        lines.push("UADD TEMP[6].y, TEMP[6].yyyy, IMM[0].zzzz".to_owned());
    }
    lines.push("MOV TEMP[4], IMM[1]".to_owned());
    lines.push("MOV TEMP[5], IMM[1]".to_owned());
    lines.push(instruction(op, f));
    lines.push("SHL TEMP[7].x, TEMP[6].xxxx, IMM[0].wwww".to_owned());
    lines.push(format!("STORE BUFFER[1], TEMP[7].xxxx, TEMP[{}]", if f.overlap { 0 } else { 4 }));
    lines.push("UADD TEMP[7].x, TEMP[7].xxxx, IMM[0].zzzz".to_owned());
    lines.push("STORE BUFFER[1], TEMP[7].xxxx, TEMP[5]".to_owned());
    lines.push("END".to_owned());
    for (n, line) in lines.iter().enumerate() {
        let _ = writeln!(t, "{n:3}: {line}");
    }
    t
}

/// The words of operand `i` after its swizzle and modifiers.
fn operand(f: &Form, info: &Info, data: &Data, thread: usize, i: usize) -> [u32; 4] {
    let s = &f.srcs[i];
    let all = match s.place {
        Place::Temp | Place::Indexed => data.threads[thread][i],
        _ => data.shared[i],
    };
    let mut v = s.swizzle.map(|c| all[c]);
    match info.srcs[i] {
        Ty::F32 | Ty::Any => {
            v = v.map(|w| (if s.abs { w & 0x7fff_ffff } else { w }) ^ (u32::from(s.neg) << 31));
        }
        Ty::F64 => {
            for hi in [1, 3] {
                v[hi] = (if s.abs { v[hi] & 0x7fff_ffff } else { v[hi] }) ^ (u32::from(s.neg) << 31);
            }
        }
        Ty::U64 | Ty::I64 => {
            for p in [0, 2] {
                let x = (u64::from(v[p]) | u64::from(v[p + 1]) << 32) as i64;
                let x = if s.abs { x.wrapping_abs() } else { x };
                let x = if s.neg { x.wrapping_neg() } else { x };
                (v[p], v[p + 1]) = (x as u32, (x >> 32) as u32);
            }
        }
        _ => {
            v = v.map(|w| {
                let w = if s.abs { (w as i32).wrapping_abs() as u32 } else { w };
                if s.neg { w.wrapping_neg() } else { w }
            });
        }
    }
    v
}

/// The results that an instruction must leave: components, whether they are a pair's, and what they must be.
fn wanted(op: Opcode, f: &Form, data: &Data, thread: usize) -> Vec<(usize, bool, Want)> {
    let info = op.info();
    let v: Vec<[u32; 4]> = (0..info.srcs.len()).map(|i| operand(f, info, data, thread, i)).collect();
    let enabled: Vec<usize> = (0..4).filter(|c| f.mask >> c & 1 != 0).collect();
    let unit = |n: usize| {
        let mut s = [0u64; 4];
        for (i, ty) in info.srcs.iter().enumerate() {
            s[i] = match (ty.is_64(), info.srcs[0].is_64()) {
                (true, _) => u64::from(v[i][2 * n]) | u64::from(v[i][2 * n + 1]) << 32,
                (_, true) => v[i][2 * n].into(),
                _ => v[i][n].into(),
            };
        }
        alu::component(op, s).unwrap_or_else(|| panic!("{} has no meaning", op.name()))
    };
    match info.shape {
        Shape::Scalar => enabled.iter().map(|&c| (c, false, unit(0))).collect(),
        Shape::Dot(_) | Shape::Vec => {
            let s = [0, 1, 2].map(|i| v.get(i).copied().unwrap_or_default());
            let one =
                |c: usize| alu::vector(op, s, c).unwrap_or_else(|| panic!("{} has no meaning", op.name()));
            enabled.iter().map(|&c| (c, false, one(c))).collect()
        }
        _ if info.dsts[0].is_64() => {
            (0..2).filter(|p| f.mask >> (2 * p) & 3 != 0).map(|p| (2 * p, true, unit(p))).collect()
        }
        _ if info.srcs[0].is_64() && info.srcs.len() == 1 => {
            enabled.iter().enumerate().map(|(n, &c)| (c, false, unit(n))).collect()
        }
        _ if info.srcs[0].is_64() => enabled.iter().map(|&c| (c, false, unit(c / 2))).collect(),
        _ => enabled.iter().map(|&c| (c, false, unit(c))).collect(),
    }
}

fn saturated(w: Want) -> Want {
    let clamp = |x: f64| if x > 0.0 { x.min(1.0) } else { 0.0 };
    match w {
        Want::Bits(b) => Want::zero(clamp(f32::from_bits(b as u32).into())),
        Want::Float(x, ulps, abs) => Want::Float(clamp(x), ulps, abs),
        any => any,
    }
}

/// What is wrong with the buffer that a program left.
fn wrong(op: Opcode, f: &Form, data: &Data, left: &[u32]) -> Option<String> {
    for thread in 0..data.threads.len() {
        let out = &left[8 * thread..][..8];
        let mut left_alone = !f.mask;
        for (c, wide, want) in wanted(op, f, data, thread) {
            let want = if f.saturate { saturated(want) } else { want };
            let got = u64::from(out[c]) | if wide { u64::from(out[c + 1]) << 32 } else { 0 };
            if !want.accepts(got, if wide { 64 } else { 32 }) {
                let s: Vec<[u32; 4]> =
                    (0..f.srcs.len()).map(|i| operand(f, op.info(), data, thread, i)).collect();
                return Some(format!("thread {thread}, component {c}: {got:#x}, not {want:x?}, of {s:x?}"));
            }
        }
        let before = if f.overlap { data.threads[thread][0] } else { BEFORE };
        left_alone &= 0xf;
        for c in (0..4).filter(|c| left_alone >> c & 1 != 0) {
            if out[c] != before[c] {
                return Some(format!("thread {thread}: component {c} is not in the mask, but {:#x}", out[c]));
            }
        }
    }
    None
}

fn frexp_wrong(f: &Form, data: &Data, left: &[u32]) -> Option<String> {
    for thread in 0..data.threads.len() {
        let out = &left[8 * thread..][..8];
        let v = operand(f, Opcode::DFRACEXP.info(), data, thread, 0);
        let x = f64::from_bits(u64::from(v[0]) | u64::from(v[1]) << 32);
        let e = out[4] as i32;
        let pairs = (0..2).filter(|p| f.mask >> (2 * p) & 3 != 0);
        for p in pairs {
            let m = f64::from_bits(u64::from(out[2 * p]) | u64::from(out[2 * p + 1]) << 32);
            let ok = if x.is_nan() {
                m.is_nan()
            } else if x == 0.0 || x.is_infinite() {
                m == x
            } else {
                // Two steps, each of which is exact: the significand times 2^e.
                let half = 2f64.powi(e / 2);
                (0.5..1.0).contains(&m.abs()) && m * half * 2f64.powi(e - e / 2) == x
            };
            if !ok {
                return Some(format!("thread {thread}: {m} * 2^{e} is not {x:e}"));
            }
        }
    }
    None
}

/// All forms of the opcodes that `which` chooses.
fn check(which: impl Fn(&Info) -> bool) {
    let mut failures = String::new();
    let mut count = 0;
    for op in opcodes().filter(|op| which(op.info())) {
        let mut random = Random::new(op as u64);
        for f in forms(op) {
            let data = data(op, &mut random);
            let text = text(op, &f, &data);
            let operands: Vec<u32> = data.threads.iter().flatten().flatten().copied().collect();
            let shared: Vec<u32> = data.shared.iter().flatten().copied().collect();
            let out = vec![0; (threads() * 32) as usize];
            let fixture = Setup::new(threads() / BLOCK, [BLOCK, 1, 1])
                .buffer(&case::bytes(&operands))
                .buffer(&out)
                .uniforms(&case::bytes(&shared))
                .ubo(&case::bytes(&shared))
                .fixture();
            let mut runs = vec![("interpreted".to_owned(), case::interpreted(&fixture, &text))];
            for chip in Chip::ALL {
                for opt_level in [OptLevel::O0, OptLevel::O3] {
                    let settings = Settings { options: Options::at(opt_level), ..Settings::default() };
                    let left = case::compiled(&fixture, &text, chip, &settings);
                    runs.push((format!("{chip} -O{opt_level}"), left));
                }
            }
            for (way, left) in runs {
                count += 1;
                let problem = match left {
                    Err(e) => Some(e),
                    Ok(left) => {
                        let words = case::words(&left["buffer1"]);
                        if op == Opcode::DFRACEXP {
                            frexp_wrong(&f, &data, &words)
                        } else {
                            wrong(op, &f, &data, &words)
                        }
                    }
                };
                if let Some(p) = problem {
                    let _ = writeln!(failures, "{way}: {}\n    {p}", instruction(op, &f));
                }
            }
        }
    }
    assert!(failures.is_empty(), "of {count} runs:\n{failures}");
}

fn has(info: &Info, wanted: fn(Ty) -> bool) -> bool {
    info.dsts.iter().chain(info.srcs).any(|&t| wanted(t))
}

#[test]
fn words_are_computed_as_on_the_host() {
    check(|info| !has(info, Ty::is_64) && info.shape == Shape::Comp && !has(info, |t| t == Ty::F32));
}

#[test]
fn floats_are_computed_as_on_the_host() {
    check(|info| !has(info, Ty::is_64) && info.shape == Shape::Comp && has(info, |t| t == Ty::F32));
}

#[test]
fn functions_dot_products_and_packing_are_computed_as_on_the_host() {
    check(|info| !has(info, Ty::is_64) && info.shape != Shape::Comp);
}

#[test]
fn pairs_are_computed_as_on_the_host() {
    check(|info| has(info, Ty::is_64));
}
