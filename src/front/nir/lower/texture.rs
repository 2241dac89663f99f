//! Texture instructions.
//!
//! Which texture it is stands in the instruction; what kind it is (dimension, array) only in the newer printer's
//! form. In the older one it follows from the sampler variable that covers the number, or failing that from the
//! number of coordinates.

use super::super::alu::Base;
use super::super::ast::{self, Src};
use super::super::names::{TexOpcode, TexRole as Role};
use super::Lower;
use super::deref::Pointer;
use super::image::channel;
use crate::front::common::emit::value::{Comp, Word};
use crate::front::common::texture;
use crate::ir::{Dim, Op, Rnd, Tex, TexOp, TexRole, Type, ValueId};
use arrayvec::ArrayVec;

/// Dimension, and whether there are layers.
type Kind = (Dim, bool);

/// The operands of an instruction by what they are.
#[derive(Clone, Copy)]
struct Sources<'a>(&'a [(Role, Src)]);

impl<'a> Sources<'a> {
    fn get(self, role: Role) -> Option<&'a Src> {
        self.0.iter().find(|(r, _)| *r == role).map(|(_, src)| src)
    }
}

/// A texture or sampler: its number, and what is added to that.
struct Place {
    number: u16,
    index: Word,
}

impl Lower<'_, '_> {
    pub(super) fn texture(&mut self, tex: &ast::Tex) {
        let shape = self.dest_shape(&tex.dest);
        if tex.op == TexOpcode::SamplesIdentical {
            // "No" is always a right answer.
            return self.define(&tex.dest, &[Comp::constant(shape.bits, 0)]);
        }
        match self.texture_inst(tex, shape.comps) {
            Some(comps) if shape.bits == 16 && tex.ty.base == Base::Float => {
                let halves: ArrayVec<Comp, 16> =
                    comps.into_iter().map(|c| Comp::Word(self.e.half_of(c, Rnd::Near))).collect();
                self.define(&tex.dest, &halves);
            }
            Some(comps) => self.define(&tex.dest, &comps),
            None => self.define_undef(&tex.dest),
        }
    }

    fn texture_inst(&mut self, tex: &ast::Tex, comps: u8) -> Option<ArrayVec<Comp, 16>> {
        let srcs = Sources(self.fun.tex_srcs(tex.srcs));
        let coord = srcs.get(Role::Coord).map(|s| self.src_comps(s)).unwrap_or_default();
        let (texture, sampler, kind) = self.places(tex, srcs)?;
        let kind = kind.or_else(|| self.module.shader.sampler(texture.number.into()));
        let kind = texture_kind(tex.dim, kind, coord.len());
        let min_lod = srcs.get(Role::MinLod).map(|s| self.src_comp(s, 0));
        let op = self.operation(tex.op, min_lod.is_some())?;
        let all = (1u16 << comps.min(4)) - 1;
        let ty = channel(tex.ty.base);
        let mut t = Tex {
            shadow: srcs.get(Role::Comparator).is_some(),
            texture: texture.number,
            sampler: sampler.number,
            mask: if tex.op == TexOpcode::QueryLevels { 8 } else { all as u8 },
            component: tex.component,
            ..texture::access(op, kind, ty)
        };
        self.coordinates(&mut t, srcs, coord);
        self.levels(&mut t, srcs, min_lod);
        if op != TexOp::Fetch {
            self.texel_offsets(&mut t, tex.offsets, srcs.get(Role::Offset))?;
        }
        self.numbers(&mut t, srcs, texture.index, sampler.index)?;
        Some(texture::emit(&mut self.e.b, t).iter().map(|&v| Comp::Word(v.into())).collect())
    }

    // ---- which texture, and what kind it is

    /// The texture and the sampler, and the kind where derefs lead to variables.
    fn places(&mut self, tex: &ast::Tex, srcs: Sources<'_>) -> Option<(Place, Place, Option<Kind>)> {
        let mut texture = Place { number: tex.texture, index: Word::Imm(0) };
        let mut sampler = Place { number: tex.sampler, index: Word::Imm(0) };
        let mut kind = None;
        for (role, place) in [(Role::TextureDeref, &mut texture), (Role::SamplerDeref, &mut sampler)] {
            let Some(s) = srcs.get(role) else { continue };
            match self.pointer(s) {
                // Variables are named by binding.
                Some(Pointer::Opaque { binding, index, ty, .. }) => {
                    *place = Place { number: binding as u16, index };
                    kind = kind.or(self.module.shader.types.flattened(ty).0.opaque());
                }
                _ => {
                    self.error(s.span, "this is not a pointer to a sampler");
                    return None;
                }
            }
        }
        Some((texture, sampler, kind))
    }

