//! Clipping and the viewport: from positions of vertices to polygons in the window.
//!
//! Geometry is cut only where it must be: at w above 0, at clip distances, and far outside the window, where coordinates
//! would no longer fit the rasteriser's integers. x and y are cut by pixels, and so is z ([`DepthRange`]), as this hardware
//! does. All of it happens in window coordinates times w, in f64, so that an edge is cut in the same place for both of its
//! triangles: the new point depends on nothing but the edge, taken from its inner end.

/// What the rasteriser needs of a vertex.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Corner {
    /// Clip coordinates.
    pub position: [f32; 4],
    /// Clip and cull distances, as far as they are enabled.
    pub distances: [f32; 8],
    /// Diameter in pixels; for points only.
    pub point_size: f32,
}

#[cfg(test)]
impl Corner {
    /// A vertex with nothing but a position.
    #[cfg(test)]
    pub(super) fn at(position: [f32; 4]) -> Corner {
        Corner { position, distances: [0.0; 8], point_size: 1.0 }
    }
}

/// From clip coordinates to the window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Transform {
    /// `position / w * scale + translate` of x, y and z.
    Viewport { scale: [f32; 3], translate: [f32; 3] },
    /// Positions are those in the window already; w is taken as 1.
    Window,
}

/// What is cut off.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ClipState {
    pub transform: Transform,
    /// Distances that cut: a bit each.
    pub clip: u8,
    /// Distances that drop a primitive whose vertices are all outside.
    pub cull: u8,
}

/// What happens to a depth outside the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outside {
    /// The sample is dropped.
    Kill,
    /// The nearest value is taken.
    Clamp,
}

/// The depths of a viewport.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct DepthRange {
    pub min: f32,
    pub max: f32,
    pub below: Outside,
    pub above: Outside,
}

impl DepthRange {
    /// The range of a viewport: what lies beyond each end is killed or clamped. `near` may be the greater one.
    pub(super) fn new(near: (f32, Outside), far: (f32, Outside)) -> DepthRange {
        let (low, high) = if near.0 <= far.0 { (near, far) } else { (far, near) };
        DepthRange { min: low.0, max: high.0, below: low.1, above: high.1 }
    }

    /// Scale and translation of a viewport are floats whose sum may miss the end of the range by their rounding.
    fn tolerance(&self) -> f64 {
        f64::from(self.min.abs().max(self.max.abs()).max(1.0)) * f64::from(f32::EPSILON) * 2.0
    }

    /// Whether a depth survives. NaN does not.
    #[inline]
    pub(super) fn keeps(&self, z: f64) -> bool {
        let slack = self.tolerance();
        (self.below == Outside::Clamp || z >= f64::from(self.min) - slack)
            && (self.above == Outside::Clamp || z <= f64::from(self.max) + slack)
    }

    /// A depth of the rasteriser as it goes on: clamped at the ends that clamp.
    #[inline]
    pub(super) fn clamp(&self, z: f64) -> f64 {
        let z = if self.below == Outside::Clamp { z.max(self.min.into()) } else { z };
        if self.above == Outside::Clamp { z.min(self.max.into()) } else { z }
    }

    /// A depth that a shader wrote: always clamped.
    #[inline]
    pub(super) fn clamp_written(&self, z: f64) -> f64 {
        z.max(self.min.into()).min(self.max.into())
    }
}

/// Fractions of a pixel that positions are rounded to.
pub(crate) const SUBPIXELS: f64 = 256.0;

/// Window coordinates beyond are cut, in pixels: products of two differences in subpixels stay below 2^60.
const GUARD: f64 = (1 << 20) as f64;

/// What w is cut at.
const MIN_W: f64 = 1.0 / (1u64 << 40) as f64;

/// The most corners of a cut triangle: one more for each plane (w, four of the guard band, eight distances).
pub(crate) const MAX_POLYGON: usize = 3 + 1 + 4 + 8;

