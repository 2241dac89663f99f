//! What one function may assume of another: the one place that says so.
//!
//! ```text
//! sub f(%r0) -> r { b0: shl u32 %r1 %r0 0x4   ret %r1 }     no effects, returns always, reads no special register
//! sub g(%r2)      { b1: bar   ret }                         effects, a barrier
//! ```
//!
//! [`Table::new`] finds the [`Facts`] of each function from its code and those of the functions
//! that it calls, callees first. [`parameters`] goes the other way: what holds of a parameter
//! because it holds of the argument at each call.
//!
//! There are two worlds. In the closed one ([`World::Closed`]) all functions are here. In the open
//! one, some are compiled separately ([`Linkage`]): nothing is known of who calls a function that
//! is visible, so nothing is assumed of its parameters and launch; and of a function that is only
//! declared the worst is assumed ([`Facts::WORST`]). What is found of a function's own code holds
//! in both. An [`Linkage::Internal`] function has all its callers here in both, too.
//!
//! LLVM's Attributor once assumed a closed world for every module that is compiled for a GPU, and
//! took that back, because relocatable objects are linked with others. Here the world follows from
//! the functions' linkage, so it cannot be assumed by mistake.

use super::divergence;
use super::known_bits::{Bits, KnownBits, Launch};
use crate::ir::*;
use cranelift_entity::SecondaryMap;

/// Whether all functions that take part are here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum World {
    /// They are.
    Closed,
    /// Others call some of these, or are called by them.
    Open,
}

impl World {
    /// As the container has it.
    pub fn name(self) -> &'static str {
        match self {
            World::Closed => "closed",
            World::Open => "open",
        }
    }
}

/// Whether control comes back from a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Returns {
    /// In every lane.
    #[default]
    Always,
    /// It may stay in a loop, or end the thread.
    Perhaps,
    /// In no lane.
    Never,
}

impl Returns {
    /// The same of a function that calls one that comes back like this, perhaps not always.
    pub fn calling(self, callee: Returns) -> Returns {
        match (self, callee) {
            (Returns::Always, Returns::Perhaps | Returns::Never) => Returns::Perhaps,
            (own, _) => own,
        }
    }
}

/// What is known of a call of a function, in any state of the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    pub effects: Effects,
    pub returns: Returns,
    /// Barriers used: the highest number plus one; all sixteen where a number is not known.
    pub barriers: u32,
    /// It touches shared memory.
    pub shared: bool,
    /// System values read: a bit each, by their place in [`Sv::ALL`].
    pub sysvals: u64,
}

impl Facts {
    /// Of a function whose code is not here.
    pub(crate) const WORST: Facts = Facts {
        effects: Effects::Any,
        returns: Returns::Perhaps,
        barriers: 16,
        shared: true,
        sysvals: u64::MAX,
    };

    /// Of a function that does nothing.
    pub(crate) const NONE: Facts =
        Facts { effects: Effects::None, returns: Returns::Always, barriers: 0, shared: false, sysvals: 0 };

    /// Adds what a function does that is called.
    pub(crate) fn calls(&mut self, callee: &Facts) {
        self.effects = self.effects.max(callee.effects);
        self.barriers = self.barriers.max(callee.barriers);
        self.shared |= callee.shared;
        self.sysvals |= callee.sysvals;
        self.returns = self.returns.calling(callee.returns);
    }
}

const _: () = assert!(Sv::ALL.len() <= 64);

/// The facts of all functions of a program.
pub(crate) struct Table {
    facts: SecondaryMap<FuncId, Facts>,
    own: SecondaryMap<FuncId, Facts>,
    order: Vec<FuncId>,
    /// Some function calls itself, directly or through others.
    recursive: bool,
}

