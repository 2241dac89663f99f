//! Two operations in one instruction: multiply-add, shift-add.
//!
//! ```text
//! mul u32 %r2 %r0 %r1
//! add u32 %r3 %r2 %r4         ->  mad u32 %r3 %r0 %r1 %r4
//! mulhi u32 %r7 %r0 %r1
//! add u32 %r8 %r7 %r4         ->  madhi u32 %r8 %r0 %r1 %r4
//! mul u32 %r9 %r0 %r1
//! neg s32 %r10 %r9            ->  mad u32 %r10 -%r0 %r1 0x0
//! shl u32 %r5 %r0 0x2
//! add u32 %r6 %r5 %r4         ->  shladd u32 %r6 %r0 0x2 %r4
//! add u32 {%r3 %c6} %r2 %r4   ->  mad u32 {%r3 %c6} %r0 %r1 %r4
//! add u32 %r8 %r7 %r5 %c6     ->  madhi u32 %r8 %r0 %r1 %r5 %c6
//! ```
//!
//! Where the chip shifts pairs of words (GK110), the two halves of a rotation, or of a shift of 64
//! bits, become one:
//!
//! ```text
//! shl u32 %r2 %r0 0x7
//! shr u32 %r3 %r1 0x19
//! or u32 %r4 %r2 %r3          ->  shf.l u32 %r4 %r1 0x7 %r0
//! ```
//!
//! Bytes and fields of words that are put together are looked for first (`bytes`).
//!
//! The inner operation must have no other reader (then it dies), except that a shift may be
//! duplicated into all its readers if they are sums, or into two: shifts run at a fifth of an
//! addition's rate, and the shift-add at the addition's.
//!
//! Safe for integers because both are computed modulo 2^32. For floats one rounding disappears,
//! which is only done where neither operation is marked exact and both round and flush alike.

use super::Ctx;
use super::prmt;
use super::rewrite::{UseCounts, is_scalar, replace_counted, scalar_def};
use crate::chip::Chip;
use crate::ir::*;
use crate::isa::{self, Table};
use crate::select;
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let (mut uses, candidates, joins) = look_at(f);
    let mut fused = 0;
    if !joins.is_empty() {
        let funnels = !Table::for_chip(ctx.chip).of_op(isa::Op::Shf).is_empty();
        // The last first: what is part of it is none of its own.
        for &i in joins.iter().rev() {
            let inst = &f.insts[i];
            if uses[inst.dsts[0]] > 0
                && let Some(new) = prmt::form(f, funnels, inst, &uses)
            {
                replace_counted(f, &mut uses, i, new);
                fused += 1;
            }
        }
    }
    let shifts = absorbed_shifts(f, ctx.chip, &uses, &candidates);
    let absorbed = |v| shifts.contains(v);
    for i in candidates {
        let inst = &f.insts[i];
        if let Some(new) = funnel(f, inst, &uses).filter(|new| select::legal(ctx.chip, f, new)) {
            replace_counted(f, &mut uses, i, new);
            fused += 1;
        } else if let Some(new) = negated_product(f, inst, &uses).or_else(|| double(f, inst, &uses)) {
            replace_counted(f, &mut uses, i, new);
            fused += 1;
        } else if is_sum(f, inst)
            && let Some((new, inner)) =
                [1, 0].into_iter().find_map(|n| fuse(f, ctx.chip, inst, &uses, absorbed, n))
        {
            // The product or shift is read no more, but what it reads.
            uses[inner] -= 1;
            if let Some(inner_inst) = f.def_inst(inner)
                && uses[inner] > 0
            {
                inner_inst.for_uses(|v| uses[v] += 1);
            }
            f.ops.insert(new.op);
            f.insts[i] = new;
            fused += 1;
        }
    }
    ctx.count("fuse: fused", fused);
    fused > 0
}

/// Counts the uses of a function's values, and finds the operations on products and shifts that may
/// become one with them, and those that join parts of words. No fusion makes a new one.
fn look_at(f: &Function) -> (UseCounts, Vec<InstId>, Vec<InstId>) {
    let mut uses = UseCounts::with_capacity(f.values.len());
    uses.resize(f.values.len());
    let mut candidates = Vec::with_capacity(16);
    let inner = |s: &Src| {
        let def = s.values().first().and_then(|&v| f.def_inst(v));
        def.is_some_and(|d| matches!(d.op, Op::Mul | Op::MulHi | Op::Shl | Op::Shr))
    };
    let mut joins = Vec::new();
    let value = |s: &Src| s.as_val().is_some();
    let part = |s: &Src| s.as_val().and_then(|v| f.def_inst(v)).is_some_and(|d| prmt::takes_part(d.op));
    for &b in &f.layout {
        let block = &f.blocks[b];
        for &i in &block.body {
            let inst = &f.insts[i];
            inst.for_uses(|v| uses[v] += 1);
            if prmt::is_join(inst)
                && inst.guard.is_none()
                && inst.srcs.iter().all(value)
                && inst.srcs.iter().any(part)
            {
                joins.push(i);
            }
            let outer = matches!(inst.op, Op::Add | Op::Sub | Op::Neg | Op::Or | Op::Xor);
            // What is added with a carry may be a copy of half a product.
            let sum = inst.srcs.len() == 3;
            if outer && inst.guard.is_none() && (sum || inst.srcs.iter().any(inner)) {
                candidates.push(i);
            }
        }
        block.term.for_uses(|v| uses[v] += 1);
    }
    (uses, candidates, joins)
}

