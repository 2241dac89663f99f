//! Launches of Kepler: a descriptor in memory. Source: Mesa `nve4_compute.c`.

use super::Request;
use crate::commands::Subchannel::Compute;
use crate::context::Context;
use crate::error::{Result, invalid};
use crate::memory::Slice;
use crate::setup::{DESCRIPTORS, STACK_BYTES};
use nvir_hw::method::compute::FLUSH;
use nvir_hw::method::kepler_compute::{LAUNCH, LAUNCH_DESC_ADDRESS};
use nvir_hw::method::shader::SERIALIZE;
use nvir_hw::method::upload::{UPLOAD_DST_ADDRESS_HIGH, UPLOAD_EXEC, UPLOAD_LINE_LENGTH_IN};
use nvir_hw::qmd::{self, BANKS, Qmd};
use nvir_hw::word::{UploadExec, flush};

impl Context {
    pub(super) fn launch_kepler(&mut self, r: &Request, indirect: Option<&Slice>) -> Result<()> {
        if let Some(bank) = r.banks.iter().find(|b| u32::from(b.index) >= BANKS) {
            return invalid(format!("constant bank {}: a launch has {BANKS}", bank.index));
        }
        // A descriptor is used again when 63 launches have come between, all of which have ended.
        self.descriptor = (self.descriptor + 1) % DESCRIPTORS;
        let at = self.descriptors_address() + u64::from(self.descriptor) * qmd::BYTES;
        self.upload_to(at, qmd::BYTES as u32);
        self.commands.start_with_data(
            Compute,
            UPLOAD_EXEC,
            UploadExec::LINEAR_COMPUTE.into(),
            &descriptor(r).0,
        );
        if let Some(grid) = indirect {
            self.using(&grid.buffer.shared);
            // x and y are words there; z is the upper half of y's word.
            self.upload_from(at + 4 * 12, &grid.buffer.slice(grid.offset, 8));
            self.upload_from(at + 4 * 13 + 2, &grid.buffer.slice(grid.offset + 8, 4));
        }
        let caches = flush::CONSTANTS | flush::GLOBAL;
        self.commands.methods(Compute, FLUSH, &[caches]);
        self.commands.methods(Compute, LAUNCH_DESC_ADDRESS, &[(at >> 8) as u32]);
        self.commands.methods(Compute, LAUNCH, &[3]);
        // What follows changes constants that this launch reads.
        self.commands.methods(Compute, SERIALIZE, &[0]);
        Ok(())
    }

    /// Says where the next upload through the compute class goes, which is in order with launches.
    fn upload_to(&mut self, address: u64, bytes: u32) {
        self.commands.address(Compute, UPLOAD_DST_ADDRESS_HIGH, address);
        self.commands.methods(Compute, UPLOAD_LINE_LENGTH_IN, &[bytes, 1]);
    }

    /// Writes a few words that are in memory.
    pub(super) fn upload_from(&mut self, address: u64, from: &Slice) {
        self.upload_to(address, from.bytes as u32);
        let memory = (from.buffer.shared.clone(), from.offset, from.bytes as u32);
        self.commands.start_with_memory(Compute, UPLOAD_EXEC, UploadExec::LINEAR_COMPUTE.into(), memory);
    }
}

/// A launch's descriptor.
fn descriptor(r: &Request) -> Qmd {
    let mut d = Qmd::default();
    // What is cached of textures, data and constants is forgotten; code stays.
    for cache in [
        Qmd::INVALIDATE_TEXTURE_HEADER_CACHE,
        Qmd::INVALIDATE_TEXTURE_SAMPLER_CACHE,
        Qmd::INVALIDATE_TEXTURE_DATA_CACHE,
        Qmd::INVALIDATE_SHADER_DATA_CACHE,
        Qmd::INVALIDATE_SHADER_CONSTANT_CACHE,
    ] {
        d.set(cache, 1);
    }
    // 16, 32 or 48 KiB of the first cache are shared memory.
    let split = match r.shared {
        0..=0x4000 => 1,
        0x4001..=0x8000 => 2,
        _ => 3,
    };
    // Waits for memory at the end.
    d.set(Qmd::RELEASE_MEMBAR_TYPE, 1).set(Qmd::CWD_MEMBAR_TYPE, 1).set(Qmd::API_VISIBLE_CALL_LIMIT, 1);
    d.set(Qmd::PROGRAM_OFFSET, r.entry).set_grid(r.grid).set_block(r.block);
    d.set(Qmd::SHARED_MEMORY_SIZE, r.shared.next_multiple_of(0x100)).set(Qmd::L1_CONFIGURATION, split);
    for bank in &r.banks {
        d.set_bank(bank.index.into(), bank.address, bank.size());
    }
    d.set(Qmd::SHADER_LOCAL_MEMORY_LOW_SIZE, r.local.next_multiple_of(16));
    d.set(Qmd::BARRIER_COUNT, r.barriers).set(Qmd::REGISTER_COUNT, r.gprs);
    d.set(Qmd::SHADER_LOCAL_MEMORY_CRS_SIZE, r.stack.max(STACK_BYTES)).set(Qmd::SASS_VERSION, 0x30);
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Bank;

    #[test]
    fn the_descriptor_is_that_of_mesas_recording() {
        // `shared` on GK104: 256 bytes shared, one barrier, six registers, the driver's bank alone.
        let r = Request {
            entry: 0x7_e780,
            grid: [4, 1, 1],
            block: [64, 1, 1],
            gprs: 6,
            shared: 0x100,
            local: 0,
            stack: 0,
            barriers: 1,
            banks: vec![Bank { index: 7, address: 0x1_0035_1000, bytes: 0x800 }],
            textures: Vec::new(),
            images: Vec::new(),
        };
        let mut want = [0; 64];
        for (at, word) in [
            (7, 0xbc00_0000),
            (8, 0x7_e780),
            (11, 0x0401_4000),
            (12, 4),
            (13, 0x1_0001),
            (17, 0x100),
            (18, 0x40_0000),
            (19, 0x1_0001),
            (20, 0x2000_0080),
            (43, 0x35_1000),
            (44, 0x400_0001),
            (45, 0x800_0000),
            (46, 0x600_0000),
            (47, 0x3000_0800),
        ] {
            want[at] = word;
        }
        assert_eq!(descriptor(&r).0, want);
    }
}
