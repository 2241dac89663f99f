//! The targets of a draw: colour targets and the depth buffer, with their state.

use super::raster::Rect;
use super::regs::{self, View};
use super::rop::color::ColorTarget;
use super::rop::depth_stencil::{DepthStencil, Depths};
use crate::Memory;
use crate::device::{Device, EngineResult};
use crate::frames::{Drawn, TargetFormat};
use crate::image::surface_format::zeta_values;
use crate::image::texels::Surface;
use nvir_hw::format::color::Color;
use nvir_hw::format::zeta::Zeta;
use nvir_isa::header::Header;
use nvir_simd::Processor;

/// A colour target with what is written to it.
pub(super) struct ColorOutput {
    /// The output of the program that goes to it.
    pub output: u32,
    pub rop: ColorTarget,
    target: regs::Target,
    bytes: u64,
}

/// The depth buffer with its tests.
struct ZetaOutput {
    target: regs::Target,
    format: Zeta,
    rop: DepthStencil,
}

/// All targets of a draw.
pub(super) struct Targets<'m> {
    memory: &'m Memory,
    pub colors: Vec<ColorOutput>,
    zeta: Option<ZetaOutput>,
    grid: (u32, u32),
    /// Pixels that all of them have.
    pub extent: Rect,
    /// Layers that all of them have.
    pub layers: u32,
}

/// One layer of all targets.
pub(super) struct Layer<'m> {
    number: u32,
    pub colors: Vec<Surface<'m>>,
    zeta: Option<Surface<'m>>,
}

/// A target as whoever looks on sees it.
pub(super) fn drawn(view: View<'_>, target: &regs::Target, format: TargetFormat) -> Drawn {
    let (words, base_layer) = (target.words, target.base_layer);
    Drawn { words, base_layer, format, grid: view.samples().grid, top: view.top() }
}

/// All targets that are bound.
pub(super) fn all_drawn(view: View<'_>) -> Vec<Drawn> {
    let colors = view.targets().filter_map(|(_, target)| {
        Some(drawn(view, &target, TargetFormat::Color(Color::from_code(target.format)?)))
    });
    let zeta = view.zeta();
    let format = Zeta::from_code(zeta.format).filter(|_| view.uses_zeta());
    colors.chain(format.map(|format| drawn(view, &zeta, TargetFormat::Zeta(format)))).collect()
}

/// Tells whoever wants to see what is drawn that something is drawn into all of them.
pub(super) fn note_all(device: &mut Device, view: View<'_>) {
    if let Some(frames) = &mut device.frames {
        all_drawn(view).into_iter().for_each(|target| frames.note(target));
    }
}