impl Table {
    /// Facts of all functions. Those that call themselves, directly or through others, get the
    /// worst.
    pub(crate) fn new(p: &Program) -> Table {
        let order = callees_first(p, p.funcs.keys());
        let mut table = Table {
            facts: SecondaryMap::with_default(Facts::WORST),
            own: SecondaryMap::with_default(Facts::NONE),
            order,
            recursive: false,
        };
        let mut done: SecondaryMap<FuncId, bool> = SecondaryMap::new();
        for k in 0..table.order.len() {
            let id = table.order[k];
            let f = &p.funcs[id];
            if f.linkage == Linkage::Declared {
                done[id] = true;
                continue;
            }
            let mut own = of_body(f, &table.facts);
            let mut all = own;
            for (_, i) in f.insts_in_order() {
                let Some(c) = f.insts[i].call() else { continue };
                // A callee that has no facts yet is in a circle with this one.
                table.recursive |= !done[c.func];
                all.calls(&table.facts[c.func]);
                if p.funcs.get(c.func).is_some_and(|g| g.linkage == Linkage::Internal) {
                    own.calls(&table.facts[c.func]);
                }
            }
            done[id] = true;
            table.facts[id] = all;
            table.own[id] = own;
        }
        table
    }

    /// What a call does besides giving results, as far as its caller may rely on it: what may not
    /// come back has to stay.
    pub(crate) fn effects(&self, callee: FuncId) -> Effects {
        let facts = self.facts(callee);
        if facts.returns == Returns::Always { facts.effects } else { Effects::Any }
    }

    /// What callers may assume.
    pub(crate) fn facts(&self, id: FuncId) -> &Facts {
        &self.facts[id]
    }

    /// The same without what comes from calls of functions that are compiled separately: what a
    /// linker begins with.
    pub(crate) fn own(&self, id: FuncId) -> &Facts {
        &self.own[id]
    }
}

/// Takes back what was noted in functions and calls: a text may say anything, and what holds is
/// found again.
pub(crate) fn forget(p: &mut Program) {
    for f in p.funcs.values_mut() {
        f.param_facts.clear();
        for inst in f.insts.values_mut() {
            if let Some(Ext::Call(c)) = inst.ext.as_deref_mut() {
                c.effects = Effects::Any;
            }
        }
    }
}

