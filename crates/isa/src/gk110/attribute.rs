//! Shader inputs and outputs, interpolation and pixel information.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, Kind, Names, Row, Slot, Style, b};

/// An attribute address without a base register: ten bits; with one: eleven, signed.
fn attribute_bases(r: &dyn Fn() -> Row, low: u8) -> [(Row, Slot); 2] {
    let at = |base, offset, signed| Slot::new(Kind::Attr { base, offset, shift: 0, signed });
    let base = b(10, 8);
    [
        (r().fix(base, 255), at(Bits::NONE, b(low, 10), false)),
        (r().except(base, 255), at(base, b(low, 11), true)),
    ]
}

pub(super) fn rows(t: &mut Vec<Row>) {
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
