//! Shader stages, and where their inputs and outputs lie.
//!
//! The five graphics stages share one attribute address space `a[]` of 0x400 bytes; per-patch
//! attributes have another one of that size. Source of the addresses: Mesa 22.3.6,
//! gallium/drivers/nouveau/nvc0/nvc0_program.c (`nvc0_shader_input_address`,
//! `nvc0_shader_output_address`), measured over 2010 programs.

use std::fmt;
use std::str::FromStr;

/// Bytes of the attribute address space.
pub const ATTRIBUTE_BYTES: u32 = 0x400;

/// Where attributes lie that the hardware itself reads or writes, in bytes.
pub mod attribute {
    /// Number of the primitive.
    pub const PRIMITIVE_ID: u32 = 0x060;
    /// Layer of the framebuffer.
    pub const LAYER: u32 = 0x064;
    /// Number of the viewport.
    pub const VIEWPORT_INDEX: u32 = 0x068;
    /// Point size.
    pub const POINT_SIZE: u32 = 0x06c;
    /// Position; in a fragment shader x, y, z in the window and 1/w.
    pub const POSITION: u32 = 0x070;
    /// y.
    pub const POSITION_Y: u32 = 0x074;
    /// z.
    pub const POSITION_Z: u32 = 0x078;
    /// w, or 1/w.
    pub const POSITION_W: u32 = 0x07c;
    /// The first generic attribute; the n-th lies 16 n further.
    pub const GENERIC: u32 = 0x080;
    /// Front colours, 2.
    pub const COLOR: u32 = 0x280;
    /// Back colours, 2.
    pub const BACK_COLOR: u32 = 0x2a0;
    /// Clip distances, 8.
    pub const CLIP_DISTANCE: u32 = 0x2c0;
    /// Coordinates in a point sprite.
    pub const POINT_COORD: u32 = 0x2e0;
    /// Where in its patch a vertex lies.
    pub const TESS_COORD: u32 = 0x2f0;
    /// Number of the instance.
    pub const INSTANCE_ID: u32 = 0x2f8;
    /// Number of the vertex.
    pub const VERTEX_ID: u32 = 0x2fc;
    /// Texture coordinates of the fixed pipeline, 8.
    pub const TEX_COORD: u32 = 0x300;
    /// Whether a fragment belongs to a front face.
    pub const FACE: u32 = 0x3fc;
}

/// A stage of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Stage {
    /// Kernels: grids of blocks.
    #[default]
    Compute,
    /// One thread a vertex.
    Vertex,
    /// One thread an output vertex of a patch.
    TessControl,
    /// One thread a vertex that the tessellator made.
    TessEval,
    /// One thread a primitive and invocation.
    Geometry,
    /// One thread a fragment, four to a quad.
    Fragment,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 6] = [
        Stage::Compute,
        Stage::Vertex,
        Stage::TessControl,
        Stage::TessEval,
        Stage::Geometry,
        Stage::Fragment,
    ];

    /// The name in fixtures, listings and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Compute => "compute",
            Stage::Vertex => "vert",
            Stage::TessControl => "tesc",
            Stage::TessEval => "tese",
            Stage::Geometry => "geom",
            Stage::Fragment => "frag",
        }
    }

    /// Whether it is one of the five stages of the graphics pipeline, whose code has a header.
    pub const fn is_graphics(self) -> bool {
        !matches!(self, Stage::Compute)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(name: &str) -> Result<Stage, String> {
        let known = Stage::ALL.into_iter().find(|s| s.name() == name);
        known.ok_or_else(|| format!("no stage `{name}`: compute, vert, tesc, tese, geom, frag"))
    }
}

/// What an input or output means to the stages around it: TGSI's semantic with its index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Semantic {
    /// Position; in a fragment shader x, y, z in the window and 1/w.
    Position,
    /// What the application names, 0 to 31.
    Generic(u8),
    /// Texture coordinates of the fixed pipeline, 0 to 7.
    TexCoord(u8),
    /// Front colour; of a fragment shader the colour by the side that faces the viewer, or an
    /// output.
    Color(u8),
    /// Back colour.
    BackColor(u8),
    /// Fog coordinate.
    Fog,
    /// Point size.
    PointSize,
    /// Coordinates in a point sprite.
    PointCoord,
    /// Position against which user clip planes are held.
    ClipVertex,
    /// Four clip or cull distances, 0 and 1.
    ClipDist(u8),
    /// Number of the primitive.
    PrimitiveId,
    /// Layer of the framebuffer.
    Layer,
    /// Number of the viewport.
    ViewportIndex,
    /// Edge flag: never leaves a shader on these chips.
    EdgeFlag,
    /// Whether a fragment belongs to a front face.
    Face,
    /// Outer tessellation levels.
    TessOuter,
    /// Inner tessellation levels.
    TessInner,
    /// Attribute of a patch, 0 to 31.
    Patch(u8),
    /// Where in its patch a vertex lies.
    TessCoord,
    /// Number of the vertex.
    VertexId,
    /// Number of the instance.
    InstanceId,
    /// Depth that a fragment shader writes.
    Depth,
    /// Stencil value that a fragment shader writes: these chips cannot.
    Stencil,
    /// Coverage mask that a fragment shader writes.
    SampleMask,
}

