//! What a text names by words: stages, memories, qualifiers, scopes, types, texture operations and their operands.
//!
//! One table for each, with the words of both printers. Source: Mesa `nir_print.c`, 22.3 and later.

use super::alu::Base;
use crate::diag::closest;
use crate::ir::Dim;
use std::fmt;

/// What a text names by one word out of a list.
pub trait Named: Copy + 'static {
    /// What it is called in messages.
    const WHAT: &'static str;
    /// Every word and what it means.
    const NAMES: &'static [(&'static str, Self)];

    /// What a word means.
    fn of(word: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == word).map(|(_, it)| *it)
    }
}

/// The word of a list that is written most like another.
pub fn nearest<T: Named>(word: &str) -> Option<&'static str> {
    let names: Vec<&'static str> = T::NAMES.iter().map(|(name, _)| *name).collect();
    closest(word, &names)
}

macro_rules! named {
    ($(#[$meta:meta])* $what:literal $Type:ident { $($(#[$doc:meta])* $($name:literal)|+ => $Variant:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $Type {
            $($(#[$doc])* $Variant,)+
        }

        impl Named for $Type {
            const WHAT: &'static str = $what;
            const NAMES: &'static [(&'static str, $Type)] = &[$($(($name, $Type::$Variant),)+)+];
        }

        impl fmt::Display for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Self::NAMES.iter().find(|(_, it)| it == self).map_or("", |(name, _)| name))
            }
        }
    };
}

/// A set of what a text names by words with `|` between them.
pub trait Set: Default {
    type Item: Named;

    fn with(self, item: Self::Item) -> Self;
}

macro_rules! flags {
    ($(#[$meta:meta])* $what:literal $Type:ident { $($(#[$doc:meta])* $name:literal => $FLAG:ident = $bits:expr,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $Type(u32);

        impl $Type {
            $($(#[$doc])* pub const $FLAG: $Type = $Type($bits);)+

            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Whether one of the others is in it.
            pub const fn has(self, any: $Type) -> bool {
                self.0 & any.0 != 0
            }
        }

        impl Named for $Type {
            const WHAT: &'static str = $what;
            const NAMES: &'static [(&'static str, $Type)] = &[$(($name, $Type($bits)),)+];
        }

        impl Set for $Type {
            type Item = $Type;

            fn with(self, item: $Type) -> $Type {
                $Type(self.0 | item.0)
            }
        }
    };
}

named! {
    /// The stage that a shader is of.
    #[derive(Default)]
    "shader stage"
    Stage {
        "MESA_SHADER_VERTEX" => Vertex,
        "MESA_SHADER_TESS_CTRL" => TessCtrl,
        "MESA_SHADER_TESS_EVAL" => TessEval,
        "MESA_SHADER_GEOMETRY" => Geometry,
        "MESA_SHADER_FRAGMENT" => Fragment,
        #[default]
        "MESA_SHADER_COMPUTE" => Compute,
        "MESA_SHADER_TASK" => Task,
        "MESA_SHADER_MESH" => Mesh,
        "MESA_SHADER_RAYGEN" => Raygen,
        "MESA_SHADER_ANY_HIT" => AnyHit,
        "MESA_SHADER_CLOSEST_HIT" => ClosestHit,
        "MESA_SHADER_MISS" => Miss,
        "MESA_SHADER_INTERSECTION" => Intersection,
        "MESA_SHADER_CALLABLE" => Callable,
        /// OpenCL.
        "MESA_SHADER_KERNEL" => Kernel,
    }
}

named! {
    /// What memory a variable is in.
    "variable mode"
    Mode {
        "shader_in" => ShaderIn,
        "shader_out" => ShaderOut,
        "uniform" => Uniform,
        "ubo" => Ubo,
        "system" => System,
        "ssbo" => Ssbo,
        "shared" => Shared,
        "global" => Global,
        "push_const" => PushConst,
        "constant" => Constant,
        "image" => Image,
        "shader_temp" => ShaderTemp,
        "function_temp" => FunctionTemp,
        "shader_call_data" => ShaderCallData,
        "ray_hit_attrib" => RayHitAttrib,
        "task_payload" => TaskPayload,
        "node_payload" => NodePayload,
        "node_payload_in" => NodePayloadIn,
        "pixel_local_in" => PixelLocalIn,
        "pixel_local_out" => PixelLocalOut,
        "pixel_local" => PixelLocal,
        "resource_heap" => ResourceHeap,
        "sampler_heap" => SamplerHeap,
        /// Any that a pointer of OpenCL may lead to.
        "generic" => Generic,
    }
}

/// The memories that a pointer may lead to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Modes(u32);

impl Modes {
    pub const fn has(self, mode: Mode) -> bool {
        self.0 >> mode as u32 & 1 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether there is one that both have, generic pointers being any.
    pub const fn shares(self, other: Modes) -> bool {
        self.0 & other.0 != 0 || self.has(Mode::Generic) || other.has(Mode::Generic)
    }

    /// How many there are.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }
}

impl Set for Modes {
    type Item = Mode;

    fn with(self, item: Mode) -> Modes {
        Modes(self.0 | 1 << item as u32)
    }
}

impl fmt::Display for Modes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes = Mode::NAMES.iter().filter(|(_, mode)| self.has(*mode));
        for (i, (name, _)) in modes.enumerate() {
            write!(f, "{}{name}", if i > 0 { "|" } else { "" })?;
        }
        Ok(())
    }
}

