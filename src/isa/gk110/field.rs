//! The fields that many GK110 instructions share.

#![allow(dead_code)]

use crate::isa::Op;
use crate::isa::row::{Bit, Bits, ImmEnc, Kind, Row, Slot, b, b2};

/// A row whose bits 63:52 and 1:0 are the opcode, as far as `mask` (12 bits) covers the upper ones; guarded, with
/// `.S` at bit 22.
pub fn row(op: Op, mask: u64, high: u64, low: u64) -> Row {
    let mut r = Row::new(op, (mask << 52) | 3, (high << 52) | low);
    r.guard = Some(Kind::Pred { at: b(18, 3), not: Bit(21) });
    r.sync = Bit(22);
    r
}

/// The destination register.
pub const D: Slot = reg(2);
/// The first source register.
pub const A: Slot = reg(10);
/// The second source as a register.
pub const B: Slot = reg(23);
/// The third source as a register.
pub const C: Slot = reg(42);
/// A constant-buffer operand.
pub const CB: Slot = Slot::new(Kind::Const { bank: b(37, 5), offset: b(23, 14), shift: 2 });

const IMM20: Bits = b2(23, 19, 59, 1);
/// A 20-bit integer.
pub const I20: Slot = Slot::new(Kind::Imm { at: IMM20, enc: ImmEnc::Signed });
/// The high 20 bits of an f32.
pub const F20: Slot = Slot::new(Kind::Imm { at: IMM20, enc: ImmEnc::F32 });

pub const fn reg(lo: u8) -> Slot {
    Slot::new(Kind::Reg(b(lo, 8)))
}

pub const fn pred(lo: u8) -> Slot {
    Slot::new(Kind::Pred { at: b(lo, 3), not: Bit::NO })
}

/// A predicate that can be negated.
pub const fn pred_not(lo: u8, not: u8) -> Slot {
    Slot::new(Kind::Pred { at: b(lo, 3), not: Bit(not) })
}
