//! Global, local, shared and constant memory, atomics, cache control and lane exchange: classes 5
//! and 6.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, ImmEnc, Kind, Names, Row, Slot, b, b2};
use nvir_base::Chip;

/// The type of an access, at 7:5.
pub(super) const TYPE: Names = names!(U8, S8, U16, S16, _, B64, B128);
pub(super) const TYPE_BITS: Bits = b(5, 3);
pub(super) const CACHE_BITS: Bits = b(8, 2);
const LOAD_CACHE: Names = names!(_, Cg, Cs, Cv);
const LOCAL_LOAD_CACHE: Names = names!(_, Cg, Lu, Cv);
const STORE_CACHE: Names = names!(_, Cg, Cs, Wt);
/// `.E`: the address is a 64-bit register pair.
const WIDE: u8 = 58;
const E: Names = names!(_, E);
const GLOBAL: Slot = memory(b(26, 32));
/// Local and shared memory have 24 bits of offset.
const NEAR: Slot = memory(b(26, 24));
/// The atomics' offset lies around their result register.
const ATOMIC: Slot = memory(b2(26, 17, 55, 3));
/// The predicate that a locked access of GK104 returns, and SHFL's.
const LOCK: Slot = Slot::new(Kind::Pred { at: b2(8, 2, 58, 1), not: crate::row::Bit::NO });

pub(super) fn rows(out: &mut Vec<Row>, chip: Chip) {
    let ld = op5(Op::Ld, 5, 0x80).flag(WIDE, E).m(CACHE_BITS, LOAD_CACHE).m(TYPE_BITS, TYPE);
    out.push(ld.s(DST).s(GLOBAL));
    let st = op5(Op::St, 5, 0x90).flag(WIDE, E).m(CACHE_BITS, STORE_CACHE).m(TYPE_BITS, TYPE);
    out.push(st.s(GLOBAL).s(DST));
    // Bit 56 tells shared from local memory.
    let near = |op, opcode, shared| op6(op, 5, opcode).fix(b(56, 1), shared);
    out.push(near(Op::Ldl, 0xc0, 0).m(CACHE_BITS, LOCAL_LOAD_CACHE).m(TYPE_BITS, TYPE).s(DST).s(NEAR));
    out.push(near(Op::Lds, 0xc0, 1).m(TYPE_BITS, TYPE).s(DST).s(NEAR));
    out.push(near(Op::Stl, 0xc8, 0).m(CACHE_BITS, STORE_CACHE).m(TYPE_BITS, TYPE).s(NEAR).s(DST));
    out.push(near(Op::Sts, 0xc8, 1).m(TYPE_BITS, TYPE).s(NEAR).s(DST));
    // The address modes are Mesa's; LDC.IS is what indirect access to a bound buffer takes.
    let ldc = op6(Op::Ldc, 6, 0x14).m(TYPE_BITS, TYPE).m(b(8, 2), names!(_, Il, Is, Isl)).s(DST);
    let indexed = Kind::ConstInd { bank: b(42, 5), base: b(20, 6), offset: b(26, 16), shift: 0 };
    out.push(ldc.s(Slot::new(indexed)));
    out.push(op6(Op::Stul, 5, 0xe8).m(TYPE_BITS, TYPE).s(GLOBAL).s(DST));
    out.push(op6(Op::Membar, 5, 0xe0).m(b(5, 2), names!(Cta, Gl, Sys)));
    atomics(out);
    cache_control(out);
    match chip {
        Chip::Gf100 => locks_gf100(out),
        _ => locks_gk104(out),
    }
}

