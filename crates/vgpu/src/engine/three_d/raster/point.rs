//! Points: squares, or circles of samples or of parts of pixels. Source: OpenGL 4.3, 14.4.

use super::super::clip::{Corner, Vertex};
use super::coverage::{Sink, UNIT, convex};
use super::emit::{Emit, Filter};
use super::smooth::circle_at;
use super::{Batch, Kind, Look, Outcome, PointOrigin, Rasterizer, Shape, Source, Varying};

/// The sizes that points have.
const SIZES: (f32, f32) = (1.0, 63.375);

/// A square around a point, in subpixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Square {
    corner: [i64; 2],
    size: i64,
}

impl Rasterizer {
    /// Draws a point.
    pub(crate) fn point(&mut self, corner: &Corner, source: Source, batch: &mut Batch) -> Outcome {
        self.point_at(corner, 0, source, Look::PLAIN, batch)
    }

    /// Draws a point at a vertex, whose number in its primitive is given.
    pub(super) fn point_at(
        &mut self,
        corner: &Corner,
        number: u8,
        source: Source,
        look: Look,
        batch: &mut Batch,
    ) -> Outcome {
        let Some(vertex) = self.state.clip.point(corner) else { return Outcome::Clipped };
        let depth = vertex.window[2];
        if !self.state.depth.keeps(depth) {
            return Outcome::Clipped;
        }
        // NaN is as small as can be.
        let size = corner.point_size.max(SIZES.0).min(SIZES.1);
        let state = &self.state;
        let is_round = !state.point.sprite && (state.point.smooth || self.is_multisampled());
        let centre = vertex.subpixels();
        let square = if is_round || state.point.sprite { exact(centre, size) } else { aligned(centre, size) };
        let shape = batch.shapes.len() as u32;
        batch.shapes.push(Shape {
            kind: Kind::Point,
            primitive: source.primitive,
            corners: [Varying::Vertex(number); 3],
            window: [vertex.window; 3],
            weights: square.weights(state.point.origin),
            depth: [0.0, 0.0, depth + look.offset],
            front: look.front,
        });
        let filter = Filter { windows: self.windows.as_ref(), ..Filter::default() };
        let samples = (state.samples.mask, &self.sampling);
        let coverage = self.is_smooth().then_some(&mut batch.coverage);
        let mut emit = Emit::new(&mut batch.quads, coverage, shape, samples, filter);
        let rect = state.rect;
        if !is_round {
            convex::<4>(&square.corners(), &self.sampling, &rect, &mut emit);
        } else if self.is_multisampled() {
            self.disc(&vertex, square.size, &mut emit);
        } else {
            let radius = square.size / 2;
            let heights = [centre[1] - radius, centre[1] + radius];
            self.areas.shape(heights, &rect, |y| circle_at(centre, radius, y), &mut emit);
        }
        if batch.quads.last().is_none_or(|q| q.shape != shape) {
            batch.shapes.pop();
        }
        Outcome::Drawn
    }

    /// The samples inside a circle.
    fn disc(&self, vertex: &Vertex, diameter: i64, emit: &mut Emit<'_>) {
        let rect = &self.state.rect;
        let centre = vertex.subpixels();
        let bounds = |axis: usize, of: [u32; 2]| {
            let low = (centre[axis] - diameter / 2).div_euclid(UNIT).max(of[0].into());
            let high = ((centre[axis] + diameter / 2).div_euclid(UNIT) + 1).min(of[1].into());
            [low, high]
        };
        let ([left, right], [top, bottom]) = (bounds(0, rect.x), bounds(1, rect.y));
        let pixel = |x: i64, y: i64| {
            if x < left || x >= right || y < top || y >= bottom {
                return 0;
            }
            let inside = |place: [i64; 2]| {
                let (dx, dy) = (x * UNIT + place[0] - centre[0], y * UNIT + place[1] - centre[1]);
                4 * (dx * dx + dy * dy) <= diameter * diameter
            };
            self.sampling.places().filter(|p| inside(p.0)).fold(0, |mask, p| mask | p.1)
        };
        for y in ((top & !1)..bottom).step_by(2) {
            for x in ((left & !1)..right).step_by(2) {
                emit.quad(x, y, [pixel(x, y), pixel(x + 1, y), pixel(x, y + 1), pixel(x + 1, y + 1)]);
            }
        }
    }
}

/// The square of exactly this size.
fn exact(centre: [i64; 2], size: f32) -> Square {
    let size = (f64::from(size) * UNIT as f64).round_ties_even() as i64;
    Square { corner: centre.map(|c| c - size / 2), size }
}

/// GL's aliased point: whole pixels, around the centre of a pixel or around a corner of one.
fn aligned(centre: [i64; 2], size: f32) -> Square {
    let pixels = size.round() as i64;
    let middle = |c: i64| match pixels % 2 {
        1 => c.div_euclid(UNIT) * UNIT + UNIT / 2,
        _ => (c + UNIT / 2).div_euclid(UNIT) * UNIT,
    };
    let size = pixels * UNIT;
    Square { corner: centre.map(|c| middle(c) - size / 2), size }
}

impl Square {
    fn corners(self) -> [[i64; 2]; 4] {
        let [left, top] = self.corner;
        let (right, bottom) = (left + self.size, top + self.size);
        [[left, top], [right, top], [right, bottom], [left, bottom]]
    }

    /// The point coordinate: from left to right, and from the origin on.
    fn weights(self, origin: PointOrigin) -> [[f64; 3]; 2] {
        let [left, top] = self.corner.map(|c| c as f64 / UNIT as f64);
        let size = self.size as f64 / UNIT as f64;
        let s = [1.0 / size, 0.0, -left / size];
        let t = match origin {
            PointOrigin::Upper => [0.0, 1.0 / size, -top / size],
            PointOrigin::Lower => [0.0, -1.0 / size, (top + size) / size],
        };
        [s, t]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliased_points_are_aligned_to_pixels() {
        let at = |x: f64, size| {
            let s = aligned([(x * 256.0) as i64; 2], size);
            (s.corner[0] as f64 / 256.0, s.size / 256)
        };
        assert_eq!(at(5.9, 1.0), (5.0, 1));
        assert_eq!(at(5.1, 1.4), (5.0, 1));
        assert_eq!(at(5.1, 3.0), (4.0, 3));
        assert_eq!(at(5.4, 2.0), (4.0, 2));
        assert_eq!(at(5.6, 2.0), (5.0, 2));
        assert_eq!(at(0.1, 4.0), (-2.0, 4));
        assert_eq!(exact([512, 512], 1.5), Square { corner: [320, 320], size: 384 });
    }

    #[test]
    fn point_coordinates_go_from_0_to_1() {
        let s = Square { corner: [512, 1024], size: 1024 };
        let at = |origin, x: f64, y: f64| s.weights(origin).map(|[a, b, c]| a * x + b * y + c);
        assert_eq!(at(PointOrigin::Upper, 2.0, 4.0), [0.0, 0.0]);
        assert_eq!(at(PointOrigin::Upper, 6.0, 5.0), [1.0, 0.25]);
        assert_eq!(at(PointOrigin::Lower, 3.0, 5.0), [0.25, 0.75]);
    }
}
