//! The control flow of an entry point and of all that it calls: a graph of pieces of blocks.
//!
//! Calls are taken apart here: what is called becomes a part of the graph, once a call (an *instance*), so that pointers that
//! are passed stay what they are and returns are edges like any other. Nothing recurses, and what would grow beyond
//! [`MOST`] instructions is refused. A block ends at each call in it, and a switch is a chain of tests.

use super::calls::{self, callee};
use super::kill::{self, Behind};
use super::module::{Function, Module};
use crate::diag::Diagnostic;
use rustc_hash::FxHashMap;
use spirv::Op;
use std::ops::Range;
use std::rc::Rc;

/// A function where it is called.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) function: usize,
    pub(super) caller: Option<u32>,
}

/// What is written on the way along an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Copies {
    None,
    /// Phis of a block, from a predecessor (both by label).
    Phis {
        instance: u32,
        from: u32,
        to: usize,
    },
    /// The result of a call (its instruction), of the value that a return names.
    Result {
        callee: u32,
        value: u32,
        caller: u32,
        call: usize,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) to: usize,
    pub(super) copies: Copies,
    /// Numbers that say where control goes on, and what they are set to.
    pub(super) sets: Vec<(u32, u32)>,
}

/// What a branch asks.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// A boolean value.
    Value { instance: u32, id: u32 },
    /// Whether the selector of a switch has one of the values of a target.
    Case { instance: u32, switch: usize, values: Rc<[u64]> },
    /// Whether a number that says where to go on has a value.
    Route { route: u32, value: u32 },
}

#[derive(Clone, Debug)]
pub(super) enum Term {
    Jump(Edge),
    Branch {
        test: Test,
        yes: Edge,
        no: Edge,
    },
    /// The thread ends.
    Leave,
}

impl Term {
    pub(super) fn edges(&self) -> impl Iterator<Item = &Edge> + Clone {
        let (a, b) = match self {
            Term::Jump(e) => (Some(e), None),
            Term::Branch { yes, no, .. } => (Some(yes), Some(no)),
            Term::Leave => (None, None),
        };
        a.into_iter().chain(b)
    }

    pub(super) fn edges_mut(&mut self) -> impl Iterator<Item = &mut Edge> {
        let (a, b) = match self {
            Term::Jump(e) => (Some(e), None),
            Term::Branch { yes, no, .. } => (Some(yes), Some(no)),
            Term::Leave => (None, None),
        };
        a.into_iter().chain(b)
    }
}

/// Instructions of a block without calls between them.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) instance: u32,
    pub(super) insts: Range<usize>,
    /// The block begins here: its phis are read.
    pub(super) label: Option<u32>,
    /// The call whose result is known here.
    pub(super) returned: Option<usize>,
    /// The call that ends it, and the instance that it enters.
    pub(super) call: Option<(usize, u32)>,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    /// `None`: a test alone.
    pub(super) piece: Option<Piece>,
    pub(super) term: Term,
    /// Where the loop ends that begins here, if the module says it.
    pub(super) merge: Option<usize>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) instances: Vec<Instance>,
    /// Numbers that say where control goes on.
    pub(super) routes: u32,
}

type R<T> = Result<T, Box<Diagnostic>>;

/// The block of a function that has a label.
pub(super) fn labels(f: &Function) -> FxHashMap<u32, usize> {
    f.blocks.iter().enumerate().map(|(n, b)| (b.label, n)).collect()
}

/// Labels that a block may go to.
pub(super) fn targets(m: &Module, last: usize) -> Vec<u32> {
    let x = m.code.operands(last);
    match m.code.insts[last].op {
        Op::Branch => vec![x[0]],
        Op::BranchConditional => vec![x[1], x[2]],
        Op::Switch => {
            let words = m.code.selector_words(last);
            std::iter::once(x[1]).chain(x[2..].chunks(words + 1).filter_map(|c| c.last().copied())).collect()
        }
        _ => Vec::new(),
    }
}

