//! Whole primitives: what is covered, by hand-computed values, and meshes of which each sample is covered once.

use super::super::assemble::{EDGES, STIPPLE_RESET};
use super::super::clip::{ClipState, DepthRange, Outside, Transform};
use super::*;

pub(super) fn state(count: u32) -> RasterState {
    RasterState {
        clip: ClipState { transform: Transform::Window, clip: 0, cull: 0 },
        depth: DepthRange::new((0.0, Outside::Kill), (1.0, Outside::Kill)),
        rect: Rect { x: [0, 64], y: [0, 64] },
        windows: None,
        samples: SampleState { count, at: SampleAt::Samples, mask: [0xff; 4] },
        front_face: FrontFace::Clockwise,
        cull: Cull::Nothing,
        polygon: [PolygonMode::Fill; 2],
        offset: PolygonOffset {
            point: false,
            line: false,
            fill: false,
            factor: 0.0,
            units: 0.0,
            clamp: 0.0,
            unit: OffsetUnit::Fixed(-24),
        },
        polygon_stipple: None,
        line: LineState { width_aliased: 1.0, width_smooth: 1.0, smooth: false, stipple: None },
        point: PointState { size: 1.0, sprite: true, smooth: false, origin: PointOrigin::Upper },
    }
}

const SOURCE: Source = Source { primitive: 7, flags: EDGES[0] | EDGES[1] | EDGES[2] | STIPPLE_RESET };

fn corner(x: f32, y: f32, z: f32) -> super::super::clip::Corner {
    super::super::clip::Corner::at([x, y, z, 1.0])
}

fn triangles(state: &RasterState, corners: &[[f32; 2]]) -> Batch {
    let mut batch = Batch::default();
    let mut r = Rasterizer::new(state);
    for c in corners.chunks_exact(3) {
        let c = [0, 1, 2].map(|n| corner(c[n][0], c[n][1], 0.5));
        r.triangle([&c[0], &c[1], &c[2]], SOURCE, &mut batch);
    }
    batch
}

/// How many samples of each pixel were drawn in an area of `size` by `size`, row after row.
fn counts(batch: &Batch, size: usize) -> Vec<u32> {
    let mut all = vec![0; size * size];
    for q in &batch.quads {
        assert!(q.x % 2 == 0 && q.y % 2 == 0 && q.cover != [0; 4]);
        for (n, cover) in q.cover.into_iter().enumerate() {
            let (x, y) = (usize::from(q.x) + n % 2, usize::from(q.y) + n / 2);
            if cover != 0 {
                all[y * size + x] += cover.count_ones();
            }
        }
    }
    all
}

/// Pixels as text, a row a line.
fn picture(batch: &Batch, size: usize) -> Vec<String> {
    let counts = counts(batch, size);
    let pixel = |n: &u32| if *n == 0 { '.' } else { char::from_digit(*n, 10).unwrap() };
    counts.chunks(size).map(|row| row.iter().map(pixel).collect()).collect()
}

#[test]
fn nothing_is_covered_by_what_has_no_area_or_no_pixels() {
    let line = triangles(&state(1), &[[0.0, 0.0], [8.0, 8.0], [4.0, 4.0]]);
    assert_eq!(line, Batch::default());
    let small = triangles(&state(1), &[[0.6, 0.6], [1.4, 0.6], [0.6, 1.4]]);
    assert_eq!(small, Batch::default());
    let empty = RasterState { rect: Rect { x: [5, 5], y: [0, 64] }, ..state(1) };
    assert_eq!(triangles(&empty, &[[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]]), Batch::default());
}

