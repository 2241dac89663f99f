//! The control-flow graph: predecessors, reverse postorder, dominators, loops.
//!
//! [`Cfg::new`] is near-linear in blocks and edges. Nothing is kept up to date: whoever changes
//! edges computes it again.
//!
//! Blocks that cannot be reached from the entry are in no list here and have no dominator;
//! [`Cfg::reachable`] tells them. Where an edge of a branch leads to the same block as the other,
//! the block occurs twice among the predecessors, once for each edge.

use crate::ir::{BlockId, Function};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// A part of a list that all blocks share.
#[derive(Clone, Copy, Default)]
struct Part {
    start: u32,
    end: u32,
}

impl Part {
    fn slice(self, list: &[BlockId]) -> &[BlockId] {
        &list[self.start as usize..self.end as usize]
    }

    /// Turns parts that hold only their lengths, in their ends, into empty ones with room for
    /// these; gives the sum.
    fn lay_out<'p>(parts: impl Iterator<Item = &'p mut Part>) -> usize {
        let mut at = 0;
        for p in parts {
            let len = p.end;
            *p = Part { start: at, end: at };
            at += len;
        }
        at as usize
    }

    fn push(&mut self, list: &mut [BlockId], b: BlockId) {
        list[self.end as usize] = b;
        self.end += 1;
    }
}

/// What is known of one block.
#[derive(Clone, Default)]
struct Node {
    preds: Part,
    /// Position in reverse postorder, `u32::MAX` if not reachable.
    order: u32,
    idom: PackedOption<BlockId>,
    children: Part,
    /// Entry and exit times of a walk of the dominator tree.
    pre: u32,
    post: u32,
    /// Header of the innermost loop around the block.
    header: PackedOption<BlockId>,
    /// Of a header: header of the next loop around it.
    parent: PackedOption<BlockId>,
    /// Loops around the block.
    depth: u32,
}

/// The blocks in the order in which a depth-first walk meets them.
struct Walk {
    /// `u32::MAX` for a block that is not reachable.
    number: SecondaryMap<BlockId, u32>,
    blocks: Vec<BlockId>,
    /// Numbers of the blocks that they were met from.
    parent: Vec<u32>,
}

/// The natural loops, numbered so that the loops inside one are a range: see [`Cfg::loop_tree`].
pub(crate) struct LoopTree<'c> {
    cfg: &'c Cfg,
    spans: SecondaryMap<BlockId, (u32, u32)>,
}

impl LoopTree<'_> {
    /// Whether `b` lies in the loop of header `h`, in constant time.
    pub(crate) fn contains(&self, h: BlockId, b: BlockId) -> bool {
        let (start, end) = self.spans[h];
        self.cfg.loop_header(b).is_some_and(|inner| (start..end).contains(&self.spans[inner].0))
    }
}

/// The graph of a function's blocks.
#[derive(Clone)]
pub(crate) struct Cfg {
    nodes: SecondaryMap<BlockId, Node>,
    rpo: Vec<BlockId>,
    /// Predecessors, and children in the dominator tree, of all blocks.
    preds: Vec<BlockId>,
    children: Vec<BlockId>,
}

impl Cfg {
    pub(crate) fn new(f: &Function) -> Cfg {
        let unreached = Node { order: u32::MAX, ..Node::default() };
        let mut cfg = Cfg {
            nodes: SecondaryMap::with_default(unreached),
            rpo: Vec::new(),
            preds: Vec::new(),
            children: Vec::new(),
        };
        if f.layout.is_empty() {
            return cfg;
        }
        cfg.nodes.resize(f.blocks.len());
        if let [only] = *f.layout
            && f.blocks[only].term.successors().next().is_none()
        {
            cfg.nodes[only].order = 0;
            cfg.nodes[only].post = 1;
            cfg.rpo.push(only);
            return cfg;
        }
        let walk = cfg.order(f);
        cfg.dominators(f, walk);
        cfg.number_tree(f.entry());
        cfg.loops();
        cfg
    }

    /// Reachable blocks, each before its successors but for back edges; every block after its
    /// dominators.
    pub(crate) fn rpo(&self) -> &[BlockId] {
        &self.rpo
    }

    pub(crate) fn reachable(&self, b: BlockId) -> bool {
        self.nodes[b].order != u32::MAX
    }

    /// Position in [`Cfg::rpo`]; `u32::MAX` for a block that is not reachable.
    pub(crate) fn order_of(&self, b: BlockId) -> u32 {
        self.nodes[b].order
    }

