//! Sampling: the texels that a lookup reads, wrapped, compared, filtered.

use super::coordinates::{clamped, floor, weight, wrapped};
use super::plain::Plain;
use super::{Args, Footprint, Texture, canonical};
use crate::check::shadow::Kind;
use crate::code::texop::{Lod, TexKind, TexOp};
use crate::cx::Cx;
use crate::image::{Compare, Dim, Filter, MipFilter, Sampler, Wrap};
use crate::state::warp::Warp;
use crate::texel::Channels;
use crate::trap::Trap;
use crate::units::texels;

/// One lane's lookup. The faces of a cube are filtered each for itself unless the sampler says otherwise: OpenGL leaves
/// that off (`TEXTURE_CUBE_MAP_SEAMLESS`).
pub(super) struct Lookup<'a> {
    pub warp: &'a Warp,
    pub lane: usize,
    pub texture: &'a Texture,
    /// The same, if it is of those and nobody watches accesses.
    pub plain: Option<&'a Plain>,
    pub sampler: &'a Sampler,
    pub op: &'a TexOp,
    /// How coordinates move over the quad of pixels, where there is one.
    pub footprint: Option<Footprint>,
}

impl Lookup<'_> {
    pub(super) fn run(&self, cx: &mut Cx<'_>, a: &Args) -> Result<Channels, Trap> {
        if self.texture.levels.is_empty() {
            return Ok([0; 4]);
        }
        match self.op.kind {
            TexKind::QuerySize => Ok(self.size(a.lod)),
            TexKind::QueryType => Ok([0, 0, self.texture.samples, 0]),
            TexKind::QueryLod => Ok(self.query_lod()),
            TexKind::Fetch { ms, .. } => {
                let o = self.op.offsets(a, 0);
                let mut at: [u32; 3] = std::array::from_fn(|i| {
                    // The nibbles of axes that there are not may hold anything.
                    if i < self.dims() { a.coord[i].wrapping_add(o[i] as u32) } else { a.coord[i] }
                });
                if self.op.array {
                    at[2] = a.layer;
                }
                let texel = self.fetch(cx, a.lod as usize, at, ms.then_some(a.sample))?;
                Ok(texel.map_or([0; 4], |t| self.texture.pick(t)))
            }
            TexKind::Gather { component, four } => self.gather(cx, a, component, four),
            TexKind::Sample(lod) => {
                let lod = match lod {
                    Lod::Zero => 0.0,
                    Lod::Implicit => self.implicit(),
                    Lod::Bias => self.implicit() + f32::from_bits(a.lod),
                    Lod::Level => f32::from_bits(a.lod),
                };
                self.sample(cx, a, lod)
            }
            TexKind::Grad => {
                let d = |i: usize, axis: usize| {
                    a.derivatives.get(2 * i + axis).map_or(0.0, |d| f32::from_bits(*d))
                };
                let moved: Footprint = [0, 1].map(|axis| std::array::from_fn(|i| d(i, axis)));
                Lookup { footprint: Some(moved), ..*self }.sample(cx, a, self.level_of(moved))
            }
        }
    }

    /// The level of detail of a footprint: the longer of its two sides in texels decides, as far as a filter goes at each of
    /// its places.
    fn level_of(&self, moved: Footprint) -> f32 {
        let [x, y] = moved.map(|side| self.squared_length(side));
        let whole = 0.5 * x.max(y).log2();
        match self.places(moved) {
            1 => whole,
            places => whole - (places as f32).log2(),
        }
    }

    /// How many places of a footprint a linear filter looks at: as often as its shorter side fits into the longer one.
    fn places(&self, moved: Footprint) -> u32 {
        let most = self.texture.max_anisotropy.max(self.sampler.max_anisotropy);
        if most <= 1 || self.sampler.min != Filter::Linear || self.integer() {
            return 1;
        }
        let [x, y] = moved.map(|side| self.squared_length(side));
        let ratio = (x.max(y) / x.min(y)).sqrt();
        if ratio > 1.0 { ratio.ceil().min(most as f32) as u32 } else { 1 }
    }

    /// The square of a side's length, in texels of the first level.
    fn squared_length(&self, side: [f32; 3]) -> f32 {
        let size = self.texture.levels.first().map_or([1; 3], |l| l.size);
        let scale = |i: usize| if self.scaled() { 1.0 } else { size[i] as f32 };
        (0..self.dims()).map(|i| (side[i] * scale(i)) * (side[i] * scale(i))).sum()
    }

    /// The level of detail that the quad's coordinates give.
    pub(super) fn implicit(&self) -> f32 {
        self.footprint.map_or(0.0, |f| self.level_of(f))
    }

    /// The level of detail before it is clamped, and the level that is looked up, both in 256ths. Source: Mesa 22.3.6,
    /// nv50_ir_lowering_nvc0.cpp (`handleTXLQ`).
    fn query_lod(&self) -> Channels {
        let Some(footprint) = self.footprint else { return [0; 4] };
        let s = self.sampler;
        let lod = self.level_of(footprint) + s.lod_bias;
        let last = self.texture.levels.len() as f32 - 1.0;
        let clamped = lod.clamp(s.min_lod.min(s.max_lod), s.max_lod).clamp(0.0, last);
        let level = match s.mip {
            MipFilter::None => 0.0,
            MipFilter::Nearest => ((clamped + 0.5).ceil() - 1.0).max(0.0),
            MipFilter::Linear => clamped,
        };
        let fixed = |v: f32| (v * 256.0).round().clamp(-32768.0, 32767.0) as i32 as u32 & 0xffff;
        [fixed(lod), fixed(level), 0, 0]
    }

    fn size(&self, level: u32) -> Channels {
        let Some(l) = self.texture.levels.get(level as usize) else {
            return [0, 0, 0, self.texture.levels.len() as u32];
        };
        let depth = if self.texture.dim == Dim::D3 { l.size[2] } else { self.texture.layers };
        [l.size[0], l.size[1], depth, self.texture.levels.len() as u32]
    }

    /// The channels of a texel in memory; `None` outside the level.
    fn fetch(
        &self,
        cx: &mut Cx<'_>,
        level: usize,
        at: [u32; 3],
        sample: Option<u32>,
    ) -> Result<Option<Channels>, Trap> {
        let Some((address, inside)) = self.texture.place(level, at, sample) else { return Ok(None) };
        let texels = &self.texture.texels;
        let block = texels::load(cx, (self.warp, self.lane), Kind::Read, (address, texels.bytes()))?;
        Ok(block.map(|words| texels.decode(words, inside)))
    }

    /// Coordinates of the face or plane that is sampled, and its layer.
    fn place(&self, a: &Args) -> ([f32; 3], u32) {
        let c = a.coord.map(f32::from_bits);
        if !self.op.cube {
            return (c, a.layer);
        }
        let (face, [x, y]) = face_place(c);
        let cubes = self.texture.levels.first().map_or(1, |l| l.size[2] / 6).max(1);
        ([x, y, 0.0], a.layer.min(cubes - 1) * 6 + face)
    }

    fn sample(&self, cx: &mut Cx<'_>, a: &Args, lod: f32) -> Result<Channels, Trap> {
        let s = self.sampler;
        let lod = lod + s.lod_bias;
        let lod = if lod.is_nan() { 0.0 } else { lod.clamp(s.min_lod.min(s.max_lod), s.max_lod) };
        let filter = if lod > 0.0 { s.min } else { s.mag };
        let last = self.texture.levels.len() as f32 - 1.0;
        let (coord, layer) = self.place(a);
        let mut one = |level: f32| self.spread(cx, a, coord, layer, level.clamp(0.0, last) as usize, filter);
        match s.mip {
            MipFilter::None => one(0.0),
            MipFilter::Nearest => one((lod + 0.5).ceil() - 1.0),
            MipFilter::Linear if lod <= 0.0 || lod >= last || self.integer() => one(lod.floor().max(0.0)),
            MipFilter::Linear => {
                let (x, y) = (one(lod.floor())?, one(lod.floor() + 1.0)?);
                let f = lod.fract();
                Ok(std::array::from_fn(|i| mix(x[i], y[i], f)))
            }
        }
    }

    /// Whether coordinates are in texels.
    fn scaled(&self) -> bool {
        self.sampler.unnormalized || self.texture.scaled
    }

    fn integer(&self) -> bool {
        self.texture.texels.integer()
    }

    /// One level, filtered at the places along the footprint's longer side.
    fn spread(
        &self,
        cx: &mut Cx<'_>,
        a: &Args,
        coord: [f32; 3],
        layer: u32,
        level: usize,
        filter: Filter,
    ) -> Result<Channels, Trap> {
        let moved = self.footprint.filter(|_| filter == Filter::Linear);
        let places = moved.map_or(1, |moved| self.places(moved));
        let Some([x, y]) = moved.filter(|_| places > 1) else {
            return self.plane(cx, a, coord, layer, level, filter);
        };
        let long = if self.squared_length(x) >= self.squared_length(y) { x } else { y };
        let places = places as f32;
        let mut sum = [0f32; 4];
        for n in 0..places as u32 {
            let along = (n as f32 + 0.5) / places - 0.5;
            let coord = std::array::from_fn(|i| coord[i] + long[i] * along);
            let texel = self.plane(cx, a, coord, layer, level, filter)?;
            sum.iter_mut().zip(texel).for_each(|(s, t)| *s += f32::from_bits(t));
        }
        Ok(sum.map(|s| canonical(s / places)))
    }

    /// One level, filtered at one place.
    fn plane(
        &self,
        cx: &mut Cx<'_>,
        a: &Args,
        coord: [f32; 3],
        layer: u32,
        level: usize,
        filter: Filter,
    ) -> Result<Channels, Trap> {
        if let Some(plain) = self.plain {
            let [x, y, _] = coord;
            let place = ([x, y], self.scaled());
            if let Some(found) = plain.plane(cx.env.bound.memory, self.sampler, place, level, filter) {
                return Ok(found);
            }
        }
        let size = self.texture.levels.get(level).map_or([1; 3], |l| l.size);
        let dims = self.dims();
        let o = self.op.offsets(a, 0);
        let texels = |i: usize| {
            let scale = if self.scaled() { 1.0 } else { size[i] as f32 };
            clamped(self.sampler.wrap[i], coord[i] * scale, size[i]) + o[i] as f32
        };
        if filter == Filter::Nearest || self.integer() {
            let at = std::array::from_fn(|i| if i < dims { floor(texels(i)) } else { 0 });
            return self.tap(cx, a, at, layer, level, true);
        }
        let base: [f32; 3] = std::array::from_fn(|i| if i < dims { texels(i) - 0.5 } else { 0.0 });
        let low = base.map(floor);
        let weights = base.map(|v| [1.0 - weight(v), weight(v)]);
        let mut sum = [0f32; 4];
        for corner in 0..1usize << dims {
            let mut weight = 1.0;
            let mut at = low;
            for i in 0..dims {
                let high = corner >> i & 1;
                at[i] = at[i].saturating_add(high as i64);
                weight *= weights[i][high];
            }
            if weight != 0.0 {
                let t = self.tap(cx, a, at, layer, level, false)?;
                sum.iter_mut().zip(t).for_each(|(s, t)| *s += weight * f32::from_bits(t));
            }
        }
        Ok(sum.map(canonical))
    }

    /// Dimensions of what is sampled: a cube's faces have two.
    fn dims(&self) -> usize {
        if self.op.cube { 2 } else { usize::from(self.op.dims) }
    }

    /// One texel after wrapping, compared if the lookup compares. `nearest`: it is the only one.
    fn tap(
        &self,
        cx: &mut Cx<'_>,
        a: &Args,
        at: [i64; 3],
        layer: u32,
        level: usize,
        nearest: bool,
    ) -> Result<Channels, Trap> {
        let size = self.texture.levels.get(level).map_or([1; 3], |l| l.size);
        let dims = self.dims();
        let mut place = [0u32; 3];
        let mut border = false;
        if dims < 3 && (self.op.array || self.op.cube) {
            place[2] = layer.min(size[2].saturating_sub(1));
        }
        let n = i64::from(size[0]);
        let over = [at[0], at[1]].iter().filter(|v| !(0..n).contains(*v)).count();
        if self.op.cube && self.sampler.seamless && over != 0 {
            if over == 2 {
                return self.corner(cx, a, at, layer, level);
            }
            let (face, [x, y]) = across_edge(layer % 6, [at[0], at[1]], n);
            place = [x as u32, y as u32, layer - layer % 6 + face];
        } else {
            for i in 0..dims {
                let wrap = if self.op.cube { Wrap::ClampToEdge } else { self.sampler.wrap[i] };
                match wrapped(at[i], size[i].into(), wrap, nearest) {
                    Some(v) => place[i] = v as u32,
                    None => border = true,
                }
            }
        }
        let b = self.sampler.border;
        let edge = match self.sampler.border_bits {
            Some(bits) => bits,
            None if self.integer() => b.map(|v| v as i64 as u32),
            None => b.map(f32::to_bits),
        };
        let texel = if border { edge } else { self.fetch(cx, level, place, None)?.unwrap_or([0; 4]) };
        if !self.op.shadow {
            // The colour of the border is not sent through the sources of components.
            return Ok(if border { texel } else { self.texture.pick(texel) });
        }
        let depth = if border { texel[0] } else { texel[self.texture.texels.depth() & 3] };
        let v = self.compare(a, depth);
        let result = [v, v, v, 1f32.to_bits()];
        Ok(if border { result } else { self.texture.pick(result) })
    }

    /// Beyond the corner of a face there is no texel: the mean of the three that meet there.
    fn corner(
        &self,
        cx: &mut Cx<'_>,
        a: &Args,
        [x, y, _]: [i64; 3],
        layer: u32,
        level: usize,
    ) -> Result<Channels, Trap> {
        let n = i64::from(self.texture.levels.get(level).map_or(1, |l| l.size[0]));
        let [inner_x, inner_y] = [x, y].map(|v| v.clamp(0, n - 1));
        let mut sum = [0f32; 4];
        for at in [[inner_x, inner_y, 0], [inner_x, y, 0], [x, inner_y, 0]] {
            let t = self.tap(cx, a, at, layer, level, false)?;
            sum.iter_mut().zip(t).for_each(|(s, t)| *s += f32::from_bits(t));
        }
        Ok(sum.map(|s| canonical(s / 3.0)))
    }

    /// 1 or 0: what a comparison with a depth gives.
    fn compare(&self, a: &Args, depth: u32) -> u32 {
        let r = self.texture.texels.reference(f32::from_bits(a.reference));
        let d = f32::from_bits(depth);
        let hit = match self.sampler.compare.unwrap_or(Compare::Lequal) {
            Compare::Never => false,
            Compare::Less => r < d,
            Compare::Equal => r == d,
            Compare::Lequal => r <= d,
            Compare::Greater => r > d,
            Compare::Notequal => r != d,
            Compare::Gequal => r >= d,
            Compare::Always => true,
        };
        f32::from(u8::from(hit)).to_bits()
    }

    /// The four texels that linear filtering would read: (0,1), (1,1), (1,0), (0,0).
    fn gather(&self, cx: &mut Cx<'_>, a: &Args, component: u8, four: bool) -> Result<Channels, Trap> {
        let (coord, layer) = self.place(a);
        let size = self.texture.levels.first().map_or([1; 3], |l| l.size);
        let dims = if self.op.cube { 2 } else { usize::from(self.op.dims).min(2) };
        let mut out = [0; 4];
        for (k, (dx, dy)) in [(0, 1), (1, 1), (1, 0), (0, 0)].into_iter().enumerate() {
            let o = self.op.offsets(a, if four { k } else { 0 });
            let (dx, dy) = if four { (0, 0) } else { (dx, dy) };
            let texels = |i: usize, d: i64| {
                let scale = if self.scaled() { 1.0 } else { size[i] as f32 };
                let at = clamped(self.sampler.wrap[i], coord[i] * scale, size[i]);
                ((at - 0.5).floor() as i64).saturating_add(d + i64::from(o[i]))
            };
            let at = [texels(0, dx), if dims > 1 { texels(1, dy) } else { 0 }, 0];
            let t = self.tap(cx, a, at, layer, 0, false)?;
            out[k] = if self.op.shadow { t[0] } else { t[component as usize & 3] };
        }
        Ok(out)
    }
}

