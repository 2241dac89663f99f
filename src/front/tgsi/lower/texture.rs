//! Texture operations: operands by their roles, for each target.
//!
//! Coordinates come in the first components, the layer of an array after them; the reference of a shadow comparison
//! in z or w, or, with TEX2 and its kin, in the second operand; bias and level of detail in w, or in the second operand.

use super::image::dim;
use super::{Body, Parsed};
use crate::diag::Diagnostic;
use crate::front::tgsi::ast::*;
use crate::ir::{Dim, Ext, Inst as IrInst, Op, Tex, TexOp, TexRole, Type, ValueId};

impl Body<'_> {
    pub fn texture(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        if matches!(inst.op, Opcode::SAMPLE_POS | Opcode::SAMP2HND) {
            return Err(self.unsupported(format!("{} is not supported", inst.op.name()), ""));
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
        let mut tex = Tex {
            op: TexOp::Sample,
            dim: dim(target),
            array: target.is_array(),
            shadow: target.is_shadow(),
            texture: 0,
            sampler: 0,
            mask: 0,
            component: 0,
            level_zero: false,
            offset: None,
            ty: Type::F32,
            operands: Vec::new(),
            indirect: false,
            machine_offsets: false,
        };
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
        let samples = self.b().gpr();
        let mut i = IrInst::new(Op::Tex, tex.ty).dst(samples);
        i.ext = Some(Box::new(Ext::Tex(tex)));
        self.b().push(i);
        let none = self.b().mov(0u32);
        for c in inst.dsts[0].comps() {
            self.write(&inst.dsts[0].reg, c, if swizzle[c] == 0 { samples } else { none })?;
        }
        Ok(())
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
            _ => Err(Box::new(
                Diagnostic::error(format!("{} is not a texture", s.reg.file.name()))
                    .at(s.reg.span, "expected SAMP or SVIEW, or a register with a handle"),
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

    fn fill(&mut self, inst: &Inst<'_>, target: Target, tex: &mut Tex) -> Parsed<()> {
        use Opcode::*;
        let first = &inst.srcs[0];
        let mut reference = tex.shadow.then(|| (*first, Self::reference(target)));
        let mut add = |role, values| tex.operands.push((role, values));
        match inst.op {
            TXF | TXF_LZ | SAMPLE_I | SAMPLE_I_MS => {
                add(TexRole::Coord, self.coordinates(first, target, Ty::I32)?);
                reference = None;
                tex.op = TexOp::Fetch;
                if inst.op == SAMPLE_I_MS {
                    let s = self.component_of(&inst.srcs[2], 0, Ty::I32)?;
                    tex.operands.push((TexRole::Sample, vec![s]));
                } else if target.is_msaa() {
                    let s = self.component_of(first, 3, Ty::I32)?;
                    tex.operands.push((TexRole::Sample, vec![s]));
                } else if inst.op == TXF_LZ || matches!(target, Target::Buffer | Target::Rect) {
                    tex.level_zero = true;
                } else {
                    let s = self.operand(first, 3, Ty::I32)?;
                    if s.as_imm() == Some(0) {
                        tex.level_zero = true;
                    } else {
                        tex.operands.push((TexRole::Lod, vec![self.value(s)]));
                    }
                }
            }
            TXQ | SVIEWINFO => {
                tex.op = TexOp::Size;
                tex.operands.push((TexRole::Lod, vec![self.component_of(first, 0, Ty::I32)?]));
                reference = None;
            }
            TXQS | SAMPLE_INFO => {
                tex.op = TexOp::Samples;
                reference = None;
            }
            LODQ | LOD => {
                tex.op = TexOp::LodQuery;
                add(TexRole::Coord, self.coordinates(first, target, Ty::F32)?);
                reference = None;
            }
            TG4 | GATHER4 => {
                tex.op = TexOp::Gather;
                add(TexRole::Coord, self.coordinates(first, target, Ty::F32)?);
                if inst.op == TG4 {
                    let s = self.operand(&inst.srcs[1], 0, Ty::Any)?;
                    if target == Target::ShadowCubeArray {
                        reference = Some((inst.srcs[1], 0));
                    } else if let Some(c) = s.as_imm() {
                        tex.component = (c & 3) as u8;
                    } else if !tex.shadow {
                        return Err(
                            self.error("the component of a gather is not constant", "expected an immediate")
                        );
                    }
                }
            }
            TXD => {
                tex.op = TexOp::Grad;
                add(TexRole::Coord, self.coordinates(first, target, Ty::F32)?);
                self.gradients(&inst.srcs[1], &inst.srcs[2], target, tex)?;
            }
            SAMPLE_D => {
                tex.op = TexOp::Grad;
                add(TexRole::Coord, self.coordinates(first, target, Ty::F32)?);
                self.gradients(&inst.srcs[3], &inst.srcs[4], target, tex)?;
            }
            TXP => {
                let w = self.operand(first, 3, Ty::F32)?;
                let over = self.b().op1(Op::Rcp, Type::F32, w);
                let mut coords = Vec::new();
                for c in 0..target.dims() {
                    let s = self.operand(first, c, Ty::F32)?;
                    coords.push(self.b().mul(Type::F32, s, over));
                }
                tex.operands.push((TexRole::Coord, coords));
                if tex.shadow {
                    let s = self.operand(first, 2, Ty::F32)?;
                    let r = self.b().mul(Type::F32, s, over);
                    tex.operands.push((TexRole::Compare, vec![r]));
                    reference = None;
                }
            }
            SAMPLE_B | SAMPLE_L | SAMPLE_C | SAMPLE_C_LZ => {
                add(TexRole::Coord, self.coordinates(first, target, Ty::F32)?);
                let extra = self.component_of(&inst.srcs[3], 0, Ty::F32)?;
                match inst.op {
                    SAMPLE_B => {
                        tex.op = TexOp::Bias;
                        tex.operands.push((TexRole::Bias, vec![extra]));
                    }
                    SAMPLE_L => {
                        tex.op = TexOp::Lod;
                        tex.operands.push((TexRole::Lod, vec![extra]));
                    }
                    _ => {
                        tex.shadow = true;
                        reference = Some((inst.srcs[3], 0));
                        if inst.op == SAMPLE_C_LZ {
                            tex.op = TexOp::Lod;
                            tex.level_zero = true;
                        }
                    }
                }
            }
            TEX2 | TXB2 | TXL2 => {
                add(TexRole::Coord, self.coordinates(first, target, Ty::F32)?);
                let x = self.component_of(&inst.srcs[1], 0, Ty::F32)?;
                match inst.op {
                    TEX2 => reference = Some((inst.srcs[1], 0)),
                    _ if target == Target::ShadowCubeArray => reference = Some((inst.srcs[1], 1)),
                    _ => {}
                }
                match inst.op {
                    TXB2 => {
                        tex.op = TexOp::Bias;
                        tex.operands.push((TexRole::Bias, vec![x]));
                    }
                    TXL2 => {
                        tex.op = TexOp::Lod;
                        tex.operands.push((TexRole::Lod, vec![x]));
                    }
                    _ => {}
                }
            }
            _ => {
                add(TexRole::Coord, self.coordinates(first, target, Ty::F32)?);
                match inst.op {
                    TXB => {
                        tex.op = TexOp::Bias;
                        tex.operands.push((TexRole::Bias, vec![self.component_of(first, 3, Ty::F32)?]));
                    }
                    TXL => {
                        tex.op = TexOp::Lod;
                        tex.operands.push((TexRole::Lod, vec![self.component_of(first, 3, Ty::F32)?]));
                    }
                    TEX_LZ => {
                        tex.op = TexOp::Lod;
                        tex.level_zero = true;
                    }
                    _ => {}
                }
            }
        }
        if let Some((src, c)) = reference {
            let r = self.component_of(&src, c, Ty::F32)?;
            tex.operands.push((TexRole::Compare, vec![r]));
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
        let Some(texture) = inst.texture else { return Ok(()) };
        if texture.offsets.is_empty() || matches!(tex.op, TexOp::Size | TexOp::Samples | TexOp::LodQuery) {
            return Ok(());
        }
        let n = match tex.dim {
            Dim::Buffer | Dim::D1 => 1,
            Dim::D3 => 3,
            _ => 2,
        };
        let mut all = Vec::new();
        for src in &texture.offsets {
            for c in 0..n {
                all.push(self.operand(src, c, Ty::I32)?);
            }
        }
        let constant: Option<Vec<i8>> = all
            .iter()
            .map(|s| s.as_imm().map(|x| x as i32).filter(|x| (-8..8).contains(x)).map(|x| x as i8))
            .collect();
        match constant {
            Some(list) if texture.offsets.len() == 1 => {
                let mut offset = [0; 3];
                offset[..n].copy_from_slice(&list);
                tex.offset = Some(offset).filter(|o| *o != [0; 3]);
            }
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
        tex.mask = dst.comps().fold(0, |m, c| m | 1 << swizzle[c]);
        let comps: Vec<u8> = (0..4).filter(|c| tex.mask >> c & 1 != 0).collect();
        let ty = tex.ty;
        let values: Vec<ValueId> = comps.iter().map(|_| self.b().gpr()).collect();
        let mut i = IrInst::new(Op::Tex, ty);
        i.dsts.extend(values.iter().copied());
        i.ext = Some(Box::new(Ext::Tex(tex)));
        self.b().push(i);
        for c in dst.comps() {
            if let Some(n) = comps.iter().position(|&x| x == swizzle[c]) {
                self.write(&dst.reg, c, values[n])?;
            }
        }
        Ok(())
    }
}
