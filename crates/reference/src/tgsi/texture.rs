//! Textures of the interpreter, as OpenGL 4.6 section 8 defines sampling. Compute programs have no derivatives of their
//! own: an implicit level of detail is that of level zero.

use super::thread::{Thread, illegal};
use super::{Block, Trap};
use nvir::emu::image::Compare;
use nvir::emu::{Dim, FaultKind, Filter, Image, MipFilter, Sampler, Wrap, texel};
use nvir::front::tgsi::ast::*;

/// A texture with the sampler that it is read through.
struct Lookup<'a> {
    image: &'a Image,
    sampler: &'a Sampler,
    target: Target,
    shadow: bool,
    coord: [f32; 3],
    layer: u32,
    reference: f32,
}

impl Thread<'_> {
    /// A lookup. `moved`: how far its coordinates move to the next pixel in x and in y, where it has an implicit level of detail
    /// by them.
    pub(super) fn texture(
        &mut self,
        block: &Block<'_>,
        inst: &Inst<'_>,
        moved: Option<[[f32; 3]; 2]>,
    ) -> Result<(), Trap> {
        use Opcode::*;
        let sample = inst.op.info().shape == Shape::Sample;
        let resources: Vec<&Src> = inst
            .srcs
            .iter()
            .zip(inst.op.info().srcs)
            .filter(|(_, t)| **t == Ty::Res)
            .map(|(s, _)| s)
            .collect();
        let view = resources[0];
        let (texture, own) = self.unit(block, view)?;
        let sampler = resources.get(1).map_or(Ok(own), |s| self.unit(block, s).map(|u| u.1))?;
        let bound = |n: usize| block.launch.textures.get(n).and_then(|t| t.as_ref());
        let Some((image, _)) = bound(texture) else {
            return Err(Trap(FaultKind::OutOfBounds, format!("texture {texture} is not bound")));
        };
        let unset = Sampler::default();
        let sampler = bound(sampler).map_or(&unset, |t| &t.1);
        let target = self.texture_target(block, inst, view)?;
        let extra = |n: usize, c: usize| self.operand32(block, inst, n, c).map(f32::from_bits);

        let samples = if image.desc.dim == Dim::D2Ms { image.desc.size[2] } else { 1 };
        let result = match inst.op {
            TXQ | SVIEWINFO => self.size(image, target, self.operand32(block, inst, 0, 0)?),
            TXQS => [samples; 4],
            SAMPLE_INFO => [samples, 0, 0, 0],
            LODQ | LOD => {
                let lookup = Lookup {
                    image,
                    sampler,
                    target,
                    shadow: false,
                    coord: [0.0; 3],
                    layer: 0,
                    reference: 0.0,
                };
                moved.map_or([0; 4], |m| lookup.levels(lookup.level_of(m)))
            }
            TXF | TXF_LZ | SAMPLE_I | SAMPLE_I_MS => self.fetch(block, inst, image, target)?,
            _ => {
                let coord = self.lookup_place(block, inst, target)?;
                let mut layer = 0;
                if target.is_array() {
                    layer = extra(0, target.dims())?.round_ties_even().clamp(0.0, 65535.0) as u32;
                }
                let shadow = target.is_shadow() || matches!(inst.op, SAMPLE_C | SAMPLE_C_LZ);
                let mut reference = match inst.op {
                    _ if !shadow => 0.0,
                    SAMPLE_C | SAMPLE_C_LZ => extra(3, 0)?,
                    TEX2 => extra(1, 0)?,
                    TG4 if target == Target::ShadowCubeArray => extra(1, 0)?,
                    TXB2 | TXL2 if target == Target::ShadowCubeArray => extra(1, 1)?,
                    _ if matches!(target, Target::Shadow2DArray | Target::ShadowCube) => extra(0, 3)?,
                    _ => extra(0, 2)?,
                };
                if inst.op == TXP {
                    reference /= extra(0, 3)?;
                }
                let lookup = Lookup { image, sampler, target, shadow, coord, layer, reference };
                let implicit = moved.map_or(0.0, |m| lookup.level_of(m));
                let offsets = self.texel_offsets(block, inst)?;
                let first = offsets.first().copied().unwrap_or_default();
                match inst.op {
                    TG4 | GATHER4 => {
                        let component = if inst.op == TG4 && !shadow {
                            self.operand32(block, inst, 1, 0)? as usize & 3
                        } else {
                            0
                        };
                        lookup.gather(block, component, &offsets)?
                    }
                    TXB | TXL => lookup.sample(block, implicit + extra(0, 3)?, first)?,
                    TXB2 | TXL2 => lookup.sample(block, implicit + extra(1, 0)?, first)?,
                    SAMPLE_B | SAMPLE_L => lookup.sample(block, implicit + extra(3, 0)?, first)?,
                    TXD | SAMPLE_D => {
                        let (dx, dy) = if inst.op == TXD { (1, 2) } else { (3, 4) };
                        let mut given = [[0.0f32; 3]; 2];
                        for (given, n) in given.iter_mut().zip([dx, dy]) {
                            for (c, x) in given.iter_mut().enumerate().take(target.dims()) {
                                *x = extra(n, c)?;
                            }
                        }
                        if target.is_cube() {
                            return Err(illegal("derivatives on a cube are not interpreted"));
                        }
                        lookup.sample(block, lookup.level_of(given), first)?
                    }
                    TEX | TEX2 | TEX_LZ | TXP | SAMPLE | SAMPLE_C | SAMPLE_C_LZ => {
                        lookup.sample(block, implicit, first)?
                    }
                    op => return Err(illegal(format!("{} is not interpreted", op.name()))),
                }
            }
        };
        // The swizzle of a view stands on what is read through it, not on its size.
        let swizzle = if sample && inst.op != SVIEWINFO { view.swizzle } else { [0, 1, 2, 3] };
        self.write_result(&inst.dsts[0], swizzle.map(|c| result[usize::from(c)]))
    }

    /// The coordinates of a lookup, after projection.
    fn lookup_place(&self, block: &Block<'_>, inst: &Inst<'_>, target: Target) -> Result<[f32; 3], Trap> {
        let mut coord = [0.0; 3];
        for (c, x) in coord.iter_mut().enumerate().take(target.dims()) {
            *x = f32::from_bits(self.operand32(block, inst, 0, c)?);
        }
        if inst.op == Opcode::TXP {
            let w = f32::from_bits(self.operand32(block, inst, 0, 3)?);
            coord = coord.map(|x| x / w);
        }
        Ok(coord)
    }

    /// How far the coordinates of a lookup move from a thread to another one; on a cube, on the face that this one's direction
    /// meets.
    pub(super) fn texture_moves(
        &self,
        block: &Block<'_>,
        inst: &Inst<'_>,
        from: &Thread<'_>,
        to: &Thread<'_>,
    ) -> Result<[f32; 3], Trap> {
        let view = inst.srcs.iter().zip(inst.op.info().srcs).find(|(_, t)| **t == Ty::Res);
        let view = view.ok_or_else(|| illegal("a lookup of no texture"))?.0;
        let target = self.texture_target(block, inst, view)?;
        let [mut a, mut b] = [from.lookup_place(block, inst, target)?, to.lookup_place(block, inst, target)?];
        if target.is_cube() {
            let (face, ..) = cube_face(self.lookup_place(block, inst, target)?);
            (a, b) = (on_face(face, a), on_face(face, b));
        }
        Ok(std::array::from_fn(|i| b[i] - a[i]))
    }

    /// The texture and sampler that an operand names: a unit, or a handle of both.
    fn unit(&self, block: &Block<'_>, s: &Src) -> Result<(usize, usize), Trap> {
        if matches!(s.reg.file, File::Samp | File::Sview) {
            let n = usize::try_from(self.index(&s.reg.index)).unwrap_or(usize::MAX);
            return Ok((n, n));
        }
        let handle = self.bits(block, &s.reg, s.swizzle[0].into())?;
        Ok((handle as usize & 0xfffff, handle as usize >> 20))
    }

    fn texture_target(&self, block: &Block<'_>, inst: &Inst<'_>, view: &Src) -> Result<Target, Trap> {
        let written = inst.texture.map_or(Target::Unknown, |t| t.target);
        let decl = block.launch.program.decl(File::Sview, view.reg.index.offset.max(0) as u32);
        match (written, decl.map(|d| &d.kind)) {
            (Target::Unknown, Some(DeclKind::View { target, .. })) => Ok(*target),
            (Target::Unknown, _) => Err(illegal("the texture's target is not known")),
            (t, _) => Ok(t),
        }
    }

    /// Width, height, depth or layers, levels.
    fn size(&self, image: &Image, target: Target, level: u32) -> [u32; 4] {
        let levels = image.levels.len() as u32;
        let Some(l) = image.levels.get(level as usize) else { return [0, 0, 0, levels] };
        let [w, h, d] = l.size;
        match target {
            _ if target.is_cube() && target.is_array() => [w, h, d / 6, levels],
            _ if target.is_array() && target.dims() == 1 => [w, d, d, levels],
            _ if target.is_msaa() => [w, h, 1, levels],
            _ => [w, h, d, levels],
        }
    }

    /// One texel by its integer place; outside, zeros.
    fn fetch(
        &self,
        block: &Block<'_>,
        inst: &Inst<'_>,
        image: &Image,
        target: Target,
    ) -> Result<[u32; 4], Trap> {
        let mut at = [0u32; 3];
        let offset = self.texel_offsets(block, inst)?.first().copied().unwrap_or_default();
        for (c, x) in at.iter_mut().enumerate().take(target.dims()) {
            *x = self.operand32(block, inst, 0, c)?.wrapping_add(offset[c] as u32);
        }
        if target.is_array() && target.dims() < 3 {
            at[2] = self.operand32(block, inst, 0, target.dims())?;
        }
        let mut level = 0;
        if inst.op == Opcode::SAMPLE_I_MS {
            at[2] = self.operand32(block, inst, 2, 0)?;
        } else if target.is_msaa() {
            at[2] = self.operand32(block, inst, 0, 3)?;
        } else if inst.op != Opcode::TXF_LZ && !matches!(target, Target::Buffer | Target::Rect) {
            level = self.operand32(block, inst, 0, 3)?;
        }
        Ok(read(block, image, level as usize, at)?.unwrap_or([0; 4]))
    }

    fn texel_offsets(&self, block: &Block<'_>, inst: &Inst<'_>) -> Result<Vec<[i32; 3]>, Trap> {
        let Some(texture) = inst.texture else { return Ok(Vec::new()) };
        let one = |s: &Src| {
            let mut o = [0; 3];
            for (c, o) in o.iter_mut().enumerate() {
                *o = self.bits(block, &s.reg, s.swizzle[c].into())? as i32;
            }
            Ok(o)
        };
        texture.offsets.iter().map(one).collect()
    }
}