/// A semantic's name in TGSI, and how many of it there are.
const NAMES: &[(Semantic, &str, u8)] = &[
    (Semantic::Position, "POSITION", 1),
    (Semantic::Generic(0), "GENERIC", 32),
    (Semantic::TexCoord(0), "TEXCOORD", 8),
    (Semantic::Color(0), "COLOR", 8),
    (Semantic::BackColor(0), "BCOLOR", 2),
    (Semantic::Fog, "FOG", 1),
    (Semantic::PointSize, "PSIZE", 1),
    (Semantic::PointCoord, "PCOORD", 1),
    (Semantic::ClipVertex, "CLIPVERTEX", 1),
    (Semantic::ClipDist(0), "CLIPDIST", 2),
    (Semantic::PrimitiveId, "PRIMID", 1),
    (Semantic::Layer, "LAYER", 1),
    (Semantic::ViewportIndex, "VIEWPORT_INDEX", 1),
    (Semantic::EdgeFlag, "EDGEFLAG", 1),
    (Semantic::Face, "FACE", 1),
    (Semantic::TessOuter, "TESSOUTER", 1),
    (Semantic::TessInner, "TESSINNER", 1),
    (Semantic::Patch(0), "PATCH", 32),
    (Semantic::TessCoord, "TESSCOORD", 1),
    (Semantic::VertexId, "VERTEXID", 1),
    (Semantic::InstanceId, "INSTANCEID", 1),
    (Semantic::Depth, "DEPTH", 1),
    (Semantic::Stencil, "STENCIL", 1),
    (Semantic::SampleMask, "SAMPLEMASK", 1),
];

impl Semantic {
    /// The semantic of a TGSI name and index; none if there is no such name or not so many of it.
    pub fn from_name(name: &str, index: u8) -> Option<Semantic> {
        let &(first, _, count) = NAMES.iter().find(|n| n.1 == name)?;
        (index < count).then(|| first.with_index(index))
    }

    /// All of them, each with all its indices, in the order of their names' table.
    pub fn all() -> impl Iterator<Item = Semantic> {
        NAMES.iter().flat_map(|&(first, _, count)| (0..count).map(move |n| first.with_index(n)))
    }

    fn with_index(self, n: u8) -> Semantic {
        match self {
            Semantic::Generic(_) => Semantic::Generic(n),
            Semantic::TexCoord(_) => Semantic::TexCoord(n),
            Semantic::Color(_) => Semantic::Color(n),
            Semantic::BackColor(_) => Semantic::BackColor(n),
            Semantic::ClipDist(_) => Semantic::ClipDist(n),
            Semantic::Patch(_) => Semantic::Patch(n),
            other => other,
        }
    }

    /// Its index: 0 for those of which there is one.
    pub const fn index(self) -> u8 {
        match self {
            Semantic::Generic(n)
            | Semantic::TexCoord(n)
            | Semantic::Color(n)
            | Semantic::BackColor(n)
            | Semantic::ClipDist(n)
            | Semantic::Patch(n) => n,
            _ => 0,
        }
    }

