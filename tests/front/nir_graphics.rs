//! Graphics stages of NIR: what declarations, accesses and operations become, and what is refused.

use nvir::compiler::{Compiler, Distances, Domain, Options, Source, Spacing, StageOptions, TessInfo};
use nvir::ir::{Attribute, Ext, InterpMode, Op, Program};
use nvir::stage::{Semantic, Stage};
use nvir::{Chip, OptLevel};

const ZERO: &str = "vec1 32 ssa_0 = load_const (0x00000000)";

/// A shader of a stage with these header lines and declarations, and this code; `ssa_0` is zero.
fn text(stage: &str, head: &str, code: &str) -> String {
    format!(
        "shader: MESA_SHADER_{stage}\n{head}\ndecl_function main (0 params)\n\nimpl main {{\n\tblock block_0:\n\t{ZERO}\n{code}\n\
         \tblock block_1:\n}}\n"
    )
}

fn compiler(stage: StageOptions, level: OptLevel) -> Compiler {
    Compiler::new(Chip::Gk110).with_options(Options { stage, ..Options::at(level) })
}

/// The front-end's program; it compiles on all chips.
fn program_with(stage: StageOptions, text: &str) -> Program {
    for chip in Chip::ALL {
        for level in [OptLevel::O0, OptLevel::O3] {
            let mut options = Options { stage, ..Options::at(level) };
            options.debug.verify_each = true;
            let done = Compiler::new(chip).with_options(options).compile(&Source::nir(text));
            done.unwrap_or_else(|e| panic!("{chip} -O{level}: {e}\n{text}"));
        }
    }
    compiler(stage, OptLevel::O0).front(&Source::nir(text)).expect("it compiles")
}

fn program(text: &str) -> Program {
    program_with(StageOptions::default(), text)
}

fn error_with(stage: StageOptions, text: &str) -> String {
    compiler(stage, OptLevel::O0).front(&Source::nir(text)).expect_err("it is refused").to_string()
}

fn error(text: &str) -> String {
    error_with(StageOptions::default(), text)
}

/// The instructions of a program, without what numbers values; `v` is any value.
fn code(p: &Program) -> Vec<String> {
    let listing = p.to_string();
    let lines = listing.lines().filter(|l| l.starts_with("    ")).map(|l| {
        let mut out = String::new();
        let mut chars = l.trim().chars().peekable();
        while let Some(c) = chars.next() {
            if c == '%' {
                while chars.next_if(|c| c.is_ascii_alphanumeric()).is_some() {}
                out.push('v');
            } else {
                out.push(c);
            }
        }
        // What stands for "no result".
        out.replace(" #", "")
    });
    lines.collect()
}

fn has(p: &Program, wanted: &[&str]) {
    let all = code(p);
    for w in wanted {
        assert!(all.iter().any(|l| l == w), "no `{w}` in\n{}", all.join("\n"));
    }
}

fn count(p: &Program, start: &str) -> usize {
    code(p).iter().filter(|l| l.starts_with(start)).count()
}

fn interface(p: &Program) -> &nvir::ir::Interface {
    p.interface.as_deref().expect("a graphics stage has an interface")
}

fn attribute(semantic: Semantic, mask: u8, mode: InterpMode) -> Attribute {
    Attribute { mode, ..Attribute::new(semantic, mask) }
}

const TRIANGLES: StageOptions = StageOptions {
    tess: Some(TessInfo {
        vertices_out: 3,
        domain: Some(Domain::Triangles),
        spacing: Some(Spacing::FractionalOdd),
        ccw: false,
        point_mode: false,
    }),
    geometry: None,
    fragment: None,
    distances: None,
    clip_planes: 0,
    clip_vertex_read: false,
    flush_subnormals: false,
};

#[test]
fn comparisons_of_a_reduction_take_along_the_one_before() {
    let p = program(&text(
        "VERTEX",
        "decl_var shader_in INTERP_MODE_NONE vec4 a (VERT_ATTRIB_POS.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 p (VARYING_SLOT_POS.xyzw, 0, 0)",
        "\tvec4 32 ssa_1 = intrinsic load_input (ssa_0) (base=0, component=0, dest_type=float32, io location=0 slots=1)\n\
         \tvec1 1 ssa_2 = ball_fequal3 ssa_1.xyz, ssa_1.yzw\n\
         \tvec1 1 ssa_3 = bany_inequal2 ssa_1.xy, ssa_1.zw\n\
         \tvec1 64 ssa_5 = pack_64_2x32 ssa_1.xy\n\
         \tvec1 64 ssa_6 = pack_64_2x32 ssa_1.zw\n\
         \tvec2 64 ssa_7 = vec2 ssa_5, ssa_6\n\
         \tvec1 1 ssa_8 = ball_iequal2 ssa_7, ssa_7.yx\n\
         \tvec1 1 ssa_9 = iand ssa_2, ssa_3\n\
         \tvec1 1 ssa_10 = iand ssa_9, ssa_8\n\
         \tvec1 32 ssa_11 = b2f32 ssa_10\n\
         \tvec4 32 ssa_12 = vec4 ssa_11, ssa_11, ssa_11, ssa_11\n\
         \tintrinsic store_output (ssa_12, ssa_0) (base=0, wrmask=xyzw, component=0, src_type=float32, io location=0 slots=1)",
    ));
    let count = |start: &str| count(&p, start);
    // Integers of 64 bits are compared by words: theirs are joined by logic, as the three results are.
    assert_eq!(
        ["set.eq pred f32", "set.eq.and pred f32", "set.eq pred u32", "set.eq.and pred u32"].map(count),
        [1, 2, 1, 1]
    );
    assert_eq!(["set.eq pred u64", "and pred"].map(count), [2, 3]);
}

#[test]
fn a_comparison_that_others_read_takes_nothing_along() {
    let p = program(&text(
        "VERTEX",
        "decl_var shader_in INTERP_MODE_NONE vec4 a (VERT_ATTRIB_POS.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 p (VARYING_SLOT_POS.xyzw, 0, 0)",
        "\tvec4 32 ssa_1 = intrinsic load_input (ssa_0) (base=0, component=0, dest_type=float32, io location=0 slots=1)\n\
         \tvec2 1 ssa_2 = load_const (true, true)\n\
         \tvec1 1 ssa_3 = feq ssa_1.x, ssa_1.y\n\
         \tvec1 1 ssa_4 = flt ssa_1.z, ssa_1.w\n\
         \tvec2 1 ssa_5 = vec2 ssa_3, ssa_4\n\
         \tvec1 1 ssa_6 = ball_iequal2 ssa_5, ssa_2\n\
         \tvec1 32 ssa_7 = b2f32 ssa_4\n\
         \tvec1 32 ssa_8 = b2f32 ssa_6\n\
         \tvec4 32 ssa_9 = vec4 ssa_7, ssa_8, ssa_7, ssa_8\n\
         \tintrinsic store_output (ssa_9, ssa_0) (base=0, wrmask=xyzw, component=0, src_type=float32, io location=0 slots=1)",
    ));
    let count = |start: &str| count(&p, start);
    assert_eq!(["set.eq pred f32", "set.lt pred f32", "and pred"].map(count), [1; 3], "{p}");
}

