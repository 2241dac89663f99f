//! The intermediate representation.
//!
//! A [`Program`] is a kernel and its subroutines. A [`Function`] owns its values, instructions and
//! blocks in arenas with typed ids. It is in SSA form: every value has one definition, which
//! dominates its uses; instead of phis, blocks have parameters, and edges give arguments for them.
//!
//! ```text
//! kernel main() {
//! b0:
//!     rdsv u32 %r0 sv[tid.x]
//!     ld u32 %r1 c0[0x0]
//!     shladd u32 %r2 %r0 0x2 %r1
//!     st u32 # g[%r2+0x8] %r0
//!     exit
//! }
//! ```
//!
//! - A value is a 32-bit scalar, a predicate or a carry ([`Class`]). Wider quantities are tuples of
//!   values in one operand ([`Src`]): an `add u64` has two destinations and two operands of two
//!   values each. There are no instructions that split or merge.
//! - Every value read is reached by `for_uses`/`map_uses` of [`Inst`] and [`Term`]. Nobody stores
//!   uses.
//! - An address is a [`MemRef`]: space, buffer, base, offset, and what is proven of its alignment
//!   ([`Align`]).
//! - Divergence is structured: [`Merge`] names where the lanes of a warp meet again.
//! - Phases ([`Phase`]): `Front`, as front-ends make it; `Ssa`, after lowering: only operations
//!   that the chip has; `Legal`: every instruction is one machine instruction, its operands
//!   encodable.
//!
//! Builders ([`build::Builder`]) make it, [`mod@print`] and [`parse`] convert it to text and back,
//! [`crate::verify`] checks it.

pub mod build;
pub mod dot;
pub mod expand;
pub mod func;
pub mod inst;
pub mod interface;
pub mod list;
pub mod madsp;
pub mod op;
pub mod parse;
pub mod print;
pub(crate) mod renumber;
pub mod types;

pub use crate::diag::Loc;
pub use crate::num::SrcMods;
pub use crate::stage::Stage;
pub use func::{
    Block, Def, Extent, Function, Linkage, Merge, OpenLoops, ParamFact, Program, Term, ValueData,
};
pub use inst::{
    Align, AtomOp, Aux, BarOp, Call, Cond, Dim, Edge, Effects, EmitOp, Ext, Fact, Guard, Inst, Interp,
    InterpAt, InterpMode, Logic, MemRef, Order, PixelOp, Rnd, Scope, ShflOp, Space, Src, SrcKind, Surf,
    SurfAccess, SurfMachine, SurfShape, Sv, Tex, TexOp, TexRole, VoteOp,
};
pub use interface::{Attribute, Interface, Properties};
pub use list::List;
pub use op::{Op, OpSet};
pub use types::{Class, Type};

use cranelift_entity::entity_impl;

/// How far a program has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// As front-ends make it.
    Front,
    /// After lowering for a chip.
    Ssa,
    /// Each instruction is one machine instruction.
    Legal,
}

/// A value of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ValueId(u32);
entity_impl!(ValueId, "v");

/// An instruction of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstId(u32);
entity_impl!(InstId, "i");

/// A basic block of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);
entity_impl!(BlockId, "b");

/// A function of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(u32);
entity_impl!(FuncId, "f");
