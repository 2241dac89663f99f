//! Compressed texels: blocks with results worked out by hand or by the formats' own small formulas.

use crate::rig::{self, FLOAT, Image, NEAREST, Place, Random, Rig, SNORM, TEXELS, Tic, UNORM, WORDS, at};

/// Fetches the 16 texels of a block, in rows.
fn block(rig: &mut Rig, sizes: u32, kind: u32, srgb: bool, bytes: &[u8]) -> Vec<[f32; 4]> {
    rig.memory.write(TEXELS, bytes).expect("mapped");
    let tic = Tic { sizes, types: [kind; 4], sources: [2, 3, 4, 5], srgb, size: [4, 4, 1], ..WORDS };
    rig.bind(&tic, &NEAREST);
    let places: Vec<Place> = (0..16).map(|i| at(&[i % 4, i / 4])).collect();
    rig.floats("TLD.LZ", "2D", &places)
}

fn assert_near(got: &[f32], wanted: &[f64], tolerance: f64, what: &str) {
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert!((f64::from(*got) - wanted).abs() <= tolerance, "{what}, {i}: {got} instead of {wanted}");
    }
}

/// Red, green and blue of 5:6:5 bits, red highest.
fn colour(c: u16) -> [f64; 3] {
    [f64::from(c >> 11) / 31.0, f64::from(c >> 5 & 63) / 63.0, f64::from(c & 31) / 31.0]
}

fn mix(a: [f64; 3], b: [f64; 3], part: f64) -> [f64; 3] {
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * part)
}

/// The 16 colours of a block of DXT; `four`: never transparent.
fn dxt_colours(bytes: &[u8], four: bool) -> Vec<[f64; 4]> {
    let half = |n: usize| u16::from_le_bytes([bytes[n], bytes[n + 1]]);
    let (a, b) = (half(0), half(2));
    let (ca, cb) = (colour(a), colour(b));
    let table = if four || a > b {
        [(ca, 1.0), (cb, 1.0), (mix(ca, cb, 1.0 / 3.0), 1.0), (mix(ca, cb, 2.0 / 3.0), 1.0)]
    } else {
        [(ca, 1.0), (cb, 1.0), (mix(ca, cb, 0.5), 1.0), ([0.0; 3], 0.0)]
    };
    let picked = (0..16).map(|i| table[usize::from(bytes[4 + i / 4] >> (2 * (i % 4)) & 3)]);
    picked.map(|(c, alpha)| [c[0], c[1], c[2], alpha]).collect()
}

/// The 16 values of a block of eight bytes: two ends, and three bits a texel.
fn ramp(bytes: &[u8], signed: bool) -> Vec<f64> {
    let end = |v: u8| if signed { (f64::from(v as i8) / 127.0).max(-1.0) } else { f64::from(v) / 255.0 };
    let (a, b) = (end(bytes[0]), end(bytes[1]));
    let larger = if signed { bytes[0] as i8 > bytes[1] as i8 } else { bytes[0] > bytes[1] };
    let bits = bytes[2..8].iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
    let value = |code: u64| match (code, larger) {
        (0, _) => a,
        (1, _) => b,
        (6, false) => {
            if signed {
                -1.0
            } else {
                0.0
            }
        }
        (7, false) => 1.0,
        (n, true) => a + (b - a) * (n - 1) as f64 / 7.0,
        (n, false) => a + (b - a) * (n - 1) as f64 / 5.0,
    };
    (0..16).map(|i| value(bits >> (3 * i) & 7)).collect()
}

/// Implementations round the ends to bytes, and differ in how they mix them.
const DXT_TOLERANCE: f64 = 1.5 / 255.0;

