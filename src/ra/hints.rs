//! Register hints: which registers would save copies; [`super::colour`] follows where it can.
//!
//! - Values that flow into each other (block parameters and their arguments, copies, results of
//!   several returns) are coalesced into one *class*: its members want the register that the first
//!   of them got. Parameters of one block are in different classes.
//! - A value that is read in a tuple wants the register that fits those of its neighbours.
//! - What a float chain adds up to goes where its result is wanted: a value with one reader, a
//!   float operation, would be overwritten in place by it ([`Hints::chain`]). So does what becomes a
//!   block parameter that is read in a tuple.
//! - Arguments and results of calls want the register in which the callee expects or leaves them,
//!   and what it returns wants the first registers in order.

use super::operands::{self, Tuple};
use super::{Phys, Summary};
use crate::analysis::cfg::Cfg;
use crate::ir::{BlockId, Class, Edge, FuncId, Function, InstId, Merge, Op, Src, Term, Type, ValueId};
use cranelift_entity::packed_option::PackedOption;
use std::cell::OnceCell;
use std::ops::Range;

/// Number of no register.
pub(super) const NONE: u8 = 255;

/// The position of a value in an aligned register tuple.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TuplePosition {
    pub tuple: u32,
    pub index: u8,
}

/// What is known of a value.
#[derive(Clone, Copy)]
struct Node {
    /// Another value of its class, or itself: the root.
    parent: u32,
    /// The tuple that it is read in first, and its position there; [`NO_TUPLE`] for none.
    position: TuplePosition,
    /// Of a root: the register that its class wants.
    wanted: u8,
    /// Of a root: a block that a member of its class is a parameter of.
    block: PackedOption<BlockId>,
}

/// Where the result of a chain of operations is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Chain {
    #[default]
    None,
    Position(TuplePosition),
    Register(u8),
}

const NO_TUPLE: u32 = u32::MAX;

/// How often each value is read, as far as that can be counted.
fn count_readers(f: &Function, cfg: &Cfg) -> Vec<u8> {
    let mut readers = vec![0u8; f.values.len()];
    let mut read = |v: ValueId| {
        let n = &mut readers[v.as_u32() as usize];
        *n = n.saturating_add(1);
    };
    for &b in cfg.rpo() {
        f.blocks[b].body.iter().for_each(|&i| f.insts[i].for_uses(&mut read));
        f.blocks[b].term.for_uses(&mut read);
    }
    readers
}

#[derive(Clone)]
pub(crate) struct Hints {
    nodes: Vec<Node>,
    /// The tuples that instructions read, in the order in which colouring comes to them.
    pub tuples: Vec<Tuple>,
    /// Who reads each tuple.
    readers: Vec<InstId>,
    /// Tuples whose readers have been coloured.
    passed: usize,
    /// For each value, where its only reader puts its result; empty where there are no chains.
    chains: Vec<Chain>,
    /// Where a tuple was begun by values of chains that end in it; [`NONE`] for none. Empty where
    /// there are no chains.
    pub bases: Vec<u8>,
}

impl Hints {
    pub(super) fn new(f: &Function, cfg: &Cfg, summary: impl Fn(FuncId) -> Option<Summary>) -> Hints {
        let lonely = |n: u32| Node {
            parent: n,
            position: TuplePosition { tuple: NO_TUPLE, index: 0 },
            wanted: NONE,
            block: None.into(),
        };
        let mut h = Hints {
            nodes: (0..f.values.len() as u32).map(lonely).collect(),
            tuples: Vec::with_capacity(16),
            readers: Vec::with_capacity(16),
            passed: 0,
            chains: Vec::new(),
            bases: Vec::new(),
        };
        let mut results: Vec<ValueId> = Vec::new();
        let readers = OnceCell::new();
        let readers = || readers.get_or_init(|| count_readers(f, cfg));
        for &b in cfg.rpo() {
            f.blocks[b].params.iter().for_each(|p| h.nodes[p.as_u32() as usize].block = b.into());
        }
        // Edges back first: their moves are made in every round.
        for &b in cfg.rpo().iter().rev() {
            for e in f.blocks[b].term.edges().filter(|e| cfg.order_of(e.to) <= cfg.order_of(b)) {
                h.coalesce_edge(f, e);
            }
        }
        for &b in cfg.rpo() {
            for &i in &f.blocks[b].body {
                h.instruction(f, i, &summary);
                if let Some((sum, addend)) = operands::tied(&f.insts[i])
                    && readers()[addend.as_u32() as usize] == 1
                {
                    h.coalesce(sum, addend);
                }
            }
            for e in f.blocks[b].term.edges() {
                h.coalesce_edge(f, e);
            }
            if let Term::Ret(values) = &f.blocks[b].term {
                if results.is_empty() {
                    results = values.clone();
                }
                results.iter().zip(values).for_each(|(&a, &b)| h.coalesce(a, b));
            }
        }
        h.results(f, &results);
        // The end of a chain of floats, or a parameter.
        let may_end = |v: &ValueId| f.def_inst(*v).is_none_or(|i| i.ty == Type::F32);
        if !f.result_regs.is_empty() || h.tuples.iter().flat_map(|w| w.iter()).any(may_end) {
            h.find_chains(f, cfg, readers());
        }
        h
    }

