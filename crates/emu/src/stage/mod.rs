//! Launches of graphics stages: vertices, patches, primitives and quads of pixels as threads of warps.
//!
//! Around the shader there are no fixed units: a [`Launch`] gives the inputs by their addresses, [`run`] executes the threads
//! as [`crate::run`] does those of a grid, and an [`Output`] holds what they wrote. An input that the header does not declare is a
//! fault. What draws uses [`batch`], on which this stands: many launches of a bound program, without a box for each vertex.
//!
//! Addresses, handles and registers are as [`nvir_base::stage`], [`nvir_isa::header`] and `docs/emulator.md` say.
//!
//! ```
//! use nvir_emu::stage::{Attributes, Launch, Output, Work, run};
//! use nvir_base::{Chip, stage::Stage};
//! use nvir_emu as emu;
//! use nvir_isa::{self as isa, header::Header};
//! let line = |text| isa::encode(Chip::Gf100, &isa::text::parse(Chip::Gf100, text, 0, &|_| None).unwrap(), 0).unwrap();
//! let code = ["ALD R0, a[0x80]", "FADD R0, R0, R0", "AST a[0x70], R0", "EXIT"].map(line);
//! let mut header = Header::new(Stage::Vertex);
//! header.set_read(0x80);
//! header.set_written(0x70);
//! let program = emu::Program::new(Chip::Gf100, &code);
//! let mut vertex = Attributes::new();
//! vertex.put(0x80, Some(1.5f32.to_bits()));
//! let work = Work::Vertices(vec![vertex]);
//! let launch = Launch::new(emu::Launch::new(&program), &header, &work);
//! let (output, _) = run(&launch, &mut emu::Memory::new(), &mut emu::Options::default()).unwrap();
//! let Output::Vertices(vertices) = output else { panic!() };
//! assert_eq!(vertices[0].get(0x70), Some(3.0f32.to_bits()));
//! ```

mod attributes;
pub mod batch;
mod context;
mod execute;
mod exit;
mod fragment;
mod io;
mod memory;
mod output;

pub use attributes::Attributes;
pub use output::{Emitted, Fragment, Output, PatchOutput};

pub(crate) use context::Context;
pub(crate) use execute::{execute, reads_registers};
pub(crate) use exit::exit;
pub(crate) use fragment::at_centres;
pub(crate) use io::Io;
pub(crate) use memory::{declares_memory, for_others, load, stores};

use crate::fault::Fault;
use crate::{Memory, Options, Stats};
use batch::{
    AttributeBuffer, Bound, Defaults, DomainPoint, Fragments, Input, Linkage, Plane, Primitives, Sides, Slots,
};
use nvir_base::stage::{ATTRIBUTE_BYTES, attribute};
use nvir_isa::header::Header;
use std::sync::Arc;

/// Threads of one stage, with what they get.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// Code, registers, local memory, constant banks, textures. Grid, block and shared memory are not looked at.
    pub base: crate::Launch<'a>,
    /// What the shader declares.
    pub header: &'a Header,
    /// The threads' inputs.
    pub work: &'a Work,
    /// State of the rasteriser, for fragments.
    pub raster: Raster,
}

impl<'a> Launch<'a> {
    /// A launch with the usual state of the rasteriser.
    pub fn new(base: crate::Launch<'a>, header: &'a Header, work: &'a Work) -> Launch<'a> {
        Launch { base, header, work, raster: Raster::default() }
    }

    /// Whether the launch is one, whatever the program does: [`run`] of another is a fault.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        let (memory, defaults) = (Memory::new(), Defaults::undefined());
        let batch = Batch::new(self.work, self.header)?;
        let bound = Bound::new(&self.base, self.header, &memory, self.raster.state(&defaults));
        batch.with(|input| bound.context(input).map(drop))
    }
}

/// State of the rasteriser that a shader can see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raster {
    /// `IPA.SC` gives the value of one vertex.
    pub flat_shade: bool,
    /// Samples of a pixel: 1, 2, 4 or 8.
    pub samples: u32,
}

impl Default for Raster {
    fn default() -> Raster {
        Raster { flat_shade: false, samples: 1 }
    }
}

