//! Memory combining: neighbouring accesses become one of 64 or 128 bits.
//!
//! ```text
//! st u32 # g[%r2+0x0 align 8] %r3
//! st u32 # g[%r2+0x4] %r4     ->  st u64 # g[%r2+0x0 align 8] {%r3 %r4}
//! ```
//!
//! Two accesses combine if they are of one kind, space, buffer, base and guard, in one block; lie side by side; and
//! the lower one's address is proven to be a multiple of the width of both (from the fact on the access, or from the
//! known bits of the base). Four words combine in two steps, so that each width is aligned by itself. A load moves up
//! to the earlier one, so nothing in between may write what it reads; a store moves down to the later one, so
//! nothing in between may read or write its bytes. Barriers, calls, atomics and accesses that are not weak let nothing
//! past. Constant memory is exempt from these, not from alignment. Direct constant-buffer words stay alone until
//! those are left that no instruction takes as an operand, which are copied into registers; then two of them combine.

use super::{Ctx, Stage};
use crate::analysis::alias::{access_bytes, may_alias, may_clobber, same_base};
use crate::analysis::known_bits::KnownBits;
use crate::ir::*;
use crate::isel;
use cranelift_entity::EntitySet;

/// An access that a later one may combine with.
struct Open {
    inst: InstId,
    /// Position in the block's body.
    at: usize,
}

/// How many accesses are kept open at a time, newest first: bounds the work for each access.
const WINDOW: usize = 32;

/// The widest access.
const MAX_BYTES: u32 = 16;

pub fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let combined = combine_all(f, ctx);
    (ctx.stage == Stage::Legal && words_as_moves(f)) | combined
}

/// Single direct constant-buffer words become moves: the cheaper instruction, which waits for no memory unit.
fn words_as_moves(f: &mut Function) -> bool {
    let mut changed = false;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            let inst = &f.insts[i];
            let Some(m) = inst.mem.filter(|m| m.space == Space::Const && m.order == Order::Weak) else {
                continue;
            };
            let direct = m.index.is_none() && m.base().is_empty() && m.offset % 4 == 0;
            if inst.op != Op::Ld
                || !direct
                || inst.guard.is_some()
                || inst.dsts.len() != 1
                || inst.ty.bytes() != 4
            {
                continue;
            }
            let (Ok(bank), Ok(offset)) = (u8::try_from(m.buffer), u16::try_from(m.offset)) else { continue };
            let mut mov = Inst::new(Op::Mov, Type::U32).src(Src::cbuf(bank, offset)).dst(inst.dsts[0]);
            mov.loc = inst.loc;
            f.replace(i, mov);
            changed = true;
        }
    }
    changed
}

fn combine_all(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut known = None;
    let mut combined = 0;
    let mut open: Vec<Open> = Vec::with_capacity(WINDOW);
    let placed = if ctx.stage == Stage::Legal { placed_elsewhere(f) } else { EntitySet::new() };
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        open.clear();
        let mut removed = false;
        if ctx.stage == Stage::Legal {
            expose_constant_pairs(f, b, &placed);
        }
        for at in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[at];
            let inst = &f.insts[i];
            if !is_candidate(inst, ctx.stage) || inst.dsts.iter().any(|&d| placed.contains(d)) {
                interfere(f, inst, &mut open);
                continue;
            }
            interfere(f, inst, &mut open);
            open.push(Open { inst: i, at });
            // Combining may make a neighbour of another open access.
            while let Some(k) = partner(f, &open, ctx, &mut known) {
                let newest = open.pop().expect("just pushed");
                let other = open.remove(k);
                let wide = combine(f, other.inst, newest.inst);
                // Loads stand at the earlier place, stores at the later. The newest stands early if it is combined itself.
                let (first, last) = (other.at.min(newest.at), other.at.max(newest.at));
                let (at, gone) =
                    if f.insts[newest.inst].op == Op::Ld { (first, last) } else { (last, first) };
                let id = f.blocks[b].body[at];
                retire(f, f.blocks[b].body[gone]);
                f.replace(id, wide);
                open.push(Open { inst: id, at });
                removed = true;
                combined += 1;
            }
            if open.len() > WINDOW {
                open.remove(0);
            }
        }
        if removed {
            let insts = &f.insts;
            f.blocks[b].body.retain(|&i| !is_retired(&insts[i]));
        }
    }
    ctx.count("mem_combine: combined", combined);
    combined > 0
}

