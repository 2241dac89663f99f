//! Every ALU opcode of NIR, at every size that it takes, on every chip: compiled in a small kernel, run in the emulator
//! and compared with what the host's arithmetic makes of the same operands.
//!
//! `tests/data/nir/opcodes.tsv` lists the opcodes with their types. Each is tried as Mesa 22.3 prints it and as later
//! versions do, at -O0 and -O3, as a single component and as a vector. `NVIR_ALU_ROUNDS=100` tries other operands.

mod host;

use host::{Want, mask};
use nvir::Chip;
use nvir::compiler::{Compiler, OptLevel, Options, Source};
use nvir::emu;
use std::fmt::Write;

/// Threads of the block; each has operands of its own.
const THREADS: usize = 64;
/// Bytes from one operand of a thread to the next.
const SLOT: usize = 128;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Ty {
    base: char,
    bits: u32,
    comps: usize,
}

#[derive(Clone, Debug)]
struct Opcode {
    name: String,
    dest: Ty,
    srcs: Vec<Ty>,
}

fn types(signature: &str) -> Vec<Ty> {
    let mut list: Vec<Ty> = Vec::new();
    let mut comps = false;
    for c in signature.chars() {
        match (c, list.last_mut()) {
            ('x', _) => comps = true,
            (c, Some(ty)) if c.is_ascii_digit() => {
                let digit = c as u32 - '0' as u32;
                if comps {
                    ty.comps = ty.comps * 10 + digit as usize;
                } else {
                    ty.bits = ty.bits * 10 + digit;
                }
            }
            (base, _) => {
                comps = false;
                list.push(Ty { base, bits: 0, comps: 0 });
            }
        }
    }
    list
}

fn opcodes() -> Vec<Opcode> {
    include_str!("../data/nir/opcodes.tsv")
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|line| {
            let mut cells = line.split('\t');
            let mut cell = || cells.next().unwrap_or_else(|| panic!("three cells: {line}"));
            let (name, dest, srcs) = (cell().to_string(), types(cell())[0], types(cell()));
            Opcode { name, dest, srcs }
        })
        .collect()
}

/// Hardware of other vendors, and derivatives, which a compute shader has no quads for.
fn foreign(name: &str) -> bool {
    ["_amd", "_ir3", "_vc4", "_agx", "_r600", "_mix16"].iter().any(|s| name.ends_with(s))
        || name.starts_with("fdd")
}

/// Opcodes that work on whole vectors, or on one component in that notation.
fn is_horizontal(op: &Opcode) -> bool {
    op.dest.comps != 0 || op.srcs.iter().any(|t| t.comps != 0)
}

