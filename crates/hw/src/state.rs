//! Values of registers that say what the fixed units of drawing do, with the names that people give them. Sources: rnndb
//! `gf100_3d.xml`, NVIDIA's cl9097.h; most numbers are OpenGL's, some with a bit set.

use std::fmt;
use std::str::FromStr;

/// A name that stands for nothing, and those that do for something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName {
    name: String,
    known: &'static [&'static str],
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown name `{}`, expected one of {}", self.name, self.known.join(", "))
    }
}

impl std::error::Error for UnknownName {}

macro_rules! codes {
    ($($(#[$doc:meta])* $ty:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal, $name:literal;)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $ty {
            $($(#[$variant_doc])* #[doc = concat!("`", $name, "`: ", stringify!($code), ".")] $variant,)*
        }

        impl $ty {
            /// All of them.
            pub const ALL: &'static [$ty] = &[$($ty::$variant),*];
            /// Their names, in the same order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The number of the hardware.
            pub const fn code(self) -> u32 {
                match self { $($ty::$variant => $code,)* }
            }

            /// The one with a number.
            pub const fn from_code(code: u32) -> Option<$ty> {
                match code { $($code => Some($ty::$variant),)* _ => None }
            }

            /// Its name in fixtures.
            pub const fn name(self) -> &'static str {
                match self { $($ty::$variant => $name,)* }
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $ty {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<$ty, UnknownName> {
                let found = $ty::ALL.iter().copied().find(|v| v.name() == name);
                found.ok_or_else(|| UnknownName { name: name.into(), known: $ty::NAMES })
            }
        }
    )* };
}

codes! {
    /// How vertices become primitives: `VERTEX_BEGIN_GL`.
    Topology {
        Points = 0x0, "points";
        Lines = 0x1, "lines";
        /// The last line ends at the first vertex.
        LineLoop = 0x2, "line_loop";
        LineStrip = 0x3, "line_strip";
        Triangles = 0x4, "triangles";
        TriangleStrip = 0x5, "triangle_strip";
        TriangleFan = 0x6, "triangle_fan";
        Quads = 0x7, "quads";
        QuadStrip = 0x8, "quad_strip";
        Polygon = 0x9, "polygon";
        /// The middle two of four vertices are the line; a geometry program sees all four.
        LinesAdjacency = 0xa, "lines_adjacency";
        LineStripAdjacency = 0xb, "line_strip_adjacency";
        /// Vertices 0, 2 and 4 of six are the triangle.
        TrianglesAdjacency = 0xc, "triangles_adjacency";
        TriangleStripAdjacency = 0xd, "triangle_strip_adjacency";
        /// What tessellation programs take.
        Patches = 0xe, "patches";
    }

    /// A comparison of depths, stencils and alpha with what is stored.
    Compare {
        Never = 0x200, "never";
        Less = 0x201, "less";
        Equal = 0x202, "equal";
        LessOrEqual = 0x203, "lequal";
        Greater = 0x204, "greater";
        NotEqual = 0x205, "notequal";
        GreaterOrEqual = 0x206, "gequal";
        Always = 0x207, "always";
    }

    /// What happens to a stencil value.
    StencilOp {
        Keep = 0x1e00, "keep";
        Zero = 0x0, "zero";
        /// It becomes the reference.
        Replace = 0x1e01, "replace";
        /// Not beyond 255.
        Increment = 0x1e02, "increment";
        /// Not below 0.
        Decrement = 0x1e03, "decrement";
        Invert = 0x150a, "invert";
        IncrementWrap = 0x8507, "increment_wrap";
        DecrementWrap = 0x8508, "decrement_wrap";
    }

    /// How the blender joins its two products.
    BlendOp {
        Add = 0x8006, "add";
        /// Source less destination.
        Subtract = 0x800a, "subtract";
        ReverseSubtract = 0x800b, "reverse_subtract";
        /// Of the operands, without factors.
        Min = 0x8007, "min";
        /// Of the operands, without factors.
        Max = 0x8008, "max";
    }

    /// A factor of the blender. Source 1 is the fragment's second output.
    Factor {
        Zero = 0x4000, "zero";
        One = 0x4001, "one";
        SourceColor = 0x4300, "source_color";
        OneMinusSourceColor = 0x4301, "one_minus_source_color";
        SourceAlpha = 0x4302, "source_alpha";
        OneMinusSourceAlpha = 0x4303, "one_minus_source_alpha";
        DestinationAlpha = 0x4304, "destination_alpha";
        OneMinusDestinationAlpha = 0x4305, "one_minus_destination_alpha";
        DestinationColor = 0x4306, "destination_color";
        OneMinusDestinationColor = 0x4307, "one_minus_destination_color";
        /// The lesser of source alpha and one minus destination alpha; of alpha 1.
        SourceAlphaSaturate = 0x4308, "source_alpha_saturate";
        ConstantColor = 0xc001, "constant_color";
        OneMinusConstantColor = 0xc002, "one_minus_constant_color";
        ConstantAlpha = 0xc003, "constant_alpha";
        OneMinusConstantAlpha = 0xc004, "one_minus_constant_alpha";
        Source1Color = 0xc900, "source1_color";
        OneMinusSource1Color = 0xc901, "one_minus_source1_color";
        Source1Alpha = 0xc902, "source1_alpha";
        OneMinusSource1Alpha = 0xc903, "one_minus_source1_alpha";
    }

    /// What polygons are drawn as: `POLYGON_MODE_FRONT`.
    Fill {
        Points = 0x1b00, "points";
        Lines = 0x1b01, "lines";
        Faces = 0x1b02, "faces";
    }

    /// Which faces are not drawn: `CULL_FACE`.
    Face {
        Front = 0x404, "front";
        Back = 0x405, "back";
        Both = 0x408, "both";
    }
}

impl Factor {
    /// Whether it needs the fragment's second output.
    pub const fn is_dual(self) -> bool {
        use Factor::*;
        matches!(self, Source1Color | OneMinusSource1Color | Source1Alpha | OneMinusSource1Alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_map_both_ways() {
        macro_rules! check {
            ($($ty:ident)*) => { $(
                for &v in $ty::ALL {
                    assert_eq!($ty::from_code(v.code()), Some(v));
                    assert_eq!(v.name().parse(), Ok(v));
                }
                assert!("no such name".parse::<$ty>().is_err() && $ty::from_code(0xffff).is_none());
            )* };
        }
        check!(Topology Compare StencilOp BlendOp Factor Fill Face);
        let wrong = "sideways".parse::<Fill>().unwrap_err();
        assert_eq!(wrong.to_string(), "unknown name `sideways`, expected one of points, lines, faces");
    }
}
