//! Saturating sums and differences that are written out with comparisons, as Mesa writes them: `saturate` finds them, and what
//! comes out is right on every chip, for all bytes and for the edges of wider numbers.

use crate::common::numbered;
use nvir::compiler::{Compiler, OptLevel, Options};
use nvir::ir::{Op, parse};
use nvir::opt::{self, Session, Stage};
use nvir::{Chip, emu};

const BLOCK: u32 = 256;

/// What a kernel makes of each pair: `%a` and `%b` are its operands, `%r` is stored.
fn run(compiler: &Compiler, body: &str, pairs: &[[u32; 2]]) -> Vec<u32> {
    let chip = compiler.chip();
    let program = parse::program(&kernel(body)).unwrap_or_else(|d| panic!("{d:?}\n{body}"));
    let shader = compiler.compile(program).unwrap_or_else(|d| panic!("{chip}: {d}\n{body}"));
    let mut memory = emu::Memory::new();
    let count = pairs.len().next_multiple_of(BLOCK as usize);
    let input = memory.alloc(8 * count as u64, 8).expect("it fits");
    let out = memory.alloc(4 * count as u64, 8).expect("it fits");
    let bytes: Vec<u8> = pairs.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
    memory.write(input, &bytes).expect("mapped");
    let code = emu::Program::new(chip, &shader.code);
    let mut launch = emu::Launch::new(&code);
    launch.block = [BLOCK, 1, 1];
    launch.grid = [count as u32 / BLOCK, 1, 1];
    launch.gprs = shader.gprs;
    launch.local_bytes = shader.local_bytes;
    launch.set_const_u32(0, 0, input as u32);
    launch.set_const_u32(0, 4, out as u32);
    let checks = emu::Checks { init: false, ..emu::Checks::default() };
    let mut options = emu::Options { checks, ..emu::Options::default() };
    if let Err(fault) = emu::run(&launch, &mut memory, &mut options) {
        panic!("{chip}: {fault:?}\n{body}");
    }
    let bytes = memory.read(out, 4 * pairs.len() as u64).expect("mapped");
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Names become numbers.
fn kernel(body: &str) -> String {
    let text = format!(
        "program\nkernel k() {{\nb0:
    rdsv u32 %tid sv[tid.x]
    rdsv u32 %cta sv[ctaid.x]
    mad u32 %n %cta {BLOCK:#x} %tid
    ld u32 %in c0[0x0 align 4]
    ld u32 %out c0[0x4 align 4]
    shladd u32 %from %n 0x3 %in
    shladd u32 %to %n 0x2 %out
    ld u32 %a g[%from+0x0 align 4]
    ld u32 %b g[%from+0x4 align 4]
{body}
    st u32 # g[%to+0x0 align 4] %r
    exit\n}}\n"
    );
    numbered(&text)
}

/// The sum or difference with signs, of so many bits; the result with its sign.
fn signed(bits: u32, minus: bool, b: Option<i32>) -> String {
    let limit = (1u64 << (bits - 1)) as u32;
    let most = limit - 1;
    let narrow = bits < 32;
    let ext = |d: &str, s: &str| {
        if narrow {
            format!("    ext s32 %{d} %{s} {:#x}\n", bits << 8)
        } else {
            format!("    mov u32 %{d} %{s}\n")
        }
    };
    let mut t = ext("x", "a");
    let y = match b {
        Some(b) => format!("{:#x}", b as u32 & (limit | most)),
        None => {
            t += &ext("y", "b");
            "%y".into()
        }
    };
    if minus {
        t += &format!("    neg s32 %m {y}\n    add u32 %s %x %m\n");
    } else {
        t += &format!("    add u32 %s %x {y}\n");
    }
    t += &ext("e", "s");
    t += &format!("    set.lt pred s32 %pq %e %x\n    sel u32 %h {most:#x} %s %pq\n");
    t += &format!("    set.lt pred s32 %pt %x %e\n    sel u32 %l {limit:#x} %s %pt\n");
    match b {
        Some(b) => t += if b > 0 { "    mov u32 %v %h\n" } else { "    mov u32 %v %l\n" },
        None if minus => t += "    set.lt pred s32 %pp %y 0x0\n    sel u32 %v %h %l %pp\n",
        None => t += "    set.ge pred s32 %pp %y 0x1\n    sel u32 %v %h %l %pp\n",
    }
    t + &ext("r", "v")
}