/// An addition or subtraction of two operands, which may give a carry, or an addition that takes
/// one.
fn is_sum(f: &Function, inst: &Inst) -> bool {
    matches!(inst.op, Op::Add | Op::Sub)
        && (inst.srcs.len() == 2 || inst.op == Op::Add)
        && inst.ty.words() == 1
        && inst.guard.is_none()
        && f.values[inst.dsts[0]].class == Class::Gpr
}

/// Shifts by constants with more than two readers that are all sums that can take them in: then the
/// shift disappears.
fn absorbed_shifts(f: &Function, chip: Chip, uses: &UseCounts, candidates: &[InstId]) -> EntitySet<ValueId> {
    let mut readers: FxHashMap<ValueId, u32> = FxHashMap::default();
    let mut all = EntitySet::new();
    for &i in candidates {
        let inst = &f.insts[i];
        if !is_sum(f, inst) {
            continue;
        }
        for n in 0..2 {
            let s = &inst.srcs[n];
            let many = s.as_val().is_some_and(|v| uses[v] > 2);
            let shift = many && scalar_def(f, s).is_some_and(|d| d.op == Op::Shl);
            if shift && let Some((_, v)) = fuse(f, chip, inst, uses, |_| true, n) {
                let readers = readers.entry(v).or_insert(0);
                *readers += 1;
                if *readers == uses[v] {
                    all.insert(v);
                }
            }
        }
    }
    all
}

/// What a value is a copy of, as far as nobody else reads the copies.
fn original(f: &Function, mut v: ValueId, uses: &UseCounts) -> ValueId {
    while uses[v] == 1
        && let Some(d) = f.def_inst(v)
        && (d.op, d.ty) == (Op::Mov, Type::U32)
        && d.guard.is_none()
        && let Some(from) = d.srcs[0].as_val().filter(|_| d.srcs[0].is_plain_val())
        && f.class(from) == Class::Gpr
    {
        v = from;
    }
    v
}

/// A sum or difference as a sum: whether source `n` is negated, and the other one with its sign.
fn as_sum(inst: &Inst, n: usize) -> (bool, Src) {
    let difference = inst.op == Op::Sub;
    let mut other = inst.srcs[1 - n];
    other.mods.neg ^= difference && n == 0;
    (inst.srcs[n].mods.neg ^ (difference && n == 1), other)
}

/// The fused form with source `n` of the addition as the inner operation. `shifts`: whether a shift
/// may be taken into every one of its readers.
fn fuse(
    f: &Function,
    chip: Chip,
    inst: &Inst,
    uses: &UseCounts,
    shifts: impl Fn(ValueId) -> bool,
    n: usize,
) -> Option<(Inst, ValueId)> {
    let s = inst.srcs[n];
    let inner_value = original(f, s.as_val()?, uses);
    let inner = scalar_def(f, &inner_value.into())?;
    if !matches!(inner.op, Op::Mul | Op::MulHi | Op::Shl) || inner.sat || s.mods.abs || s.mods.inv {
        return None;
    }
    let (neg, other) = as_sum(inst, n);
    let single = uses[inner_value] == 1;
    let carry = inst.srcs.get(2).copied();
    // What carry a negated product or a negated constant gives is not that of the difference; of a
    // negated register behind a shift it is.
    let subtracted = other.mods.neg || inst.srcs[1 - n].mods.neg;
    let register = inner.op == Op::Shl && other.as_val().is_some() && !inst.srcs[1 - n].mods.neg;
    if (inst.dsts.len() > 1 || carry.is_some()) && (neg || subtracted && !register) {
        return None;
    }
    // A product of words is added like any other word, and its carry is that of this addition.
    let unsigned = (inst.dsts.len() == 1 && carry.is_none()) || inner.ty == Type::U32 && inst.ty == Type::U32;
    let plain = |s: &Src| s.mods == SrcMods::default();
    let whole = !other.mods.abs && !other.mods.inv;
    let (op, ty) = match inner.op {
        Op::Mul if inst.ty == Type::F32 && inner.ty == Type::F32 => {
            let same = (inner.rnd, inner.ftz) == (inst.rnd, inst.ftz);
            (single && !inner.exact && !inst.exact && same).then_some((Op::Mad, inst.ty))?
        }
        _ if !is_int(inner.ty) || !is_int(inst.ty) || inst.sat => return None,
        Op::Mul => {
            // The machine negates the product or the addend, not both.
            let signs = !(neg && other.mods.neg);
            (single && unsigned && inner.srcs.iter().all(plain) && whole && signs)
                .then_some((Op::Mad, inst.ty))?
        }
        Op::MulHi => {
            // Signed or not is the product's matter.
            let signs = !neg && plain(&other);
            (single && unsigned && inner.srcs.iter().all(plain) && signs).then_some((Op::MadHi, inner.ty))?
        }
        _ if carry.is_some() => return None,
        _ => {
            inner.srcs[1].as_imm().filter(|&by| by < 32)?;
            let few = uses[inner_value] <= 2 || shifts(inner_value);
            let signs = !(neg && other.mods.neg);
            (few && inner.srcs[0].is_plain_val() && whole && signs).then_some((Op::ShlAdd, inst.ty))?
        }
    };
    let mut new = Inst::new(op, ty);
    new.loc = inst.loc;
    new.dsts = inst.dsts;
    if ty == Type::F32 {
        (new.rnd, new.ftz, new.sat) = (inst.rnd, inst.ftz, inst.sat);
    }
    new.srcs.push(inner.srcs[0]);
    new.srcs.push(inner.srcs[1]);
    new.srcs.push(other);
    new.srcs.extend(carry);
    new.srcs[0].mods.neg ^= neg;
    // A constant that no form takes would need a register: two instructions again.
    let moved = op == Op::ShlAdd && matches!(other.kind, SrcKind::Imm(_)) && !select::legal(chip, f, &new);
    (!moved).then_some((new, inner_value))
}

