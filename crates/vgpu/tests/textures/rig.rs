//! A card with one texture and one sampler, kernels that look many places up, and the layout of images as documents put it.

use crate::common::kernel::{self, Grid, Places};
use nvir::Chip;
pub(crate) use nvir::random::Random;
use nvir_hw::qmd::Qmd;
use nvir_vgpu::compute::{self, Context, State};
pub(crate) use nvir_vgpu::shader::Options;
use nvir_vgpu::shader::{Bank, Failure, Launcher};
use nvir_vgpu::watch::{Ran, TextureHeader};
use nvir_vgpu::{Memory, Words};

const CODE: u64 = 0x1_0000_0000;
const DESCRIPTOR: u64 = 0x1_1000_0000;
/// The driver's constants: c7, and c15 on GF100.
pub(crate) const CONSTANTS: u64 = 0x1_2000_0000;
const TABLES: u64 = 0x1_3000_0000;
const IN: u64 = 0x1_4000_0000;
const OUT: u64 = 0x1_5000_0000;
/// Where texels lie: with bits in the upper word.
pub(crate) const TEXELS: u64 = 0x21_6000_0000;
const TEXEL_BYTES: u64 = 8 << 20;
/// Lookups of a launch, at most.
pub(crate) const MAX_LOOKUPS: usize = 1 << 16;
const ENTRY: u32 = 0x1000;
/// Entries of the tables.
const TIC: u32 = 5;
const TSC: u32 = 3;
/// Slots of GF100.
const TEXTURE: usize = 2;
const SAMPLER: usize = 6;

/// An entry of the TIC table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tic {
    pub sizes: u32,
    pub types: [u32; 4],
    pub sources: [u32; 4],
    pub srgb: bool,
    pub address: u64,
    /// 0 1D, 1 2D, 2 3D, 3 cube, 4 1D array, 5 2D array, 6 buffer, 7 2D without levels, 8 cube array.
    pub kind: u32,
    /// Bytes of a row, where rows follow each other.
    pub pitch: Option<u32>,
    pub tile: u32,
    pub normalized: bool,
    /// The third: depth or layers.
    pub size: [u32; 3],
    /// The last level there is; the first and last that are seen.
    pub last: u32,
    pub view: [u32; 2],
    pub mode: u32,
    /// The code of the most places of a filter.
    pub anisotropy: u32,
}

pub(crate) const SNORM: u32 = 1;
pub(crate) const UNORM: u32 = 2;
pub(crate) const SINT: u32 = 3;
pub(crate) const UINT: u32 = 4;
pub(crate) const FLOAT: u32 = 7;

/// R32_UINT in blocks, of two dimensions.
pub(crate) const WORDS: Tic = Tic {
    sizes: 0x0f,
    types: [UINT; 4],
    sources: [2, 0, 0, 6],
    srgb: false,
    address: TEXELS,
    kind: 1,
    pitch: None,
    tile: 0,
    normalized: true,
    size: [1, 1, 1],
    last: 0,
    view: [0, 0],
    mode: 0,
    anisotropy: 0,
};

impl Tic {
    pub(crate) fn words(&self) -> [u32; 8] {
        let list = |v: [u32; 4], low: usize| (0..4).map(|i| v[i] << (low + 3 * i)).sum::<u32>();
        // Bits 12, 28 and 30 of word 2, 31 of word 4 and what Mesa puts into words 3 and 6 are about quality.
        [
            self.sizes | list(self.types, 6) | list(self.sources, 18),
            self.address as u32,
            (self.address >> 32) as u32
                | u32::from(self.srgb) << 10
                | self.kind << 14
                | u32::from(self.pitch.is_some()) << 18
                | (self.tile >> 4 & 7) << 22
                | (self.tile >> 8 & 7) << 25
                | u32::from(self.normalized) << 31
                | 0x5000_1000,
            self.pitch.unwrap_or(0) | 0x30_0000,
            self.size[0] | 1 << 31,
            self.size[1] | self.size[2] << 16 | self.last << 28,
            0x0300_0000 | self.anisotropy << 27,
            self.view[0] | self.view[1] << 4 | self.mode << 12,
        ]
    }
}

/// An entry of the TSC table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tsc {
    pub wrap: [u32; 3],
    pub compare: Option<u32>,
    /// 1 nearest, 2 linear.
    pub mag: u32,
    pub min: u32,
    /// 1 none, 2 nearest, 3 linear.
    pub mip: u32,
    pub seamless: bool,
    pub unnormalized: bool,
    /// The code of the most places of a filter.
    pub anisotropy: u32,
    /// In units of 1/256.
    pub bias: i32,
    pub lod: [u32; 2],
    pub border: [u32; 4],
}

