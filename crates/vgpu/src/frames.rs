//! Pictures of what is drawn: after each submission that draws or clears, the targets that it drew into.
//!
//! Pictures are upright where the viewport says which row is the top one: OpenGL's framebuffer objects have their lowest row
//! first.

use crate::Memory;
use crate::image::surface::Words;
use crate::image::surface_format::{Raw, SurfaceFormat, color_name, zeta_values};
use crate::image::texels::Surface;
use nvir_hw::format::color::Color;
use nvir_hw::format::zeta::Zeta;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// Who is told of frames.
pub type OnFrame = Box<dyn FnMut(&Frame) + Send>;

/// Layers of a target that are shown, at most.
const MAX_LAYERS: u32 = 64;

/// Targets of a submission that are shown, at most.
const MAX_TARGETS: usize = 256;

/// A submission that drew or cleared.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Counted from 1 among those of the card.
    pub number: u64,
    /// The layers of the targets, in the order in which these were first drawn to.
    pub pictures: Vec<Picture>,
}

/// A layer of a target.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The target's number in the frame and what it has; of several layers the layer's number, too.
    pub name: String,
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// All of them, the top row first.
    pub pixels: Pixels,
}

/// What the pixels of a picture are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pixels {
    /// Red, green, blue, alpha from 0 to 1 in eight bits each, clamped; integers as they are. Of samples the mean.
    Rgba8(Vec<[u8; 4]>),
    /// Depths from 0 to 1, clamped. Of samples the first.
    Gray16(Vec<u16>),
    /// Stencil values. Of samples the first.
    Gray8(Vec<u8>),
}

impl Frame {
    /// Writes each picture to a file in a folder, which is made: `PREFIXframe-NUMBER-NAME.png`.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, folder: &Path, prefix: &str) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for picture in &self.pictures {
            let name = format!("{prefix}frame-{:04}-{}.png", self.number, picture.name);
            picture.write(File::create(folder.join(name))?)?;
        }
        Ok(())
    }
}

impl Picture {
    /// Writes it as PNG.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        let (color, depth, bytes) = match &self.pixels {
            Pixels::Rgba8(all) => (png::ColorType::Rgba, png::BitDepth::Eight, all.as_flattened().to_vec()),
            Pixels::Gray8(all) => (png::ColorType::Grayscale, png::BitDepth::Eight, all.clone()),
            Pixels::Gray16(all) => {
                let bytes = all.iter().flat_map(|v| v.to_be_bytes()).collect();
                (png::ColorType::Grayscale, png::BitDepth::Sixteen, bytes)
            }
        };
        let mut encoder = png::Encoder::new(BufWriter::new(to), self.width, self.height);
        encoder.set_color(color);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&bytes)?;
        Ok(writer.finish()?)
    }
}

/// The format of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TargetFormat {
    Color(Color),
    Zeta(Zeta),
}

/// Which row of a target is the top one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Top {
    FirstRow,
    LastRow,
}

/// A target that something was drawn into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    pub words: Words,
    pub base_layer: u32,
    pub format: TargetFormat,
    /// Log2 of the samples of a pixel in x and y.
    pub grid: (u32, u32),
    pub top: Top,
}

/// The frames of a card, for whoever wants them.
pub(crate) struct Frames {
    tell: OnFrame,
    /// The only one that is wanted.
    only: Option<u64>,
    number: u64,
    drawn: Vec<Drawn>,
}

impl Frames {
    pub(crate) fn new(tell: OnFrame, only: Option<u64>) -> Frames {
        Frames { tell, only, number: 0, drawn: Vec::new() }
    }

    /// Something is drawn into a target.
    pub(crate) fn note(&mut self, new: Drawn) {
        let what = |d: &Drawn| (d.words, d.base_layer, d.format);
        match self.drawn.iter().position(|d| what(d) == what(&new)) {
            Some(known) => self.drawn[known] = new,
            None if self.drawn.len() < MAX_TARGETS => self.drawn.push(new),
            None => {}
        }
    }

