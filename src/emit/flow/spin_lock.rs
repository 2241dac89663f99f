//! A loop around a lock, which is left where it goes round, pushes its exit with `SSY` and not with
//! `PBK`: lanes that go round take one branch, and those that have finished wait in the entries
//! that it pushes.
//!
//! ```text
//!     SSY exit
//! again:
//!     LDSLK P0, R0, [..]
//!     @P0 IADD R0, R0, R1
//!     @P0 STSCUL P1, [..], R0
//!     @!P1 BRA again
//!     NOP.S
//! exit:
//! ```
//!
//! Where that exit does nothing but go on to the join of an `if` that pushed it, the lanes wait
//! there. Each round may take an entry of the stack, so other loops, of which most go round far
//! more often, use `PBK`.

use super::{BlockExit, Body, Flow};
use crate::ir::{self, Term};

impl<B: Body> Flow<'_, B> {
    /// Finds the loops that try to get a lock until they do: with one exit out, beside the one that
    /// goes round.
    pub(super) fn find_retries(&mut self) {
        // For each loop whether it locks, its exits out, and whether one of them is of that form.
        let mut seen = vec![(false, 0, false); self.constructs.len()];
        for &b in &self.f.layout {
            let Some(n) = self.loop_of(b) else { continue };
            let c = &self.constructs[n as usize];
            let block = &self.f.blocks[b];
            let (locks, exits, beside) = &mut seen[n as usize];
            *locks |= block.body.iter().any(|&i| self.f.insts[i].op == ir::Op::LdLock);
            *exits += block.term.successors().filter(|&to| to == c.end()).count();
            if let Term::Branch { then, els, .. } = &block.term {
                let round = if then.to == c.end() { els.to } else { then.to };
                *beside |= self.inside[b] == n && self.only_repeats(round, c.header);
            }
        }
        for (c, (locks, exits, beside)) in self.constructs.iter_mut().zip(seen) {
            c.spin_lock = locks && exits == 1 && beside && c.stacked && !c.stacked_cont;
        }
    }

    /// What such a loop is left for may be the join of an `if` anyway.
    pub(super) fn share_joins(&mut self) {
        for n in 0..self.constructs.len() {
            let c = self.constructs[n];
            if c.spin_lock && c.stacked {
                self.constructs[n].stacked = false;
                self.constructs[n].stacked = self.exit(c.header, c.end()) != BlockExit::Sync;
            }
        }
    }
}
