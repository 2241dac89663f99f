//! What the programs of a command read: constant banks that are bound, textures and samplers that lookups have asked for.

use crate::Memory;
use crate::frames::{Picture, Pixels, byte_of_integer};
use crate::image::texture::{format, tic, tsc};
use crate::shader::Bank;
use nvir_base::Chip;
use nvir_emu::{Channels, Dim, Source, Texture};
use nvir_hw::tic::Tic;
use nvir_hw::tsc::Tsc;
use std::collections::BTreeMap;
use std::ops::Range;

/// Texels of a picture, at most: of larger levels some rows and columns are left out.
const MAX_TEXELS: u64 = 1 << 20;

/// Texels of a row of a buffer's picture.
const BUFFER_ROW: u32 = 256;

/// What a program has read.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Constant banks by their index.
    pub banks: Vec<(u32, Bank)>,
    /// Textures by their entries in the table.
    pub textures: BTreeMap<u32, TextureHeader>,
    /// Samplers by their entries.
    pub samplers: BTreeMap<u32, SamplerState>,
}

impl Reads {
    /// Adds what other launches of the program have asked for.
    pub(crate) fn add(&mut self, other: Reads) {
        self.textures.extend(other.textures);
        self.samplers.extend(other.samplers);
    }

    /// With the banks that are bound.
    pub(crate) fn with_banks(mut self, banks: &[Option<Bank>]) -> Reads {
        self.banks = (0..).zip(banks).filter_map(|(n, bank)| Some((n, (*bank)?))).collect();
        self
    }
}

/// A sampler that lookups have used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SamplerState {
    pub(crate) chip: Chip,
    pub(crate) entry: Tsc,
}

impl SamplerState {
    /// Its state by name.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let s = tsc::sampler(self.chip, &self.entry);
        let mut fields = vec![
            ("mag filter", format!("{:?}", s.mag)),
            ("min filter", format!("{:?}", s.min)),
            ("mip filter", format!("{:?}", s.mip)),
            ("wrap", s.wrap.map(|w| format!("{w:?}")).join(", ")),
        ];
        let mut unless = |usual: bool, name, value: String| {
            if !usual {
                fields.push((name, value));
            }
        };
        unless(s.compare.is_none(), "compare", s.compare.map_or(String::new(), |c| format!("{c:?}")));
        unless(s.lod_bias == 0.0, "level bias", s.lod_bias.to_string());
        unless(s.min_lod == 0.0, "least level", s.min_lod.to_string());
        unless(s.max_lod >= 15.0, "greatest level", s.max_lod.to_string());
        unless(s.max_anisotropy == 1, "anisotropy", s.max_anisotropy.to_string());
        unless(!s.unnormalized, "coordinates", "in texels".into());
        unless(!s.seamless, "edges of cubes", "filtered across".into());
        unless(s.border == [0.0; 4], "border", format!("{:?}", s.border));
        fields
    }
}

/// A texture that lookups have used.
#[derive(Clone, Debug)]
pub struct TextureHeader {
    entry: Tic,
    /// As it is shown: stored values, which screens take for sRGB.
    texture: Texture,
}

/// Two are the same if all that their entries say is.
impl PartialEq for TextureHeader {
    fn eq(&self, other: &TextureHeader) -> bool {
        self.words() == other.words()
    }
}

impl TextureHeader {
    /// What an entry describes, if it is a texture.
    pub(crate) fn new(entry: Tic) -> Option<TextureHeader> {
        let mut shown = entry;
        shown.set(Tic::SRGB_CONVERSION, 0);
        Some(TextureHeader { entry, texture: tic::texture(&shown).ok()? })
    }

    /// The words of its entry.
    pub fn words(&self) -> [u32; nvir_hw::tic::WORDS] {
        self.entry.0
    }

