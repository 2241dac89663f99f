//! `initcheck` of registers: which bits nothing has written, followed through copies to where they matter.
//!
//! Compilers copy, spill, shuffle and merge parts of registers that hold nothing yet; that is no error. Undefined
//! bits spread through arithmetic, and are reported when they reach a sink: a guard, an address, global memory, an
//! atomic, a barrier. The report's place is the instruction that first read the unwritten register; the sink
//! is the other place.

use crate::code::micro::{Bop, Cmp, Flow, Inst, Micro, NULL, PSrc, SetDst, Space, Src2};
use crate::code::stageop::StageOp;
use crate::code::surfop::Access;
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::interpreter::pure;
use crate::state::defined::{NEVER, Undef};
use crate::state::lanes::{LaneVec, Mask, POOL, Scratch, Src, lanes};
use crate::state::warp::{FLAGS, PREDS, Warp};
use crate::trap::{Other, Trap};

fn register_trap(u: &Undef, reg: usize, lane: usize, pc: u32, warp: u32) -> Trap {
    trap(&format!("R{reg}"), u.origin[reg], lane, pc, warp)
}

fn trap(what: &str, origin: u32, lane: usize, pc: u32, warp: u32) -> Trap {
    let new = |detail: String| Trap::new(FaultKind::Uninitialized, lane, detail);
    if origin == NEVER || origin == pc {
        return new(format!("{what}, which nothing has written"));
    }
    let t = new(format!("reads what nothing has written, and it reaches {what} where that matters"));
    let mut t = t.with_other(Other { block: None, warp, lane, pc });
    t.0.pc = Some(origin);
    t
}

/// Undefined lanes of a logic operation: a defined operand that decides the result hides the other.
fn combined(bop: Bop, (a, ua): (Mask, Mask), (b, ub): (Mask, Mask)) -> Mask {
    let either = ua | ub;
    match bop {
        Bop::And => either & !(!a & !ua) & !(!b & !ub),
        Bop::Or => either & !(a & !ua) & !(b & !ub),
        Bop::Xor => either,
    }
}

/// Before an instruction executes: faults if undefined bits matter to it, and records what its results will be.
pub(crate) fn before(cx: &mut Cx<'_>, w: &mut Warp, inst: &Inst, mask: Mask) -> Result<(), Trap> {
    let Some(mut u) = w.undef.take() else { return Ok(()) };
    let result = step(&cx.env.bound.pool, &mut cx.block.scratch, w, &mut u, inst, mask);
    w.undef = Some(u);
    result
}

