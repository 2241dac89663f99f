//! Filters, wraps, levels of detail, comparisons and gathers, against what OpenGL's specification says.

use crate::rig::{
    self, FLOAT, Image, LINEAR, NEAREST, Options, Place, Random, Rig, SINT, SNORM, TEXELS, Tic, Tsc, UINT,
    UNORM, WORDS, at, point,
};
use nvir::Chip;

/// An image of one float a texel, multiples of 1/16, so that sums of a filter are exact.
struct Floats {
    image: Image,
    texels: Vec<f32>,
}

impl Floats {
    /// Puts it into memory.
    fn new(rig: &Rig, random: &mut Random, size: [u32; 3], three_d: bool) -> Floats {
        let image = Image { bytes: 4, size, levels: 1, three_d, samples: [0; 2] };
        let [w, h, d] = size;
        let mut texels = Vec::new();
        for (z, y, x) in (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x)))) {
            let v = random.below(256) as f32 / 16.0;
            rig.memory.set_word(TEXELS + image.offset(0, [x, y, z]), v.to_bits()).expect("mapped");
            texels.push(v);
        }
        Floats { image, texels }
    }

    fn tic(&self, kind: u32) -> Tic {
        Tic {
            types: [FLOAT; 4],
            sources: [2; 4],
            kind,
            size: self.image.size,
            tile: self.image.tile(0),
            ..WORDS
        }
    }

    fn texel(&self, [x, y, z]: [i64; 3]) -> f64 {
        let [w, h, _] = self.image.size.map(i64::from);
        self.texels[((z * h + y) * w + x) as usize].into()
    }
}

/// What lies at whole coordinates -9 to 12 of four texels, by wrap mode; B: the border.
const WRAPS: [&str; 8] = [
    "3012301230123012301230",
    "0012332100123321001233",
    "0000000000123333333333",
    "BBBBBBBBB0123BBBBBBBBB",
    "0000000000123333333333",
    "3333332100123333333333",
    "BBBBB32100123BBBBBBBBB",
    "3333332100123333333333",
];

const BORDER: [f32; 4] = [100.0, 200.0, 300.0, 400.0];

fn border() -> [u32; 4] {
    BORDER.map(f32::to_bits)
}

#[test]
fn wraps_of_the_nearest_texel() {
    let mut random = Random::new(30);
    rig::each(|rig| {
        let floats = Floats::new(rig, &mut random, [4, 4, 4], true);
        for (mode, table) in WRAPS.iter().enumerate() {
            for axis in 0..3 {
                let mut wrap = [2; 3];
                wrap[axis] = mode as u32;
                rig.bind(&floats.tic(2), &Tsc { wrap, border: border(), ..NEAREST });
                let places: Vec<Place> = (-9..13)
                    .map(|i| {
                        let mut coord = [0.375f32; 3];
                        coord[axis] = (i as f32 + 0.25) / 4.0;
                        point(&coord)
                    })
                    .collect();
                for ((c, got), i) in table.chars().zip(rig.floats("TEX.LZ", "3D", &places)).zip(-9..) {
                    let mut at = [1; 3];
                    let wanted = match c.to_digit(10) {
                        Some(n) => {
                            at[axis] = n.into();
                            [floats.texel(at) as f32; 4]
                        }
                        None => BORDER,
                    };
                    assert_eq!(got, wanted, "{} mode {mode}, axis {axis}, coordinate {i}", rig.chip);
                }
            }
        }
    });
}

/// The two texels that a linear filter mixes along an axis, with the second one's weight: the coordinate is clamped or
/// mirrored as a number first. None: the border.
fn taps(mode: usize, u: f64, n: i64) -> ([Option<i64>; 2], f64) {
    let size = n as f64;
    let u = match mode {
        2 => u.clamp(0.5, size - 0.5),
        3 => u.clamp(-0.5, size + 0.5),
        4 => u.clamp(0.0, size),
        5 => u.abs().clamp(0.5, size - 0.5),
        6 => u.abs().clamp(0.5, size + 0.5),
        7 => u.abs().clamp(0.5, size),
        _ => u,
    };
    let low = (u - 0.5).floor();
    let texel = |i: i64| match mode {
        0 => Some(i.rem_euclid(n)),
        1 => Some(if i.rem_euclid(2 * n) < n { i.rem_euclid(n) } else { n - 1 - i.rem_euclid(n) }),
        _ => (0..n).contains(&i).then_some(i),
    };
    ([texel(low as i64), texel(low as i64 + 1)], u - 0.5 - low)
}

