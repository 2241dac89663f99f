//! The allocation checker: proves that an allocation computes what the program computes, by
//! abstract interpretation of the code with its moves.
//!
//! **State.** For each register and each word of spill slots, a *symbol*: unknown, the value of
//! that name, or a constant that can be rematerialised.
//!
//! **Lattice.** Symbols are ordered by "unknown is below everything"; two different ones meet in
//! unknown. States meet location by location. A block's entry state begins undetermined and only
//! descends, so iteration ends at the greatest fixed point.
//!
//! **Transfer functions.**
//! - *Entry*: parameters are where the summary says; everything else is unknown.
//! - *Move*: a copy, load or store writes its source's symbol to its destination; an exchange swaps
//!   two; a rematerialisation writes its constant.
//! - *Instruction*: each destination's register holds the destination's value, or the constant that
//!   it is.
//! - *Call*: all that the callee may write becomes unknown, the slots of its frame included; then
//!   the results are where its summary leaves them.
//! - *Edge*: each block parameter's location holds the parameter, if it held the argument. With one
//!   predecessor, parameters are names for their arguments.
//!
//! **Demands**, asked at the fixed point:
//! - every operand, condition, argument and result is read from a register that holds its value;
//! - register tuples are consecutive and aligned; general registers stay below the limit,
//!   predicates below seven;
//! - the destinations of an instruction are in different registers of their class;
//! - moves leave the carry alone; wide loads and stores of slots are aligned.
//!
//! **What it relies on.** Liveness, the spilling plan and the colouring are not looked at. It
//! shares with the allocator which operands form tuples ([`operands`]), which values can be
//! rematerialised and how ([`remat`]), how many predicates there are, and the summaries of callees;
//! a mistake there is not found here. It takes one lane's view: that values which other lanes read
//! keep their registers ([`super::lane_reads`]) is not checked.

use super::colour::PREDS;
use super::operands;
use super::remat::{self, Remat};
use super::{Allocation, Location, Move, Phys, Summary};
use crate::analysis::cfg::Cfg;
use crate::ir::{BlockId, FuncId, Function, Inst, InstId, Op, Term, ValueId};
use cranelift_entity::SecondaryMap;

/// What a location holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sym {
    Nothing,
    Value(ValueId),
    Constant(Remat),
}

/// Registers, then words of local memory.
type State = Vec<Sym>;

struct Checker<'a> {
    f: &'a Function,
    a: &'a Allocation,
    limit: u32,
    summaries: &'a SecondaryMap<FuncId, Option<Summary>>,
    cfg: Cfg,
    /// Parameters of blocks with one edge into them are their arguments.
    alias: SecondaryMap<ValueId, Option<ValueId>>,
    first_slot: u32,
    size: usize,
    /// The first violation, once they are looked for.
    report: Option<Option<String>>,
}

/// Checks the allocation of a function; on failure tells what is wrong.
pub(super) fn check(
    f: &Function,
    a: &Allocation,
    limit: u32,
    summaries: &SecondaryMap<FuncId, Option<Summary>>,
) -> Result<(), String> {
    let cfg = Cfg::new(f);
    let slots = a.moves.iter().filter_map(|m| match *m {
        Move::Load { offset, words, .. } | Move::Store { offset, words, .. } => {
            Some((offset, offset + 4 * words as u32))
        }
        _ => None,
    });
    let (first_slot, end) = slots.fold((u32::MAX, 0), |(a, b), (x, y)| (a.min(x), b.max(y)));
    let size = Phys::COUNT + (end.saturating_sub(first_slot) / 4) as usize;
    let alias = SecondaryMap::new();
    let mut c = Checker { f, a, limit, summaries, cfg, alias, first_slot, size, report: None };
    c.aliases();
    c.run()
}

