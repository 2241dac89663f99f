//! The SPIR-V front-end: what its listing says, and what it refuses. What modules compute, `spirv-fixtures` says.

use crate::spirv_modules::{
    bytes, compile, compile_with, edited, inst, is, module, position, raised, refused,
};
use nvir::compiler::Module;
use nvir::diag::Fault;
use nvir::front::spirv::{NoModule, listing};
use nvir::{Chip, Compiler, Observer, OptLevel, Options, Source};
use spirv::{Decoration, Op};

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
fn a_listing_says_the_lines_of_both_kinds_of_debug_information() {
    let text = |s: &str| {
        let mut bytes = s.as_bytes().to_vec();
        bytes.resize(s.len() / 4 * 4 + 4, 0);
        bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect::<Vec<u32>>()
    };
    let named = |op, id, s: &str| inst(op, &[&[id], &text(s)[..]].concat());
    let debug = |result, number, rest: &[u32]| inst(Op::ExtInst, &[&[3, result, 1, number], rest].concat());
    let insts = vec![
        named(Op::ExtInstImport, 1, "NonSemantic.Shader.DebugInfo.100"),
        named(Op::String, 2, "köln.comp"),
        inst(Op::TypeVoid, &[3]),
        inst(Op::TypeInt, &[4, 32, 0]),
        inst(Op::Constant, &[4, 5, 17]),
        debug(6, 35, &[2]),
        inst(Op::Undef, &[4, 7]),
        debug(8, 103, &[6, 5, 5, 5, 5]),
        inst(Op::Undef, &[4, 9]),
        debug(10, 104, &[]),
        inst(Op::Undef, &[4, 11]),
        inst(Op::Line, &[2, 18, 1]),
        inst(Op::Undef, &[4, 12]),
        // Its line is no constant.
        debug(13, 103, &[6, 4, 5, 5, 5]),
        inst(Op::Undef, &[4, 14]),
    ];
    let said = listing(&edited("cf-phi-swap", |all| *all = insts)).unwrap();
    let of = |id: u32| said.lines().find(|l| l.starts_with(&format!("%{id} = OpUndef"))).unwrap().to_string();
    assert!(!of(7).contains("comp"), "{said}");
    assert!(of(9).contains("; köln.comp:17 ;"), "{said}");
    assert!(!of(11).contains("comp"), "{said}");
    assert!(of(12).contains("; köln.comp:18 ;"), "{said}");
    assert!(of(14).contains("; köln.comp:18 ;"), "{said}");
}

#[test]
fn images_of_kernels_are_kept_in_variables_that_are_stored_to_once() {
    let twice = edited("kernel-images", |insts| {
        let n = position(insts, Op::Store);
        let again = insts[n].clone();
        insts.insert(n + 1, again);
    });
    refused(&twice, Fault::Unsupported, "a second store to");
}

#[test]
fn vectors_in_private_arrays_need_no_memory_where_their_offsets_are_known() {
    let data = bytes(&module("kernel-private-vectors"));
    let local = |entry| compile_with(&data, Some(entry), Options::at(OptLevel::O0)).unwrap().local_bytes;
    assert_eq!(local("known"), 0);
    assert_ne!(local("computed"), 0);
    // A vector that ends behind the array is not taken for one of its elements.
    let beyond = edited("kernel-private-vectors", |insts| {
        let n = insts.iter().position(|i| is(i, Op::ExtInst) && i[4] == 171).unwrap();
        // The ninth pair.
        let nine = insts.iter().find(|i| is(i, Op::Constant) && i[3] == 9).unwrap()[2];
        insts[n][5] = nine;
    });
    assert_ne!(compile_with(&beyond, Some("known"), Options::at(OptLevel::O0)).unwrap().local_bytes, 0);
}

#[test]
fn a_constant_array_that_is_indexed_is_stored_two_words_at_a_time() {
    let shader =
        compile_with(&bytes(&module("gl.const_table_dyn.V")), None, Options::at(OptLevel::O0)).unwrap();
    let insts = (0..).zip(&shader.code).filter_map(|(n, &word)| nvir::isa::decode(Chip::Gk110, word, 8 * n));
    let code: Vec<String> = insts.map(|inst| nvir::isa::text::print(Chip::Gk110, &inst)).collect();
    let count = |what: &str| code.iter().filter(|line| line.starts_with(what)).count();
    // 64 numbers, and nine vectors of three words in four; and one variable that is stored to.
    assert_eq!((count("STL.64 "), count("STL [")), (32 + 9 + 1, 9 + 1), "{}", code.join("\n"));
}

