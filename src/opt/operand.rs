//! Constants into operands: immediates and direct constant-buffer words where the instruction
//! encodes them.
//!
//! ```text
//! ld u32 %r1 c0[0x10]
//! mov u32 %r2 0x7
//! add u32 %r3 %r0 %r1         ->  add u32 %r3 %r0 c0[0x10]
//! and u32 %r4 %r0 %r2         ->  and u32 %r4 %r0 0x7
//! ```
//!
//! Operands of commutative operations and comparisons change places where that makes the constant
//! encodable. [`crate::select::legal`] is asked about every instruction made, so code that is legal
//! stays so.
//!
//! Safe because constant buffers do not change during a launch, and a direct access to one cannot
//! fault.

use super::Ctx;
use super::rewrite::{UseCounts, count_uses};
use crate::ir::*;
use crate::select;
use arrayvec::ArrayVec;
use cranelift_entity::SecondaryMap;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    // Values that are constants, once there is one: they are defined before they are read.
    let mut constants: SecondaryMap<ValueId, bool> = SecondaryMap::new();
    let mut uses = None;
    let mut folded = 0;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            let inst = &f.insts[i];
            let constant = |s: &Src| s.values().first().is_some_and(|&v| constants[v]);
            let operands = matches!(inst.ext.as_deref(), None | Some(Ext::Surf(_)));
            if operands && inst.srcs.iter().any(constant) {
                folded += fold_into(f, i, ctx, &mut uses);
            }
            let inst = &f.insts[i];
            if matches!(inst.op, Op::Mov | Op::Ld) && (0..inst.dsts.len()).any(|n| word(inst, n).is_some()) {
                constants.resize(f.values.len());
                inst.dsts.iter().for_each(|&d| constants[d] = true);
            }
        }
    }
    ctx.count("operand: folded", folded);
    folded > 0
}

fn fold_into(f: &mut Function, i: InstId, ctx: &Ctx<'_>, uses: &mut Option<UseCounts>) -> usize {
    let mut folded = 0;
    let srcs = f.insts[i].srcs.iter().enumerate();
    let mut found: ArrayVec<(usize, Src), 4> =
        srcs.filter_map(|(n, s)| Some((n, constant_of(f, s)?))).collect();
    if found.len() > 1 || f.insts[i].srcs.len() == 4 {
        let uses = uses.get_or_insert_with(|| count_uses(f));
        // The constant that nobody else needs first: its load disappears.
        let reads = |n: usize| f.insts[i].srcs[n].values().first().map_or(u32::MAX, |&v| uses[v]);
        found.sort_by_key(|&(n, _)| reads(n));
    }
    for (n, constant) in found {
        let inst = &f.insts[i];
        let before = inst.srcs[n];
        let word = |s: &Src| matches!(s.kind, SrcKind::Const { .. });
        // A load into a register is one: nothing is gained by a move of a constant operand.
        if word(&constant)
            && (inst.op == Op::Mov && inst.ty == Type::Pred
                || inst.srcs.iter().enumerate().any(|(k, s)| k != n && word(s)))
        {
            continue;
        }
        f.insts[i].srcs[n] = constant;
        let exchanged = !select::legal(ctx.chip, f, &f.insts[i]);
        if exchanged && !exchange_legally(f, i, ctx, uses.as_ref()) {
            f.insts[i].srcs[n] = before;
            continue;
        }
        if let Some(uses) = uses {
            before.values().iter().for_each(|&v| uses[v] -= 1);
        }
        folded += 1;
        if exchanged && f.insts[i].srcs[n] != constant {
            // The places have changed: the rest is looked at anew.
            return folded + fold_into(f, i, ctx, uses);
        }
    }
    folded
}

