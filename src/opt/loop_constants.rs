//! Constants that are left in registers leave loops where registers allow it.
//!
//! ```text
//! b1(%r1): loop ...                   mov u32 %r2 0x19660d        (before the loop)
//!     mov u32 %r2 0x19660d        ->  b1(%r1): loop ...
//!     mul u32 %r3 %r1 %r2                 mul u32 %r3 %r1 %r2
//! ```
//!
//! An immediate or a word of a constant buffer at a fixed place that no operand can be holds a
//! register from its definition to its last reader. In a loop it is made in every round; in front
//! of the loop it is made once, and holds the register through all of it. So it goes as long as the
//! values alive in the loop leave registers that cost no resident warp. It stays if an instruction
//! reads it beside others in a tuple, where it would be copied in every round, or if only edges
//! carry it.
//!
//! Safe because such an instruction gives the same value anywhere.

use super::Ctx;
use super::licm;
use super::sink::is_constant;
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};

/// Registers that assignment needs beside the values alive at once: tuples are aligned.
const GAPS: u32 = 4;

/// Blocks of functions that are looked at: loops may be nested deep.
const MOST_BLOCKS: usize = 1024;

pub(super) fn run(f: &mut Function, ctx: &mut Ctx<'_>) -> bool {
    let is_header = |b: &BlockId| matches!(f.blocks[*b].merge, Merge::Loop { .. });
    // Stages of a draw are launched in numbers that their registers decide about.
    if ctx.graphics || f.layout.len() > MOST_BLOCKS || !f.layout.iter().any(is_header) {
        return false;
    }
    let cfg = Cfg::new(f);
    let inside = |b: BlockId| cfg.loop_depth(b) > 0;
    let stays = |i: InstId| !is_constant(&f.insts[i]);
    if f.layout.iter().all(|&b| !inside(b) || f.blocks[b].body.iter().copied().all(stays)) {
        return false;
    }
    let readers = Readers::new(f);
    let Some(alive) = most_alive(f, &cfg) else { return false };
    let most = f.layout.iter().map(|&b| alive[b]).max().unwrap_or(0) + GAPS;
    let limit = ctx.chip.gprs_of_warps(most).min(ctx.options.max_gprs.unwrap_or(u32::MAX));
    let mut headers: Vec<BlockId> = f.layout.iter().copied().filter(|&b| cfg.is_loop_header(b)).collect();
    headers.sort_by_key(|&h| std::cmp::Reverse(cfg.loop_depth(h)));
    let tree = cfg.loop_tree();
    // By its header: blocks of a loop that may have constants, and the most values alive in it.
    let mut blocks: SecondaryMap<BlockId, Vec<BlockId>> = f.block_table();
    let mut within: SecondaryMap<BlockId, u32> = f.block_table();
    for &b in &f.layout {
        if let Some(h) = cfg.loop_header(b) {
            blocks[h].push(b);
            within[h] = within[h].max(alive[b]);
        }
    }
    let mut moved = 0;
    for h in headers {
        let front = licm::front(f, &cfg, &tree, h);
        let scanned = std::mem::take(&mut blocks[h]);
        for &b in &scanned {
            let Some(front) = front.filter(|_| within[h] + GAPS < limit) else { break };
            let moves = |f: &Function, i: InstId| {
                let inst = &f.insts[i];
                is_constant(inst) && matches!(*inst.dsts, [d] if readers.wants(f, d))
            };
            if !f.blocks[b].body.iter().any(|&i| moves(f, i)) {
                continue;
            }
            let body = std::mem::take(&mut f.blocks[b].body);
            let mut kept = Vec::with_capacity(body.len());
            for i in body {
                if within[h] + GAPS < limit && moves(f, i) {
                    f.blocks[front].body.push(i);
                    within[h] += 1;
                    moved += 1;
                } else {
                    kept.push(i);
                }
            }
            f.blocks[b].body = kept;
        }
        if let Some(outer) = cfg.parent_loop(h) {
            // What stands in front of the loop now is one of the loop around.
            within[outer] = within[outer].max(within[h]);
        }
    }
    ctx.count("loop_constants: moved", moved);
    moved > 0
}

/// How values are read.
struct Readers {
    /// By an instruction, alone.
    alone: EntitySet<ValueId>,
    /// By an instruction, in a tuple.
    beside: EntitySet<ValueId>,
}

impl Readers {
    fn new(f: &Function) -> Readers {
        let values = f.values.len();
        let mut readers =
            Readers { alone: EntitySet::with_capacity(values), beside: EntitySet::with_capacity(values) };
        for (_, i) in f.insts_in_order() {
            let inst = &f.insts[i];
            // Addresses of two words, operands of textures and those of atomics are tuples, too.
            let plain = inst.mem.is_none() && inst.ext.is_none();
            for s in inst.srcs.iter().filter(|s| plain && s.values().len() == 1) {
                readers.alone.extend(s.values().iter().copied());
            }
            for s in inst.srcs.iter().filter(|s| s.values().len() > 1) {
                readers.beside.extend(s.values().iter().copied());
            }
            if !plain {
                inst.for_uses(|v| _ = readers.beside.insert(v));
            }
        }
        readers
    }

    /// Whether a general value is better off in a register through a loop.
    fn wants(&self, f: &Function, v: ValueId) -> bool {
        f.class(v) == Class::Gpr && self.alone.contains(v) && !self.beside.contains(v)
    }
}

/// The most general values that are alive at once in each block; none where that is too much to find out.
fn most_alive(f: &Function, cfg: &Cfg) -> Option<SecondaryMap<BlockId, u32>> {
    let live = Liveness::of_few(f, cfg)?;
    let mut most: SecondaryMap<BlockId, u32> = f.block_table();
    let mut alive: EntitySet<ValueId> = EntitySet::with_capacity(f.values.len());
    for &b in cfg.rpo() {
        alive.clear();
        let mut count = 0;
        let mut read = |v: ValueId, count: &mut u32| {
            *count += u32::from(f.class(v) == Class::Gpr && alive.insert(v));
        };
        live.live_out(b).iter().for_each(|&v| read(v, &mut count));
        f.blocks[b].term.for_uses(|v| read(v, &mut count));
        most[b] = count;
        for &i in f.blocks[b].body.iter().rev() {
            f.insts[i].for_defs(|v| count -= u32::from(alive.remove(v)));
            let mut read = |v: ValueId| count += u32::from(f.class(v) == Class::Gpr && alive.insert(v));
            f.insts[i].for_uses(&mut read);
            most[b] = most[b].max(count);
        }
    }
    Some(most)
}
