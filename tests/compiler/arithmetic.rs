//! Lowered arithmetic, compiled for every chip and executed, against the host's: exact on special and random operands.
//!
//! `NVIR_OPERANDS=1000000 cargo test --release --test compiler arithmetic` is the long form.

use nvir::Chip;
use nvir::Compiler;
use nvir::compiler::{OptLevel, Options};
use nvir::emu;
use nvir::random::Random;

const BLOCK: u32 = 256;

fn operands() -> usize {
    std::env::var("NVIR_OPERANDS").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000)
}

/// Integers of every magnitude and both signs.
fn integer(r: &mut Random) -> u64 {
    let x = r.any_length();
    if r.one_in(4) { x.wrapping_neg() } else { x }
}

/// Doubles over the whole range, and close to each other.
fn double(r: &mut Random) -> u64 {
    match r.below(4) {
        0 => r.word(),
        1 => f64::from(r.below(1000)).to_bits(),
        2 => ((r.word() >> 12 | 0x3ff0 << 48) & !(r.below(2u64) << 52)) ^ r.word() << 63,
        _ => r.word() & 0x800f_ffff_ffff_ffff | r.below(2047u64) << 52,
    }
}

/// Pairs: the special ones with each other, then random ones.
fn pairs(special: &[u64], mut random: impl FnMut() -> u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> =
        special.iter().flat_map(|&a| special.iter().map(move |&b| (a, b))).collect();
    while all.len() < operands() {
        all.push((random(), random()));
    }
    all
}

fn integers(seed: u64) -> Vec<(u64, u64)> {
    let special = [
        0,
        1,
        2,
        3,
        7,
        10,
        31,
        32,
        33,
        63,
        64,
        65,
        0xff,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        0xffff_fffe,
        0xffff_ffff,
        0x1_0000_0000,
        0x1_0000_0001,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        0x8000_0000_0000_0001,
        0xffff_ffff_0000_0000,
        0xffff_ffff_8000_0000,
        u64::MAX - 1,
        u64::MAX,
    ];
    let mut r = Random::new(seed);
    pairs(&special, move || integer(&mut r))
}

fn doubles(seed: u64) -> Vec<(u64, u64)> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.5,
        2.0,
        3.0,
        0.1,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::MIN_POSITIVE / 2.0,
        5e-324,
        -5e-324,
        1e308,
        1e-308,
        4294967296.0,
        9.007199254740993e15,
        f64::EPSILON,
        1.0 - f64::EPSILON / 2.0,
        1.0 + f64::EPSILON,
        2.0 - f64::EPSILON,
    ];
    let mut r = Random::new(seed);
    pairs(&special.map(f64::to_bits), move || double(&mut r))
}

/// Compiles `%out = body(%a, %b)` (lines of IR over `{%r20 %r21}` and `{%r22 %r23}`, result in `{%r90 %r91}`) and runs
/// it over all pairs.
fn run(chip: Chip, level: OptLevel, body: &str, pairs: &[(u64, u64)]) -> Vec<u64> {
    let text = format!(
        "program block {BLOCK} 1 1 input 24\nkernel k() {{\nb0:
    rdsv u32 %r0 sv[tid.x]
    rdsv u32 %r1 sv[ctaid.x]
    mad u32 %r2 %r1 {BLOCK} %r0
    shl u32 %r3 %r2 0x3
    ld u64 {{%r4 %r5}} c0[0x0 align 8]
    ld u64 {{%r6 %r7}} c0[0x8 align 8]
    ld u64 {{%r8 %r9}} c0[0x10 align 8]
    mov u32 %r10 0x0
    add u64 {{%r11 %r12}} {{%r4 %r5}} {{%r3 %r10}}
    add u64 {{%r13 %r14}} {{%r6 %r7}} {{%r3 %r10}}
    add u64 {{%r15 %r16}} {{%r8 %r9}} {{%r3 %r10}}
    ld u64 {{%r20 %r21}} g[{{%r11 %r12}}+0x0 align 8]
    ld u64 {{%r22 %r23}} g[{{%r13 %r14}}+0x0 align 8]
    {body}
    st u64 # g[{{%r15 %r16}}+0x0 align 8] {{%r90 %r91}}
    exit\n}}\n"
    );
    let program = nvir::ir::parse::program(&text).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
    let options = Options { opt_level: level, ..Options::default() };
    let image = Compiler::new(chip).with_options(options).compile(program).unwrap_or_else(|d| panic!("{d}"));
    let code = emu::Program::new(chip, &image.code);
    let mut memory = emu::Memory::new();
    let blocks = pairs.len().div_ceil(BLOCK as usize);
    let bytes = (blocks * BLOCK as usize * 8) as u64;
    let mut launch = emu::Launch::new(&code);
    (launch.grid, launch.block) = ([blocks as u32, 1, 1], [BLOCK, 1, 1]);
    (launch.gprs, launch.local_bytes) = (image.gprs.max(1), image.local_bytes);
    let pack =
        |f: &dyn Fn(&(u64, u64)) -> u64| pairs.iter().flat_map(|p| f(p).to_le_bytes()).collect::<Vec<u8>>();
    let mut buffers = Vec::new();
    for (i, data) in [pack(&|p| p.0), pack(&|p| p.1), Vec::new()].into_iter().enumerate() {
        let address = memory.alloc(bytes, 256).expect("there is room");
        memory.write(address, &data).expect("it is mapped");
        launch.set_const(0, 8 * i, &address.to_le_bytes());
        buffers.push(address);
    }
    let mut options = emu::Options { threads: 0, ..emu::Options::default() };
    emu::run(&launch, &mut memory, &mut options).unwrap_or_else(|f| panic!("{f}\n{body}"));
    let out = memory.read(buffers[2], pairs.len() as u64 * 8).expect("it is mapped");
    out.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight bytes"))).collect()
}