fn step(
    pool: &[LaneVec],
    scratch: &mut Scratch,
    w: &Warp,
    u: &mut Undef,
    inst: &Inst,
    mask: Mask,
) -> Result<(), Trap> {
    let pc = w.at;
    let guard = inst.guard.num as usize & 7;
    let mask = mask & !w.quad_helpers;
    let unknown = w.active & !w.quad_helpers & u.preds[guard];
    if let Some(lane) = lanes(unknown).next() {
        return Err(trap(&format!("P{guard}"), u.pred_origin[guard], lane, pc, w.index));
    }
    if mask == 0 {
        return Ok(());
    }
    sinks(u, w, inst, pc, mask)?;
    let (mut mixed, origin) = operands(u, inst, mask, pc);
    let all = |m: Mask| LaneVec(std::array::from_fn(|l| if m >> l & 1 != 0 { u32::MAX } else { 0 }));
    let mut out = all(mixed);
    match &inst.micro {
        Micro::Lane { op, src, .. } => {
            let values = src.map(|s| s.value(&w.regs, pool));
            for l in lanes(mask) {
                out.0[l] = op.op.undefined(values.each_ref().map(|v| v.0[l]), src.map(|s| u.bits(s, l)));
            }
        }
        Micro::Wide { op, src, .. } => {
            let used = op.used();
            for l in lanes(mask) {
                let wide = |s: Src2| u64::from(u.bits(s.lo, l)) | u64::from(u.bits(s.hi, l)) << 32;
                let bad = wide(src[0]) & used != 0 || wide(src[1]) | wide(src[2]) != 0;
                out.0[l] = if bad { u32::MAX } else { 0 };
            }
        }
        Micro::Sel { src, pick, .. } => {
            let chosen = w.pred(*pick);
            for l in lanes(mask) {
                let s = if chosen >> l & 1 != 0 { src[0] } else { src[1] };
                let unknown = u.preds[pick.num as usize & 7] >> l & 1 != 0;
                out.0[l] = if unknown { u32::MAX } else { u.bits(s, l) };
            }
        }
        Micro::Shfl { .. } => {
            // The lane that is read decides; executed on the undefined bits themselves.
            out = pure::shuffled(w, pool, inst, |s, l| u.bits(s, l));
        }
        Micro::Set { dst, cmp, with, bop } => {
            let (hit, unknown) = (pure::hit(w, pool, scratch, mask, cmp), compared(u, w, cmp, mask));
            let with = (w.pred(*with), pred_undef(u, *with));
            let yes = combined(*bop, (hit, unknown), with) & mask;
            let no = combined(*bop, (!hit, unknown), with) & mask;
            match *dst {
                SetDst::Preds(p, q) => {
                    mark_pred(u, q, mask, no, origin);
                    mark_pred(u, p, mask, yes, origin);
                }
                SetDst::Reg { .. } => out = all(yes),
            }
            mixed = yes;
        }
        Micro::R2p { src, mask: select, high } => {
            let shift = if *high { 16 } else { 0 };
            set_state(u, (*src, shift), &select.value(&w.regs, pool), mask, origin);
        }
        Micro::P2r { src, mask: select, high, .. } => {
            let shift = if *high { 16 } else { 0 };
            let select = select.value(&w.regs, pool);
            for l in lanes(mask) {
                let flags = if u.cc >> l & 1 != 0 { FLAGS } else { 0 };
                let image = (0..7).fold(flags, |v, p| v | (u.preds[p] >> l & 1) << p);
                let select = (select.0[l] & (PREDS | FLAGS)) << shift;
                out.0[l] = (image << shift & select) | (u.bits(*src, l) & !select);
            }
        }
        // What it loads may have no value: it says so itself.
        Micro::Stage(op) if matches!(**op, StageOp::Load { .. }) => out = LaneVec::ZERO,
        // Loads give what memory holds; `access` takes care of local memory.
        Micro::Load { .. }
        | Micro::LoadLock { .. }
        | Micro::LoadConst { .. }
        | Micro::Atom { .. }
        | Micro::Tex(_) => {
            out = LaneVec::ZERO;
            mixed = 0;
        }
        _ => {}
    }
    if !matches!(inst.micro, Micro::Set { .. } | Micro::R2p { .. }) {
        for p in (0..7u8).filter(|p| inst.pred_writes >> p & 1 != 0) {
            mark_pred(u, p, mask, mixed, origin);
        }
    }
    if inst.cc && !matches!(inst.micro, Micro::R2p { .. }) {
        let bad = out.mask(|b| b != 0);
        u.cc = (u.cc & !mask) | (bad & mask);
        u.cc_origin = origin;
    }
    for &(first, n) in &inst.writes {
        for r in usize::from(first)..usize::from(first) + usize::from(n) {
            u.regs[r].blend(mask, &out);
            u.origin[r] = origin;
        }
    }
    Ok(())
}

/// What every operand together leaves undefined, and where that came from.
fn operands(u: &Undef, inst: &Inst, mask: Mask, pc: u32) -> (Mask, u32) {
    let guard = inst.guard.num as usize & 7;
    let mut mixed = 0;
    let mut origin = pc;
    let mut blame = |o: u32| {
        if o != NEVER {
            origin = o;
        }
    };
    for &(first, n) in &inst.reads {
        for r in usize::from(first)..usize::from(first) + usize::from(n) {
            let bad = u.lanes(r, mask);
            if bad != 0 {
                mixed |= bad;
                blame(u.origin[r]);
            }
        }
    }
    for p in (0..7).filter(|p| inst.pred_reads >> p & 1 != 0 && *p != guard) {
        let bad = u.preds[p] & mask;
        if bad != 0 {
            mixed |= bad;
            blame(u.pred_origin[p]);
        }
    }
    if inst.reads_cc && u.cc & mask != 0 {
        mixed |= u.cc & mask;
        blame(u.cc_origin);
    }
    (mixed, origin)
}

/// R2P: predicates and flags that `select` names take over bits of a register.
fn set_state(u: &mut Undef, (src, shift): (Src, u8), select: &LaneVec, mask: Mask, origin: u32) {
    for p in 0..7u8 {
        let bad = |l: usize| u.bits(src, l) >> (shift + p) & 1 != 0;
        let written = lanes(mask).filter(|&l| select.0[l] >> p & 1 != 0);
        let (set, bad) = written.fold((0, 0), |(s, b), l| (s | 1 << l, b | u32::from(bad(l)) << l));
        mark_pred(u, p, set, bad, origin);
    }
    for l in lanes(mask).filter(|&l| select.0[l] & FLAGS != 0) {
        // Flags are defined together: those that stay count as well.
        let stays = select.0[l] & FLAGS != FLAGS && u.cc >> l & 1 != 0;
        let bad = u.bits(src, l) >> shift & select.0[l] & FLAGS != 0;
        u.cc = u.cc & !(1 << l) | u32::from(stays || bad) << l;
        if bad {
            u.cc_origin = origin;
        }
    }
}

fn pred_undef(u: &Undef, p: PSrc) -> Mask {
    u.preds[p.num as usize & 7]
}

