//! Conversions: `F2I.FTZ.U32.F32.TRUNC`, the destination's type first.

use super::{Decoder, Res};
use crate::code::micro::{Micro, NumType, Src2};
use crate::code::wideop::{Conv, WideOp};
use crate::state::lanes::Modifier;
use nvir_base::num::Round;
use nvir_base::num::conv::{Float, Int};
use nvir_isa::{Mod, Op, Operand, Sel, codec};

fn type_of(m: Mod) -> Option<NumType> {
    let int = |bits, signed| Some(NumType::Int(Int::new(bits, signed)));
    match m {
        Mod::U8 => int(8, false),
        Mod::S8 => int(8, true),
        Mod::U16 => int(16, false),
        Mod::S16 => int(16, true),
        Mod::U32 => int(32, false),
        Mod::S32 => int(32, true),
        Mod::U64 => int(64, false),
        Mod::S64 => int(64, true),
        Mod::F16 => Some(NumType::Float(Float::F16)),
        Mod::F32 => Some(NumType::Float(Float::F32)),
        Mod::F64 => Some(NumType::Float(Float::F64)),
        _ => None,
    }
}

/// The first bit of a part of a register.
pub(super) fn part(sel: Sel) -> Option<u8> {
    Some(match sel {
        Sel::Whole | Sel::B0 | Sel::H0 => 0,
        Sel::B1 => 8,
        Sel::B2 => 16,
        Sel::B3 => 24,
        Sel::H1 => 16,
        _ => return None,
    })
}

impl Decoder<'_> {
    pub(super) fn conversion(&mut self) -> Res<Micro> {
        let types: Vec<NumType> = self.m.mods.iter().filter_map(|m| type_of(*m)).collect();
        let [to, from] = types[..] else { return Err("a conversion needs two types") };
        let rounds = [
            (Mod::Round, Round::Rn),
            (Mod::Floor, Round::Rm),
            (Mod::Ceil, Round::Rp),
            (Mod::Trunc, Round::Rz),
        ];
        let to_integer = rounds.iter().find(|(m, _)| self.has(*m)).map(|r| r.1);
        let wide = to.bits() == 64;
        let dst = if wide { self.dst2()? } else { self.dst()? };
        let (mods, sel) = match self.peek() {
            Some(Operand::Reg { mods, sel, .. } | Operand::Const { mods, sel, .. }) => (mods, sel),
            Some(Operand::Imm { mods, .. }) => (mods, self.part_of_immediate()),
            _ => return Err("an operand is missing"),
        };
        let mut src = match self.peek() {
            // Kept as a float of 32 bits, as it is written; the instruction has 16.
            Some(Operand::Imm { bits: number, .. }) if from == NumType::Float(Float::F16) => {
                self.take()?;
                Src2 { lo: self.imm(codec::half_bits(number).into())?, ..Src2::ZERO }
            }
            _ if from.bits() == 64 => self.f64()?,
            _ => Src2 { lo: self.int()?, ..Src2::ZERO },
        };
        // The modifiers apply to the selected part in its own format.
        src.lo.modifier = Modifier::None;
        src.hi.modifier = Modifier::None;
        let conv = Conv {
            from,
            to,
            round: to_integer.unwrap_or(self.round()),
            to_integer: to_integer.is_some() && self.m.op == Op::F2f,
            ftz: self.has(Mod::Ftz),
            sat: self.has(Mod::Sat),
            neg: mods.neg,
            abs: mods.abs,
            shift: part(sel).ok_or("invalid part of a register")?,
        };
        Ok(Micro::Wide { op: WideOp::Convert(conv), dst, wide, src: [src, Src2::ZERO, Src2::ZERO] })
    }
}
