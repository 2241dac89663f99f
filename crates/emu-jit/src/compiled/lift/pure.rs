//! Micro-ops that compute each lane's registers, predicates and flags from its own.

use super::super::liveness::FIRST_FLAG;
use super::group::{Group, Lanes, Nans};
use super::lane::is_lane_op;
use super::vector::SIGN;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use nvir_base::num::Round;
use nvir_base::num::conv::{Float, Int};
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{
    Bop, CarryIn, Cmp, CmpOp, Conv, Inst, Micro, MinMaxPart, NumType, SetDst, Src, WideOp,
};

/// The flags among the masks.
const ZERO: usize = FIRST_FLAG;
const CARRY: usize = FIRST_FLAG + 2;

/// The last test of the condition code.
const LAST_TEST: u8 = 23;

/// Whether [`Group::execute`] has code for an instruction.
pub(crate) fn is_compiled(code: &Code, inst: &Inst) -> bool {
    if inst.sync {
        return false;
    }
    match &inst.micro {
        Micro::Nop | Micro::Fence(_) => true,
        Micro::Lane { op, src, .. } => is_lane_op(code, op.op, src),
        Micro::Sum { .. } | Micro::Mad { .. } | Micro::MinMaxX { .. } | Micro::Sel { .. } => true,
        Micro::MinMax { src: [a, b], min, max, .. } => {
            [min, max].iter().all(|op| is_lane_op(code, op.op, &[*a, *b, Src::ZERO]))
        }
        Micro::Wide { op: WideOp::Convert(c), wide: false, .. } => is_conversion(c),
        // The flags of a comparison are those of its register.
        Micro::Set { dst: SetDst::Preds(..), .. } if inst.cc => false,
        Micro::Set { cmp, .. } => match cmp {
            Cmp::Rows { .. } | Cmp::IntX { .. } | Cmp::Preds { .. } => true,
            Cmp::Cc(test) => *test <= LAST_TEST,
            Cmp::F64 { .. } => false,
        },
        _ => false,
    }
}

fn is_conversion(c: &Conv) -> bool {
    const F32: NumType = NumType::Float(Float::F32);
    match (c.from, c.to) {
        (NumType::Int(from), _) if from.bits + u32::from(c.shift) > 32 => false,
        (NumType::Int(from), F32) if from.bits == 32 => c.round == Round::Rn && !c.abs && !c.neg,
        (NumType::Int(_), F32) => true,
        (F32, NumType::Int(to)) => to.bits <= 32 && c.shift == 0 && (to.bits == 32 || to.signed),
        (F32, F32) => c.shift == 0,
        (NumType::Int(_), NumType::Int(to)) => to.bits <= 32 && !c.sat,
        _ => false,
    }
}