fn mix(x: u32, y: u32, f: f32) -> u32 {
    let (x, y) = (f32::from_bits(x), f32::from_bits(y));
    canonical(x + (y - x) * f)
}

/// The direction to a place on a face, whose coordinates go from -1 to 1: the inverse of [`cube_face`].
fn direction(face: u32, s: f64, t: f64) -> [f64; 3] {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The texel beside a texel outside one edge of a face of `n` by `n`: the face, and the place there.
fn across_edge(face: u32, [x, y]: [i64; 2], n: i64) -> (u32, [i64; 2]) {
    // From the middle of the texel at the edge, a quarter of a texel beyond it.
    let size = n as f64;
    let unit = |v: i64| {
        if v < 0 {
            -1.0
        } else if v >= n {
            1.0
        } else {
            (2 * v + 1) as f64 / size - 1.0
        }
    };
    let [dx, dy, dz] = direction(face, unit(x), unit(y));
    // On the edge two axes are as long as each other: the one that is not this face's decides.
    let own = face as usize / 2;
    let d = [dx, dy, dz];
    let axis = (0..3).find(|&i| i != own && d[i].abs() >= 1.0).unwrap_or(own);
    let other = 2 * axis as u32 + u32::from(d[axis] < 0.0);
    let (s, t) = match other {
        0 => (-dz, -dy),
        1 => (dz, -dy),
        2 => (dx, dz),
        3 => (dx, -dz),
        4 => (dx, -dy),
        _ => (-dx, -dy),
    };
    let texel = |v: f64| (((v + 1.0) / 2.0 * size).floor() as i64).clamp(0, n - 1);
    (other, [texel(s), texel(t)])
}

/// Where the direction `c` meets the face that `of` meets, from 0 to 1.
pub(super) fn on_face(of: [f32; 3], c: [f32; 3]) -> [f32; 3] {
    let [x, y, z] = c;
    let (s, t, major) = match cube_face(of).0 {
        0 => (-z, -y, x),
        1 => (z, -y, -x),
        2 => (x, z, y),
        3 => (x, -z, -y),
        4 => (x, -y, z),
        _ => (-x, -y, -z),
    };
    [0.5 * (s / major + 1.0), 0.5 * (t / major + 1.0), 0.0]
}

/// Face, coordinates on it and the magnitude of the major axis. Source: OpenGL 4.6, table 8.19.
fn cube_face([x, y, z]: [f32; 3]) -> (u32, f32, f32, f32) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    if ax >= ay && ax >= az {
        if x >= 0.0 { (0, -z, -y, ax) } else { (1, z, -y, ax) }
    } else if ay >= az {
        if y >= 0.0 { (2, x, z, ay) } else { (3, x, -z, ay) }
    } else if z >= 0.0 {
        (4, x, -y, az)
    } else {
        (5, -x, -y, az)
    }
}