    /// Reachable predecessors, once for each edge.
    pub(crate) fn preds(&self, b: BlockId) -> &[BlockId] {
        self.nodes[b].preds.slice(&self.preds)
    }

    /// The immediate dominator; none for the entry and for blocks that are not reachable.
    pub(crate) fn idom(&self, b: BlockId) -> Option<BlockId> {
        self.nodes[b].idom.expand()
    }

    /// Blocks whose immediate dominator `b` is, in reverse postorder.
    pub(crate) fn dom_children(&self, b: BlockId) -> &[BlockId] {
        self.nodes[b].children.slice(&self.children)
    }

    /// Whether every path from the entry to `b` goes through `a` (a block dominates itself). In
    /// constant time.
    pub(crate) fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        self.reachable(a)
            && self.reachable(b)
            && self.nodes[a].pre <= self.nodes[b].pre
            && self.nodes[b].post <= self.nodes[a].post
    }

    /// Header of the innermost natural loop that contains `b` (itself, if it is a header).
    pub(crate) fn loop_header(&self, b: BlockId) -> Option<BlockId> {
        self.nodes[b].header.expand()
    }

    pub(crate) fn is_loop_header(&self, b: BlockId) -> bool {
        self.loop_header(b) == Some(b)
    }

    /// Natural loops around `b`.
    pub(crate) fn loop_depth(&self, b: BlockId) -> u32 {
        self.nodes[b].depth
    }

    /// Header of the loop that encloses the loop of header `h`.
    pub(crate) fn parent_loop(&self, h: BlockId) -> Option<BlockId> {
        self.nodes[h].parent.expand()
    }

    /// Which loops contain which, for many questions.
    pub(crate) fn loop_tree(&self) -> LoopTree<'_> {
        let mut spans: SecondaryMap<BlockId, (u32, u32)> = SecondaryMap::new();
        spans.resize(self.nodes.keys().len());
        let headers = || self.rpo.iter().copied().filter(|&b| self.is_loop_header(b));
        // Loops in each, itself counted: inner headers come later.
        for h in headers().rev() {
            spans[h].1 += 1;
            if let Some(p) = self.parent_loop(h) {
                spans[p].1 += spans[h].1;
            }
        }
        // Numbers so that those of inner loops follow: from the first that is free in the loop
        // around.
        let mut free: SecondaryMap<BlockId, u32> = SecondaryMap::new();
        let mut outermost = 0;
        for h in headers() {
            let at = self.parent_loop(h).map_or(&mut outermost, |p| &mut free[p]);
            let start = *at;
            *at += spans[h].1;
            free[h] = start + 1;
            spans[h] = (start, start + spans[h].1);
        }
        LoopTree { cfg: self, spans }
    }

    /// Predecessors and reverse postorder, by a walk with a stack of its own: input may nest
    /// deeply.
    fn order(&mut self, f: &Function) -> Walk {
        let entry = f.entry();
        let mut number = SecondaryMap::with_default(u32::MAX);
        number.resize(f.blocks.len());
        number[entry] = 0;
        let room = f.layout.len();
        let mut walk = Walk { number, blocks: Vec::with_capacity(room), parent: Vec::with_capacity(room) };
        walk.blocks.push(entry);
        walk.parent.push(0);
        self.rpo.reserve(room);
        // Each block with the number of its successors that were walked, the last one first.
        let mut stack = Vec::with_capacity(room);
        stack.push((entry, 0));
        while let Some((b, walked)) = stack.last_mut() {
            let next = f.blocks[*b].term.successors().nth_back(*walked);
            *walked += 1;
            match next {
                Some(s) if walk.number[s] != u32::MAX => {}
                Some(s) => {
                    walk.number[s] = walk.blocks.len() as u32;
                    walk.blocks.push(s);
                    walk.parent.push(walk.number[*b]);
                    stack.push((s, 0));
                }
                None => {
                    self.rpo.push(*b);
                    stack.pop();
                }
            }
        }
        self.rpo.reverse();
        for (i, &b) in self.rpo.iter().enumerate() {
            self.nodes[b].order = i as u32;
        }
        let nodes = &mut self.nodes;
        let edges = || self.rpo.iter().flat_map(|&b| f.blocks[b].term.successors().map(move |s| (b, s)));
        edges().for_each(|(_, s)| nodes[s].preds.end += 1);
        let count = Part::lay_out(nodes.values_mut().map(|n| &mut n.preds));
        self.preds = vec![entry; count];
        edges().for_each(|(b, s)| nodes[s].preds.push(&mut self.preds, b));
        walk
    }

    /// Immediate dominators by the semi-NCA algorithm (Georgiadis, "Linear-time algorithms for
    /// dominators and related problems", 2005) over depth-first numbers.
    fn dominators(&mut self, f: &Function, walk: Walk) {
        let entry = f.entry();
        let Walk { number, blocks, parent } = walk;
        let n = blocks.len();
        let mut idom = parent.clone();
        let mut semi: Vec<u32> = (0..n as u32).collect();
        // Forest of finished vertices: the ancestor, and the vertex of least semidominator on the
        // way to it.
        let mut ancestor = parent;
        let mut label: Vec<u32> = (0..n as u32).collect();
        let mut path = Vec::new();
        for w in (1..n as u32).rev() {
            let mut least = w;
            for &p in self.preds(blocks[w as usize]) {
                let v = number[p];
                let u = if v <= w { v } else { compress(v, w, &mut ancestor, &mut label, &semi, &mut path) };
                least = least.min(semi[u as usize]);
            }
            semi[w as usize] = least;
            label[w as usize] = w;
        }
        for w in 1..n {
            let mut d = idom[w];
            while d > semi[w] {
                d = idom[d as usize];
            }
            idom[w] = d;
            self.nodes[blocks[w]].idom = blocks[d as usize].into();
        }
        let nodes = &mut self.nodes;
        for &b in &blocks[1..] {
            let d = nodes[b].idom.expand().unwrap_or(entry);
            nodes[d].children.end += 1;
        }
        let count = Part::lay_out(nodes.values_mut().map(|n| &mut n.children));
        self.children = vec![entry; count];
        for &b in &self.rpo[1..] {
            let d = nodes[b].idom.expand().unwrap_or(entry);
            nodes[d].children.push(&mut self.children, b);
        }
    }

    fn number_tree(&mut self, entry: BlockId) {
        let mut time = 0;
        let mut stack = Vec::with_capacity(self.rpo.len());
        stack.push((entry, 0));
        while let Some((b, child)) = stack.pop() {
            if child == 0 {
                self.nodes[b].pre = time;
                time += 1;
            }
            match self.dom_children(b).get(child).copied() {
                Some(c) => {
                    stack.push((b, child + 1));
                    stack.push((c, 0));
                }
                None => {
                    self.nodes[b].post = time;
                    time += 1;
                }
            }
        }
    }

    /// Natural loops, inner ones before outer ones: their headers come later in reverse postorder.
    fn loops(&mut self) {
        for i in (0..self.rpo.len()).rev() {
            let h = self.rpo[i];
            let latches = self.preds(h).iter().copied().filter(|&p| self.dominates(h, p));
            let mut worklist: Vec<BlockId> = latches.collect();
            if worklist.is_empty() {
                continue;
            }
            self.nodes[h].header = h.into();
            while let Some(b) = worklist.pop() {
                let Some(mut inner) = self.loop_header(b) else {
                    self.nodes[b].header = h.into();
                    worklist.extend_from_slice(self.preds(b));
                    continue;
                };
                while let Some(outer) = self.parent_loop(inner) {
                    inner = outer;
                }
                if inner != h {
                    self.nodes[inner].parent = h.into();
                    worklist.extend_from_slice(self.preds(inner));
                }
            }
        }
        for i in 0..self.rpo.len() {
            let b = self.rpo[i];
            self.nodes[b].depth = match self.loop_header(b) {
                Some(h) if h == b => self.parent_loop(h).map_or(0, |p| self.nodes[p].depth) + 1,
                Some(h) => self.nodes[h].depth,
                None => 0,
            };
        }
    }
}

