//! Operations on 64-bit values, and conversions.

use super::operand::NumType;
use nvir_base::num::Round;
use nvir_base::num::conv::{self, Float, Int};
use nvir_base::num::float;

/// An operation on 64-bit values of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WideOp {
    Add(Round),
    Mul(Round),
    Fma(Round),
    Min,
    Max,
    /// A conversion of `a`, which may be narrower, as may the result.
    Convert(Conv),
}

impl WideOp {
    /// The result in one lane.
    pub fn eval(self, a: u64, b: u64, c: u64) -> u64 {
        match self {
            WideOp::Add(round) => float::add64(a, b, round),
            WideOp::Mul(round) => float::mul64(a, b, round),
            WideOp::Fma(round) => float::fma64(a, b, c, round),
            WideOp::Min => float::min64(a, b),
            WideOp::Max => float::max64(a, b),
            WideOp::Convert(conv) => conv.eval(a),
        }
    }

    /// The bits of the first operand that matter.
    pub fn used(self) -> u64 {
        match self {
            WideOp::Convert(c) => match c.from.bits() {
                64 => u64::MAX,
                bits => ((1 << bits) - 1) << c.shift & u64::from(u32::MAX),
            },
            _ => u64::MAX,
        }
    }
}

/// F2F, F2I, I2F, I2I.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conv {
    pub from: NumType,
    pub to: NumType,
    pub round: Round,
    /// F2F within one format rounds to an integer.
    pub to_integer: bool,
    pub ftz: bool,
    pub sat: bool,
    pub neg: bool,
    pub abs: bool,
    /// The operand starts at this bit of its register.
    pub shift: u8,
}

impl Conv {
    fn eval(self, raw: u64) -> u64 {
        let bits = self.from.bits();
        let raw = raw >> self.shift;
        let raw = if bits == 64 { raw } else { raw & ((1 << bits) - 1) };
        match (self.from, self.to) {
            (NumType::Float(from), to) => {
                let sign = 1u64 << (bits - 1);
                let mut a = if self.abs { raw & !sign } else { raw };
                if self.neg {
                    a ^= sign;
                }
                match to {
                    NumType::Int(to) => conv::f2i(from, a, to, self.round, self.ftz),
                    NumType::Float(to) => {
                        let a =
                            if self.to_integer { conv::round_int(from, a, self.round, self.ftz) } else { a };
                        let v = conv::f2f(from, a, to, self.round, self.ftz);
                        if self.sat { saturate(to, v) } else { v }
                    }
                }
            }
            (NumType::Int(from), to) => {
                // The sign is taken in the operand's own width.
                let v = from.extend(raw);
                let v = if self.abs { v.abs() } else { v };
                let v = if self.neg { -v } else { v };
                match to {
                    NumType::Float(to) => conv::i2f(Int::new(64, v < 0), v as u64, to, self.round),
                    NumType::Int(to) if self.sat => v.clamp(to.min(), to.max()) as u64,
                    NumType::Int(to) => to.extend(v as u64) as u64,
                }
            }
        }
    }
}

fn saturate(to: Float, v: u64) -> u64 {
    let one = conv::f2f(Float::F32, 0x3f80_0000, to, Round::Rn, false);
    let f = to.format();
    if f.is_nan(v) || v & f.sign_bit() != 0 { 0 } else { v.min(one) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_registers_convert_with_their_own_sign() {
        let from = |bits, signed| NumType::Int(Int::new(bits, signed));
        let plain = Conv {
            from: from(8, true),
            to: NumType::Float(Float::F32),
            round: Round::Rn,
            to_integer: false,
            ftz: false,
            sat: false,
            neg: false,
            abs: false,
            shift: 8,
        };
        let convert = |c: Conv, v| WideOp::Convert(c).eval(v, 0, 0);
        assert_eq!(convert(plain, 0xff80_8000), u64::from((-128f32).to_bits()));
        assert_eq!(WideOp::Convert(plain).used(), 0xff00);
        let c = Conv { from: from(16, true), to: from(16, true), neg: true, shift: 0, ..plain };
        assert_eq!(convert(c, 5) as u32, -5i32 as u32);
    }
}
