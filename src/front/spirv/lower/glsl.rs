//! GLSL.std.450, as exact as Vulkan asks ("Precision and Operation of SPIR-V Instructions").

use super::{Lower, R};
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::value::Comp;
use crate::front::spirv::types::Type;
use crate::ir::{Op as IrOp, Type as IrType};
use spirv::GlslStd450Op as G;
use std::f64::consts::{FRAC_PI_2, LN_2, LOG2_E, PI};
use std::rc::Rc;

/// Components of operands of the same bits.
pub(super) struct Floats {
    pub(super) bits: u8,
    pub(super) args: Vec<Rc<[Comp]>>,
}

/// Operations that are computed of components by one opcode.
fn single(g: G) -> Option<N> {
    Some(match g {
        G::Round | G::RoundEven => N::FroundEven,
        G::Trunc => N::Ftrunc,
        G::FAbs => N::Fabs,
        G::SAbs => N::Iabs,
        G::FSign => N::Fsign,
        G::SSign => N::Isign,
        G::Floor => N::Ffloor,
        G::Ceil => N::Fceil,
        G::Fract => N::Ffract,
        G::Sin => N::Fsin,
        G::Cos => N::Fcos,
        G::Pow => N::Fpow,
        G::Exp2 => N::Fexp2,
        G::Log2 => N::Flog2,
        G::Sqrt => N::Fsqrt,
        G::InverseSqrt => N::Frsq,
        G::FMin | G::NMin => N::Fmin,
        G::UMin => N::Umin,
        G::SMin => N::Imin,
        G::FMax | G::NMax => N::Fmax,
        G::UMax => N::Umax,
        G::SMax => N::Imax,
        G::FMix => N::Flrp,
        G::Fma => N::Ffma,
        G::FindILsb => N::FindLsb,
        G::FindSMsb => N::IfindMsb,
        G::FindUMsb => N::UfindMsb,
        _ => return None,
    })
}

/// Whether operands are integers.
fn of_integers(n: N) -> bool {
    matches!(
        n,
        N::Iabs | N::Isign | N::Umin | N::Imin | N::Umax | N::Imax | N::FindLsb | N::IfindMsb | N::UfindMsb
    )
}

/// Operands of an operation on components.
pub(super) fn operands_of(n: N) -> usize {
    match n {
        N::Flrp | N::Ffma | N::Umad24 => 3,
        N::Fmin | N::Fmax | N::Umin | N::Umax | N::Imin | N::Imax | N::Fpow | N::Fdiv => 2,
        N::UabsIsub | N::UabsUsub | N::IaddSat | N::UaddSat | N::IsubSat | N::UsubSat => 2,
        N::Ihadd | N::Uhadd | N::Irhadd | N::Urhadd | N::ImulHigh | N::UmulHigh => 2,
        N::Urol | N::Imul24 | N::Umul24 => 2,
        _ => 1,
    }
}

impl Lower<'_, '_> {
    pub(super) fn glsl(&mut self, number: u32, x: &[u32]) -> R<()> {
        let Some(g) = G::from_u32(number) else {
            return self.fail("there is no such instruction in the set");
        };
        if x.is_empty() {
            return self.fail("the instruction has operands");
        }
        if let Some(n) = single(g) {
            let f = self.numbers(x, operands_of(n), of_integers(n))?;
            let comps = self.each(&f, |this, c| this.lane(n, f.bits, f.bits, c))?;
            return self.define_numbers(f.bits, comps);
        }
        if let Some((bits, comps)) = self.packing(g, x)? {
            return self.define_numbers(bits, comps);
        }
        if let Some((bits, comps)) = self.functions(g, x)? {
            return self.define_numbers(bits, comps);
        }
        match g {
            G::Determinant | G::MatrixInverse if x.len() == 1 => self.matrix(g, x[0]),
            G::Modf | G::Frexp => self.through_pointer(g, x),
            G::ModfStruct | G::FrexpStruct => {
                let f = self.numbers(x, 1, false)?;
                if self.m.part(self.ty(), 0) != Some(self.type_of(x[0])?) {
                    return self.fail("the result's first member has another type than the operand");
                }
                let (a, b) = self.parts(g, &f)?;
                self.define([a, b].concat())
            }
            G::InterpolateAtCentroid | G::InterpolateAtSample | G::InterpolateAtOffset => {
                self.interpolate(g, x)
            }
            _ => self.missing(format!("{g:?} is")),
        }
    }