#[test]
fn linear_filters_in_every_wrap_mode() {
    let mut random = Random::new(31);
    rig::each(|rig| {
        for (size, kind, shape, dims) in
            [([8, 1, 1], 0, "1D", 1), ([8, 4, 1], 1, "2D", 2), ([4, 2, 8], 2, "3D", 3)]
        {
            let floats = Floats::new(rig, &mut random, size, kind == 2);
            for turn in 0..24 {
                let modes: [usize; 3] =
                    std::array::from_fn(|i| if i == 0 { turn % 8 } else { random.below(8) });
                rig.bind(
                    &floats.tic(kind),
                    &Tsc { wrap: modes.map(|m| m as u32), border: border(), ..LINEAR },
                );
                // Weights are multiples of 1/256.
                let coords: Vec<[f32; 3]> = (0..128)
                    .map(|_| {
                        size.map(|n| (random.below(256 * 7 * n) as f32 / 256.0 - 3.0 * n as f32) / n as f32)
                    })
                    .collect();
                let places: Vec<Place> = coords.iter().map(|c| point(&c[..dims])).collect();
                for (coord, got) in coords.iter().zip(rig.floats("TEX.LZ", shape, &places)) {
                    let axes: [_; 3] = std::array::from_fn(|i| match i < dims {
                        true => taps(modes[i], f64::from(coord[i]) * f64::from(size[i]), size[i].into()),
                        false => ([Some(0), None], 0.0),
                    });
                    for (channel, got) in got.into_iter().enumerate() {
                        let mut wanted = 0.0;
                        for corner in 0..1 << dims {
                            let bit = |i: usize| corner >> i & 1;
                            let weight = |i: usize| if bit(i) == 1 { axes[i].1 } else { 1.0 - axes[i].1 };
                            let at: Option<Vec<i64>> = (0..3).map(|i| axes[i].0[bit(i)]).collect();
                            let texel =
                                at.map_or(BORDER[channel].into(), |at| floats.texel([at[0], at[1], at[2]]));
                            wanted += (0..dims).map(weight).product::<f64>() * texel;
                        }
                        let off = (f64::from(got) - wanted).abs();
                        assert!(
                            off < 1e-3,
                            "{} {shape} {modes:?} at {coord:?}: {got} instead of {wanted}",
                            rig.chip
                        );
                    }
                }
            }
        }
    });
}

#[test]
fn integers_are_not_filtered_and_have_integer_borders() {
    rig::each(|rig| {
        let image = Image { bytes: 4, size: [4, 4, 1], levels: 1, three_d: false, samples: [0; 2] };
        for x in 0..4 {
            rig.memory.set_word(TEXELS + image.offset(0, [x, 0, 0]), 1000 + x).expect("mapped");
        }
        let border = [u32::MAX, 7, 8, 9];
        let tic = Tic { types: [SINT; 4], sources: [2, 0, 0, 6], size: [4, 4, 1], ..WORDS };
        rig.bind(&tic, &Tsc { wrap: [3; 3], border, ..LINEAR });
        let got = rig.look("TEX.LZ", "2D", &[point(&[0.45, 0.1]), point(&[1.01, 0.1])]);
        assert_eq!(got, [[1001, 0, 0, 1], border]);
    });
}

#[test]
fn coordinates_may_be_in_texels() {
    let mut random = Random::new(32);
    rig::each(|rig| {
        let floats = Floats::new(rig, &mut random, [8, 8, 1], false);
        let header = Tic { normalized: false, ..floats.tic(1) };
        for (tic, unnormalized) in [(header, false), (floats.tic(1), true)] {
            rig.bind(&tic, &Tsc { unnormalized, ..NEAREST });
            let got = rig.floats("TEX.LZ", "2D", &[point(&[6.5, 3.25])]);
            // GF100 knows the texture's way only.
            let scaled = !unnormalized || rig.chip != nvir::Chip::Gf100;
            let wanted = if scaled { [6, 3, 0] } else { [7, 7, 0] };
            assert_eq!(f64::from(got[0][0]), floats.texel(wanted), "{} {unnormalized}", rig.chip);
        }
    });
}

