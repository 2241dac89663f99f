//! GK110: 64-bit words, 8-bit register fields, opcode bits 63:52 and 1:0.
//!
//! Derived from what nvdisasm shows when single bits of a word change. It looks at fewer bits than
//! the hardware may: whatever it ignores is free in these rows.

use super::row::Row;

mod attribute;
mod control;
mod convert;
mod field;
mod float;
mod int;
mod memory;
mod moves;
mod predicate;
mod surface;
mod texture;
mod video;

/// The rows of GK110.
pub(crate) fn rows() -> Vec<Row> {
    let mut t = Vec::with_capacity(700);
    float::rows(&mut t);
    int::rows(&mut t);
    convert::rows(&mut t);
    moves::rows(&mut t);
    predicate::rows(&mut t);
    memory::rows(&mut t);
    surface::rows(&mut t);
    attribute::rows(&mut t);
    texture::rows(&mut t);
    video::rows(&mut t);
    control::rows(&mut t);
    t
}
