//! Video instructions: arithmetic on bytes and half-words of registers, alone or two and four at
//! once.

use super::field::*;
use crate::names;
use crate::row::{Bits, ImmEnc, Kind, Names, Row, Slot, b, b2};
use crate::{Op, Sel};

pub(super) fn rows(t: &mut Vec<Row>) {
    scalar(t);
    pairs(t);
    quads(t);
}

/// One way in which a scalar source can be written, by the value of its three selector bits.
struct Part {
    fixed: &'static [(u8, u64)],
    sel: Option<(u8, &'static [Option<Sel>])>,
    /// Names of the type without and with sign.
    types: [Names; 2],
    sign: Names,
}

const BYTES: &[Option<Sel>] = &[Some(Sel::Whole), Some(Sel::B1), Some(Sel::B2), Some(Sel::B3)];
const HALVES: &[Option<Sel>] = &[Some(Sel::Whole), Some(Sel::H1)];

/// Bit offsets are relative to the selector's first bit.
const PARTS: [Part; 3] = [
    Part { fixed: &[(2, 0)], sel: Some((2, BYTES)), types: [names![U8], names![S8]], sign: names![U8, S8] },
    Part {
        fixed: &[(1, 0), (2, 1)],
        sel: Some((1, HALVES)),
        types: [names![U16], names![S16]],
        sign: names![U16, S16],
    },
    Part {
        fixed: &[(0, 0), (1, 1), (2, 1)],
        sel: None,
        types: [names![U32], names![S32]],
        sign: names![U32, S32],
    },
];

impl Part {
    fn fix(&self, r: Row, low: u8) -> Row {
        self.fixed.iter().fold(r, |r, &(bit, v)| r.fix(b(low + bit, 1), v))
    }

    fn slot(&self, slot: Slot, low: u8) -> Slot {
        match self.sel {
            Some((width, names)) => slot.sel(b(low, width), names),
            None => slot,
        }
    }

    fn is_word(&self) -> bool {
        self.sel.is_none()
    }
}

/// The second source of a scalar operation.
#[derive(Clone, Copy)]
enum Second {
    Part(usize),
    /// Sixteen bits.
    Imm,
}

const SECONDS: [Second; 4] = [Second::Part(0), Second::Part(1), Second::Part(2), Second::Imm];
const REGISTER: Bits = b(53, 1);
const A_SELECTOR: u8 = 39;
const B_SELECTOR: u8 = 31;
const IMM16: Bits = b(23, 16);

/// How an operation says the type of its second source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signs {
    /// Both sources have a sign bit.
    Both,
    /// The second source is an unsigned amount; bit 52 means "wrap".
    Amount,
}

/// Every combination of source shapes: the row with its type suffixes, and the two sources.
fn combinations(make: impl Fn() -> Row, signs: Signs, mut done: impl FnMut(Row, Slot, Slot)) {
    for part in &PARTS {
        for second in SECONDS {
            let row = part.fix(make(), A_SELECTOR);
            let a = part.slot(A, A_SELECTOR);
            let (row, source, names, word) = match second {
                Second::Part(n) => {
                    let p = &PARTS[n];
                    let r = p.fix(row.fix(REGISTER, 1), B_SELECTOR);
                    (r, p.slot(B, B_SELECTOR), p, p.is_word())
                }
                Second::Imm => (row.fix(REGISTER, 0), imm(IMM16), &PARTS[1], false),
            };
            let row = match signs {
                // Two signed words are the default and are not written.
                Signs::Both if part.is_word() && word => {
                    row.m(b(51, 2), names![[U32 U32], [S32 U32], [U32 S32], _])
                }
                Signs::Both => row.flag(51, part.sign).flag(52, names.sign),
                // A signed word shifted by a word likewise.
                Signs::Amount if part.is_word() && word => {
                    row.flag(51, names![[U32 U32], _]).flag(52, names![_, W])
                }
                Signs::Amount => row.flag(51, part.sign).always(names.types[0]).flag(52, names![_, W]),
            };
            done(row, a, source);
        }
    }
}