#[test]
fn a_number_is_not_stored_to_a_table() {
    let other = edited("gl.const_table_dyn.V", |insts| {
        let number = insts.iter().find(|i| is(i, Op::Constant)).unwrap()[2];
        let composites: Vec<u32> =
            insts.iter().filter(|i| is(i, Op::ConstantComposite)).map(|i| i[2]).collect();
        let store = insts.iter_mut().find(|i| is(i, Op::Store) && composites.contains(&i[2])).unwrap();
        store[2] = number;
    });
    refused(&other, Fault::Input, "the object has another type than what the pointer leads to");
}

#[test]
fn integer_functions_have_operands_of_their_kind() {
    // There are nine of the least, the greatest and the middle one of three.
    let number = edited("integer-functions", |insts| {
        let set = insts.iter().rfind(|i| is(i, Op::ExtInstImport)).unwrap()[1];
        let n = insts.iter().position(|i| is(i, Op::ExtInst) && i[3] == set).unwrap();
        insts[n][4] = 10;
    });
    refused(&number, Fault::Input, "there is no such instruction in the set");
    let float = edited("integer-functions", |insts| {
        let set = insts.iter().rfind(|i| is(i, Op::ExtInstImport)).unwrap()[1];
        let n = insts.iter().position(|i| is(i, Op::ExtInst) && i[3] == set).unwrap();
        // The least of unsigned integers becomes that of floats.
        insts[n][4] = 1;
    });
    refused(&float, Fault::Input, "an operand is a uint32");
    let two = edited("integer-functions", |insts| {
        let n = position(insts, Op::UCountLeadingZerosINTEL);
        let operand = insts[n][3];
        insts[n].push(operand);
        insts[n][0] += 1 << 16;
    });
    refused(&two, Fault::Input, "operands");
    let wide = edited("int64-float64", |insts| {
        let n = position(insts, Op::IMul);
        insts[n] = inst(Op::IMul32x16INTEL, &insts[n][1..]);
    });
    refused(&wide, Fault::Input, "the operands are not of 32 bits each");
}

#[test]
fn what_openclstd_has_beyond_mathematics_is_refused_by_name() {
    // Number 184 is printf; none has the number 5000.
    for (number, fault, said) in
        [(184, Fault::Unsupported, "printf is not supported"), (5000, Fault::Input, "no such instruction")]
    {
        let other = edited("opencl-math-32", |insts| {
            let n = position(insts, Op::ExtInst);
            insts[n][4] = number;
        });
        refused(&other, fault, said);
    }
}