#[test]
fn inputs_of_a_vertex_shader_lie_where_their_numbers_say_and_outputs_where_their_meanings_say() {
    let p = program(&text(
        "VERTEX",
        "decl_var shader_in INTERP_MODE_NONE vec2 b (VERT_ATTRIB_GENERIC3.zw, 1, 0)\n\
         decl_var shader_in INTERP_MODE_NONE vec4 a (VERT_ATTRIB_POS.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 p (VARYING_SLOT_POS.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4[3] c (VARYING_SLOT_VAR2.xyzw, 1, 0)\n\
         decl_var shader_out INTERP_MODE_NONE float s (VARYING_SLOT_PSIZ.x, 4, 0)",
        "\tvec1 32 ssa_1 = load_const (0x00000002)\n\
         \tvec4 32 ssa_2 = intrinsic load_input (ssa_0) (base=0, component=0, dest_type=float32 /*160*/, io location=0 slots=1 /*128*/)\n\
         \tvec2 32 ssa_3 = intrinsic load_input (ssa_0) (base=1, component=2, dest_type=float32, io location=18 slots=1)\n\
         \tvec1 32 ssa_4 = intrinsic load_vertex_id () ()\n\
         \tintrinsic store_output (ssa_2, ssa_0) (base=0, wrmask=xz /*5*/, component=0, src_type=float32, io location=0 slots=1)\n\
         \tintrinsic store_output (ssa_3, ssa_1) (base=1, wrmask=xy, component=1, src_type=float32, io location=34 slots=3)\n\
         \tintrinsic store_output (ssa_2, ssa_4) (base=1, wrmask=w, component=0, src_type=float32, io location=34 slots=3)\n\
         \tintrinsic store_output (ssa_2, ssa_0) (base=4, wrmask=xy, component=0, src_type=float32, io location=12 slots=1)",
    ));
    has(
        &p,
        &[
            "ld u32 v a[0x80 align 16]",
            "ld u32 v a[0x98 align 16+8]",
            "ld u32 v a[0x9c align 16+12]",
            "st u32 o[0x70 align 16] v",
            "st u32 o[0x78 align 16+8] v",
            "st u32 o[0xc4 align 16+4] v",
            "st u32 o[0xc8 align 16+8] v",
            "st u32 o[v+0xac align 16+12] v",
            "st u32 o[0x6c align 16+12] v",
        ],
    );
    // A point's size has one component.
    assert_eq!(count(&p, "st u32 o["), 6);
    let i = interface(&p);
    let flat = InterpMode::Flat;
    assert_eq!(
        i.inputs,
        [attribute(Semantic::Generic(0), 15, flat), attribute(Semantic::Generic(1), 12, flat)]
    );
    let outputs: Vec<_> = i.outputs.iter().map(|a| (a.semantic, a.mask)).collect();
    let generic = |n| (Semantic::Generic(n), 15);
    assert_eq!(
        outputs,
        [(Semantic::Position, 15), generic(2), generic(3), generic(4), (Semantic::PointSize, 1)]
    );
    assert_eq!((i.stage, &i.system[..]), (Stage::Vertex, &[Semantic::VertexId][..]));
}

#[test]
fn doubles_take_two_words_and_go_on_in_the_next_vector() {
    let p = program(&text(
        "VERTEX",
        "decl_var shader_in INTERP_MODE_NONE dvec3 a (VERT_ATTRIB_GENERIC0.xyz, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE dvec3 b (VARYING_SLOT_VAR0.xyz, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE double c (VARYING_SLOT_VAR5.z, 2, 0)",
        "\tvec3 64 ssa_1 = intrinsic load_input (ssa_0) (base=0, component=0, dest_type=float64, io location=15 slots=2)\n\
         \tintrinsic store_output (ssa_1, ssa_0) (base=0, wrmask=xz, component=0, src_type=float64, io location=32 slots=2)\n\
         \tvec1 64 ssa_2 = mov ssa_1.y\n\
         \tintrinsic store_output (ssa_2, ssa_0) (base=2, wrmask=x, component=2, src_type=float64, io location=37 slots=1)",
    ));
    has(
        &p,
        &[
            "ld u32 v a[0x94 align 16+4]",
            "st u32 o[0x80 align 16] v",
            "st u32 o[0x94 align 16+4] v",
            "st u32 o[0xdc align 16+12] v",
        ],
    );
    assert_eq!((count(&p, "ld u32"), count(&p, "st u32")), (6, 6));
    let masks: Vec<u8> = interface(&p).outputs.iter().map(|a| a.mask).collect();
    assert_eq!(masks, [15, 3, 12]);
}

const VARYINGS: &str = "decl_var shader_in INTERP_MODE_NONE vec4 a (VARYING_SLOT_VAR0.xyzw, 0, 0)\n\
     decl_var shader_in INTERP_MODE_NOPERSPECTIVE vec4 b (VARYING_SLOT_VAR1.xyzw, 1, 0)\n\
     decl_var shader_in INTERP_MODE_NONE vec4 c (VARYING_SLOT_COL0.xyzw, 2, 0)\n\
     decl_var centroid shader_in INTERP_MODE_SMOOTH vec4 d (VARYING_SLOT_COL1.xyzw, 3, 0)\n\
     decl_var shader_in INTERP_MODE_FLAT int e (VARYING_SLOT_PRIMITIVE_ID.x, 4, 0)\n\
     decl_var shader_in INTERP_MODE_NONE vec4 f (VARYING_SLOT_POS.xyzw, 5, 0)\n\
     decl_var shader_out INTERP_MODE_NONE vec4 o (FRAG_RESULT_DATA0.xyzw, 0, 0)";

fn interpolated(bary: &str, base: u32, location: u32) -> String {
    format!(
        "\tvec1 32 ssa_20 = load_const (0x3e800000)\n\tvec2 32 ssa_21 = vec2 ssa_20, ssa_0\n\
         \tvec2 32 ssa_1 = intrinsic {bary}\n\
         \tvec4 32 ssa_2 = intrinsic load_interpolated_input (ssa_1, ssa_0) (base={base}, component=0, dest_type=float32, io location={location} slots=1)\n\
         \tintrinsic store_output (ssa_2, ssa_0) (base=0, wrmask=xyzw, component=0, src_type=float32, io location=4 slots=1)"
    )
}

#[test]
fn inputs_of_a_fragment_shader_are_interpolated_as_declared() {
    for (bary, base, location, wanted) in [
        ("load_barycentric_pixel () (interp_mode=0)", 0, 32, "interp.persp.center f32 v a[0x80 align 16]"),
        ("load_barycentric_pixel () (interp_mode=3)", 1, 33, "interp.linear.center f32 v a[0x90 align 16]"),
        ("load_barycentric_pixel () (interp_mode=0)", 2, 1, "interp.color.center f32 v a[0x280 align 16]"),
        (
            "load_barycentric_centroid () (interp_mode=SMOOTH)",
            3,
            2,
            "interp.persp.centroid f32 v a[0x290 align 16]",
        ),
        ("load_barycentric_sample () (interp_mode=1)", 0, 32, "interp.persp.centroid f32 v a[0x80 align 16]"),
        ("load_barycentric_pixel () (interp_mode=0)", 5, 0, "interp.linear.center f32 v a[0x7c align 16+12]"),
        (
            "load_barycentric_at_offset (ssa_21) (interp_mode=0)",
            0,
            32,
            "interp.persp.offset f32 v a[0x80 align 16] 0x0 v",
        ),
        (
            "load_barycentric_at_sample (ssa_0) (interp_mode=3)",
            1,
            33,
            "interp.linear.offset f32 v a[0x90 align 16] 0x0 v",
        ),
    ] {
        has(&program(&text("FRAGMENT", VARYINGS, &interpolated(bary, base, location))), &[wanted]);
    }
    let code = "\tvec1 32 ssa_2 = intrinsic load_input (ssa_0) (base=4, component=0, dest_type=int32, io location=21 slots=1)\n\
         \tintrinsic store_output (ssa_2, ssa_0) (base=0, wrmask=x, component=0, src_type=int32, io location=4 slots=1)";
    let p = program(&text("FRAGMENT", VARYINGS, code));
    has(&p, &["interp.flat.center u32 v a[0x60 align 16]"]);
    let i = interface(&p);
    use InterpMode::{Color, Flat, Linear, Perspective};
    let modes: Vec<InterpMode> = i.inputs.iter().map(|a| a.mode).collect();
    assert_eq!(modes, [Perspective, Linear, Color, Perspective, Flat, Linear]);
    let centroid: Vec<bool> = i.inputs.iter().map(|a| a.centroid).collect();
    assert_eq!(centroid, [false, false, false, true, false, false]);
}

