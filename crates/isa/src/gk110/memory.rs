//! Loads, stores, atomics, caches, surfaces, shader inputs and outputs.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, Kind, Names, Row, Slot, Style, b};

pub fn rows(t: &mut Vec<Row>) {
    global(t);
    windows(t);
    atomics(t);
    caches(t);
    surfaces(t);
    attributes(t);
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
    // Compare and swap: the value to compare with, and after it in the next register the new one; either can be
    // RZ instead.
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

/// Coordinates out of the surface: the load or store is dropped, traps, or is clamped.
const LOAD_BOUNDS: Names = names![Z, Trap, !, Sdcl];
const STORE_BOUNDS: Names = names![Ign, Trap, !, Sdcl];
/// How the address operand is meant.
const COORDINATE: Names = names![U32, S32, U8, S8];

fn surfaces(t: &mut Vec<Row>) {
    for f in Form::THREE {
        t.push(
            f.row(Op::Subfm, 0x3fc, 0x1e8)
                .flag(50, names![_, D3])
                .s(pred(51))
                .s(D)
                .s(A)
                .s(f.second(I20))
                .s(f.third()),
        );
        t.push(f.row(Op::Sueau, 0x3fc, 0x1ec).s(D).s(A).s(f.second(I20)).s(f.third()));
    }
    for f in Form::TWO {
        const CLAMP: Names = names![
            _, [Sd R2], [Sd R4], [Sd R8], [Sd R16], [Pl R1], [Pl R2], [Pl R4], [Pl R8], [Pl R16], [Bl R1], [Bl R2],
            [Bl R4], [Bl R8], [Bl R16]
        ];
        t.push(
            f.row(Op::Suclamp, 0x3e0, 0x180)
                .flag(56, names![D1, _])
                .flag(51, SIGN_DEFAULT)
                .m(b(52, 4), CLAMP)
                .s(pred(48))
                .s(D)
                .s(A)
                .s(f.second(I20))
                .s(simm(b(42, 6))),
        );
    }
    surface_load(t);
    surface_store(t);
}

fn surface_load(t: &mut Vec<Row>) {
    let load = |r: Row, cache, size, bounds, coordinate| {
        r.fix(b(48, 4), 0)
            .always(names![B])
            .m(b(cache, 2), names![Ca, _, Cs, Cv])
            .m(b(size, 3), SIZE_NAMED)
            .m(b(bounds, 2), LOAD_BOUNDS)
            .m(b(coordinate, 2), COORDINATE)
            .s(D)
            .s(mem(b(0, 0)))
    };
    t.push(load(row(Op::Suldga, 0xf80, 0x300, 2), 54, 56, 46, 52).s(CB).s(PC));
    t.push(load(row(Op::Suldga, 0xffc, 0x798, 2), 31, 33, 46, 52).s(B).s(PC));
}

fn surface_store(t: &mut Vec<Row>) {
    // Bytes (`.B`) have a size, pixels (`.P`) a mask of channels.
    const CHANNELS: Names = names![!, R, G, Rg, B, Rb, Gb, Rgb, A, Ra, Ga, Rga, Ba, Rba, Gba, _];
    const CACHE: Names = names![Wb, _, Cs, Wt];
    const PIXEL_BOUNDS: Names = names![Ign, Trap, !, _];
    const PIXEL_COORDINATE: Names = names![_, S32, U8, S8];
    let long = |op| row(op, 0xf80, 0x380, 2);
    let short = |op| row(op, 0xffc, 0x79c, 2);
    let bound = |low: u8| (b(low, 2), b(low + 2, 4), b(low + 6, 2));
    let predicate = pred_not(50, 53);
    let address = mem(Bits::NONE);
    for (make, source, low, cache, size) in
        [(&long as &dyn Fn(Op) -> Row, CB, 2, b(54, 2), b(56, 3)), (&short, B, 23, b(31, 2), b(33, 3))]
    {
        let source = if low == 2 { source } else { reg(2) };
        let (bounds, channels, coordinate) = bound(low);
        let reserved = b(size.lo, 2);
        t.push(
            make(Op::Sustga)
                .fix(channels, 0)
                .always(names![B])
                .m(cache, CACHE)
                .m(size, SIZE_NAMED)
                .m(bounds, STORE_BOUNDS)
                .m(coordinate, COORDINATE)
                .s(address)
                .s(source)
                .s(C)
                .s(predicate),
        );
        t.push(
            make(Op::Sustga)
                .except(channels, 0)
                .fix(reserved, 0)
                .always(names![P])
                .m(cache, CACHE)
                .m(channels, CHANNELS)
                .m(bounds, PIXEL_BOUNDS)
                .m(coordinate, PIXEL_COORDINATE)
                .s(address)
                .s(source)
                .s(C)
                .s(predicate),
        );
    }
}

/// An attribute address without a base register: ten bits; with one: eleven, signed.
fn attribute_bases(r: &dyn Fn() -> Row, low: u8) -> [(Row, Slot); 2] {
    let at = |base, offset, signed| Slot::new(Kind::Attr { base, offset, shift: 0, signed });
    let base = b(10, 8);
    [
        (r().fix(base, 255), at(Bits::NONE, b(low, 10), false)),
        (r().except(base, 255), at(base, b(low, 11), true)),
    ]
}

fn attributes(t: &mut Vec<Row>) {
    const WIDTH: Names = names![_, B64, B96, B128];
    let width = b(50, 2);
    let vertex = b(42, 8);
    let offset = b(23, 11);
    for (op, code) in [(Op::Ald, 0x7ec), (Op::Ast, 0x7f0)] {
        let make = || {
            let r = row(op, 0xffc, code, 2);
            if op == Op::Ald { r.flag(35, names![_, O]) } else { r }
        };
        let finish = |t: &mut Vec<Row>, r: Row, at: Slot| {
            let r = r.m(width, WIDTH);
            let r = if op == Op::Ald { r.s(D).s(at) } else { r.s(at).s(D) };
            t.push(r.clone().fix(vertex, 255));
            t.push(r.except(vertex, 255).s(C));
        };
        let [(direct, at), (indexed, indexed_at)] = attribute_bases(&make, 23);
        finish(t, direct.flag(34, names![_, P]), at);
        finish(t, indexed.fix(b(34, 1), 1).always(names![P]), indexed_at);
        // Physical addresses have no offset.
        let physical = make().except(b(10, 8), 255).fix(b(34, 1), 0).fix(offset, 0).always(names![Phys]);
        let plain = Slot::new(Kind::Attr { base: b(10, 8), offset: Bits::NONE, shift: 0, signed: false });
        finish(t, physical, plain);
    }
    let al2p = || row(Op::Al2p, 0xffc, 0x7d0, 2).flag(35, names![_, O]).m(width, WIDTH).s(D);
    let absolute = b(23, 10);
    t.push(al2p().fix(absolute, 0).fix(b(10, 8), 255));
    t.push(al2p().fix(offset, 0).except(b(10, 8), 255).s(A));
    t.push(al2p().except(absolute, 0).fix(b(10, 8), 255).s(imm(absolute)));
    t.push(al2p().except(offset, 0).except(b(10, 8), 255).s(A).s(simm(offset)));
    let ipa = || {
        row(Op::Ipa, 0xff8, 0x748, 2)
            .m(b(53, 2), names![Pass, _, Constant, Sc])
            .m(b(51, 2), names![_, Centroid, Offset])
            .flag(50, SAT)
            .s(D)
    };
    for (r, at) in attribute_bases(&ipa, 31) {
        t.push(r.clone().fix(vertex, 255).s(at).s(B));
        t.push(r.except(vertex, 255).s(at).s(B).s(C));
    }
    let vertex_data =
        Slot::new(Kind::Mem { base: b(10, 8), offset: b(23, 8), shift: 0, always_signed: false });
    t.push(row(Op::Vild, 0xffc, 0x7f8, 2).s(D).s(vertex_data.style(Style::Vertex)));
    let pixld = || {
        const WHAT: Names = names![_, Covmask, Covered, Offset, CentroidOffset, MyIndex];
        row(Op::Pixld, 0xffc, 0x7f4, 2).m(b(34, 3), WHAT).s(D)
    };
    t.push(pixld().fix(b(48, 3), 7).s(vertex_data));
    t.push(pixld().except(b(48, 3), 7).s(pred(48)).s(vertex_data));
    for f in Form::TWO {
        t.push(
            f.row(Op::Out, 0x3fc, 0x1f0)
                .m(b(42, 2), names![!, Emit, Cut, EmitThenCut])
                .s(D)
                .s(A)
                .s(f.second(I20)),
        );
    }
}
