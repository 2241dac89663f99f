//! The tessellator: a patch's levels become points of its domain, and primitives of them.
//!
//! What GL leaves open is chosen so that it depends on nothing but the levels: an edge's points are multiples of 2^-16 that
//! are mirrored at its middle, so that `1 - p` is exact in f32 and both patches of a shared edge see the same points; the
//! inside is made of concentric rings. Points come in the order of Direct3D 11's reference, which such chips follow and
//! llvmpipe is made of: it shows where points of a patch overlap. Source: OpenGL 4.3, 11.2.2; TESS_MODE of cl9097.h.

/// What a patch is cut into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Domain {
    Isolines,
    Triangles,
    Quads,
}

/// How an edge is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spacing {
    Equal,
    FractionalOdd,
    FractionalEven,
}

/// What comes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    Points,
    Lines,
    /// Triangles that are counter-clockwise in the plane of u and v, as GL means it.
    CounterClockwise,
    Clockwise,
}

/// The word TESS_MODE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mode {
    pub domain: Domain,
    pub spacing: Spacing,
    pub output: Output,
}

impl Mode {
    /// The mode of a word: bits 1:0 domain, 5:4 spacing, 9:8 output. `None` for values that do not exist.
    pub(super) fn from_bits(word: u32) -> Option<Mode> {
        Some(Mode {
            domain: match word & 3 {
                0 => Domain::Isolines,
                1 => Domain::Triangles,
                2 => Domain::Quads,
                _ => return None,
            },
            spacing: match word >> 4 & 3 {
                0 => Spacing::Equal,
                1 => Spacing::FractionalOdd,
                2 => Spacing::FractionalEven,
                _ => return None,
            },
            output: match word >> 8 & 3 {
                0 => Output::Points,
                1 => Output::Lines,
                2 => Output::CounterClockwise,
                _ => Output::Clockwise,
            },
        })
    }

    /// Vertices of a primitive: 1, 2 or 3.
    pub(super) fn vertices(self) -> usize {
        match (self.output, self.domain) {
            (Output::Points, _) => 1,
            (_, Domain::Isolines) => 2,
            _ => 3,
        }
    }
}

/// Tessellation levels of a patch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Levels {
    /// Triangles: the edges u = 0, v = 0, w = 0. Quads: u = 0, v = 0, u = 1, v = 1. Isolines: lines, segments.
    pub outer: [f32; 4],
    pub inner: [f32; 2],
}

/// Points and primitives of patches, one after the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Tessellation {
    /// u and v; w of a triangle is 1 - u - v.
    pub points: Vec<[f32; 2]>,
    /// Numbers of points, [`Mode::vertices`] a primitive.
    pub indices: Vec<u32>,
}

/// The highest level; the most segments of an edge.
const MAX_LEVEL: f32 = 64.0;

/// One over the unit of coordinates.
const UNIT: u32 = 1 << 16;

/// The division of an edge: so many segments, and the parameters between them in units of 2^-16.
#[derive(Clone)]
struct Edge {
    segments: usize,
    at: [u32; MAX_LEVEL as usize + 1],
}

impl Edge {
    fn new(level: f32, spacing: Spacing) -> Edge {
        let (level, segments) = clamp(level, spacing);
        let mut at = [0; MAX_LEVEL as usize + 1];
        // All segments but the first and the last are of the same length; these two take what is left.
        let (level, n) = (f64::from(level), segments as f64);
        let short = (level - (n - 2.0)) / 2.0;
        for (i, p) in at.iter_mut().enumerate().take(segments / 2 + 1).skip(1) {
            let position = (short + (i as f64 - 1.0)) / level * f64::from(UNIT);
            *p = (position.round_ties_even() as u32).min(UNIT / 2);
        }
        for i in segments / 2 + 1..=segments {
            at[i] = UNIT - at[segments - i];
        }
        Edge { segments, at }
    }

    /// An inner edge: one segment would leave no inside, so that a level just above one is taken.
    fn inner(level: f32, spacing: Spacing) -> Edge {
        let edge = Edge::new(level, spacing);
        if edge.segments > 1 { edge } else { Edge::new(1.0 + f32::EPSILON, spacing) }
    }

