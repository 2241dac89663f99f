//! The inner loop: through steps, for as long as nothing needs a closer look. It is compiled for what the processor has.

use super::{Yield, act, bad_pc, lanes_of, none_runs, pure, unit};
use crate::code::micro::{CarryIn, Inst};
use crate::code::rows::{Rows, SumOp};
use crate::code::steps::{Step, Then};
use crate::cx::Cx;
use crate::state::lanes::{LaneVec, Mask, Scratch};
use crate::state::stack::Wait;
use crate::state::warp::{Side, State, Warp};
use crate::trap::Trap;
use crate::units::special::kernel_row;
use nvir_simd::{Features, Kernel};

/// What [`super::run`] does where nothing watches.
#[inline]
pub(super) fn walk(cx: &mut Cx<'_>, w: &mut Warp, until: u64) -> Result<Yield, Trap> {
    let compiled = cx.env.processor.compiled::<Walk, _, _, _, _, _>();
    compiled(&mut Walker { cx, w, until }, &(), &(), &(), 0)
}

/// The arguments of a walk.
struct Walker<'w, 'a> {
    cx: &'w mut Cx<'a>,
    w: &'w mut Warp,
    until: u64,
}

struct Walk;

impl<'w, 'a> Kernel<Walker<'w, 'a>, (), (), (), Result<Yield, Trap>> for Walk {
    #[inline(always)]
    fn run<F: Features>(walker: &mut Walker<'w, 'a>, _: &(), _: &(), _: &(), _: u32) -> Result<Yield, Trap> {
        steps(walker.cx, walker.w, walker.until)
    }
}

#[inline(always)]
fn steps(cx: &mut Cx<'_>, w: &mut Warp, until: u64) -> Result<Yield, Trap> {
    let bound = cx.env.bound;
    let code = &bound.launch.program.code;
    let (pool, steps, insts) = (&bound.pool[..], &bound.steps[..], &bound.insts[..]);
    let (before, left) = (cx.block.steps, until.saturating_sub(cx.block.steps));
    let (mut executed, mut threads) = (0, 0);
    let mut active = w.active;
    // Where control goes on is what the warp says, until steps do.
    let (mut at, mut then) = (0, Then::Elsewhere);
    let ended = loop {
        if then != Then::Same {
            if then == Then::Elsewhere {
                let Some(found) = code.index(w.pc) else {
                    w.at = w.pc;
                    break Err(bad_pc(w, code.alignment()));
                };
                at = found;
            }
            if executed >= left && steps[at].leader {
                w.pc = steps[at].pc;
                w.at = w.pc;
                break Ok(Yield::Slice);
            }
        }
        let mut step = &steps[at];
        let mut here = at;
        then = if step.run.steps != 0 {
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
            let (mut then, mut waits) = (step.then, false);
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
                Rows::Special { dst, reg } if cx.env.stage.is_none() => {
                    kernel_row(cx, w, mask, *dst, *reg);
                    true
                }
                Rows::Exit if cx.env.stage.is_none() => {
                    w.exit(mask);
                    true
                }
                _ => false,
            };
            if !done {
                w.at = step.pc;
                w.pc = step.pc.wrapping_add(step.bytes.into());
                cx.block.steps = before + executed;
                let inst = &insts[here];
                let done = match step.rows {
                    Rows::Unit | Rows::Exit | Rows::Special { .. } => unit(cx, w, inst, mask),
                    _ => act(cx, w, inst, mask),
                };
                if let Err(trap) = done {
                    w.pc = w.at;
                    break Err(trap);
                }
                if inst.ends_block() {
                    waits = cx.block.warp_states[w.index as usize] != State::Ready;
                    then = Then::Elsewhere;
                }
            }
            if w.active == 0 {
                (w.at, then) = (step.pc, Then::Elsewhere);
                w.pc = step.pc.wrapping_add(step.bytes.into());
                if !w.resumes() {
                    break none_runs(cx, w);
                }
            }
            if waits {
                break Ok(Yield::Wait);
            }
            active = w.active;
            then
        };
        if then == Then::Nothing {
            w.pc = step.pc.wrapping_add(((at - here) as u32) << code.step());
            then = Then::Elsewhere;
        }
    };
    cx.block.steps = before + executed;
    cx.block.thread_steps += threads;
    ended
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
        rows => {
            scratch.take(mask);
            compute_other(w, pool, scratch, (rows, inst), mask);
        }
    }
}

/// The same of less frequent ones. Apart, so that two tests find the others, and not a table of jumps.
#[inline(never)]
fn compute_other(
    w: &mut Warp,
    pool: &[LaneVec],
    scratch: &mut Scratch,
    (rows, inst): (&Rows, &Inst),
    mask: Mask,
) {
    match rows {
        Rows::Sum(op) => sum(w, pool, scratch, op, mask),
        Rows::LongSum(op) => {
            let cc = (op.sums)(&mut w.regs, pool, &op.of, scratch.take(mask), mask);
            if op.flags {
                w.cc.blend(mask, cc);
            }
        }
        _ => {
            pure::execute(w, pool, scratch, inst, mask);
        }
    }
}

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