/// Nearest, to the edge.
pub(crate) const NEAREST: Tsc = Tsc {
    wrap: [2; 3],
    compare: None,
    mag: 1,
    min: 1,
    mip: 1,
    seamless: false,
    unnormalized: false,
    anisotropy: 0,
    bias: 0,
    lod: [0, 0xfff],
    border: [0; 4],
};

/// Linear, to the edge.
pub(crate) const LINEAR: Tsc = Tsc { mag: 2, min: 2, ..NEAREST };

impl Tsc {
    pub(crate) fn words(&self) -> [u32; 8] {
        let [u, v, p] = self.wrap;
        let mut words = [0; 8];
        words[0] = u | v << 3 | p << 6 | self.anisotropy << 20;
        words[0] |= self.compare.map_or(0, |c| 1 << 9 | c << 10);
        words[1] = self.mag | self.min << 4 | self.mip << 6 | (self.bias as u32 & 0x1fff) << 12;
        words[1] |= u32::from(self.seamless) << 9 | u32::from(self.unnormalized) << 25;
        words[2] = self.lod[0] | self.lod[1] << 12;
        words[4..].copy_from_slice(&self.border);
        words
    }
}

/// Operands of one lookup, by role.
#[derive(Clone, Default, Debug)]
pub(crate) struct Place {
    pub layer: Option<u32>,
    pub coord: Vec<u32>,
    /// Sample or level, offset, reference.
    pub rest: Vec<u32>,
    /// d/dx and d/dy of each coordinate.
    pub derivatives: Vec<u32>,
}

/// A place of whole coordinates.
pub(crate) fn at(coord: &[u32]) -> Place {
    Place { coord: coord.to_vec(), ..Place::default() }
}

/// A place of coordinates from 0 to 1.
pub(crate) fn point(coord: &[f32]) -> Place {
    at(&coord.iter().map(|c| c.to_bits()).collect::<Vec<_>>())
}

impl Place {
    pub(crate) fn layer(mut self, layer: u32) -> Place {
        self.layer = Some(layer);
        self
    }

    pub(crate) fn with(mut self, word: u32) -> Place {
        self.rest.push(word);
        self
    }

    /// The two runs of registers that the chip reads.
    fn runs(&self, chip: Chip) -> [Vec<u32>; 2] {
        let mut first: Vec<u32> = self.layer.into_iter().chain(self.coord.iter().copied()).collect();
        let mut second = [&self.rest[..], &self.derivatives].concat();
        if chip != Chip::Gf100 {
            first.append(&mut second);
            second = first.split_off(first.len().min(4));
        }
        [first, second]
    }
}

pub(crate) struct Rig {
    pub chip: Chip,
    state: State,
    pub memory: Memory,
    launcher: Launcher,
    /// The last kernel, with what it has read.
    ran: Vec<Ran>,
}

impl Rig {
    pub(crate) fn new(chip: Chip) -> Rig {
        Rig::with(chip, Options::default())
    }

    pub(crate) fn with(chip: Chip, options: Options) -> Rig {
        let mut memory = Memory::new();
        for (base, size) in [
            (CODE, 0x1_0000),
            (DESCRIPTOR, 0x1000),
            (CONSTANTS, 0x1000),
            (TABLES, 0x2_0000),
            (IN, 64 * MAX_LOOKUPS as u64),
            (OUT, 16 * MAX_LOOKUPS as u64),
            (TEXELS, TEXEL_BYTES),
        ] {
            memory.insert(base, size, Words::zeroed(size as usize / 4)).expect("free addresses");
        }
        let mut state = State::default();
        let places = Places { code: CODE, tables: TABLES, descriptor: DESCRIPTOR };
        for (method, value) in places.registers() {
            state.regs.set(method, value);
        }
        state.bindings.textures[TEXTURE] = Some(TIC);
        state.bindings.samplers[SAMPLER] = Some(TSC);
        memory.set_word(CONSTANTS + 0x28, TIC | TSC << 20).expect("mapped");
        state.bindings.banks[15] = Some(Bank { address: CONSTANTS, size: 2048 });
        Rig { chip, state, memory, launcher: Launcher::new(options), ran: Vec::new() }
    }

