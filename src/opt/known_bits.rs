//! Simplification by known bits and ranges ([`crate::analysis::known_bits`]).
//!
//! ```text
//! rdsv u32 %r0 sv[tid.x]              0 ..= 63
//! and u32 %r1 %r0 0xff        ->  mov u32 %r1 %r0
//! shl u32 %r2 %r1 0x3
//! or u32 %r3 %r2 0x4          ->  add u32 %r3 %r2 0x4       which an address or a multiply-add can take
//! set.lt pred u32 %p4 %r0 0x40    ->  mov pred %p4 0x1
//! ```
//!
//! Masks that change nothing, comparisons whose operands' ranges do not meet, signed operations on
//! what is never negative, constants.

use super::Ctx;
use super::rewrite::{as_mov, gather, is_scalar};
use crate::analysis::known_bits::{Bits, KnownBits};
use crate::ir::*;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let asking = gather(f, |inst| asks(inst) && is_scalar(f, inst));
    if asking.is_empty() {
        return false;
    }
    let mut known = KnownBits::new(f, &ctx.launch);
    // All is learnt before anything changes.
    for &i in &asking {
        let inst = &f.insts[i];
        known.learn_uses(f, inst);
        known.learn(f, inst.dsts[0]);
    }
    let mut changed = 0;
    for i in asking {
        if let Some(new) = simplify(&f.insts[i], &known) {
            f.replace(i, new);
            changed += 1;
        }
    }
    ctx.count("known_bits: simplified", changed);
    changed > 0
}

fn asks(inst: &Inst) -> bool {
    let int = || matches!(inst.ty, Type::U32 | Type::S32) && !inst.sat;
    match inst.op {
        Op::Set => matches!(inst.sty, Type::U32 | Type::S32) && inst.srcs.len() == 2 && inst.ty != Type::F32,
        Op::Cvt => matches!(inst.sty, Type::U32 | Type::S32 | Type::U8 | Type::U16) && int(),
        Op::And | Op::Or | Op::Xor | Op::Shr | Op::Ext | Op::Min | Op::Max => int(),
        Op::Div | Op::Mod | Op::Abs => int(),
        _ => false,
    }
}

