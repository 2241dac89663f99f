//! Where an invocation of a fragment shader goes on that has been discarded: as a helper, since its neighbours may ask for its
//! values.
//!
//! It leaves the outermost loop around, so that nothing depends on when it would: behind that it goes on, else behind the
//! innermost selection around, else behind the call. Blocks are walked along the tree of their dominators: a construct is what
//! its header dominates without its merge block.

use super::graph::labels;
use super::module::{Function, Module};
use super::validate::Tree;
use rustc_hash::FxHashMap;
use spirv::Op;

/// Where control goes on, by block.
#[derive(Debug, Default)]
pub(super) struct Behind {
    /// The merge block of the outermost loop around a block of the function.
    loops: FxHashMap<usize, usize>,
    /// The merge block of the innermost selection or loop around.
    innermost: FxHashMap<usize, usize>,
}

impl Behind {
    pub(super) fn outermost_loop(&self, block: usize) -> Option<usize> {
        self.loops.get(&block).copied()
    }

    pub(super) fn any(&self, block: usize) -> Option<usize> {
        self.outermost_loop(block).or(self.innermost.get(&block).copied())
    }
}

/// What is around a block.
#[derive(Clone, Copy, Default)]
struct Around {
    outermost_loop: Option<usize>,
    innermost: Option<usize>,
}

/// Looks through a function.
pub(super) fn behind(m: &Module, f: &Function) -> Behind {
    let tree = Tree::of_function(m, f);
    let numbers = labels(f);
    let mut order: Vec<usize> = (0..f.blocks.len()).filter(|&b| tree.reached(b)).collect();
    order.sort_unstable_by_key(|&b| tree.place(b));
    let mut found = Behind::default();
    // What is around merge blocks, and around what a block on the way down dominates.
    let mut merges: FxHashMap<usize, Around> = FxHashMap::default();
    let mut above: Vec<(usize, Around)> = Vec::new();
    for block in order {
        while above.last().is_some_and(|&(over, _)| !tree.dominates(over, block)) {
            above.pop();
        }
        let inherited = above.last().map_or(Around::default(), |&(_, around)| around);
        let around = merges.get(&block).copied().unwrap_or(inherited);
        if let Some(merge) = around.outermost_loop {
            found.loops.insert(block, merge);
        }
        if let Some(merge) = around.innermost {
            found.innermost.insert(block, merge);
        }
        let header = f.blocks[block].insts.clone().rev().take(4).find_map(|n| match m.code.insts[n].op {
            op @ (Op::LoopMerge | Op::SelectionMerge) => {
                Some((op == Op::LoopMerge, *numbers.get(&m.code.operands(n)[0])?))
            }
            _ => None,
        });
        let mut inside = around;
        if let Some((is_loop, merge)) = header.filter(|&(_, merge)| merge != 0) {
            merges.entry(merge).or_insert(around);
            inside.innermost = Some(merge);
            if is_loop {
                inside.outermost_loop = inside.outermost_loop.or(Some(merge));
                // The header itself is within its loop.
                found.loops.entry(block).or_insert(merge);
                found.innermost.insert(block, merge);
            }
        }
        above.push((block, inside));
    }
    found
}
