//! Source modifiers and saturation, folded into the instructions that can carry them.
//!
//! ```text
//! neg f32 %r1 %r0
//! add f32 %r2 %r1 %r3         ->  add f32 %r2 -%r0 %r3
//! mul f32 %r4 %r2 %r2
//! cvt.sat f32 f32 %r5 %r4     ->  mul.sat f32 %r4 %r2 %r2 ; mov u32 %r5 %r4
//! not u32 %r6 %r0
//! and u32 %r7 %r6 %r1         ->  and u32 %r7 ~%r0 %r1
//! max f32 %r4 %r3 -1.0
//! neg f32 %r5 %r4             ->  min f32 %r4 -%r3 1.0 ; mov u32 %r5 %r4      if no reader takes the sign
//! xor u32 %r9 %r8 0x80000000
//! add f64 {..} {%r0 %r9} ..   ->  add f64 {..} -{%r0 %r8} ..
//! add f32 %r2 %r9 %r3         ->  add f32 %r2 -%r8 %r3
//! ```
//!
//! What an instruction can carry is asked of [`crate::select::legal`], with registers in place of
//! the constants that legalisation may still move out. Negation and absolute value on a float
//! operand only touch the sign bit, as the operations do. Saturation moves to the producer only if
//! nobody else reads the unsaturated value.

use super::Ctx;
use super::rewrite::*;
use crate::ir::*;
use crate::select;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let chip = ctx.chip;
    let mut folded = 0;
    let mut uses = LazyUses::default();
    for i in candidates(f) {
        for n in 0..f.insts[i].srcs.len() {
            // A chain of modifiers is as long as the source has operations; two are common.
            for _ in 0..4 {
                let inst = &f.insts[i];
                let Some(s) = through(f, inst, n) else { break };
                let mut new = inst.clone();
                new.srcs[n] = s;
                if !encodes(chip, f, &new) {
                    break;
                }
                uses.replace(f, i, new);
                folded += 1;
            }
        }
        if let Some((v, producer, new)) = saturated(f, i)
            && uses.count(f, v) == 1
            && encodes(chip, f, &new)
        {
            let copy = as_mov(&f.insts[i], f.insts[i].srcs[0]);
            f.replace(i, copy);
            f.replace(producer, new);
            folded += 1;
        }
    }
    for i in gather(f, negates) {
        if let Some((producer, new)) = negated(f, i)
            && uses.count(f, f.insts[i].dsts[0]) > 0
            && uses.count(f, new.dsts[0]) == 1
            && encodes(chip, f, &new)
        {
            let copy = as_mov(&f.insts[i], Src::val(new.dsts[0]));
            f.replace(i, copy);
            f.replace(producer, new);
            folded += 1;
        }
    }
    ctx.count("mods: folded", folded);
    folded > 0
}

/// Operations with a source of a number or of bits that may be modified, and votes on predicates.
const MODIFIABLE: OpSet = op::with_modifiers().union(OpSet::new(&[Op::Vote]));

/// Readers of what may become a modifier of their operands, and saturating copies.
fn candidates(f: &Function) -> Vec<InstId> {
    let read_modified = |s: &Src| signed_word(s).and_then(|v| f.def_inst(v)).is_some_and(is_modifier);
    // Readers come after what they read.
    let mut any_modifier = false;
    gather(f, |inst| {
        let carries = MODIFIABLE.contains(inst.op);
        let wanted = carries && (inst.sat || any_modifier && inst.srcs.iter().any(read_modified));
        any_modifier |= is_modifier(inst);
        wanted
    })
}

/// Whether an instruction does what may be a modifier of its readers' operands.
fn is_modifier(inst: &Inst) -> bool {
    matches!((inst.op, inst.ty), (Op::Neg | Op::Abs | Op::Not, _) | (Op::Mov, Type::Pred))
        || sign_change(inst).is_some()
}

/// The word that has an operand's sign.
fn signed_word(s: &Src) -> Option<ValueId> {
    match s.kind {
        SrcKind::Val(v) | SrcKind::Pair([_, v]) => Some(v),
        _ => None,
    }
}

/// What an operation on the bits of a word does to the float that it is, or to the double whose high word it is.
fn sign_change(inst: &Inst) -> Option<SrcMods> {
    if !matches!(inst.op, Op::Xor | Op::And | Op::Or) {
        return None;
    }
    let (neg, abs) = match (inst.op, inst.srcs.get(1)?.as_imm()?) {
        (Op::Xor, 0x8000_0000) => (true, false),
        (Op::And, 0x7fff_ffff) => (false, true),
        (Op::Or, 0x8000_0000) => (true, true),
        _ => return None,
    };
    Some(SrcMods { neg, abs, inv: false })
}

/// Whether an instruction is one machine instruction once its constants are in registers.
fn encodes(chip: crate::Chip, f: &Function, inst: &Inst) -> bool {
    if select::legal(chip, f, inst) {
        return true;
    }
    let Some(any) = inst.srcs.iter().find_map(|s| s.as_val().filter(|&v| f.class(v) == Class::Gpr)) else {
        return false;
    };
    let mut bare = inst.clone();
    for s in &mut bare.srcs {
        if matches!(s.kind, SrcKind::Imm(_) | SrcKind::Const { .. }) {
            *s = Src::val(any);
        }
    }
    bare.srcs != inst.srcs && select::legal(chip, f, &bare)
}

