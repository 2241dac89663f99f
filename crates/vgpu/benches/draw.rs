//! What drawing costs: `cargo bench -p nvir-vgpu --bench draw`. Pixels, triangles and draws a second of programs of a few
//! instructions, through push buffers.

#[path = "../tests/common/mod.rs"]
mod common;

use common::scene::{FRAGMENT, Order, Program, STRIP, Scene, TRIANGLES, Vertex, rectangle};
use divan::Bencher;
use divan::counter::ItemsCount;
use nvir::Chip;
use nvir_hw::method::three_d::*;
use nvir_vgpu::Config;

const CHIP: Chip = Chip::Gk110;
const SIDE: u32 = 512;
const PIXELS: u32 = SIDE * SIDE;
const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];

fn main() {
    divan::main();
}

fn scene(vertices: u64) -> Scene {
    let mut scene = Scene::new(Config::new(CHIP), SIDE, Order::Blocks, vertices);
    scene.run();
    scene
}

/// A scene whose vertices are those of a strip over all of the window, with words from 0 to 1 as colours.
fn window() -> Scene {
    let mut s = scene(512);
    let mut all = rectangle([0.0, SIDE as f32], [0.0, SIDE as f32], RED);
    for (n, vertex) in all.iter_mut().enumerate() {
        vertex.1 = [(n & 1) as f32, (n >> 1) as f32, 0.5, 0.5];
    }
    s.vertices(&all);
    s
}

/// Submits what a scene has for each iteration, which is so many of something.
fn bench(bencher: Bencher<'_, '_>, mut scene: Scene, items: u32) {
    let push = std::mem::take(&mut scene.push);
    bencher.counter(ItemsCount::new(items)).bench_local(|| scene.client.run(&push).expect("no fault"));
}

/// A window of one colour.
#[divan::bench]
fn flat(bencher: Bencher<'_, '_>) {
    let mut s = window();
    s.draw(STRIP, 0, 4);
    bench(bencher, s, PIXELS);
}

/// A window of colours between those of the corners.
#[divan::bench]
fn smooth(bencher: Bencher<'_, '_>) {
    let mut s = window();
    s.program(5, FRAGMENT, &Program::smooth()).draw(STRIP, 0, 4);
    bench(bencher, s, PIXELS);
}

#[divan::bench]
fn blended(bencher: Bencher<'_, '_>) {
    let mut s = window();
    s.add().draw(STRIP, 0, 4);
    bench(bencher, s, PIXELS);
}

/// A filtered texture over the window.
#[divan::bench]
fn textured(bencher: Bencher<'_, '_>) {
    let mut s = window();
    texture(&mut s);
    s.draw(STRIP, 0, 4);
    bench(bencher, s, PIXELS);
}

#[divan::bench]
fn textured_and_blended(bencher: Bencher<'_, '_>) {
    let mut s = window();
    texture(&mut s);
    s.add().draw(STRIP, 0, 4);
    bench(bencher, s, PIXELS);
}

/// A texture of as many texels as the window has pixels.
fn texture(s: &mut Scene) {
    let texels: Vec<u32> = (0..PIXELS).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let buffer = s.client.filled(u64::from(PIXELS) * 4, &texels);
    s.program(5, FRAGMENT, &Program::textured(CHIP)).texture(&buffer, SIDE, [2, 2]);
}

/// The depth test, which all pixels pass.
#[divan::bench]
fn depth(bencher: Bencher<'_, '_>) {
    let mut s = window();
    let zeta = s.client.filled(u64::from(PIXELS) * 4, &vec![0x00ff_ffff; PIXELS as usize]);
    let at = [(zeta.offset >> 32) as u32, zeta.offset as u32];
    s.set(ZETA_ADDRESS_HIGH, &[at[0], at[1], 0x16, 0x40, 0]).set(ZETA_HORIZ, &[SIDE, SIDE, 1]);
    s.set(ZETA_ENABLE, &[1]).set(DEPTH_TEST_ENABLE, &[1]);
    s.set(DEPTH_TEST_FUNC, &[0x203]).set(DEPTH_WRITE_ENABLE, &[1]).draw(STRIP, 0, 4);
    bench(bencher, s, PIXELS);
}

/// Other formats of the target.
#[divan::bench(args = [0xc0, 0xca, 0xd6, 0xe0, 0xe8, 0xee, 0xf3])]
fn format(bencher: Bencher<'_, '_>, code: u32) {
    let mut s = window();
    let target = s.client.buffer(u64::from(PIXELS) * 16);
    let at = [(target.offset >> 32) as u32, target.offset as u32];
    s.set(RT_ADDRESS_HIGH.at(0), &[at[0], at[1], SIDE, SIDE, code, 0x40]).draw(STRIP, 0, 4);
    bench(bencher, s, PIXELS);
}

/// Setup and coverage alone: the sample mask leaves no pixel to the program.
#[divan::bench]
fn coverage(bencher: Bencher<'_, '_>) {
    let mut s = window();
    s.set(RT_FORMAT.at(0), &[0]).set(MSAA_MASK.at(0), &[0; 4]).draw(STRIP, 0, 4);
    bench(bencher, s, PIXELS);
}

/// Draws of one triangle of one pixel, without any change of state between them.
#[divan::bench]
fn draws(bencher: Bencher<'_, '_>) {
    const DRAWS: u32 = 1000;
    let mut s = scene(512);
    s.vertices(&[([0.0, 0.0], RED), ([2.0, 0.0], RED), ([0.0, 2.0], RED)]);
    (0..DRAWS).for_each(|_| {
        s.draw(TRIANGLES, 0, 3);
    });
    bench(bencher, s, DRAWS);
}

/// Triangles of about two pixels, each of vertices of its own, in one draw.
#[divan::bench(args = [10_000, 100_000])]
fn small_triangles(bencher: Bencher<'_, '_>, count: u32) {
    let mut s = scene(u64::from(3 * count));
    let corner = |n: u32| -> [Vertex; 3] {
        let [x, y] = [n * 2 % SIDE, n * 2 / SIDE * 2 % SIDE].map(|v| v as f32);
        [([x, y], RED), ([x + 2.0, y], RED), ([x, y + 2.0], RED)]
    };
    s.vertices(&(0..count).flat_map(corner).collect::<Vec<_>>());
    s.draw(TRIANGLES, 0, 3 * count);
    bench(bencher, s, count);
}
