//! Liveness: which values each block needs on entry and hands on at its end.
//!
//! Computed value by value: from each use the predecessors are walked up to the definition (Boissinot et al.,
//! "Computing liveness sets for SSA-form programs", 2011), so that the work is the size of the result. What a block
//! hands on is what its successors need: with one successor it is the same list.
//!
//! Parameters of a block are defined on its entry: they are not live in. The arguments of an edge are used at the
//! end of the block that it leaves; they are not live out because of it.

use super::cfg::Cfg;
use crate::ir::{BlockId, Def, Function, InstId, ValueId};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// A part of the list of values that all blocks share.
type Part = (u32, u32);

/// Live-in and live-out values of every reachable block, in order of their numbers.
#[derive(Clone)]
pub struct Liveness {
    values: Vec<ValueId>,
    ins: SecondaryMap<BlockId, Part>,
    outs: SecondaryMap<BlockId, Part>,
}

/// The block that every instruction stands in; none for those in no reachable block.
pub fn inst_blocks(f: &Function, cfg: &Cfg) -> SecondaryMap<InstId, PackedOption<BlockId>> {
    let mut blocks = SecondaryMap::with_capacity(f.insts.len());
    blocks.resize(f.insts.len());
    for &b in cfg.rpo() {
        for &i in &f.blocks[b].body {
            blocks[i] = b.into();
        }
    }
    blocks
}

impl Liveness {
    pub fn new(f: &Function, cfg: &Cfg) -> Liveness {
        let mut live = Liveness { values: Vec::new(), ins: SecondaryMap::new(), outs: SecondaryMap::new() };
        if cfg.rpo().len() < 2 {
            return live;
        }
        let blocks = inst_blocks(f, cfg);
        let def_block = |v: ValueId| match f.values[v].def {
            Def::Inst(i) => blocks[i].expand(),
            Def::Block(b) => Some(b),
            Def::Func => Some(f.entry()),
            Def::None => None,
        };
        // Blocks that need a value from outside, in a chain for each value: each with the place of the one before it.
        const END: u32 = u32::MAX;
        let mut needs: Vec<(BlockId, u32)> = Vec::new();
        let mut last: Vec<u32> = vec![END; f.values.len()];
        for &b in cfg.rpo() {
            let mut need = |v: ValueId| {
                let last = &mut last[v.as_u32() as usize];
                let known = needs.get(*last as usize).is_some_and(|n| n.0 == b);
                if !known && def_block(v) != Some(b) {
                    needs.push((b, *last));
                    *last = needs.len() as u32 - 1;
                }
            };
            for &i in &f.blocks[b].body {
                f.insts[i].for_uses(&mut need);
            }
            f.blocks[b].term.for_uses(&mut need);
        }
        if needs.is_empty() {
            return live;
        }
        live.ins.resize(f.blocks.len());
        live.outs.resize(f.blocks.len());
        let mut pairs: Vec<(ValueId, BlockId)> = Vec::with_capacity(2 * needs.len());
        // The value that a block was last found to need.
        let mut seen: SecondaryMap<BlockId, PackedOption<ValueId>> = SecondaryMap::new();
        seen.resize(f.blocks.len());
        let mut work = Vec::new();
        for (v, &last) in f.values.keys().zip(&last) {
            let mut at = last;
            while let Some(&(b, before)) = needs.get(at as usize) {
                at = before;
                if seen[b].expand() != Some(v) {
                    seen[b] = v.into();
                    work.push(b);
                }
            }
            if work.is_empty() {
                continue;
            }
            let def = def_block(v);
            while let Some(b) = work.pop() {
                pairs.push((v, b));
                live.ins[b].1 += 1;
                for &p in cfg.preds(b) {
                    if Some(p) != def && seen[p].expand() != Some(v) {
                        seen[p] = v.into();
                        work.push(p);
                    }
                }
            }
        }
        live.lists(f, cfg, &pairs);
        live
    }

