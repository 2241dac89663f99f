//! Targets of drawing: images of colours and of depths, and how they are cleared.

use super::{DepthFormat, Pass};
use crate::commands::{Subchannel::ThreeD, halves};
use crate::context::Context;
use crate::error::{Error, Result, invalid};
use crate::image::Image;
use nvir::emu::image::Arrangement;
use nvir::emu::{Dim, ImageDesc};
use nvir::tiling::Order;
use nvir_hw::format::color::Color;
use nvir_hw::method::three_d::*;
use nvir_hw::samples::Mode;
use nvir_hw::word::ClearBuffers;

/// The bits of a cleared colour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ClearColor {
    /// Red, green, blue, alpha; the format rounds them.
    Float([f32; 4]),
    /// Of formats of integers.
    Bits([u32; 4]),
}

/// An image that colours are drawn to: all layers of its first level. [`Image::part`] gives others.
#[derive(Clone, Debug)]
pub struct ColorTarget {
    /// In what format and size.
    pub image: Image,
    /// Red, green and blue are stored as sRGB.
    pub srgb: bool,
    /// What it is filled with when the pass begins; else it keeps what it has.
    pub clear: Option<ClearColor>,
}

impl ColorTarget {
    /// An image that keeps what it has.
    pub fn new(image: &Image) -> ColorTarget {
        ColorTarget { image: image.clone(), srgb: false, clear: None }
    }

    /// An image that is cleared.
    pub fn cleared(image: &Image, color: [f32; 4]) -> ColorTarget {
        ColorTarget { clear: Some(ClearColor::Float(color)), ..ColorTarget::new(image) }
    }
}

/// An image of depths and perhaps stencils. Its bits are those of [`DepthImage::texels`], an image of colours.
#[derive(Clone, Debug)]
pub struct DepthImage {
    image: Image,
    format: DepthFormat,
}

impl DepthImage {
    /// The same memory as colours: `r16`, `r32f`, `r32ui`, or `rg32ui` for depth and stencil of 64 bits. Textures, reading
    /// and writing take this.
    pub fn texels(&self) -> &Image {
        &self.image
    }

    /// How a texel looks.
    pub fn format(&self) -> DepthFormat {
        self.format
    }

    /// A layer of it.
    ///
    /// # Errors
    /// There is no such layer.
    pub fn layer(&self, layer: u32) -> Result<DepthImage> {
        Ok(DepthImage { image: self.image.part(0, Some(layer))?, format: self.format })
    }
}

/// A depth buffer.
#[derive(Clone, Debug)]
pub struct DepthTarget {
    /// All its layers.
    pub image: DepthImage,
    /// The depth that it is filled with when the pass begins.
    pub clear_depth: Option<f32>,
    /// The stencil.
    pub clear_stencil: Option<u8>,
}

impl DepthTarget {
    /// A depth buffer that is cleared.
    pub fn cleared(image: &DepthImage, depth: f32) -> DepthTarget {
        DepthTarget { image: image.clone(), clear_depth: Some(depth), clear_stencil: Some(0) }
    }
}

/// The kind of memory, without compression (Mesa `nvc0_miptree.c`).
fn depth_memory(format: DepthFormat) -> u8 {
    match format {
        DepthFormat::Z16 => 0x01,
        DepthFormat::S8Z24 => 0x46,
        DepthFormat::Z24X8 | DepthFormat::Z24S8 => 0x11,
        DepthFormat::Z32 => 0x7b,
        DepthFormat::Z32S8 => 0xc3,
    }
}

/// What a target is for the hardware: the words of `RT_ADDRESS_HIGH` and those that follow, but for the format.
struct Place {
    address: u64,
    width: u32,
    height: u32,
    tile_mode: u32,
    /// One behind the last layer or slice, and the first.
    layers: u32,
    first: u32,
    layer_stride: u32,
}

/// A target's tile mode: the layout has slices.
const VOLUME: u32 = 1 << 16;
/// A target's tile mode: rows follow each other.
const LINEAR: u32 = 1 << 12;

fn place(image: &Image) -> Place {
    let v = image.layout().view();
    let (ms_x, ms_y) = v.samples;
    let [width, height, depth] = image.layout().levels[0].size;
    let count = if image.layout().desc.dim == Dim::D2Ms { 1 } else { depth };
    let first = if v.three_d { v.first_z } else { 0 };
    let volume = if v.three_d { VOLUME } else { 0 };
    let (width, tile_mode) = match v.level.order {
        Order::Pitch => (v.level.pitch, LINEAR),
        Order::Blocks(tile) => (width << ms_x, tile.0 | volume),
    };
    Place {
        address: v.address,
        width,
        height: height << ms_y,
        tile_mode,
        layers: first + count,
        first,
        layer_stride: (v.layer_stride >> 2) as u32,
    }
}

/// Width, height, layers and samples that targets of a pass must agree on: [`super::Pass`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    pub size: [u32; 2],
    pub layers: u32,
    pub samples: u32,
}

