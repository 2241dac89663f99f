//! Register compaction: whole quads are renumbered: the one whose upper registers are used least
//! becomes the last, so that the highest number falls.
//!
//! ```text
//! R0 R1  -  -  |  R4 R5 R6 R7     8 registers
//! R4 R5  -  -  |  R0 R1 R2 R3     6
//! ```
//!
//! A quad is four registers from a multiple of four on. Tuples lie inside one or are made of whole
//! ones, and every operand is renumbered alike, so the code stays what it is. Not in functions that
//! call others, whose registers are named by these; and what a stage's results must be in stays.

use super::{Allocation, Location, Move, Phys, RegSet};

const QUAD: u8 = 4;

/// Renumbers where that saves registers.
pub(super) fn pack(a: &mut Allocation, fixed: &[u8]) {
    let end = a.summary.clobbers.gprs_end() as u8;
    if end <= QUAD {
        return;
    }
    let last = (end - 1) / QUAD;
    let used = |quad: u8, lane: u8| a.summary.clobbers.contains(Phys::Gpr(QUAD * quad + lane));
    let top = |quad: u8| (0..QUAD).rev().find(|&lane| used(quad, lane));
    let free = |quad: u8| fixed.iter().all(|&r| r / QUAD != quad);
    if !free(last) {
        return;
    }
    let best = (0..last).filter(|&q| free(q)).min_by_key(|&q| top(q));
    // Eight registers that belong together keep their neighbourhood: these occur with a wide
    // compare-and-swap only.
    let Some(quad) = best.filter(|&q| top(q) < top(last) && !a.wide) else { return };
    let map = |r: u8| match r / QUAD {
        q if q == quad => r + QUAD * (last - quad),
        q if q == last => r - QUAD * (last - quad),
        _ => r,
    };
    let phys = |p: &mut Phys| {
        if let Phys::Gpr(r) = p {
            *r = map(*r);
        }
    };
    a.regs.iter_mut().for_each(|(_, p)| phys(p));
    for m in &mut a.moves {
        match m {
            Move::Copy { dst, src } => [dst, src].into_iter().for_each(phys),
            Move::Swap(x, y) => [x, y].into_iter().for_each(phys),
            Move::Load { dst, .. }
            | Move::Imm { dst, .. }
            | Move::Cbuf { dst, .. }
            | Move::Sreg { dst, .. } => {
                *dst = map(*dst);
            }
            Move::Store { src, .. } => *src = map(*src),
        }
    }
    for places in a.params.values_mut() {
        for place in places.iter_mut().flatten() {
            if let Location::Reg(p) = place {
                phys(p);
            }
        }
    }
    let summary = &mut a.summary;
    summary.params.iter_mut().chain(&mut summary.results).for_each(phys);
    let mut clobbers = RegSet::default();
    for mut p in summary.clobbers.iter() {
        phys(&mut p);
        clobbers.insert(p);
    }
    summary.clobbers = clobbers;
    a.gprs = clobbers.gprs_end();
}
