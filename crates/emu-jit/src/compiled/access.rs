//! Loads and stores that generated code does not do in line, and that no lane can fault at.
//!
//! Everything is looked at before anything is done; what is not plainly inside memory is the interpreter's, which tells of faults.

use nvir_emu::engine::Cx;
use nvir_emu::engine::open::{
    self, Addr, Inst, LANES, LaneVec, Mask, Micro, NULL, PSrc, Raw, Space, Src, Tracked, Width,
};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Addresses in shared and local memory wrap at 24 bits.
const WINDOW: u32 = 0x00ff_ffff;

/// A load or store. Narrow stores change parts of words: they are not done here.
struct Access<'a> {
    space: Space,
    width: Width,
    /// The first register that is loaded or stored.
    reg: u8,
    addr: &'a Addr,
    is_store: bool,
}

impl<'a> Access<'a> {
    fn of(inst: &'a Inst) -> Option<Access<'a>> {
        match &inst.micro {
            Micro::Load { space, width, dst, addr } => {
                Some(Access { space: *space, width: *width, reg: *dst, addr, is_store: false })
            }
            Micro::Store { space, width, src, addr } if width.bytes() >= 4 => {
                Some(Access { space: *space, width: *width, reg: *src, addr, is_store: true })
            }
            _ => None,
        }
    }
}

/// The address that an instruction accesses, if it is one of global memory.
pub(crate) fn global_address(inst: &Inst) -> Option<&Addr> {
    match &inst.micro {
        Micro::Load { space: Space::Generic, addr, .. }
        | Micro::Store { space: Space::Generic, addr, .. }
        | Micro::Atom { addr, .. } => Some(addr),
        _ => None,
    }
}

/// Lanes of a mask, lowest first.
fn lanes(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The row of an operand.
///
/// # Safety
/// `raw` is that of the warp and its launch, and the operand one of its code.
unsafe fn row<'r>(raw: &Raw, src: Src) -> &'r LaneVec {
    let row = match src.row.checked_sub(open::POOL) {
        // SAFETY: as above: there are as many rows of registers as the code names.
        None => unsafe { raw.regs.add(src.row.into()).cast_const() },
        // SAFETY: the same for the pool.
        Some(row) => unsafe { raw.pool.add(row.into()) },
    };
    // SAFETY: nothing writes it while the access finds its addresses.
    unsafe { &*row }
}

/// Does a load or store for the lanes of a warp, and counts it; or does nothing, since it is not plain.
///
/// # Safety
/// `raw` is that of the warp that is at this instruction, and its slots those of this launch.
pub(crate) unsafe fn access(cx: &Cx<'_>, raw: &Raw, inst: &Inst, slot: usize) -> bool {
    let Some(what) = Access::of(inst) else { return false };
    // SAFETY: `open` says what is where in a warp.
    let word = |offset: usize| unsafe { *raw.warp.cast::<u8>().add(offset).cast::<u32>() };
    let guard = |p: PSrc| {
        let m = word(open::PREDICATES + 4 * usize::from(p.num & 7));
        if p.not { !m } else { m }
    };
    let mask = word(open::ACTIVE) & guard(inst.guard) & (u32::from(inst.quad) * 0x1111_1111);
    // SAFETY: the caller's.
    let place = unsafe { &*raw.slots.add(slot) };
    let (base, limit, host) = match what.space {
        Space::Generic => (place.base, place.size.max(place.tracked), place.data),
        Space::Shared => (0, raw.shared_bytes, raw.shared.expose_provenance() as u64),
        Space::Local => (0, raw.local_rows * 4, 0),
    };
    // SAFETY: as the caller says.
    let Some(at) = (unsafe { offsets(raw, &what, mask, base, limit) }) else { return false };
    if what.space == Space::Generic && place.tracked != 0 {
        let does = if what.is_store { Tracked::Write } else { Tracked::Read };
        let words = what.width.regs() as usize;
        if !lanes(mask).all(|l| cx.track(slot, at[l].into(), words, does)) {
            return false;
        }
    }
    // SAFETY: `offsets` says that all of it is inside; buffers and shared memory are words, which are read as wholes. Registers of an
    // access are among those that the code names.
    unsafe {
        let reg = (what.reg != NULL).then(|| raw.regs.add(what.reg.into()).cast::<u32>());
        match what.space {
            Space::Local => move_words(&what, mask, reg, |l, k| {
                (*raw.local.add(at[l] as usize / 4 + k)).0.as_ptr().add(l).cast()
            }),
            _ => move_words(&what, mask, reg, |l, k| {
                let byte = host as usize + at[l] as usize;
                std::ptr::with_exposed_provenance((byte & !3) + 4 * k)
            }),
        }
        if let Some(reg) = reg.filter(|_| what.width.bytes() < 4) {
            lanes(mask).for_each(|l| {
                *reg.add(l) = narrow(what.width, *reg.add(l), (base as u32).wrapping_add(at[l]))
            });
        }
    }
    // SAFETY: `open` says what is where in a block.
    unsafe {
        *raw.block.add(open::STEPS).cast::<u64>() += 1;
        *raw.block.add(open::THREAD_STEPS).cast::<u64>() += u64::from(mask.count_ones());
    }
    true
}

/// How far from `base` each lane's access is, if those of a mask are all aligned and inside `limit` bytes.
///
/// # Safety
/// As [`row`].
unsafe fn offsets(raw: &Raw, what: &Access<'_>, mask: Mask, base: u64, limit: u64) -> Option<[u32; LANES]> {
    let addr = what.addr;
    // SAFETY: the caller's.
    let (lo, hi) = unsafe { (row(raw, addr.base), addr.base_hi.map(|hi| (row(raw, hi), hi.modifier))) };
    let low = |l: usize| addr.base.modifier.apply(lo.0[l]);
    let (size, align) = (u64::from(what.width.bytes()), what.width.align() - 1);
    // No buffer is larger than what 32 bits address.
    let last = limit.checked_sub(size)?.min(u32::MAX.into()) as u32;
    let mut at = [0; LANES];
    let mut wrong = [0; LANES];
    for l in 0..LANES {
        let offset = match (what.space, hi) {
            (Space::Generic, Some((hi, modifier))) => {
                let a = u64::from(low(l)) | u64::from(modifier.apply(hi.0[l])) << 32;
                a.wrapping_add(addr.offset as u64).wrapping_sub(base)
            }
            (Space::Generic, None) => u64::from(low(l).wrapping_add(addr.offset as u32)).wrapping_sub(base),
            _ => (low(l).wrapping_add(addr.offset as u32) & WINDOW).into(),
        };
        at[l] = offset as u32;
        wrong[l] =
            (offset >> 32) as u32 | u32::from(at[l] > last) | (base as u32).wrapping_add(at[l]) & align;
    }
    let plain = match mask {
        Mask::MAX => wrong.iter().fold(0, |all, w| all | w) == 0,
        _ => lanes(mask).all(|l| wrong[l] == 0),
    };
    plain.then_some(at)
}

/// Loads or stores the words of the lanes of a mask: `cell` is where word `k` of a lane's is, `reg` where the first register's row is.
///
/// # Safety
/// The words of these lanes are there, and as many rows.
unsafe fn move_words(
    what: &Access<'_>,
    mask: Mask,
    reg: Option<*mut u32>,
    cell: impl Fn(usize, usize) -> *const AtomicU32,
) {
    for k in 0..what.width.regs() as usize {
        // SAFETY: the caller's, of each of these lanes.
        let one = |l: usize| unsafe {
            match (what.is_store, reg) {
                (true, None) => (*cell(l, k)).store(0, Relaxed),
                (true, Some(reg)) => (*cell(l, k)).store(*reg.add(k * LANES + l), Relaxed),
                (false, None) => {}
                (false, Some(reg)) => *reg.add(k * LANES + l) = (*cell(l, k)).load(Relaxed),
            }
        };
        match mask {
            Mask::MAX => (0..LANES).for_each(one),
            _ => lanes(mask).for_each(one),
        }
    }
}

/// The part of a word at an address, extended.
fn narrow(width: Width, word: u32, at: u32) -> u32 {
    let v = word >> ((at & 3) * 8);
    match width {
        Width::U8 => v & 0xff,
        Width::S8 => v as i8 as u32,
        Width::U16 => v & 0xffff,
        Width::S16 => v as i16 as u32,
        _ => word,
    }
}
