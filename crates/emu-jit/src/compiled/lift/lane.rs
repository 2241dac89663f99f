//! Lane operations as vector code.

use super::group::{Group, Lanes, Nans};
use super::vector::{GROUP, SIGN};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use nvir_base::num::Round;
use nvir_base::num::int::Permute;
use nvir_base::num::mufu::Func;
use nvir_emu::engine::Code;
use nvir_emu::engine::open::{FloatOp, Fp, Funnel, LaneOp, POOL, Part, Src, Uniform};

/// Whether [`Group::lane`] has code for an operation.
pub(super) fn is_lane_op(code: &Code, op: LaneOp, src: &[Src; 3]) -> bool {
    let known = |i: usize| Group::known(code, src[i]);
    match op {
        LaneOp::Float(_, fp) => fp.round == Round::Rn && fp.scale == 0,
        LaneOp::Mufu { func, .. } => func == Func::Rcp,
        LaneOp::Rcp64h | LaneOp::Rsq64h | LaneOp::MadSpDescribed => false,
        LaneOp::Video(_) | LaneOp::SurfaceAddress => false,
        LaneOp::Bfe { reverse, .. } => !reverse && known(1).is_some(),
        LaneOp::Shr { reverse, .. } => !reverse,
        LaneOp::Bfi => known(1).is_some(),
        LaneOp::Shf(_) => known(1).is_some(),
        LaneOp::Prmt(mode) => mode == Permute::Index && known(1).is_some_and(|s| s & 0x8888 == 0),
        LaneOp::FAdd { .. } | LaneOp::FMul { .. } | LaneOp::FFma { .. } => true,
        LaneOp::FMin { .. } | LaneOp::FMax { .. } | LaneOp::FSel { .. } => true,
        LaneOp::Mov | LaneOp::Sel { .. } | LaneOp::And | LaneOp::Or | LaneOp::Xor => true,
        LaneOp::Add | LaneOp::AddOne | LaneOp::Sub | LaneOp::SubFrom | LaneOp::AddNot => true,
        LaneOp::ShlAdd | LaneOp::MulAdd | LaneOp::MulSub | LaneOp::MulHiAdd { .. } | LaneOp::MadSp(_) => true,
        LaneOp::Min { .. } | LaneOp::Max { .. } | LaneOp::Sad { .. } => true,
        LaneOp::Shl { .. } | LaneOp::Flo { .. } | LaneOp::Popc => true,
    }
}

/// A shift's distance.
enum Distance {
    Known(u32),
    /// The same in all lanes.
    Uniform(Value),
    Each(Value),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shift {
    Left,
    Right,
    Signed,
}

impl Group<'_, '_, '_> {
    /// What an operation of [`is_lane_op`] gives.
    pub(super) fn lane(&mut self, op: LaneOp, src: &[Src; 3]) -> Lanes {
        let [a, b, c] = *src;
        let value = match op {
            LaneOp::FAdd { ftz } => return self.float_op(FloatOp::Add, Fp { ftz, ..Fp::default() }, src),
            LaneOp::FMul { ftz } => return self.float_op(FloatOp::Mul, Fp { ftz, ..Fp::default() }, src),
            LaneOp::FFma { ftz } => return self.float_op(FloatOp::Fma, Fp { ftz, ..Fp::default() }, src),
            LaneOp::Float(op, fp) => return self.float_op(op, fp, src),
            LaneOp::Mufu { sat, .. } => return self.reciprocal(sat, a),
            LaneOp::FMin { ftz } => return self.float_extreme(FloatCC::LessThan, ftz, src),
            LaneOp::FMax { ftz } => return self.float_extreme(FloatCC::GreaterThan, ftz, src),
            LaneOp::FSel { test, ftz } => {
                let (a, b) = (self.bits(a), self.bits(b));
                let (c, zero) = (self.flushed(c, ftz), self.e.all(0));
                let mask = self.e.float_test(test, c, zero);
                self.e.pick(mask, a, b)
            }
            LaneOp::Sel { test, signed } => {
                let (a, b, c, zero) = (self.bits(a), self.bits(b), self.bits(c), self.e.all(0));
                let mask = self.e.int_test(test, signed, c, zero);
                self.e.pick(mask, a, b)
            }
            LaneOp::Mov => self.bits(a),
            LaneOp::Shl { wrap } => self.shift(Shift::Left, wrap, a, b),
            LaneOp::Shr { signed, wrap, .. } => {
                self.shift(if signed { Shift::Signed } else { Shift::Right }, wrap, a, b)
            }
            LaneOp::ShlAdd => {
                let shifted = self.shift(Shift::Left, true, a, c);
                let b = self.bits(b);
                self.e.add(shifted, b)
            }
            LaneOp::Shf(funnel) => self.funnel(funnel, src),
            LaneOp::Bfe { signed, .. } => self.extract(signed, a, b),
            LaneOp::Bfi => self.insert(src),
            LaneOp::Prmt(_) => {
                let selector = Group::known(self.code, b).unwrap_or(0);
                let (low, high) = (self.bits(a), self.bits(c));
                let (low, high) = (self.e.bytes(low), self.e.bytes(high));
                let mut bytes = Vec::new();
                for lane in 0..GROUP as u8 {
                    let byte = |i: u8| (selector >> (4 * i) & 7) as u8;
                    // From the fifth byte on, those of the second vector.
                    bytes.extend((0..4).map(|i| 4 * lane + byte(i) % 4 + byte(i) / 4 * 16));
                }
                let out = self.e.shuffle(low, high, &bytes);
                self.e.words(out)
            }
            LaneOp::MadSp([x, y, z]) => {
                let (a, b, c) = (self.part(x, a), self.part(y, b), self.part(z, c));
                let product = self.e.mul(a, b);
                self.e.add(product, c)
            }
            _ => self.integer(op, src),
        };
        Lanes::exact(value)
    }