/// The bits that operands of open size may have.
fn sizes(op: &Opcode) -> Vec<u32> {
    let open = op.srcs.iter().chain([&op.dest]).find(|t| t.bits == 0);
    let Some(ty) = open else { return vec![0] };
    let name = op.name.as_str();
    let of_bits = [
        "mov", "inot", "iand", "ior", "ixor", "iadd", "isub", "imul", "imin", "imax", "umin", "umax", "ineg",
    ];
    let any_width = of_bits.contains(&name)
        || ["vec", "i2", "u2"].iter().any(|p| name.starts_with(p))
        || ["csel", "ieq", "ine", "ilt", "ige", "ult", "uge", "all_i", "any_i"]
            .iter()
            .any(|p| name.contains(p));
    match ty.base {
        'f' => vec![16, 32, 64],
        'b' => vec![1, 8, 16, 32],
        _ if name == "sad_u8x4" => vec![32],
        _ if name.contains("_u16") || name.contains("_i16") => vec![16, 32, 64],
        _ if any_width && !name.starts_with("icsel") => vec![1, 8, 16, 32, 64],
        _ => vec![8, 16, 32, 64],
    }
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 33) % n
    }

    fn operand(&mut self, base: char, bits: u32) -> u64 {
        match base {
            'b' => {
                if self.below(2) == 0 {
                    0
                } else {
                    mask(bits)
                }
            }
            'f' => self.float(bits),
            _ => self.integer(bits),
        }
    }

    fn integer(&mut self, bits: u32) -> u64 {
        let top = 1 << (bits - 1);
        let special = [
            0,
            1,
            2,
            3,
            u64::MAX,
            u64::MAX - 1,
            top,
            top - 1,
            top + 1,
            0x5555_5555_5555_5555,
            0x80,
            0x7f,
            0x8000,
        ];
        let x = match self.below(8) {
            0..=1 => special[self.below(special.len() as u64) as usize],
            2..=3 => self.below(66),
            4 => self.next() >> (self.below(64)),
            _ => self.next(),
        };
        x & mask(bits)
    }

    fn float(&mut self, bits: u32) -> u64 {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            -3.75,
            0.1,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            65504.0,
            1.0e-5,
            6.1e-5,
            f32::MAX.into(),
            f32::MIN_POSITIVE.into(),
            1e-40,
            2.5,
            3.5,
            -0.5,
            16777216.0,
            4294967296.0,
            0.499_999_97,
        ];
        match self.below(8) {
            0..=1 => host::round(special[self.below(special.len() as u64) as usize], bits),
            2 => self.next() & mask(bits),
            _ => {
                let sign = if self.below(2) == 0 { -1.0 } else { 1.0 };
                let x = (1.0 + self.below(1 << 30) as f64 / (1u64 << 30) as f64)
                    * 2f64.powi(self.below(24) as i32 - 12);
                host::round(sign * x, bits)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    Old,
    New,
}

/// Lines of a text in either form.
struct Text {
    form: Form,
    lines: String,
    next: u32,
}

impl Text {
    fn name(&self, v: u32) -> String {
        match self.form {
            Form::Old => format!("ssa_{v}"),
            Form::New => format!("%{v}"),
        }
    }

    fn def(&mut self, bits: u32, comps: usize, what: &str) -> u32 {
        let v = self.next;
        self.next += 1;
        let name = self.name(v);
        match self.form {
            Form::Old => writeln!(self.lines, "\tvec{comps} {bits} {name} = {what}"),
            Form::New if comps == 1 => writeln!(self.lines, "    {bits} {name} = {what}"),
            Form::New => writeln!(self.lines, "    {bits}x{comps} {name} = {what}"),
        }
        .expect("a string");
        v
    }

    fn intrinsic(&self, what: &str) -> String {
        match self.form {
            Form::Old => format!("intrinsic {what}"),
            Form::New => format!("@{what}"),
        }
    }

    fn constant(&mut self, bits: u32, value: u64) -> u32 {
        self.def(bits, 1, &format!("load_const (0x{value:x})"))
    }
}

fn letters(comps: usize) -> &'static str {
    if comps <= 4 { &"xyzw"[..comps] } else { &"abcdefghijklmnop"[..comps] }
}

/// The kernel: operands from the buffer at input 0, each in its slot, the result to the buffer at input 8.
fn kernel(op: &Opcode, form: Form, shapes: &[(u32, usize)], dest: (u32, usize)) -> String {
    let mut t = Text { form, lines: String::new(), next: 0 };
    let zero = t.constant(32, 0);
    let z = t.name(zero);
    let input =
        t.intrinsic(&format!("load_kernel_input ({z}) (base=0, range=8, align_mul=8, align_offset=0)"));
    let input = t.def(64, 1, &input);
    let output =
        t.intrinsic(&format!("load_kernel_input ({z}) (base=8, range=8, align_mul=8, align_offset=0)"));
    let output = t.def(64, 1, &output);
    let thread = match form {
        Form::Old => "intrinsic load_local_invocation_id () ()".to_string(),
        Form::New => "@load_local_invocation_id".to_string(),
    };
    let thread = t.def(32, 3, &thread);
    let thread = format!("u2u64 {}.x", t.name(thread));
    let thread = t.def(64, 1, &thread);
    let at = |t: &mut Text, base: u32, stride: usize, plus: usize| {
        let stride = t.constant(64, stride as u64);
        let offset = format!("imul {}, {}", t.name(thread), t.name(stride));
        let offset = t.def(64, 1, &offset);
        let sum = format!("iadd {}, {}", t.name(base), t.name(offset));
        let sum = t.def(64, 1, &sum);
        let plus = t.constant(64, plus as u64);
        let sum = format!("iadd {}, {}", t.name(sum), t.name(plus));
        t.def(64, 1, &sum)
    };
    let mut names = Vec::new();
    for (k, &(bits, comps)) in shapes.iter().enumerate() {
        let address = at(&mut t, input, SLOT * shapes.len(), SLOT * k);
        let memory = bits.max(8);
        let access = if form == Form::Old { "0" } else { "none" };
        let load = t.intrinsic(&format!(
            "load_global ({}) (access={access}, align_mul=16, align_offset=0)",
            t.name(address)
        ));
        let mut v = t.def(memory, comps, &load);
        if bits == 1 {
            let no = t.constant(8, 0);
            let test = format!("ine {}, {}.{}", t.name(v), t.name(no), "x".repeat(comps));
            v = t.def(1, comps, &test);
        }
        names.push(t.name(v));
    }
    let mut result = t.def(dest.0, dest.1, &format!("{} {}", op.name, names.join(", ")));
    let mut bits = dest.0;
    if bits == 1 {
        let number = format!("b2i32 {}", t.name(result));
        result = t.def(32, dest.1, &number);
        bits = 32;
    }
    let address = at(&mut t, output, SLOT, 0);
    let align = bits / 8;
    let store = t.intrinsic(&format!(
        "store_global ({}, {}) (wrmask={}, access={}, align_mul={align}, align_offset=0)",
        t.name(result),
        t.name(address),
        letters(dest.1),
        if form == Form::Old { "0" } else { "none" },
    ));
    match form {
        Form::Old => format!(
            "shader: MESA_SHADER_KERNEL\nworkgroup-size: {THREADS}, 1, 1\ndecl_function main (0 params)\n\nimpl main {{\n\
             \tblock block_0:\n\t/* preds: */\n{}\t{store}\n\t/* succs: block_1 */\n\tblock block_1:\n}}\n",
            t.lines
        ),
        Form::New => format!(
            "shader: MESA_SHADER_KERNEL\nworkgroup_size: {THREADS}, 1, 1\ndecl_function main () (entrypoint)\n\nimpl main {{\n\
             \x20   block b0:  // preds:\n{}    {store}\n    // succs: b1\n    block b1:\n}}\n",
            t.lines
        ),
    }
}