    /// A submission has ended.
    pub(crate) fn end(&mut self, memory: &Memory) {
        let drawn = std::mem::take(&mut self.drawn);
        if drawn.is_empty() {
            return;
        }
        self.number += 1;
        let number = self.number;
        if self.only.is_none_or(|only| only == number) {
            let pictures = (1..).zip(&drawn).flat_map(|(n, target)| target.pictures(n, memory)).collect();
            (self.tell)(&Frame { number, pictures });
        }
    }
}

impl Drawn {
    /// Bytes of a texel.
    fn bytes(&self) -> usize {
        match self.format {
            TargetFormat::Color(color) => color.format.bytes() as usize,
            TargetFormat::Zeta(zeta) => zeta.bytes(),
        }
    }

    /// Pixels in x and y.
    fn size(&self) -> [u32; 2] {
        let width = if self.words.linear { self.words.width / self.bytes() as u32 } else { self.words.width };
        [width >> self.grid.0, self.words.height >> self.grid.1]
    }

    /// Where a layer lies in memory, if it does.
    fn surface<'m>(&self, number: u32, memory: &'m Memory) -> Option<Surface<'m>> {
        let bytes = self.bytes();
        let (address, level, z) = self.words.level(number + self.base_layer, bytes as u64).ok()?;
        let surface = Surface::new(memory.words_from(address)?, level, z, bytes, self.grid);
        surface.fits().then_some(surface)
    }

    /// A layer as it is in memory, if it lies there.
    fn layer(&self, number: u32, memory: &Memory) -> Option<Layer> {
        let (surface, size) = (self.surface(number, memory)?, self.size());
        if size.contains(&0) {
            return None;
        }
        let samples = 1 << (self.grid.0 + self.grid.1);
        let pixels = (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| (x, y)));
        let places = pixels.flat_map(|(x, y)| (0..samples).map(move |n| surface.sample(x, y, n) as u32));
        let in_rows: Vec<u32> = places.collect();
        let chunk = |place: u32| place as usize / CHUNK_BYTES;
        let (first, last) = (chunk(*in_rows.iter().min()?), chunk(*in_rows.iter().max()?));
        // By chunks: how many come before each, then each to its place.
        let mut starts = vec![0; last + 2 - first];
        in_rows.iter().for_each(|&place| starts[chunk(place) - first + 1] += 1);
        (1..starts.len()).for_each(|k| starts[k] += starts[k - 1]);
        let mut next = starts.clone();
        let mut places = vec![(0, 0); in_rows.len()];
        for (&place, number) in in_rows.iter().zip(0..) {
            let next = &mut next[chunk(place) - first];
            places[*next] = (place, number);
            *next += 1;
        }
        let words = self.bytes().div_ceil(4);
        let texels = vec![0; places.len() * words];
        let memory = vec![0; (last + 1 - first) * CHUNK_WORDS];
        let samples = samples as usize;
        let mut layer = Layer {
            number,
            size,
            format: self.format,
            samples,
            words,
            places,
            first,
            starts,
            memory,
            texels,
        };
        layer.read(&surface);
        Some(layer)
    }

    /// The numbers of the layers that are shown.
    fn numbers(&self) -> Range<u32> {
        0..self.words.layers.clamp(1, MAX_LAYERS)
    }

    /// All layers that lie in memory.
    fn layers(&self, memory: &Memory) -> impl Iterator<Item = Layer> {
        self.numbers().filter_map(|number| self.layer(number, memory))
    }

    /// The pictures of all layers that lie in memory.
    fn pictures(&self, number: u32, memory: &Memory) -> Vec<Picture> {
        let several = self.words.layers > 1;
        let pictures = self.layers(memory).flat_map(|layer| {
            let suffix = if several { format!("-layer{}", layer.number) } else { String::new() };
            let whole = [0, 0, layer.size[0], layer.size[1]];
            let [width, height] = layer.size;
            layer.pixels(whole, self.top).into_iter().map(move |(what, pixels)| Picture {
                name: format!("{number}-{what}{suffix}"),
                width,
                height,
                pixels,
            })
        });
        pictures.collect()
    }
}

