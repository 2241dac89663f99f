//! Texture barriers for Kepler: results of texture instructions are not waited for by the hardware,
//! so `TEXDEPBAR n`, which waits until at most `n` texture instructions are outstanding, stands
//! before the first instruction that touches one.
//!
//! ```text
//! TEX R0, ..        outstanding: R0 (0 issued since)
//! TEX R4, ..        outstanding: R0 (1 since), R4 (0 since)
//! TEXDEPBAR 0x1
//! FADD R8, R0, R1   R0 is complete, R4 need not be
//! ```
//!
//! They complete in order, so one with `n` others issued after it is complete when at most `n` are
//! outstanding. What is outstanding flows along control, with the fewest issued since on any way;
//! to a reconvergence point from wherever lanes leave for one. Calls and returns wait for
//! everything.

use crate::diag::Loc;
use crate::emit::code::{Code, Line, Made};
use crate::isa::effects::{Resource, Touched, is_texture};
use crate::isa::{MInst, Op, Operand};

/// For each register, how many texture instructions were issued after the one that writes it.
#[derive(Clone, PartialEq)]
struct Outstanding([u8; 256]);

const COMPLETE: u8 = u8::MAX;
/// The largest count that is waited for. The field holds 63, but ptxas waits from the 62nd texture
/// on, and NAK keeps no more than 63 in flight.
const MAX_COUNT: u8 = 62;

impl Outstanding {
    const NONE: Outstanding = Outstanding([COMPLETE; 256]);

    /// Adds what another way to the same place leaves; whether that is more.
    fn join(&mut self, other: &Outstanding) -> bool {
        let mut more = false;
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            more |= theirs < *mine;
            *mine = theirs.min(*mine);
        }
        more
    }

    /// The count to wait for before `m`, if it touches something outstanding.
    fn needed(&self, line: &Line, touched: &Touched) -> Option<u8> {
        if matches!(line.inst.op, Op::Cal | Op::Jcal | Op::Ret | Op::Brx | Op::Jmx) {
            return self.0.iter().any(|&n| n != COMPLETE).then_some(0);
        }
        let touches = touched.reads(line.touches).iter().chain(touched.writes(line.touches));
        let registers = touches.filter_map(|&r| Resource::register(r));
        registers.map(|r| self.0[usize::from(r)]).min().filter(|&least| least != COMPLETE)
    }

    fn wait(&mut self, count: u8) {
        for n in self.0.iter_mut().filter(|n| **n >= count) {
            *n = COMPLETE;
        }
    }

    fn issue(&mut self, line: &Line, touched: &Touched) {
        if !is_texture(line.inst.op) {
            return;
        }
        for n in self.0.iter_mut().filter(|n| **n < MAX_COUNT) {
            *n += 1;
        }
        for r in touched.writes(line.touches).iter().filter_map(|&r| Resource::register(r)) {
            self.0[usize::from(r)] = 0;
        }
    }

    /// Goes over instructions; `wait` is told the index and count of each barrier that is needed.
    fn run(&mut self, lines: &[Line], touched: &Touched, mut wait: impl FnMut(usize, u8)) {
        for (k, l) in lines.iter().enumerate() {
            if let Some(count) = self.needed(l, touched) {
                wait(k, count);
                self.wait(count);
            }
            self.issue(l, touched);
        }
    }
}

/// Puts the barriers that a program needs into its code, of which it is noted what instructions
/// touch.
pub(crate) fn insert(code: &mut Code) {
    let has_textures = code.blocks.iter().any(|b| b.body.iter().any(|l| is_texture(l.inst.op)));
    if !has_textures {
        return;
    }
    let entry = solve(code);
    for (block, state) in code.blocks.iter_mut().zip(entry) {
        let Some(mut state) = state else { continue };
        for lines in [&mut block.body, &mut block.tail] {
            let mut barriers = Vec::new();
            state.run(lines, &code.touched, |k, count| barriers.push((k, count)));
            if barriers.is_empty() {
                continue;
            }
            let mut with = Vec::with_capacity(lines.len() + barriers.len());
            let mut next = barriers.into_iter().peekable();
            for (k, l) in lines.drain(..).enumerate() {
                if let Some((_, count)) = next.next_if(|b| b.0 == k) {
                    with.push(barrier(count, l.loc));
                }
                with.push(l);
            }
            *lines = with;
        }
    }
}

fn barrier(count: u8, loc: Loc) -> Line {
    Line::made(Made::Wait, MInst::new(Op::Texdepbar).arg(Operand::imm(count.into())), loc)
}

/// Adds a state to one that may not be there yet; whether that is more.
fn joined(slot: &mut Option<Outstanding>, state: &Outstanding) -> bool {
    match slot {
        None => {
            *slot = Some(state.clone());
            true
        }
        Some(s) => s.join(state),
    }
}

