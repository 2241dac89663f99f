//! Images as textures and surfaces read and write them: description, samplers, and their place in memory.
//!
//! An image lies in global memory, so that a texture, a surface and the host can share it. Its layout there is
//! ours: level by level, layer (or depth slice, or sample plane) by layer, rows padded to 64 bytes, layers to 256.

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
            let pitch = (w * bpp).next_multiple_of(64);
            let layer = (pitch * h).next_multiple_of(256);
            levels.push(Level { offset: end, pitch: pitch as u32, layer, size });
            end += layer * d;
        }
        Ok(Image { desc, address: memory.alloc(end, 256)?, levels })
    }

    /// Bytes of the packed texels of all levels.
    pub fn packed_bytes(&self) -> u64 {
        let bpp = u64::from(self.desc.format.bytes());
        self.levels.iter().map(|l| l.size.iter().map(|&s| u64::from(s)).product::<u64>() * bpp).sum()
    }

    /// The rows of all levels in packed order: address and bytes.
    fn rows(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bpp = u64::from(self.desc.format.bytes());
        self.levels.iter().flat_map(move |l| {
            let [w, h, d] = l.size.map(u64::from);
            (0..d).flat_map(move |z| {
                (0..h).map(move |y| (self.address + l.offset + z * l.layer + y * u64::from(l.pitch), w * bpp))
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

/// What Mesa's driver writes at `0x4a0 + 64 * n` of its constant buffer for a surface (level 0, all layers).
pub fn surface_info(_chip: crate::Chip, image: &Image) -> [u32; 16] {
    let mut info = [0; 16];
    info[0] = (image.address >> 8) as u32;
    info
}

/// The 32-bit handle of a texture (TIC index) with a sampler (TSC index).
pub fn texture_handle(texture: u32, sampler: u32) -> u32 {
    texture & 0xfffff | sampler << 20
}