    pub(crate) fn bind(&mut self, tic: &Tic, tsc: &Tsc) {
        self.memory.write_words(TABLES + 32 * u64::from(TIC), &tic.words()).expect("mapped");
        let at = TABLES + 0x1_0000 + 32 * u64::from(TSC);
        self.memory.write_words(at, &tsc.words()).expect("mapped");
    }

    /// Writes a register of the compute class.
    pub(crate) fn set(&mut self, register: u32, value: u32) {
        self.state.regs.set(register, value);
    }

    fn launch(&mut self, entry: u32, gprs: u32, grid: [u32; 3], block: [u32; 3]) -> Result<(), Failure> {
        let kernel = Grid { grid, block, gprs, ..Grid::at(entry) };
        for (register, value) in kernel.registers() {
            self.state.regs.set(register, value);
        }
        let mut descriptor = Qmd::default();
        kernel.describe(descriptor.set_bank(7, CONSTANTS, 2048));
        self.memory.write_words(DESCRIPTOR, &descriptor.0).expect("mapped");
        let words = [block, grid].concat();
        self.memory.write_words(CONSTANTS + 0x100, &words).expect("mapped");
        let Rig { chip, state, memory, launcher, ran } = self;
        ran.clear();
        compute::launch(launcher, Context { chip: *chip, state, memory, log: None, ran: Some(ran) }).map(drop)
    }

    /// The texture that the last lookups used.
    pub(crate) fn used(&self) -> &TextureHeader {
        let reads = &self.ran[0].reads;
        assert!(reads.banks.iter().any(|(_, bank)| bank.address == CONSTANTS));
        assert!(reads.textures.keys().eq([&TIC]), "{reads:?}");
        &reads.textures[&TIC]
    }

    /// Runs compiled code.
    pub(crate) fn run(
        &mut self,
        code: &[u64],
        gprs: u32,
        grid: [u32; 3],
        block: [u32; 3],
    ) -> Result<(), Failure> {
        let bytes: Vec<u8> = code.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.memory.write(CODE, &bytes).expect("mapped");
        self.launch(0, gprs, grid, block)
    }

    fn code(&mut self, lines: &[&str]) {
        let bytes = kernel::bytes(self.chip, ENTRY, lines);
        self.memory.write(CODE + u64::from(ENTRY), &bytes).expect("mapped");
    }

    /// What each lookup gives: `what` is the instruction with its suffixes, `shape` its word (`2D`).
    pub(crate) fn try_look(
        &mut self,
        what: &str,
        shape: &str,
        places: &[Place],
    ) -> Result<Vec<[u32; 4]>, Failure> {
        assert!(places.len() <= MAX_LOOKUPS);
        let second = places[0].runs(self.chip)[1].len();
        let numbers = match self.chip {
            Chip::Gf100 => "0x2, 0x6",
            Chip::Gk104 => "0xa, 0x0",
            Chip::Gk110 => "0xa",
        };
        let runs = if second == 0 { "R8" } else { "R8, R16" };
        let lookup = if what.starts_with("TXQ") {
            format!("{what}.P R24, {runs}, {shape}, {numbers}, 0xf")
        } else {
            format!("{what}.P R24, {runs}, {numbers}, {shape}, 0xf")
        };
        self.code(&[
            "S2R R0, SR_CTAID.X",
            "S2R R1, SR_TID.X",
            "IMAD R0, R0, 0x40, R1",
            "SHL R2, R0, 0x6",
            "MOV32I R3, 0x40000000",
            "IADD R2, R2, R3",
            "MOV32I R3, 0x1",
            "LD.E.128 R8, [R2]",
            "LD.E.128 R12, [R2+0x10]",
            "LD.E.128 R16, [R2+0x20]",
            "LD.E.128 R20, [R2+0x30]",
            &lookup,
            "SHL R4, R0, 0x4",
            "MOV32I R5, 0x50000000",
            "IADD R4, R4, R5",
            "MOV32I R5, 0x1",
            "ST.E.128 [R4], R24",
            "EXIT",
        ]);
        let blocks = places.len().div_ceil(64);
        let mut words = vec![0; blocks * 64 * 16];
        for (to, place) in words.chunks_exact_mut(16).zip(places.iter().cycle()) {
            for (run, to) in place.runs(self.chip).iter().zip(to.chunks_exact_mut(8)) {
                to[..run.len()].copy_from_slice(run);
            }
        }
        self.memory.write_words(IN, &words).expect("mapped");
        self.launch(ENTRY, 32, [blocks as u32, 1, 1], [64, 1, 1])?;
        let mut out = vec![0; places.len() * 4];
        self.memory.read_words(OUT, &mut out).expect("mapped");
        Ok(out.chunks_exact(4).map(|c| [c[0], c[1], c[2], c[3]]).collect())
    }