    /// Follows floats that are wanted somewhere back through the operations that make them.
    fn find_chains(&mut self, f: &Function, cfg: &Cfg, readers: &[u8]) {
        self.chains = vec![Chain::None; f.values.len()];
        self.bases = vec![NONE; self.tuples.len()];
        for &b in cfg.rpo().iter().rev() {
            for e in f.blocks[b].term.edges() {
                // What is read elsewhere too is better off where a round leaves it.
                let in_loop = matches!(f.blocks[e.to].merge, Merge::Loop { .. });
                for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
                    let chain = self.position(p).map_or(self.chain(p), Chain::Position);
                    let free = self.position(a).is_none() && !(in_loop && readers[a.as_u32() as usize] > 1);
                    if free && chain != Chain::None {
                        self.chains[a.as_u32() as usize] = chain;
                    }
                }
            }
            for &i in f.blocks[b].body.iter().rev() {
                let inst = &f.insts[i];
                let float = inst.ty == Type::F32 && inst.sty == Type::F32;
                if !float || !matches!(inst.op, Op::Mad | Op::Mul | Op::Add | Op::Sub | Op::Min | Op::Max) {
                    continue;
                }
                let [d] = *inst.dsts else { continue };
                let wanted = self.wanted(d);
                let chain = match (self.position(d), self.chain(d)) {
                    (Some(position), _) => Chain::Position(position),
                    (None, Chain::None) if wanted != NONE => Chain::Register(wanted),
                    (None, chain) => chain,
                };
                if chain == Chain::None {
                    continue;
                }
                let once = |s: &Src| s.as_val().filter(|v| readers[v.as_u32() as usize] == 1);
                let before = match inst.op {
                    Op::Mad => inst.srcs.get(2).and_then(once),
                    _ => inst.srcs.iter().find_map(once),
                };
                if let Some(v) = before.filter(|&v| self.position(v).is_none() && self.wanted(v) == NONE) {
                    self.chains[v.as_u32() as usize] = chain;
                }
            }
        }
    }

    /// Whether no value is part of a chain.
    pub(crate) fn chains_are_none(&self) -> bool {
        self.chains.is_empty()
    }

    /// Where what is made of a value is wanted.
    pub(super) fn chain(&self, v: ValueId) -> Chain {
        self.chains.get(v.as_u32() as usize).copied().unwrap_or_default()
    }

    /// ResultRegs want the registers that they must be in, or else the first registers in order, as
    /// callers read them in tuples; those that are parameters stay.
    fn results(&mut self, f: &Function, results: &[ValueId]) {
        if !f.result_regs.is_empty() {
            results.iter().zip(&f.result_regs).for_each(|(&v, &r)| self.suggest(v, Phys::Gpr(r)));
            return;
        }
        let params: Vec<usize> = f.params.iter().map(|&p| self.root(p)).collect();
        let gprs = results.iter().filter(|&&v| f.class(v) == Class::Gpr);
        for (r, &v) in gprs.enumerate().take(usize::from(NONE)) {
            if !params.contains(&self.root(v)) {
                self.suggest(v, Phys::Gpr(r as u8));
            }
        }
    }

    fn instruction(&mut self, f: &Function, i: InstId, summary: &impl Fn(FuncId) -> Option<Summary>) {
        let inst = &f.insts[i];
        if operands::has_read_tuples(inst) {
            for w in operands::read_tuples(inst) {
                self.tuple(i, w);
            }
        }
        match inst.op {
            Op::Mov => {
                if inst.srcs[0].is_plain_val()
                    && let (Some(&d), Some(s)) = (inst.dsts.first(), inst.srcs[0].as_val())
                    && f.class(d) == f.class(s)
                {
                    self.coalesce(d, s);
                }
            }
            // What is chosen instead of a value that it was made of may be written over it.
            Op::Sel if inst.ty != Type::Pred => {
                let value = |n: usize| inst.srcs[n].as_val();
                let made_of = |n: usize| {
                    let new = value(n).and_then(|v| f.def_inst(v));
                    new.is_some_and(|d| d.srcs.iter().any(|s| s.as_val() == value(1 - n)))
                };
                let kept = [1, 0].into_iter().find(|&n| value(n).is_some() && made_of(1 - n));
                if let (Some(&d), Some(s)) = (inst.dsts.first(), kept.and_then(value)) {
                    self.coalesce(d, s);
                }
            }
            Op::Call => {
                if let Some(call) = inst.call()
                    && let Some(s) = summary(call.func)
                {
                    call.args.iter().zip(&s.params).for_each(|(&a, &r)| self.suggest(a, r));
                    call.results.iter().zip(&s.results).for_each(|(&a, &r)| self.suggest(a, r));
                }
            }
            _ => {}
        }
    }

    fn tuple(&mut self, reader: InstId, w: Tuple) {
        let tuple = self.tuples.len() as u32;
        for (k, &v) in w.iter().enumerate() {
            let position = &mut self.nodes[v.as_u32() as usize].position;
            if position.tuple == NO_TUPLE {
                *position = TuplePosition { tuple, index: k as u8 };
            }
        }
        self.tuples.push(w);
        self.readers.push(reader);
    }

    pub(super) fn root(&mut self, v: ValueId) -> usize {
        let mut at = v.as_u32();
        loop {
            let parent = self.nodes[at as usize].parent;
            if parent == at {
                return at as usize;
            }
            let up = self.nodes[parent as usize].parent;
            self.nodes[at as usize].parent = up;
            at = up;
        }
    }

    fn coalesce_edge(&mut self, f: &Function, e: &Edge) {
        for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
            self.coalesce(p, a);
        }
    }

    fn coalesce(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        let blocks = [low, high].map(|n| self.nodes[n].block);
        // Parameters of one block are alive together: a constant that begins several, or one that
        // becomes another, says nothing about where they can be.
        let apart = blocks[0].is_none() || blocks[0] != blocks[1];
        if low != high && apart {
            self.nodes[high].parent = low as u32;
            if self.nodes[low].block.is_none() {
                self.nodes[low].block = blocks[1];
            }
            if self.nodes[low].wanted == NONE {
                self.nodes[low].wanted = self.nodes[high].wanted;
            }
        }
    }

    fn suggest(&mut self, v: ValueId, r: Phys) {
        let root = self.root(v);
        if self.nodes[root].wanted == NONE {
            self.nodes[root].wanted = r.number();
        }
    }

    /// The register that the value's class wants, or [`NONE`].
    pub(super) fn wanted(&mut self, v: ValueId) -> u8 {
        let root = self.root(v);
        self.nodes[root].wanted
    }

    /// Notes that a value got a register: its class wants it from now on, unless it has one.
    pub(super) fn got(&mut self, v: ValueId, r: u8) {
        let root = self.root(v);
        if self.nodes[root].wanted == NONE {
            self.nodes[root].wanted = r;
        }
    }

    /// Where in a tuple the value will be read next.
    pub(super) fn position(&self, v: ValueId) -> Option<TuplePosition> {
        Some(self.nodes[v.as_u32() as usize].position).filter(|s| s.tuple != NO_TUPLE)
    }

    /// The numbers of the tuples that the next instruction in order reads.
    pub(crate) fn read_tuples(&mut self, i: InstId) -> Range<usize> {
        let first = self.passed;
        while self.readers.get(self.passed) == Some(&i) {
            self.passed += 1;
        }
        first..self.passed
    }
}

