//! The inner loop: through steps, for as long as nothing needs a closer look. It is compiled for what the processor has.

use super::{Yield, act, after_block, lanes_of, pure, unit};
use crate::code::micro::{CarryIn, Inst};
use crate::code::rows::{Rows, SumOp};
use crate::code::steps::{Step, Then};
use crate::cx::Cx;
use crate::state::lanes::{LaneVec, Mask, Scratch};
use crate::state::stack::Wait;
use crate::state::warp::{Side, Warp};
use crate::trap::Trap;
use nvir_simd::{Features, Kernel};

/// Where nothing watches: executes from the instruction at `at` on, as [`super::run`] does, or until control comes to where no
/// instruction is.
#[inline]
pub(super) fn walk(cx: &mut Cx<'_>, w: &mut Warp, at: usize, until: u64) -> Result<Option<Yield>, Trap> {
    let compiled = cx.env.processor.compiled::<Walk, _, _, _, _, _>();
    compiled(&mut Walker { cx, w, at, until }, &(), &(), &(), 0)
}

/// What a walk is told.
struct Walker<'w, 'a> {
    cx: &'w mut Cx<'a>,
    w: &'w mut Warp,
    at: usize,
    until: u64,
}

struct Walk;

impl<'w, 'a> Kernel<Walker<'w, 'a>, (), (), (), Result<Option<Yield>, Trap>> for Walk {
    #[inline(always)]
    fn run<F: Features>(
        walker: &mut Walker<'w, 'a>,
        _: &(),
        _: &(),
        _: &(),
        _: u32,
    ) -> Result<Option<Yield>, Trap> {
        steps(walker.cx, walker.w, walker.at, walker.until)
    }
}

#[inline(always)]
fn steps(cx: &mut Cx<'_>, w: &mut Warp, mut at: usize, until: u64) -> Result<Option<Yield>, Trap> {
    let bound = cx.env.bound;
    let code = &bound.launch.program.code;
    let (pool, steps, insts) = (&bound.pool[..], &bound.steps[..], &bound.insts[..]);
    let (before, left) = (cx.block.steps, until.saturating_sub(cx.block.steps));
    let (mut executed, mut threads) = (0, 0);
    let mut active = w.active;
    let ended = loop {
        let mut step = &steps[at];
        let mut here = at;
        let then = if step.run.steps != 0 {
            let mut rest = step.run.steps;
            executed += u64::from(step.run.instructions);
            threads += u64::from(active.count_ones()) * u64::from(step.run.whole);
            loop {
                let mask = if step.whole { active } else { lanes_of(w, step.guard, step.quad) };
                if !step.whole {
                    threads += u64::from(mask.count_ones()) * u64::from(step.count);
                }
                compute(w, pool, &mut cx.block.scratch, (step, &insts[here]), mask);
                at = step.next as usize;
                rest -= 1;
                if rest == 0 {
                    break;
                }
                here = at;
                step = &steps[at];
            }
            step.then
        } else {
            at = step.next as usize;
            let mask = if step.whole { active } else { lanes_of(w, step.guard, step.quad) };
            executed += u64::from(step.count);
            threads += u64::from(mask.count_ones()) * u64::from(step.count);
            let mut then = step.then;
            let done = match &step.rows {
                Rows::Nothing => true,
                Rows::Other => false,
                _ if mask == 0 => true,
                Rows::Branch(to) if mask == active || to.parts && parts(cx, w, step, mask) => {
                    (at, then) = (to.at as usize, Then::Leader);
                    true
                }
                Rows::Push(wait, to) => w.pushed(*wait, active, *to),
                Rows::Wait(wait) => w.waits(*wait, mask),
                _ => false,
            };
            if !done {
                w.at = step.pc;
                w.pc = step.pc.wrapping_add(step.bytes.into());
                cx.block.steps = before + executed;
                cx.block.thread_steps += threads;
                threads = 0;
                let inst = &insts[here];
                let done = match step.rows {
                    Rows::Unit => unit(cx, w, inst, mask),
                    _ => act(cx, w, inst, mask),
                };
                if done.is_err() {
                    w.pc = w.at;
                    return done.map(|()| None);
                }
                if inst.ends_block() {
                    if let Some(ended) = after_block(cx, w)? {
                        return Ok(Some(ended));
                    }
                    let Some(to) = code.index(w.pc) else { return Ok(None) };
                    (at, then) = (to, behind(&insts[to]));
                }
            } else if w.active == 0 {
                w.at = step.pc;
                // If none of the others runs now, the warp is done, or at fault.
                if w.unwind().is_err() || w.active == 0 {
                    break None;
                }
                let Some(to) = code.index(w.pc) else { break None };
                (at, then) = (to, behind(&insts[to]));
            }
            active = w.active;
            then
        };
        match then {
            Then::Same => {}
            Then::Leader if executed < left => {}
            Then::Leader => {
                w.pc = steps[at].pc;
                break Some(Yield::Slice);
            }
            Then::Nothing => {
                w.pc = step.pc.wrapping_add(((at - here) as u32) << code.step());
                break None;
            }
        }
    };
    cx.block.steps = before + executed;
    cx.block.thread_steps += threads;
    if w.active == 0 { after_block(cx, w) } else { Ok(ended) }
}

