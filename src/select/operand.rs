//! IR operands as machine operands.

use super::{Cx, Result, Unencodable};
use crate::ir::{Class, Cond, Inst, Src, SrcKind, Type, ValueId};
use crate::isa::{ImmKind, MInst, Mod, Operand, Pred, Reg, Sel, SrcMods};

const NO_MODS: SrcMods = SrcMods { neg: false, abs: false, inv: false };

/// RZ with modifiers.
pub(super) const fn zero(mods: SrcMods) -> Operand {
    Operand::Reg { reg: Reg::Z, mods, sel: Sel::Whole, cc: false }
}

/// A 32-bit immediate with its modifiers carried out.
fn fold(bits: u32, mods: SrcMods, kind: ImmKind) -> u32 {
    let mut x = bits;
    if mods.abs {
        x = if kind == ImmKind::Int { (x as i32).unsigned_abs() } else { x & 0x7fff_ffff };
    }
    if mods.neg {
        x = if kind == ImmKind::Int { x.wrapping_neg() } else { x ^ 0x8000_0000 };
    }
    if mods.inv { !x } else { x }
}

impl Cx<'_> {
    /// A source operand of type `ty`.
    pub(crate) fn src(&self, s: &Src, ty: Type) -> Result<Operand> {
        let kind = || match ty {
            Type::F32 => ImmKind::F32,
            Type::F64 => ImmKind::F64,
            _ => ImmKind::Int,
        };
        let immediate = |bits| match fold(bits, s.mods, kind()) {
            0 => zero(NO_MODS),
            bits => Operand::Imm { bits, kind: kind(), mods: NO_MODS },
        };
        Ok(match s.kind {
            SrcKind::Val(v) if self.func.class(v) != Class::Gpr => return Err(Unencodable::Operand),
            SrcKind::Val(v) | SrcKind::Pair([v, ..]) | SrcKind::Triple([v, ..]) | SrcKind::Quad([v, ..]) => {
                Operand::Reg { reg: Reg((self.reg)(v)), mods: s.mods, sel: Sel::Whole, cc: false }
            }
            SrcKind::Const { bank, offset } => {
                Operand::Const { bank, base: Reg::Z, offset: offset.into(), mods: s.mods, sel: Sel::Whole }
            }
            SrcKind::Imm(bits) => immediate(bits),
            // Only floats have 64-bit immediates, whose low word is zero.
            SrcKind::Imm64([0, high]) if high == 0 || ty == Type::F64 => immediate(high),
            SrcKind::Imm64(_) => return Err(Unencodable::Operand),
        })
    }

    /// Source `n` of an instruction, read as `ty`.
    pub(crate) fn arg(&self, i: &Inst, n: usize, ty: Type) -> Result<Operand> {
        self.src(i.srcs.get(n).ok_or(Unencodable::Operand)?, ty)
    }

    /// A predicate operand; an immediate is PT or its negation.
    pub(crate) fn pred(&self, s: &Src) -> Result<Pred> {
        match s.kind {
            SrcKind::Val(v) if self.func.class(v) == Class::Pred => {
                Ok(Pred { num: (self.reg)(v), not: s.mods.inv })
            }
            SrcKind::Imm(x) => Ok(Pred { not: (x == 0) != s.mods.inv, ..Pred::T }),
            _ => Err(Unencodable::Operand),
        }
    }

    /// Predicate source `n`, PT where there is none.
    pub(crate) fn pred_or_true(&self, i: &Inst, n: usize) -> Result<Operand> {
        Ok(Operand::Pred(match i.srcs.get(n) {
            Some(s) => self.pred(s)?,
            None => Pred::T,
        }))
    }

    fn class_of_dst(&self, i: &Inst, class: Class) -> Option<ValueId> {
        i.dsts.iter().copied().find(|&d| self.func.class(d) == class)
    }

    /// The first general destination, RZ if there is none; `.CC` if a carry is written too.
    pub(crate) fn dst(&self, i: &Inst) -> Operand {
        let (mut general, mut cc) = (None, false);
        for &d in &i.dsts {
            match self.func.class(d) {
                Class::Gpr => general = general.or(Some(d)),
                Class::Carry => cc = true,
                Class::Pred => {}
            }
        }
        let reg = general.map_or(Reg::Z, |d| Reg((self.reg)(d)));
        Operand::Reg { reg, mods: NO_MODS, sel: Sel::Whole, cc }
    }

    pub(crate) fn has_gpr_dst(&self, i: &Inst) -> bool {
        self.class_of_dst(i, Class::Gpr).is_some()
    }

    /// The first predicate destination, PT if there is none.
    pub(crate) fn pdst(&self, i: &Inst) -> Operand {
        Operand::Pred(Pred::new(self.class_of_dst(i, Class::Pred).map_or(7, |d| (self.reg)(d))))
    }

    /// Whether the last source is a carry.
    pub(crate) fn carry_in(&self, i: &Inst) -> bool {
        let last = i.srcs.last().and_then(Src::as_val);
        last.is_some_and(|v| self.func.class(v) == Class::Carry)
    }

    /// Sources 0 and 1, exchanged where only that puts a register first.
    pub(crate) fn commuted(&self, i: &Inst, ty: Type) -> Result<(Operand, Operand)> {
        let (a, b) = (self.arg(i, 0, ty)?, self.arg(i, 1, ty)?);
        Ok(if is_reg(&a) || !is_reg(&b) { (a, b) } else { (b, a) })
    }
}

