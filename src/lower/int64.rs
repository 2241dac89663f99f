//! 64-bit integer arithmetic as 32-bit arithmetic.
//!
//! ```text
//! add u64 {%r4 %r5} {%r0 %r1} {%r2 %r3}   add u32 {%r4 %c6} %r0 %r2
//!                                         add u32 %r5 %r1 %r3 %c6
//! ```
//!
//! A carry is always consumed by the next instruction, so nothing can come in between. Conversions
//! between 64-bit integers and floats stay: the machine has them.

use crate::chip::Chip;
use crate::ir::build::Builder;
use crate::ir::expand::{expand, word};
use crate::ir::*;
use crate::isa::{self, Table};

/// Lowers all 64-bit integer operations of a function.
pub(crate) fn run(f: &mut Function, chip: Chip) -> bool {
    let funnel = !Table::for_chip(chip).of_op(isa::Op::Shf).is_empty();
    expand(f, involved, |b, i| lower(b, i, funnel))
}

fn wide(ty: Type) -> bool {
    matches!(ty, Type::U64 | Type::S64)
}

fn involved(i: &Inst) -> bool {
    wide(i.ty)
        || wide(i.sty)
            && matches!(i.op, Op::Set | Op::Slct | Op::Cvt | Op::Popc | Op::Flo | Op::Brev | Op::Rdsv)
}

/// `funnel`: the chip shifts pairs of words.
fn lower(b: &mut Builder<'_>, i: &Inst, funnel: bool) -> bool {
    let src = |n: usize| [word(&i.srcs[n], 0), word(&i.srcs[n], 1)];
    let unary = matches!(i.op, Op::Neg | Op::Abs);
    let negated = |b: &mut Builder<'_>, n: usize| {
        let s = src(n);
        if i.srcs[n].mods.neg && !unary { negate(b, s) } else { s }
    };
    let result = match i.op {
        Op::Undef => {
            let (x, y) = (b.undef(Class::Gpr), b.undef(Class::Gpr));
            [x.into(), y.into()]
        }
        Op::Mov => src(0),
        Op::Add => {
            let (x, y) = (negated(b, 0), negated(b, 1));
            add(b, x, y)
        }
        Op::Sub => {
            let (x, y) = (negated(b, 0), negated(b, 1));
            sub(b, x, y)
        }
        Op::Neg => negate(b, src(0)),
        Op::Abs => abs(b, src(0)),
        Op::Mul => mul(b, src(0), src(1)),
        Op::Mad => {
            let product = mul(b, src(0), src(1));
            let c = negated(b, 2);
            add(b, product, c)
        }
        Op::MulHi => mul_high(b, src(0), src(1), i.ty),
        Op::Min | Op::Max => {
            let cond = if i.op == Op::Min { Cond::Lt } else { Cond::Gt };
            let (x, y) = (src(0), src(1));
            let p = compare(b, cond, i.ty, x, y);
            choose(b, p.into(), x, y)
        }
        Op::And | Op::Or | Op::Xor => {
            let (x, y) = (src(0), src(1));
            [0, 1].map(|n| b.op2(i.op, Type::U32, x[n], y[n]).into())
        }
        Op::Not => {
            let x = src(0);
            [0, 1].map(|n| b.op1(Op::Not, Type::U32, x[n]).into())
        }
        Op::Shl | Op::Shr => {
            let amount = shift_amount(b, i);
            let kind = match i.op {
                Op::Shl => Shift::Left,
                _ if i.ty == Type::S64 => Shift::RightArithmetic,
                _ => Shift::RightLogical,
            };
            let lowered = if funnel && amount.as_imm().is_none() { funnel_shift } else { shift };
            lowered(b, src(0), amount, kind)
        }
        Op::Sel => choose(b, i.srcs[2], src(0), src(1)),
        Op::Slct if wide(i.sty) => {
            let p = compare(b, i.cond, i.sty, src(2), [Src::imm(0), Src::imm(0)]);
            if wide(i.ty) {
                choose(b, p.into(), src(0), src(1))
            } else {
                b.push(Inst::new(Op::Sel, Type::U32).dst(i.dsts[0]).src(i.srcs[0]).src(i.srcs[1]).src(p));
                return true;
            }
        }
        Op::Slct => {
            let p = b.setp(i.cond, i.sty, i.srcs[2], 0u32);
            choose(b, p.into(), src(0), src(1))
        }
        Op::Set if wide(i.sty) => {
            set(b, i, src(0), src(1));
            return true;
        }
        Op::Cvt => match convert(b, i) {
            Some(r) => r,
            None => return false,
        },
        Op::Popc if wide(i.sty) => count_bits(b, i),
        Op::Brev => {
            let s = src(0);
            [1, 0].map(|n| b.op1(Op::Brev, Type::U32, s[n]).into())
        }
        Op::Flo if wide(i.sty) => {
            // Complements stand on bit operations alone.
            let plain = |w: Src| if w.mods.inv { b.op1(Op::Mov, Type::U32, w).into() } else { w };
            let s = src(0).map(plain);
            [find_top(b, i, s), Src::imm(0)]
        }
        Op::Rdsv if i.aux == Aux::Sv(Sv::ClockLo) => {
            let (lo, hi) = (b.sv(Sv::ClockLo), b.sv(Sv::ClockHi));
            [lo.into(), hi.into()]
        }
        _ => return false,
    };
    for (&d, s) in i.dsts.iter().zip(result) {
        b.push(Inst::new(Op::Mov, Type::U32).dst(d).src(s));
    }
    true
}

