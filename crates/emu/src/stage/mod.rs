//! Launches of graphics stages: vertices, patches, primitives and quads of pixels as threads of warps.
//!
//! Around the shader there are no fixed units: a [`Launch`] gives the inputs by their addresses, [`run`] executes the threads
//! as [`super::run`] does those of a grid, and an [`Output`] holds what they wrote. What the header does not declare is a fault.
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
mod execute;
mod fragment;
mod memory;
mod op;
mod output;

pub use attributes::Attributes;
use nvir_hw::special;
pub use output::{Emitted, Fragment, Output, PatchOutput};

pub(super) use execute::{execute, reads_registers};
pub(super) use memory::{declares_memory, for_others, load, stores};
pub(super) use op::{At, IpaMode, IpaSample, Op, PixelInfo};
pub(super) use output::Io;

use super::fault::{Fault, FaultKind, Place};
use super::lanes::{LANES, Mask};
use super::{Memory, Options, Stats};
use nvir_base::stage::Stage;
use nvir_isa::header::Header;

/// Threads of one stage, with what they get.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// Code, registers, local memory, constant banks, textures. Grid, block and shared memory are not looked at.
    pub base: super::Launch<'a>,
    /// What the shader declares.
    pub header: &'a Header,
    /// The threads' inputs.
    pub work: &'a Work,
    /// State of the rasteriser, for fragments.
    pub raster: Raster,
}

impl<'a> Launch<'a> {
    /// A launch with the usual state of the rasteriser.
    pub fn new(base: super::Launch<'a>, header: &'a Header, work: &'a Work) -> Launch<'a> {
        Launch { base, header, work, raster: Raster::default() }
    }

    /// Whether the launch is one, whatever the program does: [`run`] of another is a fault.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        Context::new(self).map(drop)
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
            Work::Quads { triangle, .. } => fragment::Planes::new(triangle).map(drop),
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

/// Where inputs begin in the physical addresses that AL2P gives, and outputs. The hardware's are not known; these are unlike any
/// logical address.
const PHYSICAL_INPUTS: u32 = 0x2000;
const PHYSICAL_OUTPUTS: u32 = 0x6000;

/// The handle of a primitive's vertex 0; the others follow.
const FIRST_VERTEX: u32 = 0x1000;

/// Which thread a lane of a warp is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Thread {
    /// The number of its vertex, patch, point, primitive or quad.
    item: u32,
    /// Its number among those of the item.
    invocation: u32,
}

/// A launch while it runs, as all warps see it.
pub(super) struct Context<'a> {
    stage: Stage,
    pub header: &'a Header,
    work: &'a Work,
    raster: Raster,
    /// Threads of an item: consecutive lanes of one warp.
    group: u32,
    /// Items of a warp.
    groups: u32,
    items: u32,
    planes: Option<fragment::Planes<'a>>,
}

