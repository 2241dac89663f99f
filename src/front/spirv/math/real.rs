//! Formulas as Rust writes them: operators that append instructions to the routine that is being made.
//!
//! Nothing is contracted or reordered: what a formula says is what the machine computes.

use crate::front::common::emit::Emit;
use crate::front::common::emit::alu::Lane;
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::value::{Comp, Pred, Shape, Word};
use crate::ir::{Cond, Op, Rnd, Type};
use std::cell::RefCell;
use std::ops::{Add, Mul, Neg, Sub};

/// The routine that is being made.
pub(super) trait Code {
    /// Appends to it.
    fn emit(&self, append: &mut dyn FnMut(&mut Emit<'_>));
}

impl Code for RefCell<Emit<'_>> {
    fn emit(&self, append: &mut dyn FnMut(&mut Emit<'_>)) {
        append(&mut self.borrow_mut());
    }
}

fn made<T>(code: &dyn Code, append: impl FnOnce(&mut Emit<'_>) -> T) -> T {
    let (mut append, mut result) = (Some(append), None);
    code.emit(&mut |e| result = append.take().map(|f| f(e)));
    result.expect("code is appended once")
}

/// A float of 32 or 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Real<'m> {
    code: &'m dyn Code,
    c: Comp,
    double: bool,
}

/// An integer of 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Int<'m> {
    code: &'m dyn Code,
    w: Word,
}

/// Whether something holds.
#[derive(Clone, Copy)]
pub(super) struct Truth<'m> {
    code: &'m dyn Code,
    p: Pred,
}

impl<'m> Real<'m> {
    pub(super) fn new(code: &'m dyn Code, c: Comp) -> Real<'m> {
        Real { code, c, double: matches!(c, Comp::Wide(..)) }
    }

    pub(super) fn comp(self) -> Comp {
        self.c
    }

    pub(super) fn is_double(self) -> bool {
        self.double
    }

    /// The first of two things for doubles, else the second.
    pub(super) fn by_width<T>(self, double: T, single: T) -> T {
        if self.double { double } else { single }
    }

    /// A constant of the same width.
    pub(super) fn number(self, x: f64) -> Real<'m> {
        let c = if self.double {
            Comp::constant(64, x.to_bits())
        } else {
            Comp::constant(32, (x as f32).to_bits().into())
        };
        Real { c, ..self }
    }

