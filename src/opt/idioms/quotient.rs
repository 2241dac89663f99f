//! Recognises a division by a constant that is written as an estimate and its correction.
//!
//! Mesa divides by a constant as by anything: it multiplies with the reciprocal, which is rounded
//! down, and corrects twice.
//!
//! ```text
//! mulhi u32 %q %x 0x24924924          2^32 / 7
//! mul u32 %t %q 0x7
//! neg u32 %u %t
//! add u32 %r %x %u                    below 7 + 4
//! set.ge pred u32 %p %r 0x7
//! add u32 %q1 %q 0x1
//! sel u32 %q2 %q1 %q %p               -> div u32 %q2 %x 0x7
//! add u32 %r1 %r 0xfffffff9
//! sel u32 %r2 %r1 %r %p               -> mod u32 %r2 %x 0x7
//! set.ge pred u32 %p2 %r2 0x7         -> mov pred %p2 0
//! abs s32 %x %n
//! neg s32 %q3 %q2
//! set.lt pred s32 %p3 %n 0x0
//! sel u32 %q4 %q3 %q2 %p3             -> div s32 %q4 %n 0x7
//! ```
//!
//! Proof: with `e = 2^32 - m * d >= 0`, the estimate `x * m >> 32` is at most `x / d`, and what it
//! leaves of `x` is below `d + e`. Each correction takes `d` from what is not below `d`. Once the
//! bound is at most `d`, what is left is the remainder, and the corrected estimate the quotient.
//! `divmod` then finds the shortest sequence.

use crate::ir::*;
use crate::opt::Ctx;
use crate::opt::rewrite::{is_scalar, rewrite_each, scalar_def, scalar_def_by};
use rustc_hash::FxHashMap;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut found = Found::default();
    let mut replaced = 0;
    rewrite_each(f, |f, _, i| {
        let Some(new) = found.visit(f, i) else { return false };
        f.replace(i, new);
        replaced += 1;
        true
    });
    ctx.count("quotient: recognised", replaced);
    replaced > 0
}

/// A division under way: `x == q * d + r` with `r < bound`.
#[derive(Clone, Copy)]
struct Estimate {
    x: ValueId,
    d: u32,
    bound: u64,
}

/// What is known of the values so far; definitions come before uses.
#[derive(Default)]
struct Found {
    /// What is left of a dividend, and the estimate of the quotient that leaves it.
    remainders: FxHashMap<ValueId, (Estimate, ValueId)>,
    /// Comparisons of such with the divisor.
    tests: FxHashMap<ValueId, (Estimate, ValueId, ValueId)>,
    /// Corrected estimates by condition.
    quotients: FxHashMap<ValueId, ValueId>,
    /// Corrected remainders by condition, whose estimates come later.
    waiting: FxHashMap<ValueId, ValueId>,
}

impl Found {
    /// What an instruction becomes.
    fn visit(&mut self, f: &Function, i: InstId) -> Option<Inst> {
        let inst = &f.insts[i];
        match inst.op {
            Op::Add | Op::Sub if is_int(inst.ty) => {
                self.estimate(f, inst);
                None
            }
            Op::Set if inst.ty == Type::Pred && inst.sty == Type::U32 && !self.remainders.is_empty() => {
                self.test(f, inst)
            }
            Op::Sel if inst.ty != Type::Pred => self.choice(f, inst).or_else(|| with_sign(f, inst)),
            _ => None,
        }
    }

    /// `x - mulhi(x, m) * d`.
    fn estimate(&mut self, f: &Function, inst: &Inst) -> Option<()> {
        if !is_scalar(f, inst) || inst.sat || inst.srcs.len() != 2 {
            return None;
        }
        let value = |s: &Src| s.as_val().filter(|_| s.is_plain_val());
        // The product, and by what its factor is multiplied if it is added.
        let product = |s: &Src, negate: bool| {
            let d = scalar_def_by(f, s, &[Op::Mul, Op::Neg]).filter(|d| is_int(d.ty) && s.is_plain_val())?;
            let (mul, negate) = match d.op {
                Op::Neg => (scalar_def_by(f, &d.srcs[0], &[Op::Mul])?, !negate),
                _ => (d, negate),
            };
            let (q, k) = (value(&mul.srcs[0])?, mul.srcs[1].as_imm()?);
            Some((q, if negate { k } else { k.wrapping_neg() }))
        };
        let (x, (q, d)) = if inst.op == Op::Sub {
            (value(&inst.srcs[0])?, product(&inst.srcs[1], true)?)
        } else {
            (0..2).find_map(|n| Some((value(&inst.srcs[1 - n])?, product(&inst.srcs[n], false)?)))?
        };
        let high = scalar_def_by(f, &Src::val(q), &[Op::MulHi]).filter(|h| h.ty == Type::U32)?;
        let m = high.srcs[1].as_imm()?;
        let error = (1u64 << 32).checked_sub(u64::from(m) * u64::from(d))?;
        if value(&high.srcs[0]) != Some(x) || d < 2 {
            return None;
        }
        let estimate = Estimate { x, d, bound: u64::from(d) + error };
        self.remainders.insert(inst.dsts[0], (estimate, q));
        Some(())
    }

