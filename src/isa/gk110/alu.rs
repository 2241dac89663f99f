//! Float and integer arithmetic.

use super::field::*;
use crate::isa::Op;
use crate::isa::row::{Row, Slot, b};
use crate::names;

pub fn rows(t: &mut Vec<Row>) {
    fadd(t);
}

fn fadd(t: &mut Vec<Row>) {
    let form = |mask, high, low, b: Slot| {
        row(Op::Fadd, mask, high, low)
            .m(self::b(47, 1), names![_, Ftz])
            .m(self::b(42, 2), names![_, Rm, Rp, Rz])
            .flag(53, names![_, Sat])
            .s(D.cc(50))
            .s(A.neg(51).abs(49))
            .s(b)
    };
    t.push(form(0xfc0, 0xe2c & 0xfc0, 2, B.neg(48).abs(52)));
    t.push(form(0xfc0, 0x62c & 0xfc0, 2, CB.neg(48).abs(52)));
}