/// A target of a command.
#[derive(Clone, Copy, Debug)]
pub struct Target(pub(crate) Drawn);

/// Two are the same if all of their memory is, and its format.
impl PartialEq for Target {
    fn eq(&self, other: &Target) -> bool {
        let what = |t: &Target| (t.0.words, t.0.base_layer, t.0.format, t.0.grid);
        what(self) == what(other)
    }
}

impl Target {
    /// The format's name.
    pub fn format(&self) -> String {
        match self.0.format {
            TargetFormat::Color(color) => color_name(color),
            TargetFormat::Zeta(zeta) => format!("{zeta:?}").to_lowercase(),
        }
    }

    /// The GPU address.
    pub fn address(&self) -> u64 {
        self.0.words.address
    }

    /// Addresses that it does not reach beyond.
    pub fn span(&self) -> Range<u64> {
        let Words { address, layers, layer_stride, .. } = self.0.words;
        let last = self.0.numbers().end - 1 + self.0.base_layer;
        let end = self.0.words.level(last, self.0.bytes() as u64).map_or(u64::MAX, |(start, level, _)| {
            // Blocks are rounded up to 128 rows and 32 slices at most.
            let slices = u64::from(level.slices).next_multiple_of(32);
            let rows = u64::from(level.rows).next_multiple_of(128);
            start.saturating_add(u64::from(level.pitch).saturating_mul(rows).saturating_mul(slices))
        });
        address..end.max(address.saturating_add(u64::from(layers) * layer_stride))
    }

    /// Pixels in x and y.
    pub fn size(&self) -> [u32; 2] {
        self.0.size()
    }

    /// Samples of a pixel.
    pub fn samples(&self) -> u32 {
        1 << (self.0.grid.0 + self.0.grid.1)
    }

    /// Whether the last row in memory is the top one.
    pub fn is_upwards(&self) -> bool {
        self.0.top == Top::LastRow
    }

    /// Reads a layer of it again. The pixels that are not as before: x and y of the first, and one behind the last.
    pub fn read_again(&self, layer: &mut Layer, memory: &Memory) -> Option<[u32; 4]> {
        layer.read(&self.0.surface(layer.number, memory)?)
    }

    /// The numbers of its layers, as far as they are shown.
    pub fn layer_numbers(&self) -> Range<u32> {
        self.0.numbers()
    }

    /// What a layer holds, if it lies in memory.
    pub fn layer(&self, number: u32, memory: &Memory) -> Option<Layer> {
        self.0.layer(number, memory)
    }
}

/// What a layer of a target holds.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Counted from the target's first.
    pub number: u32,
    /// Pixels in x and y.
    pub size: [u32; 2],
    format: TargetFormat,
    /// Of a pixel.
    samples: usize,
    /// Words of a texel.
    words: usize,
    /// Where texels lie, in bytes, with their numbers: of all pixels, row by row as in memory, all samples of each.
    places: Vec<(u32, u32)>,
    /// The first chunk of memory with a texel.
    first: usize,
    /// Of each chunk from there on, the first of its places.
    starts: Vec<usize>,
    /// The words of the chunks.
    memory: Vec<u32>,
    /// The words of the texels by their numbers.
    texels: Vec<u32>,
}

/// Memory that is compared at once: no texel lies in two.
const CHUNK_BYTES: usize = 512;
const CHUNK_WORDS: usize = CHUNK_BYTES / 4;

