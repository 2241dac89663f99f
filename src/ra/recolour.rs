//! Recolouring for fewer registers, as graphics stages want it: their programs are short and have
//! many vectors, between which the first colouring leaves gaps.
//!
//! ```text
//! R0: x   R1: y   R4 to R7: v        with 6 registers      R5: x   R4: y   R0 to R3: v
//! ```
//!
//! A lower limit makes vectors choose other places, and values without a hint may begin at the
//! upper end, which leaves the lower to vectors. What it costs in moves is bounded by what the
//! registers are worth.

use super::colour::End;
use super::{Allocation, Move, Target};

/// How a function is coloured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// General registers that may be used.
    pub limit: u32,
    /// Where values without a hint begin.
    pub from: End,
    /// The cost of moves from which on it is given up.
    pub most_moves: usize,
}

impl Attempt {
    /// The way that always succeeds.
    pub(super) fn first(limit: u32) -> Attempt {
        Attempt { limit, from: End::Low, most_moves: usize::MAX }
    }
}

/// From so many registers on, constants are made again for fewer.
const MANY: u32 = 24;

fn cost(moves: &[Move]) -> usize {
    moves.iter().map(Move::cost).sum()
}

/// What the moves of an attempt cost so far.
#[derive(Default)]
pub(super) struct Spent {
    moves: usize,
    cost: usize,
}

impl Spent {
    /// Adds the moves made since; whether all cost no more than the attempt is worth.
    pub(super) fn is_worth(&mut self, attempt: &Attempt, moves: &[Move]) -> bool {
        self.cost += cost(&moves[self.moves..]);
        self.moves = moves.len();
        self.cost <= attempt.most_moves
    }
}

/// What colours a function: with all values in registers, or with constants made again so that
/// `Some(k)` registers suffice. Gives nothing where that does not succeed.
pub(crate) type Recolour<'a> = dyn FnMut(Option<usize>, Attempt) -> Option<Allocation> + 'a;

/// Registers that a function needs at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least {
    /// Those that functions that it calls write, and that its results must be in.
    pub fixed: u32,
    /// Without making anything again.
    pub alive: u32,
}

/// Looks for a colouring of a function of so many instructions that needs fewer registers than
/// `best`.
pub(super) fn search(
    mut best: Allocation,
    instructions: usize,
    least: Least,
    recolour: &mut Recolour<'_>,
) -> Allocation {
    let (gprs, moves) = (best.gprs, cost(&best.moves));
    // Five hundredths of few registers are worth a hundredth of the instructions, and four
    // hundredths of many.
    let most_moves = |limit: u32, few: bool| {
        let root = (f64::from(gprs) / f64::from(limit.max(1))).sqrt().sqrt();
        let gain = if few { (root * root.sqrt()).sqrt() } else { root } - 1.0;
        moves + ((instructions + moves) as f64 * gain) as usize
    };
    let mut recolour = |again: Option<usize>, limit: u32, from: End, below: u32| {
        let attempt = Attempt { limit, from, most_moves: most_moves(limit, again.is_none()) };
        let found = recolour(again, attempt);
        found.filter(|a| a.gprs < below && a.spills + a.fills == 0)
    };
    let (mut low, mut high) = (least.alive.max(1), best.gprs);
    let mut limit = low;
    while low < high {
        // The lower end gives a single one of many registers by more moves, if at all.
        let single = high - limit == 1 && best.gprs >= MANY;
        let ends = if single { [End::High, End::Low] } else { [End::Low, End::High] };
        let tried = if single && most_moves(limit, true) == moves { &ends[..1] } else { &ends[..] };
        match tried.iter().find_map(|&from| recolour(None, limit, from, high)) {
            Some(closer) => {
                high = closer.gprs;
                best = closer;
            }
            None => low = limit + 1,
        }
        limit = (low + high) / 2;
    }
    if best.gprs >= MANY {
        // What gains by it has little but constants.
        let quarter = (least.alive / 4).max(least.fixed).max(Target::MIN_GPRS);
        let closer =
            (quarter < best.gprs).then(|| recolour(Some(quarter as usize), quarter, End::Low, best.gprs));
        best = closer.flatten().unwrap_or(best);
    }
    best
}

