//! Parallel copies put into sequence.
//!
//! All sources are read before any destination is written:
//!
//! ```text
//! {R0 <- R1, R1 <- R2}             mov R0 R1; mov R1 R2
//! {R0 <- R1, R1 <- R0}             mov R9 R0; mov R0 R1; mov R1 R9      where R9 is free
//!                                  swap R0 R1                           where nothing is
//! {l[0] <- l[4], l[4] <- R0}       through a free register, or one that is saved in a scratch slot meanwhile
//! ```
//!
//! The order is that of Boissinot et al., "Revisiting out-of-SSA translation" (2009): destinations
//! that nobody reads any more first, then cycles, each broken once. It needs no reserved register
//! and no flag.

use super::{Move, Phys};
use rustc_hash::FxHashMap;

/// Where a value can be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    /// A register.
    Reg(Phys),
    /// A word of local memory, by its byte offset.
    Slot(u32),
}

/// What may be used to put copies into sequence.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scratch {
    /// A general register that holds nothing before or after.
    pub gpr: Option<u8>,
    /// A predicate register that holds nothing before or after.
    pub pred: Option<u8>,
    /// Two words of local memory, by byte offset, for when there is no such register.
    pub slots: u32,
}

struct Sequencer<'a> {
    scratch: Scratch,
    used_slots: bool,
    out: &'a mut Vec<Move>,
}

/// Appends moves that carry out the copies (destination, source) at once. Destinations are
/// distinct; source and destination are of one class, slots being of the general one. Tells whether
/// the scratch slots were used.
pub(crate) fn sequentialise(copies: &[(Location, Location)], scratch: Scratch, out: &mut Vec<Move>) -> bool {
    let mut s = Sequencer { scratch, used_slots: false, out };
    s.run(copies);
    s.used_slots
}

impl Sequencer<'_> {
    fn run(&mut self, copies: &[(Location, Location)]) {
        let mut moving = copies.iter().filter(|(d, s)| d != s);
        if let (Some(&(d, s)), None) = (moving.next(), moving.next()) {
            return self.copy(d, s);
        }
        // Where the value that was in a place is now, and what a destination wants.
        let mut at: FxHashMap<Location, Location> = FxHashMap::default();
        let mut wants: FxHashMap<Location, Location> = FxHashMap::default();
        let mut worklist: Vec<Location> = Vec::new();
        for &(d, s) in copies.iter().filter(|(d, s)| d != s) {
            at.insert(s, s);
            wants.insert(d, s);
            worklist.push(d);
        }
        let mut ready: Vec<Location> =
            worklist.iter().rev().copied().filter(|d| !at.contains_key(d)).collect();
        worklist.reverse();
        loop {
            while let Some(d) = ready.pop() {
                let Some(s) = wants.remove(&d) else { continue };
                let from = at[&s];
                self.copy(d, from);
                at.insert(s, d);
                // The source is free now; if it is a destination, it can be written.
                if from == s && wants.contains_key(&s) {
                    ready.push(s);
                }
            }
            let Some(d) = worklist.pop() else { break };
            let Some(&s) = wants.get(&d) else { continue };
            if at[&s] == d {
                wants.remove(&d);
                continue;
            }
            // What is left is disjoint cycles. Save what stands in this destination, or rotate by
            // exchanges.
            match self.spare(d, s, &wants) {
                Some(spare) => {
                    self.copy(spare, d);
                    at.insert(d, spare);
                    ready.push(d);
                }
                None => {
                    let (first, mut d) = (d, d);
                    while let Some(s) = wants.remove(&d) {
                        let from = at[&s];
                        if from == d {
                            break;
                        }
                        let (Location::Reg(a), Location::Reg(b)) = (d, from) else { break };
                        self.out.push(Move::Swap(a, b));
                        // What was in the first place moves on along the cycle.
                        at.insert(first, from);
                        at.insert(s, d);
                        d = from;
                    }
                }
            }
        }
    }

    /// A place to save what is in `d`, unless exchanges do better: the cycle is registers only and
    /// none is free.
    fn spare(&mut self, d: Location, s: Location, wants: &FxHashMap<Location, Location>) -> Option<Location> {
        match d {
            Location::Reg(Phys::Pred(_)) => self.scratch.pred.map(|p| Location::Reg(Phys::Pred(p))),
            Location::Reg(Phys::Carry) => None,
            _ => {
                let mut at = s;
                let mut registers_only = matches!(d, Location::Reg(_));
                while at != d && registers_only {
                    registers_only = matches!(at, Location::Reg(_));
                    match wants.get(&at) {
                        Some(&next) => at = next,
                        None => break,
                    }
                }
                match (registers_only, self.scratch.gpr) {
                    (true, g) => g.map(|g| Location::Reg(Phys::Gpr(g))),
                    // A cycle through memory needs the free register for its copies.
                    (false, _) => {
                        self.used_slots = true;
                        Some(Location::Slot(self.scratch.slots))
                    }
                }
            }
        }
    }

    fn copy(&mut self, d: Location, s: Location) {
        match (d, s) {
            (Location::Reg(dst), Location::Reg(src)) => self.out.push(Move::Copy { dst, src }),
            (Location::Reg(r), Location::Slot(offset)) => {
                self.out.push(Move::Load { dst: r.number(), words: 1, offset });
            }
            (Location::Slot(offset), Location::Reg(r)) => {
                self.out.push(Move::Store { src: r.number(), words: 1, offset });
            }
            (Location::Slot(to), Location::Slot(from)) => {
                self.used_slots |= through_register(self.scratch, self.out, |out, r| {
                    out.push(Move::Load { dst: r, words: 1, offset: from });
                    out.push(Move::Store { src: r, words: 1, offset: to });
                });
            }
        }
    }
}

