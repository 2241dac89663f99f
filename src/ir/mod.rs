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
//! - A carry is read in its block, by the latest definition only. Moves and spill code never touch
//!   the condition code.
//! - Inputs and outputs of graphics stages are memory: the space `a` is read, `o` is written, at the
//!   addresses that the hardware gives to meanings ([`crate::stage`]), so everything that is known
//!   about loads and stores holds for them. Those of a patch are spaces of their own. `vertex` gives
//!   the handle by which an input of a primitive's vertex is read, `interp` reads an input of a
//!   fragment in its mode and place, `emit` ends a vertex or a strip and gives the next handle.
//! - A fragment's results are no memory: the entry returns them (`ret {..}`), and its signature names
//!   their registers (`-> rrrr in 0 1 2 3`). A geometry shader returns its last handle the same way.
//! - [`Interface`] is what the text declares of a stage. The header declares what the finished code
//!   still reads and writes of it.
//! - There is no terminator that kills: `discard` is an operation, and its lane goes on as a helper
//!   whose stores vanish, because its neighbours' derivatives still need it.
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
