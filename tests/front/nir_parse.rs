//! What the NIR parser reads, and what it says about texts that are none.

use nvir::diag::Fault;
use nvir::diag::{Span, line_column};
use nvir::front::nir::alu::Base;
use nvir::front::nir::ast::{
    ArrayIndex, Attribute, DerefKind, Dest, Init, Literal, Node, Place, Shader, UnknownKind,
};
use nvir::front::nir::indices::Indices;
use nvir::front::nir::intrinsics::Atomic;
use nvir::front::nir::locations::Location;
use nvir::front::nir::names::{
    Access, Interpolation, Mode, Named, Rounding, Scope, Semantics, Set, Stage, TexOpcode, TexRole, ValueType,
};
use nvir::front::nir::parse;
use nvir::front::nir::types::Type;
use nvir::ir::Dim;

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
        // Spans differ; everything else must not.
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
                    format!("{} {:?} {srcs:?} {:?}", i.info.name, i.dest, f.indices(i.indices))
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
fn a_node_takes_one_line_of_the_cache() {
    assert!(size_of::<(Node<'_>, Span)>() <= 64, "{}", size_of::<(Node<'_>, Span)>());
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
            Node::Deref(id) => shader.functions[0].deref(id),
            n => panic!("{n:?} is no deref"),
        })
        .collect();
    assert!(matches!(derefs[0].kind, DerefKind::Cast { stride: 4, align_mul: 16, align_offset: 8, .. }));
    assert!(matches!(derefs[1].kind, DerefKind::Array { index: ArrayIndex::Src(_), pointer: true, .. }));
    assert!(matches!(derefs[2].kind, DerefKind::Struct { field: "pos", .. }));
    assert!(matches!(derefs[3].kind, DerefKind::Array { index: ArrayIndex::Const(3), pointer: false, .. }));
    assert_eq!((derefs[3].modes.to_string().as_str(), shader.types.name(derefs[3].ty)), ("shared", "float"));
    assert!(derefs[0].modes.has(Mode::Global) && !derefs[0].modes.has(Mode::Shared));
    assert_eq!(shader.types.get(derefs[4].ty), Type::Unknown);
    assert!(matches!(derefs[4].kind, DerefKind::Var("s@4")));
}

#[test]
fn textures_keep_every_operand() {
    let text = body(
        "vec4 32 ssa_8 = (float32)tex ssa_1 (coord), 2 (texture), 3 (sampler), sparse\n\
         vec4 32 ssa_9 = (float32)tg4 ssa_1 (coord), ssa_2 (comparator), 1 (gather_component), \
         { (0, -1), (2, 3), (4, 5), (-8, 7) } (offsets), 2 (texture), 3 (sampler), texture non-uniform\n\
         32x4  %9 = (float32)txl %1 (coord), %2 (0.000000) (lod), 0 (texture), 0 (sampler), 2D",
    );
    let shader = parse(&text).expect("valid");
    let f = &shader.functions[0];
    let [Node::Unknown(sparse), Node::Tex(gather), Node::Tex(lod)] = nodes(&shader)[..] else {
        panic!("{:?}", nodes(&shader))
    };
    let (sparse, gather, lod) = (f.unknown(sparse), f.tex(gather), f.tex(lod));
    assert_eq!((sparse.kind, sparse.name), (UnknownKind::TexRole, "sparse"));
    let roles = |range| f.tex_srcs(range).iter().map(|(role, _)| *role).collect::<Vec<_>>();
    assert_eq!(roles(gather.srcs), [TexRole::Coord, TexRole::Comparator]);
    assert_eq!((gather.component, gather.texture, gather.sampler, gather.dim), (1, 2, 3, None));
    assert!(matches!(gather.offsets, Some([(0, -1), (2, 3), (4, 5), (-8, 7)])));
    assert_eq!(roles(lod.srcs), [TexRole::Coord, TexRole::Lod]);
    assert_eq!((lod.op, lod.dim), (TexOpcode::Txl, Some(Dim::D2)));
    assert_eq!(lod.ty, ValueType { base: Base::Float, bits: 32 });
}

