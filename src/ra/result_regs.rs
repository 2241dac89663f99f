//! Registers that a graphics stage's results must be left in, and those of loops' parameters: other
//! values keep out of those that they would still occupy when the result, or the parameter's next
//! value, is made, so that it can be made in place.
//!
//! Of results only those with fixed registers. What is said is a hint: a value that finds no other
//! register takes one of them.

use super::file::Mask;
use super::hints::{Chain, Hints, NONE};
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{BlockId, Class, Def, Function, Term, ValueId};
use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;

/// A program point: a block, in reverse postorder, and an instruction of it.
type Point = (u32, u32);

/// Behind all blocks and instructions.
const END: u32 = u32::MAX;

/// Registers that are kept free at a time.
const MOST: usize = 32;

/// What a loop's parameter is in the next round.
#[derive(Clone)]
struct Next {
    param: ValueId,
    value: ValueId,
    made: Point,
}

#[derive(Clone, Default)]
pub(crate) struct ResultRegs {
    /// Each register with the place where the first value of its result's class is made, or the
    /// next value of a loop's parameter that is in it.
    made: Vec<(u8, Point)>,
    /// By the headers of loops, what their parameters are next.
    next: FxHashMap<BlockId, Vec<Next>>,
    /// The registers of the parameters that values are next; [`NONE`] for none.
    homes: SecondaryMap<ValueId, u8>,
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

/// By the headers of loops that go round in one place, their general parameters and where what they
/// are next is made, if that is in the loop.
fn next_values(f: &Function, cfg: &Cfg) -> FxHashMap<BlockId, Vec<Next>> {
    let mut next: FxHashMap<BlockId, Vec<Next>> = FxHashMap::default();
    let is_loop = |&h: &BlockId| cfg.is_loop_header(h) && !f.blocks[h].params.is_empty();
    let headers: Vec<BlockId> = cfg.rpo().iter().copied().filter(is_loop).collect();
    if headers.is_empty() {
        return next;
    }
    let mut made: SecondaryMap<ValueId, Point> = SecondaryMap::with_capacity(f.values.len());
    made.resize(f.values.len());
    for (n, &b) in (0..).zip(cfg.rpo()) {
        for (at, &i) in (1..).zip(&f.blocks[b].body) {
            f.insts[i].for_defs(|v| made[v] = (n, at));
        }
    }
    for h in headers {
        let order = cfg.order_of(h);
        let mut back = cfg.preds(h).iter().filter(|&&p| cfg.order_of(p) >= order);
        let (Some(&latch), None) = (back.next(), back.next()) else { continue };
        let Some(e) = f.blocks[latch].term.edges().find(|e| e.to == h) else { continue };
        let pairs = f.blocks[h].params.iter().zip(&e.args);
        let general = pairs.filter(|&(&p, &a)| f.class(p) == Class::Gpr && f.class(a) == Class::Gpr);
        // Counted from one, to tell them from what is made nowhere.
        let inside = general.filter(|&(_, &a)| made[a].1 > 0 && made[a].0 >= order);
        let list = inside.map(|(&param, &value)| {
            let (block, at) = made[value];
            Next { param, value, made: (block, at - 1) }
        });
        let points: Vec<Next> = list.collect();
        if !points.is_empty() {
            next.insert(h, points);
        }
    }
    next
}

impl ResultRegs {
    pub(super) fn new(f: &Function, cfg: &Cfg, hints: &mut Hints) -> ResultRegs {
        let homes = SecondaryMap::with_default(NONE);
        let mut results = ResultRegs { next: next_values(f, cfg), homes, ..ResultRegs::default() };
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
        self.made.retain(|&(_, (block, _))| block >= order);
        if !self.made.is_empty() {
            self.read_last(f, b, live);
        }
    }

    /// Notes where the parameters of a loop are whose header was entered.
    pub(super) fn begin_loop(
        &mut self,
        f: &Function,
        h: BlockId,
        live: &Liveness,
        r: impl Fn(ValueId) -> u8,
    ) {
        let Some(next) = self.next.get(&h) else { return };
        let none = self.made.is_empty();
        for next in next {
            let r = r(next.param);
            self.homes[next.value] = r;
            if r != NONE && self.made.len() < MOST {
                self.made.push((r, next.made));
            }
        }
        if none && !self.made.is_empty() {
            self.read_last(f, h, live);
        }
    }

    /// Notes where the values of the block at hand are read last.
    fn read_last(&mut self, f: &Function, b: BlockId, live: &Liveness) {
        let (order, _) = self.now;
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

    /// The register of the parameter that a value is in the next round, or [`NONE`].
    pub(super) fn home(&self, v: ValueId) -> u8 {
        self.homes[v]
    }

    /// Whether there is nothing to keep out of.
    pub(super) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }
}
