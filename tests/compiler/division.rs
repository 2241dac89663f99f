//! Divisions that are written out: `long_division` and `quotient` find them, keep what they compute, and leave alone what is
//! only similar. The evaluator of IR says what a program computes, before and after; random changes to the text make the
//! programs that are only similar. `NVIR_DIVISIONS` sets how many of those (default 300).

use nvir::Chip;
use nvir::compiler::Options;
use nvir::ir::{Op, Program, Space, parse};
use nvir::opt::{self, Session, Stage};
use nvir::random::Random;
use nvir_reference::eval::{self, Machine};
use std::fmt::Write;

/// Where the operands are, and where the results go.
const PLACE: u64 = 0x1000_0000;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

const EDGES: [u64; 17] = [
    0,
    1,
    2,
    3,
    7,
    10,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0xffff_ffff_0000_0000,
    u64::MAX,
];

fn pairs(r: &mut Random, more: usize) -> Vec<[u64; 2]> {
    let mut all: Vec<[u64; 2]> = EDGES.iter().flat_map(|&a| EDGES.map(|b| [a, b])).collect();
    all.extend((0..more).map(|_| [r.any_length(), r.any_length()]));
    all
}

fn program(body: &str) -> Option<Program> {
    let head = "ld u32 %r0 c0[0x0]\nld u32 %r1 c0[0x4]\nld u64 {%r2 %r3} g[{%r0 %r1}+0x0 align 8]\n\
                ld u64 {%r4 %r5} g[{%r0 %r1}+0x8 align 8]\n";
    parse::program(&format!("program\nkernel k() {{\nb0:\n{head}{body}}}\n")).ok()
}

/// The words that a program stores for two operands.
fn results(p: &Program, [x, y]: [u64; 2]) -> Result<Vec<u32>, String> {
    let mut m = Machine::new(100_000);
    for (k, w) in [x, x >> 32, y, y >> 32].into_iter().enumerate() {
        m.words.insert((Space::Global, PLACE + 4 * k as u64), w as u32);
    }
    eval::run(p, &mut m).map_err(|e| e.to_string())?;
    Ok((4..12).filter_map(|k| m.words.get(&(Space::Global, PLACE + 4 * k)).copied()).collect())
}

/// Runs passes; whether they changed anything.
fn run(p: &mut Program, passes: &[&str]) -> bool {
    let options = Options::default();
    let mut changed = false;
    for pass in passes {
        let pass = opt::find(pass).expect("a pass");
        changed |= Session::new().run_pass(pass, Stage::Front, p, Chip::Gk110, &options).expect("valid");
    }
    changed
}

fn count(p: &Program, op: Op) -> usize {
    let f = &p.funcs[p.entry];
    f.insts_in_order().filter(|&(_, i)| f.insts[i].op == op).count()
}

