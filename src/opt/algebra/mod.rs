//! Algebraic simplification: identities, canonical forms, and booleans as predicates.
//!
//! ```text
//! add u32 %r1 0x4 %r0         ->  add u32 %r1 %r0 0x4          constants second
//! add u32 %r2 %r1 0x8         ->  add u32 %r2 %r0 0xc          sums of constants
//! mul u32 %r3 %r0 0x8         ->  shl u32 %r3 %r0 0x3
//! set.lt u32 s32 %r4 %r0 %r5
//! set.ge u32 s32 %r6 %r0 %r7
//! and u32 %r8 %r4 %r6
//! set.ne pred u32 %p9 %r8 0x0 ->  set.lt pred s32 %p10 %r0 %r5
//!                                 set.ge.and pred s32 %p9 %r0 %r7 %p10
//! ```
//!
//! Each rewrite makes the instruction cheaper or leaves its cost and helps another; none adds an
//! instruction that is not paid for by one that loses its last reader. Rules for floats hold bit by
//! bit (NaN payloads excepted), and where an instruction flushes denormals, only those apply that
//! flush as well.

use super::Ctx;
use super::rewrite::*;
use super::rotate;
use crate::ir::*;
use arrayvec::ArrayVec;

mod float;
mod integer;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut uses = LazyUses::default();
    let mut rewritten = 0;
    rewrite_each(f, |f, out, i| {
        let mut changed = false;
        // A rewrite may enable another; a canonical form is reached in a few steps.
        for _ in 0..6 {
            if !has_rules(&f.insts[i]) || !is_scalar(f, &f.insts[i]) {
                break;
            }
            let Some(new) = simplify(f, &mut uses, out, i) else { break };
            uses.replace(f, i, new);
            rewritten += 1;
            changed = true;
        }
        changed
    });
    ctx.count("algebra: rewritten", rewritten);
    rewritten > 0
}

/// Operations that occur in some rule.
const RULES: OpSet = FLOATS.union(OpSet::new(&[
    Op::MulHi,
    Op::MadHi,
    Op::ShlAdd,
    Op::Ext,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Not,
    Op::Shl,
    Op::Shr,
    Op::Popc,
    Op::Set,
    Op::Sel,
    Op::Slct,
    Op::Cvt,
    Op::Mov,
    Op::Rcp,
]));

/// Those whose rules for floats are about constants.
const FLOATS: OpSet = OpSet::new(&[Op::Add, Op::Sub, Op::Mul, Op::Mad, Op::Neg, Op::Abs, Op::Min, Op::Max]);

fn has_rules(inst: &Inst) -> bool {
    if inst.ty == Type::F32 && FLOATS.contains(inst.op) {
        inst.srcs.iter().any(is_imm)
    } else {
        RULES.contains(inst.op)
    }
}

fn simplify(f: &mut Function, uses: &mut LazyUses, out: &mut Vec<InstId>, i: InstId) -> Option<Inst> {
    let inst = &f.insts[i];
    let op = inst.op;
    canonical(inst)
        .or_else(|| match inst.ty {
            Type::U32 | Type::S32 => integer::simplify(f, uses, inst),
            Type::F32 => float::simplify(f, inst),
            Type::Pred => predicate(f, uses, inst),
            _ => None,
        })
        .or_else(|| match op {
            Op::Sel => choice(f, uses, &f.insts[i]),
            Op::Cvt => {
                let inst = &f.insts[i];
                float::part_conversion(f, uses, inst).or_else(|| float::rounded(f, inst))
            }
            Op::Set | Op::And | Op::Or | Op::Slct => boolean(f, uses, out, i),
            Op::Add | Op::Shl | Op::Mul => outward(f, uses, out, i),
            _ => None,
        })
}

fn is_imm(s: &Src) -> bool {
    matches!(s.kind, SrcKind::Imm(_))
}

/// Constants second.
fn canonical(inst: &Inst) -> Option<Inst> {
    if inst.srcs.len() < 2 || !is_imm(&inst.srcs[0]) || is_imm(&inst.srcs[1]) {
        return None;
    }
    let mut new = inst.clone();
    match inst.op {
        Op::Set => new.cond = inst.cond.swap(),
        op if op.is(op::COMMUTES) && inst.ty != Type::Pred => {}
        _ => return None,
    }
    new.srcs.swap(0, 1);
    Some(new)
}

