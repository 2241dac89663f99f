//! One line of a trace: place, mask, text, and what was written.

use crate::code::micro::Inst;
use crate::cx::Cx;
use crate::state::lanes::{Mask, lanes};
use crate::state::warp::Warp;
use std::fmt::Write;

/// `block (0,0,0) warp 1 0x0048 ffffffff  IADD R0, R1, R2  R0 = 00000001 ...`; equal values of all lanes once.
pub(crate) fn line(cx: &Cx<'_>, w: &Warp, inst: &Inst, mask: Mask) -> String {
    let pc = w.at;
    let [x, y, z] = cx.block.ctaid;
    let text = cx.env.bound.launch.program.text(pc);
    let mut out = format!("block ({x},{y},{z}) warp {} {pc:#06x} {mask:08x}  {text}", w.index);
    for &(first, n) in &inst.writes {
        for r in usize::from(first)..usize::from(first) + usize::from(n) {
            let Some(row) = w.regs.get(r) else { continue };
            let mut values = lanes(mask).map(|l| row.0[l]);
            let Some(head) = values.next() else { continue };
            let _ = write!(out, "  R{r} = {head:08x}");
            if lanes(mask).any(|l| row.0[l] != head) {
                values.for_each(|v| {
                    let _ = write!(out, " {v:08x}");
                });
            }
        }
    }
    for p in (0..7).filter(|p| inst.pred_writes >> p & 1 != 0) {
        let _ = write!(out, "  P{p} = {:08x}", w.preds[p as usize] & mask);
    }
    out
}
