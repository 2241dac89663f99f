//! Integer arithmetic, moves and predicates.

use super::{Decoder, Res};
use crate::code::compare::CmpOp;
use crate::code::laneop::{Funnel, LaneOp, Part, RowOp};
use crate::code::micro::{Bop, CarryIn, Cmp, Micro, MinMaxPart, ShflMode, VoteMode};
use crate::state::lanes::{Modifier, Src};
use crate::state::warp::{FLAGS, PREDS};
use nvir_base::num::int::Permute;
use nvir_isa::{Kw, Mod, Op, Operand};

/// Takes the negation off an operand.
fn split_neg(s: Src) -> (Src, bool) {
    match s.modifier {
        Modifier::NegInt => (Src { modifier: Modifier::None, ..s }, true),
        _ => (s, false),
    }
}

impl Decoder<'_> {
    fn carry(&mut self, or: CarryIn) -> CarryIn {
        if self.has(Mod::X) {
            self.inst.reads_cc = true;
            CarryIn::Flag
        } else {
            or
        }
    }

    pub(super) fn int_arith(&mut self) -> Res<Micro> {
        let sat = self.has(Mod::Sat);
        match self.m.op {
            Op::Iadd | Op::Iadd32i | Op::Isub => {
                let dst = self.dst()?;
                let (a, na) = {
                    let a = self.int()?;
                    split_neg(a)
                };
                let (b, mut nb) = {
                    let b = self.int()?;
                    split_neg(b)
                };
                nb ^= self.m.op == Op::Isub;
                let one = na || nb || self.has(Mod::Po);
                let carry = self.carry(if one { CarryIn::One } else { CarryIn::Zero });
                if !self.inst.cc && !sat && carry != CarryIn::Flag {
                    let op = match (na, nb, carry) {
                        (false, false, CarryIn::Zero) => LaneOp::Add,
                        (false, false, _) => LaneOp::AddOne,
                        (false, true, _) => LaneOp::Sub,
                        (true, false, _) => LaneOp::SubFrom,
                        (true, true, _) => LaneOp::AddNot,
                    };
                    return Ok(Micro::lane(op, dst, [a, b, Src::ZERO]));
                }
                Ok(Micro::Sum { dst, src: [a, b], inv: [na, nb], carry, sat, shift: 0 })
            }
            Op::Iscadd | Op::Iscadd32i => {
                let dst = self.dst()?;
                let (a, na) = {
                    let a = self.int()?;
                    split_neg(a)
                };
                let (b, nb) = {
                    let b = self.int()?;
                    split_neg(b)
                };
                let shift = self.imm_value()? as u8 & 31;
                let carry = if na || nb { CarryIn::One } else { CarryIn::Zero };
                if !self.inst.cc && !na && !nb {
                    let n = self.imm(shift.into())?;
                    return Ok(Micro::lane(LaneOp::ShlAdd, dst, [a, b, n]));
                }
                Ok(Micro::Sum { dst, src: [a, b], inv: [na, nb], carry, sat, shift })
            }
            Op::Imadsp => self.imadsp(),
            _ => {
                let mul = matches!(self.m.op, Op::Imul | Op::Imul32i);
                let types: Vec<Mod> =
                    self.m.mods.iter().copied().filter(|m| matches!(m, Mod::U32 | Mod::S32)).collect();
                let signed = match types[..] {
                    [] => [true, true],
                    [a] => [a == Mod::S32; 2],
                    [a, b, ..] => [a == Mod::S32, b == Mod::S32],
                };
                let dst = self.dst()?;
                let (a, na) = {
                    let a = self.int()?;
                    split_neg(a)
                };
                let (b, nb) = {
                    let b = self.int()?;
                    split_neg(b)
                };
                let (c, nc) = if mul {
                    (Src::ZERO, false)
                } else {
                    let c = self.int()?;
                    split_neg(c)
                };
                let (hi, np) = (self.has(Mod::Hi), na != nb);
                let carry = self.carry(if self.has(Mod::Po) { CarryIn::One } else { CarryIn::Zero });
                let src = [a, b, c];
                let plain = !self.inst.cc && !sat && carry == CarryIn::Zero && !nc;
                let op = match (hi, np) {
                    (false, false) => Some(LaneOp::MulAdd),
                    (false, true) => Some(LaneOp::MulSub),
                    (true, false) => Some(LaneOp::MulHiAdd { signed }),
                    (true, true) => None,
                };
                if let Some(op) = op.filter(|_| plain) {
                    return Ok(Micro::lane(op, dst, src));
                }
                Ok(Micro::Mad { dst, src, signed, hi, neg: [np, nc], carry, sat })
            }
        }
    }

    /// IMADSP: 24-bit and 16-bit operands for surface addresses.
    fn imadsp(&mut self) -> Res<Micro> {
        let kinds: Vec<Part> = self.m.mods.iter().filter_map(|m| part(m.name())).collect();
        if self.named("SD") {
            let dst = self.dst()?;
            let src = [self.int()?, self.int()?, self.int()?];
            return Ok(Micro::lane(LaneOp::MadSpDescribed, dst, src));
        }
        let [a, b, c] = kinds[..] else { return Err("IMADSP needs three operand formats") };
        // The disassemblers name the second format the wrong way round. NAK found so on cards (Mesa `hw_tests.rs`), and
        // Mesa's nvc0, which multiplies a layer that SUCLAMP packed (its low byte again in bits 23:16) with the
        // layers' stride, would address no array image right otherwise.
        let b = match b {
            Part::Low16 => Part::Low24,
            Part::Low24 => Part::Low16,
            Part::SignedLow16 => Part::SignedLow24,
            _ => Part::SignedLow16,
        };
        let dst = self.dst()?;
        let src = [self.int()?, self.int()?, self.int()?];
        Ok(Micro::lane(LaneOp::MadSp([a, b, c]), dst, src))
    }

    pub(super) fn int_misc(&mut self) -> Res<Micro> {
        let signed = !self.has(Mod::U32);
        let z = Src::ZERO;
        match self.m.op {
            Op::Imnmx => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?];
                let pick = self.psrc_or_true()?;
                let parts = [
                    (Mod::Xlo, MinMaxPart::Low),
                    (Mod::Xmed, MinMaxPart::Middle),
                    (Mod::Xhi, MinMaxPart::High),
                ];
                if let Some(&(_, part)) = parts.iter().find(|(m, _)| self.has(*m)) {
                    self.inst.reads_cc = part != MinMaxPart::High;
                    return Ok(Micro::MinMaxX { dst, src, signed, pick, part });
                }
                let [min, max] = [LaneOp::Min { signed }, LaneOp::Max { signed }].map(RowOp::new);
                Ok(Micro::MinMax { dst, src, min, max, pick })
            }
            Op::Iset | Op::Isetp => {
                let dst = self.set_dst(self.m.op == Op::Iset)?;
                let (a, b) = (self.int()?, self.int()?);
                let test = self.test();
                let cmp = if self.has(Mod::X) {
                    self.inst.reads_cc = true;
                    Cmp::IntX { test, signed, a, b }
                } else {
                    Cmp::Rows { op: CmpOp::Int { test, signed }, a, b }
                };
                self.set(dst, cmp)
            }
            Op::Icmp => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                Ok(Micro::lane(LaneOp::Sel { test: self.test(), signed }, dst, src))
            }
            Op::Isad => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                Ok(Micro::lane(LaneOp::Sad { signed }, dst, src))
            }
            Op::Bfe => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, z];
                Ok(Micro::lane(LaneOp::Bfe { signed, reverse: self.has(Mod::Brev) }, dst, src))
            }
            Op::Bfi => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                Ok(Micro::lane(LaneOp::Bfi, dst, src))
            }
            Op::Shl | Op::Shr => self.shift(signed),
            Op::Shf => self.funnel(),
            Op::Lop | Op::Lop32i => {
                let dst = self.dst()?;
                let [a, b] = [self.int()?, self.int()?];
                self.inst.chain = self.has(Mod::X);
                self.inst.reads_cc = self.inst.chain;
                if self.has(Mod::PassB) {
                    return Ok(Micro::lane(LaneOp::Mov, dst, [b, z, z]));
                }
                let op = match self.bops().next() {
                    Some(Bop::Or) => LaneOp::Or,
                    Some(Bop::Xor) => LaneOp::Xor,
                    _ => LaneOp::And,
                };
                Ok(Micro::lane(op, dst, [a, b, z]))
            }
            Op::Flo => {
                let dst = self.dst()?;
                let src = [self.int()?, z, z];
                Ok(Micro::lane(LaneOp::Flo { signed, shift: self.has(Mod::Sh) }, dst, src))
            }
            Op::Popc => {
                let dst = self.dst()?;
                let a = self.int()?;
                let b = if self.left() > 0 { self.int()? } else { self.imm(u32::MAX)? };
                Ok(Micro::lane(LaneOp::Popc, dst, [a, b, z]))
            }
            _ => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                let modes = [
                    (Mod::F4e, Permute::F4e),
                    (Mod::B4e, Permute::B4e),
                    (Mod::Rc8, Permute::Rc8),
                    (Mod::Ecl, Permute::Ecl),
                    (Mod::Ecr, Permute::Ecr),
                    (Mod::Rc16, Permute::Rc16),
                ];
                let mode = modes.iter().find(|(m, _)| self.has(*m)).map_or(Permute::Index, |m| m.1);
                Ok(Micro::lane(LaneOp::Prmt(mode), dst, src))
            }
        }
    }

    fn shift(&mut self, signed: bool) -> Res<Micro> {
        let dst = self.dst()?;
        let src = [self.int()?, self.int()?, Src::ZERO];
        if self.has(Mod::X) {
            // The part of a multi-word shift that takes its neighbour's bits from CC has no documented meaning.
            return Err("shifts with .X");
        }
        let wrap = self.has(Mod::W);
        let op = match self.m.op {
            Op::Shl => LaneOp::Shl { wrap },
            _ => LaneOp::Shr { signed, wrap, reverse: self.has(Mod::Brev) },
        };
        Ok(Micro::lane(op, dst, src))
    }

    /// SHF: operands low word, shift, high word. A left shift gives the high word, a right shift the low one
    /// (`.HI`: the high one).
    fn funnel(&mut self) -> Res<Micro> {
        let funnel = Funnel {
            left: self.named("L"),
            wide: self.has(Mod::U64) || self.has(Mod::S64),
            signed: self.has(Mod::S64),
            wrap: self.has(Mod::W),
            high: self.has(Mod::Hi),
        };
        let dst = self.dst()?;
        let src = [self.int()?, self.int()?, self.int()?];
        Ok(Micro::lane(LaneOp::Shf(funnel), dst, src))
    }

    pub(super) fn moves(&mut self) -> Res<Micro> {
        let z = Src::ZERO;
        match self.m.op {
            Op::Mov | Op::Mov32i => {
                let dst = self.dst()?;
                let a = self.int()?;
                if self.left() > 0 {
                    self.inst.quad = self.imm_value()? as u8 & 15;
                }
                Ok(Micro::lane(LaneOp::Mov, dst, [a, z, z]))
            }
            Op::Sel => {
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?];
                Ok(Micro::Sel { dst, src, pick: self.psrc_or_true()? })
            }
            Op::S2r => {
                let dst = self.dst()?;
                let Operand::Sreg(reg) = self.take()? else { return Err("a special register was expected") };
                Ok(Micro::S2r { dst, reg })
            }
            Op::P2r => {
                let high = self.named("H1");
                let dst = self.dst()?;
                self.state_word()?;
                let src = self.int()?;
                let selected = self.selected();
                self.inst.pred_reads = (selected & PREDS) as u8;
                self.inst.reads_cc = selected & FLAGS != 0;
                Ok(Micro::P2r { dst, src, mask: self.int()?, high })
            }
            Op::R2p => {
                let high = self.named("H1");
                self.state_word()?;
                let src = self.int()?;
                let selected = self.selected();
                self.inst.pred_writes = (selected & PREDS) as u8;
                self.inst.cc = selected & FLAGS != 0;
                Ok(Micro::R2p { src, mask: self.int()?, high })
            }
            Op::B2r => {
                if !self.has(Mod::Result) {
                    return Err("B2R reads barrier state that only a debugger has");
                }
                let dst = self.dst()?;
                let pred = if self.left() > 0 { self.pdst()? } else { 7 };
                Ok(Micro::B2r { dst, pred })
            }
            Op::Lepc => Ok(Micro::Lepc { dst: self.dst()? }),
            Op::Pset | Op::Psetp => {
                let dst = self.set_dst(self.m.op == Op::Pset)?;
                let bop = self.bops().next().unwrap_or(Bop::And);
                let (a, b) = (self.psrc()?, self.psrc()?);
                self.set(dst, Cmp::Preds { a, b, bop })
            }
            Op::Cset | Op::Csetp => {
                let dst = self.set_dst(self.m.op == Op::Cset)?;
                let test = self.m.mods.iter().find_map(|m| nvir_isa::names::cc_test(m.name()));
                let test = test.ok_or("unknown condition-code test")?;
                self.take()?;
                self.inst.reads_cc = true;
                self.set(dst, Cmp::Cc(test))
            }
            Op::Vote => {
                let mode = if self.has(Mod::All) {
                    VoteMode::All
                } else if self.has(Mod::Any) {
                    VoteMode::Any
                } else {
                    VoteMode::Eq
                };
                let dst = if matches!(self.peek(), Some(Operand::Reg { .. })) { self.dst()? } else { 255 };
                // The predicate destination is not written where it is PT and there is a register.
                let pdst = if self.left() > 1 { self.pdst()? } else { 7 };
                Ok(Micro::Vote { mode, dst, pdst, src: self.psrc()? })
            }
            Op::Shfl => {
                let mode = if self.has(Mod::Up) {
                    ShflMode::Up
                } else if self.has(Mod::Down) {
                    ShflMode::Down
                } else if self.has(Mod::Bfly) {
                    ShflMode::Bfly
                } else {
                    ShflMode::Idx
                };
                let pdst = self.pdst()?;
                let dst = self.dst()?;
                let src = [self.int()?, self.int()?, self.int()?];
                Ok(Micro::Shfl { mode, dst, pdst, src })
            }
            _ => Err("barrier registers cannot be written"),
        }
    }

    /// The operand `PR` of P2R and R2P: predicates and condition code as one word.
    fn state_word(&mut self) -> Res<()> {
        match self.take()? {
            Operand::Word(Kw::Pr) => Ok(()),
            _ => Err("PR was expected"),
        }
    }

    /// What the mask of P2R and R2P, the next operand, can select.
    fn selected(&self) -> u32 {
        match self.peek() {
            Some(Operand::Imm { bits, .. }) => bits,
            _ => u32::MAX,
        }
    }
}

/// The operand formats of IMADSP.
fn part(name: &str) -> Option<Part> {
    Some(match name {
        "U32" | "S32" => Part::Whole,
        "U16H0" => Part::Low16,
        "S16H0" => Part::SignedLow16,
        "U16H1" => Part::High16,
        "S16H1" => Part::SignedHigh16,
        "U24" => Part::Low24,
        "S24" => Part::SignedLow24,
        _ => return None,
    })
}
