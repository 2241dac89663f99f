//! Loads, stores and atomics of a warp.
//!
//! A request whose addresses all lie in one buffer takes a path without checks of single threads ([`super::rows`]); the others
//! are looked at lane by lane, so that a fault names the first thread at fault.

use crate::check::shadow::{Kind, Request, Where};
use crate::code::micro::{Addr, AtomOp, AtomTy, NULL, Space, Width};
use crate::cx::Cx;
use crate::fault::FaultKind;
use crate::state::lanes::{LANES, LaneVec, Mask, Src, lanes};
use crate::state::warp::Warp;
use crate::trap::Trap;
use crate::units::rows;
use nvir_base::num::float::{add32, ftz32, max32, min32};
use nvir_base::num::int::sext;
use nvir_hw::window;
use std::sync::atomic::Ordering::Relaxed;

/// Where a generic window begins.
const WINDOW: u64 = !(window::BYTES as u64 - 1);

/// Where one thread's access goes.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Buffer, word, first bit of a narrow access.
    Global(usize, usize),
    Shared(usize),
    Local(usize),
}

/// The addresses of all lanes.
fn addresses(cx: &Cx<'_>, w: &Warp, space: Space, addr: &Addr) -> [u64; LANES] {
    let mut scratch = LaneVec::ZERO;
    let mut out = [0; LANES];
    let base = addr.base.get(&w.regs, &cx.env.bound.pool, &mut scratch);
    match addr.base_hi {
        Some(hi) => {
            let mut scratch = LaneVec::ZERO;
            let hi = hi.get(&w.regs, &cx.env.bound.pool, &mut scratch);
            for (out, (lo, hi)) in out.iter_mut().zip(base.0.iter().zip(&hi.0)) {
                let a = u64::from(*lo) | u64::from(*hi) << 32;
                *out = a.wrapping_add(addr.offset as u64);
            }
        }
        None => {
            // Addresses in the windowed spaces wrap at 24 bits, others at 32.
            let mask = if space == Space::Generic { u32::MAX } else { 0x00ff_ffff };
            for (out, base) in out.iter_mut().zip(&base.0) {
                *out = (base.wrapping_add(addr.offset as u32) & mask).into();
            }
        }
    }
    out
}

/// The place of a lane's access; `None` where a bad one is to be ignored.
fn place(cx: &Cx<'_>, space: Space, a: u64, width: Width, lane: usize) -> Result<Option<Place>, Trap> {
    let (size, align) = (u64::from(width.bytes()), u64::from(width.align()));
    let checked = cx.env.checks.memory;
    if a & (align - 1) != 0 && checked {
        let detail = format!("{size} bytes at {a:#x}, which is not a multiple of {align}");
        return Err(Trap::new(FaultKind::Misaligned, lane, detail));
    }
    let a = a & !(align - 1);
    let launch = cx.env.bound.launch;
    let (space, a) = match space {
        Space::Generic if a & WINDOW == u64::from(launch.shared_window) => (Space::Shared, a & !WINDOW),
        Space::Generic if a & WINDOW == u64::from(launch.local_window) => (Space::Local, a & !WINDOW),
        other => (other, a),
    };
    let (found, what) = match space {
        Space::Shared => (
            (a + size <= cx.env.shape.shared_bytes.into()).then_some(Place::Shared(a as usize)),
            "shared memory",
        ),
        Space::Local => {
            ((a + size <= launch.local_bytes.into()).then_some(Place::Local(a as usize)), "local memory")
        }
        Space::Generic => {
            let b =
                if cx.env.bound.memory.buffers.get(cx.block.last_buffer).is_some_and(|b| b.contains(a, size))
                {
                    Some(cx.block.last_buffer)
                } else {
                    cx.env.bound.memory.find(a, size)
                };
            (b.map(|b| Place::Global(b, cx.env.bound.memory.buffers[b].word(a))), "every buffer")
        }
    };
    if found.is_none() && checked {
        let limit = match space {
            Space::Shared => format!(" of {} bytes", cx.env.shape.shared_bytes),
            Space::Local => format!(" of {} bytes", launch.local_bytes),
            Space::Generic => cx.env.bound.memory.nearest(a),
        };
        let detail = format!("{size} bytes at {a:#x}, outside {what}{limit}");
        return Err(Trap::new(FaultKind::OutOfBounds, lane, detail));
    }
    if matches!(space, Space::Shared) && checked && between_variables(&launch.shared_variables, a, size) {
        let detail = format!("{size} bytes at {a:#x}, in a red zone of shared memory");
        return Err(Trap::new(FaultKind::OutOfBounds, lane, detail));
    }
    Ok(found)
}

