//! Surfaces: address arithmetic, loads and stores.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, Names, Row, b};

/// Coordinates out of the surface: the load or store is dropped, traps, or is clamped.
const LOAD_BOUNDS: Names = names![Z, Trap, !, Sdcl];
const STORE_BOUNDS: Names = names![Ign, Trap, !, Sdcl];
/// How the address operand is meant.
const COORDINATE: Names = names![U32, S32, U8, S8];

pub(super) fn rows(t: &mut Vec<Row>) {
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
