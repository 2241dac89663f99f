//! Branches that part lanes and whose sides only compute, up to where they meet: both sides are one run, each for its lanes. Nothing is
//! pushed or popped. Where a slice may end on the way, or the stack has no room for what would be pushed, all is done as elsewhere
//! ([`flow`](super::flow)).
//!
//! ```text
//!     SSY join                        SSY join
//!     @P0 BRA taken                   @P0 BRA both
//!     what the others compute         what the others compute
//!     NOP.S                       both:
//! taken:                              what all compute
//!     what those compute              NOP.S
//!     NOP.S                       join:
//! join:
//! ```

use super::super::frame::field;
use super::super::liveness::Set;
use super::run::{Run, Side, is_guarded};
use super::{Active, Keep, Lift, is_in_run};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use nvir_emu::engine::open::{self, Flow, Micro, PSrc};

/// Instructions of both sides, at most: both are executed, also if all lanes are of one.
const MOST: usize = 16;

/// Entries that such a branch puts on the stack, at most.
const PUSHED: i64 = 2;

/// What stands behind SSY.
pub(super) struct Sides {
    /// All lanes execute these before the branch.
    before: Vec<usize>,
    condition: PSrc,
    other: Vec<usize>,
    taken: Vec<usize>,
    /// The other lanes go on with what those that took the branch execute.
    falls_through: bool,
    join: usize,
}

impl Lift<'_, '_> {
    /// What stands behind the SSY that ends a block, if that is such a branch.
    pub(super) fn sides(&self, block: usize) -> Option<Sides> {
        let last = |block: usize| self.blocks.instructions(block).last().map(|&i| self.inst(i));
        let target = |pc: u32| self.blocks.starting_at(self.code.index(pc)?);
        let ssy = last(block).filter(|i| !is_guarded(i) && !i.sync)?;
        let Micro::Flow(Flow::Ssy(join)) = ssy.micro else { return None };
        let branch = self.next(block)?;
        let bra = last(branch).filter(|i| i.quad == 15 && !i.sync && i.guard != PSrc::TRUE)?;
        let Micro::Flow(Flow::Bra { target: taken, cc: super::flow::ALWAYS, uniform: false }) = bra.micro
        else {
            return None;
        };
        let (other, taken, join) = (self.next(branch)?, target(taken)?, target(join)?);
        let before =
            self.computes(&self.blocks.instructions(branch)[..self.blocks.instructions(branch).len() - 1])?;
        let waiting = |block: usize| {
            let (end, rest) = self.blocks.instructions(block).split_last()?;
            let end = self.inst(*end);
            let waits = matches!(end.micro, Micro::Nop) && end.sync && !is_guarded(end);
            self.computes(rest).filter(|_| waits)
        };
        let falls_through = self.next(other) == Some(taken);
        let (others, falls_through) = match waiting(other) {
            Some(all) => (all, false),
            None if falls_through => (self.computes(self.blocks.instructions(other))?, true),
            None => return None,
        };
        let sides = Sides {
            before,
            condition: bra.guard,
            other: others,
            taken: waiting(taken)?,
            falls_through,
            join,
        };
        let is_short = sides.other.len() + sides.taken.len() <= MOST;
        (is_short && other != taken).then_some(sides)
    }

    /// The instructions of a block that compute, and the transfer of control behind them, if it has no others and is not a branch of
    /// this kind again: they then follow in the same run.
    fn follows(&self, block: usize) -> Option<(Vec<usize>, Option<usize>)> {
        let insts = self.blocks.instructions(block);
        let (rest, control) = match insts.split_last() {
            Some((&last, rest)) if self.inst(last).ends_block() => (rest, Some(last)),
            _ => (insts, None),
        };
        let rest = self.computes(rest).filter(|rest| !rest.is_empty())?;
        self.sides(block).is_none().then_some((rest, control))
    }

    /// The block behind a block.
    fn next(&self, block: usize) -> Option<usize> {
        self.blocks.starting_at(self.blocks.bounds(block).1)
    }