#[test]
fn a_fragment_shader_leaves_its_results_in_registers() {
    let head = "decl_var shader_out INTERP_MODE_NONE float d (FRAG_RESULT_DEPTH.x, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE int m (FRAG_RESULT_SAMPLE_MASK.x, 1, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 o (FRAG_RESULT_DATA3.xyzw, 2, 0)";
    let code = "\tvec4 32 ssa_1 = load_const (0x00000001, 0x00000002, 0x00000003, 0x00000004)\n\
         \tvec1 32 ssa_2 = load_const (0x40000000)\n\
         \tintrinsic store_output (ssa_2, ssa_0) (base=0, wrmask=x, component=0, src_type=float32, io location=0 slots=1)\n\
         \tintrinsic store_output (ssa_2, ssa_0) (base=1, wrmask=x, component=0, src_type=int32, io location=3 slots=1)\n\
         \tintrinsic store_output (ssa_1, ssa_0) (base=2, wrmask=xyw, component=0, src_type=float32, io location=7 slots=1)";
    let p = program(&text("FRAGMENT", head, code));
    let f = &p.funcs[p.entry];
    // The colour, without its third component; the mask; the depth, clamped.
    assert_eq!(f.result_regs, [0, 1, 3, 4, 5]);
    assert_eq!(count(&p, "cvt.sat f32"), 1);
    assert_eq!(
        interface(&p).outputs.iter().map(|a| a.semantic).collect::<Vec<_>>(),
        [Semantic::Depth, Semantic::SampleMask, Semantic::Color(3)]
    );
    // One colour for all targets, and two that are blended.
    let store = |base: u32, location: &str| {
        format!(
            "\tintrinsic store_output (ssa_0, ssa_0) (base={base}, wrmask=x, component=0, src_type=float32, io location={location})\n"
        )
    };
    let all = program(&text("FRAGMENT", "", &store(0, "2 slots=1")));
    assert_eq!(interface(&all).properties.color_everywhere, 1);
    let head = "decl_var shader_out INTERP_MODE_NONE vec4 x (FRAG_RESULT_DATA0.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 y (FRAG_RESULT_DATA0.xyzw, 1, 0)";
    let two = program(&text(
        "FRAGMENT",
        head,
        &(store(0, "4 slots=1") + &store(1, "FRAG_RESULT_DATA0 slots=1 dualsrc")),
    ));
    assert_eq!(two.funcs[two.entry].result_regs, [0, 4]);
    assert_eq!(
        interface(&two).outputs.iter().map(|a| a.semantic).collect::<Vec<_>>(),
        [Semantic::Color(0), Semantic::Color(1)]
    );
}

#[test]
fn what_is_killed_is_discarded_where_the_condition_holds() {
    let store = "\tintrinsic store_output (ssa_5, ssa_0) (base=0, wrmask=x, component=0, src_type=int32, io location=4 slots=1)";
    let face = "\tvec1 32 ssa_4 = intrinsic load_front_face () ()\n\tvec1 32 ssa_5 = inot ssa_4\n";
    for name in ["discard", "demote", "terminate"] {
        let p = program(&text("FRAGMENT", "", &format!("{face}\tintrinsic {name} () ()\n{store}")));
        has(&p, &["discard u32"]);
        let p = program(&text("FRAGMENT", "", &format!("{face}\tintrinsic {name}_if (ssa_4) ()\n{store}")));
        assert_eq!(
            code(&p).iter().filter(|l| l.ends_with("discard u32") && l.starts_with('@')).count(),
            1,
            "{:?}",
            code(&p)
        );
    }
    // Whether it was a helper from the start, and whether it is one now.
    let asks = |name| {
        let code = format!(
            "{face}\tintrinsic demote_if (ssa_4) ()\n\tvec1 32 ssa_6 = intrinsic {name} () ()\n\tvec1 32 ssa_7 = b2i32 ssa_6\n{}",
            store.replace("ssa_5", "ssa_7")
        );
        program(&text("FRAGMENT", "", &code))
    };
    assert_eq!(count(&asks("load_helper_invocation"), "and pred"), 0);
    assert!(count(&asks("is_helper_invocation"), "and pred") > 0);
}

#[test]
fn derivatives_are_differences_between_neighbours() {
    let code = "\tvec4 32 ssa_1 = intrinsic load_frag_coord () ()\n\tvec1 32 ssa_2 = fddx ssa_1.z\n\tvec1 32 ssa_3 = fddy_fine ssa_1.w\n\
         \tvec2 32 ssa_4 = vec2 ssa_2, ssa_3\n\
         \tintrinsic store_output (ssa_4, ssa_0) (base=0, wrmask=xy, component=0, src_type=float32, io location=4 slots=1)";
    let p = program(&text("FRAGMENT", "", code));
    assert_eq!(count(&p, "quadop"), 2);
    assert!(error(&text("VERTEX", "", "\tvec1 32 ssa_2 = fddx ssa_0")).contains("`fddx`"));

    // Later versions of Mesa have intrinsics.
    let later = code
        .replace("fddx ssa_1.z", "intrinsic ddx (ssa_5) ()")
        .replace("fddy_fine ssa_1.w", "intrinsic ddy_fine (ssa_6) ()");
    let later =
        later.replacen("() ()\n", "() ()\n\tvec1 32 ssa_5 = mov ssa_1.z\n\tvec1 32 ssa_6 = mov ssa_1.w\n", 1);
    let again = program(&text("FRAGMENT", "", &later));
    assert_eq!(self::code(&again), self::code(&p));
    let pair = "\tvec2 32 ssa_2 = vec2 ssa_0, ssa_0\n\tvec2 32 ssa_3 = intrinsic ddx_coarse (ssa_2) ()";
    assert_eq!(count(&program(&text("FRAGMENT", "", pair)), "quadop"), 2);
    assert!(error(&text("VERTEX", "", pair)).contains("`ddx_coarse`"));
    let wide = "\tvec1 64 ssa_2 = u2u64 ssa_0\n\tvec1 64 ssa_3 = intrinsic ddx (ssa_2) ()";
    assert!(error(&text("FRAGMENT", "", wide)).contains("`ddx`"));
}

const GEOMETRY: &str = "invocations: 2\nvertices in: 3\nvertices out: 6\ninput primitive: TRIANGLES\noutput primitive: TRIANGLE_STRIP\n\
     active_stream_mask: 0x1\nuses_end_primitive: 1\n\
     decl_var shader_in INTERP_MODE_NONE vec4[3] p (VARYING_SLOT_POS.xyzw, 0, 0)\n\
     decl_var shader_out INTERP_MODE_NONE vec4 q (VARYING_SLOT_POS.xyzw, 0, 0)";

