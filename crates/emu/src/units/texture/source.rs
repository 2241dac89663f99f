//! What a lookup reads: a texture in memory, how its texels are encoded, and where descriptions come from.

use crate::image::{Dim, Image, Level, Sampler};
use crate::memory::Memory;
use crate::texel::{self, Channels};
use nvir_base::format::{Kind, Layout};
use nvir_base::srgb;
use nvir_hw::samples::SAMPLE_POSITIONS;
use std::fmt::Debug;
use std::sync::Arc;

/// How texels are encoded: in blocks of some texels each.
pub trait Texels: Send + Sync + Debug {
    /// Texels of a block in x and y.
    fn block(&self) -> [u32; 2] {
        [1, 1]
    }

    /// Bytes of a block: at most 16.
    fn bytes(&self) -> u32;

    /// Whether channels are integers, which are never filtered.
    fn integer(&self) -> bool;

    /// The channel that a comparison looks at.
    fn depth(&self) -> usize {
        0
    }

    /// A reference as it is held against depths: as they are stored.
    fn reference(&self, reference: f32) -> f32 {
        reference
    }

    /// The channels of the texel at `at` of a block: bits of f32, or integers.
    fn decode(&self, block: [u32; 4], at: [u32; 2]) -> Channels;

    /// How each channel is read, if all can be read by themselves.
    fn channels(&self) -> Option<[Channel; 4]> {
        None
    }
}

/// How a channel is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// From bits of the texel.
    Field(Field),
    /// The same for all texels: bits of f32, or an integer.
    Same(u32),
}

/// Bits of a texel that lie in one word of it: 1 to 32, of floats 10, 11, 16 or 32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The lowest bit.
    pub low: u32,
    /// How many there are.
    pub bits: u32,
    /// What they stand for.
    pub kind: Kind,
    /// Fractions are stored as sRGB.
    pub srgb: bool,
}

impl Field {
    /// The channel, of a texel in words.
    pub fn of(self, texel: [u32; 4]) -> u32 {
        self.decode(texel::field(texel, self.low, self.bits))
    }

    /// The channel, of the field's bits.
    #[inline]
    pub fn decode(self, stored: u32) -> u32 {
        if self.srgb && self.bits == 8 {
            return srgb::to_linear(stored as u8).to_bits();
        }
        let channel = texel::decode_channel(self.kind, self.bits, stored);
        if self.srgb { srgb::fraction_to_linear(f32::from_bits(channel)).to_bits() } else { channel }
    }
}

impl Texels for Layout {
    fn bytes(&self) -> u32 {
        Layout::bytes(*self)
    }

    fn integer(&self) -> bool {
        texel::is_integer(*self)
    }

    fn decode(&self, block: [u32; 4], _: [u32; 2]) -> Channels {
        texel::decode(*self, block)
    }

    fn channels(&self) -> Option<[Channel; 4]> {
        let mut channels = texel::decode(*self, [0; 4]).map(Channel::Same);
        let mut low = 0;
        let there_are =
            self.bits.iter().map(|&bits| u32::from(bits)).enumerate().filter(|&(_, bits)| bits != 0);
        for (n, bits) in there_are {
            let n = if self.bgra && n != 1 && n != 3 { 2 - n } else { n };
            channels[n] = Channel::Field(Field { low, bits, kind: self.kind, srgb: false });
            low += bits;
        }
        Some(channels)
    }
}

pub use nvir_hw::tic::Source;

/// A component of a lookup's result.
fn component(source: Source, texel: Channels) -> u32 {
    match source {
        Source::Zero => 0,
        Source::Channel(n) => texel[n as usize & 3],
        Source::OneInt => 1,
        Source::OneFloat => 1f32.to_bits(),
    }
}

