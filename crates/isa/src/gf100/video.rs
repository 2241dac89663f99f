//! Video instructions: class 4, opcodes from 0x80. Scalar ones work on a byte, half or whole of
//! each source; the ones for two halves or four bytes pick each lane from the eight bytes of A and
//! B.

use super::field::*;
use crate::names;
use crate::row::{Bits, Names, Row, Slot, Style, b, b2};
use crate::{Op, Sel};

const COND: Names = names!(F, Lt, Eq, Le, Gt, Ne, Ge, T);
const WRAP: Names = names!(_, W);
/// 0 clamps the shift amount, 1 wraps it.
const WRAP_BIT: u8 = 7;
const SAT_BIT: u8 = 9;
/// An unsigned result; VABSDIFF names the signed one instead.
const UNSIGNED: Names = names!(Ud, _);
const SIGNED: Names = names!(_, Sd);

pub(super) fn rows(out: &mut Vec<Row>) {
    scalar(out);
    use Op::*;
    vector(out, Lanes::Two, 0xa0, [Vadd2, Vmnmx2, Vabsdiff2, Vset2, Vshr2, Vshl2, Vsel2]);
    vector(out, Lanes::Four, 0x80, [Vadd4, Vmnmx4, Vabsdiff4, Vset4, Vshr4, Vshl4, Vsel4]);
}

/// What is done with the result and C: put into a part of it, accumulated, compared, or nothing.
const SCALAR_MERGE: Names = names!(Mrg16h, Mrg16l, Mrg8b0, Mrg8b2, Acc, Min, Max, _);

/// The part of a scalar source, and how the source's sign and size are named.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Byte,
    Half,
    Whole,
    /// A 16-bit immediate.
    Imm,
}

/// Source A: bits 46:44 say the part, bit 6 the sign.
fn scalar_a(r: Row, part: Part) -> Row {
    match part {
        Part::Byte => r.fix(b(46, 1), 0),
        Part::Half => r.fix(b(45, 2), 2),
        _ => r.fix(b(44, 3), 6),
    }
}

fn scalar_a_slot(part: Part) -> Slot {
    match part {
        Part::Byte => A.sel(b(44, 2), BYTE),
        Part::Half => A.sel(b(44, 1), HALF),
        _ => A,
    }
}

/// Source B: bit 47 set means a register whose part is in bits 34:32.
fn scalar_b(r: Row, part: Part) -> Row {
    match part {
        Part::Byte => r.fix(b(47, 1), 1).fix(b(34, 1), 0),
        Part::Half => r.fix(b(47, 1), 1).fix(b(33, 2), 2),
        Part::Whole => r.fix(b(47, 1), 1).fix(b(32, 3), 6),
        Part::Imm => r.fix(b(47, 1), 0),
    }
}

fn scalar_b_slot(part: Part) -> Slot {
    match part {
        Part::Byte => B.sel(b(32, 2), BYTE),
        Part::Half => B.sel(b(32, 1), HALF),
        Part::Whole => B,
        Part::Imm => number(b(26, 16)),
    }
}

/// The names of the two sources' types, by the sign of B (bit 5) and of A (bit 6). Two signed words
/// are not named.
pub(super) fn scalar_types(a: Part, b_: Part) -> Names {
    match (a, b_) {
        (Part::Byte, Part::Byte) => names!([U8 U8], [U8 S8], [S8 U8], [S8 S8]),
        (Part::Byte, Part::Half | Part::Imm) => names!([U8 U16], [U8 S16], [S8 U16], [S8 S16]),
        (Part::Byte, Part::Whole) => names!([U8 U32], [U8 S32], [S8 U32], [S8 S32]),
        (Part::Half, Part::Byte) => names!([U16 U8], [U16 S8], [S16 U8], [S16 S8]),
        (Part::Half, Part::Half | Part::Imm) => names!([U16 U16], [U16 S16], [S16 U16], [S16 S16]),
        (Part::Half, Part::Whole) => names!([U16 U32], [U16 S32], [S16 U32], [S16 S32]),
        (_, Part::Byte) => names!([U32 U8], [U32 S8], [S32 U8], [S32 S8]),
        (_, Part::Half | Part::Imm) => names!([U32 U16], [U32 S16], [S32 U16], [S32 S16]),
        (_, Part::Whole) => names!([U32 U32], [U32 S32], [S32 U32], _),
    }
}

/// One row for every pair of parts: `head` starts it, `mods` adds the suffixes after the types,
/// `ends` the operands around A and B.
fn push_scalar(
    out: &mut Vec<Row>,
    head: &Row,
    mods: impl Fn(Row) -> Row,
    dst: &[Slot],
    signs: fn(Slot) -> Slot,
    signs_b: fn(Slot) -> Slot,
    rest: &[Slot],
) {
    for a in [Part::Byte, Part::Half, Part::Whole] {
        for b_ in [Part::Byte, Part::Half, Part::Whole, Part::Imm] {
            let r = scalar_b(scalar_a(head.clone(), a), b_).m(b(5, 2), scalar_types(a, b_));
            let operands = [signs(scalar_a_slot(a)), signs_b(scalar_b_slot(b_))];
            out.push(tail(tail(tail(mods(r), dst), &operands), rest));
        }
    }
}

