//! What is refused of NIR text that parses: for each rule a text that breaks it, with message and place, and a
//! neighbour that does not.

use nvir::Chip;
use nvir::compiler::{Compiler, Source};

/// Messages, each with the text that it points at.
fn findings(text: &str) -> Vec<(String, String)> {
    let Err(e) = Compiler::new(Chip::Gk110).front(&Source::nir(text)) else { return Vec::new() };
    let place = |d: &nvir::diag::Diagnostic| {
        let span = d.primary.as_ref().map(|(span, _)| *span).unwrap_or_default();
        text[span.start as usize..span.end as usize].trim().to_string()
    };
    e.diagnostics().list.iter().map(|d| (d.message.clone(), place(d))).collect()
}

#[track_caller]
fn refused(text: &str, message: &str, place: &str) {
    assert_eq!(findings(text), [(message.to_string(), place.to_string())], "{text}");
}

#[track_caller]
fn accepted(text: &str) {
    assert_eq!(findings(text), [], "{text}");
}

/// Some values that all texts begin with, and an output that keeps what is stored.
const VALUES: &str = "\
vec1 32 ssa_0 = load_const (0x00000000 = 0.000000)
vec1 32 ssa_1 = load_const (0x00000001 = 0.000000)
vec2 32 ssa_2 = load_const (0x00000000, 0x00000001) = (0.000000, 0.000000)
vec4 32 ssa_4 = load_const (0x00000000, 0x00000001, 0x00000002, 0x00000003) = (0.0, 0.0, 0.0, 0.0)
vec1 64 ssa_6 = load_const (0x0000000100000000)
vec1 16 ssa_7 = load_const (0x0007)
vec1 8 ssa_8 = load_const (0x08)
vec1 1 ssa_9 = load_const (true)
";

fn shader(declarations: &str, lines: &str) -> String {
    format!(
        "shader: MESA_SHADER_COMPUTE\nworkgroup-size: 32, 1, 1\n{declarations}decl_function main (0 params)\n\n\
         impl main {{\nblock block_0:\n{VALUES}{lines}\nblock block_99:\n}}\n"
    )
}

fn body(lines: &str) -> String {
    shader("", lines)
}

/// Lines of a fragment shader.
fn fragment(lines: &str) -> String {
    body(lines).replace("COMPUTE\nworkgroup-size: 32, 1, 1", "FRAGMENT")
}

/// An `if` whose arms end in the blocks 1 and 2, and a phi behind it.
fn diamond(phi: &str) -> String {
    body(&format!(
        "if ssa_9 {{\nblock block_1:\nvec1 32 ssa_11 = iadd ssa_1, ssa_1\n}} else {{\nblock block_2:\n}}\n\
         block block_3:\n{phi}"
    ))
}

const STORE: &str =
    "intrinsic store_ssbo (ssa_1, ssa_0, ssa_0) (wrmask=x, access=0, align_mul=4, align_offset=0)";

// ---- phis

#[test]
fn a_phi_has_a_source_for_each_predecessor() {
    accepted(&diamond("vec1 32 ssa_12 = phi block_1: ssa_11, block_2: ssa_0"));
    accepted(&diamond("vec1 32 ssa_12 = phi block_2: ssa_0, block_1: ssa_11"));
    let cases = [
        ("block_1: ssa_11, block_7: ssa_0", "`block_7` is not a block of this function", "ssa_0"),
        ("block_1: ssa_11, block_0: ssa_0", "`block_0` is not a predecessor of this phi's block", "ssa_0"),
        ("block_1: ssa_11, block_2: ssa_0, block_2: ssa_1", "`block_2` has two sources of this phi", "ssa_1"),
    ];
    for (srcs, message, place) in cases {
        refused(&diamond(&format!("vec1 32 ssa_12 = phi {srcs}")), message, place);
    }
    let one = "vec1 32 ssa_12 = phi block_1: ssa_11";
    refused(&diamond(one), "the phi has no source for `block_2`", one);
    let none = "vec1 32 ssa_12 = phi ";
    refused(&diamond(none), "the phi has no source for `block_1`", none.trim());
}

#[test]
fn the_help_names_the_predecessors() {
    let e = Compiler::new(Chip::Gk110)
        .front(&Source::nir(&diamond("vec1 32 ssa_12 = phi block_1: ssa_11, block_0: ssa_0")))
        .expect_err("block_0 is none");
    assert_eq!(e.diagnostics().list[0].helps, ["predecessors: block_1, block_2"]);
    let newer = "shader: MESA_SHADER_COMPUTE\nworkgroup_size: 1, 1, 1\ndecl_function main () (entrypoint)\n\n\
                 impl main {\n    block b0:   // preds:\n    32 %0 = load_const (0x0)\n    32 %1 = phi b4: %0\n}\n";
    let e = Compiler::new(Chip::Gk110).front(&Source::nir(newer)).expect_err("there is no b4");
    let list = &e.diagnostics().list;
    let messages: Vec<&str> = list.iter().map(|d| &*d.message).collect();
    let first = "a phi follows another instruction in its block";
    assert_eq!(messages, [first, "`b4` is not a block of this function"]);
    assert_eq!(list[1].helps, ["the block has no predecessors"]);
}

