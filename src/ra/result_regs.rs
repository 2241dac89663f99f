//! Registers that a graphics stage's results must be left in: other values keep out of those that
//! they would still occupy when the result is made, so that it can be made in place.
//!
//! Only where results have fixed registers. What is said is a hint: a value that finds no other
//! register takes one of them.

use super::file::Mask;
use super::hints::{Chain, Hints};
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{BlockId, Def, Function, Term, ValueId};
use cranelift_entity::SecondaryMap;

/// A program point: a block, in reverse postorder, and an instruction of it.
type Point = (u32, u32);

/// Behind all blocks and instructions.
const END: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct ResultRegs {
    /// Each register with the place where the first value of its result's class is made.
    made: Vec<(u8, Point)>,
    /// Where the values of the block at hand are read last; [`END`] for those that live on.
    last: SecondaryMap<ValueId, (u32, u32)>,
    /// Where colouring is.
    pub now: Point,
}

/// Texels that become results want all registers of theirs from where they arrive.
fn texels(f: &Function, b: BlockId, order: u32, hints: &Hints, made: &mut Vec<(u8, Point)>) {
    for (at, &i) in f.blocks[b].body.iter().enumerate() {
        let dsts = &f.insts[i].dsts;
        if dsts.len() < 2 {
            continue;
        }
        let first = dsts.iter().enumerate().find_map(|(k, &d)| match hints.chain(d) {
            Chain::Register(r) if usize::from(r) % 4 == k => Some(r - k as u8),
            _ => None,
        });
        if let Some(first) = first {
            made.extend((first..first + dsts.len() as u8).map(|r| (r, (order, at as u32))));
        }
    }
}

impl ResultRegs {
    pub(super) fn new(f: &Function, cfg: &Cfg, hints: &mut Hints) -> ResultRegs {
        let mut results = ResultRegs::default();
        if f.result_regs.is_empty() {
            return results;
        }
        let returned = f.layout.iter().find_map(|&b| match &f.blocks[b].term {
            Term::Ret(values) => Some(values.clone()),
            _ => None,
        });
        let mut classes: Vec<(usize, u8)> = Vec::new();
        for (&v, &r) in returned.iter().flatten().zip(&f.result_regs) {
            if hints.wanted(v) == r && f.values[v].def != Def::None {
                classes.push((hints.root(v), r));
            }
        }
        for (n, &b) in cfg.rpo().iter().enumerate() {
            let mut make = |v: ValueId, at: u32| {
                if classes.is_empty() {
                    return;
                }
                let root = hints.root(v);
                classes.retain(|&(class, r)| {
                    if class == root {
                        results.made.push((r, (n as u32, at)));
                    }
                    class != root
                });
            };
            f.blocks[b].params.iter().for_each(|&v| make(v, 0));
            for (at, &i) in f.blocks[b].body.iter().enumerate() {
                f.insts[i].for_defs(|v| make(v, at as u32));
            }
            texels(f, b, n as u32, hints, &mut results.made);
        }
        results
    }

    /// Goes on to a block.
    pub(super) fn enter(&mut self, f: &Function, b: BlockId, order: u32, live: &Liveness) {
        self.now = (order, 0);
        if self.made.is_empty() {
            return;
        }
        let stamp = order + 1;
        for (at, &i) in f.blocks[b].body.iter().enumerate() {
            f.insts[i].for_uses(|v| self.last[v] = (stamp, at as u32));
        }
        f.blocks[b].term.for_uses(|v| self.last[v] = (stamp, END));
        live.live_out(b).iter().for_each(|&v| self.last[v] = (stamp, END));
    }

    /// The registers that a value made here should leave to results.
    pub(crate) fn keep_out(&self, v: ValueId) -> Mask {
        let mut mask = Mask::default();
        let (block, _) = self.now;
        let (stamp, last) = self.last[v];
        let end = if stamp == block + 1 { (block, last) } else { self.now };
        for &(r, made) in &self.made {
            let before = made < end || end.1 == END && made.0 > block;
            if made > self.now && before {
                mask.set(r);
            }
        }
        mask
    }

    /// Whether no result has a register.
    pub(super) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }
}