const EMIT: &str = "\tvec1 32 ssa_1 = load_const (0x00000001)\n\tvec1 32 ssa_2 = intrinsic load_invocation_id () ()\n\
     \tvec4 32 ssa_3 = intrinsic load_per_vertex_input (ssa_2, ssa_0) (base=0, component=0, dest_type=float32, io location=0 slots=1)\n\
     \tvec1 32 ssa_4 = intrinsic load_per_vertex_input (ssa_1, ssa_0) (base=0, component=3, dest_type=float32, io location=0 slots=1)\n\
     \tintrinsic store_output (ssa_3, ssa_0) (base=0, wrmask=xyz, component=0, src_type=float32, io location=0 slots=1 gs_streams(x=0 y=0 z=0 w=0), xfb() /*0*/, xfb2() /*0*/)\n\
     \tintrinsic store_output (ssa_4, ssa_0) (base=0, wrmask=x, component=3, src_type=float32, io location=0 slots=1 gs_streams(x=0 y=0 z=0 w=0))\n\
     \tintrinsic emit_vertex () (stream_id=0)\n\
     \tintrinsic end_primitive () (stream_id=0)\n\tintrinsic end_primitive () (stream_id=1)";

#[test]
fn a_geometry_shader_hands_its_vertex_on() {
    let p = program(&text("GEOMETRY", GEOMETRY, EMIT));
    has(
        &p,
        &[
            "vertex u32 v 0x0 v",
            "vertex u32 v 0x1",
            "ld u32 v a(v+0)[0x70 align 16]",
            "st u32 o(v+0)[0x7c align 16+12] v",
            "emit.vertex u32 v v 0x0",
            "emit.cut u32 v v 0x0",
        ],
    );
    // Strips exist in stream 0 only.
    assert_eq!(count(&p, "emit"), 2);
    assert_eq!(p.funcs[p.entry].result_regs, [0]);
    let i = &interface(&p).properties;
    assert_eq!((i.vertices_in, i.max_vertices, i.invocations, i.strips), (3, 6, 2, 3));
    // With room for no vertex there is nothing to emit.
    let none = program(&text("GEOMETRY", &GEOMETRY.replace("vertices out: 6", "vertices out: 0"), EMIT));
    assert_eq!(count(&none, "emit.vertex"), 0);
    assert!(error(&text("GEOMETRY", "", EMIT)).contains("stage.geometry"));
}

const CONTROL: &str = "decl_var shader_in INTERP_MODE_NONE vec4[32] a (32.xyzw, 0, 0)\n\
     decl_var shader_out INTERP_MODE_NONE vec4[5] b (32.xyzw, 0, 0)\n\
     decl_var patch shader_out INTERP_MODE_NONE vec4 outer (26.xyzw, 1, 0)\n\
     decl_var patch shader_out INTERP_MODE_NONE vec2[2] c (65.xy, 2, 0)";

#[test]
fn a_control_shader_writes_its_own_vertex_and_reads_all() {
    let code = "\tvec1 32 ssa_1 = load_const (0x00000001)\n\tvec1 32 ssa_2 = intrinsic load_invocation_id () ()\n\
         \tvec4 32 ssa_3 = intrinsic load_per_vertex_input (ssa_2, ssa_0) (base=0, component=0, dest_type=float32, io location=32 slots=1)\n\
         \tintrinsic store_per_vertex_output (ssa_3, ssa_2, ssa_0) (base=0, wrmask=xyzw, component=0, src_type=float32, io location=32 slots=1)\n\
         \tintrinsic control_barrier () ()\n\tintrinsic memory_barrier_tcs_patch () ()\n\
         \tvec1 32 ssa_4 = intrinsic load_per_vertex_output (ssa_1, ssa_0) (base=0, component=2, dest_type=float32, io location=32 slots=1)\n\
         \tvec1 32 ssa_5 = intrinsic load_patch_vertices_in () ()\n\
         \tintrinsic store_output (ssa_4, ssa_1) (base=2, wrmask=x, component=1, src_type=float32, io location=65 slots=2)\n\
         \tvec1 32 ssa_6 = intrinsic load_output (ssa_2) (base=2, component=0, dest_type=float32, io location=65 slots=2)\n\
         \tintrinsic store_output (ssa_6, ssa_0) (base=1, wrmask=x, component=3, src_type=float32, io location=26 slots=1)\n\
         \tintrinsic store_output (ssa_5, ssa_0) (base=1, wrmask=x, component=0, src_type=int32, io location=26 slots=1)";
    let p = program(&text("TESS_CTRL", CONTROL, code));
    has(
        &p,
        &[
            "st u32 o[0x80 align 16] v",
            "bar.sync u32 0x0",
            "ld u32 v o(v+0)[0x88 align 16+8]",
            "st u32 q[0x44 align 16+4] v",
            "ld u32 v q[v+0x30 align 16]",
            "st u32 q[0xc align 16+12] v",
        ],
    );
    let i = interface(&p);
    assert_eq!(i.properties.vertices_out, 5);
    let outputs: Vec<_> = i.outputs.iter().map(|a| (a.semantic, a.mask, a.read_back)).collect();
    assert_eq!(
        outputs,
        [
            (Semantic::Generic(0), 15, true),
            (Semantic::TessOuter, 15, false),
            (Semantic::Patch(1), 3, true),
            (Semantic::Patch(2), 3, true)
        ]
    );
    // Where no output of a vertex is declared, the text does not say how many vertices there are.
    let store = "\tintrinsic store_output (ssa_0, ssa_0) (base=1, wrmask=x, component=0, src_type=float32, io location=26 slots=1)";
    let silent = text("TESS_CTRL", "", store);
    assert!(error(&silent).contains("stage.tess.vertices_out"));
    assert_eq!(interface(&program_with(TRIANGLES, &silent)).properties.vertices_out, 3);
    let said = text("TESS_CTRL", "tcs_vertices_out: 7", store);
    assert_eq!(interface(&program_with(TRIANGLES, &said)).properties.vertices_out, 7);
}

#[test]
fn an_evaluation_shader_must_know_what_a_patch_is_divided_into_for_its_third_coordinate() {
    let code = |component| {
        format!(
            "\tvec3 32 ssa_1 = intrinsic load_tess_coord () ()\n\tvec4 32 ssa_2 = intrinsic load_tess_level_outer () ()\n\
             \tvec2 32 ssa_3 = intrinsic load_input (ssa_0) (base=1, component=0, dest_type=float32, io location=67 slots=1)\n\
             \tvec1 32 ssa_4 = intrinsic load_primitive_id () ()\n\
             \tvec4 32 ssa_5 = vec4 ssa_1.{component}, ssa_2.w, ssa_3.y, ssa_4\n\
             \tintrinsic store_output (ssa_5, ssa_0) (base=0, wrmask=xyzw, component=0, src_type=float32, io location=0 slots=1)"
        )
    };
    let head = "decl_var patch shader_in INTERP_MODE_NONE vec2 c (67.xy, 1, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 p (0.xyzw, 0, 0)";
    let p = program(&text("TESS_EVAL", head, &code("y")));
    has(
        &p,
        &[
            "rdsv u32 v sv[tesscoord.y]",
            "ld u32 v p[0xc align 16+12]",
            "ld u32 v p[0x54 align 16+4]",
            "rdsv u32 v sv[primid]",
        ],
    );
    let third = text("TESS_EVAL", head, &code("z"));
    assert!(error(&third).contains("stage.tess.domain"));
    let p = interface(&program_with(TRIANGLES, &third)).properties;
    assert_eq!((p.tess_domain, p.tess_spacing, p.tess_cw, p.tess_points), (1, 2, 1, 0));
    let newer = text(
        "TESS_EVAL",
        &format!("primitive_mode: 2\ntcs_vertices_out: 4\nspacing: 3\nccw: true\n{head}"),
        &code("z"),
    );
    let p = interface(&program(&newer)).properties;
    assert_eq!((p.tess_domain, p.tess_spacing, p.tess_cw), (2, 3, 0));
}

