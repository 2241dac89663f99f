//! Lookups of a whole warp in a [plain](super::plain) texture: what programs that draw do most. Coordinates, weights and colours
//! are computed as rows, by the same operations in the same order as a lane's, so the results are the same bits. Where any lane
//! has something unusual (a place that is no number or far away, another texture, many levels) nothing is found here, and
//! [`super::lookup`] looks each lane up.

use super::blend::{Compared, Fractions, Looked, Sum};
use super::lookup::{Lookup, face_place};
use super::operands::Operands;
use super::plain::Plain;
use super::source::Texture;
use super::taps::{Fetched, FindBorder, FindFetched, FindTaps, Floats, Place, Taps, Words, is_simple};
use super::{Args, canonical, depends_on_footprint, footprints};
use crate::code::texop::{Lod, TexKind, TexOp};
use crate::cx::{Cx, Env};
use crate::image::{Compare, Filter, MipFilter, Sampler, Wrap};
use crate::memory::Memory;
use crate::state::lanes::{LANES, LaneVec, Mask, lanes};
use crate::state::warp::Warp;
use nvir_simd::{Features, Kernel, Processor};

/// Levels that the lanes of a warp look at, at most: each is looked up by itself.
const MAX_LEVELS: usize = 4;

/// What a lookup gives the lanes of a mask, if it is one of these.
pub(super) fn look_up(cx: &mut Cx<'_>, w: &Warp, op: &TexOp, mask: Mask) -> Option<[LaneVec; 4]> {
    let env = cx.env;
    if !op.has_rows() || env.observed {
        return None;
    }
    let operands = Operands { w, op, roles: op.roles(env) };
    let first = lanes(mask).next().filter(|_| operands.name_one(mask))?;
    let Args { texture, sampler, .. } = op.args_of(&operands.roles, env, w, first);
    let ready = cx.block.textures.texture(env.bound, texture).ok()?;
    let plain = ready.plain.as_ref()?;
    match op.kind {
        TexKind::Sample(_) if plain.integer => None,
        TexKind::Sample(lod) => {
            let sampler = cx.block.textures.sampler(env.bound, sampler).ok()?;
            sample(env, &operands, (plain, &ready.texture, &sampler), mask, lod)
        }
        _ => fetch(env, &operands, plain, mask),
    }
}

/// Texels by whole coordinates and layers of one level; zero where there is none.
fn fetch(env: &Env<'_>, operands: &Operands<'_>, plain: &Plain, mask: Mask) -> Option<[LaneVec; 4]> {
    let op = operands.op;
    let level = operands.level();
    let first = level[lanes(mask).next()?];
    if lanes(mask).any(|l| level[l] != first) {
        return None;
    }
    let level = plain.levels.get(first as usize)?;
    let offsets = operands.offsets();
    let coord = |axis: usize| -> Words {
        let coord = if axis < usize::from(op.dims) { operands.coord(axis) } else { &LaneVec::ZERO.0 };
        let offset = |l: usize| offsets.as_ref().map_or(0, |o| o[axis][l] as u32);
        std::array::from_fn(|l| coord[l].wrapping_add(offset(l)))
    };
    let at = [coord(0), coord(1), operands.layers().unwrap_or([0; LANES])];
    let mut fetched = Fetched { places: [0; LANES], outside: [0; LANES] };
    let form = env.processor.compiled::<FindFetched, _, _, _, _, _>();
    form(&mut fetched, &at, level, &[plain.bytes, plain.layer_stride], 0);
    let taps = Taps { places: [fetched.places; 4], weights: [[0.0; LANES]; 2] };
    let words = plain.words(env.bound.memory, level)?;
    let border = Some([fetched.outside; 4]);
    let looked =
        Looked { bytes: plain.bytes, processor: env.processor, words, taps: &taps, corners: 1, border };
    let mut found = [LaneVec::ZERO; 4];
    for (c, found) in found.iter_mut().enumerate().filter(|(c, _)| op.mask >> c & 1 != 0) {
        found.0 = looked.channel(plain.components[c], 0)[0];
    }
    Some(found)
}

