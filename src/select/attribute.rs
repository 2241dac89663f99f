//! Inputs and outputs of graphics stages, and what else only they do.
//!
//! Addresses that are computed: GF100 adds a register to the address; on Kepler the register holds
//! the whole address as the machine keeps it, which `attraddr` gives (`.PHYS` in GK110's SASS; on
//! GK104 the bit stays as Mesa 22.3.6 has it, `CodeEmitterNVC0::emitVFETCH`). IPA and per-patch
//! accesses add a register on all chips.

use super::operand::args;
use super::{Cx, Result, Unencodable};
use crate::chip::Chip;
use crate::ir::{Aux, EmitOp, Inst, InterpAt, InterpMode, MemRef, PixelOp, Space, Src, Type};
use crate::isa::{self, MInst, Mod, Operand, Pred, Reg};

impl Cx<'_> {
    fn attribute(&self, mem: &MemRef) -> Operand {
        Operand::Attr { base: self.base(mem), offset: mem.offset }
    }

    /// The modifiers that loads and stores have in common.
    fn access(&self, m: MInst, i: &Inst, mem: &MemRef) -> Result<MInst> {
        let patch = matches!(mem.space, Space::PatchInput | Space::PatchOutput);
        let physical = self.chip != Chip::Gf100 && !patch && !mem.base().is_empty();
        if physical && mem.offset != 0 {
            return Err(Unencodable::Operand);
        }
        let m = m.with_if(patch, Mod::P).with_if(physical && self.chip == Chip::Gk110, Mod::Phys);
        Ok(match i.ty.bytes() {
            4 => m,
            8 => m.with(Mod::B64),
            12 => m.with(Mod::B96),
            16 => m.with(Mod::B128),
            _ => return Err(Unencodable::Operation),
        })
    }

    fn vertex(&self, mem: &MemRef) -> Option<Operand> {
        mem.index.map(|v| Operand::reg(Reg((self.reg)(v))))
    }

    pub(crate) fn ald(&self, i: &Inst, mem: &MemRef) -> Result<MInst> {
        let output = matches!(mem.space, Space::Output | Space::PatchOutput);
        let m = self.access(self.inst(isa::Op::Ald).with_if(output, Mod::O), i, mem)?;
        let m = m.arg(self.dst(i)).arg(self.attribute(mem));
        Ok(self.vertex(mem).into_iter().fold(m, MInst::arg))
    }

    pub(crate) fn ast(&self, i: &Inst, mem: &MemRef) -> Result<MInst> {
        let m = self.access(self.inst(isa::Op::Ast), i, mem)?;
        let data = self.arg(i, 0, i.ty)?;
        let m = m.arg(self.attribute(mem)).arg(data);
        Ok(self.vertex(mem).into_iter().fold(m, MInst::arg))
    }

    pub(crate) fn al2p(&self, i: &Inst) -> Result<MInst> {
        let mem = self.mem(i)?;
        if self.chip == Chip::Gf100 {
            return Err(Unencodable::Operation);
        }
        let m = self.inst(isa::Op::Al2p).with_if(mem.space == Space::Output, Mod::O);
        let m = m.arg(self.dst(i)).arg(Operand::reg(self.base(mem)));
        // GK110 has forms without the offset where it is zero.
        let written = mem.offset != 0 || self.chip == Chip::Gk104;
        Ok(if written { m.arg(Operand::imm(mem.offset as u32)) } else { m })
    }

    pub(crate) fn vild(&self, i: &Inst) -> Result<MInst> {
        let n = i.srcs.first().and_then(Src::as_imm).ok_or(Unencodable::Operand)?;
        let base = match i.srcs.get(1) {
            Some(s) => Reg((self.reg)(s.as_val().ok_or(Unencodable::Operand)?)),
            None => Reg::Z,
        };
        Ok(args(self.inst(isa::Op::Vild), [self.dst(i), Operand::Mem { base, offset: n as i32 }]))
    }

    pub(crate) fn ipa(&self, i: &Inst) -> Result<MInst> {
        let Aux::Interp(how) = i.aux else { return Err(Unencodable::Operand) };
        let m = match how.mode {
            InterpMode::Linear | InterpMode::OverW => self.inst(isa::Op::Ipa).with(Mod::Pass),
            InterpMode::Perspective => self.inst(isa::Op::Ipa),
            InterpMode::Flat => self.inst(isa::Op::Ipa).with(Mod::Constant),
            InterpMode::Color => self.inst(isa::Op::Ipa).with(Mod::Sc),
        };
        let m = match how.at {
            InterpAt::Center => m,
            InterpAt::Centroid => m.with(Mod::Centroid),
            InterpAt::Offset => m.with(Mod::Offset),
        };
        let m = m.with_if(i.sat, Mod::Sat);
        let zero = Operand::reg(Reg::Z);
        let w = if i.srcs.is_empty() { zero } else { self.arg(i, 0, Type::U32)? };
        let m = args(m, [self.dst(i), self.attribute(self.mem(i)?), w]);
        match how.at {
            InterpAt::Offset => Ok(m.arg(self.arg(i, 1, Type::U32)?)),
            _ => Ok(m),
        }
    }

    /// The next vertex, from the one that is emitted and its stream.
    pub(crate) fn out(&self, i: &Inst) -> Result<MInst> {
        let Aux::Emit(what) = i.aux else { return Err(Unencodable::Operand) };
        let m = self.inst(isa::Op::Out).with(match what {
            EmitOp::Emit => Mod::Emit,
            EmitOp::Cut => Mod::Cut,
            EmitOp::EmitCut => Mod::EmitThenCut,
        });
        Ok(args(m, [self.dst(i), self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?]))
    }

    pub(crate) fn pixld(&self, i: &Inst) -> Result<MInst> {
        let Aux::Pixel(what) = i.aux else { return Err(Unencodable::Operand) };
        let m = self.inst(isa::Op::Pixld).with(match what {
            PixelOp::CoverageMask => Mod::Covmask,
            PixelOp::SampleOffset => Mod::Offset,
            PixelOp::SampleId => Mod::MyIndex,
        });
        let (base, offset) = match i.srcs.first() {
            None => (Reg::Z, 0),
            Some(s) => match (s.as_imm(), s.as_val()) {
                (Some(n @ 0..128), _) => (Reg::Z, n as i32),
                (_, Some(v)) => (Reg((self.reg)(v)), 0),
                _ => return Err(Unencodable::Operand),
            },
        };
        Ok(args(m, [self.dst(i), Operand::Mem { base, offset }]))
    }

    /// Until the driver says otherwise, the fact does not hold: it inverts the predicate where it
    /// does.
    pub(crate) fn sel_fact(&self, i: &Inst) -> Result<MInst> {
        let (holds, else_) = (self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?);
        Ok(args(self.inst(isa::Op::Sel), [self.dst(i), else_, holds, Operand::Pred(Pred::T)]))
    }
}
