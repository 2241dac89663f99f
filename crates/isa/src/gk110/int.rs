//! Integer arithmetic, logic, shifts, bit fields, integer comparisons.

use super::field::*;
use crate::names;
use crate::row::{ImmEnc, Kind, Names, Row, Slot, b, b2};
use crate::{Mod, Op};

pub(super) fn rows(t: &mut Vec<Row>) {
    add(t);
    multiply(t);
    compare(t);
    logic(t);
    shift(t);
    bits(t);
    long_immediates(t);
}

/// Two bits that negate one source each and mean "plus one" together: the combinations are four
/// texts.
fn add(t: &mut Vec<Row>) {
    for f in Form::TWO {
        let base = |op| f.row(op, 0x3fc, 0x208);
        let rest = |r: Row| r.flag(53, SAT).flag(46, X);
        let b = f.second(I20);
        let signs = crate::row::b(51, 2);
        t.push(rest(base(Op::Isub).fix(signs, 1)).s(D.cc(50)).s(A).s(b));
        if f == Form::Reg {
            t.push(rest(base(Op::Iadd).fix(crate::row::b(51, 1), 0)).s(D.cc(50)).s(A.neg(52)).s(b));
        } else {
            t.push(rest(base(Op::Iadd).fix(signs, 0)).s(D.cc(50)).s(A).s(b));
            t.push(rest(base(Op::Isub).fix(signs, 2)).s(D.cc(50)).s(b).s(A));
        }
        t.push(rest(base(Op::Iadd).fix(signs, 3).always(names![Po])).s(D.cc(50)).s(A).s(b));
        let shift = imm(crate::row::b(42, 5));
        let scaled = || f.row(Op::Iscadd, 0x3fc, 0x20c);
        t.push(scaled().except(signs, 3).s(D.cc(50)).s(A.neg(52)).s(b.neg(51)).s(shift));
        t.push(scaled().fix(signs, 3).always(names![Po]).s(D.cc(50)).s(A).s(b).s(shift));
    }
    for f in Form::THREE {
        t.push(
            f.row(Op::Isad, 0x3fc, 0x1f4)
                .flag(51, SIGN_DEFAULT)
                .s(D.cc(50))
                .s(A)
                .s(f.second(I20))
                .s(f.third()),
        );
    }
    for f in Form::TWO {
        t.push(
            f.row(Op::Imnmx, 0x3fc, 0x210)
                .flag(51, SIGN_DEFAULT)
                .m(b(46, 2), names![_, Xlo, Xmed, Xhi])
                .s(D.cc(50))
                .s(A)
                .s(f.second(I20))
                .s(PC),
        );
    }
}

fn multiply(t: &mut Vec<Row>) {
    for f in Form::TWO {
        t.push(
            f.row(Op::Imul, 0x3fc, 0x21c).m(b(43, 2), SIGNS).flag(42, HI).s(D.cc(50)).s(A).s(f.second(I20)),
        );
    }
    for f in Form::THREE {
        let signs = b(54, 2);
        let mad = || f.row(Op::Imad, 0x3c0, 0x100).m(b2(51, 1, 56, 1), SIGNS).flag(57, HI);
        let rest = |r: Row| r.flag(53, SAT).flag(52, X);
        t.push(rest(mad()).except(signs, 3).s(D.cc(50)).s(A.neg(55)).s(f.second(I20)).s(f.third().neg(54)));
        t.push(rest(mad().fix(signs, 3).always(names![Po])).s(D.cc(50)).s(A).s(f.second(I20)).s(f.third()));
        imadsp(t, f);
    }
}

/// Multiply-add for surface addresses: the types of the operands are fields, or the descriptor
/// gives them (`SD`). The third operand is signed as soon as one of the others is.
fn imadsp(t: &mut Vec<Row>, f: Form) {
    const A_UNSIGNED: Names = names![U32, U24, U16h0, U16h1];
    const A_SIGNED: Names = names![S32, S24, S16h0, S16h1];
    const B_UNSIGNED: Names = names![U24, U16h0];
    const B_SIGNED: Names = names![S24, S16h0];
    const C_UNSIGNED: Names = names![U32, U24, U16h0];
    const C_SIGNED: Names = names![S32, S24, S16h0];
    let base = || f.row(Op::Imadsp, 0x3c0, 0x140);
    let operands = |r: Row| r.s(D.cc(50)).s(A).s(f.second(I20)).s(f.third());
    for (sign_a, a) in [(0, A_UNSIGNED), (1, A_SIGNED)] {
        for (sign_b, second) in [(0, B_UNSIGNED), (1, B_SIGNED)] {
            let third = if sign_a + sign_b > 0 { C_SIGNED } else { C_UNSIGNED };
            t.push(operands(
                base()
                    .fix(b(51, 1), sign_a)
                    .fix(b(56, 1), sign_b)
                    .except(b(54, 2), 3)
                    .m(b(52, 2), a)
                    .flag(57, second)
                    .m(b(54, 2), third),
            ));
        }
    }
    t.push(operands(base().fix(b(54, 2), 3).always(names![Sd])));
}

fn compare(t: &mut Vec<Row>) {
    for f in Form::TWO {
        t.push(
            f.row(Op::Iset, 0x3f8, 0x1a8)
                .flag(47, BF)
                .m(b(52, 3), COMPARE)
                .flag(51, SIGN_DEFAULT)
                .flag(46, X)
                .m(b(48, 2), COMBINE)
                .s(D.cc(50))
                .s(A)
                .s(f.second(I20))
                .s(PC),
        );
        t.push(
            f.row(Op::Isetp, 0x3f8, 0x1b0)
                .m(b(52, 3), COMPARE)
                .flag(51, SIGN_DEFAULT)
                .flag(46, X)
                .m(b(48, 2), COMBINE)
                .s(PD)
                .s(PD2)
                .s(A)
                .s(f.second(I20))
                .s(PC),
        );
    }
    for f in Form::THREE {
        t.push(
            f.row(Op::Icmp, 0x3f8, 0x1a0)
                .m(b(52, 3), COMPARE)
                .flag(51, SIGN_DEFAULT)
                .s(D)
                .s(A)
                .s(f.second(I20))
                .s(f.third()),
        );
    }
}