impl Layer {
    /// Reads the texels of memory that is not as before. The pixels that are not as before.
    fn read(&mut self, surface: &Surface<'_>) -> Option<[u32; 4]> {
        let mut changed: Option<[u32; 4]> = None;
        for (n, old) in self.memory.chunks_exact_mut(CHUNK_WORDS).enumerate() {
            let new = surface.words((self.first + n) * CHUNK_WORDS, CHUNK_WORDS);
            // All words, since a branch for each takes longer.
            if old.iter().zip(new).fold(0, |all, (old, new)| all | (old ^ new.load(Relaxed))) == 0 {
                continue;
            }
            old.iter_mut().zip(new).for_each(|(old, new)| *old = new.load(Relaxed));
            for &(place, number) in &self.places[self.starts[n]..self.starts[n + 1]] {
                let texel = &mut self.texels[number as usize * self.words..][..self.words];
                let raw = surface.load(place as usize);
                // A call for each texel would take longer than all else.
                if texel.iter().zip(&raw).all(|(old, new)| old == new) {
                    continue;
                }
                texel.copy_from_slice(&raw[..self.words]);
                let pixel = number / self.samples as u32;
                let (x, y) = (pixel % self.size[0], pixel / self.size[0]);
                let [x0, y0, x1, y1] = changed.unwrap_or([x, y, x, y]);
                changed = Some([x0.min(x), y0.min(y), x1.max(x + 1), y1.max(y + 1)]);
            }
        }
        changed
    }

    /// What there is to see of a rectangle, row by row as in memory: `color`, or `depth` and `stencil`.
    pub fn pictures(&self, [x0, y0, x1, y1]: [u32; 4]) -> Vec<Picture> {
        let (width, height) = (x1 - x0, y1 - y0);
        let pixels = self.pixels([x0, y0, x1, y1], Top::FirstRow);
        pixels
            .into_iter()
            .map(|(what, pixels)| Picture { name: what.into(), width, height, pixels })
            .collect()
    }

    fn texel(&self, x: u32, y: u32, sample: usize) -> Raw {
        let at = ((y as usize * self.size[0] as usize + x as usize) * self.samples + sample) * self.words;
        let words = &self.texels[at..at + self.words];
        std::array::from_fn(|n| words.get(n).copied().unwrap_or(0))
    }

    /// What there is to see of a rectangle.
    fn pixels(&self, rect: [u32; 4], top: Top) -> Vec<(&'static str, Pixels)> {
        match self.format {
            // Stored values are shown, which screens take for sRGB.
            TargetFormat::Color(color) => {
                let format = SurfaceFormat::from(Color { srgb: false, ..color });
                let pixels = each(rect, top, |x, y| self.color(&format, x, y));
                vec![("color", Pixels::Rgba8(pixels))]
            }
            TargetFormat::Zeta(zeta) => {
                let values = each(rect, top, |x, y| zeta_values(zeta, self.texel(x, y, 0)));
                let depths = values.iter().map(|v| (v.0.clamp(0.0, 1.0) * 65535.0).round() as u16).collect();
                let mut all = vec![("depth", Pixels::Gray16(depths))];
                if let Some(stencils) = values.iter().map(|v| v.1).collect() {
                    all.push(("stencil", Pixels::Gray8(stencils)));
                }
                all
            }
        }
    }

    /// A pixel's colour in eight bits.
    fn color(&self, format: &SurfaceFormat, x: u32, y: u32) -> [u8; 4] {
        let sample = |n: usize| format.unpack(self.texel(x, y, n));
        if format.is_integer() {
            let top = if format.is_signed() { i32::MAX as u32 } else { u32::MAX };
            return sample(0).map(|v| if v > top { 0 } else { v.min(255) as u8 });
        }
        let mut sum = [0f32; 4];
        for n in 0..self.samples {
            sum.iter_mut().zip(sample(n)).for_each(|(s, v)| *s += f32::from_bits(v).clamp(0.0, 1.0));
        }
        sum.map(|s| (s / self.samples as f32 * 255.0).round() as u8)
    }
}

/// A value of each pixel of a rectangle, the top row first.
fn each<T>([x0, y0, x1, y1]: [u32; 4], top: Top, value: impl Fn(u32, u32) -> T) -> Vec<T> {
    let row = |y: u32| match top {
        Top::FirstRow => y,
        Top::LastRow => y1 - 1 - (y - y0),
    };
    (y0..y1).flat_map(|y| (x0..x1).map(move |x| (x, row(y)))).map(|(x, y)| value(x, y)).collect()
}
