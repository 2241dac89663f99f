//! Polygons: facing, culling, polygon mode and offset, and the setup of triangles.

use super::super::assemble::{EDGES, STIPPLE_RESET};
use super::super::clip::{Clipped, Corner, Vertex};
use super::coverage::{self, UNIT, convex};
use super::emit::{DepthKill, Emit, Filter};
use super::{
    Batch, Cull, FrontFace, Kind, Look, OffsetUnit, Outcome, PolygonMode, PolygonOffset, Rasterizer, Rect,
    Shape, Source, plane, varying,
};
use crate::engine::three_d::clip::MAX_POLYGON;

/// Pixels of a band: what a batch grows by with one polygon, at most.
const BAND: u64 = 1 << 20;

/// Corners of a polygon in subpixels.
#[derive(Clone, Copy, Debug)]
struct Places {
    all: [[i64; 2]; MAX_POLYGON],
    len: usize,
}

impl Places {
    fn new(places: &[[i64; 2]]) -> Places {
        let mut all = [[0; 2]; MAX_POLYGON];
        all[..places.len()].copy_from_slice(places);
        Places { all, len: places.len() }
    }

    fn get(&self) -> &[[i64; 2]] {
        &self.all[..self.len]
    }

    /// The pixels of a rectangle that may be covered.
    fn bounds(&self, rect: Rect) -> Rect {
        let side = |axis: usize, of: [u32; 2]| {
            let places = self.get().iter().map(|p| p[axis].div_euclid(UNIT));
            let (low, high) = places.fold((i64::MAX, i64::MIN), |(low, high), p| (low.min(p), high.max(p)));
            let [from, to] = of.map(i64::from);
            [low.clamp(from, to.max(from)) as u32, high.saturating_add(1).clamp(from, to.max(from)) as u32]
        };
        Rect { x: side(0, rect.x), y: side(1, rect.y) }
    }
}

/// A polygon in the plane of a triangle.
#[derive(Clone, Copy, Debug)]
struct Piece {
    basis: [Vertex; 3],
    /// The basis is the whole primitive.
    is_whole: bool,
    places: Places,
    /// Depths lie outside the range.
    is_killed: bool,
    front: bool,
    source: Source,
}

/// What is left of a large polygon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band {
    piece: Piece,
    /// The first row.
    first: u32,
}

impl Rasterizer {
    /// Draws a triangle, or, if it is very large, the first rows of it: see [`Rasterizer::is_unfinished`].
    pub(crate) fn triangle(&mut self, corners: [&Corner; 3], source: Source, batch: &mut Batch) -> Outcome {
        match self.state.clip.clip(corners) {
            Clipped::Nothing => Outcome::Clipped,
            Clipped::Whole(whole) => self.polygon(corners, &whole, Some(&whole), source, batch),
            Clipped::Part { whole, polygon } => {
                self.polygon(corners, polygon.corners(), whole.as_ref(), source, batch)
            }
        }
    }

    /// What is left of a triangle.
    fn polygon(
        &mut self,
        corners: [&Corner; 3],
        left: &[Vertex],
        whole: Option<&[Vertex; 3]>,
        source: Source,
        batch: &mut Batch,
    ) -> Outcome {
        let mut places = [[0; 2]; MAX_POLYGON];
        for (place, vertex) in places.iter_mut().zip(left) {
            *place = vertex.subpixels();
        }
        let places = &places[..left.len()];
        let clockwise = coverage::area(places) > 0;
        let front = clockwise == (self.state.front_face == FrontFace::Clockwise);
        let culled = match self.state.cull {
            Cull::Nothing => false,
            Cull::Front => front,
            Cull::Back => !front,
            Cull::Both => true,
        };
        if culled {
            return Outcome::Culled;
        }
        let mode = self.state.polygon[usize::from(!front)];
        if mode == PolygonMode::Fill {
            let range = self.state.depth;
            let is_killed = left.iter().any(|v| !range.keeps(v.window[2]));
            let piece = Piece {
                basis: [left[0]; 3],
                is_whole: false,
                places: Places::new(places),
                is_killed,
                front,
                source,
            };
            match whole {
                Some(whole) => self.fill(Piece { basis: *whole, is_whole: true, ..piece }, batch),
                // Each piece has planes of its own.
                None => {
                    for n in 1..left.len().saturating_sub(1) {
                        let basis = [left[0], left[n], left[n + 1]];
                        let places = Places::new(&[places[0], places[n], places[n + 1]]);
                        self.fill(Piece { basis, places, ..piece }, batch);
                    }
                }
            }
            return Outcome::Drawn;
        }
        if source.flags & STIPPLE_RESET != 0 {
            self.stipple_step = 0;
        }
        let basis = whole.copied().or_else(|| Some([*left.first()?, *left.get(1)?, *left.get(2)?]));
        let slope = basis.map_or([0.0; 3], |b| plane(b.map(|v| v.window[2]), &weights(&b), 0.0));
        let highest = left.iter().fold(0f64, |max, v| max.max(v.window[2].abs()));
        let look = Look { front, offset: self.state.offset.of(mode, slope, highest) };
        for (n, bit) in EDGES.into_iter().enumerate() {
            if source.flags & bit == 0 {
                continue;
            }
            let next = (n + 1) % 3;
            if mode == PolygonMode::Line {
                let ends = [corners[n], corners[next]];
                self.line_between(ends, [n as u8, next as u8], source, look, batch);
            } else {
                let point = Corner { point_size: self.state.point.size, ..*corners[n] };
                self.point_at(&point, n as u8, source, look, batch);
            }
        }
        Outcome::Drawn
    }