impl<'a> Context<'a> {
    fn new(launch: &Launch<'a>) -> Result<Context<'a>, String> {
        let header = launch.header;
        let threads = u32::from(header.threads);
        let (stage, items, group) = match launch.work {
            Work::Vertices(v) => (Stage::Vertex, v.len(), 1),
            Work::Patches(p) => (Stage::TessControl, p.len(), threads),
            Work::Points { points, .. } => (Stage::TessEval, points.len(), 1),
            Work::Primitives(p) => (Stage::Geometry, p.len(), threads),
            Work::Quads { quads, .. } => (Stage::Fragment, quads.len(), 4),
        };
        if stage != header.stage() {
            return Err(format!(
                "the header is of a {} shader, the work is for a {stage} shader",
                header.stage()
            ));
        }
        if !(1..=LANES as u32).contains(&group) {
            return Err(format!("the header asks for {group} threads an item: 1 to {LANES}"));
        }
        let items = u32::try_from(items).map_err(|_| "more than 2^32 items".to_string())?;
        if !matches!(launch.raster.samples, 1 | 2 | 4 | 8) {
            return Err(format!("{} samples: 1, 2, 4 or 8", launch.raster.samples));
        }
        launch.work.check()?;
        let planes = match launch.work {
            Work::Quads { triangle, .. } => Some(fragment::Planes::new(triangle)?),
            _ => None,
        };
        let Launch { header, work, raster, .. } = *launch;
        Ok(Context { stage, header, work, raster, group, groups: LANES as u32 / group, items, planes })
    }

    fn warps(&self) -> u32 {
        self.items.div_ceil(self.groups)
    }

    /// The thread in a lane, if there is one.
    fn thread(&self, warp: u64, lane: usize) -> Option<Thread> {
        let group = lane as u32 / self.group;
        let item = warp * u64::from(self.groups) + u64::from(group);
        let there = group < self.groups && item < self.items.into();
        there.then_some(Thread { item: item as u32, invocation: lane as u32 % self.group })
    }

    /// The lanes of a warp that have threads.
    pub(crate) fn live(&self, warp: u64) -> Mask {
        (0..LANES).filter(|&l| self.thread(warp, l).is_some()).fold(0, |m, l| m | 1 << l)
    }

    /// The lanes of a warp that run for the sake of others only, from the start.
    pub(crate) fn helpers(&self, warp: u64) -> Mask {
        let Work::Quads { quads, .. } = self.work else { return 0 };
        let helps = |l: &usize| {
            self.thread(warp, *l).is_some_and(|t| quads[t.item as usize].cover[t.invocation as usize] == 0)
        };
        (0..LANES).filter(helps).fold(0, |m, l| m | 1 << l)
    }

    /// What a thread works on, for reports.
    pub(crate) fn who(&self, warp: u64, lane: usize) -> String {
        let Some(Thread { item, invocation }) = self.thread(warp, lane) else {
            return "no thread".to_string();
        };
        match self.work {
            Work::Vertices(_) => format!("vertex {item}"),
            Work::Patches(_) => format!("patch {item}, invocation {invocation}"),
            Work::Points { points, .. } => format!("point {item} of patch {}", points[item as usize].patch),
            Work::Primitives(_) => format!("primitive {item}, invocation {invocation}"),
            Work::Quads { quads, .. } => {
                let [x, y] = quads[item as usize].at;
                format!("pixel ({}, {})", x + (invocation & 1), y + (invocation >> 1))
            }
        }
    }

    /// The primitive of a thread, where the stage has primitives.
    fn primitive(&self, thread: Thread) -> Option<&'a Primitive> {
        match self.work {
            Work::Patches(all) | Work::Primitives(all) => all.get(thread.item as usize),
            Work::Points { patches, points } => patches.get(points.get(thread.item as usize)?.patch),
            Work::Vertices(_) | Work::Quads { .. } => None,
        }
    }

    /// A special register that graphics stages have. Source: envytools and Mesa 22.3.6, nv50_ir_target_nvc0.cpp.
    pub(crate) fn special_register(&self, warp: u64, ghosts: Mask, reg: u8, lane: usize) -> Option<u32> {
        let thread = self.thread(warp, lane).unwrap_or_default();
        Some(match reg {
            special::PRIM_TYPE => (self.primitive(thread).map_or(0, |p| p.vertices.len()) as u32 & 0xff) << 8,
            special::INVOCATION_ID => thread.invocation,
            special::Y_DIRECTION => 1f32.to_bits(),
            special::THREAD_KILL => 0u32.wrapping_sub(ghosts >> lane & 1),
            _ => return None,
        })
    }

    /// Whether implicit derivatives are those of quads of pixels.
    pub(crate) fn has_quads(&self) -> bool {
        self.stage == Stage::Fragment
    }
}

/// Executes a launch.
///
/// # Errors
/// As [`super::run`]; besides: what the header does not declare, vertices that a primitive does not have, emission beyond the
/// maximum, a handle that is not the last one.
pub fn run(
    launch: &Launch<'_>,
    memory: &mut Memory,
    options: &mut Options<'_>,
) -> Result<(Output, Stats), Box<Fault>> {
    let refuse = |detail: String| {
        Box::new(Fault {
            kind: FaultKind::IllegalInstruction,
            kernel: launch.base.kernel.clone(),
            place: Place::default(),
            detail,
            other: None,
        })
    };
    let context = Context::new(launch).map_err(refuse)?;
    let mut base = launch.base.clone();
    base.grid = [context.warps(), 1, 1];
    base.block = [LANES as u32, 1, 1];
    base.shared_bytes = 0;
    let (stats, warps) = super::grid::run_stage(&base, &context, memory, options)?;
    Ok((output::collect(&context, warps), stats))
}