/// Functions of a program and all that they call, each after those that it calls, but for circles.
pub(crate) fn callees_first(p: &Program, roots: impl IntoIterator<Item = FuncId>) -> Vec<FuncId> {
    let mut order = Vec::with_capacity(p.funcs.len());
    let mut seen: SecondaryMap<FuncId, bool> = SecondaryMap::new();
    let callees = |id: FuncId| -> Vec<FuncId> {
        let f = &p.funcs[id];
        f.insts_in_order().filter_map(|(_, i)| f.insts[i].call().map(|c| c.func)).collect()
    };
    for root in roots {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut stack = vec![(root, callees(root))];
        while let Some((id, next)) = stack.last_mut() {
            match next.pop() {
                Some(c) if !std::mem::replace(&mut seen[c], true) => stack.push((c, callees(c))),
                Some(_) => {}
                None => {
                    order.push(*id);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// What a function does itself, and whether it comes back; `known` has the facts of those that it
/// calls.
fn of_body(f: &Function, known: &SecondaryMap<FuncId, Facts>) -> Facts {
    let mut facts = Facts::NONE;
    let mut position: SecondaryMap<BlockId, u32> = SecondaryMap::new();
    f.layout.iter().zip(0u32..).for_each(|(&b, n)| position[b] = n);
    let mut reached: SecondaryMap<BlockId, bool> = SecondaryMap::new();
    let mut returned = false;
    let mut straight = true;
    if let Some(&b) = f.layout.first() {
        reached[b] = true;
    }
    // Dominators come first, so but for loops, which do not matter then, all ways into a block are
    // seen before it.
    let mut worklist: Vec<BlockId> = f.layout.first().copied().into_iter().collect();
    while let Some(b) = worklist.pop() {
        let block = &f.blocks[b];
        let mut ends = false;
        for &i in &block.body {
            let inst = &f.insts[i];
            of_inst(inst, &mut facts);
            ends |=
                inst.guard.is_none() && inst.call().is_some_and(|c| known[c.func].returns == Returns::Never);
        }
        if ends {
            straight = false;
            continue;
        }
        match &block.term {
            Term::Ret(_) => returned = true,
            Term::Exit | Term::Unreachable => straight = false,
            term => {
                for to in term.successors() {
                    straight &= position[to] > position[b];
                    if !std::mem::replace(&mut reached[to], true) {
                        worklist.push(to);
                    }
                }
            }
        }
    }
    facts.returns = match (returned, straight) {
        (true, true) => Returns::Always,
        (true, false) => Returns::Perhaps,
        (false, _) => Returns::Never,
    };
    facts
}

fn of_inst(inst: &Inst, facts: &mut Facts) {
    let op = inst.op;
    if op == Op::Call {
        return;
    }
    if let Aux::Sv(sv) = inst.aux
        && op == Op::Rdsv
    {
        facts.sysvals |= 1 << sv as u32;
    }
    facts.barriers = facts.barriers.max(inst.barriers());
    facts.shared |= inst.mem.is_some_and(|m| matches!(m.space, Space::Shared | Space::Generic));
    let constant = inst.mem.is_some_and(|m| {
        op == Op::Ld && m.order == Order::Weak && matches!(m.space, Space::Const | Space::Uniform)
    });
    // Threads have numbers, and lanes have neighbours: a call is not the same everywhere.
    let effects = match () {
        () if !inst.removable() => Effects::Any,
        () if constant => Effects::None,
        () if matches!(op, Op::Rdsv | Op::Undef) => Effects::Reads,
        () if op.is(op::READS | op::CROSS) || inst.mem.is_some() || inst.ext.is_some() => Effects::Reads,
        () => Effects::None,
    };
    facts.effects = facts.effects.max(effects);
}

/// What holds of the parameters of each function that only functions of the program call, because
/// it holds of every call. Empty for all others, and where nothing does.
pub(crate) fn parameters(
    p: &Program,
    table: &Table,
    launch: &Launch,
) -> SecondaryMap<FuncId, Vec<ParamFact>> {
    let mut all: SecondaryMap<FuncId, Option<Vec<(Bits, bool)>>> = SecondaryMap::new();
    let mut found: SecondaryMap<FuncId, Vec<ParamFact>> = SecondaryMap::new();
    if table.recursive {
        return found;
    }
    // Callers first: by the time of a function's turn, all its calls have been seen.
    for &id in table.order.iter().rev() {
        let f = &p.funcs[id];
        if f.linkage == Linkage::Internal
            && id != p.entry
            && let Some(facts) = all[id].take()
        {
            found[id] = facts.iter().map(|&(bits, uniform)| bits.fact(uniform)).collect();
        }
        let calls: Vec<(BlockId, InstId)> = f
            .insts_in_order()
            .filter(|&(_, i)| f.insts[i].call().is_some_and(|c| !c.args.is_empty()))
            .collect();
        if calls.is_empty() {
            continue;
        }
        let launch =
            Launch { block_size: launch.block_size.filter(|_| f.linkage == Linkage::Internal), ..*launch };
        let mut known = KnownBits::with_params(f, &launch, &found[id]);
        let differing = divergence::arguments(f, &found[id], &calls);
        for (&(_, i), differs) in calls.iter().zip(differing) {
            let Some(c) = f.insts[i].call() else { continue };
            c.args.iter().for_each(|&a| known.learn(f, a));
            let here = c.args.iter().zip(differs).map(|(&a, differs)| (known.bits(a), !differs));
            match &mut all[c.func] {
                Some(old) => {
                    for (old, (bits, uniform)) in old.iter_mut().zip(here) {
                        *old = (old.0.meet(bits), old.1 && uniform);
                    }
                }
                none => *none = Some(here.collect()),
            }
        }
    }
    found
}