    /// Makes the lists of all blocks of pairs in order of their values: those of entries, whose lengths are known, then unions
    /// of two.
    fn lists(&mut self, f: &Function, cfg: &Cfg, pairs: &[(ValueId, BlockId)]) {
        let mut end = 0;
        for &b in cfg.rpo() {
            let len = self.ins[b].1;
            self.ins[b] = (end, end);
            end += len;
        }
        self.values = vec![ValueId::from_u32(0); pairs.len()];
        for &(v, b) in pairs {
            let at = &mut self.ins[b].1;
            self.values[*at as usize] = v;
            *at += 1;
        }
        for &b in cfg.rpo() {
            let mut part = (0, 0);
            for s in f.blocks[b].term.successors() {
                part = self.union(part, self.ins[s]);
            }
            self.outs[b] = part;
        }
    }

    /// The values of both parts, once each and in order.
    fn union(&mut self, a: Part, b: Part) -> Part {
        if a.0 == a.1 || a == b {
            return b;
        }
        if b.0 == b.1 {
            return a;
        }
        let start = self.values.len() as u32;
        let (mut i, mut j) = (a.0, b.0);
        while i < a.1 && j < b.1 {
            let (x, y) = (self.values[i as usize], self.values[j as usize]);
            i += u32::from(x <= y);
            j += u32::from(y <= x);
            self.values.push(x.min(y));
        }
        let rest = if i < a.1 { i..a.1 } else { j..b.1 };
        self.values.extend_from_within(rest.start as usize..rest.end as usize);
        (start, self.values.len() as u32)
    }

    fn list(&self, part: Part) -> &[ValueId] {
        &self.values[part.0 as usize..part.1 as usize]
    }

    /// Values that the block needs from before it, without its parameters.
    pub fn live_in(&self, b: BlockId) -> &[ValueId] {
        self.list(self.ins[b])
    }

    /// Values that a successor of the block needs, without arguments of edges that nobody else needs.
    pub fn live_out(&self, b: BlockId) -> &[ValueId] {
        self.list(self.outs[b])
    }

    pub fn is_live_in(&self, b: BlockId, v: ValueId) -> bool {
        self.live_in(b).binary_search(&v).is_ok()
    }

    pub fn is_live_out(&self, b: BlockId, v: ValueId) -> bool {
        self.live_out(b).binary_search(&v).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::Builder;
    use crate::ir::{Class, Cond, Edge, Term, Type};

    #[test]
    fn a_loop_keeps_what_it_reads_alive_and_its_parameter_is_not_live_in() {
        let mut f = Function::new("l");
        let n = f.add_param(Class::Gpr);
        let dead = f.add_param(Class::Gpr);
        let (entry, head, exit) = (f.new_block(), f.new_block(), f.new_block());
        let i = f.add_block_param(head, Class::Gpr);
        let zero = Builder::new(&mut f, entry).mov(0);
        f.blocks[entry].term = Term::Jump(Edge { to: head, args: vec![zero] });
        let mut b = Builder::new(&mut f, head);
        let next = b.add(Type::U32, i, 1);
        let more = b.setp(Cond::Lt, Type::U32, next, n);
        b.terminate(Term::Branch {
            cond: more,
            not: false,
            then: Edge { to: head, args: vec![next] },
            els: Edge::to(exit),
        });
        f.blocks[exit].term = Term::Ret(vec![i]);
        let cfg = Cfg::new(&f);
        let live = Liveness::new(&f, &cfg);
        assert_eq!(live.live_in(head), [n]);
        assert_eq!(live.live_out(head), [n, i]);
        assert_eq!(live.live_in(exit), [i]);
        assert_eq!(live.live_out(entry), [n]);
        assert!(live.is_live_in(head, n) && !live.is_live_in(head, i) && !live.is_live_out(entry, dead));
    }
}
