//! Image instructions of every shape, format and chip become machine code, also without a declared format, with
//! dynamic numbers and by handle.

use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, OptLevel, Options, Source};

fn compiles(chip: Chip, level: OptLevel, body: &str) -> Result<(), String> {
    let text = format!(
        "shader: MESA_SHADER_COMPUTE\nworkgroup-size: 32, 1, 1\ndecl_function main (0 params)\n\nimpl main {{\n\
         block block_0:\nvec3 32 ssa_0 = intrinsic load_local_invocation_id () ()\n\
         vec1 32 ssa_1 = load_const (0x00000000 = 0.000000)\n\
         vec4 32 ssa_2 = vec4 ssa_0.x, ssa_0.y, ssa_0.z, ssa_1\n\
         vec1 32 ssa_3 = iand ssa_0.x, ssa_0.y\nvec1 64 ssa_4 = u2u64 ssa_0.x\n{body}\nblock block_1:\n}}\n"
    );
    let options = Options { debug: DebugOptions::verifying(), ..Options::at(level) };
    let done = Compiler::new(chip).with_options(options).compile(&Source::nir(&text));
    done.map(drop).map_err(|e| e.to_string())
}

const SHAPES: &[(&str, &str)] = &[
    ("1D", "false"),
    ("1D", "true"),
    ("2D", "false"),
    ("2D", "true"),
    ("3D", "false"),
    ("Cube", "false"),
    ("Cube", "true"),
    ("Buf", "false"),
    ("Rect", "false"),
    ("2D-MSAA", "false"),
    ("2D-MSAA", "true"),
];

#[test]
fn every_shape_loads_stores_and_counts_on_every_chip() {
    for chip in Chip::ALL {
        for (dim, array) in SHAPES {
            let ix = format!(
                "image_dim={dim} /*1*/, image_array={array} /*0*/, format=r32_uint /*104*/, access=0"
            );
            let body = format!(
                "vec4 32 ssa_5 = intrinsic image_load (ssa_1, ssa_2, ssa_3, ssa_1) ({ix}, dest_type=uint32 /*36*/)\n\
                 intrinsic image_store (ssa_1, ssa_2, ssa_3, ssa_5, ssa_1) ({ix}, src_type=uint32 /*36*/)\n\
                 vec1 32 ssa_9 = mov ssa_5.x\n\
                 vec1 32 ssa_6 = intrinsic image_atomic_add (ssa_1, ssa_2, ssa_3, ssa_9) ({ix})\n\
                 vec1 32 ssa_7 = intrinsic image_atomic_comp_swap (ssa_1, ssa_2, ssa_3, ssa_6, ssa_3) ({ix})\n\
                 vec2 32 ssa_8 = intrinsic image_size (ssa_1, ssa_1) ({ix})\n\
                 intrinsic store_ssbo (ssa_8, ssa_1, ssa_7) (wrmask=xy /*3*/, access=0, align_mul=4, align_offset=0)"
            );
            for level in [OptLevel::O0, OptLevel::O3] {
                assert_eq!(compiles(chip, level, &body), Ok(()), "{dim} {array} {chip} -O{level}");
            }
        }
    }
}

#[test]
fn every_format_is_taken_apart() {
    for format in nvir::format::Format::all().map(|f| f.gallium_name()) {
        let ty = if format.ends_with("uint") {
            "uint32"
        } else if format.ends_with("sint") {
            "int32"
        } else {
            "float32"
        };
        let body = format!(
            "vec4 32 ssa_5 = intrinsic image_load (ssa_3, ssa_2, ssa_1, ssa_1) (image_dim=2D, image_array=false, \
             format={format}, access=readonly|reorderable, dest_type={ty})\n\
             intrinsic image_store (ssa_1, ssa_2, ssa_1, ssa_5, ssa_1) (image_dim=2D, image_array=false, \
             format=none, access=writeonly, src_type={ty})"
        );
        for chip in Chip::ALL {
            assert_eq!(compiles(chip, OptLevel::O3, &body), Ok(()), "{format} {chip}");
        }
    }
}

#[test]
fn handles_name_images_on_kepler() {
    let body = "vec4 32 ssa_5 = intrinsic bindless_image_load (ssa_4, ssa_2, ssa_1, ssa_1) (image_dim=2D, \
                image_array=false, format=r8g8b8a8_unorm, access=80, dest_type=float32)\n\
                intrinsic bindless_image_store (ssa_4, ssa_2, ssa_1, ssa_5, ssa_1) (image_dim=2D, \
                image_array=false, format=none, access=8, src_type=float32)";
    for chip in [Chip::Gk104, Chip::Gk110] {
        assert_eq!(compiles(chip, OptLevel::O3, body), Ok(()), "{chip}");
    }
    let e = compiles(Chip::Gf100, OptLevel::O3, body).expect_err("GF100 has no handles");
    assert!(e.contains("gf100 has no images that a handle names"), "{e}");
}