/// The steps of half a division; `n` are the names of what is left, `d` those of the divisor's words or its value.
fn steps(constant: Option<u64>, names: &str, dividend: &[&str], quotient: bool) -> (String, String, String) {
    let mut t = String::new();
    let wide = dividend.len() == 2;
    let (mut lo, mut hi) = (dividend[0].to_string(), dividend.get(1).unwrap_or(&"").to_string());
    let mut q = "0x0".to_string();
    let top = if wide { "%r5" } else { "%r4" };
    if constant.is_none() {
        let _ = writeln!(t, "flo u32 %{names}flo {top}");
    }
    for k in (0..32u32).rev() {
        let bits = if wide { 64 } else { 32 };
        if constant.is_some_and(|d| d.leading_zeros() - (64 - bits) < k) {
            continue;
        }
        let v = |s: &str| format!("%{names}{s}{k}");
        let p = v("p");
        match (constant, wide) {
            (Some(d), true) => {
                let d = d << k;
                let _ =
                    writeln!(t, "add u64 {{{} {}}} {{{lo} {hi}}} {:#x}:64", v("a"), v("b"), d.wrapping_neg());
                let _ = writeln!(t, "set.ge pred u64 {p} {{{lo} {hi}}} {d:#x}:64");
            }
            (Some(d), false) => {
                let d = (d as u32) << k;
                let _ = writeln!(t, "add u32 {} {lo} {:#x}", v("a"), d.wrapping_neg());
                let _ = writeln!(t, "set.ge pred u32 {p} {lo} {d:#x}");
            }
            (None, true) => {
                let (s, u) = if k == 0 { ("%r4".into(), "%r5".into()) } else { (v("s"), v("u")) };
                if k > 0 {
                    let _ = writeln!(t, "shl u64 {{{s} {u}}} {{%r4 %r5}} {k:#x}");
                }
                let _ = writeln!(t, "neg s64 {{{} {}}} {{{s} {u}}}", v("x"), v("y"));
                let _ =
                    writeln!(t, "add u64 {{{} {}}} {{{lo} {hi}}} {{{} {}}}", v("a"), v("b"), v("x"), v("y"));
                let _ = writeln!(
                    t,
                    "set.ge pred u64 {} {{{lo} {hi}}} {{{s} {u}}}",
                    v(if k > 0 { "c" } else { "p" })
                );
            }
            (None, false) => {
                let s = if k == 0 { "%r4".into() } else { v("s") };
                if k > 0 {
                    let _ = writeln!(t, "shl u32 {s} %r4 {k:#x}");
                }
                let _ = writeln!(t, "neg s32 {} {s}\nadd u32 {} {lo} {}", v("x"), v("a"), v("x"));
                let _ = writeln!(t, "set.ge pred u32 {} {lo} {s}", v(if k > 0 { "c" } else { "p" }));
            }
        }
        if constant.is_none() && k > 0 {
            let _ = writeln!(t, "set.ge pred s32 {} {:#x} %{names}flo", v("g"), 31 - k);
            let _ = writeln!(t, "and pred {p} {} {}", v("c"), v("g"));
        }
        if quotient {
            let bit = 1u32 << k;
            if q == "0x0" {
                let _ = writeln!(t, "sel u32 {} {bit:#x} 0x0 {p}", v("q"));
            } else {
                let _ = writeln!(t, "or u32 {} {q} {bit:#x}\nsel u32 {} {} {q} {p}", v("o"), v("q"), v("o"));
            }
            q = v("q");
        }
        let _ = writeln!(t, "sel u32 {} {} {lo} {p}", v("l"), v("a"));
        lo = v("l");
        if wide {
            let _ = writeln!(t, "sel u32 {} {} {hi} {p}", v("h"), v("b"));
            hi = v("h");
        }
    }
    (t, format!("{lo} {hi}"), q)
}

/// Names to numbers, as the parser wants them.
fn numbered(text: &str) -> String {
    let mut known: std::collections::HashMap<String, usize> = std::collections::HashMap::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        let end =
            rest[at + 1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |e| at + 1 + e);
        let name = &rest[at + 1..end];
        let fixed = name.strip_prefix('r').and_then(|n| n.parse::<usize>().ok()).filter(|&n| n < 6);
        match fixed {
            Some(n) => out += &format!("%r{n}"),
            None => {
                let next = known.len() + 6;
                let n = *known.entry(name.to_string()).or_insert(next);
                // Two letters say whose it is, the third what it is.
                let predicate =
                    matches!(name.chars().nth(2), Some('p' | 'c' | 'g')) || name.starts_with("test");
                out += &format!("%{}{n}", if predicate { 'p' } else { 'r' });
            }
        }
        rest = &rest[end..];
    }
    out + rest
}

/// A whole division as Mesa writes it, by a value or a constant; stores quotient and remainder.
fn long_division(constant: Option<u64>, quotient: bool) -> String {
    let mut t = String::new();
    let small = constant.is_none_or(|d| d >> 32 == 0);
    let mut n_hi = "%r3".to_string();
    let mut upper = "0x0".to_string();
    if small {
        match constant {
            None => {
                t += "set.ge pred u32 %testa %r3 %r4\nset.eq pred u32 %testb %r5 0x0\nand pred %testc %testb %testa\n"
            }
            Some(d) => t += &format!("set.ge pred u32 %testc %r3 {d:#x}\n"),
        }
        t += "mov u32 %zero 0x0\nif %testc b1 b2(%r3 %zero) join b2\nb1:\n";
        let (text, left, q) = steps(constant, "hi", &["%r3"], true);
        t += &text;
        t += &format!("jump b2({} {q})\nb2(%joinl %joinq):\n", left.trim());
        n_hi = "%joinl".into();
        upper = "%joinq".into();
    }
    let (text, left, q) = steps(constant, "lo", &["%r2", &n_hi], quotient);
    t += &text;
    if quotient {
        t += &format!(
            "mov u32 %lower {q}\nmov u32 %above {upper}\nst u64 # g[{{%r0 %r1}}+0x10 align 8] {{%lower %above}}\n"
        );
    }
    numbered(&format!("{t}st u64 # g[{{%r0 %r1}}+0x18 align 8] {{{left}}}\nexit\n"))
}

/// What the program stores must be the same after the passes.
fn same(text: &str, before: &Program, after: &Program, inputs: &[[u64; 2]]) {
    for &x in inputs {
        if let Ok(want) = results(before, x) {
            assert_eq!(results(after, x), Ok(want), "of {x:x?}\n{text}\n--- after\n{after}");
        }
    }
}

