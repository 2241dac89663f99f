//! The types of variables and derefs: GLSL's and OpenCL's, by the names that `glsl_get_type_name` gives them.
//!
//! A type is parsed once, when its name is met first; a [`TypeId`] names it from then on.

use super::ast::{Shape, Struct};
use super::names::Named;
use crate::ir::Dim;
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeId(u32);

/// Sizes that a name says itself (`u64vec4x0a32B`): bytes from one column to the next, and alignment; 0: not said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Explicit {
    pub stride: u32,
    pub align: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// Scalar or vector.
    Vector(Shape, Explicit),
    Matrix {
        columns: u32,
        column: Shape,
        explicit: Explicit,
    },
    /// Length 0: unbounded.
    Array {
        element: TypeId,
        len: u32,
    },
    /// By number in the shader's structures.
    Struct(u32),
    /// Samplers, textures, images: their dimension, where the name says it, and whether they are layered.
    Opaque {
        dim: Option<Dim>,
        array: bool,
    },
    /// A name that the text says nothing more of.
    Unknown,
}

impl Type {
    /// Dimension of a sampler, texture or image, and whether there are layers.
    pub fn opaque(self) -> Option<(Dim, bool)> {
        match self {
            Type::Opaque { dim, array } => Some((dim?, array)),
            _ => None,
        }
    }
}

/// The types of a shader.
#[derive(Clone, Debug, Default)]
pub struct Types<'s> {
    /// With the name of each, or of the array that it is an element of.
    list: Vec<(Type, &'s str)>,
    by_name: FxHashMap<&'s str, TypeId>,
}

impl<'s> Types<'s> {
    pub fn get(&self, id: TypeId) -> Type {
        self.list[id.0 as usize].0
    }

    pub fn name(&self, id: TypeId) -> &'s str {
        self.list[id.0 as usize].1
    }

    /// What the elements of an array are, however many dimensions it has, and how many they are.
    pub(crate) fn flattened(&self, mut id: TypeId) -> (Type, u32) {
        let mut count = 1u32;
        loop {
            match self.get(id) {
                Type::Array { element, len } => {
                    count = count.saturating_mul(len.max(1));
                    id = element;
                }
                ty => return (ty, count),
            }
        }
    }

    /// Whether it is an image, or an array of images; so is what the text says nothing of.
    pub fn is_image(&self, id: TypeId) -> bool {
        match self.flattened(id).0 {
            Type::Opaque { .. } => self.name(id).contains("image"),
            ty => ty == Type::Unknown,
        }
    }

    /// The type of that name.
    pub(super) fn named(&mut self, name: &'s str) -> TypeId {
        let name = name.trim();
        let name = name.strip_prefix("struct ").unwrap_or(name);
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let id = match name.split_once('[') {
            Some((element, lengths)) => self.array(name, element, lengths),
            None => self.push(classify(name), name),
        };
        self.by_name.insert(name, id);
        id
    }

    /// `element[2][3]`: the first bracket is the outermost dimension.
    fn array(&mut self, name: &'s str, element: &'s str, lengths: &str) -> TypeId {
        let Some(lengths) = lengths.strip_suffix(']') else { return self.push(Type::Unknown, name) };
        let mut id = self.named(element);
        for length in lengths.rsplit("][") {
            let len = if length.is_empty() { Some(0) } else { length.parse().ok() };
            let ty = len.map_or(Type::Unknown, |len| Type::Array { element: id, len });
            id = self.push(ty, name);
            if len.is_none() {
                break;
            }
        }
        id
    }

    fn push(&mut self, ty: Type, name: &'s str) -> TypeId {
        self.list.push((ty, name));
        TypeId(self.list.len() as u32 - 1)
    }

    /// Tells the structures from other names once all have been read; of two that have one name the first counts.
    pub(super) fn resolve(&mut self, structs: &[Struct<'s>]) {
        for (number, decl) in structs.iter().enumerate().rev() {
            if let Some(id) = self.by_name.get(decl.name) {
                self.list[id.0 as usize].0 = Type::Struct(number as u32);
            }
        }
    }
}

/// What a name that is neither an array's nor a structure's means.
fn classify(name: &str) -> Type {
    let (plain, explicit) = explicit(name);
    if let Some((columns, column)) = matrix(plain) {
        Type::Matrix { columns, column, explicit }
    } else if let Some(shape) = vector(plain) {
        Type::Vector(shape, explicit)
    } else {
        opaque(plain).unwrap_or(Type::Unknown)
    }
}

/// `u64vec4x0a32B`: the type's name without the sizes.
pub(super) fn bare(name: &str) -> &str {
    explicit(name).0
}

