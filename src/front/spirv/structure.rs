//! From the graph to nested constructs.
//!
//! The dominator tree is walked as in "Beyond Relooper" (Ramsey, ICFP 2022): where several edges meet is the end of a region
//! that begins at its dominator; an edge to it falls through or leaves the region. Loops have one way in and one out
//! ([`super::loops`]), so all that belongs to one stands in it, and what is behind it follows.
//!
//! Each node is met once, and each edge once, so this ends. Regions that no edge leaves early are left out in the end.

use super::graph::{Graph, Term};
use super::loops::Loop;
use super::order::Order;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    /// A node's instructions.
    Code(usize),
    /// The `if` of a node's test (or its opposite), with one arm.
    If {
        node: usize,
        not: bool,
    },
    /// The `if` of a node's test, with two arms.
    IfElse(usize),
    Else,
    EndIf,
    /// A region that ends before a node.
    Region(usize),
    EndRegion,
    /// A loop, by its number.
    Loop(usize),
    EndLoop,
    /// What an edge writes: a node, and which of its edges.
    Edge(usize, usize),
    /// To a node that does not follow.
    Goto(usize),
    Leave,
}

enum Task {
    Item(Item),
    /// A node and what it dominates; what follows, if control comes to the end of that.
    Tree(usize, Option<usize>),
    /// The same without the loop that it is the header of.
    Body(usize, Option<usize>),
    Core(usize, Option<usize>),
    Edge(usize, usize, Option<usize>),
}

struct Build<'a> {
    g: &'a Graph,
    order: &'a Order,
    loops: &'a [Loop],
    /// The loop whose header a node is.
    header_of: Vec<Option<usize>>,
    /// It stands behind a loop.
    after: Vec<bool>,
    /// Edges that come forward.
    incoming: Vec<u32>,
    /// Places in the dominator tree of nodes that go to a node, in order.
    sources: Vec<Vec<u32>>,
    /// Nodes where edges meet, by their dominators.
    meets: Vec<Vec<usize>>,
}

pub(super) fn build(g: &Graph, loops: &[Loop]) -> Vec<Item> {
    let order = &Order::of(g);
    let n = g.nodes.len();
    let mut b = Build {
        g,
        order,
        loops,
        header_of: vec![None; n],
        after: vec![false; n],
        incoming: vec![0; n],
        sources: vec![Vec::new(); n],
        meets: vec![Vec::new(); n],
    };
    for (i, l) in loops.iter().enumerate() {
        b.header_of[l.header] = Some(i);
        if let Some(after) = l.after {
            b.after[after] = true;
        }
    }
    for &node in &order.list {
        for e in g.nodes[node].term.edges() {
            b.sources[e.to].push(order.range(node).0);
            if !order.dominates(e.to, node) {
                b.incoming[e.to] += 1;
            }
        }
    }
    b.sources.iter_mut().for_each(|list| list.sort_unstable());
    for &node in &order.list[1..] {
        if b.incoming[node] > 1 && !b.after[node] {
            b.meets[order.idom(node)].push(node);
        }
    }
    let mut items = Vec::new();
    let mut tasks = vec![Task::Tree(0, None)];
    while let Some(task) = tasks.pop() {
        match task {
            Task::Item(item) => items.push(item),
            task => {
                let at = tasks.len();
                b.step(task, &mut tasks);
                // They were told in order.
                tasks[at..].reverse();
            }
        }
    }
    without_unused(items, n)
}

impl Build<'_> {
    fn step(&self, task: Task, out: &mut Vec<Task>) {
        match task {
            Task::Item(item) => out.push(Task::Item(item)),
            Task::Tree(node, follow) => match self.header_of[node] {
                Some(l) => {
                    out.push(Task::Item(Item::Loop(l)));
                    out.push(Task::Body(node, Some(node)));
                    out.push(Task::Item(Item::EndLoop));
                    if let Some(after) = self.loops[l].after {
                        out.push(Task::Tree(after, follow));
                    }
                }
                None => out.push(Task::Body(node, follow)),
            },
            Task::Body(node, follow) => {
                let meets = &self.meets[node];
                let behind = |i: usize| meets.get(i).copied().or(follow);
                out.extend(meets.iter().rev().map(|&m| Task::Item(Item::Region(m))));
                out.push(Task::Core(node, behind(0)));
                for (i, &m) in meets.iter().enumerate() {
                    out.push(Task::Item(Item::EndRegion));
                    out.push(Task::Tree(m, behind(i + 1)));
                }
            }
            Task::Core(node, follow) => {
                out.push(Task::Item(Item::Code(node)));
                match &self.g.nodes[node].term {
                    Term::Leave => out.push(Task::Item(Item::Leave)),
                    Term::Jump(_) => out.push(Task::Edge(node, 0, follow)),
                    Term::Branch { .. } => self.branch(node, follow, out),
                }
            }
            Task::Edge(node, which, follow) => {
                out.push(Task::Item(Item::Edge(node, which)));
                let Some(to) = self.g.nodes[node].term.edges().nth(which).map(|e| e.to) else { return };
                if self.inline(node, to) {
                    out.push(Task::Tree(to, follow));
                } else if follow != Some(to) {
                    out.push(Task::Item(Item::Goto(to)));
                }
            }
        }
    }

    /// Whether what an edge leads to stands where the edge is.
    fn inline(&self, from: usize, to: usize) -> bool {
        to != 0 && self.order.idom(to) == from && self.incoming[to] == 1 && !self.after[to]
    }

    /// Whether control comes to what follows, from an edge on.
    fn falls(&self, node: usize, which: usize, follow: Option<usize>) -> bool {
        let (Some(follow), Some(to)) = (follow, self.g.nodes[node].term.edges().nth(which).map(|e| e.to))
        else {
            return false;
        };
        if to == follow || !self.inline(node, to) {
            return to == follow;
        }
        let (begin, end) = self.order.range(to);
        let sources = &self.sources[follow];
        sources.get(sources.partition_point(|&s| s < begin)).is_some_and(|&s| s < end)
    }

    fn branch(&self, node: usize, follow: Option<usize>, out: &mut Vec<Task>) {
        let mut one_arm = |arm: usize, not: bool| {
            out.push(Task::Item(Item::If { node, not }));
            out.push(Task::Edge(node, arm, None));
            out.push(Task::Item(Item::EndIf));
            out.push(Task::Edge(node, 1 - arm, follow));
        };
        if !self.falls(node, 0, follow) {
            return one_arm(0, false);
        }
        if !self.falls(node, 1, follow) {
            return one_arm(1, true);
        }
        out.push(Task::Item(Item::IfElse(node)));
        out.push(Task::Edge(node, 0, follow));
        out.push(Task::Item(Item::Else));
        out.push(Task::Edge(node, 1, follow));
        out.push(Task::Item(Item::EndIf));
    }
}

/// Leaves out regions that nothing leaves early.
fn without_unused(items: Vec<Item>, nodes: usize) -> Vec<Item> {
    let mut wanted = vec![false; nodes];
    for item in &items {
        if let Item::Goto(to) = item {
            wanted[*to] = true;
        }
    }
    let mut open = Vec::new();
    items
        .into_iter()
        .filter(|item| match item {
            Item::Region(to) => {
                open.push(wanted[*to]);
                wanted[*to]
            }
            Item::EndRegion => open.pop().unwrap_or(true),
            _ => true,
        })
        .collect()
}
