//! Render passes: targets, and where in them is drawn.

use super::target::{self, ColorTarget, DepthTarget, Extent};
use crate::commands::Subchannel::ThreeD;
use crate::context::Context;
use crate::error::{Result, invalid};
use nvir_hw::method::shader::{MEM_BARRIER, SERIALIZE};
use nvir_hw::method::three_d::*;
use nvir_hw::word::memory_barrier;

/// Targets of draws. All have as many samples; the smallest size is what is drawn to.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    /// By the number of the program's output: at most 8.
    pub colors: Vec<Option<ColorTarget>>,
    /// The depth buffer.
    pub depth: Option<DepthTarget>,
    /// Width and height where there are no targets: programs may write buffers and images.
    pub size: Option<[u32; 2]>,
}

/// A rectangle of pixels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rect {
    /// The first column and row.
    pub at: [u32; 2],
    /// Columns and rows.
    pub size: [u32; 2],
}

/// Where the unit square of the clip space comes to lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Viewport {
    /// Pixels, column and row of x and y -1.
    pub at: [f32; 2],
    /// Pixels; a negative height turns the picture upside down.
    pub size: [f32; 2],
    /// Depths at the near and far end.
    pub depth: [f32; 2],
    /// Only pixels in it are drawn.
    pub scissor: Option<Rect>,
}

impl Viewport {
    /// All of a target.
    pub fn whole([width, height]: [u32; 2]) -> Viewport {
        Viewport { at: [0.0; 2], size: [width as f32, height as f32], depth: [0.0, 1.0], scissor: None }
    }
}

/// Viewports, at most.
pub(super) const MAX_VIEWPORTS: usize = 16;
/// A pass that has begun: draws are queued with it. It ends when it is dropped.
#[derive(Debug)]
pub struct Render<'a> {
    pub(super) context: &'a mut Context,
    pub(super) extent: Extent,
    /// Viewports of the draws that follow, and whether the hardware does not know them yet.
    pub(super) viewports: Vec<Viewport>,
    pub(super) moved: bool,
}

impl Context {
    /// Begins a pass: binds targets, and clears those that are to be cleared.
    ///
    /// # Errors
    /// Targets that do not fit together or that no card draws to, no memory, or the context is lost.
    pub fn render(&mut self, pass: &Pass) -> Result<Render<'_>> {
        self.alive()?;
        if pass.colors.len() > 8 {
            return invalid(format!("{} colour targets: 8 are possible", pass.colors.len()));
        }
        let images = pass.colors.iter().flatten().map(|t| &t.image);
        let images = images.chain(pass.depth.iter().map(|d| d.image.texels()));
        let extents = images.map(target::extent).collect::<Result<Vec<_>>>()?;
        let extent = match (extents.split_first(), pass.size) {
            (None, None) => return invalid("a pass without targets needs a size".to_string()),
            (None, Some(size)) => Extent { size, layers: 1, samples: 1 },
            (Some((first, rest)), _) => rest.iter().try_fold(*first, |a, b| {
                if a.samples != b.samples {
                    return invalid(format!("targets of {} and {} samples", a.samples, b.samples));
                }
                let size = [0, 1].map(|i| a.size[i].min(b.size[i]));
                Ok(Extent { size, layers: a.layers.min(b.layers), samples: a.samples })
            })?,
        };
        let mode = target::sample_mode(extent.samples)?;
        self.graphics()?.bound = None;
        let c = &mut self.commands;
        // What copies and launches wrote is there, and what programs had cached of it is forgotten.
        c.methods(ThreeD, SERIALIZE, &[0]);
        c.methods(ThreeD, MEM_BARRIER, &[memory_barrier::DATA]);
        c.methods(ThreeD, VERTEX_ARRAY_FLUSH, &[0]);
        c.methods(ThreeD, SCREEN_SCISSOR_HORIZ, &extent.size.map(|s| s << 16));
        for (n, target) in (0..).zip(&pass.colors) {
            self.bind_color(n, target.as_ref())?;
        }
        self.bind_depth(pass.depth.as_ref())?;
        let count = if extents.is_empty() {
            self.bind_color(0, None)?;
            1
        } else {
            pass.colors.len() as u32
        };
        // Output n goes to target n.
        self.commands.methods(ThreeD, RT_CONTROL, &[0o7654_3210 << 4 | count]);
        self.commands.methods(ThreeD, MULTISAMPLE_MODE, &[mode.code]);
        self.commands.methods(ThreeD, MULTISAMPLE_ENABLE, &[u32::from(extent.samples > 1)]);
        self.clear_targets(pass, extent.layers);
        let mut render = Render { context: self, extent, viewports: Vec::new(), moved: true };
        render.viewports(&[])?;
        render.context.queued()?;
        Ok(render)
    }
}

impl Render<'_> {
    /// Width and height that are drawn to.
    pub fn size(&self) -> [u32; 2] {
        self.extent.size
    }

    /// Sets viewports for the draws that follow, 16 at most; none: one for the whole target. Primitives that name none
    /// are in the first.
    ///
    /// # Errors
    /// There are more, or one is no rectangle of numbers.
    pub fn viewports(&mut self, viewports: &[Viewport]) -> Result<()> {
        if viewports.len() > MAX_VIEWPORTS {
            return invalid(format!("{} viewports: {MAX_VIEWPORTS} are possible", viewports.len()));
        }
        if let Some(v) =
            viewports.iter().find(|v| [v.at, v.size, v.depth].iter().flatten().any(|x| !x.is_finite()))
        {
            return invalid(format!("{v:?} is not finite"));
        }
        self.viewports = viewports.to_vec();
        if viewports.is_empty() {
            self.viewports.push(Viewport::whole(self.extent.size));
        }
        self.moved = true;
        Ok(())
    }
}

impl Drop for Render<'_> {
    fn drop(&mut self) {
        // What comes next sees what was drawn.
        self.context.commands.methods(ThreeD, SERIALIZE, &[0]);
    }
}
