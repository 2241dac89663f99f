//! SASS text: what nvdisasm prints for GK110, and the same syntax for the other chips.

mod float;
mod parse;
mod print;

pub use parse::{ParseError, parse};
pub use print::{print, print_labelled, print_row};

/// What introduces the encoding number after an instruction whose word has bits that the text does not show:
/// `NOP {form 0x1}`.
const FORM: &str = "{form ";
