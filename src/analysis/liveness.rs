//! Liveness: which values each block needs on entry and hands on at its end.
//!
//! Computed value by value: from each use the predecessors are walked up to the definition
//! (Boissinot et al., "Computing liveness sets for SSA-form programs", 2011), so that the work is
//! the size of the result. What a block hands on is what its successors need: with one successor it
//! is the same list.
//!
//! Parameters of a block are defined on its entry: they are not live in. The arguments of an edge
//! are used at the end of the block that it leaves; they are not live out because of it.

use super::cfg::Cfg;
use crate::ir::{BlockId, Def, Function, InstId, ValueId};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// A part of the list of values that all blocks share.
type Part = (u32, u32);

/// Live-in and live-out values of every reachable block, in order of their numbers.
#[derive(Clone, Default)]
pub(crate) struct Liveness {
    values: Vec<ValueId>,
    ins: SecondaryMap<BlockId, Part>,
    outs: SecondaryMap<BlockId, Part>,
}

/// The block that every instruction stands in; none for those in no reachable block.
pub(crate) fn inst_blocks(f: &Function, cfg: &Cfg) -> SecondaryMap<InstId, PackedOption<BlockId>> {
    let mut blocks = SecondaryMap::with_capacity(f.insts.len());
    blocks.resize(f.insts.len());
    for &b in cfg.rpo() {
        for &i in &f.blocks[b].body {
            blocks[i] = b.into();
        }
    }
    blocks
}

/// The walk of one value after another from its uses up to its definition.
struct Walk<'a> {
    f: &'a Function,
    cfg: &'a Cfg,
    blocks: SecondaryMap<InstId, PackedOption<BlockId>>,
    /// Blocks that need a value from outside, in a chain for each value: each with the place of the
    /// one before it.
    needs: Vec<(BlockId, u32)>,
    last: Vec<u32>,
    /// The value that a block was last found to need.
    seen: SecondaryMap<BlockId, PackedOption<ValueId>>,
    work: Vec<BlockId>,
}

/// The end of a chain.
const END: u32 = u32::MAX;

impl Walk<'_> {
    fn new<'a>(f: &'a Function, cfg: &'a Cfg) -> Walk<'a> {
        let mut w = Walk {
            f,
            cfg,
            blocks: inst_blocks(f, cfg),
            needs: Vec::with_capacity(f.values.len()),
            last: vec![END; f.values.len()],
            seen: SecondaryMap::new(),
            work: Vec::new(),
        };
        let (mut needs, mut last) = (std::mem::take(&mut w.needs), std::mem::take(&mut w.last));
        for &b in cfg.rpo() {
            let mut need = |v: ValueId| {
                let last = &mut last[v.as_u32() as usize];
                let known = needs.get(*last as usize).is_some_and(|n| n.0 == b);
                if !known && w.def_block(v) != Some(b) {
                    needs.push((b, *last));
                    *last = needs.len() as u32 - 1;
                }
            };
            for &i in &f.blocks[b].body {
                f.insts[i].for_uses(&mut need);
            }
            f.blocks[b].term.for_uses(&mut need);
        }
        (w.needs, w.last) = (needs, last);
        if !w.needs.is_empty() {
            w.seen.resize(f.blocks.len());
        }
        w
    }

    fn def_block(&self, v: ValueId) -> Option<BlockId> {
        match self.f.values[v].def {
            Def::Inst(i) => self.blocks[i].expand(),
            Def::Block(b) => Some(b),
            Def::Func => Some(self.f.entry()),
            Def::None => None,
        }
    }

    /// Calls `found` with each block that needs the value on entry, until it says that these are
    /// enough. Tells whether it never did.
    fn value(&mut self, v: ValueId, mut found: impl FnMut(BlockId) -> bool) -> bool {
        let (seen, work) = (&mut self.seen, &mut self.work);
        let mut at = self.last[v.as_u32() as usize];
        while let Some(&(b, before)) = self.needs.get(at as usize) {
            at = before;
            if seen[b].expand() != Some(v) {
                seen[b] = v.into();
                work.push(b);
            }
        }
        if self.work.is_empty() {
            return true;
        }
        let def = self.def_block(v);
        let (seen, work) = (&mut self.seen, &mut self.work);
        while let Some(b) = work.pop() {
            if found(b) {
                work.clear();
                return false;
            }
            for &p in self.cfg.preds(b) {
                if Some(p) != def && seen[p].expand() != Some(v) {
                    seen[p] = v.into();
                    work.push(p);
                }
            }
        }
        true
    }
}

