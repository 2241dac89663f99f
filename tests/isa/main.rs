//! Machine code as text, as words and as tables: what is read and written, what is refused, and
//! what the checker of issue control finds.

mod asm_refuses;
mod headers;
mod isa_listing;
mod isa_tables;
mod isa_vectors;
mod sched;
mod short_forms;