/// Exchanges sources 0 and 1 of an instruction if that makes it legal. `uses` is counted for those
/// with four sources.
fn exchange_legally(f: &mut Function, i: InstId, ctx: &Ctx<'_>, uses: Option<&UseCounts>) -> bool {
    let low = uses.and_then(|uses| difference_of_low_words(f, &f.insts[i], uses));
    if f.insts[i].srcs.len() == 4 && low.is_none() || !exchange(&mut f.insts[i]) {
        return false;
    }
    let mut legal = select::legal(ctx.chip, f, &f.insts[i]);
    if legal && let Some(low) = low {
        f.insts[low].srcs.swap(0, 1);
        legal = select::legal(ctx.chip, f, &f.insts[low]);
        if !legal {
            f.insts[low].srcs.swap(0, 1);
        }
    }
    if !legal {
        exchange(&mut f.insts[i]);
    }
    legal
}

/// For a comparison of several words, the subtraction that its carry is from, if nobody else needs
/// it: that has to change with the comparison.
fn difference_of_low_words(f: &Function, inst: &Inst, uses: &UseCounts) -> Option<InstId> {
    if inst.op != Op::Set || inst.srcs.len() != 4 {
        return None;
    }
    let Def::Inst(id) = f.values[inst.srcs[3].as_val()?].def else { return None };
    let low = &f.insts[id];
    let alone = low.dsts.len() == 2 && uses[low.dsts[0]] == 0 && uses[low.dsts[1]] == 1;
    (low.op == Op::Sub && low.srcs.len() == 2 && alone).then_some(id)
}

/// Exchanges sources 0 and 1 where the operation allows it.
fn exchange(inst: &mut Inst) -> bool {
    if inst.srcs.len() < 2 {
        return false;
    }
    match inst.op {
        Op::Set => inst.cond = inst.cond.swap(),
        _ if inst.op.is(op::COMMUTES) => {}
        _ => return false,
    }
    inst.srcs.swap(0, 1);
    true
}

/// The constant that an operand's value is, with the operand's modifiers.
fn constant_of(f: &Function, s: &Src) -> Option<Src> {
    match s.kind {
        SrcKind::Val(v) => {
            let def = f.def_inst(v)?;
            if !matches!(def.op, Op::Mov | Op::Ld) {
                return None;
            }
            let mut c = word(def, def.dsts.iter().position(|&d| d == v)?)?;
            c.mods = s.mods;
            Some(c)
        }
        SrcKind::Pair([lo, hi]) => {
            let def = f.def_inst(lo)?;
            let (dh, at) = (f.def_inst(hi)?, |d: &Inst, v| d.dsts.iter().position(|&x| x == v));
            let (a, b) = (word(def, at(def, lo)?)?, word(dh, at(dh, hi)?)?);
            let kind = match (a.kind, b.kind) {
                (SrcKind::Imm(x), SrcKind::Imm(y)) => SrcKind::Imm64([x, y]),
                (SrcKind::Const { bank, offset }, SrcKind::Const { bank: b2, offset: o2 })
                    if bank == b2 && o2 == offset.wrapping_add(4) && offset % 8 == 0 =>
                {
                    a.kind
                }
                _ => return None,
            };
            Some(Src { kind, mods: s.mods })
        }
        _ => None,
    }
}

/// Destination number `n` of an instruction as a constant operand.
fn word(def: &Inst, n: usize) -> Option<Src> {
    if def.guard.is_some() {
        return None;
    }
    match def.op {
        Op::Mov if def.dsts.len() == 1 && def.ty != Type::Pred => {
            let s = def.srcs[0];
            let constant = matches!(s.kind, SrcKind::Imm(_) | SrcKind::Const { .. });
            (constant && s.mods == SrcMods::default()).then_some(s)
        }
        Op::Ld => {
            let m = def.mem.as_ref()?;
            let words = matches!(def.ty.bytes(), 4 | 8 | 12 | 16);
            let direct = m.space == Space::Const && m.index.is_none() && m.base().is_empty();
            if !words || !direct || m.order != Order::Weak {
                return None;
            }
            let offset = m.offset.checked_add(4 * n as i32)?;
            let offset = u16::try_from(offset).ok().filter(|o| o % 4 == 0)?;
            Some(Src::cbuf(u8::try_from(m.buffer).ok()?, offset))
        }
        _ => None,
    }
}