fn compiled(text: &str, chip: Chip, level: OptLevel) -> Result<nvir::image::Shader, String> {
    let compiler = Compiler::new(chip).with_options(Options::at(level));
    compiler.compile(&Source::nir(text)).map_err(|e| e.to_string())
}

fn run(image: &nvir::image::Shader, chip: Chip, input: &[u8]) -> Result<Vec<u8>, String> {
    let code = emu::Program::new(chip, &image.code);
    let mut memory = emu::Memory::new();
    let mut launch = emu::Launch::new(&code);
    launch.block = [THREADS as u32, 1, 1];
    (launch.gprs, launch.local_bytes) = (image.gprs.max(1), image.local_bytes);
    let from = memory.alloc(input.len() as u64, 256).map_err(|e| e.to_string())?;
    let to = memory.alloc((THREADS * SLOT) as u64, 256).map_err(|e| e.to_string())?;
    memory.write(from, input).map_err(|e| e.to_string())?;
    launch.set_const(0, 0, &from.to_le_bytes());
    launch.set_const(0, 8, &to.to_le_bytes());
    emu::run(&launch, &mut memory, &mut emu::Options::default()).map_err(|f| f.to_string())?;
    memory.read(to, (THREADS * SLOT) as u64).map_err(|e| e.to_string())
}

fn read(bytes: &[u8], size: usize, i: usize) -> u64 {
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[i * size..(i + 1) * size]);
    u64::from_le_bytes(word)
}

fn agrees(want: Want, got: u64, bits: u32) -> bool {
    match want {
        Want::Any => true,
        Want::Bits(w) => got == w,
        Want::Float(x, ulp, abs) => {
            let (near, g) = (host::round(x, bits), host::value(got, bits));
            let w = host::value(near, bits);
            if w.is_nan() {
                return g.is_nan();
            }
            if got == near {
                return true;
            }
            if ulp == 0.0 && abs == 0.0 || g.is_nan() {
                return false;
            }
            if w.is_infinite() || g.is_infinite() {
                // Just beyond the largest number.
                return ulp > 0.0 && host::round(x * 0.999, bits) != near && g.signum() == w.signum();
            }
            let unit = (host::value(near + 1, bits) - w)
                .abs()
                .min((w - host::value(near.wrapping_sub(1), bits)).abs());
            let unit = if unit.is_finite() { unit } else { 0.0 };
            (g - w).abs() <= (ulp * unit).max(abs) + unit * f64::from(u8::from(ulp > 0.0)) * 0.5
        }
    }
}

