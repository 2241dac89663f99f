//! `initcheck` of registers: which bits nothing has written, followed through copies to where they matter.
//!
//! Compilers copy, spill, shuffle and merge parts of registers that hold nothing yet; that is no error. Undefined
//! bits spread through arithmetic, and are reported when they reach a sink: a guard, an address, global memory, an
//! atomic, a barrier. The report's place is the instruction that first read the unwritten register; the sink
//! is the other place.

use super::block::Env;
use super::exec::{self, Scratch};
use super::fault::FaultKind;
use super::inst::{Body, Bop, Cmp, Flow, Inst, PSrc, SINK, SetDst, Space};
use super::lanes::{LANES, Mask, POOL, Row, Src, lanes};
use super::surface::Access;
use super::trap::{Other, Trap};
use super::warp::{FLAGS, PREDS, Warp};

/// How undefined bits pass through a [`Body::Map`] or [`Body::Scalar`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Route {
    /// One undefined bit makes the whole result undefined.
    #[default]
    Mix,
    /// The operation moves bits of the operands in this set (bit i: operand i), as the others say.
    Move(u8),
    And,
    Or,
    Xor,
}

/// The origin of a register that nothing has written.
const NEVER: u32 = u32::MAX;

/// The undefined bits of a warp.
#[derive(Debug)]
pub(crate) struct Undef {
    regs: Vec<Row>,
    /// The first instruction that read the unwritten register behind them.
    origin: Vec<u32>,
    preds: [Mask; 8],
    pred_origin: [u32; 8],
    cc: Mask,
    cc_origin: u32,
    /// Of local memory, by word; grown on demand.
    pub local: Vec<Row>,
}

impl Undef {
    pub(crate) fn new(gprs: usize) -> Undef {
        let mut preds = [Mask::MAX; 8];
        preds[7] = 0;
        Undef {
            regs: vec![Row::splat(u32::MAX); gprs],
            origin: vec![NEVER; gprs],
            preds,
            pred_origin: [NEVER; 8],
            cc: Mask::MAX,
            cc_origin: NEVER,
            local: Vec::new(),
        }
    }

    fn bits(&self, s: Src, lane: usize) -> u32 {
        if s.row < POOL { self.regs[s.row as usize].0[lane] } else { 0 }
    }

    fn row(&self, s: Src) -> Row {
        if s.row < POOL { self.regs[s.row as usize] } else { Row::ZERO }
    }

    /// Undefined bits of word `k` of a vector register.
    pub(crate) fn word(&self, reg: u8, k: usize, lane: usize) -> u32 {
        if reg == SINK { 0 } else { self.regs[reg as usize + k].0[lane] }
    }

    pub(crate) fn set_word(&mut self, reg: u8, k: usize, lane: usize, bits: u32, pc: u32) {
        if reg != SINK {
            self.regs[reg as usize + k].0[lane] = bits;
            self.origin[reg as usize + k] = pc;
        }
    }

    /// Lanes of `mask` in which word `k` of a vector register has undefined bits.
    pub fn lanes_of_word(&self, reg: u8, k: usize, mask: Mask) -> Mask {
        if reg == SINK { 0 } else { self.lanes(reg as usize + k, mask) }
    }

    /// Lanes of `mask` in which a register has undefined bits.
    pub fn lanes(&self, reg: usize, mask: Mask) -> Mask {
        self.regs[reg].mask(|b| b != 0) & mask
    }
}

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

/// Takes everything in a lane for defined: what it leaves undefined has been reported.
pub(super) fn forgive(w: &mut Warp, lane: usize) {
    let Some(u) = w.undef.as_deref_mut() else { return };
    u.regs.iter_mut().chain(&mut u.local).for_each(|row| row.0[lane] = 0);
    u.preds.iter_mut().for_each(|p| *p &= !(1 << lane));
    u.cc &= !(1 << lane);
}

/// Before an instruction executes: faults if undefined bits matter to it, and records what its results will be.
pub(super) fn before(
    env: &Env<'_>,
    scratch: &mut Scratch,
    w: &mut Warp,
    inst: &Inst,
    pc: u32,
    mask: Mask,
) -> Result<(), Trap> {
    let Some(mut u) = w.undef.take() else { return Ok(()) };
    let result = step(env, scratch, w, &mut u, inst, pc, mask);
    w.undef = Some(u);
    result
}

