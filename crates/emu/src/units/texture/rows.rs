//! Lookups of a whole warp in a [plain](super::plain) texture: what programs that draw do most. Coordinates, weights and colours
//! are computed as rows, by the same operations in the same order as a lane's, so the results are the same bits. Where any lane
//! has something unusual (a place that is no number or far away, another texture, many levels) nothing is found here, and
//! [`super::lookup`] looks each lane up.

use super::plain::{Component, Level, Plain};
use super::{Args, depends_on_footprint};
use crate::code::micro::NULL;
use crate::code::texop::{Lod, TexKind, TexOp};
use crate::cx::Cx;
use crate::image::{Filter, MipFilter, Sampler, Wrap};
use crate::memory::Memory;
use crate::state::lanes::{LANES, LaneVec, Mask, lanes};
use crate::state::warp::Warp;
use nvir_simd::{Features, Kernel, Processor};

/// Levels that the lanes of a warp look at, at most: each is looked up by itself.
const MAX_LEVELS: usize = 4;

/// Coordinates are that near, in texels: there floats have integers and 256ths exactly.
const NEAR: f32 = (1 << 14) as f32;

type Words = [u32; LANES];
type Floats = [f32; LANES];

/// What a lookup gives the lanes of a mask, if it is one of these.
pub(super) fn sample(cx: &mut Cx<'_>, w: &Warp, op: &TexOp, mask: Mask) -> Option<[LaneVec; 4]> {
    let env = cx.env;
    let TexKind::Sample(lod) = op.kind else { return None };
    if op.dims != 2 || op.cube || op.array || op.shadow || op.offset || env.observed {
        return None;
    }
    let first = lanes(mask).next()?;
    // A word that names the texture comes first, then coordinates and level.
    let named = usize::from(op.indirect);
    let row = |n: usize| match op.args.get(n) {
        Some(&reg) if reg != NULL => &w.regs[usize::from(reg)],
        _ => &LaneVec::ZERO,
    };
    if op.indirect && lanes(mask).any(|l| row(0).0[l] != row(0).0[first]) {
        return None;
    }
    let Args { texture, sampler, .. } = op.args_of(env, w, first);
    let ready = cx.block.textures.texture(env.bound, texture).ok()?;
    let plain = ready.plain.as_ref()?;
    let sampler = cx.block.textures.sampler(env.bound, sampler).ok()?;
    if sampler.max_anisotropy.max(ready.texture.max_anisotropy) > 1 {
        return None;
    }
    let warp = Rows {
        plain,
        memory: env.bound.memory,
        processor: env.processor,
        sampler: &sampler,
        coord: [&row(named).0, &row(named + 1).0],
        scaled: sampler.unnormalized || ready.texture.scaled,
        mask,
        take: &LaneVec::expand(mask).0,
        wanted: op.mask,
    };
    if !depends_on_footprint(&ready.texture, &sampler) {
        return warp.plane(0, sampler.mag, mask);
    }
    let quads = env.stage.is_some_and(|s| s.has_quads()) || !w.quads.is_empty();
    let level = &row(named + 2).0;
    let lods = match lod {
        Lod::Zero => [0; LANES],
        Lod::Level => *level,
        Lod::Implicit if quads => warp.implicit()?,
        Lod::Implicit => [0; LANES],
        Lod::Bias => {
            let implicit = if quads { warp.implicit()? } else { [0; LANES] };
            std::array::from_fn(|l| (f32::from_bits(implicit[l]) + f32::from_bits(level[l])).to_bits())
        }
    };
    warp.levels(&lods)
}

/// A warp's lookup.
struct Rows<'a> {
    plain: &'a Plain,
    memory: &'a Memory,
    processor: Processor,
    sampler: &'a Sampler,
    coord: [&'a Words; 2],
    /// Coordinates are in texels.
    scaled: bool,
    mask: Mask,
    /// The mask as a row.
    take: &'a Words,
    /// Components that are wanted, a bit each.
    wanted: u8,
}

