//! Where texels lie: block-linear levels, layers, slices and samples, rows, buffers, each against the documents' formula.

use crate::rig::{self, Image, MAX_LOOKUPS, NEAREST, Place, Random, Rig, TEXELS, Tic, UINT, WORDS, at};
use nvir_vgpu::frames::Pixels;

/// Formats of 1 to 16 bytes of integers.
const SIZES: [(u32, u32); 5] = [(1, 0x1d), (2, 0x1b), (4, 0x0f), (8, 0x04), (16, 0x01)];

/// Fills the texture's memory and gives what a texel there is.
fn fill(rig: &Rig, random: &mut Random, bytes: u64) {
    let some = random.bytes(4096);
    let all: Vec<u8> =
        (0..bytes).map(|i| some[i as usize % 4096] ^ (i >> 12) as u8 ^ (i >> 15) as u8).collect();
    rig.memory.write(TEXELS, &all).expect("mapped");
}

/// The components of the texel at an offset, by size; the last texels of a test may lie anywhere.
fn texel(rig: &Rig, offset: u64, bytes: u32) -> [u32; 4] {
    let raw = rig.memory.read(TEXELS + offset, bytes.into()).expect("mapped");
    let mut out = [0; 4];
    for (out, part) in out.iter_mut().zip(raw.chunks(4)) {
        *out = part.iter().rev().fold(0, |v, b| v << 8 | u32::from(*b));
    }
    out
}

fn tic_of(image: &Image, format: u32, kind: u32) -> Tic {
    let last = image.levels - 1;
    Tic {
        sizes: format,
        types: [UINT; 4],
        sources: [2, 3, 4, 5],
        kind,
        tile: image.tile(0),
        size: image.size,
        last,
        view: [0, last],
        ..WORDS
    }
}

/// Looks all texels of some levels up, or as many as there is room for.
fn compare(
    rig: &mut Rig,
    image: &Image,
    view: [u32; 2],
    what: &str,
    shape: &str,
    place: impl Fn([u32; 3]) -> Place,
) {
    for level in view[0]..=view[1] {
        let [w, h, d] = image.extent(level);
        let all = (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| [x, y, z])));
        let all: Vec<[u32; 3]> = all.take(MAX_LOOKUPS).collect();
        let places: Vec<Place> = all.iter().map(|xyz| place(*xyz).with(level - view[0])).collect();
        let got = rig.look(what, shape, &places);
        for (xyz, got) in all.iter().zip(got) {
            let wanted = texel(rig, image.offset(level, *xyz), image.bytes);
            assert_eq!(got, wanted, "{} {shape}, level {level} at {xyz:?} of {image:x?}", rig.chip);
        }
        let fetched = |[x, y, z]: [u32; 3]| texel(rig, image.offset(level, [x, y, z]), image.bytes);
        pictures(rig, level - view[0], [w, h, d], fetched);
    }
}

/// The pictures of a level show what lookups find there.
fn pictures(rig: &Rig, level: u32, [w, h, d]: [u32; 3], texel: impl Fn([u32; 3]) -> [u32; 4]) {
    let used = rig.used();
    // Layers of rows are the rows of one picture.
    let rows = used.shape() == "1D array";
    assert_eq!(used.layers(level), if rows { 1 } else { d });
    for layer in 0..used.layers(level) {
        let (picture, step) = used.picture(level, layer, &rig.memory).expect("in memory");
        let height = if rows { d } else { h };
        assert_eq!((picture.width, picture.height, step), (w, height, 1), "{used:?}");
        let Pixels::Rgba8(pixels) = picture.pixels else { panic!("colours") };
        for (n, pixel) in (0..).zip(pixels) {
            let (x, y) = (n % w, n / w);
            let wanted = texel(if rows { [x, 0, y] } else { [x, y, layer] });
            assert_eq!(
                pixel,
                wanted.map(|v| v.min(255) as u8),
                "{used:?}, level {level}, layer {layer}, {x} {y}"
            );
        }
    }
}

#[test]
fn levels_have_blocks_of_their_own() {
    let mut random = Random::new(10);
    rig::each(|rig| {
        for (bytes, format) in SIZES {
            let image = Image { bytes, size: [150, 70, 1], levels: 8, three_d: false, samples: [0; 2] };
            fill(rig, &mut random, image.layer_bytes());
            rig.bind(&tic_of(&image, format, 1), &NEAREST);
            compare(rig, &image, [0, 7], "TLD.LL", "2D", |[x, y, _]| at(&[x, y]));
            // A view of some levels: level 0 of it is the first one seen.
            rig.bind(&Tic { view: [2, 4], ..tic_of(&image, format, 1) }, &NEAREST);
            compare(rig, &image, [2, 4], "TLD.LL", "2D", |[x, y, _]| at(&[x, y]));
            let beyond = rig.look("TLD.LL", "2D", &[at(&[0, 0]).with(3), at(&[0, 0]).with(u32::MAX)]);
            assert_eq!(beyond, [[0; 4]; 2]);
        }
    });
}

