//! What is known of a block before it is scheduled.

use super::graph::Graph;
use super::live::Set;
use super::model::{Cycle, Port, Ports};
use super::webs::{Moves, Webs};
use crate::isa::MInst;
use crate::isa::code::Line;
use crate::isa::effects::Touched;
use crate::isa::latency::{self, PairSet};
use std::cmp::Reverse;

/// Instructions that need the same ports and pair with the same others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Class {
    port: Port,
    pair: PairSet,
    texture: bool,
}

impl Class {
    fn of(m: &MInst) -> Class {
        Class { port: Port::of(m), pair: latency::pair_set(m.op), texture: latency::is_texture(m.op) }
    }
}

/// An instruction by its place among all of the block, most urgent first.
pub type Rank = u32;

/// What is known of the block, in tables that are made once.
#[derive(Default)]
pub struct Tables {
    pub webs: Webs,
    pub graph: Graph,
    pub classes: Vec<Class>,
    /// By class: masks of those that may be the second of a pair behind it, and of those that may only be the first.
    pub behind: Vec<u64>,
    pub before: Vec<u64>,
    /// By instruction: its class, and the number of edges to it.
    pub class: Vec<u8>,
    pub edges: Vec<u32>,
    /// By instruction, those after it with the cycles in between; where each one's start.
    later: Vec<(u32, u32)>,
    starts: Vec<u32>,
    /// Cycles from each instruction to the end of the block.
    height: Vec<u32>,
    /// Instructions by rank, and ranks by instruction.
    pub ranked: Vec<u32>,
    pub rank: Vec<Rank>,
}

impl Tables {
    /// Reads a block.
    pub fn read(&mut self, lines: &[&Line], touched: &Touched, after: &Set, moves: Moves) {
        self.webs.build(lines, touched, after, moves);
        self.graph.build(lines, &self.webs);
        let n = lines.len();
        self.class.clear();
        self.edges.clear();
        self.starts.clear();
        self.starts.resize(n + 1, 0);
        for (k, line) in lines.iter().enumerate() {
            let class = Class::of(&line.inst);
            let known = self.classes.iter().position(|c| *c == class);
            let class = known.unwrap_or_else(|| self.add_class(class));
            self.class.push(class as u8);
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
        for k in (0..n).rev() {
            let height = self.height[k];
            for e in self.graph.edges(k) {
                let earlier = e.earlier as usize;
                self.starts[earlier] -= 1;
                self.later[self.starts[earlier] as usize] = (k as u32, e.cycles);
                self.height[earlier] = self.height[earlier].max(height + e.cycles.max(1));
            }
        }
        self.ranked.clear();
        self.ranked.extend(0..n as u32);
        self.ranked.sort_by_key(|&k| Reverse(self.height[k as usize]));
        self.rank.clear();
        self.rank.resize(n, 0);
        for (rank, &k) in self.ranked.iter().enumerate() {
            self.rank[k as usize] = rank as Rank;
        }
    }

    fn add_class(&mut self, class: Class) -> usize {
        let n = self.classes.len();
        debug_assert!(n < 64, "masks of classes");
        self.classes.push(class);
        self.behind.push(0);
        self.before.push(0);
        for k in 0..=n {
            let forth = latency::units_pair(self.classes[k].pair, class.pair);
            let back = latency::units_pair(class.pair, self.classes[k].pair);
            self.behind[k] |= u64::from(forth) << n;
            self.before[k] |= u64::from(back && !forth) << n;
            self.behind[n] |= u64::from(back) << k;
            self.before[n] |= u64::from(forth && !back) << k;
        }
        n
    }

    /// Cycles that the block takes at least.
    pub fn longest(&self) -> Cycle {
        self.height.iter().max().map_or(0, |&h| Cycle::from(h) + 1)
    }

    pub fn later(&self, k: usize) -> &[(u32, u32)] {
        &self.later[self.starts[k] as usize..self.starts[k + 1] as usize]
    }
}

/// Time, and when ports are free.
#[derive(Default)]
pub struct Clock {
    pub now: Cycle,
    ports: Ports,
    /// Until then only textures issue.
    textures: Cycle,
}

impl Clock {
    pub fn free_at(&self, class: &Class) -> Cycle {
        let at = self.now.max(self.ports.free_at(&class.port));
        if class.texture { at } else { at.max(self.textures) }
    }

    pub fn issue(&mut self, class: &Class) {
        self.ports.issue(&class.port, self.now);
        if class.texture {
            self.textures = self.now + Cycle::from(latency::BEHIND_TEXTURE);
        }
    }
}
