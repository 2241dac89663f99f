//! Memory combining: neighbouring accesses become one of 64 or 128 bits.
//!
//! ```text
//! st u32 # g[%r2+0x0 align 8] %r3
//! st u32 # g[%r2+0x4] %r4     ->  st u64 # g[%r2+0x0 align 8] {%r3 %r4}
//! ```
//!
//! Two zeros that are stored are one wide zero, which takes no register. Inputs and outputs of
//! graphics stages combine to 96 bits, too, where the address is a multiple of 16, and one zero
//! among what is stored there becomes a copy: a move instead of a store, and one access less if a
//! third joins. Two inputs that are stored beside each other the other way round are loaded one by
//! one: their exchange would take three instructions.
//!
//! Two accesses combine if they are of one kind, space, buffer, base and guard, in one block; lie
//! side by side; and the lower one's address is proven to be a multiple of the width of both (from
//! the fact on the access, or from the known bits of the base). Four words combine in two steps, so
//! that each width is aligned by itself. A load moves up to the earlier one, so nothing in between
//! may write what it reads; a store moves down to the later one, so nothing in between may read or
//! write its bytes. Barriers, calls, atomics and accesses that are not weak let nothing past.
//! Constant memory is exempt from these, not from alignment. Direct constant-buffer words stay
//! alone until those are left that no instruction takes as an operand, which are copied into
//! registers; then two of them combine.

use super::{Ctx, Stage};
use crate::analysis::alias::{access_bytes, may_alias, may_clobber, same_base};
use crate::analysis::known_bits::KnownBits;
use crate::chip::Chip;
use crate::ir::*;
use crate::select;
use arrayvec::ArrayVec;
use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

/// How many accesses are kept open at a time, newest first: bounds the work for each access.
const WINDOW: usize = 32;

/// The widest access.
const MAX_BYTES: u32 = 16;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let mut combiner = Combiner { ctx, known: None, placed: None, open: Vec::new(), combined: 0 };
    let mut scan = Scan::default();
    let mut changed = false;
    for n in 0..f.layout.len() {
        let b = f.layout[n];
        scan.look_at(f, b, combiner.ctx.stage);
        if scan.words.len() > 1 && combiner.expose_pairs(f, &scan.words) {
            scan.look_at(f, b, combiner.ctx.stage);
        }
        if scan.candidates > 1 {
            combiner.block(f, b, &scan);
        }
        for &i in &scan.words {
            changed |= word_as_move(f, i);
        }
    }
    let combined = combiner.combined;
    ctx.count("mem_combine: combined", combined);
    changed | (combined > 0)
}

/// What a block has for this pass.
#[derive(Default)]
struct Scan {
    /// What may be combined, or may keep an access from moving past it.
    accesses: Vec<Access>,
    /// How many of them may be combined.
    candidates: usize,
    /// Once instructions are machine operations: what gives a single word of a constant bank.
    words: Vec<InstId>,
    /// Values that become outputs, by their addresses.
    outputs: FxHashMap<ValueId, i32>,
}

struct Access {
    /// Position in the block's body.
    at: usize,
    /// Whether it may be combined.
    candidate: bool,
}

impl Scan {
    fn look_at(&mut self, f: &Function, b: BlockId, stage: Stage) {
        self.accesses.clear();
        self.accesses.reserve(16);
        self.candidates = 0;
        self.words.clear();
        self.outputs.clear();
        for (at, &i) in f.blocks[b].body.iter().enumerate() {
            let inst = &f.insts[i];
            if let Some(m) = &inst.mem {
                let candidate = is_candidate(inst, m, stage);
                if candidate && inst.op == Op::St && m.space.is_attribute() {
                    self.outputs.extend(inst.srcs[0].as_val().map(|v| (v, m.offset)));
                }
                self.candidates += usize::from(candidate);
                let harmless = inst.op == Op::Ld && m.space.is_constant() && m.order == Order::Weak;
                if candidate || !harmless {
                    self.accesses.push(Access { at, candidate });
                }
                if stage == Stage::Legal && harmless && loaded_word(inst, m).is_some() {
                    self.words.push(i);
                }
            } else if inst.op.is(op::EFFECT | op::READS) {
                self.accesses.push(Access { at, candidate: false });
            } else if stage == Stage::Legal && copied_word(inst).is_some() {
                self.words.push(i);
            }
        }
    }

