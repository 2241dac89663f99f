//! Loops of the graph: each gets one way in and one way out.
//!
//! A strongly connected part with several entries gets a node in front of them all, which goes on to the one that a number
//! says (its *route*); every edge to an entry goes there and sets the number. What is left of the part without the edges to
//! its header is looked at again, so the sizes of parts fall and the search ends. Edges that leave a loop all go to one node
//! behind it, which goes on likewise if they lead to several places.
//!
//! Where the module says how far a loop reaches (`OpLoopMerge`), what only the loop leads to before its merge block belongs to
//! it, too: lanes that leave a loop by a way of their own run that way before they wait for the others.

use super::graph::{Copies, Edge, Graph, Node, Term, Test};
use super::order::Order;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) header: usize,
    /// The node behind it.
    pub(super) after: Option<usize>,
}

/// Nodes that are looked at together.
struct Level {
    nodes: Vec<usize>,
    header: Option<usize>,
    /// Loops around.
    depth: u32,
}

/// Loops in each other (SPIR-V's universal limit, section 2.17).
pub(super) const DEEPEST: u32 = 1023;

/// Loops nest more than [`DEEPEST`] deep.
pub(super) struct TooDeep;

const NONE: u32 = u32::MAX;

struct Search<'a> {
    g: &'a mut Graph,
    /// The graph's order, and the edges to each node, as it was.
    order: Order,
    incoming: Vec<u32>,
    /// The level that a node is in.
    level: Vec<u32>,
    /// The part of its level that a node is in; `NONE`: it goes round nowhere.
    part: Vec<u32>,
    /// Of the nodes of the level at hand: the number in a walk through it, the least that it leads back to, and whether it is open.
    index: Vec<Option<(u32, u32, bool)>>,
    found: Vec<Loop>,
}

/// Finds the loops, the outer ones first, and changes the graph.
pub(super) fn find(g: &mut Graph) -> Result<Vec<Loop>, TooDeep> {
    let order = Order::of(g);
    let n = g.nodes.len();
    let mut incoming = vec![0; n];
    g.nodes.iter().flat_map(|node| node.term.edges()).for_each(|e| incoming[e.to] += 1);
    let (level, part, index) = (vec![NONE; n], vec![NONE; n], vec![None; n]);
    let mut s = Search { g, order, incoming, level, part, index, found: Vec::new() };
    let mut work = vec![Level { nodes: (0..n).collect(), header: None, depth: 0 }];
    let mut number = 0;
    while let Some(level) = work.pop() {
        if level.depth > DEEPEST {
            return Err(TooDeep);
        }
        s.look(level, number, &mut work);
        number += 1;
    }
    Ok(s.found)
}