/// Filtered texels.
fn sample(
    env: &Env<'_>,
    operands: &Operands<'_>,
    (plain, texture, sampler): (&Plain, &Texture, &Sampler),
    mask: Mask,
    lod: Lod,
) -> Option<[LaneVec; 4]> {
    /// One dimension is the middle of rows of one texel.
    const MIDDLE: Words = [0.5f32.to_bits(); LANES];
    let Operands { w, op, ref roles } = *operands;
    let is_spread = sampler.max_anisotropy.max(texture.max_anisotropy) > 1;
    let is_line = op.dims == 1;
    if is_line && plain.levels.iter().any(|l| l.size[1] != 1) || is_spread {
        return None;
    }
    let on_faces = op.cube.then(|| faces([0, 1, 2].map(|axis| operands.coord(axis)), mask));
    let layers = match &on_faces {
        None => operands.layers(),
        Some([.., face]) => {
            let cubes = (plain.levels.first()?.layers / 6).max(1);
            let layers = operands.layers().unwrap_or([0; LANES]);
            Some(std::array::from_fn(|l| layers[l].min(cubes - 1) * 6 + face[l]))
        }
    };
    let offsets = operands.offsets().map(|o| o.map(|row| row.map(|n| n as f32)));
    let reference = |r: u32| texture.texels.reference(f32::from_bits(r));
    let references = roles.reference.map(|at| operands.row(at).map(reference));
    let [wrap_x, wrap_y, _] = sampler.wrap;
    let rows = Rows {
        plain,
        texture,
        memory: env.bound.memory,
        processor: env.processor,
        sampler,
        coord: match &on_faces {
            Some([x, y, _]) => [x, y],
            None => [operands.coord(0), if is_line { &MIDDLE } else { operands.coord(1) }],
        },
        wrap: match (op.cube, is_line) {
            (true, _) => [Wrap::ClampToEdge; 2],
            (_, true) => [wrap_x, Wrap::ClampToEdge],
            _ => [wrap_x, wrap_y],
        },
        across_edges: op.cube && sampler.seamless,
        layers: layers.as_ref(),
        offsets: offsets.as_ref(),
        references: references.as_ref(),
        scaled: sampler.unnormalized || texture.scaled,
        mask,
        take: &LaneVec::expand(mask).0,
        wanted: op.mask,
    };
    if !depends_on_footprint(texture, sampler) {
        return rows.plane(0, sampler.mag, mask);
    }
    let quads = env.stage.is_some_and(|s| s.has_quads()) || !w.quads.is_empty();
    let implicit = || match quads {
        false => Some([0; LANES]),
        true if op.cube => {
            let moved = footprints(env, w, op, mask)?;
            Some(std::array::from_fn(|lane| {
                let footprint = Some(moved[lane]);
                Lookup { warp: w, lane, texture, plain: None, sampler, op, footprint }.implicit().to_bits()
            }))
        }
        true => rows.implicit(),
    };
    let level = operands.level();
    let lods = match lod {
        Lod::Zero => [0; LANES],
        Lod::Level => *level,
        Lod::Implicit => implicit()?,
        Lod::Bias => {
            let implicit = implicit()?;
            std::array::from_fn(|l| (f32::from_bits(implicit[l]) + f32::from_bits(level[l])).to_bits())
        }
    };
    rows.levels(&lods)
}

/// Where directions meet a cube: places on its faces, and the faces.
fn faces(coord: [&Words; 3], mask: Mask) -> [Words; 3] {
    let mut found = [[0; LANES]; 3];
    for l in lanes(mask) {
        let (face, [x, y]) = face_place(coord.map(|c| f32::from_bits(c[l])));
        [found[0][l], found[1][l], found[2][l]] = [x.to_bits(), y.to_bits(), face];
    }
    found
}

