//! Predicates beyond the seven registers live in general registers.
//!
//! Where too many are alive, some become 0 or 1 in a general register for their whole life: right
//! after the definition, `sel u32 %g 0x0 0x1 !%p`; right before each use, `set ne pred %q %g 0x0`.
//! So every use has a short predicate of its own, no SSA form needs repair, and the general values
//! take part in spilling like all others.
//!
//! One walk is enough: a value chosen at some place was alive there, so its reloads need no
//! register that it did not take before.

use super::colour::{PREDS, per_value};
use super::{Phys, Summary};
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{
    BlockId, Class, Cond, Def, FuncId, Function, Inst, InstId, Loc, Op, Src, Term, Type, ValueId,
};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// Makes predicates fit where they perhaps do not, in the blocks that are `crowded`. Tells whether
/// the code has changed.
pub(super) fn limit(
    f: &mut Function,
    cfg: &Cfg,
    live: &Liveness,
    crowded: &[BlockId],
    summaries: &SecondaryMap<FuncId, Option<Summary>>,
) -> bool {
    if crowded.is_empty() {
        return false;
    }
    let mut chooser = Chooser {
        f,
        cfg,
        weight: SecondaryMap::new(),
        spilled: per_value(f, false),
        any: false,
        alive: Vec::new(),
        later: per_value(f, 0),
        stamp: 0,
        summaries,
    };
    for &b in crowded {
        chooser.block(live, b);
    }
    let changed = chooser.any;
    if changed {
        let spilled = chooser.spilled;
        Rewriter { f, spilled, general: SecondaryMap::new(), loc: Loc::default() }.run(cfg);
    }
    changed
}

struct Chooser<'a> {
    f: &'a Function,
    cfg: &'a Cfg,
    /// Uses of each predicate, those in loops counting more.
    weight: SecondaryMap<ValueId, u32>,
    spilled: SecondaryMap<ValueId, bool>,
    any: bool,
    /// Predicates in registers where the walk is.
    alive: Vec<ValueId>,
    /// The number of the block in which the value is known to be read later on.
    later: SecondaryMap<ValueId, u32>,
    stamp: u32,
    summaries: &'a SecondaryMap<FuncId, Option<Summary>>,
}

