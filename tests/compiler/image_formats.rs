//! Formats of images: those that the chips have compile everywhere, all others are refused by every text with the nearest name.

use nvir::compiler::{Compiler, DebugOptions, OptLevel, Options, Source};
use nvir::format::Format;
use nvir::{Chip, diag, ir};

/// What no image of these chips has: not a format at all, textures' only, or no machine's.
const FOREIGN: &[&str] = &[
    "R1_UINT",
    "R4_UNORM",
    "R7_FLOAT",
    "R1G1B1A1_SINT",
    "R255_UINT",
    "R12_UINT",
    "R20G12_UINT",
    "R64_UINT",
    "R8G8B8_UNORM",
    "R3G3B2_UNORM",
    "R32G32B32_FLOAT",
    "R8_FLOAT",
    "R32_UNORM",
    "B8G8R8A8_UINT",
    "R8G8B8A8_SRGB",
    "R10G10B10A2_SNORM",
    "R11G11B10_UINT",
    "DXT1_RGB",
    "99999999999999999999",
    "",
];

/// `declared` and `named`: the formats of declaration and instruction.
fn tgsi(declared: &str, named: &str) -> String {
    format!(
        "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 1\nDCL IMAGE[0], 2D{declared}, WR\nDCL BUFFER[0]\nDCL TEMP[0]\n\
         IMM[0] UINT32 {{0, 0, 0, 0}}\n  0: LOAD TEMP[0], IMAGE[0], IMM[0], 2D{named}\n\
         \x20 1: STORE BUFFER[0], IMM[0].xxxx, TEMP[0]\n  2: STORE IMAGE[0], IMM[0], TEMP[0], 2D{named}\n  3: END\n"
    )
}

/// `qualifier`: the format of the variable; `index`: that of the intrinsic.
fn nir(qualifier: &str, index: &str) -> String {
    format!(
        "shader: MESA_SHADER_COMPUTE\nworkgroup-size: 1, 1, 1\n\
         decl_var uniform INTERP_MODE_NONE readonly {qualifier} image2D img (0, 0, 0)\n\
         decl_function main (0 params)\n\nimpl main {{\n\tblock block_0:\n\t/* preds: */\n\
         \tvec1 32 ssa_1 = load_const (0x00000000 = 0.000000)\n\
         \tvec4 32 ssa_2 = load_const (0x00000000, 0x00000000, 0x00000000, 0x00000000)\n\
         \tvec4 32 ssa_3 = intrinsic image_load (ssa_1, ssa_2, ssa_1, ssa_1) (image_dim=2D, image_array=false, \
         format={index}, access=0, dest_type=uint32)\n\
         \tintrinsic store_ssbo (ssa_3, ssa_1, ssa_1) (wrmask=xyzw, access=0, align_mul=16, align_offset=0)\n\
         \t/* succs: block_1 */\n\tblock block_1:\n}}\n"
    )
}

fn ir_text(format: &str) -> String {
    format!(
        "program\nkernel k() {{\nb0:\n    mov u32 %r0 0x0\n    \
         suld u32 {{%r1 %r2 %r3 %r4}} [2d i0 mask 0xf u32 format {format} coords={{%r0 %r0}}]\n    exit\n}}\n"
    )
}

fn compile(source: &Source<'_>, chip: Chip, level: OptLevel) -> Result<(), String> {
    let options = Options { debug: DebugOptions::verifying(), ..Options::at(level) };
    let done = Compiler::new(chip).with_options(options).compile(source);
    done.map(drop).map_err(|e| e.to_string())
}

/// The message about `word` of a text that is refused.
fn refused(text: &str, word: &str, diags: diag::Diagnostics) -> String {
    let said = diag::render(&diags, "k", text, false);
    assert!(said.starts_with(&format!("error: unknown image format `{word}`\n")), "{said}");
    assert!(!said.contains("internal error") && said.contains("^^^"), "{said}");
    said
}

