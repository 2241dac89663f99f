//! Occupancy-driven allocation: a kernel is coloured once more where fewer registers let more warps
//! be resident.
//!
//! Registers that tuples leave open between them, or that hold what is cheaply made again or seldom
//! read, may cost resident warps. What it takes to do without them counts as often as it is carried
//! out, and may not eat up what the warps win.

use super::{Allocation, Move, Target};
use crate::analysis::cfg::Cfg;
use crate::ir::{BlockId, Function};

/// Values above an occupancy step up to which it is tried to do without them.
pub(crate) const WORTH_TRYING: usize = 8;
/// Instructions of the largest function for which that is tried: longer ones are not what occupancy
/// decides about.
pub(crate) const LARGEST_TRIED: usize = 4000;

/// Resident warps hide what others wait for, which is a part of the time: of what they win by
/// numbers, the fourth part may go into moves.
const SHARE: u64 = 4;

/// How often a block is carried out, as far as loops say.
fn times(cfg: &Cfg, b: BlockId) -> u64 {
    8u64.pow(cfg.loop_depth(b).min(6))
}

fn cost(moves: &[Move]) -> u64 {
    moves.iter().map(|m| m.cost() as u64).sum()
}

/// Instructions carried out by a function, and in the moves of an allocation.
fn carried_out(f: &Function, cfg: &Cfg, a: &Allocation) -> (u64, u64) {
    let (mut own, mut moves) = (0, 0);
    for &b in &f.layout {
        let body = &f.blocks[b].body;
        let inside: u64 = body.iter().map(|&i| cost(a.before(i)) + cost(a.after(i))).sum();
        let times = times(cfg, b);
        own += times * body.len() as u64;
        moves += times * (inside + cost(a.block_start(b)) + cost(a.block_end(b)));
    }
    (own, moves)
}

/// Whether an allocation that needs fewer registers than the first one is better.
pub(crate) fn is_worth(
    f: &Function,
    cfg: &Cfg,
    target: &Target,
    first: &Allocation,
    closer: &Allocation,
) -> bool {
    let (warps, more) = (target.warps(first.gprs), target.warps(closer.gprs));
    let (own, before) = carried_out(f, cfg, first);
    let (_, after) = carried_out(f, cfg, closer);
    after.saturating_sub(before) * SHARE * u64::from(warps) <= own * u64::from(more.saturating_sub(warps))
}

#[cfg(test)]
mod tests {
    use crate::chip::Chip;
    use crate::ir::build::Builder;
    use crate::ir::{Class, Cond, Edge, Function, MemRef, Merge, Op, Program, Space, Term, Type, ValueId};
    use crate::ra::{Target, allocate_program};

    /// Registers and accesses to local memory of a kernel with `many` words that live through a
    /// loop of `length` additions.
    fn allocated(many: usize, length: usize) -> (u32, u32) {
        let mut f = Function::new("k");
        let (entry, head, exit) = (f.new_block(), f.new_block(), f.new_block());
        let sum = f.add_block_param(head, Class::Gpr);
        let place = |k: usize| MemRef::new(Space::Global).with_offset(4 * k as i32);
        let mut b = Builder::new(&mut f, entry);
        let words: Vec<ValueId> = (0..many).map(|k| b.ld(Type::U32, place(k))[0]).collect();
        b.terminate(Term::Jump(Edge { to: head, args: vec![words[0]] }));
        let mut b = Builder::new(&mut f, head);
        let last = (0..length).fold(sum, |x, k| b.op2(Op::Add, Type::U32, x, k as u32));
        let cond = b.setp(Cond::Lt, Type::U32, last, 1000u32);
        let then = Edge { to: head, args: vec![last] };
        b.terminate(Term::Branch { cond, not: false, then, els: Edge::to(exit) });
        f.blocks[head].merge = Merge::Loop { exit, cont: head };
        let mut b = Builder::new(&mut f, exit);
        words.iter().enumerate().for_each(|(k, &w)| b.st(Type::U32, place(k), w));
        b.terminate(Term::Exit);
        let target = Target {
            chip: Chip::Gf100,
            gpr_limit: 63,
            threads: None,
            shared: 0,
            fewest: false,
            verify: true,
            through_memory: false,
        };
        let mut p = Program::new(f);
        let a = allocate_program(&mut p, &target).unwrap();
        (a.gprs, a.funcs[p.entry].spills + a.funcs[p.entry].fills)
    }

    #[test]
    fn words_that_a_long_loop_does_not_read_go_to_memory_for_a_resident_warp() {
        let (gprs, accesses) = allocated(23, 200);
        assert!(gprs <= 22 && accesses > 0, "{gprs} registers, {accesses} accesses");
    }

    #[test]
    fn accesses_that_take_more_than_warps_win_are_not_made() {
        assert_eq!(allocated(23, 1), (24, 0));
    }
}