/// Operand `n` read through the operation that computes it, if that only changes its sign or
/// complements it.
fn through(f: &Function, inst: &Inst, n: usize) -> Option<Src> {
    let s = inst.srcs[n];
    let v = signed_word(&s)?;
    let d = f.def_inst(v).filter(|d| is_modifier(d) && d.guard.is_none() && d.dsts.len() == 1 && !d.sat)?;
    let ty = inst.src_type(n);
    let takes = inst.op.row().srcs.get(n)?;
    let inner = d.srcs[0];
    inner.as_val()?;
    if f.class(inner.as_val()?) != f.class(v) {
        return None;
    }
    let mut new = Src { kind: inner.kind, mods: s.mods };
    let (low, float) = match s.kind {
        SrcKind::Pair([low, _]) => (Some(low), Type::F64),
        _ => (None, Type::F32),
    };
    if let Some(change) = sign_change(d) {
        if ty != float || !takes.float || !inner.is_plain_val() || s.mods.inv {
            return None;
        }
        if !s.mods.abs {
            (new.mods.neg, new.mods.abs) = (s.mods.neg ^ change.neg, change.abs);
        }
        if let Some(low) = low {
            new.kind = SrcKind::Pair([low, inner.as_val()?]);
        }
        return Some(new);
    }
    if low.is_some() {
        return None;
    }
    match (d.op, d.ty, ty) {
        (Op::Neg | Op::Abs, Type::F32, Type::F32) if takes.float => {
            // A flushing negation flushes what it reads; the reader must do the same.
            if d.ftz && !inst.ftz || inner.mods.inv || s.mods.inv {
                return None;
            }
            let inner = Src { kind: inner.kind, mods: inner.mods };
            let inner = if d.op == Op::Neg { inner.neg() } else { inner.abs() };
            if !s.mods.abs {
                new.mods.neg ^= inner.mods.neg;
                new.mods.abs = inner.mods.abs;
            }
        }
        (Op::Neg, Type::U32 | Type::S32, Type::U32 | Type::S32) if takes.neg => {
            // A conversion negates before it widens, without wrapping: -(-2^31) would be 2^31, and
            // an unsigned one would become negative.
            if inner.mods != SrcMods::default() || s.mods.abs || s.mods.inv || inst.srcs.len() < 2 {
                return None;
            }
            // The carry of x - y is not that of x + -y.
            let mut carries = inst.dsts.len() > 1;
            inst.for_uses(|v| carries |= f.class(v) == Class::Carry);
            if carries {
                return None;
            }
            new.mods.neg = !s.mods.neg;
        }
        (Op::Not, Type::U32 | Type::S32, Type::U32 | Type::S32) if takes.not => {
            if s.mods.neg || s.mods.abs || inner.mods.neg || inner.mods.abs {
                return None;
            }
            new.mods.inv = !(s.mods.inv ^ inner.mods.inv);
        }
        (Op::Mov, Type::Pred, Type::Pred) => new.mods.inv = s.mods.inv ^ inner.mods.inv,
        _ => return None,
    }
    Some(new)
}

/// Whether an instruction does nothing but change the sign of a float, or of what may be one.
fn negates(inst: &Inst) -> bool {
    let number = inst.op == Op::Neg && inst.ty == Type::F32 && !inst.ftz && !inst.sat;
    let bits = inst.op == Op::Xor && inst.dsts.len() == 1 && sign_change(inst).is_some();
    (number || bits) && inst.guard.is_none() && inst.srcs[0].is_plain_val()
}

/// For a negation that no reader takes along: the minimum or maximum that it negates, and what that
/// becomes. Where the bound is a number, the result is never NaN, whose sign would count; where it
/// is not zero, it is no zero of unknown sign.
fn negated(f: &Function, i: InstId) -> Option<(InstId, Inst)> {
    let inst = &f.insts[i];
    let Def::Inst(producer) = f.values[inst.srcs[0].as_val()?].def else { return None };
    let d = &f.insts[producer];
    if d.ty != Type::F32 || d.sat || d.guard.is_some() || d.dsts.len() != 1 {
        return None;
    }
    let op = match d.op {
        Op::Min => Op::Max,
        Op::Max => Op::Min,
        _ => return None,
    };
    let mut new = d.clone();
    new.op = op;
    new.srcs[0] = d.srcs[0].neg();
    let bound = f32::from_bits(d.srcs[1].as_imm()?);
    new.srcs[1] = Src::f32(-bound);
    (bound != 0.0 && !bound.is_nan()).then_some((producer, new))
}

/// For a saturating copy: its operand, which nobody else may read, the operand's producer, and what
/// that becomes.
fn saturated(f: &Function, i: InstId) -> Option<(ValueId, InstId, Inst)> {
    let inst = &f.insts[i];
    let copies = inst.op == Op::Cvt && inst.ty == Type::F32 && inst.sty == Type::F32;
    if !inst.sat || !copies || inst.aux != Aux::None || !inst.srcs[0].is_plain_val() || inst.guard.is_some() {
        return None;
    }
    let v = inst.srcs[0].as_val()?;
    let Def::Inst(producer) = f.values[v].def else { return None };
    let d = &f.insts[producer];
    let arithmetic = match d.op {
        Op::Add | Op::Sub | Op::Mul | Op::Mad => true,
        Op::Rcp | Op::Rsq | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 => true,
        Op::Interp => !matches!(d.aux, Aux::Interp(Interp { mode: InterpMode::Flat, .. })),
        _ => false,
    };
    if !arithmetic || d.ty != Type::F32 || d.guard.is_some() || inst.ftz && !d.ftz {
        return None;
    }
    let mut new = d.clone();
    new.sat = true;
    Some((v, producer, new))
}