    fn integer(&mut self, op: LaneOp, src: &[Src; 3]) -> Value {
        let a = self.bits(src[0]);
        if let LaneOp::Flo { signed, shift } = op {
            return self.leading(signed, shift, a);
        }
        let b = self.bits(src[1]);
        match op {
            LaneOp::Add => return self.e.add(a, b),
            LaneOp::AddOne => {
                // One more is less minus one.
                let sum = self.e.add(a, b);
                let minus_one = self.e.all(u32::MAX);
                return self.e.sub(sum, minus_one);
            }
            LaneOp::Sub => return self.e.sub(a, b),
            LaneOp::SubFrom => return self.e.sub(b, a),
            LaneOp::AddNot => {
                let sum = self.e.add(a, b);
                return self.e.not(sum);
            }
            LaneOp::And => return self.e.and(a, b),
            LaneOp::Or => return self.e.or(a, b),
            LaneOp::Xor => return self.e.xor(a, b),
            LaneOp::Min { signed: true } => return self.e.b.ins().smin(a, b),
            LaneOp::Min { signed: false } => return self.e.b.ins().umin(a, b),
            LaneOp::Max { signed: true } => return self.e.b.ins().smax(a, b),
            LaneOp::Max { signed: false } => return self.e.b.ins().umax(a, b),
            LaneOp::Popc => {
                let both = self.e.and(a, b);
                return self.e.each(both, both, |e, x, _| e.b.ins().popcnt(x));
            }
            _ => {}
        }
        let c = self.bits(src[2]);
        match op {
            LaneOp::MulAdd => {
                let product = self.e.mul(a, b);
                self.e.add(product, c)
            }
            LaneOp::MulSub => {
                let product = self.e.mul(a, b);
                self.e.sub(c, product)
            }
            LaneOp::MulHiAdd { signed } => {
                let high = self.e.mul_high(a, b, signed);
                self.e.add(high, c)
            }
            LaneOp::Sad { signed } => {
                let ins = |e: &mut Self| match signed {
                    true => (e.e.b.ins().smax(a, b), e.e.b.ins().smin(a, b)),
                    false => (e.e.b.ins().umax(a, b), e.e.b.ins().umin(a, b)),
                };
                let (high, low) = ins(self);
                let distance = self.e.sub(high, low);
                self.e.add(distance, c)
            }
            other => unreachable!("{other:?} is not one of is_lane_op"),
        }
    }

    /// Addition, multiplication, both, rounded to nearest.
    fn float_op(&mut self, op: FloatOp, fp: Fp, src: &[Src; 3]) -> Lanes {
        let flush = fp.ftz || fp.fmz;
        let (x, y) = (self.flushed(src[0], flush), self.flushed(src[1], flush));
        let (fx, fy) = (self.e.floats(x), self.e.floats(y));
        // Where nothing but zeros multiply to zero, whatever the other factor is.
        let zero_factor = (fp.fmz && op != FloatOp::Add).then(|| {
            let zero = self.e.all(0);
            let (p, q) = (self.e.fcmp(FloatCC::Equal, x, zero), self.e.fcmp(FloatCC::Equal, y, zero));
            self.e.or(p, q)
        });
        let mut v = match op {
            FloatOp::Add => self.e.b.ins().fadd(fx, fy),
            FloatOp::Mul => self.e.b.ins().fmul(fx, fy),
            FloatOp::Fma => {
                let z = self.flushed(src[2], flush);
                let fz = self.e.floats(z);
                self.e.b.ins().fma(fx, fy, fz)
            }
        };
        if let Some(mask) = zero_factor {
            let zero = self.e.all(0);
            let mut otherwise = zero;
            if op == FloatOp::Fma {
                let z = self.flushed(src[2], flush);
                let (fz, zero) = (self.e.floats(z), self.e.floats(zero));
                let sum = self.e.b.ins().fadd(zero, fz);
                otherwise = self.e.words(sum);
            }
            let product = self.e.words(v);
            let value = self.e.pick(mask, otherwise, product);
            v = self.e.floats(value);
        }
        let mut v = Lanes { value: self.e.words(v), nans: Nans::Any, flushed: flush };
        if flush {
            v.value = self.e.flush(v.value);
        }
        if fp.sat {
            v = Lanes { value: self.e.saturate(v.value), nans: Nans::Exact, ..v };
        }
        v
    }

