//! The exact remainder of a division of floats, whose quotient may have any number of bits (`fmod`).

use super::{Lower, R};
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::value::{Comp, Shape, Word};
use crate::ir::{Op as IrOp, Rnd, Type as IrType};

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
                Ok(())
            },
        )?;
        let r = self.e.read_vars(&rest, bits);
        self.with_sign(r, x, bits)
    }
}
