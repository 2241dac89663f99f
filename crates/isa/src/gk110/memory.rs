//! Loads, stores, atomics, caches.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Kind, Names, Row, Slot, b};

pub(super) fn rows(t: &mut Vec<Row>) {
    global(t);
    windows(t);
    atomics(t);
    caches(t);
}

const E: Names = names![_, E];

const LOAD: Names = names![U8, S8, U16, S16, _, B64, B128, [U B128]];

fn global(t: &mut Vec<Row>) {
    t.push(
        row(Op::Ld, 0xe00, 0xc00, 0)
            .flag(55, E)
            .m(b(59, 2), LOAD_CACHE)
            .m(b(56, 3), LOAD)
            .s(D)
            .s(mem(b(23, 32))),
    );
    t.push(
        row(Op::St, 0xe00, 0xe00, 0)
            .flag(55, E)
            .m(b(59, 2), STORE_CACHE)
            .m(b(56, 3), SIZE)
            .s(mem(b(23, 32)))
            .s(D),
    );
}

/// Local, shared and constant memory.
fn windows(t: &mut Vec<Row>) {
    let at = mem(b(23, 24));
    let size = b(51, 3);
    let locked = pred(48);
    t.push(row(Op::Ldl, 0xffc, 0x7a0, 2).m(b(47, 2), names![_, Cg, Lu, Cv]).m(size, SIZE).s(D).s(at));
    t.push(row(Op::Stl, 0xffc, 0x7a8, 2).m(b(47, 2), STORE_CACHE).m(size, SIZE).s(at).s(D));
    t.push(row(Op::Lds, 0xffc, 0x7a4, 2).m(size, LOAD).s(D).s(at));
    t.push(row(Op::Sts, 0xffc, 0x7ac, 2).m(size, SIZE).s(at).s(D));
    t.push(row(Op::Ldslk, 0xffc, 0x774, 2).m(size, SIZE).s(locked).s(D).s(at));
    t.push(row(Op::Stscul, 0xffc, 0x784, 2).m(size, SIZE).s(locked).s(at).s(D));
    t.push(
        row(Op::Ldc, 0xffc, 0x7c8, 2)
            .m(size, SIZE)
            .m(b(47, 2), names![_, Il, Is, Isl])
            .s(D)
            .s(Slot::new(Kind::ConstInd { bank: b(39, 5), base: b(10, 8), offset: b(23, 16), shift: 0 })),
    );
}

fn atomics(t: &mut Vec<Row>) {
    let at = mem(b(31, 20));
    const OP: Names = names![Add, Min, Max, Inc, Dec, And, Or, Xor, Exch, !, Safeadd];
    const TYPE: Names = names![_, S32, U64, [F32 Ftz Rn], U128, S64];
    const REDUCE: Names = names![Add, Min, Max, Inc, Dec, And, Or, Xor];
    let (nothing, operation, kind) = (b(2, 8), b(55, 4), b(52, 3));
    let atom = |op| row(op, 0xf80, 0x680, 2).flag(51, E);
    t.push(atom(Op::Atom).except(nothing, 255).m(operation, OP).m(kind, TYPE).s(D).s(at).s(B));
    t.push(atom(Op::Red).fix(nothing, 255).m(operation, REDUCE).m(kind, TYPE).s(at).s(B));
    // Compare and swap: the value to compare with, and after it in the next register the new one;
    // either can be RZ instead.
    let rz = Slot::new(Kind::Tied { at: b(0, 0), plus: 0 });
    for (width, plus, names) in [(0, 1, names![_] as Names), (1, 2, names![B64])] {
        let cas = |which| {
            row(Op::Atom, 0xff8, 0x778, 2)
                .fix(b(53, 2), which)
                .fix(b(52, 1), width)
                .flag(51, E)
                .always(names![Cas])
                .always(names)
                .s(D)
                .s(at)
        };
        // The successor must be a register.
        let value = b(23, 8);
        let pair = (255 - u64::from(plus)..=255).fold(cas(0), |r, last| r.except(value, last));
        t.push(pair.s(B).s(Slot::new(Kind::Tied { at: value, plus })));
        t.push(cas(1).s(B).s(rz));
        t.push(cas(2).except(value, 255).s(rz).s(B));
    }
}

fn caches(t: &mut Vec<Row>) {
    const WHAT: Names = names![Qry1, Pf1, Pf15, Pf2, Wb, Iv, Ivall, Rs, Wball, Rslb];
    let line = |n: u8, low: u8| {
        Slot::new(Kind::Mem { base: b(10, 8), offset: b(low, n), shift: 2, always_signed: false })
    };
    t.push(
        row(Op::Cctl, 0xff0, 0x7b0, 2)
            .flag(55, E)
            .m(b(6, 3), names![_, U, C, I, Crs])
            .m(b(2, 4), WHAT)
            .s(line(30, 25)),
    );
    t.push(row(Op::Cctll, 0xffc, 0x7c0, 2).m(b(6, 2), names![_, Crs]).m(b(2, 4), WHAT).s(line(22, 25)));
    t.push(row(Op::Cctls, 0xffc, 0x7c4, 2).always(names![Rslb]));
}
