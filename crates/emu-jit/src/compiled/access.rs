//! Loads and stores that generated code does not do in line, and that no lane can fault at.
//!
//! Everything is looked at before anything is done; what is not plainly inside memory is the interpreter's, which tells of faults.

use nvir_emu::engine::open::{
    self, Addr, Inst, LANES, LaneVec, Mask, Micro, NULL, PSrc, Raw, Space, Src, Width,
};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Addresses in shared and local memory wrap at 24 bits.
const WINDOW: u32 = 0x00ff_ffff;

/// A load or store.
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
            Micro::Store { space, width, src, addr } => {
                Some(Access { space: *space, width: *width, reg: *src, addr, is_store: true })
            }
            _ => None,
        }
    }
}

/// The address that an instruction accesses, if it is one of global memory.
pub(crate) fn global_address(inst: &Inst) -> Option<&Addr> {
    Access::of(inst).filter(|a| a.space == Space::Generic).map(|a| a.addr)
}

/// Whether [`access`] may do an instruction. Narrow stores change parts of words.
pub(crate) fn is_access(inst: &Inst) -> bool {
    Access::of(inst).is_some_and(|a| !(a.is_store && a.width.bytes() < 4)) && !inst.sync
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
pub(crate) unsafe fn access(raw: &Raw, inst: &Inst, slot: usize) -> bool {
    let Some(what) = Access::of(inst) else { return false };
    // SAFETY: `open` says what is where in a warp.
    let word = |offset: usize| unsafe { *raw.warp.cast::<u8>().add(offset).cast::<u32>() };
    let guard = |p: PSrc| {
        let m = word(open::PREDICATES + 4 * usize::from(p.num & 7));
        if p.not { !m } else { m }
    };
    let mask = word(open::ACTIVE) & guard(inst.guard) & (u32::from(inst.quad) * 0x1111_1111);
    // SAFETY: as the caller says.
    let (lo, hi) = unsafe { (row(raw, what.addr.base), what.addr.base_hi.map(|hi| row(raw, hi))) };
    let low = |l: usize| what.addr.base.modifier.apply(lo.0[l]);
    let mut at = [0u64; LANES];
    let words = what.width.regs() as usize;
    let (size, align) = (u64::from(what.width.bytes()), u64::from(what.width.align()) - 1);
    // SAFETY: the caller's.
    let place = unsafe { &*raw.slots.add(slot) };
    let limit = match what.space {
        Space::Generic => {
            match (hi, what.addr.base_hi) {
                (Some(hi), Some(src)) => (0..LANES).for_each(|l| {
                    let a = u64::from(low(l)) | u64::from(src.modifier.apply(hi.0[l])) << 32;
                    at[l] = a.wrapping_add(what.addr.offset as u64);
                }),
                _ => (0..LANES).for_each(|l| at[l] = low(l).wrapping_add(what.addr.offset as u32).into()),
            }
            place.size
        }
        space => {
            (0..LANES).for_each(|l| at[l] = (low(l).wrapping_add(what.addr.offset as u32) & WINDOW).into());
            if space == Space::Shared { raw.shared_bytes } else { raw.local_rows * 4 }
        }
    };
    let Some(last) = limit.checked_sub(size) else { return false };
    let base = if what.space == Space::Generic { place.base } else { 0 };
    let mut plain = true;
    for l in lanes(mask) {
        plain &= at[l].wrapping_sub(base) <= last && at[l] & align == 0;
    }
    if !plain {
        return false;
    }
    let host = match what.space {
        Space::Generic => place.data.wrapping_sub(place.base),
        Space::Shared => raw.shared.expose_provenance() as u64,
        Space::Local => 0,
    };
    for k in 0..words {
        for l in lanes(mask) {
            // SAFETY: `plain` says that all of it is inside; buffers and shared memory are words, which are read as wholes. Registers of an
            // access are among those that the code names.
            unsafe {
                let word: &AtomicU32 = match what.space {
                    Space::Local => &*(*raw.local.add(at[l] as usize / 4 + k)).0.as_mut_ptr().add(l).cast(),
                    _ => {
                        let byte = host.wrapping_add(at[l]) as usize & !3;
                        &*std::ptr::with_exposed_provenance::<AtomicU32>(byte + 4 * k)
                    }
                };
                let reg = |k: usize| (*raw.regs.add(usize::from(what.reg) + k)).0.as_mut_ptr().add(l);
                match (what.is_store, what.reg) {
                    (true, NULL) => word.store(0, Relaxed),
                    (true, _) => word.store(*reg(k), Relaxed),
                    (false, NULL) => {}
                    (false, _) => *reg(k) = narrow(what.width, word.load(Relaxed), at[l]),
                }
            }
        }
    }
    // SAFETY: `open` says what is where in a block.
    unsafe {
        *raw.block.add(open::STEPS).cast::<u64>() += 1;
        *raw.block.add(open::THREAD_STEPS).cast::<u64>() += u64::from(mask.count_ones());
    }
    true
}

/// The part of a word at an address, extended.
fn narrow(width: Width, word: u32, at: u64) -> u32 {
    let v = word >> ((at & 3) * 8);
    match width {
        Width::U8 => v & 0xff,
        Width::S8 => v as i8 as u32,
        Width::U16 => v & 0xffff,
        Width::S16 => v as i16 as u32,
        _ => word,
    }
}
