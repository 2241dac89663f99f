//! Integer arithmetic: sums, products, quotients, orders, shifts. Of less than 32 bits it is done in 32.

use super::Emit;
use super::alu::{Lane, Lowered, int_type};
use super::op::Op as N;
use super::value::{Comp, Word, mask};
use crate::ir::{Cond, Inst, Op, Type};

impl Emit<'_> {
    fn int1(&mut self, op: Op, signed: bool, bits: u8, a: Comp) -> Comp {
        let a = self.operand(a);
        self.comp(Inst::new(op, int_type(bits, signed)).src(a))
    }

    fn zero(&self, bits: u8) -> Comp {
        Comp::constant(bits, 0)
    }

    pub(crate) fn int(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, b, bits) = (l.src(0), l.src(1), l.bits);
        if bits == 1 {
            return match l.op {
                // Arithmetic modulo 2, and orders of 0 and 1 (or of 0 and -1).
                N::Iadd | N::Isub => Some(self.bitwise(Op::Xor, 1, a, b)),
                N::Imul | N::Umin | N::Imax => Some(self.bitwise(Op::And, 1, a, b)),
                N::Umax | N::Imin => Some(self.bitwise(Op::Or, 1, a, b)),
                N::Ineg | N::Iabs | N::Isign => Some(a),
                _ => None,
            };
        }
        let plain = self.sum(l).or_else(|| self.product(l)).or_else(|| self.of_order(l));
        plain.or_else(|| self.saturated(l)).or_else(|| self.shift_or_rotate(l))
    }

    /// Sums, and what is made of them.
    fn sum(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, b, bits) = (l.src(0), l.src(1), l.bits);
        Some(match l.op {
            N::Iadd if bits == 64 => self.add64(a, b),
            N::Iadd => self.int2(Op::Add, false, bits, a, b),
            N::Iadd3 => {
                let ab = self.int2(Op::Add, false, bits, a, b);
                self.int2(Op::Add, false, bits, ab, l.src(2))
            }
            N::Isub => self.int2(Op::Sub, false, bits, a, b),
            N::Ihadd | N::Uhadd | N::Irhadd | N::Urhadd => {
                let signed = matches!(l.op, N::Ihadd | N::Irhadd);
                let up = matches!(l.op, N::Irhadd | N::Urhadd);
                let (a, b) = self.ints(a, b, bits, signed);
                let wide = bits.max(32);
                let x = self.bitwise(Op::Xor, wide, a, b);
                let half = self.shift(Op::Shr, wide, signed, x, Comp::constant(32, 1));
                let both = self.bitwise(if up { Op::Or } else { Op::And }, wide, a, b);
                self.int2(if up { Op::Sub } else { Op::Add }, false, wide, both, half)
            }
            N::UabsIsub | N::UabsUsub => {
                let signed = l.op == N::UabsIsub;
                let (a, b) = self.ints(a, b, bits, signed);
                let wide = bits.max(32);
                let max = self.int2(Op::Max, signed, wide, a, b);
                let min = self.int2(Op::Min, signed, wide, a, b);
                self.int2(Op::Sub, false, wide, max, min)
            }
            _ => return None,
        })
    }

    /// Products, quotients and remainders.
    fn product(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, b, bits) = (l.src(0), l.src(1), l.bits);
        Some(match l.op {
            N::Imul if bits == 64 && (a.as_const().is_some() || b.as_const().is_some()) => {
                match (a.as_const(), b.as_const()) {
                    (_, Some(n)) => self.mul64(a, n),
                    (Some(n), _) => self.mul64(b, n),
                    _ => return None,
                }
            }
            N::Imul => self.int2(Op::Mul, false, bits, a, b),
            N::Imad => {
                let ab = self.int2(Op::Mul, false, bits, a, b);
                self.int2(Op::Add, false, bits, ab, l.src(2))
            }
            N::Idiv => self.extended2(Op::Div, true, bits, a, b),
            N::Udiv => self.extended2(Op::Div, false, bits, a, b),
            N::Umod => self.extended2(Op::Mod, false, bits, a, b),
            N::Irem => self.extended2(Op::Mod, true, bits, a, b),
            N::Imod => {
                // The remainder takes the divisor's sign: one divisor more where the signs differ.
                let (a, b) = self.ints(a, b, bits, true);
                let wide = bits.max(32);
                let r = self.int2(Op::Mod, true, wide, a, b);
                let x = self.bitwise(Op::Xor, wide, r, b);
                let zero = self.zero(wide);
                let differ = self.compare_ints(Cond::Lt, true, x, zero, wide);
                let some = self.compare_ints(Cond::Ne, false, r, zero, wide);
                let more = self.int2(Op::Add, false, wide, r, b);
                let p = self.and(differ, some);
                self.select_comp(p, more, r)
            }
            N::ImulHigh => self.mul_high(true, bits, a, b),
            N::UmulHigh => self.mul_high(false, bits, a, b),
            N::ImulWide | N::UmulWide => {
                let signed = l.op == N::ImulWide;
                let lo = self.op2(Op::Mul, Type::U32, a.word(), b.word());
                let hi = self.op2(Op::MulHi, int_type(32, signed), a.word(), b.word());
                Comp::Wide(lo, hi)
            }
            N::UmulLow | N::Umul16x16 => self.mul_parts(16, 16, false, a, b),
            N::Imul16x16 => self.mul_parts(16, 16, true, a, b),
            N::Imul32x16 => self.mul_parts(32, 16, true, a, b),
            N::Umul32x16 => self.mul_parts(32, 16, false, a, b),
            N::Imul24 => self.mul_parts(24, 24, true, a, b),
            N::Umul24 => self.mul_parts(24, 24, false, a, b),
            N::Umad24 => {
                let ab = self.mul_parts(24, 24, false, a, b);
                self.int2(Op::Add, false, 32, ab, l.src(2))
            }
            _ => return None,
        })
    }

    /// Signs, smaller and larger numbers, and choices by an order.
    fn of_order(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, b, bits) = (l.src(0), l.src(1), l.bits);
        Some(match l.op {
            N::Ineg => match a {
                Comp::Word(Word::Mask(p)) => self.number_of(p, 32, false),
                Comp::Word(Word::Imm(x)) => Comp::Word(Word::Imm(x.wrapping_neg() & mask(bits))),
                a => self.int1(Op::Neg, true, bits, a),
            },
            N::Iabs => {
                let a = self.int_src(a, bits, true);
                self.int1(Op::Abs, true, bits, a)
            }
            N::Isign => {
                let a = self.int_src(a, bits, true);
                let minus = Comp::constant(bits.max(32), u64::MAX);
                let one = Comp::constant(bits.max(32), 1);
                let a = self.int2(Op::Max, true, bits, a, minus);
                self.int2(Op::Min, true, bits, a, one)
            }
            N::Imin => self.extended2(Op::Min, true, bits, a, b),
            N::Imax => self.extended2(Op::Max, true, bits, a, b),
            N::Umin => self.extended2(Op::Min, false, bits, a, b),
            N::Umax => self.extended2(Op::Max, false, bits, a, b),
            N::IcselGt | N::IcselGe | N::IcselEqz => {
                let cond = match l.op {
                    N::IcselGt => Cond::Gt,
                    N::IcselGe => Cond::Ge,
                    _ => Cond::Eq,
                };
                let zero = self.zero(bits);
                let p = self.compare_ints(cond, true, a, zero, bits);
                self.select_comp(p, b, l.src(2))
            }
            _ => return None,
        })
    }

    /// Carries, and sums that stop at the ends of their range.
    fn saturated(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, b, bits) = (l.src(0), l.src(1), l.bits);
        Some(match l.op {
            N::UaddCarry => {
                let (a, b) = self.ints(a, b, bits, false);
                let sum = self.int2(Op::Add, false, bits.max(32), a, b);
                let p = if bits < 32 {
                    self.compare_ints(Cond::Gt, false, sum, Comp::constant(32, mask(bits).into()), 32)
                } else {
                    self.compare_ints(Cond::Lt, false, sum, a, bits)
                };
                self.number_of(p, bits, false)
            }
            N::UsubBorrow => {
                let p = self.compare_ints(Cond::Lt, false, a, b, bits);
                self.number_of(p, bits, false)
            }
            N::UaddSat if bits < 32 => {
                let (a, b) = self.ints(a, b, bits, false);
                let sum = self.int2(Op::Add, false, 32, a, b);
                self.int2(Op::Min, false, 32, sum, Comp::constant(32, mask(bits).into()))
            }
            N::UaddSat => {
                let sum = self.int2(Op::Add, false, bits, a, b);
                let p = self.compare_ints(Cond::Lt, false, sum, a, bits);
                self.select_comp(p, Comp::constant(bits, u64::MAX), sum)
            }
            N::UsubSat => {
                let (a, b) = self.ints(a, b, bits, false);
                let max = self.int2(Op::Max, false, bits.max(32), a, b);
                self.int2(Op::Sub, false, bits.max(32), max, b)
            }
            N::IaddSat | N::IsubSat => {
                let op = if l.op == N::IaddSat { Op::Add } else { Op::Sub };
                if bits < 32 {
                    let (a, b) = self.ints(a, b, bits, true);
                    let sum = self.int2(op, true, 32, a, b);
                    let top = u64::from(mask(bits) >> 1);
                    let sum = self.int2(Op::Min, true, 32, sum, Comp::constant(32, top));
                    self.int2(Op::Max, true, 32, sum, Comp::constant(32, !top))
                } else if bits == 32 {
                    let op = if l.op == N::IaddSat { Op::AddSat } else { Op::SubSat };
                    Comp::Word(self.op2(op, Type::S32, a.word(), b.word()))
                } else {
                    // It overflowed where the result's sign is neither operand's (of a difference: unlike a's
                    // though the operands' differ); then the limit is on a's side.
                    let sum = self.int2(op, false, bits, a, b);
                    let x = self.bitwise(Op::Xor, bits, a, sum);
                    let y = if op == Op::Add {
                        self.bitwise(Op::Xor, bits, b, sum)
                    } else {
                        self.bitwise(Op::Xor, bits, a, b)
                    };
                    let both = self.bitwise(Op::And, bits, x, y);
                    let zero = self.zero(bits);
                    let over = self.compare_ints(Cond::Lt, true, both, zero, bits);
                    let sign = self.shift(Op::Shr, bits, true, a, Comp::constant(32, u64::from(bits) - 1));
                    let limit = self.bitwise(
                        Op::Xor,
                        bits,
                        sign,
                        Comp::constant(bits, u64::MAX >> (65 - u32::from(bits))),
                    );
                    self.select_comp(over, limit, sum)
                }
            }
            _ => return None,
        })
    }

    /// Shifts and rotations.
    fn shift_or_rotate(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, b, bits) = (l.src(0), l.src(1), l.bits);
        Some(match l.op {
            N::Ishl => match (bits, b.as_const()) {
                (64, Some(n)) => self.mul64(a, 1 << (n & 63)),
                _ => self.shift(Op::Shl, bits, false, a, b),
            },
            N::Ishr => self.shift(Op::Shr, bits, true, a, b),
            N::Ushr => self.shift(Op::Shr, bits, false, a, b),
            N::Urol | N::Uror => {
                let (there, back) = if l.op == N::Urol { (Op::Shl, Op::Shr) } else { (Op::Shr, Op::Shl) };
                let x = self.shift(there, bits, false, a, b);
                let width = u32::from(bits);
                let rest = match b.word() {
                    Word::Imm(n) => Word::Imm(width.wrapping_sub(n & (width - 1)) & (width - 1)),
                    n => self.op1(Op::Neg, Type::S32, n),
                };
                let y = self.shift(back, bits, false, a, Comp::Word(rest));
                self.bitwise(Op::Or, bits, x, y)
            }
            N::FunnelShr => {
                let pair = Comp::Wide(b.word(), a.word());
                let by = self.op2(Op::And, Type::U32, l.src(2).word(), 31);
                Comp::Word(self.shift(Op::Shr, 64, false, pair, Comp::Word(by)).word())
            }
            _ => return None,
        })
    }

    fn extended2(&mut self, op: Op, signed: bool, bits: u8, a: Comp, b: Comp) -> Comp {
        let (a, b) = self.ints(a, b, bits, signed);
        self.int2(op, signed, bits.max(32), a, b)
    }

    fn mul_high(&mut self, signed: bool, bits: u8, a: Comp, b: Comp) -> Comp {
        if bits < 32 {
            let product = self.extended2(Op::Mul, signed, bits, a, b);
            return self.shift(Op::Shr, 32, signed, product, Comp::constant(32, bits.into()));
        }
        self.int2(Op::MulHi, signed, bits, a, b)
    }

    /// The product of the low bits of both operands.
    fn mul_parts(&mut self, a_bits: u8, b_bits: u8, signed: bool, a: Comp, b: Comp) -> Comp {
        let a = self.extend(a.word(), a_bits, signed);
        let b = self.extend(b.word(), b_bits, signed);
        Comp::Word(self.op2(Op::Mul, Type::U32, a, b))
    }
}
