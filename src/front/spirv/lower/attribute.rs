//! Inputs and outputs of graphics stages as places: which vector of which vertex, and how it is interpolated.
//!
//! A scalar or vector takes a location, or two where its 64-bit components need them; arrays, matrices and structures are their
//! parts in order. Arrays of clip distances, tessellation levels and sample masks have an element a component instead.

use crate::front::common::emit::value::Word;
use crate::front::common::graphics;
use crate::front::spirv::module::Module;
use crate::front::spirv::rules;
use crate::front::spirv::types::Type;
use crate::ir::InterpMode;
use crate::stage::{Semantic, Stage};
use spirv::{BuiltIn, Decoration, StorageClass};

/// What says where an input or output lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// A block, whose members say it.
    Members,
    Location(u32),
    BuiltIn(BuiltIn),
}

/// Of which vertex, in a stage that has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vertex {
    /// There is one only.
    Own,
    /// An array with an element for each.
    Each,
    One(Word),
}

/// What decorations say besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct How {
    pub(super) flat: bool,
    pub(super) linear: bool,
    pub(super) centroid: bool,
    pub(super) sample: bool,
    pub(super) patch: bool,
}

impl How {
    fn with(self, has: impl Fn(Decoration) -> bool) -> How {
        How {
            flat: self.flat || has(Decoration::Flat),
            linear: self.linear || has(Decoration::NoPerspective),
            centroid: self.centroid || has(Decoration::Centroid),
            sample: self.sample || has(Decoration::Sample),
            patch: self.patch || has(Decoration::Patch),
        }
    }
}

/// An input or output, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    /// The variable.
    pub(super) id: u32,
    pub(super) input: bool,
    pub(super) at: At,
    pub(super) vertex: Vertex,
    /// Words from the beginning of the vector.
    pub(super) component: u32,
    /// Vectors that are added, and below how many these are.
    pub(super) offset: Option<(Word, u32)>,
    /// Which of so many scalars it is, from the component on.
    pub(super) choice: Option<(Word, u32)>,
    pub(super) how: How,
    /// The second of two colours that are blended.
    pub(super) second: bool,
}

/// Whether a built-in input or output lies among attributes; others are system values.
fn is_attribute(stage: Stage, input: bool, b: BuiltIn) -> bool {
    use BuiltIn::*;
    let per_vertex = matches!(b, Position | PointSize | ClipDistance | CullDistance);
    match (stage, input) {
        (Stage::TessControl | Stage::Geometry, true) => per_vertex,
        (Stage::TessEval, true) => per_vertex || matches!(b, TessLevelOuter | TessLevelInner),
        (Stage::Fragment, true) => {
            matches!(b, FragCoord | PointCoord | ClipDistance | CullDistance | Layer | ViewportIndex)
        }
        (Stage::Vertex | Stage::TessEval, false) => per_vertex || matches!(b, Layer | ViewportIndex),
        (Stage::Geometry, false) => per_vertex || matches!(b, Layer | ViewportIndex | PrimitiveId),
        (Stage::TessControl, false) => per_vertex || matches!(b, TessLevelOuter | TessLevelInner),
        (Stage::Fragment, false) => matches!(b, FragDepth | SampleMask | FragStencilRefEXT),
        (Stage::Compute | Stage::Vertex, _) => false,
    }
}

/// What values of a built-in attribute are: floats, and how many components.
pub(super) fn type_of(b: BuiltIn) -> (bool, u8) {
    use BuiltIn::*;
    match b {
        Position | FragCoord => (true, 4),
        PointCoord => (true, 2),
        Layer | ViewportIndex | PrimitiveId | SampleMask | FragStencilRefEXT => (false, 1),
        _ => (true, 1),
    }
}

/// Whether a variable is an array with an element for each vertex of a primitive or patch.
fn is_per_vertex(stage: Stage, input: bool, how: How, at: At) -> bool {
    match (stage, input, at) {
        (_, _, At::BuiltIn(BuiltIn::TessLevelOuter | BuiltIn::TessLevelInner)) => false,
        (_, _, At::BuiltIn(b)) if !is_attribute(stage, input, b) => false,
        (Stage::TessControl, ..) | (Stage::TessEval, true, _) => !how.patch,
        (Stage::Geometry, true, _) => true,
        _ => false,
    }
}

