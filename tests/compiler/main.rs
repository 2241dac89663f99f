//! The compiler from IR to code: passes, lowering, values that code leaves, separate compilation,
//! whole warps, and what its tables write.

#[path = "../common/mod.rs"]
mod common;

mod arithmetic;
mod backend;
mod division;
mod editors;
mod flow;
mod image_formats;
mod ir_table;
mod library;
mod lines;
mod link;
mod mesa_library;
mod nested;
mod opt_ir;
mod opt_pipeline;
mod packing;
mod private_arrays;
mod saturation;
mod whole_warp;
