//! The operation table: everything that generic code needs to know about an operation, in one row
//! each.
//!
//! It is for the IR what `isa/row.rs` is for machine words. A row ([`row::Row`]) says which types
//! an operation has, what its destinations are, what each source reads and which modifiers and
//! immediates it takes, which details and suffixes belong to it, and what it does besides. The
//! verifier enforces it; parser, printer, random programs, folding and whoever asks for the type of
//! a source ([`Inst::src_type`](super::Inst::src_type)) read it; `nvir ir` prints it
//! ([`mod@reference`]).
//!
//! ```text
//! add     u32 s32 u64 s64 f32 f64
//!         d = a + b (+ carry)
//! ```

pub mod reference;
pub mod row;
mod table;

pub use row::{CARRY_IN, CARRY_OUT, Detail, MEMORY, Reads, Results, Row, Source, SourceTypes, Types};
pub(crate) use row::{COMMUTES, CROSS, EFFECT, FRONT, READS};
pub(crate) use table::with_modifiers;
pub use table::{Op, OpSet};
