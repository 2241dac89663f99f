//! Comparisons of a chain in the order in which their operands are there.
//!
//! ```text
//! ld u32 %r1 g[%r0+0x0]                  ld u32 %r1 g[%r0+0x0]
//! set.eq pred u32 %p1 %r1 0x7            set.gt pred u32 %p3 %r2 0x9
//! set.gt.or pred u32 %p2 %r2 0x9 %p1 ->  set.eq.or pred u32 %p2 %r1 0x7 %p3
//! ```
//!
//! Each comparison waits for the predicate of the one before it. The one whose operands come last goes last, so
//! the others are done while they are computed.
//!
//! Logic on predicates is such a chain, too: one of its comparisons takes the other operand along.
//!
//! Safe because AND, OR and XOR may be taken in any order, and nobody else reads the predicates between.

use super::Ctx;
use super::algebra::negated;
use super::rewrite::{UseCounts, count_uses, is_scalar, touches_carry};
use crate::ir::*;
use arrayvec::ArrayVec;
use cranelift_entity::SecondaryMap;

/// Comparisons in a chain that are looked at.
const CHAIN: usize = 8;
/// Instructions that a comparison may move by: its operands live so much longer.
const FAR: u32 = 24;
/// A load takes as long as so many instructions.
const LOAD: u32 = 8;

pub(crate) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let takes_along = |i: &InstId| match f.insts[*i].op {
        Op::Set => f.insts[*i].srcs.len() > 2,
        _ => is_logic(&f.insts[*i]),
    };
    let has_chain = |b: &BlockId| f.blocks[*b].body.iter().any(takes_along);
    let blocks: Vec<BlockId> = f.layout.iter().copied().filter(has_chain).collect();
    if blocks.is_empty() {
        return false;
    }
    let mut block = Block {
        uses: count_uses(f),
        depth: SecondaryMap::new(),
        place: SecondaryMap::new(),
        out: Vec::new(),
    };
    block.depth.resize(f.values.len());
    block.place.resize(f.insts.len());
    let (mut joined, mut ordered) = (0, 0);
    for b in blocks {
        let body = std::mem::take(&mut f.blocks[b].body);
        block.out.reserve(body.len());
        for i in body {
            joined += usize::from(block.join(f, i).is_some());
            if let Some(chain) = block.chain(f, i)
                && !chain.is_sorted_by_key(|c| c.depth)
            {
                block.reorder(f, chain);
                ordered += 1;
            }
            block.push(f, i);
        }
        f.blocks[b].body = block.finish(f);
    }
    ctx.count("compare_order: joined", joined);
    ctx.count("compare_order: chains", ordered);
    joined + ordered > 0
}

/// Whether an instruction combines two predicates.
fn is_logic(i: &Inst) -> bool {
    i.ty == Type::Pred && matches!(i.op, Op::And | Op::Or | Op::Xor) && i.guard.is_none()
}

/// Whether an instruction is a comparison that may stand elsewhere.
fn is_comparison(f: &Function, i: &Inst) -> bool {
    i.op == Op::Set && i.guard.is_none() && is_scalar(f, i) && i.compares_at_once() && !touches_carry(f, i)
}

/// A block up to an instruction.
struct Block {
    uses: UseCounts,
    /// The longest way to a value from the beginning of the block, in instructions.
    depth: SecondaryMap<ValueId, u32>,
    /// Where instructions stand, from 1.
    place: SecondaryMap<InstId, u32>,
    out: Vec<InstId>,
}

/// A comparison of a chain.
struct Link {
    inst: InstId,
    /// Of what it compares.
    depth: u32,
}

/// Comparisons of which each takes the predicate of the one before it.
type Chain = ArrayVec<Link, CHAIN>;

impl Block {
    /// Forgets the block, and gives its instructions.
    fn finish(&mut self, f: &Function) -> Vec<InstId> {
        for &i in &self.out {
            f.insts[i].for_defs(|v| self.depth[v] = 0);
            self.place[i] = 0;
        }
        std::mem::take(&mut self.out)
    }

    fn push(&mut self, f: &Function, i: InstId) {
        let inst = &f.insts[i];
        let mut depth = 0;
        inst.for_uses(|v| depth = depth.max(self.depth[v]));
        depth += if inst.op.is(op::READS) { LOAD } else { 1 };
        inst.for_defs(|v| self.depth[v] = depth);
        self.out.push(i);
        self.place[i] = self.out.len() as u32;
    }

