//! Texture operations: operands by their roles, for each target.
//!
//! Coordinates come in the first components, the layer of an array after them; the reference of a shadow comparison
//! in z or w, or, with TEX2 and its kin, in the second operand; bias and level of detail in w, or in the second operand.

use super::image::dim;
use super::{Body, Parsed};
use crate::front::common::texture;
use crate::front::tgsi::ast::*;
use crate::ir::{Dim, Op, Tex, TexOp, TexRole, Type, ValueId};

impl Body<'_> {
    pub(super) fn texture(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        if matches!(inst.op, Opcode::SAMPLE_POS | Opcode::SAMP2HND) {
            return Err(self.no_lowering(inst, ""));
        }
        let sample = inst.op.info().shape == Shape::Sample;
        let written = inst.texture.map_or(Target::Unknown, |t| t.target);
        let resources: Vec<&Src> = inst
            .srcs
            .iter()
            .zip(inst.op.info().srcs)
            .filter(|(_, t)| **t == Ty::Res)
            .map(|(s, _)| s)
            .collect();
        let view = resources[0];
        let target = if written == Target::Unknown { self.view_target(&view.reg) } else { Some(written) };
        let Some(target) = target else {
            return Err(
                self.error("the texture's target is not known", "expected a declared SVIEW, or a target")
            );
        };
        let kind = (dim(target), target.is_array());
        let mut tex = texture::access(TexOp::Sample, kind, Type::F32);
        tex.shadow = target.is_shadow();
        self.bind(&mut tex, view, false)?;
        match resources.get(1) {
            Some(s) => self.bind(&mut tex, s, true)?,
            None if !sample => tex.sampler = tex.texture,
            None => {}
        }
        tex.ty = self.result_type(inst, view);
        self.fill(inst, target, &mut tex)?;
        self.offsets(inst, &mut tex)?;
        match inst.op {
            Opcode::SAMPLE_INFO => self.sample_info(inst, tex, view.swizzle),
            // The swizzle of a view stands on what is read through it, not on its size.
            Opcode::SVIEWINFO => self.emit(inst, tex, [0, 1, 2, 3]),
            _ => self.emit(inst, tex, if sample { view.swizzle } else { [0, 1, 2, 3] }),
        }
    }

    /// The number of samples, then zeros.
    fn sample_info(&mut self, inst: &Inst<'_>, mut tex: Tex, swizzle: [u8; 4]) -> Parsed<()> {
        tex.mask = 1;
        let samples = texture::emit(&mut self.b(), tex)[0];
        let none = self.b().mov(0u32);
        self.write_each(&inst.dsts[0], |c| Some(if swizzle[c] == 0 { samples } else { none }))
    }

    /// The target that a view is declared with.
    fn view_target(&self, reg: &Reg) -> Option<Target> {
        match self.view_decl(reg)? {
            (t, _) if t != Target::Unknown => Some(t),
            _ => None,
        }
    }

    fn view_decl(&self, reg: &Reg) -> Option<(Target, ReturnType)> {
        match self.cx.ast.decl(File::Sview, reg.index.offset.max(0) as u32)?.kind {
            DeclKind::View { target, returns } => Some((target, returns[0])),
            _ => None,
        }
    }

    fn result_type(&self, inst: &Inst<'_>, view: &Src) -> Type {
        match inst.op {
            Opcode::TXQ | Opcode::TXQS | Opcode::SVIEWINFO | Opcode::SAMPLE_INFO => return Type::U32,
            Opcode::LODQ | Opcode::LOD => return Type::F32,
            _ => {}
        }
        match self.view_decl(&view.reg) {
            Some((_, ReturnType::Uint)) => Type::U32,
            Some((_, ReturnType::Sint)) => Type::S32,
            _ => Type::F32,
        }
    }

    /// The texture or sampler that an operand names: a number, a dynamic number, or a bindless handle.
    fn bind(&mut self, tex: &mut Tex, s: &Src, sampler: bool) -> Parsed<()> {
        match s.reg.file {
            File::Samp | File::Sview => {
                let (number, dynamic) = self.resource(&s.reg.index)?;
                if sampler {
                    tex.sampler = number
                } else {
                    tex.texture = number
                }
                if let Some(v) = dynamic {
                    tex.operands
                        .push((if sampler { TexRole::SamplerIndex } else { TexRole::Index }, vec![v]));
                    if !sampler && s.reg.file == File::Samp {
                        tex.operands.push((TexRole::SamplerIndex, vec![v]));
                    }
                }
                Ok(())
            }
            File::Const | File::ConstBuf | File::Temp | File::Imm => {
                self.needs_kepler("bindless textures")?;
                let mut words = Vec::new();
                for c in 0..2 {
                    let w = self.bits(&s.reg, s.swizzle[c] as usize)?;
                    words.push(self.value(w));
                }
                tex.operands.push((TexRole::Handle, words));
                Ok(())
            }
            _ => Err(self.error_at(
                s.reg.span,
                format!("{} is not a texture", s.reg.file.name()),
                "expected SAMP or SVIEW, or a register with a handle",
            )),
        }
    }

    fn component_of(&mut self, src: &Src, c: usize, ty: Ty) -> Parsed<ValueId> {
        let s = self.operand(src, c, ty)?;
        Ok(self.value(s))
    }

    /// The coordinates and, for an array, the layer.
    fn coordinates(&mut self, src: &Src, target: Target, ty: Ty) -> Parsed<Vec<ValueId>> {
        let n = target.dims() + usize::from(target.is_array());
        (0..n).map(|c| self.component_of(src, c, ty)).collect()
    }

    /// Which component of the first operand holds the reference value.
    fn reference(target: Target) -> usize {
        use Target::*;
        match target {
            Shadow2DArray | ShadowCube => 3,
            _ => 2,
        }
    }

    /// The operands by their roles.
    fn fill(&mut self, inst: &Inst<'_>, target: Target, tex: &mut Tex) -> Parsed<()> {
        use Opcode::*;
        let s = &inst.srcs;
        let first = &s[0];
        let mut reference = tex.shadow.then(|| (*first, Self::reference(target)));
        // What is looked up, and the operand besides coordinates and reference that decides where.
        let (op, extra) = match inst.op {
            TXF | TXF_LZ | SAMPLE_I | SAMPLE_I_MS => return self.fetch(inst, target, tex),
            TXQ | SVIEWINFO => {
                tex.op = TexOp::Size;
                tex.operands.push((TexRole::Lod, vec![self.component_of(first, 0, Ty::I32)?]));
                return Ok(());
            }
            TXQS | SAMPLE_INFO => {
                tex.op = TexOp::Samples;
                return Ok(());
            }
            TXP => return self.projected(first, target, tex),
            LODQ | LOD => {
                reference = None;
                (TexOp::LodQuery, None)
            }
            TG4 | GATHER4 => (TexOp::Gather, None),
            TXD | SAMPLE_D => (TexOp::Grad, None),
            TXB => (TexOp::Bias, Some((TexRole::Bias, first, 3))),
            TXB2 => (TexOp::Bias, Some((TexRole::Bias, &s[1], 0))),
            SAMPLE_B => (TexOp::Bias, Some((TexRole::Bias, &s[3], 0))),
            TXL => (TexOp::Lod, Some((TexRole::Lod, first, 3))),
            TXL2 => (TexOp::Lod, Some((TexRole::Lod, &s[1], 0))),
            SAMPLE_L => (TexOp::Lod, Some((TexRole::Lod, &s[3], 0))),
            TEX_LZ | SAMPLE_C_LZ => (TexOp::Lod, None),
            _ => (TexOp::Sample, None),
        };
        tex.op = op;
        tex.level_zero = matches!(inst.op, TEX_LZ | SAMPLE_C_LZ);
        tex.operands.push((TexRole::Coord, self.coordinates(first, target, Ty::F32)?));
        if let Some((role, src, c)) = extra {
            tex.operands.push((role, vec![self.component_of(src, c, Ty::F32)?]));
        }
        match inst.op {
            TXD => self.gradients(&s[1], &s[2], target, tex)?,
            SAMPLE_D => self.gradients(&s[3], &s[4], target, tex)?,
            TEX2 => reference = Some((s[1], 0)),
            TXB2 | TXL2 if target == Target::ShadowCubeArray => reference = Some((s[1], 1)),
            TG4 if target == Target::ShadowCubeArray => reference = Some((s[1], 0)),
            TG4 => match self.operand(&s[1], 0, Ty::Any)?.as_imm() {
                Some(c) => tex.component = (c & 3) as u8,
                None if tex.shadow => {}
                None => {
                    return Err(
                        self.error("the component of a gather is not constant", "expected an immediate")
                    );
                }
            },
            SAMPLE_C | SAMPLE_C_LZ => {
                tex.shadow = true;
                reference = Some((s[3], 0));
            }
            _ => {}
        }
        if let Some((src, c)) = reference {
            let r = self.component_of(&src, c, Ty::F32)?;
            tex.operands.push((TexRole::Compare, vec![r]));
        }
        Ok(())
    }

    /// Texels by their numbers, of a level or a sample.
    fn fetch(&mut self, inst: &Inst<'_>, target: Target, tex: &mut Tex) -> Parsed<()> {
        let first = &inst.srcs[0];
        tex.op = TexOp::Fetch;
        tex.operands.push((TexRole::Coord, self.coordinates(first, target, Ty::I32)?));
        if inst.op == Opcode::SAMPLE_I_MS || target.is_msaa() {
            let (src, c) = if inst.op == Opcode::SAMPLE_I_MS { (&inst.srcs[2], 0) } else { (first, 3) };
            tex.operands.push((TexRole::Sample, vec![self.component_of(src, c, Ty::I32)?]));
            return Ok(());
        }
        tex.level_zero = inst.op == Opcode::TXF_LZ || matches!(target, Target::Buffer | Target::Rect);
        if !tex.level_zero {
            let level = self.operand(first, 3, Ty::I32)?;
            tex.level_zero = level.as_imm() == Some(0);
            if !tex.level_zero {
                tex.operands.push((TexRole::Lod, vec![self.value(level)]));
            }
        }
        Ok(())
    }

    /// Coordinates and reference divided by the fourth component.
    fn projected(&mut self, first: &Src, target: Target, tex: &mut Tex) -> Parsed<()> {
        let w = self.operand(first, 3, Ty::F32)?;
        let over = self.b().op1(Op::Rcp, Type::F32, w);
        let mut divided = |c: usize| -> Parsed<ValueId> {
            let s = self.operand(first, c, Ty::F32)?;
            Ok(self.b().mul(Type::F32, s, over))
        };
        let coords: Parsed<Vec<ValueId>> = (0..target.dims()).map(&mut divided).collect();
        tex.operands.push((TexRole::Coord, coords?));
        if tex.shadow {
            tex.operands.push((TexRole::Compare, vec![divided(2)?]));
        }
        Ok(())
    }

    fn gradients(&mut self, ddx: &Src, ddy: &Src, target: Target, tex: &mut Tex) -> Parsed<()> {
        for (role, src) in [(TexRole::Ddx, ddx), (TexRole::Ddy, ddy)] {
            let values: Parsed<Vec<ValueId>> =
                (0..target.dims()).map(|c| self.component_of(src, c, Ty::F32)).collect();
            tex.operands.push((role, values?));
        }
        Ok(())
    }

    /// Texel offsets: in the instruction where they are constant and small, otherwise an operand.
    fn offsets(&mut self, inst: &Inst<'_>, tex: &mut Tex) -> Parsed<()> {
        let Some(written) = inst.texture else { return Ok(()) };
        if written.offsets.is_empty() || matches!(tex.op, TexOp::Size | TexOp::Samples | TexOp::LodQuery) {
            return Ok(());
        }
        let n = match tex.dim {
            Dim::Buffer | Dim::D1 => 1,
            Dim::D3 => 3,
            _ => 2,
        };
        let mut all = Vec::new();
        for src in &written.offsets {
            for c in 0..n {
                all.push(self.operand(src, c, Ty::I32)?);
            }
        }
        match texture::near_offset(all.iter().map(|s| s.as_imm())) {
            Some(offset) if written.offsets.len() == 1 => tex.offset = Some(offset).filter(|o| *o != [0; 3]),
            _ => {
                let values = all.into_iter().map(|s| self.value(s)).collect();
                tex.operands.push((TexRole::Offset, values));
            }
        }
        Ok(())
    }

    /// Emits the operation and writes its results; `swizzle` is the view's.
    fn emit(&mut self, inst: &Inst<'_>, mut tex: Tex, swizzle: [u8; 4]) -> Parsed<()> {
        let dst = inst.dsts[0];
        let mask = dst.comps().fold(0, |m, c| m | 1 << swizzle[c]);
        tex.mask = mask;
        let values = texture::emit(&mut self.b(), tex);
        self.write_chosen(&dst, mask, swizzle, &values)
    }
}
