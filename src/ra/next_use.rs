//! How far away the next use of a value is, in instructions: what spilling decides by.
//!
//! Distances at the beginning of blocks come from a fixed point over the graph. Leaving a loop counts as
//! [`LOOP_EXIT`] instructions, so that what is used in a loop always comes before what is used after it. Within a
//! block, [`BlockUses`] knows the next use after each instruction.

use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{BlockId, Class, Function, ValueId};
use cranelift_entity::SecondaryMap;

/// Length of a way out of a loop.
pub const LOOP_EXIT: u32 = 100_000;
/// No use on any way.
pub const NEVER: u32 = u32::MAX / 4;

/// Distances of the live-in values of each block to their next use, from its beginning.
pub struct NextUse {
    /// In the order of [`Liveness::live_in`].
    distances: SecondaryMap<BlockId, Vec<u32>>,
}

impl NextUse {
    pub fn new(f: &Function, cfg: &Cfg, live: &Liveness) -> NextUse {
        let mut n = NextUse { distances: SecondaryMap::new() };
        let mut local: SecondaryMap<ValueId, u32> = SecondaryMap::with_default(NEVER);
        let mut dirty = true;
        // Distances within blocks first; then ways through successors until nothing gets shorter.
        for &b in cfg.rpo() {
            first_uses(f, b, &mut local);
            n.distances[b] = live.live_in(b).iter().map(|&v| local[v]).collect();
            clear_uses(f, b, &mut local);
        }
        while dirty {
            dirty = false;
            for &b in cfg.rpo().iter().rev() {
                let length = f.blocks[b].body.len() as u32 + 1;
                for s in f.blocks[b].term.successors() {
                    let out = length + exit_penalty(cfg, b, s);
                    // Both lists are in order of values.
                    let mut k = 0;
                    let mut mine = std::mem::take(&mut n.distances[b]);
                    for (&v, d) in live.live_in(b).iter().zip(mine.iter_mut()) {
                        let theirs = live.live_in(s);
                        while k < theirs.len() && theirs[k] < v {
                            k += 1;
                        }
                        if k < theirs.len() && theirs[k] == v {
                            let there = if s == b { *d } else { n.distances[s][k] };
                            let through = there.saturating_add(out).min(NEVER);
                            if through < *d {
                                *d = through;
                                dirty = true;
                            }
                        }
                    }
                    n.distances[b] = mine;
                }
            }
        }
        n
    }
}

fn exit_penalty(cfg: &Cfg, from: BlockId, to: BlockId) -> u32 {
    let out = cfg.loop_depth(from).saturating_sub(cfg.loop_depth(to));
    out * LOOP_EXIT
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
pub struct BlockUses {
    /// Position of each use, and the next one of the same value.
    uses: Vec<(u32, u32)>,
    /// The next use of each value from where the walk is.
    next: SecondaryMap<ValueId, u32>,
    at_exit: SecondaryMap<ValueId, u32>,
    touched: Vec<ValueId>,
}

const NO_USE: u32 = u32::MAX;

impl BlockUses {
    pub fn new() -> BlockUses {
        BlockUses {
            uses: Vec::new(),
            next: SecondaryMap::with_default(NO_USE),
            at_exit: SecondaryMap::with_default(NEVER),
            touched: Vec::new(),
        }
    }

    /// Turns to a block, at its beginning.
    pub fn enter(&mut self, f: &Function, cfg: &Cfg, live: &Liveness, next_use: &NextUse, b: BlockId) {
        for v in self.touched.drain(..) {
            self.next[v] = NO_USE;
            self.at_exit[v] = NEVER;
        }
        self.uses.clear();
        let block = &f.blocks[b];
        for s in block.term.successors() {
            let penalty = exit_penalty(cfg, b, s);
            for (&v, &d) in live.live_in(s).iter().zip(&next_use.distances[s]) {
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
    pub fn pass(&mut self, v: ValueId, at: u32) {
        while self.next[v] != NO_USE && self.uses[self.next[v] as usize].0 <= at {
            self.next[v] = self.uses[self.next[v] as usize].1;
        }
    }

    /// Distance from position `at` to the next use that the walk has not passed; `length` is the block's.
    pub fn distance(&self, v: ValueId, at: u32, length: u32) -> u32 {
        match self.next[v] {
            NO_USE => self.at_exit[v].saturating_add(length - at).min(NEVER),
            n => self.uses[n as usize].0 - at,
        }
    }
}