/// A texture as a lookup sees it: levels from the first visible one on.
#[derive(Clone, Debug)]
pub struct Texture {
    /// Its shape.
    pub dim: Dim,
    /// Of the first byte.
    pub address: u64,
    /// Sizes in texels (the third extent: layers and faces, depth or samples), and where the blocks of texels lie.
    pub levels: Vec<Level>,
    /// Bytes from layer to layer, and from face to face.
    pub layer_stride: u64,
    /// The first slice that is seen, in three dimensions.
    pub first_z: u32,
    /// Samples of a pixel, and log2 of their grid in x and y.
    pub samples: u32,
    /// Samples in x and y.
    pub grid: (u32, u32),
    /// What reads a texel.
    pub texels: Arc<dyn Texels>,
    /// Where each channel comes from.
    pub sources: [Source; 4],
    /// What a query tells for the third extent, unless that is depth.
    pub layers: u32,
    /// Coordinates are in texels whatever the sampler says.
    pub scaled: bool,
    /// As the sampler's; the greater one counts.
    pub max_anisotropy: u32,
}

impl From<&Image> for Texture {
    fn from(image: &Image) -> Texture {
        let ms = image.desc.dim == Dim::D2Ms;
        let third = image.levels.first().map_or(1, |l| l.size[2]);
        let mut levels = image.levels.clone();
        if ms {
            levels.iter_mut().for_each(|l| l.size[2] = 1);
        }
        Texture {
            dim: image.desc.dim,
            address: image.address,
            levels,
            layer_stride: image.layer_stride,
            first_z: image.first_z,
            samples: if ms { third } else { 1 },
            grid: image.desc.sample_grid(),
            texels: Arc::new(image.desc.format.layout()),
            sources: Source::IDENTITY,
            layers: if ms { 1 } else { third },
            scaled: false,
            max_anisotropy: 1,
        }
    }
}

impl Texture {
    /// What a lookup finds where nothing is bound: zero.
    pub fn none() -> Texture {
        Texture {
            dim: Dim::D2,
            address: 0,
            levels: Vec::new(),
            layer_stride: 0,
            first_z: 0,
            samples: 1,
            grid: (0, 0),
            texels: Arc::new(Layout { kind: Kind::Unorm, bits: [8; 4], bgra: false }),
            sources: [Source::Zero; 4],
            layers: 0,
            scaled: false,
            max_anisotropy: 1,
        }
    }

    /// The address of the block that holds a texel, and where it is there; `None` outside the level. Without a sample,
    /// coordinates of multisampled textures count samples.
    pub fn place(&self, level: usize, [x, y, z]: [u32; 3], sample: Option<u32>) -> Option<(u64, [u32; 2])> {
        let l = self.levels.get(level)?;
        let (ms_x, ms_y) = self.grid;
        let [mut w, mut h, d] = l.size.map(u64::from);
        let (mut x, mut y, z) = (u64::from(x), u64::from(y), u64::from(z));
        match sample {
            None => (w, h) = (w << ms_x, h << ms_y),
            Some(n) if n >= self.samples => return None,
            Some(_) => {}
        }
        if x >= w || y >= h || z >= d {
            return None;
        }
        if let Some(n) = sample {
            let (dx, dy) = SAMPLE_POSITIONS[n as usize % 8];
            (x, y) = ((x << ms_x) + u64::from(dx), (y << ms_y) + u64::from(dy));
        }
        let (layer, slice) =
            if self.dim == Dim::D3 || self.first_z != 0 { (0, z + u64::from(self.first_z)) } else { (z, 0) };
        let [bx, by] = self.texels.block().map(u64::from);
        let at = [(x % bx) as u32, (y % by) as u32];
        let offset = l.place.byte(x / bx * u64::from(self.texels.bytes()), y / by, slice);
        Some((self.address.wrapping_add(layer * self.layer_stride + l.place.offset + offset), at))
    }

    /// What a lookup gives for a texel's channels.
    pub fn pick(&self, texel: Channels) -> Channels {
        self.sources.map(|s| component(s, texel))
    }
}

/// Where a launch finds textures and samplers: by the instruction's slot on GF100; on Kepler by TIC index (bits 19:0 of a
/// handle) and TSC index (bits 31:20). Descriptions are made when a lookup needs them, once a launch or draw.
pub trait TextureSource: Sync + Debug {
    /// A texture, or why there is none.
    fn texture(&self, memory: &Memory, index: u32) -> Result<Texture, String>;

    /// A sampler, or why there is none.
    fn sampler(&self, memory: &Memory, index: u32) -> Result<Sampler, String>;
}
