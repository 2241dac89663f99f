//! Surfaces: class 5, and their address arithmetic in class 4.
//!
//! GF100 reads and writes bound surface slots by coordinates (SULD, SUST) or takes their address
//! (SULEA). GK104 computes the address itself: SUCLAMP clamps a coordinate, SUBFM merges bit fields
//! of coordinates, SUEAU adds the surface's address, and SULDGA and SUSTGA access it with the
//! format in a register or constant.

use super::field::*;
use super::memory::{CACHE_BITS, TYPE_BITS};
use nvir_base::Chip;

use crate::names;
use crate::row::{Bits, ImmEnc, Kind, Names, Row, Slot, b};
use crate::{Kw, Op};

const TYPE: Names = names!(U8, S8, U16, S16, B32, B64, B128);
/// The cache operators, of which `.CG` is the one that is not written.
const LOAD_CACHE: Names = names!(Ca, _, Cs, Cv);
const STORE_CACHE: Names = names!(Wb, _, Cs, Wt);
const CLAMP_BITS: Bits = b(47, 2);
/// `[base]` without an offset.
const ADDRESS: Slot = memory(Bits::NONE);

pub(super) fn rows(out: &mut Vec<Row>, chip: Chip) {
    match chip {
        Chip::Gf100 => bound(out),
        _ => {
            arithmetic(out);
            by_address(out);
        }
    }
    let sured = op6(Op::Sured, 5, 0xd8)
        .always(names!(P))
        .m(b(5, 4), names!(Add, Min, Max, Inc, Dec, And, Or, Xor))
        .m(CLAMP_BITS, names!(Z, Clamp, Trap))
        .fix(b(32, 1), 1)
        .fix(b(46, 1), 1);
    out.push(sured.s(number(b(26, 3))).s(TARGET).s(A).s(DST));
}

/// How many coordinates there are; E2D takes a third for the layer.
const TARGET: Slot = Slot::new(Kind::Word {
    at: b(44, 2),
    words: &[Some(Kw::T1d), Some(Kw::T2d), Some(Kw::T3d), Some(Kw::E2d)],
});

/// A surface slot by number, or in a register; `rest` follows it.
fn push_slot(out: &mut Vec<Row>, r: Row, rest: &[Slot]) {
    out.push(tail(r.clone().fix(b(46, 1), 1).s(number(b(26, 3))), rest));
    out.push(tail(r.fix(b(46, 1), 0).s(B), rest));
}

fn bound(out: &mut Vec<Row>) {
    const CLAMP: Names = names!(Z, Clamp, Trap);
    const COMPONENTS: Bits = b(49, 4);
    let suld = op6(Op::Suld, 5, 0xd4).always(names!(B)).m(CACHE_BITS, LOAD_CACHE).m(TYPE_BITS, TYPE);
    push_slot(out, suld.m(CLAMP_BITS, CLAMP).s(DST), &[TARGET, A]);
    let sust = op6(Op::Sust, 5, 0xdc);
    let raw = sust.clone().fix(COMPONENTS, 0).always(names!(B)).m(CACHE_BITS, STORE_CACHE);
    push_slot(out, raw.m(TYPE_BITS, TYPE).m(CLAMP_BITS, CLAMP), &[TARGET, A, DST]);
    let formatted = sust.except(COMPONENTS, 0).always(names!(P)).m(CACHE_BITS, STORE_CACHE);
    push_slot(out, formatted.m(COMPONENTS, RGBA).m(CLAMP_BITS, CLAMP), &[TARGET, A, DST]);
    let sulea = op6(Op::Sulea, 5, 0xf0).always(names!(B)).m(TYPE_BITS, TYPE).m(CLAMP_BITS, CLAMP);
    push_slot(out, sulea.s(pred_dst(54)).s(DST), &[TARGET, A]);
    const QUERY: Names = names!(Rank, PixelFormat, SampleSize, Dimension, Rgba, BlockSize);
    push_slot(out, op6(Op::Suq, 5, 0xe4).m(b(5, 3), QUERY).s(DST), &[]);
}

/// The components that a formatted store writes; all four are not written.
const RGBA: Names = names!(!, R, G, Rg, B, Rb, Gb, Rgb, A, Ra, Ga, Rga, Ba, Rba, Gba, _);

fn arithmetic(out: &mut Vec<Row>) {
    const MODE: Names = names!(
        _, [Sd R2], [Sd R4], [Sd R8], [Sd R16], [Pl R1], [Pl R2], [Pl R4], [Pl R8], [Pl R16], [Bl R1], [Bl R2], [Bl R4],
        [Bl R8], [Bl R16]
    );
    let clamp = op6(Op::Suclamp, 4, 0x58).since(Chip::Gk104);
    let clamp = clamp.flag(48, names!(D1, _)).flag(9, names!(U32, _)).m(b(5, 4), MODE);
    let bias = Slot::new(Kind::Imm { at: b(49, 6), enc: ImmEnc::Signed });
    push_b(out, clamp.s(pred_dst(55)).s(DST).s(A), Short::Int, plain, &[bias]);
    let subfm = op6(Op::Subfm, 4, 0x5c).since(Chip::Gk104).flag(48, names!(_, D3));
    push_bc(out, subfm.s(pred_dst(55)).s(DST).s(A), Short::Int, plain, plain);
    let sueau = op6(Op::Sueau, 4, 0x60).since(Chip::Gk104);
    push_bc(out, sueau.s(DST).s(A), Short::Int, plain, plain);
}

fn by_address(out: &mut Vec<Row>) {
    const FORMAT_BITS: Bits = b(45, 2);
    const FORMAT: Names = names!(U32, S32, U8, S8);
    const COMPONENTS: Bits = b(54, 4);
    let constant = Kind::Const { bank: b(40, 4), offset: b(26, 14), shift: 2, signed_text: false };
    let formats = [B, Slot::new(constant)];
    for (i, format) in formats.into_iter().enumerate() {
        let new = |op, opcode| op6(op, 5, opcode).since(Chip::Gk104).fix(b(53, 1), i as u64);
        let load = new(Op::Suldga, 0xd4)
            .always(names!(B))
            .m(CACHE_BITS, LOAD_CACHE)
            .m(TYPE_BITS, TYPE)
            .m(CLAMP_BITS, names!(Z, Trap, !, Sdcl))
            .m(FORMAT_BITS, FORMAT);
        out.push(load.s(DST).s(ADDRESS).s(format).s(P_SRC));
        const CLAMP: Names = names!(Ign, Trap, !, Sdcl);
        let store = new(Op::Sustga, 0xdc);
        let raw = store
            .clone()
            .fix(COMPONENTS, 0)
            .always(names!(B))
            .m(CACHE_BITS, STORE_CACHE)
            .m(TYPE_BITS, TYPE)
            .m(CLAMP_BITS, CLAMP)
            .m(FORMAT_BITS, FORMAT);
        out.push(raw.s(ADDRESS).s(format).s(DST).s(P_SRC));
        let formatted = store
            .except(COMPONENTS, 0)
            .always(names!(P))
            .m(CACHE_BITS, STORE_CACHE)
            .m(COMPONENTS, RGBA)
            .m(CLAMP_BITS, CLAMP)
            .m(FORMAT_BITS, names!(_, S32, U8, S8));
        out.push(formatted.s(ADDRESS).s(format).s(DST).s(P_SRC));
    }
}
