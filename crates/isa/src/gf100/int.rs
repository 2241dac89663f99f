//! Integer arithmetic, comparisons, shifts, logic and bit fields: class 3.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, Names, Row, Slot, b, b2};
use nvir_base::Chip;

/// The signs of a multiplication's sources: bit 5 that of B, bit 7 that of A.
pub(super) const SIGN_BITS: Bits = b2(5, 1, 7, 1);
const SIGNS: Names = names!([U32 U32], [U32 S32], [S32 U32], _);
pub(super) const LOGIC: Names = names!(And, Or, Xor, PassB);
const U32: Names = names!(U32, _);

pub(super) fn rows(out: &mut Vec<Row>, chip: Chip) {
    add(out);
    multiply(out);
    if chip != Chip::Gf100 {
        imadsp(out);
    }
    compare(out);
    shift(out);
    bits(out);
}

/// Bits 9:8 of an addition: 0 a + b, 1 a - b, 2 b - a, 3 a + b + 1. As on GK110, b - a is written
/// with `-a` where b is a register, and as ISUB with b first where it is not.
fn add(out: &mut Vec<Row>) {
    let mods = |r: Row| r.flag(5, SAT).flag(6, X).s(DST_CC);
    let iadd = |op: Op, how: u64| mods(op5(op, 3, 0x48).fix(b(8, 2), how));
    let registers = mods(op5(Op::Iadd, 3, 0x48).fix(b(8, 1), 0)).fix(WHICH, REGISTER);
    out.push(registers.s(A.neg(9)).s(B));
    for (which, slot) in [(CONSTANT, CONST), (IMMEDIATE, Short::Int.slot())] {
        out.push(iadd(Op::Iadd, 0).fix(WHICH, which).s(A).s(slot));
        out.push(iadd(Op::Isub, 2).fix(WHICH, which).s(slot).s(A));
    }
    push_b(out, iadd(Op::Isub, 1).s(A), Short::Int, plain, &[]);
    let po = mods(op5(Op::Iadd, 3, 0x48).fix(b(8, 2), 3).always(PO));
    push_b(out, po.s(A), Short::Int, plain, &[]);

    let scadd = |r: Row, a: Slot| r.s(DST_CC).s(a);
    let shift = number(b(5, 5));
    let both = op5(Op::Iscadd, 3, 0x40).except(b(55, 2), 3);
    push_b(out, scadd(both, A.neg(56)), Short::Int, |s| s.neg(55), &[shift]);
    let po = op5(Op::Iscadd, 3, 0x40).fix(b(55, 2), 3).always(PO);
    push_b(out, scadd(po, A), Short::Int, plain, &[shift]);
}

fn multiply(out: &mut Vec<Row>) {
    let mul = op5(Op::Imul, 3, 0x50).m(SIGN_BITS, SIGNS).flag(6, HI).s(DST_CC).s(A);
    push_b(out, mul, Short::Int, plain, &[]);
    let mad = op5(Op::Imad, 3, 0x20).m(SIGN_BITS, SIGNS).flag(6, HI);
    let mods = |r: Row| r.flag(56, SAT).flag(55, X).s(DST_CC);
    let both = mods(mad.clone().except(b(8, 2), 3)).s(A.neg(9));
    push_bc(out, both, Short::Int, plain, |s| s.neg(8));
    push_bc(out, mods(mad.fix(b(8, 2), 3).always(PO)).s(A), Short::Int, plain, plain);
    let sad = op5(Op::Isad, 3, 0x38).flag(5, U32).s(DST_CC).s(A);
    push_bc(out, sad, Short::Int, plain, plain);
}

/// Multiply-add of parts of registers, made for surface addresses. The sum's operand is signed if
/// either factor is; its field says only the width, so there is a set of rows for each pair of
/// signs.
fn imadsp(out: &mut Vec<Row>) {
    let new = || op5(Op::Imadsp, 3, 0x00).since(Chip::Gk104);
    push_bc(out, new().fix(b(55, 2), 3).always(names!(Sd)).s(DST_CC).s(A), Short::Int, plain, plain);
    const A_UNSIGNED: Names = names!(U32, U24, U16h0, U16h1);
    const A_SIGNED: Names = names!(S32, S24, S16h0, S16h1);
    const B_UNSIGNED: Names = names!(U24, U16h0);
    const B_SIGNED: Names = names!(S24, S16h0);
    const C_UNSIGNED: Names = names!(U32, U24, U16h0);
    const C_SIGNED: Names = names!(S32, S24, S16h0);
    for signs in 0..4u64 {
        let (a, b_) = (signs & 2 != 0, signs & 1 != 0);
        let r = new()
            .fix(SIGN_BITS, signs)
            .except(b(55, 2), 3)
            .m(b(8, 2), if a { A_SIGNED } else { A_UNSIGNED })
            .m(b(6, 1), if b_ { B_SIGNED } else { B_UNSIGNED })
            .m(b(55, 2), if a || b_ { C_SIGNED } else { C_UNSIGNED });
        push_bc(out, r.s(DST_CC).s(A), Short::Int, plain, plain);
    }
}

fn compare(out: &mut Vec<Row>) {
    let mnmx = op5(Op::Imnmx, 3, 0x08).flag(5, U32).m(b(6, 2), names!(_, Xlo, Xmed, Xhi));
    push_b(out, mnmx.s(DST_CC).s(A), Short::Int, plain, &[P_SRC]);
    let set = op5(Op::Iset, 3, 0x10).flag(7, names!(_, Bf)).m(b(55, 4), COND).flag(5, U32).flag(6, X);
    push_b(out, set.m(b(53, 2), BOOL).s(DST_CC).s(A), Short::Int, plain, &[P_SRC]);
    let setp = op5(Op::Isetp, 3, 0x18).m(b(55, 4), COND).flag(5, U32).flag(6, X).m(b(53, 2), BOOL);
    push_b(out, setp.s(pred_dst(17)).s(pred_dst(14)).s(A), Short::Int, plain, &[P_SRC]);
    let cmp = op5(Op::Icmp, 3, 0x30).m(b(55, 4), COND).flag(5, U32).s(DST).s(A);
    push_bc(out, cmp, Short::Int, plain, plain);
}

fn shift(out: &mut Vec<Row>) {
    const WRAP: Names = names!(_, W);
    let shr = op5(Op::Shr, 3, 0x58).flag(5, U32).flag(9, WRAP).flag(8, BREV).flag(7, X);
    push_b(out, shr.s(DST_CC).s(A), Short::Int, plain, &[]);
    let shl = op5(Op::Shl, 3, 0x60).flag(9, WRAP).flag(6, X).s(DST_CC).s(A);
    push_b(out, shl, Short::Int, plain, &[]);
}

const BREV: Names = names!(_, Brev);

fn bits(out: &mut Vec<Row>) {
    let lop = op5(Op::Lop, 3, 0x68).m(b(6, 2), LOGIC).flag(5, X).s(DST_CC).s(A.inv(9));
    push_b(out, lop, Short::Int, |s| s.inv(8), &[]);
    let bfe = op5(Op::Bfe, 3, 0x70).flag(5, U32).flag(8, BREV).s(DST_CC).s(A);
    push_b(out, bfe, Short::Int, plain, &[]);
    push_bc(out, op5(Op::Bfi, 3, 0x28).s(DST_CC).s(A), Short::Int, plain, plain);
    let flo = op5(Op::Flo, 3, 0x78).flag(5, U32).flag(6, names!(_, Sh)).s(DST_CC);
    push_b(out, flo, Short::Int, |s| s.inv(8), &[]);
}
