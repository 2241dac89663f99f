//! OpenCL.std: integers, the exact functions of floats, and those that OpenCL leaves inexact (`native_`, `half_`).
//!
//! Functions that ask for precision which the hardware has not are routines of [`math`].

use super::glsl::{Floats, operands_of};
use super::pointer::{Place, Pointer};
use super::{Lower, R};
use crate::front::common::emit::memory::forward;
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::value::{Comp, Shape, Word};
use crate::front::spirv::math::{self, Other};
use crate::ir::{Align, Cond, MemRef, Op as IrOp, Rnd, Type as IrType};
use spirv::OpenclStd100Op as Cl;
use std::f64::consts::{LN_2, LOG2_10, LOG2_E, LOG10_2, PI};

/// Functions of integers that are one opcode.
fn of_integers(op: Cl) -> Option<N> {
    Some(match op {
        Cl::s_abs => N::Iabs,
        Cl::u_abs => N::Mov,
        Cl::s_abs_diff => N::UabsIsub,
        Cl::u_abs_diff => N::UabsUsub,
        Cl::s_add_sat => N::IaddSat,
        Cl::u_add_sat => N::UaddSat,
        Cl::s_sub_sat => N::IsubSat,
        Cl::u_sub_sat => N::UsubSat,
        Cl::s_hadd => N::Ihadd,
        Cl::u_hadd => N::Uhadd,
        Cl::s_rhadd => N::Irhadd,
        Cl::u_rhadd => N::Urhadd,
        Cl::s_max => N::Imax,
        Cl::u_max => N::Umax,
        Cl::s_min => N::Imin,
        Cl::u_min => N::Umin,
        Cl::s_mul_hi => N::ImulHigh,
        Cl::u_mul_hi => N::UmulHigh,
        Cl::rotate => N::Urol,
        Cl::s_mul24 => N::Imul24,
        Cl::u_mul24 => N::Umul24,
        Cl::u_mad24 => N::Umad24,
        _ => return None,
    })
}

/// Functions of floats that are one opcode.
fn of_floats(op: Cl) -> Option<N> {
    Some(match op {
        Cl::ceil => N::Fceil,
        Cl::floor => N::Ffloor,
        Cl::trunc => N::Ftrunc,
        Cl::rint => N::FroundEven,
        Cl::fabs => N::Fabs,
        Cl::fmax | Cl::fmax_common => N::Fmax,
        Cl::fmin | Cl::fmin_common => N::Fmin,
        Cl::fma | Cl::mad => N::Ffma,
        Cl::sqrt | Cl::half_sqrt | Cl::native_sqrt => N::Fsqrt,
        Cl::rsqrt | Cl::half_rsqrt | Cl::native_rsqrt => N::Frsq,
        Cl::native_recip | Cl::half_recip => N::Frcp,
        Cl::native_divide | Cl::half_divide => N::Fdiv,
        Cl::native_sin | Cl::half_sin => N::Fsin,
        Cl::native_cos | Cl::half_cos => N::Fcos,
        Cl::native_exp2 | Cl::half_exp2 => N::Fexp2,
        Cl::native_log2 | Cl::half_log2 => N::Flog2,
        Cl::native_powr | Cl::half_powr => N::Fpow,
        Cl::sign => N::Fsign,
        _ => return None,
    })
}

/// Operands of functions of floats that are computed by formulas.
fn by_formula(op: Cl) -> Option<usize> {
    Some(match op {
        Cl::copysign | Cl::fdim | Cl::fmod | Cl::step | Cl::maxmag | Cl::minmag => 2,
        Cl::fclamp | Cl::mix | Cl::smoothstep => 3,
        Cl::round
        | Cl::degrees
        | Cl::radians
        | Cl::logb
        | Cl::native_exp
        | Cl::half_exp
        | Cl::native_exp10
        | Cl::half_exp10
        | Cl::native_log
        | Cl::half_log
        | Cl::native_log10
        | Cl::half_log10
        | Cl::native_tan
        | Cl::half_tan => 1,
        _ => return None,
    })
}