/// Values that more than `most` blocks need on entry, in order of their numbers. The work is `most`
/// for each value.
pub(crate) fn far_values(f: &Function, cfg: &Cfg, most: usize) -> Vec<ValueId> {
    let mut walk = Walk::new(f, cfg);
    let mut far = Vec::new();
    for v in f.values.keys() {
        let mut blocks = 0;
        let all = walk.value(v, |_| {
            blocks += 1;
            blocks > most
        });
        if !all {
            far.push(v);
        }
    }
    far
}

/// Live-in values for each instruction and block: real programs have three at most, so large ones
/// stay far below it.
pub(crate) const LIVE_FOR_EACH: usize = 32;
/// As many are always allowed.
const LIVE_ANYWAY: usize = 1 << 16;

impl Liveness {
    /// The same as [`Liveness::new`], unless it is more than the function is large: nested loops
    /// that all keep a value have as many live-in values as the square of their number. Passes
    /// that can do without it do so then.
    pub(crate) fn bounded(f: &Function, cfg: &Cfg) -> Option<Liveness> {
        Liveness::within(f, cfg, LIVE_ANYWAY + LIVE_FOR_EACH * (f.insts.len() + f.blocks.len()))
    }

    /// The same for passes that gain little, and only where few values live far.
    pub(crate) fn of_few(f: &Function, cfg: &Cfg) -> Option<Liveness> {
        Liveness::within(f, cfg, (LIVE_ANYWAY + LIVE_FOR_EACH * (f.insts.len() + f.blocks.len())) / 4)
    }

    pub(crate) fn new(f: &Function, cfg: &Cfg) -> Liveness {
        Liveness::within(f, cfg, usize::MAX).unwrap_or_default()
    }

    /// The same, unless the live-in values of all blocks are more than `most` together.
    fn within(f: &Function, cfg: &Cfg, most: usize) -> Option<Liveness> {
        let mut live = Liveness::default();
        if cfg.rpo().len() < 2 {
            return Some(live);
        }
        let mut walk = Walk::new(f, cfg);
        if walk.needs.is_empty() {
            return Some(live);
        }
        live.ins.resize(f.blocks.len());
        live.outs.resize(f.blocks.len());
        // The blocks that need each value: of all values one after the other, and where each ends.
        let mut blocks: Vec<BlockId> = Vec::with_capacity(2 * walk.needs.len());
        let mut ends: Vec<(ValueId, usize)> = Vec::with_capacity(walk.needs.len());
        for v in f.values.keys() {
            let before = blocks.len();
            let all = walk.value(v, |b| {
                let full = blocks.len() >= most;
                if !full {
                    blocks.push(b);
                    live.ins[b].1 += 1;
                }
                full
            });
            if !all {
                return None;
            }
            if blocks.len() > before {
                ends.push((v, blocks.len()));
            }
        }
        live.lists(f, cfg, &blocks, &ends);
        Some(live)
    }

    /// Makes the lists of all blocks of the blocks that need each value, in order of the values: those
    /// of entries, whose lengths are known, then unions of two.
    fn lists(&mut self, f: &Function, cfg: &Cfg, blocks: &[BlockId], ends: &[(ValueId, usize)]) {
        let mut end = 0;
        for &b in cfg.rpo() {
            let len = self.ins[b].1;
            self.ins[b] = (end, end);
            end += len;
        }
        self.values = vec![ValueId::from_u32(0); blocks.len()];
        let mut from = 0;
        for &(v, to) in ends {
            for &b in &blocks[from..to] {
                let at = &mut self.ins[b].1;
                self.values[*at as usize] = v;
                *at += 1;
            }
            from = to;
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
    pub(crate) fn live_in(&self, b: BlockId) -> &[ValueId] {
        self.list(self.ins[b])
    }

    /// Values that a successor of the block needs, without arguments of edges that nobody else
    /// needs.
    pub(crate) fn live_out(&self, b: BlockId) -> &[ValueId] {
        self.list(self.outs[b])
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
        assert!(live.live_in(head).contains(&n) && !live.live_in(head).contains(&i));
        assert!(!live.live_out(entry).contains(&dead));
    }
}