    /// The parameters.
    fn points(&self) -> &[u32] {
        &self.at[..=self.segments]
    }
}

/// A level in its range, and the number of segments.
fn clamp(level: f32, spacing: Spacing) -> (f32, usize) {
    match spacing {
        Spacing::Equal => {
            let n = level.clamp(1.0, MAX_LEVEL).ceil();
            (n, n as usize)
        }
        Spacing::FractionalEven => {
            let level = level.clamp(2.0, MAX_LEVEL);
            (level, (level / 2.0).ceil() as usize * 2)
        }
        Spacing::FractionalOdd => {
            let level = level.clamp(1.0, MAX_LEVEL - 1.0);
            (level, ((level - 1.0) / 2.0).ceil() as usize * 2 + 1)
        }
    }
}

/// Appends the points and primitives of one patch. A patch with a used outer level that is not above 0 has none.
pub(crate) fn tessellate(mode: Mode, levels: &Levels, out: &mut Tessellation) {
    let used = match mode.domain {
        Domain::Isolines => 2,
        Domain::Triangles => 3,
        Domain::Quads => 4,
    };
    // NaN is not above 0 either.
    if !levels.outer[..used].iter().all(|&l| l > 0.0) {
        return;
    }
    let inner = levels.inner.map(|l| if l.is_nan() { 1.0 } else { l });
    let first = out.points.len();
    let mut mesh = Mesh { mode, out };
    match mode.domain {
        Domain::Isolines => mesh.isolines(levels),
        Domain::Triangles => mesh.triangles(levels, inner[0]),
        Domain::Quads => mesh.quads(levels, inner),
    }
    if mode.output == Output::Points {
        let count = out.points.len();
        out.indices.extend(first as u32..count as u32);
    }
}

struct Mesh<'a> {
    mode: Mode,
    out: &'a mut Tessellation,
}

/// A chain of points along one side of a ring: parameters along that side, and the points' numbers.
#[derive(Clone, Default)]
struct Chain {
    at: Vec<u32>,
    points: Vec<u32>,
}

