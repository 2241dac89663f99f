//! Formats and layouts of surfaces: kernels copy texels of a format to an image of four words a texel and back, and the words
//! and bytes are what the documents say of the format.

use crate::formats::{Value, check, component, field};
use crate::rig::{self, FLOAT, Image, Random, Rig, SINT, SNORM, TEXELS, UINT, UNORM};
use crate::surfaces::{SECOND, bind, run};
use nvir::hw::surface::{Target, View};
use nvir::tiling::{Level, Order, TileMode};

/// A format by Gallium's name and by GL's, GF100's number, bits of its components, what they are.
type Format = (&'static str, &'static str, u32, &'static [u32], u32);

const FORMATS: &[Format] = &[
    ("r32g32b32a32_float", "rgba32f", 0xc0, &[32; 4], FLOAT),
    ("r32g32b32a32_sint", "rgba32i", 0xc1, &[32; 4], SINT),
    ("r32g32b32a32_uint", "rgba32ui", 0xc2, &[32; 4], UINT),
    ("r16g16b16a16_unorm", "rgba16", 0xc6, &[16; 4], UNORM),
    ("r16g16b16a16_snorm", "rgba16_snorm", 0xc7, &[16; 4], SNORM),
    ("r16g16b16a16_sint", "rgba16i", 0xc8, &[16; 4], SINT),
    ("r16g16b16a16_uint", "rgba16ui", 0xc9, &[16; 4], UINT),
    ("r16g16b16a16_float", "rgba16f", 0xca, &[16; 4], FLOAT),
    ("r32g32_float", "rg32f", 0xcb, &[32; 2], FLOAT),
    ("r32g32_sint", "rg32i", 0xcc, &[32; 2], SINT),
    ("r32g32_uint", "rg32ui", 0xcd, &[32; 2], UINT),
    ("r10g10b10a2_unorm", "rgb10_a2", 0xd1, &[10, 10, 10, 2], UNORM),
    ("r10g10b10a2_uint", "rgb10_a2ui", 0xd2, &[10, 10, 10, 2], UINT),
    ("r8g8b8a8_unorm", "rgba8", 0xd5, &[8; 4], UNORM),
    ("r8g8b8a8_snorm", "rgba8_snorm", 0xd7, &[8; 4], SNORM),
    ("r8g8b8a8_sint", "rgba8i", 0xd8, &[8; 4], SINT),
    ("r8g8b8a8_uint", "rgba8ui", 0xd9, &[8; 4], UINT),
    ("r16g16_unorm", "rg16", 0xda, &[16; 2], UNORM),
    ("r16g16_snorm", "rg16_snorm", 0xdb, &[16; 2], SNORM),
    ("r16g16_sint", "rg16i", 0xdc, &[16; 2], SINT),
    ("r16g16_uint", "rg16ui", 0xdd, &[16; 2], UINT),
    ("r16g16_float", "rg16f", 0xde, &[16; 2], FLOAT),
    ("r11g11b10_float", "r11f_g11f_b10f", 0xe0, &[11, 11, 10], FLOAT),
    ("r32_sint", "r32i", 0xe3, &[32], SINT),
    ("r32_uint", "r32ui", 0xe4, &[32], UINT),
    ("r32_float", "r32f", 0xe5, &[32], FLOAT),
    ("r8g8_unorm", "rg8", 0xea, &[8; 2], UNORM),
    ("r8g8_snorm", "rg8_snorm", 0xeb, &[8; 2], SNORM),
    ("r8g8_sint", "rg8i", 0xec, &[8; 2], SINT),
    ("r8g8_uint", "rg8ui", 0xed, &[8; 2], UINT),
    ("r16_unorm", "r16", 0xee, &[16], UNORM),
    ("r16_snorm", "r16_snorm", 0xef, &[16], SNORM),
    ("r16_sint", "r16i", 0xf0, &[16], SINT),
    ("r16_uint", "r16ui", 0xf1, &[16], UINT),
    ("r16_float", "r16f", 0xf2, &[16], FLOAT),
    ("r8_unorm", "r8", 0xf3, &[8], UNORM),
    ("r8_snorm", "r8_snorm", 0xf4, &[8], SNORM),
    ("r8_sint", "r8i", 0xf5, &[8], SINT),
    ("r8_uint", "r8ui", 0xf6, &[8], UINT),
];

/// The format of four words that a kernel copies to and from, and the type in NIR.
fn words_of(kind: u32) -> (&'static Format, &'static str) {
    match kind {
        SINT => (&FORMATS[1], "int32"),
        UINT => (&FORMATS[2], "uint32"),
        _ => (&FORMATS[0], "float32"),
    }
}

/// How an image lies in memory.
#[derive(Clone, Debug)]
struct Shape {
    dim: &'static str,
    array: bool,
    image: Image,
    /// Bytes of a row, where rows follow each other.
    pitch: Option<u32>,
}

impl Shape {
    fn new(dim: &'static str, array: bool, size: [u32; 3], bytes: u32) -> Shape {
        let image = Image { bytes, size, levels: 1, three_d: dim == "3D", samples: [0; 2] };
        Shape { dim, array, image, pitch: None }
    }

    fn bytes(&self) -> u64 {
        let Image { size: [_, h, d], three_d, .. } = self.image;
        match self.pitch {
            Some(pitch) => u64::from(pitch * h),
            None => self.image.layer_bytes() * if three_d { 1 } else { u64::from(d) },
        }
    }

    /// Bytes to a texel, of a sample.
    fn offset(&self, [x, y, z]: [u32; 3], sample: u32) -> u64 {
        // Samples are texels of a grid: two in a row, then the next row, then the next four.
        let [sx, sy] = self.image.samples;
        let place = [(x << sx) + (sample & 1) + (sample >> 2 << 1), (y << sy) + (sample >> 1 & 1), z];
        match self.pitch {
            Some(pitch) => u64::from(y * pitch + x * self.image.bytes),
            None => self.image.offset(0, place),
        }
    }

    fn view(&self, format: &Format, base: u64) -> View {
        let Image { size: [w, h, d], three_d, samples: [sx, sy], bytes, .. } = self.image;
        let order = match self.pitch {
            Some(_) => Order::Pitch,
            None => Order::Blocks(TileMode(self.image.tile(0))),
        };
        let pitch = self.pitch.unwrap_or(((w << sx) * bytes).next_multiple_of(64));
        let slices = if three_d { d } else { 1 };
        View {
            format: format.1.parse().expect("a format"),
            target: match (three_d, self.array) {
                (true, _) => Target::D3,
                (_, true) => Target::D2Array,
                _ => Target::D2,
            },
            buffer: false,
            address: base,
            size: [w, h, d],
            level: Level { order, offset: 0, pitch, rows: h << sy, slices },
            layer_stride: if self.pitch.is_some() { 0 } else { self.image.layer_bytes() },
            three_d,
            first_z: 0,
            samples: (sx, sy),
        }
    }

    fn texels(&self) -> impl Iterator<Item = [u32; 3]> + use<> {
        let [w, h, d] = self.image.size;
        (0..d).flat_map(move |z| (0..h).flat_map(move |y| (0..w).map(move |x| [x, y, z])))
    }

    /// What NIR says of such an image.
    fn named(&self, format: &Format) -> String {
        format!("image_dim={}, image_array={}, format={}, access=0", self.dim, self.array, format.0)
    }
}

/// Random bits of a texel that say the same when they were written again: no numbers that are none, and one lowest one.
fn texel(random: &mut Random, (_, _, _, bits, kind): &Format) -> Vec<u8> {
    let mut texel = vec![0u8; (bits.iter().sum::<u32>() / 8) as usize];
    let mut low = 0;
    for n in *bits {
        let mut raw = random.word() as u32 >> (32 - n);
        let mantissa = match n {
            32 => 23,
            16 => 10,
            n => n.saturating_sub(5),
        };
        let exponent = (u32::MAX >> (32 - n) >> mantissa)
            & if *n >= 16 { u32::MAX >> (33 - n + mantissa) } else { u32::MAX };
        match *kind {
            FLOAT if raw >> mantissa & exponent == exponent => raw ^= 1 << mantissa,
            SNORM if raw == 1 << (n - 1) => raw += 1,
            _ => {}
        }
        (0..*n).for_each(|b| texel[((low + b) / 8) as usize] |= ((raw >> b & 1) as u8) << ((low + b) % 8));
        low += n;
    }
    texel
}

/// The four values of a texel: those that are not there are zero, and alpha is one.
fn values(texel: &[u8], (_, _, _, bits, kind): &Format) -> [Value; 4] {
    let one = if matches!(*kind, SINT | UINT) { Value::Bits(1) } else { Value::Real(1.0) };
    let zero = if matches!(*kind, SINT | UINT) { Value::Bits(0) } else { Value::Real(0.0) };
    let mut all = [zero, zero, zero, one];
    let mut low = 0;
    for (to, n) in all.iter_mut().zip(*bits) {
        *to = component(field(texel, low, *n), *n, *kind);
        low += n;
    }
    all
}

fn word(value: &Value) -> u32 {
    match *value {
        Value::Bits(bits) => bits,
        Value::Real(v) => (v as f32).to_bits(),
    }
}

/// Copies between an image of a format and one of four words, both ways, for each sample.
fn copies(rig: &mut Rig, random: &mut Random, format: &Format, shape: &Shape) {
    let (four, kind) = words_of(format.4);
    let what = format!("{} {} {shape:?}", rig.chip, format.1);
    let plain = Shape {
        dim: if shape.dim == "2D-MSAA" { "2D" } else { shape.dim },
        image: Image { bytes: 16, samples: [0; 2], ..shape.image.clone() },
        pitch: None,
        ..shape.clone()
    };
    assert!(plain.bytes() <= SECOND - TEXELS && shape.bytes() <= SECOND - TEXELS);
    bind(rig, 0, &shape.view(format, TEXELS), format.2);
    bind(rig, 1, &plain.view(four, SECOND), four.2);
    let size = shape.image.size;
    let flat = !shape.array && !shape.image.three_d;
    let samples: u32 = 1 << shape.image.samples.iter().sum::<u32>();
    let mut wanted = vec![0xee; shape.bytes() as usize];
    let mut texels = Vec::new();
    for sample in 0..samples {
        for at in shape.texels() {
            let texel = texel(random, format);
            let to = shape.offset(at, sample) as usize;
            wanted[to..to + texel.len()].copy_from_slice(&texel);
            texels.push(texel);
        }
    }
    rig.memory.write(TEXELS, &wanted).expect("mapped");
    for (sample, texels) in (0..).zip(texels.chunks(texels.len() / samples as usize)) {
        let body = format!(
            "vec1 32 ssa_40 = load_const ({sample:#010x} = 0.000000)\n\
             vec4 32 ssa_30 = intrinsic image_load (ssa_0, ssa_10, ssa_40, ssa_0) ({}, dest_type={kind})\n\
             intrinsic image_store (ssa_1, ssa_10, ssa_0, ssa_30, ssa_0) ({}, src_type={kind})",
            shape.named(format),
            plain.named(four)
        );
        rig.memory.fill(SECOND, plain.bytes(), &[0xee]).expect("mapped");
        run(rig, &body, size, flat);
        for (at, texel) in shape.texels().zip(texels) {
            let mut got = [0; 4];
            rig.memory.read_words(SECOND + plain.offset(at, 0), &mut got).expect("mapped");
            let all = values(texel, format);
            for (c, (got, wanted)) in got.iter().zip(&all).enumerate() {
                check(
                    *got,
                    wanted,
                    &format!("{what}: load {texel:x?} at {at:?}, sample {sample}, component {c}"),
                );
            }
        }
    }
    rig.memory.fill(TEXELS, shape.bytes(), &[0xee]).expect("mapped");
    for (sample, texels) in (0..).zip(texels.chunks(texels.len() / samples as usize)) {
        for (at, texel) in shape.texels().zip(texels) {
            let mut words = values(texel, format).map(|v| word(&v));
            let mut low = 0;
            for (word, n) in words.iter_mut().zip(format.3) {
                *word = rounded(random, *word, field(texel, low, *n), *n, format.4);
                low += n;
            }
            // What the format has no place for.
            words[format.3.len()..].iter_mut().for_each(|w| *w = random.word() as u32);
            rig.memory.write_words(SECOND + plain.offset(at, 0), &words).expect("mapped");
        }
        let body = format!(
            "vec1 32 ssa_40 = load_const ({sample:#010x} = 0.000000)\n\
             vec4 32 ssa_30 = intrinsic image_load (ssa_1, ssa_10, ssa_0, ssa_0) ({}, dest_type={kind})\n\
             intrinsic image_store (ssa_0, ssa_10, ssa_40, ssa_30, ssa_0) ({}, src_type={kind})",
            plain.named(four),
            shape.named(format)
        );
        run(rig, &body, size, flat);
    }
    let got = rig.memory.read(TEXELS, wanted.len() as u64).expect("mapped");
    if let Some(at) = got.iter().zip(&wanted).position(|(g, w)| g != w) {
        panic!("{what}: store, byte {at:#x}: {:#x} instead of {:#x}", got[at], wanted[at]);
    }
}

/// A value that is not quite that of a fraction's bits, but nearer to it than to all others; beyond the ends too.
fn rounded(random: &mut Random, word: u32, raw: u32, bits: u32, kind: u32) -> u32 {
    let (most, least) = match kind {
        UNORM => (u32::MAX >> (32 - bits), 0),
        SNORM => (u32::MAX >> (33 - bits), (1 << (bits - 1)) + 1),
        _ => return word,
    };
    let v = f64::from(f32::from_bits(word));
    let part = f64::from(random.word() as u32) / f64::from(u32::MAX) * 0.8 - 0.4;
    let v = match raw {
        raw if raw == most => v + part.abs() * 100.0,
        raw if raw == least => v - part.abs() * 100.0,
        _ => v + part / f64::from(most),
    };
    (v as f32).to_bits()
}

/// Sample places for the driver's constants: x and y of each.
fn set_up(rig: &mut Rig) {
    let places = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [3, 0], [2, 1], [3, 1]].concat();
    rig.memory.write_words(rig::CONSTANTS + 0xc0, &places).expect("mapped");
}

