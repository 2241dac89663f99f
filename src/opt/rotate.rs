//! Rotations by an amount that is no constant, on chips that shift pairs of words (GK110).
//!
//! ```text
//! shl.wrap u32 %r2 %r0 %r1
//! sub u32 %r3 0x20 %r1
//! shr.wrap u32 %r4 %r0 %r3
//! or u32 %r5 %r2 %r4          ->  shf.l u32 %r5 %r0 %r1 %r0
//! set.ne pred u32 %p6 %r1 0x0
//! sel u32 %r7 %r5 %r0 %p6     ->  mov u32 %r7 %r5
//! ```
//!
//! Amounts count modulo 32, and are compared as sums of a value, or its negative, and a constant.
//! For amounts that are a multiple of 32 both shifts give the word itself, and so does their `or`:
//! that is why nobody has to ask for it, as Mesa does with a choice or a branch.

use super::rewrite::{as_mov, gather, imm_src, scalar_def};
use super::{Ctx, dce};
use crate::ir::*;
use crate::isa::{self, Table};

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let all = [Op::Shl, Op::Shr, Op::Or].iter().all(|&op| f.ops.contains(op));
    if !all || Table::for_chip(ctx.chip).of_op(isa::Op::Shf).is_empty() {
        return false;
    }
    let word = |i: &Inst| matches!(i.ty, Type::U32 | Type::S32);
    let candidates = gather(f, |i| matches!(i.op, Op::Or | Op::Sel) && word(i) && i.guard.is_none());
    let mut found = 0;
    for i in candidates {
        let inst = &f.insts[i];
        let new = if inst.op == Op::Or { rotation(f, inst) } else { unless_zero(f, inst) };
        if let Some(new) = new {
            f.replace(i, new);
            found += 1;
        }
    }
    ctx.count("rotate: found", found);
    if found > 0 {
        // Short sides of a branch are counted next.
        dce::run(f, ctx);
    }
    found > 0
}

/// An amount modulo 32: `value + plus`, or `plus - value`.
struct Amount {
    value: ValueId,
    neg: bool,
    plus: u32,
}

impl Amount {
    fn from_src(f: &Function, s: &Src) -> Option<Amount> {
        let signed = |s: &Src| s.as_val().filter(|_| !s.mods.abs && !s.mods.inv);
        let mut a = Amount { value: signed(s)?, neg: s.mods.neg, plus: 0 };
        for _ in 0..8 {
            let Some(d) = scalar_def(f, &a.value.into()).filter(|d| matches!(d.ty, Type::U32 | Type::S32))
            else {
                break;
            };
            let (inner, neg, plus) = match (d.op, imm_src(d, 0), imm_src(d, 1)) {
                (Op::And, _, Some(mask)) if mask & 31 == 31 => (&d.srcs[0], false, 0),
                (Op::Add, _, Some(x)) => (&d.srcs[0], false, x),
                (Op::Sub, _, Some(x)) => (&d.srcs[0], false, x.wrapping_neg()),
                (Op::Sub, Some(x), _) => (&d.srcs[1], true, x),
                (Op::Neg, ..) => (&d.srcs[0], true, 0),
                _ => break,
            };
            let Some(value) = signed(inner) else { break };
            a.plus = a.plus.wrapping_add(if a.neg { plus.wrapping_neg() } else { plus });
            a.neg ^= neg ^ inner.mods.neg;
            a.value = value;
        }
        Some(a)
    }

    /// Whether the two, or the one and the negative of the other, are the same modulo 32.
    fn same(&self, other: &Amount, negated: bool) -> bool {
        let plus = if negated { other.plus.wrapping_neg() } else { other.plus };
        self.value == other.value
            && self.neg == (other.neg ^ negated)
            && self.plus.wrapping_sub(plus) % 32 == 0
    }

    /// The value, if that is the amount.
    fn alone(&self) -> Option<Src> {
        (!self.neg && self.plus.is_multiple_of(32)).then(|| self.value.into())
    }
}

/// `(x << n) | (x >> -n)`.
fn rotation(f: &Function, inst: &Inst) -> Option<Inst> {
    let shift = |n: usize, op: Op| {
        let s = inst.srcs[n];
        let d = scalar_def(f, &s).filter(|d| d.op == op && d.aux == Aux::Wrap && s.is_plain_val())?;
        d.srcs[0].is_plain_val().then_some(d)
    };
    if inst.srcs.len() != 2 || inst.dsts.len() != 1 {
        return None;
    }
    let (left, right) = [(0, 1), (1, 0)]
        .into_iter()
        .find_map(|(l, r)| Some((shift(l, Op::Shl)?, shift(r, Op::Shr).filter(|d| d.ty == Type::U32)?)))?;
    let (up, down) = (Amount::from_src(f, &left.srcs[1])?, Amount::from_src(f, &right.srcs[1])?);
    if left.srcs[0] != right.srcs[0] || !up.same(&down, true) {
        return None;
    }
    let (op, by) = match (up.alone(), down.alone()) {
        (Some(by), _) => (Op::ShfL, by),
        (_, Some(by)) => (Op::ShfR, by),
        _ => (Op::ShfL, left.srcs[1]),
    };
    let mut new = Inst::new(op, Type::U32).src(left.srcs[0]).src(by).src(left.srcs[0]);
    (new.dsts, new.loc) = (inst.dsts, inst.loc);
    Some(new)
}

/// Whether two values are the same shift of the same words: what is left of a branch by the amount.
pub(super) fn equal(f: &Function, a: &Src, b: &Src) -> bool {
    let shift = |s: &Src| {
        let d = scalar_def(f, s).filter(|d| matches!(d.op, Op::ShfL | Op::ShfR) && s.is_plain_val())?;
        Some((d.op, d.ty, d.sty, d.srcs))
    };
    shift(a).is_some_and(|a| shift(b) == Some(a))
}

/// A word where an amount is 0, and else the word rotated by it.
fn unless_zero(f: &Function, inst: &Inst) -> Option<Inst> {
    let &[a, b, p] = inst.srcs.as_slice() else { return None };
    let set = scalar_def(f, &p).filter(|d| d.op == Op::Set && d.srcs.len() == 2 && d.ty == Type::Pred)?;
    let of_words = matches!(set.sty, Type::U32 | Type::S32) && imm_src(set, 1) == Some(0);
    let (rotated, word) = match (set.cond, p.mods.inv || p.mods.neg) {
        (Cond::Ne, false) | (Cond::Eq, true) => (a, b),
        (Cond::Eq, false) | (Cond::Ne, true) => (b, a),
        _ => return None,
    };
    let d =
        scalar_def(f, &rotated).filter(|d| matches!(d.op, Op::ShfL | Op::ShfR) && rotated.is_plain_val())?;
    let rotates = matches!(d.sty, Type::U32 | Type::S32) && d.srcs[0] == d.srcs[2] && d.srcs[0] == word;
    let (amount, asked) = (Amount::from_src(f, &d.srcs[1])?, Amount::from_src(f, &set.srcs[0])?);
    let same = amount.same(&asked, false) || amount.same(&asked, true);
    (of_words && rotates && same).then(|| as_mov(inst, rotated))
}
