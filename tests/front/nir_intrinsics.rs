//! Every intrinsic of NIR is lowered, on every chip, or refused by its name; which ones are refused stands here.
//!
//! `tests/data/nir/intrinsics.tsv` lists them with their sources, results and indices. What they compute is tested by
//! the fixtures (`nir-fixtures/hand.*` for the rarer ones).

use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, OptLevel, Options, Source};
use nvir::diag::Fault;
use nvir::front::nir::intrinsics::lookup;

struct Row<'s> {
    name: &'s str,
    srcs: Vec<i32>,
    dest: Option<u32>,
    bits: Vec<u32>,
    indices: Vec<&'s str>,
}

fn rows() -> Vec<Row<'static>> {
    let text = include_str!("../data/nir/intrinsics.tsv");
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [name, srcs, dest, bits, indices] = cells[..] else { panic!("five cells: {line}") };
            let number = |w: &str| w.parse().unwrap_or_else(|_| panic!("a number: {line}"));
            Row {
                name,
                srcs: srcs.split_whitespace().map(number).collect(),
                dest: dest.parse().ok(),
                bits: bits.split_whitespace().map(|w| number(w) as u32).collect(),
                indices: indices.split_whitespace().collect(),
            }
        })
        .collect()
}

/// Other vendors' hardware, by the ends of the names.
const VENDORS: &[&str] = &[
    "_amd",
    "_intel",
    "_ir3",
    "_pan",
    "_r600",
    "_dxil",
    "_v3d",
    "_agx",
    "_vc4",
    "_nv",
    "_midgard",
    "_freedreno",
];

/// Stages and programs other than compute kernels, by the beginnings of names. Some of them are what graphics stages have.
#[rustfmt::skip]
const ELSEWHERE: &[&str] = &[
    // rasterisation and its stages
    "discard", "demote", "terminate", "emit_vertex", "end_primitive", "set_vertex_and_primitive_count", "interp_deref",
    "load_barycentric", "load_frag", "load_input", "load_output", "load_per_vertex", "load_per_primitive", "load_sample_",
    "load_point", "load_line", "load_front_face", "load_vertex", "load_first_vertex", "load_base_vertex",
    "load_base_instance", "load_is_indexed_draw", "load_instance_id", "load_draw_id", "load_primitive_id",
    "load_invocation_id", "load_tess", "load_patch", "load_user_clip", "load_layer_id", "load_view",
    "load_num_vertices", "load_aa_line", "load_color", "load_blend", "load_user_data", "load_persp", "load_fs_",
    "load_interpolated", "load_fb_", "load_mesh", "load_texture_rect_scaling", "load_xfb", "store_output", "store_per",
    "load_workgroup_num", "launch_mesh", "load_task", "store_task_payload", "task_payload", "load_viewport",
    // derivatives need quads
    "ddx", "ddy",
    // ray tracing
    "trace_ray", "report_ray", "ignore_ray", "accept_ray", "terminate_ray", "execute_", "rq_", "rt_", "load_ray",
    "load_shader_record", "load_cull", "load_intersection", "load_accel",
    // Vulkan's descriptors
    "vulkan_", "load_vulkan", "load_desc",
];

/// What a kernel could ask for, and why it cannot have it.
const REFUSED: &[(&str, &str)] = &[
    ("atomic_counter_", "drivers lower counters to storage buffers first"),
    ("image_sparse_load", "no sparse residency on these chips"),
    ("bindless_image_sparse_load", "the same"),
    ("image_deref_sparse_load", "the same"),
    ("is_sparse_texels_resident", "the same"),
    ("sparse_residency_code_and", "the same"),
    ("image_format", "formats of bound images are not in the driver's constants"),
    ("bindless_image_format", "the same"),
    ("image_deref_format", "the same"),
    ("image_order", "the same"),
    ("bindless_image_order", "the same"),
    ("image_deref_order", "the same"),
    ("image_samples_identical", "needs compression that these chips do not show"),
    ("bindless_image_samples_identical", "the same"),
    ("image_deref_samples_identical", "the same"),
    ("load_constant_base_ptr", "constant data has no address"),
    ("load_global_base_ptr", "needs a relocation"),
    ("load_ssbo_address", "accesses to storage buffers are checked against their size"),
    ("load_preamble", "no preambles"),
    ("store_preamble", "the same"),
    ("load_stack", "of ray tracing's continuations"),
    ("store_stack", "the same"),
    ("load_printf_buffer_address", "printing is the runtime's"),
    ("printf", "the same"),
    ("load_global_size", "lowered before a driver sees it"),
    ("debug_break", "no debugger"),
];

fn elsewhere(name: &str) -> bool {
    VENDORS.iter().any(|v| name.ends_with(v))
        || name.contains("_amd")
        || ELSEWHERE.iter().any(|p| name.starts_with(p))
        || REFUSED.iter().any(|(p, _)| name.starts_with(p))
}