fn scalar(out: &mut Vec<Row>) {
    const DST_SIGN: u8 = 42;
    const OP: Bits = b(7, 2);
    let merge = |r: Row| r.flag(SAT_BIT, SAT).m(b(55, 3), SCALAR_MERGE);
    let dst = [DST_CC];
    // Bits 8:7 of an addition: 1 negates B, 2 negates A, 3 adds one.
    let add = op5(Op::Vadd, 4, 0xc0).flag(DST_SIGN, UNSIGNED);
    push_scalar(out, &add.clone().except(OP, 3), merge, &dst, |s| s.neg(8), |s| s.neg(7), &[C]);
    let po = |r: Row| merge(r.always(PO));
    push_scalar(out, &add.fix(OP, 3), po, &dst, plain, plain, &[C]);
    let mnmx = op5(Op::Vmnmx, 4, 0xc8).flag(DST_SIGN, UNSIGNED);
    let max = |r: Row| merge(r.flag(7, names!(_, Mx)));
    push_scalar(out, &mnmx, max, &dst, plain, plain, &[C]);
    let diff = op5(Op::Vabsdiff, 4, 0xd0).flag(DST_SIGN, SIGNED);
    push_scalar(out, &diff, merge, &dst, plain, plain, &[C]);
    for (op, opcode) in [(Op::Vshr, 0xe0), (Op::Vshl, 0xe8)] {
        let shift = op5(op, 4, opcode).flag(DST_SIGN, UNSIGNED);
        push_scalar(out, &shift, |r| merge(r.flag(WRAP_BIT, WRAP)), &dst, plain, plain, &[C]);
    }
    let set = op5(Op::Vset, 4, 0xd8).m(b(7, 3), COND);
    let merge_only = |r: Row| r.m(b(55, 3), SCALAR_MERGE);
    push_scalar(out, &set, merge_only, &dst, plain, plain, &[C]);
    let setp = op5(Op::Vsetp, 4, 0xf8).m(b(7, 3), COND);
    let logic = |r: Row| r.m(b(53, 2), BOOL);
    push_scalar(out, &setp, logic, &[pred_dst(17), pred_dst(14)], plain, plain, &[P_SRC]);
    // Of a multiply-add: 1 negates C, 2 negates the product, 3 adds one.
    let scale = |r: Row| r.m(b(55, 2), names!(_, Shr7, Shr15)).flag(SAT_BIT, SAT);
    let mad = op5(Op::Vmad, 4, 0xf0);
    push_scalar(out, &mad.clone().except(OP, 3), scale, &dst, |s| s.neg(8), plain, &[C.neg(7)]);
    push_scalar(out, &mad.fix(OP, 3), |r| scale(r.always(PO)), &dst, plain, plain, &[C]);
}

/// A pattern of lanes by its spelling, the highest lane first.
const fn lanes(name: &str) -> Option<Sel> {
    Sel::video(name)
}

/// Halves 0 and 1 are A's, 2 and 3 are B's.
#[rustfmt::skip]
const HALVES_OF_A: &[Option<Sel>] = &[
    lanes("00"), lanes("01"), lanes("02"), lanes("03"), Some(Sel::Whole), lanes("11"), lanes("12"), lanes("13"),
    lanes("20"), lanes("21"), lanes("22"), lanes("23"), lanes("30"), lanes("31"), lanes("32"), lanes("33"),
];
#[rustfmt::skip]
const HALVES_OF_B: &[Option<Sel>] = &[
    lanes("00"), lanes("01"), lanes("02"), lanes("03"), lanes("10"), lanes("11"), lanes("12"), lanes("13"),
    lanes("20"), lanes("21"), lanes("22"), lanes("23"), lanes("30"), lanes("31"), Some(Sel::Whole), lanes("33"),
];
const HALVES_BESIDE_IMM: &[Option<Sel>] = &[lanes("00"), lanes("01"), Some(Sel::Whole), lanes("11")];
/// Bytes 0 to 3 are A's, 4 to 7 are B's.
#[rustfmt::skip]
const BYTES_OF_A: &[Option<Sel>] = &[
    lanes("0000"), lanes("1111"), lanes("2222"), lanes("3333"), Some(Sel::Whole), lanes("4321"), lanes("5432"),
    lanes("6543"), lanes("3201"), lanes("3012"), lanes("0213"), lanes("3120"), lanes("1230"), lanes("2310"),
];
#[rustfmt::skip]
const BYTES_OF_B: &[Option<Sel>] = &[
    lanes("4444"), lanes("5555"), lanes("6666"), lanes("7777"), Some(Sel::Whole), lanes("6543"), lanes("5432"),
    lanes("4321"), lanes("4567"), lanes("6745"), lanes("5476"),
];

/// The kind of lanes of a vector instruction.
#[derive(Clone, Copy)]
enum Lanes {
    Two,
    Four,
}

