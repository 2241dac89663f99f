//! A driver for NVIDIA Fermi and Kepler, over [`Device`]: a card behind the nouveau kernel driver
//! ([`RenderNode`]), or nvir's virtual GPU in this process ([`VirtualDevice`]).
//!
//! It is small on purpose, and meant to be read: [`Context`] is a channel with its state, [`Buffer`] and [`Image`] are memory,
//! [`Kernel`] is compiled code, [`Launch`] says what a grid gets. Calls queue commands; what reads results back waits
//! for them.
//!
//! The way of data: [`Context::write`] puts small pieces into the command stream and copies large ones from memory that both
//! sides see; a launch names its buffers in a table in the driver's constant bank ([`nvir::driver::Abi`]); the engine
//! finishes one launch before the next command changes what it reads; [`Context::read`] copies to memory that both sides
//! see, submits, waits, and reads there.
//!
//! ```
//! use nvir::{Chip, Compiler, compiler::{Language, Source}};
//! use nvir_driver::{Context, Launch, VirtualDevice};
//!
//! let text = "COMP
//! PROPERTY CS_FIXED_BLOCK_WIDTH 32
//! DCL SV[0], THREAD_ID
//! DCL BUFFER[0]
//! DCL TEMP[0..1]
//! IMM[0] UINT32 {2, 0, 0, 0}
//!   0: SHL TEMP[0].x, SV[0].xxxx, IMM[0].xxxx
//!   1: LOAD TEMP[1].x, BUFFER[0], TEMP[0].xxxx
//!   2: UADD TEMP[1].x, TEMP[1].xxxx, TEMP[1].xxxx
//!   3: STORE BUFFER[0].x, TEMP[0].xxxx, TEMP[1].xxxx
//!   4: END
//! ";
//! let source = Source { language: Language::Tgsi, text, entry: None, name: "double.tgsi" };
//! let shader = Compiler::new(Chip::Gk104).compile(&source)?;
//!
//! let mut context = Context::new(VirtualDevice::new(Chip::Gk104))?;
//! let buffer = context.buffer(128)?;
//! context.write(&buffer.whole(), &(0..32u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>())?;
//! let kernel = context.kernel(&shader)?;
//! context.launch(&Launch { buffers: vec![(0, buffer.whole())], ..Launch::new(&kernel, [1, 1, 1], [32, 1, 1]) })?;
//! assert_eq!(context.read(&buffer.slice(4 * 31, 4))?, 62u32.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod code;
mod commands;
mod context;
mod device;
mod drm;
mod error;
pub mod graphics;
mod image;
mod launch;
mod memory;
mod query;
mod sampler;
mod setup;
mod tables;
mod transfer;
#[cfg(feature = "virtual")]
mod virtual_device;

pub use code::Kernel;
pub use context::Context;
pub use device::{Alloc, Device, Domain, Memory, Push};
pub use drm::{Found, RenderNode, devices};
pub use error::{Error, Result};
pub use graphics::{
    Bindings, Blend, BlendOp, ClearColor, ColorState, ColorTarget, Compare, Count, Counter, DepthFormat,
    DepthImage, DepthOffset, DepthStencil, DepthTarget, Draw, Equation, Face, Factor, Feedback, Fill,
    IndexFormat, Indices, Multisample, Pass, Pipeline, PipelineDesc, Program, Query, Raster, Rect, Render,
    StencilFace, StencilOp, Topology, VertexArray, VertexAttribute, VertexFormat, VertexType, Viewport,
};
pub use image::Image;
pub use launch::{Grid, Launch};
pub use memory::{Buffer, Slice};
pub use query::{Fence, Stamp};
#[cfg(feature = "virtual")]
pub use virtual_device::VirtualDevice;
