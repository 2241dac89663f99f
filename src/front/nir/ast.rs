//! What a NIR text says: words that mean something as what they mean ([`names`], [`types`], the tables of opcodes and
//! intrinsics), and the names that it gives itself (functions, variables, members) borrowed from the source.
//!
//! A function's body is one flat list of [`Node`]s in the order of the text, structure included: `if` opens
//! with [`Node::If`] and goes on to its [`Node::Else`] and [`Node::End`]; `loop` to its [`Node::End`]. The
//! parser guarantees that they match, so readers keep a stack and never recurse, however deep a text nests.
//! Operands lie in pools of the function; a [`Range`] names a run of them.
//!
//! [`names`]: super::names
//! [`types`]: super::types

use super::alu::{AluInfo, Op};
use super::indices::Indices;
use super::intrinsics::{IntrinsicInfo, Kind, Mem};
use super::names::{Access, Interpolation, Mode, Modes, Stage, TexOpcode, TexRole, ValueType};
use super::types::{TypeId, Types};
use crate::diag::Span;
use crate::format::Format;
pub use crate::front::common::emit::value::Shape;
use crate::ir::Dim;
use crate::options::{Distances, GeometryInfo, TessInfo};
use rustc_hash::{FxHashMap, FxHashSet};

/// A run of a pool of [`Function`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Range {
    pub start: u32,
    pub len: u32,
}

impl Range {
    fn bounds(self) -> std::ops::Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

/// A whole text.
#[derive(Clone, Debug, Default)]
pub struct Shader<'s> {
    /// Compute where the text says nothing.
    pub stage: Stage,
    /// Where that stands.
    pub stage_span: Span,
    pub name: &'s str,
    /// Threads of a block; `None`: declared variable, or not declared.
    pub workgroup_size: Option<[u32; 3]>,
    /// Where that stands.
    pub workgroup_size_span: Span,
    /// Bytes of shared memory that the kernel itself declares.
    pub shared_size: u32,
    /// Where that stands.
    pub shared_size_span: Span,
    /// Bytes of scratch memory of a thread.
    pub scratch_size: u32,
    /// Bytes of constant data (which the text does not hold).
    pub constants: u32,
    /// Whether uniform block 0 is the default one, and the others follow: the state tracker of Mesa 23.1 and later lowers uniforms so.
    pub default_block: bool,
    /// What the text says of a graphics stage besides its code.
    pub said: Said,
    pub vars: Vec<Variable<'s>>,
    pub structs: Vec<Struct<'s>>,
    pub types: Types<'s>,
    pub functions: Vec<Function<'s>>,
    /// The properties that the text gives, and where, for those that mean something.
    pub properties: Vec<(&'s str, Span)>,
    pub(super) literals: Vec<Literal>,
}

/// Properties of graphics stages, as far as a text gives them; tessellation's and fragments' only in the newer form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Said {
    pub tess: TessInfo,
    pub geometry: Option<GeometryInfo>,
    pub early_fragment_tests: bool,
    pub post_depth_coverage: bool,
    pub distances: Option<Distances>,
}

impl Shader<'_> {
    /// The values of an initialiser.
    pub fn literals(&self, range: Range) -> &[Literal] {
        &self.literals[range.bounds()]
    }

    /// The kind of the sampler variable that covers a texture's number: dimension, and whether there are layers.
    pub(super) fn sampler(&self, number: u32) -> Option<(Dim, bool)> {
        self.vars.iter().filter(|v| v.mode == Mode::Uniform).find_map(|v| {
            let (ty, len) = self.types.flattened(v.ty);
            let (_, binding) = v.place?;
            ty.opaque().filter(|_| (binding..binding.saturating_add(len)).contains(&number))
        })
    }
}