/// A point while it is cut.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    /// Window coordinates times w, and w.
    position: [f64; 4],
    /// Weights of vertices 1 and 2 of the primitive, in clip space.
    weights: [f64; 2],
    distances: [f64; 8],
}

impl Cut {
    fn window(&self) -> [f64; 4] {
        project(self.position)
    }
}

/// A corner of what is left of a primitive.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Vertex {
    /// x, y and z in the window, and 1/w. x and y are multiples of 1/256.
    pub window: [f64; 4],
    /// Weights of vertices 1 and 2 of the primitive, in clip space.
    pub weights: [f64; 2],
}

impl Vertex {
    fn new(cut: &Cut) -> Vertex {
        Vertex { window: cut.window(), weights: cut.weights }
    }

    /// x and y in subpixels.
    #[inline]
    pub(super) fn subpixels(&self) -> [i64; 2] {
        [(self.window[0] * SUBPIXELS) as i64, (self.window[1] * SUBPIXELS) as i64]
    }
}

/// Corners in order; the first `len` are there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polygon {
    points: [Vertex; MAX_POLYGON],
    len: usize,
}

impl Polygon {
    pub(super) fn corners(&self) -> &[Vertex] {
        &self.points[..self.len]
    }
}

/// What is left of a primitive with `N` vertices.
#[derive(Clone, Debug)]
pub(crate) enum Clipped<const N: usize> {
    /// Nothing.
    Nothing,
    /// All of it.
    Whole([Vertex; N]),
    /// A part. If all of its w are above 0, the whole primitive is still what is interpolated over.
    Part { whole: Option<[Vertex; N]>, polygon: Box<Polygon> },
}

/// The nearest integer, ties to even; for hosts without an instruction for it faster than the library.
#[inline]
fn round(v: f64) -> f64 {
    // The last bit of numbers about this large is 1: the addition rounds.
    const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
    // What is greater is an integer already, or beyond anything that is drawn.
    if v.abs() < (1u64 << 51) as f64 { (v + ROUND) - ROUND } else { v }
}

/// x, y rounded to subpixels (ties to even), z, and 1/w.
#[inline]
fn project(p: [f64; 4]) -> [f64; 4] {
    let [x, y, z, w] = p;
    let snap = |v: f64| round(v * SUBPIXELS) / SUBPIXELS;
    if w == 1.0 {
        return [snap(x), snap(y), z, 1.0];
    }
    [snap(x / w), snap(y / w), z / w, 1.0 / w]
}

impl ClipState {
    /// Window coordinates times w, and w.
    #[inline]
    fn transform(&self, c: &Corner) -> [f64; 4] {
        let [x, y, z, w] = c.position.map(f64::from);
        match self.transform {
            Transform::Window => [x, y, z, 1.0],
            Transform::Viewport { scale, translate } => {
                let to = |v: f64, n: usize| v * f64::from(scale[n]) + f64::from(translate[n]) * w;
                [to(x, 0), to(y, 1), to(z, 2), w]
            }
        }
    }

    /// Whether cull distances or a position that is no number drop a primitive.
    #[inline]
    fn drops(&self, corners: &[&Corner]) -> bool {
        if corners.iter().any(|c| c.position.iter().any(|v| !v.is_finite())) {
            return true;
        }
        self.cull != 0
            && (0..8).any(|i| self.cull >> i & 1 != 0 && corners.iter().all(|c| is_outside(c.distances[i])))
    }

    /// Whether a vertex needs no cutting.
    #[inline]
    fn is_inside(&self, c: &Corner, position: &[f64; 4]) -> bool {
        let [x, y, _, w] = *position;
        let limit = GUARD * w;
        w >= MIN_W
            && x.abs() <= limit
            && y.abs() <= limit
            && (self.clip == 0 || (0..8).all(|i| self.clip >> i & 1 == 0 || !is_outside(c.distances[i])))
    }

