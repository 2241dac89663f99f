//! Transfers of control, by the divergence stack.

use crate::code::micro::Flow;
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::stage;
use crate::state::lanes::{LANES, Mask, lanes};
use crate::state::stack::Wait;
use crate::state::warp::Warp;
use crate::trap::Trap;

/// Executes a transfer of control for the lanes of a mask.
pub(crate) fn execute(cx: &mut Cx<'_>, w: &mut Warp, f: Flow, mask: Mask) -> Result<(), Trap> {
    let (active, depth) = (w.active, w.stack.len());
    transfer(cx, w, f, mask).inspect_err(|_| {
        w.active = active;
        w.stack.truncate(depth);
    })
}

fn transfer(cx: &mut Cx<'_>, w: &mut Warp, f: Flow, mask: Mask) -> Result<(), Trap> {
    let next = w.pc;
    let holds = |w: &Warp, cc: u8| match w.cc.test(cc) {
        Some(m) => Ok(m & mask),
        None => Err(Trap::new(FaultKind::IllegalInstruction, w.first_lane(), "unknown condition-code test")),
    };
    match f {
        Flow::Bra { target, cc, uniform } => {
            let taken = holds(w, cc)?;
            // NVIDIA's compiler has `@P0 BRA.U L` before `SSY L` and `@P0 NOP.S`: it skips what no thread executes, and
            // pushes nothing for threads that it would part.
            let taken = if uniform && taken != w.active { 0 } else { taken };
            w.branch(taken, target, cx.env.first)?;
        }
        Flow::Brx { reg, base, cc } => {
            let mut rest = holds(w, cc)?;
            let targets: Vec<u32> = (0..LANES)
                .map(|l| (base + i64::from(reg.lane(&w.regs, &cx.env.bound.pool, l))) as u32)
                .collect();
            while let Some(l) = lanes(rest).next() {
                let same = lanes(rest).filter(|&i| targets[i] == targets[l]).fold(0, |m, i| m | 1 << i);
                rest &= !same;
                w.defer(same, targets[l])?;
            }
        }
        Flow::Ssy(pc) => w.push(Wait::Ssy, w.active, pc)?,
        Flow::Pbk(pc) => w.push(Wait::Pbk, w.active, pc)?,
        Flow::Pcnt(pc) => w.push(Wait::Pcnt, w.active, pc)?,
        Flow::Pret(pc) => w.push(Wait::Ret, w.active, pc)?,
        Flow::Plongjmp(pc) => w.push(Wait::Jmp, w.active, pc)?,
        Flow::Cal(target) => {
            let others = w.active & !mask;
            if others != 0 {
                w.push(Wait::Div, others, next)?;
                w.active = mask;
            }
            w.push(Wait::Ret, mask, next)?;
            w.pc = target;
        }
        Flow::Brk(cc) => w.wait(Wait::Pbk, holds(w, cc)?)?,
        Flow::Cont(cc) => w.wait(Wait::Pcnt, holds(w, cc)?)?,
        Flow::Ret(cc) => w.wait(Wait::Ret, holds(w, cc)?)?,
        Flow::Longjmp(cc) => w.wait(Wait::Jmp, holds(w, cc)?)?,
        Flow::Exit(cc) | Flow::Kil(cc) => {
            let gone = holds(w, cc)?;
            if let (Some(context), Some(io), Flow::Kil(_)) = (cx.env.stage, &mut cx.block.stage, f) {
                if !context.header.kills {
                    let detail = "discards a pixel, which the header does not declare";
                    return Err(Trap::new(FaultKind::OutOfBounds, w.first_lane(), detail));
                }
                cx.block.helpers |= gone;
                io.kill(gone);
                return Ok(());
            }
            stage::exit(cx, w, gone)?;
            w.exit(gone);
        }
        Flow::QuadOn if cx.env.stage.is_some() => w.quad_on()?,
        Flow::QuadPop if cx.env.stage.is_some() => w.quad_pop()?,
        // Kernels have no quads.
        Flow::QuadOn | Flow::QuadPop => {}
    }
    Ok(())
}
