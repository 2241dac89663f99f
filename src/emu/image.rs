//! Images as textures and surfaces read and write them: description, samplers, and their place in memory.
//!
//! An image lies in global memory, so that a texture, a surface and the host can share it. Its layout there is
//! ours: level by level, layer (or depth slice) by layer, rows padded to 256 bytes, the samples of a pixel beside each
//! other as a grid.

use super::memory::{Memory, MemoryError};
pub use crate::format::{Format, Kind};
use std::str::FromStr;

/// The shape of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    D1,
    D2,
    D3,
    Cube,
    D1Array,
    D2Array,
    CubeArray,
    Buffer,
    /// Multisampled: the third extent is the number of samples.
    D2Ms,
}

impl FromStr for Dim {
    type Err = String;

    /// The names of INTERFACE section 2.
    fn from_str(s: &str) -> Result<Dim, String> {
        Ok(match s {
            "1d" => Dim::D1,
            "2d" => Dim::D2,
            "3d" => Dim::D3,
            "cube" => Dim::Cube,
            "1d_array" => Dim::D1Array,
            "2d_array" => Dim::D2Array,
            "cube_array" => Dim::CubeArray,
            "buffer" => Dim::Buffer,
            "2d_ms" => Dim::D2Ms,
            _ => return Err(format!("unknown image type `{s}`")),
        })
    }
}

/// What an image is, apart from its texels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ImageDesc {
    pub dim: Dim,
    pub format: Format,
    /// Texels; layers last for arrays; cube: `[w, h, 6]`; multisampled: `[w, h, samples]`.
    pub size: [u32; 3],
    pub levels: u32,
}

/// The largest extent of an image, in texels or layers.
pub const MAX_EXTENT: u32 = 16384;

/// The most texels of a buffer image.
pub const MAX_BUFFER_TEXELS: u32 = 1 << 27;

impl ImageDesc {
    /// The logarithms of the grid of samples in a pixel.
    pub fn sample_grid(&self) -> (u32, u32) {
        match (self.dim, self.size[2]) {
            (Dim::D2Ms, 2) => (1, 0),
            (Dim::D2Ms, 3 | 4) => (1, 1),
            (Dim::D2Ms, 5..) => (2, 1),
            _ => (0, 0),
        }
    }

    /// Extents of a level: the third is depth, layers or samples.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        let [w, h, d] = self.size.map(|s| s.max(1));
        let mip = |s: u32| s.checked_shr(level).unwrap_or(0).max(1);
        match self.dim {
            Dim::D1 => [mip(w), 1, 1],
            Dim::Buffer => [w, 1, 1],
            Dim::D1Array => [mip(w), 1, h.max(d)],
            Dim::D3 => [mip(w), mip(h), mip(d)],
            Dim::D2 => [mip(w), mip(h), 1],
            Dim::Cube | Dim::D2Array | Dim::CubeArray | Dim::D2Ms => [mip(w), mip(h), d],
        }
    }
}

/// Where a level lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Level {
    /// Bytes from the image's address.
    pub offset: u64,
    /// Bytes from row to row.
    pub pitch: u32,
    /// Bytes from layer (depth slice, sample plane) to layer.
    pub layer: u64,
    /// Width, height, and layers, depth or samples.
    pub size: [u32; 3],
}

/// An image in global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    pub desc: ImageDesc,
    pub address: u64,
    pub levels: Vec<Level>,
}

impl Image {
    /// Places a zeroed image in memory.
    pub fn alloc(memory: &mut Memory, desc: ImageDesc) -> Result<Image, MemoryError> {
        let bpp = u64::from(desc.format.bytes());
        let limit = if desc.dim == Dim::Buffer { MAX_BUFFER_TEXELS } else { MAX_EXTENT };
        if desc.size.iter().any(|&s| s > limit) || desc.levels > 15 {
            return Err(MemoryError::TooLarge(u64::MAX));
        }
        let mut levels = Vec::new();
        let mut end = 0u64;
        for l in 0..desc.levels.max(1) {
            let size = desc.level_size(l);
            let [w, h, d] = size.map(u64::from);
            let (ms_x, ms_y) = desc.sample_grid();
            let pitch = ((w << ms_x) * bpp).next_multiple_of(256);
            let layer = pitch * (h << ms_y);
            levels.push(Level { offset: end, pitch: pitch as u32, layer, size });
            end += if desc.dim == Dim::D2Ms { layer } else { layer * d };
        }
        Ok(Image { desc, address: memory.alloc(end, 256)?, levels })
    }