impl Mesh<'_> {
    /// A point of the domain, in units of 2^-16.
    fn point(&mut self, u: u32, v: u32) -> u32 {
        let unit = |c: u32| c as f32 / UNIT as f32;
        self.out.points.push([unit(u), unit(v)]);
        self.out.points.len() as u32 - 1
    }

    fn line(&mut self, a: u32, b: u32) {
        if self.mode.output != Output::Points {
            self.out.indices.extend([a, b]);
        }
    }

    /// A triangle whose corners are counter-clockwise.
    fn triangle(&mut self, a: u32, b: u32, c: u32) {
        match self.mode.output {
            Output::Points => {}
            Output::Clockwise => self.out.indices.extend([a, c, b]),
            Output::CounterClockwise | Output::Lines => self.out.indices.extend([a, b, c]),
        }
    }

    fn isolines(&mut self, levels: &Levels) {
        let rows = Edge::new(levels.outer[0], Spacing::Equal);
        let along = Edge::new(levels.outer[1], self.mode.spacing);
        // There is no line at v = 1.
        for &v in &rows.points()[..rows.segments] {
            let points: Vec<u32> = along.points().iter().map(|&u| self.point(u, v)).collect();
            points.windows(2).for_each(|p| self.line(p[0], p[1]));
        }
    }

    /// The triangles between a chain and the one inside it. The side goes on whose next segment's middle comes first. The
    /// inside lies to the left of the chains' direction.
    fn stitch(&mut self, outer: &Chain, inner: &Chain) {
        let (mut o, mut i) = (0, 0);
        loop {
            let middle = |c: &Chain, n: usize| c.at.get(n + 1).map(|next| c.at[n] + next);
            match (middle(outer, o), middle(inner, i)) {
                (None, None) => return,
                (Some(a), b) if b.is_none_or(|b| a <= b) => {
                    self.triangle(outer.points[o], outer.points[o + 1], inner.points[i]);
                    o += 1;
                }
                _ => {
                    self.triangle(outer.points[o], inner.points[i + 1], inner.points[i]);
                    i += 1;
                }
            }
        }
    }

    /// The points of the sides of a polygon, each side from its corner to the next corner's: the corner is the first
    /// point of its side and the last one of the side before.
    fn sides<const N: usize>(
        &mut self,
        params: [&[u32]; N],
        place: impl Fn(usize, u32) -> (u32, u32),
    ) -> [Chain; N] {
        let mut sides = [(); N].map(|()| Chain::default());
        for (side, (chain, at)) in sides.iter_mut().zip(params).enumerate() {
            chain.at.extend(at);
            for &p in &at[..at.len() - 1] {
                let (u, v) = place(side, p);
                chain.points.push(self.point(u, v));
            }
        }
        for side in 0..N {
            let corner = sides[(side + 1) % N].points[0];
            sides[side].points.push(corner);
        }
        sides
    }

    fn quads(&mut self, levels: &Levels, inner: [f32; 2]) {
        let spacing = self.mode.spacing;
        let outer = levels.outer.map(|level| Edge::new(level, spacing));
        let one = |level| Edge::new(level, spacing).segments == 1;
        if outer.iter().all(|e| e.segments == 1) && inner.into_iter().all(one) {
            let corners = [(0, 0), (UNIT, 0), (UNIT, UNIT), (0, UNIT)].map(|(u, v)| self.point(u, v));
            self.triangle(corners[0], corners[1], corners[3]);
            self.triangle(corners[1], corners[2], corners[3]);
            return;
        }
        // Counter-clockwise from (0, 1): u = 0, v = 0, u = 1, v = 1.
        let place = |side: usize, p: u32| match side {
            0 => (0, UNIT - p),
            1 => (p, 0),
            2 => (UNIT, p),
            _ => (UNIT - p, UNIT),
        };
        let border = self.sides(outer.each_ref().map(Edge::points), place);
        let edges = inner.map(|level| Edge::inner(level, spacing));
        let [nu, nv] = edges.each_ref().map(|e| e.segments);
        // The grid inside.
        let grid: Vec<Vec<u32>> =
            (1..nv).map(|j| (1..nu).map(|i| self.point(edges[0].at[i], edges[1].at[j])).collect()).collect();
        let ring = {
            let (last_u, last_v) = (nu - 2, nv - 2);
            let chain = |at: &Edge, points: Vec<u32>| Chain { at: at.at[1..at.segments].to_vec(), points };
            [
                chain(&edges[1], grid.iter().rev().map(|row| row[0]).collect()),
                chain(&edges[0], grid[0].clone()),
                chain(&edges[1], grid.iter().map(|row| row[last_u]).collect()),
                chain(&edges[0], grid[last_v].iter().rev().copied().collect()),
            ]
        };
        for (outer, inner) in border.iter().zip(&ring) {
            self.stitch(outer, inner);
        }
        for j in 1..nv - 1 {
            for i in 1..nu - 1 {
                let (low, high) = (&grid[j - 1], &grid[j]);
                let [a, b, c, d] = [low[i - 1], low[i], high[i], high[i - 1]];
                // The diagonal that points to the nearest corner.
                if (2 * i < nu) == (2 * j < nv) {
                    self.triangle(a, b, c);
                    self.triangle(a, c, d);
                } else {
                    self.triangle(a, b, d);
                    self.triangle(b, c, d);
                }
            }
        }
    }

    fn triangles(&mut self, levels: &Levels, inner: f32) {
        let spacing = self.mode.spacing;
        // Counter-clockwise from v = 1: u = 0, v = 0, w = 0.
        let outer = [0, 1, 2].map(|side| Edge::new(levels.outer[side], spacing));
        let place = |side: usize, p: u32| match side {
            0 => (0, UNIT - p),
            1 => (p, 0),
            _ => (UNIT - p, p),
        };
        let mut ring = self.sides(outer.each_ref().map(Edge::points), place);
        if outer.iter().all(|e| e.segments == 1) && Edge::new(inner, spacing).segments == 1 {
            let corners = ring.map(|side| side.points[0]);
            self.triangle(corners[0], corners[1], corners[2]);
            return;
        }
        let edge = Edge::inner(inner, spacing);
        let n = edge.segments;
        for k in 1..=n / 2 {
            let params = &edge.at[k..=n - k];
            let inside = if params.len() == 1 {
                let third = third(UNIT);
                let centre = self.point(third, third);
                [(); 3].map(|()| Chain { at: params.to_vec(), points: vec![centre] })
            } else {
                // The perpendicular at an edge's point p meets the ring where it is 2 t / 3 away from the edge.
                let t = edge.at[k];
                self.sides([params; 3], |side, p| {
                    let (from, to, off) = (third(3 * (UNIT - p) - t), third(3 * p - t), third(2 * t));
                    match side {
                        0 => (off, from),
                        1 => (to, off),
                        _ => (from, to),
                    }
                })
            };
            for (outer, inner) in ring.iter().zip(&inside) {
                self.stitch(outer, inner);
            }
            ring = inside;
        }
        if n % 2 == 1 {
            let corners = ring.map(|side| side.points[0]);
            self.triangle(corners[0], corners[1], corners[2]);
        }
    }
}