impl Lanes {
    /// The names of the sources' types, by the sign of B (bit 5) and of A (bit 6); two signed ones
    /// are not named.
    const fn types(self) -> Names {
        match self {
            Lanes::Two => names!([U16 U16], [U16 S16], [S16 U16], _),
            Lanes::Four => names!([U8 U8], [U8 S8], [S8 U8], _),
        }
    }

    const fn type_of_a(self) -> Names {
        match self {
            Lanes::Two => names!(U16, S16),
            Lanes::Four => names!(U8, S8),
        }
    }

    /// The lanes that are written; all of them is not named.
    fn written(self, r: Row) -> Row {
        match self {
            Lanes::Two => r.m(b(55, 2), names!(NoLanes, X, Y, _)),
            Lanes::Four => r.m(
                b2(55, 2, 34, 2),
                names!(NoLanes, X, Y, Xy, Z, Xz, Yz, Xyz, W, Xw, Yw, Xyw, Zw, Xzw, Yzw, _),
            ),
        }
    }

    /// A row for each kind of operand B: a register, an immediate. Beside an immediate of four
    /// lanes the choice of lanes is written, too, and each is a row, since the operand has no place
    /// for it.
    fn sources(self, r: Row) -> Vec<(Row, Slot, Slot)> {
        let kind = |register| r.clone().fix(b(47, 1), register);
        match self {
            Lanes::Two => vec![
                (kind(1), A.sel(b(40, 4), HALVES_OF_A), B.sel(b(36, 4), HALVES_OF_B)),
                (kind(0), A.sel(b(42, 2), HALVES_BESIDE_IMM), number(b(26, 16))),
            ],
            Lanes::Four => {
                let a = A.sel(b(40, 4), BYTES_OF_A);
                let immediate = (0..).zip(BYTES_OF_B).filter_map(|(n, &sel)| {
                    let sel = sel?;
                    let variant = if sel == Sel::Whole { 0 } else { n as u8 + 1 };
                    let r = kind(0).fix(b(36, 4), n).variant(variant);
                    Some((r, a, number(b(26, 8)).style(Style::Part(sel))))
                });
                let register = (kind(1), a, B.sel(b(36, 4), BYTES_OF_B));
                std::iter::once(register).chain(immediate).collect()
            }
        }
    }
}

/// What is done with the lanes and C.
const MERGE: Names = names!(_, SimdMin, SimdMax, !, Acc, Min, Max);

/// A row for B in a register and one for an immediate; `mods` adds the suffixes after the types.
fn push_vector(
    out: &mut Vec<Row>,
    head: &Row,
    lanes: Lanes,
    mods: impl Fn(Row) -> Row,
    signs: [With; 2],
    last: Slot,
) {
    for (r, a, b_) in lanes.sources(lanes.written(mods(head.clone()).m(b(44, 3), MERGE))) {
        out.push(r.s(DST_CC).s(signs[0](a)).s(signs[1](b_)).s(last));
    }
}

fn vector(out: &mut Vec<Row>, lanes: Lanes, first: u64, ops: [Op; 7]) {
    const DST_SIGN: u8 = 57;
    const OP: Bits = b(7, 2);
    const TYPES: Bits = b(5, 2);
    let [add, mnmx, diff, set, shr, shl, sel] = ops;
    let new = |op, i: u64| op6(op, 4, first + 4 * i);
    let typed = |r: Row| r.m(TYPES, lanes.types());
    let sat = |r: Row| r.flag(SAT_BIT, SAT);
    let sum = typed(new(add, 0).flag(DST_SIGN, UNSIGNED));
    let negated: [With; 2] = [|s| s.neg(8), |s| s.neg(7)];
    push_vector(out, &sum.clone().except(OP, 3), lanes, sat, negated, C);
    let average = |r: Row| sat(r.always(names!(Avrg)));
    push_vector(out, &sum.fix(OP, 3), lanes, average, [plain, plain], C);
    let max = |r: Row| sat(r.flag(7, names!(_, Mx)));
    push_vector(out, &typed(new(mnmx, 1).flag(DST_SIGN, UNSIGNED)), lanes, max, [plain, plain], C);
    push_vector(out, &typed(new(diff, 2).flag(DST_SIGN, SIGNED)), lanes, sat, [plain, plain], C);
    let compare = typed(new(set, 3).m(b(7, 3), COND));
    push_vector(out, &compare, lanes, |r| r, [plain, plain], C);
    for (op, i) in [(shr, 4), (shl, 5)] {
        let shift = new(op, i).flag(DST_SIGN, UNSIGNED).flag(6, lanes.type_of_a());
        // W is a lane here.
        let wrap = |r: Row| sat(r.flag(WRAP_BIT, names!(_, Wrap)));
        push_vector(out, &shift, lanes, wrap, [plain, plain], C);
    }
    push_vector(out, &typed(new(sel, 6).flag(DST_SIGN, UNSIGNED)), lanes, sat, [plain, plain], P_SRC);
}
