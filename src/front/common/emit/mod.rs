//! Code of one function while it is made: what single components compute, blocks, memory, lanes.
//!
//! A reader whose values are vectors of components of 1 to 64 bits (NIR, SPIR-V) keeps a [`Comp`] for each, and says by
//! [`op::Op`] what is computed of them. How the machine's words and predicates come of that is here.
//!
//! - [`value`]: components, and how they become operands; [`alu`], [`int`], [`float`], [`bits`]: operations; [`wide`]: sums of
//!   64 bits
//! - [`flow`]: blocks and variables; [`dominance`]: which blocks dominate the current one
//! - [`memory`]: loads, stores, copies, atomics; [`subgroup`]: between lanes; [`system`]: system values

pub(crate) mod alu;
pub(crate) mod bits;
pub(crate) mod dominance;
pub(crate) mod float;
pub(crate) mod flow;
pub(crate) mod int;
pub(crate) mod memory;
pub(crate) mod op;
pub(crate) mod subgroup;
pub(crate) mod system;
pub(crate) mod value;
pub(crate) mod wide;

use super::ssa::Ssa;
use crate::ir::ValueId;
use crate::ir::build::Builder;
use rustc_hash::FxHashMap;

/// How exact quotients of 32-bit floats are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Division {
    /// 2.5 units in the last place where the divisor's reciprocal is a normal number, as GLSL and Vulkan ask.
    Reciprocal,
    /// Everywhere, as OpenCL asks.
    Exact,
}

/// A function that is being made.
pub(crate) struct Emit<'f> {
    pub b: Builder<'f>,
    pub ssa: Ssa,
    /// Which blocks dominate the one that is being filled.
    pub scope: dominance::Scope,
    /// Whether control gets to where code is made.
    pub reachable: bool,
    pub division: Division,
    /// Threads of a block in each direction, where they are known.
    pub block_size: Option<[u32; 3]>,
    /// For a value: bits below which it is the whole truth, and whether it is sign-extended from there.
    narrow: FxHashMap<ValueId, (u8, bool)>,
    sums: wide::Wide,
}

impl<'f> Emit<'f> {
    /// Code that begins where the builder stands: in the entry block.
    pub(crate) fn new(b: Builder<'f>, division: Division, block_size: Option<[u32; 3]>) -> Emit<'f> {
        let mut ssa = Ssa::new();
        ssa.seal(b.func, b.block);
        Emit {
            scope: dominance::Scope::new(b.block),
            b,
            ssa,
            reachable: true,
            division,
            block_size,
            narrow: FxHashMap::default(),
            sums: wide::Wide::default(),
        }
    }
}