/// `decl_var`.
#[derive(Clone, Debug)]
pub struct Variable<'s> {
    pub mode: Mode,
    pub access: Access,
    /// An image's, where it is declared.
    pub format: Option<Format>,
    pub ty: TypeId,
    pub name: &'s str,
    /// Driver location and binding, of `(location, driver location, binding)`.
    pub place: Option<(u32, u32)>,
    /// Of an input or output of a graphics stage.
    pub io: Attribute,
    /// What follows `=`, where it is a value in memory.
    pub init: Option<Init>,
    pub span: Span,
}

/// What a declaration says of an input or output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attribute {
    /// By the number that Mesa gives it, of [`locations`](super::locations).
    pub location: Option<u32>,
    /// First component.
    pub component: u8,
    pub interpolation: Interpolation,
    /// Of a patch as a whole.
    pub patch: bool,
    /// In what is covered of the pixel, or at the sample.
    pub centroid: bool,
    /// At the sample.
    pub sample: bool,
    /// An array whose elements are components that follow one another.
    pub compact: bool,
}

/// An initial value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Init {
    /// `null`
    Zero,
    /// `&name`
    Address,
    /// The components in the order of the memory: the braces around them say nothing more than the type.
    Values(Range),
}

/// A component of an initial value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Literal {
    /// Integers and booleans.
    Bits(u64),
    /// As printed, with six decimals: what the printer has dropped is lost.
    Float(f64),
}

/// `struct NAME { TYPE FIELD; … }`, which the newer printer writes on request.
#[derive(Clone, Debug)]
pub struct Struct<'s> {
    pub name: &'s str,
    /// Type and name of each field.
    pub fields: Vec<(TypeId, &'s str)>,
}

/// `decl_function` and its `impl`.
#[derive(Clone, Debug, Default)]
pub struct Function<'s> {
    pub name: &'s str,
    pub span: Span,
    pub params: u32,
    /// Shape of each parameter where the text says it (the newer form).
    pub param_shapes: Vec<Shape>,
    pub entrypoint: bool,
    /// Whether there is a body.
    pub defined: bool,
    pub vars: Vec<Variable<'s>>,
    pub regs: Vec<RegDecl>,
    pub body: Vec<(Node<'s>, Span)>,
    srcs: Vec<Src>,
    consts: Vec<u64>,
    indices: Vec<Indices>,
    tex_srcs: Vec<(TexRole, Src)>,
    phis: Vec<(u32, Src)>,
    copies: Vec<(Dest, Src)>,
    texs: Vec<Tex>,
    derefs: Vec<Deref<'s>>,
    unknown: Vec<Unknown<'s>>,
}

macro_rules! pool {
    ($get:ident, $push:ident, $field:ident, $ty:ty) => {
        pub fn $get(&self, range: Range) -> &[$ty] {
            &self.$field[range.bounds()]
        }

        pub(super) fn $push(&mut self, items: &[$ty]) -> Range {
            let start = self.$field.len() as u32;
            self.$field.extend_from_slice(items);
            Range { start, len: items.len() as u32 }
        }
    };
}

/// The same for what stands alone: a node is small because the rare and large ones are elsewhere.
macro_rules! rare {
    ($id:ident, $get:ident, $push:ident, $field:ident, $ty:ty) => {
        pub fn $get(&self, id: $id) -> &$ty {
            &self.$field[id.0 as usize]
        }

        pub(super) fn $push(&mut self, item: $ty) -> $id {
            self.$field.push(item);
            $id(self.$field.len() as u32 - 1)
        }
    };
}