    fn link(&self, f: &Function, inst: InstId) -> Link {
        let compared = f.insts[inst].srcs[..2].iter();
        Link { inst, depth: compared.flat_map(|s| s.values()).map(|&v| self.depth[v]).max().unwrap_or(0) }
    }

    /// The comparison of the block, not far, that a predicate comes from which nobody else reads.
    fn sole(&self, f: &Function, p: &Src) -> Option<InstId> {
        let v = p.as_val().filter(|&v| self.uses[v] == 1)?;
        let Def::Inst(i) = f.values[v].def else { return None };
        let near = self.place[i] > 0 && self.out.len() as u32 - self.place[i] < FAR;
        (near && is_comparison(f, &f.insts[i])).then_some(i)
    }

    /// Lets a comparison do the logic of an instruction.
    fn join(&mut self, f: &mut Function, i: InstId) -> Option<()> {
        if !is_logic(&f.insts[i]) {
            return None;
        }
        let candidate = |n: usize| {
            let set = self.sole(f, &f.insts[i].srcs[n]).filter(|&s| f.insts[s].srcs.len() == 2)?;
            Some((n, self.link(f, set)))
        };
        let (n, link) = (0..2).filter_map(candidate).max_by_key(|(_, l)| l.depth)?;
        let old = &f.insts[i];
        let mut new = f.insts[link.inst].clone();
        if old.srcs[n].mods.inv {
            new.cond = negated(&new);
        }
        new.srcs.push(old.srcs[1 - n]);
        new.logic = match old.op {
            Op::And => Logic::And,
            Op::Or => Logic::Or,
            _ => Logic::Xor,
        };
        (new.dsts, new.loc) = (old.dsts, old.loc);
        f.replace(i, new);
        let at = self.place[link.inst] as usize - 1;
        self.out.remove(at);
        self.place[link.inst] = 0;
        for (k, &i) in self.out.iter().enumerate().skip(at) {
            self.place[i] = k as u32 + 1;
        }
        Some(())
    }

    /// The chain that ends in a comparison, the first one in front.
    fn chain(&self, f: &Function, last: InstId) -> Option<Chain> {
        let logic = f.insts[last].logic;
        if f.insts[last].srcs.len() < 3 || !is_comparison(f, &f.insts[last]) {
            return None;
        }
        let mut chain = Chain::new();
        let end = self.link(f, last);
        // What the chain was without its end is in order.
        let before = f.insts[last].srcs.get(2).and_then(|p| self.sole(f, p));
        if before.is_none_or(|i| self.link(f, i).depth <= end.depth) {
            return None;
        }
        chain.push(end);
        let mut at = last;
        while let Some(p) = f.insts[at].srcs.get(2)
            && !chain.is_full()
        {
            let Some(i) = self.sole(f, p).filter(|_| p.is_plain_val()) else { break };
            if f.insts[i].srcs.len() > 2 && f.insts[i].logic != logic {
                break;
            }
            chain.push(self.link(f, i));
            at = i;
        }
        chain.reverse();
        (chain.len() > 1).then_some(chain)
    }

    /// Puts a chain's comparisons in order, all of them to where the last one is to stand.
    fn reorder(&mut self, f: &mut Function, mut chain: Chain) {
        let links: Vec<InstId> = chain.iter().map(|c| c.inst).collect();
        chain.sort_by_key(|c| c.depth);
        let compared: Vec<Inst> = chain.iter().map(|c| f.insts[c.inst].clone()).collect();
        for (&i, from) in links.iter().zip(compared) {
            let mut new = from;
            let old = &f.insts[i];
            new.srcs.truncate(2);
            new.srcs.extend(old.srcs.get(2).copied());
            (new.dsts, new.ty, new.logic) = (old.dsts, old.ty, old.logic);
            f.replace(i, new);
        }
        let (_, moved) = links.split_last().expect("a chain has two comparisons");
        let first = moved.iter().map(|&i| self.place[i]).min().unwrap_or(1) as usize - 1;
        let behind = self.out.split_off(first);
        for i in behind.into_iter().filter(|i| !moved.contains(i)).chain(moved.iter().copied()) {
            self.push(f, i);
        }
    }
}