    /// `SPV_AMD_shader_trinary_minmax`: the least, the greatest, the middle one of three floats, unsigned or signed integers.
    pub(super) fn trinary(&mut self, number: u32, x: &[u32]) -> R<()> {
        let (what, kind) = match number {
            1..=9 => ((number - 1) / 3, (number - 1) % 3),
            _ => return self.fail("there is no such instruction in the set"),
        };
        let (min, max) = [(N::Fmin, N::Fmax), (N::Umin, N::Umax), (N::Imin, N::Imax)][kind as usize];
        let f = self.numbers(x, 3, kind != 0)?;
        let comps = self.each(&f, |this, c| match what {
            0 | 1 => {
                let n = if what == 0 { min } else { max };
                let two = this.f2(n, f.bits, c[0], c[1])?;
                this.f2(n, f.bits, two, c[2])
            }
            _ => {
                let low = this.f2(min, f.bits, c[0], c[1])?;
                let high = this.f2(max, f.bits, c[0], c[1])?;
                let below = this.f2(min, f.bits, high, c[2])?;
                this.f2(max, f.bits, low, below)
            }
        })?;
        self.define_numbers(f.bits, comps)
    }

    /// Operands, as many as wanted, of one size: numbers of one kind. Scalars stand for vectors nowhere.
    pub(super) fn numbers(&mut self, x: &[u32], wanted: usize, integers: bool) -> R<Floats> {
        if x.len() != wanted {
            return self.fail(format!("the instruction has {} operands instead of {wanted}", x.len()));
        }
        let mut f = Floats { bits: 0, args: Vec::new() };
        for &id in x {
            let ty = self.type_of(id)?;
            let shape = self.shape_of(ty)?;
            let right = if integers { self.m.is_int(ty) } else { self.m.is_float(ty) };
            let comps = self.comps(id)?;
            if !right || f.args.first().is_some_and(|a| a.len() != comps.len() || shape.bits != f.bits) {
                return self.fail(format!("an operand is a {}", self.m.type_name(ty)));
            }
            f.bits = shape.bits;
            f.args.push(comps);
        }
        Ok(f)
    }

    pub(super) fn each(
        &mut self,
        f: &Floats,
        mut one: impl FnMut(&mut Self, &[Comp]) -> R<Comp>,
    ) -> R<Vec<Comp>> {
        let count = f.args.first().map_or(0, |a| a.len());
        (0..count)
            .map(|i| {
                let args: Vec<Comp> = f.args.iter().map(|a| a[i]).collect();
                one(self, &args)
            })
            .collect()
    }

    pub(super) fn f1(&mut self, n: N, bits: u8, a: Comp) -> R<Comp> {
        self.lane(n, bits, bits, &[a])
    }

    pub(super) fn f2(&mut self, n: N, bits: u8, a: Comp, b: Comp) -> R<Comp> {
        self.lane(n, bits, bits, &[a, b])
    }

    /// A product with a constant.
    pub(super) fn scaled(&mut self, a: Comp, by: f64, bits: u8) -> R<Comp> {
        let k = self.float_constant(by, bits);
        self.f2(N::Fmul, bits, a, k)
    }

    /// Functions of components by formulas, and of vectors; `None`: it is neither.
    fn functions(&mut self, g: G, x: &[u32]) -> R<Option<(u8, Vec<Comp>)>> {
        let integers = matches!(g, G::UClamp | G::SClamp);
        let vectors = matches!(
            g,
            G::Length | G::Distance | G::Cross | G::Normalize | G::FaceForward | G::Reflect | G::Refract
        );
        if vectors {
            return self.geometric(g, x).map(Some);
        }
        let known = matches!(
            g,
            G::Radians
                | G::Degrees
                | G::Tan
                | G::Asin
                | G::Acos
                | G::Atan
                | G::Sinh
                | G::Cosh
                | G::Tanh
                | G::Asinh
                | G::Acosh
                | G::Atanh
                | G::Atan2
                | G::Exp
                | G::Log
                | G::FClamp
                | G::UClamp
                | G::SClamp
                | G::NClamp
                | G::Step
                | G::SmoothStep
                | G::Ldexp
        );
        if !known {
            return Ok(None);
        }
        if g == G::Ldexp {
            let f = self.numbers(&x[..1], 1, false)?;
            let e = self.numbers(&x[1..], 1, true)?;
            let exponents = e.args.first().cloned().unwrap_or_else(|| [].into());
            if exponents.len() != f.args[0].len() || e.bits != 32 {
                return self.missing("an exponent of other than 32 bits is");
            }
            let mut comps = Vec::new();
            for (&a, &n) in f.args[0].iter().zip(exponents.iter()) {
                comps.push(self.f2(N::Ldexp, f.bits, a, n)?);
            }
            return Ok(Some((f.bits, comps)));
        }
        let wanted = match g {
            G::Atan2 | G::Step => 2,
            G::FClamp | G::UClamp | G::SClamp | G::NClamp | G::SmoothStep => 3,
            _ => 1,
        };
        let f = self.numbers(x, wanted, integers)?;
        let b = f.bits;
        self.each(&f, |this, c| this.function(g, b, c)).map(|comps| Some((b, comps)))
    }