/// The places of all lanes' accesses: nothing is done before all of them are known.
fn places(
    cx: &Cx<'_>,
    space: Space,
    a: &[u64; LANES],
    mask: Mask,
    width: Width,
) -> Result<[Option<Place>; LANES], Trap> {
    let mut places = [None; LANES];
    for l in lanes(mask) {
        places[l] = place(cx, space, a[l], width, l)?;
    }
    Ok(places)
}

/// Whether an access is not inside one of the variables, where there are any.
fn between_variables(variables: &[(u32, u32)], a: u64, size: u64) -> bool {
    let next = variables.partition_point(|v| u64::from(v.0) <= a);
    let last = next.checked_sub(1).map(|n| variables[n]);
    let inside = |(start, bytes): (u32, u32)| a + size <= u64::from(start) + u64::from(bytes);
    !variables.is_empty() && !last.is_some_and(inside)
}

/// Whether an address is one of a thread's own memory.
fn is_local(cx: &Cx<'_>, space: Space, a: u64) -> bool {
    match space {
        Space::Local => true,
        Space::Generic => a & WINDOW == u64::from(cx.env.bound.launch.local_window),
        Space::Shared => false,
    }
}

/// The place of an access between the end of a thread's memory and the next multiple of 16 bytes, in which it is
/// allocated. A load of several words may reach there for the sake of its first ones.
fn padding(cx: &Cx<'_>, space: Space, a: u64, width: Width) -> Option<Place> {
    let at = a & !WINDOW & !(u64::from(width.align()) - 1);
    let end = u64::from(cx.env.bound.launch.local_bytes).next_multiple_of(16);
    let inside = is_local(cx, space, a) && at + u64::from(width.bytes()) <= end;
    inside.then_some(Place::Local(at as usize))
}

pub(super) fn narrow(width: Width, word: u32, a: u64) -> u32 {
    let v = word >> ((a & 3) * 8);
    match width {
        Width::U8 => v & 0xff,
        Width::S8 => sext(v, 8),
        Width::U16 => v & 0xffff,
        Width::S16 => sext(v, 16),
        _ => word,
    }
}

/// The bits of a word that a narrow store at `a` replaces, and the shift.
pub(super) fn narrow_mask(width: Width, a: u64) -> (u32, u32) {
    let shift = (a & 3) as u32 * 8;
    match width.bytes() {
        1 => (0xff << shift, shift),
        2 => (0xffff << shift, shift),
        _ => (u32::MAX, 0),
    }
}

#[inline(never)]
pub(crate) fn load(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    (space, width): (Space, Width),
    dst: u8,
    addr: &Addr,
) -> Result<(), Trap> {
    if cx.block.profile.is_some() {
        let a = addresses(cx, w, space, addr);
        cx.block.request(space, &a, mask, width);
    }
    if rows::load(cx, w, mask, (space, width), dst, addr) {
        return Ok(());
    }
    let a = addresses(cx, w, space, addr);
    let n = width.regs() as usize;
    let mut rows = [LaneVec::ZERO; 4];
    for l in lanes(mask) {
        let place = match place(cx, space, a[l], width, l) {
            Ok(Some(place)) => place,
            Err(trap) if trap.0.kind != FaultKind::OutOfBounds || !is_local(cx, space, a[l]) => {
                return Err(trap);
            }
            missed => match padding(cx, space, a[l], width) {
                Some(place) => place,
                None => {
                    // The program may not use what it has read (a condition computed without a branch), so this alone
                    // is no fault.
                    if let Err(trap) = missed {
                        cx.block.note(w, || trap);
                        none_undefined(w, width, dst, l);
                    }
                    continue;
                }
            },
        };
        let kind = if addr.coherent { Kind::AtomicRead } else { Kind::Read };
        cx.check(w, request(place, l, a[l], width, kind))?;
        for (k, row) in rows.iter_mut().enumerate().take(n) {
            row.0[l] = read(cx, w, l, place, k)?;
        }
        if n == 1 {
            rows[0].0[l] = narrow(width, rows[0].0[l], a[l]);
        }
        load_undefined(cx, w, l, place, width, a[l], dst);
    }
    put(w, dst, n, mask, &rows);
    Ok(())
}

