//! Values live across calls, and how far the functions called may write registers.
//!
//! A value that is in a register which a callee writes has to be moved out of it before the call.
//! One that gets a register above what any callee on its way writes stays where it is.

use super::Summary;
use super::colour::per_value;
use crate::analysis::cfg::Cfg;
use crate::analysis::liveness::Liveness;
use crate::ir::{FuncId, Function, ValueId};
use cranelift_entity::SecondaryMap;

/// By value: the end of the general registers that calls write while the value lives, 0 for none.
#[derive(Clone, Default)]
pub(crate) struct AcrossCalls {
    /// Whether the function calls any.
    pub any: bool,
    ends: SecondaryMap<ValueId, u32>,
}

impl AcrossCalls {
    pub(super) fn new(
        f: &Function,
        cfg: &Cfg,
        live: &Liveness,
        summaries: &SecondaryMap<FuncId, Option<Summary>>,
    ) -> AcrossCalls {
        let mut found = AcrossCalls::default();
        // Positions of a value's definition and last use in the block at hand, counted from 1; 0:
        // before the block.
        let mut span: SecondaryMap<ValueId, (u32, u32)> = SecondaryMap::new();
        for &b in cfg.rpo() {
            let body = &f.blocks[b].body;
            let mut calls: Vec<u32> = Vec::new();
            let mut end = 0;
            for (n, &i) in body.iter().enumerate() {
                let Some(call) = f.insts[i].call() else { continue };
                calls.push(n as u32 + 1);
                end = end.max(summaries[call.func].as_ref().map_or(0, |s| s.clobbers.gprs_end()));
            }
            if calls.is_empty() {
                continue;
            }
            if !found.any {
                found = AcrossCalls { any: true, ends: per_value(f, 0) };
                span = per_value(f, (0, 0));
            }
            let mut met: Vec<ValueId> = live.live_in(b).to_vec();
            for (n, &i) in body.iter().enumerate() {
                let n = n as u32 + 1;
                f.insts[i].for_uses(|v| span[v].1 = n);
                f.insts[i].for_defs(|v| {
                    span[v] = (n, n);
                    met.push(v);
                });
            }
            met.extend(&f.blocks[b].params);
            live.live_out(b).iter().for_each(|&v| span[v].1 = u32::MAX);
            f.blocks[b].term.for_uses(|v| span[v].1 = u32::MAX);
            for v in met {
                let (from, to) = std::mem::take(&mut span[v]);
                let next = calls.partition_point(|&c| c <= from);
                if calls.get(next).is_some_and(|&c| c < to) {
                    found.ends[v] = found.ends[v].max(end);
                }
            }
        }
        found
    }

    /// The first general register that no call on the value's way writes.
    pub(super) fn end(&self, v: ValueId) -> u32 {
        if self.any { self.ends[v] } else { 0 }
    }
}
