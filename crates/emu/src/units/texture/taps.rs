//! The texels that the lanes of a warp look at in a level, found as rows.

use super::plain::Level;
use crate::image::Wrap;
use crate::state::lanes::LANES;
use nvir_simd::{Features, Kernel};

pub(super) type Words = [u32; LANES];
pub(super) type Floats = [f32; LANES];

/// Coordinates are that near, in texels: there floats have integers and 256ths exactly.
const NEAR: f32 = (1 << 14) as f32;

/// Where a level is looked up, and how.
pub(super) struct Place<'a> {
    pub level: &'a Level,
    /// Of a texel.
    pub bytes: u32,
    pub scaled: bool,
    pub linear: bool,
    pub wrap: [Wrap; 2],
    /// What is added to coordinates, in texels.
    pub offsets: Option<&'a [Floats; 2]>,
    /// Where lanes' layers begin, in bytes.
    pub layers: Option<&'a Words>,
}

/// The texels that lanes look at: bytes from the word that the level begins in, in the order of their weights; and how much those
/// at the higher coordinate count, along each axis.
pub(super) struct Taps {
    pub places: [Words; 4],
    pub weights: [Floats; 2],
}

/// Whether a mode changes no coordinate before texels are looked for, and gives a texel of the level for each, or the border.
pub(super) fn is_simple(wrap: Wrap) -> bool {
    matches!(
        wrap,
        Wrap::Repeat
            | Wrap::ClampToEdge
            | Wrap::ClampToBorder
            | Wrap::MirroredRepeat
            | Wrap::MirrorClampToEdge
    )
}

/// From a coordinate to texels.
struct Axis {
    scale: f32,
    /// Half a texel, where the texels around a place are looked for.
    half: f32,
}

impl Axis {
    #[inline(always)]
    fn new(place: &Place<'_>, axis: usize) -> Axis {
        Axis {
            scale: if place.scaled { 1.0 } else { place.level.size[axis] as f32 },
            half: if place.linear { 0.5 } else { 0.0 },
        }
    }

    /// A coordinate in texels, from the middle of the first one on if the texels around it are looked for.
    #[inline(always)]
    fn base(&self, coord: u32, offset: Option<f32>) -> f32 {
        let texels = f32::from_bits(coord) * self.scale;
        (if let Some(offset) = offset { texels + offset } else { texels }) - self.half
    }
}

/// Finds the texels that lanes look at; whether all coordinates are near.
pub(super) struct FindTaps<const OFFSETS: bool>;

impl<const OFFSETS: bool> Kernel<Taps, ([&Words; 2], &Words), Place<'_>, (), bool> for FindTaps<OFFSETS> {
    #[inline(always)]
    fn run<F: Features>(
        taps: &mut Taps,
        (coord, take): &([&Words; 2], &Words),
        place: &Place<'_>,
        _: &(),
        _: u32,
    ) -> bool {
        let mut far = 0;
        let mut texels = [[[0; LANES]; 2]; 2];
        for axis in 0..2 {
            let to_texels = Axis::new(place, axis);
            let offsets = if OFFSETS { place.offsets.map(|o| &o[axis]) } else { None };
            let [low, high] = &mut texels[axis];
            for l in 0..LANES {
                let base = to_texels.base(coord[axis][l], offsets.map(|o| o[l]));
                let (whole, n) = floor(base);
                let is_near = base.abs() < NEAR;
                far |= u32::from(!is_near) & take[l];
                low[l] = n;
                high[l] = n.wrapping_add(1);
                // Rounded half up to 256ths.
                let units = (base - whole) * 256.0;
                let (near, _) = nearest(units);
                let up = if units - near == 0.5 { 1.0 } else { 0.0 };
                taps.weights[axis][l] = (near + up) * (1.0 / 256.0);
            }
            for texels in &mut texels[axis][..if place.linear { 2 } else { 1 }] {
                wrap_all(texels, place.level.size[axis], place.wrap[axis]);
            }
        }
        if far != 0 {
            return false;
        }
        let slice = place.level.slice;
        let odd = place.level.first as u32 & 3;
        let [xs, ys] = &mut texels;
        for (xs, ys) in xs.iter_mut().zip(ys.iter_mut()) {
            for l in 0..LANES {
                xs[l] = slice.column(xs[l].wrapping_mul(place.bytes)).wrapping_add(odd);
                ys[l] = slice.line(ys[l]);
            }
        }
        if let Some(layers) = place.layers {
            for ys in &mut *ys {
                ys.iter_mut().zip(layers).for_each(|(y, first)| *y = y.wrapping_add(*first));
            }
        }
        for (n, places) in taps.places.iter_mut().enumerate() {
            let (xs, ys) = (&xs[n & 1], &ys[n >> 1]);
            for l in 0..LANES {
                places[l] = xs[l].wrapping_add(ys[l]);
            }
        }
        true
    }
}

/// Where the border is in place of a texel: all ones. Coordinates are near.
pub(super) struct FindBorder;

