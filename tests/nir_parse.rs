//! What the NIR parser reads, and what it says about texts that are none.

use nvir::diag::line_column;
use nvir::front::nir::ast::{ArrayIndex, DerefKind, Dest, Node, Place, Shader, TexValue};
use nvir::front::nir::parse;

fn body(lines: &str) -> String {
    format!("shader: MESA_SHADER_COMPUTE\ndecl_function main (0 params)\n\nimpl main {{\n{lines}\n}}\n")
}

fn nodes<'s>(shader: &'s Shader<'s>) -> Vec<Node<'s>> {
    shader.functions[0].body.iter().map(|(n, _)| *n).collect()
}

/// Message, and `line:column` of the first finding.
fn error(text: &str) -> (String, String) {
    let diags = parse(text).expect_err("not NIR");
    let d = &diags.list[0];
    let (line, column) = line_column(text, d.primary.as_ref().expect("a place").0.start);
    (d.message.clone(), format!("{line}:{column}"))
}

#[test]
fn both_generations_of_the_printer_give_the_same_nodes() {
    let old = body(
        "\tblock block_0:\n\t/* preds: */\n\
         \tvec1 32 ssa_0 = load_const (0x00000003 = 0.000000)\n\
         \tvec4 32 div ssa_1 = intrinsic load_ssbo (ssa_0, ssa_0) (access=16, align_mul=16, align_offset=4)\n\
         \tvec3 32 ssa_2 = iadd!.nsw ssa_1.xxy, ssa_0.xxx\n\
         \tintrinsic memory_barrier () ()\n\
         \t/* succs: block_1 */\n\tblock block_1:",
    );
    let new = body(
        "    con block b0:   // preds:\n\
         \x20   con 32    %0 = load_const (0x00000003)\n\
         \x20   div 32x4  %1 = @load_ssbo (%0 (0x3), %0 (0x3)) (access=readonly, align_mul=16, align_offset=4)\n\
         \x20   div 32x3  %2 = iadd!.nsw %1.xxy, %0 (0x3).xxx\n\
         \x20                  @memory_barrier\n\
         \x20                  // succs: b1\n    block b1:",
    );
    let (old, new) = (parse(&old).expect("22.3"), parse(&new).expect("24.1"));
    let strip = |s: &Shader<'_>| {
        // Spans and the spelling of `access` differ; everything else must not.
        let f = &s.functions[0];
        nodes(s)
            .iter()
            .map(|n| match n {
                Node::Alu(a) => {
                    let srcs: Vec<_> = f.srcs(a.srcs).iter().map(|s| (s.place, s.swizzle)).collect();
                    format!("{} {:?} {srcs:?} {} {}", a.info.name, a.dest, a.exact, a.nsw)
                }
                Node::Intrinsic(i) => {
                    let srcs: Vec<_> = f.srcs(i.srcs).iter().map(|s| s.place).collect();
                    let names: Vec<_> = f.indices(i.indices).iter().map(|i| i.name).collect();
                    format!("{} {:?} {srcs:?} {names:?}", i.name, i.dest)
                }
                Node::Const { def, values } => format!("{def:?} {:?}", f.consts(*values)),
                n => format!("{n:?}"),
            })
            .collect::<Vec<_>>()
    };
    pretty_assertions::assert_eq!(strip(&old), strip(&new));
}

#[test]
fn structure_becomes_a_flat_list_with_matching_ends() {
    let text = body(
        "block block_0:\nloop {\nblock block_1:\nif ssa_1 {\nbreak\n} else {\nblock block_3:\n}\n} continue {\n\
         block block_4:\n}\nif %4 (true)  // don't flatten {\n}",
    );
    let shader = parse(&text).expect("valid");
    let text: Vec<_> = nodes(&shader)
        .iter()
        .map(|n| format!("{n:?}").split([' ', '(']).next().unwrap_or("").to_string())
        .collect();
    assert_eq!(
        text,
        [
            "Block", "Loop", "Block", "If", "Jump", "Else", "Block", "End", "Continue", "Block", "End", "If",
            "Else", "End"
        ]
    );
}

