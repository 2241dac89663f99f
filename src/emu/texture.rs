//! Texture instructions: operands by role, sampling, gathers, fetches and queries.
//!
//! Sources are runs of registers in the machine's order (see `lower::textures`); [`TexOp::args`] lists them flat. The
//! level of detail of a lookup without an explicit one is that of level zero.

use super::block::{Env, State};
use super::fault::FaultKind;
use super::image::{Compare, Dim, Filter, Image, MipFilter, Sampler, Wrap};
use super::inst::SINK;
use super::lanes::{Mask, Row, lanes};
use super::texel::{self, Channels};
use super::trap::Trap;
use super::warp::Warp;
use crate::Chip;

/// Where the level of detail comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lod {
    Implicit,
    Zero,
    Bias,
    Level,
}

/// What a texture instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TexKind {
    Sample(Lod),
    /// The level is an operand, or zero.
    Fetch {
        level: bool,
        ms: bool,
    },
    /// The component; four pairs of offsets.
    Gather {
        component: u8,
        four: bool,
    },
    Grad,
    /// Width, height, depth or layers, levels.
    QuerySize,
    /// The third component is the number of samples.
    QueryType,
    QueryLod,
}

/// A texture instruction.
#[derive(Clone, Debug)]
pub struct TexOp {
    pub kind: TexKind,
    /// Coordinates: 1, 2, 3; a cube has 3.
    pub dims: u8,
    pub cube: bool,
    pub array: bool,
    pub shadow: bool,
    pub offset: bool,
    /// `.B`: the texture is named by a register.
    pub indirect: bool,
    pub texture: u32,
    pub sampler: u32,
    pub mask: u8,
    pub dst: u8,
    /// Registers in the machine's order; [`SINK`] is zero.
    pub args: Vec<u8>,
}

/// The operands of one lane.
#[derive(Default)]
struct Args {
    layer: u32,
    coord: [u32; 3],
    sample: u32,
    lod: u32,
    offset: [u32; 2],
    reference: u32,
    derivatives: [u32; 4],
    texture: u32,
    sampler: u32,
}

impl TexOp {
    fn args_of(&self, env: &Env<'_>, w: &Warp, lane: usize) -> Args {
        let fermi = env.program.chip() == Chip::Gf100;
        let mut list = self.args.iter().map(|&r| if r == SINK { 0 } else { w.regs[r as usize].0[lane] });
        let mut next = || list.next().unwrap_or(0);
        let mut a = Args { texture: self.texture, sampler: self.sampler, ..Args::default() };
        let grad = self.kind == TexKind::Grad;
        let query = matches!(self.kind, TexKind::QuerySize | TexKind::QueryType);
        if fermi {
            if self.array && !query || self.indirect {
                let word = next();
                a.layer = word & 0xffff;
                if self.indirect {
                    (a.texture, a.sampler) = (word >> 23, word >> 16 & 0x7f);
                }
            }
        } else {
            let handle = if self.indirect {
                next()
            } else {
                let bank = env.banks.get(env.launch.texture_bank as usize);
                bank.map_or(0, |b| b.word(self.texture as usize * 4))
            };
            (a.texture, a.sampler) = (handle & 0xfffff, handle >> 20);
            if self.array && !query || grad && self.offset {
                let word = next();
                a.layer = word & 0xffff;
                if grad && self.offset {
                    a.offset[0] = word >> 16;
                }
            }
        }
        if query {
            a.lod = next();
            return a;
        }
        a.coord.iter_mut().take(self.dims.into()).for_each(|c| *c = next());
        if grad {
            if fermi && self.offset {
                a.offset[0] = next();
            }
            a.derivatives.iter_mut().take(usize::from(self.dims) * 2).for_each(|d| *d = next());
            return a;
        }
        if matches!(self.kind, TexKind::Fetch { ms: true, .. }) {
            a.sample = next();
        }
        if matches!(self.kind, TexKind::Sample(Lod::Bias | Lod::Level) | TexKind::Fetch { level: true, .. }) {
            a.lod = next();
        }
        if self.offset {
            a.offset[0] = next();
            if matches!(self.kind, TexKind::Gather { four: true, .. }) {
                a.offset[1] = next();
            }
        }
        if self.shadow {
            a.reference = next();
        }
        a
    }