#[test]
fn left_and_top_edges_are_inside() {
    // The corners lie on centres of pixels, so that all edges but the long one run through centres.
    let c = [[0.5, 0.5], [4.5, 0.5], [0.5, 4.5]];
    let want = ["1111..", "111...", "11....", "1.....", "......", "......"];
    assert_eq!(picture(&triangles(&state(1), &c), 6), want);
    assert_eq!(picture(&triangles(&state(1), &[c[0], c[2], c[1]]), 6), want);
    // Its other half, whose right and lower edges do not count.
    let other = [[4.5, 0.5], [4.5, 4.5], [0.5, 4.5]];
    let want = ["......", "...1..", "..11..", ".111..", "......", "......"];
    assert_eq!(picture(&triangles(&state(1), &other), 6), want);
}

#[test]
fn samples_of_a_pixel_that_an_edge_cuts() {
    // Left of x = 2.5: of four samples those at 6/16 and 2/16.
    let c = [[0.0, 0.0], [2.5, 0.0], [2.5, 2.0], [0.0, 0.0], [2.5, 2.0], [0.0, 2.0]];
    let batch = triangles(&state(4), &c);
    assert_eq!(picture(&batch, 4)[..2], ["442.", "442."]);
    let last = batch.quads.iter().filter(|q| q.x == 2).fold(0, |m, q| m | q.cover[0]);
    assert_eq!(last, 0b0101);
    // At the centre, for all samples; the edge runs through the centre and is a right one.
    let mut centre = state(4);
    centre.samples.at = SampleAt::Centre;
    assert_eq!(picture(&triangles(&centre, &c), 4)[..2], ["44..", "44.."]);
    centre.samples.mask = [1, 0xff, 0, 3];
    assert_eq!(picture(&triangles(&centre, &c), 4)[..2], ["14..", ".2.."]);
}

/// A grid of points, moved about, so that its triangles cover a rectangle once.
fn mesh(size: usize, seed: u32) -> Vec<[f32; 2]> {
    let mut random = seed;
    let mut next = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16) as f32 / 65536.0
    };
    let mut points = vec![[0.0; 2]; (size + 1) * (size + 1)];
    for j in 0..=size {
        for i in 0..=size {
            let edge = i == 0 || j == 0 || i == size || j == size;
            let mut move_by = || if edge { 0.0 } else { (next() - 0.5) * 0.8 };
            let step = 64.0 / size as f32;
            points[j * (size + 1) + i] = [(i as f32 + move_by()) * step, (j as f32 + move_by()) * step];
        }
    }
    let mut corners = Vec::new();
    for j in 0..size {
        for i in 0..size {
            let at = |di: usize, dj: usize| points[(j + dj) * (size + 1) + i + di];
            let (a, b, c, d) = (at(0, 0), at(1, 0), at(1, 1), at(0, 1));
            // Cells that are not convex are cut where both triangles have the same direction.
            let area = |p: [f32; 2], q: [f32; 2], r: [f32; 2]| {
                (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1])
            };
            let least = |one: f32, two: f32| one.min(two);
            if least(area(a, b, c), area(a, c, d)) > least(area(a, b, d), area(b, c, d)) {
                corners.extend([a, b, c, a, c, d]);
            } else {
                corners.extend([a, b, d, b, c, d]);
            }
        }
    }
    corners
}

#[test]
fn each_sample_of_a_mesh_is_covered_once() {
    for count in [1, 2, 4, 8] {
        for (size, seed) in [(4, 1), (16, 2), (50, 3), (128, 4)] {
            let batch = triangles(&state(count), &mesh(size, seed));
            let counts = counts(&batch, 64);
            assert!(counts.iter().all(|&n| n == count), "{count} samples, {size}");
        }
    }
}

