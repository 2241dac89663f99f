//! Moves on edges: from where values are at the end of a block to where the next one expects them,
//! block parameters and returned values included.
//!
//! Every edge has a place of its own, since critical ones are split: the end of its source, if that
//! jumps, or else the beginning of its target.

use super::colour::Colour;
use super::file::Mask;
use super::pcopy::{self, Location, Scratch};
use super::plan::SpillLocation;
use super::remat::{self, Remat};
use super::{Move, Phys, RaError};
use crate::ir::{BlockId, Class, Def, Edge, Term, ValueId};

impl Colour<'_> {
    /// Makes the moves of all edges and returns, after all blocks have their registers. Given up
    /// where all moves cost more than the attempt is worth.
    pub(super) fn edges(&mut self) -> Result<(), RaError> {
        self.results();
        for n in 0..self.cfg.rpo().len() {
            let b = self.cfg.rpo()[n];
            // At the beginning: edges from a branch, then stores of parameters.
            let start = self.out.moves.len();
            if let [p] = *self.cfg.preds(b)
                && let Term::Branch { then, els, .. } = &self.f.blocks[p].term
            {
                self.edge(p, if then.to == b { then } else { els });
            }
            self.out.moves.extend_from_slice(&self.entry_stores[b]);
            self.out.start[b] = self.span_from(start);
            let start = self.out.moves.len();
            match &self.f.blocks[b].term {
                Term::Jump(e) => self.edge(b, e),
                Term::Ret(values) => self.ret(b, values),
                _ => {}
            }
            self.out.end[b] = self.span_from(start);
            self.check_cost()?;
        }
        Ok(())
    }

    /// Where a value can be copied from at the end of a block, if it takes a place at all.
    fn source(&self, p: BlockId, v: ValueId) -> Option<Location> {
        if let Some(r) = self.exits.get(p, v) {
            return Some(Location::Reg(Phys::new(self.f.class(v), r)));
        }
        match self.plan.spill_locations[v] {
            SpillLocation::Slot(offset) => Some(Location::Slot(offset)),
            _ => None,
        }
    }

    /// Appends the moves of an edge.
    fn edge(&mut self, p: BlockId, e: &Edge) {
        if self.undisturbed.contains(e.to) {
            return;
        }
        let f = self.f;
        let mut wanted: Vec<(Location, ValueId)> = Vec::new();
        // Both lists are in order: most values are where they are wanted.
        let mut exits = self.exits.in_block(p).iter();
        let mut exit = exits.next();
        for entry @ &(v, r) in self.entries.in_block(e.to) {
            while exit.is_some_and(|x| x.0 < v) {
                exit = exits.next();
            }
            if exit != Some(entry) && f.values[v].def != Def::Block(e.to) {
                wanted.push((Location::Reg(Phys::new(f.class(v), r)), v));
            }
        }
        for (&param, &a) in f.blocks[e.to].params.iter().zip(&e.args) {
            match (self.entries.get(e.to, param), self.plan.spill_locations[param]) {
                (Some(r), _) if self.exits.get(p, a) == Some(r) => {}
                (Some(r), _) => wanted.push((Location::Reg(Phys::new(f.class(param), r)), a)),
                (None, SpillLocation::Slot(offset)) => wanted.push((Location::Slot(offset), a)),
                _ => {}
            }
        }
        self.carry_out(p, &wanted);
    }

    fn ret(&mut self, b: BlockId, values: &[ValueId]) {
        let results = self.out.summary.results.clone();
        let wanted: Vec<(Location, ValueId)> =
            results.iter().zip(values).map(|(&r, &v)| (Location::Reg(r), v)).collect();
        self.carry_out(b, &wanted);
    }

    /// Appends the moves that bring values to places at the end of `p`, besides those that are
    /// there.
    fn carry_out(&mut self, p: BlockId, wanted: &[(Location, ValueId)]) {
        if wanted.is_empty() {
            return;
        }
        let mut copies = Vec::new();
        let mut again = Vec::new();
        let mut taken = [Mask::default(), Mask::default()];
        let mut take = |place: Location| {
            if let Location::Reg(r) = place {
                taken[(r.class() == Class::Pred) as usize].set(r.number());
            }
        };
        for &(v, r) in self.exits.in_block(p) {
            take(Location::Reg(Phys::new(self.f.class(v), r)));
        }
        for &(to, v) in wanted {
            take(to);
            match (self.source(p, v), self.plan.spill_locations[v]) {
                // What has no value in particular has it anywhere.
                (Some(_), _) if remat::of_value(self.f, v) == Some(Remat::Undef) => {}
                (Some(from), _) => copies.push((to, from)),
                (None, SpillLocation::Remat(r)) => again.push((to, r)),
                (None, _) => {}
            }
        }
        let free = |n: usize, used: &Mask, taken: &Mask, step: u32| {
            let bound = used.end().next_multiple_of(step).min(n as u32);
            (0..bound as u8).find(|&r| !taken.has(r))
        };
        let scratch = Scratch {
            gpr: free(self.gprs.n, &self.gprs.used, &taken[0], 8),
            pred: free(self.preds.n, &self.preds.used, &taken[1], 1),
            slots: self.plan.frame_end,
        };
        let start = self.out.moves.len();
        let mut used = pcopy::sequentialise(&copies, scratch, &mut self.out.moves);
        // Constants last: nothing reads their destinations any more.
        for (to, r) in again {
            match to {
                Location::Reg(reg) => self.out.moves.extend(r.to(reg.number())),
                Location::Slot(offset) => {
                    used |= pcopy::through_register(scratch, &mut self.out.moves, |out, reg| {
                        if let Some(m) = r.to(reg) {
                            out.push(m);
                            out.push(Move::Store { src: reg, words: 1, offset });
                        }
                    });
                }
            }
        }
        self.scratch_slots_used |= used;
        for m in &self.out.moves[start..] {
            match *m {
                Move::Copy { dst: Phys::Gpr(r), .. } | Move::Load { dst: r, .. } => self.gprs.used.set(r),
                Move::Copy { dst: Phys::Pred(r), .. } => self.preds.used.set(r),
                Move::Imm { dst, .. } | Move::Cbuf { dst, .. } | Move::Sreg { dst, .. } => {
                    self.gprs.used.set(dst)
                }
                _ => {}
            }
        }
    }

    /// Where results are left: where they must be, or else where the first return has its values,
    /// as far as they are apart.
    fn results(&mut self) {
        let f = self.f;
        if !f.result_regs.is_empty() {
            f.result_regs.iter().for_each(|&r| self.gprs.used.set(r));
            self.out.summary.results = f.result_regs.iter().map(|&r| Phys::Gpr(r)).collect();
            return;
        }
        let mut taken = [Mask::default(), Mask::default()];
        let first = self.cfg.rpo().iter().find_map(|&b| match &f.blocks[b].term {
            Term::Ret(values) => Some((b, values.clone())),
            _ => None,
        });
        let mut places: Vec<Option<u8>> = vec![None; f.results.len()];
        if let Some((b, values)) = &first {
            for (k, &v) in values.iter().enumerate().take(places.len()) {
                if let Some(r) = self.exits.get(*b, v) {
                    let t = &mut taken[(f.results[k] == Class::Pred) as usize];
                    if !t.has(r) {
                        t.set(r);
                        places[k] = Some(r);
                    }
                }
            }
        }
        for (k, place) in places.iter_mut().enumerate() {
            let t = &mut taken[(f.results[k] == Class::Pred) as usize];
            let r = place.unwrap_or_else(|| (0..255).find(|&r| !t.has(r)).unwrap_or(0));
            t.set(r);
            *place = Some(r);
        }
        self.gprs.used = self.gprs.used.union(&taken[0]);
        self.preds.used = self.preds.used.union(&taken[1]);
        self.out.summary.results =
            f.results.iter().zip(&places).map(|(&c, r)| Phys::new(c, r.unwrap_or(0))).collect();
    }
}
