//! Images: loads, stores, atomics and sizes. What the machine makes of formats and layouts is a lowering pass's.

use super::memory::Resource;
use super::{Body, Parsed};
use crate::format::Format;
use crate::front::common::image;
use crate::front::tgsi::ast::*;
use crate::ir::{self, AtomOp, Dim, Op, Order, Surf, Type, ValueId};

/// The shape of a target.
pub(super) fn dim(target: Target) -> Dim {
    use Target::*;
    match target {
        Buffer => Dim::Buffer,
        D1 | Shadow1D | D1Array | Shadow1DArray => Dim::D1,
        D3 => Dim::D3,
        Cube | ShadowCube | CubeArray | ShadowCubeArray => Dim::Cube,
        D2Msaa | D2ArrayMsaa => Dim::Ms,
        D2 | Rect | Shadow2D | ShadowRect | D2Array | Shadow2DArray | Unknown => Dim::D2,
    }
}

impl Body<'_> {
    /// The declaration of an image operand.
    fn image_decl(&self, reg: &Reg) -> Option<(Target, Option<Format>)> {
        if reg.file != File::Image && reg.file != File::Res {
            return None;
        }
        match &self.cx.ast.decl(reg.file, reg.index.offset.max(0) as u32)?.kind {
            DeclKind::Image { target, format, .. } => Some((*target, *format)),
            DeclKind::Res { target, .. } => Some((*target, None)),
            _ => None,
        }
    }

    /// The common part of an image instruction; `address` is its coordinate operand.
    fn surface(
        &mut self,
        inst: &Inst<'_>,
        reg: &Reg,
        resource: Resource,
        address: Option<&Src>,
    ) -> Parsed<Surf> {
        let Resource::Image { number, index, handle, raw } = resource else {
            return Err(self.error("the operand is not an image", ""));
        };
        let memory = inst.memory.cloned().unwrap_or_default();
        let decl = self.image_decl(reg);
        let target = memory.target.or(decl.map(|d| d.0)).filter(|&t| t != Target::Unknown);
        let Some(target) = target else {
            return Err(self.error("the image's target is not known", "expected a target, e.g. `2D`"));
        };
        let format = memory.format.or(decl.and_then(|d| d.1));
        let mut coords = Vec::new();
        let mut sample = None;
        if let Some(address) = address {
            // The layer of an array follows the coordinates; a cube's third is its face.
            let array = target.is_array() && !target.is_cube();
            for c in 0..target.dims() + usize::from(array) {
                let s = self.operand(address, c, Ty::I32)?;
                coords.push(self.value(s));
            }
            if target.is_msaa() {
                let s = self.operand(address, 3, Ty::I32)?;
                sample = Some(self.value(s));
            }
        }
        let kind = (dim(target), target.is_array());
        let order = match (memory.volatile, memory.coherent) {
            (true, _) => Order::Volatile,
            (_, true) => Order::Coherent,
            _ => Order::Weak,
        };
        let mut surf =
            Surf { image: number, index, handle, coords, sample, ..image::access(kind, format, order) };
        if raw {
            surf.ty = Type::B128;
        }
        Ok(surf)
    }

    pub(super) fn image_load(&mut self, inst: &Inst<'_>, resource: Resource) -> Parsed<()> {
        let (dst, res) = (inst.dsts[0], inst.srcs[0]);
        let mut surf = self.surface(inst, &res.reg, resource, Some(&inst.srcs[1]))?;
        if surf.format.is_none() && surf.ty != Type::B128 {
            self.needs_kepler("loads from images whose format is not declared")?;
        }
        surf.mask = dst.comps().fold(0, |m, c| m | 1 << res.swizzle[c]);
        // A handle's swizzle says where the handle is, not what is loaded.
        let swizzle = if surf.handle.is_some() { [0, 1, 2, 3] } else { res.swizzle };
        if surf.handle.is_some() {
            surf.mask = dst.mask;
        }
        let mask = surf.mask;
        let values = image::emit(&mut self.b(), Op::Suld, surf, mask.count_ones() as usize);
        self.write_chosen(&dst, mask, swizzle, &values)
    }

    pub(super) fn image_store(&mut self, inst: &Inst<'_>, resource: Resource) -> Parsed<()> {
        let dst = inst.dsts[0];
        let mut surf = self.surface(inst, &dst.reg, resource, Some(&inst.srcs[0]))?;
        // A formatted store writes whole texels; a raw one as many words as its mask has.
        surf.mask = if surf.ty == Type::B128 { dst.mask } else { 0xf };
        for c in (0..4).filter(|c| surf.mask >> c & 1 != 0) {
            let s = self.operand(&inst.srcs[1], c, Ty::Any)?;
            surf.data.push(self.value(s));
        }
        image::emit(&mut self.b(), Op::Sust, surf, 0);
        Ok(())
    }

    pub(super) fn image_atomic(
        &mut self,
        inst: &Inst<'_>,
        resource: Resource,
        op: AtomOp,
        data: &[ir::Src],
    ) -> Parsed<ValueId> {
        let reg = inst.srcs[0].reg;
        let mut surf = self.surface(inst, &reg, resource, Some(&inst.srcs[1]))?;
        surf.atom = Some(op);
        surf.mask = 1;
        surf.ty = match inst.op {
            Opcode::ATOMIMIN | Opcode::ATOMIMAX => Type::S32,
            Opcode::ATOMFADD => Type::F32,
            _ => Type::U32,
        };
        surf.data = data.iter().filter_map(|s| s.as_val()).collect();
        Ok(image::emit(&mut self.b(), Op::Sured, surf, 1)[0])
    }

    pub(super) fn image_size(&mut self, inst: &Inst<'_>, resource: Resource) -> Parsed<()> {
        let (dst, reg) = (inst.dsts[0], inst.srcs[0].reg);
        let mut surf = self.surface(inst, &reg, resource, None)?;
        surf.mask = dst.mask;
        surf.ty = Type::U32;
        let values = image::emit(&mut self.b(), Op::Suq, surf, dst.mask.count_ones() as usize);
        self.write_chosen(&dst, dst.mask, [0, 1, 2, 3], &values)
    }
}
