//! Fragment shaders: interpolation, discarded pixels, helpers, quads, results.

use super::*;
use nvir::emu::image::Arrangement;
use nvir::emu::stage::{Fragment, Quad, Triangle};
use nvir::emu::{Image, ImageDesc};
use nvir::isa::header::Interpolation;
use nvir::stage::Stage;

/// GENERIC[0] perspective, GENERIC[1] linear, GENERIC[2] flat, COLOR[0] perspective, and what every test needs.
fn header(targets: u32) -> Header {
    let mut h = Header::new(Stage::Fragment);
    for a in [0x70, 0x74, 0x78, 0x60] {
        h.set_read(a);
    }
    for (address, kind) in [
        (0x80, Interpolation::Perspective),
        (0x90, Interpolation::Linear),
        (0xa0, Interpolation::Flat),
        (0x280, Interpolation::Perspective),
    ] {
        h.set_interpolation(address, kind);
    }
    (0..targets).for_each(|n| h.set_color_mask(n, 15));
    h
}

fn triangle() -> Triangle {
    let corner = |g: f32| attributes(&[(0x80, &[g]), (0x90, &[g]), (0xa0, &[g]), (0x280, &[g])]);
    Triangle {
        window: [[0.0, 0.0, 0.5, 1.0], [16.0, 0.0, 0.75, 0.5], [0.0, 16.0, 1.0, 0.25]],
        front: false,
        flat_vertex: 1,
        id: 9,
        varyings: [corner(1.0), corner(2.0), corner(4.0)],
    }
}

fn quads(list: &[Quad]) -> Work {
    Work::Quads { triangle: Box::new(triangle()), quads: list.to_vec() }
}

const FULL: Quad = Quad { at: [2, 4], cover: [1; 4], sample: None };

fn fragments(output: Output) -> Vec<[Fragment; 4]> {
    let Output::Fragments(all) = output else { panic!("{output:?}") };
    all
}

/// What plane equations give at a point, in double precision: the sums of b v, b v r and b r.
fn planes(x: f64, y: f64) -> (f64, f64, f64) {
    let b = [1.0 - x / 16.0 - y / 16.0, x / 16.0, y / 16.0];
    let (v, r) = ([1.0, 2.0, 4.0], [1.0, 0.5, 0.25]);
    let sum = |f: &dyn Fn(usize) -> f64| (0..3).map(|i| b[i] * f(i)).sum::<f64>();
    (sum(&|i| v[i]), sum(&|i| v[i] * r[i]), sum(&|i| r[i]))
}

fn close(got: Option<u32>, want: f64) -> bool {
    got.is_some_and(|g| (f64::from(f32::from_bits(g)) - want).abs() < 1e-5)
}

#[test]
fn every_mode_interpolates_its_plane() {
    let lines = [
        "IPA.PASS R8, a[0x7c], RZ",
        "MUFU.RCP R9, R8",
        "IPA R0, a[0x80], R9",
        "IPA.PASS R1, a[0x90], RZ",
        "IPA.CONSTANT R2, a[0xa0], RZ",
        "IPA.SC R3, a[0x280], R9",
        "IPA.PASS R4, a[0x70], RZ",
        "IPA.PASS R5, a[0x74], RZ",
        "IPA.PASS R6, a[0x78], RZ",
        "IPA.CONSTANT R7, a[0x3fc], RZ",
        "IPA.CONSTANT R8, a[0x60], RZ",
        "IPA.PASS R9, a[0x80], RZ",
        "IPA.PASS.SAT R10, a[0x90], RZ",
        "IPA.PASS R11, a[0xa0], RZ",
        "EXIT",
    ];
    let many: Vec<Quad> = (0..10).map(|n| Quad { at: [2 * (n % 4), 2 * (n / 4)], ..FULL }).collect();
    for chip in Chip::ALL {
        for flat_shade in [false, true] {
            let around = Around {
                chip,
                checks: Checks::ALL,
                raster: Raster { flat_shade, ..Raster::default() },
                memory: &mut Memory::new(),
                constants: &[],
                textures: Vec::new(),
            };
            let all = execute_in(&lines, &header(3), &quads(&many), around)
                .unwrap_or_else(|f| panic!("{chip} {f}"));
            for (quad, pixels) in many.iter().zip(fragments(all)) {
                for (l, p) in pixels.iter().enumerate() {
                    let (x, y) = (
                        f64::from(quad.at[0]) + (l % 2) as f64 + 0.5,
                        f64::from(quad.at[1]) + (l / 2) as f64 + 0.5,
                    );
                    let (linear, over_w, r) = planes(x, y);
                    assert!(p.covered && !p.killed);
                    let color = if flat_shade { 2.0 } else { over_w / r };
                    let want = [
                        [over_w / r, linear, 2.0, color],
                        [x, y, 0.5 + x / 64.0 + y / 32.0, f64::NAN],
                        [f64::NAN, over_w, 1.0, 2.0],
                    ];
                    for (t, want) in want.iter().enumerate() {
                        for c in (0..4).filter(|c| !want[*c].is_nan()) {
                            assert!(
                                close(p.colors[t][c], want[c]),
                                "{chip} {t} {c}: {:?} {}",
                                p.colors[t][c],
                                want[c]
                            );
                        }
                    }
                    assert_eq!((p.colors[1][3], p.colors[2][0]), (Some(0), Some(9)));
                }
            }
        }
    }
}