#[cfg(test)]
mod tests {
    use crate::chip::Chip;
    use crate::ir::build::Builder;
    use crate::ir::{Class, Function, MemRef, Op, Program, Space, Src, Term, Type};
    use crate::ra::{Target, allocate_program};

    fn target(fewest: bool) -> Target {
        let (chip, threads) = (Chip::Gk110, None);
        Target { chip, gpr_limit: 63, threads, shared: 0, fewest, verify: true, through_memory: false }
    }

    #[test]
    fn single_values_leave_the_lower_registers_to_vectors() {
        let gprs = |fewest: bool| {
            let mut f = Function::new("k");
            let entry = f.new_block();
            let mut b = Builder::new(&mut f, entry);
            let place = |at: i32| MemRef::new(Space::Shared).with_offset(at);
            let long = b.ld(Type::U32, place(0))[0];
            let short = b.ld(Type::U32, place(4))[0];
            b.st(Type::U32, place(8), short);
            let quad = b.ld(Type::B128, place(16));
            b.st(Type::B128, place(32), Src::tuple(&quad));
            b.st(Type::U32, place(12), long);
            b.terminate(Term::Exit);
            let mut p = Program::new(f);
            let a = allocate_program(&mut p, &target(fewest)).unwrap();
            assert_eq!(a.funcs[p.entry].before(p.funcs[p.entry].blocks[entry].body[3]), []);
            a.gprs
        };
        assert_eq!([gprs(false), gprs(true)], [6, 5]);
    }

    #[test]
    fn constants_are_made_again_where_there_are_many_and_loads_are_not() {
        let gprs = |constants: bool, many: usize| {
            let mut f = Function::new("k");
            let entry = f.new_block();
            let mut b = Builder::new(&mut f, entry);
            let place = |k: usize| MemRef::new(Space::Shared).with_offset(4 * k as i32);
            let values: Vec<_> = (0..many)
                .map(|k| if constants { b.mov(1000 + k as u32) } else { b.ld(Type::U32, place(k))[0] })
                .collect();
            for round in 1..5 {
                let readers = if round == 4 { &values[..] } else { &values[..10] };
                readers.iter().enumerate().for_each(|(k, &v)| b.st(Type::U32, place(100 * round + k), v));
            }
            b.terminate(Term::Exit);
            allocate_program(&mut Program::new(f), &target(true)).unwrap().gprs
        };
        assert_eq!(gprs(false, 40), 40);
        assert!(gprs(true, 40) <= 30, "{}", gprs(true, 40));
        // More than there are registers.
        assert_eq!(gprs(false, 70), 63);
        assert!(gprs(true, 70) <= 30, "{}", gprs(true, 70));
    }

    #[test]
    fn an_addend_of_several_sums_leaves_their_registers_alone() {
        let mut f = Function::new("k");
        f.results = vec![Class::Gpr; 3];
        f.result_regs = vec![0, 1, 2];
        let entry = f.new_block();
        let mut b = Builder::new(&mut f, entry);
        let place = |k: i32| MemRef::new(Space::Shared).with_offset(4 * k);
        let words: Vec<_> = (0..3).map(|k| b.ld(Type::U32, place(k))[0]).collect();
        let addend = b.mov(0x3e80_0000);
        let mad = |b: &mut Builder<'_>, x| b.op3(Op::Mad, Type::F32, x, Src::f32(0.5), addend);
        let sums: Vec<_> = words.into_iter().map(|x| mad(&mut b, x)).collect();
        b.terminate(Term::Ret(sums));
        let mut p = Program::new(f);
        let a = allocate_program(&mut p, &target(true)).unwrap();
        assert_eq!((a.gprs, a.funcs[p.entry].block_end(entry)), (4, &[][..]));
    }

    /// A random program: a result of the first call is in a register beyond a quarter of the limit when the second writes it.
    #[test]
    fn constants_are_made_again_in_no_fewer_registers_than_callees_write() {
        let mut p = crate::ir::parse::program(include_str!("testdata/calls.ir")).unwrap();
        let target = Target { gpr_limit: 255, through_memory: true, ..target(true) };
        let a = allocate_program(&mut p, &target).unwrap();
        let callee = p.funcs.keys().find(|&id| id != p.entry).unwrap();
        assert!(a.gprs >= a.funcs[callee].summary.clobbers.gprs_end());
    }
}