#[test]
fn variables_name_mode_type_and_place() {
    let text = "decl_var ssbo INTERP_MODE_NONE restrict readonly vec4[] color (0, 2, 5)\n\
                decl_var constant INTERP_MODE_NONE none vec2x0a8B[2] tbl = { { 0.5, 1.0 }, { 2.0, 3.0 } }\n\
                impl main {\n\tdecl_var  INTERP_MODE_NONE float x\n}\n";
    let shader = parse(text).expect("valid");
    let v = &shader.vars[0];
    assert_eq!((v.mode, v.name, v.place), (Mode::Ssbo, "color", Some((2, 5))));
    assert_eq!(v.access, Access::RESTRICT.with(Access::READ_ONLY));
    assert!(matches!(shader.types.get(v.ty), Type::Array { len: 0, .. }));
    let Some(Init::Values(values)) = shader.vars[1].init else { panic!("{:?}", shader.vars[1]) };
    assert_eq!(shader.literals(values), [0.5, 1.0, 2.0, 3.0].map(Literal::Float));
    let x = &shader.functions[0].vars[0];
    assert_eq!((x.mode, shader.types.name(x.ty), x.name), (Mode::FunctionTemp, "float", "x"));
}

#[test]
fn structures_may_be_declared_after_they_are_named() {
    let text = "decl_var ssbo INTERP_MODE_NONE vec3[2] color (0, 2, 5)\nstruct vec3 {\n   uint8_t a;\n   vec3 b;\n}\n\
                impl main {\n}\n";
    let shader = parse(text).expect("valid");
    let Type::Array { element, len: 2 } = shader.types.get(shader.vars[0].ty) else { panic!("an array") };
    assert_eq!(shader.types.get(element), Type::Struct(0));
    let fields: Vec<_> = shader.structs[0].fields.iter().map(|(ty, name)| (*ty == element, *name)).collect();
    assert_eq!(fields, [(false, "a"), (true, "b")]);
}

/// The indices of an intrinsic with two sources.
fn indices(list: &str) -> Indices {
    let text = body(&format!("32 %5 = @load_ssbo (%1, %2) ({list})"));
    let shader = parse(&text).unwrap_or_else(|e| panic!("{list}: {e}"));
    let Node::Intrinsic(i) = nodes(&shader)[0] else { panic!("an intrinsic") };
    *shader.functions[0].indices(i.indices)
}

#[test]
fn inputs_and_outputs_are_declared_with_places() {
    let text = "shader: MESA_SHADER_GEOMETRY\ninvocations: 2\nvertices in: 4\nvertices out: 9\ninput primitive: UNKNOWN\n\
         output primitive: LINE_STRIP\nactive_stream_mask: 0x3\n\
         decl_var shader_in INTERP_MODE_NONE vec2[4] a (VARYING_SLOT_VAR3.zw, 1, 0)\n\
         decl_var centroid shader_out INTERP_MODE_NOPERSPECTIVE highp vec4 b (VARYING_SLOT_POS.xyzw, 0, 0)\n\
         decl_var patch shader_out INTERP_MODE_FLAT float c (65.w, 2, 0)\n\
         decl_function main (0 params)\nimpl main {\n\tblock block_0:\n}\n";
    let shader = parse(text).expect("valid");
    let io: Vec<_> = shader.vars.iter().map(|v| v.io).collect();
    let plain = Attribute { location: Some(35), component: 2, ..Attribute::default() };
    let centroid = Attribute {
        location: Some(0),
        interpolation: Interpolation::NoPerspective,
        centroid: true,
        ..Attribute::default()
    };
    let patch = Attribute {
        location: Some(65),
        component: 3,
        interpolation: Interpolation::Flat,
        patch: true,
        ..Attribute::default()
    };
    assert_eq!(io, [plain, centroid, patch]);
    let said = shader.said.geometry.expect("geometry");
    assert_eq!(
        (said.invocations, said.vertices_in, said.vertices_out, said.output, said.streams),
        (2, 4, 9, 3, 3)
    );
    let wrong = text.replace("LINE_STRIP", "LINE_STRIPE");
    assert_eq!(error(&wrong).0, "unknown primitive `LINE_STRIPE`");
}

