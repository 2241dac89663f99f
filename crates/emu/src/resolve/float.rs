//! Float arithmetic.

use super::{Cx, Res};
use crate::inst::{Body, Bop, Cmp, FloatOp, Fp, SetDst, Src2};
use crate::lane_fn;
use crate::lanes::{LANES, LaneFn, Mask, Row, Src};
use crate::mask_fn;
use crate::undef::Route;
use nvir_base::num::Round;
use nvir_base::num::float::{self, canon32, ftz32};
use nvir_base::num::mufu::Func;
use nvir_isa::{Mod, Op};

impl Cx<'_> {
    pub(super) fn round(&self) -> Round {
        if self.has(Mod::Rm) {
            Round::Rm
        } else if self.has(Mod::Rp) {
            Round::Rp
        } else if self.has(Mod::Rz) {
            Round::Rz
        } else {
            Round::Rn
        }
    }

    /// FADD, FMUL, FFMA and their forms with a 32-bit immediate.
    pub(super) fn fma_like(&mut self) -> Res<Body> {
        let op = match self.m.op {
            Op::Fadd | Op::Fadd32i => FloatOp::Add,
            Op::Fmul | Op::Fmul32i => FloatOp::Mul,
            _ => FloatOp::Fma,
        };
        let scale = [(Mod::D2, -1), (Mod::D4, -2), (Mod::D8, -3), (Mod::M2, 1), (Mod::M4, 2), (Mod::M8, 3)];
        let fp = Fp {
            round: self.round(),
            ftz: self.has(Mod::Ftz),
            fmz: self.has(Mod::Fmz),
            sat: self.has(Mod::Sat),
            scale: scale.iter().find(|(m, _)| self.has(*m)).map_or(0, |s| s.1),
        };
        let dst = self.dst()?;
        let a = self.f32()?;
        let b = self.f32()?;
        let c = if op == FloatOp::Fma { self.f32()? } else { Src::ZERO };
        let src = [a, b, c];
        let plain = Fp { ftz: fp.ftz, ..Fp::default() };
        if fp != plain {
            return Ok(Body::Float { op, fp, dst, src });
        }
        let f: LaneFn = match (op, fp.ftz) {
            (FloatOp::Add, false) => lane_fn!(|a, b, _c| canon32(f32::from_bits(a) + f32::from_bits(b))),
            (FloatOp::Add, true) => {
                lane_fn!(|a, b, _c| ftz32(canon32(f32::from_bits(ftz32(a)) + f32::from_bits(ftz32(b)))))
            }
            (FloatOp::Mul, false) => lane_fn!(|a, b, _c| canon32(f32::from_bits(a) * f32::from_bits(b))),
            (FloatOp::Mul, true) => {
                lane_fn!(|a, b, _c| ftz32(canon32(f32::from_bits(ftz32(a)) * f32::from_bits(ftz32(b)))))
            }
            (FloatOp::Fma, false) => ffma::<false>,
            (FloatOp::Fma, true) => ffma::<true>,
        };
        Ok(Body::Map { f, dst, src })
    }

    pub(super) fn float_misc(&mut self) -> Res<Body> {
        let ftz = self.has(Mod::Ftz);
        match self.m.op {
            Op::Fmnmx => {
                let dst = self.dst()?;
                let src = [self.f32()?, self.f32()?];
                let pick = self.psrc_or_true()?;
                let (min, max): (LaneFn, LaneFn) = if ftz {
                    (
                        lane_fn!(|a, b, _c| float::min32(ftz32(a), ftz32(b))),
                        lane_fn!(|a, b, _c| float::max32(ftz32(a), ftz32(b))),
                    )
                } else {
                    (lane_fn!(|a, b, _c| float::min32(a, b)), lane_fn!(|a, b, _c| float::max32(a, b)))
                };
                Ok(Body::MinMax { dst, src, min, max, pick })
            }
            Op::Fset | Op::Fsetp => {
                let dst = self.set_dst(self.m.op == Op::Fset)?;
                let (a, b) = (self.f32()?, self.f32()?);
                let f = compare(self.test(), ftz);
                self.set(dst, Cmp::Rows { f, a, b })
            }
            Op::Fcmp => {
                let dst = self.dst()?;
                let (a, b, c) = (self.f32()?, self.f32()?, self.f32()?);
                // One of the first two, which may lack a value where the other is taken.
                self.inst.route = Route::Move(3);
                // GK110's form has no name for "greater", which nvdisasm leaves out.
                let param = u64::from(self.test_or(Mod::Gt)) | u64::from(ftz) << 8;
                let f = |p: u64, a: u32, b: u32, c: u32| {
                    let c = if p >> 8 != 0 { ftz32(c) } else { c };
                    if float::test32(p as u8 & 15, c, 0) { a } else { b }
                };
                Ok(Body::Scalar { f, param, dst, src: [a, b, c] })
            }
            Op::Fchk => {
                let p = self.pdst()?;
                let (a, b) = (self.f32()?, self.f32()?);
                let f = mask_fn!(|a, b| division_is_special(a, b));
                self.set(SetDst::Preds(p, 7), Cmp::Rows { f, a, b })
            }
            Op::Mufu => self.mufu(),
            Op::Rro => {
                // The reduction is exact: see `num::mufu`.
                let dst = self.dst()?;
                let a = self.f32()?;
                Ok(Body::Map { f: lane_fn!(|a, _b, _c| a), dst, src: [a, Src::ZERO, Src::ZERO] })
            }
            _ => self.fswz(ftz),
        }
    }

    fn mufu(&mut self) -> Res<Body> {
        let dst = self.dst()?;
        let src = self.f32()?;
        let sat = self.has(Mod::Sat);
        let table = [
            (Mod::Cos, Func::Cos),
            (Mod::Sin, Func::Sin),
            (Mod::Ex2, Func::Ex2),
            (Mod::Lg2, Func::Lg2),
            (Mod::Rcp, Func::Rcp),
            (Mod::Rsq, Func::Rsq),
        ];
        if let Some(&(_, func)) = table.iter().find(|(m, _)| self.has(*m)) {
            return Ok(Body::Mufu { func, sat, dst, src });
        }
        let f: fn(u64, u32, u32, u32) -> u32 = if self.has(Mod::Rcp64h) {
            |_, a, _, _| nvir_base::num::mufu::rcp64h(a)
        } else if self.has(Mod::Rsq64h) {
            |_, a, _, _| nvir_base::num::mufu::rsq64h(a)
        } else {
            return Err("unknown special function");
        };
        Ok(Body::Scalar { f, param: 0, dst, src: [src, Src::ZERO, Src::ZERO] })
    }

    /// FSWZ: the swizzle is a suffix, the signs are the last operand.
    fn fswz(&mut self, ftz: bool) -> Res<Body> {
        let names = ["0000", "1111", "2222", "3333", "1032", "2301"];
        let swizzle = names.iter().position(|n| self.named(n)).ok_or("invalid swizzle")? as u8;
        let dst = self.dst()?;
        let src = [self.f32()?, self.f32()?];
        let ops = self.imm_value()? as u16;
        Ok(Body::Fswz { dst, src, swizzle, ops, ftz })
    }

    pub(super) fn double(&mut self) -> Res<Body> {
        let param = self.round() as u64;
        match self.m.op {
            Op::Dadd | Op::Dmul => {
                let dst = self.dst2()?;
                let src = [self.f64()?, self.f64()?, Src2::ZERO];
                let f: fn(u64, u64, u64, u64) -> u64 = if self.m.op == Op::Dadd {
                    |p, a, b, _| float::add64(a, b, Round::from_index(p))
                } else {
                    |p, a, b, _| float::mul64(a, b, Round::from_index(p))
                };
                Ok(Body::Wide { f, param, dst, wide: true, src })
            }
            Op::Dfma => {
                let dst = self.dst2()?;
                let src = [self.f64()?, self.f64()?, self.f64()?];
                let f = |p: u64, a: u64, b: u64, c: u64| float::fma64(a, b, c, Round::from_index(p));
                Ok(Body::Wide { f, param, dst, wide: true, src })
            }
            Op::Dmnmx => {
                let dst = self.dst2()?;
                let src = [self.f64()?, self.f64()?];
                Ok(Body::MinMax64 { dst, src, pick: self.psrc_or_true()? })
            }
            Op::Dset | Op::Dsetp => {
                let dst = self.set_dst(self.m.op == Op::Dset)?;
                let (a, b) = (self.f64()?, self.f64()?);
                self.set(dst, Cmp::F64 { test: self.test(), a, b })
            }
            _ => {
                let p = self.pdst()?;
                let (a, b) = (self.f64()?, self.f64()?);
                let f = mask_fn!(|a, b| division_is_special64(a, b));
                self.set(SetDst::Preds(p, 7), Cmp::Rows { f, a: a.hi, b: b.hi })
            }
        }
    }

    /// Destinations of a comparison: one register, or two predicates.
    pub(super) fn set_dst(&mut self, reg: bool) -> Res<SetDst> {
        if reg {
            let bf = self.has(Mod::Bf);
            return Ok(SetDst::Reg { dst: self.dst()?, bf });
        }
        Ok(SetDst::Preds(self.pdst()?, self.pdst()?))
    }

    /// The end of a comparison: the predicate that it is combined with.
    pub(super) fn set(&mut self, dst: SetDst, cmp: Cmp) -> Res<Body> {
        let bop = self.bops().last().unwrap_or(Bop::And);
        let with = self.psrc_or_true()?;
        Ok(Body::Set { dst, cmp, with, bop })
    }
}

