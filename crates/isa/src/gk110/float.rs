//! Single and double precision arithmetic, comparisons and special functions.

use super::field::*;
use crate::Op;
use crate::names;
use crate::row::{Row, Style, b};

pub(super) fn rows(t: &mut Vec<Row>) {
    add(t);
    multiply(t);
    fused(t);
    minmax(t);
    compare(t);
    special(t);
    long_immediates(t);
}

fn add(t: &mut Vec<Row>) {
    for f in Form::TWO {
        t.push(
            f.row(Op::Fadd, 0x3fc, 0x22c)
                .flag(47, FTZ)
                .m(b(42, 2), ROUND)
                .flag(53, SAT)
                .s(D.cc(50))
                .s(A.neg(51).abs(49))
                .s(f.second(F20).neg(48).abs(52)),
        );
        t.push(
            f.row(Op::Dadd, 0x3fc, 0x238)
                .m(b(42, 2), ROUND)
                .s(D.cc(50))
                .s(A.neg(51).abs(49))
                .s(f.second(D20).neg(48).abs(52)),
        );
    }
}

fn multiply(t: &mut Vec<Row>) {
    const SCALE: crate::row::Names = names![_, D2, D4, D8, M8, M4, M2];
    for f in Form::TWO {
        t.push(
            f.row(Op::Fmul, 0x3fc, 0x234)
                .m(b(47, 2), FTZ_FMZ)
                .m(b(44, 3), SCALE)
                .m(b(42, 2), ROUND)
                .flag(53, SAT)
                .s(D.cc(50))
                .s(A.neg(51))
                .s(f.second(F20)),
        );
        t.push(f.row(Op::Dmul, 0x3fc, 0x240).m(b(42, 2), ROUND).s(D.cc(50)).s(A.neg(51)).s(f.second(D20)));
    }
}

fn fused(t: &mut Vec<Row>) {
    for f in Form::THREE {
        // The sign of the product is shown on the factor that the form has in place of the second
        // source.
        t.push(
            f.row(Op::Ffma, 0x3c0, 0x0c0)
                .m(b(56, 2), FTZ_FMZ)
                .m(b(54, 2), ROUND)
                .flag(53, SAT)
                .s(D.cc(50))
                .s(A.neg(51))
                .s(f.second(F20))
                .s(f.third().neg(52)),
        );
        t.push(
            f.row(Op::Dfma, 0x3f8, 0x1b8)
                .m(b(53, 2), ROUND)
                .s(D.cc(50))
                .s(A.neg(51))
                .s(f.second(D20))
                .s(f.third().neg(52)),
        );
    }
}

fn minmax(t: &mut Vec<Row>) {
    for f in Form::TWO {
        t.push(
            f.row(Op::Fmnmx, 0x3fc, 0x230)
                .flag(47, FTZ)
                .s(D.cc(50))
                .s(A.neg(51).abs(49))
                .s(f.second(F20).neg(48).abs(52))
                .s(PC),
        );
        t.push(
            f.row(Op::Dmnmx, 0x3fc, 0x228)
                .s(D.cc(50))
                .s(A.neg(51).abs(49))
                .s(f.second(D20).neg(48).abs(52))
                .s(PC),
        );
    }
}

