//! Cubes: which face a direction meets and where, and filters inside a face and across edges.

use crate::rig::{self, FLOAT, Image, LINEAR, NEAREST, Place, Random, Rig, TEXELS, Tic, Tsc, WORDS, point};
use nvir_hw::{method::bindings::TEX_MISC, word::TexMisc};

/// Side of a face in texels.
const SIDE: u32 = 8;

/// A face's axes: its normal, and where its two coordinates grow to.
const FACES: [[[i32; 3]; 3]; 6] = [
    [[1, 0, 0], [0, 0, -1], [0, -1, 0]],
    [[-1, 0, 0], [0, 0, 1], [0, -1, 0]],
    [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
    [[0, -1, 0], [1, 0, 0], [0, 0, -1]],
    [[0, 0, 1], [1, 0, 0], [0, -1, 0]],
    [[0, 0, -1], [-1, 0, 0], [0, -1, 0]],
];

fn dot(a: [f64; 3], b: [i32; 3]) -> f64 {
    (0..3).map(|i| a[i] * f64::from(b[i])).sum()
}

/// normal * n + s * first axis + t * second axis
fn on(face: usize, n: f64, s: f64, t: f64) -> [f64; 3] {
    let [normal, u, v] = FACES[face];
    std::array::from_fn(|i| n * f64::from(normal[i]) + s * f64::from(u[i]) + t * f64::from(v[i]))
}

/// Random texels of one float; some cubes behind each other.
fn cubes(rig: &Rig, random: &mut Random, count: u32) -> (Image, Vec<f32>) {
    let image = Image { bytes: 4, size: [SIDE, SIDE, 6 * count], levels: 1, three_d: false, samples: [0; 2] };
    let mut texels = Vec::new();
    for z in 0..6 * count {
        for (y, x) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (y, x))) {
            // Multiples of 1/16: sums of a filter are exact.
            let v = random.below(256) as f32 / 16.0;
            rig.memory.set_word(TEXELS + image.offset(0, [x, y, z]), v.to_bits()).expect("mapped");
            texels.push(v);
        }
    }
    (image, texels)
}

fn tic(image: &Image, kind: u32) -> Tic {
    let size = [SIDE, SIDE, image.size[2] / 6];
    Tic { types: [FLOAT; 4], sources: [2, 2, 2, 7], kind, size, tile: image.tile(0), ..WORDS }
}

fn texel_of(texels: &[f32], face: usize, x: i32, y: i32) -> f64 {
    texels[(face * SIDE as usize + y as usize) * SIDE as usize + x as usize].into()
}

#[test]
fn a_direction_meets_a_texel_of_a_face() {
    let mut random = Random::new(20);
    rig::each(|rig| {
        let (image, texels) = cubes(rig, &mut random, 3);
        for (kind, shape, count) in [(3, "CUBE", 1), (8, "ARRAY_CUBE", 3)] {
            let tic = Tic { size: [SIDE, SIDE, count], ..tic(&image, kind) };
            rig.bind(&tic, &NEAREST);
            let mut places = Vec::new();
            let mut wanted = Vec::new();
            for cube in 0..count {
                for face in 0..6 {
                    for (y, x) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (y, x))) {
                        let centre = |v: u32| f64::from(2 * v + 1) / f64::from(SIDE) - 1.0;
                        // Directions need not be of length one.
                        let length = f64::from(1 + random.below(5));
                        let d = on(face, length, length * centre(x), length * centre(y)).map(|v| v as f32);
                        let place = point(&d);
                        places.push(if kind == 8 { place.layer(cube) } else { place });
                        wanted.push(texel_of(&texels, (6 * cube) as usize + face, x as i32, y as i32) as f32);
                    }
                }
            }
            let got: Vec<f32> = rig.floats("TEX.LZ", shape, &places).iter().map(|t| t[0]).collect();
            assert_eq!(got, wanted, "{} {shape}", rig.chip);
        }
    });
}