/// What is outstanding at the start of each block that control reaches.
fn solve(code: &Code) -> Vec<Option<Outstanding>> {
    // Where lanes that leave by `.S`, BRK or CONT may go on.
    let meeting = code.meeting_points();
    let target = |l: &Line| code.target(l);
    let mut entry: Vec<Option<Outstanding>> = vec![None; code.blocks.len()];
    let mut worklist: Vec<usize> = Vec::new();
    // Functions begin with nothing outstanding.
    let called = code.blocks.iter().flat_map(|b| &b.body).filter(|l| l.inst.op == Op::Cal).filter_map(target);
    for start in called.chain([0]) {
        if start < entry.len() {
            entry[start] = Some(Outstanding::NONE);
            worklist.push(start);
        }
    }
    // What lanes leave with, from anywhere.
    let mut left: Option<Outstanding> = None;
    while let Some(n) = worklist.pop() {
        let Some(mut state) = entry[n].clone() else { continue };
        let block = &code.blocks[n];
        state.run(&block.body, &code.touched, |_, _| {});
        state.run(&block.tail, &code.touched, |_, _| {});
        let mut leaves = false;
        let mut flow = |to: usize, state: &Outstanding| {
            if entry.get_mut(to).is_some_and(|slot| joined(slot, state)) {
                worklist.push(to);
            }
        };
        if block.falls {
            flow(n + 1, &state);
        }
        for l in &block.tail {
            match l.inst.op {
                Op::Bra => target(l).into_iter().for_each(|to| flow(to, &state)),
                Op::Brk | Op::Cont => leaves = true,
                _ => leaves |= l.inst.sync,
            }
        }
        // To all of them only what is new: there are as many ways to leave as places to go on.
        if leaves && joined(&mut left, &state) {
            meeting.iter().for_each(|&to| flow(to, left.as_ref().unwrap_or(&state)));
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::code::MBlock;
    use crate::isa::{Kw, Mod, Reg};

    fn line(inst: MInst) -> Line {
        Line::new(inst, Loc::default())
    }

    fn tex(d: u8) -> Line {
        let m = MInst::new(Op::Tex).with(Mod::Lz).with(Mod::P).r(Reg(d)).r(Reg(40)).arg(Operand::imm(0));
        line(m.arg(Operand::Word(Kw::T2d)).arg(Operand::imm(0xf)))
    }

    fn add(d: u8, a: u8) -> Line {
        line(MInst::new(Op::Fadd).r(Reg(d)).r(Reg(a)).r(Reg(a)))
    }

    fn code(blocks: Vec<MBlock>, labels: Vec<u32>) -> Code {
        let mut code = Code { blocks, labels, ..Code::default() };
        code.note_touches();
        code
    }

    fn barriers(lines: &[Line]) -> Vec<(usize, u32)> {
        let count = |l: &Line| match l.inst.operands[0] {
            Operand::Imm { bits, .. } => bits,
            _ => 0,
        };
        let found = lines.iter().enumerate().filter(|(_, l)| l.inst.op == Op::Texdepbar);
        found.map(|(k, l)| (k, count(l))).collect()
    }

    #[test]
    fn the_first_of_two_results_waits_for_one_outstanding_and_the_second_for_none() {
        let body = vec![tex(0), tex(4), add(8, 3), add(9, 0), add(10, 4)];
        let mut c = code(vec![MBlock { body, ..MBlock::default() }], vec![]);
        insert(&mut c);
        assert_eq!(barriers(&c.blocks[0].body), [(2, 1), (5, 0)]);
    }

    #[test]
    fn a_write_over_an_outstanding_result_waits_too() {
        let body = vec![tex(0), add(1, 20)];
        let mut c = code(vec![MBlock { body, ..MBlock::default() }], vec![]);
        insert(&mut c);
        assert_eq!(barriers(&c.blocks[0].body), [(1, 0)]);
    }

    #[test]
    fn results_nobody_touches_need_no_barrier() {
        let body = vec![tex(0), add(8, 20)];
        let mut c = code(vec![MBlock { body, ..MBlock::default() }], vec![]);
        insert(&mut c);
        assert_eq!(barriers(&c.blocks[0].body), []);
    }

    #[test]
    fn what_is_outstanding_flows_to_the_point_where_lanes_meet() {
        let ssy = line(MInst::new(Op::Ssy).arg(Operand::Target(0)));
        let mut leave = MInst::new(Op::Nop);
        leave.sync = true;
        let first = MBlock { tail: vec![ssy], falls: true, ..MBlock::default() };
        let arm = MBlock { body: vec![tex(0)], tail: vec![line(leave)], ..MBlock::default() };
        let join = MBlock { body: vec![add(8, 0)], ..MBlock::default() };
        let mut c = code(vec![first, arm, join], vec![2]);
        insert(&mut c);
        assert_eq!(barriers(&c.blocks[2].body), [(0, 0)]);
    }

    #[test]
    fn a_loop_that_reads_what_the_iteration_before_fetched_waits_in_every_iteration() {
        let again = line(MInst::new(Op::Bra).arg(Operand::Target(0)));
        let body = MBlock { body: vec![add(8, 0), tex(0)], tail: vec![again], ..MBlock::default() };
        let mut c = code(vec![body], vec![0]);
        insert(&mut c);
        assert_eq!(barriers(&c.blocks[0].body), [(0, 0)]);
    }
}