#[test]
fn rectangles_cut_and_put_together_again() {
    let c = mesh(9, 5);
    let whole = triangles(&state(2), &c);
    let mut bands = vec![0; 64 * 64];
    for rows in [[0, 10], [10, 32], [32, 64]] {
        let band = RasterState { rect: Rect { x: [0, 64], y: rows }, ..state(2) };
        for (sum, n) in bands.iter_mut().zip(counts(&triangles(&band, &c), 64)) {
            *sum += n;
        }
    }
    assert_eq!(bands, counts(&whole, 64));
    let odd = RasterState { rect: Rect { x: [3, 6], y: [1, 4] }, ..state(1) };
    let all = [[-100.0, -100.0], [300.0, -100.0], [-100.0, 300.0]];
    assert_eq!(
        picture(&triangles(&odd, &all), 8)[..5],
        ["........", "...111..", "...111..", "...111..", "........"]
    );
    let mut windows = state(1);
    windows.rect = Rect { x: [0, 4], y: [0, 2] };
    let mut rects = [Rect { x: [0, 0], y: [0, 0] }; 8];
    rects[0] = Rect { x: [0, 1], y: [0, 9] };
    rects[3] = Rect { x: [2, 9], y: [1, 9] };
    windows.windows = Some(WindowRects { mode: WindowMode::InsideAny, rects });
    assert_eq!(picture(&triangles(&windows, &all), 4)[..2], ["1...", "1.11"]);
    windows.windows = Some(WindowRects { mode: WindowMode::OutsideAll, rects });
    assert_eq!(picture(&triangles(&windows, &all), 4)[..2], [".111", ".1.."]);
    let mut words = [0; 32];
    words[1] = 0x60;
    let stipple = RasterState { polygon_stipple: Some(PolygonStipple::new(words)), windows: None, ..windows };
    assert_eq!(picture(&triangles(&stipple, &all), 4)[..2], ["....", ".11."]);
}

#[test]
fn facing_and_culling() {
    let clockwise = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]];
    let fronts = |face| triangles(&RasterState { front_face: face, ..state(1) }, &clockwise).shapes[0].front;
    assert!(fronts(FrontFace::Clockwise) && !fronts(FrontFace::CounterClockwise));
    let drawn = |cull| !triangles(&RasterState { cull, ..state(1) }, &clockwise).quads.is_empty();
    assert_eq!([Cull::Nothing, Cull::Front, Cull::Back, Cull::Both].map(drawn), [true, false, true, false]);
}

#[test]
fn depth_outside_the_range_is_killed_by_sample() {
    // Depth is x / 8 - 0.25: from 2 to 10.
    let mut r = Rasterizer::new(&state(1));
    let z = |x: f32| x / 8.0 - 0.25;
    let c = [[0.0, 0.0], [32.0, 0.0], [0.0, 32.0]].map(|[x, y]| corner(x, y, z(x)));
    let mut batch = Batch::default();
    assert_eq!(r.triangle([&c[0], &c[1], &c[2]], SOURCE, &mut batch), Outcome::Drawn);
    assert_eq!(picture(&batch, 64)[0][..12], *"..11111111..");
    assert_eq!(batch.shapes[0].depth, [0.125, 0.0, -0.25]);
    let mut clamped = state(1);
    clamped.depth = DepthRange::new((0.0, Outside::Clamp), (1.0, Outside::Clamp));
    batch.clear();
    Rasterizer::new(&clamped).triangle([&c[0], &c[1], &c[2]], SOURCE, &mut batch);
    assert_eq!(picture(&batch, 64)[0][..12], *"111111111111");
}

#[test]
fn polygons_as_lines_and_points() {
    let mut s = state(1);
    s.polygon = [PolygonMode::Line, PolygonMode::Point];
    s.offset = PolygonOffset { line: true, units: 2.0, ..s.offset };
    let c = [[0.5, 0.5], [4.5, 0.5], [0.5, 4.5]];
    let batch = triangles(&s, &c);
    // The right end of the top edge is the diagonal's first pixel, and so on around.
    assert_eq!(picture(&batch, 6), ["11111.", "1..1..", "1.1...", "11....", "1.....", "......"]);
    assert!(batch.shapes.iter().all(|s| s.kind == Kind::Line && s.front && s.primitive == 7));
    assert_eq!(batch.shapes[1].corners, [Varying::Vertex(1), Varying::Vertex(2), Varying::Vertex(2)]);
    assert_eq!(batch.shapes[0].depth[2], 0.5 + 2.0 / f64::from(1 << 24));
    let batch = triangles(&s, &[c[0], c[2], c[1]]);
    assert_eq!(picture(&batch, 6), ["1...1.", "......", "......", "......", "1.....", "......"]);
    assert!(batch.shapes.iter().all(|s| s.kind == Kind::Point && !s.front));
    // Edges without flags.
    let mut batch = Batch::default();
    let v = c.map(|p| corner(p[0], p[1], 0.5));
    let source = Source { flags: EDGES[0], ..SOURCE };
    Rasterizer::new(&s).triangle([&v[0], &v[1], &v[2]], source, &mut batch);
    assert_eq!(picture(&batch, 6)[..2], ["1111..", "......"]);
}

