//! Who accessed each word of a memory, as far as somebody who comes later may be in conflict with
//! it.
//!
//! A word has a list of accesses of each class. The lists are made of nodes that are made once
//! each: the thousands of words that the same warps read one after the other have the same list. So
//! a word takes 32 bytes, and what many warps read costs what its readers differ in.

use super::clock::{Clock, Who};
use rustc_hash::FxHashMap;

/// Words of a page; pages exist where something was accessed.
const PAGE: usize = 256;

/// Nodes below which nobody looks for those that are no longer used.
const FEW: usize = 1 << 16;

/// Accesses at the head of a list that a new one may replace.
const RECENT: usize = 64;

/// What accesses are to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Write,
    /// Also what reads and writes at once.
    AtomicWrite,
    Read,
    AtomicRead,
}

impl Class {
    const COUNT: usize = 4;

    /// Those that it must be ordered with: two of which one writes, unless both are atomic.
    fn conflicts(self) -> &'static [Class] {
        match self {
            Class::Write => &[Class::Write, Class::AtomicWrite, Class::Read, Class::AtomicRead],
            Class::AtomicWrite => &[Class::Write, Class::Read],
            Class::Read => &[Class::Write, Class::AtomicWrite],
            Class::AtomicRead => &[Class::Write],
        }
    }
}

/// An access to a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Access {
    pub who: Who,
    /// The warp's own count.
    pub clock: u32,
    pub pc: u32,
    pub lane: u8,
    /// A bit for each byte of the word.
    pub bytes: u8,
}

impl Access {
    /// Whether it came before everything that somebody with this clock does next.
    fn before(&self, me: Who, now: &Clock) -> bool {
        self.who == me || self.clock <= now.get(self.who)
    }
}

/// What an access is in conflict with.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Found {
    /// Then it is not recorded.
    pub race: Option<(Class, Access)>,
    /// A plain write of the same value.
    pub agrees: Option<Access>,
    /// The other sides of a plain read that may still be confirmed by an atomic of its warp, and an
    /// atomic write: such reads, or the first such write.
    pub doubts: Vec<Access>,
}

/// A list: the number of its first node, less one, and that access's lane; zero: empty.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct List {
    first: u32,
    lane: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Node {
    who: Who,
    clock: u32,
    pc: u32,
    bytes: u8,
    next: List,
}

#[derive(Clone, Debug, Default)]
struct Nodes {
    all: Vec<Node>,
    numbers: FxHashMap<Node, u32>,
}

impl Nodes {
    /// The first access of a list, and the others.
    fn split(&self, list: List) -> Option<(Access, List)> {
        let n = self.all[list.first.checked_sub(1)? as usize];
        Some((Access { who: n.who, clock: n.clock, pc: n.pc, lane: list.lane, bytes: n.bytes }, n.next))
    }

    fn iter(&self, list: List) -> impl Iterator<Item = Access> + '_ {
        let mut left = list;
        std::iter::from_fn(move || {
            let (access, next) = self.split(left)?;
            left = next;
            Some(access)
        })
    }

    fn push(&mut self, a: Access, next: List) -> List {
        let node = Node { who: a.who, clock: a.clock, pc: a.pc, bytes: a.bytes, next };
        let all = &mut self.all;
        let first = *self.numbers.entry(node).or_insert_with(|| {
            all.push(node);
            all.len() as u32
        });
        List { first, lane: a.lane }
    }

    /// A list without some bytes.
    fn without(&mut self, list: List, bytes: u8) -> List {
        let left: Vec<Access> = self
            .iter(list)
            .map(|a| Access { bytes: a.bytes & !bytes, ..a })
            .filter(|a| a.bytes != 0)
            .collect();
        left.into_iter().rev().fold(List::default(), |next, a| self.push(a, next))
    }

    /// A list of reads without that of a warp that accesses the same place atomically next.
    fn confirmed(&mut self, list: List, me: Access, settled: u32) -> List {
        let mine = |a: &Access| a.who == me.who && a.clock > settled && a.bytes & !me.bytes == 0;
        let mut kept = Vec::new();
        let mut rest = list;
        while let Some((a, next)) = self.split(rest).filter(|(a, _)| a.who.block == me.who.block) {
            if mine(&a) {
                return kept.into_iter().rev().fold(next, |next, a| self.push(a, next));
            }
            kept.push(a);
            rest = next;
        }
        list
    }

    /// A list with an access more, without those that came before it and have nothing to add.
    fn with(&mut self, list: List, me: Access, now: &Clock) -> List {
        let mut kept = Vec::new();
        let mut rest = list;
        while let Some((a, next)) = self.split(rest) {
            let covered = a.bytes & !me.bytes == 0;
            if a.who == me.who && a.clock == me.clock && me.bytes & !a.bytes == 0 {
                return list;
            }
            let before = a.before(me.who, now);
            if kept.len() == RECENT || !before && a.who.block != me.who.block {
                break;
            }
            if !(before && covered) {
                kept.push(a);
            }
            rest = next;
        }
        let rest = kept.into_iter().rev().fold(rest, |next, a| self.push(a, next));
        self.push(me, rest)
    }
}

type Cell = [List; Class::COUNT];

type Page = Box<[Cell; PAGE]>;

/// The record of one or several areas of memory: the buffers of a launch, or the shared memory of a
/// block.
#[derive(Clone, Debug)]
pub(super) struct History {
    areas: Vec<Vec<Option<Page>>>,
    nodes: Nodes,
    /// Nodes at which the unused ones are looked for.
    limit: usize,
}