#[test]
fn layers_hold_all_their_levels() {
    let mut random = Random::new(11);
    rig::each(|rig| {
        let image = Image { bytes: 4, size: [33, 20, 5], levels: 6, three_d: false, samples: [0; 2] };
        fill(rig, &mut random, 5 * image.layer_bytes());
        rig.bind(&tic_of(&image, 0x0f, 5), &NEAREST);
        compare(rig, &image, [0, 5], "TLD.LL", "ARRAY_2D", |[x, y, z]| at(&[x, y]).layer(z));
        // A view of the layers from the second on.
        let rest = Image { size: [33, 20, 4], ..image.clone() };
        rig.bind(&Tic { address: TEXELS + image.layer_bytes(), ..tic_of(&rest, 0x0f, 5) }, &NEAREST);
        let got = rig.look("TLD.LL", "ARRAY_2D", &[at(&[32, 19]).layer(3).with(0)]);
        assert_eq!(got[0], texel(rig, image.offset(0, [32, 19, 4]), 4));
        // One dimension.
        let image = Image { bytes: 2, size: [100, 1, 7], levels: 3, three_d: false, samples: [0; 2] };
        rig.bind(&tic_of(&image, 0x1b, 4), &NEAREST);
        compare(rig, &image, [0, 2], "TLD.LL", "ARRAY_1D", |[x, _, z]| at(&[x]).layer(z));
        let one = Image { size: [100, 1, 1], ..image };
        rig.bind(&tic_of(&one, 0x1b, 0), &NEAREST);
        compare(rig, &one, [0, 2], "TLD.LL", "1D", |[x, ..]| at(&[x]));
    });
}

#[test]
fn slices_share_blocks() {
    let mut random = Random::new(12);
    rig::each(|rig| {
        for size in [[20, 18, 40], [70, 5, 33], [9, 40, 3], [16, 16, 16]] {
            for (bytes, format) in [SIZES[0], SIZES[2], SIZES[4]] {
                let image = Image { bytes, size, levels: 4, three_d: true, samples: [0; 2] };
                fill(rig, &mut random, image.layer_bytes());
                rig.bind(&tic_of(&image, format, 2), &NEAREST);
                compare(rig, &image, [0, 3], "TLD.LL", "3D", |xyz| at(&xyz));
            }
        }
    });
}

#[test]
fn outside_there_is_nothing() {
    rig::each(|rig| {
        let image = Image { bytes: 4, size: [8, 8, 3], levels: 1, three_d: false, samples: [0; 2] };
        rig.memory.fill(TEXELS, 3 * image.layer_bytes(), &[0x77]).expect("mapped");
        rig.bind(&tic_of(&image, 0x0f, 5), &NEAREST);
        let places = [[8, 0, 0], [0, 8, 0], [0, 0, 3], [u32::MAX, 0, 0], [0, u32::MAX, 1], [7, 7, 2]];
        let got = rig.look("TLD.LZ", "ARRAY_2D", &places.map(|[x, y, z]| at(&[x, y]).layer(z)));
        assert_eq!(got.iter().map(|t| t[0]).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0x7777_7777]);
    });
}

#[test]
fn offsets_move_a_fetch() {
    let mut random = Random::new(13);
    rig::each(|rig| {
        let image = Image { bytes: 4, size: [16, 16, 1], levels: 1, three_d: false, samples: [0; 2] };
        fill(rig, &mut random, image.layer_bytes());
        rig.bind(&tic_of(&image, 0x0f, 1), &NEAREST);
        for (offset, [x, y]) in [(0x00, [8, 8]), (0x7f, [7, 15]), (0x18, [0, 9]), (0x87, [15, 0])] {
            let got = rig.look("TLD.LZ.AOFFI", "2D", &[at(&[8, 8]).with(offset)]);
            assert_eq!(got[0], texel(rig, image.offset(0, [x, y, 0]), 4), "{offset:#x}");
        }
    });
}