#[test]
fn samples_of_a_pixel_have_their_places() {
    // Offsets count 4096ths; centroid and sample are those of the quad.
    let lines = [
        "IPA.PASS R0, a[0x90], RZ",
        "IPA.PASS.CENTROID R1, a[0x90], RZ",
        "MOV32I R4, 0xfc000400",
        "IPA.PASS.OFFSET R2, a[0x90], RZ, R4",
        "MOV R5, 0x3",
        "PIXLD.OFFSET R5, [R5]",
        "IPA.PASS.OFFSET R3, a[0x90], RZ, R5",
        "PIXLD.COVMASK R4, [RZ]",
        "PIXLD.MY_INDEX R5, [RZ]",
        "PIXLD R6, [RZ]",
        "PIXLD.CENTROID_OFFSET R7, [RZ]",
        "EXIT",
    ];
    let half = Quad { cover: [15, 0b0101, 0, 0b1000], ..FULL };
    let sample = Quad { sample: Some(2), ..half };
    let places = [[6.0, 2.0], [14.0, 6.0], [2.0, 10.0], [10.0, 14.0]].map(|p: [f64; 2]| p.map(|v| v / 16.0));
    for chip in Chip::ALL {
        let around = Around {
            chip,
            checks: Checks::ALL,
            raster: Raster { samples: 4, ..Raster::default() },
            memory: &mut Memory::new(),
            constants: &[],
            textures: Vec::new(),
        };
        let all = execute_in(&lines, &header(2), &quads(&[half, sample]), around)
            .unwrap_or_else(|f| panic!("{chip} {f}"));
        let all = fragments(all);
        let middle = |l: usize| match l {
            1 => [0.25, 0.375],
            3 => places[3],
            _ => [0.5, 0.5],
        };
        for (q, pixels) in all.iter().enumerate() {
            for (l, p) in pixels.iter().enumerate() {
                let at = |[x, y]: [f64; 2]| planes(2.0 + (l % 2) as f64 + x, 4.0 + (l / 2) as f64 + y).0;
                let centroid = if q == 1 { places[2] } else { middle(l) };
                let want = [at([0.5, 0.5]), at(centroid), at([0.75, 0.25]), at(places[3])];
                for (c, want) in want.into_iter().enumerate() {
                    assert!(
                        close(p.colors[0][c], want),
                        "{chip} {q} {l} {c}: {:?} {want}",
                        p.colors[0][c].map(f32::from_bits)
                    );
                }
                assert_eq!(
                    p.colors[1][..3],
                    [Some(half.cover[l]), Some(if q == 1 { 2 } else { 0 }), Some(4)]
                );
                let packed = ((centroid[0] - 0.5) * 4096.0) as i32 as u32 & 0xffff
                    | (((centroid[1] - 0.5) * 4096.0) as i32 as u32) << 16;
                assert_eq!(p.colors[1][3], Some(packed), "{chip} {q} {l}");
                assert_eq!(p.covered, half.cover[l] != 0);
            }
        }
        let lines = ["MOV R5, 0x1", "PIXLD.OFFSET R5, [R5]", "EXIT"];
        faults(
            chip,
            &lines,
            &header(0),
            &quads(&[FULL]),
            FaultKind::IllegalInstruction,
            "sample 1: index out of range (0 to 0) (pixel (2, 4))",
        );
    }
}