#[test]
fn clip_planes_and_distances() {
    let head = "decl_var shader_out INTERP_MODE_NONE vec4 p (VARYING_SLOT_POS.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 v (VARYING_SLOT_CLIP_VERTEX.xyzw, 1, 0)";
    let store = |base: u32, location: u32, mask: &str| {
        format!(
            "\tintrinsic store_output (ssa_1, ssa_0) (base={base}, wrmask={mask}, component=0, src_type=float32, io location={location} slots=1)\n"
        )
    };
    let input = "\tvec4 32 ssa_1 = intrinsic load_input (ssa_0) (base=0, component=0, dest_type=float32, io location=0 slots=1)\n";
    let code = format!("{input}{}{}", store(0, 0, "xyzw"), store(1, 16, "xyzw"));
    let planes = StageOptions { clip_planes: 5, ..StageOptions::default() };
    let p = program_with(planes, &text("VERTEX", head, &code));
    has(&p, &["mul f32 v v c15[0x120]", "st u32 o[0x2d0 align 16] v"]);
    // The clip vertex itself stays.
    assert_eq!((count(&p, "st u32 o["), interface(&p).properties.clip_planes), (4 + 5, 5));
    assert_eq!(count(&program(&text("VERTEX", head, &code)), "st u32 o["), 4);
    // What writes distances gets no planes.
    let distances = text("VERTEX", "", &format!("{input}{}{}", store(0, 17, "xyzw"), store(1, 18, "xy")));
    let p = program_with(planes, &distances);
    let i = &interface(&p).properties;
    assert_eq!((i.clip_planes, i.clip_distances, i.cull_distances), (0, 6, 0));
    let told = StageOptions { distances: Some(Distances { clip: 4, cull: 2 }), ..planes };
    let p = program_with(told, &distances);
    let i = &interface(&p).properties;
    assert_eq!((i.clip_distances, i.cull_distances), (4, 2));
}

#[test]
fn what_a_stage_does_not_have_is_refused_by_name() {
    let one = |name: &str| format!("\tvec1 32 ssa_1 = intrinsic {name} () ()");
    for (stage, name) in [
        ("FRAGMENT", "load_vertex_id"),
        ("VERTEX", "load_front_face"),
        ("VERTEX", "load_workgroup_index"),
        ("VERTEX", "load_primitive_id"),
        ("FRAGMENT", "load_invocation_id"),
        ("TESS_EVAL", "load_sample_id"),
        ("COMPUTE", "load_draw_id"),
    ] {
        let message = error(&text(stage, "", &one(name)));
        assert!(message.contains(&format!("`{name}` does not exist in a ")), "{message}");
    }
    for (stage, line, wanted) in [
        ("VERTEX", "intrinsic discard () ()", "`discard` does not exist in a vert shader"),
        ("VERTEX", "intrinsic emit_vertex () (stream_id=0)", "`emit_vertex`"),
        (
            "COMPUTE",
            "intrinsic store_output (ssa_0, ssa_0) (base=0, wrmask=x, io location=0 slots=1)",
            "`store_output`",
        ),
        (
            "VERTEX",
            "intrinsic store_output (ssa_0, ssa_0) (base=0, wrmask=x, io location=70 slots=1)",
            "no output at location 70",
        ),
        (
            "VERTEX",
            "intrinsic store_output (ssa_0, ssa_0) (base=0, wrmask=x, io location=19 slots=1)",
            "no output at location 19",
        ),
        (
            "FRAGMENT",
            "intrinsic store_output (ssa_0, ssa_0) (base=0, wrmask=x, io location=1 slots=1)",
            "stencil",
        ),
        ("FRAGMENT", "vec1 32 ssa_1 = intrinsic load_view_index () ()", "`load_view_index`"),
        (
            "FRAGMENT",
            "vec1 16 ssa_1 = intrinsic load_input (ssa_0) (base=0, component=0, io location=32 slots=1)",
            "16 bits",
        ),
        (
            "FRAGMENT",
            "vec2 32 ssa_2 = vec2 ssa_0, ssa_0\n\tvec1 32 ssa_1 = intrinsic load_interpolated_input (ssa_2, ssa_0) \
             (base=0, io location=32 slots=1)",
            "load_barycentric",
        ),
        (
            "VERTEX",
            "vec1 32 ssa_1 = intrinsic load_shared (ssa_0) (base=0, align_mul=4, align_offset=0)",
            "`shared memory`",
        ),
        ("GEOMETRY", "intrinsic control_barrier () ()", "`a barrier of a block`"),
        ("VERTEX", "vec1 32 ssa_1 = intrinsic get_ubo_size (ssa_0) ()", "`get_ubo_size`"),
        ("MESH", "intrinsic nop () ()", "MESA_SHADER_MESH"),
    ] {
        let head = if stage == "GEOMETRY" { GEOMETRY } else { "" };
        let message = error(&text(stage, head, &format!("\t{line}")));
        assert!(message.contains(wanted), "{message}");
    }
    let indexed = "\tvec1 32 ssa_1 = intrinsic load_front_face () ()\n\
         \tintrinsic store_output (ssa_0, ssa_1) (base=0, wrmask=x, io location=4 slots=4)";
    assert!(error(&text("FRAGMENT", "", indexed)).contains("no index"));
    assert!(error("shader: MESA_SHADER_VERTEX\nimpl main {\n\tblock block_0:\n\tintrinsic store_output () (io location=NOWHERE slots=1)\n}").contains("NOWHERE"));
}

#[test]
fn textures_give_the_components_that_are_read() {
    let head = "decl_var uniform INTERP_MODE_NONE sampler2D s (0, 0, 0)";
    let code = "\tvec4 32 ssa_1 = intrinsic load_frag_coord () ()\n\tvec2 32 ssa_2 = vec2 ssa_1.x, ssa_1.y\n\
         \tvec4 32 ssa_3 = (float32)tex ssa_2 (coord), 0 (texture), 0 (sampler)\n\tvec2 32 ssa_4 = vec2 ssa_3.w, ssa_3.y\n\
         \tintrinsic store_output (ssa_4, ssa_0) (base=0, wrmask=xy, component=0, src_type=float32, io location=4 slots=1)";
    let text = text("FRAGMENT", head, code);
    program(&text);
    let p = compiler(StageOptions::default(), OptLevel::O3)
        .optimised(&Source::nir(&text), &mut Default::default())
        .expect("it compiles");
    let f = &p.funcs[p.entry];
    let texture = f.insts_in_order().map(|(_, i)| &f.insts[i]).find(|i| i.op == Op::Tex).expect("a texture");
    let Some(Ext::Tex(t)) = texture.ext.as_deref() else { panic!("what it reads") };
    assert_eq!((t.mask, texture.dsts.len()), (0b1010, 2));
}