impl History {
    pub(super) fn new() -> History {
        History { areas: Vec::new(), nodes: Nodes::default(), limit: FEW }
    }

    fn cell(&mut self, area: usize, word: usize) -> &mut Cell {
        let grow = area + 1 - self.areas.len().min(area + 1);
        self.areas.extend((0..grow).map(|_| Vec::new()));
        let pages = &mut self.areas[area];
        if pages.len() <= word / PAGE {
            pages.resize_with(word / PAGE + 1, || None);
        }
        let page = pages[word / PAGE].get_or_insert_with(|| Box::new([Cell::default(); PAGE]));
        &mut page[word % PAGE]
    }

    /// Records an access to a word, unless it is in conflict with an earlier one. `same`: those of
    /// its bytes that it writes as they are. `settled`: up to which count the reads of a warp can
    /// no longer be confirmed by an atomic of its own.
    pub(super) fn access(
        &mut self,
        (area, word): (usize, usize),
        class: Class,
        me: Access,
        same: u8,
        now: &Clock,
        settled: &dyn Fn(Who) -> u32,
    ) -> Found {
        let mut cell = *self.cell(area, word);
        let mut found = Found::default();
        for &other in class.conflicts() {
            let unordered = |a: &Access| a.bytes & me.bytes != 0 && !a.before(me.who, now);
            for a in self.nodes.iter(cell[other as usize]).filter(unordered) {
                match (class, other) {
                    (Class::Write, Class::Write) if a.bytes & me.bytes & !same == 0 => {
                        found.agrees.get_or_insert(a);
                    }
                    (Class::AtomicWrite, Class::Read) if a.clock > settled(a.who) => found.doubts.push(a),
                    (Class::Read, Class::AtomicWrite) => {
                        found.doubts.push(a);
                        break;
                    }
                    _ => return Found { race: Some((other, a)), ..Found::default() },
                }
            }
        }
        if class == Class::Write {
            // Whatever comes later and is ordered with it is ordered with all that came before it.
            cell = cell.map(|list| self.nodes.without(list, me.bytes));
            cell[Class::Write as usize] = self.nodes.push(me, cell[Class::Write as usize]);
        } else {
            cell[class as usize] = self.nodes.with(cell[class as usize], me, now);
            if class != Class::Read {
                cell[Class::Read as usize] =
                    self.nodes.confirmed(cell[Class::Read as usize], me, settled(me.who));
            }
        }
        *self.cell(area, word) = cell;
        if self.nodes.all.len() > self.limit {
            self.forget();
        }
        found
    }

    /// Drops the nodes that no word's list has.
    fn forget(&mut self) {
        let old = std::mem::take(&mut self.nodes);
        let mut moved: FxHashMap<u32, u32> = FxHashMap::default();
        let pages = self.areas.iter_mut().flatten().flatten();
        for list in pages.flat_map(|page| page.iter_mut().flatten()) {
            let mut chain = Vec::new();
            let mut at = *list;
            let mut made = loop {
                match moved.get(&at.first) {
                    Some(&first) => break List { first, lane: at.lane },
                    None => match old.split(at) {
                        None => break List::default(),
                        Some((access, next)) => {
                            chain.push((at.first, access));
                            at = next;
                        }
                    },
                }
            };
            for (first, access) in chain.into_iter().rev() {
                made = self.nodes.push(access, made);
                moved.insert(first, made.first);
            }
            *list = made;
        }
        self.limit = FEW.max(2 * self.nodes.all.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(block: u32, warp: u8, clock: u32, bytes: u8) -> Access {
        Access { who: Who { block, warp }, clock, pc: 8 * u32::from(warp), lane: 3, bytes }
    }

    #[test]
    fn words_that_the_same_warps_read_have_the_same_list() {
        let mut h = History::new();
        let now = Clock::new(1 << 20);
        for block in 0..100 {
            for word in 0..1000 {
                for _ in 0..3 {
                    assert_eq!(
                        h.access((2, word), Class::Read, access(block, 0, 1, 15), 0, &now, &|_| 0),
                        Found::default()
                    );
                }
            }
        }
        assert_eq!(h.nodes.all.len(), 100);
        // Each of the readers is in conflict with a write of another one.
        let other = h.access((2, 500), Class::Write, access(7, 0, 1, 1), 0, &now, &|_| 0);
        assert!(matches!(other.race, Some((Class::Read, a)) if a.who.block != 7 && a.lane == 3));
    }

    #[test]
    fn forgetting_what_is_unused_keeps_what_is_used() {
        let mut h = History::new();
        let now = Clock::new(1);
        for clock in 1..FEW as u32 * 3 {
            assert_eq!(
                h.access((0, 0), Class::Read, access(0, 0, clock, 15), 0, &now, &|_| 0),
                Found::default()
            );
            assert_eq!(
                h.access((0, 1), Class::AtomicWrite, access(0, 1, 7, 2), 0, &now, &|_| 0),
                Found::default()
            );
        }
        assert!(h.nodes.all.len() <= FEW + 1);
        let last = access(0, 0, FEW as u32 * 3 - 1, 15);
        let found = h.access((0, 0), Class::Write, access(0, 2, 1, 4), 0, &now, &|_| 0);
        assert_eq!(found.race, Some((Class::Read, last)));
        let found = h.access((0, 1), Class::Read, access(0, 2, 1, 15), 0, &now, &|_| 0);
        assert_eq!((found.race, &found.doubts[..]), (None, &[access(0, 1, 7, 2)][..]));
    }
}
