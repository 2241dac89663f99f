//! Opcodes of images and textures. Texels tell their place: see [`place`].

use super::case::{Setup, bytes};
use super::effects::{NONE, Program};
use nvir::front::tgsi::ast::Opcode::*;

/// What the texel at a place holds.
const fn place(x: u32, y: u32, z: u32, level: u32) -> u32 {
    level * 1000 + z * 100 + y * 10 + x
}

/// Texels of all levels; `f` makes a texel's words.
fn texels<const N: usize>(size: [u32; 3], levels: u32, mip_z: bool, f: fn(u32) -> [u32; N]) -> Vec<u8> {
    let mut all = Vec::new();
    for l in 0..levels {
        let half = |n: u32| (n >> l).max(1);
        let depth = if mip_z { half(size[2]) } else { size[2] };
        for z in 0..depth {
            for y in 0..half(size[1]) {
                for x in 0..half(size[0]) {
                    all.extend(f(place(x, y, z, l)));
                }
            }
        }
    }
    bytes(&all)
}

fn float(v: u32) -> [u32; 1] {
    [(v as f32).to_bits()]
}

fn floats(v: u32) -> [u32; 4] {
    [0.0, 0.25, 0.5, 0.75].map(|c| (v as f32 + c).to_bits())
}

fn word(v: u32) -> [u32; 1] {
    [v]
}

/// A depth for shadow lookups: the place in thousandths.
fn depth(v: u32) -> [u32; 1] {
    [(v as f32 / 1000.0).to_bits()]
}

fn bits(v: [f32; 4]) -> [u32; 4] {
    v.map(f32::to_bits)
}

pub(crate) const IMAGES: &[Program] = &[
    Program {
        // Sizes are in pixels, not in samples.
        ops: &[],
        decls: "DCL IMAGE[0], 2D_MSAA, PIPE_FORMAT_R32_UINT, WR",
        code: "RESQ TEMP[1], IMAGE[0], 2D_MSAA, PIPE_FORMAT_R32_UINT\nMOV TEMP[1].z, IMM[1].xxxx",
        setup: |s| s.image("2d_ms", "r32ui", [6, 5, 4], &[]),
        want: |_| [6, 5, 0, 4],
        ..NONE
    },
    Program {
        ops: &[],
        decls: "DCL IMAGE[0], 2D, PIPE_FORMAT_R32_UINT, WR\nDCL IMAGE[1], 3D, PIPE_FORMAT_R8G8B8A8_UNORM, WR",
        imms: "IMM[4] FLT32 {0.0, 0.2, 0.4, 1.0}",
        code: "AND TEMP[2].x, TEMP[0].xxxx, IMM[1].yyyy\nUSHR TEMP[2].y, TEMP[0].xxxx, IMM[0].zzzz
            LOAD TEMP[3], IMAGE[0], TEMP[2].xyyy, 2D, PIPE_FORMAT_R32_UINT
            ATOMUADD TEMP[4].x, IMAGE[0], TEMP[2].xyyy, IMM[3].xxxx, 2D, PIPE_FORMAT_R32_UINT
            LOAD TEMP[5].x, IMAGE[0], TEMP[2].xyyy, 2D, PIPE_FORMAT_R32_UINT
            MOV TEMP[2].z, IMM[0].xxxx
            STORE IMAGE[1], TEMP[2].xyzz, IMM[4].wzyx, 3D, PIPE_FORMAT_R8G8B8A8_UNORM
            LOAD TEMP[6], IMAGE[1], TEMP[2].xyzz, 3D, PIPE_FORMAT_R8G8B8A8_UNORM
            UADD TEMP[1].x, TEMP[3].xxxx, TEMP[3].wwww\nMOV TEMP[1].y, TEMP[4].xxxx\nMOV TEMP[1].z, TEMP[5].xxxx
            MOV TEMP[1].w, TEMP[6].xxxx",
        setup: |s| {
            s.image("2d", "r32ui", [8, 8, 1], &texels([8, 8, 1], 1, false, word)).image(
                "3d",
                "rgba8",
                [8, 8, 2],
                &[],
            )
        },
        want: |t| {
            let v = place(t % 8, t / 8, 0, 0);
            [v + 1, v, v + 100, 1f32.to_bits()]
        },
        ..NONE
    },
    Program {
        // A dynamic number, and a place outside.
        ops: &[],
        decls: "DCL IMAGE[0], 1D, PIPE_FORMAT_R32_SINT, WR\nDCL IMAGE[1], 1D, PIPE_FORMAT_R32_SINT, WR",
        code: "AND TEMP[2].x, TEMP[0].xxxx, IMM[0].xxxx\nUARL ADDR[0].x, TEMP[2].xxxx
            LOAD TEMP[3].x, IMAGE[ADDR[0].x], TEMP[0].xxxx, 1D, PIPE_FORMAT_R32_SINT
            STORE IMAGE[ADDR[0].x], TEMP[0].xxxx, -TEMP[3].xxxx, 1D, PIPE_FORMAT_R32_SINT
            MOV TEMP[1].x, TEMP[3].xxxx",
        setup: |s| {
            s.image("1d", "r32i", [40, 1, 1], &texels([40, 1, 1], 1, false, word)).image(
                "1d",
                "r32i",
                [50, 1, 1],
                &texels([50, 1, 1], 1, false, |v| [v + 7]),
            )
        },
        want: |t| match (t % 2, t) {
            (0, 40..) | (_, 50..) => [0; 4],
            (odd, t) => [t + 7 * odd, 0, 0, 0],
        },
        ..NONE
    },
];