#[test]
fn a_store_without_a_mask_declares_what_it_stores() {
    let p = program(&text(
        "VERTEX",
        "",
        "\tvec2 32 ssa_1 = load_const (0x00000000, 0x3f800000)\n\
         \tintrinsic store_output (ssa_1, ssa_0) (base=0, component=2, io location=32 slots=1)\n\
         \tvec3 32 ssa_2 = vec3 ssa_1.x, ssa_1.y, ssa_0\n\
         \tintrinsic store_output (ssa_2, ssa_0) (base=1, io location=33 slots=1)\n\
         \tintrinsic store_output (ssa_0, ssa_0) (base=2, component=1, io location=34 slots=1)",
    ));
    assert_eq!(interface(&p).outputs.iter().map(|a| a.mask).collect::<Vec<_>>(), [12, 7, 2]);
}

// ---- derefs of inputs and outputs, as state trackers leave them to the driver

/// The program of code with derefs is that of code with offsets.
fn same(options: StageOptions, stage: &str, head: &str, derefs: &str, offsets: &str) -> Program {
    let [a, b] = [derefs, offsets].map(|code| program_with(options, &text(stage, head, code)));
    assert_eq!(code(&a), code(&b));
    let interfaces = [&a, &b].map(|p| format!("{:?}", interface(p)));
    assert_eq!(interfaces[0], interfaces[1]);
    a
}

#[test]
fn derefs_are_summed_in_vectors_of_the_variable() {
    let p = same(
        StageOptions::default(),
        "VERTEX",
        "struct light {\n   dvec3 at;\n   mat2 turn;\n   float power;\n}\n\
         decl_var shader_in INTERP_MODE_NONE int[4] n (VERT_ATTRIB_GENERIC2.x, 3, 0)\n\
         decl_var shader_out INTERP_MODE_NONE light[3] l (VARYING_SLOT_VAR4, 1, 0)",
        "\tvec1 32 ssa_1 = intrinsic load_vertex_id () ()\n\
         \tvec1 32 ssa_2 = deref_var &n (shader_in int[4]) \n\
         \tvec1 32 ssa_3 = deref_array &(*ssa_2)[2] (shader_in int) /* &n[2] */\n\
         \tvec1 32 ssa_4 = intrinsic load_deref (ssa_3) (access=0)\n\
         \tvec1 32 ssa_5 = deref_var &l (shader_out light[3]) \n\
         \tvec1 32 ssa_6 = deref_array &(*ssa_5)[1] (shader_out light) \n\
         \tvec1 32 ssa_7 = deref_struct &ssa_6->power (shader_out float) \n\
         \tintrinsic store_deref (ssa_7, ssa_4) (wrmask=x /*1*/, access=0)\n\
         \tvec1 32 ssa_8 = deref_array &(*ssa_5)[ssa_1] (shader_out light) \n\
         \tvec1 32 ssa_9 = deref_struct &ssa_8->turn (shader_out mat2) \n\
         \tvec1 32 ssa_10 = deref_array &(*ssa_9)[1] (shader_out vec2) \n\
         \tvec2 32 ssa_11 = vec2 ssa_4, ssa_1\n\
         \tintrinsic store_deref (ssa_10, ssa_11) (wrmask=y /*2*/, access=0)",
        "\tvec1 32 ssa_1 = intrinsic load_vertex_id () ()\n\
         \tvec1 32 ssa_2 = load_const (0x00000002)\n\
         \tvec1 32 ssa_4 = intrinsic load_input (ssa_2) (base=3, component=0, io location=17 slots=4)\n\
         \tvec1 32 ssa_5 = load_const (0x00000009)\n\
         \tintrinsic store_output (ssa_4, ssa_5) (base=1, wrmask=x, component=0, io location=36 slots=15)\n\
         \tvec2 32 ssa_11 = vec2 ssa_4, ssa_1\n\
         \tvec1 32 ssa_6 = load_const (0x00000005)\n\
         \tvec1 32 ssa_7 = imul ssa_1, ssa_6\n\
         \tvec1 32 ssa_8 = load_const (0x00000003)\n\
         \tvec1 32 ssa_9 = iadd ssa_7, ssa_8\n\
         \tintrinsic store_output (ssa_11, ssa_9) (base=1, wrmask=y, component=0, io location=36 slots=15)",
    );
    // Position of a dvec3, two columns, a float; three times.
    let masks: Vec<_> = interface(&p).outputs.iter().map(|a| a.mask).collect();
    // The index may lead to any vector.
    assert_eq!(masks, [15, 3, 3, 3, 3].repeat(3));
}

#[test]
fn the_index_of_a_vertex_is_an_operand_of_its_own() {
    same(
        TRIANGLES,
        "TESS_CTRL",
        "decl_var shader_in INTERP_MODE_NONE vec4[2][32] a (32, 0, 0)\n\
         decl_var patch shader_out INTERP_MODE_NONE vec4 outer (26.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4[3] o (33.xyzw, 1, 0)",
        "\tvec1 32 ssa_1 = intrinsic load_invocation_id () ()\n\
         \tvec1 32 ssa_2 = deref_var &a (shader_in vec4[2][32]) \n\
         \tvec1 32 ssa_3 = deref_array &(*ssa_2)[1] (shader_in vec4[32]) \n\
         \tvec1 32 ssa_4 = deref_array &(*ssa_3)[ssa_1] (shader_in vec4) \n\
         \tvec4 32 ssa_5 = intrinsic load_deref (ssa_4) (access=0)\n\
         \tvec1 32 ssa_6 = deref_var &o (shader_out vec4[3]) \n\
         \tvec1 32 ssa_7 = deref_array &(*ssa_6)[ssa_1] (shader_out vec4) \n\
         \tintrinsic store_deref (ssa_7, ssa_5) (wrmask=xyzw /*15*/, access=0)\n\
         \tvec1 32 ssa_8 = deref_array &(*ssa_6)[2] (shader_out vec4) \n\
         \tvec4 32 ssa_9 = intrinsic load_deref (ssa_8) (access=0)\n\
         \tvec1 32 ssa_10 = deref_var &outer (shader_out vec4) \n\
         \tintrinsic store_deref (ssa_10, ssa_9) (wrmask=xyzw /*15*/, access=0)",
        "\tvec1 32 ssa_1 = intrinsic load_invocation_id () ()\n\
         \tvec1 32 ssa_2 = load_const (0x00000001)\n\
         \tvec1 32 ssa_3 = load_const (0x00000002)\n\
         \tvec4 32 ssa_5 = intrinsic load_per_vertex_input (ssa_2, ssa_1) (base=0, component=0, io location=32 slots=32)\n\
         \tintrinsic store_per_vertex_output (ssa_5, ssa_1, ssa_0) (base=1, wrmask=xyzw, component=0, io location=33 slots=1)\n\
         \tvec4 32 ssa_9 = intrinsic load_per_vertex_output (ssa_3, ssa_0) (base=1, component=0, io location=33 slots=1)\n\
         \tintrinsic store_output (ssa_9, ssa_0) (base=0, wrmask=xyzw, component=0, io location=26 slots=1)",
    );
}

