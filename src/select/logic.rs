//! Moves, bit operations, comparisons and predicates.

use super::operand::{args, cond, is_reg, wide_imm};
use super::{Cx, Result, Unencodable};
use crate::ir::{Aux, Inst, Logic, Op, Src, SrcKind, SrcMods, Type};
use crate::isa::{self, MInst, Mod, Operand, Pred, Reg};

fn logic(l: Logic) -> Mod {
    match l {
        Logic::And => Mod::And,
        Logic::Or => Mod::Or,
        Logic::Xor => Mod::Xor,
    }
}

fn logic_op(op: Op) -> Mod {
    match op {
        Op::And => Mod::And,
        Op::Or => Mod::Or,
        _ => Mod::Xor,
    }
}

const NOT: SrcMods = SrcMods { neg: false, abs: false, inv: true };

impl Cx<'_> {
    pub(crate) fn mov(&self, i: &Inst) -> Result<MInst> {
        if i.ty == Type::Pred {
            let p = Operand::Pred(self.pred(&i.srcs[0])?);
            let m = self.inst(isa::Op::Psetp).with(Mod::And).with(Mod::And);
            return Ok(args(
                m,
                [self.pdst(i), Operand::Pred(Pred::T), p, Operand::Pred(Pred::T), Operand::Pred(Pred::T)],
            ));
        }
        if i.ty.words() != 1 {
            return Err(Unencodable::Operation);
        }
        // A modifier of a number is one of its type: the sign of a float, not that of its bits.
        if let (SrcKind::Imm(_), true) = (i.srcs[0].kind, i.srcs[0].mods != SrcMods::default()) {
            let mut plain = i.clone();
            plain.srcs[0] = i.srcs[0].immediate(i.ty).ok_or(Unencodable::Operand)?;
            return self.mov(&plain);
        }
        let s = self.arg(i, 0, Type::U32)?;
        match i.srcs[0] {
            Src { kind: SrcKind::Imm(_), .. } if !is_reg(&s) => {
                Ok(args(self.inst(isa::Op::Mov32i), [self.dst(i), s]))
            }
            Src { mods, .. } if mods == NOT => self.complement(i, s),
            Src { mods, .. } if mods != SrcMods::default() && !is_reg(&s) => Err(Unencodable::Operand),
            _ => Ok(args(self.inst(isa::Op::Mov), [self.dst(i), s])),
        }
    }

    /// `~s`, where the operand carries the complement already.
    fn complement(&self, i: &Inst, s: Operand) -> Result<MInst> {
        Ok(args(self.inst(isa::Op::Lop).with(Mod::PassB), [self.dst(i), Operand::reg(Reg::Z), s]))
    }

    pub(crate) fn not(&self, i: &Inst) -> Result<MInst> {
        let flipped = i.srcs[0].inv();
        if i.ty == Type::Pred {
            let p = Operand::Pred(self.pred(&flipped)?);
            let t = Operand::Pred(Pred::T);
            let m = self.inst(isa::Op::Psetp).with(Mod::And).with(Mod::And);
            return Ok(args(m, [self.pdst(i), t, p, t, t]));
        }
        self.complement(i, self.src(&flipped, Type::U32)?)
    }

    pub(crate) fn lop(&self, i: &Inst) -> Result<MInst> {
        if i.ty.words() != 1 {
            return Err(Unencodable::Operation);
        }
        let (a, b) = self.commuted(i, Type::U32)?;
        let op = if wide_imm(&b) { isa::Op::Lop32i } else { isa::Op::Lop };
        Ok(args(self.inst(op).with(logic_op(i.op)), [self.dst(i), a, b]))
    }

    /// Logic on predicates.
    pub(crate) fn psetp(&self, i: &Inst) -> Result<MInst> {
        let (a, b) = (self.pred(&i.srcs[0])?, self.pred(&i.srcs[1])?);
        let m = self.inst(isa::Op::Psetp).with(logic_op(i.op)).with(Mod::And);
        let t = Operand::Pred(Pred::T);
        Ok(args(m, [self.pdst(i), t, Operand::Pred(a), Operand::Pred(b), t]))
    }

    pub(crate) fn shift(&self, i: &Inst) -> Result<MInst> {
        let left = i.op == Op::Shl;
        if !matches!(i.ty, Type::U32 | Type::S32) {
            return Err(Unencodable::Operation);
        }
        let m = self
            .inst(if left { isa::Op::Shl } else { isa::Op::Shr })
            .with_if(!left && i.ty == Type::U32, Mod::U32)
            .with_if(i.aux == Aux::Wrap, Mod::W);
        Ok(args(m, [self.dst(i), self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?]))
    }

    pub(crate) fn shf(&self, i: &Inst) -> Result<MInst> {
        let m =
            self.inst(isa::Op::Shf).with(if i.op == Op::ShfL { Mod::L } else { Mod::R }).with(match i.sty {
                Type::U64 => Mod::U64,
                Type::S64 => Mod::S64,
                _ => Mod::W,
            });
        Ok(args(
            m,
            [self.dst(i), self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?, self.arg(i, 2, Type::U32)?],
        ))
    }

    pub(crate) fn bfe(&self, i: &Inst) -> Result<MInst> {
        let m = self.inst(isa::Op::Bfe).with_if(i.ty == Type::U32, Mod::U32);
        Ok(args(m, [self.dst(i), self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?]))
    }

    pub(crate) fn bfi(&self, i: &Inst) -> Result<MInst> {
        let m = self.inst(isa::Op::Bfi);
        Ok(args(
            m,
            [self.dst(i), self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?, self.arg(i, 2, Type::U32)?],
        ))
    }

    /// The whole word, extracted in reverse.
    pub(crate) fn brev(&self, i: &Inst) -> Result<MInst> {
        let m = self.inst(isa::Op::Bfe).with(Mod::U32).with(Mod::Brev);
        Ok(args(m, [self.dst(i), self.arg(i, 0, Type::U32)?, Operand::imm(32 << 8)]))
    }

    /// The machine counts the ones of `a & b`.
    pub(crate) fn popc(&self, i: &Inst) -> Result<MInst> {
        let a = self.arg(i, 0, Type::U32)?;
        let b = if i.srcs.len() > 1 { self.arg(i, 1, Type::U32)? } else { a };
        Ok(args(self.inst(isa::Op::Popc), [self.dst(i), a, b]))
    }

    pub(crate) fn flo(&self, i: &Inst) -> Result<MInst> {
        let m = self
            .inst(isa::Op::Flo)
            .with_if(i.ty == Type::U32, Mod::U32)
            .with_if(i.aux == Aux::Shift, Mod::Sh);
        Ok(args(m, [self.dst(i), self.arg(i, 0, Type::U32)?]))
    }

    pub(crate) fn prmt(&self, i: &Inst) -> Result<MInst> {
        let m = self.inst(isa::Op::Prmt);
        Ok(args(
            m,
            [self.dst(i), self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?, self.arg(i, 2, Type::U32)?],
        ))
    }

    /// A comparison: into a predicate (`xSETP`) or a register (`xSET`).
    pub(crate) fn set(&self, i: &Inst) -> Result<MInst> {
        let (mut a, mut b) = (self.arg(i, 0, i.sty)?, self.arg(i, 1, i.sty)?);
        let mut c = i.cond;
        let carry = self.carry_in(i);
        if !is_reg(&a) && is_reg(&b) && !carry {
            std::mem::swap(&mut a, &mut b);
            c = c.swap();
        }
        let to_pred = i.ty == Type::Pred;
        let op = match (i.sty, to_pred) {
            (Type::F32, true) => isa::Op::Fsetp,
            (Type::F32, false) => isa::Op::Fset,
            (Type::F64, true) => isa::Op::Dsetp,
            (Type::F64, false) => isa::Op::Dset,
            (Type::U32 | Type::S32, true) => isa::Op::Isetp,
            (Type::U32 | Type::S32, false) => isa::Op::Iset,
            _ => return Err(Unencodable::Operation),
        };
        let third = Operand::Pred(i.srcs.get(2).map_or(Ok(Pred::T), |s| self.pred(s))?);
        let mut m = self.inst(op);
        let suffixes = [
            (!to_pred && i.ty == Type::F32).then_some(Mod::Bf),
            Some(cond(c)),
            (i.sty == Type::U32).then_some(Mod::U32),
            (i.sty == Type::F32 && i.ftz).then_some(Mod::Ftz),
            carry.then_some(Mod::X),
            Some(logic(i.logic)),
        ];
        suffixes.into_iter().flatten().for_each(|s| m.mods.push(s));
        if to_pred {
            m.operands.extend([self.pdst(i), Operand::Pred(Pred::T), a, b, third]);
        } else {
            m.operands.extend([self.dst(i), a, b, third]);
        }
        Ok(m)
    }
}
