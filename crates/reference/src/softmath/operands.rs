//! Operands worth trying.

use super::{mask, round};
use nvir::random::Random;

/// A value of a type: any bits, and often such at which something ends.
pub fn operand(r: &mut Random, base: char, bits: u32) -> u64 {
    match base {
        'b' => {
            if r.below(2) == 0 {
                0
            } else {
                mask(bits)
            }
        }
        'f' => float(r, bits),
        _ => integer(r, bits),
    }
}

fn integer(r: &mut Random, bits: u32) -> u64 {
    let top = 1 << (bits - 1);
    let special = [
        0,
        1,
        2,
        3,
        u64::MAX,
        u64::MAX - 1,
        top,
        top - 1,
        top + 1,
        0x5555_5555_5555_5555,
        0x80,
        0x7f,
        0x8000,
    ];
    let x = match r.below(8) {
        0..=1 => *r.of_list(&special),
        2..=3 => r.below(66) as u64,
        4 => r.word() >> (r.below(64)),
        _ => r.word(),
    };
    x & mask(bits)
}

fn float(r: &mut Random, bits: u32) -> u64 {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -3.75,
        0.1,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        65504.0,
        1.0e-5,
        6.1e-5,
        f32::MAX.into(),
        f32::MIN_POSITIVE.into(),
        1e-40,
        2.5,
        3.5,
        -0.5,
        16777216.0,
        4294967296.0,
        0.499_999_97,
    ];
    match r.below(8) {
        0..=1 => round(*r.of_list(&special), bits),
        2 => r.word() & mask(bits),
        _ => {
            let sign = if r.below(2) == 0 { -1.0 } else { 1.0 };
            let x = (1.0 + r.below(1 << 30) as f64 / (1u64 << 30) as f64) * 2f64.powi(r.below(24) - 12);
            round(sign * x, bits)
        }
    }
}