#[cfg(test)]
mod tests {
    use crate::chip::Chip;
    use crate::ir::build::Builder;
    use crate::ir::{Class, Cond, Edge, Function, MemRef, Merge, Program, Space, Sv, Term, Type, ValueId};
    use crate::ra::{Target, allocate_program};

    #[test]
    fn both_arms_make_what_is_read_in_a_tuple_behind_them_in_its_place() {
        let mut f = Function::new("k");
        let [entry, arm, join] = [(); 3].map(|()| f.new_block());
        let mut b = Builder::new(&mut f, entry);
        let lane = b.sv(Sv::Laneid);
        // The first word of a pair is read once more before the arms part.
        let pair = |b: &mut Builder<'_>, k: u32| -> Vec<ValueId> {
            let low = b.add(Type::U32, lane, k);
            vec![low, b.mul(Type::U32, low, lane)]
        };
        let first = pair(&mut b, 1);
        let p = b.setp(Cond::Ne, Type::U32, lane, 0u32);
        b.func.blocks[entry].merge = Merge::If { join };
        let then = Edge { to: join, args: first };
        b.terminate(Term::Branch { cond: p, not: false, then, els: Edge::to(arm) });
        b.block = arm;
        let second = pair(&mut b, 2);
        b.terminate(Term::Jump(Edge { to: join, args: second }));
        let address = [0, 1].map(|_| b.func.add_block_param(join, Class::Gpr));
        b.block = join;
        b.st(Type::U32, MemRef::new(Space::Global).with_base(&address), lane);
        b.terminate(Term::Exit);
        let mut program = Program::new(f);
        let target = Target {
            chip: Chip::Gk110,
            gpr_limit: 63,
            threads: None,
            shared: 0,
            verify: true,
            through_memory: false,
            fewest: false,
        };
        let all = allocate_program(&mut program, &target).expect("allocated");
        assert_eq!(all.funcs[program.entry].moves, []);
    }
}