/// What is behind an instruction from which control goes to this one.
#[inline(always)]
fn behind(to: &Inst) -> Then {
    if to.leader { Then::Leader } else { Then::Same }
}

/// A branch that some of the running lanes take, which run first: whether the others have found room to wait.
#[inline(always)]
fn parts(cx: &Cx<'_>, w: &mut Warp, step: &Step, taken: Mask) -> bool {
    let others = w.active & !taken;
    let parted =
        cx.env.first == Side::Taken && w.pushed(Wait::Div, others, step.pc.wrapping_add(step.bytes.into()));
    if parted {
        w.active = taken;
    }
    parted
}

/// Executes a step of a run.
#[inline(always)]
fn compute(w: &mut Warp, pool: &[LaneVec], scratch: &mut Scratch, (step, inst): (&Step, &Inst), mask: Mask) {
    match &step.rows {
        _ if mask == 0 => {}
        Rows::Lane { forms, dst, src } if mask == Mask::MAX => {
            (forms.full)(&mut w.regs, pool, src, &LaneVec::ZERO, (*dst).into());
        }
        Rows::Lane { forms, dst, src } => {
            (forms.partial)(&mut w.regs, pool, src, scratch.take(mask), (*dst).into());
        }
        Rows::Compare { compare, src, dst, with, bop } => {
            let a = src[0].get(&w.regs, pool, &mut scratch.a);
            let b = src[1].get(&w.regs, pool, &mut scratch.b);
            let hit = compare(&mut (), a, b, &(), 0);
            let with = w.pred(*with);
            w.set_pred(dst[1], mask, bop.of(!hit, with));
            w.set_pred(dst[0], mask, bop.of(hit, with));
        }
        Rows::Sum(op) => sum(w, pool, scratch, op, mask),
        Rows::LongSum(op) => {
            let take = if mask == Mask::MAX { &LaneVec::ALL } else { scratch.take(mask) };
            let cc = (op.sums)(&mut w.regs, pool, &op.of, take, mask);
            if op.flags {
                w.cc.blend(mask, cc);
            }
        }
        _ => {
            pure::execute(w, pool, scratch, inst, mask);
        }
    }
}

#[inline(always)]
fn sum(w: &mut Warp, pool: &[LaneVec], scratch: &mut Scratch, op: &SumOp, mask: Mask) {
    let carries = match op.carry {
        CarryIn::Zero => 0,
        CarryIn::One => Mask::MAX,
        CarryIn::Flag => w.cc.carry,
    };
    let mut cc = match mask {
        Mask::MAX => (op.full)(&mut w.regs, pool, &op.of, &LaneVec::ZERO, carries),
        _ => (op.partial)(&mut w.regs, pool, &op.of, scratch.take(mask), carries),
    };
    if op.flags {
        pure::continue_sum(w, op.carry, &mut cc);
        w.cc.blend(mask, cc);
    }
}
