//! Texture instructions, after their lowering.

use super::operand::args;
use super::{Cx, Result, Unencodable};
use crate::chip::Chip;
use crate::ir::{Dim, Inst, Tex, TexOp, Type};
use crate::isa::{self, Kw, MInst, Mod, Operand};

fn target(t: &Tex) -> Kw {
    match (t.dim, t.array) {
        (Dim::Buffer | Dim::D1, false) => Kw::T1d,
        (Dim::Buffer | Dim::D1, true) => Kw::Array1d,
        (Dim::D2 | Dim::Ms, false) => Kw::T2d,
        (Dim::D2 | Dim::Ms, true) => Kw::Array2d,
        (Dim::D3, _) => Kw::T3d,
        (Dim::Cube, false) => Kw::Cube,
        (Dim::Cube, true) => Kw::ArrayCube,
    }
}

impl Cx<'_> {
    /// Destination, the runs of sources, then slots, target and component mask.
    pub(crate) fn tex(&self, i: &Inst) -> Result<MInst> {
        let t = i.tex().ok_or(Unencodable::Operand)?;
        if !t.operands.is_empty() {
            return Err(Unencodable::Operation);
        }
        let op = match t.op {
            TexOp::Sample | TexOp::Lod | TexOp::Bias => isa::Op::Tex,
            TexOp::Grad => isa::Op::Txd,
            TexOp::Fetch => isa::Op::Tld,
            TexOp::Gather => isa::Op::Tld4,
            TexOp::Size | TexOp::Samples => isa::Op::Txq,
            TexOp::LodQuery => isa::Op::Tmml,
        };
        let offsets = |m: MInst| m.with_if(t.machine_offsets, Mod::Aoffi);
        let m = self.inst(op);
        let m = match t.op {
            TexOp::Gather => m.with([Mod::R, Mod::G, Mod::B, Mod::A][usize::from(t.component & 3)]),
            _ => m,
        };
        let m = m.with_if(t.indirect, Mod::B);
        let m = match t.op {
            TexOp::Sample => offsets(m.with_if(t.level_zero, Mod::Lz)).with_if(t.shadow, Mod::Dc),
            TexOp::Lod if t.level_zero => offsets(m.with(Mod::Lz)).with_if(t.shadow, Mod::Dc),
            TexOp::Lod => offsets(m.with(Mod::Ll)).with_if(t.shadow, Mod::Dc),
            TexOp::Bias => offsets(m.with(Mod::Lb)).with_if(t.shadow, Mod::Dc),
            TexOp::Fetch => offsets(m.with(if t.level_zero { Mod::Lz } else { Mod::Ll }))
                .with_if(t.dim == Dim::Ms, Mod::Ms),
            TexOp::Gather => offsets(m).with_if(t.shadow, Mod::Dc),
            TexOp::Grad => offsets(m),
            TexOp::LodQuery => m.with(Mod::Lod),
            TexOp::Size | TexOp::Samples => m,
        };
        let mut m = m.with(Mod::P).arg(self.dst(i));
        for n in 0..i.srcs.len() {
            m = m.arg(self.arg(i, n, Type::U32)?);
        }
        // There is a first vector always, and a second one with GK110's derivatives.
        let vectors = if t.op == TexOp::Grad && self.chip == Chip::Gk110 { 2 } else { 1 };
        for _ in i.srcs.len()..vectors {
            m = m.arg(Operand::reg(isa::Reg::Z));
        }
        let query = match t.op {
            TexOp::Size => Some(Kw::TexHeaderDimension),
            TexOp::Samples => Some(Kw::TexHeaderTextureType),
            _ => None,
        };
        let m = query.map_or(m.clone(), |q| m.arg(Operand::Word(q)));
        let m = m.arg(Operand::imm(t.texture.into()));
        let m = if self.chip == Chip::Gk110 { m } else { m.arg(Operand::imm(t.sampler.into())) };
        let m = if query.is_none() { m.arg(Operand::Word(target(t))) } else { m };
        Ok(args(m, [Operand::imm(t.mask.into())]))
    }
}