#[test]
fn a_phi_of_a_loop_reads_what_continues_bring() {
    let text = |first: &str, second: &str| {
        body(&format!(
            "loop {{\nblock block_1:\nvec1 32 ssa_20 = phi {first}\nvec1 32 ssa_21 = iadd ssa_20, ssa_1\n\
             vec1 1 ssa_22 = ieq ssa_21, ssa_1\nif ssa_22 {{\nblock block_2:\nbreak\n}} else {{\nblock block_3:\n}}\n\
             block block_4:\nif ssa_9 {{\nblock block_5:\ncontinue\n}} else {{\nblock block_6:\n}}\nblock block_7:\n}}\n\
             block block_8:\nvec1 32 ssa_30 = phi {second}"
        ))
    };
    let (first, second) = ("block_0: ssa_0, block_5: ssa_21, block_7: ssa_1", "block_2: ssa_21");
    accepted(&text(first, second));
    refused(
        &text("block_0: ssa_0, block_7: ssa_1", second),
        "the phi has no source for `block_5`",
        "vec1 32 ssa_20 = phi block_0: ssa_0, block_7: ssa_1",
    );
    refused(&text(first, "block_7: ssa_21"), "`block_7` is not a predecessor of this phi's block", "ssa_21");
}

#[test]
fn phis_stand_first_in_their_block() {
    let phi = "vec1 32 ssa_12 = phi block_1: ssa_11, block_2: ssa_0";
    let other = phi.replace("ssa_12", "ssa_13");
    let add = "vec1 32 ssa_14 = iadd ssa_1, ssa_1";
    accepted(&diamond(&format!("{phi}\n{other}\n{add}")));
    refused(&diamond(&format!("{add}\n{phi}")), "a phi follows another instruction in its block", phi);
    refused(
        &diamond(&format!("{phi}\n{add}\n{other}")),
        "a phi follows another instruction in its block",
        &other,
    );
}

#[test]
fn a_phi_and_its_sources_have_one_shape() {
    let phi = |shape: &str| diamond(&format!("{shape} ssa_12 = phi block_1: ssa_11, block_2: ssa_0"));
    let of = |what: &str| format!("the phi is {what}, its source a scalar of 32 bits");
    let both = |text: &str, message: &str| {
        let places = ["ssa_11", "ssa_0"].map(|place| (message.to_string(), place.to_string()));
        assert_eq!(findings(text), places);
    };
    both(&phi("vec1 64"), &of("a scalar of 64 bits"));
    both(&phi("vec2 32"), &of("a vec2 of 32 bits"));
}

#[test]
fn a_phi_reads_at_the_end_of_its_predecessor() {
    // Defined in the other arm.
    refused(
        &diamond("vec1 32 ssa_12 = phi block_1: ssa_0, block_2: ssa_11"),
        "value `ssa_11` is not defined on every path to its use",
        "ssa_11",
    );
}

// ---- definitions and uses

#[test]
fn definitions_dominate_uses() {
    accepted(&diamond("vec1 32 ssa_12 = iadd ssa_0, ssa_1"));
    refused(
        &diamond("vec1 32 ssa_12 = iadd ssa_0, ssa_11"),
        "value `ssa_11` is not defined on every path to its use",
        "ssa_11",
    );
    refused(
        &body("vec1 32 ssa_12 = iadd ssa_0, ssa_13\nvec1 32 ssa_13 = iadd ssa_0, ssa_0"),
        "value `ssa_13` is used before its definition",
        "ssa_13",
    );
    // The other arm leaves, so this one is the only way.
    accepted(&body(
        "if ssa_9 {\nblock block_1:\nvec1 32 ssa_11 = iadd ssa_1, ssa_1\n} else {\nblock block_2:\nreturn\n}\n\
         block block_3:\nvec1 32 ssa_12 = iadd ssa_11, ssa_1",
    ));
}

#[test]
fn one_message_for_a_value_that_is_not_defined() {
    refused(
        &body(
            "vec1 32 ssa_12 = iadd ssa_50, ssa_50\nvec1 32 ssa_13 = iadd ssa_50, ssa_1\n\
             intrinsic store_ssbo (ssa_50, ssa_50, ssa_50) (wrmask=x, access=0, align_mul=4, align_offset=0)",
        ),
        "value `ssa_50` is not defined",
        "ssa_50",
    );
    refused(
        &diamond("vec1 32 ssa_12 = iadd ssa_11, ssa_11\nvec1 32 ssa_13 = iadd ssa_11, ssa_11"),
        "value `ssa_11` is not defined on every path to its use",
        "ssa_11",
    );
}

#[test]
fn what_nothing_reaches_may_read_what_it_likes() {
    let text = "if ssa_9 {\nblock block_1:\nvec1 32 ssa_11 = iadd ssa_1, ssa_1\nreturn\n} else {\nblock block_2:\nreturn\n}\n\
                block block_3:\nvec1 32 ssa_12 = iadd ssa_11, ssa_1";
    accepted(&body(text));
    refused(
        &body(&text.replace("ssa_11, ssa_1", "ssa_13, ssa_1")),
        "value `ssa_13` is not defined",
        "ssa_13",
    );
}

#[test]
fn values_are_defined_once() {
    accepted(&body("vec1 32 ssa_12 = iadd ssa_0, ssa_0"));
    let again = "vec1 32 ssa_1 = iadd ssa_0, ssa_0";
    refused(&body(again), "value `ssa_1` is defined twice", again);
    let large = "vec1 32 ssa_4194304 = iadd ssa_0, ssa_0";
    refused(&body(large), "value number out of range (0 to 4194303)", large);
}