const DIVISORS: [u64; 16] = [
    1,
    3,
    7,
    10,
    641,
    1_000_003,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0x123_4567_89ab,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    u64::MAX,
];

#[test]
fn long_divisions_are_found_and_keep_their_results() {
    let mut r = Random::new(0x1234_5678_9abc_def1);
    let inputs = pairs(&mut r, 200);
    for constant in [None].into_iter().chain(DIVISORS.map(Some)) {
        for quotient in [true, false] {
            let text = long_division(constant, quotient);
            let before = program(&text).unwrap_or_else(|| panic!("{text}"));
            let mut after = before.clone();
            assert!(run(&mut after, &["long_division"]), "by {constant:?}\n{text}");
            assert_eq!(count(&after, Op::Div), usize::from(quotient));
            assert_eq!(count(&after, Op::Mod), 1);
            same(&text, &before, &after, &inputs);
            // What it becomes.
            run(&mut after, &["dce", "divmod"]);
            same(&text, &before, &after, &inputs);
            for &[x, y] in &inputs {
                let d = constant.unwrap_or(y);
                let q = x.checked_div(d).unwrap_or(u64::MAX);
                let rest = x.checked_rem(d).unwrap_or(x);
                let mut want = vec![rest as u32, (rest >> 32) as u32];
                if quotient {
                    want.splice(0..0, [q as u32, (q >> 32) as u32]);
                }
                assert_eq!(results(&after, [x, y]), Ok(want), "{x:x} by {d:x}");
            }
        }
    }
}

/// One word of a text changed: a number, or a name for another of its kind.
fn changed(text: &str, r: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let at = r.below(lines.len());
    let mut words: Vec<String> = lines[at].split(' ').map(String::from).collect();
    let w = r.below(words.len());
    let word = words[w].clone();
    let value = |s: &str| u64::from_str_radix(s.strip_prefix("0x")?.trim_end_matches(":64"), 16).ok();
    words[w] = if let Some(x) = value(&word) {
        let y = match r.below(3) {
            0 => x ^ 1 << r.below(32),
            1 => x.wrapping_add(1),
            _ => x.wrapping_sub(1),
        };
        if word.ends_with(":64") { format!("{y:#x}:64") } else { format!("{:#x}", y as u32) }
    } else if word == "set.ge" {
        ["set.gt", "set.lt", "set.eq"][r.below(3)].into()
    } else if word.starts_with("%r") || word.starts_with("%p") {
        let same: Vec<&str> =
            text.split([' ', '\n', '{', '}']).filter(|t| t.starts_with(&word[..2])).collect();
        same[r.below(same.len())].into()
    } else if word == "or" || word == "and" {
        "xor".into()
    } else {
        word
    };
    lines[at] = words.join(" ");
    lines.join("\n") + "\n"
}

#[test]
fn what_is_only_similar_to_a_long_division_keeps_its_results() {
    let mut r = Random::new(0x9e37_79b9_7f4a_7c15);
    let inputs = pairs(&mut r, 40);
    let (mut tried, mut left) = (0, 0);
    for n in 0..number("NVIR_DIVISIONS", 300) {
        let constant = if n % 2 == 0 { None } else { Some(DIVISORS[r.below(DIVISORS.len())]) };
        let text = changed(&long_division(constant, n % 3 > 0), &mut r);
        let Some(before) = program(&text) else { continue };
        if nvir::verify::for_chip(&before, nvir::ir::Phase::Front, Chip::Gk110).is_err() {
            continue;
        }
        let mut after = before.clone();
        tried += 1;
        left += u32::from(!run(&mut after, &["long_division"]));
        same(&text, &before, &after, &inputs);
    }
    assert!(tried > 50 && left > tried / 10, "{tried} programs, {left} left as they are");
}

/// A quotient from an estimate with two corrections; stores quotient and remainder.
fn quotient(d: u32, m: u32) -> String {
    let minus = d.wrapping_neg();
    format!(
        "mulhi u32 %r6 %r2 {m:#x}\nmul u32 %r7 %r6 {d:#x}\nneg s32 %r8 %r7\nadd u32 %r9 %r2 %r8\n\
         set.ge pred u32 %p10 %r9 {d:#x}\nadd u32 %r11 %r6 0x1\nsel u32 %r12 %r11 %r6 %p10\n\
         add u32 %r13 %r9 {minus:#x}\nsel u32 %r14 %r13 %r9 %p10\nset.ge pred u32 %p15 %r14 {d:#x}\n\
         add u32 %r16 %r12 0x1\nsel u32 %r17 %r16 %r12 %p15\nadd u32 %r18 %r14 {minus:#x}\n\
         sel u32 %r19 %r18 %r14 %p15\nst u64 # g[{{%r0 %r1}}+0x10 align 8] {{%r17 %r19}}\nexit\n"
    )
}