fn mark_pred(u: &mut Undef, p: u8, mask: Mask, undefined: Mask, origin: u32) {
    if p < 7 {
        let at = p as usize;
        u.preds[at] = (u.preds[at] & !mask) | (undefined & mask);
        u.pred_origin[at] = origin;
    }
}

/// Lanes in which what a comparison compares is undefined.
fn compared(u: &Undef, w: &Warp, cmp: &Cmp, mask: Mask) -> Mask {
    let any =
        |all: &[Src]| lanes(mask).fold(0, |m, l| m | u32::from(all.iter().any(|s| u.bits(*s, l) != 0)) << l);
    match *cmp {
        Cmp::Rows { a, b, .. } => any(&[a, b]),
        Cmp::IntX { a, b, .. } => any(&[a, b]) | u.cc & mask,
        Cmp::F64 { a, b, .. } => any(&[a.lo, a.hi, b.lo, b.hi]),
        Cmp::Preds { a, b, bop } => {
            combined(bop, (w.pred(a), pred_undef(u, a)), (w.pred(b), pred_undef(u, b))) & mask
        }
        Cmp::Cc(_) => u.cc & mask,
    }
}

/// Faults where a store through a texel format takes an undefined channel from the vector at `first`.
pub(crate) fn channels(w: &Warp, first: u8, count: usize, lane: usize) -> Result<(), Trap> {
    let Some(u) = w.undef.as_deref().filter(|_| first != NULL) else { return Ok(()) };
    match (first.into()..usize::from(first) + count).find(|&r| u.regs[r].0[lane] != 0) {
        Some(r) => Err(register_trap(u, r, lane, w.pc.wrapping_sub(8), w.index)),
        None => Ok(()),
    }
}

/// Faults where an instruction shows undefined bits to the world.
fn sinks(u: &Undef, w: &Warp, inst: &Inst, pc: u32, mask: Mask) -> Result<(), Trap> {
    let reg = |s: Src| -> Result<(), Trap> {
        if s.row >= POOL {
            return Ok(());
        }
        let r = s.row as usize;
        match lanes(u.lanes(r, mask)).next() {
            Some(lane) => Err(register_trap(u, r, lane, pc, w.index)),
            None => Ok(()),
        }
    };
    let data = |first: u8, n: u32, bits: u32| -> Result<(), Trap> {
        if first == NULL {
            return Ok(());
        }
        for r in usize::from(first)..usize::from(first) + n as usize {
            if let Some(lane) = lanes(u.regs[r].mask(|b| b & bits != 0) & mask).next() {
                return Err(register_trap(u, r, lane, pc, w.index));
            }
        }
        Ok(())
    };
    match &inst.micro {
        Micro::Load { addr, .. } | Micro::LoadLock { addr, .. } => {
            reg(addr.base)?;
            addr.base_hi.map_or(Ok(()), reg)
        }
        Micro::Store { addr, width, src, space } => {
            reg(addr.base)?;
            addr.base_hi.map_or(Ok(()), reg)?;
            if *space != Space::Generic {
                return Ok(());
            }
            let bits = match width.bytes() {
                1 => 0xff,
                2 => 0xffff,
                _ => u32::MAX,
            };
            data(*src, width.regs(), bits)
        }
        Micro::StoreUnlock { addr, .. } => reg(addr.base),
        Micro::Atom { addr, src, ty, .. } => {
            reg(addr.base)?;
            addr.base_hi.map_or(Ok(()), reg)?;
            let n = if matches!(ty, crate::code::micro::AtomTy::U64 | crate::code::micro::AtomTy::S64) {
                2
            } else {
                1
            };
            data(src[0], n, u32::MAX)?;
            data(src[1], n, u32::MAX)
        }
        Micro::LoadConst { base, .. } => reg(*base),
        Micro::Stage(op) => crate::stage::reads_registers(op).into_iter().flatten().try_for_each(reg),
        Micro::Bar { id, count, .. } => {
            reg(*id)?;
            count.map_or(Ok(()), reg)
        }
        Micro::Flow(Flow::Brx { reg: r, .. }) => reg(*r),
        Micro::Flow(_) if inst.reads_cc => match lanes(u.cc & mask).next() {
            Some(lane) => Err(trap("the condition code", u.cc_origin, lane, pc, w.index)),
            None => Ok(()),
        },
        // What the format has no channel for may be anything ([`channels`]).
        Micro::Surface(op) if op.access == Access::StoreTexel => {
            let others = inst.reads.iter().filter(|(r, _)| *r != op.data);
            others.copied().try_for_each(|(r, n)| data(r, n.into(), u32::MAX))
        }
        Micro::Tex(_) | Micro::Surface(_) => {
            inst.reads.iter().try_for_each(|&(r, n)| data(r, n.into(), u32::MAX))
        }
        _ => Ok(()),
    }
}
