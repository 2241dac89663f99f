//! The register file of the 3D classes, as its fields mean it. Registers are the only truth: a view
//! is computed when it is asked for.

use crate::engine::registers::Registers;
use crate::image::surface::Words;
use nvir_hw::method::three_d::*;
use nvir_hw::samples::Mode;
use std::ops::Range;

const LINEAR: u32 = 1 << 12;
const VOLUME: u32 = 1 << 16;
/// The block dimensions of a tile mode.
const BLOCKS: u32 = 0xfff;

/// Views of a register file.
#[derive(Clone, Copy)]
pub(super) struct View<'a>(pub &'a Registers);

/// A colour target or the depth buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    /// Its number; 0: there is none.
    pub format: u32,
    pub words: Words,
    /// Counted to the layers that a clear or primitive names.
    pub base_layer: u32,
}

/// A rectangle of a window: columns and rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Rect {
    pub x: Range<u32>,
    pub y: Range<u32>,
}

/// The limits in a word: first, and one behind the last.
fn limits(word: u32) -> Range<u32> {
    word & 0xffff..word >> 16
}

/// The limits in a word that has the first and how many.
fn extent(word: u32) -> Range<u32> {
    let first = word & 0xffff;
    first..first + (word >> 16)
}

impl View<'_> {
    /// Colour target `i`, below 8.
    pub fn target(self, i: u32) -> Target {
        let get = |family: nvir_hw::method::Family| self.0.get(family.at(i));
        let (tile_mode, array) = (get(RT_TILE_MODE), get(RT_ARRAY_MODE));
        Target {
            format: get(RT_FORMAT),
            words: Words {
                address: self.0.address(RT_ADDRESS_HIGH.at(i)),
                width: get(RT_HORIZ),
                height: get(RT_VERT),
                linear: tile_mode & LINEAR != 0,
                tile_mode: tile_mode & BLOCKS,
                layers: array & 0xffff,
                layer_stride: u64::from(get(RT_LAYER_STRIDE)) * 4,
                volume: (tile_mode | array) & VOLUME != 0,
            },
            base_layer: get(RT_BASE_LAYER) & 0xffff,
        }
    }

    /// The depth buffer.
    pub fn zeta(self) -> Target {
        let tile_mode = self.0.get(ZETA_TILE_MODE);
        Target {
            format: self.0.get(ZETA_FORMAT),
            words: Words {
                address: self.0.address(ZETA_ADDRESS_HIGH),
                width: self.0.get(ZETA_HORIZ),
                height: self.0.get(ZETA_VERT),
                linear: tile_mode & LINEAR != 0,
                tile_mode: tile_mode & BLOCKS,
                layers: self.0.get(ZETA_ARRAY_MODE) & 0xffff,
                layer_stride: u64::from(self.0.get(ZETA_LAYER_STRIDE)) * 4,
                volume: false,
            },
            base_layer: self.0.get(ZETA_BASE_LAYER) & 0xffff,
        }
    }

    /// Samples of a pixel.
    pub fn samples(self) -> Mode {
        Mode::from_code(self.0.get(MULTISAMPLE_MODE) & 15)
    }

    /// What is there of the targets, in pixels.
    pub fn screen(self) -> Rect {
        Rect { x: extent(self.0.get(SCREEN_SCISSOR_HORIZ)), y: extent(self.0.get(SCREEN_SCISSOR_VERT)) }
    }

    /// Window rectangles, if there are any.
    pub fn window_rects(self) -> Option<WindowRects> {
        (self.0.get(CLIP_RECTS_EN) != 0).then(|| WindowRects {
            outside: self.0.get(CLIP_RECTS_MODE) & 1 != 0,
            rects: std::array::from_fn(|i| Rect {
                x: limits(self.0.get(CLIP_RECT_HORIZ.at(i as u32))),
                y: limits(self.0.get(CLIP_RECT_VERT.at(i as u32))),
            }),
        })
    }
}

/// Rectangles that cut what is drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WindowRects {
    /// Pixels outside all of them are drawn; else those inside any.
    outside: bool,
    rects: [Rect; 8],
}

impl WindowRects {
    /// Calls `each` with the runs of a row's pixels that are left.
    pub fn runs(&self, y: u32, x: Range<u32>, mut each: impl FnMut(Range<u32>)) {
        let mut inside: Vec<Range<u32>> = self
            .rects
            .iter()
            .filter(|r| r.y.contains(&y))
            .map(|r| r.x.start.max(x.start)..r.x.end.min(x.end))
            .filter(|r| !r.is_empty())
            .collect();
        inside.sort_unstable_by_key(|r| r.start);
        let mut at = x.start;
        for r in inside {
            if self.outside && at < r.start {
                each(at..r.start);
            }
            if !self.outside && at < r.end {
                each(r.start.max(at)..r.end);
            }
            at = at.max(r.end);
        }
        if self.outside && at < x.end {
            each(at..x.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_rectangles_leave_runs() {
        let rect = |x: Range<u32>, y: Range<u32>| Rect { x, y };
        let none = || rect(0..0, 0..0);
        let rects =
            [rect(2..5, 0..2), rect(4..8, 1..3), rect(20..30, 0..9), none(), none(), none(), none(), none()];
        let runs = |outside, y| {
            let mut all = Vec::new();
            WindowRects { outside, rects: rects.clone() }.runs(y, 0..10, |r| all.push((r.start, r.end)));
            all
        };
        assert_eq!(runs(false, 0), [(2, 5)]);
        assert_eq!(runs(false, 1), [(2, 5), (5, 8)]);
        assert_eq!(runs(true, 1), [(0, 2), (8, 10)]);
        assert_eq!(runs(true, 3), [(0, 10)]);
        assert_eq!(runs(false, 9), []);
    }
}
