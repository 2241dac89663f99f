//! What the interpreter walks through where nothing watches it: for each instruction what executes it, and where control goes on.
//!
//! Scheduling words are skipped here once, and leaders and branches are looked up once.

use super::micro::{Flow, Inst, Micro, PSrc};
use super::rows::Rows;
use nvir_simd::Processor;

/// An instruction, with all that the interpreter's inner loop wants of it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub rows: Rows,
    pub guard: PSrc,
    pub quad: u8,
    /// All running lanes execute it.
    pub whole: bool,
    /// What is behind it.
    pub then: Then,
    /// Where that is, in [`Code::insts`](super::program::Code::insts).
    pub next: u32,
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
}

/// A branch whose condition is its guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    /// Where it leads, in [`Code::insts`](super::program::Code::insts), and the address.
    pub at: u32,
    pub pc: u32,
    /// It may part lanes; else it is for all or none.
    pub parts: bool,
}

/// The condition that always holds.
pub(super) const ALWAYS: u8 = 15;

/// One for each instruction of a code whose leaders are marked: of its instructions, where its
/// segments begin, bytes between instructions as a power of two, and the index of an address.
pub(super) fn steps(
    insts: &[Inst],
    starts: impl Iterator<Item = usize>,
    step: u32,
    index: impl Fn(u32) -> Option<usize>,
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
            whole: inst.guard == PSrc::TRUE && inst.quad == 15,
            then,
            next: next as u32,
        }
    };
    insts.iter().enumerate().map(make).collect()
}

fn branch(inst: &Inst, index: impl Fn(u32) -> Option<usize>) -> Option<Branch> {
    match inst.micro {
        Micro::Flow(Flow::Bra { target, cc: ALWAYS, uniform }) if !inst.sync => {
            Some(Branch { at: index(target)? as u32, pc: target, parts: !uniform })
        }
        _ => None,
    }
}