fn put(w: &mut Warp, dst: u8, n: usize, mask: Mask, rows: &[LaneVec; 4]) {
    if dst != NULL {
        for (k, row) in rows.iter().enumerate().take(n) {
            w.regs[dst as usize + k].blend(mask, row);
        }
    }
}

/// Word `k` of an access.
fn read(cx: &Cx<'_>, w: &mut Warp, lane: usize, place: Place, k: usize) -> Result<u32, Trap> {
    Ok(match place {
        Place::Global(b, word) => {
            cx.track_read(b, word + k)?;
            cx.env.bound.memory.buffers[b].words[word + k].load(Relaxed)
        }
        Place::Shared(at) => cx.block.shared[at / 4 + k],
        Place::Local(at) => w.local.get(at / 4 + k).map_or(0, |row| row.0[lane]),
    })
}

#[inline(never)]
pub(crate) fn store(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    (space, width): (Space, Width),
    src: u8,
    addr: &Addr,
) -> Result<(), Trap> {
    if cx.block.profile.is_some() {
        let a = addresses(cx, w, space, addr);
        cx.block.request(space, &a, mask, width);
    }
    if rows::store(cx, w, mask, (space, width), src, addr) {
        return Ok(());
    }
    let a = addresses(cx, w, space, addr);
    let n = width.regs() as usize;
    let places = places(cx, space, &a, mask, width)?;
    for l in lanes(mask) {
        let Some(place) = places[l] else { continue };
        let words = std::array::from_fn(|k| if k < n { value(w, src, k, l) } else { 0 });
        let kind = if addr.coherent { Kind::AtomicWrite } else { Kind::Write(words) };
        cx.check(w, request(place, l, a[l], width, kind))?;
        for k in 0..n {
            let (bits, shift) = narrow_mask(width, a[l]);
            let v = value(w, src, k, l) << shift;
            write(cx, w, l, place, k, bits, v)?;
        }
        store_undefined(cx, w, l, place, width, a[l], src);
    }
    Ok(())
}

/// Registers take over which bits of a block's memory are undefined.
fn load_undefined(cx: &Cx<'_>, w: &mut Warp, lane: usize, place: Place, width: Width, a: u64, dst: u8) {
    let pc = w.at;
    let Some(u) = &mut w.undef else { return };
    let n = width.regs() as usize;
    for k in 0..n {
        let bits = match place {
            Place::Global(..) => return,
            Place::Shared(at) => cx.block.shadow.as_ref().map_or(0, |s| s.unwritten(at / 4 + k)),
            Place::Local(at) => u.local.get(at / 4 + k).map_or(u32::MAX, |row| row.0[lane]),
        };
        u.set_word(dst, k, lane, if n == 1 { narrow(width, bits, a) } else { bits }, pc);
    }
}

/// What lies outside a thread's memory has no value.
fn none_undefined(w: &mut Warp, width: Width, dst: u8, lane: usize) {
    let pc = w.at;
    let Some(u) = &mut w.undef else { return };
    (0..width.regs() as usize).for_each(|k| u.set_word(dst, k, lane, u32::MAX, pc));
}

/// Memory of a block takes over which bits are undefined (of shared memory: which bytes).
fn store_undefined(cx: &mut Cx<'_>, w: &mut Warp, lane: usize, place: Place, width: Width, a: u64, src: u8) {
    let Some(u) = &mut w.undef else { return };
    for k in 0..width.regs() as usize {
        let (bits, shift) = narrow_mask(width, a);
        let undefined = u.word(src, k, lane) << shift & bits;
        match place {
            Place::Local(at) => {
                if u.local.len() <= at / 4 + k {
                    u.local.resize(at / 4 + k + 1, LaneVec::splat(u32::MAX));
                }
                let cell = &mut u.local[at / 4 + k].0[lane];
                *cell = (*cell & !bits) | undefined;
            }
            Place::Shared(at) => {
                let Some(shadow) = &mut cx.block.shadow else { return };
                let first = at / 4 * 4 + 4 * k;
                (0..4)
                    .filter(|b| undefined >> (8 * b) & 0xff != 0)
                    .for_each(|b| shadow.mark_undefined(first + b));
            }
            Place::Global(..) => {}
        }
    }
}

fn value(w: &Warp, src: u8, k: usize, lane: usize) -> u32 {
    if src == NULL { 0 } else { w.regs[src as usize + k].0[lane] }
}

