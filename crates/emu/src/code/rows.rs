//! How the interpreter executes the most frequent instructions: by kernels that read operands from rows of registers and of uniform
//! values, and write the destination's row.
//!
//! They are chosen when code is decoded, by operation, modifiers of operands and what the processor has; of each there is one for full
//! warps and one that leaves lanes that are off as they are. What they compute is defined by [`super::laneop`] and [`super::compare`].

use super::compare::CompareFn;
use super::kernel::{Forms, stored};
use super::laneop::RowOp;
use super::micro::{Bop, CarryIn, Cmp, Flow, Inst, Micro, NULL, PSrc, SetDst};
use super::steps::{ALWAYS, Branch};
use crate::state::lanes::{LANES, LaneVec, Mask, Modifier, Src};
use crate::state::stack::Wait;
use crate::state::warp::Cc;
use crate::units::special::is_of_kernels;
use nvir_simd::{Compiled, Features, Kernel, Processor};

/// What is added, beside a carry: `a` shifted to the left and `b`, each its complement where `flip` says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumOf {
    src: [Src; 2],
    flip: [bool; 2],
    shift: u8,
    dst: u8,
}

/// A sum, and words whose highest bits say whether it carries and whether it overflows.
struct Added {
    sum: LaneVec,
    carry: LaneVec,
    overflow: LaneVec,
}

impl Added {
    #[inline(always)]
    fn new(regs: &[LaneVec], pool: &[LaneVec], of: &SumOf, carry: impl Fn(usize) -> u32) -> Added {
        let [a, b] = of.src.map(|s| stored(regs, pool, s));
        let flip = of.flip.map(|flip| 0u32.wrapping_sub(flip.into()));
        let mut added = Added { sum: LaneVec::ZERO, carry: LaneVec::ZERO, overflow: LaneVec::ZERO };
        for i in 0..LANES {
            let (a, b) = (a.0[i] << (of.shift & 31) ^ flip[0], b.0[i] ^ flip[1]);
            let s = a.wrapping_add(b).wrapping_add(carry(i));
            added.sum.0[i] = s;
            added.carry.0[i] = a & b | (a | b) & !s;
            added.overflow.0[i] = (a ^ s) & (b ^ s);
        }
        added
    }

    #[inline(always)]
    fn flags<F: Features>(&self) -> Cc {
        let zero = self.sum.0.map(|v| if v == 0 { u32::MAX } else { 0 });
        Cc {
            zero: F::sign_bits(&zero),
            sign: F::sign_bits(&self.sum.0),
            carry: F::sign_bits(&self.carry.0),
            overflow: F::sign_bits(&self.overflow.0),
        }
    }
}

/// A kernel of a sum: registers, uniform rows, what is added, the lanes that it writes, those that have a carry. Gives the sum's flags,
/// if it is one with flags.
pub(crate) type SumFn = Compiled<[LaneVec], [LaneVec], SumOf, LaneVec, Cc>;

struct Sum<const FLAGS: bool, const PARTIAL: bool>;

impl<const FLAGS: bool, const PARTIAL: bool> Kernel<[LaneVec], [LaneVec], SumOf, LaneVec, Cc>
    for Sum<FLAGS, PARTIAL>
{
    #[inline(always)]
    fn run<F: Features>(
        regs: &mut [LaneVec],
        pool: &[LaneVec],
        of: &SumOf,
        take: &LaneVec,
        carries: u32,
    ) -> Cc {
        let added = Added::new(regs, pool, of, |i| carries >> i & 1);
        if of.dst != NULL {
            let dst = &mut regs[of.dst as usize];
            if PARTIAL { dst.merge(take, &added.sum) } else { *dst = added.sum }
        }
        if FLAGS { added.flags::<F>() } else { Cc::default() }
    }
}

/// A sum without saturation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumOp {
    pub full: SumFn,
    pub partial: SumFn,
    pub of: SumOf,
    pub carry: CarryIn,
    /// CC is set.
    pub flags: bool,
}