fn compare(t: &mut Vec<Row>) {
    for f in Form::TWO {
        t.push(
            f.row(Op::Fset, 0x380, 0x000)
                .flag(55, BF)
                .m(b(51, 4), FCOMPARE)
                .flag(58, FTZ)
                .m(b(48, 2), COMBINE)
                .s(D.cc(50))
                .s(A.neg(46).abs(57))
                .s(f.second(F20).neg(56).abs(47))
                .s(PC),
        );
        t.push(
            f.row(Op::Dset, 0x3c0, 0x080)
                .flag(55, BF)
                .m(b(51, 4), FCOMPARE)
                .m(b(48, 2), COMBINE)
                .s(D.cc(50))
                .s(A.neg(46).abs(57))
                .s(f.second(D20).neg(56).abs(47))
                .s(PC),
        );
        t.push(
            f.row(Op::Fsetp, 0x3f8, 0x1d8)
                .m(b(51, 4), FCOMPARE)
                .flag(50, FTZ)
                .m(b(48, 2), COMBINE)
                .s(PD)
                .s(PD2)
                .s(A.neg(46).abs(9))
                .s(f.second(F20).neg(8).abs(47))
                .s(PC),
        );
        t.push(
            f.row(Op::Dsetp, 0x3f8, 0x1c0)
                .m(b(51, 4), FCOMPARE)
                .m(b(48, 2), COMBINE)
                .s(PD)
                .s(PD2)
                .s(A.neg(46).abs(9))
                .s(f.second(D20).neg(8).abs(47))
                .s(PC),
        );
        for (op, code, imm) in [(Op::Fchk, 0x244, F20), (Op::Dchk, 0x23c, D20)] {
            t.push(
                f.row(op, 0x3fc, code)
                    .m(b(42, 6), names![Divide])
                    .s(PD)
                    .s(A.neg(51).abs(49))
                    .s(f.second(imm).neg(48).abs(52)),
            );
        }
    }
    for f in Form::THREE {
        const GREATER_IS_DEFAULT: crate::row::Names =
            names![F, Lt, Eq, Le, _, Ne, Ge, Num, Nan, Ltu, Equ, Leu, Gtu, Neu, Geu, T];
        t.push(
            f.row(Op::Fcmp, 0x3f8, 0x1d0)
                .m(b(51, 4), GREATER_IS_DEFAULT)
                .flag(50, FTZ)
                .s(D)
                .s(A)
                .s(f.second(F20))
                .s(f.third()),
        );
        const PART: crate::row::Names = names![Sp, Dp0z, Dp1xy, Dp1z];
        // P0 as the second result and RZ as the third source are not written.
        let fcco = || f.row(Op::Fcco, 0x3f8, 0x1c8).m(b(8, 2), PART).s(PD);
        for r in [fcco().fix(b(2, 3), 0), fcco().except(b(2, 3), 0).s(PD2)] {
            let r = r.s(A).s(f.second(F20));
            if f == Form::ConstC {
                t.push(r.s(CB));
            } else {
                t.push(r.clone().fix(b(42, 8), 255));
                t.push(r.except(b(42, 8), 255).s(C));
            }
        }
    }
}

fn special(t: &mut Vec<Row>) {
    t.push(
        row(Op::Mufu, 0xffc, 0x840, 2)
            .m(b(23, 4), names![Cos, Sin, Ex2, Lg2, Rcp, Rsq, Rcp64h, Rsq64h])
            .flag(53, SAT)
            .s(D)
            .s(A.neg(51).abs(49)),
    );
    for f in Form::TWO {
        t.push(
            f.row(Op::Rro, 0x3fc, 0x248).flag(42, names![Sincos, Ex2]).s(D).s(f.second(F20).neg(48).abs(52)),
        );
    }
    t.push(
        row(Op::Fswz, 0xffc, 0x7fc, 2)
            .m(b(44, 3), names![Q0000, Q1111, Q2222, Q3333, Q1032, Q2301])
            .flag(47, FTZ)
            .m(b(42, 2), ROUND)
            .flag(41, names![_, Ndv])
            .s(D.cc(50))
            .s(A)
            .s(B)
            .s(imm(b(31, 8)).style(Style::Swizzle)),
    );
}

/// Forms with a 32-bit immediate.
fn long_immediates(t: &mut Vec<Row>) {
    t.push(
        row(Op::Fadd32i, 0xe00, 0x400, 0)
            .flag(58, FTZ)
            .s(D.cc(55))
            .s(A.neg(59).abs(57))
            .s(F32.neg(56).abs(60)),
    );
    t.push(row(Op::Fmul32i, 0xf80, 0x200, 2).m(b(56, 2), FTZ_FMZ).flag(58, SAT).s(D.cc(55)).s(A).s(F32));
    t.push(
        row(Op::Ffma32i, 0xe00, 0x600, 0)
            .m(b(56, 2), FTZ_FMZ)
            .flag(58, SAT)
            .s(D.cc(55))
            .s(A.neg(59))
            .s(F32)
            .s(tied(b(2, 8)).neg(60)),
    );
}
