//! Conversions between float and integer types: class 4, opcodes 0x10 to 0x1c.
//!
//! Bits 21:20 are the size of the result and 24:23 that of the source (0: 8, 1: 16, 2: 32, 3: 64
//! bits); bit 7 is the sign of an integer result and bit 9 that of an integer source. A 16-bit
//! source is half of a register (bit 56), an 8-bit one a byte of it (56:55).

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, Names, Row, Slot, b};

const RESULT: Bits = b(20, 2);
const SOURCE: Bits = b(23, 2);
const TO_INTEGER: Names = names!(Round, Floor, Ceil, Trunc);
const FTZ_BIT: u8 = 55;

fn neg_abs(s: Slot) -> Slot {
    s.neg(8).abs(6)
}

fn neg_abs_half(s: Slot) -> Slot {
    neg_abs(s).sel(b(56, 1), HALF)
}

fn neg_abs_byte(s: Slot) -> Slot {
    neg_abs(s).sel(b(55, 2), BYTE)
}

pub(super) fn rows(out: &mut Vec<Row>) {
    float_to_float(out);
    float_to_integer(out);
    integer_to_float(out);
    integer_to_integer(out);
}

/// The source operand of a float type: register, constant and immediate.
fn push_float(out: &mut Vec<Row>, r: Row, size: u64) {
    match size {
        1 => push_parts(out, r, neg_abs_half, b(56, 1)),
        2 => push_b(out, r, Short::F32, neg_abs, &[]),
        _ => push_b(out, r, Short::F64, neg_abs, &[]),
    }
}

/// The source operand where a part of it is taken; in an immediate the part means nothing.
fn push_parts(out: &mut Vec<Row>, r: Row, with: With, part: Bits) {
    push_b_reg_const(out, r.clone(), with, &[]);
    out.push(r.fix(WHICH, IMMEDIATE).s(neg_abs(Short::Int.slot())).free(part));
}

/// Between types of one size the value is copied, or with bit 7 rounded to an integer; a wider
/// result is exact.
fn float_to_float(out: &mut Vec<Row>) {
    const NAMES: [Names; 4] = [names!(!), names!(F16), names!(F32), names!(F64)];
    for to in 1..4u64 {
        for from in 1..4u64 {
            let r = op6(Op::F2f, 4, 0x10).fix(RESULT, to).fix(SOURCE, from).flag(FTZ_BIT, FTZ);
            let r = r.always(NAMES[to as usize]).always(NAMES[from as usize]);
            let finish = |out: &mut Vec<Row>, r: Row| push_float(out, r.flag(5, SAT).s(DST_CC), from);
            if to == from {
                finish(out, r.clone());
                finish(out, r.fix(b(7, 1), 1).m(b(49, 2), TO_INTEGER));
            } else if to < from {
                finish(out, r.m(b(49, 2), ROUND));
            } else if (to, from) != (3, 1) {
                finish(out, r);
            }
        }
    }
}

/// Rounding to nearest is not written.
fn float_to_integer(out: &mut Vec<Row>) {
    const UNSIGNED: Names = names!(!, U16, U32, U64);
    const SIGNED: Names = names!(!, S16, S32, S64);
    const FROM: [Names; 4] = [names!(!), names!(F16), names!(F32), names!(F64)];
    for (sign, to) in [(0, UNSIGNED), (1, SIGNED)] {
        for from in 1..4u64 {
            let r = op6(Op::F2i, 4, 0x14).fix(b(7, 1), sign).fix(SOURCE, from).flag(FTZ_BIT, FTZ);
            let r = r.m(RESULT, to).always(FROM[from as usize]);
            let r = r.m(b(49, 2), names!(_, Floor, Ceil, Trunc)).s(DST_CC);
            push_float(out, r, from);
        }
    }
}

/// The names of an integer source of each size, by its sign bit.
const INTEGERS: [Names; 4] = [names!(U8, S8), names!(U16, S16), names!(U32, S32), names!(U64, S64)];

fn push_integer(out: &mut Vec<Row>, r: Row, size: u64) {
    match size {
        0 => push_parts(out, r, neg_abs_byte, b(55, 2)),
        1 => push_parts(out, r, neg_abs_half, b(56, 1)),
        2 => push_b(out, r, Short::Int, neg_abs, &[]),
        _ => push_b_reg_imm(out, r, Short::Int, neg_abs),
    }
}

fn integer_to_float(out: &mut Vec<Row>) {
    for from in 0..4u64 {
        let r = op6(Op::I2f, 4, 0x18).fix(SOURCE, from).m(RESULT, names!(!, F16, F32, F64));
        let r = r.flag(9, INTEGERS[from as usize]).m(b(49, 2), ROUND).s(DST_CC);
        push_integer(out, r, from);
    }
}

fn integer_to_integer(out: &mut Vec<Row>) {
    const UNSIGNED: Names = names!(U8, U16, U32, U64);
    const SIGNED: Names = names!(S8, S16, S32, S64);
    for (sign, to) in [(0, UNSIGNED), (1, SIGNED)] {
        for from in 0..3u64 {
            let r = op6(Op::I2i, 4, 0x1c).fix(SOURCE, from).fix(b(7, 1), sign).m(RESULT, to);
            push_integer(out, r.flag(9, INTEGERS[from as usize]).flag(5, SAT).s(DST_CC), from);
        }
    }
}
