//! Control flow, barriers, and what steers the multiprocessor.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bits, Kind, Names, Row, Slot, Style, b};

pub(super) fn rows(t: &mut Vec<Row>) {
    branches(t);
    stack(t);
    ends(t);
    barriers(t);
    system(t);
}

const RELATIVE: Slot = Slot::new(Kind::TargetRel(b(23, 24)));
const ABSOLUTE: Slot = Slot::new(Kind::TargetAbs(b(23, 32)));
/// An address read from a constant buffer.
const CONST_TARGET: Slot =
    Slot::new(Kind::Const { bank: b(39, 5), offset: b(23, 16), shift: 0, signed_text: true });
/// The same, indexed by a register.
const CONST_INDEXED: Slot =
    Slot::new(Kind::ConstInd { bank: b(39, 5), base: b(10, 8), offset: b(23, 16), shift: 0 });
/// Selects between the two kinds of target.
const FROM_CONST: Bits = b(7, 1);
/// Barriers of a block.
const BARRIERS: u32 = 16;
/// Threads of a warp: those that wait are counted in warps.
const LANES: u32 = 32;
const TEST: Slot = Slot::new(Kind::CcTest(b(2, 5)));
const ALWAYS: u64 = 15;

/// The two texts of an operation with a condition-code test: without it where it always holds.
fn tested(t: &mut Vec<Row>, make: impl Fn() -> Row, operands: &[Slot]) {
    let with = |r: Row| operands.iter().fold(r, |r, &s| r.s(s));
    t.push(with(make().fix(b(2, 5), ALWAYS)));
    t.push(with(make().except(b(2, 5), ALWAYS).s(TEST)));
}

fn branches(t: &mut Vec<Row>) {
    const LMT: Names = names![_, Lmt];
    const U: Names = names![_, U];
    for (op, code, target) in [(Op::Bra, 0x120, RELATIVE), (Op::Jmp, 0x108, ABSOLUTE)] {
        for (from_const, target) in [(0, target), (1, CONST_TARGET)] {
            let make = || guarded(op, 0xff8, code, 0).fix(FROM_CONST, from_const).flag(9, U).flag(8, LMT);
            tested(t, make, &[target]);
        }
    }
    for (op, code, offset) in [(Op::Brx, 0x128, b(23, 24)), (Op::Jmx, 0x100, b(23, 32))] {
        let make = || guarded(op, 0xff8, code, 0).flag(8, LMT);
        tested(t, || make().fix(FROM_CONST, 1), &[CONST_INDEXED]);
        tested(t, || make().fix(FROM_CONST, 0).fix(offset, 0), &[A]);
        tested(t, || make().fix(FROM_CONST, 0).except(offset, 0), &[A, simm(offset).style(Style::Gap)]);
    }
    const NOINC: Names = names![Noinc, _];
    for (op, code, target) in
        [(Op::Cal, 0x130, RELATIVE), (Op::Jcal, 0x110, ABSOLUTE), (Op::Pret, 0x138, RELATIVE)]
    {
        for (from_const, target) in [(0, target), (1, CONST_TARGET)] {
            let call = bare(op, 0xff8, code, 0).fix(FROM_CONST, from_const).flag(8, NOINC).s(target);
            // ptxas writes the guard PT into calls, nobody does into the others.
            t.push(if op == Op::Cal { call.free_as(b(18, 3), 7) } else { call });
        }
    }
}

/// What pushes an entry of the divergence stack.
fn stack(t: &mut Vec<Row>) {
    for (op, code) in [(Op::Plongjmp, 0x140), (Op::Ssy, 0x148), (Op::Pbk, 0x150), (Op::Pcnt, 0x158)] {
        for (from_const, target) in [(0, RELATIVE), (1, CONST_TARGET)] {
            t.push(bare(op, 0xff8, code, 0).fix(FROM_CONST, from_const).s(target));
        }
    }
}