impl Lower<'_, '_> {
    pub(super) fn opencl(&mut self, number: u32, x: &[u32]) -> R<()> {
        let Some(op) = Cl::from_u32(number) else {
            return self.fail("there is no such instruction in the set");
        };
        if op == Cl::prefetch {
            return Ok(());
        }
        if x.is_empty() {
            return self.fail("the instruction has operands");
        }
        if let Some(n) = of_integers(op) {
            let f = self.numbers(x, operands_of(n), true)?;
            let comps = self.each(&f, |this, c| this.lane(n, f.bits, f.bits, c))?;
            return self.define_numbers(f.bits, comps);
        }
        if let Some(n) = of_floats(op) {
            let f = self.numbers(x, operands_of(n), false)?;
            let comps = self.each(&f, |this, c| this.lane(n, f.bits, f.bits, c))?;
            return self.define_numbers(f.bits, comps);
        }
        match op {
            Cl::s_clamp
            | Cl::u_clamp
            | Cl::clz
            | Cl::ctz
            | Cl::popcount
            | Cl::s_mad_hi
            | Cl::u_mad_hi
            | Cl::s_mad24
            | Cl::s_mad_sat
            | Cl::u_mad_sat => {
                let wanted = if matches!(op, Cl::clz | Cl::ctz | Cl::popcount) { 1 } else { 3 };
                let f = self.numbers(x, wanted, true)?;
                let comps = self.each(&f, |this, c| this.integer(op, f.bits, c))?;
                self.define_numbers(f.bits, comps)
            }
            Cl::s_upsample | Cl::u_upsample => {
                let f = self.numbers(x, 2, true)?;
                let to = 2 * f.bits;
                if to > 64 {
                    return self.fail("there are no integers of 128 bits");
                }
                let comps = self.each(&f, |this, c| {
                    let high = this.e.resize(c[0], f.bits, to, false);
                    let low = this.e.resize(c[1], f.bits, to, false);
                    let low = this.e.int_src(low, f.bits, false);
                    let by = Comp::constant(32, f.bits.into());
                    let high = this.e.shift(IrOp::Shl, to, false, high, by);
                    Ok(this.e.bitwise(IrOp::Or, to, high, low))
                })?;
                self.define_numbers(to, comps)
            }
            Cl::bitselect | Cl::select => self.choice(op, x),
            Cl::shuffle | Cl::shuffle2 => self.shuffled(op, x),
            Cl::vloadn | Cl::vload_half | Cl::vload_halfn | Cl::vloada_halfn => self.vector_load(op, x),
            Cl::vstoren
            | Cl::vstore_half
            | Cl::vstore_half_r
            | Cl::vstore_halfn
            | Cl::vstore_halfn_r
            | Cl::vstorea_halfn
            | Cl::vstorea_halfn_r => self.vector_store(op, x),
            Cl::length
            | Cl::fast_length
            | Cl::distance
            | Cl::fast_distance
            | Cl::normalize
            | Cl::fast_normalize
            | Cl::cross => self.vectors(op, x),
            Cl::fract | Cl::modf | Cl::frexp => self.both_parts(op, x),
            Cl::ldexp => {
                let f = self.numbers(&x[..1], 1, false)?;
                let n = self.numbers(&x[1..], 1, true)?;
                let same = n.args.first().is_some_and(|a| a.len() == f.args[0].len()) && n.bits == 32;
                if !same {
                    return self.fail("the exponents do not fit the numbers");
                }
                let args = Floats { bits: f.bits, args: vec![f.args[0].clone(), n.args[0].clone()] };
                let comps = self.each(&args, |this, c| this.lane(N::Ldexp, f.bits, f.bits, c))?;
                self.define_numbers(f.bits, comps)
            }
            Cl::ilogb => {
                let f = self.numbers(x, 1, false)?;
                let comps = self.each(&f, |this, c| {
                    let n = this.lane(N::FrexpExp, 32, f.bits, c)?;
                    let n = this.e.op2(IrOp::Add, IrType::U32, n.word(), u32::MAX);
                    let finite = this.lane(N::Fisfinite, 1, f.bits, c)?;
                    let finite = this.e.truth(finite, 1);
                    let zero = this.lane(N::Feq, 1, f.bits, &[c[0], Comp::constant(f.bits, 0)])?;
                    let zero = this.e.truth(zero, 1);
                    let n = this.e.select(finite, n, Word::Imm(i32::MAX as u32));
                    // FP_ILOGB0 of clang's headers.
                    Ok(Comp::Word(this.e.select(zero, Word::Imm(i32::MIN as u32), n)))
                })?;
                self.define_numbers(32, comps)
            }
            Cl::nextafter | Cl::remainder | Cl::remquo => self.between(op, x),
            Cl::nan => {
                let f = self.numbers(x, 1, true)?;
                let comps = self.each(&f, |this, c| {
                    Ok(match (f.bits, c[0]) {
                        (64, Comp::Wide(low, high)) => {
                            Comp::Wide(low, this.e.op2(IrOp::Or, IrType::U32, high, 0x7ff8_0000))
                        }
                        (16, c) => Comp::Word(this.e.op2(IrOp::Or, IrType::U32, c.word(), 0x7e00)),
                        (_, c) => Comp::Word(this.e.op2(IrOp::Or, IrType::U32, c.word(), 0x7fc0_0000)),
                    })
                })?;
                self.define_numbers(f.bits, comps)
            }
            Cl::printf => self.missing("printf is"),
            _ => {
                if let Some((argument, result)) = math::shape(op) {
                    return self.routine(op, x, argument, result);
                }
                let Some(wanted) = by_formula(op) else {
                    return self.missing(format!("{op:?} is"));
                };
                let f = self.numbers(x, wanted, false)?;
                let comps = self.each(&f, |this, c| this.real(op, f.bits, c))?;
                self.define_numbers(f.bits, comps)
            }
        }
    }