impl<'m> Targets<'m> {
    /// What the registers say.
    pub(super) fn new(view: View<'_>, memory: &'m Memory, header: &Header) -> EngineResult<Targets<'m>> {
        let grid = view.samples().grid;
        let mut targets =
            Targets { memory, colors: Vec::new(), zeta: None, grid, extent: Rect::ALL, layers: u32::MAX };
        for (n, target) in view.targets() {
            let color = Color::from_code(target.format)
                .ok_or_else(|| format!("colour target {n}: there is no format {:#x}", target.format))?;
            let rop = ColorTarget::new(&view.color(n, color)?);
            let bytes = u64::from(color.format.bytes());
            targets.narrow(&target, bytes);
            let output = if header.several_targets && view.has_several_outputs() { n } else { 0 };
            targets.colors.push(ColorOutput { output, rop, target, bytes });
        }
        let target = view.zeta();
        if view.uses_zeta() && target.format != 0 {
            let format = Zeta::from_code(target.format)
                .ok_or_else(|| format!("the depth buffer: there is no format {:#x}", target.format))?;
            targets.narrow(&target, format.bytes() as u64);
            let rop = DepthStencil::new(&view.depth_stencil()?, format);
            targets.zeta = Some(ZetaOutput { target, format, rop });
        }
        targets.layers = if targets.layers == u32::MAX { 1 } else { targets.layers };
        Ok(targets)
    }

    /// Takes a target's size into account.
    fn narrow(&mut self, target: &regs::Target, bytes: u64) {
        let words = &target.words;
        let width = if words.linear { u64::from(words.width) / bytes } else { words.width.into() };
        let size = Rect { x: [0, width as u32 >> self.grid.0], y: [0, words.height >> self.grid.1] };
        self.extent = self.extent.intersect(size);
        self.layers = self.layers.min(words.layers.max(1));
    }

    /// The format of the depth buffer.
    pub(super) fn zeta_format(&self) -> Option<Zeta> {
        self.zeta.as_ref().map(|z| z.format)
    }

    /// A layer of all targets, the one that is there already if it is that.
    pub(super) fn switch<'l>(
        &self,
        layer: &'l mut Option<Layer<'m>>,
        number: u32,
    ) -> EngineResult<&'l Layer<'m>> {
        if layer.as_ref().is_none_or(|l| l.number != number) {
            *layer = Some(self.layer(number)?);
        }
        layer.as_ref().ok_or_else(|| "a target without layers".into())
    }

    fn layer(&self, number: u32) -> EngineResult<Layer<'m>> {
        let surface = |what: &str, target: &regs::Target, bytes: u64| {
            let (address, level, z) = target.words.level(number.saturating_add(target.base_layer), bytes)?;
            let words = self.memory.words_from(address).unwrap_or(&[]);
            let surface = Surface::new(words, level, z, bytes as usize, self.grid);
            if !surface.fits() {
                return Err(format!("{what} at {address:#x} is not inside one buffer"));
            }
            Ok(surface)
        };
        let colors = self.colors.iter().map(|c| surface("the colour target", &c.target, c.bytes));
        let zeta =
            self.zeta.as_ref().map(|z| surface("the depth buffer", &z.target, z.format.bytes() as u64));
        Ok(Layer { number, colors: colors.collect::<EngineResult<_>>()?, zeta: zeta.transpose()? })
    }

    /// The samples of a quad that pass the tests of depth and stencil.
    pub(super) fn test<'d>(
        &self,
        layer: &Layer<'m>,
        cover: [u8; 4],
        front: bool,
        depths: impl FnOnce() -> Depths<'d>,
    ) -> [u8; 4] {
        match (&self.zeta, &layer.zeta) {
            (Some(zeta), Some(surface)) if !zeta.rop.does_nothing() => {
                zeta.rop.quad(surface, cover, front, &depths())
            }
            _ => cover,
        }
    }

    /// The pixels of quads of one shape that pass the tests of depth and stencil, if these can be tested at once: see
    /// [`DepthStencil::quads`].
    pub(super) fn test_quads(
        &self,
        processor: Processor,
        layer: &Layer<'m>,
        depths: &Depths<'_>,
        quads: &[[u16; 2]],
        covers: &mut [[u8; 4]],
    ) -> bool {
        match (&self.zeta, &layer.zeta) {
            (Some(zeta), Some(surface)) => zeta.rop.quads(processor, surface, depths, quads, covers),
            _ => false,
        }
    }

    /// Depth and stencil of the first sample of a pixel.
    pub(super) fn zeta_at(&self, layer: &Layer<'m>, [x, y]: [u32; 2]) -> Option<[u32; 4]> {
        let (zeta, surface) = (self.zeta.as_ref()?, layer.zeta.as_ref()?);
        let (depth, stencil) = zeta_values(zeta.format, surface.load(surface.sample(x, y, 0)));
        Some([depth.to_bits(), stencil.unwrap_or(0).into(), 0, 0])
    }

    /// Whether there is anything to test or to write of depth and stencil.
    pub(super) fn has_tests(&self) -> bool {
        self.zeta.as_ref().is_some_and(|z| !z.rop.does_nothing())
    }
}
