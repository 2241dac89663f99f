//! Lines: aliased by the diamond exit rule, or rectangles around the line whose samples or parts of pixels count.
//! Source: OpenGL 4.3, 14.5.

use super::super::assemble::STIPPLE_RESET;
use super::super::clip::{Clipped, Corner, Vertex};
use super::coverage::{UNIT, convex};
use super::emit::{DepthKill, Emit, Filter};
use super::smooth::polygon_at;
use super::stipple::LinePattern;
use super::{Batch, Kind, Look, Outcome, Rasterizer, Shape, Source, Varying, plane};

/// The widths that lines have.
const WIDTHS: (f32, f32) = (1.0, 10.0);

impl Rasterizer {
    /// Draws a line.
    pub(crate) fn line(&mut self, ends: [&Corner; 2], source: Source, batch: &mut Batch) -> Outcome {
        if source.flags & STIPPLE_RESET != 0 {
            self.stipple_step = 0;
        }
        self.line_between(ends, [0, 1], source, Look::PLAIN, batch)
    }

    /// Draws a line between two vertices, whose numbers in their primitive are given.
    pub(super) fn line_between(
        &mut self,
        ends: [&Corner; 2],
        numbers: [u8; 2],
        source: Source,
        look: Look,
        batch: &mut Batch,
    ) -> Outcome {
        let (whole, left) = match self.state.clip.clip(ends) {
            Clipped::Nothing => return Outcome::Clipped,
            Clipped::Whole(whole) => (Some(whole), whole),
            Clipped::Part { whole, polygon } => match polygon.corners() {
                [a, b] => (whole, [*a, *b]),
                _ => return Outcome::Clipped,
            },
        };
        let basis = whole.unwrap_or(left);
        let track = Track::new(left.map(|v| v.subpixels()));
        let corner = |n: usize| match whole {
            Some(_) => Varying::Vertex(numbers[n]),
            None => Varying::Mixed(mixed(numbers, basis[n].weights[0])),
        };
        let weights = [along(&basis, track.axis), [0.0; 3]];
        let depths = basis.map(|v| v.window[2]);
        let depth = plane([depths[0], depths[1], depths[1]], &weights, 0.0);
        let number = batch.shapes.len() as u32;
        batch.shapes.push(Shape {
            kind: Kind::Line,
            primitive: source.primitive,
            corners: [corner(0), corner(1), corner(1)],
            window: [basis[0].window, basis[1].window, basis[1].window],
            weights,
            depth: [depth[0], depth[1], depth[2] + look.offset],
            front: look.front,
        });
        self.cover(&track, left, depth, number, batch);
        self.stipple_step = self.stipple_step.wrapping_add(track.steps());
        if batch.quads.last().is_none_or(|q| q.shape != number) {
            batch.shapes.pop();
        }
        Outcome::Drawn
    }

    /// Gives the pixels of a line to the batch.
    fn cover(&mut self, track: &Track, left: [Vertex; 2], depth: [f64; 3], number: u32, batch: &mut Batch) {
        let state = &self.state;
        let multisampled = self.is_multisampled();
        let is_area = multisampled || state.line.smooth;
        let width = if is_area { state.line.width_smooth } else { state.line.width_aliased };
        // NaN is as narrow as can be.
        let width = width.max(WIDTHS.0).min(WIDTHS.1);
        let range = &state.depth;
        let killed = left.iter().any(|v| !range.keeps(v.window[2]));
        let pattern = |stipple| LinePattern {
            stipple,
            axis: track.axis,
            first: track.range[0],
            descending: track.descending,
            step: self.stipple_step,
        };
        let filter = Filter {
            windows: self.windows.as_ref(),
            stipple: None,
            line: state.line.stipple.map(pattern),
            depth: killed.then_some(DepthKill { range, plane: depth, sampling: &self.sampling }),
        };
        let samples = (state.samples.mask, &self.sampling);
        let coverage = self.is_smooth().then_some(&mut batch.coverage);
        let mut emit = Emit::new(&mut batch.quads, coverage, number, samples, filter);
        let rect = state.rect;
        if !is_area {
            let all = self.sampling.all();
            let bounds = if track.axis == 0 { [rect.x, rect.y] } else { [rect.y, rect.x] };
            track.pixels(width, bounds.map(|b| b.map(i64::from)), |major, minor| {
                let (x, y) = if track.axis == 0 { (major, minor) } else { (minor, major) };
                self.pixels.add(x as u32, y as u32, all);
            });
            self.pixels.flush(&mut emit);
            return;
        }
        let Some(corners) = rectangle(left.map(|v| v.subpixels()), width) else { return };
        if multisampled {
            convex::<4>(&corners, &self.sampling, &rect, &mut emit);
        } else {
            let heights = corners.map(|c| c[1]);
            let bounds = [heights.into_iter().min().unwrap_or(0), heights.into_iter().max().unwrap_or(0)];
            self.areas.shape(bounds, &rect, |y| polygon_at(&corners, y), &mut emit);
        }
    }
}

