//! Drawing: render passes over targets, pipelines of programs and state, draws, queries.
//!
//! [`Context::render`] binds targets and clears them; [`Render::draw`] queues draws; the pass ends when it is dropped, and
//! what comes then sees what was drawn. A [`Pipeline`] is programs and state that do not change from draw to draw; a [`Draw`]
//! names memory. Conventions are those of Vulkan and WebGPU: the first row of a target is at the top, depths are from 0 to 1.
//! Both can be had otherwise ([`Raster::depth_from_zero`], a viewport of negative height).

mod bind;
mod blend;
mod draw;
mod pass;
mod pipeline;
mod program;
mod query;
mod setup;
mod state;
mod target;

pub use bind::Bindings;
pub use blend::{Blend, Equation};
pub use draw::{Count, Draw, IndexFormat, Indices};
pub use nvir_hw::format::vertex::{Format as VertexFormat, Type as VertexType};
pub use nvir_hw::format::zeta::Zeta as DepthFormat;
pub use nvir_hw::state::{BlendOp, Compare, Face, Factor, Fill, StencilOp, Topology};
pub use pass::{Pass, Rect, Render, Viewport};
pub use pipeline::{
    ColorState, DepthOffset, DepthStencil, Feedback, Multisample, Pipeline, PipelineDesc, Raster,
    StencilFace, VertexArray, VertexAttribute,
};
pub use program::Program;
pub use query::{Counter, Query};
pub use target::{ClearColor, ColorTarget, DepthImage, DepthTarget};

use crate::context::{BANK_BYTES, Context};
use crate::device::{Alloc, Device, Domain, Memory};
use crate::error::Result;
use crate::memory::Shared;
use nvir::driver::Abi;
use nvir::stage::Stage;
use std::sync::Arc;

/// The stages of a draw.
pub(crate) const STAGES: usize = 5;

/// The number of a stage's bindings: 0 is the vertex stage.
pub(crate) fn binding(stage: Stage) -> Option<u32> {
    Some(match stage {
        Stage::Compute => return None,
        Stage::Vertex => 0,
        Stage::TessControl => 1,
        Stage::TessEval => 2,
        Stage::Geometry => 3,
        Stage::Fragment => 4,
    })
}

/// What drawing needs besides: memory for constants of the stages, and what the class was told last.
#[derive(Debug)]
pub(crate) struct Graphics {
    shared: Arc<Shared>,
    abi: Abi,
    /// The driver's own bank of each stage, as it is.
    aux: [Vec<u8>; STAGES],
    /// The pipeline that was drawn with last, and the generation of the code then.
    bound: Option<(u64, u32)>,
    /// Arrays that are enabled.
    arrays: u32,
}

/// Bytes of a stage's constants: its uniforms, then the driver's own bank.
const STAGE_BYTES: u64 = 2 * BANK_BYTES;
const ZEROS: u64 = STAGES as u64 * STAGE_BYTES;
/// Mesa's size of the memory for vertices in flight (`nvc0_screen.c`: `poly_cache`), and its alignment.
const QUARANTINE: u64 = 1 << 20;
const QUARANTINE_BYTES: u64 = 1 << 20;

impl Graphics {
    fn new(device: &Arc<dyn Device>) -> Result<Graphics> {
        let what = Alloc { align: 1 << 17, ..Alloc::linear(QUARANTINE + QUARANTINE_BYTES, Domain::Vram) };
        Ok(Graphics {
            shared: Shared::new(device.clone(), device.alloc(what)?),
            abi: Abi::nvc0_graphics(device.chip()),
            aux: Default::default(),
            bound: None,
            arrays: 0,
        })
    }

    pub(crate) fn memory(&self) -> Memory {
        self.shared.memory
    }

    /// Memory that stays zero.
    fn zeros(&self) -> u64 {
        self.memory().address + ZEROS
    }

    fn quarantine(&self) -> u64 {
        self.memory().address + QUARANTINE
    }

    /// Where a stage's uniforms lie that a draw brings with it.
    fn uniforms(&self, binding: u32) -> u64 {
        self.memory().address + u64::from(binding) * STAGE_BYTES
    }

    /// Where the driver's bank of a stage lies.
    fn driver_bank(&self, binding: u32) -> u64 {
        self.uniforms(binding) + BANK_BYTES
    }
}

impl Context {
    /// A pipeline.
    ///
    /// # Errors
    /// What it is made of does not fit together, or no card has it.
    pub fn pipeline(&mut self, desc: PipelineDesc) -> Result<Pipeline> {
        self.alive()?;
        self.check_together(desc.programs.iter().map(|p| p.shader.code_bytes()))?;
        Pipeline::new(desc)
    }
}