#[test]
fn registers_are_declared_once_and_accessed_inside() {
    let text = |lines: &str| {
        body(lines).replace("block block_0:", "decl_reg vec1 32 r0\ndecl_reg vec4 32 r1[8]\nblock block_0:")
    };
    accepted(&text("r0 = iadd ssa_0, ssa_1\nr1[7].xy = mov ssa_2\nvec1 32 ssa_12 = mov r1[2 + ssa_1].w"));
    refused(&text("r2 = iadd ssa_0, ssa_1"), "register `r2` is not declared", "r2 = iadd ssa_0, ssa_1");
    refused(&text("vec4 32 ssa_12 = mov r1[8]"), "`r1[8]` is out of bounds of 8 elements", "r1[8]");
    refused(&text("vec1 32 ssa_12 = mov r0[0 + ssa_1]"), "`r0` is not an array", "r0[0 + ssa_1]");
    refused(
        &text("vec4 32 ssa_12 = mov r1[0 + ssa_6]"),
        "the register's index must be a scalar of 32 bits, not a scalar of 64 bits",
        "ssa_6",
    );
    let mask = "r0.xy = mov ssa_2";
    refused(&text(mask), "the write mask names components that a scalar of 32 bits does not have", mask);
    let twice = text("").replace("decl_reg vec4 32 r1[8]", "decl_reg vec1 32 r0");
    refused(&twice, "register `r0` is declared twice", "decl_reg vec1 32 r0");
}

#[test]
fn a_constant_fits_its_size() {
    accepted(&body("vec1 8 ssa_12 = load_const (0xff)"));
    accepted(&body("vec1 64 ssa_12 = load_const (0x100000005)"));
    for (shape, value, bits) in [
        ("vec1 32", "0x100000005", 32),
        ("vec1 16", "0x10000", 16),
        ("vec1 8", "0x100", 8),
        ("vec1 1", "0x2", 1),
    ] {
        let line = format!("{shape} ssa_12 = load_const ({value})");
        let unit = if bits == 1 { "bit" } else { "bits" };
        refused(&body(&line), &format!("the constant {value} does not fit {bits} {unit}"), &line);
    }
}

// ---- control flow

#[test]
fn jumps_end_their_block() {
    let text = |lines: &str| body(&format!("loop {{\nblock block_1:\n{lines}\n}}\nblock block_2:"));
    accepted(&text("break"));
    refused(&text(&format!("break\n{STORE}")), "an instruction follows the jump that ends its block", STORE);
    refused(&text("continue\nbreak"), "a jump follows the jump that ends its block", "break");
    refused(&body("break"), "`break` outside a loop", "break");
    refused(&body("continue"), "`continue` outside a loop", "continue");
    accepted(&body("return"));
}

#[test]
fn blocks_alternate_with_structure_and_have_labels_of_their_own() {
    accepted(&body("if ssa_9 {\nblock block_1:\n} else {\nblock block_2:\n}\nblock block_3:"));
    refused(
        &body("if ssa_9 {\nblock block_1:\nblock block_5:\n} else {\nblock block_2:\n}\nblock block_3:"),
        "`block_5` follows another block without an `if` or `loop` between them",
        "block block_5:",
    );
    refused(
        &body(&format!("block block_1:\n{STORE}")),
        "`block_1` follows another block without an `if` or `loop` between them",
        "block block_1:",
    );
    // Behind a jump as well.
    refused(
        &body(
            "loop {\nblock block_1:\nif ssa_9 {\nblock block_2:\nbreak\nblock block_3:\n}\nblock block_4:\n}\nblock block_5:",
        ),
        "`block_3` follows another block without an `if` or `loop` between them",
        "block block_3:",
    );
    refused(
        &body("if ssa_9 {\nblock block_1:\n} else {\nblock block_1:\n}\nblock block_3:"),
        "`block_1` is the label of two blocks",
        "block block_1:",
    );
    // The structure says what precedes what, not the comments.
    accepted(&body(
        "if ssa_9 {\nblock block_1:\n/* preds: block_7 */\n/* succs: block_8 */\n}\nblock block_3:",
    ));
}

#[test]
fn conditions_are_scalars() {
    let text = |cond: &str| body(&format!("if {cond} {{\nblock block_1:\n}}\nblock block_3:"));
    accepted(&text("ssa_1"));
    let message = |what: &str| format!("the condition must be a scalar of 1, 8, 16 or 32 bits, not {what}");
    refused(&text("ssa_2"), &message("a vec2 of 32 bits"), "ssa_2");
    refused(&text("ssa_6"), &message("a scalar of 64 bits"), "ssa_6");
}

// ---- ALU

#[test]
fn operands_of_an_opcode_have_its_sizes() {
    accepted(&body("vec1 64 ssa_12 = ishl ssa_6, ssa_1"));
    refused(
        &body("vec1 32 ssa_12 = ishl ssa_1, ssa_6"),
        "this operand of `ishl` must have 32 bits, not 64",
        "ssa_6",
    );
    refused(
        &body("vec1 32 ssa_12 = iadd ssa_1, ssa_7"),
        "this operand of `iadd` must have 32 bits, not 16",
        "ssa_7",
    );
    let wide = "vec1 64 ssa_12 = iadd ssa_1, ssa_0";
    refused(&body(wide), "the result of `iadd` must have 32 bits, not 64", wide);
    let narrow = "vec1 32 ssa_12 = u2u64 ssa_1";
    refused(&body(narrow), "the result of `u2u64` must have 64 bits, not 32", narrow);
    accepted(&body("vec1 32 ssa_12 = bcsel ssa_9, ssa_0, ssa_1"));
    refused(
        &body("vec1 32 ssa_12 = bcsel ssa_0, ssa_0, ssa_1"),
        "this operand of `bcsel` must have 1 bit, not 32",
        "ssa_0",
    );
    refused(&body("vec1 32 ssa_12 = f2i32 ssa_8"), "a float of 8 bits (`f2i32`)", "ssa_8");
}

