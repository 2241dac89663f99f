//! Spilling: which values are in registers where, so that they always fit.
//!
//! After Braun and Hack, "Register Spilling and Live-Range Splitting for SSA-Form Programs" (2009):
//! blocks are walked in reverse postorder with the set of values in registers; when it is full, the
//! value whose next use is furthest away leaves. A loop begins with what is used inside it, so that
//! reloads happen before the loop and not in it. Since a value never changes, its slot is written
//! once, where it is defined, and every later move between slot and register is a load; constants
//! are made again instead.
//!
//! The result is a [`Plan`]: no code is changed, and no SSA form needs repair.

use super::colour::per_value;
use super::frame;
use super::next_use::{BlockUses, LOOP_EXIT, NEVER, NextUse};
use super::plan::{Action, Plan, SpillLocation};
use super::pressure::{self, Demand};
use super::remat::{self, Remat};
use super::{RaError, Summary};
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{BlockId, Call, Class, Def, FuncId, Function, InstId, ValueId};
use cranelift_entity::SecondaryMap;
use std::cell::OnceCell;

/// The registers' contents during the walk.
#[derive(Default)]
struct Tuple {
    list: Vec<ValueId>,
    inside: SecondaryMap<ValueId, bool>,
}

impl Tuple {
    fn set(&mut self, values: &[ValueId]) {
        self.list.drain(..).for_each(|v| self.inside[v] = false);
        values.iter().for_each(|&v| self.add(v));
    }

    fn has(&self, v: ValueId) -> bool {
        self.inside[v]
    }

    fn add(&mut self, v: ValueId) {
        if !std::mem::replace(&mut self.inside[v], true) {
            self.list.push(v);
        }
    }

    fn remove(&mut self, v: ValueId) {
        if std::mem::replace(&mut self.inside[v], false) {
            self.list.retain(|&x| x != v);
        }
    }
}

struct Spiller<'a> {
    f: &'a Function,
    cfg: &'a Cfg,
    live: &'a Liveness,
    summaries: &'a SecondaryMap<FuncId, Option<Summary>>,
    k: usize,
    next_use: &'a NextUse,
    uses: BlockUses,
    now: Tuple,
    plan: Plan,
    /// Some value has a slot.
    in_memory: bool,
    exits: SecondaryMap<BlockId, Vec<ValueId>>,
    /// In how many predecessors each value is in a register, while a block is entered.
    held: SecondaryMap<ValueId, u32>,
    /// Values read for the last time at the instruction in question.
    dying: SecondaryMap<ValueId, u32>,
    /// The most general values alive at once in each loop, by header.
    loop_pressure: SecondaryMap<BlockId, usize>,
    stamp: u32,
}

/// A function that is spilled, perhaps several times.
pub(crate) struct Subject<'a> {
    pub f: &'a Function,
    pub cfg: &'a Cfg,
    pub live: &'a Liveness,
    pub summaries: &'a SecondaryMap<FuncId, Option<Summary>>,
    /// Found once, when first asked for: that takes longer than all the rest.
    next_use: OnceCell<NextUse>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        f: &'a Function,
        cfg: &'a Cfg,
        live: &'a Liveness,
        summaries: &'a SecondaryMap<FuncId, Option<Summary>>,
    ) -> Subject<'a> {
        Subject { f, cfg, live, summaries, next_use: OnceCell::new() }
    }

    /// Whether some block starts with more than `k` values that only memory can keep if no register
    /// does.
    fn needs_memory(&self, k: usize) -> bool {
        let kept = |&&v: &&ValueId| self.f.class(v) == Class::Gpr && remat::of_value(self.f, v).is_none();
        let crowded = |b: BlockId| {
            let live = self.live.live_in(b);
            live.len() > k && live.iter().filter(kept).nth(k).is_some()
        };
        self.cfg.rpo().iter().any(|&b| b != self.f.entry() && crowded(b))
    }
}

/// Decides for a function whose values fit only partly into `k` registers. Slots begin at `slots`;
/// without, nothing may go to memory, and it is an error if something must.
pub(super) fn spill(
    subject: &Subject<'_>,
    k: usize,
    slots: Option<u32>,
    by_block: &SecondaryMap<BlockId, usize>,
) -> Result<Plan, RaError> {
    let &Subject { f, cfg, live, summaries, .. } = subject;
    if slots.is_none() && subject.needs_memory(k) {
        return Err(RaError::Pressure { func: f.name.clone(), limit: k as u32 });
    }
    let mut loop_pressure: SecondaryMap<BlockId, usize> = SecondaryMap::new();
    for &b in cfg.rpo().iter().rev() {
        if let Some(h) = cfg.loop_header(b) {
            loop_pressure[h] = loop_pressure[h].max(by_block[b]);
            if h == b
                && let Some(outer) = cfg.parent_loop(h)
            {
                loop_pressure[outer] = loop_pressure[outer].max(loop_pressure[h]);
            }
        }
    }
    let mut s = Spiller {
        f,
        cfg,
        live,
        summaries,
        k,
        next_use: subject.next_use.get_or_init(|| NextUse::new(f, cfg, live)),
        uses: BlockUses::new(),
        now: Tuple::default(),
        plan: Plan { active: true, frame_end: slots.unwrap_or(0), ..Plan::default() },
        in_memory: false,
        exits: SecondaryMap::new(),
        held: per_value(f, 0),
        dying: SecondaryMap::new(),
        loop_pressure,
        stamp: 0,
    };
    for &b in cfg.rpo() {
        s.block(b)?;
        if s.in_memory && slots.is_none() {
            return Err(s.too_much());
        }
    }
    let mut plan = s.plan;
    frame::assign_slots(f, cfg, live, &mut plan);
    Ok(plan)
}