    fn function(&mut self, g: G, b: u8, c: &[Comp]) -> R<Comp> {
        let a = c[0];
        let one = self.float_constant(1.0, b);
        Ok(match g {
            G::Radians => self.scaled(a, PI / 180.0, b)?,
            G::Degrees => self.scaled(a, 180.0 / PI, b)?,
            G::Tan => {
                let (s, c) = (self.f1(N::Fsin, b, a)?, self.f1(N::Fcos, b, a)?);
                self.f2(N::Fdiv, b, s, c)?
            }
            G::Exp => self.exp(a, b)?,
            G::Log => {
                let log = self.f1(N::Flog2, b, a)?;
                self.scaled(log, LN_2, b)?
            }
            G::FClamp | G::NClamp => self.clamp([N::Fmax, N::Fmin], b, c)?,
            G::UClamp => self.clamp([N::Umax, N::Umin], b, c)?,
            G::SClamp => self.clamp([N::Imax, N::Imin], b, c)?,
            G::Step => self.step(b, a, c[1])?,
            G::SmoothStep => self.smooth_step(b, c)?,
            G::Sinh | G::Cosh | G::Tanh => {
                let a = if g == G::Tanh {
                    // Beyond this it is 1, and the exponential would be infinite.
                    let (low, high) = (self.float_constant(-10.0, b), self.float_constant(10.0, b));
                    self.clamp([N::Fmax, N::Fmin], b, &[a, low, high])?
                } else {
                    a
                };
                let up = self.exp(a, b)?;
                let minus = self.f1(N::Fneg, b, a)?;
                let down = self.exp(minus, b)?;
                let sum = self.f2(N::Fadd, b, up, down)?;
                let difference = self.f2(N::Fsub, b, up, down)?;
                match g {
                    G::Sinh => self.scaled(difference, 0.5, b)?,
                    G::Cosh => self.scaled(sum, 0.5, b)?,
                    _ => self.f2(N::Fdiv, b, difference, sum)?,
                }
            }
            G::Asinh => {
                // sign(x) * ln(|x| + sqrt(x * x + 1))
                let abs = self.f1(N::Fabs, b, a)?;
                let square = self.lane(N::Ffma, b, b, &[a, a, one])?;
                let root = self.f1(N::Fsqrt, b, square)?;
                let sum = self.f2(N::Fadd, b, abs, root)?;
                let log = self.f1(N::Flog2, b, sum)?;
                let log = self.scaled(log, LN_2, b)?;
                let sign = self.f1(N::Fsign, b, a)?;
                self.f2(N::Fmul, b, sign, log)?
            }
            G::Acosh => {
                let minus = self.float_constant(-1.0, b);
                let square = self.lane(N::Ffma, b, b, &[a, a, minus])?;
                let root = self.f1(N::Fsqrt, b, square)?;
                let sum = self.f2(N::Fadd, b, a, root)?;
                let log = self.f1(N::Flog2, b, sum)?;
                self.scaled(log, LN_2, b)?
            }
            G::Atanh => {
                let up = self.f2(N::Fadd, b, one, a)?;
                let down = self.f2(N::Fsub, b, one, a)?;
                let q = self.f2(N::Fdiv, b, up, down)?;
                let log = self.f1(N::Flog2, b, q)?;
                self.scaled(log, LN_2 / 2.0, b)?
            }
            G::Atan => self.atan(a, b)?,
            G::Atan2 => self.atan2(a, c[1], b)?,
            G::Asin | G::Acos => {
                let (up, down) = (self.f2(N::Fadd, b, one, a)?, self.f2(N::Fsub, b, one, a)?);
                let square = self.f2(N::Fmul, b, up, down)?;
                let root = self.f1(N::Fsqrt, b, square)?;
                if g == G::Asin { self.atan2(a, root, b)? } else { self.atan2(root, a, b)? }
            }
            _ => return self.missing(format!("{g:?} is")),
        })
    }

