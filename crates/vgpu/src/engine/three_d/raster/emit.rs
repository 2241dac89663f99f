//! From covered samples to quads: masks, window rectangles, polygon stipple and the depth range.

use super::super::clip::DepthRange;
use super::coverage::{Sampling, Sink, UNIT};
use super::stipple::{LinePattern, PolygonStipple};
use super::types::{Quad, Rect, WindowMode, WindowRects};

/// The window rectangles that contain anything.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    mode: WindowMode,
    rects: Vec<Rect>,
}

impl Windows {
    pub(super) fn new(windows: &WindowRects) -> Windows {
        let rects = windows.rects.iter().copied().filter(|r| !r.is_empty()).collect();
        Windows { mode: windows.mode, rects }
    }

    fn shows(&self, x: u32, y: u32) -> bool {
        let inside = self.rects.iter().any(|r| r.contains(x, y));
        inside == (self.mode == WindowMode::InsideAny)
    }
}

/// Samples whose depth is outside the range are dropped.
#[derive(Clone, Copy)]
pub(super) struct DepthKill<'a> {
    pub range: &'a DepthRange,
    /// Without the polygon offset.
    pub plane: [f64; 3],
    pub sampling: &'a Sampling,
}

/// What drops samples one by one.
#[derive(Clone, Copy, Default)]
pub(super) struct Filter<'a> {
    pub windows: Option<&'a Windows>,
    pub stipple: Option<&'a PolygonStipple>,
    pub line: Option<LinePattern>,
    pub depth: Option<DepthKill<'a>>,
}

impl Filter<'_> {
    fn is_needed(&self) -> bool {
        self.windows.is_some() || self.stipple.is_some() || self.line.is_some() || self.depth.is_some()
    }

    fn pixel(&self, x: u32, y: u32, cover: u8) -> u8 {
        let shown = self.windows.is_none_or(|w| w.shows(x, y))
            && self.stipple.is_none_or(|s| s.shows(x, y))
            && self.line.is_none_or(|l| l.shows(x, y));
        match &self.depth {
            _ if !shown => 0,
            Some(depth) => cover & depth.keeps(x, y),
            None => cover,
        }
    }
}

impl DepthKill<'_> {
    fn keeps(&self, x: u32, y: u32) -> u8 {
        let [a, b, c] = self.plane;
        let at = |pixel: u32, place: i64| f64::from(pixel) + place as f64 / UNIT as f64;
        let keeps = |place: [i64; 2]| self.range.keeps(a * at(x, place[0]) + b * at(y, place[1]) + c);
        self.sampling.places().filter(|p| keeps(p.0)).fold(0, |mask, p| mask | p.1)
    }
}

/// Appends the quads of one shape.
pub(super) struct Emit<'a> {
    quads: &'a mut Vec<Quad>,
    /// The part of each pixel that is covered, if anybody wants to know.
    coverage: Option<&'a mut Vec<[f32; 4]>>,
    shape: u32,
    mask: [u8; 4],
    all: u8,
    filter: Option<Filter<'a>>,
}

impl<'a> Emit<'a> {
    pub(super) fn new(
        quads: &'a mut Vec<Quad>,
        coverage: Option<&'a mut Vec<[f32; 4]>>,
        shape: u32,
        (mask, sampling): ([u8; 4], &Sampling),
        filter: Filter<'a>,
    ) -> Emit<'a> {
        let filter = filter.is_needed().then_some(filter);
        Emit { quads, coverage, shape, mask, all: sampling.all(), filter }
    }

    /// A quad of which parts of pixels are covered: all samples of a pixel with any.
    pub(super) fn smooth(&mut self, x: i64, y: i64, parts: [f32; 4]) {
        let before = self.quads.len();
        let all = self.all;
        self.quad(x, y, parts.map(|p| if p > 0.0 { all } else { 0 }));
        if let Some(last) = self.coverage.as_mut().and_then(|c| c.last_mut())
            && self.quads.len() > before
        {
            *last = parts;
        }
    }
}

impl Sink for Emit<'_> {
    #[inline]
    fn quad(&mut self, x: i64, y: i64, mut cover: [u8; 4]) {
        // Coordinates lie in a rectangle within `Rect::ALL`.
        let (x, y) = (x as u16, y as u16);
        for (pixel, (cover, mask)) in cover.iter_mut().zip(self.mask).enumerate() {
            *cover &= mask;
            if *cover != 0
                && let Some(filter) = &self.filter
            {
                let (dx, dy) = (pixel as u32 & 1, pixel as u32 >> 1);
                *cover = filter.pixel(u32::from(x) + dx, u32::from(y) + dy, *cover);
            }
        }
        if cover == [0; 4] {
            return;
        }
        self.quads.push(Quad { shape: self.shape, x, y, cover });
        if let Some(coverage) = &mut self.coverage {
            coverage.push([1.0; 4]);
        }
    }

    #[inline]
    fn full(&mut self, x: [i64; 2], y: i64) {
        let cover = [self.all; 4];
        let masked = cover.iter().zip(self.mask).any(|(c, m)| c & m == 0);
        if masked || self.filter.is_some() || self.coverage.is_some() {
            (x[0]..x[1]).step_by(2).for_each(|x| self.quad(x, y, cover));
            return;
        }
        let cover = std::array::from_fn(|i| self.all & self.mask[i]);
        let (shape, first, y) = (self.shape, x[0] as u16, y as u16);
        let count = ((x[1] - x[0]) / 2) as u16;
        self.quads.extend((0..count).map(|n| Quad { shape, x: first + 2 * n, y, cover }));
    }
}