/// The weights, among those of a primitive's vertices 1 and 2, of a point between two of its vertices.
fn mixed(numbers: [u8; 2], t: f64) -> [f64; 2] {
    [1, 2].map(|n| {
        let part = |i: usize, share: f64| if numbers[i] == n { share } else { 0.0 };
        part(0, 1.0 - t) + part(1, t)
    })
}

/// The weight of the second end over the window: it grows along the major axis.
fn along(ends: &[Vertex; 2], axis: usize) -> [f64; 3] {
    let (from, to) = (ends[0].window[axis], ends[1].window[axis]);
    if from == to {
        return [0.0; 3];
    }
    let slope = 1.0 / (to - from);
    let mut weight = [0.0, 0.0, -from * slope];
    weight[axis] = slope;
    weight
}

/// The rectangle around a line, clockwise, in subpixels.
fn rectangle([a, b]: [[i64; 2]; 2], width: f32) -> Option<[[i64; 2]; 4]> {
    let (dx, dy) = ((b[0] - a[0]) as f64, (b[1] - a[1]) as f64);
    let length = (dx * dx + dy * dy).sqrt();
    if length == 0.0 {
        return None;
    }
    let half = f64::from(width) * UNIT as f64 / 2.0 / length;
    let side = [(-dy * half).round_ties_even() as i64, (dx * half).round_ties_even() as i64];
    let beside = |p: [i64; 2], sign: i64| [p[0] + sign * side[0], p[1] + sign * side[1]];
    Some([beside(a, -1), beside(b, -1), beside(b, 1), beside(a, 1)])
}

/// The way of a line through pixels: one for each step along its major axis, by the diamond exit rule.
#[derive(Clone, Copy, Debug)]
struct Track {
    /// The major axis: x or y.
    axis: usize,
    ends: [[i64; 2]; 2],
    /// The first pixel and the last one along the axis.
    range: [i64; 2],
    descending: bool,
}

impl Track {
    fn new(ends: [[i64; 2]; 2]) -> Track {
        let [a, b] = ends;
        let axis = usize::from((b[0] - a[0]).abs() < (b[1] - a[1]).abs());
        let mut track = Track { axis, ends, range: [0, -1], descending: b[axis] < a[axis] };
        track.range = track.range(0);
        track
    }

    /// The pixels along the axis if the line lies so much further along the other one.
    fn range(&self, shift: i64) -> [i64; 2] {
        let (major, minor) = (self.axis, 1 - self.axis);
        let sign = if self.descending { -1 } else { 1 };
        // Whether the line leaves the diamond of an end's pixel behind the end.
        let leaves = |end: [i64; 2]| {
            let within = |v: i64| v.rem_euclid(UNIT) - UNIT / 2;
            let (along, across) = (within(end[major]), within(end[minor] + shift));
            along * sign <= 0 || along.abs() + across.abs() < UNIT / 2
        };
        let pixel = |end: [i64; 2]| end[major].div_euclid(UNIT);
        let [a, b] = self.ends;
        if a == b {
            return [0, -1];
        }
        let first = if leaves(a) { pixel(a) } else { pixel(a) + sign };
        let last = if leaves(b) { pixel(b) - sign } else { pixel(b) };
        [first, last]
    }

    /// Pixels along the axis.
    fn steps(&self) -> u32 {
        let count = |[first, last]: [i64; 2]| if self.descending { first - last } else { last - first } + 1;
        count(self.range).max(0) as u32
    }

