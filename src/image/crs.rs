//! The call-return stack: how deep a program's entries nest, and what a launch must provide for that.
//!
//! A warp's SSY, PBK, PCNT and CAL push an entry each, and so does a branch that parts its lanes: those that take it run
//! first, the others wait there. Sixteen entries are on the chip; what is beyond them lies in memory that the launch names.
//!
//! What a card does when that memory is too small is not known, so the emulator has no limit of its own; it stops only a
//! stack that grows without bound.

use crate::isa::{Op, Operand};
use crate::isel::code::Code;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes that a launch must provide for a nest of `depth` entries. Source: NAK (`sph.rs`, `qmd.rs`), which counts SSY, PBK
/// and PCNT only. Mesa's nvc0 gives graphics programs 512 bytes for every 48, or part of 48, of twice the nest's depth if
/// that is above 16, and compute programs nothing.
pub fn bytes(depth: u32) -> u32 {
    match depth {
        0..=16 => 0,
        17..=32 => 1024,
        _ => ((depth + 32) * 16).next_multiple_of(512),
    }
}

/// Entries on the stack, seen from where a function begins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Depth {
    /// Of SSY, PBK and PCNT.
    pushed: u32,
    /// Of branches that part lanes.
    parted: u32,
}

impl Depth {
    /// Some lane waits in each entry of a branch, in no two the same, and one runs.
    const MOST_PARTED: u32 = 31;

    fn push(self) -> Depth {
        Depth { pushed: self.pushed + 1, ..self }
    }

    fn part(self) -> Depth {
        Depth { parted: (self.parted + 1).min(Self::MOST_PARTED), ..self }
    }

    fn max(self, other: Depth) -> Depth {
        Depth { pushed: self.pushed.max(other.pushed), parted: self.parted.max(other.parted) }
    }

    fn total(self) -> u32 {
        self.pushed + self.parted
    }
}

/// The most entries on the stack at any point of the kernel and what it calls.
pub fn depth(code: &Code) -> u32 {
    let mut walk = Walk { code, entries: vec![None; code.blocks.len()], work: BinaryHeap::new() };
    // A function is known by its first block. Nothing recurses, so what a function calls can be finished before it.
    let mut done: Vec<Option<u32>> = vec![None; code.blocks.len()];
    let mut open = vec![walk.function(0)];
    while let Some(f) = open.last() {
        let unknown = f.calls.get(f.known).map(|&(callee, _)| callee);
        match unknown {
            Some(callee) if done.get(callee).is_some_and(Option::is_none) => {
                let callee = walk.function(callee);
                open.push(callee);
            }
            Some(_) => open.last_mut().into_iter().for_each(|f| f.known += 1),
            None => {
                let deepest = f.calls.iter().map(|&(callee, at)| {
                    // The call itself is an entry.
                    at.total() + 1 + done.get(callee).copied().flatten().unwrap_or(0)
                });
                let most = deepest.fold(f.most, u32::max);
                if let Some(place) = done.get_mut(f.start) {
                    *place = Some(most);
                }
                open.pop();
            }
        }
    }
    done.first().copied().flatten().unwrap_or(0)
}

/// A function without what it calls.
struct Function {
    start: usize,
    most: u32,
    /// The first block of what is called, and the entries there.
    calls: Vec<(usize, Depth)>,
    /// So many of the calls are known to be finished.
    known: usize,
}

struct Walk<'a> {
    code: &'a Code,
    /// The entries at the start of each block that was reached.
    entries: Vec<Option<Depth>>,
    /// Blocks to look at, in the order of the layout, in which nearly all ways lead on.
    work: BinaryHeap<Reverse<usize>>,
}

impl Walk<'_> {
    fn function(&mut self, start: usize) -> Function {
        let mut f = Function { start, most: 0, calls: Vec::new(), known: 0 };
        self.reach(start, Depth::default());
        while let Some(Reverse(n)) = self.work.pop() {
            let (block, Some(mut at)) = (&self.code.blocks[n], self.entries[n]) else { continue };
            f.most = f.most.max(at.total());
            let body: &[_] = if self.code.calls { &block.body } else { &[] };
            for line in body.iter().chain(&block.tail) {
                let Some(&Operand::Target(label)) = line.inst.operands.first() else { continue };
                let to = self.code.labels.get(label as usize).map_or(usize::MAX, |&b| b as usize);
                match line.inst.op {
                    // Where it leads to, the entry is gone.
                    Op::Ssy | Op::Pbk | Op::Pcnt => {
                        self.reach(to, at);
                        at = at.push();
                        f.most = f.most.max(at.total());
                    }
                    Op::Cal => f.calls.push((to, at)),
                    Op::Bra => {
                        let parts = block.parts && !line.inst.guard.is_true();
                        self.reach(to, if parts { at.part() } else { at });
                    }
                    _ => {}
                }
            }
            if block.falls {
                self.reach(n + 1, at);
            }
        }
        f
    }

    fn reach(&mut self, n: usize, at: Depth) {
        // What no nest exceeds: code that pushes in a loop without a pop has no depth, and must not keep us here.
        let bound = self.code.blocks.len() as u32 * 2;
        let Some(entry) = self.entries.get_mut(n) else { return };
        let new = entry.map_or(at, |old| old.max(at));
        if *entry != Some(new) && new.pushed <= bound {
            *entry = Some(new);
            self.work.push(Reverse(n));
        }
    }
}
