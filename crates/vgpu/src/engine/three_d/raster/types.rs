//! What the rasteriser is asked, and what it gives.

use super::stipple::{LineStipple, PolygonStipple};
use crate::engine::three_d::clip::{ClipState, DepthRange};

/// A rectangle of pixels, without its ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rect {
    pub x: [u32; 2],
    pub y: [u32; 2],
}

/// The largest coordinate of a pixel, and one more.
pub(crate) const MAX_EXTENT: u32 = 1 << 16;

impl Rect {
    /// All pixels that any target has.
    pub(crate) const ALL: Rect = Rect { x: [0, MAX_EXTENT], y: [0, MAX_EXTENT] };

    /// The pixels in both.
    pub(crate) fn intersect(self, other: Rect) -> Rect {
        let both = |a: [u32; 2], b: [u32; 2]| [a[0].max(b[0]), a[1].min(b[1])];
        Rect { x: both(self.x, other.x), y: both(self.y, other.y) }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(self) -> bool {
        self.x[0] >= self.x[1] || self.y[0] >= self.y[1]
    }

    pub(crate) fn contains(&self, x: u32, y: u32) -> bool {
        (self.x[0]..self.x[1]).contains(&x) && (self.y[0]..self.y[1]).contains(&y)
    }
}

/// CLIP_RECTS_MODE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WindowMode {
    /// Pixels inside any rectangle are drawn.
    InsideAny,
    /// Pixels outside all of them.
    OutsideAll,
}

/// The window rectangles, while CLIP_RECTS_EN is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WindowRects {
    pub mode: WindowMode,
    pub rects: [Rect; 8],
}

/// Where coverage is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SampleAt {
    /// At each sample: MULTISAMPLE_ENABLE.
    Samples,
    /// At the pixel's centre, for all samples.
    Centre,
}

/// The samples of the targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SampleState {
    /// 1, 2, 4 or 8.
    pub count: u32,
    pub at: SampleAt,
    /// MSAA_MASK of the pixels of a quad: (0, 0), (1, 0), (0, 1), (1, 1).
    pub mask: [u8; 4],
}

/// FRONT_FACE: which facing is the front, with row 0 of memory on top.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrontFace {
    Clockwise,
    CounterClockwise,
}

/// What of polygons is not drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cull {
    Nothing,
    Front,
    Back,
    Both,
}

/// How polygons are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PolygonMode {
    Point,
    Line,
    Fill,
}

/// The unit of the polygon offset: the smallest difference of depths that the depth buffer resolves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OffsetUnit {
    /// A constant, 2 to this power: -16 or -24.
    Fixed(i32),
    /// 2^-23 of the power of two at or below the triangle's largest depth.
    Float,
}

/// The polygon offset.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PolygonOffset {
    /// For which modes it is on.
    pub point: bool,
    pub line: bool,
    pub fill: bool,
    pub factor: f32,
    /// The register's value. Drivers write twice GL's, so that an offset of one unit shows after any rounding.
    pub units: f32,
    /// Above 0: the greatest offset; below: the least; 0: none.
    pub clamp: f32,
    pub unit: OffsetUnit,
}

/// Lines.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LineState {
    /// Without smoothing and multisampling, and with.
    pub width_aliased: f32,
    pub width_smooth: f32,
    pub smooth: bool,
    pub stipple: Option<LineStipple>,
}

/// Where the t coordinate of a point is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PointOrigin {
    /// At its first row of memory.
    Upper,
    Lower,
}

/// Points.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PointState {
    /// Diameter of the points of polygons; those of vertices bring their own.
    pub size: f32,
    /// Squares of exactly their size.
    pub sprite: bool,
    pub smooth: bool,
    pub origin: PointOrigin,
}

/// All state between the last vertex stage and the fragment stage.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RasterState {
    pub clip: ClipState,
    pub depth: DepthRange,
    /// What scissors, the viewport and all targets have in common.
    pub rect: Rect,
    pub windows: Option<WindowRects>,
    pub samples: SampleState,
    pub front_face: FrontFace,
    pub cull: Cull,
    /// Of front and back.
    pub polygon: [PolygonMode; 2],
    pub offset: PolygonOffset,
    pub polygon_stipple: Option<PolygonStipple>,
    pub line: LineState,
    pub point: PointState,
}

/// A primitive's place among its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    /// The caller's number for it, which its shapes bear.
    pub primitive: u32,
    /// As the assembler gives them.
    pub flags: u8,
}

/// What became of a primitive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// All of it was cut away, or it is none.
    Clipped,
    /// Its face is not drawn.
    Culled,
    /// It was drawn, even if it covers no sample.
    Drawn,
}

/// What a shape is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Point,
    Line,
    Triangle,
}

/// Where the inputs at a corner come from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Varying {
    /// They are those of a vertex of the primitive.
    Vertex(u8),
    /// `v0 + b1 (v1 - v0) + b2 (v2 - v0)` in clip space, without division by w.
    Mixed([f64; 2]),
}

/// What the quads of a primitive have in common: what fragments are interpolated over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Shape {
    pub kind: Kind,
    pub primitive: u32,
    /// Points have one vertex, whose point coordinate is (0, 0), (1, 0) and (0, 1) at the corners.
    pub corners: [Varying; 3],
    /// x, y, z and 1/w of the corners. z is without the polygon offset.
    pub window: [[f64; 4]; 3],
    /// Weights of corners 1 and 2 in the window: `a x + b y + c`.
    pub weights: [[f64; 3]; 2],
    /// Depth, with the polygon offset: `a x + b y + c`.
    pub depth: [f64; 3],
    pub front: bool,
}

impl Shape {
    /// A triangle of this plane of depths, about which nothing else is asked.
    #[cfg(test)]
    pub(crate) fn of_depth(depth: [f64; 3]) -> Shape {
        Shape {
            kind: Kind::Triangle,
            primitive: 0,
            corners: [Varying::Vertex(0); 3],
            window: [[0.0; 4]; 3],
            weights: [[0.0; 3]; 2],
            depth,
            front: true,
        }
    }

    /// Depth at a place in the window.
    #[inline]
    pub(crate) fn depth_at(&self, x: f64, y: f64) -> f64 {
        let [a, b, c] = self.depth;
        a * x + b * y + c
    }
}

/// Four pixels: (x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quad {
    /// The number of its shape.
    pub shape: u32,
    /// Of the first pixel: even numbers.
    pub x: u16,
    pub y: u16,
    /// The covered samples of each pixel, after MSAA_MASK. At least one is.
    pub cover: [u8; 4],
}

/// What was rasterised.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Batch {
    pub shapes: Vec<Shape>,
    pub quads: Vec<Quad>,
    /// Where smooth lines or points are on: the covered part of each pixel of each quad, by which alpha is multiplied.
    pub coverage: Vec<[f32; 4]>,
}

impl Batch {
    /// Forgets all, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.shapes.clear();
        self.quads.clear();
        self.coverage.clear();
    }
}
