//! Batches: many triangles in a warp, attributes by slots, results in order on any number of threads, buffers used again.

use super::*;
use nvir::emu::stage::batch::{
    AttributeBuffer, Bound, Defaults, DomainPoint, Fragments, Input, Linkage, Plane, Primitives, Quad,
    Results, Sides, Slots, State, Triangle, weights,
};
use nvir::emu::{Stats, Texture, TextureSource};
use nvir::isa::header::{Interpolation, Topology};
use nvir::stage::Stage;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const CHIP: Chip = Chip::Gk110;

/// A program with what it is bound to.
struct Bench {
    program: Program,
    header: Header,
    memory: Memory,
    defaults: Defaults,
    checks: Checks,
    gprs: u32,
    constants: Vec<u32>,
}

impl Bench {
    fn new(lines: &[&str], header: Header) -> Bench {
        Bench {
            program: Program::new(CHIP, &assemble(CHIP, lines)),
            header,
            memory: Memory::new(),
            defaults: Defaults::zero(),
            checks: Checks::default(),
            gprs: 16,
            constants: Vec::new(),
        }
    }

    fn run(&self, input: &Input<'_>, threads: usize, results: &mut Results) -> Result<Stats, Box<Fault>> {
        let mut launch = emu::Launch::new(&self.program);
        launch.gprs = self.gprs;
        for (n, word) in self.constants.iter().enumerate() {
            launch.set_const_u32(0, 4 * n, *word);
        }
        let state = State { flat_shade: false, samples: 4, defaults: &self.defaults };
        let bound = Bound::new(&launch, &self.header, &self.memory, state);
        let mut options = Options { checks: self.checks, threads, step_limit: 1 << 24, ..Options::default() };
        bound.run(input, results, &mut options)
    }
}

fn buffer(slots: &[u32], vertices: &[&[f32]]) -> AttributeBuffer {
    let mut all = AttributeBuffer::new(Arc::new(Slots::new(slots.iter().copied())));
    for words in vertices {
        let vertex = all.push() as usize;
        words.iter().enumerate().for_each(|(slot, w)| all.set(vertex, slot, w.to_bits()));
    }
    all
}

fn triangle(corners: [u32; 3], window: [[f64; 2]; 3]) -> Triangle {
    Triangle {
        corners,
        flat: corners[0],
        weights: weights(window).expect("it has an area"),
        depth: Plane::constant(0.25),
        inverse_w: [1.0; 3],
        front: true,
        id: 0,
        layer: 0,
        viewport: 0,
    }
}

/// GENERIC[0].x linear, .y perspective, .z flat; one target.
fn fragment_header() -> Header {
    let mut h = Header::new(Stage::Fragment);
    for (a, kind) in [
        (0x80, Interpolation::Linear),
        (0x84, Interpolation::Perspective),
        (0x88, Interpolation::Flat),
        (0x280, Interpolation::Linear),
    ] {
        h.set_interpolation(a, kind);
    }
    [0x60, 0x64, 0x68, 0x78].into_iter().for_each(|a| h.set_read(a));
    h.set_color_mask(0, 15);
    h
}

fn color(results: &Results, quad: usize, pixel: usize) -> [u32; 4] {
    std::array::from_fn(|c| results.fragments.color(quad, 0, c).expect("it is declared")[pixel])
}

