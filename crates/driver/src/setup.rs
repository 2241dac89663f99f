//! What a new channel is told once: where code, tables and local memory lie. Sources: Mesa `nvc0_compute.c`
//! (`nvc0_screen_compute_setup`), `nve4_compute.c`.

use crate::commands::Subchannel::{self, Compute, ThreeD};
use crate::commands::halves;
use crate::context::Context;
use crate::device::{Alloc, Device, Domain, Memory};
use crate::error::Result;
use crate::memory::Shared;
use crate::tables::{SAMPLERS_OFFSET, TABLE_ENTRIES};
use nvir::Chip;
use nvir_hw::method::bindings::*;
use nvir_hw::method::compute::*;
use nvir_hw::method::fermi_compute::*;
use nvir_hw::method::kepler_compute::{MP_TEMP_SIZE, UNK0248, UNK0310};
use nvir_hw::method::shader::*;
use nvir_hw::{qmd, window};
use std::sync::Arc;

/// Launch descriptors, one used after the other.
pub(crate) const DESCRIPTORS: u32 = 64;
pub(crate) const DESCRIPTORS_BYTES: u64 = qmd::BYTES * DESCRIPTORS as u64;

/// Bytes of a warp's call-return stack, at least.
pub(crate) const STACK_BYTES: u32 = 0x800;

/// Memory in which the card keeps local memory of all threads that can be resident.
#[derive(Debug)]
pub(crate) struct LocalArea {
    shared: Arc<Shared>,
    /// Bytes of a thread, and of a warp's stack, that it is large enough for.
    thread_bytes: u32,
    stack_bytes: u32,
    /// Bytes of a multiprocessor.
    per_mp: u64,
}

/// Bytes of a thread's local memory at first.
const FIRST_LOCAL: u32 = 2048;
/// Bytes of stack in the area at first.
const FIRST_STACK: u32 = 0x200;
const LANES: u64 = 32;

impl LocalArea {
    pub(crate) fn new(device: &Arc<dyn Device>) -> Result<LocalArea> {
        LocalArea::of(device, FIRST_LOCAL, FIRST_STACK)
    }

    fn of(device: &Arc<dyn Device>, thread_bytes: u32, stack_bytes: u32) -> Result<LocalArea> {
        let warps = match device.chip() {
            Chip::Gf100 => 48,
            Chip::Gk104 | Chip::Gk110 => 64,
        };
        let warp = u64::from(thread_bytes) * LANES + u64::from(stack_bytes);
        let per_mp = (warp * warps).next_multiple_of(0x8000);
        let bytes = (per_mp * u64::from(device.multiprocessors())).next_multiple_of(1 << 17);
        let what = Alloc { align: 1 << 17, ..Alloc::linear(bytes, Domain::Vram) };
        let shared = Shared::new(device.clone(), device.alloc(what)?);
        Ok(LocalArea { shared, thread_bytes, stack_bytes, per_mp })
    }

    pub(crate) fn memory(&self) -> Memory {
        self.shared.memory
    }
}

impl Context {
    /// Makes the area large enough for a kernel. What uses the old one ends first.
    pub(crate) fn reserve_local(&mut self, thread_bytes: u32, stack_bytes: u32) -> Result<()> {
        // A small stack is on the chip.
        let stack_bytes = if stack_bytes > STACK_BYTES { stack_bytes } else { FIRST_STACK };
        if thread_bytes <= self.local.thread_bytes && stack_bytes <= self.local.stack_bytes {
            return Ok(());
        }
        self.finish()?;
        let thread_bytes = thread_bytes.max(self.local.thread_bytes).next_multiple_of(16);
        self.local = LocalArea::of(&self.device, thread_bytes, stack_bytes.max(self.local.stack_bytes))?;
        local_area(self);
        Ok(())
    }
}

pub(crate) fn local_area(c: &mut Context) {
    let LocalArea { shared, per_mp, .. } = &c.local;
    let ([high, low], bytes, per_mp) = (halves(shared.memory.address), shared.memory.bytes, *per_mp);
    if c.graphics.is_some() {
        let [size_high, size_low] = halves(bytes);
        c.commands.methods(ThreeD, TEMP_ADDRESS_HIGH, &[high, low, size_high, size_low]);
        c.commands.methods(ThreeD, WARP_TEMP_ALLOC, &[0]);
    }
    c.commands.methods(Compute, TEMP_ADDRESS_HIGH, &[high, low]);
    match c.chip {
        Chip::Gf100 => {
            let [high, low] = halves(bytes);
            c.commands.methods(Compute, TEMP_SIZE_HIGH, &[high, low]);
            c.commands.methods(Compute, WARP_TEMP_ALLOC, &[0]);
        }
        Chip::Gk104 | Chip::Gk110 => {
            let [high, low] = halves(per_mp);
            for i in 0..2 {
                c.commands.methods(Compute, MP_TEMP_SIZE.at(i), &[high, low, 0xff]);
            }
        }
    }
}

/// Queues the state of a new channel.
pub(crate) fn commands(c: &mut Context) {
    let one = |c: &mut Context, method: u32, word: u32| c.commands.methods(Compute, method, &[word]);
    match c.chip {
        Chip::Gf100 => {
            one(c, MP_LIMIT, c.device.multiprocessors());
            one(c, CALL_LIMIT_LOG, 15);
            one(c, UNK02A0, 0x8000);
            // Global memory in 256 windows that lie where they are.
            one(c, UNK02C4, 0);
            let windows: Vec<u32> = (0..256).map(|i| 0xc000_0000 | i << 16 | i).collect();
            c.commands.data(Compute, GLOBAL_BASE, &windows);
            one(c, UNK02C4, 1);
            local_area(c);
            one(c, LOCAL_BASE, window::LOCAL);
            // 48 KiB for shared memory.
            one(c, CACHE_SPLIT, 3);
            one(c, SHARED_BASE, window::SHARED);
            one(c, SHARED_SIZE, 0);
        }
        Chip::Gk104 | Chip::Gk110 => {
            local_area(c);
            one(c, LOCAL_BASE, window::LOCAL);
            one(c, SHARED_BASE, window::SHARED);
        }
    }
    code_address(c);
    if c.chip != Chip::Gf100 {
        one(c, UNK0310, if c.chip == Chip::Gk104 { 0x300 } else { 0x400 });
    }
    table_addresses(c, Compute);
    if c.chip == Chip::Gk110 {
        let words: Vec<u32> = (0..64).rev().map(|i| 0x3_8000 | i).collect();
        c.commands.data(Compute, UNK0248, &words);
        one(c, SERIALIZE, 0);
    }
    if c.chip != Chip::Gf100 {
        one(c, TEX_CB_INDEX, c.abi.aux_bank.into());
    }
}

/// Tells a class where the tables of textures and samplers lie.
pub(crate) fn table_addresses(c: &mut Context, class: Subchannel) {
    let tables = c.tables.address();
    for (method, offset) in [(TIC_ADDRESS_HIGH, 0), (TSC_ADDRESS_HIGH, SAMPLERS_OFFSET)] {
        let [high, low] = halves(tables + offset);
        c.commands.methods(class, method, &[high, low, TABLE_ENTRIES - 1]);
    }
}

/// Tells where code begins.
pub(crate) fn code_address(c: &mut Context) {
    let address = c.code.address();
    for class in c.programmed() {
        c.commands.address(class, CODE_ADDRESS_HIGH, address);
    }
}