    /// Signed texel offsets: nibbles, in gathers bytes.
    fn offsets(&self, a: &Args, pair: usize) -> [i32; 3] {
        if !self.offset {
            return [0; 3];
        }
        if matches!(self.kind, TexKind::Gather { .. }) {
            let half = a.offset[pair / 2] >> (16 * (pair % 2));
            return [half as u8 as i8 as i32, (half >> 8) as u8 as i8 as i32, 0];
        }
        std::array::from_fn(|i| (a.offset[0] << (28 - 4 * i)) as i32 >> 28)
    }
}

pub(super) fn execute(
    env: &Env<'_>,
    st: &mut State,
    w: &mut Warp,
    op: &TexOp,
    mask: Mask,
) -> Result<(), Trap> {
    let mut rows = [Row::ZERO; 4];
    for l in lanes(mask) {
        let args = op.args_of(env, w, l);
        let Some(image) = env.launch.textures.get(args.texture as usize).and_then(|t| t.as_ref()) else {
            let detail = format!("texture {} is not bound", args.texture);
            return Err(Trap::new(FaultKind::OutOfBounds, l, detail));
        };
        let sampler = env.launch.samplers.get(args.sampler as usize).copied().unwrap_or_default();
        let v = Lookup { env, image, sampler, op }.run(st, &args)?;
        rows.iter_mut().zip(v).for_each(|(row, v)| row.0[l] = v);
    }
    if op.dst != SINK {
        let written = (0..4).filter(|c| op.mask >> c & 1 != 0);
        for (i, c) in written.enumerate() {
            w.regs[op.dst as usize + i].blend(mask, &rows[c]);
        }
    }
    Ok(())
}

/// One lane's lookup. The faces of a cube are filtered each for itself: that filters go across their borders is a state of
/// the sampler (Kepler) or of the context (Fermi), which OpenGL leaves off (`TEXTURE_CUBE_MAP_SEAMLESS`).
struct Lookup<'a> {
    env: &'a Env<'a>,
    image: &'a Image,
    sampler: Sampler,
    op: &'a TexOp,
}

