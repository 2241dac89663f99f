//! What instructions do to a warp's registers: everything but memory, control flow and barriers.

use crate::code::micro::{
    Bop, CarryIn, Cmp, Inst, Micro, MinMaxPart, NULL, PSrc, SetDst, ShflMode, Src2, VoteMode,
};
use crate::code::surfop::{clamp, subfm};
use crate::code::wideop::WideOp;
use crate::state::lanes::{LANES, LaneVec, Mask, Scratch, Src, lanes};
use crate::state::warp::{Cc, FLAGS, PREDS, Warp};
use nvir_base::num::float::{self, ftz32};
use nvir_base::num::int;
use nvir_simd::Processor;

#[inline]
fn write(w: &mut Warp, dst: u8, mask: Mask, row: &LaneVec) {
    if dst != NULL {
        w.regs[dst as usize].blend(mask, row);
    }
}

/// Executes a register-only instruction for the lanes of `mask`; whether it was one.
#[inline]
pub(crate) fn execute(w: &mut Warp, pool: &[LaneVec], s: &mut Scratch, inst: &Inst, mask: Mask) -> bool {
    match &inst.micro {
        Micro::Lane { op, dst, src } => {
            op.apply(mask, &src.map(|s| s.value(&w.regs, pool)), &mut s.out);
            write(w, *dst, mask, &s.out);
            if inst.cc {
                flags(w, inst, mask, &s.out);
            }
        }
        Micro::Set { dst, cmp, with, bop } => {
            set(w, pool, s, mask, *dst, cmp, *with, *bop);
            if inst.cc {
                flags(w, inst, mask, &s.out);
            }
        }
        _ => return execute_rare(w, pool, s, inst, mask),
    }
    true
}

/// CC from a result without carry and overflow.
fn flags(w: &mut Warp, inst: &Inst, mask: Mask, out: &LaneVec) {
    let mut zero = out.mask(|v| v == 0);
    if inst.chain {
        zero &= w.cc.zero;
    }
    let sign = out.mask(|v| v >> 31 != 0);
    w.cc.blend(mask, Cc { zero, sign, carry: 0, overflow: 0 });
}

fn wide(w: &Warp, pool: &[LaneVec], s: Src2, lane: usize) -> u64 {
    u64::from(s.lo.lane(&w.regs, pool, lane)) | u64::from(s.hi.lane(&w.regs, pool, lane)) << 32
}

fn execute_rare(w: &mut Warp, pool: &[LaneVec], s: &mut Scratch, inst: &Inst, mask: Mask) -> bool {
    let get = |w: &Warp, src: Src, lane| src.lane(&w.regs, pool, lane);
    match &inst.micro {
        Micro::Sched | Micro::Nop => return true,
        Micro::Sum { .. } | Micro::Mad { .. } => {
            sums(w, pool, s, inst, mask);
            return true;
        }
        Micro::MinMax { .. } | Micro::MinMax64 { .. } | Micro::MinMaxX { .. } => {
            min_max(w, pool, s, inst, mask);
            return true;
        }
        Micro::P2r { .. } | Micro::R2p { .. } => {
            state(w, pool, s, inst, mask);
            return true;
        }
        Micro::SuClamp { .. } | Micro::SuBfm { .. } => {
            coordinates(w, pool, s, inst, mask);
            return true;
        }
        Micro::Wide { op, dst, wide: is_wide, src } => {
            for l in lanes(mask) {
                let v = op.eval(wide(w, pool, src[0], l), wide(w, pool, src[1], l), wide(w, pool, src[2], l));
                (s.out.0[l], s.out2.0[l]) = (v as u32, (v >> 32) as u32);
            }
            write_wide(w, s, *dst, *is_wide, mask);
        }
        Micro::Sel { dst, src, pick } => {
            let pick = w.pred(*pick);
            s.out = *src[1].get(&w.regs, pool, &mut s.b);
            let a = src[0].get(&w.regs, pool, &mut s.a);
            s.out.blend(pick, a);
            write(w, *dst, mask, &s.out);
        }
        Micro::Fswz { dst, src, swizzle, ops, ftz } => {
            let from = |l: usize| match swizzle {
                k @ 0..4 => (l & !3) | usize::from(*k),
                4 => l ^ 1,
                _ => l ^ 2,
            };
            for l in 0..LANES {
                let (a, b) = (get(w, src[0], from(l)), get(w, src[1], l));
                let (a, b) = if *ftz { (ftz32(a), ftz32(b)) } else { (a, b) };
                let neg = 0x8000_0000;
                s.out.0[l] = match ops >> (6 - 2 * (l & 3)) & 3 {
                    0 => float::add32(a, b, Default::default()),
                    1 => float::add32(a ^ neg, b, Default::default()),
                    2 => float::add32(a, b ^ neg, Default::default()),
                    _ => b,
                };
            }
            write(w, *dst, mask, &s.out);
        }
        Micro::B2r { dst, pred } => {
            let v = w.reduction;
            write(w, *dst, mask, &LaneVec::splat(v));
            w.set_pred(*pred, mask, if v != 0 { Mask::MAX } else { 0 });
        }
        Micro::Lepc { dst } => {
            let pc = w.pc;
            write(w, *dst, mask, &LaneVec::splat(pc));
        }
        Micro::Vote { mode, dst, pdst, src } => {
            let ballot = w.pred(*src) & mask;
            let hit = match mode {
                VoteMode::All => ballot == mask,
                VoteMode::Any => ballot != 0,
                VoteMode::Eq => ballot == mask || ballot == 0,
            };
            write(w, *dst, mask, &LaneVec::splat(ballot));
            w.set_pred(*pdst, mask, if hit { Mask::MAX } else { 0 });
        }
        Micro::Shfl { dst, pdst, src, .. } => {
            let (from, inside) = shuffle_sources(w, pool, inst);
            let values = src[0].get(&w.regs, pool, &mut s.a);
            s.out.0.iter_mut().zip(from).for_each(|(out, from)| *out = values.0[from as usize & 31]);
            write(w, *dst, mask, &s.out);
            w.set_pred(*pdst, mask, inside);
        }
        _ => return false,
    }
    if inst.cc {
        flags(w, inst, mask, &s.out);
    }
    true
}