/// The fused multiply-add of a warp: 64-bit sums, and the exact way where they could round twice.
fn ffma<const FTZ: bool>(a: &Row, b: &Row, c: &Row, out: &mut Row) {
    let flush = |x: u32| if FTZ { ftz32(x) } else { x };
    let mut hazard = 0u32;
    for i in 0..LANES {
        let [x, y, z] = [a.0[i], b.0[i], c.0[i]].map(|v| f64::from(f32::from_bits(flush(v))));
        let s = x * y + z;
        hazard |= u32::from(float::double_rounding(s));
        out.0[i] = flush(canon32(s as f32));
    }
    if hazard != 0 {
        for i in 0..LANES {
            out.0[i] = flush(float::fma32(flush(a.0[i]), flush(b.0[i]), flush(c.0[i]), Round::Rn));
        }
    }
}

fn fcmp<const T: u8, const FTZ: bool>(a: &Row, b: &Row) -> Mask {
    let mut m = 0;
    for i in 0..LANES {
        let (mut x, mut y) = (a.0[i], b.0[i]);
        if FTZ {
            (x, y) = (ftz32(x), ftz32(y));
        }
        let (x, y) = (f32::from_bits(x), f32::from_bits(y));
        let unordered = x.is_nan() | y.is_nan();
        let hit = (T & 1 != 0 && x < y)
            | (T & 2 != 0 && x == y)
            | (T & 4 != 0 && x > y)
            | (T & 8 != 0 && unordered);
        m |= u32::from(hit) << i;
    }
    m
}

