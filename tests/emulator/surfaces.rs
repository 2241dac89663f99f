//! The driver's words for images, used as cards use them, against the formula of the layout.
//!
//! The model of SUCLAMP, SUBFM, SUEAU and IMADSP here is of its own and knows nothing of the emulator: it works on lists
//! of bits, as the facts about cards are put (NAK's hardware tests, Mesa `hw_tests.rs`).

use nvir::Chip;
use nvir::format::Format;
use nvir::hw::surface::{Target, View, format_of, format_word, slot, words};
use nvir::random::Random;
use nvir::tiling::{Extent, Level, Order, TileMode, block_linear, pitch_linear};

fn bits(v: u32, high: u32, low: u32) -> u32 {
    (u64::from(v) >> low & ((1 << (high - low + 1)) - 1)) as u32
}

/// SUCLAMP.SD of two dimensions.
fn suclamp(coordinate: i64, word: u32) -> u32 {
    let last = i64::from(bits(word, 19, 0));
    let inside = (0..=last).contains(&coordinate);
    let v = coordinate.max(0).min(last) as u32;
    let flag = if inside { 0 } else { 1 << 31 };
    if bits(word, 21, 21) == 1 {
        return flag + (1 << 30) + (bits(word, 28, 26) << 27) + v;
    }
    let block = v >> bits(word, 25, 22);
    let bytes = bits(v << bits(word, 28, 26), 7, 0);
    flag + (bits(word, 31, 29) << 27) + (bytes << 16) + bits(block, 15, 0)
}

fn subfm(x: u32, y: u32, z: u32, three_d: bool) -> (u32, bool) {
    let outside = bits(x, 31, 31) + bits(y, 31, 31) + if three_d { bits(z, 31, 31) } else { 0 } > 0;
    if bits(x, 30, 30) + bits(y, 30, 30) > 0 {
        let log2 = bits(x, 29, 27);
        return (bits(z << log2, 7, 0) + (1 << 11) + (log2 << 12), outside);
    }
    let (ny, nz) = (bits(y, 29, 27), if three_d { bits(z, 29, 27) } else { 0 });
    assert_eq!(bits(x, 27, 27), 0, "blocks are one gob wide");
    let gob_y = bits(y, 23, 19) % (1 << ny);
    let gob_z = if three_d { bits(z, 23, 16) % (1 << nz) } else { 0 };
    let bits = [
        (bits(x, 19, 16), 0),
        (bits(y, 17, 16), 4),
        (bits(x, 20, 20), 6),
        (bits(y, 18, 18), 7),
        (bits(x, 21, 21), 8),
        (ny + nz, 12),
        (gob_z << ny | gob_y, 16),
    ];
    (bits.iter().map(|(v, at)| v << at).sum(), outside)
}

fn sueau(offset: u32, fields: u32, base: u32) -> u32 {
    let shift = bits(fields, 15, 12);
    base + if bits(fields, 11, 11) == 0 {
        bits((offset << (shift + 1)) | (bits(fields, 26, 16) << 1) | bits(fields, 8, 8), 26, 0)
    } else if shift >= 8 {
        bits(offset << (shift - 8), 23, 0)
    } else {
        bits(offset >> (8 - shift), 23, 0)
    }
}

/// The address of a texel by a driver's words, as a program computes it: slices and layers too.
fn address(w: &[u32; 16], [x, y, z]: [i64; 3], three_d: bool) -> Option<u64> {
    let half = |v: u32| v & 0xffff;
    let (cx, cy) = (suclamp(x, w[2]), suclamp(y, w[4]));
    let height = half(suclamp(i64::from(u32::MAX), w[4])) + 1;
    let cz = if three_d { suclamp(z, w[6]) } else { 0 };
    let rows = half(cz) * height + half(cy);
    let offset = rows * half(w[3]) + half(cx);
    let linear = bits(cx, 30, 30) == 1;
    let (fields, outside) = subfm(cx, cy, if linear { offset } else { cz }, three_d && !linear);
    let layer = if three_d { 0 } else { z };
    let beyond = !(0..=i64::from(w[6] & 0xf_ffff)).contains(&z);
    let upper = u64::from(sueau(offset, fields, w[0])) + layer.max(0) as u64 * u64::from(w[5]);
    (!outside && !beyond).then_some((upper << 8) + u64::from(fields & 0xff))
}

/// A level of a random image; block sizes are the driver's or any other.
fn image(r: &mut Random) -> View {
    image_within(r, [300, 300, 80])
}

/// One of at most that many texels along each axis, and slices (layers: at most nine).
fn image_within(r: &mut Random, most: [u32; 3]) -> View {
    let format = Format::all().nth(r.below(40)).unwrap();
    let three_d = r.below(2) == 0;
    let samples = if three_d { (0, 0) } else { [(0, 0), (0, 0), (1, 0), (1, 1), (2, 1)][r.below(5)] };
    let size = [1 + r.below(most[0]), 1 + r.below(most[1]), 1 + r.below(if three_d { most[2] } else { 9 })];
    let levels = 1 + r.below(4);
    let row = |l: u32| ((size[0] >> l).max(1) << samples.0) * format.bytes();
    let extents = (0..levels).map(|l| Extent {
        row_bytes: row(l),
        rows: (size[1] >> l).max(1) << samples.1,
        slices: three_d.then_some((size[2] >> l).max(1)),
    });
    let layout = if r.below(5) == 0 { pitch_linear(extents) } else { block_linear(extents) };
    let l = r.below(levels);
    let mut level = layout.levels[l as usize];
    if let (Order::Blocks(_), 0) = (level.order, r.below(2)) {
        let deep = if three_d { r.below(6) } else { 0 };
        level.order = Order::Blocks(TileMode(r.below(6) << 4 | deep << 8));
    }
    View {
        format,
        target: if three_d { Target::D3 } else { Target::D2Array },
        buffer: false,
        address: 0x1_2345_6700 + level.offset,
        size: [(size[0] >> l).max(1), (size[1] >> l).max(1), if three_d { level.slices } else { size[2] }],
        level,
        layer_stride: layout.layer_stride,
        three_d,
        first_z: 0,
        samples,
    }
}