    /// MUFU.RCP: a quotient of floats rounds to the same float as one of doubles.
    fn reciprocal(&mut self, sat: bool, src: Src) -> Lanes {
        let (x, one) = (self.flushed(src, true), self.e.all(1f32.to_bits()));
        let (x, one) = (self.e.floats(x), self.e.floats(one));
        let v = self.e.b.ins().fdiv(one, x);
        let v = self.e.words(v);
        let value = self.e.flush(v);
        match sat {
            true => Lanes::exact(self.e.saturate(value)),
            false => Lanes { value, nans: Nans::Any, flushed: true },
        }
    }

    /// The minimum or maximum: what compares so with the other. A NaN gives way to a number; -0 is less than +0.
    fn float_extreme(&mut self, closer: FloatCC, ftz: bool, src: &[Src; 3]) -> Lanes {
        let (a, b) = (self.flushed(src[0], ftz), self.flushed(src[1], ftz));
        let first = self.e.fcmp(closer, a, b);
        let picked = self.e.pick(first, a, b);
        let zeros = if closer == FloatCC::LessThan { self.e.or(a, b) } else { self.e.and(a, b) };
        let equal = self.e.fcmp(FloatCC::Equal, a, b);
        let picked = self.e.pick(equal, zeros, picked);
        // A first operand that is no number is not closer.
        let no_second = self.e.fcmp(FloatCC::Unordered, b, b);
        let value = self.e.pick(no_second, a, picked);
        Lanes { value, nans: Nans::Any, flushed: ftz }
    }

    fn distance(&mut self, by: Src) -> Distance {
        if let Some(v) = Group::known(self.code, by) {
            return Distance::Known(v);
        }
        let v = self.bits(by);
        let pool = by.row.checked_sub(POOL).and_then(|u| self.code.uniforms().get(usize::from(u)));
        match pool {
            Some(Uniform::Const(..)) => Distance::Uniform(self.e.b.ins().extractlane(v, 0u8)),
            _ => Distance::Each(v),
        }
    }

    /// `a` shifted; a distance of 32 and more wraps around or shifts everything out.
    fn shift(&mut self, shift: Shift, wrap: bool, a: Src, by: Src) -> Value {
        let distance = self.distance(by);
        let a = self.bits(a);
        let (scalar, vector) = match distance {
            Distance::Known(by) => {
                let by = if wrap { by & 31 } else { by };
                return match shift {
                    Shift::Left => self.e.shl(a, by),
                    Shift::Right => self.e.shr(a, by),
                    Shift::Signed => self.e.sar(a, by),
                };
            }
            Distance::Uniform(by) => (Some(by), self.e.b.ins().splat(super::vector::WORDS, by)),
            Distance::Each(by) => (None, by),
        };
        let most = self.e.all(31);
        // The host's shifts wrap around.
        let limited =
            if shift == Shift::Signed && !wrap { self.e.b.ins().umin(vector, most) } else { vector };
        let out = match scalar {
            Some(mut by) => {
                if limited != vector {
                    by = self.e.b.ins().extractlane(limited, 0u8);
                }
                match shift {
                    Shift::Left => self.e.b.ins().ishl(a, by),
                    Shift::Right => self.e.b.ins().ushr(a, by),
                    Shift::Signed => self.e.b.ins().sshr(a, by),
                }
            }
            None if shift == Shift::Left && cfg!(target_arch = "x86_64") => {
                self.shift_left_by_product(a, vector)
            }
            None => self.e.each(a, limited, |e, x, by| match shift {
                Shift::Left => e.b.ins().ishl(x, by),
                Shift::Right => e.b.ins().ushr(x, by),
                Shift::Signed => e.b.ins().sshr(x, by),
            }),
        };
        if wrap || shift == Shift::Signed {
            return out;
        }
        let inside =
            self.e.icmp(cranelift_codegen::ir::condcodes::IntCC::UnsignedLessThanOrEqual, vector, most);
        self.e.and(out, inside)
    }