    /// The first of three between the second and the third, by the greater and the lesser of two.
    pub(super) fn clamp(&mut self, [greater, lesser]: [N; 2], b: u8, c: &[Comp]) -> R<Comp> {
        let x = self.f2(greater, b, c[0], c[1])?;
        self.f2(lesser, b, x, c[2])
    }

    /// 0 below the edge, 1 from it on.
    pub(super) fn step(&mut self, b: u8, edge: Comp, x: Comp) -> R<Comp> {
        let one = self.float_constant(1.0, b);
        let less = self.lane(N::Flt, 1, b, &[x, edge])?;
        let p = self.e.truth(less, 1);
        Ok(self.e.select_comp(p, Comp::constant(b, 0), one))
    }

    /// Hermite's curve from 0 at the first to 1 at the second, at the third.
    pub(super) fn smooth_step(&mut self, b: u8, c: &[Comp]) -> R<Comp> {
        let width = self.f2(N::Fsub, b, c[1], c[0])?;
        let at = self.f2(N::Fsub, b, c[2], c[0])?;
        let t = self.f2(N::Fdiv, b, at, width)?;
        let t = self.f1(N::Fsat, b, t)?;
        let (two, three) = (self.float_constant(-2.0, b), self.float_constant(3.0, b));
        let r = self.lane(N::Ffma, b, b, &[t, two, three])?;
        let tt = self.f2(N::Fmul, b, t, t)?;
        self.f2(N::Fmul, b, tt, r)
    }

    fn exp(&mut self, a: Comp, b: u8) -> R<Comp> {
        let x = self.scaled(a, LOG2_E, b)?;
        self.f1(N::Fexp2, b, x)
    }

    /// The arc tangent of a number from 0 to 1: a polynomial of odd powers.
    fn atan_small(&mut self, t: Comp, b: u8) -> R<Comp> {
        const FACTORS: [f64; 6] = [
            -0.012_132_321_3,
            0.053_681_378_4,
            -0.117_350_319_5,
            0.193_892_497_7,
            -0.332_675_641_8,
            0.999_979_312_8,
        ];
        let square = self.f2(N::Fmul, b, t, t)?;
        let mut sum = self.float_constant(FACTORS[0], b);
        for k in &FACTORS[1..] {
            let k = self.float_constant(*k, b);
            sum = self.lane(N::Ffma, b, b, &[sum, square, k])?;
        }
        self.f2(N::Fmul, b, sum, t)
    }

    fn atan(&mut self, a: Comp, b: u8) -> R<Comp> {
        let one = self.float_constant(1.0, b);
        self.atan2(a, one, b)
    }

    fn atan2(&mut self, y: Comp, x: Comp, b: u8) -> R<Comp> {
        if b == 64 {
            return self.missing("this function of 64 bits is");
        }
        let (ay, ax) = (self.f1(N::Fabs, b, y)?, self.f1(N::Fabs, b, x)?);
        let (low, high) = (self.f2(N::Fmin, b, ay, ax)?, self.f2(N::Fmax, b, ay, ax)?);
        let t = self.f2(N::Fdiv, b, low, high)?;
        // 0 / 0 counts as 0, infinity over infinity as 1.
        let zero = Comp::constant(b, 0);
        let same = self.lane(N::Feq, 1, b, &[low, high])?;
        let same = self.e.truth(same, 1);
        let nothing = self.lane(N::Feq, 1, b, &[high, zero])?;
        let nothing = self.e.truth(nothing, 1);
        let one = self.float_constant(1.0, b);
        let t = self.e.select_comp(same, one, t);
        let t = self.e.select_comp(nothing, zero, t);
        let r = self.atan_small(t, b)?;
        let steep = self.lane(N::Flt, 1, b, &[ax, ay])?;
        let steep = self.e.truth(steep, 1);
        let quarter = self.float_constant(FRAC_PI_2, b);
        let other = self.f2(N::Fsub, b, quarter, r)?;
        let r = self.e.select_comp(steep, other, r);
        let behind = self.lane(N::Ilt, 1, b, &[x, zero])?;
        let behind = self.e.truth(behind, 1);
        let half = self.float_constant(PI, b);
        let other = self.f2(N::Fsub, b, half, r)?;
        let r = self.e.select_comp(behind, other, r);
        self.with_sign(r, y, b)
    }