/// `u64vec4x0a32B`: the name, and the sizes in bytes.
fn explicit(name: &str) -> (&str, Explicit) {
    let sizes = || {
        let (rest, align) = name.strip_suffix('B')?.rsplit_once('a')?;
        let (plain, stride) = rest.rsplit_once('x')?;
        let (stride, align) = (stride.parse().ok()?, align.parse::<u32>().ok()?);
        (align == 0 || align.is_power_of_two()).then_some((plain, Explicit { stride, align }))
    };
    sizes().unwrap_or((name, Explicit::default()))
}

/// Bits of a base type by the prefix that its vectors have.
const PREFIXES: &[(&str, u8)] = &[
    ("i64", 64),
    ("u64", 64),
    ("i16", 16),
    ("u16", 16),
    ("f16", 16),
    ("i8", 8),
    ("u8", 8),
    ("d", 64),
    ("b", 1),
    ("i", 32),
    ("u", 32),
    ("", 32),
];

fn vector(name: &str) -> Option<Shape> {
    let bits = match name {
        "float" | "int" | "uint" => 32,
        "double" | "int64_t" | "uint64_t" => 64,
        "float16_t" | "int16_t" | "uint16_t" => 16,
        "int8_t" | "uint8_t" => 8,
        "bool" => 1,
        _ => {
            let (prefix, comps) = name.split_once("vec")?;
            let (_, bits) = PREFIXES.iter().find(|(p, _)| *p == prefix)?;
            let shape = Shape { bits: *bits, comps: comps.parse().ok()? };
            return matches!(shape.comps, 2..=5 | 8 | 16).then_some(shape);
        }
    };
    Some(Shape { bits, comps: 1 })
}

/// `mat3`, `dmat2x4`: columns, and the shape of one.
fn matrix(name: &str) -> Option<(u32, Shape)> {
    let (prefix, size) = name.split_once("mat")?;
    let bits = match prefix {
        "" => 32,
        "d" => 64,
        "f16" => 16,
        _ => return None,
    };
    let (columns, rows) = size.split_once('x').unwrap_or((size, size));
    let (columns, comps) = (columns.parse().ok()?, rows.parse().ok()?);
    (matches!(columns, 2..=4) && matches!(comps, 2..=4)).then_some((columns, Shape { bits, comps }))
}

/// `usampler2DArrayShadow`, `image3D`.
fn opaque(name: &str) -> Option<Type> {
    let end = ["sampler", "texture", "image"].iter().find_map(|k| name.find(k).map(|at| at + k.len()))?;
    let kind = &name[end..];
    let kind = kind.strip_suffix("Shadow").unwrap_or(kind);
    let (dim, array) = match kind.strip_suffix("Array") {
        Some(dim) => (dim, true),
        None => (kind, false),
    };
    Some(Type::Opaque { dim: Dim::of(dim), array })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_trees() {
        let mut types = Types::default();
        let shape = |bits, comps| Shape { bits, comps };
        let (two, one) = (types.named("u64vec4x0a32B[2][3]"), types.named("u64vec4x0a32B"));
        let Type::Array { element: inner, len: 2 } = types.get(two) else { panic!("the outer dimension") };
        assert_eq!(types.get(inner), Type::Array { element: one, len: 3 });
        assert_eq!(types.get(one), Type::Vector(shape(64, 4), Explicit { stride: 0, align: 32 }));
        assert_eq!(types.flattened(two), (types.get(one), 6));
        assert_eq!(types.named("u64vec4x0a32B[2][3]"), two, "parsed once");
        let mut get = |name| {
            let id = types.named(name);
            types.get(id)
        };
        let explicit = Explicit { stride: 16, align: 0 };
        assert_eq!(get("mat3x2x16a0B"), Type::Matrix { columns: 3, column: shape(32, 2), explicit });
        assert_eq!(get("usampler2DArrayShadow"), Type::Opaque { dim: Some(Dim::D2), array: true });
        assert_eq!(get("image2DMSArray"), Type::Opaque { dim: Some(Dim::Ms), array: true });
        assert_eq!(get("sampler"), Type::Opaque { dim: None, array: false });
        assert!(matches!(get("vec4[]"), Type::Array { len: 0, .. }));
        for wrong in ["frob", "vec7", "int[x]", "int[2", "int[2]x", "int[2[3]"] {
            assert_eq!(get(wrong), Type::Unknown, "{wrong}");
        }
    }

    #[test]
    fn a_structure_may_have_any_name() {
        let mut types = Types::default();
        let (ty, of_two) = (types.named("vec3"), types.named("struct vec3[2]"));
        let decl = Struct { name: "vec3", fields: Vec::new() };
        types.resolve(&[decl.clone(), decl]);
        assert_eq!(types.get(ty), Type::Struct(0));
        assert_eq!(types.flattened(of_two), (Type::Struct(0), 2));
    }
}