    /// Instructions, if all are such of a run.
    fn computes(&self, insts: &[usize]) -> Option<Vec<usize>> {
        insts.iter().all(|&i| is_in_run(self.code, self.inst(i), self.of)).then(|| insts.to_vec())
    }

    /// Executes a run that SSY follows, SSY, the branch and its sides; where that cannot be, it goes on here.
    pub(super) fn both_sides(&mut self, first: &[usize], sides: &Sides) {
        let Sides { before, condition, other, taken, falls_through, join } = sides;
        let unguarded =
            |this: &Self, all: &[usize]| all.iter().filter(|&&i| !is_guarded(this.inst(i))).count();
        // With SSY, the branch, and NOP.S of each side.
        let all = first.len() + 1 + before.len();
        let (of_taken, alone) = (taken.len() + 1, unguarded(self, taken) + 1);
        let (of_other, other_alone) = match falls_through {
            false => (other.len() + 1, unguarded(self, other) + 1),
            true => (other.len() + of_taken, unguarded(self, other) + alone),
        };
        let follows = self.follows(*join);
        let behind = follows.as_ref().map_or(&[][..], |(all, _)| all);
        let [steps, _] = self.counted();
        let most = (all + 1 + of_taken + of_other) as i64;
        let end = self.e.b.ins().iadd_imm_s(steps, most);
        let in_time = self.e.icmp(IntCC::UnsignedLessThan, end, self.state.until);
        let depth = self.e.load(types::I32, self.state.warp, open::DEPTH);
        let depth = self.e.b.ins().iadd_imm_s(depth, PUSHED);
        let room = self.e.load(types::I32, self.state.frame, field::STACK_ROOM);
        let fits = self.e.icmp(IntCC::UnsignedLessThanOrEqual, depth, room);
        let at_once = self.e.and(in_time, fits);
        let [together, apart] = [(); 2].map(|()| self.e.b.create_block());
        self.e.branch(at_once, together, apart);
        let now = self.now;
        self.e.b.switch_to_block(together);
        let part = |all: &[usize], side: Side| all.iter().map(|&i| (i, side)).collect::<Vec<_>>();
        let last = if *falls_through { Side::Both } else { Side::Taken };
        let insts = [
            part(first, Side::Both),
            part(before, Side::Both),
            part(other, Side::Other),
            part(taken, last),
            part(behind, Side::Both),
        ]
        .concat();
        let run = Run { insts, condition: Some((*condition, first.len() + before.len())) };
        let live = match self.keep {
            Keep::All => Set::ALL,
            Keep::Live if behind.is_empty() => self.liveness.at_start(*join),
            Keep::Live => self.liveness.behind_each(self.code, self.blocks, *join)[behind.len() - 1],
        };
        let (guarded, Some(took)) = self.groups_of(&run, &live) else { return };
        let rest = match self.now.active {
            Active::All => self.e.not(took),
            Active::Mask(active, _) => self.e.b.ins().band_not(active, took),
        };
        let of_all = unguarded(self, first) + unguarded(self, before) + unguarded(self, behind) + 1;
        self.count(all + behind.len(), of_all, guarded);
        // The branch is executed by the lanes that take it.
        self.side(took, of_taken, alone + 1);
        self.side(rest, of_other, other_alone);
        self.count(1, 0, None);
        match follows {
            None => self.go(*join),
            Some((_, Some(control))) => self.control(*join, control),
            Some((_, None)) => self.fall_through(*join),
        }
        self.now = now;
        self.e.b.switch_to_block(apart);
    }

    /// Counts so many instructions if there are lanes of a side, and so many times these lanes.
    fn side(&mut self, lanes: Value, steps: usize, times: usize) {
        let (some, none) = (self.e.long(steps as i64), self.e.long(0));
        let more = self.e.b.ins().select(lanes, some, none);
        self.now.steps = self.e.add(self.now.steps, more);
        let threads = self.threads_of(lanes);
        let threads = self.e.b.ins().imul_imm_s(threads, times as i64);
        self.now.threads = self.e.add(self.now.threads, threads);
    }
}