fn built_in(literals: Option<&[u32]>) -> Option<BuiltIn> {
    literals.and_then(|x| x.first()).and_then(|&b| BuiltIn::from_u32(b))
}

impl Attribute {
    /// An input or output variable of a stage; `None`: a variable of another class.
    pub(super) fn of_variable(m: &Module, stage: Stage, id: u32) -> Option<(Attribute, u32)> {
        let n = m.code.def(id)?;
        let (input, to) = match *m.ty(m.code.insts[n].ty)? {
            Type::Pointer { class: StorageClass::Input, to } => (true, to),
            Type::Pointer { class: StorageClass::Output, to } => (false, to),
            _ => return None,
        };
        let first = |d| m.decoration(id, d).and_then(|x| x.first()).copied();
        let at = match (built_in(m.decoration(id, Decoration::BuiltIn)), first(Decoration::Location)) {
            (Some(b), _) => At::BuiltIn(b),
            (None, Some(l)) => At::Location(l),
            (None, None) => At::Members,
        };
        let mut how = How::default().with(|d| m.has(id, d));
        // Compilers decorate the members of blocks.
        let block = rules::innermost(m, to);
        if let Some(Type::Struct { members }) = m.ty(block) {
            let of_patch = |n| m.member_decoration(block, n, Decoration::Patch).is_some();
            how.patch |= (0..members.len() as u32).any(of_patch);
        }
        let each = is_per_vertex(stage, input, how, at);
        let a = Attribute {
            id,
            input,
            at,
            vertex: if each { Vertex::Each } else { Vertex::Own },
            component: first(Decoration::Component).unwrap_or(0),
            offset: None,
            choice: None,
            how,
            second: first(Decoration::Index) == Some(1),
        };
        Some((a, to))
    }

    /// A built-in that is no attribute but a system value.
    pub(super) fn system(&self, stage: Stage) -> Option<BuiltIn> {
        match self.at {
            At::BuiltIn(b) if self.input && !is_attribute(stage, true, b) => Some(b),
            _ => None,
        }
    }

    /// Whether elements of an array are components of vectors.
    pub(super) fn is_compact(&self) -> bool {
        use BuiltIn::{ClipDistance, CullDistance, SampleMask, TessLevelInner, TessLevelOuter};
        matches!(
            self.at,
            At::BuiltIn(ClipDistance | CullDistance | TessLevelOuter | TessLevelInner | SampleMask)
        )
    }

    /// The words that it is made of.
    pub(super) fn words_mut(&mut self) -> Vec<&mut Word> {
        let vertex = match &mut self.vertex {
            Vertex::One(w) => Some(w),
            Vertex::Own | Vertex::Each => None,
        };
        let offset = self.offset.as_mut().map(|(w, _)| w);
        let choice = self.choice.as_mut().map(|(w, _)| w);
        [vertex, offset, choice].into_iter().flatten().collect()
    }

    /// A member of the structure. One that does not say where it lies follows the one before.
    pub(super) fn member(&self, m: &Module, structure: u32, members: &[u32], n: u32) -> Attribute {
        let first = |i: u32, d| m.member_decoration(structure, i, d).and_then(|x| x.first()).copied();
        let how = self.how.with(|d| m.member_decoration(structure, n, d).is_some());
        let at = match built_in(m.member_decoration(structure, n, Decoration::BuiltIn)) {
            Some(b) => At::BuiltIn(b),
            None => {
                let said = (0..=n).rev().find_map(|i| Some((i, first(i, Decoration::Location)?)));
                let (from, base) = match (said, self.at) {
                    (Some((i, location)), _) => (i, Some(location)),
                    (None, At::Location(location)) => (0, Some(location)),
                    (None, _) => (0, None),
                };
                let before = members.iter().take(n as usize).skip(from as usize);
                let vectors = before.fold(0u32, |sum, &ty| sum.saturating_add(vectors(m, ty)));
                base.map_or(self.at, |base| At::Location(base.saturating_add(vectors)))
            }
        };
        let component = first(n, Decoration::Component).unwrap_or(0);
        Attribute { at, how, component, ..self.clone() }
    }

