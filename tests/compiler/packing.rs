//! Bytes and fields that are put together, products with carries, rotations: `fuse` and `rotate` find them and keep what
//! they compute. The evaluator of IR says what random programs compute, before and after. `NVIR_PACKINGS` sets how many
//! programs (default 400 of each kind).

use nvir::Chip;
use nvir::compiler::Options;
use nvir::ir::{Op, Program, Space, parse};
use nvir::opt::{self, Session, Stage};
use nvir::random::Random;
use nvir_reference::eval::{self, Machine};
use std::fmt::Write;

/// Where the operands are, and where the results go.
const PLACE: u64 = 0x1000_0000;

fn number() -> u64 {
    std::env::var("NVIR_PACKINGS").ok().and_then(|s| s.parse().ok()).unwrap_or(400)
}

fn program(body: &str) -> Program {
    let head = "ld u32 %r0 c0[0x0]\nld u32 %r1 c0[0x4]\nld u32 %r2 g[{%r0 %r1}+0x0 align 4]\n\
                ld u32 %r3 g[{%r0 %r1}+0x4 align 4]\nld u32 %r5 g[{%r0 %r1}+0x8 align 4]\n\
                and u32 %r4 %r5 0xff\n";
    let text = format!("program\nkernel k() {{\nb0:\n{head}{body}exit\n}}\n");
    parse::program(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

/// The words that a program stores for three operands.
fn results(p: &Program, operands: [u32; 3]) -> Vec<u32> {
    let mut m = Machine::new(100_000);
    for (k, w) in operands.into_iter().enumerate() {
        m.words.insert((Space::Global, PLACE + 4 * k as u64), w);
    }
    eval::run(p, &mut m).unwrap_or_else(|e| panic!("{e}\n{p}"));
    (4..12).filter_map(|k| m.words.get(&(Space::Global, PLACE + 4 * k)).copied()).collect()
}

fn fuse(p: &mut Program, chip: Chip) {
    for pass in ["fuse", "dce"] {
        let pass = opt::find(pass).expect("a pass");
        Session::new().run_pass(pass, Stage::Ssa, p, chip, &Options::default()).expect("valid");
    }
}

fn count(p: &Program, op: Op) -> usize {
    let f = &p.funcs[p.entry];
    f.insts_in_order().filter(|&(_, i)| f.insts[i].op == op).count()
}

/// Compares a program with itself after `fuse`, on random words; how many operations of some kinds there are then.
fn check(text: &str, r: &mut Random, ops: &[Op]) -> usize {
    let before = program(text);
    let mut found = 0;
    for chip in [Chip::Gk104, Chip::Gk110] {
        let mut after = before.clone();
        fuse(&mut after, chip);
        for _ in 0..20 {
            let operands = [0, 1, 2].map(|_| match r.below(4) {
                0 => r.pick(&[0, 1, 0xff, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff, 0x0102_0304]),
                _ => r.word() as u32,
            });
            assert_eq!(
                results(&after, operands),
                results(&before, operands),
                "{operands:x?}\n{before}\n{after}"
            );
        }
        found += ops.iter().map(|&op| count(&after, op)).sum::<usize>();
    }
    found
}

/// A random tree of shifts, masks and sums over words; gives its value.
fn tree(r: &mut Random, text: &mut String, next: &mut u32, depth: usize) -> String {
    if depth == 0 {
        return r.pick(&["%r2", "%r2", "%r3", "%r4"]).to_string();
    }
    let a = tree(r, text, next, depth - 1);
    let by = r.pick(&[8u32, 16, 24, 8, 16, 24, 3]);
    let mask = r.pick(&[0xffu32, 0xff00, 0xff_0000, 0xff00_0000, 0xff00ff, 0xff00_ff00, 0xffff, 0xfff]);
    let line = match r.below(if depth > 1 { 9 } else { 5 }) {
        0 => format!("shl u32 %r{next} {a} {by:#x}"),
        1 => format!("shr u32 %r{next} {a} {by:#x}"),
        2 => format!("ext u32 %r{next} {a} {:#x}", by | r.pick(&[0x800, 0x1000, 0x500])),
        3 | 4 => format!("and u32 %r{next} {a} {mask:#x}"),
        _ => {
            let b = tree(r, text, next, depth - 1);
            let op = r.pick(&["or", "or", "add", "xor"]);
            format!("{op} u32 %r{next} {a} {b}")
        }
    };
    let _ = writeln!(text, "{line}");
    *next += 1;
    format!("%r{}", *next - 1)
}

#[test]
fn bytes_put_together_are_the_same_bytes() {
    let mut r = Random::new(0x5eed_0001);
    let mut found = 0;
    for _ in 0..number() {
        let (mut text, mut next) = (String::new(), 10);
        for k in 0..3 {
            let depth = 2 + r.below(3);
            let v = tree(&mut r, &mut text, &mut next, depth);
            let _ = writeln!(text, "st u32 # g[{{%r0 %r1}}+{:#x} align 4] {v}", 0x10 + 4 * k);
        }
        found += check(&text, &mut r, &[Op::Prmt]);
    }
    assert!(found as u64 > number() / 8, "{found}");
}

#[test]
fn bytes_in_any_order_are_one_instruction() {
    let mut r = Random::new(0x5eed_0002);
    for _ in 0..number() {
        let mut text = String::new();
        let words: Vec<&str> = (0..4).map(|_| r.pick(&["%r2", "%r3"])).collect();
        for (k, word) in words.iter().enumerate() {
            let _ = writeln!(text, "ext u32 %r{} {word} {:#x}", 10 + k, 0x800 | (8 * r.below(4)));
            let _ = writeln!(text, "shl u32 %r{} %r{} {:#x}", 20 + k, 10 + k, 8 * k);
        }
        text += "or u32 %r30 %r20 %r21\nadd u32 %r31 %r30 %r22\nxor u32 %r32 %r31 %r23\n\
                 st u32 # g[{%r0 %r1}+0x10 align 4] %r32\n";
        assert_eq!(check(&text, &mut r, &[Op::Prmt]), 2, "{text}");
    }
}

#[test]
fn fields_put_into_words_are_the_same_bits() {
    let mut r = Random::new(0x5eed_0003);
    let mut found = 0;
    for _ in 0..number() {
        let (at, bits) = (r.below(32) as u32, 1 + r.below(31) as u32);
        let mask = (((1u64 << bits) - 1) << at) as u32;
        // Sometimes a bit too much or too little.
        let spoilt = mask ^ if r.below(4) == 0 { 1 << r.below(32) } else { 0 };
        let mut text = format!("and u32 %r10 %r2 {:#x}\n", !spoilt);
        let op = r.pick(&["or", "xor", "add"]);
        text += &match r.below(3) {
            0 => format!("shl u32 %r11 %r3 {at:#x}\nand u32 %r12 %r11 {mask:#x}\n"),
            1 => format!("and u32 %r11 %r3 {:#x}\nshl u32 %r12 %r11 {at:#x}\n", mask >> at),
            _ => {
                format!("ext u32 %r11 %r3 {:#x}\nshl u32 %r12 %r11 {at:#x}\n", bits << 8 | r.pick(&[0, 2]))
            }
        };
        let _ = write!(text, "{op} u32 %r13 %r10 %r12\nst u32 # g[{{%r0 %r1}}+0x10 align 4] %r13\n");
        found += check(&text, &mut r, &[Op::Ins, Op::Prmt]);
    }
    assert!(found as u64 > number() / 2, "{found}");
}

#[test]
fn rotations_by_variables_are_the_same_rotations() {
    let mut r = Random::new(0x5eed_0005);
    let mut found = 0;
    for _ in 0..number() {
        // Amounts that make 32, or nearly so.
        let less = r.pick(&[0x20u32, 0, 0x40, 0x20, 0x1f, 0x10]);
        let masked = r.pick(&["and u32 %r10 %r3 0x1f\n", "mov u32 %r10 %r3\n", "and u32 %r10 %r3 0xf\n"]);
        let amount = r.pick(&["%r10", "%r3"]);
        let shifts = r.pick(&[["shl.wrap", "shr.wrap"], ["shr.wrap", "shl.wrap"], ["shl", "shr.wrap"]]);
        let mut text = masked.to_string();
        let _ = writeln!(text, "sub u32 %r11 {less:#x} {}", r.pick(&["%r10", "%r3"]));
        let _ = writeln!(text, "{} u32 %r12 %r2 {amount}", shifts[0]);
        let _ = writeln!(text, "{} u32 %r13 %r2 %r11\nor u32 %r14 %r12 %r13", shifts[1]);
        let cond = r.pick(&["ne", "eq", "ne"]);
        let _ = writeln!(text, "set.{cond} pred u32 %p15 {} 0x0", r.pick(&["%r10", "%r3", "%r11"]));
        let _ = writeln!(text, "sel u32 %r16 {} %p15", r.pick(&["%r14 %r2", "%r2 %r14"]));
        text += "st u32 # g[{%r0 %r1}+0x10 align 4] %r14\nst u32 # g[{%r0 %r1}+0x14 align 4] %r16\n";
        let before = program(&text);
        let mut after = before.clone();
        let pass = opt::find("rotate").expect("a pass");
        Session::new()
            .run_pass(pass, Stage::Front, &mut after, Chip::Gk110, &Options::default())
            .expect("valid");
        for _ in 0..40 {
            let any = r.below(32) as u32;
            let by = r.pick(&[0, 1, 31, 32, 33, 64, any, 0xffff_ffe0, 0x8000_0000]);
            let operands = [r.word() as u32, by, 0];
            assert_eq!(
                results(&after, operands),
                results(&before, operands),
                "{operands:x?}\n{before}\n{after}"
            );
        }
        found += count(&after, Op::ShfL) + count(&after, Op::ShfR);
    }
    assert!(found as u64 > number() / 8, "{found}");
}

#[test]
fn sums_of_products_with_carries_are_the_same_sums() {
    let mut r = Random::new(0x5eed_0004);
    let mut found = 0;
    for _ in 0..number() {
        let (mut text, mut next, mut carry) = (String::new(), 20, None::<u32>);
        let values = ["%r2", "%r3", "%r4", "0x0", "0xcccccccd"];
        let steps = 2 + r.below(4);
        for k in 0..steps {
            let op = r.pick(&["mul u32", "mulhi u32", "mul u32", "mulhi u32", "mulhi s32"]);
            let _ = writeln!(text, "{op} %r{} {} {}", 10 + k, r.pick(&values[..3]), r.pick(&values[1..]));
        }
        for k in 0..steps {
            let last = k + 1 == steps;
            let (mut a, mut b) = (format!("%r{}", 10 + k), r.pick(&values[..4]).to_string());
            if r.below(2) == 0 {
                std::mem::swap(&mut a, &mut b);
            }
            let taken = carry.map_or(String::new(), |c| format!(" %c{c}"));
            let given = if last { format!("%r{next}") } else { format!("{{%r{next} %c{}}}", next + 1) };
            let _ = writeln!(text, "add u32 {given} {a} {b}{taken}");
            carry = Some(next + 1);
            next += 2;
        }
        for k in 0..steps as u32 {
            let _ = writeln!(text, "st u32 # g[{{%r0 %r1}}+{:#x} align 4] %r{}", 0x10 + 4 * k, 20 + 2 * k);
        }
        found += check(&text, &mut r, &[Op::Mad, Op::MadHi]);
    }
    assert!(found as u64 > 3 * number(), "{found}");
}
