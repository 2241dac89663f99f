//! Moves, selections, permutations, special registers, votes and barriers: class 4.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, Kind, Row, Slot, b, b2};

pub(super) fn rows(out: &mut Vec<Row>) {
    let mut mov = Vec::new();
    push_b(&mut mov, op6(Op::Mov, 4, 0x28).s(DST), Short::Int, plain, &[]);
    mov.into_iter().for_each(|r| push_lanes(out, r));
    push_b(out, op6(Op::Sel, 4, 0x20).s(DST).s(A), Short::Int, plain, &[P_SRC]);
    const MODE: crate::row::Names = names!(_, F4e, B4e, Rc8, Ecl, Ecr, Rc16);
    push_bc(out, op6(Op::Prmt, 4, 0x24).m(b(5, 3), MODE).s(DST).s(A), Short::Int, plain, plain);
    out.push(op6(Op::S2r, 4, 0x2c).s(DST).s(Slot::new(Kind::Sreg(b(26, 8)))));
    let popc = op6(Op::Popc, 4, 0x54).s(DST).s(A.inv(9));
    push_b(out, popc, Short::Int, |s| s.inv(8), &[]);
    out.push(op6(Op::Lepc, 4, 0x44).s(DST));
    out.push(op6(Op::B2r, 4, 0x38).s(DST).s(number(b(20, 4))));
    nop(out);
    vote(out);
    barrier(out);
}

/// A move writes the lanes of a quad that the mask at 8:5 names; all of them is not written.
pub(super) fn push_lanes(out: &mut Vec<Row>, r: Row) {
    let mask = b(5, 4);
    out.push(r.clone().fix(mask, 15));
    out.push(r.except(mask, 15).s(number(mask)));
}

fn nop(out: &mut Vec<Row>) {
    push_cc(out, op6(Op::Nop, 4, 0x40), &[]);
    // Triggers the performance counters of the mask.
    let trig = op6(Op::Nop, 4, 0x40).fix(b(50, 1), 1).always(names!(Trig));
    push_cc(out, trig, &[number(b(26, 16))]);
}

fn vote(out: &mut Vec<Row>) {
    let vote = op6(Op::Vote, 4, 0x48).m(b(5, 2), names!(All, Any, Eq));
    // Without a register result only the predicate is named.
    out.push(vote.clone().fix(b(14, 6), 63).s(pred_dst(54)).s(pred(20, 23)));
    out.push(vote.except(b(14, 6), 63).s(DST).s(pred_dst(54)).s(pred(20, 23)));
}

/// The barrier number and the number of threads are registers or immediates. An operation that
/// writes nothing and takes no predicate is a plain SYNC or ARV; the general form names both
/// results and the source.
fn barrier(out: &mut Vec<Row>) {
    const MODE: Bits = b(5, 3);
    // Destination RZ, predicate result PT, predicate source PT.
    const ENDS: Bits = b2(14, 6, 49, 7);
    const IDLE: u64 = 63 | 0b111_0111 << 6;
    const COUNT: Bits = b(26, 12);
    /// Threads are counted in whole warps.
    const LANES: u32 = 32;
    let push = |out: &mut Vec<Row>, which: u64, bar: Slot, count: Slot| {
        let new = || op6(Op::Bar, 4, 0x50).fix(WHICH, which);
        let plain = |mode: u64| new().fix(MODE, mode).fix(ENDS, IDLE);
        let general = |r: Row| r.s(pred_dst(53)).s(DST).s(bar).s(count).s(P_SRC);
        if which & 1 == 0 {
            out.push(plain(0).always(names!(Barsync)).s(bar).s(count));
        } else {
            out.push(plain(0).fix(COUNT, 0).always(names!(Barsync)).s(bar));
            out.push(plain(0).except(COUNT, 0).always(names!(Barsync)).s(bar).s(count));
        }
        out.push(plain(4).always(names!(Arv)).s(bar).s(count));
        let popc = new().fix(MODE, 0).except(ENDS, IDLE).always(names!([Red Popc]));
        out.push(general(popc));
        let logic = new().m(MODE, names!(!, [Red And], [Red Or]));
        out.push(general(logic.except(MODE, 0).except(MODE, 4)));
        out.push(general(new().fix(MODE, 4).except(ENDS, IDLE).always(names!(Arv))));
    };
    let (bar, threads) = (number(b(20, 4)), number(COUNT).multiple_of(LANES));
    push(out, 0, A, B);
    push(out, 1, A, threads);
    push(out, 2, bar, B);
    push(out, 3, bar, threads);
}
