//! GF100 and GK104: 64-bit words, 6-bit register fields, opcode bits 63:58 and 3:0.

use super::row::Row;
use crate::Chip;

/// The rows of GF100 or GK104.
pub fn rows(_chip: Chip) -> Vec<Row> {
    Vec::new()
}