impl Lookup<'_> {
    fn run(&self, st: &mut State, a: &Args) -> Result<Channels, Trap> {
        match self.op.kind {
            TexKind::QuerySize => Ok(self.size(a.lod)),
            TexKind::QueryType => {
                let samples = if self.image.desc.dim == Dim::D2Ms { self.image.desc.size[2] } else { 1 };
                Ok([0, 0, samples, 0])
            }
            TexKind::QueryLod => Ok([0; 4]),
            TexKind::Fetch { .. } => {
                let o = self.op.offsets(a, 0);
                let mut at: [u32; 3] = std::array::from_fn(|i| a.coord[i].wrapping_add(o[i] as u32));
                if self.op.array {
                    at[2] = a.layer;
                }
                if self.image.desc.dim == Dim::D2Ms {
                    at[2] = a.sample;
                }
                let none = [0; 4];
                Ok(texel::fetch(self.env, st, self.image, a.lod as usize, at)?.unwrap_or(none))
            }
            TexKind::Gather { component, four } => self.gather(st, a, component, four),
            TexKind::Sample(lod) => {
                let lod = match lod {
                    Lod::Implicit | Lod::Zero => 0.0,
                    Lod::Bias | Lod::Level => f32::from_bits(a.lod),
                };
                self.sample(st, a, lod)
            }
            TexKind::Grad => {
                // The longer of the two footprints in texels decides.
                let size = self.image.levels.first().map_or([1; 3], |l| l.size);
                let length = |first: usize| {
                    (0..usize::from(self.op.dims))
                        .map(|i| {
                            let scale = if self.sampler.unnormalized { 1.0 } else { size[i] as f32 };
                            let d = f32::from_bits(a.derivatives[2 * i + first]) * scale;
                            d * d
                        })
                        .sum::<f32>()
                };
                self.sample(st, a, 0.5 * length(0).max(length(1)).log2())
            }
        }
    }

    fn size(&self, level: u32) -> Channels {
        let Some(l) = self.image.levels.get(level as usize) else {
            return [0, 0, 0, self.image.levels.len() as u32];
        };
        let depth = if self.image.desc.dim == Dim::D2Ms { 1 } else { l.size[2] };
        [l.size[0], l.size[1], depth, self.image.levels.len() as u32]
    }

    /// Coordinates of the face or plane that is sampled, and its layer.
    fn place(&self, a: &Args) -> ([f32; 3], u32) {
        let c = a.coord.map(f32::from_bits);
        if !self.op.cube {
            return (c, a.layer);
        }
        let (face, s, t, major) = cube_face(c);
        let to_unit = |v: f32| 0.5 * (v / major + 1.0);
        ([to_unit(s), to_unit(t), 0.0], a.layer * 6 + face)
    }

    fn sample(&self, st: &mut State, a: &Args, lod: f32) -> Result<Channels, Trap> {
        let s = &self.sampler;
        let lod = lod + s.lod_bias;
        let lod = if lod.is_nan() { 0.0 } else { lod.clamp(s.min_lod.min(s.max_lod), s.max_lod) };
        let filter = if lod > 0.0 { s.min } else { s.mag };
        let last = self.image.levels.len() as f32 - 1.0;
        let (coord, layer) = self.place(a);
        let mut one = |level: f32| self.plane(st, a, coord, layer, level.clamp(0.0, last) as usize, filter);
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

    fn integer(&self) -> bool {
        texel::is_integer(self.image.desc.format)
    }

    /// One level, filtered.
    fn plane(
        &self,
        st: &mut State,
        a: &Args,
        coord: [f32; 3],
        layer: u32,
        level: usize,
        filter: Filter,
    ) -> Result<Channels, Trap> {
        let size = self.image.levels.get(level).map_or([1; 3], |l| l.size);
        let dims = if self.op.cube { 2 } else { usize::from(self.op.dims) };
        let o = self.op.offsets(a, 0);
        let texels = |i: usize| {
            let scale = if self.sampler.unnormalized { 1.0 } else { size[i] as f32 };
            coord[i] * scale + o[i] as f32
        };
        if filter == Filter::Nearest || self.integer() {
            let at = std::array::from_fn(|i| if i < dims { texels(i).floor() as i64 } else { 0 });
            return self.tap(st, a, at, layer, level, dims);
        }
        let base: [f32; 3] = std::array::from_fn(|i| if i < dims { texels(i) - 0.5 } else { 0.0 });
        let low = base.map(|b| b.floor() as i64);
        let mut sum = [0f32; 4];
        for corner in 0..1usize << dims {
            let mut weight = 1.0;
            let mut at = low;
            for i in 0..dims {
                // Hardware weights have eight bits of fraction.
                let f = ((base[i] - base[i].floor()) * 256.0).round() / 256.0;
                if corner >> i & 1 != 0 {
                    at[i] += 1;
                    weight *= f;
                } else {
                    weight *= 1.0 - f;
                }
            }
            if weight != 0.0 {
                let t = self.tap(st, a, at, layer, level, dims)?;
                sum.iter_mut().zip(t).for_each(|(s, t)| *s += weight * f32::from_bits(t));
            }
        }
        Ok(sum.map(f32::to_bits))
    }

    /// One texel after wrapping, compared if the lookup compares.
    fn tap(
        &self,
        st: &mut State,
        a: &Args,
        at: [i64; 3],
        layer: u32,
        level: usize,
        dims: usize,
    ) -> Result<Channels, Trap> {
        let size = self.image.levels.get(level).map_or([1; 3], |l| l.size);
        let mut place = [0u32; 3];
        let mut border = false;
        for i in 0..dims {
            let wrap = if self.op.cube { Wrap::ClampToEdge } else { self.sampler.wrap[i] };
            match wrapped(at[i], size[i].into(), wrap) {
                Some(v) => place[i] = v as u32,
                None => border = true,
            }
        }
        if dims < 3 && (self.op.array || self.op.cube) {
            place[2] = layer.min(size[2].saturating_sub(1));
        }
        let b = self.sampler.border;
        let edge = if self.integer() { b.map(|v| v as i64 as u32) } else { b.map(f32::to_bits) };
        let t = if border {
            edge
        } else {
            texel::fetch(self.env, st, self.image, level, place)?.unwrap_or([0; 4])
        };
        if !self.op.shadow {
            return Ok(t);
        }
        let (r, d) = (f32::from_bits(a.reference), f32::from_bits(t[0]));
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
        let v = f32::from(u8::from(hit)).to_bits();
        Ok([v, v, v, 1f32.to_bits()])
    }

    /// The four texels that linear filtering would read: (0,1), (1,1), (1,0), (0,0).
    fn gather(&self, st: &mut State, a: &Args, component: u8, four: bool) -> Result<Channels, Trap> {
        let (coord, layer) = self.place(a);
        let size = self.image.levels.first().map_or([1; 3], |l| l.size);
        let dims = if self.op.cube { 2 } else { usize::from(self.op.dims).min(2) };
        let mut out = [0; 4];
        for (k, (dx, dy)) in [(0, 1), (1, 1), (1, 0), (0, 0)].into_iter().enumerate() {
            let o = self.op.offsets(a, if four { k } else { 0 });
            let (dx, dy) = if four { (0, 0) } else { (dx, dy) };
            let texels = |i: usize, d: i64| {
                let scale = if self.sampler.unnormalized { 1.0 } else { size[i] as f32 };
                (coord[i] * scale - 0.5).floor() as i64 + d + i64::from(o[i])
            };
            let at = [texels(0, dx), if dims > 1 { texels(1, dy) } else { 0 }, 0];
            let t = self.tap(st, a, at, layer, 0, dims)?;
            out[k] = if self.op.shadow { t[0] } else { t[component as usize & 3] };
        }
        Ok(out)
    }
}