    /// Whether a polygon has rows left: it is so large that only a band of it was drawn. [`Rasterizer::resume`] draws the
    /// next one, and must be called until there is none before another primitive is drawn.
    pub(crate) fn is_unfinished(&self) -> bool {
        !self.unfinished.is_empty()
    }

    /// Draws the next band of a large polygon. The batch may have been cleared since.
    pub(crate) fn resume(&mut self, batch: &mut Batch) {
        if let Some(Band { piece, first }) = self.unfinished.pop() {
            self.band(piece, first, batch);
        }
    }

    /// Fills a piece, or its first band.
    fn fill(&mut self, piece: Piece, batch: &mut Batch) {
        self.band(piece, self.state.rect.y[0], batch);
    }

    /// Fills a piece from a row on, as far as a band goes.
    fn band(&mut self, piece: Piece, first: u32, batch: &mut Batch) {
        let rect = self.state.rect;
        let bounds = piece.places.bounds(Rect { y: [first, rect.y[1]], ..rect });
        let mut cut = bounds;
        let width = u64::from(bounds.x[1].saturating_sub(bounds.x[0]));
        if width * u64::from(bounds.y[1].saturating_sub(bounds.y[0])) > BAND {
            // Even numbers of rows, so that no quad is cut.
            let rows = (BAND / width).max(2) as u32 & !1;
            cut.y[1] = bounds.y[1].min((bounds.y[0] & !1) + rows);
        }
        self.fill_in(&piece, &cut, batch);
        if cut.y[1] < bounds.y[1] {
            self.unfinished.push(Band { piece, first: cut.y[1] });
        }
    }

    /// Fills what of a piece is in a rectangle.
    fn fill_in(&mut self, piece: &Piece, rect: &Rect, batch: &mut Batch) {
        let weights = weights(&piece.basis);
        let window = piece.basis.map(|v| v.window);
        let depths = window.map(|c| c[2]);
        let depth = plane(depths, &weights, 0.0);
        let kill = DepthKill { range: &self.state.depth, plane: depth, sampling: &self.sampling };
        let filter = Filter {
            windows: self.windows.as_ref(),
            stipple: self.state.polygon_stipple.as_ref(),
            line: None,
            depth: piece.is_killed.then_some(kill),
        };
        let highest = depths.iter().fold(0f64, |max, z| max.max(z.abs()));
        let offset = self.state.offset.of(PolygonMode::Fill, depth, highest);
        let number = batch.shapes.len() as u32;
        batch.shapes.push(Shape {
            kind: Kind::Triangle,
            primitive: piece.source.primitive,
            corners: [0, 1, 2].map(|n| varying(piece.is_whole, n as u8, &piece.basis[n])),
            window,
            weights,
            depth: [depth[0], depth[1], depth[2] + offset],
            front: piece.front,
        });
        let samples = (self.state.samples.mask, &self.sampling);
        let coverage = self.is_smooth().then_some(&mut batch.coverage);
        let mut emit = Emit::new(&mut batch.quads, coverage, number, samples, filter);
        let places = piece.places.get();
        match places.len() {
            3 => convex::<3>(places, &self.sampling, rect, &mut emit),
            _ => convex::<MAX_POLYGON>(places, &self.sampling, rect, &mut emit),
        }
        if batch.quads.last().is_none_or(|q| q.shape != number) {
            batch.shapes.pop();
        }
    }