#[test]
fn layers_are_clamped_and_never_filtered() {
    let mut random = Random::new(33);
    rig::each(|rig| {
        let floats = Floats::new(rig, &mut random, [4, 4, 3], false);
        rig.bind(&floats.tic(5), &LINEAR);
        let places: Vec<Place> = [0, 1, 2, 3, 0xffff].map(|l| point(&[0.375, 0.375]).layer(l)).to_vec();
        for (got, layer) in rig.floats("TEX.LZ", "ARRAY_2D", &places).iter().zip([0, 1, 2, 2, 2]) {
            assert_eq!(f64::from(got[0]), floats.texel([1, 1, layer]), "{} layer {layer}", rig.chip);
        }
    });
}

/// Five levels of 16 by 16 texels; the texels of level n are n, and the upper left one of each is 8 more.
fn levels(rig: &Rig) -> Tic {
    let image = Image { bytes: 4, size: [16, 16, 1], levels: 5, three_d: false, samples: [0; 2] };
    for level in 0..5 {
        let [w, h, _] = image.extent(level);
        for (x, y) in (0..h).flat_map(|y| (0..w).map(move |x| (x, y))) {
            let v = level as f32 + if (x, y) == (0, 0) { 8.0 } else { 0.0 };
            rig.memory.set_word(TEXELS + image.offset(level, [x, y, 0]), v.to_bits()).expect("mapped");
        }
    }
    let types = [FLOAT; 4];
    Tic { types, sources: [2; 4], size: [16, 16, 1], last: 4, view: [0, 4], tile: image.tile(0), ..WORDS }
}

fn lods(rig: &mut Rig, tic: &Tic, tsc: &Tsc, lods: &[f32]) -> Vec<f32> {
    rig.bind(tic, tsc);
    let places: Vec<Place> = lods.iter().map(|l| point(&[0.99, 0.99]).with(l.to_bits())).collect();
    rig.floats("TEX.LL", "2D", &places).iter().map(|t| t[0]).collect()
}

#[test]
fn levels_of_detail_choose_levels() {
    const LODS: [f32; 11] = [-3.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.25, 3.5, 4.0, 99.0];
    rig::each(|rig| {
        let tic = levels(rig);
        assert_eq!(lods(rig, &tic, &NEAREST, &LODS), [0.0; 11], "the first level only");
        // At a half the larger level is taken.
        let nearest = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 12.0];
        let got = lods(rig, &tic, &Tsc { mip: 2, ..NEAREST }, &LODS[..10]);
        assert_eq!(got[..9], nearest[..9]);
        let linear = lods(rig, &tic, &Tsc { mip: 3, ..NEAREST }, &LODS[..7]);
        assert_eq!(linear, [0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5]);
        // The last level is one texel, which is 12.
        let last = lods(rig, &tic, &Tsc { mip: 3, ..NEAREST }, &[2.25, 3.5, 4.0, 99.0]);
        assert_eq!(last, [2.25, 7.5, 12.0, 12.0]);
        // Bias, and limits, in steps of 1/256.
        let biased = lods(rig, &tic, &Tsc { mip: 3, bias: 128, ..NEAREST }, &[0.0, 1.25]);
        assert_eq!(biased, [0.5, 1.75]);
        let biased = lods(rig, &tic, &Tsc { mip: 3, bias: -384, ..NEAREST }, &[0.0, 1.75]);
        assert_eq!(biased, [0.0, 0.25]);
        let limited = lods(rig, &tic, &Tsc { mip: 3, lod: [192, 576], ..NEAREST }, &[-1.0, 0.5, 1.0, 3.0]);
        assert_eq!(limited, [0.75, 0.75, 1.0, 2.25]);
        // A view begins with its own level 0 and ends with its last.
        let view = lods(rig, &Tic { view: [1, 2], ..tic }, &Tsc { mip: 3, ..NEAREST }, &[0.0, 0.5, 5.0]);
        assert_eq!(view, [1.0, 1.5, 2.0]);
    });
}