#[test]
fn inputs_may_be_indexed_on_every_chip() {
    let lines = ["MOV R1, 0x10", "IPA.PASS R0, a[R1+0x80], RZ", "IPA.CONSTANT R1, a[R1+0x90], RZ", "EXIT"];
    for chip in Chip::ALL {
        let all = fragments(
            execute(chip, &lines, &header(1), &quads(&[FULL])).unwrap_or_else(|f| panic!("{chip} {f}")),
        );
        assert!(close(all[0][0].colors[0][0], planes(2.5, 4.5).0), "{chip}");
        assert_eq!(all[0][0].colors[0][1], Some(2f32.to_bits()));
    }
}

#[test]
fn discarded_pixels_go_on_as_helpers_and_their_stores_vanish() {
    let mut h = header(1);
    (h.kills, h.global_stores, h.memory) = (true, true, true);
    h.local_bytes = 16;
    // Pixels with odd x go; their neighbours still see them. Each pixel counts its runs, keeps a number, and loads it again.
    let lines = [
        "IPA.PASS R0, a[0x70], RZ",
        "F2I.S32.F32.TRUNC R1, R0",
        "LOP.AND R2, R1, 0x1",
        "ISETP.NE.AND P0, PT, R2, RZ, PT",
        "@P0 KIL",
        "FSWZ.1032 R3, R0, R0, PNNPPNNP",
        "S2R R2, SR_THREAD_KILL",
        "MOV R4, c[0x0][0x0]",
        "MOV R5, c[0x0][0x4]",
        "MOV R6, 0x1",
        "RED.E.ADD [R4], R6",
        "STL [0x4], R1",
        "LDL R1, [0x4]",
        "LD.E R6, [R4]",
        "ISETP.NE.AND P0, PT, R2, RZ, PT",
        "MOV R7, RZ",
        "@P0 MOV32I R7, 0x8000",
        "LDC R7, c[0x0][R7]",
        "@P0 MOV32I R5, 0x7fffffff",
        "LD.E R6, [R4]",
        "@P0 ST.E [R4], R6",
        "@P0 ATOM.E.ADD R6, [R4], R6",
        "EXIT",
    ];
    for chip in Chip::ALL {
        let mut memory = Memory::new();
        let buffer = memory.alloc(16, 16).unwrap();
        memory.write(buffer, &[0; 16]).unwrap();
        let around = Around {
            chip,
            checks: Checks::ALL,
            raster: Raster::default(),
            memory: &mut memory,
            constants: &[buffer as u32, (buffer >> 32) as u32],
            textures: Vec::new(),
        };
        let half = Quad { cover: [1, 1, 0, 1], ..FULL };
        let all =
            execute_in(&lines, &h, &quads(&[FULL, half]), around).unwrap_or_else(|f| panic!("{chip} {f}"));
        let all = fragments(all);
        for (q, pixels) in all.iter().enumerate() {
            for (l, p) in pixels.iter().enumerate() {
                let helper = q == 1 && l == 2;
                assert_eq!((p.covered, p.killed), (!helper, l % 2 == 1), "{chip} {q} {l}");
                assert_eq!(p.colors[0][1], Some(2 + l as u32 % 2), "{chip}: local memory is everybody's own");
                assert_eq!(
                    p.colors[0][2],
                    Some(if helper || p.killed { u32::MAX } else { 0 }),
                    "{chip} {q} {l}"
                );
                assert_eq!(p.colors[0][3], Some(1f32.to_bits()), "{chip}: the derivative");
            }
        }
        // Two pixels of the first quad stay, one of the second.
        assert_eq!(memory.read(buffer, 4).unwrap(), [3, 0, 0, 0], "{chip}");
    }
}

