//! How the interpreter executes the most frequent instructions: by kernels that read operands from rows of registers and of uniform
//! values, and write the destination's row.
//!
//! They are chosen when code is decoded, by operation, modifiers of operands and what the processor has; of each there is one for full
//! warps and one that leaves lanes that are off as they are. What they compute is defined by [`super::laneop`] and [`super::compare`].

use super::compare::CompareFn;
use super::kernel::{Forms, merge, stored};
use super::laneop::RowOp;
use super::micro::{Bop, CarryIn, Cmp, Flow, Inst, Micro, NULL, PSrc, SetDst};
use super::steps::{ALWAYS, Branch};
use crate::state::lanes::{LANES, LaneVec, Modifier, Src};
use crate::state::stack::Wait;
use crate::state::warp::Cc;
use nvir_simd::{Compiled, Features, Kernel, Processor, sign_bits};

/// What is added, beside a carry: `a` shifted to the left and `b`, each its complement where `flip` is all ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumOf {
    src: [Src; 2],
    flip: [u32; 2],
    shift: u32,
    dst: u32,
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
        let [a, b] = of.src.map(|s| stored(regs, pool, s));
        let (mut sum, mut carry, mut overflow) = (LaneVec::ZERO, LaneVec::ZERO, LaneVec::ZERO);
        for i in 0..LANES {
            let (a, b) = (a.0[i] << (of.shift & 31) ^ of.flip[0], b.0[i] ^ of.flip[1]);
            let s = a.wrapping_add(b).wrapping_add(carries >> i & 1);
            sum.0[i] = s;
            carry.0[i] = a & b | (a | b) & !s;
            overflow.0[i] = (a ^ s) & (b ^ s);
        }
        let mut cc = Cc::default();
        if FLAGS {
            let zero = LaneVec(sum.0.map(|v| if v == 0 { u32::MAX } else { 0 }));
            cc = Cc {
                zero: sign_bits(&zero.0),
                sign: sign_bits(&sum.0),
                carry: sign_bits(&carry.0),
                overflow: sign_bits(&overflow.0),
            };
        }
        if of.dst != u32::from(NULL) {
            let dst = &mut regs[of.dst as usize];
            if PARTIAL {
                merge(&*dst, take, &mut sum);
            }
            *dst = sum;
        }
        cc
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
    /// What has no kernel, but concerns registers only.
    Registers,
    /// What concerns more than registers.
    Unit,
    /// What is also done if no lane executes it, or does two things at once.
    Other,
}

impl Rows {
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
                let of = SumOf {
                    src: *src,
                    flip: inv.map(|inv| if inv { u32::MAX } else { 0 }),
                    shift: (*shift).into(),
                    dst: (*dst).into(),
                };
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
            _ if inst.is_of_registers() => Rows::Registers,
            Micro::Flow(Flow::Ssy(pc)) => Rows::Push(Wait::Ssy, *pc),
            Micro::Flow(Flow::Pbk(pc)) => Rows::Push(Wait::Pbk, *pc),
            Micro::Flow(Flow::Pcnt(pc)) => Rows::Push(Wait::Pcnt, *pc),
            Micro::Flow(Flow::Brk(ALWAYS)) => Rows::Wait(Wait::Pbk),
            Micro::Flow(Flow::Cont(ALWAYS)) => Rows::Wait(Wait::Pcnt),
            _ => Rows::Unit,
        };
        found.unwrap_or(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::lanes::POOL;
    use crate::state::lanes::{Mask, hard_values as row};
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
}
