//! Polygons: facing, culling, polygon mode and offset, and the setup of triangles.

use super::super::assemble::EDGES;
use super::super::clip::{Clipped, Corner, Vertex};
use super::coverage::{self, convex};
use super::emit::{DepthKill, Emit, Filter};
use super::{
    Batch, Cull, FrontFace, Kind, Look, OffsetUnit, Outcome, PolygonMode, PolygonOffset, Rasterizer, Shape,
    Source, plane, varying,
};
use crate::engine::three_d::clip::MAX_POLYGON;

impl Rasterizer {
    /// Draws a triangle.
    pub fn triangle(&mut self, corners: [&Corner; 3], source: Source, batch: &mut Batch) -> Outcome {
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
            match whole {
                Some(whole) => self.fill(whole, true, left, places, (front, source), batch),
                // Each piece has planes of its own.
                None => {
                    for n in 1..left.len().saturating_sub(1) {
                        let piece = [left[0], left[n], left[n + 1]];
                        let corners = [places[0], places[n], places[n + 1]];
                        self.fill(&piece, false, &piece, &corners, (front, source), batch);
                    }
                }
            }
            return Outcome::Drawn;
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

    /// Fills a polygon that lies in the plane of a triangle.
    fn fill(
        &mut self,
        basis: &[Vertex; 3],
        is_whole: bool,
        left: &[Vertex],
        places: &[[i64; 2]],
        (front, source): (bool, Source),
        batch: &mut Batch,
    ) {
        let weights = weights(basis);
        let window = basis.map(|v| v.window);
        let depths = window.map(|c| c[2]);
        let depth = plane(depths, &weights, 0.0);
        let range = &self.state.depth;
        let killed = left.iter().any(|v| !range.keeps(v.window[2]));
        let filter = Filter {
            windows: self.windows.as_ref(),
            stipple: self.state.polygon_stipple.as_ref(),
            line: None,
            depth: killed.then_some(DepthKill { range, plane: depth, sampling: &self.sampling }),
        };
        let highest = depths.iter().fold(0f64, |max, z| max.max(z.abs()));
        let offset = self.state.offset.of(PolygonMode::Fill, depth, highest);
        let number = batch.shapes.len() as u32;
        batch.shapes.push(Shape {
            kind: Kind::Triangle,
            primitive: source.primitive,
            corners: [0, 1, 2].map(|n| varying(is_whole, n as u8, &basis[n])),
            window,
            weights,
            depth: [depth[0], depth[1], depth[2] + offset],
            front,
        });
        let samples = (self.state.samples.mask, &self.sampling);
        let coverage = self.is_smooth().then_some(&mut batch.coverage);
        let mut emit = Emit::new(&mut batch.quads, coverage, number, samples, filter);
        match places.len() {
            3 => convex::<3>(places, &self.sampling, &self.state.rect, &mut emit),
            _ => convex::<MAX_POLYGON>(places, &self.sampling, &self.state.rect, &mut emit),
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
        let offset = f64::from(self.factor) * slope + f64::from(self.units) / 2.0 * unit;
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
        assert_eq!(o.of(PolygonMode::Fill, plane, 1.0), 0.5 + 2.0 / 65536.0);
        assert_eq!(PolygonOffset { clamp: 0.25, ..o }.of(PolygonMode::Fill, plane, 1.0), 0.25);
        let down = PolygonOffset { factor: -2.0, units: 0.0, clamp: -0.25, ..o };
        assert_eq!(down.of(PolygonMode::Fill, plane, 1.0), -0.25);
        assert_eq!(PolygonOffset { clamp: 0.25, ..down }.of(PolygonMode::Fill, plane, 1.0), -0.5);
        let float = PolygonOffset { factor: 0.0, unit: OffsetUnit::Float, ..o };
        // 0.75 lies in 0.5..1: 2^(-1 - 23), twice.
        assert_eq!(float.of(PolygonMode::Fill, plane, 0.75), 2.0 / f64::from(1 << 24));
        assert_eq!(float.of(PolygonMode::Fill, plane, 0.0), 2.0 * power_of_two(-149));
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
