//! The call-return stack: how deep a program's entries nest, and what a launch must provide for
//! that.
//!
//! A warp's SSY, PBK, PCNT and CAL push an entry each, and so does a branch that parts its lanes:
//! those that take it run first, the others wait there. Sixteen entries are on the chip; what is
//! beyond them lies in memory that the launch names.
//!
//! What a card does when that memory is too small is not known, so the emulator has no limit of its
//! own; it stops only a stack that grows without bound.

use crate::emit::code::Code;
use crate::isa::{Op, Operand};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bytes that a launch must provide for a nest of `depth` entries. Source: NAK (`sph.rs`,
/// `qmd.rs`), which counts SSY, PBK and PCNT only. Mesa's nvc0 gives graphics programs 512 bytes
/// for every 48, or part of 48, of twice the nest's depth if that is above 16, and compute programs
/// nothing.
pub(crate) fn bytes(depth: u32) -> u32 {
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
pub(crate) fn depth(code: &Code) -> u32 {
    let mut walk = Walk { code, entries: vec![None; code.blocks.len()], work: BinaryHeap::new() };
    // A function is known by its first block. Nothing recurses, so what a function calls can be
    // finished before it.
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

/// Entries on the stack at each call of a function that is compiled separately, in the function
/// that the code begins with: the label that it is called by, and the most entries.
pub(crate) fn at_external_calls(code: &Code) -> Vec<(u32, u32)> {
    let mut walk = Walk { code, entries: vec![None; code.blocks.len()], work: BinaryHeap::new() };
    walk.function(0);
    let mut most: Vec<(u32, u32)> = code.external.iter().map(|(l, _)| (l.0, 0)).collect();
    for (block, entry) in code.blocks.iter().zip(&walk.entries) {
        let Some(at) = entry else { continue };
        for line in block.body.iter().filter(|l| l.inst.op == Op::Cal) {
            let Some(&Operand::Target(label)) = line.inst.operands.first() else { continue };
            // Labels were made in this order.
            if let Ok(k) = most.binary_search_by_key(&label, |m| m.0) {
                most[k].1 = most[k].1.max(at.total());
            }
        }
    }
    most
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
        // What no nest exceeds: code that pushes in a loop without a pop has no depth, and must not
        // keep us here.
        let bound = self.code.blocks.len() as u32 * 2;
        let Some(entry) = self.entries.get_mut(n) else { return };
        let new = entry.map_or(at, |old| old.max(at));
        if *entry != Some(new) && new.pushed <= bound {
            *entry = Some(new);
            self.work.push(Reverse(n));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Loc;
    use crate::emit::code::{Line, MBlock};
    use crate::isa::{MInst, Pred};

    /// Block n has label n; of each, the pushes and branches with the block that they name, and
    /// whether control runs on. A `Bra` parts lanes.
    fn code(blocks: &[(&[(Op, u32)], bool)]) -> Code {
        let line = |&(op, to): &(Op, u32)| {
            let inst = MInst::new(op).arg(Operand::Target(to));
            let parts = op == Op::Bra;
            Line::new(if parts { inst.guarded(Pred { num: 0, not: false }) } else { inst }, Loc::default())
        };
        let block = |&(lines, falls): &(&[(Op, u32)], bool)| {
            let (body, tail) = lines.iter().map(line).partition(|l: &Line| l.inst.op == Op::Cal);
            MBlock { body, tail, falls, parts: true, ..MBlock::default() }
        };
        Code {
            blocks: blocks.iter().map(block).collect(),
            labels: (0..blocks.len() as u32).collect(),
            calls: true,
            ..Code::default()
        }
    }

    #[test]
    fn what_is_on_the_chip_costs_nothing_and_the_rest_comes_in_steps() {
        let expected =
            [(0, 0), (16, 0), (17, 1024), (32, 1024), (33, 1536), (64, 1536), (65, 2048), (96, 2048)];
        for (depth, size) in expected {
            assert_eq!(bytes(depth), size, "{depth} entries");
        }
    }

    #[test]
    fn straight_code_pushes_nothing() {
        assert_eq!(depth(&code(&[(&[], true), (&[], false)])), 0);
        assert_eq!(depth(&Code::default()), 0);
    }

    #[test]
    fn lanes_that_do_not_branch_wait_in_an_entry() {
        // if (c) {1} else {2}, join 3.
        let c = code(&[(&[(Op::Ssy, 3), (Op::Bra, 2)], true), (&[], false), (&[], false), (&[], false)]);
        assert_eq!(depth(&c), 2);
    }

    #[test]
    fn an_entry_is_gone_where_its_construct_ends() {
        // Two ifs one after the other are no deeper than one.
        let c = code(&[
            (&[(Op::Ssy, 2), (Op::Bra, 1)], false),
            (&[], false),
            (&[(Op::Ssy, 4), (Op::Bra, 3)], false),
            (&[], false),
            (&[], false),
        ]);
        assert_eq!(depth(&c), 2);
        // And an if in the second side of another is two deeper.
        let c = code(&[
            (&[(Op::Ssy, 3), (Op::Bra, 1)], false),
            (&[(Op::Ssy, 3), (Op::Bra, 2)], false),
            (&[], false),
            (&[], false),
        ]);
        assert_eq!(depth(&c), 4);
    }

    #[test]
    fn rounds_of_a_loop_add_nothing_unless_each_leaves_lanes_behind() {
        // PBK 4; 1: PCNT 1; if (c) {2}; 3: CONT.
        let c = code(&[
            (&[(Op::Pbk, 4)], true),
            (&[(Op::Pcnt, 1), (Op::Ssy, 3), (Op::Bra, 2)], false),
            (&[], false),
            (&[], false),
            (&[], false),
        ]);
        assert_eq!(depth(&c), 4);
        // PBK 2; 1: lanes that branch go round again, the others wait: at most 31 entries do.
        let c = code(&[(&[(Op::Pbk, 2)], true), (&[(Op::Bra, 1)], false), (&[], false)]);
        assert_eq!(depth(&c), 1 + 31);
    }

    #[test]
    fn calls_add_themselves_and_what_they_call_from_where_they_stand() {
        // Kernel 0 calls 2 inside an SSY, and 3 outside; 2 calls 3; 3 has a loop with an exit.
        let c = code(&[
            (&[(Op::Cal, 3)], true),
            (&[(Op::Ssy, 0)], true),
            (&[(Op::Cal, 3)], false),
            (&[(Op::Pbk, 0)], false),
        ]);
        assert_eq!(depth(&c), 3, "SSY, CAL, PBK");
        // A chain of 10,000 functions, named in the worst order.
        let calls: Vec<Vec<(Op, u32)>> = (0..10_000)
            .map(|n| (1..3).map(|k| (Op::Cal, n + k)).filter(|c| c.1 < 10_000).collect())
            .collect();
        let chain: Vec<(&[(Op, u32)], bool)> = calls.iter().map(|c| (c.as_slice(), false)).collect();
        assert_eq!(depth(&code(&chain)), 9_999);
    }

    #[test]
    fn code_that_never_pops_ends_the_search() {
        assert!(depth(&code(&[(&[(Op::Ssy, 0)], true), (&[], true), (&[], false)])) > 0);
        let mut round = code(&[(&[(Op::Pcnt, 1), (Op::Bra, 0)], true), (&[], false)]);
        round.blocks[0].parts = false;
        assert!(depth(&round) <= 6);
    }
}