#[track_caller]
fn check(body: &str, pairs: &[(u64, u64)], ok: impl Fn(u64, u64, u64) -> Result<(), u64>) {
    check_at(OptLevel::O3, body, pairs, ok);
}

#[track_caller]
fn check_at(
    level: OptLevel,
    body: &str,
    pairs: &[(u64, u64)],
    ok: impl Fn(u64, u64, u64) -> Result<(), u64>,
) {
    for chip in Chip::ALL {
        let results = run(chip, level, body, pairs);
        let mut wrong = 0;
        let mut first = String::new();
        for (&(a, b), r) in pairs.iter().zip(results) {
            if let Err(want) = ok(a, b, r) {
                wrong += 1;
                if first.is_empty() {
                    first = format!("a = {a:#x}, b = {b:#x}: got {r:#x}, want {want:#x}");
                }
            }
        }
        assert!(wrong == 0, "{chip}: {body}: {first}; {wrong} of {} wrong", pairs.len());
    }
}

fn equal(want: impl Fn(u64, u64) -> u64) -> impl Fn(u64, u64, u64) -> Result<(), u64> {
    move |a, b, r| if r == want(a, b) { Ok(()) } else { Err(want(a, b)) }
}

/// NaN equals NaN; otherwise bits.
fn equal_double(want: impl Fn(f64, f64) -> f64) -> impl Fn(u64, u64, u64) -> Result<(), u64> {
    move |a, b, r| {
        let w = want(f64::from_bits(a), f64::from_bits(b));
        let same = r == w.to_bits() || w.is_nan() && f64::from_bits(r).is_nan();
        if same { Ok(()) } else { Err(w.to_bits()) }
    }
}

fn binary(op: &str, ty: &str) -> String {
    format!("{op} {ty} {{%r90 %r91}} {{%r20 %r21}} {{%r22 %r23}}")
}

/// The same on the low words, the result in the low word.
fn binary32(op: &str, ty: &str) -> String {
    format!("{op} {ty} %r90 %r20 %r22\n    mov u32 %r91 0x0")
}

#[test]
fn unsigned_64_bit_division_and_remainder_are_exact() {
    let p = integers(1);
    check(&binary("div", "u64"), &p, equal(|a, b| a.checked_div(b).unwrap_or(u64::MAX)));
    check(&binary("mod", "u64"), &p, equal(|a, b| a.checked_rem(b).unwrap_or(u64::MAX)));
}

#[test]
fn signed_64_bit_division_and_remainder_are_exact() {
    let p = integers(2);
    let div = |a: u64, b: u64| if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 };
    let rem = |a: u64, b: u64| if b == 0 { u64::MAX } else { (a as i64).wrapping_rem(b as i64) as u64 };
    check(&binary("div", "s64"), &p, equal(div));
    check(&binary("mod", "s64"), &p, equal(rem));
}

