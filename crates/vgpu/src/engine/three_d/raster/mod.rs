//! The rasteriser: points, lines and triangles become quads of 2 x 2 pixels with their covered samples.
//!
//! A [`Rasterizer`] is made for a draw's [`RasterState`] and fed one primitive at a time; a [`Batch`] collects what comes
//! out. Coverage is computed in integers, of positions that were rounded to 1/256 pixel, so it depends on nothing but the
//! input; quads are in the order of primitives, then of rows, then from left to right. `rect` may be any part of the
//! target: several rasterisers with disjoint rectangles of even bounds give the same quads as one.
//!
//! y grows with the rows of memory.

mod coverage;
mod emit;
mod line;
mod pixels;
mod point;
mod smooth;
mod stipple;
mod triangle;
mod types;

use super::clip::Vertex;
use coverage::Sampling;
use emit::Windows;
use pixels::Pixels;
use smooth::Areas;
pub(crate) use stipple::{LineStipple, PolygonStipple};
pub(crate) use types::{
    Batch, Cull, FrontFace, Kind, LineState, OffsetUnit, Outcome, PointOrigin, PointState, PolygonMode,
    PolygonOffset, Quad, RasterState, Rect, SampleAt, SampleState, Shape, Source, Varying, WindowMode,
    WindowRects,
};

/// Turns primitives into quads.
#[derive(Clone, Debug)]
pub(crate) struct Rasterizer {
    state: RasterState,
    sampling: Sampling,
    windows: Option<Windows>,
    /// Steps of the line stipple since it began.
    stipple_step: u32,
    pixels: Pixels,
    areas: Areas,
    /// Bands of polygons that are to come.
    unfinished: Vec<triangle::Band>,
}

impl Rasterizer {
    /// A rasteriser for a draw and one of its viewports.
    pub(super) fn new(state: &RasterState) -> Rasterizer {
        let mut state = *state;
        state.rect = state.rect.intersect(Rect::ALL);
        Rasterizer {
            sampling: Sampling::new(&state.samples),
            windows: state.windows.as_ref().map(Windows::new),
            stipple_step: 0,
            pixels: Pixels::default(),
            areas: Areas::default(),
            unfinished: Vec::new(),
            state,
        }
    }

    /// Whether samples are tested one by one.
    fn is_multisampled(&self) -> bool {
        self.state.samples.count > 1 && self.state.samples.at == SampleAt::Samples
    }
}

/// How a line or a point stands in for a polygon.
#[derive(Clone, Copy, Debug)]
struct Look {
    front: bool,
    /// Of the polygon, for depth.
    offset: f64,
}

impl Look {
    /// Lines and points of their own.
    const PLAIN: Look = Look { front: true, offset: 0.0 };
}

/// The plane over the window of values at three corners.
fn plane(values: [f64; 3], weights: &[[f64; 3]; 2], offset: f64) -> [f64; 3] {
    let (d1, d2) = (values[1] - values[0], values[2] - values[0]);
    let sum = |n: usize| d1 * weights[0][n] + d2 * weights[1][n];
    [sum(0), sum(1), values[0] + sum(2) + offset]
}

/// A corner's inputs: those of the primitive's vertex `n` where all of it is interpolated over.
fn varying(whole: bool, n: u8, vertex: &Vertex) -> Varying {
    if whole { Varying::Vertex(n) } else { Varying::Mixed(vertex.weights) }
}

#[cfg(test)]
mod tests;