/// How far a shift goes, below 64 where it wraps.
fn shift_amount(b: &mut Builder<'_>, i: &Inst) -> Src {
    match i.srcs[1].as_imm() {
        _ if i.aux != Aux::Wrap => i.srcs[1],
        Some(n) => Src::imm(n & 63),
        None => b.op2(Op::And, Type::U32, i.srcs[1], 63u32).into(),
    }
}

/// The bits of both words, counted.
fn count_bits(b: &mut Builder<'_>, i: &Inst) -> Pair {
    let [x, y] = [0, 1].map(|n| {
        let mut part = Inst::new(Op::Popc, Type::U32);
        part.srcs.extend(i.srcs.iter().map(|s| word(s, n)));
        b.value(part)
    });
    [b.add(Type::U32, x, y).into(), Src::imm(0)]
}

type Pair = [Src; 2];

/// One 32-bit step that gives a carry.
fn with_carry_out(b: &mut Builder<'_>, mut inst: Inst) -> (Src, ValueId) {
    let (d, c) = (b.gpr(), b.func.new_value(Class::Carry));
    inst.dsts.extend([d, c]);
    b.push(inst);
    (d.into(), c)
}

fn op2(op: Op, x: Src, y: Src) -> Inst {
    Inst::new(op, Type::U32).src(x).src(y)
}

fn add(b: &mut Builder<'_>, x: Pair, y: Pair) -> Pair {
    let (lo, c) = with_carry_out(b, op2(Op::Add, x[0], y[0]));
    let hi = b.value(op2(Op::Add, x[1], y[1]).src(c));
    [lo, hi.into()]
}

fn sub(b: &mut Builder<'_>, x: Pair, y: Pair) -> Pair {
    let (lo, c) = with_carry_out(b, op2(Op::Sub, x[0], y[0]));
    let hi = b.value(op2(Op::Sub, x[1], y[1]).src(c));
    [lo, hi.into()]
}

fn negate(b: &mut Builder<'_>, x: Pair) -> Pair {
    sub(b, [Src::imm(0), Src::imm(0)], x)
}

fn abs(b: &mut Builder<'_>, x: Pair) -> Pair {
    // (x ^ sign) - sign, with sign all ones or zero.
    let sign: Src = b.op2(Op::Shr, Type::S32, x[1], 31u32).into();
    let flipped = x.map(|w| b.op2(Op::Xor, Type::U32, w, sign).into());
    sub(b, flipped, [sign, sign])
}

fn mul(b: &mut Builder<'_>, x: Pair, y: Pair) -> Pair {
    let lo = b.mul(Type::U32, x[0], y[0]);
    let mut hi: Src = b.op2(Op::MulHi, Type::U32, x[0], y[0]).into();
    for (p, q) in [(x[0], y[1]), (x[1], y[0])] {
        if p.as_imm() != Some(0) && q.as_imm() != Some(0) {
            hi = b.op3(Op::Mad, Type::U32, p, q, hi).into();
        }
    }
    [lo.into(), hi]
}

