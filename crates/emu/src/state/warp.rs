//! The state of a warp, and its divergence stack.
//!
//! Threads that left the running set wait at an entry of the stack: for their turn (`Div`), or for the others at
//! a reconvergence point (`.S` at the nearest `Ssy`, BRK at the nearest `Pbk`, CONT at `Pcnt`, RET at `Ret`,
//! LONGJMP at `Jmp`). When no thread runs, entries are popped from the top: a `Div` runs its threads, another
//! entry resumes, at its address, all threads of its mask that have not exited and do not wait further below.
//! Source: envytools (control flow of Tesla and Fermi), shapes of ptxas's and Mesa's code.
//!
//! ```text
//! SSY L          push Ssy(mask 1111, L)
//! @P0 BRA E      divergent: push Div(mask of !P0, the next address), run E
//! E: ... NOP.S   they wait at Ssy; nobody runs: pop Div, run the others
//! ...  NOP.S     they wait at Ssy too; pop Ssy, all run L
//! ```

use super::defined::Undef;
use super::lanes::{LaneVec, Mask, lanes};
use super::stack::{Entry, Stack, Wait};
use crate::code::operand::PSrc;
use crate::fault::FaultKind;
use std::ops::Range;

/// A side of a conditional branch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Side {
    /// The lanes that take the branch.
    #[default]
    Taken,
    /// The lanes that do not.
    FallThrough,
}

/// Entries a stack may have; hardware spills it to memory of this order.
const MAX_STACK: usize = 1 << 16;

impl Wait {
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Wait::Div => ("a divergent branch", "a divergent branch"),
            Wait::Ssy => (".S", "SSY"),
            Wait::Pbk => ("BRK", "PBK"),
            Wait::Pcnt => ("CONT", "PCNT"),
            Wait::Ret => ("RET", "CAL"),
            Wait::Jmp => ("LONGJMP", "PLONGJMP"),
        }
    }
}

/// Flags of the condition code, one bit a lane each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cc {
    pub zero: Mask,
    pub sign: Mask,
    pub carry: Mask,
    pub overflow: Mask,
}

impl Cc {
    /// Lanes for which a condition-code test holds. Source: envytools, Tesla condition codes; the order of the
    /// numbers is that of the tests' names in SASS.
    pub(crate) fn test(self, test: u8) -> Option<Mask> {
        let Cc { zero: z, sign: s, carry: c, overflow: o } = self;
        let less = s ^ o;
        Some(match test {
            0 => 0,
            1 => (s & !z) ^ o,
            2 => z & !s,
            3 => s ^ (z | o),
            4 => !z & !less,
            5 => !z & !(z & s),
            6 => !less,
            7 => !z | !s,
            8 => z & s,
            9 => less,
            10 => z,
            11 => z | less,
            12 => !(s ^ (z | o)),
            13 => !z | s,
            14 => (!s | z) ^ o,
            15 => Mask::MAX,
            16 => !o,
            17 => !c,
            18 => !s,
            19 => !c | z,
            20 => c & !z,
            21 => s,
            22 => c,
            23 => o,
            _ => return None,
        })
    }

    /// Takes over the lanes of `mask`.
    pub(crate) fn blend(&mut self, mask: Mask, from: Cc) {
        for (to, from) in [
            (&mut self.zero, from.zero),
            (&mut self.sign, from.sign),
            (&mut self.carry, from.carry),
            (&mut self.overflow, from.overflow),
        ] {
            *to = (*to & !mask) | (from & mask);
        }
    }
}

/// The predicates in the word that P2R reads and R2P writes. Source: envytools (`$flags` of isa.rst).
pub(crate) const PREDS: u32 = 0x7f;
/// The condition code there: zero, sign, carry, overflow, from bit 12 on. ptxas keeps carries that way.
pub(crate) const FLAGS: u32 = 0xf000;
const FIRST_FLAG: u32 = FLAGS.trailing_zeros();

/// What a warp waits for. An engine's code writes it, too: a byte that says which, and one with the barrier's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    Ready = 0,
    /// At this barrier.
    Barrier(u8) = 1,
    Done = 2,
}

