//! Pictures of what is drawn: after each submission that draws or clears, the targets that it drew into.
//!
//! Pictures are upright where the viewport says which row is the top one: OpenGL's framebuffer objects have their lowest row
//! first.

mod layer;

pub use layer::Layer;
pub(crate) use layer::{byte_of_integer, extend};

use crate::Memory;
use crate::image::surface::Words;
use crate::image::surface_format::color_name;
use crate::image::texels::Surface;
use nvir_hw::format::color::Color;
use nvir_hw::format::zeta::Zeta;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

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
    /// The first row is the top one, whatever the viewport says.
    top_first: bool,
    number: u64,
    drawn: Vec<Drawn>,
}

impl Frames {
    pub(crate) fn new(tell: OnFrame, only: Option<u64>, top_first: bool) -> Frames {
        Frames { tell, only, top_first, number: 0, drawn: Vec::new() }
    }

    /// Something is drawn into a target.
    pub(crate) fn note(&mut self, mut new: Drawn) {
        if self.top_first {
            new.top = Top::FirstRow;
        }
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
        let pictures =
            self.layers(memory).flat_map(|layer| {
                let suffix = if several { format!("-layer{}", layer.number) } else { String::new() };
                let whole = [0, 0, layer.size[0], layer.size[1]];
                let [width, height] = layer.size;
                layer.pixels(whole, self.top, 0..layer.samples()).into_iter().map(move |(what, pixels)| {
                    Picture { name: format!("{number}-{what}{suffix}"), width, height, pixels }
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

    /// Reads a layer of it again, or what is within a rectangle. The pixels that are not as before: x and y of the first, and one
    /// behind the last.
    pub fn read_again(
        &self,
        layer: &mut Layer,
        memory: &Memory,
        within: Option<[u32; 4]>,
    ) -> Option<[u32; 4]> {
        layer.read(&self.0.surface(layer.number, memory)?, within)
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