impl Chooser<'_> {
    /// Counts the uses of each predicate, the first time that there are too many.
    fn weigh(&mut self) {
        if self.any {
            return;
        }
        self.weight = per_value(self.f, 0);
        for &b in self.cfg.rpo() {
            let w = 8u32.pow(self.cfg.loop_depth(b).min(6));
            let mut count = |v: ValueId| {
                if self.f.class(v) == Class::Pred {
                    self.weight[v] = self.weight[v].saturating_add(w);
                }
            };
            self.f.blocks[b].body.iter().for_each(|&i| self.f.insts[i].for_uses(&mut count));
            self.f.blocks[b].term.for_uses(&mut count);
        }
    }

    /// Chooses among those alive until no more than `room` are in registers, `keep` apart.
    fn reduce(&mut self, room: usize, keep: &[ValueId]) {
        while self.alive.len() > room {
            self.weigh();
            let weight = &self.weight;
            let victim = self
                .alive
                .iter()
                .copied()
                .filter(|v| !keep.contains(v))
                .min_by_key(|&v| (weight[v], std::cmp::Reverse(v)));
            let Some(v) = victim else { break };
            self.spilled[v] = true;
            self.any = true;
            self.alive.retain(|&x| x != v);
        }
    }

    fn block(&mut self, live: &Liveness, b: BlockId) {
        let f = self.f;
        let block = &f.blocks[b];
        // Who is read for the last time where, from the end of the block.
        self.stamp += 1;
        let (stamp, later) = (self.stamp, &mut self.later);
        live.live_out(b).iter().for_each(|&v| later[v] = stamp);
        block.term.for_uses(|v| later[v] = stamp);
        let mut dead: Vec<ValueId> = Vec::new();
        let mut ends: Vec<usize> = Vec::with_capacity(block.body.len() + 1);
        ends.push(0);
        for &i in block.body.iter().rev() {
            let mut note = |v: ValueId| {
                if f.class(v) == Class::Pred && std::mem::replace(&mut later[v], stamp) != stamp {
                    dead.push(v);
                }
            };
            f.insts[i].for_uses(&mut note);
            f.insts[i].for_defs(&mut note);
            ends.push(dead.len());
        }
        let entering = if b == f.entry() { &f.params[..] } else { &[] };
        let spilled = &self.spilled;
        let entering = live.live_in(b).iter().chain(&block.params).chain(entering).copied();
        self.alive = entering.filter(|&v| f.class(v) == Class::Pred && !spilled[v]).collect();
        self.reduce(PREDS, &[]);
        let later = &self.later;
        self.alive.retain(|&v| later[v] == stamp);
        for (n, &i) in block.body.iter().enumerate() {
            let n = block.body.len() - n;
            self.instruction(&f.insts[i], &dead[ends[n - 1]..ends[n]]);
        }
        // What the terminator reads is brought back in front of it.
        let mut used: Vec<ValueId> = Vec::new();
        block.term.for_uses(|v| {
            if f.class(v) == Class::Pred && !used.contains(&v) {
                used.push(v);
            }
        });
        let reloads = used.iter().filter(|&&v| self.spilled[v]).count();
        self.reduce(PREDS.saturating_sub(reloads), &used);
    }

    fn instruction(&mut self, inst: &Inst, dead: &[ValueId]) {
        let mut concerned = inst.call().is_some();
        let mut look = |v: ValueId| concerned |= self.f.class(v) == Class::Pred;
        inst.for_uses(&mut look);
        inst.for_defs(&mut look);
        if !concerned {
            return;
        }
        let mut used: Vec<ValueId> = Vec::new();
        inst.for_uses(|v| {
            if self.f.class(v) == Class::Pred && !used.contains(&v) {
                used.push(v);
            }
        });
        let mut defs: Vec<ValueId> = Vec::new();
        inst.for_defs(|v| {
            if self.f.class(v) == Class::Pred {
                defs.push(v);
            }
        });
        let reloads = used.iter().filter(|&&v| self.spilled[v]).count();
        self.reduce(PREDS.saturating_sub(reloads), &used);
        self.alive.retain(|v| !dead.contains(v));
        if let Some(callee) = inst.call().and_then(|c| self.summaries[c.func].as_ref()) {
            let safe = (0..PREDS as u8).filter(|&p| !callee.clobbers.contains(Phys::Pred(p))).count();
            // The guard is read after the arguments have been put in place.
            self.reduce(safe.saturating_sub(inst.guard.is_some() as usize), &[]);
        }
        self.reduce(PREDS.saturating_sub(defs.len()), &[]);
        self.alive.extend(defs.iter().copied().filter(|&d| !dead.contains(&d) && !self.spilled[d]));
    }
}

struct Rewriter<'a> {
    f: &'a mut Function,
    spilled: SecondaryMap<ValueId, bool>,
    /// The general value that stands for a spilled predicate.
    general: SecondaryMap<ValueId, PackedOption<ValueId>>,
    /// Where what is rewritten comes from.
    loc: Loc,
}