    /// Whether a position is on the inner side of each plane: negative values are not.
    fn planes(&self) -> impl Iterator<Item = Plane> {
        let distances = (0..8).filter(|i| self.clip >> i & 1 != 0).map(Plane::Distance);
        let guard = [0, 1].into_iter().flat_map(|axis| [-1.0, 1.0].map(|sign| Plane::Guard { axis, sign }));
        std::iter::once(Plane::W).chain(guard).chain(distances)
    }

    /// A point, if it is to be drawn.
    pub(super) fn point(&self, corner: &Corner) -> Option<Vertex> {
        let position = self.transform(corner);
        let inside = !self.drops(&[corner]) && self.is_inside(corner, &position);
        inside.then(|| Vertex { window: project(position), weights: [0.0; 2] })
    }

    /// What is left of a line or a triangle.
    pub(super) fn clip<const N: usize>(&self, corners: [&Corner; N]) -> Clipped<N> {
        if self.drops(&corners) {
            return Clipped::Nothing;
        }
        let positions = corners.map(|c| self.transform(c));
        let number = |i: usize| [f64::from(u8::from(i == 1)), f64::from(u8::from(i == 2))];
        if corners.iter().zip(&positions).all(|(c, p)| self.is_inside(c, p)) {
            return Clipped::Whole(std::array::from_fn(|i| Vertex {
                window: project(positions[i]),
                weights: number(i),
            }));
        }
        let mut points = [Cut::default(); MAX_POLYGON];
        for (i, cut) in points.iter_mut().enumerate().take(N) {
            let distances = corners[i].distances.map(distance);
            *cut = Cut { position: positions[i], weights: number(i), distances };
        }
        let whole =
            positions.iter().all(|p| p[3] >= MIN_W).then(|| std::array::from_fn(|i| Vertex::new(&points[i])));
        let mut len = N;
        for plane in self.planes() {
            len = plane.cut(&mut points, len, N == 2);
            if len < 2 {
                return Clipped::Nothing;
            }
        }
        let mut polygon = Polygon { points: [Vertex::default(); MAX_POLYGON], len };
        for (to, from) in polygon.points.iter_mut().zip(&points[..len]) {
            *to = Vertex::new(from);
        }
        Clipped::Part { whole, polygon: Box::new(polygon) }
    }
}

/// NaN is outside, too.
fn is_outside(distance: f32) -> bool {
    distance.is_nan() || distance < 0.0
}

/// A distance that can be computed with.
fn distance(d: f32) -> f64 {
    if d.is_nan() { -1.0 } else { d.clamp(f32::MIN, f32::MAX).into() }
}

#[derive(Clone, Copy, Debug)]
enum Plane {
    W,
    Guard { axis: usize, sign: f64 },
    Distance(usize),
}

impl Plane {
    fn distance(self, p: &Cut) -> f64 {
        match self {
            Plane::W => p.position[3] - MIN_W,
            Plane::Guard { axis, sign } => GUARD * p.position[3] + sign * p.position[axis],
            Plane::Distance(i) => p.distances[i],
        }
    }

    /// Where the plane cuts the edge from a point inside to one outside.
    fn crossing(self, inside: &Cut, outside: &Cut) -> Cut {
        let (from, to) = (self.distance(inside), self.distance(outside));
        let t = from / (from - to);
        let mix = |a: f64, b: f64| a + (b - a) * t;
        let mut new = Cut {
            position: std::array::from_fn(|i| mix(inside.position[i], outside.position[i])),
            weights: std::array::from_fn(|i| mix(inside.weights[i], outside.weights[i])),
            distances: std::array::from_fn(|i| mix(inside.distances[i], outside.distances[i])),
        };
        // What lies on the plane lies on it whatever the rounding did.
        match self {
            Plane::W => new.position[3] = MIN_W,
            Plane::Guard { axis, sign } => new.position[axis] = -sign * GUARD * new.position[3],
            Plane::Distance(i) => new.distances[i] = 0.0,
        }
        new
    }