    fn integer(&mut self, op: Cl, b: u8, c: &[Comp]) -> R<Comp> {
        let third = c.get(2).copied().unwrap_or(c[0]);
        let second = c.get(1).copied().unwrap_or(c[0]);
        Ok(match op {
            Cl::s_clamp => {
                let x = self.f2(N::Imax, b, c[0], second)?;
                self.f2(N::Imin, b, x, third)?
            }
            Cl::u_clamp => {
                let x = self.f2(N::Umax, b, c[0], second)?;
                self.f2(N::Umin, b, x, third)?
            }
            Cl::ctz => self.trailing_zeros(c[0], b)?,
            Cl::clz => self.leading_zeros(c[0], b)?,
            Cl::popcount => {
                let x = self.e.int_src(c[0], b, false);
                let n = self.lane(N::BitCount, 32, b.max(32), &[x])?;
                self.e.resize(n, 32, b, false)
            }
            Cl::s_mad_hi | Cl::u_mad_hi => {
                let n = if op == Cl::s_mad_hi { N::ImulHigh } else { N::UmulHigh };
                let high = self.f2(n, b, c[0], second)?;
                self.f2(N::Iadd, b, high, third)?
            }
            Cl::s_mad24 => {
                let p = self.f2(N::Imul24, b, c[0], second)?;
                self.f2(N::Iadd, b, p, third)?
            }
            _ => {
                let signed = op == Cl::s_mad_sat;
                if b == 64 {
                    return self.saturated_sum(signed, c[0], second, third);
                }
                // Twice as many bits hold the sum.
                let w = if b < 32 { 32 } else { 64 };
                let mut wide = [c[0], second, third];
                for x in &mut wide {
                    *x = self.e.resize(*x, b, w, signed);
                }
                let p = self.e.int2(IrOp::Mul, signed, w, wide[0], wide[1]);
                let sum = self.e.int2(IrOp::Add, signed, w, p, wide[2]);
                let high = if signed { u64::MAX >> (65 - b) } else { u64::MAX >> (64 - b) };
                let r = self.e.int2(IrOp::Min, signed, w, sum, Comp::constant(w, high));
                let r = if signed { self.e.int2(IrOp::Max, true, w, r, Comp::constant(w, !high)) } else { r };
                self.e.resize(r, w, b, signed)
            }
        })
    }