/// The high 64 bits of the 128-bit product, from four 64-bit partial products.
fn mul_high(b: &mut Builder<'_>, x: Pair, y: Pair, ty: Type) -> Pair {
    let product = |b: &mut Builder<'_>, p: Src, q: Src| -> Pair {
        [b.mul(Type::U32, p, q).into(), b.op2(Op::MulHi, Type::U32, p, q).into()]
    };
    let zero = Src::imm(0);
    let low_high: Src = b.op2(Op::MulHi, Type::U32, x[0], y[0]).into();
    let (xy, yx) = (product(b, x[0], y[1]), product(b, x[1], y[0]));
    let middle = add(b, xy, [low_high, zero]);
    let middle2 = add(b, yx, [middle[0], zero]);
    let top = product(b, x[1], y[1]);
    let top = add(b, top, [middle[1], zero]);
    let mut high = add(b, top, [middle2[1], zero]);
    if ty == Type::S64 {
        // A negative factor counts as itself plus 2^64: take the other factor off the high half.
        for (p, q) in [(x, y), (y, x)] {
            let sign: Src = b.op2(Op::Shr, Type::S32, p[1], 31u32).into();
            let part = q.map(|w| b.op2(Op::And, Type::U32, w, sign).into());
            high = sub(b, high, part);
        }
    }
    high
}

/// `x cond y` as a predicate.
fn compare(b: &mut Builder<'_>, cond: Cond, ty: Type, x: Pair, y: Pair) -> ValueId {
    let d = b.pred();
    let mut i = Inst::new(Op::Set, Type::Pred).dst(d);
    i.cond = cond;
    i.sty = ty;
    set(b, &i, x, y);
    d
}

/// The comparison `i` of two pairs, into whatever `i` defines.
fn set(b: &mut Builder<'_>, i: &Inst, x: Pair, y: Pair) {
    let half = |cond: Cond, sty: Type, n: usize, ty: Type| {
        let mut s = Inst::new(Op::Set, ty).src(x[n]).src(y[n]);
        (s.cond, s.sty) = (cond, sty);
        s
    };
    let signed = if i.sty == Type::S64 { Type::S32 } else { Type::U32 };
    let combined = i.srcs.get(2).copied();
    let result = |b: &mut Builder<'_>, mut last: Inst| {
        // With a predicate of its own to combine with, the comparison is finished first.
        if let Some(p) = combined {
            last.ty = Type::Pred;
            let whole = b.value(last);
            let mut both = Inst::new(Op::Set, i.ty).src(0u32).src(1u32);
            // (0 != 1) and p is p; the logic operation joins it with the comparison below.
            (both.cond, both.sty) = (Cond::Ne, Type::U32);
            let logic = match i.logic {
                Logic::And => Op::And,
                Logic::Or => Op::Or,
                Logic::Xor => Op::Xor,
            };
            let joined = b.value(Inst::new(logic, Type::Pred).src(whole).src(p));
            if i.ty == Type::Pred {
                b.push(Inst::new(Op::Mov, Type::Pred).dst(i.dsts[0]).src(joined));
            } else {
                b.push(both.src(joined).dst(i.dsts[0]));
            }
        } else {
            last.dsts.extend(i.dsts.iter().copied());
            b.push(last);
        }
    };
    match i.cond.ordered() {
        cond @ (Cond::Eq | Cond::Ne)
            if combined.is_none() || i.logic == if cond == Cond::Eq { Logic::And } else { Logic::Or } =>
        {
            let mut first = half(cond, Type::U32, 0, Type::Pred);
            let mut last = half(cond, Type::U32, 1, i.ty);
            last.logic = if cond == Cond::Eq { Logic::And } else { Logic::Or };
            if let Some(p) = combined {
                first.srcs.push(p);
                first.logic = last.logic;
            }
            let first = b.value(first);
            last.dsts.extend(i.dsts.iter().copied());
            b.push(last.src(first));
        }
        Cond::Eq | Cond::Ne => {
            let p = b.value(half(i.cond.ordered(), Type::U32, 0, Type::Pred));
            let mut last = half(i.cond.ordered(), Type::U32, 1, i.ty).src(p);
            last.logic = if i.cond.ordered() == Cond::Eq { Logic::And } else { Logic::Or };
            result(b, last);
        }
        Cond::Never | Cond::Always => {
            let cond = if i.cond.ordered() == Cond::Never { Cond::Ne } else { Cond::Eq };
            let mut last = Inst::new(Op::Set, i.ty).src(0u32).src(0u32);
            (last.cond, last.sty) = (cond, Type::U32);
            result(b, last);
        }
        // The sign alone tells.
        cond @ (Cond::Lt | Cond::Ge) if signed == Type::S32 && y.iter().all(|w| w.as_imm() == Some(0)) => {
            let mut last = half(cond, signed, 1, i.ty);
            last.logic = i.logic;
            last.srcs.extend(combined);
            last.dsts.extend(i.dsts.iter().copied());
            b.push(last);
        }
        cond => {
            // Only the second operand of an instruction may be a constant.
            let constant = |b: &Builder<'_>, s: &Src| match s.as_val().and_then(|v| b.func.def_inst(v)) {
                Some(d) => d.mem.is_some_and(|m| m.space == Space::Const),
                None => s.as_imm().is_some(),
            };
            let exchange = constant(b, &x[1]) && !constant(b, &y[1]);
            let (x, y, cond) = if exchange { (y, x, cond.swap()) } else { (x, y, cond) };
            let (_, borrow) = with_carry_out(b, op2(Op::Sub, x[0], y[0]));
            let mut last = Inst::new(Op::Set, i.ty).src(x[1]).src(y[1]).src(combined.unwrap_or(Src::imm(1)));
            (last.cond, last.sty, last.logic) = (cond, signed, i.logic);
            last.dsts.extend(i.dsts.iter().copied());
            b.push(last.src(borrow));
        }
    }
}

