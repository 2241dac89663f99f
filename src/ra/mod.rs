//! Register allocation: from values to physical registers.
//!
//! [`allocate_program`] takes a program in the Legal phase and gives an [`Allocation`] for each
//! function, callees before their callers. The IR stays in SSA form and keeps its operands; where
//! everything is stands beside it:
//!
//! - [`Allocation::reg`]: the register of a value *at an instruction*. A value may live in
//!   different registers at different places, or in no register for a while; the moves between are
//!   explicit.
//! - [`Allocation::before`], [`Allocation::after`]: machine-level [`Move`]s to carry out, in order,
//!   right before and after an instruction: copies, exchanges, spills, reloads, rematerialisations.
//! - [`Allocation::block_start`], [`Allocation::block_end`] (before the terminator): the same for
//!   the edges of the control-flow graph. Critical edges that need moves have been split, so there
//!   is always a place for them, and a block that ends in a branch has no moves at its end.
//!
//! So selection goes through a function like this:
//!
//! ```text
//! for each block of the layout:
//!     moves of block_start(b)
//!     for each instruction i of its body:
//!         moves of before(i);  i itself, each value v as reg(i, v);  moves of after(i)
//!     moves of block_end(b);  the terminator (its condition is term_reg(b, cond))
//! ```
//!
//! # The order of things
//!
//! What triggers each step and what it gives, measured, is in `docs/registers.md`. For each
//! function, callees first:
//!
//! 1. [`memory_args`]: arguments and results beyond what registers hold go through local memory.
//! 2. [`prepare`]: critical edges are split; a value that two tuples want gets a copy.
//!    [`lane_reads`] lengthens the life of values that other lanes read.
//! 3. [`reg2mem`], only if liveness would grow out of proportion: values that live across most
//!    blocks go to local memory.
//! 4. [`predicates`], with more than seven alive: predicates live in general registers.
//! 5. [`spill`], with a [`pressure`] above the limit: which values are in registers where, by
//!    next-use distances ([`next_use`]), with [`remat`]erialisation; [`frame`] gives spill slots.
//! 6. [`colour`]: registers in dominance order, by [`hints`] (coalescing, tuple positions, float chains),
//!    beside [`result_regs`], above what callees write ([`across_calls`]), with moves at [`calls`], into aligned
//!    register [`tuples`] and on [`edges`] ([`pcopy`]). Then [`compaction`], in functions without calls.
//! 7. For graphics stages [`recolour`], again and again with fewer registers; for kernels
//!    [`occupancy`], once, where fewer registers let more warps be resident.
//! 8. The [`checker`], always where something was spilled, in debug builds and with
//!    `--verify-each`.
//!
//! What allocation guarantees, and [`checker`] proves:
//! - Every operand that is a tuple, and every instruction's two to four destinations of class GPR,
//!   are consecutive registers; pairs start at even numbers, triples and quads at multiples of
//!   four. [`operands`] is the one place that knows which values of an instruction form tuples (an
//!   address of two words is one, too, and the two sources of a compare-and-swap).
//! - Moves never touch the condition code, nor a predicate that holds a value (but to move it on
//!   purpose).
//! - A call's arguments are in the registers that the callee's [`Summary::params`] name, its
//!   results in [`Summary::results`]; edge arguments and returned values have been moved to where
//!   they must be.
//!
//! What selection must do for its part: an instruction without a destination of class carry leaves
//! the condition code alone; a destination that nobody reads has a register of its own and may be
//! written or dropped; a `mov` whose source and destination are the same register is nothing;
//! `undef` is nothing; the immediate 0 is RZ.
//!
//! Local memory is static, since there is no recursion: every function's spill slots have absolute
//! addresses above those of the functions that it calls, all of them above what the program's own
//! accesses use.

mod accesses;
mod across_calls;
pub(crate) mod call_order;
pub mod calling_convention;
mod calls;
mod checker;
mod colour;
mod compaction;
mod edges;
mod file;
mod frame;
mod hints;
mod lane_reads;
mod locations;
mod memory_args;
mod next_use;
mod occupancy;
mod operands;
pub(crate) mod pcopy;
mod plan;
mod predicates;
mod prepare;
mod pressure;
mod recolour;
mod reg2mem;
mod regs;
mod remat;
mod result_regs;
mod spill;
mod tuples;

