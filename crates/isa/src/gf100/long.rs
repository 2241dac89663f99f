//! Words with a 32-bit immediate at 57:26: class 2. `.CC` is bit 58.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, ImmEnc, Kind, Row, Slot, b};

const AT: Bits = b(26, 32);

const fn long(enc: ImmEnc) -> Slot {
    Slot::new(Kind::Imm { at: AT, enc })
}

/// The third source of a multiply-add is the destination.
const SAME_AS_DST: Slot = Slot::new(Kind::Tied { at: b(14, 6), plus: 0 });
const INT: Slot = long(ImmEnc::Signed);
const PATTERN: Slot = long(ImmEnc::SignedAsHex);
const FLOAT: Slot = long(ImmEnc::F32);
/// The signs of the sources of a 32-bit multiplication; both signed is what is not written.
const SIGNS: crate::row::Names = names!([U32 U32], [U32 S32], [S32 U32], _);

pub(super) fn rows(out: &mut Vec<Row>) {
    let mad = |r: Row, a: Slot, c: Slot| r.s(DST_CC_LONG).s(a).s(INT).s(c);
    let imad = op5(Op::Imad32i, 2, 0x00).m(super::int::SIGN_BITS, SIGNS).flag(6, HI);
    out.push(mad(imad.clone().except(b(8, 2), 3), A.neg(9), SAME_AS_DST.neg(8)));
    out.push(mad(imad.fix(b(8, 2), 3).always(PO), A, SAME_AS_DST));
    let iadd = op5(Op::Iadd32i, 2, 0x08);
    let sum = |r: Row, a: Slot, i: Slot| r.flag(5, SAT).flag(6, X).s(DST_CC_LONG).s(a).s(i);
    out.push(sum(iadd.clone().except(b(8, 2), 3), A.neg(9), INT.neg(8)));
    out.push(sum(iadd.fix(b(8, 2), 3).always(PO), A, INT));
    let imul = op5(Op::Imul32i, 2, 0x10).m(super::int::SIGN_BITS, SIGNS).flag(6, HI);
    out.push(imul.s(DST_CC_LONG).s(A).s(INT));
    super::moves::push_lanes(out, op5(Op::Mov32i, 2, 0x18).s(DST).s(PATTERN));
    let ffma = op5(Op::Ffma32i, 2, 0x20).m(b(6, 2), FTZ_FMZ).flag(5, SAT);
    out.push(ffma.s(DST_CC_LONG).s(A.neg(9)).s(FLOAT).s(SAME_AS_DST.neg(8)));
    let fadd = op5(Op::Fadd32i, 2, 0x28).flag(5, FTZ).s(DST_CC_LONG).s(A.neg(9).abs(7));
    out.push(fadd.s(FLOAT));
    let fmul = op5(Op::Fmul32i, 2, 0x30).m(b(6, 2), FTZ_FMZ).flag(5, SAT).s(DST_CC_LONG);
    out.push(fmul.s(A).s(FLOAT));
    let lop = op5(Op::Lop32i, 2, 0x38).m(b(6, 2), super::int::LOGIC).flag(5, X).s(DST_CC_LONG);
    out.push(lop.s(A.inv(9)).s(PATTERN.inv(8)));
    let scadd = op5(Op::Iscadd32i, 2, 0x40).s(DST_CC_LONG).s(A).s(INT);
    out.push(scadd.s(number(b(5, 5))));
}