    // ---- what is done with it

    fn operation(&mut self, op: TexOpcode, min_lod: bool) -> Option<TexOp> {
        let done = match op {
            // Without derivatives the level would be the bias or zero.
            TexOpcode::Tex | TexOpcode::Txb if min_lod => TexOp::Lod,
            TexOpcode::Tex => TexOp::Sample,
            TexOpcode::Txb => TexOp::Bias,
            TexOpcode::Txl => TexOp::Lod,
            TexOpcode::Txd => TexOp::Grad,
            TexOpcode::Txf | TexOpcode::TxfMs => TexOp::Fetch,
            TexOpcode::Tg4 => TexOp::Gather,
            TexOpcode::Txs | TexOpcode::QueryLevels => TexOp::Size,
            TexOpcode::TextureSamples => TexOp::Samples,
            TexOpcode::Lod => TexOp::LodQuery,
            TexOpcode::SamplesIdentical => return None,
        };
        if min_lod && done != TexOp::Lod {
            self.unsupported(self.span, format!("`{op}` with `min_lod` is not supported"));
            return None;
        }
        Some(done)
    }

    // ---- its operands

    /// Coordinates and the value to compare with, both divided by the projector.
    fn coordinates(&mut self, t: &mut Tex, srcs: Sources<'_>, coord: ArrayVec<Comp, 16>) {
        let coord = match srcs.get(Role::Offset) {
            Some(offset) if t.op == TexOp::Fetch => self.shifted(coord, t.array, offset),
            _ => coord,
        };
        if !coord.is_empty() {
            let mut values: Vec<ValueId> = Vec::new();
            for (i, c) in coord.iter().enumerate() {
                let layer = t.array && i + 1 == coord.len();
                let w = if layer { c.word() } else { self.projected(srcs, c.word()) };
                values.push(self.e.val(w));
            }
            t.operands.push((TexRole::Coord, values));
        }
        if let Some(s) = srcs.get(Role::Comparator) {
            let w = self.src_comp(s, 0).word();
            let w = self.projected(srcs, w);
            let v = self.e.val(w);
            t.operands.push((TexRole::Compare, vec![v]));
        }
    }

    /// A word divided by the projector, if there is one.
    fn projected(&mut self, srcs: Sources<'_>, w: Word) -> Word {
        let Some(q) = srcs.get(Role::Projector) else { return w };
        let q = self.src_comp(q, 0).word();
        self.e.quotient(32, false, w.into(), q.into()).word()
    }

    /// What chooses the level, and the sample.
    fn levels(&mut self, t: &mut Tex, srcs: Sources<'_>, min_lod: Option<Comp>) {
        for (from, role) in [
            (Role::Lod, TexRole::Lod),
            (Role::Bias, TexRole::Bias),
            (Role::Ddx, TexRole::Ddx),
            (Role::Ddy, TexRole::Ddy),
            (Role::Sample, TexRole::Sample),
        ] {
            let Some(s) = srcs.get(from) else { continue };
            if from == Role::Bias && t.op == TexOp::Lod {
                continue;
            }
            let comps = self.src_comps(s);
            let zero = comps.iter().all(|c| c.as_const() == Some(0));
            if from == Role::Lod && zero && matches!(t.op, TexOp::Lod | TexOp::Fetch) && t.dim != Dim::Buffer
            {
                t.level_zero = true;
                continue;
            }
            if from == Role::Lod && matches!(t.dim, Dim::Buffer | Dim::Ms) && t.op != TexOp::Size {
                continue;
            }
            let values = comps.iter().map(|c| self.e.val(c.word())).collect();
            t.operands.push((role, values));
        }
        if let Some(least) = min_lod {
            let bias = match srcs.get(Role::Bias) {
                Some(s) => self.src_comp(s, 0),
                None => Comp::constant(32, 0),
            };
            let level = self.e.op2(Op::Max, Type::F32, bias.word(), least.word());
            let level = self.e.val(level);
            t.operands.push((TexRole::Lod, vec![level]));
        }
        if t.op == TexOp::Size && srcs.get(Role::Lod).is_none() {
            let zero = self.e.val(Word::Imm(0));
            t.operands.push((TexRole::Lod, vec![zero]));
        }
    }