impl<'s> Function<'s> {
    pub(super) fn new(name: &'s str, span: Span) -> Function<'s> {
        Function { name, span, indices: vec![Indices::default()], ..Function::default() }
    }

    /// Makes room for a body of so many lines.
    pub(super) fn reserve(&mut self, lines: usize) {
        self.body.reserve(lines);
        self.srcs.reserve(lines);
        self.consts.reserve(lines);
        self.indices.reserve(lines / 4);
        self.derefs.reserve(lines / 8);
    }

    pool!(srcs, push_srcs, srcs, Src);
    pool!(consts, push_consts, consts, u64);
    pool!(tex_srcs, push_tex_srcs, tex_srcs, (TexRole, Src));
    pool!(copies, push_copies, copies, (Dest, Src));

    rare!(TexId, tex, push_tex, texs, Tex);
    rare!(DerefId, deref, push_deref, derefs, Deref<'s>);
    rare!(UnknownId, unknown, push_unknown, unknown, Unknown<'s>);

    pub fn phi_srcs(&self, range: Range) -> &[(u32, Src)] {
        &self.phis[range.bounds()]
    }

    /// Makes the last run of them longer.
    pub(super) fn push_phi_src(&mut self, run: Range, item: (u32, Src)) -> Range {
        let start = if run.len == 0 { self.phis.len() as u32 } else { run.start };
        self.phis.push(item);
        Range { start, len: self.phis.len() as u32 - start }
    }

    /// What the indices of an intrinsic say.
    pub fn indices(&self, id: IndicesId) -> &Indices {
        &self.indices[id.0 as usize]
    }

    pub(super) fn push_indices(&mut self, indices: Indices) -> IndicesId {
        self.indices.push(indices);
        IndicesId(self.indices.len() as u32 - 1)
    }

    /// Source `i` of a run.
    pub(crate) fn src_id(&self, range: Range, i: u32) -> SrcId {
        SrcId(range.start + i)
    }

    /// Loads of components of 8 or 16 bits whose readers take them for signed numbers rather than unsigned ones.
    pub(crate) fn signed_loads(&self) -> FxHashSet<u32> {
        let mut votes: FxHashMap<u32, i32> = FxHashMap::default();
        for (node, _) in &self.body {
            match node {
                Node::Intrinsic(Intrinsic { dest: Some(Dest::Ssa(def)), .. })
                    if matches!(def.shape.bits, 8 | 16) =>
                {
                    votes.insert(def.index, 0);
                }
                Node::Alu(alu) if !votes.is_empty() => {
                    let vote = match alu.info.op {
                        Op::I2I | Op::I2F | Op::Ilt | Op::Ige | Op::Imin | Op::Imax | Op::Ishr | Op::Iabs => {
                            1
                        }
                        Op::U2U | Op::U2F | Op::Ult | Op::Uge | Op::Umin | Op::Umax | Op::Ushr => -1,
                        _ => continue,
                    };
                    for src in self.srcs(alu.srcs) {
                        if let Place::Ssa(index) = src.place
                            && let Some(n) = votes.get_mut(&index)
                        {
                            *n += vote;
                        }
                    }
                }
                _ => {}
            }
        }
        votes.into_iter().filter(|(_, n)| *n > 0).map(|(index, _)| index).collect()
    }

    /// Whether scratch memory is accessed at addresses that are not constants.
    pub(crate) fn indexes_scratch(&self) -> bool {
        let constants: FxHashSet<u32> = self
            .body
            .iter()
            .filter_map(|(node, _)| match node {
                Node::Const { def, .. } => Some(def.index),
                _ => None,
            })
            .collect();
        self.body.iter().any(|(node, _)| {
            let Node::Intrinsic(i) = node else { return false };
            matches!(i.info.kind, Kind::Load(Mem::Scratch) | Kind::Store(Mem::Scratch))
                && self.srcs(i.srcs).last().is_none_or(|s| match s.place {
                    Place::Ssa(index) => !constants.contains(&index),
                    Place::Reg(_) => true,
                })
        })
    }

    /// Where a component of one of some values is read, if anything reads it.
    pub(crate) fn read_of(&self, values: &FxHashSet<u32>, component: usize) -> Option<Span> {
        let copies = self.copies.iter().map(|(_, s)| s).chain(self.phis.iter().map(|(_, s)| s));
        let textures = self.tex_srcs.iter().map(|(_, s)| s);
        let reads = |s: &&Src| {
            let value = matches!(s.place, Place::Ssa(index) if values.contains(&index));
            value && s.swizzle.is_none_or(|w| (0..w.len()).any(|i| w.get(i) == Some(component)))
        };
        self.srcs.iter().chain(copies).chain(textures).find(reads).map(|s| s.span)
    }

    /// What a node defines, as far as that is one thing: parallel copies define several.
    pub(super) fn dest(&self, node: &Node<'_>) -> Option<Dest> {
        match node {
            Node::Alu(Alu { dest, .. }) | Node::Phi { dest, .. } => Some(*dest),
            Node::Tex(id) => Some(self.tex(*id).dest),
            Node::Deref(id) => Some(self.deref(*id).dest),
            Node::Intrinsic(i) => i.dest,
            Node::Unknown(id) => self.unknown(*id).dest,
            _ => None,
        }
    }

    /// For each register that is written, the nodes that do, in ascending order.
    pub(crate) fn register_writers(&self) -> FxHashMap<u32, Vec<u32>> {
        let mut writers: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (at, (node, _)) in self.body.iter().enumerate() {
            let copies = match node {
                Node::ParallelCopy(range) => self.copies(*range),
                _ => &[],
            };
            for dest in copies.iter().map(|(d, _)| *d).chain(self.dest(node)) {
                if let Dest::Reg(reg, _) = dest {
                    writers.entry(reg.index).or_default().push(at as u32);
                }
            }
        }
        writers
    }

    /// Registers that are indexed by a value somewhere in the body.
    pub(crate) fn indexed_registers(&self) -> FxHashSet<u32> {
        let dests = self.body.iter().filter_map(|(node, _)| self.dest(node));
        let written = dests.chain(self.copies.iter().map(|(d, _)| *d)).filter_map(|d| match d {
            Dest::Reg(reg, _) => Some(reg),
            Dest::Ssa(_) => None,
        });
        let nodes = self.body.iter().filter_map(|(node, _)| match node {
            Node::If(src) => Some(src),
            _ => None,
        });
        let pairs = self.phis.iter().map(|(_, s)| s).chain(self.copies.iter().map(|(_, s)| s));
        let pairs = pairs.chain(self.tex_srcs.iter().map(|(_, s)| s));
        let srcs = self.srcs.iter().chain(pairs).chain(nodes);
        let read = srcs.filter_map(|s| match s.place {
            Place::Reg(reg) => Some(reg),
            Place::Ssa(_) => None,
        });
        written.chain(read).filter(|r| r.indirect.is_some()).map(|r| r.index).collect()
    }

    /// The source that a register's index is added from.
    pub fn src(&self, id: SrcId) -> &Src {
        &self.srcs[id.0 as usize]
    }
}

/// The indices of an intrinsic; 0: none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndicesId(u32);

/// Of [`Function::tex`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TexId(u32);

/// Of [`Function::deref`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DerefId(u32);

/// Of [`Function::unknown`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownId(u32);

/// A single source of a function's pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrcId(pub(super) u32);

/// `decl_reg vec4 32 r0[8]`.
#[derive(Clone, Copy, Debug)]
pub struct RegDecl {
    pub index: u32,
    pub shape: Shape,
    /// Elements of an array; 0: not an array.
    pub elems: u32,
    pub span: Span,
}

/// One line of a body.
#[derive(Clone, Copy, Debug)]
pub enum Node<'s> {
    Block(u32),
    If(Src),
    Else,
    Loop,
    /// What follows is a loop's continue construct.
    Continue,
    End,
    Const {
        def: Def,
        values: Range,
    },
    Undef(Def),
    Alu(Alu),
    Intrinsic(Intrinsic),
    Tex(TexId),
    Deref(DerefId),
    Unknown(UnknownId),
    /// Sources in [`Function::phi_srcs`], each with its predecessor's label.
    Phi {
        dest: Dest,
        srcs: Range,
    },
    /// Pairs in [`Function::copies`], all read before any is written.
    ParallelCopy(Range),
    Call {
        callee: &'s str,
        args: Range,
    },
    Jump(Jump),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jump {
    Break,
    Continue,
    Return,
    Halt,
    /// Unstructured control flow, which no compute shader has when a driver gets it.
    Goto,
}

/// An SSA definition: `vec4 32 ssa_5`, `32x4 %5`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Def {
    pub index: u32,
    pub shape: Shape,
}

/// A place of a register: `r3`, `r3[2]`, `r3[2 + ssa_7]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegRef {
    pub index: u32,
    pub base: u32,
    pub indirect: Option<SrcId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dest {
    Ssa(Def),
    /// With the components written (all where the text names none).
    Reg(RegRef, u16),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Ssa(u32),
    Reg(RegRef),
}

/// Components read, in order: `.xxyw`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swizzle {
    /// Two components a byte.
    nibbles: [u8; 8],
    len: u8,
}

impl Swizzle {
    pub const EMPTY: Swizzle = Swizzle { nibbles: [0; 8], len: 0 };

