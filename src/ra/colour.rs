//! Colouring: every value that is in a register gets one, block by block in reverse postorder.
//!
//! The values alive at any place fit into the registers (spilling saw to that), so a free one is
//! always found. Where an instruction wants values side by side ([`super::tuples`]) or a call wants
//! them elsewhere, occupants move. Where blocks meet, each edge gets the moves from where values
//! are to where the block expects them ([`super::edges`]).

use super::accesses::{Access, Accesses};
use super::across_calls::AcrossCalls;
use super::file::{File, Mask};
use super::hints::{Chain, Hints, NONE, TuplePosition};
use super::locations::BlockLocations;
use super::operands::{self, Tuple};
use super::pcopy::{self, Location, Scratch};
use super::plan::{Action, Plan, SpillLocation};
use super::prepare::Facts;
use super::recolour::{Attempt, Spent};
use super::remat::{self, Remat};
use super::result_regs::ResultRegs;
use super::{Allocation, Job, Move, Phys, RaError, RegSet, Span, Spans, Summary};
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{BlockId, Class, FuncId, Function, InstId, Term, ValueId};
use arrayvec::ArrayVec;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Predicate registers that can be assigned.
pub(super) const PREDS: usize = 7;

/// Which of the free registers a value gets that has no hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Low,
    /// The low ones are left to tuples.
    High,
}

/// The state of colouring one function.
pub(super) struct Colour<'a> {
    pub f: &'a Function,
    pub cfg: &'a Cfg,
    pub live: &'a Liveness,
    pub plan: &'a Plan,
    pub summaries: &'a SecondaryMap<FuncId, Option<Summary>>,
    pub hints: Hints,
    pub results: ResultRegs,
    pub loc: SecondaryMap<ValueId, u8>,
    pub gprs: File,
    pub preds: File,
    pub out: Allocation,
    /// Values in registers at the end of a block that somebody needs, edge arguments included.
    pub exits: BlockLocations,
    /// Values in registers where a block begins, its parameters included; nothing of those in
    /// `undisturbed`.
    pub entries: BlockLocations,
    /// Blocks in which all values stay where the only predecessor left them.
    pub undisturbed: EntitySet<BlockId>,
    /// Stores of parameters that have slots, at the beginning of blocks.
    pub entry_stores: SecondaryMap<BlockId, Vec<Move>>,
    accesses: &'a Accesses,
    pub across_calls: AcrossCalls,
    copies: Vec<(Location, Location)>,
    lists: Lists,
    /// What the functions that are called may write.
    pub clobbers: RegSet,
    attempt: Attempt,
    spent: Spent,
    pub scratch_slots_used: bool,
}

/// Lists of the block that is entered or left, kept for their memory.
#[derive(Default)]
struct Lists {
    preds: Vec<BlockId>,
    /// The values that live into it, with their registers.
    through: Vec<(ValueId, u8)>,
    /// Those without a register yet.
    homeless: Vec<ValueId>,
    /// Its parameters with their registers, or what its terminator reads.
    others: Vec<(ValueId, u8)>,
}

/// What colouring a function begins with, however many registers it may use.
#[derive(Clone)]
pub(super) struct Wishes {
    hints: Hints,
    results: ResultRegs,
    across_calls: AcrossCalls,
}

impl Wishes {
    pub(super) fn new(
        f: &Function,
        cfg: &Cfg,
        live: &Liveness,
        summaries: &SecondaryMap<FuncId, Option<Summary>>,
        facts: &Facts,
    ) -> Wishes {
        let mut hints = Hints::new(f, cfg, |func| summaries[func].clone());
        let results = ResultRegs::new(f, cfg, &mut hints);
        let across_calls =
            if facts.calls() { AcrossCalls::new(f, cfg, live, summaries) } else { AcrossCalls::default() };
        Wishes { hints, results, across_calls }
    }
}

