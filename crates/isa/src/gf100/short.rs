//! GF100's short forms: instructions of 4 bytes, for the commonest operations. Bit 3 of the word is
//! set; an instruction of either length may stand at any multiple of 4.
//!
//! ```text
//!  31       26 25       20 19    14 13 12  10 9      4   3   2   0
//! |     B     |     A     |   dst  | ! | guard |  misc | 1 | class |
//! ```
//!
//! A short form means what the long one with the same text means, and MInst is the same but for
//! [`MInst::SHORT`]: what it has no room for is implied (PT, RZ, rounding to nearest). Constants
//! come from the banks 0, 1 and 16 only. Source: envytools (`envydis/gf100.c`); bits that have no
//! meaning there must be zero. Mesa's division library for GF100 has some.
//!
//! [`MInst::SHORT`]: crate::MInst::SHORT

use super::field::*;
use crate::names;
use crate::row::{Bit, Bits, ImmEnc, Kind, Names, Row, Slot, b, b2};
use crate::{Kw, Op};

/// A row whose bits up to bit `n` (not included) are fixed.
fn form(op: Op, n: u8, bits: u64) -> Row {
    let mut r = Row::new(op, b(0, n).mask(), bits).short();
    r.guard = Some(Kind::Pred { at: b(10, 3), not: Bit(13) });
    r
}

/// One that every thread executes.
fn unguarded(op: Op, n: u8, bits: u64) -> Row {
    let mut r = form(op, n, bits);
    r.guard = None;
    r
}

/// One of the forms that leave the most to the highest `n` bits; 9:4 are zero.
fn by_top(op: Op, n: u8, top: u64) -> Row {
    form(op, 10, 0x008).fix(b(32 - n, n), top)
}

/// PT and RZ, which stand in the text only.
const PT: Slot = Slot::new(Kind::True);
const RZ: Slot = Slot::new(Kind::Reg(Bits::NONE));
const P: Slot = pred_dst(17);

/// The bits that choose operand B or C: a register, or a constant of a bank.
const SOURCE: Bits = b(8, 2);
/// The same in multiply-adds, where C is at 13:8.
const SOURCE_OF_THREE: Bits = b(6, 2);
const C_SHORT: Slot = reg(8);
/// An immediate of eight bits.
const IMM8: Slot = signed(b2(26, 6, 8, 2));

const fn signed(at: Bits) -> Slot {
    Slot::new(Kind::Imm { at, enc: ImmEnc::Signed })
}

/// The values of [`SOURCE`] with a constant of the banks that short forms reach.
fn constants(offset: Bits) -> impl Iterator<Item = (u64, Slot)> {
    let slot = move |bank| Slot::new(Kind::ConstOf { bank, offset, shift: 2 });
    (1..).zip([0, 1, 16].map(slot))
}

/// The operand at 31:26 as a register and a constant; `rest` follows it.
fn push_source(out: &mut Vec<Row>, r: Row, which: Bits, rest: &[Slot]) {
    out.push(tail(r.clone().fix(which, 0).s(B), rest));
    push_constants(out, r, which, rest);
}

fn push_constants(out: &mut Vec<Row>, r: Row, which: Bits, rest: &[Slot]) {
    for (value, slot) in constants(b(26, 6)) {
        out.push(tail(r.clone().fix(which, value).s(slot), rest));
    }
}

pub(super) fn rows(out: &mut Vec<Row>) {
    moves(out);
    predicates(out);
    special(out);
    conversions(out);
    float(out);
    integer(out);
    video(out);
    memory_rows(out);
    attributes(out);
    flow(out);
}