fn logic(t: &mut Vec<Row>) {
    const LOGIC: Names = names![And, Or, Xor, PassB];
    for f in Form::TWO {
        t.push(
            f.row(Op::Lop, 0x3fc, 0x220)
                .m(b(44, 2), LOGIC)
                .flag(46, X)
                .s(D.cc(50))
                .s(A.inv(42))
                .s(f.second(I20).inv(43)),
        );
        t.push(f.row(Op::Popc, 0x3fc, 0x204).s(D).s(A.inv(42)).s(f.second(I20).inv(43)));
    }
    t.push(
        row(Op::Lop32i, 0xe00, 0x200, 0)
            .m(b(56, 2), LOGIC)
            .flag(60, X)
            .s(D.cc(55))
            .s(A.inv(58))
            .s(Slot::new(Kind::Imm { at: b(23, 32), enc: ImmEnc::Unsigned }).inv(59)),
    );
}

fn shift(t: &mut Vec<Row>) {
    for f in Form::TWO {
        t.push(
            f.row(Op::Shl, 0x3fc, 0x224).flag(42, names![_, W]).flag(46, X).s(D.cc(50)).s(A).s(f.second(I20)),
        );
        t.push(
            f.row(Op::Shr, 0x3fc, 0x214)
                .flag(51, SIGN_DEFAULT)
                .flag(42, names![_, W])
                .m(b(46, 2), names![_, !, X, Xhi])
                .flag(43, names![_, Brev])
                .s(D.cc(50))
                .s(A)
                .s(f.second(I20)),
        );
    }
    let imm6 = imm(b(23, 6));
    for (f, amount) in [(Form::Reg, B), (Form::Imm, imm6)] {
        for (side, code) in [(Mod::L, 0x1fc), (Mod::R, 0x27c)] {
            let names: Names = if side == Mod::L { names![L] } else { names![R] };
            let mut r = f.row(Op::Shf, 0x3fc, code);
            if f == Form::Imm {
                r = r.free(b(59, 1));
            }
            t.push(
                r.always(names)
                    .flag(53, names![_, W])
                    .m(b(40, 2), names![_, !, U64, S64])
                    .m(b(51, 2), names![_, Hi, X, Xhi])
                    .s(D.cc(50))
                    .s(A)
                    .s(amount)
                    .s(C),
            );
        }
    }
}

fn bits(t: &mut Vec<Row>) {
    for f in Form::TWO {
        t.push(
            f.row(Op::Bfe, 0x3fc, 0x200)
                .flag(51, SIGN_DEFAULT)
                .flag(43, names![_, Brev])
                .s(D.cc(50))
                .s(A)
                .s(f.second(I20)),
        );
        t.push(
            f.row(Op::Flo, 0x3fc, 0x218)
                .flag(51, SIGN_DEFAULT)
                .flag(44, names![_, Sh])
                .s(D.cc(50))
                .s(f.second(I20).inv(43)),
        );
    }
    for f in Form::THREE {
        t.push(f.row(Op::Bfi, 0x3fc, 0x1f8).s(D.cc(50)).s(A).s(f.second(I20)).s(f.third()));
        t.push(
            f.row(Op::Prmt, 0x3f8, 0x1e0)
                .m(b(51, 4), names![_, F4e, B4e, Rc8, Ecl, Ecr, Rc16])
                .s(D)
                .s(A)
                .s(f.second(I20))
                .s(f.third()),
        );
    }
}

/// Forms with a 32-bit immediate.
fn long_immediates(t: &mut Vec<Row>) {
    let signs = b(58, 2);
    let add = || row(Op::Iadd32i, 0xf00, 0x400, 1);
    let rest = |r: Row| r.flag(57, SAT).flag(56, X).s(D.cc(55));
    t.push(rest(add().fix(b(58, 1), 0)).s(A.neg(59)).s(I32));
    t.push(rest(add().fix(signs, 3).always(names![Po])).s(A).s(I32));
    t.push(row(Op::Imul32i, 0xf80, 0x280, 2).m(b(57, 2), SIGNS).flag(56, HI).s(D.cc(55)).s(A).s(I32));
    let mad = || row(Op::Imad32i, 0xe00, 0x800, 0).m(b2(57, 1, 60, 1), SIGNS).flag(56, HI);
    let sum = tied(b(2, 8));
    t.push(mad().except(signs, 3).s(D.cc(55)).s(A.neg(59)).s(I32).s(sum.neg(58)));
    t.push(mad().fix(signs, 3).always(names![Po]).s(D.cc(55)).s(A).s(I32).s(sum));
    t.push(row(Op::Iscadd32i, 0xe00, 0xa00, 0).s(D.cc(55)).s(A).s(I32).s(imm(b(56, 5))));
    let lanes = b(14, 4);
    let mov = || {
        let pattern = Slot::new(Kind::Imm { at: b(23, 32), enc: ImmEnc::Unsigned });
        row(Op::Mov32i, 0xff8, 0x740, 2).s(D).s(pattern)
    };
    t.push(mov().fix(lanes, 15));
    t.push(mov().except(lanes, 15).s(imm(lanes)));
}