    /// An integer constant.
    pub(super) fn integer(self, x: i32) -> Int<'m> {
        Int { code: self.code, w: Word::Imm(x as u32) }
    }

    fn bits(self) -> u8 {
        if self.double { 64 } else { 32 }
    }

    fn lane(self, op: N, bits: u8, others: &[Comp]) -> Comp {
        let mut srcs = vec![self.c];
        srcs.extend(others);
        let lane = Lane { op, bits, sbits: self.bits(), exact: true, part: 0, srcs: &srcs };
        let undefined = Comp::constant(bits, 0);
        made(self.code, |e| e.lane(&lane).unwrap_or(undefined))
    }

    fn float(self, op: N, others: &[Comp]) -> Real<'m> {
        Real { c: self.lane(op, self.bits(), others), ..self }
    }

    fn compared(self, cond: Cond, other: Real<'m>) -> Truth<'m> {
        let ty = if self.double { Type::F64 } else { Type::F32 };
        let p = made(self.code, |e| {
            let (a, b) = (e.operand(self.c), e.operand(other.c));
            e.setp(cond, ty, a, b)
        });
        Truth { code: self.code, p }
    }

    pub(super) fn lt(self, other: impl Operand<'m>) -> Truth<'m> {
        self.compared(Cond::Lt, other.like(self))
    }

    pub(super) fn gt(self, other: impl Operand<'m>) -> Truth<'m> {
        self.compared(Cond::Gt, other.like(self))
    }

    pub(super) fn eq(self, other: impl Operand<'m>) -> Truth<'m> {
        self.compared(Cond::Eq, other.like(self))
    }

    pub(super) fn is_nan(self) -> Truth<'m> {
        self.compared(Cond::Nan, self)
    }

    pub(super) fn is_infinite(self) -> Truth<'m> {
        self.abs().eq(f64::INFINITY)
    }

    /// `self * by + plus` with one rounding.
    pub(super) fn fma(self, by: impl Operand<'m>, plus: impl Operand<'m>) -> Real<'m> {
        self.float(N::Ffma, &[by.like(self).c, plus.like(self).c])
    }

    pub(super) fn over(self, other: impl Operand<'m>) -> Real<'m> {
        self.float(N::Fdiv, &[other.like(self).c])
    }

    pub(super) fn abs(self) -> Real<'m> {
        self.float(N::Fabs, &[])
    }

    pub(super) fn min(self, other: impl Operand<'m>) -> Real<'m> {
        self.float(N::Fmin, &[other.like(self).c])
    }

    pub(super) fn max(self, other: impl Operand<'m>) -> Real<'m> {
        self.float(N::Fmax, &[other.like(self).c])
    }

    pub(super) fn rint(self) -> Real<'m> {
        self.float(N::FroundEven, &[])
    }

    pub(super) fn floor(self) -> Real<'m> {
        self.float(N::Ffloor, &[])
    }

    pub(super) fn sqrt(self) -> Real<'m> {
        self.float(N::Fsqrt, &[])
    }

    /// The machine's reciprocal, base-2 logarithm and power of two of 32 bits.
    pub(super) fn rcp(self) -> Real<'m> {
        self.float(N::Frcp, &[])
    }

    pub(super) fn lg2(self) -> Real<'m> {
        self.float(N::Flog2, &[])
    }

    pub(super) fn ex2(self) -> Real<'m> {
        self.float(N::Fexp2, &[])
    }

    /// Times a power of two, rounded once.
    pub(super) fn ldexp(self, n: Int<'m>) -> Real<'m> {
        self.float(N::Ldexp, &[Comp::Word(n.w)])
    }

    /// The magnitude with the sign of another.
    pub(super) fn signed_as(self, other: Real<'m>) -> Real<'m> {
        let c = made(self.code, |e| match (self.c, other.c) {
            (Comp::Wide(low, high), Comp::Wide(_, sign)) => Comp::Wide(low, e.copy_sign(high, sign)),
            (x, sign) => Comp::Word(e.copy_sign(x.word(), sign.word())),
        });
        Real { c, ..self }
    }

    /// The integer that a whole number is.
    pub(super) fn to_int(self) -> Int<'m> {
        Int { code: self.code, w: self.lane(N::F2I, 32, &[]).word() }
    }

    pub(super) fn double(self) -> Real<'m> {
        self.resized(64)
    }

    pub(super) fn single(self) -> Real<'m> {
        self.resized(32)
    }

    fn resized(self, bits: u8) -> Real<'m> {
        let c = made(self.code, |e| {
            if bits == self.bits() { self.c } else { e.float_resize(self.c, self.bits(), bits, Rnd::Near) }
        });
        Real { c, double: bits == 64, ..self }
    }

    /// The word with sign and exponent.
    pub(super) fn high(self) -> Int<'m> {
        let w = match self.c {
            Comp::Wide(_, high) => high,
            c => c.word(),
        };
        Int { code: self.code, w }
    }

    /// The low word; 0 of singles.
    pub(super) fn low(self) -> Int<'m> {
        let w = match self.c {
            Comp::Wide(low, _) => low,
            _ => Word::Imm(0),
        };
        Int { code: self.code, w }
    }

    /// The same with another word of sign and exponent.
    pub(super) fn with_high(self, high: Int<'m>) -> Real<'m> {
        let c = match self.c {
            Comp::Wide(low, _) => Comp::Wide(low, high.w),
            _ => Comp::Word(high.w),
        };
        Real { c, ..self }
    }

    /// `c[0] + c[1] * self + c[2] * self^2 + ...`
    pub(super) fn poly(self, c: &[f64]) -> Real<'m> {
        let mut terms = c.iter().rev();
        let first = self.number(terms.next().copied().unwrap_or(0.0));
        terms.fold(first, |sum, &c| sum.fma(self, c))
    }

    /// Another value where a condition holds.
    pub(super) fn but(self, p: Truth<'m>, other: impl Operand<'m>) -> Real<'m> {
        let other = other.like(self);
        Real { c: made(self.code, |e| e.select_comp(p.p, other.c, self.c)), ..self }
    }

    /// What is computed instead where a condition holds, which is seldom.
    pub(super) fn unless<const K: usize>(
        p: Truth<'m>,
        usual: [Real<'m>; K],
        instead: impl FnOnce() -> [Real<'m>; K],
    ) -> [Real<'m>; K] {
        let code = p.code;
        let (vars, join) = made(code, |e| {
            let vars = usual.map(|x| e.vars(Shape::scalar(x.bits())));
            vars.iter().zip(usual).for_each(|(var, x)| e.write_vars(var, x.c));
            (vars, e.begin_when(p.p))
        });
        let other = instead();
        made(code, |e| {
            vars.iter().zip(other).for_each(|(var, x)| e.write_vars(var, x.c));
            e.end_when(join);
        });
        let mut n = 0;
        usual.map(|x| {
            n += 1;
            Real { c: made(code, |e| e.read_vars(&vars[n - 1], x.bits())), ..x }
        })
    }
}

impl<'m> Int<'m> {
    pub(super) fn new(code: &'m dyn Code, w: Word) -> Int<'m> {
        Int { code, w }
    }

    pub(super) fn comp(self) -> Comp {
        Comp::Word(self.w)
    }

    pub(super) fn number(self, x: u32) -> Int<'m> {
        Int { w: Word::Imm(x), ..self }
    }

    fn op(self, op: Op, ty: Type, other: Word) -> Int<'m> {
        Int { w: made(self.code, |e| e.op2(op, ty, self.w, other)), ..self }
    }

    pub(super) fn and(self, other: u32) -> Int<'m> {
        self.op(Op::And, Type::U32, Word::Imm(other))
    }

    pub(super) fn or(self, other: Int<'m>) -> Int<'m> {
        self.op(Op::Or, Type::U32, other.w)
    }

    pub(super) fn shl(self, by: Int<'m>) -> Int<'m> {
        self.op(Op::Shl, Type::U32, by.w)
    }

    pub(super) fn shr(self, by: Int<'m>) -> Int<'m> {
        self.op(Op::Shr, Type::U32, by.w)
    }

    /// Copies of the sign.
    pub(super) fn sign(self) -> Int<'m> {
        self.op(Op::Shr, Type::S32, Word::Imm(31))
    }

    /// The lower and the upper half of a product.
    pub(super) fn product(self, other: Int<'m>) -> (Int<'m>, Int<'m>) {
        (self.op(Op::Mul, Type::U32, other.w), self.op(Op::MulHi, Type::U32, other.w))
    }

    pub(super) fn is(self, cond: Cond, other: impl Into<i64>) -> Truth<'m> {
        let w = Word::Imm(other.into() as u32);
        Truth { code: self.code, p: made(self.code, |e| e.cmp(cond, Type::S32, self.w, w)) }
    }

    /// Compared as unsigned integers.
    pub(super) fn below(self, other: Int<'m>) -> Truth<'m> {
        Truth { code: self.code, p: made(self.code, |e| e.cmp(Cond::Lt, Type::U32, self.w, other.w)) }
    }

    pub(super) fn but(self, p: Truth<'m>, other: Int<'m>) -> Int<'m> {
        Int { w: made(self.code, |e| e.select(p.p, other.w, self.w)), ..self }
    }

    /// A signed integer as a float as wide as another.
    pub(super) fn real(self, like: Real<'m>) -> Real<'m> {
        let ty = if like.double { Type::F64 } else { Type::F32 };
        Real { c: made(self.code, |e| e.int_to_float(Comp::Word(self.w), 32, true, ty)), ..like }
    }

    /// The float that has these bits.
    pub(super) fn as_single(self) -> Real<'m> {
        Real { code: self.code, c: Comp::Word(self.w), double: false }
    }

    /// The signed integer of 64 bits that has these bits and others above, as a double.
    pub(super) fn wide_real(self, high: Int<'m>) -> Real<'m> {
        let c = Comp::Wide(self.w, high.w);
        let c = made(self.code, |e| e.int_to_float(c, 64, true, Type::F64));
        Real { code: self.code, c, double: true }
    }
}

impl<'m> Truth<'m> {
    pub(super) fn and(self, other: Truth<'m>) -> Truth<'m> {
        Truth { p: made(self.code, |e| e.and(self.p, other.p)), ..self }
    }

    pub(super) fn or(self, other: Truth<'m>) -> Truth<'m> {
        Truth { p: made(self.code, |e| e.or(self.p, other.p)), ..self }
    }

    pub(super) fn not(self) -> Truth<'m> {
        Truth { p: self.p.not(), ..self }
    }
}

/// A value, or a constant of its width.
pub(super) trait Operand<'m> {
    fn like(self, other: Real<'m>) -> Real<'m>;
}

impl<'m> Operand<'m> for Real<'m> {
    fn like(self, _: Real<'m>) -> Real<'m> {
        self
    }
}

impl<'m> Operand<'m> for f64 {
    fn like(self, other: Real<'m>) -> Real<'m> {
        other.number(self)
    }
}

impl<'m, T: Operand<'m>> Add<T> for Real<'m> {
    type Output = Real<'m>;
    fn add(self, other: T) -> Real<'m> {
        self.float(N::Fadd, &[other.like(self).c])
    }
}

impl<'m, T: Operand<'m>> Sub<T> for Real<'m> {
    type Output = Real<'m>;
    fn sub(self, other: T) -> Real<'m> {
        self.float(N::Fsub, &[other.like(self).c])
    }
}

impl<'m, T: Operand<'m>> Mul<T> for Real<'m> {
    type Output = Real<'m>;
    fn mul(self, other: T) -> Real<'m> {
        self.float(N::Fmul, &[other.like(self).c])
    }
}

impl<'m> Neg for Real<'m> {
    type Output = Real<'m>;
    fn neg(self) -> Real<'m> {
        self.float(N::Fneg, &[])
    }
}

impl<'m> Add for Int<'m> {
    type Output = Int<'m>;
    fn add(self, other: Int<'m>) -> Int<'m> {
        self.op(Op::Add, Type::U32, other.w)
    }
}

impl<'m> Sub for Int<'m> {
    type Output = Int<'m>;
    fn sub(self, other: Int<'m>) -> Int<'m> {
        self.op(Op::Sub, Type::U32, other.w)
    }
}