#[test]
fn operands_of_an_opcode_have_its_components() {
    accepted(&body("vec2 32 ssa_12 = iadd ssa_2, ssa_4.wx"));
    refused(
        &body("vec2 32 ssa_12 = iadd ssa_2, ssa_1"),
        "this operand of `iadd` must have 2 components, not 1",
        "ssa_1",
    );
    refused(
        &body("vec2 32 ssa_12 = iadd ssa_2, ssa_4.xyz"),
        "this operand of `iadd` must have 2 components, not 3",
        "ssa_4.xyz",
    );
    refused(
        &body("vec1 32 ssa_12 = iadd ssa_2.z, ssa_1"),
        "component `z` of a value that has 2 components",
        "ssa_2.z",
    );
    refused(
        &body("vec1 32 ssa_12 = iadd ssa_0.y, ssa_1"),
        "component `y` of a value that has 1 component",
        "ssa_0.y",
    );
    let vec3 = "vec3 32 ssa_12 = vec2 ssa_0, ssa_1";
    refused(&body(vec3), "the result of `vec2` must have 2 components, not 3", vec3);
    accepted(&body("vec1 32 ssa_12 = fdot4 ssa_4, ssa_4.wzyx"));
    refused(
        &body("vec1 32 ssa_12 = fdot4 ssa_4, ssa_4.wzy"),
        "this operand of `fdot4` must have 4 components, not 3",
        "ssa_4.wzy",
    );
    accepted(&body("vec1 64 ssa_12 = pack_64_2x32 ssa_2"));
    refused(
        &body("vec1 64 ssa_12 = pack_64_2x32 ssa_4.xyz"),
        "this operand of `pack_64_2x32` must have 2 components, not 3",
        "ssa_4.xyz",
    );
}

#[test]
fn modifiers_belong_to_types() {
    accepted(&body("vec1 32 ssa_12 = fadd.sat ssa_0, -abs(ssa_1)"));
    let sat = "vec1 32 ssa_12 = iadd.sat ssa_0, ssa_1";
    refused(&body(sat), "`iadd` has no `.sat`, its result is not a float", sat);
    refused(
        &body("vec1 32 ssa_12 = mov -ssa_0"),
        "`mov` has no type, so its operand has no `-` and no `abs`",
        "-ssa_0",
    );
}

// ---- intrinsics

#[test]
fn a_write_mask_stays_inside_the_value() {
    let text = |value: &str, mask: &str| {
        format!(
            "intrinsic store_ssbo ({value}, ssa_0, ssa_0) (wrmask={mask}, access=0, align_mul=4, align_offset=0)"
        )
    };
    accepted(&body(&text("ssa_2", "y")));
    accepted(&body(&text("ssa_4", "xyzw")));
    let scalar = text("ssa_1", "xyzw");
    refused(
        &body(&scalar),
        "the write mask names components that the value does not have (1 component)",
        &scalar,
    );
    let shared = "intrinsic store_shared (ssa_2, ssa_0) (base=0, wrmask=xyz, align_mul=4, align_offset=0)";
    refused(
        &body(shared),
        "the write mask names components that the value does not have (2 components)",
        shared,
    );
    let slot = "intrinsic store_output (ssa_2, ssa_0) (base=0, wrmask=w, component=0, src_type=float32, \
                io location=FRAG_RESULT_DATA0 slots=1)";
    refused(
        &fragment(slot),
        "the write mask names components that the value does not have (2 components)",
        slot,
    );
}

#[test]
fn alignments_are_powers_of_two() {
    let load = |mul: &str, offset: &str| {
        format!(
            "vec1 32 ssa_12 = intrinsic load_ssbo (ssa_0, ssa_0) (access=0, align_mul={mul}, align_offset={offset})"
        )
    };
    accepted(&body(&load("16", "12")));
    accepted(&body("vec1 32 ssa_12 = intrinsic load_ssbo (ssa_0, ssa_0) (access=0)"));
    for (mul, offset, message) in [
        ("3", "0", "`align_mul` must be a power of two, not 3"),
        ("0", "0", "`align_mul` must be a power of two, not 0"),
        ("4", "4", "`align_offset` must be less than `align_mul` (4), not 4"),
    ] {
        refused(&body(&load(mul, offset)), message, &load(mul, offset));
    }
    let store = "intrinsic store_global (ssa_1, ssa_6) (wrmask=x, access=0, align_mul=6, align_offset=0)";
    refused(&body(store), "`align_mul` must be a power of two, not 6", store);
}

#[test]
fn buffers_numbers_offsets_and_addresses_have_their_shapes() {
    let load = |name: &str, srcs: &str| {
        format!("vec1 32 ssa_12 = intrinsic {name} ({srcs}) (access=0, base=0, align_mul=4, align_offset=0)")
    };
    let cases = [
        ("load_ssbo", "ssa_0, ssa_6", "the offset of `load_ssbo` must have 32 bits, not 64", "ssa_6"),
        (
            "load_ssbo",
            "ssa_2, ssa_0",
            "the buffer's number of `load_ssbo` must have 1 component, not 2",
            "ssa_2",
        ),
        ("load_ubo", "ssa_0, ssa_4", "the offset of `load_ubo` must have 1 component, not 4", "ssa_4"),
        ("load_shared", "ssa_6", "the offset of `load_shared` must have 32 bits, not 64", "ssa_6"),
        ("load_scratch", "ssa_7", "the offset of `load_scratch` must have 32 bits, not 16", "ssa_7"),
        ("load_global", "ssa_7", "the address of `load_global` must have 32 or 64 bits, not 16", "ssa_7"),
        ("load_global", "ssa_2", "the address of `load_global` must have 1 component, not 2", "ssa_2"),
        (
            "load_global_2x32",
            "ssa_0",
            "the address of `load_global_2x32` must have 2 components, not 1",
            "ssa_0",
        ),
        (
            "ssbo_atomic_add",
            "ssa_0, ssa_6, ssa_1",
            "the offset of `ssbo_atomic_add` must have 32 bits, not 64",
            "ssa_6",
        ),
        (
            "shared_atomic_add",
            "ssa_0, ssa_2",
            "the data of `shared_atomic_add` must have 1 component, not 2",
            "ssa_2",
        ),
        (
            "get_ssbo_size",
            "ssa_4",
            "the buffer's number of `get_ssbo_size` must have 1 component, not 4",
            "ssa_4",
        ),
    ];
    for (name, srcs, message, place) in cases {
        refused(&body(&load(name, srcs)), message, place);
    }
    accepted(&body(&load("load_ssbo", "ssa_0, ssa_1")));
    accepted(&body(&load("load_global", "ssa_6")));
    accepted(&body(&load("ssbo_atomic_add", "ssa_0, ssa_0, ssa_1")));
    let store =
        "intrinsic store_ssbo (ssa_1, ssa_0, ssa_6) (wrmask=x, access=0, align_mul=4, align_offset=0)";
    refused(&body(store), "the offset of `store_ssbo` must have 32 bits, not 64", "ssa_6");
    let store =
        "intrinsic store_ssbo (ssa_9, ssa_0, ssa_0) (wrmask=x, access=0, align_mul=4, align_offset=0)";
    refused(
        &body(store),
        "the value to store of `store_ssbo` must have 8, 16, 32 or 64 bits, not 1",
        "ssa_9",
    );
}