    /// The same where nothing fails.
    pub(crate) fn look(&mut self, what: &str, shape: &str, places: &[Place]) -> Vec<[u32; 4]> {
        self.try_look(what, shape, places).unwrap_or_else(|e| panic!("{} {what} {shape}: {e}", self.chip))
    }

    /// The same as floats.
    pub(crate) fn floats(&mut self, what: &str, shape: &str, places: &[Place]) -> Vec<[f32; 4]> {
        self.look(what, shape, places).into_iter().map(|t| t.map(f32::from_bits)).collect()
    }
}

/// For each chip.
pub(crate) fn each(mut f: impl FnMut(&mut Rig)) {
    Chip::ALL.iter().for_each(|&chip| f(&mut Rig::new(chip)));
}

/// An image in blocks, as Mesa lays it out.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// Bytes of a texel, or of a block of compressed ones.
    pub bytes: u32,
    /// Texels, or blocks.
    pub size: [u32; 3],
    pub levels: u32,
    pub three_d: bool,
    /// Log2 of samples in x and y.
    pub samples: [u32; 2],
}

impl Image {
    pub(crate) fn extent(&self, level: u32) -> [u32; 3] {
        let [w, h, d] = self.size;
        let mip = |v: u32| (v >> level).max(1);
        [mip(w), mip(h), if self.three_d { mip(d) } else { d }]
    }

    /// The block size of a level, as the driver codes it.
    pub(crate) fn tile(&self, level: u32) -> u32 {
        let [_, h, d] = self.extent(level);
        let rows = h << self.samples[1];
        let high = [8, 16, 32, 64].iter().filter(|&&limit| rows > limit).count() as u32 * 0x10;
        if !self.three_d {
            return high;
        }
        let high = high.min(0x20);
        let deepest = if high < 0x20 { 5 } else { 4 };
        high | (0..deepest).find(|&n| 1 << n >= d).unwrap_or(deepest) << 8
    }

    fn row_bytes(&self, level: u32) -> u64 {
        u64::from(self.extent(level)[0] << self.samples[0]) * u64::from(self.bytes)
    }

    fn level_bytes(&self, level: u32) -> u64 {
        let ([_, h, d], tile) = (self.extent(level), self.tile(level));
        let rows = u64::from(h << self.samples[1]).next_multiple_of(8 << (tile >> 4 & 15));
        let deep = if self.three_d { u64::from(d).next_multiple_of(1 << (tile >> 8)) } else { 1 };
        self.row_bytes(level).next_multiple_of(64) * rows * deep
    }

    pub(crate) fn layer_bytes(&self) -> u64 {
        let tile = self.tile(0);
        (0..self.levels)
            .map(|l| self.level_bytes(l))
            .sum::<u64>()
            .next_multiple_of(512 << ((tile >> 4 & 15) + (tile >> 8)))
    }

    /// Bytes from the image's start to a texel (with samples: to one of the grid); z is the slice or the layer.
    pub(crate) fn offset(&self, level: u32, [x, y, z]: [u32; 3]) -> u64 {
        let start: u64 = (0..level).map(|l| self.level_bytes(l)).sum();
        let (layer, z) = if self.three_d { (0, u64::from(z)) } else { (u64::from(z), 0) };
        let (x, y) = (u64::from(x) * u64::from(self.bytes), u64::from(y));
        let tile = self.tile(level);
        let (ty, tz) = (3 + (tile >> 4 & 15), tile >> 8);
        let rows = u64::from(self.extent(level)[1] << self.samples[1]);
        let block =
            ((z >> tz) * rows.div_ceil(1 << ty) + (y >> ty)) * self.row_bytes(level).div_ceil(64) + (x >> 6);
        let bit = |v: u64, n: u32, to: u32| (v >> n & 1) << to;
        let gob = bit(x, 5, 8) | bit(y, 2, 7) | bit(x, 4, 6) | (y & 3) << 4 | x & 15;
        let inside = (z % (1 << tz)) << (6 + ty) | (y % (1 << ty)) >> 3 << 9 | gob;
        layer * self.layer_bytes() + start + (block << (6 + ty + tz) | inside)
    }
}
