//! SASS text: what nvdisasm prints for GK110, and the same syntax for the other chips.

mod error;
mod float;
mod number;
mod parse;
mod print;

pub use error::ParseError;
pub use parse::{parse, parse_executable};
pub use print::{print, print_labelled, print_row};

/// What introduces the encoding number after an instruction whose word has bits that the text does
/// not show: `NOP {form 0x1}`.
const FORM: &str = "{form ";

/// What stands after an instruction of 4 bytes: `IADD R0, R1, R2 {short}`.
pub const SHORT: &str = "{short}";