impl Spiller<'_> {
    fn general(&self, v: ValueId) -> bool {
        self.f.class(v) == Class::Gpr
    }

    /// The value will be wanted where it is in no register.
    fn need_home(&mut self, v: ValueId) {
        if self.plan.spill_locations[v] == SpillLocation::None {
            // The offset is found when all are known.
            self.plan.spill_locations[v] = match remat::of_value(self.f, v) {
                Some(r) => SpillLocation::Remat(r),
                None => {
                    self.in_memory = true;
                    SpillLocation::Slot(u32::MAX)
                }
            };
        }
    }

    fn block(&mut self, b: BlockId) -> Result<(), RaError> {
        let f = self.f;
        self.uses.enter(f, self.cfg, self.live, self.next_use, b);
        let mut entry = self.entry_set(b);
        entry.sort_unstable();
        self.now.set(&entry);
        self.plan.entry[b] = entry;
        for &v in self.live.live_in(b) {
            if self.general(v) && !self.now.has(v) {
                self.need_home(v);
            }
        }
        let length = f.blocks[b].body.len() as u32;
        for &p in &f.blocks[b].params {
            if self.general(p) {
                if self.uses.distance(p, 0, length) >= NEVER {
                    // Nobody reads it: it has no place.
                    self.now.remove(p);
                } else if !self.now.has(p) {
                    self.need_home(p);
                }
            }
        }
        if b == f.entry() {
            for &p in &f.params {
                if self.general(p) && self.uses.distance(p, 0, length) >= NEVER {
                    self.now.remove(p);
                }
            }
        }
        for (n, &i) in f.blocks[b].body.iter().enumerate() {
            let start = self.plan.actions.len() as u32;
            self.instruction(i, n as u32, length)?;
            self.plan.spans[i] = (start, self.plan.actions.len() as u32);
        }
        self.exits[b] = self.now.list.clone();
        Ok(())
    }

    /// The values in registers where a block begins.
    fn entry_set(&mut self, b: BlockId) -> Vec<ValueId> {
        let f = self.f;
        if b == f.entry() {
            return f.params.iter().copied().filter(|&p| self.general(p)).collect();
        }
        let length = f.blocks[b].body.len() as u32;
        let mut candidates: Vec<(u32, u32, ValueId)> = Vec::new();
        let order = self.cfg.order_of(b);
        let preds: Vec<BlockId> =
            self.cfg.preds(b).iter().copied().filter(|&p| self.cfg.order_of(p) < order).collect();
        let mut held = std::mem::take(&mut self.held);
        for &p in &preds {
            self.exits[p].iter().for_each(|&v| held[v] += 1);
        }
        let held_by = |v: ValueId| held[v];
        let header = self.cfg.is_loop_header(b);
        let mut through_loop = Vec::new();
        let mut live_through = 0;
        for &v in self.live.live_in(b).iter().filter(|&&v| self.general(v)) {
            let d = self.uses.distance(v, 0, length);
            let missing = preds.len() as u32 - held_by(v);
            if header && d >= LOOP_EXIT {
                live_through += 1;
                if missing == 0 {
                    through_loop.push((0, d, v));
                }
            } else if header {
                // A constant that is nowhere in a register had better be made where it is used.
                if missing == 0 || remat::of_value(f, v).is_none() || d < 2 {
                    candidates.push((0, d, v));
                }
            } else if missing < preds.len() as u32 {
                candidates.push((missing.min(1), d, v));
            }
        }
        for (k, &p) in f.blocks[b].params.iter().enumerate().filter(|&(_, &p)| self.general(p)) {
            let d = self.uses.distance(p, 0, length);
            if d >= NEVER {
                continue;
            }
            let arg = |q: BlockId| f.blocks[q].term.edges().find(|e| e.to == b).map(|e| e.args[k]);
            let ready = |v: ValueId| {
                held_by(v) > 0
                    || matches!(self.plan.spill_locations[v], SpillLocation::Remat(_))
                    || remat::of_value(f, v).is_some()
            };
            let missing = preds.iter().filter(|&&q| arg(q).is_none_or(|v| !ready(v))).count() as u32;
            if header && d >= LOOP_EXIT {
                live_through += 1;
                through_loop.push((0, d, p));
            } else {
                candidates.push((if header { 0 } else { missing.min(1) }, d, p));
            }
        }
        let nearest = |list: &mut Vec<(u32, u32, ValueId)>, room: usize| {
            if list.len() > room {
                list.sort_unstable();
                list.truncate(room);
            }
        };
        nearest(&mut candidates, self.k);
        if header {
            let inside = self.loop_pressure[b].saturating_sub(live_through);
            let room = self.k.saturating_sub(inside.max(candidates.len()));
            nearest(&mut through_loop, room);
            candidates.extend(through_loop);
        }
        preds.iter().for_each(|&p| self.exits[p].iter().for_each(|&v| held[v] = 0));
        self.held = held;
        candidates.into_iter().map(|w| w.2).collect()
    }

    /// The value in registers, but for those that `keep` holds, that will be missed least.
    fn victim(&self, at: u32, length: u32, keep: impl Fn(ValueId) -> bool) -> Option<ValueId> {
        let price = |v: ValueId| {
            let d = self.uses.distance(v, at + 1, length).min(NEVER) as u64;
            match self.plan.spill_locations[v] {
                // Making a constant is cheap; a value that has its slot needs no store.
                SpillLocation::Remat(Remat::Undef) => u64::MAX,
                SpillLocation::Remat(_) => d * 16,
                SpillLocation::Slot(_) => d * 2,
                SpillLocation::None if self.is_constant(v) => d * 16,
                SpillLocation::None => d,
            }
        };
        self.now.list.iter().copied().filter(|&v| !keep(v)).max_by_key(|&v| (price(v), v))
    }

    fn is_constant(&self, v: ValueId) -> bool {
        matches!(self.f.values[v].def, Def::Inst(_)) && remat::of_value(self.f, v).is_some()
    }

    fn instruction(&mut self, i: InstId, at: u32, length: u32) -> Result<(), RaError> {
        let f = self.f;
        let inst = &f.insts[i];
        let mut used: Vec<ValueId> = Vec::new();
        inst.for_uses(|v| {
            if f.class(v) == Class::Gpr && !used.contains(&v) {
                used.push(v);
            }
        });
        used.iter().for_each(|&v| self.uses.pass(v, at));
        self.stamp += 1;
        let stamp = self.stamp;
        for &v in &used {
            if self.uses.distance(v, at + 1, length) >= NEVER {
                self.dying[v] = stamp;
            }
        }
        if let Some(call) = inst.call() {
            self.call(call, &used, at, length);
        } else {
            let demand = pressure::demand(f, inst, |v| self.dying[v] == stamp);
            self.make_room(&used, &demand, at, length)?;
            let defs = pressure::general_defs(f, inst);
            used.iter().filter(|&&v| self.dying[v] == stamp).for_each(|&v| self.now.remove(v));
            while self.now.list.len() + defs > self.k {
                let v = self.victim(at, length, |_| false).ok_or_else(|| self.too_much())?;
                self.evict(v, used.contains(&v));
            }
        }
        inst.for_defs(|d| {
            if f.class(d) == Class::Gpr && self.uses.distance(d, at + 1, length) < NEVER {
                self.now.add(d);
            }
        });
        Ok(())
    }

    fn too_much(&self) -> RaError {
        RaError::Pressure { func: self.f.name.clone(), limit: self.k as u32 }
    }

    fn evict(&mut self, v: ValueId, read_here: bool) {
        self.need_home(v);
        self.now.remove(v);
        self.plan.actions.push(if read_here { Action::DropAfter(v) } else { Action::DropBefore(v) });
    }

    /// Brings what an instruction reads into registers, and others out where they would be in its
    /// way.
    fn make_room(&mut self, used: &[ValueId], demand: &Demand, at: u32, length: u32) -> Result<(), RaError> {
        let reloads: Vec<ValueId> = used.iter().copied().filter(|&v| !self.now.has(v)).collect();
        reloads.iter().for_each(|&v| self.now.add(v));
        let stamp = self.stamp;
        loop {
            let all = self.now.list.len();
            let ends = |v: &ValueId| self.dying[*v] == stamp;
            let beside = all
                - used.iter().filter(|v| ends(v)).count()
                - demand.elements.iter().filter(|v| !ends(v)).count();
            if all <= self.k && (demand.tuples == 0 || beside + demand.tuples <= self.k) {
                break;
            }
            let v = self.victim(at, length, |v| used.contains(&v)).ok_or_else(|| self.too_much())?;
            self.evict(v, false);
        }
        self.plan.actions.extend(reloads.into_iter().map(Action::Reload));
        Ok(())
    }

    /// Arguments are copied to the callee's registers from wherever they are; what lives through
    /// must fit beside what the callee writes.
    fn call(&mut self, call: &Call, used: &[ValueId], at: u32, length: u32) {
        let stamp = self.stamp;
        used.iter().filter(|&&v| self.dying[v] == stamp).for_each(|&v| self.now.remove(v));
        let safe = pressure::safe_registers(self.summaries, call, self.k);
        while self.now.list.len() > safe {
            let Some(v) = self.victim(at, length, |_| false) else { break };
            self.evict(v, used.contains(&v));
        }
    }
}
