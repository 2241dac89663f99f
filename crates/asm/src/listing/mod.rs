//! SASS listings: the code of kernels as text with labels and directives, and back to the same
//! words.
//!
//! ```text
//! .chip gk110
//! .kernel copy
//! .registers 6
//! .param 0 0x140 8                        // number, offset in bank 0, bytes
//! .sched 0x2f 0x20 0x20 0x20 0x20 0x2f 0x00
//!         S2R R0, SR_TID.X;
//!     @P0 BRA .L_0018;
//! .L_0018:
//!         EXIT;
//! ```
//!
//! An instruction a line, the semicolon optional, comments after `//` or between `/*` and `*/`. A
//! name and a colon is a label; it may stand wherever a branch target may. `.word 0x…` is a word as
//! it is, `.half 0x…` are 4 bytes. `{short}` after an instruction of GF100 asks for its short form
//! of 4 bytes ([`nvir_isa::fetch`]); if the code ends in the middle of a word, `NOP {short}` fills
//! it. `{form 0x…}` is what an instruction's encoding has beyond the text (see
//! [`nvir_isa::MInst::form`]).
//!
//! | directive | what | default |
//! | --- | --- | --- |
//! | `.chip NAME` | the chip of the file | the caller's |
//! | `.kernel NAME` | begins a kernel | one kernel, named by the caller |
//! | `.registers N` | registers a thread needs | the highest used and one more |
//! | `.barriers N` | execution barriers | the highest named and one more |
//! | `.shared N`, `.stack N` | bytes of shared memory of a block, of stack of a thread | 0 |
//! | `.call_stack N` | bytes of call-return stack of a warp | 0 |
//! | `.param_bytes N` | size of the parameter block | where the last parameter ends |
//! | `.param NUMBER OFFSET BYTES` | a parameter at an offset in the parameter block | |
//! | `.constant BANK BYTES` | initial contents of a constant bank, zeros so far | |
//! | `.data BANK OFFSET HEX` | fills a part of it | |
//! | `.sched B B B B B B B` | Kepler's scheduling word for the next seven instructions | |
//! | `.raw` | the words are complete: none is inserted | |
//! | `.unchecked` | operands may be such that the instruction faults ([`nvir_isa::executable`]) | they are refused |
//!
//! Where a kernel has neither `.sched` nor `.raw`, the assembler inserts scheduling words with safe
//! distances; else they all stand in the text, each at a multiple of 64 bytes.

mod dump;
mod parse;
mod print;

pub use dump::{is_dump, read as read_dump};
pub use parse::{Assembly, assemble};
pub use print::{Options, address, print};