#[test]
fn quads_of_a_warp_have_their_own_triangles() {
    let lines = [
        "IPA.PASS R0, a[0x80], RZ",
        "IPA.PASS R1, a[0x84], RZ",
        "IPA.CONSTANT R2, a[0x88], RZ",
        "IPA.CONSTANT R3, a[0x60], RZ",
        "EXIT",
    ];
    let bench = Bench::new(&lines, fragment_header());
    let rows: Vec<[f32; 3]> = (0..30).map(|v| [v as f32, 2.0 * v as f32, -(v as f32)]).collect();
    let rows: Vec<&[f32]> = rows.iter().map(|r| &r[..]).collect();
    let vertices = buffer(&[0x80, 0x84, 0x88], &rows);
    let link = Linkage::new(&bench.header, vertices.slots(), &bench.defaults, Sides::One);
    let mut fragments = Fragments::new();
    let mut want = Vec::new();
    for n in 0..1000u32 {
        let c = [n % 10, 10 + n % 20, 29 - n % 7];
        let number = fragments.triangle(
            &link,
            &vertices,
            &Triangle {
                // Neither is a corner.
                flat: (n + 3) % 30,
                inverse_w: [1.0, 0.5, 0.25],
                id: 100 + n,
                ..triangle(c, [[0.0, 0.0], [64.0, 0.0], [0.0, 64.0]])
            },
        );
        let at = [2 * (n % 16), 2 * (n / 64)];
        fragments.quad(Quad::new(number, at, [1; 4]));
        for pixel in 0..4 {
            let (x, y) = (f64::from(at[0] + pixel % 2) + 0.5, f64::from(at[1] + pixel / 2) + 0.5);
            let (b1, b2) = (x / 64.0, y / 64.0);
            let sum = |v: [f64; 3]| (v[0] * (1.0 - b1 - b2) + v[1] * b1 + v[2] * b2) as f32;
            let v = c.map(f64::from);
            want.push((sum(v), sum([2.0 * v[0], v[1], 0.5 * v[2]]), -(((n + 3) % 30) as f32), 100 + n));
        }
    }
    let mut results = Results::new();
    for threads in [1, 3, 1] {
        let stats = bench.run(&Input::Quads(&fragments), threads, &mut results).unwrap();
        assert_eq!((results.fragments.quads(), stats.warp_instructions), (1000, 125 * 5));
        for (n, want) in want.iter().enumerate() {
            let [x, y, z, id] = color(&results, n / 4, n % 4);
            let close = |got: u32, want: f32| (f32::from_bits(got) - want).abs() < 1e-4;
            assert!(close(x, want.0) && close(y, want.1), "{n}: {want:?}");
            assert_eq!((f32::from_bits(z), id), (want.2, want.3), "{n}");
        }
    }
}

