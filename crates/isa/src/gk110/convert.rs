//! Conversions. nvdisasm writes their constant operands with a space, and shows the part of the
//! source that is converted by its type: bytes of an 8- or 32-bit source, halves of a 16-bit one.

use super::field::*;
use crate::names;
use crate::row::{Bits, Names, Row, Slot, Style, b, b2};
use crate::{Op, Sel};

const INT: Names = names![U8, U16, U32, U64, S8, S16, S32, S64];
const INT_8_32_64: Names = names![U8, !, U32, U64, S8, !, S32, S64];
const INT_16: Names = names![U16, S16];
const FLOAT: Names = names![!, F16, F32, F64];
const BYTES: &[Option<Sel>] = &[Some(Sel::Whole), Some(Sel::B1), Some(Sel::B2), Some(Sel::B3)];
const HALF: &[Option<Sel>] = &[Some(Sel::Whole), Some(Sel::H1)];
const LOW_HALF: &[Option<Sel>] = &[Some(Sel::Whole), Some(Sel::H0)];
const HIGH_HALF: &[Option<Sel>] = &[Some(Sel::H1)];
const TO_INTEGER: Names = names![_, !, !, Pass, Round, Floor, Ceil, Trunc];

pub(super) fn rows(t: &mut Vec<Row>) {
    for f in Form::TWO {
        float_to_float(t, f);
        float_to_int(t, f);
        from_int(t, f);
    }
}

fn source(f: Form, imm: Slot) -> Slot {
    f.second(imm).neg(48).abs(52).style(Style::Spaced)
}

fn parts(f: Form, imm: Slot, at: Bits, names: &'static [Option<Sel>]) -> Slot {
    source(f, imm).sel(at, names)
}

/// The float types a source can have: the field's value, its names, and what an immediate is then.
const SOURCES: [(u64, Names, Slot); 3] =
    [(1, names![F16], H16), (2, names![F32], F20), (3, names![F64], D20)];

/// The source of a conversion from a float type. As the type only matters to the spelling of an
/// immediate, the other forms have one row for all.
fn float_sources(f: Form, mut done: impl FnMut(&dyn Fn(Row) -> Row, Slot)) {
    let kind = b(12, 2);
    let part = |imm| parts(f, imm, b(44, 1), HALF);
    if f != Form::Imm {
        return done(&|r: Row| r.m(kind, FLOAT), part(F20));
    }
    for (value, name, imm) in SOURCES {
        for (n, source) in immediate_halves(f, imm) {
            let half = b(44, 1);
            done(&|r: Row| r.fix(kind, value).fix(half, n.into()).always(name).variant(n), source);
        }
    }
}

/// An immediate and its high half.
fn immediate_halves(f: Form, imm: Slot) -> [(u8, Slot); 2] {
    [(0, Sel::Whole), (1, Sel::H1)].map(|(n, part)| (n, source(f, imm).style(Style::Part(part))))
}

fn float_to_float(t: &mut Vec<Row>, f: Form) {
    let types = b(10, 4);
    float_sources(f, |source_type, source| {
        let start = f.row(Op::F2f, 0x3fc, 0x254).flag(47, FTZ).m(b(10, 2), FLOAT);
        let different = [5, 10, 15].iter().fold(source_type(start), |r, &same| r.except(types, same));
        t.push(different.m(b(42, 2), ROUND).flag(53, SAT).s(D.cc(50)).s(source));
    });
    // Between equal types the rounding is to an integer.
    for ((value, _, imm), names) in
        SOURCES.into_iter().zip([names![[F16 F16]] as Names, names![[F32 F32]], names![[F64 F64]]])
    {
        let rounding = b2(42, 2, 45, 1);
        let mut push = |shape: &dyn Fn(Row) -> Row, part: u8, source: Slot| {
            let start =
                || shape(f.row(Op::F2f, 0x3fc, 0x254).fix(types, value * 5).flag(47, FTZ).always(names));
            let finish = |r: Row| r.flag(53, SAT).s(D.cc(50)).s(source);
            let named = start().except(rounding, 1).except(rounding, 2).m(rounding, TO_INTEGER);
            t.push(finish(named.variant(part)));
            for alias in [1, 2] {
                let row = start().fix(rounding, alias.into()).variant(alias * 2 + part);
                t.push(finish(row.always(names![Pass])));
            }
        };
        if f == Form::Imm {
            for (n, source) in immediate_halves(f, imm) {
                push(&|r: Row| r.fix(b(44, 1), n.into()), n, source);
            }
        } else {
            push(&|r: Row| r, 0, parts(f, imm, b(44, 1), HALF));
        }
    }
}

fn float_to_int(t: &mut Vec<Row>, f: Form) {
    float_sources(f, |source_type, source| {
        let start = f.row(Op::F2i, 0x3fc, 0x258).flag(47, FTZ).m(b2(10, 2, 14, 1), INT);
        t.push(source_type(start).m(b(42, 2), names![_, Floor, Ceil, Trunc]).s(D.cc(50)).s(source));
    });
}

/// I2F and I2I: the same source, in three shapes by its type.
fn from_int(t: &mut Vec<Row>, f: Form) {
    let i2f = || f.row(Op::I2f, 0x3fc, 0x25c).m(b(10, 2), FLOAT);
    let i2i = || f.row(Op::I2i, 0x3fc, 0x260).m(b2(10, 2, 14, 1), INT);
    let finish_f = |r: Row| r.m(b(42, 2), ROUND).s(D.cc(50));
    let finish_i = |r: Row| r.flag(53, SAT).s(D.cc(50));
    let width = b(12, 2);
    let bytes = |r: Row| r.except(width, 1).m(b2(12, 2, 15, 1), INT_8_32_64);
    let halves = |r: Row| r.fix(width, 1).flag(15, INT_16);
    let byte = || parts(f, I20, b(44, 2), BYTES);
    let low = || parts(f, I20, b(44, 1), LOW_HALF);
    let high = || parts(f, I20, Bits::NONE, HIGH_HALF);
    if f == Form::Imm {
        let source = |part: Option<Sel>| source(f, I20).style(Style::Part(part.unwrap_or_default()));
        for (n, &part) in BYTES.iter().enumerate() {
            let row = |r: Row| bytes(r).fix(b(44, 2), n as u64).variant(n as u8);
            t.push(finish_f(row(i2f())).s(source(part)));
            t.push(finish_i(row(i2i())).s(source(part)));
        }
        for (n, part) in [(0, LOW_HALF[0]), (1, LOW_HALF[1]), (2, HIGH_HALF[0])] {
            let row = |r: Row| match n {
                2 => halves(r).fix(b(45, 1), 1).variant(2),
                _ => halves(r).fix(b(44, 2), n.into()).variant(n),
            };
            t.push(finish_f(row(i2f())).s(source(part)));
            t.push(finish_i(row(i2i())).s(source(part)));
        }
        return;
    }
    t.push(finish_f(bytes(i2f())).s(byte()));
    t.push(finish_i(bytes(i2i())).s(byte()));
    t.push(finish_f(halves(i2f()).fix(b(45, 1), 0)).s(low()));
    t.push(finish_i(halves(i2i()).fix(b(45, 1), 0)).s(low()));
    t.push(finish_f(halves(i2f()).fix(b(45, 1), 1)).s(high()));
    t.push(finish_i(halves(i2i()).fix(b(45, 1), 1)).s(high()));
}