    /// Appends a component below 16; more than 16 are dropped.
    pub fn push(&mut self, component: u8) {
        if self.len < 16 {
            self.nibbles[usize::from(self.len / 2)] |= (component & 15) << (4 * (self.len & 1));
            self.len += 1;
        }
    }

    pub fn get(self, i: usize) -> Option<usize> {
        (i < usize::from(self.len)).then(|| usize::from(self.nibbles[i / 2] >> (4 * (i & 1)) & 15))
    }

    pub fn len(self) -> usize {
        usize::from(self.len)
    }

    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// A source operand. Negation is applied after the absolute value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Src {
    pub place: Place,
    pub neg: bool,
    pub abs: bool,
    /// `None`: the components as they are.
    pub swizzle: Option<Swizzle>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug)]
pub struct Alu {
    pub info: &'static AluInfo,
    pub dest: Dest,
    pub exact: bool,
    pub saturate: bool,
    /// The printer's promises that the result does not wrap.
    pub nsw: bool,
    pub nuw: bool,
    pub srcs: Range,
}

#[derive(Clone, Copy, Debug)]
pub struct Intrinsic {
    /// The parser checks the number of sources.
    pub info: &'static IntrinsicInfo,
    pub dest: Option<Dest>,
    pub srcs: Range,
    pub indices: IndicesId,
}

