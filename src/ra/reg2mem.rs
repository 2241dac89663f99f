//! Values that live across very many blocks go to local memory before registers are assigned.
//!
//! ```text
//! loop b1 exit b9                    n loops, each around the next, with a counter each: every counter is alive in
//!   %i = phi ..                      all blocks inside, n * n pairs of value and block. Of 10,000 loops these would
//!   loop b2 exit b8                  take minutes and gigabytes, and nearly all are in memory in the end.
//!     ..
//! ```
//!
//! Everything here works on lists of which values are alive in which blocks. Where those grow
//! beyond what is in proportion to the code ([`liveness`]), which no ordinary program meets, the
//! values that need most of it leave the lists: right after its definition such a value is stored,
//! and the first reader of each other block loads it (a constant is made again instead). Then it
//! lives in single blocks only. A predicate is 0 or 1 in memory. Block parameters stay what they
//! are and are stored where their block begins, so edges are none of our business. Values that
//! other lanes read in their registers (`lane_reads`) stay if there is room for all of them.
//!
//! Slots are words below the spill slots. Two values share one if the stretches of the layout in
//! which they can be alive have no block in common: from the block of the definition to the last
//! reader or, where that is in loops that the definition is not in, to the end of the outermost of
//! them. Since each block comes after what dominates it and constructs lie together, nothing else
//! can be between definition and reader.

use super::{memory_args, remat};
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::{LIVE_FOR_EACH, Liveness, far_values, inst_blocks};
use crate::ir::{BlockId, Def, Function, Inst, InstId, Op, Term, ValueId};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntitySet, SecondaryMap};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Liveness of a function, in which values have gone to memory from `base` on if there would be too
/// much of it, or by force; and the end of what they take there.
pub(super) fn liveness(f: &mut Function, cfg: &Cfg, force: bool, base: u32) -> (Liveness, u32) {
    if let Some(live) = Liveness::bounded(f, cfg).filter(|_| !force) {
        return (live, base);
    }
    // At most so many for each value are left.
    let reach = if force { 0 } else { LIVE_FOR_EACH };
    let kept = kept_for_other_lanes(f);
    let mut far = far_values(f, cfg, reach);
    far.retain(|v| !kept.contains(*v));
    let mut end = to_memory(f, cfg, &far, base);
    if let Some(live) = Liveness::bounded(f, cfg) {
        return (live, end);
    }
    let far = far_values(f, cfg, reach);
    end = to_memory(f, cfg, &far, end);
    (Liveness::new(f, cfg), end)
}

/// Values that other lanes read where they are, which `lane_reads` has made live longer.
fn kept_for_other_lanes(f: &Function) -> EntitySet<ValueId> {
    let mut kept = EntitySet::new();
    let markers = f.insts_in_order().map(|(_, i)| &f.insts[i]).filter(|i| keeps_a_register(i));
    markers.for_each(|i| {
        i.for_uses(|v| {
            kept.insert(v);
        })
    });
    kept
}

/// Whether an instruction is none of the machine, but has values live up to it.
fn keeps_a_register(inst: &Inst) -> bool {
    inst.op == Op::Undef && inst.dsts.is_empty()
}

/// Where a value can be had from in other blocks than that of its definition.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Source {
    /// It is not concerned.
    #[default]
    Itself,
    /// A word of local memory.
    Slot(u32),
    /// An instruction like this one.
    Again(InstId),
}

/// Sends the values of a list to memory from `base` on; gives the end of their words.
fn to_memory(f: &mut Function, cfg: &Cfg, far: &[ValueId], base: u32) -> u32 {
    let mut sources: SecondaryMap<ValueId, Source> = SecondaryMap::new();
    sources.resize(f.values.len());
    let mut stored = Vec::with_capacity(far.len());
    for &v in far {
        match f.values[v].def {
            Def::Inst(i) if remat::is_constant(&f.insts[i]) => sources[v] = Source::Again(i),
            _ => {
                sources[v] = Source::Slot(0);
                stored.push(v);
            }
        }
    }
    let first = base.next_multiple_of(4);
    let words = assign_words(f, cfg, &stored, |v, word| sources[v] = Source::Slot(first + 4 * word));
    let mut at_hand = SecondaryMap::new();
    at_hand.resize(f.values.len());
    let mut r = Rewriter { f, sources, at_hand, block: None.into(), body: Vec::new() };
    cfg.rpo().iter().for_each(|&b| r.block(b));
    if words > 0 { first + 4 * words } else { base }
}

