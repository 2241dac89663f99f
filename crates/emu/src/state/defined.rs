//! Which bits of a warp's registers and local memory nothing has written, for initcheck.

use super::lanes::{LaneVec, Mask, POOL, Src};
use crate::code::operand::NULL;

/// The origin of a register that nothing has written.
pub(crate) const NEVER: u32 = u32::MAX;

/// The undefined bits of a warp.
#[derive(Clone, PartialEq, Debug)]
pub struct Undef {
    pub regs: Vec<LaneVec>,
    /// The first instruction that read the unwritten register behind them.
    pub origin: Vec<u32>,
    pub preds: [Mask; 8],
    pub pred_origin: [u32; 8],
    pub cc: Mask,
    pub cc_origin: u32,
    /// Of local memory, by word; grown on demand.
    pub local: Vec<LaneVec>,
}

impl Undef {
    pub fn new(gprs: usize) -> Undef {
        let mut preds = [Mask::MAX; 8];
        preds[7] = 0;
        Undef {
            regs: vec![LaneVec::splat(u32::MAX); gprs],
            origin: vec![NEVER; gprs],
            preds,
            pred_origin: [NEVER; 8],
            cc: Mask::MAX,
            cc_origin: NEVER,
            local: Vec::new(),
        }
    }

    pub fn bits(&self, s: Src, lane: usize) -> u32 {
        if s.row < POOL { self.regs[s.row as usize].0[lane] } else { 0 }
    }

    pub fn row(&self, s: Src) -> LaneVec {
        if s.row < POOL { self.regs[s.row as usize] } else { LaneVec::ZERO }
    }

    /// Undefined bits of word `k` of a vector register.
    pub fn word(&self, reg: u8, k: usize, lane: usize) -> u32 {
        if reg == NULL { 0 } else { self.regs[reg as usize + k].0[lane] }
    }

    pub fn set_word(&mut self, reg: u8, k: usize, lane: usize, bits: u32, pc: u32) {
        if reg != NULL {
            self.regs[reg as usize + k].0[lane] = bits;
            self.origin[reg as usize + k] = pc;
        }
    }

    /// Lanes of `mask` in which word `k` of a vector register has undefined bits.
    pub fn lanes_of_word(&self, reg: u8, k: usize, mask: Mask) -> Mask {
        if reg == NULL { 0 } else { self.lanes(reg as usize + k, mask) }
    }

    /// Lanes of `mask` in which a register has undefined bits.
    pub fn lanes(&self, reg: usize, mask: Mask) -> Mask {
        self.regs[reg].mask(|b| b != 0) & mask
    }

    /// Takes everything in a lane for defined: what it leaves undefined has been reported.
    pub fn mark_defined(&mut self, lane: usize) {
        self.regs.iter_mut().chain(&mut self.local).for_each(|row| row.0[lane] = 0);
        self.preds.iter_mut().for_each(|p| *p &= !(1 << lane));
        self.cc &= !(1 << lane);
    }
}