#[test]
fn tgsi_with_a_foreign_format_is_refused_in_declarations_and_instructions() {
    for name in FOREIGN {
        let word = format!("PIPE_FORMAT_{name}");
        for (declared, named, line) in
            [(format!(", {word}"), String::new(), 3), (String::new(), format!(", {word}"), 7)]
        {
            let text = tgsi(&declared, &named);
            let diags = nvir::front::tgsi::parse(&text).map(drop).expect_err(name);
            let said = refused(&text, &word, diags);
            assert!(said.contains(&format!("k:{line}:")), "{said}");
        }
    }
}

#[test]
fn nir_with_a_foreign_format_is_refused_in_variables_and_intrinsics() {
    for name in FOREIGN.iter().filter(|n| !n.is_empty()).map(|n| n.to_lowercase()) {
        for text in [nir(&name, "none"), nir("", &name)] {
            let found = compile(&Source::nir(&text), Chip::Gk110, OptLevel::O3).expect_err(&name);
            assert!(found.contains(&format!("unknown image format `{name}`")), "{found}");
        }
    }
}

#[test]
fn ir_text_with_a_foreign_format_is_refused() {
    for name in ["r1ui", "r255ui", "rgb8", "rgb32f", "r8f", "rgba32", "r12ui", "bgra16"] {
        let text = ir_text(name);
        let d = ir::parse::program(&text).map(drop).expect_err(name);
        refused(&text, name, d.into());
    }
}

#[test]
fn the_nearest_name_is_suggested() {
    let text = tgsi(", PIPE_FORMAT_R12_UINT", "");
    let said = diag::render(&nvir::front::tgsi::parse(&text).expect_err("refused"), "k", &text, false);
    assert!(said.contains("did you mean `PIPE_FORMAT_R16_UINT`?"), "{said}");
    let text = ir_text("rgba9");
    let d = ir::parse::program(&text).map(drop).expect_err("refused");
    let said = diag::render(&d.into(), "k", &text, false);
    assert!(said.contains("did you mean `rgba8`?"), "{said}");
}

#[test]
fn every_format_of_images_compiles_from_every_text() {
    for format in Format::all() {
        let gallium = format.gallium_name();
        let pipe = format!(", PIPE_FORMAT_{}", gallium.to_uppercase());
        for chip in Chip::ALL {
            for level in [OptLevel::O0, OptLevel::O3] {
                for text in [tgsi(&pipe, ""), tgsi(&pipe, &pipe), tgsi("", &pipe)] {
                    assert_eq!(compile(&Source::tgsi(&text), chip, level), Ok(()), "{pipe} {chip}");
                }
                for text in [nir(gallium, gallium), nir("highp none", gallium), nir(gallium, "none")] {
                    let done = compile(&Source::nir(&text), chip, level);
                    // GF100 loads by the format in the instruction.
                    let undeclared = text.contains("format=none") && chip == Chip::Gf100;
                    assert_eq!(done.is_ok(), !undeclared, "{gallium} {chip}: {done:?}");
                }
            }
        }
        let text = ir_text(format.name());
        let program = ir::parse::program(&text).unwrap_or_else(|e| panic!("{format}: {e:?}"));
        assert!(program.to_string().contains(&format!("format {format} ")), "{program}");
    }
}

#[test]
fn coordinates_beyond_the_dimensions_of_an_image_are_not_read() {
    for (shape, own) in [("1d", "{%r0}"), ("2d", "{%r0 %r0}"), ("3d", "{%r0 %r0 %r0}")] {
        let text = |coordinates: &str| {
            format!(
                "program\nkernel k() {{\nb0:\n    rdsv u32 %r0 sv[tid.x]\n    suld u32 {{%r1}} [{shape} i0 mask 0x1 u32 \
                 format r32ui coords={coordinates}]\n    st u32 # g[%r0+0x0] %r1\n    exit\n}}\n"
            )
        };
        for chip in Chip::ALL {
            let code = |text: &str| {
                let program = ir::parse::program(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
                Compiler::new(chip).compile(program).unwrap_or_else(|e| panic!("{chip}: {e}\n{text}")).code
            };
            assert_eq!(code(&text("{%r0 %r0 %r0 %r0}")), code(&text(own)), "{chip}, {shape}");
        }
    }
}