/// A kernel of a sum of low words and the sum of high words behind it: the same as of one, with the lanes that it writes as a mask, too.
/// Gives the flags of the first, if they are wanted.
pub(crate) type LongSumFn = Compiled<[LaneVec], [LaneVec], [SumOf; 2], LaneVec, Cc>;

struct LongSum<const FLAGS: bool, const CARRY: u32>;

impl<const FLAGS: bool, const CARRY: u32> Kernel<[LaneVec], [LaneVec], [SumOf; 2], LaneVec, Cc>
    for LongSum<FLAGS, CARRY>
{
    #[inline(always)]
    fn run<F: Features>(
        regs: &mut [LaneVec],
        pool: &[LaneVec],
        [low, high]: &[SumOf; 2],
        take: &LaneVec,
        mask: u32,
    ) -> Cc {
        let write = |regs: &mut [LaneVec], dst: u8, sum: &LaneVec| {
            if dst != NULL {
                let dst = &mut regs[dst as usize];
                if mask == Mask::MAX { *dst = *sum } else { dst.merge(take, sum) }
            }
        };
        let first = Added::new(regs, pool, low, |_| CARRY);
        write(regs, low.dst, &first.sum);
        let second = Added::new(regs, pool, high, |i| first.carry.0[i] >> 31);
        write(regs, high.dst, &second.sum);
        if FLAGS { first.flags::<F>() } else { Cc::default() }
    }
}

/// A sum of low words that leaves its carry to the sum of high words behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongSumOp {
    pub sums: LongSumFn,
    pub of: [SumOf; 2],
    /// The first one's flags are wanted.
    pub flags: bool,
}

impl LongSumOp {
    /// The two as one, if they are such.
    pub(super) fn new(low: &SumOp, high: &SumOp, flags: bool, processor: Processor) -> Option<LongSumOp> {
        if !low.flags || high.flags || high.carry != CarryIn::Flag {
            return None;
        }
        let sums = match (low.carry, flags) {
            (CarryIn::Zero, false) => processor.compiled::<LongSum<false, 0>, _, _, _, _, _>(),
            (CarryIn::Zero, true) => processor.compiled::<LongSum<true, 0>, _, _, _, _, _>(),
            (CarryIn::One, false) => processor.compiled::<LongSum<false, 1>, _, _, _, _, _>(),
            (CarryIn::One, true) => processor.compiled::<LongSum<true, 1>, _, _, _, _, _>(),
            (CarryIn::Flag, _) => return None,
        };
        Some(LongSumOp { sums, of: [low.of, high.of], flags })
    }
}

/// What executes an instruction, where kernels do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows {
    /// A scheduling word: it is no instruction.
    Nothing,
    Branch(Branch),
    /// An entry of the divergence stack for all running lanes, which go on at this address.
    Push(Wait, u32),
    /// Lanes wait at the nearest entry.
    Wait(Wait),
    /// Lanes end.
    Exit,
    /// A register that says which thread this is, or how many there are.
    Special {
        dst: u8,
        reg: u8,
    },
    Lane {
        forms: Forms,
        dst: u8,
        src: [Src; 3],
    },
    /// Two values are compared, and the result and its complement, each combined with a predicate, become predicates.
    Compare {
        compare: CompareFn,
        src: [Src; 2],
        dst: [u8; 2],
        with: PSrc,
        bop: Bop,
    },
    Sum(SumOp),
    /// This sum and the next instruction.
    LongSum(LongSumOp),
    /// What has no kernel, but concerns registers only.
    Registers,
    /// What concerns more than registers.
    Unit,
    /// What is also done if no lane executes it, or does two things at once.
    Other,
}

impl Rows {
    /// Whether all that it does is to compute registers, predicates and flags.
    pub(super) fn only_computes(&self) -> bool {
        matches!(
            self,
            Rows::Lane { .. } | Rows::Compare { .. } | Rows::Sum(_) | Rows::LongSum(_) | Rows::Registers
        )
    }

