//! Which blocks dominate the one that is being filled, while the graph is still growing.
//!
//! All edges into a block are known when it is entered, but for those that go back to a loop's header, which the
//! header dominates anyway. So its immediate dominator is too: the nearest common dominator of where the edges
//! come from. The dominators of the current block are kept as a path with marks, so asking is a look-up.

use crate::ir::BlockId;
use cranelift_entity::SecondaryMap;

#[derive(Clone, Copy, Default)]
struct Node {
    idom: Option<BlockId>,
    depth: u32,
    /// On the path to the current block.
    active: bool,
}

pub(crate) struct Scope {
    nodes: SecondaryMap<BlockId, Node>,
    path: Vec<BlockId>,
}

impl Scope {
    pub(crate) fn new(entry: BlockId) -> Scope {
        let mut scope = Scope { nodes: SecondaryMap::new(), path: vec![entry] };
        scope.nodes[entry].active = true;
        scope
    }

    /// Whether a block dominates the current one.
    pub(crate) fn holds(&self, block: BlockId) -> bool {
        self.nodes[block].active
    }

    /// Notes an edge to a block that has not been entered (edges back are of no consequence).
    pub(crate) fn edge(&mut self, from: BlockId, to: BlockId) {
        if self.nodes[to].depth > 0 {
            return;
        }
        self.nodes[to].idom = Some(match self.nodes[to].idom {
            None => from,
            Some(other) => self.common(from, other),
        });
    }

    fn common(&self, mut a: BlockId, mut b: BlockId) -> BlockId {
        while a != b {
            let (x, y) = (self.nodes[a], self.nodes[b]);
            if x.depth >= y.depth {
                a = x.idom.unwrap_or(b);
            }
            if y.depth >= x.depth {
                b = y.idom.unwrap_or(a);
            }
        }
        a
    }

    /// Makes a block the current one.
    pub(crate) fn enter(&mut self, block: BlockId) {
        // A block that nothing leads to hangs on the entry: nothing in it is lowered.
        let idom = self.nodes[block].idom.unwrap_or(self.path[0]);
        self.nodes[block].idom = Some(idom);
        self.nodes[block].depth = self.nodes[idom].depth + 1;
        let mut missing = vec![block];
        let mut at = idom;
        while !self.nodes[at].active {
            missing.push(at);
            at = self.nodes[at].idom.unwrap_or(self.path[0]);
        }
        while let Some(&last) = self.path.last()
            && last != at
        {
            self.nodes[last].active = false;
            self.path.pop();
        }
        for b in missing.into_iter().rev() {
            self.nodes[b].active = true;
            self.path.push(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(n: u32) -> BlockId {
        BlockId::from_u32(n)
    }

    #[test]
    fn an_arm_that_is_the_only_way_dominates_the_join() {
        let [entry, then, els, join] = [0, 1, 2, 3].map(block);
        let mut s = Scope::new(entry);
        s.edge(entry, then);
        s.edge(entry, els);
        s.enter(then);
        assert!(s.holds(entry) && s.holds(then));
        s.edge(then, join);
        s.enter(els);
        assert!(s.holds(els) && !s.holds(then));
        // The other arm breaks out of a loop.
        s.enter(join);
        assert!(s.holds(then) && !s.holds(els) && s.holds(entry));
    }

    #[test]
    fn the_arms_of_a_diamond_do_not_dominate_the_join() {
        let [entry, then, els, join] = [0, 1, 2, 3].map(block);
        let mut s = Scope::new(entry);
        s.edge(entry, then);
        s.edge(entry, els);
        s.enter(then);
        s.edge(then, join);
        s.enter(els);
        s.edge(els, join);
        s.enter(join);
        assert!(s.holds(entry) && s.holds(join) && !s.holds(then) && !s.holds(els));
    }
}
