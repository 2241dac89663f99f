//! What lowering relies on in functions: what ids name, that definitions dominate uses, and that control flow is as it must be.
//!
//! Types of operands are checked where instructions are lowered. Blocks may stand in any order: dominance is that of the
//! graph. In blocks that nothing leads to, ids must be defined, and nothing else is asked.

use super::graph::{labels, targets};
use super::module::{Function, Module};
use super::types::Type;
use crate::diag::{Diagnostic, Diagnostics};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

pub(super) fn check(m: &Module) -> Result<(), Diagnostics> {
    let mut diags = Diagnostics::default();
    for f in &m.functions {
        if let Err(d) = function(m, f) {
            diags.push(*d);
            if diags.is_full() {
                break;
            }
        }
    }
    if diags.has_errors() { Err(diags) } else { Ok(()) }
}

type R<T> = Result<T, Box<Diagnostic>>;

fn function(m: &Module, f: &Function) -> R<()> {
    let fail = |n: usize, what: String| Err(Box::new(m.error(n, what)));
    let inst = m.code.insts[f.at];
    let Some(Type::Function { result, params }) = m.ty(m.code.operands(f.at)[1]) else {
        return fail(f.at, "the type of a function is a function's".into());
    };
    if *result != inst.ty {
        return fail(f.at, "the function's result has another type than its type says".into());
    }
    let types: Vec<u32> = f.params.iter().filter_map(|&id| m.code.type_of(id)).collect();
    if types != *params {
        return fail(f.at, "the parameters are not those of the function's type".into());
    }
    if f.blocks.is_empty() {
        return Ok(());
    }
    let numbers = labels(f);
    let mut successors = Vec::with_capacity(f.blocks.len());
    for b in &f.blocks {
        let last = b.insts.end - 1;
        let mut to = Vec::new();
        for label in targets(m, last) {
            match numbers.get(&label) {
                Some(0) => return fail(last, "nothing may go to the first block of a function".into()),
                Some(&block) => to.push(block),
                None => return fail(last, format!("{} is not a block of the function", m.name(label))),
            }
        }
        let op = m.code.insts[last].op;
        let void = m.ty(inst.ty) == Some(&Type::Void);
        if op == Op::Return && !void {
            return fail(last, "the function gives a value, and OpReturn has none".into());
        }
        if op == Op::ReturnValue && m.code.type_of(m.code.operands(last)[0]) != Some(inst.ty) {
            return fail(last, "the value has another type than the function's result".into());
        }
        successors.push(to);
    }
    let tree = Tree::of(&successors);
    let body = f.at..f.blocks.last().map_or(f.at, |b| b.insts.end);
    let mut at = Places { m, from: f.at, blocks: vec![NOWHERE; body.len()] };
    for (block, b) in f.blocks.iter().enumerate() {
        at.blocks[b.insts.start - f.at..b.insts.end - f.at].fill(block as u32);
    }
    let mut preds: Vec<Vec<u32>> = vec![Vec::new(); f.blocks.len()];
    for (block, to) in successors.iter().enumerate().filter(|&(b, _)| tree.reached(b)) {
        for &s in to {
            // A block may go to one by several edges.
            if preds[s].last() != Some(&f.blocks[block].label) {
                preds[s].push(f.blocks[block].label);
            }
        }
    }
    preds.iter_mut().for_each(|list| list.sort_unstable());
    for (block, b) in f.blocks.iter().enumerate().filter(|&(b, _)| tree.reached(b)) {
        let mut phis = true;
        for n in b.insts.clone() {
            let op = m.code.insts[n].op;
            let x = m.code.operands(n);
            match op {
                Op::Phi => {
                    if !phis {
                        return fail(n, "phis stand at the beginning of their block".into());
                    }
                    phi(m, f, &numbers, &tree, &at, &preds[block], n)?;
                    continue;
                }
                _ if m.is_debug(n) => continue,
                Op::Variable if block != 0 => {
                    return fail(n, "variables stand in the first block of their function".into());
                }
                Op::BranchConditional => {
                    let ty = m.code.type_of(x[0]).and_then(|ty| m.ty(ty));
                    if ty != Some(&Type::Bool) {
                        return fail(n, "the condition of a branch is not a bool".into());
                    }
                }
                _ => {}
            }
            phis = false;
            let mut wrong = None;
            m.for_ids(n, |id| {
                match at.get(id) {
                    Some((there, def)) => {
                        let before = if there == block { def < n } else { tree.dominates(there, block) };
                        if !before && id != m.code.insts[n].result {
                            wrong = Some(id);
                        }
                    }
                    // Of another function: parameters and results are known in their own only.
                    None => {
                        let def = m.code.def(id).unwrap_or(0);
                        let foreign = def > m.functions[0].at
                            && !body.contains(&def)
                            && !matches!(m.code.insts[def].op, Op::Function | Op::Label)
                            && m.code.insts[def].ty != 0
                            && m.code.insts[def].op != Op::ExtInst;
                        if foreign {
                            wrong = Some(id);
                        }
                    }
                }
            });
            if let Some(id) = wrong {
                return fail(n, format!("{} is not defined on every way here", m.name(id)));
            }
        }
    }
    Ok(())
}

