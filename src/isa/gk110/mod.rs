//! GK110: 64-bit words, 8-bit register fields, opcode bits 63:52 and 1:0.

use super::row::Row;

mod alu;
mod field;

/// The rows of GK110.
pub fn rows() -> Vec<Row> {
    let mut t = Vec::new();
    alu::rows(&mut t);
    t
}
