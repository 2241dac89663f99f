//! The instruction sets: one table of rows a generation, and everything that reads it.
//!
//! | file | what |
//! | --- | --- |
//! | [`inst`] | the machine instruction, which mirrors SASS text |
//! | [`row`] | what a table is made of |
//! | `gf100/`, `gk110/` | the tables: GF100 and GK104 share a layout, GK110 has its own |
//! | [`table`] | the rows of a chip with the indexes that make them fast |
//! | [`codec`] | words to instructions and back; which operands fit |

//! | [`effects`] | what an instruction reads and writes |
//! | [`executable`] | operands that encode, but fault whenever they are executed |
//! | [`fetch`] | where instructions lie in code: GF100's short forms are 4 bytes long |
//! | [`header`] | the 20 words in front of a graphics shader's code |
//! | [`text`] | SASS text |
//! | [`mod@names`] | special registers and condition-code tests |
//! | [`latency`], [`sched_word`] | timing |
//! | [`mod@reference`] | the reference page, written from the rows |
//!
//! ```
//! use nvir_base::Chip;
//! use nvir_isa as isa;
//! let m = isa::decode(Chip::Gk110, 0xe2c0000001000002, 0).unwrap();
//! assert_eq!(isa::text::print(Chip::Gk110, &m), "@P0 FADD R0, R0, R2");
//! assert_eq!(isa::encode(Chip::Gk110, &m, 0), Ok(0xe2c0000001000002));
//! ```

pub mod codec;
pub mod effects;
pub mod executable;
pub mod fetch;
pub mod header;
pub mod inst;
pub mod latency;
pub mod names;
pub mod reference;
pub mod row;
pub mod sched_word;
pub mod table;
pub mod text;

mod gf100;
mod gk110;

pub use codec::{EncodeError, Misfit, decode, decode_row, encode, fits};
pub use inst::{ImmKind, Kw, MInst, Mod, Op, Operand, Pred, Reg, Sel};
pub use nvir_base::num::SrcMods;
pub use table::Table;