#[test]
fn lines_points_and_back_faces_are_triangles_too() {
    let lines = [
        "IPA.PASS R0, a[0x80], RZ",
        "IPA.PASS R1, a[0x280], RZ",
        "IPA.CONSTANT R2, a[0x64], RZ",
        "IPA.PASS R3, a[0x84], RZ",
        "EXIT",
    ];
    let mut bench = Bench::new(&lines, fragment_header());
    bench.defaults = Defaults::new(|a| if a == 0x84 { 7f32.to_bits() } else { 0 });
    let vertices = buffer(&[0x80, 0x280, 0x2a0], &[&[1.0, 10.0, 20.0], &[3.0, 10.0, 20.0]]);
    let link = |sides| Linkage::new(&bench.header, vertices.slots(), &bench.defaults, sides);
    let (one, two) = (link(Sides::One), link(Sides::Two));
    // A line from x = 0 to x = 8: only the weight of corner 1 changes.
    let along = [Plane { a: 0.0, dx: 0.125, dy: 0.0 }, Plane::default()];
    let line = Triangle {
        corners: [0, 1, 1],
        weights: along,
        layer: 5,
        ..triangle([0; 3], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    };
    let mut fragments = Fragments::new();
    for (link, front) in [(&one, true), (&one, false), (&two, true), (&two, false)] {
        let number = fragments.triangle(link, &vertices, &Triangle { front, ..line });
        fragments.quad(Quad::new(number, [4, 0], [1; 4]));
    }
    let mut results = Results::new();
    bench.run(&Input::Quads(&fragments), 1, &mut results).unwrap();
    for (quad, colour) in [10.0, 10.0, 10.0, 20.0].into_iter().enumerate() {
        let want = [1.0 + 2.0 * 4.5 / 8.0, colour];
        let [x, c, layer, default] = color(&results, quad, 0);
        assert_eq!(([x, c].map(f32::from_bits), layer, f32::from_bits(default)), (want, 5, 7.0));
    }
}

#[test]
fn pixels_that_failed_early_are_helpers_with_their_coverage() {
    let mut header = fragment_header();
    header.kills = true;
    let lines = [
        "PIXLD.COVMASK R0, [RZ]",
        "S2R R1, SR_THREAD_KILL",
        "S2R R2, SR_LANEID",
        "ISETP.EQ.AND P0, PT, R2, 0x3, PT",
        "@P0 KIL",
        "PIXLD.MY_INDEX R3, [RZ]",
        "EXIT",
    ];
    let bench = Bench::new(&lines, header);
    let vertices = AttributeBuffer::default();
    let link = Linkage::new(&bench.header, vertices.slots(), &bench.defaults, Sides::One);
    let mut fragments = Fragments::new();
    let mut rows = buffer(&[], &[]);
    rows.resize(3);
    let number = fragments.triangle(&link, &rows, &triangle([0, 1, 2], [[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]]));
    let quad = Quad::new(number, [0, 0], [1, 3, 0, 15]);
    assert_eq!(quad.live, 0b1011);
    fragments.quad(Quad { live: 0b1001, sample: Some(2), ..quad });
    let mut results = Results::new();
    bench.run(&Input::Quads(&fragments), 1, &mut results).unwrap();
    let got: Vec<[u32; 4]> = (0..4).map(|p| color(&results, 0, p)).collect();
    assert_eq!(got.iter().map(|c| c[0]).collect::<Vec<_>>(), [1, 3, 0, 15]);
    assert_eq!(got.iter().map(|c| c[1]).collect::<Vec<_>>(), [0, u32::MAX, u32::MAX, 0]);
    assert!(got.iter().all(|c| c[3] == 2));
    assert_eq!((results.fragments.live(0), results.fragments.killed(0)), (0b0001, 0b1000));
}

#[test]
fn what_is_not_declared_or_not_there_is_dropped_and_noted() {
    let mut header = Header::new(Stage::Vertex);
    [0x80, 0x84].into_iter().for_each(|a| header.set_read(a));
    [0x70, 0x74].into_iter().for_each(|a| header.set_written(a));
    let mut bench =
        Bench::new(&["ALD.64 R0, a[0x80]", "AST a[0x70], R1", "AST a[0x3fc], R0", "EXIT"], header);
    bench.defaults = Defaults::new(|a| a);
    let vertices = buffer(&[0x80], &[&[1.0], &[2.0]]);
    let mut results = Results::new();
    let stats = bench.run(&Input::Vertices(&vertices), 1, &mut results).unwrap();
    assert!(stats.notes.is_empty());
    // No stage gives 0x84, and the program does not write 0x74.
    let v = &results.vertices;
    assert_eq!((v.len(), v.get(1, 0), v.get(1, 1), v.lookup(1, 0x74)), (2, 0x84, 0x74, None));
    bench.checks = Checks::ALL;
    let stats = bench.run(&Input::Vertices(&vertices), 1, &mut results).unwrap();
    let [note] = &stats.notes[..] else { panic!("{:?}", stats.notes) };
    assert!(note.to_string().contains("writes output a[0x3fc], which the header does not declare"), "{note}");

    let mut header = fragment_header();
    header.set_color_mask(1, 15);
    header.set_depth(true);
    let mut bench = Bench::new(&["MOV R3, 0x3", "EXIT"], header);
    bench.gprs = 4;
    let mut fragments = Fragments::new();
    let rows = buffer(&[], &[&[], &[], &[]]);
    let link = Linkage::new(&bench.header, rows.slots(), &bench.defaults, Sides::One);
    let number = fragments.triangle(&link, &rows, &triangle([0, 1, 2], [[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]]));
    fragments.quad(Quad::new(number, [0, 0], [1; 4]));
    for checks in [Checks::default(), Checks::ALL] {
        bench.checks = checks;
        let stats = bench.run(&Input::Quads(&fragments), 1, &mut results).unwrap();
        assert_eq!((color(&results, 0, 2)[3], results.fragments.color(0, 1, 0)), (3, Some(&[0; 4])));
        assert_eq!((results.fragments.depth(0), results.fragments.depth_defined(0)), (Some(&[0; 4]), 0));
        let said: Vec<String> = stats.notes.iter().map(|n| n.to_string()).collect();
        assert_eq!(said.len(), usize::from(checks.init), "{said:?}");
        assert!(
            said.iter().all(|s| s.contains("a result is expected in R4, and a thread has 4 registers")),
            "{said:?}"
        );
    }
}

/// As where early tests leave no fragment, before any other draw and behind one.
#[test]
fn nothing_to_run_leaves_nothing() {
    let bench = Bench::new(&["MOV R0, RZ", "EXIT"], Header::new(Stage::Vertex));
    let mut results = Results::new();
    for vertices in [0, 40, 0] {
        let input = buffer(&[], &vec![&[][..]; vertices]);
        for threads in [1, 2] {
            let stats = bench.run(&Input::Vertices(&input), threads, &mut results).unwrap();
            assert_eq!((results.vertices.len(), stats.thread_instructions), (vertices, 2 * vertices as u64));
        }
    }
}

#[test]
fn primitives_share_vertices_by_index() {
    // Emits the sum of its vertices' x; a strip of one vertex.
    let lines = [
        "VILD R1, v[0x0]",
        "ALD R2, a[0x80], R1",
        "VILD R1, v[0x2]",
        "ALD R3, a[0x80], R1",
        "FADD R2, R2, R3",
        "ALD R3, a[0x60]",
        "AST.64 a[0x70], R2",
        "OUT.EMIT R0, RZ, RZ",
        "EXIT",
    ];
    let mut header = declared(Header::new(Stage::Geometry), &[0x60, 0x80], &[0x70, 0x74]);
    header.topology = Some(Topology::Triangles);
    (header.threads, header.max_vertices, header.streams) = (1, 1, 1);
    let bench = Bench::new(&lines, header);
    let rows: Vec<[f32; 1]> = (0..40).map(|v| [v as f32]).collect();
    let vertices = buffer(&[0x80], &rows.iter().map(|r| &r[..]).collect::<Vec<_>>());
    let indices: Vec<u32> = (0..1500).flat_map(|p| [p % 40, (p + 1) % 40, (p + 2) % 40]).collect();
    let ids: Vec<u32> = (0..1500).map(|p| 7 * p).collect();
    let input = Primitives { vertices: &vertices, size: 3, indices: &indices, ids: &ids, patches: None };
    let mut results = Results::new();
    for threads in [1, 2] {
        bench.run(&Input::Primitives(input), threads, &mut results).unwrap();
        let stream = &results.streams[0];
        assert_eq!(stream.strips, (1..=1500).collect::<Vec<u32>>());
        for p in 0..1500 {
            let sum = (p % 40 + (p + 2) % 40) as f32;
            assert_eq!((stream.vertices.get(p, 0), stream.vertices.get(p, 1)), (sum.to_bits(), 7 * p as u32));
        }
    }
    let bad = Primitives { indices: &indices[1..], ..input };
    let said = |input: &Input<'_>| bench.run(input, 1, &mut Results::new()).unwrap_err().detail;
    assert_eq!(said(&Input::Primitives(bad)), "4499 indices for 1500 primitives of 3 vertices");
    let bad = Primitives { indices: &[0, 1, 40], ids: &[0], ..input };
    assert_eq!(said(&Input::Primitives(bad)), "a primitive has a vertex that is none of the 40");
    assert_eq!(
        said(&Input::Vertices(&vertices)),
        "the header is of a geom shader, the work is for a vert shader"
    );
}

#[test]
fn evaluation_reads_what_control_left() {
    let mut header = declared(Header::new(Stage::TessControl), &[0x80], &[0x90]);
    (header.threads, header.patch_words) = (3, 9);
    let lines = [
        "S2R R4, SR_INVOCATION_ID",
        "VILD R1, v[R4]",
        "ALD R2, a[0x80], R1",
        "FADD R2, R2, R2",
        "AST a[0x90], R2",
        "AST.P a[0x20], R2",
        "EXIT",
    ];
    let control = Bench::new(&lines, header);
    let rows: Vec<[f32; 1]> = (0..150).map(|v| [v as f32]).collect();
    let vertices = buffer(&[0x80], &rows.iter().map(|r| &r[..]).collect::<Vec<_>>());
    let ids: Vec<u32> = (0..50).collect();
    let input = Primitives { vertices: &vertices, size: 3, indices: &[], ids: &ids, patches: None };
    let mut left = Results::new();
    control.run(&Input::Patches(input), 1, &mut left).unwrap();
    assert_eq!((left.vertices.len(), left.patches.len()), (150, 50));

    let mut header = declared(Header::new(Stage::TessEval), &[0x90], &[0x70, 0x74, 0x78]);
    header.set_read_back(0x2f0);
    let lines = [
        "VILD R1, v[0x1]",
        "ALD R2, a[0x90], R1",
        "AST a[0x70], R2",
        "ALD.P R2, a[0x20]",
        "AST a[0x74], R2",
        "S2R R3, SR_LANEID",
        "ALD.O R2, a[0x2f0], R3",
        "AST a[0x78], R2",
        "EXIT",
    ];
    let evaluation = Bench::new(&lines, header);
    let points: Vec<DomainPoint> =
        (0..99).map(|n| DomainPoint { patch: (n * 7) % 50, at: [n as f32, 0.0] }).collect();
    let patches = Primitives { vertices: &left.vertices, patches: Some(&left.patches), ..input };
    let mut results = Results::new();
    evaluation.run(&Input::Points { patches, points: &points }, 1, &mut results).unwrap();
    for (n, p) in points.iter().enumerate() {
        let patch = p.patch as f32;
        // The last thread of a patch wrote its attribute.
        let want = [2.0 * (3.0 * patch + 1.0), 2.0 * (3.0 * patch + 2.0), n as f32];
        assert_eq!([0, 1, 2].map(|s| f32::from_bits(results.vertices.get(n, s))), want, "{n}");
    }
    let points = [DomainPoint { patch: 50, at: [0.0; 2] }];
    let fault = evaluation.run(&Input::Points { patches, points: &points }, 1, &mut results).unwrap_err();
    assert_eq!(fault.detail, "point 0 is of patch 50: index out of range (0 to 49)");
}

#[test]
fn programs_that_store_run_in_order() {
    let mut header = declared(Header::new(Stage::Vertex), &[], &[0x70]);
    (header.memory, header.global_stores) = (true, true);
    let lines = [
        "MOV R4, c[0x0][0x0]",
        "MOV R5, c[0x0][0x4]",
        "MOV R6, 0x1",
        "ATOM.E.ADD R6, [R4], R6",
        "AST a[0x70], R6",
        "EXIT",
    ];
    let mut bench = Bench::new(&lines, header);
    let at = bench.memory.alloc(4, 4).unwrap();
    bench.memory.write(at, &[0; 4]).unwrap();
    bench.constants = vec![at as u32, (at >> 32) as u32];
    let mut vertices = AttributeBuffer::default();
    vertices.resize(3000);
    let mut results = Results::new();
    bench.run(&Input::Vertices(&vertices), 4, &mut results).unwrap();
    assert!((0..3000).all(|v| results.vertices.get(v, 0) == v as u32));
}

#[test]
fn the_first_fault_in_order_is_told_on_any_number_of_threads() {
    let header = declared(Header::new(Stage::Vertex), &[0x80], &[0x70]);
    let lines =
        ["ALD R0, a[0x80]", "F2I.S32.F32.TRUNC R0, R0", "LDC R0, c[0x1][R0]", "AST a[0x70], R0", "EXIT"];
    let bench = Bench::new(&lines, header);
    let rows: Vec<[f32; 1]> = (0..2000).map(|_| [0.0]).collect();
    let vertices = buffer(&[0x80], &rows.iter().map(|r| &r[..]).collect::<Vec<_>>());
    let said = |threads| {
        bench.run(&Input::Vertices(&vertices), threads, &mut Results::new()).unwrap_err().to_string()
    };
    assert!(said(1).contains("(vertex 0)"), "{}", said(1));
    assert_eq!(said(1), said(4));
}

/// Counts how often a description is asked for.
#[derive(Debug, Default)]
struct Counting(AtomicU32);

impl TextureSource for Counting {
    fn texture(&self, _: &Memory, _: u32) -> Result<Texture, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Texture::none())
    }

    fn sampler(&self, _: &Memory, _: u32) -> Result<emu::Sampler, String> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(emu::Sampler::default())
    }
}

#[test]
fn a_texture_is_decoded_once_for_all_warps_and_launches() {
    let bench = Bench::new(
        &["MOV R0, RZ", "TEX.LZ.P R2, R0, 0x8, 2D, 0x1", "AST a[0x70], R2", "EXIT"],
        declared(Header::new(Stage::Vertex), &[], &[0x70]),
    );
    let source = Counting::default();
    let mut launch = emu::Launch::new(&bench.program);
    launch.tables = Some(&source);
    launch.texture_bank = 15;
    launch.set_const_u32(15, 0x20, 0);
    let state = State { flat_shade: false, samples: 1, defaults: &bench.defaults };
    let bound = Bound::new(&launch, &bench.header, &bench.memory, state);
    let mut vertices = AttributeBuffer::default();
    vertices.resize(1000);
    let mut results = Results::new();
    for _ in 0..2 {
        bound.run(&Input::Vertices(&vertices), &mut results, &mut Options::default()).unwrap();
        assert_eq!(results.vertices.get(999, 0), 0);
    }
    assert_eq!(source.0.load(Ordering::Relaxed), 2);
}
