//! Special registers, barriers, and what lanes exchange.

use super::operand::args;
use super::{Cx, Result, Unencodable};
use crate::ir::{Aux, BarOp, Inst, ShflOp, Src, Sv, Type, VoteOp};
use crate::isa::{self, MInst, Mod, Operand};
use nvir_hw::special;

/// The hardware number of a special register.
pub(crate) fn special_register(sv: Sv) -> Option<u8> {
    Some(match sv {
        Sv::Laneid => special::LANEID,
        Sv::Virtid => special::VIRTID,
        Sv::TidX => special::TID_X,
        Sv::TidY => special::TID_Y,
        Sv::TidZ => special::TID_Z,
        Sv::CtaidX => special::CTAID_X,
        Sv::CtaidY => special::CTAID_Y,
        Sv::CtaidZ => special::CTAID_Z,
        Sv::NtidX => special::NTID_X,
        Sv::NtidY => special::NTID_Y,
        Sv::NtidZ => special::NTID_Z,
        Sv::Gridid => special::GRIDID,
        Sv::NctaidX => special::NCTAID_X,
        Sv::NctaidY => special::NCTAID_Y,
        Sv::NctaidZ => special::NCTAID_Z,
        Sv::SharedWindow => special::SWINLO,
        Sv::LocalWindow => special::LWINLO,
        Sv::LanemaskEq => special::EQMASK,
        Sv::LanemaskLt => special::LTMASK,
        Sv::LanemaskLe => special::LEMASK,
        Sv::LanemaskGt => special::GTMASK,
        Sv::LanemaskGe => special::GEMASK,
        Sv::ClockLo => special::CLOCKLO,
        Sv::ClockHi => special::CLOCKHI,
        Sv::PrimType => special::PRIM_TYPE,
        Sv::InvocationId => special::INVOCATION_ID,
        Sv::ThreadKill => special::THREAD_KILL,
        _ => return None,
    })
}

impl Cx<'_> {
    pub(crate) fn s2r(&self, i: &Inst) -> Result<MInst> {
        let Aux::Sv(sv) = i.aux else { return Err(Unencodable::Operand) };
        let n = special_register(sv).ok_or(Unencodable::Operation)?;
        Ok(args(self.inst(isa::Op::S2r), [self.dst(i), Operand::Sreg(n)]))
    }

    /// Sources: barrier, then count of threads, both as registers or immediates; reductions end in
    /// a predicate.
    pub(crate) fn bar(&self, i: &Inst) -> Result<MInst> {
        let Aux::Bar(op) = i.aux else { return Err(Unencodable::Operand) };
        let number = |s: &Src| -> Result<Operand> {
            Ok(match s.as_imm() {
                Some(x) => Operand::imm(x),
                None => self.src(s, Type::U32)?,
            })
        };
        let m = match op {
            BarOp::Sync => self.inst(isa::Op::Bar).with(Mod::Barsync),
            BarOp::Arrive => self.inst(isa::Op::Bar).with(Mod::Arv),
            BarOp::RedPopc => self.inst(isa::Op::Bar).with(Mod::Red).with(Mod::Popc),
            BarOp::RedAnd => self.inst(isa::Op::Bar).with(Mod::Red).with(Mod::And),
            BarOp::RedOr => self.inst(isa::Op::Bar).with(Mod::Red).with(Mod::Or),
        };
        let m = m.arg(match i.srcs.first() {
            Some(s) => number(s)?,
            None => Operand::imm(0),
        });
        match op {
            BarOp::Sync | BarOp::Arrive => i.srcs.get(1).map_or(Ok(m.clone()), |s| Ok(m.arg(number(s)?))),
            _ => {
                let count = i.srcs.get(1).map_or(Ok(Operand::imm(0)), number)?;
                Ok(args(m, [count, self.pred_or_true(i, 2)?]))
            }
        }
    }

    pub(crate) fn vote(&self, i: &Inst) -> Result<MInst> {
        let Aux::Vote(op) = i.aux else { return Err(Unencodable::Operand) };
        let m = self.inst(isa::Op::Vote).with(match op {
            VoteOp::All => Mod::All,
            VoteOp::Any => Mod::Any,
            VoteOp::Uni => Mod::Eq,
        });
        let p = Operand::Pred(self.pred(&i.srcs[0])?);
        let m = if self.has_gpr_dst(i) { m.arg(self.dst(i)) } else { m };
        Ok(args(m, [self.pdst(i), p]))
    }

    pub(crate) fn shfl(&self, i: &Inst) -> Result<MInst> {
        let Aux::Shfl(op) = i.aux else { return Err(Unencodable::Operand) };
        let m = self.inst(isa::Op::Shfl).with(match op {
            ShflOp::Idx => Mod::Idx,
            ShflOp::Up => Mod::Up,
            ShflOp::Down => Mod::Down,
            ShflOp::Bfly => Mod::Bfly,
        });
        // The lane and the clamp word are written as immediates even where they are zero.
        let number = |s: &Src| -> Result<Operand> {
            Ok(match s.as_imm() {
                Some(x) => Operand::imm(x),
                None => self.src(s, Type::U32)?,
            })
        };
        let (b, c) = (number(&i.srcs[1])?, number(&i.srcs[2])?);
        Ok(args(m, [self.pdst(i), self.dst(i), self.arg(i, 0, Type::U32)?, b, c]))
    }

    /// A value of a lane of the quad, and the lane's own, combined as the pattern says.
    pub(crate) fn quadop(&self, i: &Inst) -> Result<MInst> {
        let Aux::Quad { lane, ops } = i.aux else { return Err(Unencodable::Operand) };
        const LANES: [Mod; 6] = [Mod::Q0000, Mod::Q1111, Mod::Q2222, Mod::Q3333, Mod::Q1032, Mod::Q2301];
        let from = *LANES.get(usize::from(lane)).ok_or(Unencodable::Operand)?;
        let m = self.inst(isa::Op::Fswz).with(from).with_if(i.ftz, Mod::Ftz).with(Mod::Ndv);
        let (a, b) = (self.arg(i, 0, Type::U32)?, self.arg(i, 1, Type::U32)?);
        Ok(args(m, [self.dst(i), a, b, Operand::imm(ops.into())]))
    }
}