/// Tries an opcode at one size; what is wrong with it.
fn check(
    op: &Opcode,
    bits: u32,
    comps: usize,
    form: Form,
    chip: Chip,
    level: OptLevel,
    r: &mut Random,
) -> Result<(), String> {
    let concrete = |t: &Ty| {
        let bits = if t.bits == 0 { bits } else { t.bits };
        (bits, if t.comps == 0 { comps } else { t.comps })
    };
    let shapes: Vec<(u32, usize)> = op.srcs.iter().map(concrete).collect();
    let dest = concrete(&op.dest);
    let what = || format!("{} of {bits} bits, {comps} components, {form:?}, {chip} -O{level}", op.name);
    let mut input = vec![0; THREADS * SLOT * shapes.len()];
    let mut operands: Vec<Vec<Vec<u64>>> = Vec::new();
    for thread in 0..THREADS {
        let mut of_thread = Vec::new();
        for (k, (&(bits, comps), ty)) in shapes.iter().zip(&op.srcs).enumerate() {
            let values: Vec<u64> = (0..comps).map(|_| r.operand(ty.base, bits)).collect();
            let size = bits.max(8) as usize / 8;
            let start = (thread * shapes.len() + k) * SLOT;
            for (i, v) in values.iter().enumerate() {
                input[start + i * size..start + (i + 1) * size].copy_from_slice(&v.to_le_bytes()[..size]);
            }
            of_thread.push(values);
        }
        operands.push(of_thread);
    }
    let text = kernel(op, form, &shapes, dest);
    let image = compiled(&text, chip, level).map_err(|e| format!("{}: {e}\n{text}", what()))?;
    let out = run(&image, chip, &input).map_err(|e| format!("{}: {e}\n{text}", what()))?;
    let sbits: Vec<u32> = shapes.iter().map(|s| s.0).collect();
    for (thread, s) in operands.iter().enumerate() {
        let want: Option<Vec<Want>> = if is_horizontal(op) {
            host::horizontal(&op.name, dest.0, dest.1, &sbits, s)
        } else {
            (0..dest.1)
                .map(|c| {
                    let lane: Vec<u64> = s.iter().map(|v| v[c]).collect();
                    host::component(&op.name, dest.0, &sbits, &lane)
                })
                .collect()
        };
        let want = want.ok_or_else(|| format!("{}: the host does not know it", what()))?;
        let size = if dest.0 == 1 { 4 } else { dest.0 as usize / 8 };
        for (c, &w) in want.iter().enumerate() {
            let got = read(&out[thread * SLOT..], size, c);
            if !agrees(w, got, dest.0) {
                let lane: Vec<String> = s.iter().map(|v| format!("{v:x?}")).collect();
                return Err(format!("{}: {}: component {c} is {got:#x}, not {w:x?}", what(), lane.join(" ")));
            }
        }
    }
    Ok(())
}

fn every_opcode(chip: Chip) {
    let mut r = Random(0x9e37_79b9_7f4a_7c15);
    let mut wrong = Vec::new();
    let mut tried = 0;
    let rounds = std::env::var("NVIR_ALU_ROUNDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let opcodes = opcodes();
    for (n, op) in (0..rounds).flat_map(|_| opcodes.iter().enumerate()) {
        if foreign(&op.name) {
            continue;
        }
        for (m, &bits) in sizes(op).iter().enumerate() {
            let width = if op.name.ends_with("_replicated") { 4 } else { [2, 3, 4, 8, 16, 5][(n + m) % 6] };
            let tries: &[(usize, Form, OptLevel)] = match op.dest.comps {
                0 => &[
                    (1, Form::Old, OptLevel::O0),
                    (width, Form::Old, OptLevel::O3),
                    (width, Form::New, OptLevel::O0),
                    (1, Form::New, OptLevel::O3),
                ],
                _ => &[(1, Form::Old, OptLevel::O0), (1, Form::New, OptLevel::O3)],
            };
            for &(comps, form, level) in tries {
                tried += 1;
                if let Err(e) = check(op, bits, comps, form, chip, level, &mut r) {
                    wrong.push(e);
                    break;
                }
            }
        }
    }
    assert!(tried > 2000, "only {tried}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_opcode_computes_what_it_says_on_gf100() {
    every_opcode(Chip::Gf100);
}

#[test]
fn every_opcode_computes_what_it_says_on_gk104() {
    every_opcode(Chip::Gk104);
}

#[test]
fn every_opcode_computes_what_it_says_on_gk110() {
    every_opcode(Chip::Gk110);
}

#[test]
fn opcodes_of_other_hardware_are_refused_by_name() {
    let mut count = 0;
    for op in opcodes().iter().filter(|op| foreign(&op.name)) {
        let concrete = |t: &Ty| (if t.bits == 0 { 32 } else { t.bits }, t.comps.max(1));
        let shapes: Vec<(u32, usize)> = op.srcs.iter().map(concrete).collect();
        let text = kernel(op, Form::New, &shapes, concrete(&op.dest));
        let e = compiled(&text, Chip::Gk110, OptLevel::O3).expect_err(&op.name);
        assert!(e.contains(&format!("`{}`", op.name)), "{}: {e}", op.name);
        count += 1;
    }
    assert!(count > 15, "only {count}");
}
