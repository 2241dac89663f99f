//! What the threads of a stage leave behind.

use super::attributes::Attributes;
use super::batch::{AttributeBuffer, FragmentResults, Results};
use super::{Quad, Work};
use nvir_isa::header::Header;

/// What a launch wrote, by thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// Vertex and tessellation evaluation: the outputs of each vertex or point.
    Vertices(Vec<Attributes>),
    /// Tessellation control: a patch each.
    Patches(Vec<PatchOutput>),
    /// Geometry: what came out on each stream, over primitives, within one over invocations.
    Streams([Vec<Emitted>; 4]),
    /// Fragment: the pixels of each quad.
    Fragments(Vec<[Fragment; 4]>),
}

/// What the threads of a patch wrote.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PatchOutput {
    /// The output vertices.
    pub vertices: Vec<Attributes>,
    /// The attributes of the patch.
    pub patch: Attributes,
}

/// What comes out of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Emitted {
    /// A vertex.
    Vertex(Attributes),
    /// A strip ends.
    Cut,
}

/// What a pixel's thread left. Values that nothing has written are absent where `initcheck` is on, else anything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fragment {
    /// Some sample of it is covered.
    pub covered: bool,
    /// It was discarded.
    pub killed: bool,
    /// Components of the colour targets that the header declares.
    pub colors: [[Option<u32>; 4]; 8],
    /// Depth, if the header declares it.
    pub depth: Option<u32>,
    /// Sample mask, if the header declares it.
    pub sample_mask: Option<u32>,
}

/// A vertex or patch of a buffer.
fn attributes(from: &AttributeBuffer, row: usize) -> Attributes {
    let mut out = Attributes::new();
    from.slots().addresses().for_each(|a| out.put(a, from.lookup(row, a)));
    out
}

impl Output {
    /// What a batch left, thread by thread.
    pub(super) fn new(work: &Work, header: &Header, from: &Results) -> Output {
        let vertex = |row: usize| attributes(&from.vertices, row);
        match work {
            Work::Vertices(_) | Work::Points { .. } => {
                Output::Vertices((0..from.vertices.len()).map(vertex).collect())
            }
            Work::Patches(_) => {
                let threads = usize::from(header.threads);
                let patch = |n: usize| PatchOutput {
                    vertices: (n * threads..(n + 1) * threads).map(vertex).collect(),
                    patch: attributes(&from.patches, n),
                };
                Output::Patches((0..from.patches.len()).map(patch).collect())
            }
            Work::Primitives(_) => Output::Streams(from.streams.each_ref().map(|stream| {
                let mut ends = stream.strips.iter().peekable();
                let mut all = Vec::new();
                for row in 0..stream.vertices.len() {
                    all.push(Emitted::Vertex(attributes(&stream.vertices, row)));
                    if ends.next_if(|&&end| end as usize == row + 1).is_some() {
                        all.push(Emitted::Cut);
                    }
                }
                all
            })),
            Work::Quads { quads, .. } => {
                let quad =
                    |(n, q): (usize, &Quad)| std::array::from_fn(|i| fragment(&from.fragments, n, i, q));
                Output::Fragments(quads.iter().enumerate().map(quad).collect())
            }
        }
    }
}

/// A pixel of a quad.
fn fragment(from: &FragmentResults, n: usize, pixel: usize, quad: &Quad) -> Fragment {
    let value = |values: Option<&[u32; 4]>, defined: u8| {
        values.filter(|_| defined >> pixel & 1 != 0).map(|values| values[pixel])
    };
    let color = |t, c| value(from.color(n, t, c), from.defined(n, t, c));
    Fragment {
        covered: quad.cover[pixel] != 0,
        killed: from.killed(n) >> pixel & 1 != 0,
        colors: std::array::from_fn(|t| std::array::from_fn(|c| color(t, c))),
        depth: value(from.depth(n), from.depth_defined(n)),
        sample_mask: value(from.sample_mask(n), from.sample_mask_defined(n)),
    }
}