fn index(row: &Row<'_>, name: &str) -> String {
    let swap = row.name.contains("_swap");
    let value = match name {
        "write_mask" => return "wrmask=x".into(),
        "reduction_op" => "iadd",
        "image_dim" => "2D",
        "image_array" => "false",
        "format" if row.name.contains("_atomic_f") => "r32_float",
        "format" => "r32_uint",
        "src_type" | "dest_type" => "uint32",
        "atomic_op" if swap => "cmpxchg",
        "atomic_op" => "iadd",
        "execution_scope" | "memory_scope" => "WORKGROUP",
        "memory_semantics" => return "mem_semantics=ACQ|REL".into(),
        "io_semantics" => return "io location=0 slots=1".into(),
        "memory_modes" => return "mem_modes=shared".into(),
        "access" | "src_access" | "dst_access" => "none",
        "rounding_mode" => "undef",
        "align_mul" | "range" => "4",
        "bit_size" => "32",
        "num_components" => "1",
        _ => "0",
    };
    format!("{name}={value}")
}

/// A kernel with the intrinsic, whose result is stored.
fn kernel(row: &Row<'_>) -> String {
    let name = row.name;
    let boolean = [
        "vote_",
        "quad_vote_",
        "elect",
        "inverse_ballot",
        "ballot_bitfield",
        "deref_mode_is",
        "addr_mode_is",
    ]
    .iter()
    .any(|p| name.starts_with(p));
    let on_image = name.contains("image_");
    let on_deref = name.contains("deref") || name == "addr_mode_is";
    let array = name == "deref_buffer_array_length";
    let mut srcs = Vec::new();
    for (n, &comps) in row.srcs.iter().enumerate() {
        let bool_source = (name.starts_with("ballot") && !name.contains("_bi") && !name.contains("_find"))
            || name.contains("vote_a");
        srcs.push(match (n, comps) {
            (0, _) if on_image && on_deref => "%20",
            (0, _) if on_deref && array => "%22",
            (0, _) if on_deref => "%21",
            (1, -1) if name.starts_with("memcpy") || name.starts_with("copy") => "%21",
            (0, _) if name.starts_with("load_reg") => "%23",
            (1, _) if name.starts_with("store_reg") => "%23",
            (0, 1) if name.starts_with("load_global") && !name.contains("2x32") => "%10",
            (0, 1) if name.starts_with("global_atomic") && !name.contains("2x32") => "%10",
            (1, 1) if name == "store_global" => "%10",
            (0, 2) if name.contains("2x32") => "%11",
            (1, 2) if name.contains("2x32") => "%11",
            (0, 1) if bool_source => "%12",
            (_, 2) => "%11",
            (_, 4) => "%13",
            _ => "%0",
        });
    }
    let indices: Vec<String> = row.indices.iter().map(|i| index(row, i)).collect();
    let mut call = format!("@{name}");
    if !srcs.is_empty() {
        call += &format!(" ({})", srcs.join(", "));
    }
    if !indices.is_empty() {
        call += &format!(" ({})", indices.join(", "));
    }
    let body = match row.dest {
        None => call,
        Some(comps) => {
            let bits = row.bits.first().copied().unwrap_or(if boolean { 1 } else { 32 });
            let comps = if comps == 0 { 1 } else { comps };
            let shape = if comps == 1 { format!("{bits}") } else { format!("{bits}x{comps}") };
            let number = match bits {
                1 => "b2i32 %30.x",
                32 => "mov %30.x",
                _ => "u2u32 %30.x",
            };
            format!(
                "{shape} %30 = {call}\n    32 %31 = {number}\n    @store_ssbo (%31, %0, %0) (wrmask=x, access=none, \
                 align_mul=4, align_offset=0)"
            )
        }
    };
    format!(
        "shader: MESA_SHADER_COMPUTE\nworkgroup_size: 32, 1, 1\nshared_size: 64\nscratch: 64\nconstants: 4\n\
         decl_var image INTERP_MODE_NONE none r32_uint uimage2D img (0, 0, 0)\n\
         decl_var shared INTERP_MODE_NONE none uint s\ndecl_var ssbo INTERP_MODE_NONE none uint[] b (0, 0, 1)\n\
         decl_var constant INTERP_MODE_NONE none uint c = {{ 0x00000007 }}\n\
         decl_function callee (32)\n\nimpl callee {{\n    block b0:\n    32 %0 = load_const (0x0)\n    {param}\n    block b1:\n}}\n\n\
         decl_function main () (entrypoint)\n\nimpl main {{\n    block b0:\n    32 %0 = load_const (0x00000000)\n\
         \x20   64 %10 = load_const (0x0000000000001000)\n    32x2 %11 = load_const (0x00001000, 0x00000000)\n\
         \x20   1 %12 = load_const (true)\n    32x4 %13 = load_const (0x0, 0x0, 0x0, 0x0)\n\
         \x20   32 %20 = deref_var &img (image uimage2D)\n    32 %21 = deref_var &s (shared uint)\n\
         \x20   32 %22 = deref_var &b (ssbo uint[])\n    32 %23 = @decl_reg () (num_components=1, bit_size=32, num_array_elems=0)\n\
         \x20   {main}\n    block b1:\n}}\n",
        param = if name == "load_param" { &body } else { "" },
        main = if name == "load_param" { "call callee %0" } else { &body },
    )
}

