//! Kernels in assembler, and what a launch sets: descriptors on Kepler, registers on GF100.

use nvir::{Chip, isa};
use nvir_hw::method::{compute, fermi_compute, kepler_compute, shader};
use nvir_hw::qmd::Qmd;
use nvir_hw::window;

/// Machine code of lines that stand at a code address, with scheduling words where the chip has them.
pub(crate) fn assemble(chip: Chip, at: u32, lines: &[impl AsRef<str>]) -> Vec<u64> {
    let schedule = match chip {
        Chip::Gf100 => None,
        Chip::Gk104 => Some(0x2000_0000_0000_0007),
        Chip::Gk110 => Some(0x0800_0000_0000_0000),
    };
    let mut words = Vec::new();
    for line in lines.iter().map(AsRef::as_ref) {
        let here = |words: &Vec<u64>| at + 8 * words.len() as u32;
        words.extend(schedule.filter(|_| here(&words).is_multiple_of(64)));
        let m =
            isa::text::parse(chip, line, here(&words), &|_| None).unwrap_or_else(|e| panic!("{line}: {e}"));
        words.push(isa::encode(chip, &m, here(&words)).unwrap_or_else(|e| panic!("{line}: {e:?}")));
    }
    words
}

/// The same as bytes.
pub(crate) fn bytes(chip: Chip, at: u32, lines: &[impl AsRef<str>]) -> Vec<u8> {
    assemble(chip, at, lines).iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Where a launch finds its code, its tables and its descriptor.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub code: u64,
    /// 2048 TIC entries, and the TSC entries behind them.
    pub tables: u64,
    /// A multiple of 256.
    pub descriptor: u64,
}

impl Places {
    /// Registers of the compute class, with the windows of shared and local memory as Mesa has them.
    pub(crate) fn registers(&self) -> [(u32, u32); 12] {
        let (code, tables) = (self.code, self.tables);
        let tsc = tables + 0x1_0000;
        [
            (shader::CODE_ADDRESS_HIGH, (code >> 32) as u32),
            (shader::CODE_ADDRESS_LOW, code as u32),
            (compute::SHARED_BASE, window::SHARED),
            (shader::LOCAL_BASE, window::LOCAL),
            (shader::TIC_ADDRESS_HIGH, (tables >> 32) as u32),
            (shader::TIC_ADDRESS_LOW, tables as u32),
            (shader::TIC_LIMIT, 2047),
            (shader::TSC_ADDRESS_HIGH, (tsc >> 32) as u32),
            (shader::TSC_ADDRESS_LOW, tsc as u32),
            (shader::TSC_LIMIT, 2047),
            (shader::TEX_CB_INDEX, 7),
            (kepler_compute::LAUNCH_DESC_ADDRESS, (self.descriptor >> 8) as u32),
        ]
    }
}

/// What is launched.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub entry: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub gprs: u32,
    pub shared: u32,
    pub local: u32,
}

impl Grid {
    /// One thread of the kernel at a code address.
    pub(crate) const fn at(entry: u32) -> Grid {
        Grid { entry, grid: [1; 3], block: [1; 3], gprs: 32, shared: 0, local: 0 }
    }

    /// Registers of GF100's class.
    pub(crate) fn registers(&self) -> [(u32, u32); 8] {
        let ([gx, gy, gz], [bx, by, bz]) = (self.grid, self.block);
        [
            (fermi_compute::GRIDDIM_YX, gx | gy << 16),
            (fermi_compute::GRIDDIM_Z, gz),
            (fermi_compute::BLOCKDIM_YX, bx | by << 16),
            (fermi_compute::BLOCKDIM_Z, bz),
            (fermi_compute::SHARED_SIZE, self.shared),
            (fermi_compute::LOCAL_POS_ALLOC, self.local),
            (fermi_compute::CP_GPR_ALLOC, self.gprs),
            (fermi_compute::CP_START_ID, self.entry),
        ]
    }

    /// Says it in a descriptor.
    pub(crate) fn describe(&self, descriptor: &mut Qmd) {
        descriptor.set_grid(self.grid).set_block(self.block).set(Qmd::PROGRAM_OFFSET, self.entry);
        descriptor.set(Qmd::SHARED_MEMORY_SIZE, self.shared).set(Qmd::REGISTER_COUNT, self.gprs);
        descriptor.set(Qmd::SHADER_LOCAL_MEMORY_LOW_SIZE, self.local);
    }
}