#[test]
fn derivatives_follow_rows_and_columns() {
    let lines = [
        "IPA.PASS R4, a[0x70], RZ",
        "IPA.PASS R5, a[0x74], RZ",
        "FMUL R4, R4, R4",
        "FMUL R5, R5, R5",
        "FADD R4, R4, R5",
        "FSWZ.1032.NDV R0, R4, R4, PNNPPNNP",
        "FSWZ.2301.NDV R1, R4, R4, PNPNNPNP",
        "FSWZ.0000 R2, R4, R4, ZPZPZPZP",
        "FSWZ.3333 R3, R4, R4, PPPPPPPP",
        "EXIT",
    ];
    let value = |l: usize| {
        let (x, y) = (2.5 + (l % 2) as f64, 4.5 + (l / 2) as f64);
        x * x + y * y
    };
    for chip in Chip::ALL {
        let all = fragments(
            execute(chip, &lines, &header(1), &quads(&[FULL])).unwrap_or_else(|f| panic!("{chip} {f}")),
        );
        for (l, p) in all[0].iter().enumerate() {
            let c = p.colors[0];
            assert!(
                close(c[0], value(l | 1) - value(l & 2)),
                "{chip} {l} dx: {:?}",
                c[0].map(f32::from_bits)
            );
            assert!(close(c[1], value(l | 2) - value(l & 1)), "{chip} {l} dy");
            assert!(close(c[2], value(l)), "{chip} {l}: its own");
            assert!(close(c[3], value(3) + value(l)), "{chip} {l}: a sum");
        }
    }
}

/// Where results are: colours without gaps, then the mask, then the depth.
#[test]
fn results_lie_where_each_chip_has_them() {
    let lines: Vec<String> =
        (0..12).map(|r| format!("MOV R{r}, {r:#x}")).chain(["EXIT".to_string()]).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for chip in Chip::ALL {
        let run = |h: &Header| {
            let all =
                fragments(execute(chip, &lines, h, &quads(&[FULL])).unwrap_or_else(|f| panic!("{chip} {f}")));
            all[0][3].clone()
        };
        let kepler = u32::from(chip != Chip::Gf100);
        let mut h = header(0);
        h.set_depth(true);
        assert_eq!(run(&h).depth, Some(kepler), "{chip}");
        h.set_color_mask(1, 15);
        h.set_color_mask(3, 15);
        let p = run(&h);
        assert_eq!((p.depth, p.sample_mask), (Some(8 + kepler), None), "{chip}");
        assert_eq!((p.colors[1], p.colors[3]), ([0, 1, 2, 3].map(Some), [4, 5, 6, 7].map(Some)));
        assert_eq!((p.colors[0], p.colors[2]), ([None; 4], [None; 4]));
        h.set_sample_mask(true);
        let p = run(&h);
        assert_eq!((p.depth, p.sample_mask), (Some(9), Some(8)), "{chip}");
        h.set_depth(false);
        assert_eq!(run(&h).sample_mask, Some(8), "{chip}");
    }
    // A component that nothing wrote has no value.
    let all = fragments(execute(Chip::Gk110, &["MOV R1, RZ", "EXIT"], &header(1), &quads(&[FULL])).unwrap());
    assert_eq!(all[0][0].colors[0], [None, Some(0), None, None]);
}

#[test]
fn what_the_header_does_not_declare_is_a_fault() {
    let h = header(1);
    let work = quads(&[FULL]);
    for chip in Chip::ALL {
        let bad = |lines: &[&str], kind, said: &str| faults(chip, lines, &h, &work, kind, said);
        bad(
            &["IPA.PASS R0, a[0x84], RZ", "EXIT"],
            FaultKind::OutOfBounds,
            "reads input a[0x84], which the header does not declare (pixel (2, 4))",
        );
        bad(
            &["IPA.PASS R0, a[0x81], RZ", "EXIT"],
            FaultKind::Misaligned,
            "a[0x81], which is not a multiple of 4",
        );
        bad(
            &["ALD R0, a[0x80]", "EXIT"],
            FaultKind::IllegalInstruction,
            "reads an input without IPA in a frag shader",
        );
        bad(
            &["AST a[0x80], RZ", "EXIT"],
            FaultKind::IllegalInstruction,
            "writes an output with AST in a frag shader",
        );
        bad(&["KIL", "EXIT"], FaultKind::OutOfBounds, "discards a pixel, which the header does not declare");
        bad(&["MOV R0, RZ", "ST [R0], RZ", "EXIT"], FaultKind::OutOfBounds, "writes global memory");
        bad(
            &["IPA.PASS R0, a[R1+0x80], RZ", "EXIT"],
            FaultKind::Uninitialized,
            "R1, which nothing has written",
        );
        bad(&["VILD R0, v[0x0]", "EXIT"], FaultKind::IllegalInstruction, "a frag shader has no primitives");
        bad(&["RAM", "EXIT"], FaultKind::Stack, "QUADPOP without a QUADON");
    }
    let flat = Triangle { window: [[0.0; 4]; 3], ..triangle() };
    let none = Work::Quads { triangle: Box::new(flat), quads: vec![FULL] };
    faults(Chip::Gk104, &["EXIT"], &h, &none, FaultKind::IllegalInstruction, "the triangle has no area");
}