#[test]
fn stippled_strips_go_on_and_lines_begin_anew() {
    let mut s = state(1);
    s.line.stipple = Some(LineStipple { pattern: 0x3, factor: 1 });
    let mut r = Rasterizer::new(&s);
    let mut batch = Batch::default();
    let at = |x: f32| corner(x + 0.5, 0.5, 0.5);
    let strip = Source { flags: 0, ..SOURCE };
    r.line([&at(0.0), &at(1.0)], SOURCE, &mut batch);
    r.line([&at(1.0), &at(20.0)], strip, &mut batch);
    assert_eq!(picture(&batch, 64)[0][..20], *"11..............11..");
    batch.clear();
    r.line([&at(5.0), &at(2.0)], SOURCE, &mut batch);
    assert_eq!(picture(&batch, 64)[0][..6], *"....11");
}

#[test]
fn lines_of_samples_and_of_parts() {
    let mut batch = Batch::default();
    let ends = [corner(1.0, 1.0, 0.5), corner(4.0, 1.0, 0.5)];
    let mut s = state(4);
    s.line.width_smooth = 1.0;
    Rasterizer::new(&s).line([&ends[0], &ends[1]], SOURCE, &mut batch);
    // Half of each row: samples at 10 and 14 of the upper, at 2 and 6 of the lower one.
    assert_eq!(picture(&batch, 8)[..3], [".222....", ".222....", "........"]);
    let mut s = state(1);
    s.line = LineState { width_smooth: 1.5, smooth: true, ..s.line };
    batch.clear();
    Rasterizer::new(&s).line([&ends[0], &ends[1]], SOURCE, &mut batch);
    assert_eq!(batch.quads.len(), batch.coverage.len());
    assert_eq!(batch.coverage[0], [0.0, 0.75, 0.0, 0.75]);
    assert_eq!(batch.coverage[1], [0.75; 4]);
    assert_eq!(batch.shapes[0].weights[0], [1.0 / 3.0, 0.0, -1.0 / 3.0]);
    // A triangle beside it is covered as a whole.
    let c = [corner(0.0, 8.0, 0.5), corner(8.0, 8.0, 0.5), corner(0.0, 16.0, 0.5)];
    let mut r = Rasterizer::new(&s);
    batch.clear();
    r.triangle([&c[0], &c[1], &c[2]], SOURCE, &mut batch);
    assert!(!batch.coverage.is_empty() && batch.coverage.iter().all(|c| *c == [1.0; 4]));
}