fn write(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    lane: usize,
    place: Place,
    k: usize,
    bits: u32,
    v: u32,
) -> Result<(), Trap> {
    let merge = |old: u32| (old & !bits) | (v & bits);
    match place {
        Place::Global(b, word) => {
            cx.track_write(b, word + k)?;
            let cell = &cx.env.bound.memory.buffers[b].words[word + k];
            cell.store(merge(cell.load(Relaxed)), Relaxed);
        }
        Place::Shared(at) => {
            let cell = &mut cx.block.shared[at / 4 + k];
            *cell = merge(*cell);
        }
        Place::Local(at) => {
            if w.local.len() <= at / 4 + k {
                w.local.resize(at / 4 + k + 1, LaneVec::ZERO);
            }
            let cell = &mut w.local[at / 4 + k].0[lane];
            *cell = merge(*cell);
        }
    }
    Ok(())
}

/// What the checkers look at.
fn request(place: Place, lane: usize, addr: u64, width: Width, kind: Kind) -> Request {
    let at = match place {
        Place::Global(b, _) => Where::Global(b),
        Place::Shared(at) => Where::Shared(at),
        Place::Local(_) => Where::Local,
    };
    Request { lane, at, addr, size: width.bytes(), kind }
}

/// LDSLK: the lanes that get the lock of their address, in order; all of them load.
pub(crate) fn load_lock(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    width: Width,
    (dst, pdst): (u8, u8),
    addr: &Addr,
) -> Result<(), Trap> {
    let a = addresses(cx, w, Space::Shared, addr);
    cx.block.request(Space::Shared, &a, mask, width);
    let n = width.regs() as usize;
    let mut rows = [LaneVec::ZERO; 4];
    let mut got = 0;
    let places = places(cx, Space::Shared, &a, mask, width)?;
    for l in lanes(mask) {
        let Some(place) = places[l] else { continue };
        let me = w.index * LANES as u32 + l as u32;
        let holder = *cx.block.locks.entry(a[l] as u32).or_insert(me);
        if holder == me {
            got |= 1 << l;
            cx.check(w, request(place, l, a[l], width, Kind::AtomicRead))?;
        }
        for (k, row) in rows.iter_mut().enumerate().take(n) {
            row.0[l] = read(cx, w, l, place, k)?;
        }
        if n == 1 {
            rows[0].0[l] = narrow(width, rows[0].0[l], a[l]);
        }
        load_undefined(cx, w, l, place, width, a[l], dst);
    }
    put(w, dst, n, mask, &rows);
    w.set_pred(pdst, mask, got);
    Ok(())
}

/// STSCUL, STSUL: the lanes that hold the lock store and release it.
pub(crate) fn store_unlock(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    (width, cond): (Width, bool),
    (src, pdst): (u8, u8),
    addr: &Addr,
) -> Result<(), Trap> {
    let a = addresses(cx, w, Space::Shared, addr);
    cx.block.request(Space::Shared, &a, mask, width);
    let mut done = 0;
    let places = places(cx, Space::Shared, &a, mask, width)?;
    for l in lanes(mask) {
        let Some(place) = places[l] else { continue };
        let me = w.index * LANES as u32 + l as u32;
        let held = cx.block.locks.get(&(a[l] as u32)) == Some(&me);
        if cond && !held {
            continue;
        }
        if held {
            cx.block.locks.remove(&(a[l] as u32));
        }
        done |= 1 << l;
        cx.check(w, request(place, l, a[l], width, Kind::AtomicWrite))?;
        let (bits, shift) = narrow_mask(width, a[l]);
        for k in 0..width.regs() as usize {
            let v = value(w, src, k, l) << shift;
            write(cx, w, l, place, k, bits, v)?;
        }
        store_undefined(cx, w, l, place, width, a[l], src);
    }
    w.set_pred(pdst, mask, done);
    Ok(())
}