use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::chip::Chip;
use crate::ir::{BlockId, FuncId, Function, InstId, Linkage, Program, Sv, ValueId};
use crate::isa::Reg;
use crate::options::Options;
use accesses::Accesses;
use colour::{Colour, Wishes};
use cranelift_entity::SecondaryMap;
pub use pcopy::Location;
use plan::Plan;
use prepare::Facts;
use pressure::Pressure;
use recolour::Attempt;
pub use regs::{Phys, RegSet};
use spill::Subject;

/// What is allocated for.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The chip.
    pub chip: Chip,
    /// General registers that may be used, without RZ: at least [`Target::MIN_GPRS`].
    pub gpr_limit: u32,
    /// Threads of a block, if they are known, and its bytes of shared memory: what bounds resident
    /// warps beside the registers.
    pub threads: Option<u32>,
    /// Bytes of shared memory of a block.
    pub shared: u32,
    /// Fewer registers are worth colouring again and again, however few there are.
    pub fewest: bool,
    /// Run the checker on the result (debug builds always do).
    pub verify: bool,
    /// For tests: every value that lives across blocks goes through local memory, as those that
    /// live longest do where too many live across too many blocks.
    pub through_memory: bool,
}

impl Target {
    /// The instruction with most operands fits into that many general registers.
    pub(crate) const MIN_GPRS: u32 = Options::MIN_GPRS;

    /// Warps that are resident with so many registers.
    fn warps(&self, gprs: u32) -> u32 {
        self.chip.occupancy(self.threads, gprs, self.shared)
    }

    /// The most registers below `gprs` with which more warps are resident, if there are so few.
    fn occupancy_step(&self, gprs: u32) -> Option<u32> {
        let step = self.chip.occupancy_step(self.threads, gprs, self.shared);
        step.filter(|&s| s >= Target::MIN_GPRS)
    }
}

/// Why there is no allocation. Programs that verify have one at any limit from [`Target::MIN_GPRS`]
/// on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "fields of a variant: what its text names")]
pub enum RaError {
    /// The limit is below [`Target::MIN_GPRS`].
    #[error("a limit of {0} registers is too low: at least {min} are needed", min = Target::MIN_GPRS)]
    Limit(u32),
    /// A function calls itself.
    #[error("the function `{0}` calls itself, directly or through others")]
    Recursion(String),
    /// Spilling and colouring found no place for everything: a fault of the allocator.
    #[error("the function `{func}` needs more than {limit} registers")]
    Pressure { func: String, limit: u32 },
    /// A fault of the allocator, found by its checker.
    #[error("register allocation of `{func}` is wrong: {what}")]
    Check { func: String, what: String },
}

/// One machine-level move. Offsets are bytes in local memory, absolute and naturally aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "fields of a variant: destination, source, number of words, offset")]
pub enum Move {
    /// Registers of one class, not the carry.
    Copy { dst: Phys, src: Phys },
    /// Exchanges two registers of one class: three exclusive ors, for predicates too.
    Swap(Phys, Phys),
    /// `words` (1, 2 or 4) registers from local memory.
    Load { dst: u8, words: u8, offset: u32 },
    /// `words` (1, 2 or 4) registers to local memory.
    Store { src: u8, words: u8, offset: u32 },
    /// A constant.
    Imm { dst: u8, bits: u32 },
    /// `c[bank][offset]`.
    Cbuf { dst: u8, bank: u8, offset: u16 },
    /// A special register.
    Sreg { dst: u8, sv: Sv },
}

impl Move {
    /// Instructions that it takes the time of.
    fn cost(&self) -> usize {
        match self {
            Move::Load { .. } | Move::Store { .. } => 4,
            Move::Swap(..) => 3,
            _ => 1,
        }
    }
}

/// What callers must know of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Where the parameters are expected, in order.
    pub params: Vec<Phys>,
    /// Where the results are left, in order.
    pub results: Vec<Phys>,
    /// Everything that the function and those it calls may write, parameters and results included.
    pub clobbers: RegSet,
    /// End of the local memory that the function and those it calls use.
    pub frame_end: u32,
}