#[test]
fn registers_carry_index_and_write_mask() {
    let text = body("decl_reg vec4 32 r3[8]\nr3[2 + ssa_7].xz = mov -abs(ssa_5.yy)");
    let shader = parse(&text).expect("valid");
    let f = &shader.functions[0];
    assert_eq!((f.regs[0].index, f.regs[0].elems, f.regs[0].shape.comps), (3, 8, 4));
    let Node::Alu(alu) = nodes(&shader)[0] else { panic!("not ALU") };
    let Dest::Reg(reg, mask) = alu.dest else { panic!("not a register") };
    assert_eq!((reg.base, mask), (2, 0b101));
    assert_eq!(reg.indirect.map(|i| f.src(i).place), Some(Place::Ssa(7)));
    let src = f.srcs(alu.srcs)[0];
    assert!(src.neg && src.abs);
    assert_eq!(src.swizzle.map(|s| (s.len(), s.get(0))), Some((2, Some(1))));
}

#[test]
fn derefs_keep_what_their_comments_say() {
    let text = body(
        "vec1 64 ssa_1 = deref_cast (int *)ssa_0 (global int)  /* ptr_stride=4, align_mul=16, align_offset=8 */\n\
         vec1 64 ssa_2 = deref_ptr_as_array &(*ssa_1)[ssa_9] (global int) /* &(*(int *)ssa_0)[ssa_9] */\n\
         vec1 32 ssa_3 = deref_struct &ssa_4->pos (shared vec4) /* &s.pos */\n\
         32    %5 = deref_array &(*%3)[3] (shared highp float)  (in bounds)  // &s.pos[3]\n\
         32    %6 = deref_var &s@4 (shared struct foo)",
    );
    let shader = parse(&text).expect("valid");
    let derefs: Vec<_> = nodes(&shader)
        .into_iter()
        .map(|n| match n {
            Node::Deref(d) => d,
            n => panic!("{n:?} is no deref"),
        })
        .collect();
    assert!(matches!(derefs[0].kind, DerefKind::Cast { stride: 4, align_mul: 16, align_offset: 8, .. }));
    assert!(matches!(derefs[1].kind, DerefKind::Array { index: ArrayIndex::Src(_), pointer: true, .. }));
    assert!(matches!(derefs[2].kind, DerefKind::Struct { field: "pos", .. }));
    assert!(matches!(derefs[3].kind, DerefKind::Array { index: ArrayIndex::Const(3), pointer: false, .. }));
    assert_eq!((derefs[3].modes, derefs[3].ty), ("shared", "float"));
    assert!(matches!(derefs[4].kind, DerefKind::Var("s@4")));
}

#[test]
fn textures_keep_every_operand() {
    let text = body(
        "vec4 32 ssa_9 = (float32)tg4 ssa_1 (coord), ssa_2 (comparator), 1 (gather_component), \
         { (0, -1), (2, 3), (4, 5), (-8, 7) } (offsets), 2 (texture), 3 (sampler), texture non-uniform, sparse\n\
         32x4  %9 = (float32)txl %1 (coord), %2 (0.000000) (lod), 0 (texture), 0 (sampler), 2D",
    );
    let shader = parse(&text).expect("valid");
    let f = &shader.functions[0];
    let args = |i: usize| match nodes(&shader)[i] {
        Node::Tex(t) => f.tex_args(t.args).to_vec(),
        n => panic!("{n:?} is no texture operation"),
    };
    let kinds: Vec<_> = args(0).iter().map(|a| a.kind).collect();
    assert_eq!(
        kinds,
        [
            "coord",
            "comparator",
            "gather_component",
            "offsets",
            "texture",
            "sampler",
            "texture non-uniform",
            "sparse"
        ]
    );
    assert!(matches!(args(0)[3].value, TexValue::Offsets([(0, -1), _, _, (-8, 7)])));
    assert_eq!(
        args(1).iter().map(|a| a.kind).collect::<Vec<_>>(),
        ["coord", "lod", "texture", "sampler", "2D"]
    );
}

