//! Texture instructions: class 6, opcodes 0x80 to 0xf0.
//!
//! GF100 names bound texture and sampler slots; on GK104 the texture field is the index of a handle
//! in the constant buffer that the driver chose, and the sampler field is zero. The result is a run
//! of registers for the bits of the component mask; the two sources are runs whose length follows
//! from the target and the modifiers.

use super::field::*;
use crate::names;
use crate::row::{Kind, Names, Row, Slot, b};
use crate::{Kw, Op};
use nvir_base::Chip;

/// Whether the next texture instruction depends on this one.
const PHASE: Names = names!(_, T, P);
const NODEP: Names = names!(_, Nodep);
const NDV: Names = names!(_, Ndv);
const INDIRECT: Names = names!(_, B);
const AOFFI: Names = names!(_, Aoffi);
const DC: Names = names!(_, Dc);
const TEXTURE: Slot = number(b(32, 8));
const SAMPLER: Slot = number(b(40, 5));
const MASK: Slot = number(b(46, 4));
const TARGET: Slot = Slot::new(Kind::Word {
    at: b(51, 3),
    words: &[
        Some(Kw::T1d),
        Some(Kw::Array1d),
        Some(Kw::T2d),
        Some(Kw::Array2d),
        Some(Kw::T3d),
        Some(Kw::Array3d),
        Some(Kw::Cube),
        Some(Kw::ArrayCube),
    ],
});

/// What TXQ asks for.
const QUERY: Slot = Slot::new(Kind::Word {
    at: b(54, 6),
    words: &[
        Some(Kw::TexHeaderDimension),
        Some(Kw::TexHeaderTextureType),
        Some(Kw::TexHeaderSamplerPos),
        None,
        None,
        None,
        None,
        None,
        Some(Kw::TexSamplerFilter),
        Some(Kw::TexSamplerLod),
        Some(Kw::TexSamplerWrap),
        Some(Kw::TexSamplerBorderColor),
    ],
});
/// The second source, which is RZ where there is none.
const SECOND: crate::row::Bits = b(26, 6);

pub(super) fn rows(out: &mut Vec<Row>, chip: Chip) {
    let indirect = |op, opcode| op4(op, 6, opcode).flag(50, INDIRECT);
    // Bits 45 (all lanes' derivatives), 9 (live lanes only) and 8:7 close the suffixes.
    let last = |r: Row| r.flag(9, NODEP).m(b(7, 2), PHASE);
    const LOD: Names = names!(_, Lz, Lb, Ll, !, !, Lba, Lla);
    let tex = indirect(Op::Tex, 0x80).m(b(57, 3), LOD).flag(54, AOFFI).flag(56, DC).flag(45, NDV);
    push(out, last(tex), &[TARGET, MASK]);
    let tld = indirect(Op::Tld, 0x90).m(b(57, 1), names!(Lz, Ll)).flag(54, AOFFI);
    push(out, last(tld.flag(55, names!(_, Ms)).flag(56, names!(_, Cl))), &[TARGET, MASK]);
    let tld4 = op4(Op::Tld4, 6, 0xa0).m(b(5, 2), names!(R, G, B, A)).flag(50, INDIRECT);
    let tld4 = tld4.m(b(54, 2), names!(_, Aoffi, Ptp)).flag(56, DC).flag(45, NDV);
    push(out, last(tld4), &[TARGET, MASK]);
    push(out, last(indirect(Op::Tmml, 0xb0).always(names!(Lod)).flag(45, NDV)), &[TARGET, MASK]);
    push(out, last(indirect(Op::Txd, 0xe0).flag(54, AOFFI)), &[TARGET, MASK]);
    let txa = last(op4(Op::Txa, 6, 0xd0).flag(45, NDV)).s(DST).s(A);
    out.push(txa.s(TEXTURE).s(SAMPLER).s(MASK));
    let txq = last(op4(Op::Txq, 6, 0xc0).flag(50, INDIRECT)).s(DST).s(A);
    for (second, r) in [(None, txq.clone().fix(SECOND, 63)), (Some(B), txq.except(SECOND, 63))] {
        out.push(tail(tail(r, second.as_slice()), &[QUERY, TEXTURE, SAMPLER, MASK]));
    }
    if chip != Chip::Gf100 {
        let wait = op4(Op::Texdepbar, 6, 0xf0).since(Chip::Gk104);
        push_cc(out, wait, &[number(b(26, 6))]);
    }
}

/// Destination, the first source, the second unless it is RZ, the slots, and `rest`.
fn push(out: &mut Vec<Row>, r: Row, rest: &[Slot]) {
    let head = r.s(DST).s(A);
    let slots = |r: Row| tail(r.s(TEXTURE).s(SAMPLER), rest);
    out.push(slots(head.clone().fix(SECOND, 63)));
    out.push(slots(head.except(SECOND, 63).s(B)));
}