#[test]
fn corrected_estimates_are_divisions_only_where_they_are_exact() {
    let mut r = Random::new(0xdead_beef_cafe_f00d);
    for d in
        [2u32, 3, 5, 7, 10, 13, 100, 255, 641, 1000, 65537, 0x7fff_ffff, 0x8000_0000, 0xffff_fff0, u32::MAX]
    {
        let exact = ((1u64 << 32) / u64::from(d)) as u32;
        // Dividends around multiples of the divisor, and of half the range.
        let near =
            |k: u64| (0..5).map(move |n| (k * u64::from(d)).wrapping_add(n).wrapping_sub(2) & 0xffff_ffff);
        let mut xs: Vec<[u64; 2]> =
            (0..4).chain([u64::from(exact), u64::from(exact) / 2]).flat_map(near).map(|x| [x, 0]).collect();
        xs.extend(EDGES.map(|x| [x & 0xffff_ffff, 0]));
        xs.extend((0..50).map(|_| [r.any_length() & 0xffff_ffff, 0]));
        // Estimates that need one correction, two, and more than there are; and one that is too large.
        for m in [
            exact,
            exact.wrapping_sub(1),
            exact.wrapping_sub(2),
            exact.wrapping_sub(5),
            exact.wrapping_add(1),
        ] {
            let text = quotient(d, m);
            let before = program(&text).expect("a program");
            let mut after = before.clone();
            let found = run(&mut after, &["quotient"]);
            let error = (1u64 << 32).checked_sub(u64::from(m) * u64::from(d));
            let provable = error.is_some_and(|e| e <= 2 * u64::from(d));
            assert_eq!(found, provable, "{d} by {m:#x}\n{after}");
            // Nothing is corrected where the estimate is exact.
            let corrected = provable && error != Some(0);
            assert_eq!(count(&after, Op::Div) > 0, corrected, "{d} by {m:#x}\n{after}");
            same(&text, &before, &after, &xs);
            run(&mut after, &["divmod"]);
            same(&text, &before, &after, &xs);
        }
    }
}

#[test]
fn what_is_only_similar_to_a_corrected_estimate_keeps_its_results() {
    let mut r = Random::new(0x0123_4567_89ab_cdef);
    let inputs = pairs(&mut r, 40);
    for _ in 0..number("NVIR_DIVISIONS", 300) {
        let d = [3u32, 7, 10, 641, 1000][r.below(5)];
        let text = changed(&quotient(d, ((1u64 << 32) / u64::from(d)) as u32 - r.below(3) as u32), &mut r);
        let Some(before) = program(&text) else { continue };
        if nvir::verify::for_chip(&before, nvir::ir::Phase::Front, Chip::Gk110).is_err() {
            continue;
        }
        let mut after = before.clone();
        run(&mut after, &["quotient", "divmod"]);
        same(&text, &before, &after, &inputs);
    }
}

/// The sign of the dividend given back to its magnitude's quotient and remainder.
#[test]
fn signed_divisions_are_found() {
    let mut r = Random::new(0x0f1e_2d3c_4b5a_6978);
    for d in [2u32, 3, 10, 1000, 0x7fff_ffff] {
        for (test, swapped) in [("lt", false), ("ge", false), ("lt", true), ("ge", true)] {
            let (a, b) =
                if swapped { (["%r7", "%r9"], ["%r6", "%r8"]) } else { (["%r6", "%r8"], ["%r7", "%r9"]) };
            let text = format!(
                "abs s32 %r5 %r2\ndiv u32 %r6 %r5 {d:#x}\nneg s32 %r7 %r6\nmod u32 %r8 %r5 {d:#x}\nneg s32 %r9 %r8\n\
                 set.{test} pred s32 %p10 %r2 0x0\nsel u32 %r11 {} {} %p10\nsel u32 %r12 {} {} %p10\n\
                 st u64 # g[{{%r0 %r1}}+0x10 align 8] {{%r11 %r12}}\nexit\n",
                a[0], b[0], a[1], b[1]
            )
            .replace("%r5", "%r20");
            let before = program(&text).expect("a program");
            let mut after = before.clone();
            run(&mut after, &["quotient"]);
            let xs: Vec<[u64; 2]> = EDGES
                .into_iter()
                .chain((0..50).map(|_| r.any_length()))
                .map(|x| [x & 0xffff_ffff, 0])
                .collect();
            same(&text, &before, &after, &xs);
            assert!(after.to_string().contains("div s32"), "{after}");
            run(&mut after, &["divmod"]);
            same(&text, &before, &after, &xs);
        }
    }
}
