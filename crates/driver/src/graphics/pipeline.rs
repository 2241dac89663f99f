//! What a pipeline is made of: programs, how vertices are fetched, and the state of the fixed units around the programs.

use super::blend::Blend;
use crate::error::{Error, Result, invalid};
use crate::graphics::program::Program;
use nvir::stage::{Semantic, Stage};
use nvir_hw::format::vertex::{self, Format};
use nvir_hw::state::{Compare, Face, Fill, StencilOp, Topology};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An array that vertices are fetched from; which memory it is a draw says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct VertexArray {
    /// Bytes from element to element, at most 4095; 0: all vertices have the first.
    pub stride: u32,
    /// The element is that of the vertex; or so many instances in a row have the same.
    pub instances: Option<u32>,
}

/// An input of the vertex program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VertexAttribute {
    /// The input's number: TGSI's `IN[n]`, a location in the others.
    pub location: u32,
    /// Which of [`PipelineDesc::arrays`].
    pub array: u32,
    /// Bytes from the beginning of the element on, below 16384.
    pub offset: u32,
    /// How it lies there.
    pub format: Format,
}

/// An offset that is added to the depths of polygons: `slope` times the larger of their slopes and `units` times the smallest
/// difference of depths; never more than `clamp`, if that is not 0.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DepthOffset {
    /// Factor of the slope.
    pub slope: f32,
    /// Smallest differences.
    pub units: f32,
    /// The most; the least if it is negative.
    pub clamp: f32,
}

/// How primitives become fragments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Raster {
    /// Nothing is rasterised: transform feedback is all that comes out.
    pub discard: bool,
    /// Which faces are not drawn.
    pub cull: Option<Face>,
    /// Front faces are those whose corners are in clockwise order, as seen with the first row of the target on top.
    pub front_clockwise: bool,
    /// What polygons are drawn as.
    pub fill: Fill,
    /// Flat inputs come from the last vertex of a primitive; else from the first.
    pub last_vertex_provokes: bool,
    /// Colours without an interpolation of their own are flat.
    pub flat_colors: bool,
    /// Fragments outside the depth range have the depth at its end; else they are not drawn.
    pub clamp_depth: bool,
    /// Depths before the division are 0 to w; else -w to w, as in GL.
    pub depth_from_zero: bool,
    /// Of polygons.
    pub depth_offset: Option<DepthOffset>,
    /// Pixels.
    pub line_width: f32,
    /// Pixels, where the program writes no size.
    pub point_size: f32,
}

impl Default for Raster {
    fn default() -> Raster {
        Raster {
            discard: false,
            cull: None,
            front_clockwise: false,
            fill: Fill::Faces,
            last_vertex_provokes: false,
            flat_colors: false,
            clamp_depth: false,
            depth_from_zero: true,
            depth_offset: None,
            line_width: 1.0,
            point_size: 1.0,
        }
    }
}

/// The stencil test of a face.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StencilFace {
    /// Reference OP stored value, both under `read_mask`.
    pub compare: Compare,
    /// See `compare`.
    pub reference: u8,
    /// See `compare`.
    pub read_mask: u8,
    /// Bits that change.
    pub write_mask: u8,
    /// Where the stencil test fails.
    pub fail: StencilOp,
    /// Where it passes and the depth test fails.
    pub depth_fail: StencilOp,
    /// Where both pass.
    pub pass: StencilOp,
}

impl Default for StencilFace {
    fn default() -> StencilFace {
        StencilFace {
            compare: Compare::Always,
            reference: 0,
            read_mask: 0xff,
            write_mask: 0xff,
            fail: StencilOp::Keep,
            depth_fail: StencilOp::Keep,
            pass: StencilOp::Keep,
        }
    }
}

/// Tests of depth and stencil.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DepthStencil {
    /// Depth of the fragment OP stored depth; without it every depth passes, and none is written.
    pub depth: Option<Compare>,
    /// Passing depths are written.
    pub write_depth: bool,
    /// The range that the stored depth must be in.
    pub bounds: Option<[f32; 2]>,
    /// Front and back faces.
    pub stencil: Option<[StencilFace; 2]>,
}