#[test]
fn results_of_intrinsics_have_their_shapes() {
    accepted(&body("vec3 32 ssa_12 = intrinsic load_workgroup_id () ()"));
    let two = "vec2 32 ssa_12 = intrinsic load_workgroup_id () ()";
    refused(&body(two), "the result of `load_workgroup_id` must have 3 components, not 2", two);
    let short = "vec3 16 ssa_12 = intrinsic load_local_invocation_id () ()";
    refused(&body(short), "the result of `load_local_invocation_id` must have 32 bits, not 16", short);
    let bit = "vec1 1 ssa_12 = intrinsic load_ssbo (ssa_0, ssa_0) (access=0, align_mul=4, align_offset=0)";
    refused(&body(bit), "the result of `load_ssbo` must have 8, 16, 32 or 64 bits, not 1", bit);
    let atomic = "vec1 64 ssa_12 = intrinsic ssbo_atomic_add (ssa_0, ssa_0, ssa_1) (access=0)";
    refused(&body(atomic), "the result of `ssbo_atomic_add` must have 32 bits, not 64", atomic);
    let lane = "vec1 32 ssa_12 = intrinsic read_first_invocation (ssa_2) ()";
    refused(&body(lane), "the value of `read_first_invocation` must have 1 component, not 2", "ssa_2");
    let none = "intrinsic load_workgroup_id () ()";
    refused(&body(none), "`load_workgroup_id` has a result", none);
    let some = "vec1 32 ssa_12 = intrinsic control_barrier () ()";
    refused(&body(some), "`control_barrier` has no result", some);
}

#[test]
fn indices_are_in_their_range() {
    let input = |component: u32| {
        format!(
            "vec1 32 ssa_12 = intrinsic load_input (ssa_0) (base=0, component={component}, dest_type=float32, \
             io location=VARYING_SLOT_VAR0 slots=1)"
        )
    };
    accepted(&fragment(&input(3)));
    refused(&fragment(&input(4)), "component out of range (0 to 3): 4", &input(4));
    let ubo = |range: u32| {
        format!(
            "vec1 32 ssa_12 = intrinsic load_ubo (ssa_0, ssa_0) (access=0, align_mul=4, align_offset=0, range_base=0, \
             range={range})"
        )
    };
    accepted(&body(&ubo(16)));
    refused(&body(&ubo(0)), "`range` must not be 0", &ubo(0));
    let vec4 = |component: u32| {
        format!(
            "vec2 32 ssa_12 = intrinsic load_ubo_vec4 (ssa_0, ssa_0) (access=0, base=0, component={component})"
        )
    };
    accepted(&body(&vec4(2)));
    refused(&body(&vec4(3)), "the load reaches beyond its vec4", &vec4(3));
    let cluster = |size: u32| {
        format!("vec1 32 ssa_12 = intrinsic reduce (ssa_1) (reduction_op=iadd, cluster_size={size})")
    };
    accepted(&body(&cluster(0)));
    refused(&body(&cluster(3)), "`cluster_size` must be a power of two, not 3", &cluster(3));
    let param = "vec1 32 ssa_12 = intrinsic load_param () (param_idx=0)";
    refused(&body(param), "parameter 0 of a function that has 0 parameters", param);
}

#[test]
fn images_are_accessed_by_four_coordinates() {
    let load = |srcs: &str, shape: &str| {
        format!(
            "{shape} ssa_12 = intrinsic image_load ({srcs}) (image_dim=2D, image_array=false, format=r32_uint, access=0, \
             dest_type=uint32)"
        )
    };
    accepted(&body(&load("ssa_0, ssa_4, ssa_0, ssa_0", "vec4 32")));
    refused(
        &body(&load("ssa_0, ssa_2, ssa_0, ssa_0", "vec4 32")),
        "the coordinates of `image_load` must have 4 components, not 2",
        "ssa_2",
    );
    let long = load("ssa_0, ssa_4, ssa_0, ssa_0", "vec8 32");
    refused(&body(&long), "the result of `image_load` must have at most 4 components, not 8", &long);
    let atomic = |format: &str| {
        format!(
            "vec1 32 ssa_12 = intrinsic image_atomic_add (ssa_0, ssa_4, ssa_0, ssa_1) (image_dim=2D, image_array=false, \
             format={format}, access=0)"
        )
    };
    accepted(&body(&atomic("r32_sint")));
    let float = atomic("r32_float");
    refused(&body(&float), "`image_atomic_add` does not exist for images of format `r32f`", &float);
}