fn moves(out: &mut Vec<Row>) {
    out.push(by_top(Op::Nop, 5, 0x00));
    out.push(by_top(Op::S2r, 4, 0x4).s(DST).s(Slot::new(Kind::Sreg(b(20, 8)))));
    // Bit 26: the number of the barrier is in the word.
    for (immediate, bar) in [(0, A), (1, number(b(20, 4)))] {
        let barrier = |top: u64, name: Names| by_top(Op::Bar, 5, top).fix(b(26, 1), immediate).always(name);
        out.push(barrier(0x0a, names!(Barsync)).s(bar));
        out.push(barrier(0x0b, names!(Arv)).s(bar).s(number(Bits::NONE)));
    }
    let mov = |n, bits| form(Op::Mov, n, bits).s(DST);
    let at = b(20, 12);
    out.push(mov(10, 0x118).s(signed(at)));
    // The high bits of a number, for floats. Zero can be written both ways.
    let high = mov(10, 0x318);
    out.push(high.clone().except(at, 0).s(Slot::new(Kind::Imm { at, enc: ImmEnc::Scaled(20) })));
    out.push(high.fix(at, 0).variant(1).s(number(Bits::NONE)));
    let copy = mov(8, 0x28);
    out.push(copy.clone().fix(SOURCE, 0).s(A));
    for (value, slot) in constants(b(20, 6)) {
        out.push(copy.clone().fix(SOURCE, value).s(slot));
    }
}

fn predicates(out: &mut Vec<Row>) {
    const AND: Names = names!(And);
    let csetp = by_top(Op::Csetp, 5, 0x02).m(b(20, 5), super::predicate::CC_COND).always(AND);
    let cc = Slot::new(Kind::Word { at: Bits::NONE, words: &[Some(Kw::Cc)] });
    out.push(csetp.s(P).s(PT).s(cc).s(PT));
    let psetp = by_top(Op::Psetp, 5, 0x03).m(b(25, 2), BOOL).always(AND);
    out.push(psetp.s(P).s(PT).s(pred(20, 23)).s(pred(14, 24)).s(PT));
    // There is room for three bits of an integer's condition, and for bit 7 as the lowest of a
    // float's.
    const ORDERED: Names = names!(F, Lt, Eq, Le, Gt, Ne, Ge, T);
    let isetp = |n, bits| form(Op::Isetp, n, bits).m(b(14, 3), ORDERED).always(AND).s(P).s(PT).s(A);
    push_source(out, isetp(8, 0x48), SOURCE, &[PT]);
    out.push(isetp(8, 0xc8).s(IMM8).s(PT));
    let fsetp = form(Op::Fsetp, 7, 0x59).m(b2(7, 1, 14, 3), COND).always(AND);
    push_source(out, fsetp.s(P).s(PT).s(A), SOURCE, &[PT]);
}

fn special(out: &mut Vec<Row>) {
    let rro = by_top(Op::Rro, 4, 0x7).m(b(26, 1), names!(Sincos, Ex2));
    out.push(rro.s(DST).s(A));
    let mufu = form(Op::Mufu, 10, 0x008).fix(b(31, 1), 1).fix(b(29, 1), 0);
    let mufu = mufu.m(b(26, 3), names!(Cos, Sin, Ex2, Lg2, Rcp, Rsq, Rcp64h, Rsq64h));
    out.push(mufu.s(DST).s(A.abs(30)));
}

fn conversions(out: &mut Vec<Row>) {
    const TYPE: Names = names!(U16, S16, U32, S32);
    const F32: Names = names!(F32);
    const SIGN: Names = names!(U32, S32);
    let finish = |r: Row| r.s(DST.cc(23)).s(B.neg(22).abs(25));
    out.push(finish(form(Op::I2i, 9, 0x018).m(b(20, 2), TYPE).m(b2(9, 1, 24, 1), TYPE)));
    out.push(finish(form(Op::I2f, 10, 0x088).always(F32).flag(24, SIGN).m(b(20, 2), ROUND)));
    let to_integer = form(Op::F2i, 10, 0x288).flag(24, SIGN).always(F32);
    out.push(finish(to_integer.m(b(20, 2), names!(_, Floor, Ceil, Trunc))));
    let copy = |bits| form(Op::F2f, 10, bits).always(F32).always(F32);
    out.push(finish(copy(0x098).flag(24, SAT)));
    out.push(finish(copy(0x298).m(b(20, 2), names!(Round, Floor, Ceil, Trunc)).flag(24, SAT)));
}

