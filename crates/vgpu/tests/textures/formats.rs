//! Formats: raw bits to channels, through a fetch of each texel of a buffer.

use crate::rig::{self, FLOAT, NEAREST, Random, Rig, SINT, SNORM, TEXELS, Tic, UINT, UNORM, WORDS, at};
use nvir_vgpu::frames::Pixels;

/// What a channel is, with the tolerance of its comparison.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Bits(u32),
    Real(f64),
}

/// A component's value by the documents.
pub(crate) fn component(raw: u32, bits: u32, kind: u32) -> Value {
    let signed = ((raw << (32 - bits)) as i32 >> (32 - bits)) as f64;
    let most = |bits: u32| ((1u64 << bits) - 1) as f64;
    match (kind, bits) {
        (UNORM, _) => Value::Real(f64::from(raw) / most(bits)),
        (SNORM, _) => Value::Real((signed / most(bits - 1)).max(-1.0)),
        (SINT, _) => Value::Bits(signed as i32 as u32),
        (FLOAT, 32) | (UINT, _) => Value::Bits(raw),
        (FLOAT, 16) => Value::Real(if raw >> 15 != 0 { -small(raw & 0x7fff, 10) } else { small(raw, 10) }),
        (FLOAT, _) => Value::Real(small(raw, bits - 5)),
        _ => panic!("{kind} of {bits} bits"),
    }
}

/// A float without sign, with five bits of exponent.
fn small(raw: u32, mantissa: u32) -> f64 {
    let (exponent, fraction) =
        (raw >> mantissa, f64::from(raw & ((1 << mantissa) - 1)) / f64::from(1 << mantissa));
    match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction) * 2f64.powi(e as i32 - 15),
    }
}

fn linear(srgb: f64) -> f64 {
    if srgb <= 0.04045 { srgb / 12.92 } else { ((srgb + 0.055) / 1.055).powf(2.4) }
}

pub(crate) fn check(got: u32, wanted: &Value, what: &str) {
    match *wanted {
        Value::Bits(bits) => assert_eq!(got, bits, "{what}"),
        Value::Real(v) => {
            let got = f64::from(f32::from_bits(got));
            // Two units in the last place.
            let near = got == v || (got - v).abs() <= v.abs() * 2f64.powi(-22) || got.is_nan() && v.is_nan();
            assert!(near, "{what}: {got} instead of {v}");
        }
    }
}

pub(crate) fn field(texel: &[u8], low: u32, bits: u32) -> u32 {
    (0..bits).map(|n| u32::from(texel[((low + n) / 8) as usize] >> ((low + n) % 8) & 1) << n).sum()
}

/// Fetches `texels` as a buffer of a format.
fn fetch(rig: &mut Rig, tic: Tic, texels: &[u8], count: u32) -> Vec<[u32; 4]> {
    rig.memory.write(TEXELS, texels).expect("mapped");
    rig.bind(&Tic { kind: 6, size: [count, 0, 0], pitch: Some(0), normalized: false, ..tic }, &NEAREST);
    rig.look("TLD.LZ", "1D", &(0..count).map(|i| at(&[i])).collect::<Vec<_>>())
}

const COUNT: u32 = 256;

