//! The part of each pixel that a smooth line or point covers.
//!
//! A pixel is cut into 16 strips. In each the shape is an interval, and the sum of what the pixel has of them is its part,
//! in integers.

use super::coverage::UNIT;
use super::emit::Emit;
use super::types::Rect;

/// Strips of a pixel.
const STRIPS: i64 = 16;

/// Of a pixel that is covered as a whole.
const WHOLE: f32 = (STRIPS * UNIT) as f32;

/// Areas of the pixels of two rows, while they are summed. The memory is kept from shape to shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Areas {
    rows: [Vec<u32>; 2],
}

impl Areas {
    /// Gives the quads of a shape between two heights to `emit`. `interval` says what the shape is at a height: where it
    /// begins and ends. All in subpixels.
    pub(super) fn shape(
        &mut self,
        heights: [i64; 2],
        rect: &Rect,
        interval: impl Fn(i64) -> Option<[i64; 2]>,
        emit: &mut Emit<'_>,
    ) {
        if rect.is_empty() {
            return;
        }
        let [left, right] = rect.x.map(i64::from);
        let origin = left & !1;
        let width = (right - origin + 1) as usize & !1;
        self.rows.iter_mut().for_each(|row| row.resize(width.max(row.len()), 0));
        let first = heights[0].div_euclid(UNIT).max(rect.y[0].into());
        let end = (heights[1].div_euclid(UNIT) + 1).min(rect.y[1].into());
        let mut y = first & !1;
        while y < end {
            let mut touched = [i64::MAX, i64::MIN];
            for (row, areas) in self.rows.iter_mut().enumerate() {
                let y = y + row as i64;
                if y < first || y >= end {
                    continue;
                }
                for strip in 0..STRIPS {
                    let height = y * UNIT + strip * (UNIT / STRIPS) + UNIT / STRIPS / 2;
                    let Some([from, to]) = interval(height) else { continue };
                    let (from, to) = (from.max(left * UNIT), to.min(right * UNIT));
                    if from >= to {
                        continue;
                    }
                    let pixels = [from / UNIT, (to - 1) / UNIT];
                    touched = [touched[0].min(pixels[0]), touched[1].max(pixels[1] + 1)];
                    for x in pixels[0]..=pixels[1] {
                        let part = to.min((x + 1) * UNIT) - from.max(x * UNIT);
                        areas[(x - origin) as usize] += part as u32;
                    }
                }
            }
            let mut x = touched[0] & !1;
            while x < touched[1] {
                let at = (x - origin) as usize;
                let mut parts = [0.0; 4];
                for (row, areas) in self.rows.iter_mut().enumerate() {
                    for column in 0..2 {
                        parts[row * 2 + column] = std::mem::take(&mut areas[at + column]) as f32 / WHOLE;
                    }
                }
                emit.smooth(x, y, parts);
                x += 2;
            }
            y += 2;
        }
    }
}

/// The part of a clockwise convex polygon at a height, in subpixels.
pub(super) fn polygon_at(points: &[[i64; 2]], y: i64) -> Option<[i64; 2]> {
    let mut span = [i64::MIN, i64::MAX];
    for (n, a) in points.iter().enumerate() {
        let b = points[(n + 1) % points.len()];
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        // Inside where dx (y - ay) >= dy (x - ax).
        let along = dx * (y - a[1]);
        match dy {
            ..0 => span[0] = span[0].max(a[0] - along.div_euclid(-dy)),
            1.. => span[1] = span[1].min(a[0] + along.div_euclid(dy)),
            0 if along < 0 => return None,
            0 => {}
        }
    }
    (span[0] < span[1]).then_some(span)
}

/// The part of a circle at a height, in subpixels.
pub(super) fn circle_at(centre: [i64; 2], radius: i64, y: i64) -> Option<[i64; 2]> {
    let dy = y - centre[1];
    let half = (radius * radius).checked_sub(dy * dy).filter(|&h| h > 0)?.isqrt();
    Some([centre[0] - half, centre[0] + half])
}