fn float(out: &mut Vec<Row>) {
    push_source(out, form(Op::Fmul, 8, 0xa8).s(DST).s(A), SOURCE, &[]);
    push_source(out, form(Op::Fadd, 7, 0x49).s(DST).s(A.neg(7)), SOURCE, &[]);
    // Bit 5: the constant is operand C.
    let fma = unguarded(Op::Ffma, 4, 0x0e).s(DST).s(A.neg(4));
    push_source(out, fma.clone().fix(b(5, 1), 0), SOURCE_OF_THREE, &[C_SHORT]);
    let last = fma.fix(b(5, 1), 1).s(B);
    for (value, slot) in constants(b(8, 6)) {
        out.push(last.clone().fix(SOURCE_OF_THREE, value).s(slot));
    }
}

fn integer(out: &mut Vec<Row>) {
    const UNSIGNED: Names = names!([U32 U32], _);
    // Bit 7: an immediate of eight bits.
    let immediate = |r: Row| r.fix(b(7, 1), 1);
    let register = |r: Row| r.fix(b(7, 1), 0);
    let mul = form(Op::Imul, 6, 0x2a).flag(6, UNSIGNED).s(DST).s(A);
    push_source(out, register(mul.clone()), SOURCE, &[]);
    out.push(immediate(mul).s(IMM8));
    let mad = unguarded(Op::Imad, 5, 0x0d).flag(5, UNSIGNED).s(DST).s(A);
    push_source(out, mad, SOURCE_OF_THREE, &[C_SHORT]);

    // Bit 6: B less A, which the text of long forms turns round where B is no register.
    out.push(form(Op::Iadd, 6, 0x2c).fix(b(7, 1), 0).fix(SOURCE, 0).s(DST).s(A.neg(6)).s(B));
    let sum = |op, minus: u64| form(op, 6, 0x2c).fix(b(6, 1), minus).s(DST);
    push_constants(out, register(sum(Op::Iadd, 0)).s(A), SOURCE, &[]);
    push_constants(out, register(sum(Op::Isub, 1)), SOURCE, &[A]);
    out.push(immediate(sum(Op::Iadd, 0)).s(A).s(IMM8));
    out.push(immediate(sum(Op::Isub, 1)).s(IMM8).s(A));

    let logic = form(Op::Lop, 5, 0x1d).m(b(5, 2), super::int::LOGIC).s(DST).s(A);
    push_source(out, register(logic.clone()), SOURCE, &[]);
    out.push(immediate(logic).s(IMM8));
    let by = number(b(26, 5));
    for (op, right) in [(Op::Shl, 0), (Op::Shr, 1)] {
        out.push(form(op, 10, 0x208).fix(b(31, 1), right).s(DST).s(A).s(by));
    }
}

fn video(out: &mut Vec<Row>) {
    // Bit 13 is the sign of the result, 12 that of A or of both sources, 11 that of B or whether A
    // is negated.
    let vectors = [
        (Op::Vabsdiff2, Op::Vadd2, 0x100, names!([U16 U16], [U16 S16], [S16 U16], _), names!([U16 U16], _)),
        (Op::Vabsdiff4, Op::Vadd4, 0x500, names!([U8 U8], [U8 S8], [S8 U8], _), names!([U8 U8], _)),
    ];
    for (difference, sum, bits, types, same_types) in vectors {
        let r = unguarded(difference, 11, bits | 0x008).flag(13, names!(_, Sd)).m(b2(11, 1, 12, 1), types);
        out.push(r.s(DST).s(A).s(B).s(RZ));
        let r = unguarded(sum, 11, bits | 0x208).flag(13, names!(Ud, _)).flag(12, same_types);
        out.push(r.s(DST).s(A.neg(11)).s(B).s(RZ));
    }
    multiply_add(out);
}

