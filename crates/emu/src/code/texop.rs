//! Texture instructions.

/// Where the level of detail comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lod {
    Implicit,
    Zero,
    Bias,
    Level,
}

/// What a texture instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TexKind {
    Sample(Lod),
    /// The level is an operand, or zero.
    Fetch {
        level: bool,
        ms: bool,
    },
    /// The component; four pairs of offsets.
    Gather {
        component: u8,
        four: bool,
    },
    Grad,
    /// Width, height, depth or layers, levels.
    QuerySize,
    /// The third component is the number of samples.
    QueryType,
    QueryLod,
}

/// A texture instruction.
#[derive(Clone, Debug)]
pub struct TexOp {
    pub kind: TexKind,
    /// Coordinates: 1, 2, 3; a cube has 3.
    pub dims: u8,
    pub cube: bool,
    pub array: bool,
    pub shadow: bool,
    pub offset: bool,
    /// `.B`: the texture is named by a register.
    pub indirect: bool,
    pub texture: u32,
    pub sampler: u32,
    pub mask: u8,
    pub dst: u8,
    /// Registers in the machine's order; [`NULL`](super::micro::NULL) is zero.
    pub args: Vec<u8>,
}

impl TexOp {
    /// Whether a warp may be looked up as rows.
    pub fn has_rows(&self) -> bool {
        let shape = if self.cube { self.dims == 3 } else { self.dims <= 2 };
        shape && matches!(self.kind, TexKind::Sample(_) | TexKind::Fetch { ms: false, .. })
    }
}
