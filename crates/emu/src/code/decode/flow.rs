//! Control flow and barriers.

use super::{Decoder, Res};
use crate::code::micro::{BarMode, Flow, Micro, PSrc};
use nvir_isa::{Mod, Op, Operand};

impl Decoder<'_> {
    pub(super) fn flow(&mut self, pc: u32) -> Res<Micro> {
        let mut cc = 15;
        let mut reg = None;
        let mut target = None;
        let mut offset = 0i64;
        for o in self.m.operands.clone() {
            match o {
                Operand::CcTest(test) => cc = test,
                Operand::Target(t) => target = Some(t),
                Operand::Reg { reg: r, .. } if matches!(self.m.op, Op::Brx | Op::Jmx) => {
                    reg = Some(self.reg_src(r)?)
                }
                Operand::Imm { bits, .. } => offset = (bits as i32).into(),
                _ => {}
            }
        }
        if cc != 15 {
            self.inst.reads_cc = true;
        }
        let to = target.ok_or("a target is missing");
        Ok(Micro::Flow(match self.m.op {
            Op::Bra | Op::Jmp => Flow::Bra { target: to?, cc, uniform: self.has(Mod::U) },
            Op::Brx => {
                // The printed offset counts from the next word.
                let base = target.map_or(i64::from(pc) + 8 + offset, i64::from);
                Flow::Brx { reg: reg.ok_or("a register was expected")?, base, cc }
            }
            Op::Jmx => {
                let base = target.map_or(offset, i64::from);
                Flow::Brx { reg: reg.ok_or("a register was expected")?, base, cc }
            }
            Op::Ssy => Flow::Ssy(to?),
            Op::Pbk => Flow::Pbk(to?),
            Op::Pcnt => Flow::Pcnt(to?),
            Op::Pret => Flow::Pret(to?),
            Op::Plongjmp => Flow::Plongjmp(to?),
            Op::Cal | Op::Jcal => Flow::Cal(to?),
            Op::Brk => Flow::Brk(cc),
            Op::Cont => Flow::Cont(cc),
            Op::Ret => Flow::Ret(cc),
            Op::Longjmp => Flow::Longjmp(cc),
            Op::Exit => Flow::Exit(cc),
            Op::Kil => Flow::Kil(cc),
            Op::Bpt => return Ok(if self.named("TRAP") { Micro::Trap } else { Micro::Nop }),
            Op::Bar => return self.bar(),
            _ => return Err("this instruction cannot run in a compute program"),
        }))
    }

    fn bar(&mut self) -> Res<Micro> {
        let mode = if self.has(Mod::Arv) {
            BarMode::Arrive
        } else if self.has(Mod::Red) {
            if self.has(Mod::Popc) {
                BarMode::Popc
            } else if self.has(Mod::And) {
                BarMode::And
            } else {
                BarMode::Or
            }
        } else if self.has(Mod::Scan) || self.has(Mod::Syncall) {
            return Err("this form of BAR has no documented meaning");
        } else {
            BarMode::Sync
        };
        // GF100 and GK104 name where a reduction's result goes; GK110 reads it with B2R.
        let (mut dst, mut pdst) = (crate::code::micro::NULL, 7);
        if matches!(self.peek(), Some(Operand::Pred(_))) {
            pdst = self.pdst()?;
            dst = self.dst()?;
        }
        let id = self.int()?;
        let count = match self.peek() {
            Some(Operand::Reg { .. } | Operand::Imm { .. }) => Some(self.int()?),
            _ => None,
        };
        let pred = if self.left() > 0 { self.psrc()? } else { PSrc::TRUE };
        Ok(Micro::Bar { mode, id, count, pred, dst, pdst })
    }
}
