//! Back edges that are conditional: a round of a loop ends in one branch.
//!
//! ```text
//! again:                          again:
//!     ISETP.GE P0, R1, R9             ISETP.GE P0, R1, R9
//!     @P0 BRK                         @P0 BRK
//!     ..                          body:
//!     BRA again            ->         ..
//!                                     ISETP.GE P0, R1, R9
//!                                     @!P0 BRA body
//!                                     BRK
//! ```
//!
//! The test in front of a loop's body is written behind it once more, if it is short, and where a
//! block leaves a loop or goes round, who goes round does that by the guarded branch. Lanes that
//! leave in a round need an instruction more in it than those that go on, which is executed in no
//! more rounds than there are. The test is in one block with the end of the body, which fills what
//! it waits for. The optimiser inverts loops that all lanes leave together
//! ([`crate::opt`]), where values can be moved out of them as well; here it is about the others.
//!
//! Safe because the same instructions are executed in the same order. Where a branch parts lanes,
//! those that take it run first; so only those may become the others that do nothing more in the
//! loop but BRK. What an arm does before it leaves may be what the rest waits for, as who holds a
//! lock; lanes that leave by EXIT are gone at once, and nobody waits for them at a barrier.

use super::code::{Code, MBlock};
use crate::isa::{MInst, Op, Operand, Pred};

/// Instructions of a test that is written twice.
const LONGEST: usize = 8;

pub(super) fn run(code: &mut Code) {
    let mut behind: Vec<Option<u32>> = vec![None; code.blocks.len()];
    for n in 0..code.blocks.len() {
        let Some(header) = back_edge(code, n) else { continue };
        match code.blocks[n].tail.len() {
            1 => repeat_test(code, n, header, &mut behind),
            2 => guard_back_edge(&mut code.blocks[n]),
            _ => {}
        }
    }
}

/// Where a block goes back to at its end, whoever comes there.
fn back_edge(code: &Code, n: usize) -> Option<usize> {
    let last = code.blocks[n].tail.last()?;
    let back = last.inst.op == Op::Bra && last.inst.guard.is_true() && !last.inst.sync;
    code.target(last).filter(|&to| back && to <= n)
}

/// Whether an instruction is a break under a condition, or a branch or exit that all lanes take alike;
/// `parts` says that the lanes of the block may part.
fn leaves(m: &MInst, parts: bool) -> bool {
    let plain = !m.guard.is_true() && !m.sync;
    match m.op {
        Op::Brk => plain && m.operands.is_empty(),
        Op::Bra => plain && m.operands.len() == 1 && !parts,
        Op::Exit => plain && m.operands.is_empty() && !parts,
        _ => false,
    }
}

/// `@P BRK; BRA again` becomes `@!P BRA again; BRK`.
fn guard_back_edge(block: &mut MBlock) {
    let parts = block.parts;
    let [first, again] = block.tail.as_mut_slice() else { return };
    if leaves(&first.inst, parts) {
        again.inst.guard = !first.inst.guard;
        first.inst.guard = Pred::T;
        block.tail.swap(0, 1);
    }
}

/// Writes the test that begins a loop behind what goes round there from the `n`th block. `behind`
/// has the labels behind tests.
fn repeat_test(code: &mut Code, n: usize, header: usize, behind: &mut [Option<u32>]) {
    let Some(test) = test(code, header).filter(|&t| t < n) else { return };
    let copied: Vec<_> = code.blocks[header..=test].iter().flat_map(|b| b.body.iter().cloned()).collect();
    let Some(mut leave) = code.blocks[test].tail.first().cloned() else { return };
    let stay = !leave.inst.guard;
    leave.inst.guard = Pred::T;
    let label = *behind[test].get_or_insert_with(|| {
        code.labels.push(test as u32 + 1);
        code.labels.len() as u32 - 1
    });
    let parts = code.blocks[test].parts;
    let on = code.target(&leave) == Some(n + 1);
    let block = &mut code.blocks[n];
    block.body.extend(copied);
    block.tail[0].inst = MInst::new(Op::Bra).arg(Operand::Target(label)).guarded(stay);
    block.parts = parts;
    if on {
        block.falls = true;
    } else {
        block.tail.push(leave);
    }
}

