//! How far away the next use of a value is, in instructions: what spilling decides by.
//!
//! Distances at the beginning of blocks are shortest ways through the graph. Leaving a loop counts
//! as [`LOOP_EXIT`] instructions, so that what is used in a loop always comes before what is used
//! after it. Within a block, [`BlockUses`] knows the next use after each instruction.

use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::{Liveness, inst_blocks};
use crate::ir::{BlockId, Class, Def, Function, ValueId};
use cranelift_entity::SecondaryMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Length of a way out of a loop.
pub(crate) const LOOP_EXIT: u32 = 100_000;
/// No use on any way.
pub(super) const NEVER: u32 = u32::MAX / 4;

/// Distances of the live-in values of each block to their next use, from its beginning.
pub(crate) struct NextUse {
    /// Where the distances of each block begin, which are in the order of [`Liveness::live_in`].
    starts: SecondaryMap<BlockId, u32>,
    distances: Vec<u32>,
}

/// What the search knows of a block.
#[derive(Clone, Copy, Default)]
struct Node {
    /// The value that it was last reached for, by its number and one more.
    reached: u32,
    /// Where the distance of the next value that is live here goes.
    next: u32,
    /// Instructions, with the one at the end.
    length: u32,
    depth: u32,
}

impl NextUse {
    /// Dijkstra's algorithm for each value, from the blocks that use it up to its definition:
    /// `n log n` in the size of the live-in lists, however loops nest.
    pub(super) fn new(f: &Function, cfg: &Cfg, live: &Liveness) -> NextUse {
        // The first use in each block that needs the value from outside, in a chain for each value.
        const END: u32 = u32::MAX;
        let mut sources: Vec<(BlockId, u32, u32)> = Vec::new();
        let mut last: SecondaryMap<ValueId, u32> = SecondaryMap::with_default(END);
        let mut local: SecondaryMap<ValueId, u32> = SecondaryMap::with_default(NEVER);
        let mut nodes: SecondaryMap<BlockId, Node> = SecondaryMap::new();
        nodes.resize(f.blocks.len());
        let mut starts: SecondaryMap<BlockId, u32> = SecondaryMap::new();
        starts.resize(f.blocks.len());
        let mut total = 0;
        for &b in cfg.rpo() {
            first_uses(f, b, &mut local);
            for &v in live.live_in(b).iter().filter(|&&v| local[v] < NEVER) {
                sources.push((b, local[v], last[v]));
                last[v] = sources.len() as u32 - 1;
            }
            clear_uses(f, b, &mut local);
            let length = f.blocks[b].body.len() as u32 + 1;
            nodes[b] = Node { reached: 0, next: total, length, depth: cfg.loop_depth(b) };
            starts[b] = total;
            total += live.live_in(b).len() as u32;
        }
        let mut distances = vec![NEVER; total as usize];
        let blocks = inst_blocks(f, cfg);
        // Values in order, so that each finds the end of the list of a block where it is live.
        let mut work: BinaryHeap<Reverse<(u32, BlockId)>> = BinaryHeap::new();
        for v in f.values.keys().filter(|&v| last[v] != END) {
            let def = match f.values[v].def {
                Def::Inst(i) => blocks[i].expand(),
                Def::Block(b) => Some(b),
                Def::Func => Some(f.entry()),
                Def::None => None,
            };
            let mut at = last[v];
            while let Some(&(b, distance, before)) = sources.get(at as usize) {
                work.push(Reverse((distance, b)));
                at = before;
            }
            let mark = v.as_u32() + 1;
            while let Some(Reverse((distance, b))) = work.pop() {
                let here = &mut nodes[b];
                if std::mem::replace(&mut here.reached, mark) == mark {
                    continue;
                }
                distances[here.next as usize] = distance;
                here.next += 1;
                let depth = here.depth;
                for &p in cfg.preds(b).iter().filter(|&&p| Some(p) != def) {
                    let there = &nodes[p];
                    if there.reached != mark {
                        let way = there.length.saturating_add(penalty(there.depth, depth));
                        work.push(Reverse((distance.saturating_add(way).min(NEVER), p)));
                    }
                }
            }
        }
        NextUse { starts, distances }
    }

