//! Images as textures and surfaces read and write them: description, samplers, and their place in memory.
//!
//! An image lies in global memory, so that a texture, a surface and the host can share it, as the driver lays it
//! out ([`nvir_base::tiling`]): layer by layer (depth slices are part of a level), level by level, the samples of a pixel
//! beside each other as a grid.

use crate::memory::{Memory, MemoryError};
pub use nvir_base::format::Format;
use nvir_base::tiling::{self, Extent, Order};
use nvir_hw::samples::{Mode, SAMPLE_POSITIONS};
use nvir_hw::surface::{Target, View};
pub use nvir_hw::tsc::{Compare, Filter, MipFilter, Wrap};
use std::str::FromStr;

/// The shape of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// One dimension.
    D1,
    /// Two.
    D2,
    /// Three.
    D3,
    /// Six faces.
    Cube,
    /// Layers of one dimension.
    D1Array,
    /// Layers of two.
    D2Array,
    /// Layers of six faces.
    CubeArray,
    /// Texels in a row, without levels.
    Buffer,
    /// Multisampled: the third extent is the number of samples.
    D2Ms,
}

impl FromStr for Dim {
    type Err = String;

    /// The dimensions as fixtures name them (`docs/fixtures.md`).
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
    /// Its shape.
    pub dim: Dim,
    /// How a texel looks.
    pub format: Format,
    /// Texels; layers last for arrays; cube: `[w, h, 6]`; multisampled: `[w, h, samples]`.
    pub size: [u32; 3],
    /// Levels, one at least.
    pub levels: u32,
}

/// Of an image's address: a driver's buffers begin at pages.
const ALIGN: u64 = 4096;

/// The largest extent of an image, in texels or layers.
pub const MAX_EXTENT: u32 = 16384;

/// The most texels of a buffer image.
pub const MAX_BUFFER_TEXELS: u32 = 1 << 27;

impl ImageDesc {
    /// Whether there are such images: extents that its shape has, not beyond what any can be, and levels down to one texel.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        let (dim, [w, h, d]) = (self.dim, self.size);
        let limit = if dim == Dim::Buffer { MAX_BUFFER_TEXELS } else { MAX_EXTENT };
        let shape = |ok: bool, what: &str| match ok {
            true => Ok(()),
            false => Err(format!("a size of {:?}: {what}", self.size)),
        };
        shape(!self.size.contains(&0), "no extent is 0")?;
        shape(self.size.iter().all(|&n| n <= limit), &format!("an extent is at most {limit}"))?;
        match dim {
            Dim::D1 | Dim::Buffer => shape(h == 1 && d == 1, "it has a width only")?,
            Dim::D2 => shape(d == 1, "it has a width and a height only")?,
            Dim::D1Array => shape(h == 1 || d == 1, "it has a width and layers only")?,
            Dim::D3 | Dim::D2Array => {}
            Dim::Cube => shape(w == h && d == 6, "a cube has 6 square faces")?,
            Dim::CubeArray => shape(w == h && d % 6 == 0, "each cube has 6 square faces")?,
            Dim::D2Ms => shape(matches!(d, 1 | 2 | 4 | 8), "a pixel has 1, 2, 4 or 8 samples")?,
        }
        let largest = match dim {
            Dim::Buffer | Dim::D2Ms => 1,
            Dim::D1 | Dim::D1Array => w,
            Dim::D3 => w.max(h).max(d),
            Dim::D2 | Dim::Cube | Dim::D2Array | Dim::CubeArray => w.max(h),
        };
        let most = largest.ilog2() + 1;
        match self.levels {
            n if (1..=most).contains(&n) => Ok(()),
            n => Err(format!("{n} levels: an image of this size has 1 to {most}")),
        }
    }

    /// The logarithms of the grid of samples in a pixel.
    pub fn sample_grid(&self) -> (u32, u32) {
        Mode::of(if self.dim == Dim::D2Ms { self.size[2] } else { 1 }).grid
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

/// One level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Level {
    /// Width, height, and layers, depth or samples.
    pub size: [u32; 3],
    /// Where it lies in its layer.
    pub place: tiling::Level,
}

/// How the texels of an image are arranged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Arrangement {
    /// As the driver does it: block-linear, but for buffers.
    #[default]
    Driver,
    /// LaneVec by row.
    Linear,
}

impl FromStr for Arrangement {
    type Err = String;

    fn from_str(s: &str) -> Result<Arrangement, String> {
        match s {
            "block" => Ok(Arrangement::Driver),
            "linear" => Ok(Arrangement::Linear),
            _ => Err(format!("unknown layout `{s}`: `block` or `linear`")),
        }
    }
}

/// An image in global memory, or a part of one that is bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    /// What it is.
    pub desc: ImageDesc,
    /// Of the first byte.
    pub address: u64,
    /// The largest first.
    pub levels: Vec<Level>,
    /// Bytes from layer to layer.
    pub layer_stride: u64,
    /// The third extent of a level is depth: its slices share blocks.
    three_d: bool,
    /// Where a part of a three-dimensional image begins.
    pub(crate) first_z: u32,
}