impl Group<'_, '_, '_> {
    /// Executes an instruction of [`is_compiled`], whose guard has been entered.
    pub(super) fn execute(&mut self, inst: &Inst) {
        let (dst, out) = match &inst.micro {
            Micro::Nop | Micro::Fence(_) => return,
            Micro::Lane { op, dst, src } => (*dst, self.lane(op.op, src)),
            Micro::S2r { dst, reg } => (*dst, self.special(*reg)),
            Micro::MinMax { dst, src: [a, b], min, max, pick } => {
                let src = [*a, *b, Src::ZERO];
                let out = match (pick.num & 7, pick.not) {
                    (7, false) => self.lane(min.op, &src),
                    (7, true) => self.lane(max.op, &src),
                    _ => {
                        let (min, max) = (self.lane(min.op, &src), self.lane(max.op, &src));
                        let mask = self.pred(*pick);
                        Lanes { value: self.e.pick(mask, min.value, max.value), ..min }
                    }
                };
                (*dst, out)
            }
            Micro::Sel { dst, src: [a, b], pick } => {
                let (a, b, mask) = (self.bits(*a), self.bits(*b), self.pred(*pick));
                (*dst, Lanes::exact(self.e.pick(mask, a, b)))
            }
            Micro::Wide { op: WideOp::Convert(c), dst, src, .. } => (*dst, self.convert(c, src[0].lo)),
            Micro::Set { dst, cmp, with, bop } => {
                let hit = self.hit(cmp);
                let with = self.pred(*with);
                match *dst {
                    SetDst::Preds(p, q) => {
                        let miss = self.e.not(hit);
                        let (hit, miss) = (self.combine(*bop, hit, with), self.combine(*bop, miss, with));
                        self.put_pred(q, miss);
                        self.put_pred(p, hit);
                        return;
                    }
                    SetDst::Reg { dst, bf } => {
                        let all = self.combine(*bop, hit, with);
                        let yes = self.e.all(if bf { 1f32.to_bits() } else { u32::MAX });
                        (dst, Lanes::exact(self.e.and(all, yes)))
                    }
                }
            }
            Micro::Sum { .. } | Micro::Mad { .. } => return self.sum(inst),
            Micro::MinMaxX { .. } => return self.extreme_part(inst),
            other => unreachable!("{other:?} is not one of is_compiled"),
        };
        if inst.cc {
            let out = if out.nans == Nans::Any { Lanes::exact(self.e.canonical(out.value)) } else { out };
            self.put(dst, out);
            self.put_flags(inst, out.value);
            return;
        }
        self.put(dst, out);
    }

    fn combine(&mut self, bop: Bop, a: Value, b: Value) -> Value {
        match bop {
            Bop::And => self.e.and(a, b),
            Bop::Or => self.e.or(a, b),
            Bop::Xor => self.e.xor(a, b),
        }
    }

    /// The lanes for which a comparison holds.
    fn hit(&mut self, cmp: &Cmp) -> Value {
        match *cmp {
            Cmp::Rows { op: CmpOp::Int { test, signed }, a, b } => {
                let (a, b) = (self.bits(a), self.bits(b));
                self.e.int_test(test, signed, a, b)
            }
            Cmp::Rows { op: CmpOp::Float { test, ftz }, a, b } => {
                let (a, b) = (self.flushed(a, ftz), self.flushed(b, ftz));
                self.e.float_test(test, a, b)
            }
            Cmp::Preds { a, b, bop } => {
                let (a, b) = (self.pred(a), self.pred(b));
                self.combine(bop, a, b)
            }
            Cmp::IntX { test, signed, a, b } => {
                let (a, b) = (self.bits(a), self.bits(b));
                let (carry, zero) = (self.mask(CARRY), self.mask(ZERO));
                // The difference of the words, less one without carry: less than zero, or zero.
                let (less, equal) = (self.e.int_test(1, signed, a, b), self.e.icmp(IntCC::Equal, a, b));
                let borrow = self.e.not(carry);
                let less_by_borrow = self.e.and(equal, borrow);
                let less = self.e.or(less, less_by_borrow);
                let without_carry = {
                    let greater = self.e.int_test(4, signed, a, b);
                    let difference = self.e.sub(a, b);
                    let one = self.e.all(1);
                    let by_one = self.e.icmp(IntCC::Equal, difference, one);
                    self.e.and(greater, by_one)
                };
                let none = self.e.pick(carry, equal, without_carry);
                let equal = self.e.and(none, zero);
                let mut out = self.e.all(0);
                let greater = self.e.or(less, equal);
                let greater = self.e.not(greater);
                for (bit, mask) in [(1, less), (2, equal), (4, greater)] {
                    if test & bit != 0 {
                        out = self.e.or(out, mask);
                    }
                }
                out
            }
            Cmp::Rows { op: CmpOp::Division, a, b } => {
                self.is_special(a, b, (23, 0xff), [(25, 254), (1, 252), (-100, 125)])
            }
            Cmp::Rows { op: CmpOp::Division64, a, b } => {
                self.is_special(a, b, (20, 0x7ff), [(55, 2046), (1, 2044), (-960, 1021)])
            }
            Cmp::Cc(test) => self.condition(test),
            Cmp::F64 { .. } => unreachable!("is_compiled leaves doubles to the interpreter"),
        }
    }

    /// Whether a quotient is not simply made from the reciprocal: the exponents of the operands, or their difference, are outside
    /// a range each. Where in a word an exponent is, and its bits.
    fn is_special(
        &mut self,
        a: Src,
        b: Src,
        (shift, bits): (u32, u32),
        [first, second, difference]: [(i32, i32); 3],
    ) -> Value {
        let bits = self.e.all(bits);
        let mut exponent = |src| {
            let v = self.bits(src);
            let v = self.e.shr(v, shift);
            self.e.and(v, bits)
        };
        let (a, b) = (exponent(a), exponent(b));
        let quotient = self.e.sub(a, b);
        let mut special = self.e.all(0);
        for (v, (least, most)) in [(a, first), (b, second), (quotient, difference)] {
            let (least, most) = (self.e.all(least as u32), self.e.all(most as u32));
            let small = self.e.icmp(IntCC::SignedLessThan, v, least);
            let large = self.e.icmp(IntCC::SignedGreaterThan, v, most);
            let outside = self.e.or(small, large);
            special = self.e.or(special, outside);
        }
        special
    }

    /// A test of the condition code: the emulator's `Cc::test`.
    fn condition(&mut self, test: u8) -> Value {
        let [z, s, c, o] = [0, 1, 2, 3].map(|n| self.mask(FIRST_FLAG + n));
        let e = &mut *self.e;
        let less = e.xor(s, o);
        // Those that are the complement of another one.
        let complement = match test {
            4 => Some(e.or(z, less)),
            5 | 7 => Some(e.and(z, s)),
            6 => Some(less),
            13 => {
                let positive = e.not(s);
                Some(e.and(z, positive))
            }
            16 => Some(o),
            17 => Some(c),
            18 => Some(s),
            _ => None,
        };
        if let Some(v) = complement {
            let v = if test == 5 { e.or(z, v) } else { v };
            return e.not(v);
        }
        match test {
            0 => e.all(0),
            1 => {
                let nonzero = e.not(z);
                let v = e.and(s, nonzero);
                e.xor(v, o)
            }
            2 => {
                let positive = e.not(s);
                e.and(z, positive)
            }
            3 | 12 => {
                let v = e.or(z, o);
                let v = e.xor(s, v);
                if test == 3 { v } else { e.not(v) }
            }
            8 => e.and(z, s),
            9 => less,
            10 => z,
            11 => e.or(z, less),
            14 => {
                let v = e.not(s);
                let v = e.or(v, z);
                e.xor(v, o)
            }
            19 => {
                let v = e.not(c);
                e.or(v, z)
            }
            20 => {
                let nonzero = e.not(z);
                e.and(c, nonzero)
            }
            21 => s,
            22 => c,
            23 => o,
            _ => e.all(u32::MAX),
        }
    }

    /// A part of a minimum or maximum of wide integers: the flags say what its higher words had, zero that they are equal, sign that
    /// the first operand is less.
    fn extreme_part(&mut self, inst: &Inst) {
        let Micro::MinMaxX { dst, src, signed, pick, part } = inst.micro else { return };
        let (a, b) = (self.bits(src[0]), self.bits(src[1]));
        let is_high = part == MinMaxPart::High;
        let mut less = self.e.int_test(1, signed && is_high, a, b);
        let mut same = self.e.icmp(IntCC::Equal, a, b);
        if !is_high {
            let (equal, first) = (self.mask(ZERO), self.mask(ZERO + 1));
            less = self.e.pick(equal, less, first);
            same = self.e.and(same, equal);
        }
        let pick = self.pred(pick);
        let other = self.e.xor(less, pick);
        let out = self.e.pick(other, b, a);
        self.put(dst, Lanes::exact(out));
        if inst.cc {
            let none = self.e.all(0);
            for (n, v) in [same, less, none, none].into_iter().enumerate() {
                self.put_mask(FIRST_FLAG + n, v);
            }
        }
    }

    /// Sums and products with carries, which set their own flags.
    fn sum(&mut self, inst: &Inst) {
        let (dst, sum, c, (first, second), saturated) = match inst.micro {
            Micro::Sum { dst, src, inv, carry, sat, shift } => {
                let (a, b) = (self.bits(src[0]), self.bits(src[1]));
                let a = self.e.shl(a, shift.into());
                let a = if inv[0] { self.e.not(a) } else { a };
                let b = if inv[1] { self.e.not(b) } else { b };
                let sum = self.add_carry(a, b, carry);
                (dst, sum, carry, (a, b), sat.then_some(sum))
            }
            Micro::Mad { dst, src, signed, hi, neg, carry, sat } => {
                let carry = if neg[1] && carry == CarryIn::Zero { CarryIn::One } else { carry };
                let (x, y, c) = (self.bits(src[0]), self.bits(src[1]), self.bits(src[2]));
                let low = self.e.mul(x, y);
                let (part, carry_in) = match (neg[0], hi) {
                    (false, false) => (low, carry),
                    (false, true) => (self.e.mul_high(x, y, signed), carry),
                    (true, true) => {
                        // Of the negated product: its complement, and one more if all below is zero.
                        let high = self.e.mul_high(x, y, signed);
                        let high = self.e.not(high);
                        let carries = self.e.is_zero(low);
                        (self.e.sub(high, carries), carry)
                    }
                    (true, false) => {
                        let carry = if carry == CarryIn::Zero { CarryIn::One } else { carry };
                        (self.e.not(low), carry)
                    }
                };
                let c = if neg[1] { self.e.not(c) } else { c };
                let sum = self.add_carry(part, c, carry_in);
                (dst, sum, carry, (part, c), sat.then_some(part))
            }
            _ => return,
        };
        let overflow = {
            let (p, q) = (self.e.xor(first, sum), self.e.xor(second, sum));
            let both = self.e.and(p, q);
            self.e.is_negative(both)
        };
        let mut out = sum;
        if let Some(of) = saturated {
            // What has the right sign, or (a sum) the wrong one.
            let negative = self.e.is_negative(of);
            let limit = if matches!(inst.micro, Micro::Sum { .. }) { SIGN } else { !SIGN };
            let limit = self.e.all(limit);
            let limit = self.e.xor(limit, negative);
            out = self.e.pick(overflow, limit, sum);
        }
        self.put(dst, Lanes::exact(out));
        if !inst.cc {
            return;
        }
        let mut zero = self.e.is_zero(out);
        if c == CarryIn::Flag {
            let old = self.mask(ZERO);
            zero = self.e.and(zero, old);
        }
        let sign = self.e.is_negative(out);
        let carry = {
            // Of both operands, or of one where the sum has lost it.
            let both = self.e.and(first, second);
            let any = self.e.or(first, second);
            let lost = self.e.not(sum);
            let passed = self.e.and(any, lost);
            let carries = self.e.or(both, passed);
            self.e.is_negative(carries)
        };
        for (n, v) in [zero, sign, carry, overflow].into_iter().enumerate() {
            self.put_mask(FIRST_FLAG + n, v);
        }
    }

    fn add_carry(&mut self, a: Value, b: Value, carry: CarryIn) -> Value {
        let sum = self.e.add(a, b);
        let carry = match carry {
            CarryIn::Zero => return sum,
            CarryIn::One => self.e.all(u32::MAX),
            CarryIn::Flag => self.mask(CARRY),
        };
        self.e.sub(sum, carry)
    }

    fn convert(&mut self, c: &Conv, src: Src) -> Lanes {
        match (c.from, c.to) {
            (NumType::Int(from), to) => {
                let v = self.bits(src);
                let v = self.e.shr(v, c.shift.into());
                let v = self.extend(from, v);
                let v = if c.abs && from.signed { self.e.b.ins().iabs(v) } else { v };
                let v = if c.neg { self.e.b.ins().ineg(v) } else { v };
                let signed = from.signed || from.bits < 32;
                match to {
                    NumType::Int(to) => Lanes::exact(self.extend(to, v)),
                    NumType::Float(_) => {
                        let float = super::vector::FLOATS;
                        let v = match signed {
                            true => self.e.b.ins().fcvt_from_sint(float, v),
                            false => self.e.b.ins().fcvt_from_uint(float, v),
                        };
                        Lanes { flushed: true, ..Lanes::exact(self.e.words(v)) }
                    }
                }
            }
            (NumType::Float(_), to) => {
                let mut v = self.float(src).value;
                if c.abs {
                    let magnitude = self.e.all(!SIGN);
                    v = self.e.and(v, magnitude);
                }
                if c.neg {
                    v = self.negated(v);
                }
                if c.ftz {
                    v = self.e.flush(v);
                }
                let rounds = c.to_integer || matches!(to, NumType::Int(_));
                if rounds {
                    let f = self.e.floats(v);
                    let f = match c.round {
                        Round::Rn => self.e.b.ins().nearest(f),
                        Round::Rm => self.e.b.ins().floor(f),
                        Round::Rp => self.e.b.ins().ceil(f),
                        Round::Rz => self.e.b.ins().trunc(f),
                    };
                    v = self.e.words(f);
                }
                match to {
                    NumType::Float(_) if c.sat => Lanes::exact(self.e.saturate(v)),
                    NumType::Float(_) => Lanes { value: v, nans: Nans::Any, flushed: c.ftz },
                    NumType::Int(to) => Lanes::exact(self.clamped(to, v)),
                }
            }
        }
    }

    /// Whole numbers, clamped to what fits.
    fn clamped(&mut self, to: Int, v: Value) -> Value {
        let (f, words) = (self.e.floats(v), super::vector::WORDS);
        if !to.signed {
            return self.e.b.ins().fcvt_to_uint_sat(words, f);
        }
        let v = self.e.b.ins().fcvt_to_sint_sat(words, f);
        if to.bits == 32 {
            return v;
        }
        let (least, most) = (self.e.all(to.min() as u32), self.e.all(to.max() as u32));
        let v = self.e.b.ins().smax(v, least);
        self.e.b.ins().smin(v, most)
    }

    /// The low bits of words as numbers of a type.
    fn extend(&mut self, int: Int, v: Value) -> Value {
        match int.bits {
            bits if bits >= 32 => v,
            bits if int.signed => {
                let v = self.e.shl(v, 32 - bits);
                self.e.sar(v, 32 - bits)
            }
            bits => {
                let mask = self.e.all((1 << bits) - 1);
                self.e.and(v, mask)
            }
        }
    }
}