#[test]
fn components_of_an_intrinsics_source_are_not_chosen() {
    let message = "only operands of arithmetic choose components: this needs a `mov` of them";
    let load =
        "vec1 32 ssa_12 = intrinsic load_ssbo (ssa_0, ssa_4.y) (access=0, align_mul=4, align_offset=0)";
    refused(&body(load), message, "ssa_4.y");
    refused(&diamond("vec1 32 ssa_12 = phi block_1: ssa_11.x, block_2: ssa_0"), message, "ssa_11.x");
}

// ---- derefs

const VARS: &str = "decl_var shared INTERP_MODE_NONE uint[4] a\ndecl_var shared INTERP_MODE_NONE vec4 v\n\
                    decl_var ubo INTERP_MODE_NONE uint u (0, 0, 0)\n";

#[test]
fn chains_of_derefs_are_typed() {
    let chain = |lines: &str| shader(VARS, lines);
    let var = "vec1 32 ssa_12 = deref_var &a (shared uint[4])";
    let element = "vec1 32 ssa_13 = deref_array &(*ssa_12)[ssa_1] (shared uint)";
    let load = "vec1 32 ssa_14 = intrinsic load_deref (ssa_13) (access=0)";
    accepted(&chain(&format!("{var}\n{element}\n{load}")));
    let line = var.replace("shared", "ssbo");
    refused(&chain(&line), "`a` is in `shared`, the pointer in `ssbo`", &line);
    let line = var.replace("uint[4]", "uint[5]");
    refused(&chain(&line), "`a` is of type `uint[4]`, the pointer leads to `uint[5]`", &line);
    let line = var.replace("&a", "&b");
    refused(&chain(&line), "variable `b` is not declared", &line);
    let line = element.replace("shared uint", "shared vec4");
    refused(&chain(&format!("{var}\n{line}")), "an element of `uint[4]` is not a `vec4`", &line);
    let line = element.replace("shared", "ssbo");
    let message = "the pointer is in `ssbo`, the one that it goes on from in `shared`";
    refused(&chain(&format!("{var}\n{line}")), message, &line);
    let line = element.replace("ssa_12", "ssa_1");
    refused(&chain(&line), "this value is not the result of a deref", "ssa_1");
    let line = element.replace("ssa_1]", "ssa_6]");
    refused(
        &chain(&format!("{var}\n{line}")),
        "the index must be a scalar of 32 bits, not a scalar of 64 bits",
        "ssa_6",
    );
    let line = element.replace("deref_array", "deref_ptr_as_array");
    refused(
        &chain(&format!("{var}\n{line}")),
        "`deref_ptr_as_array` must go on from an element or a cast",
        &line,
    );
    let deeper = "vec1 32 ssa_15 = deref_array &(*ssa_13)[0] (shared uint)";
    refused(&chain(&format!("{var}\n{element}\n{deeper}")), "`uint` has no elements", deeper);
    let member = "vec1 32 ssa_15 = deref_struct &ssa_13->x (shared uint)";
    refused(&chain(&format!("{var}\n{element}\n{member}")), "`uint` is not a structure", member);
}

#[test]
fn an_access_through_a_pointer_has_its_shape() {
    let chain = |lines: &str| shader(VARS, &format!("vec1 32 ssa_12 = deref_var &v (shared vec4)\n{lines}"));
    accepted(&chain("vec4 32 ssa_13 = intrinsic load_deref (ssa_12) (access=0)"));
    let short = "vec3 32 ssa_13 = intrinsic load_deref (ssa_12) (access=0)";
    refused(
        &chain(short),
        "the value is a vec3 of 32 bits, what the pointer leads to a vec4 of 32 bits",
        short,
    );
    refused(
        &chain("intrinsic store_deref (ssa_12, ssa_2) (wrmask=x, access=0)"),
        "the value is a vec2 of 32 bits, what the pointer leads to a vec4 of 32 bits",
        "ssa_2",
    );
    refused(
        &chain("vec4 32 ssa_13 = intrinsic load_deref (ssa_1) (access=0)"),
        "the pointer of `load_deref` must be the result of a deref",
        "ssa_1",
    );
    refused(
        &shader(
            VARS,
            "vec1 32 ssa_12 = deref_var &u (ubo uint)\nintrinsic store_deref (ssa_12, ssa_1) (wrmask=x, access=0)",
        ),
        "`ubo` is read-only",
        "ssa_12",
    );
    let arrays = "vec1 32 ssa_13 = deref_var &a (shared uint[4])\nintrinsic copy_deref (ssa_12, ssa_13) (dst_access=0, src_access=0)";
    let copy = arrays.lines().last().unwrap_or_default();
    refused(&chain(arrays), "a copy of `uint[4]` to `vec4`", copy);
}

#[test]
fn casts_say_what_can_be() {
    let cast = |modes: &str, facts: &str| {
        shader(VARS, &format!("vec1 64 ssa_12 = deref_cast (uint *)ssa_6 ({modes} uint)  /* {facts} */"))
    };
    let facts = "ptr_stride=0, align_mul=4, align_offset=0";
    accepted(&cast("global", facts));
    let line = |text: &str| text.lines().find(|l| l.contains("deref_cast")).unwrap_or_default().to_string();
    let text = cast("ssbo|uniform", facts);
    refused(&text, "a pointer cannot be in `uniform|ssbo` at once", &line(&text));
    let text = cast("global", "ptr_stride=0, align_mul=12, align_offset=0");
    refused(&text, "`align_mul` must be a power of two, not 12", &line(&text));
    let text = cast("global", "ptr_stride=0, align_mul=4, align_offset=5");
    refused(&text, "`align_offset` must be less than `align_mul` (4), not 5", &line(&text));
}

