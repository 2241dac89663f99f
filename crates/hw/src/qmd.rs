//! Launch descriptors of Kepler: QMD 00_06, 64 words. Source: NVIDIA's cla0c0qmd.h, whose names the
//! fields have.

use crate::field::words;

/// Bytes of a descriptor, which lies at a multiple of as many.
pub const BYTES: u64 = 256;
/// Constant banks that a descriptor has.
pub const BANKS: u32 = Qmd::CONSTANT_BUFFER_VALID.count();
/// Words that a launch may write when it has ended.
pub const RELEASES: u32 = Qmd::RELEASE_ENABLE.count();

words! {
    /// A launch descriptor.
    pub struct Qmd[64];

    /// Writes `RELEASE_*` when the last block has ended.
    RELEASE_ENABLE[2; 1] = 6[10:10];
    /// Caches that are forgotten before the launch.
    INVALIDATE_TEXTURE_HEADER_CACHE = 7[26:26];
    /// See there.
    INVALIDATE_TEXTURE_SAMPLER_CACHE = 7[27:27];
    /// See there.
    INVALIDATE_TEXTURE_DATA_CACHE = 7[28:28];
    /// See there.
    INVALIDATE_SHADER_DATA_CACHE = 7[29:29];
    /// See there.
    INVALIDATE_INSTRUCTION_CACHE = 7[30:30];
    /// See there.
    INVALIDATE_SHADER_CONSTANT_CACHE = 7[31:31];
    /// The first instruction, counted from `CODE_ADDRESS`.
    PROGRAM_OFFSET = 8[31:0];
    /// 1: what was written can be seen by all when the launch has ended.
    RELEASE_MEMBAR_TYPE = 11[14:14];
    /// 1: the same between blocks.
    CWD_MEMBAR_TYPE = 11[17:16];
    /// 1: call depth has no limit.
    API_VISIBLE_CALL_LIMIT = 11[26:26];
    /// Blocks in x, y and z.
    CTA_RASTER_WIDTH = 12[30:0];
    /// See there.
    CTA_RASTER_HEIGHT = 13[15:0];
    /// See there.
    CTA_RASTER_DEPTH = 13[31:16];
    /// Bytes, a multiple of 256.
    SHARED_MEMORY_SIZE = 17[17:0];
    /// Threads of a block in x, y and z.
    CTA_THREAD_DIMENSION0 = 18[31:16];
    /// See there.
    CTA_THREAD_DIMENSION1 = 19[15:0];
    /// See there.
    CTA_THREAD_DIMENSION2 = 19[31:16];
    /// Which banks there are.
    CONSTANT_BUFFER_VALID[8; 1] = 20[0:0];
    /// 1, 2, 3: 16, 32, 48 KiB of the first cache are shared memory.
    L1_CONFIGURATION = 20[31:29];
    /// Where a release goes.
    RELEASE_ADDRESS_LOWER[2; 96] = 23[31:0];
    /// See there.
    RELEASE_ADDRESS_UPPER[2; 96] = 24[7:0];
    /// 0 to 7: add, minimum, maximum, increment, decrement, and, or, exclusive or.
    RELEASE_REDUCTION_OP[2; 96] = 24[22:20];
    /// 1: signed.
    RELEASE_REDUCTION_FORMAT[2; 96] = 24[25:24];
    /// The payload is joined with the word in memory.
    RELEASE_REDUCTION_ENABLE[2; 96] = 24[26:26];
    /// 0: four words with the time; 1: one word.
    RELEASE_STRUCTURE_SIZE[2; 96] = 24[31:31];
    /// What is written.
    RELEASE_PAYLOAD[2; 96] = 25[31:0];
    /// A bank: its first byte, and bytes.
    CONSTANT_BUFFER_ADDR_LOWER[8; 64] = 29[31:0];
    /// See there.
    CONSTANT_BUFFER_ADDR_UPPER[8; 64] = 30[7:0];
    /// See there.
    CONSTANT_BUFFER_SIZE[8; 64] = 30[31:15];
    /// Bytes of a thread's local memory, from the start of the window on.
    SHADER_LOCAL_MEMORY_LOW_SIZE = 45[23:0];
    /// Barriers of a block.
    BARRIER_COUNT = 45[31:27];
    /// The same, down from the end of the window.
    SHADER_LOCAL_MEMORY_HIGH_SIZE = 46[23:0];
    /// Registers of a thread.
    REGISTER_COUNT = 46[31:24];
    /// Bytes of a warp's call-return stack.
    SHADER_LOCAL_MEMORY_CRS_SIZE = 47[23:0];
    /// 0x30: this generation's code.
    SASS_VERSION = 47[31:24];
}