    /// An element of an array or a column of a matrix, of the type `part`.
    pub(super) fn element(&self, m: &Module, part: u32, n: u32) -> Attribute {
        match self.at {
            _ if self.vertex == Vertex::Each => {
                Attribute { vertex: Vertex::One(Word::Imm(n)), ..self.clone() }
            }
            _ if self.is_compact() => {
                Attribute { component: self.component.saturating_add(n), ..self.clone() }
            }
            At::Location(l) => {
                let at = At::Location(l.saturating_add(n.saturating_mul(vectors(m, part))));
                Attribute { at, ..self.clone() }
            }
            _ => self.clone(),
        }
    }

    /// The same, some vectors further.
    pub(super) fn further(&self, n: u32) -> Attribute {
        match self.at {
            At::Location(l) => {
                Attribute { at: At::Location(l.saturating_add(n)), offset: None, ..self.clone() }
            }
            // Others are no arrays of vectors, which `interface` has seen to.
            _ => Attribute { offset: None, ..self.clone() },
        }
    }

    /// What it means to the stages around, and which component there, so many words from where it begins; `None`: there is no
    /// such input or output. `clip`: clip distances that lie before the cull distances.
    pub(super) fn semantic(&self, stage: Stage, word: u32, clip: u32) -> Option<(Semantic, u32)> {
        use BuiltIn::*;
        let before = if self.at == At::BuiltIn(CullDistance) { clip } else { 0 };
        let word = before.checked_add(self.component)?.checked_add(word)?;
        let (vector, component) = (word / 4, word % 4);
        let numbered = |n: u32, count: u32| u8::try_from(n).ok().filter(|_| n < count);
        let only = |s: Semantic| (vector == 0).then_some(s);
        let s = match self.at {
            At::Members => None,
            At::Location(l) => {
                let n = l.checked_add(vector)?;
                match (stage, self.input) {
                    (Stage::Fragment, false) => {
                        numbered(n.checked_add(self.second.into())?, 8).map(Semantic::Color)
                    }
                    _ if self.how.patch => numbered(n, 32).map(Semantic::Patch),
                    _ => numbered(n, 32).map(Semantic::Generic),
                }
            }
            At::BuiltIn(b) if !is_attribute(stage, self.input, b) => None,
            At::BuiltIn(b) => match b {
                Position | FragCoord => only(Semantic::Position),
                PointSize => only(Semantic::PointSize),
                ClipDistance | CullDistance => numbered(vector, 2).map(Semantic::ClipDist),
                TessLevelOuter => only(Semantic::TessOuter),
                TessLevelInner => only(Semantic::TessInner),
                PointCoord => only(Semantic::PointCoord),
                Layer => only(Semantic::Layer),
                ViewportIndex => only(Semantic::ViewportIndex),
                PrimitiveId => only(Semantic::PrimitiveId),
                FragDepth => only(Semantic::Depth),
                FragStencilRefEXT => only(Semantic::Stencil),
                SampleMask => only(Semantic::SampleMask),
                _ => None,
            },
        }?;
        graphics::exists(stage, self.input, s).then_some((s, component))
    }

    /// How an input of a fragment shader is interpolated. `numbers`: it is of integers or of doubles, which are not.
    pub(super) fn mode(&self, semantic: Semantic, numbers: bool) -> InterpMode {
        match semantic {
            Semantic::Position => InterpMode::Linear,
            Semantic::Layer | Semantic::ViewportIndex => InterpMode::Flat,
            _ if self.how.flat || numbers => InterpMode::Flat,
            _ if self.how.linear => InterpMode::Linear,
            _ => InterpMode::Perspective,
        }
    }
}

/// Locations that a type takes.
fn vectors(m: &Module, ty: u32) -> u32 {
    m.info(ty).map_or(0, |info| info.vectors)
}