/// 8 by 8 texels with two smaller levels; every texel of a level has the level's number.
fn levels(memory: &mut Memory) -> Image {
    let desc =
        ImageDesc { dim: "2d".parse().unwrap(), format: "r32f".parse().unwrap(), size: [8, 8, 1], levels: 3 };
    let image = Image::alloc(memory, desc, Arrangement::default()).unwrap();
    let texels: Vec<u8> = [(64, 0f32), (16, 1.0), (4, 2.0)]
        .iter()
        .flat_map(|&(n, level)| std::iter::repeat_n(level.to_le_bytes(), n).flatten())
        .collect();
    image.upload(memory, &texels).unwrap();
    image
}

#[test]
fn implicit_levels_come_from_the_quad_with_its_helpers_and_discarded_pixels() {
    // One texel of level 1 a pixel, or as c[0x0][0x0] says.
    let lines = [
        "IPA.PASS R0, a[0x70], RZ",
        "IPA.PASS R1, a[0x74], RZ",
        "FMUL R0, R0, c[0x0][0x0]",
        "FMUL R1, R1, c[0x0][0x0]",
        "ISETP.EQ.AND P0, PT, RZ, RZ, PT",
        "S2R R2, SR_LANEID",
        "LOP.AND R2, R2, 0x3",
        "ISETP.EQ.AND P0, PT, R2, 0x1, PT",
        "@P0 KIL",
        "TEX.P R3, R0, SLOT, 2D, 0x1",
        "MOV R0, R3",
        "EXIT",
    ];
    let mut h = header(1);
    h.kills = true;
    for chip in Chip::ALL {
        let slot = match chip {
            Chip::Gf100 => "0x0, 0x0",
            Chip::Gk104 => "0x8, 0x0",
            Chip::Gk110 => "0x8",
        };
        let texts = lines.map(|l| l.replace("SLOT", slot));
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (step, level) in [(0.125f32, 0.0f32), (0.25, 1.0), (0.5, 2.0), (4.0, 2.0), (0.01, 0.0)] {
            let mut memory = Memory::new();
            let image = levels(&mut memory);
            let around = Around {
                chip,
                checks: Checks::ALL,
                raster: Raster::default(),
                memory: &mut memory,
                constants: &[step.to_bits()],
                textures: vec![image],
            };
            let helper = Quad { cover: [1, 1, 0, 1], ..FULL };
            let all =
                execute_in(&texts, &h, &quads(&[helper]), around).unwrap_or_else(|f| panic!("{chip} {f}"));
            let all = fragments(all);
            for (l, p) in all[0].iter().enumerate() {
                assert_eq!(p.colors[0][0], Some(level.to_bits()), "{chip} {step} {l}");
            }
        }
    }
}

#[test]
fn whole_quads_run_for_one_of_their_pixels() {
    // Only the first pixel runs; with QUADON its neighbours give their coordinates to a derivative.
    let lines = [
        "IPA.PASS R0, a[0x70], RZ",
        "MOV R1, RZ",
        "S2R R2, SR_LANEID",
        "SSY 0x60",
        "ISETP.NE.AND P0, PT, R2, RZ, PT",
        "@P0 NOP.S",
        "SAM",
        "FADD R3, R0, R0",
        "FSWZ.1032 R1, R3, R3, PNNPPNNP",
        "RAM",
        "MOV R2, 0x63",
        "NOP.S",
        "EXIT",
    ];
    let all = fragments(
        execute(Chip::Gf100, &lines, &header(1), &quads(&[FULL, FULL])).unwrap_or_else(|f| panic!("{f}")),
    );
    let first = all[0][0].colors[0];
    assert_eq!((first[1], first[2]), (Some(2f32.to_bits()), Some(0x63)));
    assert_eq!((all[0][1].colors[0][2], all[1][0].colors[0][1]), (Some(1), Some(0)));
}
