//! What drawing a scene costs: `cargo bench -p nvir-vgpu --bench lit`. Pixels a second of floor, wall and spheres, 800 by 600: some
//! hundred triangles of all sizes in perspective, with a mipmapped texture, specular light and a depth test, under each engine.

#[path = "../tests/common/mod.rs"]
mod common;

use common::scene::{FRAGMENT, Order, Program, Scene, TRIANGLES, VERTEX};
use divan::Bencher;
use divan::counter::ItemsCount;
use nvir::Chip;
use nvir_base::stage::{Stage, attribute};
use nvir_emu_jit::Choice;
use nvir_hw::method::{bindings, shader, three_d::*};
use nvir_hw::tic::{TextureType, Tic};
use nvir_hw::tsc::Tsc;
use nvir_isa::header::{Header, Interpolation};
use nvir_vgpu::Config;

const WIDTH: u32 = 800;
const HEIGHT: u32 = 600;
/// Words of a vertex: position in clip space; normal and place; texture coordinates.
const WORDS: u32 = 12;
/// Texels of a side of the texture.
const TEXELS: u32 = 256;

fn main() {
    divan::main();
}

/// Vertices of triangles.
#[derive(Default)]
struct Mesh(Vec<[f32; WORDS as usize]>);

impl Mesh {
    /// A patch of columns and rows of two triangles each: place, normal and texture coordinates by what lies between 0 and 1.
    fn patch(&mut self, [columns, rows]: [u32; 2], at: impl Fn(f32, f32) -> ([f32; 3], [f32; 3], [f32; 2])) {
        let vertex = |column: u32, row: u32| {
            let ([x, y, z], [nx, ny, nz], [s, t]) =
                at(column as f32 / columns as f32, row as f32 / rows as f32);
            // Near 1, far 20; depths from 0 to 1 after the division.
            let depth = (z - 1.0) * 20.0 / 19.0;
            [x * HEIGHT as f32 / WIDTH as f32 * 1.2, -y * 1.2, depth, z, nx, ny, nz, x, y, z, s, t]
        };
        for n in 0..columns * rows {
            let (x, y) = (n % columns, n / columns);
            let [a, b, c, d] = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y)| vertex(x, y));
            self.0.extend([a, b, c, c, b, d]);
        }
    }

    fn sphere(&mut self, [x, y, z]: [f32; 3], radius: f32) {
        self.patch([16, 8], |s, t| {
            let (around, down) = (s * std::f32::consts::TAU, t * std::f32::consts::PI);
            let n = [around.cos() * down.sin(), -down.cos(), around.sin() * down.sin()];
            ([x + radius * n[0], y + radius * n[1], z + radius * n[2]], n, [2.0 * s, t])
        });
    }
}

/// What is looked at, neither from front to back nor the other way.
fn mesh() -> Mesh {
    let mut mesh = Mesh::default();
    mesh.sphere([-1.2, 0.2, 3.5], 0.8);
    mesh.patch([8, 8], |s, t| ([(s - 0.5) * 12.0, 1.0, 1.2 + 8.0 * t], [0.0, -1.0, 0.0], [8.0 * s, 8.0 * t]));
    mesh.sphere([1.0, 0.4, 3.0], 0.6);
    mesh.patch([4, 4], |s, t| ([(s - 0.5) * 24.0, 1.0 - 9.0 * t, 9.0], [0.0, 0.0, -1.0], [6.0 * s, 3.0 * t]));
    mesh.sphere([0.0, -0.3, 5.0], 1.0);
    mesh
}

/// Passes position and eight words on.
fn vertex_program() -> Program {
    let mut header = Header::new(Stage::Vertex);
    (0x80..0xb0).step_by(4).for_each(|a| header.set_read(a));
    [0, 4, 8, 12].into_iter().for_each(|c| header.set_written(attribute::POSITION + c));
    (0x80..0xa0).step_by(4).for_each(|a| header.set_written(a));
    let lines = [
        "ALD.128 R0, a[0x80]",
        "AST.128 a[0x70], R0",
        "ALD.128 R0, a[0x90]",
        "AST.128 a[0x80], R0",
        "ALD.128 R0, a[0xa0]",
        "AST.128 a[0x90], R0",
        "EXIT",
    ];
    Program::new(header, &lines)
}