    /// Each pixel within the bounds of major and minor axis, of a line so many pixels wide along the minor one.
    fn pixels(&self, width: f32, bounds: [[i64; 2]; 2], mut each: impl FnMut(i64, i64)) {
        let width = width.round() as i64;
        let shift = -(width - 1) * (UNIT / 2);
        let [first, last] = self.range(shift);
        let (low, high) = if self.descending { (last, first) } else { (first, last) };
        let (major, minor) = (self.axis, 1 - self.axis);
        let [a, b] = self.ends;
        let run = (b[major] - a[major]).abs();
        let rise = (b[minor] - a[minor]) * (b[major] - a[major]).signum();
        for at in low.max(bounds[0][0])..=high.min(bounds[0][1] - 1) {
            let to_centre = at * UNIT + UNIT / 2 - a[major];
            let row = ((a[minor] + shift) * run + rise * to_centre).div_euclid(run * UNIT);
            for pixel in row.max(bounds[1][0])..(row + width).min(bounds[1][1]) {
                each(at, pixel);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [[i64; 2]; 2] = [[-100, 100]; 2];

    /// Pixels of a line between points in quarters of a pixel.
    fn pixels(a: [i64; 2], b: [i64; 2], width: f32) -> Vec<(i64, i64)> {
        let track = Track::new([a, b].map(|p| p.map(|v| v * UNIT / 4)));
        let mut all = Vec::new();
        track.pixels(width, ALL, |major, minor| {
            all.push(if track.axis == 0 { (major, minor) } else { (minor, major) });
        });
        all
    }

    #[test]
    fn the_last_pixel_is_left_out() {
        // From the centre of (1, 1) to that of (4, 1).
        assert_eq!(pixels([6, 6], [18, 6], 1.0), [(1, 1), (2, 1), (3, 1)]);
        assert_eq!(pixels([18, 6], [6, 6], 1.0), [(2, 1), (3, 1), (4, 1)]);
        assert_eq!(pixels([6, 6], [6, 18], 1.0), [(1, 1), (1, 2), (1, 3)]);
        assert!(pixels([6, 6], [6, 6], 1.0).is_empty());
        // It ends behind the centre and outside the diamond, whose right corner is in the middle of the edge.
        assert_eq!(pixels([6, 5], [11, 5], 1.0), [(1, 1), (2, 1)]);
        assert_eq!(pixels([6, 6], [11, 6], 1.0), [(1, 1)]);
        // It begins behind the centre: inside the diamond, outside.
        assert_eq!(pixels([7, 6], [18, 6], 1.0), [(1, 1), (2, 1), (3, 1)]);
        assert_eq!(pixels([7, 5], [18, 5], 1.0), [(2, 1), (3, 1)]);
    }

    #[test]
    fn joined_segments_share_no_pixel_and_leave_no_gap() {
        for joint in 0..40 {
            for height in 0..8 {
                let (a, b, c): ([i64; 2], [i64; 2], [i64; 2]) = ([2, 6], [joint, 4 + height], [42, 6]);
                let is_flat = |p: [i64; 2], q: [i64; 2]| p[0] < q[0] && (q[1] - p[1]).abs() <= q[0] - p[0];
                if !is_flat(a, b) || !is_flat(b, c) {
                    continue;
                }
                let mut columns: Vec<i64> =
                    [pixels(a, b, 1.0), pixels(b, c, 1.0)].concat().iter().map(|p| p.0).collect();
                columns.sort_unstable();
                assert_eq!(columns, (0..10).collect::<Vec<_>>(), "{joint} {height}");
            }
        }
    }

    #[test]
    fn wide_lines_repeat_across() {
        assert_eq!(pixels([6, 6], [10, 6], 3.0), [(1, 0), (1, 1), (1, 2)]);
        // A diagonal has as many pixels as steps.
        assert_eq!(pixels([2, 2], [14, 14], 1.0), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(pixels([2, 2], [6, 18], 2.0).len(), 8);
    }

    #[test]
    fn rectangles_are_clockwise_and_as_wide_as_the_line() {
        let corners = rectangle([[0, 0], [1024, 0]], 2.0).unwrap();
        assert_eq!(corners, [[0, -256], [1024, -256], [1024, 256], [0, 256]]);
        assert!(super::super::coverage::area(&corners) > 0);
        let corners = rectangle([[0, 0], [300, -400]], 5.0).unwrap();
        assert_eq!(corners[3], [512, 384]);
        assert!(super::super::coverage::area(&corners) > 0);
        assert_eq!(rectangle([[5, 5]; 2], 2.0), None);
        assert_eq!(mixed([2, 0], 0.25), [0.0, 0.75]);
        assert_eq!(mixed([1, 2], 0.25), [0.75, 0.25]);
    }
}