/// The targets of a switch besides the default's, each with its values.
fn cases(m: &Module, last: usize) -> Vec<(u32, Vec<u64>)> {
    let x = m.code.operands(last);
    let words = m.code.selector_words(last);
    let mut index: FxHashMap<u32, usize> = FxHashMap::default();
    let mut cases: Vec<(u32, Vec<u64>)> = Vec::new();
    for case in x[2..].chunks_exact(words + 1) {
        let (label, low) = (case[words], u64::from(case[0]));
        let value = if words == 2 { low | u64::from(case[1]) << 32 } else { low };
        if label == x[1] {
            continue;
        }
        let at = *index.entry(label).or_insert_with(|| {
            cases.push((label, Vec::new()));
            cases.len() - 1
        });
        cases[at].1.push(value);
    }
    cases
}

/// A function that is being made part of the graph.
struct Work {
    instance: u32,
    /// Where its returns go: the piece behind the call.
    back: Option<(usize, u32, usize)>,
    entry: usize,
    /// Behind the outermost loop around the call.
    escape: Option<usize>,
}

/// `demotes`: invocations that are discarded go on.
pub(super) fn graph(m: &Module, entry: usize, demotes: bool) -> R<Graph> {
    calls::check(m, entry)?;
    let mut kills = FxHashMap::default();
    let mut g = Graph::default();
    g.instances.push(Instance { function: entry, caller: None });
    g.nodes.push(empty());
    let mut work = vec![Work { instance: 0, back: None, entry: 0, escape: None }];
    while let Some(w) = work.pop() {
        let function = g.instances[w.instance as usize].function;
        if demotes && !kills.contains_key(&function) {
            kills.insert(function, kill::behind(m, &m.functions[function]));
        }
        instance(m, &mut g, &w, &mut work, kills.get(&function))?;
    }
    Ok(g)
}

fn empty() -> Node {
    Node { piece: None, term: Term::Leave, merge: None }
}

