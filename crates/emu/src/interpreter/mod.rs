//! The interpreter: micro-ops one after the other. It executes everything, with every checker.

pub(crate) mod pure;
mod walk;

use crate::check::{definedness, trace};
use crate::code::micro::{Flow, Inst, Micro, NULL, PSrc, Space};
use crate::code::rows::Rows;
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::stage;
use crate::state::lanes::{LANES, LaneVec, Mask, lanes};
use crate::state::stack::Wait;
use crate::state::warp::{State as WarpState, Warp};
use crate::trap::Trap;
use crate::units::special::special_row;
use crate::units::{flow, memory, surface, texture};

/// Why an executor has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yield {
    /// The block has executed as many instructions as it may, and a basic block begins.
    Slice,
    /// The warp waits at a barrier.
    Wait,
    /// All its lanes have ended.
    Done,
    /// The instruction that the warp is at is one for the interpreter: a fault, or what the executor does not know.
    Step,
}

/// Runs a warp until it waits or is done, or until the block has executed `until` instructions and a basic block begins. A fault is
/// at [`Warp::at`].
pub fn run(cx: &mut Cx<'_>, w: &mut Warp, until: u64) -> Result<Yield, Trap> {
    if !(cx.env.checks.init || cx.env.profile || cx.trace.is_some()) {
        return walk::walk(cx, w, until);
    }
    let code = &cx.env.bound.launch.program.code;
    let insts = &cx.env.bound.insts[..];
    loop {
        w.at = w.pc;
        let Some(at) = code.index(w.pc) else { return Err(bad_pc(w, code.alignment())) };
        if insts[at].leader && cx.block.steps >= until {
            return Ok(Yield::Slice);
        }
        if let Some(end) = block(cx, w, at)? {
            return Ok(end);
        }
    }
}

/// Executes one instruction after the other to the end of the basic block.
fn block(cx: &mut Cx<'_>, w: &mut Warp, mut at: usize) -> Result<Option<Yield>, Trap> {
    let insts = &cx.env.bound.insts[..];
    let step = cx.env.bound.launch.program.code.step();
    loop {
        let inst = &insts[at];
        advance(w, inst);
        if !matches!(inst.micro, Micro::Sched) {
            execute(cx, w, inst, at)?;
        }
        // What is behind the end of a block is a leader.
        at += usize::from(inst.bytes) >> step;
        if insts.get(at).is_none_or(|next| next.leader) {
            return after_block(cx, w);
        }
    }
}

/// A warp begins the instruction that it is at, and is then behind it.
#[inline(always)]
fn advance(w: &mut Warp, inst: &Inst) {
    w.at = w.pc;
    w.pc = w.pc.wrapping_add(u32::from(inst.bytes));
}

/// The lanes that execute an instruction.
#[inline(always)]
fn lanes_of(w: &Warp, guard: PSrc, quad: u8) -> Mask {
    let mask = w.active & w.pred(guard);
    if quad == 15 { mask } else { mask & (Mask::from(quad) * 0x1111_1111) }
}

/// Executes the instruction that a warp is at.
pub fn step(cx: &mut Cx<'_>, w: &mut Warp) -> Result<Option<Yield>, Trap> {
    let bound = cx.env.bound;
    w.at = w.pc;
    let code = &bound.launch.program.code;
    let Some(at) = code.index(w.pc) else { return Err(bad_pc(w, code.alignment())) };
    let inst = &bound.insts[at];
    advance(w, inst);
    if !matches!(inst.micro, Micro::Sched) {
        execute(cx, w, inst, at)?;
    }
    after_block(cx, w)
}

