//! How threads of a stage end.

use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::state::lanes::{LaneVec, Mask, lanes};
use crate::state::warp::Warp;
use crate::trap::Trap;
use nvir_base::stage::Stage;

/// Threads of a stage end.
pub(crate) fn exit(cx: &mut Cx<'_>, w: &Warp, mask: Mask) -> Result<(), Trap> {
    let (Some(context), Some(io)) = (cx.env.stage, &mut cx.block.stage) else { return Ok(()) };
    match context.stage {
        Stage::Geometry => {
            let r0 = w.regs.first().copied().unwrap_or(LaneVec::ZERO);
            let Some(l) = lanes(mask).find(|&l| r0.0[l] != io.handles[l]) else { return Ok(()) };
            let detail = format!(
                "R0 is {:#x} at the end, but the last handle of the emitted vertices is {:#x}",
                r0.0[l], io.handles[l]
            );
            Err(Trap::new(FaultKind::IllegalInstruction, l, detail))
        }
        Stage::Fragment => {
            let mut missing = None;
            for (r, (row, defined)) in io.results.iter_mut().zip(&mut io.results_defined).enumerate() {
                let Some(value) = w.regs.get(r) else {
                    missing = missing.or(context.layout.holds(r as u8).then_some(r));
                    continue;
                };
                row.blend(mask, value);
                let undefined = w.undef.as_ref().map_or(0, |u| u.lanes(r, mask));
                *defined = *defined & !mask | mask & !undefined;
            }
            if let Some(r) = missing.filter(|_| cx.env.checks.init && mask != 0) {
                // A program may leave a component undefined that its registers have no room for.
                let count = w.regs.len();
                let detail = format!("a result is expected in R{r}, and a thread has {count} registers");
                let lane = lanes(mask).next().unwrap_or(0);
                cx.block.note(w, || Trap::new(FaultKind::Uninitialized, lane, detail));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