    /// How the interpreter executes an instruction.
    pub(crate) fn new(inst: &Inst, processor: Processor) -> Rows {
        let lane = |op: &RowOp, dst: u8, src: [Src; 3]| {
            let used = &src[..op.op.operands()];
            let forms = op.op.kernels(processor).and_then(|k| k.forms(used));
            forms.filter(|_| dst != NULL && !inst.cc).map(|forms| Rows::Lane { forms, dst, src })
        };
        let plain = |src: &[Src]| src.iter().all(|s| s.modifier == Modifier::None);
        let found = match &inst.micro {
            _ if inst.sync => None,
            Micro::Sched => Some(Rows::Nothing),
            Micro::Lane { op, dst, src } => lane(op, *dst, *src),
            Micro::MinMax { dst, src: [a, b], min, max, pick } if pick.num == PSrc::TRUE.num => {
                lane(if pick.not { max } else { min }, *dst, [*a, *b, Src::ZERO])
            }
            Micro::Set { dst: SetDst::Preds(p, q), cmp: Cmp::Rows { op, a, b }, with, bop } if !inst.cc => {
                let compare = op.compiled(processor);
                Some(Rows::Compare { compare, src: [*a, *b], dst: [*p, *q], with: *with, bop: *bop })
            }
            Micro::Sum { dst, src, inv, carry, sat: false, shift } if plain(src) => {
                let of = SumOf { src: *src, flip: *inv, shift: *shift, dst: *dst };
                let [full, partial] = match inst.cc {
                    true => [
                        processor.compiled::<Sum<true, false>, _, _, _, _, _>(),
                        processor.compiled::<Sum<true, true>, _, _, _, _, _>(),
                    ],
                    false => [
                        processor.compiled::<Sum<false, false>, _, _, _, _, _>(),
                        processor.compiled::<Sum<false, true>, _, _, _, _, _>(),
                    ],
                };
                Some(Rows::Sum(SumOp { full, partial, of, carry: *carry, flags: inst.cc }))
            }
            _ => None,
        };
        let other = match &inst.micro {
            Micro::Illegal(_) => Rows::Other,
            Micro::Nop if inst.sync => Rows::Wait(Wait::Ssy),
            _ if inst.sync => Rows::Other,
            // It looks at where the warp is.
            Micro::Lepc { .. } => Rows::Other,
            _ if inst.is_of_registers() => Rows::Registers,
            Micro::Flow(Flow::Ssy(pc)) => Rows::Push(Wait::Ssy, *pc),
            Micro::Flow(Flow::Pbk(pc)) => Rows::Push(Wait::Pbk, *pc),
            Micro::Flow(Flow::Pcnt(pc)) => Rows::Push(Wait::Pcnt, *pc),
            Micro::Flow(Flow::Brk(ALWAYS)) => Rows::Wait(Wait::Pbk),
            Micro::Flow(Flow::Cont(ALWAYS)) => Rows::Wait(Wait::Pcnt),
            Micro::Flow(Flow::Exit(ALWAYS)) => Rows::Exit,
            Micro::S2r { dst, reg } if *dst != NULL && is_of_kernels(*reg) => {
                Rows::Special { dst: *dst, reg: *reg }
            }
            _ => Rows::Unit,
        };
        found.unwrap_or(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::lanes::POOL;
    use crate::state::lanes::hard_values as row;
    use nvir_base::num::int::add_carry;

    #[test]
    fn sums_have_the_flags_of_each_lane() {
        let mut seed = 31;
        for (processor, round) in Processor::all().into_iter().flat_map(|p| (0..400).map(move |n| (p, n))) {
            let before: [LaneVec; 4] = std::array::from_fn(|_| row(&mut seed));
            let pool = [row(&mut seed)];
            let inv = [round & 1 != 0, round & 2 != 0];
            let carry = [CarryIn::Zero, CarryIn::One, CarryIn::Flag][round % 3];
            let src = [Src::row([0, POOL][round % 2]), Src::row([1, 0][round / 2 % 2])];
            let dst = [0, 1, 2, NULL][round / 4 % 4];
            let mut inst =
                Inst::new(Micro::Sum { dst, src, inv, carry, sat: false, shift: (round % 5) as u8 });
            inst.cc = true;
            let Rows::Sum(op) = Rows::new(&inst, processor) else { panic!("a sum") };
            let carries = seed;
            let mask = if round % 7 < 3 { Mask::MAX } else { seed >> 3 };
            let mut regs = before;
            let kernel = if mask == Mask::MAX { op.full } else { op.partial };
            let cc = kernel(&mut regs, &pool, &op.of, &LaneVec::expand(mask), carries);
            for l in 0..LANES {
                let [a, b] = src.map(|s| s.lane(&before, &pool, l));
                let flip = |v: u32, inv: bool| if inv { !v } else { v };
                let (a, b) = (flip(a << (round % 5), inv[0]), flip(b, inv[1]));
                let (s, carry, overflow) = add_carry(a, b, carries >> l & 1 != 0);
                let bit = |mask: Mask| mask >> l & 1 != 0;
                assert_eq!(
                    (bit(cc.zero), bit(cc.sign), bit(cc.carry), bit(cc.overflow)),
                    (s == 0, s >> 31 != 0, carry, overflow),
                    "{a:#x} + {b:#x}"
                );
                for r in 0..before.len() {
                    let written = r == usize::from(dst) && mask >> l & 1 != 0;
                    assert_eq!(regs[r].0[l], if written { s } else { before[r].0[l] }, "R{r}");
                }
            }
        }
    }

    #[test]
    fn joined_sums_are_those_of_their_halves() {
        let mut seed = 47;
        for (processor, round) in Processor::all().into_iter().flat_map(|p| (0..400).map(move |n| (p, n))) {
            let before: [LaneVec; 4] = std::array::from_fn(|_| row(&mut seed));
            let pool = [row(&mut seed)];
            // The second may read or replace what the first writes, and the first be for its carry only.
            let reg = |n: usize| Src::row([0, 1, 2, POOL][n % 4]);
            let sum = |n: usize, carry, cc| {
                let mut inst = Inst::new(Micro::Sum {
                    dst: [0, 1, 2, NULL][n / 16 % 4],
                    src: [reg(n), reg(n / 4)],
                    inv: [n & 1 != 0, n & 2 != 0],
                    carry,
                    sat: false,
                    shift: (n % 5) as u8,
                });
                inst.cc = cc;
                match Rows::new(&inst, processor) {
                    Rows::Sum(op) => op,
                    other => panic!("{other:?}"),
                }
            };
            let low = sum(seed as usize >> 5, [CarryIn::Zero, CarryIn::One][round % 2], true);
            let high = sum(seed as usize >> 13, CarryIn::Flag, false);
            let mask = if round % 7 < 3 { Mask::MAX } else { seed >> 3 };
            let take = LaneVec::expand(mask);
            let mut apart = before;
            let carries = if low.carry == CarryIn::One { Mask::MAX } else { 0 };
            let cc = (low.partial)(&mut apart, &pool, &low.of, &take, carries);
            (high.partial)(&mut apart, &pool, &high.of, &take, cc.carry);
            for flags in [false, true] {
                let joined = LongSumOp::new(&low, &high, flags, processor).expect("such sums");
                let mut regs = before;
                let left = (joined.sums)(&mut regs, &pool, &joined.of, &take, mask);
                assert_eq!(regs, apart, "{low:?} {high:?} of lanes {mask:#x}");
                assert_eq!(left, if flags { cc } else { Cc::default() });
            }
            assert!(LongSumOp::new(&low, &low, true, processor).is_none());
            assert!(LongSumOp::new(&high, &high, true, processor).is_none());
        }
    }
}