#[test]
fn points_of_all_kinds() {
    let draw = |s: &RasterState, x: f32, y: f32, size: f32| {
        let mut batch = Batch::default();
        let c = super::super::clip::Corner { point_size: size, ..corner(x, y, 0.5) };
        Rasterizer::new(s).point(&c, SOURCE, &mut batch);
        batch
    };
    let sprite = state(1);
    assert_eq!(picture(&draw(&sprite, 2.0, 1.0, 2.0), 4), [".11.", ".11.", "....", "...."]);
    assert_eq!(picture(&draw(&sprite, 2.6, 1.0, 1.5), 4), ["..1.", "..1.", "....", "...."]);
    assert!(draw(&sprite, 2.0, f32::NAN, 2.0).quads.is_empty());
    let mut aliased = state(1);
    aliased.point.sprite = false;
    assert_eq!(picture(&draw(&aliased, 2.6, 1.2, 1.4), 4), ["....", "..1.", "....", "...."]);
    // Diameter 4 around a corner: the four corner pixels have parts alone.
    let mut smooth = aliased;
    smooth.point.smooth = true;
    let batch = draw(&smooth, 4.0, 4.0, 4.0);
    let area: f32 = batch.coverage.iter().flatten().sum();
    assert!((area - 4.0 * std::f32::consts::PI).abs() < 0.02, "{area}");
    assert_eq!(batch.coverage[0][3], 1.0);
    // Of 4 samples of pixel (2, 2), those at (14, 6) and (10, 14) are within 2 pixels of (4, 4).
    let round = RasterState { samples: SampleState { count: 4, ..state(4).samples }, ..aliased };
    let batch = draw(&round, 4.0, 4.0, 4.0);
    assert_eq!(batch.quads[0].cover, [0b1010, 15, 15, 15]);
    let z = draw(&sprite, 2.0, 1.0, 2.0).shapes[0];
    assert_eq!((z.depth, z.weights), ([0.0, 0.0, 0.5], [[0.5, 0.0, -0.5], [0.0, 0.5, 0.0]]));
}

#[test]
fn pieces_before_the_viewer_have_planes_of_their_own() {
    let mut s = state(1);
    s.clip.transform = Transform::Viewport { scale: [32.0, 32.0, 0.5], translate: [32.0, 32.0, 0.5] };
    s.depth = DepthRange::new((0.0, Outside::Clamp), (1.0, Outside::Clamp));
    let c = [[-1.0, -1.0, 0.0, 1.0], [1.0, -1.0, 0.0, 1.0], [0.0, 3.0, 0.0, -1.0]];
    let c = c.map(super::super::clip::Corner::at);
    let mut batch = Batch::default();
    assert_eq!(Rasterizer::new(&s).triangle([&c[0], &c[1], &c[2]], SOURCE, &mut batch), Outcome::Drawn);
    assert!(
        batch.shapes.len() == 2 && batch.shapes.iter().all(|s| matches!(s.corners[2], Varying::Mixed(_)))
    );
    // It widens upwards without end.
    assert!(counts(&batch, 64).iter().all(|&n| n == 1));
    // Its own triangle in the part whose corners are all before the viewer: weights at corner 1.
    let s = &batch.shapes[0];
    let at = |corner: usize| s.weights.map(|[a, b, c]| a * s.window[corner][0] + b * s.window[corner][1] + c);
    assert_eq!((s.corners[1], at(1)), (Varying::Mixed([1.0, 0.0]), [1.0, 0.0]));
}

#[test]
fn large_polygons_come_in_bands() {
    let mut s = state(1);
    s.rect = Rect { x: [3, 4003], y: [5, 3000] };
    let mut r = Rasterizer::new(&s);
    let c = [[-9.0, -9.0], [9000.0, -9.0], [-9.0, 9000.0]].map(|[x, y]| corner(x, y, 0.5));
    let mut batch = Batch::default();
    r.triangle([&c[0], &c[1], &c[2]], SOURCE, &mut batch);
    let first = batch.shapes[0];
    let (mut pixels, mut last, mut bands) = (0u64, 0, 0);
    loop {
        assert!(batch.quads.len() <= 300_000 && batch.shapes == [first]);
        pixels += batch.quads.iter().map(|q| q.cover.iter().filter(|c| **c != 0).count() as u64).sum::<u64>();
        assert!(batch.quads.iter().all(|q| q.y >= last));
        last = batch.quads.last().unwrap().y + 2;
        bands += 1;
        if !r.is_unfinished() {
            break;
        }
        batch.clear();
        r.resume(&mut batch);
    }
    assert_eq!((pixels, bands), (4000 * 2995, 12));
}
