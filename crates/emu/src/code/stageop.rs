//! The executable form of instructions that only graphics stages have.

use super::operand::Width;
use crate::state::lanes::Src;

/// What addresses a shader's inputs and outputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    pub base: Src,
    pub offset: i32,
    /// A patch's attributes.
    pub patch: bool,
    /// Outputs, rather than inputs.
    pub output: bool,
    /// The base is an address that AL2P gave.
    pub physical: bool,
}

/// How IPA gets a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpaMode {
    Pass,
    Multiply,
    Constant,
    Color,
}

/// Where in the pixel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpaSample {
    Centre,
    Centroid,
    Offset,
}

/// What PIXLD tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PixelInfo {
    Count,
    Coverage,
    SampleOffset,
    CentroidOffset,
    SampleId,
}

/// An instruction that only graphics stages have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StageOp {
    Load {
        width: Width,
        dst: u8,
        at: At,
        vertex: Option<Src>,
    },
    Store {
        width: Width,
        src: u8,
        at: At,
        vertex: Option<Src>,
    },
    /// The handle of vertex `base + n` of the primitive.
    Vertex {
        dst: u8,
        base: Src,
        n: i32,
    },
    /// A physical address.
    Physical {
        dst: u8,
        base: Src,
        offset: i32,
        output: bool,
    },
    Out {
        dst: u8,
        handle: Src,
        stream: Src,
        emit: bool,
        cut: bool,
    },
    Interpolate {
        dst: u8,
        at: At,
        mode: IpaMode,
        sample: IpaSample,
        sat: bool,
        w: Src,
        offset: Option<Src>,
    },
    Pixel {
        dst: u8,
        info: PixelInfo,
        base: Src,
        n: i32,
    },
}