#[test]
fn what_is_no_listing_is_refused_with_its_line() {
    for (text, said) in [
        ("", "five words"),
        ("hello\n", "not a line of a SPIR-V listing"),
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

/// What is broken before there are instructions has its place, too.
#[test]
fn words_that_are_no_module_are_refused_as_their_listing_is() {
    let whole = module("cf-phi-swap");
    let with = |at: usize, word: u32| {
        let mut words = whole.clone();
        words[at] = word;
        words
    };
    for words in
        [whole[..3].to_vec(), whole[..1].to_vec(), whole[..whole.len() - 1].to_vec(), with(1, 0x0002_0000)]
            .into_iter()
            .chain([with(3, 0), with(4, 1), with(5, 0), with(5, 0xffff_0011), with(5, 0x0002_ffff)])
    {
        assert!(compile(&bytes(&words)).is_err(), "{words:x?}");
    }
}

#[test]
fn observers_see_the_lines_of_the_listing_of_a_module() {
    let data = bytes(&module("gl.array_of_structs.V"));
    let text = listing(&data).unwrap();
    let compiler = Compiler::new(Chip::Gk110);
    let (mut by_text, mut by_words) = (Observer::with_remarks(), Observer::with_remarks());
    compiler.observed(&Source::spirv(&text), &mut by_text).unwrap();
    let module = Module::new(&data).unwrap();
    assert_eq!(module.text(), text);
    compiler.observed(&module, &mut by_words).unwrap();
    assert!(by_text.remarks.as_ref().is_some_and(|r| !r.is_empty()));
    assert_eq!(by_text.remarks, by_words.remarks);
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
    refused(&nowhere, Fault::Input, "is not a block of the function");
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
fn structures_of_nothing_are_not_walked_through() {
    let data = edited("cf-phi-swap", |insts| {
        let private = spirv::StorageClass::Private as u32;
        let mut all = vec![inst(Op::TypeStruct, &[4000])];
        all.extend((4001..4040).map(|id| inst(Op::TypeStruct, &[id, id - 1, id - 1])));
        all.push(inst(Op::ConstantNull, &[4039, 4100]));
        all.push(inst(Op::TypePointer, &[4101, private, 4039]));
        all.push(inst(Op::Variable, &[4101, 4102, private, 4100]));
        let at = declared(insts);
        insts.splice(at..at, all);
    });
    refused(&raised(data), Fault::Unsupported, "values of more than 4096 scalars");
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

/// The instruction before which declarations end.
fn declared(insts: &[Vec<u32>]) -> usize {
    position(insts, Op::Function)
}

#[test]
fn entry_points_have_names_of_their_own_and_list_variables() {
    let twice = edited("cf-phi-swap", |insts| {
        let n = position(insts, Op::EntryPoint);
        insts.insert(n, insts[n].clone());
    });
    refused(&twice, Fault::Input, "two entry points `main`");
    let other = edited("cf-phi-swap", |insts| {
        let void = insts[position(insts, Op::TypeVoid)][1];
        let n = position(insts, Op::EntryPoint);
        *insts[n].last_mut().expect("it lists a variable") = void;
    });
    refused(&other, Fault::Input, "which is not a variable");
}

#[test]
fn what_lies_in_buffers_says_where() {
    let without = |decoration: Decoration, op: Op, at: usize| {
        edited("row-major", |insts| insts.retain(|i| !(is(i, op) && i[at] == decoration as u32)))
    };
    refused(&without(Decoration::Offset, Op::MemberDecorate, 3), Fault::Input, "has no Offset");
    refused(&without(Decoration::MatrixStride, Op::MemberDecorate, 3), Fault::Input, "has no MatrixStride");
    refused(&without(Decoration::ArrayStride, Op::Decorate, 2), Fault::Input, "has no ArrayStride");
}

#[test]
fn decorations_of_members_name_members() {
    let beyond = edited("row-major", |insts| {
        let n = position(insts, Op::MemberDecorate);
        let mut further = insts[n].clone();
        further[2] = 77;
        insts.insert(n, further);
    });
    refused(&beyond, Fault::Input, "has no member 77");
    let none = edited("row-major", |insts| {
        let void = insts[position(insts, Op::TypeVoid)][1];
        let n = position(insts, Op::MemberDecorate);
        let mut other = insts[n].clone();
        other[1] = void;
        insts.insert(n, other);
    });
    refused(&none, Fault::Input, "is not a structure");
}

#[test]
fn members_and_elements_do_not_overlap() {
    let int = |insts: &[Vec<u32>]| insts[position(insts, Op::TypeInt)][1];
    let overlap = edited("cf-phi-swap", |insts| {
        let n = position(insts, Op::TypeVoid);
        let offset = Decoration::Offset as u32;
        let int = int(insts);
        insts.insert(n, inst(Op::MemberDecorate, &[4001, 0, offset, 4]));
        insts.insert(n, inst(Op::MemberDecorate, &[4001, 1, offset, 4]));
        insts.insert(declared(insts), inst(Op::TypeStruct, &[4001, int, int]));
    });
    refused(&raised(overlap), Fault::Input, "members of the structure overlap");
    let narrow = edited("cf-phi-swap", |insts| {
        let n = position(insts, Op::TypeVoid);
        let int = int(insts);
        insts.insert(n, inst(Op::Decorate, &[4002, Decoration::ArrayStride as u32, 4]));
        let at = declared(insts);
        insts.insert(at, inst(Op::Constant, &[int, 4000, 3]));
        insts.insert(at + 1, inst(Op::TypeArray, &[4001, int, 4000]));
        insts.insert(at + 2, inst(Op::TypeArray, &[4002, 4001, 4000]));
    });
    refused(&raised(narrow), Fault::Input, "less than its elements' size");
}

#[test]
fn a_variable_begins_with_a_value_of_its_type() {
    let data = edited("cf-phi-swap", |insts| {
        let (int, void) = (insts[position(insts, Op::TypeInt)][1], insts[position(insts, Op::TypeVoid)][1]);
        assert_ne!(int, void);
        let private = spirv::StorageClass::Private as u32;
        let at = declared(insts);
        insts.insert(at, inst(Op::TypeBool, &[4000]));
        insts.insert(at + 1, inst(Op::ConstantTrue, &[4000, 4001]));
        insts.insert(at + 2, inst(Op::TypePointer, &[4002, private, int]));
        insts.insert(at + 3, inst(Op::Variable, &[4002, 4003, private, 4001]));
    });
    // A bool type may be there already, which does no harm.
    refused(&raised(data), Fault::Input, "begins with a value of another type");
}

#[test]
fn memory_semantics_have_one_order() {
    let data = edited("cf-phi-swap", |insts| {
        let int = insts[position(insts, Op::TypeInt)][1];
        let at = declared(insts);
        insts.insert(at, inst(Op::Constant, &[int, 4000, 2 | 4 | 64]));
        insts.insert(at, inst(Op::Constant, &[int, 4001, 1]));
        let n = position(insts, Op::Return);
        insts.insert(n, inst(Op::MemoryBarrier, &[4001, 4000]));
    });
    refused(&raised(data), Fault::Input, "more than one order");
}

#[test]
fn calls_that_double_are_refused_before_they_are_taken_apart() {
    /// Functions that call the one before twice.
    const DEPTH: u32 = 60;
    let data = edited("cf-phi-swap", |insts| {
        let function = insts[position(insts, Op::Function)].clone();
        let (void, ty) = (function[1], function[4]);
        let n = position(insts, Op::Return);
        insts.insert(n, inst(Op::FunctionCall, &[void, 6000, 4000 + DEPTH]));
        for k in 0..=DEPTH {
            insts.push(inst(Op::Function, &[void, 4000 + k, 0, ty]));
            insts.push(inst(Op::Label, &[4100 + k]));
            for half in (0..2).take_while(|_| k > 0) {
                insts.push(inst(Op::FunctionCall, &[void, 4200 + 2 * k + half, 3999 + k]));
            }
            insts.push(inst(Op::Return, &[]));
            insts.push(inst(Op::FunctionEnd, &[]));
        }
    });
    refused(&raised(data), Fault::Unsupported, "when calls are taken apart");
}

#[test]
fn loops_that_nest_too_deep_are_refused() {
    // Loops in a kernel's blocks: each header goes on to the next or to its way out, which goes back to the one around.
    const DEPTH: u32 = 1100;
    let data = edited("kernel-unstructured-exits", |insts| {
        let bool_type = insts[position(insts, Op::TypeBool)][1];
        let at = declared(insts);
        insts.insert(at, inst(Op::Undef, &[bool_type, 4000]));
        let start = position(insts, Op::Label);
        let end = start + position(&insts[start..], Op::FunctionEnd);
        let label = insts[start][1];
        let mut body = vec![inst(Op::Label, &[label]), inst(Op::Branch, &[4001])];
        for k in 1..=DEPTH {
            let (inner, out) = (4000 + k + 1, 6000 + k);
            let inner = if k == DEPTH { out } else { inner };
            body.push(inst(Op::Label, &[4000 + k]));
            body.push(inst(Op::BranchConditional, &[4000, inner, out]));
        }
        for k in (1..=DEPTH).rev() {
            body.push(inst(Op::Label, &[6000 + k]));
            let behind = if k == 1 { 8000 } else { 6000 + k - 1 };
            body.push(inst(Op::BranchConditional, &[4000, 4000 + k, behind]));
        }
        body.push(inst(Op::Label, &[8000]));
        body.push(inst(Op::Return, &[]));
        insts.splice(start..end, body);
    });
    refused(&raised(data), Fault::Unsupported, "loops nest more than 1023 deep");
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

#[test]
fn errors_show_the_line_of_the_source() {
    let data = edited("groups-debug", |insts| {
        let line = insts.iter().rposition(|i| is(i, Op::Line)).expect("it has lines");
        let n = line + position(&insts[line..], Op::IMul);
        insts[n][0] = Op::FMul as u32;
    });
    refused(&data, Fault::Input, "= OpFMul %");
    refused(&data, Fault::Input, "; köln/α.comp:11 ;");
}