    /// Whether two words are loaded, the one of the lower address first, that become one pair of
    /// outputs the other way round.
    fn exchanges(&self, low: &Inst, high: &Inst) -> bool {
        let at = |i: &Inst| self.outputs.get(i.dsts.first()?).copied();
        let first = |at: i32| at % 8 == 0;
        low.op == Op::Ld
            && low.dsts.len() == 1
            && high.dsts.len() == 1
            && matches!((at(high), at(low)), (Some(a), Some(b)) if first(a) && a + 4 == b)
    }
}

/// The word of a constant bank that an instruction copies into a register.
fn copied_word(inst: &Inst) -> Option<(u8, u16)> {
    match (inst.op, inst.srcs.first()) {
        (Op::Mov, Some(&Src { kind: SrcKind::Const { bank, offset }, mods }))
            if inst.ty.bytes() == 4 && inst.guard.is_none() && mods == SrcMods::default() =>
        {
            Some((bank, offset))
        }
        _ => None,
    }
}

/// The word of a constant bank that an instruction loads into a register.
fn loaded_word(inst: &Inst, m: &MemRef) -> Option<(u8, u16)> {
    let one = inst.guard.is_none() && inst.dsts.len() == 1 && inst.ty.bytes() == 4;
    let plain = is_direct_constant(m) && m.order == Order::Weak && m.offset % 4 == 0;
    if inst.op != Op::Ld || !one || !plain {
        return None;
    }
    Some((u8::try_from(m.buffer).ok()?, u16::try_from(m.offset).ok()?))
}

/// Single direct constant-buffer words become moves: the cheaper instruction, which waits for no
/// memory unit.
fn word_as_move(f: &mut Function, i: InstId) -> bool {
    let inst = &f.insts[i];
    let Some((bank, offset)) = inst.mem.as_ref().and_then(|m| loaded_word(inst, m)) else { return false };
    let mut mov = Inst::new(Op::Mov, Type::U32).src(Src::cbuf(bank, offset)).dst(inst.dsts[0]);
    mov.loc = inst.loc;
    f.replace(i, mov);
    true
}

/// An access that a later one may combine with.
struct Open {
    inst: InstId,
    /// Position in the block's body.
    at: usize,
    load: bool,
    /// Nothing writes what it reads.
    constant: bool,
}

impl Open {
    fn new(inst: InstId, at: usize, access: &Inst) -> Open {
        let constant = access.mem.as_ref().is_some_and(|m| m.space.is_constant());
        Open { inst, at, load: access.op == Op::Ld, constant }
    }
}

struct Combiner<'a, 'c> {
    ctx: &'a mut Ctx<'c>,
    known: Option<KnownBits>,
    placed: Option<Placed>,
    open: Vec<Open>,
    combined: usize,
}

impl Combiner<'_, '_> {
    /// Values that have their places already, as they were before anything was combined.
    fn placed(&mut self, f: &Function) -> &Placed {
        self.placed.get_or_insert_with(|| match self.ctx.stage {
            Stage::Legal => Placed::new(f),
            _ => Placed::default(),
        })
    }

    /// Turns copies of neighbouring words of a constant bank into loads, which can be combined.
    /// Whatever could be an operand of its user is one by now, so these words need registers in any
    /// case.
    fn expose_pairs(&mut self, f: &mut Function, words: &[InstId]) -> bool {
        let copy = |&i: &InstId| Some((copied_word(&f.insts[i])?, i));
        let mut copies: Vec<((u8, u16), InstId)> = words.iter().filter_map(copy).collect();
        copies.sort_unstable();
        let mut pairs = paired(&copies);
        if pairs.is_empty() {
            return false;
        }
        let placed = self.placed(f);
        copies.retain(|&(_, i)| !placed.is_placed(f.insts[i].dsts[0]));
        pairs = paired(&copies);
        for &((bank, offset), i) in &pairs {
            let mut load = Inst::new(Op::Ld, Type::U32);
            load.loc = f.insts[i].loc;
            load.dsts = f.insts[i].dsts;
            // An offset in a bank is the whole address.
            let align = Align { log2: 16, rest: offset.into() };
            let m = MemRef::new(Space::Const).with_buffer(bank.into()).with_offset(offset.into());
            load.mem = Some(m.with_align(align));
            f.replace(i, load);
        }
        !pairs.is_empty()
    }