impl Rows<'_> {
    /// Levels of detail from how coordinates move over quads, as bits; none if a quad lacks a lane.
    fn implicit(&self) -> Option<Words> {
        let any = (self.mask | self.mask >> 1 | self.mask >> 2 | self.mask >> 3) & 0x1111_1111;
        if any * 15 != self.mask {
            return None;
        }
        let size = self.plain.levels.first()?.size;
        let scale = size.map(|n| if self.scaled { 1.0 } else { n as f32 });
        let mut squares = [0.0; LANES];
        self.processor.compiled::<Footprints, _, _, _, _, _>()(&mut squares, &self.coord, &scale, &(), 0);
        // The library's logarithm, as each lane by itself has it.
        Some(squares.map(|v| (0.5 * v.log2()).to_bits()))
    }

    /// What lanes find at their levels of detail.
    fn levels(&self, lods: &Words) -> Option<[LaneVec; 4]> {
        let s = self.sampler;
        let mut chosen = Chosen { low: [0; LANES], high: [0; LANES], fraction: [0.0; LANES] };
        let last = self.plain.levels.len() as f32 - 1.0;
        self.processor.compiled::<Choose, _, _, _, _, _>()(&mut chosen, lods, s, &last, 0);
        let mut found = self.planes(&chosen.low, self.mask)?;
        let mixed = LaneVec(chosen.high).mask(|key| key != NO_LEVEL) & self.mask;
        if mixed != 0 {
            let far = self.planes(&chosen.high, mixed)?;
            for (near, far) in found.iter_mut().zip(&far) {
                let mixes = |l: usize| {
                    let (x, y) = (f32::from_bits(near.0[l]), f32::from_bits(far.0[l]));
                    (x + (y - x) * chosen.fraction[l]).to_bits()
                };
                let both = LaneVec(std::array::from_fn(mixes));
                near.blend(mixed, &both);
            }
        }
        Some(found)
    }

    /// The levels of some lanes, by keys.
    fn planes(&self, keys: &Words, mask: Mask) -> Option<[LaneVec; 4]> {
        let mut all = [LaneVec::ZERO; 4];
        let mut left = mask;
        for _ in 0..MAX_LEVELS {
            let key = keys[lanes(left).next()?];
            let group = LaneVec(*keys).mask(|k| k == key) & left;
            let filter = if key & LINEAR != 0 { Filter::Linear } else { Filter::Nearest };
            let found = self.plane((key & !LINEAR) as usize, filter, group)?;
            if group == mask {
                return Some(found);
            }
            all.iter_mut().zip(&found).for_each(|(all, found)| all.blend(group, found));
            left &= !group;
            if left == 0 {
                return Some(all);
            }
        }
        None
    }

    /// One level, filtered at one place a lane, for the lanes of a mask.
    fn plane(&self, level: usize, filter: Filter, mask: Mask) -> Option<[LaneVec; 4]> {
        let level = self.plain.levels.get(level)?;
        let linear = filter == Filter::Linear;
        let expanded;
        let take = match mask == self.mask {
            true => self.take,
            false => {
                expanded = LaneVec::expand(mask).0;
                &expanded
            }
        };
        let place = Place { level, bytes: self.plain.bytes, scaled: self.scaled, linear };
        let [wrap_x, wrap_y, _] = self.sampler.wrap;
        if ![wrap_x, wrap_y].into_iter().all(stays_inside) {
            return None;
        }
        let mut taps = Taps { places: [[0; LANES]; 4], weights: [[0.0; LANES]; 2] };
        let compiled = self.processor.compiled::<FindTaps, _, _, _, _, _>();
        if !compiled(&mut taps, &(self.coord, take), &place, &[wrap_x, wrap_y], 0) {
            return None;
        }
        let words = self.memory.buffers[self.plain.buffer].words.get((level.first / 4) as usize..)?;
        let mut texels = [[0; LANES]; 4];
        let corners = if linear { 4 } else { 1 };
        for (texels, places) in texels.iter_mut().zip(&taps.places).take(corners) {
            self.processor.gather(words, places, texels);
        }
        let mut found = [LaneVec::ZERO; 4];
        let form = match (linear, self.plain.bytes) {
            (true, 4) => self.processor.compiled::<Filtered<true, true>, _, _, _, _, _>(),
            (true, _) => self.processor.compiled::<Filtered<true, false>, _, _, _, _, _>(),
            (false, 4) => self.processor.compiled::<Filtered<false, true>, _, _, _, _, _>(),
            (false, _) => self.processor.compiled::<Filtered<false, false>, _, _, _, _, _>(),
        };
        form(&mut found, &texels, &taps, &self.plain.components, self.wanted.into());
        Some(found)
    }
}

/// Whether a mode gives a texel of the level for every coordinate, and changes no coordinate before.
fn stays_inside(wrap: Wrap) -> bool {
    matches!(wrap, Wrap::Repeat | Wrap::ClampToEdge | Wrap::MirroredRepeat | Wrap::MirrorClampToEdge)
}

/// The square of the longer side of each lane's footprint in texels, from its row and its column of the quad.
struct Footprints;

impl Kernel<Floats, [&Words; 2], [f32; 2], (), ()> for Footprints {
    #[inline(always)]
    fn run<F: Features>(squares: &mut Floats, coord: &[&Words; 2], scale: &[f32; 2], _: &(), _: u32) {
        for quad in (0..LANES).step_by(4) {
            let moved = |axis: usize, l: usize, i: usize| {
                let at = |l: usize| f32::from_bits(coord[i][quad + l]);
                let v = (at(l | 1 << axis) - at(l & !(1 << axis))) * scale[i];
                v * v
            };
            for l in 0..4 {
                let [x, y] = [0, 1].map(|axis| moved(axis, l, 0) + moved(axis, l, 1));
                squares[quad + l] = x.max(y);
            }
        }
    }
}

/// In a key of a level: it is filtered.
const LINEAR: u32 = 1 << 8;
const NO_LEVEL: u32 = u32::MAX;

/// The levels that lanes look at, as keys, and how much the second counts where there is one.
struct Chosen {
    low: Words,
    high: Words,
    fraction: Floats,
}