/// A range of a pool.
type Span = (u32, u32);

/// What belongs to an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Spans {
    /// Its registers.
    regs: Span,
    /// Where the moves before it begin, those after it, and where these end.
    moves: [u32; 3],
}

/// Where everything of a function is.
#[derive(Clone, Debug, Default)]
pub struct Allocation {
    /// What its callers must know.
    pub summary: Summary,
    /// General registers used, as the highest number + 1, callees included.
    pub gprs: u32,
    /// Memory instructions inserted: stores to and loads from spill slots.
    pub spills: u32,
    /// Loads from spill slots.
    pub fills: u32,
    /// Tuples of more than four registers occur.
    wide: bool,
    regs: Vec<(ValueId, Phys)>,
    insts: SecondaryMap<InstId, Spans>,
    term_regs: SecondaryMap<BlockId, Span>,
    moves: Vec<Move>,
    start: SecondaryMap<BlockId, Span>,
    end: SecondaryMap<BlockId, Span>,
    /// Where the parameters of blocks are on entry, for the checker and for simulation; spilled
    /// ones in slots.
    params: SecondaryMap<BlockId, Vec<Option<Location>>>,
}

impl Allocation {
    /// Where each parameter of a block is on entry; none for those that nobody reads.
    pub(crate) fn block_params(&self, b: BlockId) -> &[Option<Location>] {
        &self.params[b]
    }

    fn find(&self, span: Span, v: ValueId) -> Option<Phys> {
        self.regs[span.0 as usize..span.1 as usize].iter().find(|r| r.0 == v).map(|r| r.1)
    }

    /// The register of a value that the instruction reads or writes; none for a value that it has
    /// nothing to do with.
    pub fn reg(&self, at: InstId, v: ValueId) -> Option<Phys> {
        self.find(self.insts[at].regs, v)
    }

    /// The register of the condition of a block's branch, or of a returned value.
    pub fn term_reg(&self, b: BlockId, v: ValueId) -> Option<Phys> {
        self.find(self.term_regs[b], v)
    }

    /// The general register of an instruction's operand.
    ///
    /// # Panics
    /// If the value is not a general operand of the instruction.
    pub fn gpr(&self, at: InstId, v: ValueId) -> Reg {
        match self.reg(at, v) {
            Some(Phys::Gpr(r)) => Reg(r),
            r => panic!("verified: {v} is a general operand of {at}, not {r:?}"),
        }
    }

    /// The number of the predicate register of an instruction's operand.
    ///
    /// # Panics
    /// If the value is not a predicate operand of the instruction.
    pub fn pred(&self, at: InstId, v: ValueId) -> u8 {
        match self.reg(at, v) {
            Some(Phys::Pred(p)) => p,
            r => panic!("verified: {v} is a predicate operand of {at}, not {r:?}"),
        }
    }

    fn moves(&self, span: Span) -> &[Move] {
        &self.moves[span.0 as usize..span.1 as usize]
    }

    /// Moves right before an instruction.
    pub fn before(&self, at: InstId) -> &[Move] {
        let [start, end, _] = self.insts[at].moves;
        self.moves((start, end))
    }

    /// Moves right after an instruction.
    pub fn after(&self, at: InstId) -> &[Move] {
        let [_, start, end] = self.insts[at].moves;
        self.moves((start, end))
    }

    /// Moves at the beginning of a block.
    pub fn block_start(&self, b: BlockId) -> &[Move] {
        self.moves(self.start[b])
    }

    /// Moves at the end of a block, before its terminator.
    pub fn block_end(&self, b: BlockId) -> &[Move] {
        self.moves(self.end[b])
    }
}

/// The allocations of a program's functions.
#[derive(Clone, Debug, Default)]
pub struct ProgramAllocation {
    /// By function.
    pub funcs: SecondaryMap<FuncId, Allocation>,
    /// General registers of the kernel, as the highest number + 1.
    pub gprs: u32,
    /// Bytes of local memory, the program's own included.
    pub local_bytes: u32,
    /// Where spill slots begin, above the program's own memory.
    pub frame_base: u32,
}

