//! Spill slots: words of local memory, shared by values that are never alive together.
//!
//! Like colouring: blocks in reverse postorder, each value the lowest free word where it is
//! defined. Values that are written or read side by side get neighbouring words where that is
//! possible, so that their stores and loads can be wide; block parameters like their arguments'
//! words, which saves copies from slot to slot.

use super::operands;
use super::plan::{Plan, SpillLocation};
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{BlockId, Function, ValueId};
use cranelift_entity::SecondaryMap;

const NO_SLOT: u32 = u32::MAX;

struct Slots<'a> {
    f: &'a Function,
    plan: &'a mut Plan,
    base: u32,
    /// Free words, one bit each; all beyond the end are free.
    used: Vec<u64>,
    end: u32,
    /// Word of each value, relative to the base.
    word: SecondaryMap<ValueId, u32>,
    positions: SecondaryMap<ValueId, Option<(u32, u32)>>,
    /// First word wanted by the tuple.
    tuple_base: Vec<u32>,
    tuple_len: Vec<u32>,
}

/// Gives an offset to every value whose home is a slot.
pub(crate) fn assign_slots(f: &Function, cfg: &Cfg, live: &Liveness, plan: &mut Plan) {
    let base = plan.frame_end.next_multiple_of(16);
    let mut s = Slots {
        f,
        plan,
        base,
        used: Vec::new(),
        end: 0,
        word: SecondaryMap::with_default(NO_SLOT),
        positions: SecondaryMap::new(),
        tuple_base: Vec::new(),
        tuple_len: Vec::new(),
    };
    s.find_positions(cfg);
    let mut alive: SecondaryMap<ValueId, bool> = SecondaryMap::new();
    for &b in cfg.rpo() {
        s.block(cfg, live, b, &mut alive);
    }
    if s.end > 0 {
        s.plan.frame_end = base + 4 * s.end;
    }
}

impl Slots<'_> {
    fn spilled(&self, v: ValueId) -> bool {
        matches!(self.plan.spill_locations[v], SpillLocation::Slot(_))
    }

    /// Neighbours: what is written together, or else read together.
    fn find_positions(&mut self, cfg: &Cfg) {
        for written in [true, false] {
            for &b in cfg.rpo() {
                for &i in &self.f.blocks[b].body {
                    let inst = &self.f.insts[i];
                    if written {
                        operands::written_tuple(self.f, inst).iter().for_each(|w| self.position(w));
                    } else {
                        operands::read_tuples(inst).iter().for_each(|w| self.position(w));
                    }
                }
            }
        }
    }

    fn position(&mut self, w: &operands::Tuple) {
        if w.iter().filter(|&&v| self.spilled(v) && self.positions[v].is_none()).count() < 2 {
            return;
        }
        let number = self.tuple_base.len() as u32;
        for (k, &v) in w.iter().enumerate() {
            if self.spilled(v) && self.positions[v].is_none() {
                self.positions[v] = Some((number, k as u32));
            }
        }
        self.tuple_base.push(NO_SLOT);
        self.tuple_len.push(w.len() as u32);
    }

    fn is_free(&self, word: u32) -> bool {
        self.used.get(word as usize / 64).is_none_or(|w| w >> (word % 64) & 1 == 0)
    }

    fn take(&mut self, v: ValueId, word: u32) {
        let k = word as usize / 64;
        if self.used.len() <= k {
            self.used.resize(k + 1, 0);
        }
        self.used[k] |= 1 << (word % 64);
        self.end = self.end.max(word + 1);
        self.word[v] = word;
        self.plan.spill_locations[v] = SpillLocation::Slot(self.base + 4 * word);
    }

    fn give_back(&mut self, v: ValueId) {
        let word = self.word[v];
        if word != NO_SLOT {
            self.used[word as usize / 64] &= !(1 << (word % 64));
        }
    }

    /// The lowest run of free words, aligned to its length's power of two.
    fn lowest(&self, len: u32) -> u32 {
        let step = operands::alignment(len as usize) as u32;
        let mut at = 0;
        loop {
            let bits = self.used.get(at as usize / 64).copied().unwrap_or(0) >> (at % 64);
            if bits & ((1 << len) - 1) == 0 {
                return at;
            }
            at += if step == 1 { bits.trailing_ones() } else { step };
        }
    }

    fn assign(&mut self, v: ValueId, like: impl Iterator<Item = ValueId>) {
        for other in like {
            let word = self.word[other];
            if word != NO_SLOT && self.is_free(word) {
                return self.take(v, word);
            }
        }
        let word = match self.positions[v] {
            Some((tuple, place)) => {
                let w = tuple as usize;
                if self.tuple_base[w] == NO_SLOT {
                    self.tuple_base[w] = self.lowest(self.tuple_len[w]);
                }
                let word = self.tuple_base[w] + place;
                if self.is_free(word) { word } else { self.lowest(1) }
            }
            None => self.lowest(1),
        };
        self.take(v, word);
    }

    fn block(&mut self, cfg: &Cfg, live: &Liveness, b: BlockId, alive: &mut SecondaryMap<ValueId, bool>) {
        let f = self.f;
        self.used.fill(0);
        for &v in live.live_in(b) {
            if self.spilled(v) {
                self.take(v, self.word[v]);
            }
        }
        // Last uses, by a walk from the end.
        let block = &f.blocks[b];
        let mut at_end: Vec<ValueId> = live.live_out(b).to_vec();
        block.term.for_uses(|v| at_end.push(v));
        at_end.iter().for_each(|&v| alive[v] = true);
        let mut ends: Vec<Vec<ValueId>> = Vec::with_capacity(block.body.len());
        for &i in block.body.iter().rev() {
            let mut dead = Vec::new();
            f.insts[i].for_defs(|v| {
                if !alive[v] && self.spilled(v) {
                    dead.push(v);
                }
            });
            f.insts[i].for_uses(|v| {
                if !std::mem::replace(&mut alive[v], true) {
                    at_end.push(v);
                    if self.spilled(v) {
                        dead.push(v);
                    }
                }
            });
            ends.push(dead);
        }
        at_end.iter().for_each(|&v| alive[v] = false);
        if b == f.entry() {
            for &p in &f.params {
                if self.spilled(p) {
                    self.assign(p, std::iter::empty());
                }
            }
        }
        for (k, &p) in block.params.iter().enumerate() {
            if self.spilled(p) {
                let args: Vec<ValueId> = cfg
                    .preds(b)
                    .iter()
                    .flat_map(|&q| f.blocks[q].term.edges().filter(|e| e.to == b).map(|e| e.args[k]))
                    .collect();
                self.assign(p, args.into_iter());
            }
        }
        for &i in &block.body {
            let dead = ends.pop().unwrap_or_default();
            // A value read for the last time here is read before anything is stored here.
            dead.iter().for_each(|&v| self.give_back(v));
            let mut defs = Vec::new();
            f.insts[i].for_defs(|v| defs.push(v));
            for &v in &defs {
                if self.spilled(v) {
                    let params = parameters_fed(f, b, v);
                    self.assign(v, params.into_iter());
                }
            }
            for &v in defs.iter().filter(|v| dead.contains(v)) {
                self.give_back(v);
            }
        }
    }
}

/// Parameters of successors that get a value at the end of a block.
fn parameters_fed(f: &Function, b: BlockId, v: ValueId) -> Vec<ValueId> {
    let edges = f.blocks[b].term.edges();
    edges
        .flat_map(|e| f.blocks[e.to].params.iter().zip(&e.args).filter(|(_, a)| **a == v).map(|(p, _)| *p))
        .collect()
}