/// Executes the transfer of control or barrier that a warp is at, if it is one of the usual ones and no fault: what [`step`] does
/// with less ado. The instruction must not be one that faults in this launch only.
pub fn transfer(cx: &mut Cx<'_>, w: &mut Warp, inst: &Inst) -> Option<Result<Option<Yield>, Trap>> {
    let usual = match inst.micro {
        Micro::Nop => inst.sync,
        Micro::Bar { .. } => !inst.sync,
        Micro::Flow(flow) => !matches!(flow, Flow::Brx { .. } | Flow::Kil(_)),
        _ => false,
    };
    if !usual || inst.quad != 15 {
        return None;
    }
    let mask = w.active & w.pred(inst.guard);
    advance(w, inst);
    if mask != 0 {
        let done = match inst.micro {
            Micro::Flow(_) if inst.sync => return back(w),
            Micro::Flow(f) => flow::execute(cx, w, f, mask).is_ok(),
            Micro::Bar { .. } => unit(cx, w, inst, mask).is_ok(),
            _ => w.wait(Wait::Ssy, mask).is_ok(),
        };
        if !done {
            return back(w);
        }
    }
    cx.block.steps += 1;
    cx.block.thread_steps += u64::from(mask.count_ones());
    Some(after_block(cx, w))
}

/// The warp is at the instruction again.
fn back<T>(w: &mut Warp) -> Option<T> {
    w.pc = w.at;
    None
}

/// Executes the instruction that a warp is at, of this index, which does not end a basic block: what [`step`] does with less ado.
pub fn execute_one(cx: &mut Cx<'_>, w: &mut Warp, at: usize) -> Result<(), Trap> {
    let bound = cx.env.bound;
    let inst = &bound.insts[at];
    advance(w, inst);
    let mask = lanes_of(w, inst.guard, inst.quad);
    cx.block.steps += 1;
    cx.block.thread_steps += u64::from(mask.count_ones());
    let done = match &bound.steps[at].rows {
        Rows::Unit if mask != 0 => unit(cx, w, inst, mask),
        _ => act(cx, w, inst, mask),
    };
    if done.is_err() {
        w.pc = w.at;
    }
    done
}

/// What an instruction of [`Code::row`](crate::engine::Code::row) does to registers, predicates and flags, or whether it is one
/// that [`step`] must execute: then nothing is done. Nothing is counted, and the warp stays where it is.
pub fn execute_row(cx: &mut Cx<'_>, w: &mut Warp, at: usize) -> bool {
    let bound = cx.env.bound;
    let (step, pool) = (&bound.steps[at], &bound.pool[..]);
    let mask = lanes_of(w, step.guard, step.quad);
    match (&step.rows, mask) {
        (_, 0) => {}
        (Rows::Lane { forms, dst, src }, Mask::MAX) => {
            (forms.full)(&mut w.regs, pool, src, &LaneVec::ZERO, (*dst).into());
        }
        (Rows::Lane { forms, dst, src }, mask) => {
            (forms.partial)(&mut w.regs, pool, src, cx.block.scratch.take(mask), (*dst).into());
        }
        _ => match &bound.insts[at].micro {
            Micro::Stage(op) => return stage::at_centres(cx, w, op, mask),
            Micro::Tex(op) => return texture::execute_rows(cx, w, op, mask),
            _ => return pure::execute(w, pool, &mut cx.block.scratch, &bound.insts[at], mask),
        },
    }
    true
}

/// Whether a warp goes on behind a transfer of control: its lanes may all wait or have ended.
#[inline]
pub fn after_block(cx: &mut Cx<'_>, w: &mut Warp) -> Result<Option<Yield>, Trap> {
    if !w.resumes() {
        return none_runs(cx, w).map(Some);
    }
    let waits = cx.block.warp_states[w.index as usize] != WarpState::Ready;
    Ok(waits.then_some(Yield::Wait))
}

/// No lane of a warp runs, and none waits where it could resume: the warp is done, or at fault.
fn none_runs(cx: &mut Cx<'_>, w: &mut Warp) -> Result<Yield, Trap> {
    w.unwind()?;
    cx.settle_reads(w)?;
    cx.block.warp_states[w.index as usize] = WarpState::Done;
    cx.block.warps_left -= 1;
    cx.warp_exits();
    Ok(Yield::Done)
}

/// Executes the micro-op at [`Warp::at`]. If it faults, the warp is as it was before.
#[inline(always)]
fn execute(cx: &mut Cx<'_>, w: &mut Warp, inst: &Inst, at: usize) -> Result<(), Trap> {
    let done = attempt(cx, w, inst, at);
    if done.is_err() {
        w.pc = w.at;
    }
    done
}