    /// What is added to the numbers of texture and sampler, or the handle that names both.
    fn numbers(&mut self, t: &mut Tex, srcs: Sources<'_>, texture: Word, sampler: Word) -> Option<()> {
        for (from, base, role) in [
            (Role::TextureOffset, texture, TexRole::Index),
            (Role::SamplerOffset, sampler, TexRole::SamplerIndex),
        ] {
            let w = match srcs.get(from) {
                Some(s) => self.src_comp(s, 0).word(),
                None => base,
            };
            match w {
                Word::Imm(n) if role == TexRole::Index => t.texture = t.texture.wrapping_add(n as u16),
                Word::Imm(n) => t.sampler = t.sampler.wrapping_add(n as u16),
                w => {
                    let v = self.e.val(w);
                    t.operands.push((role, vec![v]));
                }
            }
        }
        if let Some(s) = srcs.get(Role::TextureHandle).or(srcs.get(Role::SamplerHandle)) {
            self.needs_kepler("textures that a handle names")?;
            let c = self.src_comp(s, 0);
            let (lo, hi) = self.e.words64(c);
            let values = vec![self.e.val(lo), self.e.val(hi)];
            t.operands.push((TexRole::Handle, values));
        }
        if !matches!(
            t.op,
            TexOp::Sample | TexOp::Bias | TexOp::Lod | TexOp::Grad | TexOp::Gather | TexOp::LodQuery
        ) {
            t.operands.retain(|(role, _)| *role != TexRole::SamplerIndex);
        }
        Some(())
    }

    // ---- offsets

    /// A texel's coordinates moved by an offset.
    fn shifted(&mut self, mut coord: ArrayVec<Comp, 16>, array: bool, offset: &Src) -> ArrayVec<Comp, 16> {
        let offsets = self.src_comps(offset);
        let dimensions = coord.len() - usize::from(array && !coord.is_empty());
        for (c, offset) in coord.iter_mut().take(dimensions).zip(offsets) {
            *c = Comp::Word(self.e.op2(Op::Add, Type::U32, c.word(), offset.word()));
        }
        coord
    }

    /// Offsets from the place of the coordinates: of each of a gather's texels, or of all.
    fn texel_offsets(
        &mut self,
        t: &mut Tex,
        each: Option<[(i8, i8); 4]>,
        offset: Option<&Src>,
    ) -> Option<()> {
        if let Some(pairs) = each {
            let values = pairs.iter().flat_map(|&(x, y)| [i32::from(x) as u32, i32::from(y) as u32]);
            let values: Vec<ValueId> = values.map(|n| self.e.val(Word::Imm(n))).collect();
            t.operands.push((TexRole::Offset, values));
            return Some(());
        }
        let Some(s) = offset else { return Some(()) };
        let comps = self.src_comps(s);
        match texture::near_offset(comps.iter().map(|c| c.as_const().map(|n| n as u32))) {
            Some(offset) => t.offset = Some(offset).filter(|o| *o != [0; 3]),
            None if t.op == TexOp::Gather => {
                let values = comps.iter().map(|c| self.e.val(c.word())).collect();
                t.operands.push((TexRole::Offset, values));
            }
            None => {
                self.error(
                    s.span,
                    "only gathers and fetches take offsets that are not constants from -8 to 7",
                );
                return None;
            }
        }
        Some(())
    }
}

/// The kind of a texture, by what the instruction says, by its variable, or by the number of coordinates.
fn texture_kind(dim: Option<Dim>, variable: Option<Kind>, coords: usize) -> Kind {
    match (dim, variable) {
        // The layer is a coordinate more than the dimension has.
        (Some(dim), variable) if coords == 0 => (dim, variable.is_some_and(|(_, array)| array)),
        (Some(dim), _) => (dim, coords > dim.coordinates()),
        (None, Some(kind)) => kind,
        (None, None) => match coords {
            1 => (Dim::D1, false),
            3 => (Dim::D3, false),
            _ => (Dim::D2, false),
        },
    }
}