    /// A number with the sign of another.
    pub(super) fn with_sign(&mut self, x: Comp, sign: Comp, b: u8) -> R<Comp> {
        Ok(match (x, sign) {
            (Comp::Wide(lo, hi), Comp::Wide(_, sign)) => Comp::Wide(lo, self.e.copy_sign(hi, sign)),
            _ if b == 16 => {
                let magnitude = self.e.op2(IrOp::And, IrType::U32, x.word(), 0x7fff);
                let sign = self.e.op2(IrOp::And, IrType::U32, sign.word(), 0x8000);
                Comp::Word(self.e.op2(IrOp::Or, IrType::U32, magnitude, sign))
            }
            _ => Comp::Word(self.e.copy_sign(x.word(), sign.word())),
        })
    }

    fn geometric(&mut self, g: G, x: &[u32]) -> R<(u8, Vec<Comp>)> {
        let vectors = if g == G::Refract { x.len() - 1 } else { x.len() };
        let wanted = match g {
            G::Length | G::Normalize => 1,
            G::FaceForward => 3,
            _ => 2,
        };
        let f = self.numbers(&x[..vectors], wanted, false)?;
        let (b, a) = (f.bits, f.args[0].clone());
        let second = f.args.get(1).cloned().unwrap_or_else(|| a.clone());
        let exact = self.exact_here();
        let map2 = |this: &mut Self, n, x: &[Comp], y: &[Comp]| -> R<Vec<Comp>> {
            x.iter().zip(y).map(|(&x, &y)| this.f2(n, b, x, y)).collect()
        };
        let comps = match g {
            G::Length | G::Distance => {
                let v = if g == G::Distance { map2(self, N::Fsub, &a, &second)? } else { a.to_vec() };
                vec![self.length(&v, b)?]
            }
            G::Normalize => self.normalised(&a, b)?,
            G::Cross => {
                if a.len() != 3 {
                    return self.fail("a cross product is of three components");
                }
                self.cross(&a, &second, b)?
            }
            G::FaceForward => {
                let d = self.e.dot(b, exact, &f.args[2], &second);
                let front = self.lane(N::Flt, 1, b, &[d, Comp::constant(b, 0)])?;
                let p = self.e.truth(front, 1);
                let mut out = Vec::new();
                for &c in a.iter() {
                    let minus = self.f1(N::Fneg, b, c)?;
                    out.push(self.e.select_comp(p, c, minus));
                }
                out
            }
            G::Reflect => {
                // I - 2 dot(N, I) N
                let d = self.e.dot(b, exact, &second, &a);
                let d = self.scaled(d, -2.0, b)?;
                let each = a.iter().zip(second.iter());
                each.map(|(&i, &n)| self.lane(N::Ffma, b, b, &[d, n, i])).collect::<R<Vec<_>>>()?
            }
            _ => {
                // k = 1 - eta^2 (1 - dot(N, I)^2); eta I - (eta dot(N, I) + sqrt(k)) N, or 0
                let eta = self.scalar(x[2])?;
                let one = self.float_constant(1.0, b);
                if self.shape_of(self.type_of(x[2])?)?.bits != b {
                    return self.fail("the ratio has other bits than the vectors");
                }
                let d = self.e.dot(b, exact, &second, &a);
                let minus = self.f1(N::Fneg, b, d)?;
                let rest = self.lane(N::Ffma, b, b, &[minus, d, one])?;
                let square = self.f2(N::Fmul, b, eta, eta)?;
                let minus = self.f1(N::Fneg, b, square)?;
                let k = self.lane(N::Ffma, b, b, &[minus, rest, one])?;
                let none = self.lane(N::Flt, 1, b, &[k, Comp::constant(b, 0)])?;
                let none = self.e.truth(none, 1);
                let root = self.f1(N::Fsqrt, b, k)?;
                let factor = self.lane(N::Ffma, b, b, &[eta, d, root])?;
                let mut out = Vec::new();
                for (&i, &n) in a.iter().zip(second.iter()) {
                    let p = self.f2(N::Fmul, b, eta, i)?;
                    let q = self.f2(N::Fmul, b, factor, n)?;
                    let r = self.f2(N::Fsub, b, p, q)?;
                    out.push(self.e.select_comp(none, Comp::constant(b, 0), r));
                }
                out
            }
        };
        Ok((b, comps))
    }