/// LDC with a register in its address.
#[inline(never)]
pub(crate) fn load_const(
    cx: &Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    (bank, width): (u8, Width),
    dst: u8,
    (base, offset, indexed): (Src, i32, bool),
) -> Result<(), Trap> {
    let n = width.regs() as usize;
    let mut rows = [LaneVec::ZERO; 4];
    let base_of = |l: usize| base.lane(&w.regs, &cx.env.bound.pool, l);
    let first = mask.trailing_zeros() as usize % LANES;
    let same = lanes(mask).all(|l| base_of(l) == base_of(first));
    for l in lanes(if same { mask & mask.wrapping_neg() } else { mask }) {
        let r = base_of(l);
        // `.IS`: the high half of the register counts banks.
        let (bank, at) = if indexed {
            (u32::from(bank) + (r >> 16), (r & 0xffff).wrapping_add(offset as u32) & 0xffff)
        } else {
            (bank.into(), r.wrapping_add(offset as u32))
        };
        let (size, align) = (width.bytes(), width.align());
        if at % align != 0 && cx.env.checks.memory {
            let detail = format!("c[{bank:#x}][{at:#x}], which is not a multiple of {align}");
            return Err(Trap::new(FaultKind::Misaligned, l, detail));
        }
        let at = at & !(align - 1);
        let view = cx.env.bound.bank(bank);
        if cx.env.checks.memory
            && let Some(why) = view.refuses(at, size)
        {
            let detail = format!("{size} bytes at c[{bank:#x}][{at:#x}]; {why}");
            return Err(Trap::new(FaultKind::OutOfBounds, l, detail));
        }
        for (k, row) in rows.iter_mut().enumerate().take(n) {
            row.0[l] = view.word((at & !3) as usize + 4 * k);
        }
        if n == 1 {
            rows[0].0[l] = narrow(width, rows[0].0[l], at.into());
        }
    }
    if same {
        rows = rows.map(|row| LaneVec::splat(row.0[first]));
    }
    put(w, dst, n, mask, &rows);
    Ok(())
}

#[inline(never)]
pub(crate) fn atomic(
    cx: &mut Cx<'_>,
    w: &mut Warp,
    mask: Mask,
    (op, ty): (AtomOp, AtomTy),
    (dst, src): (u8, [u8; 2]),
    addr: &Addr,
) -> Result<(), Trap> {
    let wide = matches!(ty, AtomTy::U64 | AtomTy::S64);
    let width = if wide { Width::B64 } else { Width::B32 };
    let unseen = cx.block.shadow.is_none() && cx.block.profile.is_none();
    if !wide && unseen && rows::atomic(cx, w, mask, (op, ty), (dst, src), addr) {
        return Ok(());
    }
    let a = addresses(cx, w, Space::Generic, addr);
    cx.block.request(Space::Generic, &a, mask, width);
    let mut rows = [LaneVec::ZERO; 4];
    let places = places(cx, Space::Generic, &a, mask, width)?;
    if let Some(l) = lanes(mask).find(|&l| matches!(places[l], Some(Place::Shared(_) | Place::Local(_)))) {
        let detail = format!("an atomic at {:#x}, which is not global memory", a[l]);
        return Err(Trap::new(FaultKind::OutOfBounds, l, detail));
    }
    for l in lanes(mask) {
        let Some(place @ Place::Global(b, word)) = places[l] else { continue };
        cx.check(w, request(place, l, a[l], width, Kind::Atomic))?;
        cx.track_atomic(b, word, if dst == NULL { Some((op, ty)) } else { None })?;
        let words = &cx.env.bound.memory.buffers[b].words;
        let get = |w: &Warp, s: u8| {
            let lo = u64::from(value(w, s, 0, l));
            if wide { lo | u64::from(value(w, s, 1, l)) << 32 } else { lo }
        };
        let (x, y) = (get(w, src[0]), get(w, src[1]));
        if wide {
            cx.track_atomic(b, word + 1, None)?;
            let old = u64::from(words[word].load(Relaxed)) | u64::from(words[word + 1].load(Relaxed)) << 32;
            let new = combine(op, ty, old, x, y);
            words[word].store(new as u32, Relaxed);
            words[word + 1].store((new >> 32) as u32, Relaxed);
            (rows[0].0[l], rows[1].0[l]) = (old as u32, (old >> 32) as u32);
        } else {
            // Blocks on other threads may add to the same word.
            let old = words[word]
                .fetch_update(Relaxed, Relaxed, |old| Some(combine(op, ty, old.into(), x, y) as u32));
            rows[0].0[l] = old.unwrap_or_else(|old| old);
        }
    }
    put(w, dst, if wide { 2 } else { 1 }, mask, &rows);
    Ok(())
}

