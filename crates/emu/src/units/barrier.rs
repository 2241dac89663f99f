//! Barriers of a block.

use crate::code::micro::{BarMode, NULL, PSrc};
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::state::block::{Barrier, BlockState};
use crate::state::lanes::{LANES, Mask, Src, lanes};
use crate::state::warp::{State as WarpState, Warp};
use crate::trap::{Other, Trap};

impl Cx<'_> {
    /// `BAR`: arrives, waits, and reduces over the block.
    pub fn barrier(
        &mut self,
        w: &mut Warp,
        mask: Mask,
        mode: BarMode,
        (id, count): (Src, Option<Src>),
        pred: PSrc,
        (dst, pdst): (u8, u8),
    ) -> Result<(), Trap> {
        let pc = w.at;
        let lane = lanes(mask).next().unwrap_or(0);
        let value = |s: Src| s.lane(&w.regs, &self.env.bound.pool, lane);
        let id_value = value(id);
        if id_value > 15 {
            let detail = format!("barrier {id_value}: index out of range (0 to 15)");
            return Err(Trap::new(FaultKind::IllegalInstruction, lane, detail));
        }
        let expected = count.map_or(0, value);
        if !expected.is_multiple_of(LANES as u32) {
            let detail = format!("{expected} threads, which is not a multiple of 32");
            return Err(Trap::new(FaultKind::DivergentBarrier, lane, detail));
        }
        let b = &mut self.block.barriers[id_value as usize];
        if self.env.checks.sync {
            let differs =
                |s: Src| lanes(mask).find(|&l| s.lane(&w.regs, &self.env.bound.pool, l) != value(s));
            if let Some(l) = differs(id).or(count.and_then(differs)) {
                return Err(Trap::new(
                    FaultKind::DivergentBarrier,
                    l,
                    "threads of one warp name different barriers",
                ));
            }
            if mask != w.live {
                let missing = w.live & !mask;
                let detail = format!(
                    "{} of the warp's {} threads arrive at barrier {id_value}",
                    mask.count_ones(),
                    w.live.count_ones()
                );
                let other = lanes(missing).next().unwrap_or(0);
                let pc = w.stack.iter().rev().find(|e| e.mask >> other & 1 != 0).map_or(pc, |e| e.pc);
                let other = Other { block: None, warp: w.index, lane: other, pc };
                return Err(Trap::new(FaultKind::DivergentBarrier, lane, detail).with_other(other));
            }
            if b.arrived != 0 && b.expected != expected {
                let detail = format!("barrier {id_value} is used with different thread counts");
                let trap = Trap::new(FaultKind::DivergentBarrier, lane, detail);
                return Err(match b.first {
                    Some(other) => trap.with_other(other),
                    None => trap,
                });
            }
            b.first.get_or_insert(Other { block: None, warp: w.index, lane, pc });
        }
        self.settle_reads(w)?;
        let b = &mut self.block.barriers[id_value as usize];
        let votes = w.pred(pred) & mask;
        b.arrived += LANES as u32;
        b.expected = expected;
        b.popc += votes.count_ones();
        b.any |= votes != 0;
        b.some_false |= votes != mask;
        if let Some(races) = self.block.shadow.as_mut().and_then(|s| s.races.as_mut()) {
            races.arrive(w.index, &mut b.clock);
        }
        if mode != BarMode::Arrive {
            b.mode = mode;
            self.block.warp_states[w.index as usize] = WarpState::Barrier(id_value as u8);
        }
        w.awaits = (dst != NULL || pdst != PSrc::TRUE.num).then_some((dst, pdst, mask));
        self.complete(id_value as usize);
        let index = w.index as usize;
        if self.block.warp_states[index] == WarpState::Ready {
            w.reduced(self.block.reductions[index]);
        }
        Ok(())
    }

    /// Releases a barrier's warps if enough have arrived.
    fn complete(&mut self, id: usize) {
        let BlockState { barriers, warp_states, reductions, shadow, warps_left, .. } = &mut *self.block;
        let b = &mut barriers[id];
        let expected = if b.expected == 0 { *warps_left * LANES as u32 } else { b.expected };
        if b.arrived == 0 || b.arrived < expected {
            return;
        }
        let result = match b.mode {
            BarMode::Popc => b.popc,
            BarMode::And => u32::from(!b.some_false),
            _ => u32::from(b.any),
        };
        for (w, state) in warp_states.iter_mut().enumerate() {
            if *state == WarpState::Barrier(id as u8) {
                *state = WarpState::Ready;
                reductions[w] = result;
                if let Some(races) = shadow.as_mut().and_then(|s| s.races.as_mut()) {
                    races.leave(w as u32, &b.clock);
                }
            }
        }
        *b = Barrier::default();
    }

    /// A warp has exited: barriers for all threads no longer wait for it.
    pub fn warp_exits(&mut self) {
        if !self.block.has_barriers {
            return;
        }
        for id in 0..self.block.barriers.len() {
            if self.block.barriers[id].expected == 0 && self.block.barriers[id].arrived != 0 {
                self.complete(id);
            }
        }
    }
}