/// What happens to one colour target.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ColorState {
    /// Without it the output replaces what is there.
    pub blend: Option<Blend>,
    /// Channels that are written: red, green, blue, alpha.
    pub write: [bool; 4],
}

impl Default for ColorState {
    fn default() -> ColorState {
        ColorState { blend: None, write: [true; 4] }
    }
}

/// What happens where targets have several samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multisample {
    /// The fragment program runs for each sample: what reads the number or position of its sample needs it.
    pub per_sample: bool,
    /// Alpha of the first output becomes coverage.
    pub alpha_to_coverage: bool,
    /// Then alpha is 1.
    pub alpha_to_one: bool,
    /// Samples that are drawn, one bit each.
    pub mask: u16,
}

impl Default for Multisample {
    fn default() -> Multisample {
        Multisample { per_sample: false, alpha_to_coverage: false, alpha_to_one: false, mask: 0xffff }
    }
}

/// A buffer of transform feedback: what the last stage before the rasteriser writes to it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Feedback {
    /// Vertex stream of a geometry program: 0 to 3.
    pub stream: u32,
    /// Bytes from vertex to vertex.
    pub stride: u32,
    /// Outputs and their component, 4 bytes each, at most 128; none: 4 bytes that stay.
    pub components: Vec<Option<(Semantic, u32)>>,
}

/// What [`Context::pipeline`](crate::Context::pipeline) makes a pipeline of.
#[derive(Clone, Debug)]
pub struct PipelineDesc {
    /// Programs, at most one of a stage, a vertex program in any case. Without a fragment program nothing is rasterised.
    pub programs: Vec<Program>,
    /// Arrays of vertices: at most 32.
    pub arrays: Vec<VertexArray>,
    /// Inputs of the vertex program: locations are below 32.
    pub attributes: Vec<VertexAttribute>,
    /// How vertices become primitives.
    pub topology: Topology,
    /// Vertices of a patch: 1 to 32.
    pub patch_vertices: u32,
    /// The index that begins a new strip.
    pub restart: Option<u32>,
    /// How primitives become fragments.
    pub raster: Raster,
    /// Tests of depth and stencil.
    pub depth_stencil: DepthStencil,
    /// By target; those that are left out have the default.
    pub colors: Vec<ColorState>,
    /// The constant of [`Factor::ConstantColor`](crate::Factor).
    pub blend_constant: [f32; 4],
    /// What happens where targets have several samples.
    pub multisample: Multisample,
    /// Buffers of transform feedback: at most 4.
    pub feedback: Vec<Feedback>,
    /// Outer and inner levels of tessellation, for pipelines with an evaluation program and no control program.
    pub levels: ([f32; 4], [f32; 2]),
}

impl Default for PipelineDesc {
    fn default() -> PipelineDesc {
        PipelineDesc {
            programs: Vec::new(),
            arrays: Vec::new(),
            attributes: Vec::new(),
            topology: Topology::Triangles,
            patch_vertices: 3,
            restart: None,
            raster: Raster::default(),
            depth_stencil: DepthStencil::default(),
            colors: Vec::new(),
            blend_constant: [0.0; 4],
            multisample: Multisample::default(),
            feedback: Vec::new(),
            levels: ([1.0; 4], [1.0; 2]),
        }
    }
}

/// Programs and state for draws. Clones are the same pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub(crate) desc: Arc<PipelineDesc>,
    pub(crate) id: u64,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Pipeline {
    /// What it was made of.
    pub fn desc(&self) -> &PipelineDesc {
        &self.desc
    }

    pub(crate) fn new(desc: PipelineDesc) -> Result<Pipeline> {
        desc.check()?;
        Ok(Pipeline { desc: Arc::new(desc), id: NEXT_ID.fetch_add(1, Ordering::Relaxed) })
    }

    pub(crate) fn program(&self, stage: Stage) -> Option<&Program> {
        self.desc.program(stage)
    }

    /// The last program before the rasteriser.
    pub(crate) fn last(&self) -> &Program {
        let last = [Stage::Geometry, Stage::TessEval, Stage::Vertex].into_iter();
        last.filter_map(|s| self.program(s)).next().unwrap_or(&self.desc.programs[0])
    }
}