#[test]
fn dxt1_has_four_colours_or_three_and_transparent_black() {
    let mut random = Random::new(5);
    // Red and blue: all four codes in a row, then backwards.
    let known: [&[u8]; 2] = [
        &[0x00, 0xf8, 0x1f, 0x00, 0xe4, 0x1b, 0x00, 0xff],
        &[0x1f, 0x00, 0x00, 0xf8, 0xe4, 0x1b, 0x00, 0xff],
    ];
    rig::each(|rig| {
        let got = block(rig, 0x24, UNORM, false, known[0]);
        assert_eq!([got[0], got[1]], [[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]);
        assert_near(&got[2], &[2.0 / 3.0, 0.0, 1.0 / 3.0, 1.0], DXT_TOLERANCE, "a third");
        assert_eq!(got[4..8], [got[3], got[2], got[1], got[0]]);
        let got = block(rig, 0x24, UNORM, false, known[1]);
        assert_near(&got[2], &[0.5, 0.0, 0.5, 1.0], DXT_TOLERANCE, "a half");
        assert_eq!(got[3], [0.0; 4]);
        for n in 0..20 {
            let bytes = random.bytes(8);
            let got = block(rig, 0x24, UNORM, false, &bytes);
            for (got, wanted) in got.iter().zip(dxt_colours(&bytes, false)) {
                assert_near(got, &wanted, DXT_TOLERANCE, &format!("block {n}: {bytes:x?}"));
            }
        }
        // sRGB: the same colours, made linear.
        let got = block(rig, 0x24, UNORM, true, &[0xef, 0x7b, 0xef, 0x7b, 0, 0, 0, 0]);
        assert_near(&got[0], &[0.201, 0.205, 0.201, 1.0], 0.005, "grey");
    });
}

#[test]
fn dxt3_has_four_bits_of_alpha_and_dxt5_a_ramp() {
    let mut random = Random::new(6);
    rig::each(|rig| {
        for n in 0..20 {
            let bytes = random.bytes(16);
            let what = format!("block {n}: {bytes:x?}");
            let colours = dxt_colours(&bytes[8..], true);
            let fours = (0..16).map(|i| f64::from(bytes[i / 2] >> (4 * (i % 2)) & 15) / 15.0).collect();
            for (sizes, alphas) in [(0x25, fours), (0x26, ramp(&bytes, false))] {
                let alphas: Vec<f64> = alphas;
                let got = block(rig, sizes, UNORM, false, &bytes);
                for ((got, colour), alpha) in got.iter().zip(&colours).zip(alphas) {
                    assert_near(&got[..3], &colour[..3], DXT_TOLERANCE, &what);
                    assert_near(&got[3..], &[alpha], DXT_TOLERANCE, &what);
                }
            }
        }
    });
}

#[test]
fn rgtc_is_one_ramp_or_two() {
    let mut random = Random::new(7);
    let edges: [&[u8]; 3] = [
        &[0x80, 0x7f, 0x88, 0xc6, 0xfa, 0x88, 0xc6, 0xfa],
        &[0x7f, 0x80, 0x88, 0xc6, 0xfa, 0x88, 0xc6, 0xfa],
        &[0x33, 0x33, 0x88, 0xc6, 0xfa, 0x88, 0xc6, 0xfa],
    ];
    rig::each(|rig| {
        for n in 0..20 {
            let mut bytes = random.bytes(16);
            if let Some(edge) = edges.get(n) {
                bytes[..8].copy_from_slice(edge);
            }
            for (kind, signed) in [(UNORM, false), (SNORM, true)] {
                let what = format!("block {n}: {bytes:x?}, signed {signed}");
                let (red, green) = (ramp(&bytes, signed), ramp(&bytes[8..], signed));
                let one = block(rig, 0x27, kind, false, &bytes[..8]);
                let two = block(rig, 0x28, kind, false, &bytes);
                for i in 0..16 {
                    assert_near(&one[i], &[red[i], 0.0, 0.0, 1.0], 1e-6, &what);
                    assert_near(&two[i], &[red[i], green[i], 0.0, 1.0], 1e-6, &what);
                }
            }
        }
    });
}

/// Bits from the lowest on.
fn pack(fields: &[(u32, u128)]) -> [u8; 16] {
    let mut at = 0;
    let mut all = 0;
    for (bits, value) in fields {
        all |= value << at;
        at += bits;
    }
    assert!(at <= 128);
    all.to_le_bytes()
}

#[test]
fn bc7_mode_6_and_5_by_their_definitions() {
    // Mode 6: seven bits an end, one more for each end, indices of four bits (the first of three).
    let (ends, p) = ([[100u128, 3], [20, 90], [127, 0], [64, 127]], [1u128, 0]);
    let mut fields = vec![(7, 1 << 6)];
    fields.extend(ends.iter().flatten().map(|v| (7, *v)));
    fields.extend(p.iter().map(|v| (1, *v)));
    fields.push((3, 5));
    let indices: Vec<u128> = (0..16).map(|i| if i == 0 { 5 } else { (i * 7) % 16 }).collect();
    fields.extend(indices[1..].iter().map(|i| (4, *i)));
    let bytes = pack(&fields);
    const WEIGHTS: [u128; 16] = [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64];
    let wanted: Vec<[f64; 4]> = (0..16)
        .map(|i| {
            std::array::from_fn(|c| {
                let w = WEIGHTS[indices[i] as usize];
                let [a, b] = [0, 1].map(|e| ends[c][e] << 1 | p[e]);
                ((a * (64 - w) + b * w + 32) >> 6) as f64 / 255.0
            })
        })
        .collect();
    // Mode 5, no rotation: seven bits of colour, eight of alpha, two bits of index for each.
    let mut fields =
        vec![(6, 1 << 5), (2, 0), (7, 0), (7, 127), (7, 127), (7, 0), (7, 64), (7, 64), (8, 10), (8, 250)];
    fields.extend([(1, 1), (2, 3), (2, 2), (2, 1), (2, 0)]);
    fields.extend([(2, 0); 11]);
    fields.extend([(1, 0), (2, 3)]);
    let five = pack(&fields);
    rig::each(|rig| {
        for (got, wanted) in block(rig, 0x17, UNORM, false, &bytes).iter().zip(&wanted) {
            assert_near(got, wanted, 1e-6, "mode 6");
        }
        let got = block(rig, 0x17, UNORM, false, &five);
        let byte = |seven: u32| f64::from(seven << 1 | seven >> 6);
        let mix = |a: f64, b: f64, w: f64| ((a * (64.0 - w) + b * w + 32.0) / 64.0).floor() / 255.0;
        // The first index has one bit less: 1, weight 21.
        let first = [mix(0.0, byte(127), 21.0), mix(byte(127), 0.0, 21.0), byte(64) / 255.0, 10.0 / 255.0];
        let second = [1.0, 0.0, byte(64) / 255.0, 250.0 / 255.0];
        assert_near(&got[0], &first, 1e-6, "mode 5");
        assert_near(&got[1], &second, 1e-6, "mode 5");
        // A block of no mode is zero.
        assert_eq!(block(rig, 0x17, UNORM, false, &[0; 16])[7], [0.0; 4]);
    });
}

#[test]
fn bc6h_mode_11_by_its_definition() {
    // Ends of ten bits without differences, one region, indices of four bits.
    let (r, g, b) = ([0u128, 0x3ff], [0x200, 0x200], [0x100, 0x180]);
    let mut fields =
        vec![(5, 3), (10, r[0]), (10, g[0]), (10, b[0]), (10, r[1]), (10, g[1]), (10, b[1]), (3, 0)];
    fields.extend((1..16).map(|i| (4, i)));
    let bytes = pack(&fields);
    const WEIGHTS: [u128; 16] = [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64];
    // Unsigned ends are spread over 16 bits; what is mixed is scaled by 31/64 and is the bits of a half.
    let spread = |v: u128| match v {
        0 => 0,
        0x3ff => 0xffff,
        v => ((v << 16) + 0x8000) >> 10,
    };
    let half = |bits: u128| {
        let (e, m) = ((bits >> 10) as i32, (bits & 0x3ff) as f64 / 1024.0);
        if e == 0 { m * 2f64.powi(-14) } else { (1.0 + m) * 2f64.powi(e - 15) }
    };
    rig::each(|rig| {
        let got = block(rig, 0x11, FLOAT, false, &bytes);
        for (i, got) in got.iter().enumerate() {
            for (c, ends) in [r, g, b].iter().enumerate() {
                let [x, y] = ends.map(spread);
                let mixed = (x * (64 - WEIGHTS[i]) + y * WEIGHTS[i] + 32) >> 6;
                let wanted = half(mixed * 31 / 64);
                assert_near(&got[c..=c], &[wanted], wanted.abs() * 1e-6, &format!("texel {i}, {c}"));
            }
            assert_eq!(got[3], 1.0);
        }
        // Signed: an end of -1 of 512 is negative, and the block's other bits are the same.
        let signed = block(rig, 0x10, FLOAT, false, &bytes);
        assert!(signed[0][1] < 0.0 && signed[0][2] > 0.0, "{:?}", signed[0]);
    });
}

#[test]
fn blocks_of_levels_lie_where_texels_would() {
    let mut random = Random::new(8);
    // 37 by 21 texels: 10 by 6 blocks, then 5 by 3, 3 by 2, ...
    let (width, height, levels) = (37u32, 21u32, 6);
    rig::each(|rig| {
        let tic = Tic {
            sizes: 0x27,
            types: [UNORM; 4],
            sources: [2, 3, 4, 5],
            kind: 1,
            size: [width, height, 1],
            last: levels - 1,
            view: [0, levels - 1],
            // 6 rows of blocks are one gob.
            tile: 0,
            ..WORDS
        };
        let of = |level: u32| [(width >> level).max(1), (height >> level).max(1)];
        let mut start = 0;
        for level in 0..levels {
            let [w, h] = of(level).map(|v| v.div_ceil(4));
            let image = Image { bytes: 8, size: [w, h, 1], levels: 1, three_d: false, samples: [0; 2] };
            let mut places = Vec::new();
            let mut wanted = Vec::new();
            for y in 0..of(level)[1] {
                for x in 0..of(level)[0] {
                    if x % 4 == 0 && y % 4 == 0 {
                        let bytes = random.bytes(8);
                        let at = TEXELS + start + image.offset(0, [x / 4, y / 4, 0]);
                        rig.memory.write(at, &bytes).expect("mapped");
                    }
                    places.push(at(&[x, y]).with(level));
                    let from = TEXELS + start + image.offset(0, [x / 4, y / 4, 0]);
                    let bytes = rig.memory.read(from, 8).expect("mapped");
                    wanted.push(ramp(&bytes, false)[(y % 4 * 4 + x % 4) as usize]);
                }
            }
            rig.bind(&tic, &NEAREST);
            for ((got, wanted), place) in rig.floats("TLD.LL", "2D", &places).iter().zip(wanted).zip(&places)
            {
                assert_near(got, &[wanted], 1e-6, &format!("{place:?}"));
            }
            start += image.layer_bytes();
        }
    });
}