/// `behind`: where invocations go on that are discarded; `None`: they end.
fn instance(m: &Module, g: &mut Graph, w: &Work, work: &mut Vec<Work>, behind: Option<&Behind>) -> R<()> {
    let f = &m.functions[g.instances[w.instance as usize].function];
    let numbers = labels(f);
    // Blocks in the order in which they are reached, each with its node.
    let mut nodes: FxHashMap<usize, usize> = FxHashMap::default();
    nodes.insert(0, w.entry);
    let mut open = vec![0];
    while let Some(block) = open.pop() {
        let b = &f.blocks[block];
        let mut at = nodes[&block];
        let mut begin = b.insts.start;
        let mut label = Some(b.label);
        let mut returned = None;
        let last = b.insts.end - 1;
        // The node of a block, which is met now if it was not before.
        let mut node_of = |g: &mut Graph, block: usize| {
            *nodes.entry(block).or_insert_with(|| {
                open.push(block);
                g.nodes.push(empty());
                g.nodes.len() - 1
            })
        };
        for n in b.insts.clone() {
            if m.code.insts[n].op != Op::FunctionCall {
                continue;
            }
            let callee = callee(m, n)?;
            let next = g.instances.len() as u32;
            g.instances.push(Instance { function: callee, caller: Some(w.instance) });
            let (inner, after) = (g.nodes.len(), g.nodes.len() + 1);
            g.nodes.push(empty());
            g.nodes.push(empty());
            g.nodes[at].piece = Some(Piece {
                instance: w.instance,
                insts: begin..n,
                label: label.take(),
                returned: returned.replace(n),
                call: Some((n, next)),
            });
            g.nodes[at].term = Term::Jump(Edge { to: inner, copies: Copies::None, sets: Vec::new() });
            let around = w.escape.or_else(|| {
                let block = behind.and_then(|b| b.outermost_loop(block))?;
                Some(node_of(g, block))
            });
            work.push(Work {
                instance: next,
                back: Some((after, w.instance, n)),
                entry: inner,
                escape: around,
            });
            at = after;
            begin = n + 1;
        }
        let insts = begin..b.insts.end;
        g.nodes[at].piece = Some(Piece { instance: w.instance, insts, label, returned, call: None });
        let mut to = |g: &mut Graph, label: u32| -> R<Edge> {
            let Some(&block) = numbers.get(&label) else {
                let what = format!("{} is not a block of the function", m.name(label));
                return Err(Box::new(m.error(last, what)));
            };
            if block == 0 {
                return Err(Box::new(m.error(last, "nothing may go to the first block of a function")));
            }
            let node = node_of(g, block);
            let copies = Copies::Phis { instance: w.instance, from: b.label, to: block };
            Ok(Edge { to: node, copies, sets: Vec::new() })
        };
        let x = m.code.operands(last);
        let term = match m.code.insts[last].op {
            Op::Branch => Term::Jump(to(g, x[0])?),
            Op::BranchConditional if x[1] == x[2] => Term::Jump(to(g, x[1])?),
            Op::BranchConditional => {
                let test = Test::Value { instance: w.instance, id: x[0] };
                Term::Branch { test, yes: to(g, x[1])?, no: to(g, x[2])? }
            }
            Op::Switch => {
                let default = x[1];
                let cases = cases(m, last);
                let count = cases.len();
                let mut node = at;
                let mut first = None;
                for (i, (label, values)) in cases.into_iter().enumerate() {
                    let yes = to(g, label)?;
                    let test = Test::Case { instance: w.instance, switch: last, values: values.into() };
                    let no = if i + 1 == count {
                        to(g, default)?
                    } else {
                        g.nodes.push(empty());
                        Edge { to: g.nodes.len() - 1, copies: Copies::None, sets: Vec::new() }
                    };
                    let next = no.to;
                    let term = Term::Branch { test, yes, no };
                    match first {
                        None => first = Some(term),
                        Some(_) => g.nodes[node].term = term,
                    }
                    node = next;
                }
                match first {
                    Some(term) => term,
                    None => Term::Jump(to(g, default)?),
                }
            }
            op @ (Op::Return | Op::ReturnValue) => match w.back {
                None => Term::Leave,
                Some((after, caller, call)) => {
                    let copies = match op {
                        Op::ReturnValue => Copies::Result { callee: w.instance, value: x[0], caller, call },
                        _ => Copies::None,
                    };
                    Term::Jump(Edge { to: after, copies, sets: Vec::new() })
                }
            },
            Op::Kill | Op::TerminateInvocation => match behind {
                None => Term::Leave,
                Some(behind) => {
                    let on = match (w.escape, behind.any(block)) {
                        (Some(node), _) => Some(node),
                        (None, Some(block)) => Some(node_of(g, block)),
                        (None, None) => w.back.map(|(after, ..)| after),
                    };
                    match on {
                        Some(to) => Term::Jump(Edge { to, copies: Copies::None, sets: Vec::new() }),
                        None => Term::Leave,
                    }
                }
            },
            _ => Term::Leave,
        };
        g.nodes[at].term = term;
    }
    for (&block, &node) in &nodes {
        merge(m, g, node, f.blocks[block].insts.clone(), &numbers, &nodes);
    }
    Ok(())
}

/// Notes where a loop ends that begins in a block.
fn merge(
    m: &Module,
    g: &mut Graph,
    node: usize,
    insts: Range<usize>,
    numbers: &FxHashMap<u32, usize>,
    nodes: &FxHashMap<usize, usize>,
) {
    let said = insts.rev().take(4).find(|&n| m.code.insts[n].op == Op::LoopMerge);
    if let Some(n) = said
        && !m.kernel
    {
        let end = numbers.get(&m.code.operands(n)[0]).and_then(|block| nodes.get(block));
        g.nodes[node].merge = Some(end.copied().unwrap_or(usize::MAX));
    }
}