    /// `a * b + c` of 64 bits: the nearest of the exact sum, which has 128.
    fn saturated_sum(&mut self, signed: bool, a: Comp, b: Comp, c: Comp) -> R<Comp> {
        let high = self.f2(if signed { N::ImulHigh } else { N::UmulHigh }, 64, a, b)?;
        let low = self.f2(N::Imul, 64, a, b)?;
        let sum = self.f2(N::Iadd, 64, low, c)?;
        let carry = self.e.compare_ints(Cond::Lt, false, sum, low, 64);
        let (zero, one) = (Comp::constant(64, 0), Comp::constant(64, 1));
        let carry = self.e.select_comp(carry, one, zero);
        let sign = |this: &mut Self, x| this.f2(N::Ishr, 64, x, Comp::constant(32, 63));
        let above = if signed { sign(self, c)? } else { zero };
        let high = self.f2(N::Iadd, 64, high, above)?;
        let high = self.f2(N::Iadd, 64, high, carry)?;
        let fitting = if signed { sign(self, sum)? } else { zero };
        let fits = self.e.compare_ints(Cond::Eq, false, high, fitting, 64);
        let negative = self.e.compare_ints(Cond::Lt, signed, high, zero, 64);
        let most = Comp::constant(64, if signed { i64::MAX as u64 } else { u64::MAX });
        let limit = self.e.select_comp(negative, Comp::constant(64, i64::MIN as u64), most);
        Ok(self.e.select_comp(fits, sum, limit))
    }

    /// A function of floats by a formula.
    fn real(&mut self, op: Cl, b: u8, c: &[Comp]) -> R<Comp> {
        let a = c[0];
        let one = self.float_constant(1.0, b);
        let truth = |this: &mut Self, n, x: Comp, y: Comp| -> R<_> {
            let p = this.lane(n, 1, b, &[x, y])?;
            Ok(this.e.truth(p, 1))
        };
        Ok(match op {
            Cl::copysign => self.with_sign(a, c[1], b)?,
            Cl::fmod => self.fmod(a, c[1], b)?,
            Cl::round => {
                // Halves away from zero.
                let whole = self.f1(N::Ftrunc, b, a)?;
                let rest = self.f2(N::Fsub, b, a, whole)?;
                let rest = self.f1(N::Fabs, b, rest)?;
                let half = self.float_constant(0.5, b);
                let up = truth(self, N::Fge, rest, half)?;
                let step = self.with_sign(one, a, b)?;
                let next = self.f2(N::Fadd, b, whole, step)?;
                self.e.select_comp(up, next, whole)
            }
            Cl::fdim => {
                let d = self.f2(N::Fsub, b, a, c[1])?;
                let less = truth(self, N::Fge, c[1], a)?;
                self.e.select_comp(less, Comp::constant(b, 0), d)
            }
            Cl::maxmag | Cl::minmag => {
                let (x, y) = (self.f1(N::Fabs, b, a)?, self.f1(N::Fabs, b, c[1])?);
                let (n, first, second) = if op == Cl::maxmag { (N::Fmax, y, x) } else { (N::Fmin, x, y) };
                let otherwise = self.f2(n, b, a, c[1])?;
                let p = truth(self, N::Flt, first, second)?;
                let q = truth(self, N::Flt, second, first)?;
                let r = self.e.select_comp(q, c[1], otherwise);
                self.e.select_comp(p, a, r)
            }
            Cl::fclamp => self.clamp([N::Fmax, N::Fmin], b, c)?,
            Cl::degrees => self.scaled(a, 180.0 / PI, b)?,
            Cl::radians => self.scaled(a, PI / 180.0, b)?,
            Cl::mix => {
                let d = self.f2(N::Fsub, b, c[1], a)?;
                self.lane(N::Ffma, b, b, &[d, c[2], a])?
            }
            Cl::step => self.step(b, a, c[1])?,
            Cl::smoothstep => self.smooth_step(b, c)?,
            Cl::logb => {
                let n = self.lane(N::FrexpExp, 32, b, &[a])?;
                let n = self.e.op2(IrOp::Add, IrType::U32, n.word(), u32::MAX);
                let r = self.lane(N::I2F, b, 32, &[Comp::Word(n)])?;
                let abs = self.f1(N::Fabs, b, a)?;
                let finite = self.lane(N::Fisfinite, 1, b, &[a])?;
                let finite = self.e.truth(finite, 1);
                let r = self.e.select_comp(finite, r, abs);
                let zero = truth(self, N::Feq, a, Comp::constant(b, 0))?;
                let none = self.float_constant(f64::NEG_INFINITY, b);
                self.e.select_comp(zero, none, r)
            }
            Cl::native_exp | Cl::half_exp | Cl::native_exp10 | Cl::half_exp10 => {
                let base = if matches!(op, Cl::native_exp | Cl::half_exp) { LOG2_E } else { LOG2_10 };
                let x = self.scaled(a, base, b)?;
                self.f1(N::Fexp2, b, x)?
            }
            Cl::native_log | Cl::half_log | Cl::native_log10 | Cl::half_log10 => {
                let base = if matches!(op, Cl::native_log | Cl::half_log) { LN_2 } else { LOG10_2 };
                let log = self.f1(N::Flog2, b, a)?;
                self.scaled(log, base, b)?
            }
            Cl::native_tan | Cl::half_tan => {
                let (s, c) = (self.f1(N::Fsin, b, a)?, self.f1(N::Fcos, b, a)?);
                self.f2(N::Fdiv, b, s, c)?
            }
            _ => return self.missing(format!("{op:?} is")),
        })
    }