/// The face that a direction meets, and the place on it, from 0 to 1.
pub(super) fn face_place(direction: [f32; 3]) -> (u32, [f32; 2]) {
    let (face, s, t, major) = cube_face(direction);
    (face, [s, t].map(|v| 0.5 * (v / major + 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_parts_and_weights_are_those_of_the_library() {
        let mut random = nvir_base::random::Random::new(5);
        let special =
            [0.0, -0.0, 0.5, -0.5, 255.998, 1e9, -1e9, 3e18, -3e18, f32::INFINITY, f32::NEG_INFINITY];
        let random = (0..100_000).map(|_| f32::from_bits(random.word() as u32)).filter(|v| !v.is_nan());
        let near = (0..100_000).map(|n| n as f32 / 512.0 - 60.0);
        for v in special.into_iter().chain(random).chain(near) {
            assert_eq!(floor(v), v.floor() as i64, "{v}");
            let want = ((v - v.floor()) * 256.0).round() / 256.0;
            assert!(weight(v) == want || want.is_nan() && (weight(v).is_nan() || v.is_infinite()), "{v}");
        }
    }

    #[test]
    fn coordinates_wrap_in_every_mode() {
        let of = |at, wrap| wrapped(at, 4, wrap, false);
        assert_eq!(of(-1, Wrap::Repeat), Some(3));
        assert_eq!(of(4, Wrap::MirroredRepeat), Some(3));
        assert_eq!(of(-1, Wrap::MirroredRepeat), Some(0));
        assert_eq!(of(-1, Wrap::ClampToBorder), None);
        assert_eq!(of(-3, Wrap::MirrorClampToEdge), Some(2));
        assert_eq!(of(9, Wrap::ClampToEdge), Some(3));
        assert_eq!((of(4, Wrap::Clamp), wrapped(4, 4, Wrap::Clamp, true)), (None, Some(3)));
        assert_eq!((of(-2, Wrap::MirrorClampToBorder), of(-6, Wrap::MirrorClampToBorder)), (Some(1), None));
        assert_eq!((of(-5, Wrap::MirrorClamp), wrapped(-5, 4, Wrap::MirrorClamp, true)), (None, Some(3)));
        assert_eq!((clamped(Wrap::Clamp, 9.5, 4), clamped(Wrap::MirrorClamp, -9.5, 4)), (4.0, 4.0));
    }

    #[test]
    fn directions_select_faces() {
        assert_eq!(cube_face([1.0, 0.0, 0.0]).0, 0);
        assert_eq!(cube_face([0.0, -2.0, 0.0]).0, 3);
        assert_eq!(cube_face([0.0, 0.5, -1.0]).0, 5);
    }

    #[test]
    fn an_edge_of_a_cube_leads_to_the_neighbour_and_back() {
        for n in [1, 2, 5] {
            for face in 0..6 {
                for v in 0..n {
                    for (from, to) in
                        [([-1, v], [0, v]), ([n, v], [n - 1, v]), ([v, -1], [v, 0]), ([v, n], [v, n - 1])]
                    {
                        let (other, at) = across_edge(face, from, n);
                        assert_ne!(other / 2, face / 2, "{face} {from:?}");
                        // One of the four neighbours of that texel is the one that we came from.
                        let back =
                            [[-1, 0], [1, 0], [0, -1], [0, 1]].map(|[dx, dy]| [at[0] + dx, at[1] + dy]);
                        let outside = back.into_iter().filter(|b| b.iter().any(|v| !(0..n).contains(v)));
                        assert!(
                            outside.map(|b| across_edge(other, b, n)).any(|b| b == (face, to)),
                            "{face} {from:?}"
                        );
                    }
                }
            }
        }
        // Right of +X lies -Z, from its left edge on.
        assert_eq!(across_edge(0, [4, 1], 4), (5, [0, 1]));
    }
}