// ---- textures

#[test]
fn operands_of_a_texture_have_its_dimension() {
    let declared = |lines: &str| {
        shader("decl_var uniform INTERP_MODE_NONE sampler2DArray t (0, 0, 0)\n", lines)
            .replace("COMPUTE\nworkgroup-size: 32, 1, 1", "FRAGMENT")
    };
    let tex = |shape: &str, rest: &str| format!("{shape} ssa_12 = (float32){rest}, 0 (texture), 0 (sampler)");
    let xyz = "vec3 32 ssa_10 = mov ssa_4.xyz";
    let with = |line: &str| declared(&format!("{xyz}\n{line}"));
    accepted(&with(&tex("vec4 32", "tex ssa_10 (coord)")));
    accepted(&with(&tex("vec4 32", "txl ssa_10 (coord), ssa_2 (offset), ssa_0 (lod)")));
    refused(
        &with(&tex("vec4 32", "tex ssa_2 (coord)")),
        "`coord` must have 3 components here, not 2",
        "ssa_2",
    );
    refused(
        &with(&tex("vec4 32", "tex ssa_10 (coord), ssa_10 (offset)")),
        "`offset` must have 2 components here, not 3",
        "ssa_10",
    );
    refused(
        &with(&tex("vec4 32", "txd ssa_10 (coord), ssa_10 (ddx), ssa_2 (ddy)")),
        "`ddx` must have 2 components here, not 3",
        "ssa_10",
    );
    refused(
        &with(&tex("vec4 32", "txl ssa_10 (coord), ssa_2 (lod)")),
        "`lod` must have 1 component here, not 2",
        "ssa_2",
    );
    refused(&with(&tex("vec4 32", "tex ssa_10 (coord), ssa_0 (lod)")), "`tex` takes no `lod`", "ssa_0");
    refused(&with(&tex("vec4 32", "tex ssa_10 (coord), ssa_0 (bias)")), "`tex` takes no `bias`", "ssa_0");
    refused(
        &with(&tex("vec4 32", "txb ssa_10 (coord), ssa_0 (bias), ssa_1 (bias)")),
        "`bias` is given twice",
        "ssa_1",
    );
    refused(
        &with(&tex("vec4 32", "txl ssa_10 (coord), ssa_6 (lod)")),
        "`lod` must have 32 bits, not 64",
        "ssa_6",
    );
    let three = tex("vec3 32", "tex ssa_10 (coord)");
    refused(&with(&three), "the result of `tex` must have 4 components here, not 3", &three);
    let half = tex("vec4 16", "tex ssa_10 (coord)");
    refused(&with(&half), "the result has 16 bits, its type 32", &half);
    let size = "vec2 32 ssa_12 = (int32)txs ssa_0 (lod), 0 (texture), 0 (sampler)";
    refused(&with(size), "the result of `txs` must have 3 components here, not 2", size);
}

// ---- declarations

#[test]
fn names_are_declared_once() {
    accepted(&shader(VARS, ""));
    let twice = "decl_var shared INTERP_MODE_NONE uint v";
    refused(&shader(&format!("{VARS}{twice}\n"), ""), "variable `v` is declared twice", twice);
    let size = "workgroup-size: 32, 1, 1";
    refused(&shader(&format!("{size}\n"), ""), "property `workgroup_size` is declared twice", size);
    let other = "workgroup_size: 64, 1, 1";
    refused(&shader(&format!("{other}\n"), ""), "property `workgroup_size` is declared twice", other);
    // Mesa 22.3 says how much shared memory there is twice, by two names.
    accepted(&shader("shared-size: 16\nshared: 16\n", ""));
    let text = body("");
    let again = text[text.find("decl_function").unwrap_or(0)..].to_string();
    refused(&format!("{text}\n{again}"), "function `main` is declared twice", "impl main");
}

#[test]
fn variables_are_in_memory_that_exists() {
    accepted(&shader("decl_var shader_temp INTERP_MODE_NONE uint t\n", ""));
    for mode in ["function_temp", "ray_hit_attrib", "task_payload"] {
        let line = format!("decl_var {mode} INTERP_MODE_NONE uint t");
        refused(
            &shader(&format!("{line}\n"), ""),
            &format!("variable `t` cannot be in `{mode}` here"),
            &line,
        );
    }
    let image = "decl_var image INTERP_MODE_NONE uint t";
    refused(
        &shader(&format!("{image}\n"), ""),
        "variable `t` is in `image`, but `uint` is not an image",
        image,
    );
}

#[test]
fn calls_pass_what_the_callee_takes() {
    let text = |call: &str| {
        format!(
            "shader: MESA_SHADER_KERNEL\ndecl_function f (32, 64)\n\nimpl f {{\n    block b0:\n    32 %0 = @load_param (param_idx=0)\n\
             \x20   64 %1 = @load_param (param_idx=1)\n}}\ndecl_function main () (entrypoint)\n\nimpl main {{\n    block b0:\n\
             \x20   32 %0 = load_const (0x00000000)\n    64 %1 = load_const (0x0000000000000000)\n    {call}\n}}\n"
        )
    };
    accepted(&text("call f %0, %1"));
    refused(&text("call f %0"), "`f` takes 2 arguments, not 1", "call f %0");
    refused(
        &text("call f %0, %0"),
        "parameter 1 of `f` is a scalar of 64 bits, the argument a scalar of 32 bits",
        "%0",
    );
    refused(&text("call g %0"), "function `g` is not declared", "call g %0");
    let param = "32 %1 = @load_param (param_idx=1)";
    refused(
        &text("call f %0, %1").replace("64 %1 = @load_param (param_idx=1)", param),
        "the parameter is a scalar of 64 bits, the result a scalar of 32 bits",
        param,
    );
}