/// Values that are part of a tuple operand or an argument of a call: these decide about their registers, and a load of
/// two of them with another neighbourhood would be undone by copies.
fn placed_elsewhere(f: &Function) -> EntitySet<ValueId> {
    let mut parts = EntitySet::with_capacity(f.values.len());
    for (_, i) in f.insts_in_order() {
        for &v in f.insts[i].call().map_or(&[][..], |c| &c.args) {
            parts.insert(v);
        }
        for s in f.insts[i].srcs.iter().filter(|s| s.values().len() > 1) {
            s.values().iter().for_each(|&v| {
                parts.insert(v);
            });
        }
    }
    parts
}

/// Turns copies of neighbouring words of a constant bank into loads, which can be combined. Whatever could be an
/// operand of its user is one by now, so these words need registers in any case.
fn expose_constant_pairs(f: &mut Function, b: BlockId, placed: &EntitySet<ValueId>) {
    let word = |inst: &Inst| match (inst.op, inst.srcs.first()) {
        (Op::Mov, Some(&Src { kind: SrcKind::Const { bank, offset }, mods }))
            if inst.ty.bytes() == 4
                && inst.guard.is_none()
                && mods == SrcMods::default()
                && !placed.contains(inst.dsts[0]) =>
        {
            Some((bank, offset))
        }
        _ => None,
    };
    let mut words: Vec<(u8, u16)> = f.blocks[b].body.iter().filter_map(|&i| word(&f.insts[i])).collect();
    words.sort_unstable();
    for n in 0..f.blocks[b].body.len() {
        let i = f.blocks[b].body[n];
        let Some((bank, offset)) = word(&f.insts[i]) else { continue };
        if words.binary_search(&(bank, offset ^ 4)).is_err() {
            continue;
        }
        let mut load = Inst::new(Op::Ld, Type::U32);
        load.loc = f.insts[i].loc;
        load.dsts = f.insts[i].dsts;
        // An offset in a bank is the whole address.
        let align = Align { log2: 16, rest: offset.into() };
        let m =
            MemRef::new(Space::Const).with_buffer(bank.into()).with_offset(offset.into()).with_align(align);
        load.mem = Some(m);
        f.replace(i, load);
    }
}

/// Marks an instruction whose work another one does, to be dropped from the body.
fn retire(f: &mut Function, i: InstId) {
    f.replace(i, Inst::new(Op::Undef, Type::U32));
}

fn is_retired(inst: &Inst) -> bool {
    inst.op == Op::Undef && inst.dsts.is_empty()
}

fn is_candidate(inst: &Inst, stage: Stage) -> bool {
    let Some(m) = &inst.mem else { return false };
    let direct_constant = m.space == Space::Const && m.index.is_none() && m.base().is_empty();
    matches!(inst.op, Op::Ld | Op::St)
        && m.order == Order::Weak
        && matches!(inst.ty.bytes(), 4 | 8)
        && !inst.ty.is_float()
        && (!direct_constant || stage == Stage::Legal && inst.ty.bytes() == 4)
        // Robust accesses are checked one by one against the buffer's size.
        && !matches!(m.space, Space::Buffer | Space::Uniform)
        && inst.dsts.len() + inst.srcs.iter().map(|s| s.values().len()).sum::<usize>() == inst.ty.words()
}