fn with(inst: &Inst, op: Op, srcs: &[Src]) -> Inst {
    let mut new = Inst::new(op, inst.ty);
    new.dsts = inst.dsts;
    new.loc = inst.loc;
    new.srcs.extend(srcs.iter().copied());
    new
}

fn mov_imm(inst: &Inst, x: u32) -> Option<Inst> {
    Some(as_mov(inst, Src::imm(x)))
}

/// A copy of an operand, if it is a plain value.
fn copy(inst: &Inst, s: Src) -> Option<Inst> {
    (s.mods == SrcMods::default()).then(|| as_mov(inst, s))
}

fn is_int(ty: Type) -> bool {
    matches!(ty, Type::U32 | Type::S32)
}

/// Logic on predicates.
fn predicate(f: &Function, uses: &LazyUses, inst: &Inst) -> Option<Inst> {
    let s = &inst.srcs;
    let imm = |n: usize| known_predicate(f, inst, n);
    match inst.op {
        Op::And | Op::Or | Op::Xor => {
            let n = if imm(0).is_some() { 0 } else { 1 };
            let other = s[1 - n];
            match (inst.op, imm(n)) {
                (Op::And, Some(0)) => mov_imm(inst, 0),
                (Op::Or, Some(1)) => mov_imm(inst, 1),
                (Op::And, Some(_)) | (Op::Or | Op::Xor, Some(0)) => Some(as_mov(inst, other)),
                (Op::Xor, Some(_)) => Some(as_mov(inst, other.inv())),
                _ if s[0] == s[1] && inst.op != Op::Xor => Some(as_mov(inst, s[0])),
                _ if let Some(new) = absorbed(f, inst) => Some(new),
                // `and p q` of a comparison without another reader: it takes the other operand
                // along.
                _ => (0..2).rev().find_map(|n| {
                    let d = scalar_def_by(f, &s[n], &[Op::Set]).filter(|d| d.srcs.len() == 2)?;
                    if uses.count(f, s[n].as_val()?) != 1
                        || !d.compares_at_once()
                        || !later(f, &s[n], &s[1 - n])
                    {
                        return None;
                    }
                    let mut new = d.clone();
                    if s[n].mods.inv {
                        new.cond = negated(d);
                    }
                    new.logic = match inst.op {
                        Op::And => Logic::And,
                        Op::Or => Logic::Or,
                        _ => Logic::Xor,
                    };
                    new.srcs.push(s[1 - n]);
                    new.dsts = inst.dsts;
                    Some(new)
                }),
            }
        }
        Op::Not => {
            let mut new = as_mov(inst, s[0].inv());
            new.ty = Type::Pred;
            Some(new)
        }
        // The negation of a comparison whose result is not a number of its own.
        Op::Mov if s[0].mods.inv => {
            let d = scalar_def_by(f, &s[0], &[Op::Set])?;
            if d.srcs.len() != 2 || !uses.may_move(f, d) {
                return None;
            }
            let mut new = d.clone();
            new.cond = negated(d);
            new.dsts = inst.dsts;
            Some(new)
        }
        Op::Set if inst.srcs.len() == 3 => {
            let c = imm(2)?;
            match (inst.logic, c != 0) {
                (Logic::And, true) | (Logic::Or | Logic::Xor, false) => {
                    let mut new = inst.clone();
                    new.srcs.truncate(2);
                    new.logic = Logic::And;
                    Some(new)
                }
                (Logic::And, false) => mov_imm(inst, 0),
                (Logic::Or, true) => mov_imm(inst, 1),
                (Logic::Xor, true) => {
                    let mut new = inst.clone();
                    new.srcs.truncate(2);
                    new.logic = Logic::And;
                    new.cond = negated(inst);
                    Some(new)
                }
            }
        }
        _ => None,
    }
}

/// `p and (p or q)`, `p and not (p and q)` and their like, which say less than they seem to.
fn absorbed(f: &Function, inst: &Inst) -> Option<Inst> {
    if inst.op == Op::Xor {
        return None;
    }
    (0..2).find_map(|n| {
        let (p, other) = (inst.srcs[n], inst.srcs[1 - n]);
        let d = scalar_def_by(f, &other, &[Op::And, Op::Or]).filter(|d| d.ty == Type::Pred)?;
        let inv = |s: Src| if other.mods.inv { s.inv() } else { s };
        let same_op = (d.op == inst.op) != other.mods.inv;
        (0..2).find_map(|k| {
            let (q, rest) = (inv(d.srcs[k]), inv(d.srcs[1 - k]));
            match (same_op, q == p, q == p.inv()) {
                (true, true, _) => Some(as_mov(inst, other)),
                (true, _, true) => mov_imm(inst, u32::from(inst.op == Op::Or)),
                (false, true, _) => Some(as_mov(inst, p)),
                (false, _, true) => Some(with(inst, inst.op, &[p, rest])),
                _ => None,
            }
        })
    })
}