fn mix(x: u32, y: u32, f: f32) -> u32 {
    let (x, y) = (f32::from_bits(x), f32::from_bits(y));
    (x + (y - x) * f).to_bits()
}

/// The texel that a coordinate wraps to; `None`: the border.
fn wrapped(at: i64, size: i64, wrap: Wrap) -> Option<i64> {
    match wrap {
        Wrap::Repeat => Some(at.rem_euclid(size)),
        Wrap::ClampToEdge => Some(at.clamp(0, size - 1)),
        Wrap::ClampToBorder => (0..size).contains(&at).then_some(at),
        Wrap::MirroredRepeat => {
            let m = at.rem_euclid(2 * size);
            Some(m.min(2 * size - 1 - m))
        }
        Wrap::MirrorClampToEdge => Some(at.max(-1 - at).clamp(0, size - 1)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_wrap_in_every_mode() {
        assert_eq!(wrapped(-1, 4, Wrap::Repeat), Some(3));
        assert_eq!(wrapped(4, 4, Wrap::MirroredRepeat), Some(3));
        assert_eq!(wrapped(-1, 4, Wrap::MirroredRepeat), Some(0));
        assert_eq!(wrapped(-1, 4, Wrap::ClampToBorder), None);
        assert_eq!(wrapped(-3, 4, Wrap::MirrorClampToEdge), Some(2));
        assert_eq!(wrapped(9, 4, Wrap::ClampToEdge), Some(3));
    }

    #[test]
    fn directions_select_faces() {
        assert_eq!(cube_face([1.0, 0.0, 0.0]).0, 0);
        assert_eq!(cube_face([0.0, -2.0, 0.0]).0, 3);
        assert_eq!(cube_face([0.0, 0.5, -1.0]).0, 5);
    }
}