    /// Combines the accesses of a block.
    fn block(&mut self, f: &mut Function, b: BlockId, scan: &Scan) {
        let before = self.combined;
        self.open.clear();
        self.open.reserve(WINDOW + 1);
        for &Access { at, candidate } in &scan.accesses {
            let i = f.blocks[b].body[at];
            let inst = &f.insts[i];
            interfere(f, inst, &mut self.open);
            if !candidate || inst.dsts.iter().any(|&d| self.placed(f).is_torn(d)) {
                continue;
            }
            self.open.push(Open::new(i, at, inst));
            // Combining may make a neighbour of another open access.
            while let Some((k, wide, zero)) = self.partner(f, scan) {
                let newest = self.open.pop().expect("just pushed");
                let other = self.open.remove(k);
                self.keep_facts(f, [newest.inst, other.inst]);
                // Loads stand at the earlier place, stores at the later. The newest stands early if
                // it is combined itself.
                let (first, last) = (other.at.min(newest.at), other.at.max(newest.at));
                let (at, gone) = if wide.op == Op::Ld { (first, last) } else { (last, first) };
                let id = f.blocks[b].body[at];
                retire(f, f.blocks[b].body[gone]);
                if let Some(zero) = zero {
                    let mut mov = Inst::new(Op::Mov, Type::U32).src(0u32).dst(zero);
                    mov.loc = wide.loc;
                    f.replace(f.blocks[b].body[gone], mov);
                }
                self.open.push(Open::new(id, at, &wide));
                f.replace(id, wide);
                self.combined += 1;
            }
            if self.open.len() > WINDOW {
                self.open.remove(0);
            }
        }
        if self.combined > before {
            let insts = &f.insts;
            f.blocks[b].body.retain(|&i| !is_retired(&insts[i]));
        }
    }

    /// Learns what is stated of the values that two instructions load, which what they are combined
    /// to cannot state.
    fn keep_facts(&mut self, f: &Function, loads: [InstId; 2]) {
        for i in loads.into_iter().filter(|&i| f.insts[i].known != Align::ANY) {
            let known = self.known.get_or_insert_with(|| KnownBits::new(f, &self.ctx.launch));
            f.insts[i].dsts.iter().for_each(|&d| known.learn(f, d));
        }
    }

    /// Whether a zero that is stored may become a copy, so that its store combines with one of a
    /// value.
    fn may_copy_zero(&self, store: &Inst) -> bool {
        store.ty.words() == 1 && store.mem.is_some_and(|m| m.space.is_attribute())
    }