/// Source `n` where it is a predicate that is known: an immediate, or a copy of one, which stays a
/// value.
fn known_predicate(f: &Function, inst: &Inst, n: usize) -> Option<u32> {
    let s = inst.srcs.get(n)?;
    let Some(v) = s.as_val() else { return imm_src(inst, n) };
    if f.class(v) != Class::Pred {
        return None;
    }
    let d = scalar_def_by(f, s, &[Op::Mov])?;
    imm_src(d, 0).map(|c| u32::from((c != 0) != s.mods.inv))
}

/// Whether a comparison may be put off: one of its operands would live longer, so only if the other
/// predicate is a comparison too, or the comparison is with a constant.
fn later(f: &Function, this: &Src, other: &Src) -> bool {
    let constant = scalar_def(f, this).is_some_and(|d| !matches!(d.srcs[1].kind, SrcKind::Val(_)));
    constant || scalar_def(f, other).is_some_and(|d| d.op == Op::Set)
}

/// Makes a comparison hold where it does not, what it takes along included: `!(a < b and p)` is
/// `a >= b or !p`.
fn negate_comparison(set: &mut Inst) {
    if set.logic == Logic::Xor && set.srcs.len() > 2 {
        set.srcs[2] = set.srcs[2].inv();
        return;
    }
    set.cond = negated(set);
    if set.srcs.len() > 2 {
        set.srcs[2] = set.srcs[2].inv();
        set.logic = if set.logic == Logic::And { Logic::Or } else { Logic::And };
    }
}

/// The condition under which a comparison does not hold.
pub(super) fn negated(inst: &Inst) -> Cond {
    if inst.sty.is_float() { inst.cond.negate() } else { inst.cond.negate().ordered() }
}

/// Choices whose condition is known or whose arms are those of a comparison.
fn choice(f: &Function, uses: &LazyUses, inst: &Inst) -> Option<Inst> {
    let s = &inst.srcs;
    match inst.op {
        Op::Sel => {
            if let Some(c) = known_predicate(f, inst, 2) {
                return Some(as_mov(inst, if c != 0 { s[0] } else { s[1] })).filter(|m| mods_ok(&m.srcs[0]));
            }
            // c ? a : b through a negated predicate.
            if s[2].mods.inv {
                let mut new = inst.clone();
                new.srcs.swap(0, 1);
                new.srcs[2].mods.inv = false;
                return Some(new);
            }
            if inst.ty == Type::Pred {
                return None;
            }
            if rotate::equal(f, &s[0], &s[1]) {
                return Some(as_mov(inst, s[0]));
            }
            // The mask or the number that a comparison gives by itself.
            let d = scalar_def_by(f, &s[2], &[Op::Set]).filter(|d| uses.may_move(f, d))?;
            let (a, b) = (s[0].as_imm()?, s[1].as_imm()?);
            let (ty, negate) = match (a, b) {
                (u32::MAX, 0) => (Type::U32, false),
                (0, u32::MAX) => (Type::U32, true),
                (0x3f80_0000, 0) => (Type::F32, false),
                (0, 0x3f80_0000) => (Type::F32, true),
                _ => return None,
            };
            if negate && d.srcs.len() != 2 {
                return None;
            }
            let mut new = d.clone();
            new.ty = ty;
            new.dsts = inst.dsts;
            new.loc = inst.loc;
            if negate {
                new.cond = negated(d);
            }
            Some(new)
        }
        _ => None,
    }
}

fn mods_ok(s: &Src) -> bool {
    !s.mods.neg && !s.mods.abs
}