const MERGE: Names = names![Mrg16h, Mrg16l, Mrg8b0, Mrg8b2, Acc, Min, Max, _];
const UNSIGNED: Names = names![Ud, _];
const SIGNED: Names = names![_, Sd];
const MAXIMUM: Names = names![_, Mx];

/// Suffixes that end most lists.
fn merged(r: Row) -> Row {
    r.flag(58, SAT).m(b(54, 3), MERGE).s(D.cc(50))
}

fn scalar(t: &mut Vec<Row>) {
    let negative = b(59, 2);
    combinations(
        || row(Op::Vadd, 0xe00, 0x000, 1).flag(57, UNSIGNED),
        Signs::Both,
        |r, a, second| {
            t.push(merged(r.clone().fix(negative, 3).always(names![Po])).s(a).s(second).s(C));
            negatable(t, &r, second, 59, |r, second| {
                merged(r.except(negative, 3)).s(a.neg(60)).s(second).s(C)
            });
        },
    );
    combinations(
        || row(Op::Vabsdiff, 0xf80, 0xa00, 2).flag(57, SIGNED),
        Signs::Both,
        |r, a, second| {
            t.push(merged(r).s(a).s(second).s(C));
        },
    );
    combinations(
        || row(Op::Vmnmx, 0xf00, 0xe00, 1).flag(57, UNSIGNED),
        Signs::Both,
        |r, a, second| {
            t.push(merged(r.flag(59, MAXIMUM)).s(a).s(second).s(C));
        },
    );
    for (op, code) in [(Op::Vshr, 0xb00), (Op::Vshl, 0xb80)] {
        combinations(
            || row(op, 0xf80, code, 2).flag(57, UNSIGNED),
            Signs::Amount,
            |r, a, second| {
                t.push(merged(r).s(a).s(second).s(C));
            },
        );
    }
    combinations(
        || row(Op::Vset, 0xf00, 0x000, 2).m(b(57, 3), COMPARE),
        Signs::Both,
        |r, a, second| {
            t.push(r.m(b(54, 3), MERGE).s(D.cc(50)).s(a).s(second).s(C));
        },
    );
    let compare = || row(Op::Vsetp, 0xffc, 0x878, 2).m(b2(46, 2, 50, 1), COMPARE);
    combinations(compare, Signs::Both, |r, a, second| {
        t.push(r.m(b(48, 2), COMBINE).s(PD).s(PD2).s(a).s(second).s(PC));
    });
    let signs = b(56, 2);
    combinations(
        || row(Op::Vmad, 0xf80, 0xf80, 2),
        Signs::Both,
        |r, a, second| {
            let rest = |r: Row| r.m(b(54, 2), names![_, Shr7, Shr15]).flag(58, SAT).s(D.cc(50));
            t.push(rest(r.clone().fix(signs, 3).always(names![Po])).s(a).s(second).s(C));
            t.push(rest(r.except(signs, 3)).s(a.neg(57)).s(second).s(C.neg(56)));
        },
    );
}

/// A second source with a sign bit: an immediate is written as a negative number, and -0 as 0.
fn negatable(t: &mut Vec<Row>, r: &Row, second: Slot, bit: u8, finish: impl Fn(Row, Slot) -> Row) {
    let Kind::Imm { at, .. } = second.kind else {
        t.push(finish(r.clone(), second.neg(bit)));
        return;
    };
    let sign = b(bit, 1);
    t.push(finish(r.clone().fix(sign, 0), second));
    let negated = Slot::new(Kind::Imm { at, enc: ImmEnc::Negated });
    t.push(finish(r.clone().fix(sign, 1).except(at, 0), negated));
    t.push(finish(r.clone().fix(sign, 1).fix(at, 0).variant(1), imm(Bits::NONE)));
}