/// Sums and products with carries, which set their own flags.
fn sums(w: &mut Warp, pool: &[LaneVec], s: &mut Scratch, inst: &Inst, mask: Mask) {
    let get = |w: &Warp, src: Src, lane| src.lane(&w.regs, pool, lane);
    match &inst.micro {
        Micro::Sum { dst, src, inv, carry, sat, shift } => {
            let mut cc = Cc::default();
            for l in lanes(mask) {
                let operand = |n: usize, shift: u8| {
                    let v = get(w, src[n], l) << shift;
                    if inv[n] { !v } else { v }
                };
                let (sum, carry, overflow) =
                    int::add_carry(operand(0, *shift), operand(1, 0), carry_in(w, *carry, l));
                // A sum that overflows has the wrong sign.
                let saturated = i32::MIN as u32 ^ 0u32.wrapping_sub(sum >> 31);
                s.out.0[l] = if *sat && overflow { saturated } else { sum };
                sum_flags(&mut cc, l, s.out.0[l], carry, overflow);
            }
            finish_sum(w, s, inst, *dst, mask, cc, *carry);
        }
        Micro::Mad { dst, src, signed, hi, neg, carry, sat } => {
            let carry = if neg[1] && *carry == CarryIn::Zero { CarryIn::One } else { *carry };
            let mut cc = Cc::default();
            for l in lanes(mask) {
                let factor = |n: usize| int::factor(get(w, src[n], l), signed[n]);
                let p = int::mul_wide(factor(0), factor(1));
                // A negated low half is a complement and a carry; a high half takes the carry of its low one.
                let (part, carry) = match (neg[0], *hi) {
                    (false, false) => (p as u32, carry),
                    (false, true) => ((p >> 32) as u32, carry),
                    (true, true) => ((p.wrapping_neg() >> 32) as u32, carry),
                    (true, false) if carry == CarryIn::Zero => (!(p as u32), CarryIn::One),
                    (true, false) => (!(p as u32), carry),
                };
                let c = get(w, src[2], l);
                let c = if neg[1] { !c } else { c };
                let (sum, cout, o) = int::add_carry(part, c, carry_in(w, carry, l));
                let sum = if *sat && o { (i32::MAX as u32) ^ (0u32.wrapping_sub(part >> 31)) } else { sum };
                s.out.0[l] = sum;
                sum_flags(&mut cc, l, sum, cout, o);
            }
            finish_sum(w, s, inst, *dst, mask, cc, carry);
        }
        _ => {}
    }
}