/// Levels for levels of detail.
struct Choose;

impl Kernel<Chosen, Words, Sampler, f32, ()> for Choose {
    #[inline(always)]
    fn run<F: Features>(chosen: &mut Chosen, lods: &Words, s: &Sampler, last: &f32, _: u32) {
        let (least, most) = (s.min_lod.min(s.max_lod), s.max_lod);
        let key = |filter: Filter| if filter == Filter::Linear { LINEAR } else { 0 };
        let (min, mag) = (key(s.min), key(s.mag));
        for (l, lod) in lods.iter().enumerate() {
            let lod = f32::from_bits(*lod) + s.lod_bias;
            let lod = if lod.is_nan() { 0.0 } else { lod.max(least).min(most) };
            let filter = if lod > 0.0 { min } else { mag };
            let level = |level: f32| level.max(0.0).min(*last) as i32 as u32 | filter;
            let (low, high) = match s.mip {
                MipFilter::None => (0.0, None),
                MipFilter::Nearest => ((lod + 0.5).ceil() - 1.0, None),
                MipFilter::Linear if lod <= 0.0 || lod >= *last => (lod.floor(), None),
                MipFilter::Linear => (lod.floor(), Some(lod.floor() + 1.0)),
            };
            chosen.low[l] = level(low);
            chosen.high[l] = high.map_or(NO_LEVEL, level);
            chosen.fraction[l] = lod.fract();
        }
    }
}

/// Where a level is looked up, and how.
struct Place<'a> {
    level: &'a Level,
    /// Of a texel.
    bytes: u32,
    scaled: bool,
    linear: bool,
}

/// The texels that lanes look at: bytes from the word that the level begins in, in the order of their weights; and how much those
/// at the higher coordinate count, along each axis.
struct Taps {
    places: [Words; 4],
    weights: [Floats; 2],
}

/// Finds them; whether all coordinates are near.
struct FindTaps;

impl Kernel<Taps, ([&Words; 2], &Words), Place<'_>, [Wrap; 2], bool> for FindTaps {
    #[inline(always)]
    fn run<F: Features>(
        taps: &mut Taps,
        (coord, take): &([&Words; 2], &Words),
        place: &Place<'_>,
        wrap: &[Wrap; 2],
        _: u32,
    ) -> bool {
        let mut far = 0;
        let mut texels = [[[0; LANES]; 2]; 2];
        for axis in 0..2 {
            let size = place.level.size[axis];
            let scale = if place.scaled { 1.0 } else { size as f32 };
            let half = if place.linear { 0.5 } else { 0.0 };
            let [low, high] = &mut texels[axis];
            for l in 0..LANES {
                let base = f32::from_bits(coord[axis][l]) * scale - half;
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
                wrap_all(texels, size, wrap[axis]);
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
        for (n, places) in taps.places.iter_mut().enumerate() {
            let (xs, ys) = (&xs[n & 1], &ys[n >> 1]);
            for l in 0..LANES {
                places[l] = xs[l].wrapping_add(ys[l]);
            }
        }
        true
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

/// The components of texels: those of one, or of four by their weights; of words, or of narrower ones. Which are wanted is a bit each.
struct Filtered<const LINEAR: bool, const WORDS: bool>;

impl<const LINEAR: bool, const WORDS: bool> Kernel<[LaneVec; 4], [Words; 4], Taps, [Component; 4], ()>
    for Filtered<LINEAR, WORDS>
{
    #[inline(always)]
    fn run<F: Features>(
        found: &mut [LaneVec; 4],
        texels: &[Words; 4],
        taps: &Taps,
        components: &[Component; 4],
        wanted: u32,
    ) {
        let mut weights = [[0.0; LANES]; 4];
        if LINEAR {
            for (n, weights) in weights.iter_mut().enumerate() {
                let [xs, ys] = &taps.weights;
                for ((weight, x), y) in weights.iter_mut().zip(xs).zip(ys) {
                    let x = if n & 1 != 0 { *x } else { 1.0 - x };
                    let y = if n & 2 != 0 { *y } else { 1.0 - y };
                    *weight = x * y;
                }
            }
        }
        for (c, found) in found.iter_mut().enumerate().filter(|(c, _)| wanted >> c & 1 != 0) {
            let component = components[c];
            let value = |n: usize, l: usize| match component {
                Component::Byte(shift) => {
                    let shift = if WORDS { shift } else { shift + taps.places[n][l] % 4 * 8 };
                    (texels[n][l] >> shift & 0xff) as i32 as f32 / 255.0
                }
                Component::Same(v) => v,
            };
            for (l, found) in found.0.iter_mut().enumerate() {
                *found = if LINEAR {
                    // Weights are not negative: a texel that does not count adds zero.
                    let mut sum = weights[0][l] * value(0, l);
                    sum += weights[1][l] * value(1, l);
                    sum += weights[2][l] * value(2, l);
                    sum += weights[3][l] * value(3, l);
                    sum.to_bits()
                } else {
                    value(0, l).to_bits()
                };
            }
        }
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