fn choose(b: &mut Builder<'_>, p: Src, x: Pair, y: Pair) -> Pair {
    [0, 1].map(|n| b.sel(p, x[n], y[n]).into())
}

/// Which way a shift goes, and what it fills with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shift {
    Left,
    RightLogical,
    RightArithmetic,
}

impl Shift {
    /// Whether it goes left, and whether it fills with the sign.
    fn parts(self) -> (bool, bool) {
        (self == Shift::Left, self == Shift::RightArithmetic)
    }
}

/// Shifts by any amount; 64 and more give 0 or the sign.
fn shift(b: &mut Builder<'_>, x: Pair, amount: Src, kind: Shift) -> Pair {
    let (left, arithmetic) = kind.parts();
    // `near` is the word that bits move out of first, `far` the one they move into: a left shift's
    // low and high.
    let (near, far) = if left { (x[1], x[0]) } else { (x[0], x[1]) };
    let (op, back) = if left { (Op::Shl, Op::Shr) } else { (Op::Shr, Op::Shl) };
    let fill_ty = if arithmetic { Type::S32 } else { Type::U32 };
    let arrange = |a: Src, c: Src| if left { [c, a] } else { [a, c] };
    if let Some(n) = amount.as_imm() {
        let gone: Src = if arithmetic { b.op2(Op::Shr, Type::S32, far, 31u32).into() } else { Src::imm(0) };
        return match n {
            0 => x,
            1..32 => {
                let kept = b.op2(op, Type::U32, near, n);
                let moved = b.op2(back, Type::U32, far, 32 - n);
                let first = b.op2(Op::Or, Type::U32, kept, moved);
                arrange(first.into(), b.op2(op, fill_ty, far, n).into())
            }
            32 => arrange(far, gone),
            33..64 => arrange(b.op2(op, fill_ty, far, n - 32).into(), gone),
            _ => [gone, gone],
        };
    }
    // Amounts outside 0..31 give 0 in a 32-bit shift, so for logical shifts the three parts never
    // overlap.
    let less: Src = b.op2(Op::Sub, Type::U32, 32u32, amount).into();
    let more: Src = b.op2(Op::Sub, Type::U32, amount, 32u32).into();
    let kept = b.op2(op, Type::U32, near, amount);
    let moved = b.op2(back, Type::U32, far, less);
    let both = b.op2(Op::Or, Type::U32, kept, moved);
    let beyond = b.op2(op, fill_ty, far, more);
    let first = if arithmetic {
        let p = b.setp(Cond::Lt, Type::U32, amount, 32u32);
        b.sel(p, both, beyond)
    } else {
        b.op2(Op::Or, Type::U32, both, beyond)
    };
    let second = b.op2(op, fill_ty, far, amount);
    arrange(first.into(), second.into())
}

/// [`shift`] where one instruction gives the word that bits of both words move into.
fn funnel_shift(b: &mut Builder<'_>, x: Pair, amount: Src, kind: Shift) -> Pair {
    let (left, arithmetic) = kind.parts();
    let (op, fill_ty) =
        if left { (Op::ShfL, Type::U32) } else { (Op::ShfR, if arithmetic { Type::S32 } else { Type::U32 }) };
    let mut both = Inst::new(op, Type::U32).src(x[0]).src(amount).src(x[1]);
    both.sty = if arithmetic { Type::S64 } else { Type::U64 };
    let both = b.value(both).into();
    if left {
        [b.op2(Op::Shl, Type::U32, x[0], amount).into(), both]
    } else {
        [both, b.op2(Op::Shr, fill_ty, x[1], amount).into()]
    }
}

