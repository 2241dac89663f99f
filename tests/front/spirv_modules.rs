//! Modules of `spirv-fixtures`, what can be changed in them, and what becomes of that.

use nvir::compiler::Module;
use nvir::diag::Fault;
use nvir::front::spirv::listing;
use nvir::{Chip, CompileError, Compiler, Options, Shader, Source};
use spirv::Op;

/// A module of `spirv-fixtures`, as words.
pub(crate) fn module(name: &str) -> Vec<u32> {
    let path = format!("{}/spirv-fixtures/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
}

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A module's header and its instructions.
fn split(words: &[u32]) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut insts = Vec::new();
    let mut at = 5;
    while at < words.len() {
        let count = (words[at] >> 16) as usize;
        insts.push(words[at..at + count].to_vec());
        at += count;
    }
    (words[..5].to_vec(), insts)
}

/// A module whose instructions were changed; how many words each has is found again.
pub(crate) fn edited(name: &str, edit: impl FnOnce(&mut Vec<Vec<u32>>)) -> Vec<u8> {
    let (mut all, mut insts) = split(&module(name));
    edit(&mut insts);
    for mut inst in insts {
        inst[0] = inst[0] & 0xffff | (inst.len() as u32) << 16;
        all.extend(inst);
    }
    bytes(&all)
}

pub(crate) fn is(inst: &[u32], op: Op) -> bool {
    inst[0] & 0xffff == op as u32
}

pub(crate) fn position(insts: &[Vec<u32>], op: Op) -> usize {
    insts.iter().position(|i| is(i, op)).unwrap_or_else(|| panic!("there is no Op{op:?}"))
}

pub(crate) fn inst(op: Op, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![op as u32];
    words.extend(operands);
    words
}

pub(crate) fn compile_with(
    bytes: &[u8],
    entry: Option<&str>,
    options: Options,
) -> Result<Shader, CompileError> {
    let text = listing(bytes).expect("it has a listing");
    let source = Source::spirv(&text).with_entry(entry);
    let compiler = Compiler::new(Chip::Gk110).with_options(options);
    let made = compiler.compile(&source);
    same_by_words(&compiler, bytes, entry, &made);
    made
}

/// The module itself compiles to the same shader as its listing, or fails with the same words and places.
fn same_by_words(
    compiler: &Compiler,
    bytes: &[u8],
    entry: Option<&str>,
    by_text: &Result<Shader, CompileError>,
) {
    let module = Module::new(bytes).expect("it has words").with_entry(entry);
    match (by_text, compiler.compile(&module)) {
        (Ok(a), Ok(b)) => {
            assert_eq!(a.code, b.code);
            assert_eq!(a.made, b.made);
            let listed: Vec<_> = b.lines.iter().map(|&(pc, loc)| (pc, module.listed(loc))).collect();
            assert_eq!(a.lines, listed);
        }
        (Err(a), Err(b)) => {
            assert_eq!(a.to_string(), b.to_string());
            assert_eq!(*a, b);
        }
        (a, b) => panic!("by its listing {a:?}, by its words {b:?}"),
    }
}

pub(crate) fn compile(bytes: &[u8]) -> Result<Shader, CompileError> {
    compile_with(bytes, None, Options::default())
}

/// The error says what is expected, and whose fault it is.
#[track_caller]
pub(crate) fn refused(bytes: &[u8], fault: Fault, said: &str) {
    let e = compile(bytes).map(|_| ()).expect_err("it is refused");
    assert!(e.to_string().contains(said), "{e}");
    assert_eq!(e.fault(), fault, "{e}");
}

/// The same with room for more ids.
pub(crate) fn raised(mut data: Vec<u8>) -> Vec<u8> {
    data[12..16].copy_from_slice(&8192u32.to_le_bytes());
    data
}