    /// A function that is a routine, for each component; halves by way of 32 bits.
    fn routine(&mut self, op: Cl, x: &[u32], argument: Other, result: Other) -> R<()> {
        let floats = if argument == Other::Real { 2 } else { 1 };
        let wanted = floats + usize::from(argument == Other::Int) + usize::from(result != Other::None);
        if x.len() != wanted {
            return self.fail(format!("the instruction has {} operands instead of {wanted}", x.len()));
        }
        let f = self.numbers(&x[..floats], floats, false)?;
        let b = f.bits;
        let n = match argument {
            Other::Int => {
                let n = self.numbers(&x[1..2], 1, true)?;
                if n.bits != 32 || n.args[0].len() != f.args[0].len() {
                    return self.fail("the integers do not fit the numbers");
                }
                Some(n.args[0].clone())
            }
            _ => None,
        };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for i in 0..f.args[0].len() {
            let mut args: Vec<Comp> = f.args.iter().map(|a| self.e.float_src(a[i], b)).collect();
            args.extend(n.as_ref().map(|n| n[i]));
            let Some(results) = self.routines.call(&mut self.e, op, &args) else {
                return self.missing(format!("{op:?} is"));
            };
            let back = |this: &mut Self, c: Comp| {
                if b == 16 { this.e.float_resize(c, 32, 16, Rnd::Near) } else { c }
            };
            first.push(back(self, results[0]));
            match (result, results.get(1)) {
                (Other::Real, Some(&c)) => second.push(back(self, c)),
                (Other::Int, Some(&c)) => second.push(c),
                _ => {}
            }
        }
        if result != Other::None {
            let bits = if result == Other::Int { 32 } else { b };
            self.store_numbers(x[wanted - 1], bits, &second)?;
        }
        self.define_numbers(b, first)
    }

    /// Functions of two floats that depend on how floats lie.
    fn between(&mut self, op: Cl, x: &[u32]) -> R<()> {
        let wanted = if op == Cl::remquo { 3 } else { 2 };
        if x.len() != wanted {
            return self.fail(format!("the instruction has {} operands instead of {wanted}", x.len()));
        }
        let f = self.numbers(&x[..2], 2, false)?;
        let b = f.bits;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for i in 0..f.args[0].len() {
            let (a, c) = (f.args[0][i], f.args[1][i]);
            if op == Cl::nextafter {
                first.push(self.next_after(a, c, b)?);
                continue;
            }
            let (a, c) = (self.e.float_src(a, b), self.e.float_src(c, b));
            let (rest, quotient) = self.nearest_remainder(a, c, b.max(32))?;
            first.push(if b == 16 { self.e.float_resize(rest, 32, 16, Rnd::Near) } else { rest });
            second.push(quotient);
        }
        if op == Cl::remquo {
            self.store_numbers(x[2], 32, &second)?;
        }
        self.define_numbers(b, first)
    }

