//! Batches: a stage of a draw is bound once ([`Bound`]), and takes any number of vertices, patches, primitives or quads of many
//! triangles at a time.
//!
//! Attributes lie by the slots that headers declare in flat buffers, one row of 32 words a slot and 32 vertices; a stage reads the
//! buffer of the one before it as it is, by address, and [`Defaults`] where that has no slot. Buffers and [`Results`] are cleared
//! and used again.
//!
//! ```
//! use nvir_base::{Chip, stage::Stage};
//! use nvir_emu::{self as emu, stage::batch::{AttributeBuffer, Bound, Defaults, Input, Results, Slots, State}};
//! use nvir_isa::{self as isa, header::Header};
//! let line = |text| isa::encode(Chip::Gf100, &isa::text::parse(Chip::Gf100, text, 0, &|_| None).unwrap(), 0).unwrap();
//! let code = ["ALD R0, a[0x80]", "FADD R0, R0, R0", "AST a[0x70], R0", "EXIT"].map(line);
//! let mut header = Header::new(Stage::Vertex);
//! header.set_read(0x80);
//! header.set_written(0x70);
//!
//! let (program, memory, defaults) = (emu::Program::new(Chip::Gf100, &code), emu::Memory::new(), Defaults::zero());
//! let launch = emu::Launch::new(&program);
//! let bound = Bound::new(&launch, &header, &memory, State { flat_shade: false, samples: 1, defaults: &defaults });
//!
//! let mut vertices = AttributeBuffer::new(Slots::inputs(&header).into());
//! for value in [1.5f32, 2.5] {
//!     let vertex = vertices.push() as usize;
//!     vertices.set(vertex, 0, value.to_bits());
//! }
//! let mut results = Results::new();
//! bound.run(&Input::Vertices(&vertices), &mut results, &mut emu::Options::default()).unwrap();
//! assert_eq!(results.vertices.len(), 2);
//! assert_eq!(results.vertices.lookup(1, 0x70), Some(5.0f32.to_bits()));
//! ```

mod attributes;
mod fragments;
mod input;
mod layout;
mod results;
mod run;

pub use attributes::{AttributeBuffer, Defaults, Slots};
pub use fragments::{Fragments, Linkage, Plane, Quad, Sides, Triangle, weights};
pub use input::{DomainPoint, Input, Primitives, State};
pub use results::{FragmentResults, Results, Stream};
pub use run::{Bound, Interface};

pub(super) use fragments::{Inputs, NONE};
pub(super) use layout::Layout;