#[test]
fn small_footprints_are_magnified_and_large_ones_minified() {
    rig::each(|rig| {
        let tic = levels(rig);
        // Near the upper left texel a linear filter finds something between.
        for (tsc, wanted) in
            [(Tsc { min: 1, mip: 2, ..LINEAR }, [4.0, 1.0]), (Tsc { mag: 1, mip: 2, ..LINEAR }, [0.0, 5.0])]
        {
            rig.bind(&tic, &tsc);
            let far = |lod: f32, x: f32| point(&[x, 0.0]).with(lod.to_bits());
            let got = rig.floats("TEX.LL", "2D", &[far(-1.0, 1.0 / 16.0), far(1.0, 1.0 / 8.0)]);
            assert_eq!([got[0][0], got[1][0]], wanted, "{}", rig.chip);
        }
    });
}

#[test]
fn biases_and_derivatives_give_a_level_of_detail() {
    rig::each(|rig| {
        let tic = levels(rig);
        rig.bind(&tic, &Tsc { mip: 3, ..NEAREST });
        let biases = [0.0f32, 0.5, 1.75, -2.0].map(|b| point(&[0.99, 0.99]).with(b.to_bits()));
        let got: Vec<f32> = rig.floats("TEX.LB", "2D", &biases).iter().map(|t| t[0]).collect();
        assert_eq!(got, [0.0, 0.5, 1.75, 0.0], "{}", rig.chip);
        // d/dx and d/dy of x, then of y; the longer footprint in texels counts.
        let derived =
            |d: [f32; 4]| Place { derivatives: d.map(f32::to_bits).to_vec(), ..point(&[0.99, 0.99]) };
        let places = [
            derived([1.0 / 16.0, 0.0, 0.0, 1.0 / 16.0]),
            derived([4.0 / 16.0, 0.0, 0.0, 1.0 / 16.0]),
            derived([0.0, 3.0 / 16.0, 0.0, 4.0 / 16.0]),
            derived([0.0; 4]),
        ];
        let got: Vec<f32> = rig.floats("TXD", "2D", &places).iter().map(|t| t[0]).collect();
        assert_eq!(got[..2], [0.0, 2.0], "{}", rig.chip);
        assert!((got[2] - 5f32.log2()).abs() < 1e-5 && got[3] == 0.0, "{got:?}");
        // Filters that look at several places need less of it: 4 to 1, and 2 to 1 at most.
        for (anisotropy, level) in [(2, 0.0), (1, 1.0)] {
            rig.bind(&tic, &Tsc { mip: 3, anisotropy, ..LINEAR });
            assert_eq!(rig.floats("TXD", "2D", &places[1..2])[0][0], level, "{}", rig.chip);
        }
    });
}

/// How a driver takes the mean of 8 samples: texels of a grid of 4 by 2.
#[test]
fn long_footprints_are_filtered_at_several_places() {
    let mut random = Random::new(37);
    rig::each(|rig| {
        let floats = Floats::new(rig, &mut random, [16, 8, 1], false);
        let derived = |x: f32, y: f32, d: [f32; 4]| Place {
            derivatives: d.map(f32::to_bits).to_vec(),
            ..point(&[x, y])
        };
        let (step, turned) = ([4.0, 0.0, 0.0, 2.0], [0.0, 2.0, 4.0, 0.0]);
        let mean = |x: std::ops::Range<i64>, y: std::ops::Range<i64>| {
            let texels: Vec<f64> =
                y.flat_map(|y| x.clone().map(move |x| [x, y, 0])).map(|at| floats.texel(at)).collect();
            (texels.iter().sum::<f64>() / texels.len() as f64) as f32
        };
        let tic = Tic { normalized: false, ..floats.tic(1) };
        let places = [derived(6.0, 3.0, step), derived(8.0, 4.0, turned), derived(6.0, 3.0, [0.0; 4])];
        let red = |rig: &mut Rig| rig.floats("TXD", "2D", &places).iter().map(|t| t[0]).collect::<Vec<_>>();
        rig.bind(&Tic { anisotropy: 1, ..tic }, &LINEAR);
        assert_eq!(red(rig), [mean(4..8, 2..4), mean(7..9, 2..6), mean(5..7, 2..4)], "{}", rig.chip);
        rig.bind(&Tic { anisotropy: 1, ..tic }, &NEAREST);
        assert_eq!(red(rig)[0], floats.texel([6, 3, 0]) as f32, "{}", rig.chip);
        // The sampler may ask for it, too.
        rig.bind(&tic, &Tsc { anisotropy: 1, ..LINEAR });
        assert_eq!(red(rig)[0], mean(4..8, 2..4), "{}", rig.chip);
        // One place only.
        rig.bind(&tic, &LINEAR);
        assert_eq!(red(rig)[0], mean(5..7, 2..4), "{}", rig.chip);
    });
}