    /// The float next to `a` on the way to `c`: floats as integers, negative ones from the other side.
    fn next_after(&mut self, a: Comp, c: Comp, b: u8) -> R<Comp> {
        let truth = |this: &mut Self, n, x: Comp, y: Comp| -> R<_> {
            let p = this.lane(n, 1, b, &[x, y])?;
            Ok(this.e.truth(p, 1))
        };
        let zero = Comp::constant(b, 0);
        let is_zero = truth(self, N::Feq, a, zero)?;
        // From zero the way leads to the least float with the sign of the other.
        let least = self.with_sign(Comp::constant(b, 1), c, b)?;
        // Away from zero the bits grow.
        let up = truth(self, N::Flt, a, c)?;
        let positive = truth(self, N::Flt, zero, a)?;
        let away = self.e.xor(up, positive).not();
        let one = Comp::constant(b, 1);
        let more = self.e.int2(IrOp::Add, false, b, a, one);
        let less = self.e.int2(IrOp::Sub, false, b, a, one);
        let next = self.e.select_comp(away, more, less);
        let next = self.e.select_comp(is_zero, least, next);
        let same = truth(self, N::Feq, a, c)?;
        let next = self.e.select_comp(same, c, next);
        let nan = truth(self, N::Funord, a, c)?;
        let none = self.float_constant(f64::NAN, b);
        Ok(self.e.select_comp(nan, none, next))
    }

    fn choice(&mut self, op: Cl, x: &[u32]) -> R<()> {
        if x.len() != 3 {
            return self.fail("the instruction has three operands");
        }
        let ty = self.ty();
        if self.type_of(x[0])? != ty || self.type_of(x[1])? != ty {
            return self.fail("the operands have other types than the result");
        }
        let bits = self.shape_of(ty)?.bits;
        let (a, b, c) = (self.comps(x[0])?, self.comps(x[1])?, self.comps(x[2])?);
        if c.len() != a.len() || self.shape_of(self.type_of(x[2])?)?.bits != bits {
            return self.fail("the operands do not fit each other");
        }
        let mut comps = Vec::new();
        for i in 0..a.len() {
            comps.push(if op == Cl::bitselect {
                self.lane(N::BitfieldSelect, bits, bits, &[c[i], b[i], a[i]])?
            } else {
                // Scalars by any bit, components of vectors by the highest.
                let p = if a.len() == 1 {
                    self.e.truth(c[i], bits)
                } else {
                    let negative = self.lane(N::Ilt, 1, bits, &[c[i], Comp::constant(bits, 0)])?;
                    self.e.truth(negative, 1)
                };
                self.e.select_comp(p, b[i], a[i])
            });
        }
        self.define(comps)
    }

    fn shuffled(&mut self, op: Cl, x: &[u32]) -> R<()> {
        let sources = if op == Cl::shuffle2 { 2 } else { 1 };
        if x.len() != sources + 1 {
            return self.fail("the instruction has other operands");
        }
        let mut all = Vec::new();
        let bits = self.shape_of(self.type_of(x[0])?)?.bits;
        for &id in &x[..sources] {
            if self.shape_of(self.type_of(id)?)?.bits != bits {
                return self.fail("the vectors have components of other bits");
            }
            all.extend(self.comps(id)?.iter().copied());
        }
        let mask_bits = self.shape_of(self.type_of(x[sources])?)?.bits;
        let mask = self.comps(x[sources])?;
        let most = all.len() as u32 - 1;
        let mut comps = Vec::new();
        for &m in mask.iter() {
            let index = self.e.resize(m, mask_bits, 32, false).word();
            let index = self.e.op2(IrOp::And, IrType::U32, index, most);
            comps.push(self.one_of(&all, index));
        }
        self.define_numbers(bits, comps)
    }