fn bytes((_, _, _, bits, _): &Format) -> u32 {
    bits.iter().sum::<u32>() / 8
}

#[test]
fn every_format_is_loaded_and_stored() {
    let mut random = Random::new(50);
    rig::each(|rig| {
        for format in FORMATS {
            copies(rig, &mut random, format, &Shape::new("2D", false, [37, 21, 1], bytes(format)));
        }
    });
}

#[test]
fn layouts_of_texels_of_every_size() {
    let mut random = Random::new(51);
    rig::each(|rig| {
        for name in ["r8ui", "rg8_snorm", "rgba8", "rg32i", "rgba32f"] {
            let format = FORMATS.iter().find(|f| f.1 == name).expect("it is there");
            let bytes = bytes(format);
            copies(rig, &mut random, format, &Shape::new("2D", true, [13, 17, 3], bytes));
            copies(rig, &mut random, format, &Shape::new("3D", false, [9, 10, 7], bytes));
            let pitch = Some(19 * 64);
            let row_by_row = Shape { pitch, ..Shape::new("2D", false, [40, 11, 1], bytes) };
            copies(rig, &mut random, format, &row_by_row);
        }
    });
}

#[test]
fn samples_are_texels_of_a_grid() {
    let mut random = Random::new(52);
    rig::each(|rig| {
        set_up(rig);
        for name in ["r16ui", "rgba8", "rgba16f"] {
            let format = FORMATS.iter().find(|f| f.1 == name).expect("it is there");
            for samples in [[1, 0], [1, 1], [2, 1]] {
                let mut shape = Shape::new("2D-MSAA", false, [11, 9, 1], bytes(format));
                shape.image.samples = samples;
                copies(rig, &mut random, format, &shape);
            }
        }
    });
}