impl Qmd {
    /// Blocks in x, y and z.
    pub const fn grid(&self) -> [u32; 3] {
        [self.get(Qmd::CTA_RASTER_WIDTH), self.get(Qmd::CTA_RASTER_HEIGHT), self.get(Qmd::CTA_RASTER_DEPTH)]
    }

    /// Sets them.
    pub fn set_grid(&mut self, [x, y, z]: [u32; 3]) -> &mut Qmd {
        self.set(Qmd::CTA_RASTER_WIDTH, x).set(Qmd::CTA_RASTER_HEIGHT, y).set(Qmd::CTA_RASTER_DEPTH, z)
    }

    /// Threads of a block in x, y and z.
    pub const fn block(&self) -> [u32; 3] {
        [
            self.get(Qmd::CTA_THREAD_DIMENSION0),
            self.get(Qmd::CTA_THREAD_DIMENSION1),
            self.get(Qmd::CTA_THREAD_DIMENSION2),
        ]
    }

    /// Sets them.
    pub fn set_block(&mut self, [x, y, z]: [u32; 3]) -> &mut Qmd {
        self.set(Qmd::CTA_THREAD_DIMENSION0, x)
            .set(Qmd::CTA_THREAD_DIMENSION1, y)
            .set(Qmd::CTA_THREAD_DIMENSION2, z)
    }

    /// Address and bytes of a bank, if there is one.
    pub const fn bank(&self, i: u32) -> Option<(u64, u32)> {
        let high = self.get(Qmd::CONSTANT_BUFFER_ADDR_UPPER.at(i)) as u64;
        let address = high << 32 | self.get(Qmd::CONSTANT_BUFFER_ADDR_LOWER.at(i)) as u64;
        if self.get(Qmd::CONSTANT_BUFFER_VALID.at(i)) == 0 {
            return None;
        }
        Some((address, self.get(Qmd::CONSTANT_BUFFER_SIZE.at(i))))
    }

    /// Sets a bank.
    pub fn set_bank(&mut self, i: u32, address: u64, bytes: u32) -> &mut Qmd {
        self.set(Qmd::CONSTANT_BUFFER_VALID.at(i), 1)
            .set(Qmd::CONSTANT_BUFFER_ADDR_LOWER.at(i), address as u32)
            .set(Qmd::CONSTANT_BUFFER_ADDR_UPPER.at(i), (address >> 32) as u32 & 0xff)
            .set(Qmd::CONSTANT_BUFFER_SIZE.at(i), bytes)
    }

    /// Where the n-th release goes.
    pub const fn release_address(&self, n: u32) -> u64 {
        let high = self.get(Qmd::RELEASE_ADDRESS_UPPER.at(n)) as u64;
        high << 32 | self.get(Qmd::RELEASE_ADDRESS_LOWER.at(n)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_apart_and_map_both_ways() {
        crate::field::check_apart(&Qmd::fields());
        for (name, field) in Qmd::fields() {
            let mut q = Qmd([u32::MAX; 64]);
            assert_eq!(q.set(field, 0).get(field), 0, "{name}");
            assert_eq!(q.set(field, field.mask()).0, [u32::MAX; 64], "{name}");
        }
        let mut q = Qmd::default();
        q.set_grid([5, 6, 7]).set_block([8, 9, 10]).set_bank(7, 0x21_8765_4300, 0x1_0000);
        assert_eq!((q.grid(), q.block()), ([5, 6, 7], [8, 9, 10]));
        assert_eq!((q.bank(7), q.bank(6)), (Some((0x21_8765_4300, 0x1_0000)), None));
        assert_eq!([q.0[43], q.0[44], q.0[20]], [0x8765_4300, 0x8000_0021, 0x80]);
    }
}