/// A warp's lookup.
struct Rows<'a> {
    plain: &'a Plain,
    texture: &'a Texture,
    memory: &'a Memory,
    processor: Processor,
    sampler: &'a Sampler,
    coord: [&'a Words; 2],
    wrap: [Wrap; 2],
    /// Beyond the edge of a face lies another one.
    across_edges: bool,
    layers: Option<&'a Words>,
    /// In texels.
    offsets: Option<&'a [Floats; 2]>,
    /// What depths are compared with, of lookups that compare.
    references: Option<&'a Floats>,
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
                    canonical(x + (y - x) * chosen.fraction[l])
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
        let wrap = self.wrap;
        if !wrap.into_iter().all(is_simple) {
            return None;
        }
        let (bytes, stride) = (self.plain.bytes, self.plain.layer_stride);
        let layers = self.layers.map(|layers| layers.map(|n| n.min(level.layers - 1) * stride));
        let (scaled, offsets, layers) = (self.scaled, self.offsets, layers.as_ref());
        let place = Place { level, bytes, scaled, linear, wrap, offsets, layers };
        let mut taps = Taps { places: [[0; LANES]; 4], weights: [[0.0; LANES]; 2] };
        let compiled = match offsets {
            None => self.processor.compiled::<FindTaps<false>, _, _, _, _, _>(),
            Some(_) => self.processor.compiled::<FindTaps<true>, _, _, _, _, _>(),
        };
        if !compiled(&mut taps, &(self.coord, take), &place, &(), 0) {
            return None;
        }
        let border = |place: &Place<'_>| {
            let mut border = [[0; LANES]; 4];
            self.processor.compiled::<FindBorder, _, _, _, _, _>()(&mut border, &self.coord, place, &(), 0);
            border
        };
        let words = self.plain.words(self.memory, level)?;
        let corners = if linear { 4 } else { 1 };
        if self.across_edges {
            let outside = border(&Place { wrap: [Wrap::ClampToBorder; 2], ..place });
            if outside.iter().take(corners).any(|row| row.iter().zip(take).any(|(row, take)| row & take != 0))
            {
                return None;
            }
        }
        let mut found = [LaneVec::ZERO; 4];
        let has_border = wrap.contains(&Wrap::ClampToBorder);
        let fractions = self.plain.fractions.as_ref().filter(|_| !has_border && self.references.is_none());
        let Some(fractions) = fractions else {
            let border = has_border.then(|| border(&place));
            let processor = self.processor;
            self.components(&Looked { bytes, processor, words, taps: &taps, corners, border }, &mut found);
            return Some(found);
        };
        let mut texels = [[0; LANES]; 4];
        for (texels, places) in texels.iter_mut().zip(&taps.places).take(corners) {
            self.processor.gather(words, places, texels);
        }
        let form = match (linear, bytes) {
            (true, 4) => self.processor.compiled::<Fractions<true, true>, _, _, _, _, _>(),
            (true, _) => self.processor.compiled::<Fractions<true, false>, _, _, _, _, _>(),
            (false, 4) => self.processor.compiled::<Fractions<false, true>, _, _, _, _, _>(),
            (false, _) => self.processor.compiled::<Fractions<false, false>, _, _, _, _, _>(),
        };
        form(&mut found, &texels, &taps, fractions, self.wanted.into());
        Some(found)
    }

    /// What is wanted of the texels that were found.
    fn components(&self, looked: &Looked<'_>, found: &mut [LaneVec; 4]) {
        let Rows { plain, sampler, processor, .. } = *self;
        let border = sampler.border_bits.unwrap_or(sampler.border.map(f32::to_bits));
        let compared = self.references.map(|references| {
            let compare = sampler.compare.unwrap_or(Compare::Lequal);
            let mut depths = looked.channel(plain.depth, border[0]);
            let form = processor.compiled::<Compared, _, _, _, _, _>();
            depths[..looked.corners].iter_mut().for_each(|d| form(d, references, &compare, &(), 0));
            depths
        });
        let wanted = found.iter_mut().enumerate().filter(|(c, _)| self.wanted >> c & 1 != 0);
        for (c, found) in wanted {
            let texels = match &compared {
                None => looked.channel(plain.components[c], border[c]),
                Some(compared) => looked.comparison(self.texture.sources[c], c, compared),
            };
            if looked.corners == 1 {
                found.0 = texels[0];
            } else {
                processor.compiled::<Sum, _, _, _, _, _>()(&mut found.0, &texels, looked.taps, &(), 0);
            }
        }
    }
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
