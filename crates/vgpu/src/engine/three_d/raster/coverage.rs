//! Which samples a convex polygon covers, exactly.
//!
//! For each edge and sample the covered pixels of a row are those on one side of a bound, a quotient of integers that goes
//! on by a constant from row to row. So a row costs a few additions, whatever its length, and the inside of a polygon is
//! never tested. A sample on an edge is covered if the edge is a left or a top one.

use super::types::{Rect, SampleAt, SampleState};
use nvir_hw::samples::sample_position;

/// Subpixels of a pixel.
pub(super) const UNIT: i64 = 256;

/// Where coverage is tested, and what that covers.
#[derive(Clone, Debug)]
pub(super) struct Sampling {
    /// Places in the pixel, in subpixels.
    at: [[i64; 2]; 8],
    /// The samples that each place stands for.
    bits: [u8; 8],
    len: usize,
}

impl Sampling {
    pub(super) fn new(state: &SampleState) -> Sampling {
        let all = ((1u32 << state.count.clamp(1, 8)) - 1) as u8;
        if state.count <= 1 || state.at == SampleAt::Centre {
            return Sampling { at: [[UNIT / 2; 2]; 8], bits: [all; 8], len: 1 };
        }
        let place =
            |sample: usize| sample_position(state.count, sample as u32).map(|v| (v * UNIT as f32) as i64);
        Sampling {
            at: std::array::from_fn(place),
            bits: std::array::from_fn(|s| 1 << s),
            len: state.count.min(8) as usize,
        }
    }

    /// All samples of a pixel.
    pub(super) fn all(&self) -> u8 {
        self.bits[..self.len].iter().fold(0, |all, bits| all | bits)
    }

    /// Places in subpixels, and the samples that they stand for.
    pub(super) fn places(&self) -> impl Iterator<Item = ([i64; 2], u8)> + '_ {
        self.at[..self.len].iter().copied().zip(self.bits[..self.len].iter().copied())
    }
}

/// What takes the quads of a polygon.
pub(super) trait Sink {
    /// A quad with these samples, if there are any.
    fn quad(&mut self, x: i64, y: i64, cover: [u8; 4]);
    /// Quads from `x[0]` to before `x[1]` that are covered as a whole.
    fn full(&mut self, x: [i64; 2], y: i64);
}

/// On which side of an edge the inside lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Right,
    Left,
    /// A horizontal edge: all of a row, or nothing.
    Row,
    /// An edge without length.
    Everywhere,
}

/// A bound that changes by a constant each row: `q + r / d`, rounded down.
#[derive(Clone, Copy)]
struct Bound {
    q: i64,
    r: i64,
}

/// An edge, with a bound for each sample.
#[derive(Clone, Copy)]
struct Edge<const S: usize> {
    side: Side,
    divisor: i64,
    step: Bound,
    at: [Bound; S],
}

impl<const S: usize> Edge<S> {
    /// The edge from `a` to `b` of a clockwise polygon, at row `y`.
    fn new(a: [i64; 2], b: [i64; 2], sampling: &Sampling, y: i64) -> Edge<S> {
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        // Inside where dx (y - ay) - dy (x - ax) >= 0, or > 0.
        let bias = i64::from(!(dy < 0 || dy == 0 && dx > 0));
        let value = |s: usize| {
            let [sx, sy] = sampling.at[s];
            dx * (y * UNIT + sy - a[1]) - dy * (sx - a[0]) - bias
        };
        let step = UNIT * dx;
        let split = |v: i64, d: i64| {
            let q = v.div_euclid(d);
            Bound { q, r: v - q * d }
        };
        let divisor = UNIT * dy.abs();
        let none = Bound { q: 0, r: 0 };
        let (side, step, at) = match dy {
            // The first pixel inside: the quotient of -value, rounded up.
            ..0 => {
                let first = |s| split(divisor - 1 - value(s), divisor);
                (Side::Right, split(-step, divisor), std::array::from_fn(first))
            }
            // One behind the last pixel inside: the quotient rounded down, and one.
            1.. => {
                let end = |s| split(divisor + value(s), divisor);
                (Side::Left, split(step, divisor), std::array::from_fn(end))
            }
            0 if dx == 0 => (Side::Everywhere, none, [none; S]),
            0 => {
                let value = |s| Bound { q: value(s), r: 0 };
                (Side::Row, Bound { q: step, r: 0 }, std::array::from_fn(value))
            }
        };
        Edge { side, divisor, step, at }
    }