#[test]
fn comparisons_give_one_or_zero_before_the_filter() {
    rig::each(|rig| {
        let image = Image { bytes: 4, size: [4, 1, 1], levels: 1, three_d: false, samples: [0; 2] };
        for (x, depth) in [0.25f32, 0.5, 0.75, 1.0].into_iter().enumerate() {
            rig.memory.set_word(TEXELS + image.offset(0, [x as u32, 0, 0]), depth.to_bits()).expect("mapped");
        }
        let tic = Tic { sizes: 0x2f, types: [FLOAT; 4], sources: [2, 2, 2, 7], size: [4, 1, 1], ..WORDS };
        let lookup = |x: f32| point(&[x, 0.5]).with(0.5f32.to_bits());
        let places: Vec<Place> = [0.125, 0.375, 0.625].map(lookup).to_vec();
        // Reference 0.5 against 0.25, 0.5, 0.75, in OpenGL's order of functions.
        for (function, wanted) in
            ["000", "001", "010", "011", "100", "101", "110", "111"].into_iter().enumerate()
        {
            rig.bind(&tic, &Tsc { compare: Some(function as u32), ..NEAREST });
            let got = rig.floats("TEX.LZ.DC", "2D", &places);
            let wanted: Vec<[f32; 4]> =
                wanted.chars().map(|c| f32::from(u8::from(c == '1'))).map(|v| [v, v, v, 1.0]).collect();
            assert_eq!(got, wanted, "{} function {function}", rig.chip);
            rig.bind(&tic, &Tsc { compare: Some(function as u32), ..LINEAR });
            // A quarter of the way from the first to the second texel.
            let got = rig.floats("TEX.LZ.DC", "2D", &[lookup(0.1875)])[0][0];
            assert_eq!(got, 0.75 * wanted[0][0] + 0.25 * wanted[1][0], "{} function {function}", rig.chip);
        }
        // Depth in the upper bits of a word, stencil below: the depth is compared whatever is looked at.
        for (sizes, types, sources, word) in [
            (0x29, [4, UNORM, 4, 4], [3, 3, 3, 7], 0x8000_00ff),
            (0x2b, [UNORM, 4, 4, 4], [2, 2, 2, 7], 0xff80_0000),
            (0x3a, [UNORM; 4], [2, 2, 2, 7], 0x8000),
        ] {
            rig.memory.set_word(TEXELS, word).expect("mapped");
            rig.bind(&Tic { sizes, types, sources, ..tic }, &Tsc { compare: Some(1), ..NEAREST });
            let places = [0.49f32, 0.51].map(|r| point(&[0.125, 0.5]).with(r.to_bits()));
            let got = rig.floats("TEX.LZ.DC", "2D", &places);
            assert_eq!([got[0][0], got[1][0]], [1.0, 0.0], "{} sizes {sizes:#x}", rig.chip);
        }
    });
}

#[test]
fn gathers_take_one_component_of_four_texels() {
    let mut random = Random::new(34);
    rig::each(|rig| {
        let image = Image { bytes: 4, size: [8, 8, 1], levels: 1, three_d: false, samples: [0; 2] };
        let texels: Vec<u32> = (0..64).map(|_| random.word() as u32).collect();
        for (i, texel) in texels.iter().enumerate() {
            let at = image.offset(0, [i as u32 % 8, i as u32 / 8, 0]);
            rig.memory.set_word(TEXELS + at, *texel).expect("mapped");
        }
        // Unsigned bytes, red and blue exchanged.
        let tic = Tic { sizes: 8, types: [4; 4], sources: [4, 3, 2, 5], size: [8, 8, 1], ..WORDS };
        rig.bind(&tic, &Tsc { wrap: [0, 2, 0], ..NEAREST });
        let byte =
            |x: i64, y: i64, n: u32| texels[(y.clamp(0, 7) * 8 + x.rem_euclid(8)) as usize] >> (8 * n) & 255;
        for (letter, n) in [("R", 2), ("G", 1), ("B", 0), ("A", 3)] {
            let places = [[3i64, 4], [0, 0], [8, 8]];
            let coord = |[x, y]: [i64; 2]| point(&[x as f32 / 8.0, y as f32 / 8.0]);
            let got = rig.look(&format!("TLD4.{letter}"), "2D", &places.map(coord));
            for ([x, y], got) in places.into_iter().zip(got) {
                let wanted = [[x - 1, y], [x, y], [x, y - 1], [x - 1, y - 1]].map(|[x, y]| byte(x, y, n));
                assert_eq!(got, wanted, "{} {letter} at {x}, {y}", rig.chip);
            }
            // Offsets of a byte each.
            let got = rig.look(&format!("TLD4.{letter}.AOFFI"), "2D", &[coord([3, 4]).with(0x01fe)]);
            assert_eq!(got[0], [[0, 5], [1, 5], [1, 4], [0, 4]].map(|[x, y]| byte(x, y, n)), "{}", rig.chip);
        }
    });
}