/// Minima and maxima.
fn min_max(w: &mut Warp, pool: &[LaneVec], s: &mut Scratch, inst: &Inst, mask: Mask) {
    let get = |w: &Warp, src: Src, lane| src.lane(&w.regs, pool, lane);
    match &inst.micro {
        Micro::MinMax { dst, src, min, max, pick } => {
            let pick = w.pred(*pick);
            let [a, b] = src.map(|s| s.value(&w.regs, pool));
            max.apply(mask, &[a, b, LaneVec::ZERO], &mut s.out);
            min.apply(mask, &[a, b, LaneVec::ZERO], &mut s.out2);
            s.out.blend(pick, &s.out2);
            write(w, *dst, mask, &s.out);
        }
        Micro::MinMax64 { dst, src, pick } => {
            let pick = w.pred(*pick);
            for l in lanes(mask) {
                let (a, b) = (wide(w, pool, src[0], l), wide(w, pool, src[1], l));
                let op = if pick >> l & 1 != 0 { WideOp::Min } else { WideOp::Max };
                let v = op.eval(a, b, 0);
                (s.out.0[l], s.out2.0[l]) = (v as u32, (v >> 32) as u32);
            }
            write_wide(w, s, *dst, true, mask);
        }
        Micro::MinMaxX { dst, src, signed, pick, part } => {
            let (pick, mut cc) = (w.pred(*pick), w.cc);
            for l in lanes(mask) {
                let (a, b) = (get(w, src[0], l), get(w, src[1], l));
                // Zero: equal so far. Sign: the first operand is less.
                let decided = *part != MinMaxPart::High && w.cc.zero >> l & 1 == 0;
                let less = if decided {
                    w.cc.sign >> l & 1 != 0
                } else if *signed && *part == MinMaxPart::High {
                    (a as i32) < b as i32
                } else {
                    a < b
                };
                s.out.0[l] = if less == (pick >> l & 1 != 0) { a } else { b };
                let one = Cc {
                    zero: u32::from(!decided && a == b) << l,
                    sign: u32::from(less) << l,
                    carry: 0,
                    overflow: 0,
                };
                cc.blend(1 << l, one);
            }
            write(w, *dst, mask, &s.out);
            if inst.cc {
                w.cc = cc;
            }
            return;
        }
        _ => {}
    }
    if inst.cc {
        flags(w, inst, mask, &s.out);
    }
}

/// Predicates and condition code as a word.
fn state(w: &mut Warp, pool: &[LaneVec], s: &mut Scratch, inst: &Inst, mask: Mask) {
    let get = |w: &Warp, src: Src, lane| src.lane(&w.regs, pool, lane);
    match &inst.micro {
        Micro::P2r { dst, src, mask: select, high } => {
            for l in lanes(mask) {
                let shift = if *high { 16 } else { 0 };
                let select = (get(w, *select, l) & (PREDS | FLAGS)) << shift;
                s.out.0[l] = (w.state_word(l) << shift & select) | (get(w, *src, l) & !select);
            }
            write(w, *dst, mask, &s.out);
        }
        Micro::R2p { src, mask: select, high } => {
            for l in lanes(mask) {
                let v = get(w, *src, l) >> if *high { 16 } else { 0 };
                w.set_state_word(l, v, get(w, *select, l));
            }
            // Its flags are not those of a result.
            return;
        }
        _ => {}
    }
    if inst.cc {
        flags(w, inst, mask, &s.out);
    }
}

/// Surface coordinates.
fn coordinates(w: &mut Warp, pool: &[LaneVec], s: &mut Scratch, inst: &Inst, mask: Mask) {
    let get = |w: &Warp, src: Src, lane| src.lane(&w.regs, pool, lane);
    match &inst.micro {
        Micro::SuClamp { dst, pdst, src, how } => {
            let mut outside = 0;
            for l in lanes(mask) {
                let bias = get(w, src[2], l) as i32;
                let (v, out) = clamp(get(w, src[0], l), get(w, src[1], l), bias, *how);
                s.out.0[l] = v;
                outside |= u32::from(out) << l;
            }
            write(w, *dst, mask, &s.out);
            w.set_pred(*pdst, mask, outside);
        }
        Micro::SuBfm { dst, pdst, src, three_d } => {
            let mut outside = 0;
            for l in lanes(mask) {
                let [x, y, z] = src.map(|s| get(w, s, l));
                let (v, out) = subfm(x, y, z, *three_d);
                s.out.0[l] = v;
                outside |= u32::from(out) << l;
            }
            write(w, *dst, mask, &s.out);
            w.set_pred(*pdst, mask, outside);
        }
        _ => {}
    }
    if inst.cc {
        flags(w, inst, mask, &s.out);
    }
}