    pub(super) fn length(&mut self, v: &[Comp], b: u8) -> R<Comp> {
        if let [one] = v {
            return self.f1(N::Fabs, b, *one);
        }
        let exact = self.exact_here();
        let square = self.e.dot(b, exact, v, v);
        self.f1(N::Fsqrt, b, square)
    }

    pub(super) fn normalised(&mut self, v: &[Comp], b: u8) -> R<Vec<Comp>> {
        if let [one] = v {
            return Ok(vec![self.f1(N::Fsign, b, *one)?]);
        }
        let exact = self.exact_here();
        let square = self.e.dot(b, exact, v, v);
        let by = self.f1(N::Frsq, b, square)?;
        v.iter().map(|&c| self.f2(N::Fmul, b, c, by)).collect()
    }

    pub(super) fn cross(&mut self, a: &[Comp], c: &[Comp], b: u8) -> R<Vec<Comp>> {
        (0..3)
            .map(|i| {
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                let p = self.f2(N::Fmul, b, a[j], c[k])?;
                let q = self.f2(N::Fmul, b, a[k], c[j])?;
                self.f2(N::Fsub, b, p, q)
            })
            .collect()
    }

    fn packing(&mut self, g: G, x: &[u32]) -> R<Option<(u8, Vec<Comp>)>> {
        let (n, count, integers) = match g {
            G::PackSnorm4x8 => (N::PackSnorm, 4, false),
            G::PackUnorm4x8 => (N::PackUnorm, 4, false),
            G::PackSnorm2x16 => (N::PackSnorm, 2, false),
            G::PackUnorm2x16 => (N::PackUnorm, 2, false),
            G::PackHalf2x16 => (N::PackHalf, 2, false),
            G::UnpackSnorm4x8 => (N::UnpackSnorm, 4, true),
            G::UnpackUnorm4x8 => (N::UnpackUnorm, 4, true),
            G::UnpackSnorm2x16 => (N::UnpackSnorm, 2, true),
            G::UnpackUnorm2x16 => (N::UnpackUnorm, 2, true),
            G::UnpackHalf2x16 => (N::UnpackHalf, 2, true),
            G::PackDouble2x32 => {
                let f = self.numbers(x, 1, true)?;
                return match f.args[0][..] {
                    [Comp::Word(lo), Comp::Word(hi)] if f.bits == 32 => {
                        Ok(Some((64, vec![Comp::Wide(lo, hi)])))
                    }
                    _ => self.fail("the operand is not a vector of two words"),
                };
            }
            G::UnpackDouble2x32 => {
                let f = self.numbers(x, 1, false)?;
                return match f.args[0][..] {
                    [Comp::Wide(lo, hi)] => Ok(Some((32, vec![Comp::Word(lo), Comp::Word(hi)]))),
                    _ => self.fail("the operand is not a double"),
                };
            }
            _ => return Ok(None),
        };
        let f = self.numbers(x, 1, integers)?;
        let expected = if integers { 1 } else { count };
        if f.bits != 32 || f.args[0].len() != expected {
            return self.fail("the operand has another size");
        }
        match self.e.horizontal(n, 32, 32, count as u8, self.exact, &[&f.args[0]]) {
            Some(comps) => Ok(Some((32, comps.to_vec()))),
            None => self.missing(format!("{g:?} is")),
        }
    }

    /// What `Modf` and `Frexp` give: both parts of each component.
    fn parts(&mut self, g: G, f: &Floats) -> R<(Vec<Comp>, Vec<Comp>)> {
        let b = f.bits;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for &a in f.args[0].iter() {
            if matches!(g, G::Modf | G::ModfStruct) {
                let whole = self.f1(N::Ftrunc, b, a)?;
                let rest = self.f2(N::Fsub, b, a, whole)?;
                // Infinity has no fraction, and the fraction has the sign.
                let same = self.lane(N::Feq, 1, b, &[a, whole])?;
                let same = self.e.truth(same, 1);
                let rest = self.e.select_comp(same, Comp::constant(b, 0), rest);
                first.push(self.with_sign(rest, a, b)?);
                second.push(whole);
            } else {
                first.push(self.f1(N::FrexpSig, b, a)?);
                second.push(self.lane(N::FrexpExp, 32, b, &[a])?);
            }
        }
        Ok((first, second))
    }