    /// Cuts a polygon, or a line, which has no edge from its last point to its first. How many points are left.
    fn cut(self, points: &mut [Cut; MAX_POLYGON], len: usize, is_line: bool) -> usize {
        let inside = |p: &Cut| self.distance(p) >= 0.0;
        if points[..len].iter().all(inside) {
            return len;
        }
        let old = *points;
        let mut count = 0;
        let mut put = |p: Cut| {
            if let Some(place) = points.get_mut(count) {
                *place = p;
                count += 1;
            }
        };
        for i in 0..len {
            let (a, b) = (&old[i], &old[(i + 1) % len]);
            if inside(a) {
                put(*a);
            }
            if inside(a) != inside(b) && !(is_line && i + 1 == len) {
                put(if inside(a) { self.crossing(a, b) } else { self.crossing(b, a) });
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: ClipState = ClipState {
        transform: Transform::Viewport { scale: [50.0, 50.0, 0.5], translate: [50.0, 50.0, 0.5] },
        clip: 0,
        cull: 0,
    };

    fn corner(position: [f32; 4], distance: f32) -> Corner {
        Corner { distances: [distance; 8], ..Corner::at(position) }
    }

    fn clip(state: &ClipState, corners: [Corner; 3]) -> Clipped<3> {
        state.clip([&corners[0], &corners[1], &corners[2]])
    }

    #[test]
    fn what_is_no_number_is_dropped() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for axis in 0..4 {
                let mut position = [0.0, 0.0, 0.0, 1.0];
                position[axis] = bad;
                let good = corner([0.5, 0.5, 0.0, 1.0], 0.0);
                assert!(matches!(clip(&STATE, [good, corner(position, 0.0), good]), Clipped::Nothing));
                assert_eq!(STATE.point(&corner(position, 0.0)), None);
            }
        }
        assert_eq!(STATE.point(&Corner::at([0.0, 0.0, 0.0, -1.0])), None);
        assert_eq!(STATE.point(&Corner::at([0.0; 4])), None);
    }

    #[test]
    fn the_viewport_and_rounding_to_subpixels() {
        let at = |x: f32| STATE.point(&Corner::at([x, 0.0, -1.0, 1.0])).unwrap();
        assert_eq!(at(0.5).window, [75.0, 50.0, 0.0, 1.0]);
        // Half a subpixel: the even neighbour.
        let window = ClipState { transform: Transform::Window, ..STATE };
        let snap = |x: f32| window.point(&Corner::at([x, 1.0, 0.25, 7.0])).unwrap();
        assert_eq!([0.5, 1.5, 2.5, -0.5].map(|n| snap(n / 256.0).subpixels()[0]), [0, 2, 2, 0]);
        assert_eq!(snap(3.0).window, [3.0, 1.0, 0.25, 1.0]);
        let divided = STATE.point(&Corner::at([2.0, -2.0, 4.0, 4.0])).unwrap();
        assert_eq!(divided.window, [75.0, 25.0, 1.0, 0.25]);
    }

    #[test]
    fn a_vertex_behind_the_viewer_is_cut_away() {
        let front = |x| corner([x, -1.0, 0.0, 1.0], 0.0);
        let apex = corner([0.0, 3.0, 0.0, -1.0], 0.0);
        let Clipped::Part { whole, polygon } = clip(&STATE, [front(-1.0), front(1.0), apex]) else {
            panic!()
        };
        assert_eq!(whole, None);
        // Both cuts lie beyond the guard band, where they are cut again.
        let corners = polygon.corners();
        assert_eq!(corners.len(), 4);
        assert_eq!((corners[0].window[0], corners[1].window[0]), (0.0, 100.0));
        assert_eq!([2, 3].map(|n| corners[n].window[1]), [GUARD; 2]);
        assert!(corners.iter().all(|c| c.window[3] > 0.0));
        let behind = corner([0.0, 0.0, 0.0, -1.0], 0.0);
        assert!(matches!(clip(&STATE, [behind; 3]), Clipped::Nothing));
    }

    #[test]
    fn distances_cut_and_keep_the_whole_triangle() {
        let state = ClipState { clip: 2, ..STATE };
        let (a, b, c) = ([-1.0, -1.0, 0.0, 1.0], [1.0, -1.0, 0.0, 1.0], [-1.0, 1.0, 0.0, 1.0]);
        let Clipped::Part { whole, polygon } =
            clip(&state, [corner(a, 1.0), corner(b, -1.0), corner(c, 1.0)])
        else {
            panic!()
        };
        assert_eq!(whole.unwrap().map(|v| v.subpixels()), [[0, 0], [25600, 0], [0, 25600]]);
        let corners: Vec<_> = polygon.corners().iter().map(|v| (v.subpixels(), v.weights)).collect();
        let want = [
            ([0, 0], [0.0, 0.0]),
            ([12800, 0], [0.5, 0.0]),
            ([12800, 12800], [0.5, 0.5]),
            ([0, 25600], [0.0, 1.0]),
        ];
        assert_eq!(corners, want);
        assert!(matches!(clip(&state, [corner(a, 0.0), corner(b, 0.0), corner(c, 0.0)]), Clipped::Whole(_)));
        let outside = [corner(a, -1.0), corner(b, f32::NAN), corner(c, -2.0)];
        assert!(matches!(clip(&state, outside), Clipped::Nothing));
        // Culling needs all vertices outside.
        let state = ClipState { cull: 1, ..STATE };
        assert!(matches!(clip(&state, outside), Clipped::Nothing));
        assert!(matches!(
            clip(&state, [corner(a, -1.0), corner(b, -1.0), corner(c, 0.0)]),
            Clipped::Whole(_)
        ));
        assert!(state.point(&outside[1]).is_none());
    }

    #[test]
    fn a_shared_edge_is_cut_in_one_place() {
        let state = ClipState { clip: 1, ..STATE };
        let mut random = 1u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / 16_777_216.0 * 2.0 - 1.0
        };
        for _ in 0..1000 {
            let mut point =
                |distance| corner([next(), next(), next(), next().abs() + 0.1], distance * next().abs());
            let (a, b, c, d) = (point(1.0), point(-1.0), point(1.0), point(-1.0));
            let cuts = |corners| match clip(&state, corners) {
                Clipped::Part { polygon, .. } => {
                    polygon.corners().iter().map(|v| v.subpixels()).collect::<Vec<_>>()
                }
                _ => panic!(),
            };
            let (one, two) = (cuts([a, b, c]), cuts([b, a, d]));
            // The cut of a and b is behind a in one, before a in the other.
            assert!(two.contains(&one[1]), "{one:?} {two:?}");
        }
    }

