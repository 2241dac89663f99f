//! Float arithmetic.

use super::operand::{args, is_reg, negate_float, take_neg, wide_imm, zero};
use super::{Cx, Result, Unencodable};
use crate::ir::{Inst, Op, Rnd, Type};
use crate::isa::{self, MInst, Mod, Operand, Pred};

fn rounding(rnd: Rnd) -> Option<Mod> {
    match rnd {
        Rnd::Near => None,
        Rnd::Down => Some(Mod::Rm),
        Rnd::Up => Some(Mod::Rp),
        Rnd::Zero => Some(Mod::Rz),
    }
}

impl Cx<'_> {
    /// An operation with the common suffixes, `.FTZ` or `.FMZ` (which flushes, too: both are an
    /// illegal instruction), rounding and `.SAT`, and its operands.
    fn arithmetic<const N: usize>(&self, op: isa::Op, i: &Inst, operands: [Operand; N]) -> MInst {
        let zeroes = i.op == Op::MulZ;
        let mut m = self.inst(op).with_if(zeroes, Mod::Fmz).with_if(i.ftz && !zeroes, Mod::Ftz);
        if let Some(rounding) = rounding(i.rnd) {
            m.mods.push(rounding);
        }
        args(m.with_if(i.sat, Mod::Sat), operands)
    }

    /// `a + b` or `a - b`; `long` takes a 32-bit immediate.
    pub(crate) fn fadd(&self, i: &Inst, short: isa::Op, long: isa::Op, subtract: bool) -> Result<MInst> {
        let (mut a, mut b) = (self.arg(i, 0, i.ty)?, self.arg(i, 1, i.ty)?);
        if subtract {
            negate_float(&mut b);
        }
        // Beside a constant from memory, a zero is a register.
        if let (Operand::Const { .. }, Operand::Imm { bits, mut mods, .. }) = (&a, b)
            && bits << 1 == 0
        {
            mods.neg ^= bits != 0;
            b = zero(mods);
        }
        if !is_reg(&a) && is_reg(&b) {
            std::mem::swap(&mut a, &mut b);
        }
        let op = if wide_imm(&b) { long } else { short };
        Ok(self.arithmetic(op, i, [self.dst(i), a, b]))
    }

    /// `a * b`: the sign of the product stands on the first operand of the register forms, in the
    /// number of the immediate forms.
    pub(crate) fn fmul(&self, i: &Inst, short: isa::Op, long: isa::Op) -> Result<MInst> {
        let (mut a, mut b) = self.commuted(i, i.ty)?;
        let negative = take_neg(&mut a) != take_neg(&mut b);
        if negative {
            negate_float(if is_reg(&b) || !matches!(b, Operand::Imm { .. }) { &mut a } else { &mut b });
        }
        let op = if wide_imm(&b) { long } else { short };
        Ok(self.arithmetic(op, i, [self.dst(i), a, b]))
    }

    /// `a * b + c` with one rounding.
    pub(crate) fn ffma(&self, i: &Inst, op: isa::Op) -> Result<MInst> {
        let (mut a, mut b) = self.commuted(i, i.ty)?;
        let c = self.arg(i, 2, i.ty)?;
        if take_neg(&mut a) != take_neg(&mut b) {
            negate_float(if matches!(b, Operand::Imm { .. }) { &mut b } else { &mut a });
        }
        Ok(self.arithmetic(op, i, [self.dst(i), a, b, c]))
    }

    pub(crate) fn fminmax(&self, i: &Inst, op: isa::Op) -> Result<MInst> {
        if i.sat {
            return Err(Unencodable::Operation);
        }
        let (a, b) = self.commuted(i, i.ty)?;
        let which = Operand::Pred(if i.op == Op::Min { Pred::T } else { !Pred::T });
        Ok(args(self.inst(op).with_if(i.ftz, Mod::Ftz), [self.dst(i), a, b, which]))
    }

    pub(crate) fn mufu(&self, i: &Inst) -> Result<MInst> {
        let function = match i.op {
            Op::Rcp => Mod::Rcp,
            Op::Rsq => Mod::Rsq,
            Op::Sin => Mod::Sin,
            Op::Cos => Mod::Cos,
            Op::Ex2 => Mod::Ex2,
            Op::Lg2 => Mod::Lg2,
            Op::Rcp64h => Mod::Rcp64h,
            Op::Rsq64h => Mod::Rsq64h,
            _ => return Err(Unencodable::Operation),
        };
        if i.ty != Type::F32 && !matches!(i.op, Op::Rcp64h | Op::Rsq64h) {
            return Err(Unencodable::Operation);
        }
        let m = self.inst(isa::Op::Mufu).with(function).with_if(i.sat, Mod::Sat);
        Ok(args(m, [self.dst(i), self.arg(i, 0, Type::F32)?]))
    }

    pub(crate) fn rro(&self, i: &Inst) -> Result<MInst> {
        let m = self.inst(isa::Op::Rro).with(if i.op == Op::PreSin { Mod::Sincos } else { Mod::Ex2 });
        Ok(args(m, [self.dst(i), self.arg(i, 0, Type::F32)?]))
    }
}
