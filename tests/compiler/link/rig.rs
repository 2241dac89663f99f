//! Programs in pieces: compiled as one, or each piece alone and then linked; and what they leave in a buffer.

use nvir::compiler::{OptLevel, Options};
use nvir::image::separate::{self, LinkError, Linked, Unit};
use nvir::{Chip, Compiler, Language, Shader, Source, emu};

/// A kernel's end: stores `%r9` for the thread `%r0`.
macro_rules! store {
    ($body:literal) => {
        concat!(
            $body,
            "\n    shl u32 %r90 %r0 0x2\n    ld u32 %r91 c0[0x0 align 4]\n    add u32 %r92 %r90 %r91\n",
            "    st u32 # g[%r92+0x0 align 4] %r9\n    exit"
        )
    };
}
pub(crate) use store;

/// A function: `kernel` or `sub`, its name, parameters and results, and its blocks. `@g` in a call is the function `g`.
#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub kind: &'static str,
    pub name: &'static str,
    pub takes: &'static str,
    pub body: &'static str,
}

pub(crate) const fn kernel(body: &'static str) -> Piece {
    Piece { kind: "kernel", name: "k", takes: "()", body }
}

pub(crate) const fn sub(name: &'static str, takes: &'static str, body: &'static str) -> Piece {
    Piece { kind: "sub", name, takes, body }
}

/// The text of a file with some of all pieces; the others are declared in it, if there are any.
pub(crate) fn text(head: &str, all: &[Piece], here: &[usize]) -> String {
    let mut text = format!("program{head}\n");
    for (n, p) in all.iter().enumerate() {
        text += &match here.contains(&n) {
            true => format!("{} {}{} {{\n{}\n}}\n", p.kind, p.name, p.takes, p.body),
            false if p.kind == "kernel" => continue,
            false => format!("extern {}{}\n", p.name, p.takes),
        };
    }
    let present: Vec<&Piece> =
        all.iter().enumerate().filter(|(n, p)| here.contains(n) || p.kind != "kernel").map(|p| p.1).collect();
    for (n, p) in present.iter().enumerate() {
        text = text.replace(&format!("@{}{{", p.name), &format!("f{n}{{"));
    }
    text
}

pub(crate) fn compiler(chip: Chip, level: OptLevel) -> Compiler {
    let mut options = Options::at(level);
    options.debug.verify_each = true;
    Compiler::new(chip).with_options(options)
}

pub(crate) fn source(text: &str) -> Source<'_> {
    Source { language: Language::Ir, text, entry: None, name: "shader.ir" }
}

/// All pieces as one program.
pub(crate) fn closed(compiler: &Compiler, head: &str, all: &[Piece]) -> Shader {
    let here: Vec<usize> = (0..all.len()).collect();
    let text = text(head, all, &here);
    compiler.compile(&source(&text)).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A file of its own, through the container.
pub(crate) fn unit(compiler: &Compiler, text: &str) -> Unit {
    let unit =
        compiler.unit(&source(text), &mut Default::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let read = Unit::read(&unit.write()).expect("what was written is read");
    assert_eq!(read, unit);
    unit
}

pub(crate) fn link(units: Vec<Unit>) -> Result<Linked, LinkError> {
    let named: Vec<(String, Unit)> = units.into_iter().zip('a'..).map(|(u, c)| (c.to_string(), u)).collect();
    separate::link(&named)
}

/// Each piece in a file of its own, linked.
pub(crate) fn linked(compiler: &Compiler, head: &str, all: &[Piece]) -> Linked {
    let units = (0..all.len()).map(|n| unit(compiler, &text(head, all, &[n]))).collect();
    link(units).unwrap_or_else(|e| panic!("{e}"))
}

/// The only kernel of a file as a shader.
pub(crate) fn shader(linked: &Linked) -> Shader {
    let [k] = &linked.kernels[..] else { panic!("one kernel") };
    Shader::assembled(linked.chip, k.kernel.clone())
}

/// What so many threads leave in a buffer of as many words, whose address is the first parameter.
pub(crate) fn run(shader: &Shader, threads: u32) -> Result<Vec<u32>, Box<emu::Fault>> {
    let mut memory = emu::Memory::new();
    let out = memory.alloc(4 * u64::from(threads), 16).expect("small");
    let code = emu::Program::new(shader.chip, &shader.code);
    let mut launch = emu::Launch::new(&code);
    launch.block = [threads, 1, 1];
    launch.gprs = shader.launch_gprs();
    launch.local_bytes = shader.local_bytes;
    launch.shared_bytes = shader.shared_bytes;
    launch.set_const_u32(0, 0, out as u32);
    launch.set_const_u32(0, 4, 0);
    let mut options = emu::Options { step_limit: 1 << 22, ..Default::default() };
    emu::run(&launch, &mut memory, &mut options)?;
    let bytes = memory.read(out, 4 * u64::from(threads)).expect("mapped");
    Ok(bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().expect("a word"))).collect())
}