/// A warp.
#[derive(Clone, PartialEq, Debug)]
pub struct Warp {
    /// Its number in the block.
    pub index: u32,
    /// The address of the instruction that comes next.
    pub pc: u32,
    /// The address of the instruction that it executes or has executed last.
    pub at: u32,
    /// Threads that run.
    pub active: Mask,
    /// Threads that exist and have not exited.
    pub live: Mask,
    /// Whether it may go on.
    pub state: State,
    /// The divergence stack; the last is its top.
    pub stack: Stack,
    /// Registers from R0 on.
    pub regs: Vec<LaneVec>,
    /// P0 to P6; the last is always true.
    pub preds: [Mask; 8],
    /// The condition code.
    pub cc: Cc,
    /// Words of local memory of all lanes, grown on demand.
    pub local: Vec<LaneVec>,
    /// The result of the last BAR.RED.
    pub reduction: u32,
    /// Where a reduction's result is to go when the barrier is complete, if it goes anywhere: register, predicate, lanes.
    pub awaits: Option<(u8, u8, Mask)>,
    /// Lanes that run only because their quad does (`QUADON`).
    pub quad_helpers: Mask,
    /// What ran before each `QUADON` that is open, and the helpers among it.
    pub quads: Vec<(Mask, Mask)>,
    /// Bits that nothing has written, with `initcheck`.
    pub undef: Option<Box<Undef>>,
}

/// Misuse of the stack.
pub(crate) type StackError = (FaultKind, String);

impl Warp {
    pub(crate) fn new(index: u32, live: Mask, entry: u32, gprs: usize, init: bool) -> Warp {
        let mut preds = [0; 8];
        preds[7] = Mask::MAX;
        Warp {
            index,
            pc: entry,
            at: entry,
            active: live,
            live,
            state: State::Ready,
            stack: Stack::default(),
            regs: vec![LaneVec::ZERO; gprs],
            preds,
            cc: Cc::default(),
            local: Vec::new(),
            reduction: 0,
            awaits: None,
            quad_helpers: 0,
            quads: Vec::new(),
            undef: init.then(|| Box::new(Undef::new(gprs))),
        }
    }

    /// A lane to blame: the first that runs, or else that is there.
    pub fn first_lane(&self) -> usize {
        lanes(if self.active != 0 { self.active } else { self.live }).next().unwrap_or(0)
    }

    /// Another warp of as many registers, which begins as [`Warp::new`] makes one but for registers outside `clear`, which are as they
    /// were.
    pub(crate) fn restart(&mut self, live: Mask, entry: u32, clear: &[Range<usize>]) {
        (self.pc, self.at, self.active, self.live) = (entry, entry, live, live);
        self.state = State::Ready;
        self.stack.clear();
        let there = self.regs.len();
        for range in clear {
            self.regs[range.start.min(there)..range.end.min(there)].fill(LaneVec::ZERO);
        }
        self.preds[..7].fill(0);
        self.cc = Cc::default();
        self.local.clear();
        (self.reduction, self.awaits, self.quad_helpers) = (0, None, 0);
        self.quads.clear();
        if let Some(u) = &mut self.undef {
            **u = Undef::new(self.regs.len());
        }
    }

    #[inline]
    pub(crate) fn pred(&self, p: PSrc) -> Mask {
        let m = self.preds[p.num as usize & 7];
        if p.not { !m } else { m }
    }

    pub(crate) fn set_pred(&mut self, num: u8, mask: Mask, value: Mask) {
        if num < 7 {
            let p = &mut self.preds[num as usize];
            *p = (*p & !mask) | (value & mask);
        }
    }

    /// A lane's predicates and condition code, as P2R reads them.
    pub(crate) fn state_word(&self, lane: usize) -> u32 {
        let Cc { zero, sign, carry, overflow } = self.cc;
        let word = |masks: &[Mask]| masks.iter().rev().fold(0, |v, m| v << 1 | m >> lane & 1);
        word(&self.preds[..7]) | word(&[zero, sign, carry, overflow]) << FIRST_FLAG
    }

    /// Sets a lane's predicates and flags that `select` names, as R2P does.
    pub(crate) fn set_state_word(&mut self, lane: usize, value: u32, select: u32) {
        let Cc { zero, sign, carry, overflow } = &mut self.cc;
        let flags = [zero, sign, carry, overflow].into_iter().zip(FIRST_FLAG..);
        for (mask, bit) in self.preds[..7].iter_mut().zip(0..).chain(flags) {
            if select >> bit & 1 != 0 {
                *mask = *mask & !(1 << lane) | (value >> bit & 1) << lane;
            }
        }
    }

    /// A barrier that it waited for is complete.
    #[inline]
    pub(crate) fn reduced(&mut self, result: u32) {
        self.reduction = result;
        if self.awaits.is_some() {
            self.take_reduction(result);
        }
    }

    /// The result goes where it is awaited.
    fn take_reduction(&mut self, result: u32) {
        if let Some((dst, pdst, mask)) = self.awaits.take() {
            if let Some(row) = self.regs.get_mut(dst as usize) {
                row.blend(mask, &LaneVec::splat(result));
            }
            self.set_pred(pdst, mask, if result != 0 { Mask::MAX } else { 0 });
        }
    }