/// The channels of a texel; none outside the level.
pub(super) fn read(
    block: &Block<'_>,
    image: &Image,
    level: usize,
    at: [u32; 3],
) -> Result<Option<[u32; 4]>, Trap> {
    let Some(place) = image.texel(level, at) else { return Ok(None) };
    let words = super::image::read(block, image.address + place, image.desc.format.bytes())?;
    Ok(Some(texel::decode(image.desc.format.layout(), words)))
}

/// OpenGL 4.6, table 8.19: face, s, t, and the major axis.
fn cube_face(c: [f32; 3]) -> (u32, f32, f32, f32) {
    let [x, y, z] = c;
    let [ax, ay, az] = c.map(f32::abs);
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

/// Where a direction meets the plane of a face, in units of its size.
fn on_face(face: u32, [x, y, z]: [f32; 3]) -> [f32; 3] {
    let (s, t, major) = match face {
        0 => (-z, -y, x),
        1 => (z, -y, -x),
        2 => (x, z, y),
        3 => (x, -z, -y),
        4 => (x, -y, z),
        _ => (-x, -y, -z),
    };
    [(s / major + 1.0) / 2.0, (t / major + 1.0) / 2.0, 0.0]
}

impl Lookup<'_> {
    /// The level of detail where coordinates move so far from pixel to pixel: the longer way in texels decides.
    fn level_of(&self, moved: [[f32; 3]; 2]) -> f32 {
        let size = self.image.levels[0].size;
        let square = |m: [f32; 3]| -> f32 {
            (0..self.dims()).map(|c| self.scaled(m[c], size[c], 0)).map(|length| length * length).sum()
        };
        let [x, y] = moved.map(square);
        0.5 * x.max(y).log2()
    }

    /// What a query of levels gives: the level that is looked up, and the level of detail before it is clamped.
    fn levels(&self, lod: f32) -> [u32; 4] {
        let s = self.sampler;
        let lod = lod + s.lod_bias;
        let last = (self.image.levels.len() - 1) as f32;
        let clamped = lod.max(s.min_lod.min(s.max_lod)).min(s.max_lod).max(0.0).min(last);
        let level = match s.mip {
            MipFilter::None => 0.0,
            MipFilter::Nearest => (clamped + 0.5).ceil() - 1.0,
            MipFilter::Linear => clamped,
        };
        [level.to_bits(), lod.to_bits(), 0, 0]
    }

    fn integer(&self) -> bool {
        texel::is_integer(self.image.desc.format.layout())
    }

    /// Dimensions of what is sampled: a cube's faces have two.
    fn dims(&self) -> usize {
        if self.target.is_cube() { 2 } else { self.target.dims() }
    }

    /// Where on which plane: coordinates and layer.
    fn plane(&self) -> ([f32; 3], u32) {
        if !self.target.is_cube() {
            return (self.coord, self.layer);
        }
        let (face, s, t, major) = cube_face(self.coord);
        // A cube beyond the last is the last, whatever its face.
        let cubes = (self.image.levels.first().map_or(6, |l| l.size[2]) / 6).max(1);
        ([(s / major + 1.0) / 2.0, (t / major + 1.0) / 2.0, 0.0], self.layer.min(cubes - 1) * 6 + face)
    }

    fn sample(&self, block: &Block<'_>, lod: f32, offset: [i32; 3]) -> Result<[u32; 4], Trap> {
        let s = self.sampler;
        let lod = lod + s.lod_bias;
        let lod = if lod.is_nan() { 0.0 } else { lod.max(s.min_lod.min(s.max_lod)).min(s.max_lod) };
        let filter = if lod > 0.0 { s.min } else { s.mag };
        let last = self.image.levels.len() - 1;
        let level = |l: f32| self.level(block, (l.max(0.0) as usize).min(last), filter, offset);
        match s.mip {
            MipFilter::None => level(0.0),
            MipFilter::Nearest => level((lod + 0.5).ceil() - 1.0),
            MipFilter::Linear => {
                let (near, f) = (lod.floor(), lod - lod.floor());
                let a = level(near)?;
                if lod <= 0.0 || lod >= last as f32 || self.integer() {
                    return Ok(a);
                }
                let b = level(near + 1.0)?;
                Ok(std::array::from_fn(|c| {
                    let (a, b) = (f32::from_bits(a[c]), f32::from_bits(b[c]));
                    (a + (b - a) * f).to_bits()
                }))
            }
        }
    }

    /// A coordinate in texels of a level.
    fn scaled(&self, coord: f32, size: u32, offset: i32) -> f32 {
        coord * if self.sampler.unnormalized { 1.0 } else { size as f32 } + offset as f32
    }

    fn level(
        &self,
        block: &Block<'_>,
        level: usize,
        filter: Filter,
        offset: [i32; 3],
    ) -> Result<[u32; 4], Trap> {
        let (coord, layer) = self.plane();
        let size = self.image.levels[level].size;
        let n = self.dims();
        let mut u = [0.0f32; 3];
        for c in 0..n {
            u[c] = self.scaled(coord[c], size[c], offset[c]);
        }
        if filter == Filter::Nearest || self.integer() {
            return self.texel(block, level, u.map(|u| u.floor() as i64), layer);
        }
        let low = u.map(|u| (u - 0.5).floor());
        // Weights have eight bits of fraction.
        let weight = |c: usize| ((u[c] - 0.5 - low[c]) * 256.0).round() / 256.0;
        let mut sum = [0.0f32; 4];
        for corner in 0..1usize << n {
            let high = |c: usize| corner >> c & 1 != 0;
            let w: f32 = (0..n).map(|c| if high(c) { weight(c) } else { 1.0 - weight(c) }).product();
            if w == 0.0 {
                continue;
            }
            let place = |c: usize| (low[c] as i64).saturating_add(high(c).into());
            let at = std::array::from_fn(|c| if c < n { place(c) } else { 0 });
            let t = self.texel(block, level, at, layer)?;
            sum.iter_mut().zip(t).for_each(|(s, t)| *s += w * f32::from_bits(t));
        }
        Ok(sum.map(f32::to_bits))
    }

    /// The texels around the place, from the lower left counterclockwise, or those at four offsets.
    fn gather(&self, block: &Block<'_>, component: usize, offsets: &[[i32; 3]]) -> Result<[u32; 4], Trap> {
        let (coord, layer) = self.plane();
        let size = self.image.levels[0].size;
        let n = self.dims().min(2);
        let mut out = [0; 4];
        for (k, (right, up)) in [(0, 1), (1, 1), (1, 0), (0, 0)].into_iter().enumerate() {
            let (offset, step) = match offsets {
                [] => ([0; 3], [right, up]),
                [one] => (*one, [right, up]),
                all => (all.get(k).copied().unwrap_or_default(), [0, 0]),
            };
            let mut at = [0i64; 3];
            for c in 0..n {
                let low = (self.scaled(coord[c], size[c], 0) - 0.5).floor() as i64;
                at[c] = low.saturating_add(step[c] + i64::from(offset[c]));
            }
            let t = self.texel(block, 0, at, layer)?;
            out[k] = t[if self.shadow { 0 } else { component }];
        }
        Ok(out)
    }

    /// A texel after wrapping; of a shadow lookup the comparison with it.
    fn texel(&self, block: &Block<'_>, level: usize, at: [i64; 3], layer: u32) -> Result<[u32; 4], Trap> {
        let size = self.image.levels[level].size;
        let n = self.dims();
        let mut place = [0; 3];
        let mut inside = true;
        for c in 0..n {
            let wrap = if self.target.is_cube() { Wrap::ClampToEdge } else { self.sampler.wrap[c] };
            let (x, size) = (at[c], i64::from(size[c]));
            let x = match wrap {
                Wrap::Repeat => x.rem_euclid(size),
                Wrap::ClampToEdge => x.clamp(0, size - 1),
                Wrap::ClampToBorder => {
                    inside &= (0..size).contains(&x);
                    x
                }
                Wrap::MirroredRepeat => {
                    let period = x.rem_euclid(2 * size);
                    if period < size { period } else { 2 * size - 1 - period }
                }
                // Tests name no others.
                Wrap::MirrorClampToEdge | Wrap::Clamp | Wrap::MirrorClampToBorder | Wrap::MirrorClamp => {
                    (if x < 0 { -1 - x } else { x }).min(size - 1)
                }
            };
            place[c] = x as u32;
        }
        if n < 3 && (self.target.is_array() || self.target.is_cube()) {
            place[2] = layer.min(size[2].saturating_sub(1));
        }
        let border = self.sampler.border;
        let t = if inside {
            read(block, self.image, level, place)?.unwrap_or([0; 4])
        } else if self.integer() {
            border.map(|b| b as i64 as u32)
        } else {
            border.map(f32::to_bits)
        };
        if !self.shadow {
            return Ok(t);
        }
        let (r, d) = (self.reference, f32::from_bits(t[0]));
        let passes = match self.sampler.compare.unwrap_or(Compare::Lequal) {
            Compare::Never => false,
            Compare::Always => true,
            Compare::Less => r < d,
            Compare::Lequal => r <= d,
            Compare::Greater => r > d,
            Compare::Gequal => r >= d,
            Compare::Equal => r == d,
            Compare::Notequal => r != d,
        };
        let v = f32::from(u8::from(passes)).to_bits();
        Ok([v, v, v, 1f32.to_bits()])
    }
}