impl Image {
    /// An image whose first byte has this address, without memory. `None`: it is larger than any can be.
    pub fn new(desc: ImageDesc, how: Arrangement, address: u64) -> Option<Image> {
        let bpp = desc.format.bytes();
        let limit = if desc.dim == Dim::Buffer { MAX_BUFFER_TEXELS } else { MAX_EXTENT };
        if desc.size.iter().any(|&s| s > limit) || desc.levels > 15 {
            return None;
        }
        let three_d = desc.dim == Dim::D3;
        let sizes: Vec<[u32; 3]> = (0..desc.levels.max(1)).map(|l| desc.level_size(l)).collect();
        let (ms_x, ms_y) = desc.sample_grid();
        let extents = sizes.iter().map(|&[w, h, d]| Extent {
            row_bytes: (w << ms_x) * bpp,
            rows: h << ms_y,
            slices: three_d.then_some(d),
        });
        let linear = how == Arrangement::Linear || desc.dim == Dim::Buffer;
        // Programs count rows of all slices in 16 bits; blocks never come near that.
        if linear && three_d && sizes[0][1] * sizes[0][2] > 0xffff {
            return None;
        }
        let layout = if linear { tiling::pitch_linear(extents) } else { tiling::block_linear(extents) };
        let levels =
            sizes.into_iter().zip(layout.levels).map(|(size, place)| Level { size, place }).collect();
        Some(Image { desc, address, levels, layer_stride: layout.layer_stride, three_d, first_z: 0 })
    }

    /// Layers, each with all levels; slices and samples are part of a level.
    pub fn layers(&self) -> u32 {
        if self.three_d || self.desc.dim == Dim::D2Ms { 1 } else { self.levels[0].size[2] }
    }

    /// Bytes from the address to the end of the last layer.
    pub fn bytes(&self) -> u64 {
        self.layer_stride * u64::from(self.layers())
    }

    /// Places a zeroed image in memory.
    pub fn alloc(memory: &mut Memory, desc: ImageDesc, how: Arrangement) -> Result<Image, MemoryError> {
        let mut image = Image::new(desc, how, 0).ok_or(MemoryError::TooLarge(u64::MAX))?;
        image.address = memory.alloc(image.bytes(), ALIGN)?;
        Ok(image)
    }

    /// What is seen of the image where one level is bound, and of that perhaps one layer, face or depth slice.
    pub fn bind(&self, level: u32, layer: Option<u32>) -> Result<Image, String> {
        let Some(&chosen) = self.levels.get(level as usize) else {
            return Err(format!("level {level}: the image has {}", self.levels.len()));
        };
        let [w, h, d] = chosen.size;
        let mut part = Image { levels: vec![chosen], ..self.clone() };
        part.desc.levels = 1;
        part.desc.size = chosen.size;
        let Some(layer) = layer else { return Ok(part) };
        let dim = match self.desc.dim {
            Dim::D1Array => Dim::D1,
            Dim::D3 | Dim::Cube | Dim::D2Array | Dim::CubeArray => Dim::D2,
            _ => return Err("an image without layers has no layer to bind".into()),
        };
        if layer >= d {
            return Err(format!("layer {layer}: the image has {d}"));
        }
        if self.three_d {
            part.first_z = layer;
        } else {
            part.address += u64::from(layer) * self.layer_stride;
        }
        part.desc.dim = dim;
        part.desc.size = [w, h, 1];
        part.levels[0].size = [w, h, 1];
        Ok(part)
    }

    /// The first level as the driver binds it. A slice's depth is that of the whole level.
    pub fn view(&self) -> View {
        let level = self.levels[0];
        let [w, h, d] = level.size;
        let target = match self.desc.dim {
            _ if self.three_d => Target::D3,
            Dim::D1Array => Target::D1Array,
            Dim::D2 | Dim::D2Ms => Target::D2,
            Dim::D2Array | Dim::Cube | Dim::CubeArray => Target::D2Array,
            Dim::D3 | Dim::D1 | Dim::Buffer => Target::Other,
        };
        let layers = if self.desc.dim == Dim::D2Ms { 1 } else { d };
        View {
            format: self.desc.format,
            target,
            buffer: self.desc.dim == Dim::Buffer,
            address: self.address + level.place.offset,
            size: [w, h, if self.three_d { level.place.slices } else { layers }],
            level: level.place,
            layer_stride: self.layer_stride,
            three_d: self.three_d,
            first_z: self.first_z,
            samples: self.desc.sample_grid(),
        }
    }

    /// Bytes of the packed texels of all levels.
    pub fn packed_bytes(&self) -> u64 {
        let bpp = u64::from(self.desc.format.bytes());
        self.levels.iter().map(|l| l.size.iter().map(|&s| u64::from(s)).product::<u64>() * bpp).sum()
    }