#[test]
fn variables_name_mode_type_and_place() {
    let text = "decl_var ssbo INTERP_MODE_NONE restrict readonly vec4[] color (0, 2, 5)\n\
                decl_var constant INTERP_MODE_NONE none vec2x0a8B[2] tbl = { { 0.5, 1.0 }, { 2.0, 3.0 } }\n\
                impl main {\n\tdecl_var  INTERP_MODE_NONE float x\n}\n";
    let shader = parse(text).expect("valid");
    let v = &shader.vars[0];
    assert_eq!(
        (v.mode, v.qualifiers, v.ty, v.name, v.place),
        ("ssbo", "restrict readonly", "vec4[]", "color", Some((2, 5)))
    );
    assert_eq!(shader.vars[1].init, Some("{ { 0.5, 1.0 }, { 2.0, 3.0 } }"));
    let x = &shader.functions[0].vars[0];
    assert_eq!((x.mode, x.ty, x.name), ("", "float", "x"));
}

#[test]
fn errors_say_what_was_expected_and_where() {
    let at = |line: &str| error(&body(line));
    assert_eq!(
        at("\tvec1 32 ssa_1 = frobnicate ssa_0"),
        ("unknown opcode `frobnicate`".into(), "5:18".into())
    );
    assert_eq!(
        at("vec1 32 ssa_1 = iadd ssa_0"),
        ("expected `,`, found the end of the line".into(), "5:27".into())
    );
    assert_eq!(at("vec7 32 ssa_1 = undefined"), ("no such size in NIR".into(), "5:1".into()));
    assert_eq!(at("if ssa_0 {").0, "the text ends inside a function");
    assert_eq!(at("} else {\n").0, "expected the end of the line, found `else`");
    let stray = "expected a property (`key: value`), `decl_var`, `decl_function` or `impl`, found `frob`";
    assert_eq!(error("frob\n").0, stray);
    assert_eq!(at("loop {\n} else {\n}").0, "`else` without its `if`");
    assert_eq!(error("").0, "no function in this text");
    assert_eq!(at("r1 = load_const (0x1)").0, "this instruction cannot write a register");
}

#[test]
fn every_line_at_fault_is_reported() {
    let text = body("vec1 32 ssa_1 = a\nvec1 32 ssa_2 = b\nvec1 32 ssa_3 = undefined\nvec1 32 ssa_4 = c");
    assert_eq!(parse(&text).expect_err("three bad lines").list.len(), 3);
}

#[test]
fn depth_is_no_problem() {
    let deep = 200_000;
    let text = body(&format!("{}{}", "if ssa_0 {\n".repeat(deep), "} else {\n}\n".repeat(deep)));
    assert_eq!(parse(&text).expect("valid").functions[0].body.len(), 3 * deep);
    assert!(parse(&body(&"r0[0 + ".repeat(deep))).is_err());
    assert!(parse(&body(&format!("r0{} = mov ssa_0", "[0 + r0".repeat(deep)))).is_err());
}

#[test]
fn scratch_memory_beyond_what_a_thread_has_is_refused() {
    let text = |bytes: &str| {
        body("block block_0:").replace("decl_function", &format!("scratch: {bytes}\ndecl_function"))
    };
    assert_eq!(parse(&text("524288")).expect("the most").scratch_size, 524288);
    for bytes in ["524289", "4294967295"] {
        let (message, place) = error(&text(bytes));
        assert!(message.contains("at most 524288 bytes"), "{message}");
        assert_eq!(place, "2:10");
    }
}
