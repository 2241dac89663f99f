//! Every ALU opcode of NIR, at every size that it takes, on every chip: compiled in a small kernel, run in the emulator
//! and compared with what the host's arithmetic makes of the same operands.
//!
//! `tests/data/nir/opcodes.tsv` lists the opcodes with their types. Each is tried as Mesa 22.3 prints it and as later
//! versions do, at -O0 and -O3, as a single component and as a vector. `NVIR_ALU_ROUNDS=100` tries other operands.

use nvir::Chip;
use nvir::compiler::{Compiler, OptLevel, Options, Source};
use nvir::emu;
use nvir::random::Random;
use nvir_fuzz::nir::host;
use nvir_fuzz::nir::opcodes::{Opcode, Ty, foreign, is_horizontal, opcodes, sizes};
use nvir_reference::softmath::{Want, operands::operand};
use std::fmt::Write;

/// Threads of the block; each has operands of its own.
const THREADS: usize = 64;
/// Bytes from one operand of a thread to the next.
const SLOT: usize = 128;

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
            let values: Vec<u64> = (0..comps).map(|_| operand(r, ty.base, bits)).collect();
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
            if !w.accepts(got, dest.0) {
                let lane: Vec<String> = s.iter().map(|v| format!("{v:x?}")).collect();
                return Err(format!("{}: {}: component {c} is {got:#x}, not {w:x?}", what(), lane.join(" ")));
            }
        }
    }
    Ok(())
}

fn every_opcode(chip: Chip) {
    let mut r = Random::of(0x61_6c75, 0);
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