impl Kernel<[Words; 4], [&Words; 2], Place<'_>, (), ()> for FindBorder {
    #[inline(always)]
    fn run<F: Features>(border: &mut [Words; 4], coord: &[&Words; 2], place: &Place<'_>, _: &(), _: u32) {
        let mut outside = [[[0; LANES]; 2]; 2];
        for (axis, sides) in outside.iter_mut().enumerate() {
            if place.wrap[axis] != Wrap::ClampToBorder {
                continue;
            }
            let (to_texels, size) = (Axis::new(place, axis), place.level.size[axis]);
            let [low, high] = sides;
            for l in 0..LANES {
                let (_, n) = floor(to_texels.base(coord[axis][l], place.offsets.map(|o| o[axis][l])));
                low[l] = if n >= size { u32::MAX } else { 0 };
                high[l] = if n.wrapping_add(1) >= size { u32::MAX } else { 0 };
            }
        }
        for (n, border) in border.iter_mut().enumerate() {
            for (l, border) in border.iter_mut().enumerate() {
                *border = outside[0][n & 1][l] | outside[1][n >> 1][l];
            }
        }
    }
}

/// Which texels lanes fetch, and where there is none: all ones.
pub(super) struct Fetched {
    pub places: Words,
    pub outside: Words,
}

/// Finds them by whole coordinates and layers.
pub(super) struct FindFetched;

impl Kernel<Fetched, [Words; 3], Level, [u32; 2], ()> for FindFetched {
    #[inline(always)]
    fn run<F: Features>(
        fetched: &mut Fetched,
        [xs, ys, layers]: &[Words; 3],
        level: &Level,
        &[bytes, layer_stride]: &[u32; 2],
        _: u32,
    ) {
        let Level { size: [width, height], layers: count, slice, first } = *level;
        let odd = first as u32 & 3;
        for l in 0..LANES {
            let inside = xs[l] < width && ys[l] < height && layers[l] < count;
            let kept = if inside { u32::MAX } else { 0 };
            let column = slice.column((xs[l] & kept).wrapping_mul(bytes));
            let layer = (layers[l] & kept).wrapping_mul(layer_stride);
            let place = column.wrapping_add(slice.line(ys[l] & kept)).wrapping_add(layer);
            fetched.places[l] = place.wrapping_add(odd);
            fetched.outside[l] = !kept;
        }
    }
}

/// The nearest integer, ties to even, as a float and as an integer. (Nothing is right for what is not near.)
#[inline(always)]
fn nearest(v: f32) -> (f32, u32) {
    // The last bit of a number this large is 1: the addition rounds.
    const LARGE: f32 = (3 << 22) as f32;
    let large = v + LARGE;
    (large - LARGE, large.to_bits().wrapping_sub(LARGE.to_bits()))
}

/// The integer at or below, of what is near.
#[inline(always)]
fn floor(v: f32) -> (f32, u32) {
    let (whole, n) = nearest(v);
    let above = whole > v;
    (if above { whole - 1.0 } else { whole }, n.wrapping_sub(above.into()))
}

/// What [`super::coordinates::wrapped`] gives each coordinate.
#[inline(always)]
fn wrap_all(texels: &mut Words, size: u32, wrap: Wrap) {
    let (size, last) = (size as i32, size as i32 - 1);
    // The remainder by this period, as a mask or by division.
    let remainders = |texels: &mut Words, period: i32| {
        if period as u32 & (period as u32 - 1) == 0 {
            texels.iter_mut().for_each(|v| *v &= period as u32 - 1);
        } else {
            for v in texels {
                if *v >= period as u32 {
                    *v = (*v as i32).rem_euclid(period) as u32;
                }
            }
        }
    };
    match wrap {
        Wrap::Repeat => remainders(texels, size),
        Wrap::MirroredRepeat => {
            remainders(texels, 2 * size);
            texels.iter_mut().for_each(|v| *v = (*v as i32).min(2 * size - 1 - *v as i32) as u32);
        }
        Wrap::MirrorClampToEdge => {
            let mirrored = |v: u32| (v as i32).max(!(v as i32));
            texels.iter_mut().for_each(|v| *v = mirrored(*v).min(last) as u32);
        }
        _ => texels.iter_mut().for_each(|v| *v = (*v as i32).max(0).min(last) as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::super::coordinates;
    use super::*;

    #[test]
    fn whole_parts_and_weights_of_near_coordinates_are_those_of_a_lane() {
        let mut random = nvir_base::random::Random::new(6);
        let near = |n: u32| n as f32 / 1024.0 - 100.0;
        let any = (0..400_000).map(|_| f32::from_bits(random.word() as u32)).filter(|v| v.abs() < NEAR);
        for v in any.chain((0..400_000).map(near)).chain([0.0, -0.0, -1e-20, NEAR - 0.01, 0.001_953_124_9]) {
            let (whole, n) = floor(v);
            assert_eq!((whole, i64::from(n as i32)), (v.floor(), coordinates::floor(v)), "{v}");
            let units = (v - whole) * 256.0;
            let (near, _) = nearest(units);
            let weight = (near + if units - near == 0.5 { 1.0 } else { 0.0 }) / 256.0;
            assert_eq!(weight, coordinates::weight(v), "{v}");
        }
    }

    #[test]
    fn coordinates_wrap_as_those_of_a_lane() {
        for wrap in [Wrap::Repeat, Wrap::MirroredRepeat, Wrap::ClampToEdge, Wrap::MirrorClampToEdge] {
            for size in [1, 2, 3, 4, 13] {
                for first in (-64..64i32).step_by(LANES) {
                    let mut all: Words = std::array::from_fn(|l| (first + l as i32) as u32);
                    wrap_all(&mut all, size, wrap);
                    for (at, found) in (first..).zip(all) {
                        let wanted = coordinates::wrapped(at.into(), size.into(), wrap, false);
                        assert_eq!(Some(i64::from(found)), wanted, "{at} of {size}, {wrap:?}");
                    }
                }
            }
        }
    }
}