fn ends(t: &mut Vec<Row>) {
    for (op, code) in
        [(Op::Longjmp, 0x188), (Op::Ret, 0x190), (Op::Kil, 0x198), (Op::Brk, 0x1a0), (Op::Cont, 0x1a8)]
    {
        tested(t, || guarded(op, 0xff8, code, 0), &[]);
    }
    tested(t, || guarded(Op::Exit, 0xff8, 0x180, 0).flag(7, names![_, Keeprefcount]), &[]);
    t.push(bare(Op::Rtt, 0xff8, 0x1b0, 0).m(b(2, 2), names![_, Terminate, Fallthrough, Preempted]));
    t.push(bare(Op::Sam, 0xff8, 0x1b8, 0));
    t.push(bare(Op::Ram, 0xff8, 0x1c0, 0));
    let nop = || row(Op::Nop, 0xffc, 0x858, 2).flag(15, names![_, Trig]);
    let test = Slot::new(Kind::CcTest(b(10, 5)));
    let number = b(23, 16);
    t.push(nop().fix(b(10, 5), ALWAYS).fix(number, 0));
    t.push(nop().except(b(10, 5), ALWAYS).fix(number, 0).s(test));
    t.push(nop().fix(b(10, 5), ALWAYS).except(number, 0).s(imm(number)));
    t.push(nop().except(b(10, 5), ALWAYS).except(number, 0).s(test).s(imm(number)));
}

fn barriers(t: &mut Vec<Row>) {
    let mode = b(35, 3);
    let count = b(23, 12);
    let base = |m: u64| guarded(Op::Bar, 0xffc, 0x854, 2).fix(mode, m);
    for (id_imm, id) in [(1, imm(b(10, 8)).most(BARRIERS - 1)), (0, A)] {
        let with_id = |m: u64| base(m).fix(b(47, 1), id_imm);
        for count_imm in [1, 0] {
            let number = if count_imm == 1 { imm(count).multiple_of(LANES) } else { B };
            let at = |m: u64| with_id(m).fix(b(46, 1), count_imm);
            // Only a reduction has a predicate source; the others reject anything but PT, or ignore
            // it.
            let sync = || at(0).fix(b(42, 4), 7).always(names![Barsync]);
            let reduce = || at(2).always(names![Red]).m(b(38, 2), names![Popc, And, Or]);
            if count_imm == 1 {
                // A count of zero means all warps of the block and is not written.
                t.push(sync().fix(count, 0).s(id));
                t.push(sync().except(count, 0).s(id).s(number));
                t.push(reduce().fix(count, 0).s(id).s(PC));
                t.push(reduce().except(count, 0).s(id).s(number).s(PC));
            } else {
                t.push(sync().s(id).s(number));
                t.push(reduce().s(id).s(number).s(PC));
            }
            t.push(at(1).free_as(b(42, 3), 7).always(names![Arv]).s(id).s(number));
            t.push(at(3).always(names![Scan]).s(id).s(number).s(PC));
        }
    }
    t.push(bare(Op::Bar, 0xffc, 0x854, 2).fix(mode, 4).always(names![Syncall]));
    let b2r = |mode| row(Op::B2r, 0xffc, 0x85c, 2).fix(b(35, 2), mode);
    t.push(b2r(2).fix(b(10, 8), 255).always(names![Warp]).s(D));
    let result = || b2r(1).fix(b(10, 8), 255).always(names![Result]).s(D);
    t.push(b2r(0).s(D).s(imm(b(10, 8)).most(BARRIERS - 1)));
    t.push(result().fix(b(48, 3), 7));
    t.push(result().except(b(48, 3), 7).s(pred(48)));
    t.push(row(Op::R2b, 0xffc, 0x860, 2).m(b(35, 2), names![_, Result, Warp]).s(imm(b(31, 4))).s(B));
    t.push(row(Op::Membar, 0xffc, 0x7cc, 2).m(b(10, 2), names![Cta, Gl, Sys]));
    t.push(row(Op::Texdepbar, 0xffc, 0x770, 2).s(imm(b(23, 6))));
}

fn system(t: &mut Vec<Row>) {
    const KIND: Names = names![DrainIllegal, Cal, Pause, Trap, Int, Drain];
    let number = b(23, 20);
    let bpt = || bare(Op::Bpt, 0xff8, 0x000, 0).m(b(8, 3), KIND);
    t.push(bpt().fix(number, 0));
    t.push(bpt().except(number, 0).s(imm(number).style(Style::Gap)));
    let number = b(23, 16);
    let ide = || bare(Op::Ide, 0xff8, 0x1c8, 0).flag(7, names![En, _]);
    t.push(ide().fix(number, 0));
    t.push(ide().except(number, 0).s(imm(number).style(Style::Gap)));
}