/// Diffuse and specular light from one place on a texture.
fn fragment_program() -> Program {
    let mut header = Header::new(Stage::Fragment);
    (0x80..0xa0).step_by(4).for_each(|a| header.set_interpolation(a, Interpolation::Perspective));
    header.set_color_mask(0, 0xf);
    let lines = "IPA.PASS R0, a[0x7c], RZ
        MUFU.RCP R0, R0
        IPA R1, a[0x80], R0
        IPA R2, a[0x84], R0
        IPA R3, a[0x88], R0
        IPA R8, a[0x8c], R0
        IPA R9, a[0x90], R0
        IPA R10, a[0x94], R0
        IPA R12, a[0x98], R0
        IPA R13, a[0x9c], R0
        TEX.P R4, R12, 0x8, 2D, 0xf
        FADD R16, -R8, 2
        FADD R17, -R9, -4
        FADD R18, -R10, 1
        FMUL R11, R1, R1
        FFMA R11, R2, R2, R11
        FFMA R11, R3, R3, R11
        MUFU.RSQ R11, R11
        FMUL R14, R16, R16
        FFMA R14, R17, R17, R14
        FFMA R14, R18, R18, R14
        MUFU.RSQ R14, R14
        FMUL R19, R8, R8
        FFMA R19, R9, R9, R19
        FFMA R19, R10, R10, R19
        MUFU.RSQ R19, R19
        FMUL R16, R16, R14
        FMUL R17, R17, R14
        FMUL R18, R18, R14
        FMUL R15, R1, R16
        FFMA R15, R2, R17, R15
        FFMA R15, R3, R18, R15
        FMUL.SAT R15, R15, R11
        FFMA R16, -R8, R19, R16
        FFMA R17, -R9, R19, R17
        FFMA R18, -R10, R19, R18
        FMUL R20, R16, R16
        FFMA R20, R17, R17, R20
        FFMA R20, R18, R18, R20
        MUFU.RSQ R20, R20
        FMUL R21, R1, R16
        FFMA R21, R2, R17, R21
        FFMA R21, R3, R18, R21
        FMUL R21, R21, R20
        FMUL.SAT R21, R21, R11
        MUFU.LG2 R21, R21
        FMUL R21, R21, 32
        RRO.EX2 R21, R21
        MUFU.EX2 R21, R21
        FADD R15, R15, 0.25
        TEXDEPBAR 0x0
        FFMA.SAT R0, R4, R15, R21
        FFMA.SAT R1, R5, R15, R21
        FFMA.SAT R2, R6, R15, R21
        MOV R3, R7
        EXIT";
    Program::new(header, &lines.lines().map(str::trim).collect::<Vec<_>>())
}

/// A mipmapped texture, and a sampler that filters in and between its levels.
fn texture(s: &mut Scene) {
    // Levels of less than a block are in one of a gob at least, so that twice the first level is room for all.
    let words: Vec<u32> =
        (0..2 * TEXELS * TEXELS).map(|i| i.wrapping_mul(0x9e37_79b9) | 0xff00_0000).collect();
    let texels = s.client.filled(words.len() as u64 * 4, &words);
    let (tables, constants) = (s.client.buffer(0x2000), s.client.buffer(0x1000));
    let mut tic = Tic::default();
    tic.set(Tic::COMPONENT_SIZES, 8);
    for n in 0..4 {
        tic.set(Tic::DATA_TYPE.at(n), 2).set(Tic::SOURCE.at(n), 2 + n);
    }
    tic.set_address(texels.offset).set(Tic::TEXTURE_TYPE, TextureType::D2.code());
    tic.set(Tic::GOBS_PER_BLOCK_HEIGHT, 4).set(Tic::NORMALIZED_COORDS, 1);
    tic.set(Tic::WIDTH, TEXELS).set(Tic::USE_TEXTURE_HEADER_VERSION2, 1);
    tic.set(Tic::HEIGHT, TEXELS).set(Tic::DEPTH, 1);
    tic.set(Tic::MAX_MIP_LEVEL, TEXELS.ilog2()).set(Tic::RES_VIEW_MAX_MIP_LEVEL, TEXELS.ilog2());
    let mut tsc = Tsc::default();
    tsc.set(Tsc::MAG_FILTER, 2)
        .set(Tsc::MIN_FILTER, 2)
        .set(Tsc::MIP_FILTER, 3)
        .set(Tsc::MAX_LOD_CLAMP, 0xfff);
    s.client.gpu().write(tables.offset, &tic.0).expect("it is there");
    s.client.gpu().write(tables.offset + 0x1000, &tsc.0).expect("it is there");
    let at = |a: u64| [(a >> 32) as u32, a as u32];
    let [[high, low], [samplers_high, samplers_low]] = [tables.offset, tables.offset + 0x1000].map(at);
    s.set(shader::TIC_ADDRESS_HIGH, &[high, low, 0]);
    s.set(shader::TSC_ADDRESS_HIGH, &[samplers_high, samplers_low, 0]);
    let [high, low] = at(constants.offset);
    s.set(shader::TEX_CB_INDEX, &[15]).set(bindings::CB_SIZE, &[0x1000, high, low]);
    s.set(CB_BIND.at(4), &[15 << 4 | 1]);
}