/// The same for what a warp has in its registers.
fn shuffle_sources(w: &Warp, pool: &[LaneVec], inst: &Inst) -> ([u32; LANES], Mask) {
    let Micro::Shfl { mode, src, .. } = &inst.micro else {
        return (std::array::from_fn(|l| l as u32), Mask::MAX);
    };
    let (mut a, mut b) = (LaneVec::ZERO, LaneVec::ZERO);
    shuffle(*mode, [src[1].get(&w.regs, pool, &mut a), src[2].get(&w.regs, pool, &mut b)])
}

/// The lane that each lane gets a value of in a SHFL with these second and third operands, and the lanes for which there is one:
/// others get their own. Source: PTX ISA, `shfl`.
pub fn shuffle(mode: ShflMode, operands: [&LaneVec; 2]) -> ([u32; LANES], Mask) {
    match mode {
        ShflMode::Idx => each_source(operands, |_, by, segment, [low, high]| {
            let j = low | by & !segment;
            (j, j <= high)
        }),
        ShflMode::Up => each_source(operands, |lane, by, _, [_, high]| {
            (lane.wrapping_sub(by), lane as i32 - by as i32 >= high as i32)
        }),
        ShflMode::Down => each_source(operands, |lane, by, _, [_, high]| (lane + by, lane + by <= high)),
        ShflMode::Bfly => each_source(operands, |lane, by, _, [_, high]| (lane ^ by, lane ^ by <= high)),
    }
}

/// The same by what a mode makes of a lane, the second operand, bits of the segment, and the segment's first and last lane.
#[inline(always)]
fn each_source(
    [by, c]: [&LaneVec; 2],
    source: impl Fn(u32, u32, u32, [u32; 2]) -> (u32, bool),
) -> ([u32; LANES], Mask) {
    let (mut from, mut inside) = ([0; LANES], LaneVec::ZERO);
    for (l, from) in from.iter_mut().enumerate() {
        let lane = l as u32;
        let (clamp, segment) = (c.0[l] & 31, c.0[l] >> 8 & 31);
        let ends = [lane & segment, lane & segment | clamp & !segment];
        let (j, ok) = source(lane, by.0[l] & 31, segment, ends);
        (*from, inside.0[l]) = (if ok { j & 31 } else { lane }, ok.into());
    }
    (from, inside.mask(|v| v != 0))
}

/// What a SHFL brings to each lane, of any property of its operand.
pub(crate) fn shuffled(w: &Warp, pool: &[LaneVec], inst: &Inst, of: impl Fn(Src, usize) -> u32) -> LaneVec {
    let Micro::Shfl { src, .. } = &inst.micro else { return LaneVec::ZERO };
    LaneVec(shuffle_sources(w, pool, inst).0.map(|from| of(src[0], from as usize)))
}

fn write_wide(w: &mut Warp, s: &Scratch, dst: u8, wide: bool, mask: Mask) {
    write(w, dst, mask, &s.out);
    if wide && dst != NULL {
        write(w, dst + 1, mask, &s.out2);
    }
}

fn carry_in(w: &Warp, carry: CarryIn, lane: usize) -> bool {
    match carry {
        CarryIn::Zero => false,
        CarryIn::One => true,
        CarryIn::Flag => w.cc.carry >> lane & 1 != 0,
    }
}

fn sum_flags(cc: &mut Cc, lane: usize, sum: u32, carry: bool, overflow: bool) {
    cc.zero |= u32::from(sum == 0) << lane;
    cc.sign |= (sum >> 31) << lane;
    cc.carry |= u32::from(carry) << lane;
    cc.overflow |= u32::from(overflow) << lane;
}

/// A continued sum is zero if all its words are.
pub(super) fn continue_sum(w: &Warp, carry: CarryIn, cc: &mut Cc) {
    if carry == CarryIn::Flag {
        cc.zero &= w.cc.zero;
    }
}

fn finish_sum(w: &mut Warp, s: &Scratch, inst: &Inst, dst: u8, mask: Mask, mut cc: Cc, carry: CarryIn) {
    write(w, dst, mask, &s.out);
    if inst.cc {
        continue_sum(w, carry, &mut cc);
        w.cc.blend(mask, cc);
    }
}