    /// The memory that lies so many strides behind a pointer to numbers of so many bits.
    fn at_offset(&mut self, pointer: u32, bits: u8, offset: u32, stride: u32, align: u32) -> R<MemRef> {
        let p: Pointer = self.pointer(pointer)?;
        if self.m.shape(p.to) != Some(Shape::scalar(bits)) {
            return self.fail("the pointer does not lead to a scalar of the vector's type");
        }
        let Place::Memory(mut mem) = p.place else {
            return self.fail("the pointer leads to no memory");
        };
        let bits = self.shape_of(self.type_of(offset)?)?.bits;
        let offset = self.scalar(offset)?;
        let offset = self.e.resize(offset, bits, bits.max(32), true);
        mem = self.e.stepped(mem, offset, stride);
        mem.align = mem.align.strongest(Align::multiple_of(align));
        Ok(mem)
    }

    /// The scalars that lie so many vectors behind a pointer into a variable that needs no memory.
    fn in_variable(&mut self, pointer: u32, bits: u8, offset: u32, count: u32) -> R<Option<Vec<Pointer>>> {
        let p = self.pointer(pointer)?;
        let Place::Slot { slot, first } = p.place else { return Ok(None) };
        let offset = self.m.constant_index(offset).and_then(|offset| u32::try_from(offset).ok());
        match (offset, self.m.shape(p.to) == Some(Shape::scalar(bits))) {
            (Some(offset), true) => {
                let first = first + offset * count;
                let place = |n| Place::Slot { slot, first: first + n };
                Ok(Some((0..count).map(|n| Pointer::new(place(n), p.to)).collect()))
            }
            _ => self.fail("the pointer does not lead to a scalar of the vector's type"),
        }
    }

    fn vector_load(&mut self, op: Cl, x: &[u32]) -> R<()> {
        let shape = self.shape_of(self.ty())?;
        if x.len() < 2 {
            return self.fail("the instruction has other operands");
        }
        let count = u32::from(shape.comps);
        if op == Cl::vloadn {
            if let Some(parts) = self.in_variable(x[1], shape.bits, x[0], count)? {
                let mut comps = Vec::new();
                for p in &parts {
                    comps.extend(self.load_value(p, 0)?);
                }
                return self.define(comps);
            }
            let size = u32::from(shape.bits) / 8;
            let mem = self.at_offset(x[1], shape.bits, x[0], size * count, size.max(1))?;
            let comps = self.e.load(mem, shape).to_vec();
            return self.define(comps);
        }
        let aligned = op == Cl::vloada_halfn;
        let stride = if aligned { 2 * count.next_power_of_two() } else { 2 * count };
        let mem = self.at_offset(x[1], 16, x[0], stride, if aligned { stride } else { 2 })?;
        let halves = self.e.load(mem, Shape { bits: 16, comps: shape.comps });
        let comps: Vec<_> =
            halves.iter().map(|&c| self.e.float_resize(c, 16, shape.bits, Rnd::Near)).collect();
        self.define(comps)
    }

    fn vector_store(&mut self, op: Cl, x: &[u32]) -> R<()> {
        if x.len() < 3 {
            return self.fail("the instruction has other operands");
        }
        let shape = self.shape_of(self.type_of(x[0])?)?;
        let data = self.comps(x[0])?;
        let count = u32::from(shape.comps);
        if op == Cl::vstoren {
            if let Some(parts) = self.in_variable(x[2], shape.bits, x[1], count)? {
                for (p, &c) in parts.iter().zip(data.iter()) {
                    self.store_value(p, &[c], 0)?;
                }
                return Ok(());
            }
            let size = u32::from(shape.bits) / 8;
            let mem = self.at_offset(x[2], shape.bits, x[1], size * count, size.max(1))?;
            self.e.store(mem, shape, &data, u16::MAX);
            return Ok(());
        }
        if !self.m.is_float(self.type_of(x[0])?) {
            return self.fail("the data are not floats");
        }
        let rnd = match (op, x.get(3)) {
            (Cl::vstore_half_r | Cl::vstore_halfn_r | Cl::vstorea_halfn_r, Some(&mode)) => match mode {
                0 => Rnd::Near,
                1 => Rnd::Zero,
                2 => Rnd::Up,
                3 => Rnd::Down,
                _ => return self.fail("the rounding mode is not known"),
            },
            _ => Rnd::Near,
        };
        let aligned = matches!(op, Cl::vstorea_halfn | Cl::vstorea_halfn_r);
        let stride = if aligned { 2 * count.next_power_of_two() } else { 2 * count };
        let mem = self.at_offset(x[2], 16, x[1], stride, if aligned { stride } else { 2 })?;
        let halves: Vec<Comp> = data.iter().map(|&c| self.e.float_resize(c, shape.bits, 16, rnd)).collect();
        self.e.store(forward(mem, 0), Shape { bits: 16, comps: shape.comps }, &halves, u16::MAX);
        Ok(())
    }

