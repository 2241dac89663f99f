//! Control flow: class 7, and TEXDEPBAR's relatives. Targets are relative to the next word, or
//! absolute.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Bit, ImmEnc, Kind, Row, Slot, Style, b};
use nvir_base::Chip;

/// A branch target of 24 bits.
const NEAR: Slot = Slot::new(Kind::TargetRel(b(26, 24)));
const FAR: Slot = Slot::new(Kind::TargetAbs(b(26, 32)));
/// A target address in constant memory, chosen by bit 14.
const TABLE: Slot =
    Slot::new(Kind::Const { bank: b(42, 5), offset: b(26, 16), shift: 0, signed_text: false });
const FROM_TABLE: crate::row::Bits = b(14, 1);

/// A control-flow word with a guard; the class has no `.S`.
fn guarded(op: Op, opcode: u64) -> Row {
    let mut r = op5(op, 7, opcode);
    r.sync = Bit::NO;
    r
}

/// One that every thread executes: the guard's bits mean nothing.
fn unguarded(op: Op, opcode: u64) -> Row {
    let mut r = guarded(op, opcode);
    r.guard = None;
    r.free(b(10, 4))
}

pub(super) fn rows(out: &mut Vec<Row>, _chip: Chip) {
    branches(out);
    pushes(out);
    for (op, opcode) in [
        (Op::Exit, 0x80),
        (Op::Longjmp, 0x88),
        (Op::Ret, 0x90),
        (Op::Kil, 0x98),
        (Op::Brk, 0xa8),
        (Op::Cont, 0xb0),
    ] {
        push_cc(out, guarded(op, opcode), &[]);
    }
    out.push(unguarded(Op::Rtt, 0xa0).flag(14, names!(_, Terminate)));
    out.push(unguarded(Op::Sam, 0xc0));
    out.push(unguarded(Op::Ram, 0xc8));
    let bpt = unguarded(Op::Bpt, 0xd0).m(b(14, 2), names!(Drain, Cal, Pause, Trap));
    out.push(bpt.s(number(b(26, 20))));
}

fn branches(out: &mut Vec<Row>) {
    let branch = |op, opcode, table: u64| {
        guarded(op, opcode).fix(FROM_TABLE, table).flag(15, names!(_, U)).flag(16, names!(_, Lmt))
    };
    push_cc(out, branch(Op::Bra, 0x40, 0), &[NEAR]);
    push_cc(out, branch(Op::Bra, 0x40, 1), &[TABLE]);
    push_cc(out, branch(Op::Jmp, 0x00, 0), &[FAR]);
    push_cc(out, branch(Op::Jmp, 0x00, 1), &[TABLE]);
    let indexed = Slot::new(Kind::ConstInd { bank: b(42, 5), base: b(20, 6), offset: b(26, 16), shift: 0 });
    for (op, opcode, offset) in [(Op::Brx, 0x48, b(26, 24)), (Op::Jmx, 0x08, b(26, 32))] {
        let r = guarded(op, opcode).flag(16, names!(_, Lmt));
        push_cc(out, r.clone().fix(FROM_TABLE, 1), &[indexed]);
        let in_register = r.fix(FROM_TABLE, 0);
        push_cc(out, in_register.clone().fix(offset, 0), &[A]);
        let distance = Slot::new(Kind::Imm { at: offset, enc: ImmEnc::Signed }).style(Style::Gap);
        push_cc(out, in_register.except(offset, 0), &[A, distance]);
    }
}

/// What pushes an entry onto the divergence stack, and calls.
fn pushes(out: &mut Vec<Row>) {
    let push = |out: &mut Vec<Row>, r: Row, near: Slot| {
        out.push(r.clone().fix(FROM_TABLE, 0).s(near));
        out.push(r.fix(FROM_TABLE, 1).s(TABLE));
    };
    for (op, opcode) in [(Op::Plongjmp, 0x58), (Op::Ssy, 0x60), (Op::Pbk, 0x68), (Op::Pcnt, 0x70)] {
        push(out, unguarded(op, opcode), NEAR);
    }
    const NOINC: crate::row::Names = names!(Noinc, _);
    push(out, unguarded(Op::Pret, 0x78).flag(16, NOINC), NEAR);
    push(out, unguarded(Op::Cal, 0x50).flag(16, NOINC), NEAR);
    push(out, unguarded(Op::Jcal, 0x10).flag(16, NOINC), FAR);
}