    /// Its name in TGSI.
    pub fn name(self) -> &'static str {
        let first = self.with_index(0);
        NAMES.iter().find(|n| n.0 == first).map_or("", |n| n.1)
    }

    /// Where its first component lies between stages, in bytes; `None` for what has no address:
    /// results of fragment shaders and edge flags. Inputs of a vertex shader lie elsewhere:
    /// [`vertex_input`].
    pub const fn address(self) -> Option<u32> {
        Some(match self {
            Semantic::TessOuter => 0x000,
            Semantic::TessInner => 0x010,
            Semantic::Patch(n) => 0x020 + 0x10 * n as u32,
            Semantic::PrimitiveId => attribute::PRIMITIVE_ID,
            Semantic::Layer => attribute::LAYER,
            Semantic::ViewportIndex => attribute::VIEWPORT_INDEX,
            Semantic::PointSize => attribute::POINT_SIZE,
            Semantic::Position => attribute::POSITION,
            Semantic::Generic(n) => attribute::GENERIC + 0x10 * n as u32,
            Semantic::ClipVertex => 0x270,
            Semantic::Color(n) if n < 2 => attribute::COLOR + 0x10 * n as u32,
            Semantic::BackColor(n) => attribute::BACK_COLOR + 0x10 * n as u32,
            Semantic::ClipDist(n) => attribute::CLIP_DISTANCE + 0x10 * n as u32,
            Semantic::PointCoord => attribute::POINT_COORD,
            Semantic::Fog => 0x2e8,
            Semantic::TessCoord => attribute::TESS_COORD,
            Semantic::InstanceId => attribute::INSTANCE_ID,
            Semantic::VertexId => attribute::VERTEX_ID,
            Semantic::TexCoord(n) => attribute::TEX_COORD + 0x10 * n as u32,
            Semantic::Face => attribute::FACE,
            Semantic::Color(_) | Semantic::EdgeFlag => return None,
            Semantic::Depth | Semantic::Stencil | Semantic::SampleMask => return None,
        })
    }

    /// How many components it has, from x on.
    pub const fn components(self) -> u8 {
        match self {
            Semantic::PrimitiveId
            | Semantic::Layer
            | Semantic::ViewportIndex
            | Semantic::PointSize
            | Semantic::Fog
            | Semantic::InstanceId
            | Semantic::VertexId
            | Semantic::Face
            | Semantic::EdgeFlag
            | Semantic::Depth
            | Semantic::Stencil
            | Semantic::SampleMask => 1,
            Semantic::PointCoord | Semantic::TessCoord | Semantic::TessInner => 2,
            _ => 4,
        }
    }

    /// Whether it belongs to a patch as a whole, and so lies in the address space of patches.
    pub const fn is_per_patch(self) -> bool {
        matches!(self, Semantic::TessOuter | Semantic::TessInner | Semantic::Patch(_))
    }
}

/// `GENERIC[3]`, `POSITION`.
impl fmt::Display for Semantic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.with_index(0);
        let count = NAMES.iter().find(|n| n.0 == first).map_or(1, |n| n.2);
        match count {
            1 => f.write_str(self.name()),
            _ => write!(f, "{}[{}]", self.name(), self.index()),
        }
    }
}

/// Reads what [`Semantic`] displays; an index of 0 may be left out.
impl FromStr for Semantic {
    type Err = String;

    fn from_str(text: &str) -> Result<Semantic, String> {
        let (name, index) = match text.split_once('[') {
            None => (text, Some(0)),
            Some((name, rest)) => (name, rest.strip_suffix(']').and_then(|n| n.parse().ok())),
        };
        let known = index.and_then(|index| Semantic::from_name(name, index));
        known.ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|n| n.1).collect();
            format!(
                "no semantic `{text}`: one of {}, with an index in brackets where there are several",
                names.join(", ")
            )
        })
    }
}

/// Where the n-th declared input of a vertex shader lies, in bytes, whatever its semantic.
pub const fn vertex_input(n: u32) -> u32 {
    attribute::GENERIC + 0x10 * n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_semantics_are_read_back() {
        for &(first, _, count) in NAMES {
            for n in 0..count {
                let semantic = first.with_index(n);
                assert_eq!(semantic.to_string().parse(), Ok(semantic));
                assert!(
                    semantic
                        .address()
                        .is_none_or(|a| a + 4 * u32::from(semantic.components()) <= ATTRIBUTE_BYTES)
                );
            }
        }
        assert_eq!("POSITION[0]".parse(), Ok(Semantic::Position));
        for bad in ["GENERIC[32]", "GENERIC[", "GENERIC[x]", "POSITION[1]", "NOTHING", ""] {
            assert!(bad.parse::<Semantic>().is_err(), "{bad}");
        }
    }

    #[test]
    fn attributes_of_a_vertex_do_not_overlap() {
        let mut taken = std::collections::BTreeMap::new();
        // The last generic attribute lies where the clip vertex does, which never leaves a shader.
        for s in Semantic::all().filter(|s| !s.is_per_patch() && *s != Semantic::ClipVertex) {
            let Some(address) = s.address() else { continue };
            for c in 0..u32::from(s.components()) {
                assert_eq!(taken.insert(address + 4 * c, s), None, "{s}");
            }
        }
    }
}