/// Two selector digits; `10` and `32` are the defaults.
const A_PAIR: &[Option<Sel>] = &[
    Sel::video("00"),
    Sel::video("01"),
    Sel::video("02"),
    Sel::video("03"),
    Some(Sel::Whole),
    Sel::video("11"),
    Sel::video("12"),
    Sel::video("13"),
    Sel::video("20"),
    Sel::video("21"),
    Sel::video("22"),
    Sel::video("23"),
    Sel::video("30"),
    Sel::video("31"),
    Sel::video("32"),
    Sel::video("33"),
];
const B_PAIR: &[Option<Sel>] = &[
    Sel::video("00"),
    Sel::video("01"),
    Sel::video("02"),
    Sel::video("03"),
    Sel::video("10"),
    Sel::video("11"),
    Sel::video("12"),
    Sel::video("13"),
    Sel::video("20"),
    Sel::video("21"),
    Sel::video("22"),
    Sel::video("23"),
    Sel::video("30"),
    Sel::video("31"),
    Some(Sel::Whole),
    Sel::video("33"),
];
/// With an immediate the first source selects from one register only.
const A_PAIR_IMM: &[Option<Sel>] = &[Sel::video("00"), Sel::video("01"), Some(Sel::Whole), Sel::video("11")];
const PAIR_LANES: Names = names![!, X, Y, _];
const ACCUMULATE: Names = names![_, Acc];
/// Types of both sources; two signed ones are the default.
const PAIR_TYPES: Names = names![[U16 U16], [S16 U16], [U16 S16], _];
const QUAD_TYPES: Names = names![[U8 U8], [S8 U8], [U8 S8], _];

/// The two shapes of the sources of operations on half-words.
fn pair_sources(make: impl Fn() -> Row) -> [(Row, Slot, Slot); 2] {
    [
        (make().fix(REGISTER, 1), A.sel(b(37, 4), A_PAIR), B.sel(b(33, 4), B_PAIR)),
        (make().fix(REGISTER, 0), A.sel(b(39, 2), A_PAIR_IMM), imm(b(23, 16))),
    ]
}

fn pairs(t: &mut Vec<Row>) {
    let lanes = |r: Row| r.m(b(56, 2), ACCUMULATE).m(b(54, 2), PAIR_LANES).s(D.cc(50));
    let negative = b(59, 2);
    let types = b(51, 2);
    for (r, a, second) in
        pair_sources(|| row(Op::Vadd2, 0xe00, 0x200, 1).flag(41, UNSIGNED).m(types, PAIR_TYPES))
    {
        t.push(lanes(r.clone().fix(negative, 3).always(names![Avrg]).flag(58, SAT)).s(a).s(second).s(C));
        negatable(t, &r, second, 59, |r, second| {
            lanes(r.except(negative, 3).flag(58, SAT)).s(a.neg(60)).s(second).s(C)
        });
    }
    for (r, a, second) in
        pair_sources(|| row(Op::Vabsdiff2, 0xf80, 0xa80, 2).flag(41, SIGNED).m(types, PAIR_TYPES))
    {
        t.push(lanes(r.flag(58, SAT)).s(a).s(second).s(C));
    }
    for (r, a, second) in
        pair_sources(|| row(Op::Vmnmx2, 0xf00, 0xf00, 1).flag(41, UNSIGNED).m(types, PAIR_TYPES))
    {
        t.push(lanes(r.flag(59, MAXIMUM).flag(58, SAT)).s(a).s(second).s(C));
    }
    let set = || row(Op::Vset2, 0xf00, 0x100, 2).m(b(57, 3), COMPARE).m(b2(41, 1, 56, 1), PAIR_TYPES);
    for (r, a, second) in pair_sources(set) {
        t.push(r.m(b(51, 2), ACCUMULATE).m(b(54, 2), PAIR_LANES).s(D.cc(50)).s(a).s(second).s(C));
    }
    let select = || row(Op::Vsel2, 0xff8, 0x790, 2).flag(41, UNSIGNED).m(types, PAIR_TYPES).flag(54, SAT);
    for (r, a, second) in pair_sources(select) {
        t.push(r.m(b(48, 2), ACCUMULATE).m(b(46, 2), PAIR_LANES).s(D.cc(50)).s(a).s(second).s(PC));
    }
}

