//! Texture instructions: which operands they take, and how many components these have by dimension and layers.

use super::super::alu::Base;
use super::super::ast::{Place, Shape, Src, Tex};
use super::super::names::{TexOpcode, TexRole as Role};
use super::{Checker, bits, number};
use crate::diag::Span;
use crate::ir::Dim;

/// What is known of the texture: the number of coordinates without the layer, and whether there is one.
#[derive(Clone, Copy, Default)]
struct Known {
    dim: Option<Dim>,
    array: Option<bool>,
    /// Of the instruction's coordinates.
    coords: Option<u8>,
}

impl Checker<'_, '_> {
    pub(super) fn texture(&mut self, tex: &Tex) {
        let srcs = self.fun.tex_srcs(tex.srcs);
        let known = self.kind(tex, srcs);
        let mut seen = 0u32;
        for (role, src) in srcs {
            if seen >> *role as u32 & 1 != 0 {
                self.error(src.span, || format!("`{role}` is given twice"));
            }
            seen |= 1 << *role as u32;
            let Some(found) = self.source(src) else { continue };
            self.texture_operand(tex, *role, src, found, known);
        }
        let has = |role: Role| seen >> role as u32 & 1 != 0;
        if tex.op != TexOpcode::Tg4 && (tex.component != 0 || tex.offsets.is_some()) {
            self.error(self.span, || {
                format!("only `tg4` has a component and four offsets, not `{}`", tex.op)
            });
        }
        if tex.offsets.is_some() && has(Role::Offset) {
            self.error(self.span, || "one offset and four offsets at once".into());
        }
        self.texture_result(tex, has(Role::Comparator), known);
    }

    /// Dimension and layers by the instruction, by the sampler's variable, and by the number of coordinates.
    fn kind(&mut self, tex: &Tex, srcs: &[(Role, Src)]) -> Known {
        let mut known = Known::default();
        let of = |role: Role| srcs.iter().find(|(r, _)| *r == role).map(|(_, src)| src);
        known.coords = of(Role::Coord).and_then(|src| self.node_shape(src)).map(|s| s.comps);
        let variable = match of(Role::TextureDeref).or(of(Role::SamplerDeref)) {
            Some(src) => self.deref_of(src).and_then(|d| self.shader.types.get(d.ty).opaque()),
            None if of(Role::TextureHandle).is_some() => None,
            None => {
                let shader = self.shader;
                *self.samplers.entry(tex.texture).or_insert_with(|| shader.sampler(tex.texture.into()))
            }
        };
        known.dim = tex.dim.or(variable.map(|(dim, _)| dim));
        // The newer form names the dimension alone: a layer is a coordinate more.
        known.array = match (tex.dim, known.coords) {
            (Some(dim), Some(coords)) => Some(coords > coordinates(dim)),
            _ => variable.map(|(_, array)| array),
        };
        known
    }

    /// The shape of a source whose definition is checked elsewhere.
    fn node_shape(&self, src: &Src) -> Option<Shape> {
        match src.place {
            Place::Ssa(number) => self.values.get(number).map(|v| v.shape),
            Place::Reg(reg) => self.registers.get(&reg.index).map(|r| r.shape),
        }
    }

    fn texture_operand(&mut self, tex: &Tex, role: Role, src: &Src, found: Shape, known: Known) {
        let allowed = match role {
            Role::Bias => matches!(tex.op, TexOpcode::Txb | TexOpcode::Tg4),
            Role::Lod => !matches!(tex.op, TexOpcode::Tex | TexOpcode::Txb | TexOpcode::Txd | TexOpcode::Lod),
            Role::Ddx | Role::Ddy => tex.op == TexOpcode::Txd,
            _ => true,
        };
        if !allowed {
            self.error(src.span, || format!("`{}` takes no `{role}`", tex.op));
        }
        let layer = u8::from(known.array == Some(true));
        let per_texel = known.coords.map(|n| n.saturating_sub(layer));
        let wanted = match role {
            Role::Coord => known.dim.map(|dim| coordinates(dim) + layer),
            Role::Ddx | Role::Ddy | Role::Offset => per_texel,
            Role::TextureDeref | Role::SamplerDeref => return self.texture_deref(src),
            _ => Some(1),
        };
        if let Some(wanted) = wanted.filter(|&n| n != found.comps) {
            self.error(src.span, || {
                format!("`{role}` must have {} here, not {}", number(wanted.into(), "component"), found.comps)
            });
        }
        let handle = matches!(role, Role::TextureHandle | Role::SamplerHandle);
        if found.bits != 32 && !(handle && found.bits == 64) {
            self.error(src.span, || format!("`{role}` must have 32 bits, not {}", found.bits));
        }
    }

    fn texture_deref(&mut self, src: &Src) {
        match self.deref_of(src) {
            Some(deref) if self.is_opaque(deref.ty) => {}
            Some(deref) => {
                let name = self.shader.types.name(deref.ty);
                self.error(src.span, || format!("`{name}` is not a texture or sampler"));
            }
            None => self.error(src.span, || "the pointer of a texture must be the result of a deref".into()),
        }
    }

    fn texture_result(&mut self, tex: &Tex, shadow: bool, known: Known) {
        let Some(found) = self.dest(&tex.dest) else { return };
        let span: Span = self.span;
        let size = if tex.ty.bits == 0 { 32 } else { tex.ty.bits };
        if found.bits != size {
            self.error(span, || format!("the result has {}, its type {size}", bits(found.bits)));
        }
        let integer = matches!(tex.ty.base, Base::Int | Base::Uint);
        let (wanted, fits) = match tex.op {
            TexOpcode::Txs | TexOpcode::QueryLevels | TexOpcode::TextureSamples => ("an integer", integer),
            TexOpcode::Lod => ("a float", tex.ty.base == Base::Float),
            TexOpcode::SamplesIdentical => ("a boolean", tex.ty.base == Base::Bool),
            _ => ("", true),
        };
        if !fits {
            self.error(span, || format!("the result of `{}` is {wanted}", tex.op));
        }
        let count = match tex.op {
            TexOpcode::Txs => known.dim.zip(known.array).map(|(dim, array)| {
                let sides = if dim == Dim::Cube { 2 } else { coordinates(dim) };
                sides + u8::from(array)
            }),
            TexOpcode::Lod => Some(2),
            TexOpcode::QueryLevels | TexOpcode::TextureSamples | TexOpcode::SamplesIdentical => Some(1),
            _ if shadow && tex.op != TexOpcode::Tg4 && found.comps == 1 => Some(1),
            _ => Some(4),
        };
        if let Some(count) = count.filter(|&n| n != found.comps) {
            self.error(span, || {
                let count = number(count.into(), "component");
                format!("the result of `{}` must have {count} here, not {}", tex.op, found.comps)
            });
        }
    }
}

/// Coordinates of a texel, without layer.
fn coordinates(dim: Dim) -> u8 {
    dim.coordinates() as u8
}
