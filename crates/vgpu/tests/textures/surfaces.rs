//! Surfaces: compiled kernels store, load and add to images whose words are the driver's, and every byte of memory is what
//! the documents' layout says.

use crate::rig::{self, Image, Random, Rig, TEXELS};
use nvir::Chip;
use nvir::compiler::{Compiler, OptLevel, Options, Source};
use nvir::hw::surface::{self, Target, View};
use nvir::tiling::{Level, Order, TileMode};
use nvir_hw::method::bindings::IMAGE_ADDRESS_HIGH;

/// Where the second image lies.
pub(crate) const SECOND: u64 = TEXELS + (4 << 20);
/// Bytes that the driver's constants have before what they say of images.
const SU_INFO: u64 = 0x4a0;
/// R32_UINT.
const FORMAT: u32 = 0xe4;
/// Threads of a block.
const BLOCK: [u32; 3] = [4, 4, 2];

/// A kernel of one thread for each texel: `ssa_10` is the coordinate, `ssa_13` a number for it, `ssa_0` and `ssa_1` are 0 and 1.
fn kernel(chip: Chip, body: &str) -> nvir::image::Shader {
    let text = format!(
        "shader: MESA_SHADER_COMPUTE\nworkgroup-size: 4, 4, 2\ndecl_function main (0 params)\n\nimpl main {{\nblock block_0:\n\
         vec1 32 ssa_0 = load_const (0x00000000 = 0.000000)\nvec1 32 ssa_1 = load_const (0x00000001 = 0.000000)\n\
         vec1 32 ssa_2 = load_const (0x00000002 = 0.000000)\nvec1 32 ssa_3 = load_const (0x0000000a = 0.000000)\n\
         vec1 32 ssa_4 = load_const (0x00000014 = 0.000000)\n\
         vec3 32 ssa_5 = intrinsic load_local_invocation_id () ()\nvec3 32 ssa_6 = intrinsic load_workgroup_id () ()\n\
         vec1 32 ssa_20 = ishl ssa_6.x, ssa_2\nvec1 32 ssa_7 = iadd ssa_20, ssa_5.x\n\
         vec1 32 ssa_21 = ishl ssa_6.y, ssa_2\nvec1 32 ssa_8 = iadd ssa_21, ssa_5.y\n\
         vec1 32 ssa_22 = ishl ssa_6.z, ssa_1\nvec1 32 ssa_9 = iadd ssa_22, ssa_5.z\n\
         vec4 32 ssa_10 = vec4 ssa_7, ssa_8, ssa_9, ssa_0\n\
         vec1 32 ssa_11 = ishl ssa_8, ssa_3\nvec1 32 ssa_12 = ishl ssa_9, ssa_4\n\
         vec1 32 ssa_23 = ior ssa_11, ssa_12\nvec1 32 ssa_24 = ior ssa_23, ssa_7\nvec1 32 ssa_13 = iadd ssa_24, ssa_1\n\
         vec4 32 ssa_14 = vec4 ssa_13, ssa_0, ssa_0, ssa_0\n\
         {body}\nblock block_1:\n}}\n"
    );
    let compiler = Compiler::new(chip).with_options(Options::at(OptLevel::O3));
    compiler.compile(&Source::nir(&text)).unwrap_or_else(|e| panic!("{chip}: {e}"))
}

/// What [`kernel`] numbers a texel with.
fn number([x, y, z]: [u32; 3]) -> u32 {
    (x | y << 10 | z << 20) + 1
}

/// A level of an image as the driver binds it.
fn view(image: &Image, level: u32, base: u64) -> View {
    let [w, h, d] = image.extent(level);
    let start = image.offset(level, [0; 3]);
    View {
        format: "r32ui".parse().expect("a format"),
        target: if image.three_d { Target::D3 } else { Target::D2Array },
        buffer: false,
        address: base + start,
        size: [w, h, d],
        level: Level {
            order: Order::Blocks(TileMode(image.tile(level))),
            offset: start,
            pitch: (w * 4).next_multiple_of(64),
            rows: h,
            slices: if image.three_d { d } else { 1 },
        },
        layer_stride: image.layer_bytes(),
        three_d: image.three_d,
        first_z: 0,
        samples: (0, 0),
    }
}

/// Binds a view as image `n`; the format is GF100's number of it.
pub(crate) fn bind(rig: &mut Rig, n: u32, v: &View, format: u32) {
    let words = surface::words(rig.chip, v);
    rig.memory.write_words(rig::CONSTANTS + SU_INFO + 64 * u64::from(n), &words).expect("mapped");
    let slot = surface::slot(v);
    let (linear, tile) = match slot.order {
        Order::Pitch => (1 << 20, 0),
        Order::Blocks(tile) => (0, tile.0),
    };
    let at = IMAGE_ADDRESS_HIGH.at(n);
    let (high, low) = ((slot.address >> 32) as u32, slot.address as u32);
    for (i, word) in
        [high, low, slot.width, slot.height | linear, 0x14000 | format << 4, tile].into_iter().enumerate()
    {
        rig.set(at + 4 * i as u32, word);
    }
}