fn step(
    env: &Env<'_>,
    scratch: &mut Scratch,
    w: &Warp,
    u: &mut Undef,
    inst: &Inst,
    pc: u32,
    mask: Mask,
) -> Result<(), Trap> {
    let guard = inst.guard.num as usize & 7;
    let mask = mask & !w.phantoms;
    let unknown = w.active & !w.phantoms & u.preds[guard];
    if let Some(lane) = lanes(unknown).next() {
        return Err(trap(&format!("P{guard}"), u.pred_origin[guard], lane, pc, w.index));
    }
    if mask == 0 {
        return Ok(());
    }
    sinks(u, w, inst, pc, mask)?;
    // What every operand together leaves undefined, and where that came from.
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
    let all = |m: Mask| Row(std::array::from_fn(|l| if m >> l & 1 != 0 { u32::MAX } else { 0 }));
    let mut out = all(mixed);
    match &inst.body {
        Body::Map { f, src, .. } => match inst.route {
            Route::Mix => {}
            Route::Move(data) => {
                let pick = |i: usize| if data >> i & 1 != 0 { u.row(src[i]) } else { value(env, w, src[i]) };
                f(&pick(0), &pick(1), &pick(2), &mut out);
                undefined_controls(u, src, data, &mut out);
            }
            route => {
                let (a, b) = (value(env, w, src[0]), value(env, w, src[1]));
                for l in 0..LANES {
                    let (ua, ub) = (u.bits(src[0], l), u.bits(src[1], l));
                    let (a, b) = (a.0[l], b.0[l]);
                    out.0[l] = match route {
                        Route::And => (ua | ub) & (ua | a) & (ub | b),
                        Route::Or => (ua | ub) & (ua | !a) & (ub | !b),
                        _ => ua | ub,
                    };
                }
            }
        },
        Body::Scalar { f, param, src, .. } => {
            if let Route::Move(data) = inst.route {
                let pick = |i: usize, l: usize| {
                    if data >> i & 1 != 0 { u.bits(src[i], l) } else { value(env, w, src[i]).0[l] }
                };
                for l in 0..LANES {
                    out.0[l] = f(*param, pick(0, l), pick(1, l), pick(2, l));
                }
                undefined_controls(u, src, data, &mut out);
            }
        }
        Body::Conv { conv, src, .. } => {
            let bits = super::resolve::type_bits(conv.from);
            let used = if bits >= 32 { u32::MAX } else { ((1 << bits) - 1) << conv.shift };
            for l in lanes(mask) {
                let bad = u.bits(src.lo, l) & used != 0 || bits == 64 && u.bits(src.hi, l) != 0;
                out.0[l] = if bad { u32::MAX } else { 0 };
            }
        }
        Body::Sel { src, pick, .. } => {
            let chosen = w.pred(*pick);
            for l in lanes(mask) {
                let s = if chosen >> l & 1 != 0 { src[0] } else { src[1] };
                let unknown = u.preds[pick.num as usize & 7] >> l & 1 != 0;
                out.0[l] = if unknown { u32::MAX } else { u.bits(s, l) };
            }
        }
        Body::Shfl { .. } => {
            // The lane that is read decides; executed on the undefined bits themselves.
            out = exec::shuffled(w, &env.bound.pool, inst, |s, l| u.bits(s, l));
        }
        Body::Set { dst, cmp, with, bop } => {
            let (hit, unknown) =
                (exec::hit(w, &env.bound.pool, scratch, mask, cmp), compared(u, w, cmp, mask));
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
        Body::R2p { src, mask: select, high } => {
            let shift = if *high { 16 } else { 0 };
            let select = value(env, w, *select);
            for p in 0..7u8 {
                let bad = |l: usize| u.bits(*src, l) >> (shift + p) & 1 != 0;
                let written = lanes(mask).filter(|&l| select.0[l] >> p & 1 != 0);
                let (set, bad) = written.fold((0, 0), |(s, b), l| (s | 1 << l, b | u32::from(bad(l)) << l));
                mark_pred(u, p, set, bad, origin);
            }
            for l in lanes(mask).filter(|&l| select.0[l] & FLAGS != 0) {
                // Flags are defined together: those that stay count as well.
                let stays = select.0[l] & FLAGS != FLAGS && u.cc >> l & 1 != 0;
                let bad = u.bits(*src, l) >> shift & select.0[l] & FLAGS != 0;
                u.cc = u.cc & !(1 << l) | u32::from(stays || bad) << l;
                if bad {
                    u.cc_origin = origin;
                }
            }
        }
        Body::P2r { src, mask: select, high, .. } => {
            let shift = if *high { 16 } else { 0 };
            let select = value(env, w, *select);
            for l in lanes(mask) {
                let flags = if u.cc >> l & 1 != 0 { FLAGS } else { 0 };
                let image = (0..7).fold(flags, |v, p| v | (u.preds[p] >> l & 1) << p);
                let select = (select.0[l] & (PREDS | FLAGS)) << shift;
                out.0[l] = (image << shift & select) | (u.bits(*src, l) & !select);
            }
        }
        // What it loads may have no value: it says so itself.
        Body::Stage(op) if matches!(**op, super::stage::Op::Load { .. }) => out = Row::ZERO,
        // Loads give what memory holds; `access` takes care of local memory.
        Body::Load { .. }
        | Body::LoadLock { .. }
        | Body::LoadConst { .. }
        | Body::Atom { .. }
        | Body::Tex(_) => {
            out = Row::ZERO;
            mixed = 0;
        }
        _ => {}
    }
    if !matches!(inst.body, Body::Set { .. } | Body::R2p { .. }) {
        for p in (0..7u8).filter(|p| inst.pred_writes >> p & 1 != 0) {
            mark_pred(u, p, mask, mixed, origin);
        }
    }
    if inst.cc && !matches!(inst.body, Body::R2p { .. }) {
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

fn value(env: &Env<'_>, w: &Warp, s: Src) -> Row {
    let mut scratch = Row::ZERO;
    *s.get(&w.regs, &env.bound.pool, &mut scratch)
}

/// An undefined shift or selector makes everything undefined.
fn undefined_controls(u: &Undef, src: &[Src; 3], data: u8, out: &mut Row) {
    for (_, s) in src.iter().enumerate().filter(|(i, _)| data >> i & 1 == 0) {
        for l in 0..LANES {
            if u.bits(*s, l) != 0 {
                out.0[l] = u32::MAX;
            }
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
pub(super) fn channels(w: &Warp, first: u8, count: usize, lane: usize) -> Result<(), Trap> {
    let Some(u) = w.undef.as_deref().filter(|_| first != SINK) else { return Ok(()) };
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
        if first == SINK {
            return Ok(());
        }
        for r in usize::from(first)..usize::from(first) + n as usize {
            if let Some(lane) = lanes(u.regs[r].mask(|b| b & bits != 0) & mask).next() {
                return Err(register_trap(u, r, lane, pc, w.index));
            }
        }
        Ok(())
    };
    match &inst.body {
        Body::Load { addr, .. } | Body::LoadLock { addr, .. } => {
            reg(addr.base)?;
            addr.base_hi.map_or(Ok(()), reg)
        }
        Body::Store { addr, width, src, space } => {
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
        Body::StoreUnlock { addr, .. } => reg(addr.base),
        Body::Atom { addr, src, ty, .. } => {
            reg(addr.base)?;
            addr.base_hi.map_or(Ok(()), reg)?;
            let n = if matches!(ty, super::inst::AtomTy::U64 | super::inst::AtomTy::S64) { 2 } else { 1 };
            data(src[0], n, u32::MAX)?;
            data(src[1], n, u32::MAX)
        }
        Body::LoadConst { base, .. } => reg(*base),
        Body::Stage(op) => super::stage::reads_registers(op).into_iter().flatten().try_for_each(reg),
        Body::Bar { id, count, .. } => {
            reg(*id)?;
            count.map_or(Ok(()), reg)
        }
        Body::Flow(Flow::Brx { reg: r, .. }) => reg(*r),
        Body::Flow(_) if inst.reads_cc => match lanes(u.cc & mask).next() {
            Some(lane) => Err(trap("the condition code", u.cc_origin, lane, pc, w.index)),
            None => Ok(()),
        },
        // What the format has no channel for may be anything ([`channels`]).
        Body::Surface(op) if op.access == Access::StoreTexel => {
            let others = inst.reads.iter().filter(|(r, _)| *r != op.data);
            others.copied().try_for_each(|(r, n)| data(r, n.into(), u32::MAX))
        }
        Body::Tex(_) | Body::Surface(_) => {
            inst.reads.iter().try_for_each(|&(r, n)| data(r, n.into(), u32::MAX))
        }
        _ => Ok(()),
    }
}