impl Checker<'_> {
    fn aliases(&mut self) {
        for &b in self.cfg.rpo() {
            let [p] = *self.cfg.preds(b) else { continue };
            let Some(e) = self.f.blocks[p].term.edges().find(|e| e.to == b) else { continue };
            for (&param, &a) in self.f.blocks[b].params.iter().zip(&e.args) {
                self.alias[param] = Some(self.alias[a].unwrap_or(a));
            }
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let rpo = self.cfg.rpo().to_vec();
        let mut entry: SecondaryMap<BlockId, Option<State>> = SecondaryMap::new();
        let mut dirty: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        let mut start = vec![Sym::Nothing; self.size];
        for (&p, r) in self.f.params.iter().zip(&self.a.summary.params) {
            start[r.index()] = Sym::Value(p);
        }
        if let Some(&b) = rpo.first() {
            entry[b] = Some(start);
            dirty[b] = true;
        }
        // To the greatest fixed point, then once more with open eyes.
        for last in [false, true] {
            if last {
                self.report = Some(None);
            }
            let mut again = true;
            while again {
                again = false;
                for &b in &rpo {
                    if !last && !std::mem::take(&mut dirty[b]) {
                        continue;
                    }
                    let Some(mut state) = entry[b].clone() else { continue };
                    self.block(b, &mut state);
                    for k in 0..self.f.blocks[b].term.edges().count() {
                        let (to, out) = self.edge(b, k, &state);
                        if last || !meet(&mut entry[to], out) {
                            continue;
                        }
                        dirty[to] = true;
                        again |= self.cfg.order_of(to) <= self.cfg.order_of(b);
                    }
                }
            }
        }
        match self.report.take().flatten() {
            Some(what) => Err(what),
            None => Ok(()),
        }
    }

    fn fail(&mut self, what: impl FnOnce() -> String) {
        if let Some(slot @ None) = &mut self.report {
            *slot = Some(what());
        }
    }

    fn index(&self, p: Location) -> usize {
        match p {
            Location::Reg(r) => r.index(),
            Location::Slot(offset) => Phys::COUNT + (offset.wrapping_sub(self.first_slot) / 4) as usize,
        }
    }

    fn name(&self, v: ValueId) -> ValueId {
        self.alias[v].unwrap_or(v)
    }

    /// Whether what a location holds is the value.
    fn is(&self, held: Sym, v: ValueId) -> bool {
        let v = self.name(v);
        if self.f.def_inst(v).is_some_and(|i| i.op == Op::Undef) {
            return true;
        }
        match held {
            Sym::Nothing => false,
            Sym::Value(x) => x == v,
            Sym::Constant(c) => remat::of_value(self.f, v) == Some(c),
        }
    }

    fn demand(&mut self, state: &State, r: Option<Phys>, v: ValueId, at: &dyn Fn() -> String) {
        let Some(r) = r else {
            return self.fail(|| format!("{}: {v} has no register", at()));
        };
        if !self.legal(r) || r.class() != self.f.class(v) {
            self.fail(|| format!("{}: {v} is in {r:?}", at()));
        }
        let held = state[r.index()];
        if !self.is(held, v) {
            self.fail(|| format!("{}: reads {v} in {r:?}, which holds {held:?}", at()));
        }
    }

    fn legal(&self, r: Phys) -> bool {
        match r {
            Phys::Gpr(n) => (n as u32) < self.limit,
            Phys::Pred(n) => (n as usize) < PREDS,
            Phys::Carry => true,
        }
    }

    fn moves(&mut self, moves: &[Move], state: &mut State) {
        for m in moves {
            match *m {
                Move::Copy { dst, src } => {
                    if dst.class() != src.class() || dst == Phys::Carry || !self.legal(dst) {
                        self.fail(|| format!("{m:?} is not a legal move"));
                    }
                    state[dst.index()] = state[src.index()];
                }
                Move::Swap(a, b) => {
                    if a.class() != b.class() || a == Phys::Carry {
                        self.fail(|| format!("{m:?} is not a legal move"));
                    }
                    state.swap(a.index(), b.index());
                }
                Move::Load { dst, words, offset } | Move::Store { src: dst, words, offset } => {
                    let w = words as u32;
                    if !matches!(w, 1 | 2 | 4) || !(dst as u32).is_multiple_of(w) || offset % (4 * w) != 0 {
                        self.fail(|| format!("{m:?} is not aligned"));
                    }
                    for k in 0..words {
                        let slot = self.index(Location::Slot(offset + 4 * k as u32));
                        let reg = Phys::Gpr(dst + k);
                        if !self.legal(reg) {
                            self.fail(|| format!("{m:?} is beyond the limit"));
                        }
                        match m {
                            Move::Load { .. } => state[reg.index()] = state[slot],
                            _ => state[slot] = state[reg.index()],
                        }
                    }
                }
                Move::Imm { dst, bits } => {
                    state[Phys::Gpr(dst).index()] = Sym::Constant(Remat::Imm(bits));
                }
                Move::Cbuf { dst, bank, offset } => {
                    state[Phys::Gpr(dst).index()] = Sym::Constant(Remat::Cbuf { bank, offset });
                }
                Move::Sreg { dst, sv } => state[Phys::Gpr(dst).index()] = Sym::Constant(Remat::Sreg(sv)),
            }
        }
    }

    fn block(&mut self, b: BlockId, state: &mut State) {
        let (f, a) = (self.f, self.a);
        self.moves(a.block_start(b), state);
        for &i in &f.blocks[b].body {
            self.moves(a.before(i), state);
            self.instruction(i, &f.insts[i], state);
            self.moves(a.after(i), state);
        }
        self.moves(a.block_end(b), state);
        match &f.blocks[b].term {
            Term::Branch { cond, .. } => {
                self.demand(state, a.term_reg(b, *cond), *cond, &|| format!("branch of {b}"));
            }
            Term::Ret(values) => {
                for (&v, &r) in values.iter().zip(&a.summary.results) {
                    self.demand(state, Some(r), v, &|| format!("return from {b}"));
                }
            }
            _ => {}
        }
    }

    fn instruction(&mut self, i: InstId, inst: &Inst, state: &mut State) {
        let a = self.a;
        let at = || format!("{i} ({})", inst.op);
        if let Some(call) = inst.call() {
            let summaries = self.summaries;
            let Some(callee) = &summaries[call.func] else {
                return self.fail(|| format!("{}: the callee has no registers yet", at()));
            };
            if callee.params.len() != call.args.len() || callee.results.len() != call.results.len() {
                self.fail(|| format!("{}: wrong number of arguments or results", at()));
            }
            for (&v, &r) in call.args.iter().zip(&callee.params) {
                self.demand(state, Some(r), v, &at);
            }
            callee.clobbers.iter().for_each(|r| state[r.index()] = Sym::Nothing);
            let theirs = callee.frame_end.saturating_sub(self.first_slot) / 4;
            state.iter_mut().skip(Phys::COUNT).take(theirs as usize).for_each(|s| *s = Sym::Nothing);
            for (&v, &r) in call.results.iter().zip(&callee.results) {
                if a.reg(i, v) != Some(r) {
                    self.fail(|| format!("{}: the result {v} is left in {r:?}", at()));
                }
            }
        } else {
            inst.for_uses(|v| self.demand(state, a.reg(i, v), v, &at));
        }
        let written = operands::written_tuple(self.f, inst);
        for w in operands::read_tuples(inst).iter().chain(&written) {
            let regs: Vec<usize> = w.iter().filter_map(|&v| a.reg(i, v)).map(Phys::index).collect();
            let apart = regs.len() != w.len() || regs.windows(2).any(|r| r[1] != r[0] + 1);
            if apart || !regs[0].is_multiple_of(operands::alignment(w.len())) {
                self.fail(|| format!("{}: {w:?} are not side by side: {regs:?}", at()));
            }
        }
        let mut seen: Vec<Phys> = Vec::new();
        inst.for_defs(|d| {
            let Some(r) = a.reg(i, d) else {
                return self.fail(|| format!("{}: {d} has no register", at()));
            };
            if !self.legal(r) || r.class() != self.f.class(d) || seen.contains(&r) {
                self.fail(|| format!("{}: {d} cannot be in {r:?}", at()));
            }
            seen.push(r);
            // A constant is the same whether the instruction or a later move made it.
            state[r.index()] = remat::of_value(self.f, d).map_or(Sym::Value(d), Sym::Constant);
        });
    }

    /// The state after the edge: parameters are where the allocation says, if their arguments are
    /// there.
    fn edge(&mut self, b: BlockId, k: usize, state: &State) -> (BlockId, State) {
        let (f, a) = (self.f, self.a);
        let mut out = state.clone();
        let Some(e) = f.blocks[b].term.edges().nth(k) else { return (b, out) };
        if self.cfg.preds(e.to).len() > 1 {
            for ((&p, &arg), location) in f.blocks[e.to].params.iter().zip(&e.args).zip(a.block_params(e.to))
            {
                let Some(location) = *location else { continue };
                let index = self.index(location);
                let held = state[index];
                if !self.is(held, arg) {
                    self.fail(|| {
                        format!("edge {b} to {}: {p} in {location:?} should be {arg} but is {held:?}", e.to)
                    });
                }
                out[index] = Sym::Value(p);
            }
        }
        (e.to, out)
    }
}

/// Keeps what both agree on; tells whether that is less than before.
fn meet(into: &mut Option<State>, from: State) -> bool {
    let Some(old) = into else {
        *into = Some(from);
        return true;
    };
    let mut changed = false;
    for (o, n) in old.iter_mut().zip(from) {
        if *o != n && *o != Sym::Nothing {
            *o = Sym::Nothing;
            changed = true;
        }
    }
    changed
}
