//! Reverse postorder and dominators of the graph.

use super::graph::Graph;

/// Neither reached nor numbered.
const NONE: u32 = u32::MAX;

/// Lists of numbers by number, one behind the other.
struct Lists {
    all: Vec<u32>,
    /// Where each begins.
    starts: Vec<u32>,
}

impl Lists {
    /// So many lists, of pairs of the list and what comes next in it.
    fn new(count: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Lists {
        let mut starts = vec![0; count + 2];
        pairs.clone().for_each(|(list, _)| starts[list as usize + 2] += 1);
        for k in 2..starts.len() {
            starts[k] += starts[k - 1];
        }
        let mut all = vec![0; starts[count + 1] as usize];
        for (list, x) in pairs {
            let next = &mut starts[list as usize + 1];
            all[*next as usize] = x;
            *next += 1;
        }
        Lists { all, starts }
    }

    fn get(&self, list: usize) -> &[u32] {
        &self.all[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// Where each node stands in reverse postorder, and what dominates it.
pub(super) struct Order {
    /// Nodes in reverse postorder.
    pub(super) list: Vec<usize>,
    position: Vec<u32>,
    /// Positions of immediate dominators, by position.
    idom: Vec<u32>,
    /// For each node its place in a walk over the dominator tree, and that behind the last that it dominates.
    begin: Vec<u32>,
    end: Vec<u32>,
}

impl Order {
    pub(super) fn of(g: &Graph) -> Order {
        let n = g.nodes.len();
        let mut position = vec![NONE; n];
        let mut post = Vec::with_capacity(n);
        let mut seen = vec![false; n];
        let mut stack = vec![(0, 0)];
        seen[0] = true;
        while let Some((node, edge)) = stack.pop() {
            // The last edge first, so that the first comes first in the end.
            let edges = || g.nodes[node].term.edges();
            let next = edges().count().checked_sub(edge + 1).and_then(|i| edges().nth(i));
            match next.map(|e| e.to) {
                Some(to) => {
                    stack.push((node, edge + 1));
                    if !seen[to] {
                        seen[to] = true;
                        stack.push((to, 0));
                    }
                }
                None => post.push(node),
            }
        }
        post.reverse();
        for (at, &node) in post.iter().enumerate() {
            position[node] = at as u32;
        }
        let mut order =
            Order { list: post, position, idom: Vec::new(), begin: vec![NONE; n], end: vec![NONE; n] };
        order.dominators(g);
        order.tree();
        order
    }

    /// Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm.
    fn dominators(&mut self, g: &Graph) {
        let edges =
            (0..).zip(&self.list).flat_map(|(at, &node)| g.nodes[node].term.edges().map(move |e| (at, e.to)));
        let preds = Lists::new(self.list.len(), edges.map(|(at, to)| (self.position[to], at)));
        self.idom = vec![NONE; self.list.len()];
        self.idom[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..self.list.len() {
                let mut new = NONE;
                for &p in preds.get(at) {
                    if self.idom[p as usize] != NONE {
                        new = if new == NONE { p } else { self.common(p, new) };
                    }
                }
                if self.idom[at] != new {
                    self.idom[at] = new;
                    changed = true;
                }
            }
        }
    }

    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if a > b {
                a = self.idom[a as usize];
            } else {
                b = self.idom[b as usize];
            }
        }
        a
    }

    fn tree(&mut self) {
        let parents = (0..).zip(&self.idom).skip(1);
        let children = Lists::new(self.list.len(), parents.map(|(at, &parent)| (parent, at)));
        let mut stack = vec![(0, 0)];
        let mut met = 0;
        while let Some((at, child)) = stack.pop() {
            if child == 0 {
                self.begin[self.list[at]] = met;
                met += 1;
            }
            match children.get(at).get(child) {
                Some(&c) => {
                    stack.push((at, child + 1));
                    stack.push((c as usize, 0));
                }
                None => self.end[self.list[at]] = met,
            }
        }
    }

    /// Where a node stands; behind all others if it is newer.
    pub(super) fn position(&self, node: usize) -> u32 {
        self.position.get(node).copied().unwrap_or(NONE)
    }

    pub(super) fn idom(&self, node: usize) -> usize {
        self.list[self.idom[self.position[node] as usize] as usize]
    }

    pub(super) fn dominates(&self, a: usize, b: usize) -> bool {
        self.begin[a] <= self.begin[b] && self.begin[b] < self.end[a]
    }

    /// A node's place in a walk over the dominator tree, and that behind the last that it dominates.
    pub(super) fn range(&self, node: usize) -> (u32, u32) {
        (self.begin[node], self.end[node])
    }
}
