//! Moves, selections, lanes, special registers.

use super::field::*;
use crate::names;
use crate::row::{Kind, Names, Row, Slot, b, b2};
use crate::{Kw, Op};

pub(super) fn rows(t: &mut Vec<Row>) {
    moves(t);
    lanes(t);
    special(t);
}

/// A keyword that the opcode implies.
const fn word(words: &'static [Option<Kw>]) -> Slot {
    Slot::new(Kind::Word { at: b(0, 0), words })
}

const PR: Slot = word(&[Some(Kw::Pr)]);

fn moves(t: &mut Vec<Row>) {
    for f in Form::TWO {
        // The mask of byte lanes is not written when it is full.
        let mov = || f.row(Op::Mov, 0x3fc, 0x24c).s(D).s(f.second(I20));
        t.push(mov().fix(b(42, 4), 15));
        t.push(mov().except(b(42, 4), 15).s(imm(b(42, 4))));
        t.push(f.row(Op::Sel, 0x3fc, 0x250).s(D).s(A).s(f.second(I20)).s(PC));
        let half: Names = names![_, H1];
        t.push(f.row(Op::P2r, 0x3fc, 0x264).flag(42, half).s(D).s(PR).s(A).s(f.second(I20)));
        let mask = f.second(imm(b2(23, 19, 59, 1)));
        t.push(f.row(Op::R2p, 0x3fc, 0x268).flag(42, half).s(PR).s(A).s(mask));
    }
}

fn lanes(t: &mut Vec<Row>) {
    let vote = || row(Op::Vote, 0xffc, 0x86c, 2).m(b(51, 2), names![All, Any, Eq]);
    t.push(vote().fix(b(2, 8), 255).s(pred(48)).s(PC));
    t.push(vote().except(b(2, 8), 255).s(D).s(pred(48)).s(PC));
    let vertices = names![R, A, Ra];
    t.push(row(Op::Votevtg, 0xffc, 0x870, 2).m(b(51, 2), vertices).s(imm(b(23, 28))));
    let lane = [(0, B), (1, imm(b(23, 5)))];
    let bound = [(0, C), (1, imm(b(37, 13)))];
    for (lane_imm, lane) in lane {
        for (bound_imm, bound) in bound {
            t.push(
                row(Op::Shfl, 0xffc, 0x788, 2)
                    .fix(b(31, 1), lane_imm)
                    .fix(b(32, 1), bound_imm)
                    .m(b(33, 2), names![Idx, Up, Down, Bfly])
                    .s(pred(51))
                    .s(D)
                    .s(A)
                    .s(lane)
                    .s(bound),
            );
        }
    }
}

fn special(t: &mut Vec<Row>) {
    t.push(row(Op::S2r, 0xffc, 0x864, 2).s(D).s(Slot::new(Kind::Sreg(b(23, 8)))));
    t.push(row(Op::Lepc, 0xffc, 0x868, 2).s(D));
    for (op, code) in [(Op::Getcrsptr, 0x160), (Op::Getlmembase, 0x168)] {
        t.push(bare(op, 0xff8, code, 0).s(D));
    }
    for (op, code) in [(Op::Setcrsptr, 0x170), (Op::Setlmembase, 0x178)] {
        t.push(bare(op, 0xff8, code, 0).s(A));
    }
}