/// What the layout says.
fn wanted(v: &View, [x, y, z]: [u64; 3]) -> u64 {
    let (layer, slice) = if v.three_d { (0, z) } else { (z, 0) };
    v.address + layer * v.layer_stride + v.level.byte(x * u64::from(v.format.bytes()), y, slice)
}

#[test]
fn the_words_give_the_address_of_every_texel_of_random_images() {
    let mut r = Random::new(1);
    for n in 0..20_000 {
        let v = image(&mut r);
        let w = words(Chip::Gk110, &v);
        let size = [v.size[0] << v.samples.0, v.size[1] << v.samples.1, v.size[2]];
        let corner = size.map(|s| u64::from(s - 1));
        let some = std::array::from_fn(|_| size.map(|s| u64::from(r.below(s))));
        let places: [[u64; 3]; 8] = some;
        for at in places.into_iter().chain([[0; 3], corner]) {
            let got = address(&w, at.map(|c| c as i64), v.three_d);
            assert_eq!(got, Some(wanted(&v, at)), "image {n}: {v:?} at {at:?}, words {w:x?}");
        }
        for axis in 0..3 {
            for c in [-1, i64::from(size[axis])] {
                let mut at = corner.map(|c| c as i64);
                at[axis] = c;
                assert_eq!(address(&w, at, v.three_d), None, "image {n}: {v:?} at {at:?}");
            }
        }
    }
}

#[test]
fn every_texel_of_a_small_image_has_the_address_that_the_layout_says() {
    let mut r = Random::new(2);
    for _ in 0..60 {
        let v = image_within(&mut r, [40, 40, 40]);
        let w = words(Chip::Gk104, &v);
        let [x, y, z] = v.size.map(u64::from);
        for at in (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z]))) {
            assert_eq!(address(&w, at.map(|c| c as i64), v.three_d), Some(wanted(&v, at)), "{v:?} at {at:?}");
        }
    }
}

/// GF100's hardware sees two dimensions; the program's part is what Mesa's `processSurfaceCoordsNVC0` does.
#[test]
fn slots_and_words_of_gf100_give_the_address_of_texels_of_random_images() {
    let mut r = Random::new(3);
    for n in 0..20_000 {
        let v = image(&mut r);
        let (w, s) = (words(Chip::Gf100, &v), slot(&v));
        let size = [v.size[0] << v.samples.0, v.size[1] << v.samples.1, v.size[2]];
        let at = size.map(|s| u64::from(r.below(s)));
        let bytes = at[0] * u64::from(v.format.bytes());
        let got = if v.three_d {
            let (ty, tz) = (w[4] >> 24, w[6] >> 24);
            let inside = |c: u64, shift: u32| c & ((1 << shift) - 1);
            let x = inside(bytes, 6) + (((bytes >> 6) << tz | inside(at[2], tz)) << 6);
            let y = inside(at[1], ty) + (at[1] >> ty << ty) + (at[2] >> tz) * u64::from(w[4] & 0xffff);
            s.byte(x, y, 0)
        } else {
            s.byte(bytes, at[1], (at[2] * u64::from(w[5])) << 8)
        };
        assert_eq!(got, Some(wanted(&v, at)), "image {n}: {v:?} at {at:?}, {s:?}, words {w:x?}");
    }
}

#[test]
fn the_known_texel_17_9_of_256_by_64_words() {
    let level = Level { order: Order::Blocks(TileMode(0)), offset: 0, pitch: 1024, rows: 64, slices: 1 };
    let v = View {
        format: "r32ui".parse().unwrap(),
        target: Target::D2,
        buffer: false,
        address: 0x10_0000,
        size: [256, 64, 1],
        level,
        layer_stride: 0x1_0000,
        three_d: false,
        first_z: 0,
        samples: (0, 0),
    };
    let w = words(Chip::Gk110, &v);
    assert_eq!((w[0], w[1], w[2], w[3], w[4]), (0x1000, 0x24028, 0x0900_00ff, 0x8800_0010, 0x00c0_003f));
    assert_eq!((w[5], w[6], w[7], w[11], w[12], w[13]), (0x100, 0, 0, 2, 4, 0x0180_03ff));
    assert_eq!((suclamp(17, w[2]), suclamp(9, w[4])), (0x44_0001, 0x9_0001));
    assert_eq!(address(&w, [17, 9, 0], false), Some(0x10_2214));
    assert_eq!(wanted(&v, [17, 9, 0]), 0x10_2214);
    let linear = View { level: Level { order: Order::Pitch, ..level }, ..v };
    let w = words(Chip::Gk110, &linear);
    assert_eq!((w[2], w[3], w[4], w[6]), (0x0820_00ff, 0x8800_0100, 0x0020_003f, 0x0020_0000));
    assert_eq!(address(&w, [17, 9, 0], false), Some(0x10_0000 + 9 * 1024 + 17 * 4));
}

#[test]
fn format_words_name_their_formats() {
    for f in Format::all() {
        assert_eq!(format_of(format_word(f)), Some(f));
    }
}
