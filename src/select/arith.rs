//! Integer arithmetic. Only 32 bits: wider quantities are split before (lower/int64).

use super::operand::{args, is_const, is_reg, mods_of, take_neg, wide_imm};
use super::{Cx, Result, Unencodable};
use crate::chip::Chip;
use crate::ir::{Cond, Inst, Op, SrcKind, Type};
use crate::isa::{self, MInst, Mod, Operand, Pred};

fn word_sized(i: &Inst) -> Result<()> {
    if matches!(i.ty, Type::U32 | Type::S32) { Ok(()) } else { Err(Unencodable::Operation) }
}

impl Cx<'_> {
    /// Sums and differences. nvdisasm writes `ISUB x, y` for a difference of two registers, or of a
    /// register and a constant or immediate on either side.
    pub(crate) fn iadd(&self, i: &Inst) -> Result<MInst> {
        word_sized(i)?;
        let (mut a, mut b) = (self.arg(i, 0, i.ty)?, self.arg(i, 1, i.ty)?);
        let carries = self.carry_in(i) || i.dsts.len() > 1;
        let (neg_a, neg_b) = (take_neg(&mut a), take_neg(&mut b));
        // The machine adds the complement and one, or in place of the one the carry: that is
        // neither the carry nor the sum of a negated operand.
        if carries && (neg_a || neg_b) {
            return Err(Unencodable::Operand);
        }
        let neg_b = neg_b != matches!(i.op, Op::Sub | Op::SubSat);
        let saturates = i.sat || matches!(i.op, Op::AddSat | Op::SubSat);
        if mods_of(&mut a).is_some_and(|m| m.abs || m.inv) || mods_of(&mut b).is_some_and(|m| m.abs || m.inv)
        {
            return Err(Unencodable::Operand);
        }
        let finish = |op, a: Operand, b: Operand| {
            let m = self.inst(op).with_if(saturates, Mod::Sat).with_if(self.carry_in(i), Mod::X);
            Ok(args(m, [self.dst(i), a, b]))
        };
        match (neg_a, neg_b) {
            (true, true) => Err(Unencodable::Operand),
            (false, false) => {
                if !is_reg(&a) && is_reg(&b) {
                    std::mem::swap(&mut a, &mut b);
                }
                finish(if wide_imm(&b) { isa::Op::Iadd32i } else { isa::Op::Iadd }, a, b)
            }
            (neg_a, _) => {
                let (minuend, subtrahend) = if neg_a { (b, a) } else { (a, b) };
                match (minuend, subtrahend) {
                    // The negated number, unless the carry would differ, or there is none.
                    (x, Operand::Imm { bits, kind, mods })
                        if !(carries || saturates && bits == i32::MIN as u32) =>
                    {
                        let y = Operand::Imm { bits: bits.wrapping_neg(), kind, mods };
                        finish(if wide_imm(&y) { isa::Op::Iadd32i } else { isa::Op::Iadd }, x, y)
                    }
                    (x @ Operand::Imm { .. }, mut y) if wide_imm(&x) => {
                        if let Some(m) = mods_of(&mut y) {
                            m.neg = true;
                        }
                        finish(isa::Op::Iadd32i, y, x)
                    }
                    (x, y) => finish(isa::Op::Isub, x, y),
                }
            }
        }
    }

    pub(crate) fn imul(&self, i: &Inst) -> Result<MInst> {
        word_sized(i)?;
        let (a, b) = self.commuted(i, i.ty)?;
        let op = if wide_imm(&b) { isa::Op::Imul32i } else { isa::Op::Imul };
        let unsigned = i.ty == Type::U32;
        let m = self
            .inst(op)
            .with_if(unsigned, Mod::U32)
            .with_if(unsigned, Mod::U32)
            .with_if(i.op == Op::MulHi, Mod::Hi);
        Ok(args(m, [self.dst(i), a, b]))
    }

    pub(crate) fn imad(&self, i: &Inst) -> Result<MInst> {
        word_sized(i)?;
        let (mut a, mut b) = self.commuted(i, i.ty)?;
        let mut c = self.arg(i, 2, i.ty)?;
        if take_neg(&mut a) != take_neg(&mut b) {
            match &mut b {
                Operand::Imm { bits, .. } if i.op == Op::Mad => *bits = bits.wrapping_neg(),
                Operand::Imm { .. } => return Err(Unencodable::Operand),
                _ => mods_of(&mut a).ok_or(Unencodable::Operand)?.neg = true,
            }
        }
        // A negative product and a negative addend together are another operation (`.PO`).
        if mods_of(&mut a).is_some_and(|m| m.neg) && mods_of(&mut c).is_some_and(|m| m.neg) {
            return Err(Unencodable::Operand);
        }
        let unsigned = i.ty == Type::U32;
        let m = self
            .inst(isa::Op::Imad)
            .with_if(unsigned, Mod::U32)
            .with_if(unsigned, Mod::U32)
            .with_if(i.op == Op::MadHi, Mod::Hi)
            .with_if(i.sat, Mod::Sat)
            .with_if(self.carry_in(i), Mod::X);
        Ok(args(m, [self.dst(i), a, b, c]))
    }

    /// `(a << n) + c`.
    pub(crate) fn iscadd(&self, i: &Inst) -> Result<MInst> {
        word_sized(i)?;
        let SrcKind::Imm(n @ 0..32) = i.srcs[1].kind else { return Err(Unencodable::Operand) };
        if self.carry_in(i) {
            return Err(Unencodable::Operation);
        }
        let (a, c) = (self.arg(i, 0, i.ty)?, self.arg(i, 2, i.ty)?);
        let op = if wide_imm(&c) { isa::Op::Iscadd32i } else { isa::Op::Iscadd };
        Ok(args(self.inst(op), [self.dst(i), a, c, Operand::imm(n)]))
    }

    pub(crate) fn isad(&self, i: &Inst) -> Result<MInst> {
        word_sized(i)?;
        let (a, b) = self.commuted(i, i.ty)?;
        let m = self.inst(isa::Op::Isad).with_if(i.ty == Type::U32, Mod::U32);
        Ok(args(m, [self.dst(i), a, b, self.arg(i, 2, i.ty)?]))
    }

    pub(crate) fn iminmax(&self, i: &Inst) -> Result<MInst> {
        word_sized(i)?;
        let (a, b) = self.commuted(i, i.ty)?;
        let which = Operand::Pred(if i.op == Op::Min { Pred::T } else { !Pred::T });
        let m = self.inst(isa::Op::Imnmx).with_if(i.ty == Type::U32, Mod::U32);
        Ok(args(m, [self.dst(i), a, b, which]))
    }

    /// `a` if the predicate holds, else `b`; the machine takes a constant or immediate second only.
    pub(crate) fn sel(&self, i: &Inst) -> Result<MInst> {
        if i.ty.words() != 1 || i.ty == Type::Pred {
            return Err(Unencodable::Operation);
        }
        let (mut a, mut b) = (self.arg(i, 0, i.ty.unsigned())?, self.arg(i, 1, i.ty.unsigned())?);
        let mut p = self.pred(&i.srcs[2])?;
        if !is_reg(&a) && is_reg(&b) {
            std::mem::swap(&mut a, &mut b);
            p = !p;
        }
        Ok(args(self.inst(isa::Op::Sel), [self.dst(i), a, b, Operand::Pred(p)]))
    }

    /// `a` if `c cond 0`, else `b`.
    pub(crate) fn slct(&self, i: &Inst) -> Result<MInst> {
        let float = i.sty == Type::F32;
        if i.ty.words() != 1 || !matches!(i.sty, Type::F32 | Type::U32 | Type::S32) {
            return Err(Unencodable::Operation);
        }
        let (mut a, mut b) = (self.arg(i, 0, i.ty.unsigned())?, self.arg(i, 1, i.ty.unsigned())?);
        let c = self.arg(i, 2, i.sty)?;
        let mut cond = i.cond;
        if !is_reg(&a) && is_reg(&b) {
            std::mem::swap(&mut a, &mut b);
            cond = if float { cond.negate() } else { cond.negate().ordered() };
        }
        let op = if float { isa::Op::Fcmp } else { isa::Op::Icmp };
        // GK110's FCMP compares by "greater" where no condition is written, and has no name for it.
        let unwritten = float && self.chip == Chip::Gk110 && cond == Cond::Gt;
        let m = if unwritten { self.inst(op) } else { self.inst(op).with(super::operand::cond(cond)) };
        let m = m.with_if(i.sty == Type::U32, Mod::U32).with_if(float && i.ftz, Mod::Ftz);
        if is_const(&b) && is_const(&c) {
            return Err(Unencodable::Operand);
        }
        Ok(args(m, [self.dst(i), a, b, c]))
    }
}
