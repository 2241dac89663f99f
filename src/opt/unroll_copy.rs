//! The copies of rounds that [`super::unroll`] has decided to make: of all, with what is known of
//! each left out, or of some, for a loop that stays one.

use super::copy_prop::takes_immediates;
use super::rounds::{End, Known, Loop, Rounds};
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHashMap;

/// Values and blocks of a copy, by what they are copies of.
#[derive(Default)]
pub(super) struct Copies {
    values: SecondaryMap<ValueId, PackedOption<ValueId>>,
    blocks: SecondaryMap<BlockId, PackedOption<BlockId>>,
    /// Those that have copies.
    copied_values: Vec<ValueId>,
    copied_blocks: Vec<BlockId>,
    /// Constants that stand in registers, at the beginning of the copy.
    constants: FxHashMap<(u32, Class), ValueId>,
}

impl Copies {
    /// Another copy begins.
    fn clear(&mut self) {
        self.copied_values.drain(..).for_each(|v| self.values[v] = None.into());
        self.copied_blocks.drain(..).for_each(|b| self.blocks[b] = None.into());
        self.constants.clear();
    }

    fn set_block(&mut self, b: BlockId, copy: BlockId) {
        self.blocks[b] = copy.into();
        self.copied_blocks.push(b);
    }

    fn set_value(&mut self, v: ValueId, copy: ValueId) {
        self.values[v] = copy.into();
        self.copied_values.push(v);
    }

    fn block(&self, b: BlockId) -> BlockId {
        self.blocks[b].expand().unwrap_or(b)
    }

    /// What a value is in the copy.
    fn value(&mut self, f: &mut Function, rounds: &Rounds<'_>, first: BlockId, v: ValueId) -> ValueId {
        let v = match rounds.of(v) {
            Known::Itself => v,
            Known::Copy(w) => w,
            Known::Imm(x) => {
                let class = f.class(v);
                return *self.constants.entry((x, class)).or_insert_with(|| {
                    let d = f.new_value(class);
                    f.append(first, Inst::new(Op::Mov, class.move_type()).src(Src::imm(x)).dst(d));
                    d
                });
            }
        };
        self.values[v].expand().unwrap_or(v)
    }

    fn values(
        &mut self,
        f: &mut Function,
        rounds: &Rounds<'_>,
        first: BlockId,
        values: &[ValueId],
    ) -> Vec<ValueId> {
        values.iter().map(|&v| self.value(f, rounds, first, v)).collect()
    }
}

/// Makes the copies and returns their blocks. The loop itself is what is left when it is known to
/// be left; what follows that in the loop is unreachable afterwards.
pub(super) fn unroll(f: &mut Function, l: &Loop, rounds: &mut Rounds<'_>) -> Vec<BlockId> {
    let h = l.header();
    let params = f.blocks[h].params.clone();
    let entering = f.blocks[l.from].term.edges().find(|e| e.to == h).map(|e| e.args.clone());
    let mut args = entering.unwrap_or_default();
    let mut made = Vec::new();
    // The block with the edge to the copy that is next.
    let mut open = l.from;
    rounds.enter(f, l);
    let left = loop {
        match rounds.round(f, l, None) {
            Some(End::Again) => {}
            Some(End::Left) => {
                let decided = |&b: &BlockId| Some((b, rounds.decided(b)?));
                break Some(l.blocks.iter().filter_map(decided).collect::<Vec<_>>());
            }
            None => break None,
        }
        let mut copy = std::mem::take(&mut rounds.copies);
        copy.clear();
        params.iter().zip(args).for_each(|(&p, a)| copy.set_value(p, a));
        let onward = copy_round(f, l, rounds, &mut copy);
        let entry = Edge::to(copy.block(h));
        f.blocks[open].term.edges_mut().filter(|e| e.to == h).for_each(|e| *e = entry.clone());
        if made.is_empty() && l.breaks {
            f.blocks[entry.to].merge = Merge::Loop { exit: l.exit, cont: entry.to };
        }
        (open, args) = (copy.block(l.latch), onward);
        made.extend(l.blocks.iter().filter_map(|&b| copy.blocks[b].expand()));
        rounds.copies = copy;
    };
    rounds.forget(f, l);
    f.blocks[open].term.edges_mut().filter(|e| e.to == h).for_each(|e| e.args.clone_from(&args));
    let Some(left) = left else { return made };
    f.blocks[h].merge = if l.skips { Merge::Loop { exit: l.cont, cont: h } } else { Merge::None };
    for &(b, by_then) in &left {
        decide(f, b, by_then);
    }
    // Nobody comes there any more, unless the edge out is there.
    if f.blocks[l.latch].term.successors().any(|s| s == h) {
        f.blocks[l.latch].term = Term::Unreachable;
    }
    made
}