    /// Whether what is left is not below the divisor yet: known at the end.
    fn test(&mut self, f: &Function, inst: &Inst) -> Option<Inst> {
        if inst.cond != Cond::Ge
            || inst.srcs.len() != 2
            || !is_scalar(f, inst)
            || !inst.srcs[0].is_plain_val()
        {
            return None;
        }
        let r = inst.srcs[0].as_val()?;
        let &(estimate, q) = self.remainders.get(&r)?;
        if inst.srcs[1].as_imm() != Some(estimate.d) {
            return None;
        }
        if estimate.bound <= estimate.d.into() {
            let mut never = Inst::new(Op::Mov, Type::Pred).src(0);
            (never.dsts, never.loc) = (inst.dsts, inst.loc);
            return Some(never);
        }
        self.tests.insert(inst.dsts[0], (estimate, r, q));
        None
    }

    /// A correction of quotient or remainder; the last one is the division.
    fn choice(&mut self, f: &Function, inst: &Inst) -> Option<Inst> {
        let p = inst.srcs[2].as_val().filter(|_| inst.srcs[2].is_plain_val())?;
        let &(estimate, r, q) = self.tests.get(&p)?;
        if !is_scalar(f, inst) || !inst.srcs[1].is_plain_val() {
            return None;
        }
        let old = inst.srcs[1].as_val()?;
        let sum =
            scalar_def_by(f, &inst.srcs[0], &[Op::Add]).filter(|d| is_int(d.ty) && d.srcs.len() == 2)?;
        if !inst.srcs[0].is_plain_val()
            || sum.sat
            || !sum.srcs[0].is_plain_val()
            || sum.srcs[0].as_val() != Some(old)
        {
            return None;
        }
        let by = sum.srcs[1].as_imm()?;
        let d = u64::from(estimate.d);
        let bound = (estimate.bound - d).max(d);
        let done = bound <= d;
        let op = if old == q && by == 1 {
            self.quotients.insert(p, inst.dsts[0]);
            Op::Div
        } else if old == r && by == estimate.d.wrapping_neg() {
            self.waiting.insert(p, inst.dsts[0]);
            Op::Mod
        } else {
            return None;
        };
        // The next correction is of both.
        if let Some(&r) = self.waiting.get(&p) {
            let q = self.quotients.get(&p).copied().unwrap_or(q);
            self.remainders.insert(r, (Estimate { bound, ..estimate }, q));
        }
        done.then(|| {
            let mut new = Inst::new(op, Type::U32).src(estimate.x).src(estimate.d);
            (new.dsts, new.loc) = (inst.dsts, inst.loc);
            new
        })
    }
}

/// The sign of the dividend, given back to a quotient or remainder of its magnitude.
fn with_sign(f: &Function, inst: &Inst) -> Option<Inst> {
    if !is_scalar(f, inst) || !inst.srcs.iter().all(Src::is_plain_val) {
        return None;
    }
    let negation = |n: usize| {
        let d = scalar_def_by(f, &inst.srcs[n], &[Op::Neg]).filter(|d| is_int(d.ty) && !d.sat)?;
        (d.srcs[0] == inst.srcs[1 - n]).then_some(n)
    };
    let negated = negation(0).or_else(|| negation(1))?;
    let division =
        scalar_def_by(f, &inst.srcs[1 - negated], &[Op::Div, Op::Mod]).filter(|d| d.ty == Type::U32)?;
    let d = division.srcs[1].as_imm().filter(|&d| d > 1 && d <= i32::MAX as u32)?;
    let magnitude = scalar_def_by(f, &division.srcs[0], &[Op::Abs]).filter(|d| is_int(d.ty) && !d.sat)?;
    let test = scalar_def(f, &inst.srcs[2])
        .filter(|d| d.op == Op::Set && d.sty == Type::S32 && d.srcs.len() == 2)?;
    let n = magnitude.srcs[0];
    if !n.is_plain_val() || test.srcs[0] != n || test.srcs[1].as_imm() != Some(0) {
        return None;
    }
    let below = match test.cond {
        Cond::Lt => true,
        Cond::Ge => false,
        _ => return None,
    };
    let mut new = Inst::new(division.op, Type::S32).src(n);
    (new.dsts, new.loc) = (inst.dsts, inst.loc);
    // Negated where the dividend is negative: the sign of a positive divisor; otherwise that of a
    // negative one, which only the quotient has.
    if below == (negated == 0) {
        return Some(new.src(d));
    }
    (division.op == Op::Div).then(|| new.src(d.wrapping_neg()))
}

fn is_int(ty: Type) -> bool {
    matches!(ty, Type::U32 | Type::S32)
}
