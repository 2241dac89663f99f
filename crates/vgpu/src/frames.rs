//! Pictures of what is drawn: after each submission that draws or clears, the targets that it drew into.
//!
//! Pictures are upright where the viewport says which row is the top one: OpenGL's framebuffer objects have their lowest row
//! first.

use crate::Memory;
use crate::image::surface::Words;
use crate::image::surface_format::{SurfaceFormat, zeta_values};
use crate::image::texels::Surface;
use nvir_hw::format::color::Color;
use nvir_hw::format::zeta::Zeta;
use std::fs::{self, File};
use std::io::{self, BufWriter};
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
    fn write(&self, to: File) -> io::Result<()> {
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
    /// The pictures of all layers that lie in memory.
    fn pictures(&self, number: u32, memory: &Memory) -> Vec<Picture> {
        let bytes = match self.format {
            TargetFormat::Color(color) => color.format.bytes() as usize,
            TargetFormat::Zeta(zeta) => zeta.bytes(),
        };
        let width = if self.words.linear { self.words.width / bytes as u32 } else { self.words.width };
        let size = [width >> self.grid.0, self.words.height >> self.grid.1];
        let layers = self.words.layers.clamp(1, MAX_LAYERS);
        let mut pictures = Vec::new();
        for layer in 0..layers {
            let Ok((address, level, z)) = self.words.level(layer + self.base_layer, bytes as u64) else {
                continue;
            };
            let Some(words) = memory.words_from(address) else { continue };
            let surface = Surface::new(words, level, z, bytes, self.grid);
            if !surface.fits() || size.contains(&0) {
                continue;
            }
            let suffix = if layers > 1 { format!("-layer{layer}") } else { String::new() };
            for (what, pixels) in self.pixels(&surface, size) {
                let name = format!("{number}-{what}{suffix}");
                pictures.push(Picture { name, width: size[0], height: size[1], pixels });
            }
        }
        pictures
    }

    /// What there is to see of a layer.
    fn pixels(&self, surface: &Surface<'_>, size: [u32; 2]) -> Vec<(&'static str, Pixels)> {
        match self.format {
            // Stored values are shown, which screens take for sRGB.
            TargetFormat::Color(color) => {
                let format = SurfaceFormat::from(Color { srgb: false, ..color });
                let samples = 1 << (self.grid.0 + self.grid.1);
                let pixels = self.each(size, |x, y| color_of(surface, &format, samples, [x, y]));
                vec![("color", Pixels::Rgba8(pixels))]
            }
            TargetFormat::Zeta(zeta) => {
                let values = self.each(size, |x, y| zeta_values(zeta, surface.load(surface.sample(x, y, 0))));
                let depths = values.iter().map(|v| (v.0.clamp(0.0, 1.0) * 65535.0).round() as u16).collect();
                let mut all = vec![("depth", Pixels::Gray16(depths))];
                if let Some(stencils) = values.iter().map(|v| v.1).collect() {
                    all.push(("stencil", Pixels::Gray8(stencils)));
                }
                all
            }
        }
    }

    /// A value of each pixel, the top row first.
    fn each<T>(&self, [width, height]: [u32; 2], value: impl Fn(u32, u32) -> T) -> Vec<T> {
        let row = |y: u32| match self.top {
            Top::FirstRow => y,
            Top::LastRow => height - 1 - y,
        };
        (0..height).flat_map(|y| (0..width).map(move |x| (x, row(y)))).map(|(x, y)| value(x, y)).collect()
    }
}

/// A pixel's colour in eight bits.
fn color_of(surface: &Surface<'_>, format: &SurfaceFormat, samples: u32, [x, y]: [u32; 2]) -> [u8; 4] {
    let sample = |n: u32| format.unpack(surface.load(surface.sample(x, y, n)));
    if format.is_integer() {
        let top = if format.is_signed() { i32::MAX as u32 } else { u32::MAX };
        return sample(0).map(|v| if v > top { 0 } else { v.min(255) as u8 });
    }
    let mut sum = [0f32; 4];
    for n in 0..samples {
        sum.iter_mut().zip(sample(n)).for_each(|(s, v)| *s += f32::from_bits(v).clamp(0.0, 1.0));
    }
    sum.map(|s| (s / samples as f32 * 255.0).round() as u8)
}