    /// Cuts the row's pixels of each sample, and goes on to the next row.
    #[inline]
    fn cut(&mut self, spans: &mut [[i64; 2]; S]) {
        for (bound, span) in self.at.iter_mut().zip(spans) {
            match self.side {
                Side::Right => span[0] = span[0].max(bound.q),
                Side::Left => span[1] = span[1].min(bound.q),
                Side::Row if bound.q < 0 => span[1] = span[0],
                Side::Row | Side::Everywhere => {}
            }
            bound.q += self.step.q;
            bound.r += self.step.r;
            let carry = self.side != Side::Row && bound.r >= self.divisor && self.divisor != 0;
            if carry {
                bound.r -= self.divisor;
                bound.q += 1;
            }
        }
    }
}

/// Twice the area of a polygon in square subpixels; clockwise is positive.
pub(super) fn area(points: &[[i64; 2]]) -> i64 {
    let Some((o, rest)) = points.split_first() else { return 0 };
    let cross = |p: &[[i64; 2]]| (p[0][0] - o[0]) * (p[1][1] - o[1]) - (p[1][0] - o[0]) * (p[0][1] - o[1]);
    rest.windows(2).map(cross).sum()
}

/// Gives the quads of a convex polygon with at most `N` corners, in any direction, to a sink.
pub(super) fn convex<const N: usize>(
    points: &[[i64; 2]],
    sampling: &Sampling,
    rect: &Rect,
    sink: &mut impl Sink,
) {
    let area = area(points);
    if area == 0 || rect.is_empty() {
        return;
    }
    // Corners that there are not are the last one again.
    let last = points.len() - 1;
    let corner = |n: usize| points[if area > 0 { n.min(last) } else { last - n.min(last) }];
    let corners: [[i64; 2]; N] = std::array::from_fn(corner);
    match sampling.len {
        1 => fill::<N, 1>(&corners, sampling, rect, sink),
        2 => fill::<N, 2>(&corners, sampling, rect, sink),
        4 => fill::<N, 4>(&corners, sampling, rect, sink),
        _ => fill::<N, 8>(&corners, sampling, rect, sink),
    }
}

/// The rows of a polygon: those of the rectangle that its corners span.
fn rows(corners: &[[i64; 2]], rect: &Rect) -> [i64; 2] {
    let ys = corners.iter().map(|c| c[1]);
    let (top, bottom) = ys.fold((i64::MAX, i64::MIN), |(low, high), y| (low.min(y), high.max(y)));
    [top.div_euclid(UNIT).max(rect.y[0].into()), (bottom.div_euclid(UNIT) + 1).min(rect.y[1].into())]
}

fn fill<const N: usize, const S: usize>(
    corners: &[[i64; 2]; N],
    sampling: &Sampling,
    rect: &Rect,
    sink: &mut impl Sink,
) {
    let [first, end] = rows(corners, rect);
    let start = first & !1;
    let mut edges: [Edge<S>; N] =
        std::array::from_fn(|n| Edge::new(corners[n], corners[(n + 1) % N], sampling, start));
    let across = rect.x.map(i64::from);
    let mut y = start;
    while y < end {
        let mut pair = [[across; S]; 2];
        for (row, spans) in pair.iter_mut().enumerate() {
            edges.iter_mut().for_each(|e| e.cut(spans));
            let y = y + row as i64;
            if y < first || y >= end {
                *spans = [[across[0]; 2]; S];
            }
        }
        quads(&pair, &sampling.bits, y, sink);
        y += 2;
    }
}

/// The quads of two rows, of which each sample has its span.
#[inline]
fn quads<const S: usize>(pair: &[[[i64; 2]; S]; 2], bits: &[u8; 8], y: i64, sink: &mut impl Sink) {
    // What any sample covers, and what all cover.
    let (mut any, mut all) = ([i64::MAX, i64::MIN], [i64::MIN, i64::MAX]);
    for span in pair.iter().flatten() {
        if span[0] < span[1] {
            any = [any[0].min(span[0]), any[1].max(span[1])];
        }
        all = [all[0].max(span[0]), all[1].min(span[1])];
    }
    if any[0] >= any[1] {
        return;
    }
    let part = |from: i64, to: i64, sink: &mut dyn FnMut(i64, [u8; 4])| {
        let mut x = from;
        while x < to {
            let mut cover = [0; 4];
            for (row, spans) in pair.iter().enumerate() {
                for (span, bits) in spans.iter().zip(bits) {
                    for column in 0..2 {
                        let at = x + column;
                        if span[0] <= at && at < span[1] {
                            cover[row * 2 + column as usize] |= bits;
                        }
                    }
                }
            }
            sink(x, cover);
            x += 2;
        }
    };
    let full = [all[0].saturating_add(1) & !1, all[1] & !1];
    if full[0] < full[1] {
        part(any[0] & !1, full[0], &mut |x, c| sink.quad(x, y, c));
        sink.full(full, y);
        part(full[1], any[1], &mut |x, c| sink.quad(x, y, c));
    } else {
        part(any[0] & !1, any[1], &mut |x, c| sink.quad(x, y, c));
    }
}