/// A test of a boolean that is a 32-bit mask (or 1.0): the comparison behind it, as a predicate.
/// Conjunctions become the third operand of a comparison.
fn boolean(f: &mut Function, uses: &mut LazyUses, out: &mut Vec<InstId>, i: InstId) -> Option<Inst> {
    let inst = &f.insts[i];
    match inst.op {
        Op::Set if inst.ty == Type::Pred && inst.srcs.len() == 2 && inst.sty == Type::F32 => {
            let (v, one, zero) = float::of_boolean(f, inst)?;
            if one == zero {
                return mov_imm(inst, u32::from(one));
            }
            let (dsts, loc) = (inst.dsts, inst.loc);
            let mut new = as_predicate(f, uses, out, v, zero, None);
            new.dsts = dsts;
            new.loc = loc;
            Some(new)
        }
        Op::Set if inst.ty == Type::Pred && inst.srcs.len() == 3 && is_int(inst.sty) => {
            let test = match inst.cond.ordered() {
                Cond::Ne => true,
                Cond::Eq => false,
                _ => return None,
            };
            (imm_src(inst, 1) == Some(0)).then(|| tested_choice(f, uses, out, i, test))?
        }
        Op::Set if inst.ty == Type::Pred && inst.srcs.len() == 2 => {
            let test = match inst.cond.ordered() {
                Cond::Ne => true,
                Cond::Eq => false,
                _ => return None,
            };
            let Some(with) = imm_src(inst, 1) else { return differ(f, uses, out, i, test) };
            if with != 0 || !inst.srcs[0].is_plain_val() || !is_int(inst.sty) {
                return None;
            }
            let v = inst.srcs[0].as_val()?;
            if !is_boolean(f, uses, v) {
                return tested_choice(f, uses, out, i, test);
            }
            let (dsts, loc) = (inst.dsts, inst.loc);
            let mut new = as_predicate(f, uses, out, v, !test, None);
            new.dsts = dsts;
            new.loc = loc;
            Some(new)
        }
        // A boolean as a number: `mask & x` is x or 0.
        Op::And if matches!(inst.ty, Type::U32 | Type::S32) && inst.srcs[0].is_plain_val() => {
            let x = inst.srcs[1].as_imm()?;
            let v = inst.srcs[0].as_val()?;
            let tree = f.def_inst(v).is_some_and(|d| d.op != Op::Set) && uses.count(f, v) == 1;
            if !tree || !is_boolean(f, uses, v) {
                return None;
            }
            let (dsts, loc) = (inst.dsts, inst.loc);
            let mut new = as_predicate(f, uses, out, v, false, None);
            if new.op == Op::Set && matches!(x, 0x3f80_0000 | u32::MAX) {
                new.ty = if x == u32::MAX { Type::U32 } else { Type::F32 };
            } else {
                let p = uses.emit(f, out, new);
                new = Inst::new(Op::Sel, Type::U32).src(x).src(0).src(p);
            }
            new.dsts = dsts;
            new.loc = loc;
            Some(new)
        }
        Op::And | Op::Or if inst.ty == Type::Pred && inst.srcs.iter().all(|s| s.mods.inv) => {
            let old = inst.clone();
            let mut new = neither(f, uses, out, old.op, [old.srcs[0], old.srcs[1]]);
            (new.dsts, new.loc) = (old.dsts, old.loc);
            Some(new)
        }
        Op::And | Op::Or if inst.ty == Type::Pred => push_down(f, uses, out, i),
        Op::Slct if inst.srcs[2].is_plain_val() && matches!(inst.sty, Type::U32 | Type::S32) => {
            let v = inst.srcs[2].as_val()?;
            let negate = match inst.cond {
                Cond::Ne => false,
                Cond::Eq => true,
                // A mask is -1 or 0.
                Cond::Lt if inst.sty == Type::S32 => false,
                Cond::Ge if inst.sty == Type::S32 => true,
                _ => return None,
            };
            if !is_boolean(f, uses, v) {
                return None;
            }
            let mut new = inst.clone();
            new.op = Op::Sel;
            new.sty = new.ty;
            new.cond = Cond::default();
            // Only a float that is compared with zero is flushed.
            new.ftz = false;
            let p = as_predicate(f, uses, out, v, false, None);
            let p = uses.emit(f, out, p);
            new.srcs[2] = Src::val(p);
            if negate {
                new.srcs.swap(0, 1);
            }
            Some(new)
        }
        _ => None,
    }
}