/// Drops open accesses that the instruction keeps from moving past it.
fn interfere(f: &Function, inst: &Inst, open: &mut Vec<Open>) {
    if open.is_empty() || inst.mem.is_none() && !inst.op.is(op::EFFECT | op::READS) {
        return;
    }
    let stays = |o: &Open| {
        let other = &f.insts[o.inst];
        let m = other.mem.as_ref().expect("an open access has a memory operand");
        let bytes = access_bytes(other);
        if m.space.is_constant() {
            return true;
        }
        match (inst.op, &inst.mem) {
            (Op::Ld, Some(l)) if l.order == Order::Weak => {
                other.op == Op::Ld || !may_clobber(m, bytes, l, access_bytes(inst))
            }
            (Op::St, Some(s)) if s.order == Order::Weak => match other.op {
                // A later load moves up past the store: none of what may yet join the open one may be written.
                Op::Ld => {
                    let reach = MAX_BYTES - bytes;
                    let first = m.offset.saturating_sub(reach as i32);
                    let around = m.with_offset(first).with_align(m.align.plus(first - m.offset));
                    !may_clobber(s, access_bytes(inst), &around, bytes + 2 * reach)
                }
                _ => !may_alias(s, access_bytes(inst), m, bytes),
            },
            // Everything else that has an effect or reads memory orders all accesses, but for what only this thread sees.
            _ => !inst.op.is(op::EFFECT | op::READS) || inst.op == Op::Vote || inst.op == Op::Shfl,
        }
    };
    open.retain(stays);
}

/// The open access that the newest one combines with, if any.
fn partner(f: &Function, open: &[Open], ctx: &Ctx<'_>, known: &mut Option<KnownBits>) -> Option<usize> {
    let (newest, rest) = open.split_last()?;
    let new = &f.insts[newest.inst];
    let m = new.mem.as_ref()?;
    let width = access_bytes(new);
    for (k, o) in rest.iter().enumerate().rev() {
        let other = &f.insts[o.inst];
        let om = other.mem.as_ref()?;
        // No access is wider than 128 bits; the constant cache gives 64 at most.
        if width > if m.space == Space::Const { 4 } else { 8 } {
            return None;
        }
        if other.op != new.op || other.guard != new.guard || access_bytes(other) != width || !same_base(m, om)
        {
            continue;
        }
        let lower = if om.offset.checked_add(width as i32) == Some(m.offset) {
            om
        } else if m.offset.checked_add(width as i32) == Some(om.offset) {
            m
        } else {
            continue;
        };
        let known = known.get_or_insert_with(|| KnownBits::new(f, &ctx.launch));
        if known.align(lower).bytes() < 2 * width {
            continue;
        }
        if isel::legal(ctx.chip, f, &combine(f, o.inst, newest.inst)) {
            return Some(k);
        }
    }
    None
}

/// One access in place of two neighbours.
fn combine(f: &Function, a: InstId, b: InstId) -> Inst {
    let (a, b) = (&f.insts[a], &f.insts[b]);
    let offset = |i: &Inst| i.mem.as_ref().map_or(0, |m| m.offset);
    let (lo, hi) = if offset(a) < offset(b) { (a, b) } else { (b, a) };
    let ty = Type::of_words(lo.ty.words() + hi.ty.words()).expect("two or four words");
    let mut wide = Inst::new(lo.op, ty);
    wide.guard = lo.guard;
    wide.loc = a.loc;
    wide.mem = lo.mem;
    if let (Some(m), Some(other)) = (&mut wide.mem, &hi.mem) {
        m.readonly &= other.readonly;
        m.align = m.align.strongest(other.align.plus(m.offset.wrapping_sub(other.offset)));
    }
    wide.dsts.extend(lo.dsts.iter().chain(&hi.dsts).copied());
    if lo.op == Op::St {
        let values: arrayvec::ArrayVec<ValueId, 4> =
            lo.srcs.iter().chain(&hi.srcs).flat_map(|s| s.values()).copied().collect();
        wide.srcs.push(Src::tuple(&values));
    }
    wide
}