    /// The open access that the newest one combines with, if any, and both in one; with the value
    /// that a zero is copied to.
    fn partner(&mut self, f: &mut Function, scan: &Scan) -> Option<(usize, Inst, Option<ValueId>)> {
        let (newest, rest) = self.open.split_last()?;
        let m = f.insts[newest.inst].mem?;
        let width = access_bytes(&f.insts[newest.inst]);
        // No access is wider than 128 bits; Kepler's constant cache gives 64 at most.
        let most = if m.space == Space::Const && self.ctx.chip != Chip::Gf100 { 8 } else { MAX_BYTES };
        if width >= most {
            return None;
        }
        for (k, o) in rest.iter().enumerate().rev() {
            let (new, other) = (&f.insts[newest.inst], &f.insts[o.inst]);
            let om = other.mem?;
            let others = access_bytes(other);
            let (lower, first) = if om.offset.checked_add(others as i32) == Some(m.offset) {
                (om, others)
            } else if m.offset.checked_add(width as i32) == Some(om.offset) {
                (m, width)
            } else {
                continue;
            };
            let both = width + others;
            let sizes = width == others || m.space.is_attribute() && first > both - first;
            let zeros = [new, other].map(stores_zero);
            if other.op != new.op
                || other.guard != new.guard
                || !sizes
                || both > most
                || !same_base(&m, &om)
                || zeros[0] != zeros[1] && !self.may_copy_zero(if zeros[0] { new } else { other })
            {
                continue;
            }
            let low = if lower.offset == m.offset { (new, other) } else { (other, new) };
            if self.placed.as_ref().is_some_and(|p| !p.keeps(low.0, low.1)) || scan.exchanges(low.0, low.1) {
                continue;
            }
            let wanted = both.next_power_of_two();
            let mut proven = lower.align;
            if proven.bytes() < wanted {
                let known = self.known.get_or_insert_with(|| KnownBits::new(f, &self.ctx.launch));
                lower.base().first().into_iter().for_each(|&low| known.learn(f, low));
                proven = known.align(&lower);
            }
            if proven.bytes() < wanted {
                let what = || format!("not merged: alignment {} is proven, {wanted} needed", proven.bytes());
                self.ctx.missed("mem_combine", new.loc, what);
                continue;
            }
            let zero = (zeros[0] != zeros[1]).then(|| f.new_value(Class::Gpr));
            let mut wide = combine(f, o.inst, newest.inst, zero);
            if let Some(m) = wide.mem.as_mut().filter(|m| m.proven() < wanted) {
                m.align = proven;
            }
            if select::legal(self.ctx.chip, f, &wide) {
                return Some((k, wide, zero));
            }
        }
        None
    }
}

/// Values that are part of tuple operands or arguments of calls: these decide about their
/// registers, and a load of two of them with another neighbourhood would be undone by copies.
#[derive(Default)]
struct Placed {
    /// In one neighbourhood: the tuple's number and the position there.
    parts: FxHashMap<ValueId, (u32, u8)>,
    /// In several, or as arguments.
    torn: EntitySet<ValueId>,
}

impl Placed {
    fn new(f: &Function) -> Placed {
        let mut placed =
            Placed { parts: FxHashMap::default(), torn: EntitySet::with_capacity(f.values.len()) };
        let mut tuples: FxHashMap<ArrayVec<ValueId, 4>, u32> = FxHashMap::default();
        for &b in &f.layout {
            for &i in &f.blocks[b].body {
                let inst = &f.insts[i];
                for s in &inst.srcs {
                    if !matches!(s.kind, SrcKind::Pair(_) | SrcKind::Triple(_) | SrcKind::Quad(_)) {
                        continue;
                    }
                    let next = tuples.len() as u32;
                    let tuple = *tuples.entry(s.values().iter().copied().collect()).or_insert(next);
                    for (at, &v) in s.values().iter().enumerate() {
                        let place = (tuple, at as u8);
                        if *placed.parts.entry(v).or_insert(place) != place {
                            placed.torn.insert(v);
                        }
                    }
                }
                if let Some(c) = inst.call() {
                    placed.torn.extend(c.args.iter().copied());
                }
            }
        }
        placed
    }

    fn is_placed(&self, v: ValueId) -> bool {
        self.parts.contains_key(&v) || self.is_torn(v)
    }

    fn is_torn(&self, v: ValueId) -> bool {
        self.torn.contains(v)
    }

    /// Whether what two loads give, the one of the lower address first, has no places yet, or is a
    /// part of one tuple as wide loads have them.
    fn keeps(&self, low: &Inst, high: &Inst) -> bool {
        let mut values = low.dsts.iter().chain(&high.dsts).map(|v| self.parts.get(v).copied());
        let count = (low.dsts.len() + high.dsts.len()) as u8;
        match values.next() {
            Some(Some((tuple, at))) => {
                at % count.next_power_of_two() == 0
                    && values.zip(at + 1..).all(|(part, at)| part == Some((tuple, at)))
            }
            _ => values.all(|part| part.is_none()),
        }
    }
}

