//! Kernels in assembler, and what a launch sets: descriptors on Kepler, registers on GF100.

use nvir::{Chip, isa};

/// Machine code of lines that stand at a code address, with scheduling words where the chip has them.
pub fn assemble(chip: Chip, at: u32, lines: &[impl AsRef<str>]) -> Vec<u64> {
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
pub fn bytes(chip: Chip, at: u32, lines: &[impl AsRef<str>]) -> Vec<u8> {
    assemble(chip, at, lines).iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Where a launch finds its code, its tables and its descriptor.
#[derive(Clone, Copy)]
pub struct Places {
    pub code: u64,
    /// 2048 TIC entries, and the TSC entries behind them.
    pub tables: u64,
    /// A multiple of 256.
    pub descriptor: u64,
}

impl Places {
    /// Registers of the compute class, with the windows of shared and local memory as Mesa has them.
    pub fn registers(&self) -> [(u32, u32); 12] {
        let (code, tables) = (self.code, self.tables);
        let tsc = tables + 0x1_0000;
        [
            (0x1608, (code >> 32) as u32),
            (0x160c, code as u32),
            (0x214, 0xfe00_0000),
            (0x77c, 0xff00_0000),
            (0x1574, (tables >> 32) as u32),
            (0x1578, tables as u32),
            (0x157c, 2047),
            (0x155c, (tsc >> 32) as u32),
            (0x1560, tsc as u32),
            (0x1564, 2047),
            (0x2608, 7),
            (0x2b4, (self.descriptor >> 8) as u32),
        ]
    }
}

/// What is launched.
#[derive(Clone, Copy)]
pub struct Grid {
    pub entry: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub gprs: u32,
    pub shared: u32,
    pub local: u32,
}

impl Grid {
    /// One thread of the kernel at a code address.
    pub const fn at(entry: u32) -> Grid {
        Grid { entry, grid: [1; 3], block: [1; 3], gprs: 32, shared: 0, local: 0 }
    }

    /// Registers of GF100's class.
    pub fn registers(&self) -> [(u32, u32); 8] {
        let ([gx, gy, gz], [bx, by, bz]) = (self.grid, self.block);
        [
            (0x238, gx | gy << 16),
            (0x23c, gz),
            (0x3ac, bx | by << 16),
            (0x3b0, bz),
            (0x24c, self.shared),
            (0x204, self.local),
            (0x2c0, self.gprs),
            (0x3b4, self.entry),
        ]
    }

    /// Words of a descriptor.
    pub fn descriptor(&self) -> [(u64, u32); 8] {
        let ([gx, gy, gz], [bx, by, bz]) = (self.grid, self.block);
        [
            (8, self.entry),
            (12, gx),
            (13, gy | gz << 16),
            (17, self.shared),
            (18, bx << 16),
            (19, by | bz << 16),
            (45, self.local),
            (46, self.gprs << 24),
        ]
    }
}