fn unsigned(bits: u32, minus: bool) -> String {
    let mask = ((1u64 << bits) - 1) as u32;
    let cut = |d: &str, s: &str| format!("    and u32 %{d} %{s} {mask:#x}\n");
    let mut t = cut("x", "a") + &cut("y", "b");
    if minus {
        t += "    neg s32 %m %y\n    add u32 %s %x %m\n    set.lt pred u32 %pq %x %y\n    sel u32 %v 0x0 %s %pq\n";
    } else {
        t += "    add u32 %s %x %y\n";
        t += &cut("e", "s");
        t += &format!("    set.lt pred u32 %pq %e %x\n    sel u32 %v {mask:#x} %s %pq\n");
    }
    t + &cut("r", "v")
}

fn pairs(bits: u32) -> Vec<[u32; 2]> {
    if bits == 8 {
        return (0..0x10000).map(|n| [n & 0xff | 0xabcd_0000, n >> 8]).collect();
    }
    let top = (1u64 << (bits - 1)) as u32;
    let mut numbers = vec![0, 1, 2, 9, 10, 11, 0x7f, 0x80, 0xff, 0x100, 0x5555, 0x1234_5678];
    for n in numbers.clone() {
        numbers.extend([
            top.wrapping_add(n),
            top.wrapping_sub(n),
            n.wrapping_neg(),
            top.wrapping_mul(2).wrapping_sub(n),
        ]);
    }
    numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| [a, b])).collect()
}

/// Checks values on all chips, and that the choices are gone.
fn check(body: &str, bits: u32, want: impl Fn(u32, u32) -> u32) {
    let mut program = parse::program(&kernel(body)).expect("it parses");
    for pass in ["gvn", "copy_prop", "saturate", "dce"] {
        let pass = opt::find(pass).expect("a pass");
        Session::new()
            .run_pass(pass, Stage::Front, &mut program, Chip::Gk110, &Options::default())
            .expect("valid");
    }
    let f = &program.funcs[program.entry];
    assert!(f.insts_in_order().all(|(_, i)| f.insts[i].op != Op::Sel), "{program}");
    let pairs = pairs(bits);
    for chip in Chip::ALL {
        for level in [OptLevel::O0, OptLevel::O3] {
            let got = run(&Compiler::new(chip).with_options(Options::at(level)), body, &pairs);
            for (&[a, b], got) in pairs.iter().zip(got) {
                assert_eq!(got, want(a, b), "{chip} -O{level} of {a:#x} and {b:#x}\n{body}");
            }
        }
    }
}

/// The nearest number of so many bits with a sign.
fn clamp(bits: u32, x: i64) -> u32 {
    x.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) as u32
}

fn sign(bits: u32, x: u32) -> i64 {
    i64::from((x << (32 - bits)) as i32 >> (32 - bits))
}

#[test]
fn sums_and_differences_with_signs() {
    for bits in [8, 16, 32] {
        check(&signed(bits, false, None), bits, |a, b| clamp(bits, sign(bits, a) + sign(bits, b)));
        check(&signed(bits, true, None), bits, |a, b| clamp(bits, sign(bits, a) - sign(bits, b)));
    }
}

#[test]
fn sums_with_constants() {
    for bits in [8, 16, 32] {
        for k in [1, 10, 127, -1, -10, -128] {
            check(&signed(bits, false, Some(k)), bits, |a, _| clamp(bits, sign(bits, a) + i64::from(k)));
        }
    }
    check(&signed(32, false, Some(i32::MIN)), 32, |a, _| clamp(32, sign(32, a) + i64::from(i32::MIN)));
    check(&signed(32, false, Some(i32::MAX)), 32, |a, _| clamp(32, sign(32, a) + i64::from(i32::MAX)));
}

#[test]
fn sums_and_differences_without_signs() {
    for bits in [8, 16] {
        let mask = (1u32 << bits) - 1;
        check(&unsigned(bits, false), bits, |a, b| mask.min((a & mask) + (b & mask)));
    }
    for bits in [8, 16, 32] {
        let mask = ((1u64 << bits) - 1) as u32;
        check(&unsigned(bits, true), bits, |a, b| (a & mask).saturating_sub(b & mask));
    }
}

#[test]
fn operations_that_saturate_take_any_operand() {
    let host = |minus: bool, a: u32, b: u32| {
        let (a, b) = (a as i32, b as i32);
        (if minus { a.saturating_sub(b) } else { a.saturating_add(b) }) as u32
    };
    for (minus, op) in [(false, "addsat"), (true, "subsat")] {
        check(&format!("    {op} s32 %r %a %b"), 32, |a, b| host(minus, a, b));
        for k in [0, 1, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff, 0x12345, 0xfff8_0000] {
            check(&format!("    {op} s32 %r %a {k:#x}"), 32, |a, _| host(minus, a, k));
            check(&format!("    {op} s32 %r {k:#x} %b"), 32, |_, b| host(minus, k, b));
        }
    }
}
