//! What most words of this layout share: the operand slots, the guard, and the four shapes of
//! operand B.

use crate::names;
use crate::row::{Bit, Bits, ImmEnc, Kind, Names, Row, Slot, b, b2};
use crate::{Op, Sel};

/// A general register field.
pub(super) const fn reg(lo: u8) -> Slot {
    Slot::new(Kind::Reg(b(lo, 6)))
}

/// A predicate field with its negation.
pub(super) const fn pred(lo: u8, not: u8) -> Slot {
    Slot::new(Kind::Pred { at: b(lo, 3), not: Bit(not) })
}

/// A predicate that is written.
pub(super) const fn pred_dst(lo: u8) -> Slot {
    Slot::new(Kind::Pred { at: b(lo, 3), not: Bit::NO })
}

/// An unsigned number.
pub(super) const fn number(at: Bits) -> Slot {
    Slot::new(Kind::Imm { at, enc: ImmEnc::Unsigned })
}

/// `[base + offset]`, the base register at 20.
pub(super) const fn memory(offset: Bits) -> Slot {
    Slot::new(Kind::Mem { base: b(20, 6), offset, shift: 0, always_signed: false })
}

pub(super) const DST: Slot = reg(14);
pub(super) const A: Slot = reg(20);
pub(super) const B: Slot = reg(26);
pub(super) const C: Slot = reg(49);
/// The destination with `.CC` where short immediates leave it.
pub(super) const DST_CC: Slot = DST.cc(48);
/// The destination with `.CC` in words with a 32-bit immediate.
pub(super) const DST_CC_LONG: Slot = DST.cc(58);
/// The predicate that a comparison is combined with, and that SEL and MNMX select by.
pub(super) const P_SRC: Slot = pred(49, 52);
/// A constant with a word offset. The bank's fifth bit lies apart; compilers use banks below 16.
pub(super) const CONST: Slot =
    Slot::new(Kind::Const { bank: b2(42, 4, 26, 1), offset: b(28, 14), shift: 2, signed_text: false });

/// What operand B is, and [`REGISTER`], [`CONSTANT`], [`CONSTANT_C`] and [`IMMEDIATE`] are its
/// values.
pub(super) const WHICH: Bits = b(46, 2);
pub(super) const REGISTER: u64 = 0;
pub(super) const CONSTANT: u64 = 1;
pub(super) const CONSTANT_C: u64 = 2;
pub(super) const IMMEDIATE: u64 = 3;

pub(super) const FTZ: Names = names!(_, Ftz);
pub(super) const SAT: Names = names!(_, Sat);
pub(super) const FTZ_FMZ: Names = names!(_, Ftz, Fmz, [Ftz Fmz]);
pub(super) const X: Names = names!(_, X);
pub(super) const HI: Names = names!(_, Hi);
pub(super) const PO: Names = names!(Po);
pub(super) const ROUND: Names = names!(_, Rm, Rp, Rz);
pub(super) const BOOL: Names = names!(And, Or, Xor);
pub(super) const COND: Names = names!(F, Lt, Eq, Le, Gt, Ne, Ge, Num, Nan, Ltu, Equ, Leu, Gtu, Neu, Geu, T);

/// Half of a register, as the field of an f16 or 16-bit integer source says.
pub(super) const HALF: &[Option<Sel>] = &[Some(Sel::Whole), Some(Sel::H1)];
/// Byte of a register.
pub(super) const BYTE: &[Option<Sel>] = &[Some(Sel::Whole), Some(Sel::B1), Some(Sel::B2), Some(Sel::B3)];

/// A row with the class in bits 3:0, the guard and `.S`; `opcode` in the bits of `mask` of the top
/// byte.
fn word(op: Op, class: u64, mask: u64, opcode: u64) -> Row {
    let mut r = Row::new(op, mask << 56 | 0xf, opcode << 56 | class);
    r.guard = Some(Kind::Pred { at: b(10, 3), not: Bit(13) });
    r.sync = Bit(4);
    r
}

/// An opcode of five bits (top byte `opcode`).
pub(super) fn op5(op: Op, class: u64, opcode: u64) -> Row {
    word(op, class, 0xf8, opcode)
}

/// An opcode of six bits.
pub(super) fn op6(op: Op, class: u64, opcode: u64) -> Row {
    word(op, class, 0xfc, opcode)
}

/// An opcode of four bits.
pub(super) fn op4(op: Op, class: u64, opcode: u64) -> Row {
    word(op, class, 0xf0, opcode)
}

/// How operand B's immediate stands for a value.
#[derive(Clone, Copy)]
pub(super) enum Short {
    Int,
    F32,
    F64,
}

impl Short {
    pub(super) const fn slot(self) -> Slot {
        let enc = match self {
            Short::Int => ImmEnc::Signed,
            Short::F32 => ImmEnc::F32,
            Short::F64 => ImmEnc::F64,
        };
        Slot::new(Kind::Imm { at: b(26, 20), enc })
    }
}

/// Lets one row's modifiers be written once for every kind of operand.
pub(super) type With = fn(Slot) -> Slot;

/// No modifiers.
pub(super) fn plain(s: Slot) -> Slot {
    s
}

/// Appends slots.
pub(super) fn tail(mut r: Row, slots: &[Slot]) -> Row {
    r.slots.extend_from_slice(slots);
    r
}

/// Operand B as register, constant and immediate; `rest` follows it.
pub(super) fn push_b(out: &mut Vec<Row>, r: Row, imm: Short, with: With, rest: &[Slot]) {
    push_b_reg_const(out, r.clone(), with, rest);
    out.push(tail(r.fix(WHICH, IMMEDIATE).s(with(imm.slot())), rest));
}

/// Operand B as register and constant.
pub(super) fn push_b_reg_const(out: &mut Vec<Row>, r: Row, with: With, rest: &[Slot]) {
    out.push(tail(r.clone().fix(WHICH, REGISTER).s(with(B)), rest));
    out.push(tail(r.fix(WHICH, CONSTANT).s(with(CONST)), rest));
}

/// Operand B as register and immediate: what 64-bit integers have.
pub(super) fn push_b_reg_imm(out: &mut Vec<Row>, r: Row, imm: Short, with: With) {
    out.push(r.clone().fix(WHICH, REGISTER).s(with(B)));
    out.push(r.fix(WHICH, IMMEDIATE).s(with(imm.slot())));
}

/// Operands B and C: at most one of them is a constant.
pub(super) fn push_bc(out: &mut Vec<Row>, r: Row, imm: Short, with_b: With, with_c: With) {
    out.push(r.clone().fix(WHICH, REGISTER).s(with_b(B)).s(with_c(C)));
    out.push(r.clone().fix(WHICH, CONSTANT).s(with_b(CONST)).s(with_c(C)));
    out.push(r.clone().fix(WHICH, CONSTANT_C).s(with_b(C)).s(with_c(CONST)));
    out.push(r.fix(WHICH, IMMEDIATE).s(with_b(imm.slot())).s(with_c(C)));
}

/// The test of the condition code in operations that can depend on it; "always" is not written.
pub(super) const CC_TEST: Bits = b(5, 5);
const ALWAYS: u64 = 15;

/// The row without a condition-code test and the row with one, its first operand; `rest` follows.
pub(super) fn push_cc(out: &mut Vec<Row>, r: Row, rest: &[Slot]) {
    out.push(tail(r.clone().fix(CC_TEST, ALWAYS), rest));
    out.push(tail(r.except(CC_TEST, ALWAYS).s(Slot::new(Kind::CcTest(CC_TEST))), rest));
}