#[test]
fn texels_without_memory_are_zero() {
    rig::each(|rig| {
        rig.bind(&Tic { address: 0x55_0000_0000, size: [4, 4, 1], ..WORDS }, &NEAREST);
        assert_eq!(rig.look("TLD.LZ", "2D", &[at(&[1, 1])])[0][0], 0);
    });
}

/// Two cards of a chip: one whose checkers look at every access, so that no lookup takes a shorter way.
fn fast_and_watched(chip: Chip) -> [Rig; 2] {
    let mut watched = Options::default();
    watched.checks.global_race = true;
    [Rig::new(chip), Rig::with(chip, watched)]
}

/// Lookups in an image of random words are the same on both.
fn assert_same(
    rigs: &mut [Rig; 2],
    words: &[u32],
    (tic, tsc): (&Tic, &Tsc),
    (what, shape): (&str, &str),
    places: &[Place],
) {
    let [fast, all] = rigs.each_mut().map(|rig| {
        rig.memory.write_words(TEXELS, words).expect("mapped");
        rig.bind(tic, tsc);
        rig.look(what, shape, places)
    });
    for ((place, fast), all) in places.iter().zip(fast).zip(all) {
        assert_eq!(fast, all, "{} {what} {shape} {tic:?} {tsc:?} {place:?}", rigs[0].chip);
    }
}

/// Coordinates far outside, on texels, between them, and no numbers.
fn anywhere(random: &mut Random, size: [u32; 3], n: usize) -> Place {
    match n {
        0 => point(&[1e20, -1e20]),
        1 => point(&[f32::NAN, 0.5]),
        2 => point(&[f32::INFINITY, -0.0]),
        _ if n.is_multiple_of(3) => {
            point(&[0, 1].map(|i| random.below(64) as f32 / (2 * size[i]) as f32 - 1.0))
        }
        _ => point(&[0; 2].map(|_| random.below(1 << 20) as f32 / (1 << 18) as f32 - 1.5)),
    }
}

#[test]
fn plain_textures_give_what_the_rules_for_all_give() {
    let mut rigs = fast_and_watched(Chip::Gk110);
    let random = &mut Random::new(11);
    let size = [13, 6, 1];
    let level = |random: &mut Random| (random.below(40) as f32 / 8.0 - 1.0).to_bits();
    let places: Vec<Place> = (0..600)
        .map(|n| anywhere(random, size, n))
        .collect::<Vec<_>>()
        .into_iter()
        .map(|p| p.with(level(random)))
        .collect();
    // R8, RG8, RGBA8 with its components in order, exchanged, and constant.
    let formats =
        [(0x1d, 1, [2, 0, 0, 7]), (0x18, 2, [2, 3, 0, 7]), (0x8, 4, [2, 3, 4, 5]), (0x8, 4, [4, 6, 2, 7])];
    for (sizes, bytes, sources) in formats {
        let image = Image { bytes, size, levels: 3, three_d: false, samples: [0; 2] };
        let words: Vec<u32> = (0..image.layer_bytes() / 4).map(|_| random.word() as u32).collect();
        for wrap in 0..8 {
            for (filter, mip) in [(1, 1), (2, 1), (1, 2), (2, 3)] {
                let tic = Tic { sizes, types: [UNORM; 4], sources, size, last: 2, view: [0, 2], ..WORDS };
                let tic = Tic { tile: image.tile(0), ..tic };
                let border = [0.25f32, 0.5, 0.75, 1.0].map(f32::to_bits);
                let wrap = [wrap, (wrap + 3) % 8, 0];
                let tsc = Tsc { wrap, mag: filter, min: 3 - filter, mip, border, ..LINEAR };
                assert_same(&mut rigs, &words, (&tic, &tsc), ("TEX.LL", "2D"), &places);
            }
        }
    }
}