#[test]
fn indices_have_types() {
    assert_eq!(indices(""), Indices::default());
    let ix = indices(
        "io location=4 slots=2 gs_streams(x=0 y=0 z=0 w=0) dualsrc, interp_mode=FLAT, xfb(component=0 buffer=1)",
    );
    let location = Some(Location { number: 4, slots: 2, dual_source: true });
    assert_eq!(ix, Indices { location, interpolation: Interpolation::Flat, ..Indices::default() });
    assert_eq!(indices("io location=VARYING_SLOT_VAR2 slots=1").location.map(|l| l.number), Some(34));
    let ix = indices("base=-16, align_mul=4, align_offset=0, wrmask=xz /*5*/, access=coherent|volatile");
    assert_eq!((ix.base as i32, ix.align_mul, ix.write_mask), (-16, Some(4), Some(0b101)));
    assert_eq!(ix.access, indices("access=5").access);
    assert!(ix.access.has(Access::VOLATILE) && indices("access=none").access.is_empty());
    assert_eq!(indices("wrmask=ap").write_mask, Some(1 << 15 | 1));
    let ix = indices("exec_scope=WORKGROUP, mem_scope=DEVICE, mem_semantics=ACQ|REL, mem_modes=ssbo|shared");
    assert_eq!((ix.execution_scope, ix.memory_scope), (Scope::Workgroup, Scope::Device));
    assert_eq!(ix.semantics, Semantics::ACQUIRE.with(Semantics::RELEASE));
    assert!(ix.modes.has(Mode::Ssbo) && ix.modes.has(Mode::Shared) && ix.modes.len() == 2);
    let ix = indices("execution_scope=SUBGROUP, memory_scope=NONE, mem_semantics=NONE, mem_modes=0");
    assert_eq!((ix.execution_scope, ix.memory_scope), (Scope::Subgroup, Scope::None));
    assert!(ix.semantics.is_empty() && ix.modes.is_empty());
    let ix = indices(
        "image_dim=2D-MSAA /*7*/, image_array=true /*1*/, format=r16g16_sint, dest_type=int32 /*34*/",
    );
    assert_eq!((ix.image_dim, ix.image_array, ix.format), (Some(Dim::Ms), true, "rg16i".parse().ok()));
    assert_eq!(ix.dest_type, Some(ValueType { base: Base::Int, bits: 32 }));
    let ix = indices("format=none, dest_type=invalid, rounding_mode=rtz, saturate=true, legacy_fneg=1");
    assert_eq!((ix.format, ix.dest_type, ix.rounding), (None, None, Rounding::Zero));
    assert!(ix.saturate && ix.neg && !ix.abs);
    let ix = indices("atomic_op=xchg, reduction_op=umin, cluster_size=8");
    assert_eq!((ix.atomic_op, ix.cluster_size), (Some(Atomic::Exchange), 8));
    assert_eq!(ix.reduction_op.map(|op| &*op.name), Some("umin"));
}