/// A test for zero of a choice of which a side is known: the condition, and a test of the other side.
fn tested_choice(
    f: &mut Function,
    uses: &mut LazyUses,
    out: &mut Vec<InstId>,
    i: InstId,
    test: bool,
) -> Option<Inst> {
    let inst = f.insts[i].clone();
    let mut set = inst.clone();
    let taken_along = set.srcs.get(2).copied();
    set.srcs.truncate(2);
    set.dsts.clear();
    set.logic = Logic::default();
    let mut new = tested(f, uses, out, &set, test, NESTED)?;
    if let Some(q) = taken_along {
        let p = match new.op {
            Op::Mov => new.srcs[0],
            _ => Src::val(uses.emit(f, out, new)),
        };
        new = Inst::new(logic_op(inst.logic), Type::Pred).src(p).src(q);
    }
    (new.dsts, new.loc) = (inst.dsts, inst.loc);
    Some(new)
}

/// Choices within choices that [`tested_choice`] looks at.
const NESTED: u32 = 4;

/// What a test of a choice becomes, without a destination.
fn tested(
    f: &mut Function,
    uses: &mut LazyUses,
    out: &mut Vec<InstId>,
    set: &Inst,
    test: bool,
    depth: u32,
) -> Option<Inst> {
    let d = scalar_def_by(f, &set.srcs[0], &[Op::Sel]).filter(|d| is_int(d.ty))?;
    let (p, arms) = (d.srcs[2], [imm_src(d, 0), imm_src(d, 1)]);
    let holds = |x: u32| (x != 0) == test;
    let (known, other, p) = match arms {
        [Some(a), Some(b)] if holds(a) == holds(b) => return None,
        [Some(a), Some(_)] => {
            return Some(Inst::new(Op::Mov, Type::Pred).src(if holds(a) { p } else { p.inv() }));
        }
        [Some(a), None] => (holds(a), d.srcs[1], p),
        [None, Some(b)] => (holds(b), d.srcs[0], p.inv()),
        _ => return None,
    };
    if !other.is_plain_val() || uses.count(f, set.srcs[0].as_val()?) != 1 || depth == 0 {
        return None;
    }
    let v = other.as_val()?;
    let mut rest = set.clone();
    rest.srcs[0] = other;
    let rest = if is_boolean(f, uses, v) {
        as_predicate(f, uses, out, v, !test, None)
    } else {
        tested(f, uses, out, &rest, test, depth - 1).unwrap_or(rest)
    };
    let rest = match (rest.op, rest.srcs[0]) {
        (Op::Mov, p) => p,
        _ => Src::val(uses.emit(f, out, rest)),
    };
    let (op, p) = if known { (Op::Or, p) } else { (Op::And, p.inv()) };
    if !(p.mods.inv && rest.mods.inv) {
        return Some(Inst::new(op, Type::Pred).src(p).src(rest));
    }
    Some(neither(f, uses, out, op, [p, rest]))
}

/// Logic on two negated predicates as the negation of the other logic on them, which may be there already.
fn neither(f: &mut Function, uses: &mut LazyUses, out: &mut Vec<InstId>, op: Op, [p, q]: [Src; 2]) -> Inst {
    let dual = if op == Op::And { Op::Or } else { Op::And };
    let both = uses.emit(f, out, Inst::new(dual, Type::Pred).src(p.inv()).src(q.inv()));
    Inst::new(Op::Mov, Type::Pred).src(Src::val(both).inv())
}

/// Masks that are compared with each other: they differ where one of the two holds.
fn differ(
    f: &mut Function,
    uses: &mut LazyUses,
    out: &mut Vec<InstId>,
    i: InstId,
    differ: bool,
) -> Option<Inst> {
    let inst = &f.insts[i];
    let mask = |n: usize| {
        let s = &inst.srcs[n];
        let v = s.as_val().filter(|_| s.is_plain_val() && is_int(inst.sty))?;
        (uses.count(f, v) == 1 && is_boolean(f, uses, v)).then_some(v)
    };
    let (a, b) = (mask(0)?, mask(1)?);
    let (dsts, loc) = (inst.dsts, inst.loc);
    let first = as_predicate(f, uses, out, a, !differ, None);
    let p = uses.emit(f, out, first);
    let mut new = as_predicate(f, uses, out, b, false, Some((p, Logic::Xor)));
    (new.dsts, new.loc) = (dsts, loc);
    Some(new)
}

/// The longest chain of comparisons that [`push_down`] makes anew.
const CHAIN: usize = 8;

