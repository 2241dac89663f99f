//! Fragments of benches, here and of the crates with other engines: many quads of a triangle, a filtered texture, light.

use divan::Bencher;
use divan::counter::ItemsCount;
use nvir_base::Chip;
use nvir_base::stage::Stage;
use nvir_emu::engine::Engine;
use nvir_emu::image::{Arrangement, Dim, Filter, Image, ImageDesc, Sampler};
use nvir_emu::stage::batch::{
    AttributeBuffer, Bound, Defaults, Fragments, Input, Linkage, Plane, Quad, Results, Sides, Slots, State,
    Triangle, weights,
};
use nvir_emu::{Launch, Memory, Options, Program};
use nvir_isa::header::{Header, Interpolation};

/// Binds a filtered texture of bytes to handle 0, one of halves to 1 and one of floats to 2, which comparisons can look at.
pub(crate) fn textures(launch: &mut Launch<'_>, memory: &mut Memory) {
    let format = ["rgba8", "rgba16f", "r32f"].map(|name| name.parse().expect("a format"));
    let desc = format.map(|format| ImageDesc { dim: Dim::D2, format, size: [64, 64, 1], levels: 1 });
    launch.textures = desc.map(|d| Image::alloc(memory, d, Arrangement::Driver).ok()).to_vec();
    (0..3u32).for_each(|handle| launch.set_const_u32(7, 4 * handle as usize, handle));
    launch.samplers = vec![Sampler { min: Filter::Linear, mag: Filter::Linear, ..Sampler::default() }];
}

/// Quads of a launch.
const QUADS: u32 = 8192;

/// Eight perspective inputs, a texture, a colour.
pub(crate) fn fragments(
    bencher: Bencher<'_, '_>,
    engine: Option<&dyn Engine>,
    code: &[u64],
    quads_a_triangle: u32,
) {
    let mut header = Header::new(Stage::Fragment);
    let inputs: [u32; 8] = std::array::from_fn(|n| 0x80 + 4 * n as u32);
    inputs.into_iter().for_each(|a| header.set_interpolation(a, Interpolation::Perspective));
    header.set_color_mask(0, 15);
    let program = Program::new(Chip::Gk110, code);
    let (mut memory, defaults) = (Memory::new(), Defaults::zero());
    let mut launch = Launch::new(&program);
    textures(&mut launch, &mut memory);
    launch.gprs = 20;
    let state = State { flat_shade: false, samples: 1, defaults: &defaults };
    let bound = Bound::new(&launch, &header, &memory, state);
    let mut vertices = AttributeBuffer::new(Slots::new(inputs).into());
    vertices.resize(3);
    (0..24).for_each(|n| vertices.set(n / 8, n % 8, (n as f32 / 8.0).to_bits()));
    let link = Linkage::new(&header, vertices.slots(), &defaults, Sides::One);
    let triangle = Triangle {
        corners: [0, 1, 2],
        flat: 0,
        weights: weights([[0.0, 0.0], [256.0, 0.0], [0.0, 256.0]]).expect("it has an area"),
        depth: Plane::constant(0.5),
        inverse_w: [1.0, 0.5, 0.25],
        front: true,
        id: 0,
        layer: 0,
        viewport: 0,
    };
    let (mut fragments, mut results) = (Fragments::new(), Results::new());
    let mut once = || {
        fragments.clear();
        for _ in 0..QUADS / quads_a_triangle {
            let number = fragments.triangle(&link, &vertices, &triangle);
            (0..quads_a_triangle)
                .for_each(|n| fragments.quad(Quad::new(number, [2 * (n % 8), 2 * (n / 8)], [1; 4])));
        }
        let mut options = Options { threads: 1, engine, ..Options::default() };
        bound.run(&Input::Quads(&fragments), &mut results, &mut options).expect("no fault")
    };
    let count = once().thread_instructions;
    bencher.counter(ItemsCount::new(count)).bench_local(once);
}

/// A light at a place, a normal, and what `texture` leaves in R4 to R7.
pub(crate) fn lit(texture: &str) -> String {
    format!(
        "IPA.PASS R0, a[0x7c], RZ
        MUFU.RCP R0, R0
        IPA R1, a[0x80], R0
        IPA R2, a[0x84], R0
        IPA R3, a[0x88], R0
        IPA R8, a[0x8c], R0
        IPA R9, a[0x90], R0
        IPA R10, a[0x94], R0
        IPA R12, a[0x98], R0
        IPA R13, a[0x9c], R0
        {texture}
        FMUL R11, R1, R1
        FFMA R11, R2, R2, R11
        FFMA R11, R3, R3, R11
        MUFU.RSQ R11, R11
        FADD R8, -R8, 1
        FADD R9, -R9, 1
        FADD R10, -R10, 1
        FMUL R14, R8, R8
        FFMA R14, R9, R9, R14
        FFMA R14, R10, R10, R14
        MUFU.RSQ R14, R14
        FMUL R11, R11, R14
        FMUL R15, R1, R8
        FFMA R15, R2, R9, R15
        FFMA R15, R3, R10, R15
        FMUL.SAT R15, R15, R11
        FADD R15, R15, 0.25
        FMUL.SAT R0, R4, R15
        FMUL.SAT R1, R5, R15
        FMUL.SAT R2, R6, R15
        MOV R3, R7
        EXIT"
    )
}