#[test]
fn words_without_a_meaning_are_errors_with_their_place() {
    let index = |list: &str| {
        let diags = parse(&body(&format!("32 %5 = @load_ssbo (%1, %2) (range_base=0, {list})")))
            .expect_err(list)
            .list;
        let at = diags[0].primary.as_ref().expect("a place").0;
        (diags[0].message.clone(), (at.start, at.end), diags[0].helps.clone())
    };
    let start = body("").len() as u32 - 3 + "32 %5 = @load_ssbo (%1, %2) (range_base=0, ".len() as u32;
    for (list, message, from, near) in [
        ("access=coherant", "unknown access qualifier `coherant`", 7, "coherent"),
        ("access=none|volatil", "unknown access qualifier `volatil`", 12, "volatile"),
        ("atomic_op=xchng", "unknown atomic operation `xchng`", 10, "xchg"),
        ("reduction_op=iad", "unknown reduction operation `iad`", 13, "fadd"),
        ("image_dim=Cub", "unknown image dimension `Cub`", 10, "Cube"),
        ("mem_scope=DEVCE", "unknown scope `DEVCE`", 10, "DEVICE"),
        ("mem_semantics=ACQ|RELL", "unknown memory semantics `RELL`", 18, "REL"),
        ("mem_modes=ssbo|shard", "unknown variable mode `shard`", 15, "shared"),
        ("rounding_mode=rtzz", "unknown rounding mode `rtzz`", 14, "rtz"),
        ("base=x4", "unknown number `x4`", 5, ""),
        ("align_mul=99999999999", "unknown number `99999999999`", 10, ""),
        ("wrmask=xq", "unknown write mask `xq`", 7, ""),
        ("dest_type=float3x", "unknown type `float3x`", 10, ""),
    ] {
        let (got, span, helps) = index(list);
        assert_eq!(got, message);
        assert_eq!(span, (start + from, start + list.len() as u32), "{list}");
        let want = if near.is_empty() { vec![] } else { vec![format!("did you mean `{near}`?")] };
        if list != "reduction_op=iad" {
            assert_eq!(helps, want, "{list}");
        }
    }
    let e = parse(&body("32 %5 = @load_ssbo (%1, %2) (format=l8_unorm)")).expect_err("no such images");
    assert_eq!((e.fault(), e.to_string().as_str()), (Fault::Input, "unknown image format `l8_unorm`"));

    let at = |line: &str| error(&body(line));
    assert_eq!(
        at("vec1 32 ssa_1 = deref_var &x (shred uint)"),
        ("unknown variable mode `shred`".into(), "5:31".into())
    );
    assert_eq!(
        at("decl_var  INTERP_MODE_NONE float x = { 1.0.0 }"),
        ("unknown value `1.0.0`".into(), "5:40".into())
    );
    assert_eq!(
        at("decl_var shred INTERP_MODE_NONE float x"),
        ("unknown variable mode `shred`".into(), "5:10".into())
    );
    assert_eq!(
        at("32 %5 = (flat32)tex %1 (coord), 0 (texture)"),
        ("expected a type such as `float32`, found `flat32`".into(), "5:10".into())
    );
    assert_eq!(
        at("32 %5 = (float32)tex %1 (coord), 65536 (texture)").0,
        "unknown number of a texture, sampler or component `65536`"
    );
    assert_eq!(at("32 %5 = @load_ssbo (%1)"), ("`load_ssbo` takes 2 sources, not 1".into(), "5:10".into()));
    let stage = parse("shader: MESA_SHADER_COMPUT\nimpl main {\n}\n").expect_err("no stage");
    assert_eq!(stage.to_string(), "unknown shader stage `MESA_SHADER_COMPUT`");
    assert_eq!(stage.list[0].helps, ["did you mean `MESA_SHADER_COMPUTE`?"]);
}

#[test]
fn what_is_not_known_is_an_error_only_where_it_is_reached() {
    let text = body(
        "32 %5 = @frobnicate (%1) (base=frob)\n32 %6 = (float32)frob %1 (coord)\n\
         32 %7 = (float32)tex %1 (frob)\n32 %8 = (float32)samples_identical %1 (frob)",
    );
    let shader = parse(&text).expect("valid");
    let unknown: Vec<_> = nodes(&shader)
        .iter()
        .filter_map(|n| match n {
            Node::Unknown(id) => Some(shader.functions[0].unknown(*id)),
            _ => None,
        })
        .map(|u| (u.kind, u.name, &text[u.span.start as usize..u.span.end as usize]))
        .collect();
    assert_eq!(
        unknown,
        [
            (UnknownKind::Intrinsic, "frobnicate", "frobnicate"),
            (UnknownKind::TexOpcode, "frob", "frob"),
            (UnknownKind::TexRole, "frob", "%1 (frob)"),
        ]
    );
    assert_eq!(shader.stage, Stage::of("MESA_SHADER_COMPUTE").expect("a stage"));
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