/// Copies what a round does, up to its edge to the header, whose arguments it gives as well. The
/// edge leads to the loop's own header.
fn copy_round(f: &mut Function, l: &Loop, rounds: &Rounds<'_>, copy: &mut Copies) -> Vec<ValueId> {
    let h = l.header();
    let first = f.detached_block();
    copy.set_block(h, first);
    // Ends of constructs stand where they were, though nobody may come there.
    let mut ends: Vec<BlockId> = if l.skips { vec![l.cont] } else { Vec::new() };
    for &b in &l.blocks {
        if rounds.reached(b) && rounds.decided(b).is_none() {
            let mut merge = f.blocks[b].merge;
            ends.extend(merge.blocks_mut().map(|b| *b));
        }
    }
    for &b in l.blocks.iter().skip(1).filter(|&&b| rounds.reached(b) || ends.contains(&b)) {
        let c = f.detached_block();
        copy.set_block(b, c);
        for p in f.blocks[b].params.clone() {
            if rounds.of(p) == Known::Itself {
                copy.set_value(p, f.add_block_param(c, f.class(p)));
            }
        }
    }
    let mut onward = Vec::new();
    for &b in l.blocks.iter().filter(|&&b| rounds.reached(b)) {
        let c = copy.block(b);
        for k in 0..f.blocks[b].body.len() {
            let i = f.blocks[b].body[k];
            copy_inst(f, rounds, copy, i, [first, c]);
        }
        let mut term = f.blocks[b].term.clone();
        if let (Some(by_then), Term::Branch { then, els, .. }) = (rounds.decided(b), &term) {
            term = Term::Jump(if by_then { then.clone() } else { els.clone() });
        }
        if let Term::Branch { cond, .. } = &mut term {
            *cond = copy.value(f, rounds, first, *cond);
        }
        for e in term.edges_mut() {
            let params = f.blocks[e.to].params.clone();
            let mut args = std::mem::take(&mut e.args);
            if e.to == h {
                onward = copy.values(f, rounds, first, &args);
                continue;
            }
            if copy.blocks[e.to].is_some() {
                // What is known in the copy is no parameter there.
                let mut k = 0;
                args.retain(|_| (rounds.of(params[k]) == Known::Itself, k += 1).0);
            }
            *e = Edge { to: copy.block(e.to), args: copy.values(f, rounds, first, &args) };
        }
        let merge = match (&term, f.blocks[b].merge) {
            (_, Merge::Loop { .. }) if b == h && l.skips => {
                Merge::Loop { exit: copy.block(l.cont), cont: first }
            }
            (_, Merge::Loop { .. }) if b == h => Merge::None,
            (Term::Jump(_), Merge::If { .. }) => Merge::None,
            (_, mut merge) => {
                merge.blocks_mut().for_each(|t| *t = copy.block(*t));
                merge
            }
        };
        let loc = f.blocks[b].term_loc;
        let block = &mut f.blocks[c];
        (block.term, block.merge, block.term_loc) = (term, merge, loc);
    }
    onward
}

/// Copies an instruction, unless what it gives is known; constants that it reads go to the first block.
fn copy_inst(f: &mut Function, rounds: &Rounds<'_>, copy: &mut Copies, i: InstId, [first, to]: [BlockId; 2]) {
    let inst = &f.insts[i];
    if let &[d] = inst.dsts.as_slice()
        && rounds.of(d) != Known::Itself
    {
        return;
    }
    let mut inst = inst.clone();
    if let Some(guard) = inst.guard
        && let Known::Imm(x) = rounds.of(guard.pred)
    {
        if (x != 0) != guard.not {
            inst.guard = None;
        } else if inst.dsts.is_empty() {
            return;
        }
    }
    if takes_immediates(&inst) {
        for s in &mut inst.srcs {
            s.kind = match s.kind {
                SrcKind::Val(v) => match rounds.of(v) {
                    Known::Imm(x) if f.class(v) == Class::Gpr => SrcKind::Imm(x),
                    _ => continue,
                },
                SrcKind::Pair([lo, hi]) => match (rounds.of(lo), rounds.of(hi)) {
                    (Known::Imm(lo), Known::Imm(hi)) => SrcKind::Imm64([lo, hi]),
                    _ => continue,
                },
                _ => continue,
            };
        }
    }
    inst.map_uses(|v| copy.value(f, rounds, first, v));
    inst.for_defs(|v| {
        let d = f.new_value(f.class(v));
        copy.set_value(v, d);
    });
    inst.map_defs(|v| copy.values[v].expand().unwrap_or(v));
    f.append(to, inst);
}