/// The block that ends in the test of a loop, if nothing but the test is in front of it.
fn test(code: &Code, header: usize) -> Option<usize> {
    let mut length = 0;
    for (n, block) in code.blocks.iter().enumerate().skip(header).take(LONGEST) {
        length += block.body.len();
        let plain = block.body.iter().all(|l| l.fact.is_none() && !matches!(l.inst.op, Op::Cal | Op::Ldslk));
        if !block.falls || !plain || length > LONGEST {
            return None;
        }
        match block.tail.as_slice() {
            [] => {}
            [one] => {
                let forward = code.target(one).is_none_or(|to| to > n);
                return (leaves(&one.inst, block.parts) && forward).then_some(n);
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::Chip;
    use crate::diag::Loc;
    use crate::emit::code::Line;
    use crate::isa::text;

    /// Blocks by their instructions, the last of a line behind a bar being its tail. Block n has
    /// label n.
    fn rotated(blocks: &[&str]) -> Vec<String> {
        rotated_where(blocks, false)
    }

    /// The same of blocks whose branches part the lanes, or do not.
    fn rotated_where(blocks: &[&str], parts: bool) -> Vec<String> {
        let line = |s: &str| {
            let target = |name: &str| name.strip_prefix('b').and_then(|n| n.parse().ok());
            Line::new(text::parse(Chip::Gk110, s.trim(), 0, &target).expect(s), Loc::default())
        };
        let lines =
            |s: &str| -> Vec<Line> { s.split(';').filter(|s| !s.trim().is_empty()).map(line).collect() };
        let block = |s: &&str| {
            let (body, tail) = s.split_once('|').expect("a bar");
            let tail = lines(tail);
            let falls = tail.last().is_none_or(|l| !l.inst.guard.is_true());
            MBlock { body: lines(body), tail, falls, parts, ..MBlock::default() }
        };
        let labels = (0..blocks.len() as u32).collect();
        let mut code = Code { blocks: blocks.iter().map(block).collect(), labels, ..Code::default() };
        run(&mut code);
        let print = |l: &Line| match code.target(l) {
            Some(to) => {
                let guard = match l.inst.guard {
                    g if g.is_true() => String::new(),
                    g => format!("@{}P{} ", if g.not { "!" } else { "" }, g.num),
                };
                format!("{guard}{:?} b{to}", l.inst.op)
            }
            None => text::print(Chip::Gk110, &l.inst),
        };
        let list = |l: &[Line]| l.iter().map(print).collect::<Vec<_>>().join("; ");
        let text =
            |b: &MBlock| format!("{} | {}{}", list(&b.body), list(&b.tail), if b.falls { " .." } else { "" });
        code.blocks.iter().map(text).collect()
    }

    const TEST: &str = "ISETP.GE.AND P0, PT, R1, R9, PT | @P0 BRK";

    #[test]
    fn a_test_in_front_is_written_behind_once_more() {
        let out = rotated(&["MOV R1, RZ |", TEST, "IADD R1, R1, R2 | BRA b1", "MOV R0, R1 | EXIT"]);
        assert_eq!(out[2], "IADD R1, R1, R2; ISETP.GE.AND P0, PT, R1, R9, PT | @!P0 BRA b2; BRK");
        assert_eq!(out[1], "ISETP.GE.AND P0, PT, R1, R9, PT | @P0 BRK ..");
    }

    #[test]
    fn who_leaves_to_what_is_behind_the_loop_runs_on() {
        let test = "ISETP.GE.AND P0, PT, R1, R9, PT | @P0 BRA b3";
        let out = rotated(&["|", test, "IADD R1, R1, R2 | BRA b1", "MOV R0, R1 | EXIT"]);
        assert_eq!(out[2], "IADD R1, R1, R2; ISETP.GE.AND P0, PT, R1, R9, PT | @!P0 BRA b2 ..");
    }

    #[test]
    fn who_goes_round_is_guarded_where_a_block_leaves_or_goes_round() {
        let out = rotated(&["|", "ISETP.GE.AND P0, PT, R1, R9, PT | @!P0 BRK; BRA b1", "| EXIT"]);
        assert_eq!(out[1], "ISETP.GE.AND P0, PT, R1, R9, PT | @P0 BRA b1; BRK");
    }

    #[test]
    fn an_arm_that_some_lanes_take_before_they_leave_runs_first() {
        let both = "ISETP.EQ.AND P0, PT, R1, RZ, PT | @P0 BRA b3; BRA b1";
        let test = "ISETP.EQ.AND P0, PT, R1, RZ, PT | @P0 BRA b3";
        let arm = "ST.E [R2], RZ | BRK";
        let blocks = [["|", both, "| EXIT", arm], ["|", test, "MOV R1, R2 | BRA b1", arm]];
        for (n, b) in blocks.iter().enumerate() {
            let alike = rotated_where(b, false);
            assert!(alike[n + 1].contains("@!P0 BRA"), "{alike:?}");
            let part = rotated_where(b, true);
            assert!(!part[n + 1].contains("@!P0 BRA"), "{part:?}");
        }
        let out = rotated_where(&["|", TEST, "IADD R1, R1, R2 | BRA b1", "| EXIT"], true);
        assert!(out[2].ends_with("@!P0 BRA b2; BRK"), "{out:?}");
    }

    #[test]
    fn what_is_long_or_ends_some_threads_or_pushes_stays() {
        let long = format!("{} ISETP.GE.AND P0, PT, R1, R9, PT | @P0 BRK", "MOV R5, R6; ".repeat(LONGEST));
        let ends = "ISETP.GE.AND P0, PT, R1, R9, PT | @P0 EXIT";
        let pushes = "ISETP.GE.AND P0, PT, R1, R9, PT | SSY b3; @P0 BRK";
        for (test, parts) in [(&long[..], false), (ends, true), (pushes, false)] {
            let out = rotated_where(&["|", test, "IADD R1, R1, R2 | BRA b1", "| EXIT"], parts);
            assert_eq!(out[2], "IADD R1, R1, R2 | BRA b1", "{test}");
        }
        let both = ["|", "MOV R1, R2 | @P0 EXIT; BRA b1", "| EXIT"];
        assert_eq!(rotated_where(&both, true)[1], "MOV R1, R2 | @P0 EXIT; BRA b1");
        assert_eq!(rotated_where(&both, false)[1], "MOV R1, R2 | @!P0 BRA b1; EXIT");
    }
}