/// A kernel over all texels; with one slice or layer only, no thread is in a second one, which some images do not know of.
pub(crate) fn run(rig: &mut Rig, body: &str, size: [u32; 3], flat: bool) {
    let shader = kernel(rig.chip, body);
    let block = if flat { [4, 4, 1] } else { BLOCK };
    // A thread more than there are texels along each axis: outside nothing is written.
    let threads = |i: usize| if flat && i == 2 { 1 } else { size[i] + 1 };
    let grid = std::array::from_fn(|i| threads(i).div_ceil(block[i]));
    rig.run(&shader.code, shader.launch_gprs(), grid, block).unwrap_or_else(|e| panic!("{}: {e}", rig.chip));
}

/// All words of a level in all its layers, by what a function says of each texel; all other words are `rest`.
fn assert_words(
    rig: &Rig,
    image: &Image,
    level: u32,
    base: u64,
    rest: u32,
    texel: impl Fn([u32; 3]) -> u32,
    what: &str,
) {
    let layers = if image.three_d { 1 } else { image.size[2] };
    let mut wanted = vec![rest; (u64::from(layers) * image.layer_bytes() / 4) as usize];
    let [w, h, d] = image.extent(level);
    for (z, y, x) in (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x)))) {
        wanted[(image.offset(level, [x, y, z]) / 4) as usize] = texel([x, y, z]);
    }
    let mut got = vec![0; wanted.len()];
    rig.memory.read_words(base, &mut got).expect("mapped");
    if let Some(at) = got.iter().zip(&wanted).position(|(g, w)| g != w) {
        panic!("{} {what}, word {at:#x}: {:#x} instead of {:#x} in {image:?}", rig.chip, got[at], wanted[at]);
    }
}

const STORE: &str =
    "intrinsic image_store (ssa_0, ssa_10, ssa_0, ssa_14, ssa_0) (IMAGE, src_type=uint32 /*36*/)";
const ADD: &str = "vec1 32 ssa_30 = intrinsic image_atomic_add (ssa_1, ssa_10, ssa_0, ssa_13) (IMAGE)\n\
    vec4 32 ssa_31 = vec4 ssa_30, ssa_0, ssa_0, ssa_0\n\
    intrinsic image_store (ssa_0, ssa_10, ssa_0, ssa_31, ssa_0) (IMAGE, src_type=uint32 /*36*/)";
const COPY: &str = "vec4 32 ssa_30 = intrinsic image_load (ssa_1, ssa_10, ssa_0, ssa_0) (IMAGE, dest_type=uint32 /*36*/)\n\
    vec1 32 ssa_31 = iadd ssa_30.x, ssa_30.w\nvec4 32 ssa_32 = vec4 ssa_31, ssa_0, ssa_0, ssa_0\n\
    intrinsic image_store (ssa_0, ssa_10, ssa_0, ssa_32, ssa_0) (IMAGE, src_type=uint32 /*36*/)";

#[test]
fn kernels_store_load_and_add_where_the_layout_says() {
    let mut random = Random::new(40);
    rig::each(|rig| {
        for (dim, array, three_d, size, levels) in [
            ("2D", false, false, [37, 21, 1], 3),
            ("2D", false, false, [70, 150, 1], 2),
            ("2D", true, false, [20, 9, 5], 3),
            ("3D", false, true, [20, 18, 11], 3),
            ("3D", false, true, [9, 10, 37], 2),
            ("3D", false, true, [17, 3, 6], 1),
        ] {
            let image = Image { bytes: 4, size, levels, three_d, samples: [0; 2] };
            let layers = if three_d { 1 } else { size[2] };
            let bytes = u64::from(layers) * image.layer_bytes();
            let with = |body: &str| {
                let ix = format!(
                    "image_dim={dim} /*1*/, image_array={array} /*0*/, format=r32_uint /*104*/, access=0"
                );
                body.replace("IMAGE", &ix)
            };
            for level in 0..levels {
                let what = format!("{dim} array {array} level {level}");
                rig.memory.fill(TEXELS, bytes, &[0xee]).expect("mapped");
                bind(rig, 0, &view(&image, level, TEXELS), FORMAT);
                bind(rig, 1, &view(&image, level, SECOND), FORMAT);
                run(rig, &with(STORE), image.extent(level), !array && !three_d);
                assert_words(rig, &image, level, TEXELS, 0xeeee_eeee, number, &format!("store {what}"));
                // The second image gets random words; what was there goes to the first.
                let before: Vec<u32> = (0..bytes / 4).map(|_| random.word() as u32 >> 1).collect();
                rig.memory.write_words(SECOND, &before).expect("mapped");
                let old = |at| before[(image.offset(level, at) / 4) as usize];
                run(rig, &with(COPY), image.extent(level), !array && !three_d);
                // Alpha of such a format is one.
                assert_words(
                    rig,
                    &image,
                    level,
                    TEXELS,
                    0xeeee_eeee,
                    |at| old(at) + 1,
                    &format!("load {what}"),
                );
                run(rig, &with(ADD), image.extent(level), !array && !three_d);
                assert_words(
                    rig,
                    &image,
                    level,
                    TEXELS,
                    0xeeee_eeee,
                    old,
                    &format!("before an addition {what}"),
                );
                let [w, h, d] = image.extent(level);
                let mut wanted = before.clone();
                for (z, y, x) in (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x))))
                {
                    wanted[(image.offset(level, [x, y, z]) / 4) as usize] += number([x, y, z]);
                }
                let mut got = vec![0; wanted.len()];
                rig.memory.read_words(SECOND, &mut got).expect("mapped");
                assert!(got == wanted, "{} addition {what}", rig.chip);
            }
        }
    });
}