#[test]
fn rows_and_buffers_follow_each_other() {
    let mut random = Random::new(14);
    rig::each(|rig| {
        fill(rig, &mut random, 1 << 20);
        for (bytes, format) in SIZES.into_iter().chain([(12, 0x02)]) {
            // 1024 bytes a row, whatever the width is.
            let image = Image { bytes, size: [37, 9, 1], levels: 1, three_d: false, samples: [0; 2] };
            let sources = if bytes == 12 { [2, 3, 4, 0] } else { [2, 3, 4, 5] };
            let tic = Tic { pitch: Some(1024), kind: 7, sources, ..tic_of(&image, format, 7) };
            rig.bind(&tic, &NEAREST);
            let all: Vec<[u32; 2]> = (0..9).flat_map(|y| (0..37).map(move |x| [x, y])).collect();
            let got = rig.look("TLD.LZ", "2D", &all.iter().map(|xy| at(xy)).collect::<Vec<_>>());
            for ([x, y], got) in all.iter().zip(got) {
                assert_eq!(got, texel(rig, u64::from(y * 1024 + x * bytes), bytes));
            }
            // A buffer of many texels, not at a page's start: only its size bounds it.
            let tic = Tic {
                kind: 6,
                address: TEXELS + 48,
                size: [60_000, 0, 0],
                pitch: Some(0),
                normalized: false,
                ..tic
            };
            rig.bind(&tic, &NEAREST);
            let places = [0, 1, 59_999, 60_000, u32::MAX];
            let got = rig.look("TLD.LZ", "1D", &places.map(|i| at(&[i])));
            for (i, got) in places.into_iter().zip(got) {
                let inside = i < 60_000;
                let wanted =
                    if inside { texel(rig, 48 + u64::from(i) * u64::from(bytes), bytes) } else { [0; 4] };
                assert_eq!(got, wanted, "{i} of {bytes} bytes");
            }
        }
    });
}

#[test]
fn samples_are_a_grid() {
    const GRID: [[u32; 2]; 8] = [[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [3, 0], [2, 1], [3, 1]];
    let mut random = Random::new(15);
    rig::each(|rig| {
        for (mode, count, samples) in [(1, 2, [1, 0]), (2, 4, [1, 1]), (3, 8, [2, 1])] {
            for (kind, shape, layers) in [(1, "2D", 1), (5, "ARRAY_2D", 3)] {
                let image = Image { bytes: 4, size: [21, 19, layers], levels: 1, three_d: false, samples };
                fill(rig, &mut random, u64::from(layers) * image.layer_bytes());
                rig.bind(&Tic { mode, ..tic_of(&image, 0x0f, kind) }, &NEAREST);
                let mut places = Vec::new();
                let mut wanted = Vec::new();
                for (z, y, x) in
                    (0..layers).flat_map(|z| (0..19).flat_map(move |y| (0..21).map(move |x| (z, y, x))))
                {
                    for sample in 0..count {
                        let place = at(&[x, y]).with(sample);
                        places.push(if kind == 5 { place.layer(z) } else { place });
                        let [dx, dy] = GRID[sample as usize];
                        let texel_at = [(x << samples[0]) + dx, (y << samples[1]) + dy, z];
                        wanted.push(texel(rig, image.offset(0, texel_at), 4));
                    }
                }
                assert_eq!(
                    rig.look("TLD.LZ.MS", shape, &places),
                    wanted,
                    "{} {count} samples, {shape}",
                    rig.chip
                );
                // The first sample is shown.
                let shown = |[x, y, z]: [u32; 3]| {
                    texel(rig, image.offset(0, [x << samples[0], y << samples[1], z]), 4)
                };
                assert_eq!(rig.used().samples(), count);
                pictures(rig, 0, [21, 19, layers], shown);
                let place = at(&[0, 0]).with(count);
                let none = rig.look("TLD.LZ.MS", shape, &[if kind == 5 { place.layer(0) } else { place }]);
                assert_eq!(none, [[0; 4]]);
                let query = rig.look("TXQ", "TEX_HEADER_TEXTURE_TYPE", &[at(&[0])]);
                assert_eq!(query[0][2], count);
            }
        }
    });
}

#[test]
fn queries_tell_sizes() {
    rig::each(|rig| {
        let plain = Image { bytes: 4, size: [40, 30, 1], levels: 4, three_d: false, samples: [0; 2] };
        let layers = Image { size: [40, 30, 12], ..plain.clone() };
        let deep = Image { size: [40, 30, 12], three_d: true, ..plain.clone() };
        for (image, kind, view, level, wanted) in [
            (&plain, 1, [0, 3], 0, [40, 30, 1, 4]),
            (&plain, 1, [0, 3], 2, [10, 7, 1, 4]),
            (&plain, 1, [1, 2], 0, [20, 15, 1, 2]),
            (&layers, 5, [0, 3], 1, [20, 15, 12, 4]),
            (&deep, 2, [0, 3], 1, [20, 15, 6, 4]),
            (&plain, 3, [0, 0], 0, [40, 30, 1, 1]),
        ] {
            rig.bind(&Tic { view, ..tic_of(image, 0x0f, kind) }, &NEAREST);
            let got = rig.look("TXQ", "TEX_HEADER_DIMENSION", &[at(&[level])]);
            assert_eq!(got[0], wanted, "{} type {kind}, levels {view:?}, level {level}", rig.chip);
        }
        let cubes = Image { size: [8, 8, 5], levels: 1, ..plain };
        rig.bind(&tic_of(&cubes, 0x0f, 8), &NEAREST);
        assert_eq!(rig.look("TXQ", "TEX_HEADER_DIMENSION", &[at(&[0])])[0], [8, 8, 5, 1]);
    });
}