pub(crate) fn is_reg(o: &Operand) -> bool {
    matches!(o, Operand::Reg { .. })
}

pub(super) fn is_const(o: &Operand) -> bool {
    matches!(o, Operand::Const { .. })
}

/// The bits of an immediate that the short forms, with 20 bits, cannot hold.
pub(crate) fn wide_imm(o: &Operand) -> bool {
    match *o {
        Operand::Imm { bits, kind: ImmKind::Int, .. } => {
            let x = bits as i32;
            !(-(1 << 19)..1 << 19).contains(&x)
        }
        Operand::Imm { bits, .. } => bits & 0xfff != 0,
        _ => false,
    }
}

/// The modifiers of a register or constant operand.
pub(crate) fn mods_of(o: &mut Operand) -> Option<&mut SrcMods> {
    match o {
        Operand::Reg { mods, .. } | Operand::Imm { mods, .. } | Operand::Const { mods, .. } => Some(mods),
        _ => None,
    }
}

/// Takes the negation off an operand; for an immediate it has been carried out already.
pub(crate) fn take_neg(o: &mut Operand) -> bool {
    mods_of(o).is_some_and(|m| std::mem::take(&mut m.neg))
}

/// Negates a float operand.
pub(crate) fn negate_float(o: &mut Operand) {
    match o {
        Operand::Imm { bits, .. } => *bits ^= 0x8000_0000,
        Operand::Reg { mods, .. } | Operand::Const { mods, .. } => mods.neg = !mods.neg,
        _ => {}
    }
}

/// The suffix of a comparison.
pub(super) fn cond(c: Cond) -> Mod {
    match c {
        Cond::Never => Mod::F,
        Cond::Lt => Mod::Lt,
        Cond::Eq => Mod::Eq,
        Cond::Le => Mod::Le,
        Cond::Gt => Mod::Gt,
        Cond::Ne => Mod::Ne,
        Cond::Ge => Mod::Ge,
        Cond::Num => Mod::Num,
        Cond::Nan => Mod::Nan,
        Cond::Ltu => Mod::Ltu,
        Cond::Equ => Mod::Equ,
        Cond::Leu => Mod::Leu,
        Cond::Gtu => Mod::Gtu,
        Cond::Neu => Mod::Neu,
        Cond::Geu => Mod::Geu,
        Cond::Always => Mod::T,
    }
}

/// Appends what a sequence of operands is.
#[inline(always)]
pub(super) fn args<const N: usize>(mut m: MInst, operands: [Operand; N]) -> MInst {
    for o in operands {
        m.operands.push(o);
    }
    m
}
