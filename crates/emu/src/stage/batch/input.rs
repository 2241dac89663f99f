//! What the threads of a batch work on.

use super::attributes::{AttributeBuffer, Defaults};
use super::fragments::{Fragments, Inputs};

/// State of the pipeline that programs see.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    /// `IPA.SC` gives the value of one vertex.
    pub flat_shade: bool,
    /// Samples of a pixel: 1, 2, 4 or 8.
    pub samples: u32,
    /// What stands for words that no stage gives.
    pub defaults: &'a Defaults,
}

/// What the threads of a launch work on.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Vertex: the inputs of each vertex. Numbers of vertex and instance lie at 0x2fc and 0x2f8.
    Vertices(&'a AttributeBuffer),
    /// Tessellation control: a thread for each vertex that the header says a patch has.
    Patches(Primitives<'a>),
    /// Tessellation evaluation.
    Points {
        /// The patches, with what their control shader wrote.
        patches: Primitives<'a>,
        /// What the tessellator made of them.
        points: &'a [DomainPoint],
    },
    /// Geometry: as many threads a primitive as the header says.
    Primitives(Primitives<'a>),
    /// Fragment: four threads a quad.
    Quads(&'a Fragments),
}

/// Primitives or patches of vertices that a stage before left.
#[derive(Clone, Copy, Debug)]
pub struct Primitives<'a> {
    /// The vertices' attributes.
    pub vertices: &'a AttributeBuffer,
    /// Vertices of a primitive.
    pub size: u32,
    /// As many rows of `vertices` for each primitive; [`Primitives::ABSENT`] from the first vertex on that it does not have. Empty:
    /// primitive n has rows n times `size` and on.
    pub indices: &'a [u32],
    /// Their numbers, as programs read them; there are as many primitives.
    pub ids: &'a [u32],
    /// Tessellation evaluation: a row of attributes of each patch.
    pub patches: Option<&'a AttributeBuffer>,
}

impl Primitives<'_> {
    /// The index of a vertex that a primitive does not have.
    pub const ABSENT: u32 = u32::MAX;

    /// The row of vertex `n` of a primitive, if it has that one.
    #[inline]
    pub(in crate::stage) fn vertex(&self, primitive: usize, n: u32) -> Option<usize> {
        if n >= self.size {
            return None;
        }
        let at = primitive * self.size as usize + n as usize;
        match self.indices {
            [] => Some(at),
            all => Some(all[at]).filter(|&row| row != Primitives::ABSENT).map(|row| row as usize),
        }
    }

    /// How many vertices a primitive has.
    pub(in crate::stage) fn count(&self, primitive: usize) -> u32 {
        (0..self.size).find(|&n| self.vertex(primitive, n).is_none()).unwrap_or(self.size)
    }

    fn check(&self) -> Result<(), String> {
        let (wanted, rows) = (self.ids.len() * self.size as usize, self.vertices.len());
        if !self.indices.is_empty() && self.indices.len() != wanted {
            let (count, size) = (self.ids.len(), self.size);
            return Err(format!("{} indices for {count} primitives of {size} vertices", self.indices.len()));
        }
        let outside = |row: u32| row != Primitives::ABSENT && row as usize >= rows;
        if self.indices.is_empty() && wanted > rows || self.indices.iter().any(|&i| outside(i)) {
            return Err(format!("a primitive has a vertex that is none of the {rows}"));
        }
        Ok(())
    }
}

/// A vertex that the tessellator made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DomainPoint {
    /// The number of its patch among those of the launch.
    pub patch: u32,
    /// Where in the patch it lies.
    pub at: [f32; 2],
}

impl Input<'_> {
    /// Whether everything that is named is there.
    pub(in crate::stage) fn check(&self, inputs: &Inputs) -> Result<(), String> {
        match self {
            Input::Vertices(_) => Ok(()),
            Input::Patches(p) | Input::Primitives(p) => p.check(),
            Input::Points { patches, points } => {
                patches.check()?;
                match points.iter().position(|p| p.patch as usize >= patches.ids.len()) {
                    None => Ok(()),
                    Some(n) => {
                        let (patch, last) = (points[n].patch, patches.ids.len().wrapping_sub(1));
                        Err(format!("point {n} is of patch {patch}: index out of range (0 to {last})"))
                    }
                }
            }
            Input::Quads(f) => f.check(inputs),
        }
    }
}
