//! The exact remainder of a division of floats, whose quotient may have any number of bits (`fmod`).

use super::{Lower, R};
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::value::{Comp, Shape, Word};
use crate::front::common::ssa::Var;
use crate::ir::{Cond, Op as IrOp, Rnd, Type as IrType};

impl Lower<'_, '_> {
    /// `x` without multiples of `y`, with the sign of `x`: the divisor times powers of two is taken off, the largest first.
    ///
    /// ```text
    /// r = |x|, d = |y|
    /// while r >= d:  half = d * 2^max(exponent(r) - exponent(d) - 1, 0);  r -= 2 half <= r ? 2 half : half
    /// ```
    ///
    /// What is taken off is more than half of `r`, so the difference is exact, and the exponent of `r` falls each time.
    pub(super) fn fmod(&mut self, x: Comp, y: Comp, bits: u8) -> R<Comp> {
        if bits == 16 {
            let (x, y) =
                (self.e.float_resize(x, 16, 32, Rnd::Near), self.e.float_resize(y, 16, 32, Rnd::Near));
            let r = self.fmod(x, y, 32)?;
            return Ok(self.e.float_resize(r, 32, 16, Rnd::Near));
        }
        let (r, _) = self.magnitudes(x, y, bits, None)?;
        self.with_sign(r, x, bits)
    }

    /// `x` without the multiple of `y` that is nearest to it, the even one of two; and the lowest seven bits of the quotient,
    /// with its sign. 32 or 64 bits.
    pub(super) fn nearest_remainder(&mut self, x: Comp, y: Comp, bits: u8) -> R<(Comp, Comp)> {
        let counted = self.e.vars(Shape::scalar(32));
        let (r, divisor) = self.magnitudes(x, y, bits, Some(&counted))?;
        let quotient = self.e.read_vars(&counted, 32).word();
        // More than half of the divisor is left, or just half of it.
        let other = self.f2(N::Fsub, bits, divisor, r)?;
        let more = self.lane(N::Flt, 1, bits, &[other, r])?;
        let more = self.e.truth(more, 1);
        let same = self.lane(N::Feq, 1, bits, &[other, r])?;
        let same = self.e.truth(same, 1);
        let odd = self.e.op2(IrOp::And, IrType::U32, quotient, 1);
        let odd = self.e.cmp(Cond::Ne, IrType::U32, odd, 0);
        let tie = self.e.and(same, odd);
        let up = self.e.or(more, tie);
        let r = self.e.select_comp(up, other, r);
        // The sign of x, turned round where the rest is of the other side.
        let signed = self.with_sign(r, x, bits)?;
        let opposite = self.f1(N::Fneg, bits, signed)?;
        let rest = self.e.select_comp(up, opposite, signed);
        let next = self.e.op2(IrOp::Add, IrType::U32, quotient, 1);
        let quotient = self.e.select(up, next, quotient);
        let quotient = self.e.op2(IrOp::And, IrType::U32, quotient, 0x7f);
        let minus = self.e.op2(IrOp::Sub, IrType::U32, 0, quotient);
        let high = |c: Comp| match c {
            Comp::Wide(_, high) => high,
            c => c.word(),
        };
        let signs = self.e.op2(IrOp::Xor, IrType::U32, high(x), high(y));
        let apart = self.e.cmp(Cond::Lt, IrType::S32, signs, 0);
        let quotient = self.e.select(apart, minus, quotient);
        // There is none where the result is NaN.
        let number = self.lane(N::Feq, 1, bits, &[rest, rest])?;
        let number = self.e.truth(number, 1);
        Ok((rest, Comp::Word(self.e.select(number, quotient, Word::Imm(0)))))
    }

    /// `|x|` without multiples of `|y|`, and `|y|`; counts how many, modulo 2^32.
    fn magnitudes(&mut self, x: Comp, y: Comp, bits: u8, count: Option<&[Var]>) -> R<(Comp, Comp)> {
        let truth = |this: &mut Self, n, a: &[Comp]| -> R<_> {
            let p = this.lane(n, 1, bits, a)?;
            Ok(this.e.truth(p, 1))
        };
        let (abs, divisor) = (self.f1(N::Fabs, bits, x)?, self.f1(N::Fabs, bits, y)?);
        // Of infinity, and by zero, the result is a NaN.
        let finite = truth(self, N::Fisfinite, &[x])?;
        let divides = truth(self, N::Flt, &[Comp::constant(bits, 0), divisor])?;
        let whole = self.e.and(finite, divides);
        let nan = self.float_constant(f64::NAN, bits);
        let start = self.e.select_comp(whole, abs, nan);
        let exponent = self.lane(N::FrexpExp, 32, bits, &[divisor])?.word();
        let rest = self.e.vars(Shape::scalar(bits));
        self.e.write_vars(&rest, start);
        if let Some(count) = count {
            self.e.write_vars(count, Comp::constant(32, 0));
        }
        self.repeated(
            |this| {
                let r = this.e.read_vars(&rest, bits);
                truth(this, N::Fge, &[r, divisor])
            },
            |this| {
                let r = this.e.read_vars(&rest, bits);
                let own = this.lane(N::FrexpExp, 32, bits, &[r])?.word();
                let by = this.e.op2(IrOp::Sub, IrType::S32, own, exponent);
                let by = this.e.op2(IrOp::Sub, IrType::S32, by, 1);
                let by = this.e.op2(IrOp::Max, IrType::S32, by, Word::Imm(0));
                let half = this.f2(N::Ldexp, bits, divisor, Comp::Word(by))?;
                let twice = this.f2(N::Fadd, bits, half, half)?;
                let fits = truth(this, N::Fge, &[r, twice])?;
                let off = this.e.select_comp(fits, twice, half);
                let r = this.f2(N::Fsub, bits, r, off)?;
                this.e.write_vars(&rest, r);
                if let Some(count) = count {
                    let one = this.e.select(fits, Word::Imm(2), Word::Imm(1));
                    let some = this.e.shift(IrOp::Shl, 32, false, Comp::Word(one), Comp::Word(by));
                    // An amount beyond the word's bits counts nothing.
                    let within = this.e.cmp(Cond::Lt, IrType::U32, by, 32);
                    let some = this.e.select(within, some.word(), Word::Imm(0));
                    let before = this.e.read_vars(count, 32).word();
                    let after = this.e.op2(IrOp::Add, IrType::U32, before, some);
                    this.e.write_vars(count, Comp::Word(after));
                }
                Ok(())
            },
        )?;
        Ok((self.e.read_vars(&rest, bits), divisor))
    }
}
