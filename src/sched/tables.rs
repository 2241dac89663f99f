//! What is known of a block before it is scheduled.

use super::graph::Graph;
use super::live_ranges::{LiveRanges, Moves};
use super::liveness::Set;
use crate::emit::code::Line;
use crate::isa::effects::Touched;
use crate::isa::latency;
use nvir_asm::issue_class::{Class, Kind};
use nvir_asm::model::{Cycle, Ports};

/// An instruction by its place among all of the block, most urgent first.
pub(super) type Rank = u32;

/// What is known of the block, in tables that are made once.
#[derive(Default)]
pub(super) struct Tables {
    pub ranges: LiveRanges,
    pub graph: Graph,
    /// By instruction.
    pub kinds: Vec<Kind>,
    /// By instruction: the number of edges to it.
    pub edges: Vec<u32>,
    /// By instruction, those after it with the cycles in between; where each one's start.
    later: Vec<(u32, u32)>,
    starts: Vec<u32>,
    /// Cycles from each instruction to the end of the block.
    height: Vec<u32>,
    /// Instructions in the order of urgency, the urgency above the number.
    urgency: Vec<u64>,
    /// Ranks by instruction.
    pub rank: Vec<Rank>,
}

impl Tables {
    /// For blocks of so many instructions at most.
    pub(super) fn new(instructions: usize) -> Tables {
        Tables {
            ranges: LiveRanges::new(instructions),
            graph: Graph::new(instructions),
            kinds: Vec::with_capacity(instructions),
            edges: Vec::with_capacity(instructions),
            later: Vec::with_capacity(8 * instructions),
            starts: Vec::with_capacity(instructions + 1),
            height: Vec::with_capacity(instructions),
            urgency: Vec::with_capacity(instructions),
            rank: Vec::with_capacity(instructions),
        }
    }

    /// Reads a block.
    pub(super) fn read(&mut self, lines: &[&Line], touched: &Touched, after: &Set, moves: Moves) {
        self.ranges.build(lines, touched, after, moves);
        self.kinds.clear();
        self.kinds.extend(lines.iter().map(|l| Kind::new(&l.inst)));
        self.order(lines);
    }

    /// Reads a block again that has just been read, so that live ranges stay where they are.
    pub(crate) fn read_in_place(&mut self, lines: &[&Line], touched: &Touched, after: &Set) {
        self.ranges.build(lines, touched, after, Moves::Forbidden);
        self.order(lines);
    }

    fn order(&mut self, lines: &[&Line]) {
        self.graph.build(lines, &self.ranges);
        let n = lines.len();
        self.edges.clear();
        self.starts.clear();
        self.starts.resize(n + 1, 0);
        for k in 0..n {
            let edges = self.graph.edges(k);
            self.edges.push(edges.len() as u32);
            edges.iter().for_each(|e| self.starts[e.earlier as usize] += 1);
        }
        // Starts of the lists: first their ends, which filling them moves back.
        let mut end = 0;
        for s in &mut self.starts {
            end += *s;
            *s = end;
        }
        self.later.clear();
        self.later.resize(end as usize, (0, 0));
        self.height.clear();
        self.height.resize(n, 0);
        self.urgency.clear();
        for k in (0..n).rev() {
            let height = self.height[k];
            self.urgency.push(u64::from(!height) << 32 | k as u64);
            for e in self.graph.edges(k) {
                let earlier = e.earlier as usize;
                let start = &mut self.starts[earlier];
                *start -= 1;
                self.later[*start as usize] = (k as u32, e.cycles);
                let before = &mut self.height[earlier];
                *before = (*before).max(height + e.cycles.max(1));
            }
        }
        self.urgency.reverse();
        self.urgency.sort_unstable();
        self.rank.clear();
        self.rank.resize(n, 0);
        for (rank, &of) in self.urgency.iter().enumerate() {
            self.rank[of as u32 as usize] = rank as Rank;
        }
    }

    /// The instruction of a rank.
    pub(crate) fn ranked(&self, rank: Rank) -> usize {
        self.urgency[rank as usize] as u32 as usize
    }

    /// Cycles that the block takes at least.
    pub(super) fn longest(&self) -> Cycle {
        // The most urgent instruction comes first.
        self.urgency.first().map_or(0, |&u| Cycle::from(!(u >> 32) as u32) + 1)
    }

    pub(super) fn later(&self, k: usize) -> &[(u32, u32)] {
        &self.later[self.starts[k] as usize..self.starts[k + 1] as usize]
    }
}

/// Time, and when ports are free.
#[derive(Default)]
pub(super) struct Clock {
    pub now: Cycle,
    ports: Ports,
    /// Until then only textures issue.
    textures: Cycle,
}

impl Clock {
    /// The first cycle at which an instruction of a class may issue.
    pub(super) fn free_at(&self, class: &Class) -> Cycle {
        let at = self.now.max(self.ports.free_at(&class.port));
        if class.texture { at } else { at.max(self.textures) }
    }

    pub(super) fn issue(&mut self, class: &Class) {
        self.ports.issue(&class.port, self.now);
        if class.texture {
            self.textures = self.now + Cycle::from(latency::BEHIND_TEXTURE);
        }
    }
}
