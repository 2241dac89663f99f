//! Types: what they are made of, and how their values lie in memory.
//!
//! Offsets and strides are those that decorations say; where none do, OpenCL's rules hold: numbers are aligned to their size,
//! vectors to the next power of two of theirs, structures to their largest member. All sizes are kept per id, so types that
//! share parts cost nothing, however large what they describe is.

use super::module::Module;
use crate::front::common::emit::value::Shape;
use spirv::{Dim, ImageFormat, StorageClass};

/// Types nest no deeper (SPIR-V's universal limit for structures).
pub(super) const DEPTH: u16 = 255;
/// Scalars of the largest value that is handled as a whole.
pub(super) const SCALARS: u32 = 1 << 12;
/// No type is larger, in bytes.
pub(super) const LARGEST: u64 = 1 << 32;

/// An image type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Image {
    /// The type of its texels, or void.
    pub(super) sampled_type: u32,
    pub(super) dim: Dim,
    pub(super) depth: bool,
    pub(super) arrayed: bool,
    pub(super) multisampled: bool,
    /// 0: not known, 1: with a sampler, 2: without.
    pub(super) sampled: u32,
    pub(super) format: ImageFormat,
    /// `ReadOnly`, `WriteOnly`, `ReadWrite`, of kernels.
    pub(super) access: Option<u32>,
}

impl Image {
    /// Whether it is stored to, or read and stored to: not a texture.
    pub(super) fn is_stored(&self) -> bool {
        // Of kernels, what is not `ReadOnly`.
        self.sampled == 2 || self.sampled == 0 && matches!(self.access, Some(1 | 2))
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Type {
    Void,
    Bool,
    Int { bits: u8, signed: bool },
    Float { bits: u8 },
    Vector { part: u32, len: u8 },
    Matrix { column: u32, columns: u8 },
    Array { part: u32, len: u32 },
    RuntimeArray { part: u32 },
    Struct { members: Vec<u32> },
    Pointer { class: StorageClass, to: u32 },
    Image(Image),
    Sampler,
    SampledImage { image: u32 },
    Function { result: u32, params: Vec<u32> },
    Event,
    Opaque,
}

/// A type, and what follows from it.
#[derive(Clone, Debug)]
pub(super) struct Info {
    pub(super) ty: Type,
    /// Of a scalar or vector.
    pub(super) shape: Option<Shape>,
    /// How deep it nests.
    pub(super) depth: u16,
    /// Scalars of a value; more than can be counted is `u32::MAX`.
    pub(super) comps: u32,
    /// Scalars and composites below it, each as often as it occurs: what a walk over a value takes.
    pub(super) weight: u32,
    /// In memory, in bytes; 0 of what does not lie there.
    pub(super) size: u64,
    pub(super) align: u32,
    /// The alignment of its scalars: what an unaligned value still has.
    pub(super) scalar: u32,
    /// Of structures: bytes from the beginning to each member.
    pub(super) offsets: Vec<u32>,
    /// Of arrays and matrices (where their members do not say it): bytes from one part to the next.
    pub(super) stride: u32,
    /// Bytes that its values take in memory, without those of matrices, which their members say, and without padding at the end.
    pub(super) extent: u64,
    /// It is or holds an image, a sampler or the like.
    pub(super) opaque: bool,
    /// Locations that it takes as an input or output; more than can be counted is `u32::MAX`.
    pub(super) vectors: u32,
    /// How it lies by the rules of std140: uniforms outside blocks do.
    pub(super) std140: Std140,
}

/// Size and alignment by the rules of std140, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Std140 {
    pub(super) size: u64,
    pub(super) align: u32,
}

impl Std140 {
    /// From one element of an array of this, or from one column of a matrix, to the next.
    pub(super) fn stride(self) -> u64 {
        self.size.checked_next_multiple_of(u64::from(self.align.max(16))).unwrap_or(u64::MAX)
    }