/// A third, rounded.
fn third(v: u32) -> u32 {
    (v + 1) / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(
        domain: Domain,
        spacing: Spacing,
        output: Output,
        outer: [f32; 4],
        inner: [f32; 2],
    ) -> Tessellation {
        let mut out = Tessellation::default();
        tessellate(Mode { domain, spacing, output }, &Levels { outer, inner }, &mut out);
        out
    }

    /// Twice the area of each triangle, counter-clockwise positive.
    fn areas(t: &Tessellation) -> Vec<f64> {
        let at = |i: u32| t.points[i as usize].map(f64::from);
        let area = |c: &[u32]| {
            let [a, b, c] = [at(c[0]), at(c[1]), at(c[2])];
            (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        };
        t.indices.chunks_exact(3).map(area).collect()
    }

    #[test]
    fn patches_without_a_positive_outer_level_are_dropped() {
        for bad in [0.0, -1.0, f32::NAN] {
            for (domain, used) in [(Domain::Isolines, 2), (Domain::Triangles, 3), (Domain::Quads, 4)] {
                for side in 0..4 {
                    let mut outer = [1.0; 4];
                    outer[side] = bad;
                    let t = run(domain, Spacing::Equal, Output::CounterClockwise, outer, [1.0; 2]);
                    assert_eq!(t.points.is_empty(), side < used, "{domain:?} {side}");
                }
            }
        }
        assert_eq!((Mode::from_bits(3), Mode::from_bits(0x31)), (None, None));
    }

    #[test]
    fn level_one_is_the_patch_itself() {
        let t = run(Domain::Triangles, Spacing::Equal, Output::CounterClockwise, [1.0; 4], [1.0; 2]);
        assert_eq!(t.points, [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]);
        assert_eq!(t.indices, [0, 1, 2]);
        let t = run(Domain::Triangles, Spacing::FractionalOdd, Output::Clockwise, [0.5; 4], [-3.0; 2]);
        assert_eq!(t.indices, [0, 2, 1]);
        let t = run(Domain::Quads, Spacing::Equal, Output::CounterClockwise, [1.0; 4], [1.0; 2]);
        assert_eq!(t.points, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
        assert_eq!(t.indices, [0, 1, 3, 1, 2, 3]);
    }

    #[test]
    fn a_quad_of_two_by_two() {
        let t = run(Domain::Quads, Spacing::Equal, Output::CounterClockwise, [2.0; 4], [2.0; 2]);
        let want = [
            [0.0, 1.0],
            [0.0, 0.5],
            [0.0, 0.0],
            [0.5, 0.0],
            [1.0, 0.0],
            [1.0, 0.5],
            [1.0, 1.0],
            [0.5, 1.0],
            [0.5, 0.5],
        ];
        assert_eq!(t.points, want);
        let fan: Vec<u32> = (0..8).flat_map(|i| [i, (i + 1) % 8, 8]).collect();
        assert_eq!(t.indices, fan);
    }

    #[test]
    fn a_triangle_of_inner_level_two_has_its_centre() {
        let t = run(Domain::Triangles, Spacing::Equal, Output::Points, [1.0, 2.0, 1.0, 0.0], [2.0; 2]);
        let third = 21845.0 / 65536.0;
        assert_eq!(t.points, [[0.0, 1.0], [0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [third, third]]);
        assert_eq!(t.indices, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn isolines_leave_out_the_last_row() {
        let t = run(Domain::Isolines, Spacing::FractionalEven, Output::Lines, [2.0, 3.0, 0.0, 0.0], [0.0; 2]);
        // Level 3 is four segments: the two outer ones of half the length.
        let row = [0.0, 10923.0 / 65536.0, 0.5, 1.0 - 10923.0 / 65536.0, 1.0];
        let want: Vec<[f32; 2]> = [0.0, 0.5].iter().flat_map(|&v| row.map(|u| [u, v])).collect();
        assert_eq!(t.points, want);
        assert_eq!(t.indices[..8], [0, 1, 1, 2, 2, 3, 3, 4]);
        assert_eq!(t.indices.len(), 16);
    }

    #[test]
    fn edges_are_mirrored_and_depend_on_their_level_alone() {
        for spacing in [Spacing::Equal, Spacing::FractionalOdd, Spacing::FractionalEven] {
            for step in 1..400 {
                let e = Edge::new(step as f32 * 0.17, spacing);
                let p = e.points();
                assert_eq!((p[0], p[e.segments]), (0, UNIT));
                assert!(p.iter().zip(p.iter().rev()).all(|(a, b)| a + b == UNIT));
                assert!(p.windows(2).all(|w| w[0] <= w[1]), "{spacing:?} {step}");
            }
        }
        let segments = |level, spacing| Edge::new(level, spacing).segments;
        assert_eq!([0.3, 1.1, 64.0, 99.0].map(|l| segments(l, Spacing::Equal)), [1, 2, 64, 64]);
        assert_eq!([0.3, 2.1, 64.0, 99.0].map(|l| segments(l, Spacing::FractionalEven)), [2, 4, 64, 64]);
        assert_eq!([0.3, 1.1, 3.0, 99.0].map(|l| segments(l, Spacing::FractionalOdd)), [1, 3, 3, 63]);
    }

    #[test]
    fn triangles_cover_the_domain_once() {
        let levels = [1.0, 1.5, 2.0, 3.0, 4.7, 7.0, 12.3, 64.0];
        for domain in [Domain::Triangles, Domain::Quads] {
            for spacing in [Spacing::Equal, Spacing::FractionalOdd, Spacing::FractionalEven] {
                for (k, &inner) in levels.iter().enumerate() {
                    let outer =
                        [levels[(k + 3) % 8], levels[(k * 5 + 1) % 8], levels[k], levels[(k + 6) % 8]];
                    let inner = [inner, levels[(k + 5) % 8]];
                    let t = run(domain, spacing, Output::CounterClockwise, outer, inner);
                    let areas = areas(&t);
                    let whole = if domain == Domain::Quads { 2.0 } else { 1.0 };
                    assert!((areas.iter().sum::<f64>() - whole).abs() < 1e-9, "{domain:?} {spacing:?} {k}");
                    // Rounded coordinates of segments without length may fold by a unit.
                    assert!(areas.iter().all(|&a| a > -1e-4), "{domain:?} {spacing:?} {k}");
                    // Every inner edge has its other triangle: all that is left is the border.
                    let mut edges = std::collections::HashMap::new();
                    for c in t.indices.chunks_exact(3) {
                        for (a, b) in [(c[0], c[1]), (c[1], c[2]), (c[2], c[0])] {
                            *edges.entry((a.min(b), a.max(b))).or_insert(0) += if a < b { 1 } else { -1 };
                        }
                    }
                    let border = edges.values().filter(|&&n| n != 0).count();
                    let sides = if domain == Domain::Quads { 4 } else { 3 };
                    let want: usize = outer[..sides].iter().map(|&l| clamp(l, spacing).1).sum();
                    assert_eq!(border, want, "{domain:?} {spacing:?} {k}");
                    let cw = run(domain, spacing, Output::Clockwise, outer, inner);
                    assert_eq!(cw.points, t.points);
                    assert!((super::tests::areas(&cw).iter().sum::<f64>() + whole).abs() < 1e-9);
                }
            }
        }
    }
}