/// The new value of an atomic's memory.
pub(super) fn combine(op: AtomOp, ty: AtomTy, old: u64, x: u64, y: u64) -> u64 {
    let signed = |v: u64| if ty == AtomTy::S64 { v as i64 } else { i64::from(v as i32) };
    let is_signed = matches!(ty, AtomTy::S32 | AtomTy::S64);
    if let AtomTy::F32 { ftz } = ty {
        let flush = |v: u64| if ftz { ftz32(v as u32) } else { v as u32 };
        let (a, b) = (flush(old), flush(x));
        return u64::from(match op {
            AtomOp::Add => flush(add32(a, b, Default::default()).into()),
            AtomOp::Min => min32(a, b),
            AtomOp::Max => max32(a, b),
            _ => x as u32,
        });
    }
    match op {
        AtomOp::Add | AtomOp::Safeadd => old.wrapping_add(x),
        AtomOp::Min if is_signed => {
            if signed(x) < signed(old) {
                x
            } else {
                old
            }
        }
        AtomOp::Max if is_signed => {
            if signed(x) > signed(old) {
                x
            } else {
                old
            }
        }
        AtomOp::Min => old.min(x),
        AtomOp::Max => old.max(x),
        AtomOp::Inc => {
            if old >= x {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            if old == 0 || old > x {
                x
            } else {
                old - 1
            }
        }
        AtomOp::And => old & x,
        AtomOp::Or => old | x,
        AtomOp::Xor => old ^ x,
        AtomOp::Exch => x,
        AtomOp::Cas => {
            if old == x {
                y
            } else {
                old
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checks, Launch, Memory, Options, Program};
    use nvir_base::Chip;
    use nvir_isa as isa;

    #[test]
    fn atomics_combine_as_the_ptx_manual_says() {
        use AtomOp::*;
        let u = |op, old, x| combine(op, AtomTy::U32, old, x, 9);
        assert_eq!(u(Inc, 3, 3), 0);
        assert_eq!(u(Inc, 2, 3), 3);
        assert_eq!(u(Dec, 0, 3), 3);
        assert_eq!(u(Dec, 5, 3), 3);
        assert_eq!(u(Dec, 2, 3), 1);
        assert_eq!(u(Cas, 4, 4), 9);
        assert_eq!(u(Cas, 5, 4), 5);
        assert_eq!(combine(Min, AtomTy::S32, 1, 0xffff_ffff, 0), 0xffff_ffff);
        assert_eq!(combine(Max, AtomTy::S64, 1, u64::MAX, 0), 1);
        let f = |v: f32| u64::from(v.to_bits());
        assert_eq!(combine(Add, AtomTy::F32 { ftz: true }, f(1.5), f(2.0), 0), f(3.5));
    }

    /// Offsets of 32 lanes, as accesses have them: in order, at one place, in another order, over each other, none of these.
    fn offsets(seed: &mut u32, bytes: u32) -> [u32; 32] {
        let mut next = |n: u32| {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (*seed >> 12) % n
        };
        let (kind, start) = (next(6), next(16) * bytes);
        std::array::from_fn(|l| {
            let l = l as u32;
            start
                + bytes
                    * match kind {
                        0 | 1 => l,
                        2 => 0,
                        3 => 31 - l,
                        4 => l / 3,
                        _ => next(64),
                    }
        })
    }

    /// What a launch of accesses counts, or its fault; what it loads; memory afterwards.
    #[derive(PartialEq, Debug)]
    struct Accessed {
        counts: Result<(u64, u64), String>,
        loaded: Vec<u32>,
        memory: Vec<u32>,
    }

    /// Accesses of 32 lanes, of which some may be off, to memory of 4096 bytes.
    fn accessed(lines: &[String], offsets: &[u32; 32], mask: Mask, checks: Checks) -> Accessed {
        let encode = |(n, line): (usize, &String)| {
            let m = isa::text::parse(Chip::Gf100, line, 8 * n as u32, &|_| None).expect(line);
            isa::encode(Chip::Gf100, &m, 8 * n as u32).expect(line)
        };
        let program = Program::new(Chip::Gf100, &lines.iter().enumerate().map(encode).collect::<Vec<_>>());
        let mut memory = Memory::new();
        let table: Vec<u32> =
            (0..32).flat_map(|l| [offsets[l], mask >> l & 1, l as u32 * 0x0103_0507, 77]).collect();
        let words = |n: u32| (0..n).map(|i| i.wrapping_mul(0x9e37_79b9)).collect::<Vec<_>>();
        let [at, data, out] = [512, 4096, 512].map(|size| memory.alloc(size, 256).expect("it fits"));
        memory.write_words(at, &table).expect("it is there");
        memory.write_words(data, &words(1024)).expect("it is there");
        if checks.init {
            // Another buffer: now each access to global memory is looked at.
            let other = memory.alloc(64, 16).expect("it fits");
            memory.mark_uninitialized(other);
        }
        let mut launch = Launch::new(&program);
        (launch.block, launch.shared_bytes, launch.local_bytes, launch.gprs) = ([32, 1, 1], 4096, 4096, 32);
        for (n, address) in [at, data, out].into_iter().enumerate() {
            launch.set_const(0, 8 * n, &address.to_le_bytes());
        }
        let stats = crate::run(&launch, &mut memory, &mut Options { checks, ..Options::default() });
        let read = |memory: &Memory, at: u64, count: usize| {
            let mut words = vec![0; count];
            memory.read_words(at, &mut words).expect("it is there");
            words
        };
        let counts = stats.map(|s| (s.warp_instructions, s.thread_instructions)).map_err(|f| f.to_string());
        Accessed { counts, loaded: read(&memory, out, 128), memory: read(&memory, data, 1024) }
    }

    /// What recognises the lanes' pattern gives what a look at each lane gives: initcheck has it done that way.
    #[test]
    fn accesses_by_rows_are_those_of_single_lanes() {
        let lane_by_lane = Checks { init: true, ..Checks::default() };
        let widths = [(".U8", 1), (".S8", 1), (".U16", 2), (".S16", 2), ("", 4), (".64", 8), (".128", 16)];
        let mut seed = 7;
        let mut faults = 0;
        for round in 0..900u32 {
            let (width, bytes) = widths[round as usize % widths.len()];
            let mut offsets = offsets(&mut seed, bytes);
            let space = ["global", "shared", "local"][round as usize / widths.len() % 3];
            let mask = match seed >> 28 {
                0..8 => Mask::MAX,
                8..10 => 1 << (seed >> 8 & 31),
                10 => 0x0000_fff0,
                _ => seed ^ seed << 9,
            };
            match seed >> 20 & 15 {
                // Outside, or between: a fault, or local memory's padding.
                0 => offsets[seed as usize & 31] += 4096,
                1 => offsets[seed as usize & 31] += 1,
                _ => {}
            }
            let (load, store, address) = match space {
                "global" => ("LD.E", "ST.E", "R12"),
                "shared" => ("LDS", "STS", "R8"),
                _ => ("LDL", "STL", "R8"),
            };
            let mut lines: Vec<String> = Vec::new();
            let mut line = |text: String| lines.push(text);
            line("S2R R0, SR_TID.X".into());
            for (low, bank) in [(4, 0), (12, 8), (20, 16)] {
                line(format!("MOV R{low}, c[0x0][{bank:#x}]"));
                line(format!("MOV R{}, c[0x0][{:#x}]", low + 1, bank + 4));
            }
            for low in [4, 20] {
                line(format!("ISCADD R{low}.CC, R0, R{low}, 0x4"));
                line(format!("IADD.X R{}, R{}, RZ", low + 1, low + 1));
            }
            line("LD.E.128 R8, [R4]".into());
            line("ISETP.NE.AND P0, PT, R9, RZ, PT".into());
            line("IADD R12.CC, R12, R8".into());
            line("IADD.X R13, R13, RZ".into());
            // Known registers, and known words in shared and local memory: the same for the thread and its neighbours.
            (16..20).for_each(|r| line(format!("MOV R{r}, R10")));
            (24..28).for_each(|r| line(format!("LOP.XOR R{r}, R10, {:#x}", r * 5)));
            if space != "global" {
                for at in (0..2048).step_by(16) {
                    line(format!("{store}.128 [RZ+{at:#x}], R24"));
                }
            }
            line(format!("@P0 {store}{width} [{address}+0x20], R24"));
            line(format!("@P0 {load}{width} R16, [{address}+0x20]"));
            line("ST.E.128 [R20], R16".into());
            line("EXIT".into());
            let fast = accessed(&lines, &offsets, mask, Checks::default());
            let slow = accessed(&lines, &offsets, mask, lane_by_lane);
            assert_eq!(fast, slow, "{space}{width} at {offsets:?}, lanes {mask:#x}");
            faults += u32::from(fast.counts.is_err());
        }
        assert!((20..200).contains(&faults), "{faults} of 900 fault");
    }
}
