//! Predicates and the condition code: class 4, opcodes 0x00 to 0x0c, 0x30 and 0x34.

use super::field::*;
use crate::names;
use crate::row::{Kind, Names, Row, Slot, b};
use crate::{Kw, Op};

/// Conditions on the condition code, in the order of its tests.
pub(super) const CC_COND: Names = names!(
    F, Lt, Eq, Le, Gt, Ne, Ge, Num, Nan, Ltu, Equ, Leu, Gtu, Neu, Geu, T, Off, Lo, Sff, Ls, Hi, Sft, Hs, Oft,
    CsmTa, CsmTr, CsmMx, FcsmTa, FcsmTr, FcsmMx, Rle, Rgt
);
const BF: Names = names!(_, Bf);
const WHOLE_OR_HIGH: Names = names!(_, H1);
const CC: Slot = Slot::new(Kind::Word { at: b(0, 0), words: &[Some(Kw::Cc)] });
const PR: Slot = Slot::new(Kind::Word { at: b(0, 0), words: &[Some(Kw::Pr)] });

pub(super) fn rows(out: &mut Vec<Row>) {
    let cset = op6(Op::Cset, 4, 0x00).flag(5, BF).m(b(20, 5), CC_COND).m(b(53, 2), BOOL);
    out.push(cset.s(DST_CC).s(CC).s(P_SRC));
    let csetp = op6(Op::Csetp, 4, 0x04).m(b(20, 5), CC_COND).m(b(53, 2), BOOL);
    out.push(csetp.s(pred_dst(17)).s(pred_dst(14)).s(CC).s(P_SRC));
    let (p, q) = (pred(20, 23), pred(26, 29));
    let pset = op6(Op::Pset, 4, 0x08).flag(5, BF).m(b(30, 2), BOOL).m(b(53, 2), BOOL);
    out.push(pset.s(DST_CC).s(p).s(q).s(P_SRC));
    let psetp = op6(Op::Psetp, 4, 0x0c).m(b(30, 2), BOOL).m(b(53, 2), BOOL);
    out.push(psetp.s(pred_dst(17)).s(pred_dst(14)).s(p).s(q).s(P_SRC));
    let p2r = op6(Op::P2r, 4, 0x30).flag(5, WHOLE_OR_HIGH).s(DST).s(PR).s(A);
    push_b(out, p2r, Short::Int, plain, &[]);
    let r2p = op6(Op::R2p, 4, 0x34).flag(5, WHOLE_OR_HIGH).s(PR).s(A);
    push_b(out, r2p, Short::Int, plain, &[]);
}