    /// Whether parts of pixels are wanted.
    pub(super) fn is_smooth(&self) -> bool {
        (self.state.line.smooth || self.state.point.smooth) && !self.is_multisampled()
    }
}

/// Weights of corners 1 and 2 over the window.
fn weights(corners: &[Vertex; 3]) -> [[f64; 3]; 2] {
    let [[x0, y0, ..], [x1, y1, ..], [x2, y2, ..]] = corners.map(|v| v.window);
    let (dx1, dy1, dx2, dy2) = (x1 - x0, y1 - y0, x2 - x0, y2 - y0);
    let area = dx1 * dy2 - dx2 * dy1;
    if area == 0.0 {
        return [[0.0; 3]; 2];
    }
    let weight = |a: f64, b: f64| {
        let (a, b) = (a / area, b / area);
        [a, b, -(a * x0 + b * y0)]
    };
    [weight(dy2, -dx2), weight(-dy1, dx1)]
}

impl PolygonOffset {
    /// The offset of a polygon in a plane, whose largest depth is `highest`.
    fn of(&self, mode: PolygonMode, plane: [f64; 3], highest: f64) -> f64 {
        let on = match mode {
            PolygonMode::Point => self.point,
            PolygonMode::Line => self.line,
            PolygonMode::Fill => self.fill,
        };
        if !on {
            return 0.0;
        }
        let unit = match self.unit {
            OffsetUnit::Fixed(power) => power_of_two(power),
            OffsetUnit::Float => power_of_two(exponent(highest) - 23),
        };
        let slope = plane[0].abs().max(plane[1].abs());
        let offset = f64::from(self.factor) * slope + f64::from(self.units) * unit;
        let clamp = f64::from(self.clamp);
        match clamp {
            c if c > 0.0 => offset.min(c),
            c if c < 0.0 => offset.max(c),
            _ => offset,
        }
    }
}

/// The exponent of a depth as a float of 32 bits.
fn exponent(v: f64) -> i32 {
    ((v.to_bits() >> 52 & 0x7ff) as i32 - 1023).clamp(-126, 127)
}

fn power_of_two(power: i32) -> f64 {
    f64::from_bits(((power + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_by_mode_unit_and_clamp() {
        let o = PolygonOffset {
            point: false,
            line: false,
            fill: true,
            factor: 2.0,
            units: 4.0,
            clamp: 0.0,
            unit: OffsetUnit::Fixed(-16),
        };
        let plane = [-0.25, 0.125, 0.0];
        assert_eq!(o.of(PolygonMode::Line, plane, 1.0), 0.0);
        assert_eq!(o.of(PolygonMode::Fill, plane, 1.0), 0.5 + 4.0 / 65536.0);
        assert_eq!(PolygonOffset { clamp: 0.25, ..o }.of(PolygonMode::Fill, plane, 1.0), 0.25);
        let down = PolygonOffset { factor: -2.0, units: 0.0, clamp: -0.25, ..o };
        assert_eq!(down.of(PolygonMode::Fill, plane, 1.0), -0.25);
        assert_eq!(PolygonOffset { clamp: 0.25, ..down }.of(PolygonMode::Fill, plane, 1.0), -0.5);
        let float = PolygonOffset { factor: 0.0, unit: OffsetUnit::Float, ..o };
        // 0.75 lies in 0.5..1: 2^(-1 - 23), four times.
        assert_eq!(float.of(PolygonMode::Fill, plane, 0.75), 4.0 / f64::from(1 << 24));
        assert_eq!(float.of(PolygonMode::Fill, plane, 0.0), 4.0 * power_of_two(-149));
    }

    #[test]
    fn weights_are_one_at_their_corner() {
        let at = |x: f64, y: f64| Vertex { window: [x, y, 0.0, 1.0], weights: [0.0; 2] };
        let corners = [at(2.0, 3.0), at(10.0, 3.0), at(2.0, 7.0)];
        assert_eq!(weights(&corners), [[0.125, 0.0, -0.25], [0.0, 0.25, -0.75]]);
        assert_eq!(weights(&[corners[0]; 3]), [[0.0; 3]; 2]);
        assert_eq!(varying(true, 2, &corners[0]), super::super::Varying::Vertex(2));
    }
}
