//! Which registers and predicates of machine code are read later: backwards over blocks, for one
//! lane.
//!
//! Lanes that leave by `.S`, BRK or CONT go on at one of the places that SSY, PBK and PCNT name: at
//! any of them, as far as this goes. What a return leaves behind may all be read.

use crate::emit::code::{Code, MBlock};
use crate::isa::Op;
use crate::isa::effects::{Resource, Touched};

/// A set of resources, by [`Resource::index`].
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Set([u64; Resource::COUNT.div_ceil(64)]);

impl Set {
    pub(super) const ALL: Set = Set([u64::MAX; Resource::COUNT.div_ceil(64)]);

    /// The first general registers.
    pub(super) fn registers(count: u32) -> Set {
        let mut set = Set::default();
        (0..count.min(255)).for_each(|r| set.insert(Resource::Gpr(r as u8).index() as u16));
        set
    }

    pub(super) fn insert(&mut self, r: u16) {
        self.0[usize::from(r) / 64] |= 1 << (r % 64);
    }

    pub(super) fn remove(&mut self, r: u16) {
        self.0[usize::from(r) / 64] &= !(1 << (r % 64));
    }

    pub(super) fn has(&self, r: u16) -> bool {
        self.0[usize::from(r) / 64] >> (r % 64) & 1 != 0
    }

    /// The first member of this set and not of the other one in a range.
    pub(crate) fn first_without(&self, other: &Set, range: std::ops::Range<u16>) -> Option<u16> {
        let mut from = range.start;
        while from < range.end {
            let word = usize::from(from) / 64;
            let left = (self.0[word] & !other.0[word]) >> (from % 64);
            if left != 0 {
                return Some(from + left.trailing_zeros() as u16).filter(|r| *r < range.end);
            }
            from = (word as u16 + 1) * 64;
        }
        None
    }

    /// Adds another set; whether that is more.
    fn join(&mut self, other: &Set) -> bool {
        let mut more = false;
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            more |= theirs & !*mine != 0;
            *mine |= theirs;
        }
        more
    }
}

/// How control leaves a block, apart from ways to others.
struct Successors {
    /// To any place where lanes meet.
    meets: bool,
    /// What is read afterwards on ways that leave the code.
    left: Set,
}

/// What is read after each block, if a thread's end reads the first `results` registers.
pub(super) fn after(code: &Code, results: u32) -> Vec<Set> {
    let n = code.blocks.len();
    let mut meeting = vec![false; n];
    code.meeting_points().into_iter().for_each(|k| meeting[k] = true);
    let at_end = Set::registers(results);
    // Successors into blocks, by where they lead.
    let mut into: Vec<(usize, usize)> = Vec::with_capacity(2 * n);
    let mut leavers = Vec::new();
    let mut live_out = Vec::with_capacity(n);
    for k in 0..n {
        let next = successors(code, k, &at_end, |to| into.push((to, k)));
        if next.meets {
            leavers.push(k);
        }
        live_out.push(next.left);
    }
    into.sort_unstable();
    let mut live_in = vec![Set::default(); n];
    // What is read behind any meeting point.
    let mut met = Set::default();
    let mut queued = vec![true; n];
    let mut worklist: Vec<usize> = (0..n).collect();
    while let Some(k) = worklist.pop() {
        queued[k] = false;
        let first = into.partition_point(|w| w.0 < k);
        let before = into[first..].iter().take_while(|w| w.0 == k);
        // Nobody asks what is read before the start.
        if before.clone().next().is_none() && !meeting[k] {
            continue;
        }
        let mut live = live_out[k];
        step_back(&code.blocks[k], &code.touched, &mut live);
        if !live_in[k].join(&live) {
            continue;
        }
        let mut reach = |who: usize, set: &Set| {
            if live_out[who].join(set) && !std::mem::replace(&mut queued[who], true) {
                worklist.push(who);
            }
        };
        before.for_each(|w| reach(w.1, &live_in[k]));
        if meeting[k] && met.join(&live_in[k]) {
            leavers.iter().for_each(|&p| reach(p, &met));
        }
    }
    live_out
}

