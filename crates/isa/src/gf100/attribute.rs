//! Shader inputs and outputs, interpolation and pixel information: class 6, and IPA of class 0.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, ImmEnc, Kind, Names, Row, Slot, Style, b};
use nvir_base::Chip;

/// `a[base + offset]`.
const ATTR: Slot = Slot::new(Kind::Attr { base: b(20, 6), offset: b(32, 10), shift: 0, signed: false });
const PATCH: Names = names!(_, P);
/// Outputs of other threads of the patch.
const OUTPUT: Names = names!(_, O);
/// Bit 57 clear. Mesa's nvc0 driver sets it on every access, also with addresses that AL2P gave; NAK never does, but has no
/// driver for these chips, so set stays what is written.
const PHYSICAL: Names = names!(Phys, _);
pub(super) const SIZE: Names = names!(_, B64, B96, B128);
const SIZE_BITS: Bits = b(5, 2);

pub(super) fn rows(out: &mut Vec<Row>, chip: Chip) {
    let ald = op6(Op::Ald, 6, 0x04).flag(9, OUTPUT).flag(8, PATCH).flag(57, PHYSICAL).m(SIZE_BITS, SIZE);
    push_register(out, ald.s(DST).s(ATTR), B);
    let ast = op6(Op::Ast, 6, 0x08).flag(8, PATCH).flag(57, PHYSICAL).m(SIZE_BITS, SIZE);
    push_register(out, ast.s(ATTR).s(B), C);
    out.push(op6(Op::Vild, 6, 0x00).s(DST).s(memory(b(26, 16)).style(Style::Vertex)));
    const STYLE: Names = names!(_, Emit, Cut, EmitThenCut);
    push_b(out, op6(Op::Out, 6, 0x1c).m(b(5, 2), STYLE).s(DST).s(A), Short::Int, plain, &[]);
    const INFO: Names = names!(_, Covmask, Covered, Offset, CentroidOffset, MyIndex);
    let pixld = op6(Op::Pixld, 6, 0x10).m(b(5, 3), INFO).s(DST);
    let at = memory(b(26, 8));
    out.push(pixld.clone().fix(b(53, 3), 7).s(at));
    out.push(pixld.except(b(53, 3), 7).s(pred_dst(53)).s(at));
    if chip != Chip::Gf100 {
        let al2p = op6(Op::Al2p, 6, 0x0c).since(Chip::Gk104).flag(9, OUTPUT).s(DST).s(A);
        out.push(al2p.s(Slot::new(Kind::Imm { at: b(32, 11), enc: ImmEnc::Signed })));
    }
    let ipa = op5(Op::Ipa, 0, 0xc0)
        .m(b(6, 2), names!(Pass, _, Constant, Sc))
        .m(b(8, 2), names!(_, Centroid, Offset))
        .flag(5, SAT)
        .s(DST)
        .s(ATTR)
        .s(B);
    push_register(out, ipa, C);
}

/// A register that is not written where it is RZ.
pub(super) fn push_register(out: &mut Vec<Row>, r: Row, slot: Slot) {
    let Kind::Reg(at) = slot.kind else { unreachable!("a register slot") };
    out.push(r.clone().fix(at, at.max()));
    out.push(r.except(at, at.max()).s(slot));
}