#[test]
fn inputs_behind_derefs_are_interpolated_as_declared_or_where_the_code_says() {
    let read = |n: u32, name: &str, ty: &str| {
        format!(
            "\tvec1 32 ssa_{n} = deref_var &{name} (shader_in {ty}) \n\
             \tvec1 32 ssa_{} = intrinsic load_deref (ssa_{n}) (access=0)\n",
            n + 1
        )
    };
    let sum = "\tvec4 32 ssa_20 = vec4 ssa_2, ssa_4, ssa_6, ssa_8\n";
    let derefs = format!(
        "{}{}{}\tvec2 32 ssa_10 = load_const (0x3e800000, 0x3e800000)\n\
         \tvec1 32 ssa_7 = deref_var &s (shader_in float) \n\
         \tvec1 32 ssa_8 = intrinsic interp_deref_at_offset (ssa_7, ssa_10) ()\n{sum}\
         \tvec1 32 ssa_21 = deref_var &color (shader_out vec4) \n\
         \tintrinsic store_deref (ssa_21, ssa_20) (wrmask=xyzw /*15*/, access=0)",
        read(1, "s", "float"),
        read(3, "i", "int"),
        read(5, "c", "float"),
    );
    let load = |n: u32, at: &str, base: u32| {
        format!(
            "\tvec1 32 ssa_{n} = intrinsic load_interpolated_input ({at}, ssa_0) (base={base}, component=0, io location={} slots=1)\n",
            32 + base
        )
    };
    let offsets = format!(
        "\tvec2 32 ssa_11 = intrinsic load_barycentric_pixel () (interp_mode=0)\n{}\
         \tvec1 32 ssa_4 = intrinsic load_input (ssa_0) (base=1, component=0, io location=33 slots=1)\n\
         \tvec2 32 ssa_12 = intrinsic load_barycentric_centroid () (interp_mode=3)\n{}\
         \tvec2 32 ssa_10 = load_const (0x3e800000, 0x3e800000)\n\
         \tvec2 32 ssa_13 = intrinsic load_barycentric_at_offset (ssa_10) (interp_mode=0)\n{}{sum}\
         \tintrinsic store_output (ssa_20, ssa_0) (base=0, wrmask=xyzw, component=0, io location=4 slots=1)",
        load(2, "ssa_11", 0),
        load(6, "ssa_12", 2),
        load(8, "ssa_13", 0),
    );
    same(
        StageOptions::default(),
        "FRAGMENT",
        "decl_var shader_in INTERP_MODE_NONE float s (VARYING_SLOT_VAR0.x, 0, 0)\n\
         decl_var shader_in INTERP_MODE_FLAT int i (VARYING_SLOT_VAR1.x, 1, 0)\n\
         decl_var centroid shader_in INTERP_MODE_NOPERSPECTIVE float c (VARYING_SLOT_VAR2.x, 2, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 color (FRAG_RESULT_DATA0.xyzw, 0, 0)",
        &derefs,
        &offsets,
    );
}

#[test]
fn of_two_results_at_one_location_the_later_is_the_second_colour() {
    let p = program(&text(
        "FRAGMENT",
        "decl_var shader_out INTERP_MODE_NONE vec4 b (FRAG_RESULT_DATA0.xyzw, 1, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 a (FRAG_RESULT_DATA0.xyzw, 0, 0)",
        "\tvec4 32 ssa_1 = load_const (0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000)\n\
         \tvec1 32 ssa_2 = deref_var &a (shader_out vec4) \n\
         \tintrinsic store_deref (ssa_2, ssa_1) (wrmask=xyzw /*15*/, access=0)\n\
         \tvec1 32 ssa_3 = deref_var &b (shader_out vec4) \n\
         \tintrinsic store_deref (ssa_3, ssa_1) (wrmask=xyzw /*15*/, access=0)",
    ));
    let outputs: Vec<_> = interface(&p).outputs.iter().map(|a| a.semantic).collect();
    assert_eq!(outputs, [Semantic::Color(0), Semantic::Color(1)]);
}

#[test]
fn a_clip_vertex_leaves_a_stage_that_another_may_read_it_behind() {
    let shader = text(
        "VERTEX",
        "decl_var shader_out INTERP_MODE_NONE vec4 c (VARYING_SLOT_CLIP_VERTEX.xyzw, 0, 0)",
        "\tvec4 32 ssa_1 = load_const (0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000)\n\
         \tvec1 32 ssa_2 = deref_var &c (shader_out vec4) \n\
         \tintrinsic store_deref (ssa_2, ssa_1) (wrmask=xyzw /*15*/, access=0)",
    );
    let stores = |clip_vertex_read: bool, planes: u8| {
        let options = StageOptions { clip_planes: planes, clip_vertex_read, ..StageOptions::default() };
        count(&program_with(options, &shader), "st u32 o[0x27")
    };
    assert_eq!((stores(true, 0), stores(true, 2), stores(false, 0)), (4, 0, 0));
    // TGSI says itself what follows.
    let tgsi = |next: &str| {
        let text =
            format!("VERT\n{next}DCL IN[0]\nDCL OUT[0], CLIPVERTEX\n  0: MOV OUT[0], IN[0]\n  1: END\n");
        count(
            &compiler(StageOptions::default(), OptLevel::O0)
                .front(&Source::tgsi(&text))
                .expect("it compiles"),
            "st u32 o[0x27",
        )
    };
    let next = ["", "PROPERTY NEXT_SHADER FRAG\n", "PROPERTY NEXT_SHADER GEOM\n"].map(tgsi);
    assert_eq!(next, [0, 0, 4]);
}

#[test]
fn derefs_that_lead_nowhere_are_refused() {
    let store = |ty: &str, deref: &str| {
        error(&text(
            "VERTEX",
            &format!("decl_var shader_out INTERP_MODE_NONE {ty} x (VARYING_SLOT_VAR0, 0, 0)"),
            &format!(
                "\tvec1 32 ssa_1 = deref_var &x (shader_out {ty}) \n{deref}\
                 \tintrinsic store_deref (ssa_2, ssa_0) (wrmask=x /*1*/, access=0)"
            ),
        ))
    };
    let unknown = store("shape", "\tvec1 32 ssa_2 = deref_struct &ssa_1->size (shader_out float) \n");
    assert!(unknown.contains("the layout of this structure is not in the text"), "{unknown}");
    let cast = store("float", "\tvec1 32 ssa_2 = deref_cast (float *)ssa_1 (shader_out float) \n");
    assert!(cast.contains("pointers to inputs and outputs lead to variables"), "{cast}");
    let copy = error(&text(
        "VERTEX",
        "decl_var shader_in INTERP_MODE_NONE vec4[2] a (VERT_ATTRIB_GENERIC0.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4[2] b (VARYING_SLOT_VAR0.xyzw, 0, 0)",
        "\tvec1 32 ssa_1 = deref_var &a (shader_in vec4[2]) \n\
         \tvec1 32 ssa_2 = deref_var &b (shader_out vec4[2]) \n\
         \tintrinsic copy_deref (ssa_2, ssa_1) (dst_access=0, src_access=0)",
    ));
    assert!(copy.contains("copies of whole inputs and outputs"), "{copy}");
    // Structures that nest without end, or become more vectors than there are numbers.
    for (structs, ty) in
        [("struct ring {\n   ring next;\n   float f;\n}\n", "ring"), ("", "vec4[65536][65536]")]
    {
        let step = match ty {
            "ring" => "\tvec1 32 ssa_2 = deref_struct &ssa_1->f (shader_out float) \n",
            _ => {
                "\tvec1 32 ssa_3 = deref_array &(*ssa_1)[1] (shader_out vec4[65536]) \n\
                  \tvec1 32 ssa_4 = deref_array &(*ssa_3)[1] (shader_out vec4) \n"
            }
        };
        let last = if ty == "ring" { "ssa_2, ssa_0) (wrmask=x" } else { "ssa_4, ssa_5) (wrmask=xyzw" };
        let message = error(&text(
            "VERTEX",
            &format!("{structs}decl_var shader_out INTERP_MODE_NONE {ty} x (VARYING_SLOT_VAR0, 0, 0)"),
            &format!(
                "\tvec4 32 ssa_5 = load_const (0x0, 0x0, 0x0, 0x0)\n\tvec1 32 ssa_1 = deref_var &x (shader_out {ty}) \n{step}\
                 \tintrinsic store_deref ({last}, access=0)"
            ),
        ));
        assert!(message.contains("not in the text") || message.contains("does not say"), "{message}");
    }
}