/// Assigns registers to all functions of a program, callees first. Splits edges and, where an
/// instruction reads a value in two places that cannot be the same register, inserts copies;
/// otherwise the code is left as it is.
pub fn allocate_program(program: &mut Program, target: &Target) -> Result<ProgramAllocation, RaError> {
    if target.gpr_limit < Target::MIN_GPRS {
        return Err(RaError::Limit(target.gpr_limit));
    }
    let limit = target.gpr_limit.min(target.chip.gprs());
    let mut facts: SecondaryMap<FuncId, Facts> = SecondaryMap::new();
    facts.resize(program.funcs.len());
    for (id, f) in program.funcs.iter() {
        facts[id] = Facts::new(f);
    }
    let own = program.funcs.values().map(|f| f.local_bytes).max().unwrap_or(0);
    let frame_base = own.max(program.private_bytes).next_multiple_of(16);
    let mut summaries: SecondaryMap<FuncId, Option<Summary>> = SecondaryMap::new();
    summaries.resize(program.funcs.len());
    for (id, f) in program.funcs.iter() {
        summaries[id] = calling_convention::summary(f, frame_base);
    }
    let mut result = ProgramAllocation { frame_base, ..ProgramAllocation::default() };
    for id in call_order::callees_first(program, &facts)? {
        if program.funcs[id].linkage == Linkage::Declared {
            continue;
        }
        let below = facts[id]
            .callees
            .iter()
            .filter_map(|&c| summaries[c].as_ref())
            .map(|s| s.frame_end)
            .fold(frame_base, u32::max);
        let base = memory_args::demote(program, id, limit as usize / 2, below);
        // What a stage must leave in registers sets a lower limit, whatever is asked for.
        let named = program.funcs[id].result_regs.iter().map(|&r| u32::from(r) + 1).max().unwrap_or(0);
        let limit = limit.max(named).min(calling_convention::limit(&program.funcs[id]));
        let allocation = allocate(&mut program.funcs[id], target, limit, base, &summaries, &facts[id])?;
        // Spilling moves values about most: a wrong result must not go out in silence.
        if target.verify || cfg!(debug_assertions) || allocation.spills > 0 {
            checker::check(&program.funcs[id], &allocation, limit, &summaries)
                .map_err(|what| RaError::Check { func: program.funcs[id].name.clone(), what })?;
        }
        summaries[id].get_or_insert_with(|| allocation.summary.clone());
        result.gprs = result.gprs.max(allocation.gprs);
        result.funcs[id] = allocation;
    }
    let end = result.funcs.values().map(|a| a.summary.frame_end).max().unwrap_or(0);
    result.local_bytes = if end > frame_base { end } else { own.max(program.private_bytes) };
    Ok(result)
}

/// Registers that the tuples of one instruction take at most, beside the values.
const TUPLES: usize = 24;

/// The pressure of a function, as far as it matters with `k` registers.
fn measure(
    f: &Function,
    cfg: &Cfg,
    live: &Liveness,
    summaries: &SecondaryMap<FuncId, Option<Summary>>,
    facts: &Facts,
    k: usize,
) -> Pressure {
    // Where there are few values, they fit wherever they live, with room for tuples. Calls want
    // some elsewhere.
    let [gprs, preds] = pressure::values(f);
    if gprs + TUPLES <= k && preds <= colour::PREDS && !facts.calls() {
        return Pressure { most: k, ..Pressure::default() };
    }
    pressure::measure(f, cfg, live, summaries, k)
}