fn simplify(inst: &Inst, known: &KnownBits) -> Option<Inst> {
    let of = |n: usize| known.of_src(&inst.srcs[n]);
    let plain = |n: usize| inst.srcs[n].is_plain_val();
    if inst.op == Op::Set {
        let holds = compare(inst.cond, inst.sty, of(0), of(1))?;
        let yes = if inst.ty == Type::Pred { 1 } else { u32::MAX };
        return Some(as_mov(inst, Src::imm(if holds { yes } else { 0 })));
    }
    // All bits known, though no operand is a constant.
    if let &[d] = inst.dsts.as_slice()
        && let Some(x) = known.bits(d).as_constant()
    {
        return Some(as_mov(inst, Src::imm(x)));
    }
    let unsigned = |inst: &Inst| {
        let mut new = inst.clone();
        (new.ty, new.sty) = (Type::U32, Type::U32);
        Some(new)
    };
    match inst.op {
        Op::And => {
            for n in 0..2 {
                // Every bit that n may have is kept.
                if plain(n) && of(n).possible() & !of(1 - n).one == 0 {
                    return Some(as_mov(inst, inst.srcs[n]));
                }
            }
            None
        }
        Op::Or if plain(0) && of(1).possible() & !of(0).one == 0 => Some(as_mov(inst, inst.srcs[0])),
        Op::Or if plain(1) && of(0).possible() & !of(1).one == 0 => Some(as_mov(inst, inst.srcs[1])),
        Op::Or | Op::Xor => {
            let apart = of(0).possible() & of(1).possible() == 0;
            let imm = matches!(inst.srcs[1].kind, SrcKind::Imm(_));
            if !apart || !plain(0) || !(plain(1) || imm) {
                return None;
            }
            let mut new = inst.clone();
            new.op = Op::Add;
            if imm {
                // An addition takes no complement.
                new.srcs[1] = new.srcs[1].immediate(inst.ty)?;
            }
            Some(new)
        }
        Op::Ext if inst.ty == Type::S32 => {
            let (pos, len) = inst.srcs[1].as_imm().map(|x| (x & 0xff, x >> 8 & 0xff))?;
            let sign = pos + len;
            (sign > 0 && sign <= 32 && len > 0 && of(0).zero >> (sign - 1) & 1 == 1)
                .then(|| unsigned(inst))?
        }
        Op::Ext => {
            let (pos, len) = inst.srcs[1].as_imm().map(|x| (x & 0xff, x >> 8 & 0xff))?;
            let fits = pos == 0 && plain(0) && (len >= 32 || of(0).possible() >> len == 0);
            fits.then(|| as_mov(inst, inst.srcs[0]))
        }
        Op::Cvt => {
            let narrow = match inst.sty {
                Type::U8 => 0xff,
                Type::U16 => 0xffff,
                _ => return None,
            };
            let whole = matches!(inst.aux, Aux::None | Aux::Byte(0)) && plain(0) && of(0).max <= narrow;
            whole.then(|| as_mov(inst, inst.srcs[0]))
        }
        Op::Shr if inst.ty == Type::S32 && nonnegative(of(0)) => unsigned(inst),
        Op::Div | Op::Mod if inst.ty == Type::S32 && nonnegative(of(0)) && nonnegative(of(1)) => {
            unsigned(inst)
        }
        Op::Mod if inst.ty == Type::U32 && plain(0) && of(0).max < of(1).min => {
            Some(as_mov(inst, inst.srcs[0]))
        }
        Op::Abs if nonnegative(of(0)) && plain(0) => Some(as_mov(inst, inst.srcs[0])),
        Op::Min | Op::Max => {
            let (lower, upper) = order(of(0), of(1), inst.ty)?;
            let n = if inst.op == Op::Min { lower } else { upper };
            let s = inst.srcs[n];
            (s.mods == SrcMods::default()).then(|| as_mov(inst, s))
        }
        _ => None,
    }
}

fn nonnegative(b: Bits) -> bool {
    b.max <= i32::MAX as u32
}

/// Which of two is never above the other, and which never below it; as signed numbers, too, if
/// neither may have either sign.
fn order(a: Bits, b: Bits, ty: Type) -> Option<(usize, usize)> {
    let signed = ty == Type::S32;
    let negative = |b: Bits| b.min > i32::MAX as u32;
    let below = |a: Bits, b: Bits| {
        let same = !signed || nonnegative(a) && nonnegative(b);
        same && a.max <= b.min || signed && negative(a) && nonnegative(b)
    };
    match (below(a, b), below(b, a)) {
        (true, _) => Some((0, 1)),
        (false, true) => Some((1, 0)),
        (false, false) => None,
    }
}

/// Whether `a cond b` holds for all values, or for none.
fn compare(cond: Cond, ty: Type, a: Bits, b: Bits) -> Option<bool> {
    let (below, above, equal, differ);
    let negative = |x: Bits| x.max > i32::MAX as u32;
    if ty == Type::S32 && (negative(a) || negative(b)) {
        return None;
    }
    below = a.max < b.min;
    above = a.min > b.max;
    equal = a.min == a.max && b.min == b.max && a.min == b.min;
    differ = below || above || a.one & b.zero != 0 || a.zero & b.one != 0;
    let decide = |yes: bool, no: bool| {
        if yes {
            Some(true)
        } else if no {
            Some(false)
        } else {
            None
        }
    };
    match cond.ordered() {
        Cond::Lt => decide(below, a.min >= b.max),
        Cond::Ge => decide(a.min >= b.max, below),
        Cond::Gt => decide(above, a.max <= b.min),
        Cond::Le => decide(a.max <= b.min, above),
        Cond::Eq => decide(equal, differ),
        Cond::Ne => decide(differ, equal),
        _ => None,
    }
}