flags! {
    /// Qualifiers of an access. The bits are those of the number that 22.3 prints.
    "access qualifier"
    Access {
        "none" => NONE = 0,
        "coherent" => COHERENT = 1,
        "restrict" => RESTRICT = 1 << 1,
        "volatile" => VOLATILE = 1 << 2,
        "writeonly" => WRITE_ONLY = 1 << 3,
        "readonly" => READ_ONLY = 1 << 4,
        "non-uniform" => NON_UNIFORM = 1 << 5,
        "reorderable" => REORDERABLE = 1 << 6,
        // 22.3 has none of these, so they have no bit of its number.
        "atomic" => ATOMIC = 1 << 31,
        "in-bounds" => IN_BOUNDS = 1 << 30,
        "speculatable" => SPECULATABLE = 1 << 29,
        "non-temporal" => NON_TEMPORAL = 1 << 28,
        "include-helpers" => INCLUDE_HELPERS = 1 << 27,
        "skip-helpers" => SKIP_HELPERS = 1 << 26,
        "keep-scalar" => KEEP_SCALAR = 1 << 25,
        "sparse" => SPARSE = 1 << 24,
        "is-swizzled-amd" => SWIZZLED_AMD = 1 << 23,
        "uses-format-amd" => USES_FORMAT_AMD = 1 << 22,
        "fmask-lowered-amd" => FMASK_LOWERED_AMD = 1 << 21,
        "cp-ge-coherent-amd" => CP_GE_COHERENT_AMD = 1 << 20,
        "smem-amd" => SMEM_AMD = 1 << 19,
        "fused-eu-disable-intel" => FUSED_EU_DISABLE_INTEL = 1 << 18,
        "istream-pan" => ISTREAM_PAN = 1 << 17,
        "estream-pan" => ESTREAM_PAN = 1 << 16,
    }
}

impl Access {
    /// Of the number that 22.3 prints.
    pub(crate) const fn from_number(bits: u32) -> Access {
        Access(bits & 0x7f)
    }
}

named! {
    /// Which threads a barrier is for.
    #[derive(Default)]
    "scope"
    Scope {
        #[default]
        "NONE" => None,
        "INVOCATION" => Invocation,
        "SUBGROUP" => Subgroup,
        "SHADER_CALL" => ShaderCall,
        "WORKGROUP" => Workgroup,
        "QUEUE_FAMILY" => QueueFamily,
        "DEVICE" => Device,
    }
}

flags! {
    /// What a barrier does to the memory's order.
    "memory semantics"
    Semantics {
        "NONE" => NONE = 0,
        "ACQ" => ACQUIRE = 1,
        "REL" => RELEASE = 1 << 1,
        "AVAILABLE" => AVAILABLE = 1 << 2,
        "VISIBLE" => VISIBLE = 1 << 3,
        "ARRIVE" => ARRIVE = 1 << 4,
        "WAIT" => WAIT = 1 << 5,
    }
}

named! {
    /// How a conversion rounds.
    #[derive(Default)]
    "rounding mode"
    Rounding {
        /// Whichever is cheapest.
        #[default]
        "undef" => Any,
        "rtne" => Near,
        "ru" => Up,
        "rd" => Down,
        "rtz" => Zero,
    }
}

named! {
    /// What a texture instruction does.
    "texture operation"
    TexOpcode {
        "tex" => Tex,
        "txb" => Txb,
        "txl" => Txl,
        "txd" => Txd,
        "txf" => Txf,
        "txf_ms" => TxfMs,
        "tg4" => Tg4,
        "txs" => Txs,
        "query_levels" => QueryLevels,
        "texture_samples" => TextureSamples,
        "samples_identical" => SamplesIdentical,
        "lod" => Lod,
    }
}