/// Makes a round of a loop several, and returns the blocks of those behind the first.
pub(super) fn repeat(f: &mut Function, l: &Loop, copies: usize) -> Vec<BlockId> {
    let (h, cont) = (l.header(), l.cont);
    let mut more = Vec::new();
    let mut open = l.latch;
    // The first copy is one of the loop as it was.
    let all: Vec<FxHashMap<BlockId, BlockId>> = (1..copies).map(|_| copy_blocks(f, &l.blocks).0).collect();
    for copy in all {
        f.blocks[copy[&h]].merge = Merge::None;
        for &b in &l.blocks {
            stay(f, copy[&b], l.exit);
        }
        f.blocks[open].term.edges_mut().filter(|e| e.to == h).for_each(|e| e.to = copy[&h]);
        // The copy's own way round leads on.
        open = copy[&l.latch];
        f.blocks[open].term.edges_mut().filter(|e| e.to == copy[&h]).for_each(|e| e.to = h);
        if cont != h {
            // That of the last round.
            f.blocks[h].merge = Merge::Loop { exit: l.exit, cont: copy[&cont] };
        }
        more.extend(l.blocks.iter().filter_map(|b| copy.get(b)));
    }
    more
}

/// Makes a branch that leaves a loop a jump along its other edge.
fn stay(f: &mut Function, b: BlockId, exit: BlockId) {
    if let Term::Branch { then, els, .. } = &f.blocks[b].term
        && (then.to == exit || els.to == exit)
    {
        decide(f, b, els.to == exit);
    }
}

/// Makes a branch a jump along its first or second edge.
fn decide(f: &mut Function, b: BlockId, by_then: bool) {
    let block = &mut f.blocks[b];
    if let Term::Branch { then, els, .. } = &block.term {
        block.term = Term::Jump(if by_then { then.clone() } else { els.clone() });
    }
    if matches!(block.merge, Merge::If { .. }) {
        block.merge = Merge::None;
    }
}

/// Copies of blocks with everything in them, and of the values that they define. Edges and constructs
/// among them are among the copies.
pub(super) fn copy_blocks(
    f: &mut Function,
    blocks: &[BlockId],
) -> (FxHashMap<BlockId, BlockId>, FxHashMap<ValueId, ValueId>) {
    let mut values: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let copies: FxHashMap<BlockId, BlockId> = blocks.iter().map(|&b| (b, f.detached_block())).collect();
    for b in blocks {
        let c = copies[b];
        for p in f.blocks[*b].params.clone() {
            values.insert(p, f.add_block_param(c, f.class(p)));
        }
        for i in f.blocks[*b].body.clone() {
            let mut defs = Vec::new();
            f.insts[i].for_defs(|v| defs.push(v));
            for v in defs {
                values.insert(v, f.new_value(f.class(v)));
            }
        }
    }
    let value = |v: ValueId| values.get(&v).copied().unwrap_or(v);
    let block = |b: BlockId| copies.get(&b).copied().unwrap_or(b);
    for b in blocks {
        let c = copies[b];
        for i in f.blocks[*b].body.clone() {
            let mut inst = f.insts[i].clone();
            inst.map_uses(value);
            inst.map_defs(value);
            f.append(c, inst);
        }
        let mut term = f.blocks[*b].term.clone();
        term.map_uses(value);
        term.edges_mut().for_each(|e| e.to = block(e.to));
        let mut merge = f.blocks[*b].merge;
        merge.blocks_mut().for_each(|t| *t = block(*t));
        let loc = f.blocks[*b].term_loc;
        let copy = &mut f.blocks[c];
        (copy.term, copy.merge, copy.term_loc) = (term, merge, loc);
    }
    (copies, values)
}
