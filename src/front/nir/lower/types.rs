//! Layout in memory of the types of variables and derefs.
//!
//! NIR prints types by name only, so strides are those of std430: a vector is aligned to its size (three
//! components to that of four), elements and members follow one another aligned. [`Explicit`] sizes give a matrix's
//! columns their distance and raise the alignment.

use super::super::ast::{Shader, Shape};
use super::super::interface::words_of;
use super::super::types::{Explicit, Type, TypeId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A type as memory has it; sizes in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::front::nir) struct Layout {
    pub size: u32,
    pub align: u32,
    /// The alignment of its scalars: what an unaligned vector still has.
    pub scalar: u32,
    /// Vectors of 16 bytes that it takes as an input or output of a stage, where every part begins with one of its own.
    pub vectors: u32,
    pub kind: Kind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::front::nir) enum Kind {
    /// Scalar or vector.
    Value(Shape),
    /// Arrays, and matrices as arrays of columns; length 0: unbounded.
    Array { element: Rc<Layout>, stride: u32, len: u32 },
    /// Name, offset and type of each member.
    Struct(Vec<(String, u32, Rc<Layout>)>),
    /// Samplers, textures, images.
    Opaque,
}

/// How deep types may nest.
const DEPTH: u32 = 32;

/// The layouts found so far, each with how deep its type nests.
#[derive(Default)]
pub(in crate::front::nir) struct Layouts(FxHashMap<TypeId, (Rc<Layout>, u32)>);

impl Layouts {
    /// The layout of a type; `None`: the text does not say it, or the type nests too deep.
    pub(in crate::front::nir) fn of(&mut self, shader: &Shader<'_>, id: TypeId) -> Option<Rc<Layout>> {
        self.find(shader, id, DEPTH).map(|(layout, _)| layout)
    }

    /// The same for a type that may nest `depth` deep, and how deep it does.
    fn find(&mut self, shader: &Shader<'_>, id: TypeId, depth: u32) -> Option<(Rc<Layout>, u32)> {
        if let Some(known) = self.0.get(&id) {
            return Some(known.clone()).filter(|(_, deep)| *deep <= depth);
        }
        let depth = depth.checked_sub(1)?;
        let mut deep = 0;
        let layout = match shader.types.get(id) {
            Type::Vector(shape, explicit) => aligned(Layout::value(shape), explicit),
            Type::Matrix { columns, column, explicit } => {
                let column = Rc::new(Layout::value(column));
                let layout = match explicit.stride {
                    stride if stride >= column.size => strided(column, columns, stride)?,
                    _ => array(column, columns)?,
                };
                aligned(layout, explicit)
            }
            Type::Array { element, len } => {
                let element = self.find(shader, element, depth)?;
                deep = element.1;
                array(element.0, len)?
            }
            Type::Struct(number) => {
                let (mut size, mut align, mut scalar, mut members) = (0u32, 1, 1, Vec::new());
                let mut vectors = 0u32;
                for (ty, field) in &shader.structs[number as usize].fields {
                    let (member, below) = self.find(shader, *ty, depth)?;
                    size = size.checked_next_multiple_of(member.align.max(1))?;
                    members.push((field.to_string(), size, member.clone()));
                    size = size.checked_add(member.size)?;
                    align = align.max(member.align);
                    scalar = scalar.max(member.scalar);
                    vectors = vectors.saturating_add(member.vectors);
                    deep = deep.max(below);
                }
                let size = size.checked_next_multiple_of(align)?;
                Layout { size, align, scalar, vectors, kind: Kind::Struct(members) }
            }
            // Between stages it is a handle.
            Type::Opaque { .. } => Layout { size: 0, align: 1, scalar: 1, vectors: 1, kind: Kind::Opaque },
            Type::Unknown => return None,
        };
        let found = (Rc::new(layout), deep + 1);
        self.0.insert(id, found.clone());
        Some(found)
    }
}

impl Layout {
    pub(in crate::front::nir) fn value(shape: Shape) -> Layout {
        let size = if shape.bits == 1 { 4 } else { u32::from(shape.bits) / 8 };
        let (comps, scalar) = (u32::from(shape.comps), u32::from(shape.bits.max(8)) / 8);
        let align = size * comps.next_power_of_two();
        let vectors = words_of(shape).div_ceil(4);
        Layout { size: size * comps, align, scalar, vectors, kind: Kind::Value(shape) }
    }
}

fn aligned(layout: Layout, explicit: Explicit) -> Layout {
    Layout { align: layout.align.max(explicit.align), ..layout }
}

fn array(element: Rc<Layout>, len: u32) -> Option<Layout> {
    let stride = element.size.checked_next_multiple_of(element.align.max(1))?;
    strided(element, len, stride)
}

fn strided(element: Rc<Layout>, len: u32, stride: u32) -> Option<Layout> {
    let (size, align, scalar) = (stride.checked_mul(len)?, element.align, element.scalar);
    let vectors = element.vectors.saturating_mul(len);
    Some(Layout { size, align, scalar, vectors, kind: Kind::Array { element, stride, len } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::nir::parse;

    #[test]
    fn layouts_follow_std430() {
        let size = |name: &str| {
            let text = format!(
                "struct light {{\n   vec3 pos;\n   float power;\n   vec2[3] uv;\n}}\n\
                 struct ring {{\n   ring next;\n}}\ndecl_var shared INTERP_MODE_NONE {name} x\nimpl main {{\n}}\n"
            );
            let shader = parse(&text).expect("valid");
            Layouts::default().of(&shader, shader.vars[0].ty).map(|l| (l.size, l.align))
        };
        assert_eq!(size("vec3"), Some((12, 16)));
        assert_eq!(size("vec3[4]"), Some((64, 16)));
        assert_eq!(size("float[4][2]"), Some((32, 4)));
        assert_eq!(size("u64vec4x0a32B"), Some((32, 32)));
        assert_eq!(size("mat3x2"), Some((24, 8)));
        assert_eq!(size("mat3x2x16a0B"), Some((48, 8)));
        assert_eq!(size("light"), Some((48, 16)));
        assert_eq!(size("frob"), None);
        assert_eq!(size("ring"), None, "it holds itself");
        assert_eq!(size(&format!("int{}", "[1]".repeat(31))), Some((4, 4)));
        assert_eq!(size(&format!("int{}", "[1]".repeat(1000))), None);
    }

    #[test]
    fn structures_that_nest_are_laid_out_once() {
        // Each holds the one before it twice: 2^25 integers by their number, 26 layouts.
        let mut text = String::from("struct s0 {\n   int x;\n}\n");
        for n in 1..26 {
            text += &format!("struct s{n} {{\n   s{} a;\n   s{} b;\n}}\n", n - 1, n - 1);
        }
        text += "decl_var shared INTERP_MODE_NONE s25 x\nimpl main {\n}\n";
        let shader = parse(&text).expect("valid");
        let mut layouts = Layouts::default();
        assert_eq!(layouts.of(&shader, shader.vars[0].ty).map(|l| l.size), Some(4 << 25));
        assert_eq!(layouts.0.len(), 27, "26 structures and the integer");
    }
}