    fn vectors(&mut self, op: Cl, x: &[u32]) -> R<()> {
        let wanted = if matches!(op, Cl::distance | Cl::fast_distance | Cl::cross) { 2 } else { 1 };
        let f = self.numbers(x, wanted, false)?;
        let (b, a) = (f.bits, f.args[0].clone());
        let comps = match (op, f.args.get(1)) {
            (Cl::length | Cl::fast_length, None) => vec![self.length(&a, b)?],
            (Cl::distance | Cl::fast_distance, Some(c)) => {
                let each = a.iter().zip(c.iter());
                let d: Vec<Comp> = each.map(|(&x, &y)| self.f2(N::Fsub, b, x, y)).collect::<R<Vec<_>>>()?;
                vec![self.length(&d, b)?]
            }
            (Cl::normalize | Cl::fast_normalize, None) => self.normalised(&a, b)?,
            (Cl::cross, Some(c)) if matches!(a.len(), 3 | 4) => {
                let mut r = self.cross(&a, c, b)?;
                if a.len() == 4 {
                    r.push(Comp::constant(b, 0));
                }
                r
            }
            _ => return self.fail("the instruction has other operands"),
        };
        self.define_numbers(b, comps)
    }

    /// Functions that give one part, and write the other through a pointer.
    fn both_parts(&mut self, op: Cl, x: &[u32]) -> R<()> {
        if x.len() != 2 {
            return self.fail("the instruction has two operands");
        }
        let f = self.numbers(&x[..1], 1, false)?;
        let b = f.bits;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for &a in f.args[0].iter() {
            match op {
                Cl::frexp => {
                    first.push(self.f1(N::FrexpSig, b, a)?);
                    second.push(self.lane(N::FrexpExp, 32, b, &[a])?);
                }
                Cl::modf => {
                    let whole = self.f1(N::Ftrunc, b, a)?;
                    let rest = self.f2(N::Fsub, b, a, whole)?;
                    let same = self.lane(N::Feq, 1, b, &[a, whole])?;
                    let same = self.e.truth(same, 1);
                    let rest = self.e.select_comp(same, Comp::constant(b, 0), rest);
                    first.push(self.with_sign(rest, a, b)?);
                    second.push(whole);
                }
                _ => {
                    let whole = self.f1(N::Ffloor, b, a)?;
                    let rest = self.f2(N::Fsub, b, a, whole)?;
                    // Below 1; of infinity nothing is left.
                    let below = match b {
                        32 => Comp::constant(32, 0x3f7f_ffff),
                        64 => Comp::constant(64, 0x3fef_ffff_ffff_ffff),
                        _ => Comp::constant(16, 0x3bff),
                    };
                    let rest = self.f2(N::Fmin, b, rest, below)?;
                    let nan = self.lane(N::Funord, 1, b, &[a, a])?;
                    let nan = self.e.truth(nan, 1);
                    let same = self.lane(N::Feq, 1, b, &[a, whole])?;
                    let same = self.e.truth(same, 1);
                    let zero = self.with_sign(Comp::constant(b, 0), a, b)?;
                    let rest = self.e.select_comp(same, zero, rest);
                    first.push(self.e.select_comp(nan, a, rest));
                    second.push(whole);
                }
            }
        }
        let second_bits = if op == Cl::frexp { 32 } else { b };
        self.store_numbers(x[1], second_bits, &second)?;
        self.define_numbers(b, first)
    }
}