/// A loop: the positions in the layout of its header and of its last block.
type Extent = (u32, u32);

/// Gives every value of a list a word, the same to those that are never alive together; tells how
/// many there are.
fn assign_words(f: &Function, cfg: &Cfg, values: &[ValueId], mut give: impl FnMut(ValueId, u32)) -> u32 {
    let position = f.positions();
    let mut loop_end: SecondaryMap<BlockId, u32> = SecondaryMap::new();
    for &b in cfg.rpo().iter().rev() {
        let Some(h) = cfg.loop_header(b) else { continue };
        loop_end[h] = loop_end[h].max(position[b]);
        if h == b
            && let Some(outer) = cfg.parent_loop(h)
        {
            loop_end[outer] = loop_end[outer].max(loop_end[h]);
        }
    }
    // Each value's first and last position, the latter plus one; 0 for those that are not in the
    // list.
    let mut stretch: SecondaryMap<ValueId, Extent> = SecondaryMap::new();
    stretch.resize(f.values.len());
    let blocks = inst_blocks(f, cfg);
    for &v in values {
        let def = match f.values[v].def {
            Def::Inst(i) => blocks[i].expand(),
            Def::Block(b) => Some(b),
            Def::Func | Def::None => None,
        };
        let start = def.map_or(0, |b| position[b]);
        stretch[v] = (start, start + 1);
    }
    let mut open: Vec<Extent> = Vec::new();
    for (n, &b) in (0..).zip(&f.layout).filter(|(_, b)| cfg.reachable(**b)) {
        while open.last().is_some_and(|l| l.1 < n) {
            open.pop();
        }
        if cfg.is_loop_header(b) {
            open.push((n, loop_end[b]));
        }
        let mut read = |v: ValueId| {
            let (start, end) = &mut stretch[v];
            if *end > 0 && *start < n {
                let around = open.get(open.partition_point(|l| l.0 <= *start));
                *end = (*end).max(around.map_or(n, |l| l.1) + 1);
            }
        };
        f.blocks[b].body.iter().for_each(|&i| f.insts[i].for_uses(&mut read));
        f.blocks[b].term.for_uses(&mut read);
    }
    let mut order: Vec<(Extent, ValueId)> = values.iter().map(|&v| (stretch[v], v)).collect();
    order.sort_unstable();
    let mut taken: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut words = 0;
    for ((start, end), v) in order {
        let word = match taken.peek() {
            Some(&Reverse((before, word))) if before <= start => {
                taken.pop();
                word
            }
            _ => {
                words += 1;
                words - 1
            }
        };
        taken.push(Reverse((end, word)));
        give(v, word);
    }
    words
}

struct Rewriter<'a> {
    f: &'a mut Function,
    sources: SecondaryMap<ValueId, Source>,
    /// The block in which a value was last defined or brought, and the value that it is there.
    at_hand: SecondaryMap<ValueId, (PackedOption<BlockId>, ValueId)>,
    block: PackedOption<BlockId>,
    body: Vec<InstId>,
}

