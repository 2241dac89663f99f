//! Address folding: constant additions move from the base of an access into its offset.
//!
//! ```text
//! add u32 %r3 %r2 0x4
//! st u32 # g[%r3+0x0] %r5     ->  st u32 # g[%r2+0x4] %r5
//! ```
//!
//! Follows chains of additions, also an `or` whose bits are known not to meet, a constant base, and
//! 64-bit additions of a pair, before or after their lowering to a carry chain. The addition loses
//! its reader; dead code elimination takes it if it was the last.
//!
//! Safe because addresses of 32 bits are sums modulo 2^32 and those of 64 bits modulo 2^64: the sum
//! is the same. The alignment fact is about the sum and stays true. Uniform and storage buffers
//! compare the whole sum with the size. An offset is folded only where the instruction encodes it:
//! once instructions are machine operations, [`crate::select::legal`] decides, before that the
//! field is taken to be 24 bits, signed, which is the narrowest of the machine's.

use super::rewrite::gather;
use super::{Ctx, Stage};
use crate::analysis::known_bits::KnownBits;
use crate::ir::*;
use crate::select;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut known = None;
    let mut folded = 0;
    let (chip, stage, launch) = (ctx.chip, ctx.stage, ctx.launch);
    for i in gather(f, |inst| inst.mem.as_ref().is_some_and(|m| !m.base().is_empty())) {
        // Each step shortens the chain of definitions; the bound is against pathological ones.
        for _ in 0..64 {
            let inst = &f.insts[i];
            let Some(m) = &inst.mem else { break };
            let Some(next) = step(f, m, &mut |f, v| {
                let known = known.get_or_insert_with(|| KnownBits::new(f, &launch));
                known.learn(f, v);
                known.bits(v).possible()
            }) else {
                break;
            };
            let fits = if stage == Stage::Front {
                (-(1 << 23)..1 << 23).contains(&next.offset)
            } else {
                let mut new = inst.clone();
                new.mem = Some(next);
                select::legal(chip, f, &new)
            };
            // An absolute place in a bank is inside it.
            let end = i64::from(next.offset) + i64::from(inst.ty.bytes());
            let fits = fits && !(next.space == Space::Const && next.base().is_empty() && end > 1 << 16);
            // A base that stays out of reach may come into it again further down the chain, but
            // rarely does.
            if !fits {
                break;
            }
            f.insts[i].mem = Some(next);
            folded += 1;
        }
    }
    ctx.count("address: folded", folded);
    folded > 0
}

/// The same address with one addition less, if its base is the result of one.
fn step(f: &Function, m: &MemRef, possible: &mut dyn FnMut(&Function, ValueId) -> u32) -> Option<MemRef> {
    if let Some(v) = m.base32() {
        let def = f.def_inst(v)?;
        if def.guard.is_some() || def.sat {
            return None;
        }
        let (base, delta) = split32(f, def, possible)?;
        let base: &[ValueId] = if let Some(b) = &base { std::slice::from_ref(b) } else { &[] };
        let mut next = *m;
        next.rebase(base, delta);
        // An absolute address is the sum itself, which is never negative.
        return (!base.is_empty() || next.offset >= 0).then_some(next);
    }
    let base = m.base();
    let &[lo, hi] = base.as_slice() else { return None };
    let (base, delta) = split64(f, lo, hi)?;
    let mut next = *m;
    next.offset.checked_add(delta)?;
    next.rebase(&base, delta);
    Some(next)
}

/// `v == base + constant` for the instruction that defines `v`; no base where it is a constant.
fn split32(
    f: &Function,
    def: &Inst,
    possible: &mut dyn FnMut(&Function, ValueId) -> u32,
) -> Option<(Option<ValueId>, i32)> {
    if !matches!(def.ty, Type::U32 | Type::S32) || def.dsts.len() != 1 {
        return None;
    }
    let imm = |n: usize| def.srcs.get(n).and_then(Src::as_imm);
    let val = |n: usize| def.srcs.get(n).filter(|s| s.is_plain_val()).and_then(Src::as_val);
    match def.op {
        Op::Mov => match (imm(0), val(0)) {
            (Some(x), _) => Some((None, x as i32)),
            (_, Some(v)) if f.values[v].class == Class::Gpr => Some((Some(v), 0)),
            _ => None,
        },
        Op::Add if def.srcs.len() == 2 => match (val(0), imm(1), imm(0), val(1)) {
            (Some(v), Some(x), ..) | (_, _, Some(x), Some(v)) => Some((Some(v), x as i32)),
            _ => None,
        },
        Op::Sub if def.srcs.len() == 2 => Some((Some(val(0)?), (imm(1)? as i32).wrapping_neg())),
        Op::Or => {
            let (v, x) = (val(0)?, imm(1)?);
            (possible(f, v) & x == 0).then_some((Some(v), x as i32))
        }
        _ => None,
    }
}

/// The same for a pair: an addition of 64 bits, or the two additions with a carry that it is
/// lowered to.
fn split64(f: &Function, lo: ValueId, hi: ValueId) -> Option<([ValueId; 2], i32)> {
    let (dl, dh) = (f.def_inst(lo)?, f.def_inst(hi)?);
    if dl.guard.is_some() || dh.guard.is_some() {
        return None;
    }
    let small = |x: u64| i32::try_from(x as i64).ok();
    if dl.dsts.as_slice() == [lo, hi] && dl.op == Op::Add && dl.srcs.len() == 2 {
        let pair = |n: usize| match dl.srcs[n] {
            Src { kind: SrcKind::Pair(p), mods } if mods == SrcMods::default() => Some(p),
            _ => None,
        };
        let imm = |n: usize| dl.srcs[n].as_imm64();
        return match (pair(0), imm(1), imm(0), pair(1)) {
            (Some(p), Some(x), ..) | (_, _, Some(x), Some(p)) => Some((p, small(x)?)),
            _ => None,
        };
    }
    let [l, carry] = dl.dsts.as_slice() else { return None };
    let add = |d: &Inst| d.op == Op::Add && d.ty.words() == 1 && !d.sat;
    if !add(dl) || !add(dh) || *l != lo || dl.srcs.len() != 2 || dh.srcs.len() != 3 || dh.dsts.len() != 1 {
        return None;
    }
    if dh.srcs[2].as_val() != Some(*carry) {
        return None;
    }
    let split = |d: &Inst| {
        let part = |a: usize, b: usize| {
            Some((d.srcs[a].as_val().filter(|_| d.srcs[a].is_plain_val())?, d.srcs[b].as_imm()?))
        };
        part(0, 1).or_else(|| part(1, 0))
    };
    let ((vl, xl), (vh, xh)) = (split(dl)?, split(dh)?);
    Some(([vl, vh], small(u64::from(xl) | u64::from(xh) << 32)?))
}