/// Assigns registers in one function, whose callees have theirs. Its slots begin at `frame_base`.
fn allocate(
    f: &mut Function,
    target: &Target,
    limit: u32,
    frame_base: u32,
    summaries: &SecondaryMap<FuncId, Option<Summary>>,
    facts: &Facts,
) -> Result<Allocation, RaError> {
    let mut cfg = Cfg::new(f);
    if prepare::clear_unreachable(f, &cfg) {
        cfg = Cfg::new(f);
    }
    if facts.copies {
        prepare::expand_copies(f);
    }
    if facts.repeats {
        prepare::separate_tuple_values(f);
    }
    let split = prepare::split_critical_edges(f, &cfg);
    if !split.is_empty() {
        cfg = Cfg::new(f);
    }
    if facts.reads_lanes {
        lane_reads::keep(f, &cfg);
    }
    let (mut live, frame_base) = reg2mem::liveness(f, &cfg, target.through_memory, frame_base);
    let k = limit as usize;
    let mut pressure = measure(f, &cfg, &live, summaries, facts, k);
    if predicates::limit(f, &cfg, &live, &pressure.crowded, summaries) {
        live = Liveness::new(f, &cfg);
        pressure = measure(f, &cfg, &live, summaries, facts, k);
    }
    let subject = Subject::new(f, &cfg, &live, summaries);
    let wishes = Wishes::new(f, &cfg, &live, summaries, facts);
    let accesses = Accesses::new(f, &cfg, &live);
    let job = Job {
        f,
        cfg: &cfg,
        live: &live,
        summaries,
        facts,
        target,
        limit,
        frame_base,
        subject,
        accesses,
        wishes,
    };
    let allocation = job.run(&pressure)?;
    prepare::join_split_edges(f, &split, |b| {
        allocation.block_start(b).is_empty() && allocation.block_end(b).is_empty()
    });
    Ok(allocation)
}

/// A function that is ready to be coloured, perhaps several times.
struct Job<'a> {
    f: &'a Function,
    cfg: &'a Cfg,
    live: &'a Liveness,
    summaries: &'a SecondaryMap<FuncId, Option<Summary>>,
    facts: &'a Facts,
    target: &'a Target,
    limit: u32,
    frame_base: u32,
    subject: Subject<'a>,
    accesses: Accesses,
    wishes: Wishes,
}