    fn at_entry<'n>(&'n self, live: &Liveness, b: BlockId) -> &'n [u32] {
        let start = self.starts[b] as usize;
        &self.distances[start..start + live.live_in(b).len()]
    }
}

fn penalty(from: u32, to: u32) -> u32 {
    from.saturating_sub(to).saturating_mul(LOOP_EXIT)
}

fn exit_penalty(cfg: &Cfg, from: BlockId, to: BlockId) -> u32 {
    penalty(cfg.loop_depth(from), cfg.loop_depth(to))
}

fn first_uses(f: &Function, b: BlockId, local: &mut SecondaryMap<ValueId, u32>) {
    let block = &f.blocks[b];
    block.term.for_uses(|v| local[v] = block.body.len() as u32);
    for (k, &i) in block.body.iter().enumerate().rev() {
        f.insts[i].for_uses(|v| local[v] = k as u32);
    }
}

fn clear_uses(f: &Function, b: BlockId, local: &mut SecondaryMap<ValueId, u32>) {
    let block = &f.blocks[b];
    block.term.for_uses(|v| local[v] = NEVER);
    block.body.iter().for_each(|&i| f.insts[i].for_uses(|v| local[v] = NEVER));
}

/// The uses of general values in one block, in order.
pub(crate) struct BlockUses {
    /// Position of each use, and the next one of the same value.
    uses: Vec<(u32, u32)>,
    /// The next use of each value from where the walk is.
    next: SecondaryMap<ValueId, u32>,
    at_exit: SecondaryMap<ValueId, u32>,
    touched: Vec<ValueId>,
}

const NO_USE: u32 = u32::MAX;

impl BlockUses {
    pub(super) fn new() -> BlockUses {
        BlockUses {
            uses: Vec::new(),
            next: SecondaryMap::with_default(NO_USE),
            at_exit: SecondaryMap::with_default(NEVER),
            touched: Vec::new(),
        }
    }

    /// Turns to a block, at its beginning.
    pub(super) fn enter(&mut self, f: &Function, cfg: &Cfg, live: &Liveness, next_use: &NextUse, b: BlockId) {
        for v in self.touched.drain(..) {
            self.next[v] = NO_USE;
            self.at_exit[v] = NEVER;
        }
        self.uses.clear();
        let block = &f.blocks[b];
        for s in block.term.successors() {
            let penalty = exit_penalty(cfg, b, s);
            for (&v, &d) in live.live_in(s).iter().zip(next_use.at_entry(live, s)) {
                let d = d.saturating_add(penalty).min(NEVER);
                self.at_exit[v] = self.at_exit[v].min(d);
                self.touched.push(v);
            }
        }
        let end = block.body.len() as u32;
        let mut note = |v: ValueId, at: u32| {
            if f.class(v) == Class::Gpr {
                let after = self.next[v];
                if after != NO_USE && self.uses[after as usize].0 == at {
                    return;
                }
                self.next[v] = self.uses.len() as u32;
                self.uses.push((at, after));
                self.touched.push(v);
            }
        };
        block.term.for_uses(|v| note(v, end));
        for (k, &i) in block.body.iter().enumerate().rev() {
            f.insts[i].for_uses(|v| note(v, k as u32));
        }
    }

    /// The walk passes the instruction at `at`, which uses `v`.
    pub(super) fn pass(&mut self, v: ValueId, at: u32) {
        while self.next[v] != NO_USE && self.uses[self.next[v] as usize].0 <= at {
            self.next[v] = self.uses[self.next[v] as usize].1;
        }
    }

    /// Distance from position `at` to the next use that the walk has not passed; `length` is the
    /// block's.
    pub(super) fn distance(&self, v: ValueId, at: u32, length: u32) -> u32 {
        match self.next[v] {
            NO_USE => self.at_exit[v].saturating_add(length - at).min(NEVER),
            n => self.uses[n as usize].0 - at,
        }
    }
}