    /// Its shape, in few words.
    pub fn shape(&self) -> &'static str {
        match self.texture.dim {
            Dim::D1 => "1D",
            Dim::D2 => "2D",
            Dim::D3 => "3D",
            Dim::Cube => "cube",
            Dim::D1Array => "1D array",
            Dim::D2Array => "2D array",
            Dim::CubeArray => "cube array",
            Dim::Buffer => "buffer",
            Dim::D2Ms => "2D multisampled",
        }
    }

    /// The format of its texels, and which of their channels a lookup gives, if that is not red, green, blue and alpha.
    pub fn format(&self) -> String {
        let name = format::name(&self.entry);
        match self.texture.sources {
            Source::IDENTITY => name,
            sources => format!("{name}, as {}", sources.map(channel).join("")),
        }
    }

    /// The GPU address.
    pub fn address(&self) -> u64 {
        self.texture.address
    }

    /// Texels of its first level; the third extent counts slices, layers or faces.
    pub fn size(&self) -> [u32; 3] {
        self.texture.levels.first().map_or([0; 3], |l| l.size)
    }

    /// Levels that are seen.
    pub fn levels(&self) -> u32 {
        self.texture.levels.len() as u32
    }

    /// Samples of a pixel.
    pub fn samples(&self) -> u32 {
        self.texture.samples
    }

    /// Pictures that a level has: of its slices, layers or faces.
    pub fn layers(&self, level: u32) -> u32 {
        match self.texture.dim {
            Dim::D1Array => 1,
            _ => self.texture.levels.get(level as usize).map_or(0, |l| l.size[2]),
        }
    }

    /// Addresses that it does not reach beyond.
    pub fn span(&self) -> Range<u64> {
        let t = &self.texture;
        let place = |level: &nvir_emu::image::Level| {
            let p = &level.place;
            // Blocks are rounded up to 128 rows and 32 slices at most.
            let slices = u64::from(p.slices).next_multiple_of(if p.slices > 1 { 32 } else { 1 });
            let rows = u64::from(p.rows).next_multiple_of(if p.rows > 1 { 128 } else { 1 });
            let bytes = u64::from(p.pitch).saturating_mul(rows).saturating_mul(slices);
            // What has a row has its texels, whatever its pitch.
            p.offset.saturating_add(bytes.max(u64::from(level.size[0]) * u64::from(t.texels.bytes())))
        };
        let layer = t.levels.iter().map(place).max().unwrap_or(0);
        let layers =
            t.levels.first().map_or(0, |l| u64::from(l.size[2].saturating_sub(1)) + u64::from(t.first_z));
        t.address..t.address.saturating_add(layer).saturating_add(layers.saturating_mul(t.layer_stride))
    }

    /// What a lookup finds in a level, and every how many texels in x and y are shown; `None` if it does not lie in memory.
    pub fn picture(&self, level: u32, layer: u32, memory: &Memory) -> Option<(Picture, u32)> {
        let t = &self.texture;
        let [width, height, depth] = t.levels.get(level as usize)?.size;
        let [columns, rows] = match t.dim {
            Dim::Buffer => [width.min(BUFFER_ROW), width.div_ceil(BUFFER_ROW)],
            Dim::D1Array => [width, depth],
            _ => [width, height],
        };
        let mut step = 1;
        let shown = |extent: u32, step: u32| extent.div_ceil(step);
        while u64::from(shown(columns, step)) * u64::from(shown(rows, step)) > MAX_TEXELS {
            step *= 2;
        }
        let at = |x: u32, y: u32| match t.dim {
            Dim::Buffer => [y * BUFFER_ROW + x, 0, 0],
            Dim::D1Array => [x, 0, y],
            _ => [x, y, layer],
        };
        // The first texel says whether there is memory; the others may be missing at a buffer's end.
        self.texel(level, at(0, 0), memory)?;
        let (width, height) = (shown(columns, step), shown(rows, step));
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x * step, y * step)));
        let pixels =
            places.map(|(x, y)| self.texel(level, at(x, y), memory).map_or([0; 4], |c| self.color(c)));
        let pixels = Pixels::Rgba8(pixels.collect());
        Some((Picture { name: "texture".into(), width, height, pixels }, step))
    }

    /// The channels that a lookup gives for a texel; of several samples for the first.
    fn texel(&self, level: u32, at: [u32; 3], memory: &Memory) -> Option<Channels> {
        let t = &self.texture;
        let (address, inside) = t.place(level as usize, at, (t.samples > 1).then_some(0))?;
        let (bytes, before) = (t.texels.bytes(), address % 4);
        let mut words = [0; 5];
        let count = (before as usize + bytes as usize).div_ceil(4);
        memory.read_words(address - before, &mut words[..count]).ok()?;
        let shift = 8 * before as u32;
        let block = std::array::from_fn(|n| match shift {
            0 => words[n],
            _ => words[n] >> shift | words[n + 1] << (32 - shift),
        });
        Some(t.pick(t.texels.decode(block, inside)))
    }

    fn color(&self, channels: Channels) -> [u8; 4] {
        let signed = matches!(format::kind(&self.entry), Some(nvir_base::format::Kind::Sint));
        channels.map(|v| match self.texture.texels.integer() {
            true => byte_of_integer(v, signed),
            false => (f32::from_bits(v).clamp(0.0, 1.0) * 255.0).round() as u8,
        })
    }
}

fn channel(source: Source) -> &'static str {
    match source {
        Source::Zero => "0",
        Source::OneInt | Source::OneFloat => "1",
        Source::Channel(n) => ["r", "g", "b", "a"][n as usize % 4],
    }
}
