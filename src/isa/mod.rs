//! The instruction sets: one table of rows a generation, and everything that reads it.

pub mod inst;

pub use inst::{ImmKind, Kw, MInst, Mod, Op, Operand, Pred, Reg, Sel, SrcMods};
