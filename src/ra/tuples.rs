//! Instructions that want values in consecutive registers: where their tuples go, and who has to
//! move.
//!
//! ```text
//! R0: a  R1: x  R2: b  R3: -      st u64 # g[..] %a:%b
//! the tuple [a b] goes to R0; x moves to R3; b moves to R1
//! ```
//!
//! The largest tuples choose first, each the aligned place that costs fewest moves. Then there is
//! always a place left for the next: a tuple takes one aligned place of its own size, and spilling
//! has made sure that tuples and the values that live through the instruction fit side by side
//! ([`super::pressure`]).

use super::colour::Colour;
use super::file::Mask;
use super::hints::{Chain, NONE};
use super::operands::{self, Tuple};
use super::{Phys, RaError};
use crate::ir::{Class, ValueId};
use arrayvec::ArrayVec;
use cranelift_entity::packed_option::PackedOption;

/// What a tuple asks of its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Written,
}

/// Cost of a move that a choice of place entails.
const MOVE: u32 = 32;
/// Cost of missing the hint of a value.
const HINT: u32 = 8;
/// Cost of a register that nothing was in before.
const NEW: u32 = 1;

/// The places taken by an instruction's tuples so far.
struct Claims {
    read: [PackedOption<ValueId>; 256],
    written: Mask,
    read_mask: Mask,
    /// Registers of values that no tuple reads.
    others: Mask,
    /// Those of them that live through the instruction, where it writes a tuple.
    living: Mask,
}

