//! The SPIR-V front-end: what its listing says, and what it refuses. What modules compute, `spirv-fixtures` says.

use nvir::diag::Fault;
use nvir::front::spirv::{NoModule, listing};
use nvir::{Chip, CompileError, Compiler, Options, Shader, Source};
use spirv::Op;

/// A module of `spirv-fixtures`, as words.
fn module(name: &str) -> Vec<u32> {
    let path = format!("{}/spirv-fixtures/{name}.spv", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
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
fn edited(name: &str, edit: impl FnOnce(&mut Vec<Vec<u32>>)) -> Vec<u8> {
    let (mut all, mut insts) = split(&module(name));
    edit(&mut insts);
    for mut inst in insts {
        inst[0] = inst[0] & 0xffff | (inst.len() as u32) << 16;
        all.extend(inst);
    }
    bytes(&all)
}

fn is(inst: &[u32], op: Op) -> bool {
    inst[0] & 0xffff == op as u32
}

fn position(insts: &[Vec<u32>], op: Op) -> usize {
    insts.iter().position(|i| is(i, op)).unwrap_or_else(|| panic!("there is no Op{op:?}"))
}

fn inst(op: Op, operands: &[u32]) -> Vec<u32> {
    let mut words = vec![op as u32];
    words.extend(operands);
    words
}

fn compile_with(bytes: &[u8], entry: Option<&str>, options: Options) -> Result<Shader, CompileError> {
    let text = listing(bytes).expect("it has a listing");
    let source = Source::spirv(&text).with_entry(entry);
    Compiler::new(Chip::Gk110).with_options(options).compile(&source)
}

fn compile(bytes: &[u8]) -> Result<Shader, CompileError> {
    compile_with(bytes, None, Options::default())
}

/// The error says what is expected, and whose fault it is.
#[track_caller]
fn refused(bytes: &[u8], fault: Fault, said: &str) {
    let e = compile(bytes).map(|_| ()).expect_err("it is refused");
    assert!(e.to_string().contains(said), "{e}");
    assert_eq!(e.fault(), fault, "{e}");
}

#[test]
fn bytes_that_are_no_module_have_no_listing() {
    assert_eq!(listing(b""), Err(NoModule::Magic));
    assert_eq!(listing(b"COMP\n"), Err(NoModule::Magic));
    let whole = bytes(&module("cf-phi-swap"));
    assert_eq!(listing(&whole[..whole.len() - 1]), Err(NoModule::Bytes));
}

#[test]
fn a_listing_is_the_same_for_both_orders_of_bytes() {
    let words = module("cf-phi-swap");
    let big: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
    let little = listing(&bytes(&words)).unwrap();
    assert_eq!(listing(&big).unwrap(), little);
    assert!(little.starts_with("; SPIR-V 1."), "{little}");
    assert!(little.contains("OpCapability Shader ; 00020011 00000001\n"), "{little}");
}

#[test]
fn what_is_no_listing_is_refused_with_its_line() {
    for (text, said) in [
        ("", "five words"),
        ("hello\n", "no line of a SPIR-V listing"),
        ("; ; 07230203 00010000\n", "five words"),
        ("; ; 07230203 00090000 0 8 0\n", "none of 1.0 to 1.6"),
        ("; ; 07230203 00010000 0 8 1\n", "schema"),
        ("; ; 07230203 00010000 0 0 0\n", "bound"),
        ("; ; 07230203 00010000 0 8 0\n; 0\n", "has no words"),
        ("; ; 07230203 00010000 0 8 0\n; 00030011 1\n", "ends before"),
        ("; ; 07230203 00010000 0 8 0\n; 00010011\n", "too few operands"),
        ("; ; 07230203 00010000 0 8 0\n; 00030011 1 1\n", "too many operands"),
        ("; ; 07230203 00010000 0 8 0\n; 0002ffff 1\n", "no opcode 65535"),
        ("; ; 07230203 00010000 0 8 0\n; 00020013 9\n", "not below the bound"),
        ("; ; 07230203 00010000 0 8 0\n; 00020013 1\n; 00020014 1\n", "defined twice"),
        ("; ; 07230203 00010000 0 8 0\n; 00020011 1\n", "there is no entry point"),
    ] {
        let e = Compiler::new(Chip::Gk110).compile(&Source::spirv(text)).map(|_| ()).unwrap_err();
        assert!(e.to_string().contains(said), "{text:?}: {e}");
        assert_eq!(e.fault(), Fault::Input, "{text:?}");
    }
}

#[test]
fn capabilities_that_are_not_there_are_told_at_once() {
    let e = compile(&bytes(&module("unsupported-many"))).map(|_| ()).unwrap_err();
    for name in ["RayQueryKHR", "MeshShadingNV", "CooperativeMatrixNV"] {
        assert!(e.to_string().contains(name), "{e}");
    }
    assert_eq!((e.diagnostics().list.len(), e.fault()), (1, Fault::Unsupported));
}

#[test]
fn an_entry_point_is_found_by_its_name() {
    let data = bytes(&module("multi-entry"));
    let text = listing(&data).unwrap();
    let names = Compiler::new(Chip::Gk110).kernels(&Source::spirv(&text)).unwrap();
    assert!(names.len() > 1, "{names:?}");
    let e = compile_with(&data, Some("nobody"), Options::default()).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("no entry point `nobody`"), "{e}");
    assert!(names.iter().all(|n| e.to_string().contains(n.as_str())), "{e}");
}

#[test]
fn ids_are_defined_and_used_where_they_are_known() {
    // An instruction reads what is not defined, what comes later, and its own result.
    let add = |change: fn(&mut Vec<u32>)| {
        edited("cf-phi-swap", |insts| {
            let n = position(insts, Op::IAdd);
            change(&mut insts[n]);
        })
    };
    refused(&add(|i| i[3] = 4000), Fault::Input, "%4000 is not defined");
    let late = edited("cf-phi-swap", |insts| {
        let n = position(insts, Op::IAdd);
        let result = insts[n][2];
        let ty = insts[n][1];
        insts.insert(n, inst(Op::ISub, &[ty, 4001, result, result]));
    });
    refused(&raised(late), Fault::Input, "is not defined on every way here");
}

/// The same with room for more ids.
fn raised(mut data: Vec<u8>) -> Vec<u8> {
    data[12..16].copy_from_slice(&8192u32.to_le_bytes());
    data
}

#[test]
fn an_error_shows_the_instruction() {
    let data = edited("cf-phi-swap", |insts| {
        let n = position(insts, Op::IAdd);
        insts[n][0] = Op::FAdd as u32;
    });
    refused(&data, Fault::Input, "= OpFAdd %");
}

#[test]
fn phis_have_a_value_from_each_predecessor() {
    let without = edited("cf-phi-swap", |insts| {
        let n = position(insts, Op::Phi);
        insts[n].truncate(5);
    });
    refused(&without, Fault::Input, "the phi has no value from");
    let twice = edited("cf-phi-swap", |insts| {
        let n = position(insts, Op::Phi);
        insts[n][6] = insts[n][4];
    });
    refused(&twice, Fault::Input, "the phi has two values from");
}

#[test]
fn branches_stay_in_their_function() {
    let to_entry = edited("cf-phi-swap", |insts| {
        let entry = insts[position(insts, Op::Label)][1];
        let n = position(insts, Op::Branch);
        insts[n][1] = entry;
    });
    refused(&to_entry, Fault::Input, "nothing may go to the first block");
    let nowhere = edited("cf-phi-swap", |insts| {
        let void = insts[position(insts, Op::TypeVoid)][1];
        let n = position(insts, Op::Branch);
        insts[n][1] = void;
    });
    refused(&nowhere, Fault::Input, "is no block of the function");
}

#[test]
fn functions_are_whole() {
    let endless = edited("cf-phi-swap", |insts| drop(insts.pop()));
    refused(&endless, Fault::Input, "the last function has no end");
    let unfinished = edited("cf-phi-swap", |insts| {
        let n = position(insts, Op::Return);
        insts.remove(n);
    });
    refused(&unfinished, Fault::Input, "has no end");
}

#[test]
fn a_function_that_calls_itself_is_refused() {
    let data = edited("cf-phi-swap", |insts| {
        let function = insts[position(insts, Op::Function)].clone();
        let n = position(insts, Op::Return);
        insts.insert(n, inst(Op::FunctionCall, &[function[1], 4001, function[2]]));
    });
    refused(&raised(data), Fault::Unsupported, "calls itself");
}

#[test]
fn types_that_are_too_large_are_refused() {
    let data = edited("cf-phi-swap", |insts| {
        let int = insts[position(insts, Op::TypeInt)][1];
        let n = position(insts, Op::Function);
        insts.insert(n, inst(Op::Constant, &[int, 4000, u32::MAX]));
        insts.insert(n + 1, inst(Op::TypeArray, &[4001, int, 4000]));
    });
    refused(&raised(data), Fault::Input, "larger than 4 GiB");
}

#[test]
fn a_store_to_an_input_is_refused() {
    let data = edited("cf-phi-swap", |insts| {
        let load = insts.iter().find(|i| is(i, Op::Load)).expect("it reads its index").clone();
        let n = position(insts, Op::Return);
        insts.insert(n, inst(Op::Store, &[load[3], load[2]]));
    });
    refused(&data, Fault::Input, "a store to an input");
}

#[test]
fn specialisation_constants_size_the_block() {
    let data = bytes(&module("spec-workgroup-size"));
    let options = |x| Options { spec_constants: [(0, x)].into(), ..Options::default() };
    let size = |x| compile_with(&data, None, options(x)).unwrap().block_size.unwrap();
    assert_eq!((size(64)[0], size(8)[0]), (64, 8));
    let e = compile_with(&data, None, options(0)).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("at least 1"), "{e}");
    let e = compile_with(&data, None, options(1 << 20)).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("block"), "{e}");
}