/// A component size, bits of each component, lists of types.
type Format = (u32, &'static [u32], &'static [&'static [u32]]);

/// Component sizes, and the types that Mesa gives the first components.
const FORMATS: &[Format] = &[
    (0x01, &[32; 4], &[&[SINT; 4], &[UINT; 4], &[FLOAT; 4], &[UNORM; 4], &[SNORM; 4]]),
    (0x02, &[32; 3], &[&[SINT; 3], &[UINT; 3], &[FLOAT; 3]]),
    (0x03, &[16; 4], &[&[SINT; 4], &[UINT; 4], &[FLOAT; 4], &[UNORM; 4], &[SNORM; 4]]),
    (0x04, &[32; 2], &[&[SINT; 2], &[UINT; 2], &[FLOAT; 2]]),
    (0x08, &[8; 4], &[&[SINT; 4], &[UINT; 4], &[UNORM; 4], &[SNORM; 4]]),
    (0x09, &[10, 10, 10, 2], &[&[UINT; 4], &[UNORM; 4], &[SNORM; 4]]),
    (0x0c, &[16; 2], &[&[SINT; 2], &[UINT; 2], &[FLOAT; 2], &[UNORM; 2], &[SNORM; 2]]),
    (0x0f, &[32], &[&[SINT], &[UINT], &[FLOAT], &[UNORM], &[SNORM]]),
    (0x12, &[4; 4], &[&[UNORM; 4]]),
    (0x13, &[1, 5, 5, 5], &[&[UNORM; 4]]),
    (0x14, &[5, 5, 5, 1], &[&[UNORM; 4]]),
    (0x15, &[5, 6, 5], &[&[UNORM; 3]]),
    (0x18, &[8; 2], &[&[SINT; 2], &[UINT; 2], &[UNORM; 2], &[SNORM; 2]]),
    (0x1b, &[16], &[&[SINT], &[UINT], &[FLOAT], &[UNORM], &[SNORM]]),
    (0x1d, &[8], &[&[SINT], &[UINT], &[UNORM], &[SNORM]]),
    (0x1e, &[4; 2], &[&[UNORM; 2]]),
    (0x21, &[11, 11, 10], &[&[FLOAT; 3]]),
    // Depth and stencil: stencil below, depth below, floats.
    (0x29, &[8, 24], &[&[UINT, UNORM]]),
    (0x2a, &[24, 8], &[&[UNORM, UINT]]),
    (0x2b, &[24, 8], &[&[UNORM, UINT], &[UINT, UINT]]),
    (0x2f, &[32], &[&[FLOAT]]),
    (0x30, &[32, 8, 24], &[&[FLOAT, UINT, UINT], &[UINT, UINT, UINT]]),
    (0x3a, &[16], &[&[UNORM]]),
];

/// The picture of a buffer has what was fetched, in bytes.
fn shown(rig: &Rig, fetched: &[[u32; 4]], kind: u32) {
    let used = rig.used();
    let (picture, step) = used.picture(0, 0, &rig.memory).expect("in memory");
    assert_eq!((picture.width, picture.height, step), (COUNT, 1, 1));
    let Pixels::Rgba8(pixels) = picture.pixels else { panic!("colours") };
    let byte = |v: u32| match kind {
        SINT => (v as i32).clamp(0, 255) as u8,
        UINT => v.min(255) as u8,
        _ => (f32::from_bits(v).clamp(0.0, 1.0) * 255.0).round() as u8,
    };
    // Stencil beside depth is an integer beside a fraction, which no lookup gives at once.
    if !used.format().contains("24") {
        assert!(pixels.iter().zip(fetched).all(|(p, f)| *p == f.map(byte)), "{} {used:?}", rig.chip);
    }
}

#[test]
fn components_of_every_size_and_type() {
    let mut random = Random::new(1);
    rig::each(|rig| {
        for (sizes, bits, kinds) in FORMATS {
            let bytes = bits.iter().sum::<u32>() / 8;
            for kinds in *kinds {
                let mut texels = random.bytes((COUNT * bytes) as usize);
                texels[..bytes as usize].fill(0);
                texels[bytes as usize..2 * bytes as usize].fill(0xff);
                let mut tic = Tic { sizes: *sizes, types: [UINT; 4], sources: [0; 4], ..WORDS };
                for i in 0..bits.len() {
                    (tic.types[i], tic.sources[i]) = (kinds[i], 2 + i as u32);
                }
                let got = fetch(rig, tic, &texels, COUNT);
                shown(rig, &got, kinds[0]);
                for (texel, got) in texels.chunks_exact(bytes as usize).zip(got) {
                    let mut low = 0;
                    for (i, n) in bits.iter().enumerate() {
                        let what = format!(
                            "{} sizes {sizes:#x}, types {kinds:?}, texel {texel:x?}, component {i}",
                            rig.chip
                        );
                        check(got[i], &component(field(texel, low, *n), *n, kinds[i]), &what);
                        low += n;
                    }
                    assert!(got[bits.len()..].iter().all(|v| *v == 0));
                }
            }
        }
    });
}

#[test]
fn every_source_of_every_component() {
    let mut random = Random::new(2);
    rig::each(|rig| {
        for (types, texels) in [(UNORM, random.bytes(64)), (UINT, random.bytes(64))] {
            for turn in 0..32 {
                let any = [0, 2, 3, 4, 5, 6, 7];
                let sources = std::array::from_fn(|_| any[random.below(7)]);
                let got = fetch(rig, Tic { sizes: 8, types: [types; 4], sources, ..WORDS }, &texels, 16);
                for (texel, got) in texels.chunks_exact(4).zip(got) {
                    for (source, got) in sources.iter().zip(got) {
                        let wanted = match source {
                            0 => Value::Bits(0),
                            6 => Value::Bits(1),
                            7 => Value::Bits(0x3f80_0000),
                            n => component(texel[*n as usize - 2].into(), 8, types),
                        };
                        check(got, &wanted, &format!("{} sources {sources:?} ({turn})", rig.chip));
                    }
                }
            }
        }
    });
}

#[test]
fn colours_are_srgb_and_alpha_is_not() {
    let texels: Vec<u8> = (0..=255u8).flat_map(|v| [v, v.wrapping_add(85), v.wrapping_mul(7), !v]).collect();
    let unorm = |v: u8| f64::from(v) / 255.0;
    rig::each(|rig| {
        // As stored, and with red and blue exchanged.
        for sources in [[2, 3, 4, 5], [4, 3, 2, 5]] {
            let tic = Tic { sizes: 8, types: [UNORM; 4], sources, srgb: true, ..WORDS };
            for (texel, got) in texels.chunks_exact(4).zip(fetch(rig, tic, &texels, 256)) {
                for (i, got) in got.into_iter().enumerate() {
                    let v = unorm(texel[sources[i] as usize - 2]);
                    check(got, &Value::Real(if i == 3 { v } else { linear(v) }), "rgba");
                }
            }
        }
        // Luminance with alpha, and luminance.
        let tic = Tic { sizes: 0x18, types: [UNORM; 4], sources: [2, 2, 2, 3], srgb: true, ..WORDS };
        for (texel, got) in texels.chunks_exact(2).zip(fetch(rig, tic, &texels, 256)) {
            let [l, a] = [linear(unorm(texel[0])), unorm(texel[1])];
            [l, l, l, a].iter().zip(got).for_each(|(v, got)| check(got, &Value::Real(*v), "la"));
        }
        let tic = Tic { sizes: 0x1d, types: [UNORM; 4], sources: [2, 2, 2, 7], srgb: true, ..WORDS };
        for (texel, got) in texels.iter().zip(fetch(rig, tic, &texels, 256)) {
            check(got[1], &Value::Real(linear(unorm(*texel))), "l");
        }
    });
}

#[test]
fn three_mantissas_share_an_exponent() {
    let texels = Random::new(3).bytes(4 * 256);
    rig::each(|rig| {
        let tic = Tic { sizes: 0x20, types: [FLOAT; 4], sources: [2, 3, 4, 7], ..WORDS };
        for (texel, got) in texels.chunks_exact(4).zip(fetch(rig, tic, &texels, 256)) {
            let exponent = field(texel, 27, 5) as i32;
            for (i, got) in got[..3].iter().enumerate() {
                let mantissa = f64::from(field(texel, 9 * i as u32, 9)) / 512.0;
                check(*got, &Value::Real(mantissa * 2f64.powi(exponent - 15)), "rgb9e5");
            }
            assert_eq!(got[3], 0x3f80_0000);
        }
    });
}

#[test]
fn two_texels_share_red_and_blue() {
    let texels = Random::new(4).bytes(64);
    rig::each(|rig| {
        for (sizes, places) in [(0x22, [[0, 1, 2], [0, 3, 2]]), (0x23, [[1, 0, 3], [1, 2, 3]])] {
            let tic = Tic { sizes, types: [UNORM; 4], sources: [2, 3, 4, 7], ..WORDS };
            let got = fetch(rig, tic, &texels, 32);
            for (n, got) in got.iter().enumerate() {
                for (i, got) in got[..3].iter().enumerate() {
                    let v = texels[n / 2 * 4 + places[n % 2][i]];
                    check(*got, &Value::Real(f64::from(v) / 255.0), &format!("sizes {sizes:#x}, texel {n}"));
                }
            }
        }
    });
}

#[test]
fn formats_that_do_not_exist_are_errors() {
    rig::each(|rig| {
        let good =
            Tic { sizes: 8, types: [UNORM; 4], sources: [2, 3, 4, 5], kind: 6, size: [4, 0, 0], ..WORDS };
        for (tic, says) in [
            (Tic { sizes: 0, ..good }, "component sizes 0x0 do not exist"),
            (Tic { sizes: 0x3f, ..good }, "component sizes 0x3f do not exist"),
            (Tic { types: [UNORM, UNORM, 0, UNORM], ..good }, "component 2 has type 0"),
            (Tic { types: [FLOAT, UNORM, UNORM, UNORM], ..good }, "component 0 is a float of 8 bits"),
            (Tic { sources: [2, 1, 4, 5], ..good }, "component 1 has source 1"),
            (Tic { kind: 9, ..good }, "texture type 9 does not exist"),
            (Tic { kind: 1, ..good }, "4 by 0 texels"),
            (Tic { kind: 1, size: [4, 4, 0], last: 3, view: [3, 2], ..good }, "levels 3 to 2"),
        ] {
            rig.bind(&tic, &NEAREST);
            let error = rig.try_look("TLD.LZ", "1D", &[at(&[0])]).expect_err(says).to_string();
            assert!(error.contains(&format!("TIC entry 5: {says}")), "{error}");
        }
        // What nobody looks at may be anything.
        rig.bind(&Tic { types: [UNORM, 0, 0, 0], sources: [2, 0, 0, 7], pitch: Some(0), ..good }, &NEAREST);
        rig.look("TLD.LZ", "1D", &[at(&[0])]);
    });
}