impl Rewriter<'_> {
    fn block(&mut self, b: BlockId) {
        self.block = b.into();
        let old = std::mem::take(&mut self.f.blocks[b].body);
        self.body = Vec::with_capacity(old.len());
        if b == self.f.entry() {
            self.f.params.clone().into_iter().for_each(|p| self.defined(p));
        }
        self.f.blocks[b].params.clone().into_iter().for_each(|p| self.defined(p));
        let mut defs: Vec<ValueId> = Vec::new();
        for i in old {
            // What only keeps a register occupied has no meaning for values that are in none.
            let inst = &self.f.insts[i];
            let mut concerned = false;
            inst.for_uses(|v| concerned |= self.sources[v] != Source::Itself);
            if concerned && keeps_a_register(inst) {
                continue;
            }
            inst.for_defs(|v| {
                if self.sources[v] != Source::Itself {
                    defs.push(v);
                }
            });
            if concerned {
                let mut inst = self.f.insts[i].clone();
                inst.map_uses(|v| self.bring(v));
                self.f.insts[i] = inst;
            }
            self.body.push(i);
            defs.drain(..).for_each(|d| self.defined(d));
        }
        let mut term = std::mem::replace(&mut self.f.blocks[b].term, Term::Unreachable);
        term.map_uses(|v| self.bring(v));
        self.f.blocks[b].term = term;
        self.f.blocks[b].body = std::mem::take(&mut self.body);
    }

    /// Whether a value must be brought into the block to be read.
    fn is_elsewhere(&self, v: ValueId) -> bool {
        self.sources[v] != Source::Itself && self.at_hand[v].0 != self.block
    }

    /// Notes that a value has just been defined in the block, and stores it.
    fn defined(&mut self, v: ValueId) {
        self.at_hand[v] = (self.block, v);
        if let Source::Slot(offset) = self.sources[v] {
            memory_args::store(self.f, v, offset, &mut self.body);
        }
    }

    /// The value to read in the block for a value.
    fn bring(&mut self, v: ValueId) -> ValueId {
        if !self.is_elsewhere(v) {
            return if self.sources[v] == Source::Itself { v } else { self.at_hand[v].1 };
        }
        let here = self.f.new_value(self.f.class(v));
        match self.sources[v] {
            Source::Slot(offset) => memory_args::load(self.f, here, offset, &mut self.body),
            Source::Again(i) => {
                let mut again = self.f.insts[i].clone();
                again.dsts[0] = here;
                let again = self.f.make(again);
                self.body.push(again);
            }
            Source::Itself => {}
        }
        self.at_hand[v] = (self.block, here);
        here
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::Builder;
    use crate::ir::{Cond, Edge, Function, MemRef, Merge, Space, Type};

    /// Two loops one after the other, the second inside another; a value is read in each, and one
    /// in the outer loop behind it.
    fn loops() -> (Function, [ValueId; 3]) {
        let mut f = Function::new("f");
        let [entry, first, between, outer, inner, latch, exit] = [(); 7].map(|()| f.new_block());
        let mut b = Builder::new(&mut f, entry);
        let place = |k: i32| MemRef::new(Space::Global).with_offset(4 * k);
        let a = b.ld(Type::U32, place(0))[0];
        b.terminate(Term::Jump(Edge::to(first)));
        let around = |b: &mut Builder<'_>, read: ValueId, back: BlockId, on: BlockId| {
            let more = b.setp(Cond::Lt, Type::U32, read, 1);
            b.terminate(Term::Branch { cond: more, not: false, then: Edge::to(back), els: Edge::to(on) });
        };
        b.block = first;
        around(&mut b, a, first, between);
        b.block = between;
        let (c, d) = (b.ld(Type::U32, place(1))[0], b.ld(Type::U32, place(2))[0]);
        b.terminate(Term::Jump(Edge::to(outer)));
        b.block = outer;
        b.st(Type::U32, place(3), c);
        b.terminate(Term::Jump(Edge::to(inner)));
        b.block = inner;
        let e = b.ld(Type::U32, place(4))[0];
        around(&mut b, d, inner, latch);
        b.block = latch;
        around(&mut b, e, outer, exit);
        f.blocks[exit].term = Term::Exit;
        for (header, exit, cont) in [(first, between, first), (outer, exit, latch), (inner, latch, inner)] {
            f.blocks[header].merge = Merge::Loop { exit, cont };
        }
        (f, [a, c, d])
    }

    #[test]
    fn values_that_are_never_alive_together_share_a_word_and_those_that_a_loop_needs_again_do_not() {
        let (f, [a, c, d]) = loops();
        let cfg = Cfg::new(&f);
        let far = far_values(&f, &cfg, 0);
        assert_eq!(far.len(), 4);
        let mut words: SecondaryMap<ValueId, u32> = SecondaryMap::new();
        let count = assign_words(&f, &cfg, &far, |v, word| words[v] = word);
        // `c` is read before `e` is defined, but again in the next round.
        let e = far[3];
        assert_eq!((count, words[a] == words[c] || words[a] == words[d]), (3, true));
        assert!(words[c] != words[d] && words[c] != words[e] && words[d] != words[e]);
    }

    #[test]
    fn nothing_lives_across_blocks_by_force_and_everything_in_ordinary_code() {
        let (mut f, _) = loops();
        let cfg = Cfg::new(&f);
        let (live, end) = liveness(&mut f, &cfg, false, 16);
        assert!(end == 16 && cfg.rpo().iter().any(|&b| !live.live_in(b).is_empty()));
        let before = f.inst_count();
        let (live, end) = liveness(&mut f, &cfg, true, 16);
        assert!(end == 28 && cfg.rpo().iter().all(|&b| live.live_in(b).is_empty()));
        // Four stores, four loads.
        assert_eq!(f.inst_count(), before + 8);
    }
}
