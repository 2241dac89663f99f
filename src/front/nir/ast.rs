//! What a NIR text says, as it says it: names and numbers borrowed from the source, nothing resolved.
//!
//! A function's body is one flat list of [`Node`]s in the order of the text, structure included: `if` opens
//! with [`Node::If`] and goes on to its [`Node::Else`] and [`Node::End`]; `loop` to its [`Node::End`]. The
//! parser guarantees that they match, so readers keep a stack and never recurse, however deep a text nests.
//! Operands lie in pools of the function; a [`Range`] names a run of them.

use super::alu::{AluInfo, Op};
use crate::diag::Span;
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
    /// As printed: `MESA_SHADER_COMPUTE`, `MESA_SHADER_KERNEL`, `MESA_SHADER_VERTEX`, …
    pub stage: &'s str,
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
    pub vars: Vec<Variable<'s>>,
    pub structs: Vec<Struct<'s>>,
    pub functions: Vec<Function<'s>>,
}

/// `decl_var`.
#[derive(Clone, Debug)]
pub struct Variable<'s> {
    /// `uniform`, `ssbo`, `shared`, …; empty for temporaries of a function.
    pub mode: &'s str,
    /// What stands between the interpolation mode and the type: access qualifiers, an image's format, precision.
    pub qualifiers: &'s str,
    pub ty: &'s str,
    pub name: &'s str,
    /// Driver location and binding, of `(location, driver location, binding)`.
    pub place: Option<(u32, u32)>,
    /// What follows `=`.
    pub init: Option<&'s str>,
    pub span: Span,
}

/// `struct NAME { TYPE FIELD; … }`, which the newer printer writes on request.
#[derive(Clone, Debug)]
pub struct Struct<'s> {
    pub name: &'s str,
    /// Type and name of each field.
    pub fields: Vec<(&'s str, &'s str)>,
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
    indices: Vec<Index<'s>>,
    tex_args: Vec<TexArg<'s>>,
    phis: Vec<(u32, Src)>,
    copies: Vec<(Dest, Src)>,
}

macro_rules! pool {
    ($get:ident, $push:ident, $field:ident, $ty:ty) => {
        pub fn $get(&self, range: Range) -> &[$ty] {
            &self.$field[range.bounds()]
        }

        pub(super) fn $push(&mut self, items: impl IntoIterator<Item = $ty>) -> Range {
            let start = self.$field.len() as u32;
            self.$field.extend(items);
            Range { start, len: self.$field.len() as u32 - start }
        }
    };
}

impl<'s> Function<'s> {
    pub(super) fn new(name: &'s str, span: Span) -> Function<'s> {
        Function { name, span, ..Function::default() }
    }

    pool!(srcs, push_srcs, srcs, Src);
    pool!(consts, push_consts, consts, u64);
    pool!(indices, push_indices, indices, Index<'s>);
    pool!(tex_args, push_tex_args, tex_args, TexArg<'s>);
    pool!(phi_srcs, push_phi_srcs, phis, (u32, Src));
    pool!(copies, push_copies, copies, (Dest, Src));

    /// Source `i` of a run.
    pub fn src_id(&self, range: Range, i: u32) -> SrcId {
        SrcId(range.start + i)
    }

    /// Loads of components of 8 or 16 bits whose readers take them for signed numbers rather than unsigned ones.
    pub fn signed_loads(&self) -> FxHashSet<u32> {
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
    pub fn indexes_scratch(&self) -> bool {
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
            matches!(i.name, "load_scratch" | "store_scratch")
                && self.srcs(i.srcs).last().is_none_or(|s| match s.place {
                    Place::Ssa(index) => !constants.contains(&index),
                    Place::Reg(_) => true,
                })
        })
    }

    /// Registers that are indexed by a value somewhere in the body.
    pub fn indexed_registers(&self) -> FxHashSet<u32> {
        let dests = self.body.iter().filter_map(|(node, _)| match node {
            Node::Alu(Alu { dest, .. }) | Node::Tex(Tex { dest, .. }) | Node::Phi { dest, .. } => Some(dest),
            Node::Deref(Deref { dest, .. }) => Some(dest),
            Node::Intrinsic(i) => i.dest.as_ref(),
            _ => None,
        });
        let written = dests.chain(self.copies.iter().map(|(d, _)| d)).filter_map(|d| match d {
            Dest::Reg(reg, _) => Some(*reg),
            Dest::Ssa(_) => None,
        });
        let nodes = self.body.iter().filter_map(|(node, _)| match node {
            Node::If(src) => Some(src),
            _ => None,
        });
        let tex = self.tex_args.iter().filter_map(|a| match &a.value {
            TexValue::Src(src) => Some(src),
            _ => None,
        });
        let srcs = self.srcs.iter().chain(self.phis.iter().map(|(_, s)| s));
        let srcs = srcs.chain(self.copies.iter().map(|(_, s)| s)).chain(nodes).chain(tex);
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

/// A single source of a function's pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrcId(pub(super) u32);

/// Bits of a component and number of components.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Shape {
    pub bits: u8,
    pub comps: u8,
}

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
    Intrinsic(Intrinsic<'s>),
    Tex(Tex<'s>),
    Deref(Deref<'s>),
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
    nibbles: u64,
    len: u8,
}

impl Swizzle {
    pub const EMPTY: Swizzle = Swizzle { nibbles: 0, len: 0 };

    /// Appends a component below 16; more than 16 are dropped.
    pub fn push(&mut self, component: u8) {
        if self.len < 16 {
            self.nibbles |= u64::from(component & 15) << (4 * self.len);
            self.len += 1;
        }
    }

    pub fn get(self, i: usize) -> Option<usize> {
        (i < usize::from(self.len)).then(|| (self.nibbles >> (4 * i)) as usize & 15)
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

/// `access=0`: both parts as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index<'s> {
    pub name: &'s str,
    pub value: &'s str,
    pub span: Span,
}

#[derive(Clone, Copy, Debug)]
pub struct Intrinsic<'s> {
    pub name: &'s str,
    pub dest: Option<Dest>,
    pub srcs: Range,
    pub indices: Range,
}

/// `ssa_3 (coord)`, `0 (texture)`, `1 (gather_component)`.
#[derive(Clone, Copy, Debug)]
pub struct TexArg<'s> {
    pub kind: &'s str,
    pub value: TexValue,
    pub span: Span,
}

#[derive(Clone, Copy, Debug)]
pub enum TexValue {
    Src(Src),
    Int(i64),
    /// Four pairs, as gathers have them.
    Offsets([(i32, i32); 4]),
    /// The word alone: `sparse`, `texture non-uniform`, and the newer form's dimension.
    Flag,
}

#[derive(Clone, Copy, Debug)]
pub struct Tex<'s> {
    pub op: &'s str,
    /// `float32`, `int32`, `uint32`, …
    pub ty: &'s str,
    pub dest: Dest,
    pub args: Range,
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
    /// `shared`, `ssbo|global`, …
    pub modes: &'s str,
    pub ty: &'s str,
}