/// Calls `f` with a register that it may overwrite: a free one, or R0, saved meanwhile in the
/// second scratch slot. Tells whether it was saved.
pub(crate) fn through_register(
    scratch: Scratch,
    out: &mut Vec<Move>,
    f: impl FnOnce(&mut Vec<Move>, u8),
) -> bool {
    match scratch.gpr {
        Some(r) => {
            f(out, r);
            false
        }
        None => {
            out.push(Move::Store { src: 0, words: 1, offset: scratch.slots + 4 });
            f(out, 0);
            out.push(Move::Load { dst: 0, words: 1, offset: scratch.slots + 4 });
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries out moves on a machine whose places hold their own names.
    fn run(moves: &[Move]) -> FxHashMap<Location, Location> {
        let mut state: FxHashMap<Location, Location> = FxHashMap::default();
        let get = |state: &FxHashMap<Location, Location>, p: Location| state.get(&p).copied().unwrap_or(p);
        let gpr = |r: u8| Location::Reg(Phys::Gpr(r));
        for m in moves {
            match *m {
                Move::Copy { dst, src } => {
                    let v = get(&state, Location::Reg(src));
                    state.insert(Location::Reg(dst), v);
                }
                Move::Swap(a, b) => {
                    let (x, y) = (get(&state, Location::Reg(a)), get(&state, Location::Reg(b)));
                    state.insert(Location::Reg(a), y);
                    state.insert(Location::Reg(b), x);
                }
                Move::Load { dst, offset, .. } => {
                    let v = get(&state, Location::Slot(offset));
                    state.insert(gpr(dst), v);
                }
                Move::Store { src, offset, .. } => {
                    let v = get(&state, gpr(src));
                    state.insert(Location::Slot(offset), v);
                }
                _ => unreachable!("not a copy"),
            }
        }
        state
    }

    const SLOTS: u32 = 4000;

    fn check(copies: &[(Location, Location)], gpr: Option<u8>, pred: Option<u8>) -> Vec<Move> {
        let mut out = Vec::new();
        sequentialise(copies, Scratch { gpr, pred, slots: SLOTS }, &mut out);
        let state = run(&out);
        for &(d, s) in copies {
            assert_eq!(state.get(&d).copied().unwrap_or(d), s, "{d:?} of {copies:?} by {out:?}");
        }
        for (&p, &now) in &state {
            let scratch = matches!(p, Location::Slot(o) if o >= SLOTS)
                || p == Location::Reg(Phys::Gpr(gpr.unwrap_or(255)))
                || p == Location::Reg(Phys::Pred(pred.unwrap_or(255)));
            let written = copies.iter().any(|c| c.0 == p);
            assert!(scratch || written || now == p, "{p:?} was overwritten: {copies:?} by {out:?}");
        }
        out
    }

    fn r(n: u8) -> Location {
        Location::Reg(Phys::Gpr(n))
    }

    #[test]
    fn chains_need_no_help() {
        let moves = check(&[(r(0), r(1)), (r(1), r(2)), (r(2), r(3))], None, None);
        assert_eq!(moves.len(), 3);
    }

    #[test]
    fn cycles_take_a_free_register_or_exchanges() {
        let rotate = [(r(0), r(1)), (r(1), r(2)), (r(2), r(0))];
        assert_eq!(check(&rotate, Some(9), None).len(), 4);
        let swaps = check(&rotate, None, None);
        assert!(swaps.len() == 2 && swaps.iter().all(|m| matches!(m, Move::Swap(..))));
    }

    #[test]
    fn any_copies_do_what_they_say_and_touch_nothing_else() {
        arbtest::arbtest(|u| {
            let places = |n: u8, slots: u8| -> Vec<Location> {
                (0..n).map(r).chain((0..slots).map(|s| Location::Slot(4 * s as u32))).collect()
            };
            let (all, spare) = if u.ratio(1, 4)? {
                ((0..5).map(|p| Location::Reg(Phys::Pred(p))).collect(), 6)
            } else {
                (places(u.int_in_range(1..=6)?, u.int_in_range(0..=4)?), 9)
            };
            let mut copies = Vec::new();
            for &d in &all {
                if u.ratio(3, 4)? {
                    copies.push((d, *u.choose(&all)?));
                }
            }
            let free = u.ratio(1, 2)?.then_some(spare);
            check(&copies, free, free);
            Ok(())
        });
    }
}
