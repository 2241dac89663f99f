//! Which registers would save copies: wishes that [`super::colour`] follows where it can.
//!
//! - Values that flow into each other (block parameters and their arguments, copies, results of several returns)
//!   are one *web*: its members want the register that the first of them got.
//! - A value that is read in a window wants the register that fits those of its neighbours.
//! - Arguments and results of calls want the register in which the callee expects or leaves them, and what it
//!   returns wants the first registers in order.

use super::colour::per_value;
use super::operands::{self, Window};
use super::{Phys, Summary};
use crate::analysis::cfg::Cfg;
use crate::ir::{Class, FuncId, Function, InstId, Op, Term, ValueId};
use cranelift_entity::SecondaryMap;

/// Number of no register.
pub const NONE: u8 = 255;

/// A place in a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    pub window: u32,
    pub place: u8,
}

pub struct Hints {
    web: SecondaryMap<ValueId, u32>,
    /// Register of each web, by its root.
    wanted: Vec<u8>,
    parent: Vec<u32>,
    seats: SecondaryMap<ValueId, Option<Seat>>,
    /// Windows with the register that their first value wants.
    pub windows: Vec<Window>,
}

impl Hints {
    pub fn new(f: &Function, cfg: &Cfg, summary: impl Fn(FuncId) -> Option<Summary>) -> Hints {
        let n = f.values.len();
        let mut h = Hints {
            web: per_value(f, 0),
            wanted: vec![NONE; n],
            parent: (0..n as u32).collect(),
            seats: per_value(f, None),
            windows: Vec::new(),
        };
        for v in f.values.keys() {
            h.web[v] = v.as_u32();
        }
        let mut results: Vec<ValueId> = Vec::new();
        for &b in cfg.rpo() {
            for &i in &f.blocks[b].body {
                h.instruction(f, i, &summary);
            }
            for e in f.blocks[b].term.edges() {
                for (&p, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
                    h.unite(p, a);
                }
            }
            if let Term::Ret(values) = &f.blocks[b].term {
                if results.is_empty() {
                    results = values.clone();
                }
                results.iter().zip(values).for_each(|(&a, &b)| h.unite(a, b));
            }
        }
        h.results(f, &results);
        h
    }

    /// Results want the first registers in order, as callers read them in windows; those that are parameters stay.
    fn results(&mut self, f: &Function, results: &[ValueId]) {
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
        for w in operands::read_windows(inst) {
            let window = self.windows.len() as u32;
            for (k, &v) in w.iter().enumerate() {
                if self.seats[v].is_none() {
                    self.seats[v] = Some(Seat { window, place: k as u8 });
                }
            }
            self.windows.push(w);
        }
        if inst.op == Op::Mov
            && inst.srcs[0].is_plain_val()
            && let (Some(&d), Some(s)) = (inst.dsts.first(), inst.srcs[0].as_val())
            && f.class(d) == f.class(s)
        {
            self.unite(d, s);
        }
        if let Some((d, s)) = operands::tied(inst) {
            self.unite(d, s);
        }
        if let Some(call) = inst.call()
            && let Some(s) = summary(call.func)
        {
            for (&a, &r) in call.args.iter().zip(&s.params) {
                self.suggest(a, r);
            }
            for (&a, &r) in call.results.iter().zip(&s.results) {
                self.suggest(a, r);
            }
        }
    }

    fn root(&mut self, v: ValueId) -> usize {
        let mut at = self.web[v];
        while self.parent[at as usize] != at {
            let up = self.parent[self.parent[at as usize] as usize];
            self.parent[at as usize] = up;
            at = up;
        }
        self.web[v] = at;
        at as usize
    }

    fn unite(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        if low != high {
            self.parent[high] = low as u32;
            if self.wanted[low] == NONE {
                self.wanted[low] = self.wanted[high];
            }
        }
    }

    fn suggest(&mut self, v: ValueId, r: Phys) {
        let root = self.root(v);
        if self.wanted[root] == NONE {
            self.wanted[root] = r.number();
        }
    }

    /// The register that the value's web wants, or [`NONE`].
    pub fn wanted(&mut self, v: ValueId) -> u8 {
        let root = self.root(v);
        self.wanted[root]
    }

    /// Notes that a value got a register: its web wants it from now on, unless it has one.
    pub fn got(&mut self, v: ValueId, r: u8) {
        let root = self.root(v);
        if self.wanted[root] == NONE {
            self.wanted[root] = r;
        }
    }

    /// Where in a window the value will be read next.
    pub fn seat(&self, v: ValueId) -> Option<Seat> {
        self.seats[v]
    }
}
