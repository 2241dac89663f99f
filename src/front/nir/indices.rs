//! What the indices of an intrinsic say (`base=0, access=coherent, align_mul=16`).

use super::alu::AluInfo;
use super::intrinsics::Atomic;
use super::locations::Location;
use super::names::{Access, Interpolation, Modes, Rounding, Scope, Semantics, ValueType};
use crate::format::Format;
use crate::ir::Dim;

/// Those that say something about the code; what the text does not name has its default. The printers write the bits
/// of a number as those of a signed one, so an unsigned one may stand there negative.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Indices {
    /// Added to the offset, in the units of the memory.
    pub base: u32,
    /// The address is `align_offset` modulo this; `None`: a multiple of the component's size.
    pub align_mul: Option<u32>,
    pub align_offset: u32,
    /// Units from `range_base` or `base` on that the access stays in.
    pub range: Option<u32>,
    /// First component of a vec4 that is loaded.
    pub component: u32,
    /// Components written; `None`: all.
    pub write_mask: Option<u16>,
    /// What an input or output is.
    pub location: Option<Location>,
    pub interpolation: Interpolation,
    /// To which a vertex is emitted.
    pub stream: u32,
    pub access: Access,
    pub src_access: Access,
    pub dst_access: Access,
    pub atomic_op: Option<Atomic>,
    pub reduction_op: Option<&'static AluInfo>,
    /// Lanes that a reduction is over; 0: all.
    pub cluster_size: u32,
    pub image_dim: Option<Dim>,
    pub image_array: bool,
    pub format: Option<Format>,
    pub src_type: Option<ValueType>,
    pub dest_type: Option<ValueType>,
    pub rounding: Rounding,
    pub saturate: bool,
    pub execution_scope: Scope,
    pub memory_scope: Scope,
    pub semantics: Semantics,
    pub modes: Modes,
    /// Number of a function's parameter.
    pub param: u32,
    /// Of a register that is declared: elements of an array (0: no array), components, their bits.
    pub num_array_elems: u32,
    pub num_components: u32,
    pub bit_size: u32,
    /// What is done to a register's value when it is read, and when it is written.
    pub abs: bool,
    pub neg: bool,
    pub sat: bool,
}
