//! Predicates and the condition code.

use super::field::*;
use crate::names;
use crate::row::{Kind, Names, Row, Slot, b};
use crate::{Kw, Op};

/// The condition code, which the opcode implies.
const CC: Slot = Slot::new(Kind::Word { at: b(0, 0), words: &[Some(Kw::Cc)] });

pub(super) fn rows(t: &mut Vec<Row>) {
    let first = pred_not(14, 17);
    let second = pred_not(32, 35);
    t.push(
        row(Op::Pset, 0xffc, 0x844, 2)
            .flag(47, BF)
            .m(b(27, 2), COMBINE)
            .m(b(48, 2), COMBINE)
            .s(D.cc(50))
            .s(first)
            .s(second)
            .s(PC),
    );
    t.push(
        row(Op::Psetp, 0xffc, 0x848, 2)
            .m(b(27, 2), COMBINE)
            .m(b(48, 2), COMBINE)
            .s(PD)
            .s(PD2)
            .s(first)
            .s(second)
            .s(PC),
    );
    t.push(
        row(Op::Cset, 0xffc, 0x84c, 2)
            .flag(47, BF)
            .m(b(10, 5), CC_TEST)
            .m(b(48, 2), COMBINE)
            .s(D.cc(50))
            .s(CC)
            .s(PC),
    );
    t.push(
        row(Op::Csetp, 0xffc, 0x850, 2).m(b(10, 5), CC_TEST).m(b(48, 2), COMBINE).s(PD).s(PD2).s(CC).s(PC),
    );
}

/// Tests of the condition code as suffixes.
const CC_TEST: Names = names![
    F, Lt, Eq, Le, Gt, Ne, Ge, Num, Nan, Ltu, Equ, Leu, Gtu, Neu, Geu, T, Off, Lo, Sff, Ls, Hi, Sft, Hs, Oft,
    CsmTa, CsmTr, CsmMx, FcsmTa, FcsmTr, FcsmMx, Rle, Rgt
];