/// `p and (a < b and (.. and r))`, where r is a comparison too: p goes into r's, so that the
/// conjunction itself disappears.
fn push_down(f: &mut Function, uses: &mut LazyUses, out: &mut Vec<InstId>, i: InstId) -> Option<Inst> {
    let inst = &f.insts[i];
    let logic = if inst.op == Op::And { Logic::And } else { Logic::Or };
    let sole = |s: &Src| {
        let d = scalar_def_by(f, s, &[Op::Set]).filter(|d| d.ty == Type::Pred && d.compares_at_once())?;
        (uses.count(f, s.as_val()?) == 1).then_some(d)
    };
    // The comparisons that a predicate is the conjunction of, the outermost first; the last may be
    // inverted.
    let chain = |s: &Src| {
        let mut all: ArrayVec<&Inst, CHAIN> = ArrayVec::new();
        let mut s = *s;
        loop {
            let d = sole(&s)?;
            let next = d.srcs.get(2).copied();
            if next.is_some() && (d.logic != logic || s.mods.inv) {
                return None;
            }
            all.try_push(d).ok()?;
            match next {
                Some(next) => s = next,
                None => return Some((all, s.mods.inv)),
            }
        }
    };
    let (chain, inverted, mut p) = (0..2)
        .filter_map(|n| {
            let (chain, inverted) = chain(&inst.srcs[n]).filter(|(c, _)| c.len() > 1)?;
            Some((chain, inverted, inst.srcs[1 - n]))
        })
        .min_by_key(|(c, ..)| c.len())?;
    let (dsts, loc) = (inst.dsts, inst.loc);
    let mut chain: ArrayVec<Inst, CHAIN> = chain.into_iter().cloned().collect();
    if inverted && let Some(last) = chain.last_mut() {
        last.cond = negated(last);
    }
    let mut last = None;
    for mut set in chain.into_iter().rev() {
        if let Some(inner) = last.take() {
            p = Src::val(uses.emit(f, out, inner));
        }
        set.dsts.clear();
        set.srcs.truncate(2);
        set.srcs.push(p);
        set.logic = logic;
        last = Some(set);
    }
    let mut last = last?;
    (last.dsts, last.loc) = (dsts, loc);
    Some(last)
}

/// Whether a value is a mask by construction: a comparison, or logic on such, up to a depth.
/// `uses`: it is to be made anew as a predicate, so nothing of it may have another reader, or have
/// to stay where it is.
fn is_mask(f: &Function, uses: Option<&LazyUses>, v: ValueId, depth: u32) -> bool {
    let Some(d) = f.def_inst(v).filter(|d| is_scalar(f, d)) else { return false };
    let operand = |s: &Src| {
        let inner = s.as_val().filter(|_| s.is_plain_val());
        inner.is_some_and(|v| {
            let alone = uses.is_none_or(|u| u.count(f, v) == 1);
            (alone || f.def_inst(v).is_some_and(|d| d.op == Op::Set)) && is_mask(f, uses, v, depth - 1)
        })
    };
    match d.op {
        Op::Set => is_int(d.ty) && uses.is_none_or(|u| u.may_move(f, d)),
        Op::And | Op::Or | Op::Xor | Op::Not => depth > 0 && d.srcs.iter().all(operand),
        _ => false,
    }
}

/// Whether a value is a mask that may be made anew as a predicate.
fn is_boolean(f: &Function, uses: &LazyUses, v: ValueId) -> bool {
    is_mask(f, Some(uses), v, 8)
}

/// A predicate that is still to be combined with the next one.
type Pending = Option<(ValueId, Logic)>;

