//! Floats: 32 and 64 bits as the machine (or a shared lowering) has them, 16 bits by way of 32.

use super::super::convert;
use super::alu::{Lane, Lowered, int_type};
use super::op::Op as N;
use super::value::{Comp, Pred, Word};
use super::{Division, Emit};
use crate::ir::{Cond, Inst, Op, Rnd, Type};

/// 64 bits stay so, the others are computed in 32.
fn float_type(bits: u8) -> Type {
    if bits == 64 { Type::F64 } else { Type::F32 }
}

/// A float constant of 32 or 64 bits.
fn constant(ty: Type, x: f64) -> Comp {
    if ty == Type::F64 {
        Comp::constant(64, x.to_bits())
    } else {
        Comp::constant(32, (x as f32).to_bits().into())
    }
}

impl Emit<'_> {
    /// A float source as 32 or 64 bits.
    pub(crate) fn float_src(&mut self, c: Comp, bits: u8) -> Comp {
        if bits == 16 { self.half_to_float(c.word(), 0) } else { c }
    }

    /// One half of a word as 32 bits.
    pub(crate) fn half_to_float(&mut self, w: Word, half: u8) -> Comp {
        if let Word::Imm(x) = w {
            let bits = half::f16::from_bits((x >> (16 * half)) as u16);
            return Comp::constant(32, bits.to_f32().to_bits().into());
        }
        let a = self.src(w);
        self.comp(convert::half_to_float(a, half))
    }

    /// A computed float in the result's width.
    fn float_result(&mut self, c: Comp, bits: u8) -> Comp {
        if bits == 16 { self.cvt(Type::F16, Type::F32, Rnd::Near, c) } else { c }
    }

    pub(crate) fn float_pair(&mut self, a: Comp, b: Comp, bits: u8) -> (Type, Comp, Comp) {
        (float_type(bits), self.float_src(a, bits), self.float_src(b, bits))
    }

    /// An operation on floats of the type.
    fn fop(&mut self, op: Op, ty: Type, exact: bool, srcs: &[Comp]) -> Comp {
        let mut i = Inst::new(op, ty);
        i.exact = exact;
        for &s in srcs {
            let s = self.operand(s);
            i.srcs.push(s);
        }
        self.comp(i)
    }

    fn round(&mut self, ty: Type, rnd: Rnd, a: Comp) -> Comp {
        let a = self.operand(a);
        self.comp(convert::integral(ty, rnd, a))
    }

    /// Clamped to [0, 1], NaN to 0.
    pub(crate) fn saturate(&mut self, a: Comp, bits: u8) -> Comp {
        let ty = float_type(bits);
        let x = self.float_src(a, bits);
        let x = if ty == Type::F64 {
            let x = self.fop(Op::Max, ty, false, &[x, constant(ty, 0.0)]);
            self.fop(Op::Min, ty, false, &[x, constant(ty, 1.0)])
        } else {
            let x = self.operand(x);
            self.comp(convert::saturate(x))
        };
        self.float_result(x, bits)
    }

    fn fsetp(&mut self, cond: Cond, ty: Type, a: Comp, b: Comp) -> Pred {
        let (a, b) = (self.operand(a), self.operand(b));
        self.setp(cond, ty, a, b)
    }

    pub(crate) fn float(&mut self, l: &Lane<'_>) -> Lowered {
        if let Some(c) = self.float_convert(l) {
            return Some(c);
        }
        if l.sbits < 16 {
            return None;
        }
        let ty = float_type(l.sbits);
        // Sign operations work on the bits as they are.
        if l.sbits == 16 && matches!(l.op, N::Fneg | N::Fabs) {
            let (op, k) = if l.op == N::Fneg { (Op::Xor, 0x8000) } else { (Op::And, 0x7fff) };
            return Some(Comp::Word(self.op2(op, Type::U32, l.src(0).word(), k)));
        }
        let simple = match l.op {
            N::Fadd => Op::Add,
            N::Fsub => Op::Sub,
            N::Fmul => Op::Mul,
            N::Fneg => Op::Neg,
            N::Fabs => Op::Abs,
            N::Fmin => Op::Min,
            N::Fmax => Op::Max,
            N::Ffma => Op::Mad,
            N::Frcp => Op::Rcp,
            N::Frsq => Op::Rsq,
            N::Fsqrt => Op::Sqrt,
            _ => return self.float_special(l),
        };
        let count = match simple {
            Op::Mad => 3,
            Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max => 2,
            _ => 1,
        };
        let srcs: arrayvec::ArrayVec<Comp, 3> =
            (0..count).map(|i| self.float_src(l.src(i), l.sbits)).collect();
        let r = self.fop(simple, ty, l.exact, &srcs);
        Some(self.float_result(r, l.bits))
    }

    fn float_special(&mut self, l: &Lane<'_>) -> Lowered {
        let ty = float_type(l.sbits);
        let bits = l.sbits;
        let a = l.src(0);
        let r = match l.op {
            N::Fsat => return Some(self.saturate(a, bits)),
            N::Fcanonicalize => {
                let x = self.float_src(a, bits);
                self.fop(Op::Mul, ty, true, &[x, constant(ty, 1.0)])
            }
            N::FsatSigned | N::FclampPos => {
                let x = self.float_src(a, bits);
                if l.op == N::FclampPos {
                    self.fop(Op::Max, ty, false, &[x, constant(ty, 0.0)])
                } else {
                    let x = self.fop(Op::Max, ty, false, &[x, constant(ty, -1.0)]);
                    self.fop(Op::Min, ty, false, &[x, constant(ty, 1.0)])
                }
            }
            N::Fsign => {
                // 1 or 0 with the sign of x: zero keeps its own, NaN gives a zero.
                let x = self.float_src(a, bits);
                let zero = constant(ty, 0.0);
                let apart = self.fsetp(Cond::Ne, ty, x, zero);
                match (self.select_comp(apart, constant(ty, 1.0), zero), x) {
                    (Comp::Wide(low, one), Comp::Wide(_, x)) => Comp::Wide(low, self.copy_sign(one, x)),
                    (one, x) => Comp::Word(self.copy_sign(one.word(), x.word())),
                }
            }
            N::Ffloor | N::Fceil | N::Ftrunc | N::FroundEven => {
                let rnd = match l.op {
                    N::Ffloor => Rnd::Down,
                    N::Fceil => Rnd::Up,
                    N::Ftrunc => Rnd::Zero,
                    _ => Rnd::Near,
                };
                let x = self.float_src(a, bits);
                self.round(ty, rnd, x)
            }
            N::Ffract => {
                let x = self.float_src(a, bits);
                let floor = self.round(ty, Rnd::Down, x);
                self.fop(Op::Sub, ty, l.exact, &[x, floor])
            }
            N::Fdiv => {
                let (_, x, y) = self.float_pair(a, l.src(1), bits);
                self.quotient(bits, l.exact, x, y)
            }
            N::Fmod | N::Frem => {
                let (_, x, y) = self.float_pair(a, l.src(1), bits);
                let q = self.quotient(bits, l.exact, x, y);
                let q = self.round(ty, if l.op == N::Fmod { Rnd::Down } else { Rnd::Zero }, q);
                let p = self.fop(Op::Mul, ty, l.exact, &[y, q]);
                self.fop(Op::Sub, ty, l.exact, &[x, p])
            }
            N::Flrp => {
                let (_, x, y) = self.float_pair(a, l.src(1), bits);
                let t = self.float_src(l.src(2), bits);
                let s = self.fop(Op::Sub, ty, l.exact, &[constant(ty, 1.0), t]);
                let xs = self.fop(Op::Mul, ty, l.exact, &[x, s]);
                let yt = self.fop(Op::Mul, ty, l.exact, &[y, t]);
                self.fop(Op::Add, ty, l.exact, &[xs, yt])
            }
            N::Fexp2 | N::Flog2 | N::Fsin | N::Fcos => {
                let op = match l.op {
                    N::Fexp2 => Op::Ex2,
                    N::Flog2 => Op::Lg2,
                    N::Fsin => Op::Sin,
                    _ => Op::Cos,
                };
                return Some(self.through_f32(a, bits, |this, x| this.fop(op, Type::F32, false, &[x])));
            }
            N::Fpow => {
                let y = self.as_f32(l.src(1), bits);
                return Some(self.through_f32(a, bits, |this, x| {
                    let log = this.fop(Op::Lg2, Type::F32, false, &[x]);
                    // The logarithm of 0 is infinite; x to the power 0 is 1 all the same.
                    let p = this.fop(Op::MulZ, Type::F32, false, &[log, y]);
                    this.fop(Op::Ex2, Type::F32, false, &[p])
                }));
            }
            N::Fmulz | N::Ffmaz => {
                // Zero times anything is zero, NaN and infinity included.
                let (_, x, y) = self.float_pair(a, l.src(1), bits);
                let zero = constant(ty, 0.0);
                let p = self.fsetp(Cond::Eq, ty, x, zero);
                let q = self.fsetp(Cond::Eq, ty, y, zero);
                let any = self.or(p, q);
                if l.op == N::Fmulz {
                    let product = self.fop(Op::Mul, ty, l.exact, &[x, y]);
                    self.select_comp(any, zero, product)
                } else {
                    let x = self.select_comp(any, zero, x);
                    let y = self.select_comp(any, zero, y);
                    self.fop(Op::Mad, ty, l.exact, &[x, y, l.src(2)])
                }
            }
            N::Fcsel | N::FcselGt | N::FcselGe | N::FcselNan => {
                let cond = match l.op {
                    N::Fcsel => Cond::Neu,
                    N::FcselGt => Cond::Gt,
                    N::FcselNan => Cond::Nan,
                    _ => Cond::Ge,
                };
                let x = self.float_src(a, bits);
                let p = self.fsetp(cond, ty, x, constant(ty, 0.0));
                return Some(self.select_comp(p, l.src(1), l.src(2)));
            }
            N::Fisfinite | N::Fisnormal => {
                let x = self.float_src(a, bits);
                let x = self.fop(Op::Abs, ty, false, &[x]);
                let mut p = self.fsetp(Cond::Lt, ty, x, constant(ty, f64::INFINITY));
                if l.op == N::Fisnormal {
                    let least = match bits {
                        16 => 6.103_515_625e-5,
                        32 => f64::from(f32::MIN_POSITIVE),
                        _ => f64::MIN_POSITIVE,
                    };
                    let q = self.fsetp(Cond::Ge, ty, x, constant(ty, least));
                    p = self.and(p, q);
                }
                return Some(self.boolean(p, l.bits));
            }
            N::Fquantize2F16 => {
                let x = self.float_src(a, bits);
                let half = if bits == 16 { a } else { self.float_resize(a, bits, 16, Rnd::Near) };
                let back = self.float_resize(half, 16, if ty == Type::F64 { 64 } else { 32 }, Rnd::Near);
                let abs = self.fop(Op::Abs, ty, false, &[x]);
                let tiny = self.fsetp(Cond::Lt, ty, abs, constant(ty, 6.103_515_625e-5));
                let sign = |this: &mut Self, w| this.op2(Op::And, Type::U32, w, 0x8000_0000);
                let zero = match x {
                    Comp::Wide(_, hi) => Comp::Wide(Word::Imm(0), sign(self, hi)),
                    x => Comp::Word(sign(self, x.word())),
                };
                self.select_comp(tiny, zero, back)
            }
            N::Ldexp => {
                let x = self.float_src(a, bits);
                let (x, n) = (self.operand(x), self.src(l.src(1).word()));
                self.comp(Inst::new(Op::Ldexp, ty).src(x).src(n))
            }
            N::FrexpExp | N::FrexpSig => return Some(self.frexp(l)),
            _ => return None,
        };
        Some(self.float_result(r, l.bits))
    }

    /// `x / y` of floats that have `bits` bits (16 of them in 32).
    ///
    /// GLSL asks for 2.5 units in the last place where the divisor's reciprocal is a normal number and for nothing
    /// beyond, so x times the rounded reciprocal will do; reciprocals of 16-bit floats are all normal in 32 bits.
    /// OpenCL asks for it everywhere.
    pub(crate) fn quotient(&mut self, bits: u8, exact: bool, x: Comp, y: Comp) -> Comp {
        let ty = float_type(bits);
        if bits == 64 || bits == 32 && self.division == Division::Exact {
            return self.fop(Op::Div, ty, exact, &[x, y]);
        }
        let reciprocal = self.fop(Op::Rcp, ty, exact, &[y]);
        self.fop(Op::Mul, ty, exact, &[x, reciprocal])
    }

    fn as_f32(&mut self, a: Comp, bits: u8) -> Comp {
        if bits == 64 { self.cvt(Type::F32, Type::F64, Rnd::Near, a) } else { self.float_src(a, bits) }
    }

    /// A function that the machine has in 32 bits only, as NIR defines it for the others.
    fn through_f32(&mut self, a: Comp, bits: u8, f: impl FnOnce(&mut Self, Comp) -> Comp) -> Comp {
        let x = self.as_f32(a, bits);
        let r = f(self, x);
        if bits == 64 { self.cvt(Type::F64, Type::F32, Rnd::Near, r) } else { self.float_result(r, bits) }
    }

    /// Significand in [0.5, 1) and exponent; of zero, infinity and NaN the number itself and 0.
    fn frexp(&mut self, l: &Lane<'_>) -> Comp {
        let ty = float_type(l.sbits);
        let a = self.float_src(l.src(0), l.sbits);
        // Denormals are scaled into the normal numbers first.
        let (scale, least, shift, bias, field) = match ty {
            Type::F64 => (54.0, f64::MIN_POSITIVE, 20, 1022, 0x7ff),
            _ => (24.0, f64::from(f32::MIN_POSITIVE), 23, 126, 0xff),
        };
        let abs = self.fop(Op::Abs, ty, false, &[a]);
        let tiny = self.fsetp(Cond::Lt, ty, abs, constant(ty, least));
        let scaled = self.fop(Op::Mul, ty, true, &[a, constant(ty, f64::powf(2.0, scale))]);
        let x = self.select_comp(tiny, scaled, a);
        let high = match x {
            Comp::Wide(_, high) => high,
            x => x.word(),
        };
        let is_number = self.fsetp(Cond::Lt, ty, abs, constant(ty, f64::INFINITY));
        let is_not_zero = self.fsetp(Cond::Gt, ty, abs, constant(ty, 0.0));
        let ok = self.and(is_number, is_not_zero);
        if l.op == N::FrexpExp {
            let e = self.op2(Op::Shr, Type::U32, high, shift);
            let e = self.op2(Op::And, Type::U32, e, field);
            let low = (-bias - scale as i32) as u32;
            let offset = self.select(tiny, Word::Imm(low), Word::Imm((-bias) as u32));
            let e = self.op2(Op::Add, Type::U32, e, offset);
            return Comp::Word(self.select(ok, e, Word::Imm(0)));
        }
        let kept = self.op2(Op::And, Type::U32, high, !(field << shift));
        let sig = self.op2(Op::Or, Type::U32, kept, (bias as u32) << shift);
        let sig = match x {
            Comp::Wide(lo, _) => Comp::Wide(lo, sig),
            _ => Comp::Word(sig),
        };
        let r = self.select_comp(ok, sig, a);
        self.float_result(r, l.sbits)
    }

    fn float_convert(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, from, to) = (l.src(0), l.sbits, l.bits);
        Some(match l.op {
            N::F2F => self.float_resize(a, from, to, Rnd::Near),
            N::F2FRtz => self.float_resize(a, from, to, Rnd::Zero),
            N::F2I | N::F2U => {
                let signed = l.op == N::F2I;
                let x = self.float_src(a, from);
                if to == 1 {
                    let n = self.cvt(Type::S32, float_type(from), Rnd::Zero, x);
                    return Some(self.resize(n, 32, 1, false));
                }
                self.cvt(int_type(to, signed), float_type(from), Rnd::Zero, x)
            }
            N::I2F | N::U2F => {
                let signed = l.op == N::I2F;
                match to {
                    // What 32 bits cannot hold exactly is infinite in 16.
                    16 => {
                        let x = self.int_to_float(a, from, signed, Type::F32);
                        self.float_result(x, 16)
                    }
                    64 => self.int_to_float(a, from, signed, Type::F64),
                    _ => self.int_to_float(a, from, signed, Type::F32),
                }
            }
            N::BfloatToF => Comp::Word(self.op2(Op::Shl, Type::U32, a.word(), 16)),
            N::FToBfloat => {
                // Half a unit in the last place that is kept, less the bit that makes ties even; NaN stays one.
                let odd = self.unpack_part(a.word(), 1, 16);
                let odd = self.op2(Op::And, Type::U32, odd, 1);
                let up = self.op2(Op::Add, Type::U32, a.word(), odd);
                let up = self.op2(Op::Add, Type::U32, up, 0x7fff);
                let nan = self.fsetp(Cond::Nan, Type::F32, a, a);
                let w = self.select(nan, Word::Imm(0x7fff_ffff), up);
                Comp::Word(self.unpack_part(w, 1, 16))
            }
            N::F2B => {
                let x = self.float_src(a, from);
                let ty = float_type(from);
                let p = self.fsetp(Cond::Neu, ty, x, constant(ty, 0.0));
                self.boolean(p, to)
            }
            _ => return None,
        })
    }

    /// A float in another width.
    pub(crate) fn float_resize(&mut self, a: Comp, from: u8, to: u8, rnd: Rnd) -> Comp {
        match (from, to) {
            (16, 32) => self.half_to_float(a.word(), 0),
            (16, 64) => {
                let x = self.half_to_float(a.word(), 0);
                self.cvt(Type::F64, Type::F32, Rnd::Near, x)
            }
            (32, 16) => self.cvt(Type::F16, Type::F32, rnd, a),
            (32, 64) => self.cvt(Type::F64, Type::F32, Rnd::Near, a),
            (64, 32) => self.cvt(Type::F32, Type::F64, rnd, a),
            (64, 16) => {
                // Rounding twice is right if the first rounds towards zero and leaves a mark in the last bit.
                let x = self.cvt(Type::F32, Type::F64, Rnd::Zero, a);
                let back = self.cvt(Type::F64, Type::F32, Rnd::Near, x);
                let inexact = self.fsetp(Cond::Ne, Type::F64, back, a);
                let bit = self.select(inexact, Word::Imm(1), Word::Imm(0));
                let x = self.op2(Op::Or, Type::U32, x.word(), bit);
                self.cvt(Type::F16, Type::F32, rnd, Comp::Word(x))
            }
            _ => a,
        }
    }

    /// Sums of products and the like over whole vectors of floats.
    pub(crate) fn dot(&mut self, bits: u8, exact: bool, a: &[Comp], b: &[Comp]) -> Comp {
        let ty = float_type(bits);
        let mut sum: Option<Comp> = None;
        for (&x, &y) in a.iter().zip(b) {
            let (_, x, y) = self.float_pair(x, y, bits);
            let product = self.fop(Op::Mul, ty, exact, &[x, y]);
            sum = Some(match sum {
                Some(s) => self.fop(Op::Add, ty, exact, &[s, product]),
                None => product,
            });
        }
        let sum = sum.unwrap_or(constant(ty, 0.0));
        self.float_result(sum, bits)
    }

    pub(crate) fn float_sum(&mut self, bits: u8, exact: bool, terms: &[Comp]) -> Comp {
        let ty = float_type(bits);
        let mut sum = self.float_src(terms[0], bits);
        for &t in &terms[1..] {
            let t = self.float_src(t, bits);
            sum = self.fop(Op::Add, ty, exact, &[sum, t]);
        }
        self.float_result(sum, bits)
    }

    /// A normalised integer of one float: `scale` is its largest value.
    pub(crate) fn quantised(&mut self, a: Comp, signed: bool, scale: f32) -> Word {
        let x = self.operand(a);
        convert::quantise(&mut self.b, x, signed, scale).into()
    }

    /// The float of a normalised integer in 32 bits.
    pub(crate) fn dequantised(&mut self, w: Word, signed: bool, scale: f32) -> Comp {
        let w = self.src(w);
        Comp::Word(convert::dequantise(&mut self.b, w, signed, scale).into())
    }

    pub(crate) fn half_of(&mut self, a: Comp, rnd: Rnd) -> Word {
        match a {
            Comp::Word(Word::Imm(x)) if rnd == Rnd::Near => {
                Word::Imm(half::f16::from_f32(f32::from_bits(x)).to_bits().into())
            }
            a => self.cvt(Type::F16, Type::F32, rnd, a).word(),
        }
    }

    /// 1.0 or 0.0 of 32 bits.
    pub(crate) fn float_of(&mut self, p: Pred) -> Comp {
        let w = self.select(p, Word::Imm(1.0f32.to_bits()), Word::Imm(0));
        Comp::Word(w)
    }

    pub(crate) fn float_equal(&mut self, a: Comp, b: Comp, bits: u8) -> Pred {
        let (ty, a, b) = self.float_pair(a, b, bits);
        self.fsetp(Cond::Eq, ty, a, b)
    }
}