    /// Bytes of the packed texels of all levels.
    pub fn packed_bytes(&self) -> u64 {
        let bpp = u64::from(self.desc.format.bytes());
        self.levels.iter().map(|l| l.size.iter().map(|&s| u64::from(s)).product::<u64>() * bpp).sum()
    }

    /// The byte offset of a texel from the image's address; `None` outside the level.
    pub(crate) fn texel(&self, level: usize, [x, y, z]: [u32; 3]) -> Option<u64> {
        let l = self.levels.get(level)?;
        if x >= l.size[0] || y >= l.size[1] || z >= l.size[2] {
            return None;
        }
        let bpp = u64::from(self.desc.format.bytes());
        let (ms_x, ms_y) = self.desc.sample_grid();
        let (mut x, mut y, mut z) = (u64::from(x) << ms_x, u64::from(y) << ms_y, u64::from(z));
        if self.desc.dim == Dim::D2Ms {
            let (dx, dy) = SAMPLE_POSITIONS[z as usize % 8];
            (x, y, z) = (x + u64::from(dx), y + u64::from(dy), 0);
        }
        Some(l.offset + z * l.layer + y * u64::from(l.pitch) + x * bpp)
    }

    /// The runs of bytes that hold the texels of all levels in packed order: address and length.
    fn rows(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bpp = u64::from(self.desc.format.bytes());
        let single = self.desc.sample_grid() != (0, 0);
        self.levels.iter().enumerate().flat_map(move |(i, l)| {
            let [w, h, d] = l.size;
            // Samples of neighbouring pixels are not adjacent.
            let (steps, length) = if single { (w, bpp) } else { (1, u64::from(w) * bpp) };
            (0..d).flat_map(move |z| {
                (0..h).flat_map(move |y| {
                    (0..steps).filter_map(move |x| Some((self.address + self.texel(i, [x, y, z])?, length)))
                })
            })
        })
    }

    /// Writes packed texels (rows tightly packed, level by level); missing ones stay, extra ones are dropped.
    pub fn upload(&self, memory: &mut Memory, mut texels: &[u8]) -> Result<(), MemoryError> {
        for (address, bytes) in self.rows() {
            let (row, rest) = texels.split_at((bytes as usize).min(texels.len()));
            memory.write(address, row)?;
            texels = rest;
        }
        Ok(())
    }