/// In no block.
const NOWHERE: u32 = u32::MAX;

/// Where in a function values are made.
struct Places<'m> {
    m: &'m Module,
    from: usize,
    /// The blocks of the instructions from there on.
    blocks: Vec<u32>,
}

impl Places<'_> {
    /// The block and the number of the instruction that gives a value, if it stands in a block.
    fn get(&self, id: u32) -> Option<(usize, usize)> {
        let def = self.m.code.def(id)?;
        let block = *self.blocks.get(def.checked_sub(self.from)?)?;
        (block != NOWHERE).then_some((block as usize, def))
    }
}

/// A phi has one value from each predecessor, defined where that ends. `preds`: their labels, in order.
fn phi(
    m: &Module,
    f: &Function,
    numbers: &FxHashMap<u32, usize>,
    tree: &Tree,
    at: &Places<'_>,
    preds: &[u32],
    n: usize,
) -> R<()> {
    let fail = |what: String| Err(Box::new(m.error(n, what)));
    let mut seen = FxHashSet::default();
    for pair in m.code.operands(n).chunks(2) {
        let (value, label) = (pair[0], pair[1]);
        let Some(&from) = numbers.get(&label) else {
            return fail(format!("{} is not a block of the function", m.name(label)));
        };
        if !tree.reached(from) {
            continue;
        }
        if preds.binary_search(&label).is_err() {
            return fail(format!("{} does not go to the phi's block", m.name(label)));
        }
        if !seen.insert(label) {
            return fail(format!("the phi has two values from {}", m.name(label)));
        }
        if m.code.type_of(value) != Some(m.code.insts[n].ty) {
            return fail(format!("{} has another type than the phi", m.name(value)));
        }
        if let Some((there, _)) = at.get(value)
            && !tree.dominates(there, from)
        {
            return fail(format!(
                "{} is not defined at the end of {}",
                m.name(value),
                m.name(f.blocks[from].label)
            ));
        }
    }
    match preds.iter().find(|label| !seen.contains(label)) {
        Some(&label) => fail(format!("the phi has no value from {}", m.name(label))),
        None => Ok(()),
    }
}

/// Dominators of a function's blocks.
pub(super) struct Tree {
    /// Places in a walk over the tree: of a block, and behind the last that it dominates.
    begin: Vec<u32>,
    end: Vec<u32>,
}

impl Tree {
    fn of(successors: &[Vec<usize>]) -> Tree {
        use super::graph::{Copies, Edge, Graph, Node, Term, Test};
        // As a graph of its own, whose nodes have two edges at most: chains of nodes stand for more.
        let mut g = Graph::default();
        let edge = |to| Edge { to, copies: Copies::None, sets: Vec::new() };
        let node = |term| Node { piece: None, term, merge: None };
        g.nodes = successors.iter().map(|_| node(Term::Leave)).collect();
        for (block, to) in successors.iter().enumerate() {
            let mut at = block;
            for (i, &s) in to.iter().enumerate() {
                if i + 1 == to.len() {
                    g.nodes[at].term = Term::Jump(edge(s));
                } else {
                    g.nodes.push(node(Term::Leave));
                    let next = g.nodes.len() - 1;
                    let test = Test::Route { route: 0, value: 0 };
                    g.nodes[at].term = Term::Branch { test, yes: edge(s), no: edge(next) };
                    at = next;
                }
            }
        }
        let order = super::order::Order::of(&g);
        let (begin, end) = (0..successors.len()).map(|b| order.range(b)).unzip();
        Tree { begin, end }
    }

    /// Of a function whose branches lead to its blocks.
    pub(super) fn of_function(m: &Module, f: &Function) -> Tree {
        let numbers = labels(f);
        let to =
            |last| targets(m, last).into_iter().filter_map(|label| numbers.get(&label).copied()).collect();
        Tree::of(&f.blocks.iter().map(|b| to(b.insts.end - 1)).collect::<Vec<_>>())
    }

    /// Where it stands in a walk over the tree.
    pub(super) fn place(&self, block: usize) -> u32 {
        self.begin[block]
    }

    pub(super) fn reached(&self, block: usize) -> bool {
        self.begin[block] != u32::MAX
    }

    pub(super) fn dominates(&self, a: usize, b: usize) -> bool {
        self.begin[a] <= self.begin[b] && self.begin[b] < self.end[a]
    }
}