    /// Where it lies if what is before it ends there.
    fn after(self, end: u64) -> u64 {
        end.checked_next_multiple_of(u64::from(self.align.max(1))).unwrap_or(u64::MAX)
    }
}

impl Info {
    /// A type that does not lie in memory.
    pub(super) fn plain(ty: Type) -> Info {
        Info {
            shape: match ty {
                Type::Bool => Some(Shape::scalar(1)),
                Type::Int { bits, .. } | Type::Float { bits } => Some(Shape::scalar(bits)),
                // A word that says nothing.
                Type::Event => Some(Shape::scalar(32)),
                _ => None,
            },
            ty,
            depth: 0,
            comps: 1,
            weight: 1,
            size: 0,
            align: 1,
            scalar: 1,
            offsets: Vec::new(),
            stride: 0,
            extent: 0,
            opaque: false,
            vectors: 0,
            std140: Std140::default(),
        }
    }

    /// Whether a value is too large to be handled as a whole. Structures without members have no scalars, but are many.
    pub(super) fn is_large(&self) -> bool {
        self.comps > SCALARS || self.weight > 8 * SCALARS
    }

    /// A scalar of so many bytes.
    pub(super) fn scalar(ty: Type, bytes: u32) -> Info {
        Info { size: bytes.into(), extent: bytes.into(), align: bytes, scalar: bytes, ..Info::plain(ty) }
    }
}

/// How matrices lie in memory: the distance of columns, or of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Majority {
    pub(super) stride: u32,
    pub(super) row_major: bool,
}

impl Module {
    pub(super) fn info(&self, id: u32) -> Option<&Info> {
        self.types.get(id)
    }

    pub(super) fn ty(&self, id: u32) -> Option<&Type> {
        self.types.get(id).map(|info| &info.ty)
    }

    /// The type that a value leads to, if it is a pointer.
    pub(super) fn leads_to(&self, value: u32) -> Option<u32> {
        match self.ty(self.code.type_of(value)?) {
            Some(&Type::Pointer { to, .. }) => Some(to),
            _ => None,
        }
    }

    /// The shape of a scalar or vector.
    pub(super) fn shape(&self, id: u32) -> Option<Shape> {
        self.info(id)?.shape
    }

    /// The scalar type that a scalar, vector or matrix is made of.
    pub(super) fn scalar_type(&self, id: u32) -> Option<&Type> {
        match self.ty(id)? {
            Type::Vector { part, .. } => self.scalar_type(*part),
            Type::Matrix { column, .. } => self.scalar_type(*column),
            ty @ (Type::Bool | Type::Int { .. } | Type::Float { .. }) => Some(ty),
            _ => None,
        }
    }

    pub(super) fn is_float(&self, id: u32) -> bool {
        matches!(self.scalar_type(id), Some(Type::Float { .. }))
    }

    pub(super) fn is_int(&self, id: u32) -> bool {
        matches!(self.scalar_type(id), Some(Type::Int { .. }))
    }

    pub(super) fn is_bool(&self, id: u32) -> bool {
        matches!(self.scalar_type(id), Some(Type::Bool))
    }

    /// The type of the parts of a composite; `n`: which member of a structure.
    pub(super) fn part(&self, id: u32, n: u32) -> Option<u32> {
        match self.ty(id)? {
            Type::Vector { part, .. } | Type::Array { part, .. } | Type::RuntimeArray { part } => Some(*part),
            Type::Matrix { column, .. } => Some(*column),
            Type::Struct { members } => members.get(n as usize).copied(),
            _ => None,
        }
    }

    /// Parts of a composite; of an array whose length is not known, none.
    pub(super) fn parts(&self, id: u32) -> Option<u32> {
        match self.ty(id)? {
            Type::Vector { len, .. } => Some(u32::from(*len)),
            Type::Array { len, .. } => Some(*len),
            Type::Matrix { columns, .. } => Some(u32::from(*columns)),
            Type::Struct { members } => Some(members.len() as u32),
            _ => None,
        }
    }