impl Colour<'_> {
    /// Brings the tuples that an instruction reads into place, with moves; gives the first register
    /// of the tuple that it writes. `reloads` are brought into registers, too.
    pub(crate) fn place_tuples(
        &mut self,
        reads: &[Tuple],
        write: Option<&Tuple>,
        reloads: &[ValueId],
        dies: &dyn Fn(ValueId) -> bool,
    ) -> Result<Option<u8>, RaError> {
        let mut distinct: ArrayVec<&Tuple, 6> = ArrayVec::new();
        reads.iter().for_each(|w| {
            if !distinct.contains(&w) {
                distinct.push(w);
            }
        });
        let mut order: ArrayVec<(Kind, &Tuple), 8> = distinct.iter().map(|w| (Kind::Read, *w)).collect();
        order.extend(write.map(|w| (Kind::Written, w)));
        order.sort_by_key(|(k, w)| (std::cmp::Reverse(operands::alignment(w.len())), *k == Kind::Written));

        let elements: ArrayVec<ValueId, 24> = distinct.iter().flat_map(|w| w.iter().copied()).collect();
        let mut others = self.gprs.taken();
        elements.iter().filter(|&&v| self.loc[v] != NONE).for_each(|&v| others.clear(self.loc[v]));
        let mut living = Mask::default();
        if write.is_some() {
            others.iter().filter(|&r| self.gprs.at(r).is_some_and(|o| !dies(o))).for_each(|r| living.set(r));
        }
        let (read, written, read_mask) = ([None.into(); 256], Mask::default(), Mask::default());
        let mut claims = Claims { read, written, read_mask, others, living };
        let mut base_written = None;
        // Registers that a written tuple may take besides those of tuples read for the last time.
        let loaded = reloads.iter().filter(|v| !elements.contains(v) && !dies(**v)).count();
        let beside = living.iter().count() + loaded + elements.len();
        let room = write.map_or(0, |_| self.gprs.n.saturating_sub(beside));
        for &(kind, w) in &order {
            let base = self.choose_base(kind, w, &claims, room, dies)?;
            for (k, &v) in w.iter().enumerate() {
                let r = base + k as u8;
                match kind {
                    Kind::Read => {
                        claims.read[r as usize] = v.into();
                        claims.read_mask.set(r);
                    }
                    Kind::Written => claims.written.set(r),
                }
            }
            if kind == Kind::Written {
                base_written = Some(base);
            }
        }
        self.move_to_claims(&claims, &elements, reloads, dies)?;
        Ok(base_written)
    }

    /// Whether what a tuple reads stands together already.
    pub(super) fn stands(&self, tuple: usize) -> bool {
        let w = &self.hints.tuples[tuple];
        let first = usize::from(self.loc[w[0]]);
        first.is_multiple_of(operands::alignment(w.len()))
            && first + w.len() <= self.gprs.n
            && w.iter().zip(first..).all(|(&v, r)| usize::from(self.loc[v]) == r)
    }

    /// The cheapest place of a tuple beside those that have theirs.
    fn choose_base(
        &mut self,
        kind: Kind,
        w: &Tuple,
        claims: &Claims,
        room: usize,
        dies: &dyn Fn(ValueId) -> bool,
    ) -> Result<u8, RaError> {
        let align = operands::alignment(w.len());
        // A tuple that stands together already: anywhere else all of it would move.
        let first = usize::from(self.loc[w[0]]);
        let stands = kind == Kind::Read
            && first.is_multiple_of(align)
            && first + w.len() <= self.gprs.n
            && w.iter().zip(first..).all(|(&v, r)| {
                let free = !claims.written.has(r as u8) || dies(v);
                usize::from(self.loc[v]) == r && claims.read[r].is_none() && free
            });
        if stands {
            return Ok(first as u8);
        }
        let mut best: Option<(u32, u8)> = None;
        // The tuple of a value read here was known as a position before: it may use what is kept
        // for it.
        let number = w.iter().find_map(|&v| self.hints.position(v)).map_or(u32::MAX - 1, |s| s.tuple);
        let hints: ArrayVec<u8, 4> = w.iter().map(|&v| self.hint(v)).collect();
        // Of those without a hint, the places that they will have in the tuples that read them, and
        // these tuples' alignment.
        let written = if kind == Kind::Written { w.as_slice() } else { &[] };
        let positions: ArrayVec<(u8, u8), 4> = written.iter().map(|&v| self.position_in_tuple(v)).collect();
        let keep_out: ArrayVec<Mask, 4> = match kind {
            Kind::Written if !self.results.is_empty() => {
                w.iter().map(|&v| self.results.keep_out(v)).collect()
            }
            _ => ArrayVec::new(),
        };
        // Whose occupants would have to move.
        let evicting = if kind == Kind::Read { &claims.others } else { &claims.living };
        for base in (0..=self.gprs.n.saturating_sub(w.len())).step_by(align) {
            // Most places are taken.
            if best.is_some_and(|b| MOVE * evicting.count(base as u8, w.len()) >= b.0) {
                continue;
            }
            let mut cost = 0;
            let mut possible = true;
            // Registers that only this tuple takes.
            let mut alone = 0;
            for (k, &v) in w.iter().enumerate() {
                let r = (base + k) as u8;
                let claimed = claims.read[r as usize].expand();
                match kind {
                    Kind::Read => {
                        possible &= claimed.is_none() && (!claims.written.has(r) || dies(v));
                        cost += if self.loc[v] != r && self.loc[v] != NONE { MOVE } else { 0 };
                    }
                    Kind::Written => {
                        alone += claimed.is_none() as usize;
                        possible &= claimed.is_none_or(dies) && alone <= room;
                    }
                }
                cost += if evicting.has(r) { MOVE } else { 0 };
                // No cheaper than the best already, or impossible.
                possible &= best.is_none_or(|b| cost < b.0);
                if !possible {
                    break;
                }
                cost += if hints[k] != NONE && hints[k] != r { HINT } else { 0 };
                cost += if kind == Kind::Written && !self.gprs.used.has(r) { NEW } else { 0 };
                let astray = positions
                    .get(k)
                    .is_some_and(|&(place, align)| hints[k] == NONE && r % align != place % align);
                cost += if astray { HINT } else { 0 };
                cost += if self.gprs.kept_for_other(r, number) { HINT } else { 0 };
                cost += if keep_out.get(k).is_some_and(|m| m.has(r)) { HINT } else { 0 };
            }
            if possible && best.is_none_or(|b| cost < b.0) {
                best = Some((cost, base as u8));
                // Beyond the registers in use, no place is better than the first.
                let beyond = base >= self.gprs.used.end() as usize && cost <= NEW * w.len() as u32;
                if cost == 0 || beyond {
                    break;
                }
            }
        }
        best.map(|b| b.1).ok_or_else(|| self.pressure())
    }

    /// The place of a value in the tuple that it is read in next, and what that tuple's first
    /// register is a multiple of.
    fn position_in_tuple(&self, v: ValueId) -> (u8, u8) {
        let position = self.hints.position(v);
        position.map_or((0, 1), |s| {
            (s.index, operands::alignment(self.hints.tuples[s.tuple as usize].len()) as u8)
        })
    }

    /// The register that a value would like to have, from its coalescing class or its neighbours in
    /// the tuple that it is read in next.
    fn hint(&mut self, v: ValueId) -> u8 {
        let wanted = self.hints.wanted(v);
        if wanted != NONE {
            return wanted;
        }
        if let Chain::Register(r) = self.hints.chain(v) {
            return r;
        }
        let Some(position) = self.hints.position(v) else { return NONE };
        let tuple = &self.hints.tuples[position.tuple as usize];
        for (k, &other) in tuple.iter().enumerate() {
            let at = self.loc[other] as usize;
            if other != v && at != NONE as usize && at + position.index as usize >= k {
                return (at + position.index as usize - k) as u8;
            }
        }
        NONE
    }

    /// Moves values to the places claimed, and others out of them.
    fn move_to_claims(
        &mut self,
        claims: &Claims,
        elements: &[ValueId],
        reloads: &[ValueId],
        dies: &dyn Fn(ValueId) -> bool,
    ) -> Result<(), RaError> {
        let n = self.gprs.n;
        let mut target: Vec<(ValueId, u8)> = Vec::new();
        let mut leaving: Vec<ValueId> = Vec::new();
        // Registers that nobody may be moved into.
        let mut taken = claims.read_mask;
        for r in claims.read_mask.union(&self.gprs.taken()).iter() {
            if let Some(v) = claims.read[r as usize].expand()
                && self.loc[v] != r
            {
                target.push((v, r));
            }
            let Some(o) = self.gprs.at(r) else { continue };
            if elements.contains(&o) {
                continue;
            }
            let evicted = claims.read_mask.has(r) || (claims.written.has(r) && !dies(o));
            if evicted { leaving.push(o) } else { taken.set(r) }
        }
        leaving.extend(reloads.iter().copied().filter(|v| !elements.contains(v)));
        // Those that live on first: they have less choice, since they must keep off what will be
        // written.
        leaving.sort_by_key(|&v| dies(v));
        let mut next = 0;
        while let Some(&v) = leaving.get(next) {
            next += 1;
            let mut barred = taken;
            if !dies(v) {
                barred = barred.union(&claims.written);
            }
            let wanted = self.hint(v);
            let fits = |r: u8| (r as usize) < n && !barred.has(r);
            let kept = self.gprs.kept_mask;
            let r = Some(wanted)
                .filter(|&r| r != NONE && fits(r))
                .or_else(|| (0..n as u8).find(|&r| fits(r) && !kept.has(r) && self.gprs.used.has(r)))
                .or_else(|| (0..n as u8).find(|&r| fits(r)));
            let r = match r {
                Some(r) => r,
                // Its last reader is this instruction: such a value can go where the instruction
                // writes.
                None => {
                    let (occupant, r) = self
                        .gprs
                        .values()
                        .filter(|&o| !dies(v) && dies(o) && !elements.contains(&o) && !leaving.contains(&o))
                        .map(|o| (o, self.loc[o]))
                        .find(|&(_, r)| !claims.written.has(r))
                        .ok_or_else(|| self.pressure())?;
                    leaving.push(occupant);
                    r
                }
            };
            taken.set(r);
            target.push((v, r));
        }
        for &(v, r) in &target {
            if self.loc[v] != NONE {
                self.queue(v, Phys::Gpr(r), Phys::Gpr(self.loc[v]));
            }
        }
        self.flush_copies();
        let fresh: Vec<(ValueId, u8)> = target.iter().copied().filter(|t| self.loc[t.0] == NONE).collect();
        target.iter().for_each(|t| self.release(t.0));
        target.iter().for_each(|t| self.put(t.0, t.1, Class::Gpr));
        fresh.iter().for_each(|t| self.reload(t.0, t.1));
        Ok(())
    }
}