/// What a linear filter finds at a place of a face, in texels.
fn filtered(texels: &[f32], face: usize, x: f64, y: f64, seamless: bool) -> f64 {
    let side = SIDE as i32;
    let (x, y) = (x - 0.5, y - 0.5);
    let (fx, fy) = (x - x.floor(), y - y.floor());
    let tap = |x: i32, y: i32| -> f64 {
        let inside = |v: i32| (0..side).contains(&v);
        let clamp = |v: i32| v.clamp(0, side - 1);
        if inside(x) && inside(y) {
            return texel_of(texels, face, x, y);
        }
        if !seamless {
            return texel_of(texels, face, clamp(x), clamp(y));
        }
        if !inside(x) && !inside(y) {
            let (cx, cy) = (clamp(x), clamp(y));
            let beside = folded(texels, face, x, cy) + folded(texels, face, cx, y);
            return (texel_of(texels, face, cx, cy) + beside) / 3.0;
        }
        folded(texels, face, x, y)
    };
    let (x, y) = (x.floor() as i32, y.floor() as i32);
    tap(x, y) * (1.0 - fx) * (1.0 - fy)
        + tap(x + 1, y) * fx * (1.0 - fy)
        + tap(x, y + 1) * (1.0 - fx) * fy
        + tap(x + 1, y + 1) * fx * fy
}

/// A texel beyond one edge: the plane of the face is folded there, by as much as it goes beyond.
fn folded(texels: &[f32], face: usize, x: i32, y: i32) -> f64 {
    let side = f64::from(SIDE);
    let [s, t] = [x, y].map(|v| f64::from(2 * v + 1) / side - 1.0);
    let beyond = (s.abs() - 1.0).max(t.abs() - 1.0);
    let p = on(face, 1.0 - beyond, s.clamp(-1.0, 1.0), t.clamp(-1.0, 1.0));
    let other = (0..6).find(|&f| f != face && dot(p, FACES[f][0]) >= 1.0).expect("an edge has two faces");
    let texel = |v: f64| ((v + 1.0) / 2.0 * side).floor() as i32;
    texel_of(texels, other, texel(dot(p, FACES[other][1])), texel(dot(p, FACES[other][2])))
}

#[test]
fn filters_stay_inside_a_face_or_go_across_its_edges() {
    let mut random = Random::new(21);
    rig::each(|rig| {
        let (image, texels) = cubes(rig, &mut random, 1);
        for seamless in [false, true] {
            // GF100's samplers do not know of it: a register of the class says it for all.
            let fermi = rig.chip == nvir::Chip::Gf100;
            rig.bind(&tic(&image, 3), &Tsc { seamless: seamless != fermi, ..LINEAR });
            rig.set(TEX_MISC, TexMisc::new().with_seamless_cube(seamless).into());
            let mut places: Vec<Place> = Vec::new();
            let mut at = Vec::new();
            for face in 0..6 {
                for (y, x) in
                    (0..16 * SIDE).step_by(3).flat_map(|y| (0..16 * SIDE).step_by(5).map(move |x| (y, x)))
                {
                    // The middle of a sixteenth: not where two faces meet.
                    let [x, y] = [x, y].map(|v| (f64::from(v) + 0.5) / 16.0);
                    let unit = |v: f64| 2.0 * v / f64::from(SIDE) - 1.0;
                    places.push(point(&on(face, 1.0, unit(x), unit(y)).map(|v| v as f32)));
                    at.push((face, x, y));
                }
            }
            let got = rig.floats("TEX.LZ", "CUBE", &places);
            for ((face, x, y), got) in at.into_iter().zip(got) {
                let wanted = filtered(&texels, face, x, y, seamless);
                let off = (f64::from(got[0]) - wanted).abs();
                assert!(off < 1e-4, "{} face {face} at {x}, {y}: {} instead of {wanted}", rig.chip, got[0]);
            }
        }
    });
}