// ---- the report

#[test]
fn every_function_is_validated() {
    let other = "decl_function other (0 params)\n\nimpl other {\nblock block_0:\nvec1 32 ssa_0 = iadd ssa_1, ssa_1\n}\n";
    refused(&format!("{}{other}", body("")), "value `ssa_1` is not defined", "ssa_1");
}

#[test]
fn errors_beyond_the_limit_are_counted() {
    let lines: String = (0..5000).map(|i| format!("vec1 32 ssa_{} = iadd ssa_2, ssa_2\n", 100 + i)).collect();
    let e = Compiler::new(Chip::Gk110).front(&Source::nir(&body(&lines))).expect_err("vectors");
    let diags = e.diagnostics();
    assert_eq!((diags.list.len(), diags.dropped), (20, 9980));
}

#[test]
fn depth_and_width_are_no_problem() {
    // Arms that leave, nested: each join is dominated by the innermost.
    let depth = 3000;
    let mut text = String::new();
    for i in 0..depth {
        text += &format!("if ssa_9 {{\nblock block_{}:\n", 100 + i);
    }
    for i in 0..depth {
        text +=
            &format!("}} else {{\nblock block_{}:\nreturn\n}}\nblock block_{}:\n", 10_000 + i, 20_000 + i);
    }
    text += "vec1 32 ssa_12 = iadd ssa_13, ssa_1";
    let all = body(&text).replacen(
        "block block_3099:\n",
        "block block_3099:\nvec1 32 ssa_13 = iadd ssa_1, ssa_1\n",
        1,
    );
    accepted(&all);
    // Many ways out of a loop to many phis that lack them.
    let mut text = String::from("loop {\nblock block_1:\n");
    for i in 0..depth {
        text += &format!("if ssa_9 {{\nblock block_{}:\nbreak\n}}\nblock block_{}:\n", 100 + i, 10_000 + i);
    }
    text += "}\nblock block_2:\n";
    for i in 0..depth {
        text += &format!("vec1 32 ssa_{} = phi block_100: ssa_0\n", 100 + i);
    }
    let found = findings(&body(&text));
    assert_eq!(found.len(), 20);
    assert_eq!(found[0].0, "the phi has no source for `block_101`");
}

// ---- what the parser would otherwise pass over

#[test]
fn indices_have_names_that_exist_once() {
    let store = |indices: &str| body(&format!("intrinsic store_ssbo (ssa_1, ssa_0, ssa_0) ({indices})"));
    accepted(&store("wrmask=x /*1*/, access=0, align_mul=4, align_offset=0"));
    // Other versions have other indices.
    accepted(&store("wrmask=x, access=none, align_mul=4, align_offset=0, offset_shift=2, desc_type=SSBO"));
    let cases = [
        ("wrmsk=x, align_mul=4", "unknown index `wrmsk`", "wrmsk"),
        ("wrmask=x, align_mull=4", "unknown index `align_mull`", "align_mull"),
        ("wrmask=x, align_mul=4, align_mul=8", "index `align_mul` is given twice", "align_mul"),
    ];
    for (indices, message, place) in cases {
        refused(&store(indices), message, place);
    }
    for indices in ["wrmaskx, align_mul=4", "wrmask=x, align_mul4", "wrmask=x, align_mul"] {
        let found = findings(&store(indices));
        assert!(
            found.len() == 1 && found[0].0.starts_with("expected `=` and the index's value"),
            "{found:?}"
        );
    }
    let feedback = "intrinsic store_output (ssa_1, ssa_0) (base=0, wrmask=x, component=0, src_type=float32, \
                    io location=32 slots=1, xfb() /*0*/, xfb2() /*0*/)";
    accepted(&body(feedback).replace("COMPUTE\nworkgroup-size: 32, 1, 1", "VERTEX"));
    // Nobody knows what these may be.
    accepted(&body("if ssa_9 {\nblock block_1:\n}\nblock block_2:"));
}

#[test]
fn a_variable_that_something_outside_reads_has_its_place() {
    let with =
        |place: &str| shader(&format!("decl_var ssbo INTERP_MODE_NONE restrict uint[] b {place}\n"), "");
    accepted(&with("(0, 0, 1)"));
    accepted(&with("(-1, 0, 1)"));
    accepted(&with("(VARYING_SLOT_VAR0.zw, 0, 1)"));
    accepted(&with("(SOME_LATER_SLOT, 0, 1)"));
    accepted(&with("= null"));
    for (place, message, at) in [
        ("(0, 1)", "unknown place `0, 1`", "0, 1"),
        ("(0, 0, 1, 2)", "unknown place `0, 0, 1, 2`", "0, 0, 1, 2"),
        ("(0, x, 1)", "unknown place `0, x, 1`", "0, x, 1"),
        ("(0, 0 0, 1)", "unknown place `0, 0 0, 1`", "0, 0 0, 1"),
        ("(, 0, 1)", "unknown location ``", ""),
        ("(=, 0, 1)", "unknown location `=`", "="),
        ("(0.?, 0, 1)", "unknown component `?`", "?"),
    ] {
        refused(&with(place), message, at);
    }
    // A temporary may be called anything.
    accepted(&shader("decl_var  INTERP_MODE_NONE uint t (copy)\n", ""));
}

#[test]
fn a_body_belongs_to_a_declaration_that_waits_for_one() {
    let text = body("");
    refused(&text.replace("impl main", "impl mian"), "function `mian` is not declared", "impl mian");
    accepted(&text.replace("decl_function main (0 params)\n", ""));
}