/// Component sizes, bytes, types, sources and whether colours are sRGB, of textures that are looked up as rows.
type Format = (u32, u32, [u32; 4], [u32; 4], bool);

const FORMATS: [Format; 16] = [
    (0x01, 16, [FLOAT; 4], [2, 3, 4, 5], false),
    (0x03, 8, [FLOAT; 4], [5, 4, 3, 2], false),
    (0x03, 8, [SNORM; 4], [2, 3, 4, 5], false),
    (0x04, 8, [FLOAT; 4], [2, 3, 0, 7], false),
    (0x08, 4, [UNORM; 4], [4, 3, 2, 5], true),
    (0x08, 4, [SNORM; 4], [2, 3, 4, 5], false),
    (0x09, 4, [UNORM; 4], [2, 3, 4, 5], false),
    (0x0f, 4, [FLOAT; 4], [2, 2, 2, 7], false),
    (0x13, 2, [UNORM; 4], [2, 3, 4, 5], true),
    (0x15, 2, [UNORM; 4], [2, 3, 4, 7], false),
    (0x1b, 2, [FLOAT; 4], [2, 0, 0, 6], false),
    (0x1d, 1, [UNORM; 4], [2, 2, 2, 7], true),
    (0x21, 4, [FLOAT; 4], [2, 3, 4, 7], false),
    (0x29, 4, [UINT, UNORM, UINT, UINT], [3, 3, 3, 7], false),
    (0x30, 8, [FLOAT, UINT, UINT, UINT], [2, 2, 2, 5], false),
    (0x3a, 2, [UNORM; 4], [2, 2, 7, 5], false),
];

/// Formats that can only be fetched.
const INTEGERS: [Format; 4] = [
    (0x01, 16, [UINT; 4], [2, 3, 4, 5], false),
    (0x03, 8, [SINT; 4], [5, 3, 2, 6], false),
    (0x08, 4, [UINT; 4], [2, 3, 4, 5], false),
    (0x1d, 1, [SINT; 4], [2, 0, 0, 6], false),
];

/// The word of a shape, its code, coordinates, whether it has layers, and faces.
const SHAPES: [(&str, u32, usize, bool, u32); 6] = [
    ("1D", 0, 1, false, 1),
    ("2D", 1, 2, false, 1),
    ("CUBE", 3, 3, false, 6),
    ("ARRAY_1D", 4, 1, true, 1),
    ("ARRAY_2D", 5, 2, true, 1),
    ("ARRAY_CUBE", 8, 3, true, 6),
];

/// An image of random words of a format and a shape, and how it is bound.
fn random_image(random: &mut Random, format: Format, shape: usize) -> (Tic, Vec<u32>) {
    let (sizes, bytes, types, sources, srgb) = format;
    let (_, kind, coords, is_array, faces) = SHAPES[shape];
    let width = 1 + random.below(20) as u32;
    let height = [1, 1 + random.below(9) as u32, width][coords - 1];
    let layers = if is_array { 3 } else { 1 };
    let levels = 1 + (width.max(height).ilog2()).min(2);
    let size = [width, height, layers * faces];
    let image = Image { bytes, size, levels, three_d: false, samples: [0; 2] };
    let count = u64::from(size[2]) * image.layer_bytes().div_ceil(4);
    // Half of the words are small floats, of 32 and 16 bits; of the others some are infinite or no numbers.
    let word = |random: &mut Random| match random.below(4) {
        0 => (random.below(1 << 12) as f32 / 256.0 - 4.0).to_bits(),
        1 => 0x3c00_b800 ^ random.below(1 << 9) as u32 ^ (random.below(1 << 9) as u32) << 16,
        _ => random.word() as u32,
    };
    let words = (0..count).map(|_| word(random)).collect();
    let (size, last) = ([width, height, layers], levels - 1);
    let tic = Tic { sizes, types, sources, srgb, kind, size, last, view: [0, last], ..WORDS };
    (Tic { tile: image.tile(0), ..tic }, words)
}