/// `(x << n) | (y >> (32 - n))`, also as a sum, in one: for the right shift to disappear, nobody
/// else may read it.
fn funnel(f: &Function, inst: &Inst, uses: &UseCounts) -> Option<Inst> {
    if !matches!(inst.op, Op::Or | Op::Xor | Op::Add) || inst.srcs.len() != 2 || inst.sat {
        return None;
    }
    let op = |n: usize| inst.srcs[n].as_val().and_then(|v| f.def_inst(v)).map(|d| d.op);
    if !matches!((op(0), op(1)), (Some(Op::Shl), Some(Op::Shr)) | (Some(Op::Shr), Some(Op::Shl))) {
        return None;
    }
    let part = |n: usize, op: Op, ty: fn(Type) -> bool| {
        let s = &inst.srcs[n];
        let d = scalar_def(f, s).filter(|d| d.op == op && s.is_plain_val() && ty(d.ty))?;
        let by = d.srcs[1].as_imm().filter(|by| (1..32).contains(by))?;
        Some((d.srcs[0], by)).filter(|(x, _)| x.is_plain_val())
    };
    let (x, left, y, right, inner) = (0..2).find_map(|n| {
        let (x, left) = part(n, Op::Shl, is_int)?;
        let (y, right) = part(1 - n, Op::Shr, |ty| ty == Type::U32)?;
        Some((x, left, y, right, inst.srcs[1 - n].as_val()?))
    })?;
    if left + right != 32 || uses[inner] != 1 || !is_scalar(f, inst) {
        return None;
    }
    let mut new = Inst::new(Op::ShfL, Type::U32).src(y).src(left).src(x);
    new.dsts = inst.dsts;
    new.loc = inst.loc;
    Some(new)
}

/// `a * b + c` of doubles.
fn double(f: &Function, inst: &Inst, uses: &UseCounts) -> Option<Inst> {
    let plain = |i: &Inst| i.ty == Type::F64 && !i.exact && !i.sat && i.guard.is_none();
    if !matches!(inst.op, Op::Add | Op::Sub) || inst.srcs.len() != 2 || !plain(inst) {
        return None;
    }
    (0..2).rev().find_map(|n| {
        let s = &inst.srcs[n];
        let product = f.def_inst(*s.values().first()?)?;
        let whole = product.dsts.as_slice() == s.values() && s.values().iter().all(|&v| uses[v] == 1);
        if product.op != Op::Mul || !plain(product) || !whole || s.mods.abs || product.rnd != inst.rnd {
            return None;
        }
        let (neg, other) = as_sum(inst, n);
        let mut new = Inst::new(Op::Mad, Type::F64);
        (new.dsts, new.loc, new.rnd) = (inst.dsts, inst.loc, inst.rnd);
        new.srcs.extend([product.srcs[0], product.srcs[1], other]);
        new.srcs[0].mods.neg ^= neg;
        Some(new)
    })
}

/// `-(a * b)`: the machine negates a product on its way.
fn negated_product(f: &Function, inst: &Inst, uses: &UseCounts) -> Option<Inst> {
    let s = inst.srcs.first().filter(|s| inst.op == Op::Neg && s.is_plain_val())?;
    let plain = |s: &Src| s.mods == SrcMods::default();
    let product = scalar_def(f, s).filter(|d| {
        d.op == Op::Mul && is_int(d.ty) && is_int(inst.ty) && !d.sat && d.srcs.iter().all(plain)
    })?;
    if !is_scalar(f, inst) || uses[s.as_val()?] != 1 || !product.srcs[0].is_plain_val() {
        return None;
    }
    let mut new = Inst::new(Op::Mad, inst.ty);
    (new.dsts, new.loc) = (inst.dsts, inst.loc);
    new.srcs.extend([product.srcs[0], product.srcs[1], Src::imm(0)]);
    new.srcs[0].mods.neg = true;
    Some(new)
}

fn is_int(ty: Type) -> bool {
    matches!(ty, Type::U32 | Type::S32)
}