fn compiled(text: &str, chip: Chip, level: OptLevel) -> Result<(), String> {
    let options = Options { debug: DebugOptions::verifying(), ..Options::at(level) };
    let done = Compiler::new(chip).with_options(options).compile(&Source::nir(text));
    done.map(drop).map_err(|e| e.to_string())
}

#[test]
fn every_intrinsic_of_compute_is_lowered() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows().iter().filter(|r| !elsewhere(r.name)) {
        if lookup(row.name).is_none() {
            wrong.push(format!("{} has no row", row.name));
            continue;
        }
        count += 1;
        let text = kernel(row);
        for chip in Chip::ALL {
            for level in [OptLevel::O0, OptLevel::O3] {
                match compiled(&text, chip, level) {
                    Ok(()) => {}
                    Err(e) if chip == Chip::Gf100 && e.contains("gf100 has no") => {}
                    Err(e) => wrong.push(format!("{} {chip} -O{level}: {e}\n{text}", row.name)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 200, "only {count}");
}

#[test]
fn what_is_refused_is_named() {
    let mut count = 0;
    for row in rows().iter().filter(|r| elsewhere(r.name) && lookup(r.name).is_none()) {
        let e = compiled(&kernel(row), Chip::Gk110, OptLevel::O3).expect_err(row.name);
        assert!(e.contains(&format!("`{}`", row.name)), "{}: {e}", row.name);
        count += 1;
    }
    assert!(count > 200, "only {count}");
}

#[test]
fn what_graphics_stages_have_a_kernel_does_not() {
    let mut count = 0;
    for row in rows().iter().filter(|r| elsewhere(r.name) && lookup(r.name).is_some()) {
        let e = compiled(&kernel(row), Chip::Gk110, OptLevel::O3).expect_err(row.name);
        let wanted = format!("`{}` does not exist in a compute shader", row.name);
        assert!(e.contains(&wanted), "{}: {e}", row.name);
        count += 1;
    }
    assert!(count > 35, "only {count}");
}

#[test]
fn what_is_not_known_may_stand_where_nothing_reaches_it() {
    let text = |main: &str| {
        format!(
            "shader: MESA_SHADER_COMPUTE\nworkgroup_size: 1, 1, 1\ndecl_function other ()\n\nimpl other {{\n\
             block b0:\n    @store_globl (%0, %1) (access=frob)\n}}\n\
             decl_function main () (entrypoint)\n\nimpl main {{\nblock b0:\n    {main}\nblock b1:\n}}\n"
        )
    };
    let compile = |main: &str| Compiler::new(Chip::Gk110).compile(&Source::nir(&text(main))).map(drop);
    assert_eq!(compile("return").map_err(|e| e.to_string()), Ok(()));
    let e = compile("call other").expect_err("it is reached");
    let d = &e.diagnostics().list[0];
    assert_eq!(d.message, "intrinsic `store_globl` is not supported");
    assert_eq!(
        (e.fault(), &d.helps[..]),
        (Fault::Unsupported, &["did you mean `store_global`?".to_string()][..])
    );
    let span = d.primary.as_ref().expect("a place").0;
    assert_eq!(text("call other")[span.start as usize..span.end as usize], *"store_globl");
}

#[test]
fn components_chosen_from_a_source_of_an_intrinsic_are_not_ignored() {
    let compile = |value: &str| {
        let text = format!(
            "shader: MESA_SHADER_COMPUTE\nworkgroup_size: 1, 1, 1\ndecl_function main () (entrypoint)\n\nimpl main {{\n\
             block b0:\n    32x2 %0 = load_const (0x00000001, 0x00000002)\n    32 %1 = load_const (0x00000000)\n    \
             @store_ssbo ({value}, %1, %1) (wrmask=x, access=none, align_mul=4, align_offset=0)\n}}\n"
        );
        let image = Compiler::new(Chip::Gk110).compile(&Source::nir(&text));
        image.map(|i| i.code).map_err(|e| e.diagnostics().list[0].message.clone())
    };
    let plain = compile("%0");
    assert!(plain.is_ok(), "{plain:?}");
    // The order that there is, and names of variables: what the value has no components for is one.
    for same in ["%0.x", "%0.xy", "%0.width", "%0.z"] {
        assert_eq!(compile(same), plain, "{same}");
    }
    for other in ["%0.y", "%0.yx"] {
        let why = "only operands of arithmetic choose components: this needs a `mov` of them";
        assert_eq!(compile(other), Err(why.into()), "{other}");
    }
}
