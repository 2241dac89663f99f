//! Loads, stores, atomics and their ordering.

use super::operand::args;
use super::{Cx, Result, Unencodable};
use crate::chip::Chip;
use crate::ir::{AtomOp, Aux, Inst, MemRef, Order, Scope, Space, Type};
use crate::isa::{self, MInst, Mod, Operand, Reg, Sel, SrcMods};

/// The suffix for the size of an access, none for 32 bits.
fn size(ty: Type) -> Result<Option<Mod>> {
    Ok(match ty {
        Type::U8 => Some(Mod::U8),
        Type::S8 => Some(Mod::S8),
        Type::U16 | Type::F16 => Some(Mod::U16),
        Type::S16 => Some(Mod::S16),
        Type::U32 | Type::S32 | Type::F32 => None,
        Type::U64 | Type::S64 | Type::F64 => Some(Mod::B64),
        Type::B128 => Some(Mod::B128),
        Type::B96 | Type::Pred => return Err(Unencodable::Operation),
    })
}

impl Cx<'_> {
    pub(super) fn base(&self, mem: &MemRef) -> Reg {
        mem.base().first().map_or(Reg::Z, |&v| Reg((self.reg)(v)))
    }

    fn address(&self, mem: &MemRef) -> Operand {
        Operand::Mem { base: self.base(mem), offset: mem.offset }
    }

    pub(super) fn mem<'i>(&self, i: &'i Inst) -> Result<&'i MemRef> {
        i.mem.as_ref().ok_or(Unencodable::Operand)
    }

    pub(crate) fn ld(&self, i: &Inst) -> Result<MInst> {
        let mem = self.mem(i)?;
        if mem.space.is_attribute() {
            return self.ald(i, mem);
        }
        let size = size(i.ty)?;
        let op = match mem.space {
            Space::Global | Space::Generic => isa::Op::Ld,
            Space::Shared => isa::Op::Lds,
            Space::Local => isa::Op::Ldl,
            Space::Const => return self.ldc(i, mem),
            _ => return Err(Unencodable::Operation),
        };
        let mut m = self.inst(op);
        if op == isa::Op::Ld {
            m = m.with_if(mem.base().len() == 2, Mod::E);
            m = match mem.order {
                Order::Weak => m,
                Order::Coherent => m.with(Mod::Cg),
                Order::Volatile => m.with(Mod::Cv),
            };
        }
        let m = size.into_iter().fold(m, MInst::with);
        Ok(args(m, [self.dst(i), self.address(mem)]))
    }

    /// With a dynamic bank, its number stands in the high half of the register that gives the
    /// offset: lower/buffers has made [`MemRef::index`] that register.
    fn ldc(&self, i: &Inst, mem: &MemRef) -> Result<MInst> {
        let bank = u8::try_from(mem.buffer).map_err(|_| Unencodable::Operand)?;
        let m = size(i.ty)?.into_iter().fold(self.inst(isa::Op::Ldc), MInst::with);
        let (m, base) = match mem.index {
            None => (m, self.base(mem)),
            Some(_) if !mem.base().is_empty() => return Err(Unencodable::Operand),
            Some(both) => (m.with(Mod::Is), Reg((self.reg)(both))),
        };
        let c = Operand::Const { bank, base, offset: mem.offset, mods: SrcMods::default(), sel: Sel::Whole };
        Ok(args(m, [self.dst(i), c]))
    }

    pub(crate) fn st(&self, i: &Inst) -> Result<MInst> {
        let mem = self.mem(i)?;
        if matches!(mem.space, Space::Output | Space::PatchOutput) {
            return self.ast(i, mem);
        }
        let size = match i.ty {
            Type::S8 => Some(Mod::U8),
            Type::S16 => Some(Mod::U16),
            ty => size(ty)?,
        };
        let op = match mem.space {
            Space::Global | Space::Generic => isa::Op::St,
            Space::Shared => isa::Op::Sts,
            Space::Local => isa::Op::Stl,
            _ => return Err(Unencodable::Operation),
        };
        let mut m = self.inst(op);
        if op == isa::Op::St {
            m = m.with_if(mem.base().len() == 2, Mod::E);
            m = match mem.order {
                Order::Weak => m,
                Order::Coherent => m.with(Mod::Cg),
                Order::Volatile => m.with(Mod::Wt),
            };
        }
        let m = size.into_iter().fold(m, MInst::with);
        Ok(args(m, [self.address(mem), self.arg(i, 0, i.ty)?]))
    }

    /// Global atomics; without a destination the reduction, which returns nothing.
    pub(crate) fn atom(&self, i: &Inst) -> Result<MInst> {
        let mem = self.mem(i)?;
        let Aux::Atom(op) = i.aux else { return Err(Unencodable::Operand) };
        if !matches!(mem.space, Space::Global | Space::Generic) {
            return Err(Unencodable::Operation);
        }
        let function = match op {
            AtomOp::Add => Mod::Add,
            AtomOp::Min => Mod::Min,
            AtomOp::Max => Mod::Max,
            AtomOp::Inc => Mod::Inc,
            AtomOp::Dec => Mod::Dec,
            AtomOp::And => Mod::And,
            AtomOp::Or => Mod::Or,
            AtomOp::Xor => Mod::Xor,
            AtomOp::Exch => Mod::Exch,
            AtomOp::Cas => Mod::Cas,
            AtomOp::Load | AtomOp::Sub | AtomOp::Fmin | AtomOp::Fmax | AtomOp::Fadd => {
                return Err(Unencodable::Operation);
            }
        };
        let returns = self.has_gpr_dst(i) || op.returns();
        let m = self
            .inst(if returns { isa::Op::Atom } else { isa::Op::Red })
            .with_if(mem.base().len() == 2, Mod::E)
            .with(function);
        // The bitwise operations and inc, dec, exch and cas have no sign.
        let signed = matches!(op, AtomOp::Min | AtomOp::Max);
        let m = match i.ty {
            Type::S32 if signed => m.with(Mod::S32),
            Type::U32 | Type::S32 => m,
            Type::S64 if signed => m.with(Mod::S64),
            Type::U64 | Type::S64 => m.with(if op == AtomOp::Cas { Mod::B64 } else { Mod::U64 }),
            Type::F32 if op == AtomOp::Add => m.with(Mod::F32).with(Mod::Ftz).with(Mod::Rn),
            Type::F32 if matches!(op, AtomOp::Exch | AtomOp::Cas) => m,
            Type::F64 if op == AtomOp::Exch => m.with(Mod::U64),
            _ => return Err(Unencodable::Operation),
        };
        let address = self.address(mem);
        let data = self.arg(i, 0, Type::U32)?;
        let m = if returns { m.arg(self.dst(i)) } else { m };
        if op != AtomOp::Cas {
            return Ok(args(m, [address, data]));
        }
        // Compare and new value stand in consecutive registers, but for an RZ.
        let new = match (data, self.arg(i, 1, Type::U32)?) {
            (Operand::Reg { reg, .. }, Operand::Reg { reg: new, .. }) if reg != Reg::Z && new != Reg::Z => {
                Operand::reg(Reg(reg.0.wrapping_add(i.ty.words() as u8)))
            }
            (_, new) => new,
        };
        Ok(args(m, [address, data, new]))
    }

    /// Load a word of shared memory and lock it: value and success.
    pub(crate) fn ldslk(&self, i: &Inst) -> Result<MInst> {
        let mem = self.mem(i)?;
        let m = size(i.ty)?.into_iter().fold(self.inst(isa::Op::Ldslk), MInst::with);
        Ok(args(m, [self.pdst(i), self.dst(i), self.address(mem)]))
    }

    /// Store and unlock; on Kepler with a success that may fail.
    pub(crate) fn stul(&self, i: &Inst) -> Result<MInst> {
        let mem = self.mem(i)?;
        let fermi = self.chip == Chip::Gf100;
        let op = if fermi { isa::Op::Stsul } else { isa::Op::Stscul };
        let mut m = size(i.ty)?.into_iter().fold(self.inst(op), MInst::with);
        if !fermi {
            m = m.arg(self.pdst(i));
        }
        Ok(args(m, [self.address(mem), self.arg(i, 0, Type::U32)?]))
    }

    pub(crate) fn membar(&self, i: &Inst) -> Result<MInst> {
        let scope = match i.aux {
            Aux::Scope(Scope::Cta) => Mod::Cta,
            Aux::Scope(Scope::Gpu) => Mod::Gl,
            Aux::Scope(Scope::System) => Mod::Sys,
            _ => return Err(Unencodable::Operand),
        };
        Ok(self.inst(isa::Op::Membar).with(scope))
    }

    pub(crate) fn cctl(&self, i: &Inst) -> Result<MInst> {
        let mem = self.mem(i)?;
        let m = self.inst(isa::Op::Cctl);
        if mem.base().is_empty() && mem.offset == 0 {
            return Ok(m.with(Mod::Ivall).arg(Operand::Mem { base: Reg::Z, offset: 0 }));
        }
        Ok(m.with_if(mem.base().len() == 2, Mod::E).with(Mod::Iv).arg(self.address(mem)))
    }
}