/// What the threads of a launch work on. All addresses are bytes.
#[derive(Clone, Debug)]
pub enum Work {
    /// Vertex: the inputs of each vertex. Numbers of vertex and instance lie at 0x2fc and 0x2f8.
    Vertices(Vec<Attributes>),
    /// Tessellation control: a thread for each vertex that the header says a patch has.
    Patches(Vec<Primitive>),
    /// Tessellation evaluation.
    Points {
        /// The patches, with what their control shader wrote.
        patches: Vec<Primitive>,
        /// What the tessellator made of them.
        points: Vec<Point>,
    },
    /// Geometry: as many threads a primitive as the header says.
    Primitives(Vec<Primitive>),
    /// Fragment: four threads a quad.
    Quads {
        /// What the pixels are of.
        triangle: Box<Triangle>,
        /// Pixels in groups of four.
        quads: Vec<Quad>,
    },
}

impl Work {
    /// Whether the threads can work on it.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Work::Quads { triangle, .. } => triangle.weights().map(drop),
            Work::Points { patches, points } => match points.iter().position(|p| p.patch >= patches.len()) {
                None => Ok(()),
                Some(n) => {
                    let (patch, last) = (points[n].patch, patches.len().wrapping_sub(1));
                    Err(format!("point {n} is of patch {patch}: index out of range (0 to {last})"))
                }
            },
            _ => Ok(()),
        }
    }
}

/// A primitive or patch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Primitive {
    /// The attributes of its vertices.
    pub vertices: Vec<Attributes>,
    /// The attributes of the patch as a whole.
    pub patch: Attributes,
    /// Its number.
    pub id: u32,
}

/// A vertex that the tessellator made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// The number of its patch.
    pub patch: usize,
    /// Where in the patch it lies.
    pub at: [f32; 2],
}

/// A triangle in the window.
#[derive(Clone, PartialEq, Debug)]
pub struct Triangle {
    /// x, y, z and 1/w of its corners; pixels have size 1.
    pub window: [[f64; 4]; 3],
    /// Its front faces the viewer.
    pub front: bool,
    /// The vertex that flat inputs are taken from, 0 to 2.
    pub flat_vertex: usize,
    /// Its number.
    pub id: u32,
    /// The inputs at its corners, as the stage before wrote them (not divided by w).
    pub varyings: [Attributes; 3],
}

/// Four pixels: (x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quad {
    /// Of the first pixel; even numbers.
    pub at: [u32; 2],
    /// Samples that the triangle covers, a mask for each pixel; a pixel without any runs for its neighbours only.
    pub cover: [u32; 4],
    /// The sample that the shader runs for, if it runs once a sample.
    pub sample: Option<u32>,
}

impl Triangle {
    /// The weights of corners 1 and 2.
    fn weights(&self) -> Result<[Plane; 2], String> {
        let weights =
            batch::weights(self.window.map(|[x, y, ..]| [x, y])).ok_or("the triangle has no area")?;
        if self.flat_vertex > 2 {
            return Err(format!("flat inputs are of vertex {}: 0 to 2", self.flat_vertex));
        }
        Ok(weights)
    }
}

impl Raster {
    fn state<'a>(&self, defaults: &'a Defaults) -> batch::State<'a> {
        batch::State { flat_shade: self.flat_shade, samples: self.samples, defaults }
    }
}

/// Work as a batch has it.
enum Batch {
    Vertices(AttributeBuffer),
    Patches(PrimitiveList),
    Points { patches: PrimitiveList, attributes: AttributeBuffer, points: Vec<DomainPoint> },
    Primitives(PrimitiveList),
    Quads(Fragments),
}

struct PrimitiveList {
    vertices: AttributeBuffer,
    size: u32,
    indices: Vec<u32>,
    ids: Vec<u32>,
}

impl PrimitiveList {
    fn new(all: &[Primitive], slots: Slots) -> PrimitiveList {
        let size = all.iter().map(|p| p.vertices.len()).max().unwrap_or(0);
        let mut indices = Vec::with_capacity(size * all.len());
        for p in all {
            let first = indices.len() as u32;
            let index = |n: usize| if n < p.vertices.len() { first + n as u32 } else { Primitives::ABSENT };
            indices.extend((0..size).map(index));
        }
        let none = Attributes::new();
        let each = all.iter().flat_map(|p| p.vertices.iter().chain(std::iter::repeat(&none)).take(size));
        PrimitiveList {
            vertices: gathered(slots, each),
            size: size as u32,
            indices,
            ids: all.iter().map(|p| p.id).collect(),
        }
    }