#[divan::bench(args = [Choice::Interpreter, Choice::Compiled])]
fn lit(bencher: Bencher<'_, '_>, engine: Choice) {
    let mesh = mesh();
    let count = mesh.0.len() as u32;
    let mut config = Config::new(Chip::Gk110);
    config.launch.engine = engine.engine();
    let mut s = Scene::new(config, WIDTH, Order::Blocks, u64::from(count * WORDS));
    let words: Vec<u32> = mesh.0.iter().flatten().map(|v| v.to_bits()).collect();
    s.client.gpu().write(s.vertices.offset, &words).expect("it is there");
    s.program(1, VERTEX, &vertex_program()).program(5, FRAGMENT, &fragment_program());
    s.set(SP_GPR_ALLOC.at(5), &[24]);
    let attribute = |n: u32| 0x3820_0000 | ((n * 16) << 7);
    s.set(VERTEX_ATTRIB_FORMAT.at(0), &[attribute(0), attribute(1), attribute(2)]);
    s.set(VERTEX_ARRAY_FETCH.at(0), &[(1 << 12) | (4 * WORDS)]);
    texture(&mut s);
    let scale = [WIDTH as f32 / 2.0, HEIGHT as f32 / 2.0, 1.0];
    s.set(VIEWPORT_SCALE_X.at(0), &scale.map(f32::to_bits));
    let translate = [WIDTH as f32 / 2.0, HEIGHT as f32 / 2.0, 0.0];
    s.set(VIEWPORT_TRANSLATE_X.at(0), &translate.map(f32::to_bits)).set(VIEWPORT_TRANSFORM_EN, &[1]);
    s.set(SCREEN_SCISSOR_HORIZ, &[WIDTH << 16, HEIGHT << 16]);
    s.set(VIEWPORT_HORIZ.at(0), &[WIDTH << 16, HEIGHT << 16, 0, 1f32.to_bits()]);
    let zeta = s.client.buffer(u64::from(WIDTH.next_multiple_of(128) * WIDTH) * 4);
    let at = [(zeta.offset >> 32) as u32, zeta.offset as u32];
    s.set(ZETA_ADDRESS_HIGH, &[at[0], at[1], 0x14, 0x40, 0]).set(ZETA_HORIZ, &[WIDTH, WIDTH, 1]);
    s.set(ZETA_ENABLE, &[1]).set(DEPTH_TEST_ENABLE, &[1]);
    s.set(DEPTH_TEST_FUNC, &[0x201]).set(DEPTH_WRITE_ENABLE, &[1]);
    s.run();
    s.set(CLEAR_DEPTH, &[1f32.to_bits()]).set(CLEAR_BUFFERS, &[0x3d]).draw(TRIANGLES, 0, count);
    let push = std::mem::take(&mut s.push);
    bencher.counter(ItemsCount::new(WIDTH * HEIGHT)).bench_local(|| s.client.run(&push).expect("no fault"));
    if let Some(path) = std::env::var_os("LIT_PICTURE") {
        let bytes = s.client.bytes(s.target.offset, (WIDTH.next_multiple_of(128) * WIDTH * 4) as usize);
        std::fs::write(path, bytes).expect("a file");
    }
}