    #[test]
    fn lines_are_cut_at_their_ends() {
        let state = ClipState { clip: 1, ..STATE };
        let (a, b) = (corner([-1.0, 0.0, 0.0, 1.0], -1.0), corner([1.0, 0.0, 0.0, 1.0], 3.0));
        let Clipped::Part { whole, polygon } = state.clip([&a, &b]) else { panic!() };
        let ends: Vec<_> = polygon.corners().iter().map(|v| (v.subpixels()[0], v.weights[0])).collect();
        assert_eq!(ends, [(6400, 0.25), (25600, 1.0)]);
        assert_eq!(whole.unwrap()[0].subpixels(), [0, 12800]);
        assert!(matches!(state.clip([&a, &a]), Clipped::Nothing));
    }

    #[test]
    fn the_ends_of_the_depth_range() {
        use Outside::{Clamp, Kill};
        let range = DepthRange::new((0.75, Kill), (0.25, Clamp));
        assert_eq!((range.min, range.max), (0.25, 0.75));
        assert!(range.keeps(0.1) && range.keeps(0.75) && !range.keeps(0.76) && !range.keeps(f64::NAN));
        assert_eq!((range.clamp(0.1), range.clamp(0.8), range.clamp_written(0.8)), (0.25, 0.8, 0.75));
    }
}