const CENTRE_IMM: &str = "IMM[4] FLT32 {0.125, 0.25, 0.0, 0.0625}";

/// Coordinates in the middle of texel (x, y) of an 8 by 8 level, x and y from the thread, in TEMP[2]; and a texture of
/// two levels of which each texel has four floats.
const CENTRE: &str = "AND TEMP[3].x, TEMP[0].xxxx, IMM[1].yyyy\nUSHR TEMP[3].y, TEMP[0].xxxx, IMM[0].zzzz
    U2F TEMP[2].xy, TEMP[3].xyyy\nADD TEMP[2].xy, TEMP[2].xyyy, IMM[2].xxxx\nMUL TEMP[2].xy, TEMP[2].xyyy, IMM[4].xxxx\n";

/// A texture of two levels, four floats a texel, nearest texel of the nearest level.
fn two_levels(s: Setup) -> Setup {
    s.texture(("2d", "rgba32f", [8, 8, 1], 2), r#","mip":"nearest""#, &texels([8, 8, 1], 2, false, floats))
}

/// The channels of the texel of a level that a thread's coordinates are in.
fn at(t: u32, level: u32) -> [u32; 4] {
    floats(place((t % 8) >> level, (t / 8) >> level, 0, level))
}

/// A cube array of two cubes whose faces have one texel, and its shadow.
fn cubes(s: Setup) -> Setup {
    let faces: Vec<f32> =
        (0..6).flat_map(|f| [0, 2, 4].map(|axis| cube_axis(f, axis)).into_iter().chain([0.0])).collect();
    let faces: Vec<u32> = faces.into_iter().map(f32::to_bits).collect();
    let size = ([1, 1, 12], 1);
    s.uniforms(&bytes(&faces))
        .texture(("cube_array", "r32f", size.0, size.1), "", &texels(size.0, 1, false, float))
        .texture(
            ("cube_array", "r32f", size.0, size.1),
            r#","compare":"less""#,
            &texels(size.0, 1, false, depth),
        )
}

/// The component of the direction to the middle of a face.
fn cube_axis(face: u32, axis: u32) -> f32 {
    match face.wrapping_sub(axis) {
        0 => 1.0,
        1 => -1.0,
        _ => 0.0,
    }
}

pub(crate) const TEXTURES: &[Program] = &[
    Program {
        ops: &[TEX, TEX_LZ, TXF, TXF_LZ],
        decls: "DCL SAMP[0]\nDCL SVIEW[0], 2D, FLOAT",
        imms: CENTRE_IMM,
        begin: CENTRE,
        code: "TEX TEMP[4], TEMP[2], SAMP[0], 2D\nTEX_LZ TEMP[5], TEMP[2], SAMP[0], 2D
            USHR TEMP[6].xy, TEMP[3].xyyy, IMM[0].xxxx\nMOV TEMP[6].w, IMM[0].xxxx
            TXF TEMP[6], TEMP[6], SAMP[0], 2D\nTXF_LZ TEMP[7], TEMP[3], SAMP[0], 2D, IMM[1].xxx
            MOV TEMP[1].x, TEMP[4].xxxx\nMOV TEMP[1].y, TEMP[5].yyyy\nMOV TEMP[1].z, TEMP[6].zzzz
            MOV TEMP[1].w, TEMP[7].wwww",
        setup: two_levels,
        want: |t| [at(t, 0)[0], at(t, 0)[1], at(t, 1)[2], at(t, 0)[3]],
        ..NONE
    },
    Program {
        // Level 1 by bias, by number, by derivatives; level 0 behind a division.
        ops: &[TXB, TXL, TXD, TXP],
        decls: "DCL SAMP[0]\nDCL SVIEW[0], 2D, FLOAT",
        imms: CENTRE_IMM,
        begin: CENTRE,
        code: "MOV TEMP[2].w, IMM[2].yyyy\nTXB TEMP[4].x, TEMP[2], SAMP[0], 2D\nTXL TEMP[5].xy, TEMP[2], SAMP[0], 2D
            TXD TEMP[6].xyz, TEMP[2], IMM[4].yzzz, IMM[4].zyyy, SAMP[0], 2D
            ADD TEMP[2], TEMP[2], TEMP[2]\nTXP TEMP[7], TEMP[2], SAMP[0], 2D
            MOV TEMP[1].x, TEMP[4].xxxx\nMOV TEMP[1].y, TEMP[5].yyyy\nMOV TEMP[1].z, TEMP[6].zzzz
            MOV TEMP[1].w, TEMP[7].wwww",
        setup: two_levels,
        want: |t| [at(t, 1)[0], at(t, 1)[1], at(t, 1)[2], at(t, 0)[3]],
        ..NONE
    },
    Program {
        // Derivatives of one coordinate; with a layer.
        ops: &[],
        decls: "DCL SAMP[0]\nDCL SAMP[1]\nDCL SVIEW[0], 1D, FLOAT\nDCL SVIEW[1], 1D_ARRAY, FLOAT",
        imms: CENTRE_IMM,
        begin: CENTRE,
        code: "MUL TEMP[2].x, TEMP[2].xxxx, IMM[2].yyyy\nU2F TEMP[2].y, TEMP[3].yyyy
            TXD TEMP[4], TEMP[2], IMM[4].yyyy, IMM[4].zzzz, SAMP[0], 1D
            TXD TEMP[5], TEMP[2], IMM[4].yyyy, IMM[4].zzzz, SAMP[1], 1D_ARRAY
            TXD TEMP[6], TEMP[2], IMM[4].yyyy, IMM[4].zzzz, SAMP[1], 1D_ARRAY, IMM[0].xxx
            MOV TEMP[1].x, TEMP[4].xxxx\nMOV TEMP[1].y, TEMP[5].xxxx\nMOV TEMP[1].z, TEMP[6].xxxx",
        setup: |s| {
            let rows = texels([8, 8, 1], 2, false, float);
            // The levels of an array have all layers.
            let layers = [0, 1].map(|l| (0..8).flat_map(move |y| (0..8u32 >> l).map(move |x| place(x, y, 0, l))));
            let layers: Vec<u32> = layers.into_iter().flatten().flat_map(float).collect();
            s.texture(("1d", "r32f", [8, 1, 1], 2), r#","mip":"nearest""#, &[&rows[..32], &rows[256..272]].concat())
                .texture(("1d_array", "r32f", [8, 8, 1], 2), r#","mip":"nearest""#, &bytes(&layers))
        },
        want: |t| {
            let texel = |x: u32, y: u32| place(x % 4, y, 0, 1) as f32;
            let x = t % 8 / 2;
            bits([texel(x, 0), texel(x, t / 8), texel(x + 1, t / 8), 0.0])
        },
        ..NONE
    },
    Program {
        ops: &[TXQ, TXQS, LODQ],
        decls: "DCL SAMP[0]\nDCL SAMP[1]\nDCL SVIEW[0], 2D, FLOAT\nDCL SVIEW[1], 2D_MSAA, FLOAT",
        imms: CENTRE_IMM,
        begin: CENTRE,
        code: "TXQ TEMP[4].xyw, IMM[0].xxxx, SAMP[0], 2D\nTXQS TEMP[5].x, SAMP[1], 2D_MSAA\nTXQS TEMP[5].y, SAMP[0], 2D
            LODQ TEMP[6].xy, TEMP[2], SAMP[0], 2D
            UMAD TEMP[1].x, TEMP[4].xxxx, IMM[3].xxxx, TEMP[4].yyyy\nMOV TEMP[1].y, TEMP[4].wwww
            UMAD TEMP[1].z, TEMP[5].xxxx, IMM[3].xxxx, TEMP[5].yyyy\nMOV TEMP[1].w, TEMP[6].yyyy",
        setup: |s| two_levels(s).texture(("2d_ms", "r32f", [8, 8, 4], 1), "", &[]),
        want: |_| [404, 2, 401, 0],
        ..NONE
    },
    Program {
        ops: &[TEX2, TXB2, TXL2],
        decls: "DCL SAMP[0]\nDCL SAMP[1]\nDCL SVIEW[0], CUBEARRAY, FLOAT\nDCL SVIEW[1], SHADOWCUBE_ARRAY, FLOAT\nDCL CONST[0][0..5]",
        imms: "IMM[4] UINT32 {6, 0x3eaaaaab, 0, 0}",
        code: "UMOD TEMP[2].x, TEMP[0].xxxx, IMM[4].xxxx\nUARL ADDR[0].x, TEMP[2].xxxx
            MOV TEMP[3].xyz, CONST[0][ADDR[0].x].xyzz
            AND TEMP[2].y, TEMP[0].xxxx, IMM[0].xxxx\nU2F TEMP[3].w, TEMP[2].yyyy
            TEX2 TEMP[4], TEMP[3], IMM[4].yyyy, SAMP[1], SHADOWCUBE_ARRAY
            TXB2 TEMP[5], TEMP[3], IMM[1].xxxx, SAMP[0], CUBEARRAY
            TXL2 TEMP[6], TEMP[3], IMM[1].xxxx, SAMP[0], CUBEARRAY
            MOV TEMP[1].x, TEMP[4].xxxx\nMOV TEMP[1].y, TEMP[5].xxxx\nMOV TEMP[1].z, TEMP[6].xxxx",
        setup: cubes,
        want: |t| {
            let z = place(0, 0, t % 6 + 6 * (t % 2), 0);
            bits([f32::from(u8::from(z > 333)), z as f32, z as f32, 0.0])
        },
        ..NONE
    },
    Program {
        // From the upper left counterclockwise in rows that go up: (x, y+1), (x+1, y+1), (x+1, y), (x, y).
        ops: &[TG4, GATHER4],
        decls: "DCL SAMP[0]\nDCL SVIEW[0], 2D, FLOAT",
        imms: CENTRE_IMM,
        begin: CENTRE,
        code: "ADD TEMP[2].xy, TEMP[2].xyyy, IMM[4].wwww
            TG4 TEMP[4], TEMP[2], IMM[0].yyyy, SAMP[0], 2D
            TG4 TEMP[5], TEMP[2], IMM[1].xxxx, SAMP[0], 2D, IMM[0].xyx
            GATHER4 TEMP[6], TEMP[2], SVIEW[0], SAMP[0]
            MOV TEMP[1].xy, TEMP[4].xyyy\nMOV TEMP[1].z, TEMP[5].zzzz\nMOV TEMP[1].w, TEMP[6].wwww",
        setup: two_levels,
        want: |t| {
            let texel = |x: u32, y: u32| place((t % 8 + x) % 8, (t / 8 + y) % 8, 0, 0) as f32;
            bits([texel(0, 1) + 0.5, texel(1, 1) + 0.5, texel(2, 2), texel(0, 0)])
        },
        ..NONE
    },
    Program {
        ops: &[SAMPLE, SAMPLE_I, SAMPLE_B, SAMPLE_L, SAMPLE_D],
        decls: "DCL SAMP[0]\nDCL SVIEW[0], 2D, FLOAT",
        imms: CENTRE_IMM,
        begin: CENTRE,
        code: "SAMPLE TEMP[1].x, TEMP[2], SVIEW[0].wzyx, SAMP[0]
            MOV TEMP[3].w, IMM[1].xxxx\nSAMPLE_I TEMP[4], TEMP[3], SVIEW[0]
            ADD TEMP[1].x, TEMP[1].xxxx, TEMP[4].xxxx
            SAMPLE_B TEMP[1].y, TEMP[2], SVIEW[0], SAMP[0], IMM[2].yyyy
            SAMPLE_L TEMP[1].z, TEMP[2], SVIEW[0].xxxx, SAMP[0], IMM[2].yyyy
            SAMPLE_D TEMP[1].w, TEMP[2], SVIEW[0], SAMP[0], IMM[4].yzzz, IMM[4].zyyy",
        setup: two_levels,
        want: |t| {
            let v = f32::from_bits(at(t, 0)[3]) + f32::from_bits(at(t, 0)[0]);
            [v.to_bits(), at(t, 1)[1], at(t, 1)[0], at(t, 1)[3]]
        },
        ..NONE
    },
    Program {
        ops: &[SAMPLE_C, SAMPLE_C_LZ, LOD],
        decls: "DCL SAMP[0]\nDCL SVIEW[0], 2D, FLOAT",
        imms: "IMM[4] UINT32 {0x3e000000, 0x3d0f5c29, 0, 0}",
        begin: CENTRE,
        code: "SAMPLE_C TEMP[1].x, TEMP[2], SVIEW[0].xxxx, SAMP[0], IMM[4].yyyy
            SAMPLE_C_LZ TEMP[1].y, TEMP[2], SVIEW[0].xxxx, SAMP[0], IMM[2].yyyy
            LOD TEMP[1].zw, TEMP[2], SVIEW[0], SAMP[0]",
        setup: |s| {
            let sampler = r#","compare":"less""#;
            s.texture(("2d", "r32f", [8, 8, 1], 1), sampler, &texels([8, 8, 1], 1, false, depth))
        },
        want: |t| bits([f32::from(u8::from(place(t % 8, t / 8, 0, 0) > 35)), 0.0, 0.0, 0.0]),
        ..NONE
    },
    Program {
        ops: &[SAMPLE_I_MS, SVIEWINFO, SAMPLE_INFO],
        decls: "DCL SVIEW[0], 2D_MSAA, UINT\nDCL SVIEW[1], 1D_ARRAY, FLOAT",
        imms: CENTRE_IMM,
        begin: CENTRE,
        code: "SAMPLE_I_MS TEMP[1].x, TEMP[3], SVIEW[0], IMM[0].zzzz
            SVIEWINFO TEMP[4], IMM[0].xxxx, SVIEW[1].wwww\nUMAD TEMP[1].y, TEMP[4].xxxx, IMM[3].xxxx, TEMP[4].yyyy
            MOV TEMP[1].z, TEMP[4].wwww
            SAMPLE_INFO TEMP[5], SVIEW[0].yxzw, IMM[1].xxxx\nUMAD TEMP[1].w, TEMP[5].yyyy, IMM[3].xxxx, TEMP[5].xxxx",
        setup: |s| {
            s.texture(("2d_ms", "r32ui", [8, 8, 4], 1), "", &texels([8, 8, 4], 1, false, word)).texture(
                ("1d_array", "r32f", [6, 5, 1], 2),
                "",
                &[],
            )
        },
        want: |t| [place(t % 8, t / 8, 3, 0), 305, 2, 400],
        ..NONE
    },
];