    pub(crate) fn push(&mut self, wait: Wait, mask: Mask, pc: u32) -> Result<(), StackError> {
        if self.pushed(wait, mask, pc) {
            return Ok(());
        }
        Err((FaultKind::Stack, format!("the divergence stack exceeds {MAX_STACK} entries")))
    }

    /// Pushes an entry if there is room: whether there is.
    #[inline]
    pub(crate) fn pushed(&mut self, wait: Wait, mask: Mask, pc: u32) -> bool {
        let has_room = self.stack.len() < MAX_STACK;
        if has_room {
            self.stack.push(Entry { wait, mask, pc, waiting: 0 });
        }
        has_room
    }

    /// The threads of `mask` stop running and wait at the nearest entry of this kind. An entry of a caller is
    /// out of reach, except for LONGJMP.
    pub fn wait(&mut self, wait: Wait, mask: Mask) -> Result<(), StackError> {
        if self.waits(wait, mask) { Ok(()) } else { Err(no_entry(wait)) }
    }

    /// The same, if there is such an entry: whether there is.
    #[inline]
    pub(crate) fn waits(&mut self, wait: Wait, mask: Mask) -> bool {
        let Some(at) = self.nearest(wait, mask) else { return false };
        self.stack[at].waiting |= mask;
        self.active &= !mask;
        true
    }

    /// The nearest entry of a kind at which the threads of `mask` can wait.
    pub fn entry(&self, wait: Wait, mask: Mask) -> Result<usize, StackError> {
        self.nearest(wait, mask).ok_or_else(|| no_entry(wait))
    }

    /// The same, if there is one.
    #[inline]
    fn nearest(&self, wait: Wait, mask: Mask) -> Option<usize> {
        for (at, entry) in self.stack.iter().enumerate().rev() {
            if entry.wait == wait && entry.mask & mask == mask {
                return Some(at);
            }
            if entry.wait == Wait::Ret && wait != Wait::Jmp {
                break;
            }
        }
        None
    }

    /// The threads of `mask` exit.
    pub(crate) fn exit(&mut self, mask: Mask) {
        self.live &= !mask;
        self.active &= !mask;
    }

    /// All lanes of quads run of which one does, also those that have no thread or wait.
    pub(crate) fn quad_on(&mut self) -> Result<(), StackError> {
        if self.quads.len() >= MAX_STACK {
            return Err((FaultKind::Stack, format!("QUADON nests more than {MAX_STACK} deep")));
        }
        self.quads.push((self.active, self.quad_helpers));
        let any = self.active | self.active >> 1;
        let any = (any | any >> 2) & 0x1111_1111;
        let all = any * 15;
        self.quad_helpers |= all & !self.active;
        self.active = all;
        Ok(())
    }

    /// Those run that ran before the last [`Warp::quad_on`].
    pub(crate) fn quad_pop(&mut self) -> Result<(), StackError> {
        let none = || (FaultKind::Stack, "QUADPOP without a QUADON".to_string());
        (self.active, self.quad_helpers) = self.quads.pop().ok_or_else(none)?;
        Ok(())
    }

    /// Makes threads run again if none does; a warp without any is done.
    pub(crate) fn unwind(&mut self) -> Result<(), StackError> {
        if self.resumes() {
            return Ok(());
        }
        if self.live != 0 {
            return Err((FaultKind::Stack, "threads wait, but the divergence stack is empty".to_string()));
        }
        self.state = State::Done;
        Ok(())
    }

    /// Makes threads run again if none does, and some wait at entries of the stack: whether any runs.
    #[inline]
    pub(crate) fn resumes(&mut self) -> bool {
        while self.active == 0 {
            let Some(top) = self.stack.pop() else { return false };
            let below = self.stack.iter().fold(0, |m, e| m | e.waiting);
            self.active = top.mask & self.live & !below;
            self.pc = top.pc;
        }
        true
    }

    /// Branches: `taken` of the running threads go to `target`. Where the others go on, one side waits: on a card the
    /// one that falls through, as Mesa's loops around shared memory's locks show, which end only so.
    pub(crate) fn branch(&mut self, taken: Mask, target: u32, first: Side) -> Result<(), StackError> {
        if taken == 0 || taken != self.active && first == Side::FallThrough {
            return self.defer(taken, target);
        }
        if taken != self.active {
            let next = self.pc;
            self.defer(self.active & !taken, next)?;
        }
        self.pc = target;
        Ok(())
    }