    fn input<'a>(&'a self, patches: Option<&'a AttributeBuffer>) -> Primitives<'a> {
        let PrimitiveList { vertices, size, indices, ids } = self;
        Primitives { vertices, size: *size, indices, ids, patches }
    }
}

/// The attributes of vertices in one buffer.
fn gathered<'a>(slots: Slots, all: impl IntoIterator<Item = &'a Attributes>) -> AttributeBuffer {
    let slots = Arc::new(slots);
    let mut buffer = AttributeBuffer::new(slots.clone());
    for from in all {
        let vertex = buffer.push() as usize;
        for (slot, address) in slots.addresses().enumerate() {
            if let Some(word) = from.get(address) {
                buffer.set(vertex, slot, word);
            }
        }
    }
    buffer
}

impl Batch {
    fn new(work: &Work, header: &Header) -> Result<Batch, String> {
        work.check()?;
        let slots = || Slots::inputs(header);
        Ok(match work {
            Work::Vertices(all) => Batch::Vertices(gathered(slots(), all)),
            Work::Patches(all) => Batch::Patches(PrimitiveList::new(all, slots())),
            Work::Primitives(all) => Batch::Primitives(PrimitiveList::new(all, slots())),
            Work::Points { patches, points } => Batch::Points {
                attributes: gathered(
                    Slots::new((0..ATTRIBUTE_BYTES).step_by(4)),
                    patches.iter().map(|p| &p.patch),
                ),
                patches: PrimitiveList::new(patches, slots()),
                points: points.iter().map(|p| DomainPoint { patch: p.patch as u32, at: p.at }).collect(),
            },
            Work::Quads { triangle: t, quads } => {
                let vertices = gathered(slots(), &t.varyings);
                let link = Linkage::new(header, vertices.slots(), &Defaults::undefined(), Sides::One);
                let mut fragments = Fragments::new();
                let weights = t.weights()?;
                let constant = |address| t.varyings[t.flat_vertex].get(address).unwrap_or(0);
                let triangle = fragments.triangle(
                    &link,
                    &vertices,
                    &batch::Triangle {
                        corners: [0, 1, 2],
                        flat: t.flat_vertex as u32,
                        weights,
                        depth: Plane::through(t.window.map(|w| w[2]), &weights),
                        inverse_w: t.window.map(|w| w[3]),
                        front: t.front,
                        id: t.id,
                        layer: constant(attribute::LAYER),
                        viewport: constant(attribute::VIEWPORT_INDEX),
                    },
                );
                for q in quads {
                    let sample = q.sample.map(|s| s as u8);
                    fragments.quad(batch::Quad {
                        sample,
                        ..batch::Quad::new(triangle, q.at, q.cover.map(|c| c as u8))
                    });
                }
                Batch::Quads(fragments)
            }
        })
    }

    fn with<T>(&self, use_it: impl FnOnce(&Input<'_>) -> T) -> T {
        match self {
            Batch::Vertices(all) => use_it(&Input::Vertices(all)),
            Batch::Patches(all) => use_it(&Input::Patches(all.input(None))),
            Batch::Points { patches, attributes, points } => {
                use_it(&Input::Points { patches: patches.input(Some(attributes)), points })
            }
            Batch::Primitives(all) => use_it(&Input::Primitives(all.input(None))),
            Batch::Quads(fragments) => use_it(&Input::Quads(fragments)),
        }
    }
}

/// Executes a launch.
///
/// # Errors
/// As [`crate::run`]; besides: inputs that the header does not declare, vertices that a primitive does not have, emission beyond
/// the maximum, a handle that is not the last one.
pub fn run(
    launch: &Launch<'_>,
    memory: &mut Memory,
    options: &mut Options<'_>,
) -> Result<(Output, Stats), Box<Fault>> {
    let defaults = Defaults::undefined();
    let bound = Bound::new(&launch.base, launch.header, memory, launch.raster.state(&defaults));
    let batch = Batch::new(launch.work, launch.header).map_err(|why| bound.refuse(why))?;
    let mut results = batch::Results::new();
    let stats = batch.with(|input| bound.run(input, &mut results, options))?;
    Ok((Output::new(launch.work, launch.header, &results), stats))
}
