//! What is launched.

use crate::bank::{Bank, CONST_BANKS};
use crate::code::program::Program;
use crate::image::{Image, Sampler};
use crate::units::texture::TextureSource;
use nvir_hw::window;

/// One grid.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The code.
    pub program: &'a Program,
    /// For reports.
    pub kernel: String,
    /// Byte address of the first instruction.
    pub entry: u32,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z; their product is at most 1024.
    pub block: [u32; 3],
    /// General registers of a thread. A register at or above is a fault.
    pub gprs: u32,
    /// Shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// First byte and bytes of the variables there, ascending, if memcheck is to find accesses that are not inside one of them.
    pub shared_variables: Vec<(u32, u32)>,
    /// Local memory of a thread, bytes.
    pub local_bytes: u32,
    /// `c[0x0]` to `c[0x11]`.
    pub consts: Vec<Bank>,
    /// A read of a constant at or above its bank's length gives zero; else it is a fault.
    pub zero_beyond_banks: bool,
    /// Textures: by the instruction's slot on GF100, by TIC index (bits 19:0 of the handle) on Kepler.
    pub textures: Vec<Option<Image>>,
    /// Samplers: by the instruction's slot on GF100, by TSC index (bits 31:20 of the handle) on Kepler.
    pub samplers: Vec<Sampler>,
    /// Tables of textures and samplers in place of those two.
    pub tables: Option<&'a dyn TextureSource>,
    /// The constant bank in which a Kepler texture instruction with an immediate index finds its handle, and
    /// the byte offset of handle 0 there: Mesa binds (7, 0x20); an instruction's index counts handles from
    /// the bank's start, so that this offset is already in it.
    pub texture_bank: u8,
    /// Surface slots of GF100.
    pub surfaces: Vec<Option<nvir_hw::surface::Slot>>,
    /// Where generic addressing finds shared memory: a 16 MiB window, high word zero.
    pub shared_window: u32,
    /// Where generic addressing finds local memory.
    pub local_window: u32,
    /// Value of `SR_GRIDID`.
    pub grid_id: u32,
    /// The clock (`SR_CLOCKLO`, `SR_CLOCKHI`) when each block begins; it counts the instructions that the block's warps
    /// issue. A caller that wants it to go on adds [`Stats::warp_instructions`](crate::Stats::warp_instructions) of earlier launches.
    pub clock: u64,
}

impl<'a> Launch<'a> {
    /// One thread with all registers of the chip, and nothing bound.
    pub fn new(program: &'a Program) -> Launch<'a> {
        Launch {
            program,
            kernel: String::new(),
            entry: 0,
            grid: [1; 3],
            block: [1; 3],
            gprs: program.chip().gprs(),
            shared_bytes: 0,
            shared_variables: Vec::new(),
            local_bytes: 0,
            consts: vec![Bank::default(); CONST_BANKS],
            zero_beyond_banks: false,
            textures: Vec::new(),
            samplers: Vec::new(),
            tables: None,
            texture_bank: 7,
            surfaces: Vec::new(),
            shared_window: window::SHARED,
            local_window: window::LOCAL,
            grid_id: 0,
            clock: 0,
        }
    }

    /// Writes `data` at byte `offset` of a constant bank, which grows as needed (up to [`CONST_BANK_BYTES`](crate::CONST_BANK_BYTES)).
    /// Bytes that would lie beyond the largest bank are dropped.
    pub fn set_const(&mut self, bank: usize, offset: usize, data: &[u8]) {
        if let Some(bank) = self.consts.get_mut(bank) {
            bank.set(offset, data);
        }
    }

    /// Puts a word into a constant bank at an offset (bytes).
    pub fn set_const_u32(&mut self, bank: usize, offset: usize, value: u32) {
        self.set_const(bank, offset, &value.to_le_bytes());
    }
}
