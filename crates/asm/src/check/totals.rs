//! Cycles that one warp takes, if each instruction is executed once.

use super::Schedule;
use nvir_isa::effects::{Resource, is_texture};
use nvir_isa::{Op, Operand, latency};

/// What a schedule comes to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// Instructions, without scheduling words and padding.
    pub instructions: usize,
    /// Pairs that issue together.
    pub pairs: usize,
    /// Cycles by the counts alone.
    pub counts: u64,
    /// Cycles with what memory, textures and special functions take as a rule
    /// ([`latency::typical`]).
    pub cycles: u64,
}

impl Totals {
    /// Instructions in pairs, of all: 0 to 1.
    pub fn share(&self) -> f64 {
        2.0 * self.pairs as f64 / self.instructions.max(1) as f64
    }
}

impl Schedule {
    /// The sums.
    pub fn totals(&self) -> Totals {
        let issues = self.issue_cycles();
        let last = self.code.len().checked_sub(1);
        Totals {
            instructions: self.code.len(),
            pairs: self.code.iter().filter(|i| i.is_dual()).count(),
            counts: (0..self.code.len()).map(|n| u64::from(self.cycles_of(n))).sum(),
            cycles: last.map_or(0, |n| issues[n] + u64::from(self.cycles_of(n))),
        }
    }

    /// The cycle at which each instruction issues, with what memory, textures and special functions
    /// take as a rule.
    pub fn issue_cycles(&self) -> Vec<u64> {
        // When each resource is ready.
        let mut ready = [0u64; Resource::COUNT];
        let mut textures: std::collections::VecDeque<u64> = Default::default();
        let mut time = 0;
        let mut out = Vec::with_capacity(self.code.len());
        for (n, i) in self.code.iter().enumerate() {
            let op = i.inst.op;
            if i.label {
                ready = [0; Resource::COUNT];
            }
            let mut at =
                self.reads(n).iter().chain(self.writes(n)).fold(time, |t, &r| t.max(ready[usize::from(r)]));
            if op == Op::Texdepbar {
                let left = match i.inst.operands.first() {
                    Some(&Operand::Imm { bits, .. }) => bits as usize,
                    _ => 0,
                };
                let done = textures.len().saturating_sub(left);
                at = textures.drain(..done).fold(at, u64::max);
            }
            for &r in self.writes(n) {
                let takes = match Resource::from_index(r) {
                    Resource::Gpr(_) => latency::typical(op),
                    Resource::Pred(_) => latency::predicate(op),
                    Resource::Carry => latency::CARRY,
                };
                ready[usize::from(r)] = at + u64::from(takes);
            }
            if is_texture(op) {
                textures.push_back(at + u64::from(latency::typical(op)));
            }
            out.push(at);
            time = at + u64::from(self.cycles_of(n));
        }
        out
    }
}
