//! Vector clocks over the warps of a launch, which share what they have in common.
//!
//! A clock is a tree over the numbers of blocks, whose leaves have a count for each warp of a
//! block. Trees are never changed in place while somebody else holds them, so a join looks only at
//! the branches in which two clocks differ: a launch of many blocks that all meet at one counter
//! costs each of them a path, not a row.

use std::sync::Arc;

/// A warp of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Who {
    pub block: u32,
    pub warp: u8,
}

/// Log2 of the children of an inner node.
const FAN: u32 = 4;

#[derive(Clone, Debug)]
enum Node {
    Blocks([Option<Arc<Node>>; 1 << FAN]),
    Warps(Vec<u32>),
}

/// How far each warp has got, as far as somebody knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    root: Option<Arc<Node>>,
    /// Inner nodes above each leaf. None: there is one block, whatever its number.
    levels: u32,
}

fn child(block: u32, level: u32) -> usize {
    (block >> (FAN * level)) as usize & ((1 << FAN) - 1)
}

impl Clock {
    /// For a launch of so many blocks.
    pub(crate) fn new(blocks: u64) -> Clock {
        Clock { root: None, levels: (0..32 / FAN).find(|n| blocks <= 1 << (FAN * n)).unwrap_or(32 / FAN) }
    }

    /// Whether it knows of nobody.
    pub(crate) fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// The count of a warp.
    pub(crate) fn get(&self, who: Who) -> u32 {
        let mut node = &self.root;
        for level in (0..self.levels).rev() {
            let Some(Node::Blocks(children)) = node.as_deref() else { return 0 };
            node = &children[child(who.block, level)];
        }
        match node.as_deref() {
            Some(Node::Warps(counts)) => counts.get(usize::from(who.warp)).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// A warp goes one further.
    pub(crate) fn advance(&mut self, who: Who) {
        let mut slot = &mut self.root;
        for level in (0..self.levels).rev() {
            let node = slot.get_or_insert_with(|| Arc::new(Node::Blocks(Default::default())));
            let Node::Blocks(children) = Arc::make_mut(node) else { return };
            slot = &mut children[child(who.block, level)];
        }
        let node = slot.get_or_insert_with(|| Arc::new(Node::Warps(Vec::new())));
        if let Node::Warps(counts) = Arc::make_mut(node) {
            let warp = usize::from(who.warp);
            counts.resize(counts.len().max(warp + 1), 0);
            counts[warp] += 1;
        }
    }

    /// Takes over what another clock of the launch knows.
    pub(crate) fn join(&mut self, other: &Clock) {
        self.levels = self.levels.max(other.levels);
        self.root = joined(&self.root, &other.root);
    }
}

fn joined(a: &Option<Arc<Node>>, b: &Option<Arc<Node>>) -> Option<Arc<Node>> {
    let (Some(x), Some(y)) = (a, b) else { return a.clone().or_else(|| b.clone()) };
    if Arc::ptr_eq(x, y) {
        return a.clone();
    }
    match (&**x, &**y) {
        (Node::Warps(p), Node::Warps(q)) => {
            let count = |of: &[u32], i: usize| of.get(i).copied().unwrap_or(0);
            let all: Vec<u32> = (0..p.len().max(q.len())).map(|i| count(p, i).max(count(q, i))).collect();
            match () {
                // Where both know the same, the other's: what it knows more elsewhere is shared then, too.
                _ if all == *q => b.clone(),
                _ if all == *p => a.clone(),
                _ => Some(Arc::new(Node::Warps(all))),
            }
        }
        (Node::Blocks(p), Node::Blocks(q)) => {
            let all = std::array::from_fn(|i| joined(&p[i], &q[i]));
            let is = |of: &[Option<Arc<Node>>]| {
                all.iter().zip(of).all(|(m, n)| m.as_ref().map(Arc::as_ptr) == n.as_ref().map(Arc::as_ptr))
            };
            match () {
                _ if is(p) => a.clone(),
                _ if is(q) => b.clone(),
                _ => Some(Arc::new(Node::Blocks(all))),
            }
        }
        // All leaves are equally deep.
        _ => a.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(block: u32, warp: u8) -> Who {
        Who { block, warp }
    }

    #[test]
    fn a_join_knows_what_either_knew() {
        let (mut a, mut b) = (Clock::new(70_000), Clock::new(70_000));
        a.advance(who(3, 1));
        a.advance(who(69_999, 0));
        b.advance(who(3, 1));
        b.advance(who(3, 1));
        b.advance(who(4096, 31));
        a.join(&b);
        let known =
            [(3, 0), (3, 1), (69_999, 0), (4096, 31), (4096, 30), (65_536, 0)].map(|(b, w)| a.get(who(b, w)));
        assert_eq!(known, [0, 2, 1, 1, 0, 0]);
        assert_eq!(b.get(who(69_999, 0)), 0);
    }

    #[test]
    fn a_clock_that_knows_nothing_new_shares_the_other_one() {
        let (mut all, mut mine) = (Clock::new(256), Clock::new(256));
        (0..256).for_each(|b| all.advance(who(b, 0)));
        mine.advance(who(7, 0));
        mine.join(&all);
        assert!(mine.root.as_ref().zip(all.root.as_ref()).is_some_and(|(a, b)| Arc::ptr_eq(a, b)));
    }

    #[test]
    fn the_blocks_of_a_launch_without_levels_are_one() {
        let mut c = Clock::new(1);
        c.advance(who(5, 2));
        assert_eq!((c.get(who(0, 2)), c.get(who(5, 1)), c.is_empty()), (1, 0, false));
    }
}