impl<'a> Colour<'a> {
    pub(super) fn new(job: &'a Job<'_>, plan: &'a Plan, attempt: Attempt) -> Colour<'a> {
        let Job { f, cfg, live, summaries, accesses, .. } = job;
        let Wishes { hints, results, across_calls } = job.wishes.clone();
        let mut out = Allocation::default();
        out.regs.reserve(4 * f.inst_count());
        out.insts.resize(f.insts.len());
        out.term_regs.resize(f.blocks.len());
        out.start.resize(f.blocks.len());
        out.end.resize(f.blocks.len());
        Colour {
            f,
            cfg,
            live,
            plan,
            summaries,
            hints,
            results,
            loc: per_value(f, NONE),
            gprs: File::new(attempt.limit as usize),
            preds: File::new(PREDS),
            out,
            exits: BlockLocations::with_blocks(f.blocks.len()),
            entries: BlockLocations::with_blocks(f.blocks.len()),
            undisturbed: EntitySet::with_capacity(f.blocks.len()),
            entry_stores: SecondaryMap::new(),
            accesses,
            across_calls,
            copies: Vec::new(),
            lists: Lists::default(),
            clobbers: RegSet::default(),
            attempt,
            spent: Spent::default(),
            scratch_slots_used: false,
        }
    }

    /// Assigns registers in all blocks; the moves on edges are still missing.
    pub(super) fn run(&mut self) -> Result<(), RaError> {
        let accesses = self.accesses;
        for n in 0..self.cfg.rpo().len() {
            let b = self.cfg.rpo()[n];
            self.results.enter(self.f, b, n as u32, self.live);
            self.enter(b)?;
            let body = &self.f.blocks[b].body;
            for (at, &i) in body.iter().enumerate() {
                self.results.now.1 = at as u32;
                let (defs, uses) = accesses.of(b, at, body.len());
                self.instruction(i, defs, uses)?;
                self.check_cost()?;
            }
            self.leave(b);
        }
        Ok(())
    }

    /// An error where the moves cost more than the attempt is worth.
    pub(super) fn check_cost(&mut self) -> Result<(), RaError> {
        if self.spent.is_worth(&self.attempt, &self.out.moves) { Ok(()) } else { Err(self.pressure()) }
    }

    pub(super) fn file(&mut self, class: Class) -> &mut File {
        if class == Class::Pred { &mut self.preds } else { &mut self.gprs }
    }

    pub(super) fn file_of(&self, class: Class) -> &File {
        if class == Class::Pred { &self.preds } else { &self.gprs }
    }

    /// Puts a value into a register.
    pub(super) fn put(&mut self, v: ValueId, r: u8, class: Class) {
        if class == Class::Carry {
            self.loc[v] = 0;
            return;
        }
        self.loc[v] = r;
        self.hints.got(v, r);
        self.file(class).put(r, v);
    }

    /// Gives up a value's register, if it has one.
    pub(super) fn release(&mut self, v: ValueId) {
        self.release_of(v, self.f.class(v));
    }

    /// The same of a value whose class is known.
    pub(super) fn release_of(&mut self, v: ValueId, class: Class) {
        let r = std::mem::replace(&mut self.loc[v], NONE);
        if r != NONE && class != Class::Carry {
            self.file(class).take(r);
        }
    }

    #[cold]
    pub(super) fn pressure(&self) -> RaError {
        RaError::Pressure { func: self.f.name.clone(), limit: self.attempt.limit }
    }

    /// A free register for a value: the one that saves copies, if it can be had.
    fn pick(&mut self, v: ValueId, class: Class) -> Result<u8, RaError> {
        if class == Class::Carry {
            return Ok(0);
        }
        let wanted = self.hints.wanted(v);
        let position = if class == Class::Gpr { self.hints.position(v) } else { None };
        let keep_out = match class {
            Class::Gpr if !self.results.is_empty() => self.results.keep_out(v),
            _ => Mask::default(),
        };
        if class == Class::Gpr && position.is_none() {
            // The edge back is taken in every round.
            let home = self.results.home(v);
            if home != NONE && self.gprs.open(home, None) && u32::from(home) >= self.across_calls.end(v) {
                return Ok(home);
            }
        }
        if class == Class::Gpr
            && let Some(r) = self.in_chain(v, position, wanted)
        {
            return Ok(r);
        }
        if let Some(position) = position {
            let tuple = self.hints.tuples[position.tuple as usize];
            if let Some(r) =
                self.tuple_register(&tuple, position.tuple, position.index as usize, wanted, &keep_out)
            {
                return Ok(r);
            }
        }
        if position.is_none()
            && class == Class::Gpr
            && let Some(r) = self.beside_calls(v, wanted)
        {
            return Ok(r);
        }
        let from = if class == Class::Gpr { self.attempt.from } else { End::Low };
        let file = self.file(class);
        if file.open(wanted, position.map(|s| s.tuple)) {
            return Ok(wanted);
        }
        let choose = |others: &[&Mask]| match from {
            End::Low => file.free.lowest_without(others),
            End::High => file.free.highest_without(others),
        };
        let open = choose(&[&file.kept_mask, &keep_out]);
        let open = open.or_else(|| choose(&[&file.kept_mask])).or_else(|| choose(&[]));
        open.ok_or_else(|| self.pressure())
    }

    /// A register for a value whose chain ends in a tuple or a register that is wanted: that one,
    /// if it is free.
    fn in_chain(&mut self, v: ValueId, own: Option<TuplePosition>, wanted: u8) -> Option<u8> {
        if self.hints.chains_are_none() {
            return None;
        }
        let position = match (own, self.hints.chain(v)) {
            (Some(position), _) | (None, Chain::Position(position)) => position,
            (None, Chain::Register(r)) if wanted == NONE => return self.gprs.open(r, None).then_some(r),
            _ => return None,
        };
        let (number, place) = (position.tuple as usize, usize::from(position.index));
        let begun = self.hints.bases[number];
        if begun != NONE {
            let r = begun as usize + place;
            return (r < self.gprs.n && self.gprs.open(r as u8, Some(position.tuple))).then_some(r as u8);
        }
        if own.is_some() || wanted != NONE || self.across_calls.any {
            return None;
        }
        let words = self.hints.tuples[number].len();
        let align = operands::alignment(words);
        let file = &self.gprs;
        let fits = |base: usize| (0..words).all(|k| file.open((base + k) as u8, Some(position.tuple)));
        let keep_out = if self.results.is_empty() { Mask::default() } else { self.results.keep_out(v) };
        let apart = |base: usize| (0..words).all(|k| !keep_out.has((base + k) as u8));
        let last = file.n.checked_sub(words)?;
        let base = (0..=last).step_by(align).find(|&base| fits(base) && apart(base))?;
        self.hints.bases[number] = base as u8;
        Some((base + place) as u8)
    }

    /// For a value that lives through calls, a free register that these leave alone.
    pub(super) fn beside_calls(&mut self, v: ValueId, wanted: u8) -> Option<u8> {
        let end = self.across_calls.end(v);
        if end == 0 {
            return None;
        }
        if wanted != NONE && wanted as u32 >= end && self.gprs.open(wanted, None) {
            return Some(wanted);
        }
        let below = Mask::below(end as usize);
        self.gprs.free.lowest_without(&[&below, &self.gprs.kept_mask])
    }

    /// A register for the value at `place` of a tuple: beside its neighbours, or the beginning of a
    /// free tuple; above what the calls write that it lives through, if that can be had.
    fn tuple_register(
        &mut self,
        tuple: &Tuple,
        number: u32,
        place: usize,
        wanted: u8,
        keep_out: &Mask,
    ) -> Option<u8> {
        let align = operands::alignment(tuple.len());
        let end = self.across_calls.end(tuple[place]) as usize;
        let file = &mut self.gprs;
        for (k, &other) in tuple.iter().enumerate().filter(|&(k, _)| k != place) {
            let at = self.loc[other];
            if at == NONE || (at as usize) < k || !(at as usize - k).is_multiple_of(align) {
                continue;
            }
            let r = at as usize - k + place;
            if (end..file.n).contains(&r) && file.open(r as u8, Some(number)) {
                return Some(r as u8);
            }
        }
        let fits = |file: &File, base: usize| {
            base + tuple.len() <= file.n
                && (0..tuple.len()).all(|k| file.open((base + k) as u8, Some(number)))
        };
        let mut base = None;
        if wanted != NONE && wanted as usize >= place {
            let at = wanted as usize - place;
            if at.is_multiple_of(align) && wanted as usize >= end && fits(file, at) {
                base = Some(at);
            }
        }
        let first = end.next_multiple_of(align);
        let below = |end: usize| (first..end).step_by(align).chain((0..first.min(file.n)).step_by(align));
        let apart = |at: usize| (0..tuple.len()).all(|k| !keep_out.has((at + k) as u8));
        // Beyond the last register in use, none is.
        let used = file.used.end() as usize;
        let in_use = |at: usize| (0..tuple.len()).all(|k| file.used.has((at + k) as u8));
        let base = base.or_else(|| below(used).find(|&at| in_use(at) && apart(at) && fits(file, at)));
        let base = base.or_else(|| below(file.n).find(|&at| apart(at) && fits(file, at)));
        let base = base.or_else(|| below(file.n).find(|&at| fits(file, at)))?;
        for k in (0..tuple.len()).filter(|&k| k != place) {
            file.keep((base + k) as u8, number);
        }
        Some((base + place) as u8)
    }

    /// A register that nothing is in and nothing will be moved into, for breaking cycles: not one
    /// that would raise the number of registers past the next step of eight.
    fn scratch(&self, class: Class) -> Option<u8> {
        let file = if class == Class::Pred { &self.preds } else { &self.gprs };
        let mut taken = super::file::Mask::default();
        for &(d, s) in &self.copies {
            for p in [d, s] {
                if let Location::Reg(r) = p
                    && r.class() == class
                {
                    taken.set(r.number());
                }
            }
        }
        let bound = file.used.end().next_multiple_of(8);
        file.free.lowest_without(&[&taken]).filter(|&r| (r as u32) < bound)
    }

    /// Sequentialises `self.copies` at the end of the moves made so far. The files are as before
    /// the copies.
    pub(crate) fn flush_copies(&mut self) {
        if self.copies.is_empty() {
            return;
        }
        let scratch = Scratch {
            gpr: self.scratch(Class::Gpr),
            pred: self.scratch(Class::Pred),
            slots: self.plan.frame_end,
        };
        let start = self.out.moves.len();
        self.scratch_slots_used |= pcopy::sequentialise(&self.copies, scratch, &mut self.out.moves);
        for n in start..self.out.moves.len() {
            if let Move::Copy { dst, .. } = self.out.moves[n] {
                self.use_register(dst);
            }
        }
        self.copies.clear();
    }

    /// Moves a value with the next copies. What has no value in particular has it in any register.
    pub(super) fn queue(&mut self, v: ValueId, dst: Phys, src: Phys) {
        if remat::of_value(self.f, v) == Some(Remat::Undef) {
            return self.use_register(dst);
        }
        self.copies.push((Location::Reg(dst), Location::Reg(src)));
    }

    fn use_register(&mut self, r: Phys) {
        match r {
            Phys::Gpr(r) => self.gprs.used.set(r),
            Phys::Pred(r) => self.preds.used.set(r),
            Phys::Carry => {}
        }
    }

    /// Appends the move that brings a value from its home into a register.
    pub(super) fn reload(&mut self, v: ValueId, dst: u8) {
        match self.plan.spill_locations[v] {
            SpillLocation::Slot(offset) => self.out.moves.push(Move::Load { dst, words: 1, offset }),
            SpillLocation::Remat(r) => self.out.moves.extend(r.to(dst)),
            SpillLocation::None => {}
        }
        self.gprs.used.set(dst);
    }

    /// Registers at the beginning of a block: where its predecessors left them, as far as that goes
    /// together.
    fn enter(&mut self, b: BlockId) -> Result<(), RaError> {
        self.gprs.clear();
        self.preds.clear();
        let (f, plan, live) = (self.f, self.plan, self.live);
        let of_func: &[ValueId] = if b == f.entry() { &f.params } else { &[] };
        let of_block = &f.blocks[b].params[..];
        if live.live_in(b).is_empty() && of_block.is_empty() && of_func.is_empty() {
            return Ok(());
        }
        // Predecessors that were visited, those in the innermost loop first.
        let order = self.cfg.order_of(b);
        let mut lists = std::mem::take(&mut self.lists);
        let Lists { preds, through, homeless, others } = &mut lists;
        preds.clear();
        preds.extend(self.cfg.preds(b).iter().copied().filter(|&p| self.cfg.order_of(p) < order));
        preds.sort_by_key(|&p| (std::cmp::Reverse(self.cfg.loop_depth(p)), self.cfg.order_of(p)));
        preds.dedup();

        through.clear();
        homeless.clear();
        self.stay(live.live_in(b), &plan.entry[b], preds, through, homeless);
        let some_homeless = !homeless.is_empty();
        let in_register =
            |v: &ValueId| !plan.active || f.class(*v) != Class::Gpr || plan.entry[b].binary_search(v).is_ok();
        let params = || of_block.iter().copied().enumerate().filter(|(_, v)| in_register(v));
        for (k, v) in params() {
            let argument = |p: BlockId| f.blocks[p].term.edges().find(|e| e.to == b).map(|e| e.args[k]);
            let found = preds.iter().find_map(|&p| self.open_at_exit(p, argument(p)?));
            match found {
                Some(r) => self.put(v, r, f.class(v)),
                None => homeless.push(v),
            }
        }
        let of_func = || of_func.iter().copied().filter(in_register);
        for &v in &*homeless {
            let r = self.pick(v, f.class(v))?;
            self.put(v, r, f.class(v));
        }
        // Nothing else is in a register where a function begins.
        for (k, &v) in f.params.iter().enumerate().filter(|(_, v)| b == f.entry() && in_register(v)) {
            let r = match f.param_regs.get(k) {
                Some(&r) => r,
                None => self.pick(v, f.class(v))?,
            };
            self.put(v, r, f.class(v));
        }
        let loc = &self.loc;
        if some_homeless {
            through.iter_mut().for_each(|t| t.1 = loc[t.0]);
        }
        let params = || params().map(|p| p.1).chain(of_func());
        others.clear();
        others.extend(params().map(|v| (v, loc[v])));
        let follows = preds.len() == 1 && self.cfg.preds(b).len() == 1 && of_block.is_empty();
        if follows && !some_homeless && !plan.active {
            self.undisturbed.insert(b);
        } else {
            self.entries.set(b, through.iter().copied(), others);
        }
        self.lists = lists;
        self.results.begin_loop(f, b, live, |v| loc[v]);
        if plan.active {
            let store = |v| match plan.spill_locations[v] {
                SpillLocation::Slot(offset) => Some(Move::Store { src: self.loc[v], words: 1, offset }),
                _ => None,
            };
            self.entry_stores[b] = params().filter_map(store).collect();
        }
        if b == f.entry() {
            self.out.summary.params = of_func().map(|v| Phys::new(f.class(v), self.loc[v])).collect();
        }
        self.accesses.dead_params(b).iter().for_each(|&v| self.release(v));
        Ok(())
    }

    /// Leaves values that live into a block in the registers that they were in where control comes
    /// from: the first of the predecessors whose register for it is still free. All lists are in
    /// order of values. Appends each value to `places`, with [`NONE`] for one that had no such
    /// register, which goes to `homeless`, too; those not `planned` to be in a register are left
    /// out.
    fn stay(
        &mut self,
        values: &[ValueId],
        mut planned: &[ValueId],
        preds: &[BlockId],
        places: &mut Vec<(ValueId, u8)>,
        homeless: &mut Vec<ValueId>,
    ) {
        let mut exits: Vec<&[(ValueId, u8)]> = preds.iter().map(|&p| self.exits.in_block(p)).collect();
        for &v in values {
            let class = self.f.class(v);
            if self.plan.active && class == Class::Gpr {
                while planned.first().is_some_and(|&p| p < v) {
                    planned = &planned[1..];
                }
                if planned.first() != Some(&v) {
                    continue;
                }
            }
            let file = if class == Class::Pred { &mut self.preds } else { &mut self.gprs };
            let mut found = NONE;
            for list in &mut exits {
                while list.first().is_some_and(|e| e.0 < v) {
                    *list = &list[1..];
                }
                if let Some(&(exit, r)) = list.first()
                    && exit == v
                    && file.free.has(r)
                {
                    // Its coalescing class knows the register already.
                    file.put(r, v);
                    self.loc[v] = r;
                    found = r;
                    break;
                }
            }
            places.push((v, found));
            if found == NONE {
                homeless.push(v);
            }
        }
    }

    /// The register in which a predecessor left a value, if it is free here.
    fn open_at_exit(&self, p: BlockId, v: ValueId) -> Option<u8> {
        let r = self.exits.get(p, v)?;
        self.file_of(self.f.class(v)).free.has(r).then_some(r)
    }

    fn leave(&mut self, b: BlockId) {
        let start = self.out.regs.len() as u32;
        if let Term::Branch { cond, .. } = self.f.blocks[b].term {
            self.out.regs.push((cond, Phys::Pred(self.loc[cond])));
        }
        self.out.term_regs[b] = (start, self.out.regs.len() as u32);
        let loc = &self.loc;
        let somewhere = |v: ValueId| (loc[v] != NONE).then_some((v, loc[v]));
        let read = &mut self.lists.others;
        read.clear();
        self.f.blocks[b].term.for_uses(|v| read.extend(somewhere(v)));
        let live_out = self.live.live_out(b);
        if !(read.is_empty() && live_out.is_empty()) {
            self.exits.set(b, live_out.iter().filter_map(|&v| somewhere(v)), read);
        }
        // Nothing of this block stays behind in the table.
        let left = self.gprs.values().chain(self.preds.values());
        left.for_each(|v| self.loc[v] = NONE);
    }

    fn instruction(&mut self, i: InstId, defs: &[Access], uses: &[Access]) -> Result<(), RaError> {
        let f = self.f;
        let reads = self.hints.read_tuples(i);
        let several = defs.iter().filter(|d| d.class == Class::Gpr).count() > 1;
        if !self.plan.active && !self.across_calls.any && !several && reads.clone().all(|w| self.stands(w)) {
            return self.in_place(i, defs, uses);
        }
        let start = self.out.moves.len() as u32;
        let mut reloads = Vec::new();
        let mut drops = Vec::new();
        let plan = self.plan;
        if plan.active {
            for &a in plan.at(i) {
                match a {
                    Action::DropBefore(v) => self.release(v),
                    Action::Reload(v) => reloads.push(v),
                    Action::DropAfter(v) => drops.push(v),
                }
            }
        }
        if self.across_calls.any
            && let Some(call) = f.insts[i].call()
        {
            drops.extend(uses.iter().filter(|u| u.dies).map(|u| u.v));
            return self.call(i, call, &reloads, &drops, defs);
        }
        let dies = |v: ValueId| uses.iter().any(|u| u.dies && u.v == v) || drops.contains(&v);
        let reads: ArrayVec<Tuple, 6> = reads.map(|w| self.hints.tuples[w]).collect();
        let write = if several { operands::written_tuple(f, &f.insts[i]) } else { None };
        let base = if reads.is_empty() && write.is_none() {
            for &v in &reloads {
                let r = self.pick(v, Class::Gpr)?;
                self.put(v, r, Class::Gpr);
                self.reload(v, r);
            }
            None
        } else {
            self.place_tuples(&reads, write.as_ref(), &reloads, &dies)?
        };
        let before = self.out.moves.len() as u32;

        let regs = self.out.regs.len() as u32;
        for u in uses {
            self.out.regs.push((u.v, Phys::new(u.class, self.loc[u.v])));
        }
        for u in uses {
            if u.dies || drops.contains(&u.v) {
                self.release_of(u.v, u.class);
            }
        }
        if let (Some(base), Some(w)) = (base, &write) {
            for (k, &d) in w.iter().enumerate() {
                self.put(d, base + k as u8, Class::Gpr);
            }
        }
        for d in defs {
            if self.loc[d.v] == NONE {
                let r = self.pick(d.v, d.class)?;
                self.put(d.v, r, d.class);
            }
        }
        self.finish(i, defs, regs, [start, before]);
        Ok(())
    }

    /// An instruction whose operands may stay where they are.
    fn in_place(&mut self, i: InstId, defs: &[Access], uses: &[Access]) -> Result<(), RaError> {
        let moves = self.out.moves.len() as u32;
        let regs = self.out.regs.len() as u32;
        for u in uses {
            self.out.regs.push((u.v, Phys::new(u.class, self.loc[u.v])));
        }
        for u in uses.iter().filter(|u| u.dies) {
            self.release_of(u.v, u.class);
        }
        for d in defs {
            let r = self.pick(d.v, d.class)?;
            self.put(d.v, r, d.class);
            self.out.regs.push((d.v, Phys::new(d.class, r)));
        }
        self.out.insts[i] = Spans { regs: (regs, self.out.regs.len() as u32), moves: [moves; 3] };
        for d in defs.iter().filter(|d| d.dies) {
            self.release_of(d.v, d.class);
        }
        Ok(())
    }

    /// Records destinations, stores those that have slots, and drops those that nobody reads. The
    /// instruction's registers begin at `regs`, its moves and those after it at `moves`.
    pub(super) fn finish(&mut self, i: InstId, defs: &[Access], regs: u32, moves: [u32; 2]) {
        for d in defs {
            let r = self.loc[d.v];
            self.out.regs.push((d.v, Phys::new(d.class, r)));
            if self.plan.active
                && let SpillLocation::Slot(offset) = self.plan.spill_locations[d.v]
            {
                self.out.moves.push(Move::Store { src: r, words: 1, offset });
            }
        }
        self.out.insts[i] = Spans {
            regs: (regs, self.out.regs.len() as u32),
            moves: [moves[0], moves[1], self.out.moves.len() as u32],
        };
        for d in defs {
            if d.dies {
                self.release_of(d.v, d.class);
            }
        }
    }

    /// Puts the allocation together.
    pub(crate) fn finish_function(mut self) -> Allocation {
        let plan = self.plan;
        for &b in self.cfg.rpo() {
            let place = |&p: &ValueId| match (self.entries.get(b, p), plan.spill_locations[p]) {
                (Some(r), _) => Some(Location::Reg(Phys::new(self.f.class(p), r))),
                (None, SpillLocation::Slot(offset)) => Some(Location::Slot(offset)),
                _ => None,
            };
            let params = &self.f.blocks[b].params;
            if !params.is_empty() {
                self.out.params[b] = params.iter().map(place).collect();
            }
        }
        self.out.wide = self.hints.tuples.iter().any(|w| w.len() > 4);
        let mut clobbers = self.clobbers;
        self.gprs.used.iter().for_each(|r| clobbers.insert(Phys::Gpr(r)));
        self.preds.used.iter().for_each(|r| clobbers.insert(Phys::Pred(r)));
        clobbers.insert(Phys::Carry);
        self.out.gprs = clobbers.gprs_end();
        for m in &self.out.moves {
            match m {
                Move::Load { .. } => self.out.fills += 1,
                Move::Store { .. } => self.out.spills += 1,
                _ => {}
            }
        }
        self.out.summary.clobbers = clobbers;
        self.out.summary.frame_end = plan.frame_end + if self.scratch_slots_used { 8 } else { 0 };
        self.out
    }

    /// Ends a span of moves that began at `start`.
    pub(crate) fn span_from(&self, start: usize) -> Span {
        (start as u32, self.out.moves.len() as u32)
    }
}

/// A table of something about every value.
pub(crate) fn per_value<T: Clone>(f: &Function, default: T) -> SecondaryMap<ValueId, T> {
    let mut map = SecondaryMap::with_default(default);
    map.resize(f.values.len());
    map
}