#[test]
fn what_a_warp_samples_in_any_format_and_shape_is_what_each_lane_does() {
    let random = &mut Random::new(47);
    for chip in Chip::ALL {
        let mut rigs = fast_and_watched(chip);
        for (n, format) in FORMATS.into_iter().cycle().take(160).enumerate() {
            let shape = random.below(SHAPES.len() as u64) as usize;
            let (name, _, coords, is_array, _) = SHAPES[shape];
            let [offsets, compares] = [coords < 3, true].map(|can| can && random.below(2) == 1);
            // An array of cubes has no register left for what is compared.
            let compares = compares && !(coords == 3 && is_array);
            let (tic, words) = random_image(random, format, shape);
            let places: Vec<Place> = (0..192)
                .map(|n| {
                    let mut place = anywhere(random, tic.size, n);
                    place.coord.push((random.below(1 << 10) as f32 / 512.0 - 1.0).to_bits());
                    place.coord.truncate(coords);
                    place = place.with((random.below(40) as f32 / 8.0 - 1.0).to_bits());
                    if is_array {
                        place = place.layer(random.below(5) as u32);
                    }
                    if offsets {
                        place = place.with(random.below(256) as u32);
                    }
                    if compares {
                        place = place.with((random.below(48) as f32 / 32.0 - 0.25).to_bits());
                    }
                    place
                })
                .collect();
            let [filter, mip, compare, seamless] = [2, 3, 8, 2].map(|most| random.below(most) as u32);
            let tsc = Tsc {
                wrap: [0; 3].map(|_| [0, 1, 2, 3, 3, 5, 6, 7][random.below(8) as usize]),
                compare: compares.then_some(compare),
                mag: 1 + filter,
                min: 1 + (filter ^ u32::from(n % 3 == 0)),
                mip: 1 + mip,
                border: [0.25f32, 0.5, 0.75, 1.5].map(f32::to_bits),
                seamless: seamless != 0,
                ..LINEAR
            };
            let suffixes = [(offsets, ".AOFFI"), (compares, ".DC")];
            let suffixes = suffixes.into_iter().filter(|s| s.0).map(|s| s.1);
            let what = ["TEX.LL"].into_iter().chain(suffixes).collect::<String>();
            assert_same(&mut rigs, &words, (&tic, &tsc), (&what, name), &places);
        }
    }
}

#[test]
fn what_a_warp_fetches_is_what_each_lane_does() {
    let random = &mut Random::new(48);
    for chip in Chip::ALL {
        let mut rigs = fast_and_watched(chip);
        for format in FORMATS.into_iter().chain(INTEGERS).cycle().take(80) {
            let shape = [0, 1, 3, 4][random.below(4) as usize];
            let (name, _, coords, is_array, _) = SHAPES[shape];
            let offsets = random.below(2) == 1;
            let (tic, words) = random_image(random, format, shape);
            // Whole warps look at one level; the last two of the levels are not there.
            let places: Vec<Place> = (0..192)
                .map(|n| {
                    let near = |random: &mut Random, most: u32| {
                        random.below(u64::from(most) + 3) as u32 % (most + 2)
                    };
                    let coord: Vec<u32> =
                        (0..coords).map(|i| near(random, tic.size[i]).wrapping_sub(1)).collect();
                    let mut place = at(&coord).with(n / 32 % 5);
                    if is_array {
                        place = place.layer(random.below(5) as u32);
                    }
                    if offsets { place.with(random.below(256) as u32) } else { place }
                })
                .collect();
            let what = if offsets { "TLD.LL.AOFFI" } else { "TLD.LL" };
            assert_same(&mut rigs, &words, (&tic, &NEAREST), (what, name), &places);
        }
        // Buffers.
        for format in FORMATS.into_iter().chain(INTEGERS) {
            let (tic, words) = random_image(random, format, 0);
            let tic = Tic { kind: 6, size: [13, 0, 0], pitch: Some(0), normalized: false, tile: 0, ..tic };
            let tic = Tic { last: 0, view: [0, 0], ..tic };
            let places: Vec<Place> = (0..64).map(|n| at(&[n % 16])).collect();
            assert_same(&mut rigs, &words, (&tic, &NEAREST), ("TLD.LZ", "1D"), &places);
        }
    }
}