    /// Locations, and a place by the rules of std140, of a type whose parts are known.
    pub(super) fn derived(&self, info: &Info) -> (u32, Std140) {
        let of = |id: &u32| self.info(*id).map_or((0, Std140::default()), |i| (i.vectors, i.std140));
        let many = |part: &u32, len: u32| {
            let (vectors, std140) = of(part);
            let size = std140.stride().saturating_mul(len.into());
            (vectors.saturating_mul(len), Std140 { size, align: std140.align.max(16) })
        };
        match &info.ty {
            Type::Bool | Type::Int { .. } | Type::Float { .. } | Type::Pointer { .. } | Type::Event => {
                (1, Std140 { size: info.size, align: info.align })
            }
            Type::Vector { len, .. } => {
                let bytes = u32::from(*len) * info.scalar;
                let align = u32::from(*len).next_power_of_two() * info.scalar;
                (bytes.div_ceil(16).max(1), Std140 { size: bytes.into(), align })
            }
            Type::Matrix { column, columns } => many(column, (*columns).into()),
            Type::Array { part, len } => many(part, *len),
            Type::RuntimeArray { .. } => (u32::MAX, Std140::default()),
            Type::Struct { members } => {
                let mut end = 0u64;
                let mut vectors = 0u32;
                for member in members {
                    let (count, std140) = of(member);
                    vectors = vectors.saturating_add(count);
                    end = std140.after(end).saturating_add(std140.size);
                }
                let align = members.iter().map(|id| of(id).1.align).max().unwrap_or(0).max(16);
                (vectors, Std140 { size: Std140 { size: 0, align }.after(end), align })
            }
            _ => (0, Std140::default()),
        }
    }

    /// Bytes from the beginning of a structure to a member, by the rules of std140.
    pub(super) fn std140_offset(&self, members: &[u32], n: u32) -> u64 {
        let mut end = 0u64;
        for (i, member) in members.iter().enumerate() {
            let std140 = self.info(*member).map_or(Std140::default(), |i| i.std140);
            let at = std140.after(end);
            if i as u32 == n {
                return at;
            }
            end = at.saturating_add(std140.size);
        }
        end
    }

    /// Scalars of a composite before its part `n`.
    pub(super) fn comps_before(&self, id: u32, n: u32) -> u32 {
        let of = |id: u32| self.info(id).map_or(0, |info| info.comps);
        match self.ty(id) {
            Some(Type::Struct { members }) => {
                members.iter().take(n as usize).fold(0, |sum, &m| u32::saturating_add(sum, of(m)))
            }
            _ => self.part(id, n).map_or(0, |part| of(part).saturating_mul(n)),
        }
    }

    /// How a member's matrices lie, if it has any.
    pub(super) fn majority(&self, structure: u32, member: u32) -> Option<Majority> {
        use spirv::Decoration;
        let stride = self.member_decoration(structure, member, Decoration::MatrixStride)?.first().copied()?;
        let row_major = self.member_decoration(structure, member, Decoration::RowMajor).is_some();
        Some(Majority { stride, row_major })
    }

    /// A type as it is written in assembly.
    pub(super) fn type_name(&self, id: u32) -> String {
        match self.ty(id) {
            Some(Type::Void) => "void".into(),
            Some(Type::Bool) => "bool".into(),
            Some(Type::Int { bits, signed }) => format!("{}{bits}", if *signed { "int" } else { "uint" }),
            Some(Type::Float { bits }) => format!("float{bits}"),
            Some(Type::Vector { part, len }) => format!("vector of {len} {}", self.type_name(*part)),
            Some(Type::Matrix { .. }) => "matrix".into(),
            Some(Type::Array { .. } | Type::RuntimeArray { .. }) => "array".into(),
            Some(Type::Struct { .. }) => match self.given_name(id) {
                Some(name) => format!("struct {name}"),
                None => "struct".into(),
            },
            Some(Type::Pointer { class, .. }) => format!("pointer ({class:?})"),
            Some(Type::Image(_)) => "image".into(),
            Some(Type::Sampler) => "sampler".into(),
            Some(Type::SampledImage { .. }) => "sampled image".into(),
            Some(Type::Function { .. }) => "function".into(),
            Some(Type::Event | Type::Opaque) => "opaque type".into(),
            None => format!("%{id}"),
        }
    }
}