    /// `a` times two to the distance's low five bits, which is made as a float.
    fn shift_left_by_product(&mut self, a: Value, by: Value) -> Value {
        let low = self.e.all(31);
        let by = self.e.and(by, low);
        let exponent = self.e.shl(by, 23);
        let one = self.e.all(1f32.to_bits());
        let power = self.e.add(exponent, one);
        let power = self.e.floats(power);
        // 2^31 does not fit, for which the host gives the integer that it is without a sign.
        let power = self.e.b.ins().x86_cvtt2dq(types::I32X4, power);
        self.e.mul(a, power)
    }

    /// `c:a` shifted by a distance that is known.
    fn funnel(&mut self, f: Funnel, src: &[Src; 3]) -> Value {
        let limit = if f.wide { 64 } else { 32 };
        let by = Group::known(self.code, src[1]).unwrap_or(0);
        let by = if f.wrap { by & (limit - 1) } else { by.min(limit) };
        let (low, high) = (self.bits(src[0]), self.bits(src[2]));
        let right = |this: &mut Self, v, by| if f.signed { this.e.sar(v, by) } else { this.e.shr(v, by) };
        match (f.left, f.high) {
            (true, _) if by > 32 => self.e.shl(low, by - 32),
            (true, _) => {
                let (up, rest) = (self.e.shl(high, by), self.e.shr(low, 32 - by));
                self.e.or(up, rest)
            }
            (false, true) => right(self, high, by),
            (false, false) if by > 32 => right(self, high, by - 32),
            (false, false) => {
                let (down, rest) = (self.e.shr(low, by), self.e.shl(high, 32 - by));
                self.e.or(down, rest)
            }
        }
    }

    /// A field whose place is known.
    fn extract(&mut self, signed: bool, a: Src, field: Src) -> Value {
        let field = Group::known(self.code, field).unwrap_or(0);
        let (position, length) = (field & 0xff, field >> 8 & 0xff);
        if length == 0 {
            return self.e.all(0);
        }
        let v = self.bits(a);
        if signed {
            // Bit 31 is the sign where the field reaches beyond it.
            let end = position + length;
            let v = self.e.shl(v, 32u32.saturating_sub(end));
            return self.e.sar(v, if end <= 32 { 32 - length } else { position });
        }
        let v = self.e.shr(v, position);
        if length >= 32 {
            return v;
        }
        let mask = self.e.all((1 << length) - 1);
        self.e.and(v, mask)
    }

    /// The low bits of the first operand in a field of the third one whose place is known.
    fn insert(&mut self, src: &[Src; 3]) -> Value {
        let field = Group::known(self.code, src[1]).unwrap_or(0);
        let (position, length) = (field & 0xff, (field >> 8 & 0xff).min(32));
        let into = self.bits(src[2]);
        if position >= 32 || length == 0 {
            return into;
        }
        let bits = ((((1u64 << length) - 1) << position) & u64::from(u32::MAX)) as u32;
        let v = self.bits(src[0]);
        let v = self.e.shl(v, position);
        let (inside, outside) = (self.e.all(bits), self.e.all(!bits));
        let (v, into) = (self.e.and(v, inside), self.e.and(into, outside));
        self.e.or(v, into)
    }

    fn part(&mut self, part: Part, src: Src) -> Value {
        let v = self.bits(src);
        let signed = |this: &mut Self, v, bits: u32| {
            let v = this.e.shl(v, 32 - bits);
            this.e.sar(v, 32 - bits)
        };
        let unsigned = |this: &mut Self, v, bits: u32| {
            let mask = this.e.all((1 << bits) - 1);
            this.e.and(v, mask)
        };
        match part {
            Part::Whole => v,
            Part::Low16 => unsigned(self, v, 16),
            Part::SignedLow16 => signed(self, v, 16),
            Part::High16 => self.e.shr(v, 16),
            Part::SignedHigh16 => self.e.sar(v, 16),
            Part::Low24 => unsigned(self, v, 24),
            Part::SignedLow24 => signed(self, v, 24),
        }
    }

    /// FLO.
    fn leading(&mut self, signed: bool, shift: bool, a: Value) -> Value {
        let sign = if signed { self.e.is_negative(a) } else { self.e.all(0) };
        let a = self.e.xor(a, sign);
        let zeros = self.e.each(a, a, |e, x, _| e.b.ins().clz(x));
        let none = self.e.is_zero(a);
        let out = if shift {
            zeros
        } else {
            let top = self.e.all(31);
            self.e.sub(top, zeros)
        };
        self.e.or(out, none)
    }

    /// The magnitude of a float negated.
    pub(super) fn negated(&mut self, v: Value) -> Value {
        let sign = self.e.all(SIGN);
        self.e.xor(v, sign)
    }
}