/// The row comparison of a test.
fn compare(test: u8, ftz: bool) -> fn(&Row, &Row) -> Mask {
    macro_rules! table {
        ($($t:literal)*) => {
            match (test, ftz) {
                $(($t, false) => fcmp::<$t, false>, ($t, true) => fcmp::<$t, true>,)*
                (_, false) => fcmp::<15, false>,
                (_, true) => fcmp::<15, true>,
            }
        };
    }
    table!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
}

/// FCHK.DIVIDE: whether `a / b` cannot be computed from the reciprocal by Newton's method, because an operand or an
/// intermediate result is special, zero, or near the ends of the exponent range.
pub(super) fn division_is_special(a: u32, b: u32) -> bool {
    let exp = |x: u32| (x >> 23 & 0xff) as i32;
    let (ea, eb) = (exp(a), exp(b));
    let quotient = ea - eb;
    !(25..=254).contains(&ea) || !(1..=252).contains(&eb) || !(-100..=125).contains(&quotient)
}

/// DCHK.DIVIDE, on the high words.
fn division_is_special64(a: u32, b: u32) -> bool {
    let exp = |x: u32| (x >> 20 & 0x7ff) as i32;
    let (ea, eb) = (exp(a), exp(b));
    let quotient = ea - eb;
    !(55..=2046).contains(&ea) || !(1..=2044).contains(&eb) || !(-960..=1021).contains(&quotient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_fuse_as_single_lanes_do() {
        let mut s = 12345u32;
        let mut next = || {
            s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            s
        };
        for _ in 0..2000 {
            let [a, b, c] = [0; 3].map(|_| Row(std::array::from_fn(|_| next())));
            let mut out = Row::ZERO;
            ffma::<false>(&a, &b, &c, &mut out);
            for i in 0..LANES {
                assert_eq!(out.0[i], float::fma32(a.0[i], b.0[i], c.0[i], Round::Rn));
            }
        }
    }

    #[test]
    fn division_check_lets_ordinary_numbers_pass() {
        assert!(!division_is_special(1f32.to_bits(), 3f32.to_bits()));
        assert!(division_is_special(1f32.to_bits(), 0));
        assert!(division_is_special(f32::NAN.to_bits(), 1f32.to_bits()));
        assert!(division_is_special(1e38f32.to_bits(), 1e-38f32.to_bits()));
    }
}
