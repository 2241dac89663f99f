//! The 3D engine: fixed-function units around the shader stages.
//!
//! In the order of a draw: [`assemble`] makes primitives of vertices, [`tessellator`] points of patches, [`feedback`] writes
//! primitives to buffers, [`clip`] and [`raster`] turn them into quads of pixels with their coverage, [`rop`] tests
//! fragments and writes them. No unit knows registers or memory: state comes as typed structs, bytes as slices.

#![expect(dead_code, reason = "the pipeline that calls the units is being built beside them")]

pub(crate) mod assemble;
pub(crate) mod clip;
pub(crate) mod feedback;
pub(crate) mod raster;
pub(crate) mod rop;
pub(crate) mod tessellator;
