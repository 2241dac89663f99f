//! Liveness: which values each block needs on entry and hands on at its end.
//!
//! Computed value by value: from each use the predecessors are walked up to the definition (Boissinot et al.,
//! "Computing liveness sets for SSA-form programs", 2011), so that the work is the size of the result.
//!
//! Parameters of a block are defined on its entry: they are not live in. The arguments of an edge are used at the
//! end of the block that it leaves; they are not live out because of it.

use super::cfg::Cfg;
use crate::ir::{BlockId, Def, Function, InstId, ValueId};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Live-in and live-out values of every reachable block, in order of their numbers.
#[derive(Clone)]
pub struct Liveness {
    ins: SecondaryMap<BlockId, Vec<ValueId>>,
    outs: SecondaryMap<BlockId, Vec<ValueId>>,
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
        let mut live = Liveness { ins: SecondaryMap::new(), outs: SecondaryMap::new() };
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
        // Blocks that need a value from outside, in compressed rows: the pairs sorted by value.
        let mut needs: Vec<(ValueId, BlockId)> = Vec::new();
        let mut last: SecondaryMap<ValueId, PackedOption<BlockId>> = SecondaryMap::new();
        last.resize(f.values.len());
        for &b in cfg.rpo() {
            let mut need = |v: ValueId| {
                if last[v].expand() != Some(b) && def_block(v) != Some(b) {
                    last[v] = b.into();
                    needs.push((v, b));
                }
            };
            for &i in &f.blocks[b].body {
                f.insts[i].for_uses(&mut need);
            }
            f.blocks[b].term.for_uses(&mut need);
        }
        needs.sort_unstable_by_key(|&(v, _)| v);

        let mut work = Vec::new();
        for (v, b) in needs {
            let def = def_block(v);
            work.push(b);
            while let Some(b) = work.pop() {
                if live.ins[b].last() == Some(&v) {
                    continue;
                }
                live.ins[b].push(v);
                for &p in cfg.preds(b) {
                    if live.outs[p].last() != Some(&v) {
                        live.outs[p].push(v);
                        if Some(p) != def {
                            work.push(p);
                        }
                    }
                }
            }
        }
        live
    }

    /// Values that the block needs from before it, without its parameters.
    pub fn live_in(&self, b: BlockId) -> &[ValueId] {
        &self.ins[b]
    }

    /// Values that a successor of the block needs, without arguments of edges that nobody else needs.
    pub fn live_out(&self, b: BlockId) -> &[ValueId] {
        &self.outs[b]
    }

    pub fn is_live_in(&self, b: BlockId, v: ValueId) -> bool {
        self.ins[b].binary_search(&v).is_ok()
    }

    pub fn is_live_out(&self, b: BlockId, v: ValueId) -> bool {
        self.outs[b].binary_search(&v).is_ok()
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