/// Those of the copied words, which are sorted, whose neighbour in an aligned pair is among them.
fn paired(copies: &[((u8, u16), InstId)]) -> Vec<((u8, u16), InstId)> {
    let has = |(bank, offset): (u8, u16)| copies.binary_search_by_key(&(bank, offset ^ 4), |c| c.0).is_ok();
    copies.iter().copied().filter(|c| has(c.0)).collect()
}

/// Marks an instruction whose work another one does, to be dropped from the body.
fn retire(f: &mut Function, i: InstId) {
    f.replace(i, Inst::new(Op::Undef, Type::U32));
}

fn is_retired(inst: &Inst) -> bool {
    inst.op == Op::Undef && inst.dsts.is_empty()
}

fn is_direct_constant(m: &MemRef) -> bool {
    m.space == Space::Const && m.index.is_none() && m.base().is_empty()
}

fn is_candidate(inst: &Inst, m: &MemRef, stage: Stage) -> bool {
    matches!(inst.op, Op::Ld | Op::St)
        && m.order == Order::Weak
        && matches!(inst.ty.bytes(), 4 | 8)
        && !inst.ty.is_float()
        && (!is_direct_constant(m) || stage == Stage::Legal && inst.ty.bytes() == 4)
        // Robust accesses are checked one by one against the buffer's size.
        && !matches!(m.space, Space::Buffer | Space::Uniform)
        && (stage == Stage::Legal && stores_zero(inst) || inst.dsts.len() + inst.srcs.iter().map(|s| s.values().len()).sum::<usize>() == inst.ty.words())
}

/// Whether a store writes nothing but zeros.
fn stores_zero(inst: &Inst) -> bool {
    let zero =
        |s: &Src| s.mods == SrcMods::default() && matches!(s.kind, SrcKind::Imm(0) | SrcKind::Imm64([0, 0]));
    inst.op == Op::St && inst.srcs.first().is_some_and(zero)
}

/// Drops open accesses that the instruction keeps from moving past it.
fn interfere(f: &Function, inst: &Inst, open: &mut Vec<Open>) {
    let passes = |o: &Open| {
        let other = &f.insts[o.inst];
        let m = other.mem.as_ref().expect("an open access has a memory operand");
        let (bytes, own) = (access_bytes(other), access_bytes(inst));
        match (inst.op, &inst.mem) {
            (Op::Ld, Some(l)) if l.order == Order::Weak => o.load || !may_clobber(m, bytes, l, own),
            (Op::St, Some(s)) if s.order == Order::Weak && o.load => {
                // A later load moves up past the store: none of what may yet join the open one may
                // be written.
                let reach = MAX_BYTES - bytes;
                let first = m.offset.saturating_sub(reach as i32);
                !may_clobber(s, own, &m.with_offset(first), bytes + 2 * reach)
            }
            (Op::St, Some(s)) if s.order == Order::Weak => !may_alias(s, own, m, bytes),
            // Everything else that has an effect or reads memory orders all accesses, but for what
            // only this thread sees.
            _ => !inst.op.is(op::EFFECT | op::READS) || matches!(inst.op, Op::Vote | Op::Shfl),
        }
    };
    if !open.iter().all(|o| o.constant || passes(o)) {
        open.retain(|o| o.constant || passes(o));
    }
}

/// One access in place of two neighbours. If just one of them stores a zero, that has been copied.
fn combine(f: &Function, a: InstId, b: InstId, zero: Option<ValueId>) -> Inst {
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
        let words = |i: &Inst| -> ArrayVec<ValueId, 4> {
            let zero = zero.filter(|_| stores_zero(i));
            i.srcs.iter().flat_map(|s| s.values()).copied().chain(zero).collect()
        };
        let values: ArrayVec<ValueId, 4> = words(lo).into_iter().chain(words(hi)).collect();
        let all = stores_zero(lo) && stores_zero(hi);
        wide.srcs.push(match ty.words() {
            2 if all => Src::imm64(0),
            _ if all => Src::imm(0),
            _ => Src::tuple(&values),
        });
    }
    wide
}
