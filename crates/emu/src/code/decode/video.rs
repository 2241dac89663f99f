//! Video instructions.

use super::conv::part;
use super::{Decoder, Res, test_of};
use crate::code::laneop::LaneOp;
use crate::code::micro::{MadTail, Micro, VideoOp, VideoSrc};
use crate::state::lanes::Modifier;
use nvir_base::num::video::{Primary, Secondary};
use nvir_isa::{Mod, Op, Operand, Sel};

impl Decoder<'_> {
    pub(super) fn video(&mut self) -> Res<Micro> {
        use Op::*;
        let lanes = match self.m.op {
            Vadd2 | Vabsdiff2 | Vmnmx2 | Vset2 | Vsel2 | Vavrg2 => 2,
            Vadd4 | Vabsdiff4 | Vmnmx4 | Vset4 | Vsel4 | Vavrg4 => 4,
            _ => 1,
        };
        let dst = self.dst()?;
        let (a, sa) = self.video_src(lanes, 0)?;
        let (b, sb) = self.video_src(lanes, 1)?;
        let c_neg =
            matches!(self.peek(), Some(Operand::Reg { mods, .. } | Operand::Const { mods, .. }) if mods.neg);
        if self.m.op == Vmad && self.left() == 0 {
            return Err("what this form of VMAD adds to is not documented");
        }
        let mut sc = if self.left() > 0 { self.int()? } else { crate::state::lanes::Src::ZERO };
        sc.modifier = Modifier::None;
        let minus = a.neg != b.neg;
        let op = match self.m.op {
            Vadd | Vadd2 | Vadd4 | Vavrg2 | Vavrg4 if self.named("AVRG") => Primary::Avrg,
            Vadd | Vadd2 | Vadd4 => Primary::Add,
            Vavrg2 | Vavrg4 => Primary::Avrg,
            Vabsdiff | Vabsdiff2 | Vabsdiff4 => Primary::AbsDiff,
            Vmnmx | Vmnmx2 | Vmnmx4 if self.named("MX") => Primary::Max,
            Vmnmx | Vmnmx2 | Vmnmx4 => Primary::Min,
            Vset | Vset2 | Vset4 => Primary::Set(self.m.mods.iter().find_map(|m| test_of(*m)).unwrap_or(0)),
            Vshl => Primary::Shl,
            Vshr => Primary::Shr,
            Vmad => Primary::Add,
            _ => return Err("this video instruction has no documented meaning"),
        };
        // The result's type: signed unless marked unsigned, and the other way round for differences.
        let signed = match self.m.op {
            Vabsdiff | Vabsdiff2 | Vabsdiff4 => self.named("SD"),
            Vset | Vset2 | Vset4 => false,
            Vmad => a.signed || b.signed || minus || c_neg,
            _ => !self.named("UD"),
        };
        let mad = (self.m.op == Vmad).then(|| MadTail {
            shift: if self.named("SHR_7") {
                7
            } else if self.named("SHR_15") {
                15
            } else {
                0
            },
            neg_product: minus,
            neg_c: c_neg,
            plus_one: self.has(Mod::Po),
        });
        let second = self.second(lanes)?;
        let write = self.written(lanes);
        let (sat, wrap) = (self.has(Mod::Sat), self.has(Mod::W));
        let op = VideoOp { op, lanes, a, b, signed, sat, wrap, second, write, mad };
        Ok(Micro::lane(LaneOp::Video(op), dst, [sa, sb, sc]))
    }

    fn second(&self, lanes: u8) -> Res<Secondary> {
        let one = lanes == 1;
        Ok(if self.named("ACC") {
            Secondary::Acc
        } else if one && self.named("MRG_16H") {
            Secondary::Merge(16, 16)
        } else if one && self.named("MRG_16L") {
            Secondary::Merge(0, 16)
        } else if one && self.named("MRG_8B0") {
            Secondary::Merge(0, 8)
        } else if one && self.named("MRG_8B2") {
            Secondary::Merge(16, 8)
        } else if one && self.has(Mod::Min) {
            Secondary::Min
        } else if one && self.has(Mod::Max) {
            Secondary::Max
        } else {
            Secondary::None
        })
    }

    /// The write mask of a two- or four-lane form: a suffix of letters, all lanes where there is none.
    fn written(&self, lanes: u8) -> u8 {
        let all = (1 << lanes) - 1;
        if lanes == 1 {
            return all;
        }
        let mask_of = |name: &str| {
            let bits = name.bytes().map(|c| b"XYZW".iter().position(|&l| l == c));
            bits.collect::<Option<Vec<_>>>().map(|v| v.iter().fold(0, |m, i| m | 1 << i))
        };
        let found = self.m.mods.iter().filter_map(|m| mask_of(m.name())).next_back();
        found.unwrap_or(all) & all
    }

    fn video_src(&mut self, lanes: u8, which: u8) -> Res<(VideoSrc, crate::state::lanes::Src)> {
        let o = self.peek().ok_or("an operand is missing")?;
        let (neg, sel) = match o {
            Operand::Reg { mods, sel, .. } | Operand::Const { mods, sel, .. } => (mods.neg, sel),
            Operand::Imm { mods, .. } => (mods.neg, self.part_of_immediate()),
            _ => return Err("a register or immediate was expected"),
        };
        let mut src = self.int()?;
        src.modifier = Modifier::None;
        // Types of both operands stand first among the suffixes; none at all means 32 signed bits (or the
        // signed lanes of the wider forms).
        let types: Vec<(u8, bool)> = self
            .m
            .mods
            .iter()
            .filter_map(|m| match m {
                Mod::U8 => Some((8, false)),
                Mod::S8 => Some((8, true)),
                Mod::U16 => Some((16, false)),
                Mod::S16 => Some((16, true)),
                Mod::U32 => Some((32, false)),
                Mod::S32 => Some((32, true)),
                _ => None,
            })
            .collect();
        let lane_bits = 32 / lanes;
        let (mut bits, signed) = types.get(usize::from(which)).copied().unwrap_or((lane_bits, true));
        let pick = if lanes == 1 {
            [part(sel).ok_or("invalid part of a register")?, 0, 0, 0]
        } else {
            bits = lane_bits;
            let base = which * lanes;
            let identity = [base, base + 1, base + 2, base + 3];
            match sel {
                Sel::Whole => identity,
                other => digits(other, lanes).ok_or("invalid lane selection")?,
            }
        };
        Ok((VideoSrc { pick, bits, signed, neg }, src))
    }
}

/// The parts that a selection like `3210` names: the last digit is lane 0.
fn digits(sel: Sel, lanes: u8) -> Option<[u8; 4]> {
    let name = sel.name()?;
    if name.len() != usize::from(lanes) {
        return None;
    }
    let mut pick = [0; 4];
    for (p, c) in pick.iter_mut().zip(name.bytes().rev()) {
        *p = c.checked_sub(b'0').filter(|&d| d < 8)?;
    }
    Some(pick)
}