/// The instruction that computes a boolean (see [`is_boolean`]) as a predicate, negated if asked
/// for, combined with `with`; what it needs besides is emitted before it. Its destination is still
/// to be set. A conjunction of n comparisons takes n instructions, each but the first with the
/// result of the one before as its third operand.
fn as_predicate(
    f: &mut Function,
    uses: &mut LazyUses,
    out: &mut Vec<InstId>,
    v: ValueId,
    negate: bool,
    with: Pending,
) -> Inst {
    let d = f.def_inst(v).expect("a boolean has a defining instruction").clone();
    let operand = |n: usize| d.srcs[n].as_val().expect("a boolean's operands are values");
    let combine = |f: &mut Function, uses: &mut LazyUses, out: &mut Vec<InstId>, inst: Inst, invert: bool| {
        if with.is_none() && !invert {
            return inst;
        }
        let p = Src::val(uses.emit(f, out, inst));
        let p = if invert { p.inv() } else { p };
        match with {
            None => Inst::new(Op::Mov, Type::Pred).src(p),
            Some((q, logic)) => Inst::new(logic_op(logic), Type::Pred).src(p).src(q),
        }
    };
    match d.op {
        Op::Set => {
            let mut set = d;
            set.ty = Type::Pred;
            set.dsts.clear();
            if negate {
                negate_comparison(&mut set);
            }
            if set.srcs.len() > 2 {
                return combine(f, uses, out, set, false);
            }
            if let Some((q, logic)) = with {
                set.srcs.push(Src::val(q));
                set.logic = logic;
            }
            set
        }
        Op::Not => as_predicate(f, uses, out, operand(0), !negate, with),
        op => {
            // De Morgan: the negation of a conjunction is the disjunction of the negations.
            let (mut a, mut b) = ((operand(0), negate), (operand(1), negate));
            let logic = match (op, negate) {
                (Op::And, false) | (Op::Or, true) => Logic::And,
                (Op::Or, false) | (Op::And, true) => Logic::Or,
                _ => {
                    b.1 = false;
                    Logic::Xor
                }
            };
            if with.is_some_and(|(_, outer)| outer != logic) {
                let whole = as_predicate(f, uses, out, v, negate, None);
                return combine(f, uses, out, whole, false);
            }
            // Logic of another kind goes first: it cannot take what comes before it along.
            let other_kind = |v: ValueId| {
                f.def_inst(v).is_some_and(|d| matches!(d.op, Op::And | Op::Or | Op::Xor) && d.op != op)
            };
            if other_kind(b.0) && !other_kind(a.0) {
                std::mem::swap(&mut a, &mut b);
            }
            let first = as_predicate(f, uses, out, a.0, a.1, with);
            let p = uses.emit(f, out, first);
            as_predicate(f, uses, out, b.0, b.1, Some((p, logic)))
        }
    }
}

fn logic_op(logic: Logic) -> Op {
    match logic {
        Logic::And => Op::And,
        Logic::Or => Op::Or,
        Logic::Xor => Op::Xor,
    }
}

/// Moves an added constant outwards, where it can meet another or an address: `(x + c) + y` to
/// `(x + y) + c`, `(x + c) << n` to `(x << n) + (c << n)`, `(x + c) * k` likewise. Only where the
/// inner sum has no other reader, so that the number of instructions stays.
fn outward(f: &mut Function, uses: &mut LazyUses, out: &mut Vec<InstId>, i: InstId) -> Option<Inst> {
    let inst = &f.insts[i];
    if !is_int(inst.ty) || inst.sat || matches!(inst.aux, Aux::Wrap) || inst.srcs.len() != 2 {
        return None;
    }
    let sum = |n: usize| -> Option<(ValueId, u32)> {
        let s = &inst.srcs[n];
        let d = scalar_def_by(f, s, &[Op::Add]).filter(|d| is_int(d.ty) && !d.sat && d.srcs.len() == 2)?;
        if !s.is_plain_val() || !d.srcs[0].is_plain_val() {
            return None;
        }
        let (x, c) = (d.srcs[0].as_val()?, d.srcs[1].as_imm()?);
        (uses.count(f, s.as_val()?) == 1).then_some((x, c))
    };
    let (x, c, other) = match inst.op {
        Op::Add if inst.srcs.iter().all(|s| s.is_plain_val()) => {
            let (n, (x, c)) = (0..2).find_map(|n| Some((n, sum(n)?)))?;
            (x, c, inst.srcs[1 - n])
        }
        Op::Shl => {
            let n = inst.srcs[1].as_imm().filter(|&n| n < 32)?;
            let (x, c) = sum(0)?;
            (x, c << n, inst.srcs[1])
        }
        Op::Mul => {
            let k = inst.srcs[1].as_imm()?;
            let (x, c) = sum(0)?;
            (x, c.wrapping_mul(k), inst.srcs[1])
        }
        _ => return None,
    };
    let mut core = Inst::new(inst.op, Type::U32).src(x).src(other);
    core.loc = inst.loc;
    let new = with(inst, Op::Add, &[]);
    let v = uses.emit(f, out, core);
    Some(new.src(v).src(c))
}
