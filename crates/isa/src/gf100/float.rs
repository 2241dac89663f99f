//! Float and double arithmetic, comparisons and special functions: classes 0 and 1.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Row, Slot, Style, b};

fn neg_abs_a(s: Slot) -> Slot {
    s.neg(9).abs(7)
}

fn neg_abs_b(s: Slot) -> Slot {
    s.neg(8).abs(6)
}

fn neg_c(s: Slot) -> Slot {
    s.neg(8)
}

pub(super) fn rows(out: &mut Vec<Row>) {
    single(out);
    double(out);
    special(out);
    out.push(fswz());
}

fn single(out: &mut Vec<Row>) {
    let add = op5(Op::Fadd, 0, 0x50).flag(5, FTZ).m(b(55, 2), ROUND).flag(49, SAT);
    push_b(out, add.s(DST_CC).s(neg_abs_a(A)), Short::F32, neg_abs_b, &[]);
    let mul = op5(Op::Fmul, 0, 0x58)
        .m(b(6, 2), FTZ_FMZ)
        .m(b(49, 3), names!(_, D2, D4, D8, M8, M4, M2))
        .m(b(55, 2), ROUND)
        .flag(5, SAT);
    push_b(out, mul.s(DST_CC).s(A.neg(57)), Short::F32, plain, &[]);
    let fma = op5(Op::Ffma, 0, 0x30).m(b(6, 2), FTZ_FMZ).m(b(55, 2), ROUND).flag(5, SAT);
    push_bc(out, fma.s(DST_CC).s(A.neg(9)), Short::F32, plain, neg_c);
    let mnmx = op5(Op::Fmnmx, 0, 0x08).flag(5, FTZ).s(DST_CC).s(neg_abs_a(A));
    push_b(out, mnmx, Short::F32, neg_abs_b, &[P_SRC]);
    let set = op4(Op::Fset, 0, 0x10).flag(5, names!(_, Bf)).m(b(55, 4), COND).flag(59, FTZ).m(b(53, 2), BOOL);
    push_b(out, set.s(DST_CC).s(neg_abs_a(A)), Short::F32, neg_abs_b, &[P_SRC]);
    let setp = op4(Op::Fsetp, 0, 0x20).m(b(55, 4), COND).flag(59, FTZ).m(b(53, 2), BOOL);
    let setp = setp.s(pred_dst(17)).s(pred_dst(14)).s(neg_abs_a(A));
    push_b(out, setp, Short::F32, neg_abs_b, &[P_SRC]);
    let cmp = op5(Op::Fcmp, 0, 0x38).m(b(55, 4), COND).flag(5, FTZ).s(DST).s(A);
    push_bc(out, cmp, Short::F32, plain, plain);
}

fn double(out: &mut Vec<Row>) {
    let add = op5(Op::Dadd, 1, 0x48).m(b(55, 2), ROUND).s(DST_CC).s(neg_abs_a(A));
    push_b(out, add, Short::F64, neg_abs_b, &[]);
    let mul = op5(Op::Dmul, 1, 0x50).m(b(55, 2), ROUND).s(DST_CC).s(A.neg(9));
    push_b(out, mul, Short::F64, plain, &[]);
    let fma = op5(Op::Dfma, 1, 0x20).m(b(55, 2), ROUND).s(DST_CC).s(A.neg(9));
    push_bc(out, fma, Short::F64, plain, neg_c);
    let mnmx = op5(Op::Dmnmx, 1, 0x08).s(DST_CC).s(neg_abs_a(A));
    push_b(out, mnmx, Short::F64, neg_abs_b, &[P_SRC]);
    let set = op5(Op::Dset, 1, 0x10).flag(5, names!(_, Bf)).m(b(55, 4), COND).m(b(53, 2), BOOL);
    push_b(out, set.s(DST_CC).s(neg_abs_a(A)), Short::F64, neg_abs_b, &[P_SRC]);
    let setp = op5(Op::Dsetp, 1, 0x18).m(b(55, 4), COND).m(b(53, 2), BOOL);
    let setp = setp.s(pred_dst(17)).s(pred_dst(14)).s(neg_abs_a(A));
    push_b(out, setp, Short::F64, neg_abs_b, &[P_SRC]);
}

fn special(out: &mut Vec<Row>) {
    let mufu =
        op5(Op::Mufu, 0, 0xc8).m(b(26, 3), names!(Cos, Sin, Ex2, Lg2, Rcp, Rsq, Rcp64h, Rsq64h)).flag(5, SAT);
    out.push(mufu.s(DST).s(neg_abs_a(A)));
    let rro = op5(Op::Rro, 0, 0x60).m(b(5, 1), names!(Sincos, Ex2)).s(DST);
    push_b(out, rro, Short::F32, neg_abs_b, &[]);
}

/// Adds, for each lane of a quad, its own operand B and a lane's operand A with the signs that the
/// last operand says.
fn fswz() -> Row {
    op5(Op::Fswz, 0, 0x48)
        .m(b(6, 3), names!(Q0000, Q1111, Q2222, Q3333, Q1032, Q2301))
        .flag(5, FTZ)
        .m(b(55, 2), ROUND)
        .flag(9, names!(_, Ndv))
        .s(DST_CC)
        .s(A)
        .s(B)
        .s(number(b(32, 8)).style(Style::Swizzle))
}
