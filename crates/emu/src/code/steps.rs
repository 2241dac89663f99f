//! What the interpreter walks through where nothing watches it: for each instruction what executes it, and where control goes on.
//!
//! Scheduling words are skipped here once, and leaders, branches and runs are looked up once.

use super::micro::{CarryIn, Flow, Inst, Micro, PSrc};
use super::rows::{LongSumOp, Rows};
use nvir_simd::Processor;

/// An instruction, with all that the interpreter's inner loop wants of it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub rows: Rows,
    pub guard: PSrc,
    pub quad: u8,
    /// All running lanes execute it.
    pub whole: bool,
    /// Its bytes.
    pub bytes: u8,
    /// The instructions that it is.
    pub count: u8,
    /// A basic block begins here.
    pub leader: bool,
    /// What is behind it.
    pub then: Then,
    /// Where that is, in [`Code::insts`](super::program::Code::insts).
    pub next: u32,
    /// Its address.
    pub pc: u32,
    /// The run that begins here.
    pub run: Run,
}

/// Instructions of one basic block, one behind the other, that only compute registers, predicates and flags: none faults, all are
/// executed by the same lanes but for their guards.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Run {
    pub steps: u16,
    pub instructions: u16,
    /// How many of these are for all running lanes.
    pub whole: u16,
}

impl Run {
    const MOST: u16 = 1 << 12;

    /// The run that begins with a step before it.
    fn from(self, step: &Step) -> Run {
        Run {
            steps: self.steps + 1,
            instructions: self.instructions + u16::from(step.count),
            whole: self.whole + if step.whole { step.count.into() } else { 0 },
        }
    }
}

/// What is behind an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// The same basic block goes on.
    Same,
    /// A basic block begins.
    Leader,
    /// Nothing: the code ends.
    Nothing,
    /// What the warp says. No step does.
    Elsewhere,
}

/// A branch whose condition is its guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    /// Where it leads, in [`Code::insts`](super::program::Code::insts).
    pub at: u32,
    /// It may part lanes; else it is for all or none.
    pub parts: bool,
}

/// The condition that always holds.
pub(super) const ALWAYS: u8 = 15;

/// One for each instruction of a code whose leaders are marked: of its instructions, where its
/// segments begin, bytes between instructions as a power of two, the index of an address, and its inverse.
pub(super) fn steps(
    insts: &[Inst],
    starts: impl Iterator<Item = usize>,
    step: u32,
    index: impl Fn(u32) -> Option<usize>,
    address: impl Fn(usize) -> u32,
) -> Vec<Step> {
    let processor = Processor::detect();
    let ends: Vec<usize> = starts.skip(1).chain([insts.len()]).collect();
    let make = |(at, inst): (usize, &Inst)| {
        let end = ends[ends.partition_point(|&end| end <= at)];
        let behind = |inst: &Inst, at: usize| at + (usize::from(inst.bytes) >> step).max(1);
        let mut next = behind(inst, at);
        let inside = |at: usize| insts.get(at).filter(|_| at < end);
        let skipped = |i: &&Inst| matches!(i.micro, Micro::Sched) && !i.leader;
        while let Some(word) = inside(next).filter(skipped) {
            next = behind(word, next);
        }
        let then = match inside(next) {
            Some(next) if next.leader => Then::Leader,
            Some(_) => Then::Same,
            None => Then::Nothing,
        };
        Step {
            rows: match branch(inst, &index) {
                Some(branch) => Rows::Branch(branch),
                None => Rows::new(inst, processor),
            },
            guard: inst.guard,
            quad: inst.quad,
            whole: inst.is_for_all(),
            bytes: inst.bytes,
            count: u8::from(!matches!(inst.micro, Micro::Sched)),
            leader: inst.leader,
            then,
            next: next as u32,
            pc: address(at),
            run: Run::default(),
        }
    };
    let mut steps = insts.iter().enumerate().map(make).collect::<Vec<_>>();
    join_sums(&mut steps, processor);
    find_runs(&mut steps);
    steps
}

/// Makes one step of a sum of low words and the sum of high words behind it.
fn join_sums(steps: &mut [Step], processor: Processor) {
    for at in 0..steps.len() {
        let (first, Some(second)) = (&steps[at], behind(steps, &steps[at])) else { continue };
        let alike = first.guard == second.guard && first.quad == second.quad;
        let (Rows::Sum(low), Rows::Sum(high), true) = (&first.rows, &second.rows, alike) else { continue };
        let joined = LongSumOp::new(low, high, is_read(steps, second), processor);
        let (count, then, next) = (first.count + second.count, second.then, second.next);
        if let Some(sum) = joined {
            let first = &mut steps[at];
            first.rows = Rows::LongSum(sum);
            (first.count, first.then, first.next) = (count, then, next);
        }
    }
}