#[test]
fn division_and_remainder_of_words_are_exact() {
    let p = integers(3);
    check(
        &binary32("div", "u32"),
        &p,
        equal(|a, b| (a as u32).checked_div(b as u32).unwrap_or(u32::MAX).into()),
    );
    check(
        &binary32("mod", "u32"),
        &p,
        equal(|a, b| (a as u32).checked_rem(b as u32).unwrap_or(u32::MAX).into()),
    );
    let signed = |f: fn(i32, i32) -> i32| {
        equal(move |a, b| if b as u32 == 0 { u32::MAX.into() } else { (f(a as i32, b as i32) as u32).into() })
    };
    check(&binary32("div", "s32"), &p, signed(i32::wrapping_div));
    check(&binary32("mod", "s32"), &p, signed(i32::wrapping_rem));
}

#[test]
fn other_64_bit_integer_arithmetic_is_exact() {
    let p = integers(4);
    check(&binary("add", "u64"), &p, equal(u64::wrapping_add));
    check(&binary("sub", "u64"), &p, equal(u64::wrapping_sub));
    check(&binary("mul", "u64"), &p, equal(u64::wrapping_mul));
    check(&binary("mulhi", "u64"), &p, equal(|a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64));
    let high = |a: u64, b: u64| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64;
    check(&binary("mulhi", "s64"), &p, equal(high));
    check(&binary("min", "u64"), &p, equal(u64::min));
    check(&binary("max", "s64"), &p, equal(|a, b| (a as i64).max(b as i64) as u64));
    check("neg s64 {%r90 %r91} {%r20 %r21}", &p, equal(|a, _| a.wrapping_neg()));
    check("abs s64 {%r90 %r91} {%r20 %r21}", &p, equal(|a, _| (a as i64).wrapping_abs() as u64));
}

#[test]
fn shifts_of_64_bits_take_any_amount() {
    let p: Vec<(u64, u64)> =
        integers(5).into_iter().map(|(a, b)| (a, if b % 3 == 0 { b % 130 } else { b % 64 })).collect();
    let shift = |op: &str, ty: &str| format!("{op} {ty} {{%r90 %r91}} {{%r20 %r21}} %r22");
    check(&shift("shl", "u64"), &p, equal(|a, b| a.checked_shl(b as u32).unwrap_or(0)));
    check(&shift("shr", "u64"), &p, equal(|a, b| a.checked_shr(b as u32).unwrap_or(0)));
    check(&shift("shr", "s64"), &p, equal(|a, b| ((a as i64) >> b.min(63)) as u64));
    check(&shift("shl.wrap", "u64"), &p, equal(|a, b| a.wrapping_shl(b as u32)));
    for n in [0u64, 1, 31, 32, 33, 63] {
        check(
            &format!("shr s64 {{%r90 %r91}} {{%r20 %r21}} {n:#x}"),
            &p,
            equal(move |a, _| ((a as i64) >> n) as u64),
        );
    }
}

#[test]
fn comparisons_of_64_bits_are_exact() {
    type Test = fn(&i64, &i64) -> bool;
    type UnsignedTest = fn(&u64, &u64) -> bool;
    let p = integers(6);
    let signed: [(&str, Test); 6] = [
        ("lt", i64::lt),
        ("le", i64::le),
        ("gt", i64::gt),
        ("ge", i64::ge),
        ("eq", i64::eq),
        ("ne", i64::ne),
    ];
    let unsigned: [(&str, UnsignedTest); 4] =
        [("lt", u64::lt), ("le", u64::le), ("gt", u64::gt), ("ge", u64::ge)];
    let body = |cond: &str, ty: &str| {
        format!("set.{cond} u32 {ty} %r90 {{%r20 %r21}} {{%r22 %r23}}\n    mov u32 %r91 0x0")
    };
    for (cond, f) in signed {
        check(
            &body(cond, "s64"),
            &p,
            equal(move |a, b| if f(&(a as i64), &(b as i64)) { u32::MAX.into() } else { 0 }),
        );
    }
    for (cond, f) in unsigned {
        check(&body(cond, "u64"), &p, equal(move |a, b| if f(&a, &b) { u32::MAX.into() } else { 0 }));
    }
}

#[test]
fn double_division_and_roots_are_correctly_rounded() {
    let p = doubles(7);
    // The routine for all operands, and behind code in line for those that are in range.
    for level in [OptLevel::O1, OptLevel::O3] {
        check_at(level, &binary("div", "f64"), &p, equal_double(|a, b| a / b));
        check_at(level, "rcp f64 {%r90 %r91} {%r20 %r21}", &p, equal_double(|a, _| 1.0 / a));
        check_at(level, "sqrt f64 {%r90 %r91} {%r20 %r21}", &p, equal_double(|a, _| a.sqrt()));
    }
}