fn atomics(out: &mut Vec<Row>) {
    const OPS: Names = names!(Add, Min, Max, Inc, Dec, And, Or, Xor);
    const SIGNED_OPS: Names = names!([Add S32], [Min S32], [Max S32]);
    const ADD_U64: Names = names!([Add U64]);
    const ADD_F32: Names = names!([Add F32 Ftz Rn]);
    const OP: Bits = b(5, 4);
    let red = |opcode, nine| op5(Op::Red, 5, opcode).fix(b(9, 1), nine).flag(WIDE, E);
    let no_result = |r: Row| r.s(GLOBAL).s(DST);
    out.push(no_result(red(0x10, 0).m(OP, OPS)));
    out.push(no_result(red(0x10, 1).always(ADD_U64)));
    out.push(no_result(red(0x18, 1).m(OP, SIGNED_OPS)));
    out.push(no_result(red(0x28, 1).always(ADD_F32)));

    let atom = |opcode, how: u64| op5(Op::Atom, 5, opcode).fix(b(8, 2), how).flag(WIDE, E);
    // Operand C is RZ in all but CAS.
    let result = |r: Row| r.fix(b(49, 6), 63).s(reg(43)).s(ATOMIC).s(DST);
    out.push(result(atom(0x50, 0).m(b(5, 3), OPS)));
    out.push(result(atom(0x50, 2).always(ADD_U64)));
    out.push(result(atom(0x58, 2).m(b(5, 3), SIGNED_OPS)));
    out.push(result(atom(0x68, 2).always(ADD_F32)));
    out.push(result(atom(0x50, 1).always(names!(Exch))));
    out.push(result(atom(0x50, 3).always(names!([Exch U64]))));
    // The pair of registers to compare and to store is named twice: C is the second of them.
    for (how, name) in [(1, names!(Cas)), (3, names!([Cas B64]))] {
        let cas = atom(0x50, how).fix(b(5, 3), 1).always(name);
        out.push(cas.s(reg(43)).s(ATOMIC).s(DST).s(C));
    }
}

fn cache_control(out: &mut Vec<Row>) {
    const OPS: Names = names!(Qry1, Pf1, Pf15, Pf2, Wb, Iv, Ivall, Rs);
    // The register gets the answer of a query.
    let push = |out: &mut Vec<Row>, r: Row, at: Slot| {
        out.push(r.clone().fix(b(14, 6), 63).s(at));
        out.push(r.except(b(14, 6), 63).s(DST).s(at));
    };
    let scaled = Kind::Mem { base: b(20, 6), offset: b(28, 30), shift: 2, always_signed: false };
    let global = op5(Op::Cctl, 5, 0x98).flag(WIDE, E).m(b(26, 2), names!(_, U, C, I)).m(b(5, 5), OPS);
    push(out, global, Slot::new(scaled));
    push(out, op6(Op::Cctll, 5, 0xd0).m(b(5, 5), OPS), NEAR);
}

fn locks_gf100(out: &mut Vec<Row>) {
    out.push(op5(Op::Ldu, 5, 0x88).flag(WIDE, E).m(TYPE_BITS, TYPE).s(DST).s(GLOBAL));
    // The global address has 32 bits: bit 58 is the predicate's third.
    out.push(op5(Op::Ldlk, 5, 0xa0).m(TYPE_BITS, TYPE).s(LOCK).s(DST).s(GLOBAL));
    out.push(op6(Op::Ldslk, 5, 0xc4).m(TYPE_BITS, TYPE).s(pred_dst(50)).s(DST).s(NEAR));
    out.push(op6(Op::Stsul, 5, 0xcc).m(TYPE_BITS, TYPE).s(NEAR).s(DST));
}

fn locks_gk104(out: &mut Vec<Row>) {
    let new = |op, opcode| op5(op, 5, opcode).since(Chip::Gk104);
    out.push(new(Op::Ldslk, 0xa8).m(TYPE_BITS, TYPE).s(LOCK).s(DST).s(NEAR));
    // The store fails where the lock was lost; the predicate says whether it did.
    out.push(new(Op::Stscul, 0xb8).m(TYPE_BITS, TYPE).s(LOCK).s(NEAR).s(DST));
    let lane = Slot::new(Kind::Imm { at: b(26, 5), enc: ImmEnc::Unsigned });
    let mask = Slot::new(Kind::Imm { at: b(42, 13), enc: ImmEnc::Unsigned });
    for (i, lane) in [B, lane].into_iter().enumerate() {
        for (j, mask) in [C, mask].into_iter().enumerate() {
            let r = new(Op::Shfl, 0x88).fix(b(5, 1), i as u64).fix(b(6, 1), j as u64);
            out.push(r.m(b(55, 2), names!(Idx, Up, Down, Bfly)).s(LOCK).s(DST).s(A).s(lane).s(mask));
        }
    }
}