named! {
    /// What an operand of a texture instruction is.
    "texture operand"
    TexRole {
        "coord" => Coord,
        "projector" => Projector,
        "comparator" => Comparator,
        "offset" => Offset,
        "bias" => Bias,
        "lod" => Lod,
        "min_lod" => MinLod,
        "ms_index" => Sample,
        "ddx" => Ddx,
        "ddy" => Ddy,
        "texture_deref" => TextureDeref,
        "sampler_deref" => SamplerDeref,
        "texture_offset" => TextureOffset,
        "sampler_offset" => SamplerOffset,
        "texture_handle" => TextureHandle,
        "sampler_handle" => SamplerHandle,
    }
}

named! {
    /// How an input is interpolated. Variables have `INTERP_MODE_` in front of the word, and 22.3 prints the number of what
    /// barycentric coordinates are for.
    #[derive(Default)]
    "mode of interpolation"
    Interpolation {
        /// As usual for the input.
        #[default]
        "NONE" | "none" | "0" => None,
        "SMOOTH" | "smooth" | "1" => Smooth,
        "FLAT" | "flat" | "2" => Flat,
        "NOPERSPECTIVE" | "noperspective" | "3" => NoPerspective,
        "EXPLICIT" | "explicit" | "4" => Explicit,
        "COLOR" | "color" | "5" => Color,
    }
}

named! {
    /// Primitives that geometry shaders get and make.
    "primitive"
    Primitive {
        "POINTS" => Points,
        "LINES" => Lines,
        "LINE_STRIP" => LineStrip,
        "TRIANGLES" => Triangles,
        "TRIANGLE_STRIP" => TriangleStrip,
        "LINES_ADJACENCY" => LinesAdjacency,
        "TRIANGLES_ADJACENCY" => TrianglesAdjacency,
    }
}

impl Primitive {
    /// OpenGL's.
    pub const fn number(self) -> u8 {
        match self {
            Primitive::Points => 0,
            Primitive::Lines => 1,
            Primitive::LineStrip => 3,
            Primitive::Triangles => 4,
            Primitive::TriangleStrip => 5,
            Primitive::LinesAdjacency => 10,
            Primitive::TrianglesAdjacency => 12,
        }
    }
}

impl Named for Dim {
    const WHAT: &'static str = "image dimension";
    const NAMES: &'static [(&'static str, Dim)] = &[
        ("1D", Dim::D1),
        ("2D", Dim::D2),
        ("2DRect", Dim::D2),
        ("Rect", Dim::D2),
        ("Subpass", Dim::D2),
        ("External", Dim::D2),
        ("ExternalOES", Dim::D2),
        ("External-2D-Y2Y", Dim::D2),
        ("3D", Dim::D3),
        ("Cube", Dim::Cube),
        ("Buf", Dim::Buffer),
        ("Buffer", Dim::Buffer),
        ("2D-MSAA", Dim::Ms),
        ("2DMS", Dim::Ms),
        ("Subpass-MSAA", Dim::Ms),
    ];
}

/// A base type and the bits of a component; 0 bits: as many as the operand has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueType {
    pub base: Base,
    pub bits: u8,
}

impl ValueType {
    /// `float32`, `int`, `bool1`.
    pub fn of(word: &str) -> Option<ValueType> {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let base = match letters {
            "float" => Base::Float,
            "int" => Base::Int,
            "uint" => Base::Uint,
            "bool" => Base::Bool,
            _ => return None,
        };
        let bits = match &word[letters.len()..] {
            "" => 0,
            digits => digits.parse().ok()?,
        };
        Some(ValueType { base, bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_what_they_mean() {
        assert_eq!(Stage::of("MESA_SHADER_KERNEL"), Some(Stage::Kernel));
        assert_eq!(Stage::TessEval.to_string(), "MESA_SHADER_TESS_EVAL");
        assert_eq!(ValueType::of("uint16"), Some(ValueType { base: Base::Uint, bits: 16 }));
        assert_eq!(ValueType::of("float"), Some(ValueType { base: Base::Float, bits: 0 }));
        assert_eq!((ValueType::of("float999"), ValueType::of("invalid")), (None, None));
        let modes = Modes::default().with(Mode::Global).with(Mode::Ssbo);
        assert!(modes.has(Mode::Ssbo) && !modes.has(Mode::Shared));
        assert_eq!((modes.len(), modes.to_string()), (2, "ssbo|global".to_string()));
    }

    #[test]
    fn the_numbers_of_access_qualifiers_are_their_words() {
        let both = Access::READ_ONLY.with(Access::REORDERABLE);
        assert_eq!(Access::from_number(80), both);
        assert!(Access::from_number(5).has(Access::VOLATILE) && !both.has(Access::COHERENT));
        // What 22.3 has beyond its first seven qualifiers is not what later words are.
        assert!(
            Access::from_number(u32::MAX).has(Access::COHERENT)
                && !Access::from_number(u32::MAX).has(Access::ATOMIC)
        );
    }
}