/// `(float32)txl ssa_1 (coord), ssa_2 (lod), 0 (texture), 0 (sampler), 2D`
#[derive(Clone, Copy, Debug)]
pub struct Tex {
    pub op: TexOpcode,
    pub ty: ValueType,
    pub dest: Dest,
    /// In [`Function::tex_srcs`], each with its role.
    pub srcs: Range,
    pub texture: u16,
    pub sampler: u16,
    /// Component that a gather takes.
    pub component: u8,
    /// The four texels of a gather.
    pub offsets: Option<[(i8, i8); 4]>,
    /// Only the newer form has it.
    pub dim: Option<Dim>,
}

/// An instruction that is not known, or an operand of one: an error where something reaches it.
#[derive(Clone, Copy, Debug)]
pub struct Unknown<'s> {
    pub kind: UnknownKind,
    pub name: &'s str,
    pub dest: Option<Dest>,
    /// Where the name stands.
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownKind {
    Intrinsic,
    TexOpcode,
    TexRole,
}

/// A step of a chain that leads to a place in a variable or behind a pointer.
#[derive(Clone, Copy, Debug)]
pub enum DerefKind<'s> {
    Var(&'s str),
    /// `&(*ssa_1)[ssa_2]`; with `pointer`, the parent is stepped over as an array of its own type.
    Array {
        parent: Src,
        index: ArrayIndex,
        pointer: bool,
    },
    Struct {
        parent: Src,
        field: &'s str,
    },
    Cast {
        parent: Src,
        stride: u32,
        align_mul: u32,
        align_offset: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum ArrayIndex {
    Const(i64),
    Src(Src),
    Wildcard,
}

#[derive(Clone, Copy, Debug)]
pub struct Deref<'s> {
    pub dest: Dest,
    pub kind: DerefKind<'s>,
    pub modes: Modes,
    pub ty: TypeId,
}