/// The vertex of least semidominator on the path from `v` up to the finished vertices above `w`,
/// which it shortens.
fn compress(
    v: u32,
    w: u32,
    ancestor: &mut [u32],
    label: &mut [u32],
    semi: &[u32],
    path: &mut Vec<u32>,
) -> u32 {
    let mut at = v;
    while ancestor[at as usize] > w {
        path.push(at);
        at = ancestor[at as usize];
    }
    while let Some(x) = path.pop() {
        let a = ancestor[x as usize] as usize;
        if semi[label[a] as usize] < semi[label[x as usize] as usize] {
            label[x as usize] = label[a];
        }
        ancestor[x as usize] = ancestor[a];
    }
    label[v as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Class, Edge, Term};

    /// A function of empty blocks with the given successors (two: a branch).
    fn graph(edges: &[&[usize]]) -> (Function, Vec<BlockId>) {
        let mut f = Function::new("g");
        let p = f.add_param(Class::Pred);
        let blocks: Vec<BlockId> = edges.iter().map(|_| f.new_block()).collect();
        for (i, succ) in edges.iter().enumerate() {
            f.blocks[blocks[i]].term = match **succ {
                [] => Term::Exit,
                [a] => Term::Jump(Edge::to(blocks[a])),
                [a, b, ..] => {
                    Term::Branch { cond: p, not: false, then: Edge::to(blocks[a]), els: Edge::to(blocks[b]) }
                }
            };
        }
        (f, blocks)
    }

    #[test]
    fn a_join_is_dominated_by_the_branch_and_by_none_of_its_arms() {
        let (f, b) = graph(&[&[1, 2], &[3], &[3], &[]]);
        let cfg = Cfg::new(&f);
        assert_eq!(cfg.idom(b[3]), Some(b[0]));
        assert!(cfg.dominates(b[0], b[3]) && !cfg.dominates(b[1], b[3]) && cfg.dominates(b[3], b[3]));
        assert_eq!(cfg.preds(b[3]).len(), 2);
    }

    #[test]
    fn nested_loops_have_their_headers_parents_and_depths() {
        // 0 -> 1(outer) -> 2(inner) -> 3 -> 2 | 4 -> 1 | 5
        let (f, b) = graph(&[&[1], &[2], &[3], &[2, 4], &[1, 5], &[]]);
        let cfg = Cfg::new(&f);
        let depths: Vec<u32> = b.iter().map(|&x| cfg.loop_depth(x)).collect();
        assert_eq!(depths, [0, 1, 2, 2, 1, 0]);
        assert_eq!(cfg.parent_loop(b[2]), Some(b[1]));
        assert_eq!(cfg.loop_header(b[4]), Some(b[1]));
        let tree = cfg.loop_tree();
        for (h, inside) in [(b[1], vec![b[1], b[2], b[3], b[4]]), (b[2], vec![b[2], b[3]])] {
            for &x in &b {
                assert_eq!(tree.contains(h, x), inside.contains(&x), "{h} {x}");
            }
        }
    }

    #[test]
    fn unreachable_blocks_and_double_edges_are_told() {
        let (f, b) = graph(&[&[2, 2], &[2], &[]]);
        let cfg = Cfg::new(&f);
        assert!(!cfg.reachable(b[1]) && cfg.reachable(b[2]));
        assert_eq!(cfg.preds(b[2]), [b[0], b[0]]);
        assert_eq!(cfg.idom(b[2]), Some(b[0]));
    }

    /// Dominators by definition: `a` dominates `b` if `b` cannot be reached without it.
    fn dominates_by_definition(f: &Function, a: BlockId, b: BlockId) -> bool {
        let mut seen: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut worklist = vec![f.entry()];
        while let Some(x) = worklist.pop() {
            if x != a && !std::mem::replace(&mut seen[x], true) {
                worklist.extend(f.blocks[x].term.successors());
            }
        }
        !seen[b]
    }

    #[test]
    fn dominators_of_random_graphs_are_those_of_the_definition() {
        arbtest::arbtest(|u| {
            let n: usize = u.int_in_range(1..=9)?;
            let mut edges: Vec<Vec<usize>> = Vec::new();
            for _ in 0..n {
                let k = u.int_in_range(0..=2)?;
                // Nothing jumps to the entry.
                let succ: Vec<usize> = if n == 1 {
                    vec![]
                } else {
                    (0..k).map(|_| u.int_in_range(1..=n - 1)).collect::<Result<_, _>>()?
                };
                edges.push(succ);
            }
            let edges: Vec<&[usize]> = edges.iter().map(|e| &e[..]).collect();
            let (f, b) = graph(&edges);
            let cfg = Cfg::new(&f);
            for &x in b.iter().filter(|&&x| cfg.reachable(x)) {
                for &y in b.iter().filter(|&&y| cfg.reachable(y)) {
                    assert_eq!(cfg.dominates(x, y), dominates_by_definition(&f, x, y), "{x} {y} {edges:?}");
                }
            }
            Ok(())
        });
    }

    #[test]
    fn a_hundred_thousand_nested_branches_do_not_overflow_the_stack() {
        let n = 100_000;
        let edges: Vec<Vec<usize>> =
            (0..n).map(|i| if i + 1 < n { vec![i + 1, n - 1] } else { vec![] }).collect();
        let edges: Vec<&[usize]> = edges.iter().map(|e| &e[..]).collect();
        let (f, b) = graph(&edges);
        let cfg = Cfg::new(&f);
        assert_eq!(cfg.idom(b[n - 1]), Some(b[0]));
        assert_eq!(cfg.idom(b[n - 2]), Some(b[n - 3]));
    }
}