impl Rewriter<'_> {
    fn run(&mut self, cfg: &Cfg) {
        for &b in cfg.rpo() {
            for k in 0..self.f.blocks[b].params.len() {
                let p = self.f.blocks[b].params[k];
                if self.spilled[p] {
                    let g =
                        self.f.values.push(crate::ir::ValueData { class: Class::Gpr, def: Def::Block(b) });
                    self.f.values[p].def = Def::None;
                    self.f.blocks[b].params[k] = g;
                    self.general[p] = g.into();
                }
            }
        }
        for &b in cfg.rpo() {
            self.block(b);
        }
    }

    fn block(&mut self, b: BlockId) {
        let old = std::mem::take(&mut self.f.blocks[b].body);
        let mut body = Vec::with_capacity(old.len());
        if b == self.f.entry() {
            for p in self.f.params.clone() {
                if self.spilled[p] {
                    self.save(p, &mut body);
                }
            }
        }
        for i in old {
            self.loc = self.f.insts[i].loc;
            self.reload_uses(i, &mut body);
            body.push(i);
            let mut defs = Vec::new();
            self.f.insts[i].for_defs(|d| defs.push(d));
            for d in defs {
                if self.spilled[d] {
                    self.save(d, &mut body);
                }
            }
        }
        self.loc = self.f.blocks[b].term_loc;
        self.terminator(b, &mut body);
        self.f.blocks[b].body = body;
    }

    /// Puts a predicate into a general register.
    fn save(&mut self, p: ValueId, body: &mut Vec<InstId>) {
        let g = self.as_general(p, body);
        self.general[p] = g.into();
    }

    fn as_general(&mut self, p: ValueId, body: &mut Vec<InstId>) -> ValueId {
        let g = self.f.new_value(Class::Gpr);
        let mut sel = Inst::new(Op::Sel, Type::U32).src(0).src(1).src(Src::val(p).inv()).dst(g);
        sel.loc = self.loc;
        body.push(self.f.make(sel));
        g
    }

    /// A short-lived predicate with the value of a spilled one.
    fn reload(&mut self, p: ValueId, body: &mut Vec<InstId>) -> ValueId {
        let Some(g) = self.general[p].expand() else { return p };
        let q = self.f.new_value(Class::Pred);
        let mut set = Inst::new(Op::Set, Type::Pred).src(g).src(0).dst(q);
        set.sty = Type::U32;
        set.cond = Cond::Ne;
        set.loc = self.loc;
        body.push(self.f.make(set));
        q
    }

    fn reload_uses(&mut self, i: InstId, body: &mut Vec<InstId>) {
        let mut used: Vec<(ValueId, ValueId)> = Vec::new();
        self.f.insts[i].for_uses(|v| {
            if self.spilled[v] && !used.iter().any(|u| u.0 == v) {
                used.push((v, v));
            }
        });
        for u in &mut used {
            u.1 = self.reload(u.0, body);
        }
        if !used.is_empty() {
            self.f.insts[i].map_uses(|v| used.iter().find(|u| u.0 == v).map_or(v, |u| u.1));
        }
    }

    fn terminator(&mut self, b: BlockId, body: &mut Vec<InstId>) {
        let mut term = std::mem::replace(&mut self.f.blocks[b].term, Term::Unreachable);
        // Arguments for parameters that have become general.
        let mut targets: Vec<(BlockId, Vec<ValueId>)> =
            term.edges().map(|e| (e.to, e.args.clone())).collect();
        for (to, args) in &mut targets {
            for (k, a) in args.iter_mut().enumerate() {
                let wanted = self.f.class(self.f.blocks[*to].params[k]);
                if self.f.class(*a) == Class::Pred {
                    *a = match (wanted, self.general[*a].expand()) {
                        (Class::Gpr, Some(g)) => g,
                        (Class::Gpr, None) => self.as_general(*a, body),
                        (_, Some(_)) => self.reload(*a, body),
                        (_, None) => *a,
                    };
                }
            }
        }
        for (e, (_, args)) in term.edges_mut().zip(targets) {
            e.args = args;
        }
        // The condition, and results.
        match &mut term {
            Term::Branch { cond, .. } => *cond = self.reload(*cond, body),
            Term::Ret(values) => {
                for v in values {
                    *v = self.reload(*v, body);
                }
            }
            _ => {}
        }
        self.f.blocks[b].term = term;
    }
}