#[inline(always)]
fn attempt(cx: &mut Cx<'_>, w: &mut Warp, inst: &Inst, at: usize) -> Result<(), Trap> {
    let env = cx.env;
    let mask = lanes_of(w, inst.guard, inst.quad);
    cx.block.steps += 1;
    // Counting bits takes some instructions on any x86-64.
    cx.block.thread_steps += if mask == Mask::MAX { LANES as u64 } else { mask.count_ones().into() };
    if env.checks.init {
        while let Err(trap) = definedness::before(cx, w, inst, mask) {
            if !cx.goes_on(w, &trap) {
                return Err(trap);
            }
            if let Some(u) = w.undef.as_deref_mut() {
                u.mark_defined(trap.0.lane);
            }
        }
    }
    let depth = w.stack.len();
    act(cx, w, inst, mask)?;
    if cx.trace.is_some() || env.profile {
        observe(cx, w, inst, at, mask, depth);
    }
    Ok(())
}

/// What an instruction does.
fn act(cx: &mut Cx<'_>, w: &mut Warp, inst: &Inst, mask: Mask) -> Result<(), Trap> {
    if mask == 0 && !matches!(inst.micro, Micro::Illegal(_)) {
        return Ok(());
    }
    if inst.sync {
        w.entry(Wait::Ssy, mask & w.active)?;
    }
    if !pure::execute(w, &cx.env.bound.pool, &mut cx.block.scratch, inst, mask) {
        unit(cx, w, inst, mask)?;
    }
    if inst.sync {
        w.wait(Wait::Ssy, mask & w.active)?;
    }
    Ok(())
}

#[cold]
fn observe(cx: &mut Cx<'_>, w: &Warp, inst: &Inst, at: usize, mask: Mask, depth: usize) {
    if let Some(profile) = &mut cx.block.profile {
        let p = &mut profile[at];
        p.issues += 1;
        p.threads += u64::from(mask.count_ones());
        let branch = matches!(inst.micro, Micro::Flow(Flow::Bra { .. } | Flow::Brx { .. }));
        p.stack = p.stack.max(w.stack.len() as u64);
        p.divergences += u64::from(branch && w.stack.len() > depth);
        let (transactions, conflicts) =
            (std::mem::take(&mut cx.block.transactions), std::mem::take(&mut cx.block.conflicts));
        p.transactions += transactions;
        p.bank_conflicts += conflicts;
        if cx.env.timeline {
            let passes = transactions.max(1).saturating_add(conflicts) as u32;
            let before = before(cx, at);
            cx.block.executed.add(w.index, w.at, before, passes);
        }
    }
    if cx.trace.is_some() {
        let line = trace::line(cx, w, inst, mask);
        if let Some(sink) = &mut cx.trace {
            sink(&line);
        }
    }
}

/// The address of the instruction before the one of this index.
fn before(cx: &Cx<'_>, at: usize) -> Option<u32> {
    let is_sched = |at: &usize| matches!(cx.env.bound.insts[*at].micro, Micro::Sched);
    let before = (0..at).rev().find(|at| !is_sched(at))?;
    Some(cx.env.bound.launch.program.code.address(before))
}

fn bad_pc(w: &Warp, alignment: u32) -> Trap {
    let (lane, pc) = (w.first_lane(), w.pc);
    if !pc.is_multiple_of(alignment) {
        let detail = format!("code address {pc:#x} is not a multiple of {alignment}");
        Trap::new(FaultKind::Misaligned, lane, detail)
    } else {
        Trap::new(FaultKind::OutOfBounds, lane, format!("code address {pc:#x} is outside the code"))
    }
}

/// Everything that is not confined to registers, without the lanes whose faults the run goes on after.
#[inline]
fn unit(cx: &mut Cx<'_>, w: &mut Warp, inst: &Inst, mask: Mask) -> Result<(), Trap> {
    let done = match &inst.micro {
        // What kernels do most comes first.
        Micro::Load { space, width, dst, addr } if cx.env.stage.is_none() => {
            memory::load(cx, w, mask, (*space, *width), *dst, addr)
        }
        Micro::Store { space, width, src, addr } if cx.env.stage.is_none() => {
            memory::store(cx, w, mask, (*space, *width), *src, addr)
        }
        Micro::Bar { mode, id, count, pred, dst, pdst } => {
            cx.barrier(w, mask, *mode, (*id, *count), *pred, (*dst, *pdst))
        }
        _ => dispatch(cx, w, inst, mask),
    };
    match done {
        Ok(()) => Ok(()),
        Err(trap) => without_faults(cx, w, inst, mask, trap),
    }
}