/// VMAD. Which parts of the sources are multiplied is one code for both, with the larger part's
/// code left out; what they are added to is not known, so there is no third source and the emulator
/// refuses it.
fn multiply_add(out: &mut Vec<Row>) {
    use super::video::{Part, scalar_types};
    let part = |slot: Slot, part, at: u8| match part {
        Part::Byte => slot.sel(b(at, 2), BYTE),
        Part::Half => slot.sel(b(at, 1), HALF),
        _ => slot,
    };
    // The code from bit 11 down, its length, the parts of A and B, and the lowest bits of their
    // numbers.
    let codes = [
        (0b0, 1, (Part::Byte, 9), (Part::Byte, 7)),
        (0b100, 3, (Part::Whole, 0), (Part::Byte, 7)),
        (0b101, 3, (Part::Byte, 7), (Part::Whole, 0)),
        (0b110, 3, (Part::Half, 8), (Part::Half, 7)),
        (0b1110, 4, (Part::Whole, 0), (Part::Half, 7)),
        (0b1111, 4, (Part::Half, 7), (Part::Whole, 0)),
    ];
    for (code, n, (of_a, a), (of_b, b_)) in codes {
        let r = unguarded(Op::Vmad, 7, 0x58).fix(b(12 - n, n), code);
        let r = r.m(b(12, 2), scalar_types(of_a, of_b));
        out.push(r.s(DST).s(part(A, of_a, a)).s(part(B, of_b, b_)));
    }
}

fn memory_rows(out: &mut Vec<Row>) {
    // The offset counts words, or pairs of them where bit 7 makes it 64 bits.
    let at = |shift| {
        let offset = b2(8, 2, 26, 6);
        Slot::new(Kind::Mem { base: b(20, 6), offset, shift, always_signed: true })
    };
    let mut push = |load: Op, store: Op, bits: u64, e: Names| {
        for (wide, size) in [(0u8, names!(_)), (1, names!(B64))] {
            let row = |op, bits| form(op, 8, u64::from(wide) << 7 | bits).always(e).always(size);
            out.push(row(load, bits).s(DST).s(at(2 + wide)));
            out.push(row(store, bits | 0x10).s(at(2 + wide)).s(DST));
        }
    };
    push(Op::Ldl, Op::Stl, 0x0a, names!(_));
    push(Op::Lds, Op::Sts, 0x4a, names!(_));
    push(Op::Ld, Op::St, 0x0b, names!(_));
    push(Op::Ld, Op::St, 0x4b, names!(E));
    let constant = Kind::ConstInd { bank: b(5, 3), base: b(20, 6), offset: b2(8, 2, 26, 6), shift: 2 };
    out.push(form(Op::Ldc, 5, 0x1c).s(DST).s(Slot::new(constant)));
}

fn attributes(out: &mut Vec<Row>) {
    let at = |at: u8| {
        let offset = b2(8, 2, at, 6);
        Slot::new(Kind::Attr { base: Bits::NONE, offset, shift: 2, signed: false })
    };
    out.push(form(Op::Ipa, 7, 0x09).flag(7, names!(_, Sc)).s(DST).s(at(26)).s(A));
    let size = |r: Row| r.m(b(6, 2), super::attribute::SIZE);
    super::attribute::push_register(out, size(form(Op::Ald, 6, 0x29)).s(DST).s(at(20)), B);
    super::attribute::push_register(out, size(form(Op::Ast, 6, 0x39)).s(at(20)).s(B), DST);
}

fn flow(out: &mut Vec<Row>) {
    let near = |lo, n| Slot::new(Kind::TargetNear(b(lo, n)));
    let bra = form(Op::Bra, 5, 0x1f).fix(b(30, 2), 0).flag(28, names!(_, U)).flag(29, names!(_, Lmt));
    push_cc(out, bra, &[near(14, 14)]);
    let by_top = |r: Row, n, top| r.fix(b(32 - n, n), top);
    out.push(by_top(unguarded(Op::Ssy, 5, 0x1f), 4, 0x4).free(b(10, 4)).s(near(14, 14)));
    let call = by_top(unguarded(Op::Cal, 5, 0x1f), 4, 0x5).flag(5, names!(Noinc, _));
    out.push(call.s(near(6, 22)));
    let bpt = by_top(unguarded(Op::Bpt, 5, 0x1f), 5, 0x10).m(b(5, 2), names!(Drain, Cal, Pause, Trap));
    out.push(bpt.s(number(b(7, 20))));
    for (op, top) in [(Op::Exit, 0x11), (Op::Ret, 0x12)] {
        push_cc(out, by_top(form(op, 5, 0x1f), 5, top), &[]);
    }
}