    /// Some of the running threads go to `target` later than the others go on, unless there are no others.
    pub(crate) fn defer(&mut self, some: Mask, target: u32) -> Result<(), StackError> {
        if some == 0 {
            return Ok(());
        }
        if some == self.active {
            self.pc = target;
            return Ok(());
        }
        self.push(Wait::Div, some, target)?;
        self.active &= !some;
        Ok(())
    }
}

#[cold]
fn no_entry(wait: Wait) -> StackError {
    let (leave, push) = wait.names();
    (FaultKind::Stack, format!("{leave} without a matching {push} on the divergence stack"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warp() -> Warp {
        Warp::new(0, 0xff, 0, 4, false)
    }

    #[test]
    fn both_sides_of_a_branch_meet_at_the_join() {
        let mut w = warp();
        w.push(Wait::Ssy, w.active, 100).unwrap();
        w.branch(0x0f, 50, Side::FallThrough).unwrap();
        assert_eq!((w.active, w.pc), (0xf0, 0));
        w.wait(Wait::Ssy, 0xf0).unwrap();
        w.unwind().unwrap();
        assert_eq!((w.active, w.pc), (0x0f, 50));
        w.wait(Wait::Ssy, 0x0f).unwrap();
        w.unwind().unwrap();
        assert_eq!((w.active, w.pc, w.stack.len()), (0xff, 100, 0));
    }

    #[test]
    fn threads_that_take_a_branch_run_before_those_that_fall_through() {
        let mut w = warp();
        w.push(Wait::Ssy, w.active, 100).unwrap();
        w.pc = 8;
        w.branch(0x0f, 50, Side::Taken).unwrap();
        assert_eq!((w.active, w.pc), (0x0f, 50));
        w.wait(Wait::Ssy, 0x0f).unwrap();
        w.unwind().unwrap();
        assert_eq!((w.active, w.pc), (0xf0, 8));
        w.wait(Wait::Ssy, 0xf0).unwrap();
        w.unwind().unwrap();
        assert_eq!((w.active, w.pc, w.stack.len()), (0xff, 100, 0));
    }

    #[test]
    fn a_break_inside_a_join_region_does_not_come_back_at_the_join() {
        let mut w = warp();
        w.push(Wait::Pbk, w.active, 200).unwrap();
        w.push(Wait::Ssy, w.active, 100).unwrap();
        w.wait(Wait::Pbk, 0x03).unwrap();
        w.wait(Wait::Ssy, 0xfc).unwrap();
        w.unwind().unwrap();
        assert_eq!((w.active, w.pc), (0xfc, 100));
        w.exit(0x80);
        w.wait(Wait::Pbk, 0x7c).unwrap();
        w.unwind().unwrap();
        assert_eq!((w.active, w.pc), (0x7f, 200));
    }

    #[test]
    fn exits_of_all_threads_end_the_warp_whatever_is_on_the_stack() {
        let mut w = warp();
        w.push(Wait::Ssy, w.active, 100).unwrap();
        w.branch(0x0f, 50, Side::FallThrough).unwrap();
        w.exit(0xf0);
        w.unwind().unwrap();
        assert_eq!(w.active, 0x0f);
        w.exit(0x0f);
        w.unwind().unwrap();
        assert_eq!(w.state, State::Done);
    }

    #[test]
    fn whole_quads_run_between_quadon_and_quadpop() {
        let mut w = warp();
        w.active = 0x1204;
        w.quad_on().unwrap();
        assert_eq!((w.active, w.quad_helpers), (0xff0f, 0xed0b));
        w.quad_on().unwrap();
        assert_eq!((w.active, w.quad_helpers), (0xff0f, 0xed0b));
        w.quad_pop().unwrap();
        w.quad_pop().unwrap();
        assert_eq!((w.active, w.quad_helpers), (0x1204, 0));
        assert_eq!(w.quad_pop().unwrap_err().0, FaultKind::Stack);
    }

    #[test]
    fn popping_what_was_not_pushed_is_a_stack_fault() {
        let mut w = warp();
        assert_eq!(w.wait(Wait::Ssy, 0xff).unwrap_err().0, FaultKind::Stack);
        w.push(Wait::Ssy, 0xff, 0).unwrap();
        w.push(Wait::Ret, 0xff, 8).unwrap();
        assert_eq!(w.wait(Wait::Ssy, 0xff).unwrap_err().0, FaultKind::Stack);
        assert_eq!(w.wait(Wait::Pbk, 0xff).unwrap_err().0, FaultKind::Stack);
    }
}