impl Job<'_> {
    /// Spilling as needed, the first colouring, and another one with fewer registers where that is
    /// worth it.
    fn run(&self, pressure: &Pressure) -> Result<Allocation, RaError> {
        let Pressure { most, by_block, .. } = pressure;
        let k = self.limit as usize;
        let plan = if *most > k {
            spill::spill(&self.subject, k, Some(self.frame_base), by_block)?
        } else {
            self.without_spilling()
        };
        let first = self.colour(&plan, Attempt::first(self.limit))?;
        if self.f.inst_count() > occupancy::LARGEST_TRIED {
            return Ok(first);
        }
        if self.target.fewest {
            return Ok(self.fewest_registers(&plan, first, pressure));
        }
        Ok(if plan.active { first } else { self.more_warps(first, pressure) })
    }

    /// All values in registers.
    fn without_spilling(&self) -> Plan {
        Plan { frame_end: self.frame_base, ..Plan::default() }
    }

    fn colour(&self, plan: &Plan, attempt: Attempt) -> Result<Allocation, RaError> {
        let f = self.f;
        let mut colour = Colour::new(self, plan, attempt);
        colour.run()?;
        colour.edges()?;
        let mut allocation = colour.finish_function();
        if !self.facts.calls() {
            let fixed = [&f.result_regs[..], &f.param_regs].concat();
            compaction::pack(&mut allocation, &fixed);
        }
        Ok(allocation)
    }

    /// Recolouring of a graphics stage for as few registers as are worth their moves.
    fn fewest_registers(&self, plan: &Plan, first: Allocation, pressure: &Pressure) -> Allocation {
        let (f, k) = (self.f, self.limit as usize);
        let measured;
        let Pressure { most, by_block, .. } = if pressure.by_block.is_empty() {
            measured = pressure::measure(f, self.cfg, self.live, self.summaries, k);
            &measured
        } else {
            pressure
        };
        let most = *most;
        let named = f.result_regs.iter().map(|&r| u32::from(r) + 1).max().unwrap_or(0);
        let mut recolour = |again: Option<usize>, attempt| match again {
            None => self.colour(plan, attempt).ok(),
            Some(k) => {
                // No more values than those can be away where most are alive.
                let constants = f.insts_in_order().filter(|&(_, i)| remat::is_constant(&f.insts[i])).count();
                if constants + k < most {
                    return None;
                }
                let plan = spill::spill(&self.subject, k, None, by_block).ok()?;
                self.colour(&Plan { frame_end: self.frame_base, ..plan }, attempt).ok()
            }
        };
        // What callees write and results are in, whatever is made again.
        let callees = self.facts.callees.iter().filter_map(|&c| self.summaries[c].as_ref());
        let fixed = callees.map(|s| s.clobbers.gprs_end()).fold(named, u32::max);
        let least = recolour::Least { fixed, alive: fixed.max(most as u32) };
        recolour::search(first, f.inst_count(), least, &mut recolour)
    }

    /// Occupancy-driven allocation: colours a kernel once more with as many registers as let more
    /// warps be resident.
    fn more_warps(&self, first: Allocation, pressure: &Pressure) -> Allocation {
        let Some(step) = self.target.occupancy_step(first.gprs) else { return first };
        let k = step as usize;
        // With fewer registers the pressure is not less, where it was measured.
        if !pressure.by_block.is_empty() && pressure.most > k + occupancy::WORTH_TRYING {
            return first;
        }
        let Pressure { most, by_block, .. } =
            measure(self.f, self.cfg, self.live, self.summaries, self.facts, k);
        // Without memory, if that is enough.
        for slots in [None, Some(self.frame_base)] {
            let plan = match most {
                _ if most <= k && slots.is_none() => Ok(self.without_spilling()),
                _ if most > k && most <= k + occupancy::WORTH_TRYING => {
                    spill::spill(&self.subject, k, slots, &by_block)
                        .map(|plan| Plan { frame_end: self.frame_base.max(plan.frame_end), ..plan })
                }
                _ => continue,
            };
            let closer = plan.and_then(|plan| self.colour(&plan, Attempt::first(step)));
            if let Ok(closer) = closer
                && (slots.is_some() || closer.spills + closer.fills == 0)
                && occupancy::is_worth(self.f, self.cfg, self.target, &first, &closer)
            {
                return closer;
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::build::Builder;
    use crate::ir::{
        Aux, Call, Class, Cond, Def, Edge, Ext, Inst, MemRef, Merge, Op, ShflOp, Space, Src, Term, Type,
    };

    fn target(limit: u32) -> Target {
        Target {
            chip: Chip::Gk110,
            gpr_limit: limit,
            threads: None,
            shared: 0,
            verify: true,
            through_memory: false,
            fewest: false,
        }
    }

    #[test]
    fn windows_are_aligned_around_values_in_their_way() {
        let mut f = Function::new("k");
        let entry = f.new_block();
        let mut b = Builder::new(&mut f, entry);
        let v: Vec<ValueId> = (0..7).map(|k| b.mov(k)).collect();
        b.st(
            Type::B128,
            MemRef::new(Space::Global).with_base(&[v[0], v[1]]),
            Src::tuple(&[v[3], v[5], v[1], v[0]]),
        );
        b.st(
            Type::B128,
            MemRef::new(Space::Global).with_base(&[v[1]]),
            Src::tuple(&[v[2], v[4], v[3], v[6]]),
        );
        let q = b.ld(Type::B128, MemRef::new(Space::Global).with_base(&[v[4], v[5]]));
        b.st(Type::U64, MemRef::new(Space::Global), Src::tuple(&[q[2], q[1]]));
        b.st(Type::U32, MemRef::new(Space::Global), v[6]);
        b.terminate(Term::Exit);
        let mut p = Program::new(f);
        let a = allocate_program(&mut p, &target(16)).unwrap();
        assert!(a.gprs <= 16);
    }

    #[test]
    fn a_few_constants_are_made_again_where_that_wins_a_resident_warp_and_loads_are_not() {
        // 28 words from memory, and `more` values beside them that live as long.
        let gprs = |constants: bool| {
            let mut f = Function::new("k");
            let entry = f.new_block();
            let mut b = Builder::new(&mut f, entry);
            let place = |k: usize| MemRef::new(Space::Global).with_offset(4 * k as i32);
            let more: Vec<ValueId> = (0..5)
                .map(|k| if constants { b.mov(1000 + k) } else { b.ld(Type::U32, place(k as usize))[0] })
                .collect();
            let words: Vec<ValueId> = (8..36).map(|k| b.ld(Type::U32, place(k))[0]).collect();
            for (k, &v) in words.iter().chain(&more).enumerate() {
                b.st(Type::U32, place(100 + k), v);
            }
            b.terminate(Term::Exit);
            let mut p = Program::new(f);
            let a = allocate_program(&mut p, &target(255)).unwrap();
            assert_eq!(a.local_bytes, 0);
            a.gprs
        };
        assert_eq!(gprs(false), 33);
        assert_eq!(gprs(true), 32);
    }

    #[test]
    fn a_value_that_a_shuffle_reads_keeps_its_register_in_the_other_arm() {
        for shuffle_first in [true, false] {
            let mut f = Function::new("k");
            let [entry, a, b, join] = [(); 4].map(|()| f.new_block());
            let mut bd = Builder::new(&mut f, entry);
            let lane = bd.sv(Sv::Laneid);
            let value = bd.add(Type::U32, lane, 7u32);
            let odd = bd.op2(Op::And, Type::U32, lane, 1u32);
            let p = bd.setp(Cond::Ne, Type::U32, odd, 0u32);
            bd.func.blocks[entry].merge = Merge::If { join };
            bd.terminate(Term::Branch { cond: p, not: false, then: Edge::to(a), els: Edge::to(b) });
            let (with, without) = if shuffle_first { (a, b) } else { (b, a) };
            bd.block = with;
            let read = Inst::new(Op::Shfl, Type::U32).src(value).src(0u32).src(31u32);
            let got = bd.value(read.with_aux(Aux::Shfl(ShflOp::Idx)));
            bd.terminate(Term::Jump(Edge { to: join, args: vec![got] }));
            bd.block = without;
            let mut temps: Vec<ValueId> = (0..6).map(|k| bd.add(Type::U32, lane, k)).collect();
            let first = temps.clone();
            while let [x, y, ..] = temps[..] {
                let sum = bd.add(Type::U32, x, y);
                temps.drain(..2);
                temps.push(sum);
            }
            bd.terminate(Term::Jump(Edge { to: join, args: vec![temps[0]] }));
            let out = bd.func.add_block_param(join, Class::Gpr);
            bd.block = join;
            bd.st(Type::U32, MemRef::new(Space::Global), out);
            bd.terminate(Term::Exit);
            let mut p = Program::new(f);
            let all = allocate_program(&mut p, &target(63)).unwrap();
            let (f, a) = (&p.funcs[p.entry], &all.funcs[p.entry]);
            let definition = |v: ValueId| match f.values[v].def {
                Def::Inst(i) => i,
                d => panic!("{d:?}"),
            };
            let reader = definition(got);
            let register = a.gpr(reader, value);
            for v in first {
                assert_ne!(a.gpr(definition(v), v), register, "{f:?}");
            }
        }
    }

    #[test]
    fn a_value_read_for_the_last_time_makes_way_where_the_instruction_writes() {
        for base_first in [true, false] {
            let mut f = Function::new("k");
            let entry = f.new_block();
            let mut b = Builder::new(&mut f, entry);
            let early = if base_first { vec![b.mov(1)] } else { vec![] };
            let mut v: Vec<ValueId> = (0..12).map(|k| b.mov(k)).collect();
            v.iter_mut().for_each(|v| *v = b.add(Type::U32, *v, *v));
            let base = early.first().copied().unwrap_or_else(|| b.add(Type::U32, v[0], v[1]));
            let q = b.ld(Type::B128, MemRef::new(Space::Shared).with_base(&[base]));
            for x in v.into_iter().chain(q) {
                b.st(Type::U32, MemRef::new(Space::Global), x);
            }
            b.terminate(Term::Exit);
            let mut p = Program::new(f);
            let a = allocate_program(&mut p, &target(16)).unwrap();
            assert_eq!((a.gprs, a.funcs[p.entry].spills), (16, 0));
        }
    }

    #[test]
    fn loop_parameters_that_change_places_are_exchanged_on_the_back_edge() {
        let mut f = Function::new("k");
        let (entry, head, exit) = (f.new_block(), f.new_block(), f.new_block());
        let (x, y) = (f.add_block_param(head, Class::Gpr), f.add_block_param(head, Class::Gpr));
        let mut b = Builder::new(&mut f, entry);
        let (one, two) = (b.mov(1), b.mov(2));
        b.terminate(Term::Jump(Edge { to: head, args: vec![one, two] }));
        b.block = head;
        let more = b.setp(Cond::Lt, Type::U32, x, y);
        b.terminate(Term::Branch {
            cond: more,
            not: false,
            then: Edge { to: head, args: vec![y, x] },
            els: Edge::to(exit),
        });
        b.block = exit;
        b.st(Type::U64, MemRef::new(Space::Global), [x, y]);
        b.terminate(Term::Exit);
        let mut p = Program::new(f);
        let a = allocate_program(&mut p, &target(63)).unwrap();
        let moves: usize = p.funcs[p.entry].layout.iter().map(|&b| a.funcs[p.entry].block_end(b).len()).sum();
        assert!(moves <= 3, "{a:?}");
    }

    #[test]
    fn values_that_live_through_a_call_keep_out_of_its_way() {
        let mut callee = Function::new("f");
        let (a, b) = (callee.add_param(Class::Gpr), callee.add_param(Class::Gpr));
        callee.results = vec![Class::Gpr, Class::Pred];
        let e = callee.new_block();
        let mut bd = Builder::new(&mut callee, e);
        let s = bd.add(Type::U32, a, b);
        let q = bd.setp(Cond::Eq, Type::U32, s, b);
        bd.terminate(Term::Ret(vec![s, q]));
        let mut f = Function::new("k");
        let e = f.new_block();
        let mut p = Program::new(callee);
        let callee = p.entry;
        let mut bd = Builder::new(&mut f, e);
        let v: Vec<ValueId> = (0..6).map(|k| bd.mov(k)).collect();
        let flag = bd.setp(Cond::Lt, Type::U32, v[0], v[1]);
        let (r, ok) = (bd.gpr(), bd.pred());
        let mut call = Inst::new(Op::Call, Type::U32);
        call.ext = Some(Box::new(Ext::Call(Call::new(callee, vec![v[3], v[3]], vec![r, ok]))));
        bd.push(call);
        for x in v.iter().copied().chain([r]) {
            bd.st(Type::U32, MemRef::new(Space::Global), x);
        }
        let all = bd.sel(flag, v[0], v[1]);
        let some = bd.sel(ok, all, v[1]);
        bd.st(Type::U32, MemRef::new(Space::Global), some);
        bd.terminate(Term::Exit);
        p.entry = p.funcs.push(f);
        allocate_program(&mut p, &target(20)).unwrap();
    }

    #[test]
    fn results_are_left_in_order() {
        let mut f = Function::new("f");
        let a = f.add_param(Class::Gpr);
        f.results = vec![Class::Gpr; 2];
        let e = f.new_block();
        let mut b = Builder::new(&mut f, e);
        let high = b.add(Type::U32, a, 1);
        let low = b.add(Type::U32, high, 1);
        b.terminate(Term::Ret(vec![low, high]));
        let mut p = Program::new(f);
        let a = allocate_program(&mut p, &target(63)).unwrap();
        assert_eq!(a.funcs[p.entry].summary.results, [Phys::Gpr(0), Phys::Gpr(1)]);
    }

    #[test]
    fn too_low_a_limit_and_recursion_are_refused() {
        let mut f = Function::new("k");
        let e = f.new_block();
        let mut call = Inst::new(Op::Call, Type::U32);
        let own = FuncId::from_u32(0);
        call.ext = Some(Box::new(Ext::Call(Call::new(own, vec![], vec![]))));
        f.append(e, call);
        f.blocks[e].term = Term::Exit;
        let mut p = Program::new(f);
        assert_eq!(allocate_program(&mut p, &target(15)).unwrap_err(), RaError::Limit(15));
        assert_eq!(allocate_program(&mut p, &target(63)).unwrap_err(), RaError::Recursion("k".into()));
    }
}
