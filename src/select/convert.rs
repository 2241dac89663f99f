//! Conversions.

use super::operand::args;
use super::{Cx, Result, Unencodable};
use crate::ir::{Aux, Inst, Rnd, SrcKind, SrcMods, Type};
use crate::isa::{self, MInst, Mod, Operand, Sel};

fn type_mod(ty: Type) -> Result<Mod> {
    Ok(match ty {
        Type::U8 => Mod::U8,
        Type::S8 => Mod::S8,
        Type::U16 => Mod::U16,
        Type::S16 => Mod::S16,
        Type::F16 => Mod::F16,
        Type::U32 => Mod::U32,
        Type::S32 => Mod::S32,
        Type::F32 => Mod::F32,
        Type::U64 => Mod::U64,
        Type::S64 => Mod::S64,
        Type::F64 => Mod::F64,
        Type::Pred | Type::B96 | Type::B128 => return Err(Unencodable::Operation),
    })
}

/// Rounding of a result that is not integral.
fn fractional(m: MInst, rnd: Rnd) -> MInst {
    match rnd {
        Rnd::Near => m,
        Rnd::Down => m.with(Mod::Rm),
        Rnd::Up => m.with(Mod::Rp),
        Rnd::Zero => m.with(Mod::Rz),
    }
}

fn integral(rnd: Rnd) -> Option<Mod> {
    match rnd {
        Rnd::Near => None,
        Rnd::Down => Some(Mod::Floor),
        Rnd::Up => Some(Mod::Ceil),
        Rnd::Zero => Some(Mod::Trunc),
    }
}

impl Cx<'_> {
    pub(crate) fn cvt(&self, i: &Inst) -> Result<MInst> {
        let (to, from) = (type_mod(i.ty)?, type_mod(i.sty)?);
        let same = i.ty == i.sty;
        let m = match (i.ty.is_float(), i.sty.is_float()) {
            (true, true) => {
                let m = self.inst(isa::Op::F2f).with_if(i.ftz, Mod::Ftz).with(to).with(from);
                let m = match (same, i.aux == Aux::Integral) {
                    (true, true) => m.with(integral(i.rnd).unwrap_or(Mod::Round)),
                    (true, false) => m.with(Mod::Pass),
                    (false, false) => fractional(m, i.rnd),
                    (false, true) => return Err(Unencodable::Operation),
                };
                m.with_if(i.sat, Mod::Sat)
            }
            (false, true) => {
                let m = self.inst(isa::Op::F2i).with_if(i.ftz, Mod::Ftz).with(to).with(from);
                integral(i.rnd).into_iter().fold(m, MInst::with)
            }
            // I2F does not saturate, and the sign that it changes is the number's, also where the
            // bits have none.
            (true, false) if i.sat => return Err(Unencodable::Operation),
            (true, false) if i.srcs[0].mods != SrcMods::default() => return Err(Unencodable::Operand),
            (true, false) => fractional(self.inst(isa::Op::I2f).with(to).with(from), i.rnd),
            (false, false) => self.inst(isa::Op::I2i).with(to).with(from).with_if(i.sat, Mod::Sat),
        };
        // The field of a float has its upper bits, of which a half has none.
        if i.sty == Type::F16 && matches!(i.srcs[0].kind, SrcKind::Imm(_)) {
            return Err(Unencodable::Operand);
        }
        let mut s = self.arg(i, 0, if i.sty.is_float() { i.sty } else { Type::U32 })?;
        if let Aux::Byte(n) = i.aux {
            let part = match (i.sty.bytes(), n) {
                (_, 0) => Sel::Whole,
                (1, 1) => Sel::B1,
                (1, 2) => Sel::B2,
                (1, 3) => Sel::B3,
                (2, 1) => Sel::H1,
                _ => return Err(Unencodable::Operand),
            };
            match &mut s {
                Operand::Reg { sel, .. } | Operand::Const { sel, .. } => *sel = part,
                _ => return Err(Unencodable::Operand),
            }
        }
        Ok(args(m, [self.dst(i), s]))
    }
}