/// Conversions from or to a 64-bit integer that the machine does not have: those between integers.
fn convert(b: &mut Builder<'_>, i: &Inst) -> Option<Pair> {
    if i.ty.is_float() || i.sty.is_float() {
        return None;
    }
    if wide(i.ty) && wide(i.sty) {
        let s = [word(&i.srcs[0], 0), word(&i.srcs[0], 1)];
        let s = if i.srcs[0].mods.neg { negate(b, s) } else { s };
        if i.sat && i.ty != i.sty {
            // Values of the other sign are clamped.
            let negative = b.setp(Cond::Lt, Type::S32, s[1], 0u32);
            let limit = if i.ty == Type::U64 {
                [Src::imm(0); 2]
            } else {
                [Src::imm(u32::MAX), Src::imm(i32::MAX as u32)]
            };
            return Some(choose(b, negative.into(), limit, s));
        }
        return Some(s);
    }
    if wide(i.ty) {
        // Widen to 32 bits first, then by the source's sign.
        let mut low = i.srcs[0];
        if i.sty.bits() < 32 || low.mods != SrcMods::default() || i.aux != Aux::None {
            let mut c = i.clone();
            c.ty = if i.sty.is_signed() { Type::S32 } else { Type::U32 };
            c.dsts.clear();
            low = b.value(c).into();
        }
        let high: Src =
            if i.sty.is_signed() { b.op2(Op::Shr, Type::S32, low, 31u32).into() } else { Src::imm(0) };
        if i.sat && i.ty == Type::U64 && i.sty.is_signed() {
            let negative = b.setp(Cond::Lt, Type::S32, low, 0u32);
            return Some(choose(b, negative.into(), [Src::imm(0); 2], [low, high]));
        }
        return Some([low, high]);
    }
    let s = [word(&i.srcs[0], 0), word(&i.srcs[0], 1)];
    let s = if i.srcs[0].mods.neg { negate(b, s) } else { s };
    let bits = i.ty.bits();
    if i.sat {
        let signed_limits = i.ty.is_signed();
        let max = if signed_limits { (1u64 << (bits - 1)) - 1 } else { (1u64 << bits) - 1 };
        let min = if signed_limits { (-(1i64 << (bits - 1))) as u64 } else { 0 };
        let pair = |x: u64| [Src::imm(x as u32), Src::imm((x >> 32) as u32)];
        let over = compare(b, Cond::Gt, i.sty, s, pair(max));
        let mut low = b.sel(over, max as u32, s[0]);
        if i.sty == Type::S64 {
            let under = compare(b, Cond::Lt, i.sty, s, pair(min));
            low = b.sel(under, min as u32, low);
        }
        return Some([low.into(), Src::imm(0)]);
    }
    if bits < 32 {
        let mut c = Inst::new(Op::Cvt, i.ty).src(s[0]);
        c.sty = if i.ty.is_signed() { Type::S32 } else { Type::U32 };
        let low = b.value(c);
        return Some([low.into(), Src::imm(0)]);
    }
    Some([s[0], Src::imm(0)])
}

/// The highest one (or bit unlike the sign) of a pair.
fn find_top(b: &mut Builder<'_>, i: &Inst, x: Pair) -> Src {
    let (mut lo, mut hi) = (x[0], x[1]);
    if i.sty == Type::S64 {
        let sign: Src = b.op2(Op::Shr, Type::S32, hi, 31u32).into();
        lo = b.op2(Op::Xor, Type::U32, lo, sign).into();
        hi = b.op2(Op::Xor, Type::U32, hi, sign).into();
    }
    let in_low = b.op1(Op::Flo, Type::U32, lo);
    let in_high = b.op1(Op::Flo, Type::U32, hi);
    let lifted = b.add(Type::U32, in_high, 32u32);
    let p = b.setp(Cond::Ne, Type::U32, hi, 0u32);
    let position = b.sel(p, lifted, in_low);
    if i.aux == Aux::Shift {
        let none = b.setp(Cond::Eq, Type::U32, position, u32::MAX);
        let amount = b.op2(Op::Sub, Type::U32, 63u32, position);
        return b.sel(none, u32::MAX, amount).into();
    }
    position.into()
}
