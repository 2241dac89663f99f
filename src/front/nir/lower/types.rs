//! Layout of the types that derefs name: GLSL's and OpenCL's scalars, vectors, matrices, arrays, structures.
//!
//! NIR prints types by name only, so strides are those of std430: a vector is aligned to its size (three
//! components to that of four), elements and members follow one another aligned. Explicit sizes in a name
//! (`u64vec4x0a32B`: stride 0, alignment 32) give a matrix's columns their distance and raise the alignment.

use super::super::ast::{Shader, Shape};
use std::rc::Rc;

/// A type as memory has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub size: u32,
    pub align: u32,
    pub kind: Kind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
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

impl Layout {
    pub(super) fn parse(name: &str, shader: &Shader<'_>) -> Option<Rc<Layout>> {
        parse(name.trim(), shader, DEPTH)
    }

    pub(super) fn value(shape: Shape) -> Layout {
        let scalar = if shape.bits == 1 { 4 } else { u32::from(shape.bits) / 8 };
        let comps = u32::from(shape.comps);
        Layout { size: scalar * comps, align: scalar * comps.next_power_of_two(), kind: Kind::Value(shape) }
    }
}

fn array(element: Rc<Layout>, len: u32) -> Option<Rc<Layout>> {
    let stride = element.size.checked_next_multiple_of(element.align.max(1))?;
    strided(element, len, stride)
}

fn strided(element: Rc<Layout>, len: u32, stride: u32) -> Option<Rc<Layout>> {
    let size = stride.checked_mul(len)?;
    let align = element.align;
    Some(Rc::new(Layout { size, align, kind: Kind::Array { element, stride, len } }))
}

fn parse(name: &str, shader: &Shader<'_>, depth: u32) -> Option<Rc<Layout>> {
    let depth = depth.checked_sub(1)?;
    // The first bracket is the outermost dimension.
    if let Some(open) = name.find('[') {
        let close = open + name[open..].find(']')?;
        let len = &name[open + 1..close];
        let len = if len.is_empty() { 0 } else { len.parse().ok()? };
        let inner = format!("{}{}", &name[..open], &name[close + 1..]);
        return array(parse(&inner, shader, depth)?, len);
    }
    let bare = name.strip_prefix("struct ").unwrap_or(name);
    if let Some(decl) = shader.structs.iter().find(|s| s.name == bare) {
        let (mut size, mut align, mut members) = (0u32, 1, Vec::new());
        for (ty, field) in &decl.fields {
            let member = parse(ty, shader, depth)?;
            size = size.checked_next_multiple_of(member.align.max(1))?;
            members.push((field.to_string(), size, member.clone()));
            size = size.checked_add(member.size)?;
            align = align.max(member.align);
        }
        let size = size.checked_next_multiple_of(align)?;
        return Some(Rc::new(Layout { size, align, kind: Kind::Struct(members) }));
    }
    let (plain, explicit) = explicit(name);
    let mut layout = if let Some((cols, shape)) = matrix(plain) {
        let column = Rc::new(Layout::value(shape));
        (*match explicit {
            Some((stride, _)) if stride >= column.size => strided(column, cols, stride)?,
            _ => array(column, cols)?,
        })
        .clone()
    } else if let Some(shape) = value(plain) {
        Layout::value(shape)
    } else if ["sampler", "texture", "image"]
        .iter()
        .any(|k| plain.trim_start_matches(['i', 'u']).starts_with(k) || plain.contains(k))
    {
        Layout { size: 0, align: 1, kind: Kind::Opaque }
    } else {
        return None;
    };
    if let Some((_, align)) = explicit {
        layout.align = layout.align.max(align);
    }
    Some(Rc::new(layout))
}

/// `u64vec4x0a32B`: the name, stride and alignment in bytes.
fn explicit(name: &str) -> (&str, Option<(u32, u32)>) {
    let Some(stem) = name.strip_suffix('B') else { return (name, None) };
    let Some((rest, align)) = stem.rsplit_once('a') else { return (name, None) };
    let Some((plain, stride)) = rest.rsplit_once('x') else { return (name, None) };
    match (stride.parse::<u32>(), align.parse::<u32>()) {
        (Ok(stride), Ok(align)) if align == 0 || align.is_power_of_two() => (plain, Some((stride, align))),
        _ => (name, None),
    }
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

fn value(name: &str) -> Option<Shape> {
    let bits = match name {
        "float" | "int" | "uint" => 32,
        "double" | "int64_t" | "uint64_t" => 64,
        "float16_t" | "int16_t" | "uint16_t" => 16,
        "int8_t" | "uint8_t" => 8,
        "bool" => 1,
        _ => {
            let at = name.find("vec")?;
            let (_, bits) = PREFIXES.iter().find(|(p, _)| *p == &name[..at])?;
            let comps = name[at + 3..].parse().ok()?;
            let shape = Shape { bits: *bits, comps };
            return matches!(comps, 2..=5 | 8 | 16).then_some(shape);
        }
    };
    Some(Shape { bits, comps: 1 })
}

/// `mat3`, `dmat2x4`: columns, and the shape of one.
fn matrix(name: &str) -> Option<(u32, Shape)> {
    let at = name.find("mat")?;
    let bits = match &name[..at] {
        "" => 32,
        "d" => 64,
        "f16" => 16,
        _ => return None,
    };
    let size = &name[at + 3..];
    let (cols, rows) = size.split_once('x').unwrap_or((size, size));
    let (cols, comps) = (cols.parse().ok()?, rows.parse().ok()?);
    (matches!(cols, 2..=4) && matches!(comps, 2..=4)).then_some((cols, Shape { bits, comps }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_follow_std430() {
        let shader = Shader {
            structs: vec![super::super::super::ast::Struct {
                name: "light",
                fields: vec![("vec3", "pos"), ("float", "power"), ("vec2[3]", "uv")],
            }],
            ..Shader::default()
        };
        let size = |name| Layout::parse(name, &shader).map(|l| (l.size, l.align));
        assert_eq!(size("vec3"), Some((12, 16)));
        assert_eq!(size("vec3[4]"), Some((64, 16)));
        assert_eq!(size("float[4][2]"), Some((32, 4)));
        assert_eq!(size("u64vec4x0a32B"), Some((32, 32)));
        assert_eq!(size("mat3x2"), Some((24, 8)));
        assert_eq!(size("mat3x2x16a0B"), Some((48, 8)));
        assert_eq!(size("light"), Some((48, 16)));
        assert_eq!(size("frob"), None);
        let mut deep = String::from("int");
        deep.extend(std::iter::repeat_n("[1]", 1000));
        assert_eq!(size(&deep), None);
    }
}
