//! Float arithmetic.

use super::{Decoder, Res};
use crate::code::compare::CmpOp;
use crate::code::laneop::{LaneOp, RowOp};
use crate::code::micro::{Bop, Cmp, FloatOp, Fp, Micro, SetDst, Src2};
use crate::code::wideop::WideOp;
use crate::state::lanes::Src;
use nvir_base::num::Round;
use nvir_base::num::mufu::Func;
use nvir_isa::{Mod, Op};

impl Decoder<'_> {
    pub(super) fn round(&self) -> Round {
        if self.has(Mod::Rm) {
            Round::Rm
        } else if self.has(Mod::Rp) {
            Round::Rp
        } else if self.has(Mod::Rz) {
            Round::Rz
        } else {
            Round::Rn
        }
    }

    /// FADD, FMUL, FFMA and their forms with a 32-bit immediate.
    pub(super) fn fma_like(&mut self) -> Res<Micro> {
        let op = match self.m.op {
            Op::Fadd | Op::Fadd32i => FloatOp::Add,
            Op::Fmul | Op::Fmul32i => FloatOp::Mul,
            _ => FloatOp::Fma,
        };
        let scale = [(Mod::D2, -1), (Mod::D4, -2), (Mod::D8, -3), (Mod::M2, 1), (Mod::M4, 2), (Mod::M8, 3)];
        let fp = Fp {
            round: self.round(),
            ftz: self.has(Mod::Ftz),
            fmz: self.has(Mod::Fmz),
            sat: self.has(Mod::Sat),
            scale: scale.iter().find(|(m, _)| self.has(*m)).map_or(0, |s| s.1),
        };
        let dst = self.dst()?;
        let a = self.f32()?;
        let b = self.f32()?;
        let c = if op == FloatOp::Fma { self.f32()? } else { Src::ZERO };
        let src = [a, b, c];
        let plain = Fp { ftz: fp.ftz, ..Fp::default() };
        let op = match op {
            _ if fp != plain => LaneOp::Float(op, fp),
            FloatOp::Add => LaneOp::FAdd { ftz: fp.ftz },
            FloatOp::Mul => LaneOp::FMul { ftz: fp.ftz },
            FloatOp::Fma => LaneOp::FFma { ftz: fp.ftz },
        };
        Ok(Micro::lane(op, dst, src))
    }

    pub(super) fn float_misc(&mut self) -> Res<Micro> {
        let ftz = self.has(Mod::Ftz);
        match self.m.op {
            Op::Fmnmx => {
                let dst = self.dst()?;
                let src = [self.f32()?, self.f32()?];
                let pick = self.psrc_or_true()?;
                let [min, max] = [LaneOp::FMin { ftz }, LaneOp::FMax { ftz }].map(RowOp::new);
                Ok(Micro::MinMax { dst, src, min, max, pick })
            }
            Op::Fset | Op::Fsetp => {
                let dst = self.set_dst(self.m.op == Op::Fset)?;
                let (a, b) = (self.f32()?, self.f32()?);
                let op = CmpOp::Float { test: self.test(), ftz };
                self.set(dst, Cmp::Rows { op, a, b })
            }
            Op::Fcmp => {
                let dst = self.dst()?;
                let (a, b, c) = (self.f32()?, self.f32()?, self.f32()?);
                // GK110's form has no name for "greater", which nvdisasm leaves out.
                let op = LaneOp::FSel { test: self.test_or(Mod::Gt), ftz };
                Ok(Micro::lane(op, dst, [a, b, c]))
            }
            Op::Fchk => {
                let p = self.pdst()?;
                let (a, b) = (self.f32()?, self.f32()?);
                self.set(SetDst::Preds(p, 7), Cmp::Rows { op: CmpOp::Division, a, b })
            }
            Op::Mufu => self.mufu(),
            Op::Rro => {
                // The reduction is exact: see `num::mufu`.
                let dst = self.dst()?;
                let a = self.f32()?;
                Ok(Micro::lane(LaneOp::Mov, dst, [a, Src::ZERO, Src::ZERO]))
            }
            _ => self.fswz(ftz),
        }
    }

    fn mufu(&mut self) -> Res<Micro> {
        let dst = self.dst()?;
        let src = self.f32()?;
        let sat = self.has(Mod::Sat);
        let table = [
            (Mod::Cos, Func::Cos),
            (Mod::Sin, Func::Sin),
            (Mod::Ex2, Func::Ex2),
            (Mod::Lg2, Func::Lg2),
            (Mod::Rcp, Func::Rcp),
            (Mod::Rsq, Func::Rsq),
        ];
        let func = table.iter().find(|(m, _)| self.has(*m)).map(|f| LaneOp::Mufu { func: f.1, sat });
        let op = match func {
            Some(op) => op,
            None if self.has(Mod::Rcp64h) => LaneOp::Rcp64h,
            None if self.has(Mod::Rsq64h) => LaneOp::Rsq64h,
            None => return Err("unknown special function"),
        };
        Ok(Micro::lane(op, dst, [src, Src::ZERO, Src::ZERO]))
    }

    /// FSWZ: the swizzle is a suffix, the signs are the last operand.
    fn fswz(&mut self, ftz: bool) -> Res<Micro> {
        let names = ["0000", "1111", "2222", "3333", "1032", "2301"];
        let swizzle = names.iter().position(|n| self.named(n)).ok_or("invalid swizzle")? as u8;
        let dst = self.dst()?;
        let src = [self.f32()?, self.f32()?];
        let ops = self.imm_value()? as u16;
        Ok(Micro::Fswz { dst, src, swizzle, ops, ftz })
    }

    pub(super) fn double(&mut self) -> Res<Micro> {
        let round = self.round();
        match self.m.op {
            Op::Dadd | Op::Dmul => {
                let dst = self.dst2()?;
                let src = [self.f64()?, self.f64()?, Src2::ZERO];
                let op = if self.m.op == Op::Dadd { WideOp::Add(round) } else { WideOp::Mul(round) };
                Ok(Micro::Wide { op, dst, wide: true, src })
            }
            Op::Dfma => {
                let dst = self.dst2()?;
                let src = [self.f64()?, self.f64()?, self.f64()?];
                Ok(Micro::Wide { op: WideOp::Fma(round), dst, wide: true, src })
            }
            Op::Dmnmx => {
                let dst = self.dst2()?;
                let src = [self.f64()?, self.f64()?];
                Ok(Micro::MinMax64 { dst, src, pick: self.psrc_or_true()? })
            }
            Op::Dset | Op::Dsetp => {
                let dst = self.set_dst(self.m.op == Op::Dset)?;
                let (a, b) = (self.f64()?, self.f64()?);
                self.set(dst, Cmp::F64 { test: self.test(), a, b })
            }
            _ => {
                let p = self.pdst()?;
                let (a, b) = (self.f64()?, self.f64()?);
                self.set(SetDst::Preds(p, 7), Cmp::Rows { op: CmpOp::Division64, a: a.hi, b: b.hi })
            }
        }
    }

    /// Destinations of a comparison: one register, or two predicates.
    pub(super) fn set_dst(&mut self, reg: bool) -> Res<SetDst> {
        if reg {
            let bf = self.has(Mod::Bf);
            return Ok(SetDst::Reg { dst: self.dst()?, bf });
        }
        Ok(SetDst::Preds(self.pdst()?, self.pdst()?))
    }

    /// The end of a comparison: the predicate that it is combined with.
    pub(super) fn set(&mut self, dst: SetDst, cmp: Cmp) -> Res<Micro> {
        let bop = self.bops().last().unwrap_or(Bop::And);
        let with = self.psrc_or_true()?;
        Ok(Micro::Set { dst, cmp, with, bop })
    }
}