#[test]
fn what_nobody_reads_may_lie_anywhere() {
    // Uniforms of subroutines' types, and variables of assembly programs, which have no names.
    program(&text(
        "VERTEX",
        "decl_var uniform INTERP_MODE_NONE getcolor[2] s (0, 0, 0)\n\
         decl_var uniform INTERP_MODE_NONE vec4[7]  (0, 0, 0)",
        "\tvec1 32 ssa_1 = deref_var &s (uniform getcolor[2]) \n\
         \tvec1 32 ssa_2 = deref_array &(*ssa_1)[1] (uniform getcolor) \n\
         \tvec1 32 ssa_3 = deref_var & (uniform vec4[7]) \n\
         \tvec4 32 ssa_4 = intrinsic load_uniform (ssa_0) (base=0, range=7, dest_type=float32 /*160*/)",
    ));
}

/// Mesa 23.1 and later make uniforms a block, in front of the others.
#[test]
fn the_first_uniform_block_may_be_the_default_one() {
    let body = |uniform: &str, block: &str| {
        format!(
            "\tvec1 32 ssa_1 = load_const (0x00000010)\n\
             \tvec1 32 ssa_2 = load_const (0x00000001)\n\
             \tvec1 32 ssa_3 = load_const (0x00000002)\n\
             \tvec4 32 ssa_4 = intrinsic {uniform}\n\
             \tvec4 32 ssa_5 = intrinsic load_ubo ({block}, ssa_1) (access=0, align_mul=16, align_offset=0, range_base=0, range=32)\n\
             \tvec4 32 ssa_6 = fadd ssa_4, ssa_5\n\
             \tvec1 32 ssa_7 = deref_var &p (shader_out vec4) \n\
             \tintrinsic store_deref (ssa_7, ssa_6) (wrmask=xyzw, access=0)"
        )
    };
    let out = "decl_var shader_out INTERP_MODE_NONE vec4 p (VARYING_SLOT_POS.xyzw, 0, 0)";
    let before = body("load_uniform (ssa_0) (base=1, range=1, dest_type=float32)", "ssa_2");
    let later = "load_ubo (ssa_0, ssa_1) (access=0, align_mul=16, align_offset=0, range_base=0, range=32)";
    let later = body(later, "ssa_3");
    let before = program(&text("VERTEX", out, &before));
    let with = |value: &str| {
        let text = text("VERTEX", out, &later);
        text.replacen('\n', &format!("\nfirst_ubo_is_default_ubo: {value}\n"), 1)
    };
    assert_eq!(code(&program(&with("true"))), code(&before));
    assert_ne!(code(&program(&with("false"))), code(&before));

    // A block by a number that is not known: one of those that follow.
    let number =
        "vec1 32 ssa_8 = intrinsic load_vertex_id () ()\n\tvec4 32 ssa_5 = intrinsic load_ubo (ssa_8,";
    let text = with("true").replace("vec4 32 ssa_5 = intrinsic load_ubo (ssa_3,", number);
    let listing = code(&program(&text)).join("\n");
    assert!(listing.contains("sub u32 v v 0x1\nld u32 v u(v+0)[0x10 align 16]"), "{listing}");
}

#[test]
fn a_driver_may_have_subnormal_numbers_flushed() {
    let shader = text(
        "FRAGMENT",
        "decl_var shader_in INTERP_MODE_NONE vec4 v (VARYING_SLOT_VAR0.xyzw, 0, 0)\n\
         decl_var shader_out INTERP_MODE_NONE vec4 color (FRAG_RESULT_DATA0.xyzw, 0, 0)",
        "\tvec1 32 ssa_1 = deref_var &v (shader_in vec4) \n\
         \tvec4 32 ssa_2 = intrinsic load_deref (ssa_1) (access=0)\n\
         \tvec1 32 ssa_3 = fmul ssa_2.x, ssa_2.y\n\
         \tvec1 32 ssa_4 = fmax ssa_2.z, ssa_2.w\n\
         \tvec1 32 ssa_5 = fdiv ssa_2.x, ssa_2.z\n\
         \tvec1  1 ssa_6 = flt ssa_2.x, ssa_2.w\n\
         \tvec1 32 ssa_7 = b2f32 ssa_6\n\
         \tvec4 32 ssa_8 = vec4 ssa_3, ssa_4, ssa_5, ssa_7\n\
         \tvec1 32 ssa_9 = deref_var &color (shader_out vec4) \n\
         \tintrinsic store_deref (ssa_9, ssa_8) (wrmask=xyzw /*15*/, access=0)",
    );
    for chip in Chip::ALL {
        let sass = |flush_subnormals: bool| {
            let stage = StageOptions { flush_subnormals, ..StageOptions::default() };
            let options = Options { stage, ..Options::default() };
            let done = Compiler::new(chip)
                .with_options(options)
                .compile(&Source::nir(&shader))
                .expect("it compiles");
            let text = nvir::image::listing::print(chip, &[done.kernel()], Default::default());
            text.lines().map(|l| l.trim().to_string()).collect::<Vec<_>>()
        };
        let lines = |all: &[String], start: &str| all.iter().filter(|l| l.starts_with(start)).count();
        let (kept, flushed) = (sass(false), sass(true));
        assert!(!kept.iter().any(|l| l.contains(".FTZ")), "{chip}: {kept:#?}");
        // Two products, of which one is the quotient's, and a comparison; what picks a number takes its bits.
        assert_eq!((lines(&flushed, "FMUL.FTZ"), lines(&flushed, "FMNMX ")), (2, 1), "{chip}: {flushed:#?}");
        assert!(flushed.iter().any(|l| l.starts_with("FSET") && l.contains(".FTZ")), "{chip}: {flushed:#?}");
    }
}

#[test]
fn atomics_of_helpers_give_the_same_value_twice() {
    let shader = |within: bool| {
        let atomic = "\tvec1 32 ssa_2 = intrinsic ssbo_atomic_umax (ssa_0, ssa_0, ssa_1) (access=0)\n\
             \tvec1  1 ssa_3 = ieq ssa_2, ssa_1\n";
        let (open, close) = match within {
            true => (
                "\tloop {\n\tblock block_2:\n",
                "\tif ssa_3 {\n\tblock block_3:\n\tbreak\n\t} else {\n\tblock block_4:\n\t}\n\t}\n",
            ),
            false => ("", ""),
        };
        text("FRAGMENT", "", &format!("\tvec1 32 ssa_1 = load_const (0x00000001)\n{open}{atomic}{close}"))
    };
    for (within, asks) in [(true, 1), (false, 0)] {
        let p = program(&shader(within));
        assert_eq!(count(&p, "rdsv u32 v sv[threadkill]"), asks, "{}", code(&p).join("\n"));
    }
}