impl Search<'_> {
    fn new_node(&mut self, term: Term, level: u32) -> usize {
        self.g.nodes.push(Node { piece: None, term, merge: None });
        self.level.push(level);
        self.part.push(NONE);
        self.index.push(None);
        self.g.nodes.len() - 1
    }

    /// Nodes that go on to one of several places by a route: the first of them, and all.
    fn dispatch(&mut self, to: &[usize], level: u32) -> (usize, u32, Vec<usize>) {
        let plain = |to| Edge { to, copies: Copies::None, sets: Vec::new() };
        let route = self.g.routes;
        if to.len() == 1 {
            let node = self.new_node(Term::Jump(plain(to[0])), level);
            return (node, route, vec![node]);
        }
        self.g.routes += 1;
        let mut next = to[to.len() - 1];
        let mut all = Vec::new();
        for (value, &target) in to[..to.len() - 1].iter().enumerate().rev() {
            let test = Test::Route { route, value: value as u32 };
            next = self.new_node(Term::Branch { test, yes: plain(target), no: plain(next) }, level);
            all.push(next);
        }
        (next, route, all)
    }

    fn look(&mut self, level: Level, number: u32, work: &mut Vec<Level>) {
        for &n in &level.nodes {
            self.level[n] = number;
            self.part[n] = NONE;
            self.index[n] = None;
        }
        let parts = self.parts(&level, number);
        if parts.is_empty() {
            return;
        }
        let parts = self.single_entries(&level, number, parts);
        for (header, mut body) in parts {
            self.extend(header, &mut body, level.header, number);
            self.leave(header, &body, number);
            work.push(Level { nodes: body, header: Some(header), depth: level.depth + 1 });
        }
    }

    /// Strongly connected parts of a level without the edges to its header, in the order of control.
    fn parts(&mut self, level: &Level, number: u32) -> Vec<Vec<usize>> {
        // Tarjan's algorithm with a stack of its own.
        let mut parts = Vec::new();
        let mut next = 0;
        let mut stack = Vec::new();
        let inside = |s: &Self, n: usize| s.level[n] == number && Some(n) != level.header;
        for &root in &level.nodes {
            if !inside(self, root) || self.index[root].is_some() {
                continue;
            }
            let mut calls = vec![(root, 0)];
            while let Some((n, edge)) = calls.pop() {
                if edge == 0 {
                    self.index[n] = Some((next, next, true));
                    next += 1;
                    stack.push(n);
                }
                let to = self.g.nodes[n].term.edges().nth(edge).map(|e| e.to);
                match to {
                    Some(to) => {
                        calls.push((n, edge + 1));
                        if !inside(self, to) {
                            continue;
                        }
                        match self.index[to] {
                            None => calls.push((to, 0)),
                            Some((first, _, true)) => self.leads_back(n, first),
                            Some(_) => {}
                        }
                    }
                    None => {
                        let Some((own, low, _)) = self.index[n] else { continue };
                        if let Some(&(caller, _)) = calls.last() {
                            self.leads_back(caller, low);
                        }
                        if own == low {
                            let from = stack.iter().rposition(|&x| x == n).unwrap_or(0);
                            let part = stack.split_off(from);
                            for &x in &part {
                                if let Some((.., open)) = &mut self.index[x] {
                                    *open = false;
                                }
                            }
                            let round = self.g.nodes[n].term.edges().any(|e| e.to == n);
                            if part.len() > 1 || round {
                                parts.push(part);
                            }
                        }
                    }
                }
            }
        }
        parts.reverse();
        for (i, part) in parts.iter().enumerate() {
            part.iter().for_each(|&n| self.part[n] = i as u32);
        }
        parts
    }

    /// A node leads to an open one of so low a number.
    fn leads_back(&mut self, node: usize, low: u32) {
        if let Some((_, least, _)) = &mut self.index[node] {
            *least = low.min(*least);
        }
    }

    /// Gives each part one entry: its header, and its nodes.
    fn single_entries(
        &mut self,
        level: &Level,
        number: u32,
        parts: Vec<Vec<usize>>,
    ) -> Vec<(usize, Vec<usize>)> {
        let mut entries: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
        let mut noted = FxHashSet::default();
        let mut note = |part: u32, to: usize| {
            if noted.insert(to) {
                entries[part as usize].push(to);
            }
        };
        for &n in &level.nodes {
            for e in self.g.nodes[n].term.edges() {
                let (from, to) = (self.part[n], self.part[e.to]);
                if self.level[e.to] == number && Some(e.to) != level.header && to != NONE && from != to {
                    note(to, e.to);
                }
            }
        }
        // Where the program begins.
        if level.header.is_none() && self.part[0] != NONE {
            note(self.part[0], 0);
        }
        let mut redirect = FxHashMap::default();
        let mut result = Vec::new();
        for (i, mut part) in parts.into_iter().enumerate() {
            let entries = &entries[i];
            let header = if let [one] = entries[..] {
                one
            } else {
                let (first, route, all) = self.dispatch(entries, number);
                for &n in &all {
                    self.part[n] = i as u32;
                }
                part.extend(all);
                for (value, &entry) in entries.iter().enumerate() {
                    redirect.insert(entry, (first, route, value as u32));
                }
                first
            };
            result.push((header, part));
        }
        if !redirect.is_empty() {
            for &n in &level.nodes {
                for e in self.g.nodes[n].term.edges_mut() {
                    if let Some(&(to, route, value)) = redirect.get(&e.to) {
                        e.to = to;
                        e.sets.push((route, value));
                    }
                }
            }
        }
        result
    }

    /// Adds what belongs to a loop by the module's word: what only the loop leads to, before its merge block and in its
    /// function or what that calls. Loops in there stay behind it.
    fn extend(&mut self, header: usize, body: &mut Vec<usize>, level: Option<usize>, number: u32) {
        let Some(merge) = self.g.nodes[header].merge else { return };
        let Some(own) = self.g.nodes[header].piece.as_ref().map(|p| p.instance) else { return };
        let mut inside: FxHashSet<usize> = body.iter().copied().collect();
        let mut arrived: FxHashMap<usize, u32> = FxHashMap::default();
        let mut next = 0;
        while let Some(&n) = body.get(next) {
            next += 1;
            for to in self.g.nodes[n].term.edges().map(|e| e.to) {
                let outside =
                    to == merge || Some(to) == level || self.level[to] != number || self.part[to] != NONE;
                if outside || inside.contains(&to) || !self.below(to, own) {
                    continue;
                }
                let count = arrived.entry(to).or_default();
                *count += 1;
                if self.incoming.get(to) == Some(count) {
                    inside.insert(to);
                    body.push(to);
                }
            }
        }
    }

    /// Whether a node belongs to an instance or to what that calls. Tests belong to whom they stand with.
    fn below(&self, node: usize, instance: u32) -> bool {
        let mut at = self.g.nodes[node].piece.as_ref().map(|p| p.instance);
        while let Some(i) = at {
            if i == instance {
                return true;
            }
            at = self.g.instances[i as usize].caller;
        }
        self.g.nodes[node].piece.is_none()
    }

    /// Gives a loop one way out.
    fn leave(&mut self, header: usize, body: &[usize], number: u32) {
        let inside: FxHashSet<usize> = body.iter().copied().collect();
        let mut targets = Vec::new();
        let mut found = FxHashSet::default();
        for &n in body {
            for e in self.g.nodes[n].term.edges() {
                if !inside.contains(&e.to) && found.insert(e.to) {
                    targets.push(e.to);
                }
            }
        }
        if targets.is_empty() {
            self.found.push(Loop { header, after: None });
            return;
        }
        // What comes first where control goes forward is asked last: it falls through.
        targets.sort_by_key(|&n| std::cmp::Reverse(self.order.position(n)));
        let (after, route, _) = self.dispatch(&targets, number);
        let values: FxHashMap<usize, u32> = targets.iter().copied().zip(0..).collect();
        for &n in body {
            for e in self.g.nodes[n].term.edges_mut() {
                let Some(&value) = values.get(&e.to) else { continue };
                e.to = after;
                if targets.len() > 1 {
                    e.sets.push((route, value));
                }
            }
        }
        self.found.push(Loop { header, after: Some(after) });
    }
}