/// The step behind one in its basic block.
fn behind<'a>(steps: &'a [Step], step: &Step) -> Option<&'a Step> {
    if step.then == Then::Same { steps.get(step.next as usize) } else { None }
}

/// Whether somebody may see the condition code that a step leaves: not if what follows is sure to replace it.
fn is_read<'a>(steps: &'a [Step], mut step: &'a Step) -> bool {
    while let Some(next) = behind(steps, step) {
        match &next.rows {
            Rows::Sum(sum) if sum.carry == CarryIn::Flag => return true,
            Rows::Sum(sum) if sum.flags && next.whole => return false,
            Rows::Sum(_) | Rows::Lane { .. } | Rows::Compare { .. } => step = next,
            _ => return true,
        }
    }
    true
}

/// Says of each step which run begins there.
fn find_runs(steps: &mut [Step]) {
    for at in (0..steps.len()).rev() {
        let step = &steps[at];
        let rest = behind(steps, step).map(|next| next.run).filter(|run| run.instructions < Run::MOST);
        steps[at].run =
            if step.rows.only_computes() { rest.unwrap_or_default().from(step) } else { Run::default() };
    }
}

fn branch(inst: &Inst, index: impl Fn(u32) -> Option<usize>) -> Option<Branch> {
    match inst.micro {
        Micro::Flow(Flow::Bra { target, cc: ALWAYS, uniform }) if !inst.sync => {
            Some(Branch { at: index(target)? as u32, parts: !uniform })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Program;
    use nvir_base::Chip;
    use nvir_isa as isa;

    fn steps(lines: &[&str]) -> Vec<Step> {
        let encode = |(n, line): (usize, &&str)| {
            let m = isa::text::parse(Chip::Gf100, line, 8 * n as u32, &|_| None).expect(line);
            isa::encode(Chip::Gf100, &m, 8 * n as u32).expect(line)
        };
        let words: Vec<u64> = lines.iter().enumerate().map(encode).collect();
        Program::new(Chip::Gf100, &words).code.steps.clone()
    }

    #[test]
    fn runs_end_where_more_than_registers_is_concerned() {
        let all = steps(&[
            "MOV R0, R1",
            "@P0 MOV R1, R2",
            "ISETP.EQ.AND P0, PT, R0, R1, PT",
            "LDS R0, [R1]",
            "MOV R0, R1",
            "@P0 BRA 0x20",
            "MOV R0, R1",
            "EXIT",
        ]);
        let runs: Vec<_> = all.iter().map(|s| (s.run.steps, s.run.instructions, s.run.whole)).collect();
        let none = (0, 0, 0);
        assert_eq!(runs, [(3, 3, 2), (2, 2, 1), (1, 1, 1), none, (1, 1, 1), none, (1, 1, 1), none]);
    }

    #[test]
    fn sums_are_joined_with_their_flags_if_somebody_may_see_these() {
        let joined = |lines: &[&str]| match &steps(lines)[0] {
            Step { rows: Rows::LongSum(sum), count: 2, next: 2, .. } => Some(sum.flags),
            _ => None,
        };
        let sum = ["IADD R0.CC, R0, R2", "IADD.X R1, R1, R3"];
        let then = |more: &[&str]| joined(&[&sum, more].concat());
        // They are replaced, before anything could be at fault.
        assert_eq!(then(&["MOV R4, R5", "IADD R0.CC, R0, R2", "EXIT"]), Some(false));
        assert_eq!(then(&["@P0 MOV R4, R5", "IADD R0.CC, R0, R2", "IADD.X R1, R1, R3", "EXIT"]), Some(false));
        // Or not, or not all of them.
        assert_eq!(then(&["EXIT"]), Some(true));
        assert_eq!(then(&["IADD.X R4, R4, R5", "IADD R0.CC, R0, R2", "EXIT"]), Some(true));
        assert_eq!(then(&["@P0 IADD R0.CC, R0, R2", "EXIT"]), Some(true));
        assert_eq!(then(&["LDS R4, [R5]", "IADD R0.CC, R0, R2", "EXIT"]), Some(true));
        assert_eq!(then(&["BRA 0x18", "IADD R0.CC, R0, R2", "EXIT"]), Some(true));
        // Both are for the same lanes, and nothing is between them.
        assert_eq!(joined(&["@P0 IADD R0.CC, R0, R2", "@P0 IADD.X R1, R1, R3", "EXIT"]), Some(true));
        assert_eq!(joined(&["@P0 IADD R0.CC, R0, R2", "IADD.X R1, R1, R3", "EXIT"]), None);
        assert_eq!(joined(&["IADD R0.CC, R0, R2", "MOV R4, R5", "IADD.X R1, R1, R3", "EXIT"]), None);
        assert_eq!(joined(&["IADD R0.CC, R0, R2", "IADD.X R1.CC, R1, R3", "EXIT"]), None);
    }
}