pub(super) fn extent(image: &Image) -> Result<Extent> {
    let layout = image.layout();
    let [w, h, d] = layout.levels[0].size;
    match layout.desc.dim {
        Dim::D2Ms => Ok(Extent { size: [w, h], layers: 1, samples: d }),
        Dim::Buffer => Err(Error::Unsupported("drawing to a buffer image".into())),
        _ => Ok(Extent { size: [w, h], layers: d, samples: 1 }),
    }
}

/// The number of the format of a colour target.
fn color_code(target: &ColorTarget) -> Result<u32> {
    let format = target.image.layout().desc.format;
    let color = Color { srgb: target.srgb, ..Color::plain(format.layout()) };
    let how = if target.srgb { " stored as sRGB" } else { "" };
    color.code().ok_or_else(|| Error::Unsupported(format!("drawing to images of {format}{how}")))
}

impl Context {
    /// A zeroed image of depths: of several layers, or of several samples (2, 4, 8), or neither.
    ///
    /// # Errors
    /// No memory is left, or no card has such an image.
    pub fn depth_image(
        &mut self,
        format: DepthFormat,
        [width, height]: [u32; 2],
        layers: u32,
        samples: u32,
    ) -> Result<DepthImage> {
        let colors = format.texels().parse().map_err(|e| Error::Invalid(format!("{format:?}: {e}")))?;
        let (dim, third) = match (layers, samples) {
            (1, 1) => (Dim::D2, 1),
            (n, 1) => (Dim::D2Array, n),
            (1, n) => (Dim::D2Ms, n),
            _ => return Err(Error::Unsupported("layers of several samples".into())),
        };
        let desc = ImageDesc { dim, format: colors, size: [width, height, third], levels: 1 };
        desc.check().map_err(Error::Invalid)?;
        let image = self.image_of_kind(desc, Arrangement::Driver, depth_memory(format))?;
        Ok(DepthImage { image, format })
    }

    /// Binds a colour target.
    pub(super) fn bind_color(&mut self, n: u32, target: Option<&ColorTarget>) -> Result<()> {
        let words = match target {
            // As Mesa has it: what has no format is not written.
            None => [0, 0, 64, 0, 0, 0, 1, 0, 0],
            Some(target) => {
                let code = color_code(target)?;
                let p = place(&target.image);
                self.using(&target.image.shared);
                let [high, low] = halves(p.address);
                [high, low, p.width, p.height, code, p.tile_mode, p.layers, p.layer_stride, p.first]
            }
        };
        self.commands.methods(ThreeD, RT_ADDRESS_HIGH.at(n), &words);
        Ok(())
    }

    /// Binds the depth buffer.
    pub(super) fn bind_depth(&mut self, target: Option<&DepthTarget>) -> Result<()> {
        self.commands.methods(ThreeD, ZETA_ENABLE, &[target.is_some().into()]);
        let Some(target) = target else { return Ok(()) };
        let image = &target.image.image;
        let p = place(image);
        if p.tile_mode & LINEAR != 0 {
            return Err(Error::Unsupported("depths row by row".into()));
        }
        self.using(&image.shared);
        let [high, low] = halves(p.address);
        let format = target.image.format.code();
        self.commands.methods(ThreeD, ZETA_ADDRESS_HIGH, &[high, low, format, p.tile_mode, p.layer_stride]);
        // No array of layers, of which a primitive chooses one.
        let plain = u32::from(image.layout().desc.dim == Dim::D2);
        self.commands.methods(ThreeD, ZETA_HORIZ, &[p.width, p.height, plain << 16 | p.layers]);
        self.commands.methods(ThreeD, ZETA_BASE_LAYER, &[p.first]);
        Ok(())
    }

    /// Clears what a pass wants cleared, in all layers.
    pub(super) fn clear_targets(&mut self, pass: &Pass, layers: u32) {
        let c = &mut self.commands;
        let mut clear = |value: u32, words: &[u32], what: ClearBuffers| {
            c.methods(ThreeD, value, words);
            for layer in 0..layers {
                c.methods(ThreeD, CLEAR_BUFFERS, &[what.with_layer(layer).into()]);
            }
        };
        if let Some(DepthTarget { clear_depth, clear_stencil, .. }) = &pass.depth {
            if let Some(depth) = clear_depth {
                clear(CLEAR_DEPTH, &[depth.to_bits()], ClearBuffers::new().with_depth(true));
            }
            if let Some(stencil) = clear_stencil {
                clear(CLEAR_STENCIL, &[u32::from(*stencil)], ClearBuffers::new().with_stencil(true));
            }
        }
        for (n, target) in (0..).zip(&pass.colors) {
            let words = match target.as_ref().and_then(|t| t.clear) {
                None => continue,
                Some(ClearColor::Float(c)) => c.map(f32::to_bits),
                Some(ClearColor::Bits(bits)) => bits,
            };
            clear(CLEAR_COLOR.at(0), &words, ClearBuffers::new().with_channels(15).with_target(n));
        }
    }
}

/// The mode of a number of samples.
pub(super) fn sample_mode(samples: u32) -> Result<Mode> {
    let mode = Mode::of(samples);
    if mode.samples == samples.max(1) { Ok(mode) } else { invalid(format!("{samples} samples of a pixel")) }
}