/// Where control goes from a block: calls `to` with the blocks.
fn successors(code: &Code, k: usize, at_end: &Set, mut to: impl FnMut(usize)) -> Successors {
    let (block, n) = (&code.blocks[k], code.blocks.len());
    let mut w = Successors { meets: false, left: Set::default() };
    if block.falls && k + 1 < n {
        to(k + 1);
    } else if block.falls {
        w.left = Set::ALL;
    }
    for line in block.lines() {
        match line.inst.op {
            Op::Bra => match code.target(line) {
                Some(b) if b < n => to(b),
                _ => w.left = Set::ALL,
            },
            Op::Brk | Op::Cont => w.meets = true,
            Op::Exit => {
                w.left.join(at_end);
            }
            Op::Ret | Op::Brx | Op::Jmp | Op::Jmx | Op::Jcal | Op::Longjmp => w.left = Set::ALL,
            _ => w.meets |= line.inst.sync,
        }
    }
    w
}

/// From what is read behind a block to what is read from its start on.
fn step_back(block: &MBlock, touched: &Touched, live: &mut Set) {
    for line in block.lines().rev() {
        if line.inst.op == Op::Cal {
            *live = Set::ALL;
        }
        if line.inst.guard.is_true() {
            touched.writes(line.touches).iter().for_each(|&r| live.remove(r));
        }
        touched.reads(line.touches).iter().for_each(|&r| live.insert(r));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::Chip;
    use crate::diag::Loc;
    use crate::emit::code::Line;
    use crate::isa::text;

    fn block(lines: &[&str], tail: &[&str], falls: bool) -> MBlock {
        let line =
            |s: &&str| Line::new(text::parse(Chip::Gk110, s, 8, &|_| Some(0)).unwrap(), Loc::default());
        MBlock {
            body: lines.iter().map(line).collect(),
            tail: tail.iter().map(line).collect(),
            falls,
            ..MBlock::default()
        }
    }

    fn registers(s: &Set) -> Vec<u16> {
        (0..20).filter(|&n| s.has(8 + n)).collect()
    }

    #[test]
    fn what_a_loop_reads_in_its_next_round_is_read_after_it() {
        let body = block(&["IADD R0, R0, R1", "MOV R2, R0"], &["@P0 BRA `(x)"], true);
        let end = block(&["MOV R3, R2"], &["EXIT"], false);
        let mut code = Code { blocks: vec![body, end], labels: vec![0], ..Code::default() };
        code.note_touches();
        let after = after(&code, 0);
        assert_eq!(registers(&after[0]), [0, 1, 2]);
        assert!(after[0].has(0));
        assert!(registers(&after[1]).is_empty());
    }

    #[test]
    fn results_are_read_at_the_end_and_a_guarded_write_keeps_what_was_there() {
        let first = block(&["@P1 MOV R0, R5"], &[], true);
        let end = block(&["MOV R4, R9"], &["EXIT"], false);
        let mut code = Code { blocks: vec![first, end], ..Code::default() };
        code.note_touches();
        let after = after(&code, 2);
        assert_eq!(registers(&after[0]), [0, 1, 9]);
        assert_eq!(registers(&after[1]), [0, 1]);
    }

    #[test]
    fn lanes_that_leave_go_on_at_any_meeting_point() {
        let first = block(&[], &["SSY `(x)"], true);
        let arm = block(&["MOV R1, R2"], &["NOP.S"], false);
        let join = block(&["MOV R3, R1"], &["EXIT"], false);
        let mut code = Code { blocks: vec![first, arm, join], labels: vec![2], ..Code::default() };
        code.note_touches();
        let after = after(&code, 0);
        assert_eq!(registers(&after[1]), [1]);
    }
}