    /// Reads the packed texels of all levels.
    pub fn download(&self, memory: &Memory) -> Result<Vec<u8>, MemoryError> {
        let mut all = Vec::new();
        for (address, bytes) in self.rows() {
            all.extend(memory.read(address, bytes)?);
        }
        Ok(all)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Filter {
    #[default]
    Nearest,
    Linear,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MipFilter {
    #[default]
    None,
    Nearest,
    Linear,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Wrap {
    #[default]
    Repeat,
    MirroredRepeat,
    ClampToEdge,
    ClampToBorder,
    MirrorClampToEdge,
}

/// Comparison of a shadow lookup: reference OP texel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    Never,
    Less,
    Equal,
    Lequal,
    Greater,
    Notequal,
    Gequal,
    Always,
}

/// How a texture is sampled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    pub min: Filter,
    pub mag: Filter,
    pub mip: MipFilter,
    pub wrap: [Wrap; 3],
    /// Shadow lookups compare with this; `Lequal` where the sampler says nothing.
    pub compare: Option<Compare>,
    pub border: [f32; 4],
    /// Coordinates are in texels instead of 0..1.
    pub unnormalized: bool,
    pub lod_bias: f32,
    pub min_lod: f32,
    pub max_lod: f32,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler {
            min: Filter::Nearest,
            mag: Filter::Nearest,
            mip: MipFilter::None,
            wrap: [Wrap::Repeat; 3],
            compare: None,
            border: [0.0; 4],
            unnormalized: false,
            lod_bias: 0.0,
            min_lod: 0.0,
            max_lod: 1000.0,
        }
    }
}

macro_rules! names {
    ($ty:ident: $($name:literal $var:ident),*) => {
        impl FromStr for $ty {
            type Err = String;
            fn from_str(s: &str) -> Result<$ty, String> {
                match s {
                    $($name => Ok($ty::$var),)*
                    _ => Err(format!("`{s}` is none of {}", [$($name),*].join(", "))),
                }
            }
        }
    };
}

names!(Filter: "nearest" Nearest, "linear" Linear);
names!(MipFilter: "none" None, "nearest" Nearest, "linear" Linear);
names!(Wrap: "repeat" Repeat, "mirrored_repeat" MirroredRepeat, "clamp_to_edge" ClampToEdge,
    "clamp_to_border" ClampToBorder, "mirror_clamp_to_edge" MirrorClampToEdge);
names!(Compare: "never" Never, "less" Less, "equal" Equal, "lequal" Lequal, "greater" Greater,
    "notequal" Notequal, "gequal" Gequal, "always" Always);

/// Bytes of the driver's description of a surface (16 words).
pub const SURFACE_INFO_BYTES: usize = 64;

/// The formats, by the number in a surface's format word.
const FORMATS: [Format; 40] = {
    const fn all(kind: Kind, bits: u8, channels: usize) -> Format {
        let mut b = [0; 4];
        let mut i = 0;
        while i < channels {
            b[i] = bits;
            i += 1;
        }
        Format { kind, bits: b, bgra: false }
    }
    const GROUPS: [(Kind, u8); 12] = [
        (Kind::Unorm, 8),
        (Kind::Snorm, 8),
        (Kind::Uint, 8),
        (Kind::Sint, 8),
        (Kind::Unorm, 16),
        (Kind::Snorm, 16),
        (Kind::Uint, 16),
        (Kind::Sint, 16),
        (Kind::Float, 16),
        (Kind::Uint, 32),
        (Kind::Sint, 32),
        (Kind::Float, 32),
    ];
    let mut list = [all(Kind::Unorm, 8, 4); 40];
    let mut i = 0;
    while i < 36 {
        let (kind, bits) = GROUPS[i / 3];
        list[i] = all(kind, bits, [1, 2, 4][i % 3]);
        i += 1;
    }
    list[36] = Format { kind: Kind::Float, bits: [11, 11, 10, 0], bgra: false };
    list[37] = Format { kind: Kind::Unorm, bits: [10, 10, 10, 2], bgra: false };
    list[38] = Format { kind: Kind::Uint, bits: [10, 10, 10, 2], bgra: false };
    list[39] = Format { kind: Kind::Unorm, bits: [8; 4], bgra: true };
    list
};

/// The format that a surface's format word names.
pub(super) fn format_of(word: u32) -> Option<Format> {
    FORMATS.get((word & 0xff) as usize).copied()
}

/// Marks the word of a surface's first extent: above it stands the logarithm of the texel's bytes.
const TEXEL_WIDTH: u32 = 0x200;

/// The first extent of raw access counts bytes.
const RAW: u32 = 6;

/// The last valid coordinate in an extent's word, and the shift that makes bytes of it (`None`: rows, layers).
pub(super) fn extent(word: u32) -> (u32, Option<u32>) {
    let field = word >> 22;
    let shift = match field {
        RAW => Some(0),
        f if f & TEXEL_WIDTH != 0 => Some(f & 7),
        _ => None,
    };
    (word & 0x003f_ffff, shift)
}

/// What the driver writes at `0x4a0 + 64 * n` of its constant buffer for a surface (level 0, all layers).
///
/// The words stand where Mesa's driver has them, and code that treats them as opaque works with these: SUCLAMP,
/// SUBFM, SUEAU and the IMADSP between them make the address of a texel of the emulator's layout from them.
///
/// | word | Kepler | GF100 |
/// |---|---|---|
/// | 0 | address / 256 | the same |
/// | 1 | format number, log2 of texel bytes at bit 16 | |
/// | 2 | last x, and `0x200 + log2 of texel bytes` at bit 22 | 0 (buffers: width) |
/// | 3 | pitch / 64, `0x88` at bit 24 | |
/// | 4 | last y | rows of a slice |
/// | 5 | layer stride / 256 | the same |
/// | 6 | last z or layer | 0 |
/// | 7 | rows of a slice (3D) | 0 |
/// | 8, 9, 10 | width, height, depth or layers | the same |
/// | 11 | 1 1D array, 2 2D, 3 3D, 4 2D array or cube | |
/// | 12 | texel bytes | log2 of them |
/// | 13 | last byte of a row, 6 at bit 22 | |
/// | 14, 15 | log2 of samples in x, y | the same |
pub fn surface_info(chip: crate::Chip, image: &Image) -> [u32; 16] {
    let mut info = [0; 16];
    let Some(level) = image.levels.first() else { return info };
    let desc = image.desc;
    let [w, h, d] = level.size;
    let (ms_x, ms_y) = desc.sample_grid();
    let cpp = desc.format.bytes();
    let log2 = cpp.trailing_zeros();
    let layered = matches!(desc.dim, Dim::D1Array | Dim::D2Array | Dim::Cube | Dim::CubeArray);
    let depth = if desc.dim == Dim::D2Ms { 1 } else { d };
    info[0] = (image.address >> 8) as u32;
    info[5] = (level.layer >> 8) as u32;
    [info[8], info[9], info[10]] = [w, h, depth];
    (info[14], info[15]) = (ms_x, ms_y);
    let buffer = desc.dim == Dim::Buffer;
    if chip == crate::Chip::Gf100 {
        info[2] = if buffer { w } else { 0 };
        info[4] = if buffer { 0 } else { h << ms_y };
        info[12] = log2;
        return info;
    }
    let code = FORMATS.iter().position(|f| *f == desc.format).unwrap_or(0xff) as u32;
    info[1] = code | log2 << 16;
    info[2] = (((w << ms_x) - 1) & 0x003f_ffff) | ((TEXEL_WIDTH | log2) << 22);
    if !buffer {
        info[3] = (0x88 << 24) | (level.pitch / 64);
        info[4] = (h << ms_y) - 1;
        info[6] = depth.max(1) - 1;
        info[7] = if desc.dim == Dim::D3 { h } else { 0 };
        info[11] = match desc.dim {
            Dim::D1Array => 1,
            Dim::D2 | Dim::D2Ms => 2,
            Dim::D3 => 3,
            _ if layered => 4,
            _ => 0,
        };
    }
    info[12] = cpp;
    info[13] = (RAW << 22) | ((((w << ms_x) << log2) - 1) & 0x003f_ffff);
    info
}

/// The 32-bit handle of a texture (TIC index) with a sampler (TSC index).
pub fn texture_handle(texture: u32, sampler: u32) -> u32 {
    texture & 0xfffff | sampler << 20
}

/// Where samples 0 to 7 lie in the grid of a pixel (Mesa's driver writes this table at byte 0xc0 of its bank).
pub const SAMPLE_POSITIONS: [(u32, u32); 8] =
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (3, 0), (2, 1), (3, 1)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_number_of_its_own() {
        for (i, f) in FORMATS.iter().enumerate() {
            assert_eq!(format_of(i as u32), Some(*f));
            assert_eq!(FORMATS.iter().filter(|g| *g == f).count(), 1, "{f}");
        }
    }

    #[test]
    fn texels_come_back_as_they_were_uploaded() {
        for (dim, size) in
            [(Dim::D2, [5, 3, 1]), (Dim::D3, [4, 4, 4]), (Dim::D2Ms, [3, 2, 4]), (Dim::CubeArray, [2, 2, 12])]
        {
            let mut memory = Memory::new();
            let desc = ImageDesc { dim, format: "rg16i".parse().unwrap(), size, levels: 2 };
            let image = Image::alloc(&mut memory, desc).unwrap();
            let data: Vec<u8> = (0..image.packed_bytes()).map(|i| (i * 7) as u8).collect();
            image.upload(&mut memory, &data).unwrap();
            assert_eq!(image.download(&memory).unwrap(), data, "{dim:?}");
        }
    }
}