    /// The byte offset of a texel from the image's address; `None` outside the level.
    pub fn texel(&self, level: usize, [x, y, z]: [u32; 3]) -> Option<u64> {
        let l = self.levels.get(level)?;
        if x >= l.size[0] || y >= l.size[1] || z >= l.size[2] {
            return None;
        }
        let bpp = u64::from(self.desc.format.bytes());
        let (ms_x, ms_y) = self.desc.sample_grid();
        let (mut x, mut y, mut layer) = (u64::from(x) << ms_x, u64::from(y) << ms_y, u64::from(z));
        let mut slice = 0;
        if self.desc.dim == Dim::D2Ms {
            let (dx, dy) = SAMPLE_POSITIONS[z as usize % 8];
            (x, y, layer) = (x + u64::from(dx), y + u64::from(dy), 0);
        } else if self.three_d {
            (slice, layer) = (layer + u64::from(self.first_z), 0);
        }
        Some(layer * self.layer_stride + l.place.offset + l.place.byte(x * bpp, y, slice))
    }

    /// The runs of bytes that hold the texels of all levels in packed order: address and length.
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let bpp = self.desc.format.bytes();
        let samples = self.desc.sample_grid() != (0, 0);
        self.levels.iter().enumerate().flat_map(move |(i, l)| {
            let [w, h, d] = l.size;
            let texels = match l.place.order {
                // Samples of neighbouring pixels are not adjacent.
                _ if samples => 1,
                Order::Pitch => w,
                Order::Blocks(_) if tiling::RUN.is_multiple_of(bpp) => tiling::RUN / bpp,
                Order::Blocks(_) => 1,
            };
            (0..d).flat_map(move |z| {
                (0..h).flat_map(move |y| {
                    (0..w).step_by(texels as usize).filter_map(move |x| {
                        let length = texels.min(w - x) * bpp;
                        Some((self.address + self.texel(i, [x, y, z])?, length.into()))
                    })
                })
            })
        })
    }

    /// Writes packed texels (rows tightly packed, level by level); missing ones stay, extra ones are dropped.
    pub fn upload(&self, memory: &mut Memory, mut texels: &[u8]) -> Result<(), MemoryError> {
        for (address, bytes) in self.runs() {
            let (row, rest) = texels.split_at((bytes as usize).min(texels.len()));
            memory.write(address, row)?;
            texels = rest;
        }
        Ok(())
    }

    /// Reads the packed texels of all levels.
    pub fn download(&self, memory: &Memory) -> Result<Vec<u8>, MemoryError> {
        let mut all = Vec::new();
        for (address, bytes) in self.runs() {
            all.extend(memory.read(address, bytes)?);
        }
        Ok(all)
    }
}

/// How a texture is sampled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    /// Where texels are smaller than pixels.
    pub min: Filter,
    /// Where they are larger.
    pub mag: Filter,
    /// Between levels.
    pub mip: MipFilter,
    /// For x, y and z.
    pub wrap: [Wrap; 3],
    /// Shadow lookups compare with this; `Lequal` where the sampler says nothing.
    pub compare: Option<Compare>,
    /// Colour of the border.
    pub border: [f32; 4],
    /// The same as the bits of the result, whatever the format is, in place of `border`.
    pub border_bits: Option<[u32; 4]>,
    /// Filters go across the edges of a cube's faces.
    pub seamless: bool,
    /// Coordinates are in texels instead of 0..1.
    pub unnormalized: bool,
    /// Places that a linear filter looks at, at most, where a footprint is longer than wide.
    pub max_anisotropy: u32,
    /// Added to the level of detail.
    pub lod_bias: f32,
    /// The least level of detail.
    pub min_lod: f32,
    /// The greatest.
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
            border_bits: None,
            seamless: false,
            unnormalized: false,
            max_anisotropy: 1,
            lod_bias: 0.0,
            min_lod: 0.0,
            max_lod: 1000.0,
        }
    }
}

/// The 32-bit handle of a texture (TIC index) with a sampler (TSC index).
pub fn texture_handle(texture: u32, sampler: u32) -> u32 {
    texture & 0xfffff | sampler << 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texels_come_back_as_they_were_uploaded() {
        for (dim, size) in
            [(Dim::D2, [5, 3, 1]), (Dim::D3, [4, 4, 4]), (Dim::D2Ms, [3, 2, 4]), (Dim::CubeArray, [2, 2, 12])]
        {
            let mut memory = Memory::new();
            let desc = ImageDesc { dim, format: "rg16i".parse().unwrap(), size, levels: 2 };
            for how in [Arrangement::Driver, Arrangement::Linear] {
                let image = Image::alloc(&mut memory, desc, how).unwrap();
                let data: Vec<u8> = (0..image.packed_bytes()).map(|i| (i * 7) as u8).collect();
                image.upload(&mut memory, &data).unwrap();
                assert_eq!(image.download(&memory).unwrap(), data, "{dim:?}");
            }
        }
    }
}
