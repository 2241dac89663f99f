//! Colouring at calls: values that live through them get out of the way, arguments go where they are read.

use super::accesses::Access;
use super::colour::Colour;
use super::hints::NONE;
use super::{Move, Phys, RaError};
use crate::ir::{Call, Class, InstId, ValueId};

impl Colour<'_> {
    /// A call: values that live through it leave the registers it may write, arguments go where it
    /// reads them.
    pub(super) fn call(
        &mut self,
        i: InstId,
        call: &Call,
        reloads: &[ValueId],
        dying: &[ValueId],
        defs: &[Access],
    ) -> Result<(), RaError> {
        let start = self.out.moves.len() as u32;
        let summaries = self.summaries;
        let Some(callee) = summaries[call.func].as_ref() else {
            return Err(RaError::Recursion(self.f.name.clone()));
        };
        // (What a function that is linked later may write can be beyond them: no value is there.)
        let beyond = |r: &Phys| r.class() == Class::Gpr && usize::from(r.number()) >= self.gprs.n;
        if callee.results.iter().any(beyond) {
            return Err(self.pressure());
        }
        let guard = self.f.insts[i].guard.map(|g| g.pred);
        let stays = |v: ValueId| !dying.contains(&v) || guard == Some(v);
        // Moves out of the callee's registers.
        let mut moved: Vec<(ValueId, u8, u8)> = Vec::new();
        for class in [Class::Gpr, Class::Pred] {
            let file = if class == Class::Pred { &self.preds } else { &self.gprs };
            let n = file.n as u8;
            let mut safe = (0..n).filter(|&r| {
                !callee.clobbers.contains(Phys::new(class, r)) && file.at(r).is_none_or(|o| !stays(o))
            });
            for r in 0..n {
                let Some(v) = file.at(r).filter(|&v| stays(v)) else { continue };
                if callee.clobbers.contains(Phys::new(class, r)) {
                    let Some(to) = safe.next() else { return Err(self.pressure()) };
                    moved.push((v, r, to));
                }
            }
        }
        for &(v, from, to) in &moved {
            let class = self.f.class(v);
            self.queue(v, Phys::new(class, to), Phys::new(class, from));
        }
        let mut late = Vec::new();
        for (&a, &param) in call.args.iter().zip(&callee.params) {
            let from = self.loc[a];
            if from != NONE {
                self.queue(a, param, Phys::new(self.f.class(a), from));
            } else {
                late.push((a, param.number()));
            }
        }
        self.flush_copies();
        for &(a, r) in &late {
            self.reload(a, r);
        }
        dying.iter().filter(|&&v| !stays(v)).for_each(|&v| self.release(v));
        moved.iter().for_each(|m| self.release(m.0));
        moved.iter().for_each(|m| self.put(m.0, m.2, self.f.class(m.0)));
        for &v in reloads.iter().filter(|&&v| stays(v)) {
            let taken = &callee.clobbers;
            let r = (0..self.gprs.n as u8)
                .find(|&r| self.gprs.free.has(r) && !taken.contains(Phys::Gpr(r)))
                .ok_or_else(|| self.pressure())?;
            self.put(v, r, Class::Gpr);
            self.reload(v, r);
        }
        let before = self.out.moves.len() as u32;
        let regs = self.out.regs.len() as u32;
        for (&a, &p) in call.args.iter().zip(&callee.params) {
            self.out.regs.push((a, p));
        }
        if let Some(g) = guard {
            self.out.regs.push((g, Phys::Pred(self.loc[g])));
            if dying.contains(&g) {
                self.release(g);
            }
        }
        for (&v, &r) in call.results.iter().zip(&callee.results) {
            self.put(v, r.number(), r.class());
        }
        self.clobbers.union(&callee.clobbers);
        self.finish(i, defs, regs, [start, before]);
        self.clear_of_calls(i, call);
        Ok(())
    }

    /// Moves results that live through other calls out of their way at once: then the arguments of
    /// the next one can be computed where it reads them.
    fn clear_of_calls(&mut self, i: InstId, call: &Call) {
        for &v in &call.results {
            let from = self.loc[v];
            if self.f.class(v) != Class::Gpr || from == NONE || from as u32 >= self.across_calls.end(v) {
                continue;
            }
            let Some(to) = self.beside_calls(v, NONE) else { continue };
            self.out.moves.push(Move::Copy { dst: Phys::Gpr(to), src: Phys::Gpr(from) });
            self.release(v);
            self.put(v, to, Class::Gpr);
            self.gprs.used.set(to);
        }
        self.out.insts[i].moves[2] = self.out.moves.len() as u32;
    }
}