    fn through_pointer(&mut self, g: G, x: &[u32]) -> R<()> {
        if x.len() != 2 {
            return self.fail(format!("{g:?} has two operands"));
        }
        let f = self.numbers(&x[..1], 1, false)?;
        let (a, b) = self.parts(g, &f)?;
        let bits = if g == G::Frexp { 32 } else { f.bits };
        self.store_numbers(x[1], bits, &b)?;
        self.define_numbers(f.bits, a)
    }

    /// Stores through a pointer to a scalar or vector whose components have so many bits.
    pub(super) fn store_numbers(&mut self, pointer: u32, bits: u8, comps: &[Comp]) -> R<()> {
        let p = self.pointer(pointer)?;
        if self.m.shape(p.to).is_none_or(|shape| shape.bits != bits) {
            return self.fail("the pointer leads to another type than the value's");
        }
        self.store_value(&p, comps, 0)
    }

    fn matrix(&mut self, g: G, id: u32) -> R<()> {
        let ty = self.type_of(id)?;
        let (Some(Type::Matrix { columns, .. }), Some(Type::Float { bits })) =
            (self.m.ty(ty), self.m.scalar_type(ty))
        else {
            return self.fail("the operand is not a matrix");
        };
        let (n, bits) = (usize::from(*columns), *bits);
        let comps = self.comps(id)?;
        if comps.len() != n * n {
            return self.fail("the matrix is not square");
        }
        let at = |c: usize, r: usize| comps[c * n + r];
        if g == G::Determinant {
            let all: Vec<usize> = (0..n).collect();
            let d = self.determinant(&at, &all, &all, bits)?;
            return self.define_numbers(bits, [d]);
        }
        if self.ty() != ty {
            return self.fail("the result has another type than the matrix");
        }
        // The transposed matrix of cofactors over the determinant.
        let mut cofactors = vec![Comp::constant(bits, 0); n * n];
        for c in 0..n {
            for r in 0..n {
                let without = |i: usize| -> Vec<usize> { (0..n).filter(|&k| k != i).collect() };
                let minor = self.determinant(&at, &without(c), &without(r), bits)?;
                let minor = if (c + r) % 2 == 1 { self.f1(N::Fneg, bits, minor)? } else { minor };
                cofactors[r * n + c] = minor;
            }
        }
        let mut terms = Vec::new();
        for (c, &cofactor) in cofactors.iter().take(n).enumerate() {
            terms.push(self.f2(N::Fmul, bits, at(c, 0), cofactor)?);
        }
        let exact = self.exact_here();
        let determinant = self.e.float_sum(bits, exact, &terms);
        let one = self.float_constant(1.0, bits);
        let by = self.f2(N::Fdiv, bits, one, determinant)?;
        let comps = cofactors.iter().map(|&c| self.f2(N::Fmul, bits, c, by)).collect::<R<Vec<_>>>()?;
        self.define(comps)
    }

    /// Of the part of a matrix with these columns and rows, by its first column; 4 at most.
    fn determinant(
        &mut self,
        at: &dyn Fn(usize, usize) -> Comp,
        columns: &[usize],
        rows: &[usize],
        bits: u8,
    ) -> R<Comp> {
        match (columns, rows) {
            ([c], [r]) => Ok(at(*c, *r)),
            _ => {
                let mut sum = Comp::constant(bits, 0);
                for (i, &r) in rows.iter().enumerate() {
                    let others: Vec<usize> = rows.iter().copied().filter(|&k| k != r).collect();
                    let minor = self.determinant(at, &columns[1..], &others, bits)?;
                    let term = self.f2(N::Fmul, bits, at(columns[0], r), minor)?;
                    sum = match i {
                        0 => term,
                        i if i % 2 == 1 => self.f2(N::Fsub, bits, sum, term)?,
                        _ => self.f2(N::Fadd, bits, sum, term)?,
                    };
                }
                Ok(sum)
            }
        }
    }
}