/// Goes on after a fault, where the run does: without the lane at fault.
#[cold]
fn without_faults(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    inst: &Inst,
    mask: Mask,
    mut trap: Trap,
) -> Result<(), Trap> {
    let mut left = mask;
    loop {
        let lane = trap.0.lane as u32;
        // A race is found between the lanes' accesses: those before it have changed memory.
        let between = matches!(trap.0.kind, FaultKind::Race | FaultKind::Uninitialized);
        let others = match inst.micro {
            Micro::Atom { .. } if between => (Mask::MAX << lane) << 1,
            Micro::Load { .. } | Micro::Store { .. } | Micro::LoadConst { .. } | Micro::Atom { .. } => {
                !(1 << lane)
            }
            _ => return Err(trap),
        };
        if left & (1 << lane) == 0 || !cx.goes_on(w, &trap) {
            return Err(trap);
        }
        left &= others;
        if left == 0 {
            return Ok(());
        }
        match dispatch(cx, w, inst, left) {
            Ok(()) => return Ok(()),
            Err(next) => trap = next,
        }
    }
}

fn dispatch(cx: &mut Cx<'_>, w: &mut Warp, inst: &Inst, mask: Mask) -> Result<(), Trap> {
    let lane = lanes(mask).next().unwrap_or(0);
    match &inst.micro {
        Micro::Load { space, width, dst, addr } => {
            if cx.env.stage.is_some() {
                return stage::load(cx, w, mask, (*space, *width), *dst, addr);
            }
            memory::load(cx, w, mask, (*space, *width), *dst, addr)
        }
        Micro::Store { space, width, src, addr } => {
            let mask = match space {
                Space::Generic => stage::stores(cx, w, mask)?,
                _ => stage::declares_memory(cx.env, lane).map(|()| mask)?,
            };
            memory::store(cx, w, mask, (*space, *width), *src, addr)
        }
        Micro::LoadConst { bank, width, dst, base, offset, indexed } => {
            let what = (*base, *offset, *indexed);
            if cx.env.stage.is_some() {
                let helpers = cx.block.helpers;
                let load = |w: &mut Warp, mask| memory::load_const(cx, w, mask, (*bank, *width), *dst, what);
                return stage::for_others(helpers, w, mask, load);
            }
            memory::load_const(cx, w, mask, (*bank, *width), *dst, what)
        }
        Micro::LoadLock { width, dst, pdst, addr } => {
            memory::load_lock(cx, w, mask, *width, (*dst, *pdst), addr)
        }
        Micro::StoreUnlock { width, src, pdst, addr, cond } => {
            memory::store_unlock(cx, w, mask, (*width, *cond), (*src, *pdst), addr)
        }
        Micro::Atom { op, ty, dst, addr, src } => {
            let mask = stage::stores(cx, w, mask)?;
            memory::atomic(cx, w, mask, (*op, *ty), (*dst, *src), addr)
        }
        Micro::S2r { dst, reg } => {
            if *dst != NULL {
                let row = special_row(cx, w, *reg);
                cx.env.processor.merge(mask, &row.0, &mut w.regs[*dst as usize].0);
            }
            Ok(())
        }
        Micro::Flow(f) => flow::execute(cx, w, *f, mask),
        Micro::Trap => Err(Trap::new(FaultKind::Trap, lane, "BPT.TRAP")),
        Micro::Illegal(why) => Err(Trap::new(FaultKind::IllegalInstruction, lane, *why)),
        Micro::OutOfBounds(why) => Err(Trap::new(FaultKind::OutOfBounds, lane, &**why)),
        Micro::Fence(scope) => {
            cx.fence(w, *scope);
            Ok(())
        }
        Micro::Tex(op) => texture::execute(cx, w, op, mask),
        Micro::Surface(op) => {
            let mask = if op.access.writes() { stage::stores(cx, w, mask)? } else { mask };
            surface::execute(cx, w, op, mask)
        }
        Micro::Stage(op) => stage::execute(cx, w, op, mask),
        _ => Ok(()),
    }
}