/// Arrays and attributes of vertices, at most.
pub(crate) const MAX_ARRAYS: u32 = 32;
const MAX_STRIDE: u32 = 4095;
const MAX_OFFSET: u32 = (1 << 14) - 1;
/// Components of a buffer of transform feedback, at most.
const MAX_COMPONENTS: usize = 128;

impl PipelineDesc {
    pub(crate) fn program(&self, stage: Stage) -> Option<&Program> {
        self.programs.iter().find(|p| p.stage() == stage)
    }

    fn check(&self) -> Result<()> {
        for (n, p) in self.programs.iter().enumerate() {
            if self.programs[..n].iter().any(|q| q.stage() == p.stage()) {
                return invalid(format!("two programs for the {} stage", p.stage().name()));
            }
        }
        if self.program(Stage::Vertex).is_none() {
            return invalid("a pipeline without a vertex program".to_string());
        }
        let tessellates = self.program(Stage::TessEval).is_some();
        if self.program(Stage::TessControl).is_some() && !tessellates {
            return invalid("a tessellation control program without an evaluation program".to_string());
        }
        match self.topology {
            Topology::Patches if !(1..=32).contains(&self.patch_vertices) => {
                return invalid(format!("patches of {} vertices: 1 to 32 are possible", self.patch_vertices));
            }
            Topology::Patches if !tessellates => {
                return invalid("patches without a tessellation evaluation program".to_string());
            }
            Topology::Patches => {}
            other if tessellates => {
                return invalid(format!("tessellation programs take patches, not {other}"));
            }
            _ => {}
        }
        self.check_vertices()?;
        if self.colors.len() > 8 {
            return invalid(format!("{} colour targets: 8 are possible", self.colors.len()));
        }
        if self.feedback.len() > 4 {
            return invalid(format!("{} buffers of transform feedback: 4 are possible", self.feedback.len()));
        }
        for f in &self.feedback {
            let Feedback { stream, stride, components } = f;
            if *stream > 3 || components.len() > MAX_COMPONENTS || !stride.is_multiple_of(4) {
                return invalid(format!(
                    "transform feedback of {} components, stride {stride}, stream {stream}: \
                     128 components, strides that are multiples of 4, streams 0 to 3 are possible",
                    components.len()
                ));
            }
            if (*stride as usize) < 4 * components.len() {
                return invalid(format!("{} components do not fit into {stride} bytes", components.len()));
            }
            if let Some((semantic, c)) =
                components.iter().flatten().find(|(s, c)| s.address().is_none() || s.is_per_patch() || *c > 3)
            {
                return invalid(format!("transform feedback cannot write component {c} of {semantic:?}"));
            }
        }
        Ok(())
    }

    fn check_vertices(&self) -> Result<()> {
        if self.arrays.len() > MAX_ARRAYS as usize {
            return invalid(format!("{} arrays of vertices: {MAX_ARRAYS} are possible", self.arrays.len()));
        }
        if let Some(a) = self.arrays.iter().find(|a| a.stride > MAX_STRIDE || a.instances == Some(0)) {
            return invalid(format!(
                "{a:?}: strides are at most {MAX_STRIDE}, and an element is for 1 instance at least"
            ));
        }
        for (n, a) in self.attributes.iter().enumerate() {
            if a.location >= MAX_ARRAYS || a.offset > MAX_OFFSET || a.array as usize >= self.arrays.len() {
                return invalid(format!(
                    "attribute {} at {} of array {}: locations are below {MAX_ARRAYS}, offsets at most {MAX_OFFSET}, \
                     and there are {} arrays",
                    a.location,
                    a.offset,
                    a.array,
                    self.arrays.len()
                ));
            }
            if self.attributes[..n].iter().any(|b| b.location == a.location) {
                return invalid(format!("attribute {} is there twice", a.location));
            }
            if vertex::size(a.format.bits).is_none() {
                return Err(Error::Unsupported(format!(
                    "vertices have no components of {:?} bits",
                    a.format.bits
                )));
            }
        }
        Ok(())
    }
}