#[test]
fn reciprocal_roots_of_doubles_are_within_one_unit_in_the_last_place() {
    let within = |a: u64, _: u64, r: u64| {
        let x = f64::from_bits(a);
        let want = 1.0 / x.sqrt();
        let got = f64::from_bits(r);
        // The host's own value is off by up to one unit.
        let close = got == want || want.is_nan() && got.is_nan() || r.abs_diff(want.to_bits()) <= 2;
        if close { Ok(()) } else { Err(want.to_bits()) }
    };
    check("rsq f64 {%r90 %r91} {%r20 %r21}", &doubles(8), within);
}

#[test]
fn scaling_by_a_power_of_two_rounds_once() {
    let p: Vec<(u64, u64)> = doubles(9)
        .into_iter()
        .zip(integers(9))
        .map(|((a, _), (b, _))| (a, b % 4400))
        .map(|(a, b)| (a, b.wrapping_sub(2200)))
        .collect();
    let want = |a: f64, b: f64| {
        let n = b.to_bits() as i32;
        // Two exact steps and one that rounds: the value of a * 2^n in three factors from the far end.
        let (mut x, mut n) = (a, n);
        for _ in 0..2 {
            let step = if n > 1023 {
                1023
            } else if n < -1022 {
                -969
            } else {
                0
            };
            x *= 2f64.powi(step);
            n -= step;
        }
        x * f64::from_bits(((n.clamp(-1022, 1023) + 1023) as u64) << 52)
    };
    check("ldexp f64 {%r90 %r91} {%r20 %r21} %r22", &p, equal_double(want));
}

#[test]
fn conversions_between_doubles_and_64_bit_integers_are_exact() {
    let p = integers(10);
    check("cvt f64 u64 {%r90 %r91} {%r20 %r21}", &p, equal(|a, _| (a as f64).to_bits()));
    check("cvt f64 s64 {%r90 %r91} {%r20 %r21}", &p, equal(|a, _| (a as i64 as f64).to_bits()));
    check(
        "cvt f32 u64 %r90 {%r20 %r21}\n    mov u32 %r91 0x0",
        &p,
        equal(|a, _| (a as f32).to_bits().into()),
    );
    check(
        "cvt f32 s64 %r90 {%r20 %r21}\n    mov u32 %r91 0x0",
        &p,
        equal(|a, _| (a as i64 as f32).to_bits().into()),
    );
    let finite: Vec<(u64, u64)> =
        doubles(11).into_iter().filter(|(a, _)| !f64::from_bits(*a).is_nan()).collect();
    check("cvt.rz u64 f64 {%r90 %r91} {%r20 %r21}", &finite, equal(|a, _| f64::from_bits(a) as u64));
    check("cvt.rz s64 f64 {%r90 %r91} {%r20 %r21}", &finite, equal(|a, _| f64::from_bits(a) as i64 as u64));
}

#[test]
fn conversions_between_doubles_and_words_are_exact() {
    let low = |body: &str| format!("{body}\n    mov u32 %r91 0x0");
    let p = integers(12);
    check("cvt f64 u32 {%r90 %r91} %r20", &p, equal(|a, _| f64::from(a as u32).to_bits()));
    check("cvt f64 s32 {%r90 %r91} %r20", &p, equal(|a, _| f64::from(a as i32).to_bits()));
    let d: Vec<(u64, u64)> = doubles(13).into_iter().filter(|(a, _)| !f64::from_bits(*a).is_nan()).collect();
    check(
        &low("cvt f32 f64 %r90 {%r20 %r21}"),
        &d,
        equal(|a, _| (f64::from_bits(a) as f32).to_bits().into()),
    );
    check(&low("cvt.rz u32 f64 %r90 {%r20 %r21}"), &d, equal(|a, _| (f64::from_bits(a) as u32).into()));
    check(
        &low("cvt.rz s32 f64 %r90 {%r20 %r21}"),
        &d,
        equal(|a, _| (f64::from_bits(a) as i32 as u32).into()),
    );
    let single = |a: u64| f32::from_bits(a as u32);
    let f: Vec<(u64, u64)> = integers(14).into_iter().filter(|(a, _)| !single(*a).is_nan()).collect();
    check("cvt f64 f32 {%r90 %r91} %r20", &f, equal(move |a, _| f64::from(single(a)).to_bits()));
    check("cvt.rz u64 f32 {%r90 %r91} %r20", &f, equal(move |a, _| single(a) as u64));
    check("cvt.rz s64 f32 {%r90 %r91} %r20", &f, equal(move |a, _| single(a) as i64 as u64));
}