/// The lanes for which a comparison holds.
pub(crate) fn hit(w: &Warp, pool: &[LaneVec], s: &mut Scratch, mask: Mask, cmp: &Cmp) -> Mask {
    match *cmp {
        Cmp::Rows { op, a, b } => {
            let [a, b] = [a.get(&w.regs, pool, &mut s.a), b.get(&w.regs, pool, &mut s.b)];
            op.compiled(Processor::detect())(&mut (), a, b, &(), 0)
        }
        Cmp::IntX { test, signed, a, b } => {
            let mut m = 0;
            for l in lanes(mask) {
                let (a, b) = (a.lane(&w.regs, pool, l), b.lane(&w.regs, pool, l));
                let value = |v: u32| if signed { i64::from(v as i32) } else { i64::from(v) };
                let diff = value(a) - value(b) - i64::from(w.cc.carry >> l & 1 == 0);
                let bit = match diff {
                    0 if w.cc.zero >> l & 1 != 0 => 2,
                    i64::MIN..0 => 1,
                    _ => 4,
                };
                m |= u32::from(test & bit != 0) << l;
            }
            m
        }
        Cmp::F64 { test, a, b } => lanes(mask).fold(0, |m, l| {
            m | u32::from(float::test64(test, wide(w, pool, a, l), wide(w, pool, b, l))) << l
        }),
        Cmp::Preds { a, b, bop } => bop.of(w.pred(a), w.pred(b)),
        Cmp::Cc(test) => w.cc.test(test).unwrap_or(0),
    }
}

#[expect(clippy::too_many_arguments, reason = "the operands of one micro-op")]
fn set(
    w: &mut Warp,
    pool: &[LaneVec],
    s: &mut Scratch,
    mask: Mask,
    dst: SetDst,
    cmp: &Cmp,
    with: PSrc,
    bop: Bop,
) {
    let hit = hit(w, pool, s, mask, cmp);
    let with = w.pred(with);
    match dst {
        SetDst::Preds(p, q) => {
            w.set_pred(q, mask, bop.of(!hit, with));
            w.set_pred(p, mask, bop.of(hit, with));
        }
        SetDst::Reg { dst, bf } => {
            let all = bop.of(hit, with);
            let yes = if bf { 0x3f80_0000 } else { u32::MAX };
            for l in 0..LANES {
                s.out.0[l] = if all >> l & 1 != 0 { yes } else { 0 };
            }
            write(w, dst, mask, &s.out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lanes of parts of so many threads that CUDA's shuffles read: as their manual has them, by width.
    fn in_parts(mode: ShflMode, lane: u32, by: u32, width: u32) -> Option<u32> {
        let (first, within) = (lane / width * width, lane % width);
        match mode {
            ShflMode::Idx => Some(first + by % width),
            ShflMode::Up => within.checked_sub(by).map(|l| first + l),
            ShflMode::Down => Some(within + by).filter(|l| *l < width).map(|l| first + l),
            ShflMode::Bfly => Some(within ^ by).filter(|l| *l < width).map(|l| first + l),
        }
    }

    #[test]
    fn shuffles_read_within_parts_of_warps() {
        for (mode, last) in
            [(ShflMode::Idx, 0x1f), (ShflMode::Up, 0), (ShflMode::Down, 0x1f), (ShflMode::Bfly, 0x1f)]
        {
            for width in [1, 2, 4, 8, 16, 32] {
                for by in 0..width {
                    // What is above the lowest five bits does not count.
                    let operands = [by | 0x40, (32 - width) << 8 | last].map(LaneVec::splat);
                    let (from, inside) = shuffle(mode, [&operands[0], &operands[1]]);
                    for lane in 0..LANES as u32 {
                        let want = in_parts(mode, lane, by, width);
                        let got = (from[lane as usize], inside >> lane & 1 != 0);
                        let what = format!("{mode:?} {by} of {width}, lane {lane}");
                        assert_eq!(got, (want.unwrap_or(lane), want.is_some()), "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_lane_may_name_another_one() {
        let reverse = LaneVec(std::array::from_fn(|l| 31 - l as u32));
        let (from, inside) = shuffle(ShflMode::Idx, [&reverse, &LaneVec::splat(0x1f)]);
        assert_eq!((from, inside), (reverse.0, Mask::MAX));
        // Up to lane 15 in the lower half only.
        let limit = LaneVec(std::array::from_fn(|l| if l < 16 { 15 } else { 31 }));
        let (from, inside) = shuffle(ShflMode::Down, [&LaneVec::splat(1), &limit]);
        assert_eq!((from[14], from[15], from[16], from[31], inside), (15, 15, 17, 31, 0x7fff_7fff));
    }
}
