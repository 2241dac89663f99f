//! The instruction words of GF100 and GK104, which share one layout.
//!
//! ```text
//!  63   58      55  54    49  48  47 46  45 42 41     28  26 25  20 19  14 13 12  10 9     5  4  3    0
//! | opcode | misc | C / pred | cc | which | bank | offset | B / imm |  A  | dst | ! | guard | misc | S | class |
//! ```
//!
//! Bits 3:0 are the class of the word (0 float, 1 double, 2 with a 32-bit immediate, 3 integer, 4
//! moves and conversions, 5 memory, 6 constants, textures and attributes, 7 control flow); bit 3
//! set makes it one of GF100's short forms, half a word long (`short.rs`), which no compiler
//! writes. Bits 47:46 say what the operand at 26 is: 0 a register, 1 a constant (operand C is a
//! register at 49), 2 a constant that is operand C (then B is the register at 49), 3 an immediate
//! of 20 bits.
//!
//! GK104 has what GF100 has, less LDU, the surface instructions with bound slots and the lock bits
//! of GF100, and adds SHFL, IMADSP, TEXDEPBAR, AL2P and the surface instructions with addresses.
//! Sources: envytools (`envydis/gf100.c`), asfermi's opcode pages, Mesa (`nv50_ir_emit_nvc0.cpp`);
//! where only one of them knows a field, the row says so.

mod attribute;
mod control;
mod convert;
mod field;
mod float;
mod int;
mod long;
mod memory;
mod moves;
mod predicate;
mod short;
mod surface;
mod texture;
mod video;

use super::row::Row;
use nvir_base::Chip;

/// The rows of GF100 or GK104.
pub(crate) fn rows(chip: Chip) -> Vec<Row> {
    let mut out = Vec::with_capacity(800);
    float::rows(&mut out);
    long::rows(&mut out);
    int::rows(&mut out, chip);
    moves::rows(&mut out);
    convert::rows(&mut out);
    predicate::rows(&mut out);
    video::rows(&mut out);
    memory::rows(&mut out, chip);
    surface::rows(&mut out, chip);
    attribute::rows(&mut out, chip);
    texture::rows(&mut out, chip);
    control::rows(&mut out, chip);
    if chip == Chip::Gf100 {
        short::rows(&mut out);
    }
    out
}
