//! The closed sets of names that TGSI text uses, each written once: enum, spelling and lookup.

/// Declares an enum whose variants have a spelling in the text, with lookup in both directions.
macro_rules! names {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$attr:meta])* $variant:ident = $text:literal $(| $alias:literal)*),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        $vis enum $name { $($(#[$attr])* $variant),* }

        impl $name {
            /// Every spelling, in the order of the declaration.
            pub const NAMES: &'static [&'static str] = &[$($text),*];

            /// Every variant, in the same order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The variant that `text` (in upper case) spells.
            pub fn parse(text: &str) -> Option<$name> {
                match text {
                    $($text $(| $alias)* => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// The spelling in texts.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    };
}

names! {
    /// The kind of program, from the header line.
    #[derive(Default)]
    pub enum Stage {
        Vertex = "VERT",
        TessCtrl = "TESS_CTRL",
        TessEval = "TESS_EVAL",
        Geometry = "GEOM",
        Fragment = "FRAG",
        #[default]
        Compute = "COMP",
    }
}

names! {
    /// Register files. `RES` is the resource file of the 2011 dialect.
    pub enum File {
        Null = "NULL",
        Const = "CONST",
        In = "IN",
        Out = "OUT",
        Temp = "TEMP",
        Samp = "SAMP",
        Addr = "ADDR",
        Imm = "IMM",
        Sv = "SV",
        Image = "IMAGE",
        Sview = "SVIEW",
        Buffer = "BUFFER",
        Memory = "MEMORY",
        ConstBuf = "CONSTBUF",
        HwAtomic = "HWATOMIC",
        Res = "RES",
    }
}

names! {
    /// What an input, output or system value means.
    pub enum Semantic {
        Position = "POSITION",
        Color = "COLOR",
        Bcolor = "BCOLOR",
        Fog = "FOG",
        Psize = "PSIZE",
        Generic = "GENERIC",
        Normal = "NORMAL",
        Face = "FACE",
        EdgeFlag = "EDGEFLAG",
        PrimId = "PRIM_ID",
        InstanceId = "INSTANCEID",
        VertexId = "VERTEXID",
        Stencil = "STENCIL",
        ClipDist = "CLIPDIST",
        ClipVertex = "CLIPVERTEX",
        GridSize = "GRID_SIZE",
        BlockId = "BLOCK_ID",
        BlockSize = "BLOCK_SIZE",
        ThreadId = "THREAD_ID",
        TexCoord = "TEXCOORD",
        PCoord = "PCOORD",
        ViewportIndex = "VIEWPORT_INDEX",
        Layer = "LAYER",
        SampleId = "SAMPLEID",
        SamplePos = "SAMPLEPOS",
        SampleMask = "SAMPLEMASK",
        InvocationId = "INVOCATIONID",
        VertexIdNoBase = "VERTEXID_NOBASE",
        BaseVertex = "BASEVERTEX",
        Patch = "PATCH",
        TessCoord = "TESSCOORD",
        TessOuter = "TESSOUTER",
        TessInner = "TESSINNER",
        VerticesIn = "VERTICESIN",
        HelperInvocation = "HELPER_INVOCATION",
        BaseInstance = "BASEINSTANCE",
        DrawId = "DRAWID",
        WorkDim = "WORK_DIM",
        SubgroupSize = "SUBGROUP_SIZE",
        SubgroupInvocation = "SUBGROUP_INVOCATION",
        SubgroupEqMask = "SUBGROUP_EQ_MASK",
        SubgroupGeMask = "SUBGROUP_GE_MASK",
        SubgroupGtMask = "SUBGROUP_GT_MASK",
        SubgroupLeMask = "SUBGROUP_LE_MASK",
        SubgroupLtMask = "SUBGROUP_LT_MASK",
        CsUserDataAmd = "CS_USER_DATA_AMD",
        ViewportMask = "VIEWPORT_MASK",
        TessDefaultOuter = "TESS_DEFAULT_OUTER_LEVEL",
        TessDefaultInner = "TESS_DEFAULT_INNER_LEVEL",
    }
}

names! {
    /// Texture and image targets. The second spelling of the arrays is the 2011 dialect's.
    pub enum Target {
        Buffer = "BUFFER",
        D1 = "1D",
        D2 = "2D",
        D3 = "3D",
        Cube = "CUBE",
        Rect = "RECT",
        Shadow1D = "SHADOW1D",
        Shadow2D = "SHADOW2D",
        ShadowRect = "SHADOWRECT",
        D1Array = "1D_ARRAY" | "1DARRAY",
        D2Array = "2D_ARRAY" | "2DARRAY",
        Shadow1DArray = "SHADOW1D_ARRAY" | "SHADOW1DARRAY",
        Shadow2DArray = "SHADOW2D_ARRAY" | "SHADOW2DARRAY",
        ShadowCube = "SHADOWCUBE",
        D2Msaa = "2D_MSAA",
        D2ArrayMsaa = "2D_ARRAY_MSAA",
        CubeArray = "CUBEARRAY" | "CUBE_ARRAY",
        ShadowCubeArray = "SHADOWCUBEARRAY" | "SHADOWCUBE_ARRAY",
        Unknown = "UNKNOWN",
    }
}

impl Target {
    /// How many coordinates address a texel, the layer not counted.
    pub fn dims(self) -> usize {
        use Target::*;
        match self {
            Buffer | D1 | Shadow1D | D1Array | Shadow1DArray => 1,
            D3 | Cube | ShadowCube | CubeArray | ShadowCubeArray => 3,
            D2 | Rect | Shadow2D | ShadowRect | D2Array | Shadow2DArray | D2Msaa | D2ArrayMsaa | Unknown => 2,
        }
    }

    /// Whether it has layers.
    pub fn is_array(self) -> bool {
        use Target::*;
        matches!(
            self,
            D1Array | D2Array | Shadow1DArray | Shadow2DArray | D2ArrayMsaa | CubeArray | ShadowCubeArray
        )
    }

    /// Whether it has six faces.
    pub fn is_cube(self) -> bool {
        use Target::*;
        matches!(self, Cube | CubeArray | ShadowCube | ShadowCubeArray)
    }

    /// Whether a reference value is compared.
    pub fn is_shadow(self) -> bool {
        use Target::*;
        matches!(
            self,
            Shadow1D | Shadow2D | ShadowRect | Shadow1DArray | Shadow2DArray | ShadowCube | ShadowCubeArray
        )
    }

    /// Whether texels have samples.
    pub fn is_msaa(self) -> bool {
        matches!(self, Target::D2Msaa | Target::D2ArrayMsaa)
    }
}

names! {
    /// What a sampler view returns.
    pub enum ReturnType {
        Unorm = "UNORM",
        Snorm = "SNORM",
        Sint = "SINT",
        Uint = "UINT",
        Float = "FLOAT",
    }
}

names! {
    pub enum Interpolate {
        Constant = "CONSTANT",
        Linear = "LINEAR",
        Perspective = "PERSPECTIVE",
        Color = "COLOR",
    }
}

names! {
    pub enum Location {
        Center = "CENTER",
        Centroid = "CENTROID",
        Sample = "SAMPLE",
    }
}

names! {
    /// Which memory a `MEMORY[n]` register is.
    pub enum MemoryKind {
        Global = "GLOBAL",
        Shared = "SHARED",
        Private = "PRIVATE",
        Input = "INPUT",
    }
}

names! {
    pub enum ImmType {
        Flt32 = "FLT32",
        Uint32 = "UINT32",
        Int32 = "INT32",
        Flt64 = "FLT64",
        Uint64 = "UINT64",
        Int64 = "INT64",
    }
}

names! {
    pub enum Property {
        GsInputPrim = "GS_INPUT_PRIMITIVE",
        GsOutputPrim = "GS_OUTPUT_PRIMITIVE",
        GsMaxOutputVertices = "GS_MAX_OUTPUT_VERTICES",
        FsCoordOrigin = "FS_COORD_ORIGIN",
        FsCoordPixelCenter = "FS_COORD_PIXEL_CENTER",
        FsColor0WritesAllCbufs = "FS_COLOR0_WRITES_ALL_CBUFS",
        FsDepthLayout = "FS_DEPTH_LAYOUT",
        VsProhibitUcps = "VS_PROHIBIT_UCPS",
        GsInvocations = "GS_INVOCATIONS",
        VsWindowSpacePosition = "VS_WINDOW_SPACE_POSITION",
        TcsVerticesOut = "TCS_VERTICES_OUT",
        TesPrimMode = "TES_PRIM_MODE",
        TesSpacing = "TES_SPACING",
        TesVertexOrderCw = "TES_VERTEX_ORDER_CW",
        TesPointMode = "TES_POINT_MODE",
        NumClipDistEnabled = "NUM_CLIPDIST_ENABLED",
        NumCullDistEnabled = "NUM_CULLDIST_ENABLED",
        FsEarlyDepthStencil = "FS_EARLY_DEPTH_STENCIL",
        FsPostDepthCoverage = "FS_POST_DEPTH_COVERAGE",
        NextShader = "NEXT_SHADER",
        CsFixedBlockWidth = "CS_FIXED_BLOCK_WIDTH",
        CsFixedBlockHeight = "CS_FIXED_BLOCK_HEIGHT",
        CsFixedBlockDepth = "CS_FIXED_BLOCK_DEPTH",
        MulZeroWins = "MUL_ZERO_WINS" | "LEGACY_MATH_RULES",
        VsBlitSgprsAmd = "VS_BLIT_SGPRS_AMD",
        CsUserDataComponentsAmd = "CS_USER_DATA_COMPONENTS_AMD",
        LayerViewportRelative = "LAYER_VIEWPORT_RELATIVE",
        FsBlendEquationAdvanced = "FS_BLEND_EQUATION_ADVANCED",
        SeparableProgram = "SEPARABLE_PROGRAM",
    }
}

/// Property values that are words.
pub const PRIMITIVES: &[&str] = &[
    "POINTS",
    "LINES",
    "LINE_LOOP",
    "LINE_STRIP",
    "TRIANGLES",
    "TRIANGLE_STRIP",
    "TRIANGLE_FAN",
    "QUADS",
    "QUAD_STRIP",
    "POLYGON",
    "LINES_ADJACENCY",
    "LINE_STRIP_ADJACENCY",
    "TRIANGLES_ADJACENCY",
    "TRIANGLE_STRIP_ADJACENCY",
    "PATCHES",
];
/// Values of FS_COORD_ORIGIN.
pub const COORD_ORIGINS: &[&str] = &["UPPER_LEFT", "LOWER_LEFT"];
/// Values of FS_COORD_PIXEL_CENTER.
pub const PIXEL_CENTERS: &[&str] = &["HALF_INTEGER", "INTEGER"];

impl Property {
    /// The words that this property takes as value; empty where it takes a number.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Property::GsInputPrim | Property::GsOutputPrim => PRIMITIVES,
            Property::FsCoordOrigin => COORD_ORIGINS,
            Property::FsCoordPixelCenter => PIXEL_CENTERS,
            Property::NextShader => Stage::NAMES,
            _ => &[],
        }
    }
}