const A_QUAD: &[Option<Sel>] = &[
    Sel::video("0000"),
    Sel::video("1111"),
    Sel::video("2222"),
    Sel::video("3333"),
    Some(Sel::Whole),
    Sel::video("4321"),
    Sel::video("5432"),
    Sel::video("6543"),
    Sel::video("3201"),
    Sel::video("3012"),
    Sel::video("0213"),
    Sel::video("3120"),
    Sel::video("1230"),
    Sel::video("2310"),
];
const B_QUAD: &[Option<Sel>] = &[
    Sel::video("4444"),
    Sel::video("5555"),
    Sel::video("6666"),
    Sel::video("7777"),
    Some(Sel::Whole),
    Sel::video("6543"),
    Sel::video("5432"),
    Sel::video("4321"),
    Sel::video("4567"),
    Sel::video("6745"),
    Sel::video("5476"),
];
const QUAD_LANES: Names = names![!, Z, W, Zw, X, Xz, Xw, Xzw, Y, Yz, Yw, Yzw, Xy, Xyz, Xyw, _];

/// The two shapes of the sources of operations on bytes: the last selector value means an
/// immediate.
fn quad_sources(make: impl Fn() -> Row) -> [(Row, Slot, Slot); 2] {
    let selector = b(31, 4);
    let a = A.sel(b(35, 4), A_QUAD);
    [(make().except(selector, 15), a, B.sel(selector, B_QUAD)), (make().fix(selector, 15), a, imm(b(23, 8)))]
}

fn quads(t: &mut Vec<Row>) {
    let lanes = |r: Row| r.m(b(56, 2), ACCUMULATE).m(b2(39, 2, 54, 2), QUAD_LANES).s(D.cc(50));
    let negative = b(58, 2);
    let types = b(51, 2);
    for (r, a, second) in
        quad_sources(|| row(Op::Vadd4, 0xf00, 0xd00, 1).flag(41, UNSIGNED).m(types, QUAD_TYPES))
    {
        t.push(lanes(r.clone().fix(negative, 3).always(names![Avrg]).flag(53, SAT)).s(a).s(second).s(C));
        negatable(t, &r, second, 58, |r, second| {
            lanes(r.except(negative, 3).flag(53, SAT)).s(a.neg(59)).s(second).s(C)
        });
    }
    for (r, a, second) in
        quad_sources(|| row(Op::Vabsdiff4, 0xfc0, 0x800, 2).flag(41, SIGNED).m(types, QUAD_TYPES))
    {
        t.push(lanes(r.flag(53, SAT)).s(a).s(second).s(C));
    }
    for (r, a, second) in
        quad_sources(|| row(Op::Vmnmx4, 0xf80, 0xf00, 2).flag(41, UNSIGNED).m(types, QUAD_TYPES))
    {
        t.push(lanes(r.flag(58, MAXIMUM).flag(53, SAT)).s(a).s(second).s(C));
    }
    let set = || row(Op::Vset4, 0xf80, 0xe80, 2).m(b(51, 3), COMPARE).m(b2(41, 1, 58, 1), QUAD_TYPES);
    for (r, a, second) in quad_sources(set) {
        t.push(lanes(r).s(a).s(second).s(C));
    }
    let select = || row(Op::Vsel4, 0xffc, 0x874, 2).flag(41, UNSIGNED).m(types, QUAD_TYPES).flag(53, SAT);
    for (r, a, second) in quad_sources(select) {
        t.push(r.m(b(48, 2), ACCUMULATE).m(b2(39, 2, 46, 2), QUAD_LANES).s(D.cc(50)).s(a).s(second).s(PC));
    }
}
