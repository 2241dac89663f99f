//! Arithmetic, comparisons, conversions: component by component.

use super::{Lower, R};
use crate::front::common::emit::alu::Lane;
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::value::{Comp, Shape, Word};
use crate::front::spirv::types::Type;
use crate::ir::{Cond, Op as IrOp, Rnd, Type as IrType};
use arrayvec::ArrayVec;
use spirv::{Decoration, FPRoundingMode, Op};
use std::rc::Rc;

/// What the operands of an operation are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Int,
    Float,
    Bool,
}

/// How operands come: as they are, or the first two exchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operands {
    Straight,
    Exchanged,
}

/// An operation on components, what these are, and how they come.
pub(super) type Simple = (N, Kind, Operands);

/// What an opcode computes of components.
pub(super) fn simple(op: Op) -> Option<Simple> {
    use Kind::{Bool, Float, Int};
    use Operands::{Exchanged, Straight};
    Some(match op {
        Op::SNegate => (N::Ineg, Int, Straight),
        Op::FNegate => (N::Fneg, Float, Straight),
        Op::Not => (N::Inot, Int, Straight),
        Op::IAdd => (N::Iadd, Int, Straight),
        Op::ISub => (N::Isub, Int, Straight),
        Op::IMul => (N::Imul, Int, Straight),
        Op::UDiv => (N::Udiv, Int, Straight),
        Op::SDiv => (N::Idiv, Int, Straight),
        Op::UMod => (N::Umod, Int, Straight),
        Op::SRem => (N::Irem, Int, Straight),
        Op::SMod => (N::Imod, Int, Straight),
        Op::FAdd => (N::Fadd, Float, Straight),
        Op::FSub => (N::Fsub, Float, Straight),
        Op::FMul => (N::Fmul, Float, Straight),
        Op::FDiv => (N::Fdiv, Float, Straight),
        Op::FRem => (N::Frem, Float, Straight),
        Op::FMod => (N::Fmod, Float, Straight),
        Op::ShiftRightLogical => (N::Ushr, Int, Straight),
        Op::ShiftRightArithmetic => (N::Ishr, Int, Straight),
        Op::ShiftLeftLogical => (N::Ishl, Int, Straight),
        Op::BitwiseAnd => (N::Iand, Int, Straight),
        Op::BitwiseOr => (N::Ior, Int, Straight),
        Op::BitwiseXor => (N::Ixor, Int, Straight),
        Op::BitReverse => (N::BitReverse, Int, Straight),
        Op::LogicalAnd => (N::Iand, Bool, Straight),
        Op::LogicalOr => (N::Ior, Bool, Straight),
        Op::LogicalNot => (N::Inot, Bool, Straight),
        Op::LogicalNotEqual => (N::Ixor, Bool, Straight),
        Op::LogicalEqual => (N::Ieq, Bool, Straight),
        Op::IEqual => (N::Ieq, Int, Straight),
        Op::INotEqual => (N::Ine, Int, Straight),
        Op::AbsISubINTEL => (N::UabsIsub, Int, Straight),
        Op::AbsUSubINTEL => (N::UabsUsub, Int, Straight),
        Op::IAddSatINTEL => (N::IaddSat, Int, Straight),
        Op::UAddSatINTEL => (N::UaddSat, Int, Straight),
        Op::ISubSatINTEL => (N::IsubSat, Int, Straight),
        Op::USubSatINTEL => (N::UsubSat, Int, Straight),
        Op::IAverageINTEL => (N::Ihadd, Int, Straight),
        Op::UAverageINTEL => (N::Uhadd, Int, Straight),
        Op::IAverageRoundedINTEL => (N::Irhadd, Int, Straight),
        Op::UAverageRoundedINTEL => (N::Urhadd, Int, Straight),
        Op::IMul32x16INTEL => (N::Imul32x16, Int, Straight),
        Op::UMul32x16INTEL => (N::Umul32x16, Int, Straight),
        Op::ULessThan => (N::Ult, Int, Straight),
        Op::SLessThan => (N::Ilt, Int, Straight),
        Op::UGreaterThan => (N::Ult, Int, Exchanged),
        Op::SGreaterThan => (N::Ilt, Int, Exchanged),
        Op::UGreaterThanEqual => (N::Uge, Int, Straight),
        Op::SGreaterThanEqual => (N::Ige, Int, Straight),
        Op::ULessThanEqual => (N::Uge, Int, Exchanged),
        Op::SLessThanEqual => (N::Ige, Int, Exchanged),
        Op::FOrdEqual => (N::Feq, Float, Straight),
        Op::FUnordEqual => (N::Fequ, Float, Straight),
        Op::FOrdNotEqual | Op::LessOrGreater => (N::Fneo, Float, Straight),
        Op::FUnordNotEqual => (N::Fneu, Float, Straight),
        Op::FOrdLessThan => (N::Flt, Float, Straight),
        Op::FUnordLessThan => (N::Fltu, Float, Straight),
        Op::FOrdGreaterThan => (N::Flt, Float, Exchanged),
        Op::FUnordGreaterThan => (N::Fltu, Float, Exchanged),
        Op::FOrdGreaterThanEqual => (N::Fge, Float, Straight),
        Op::FUnordGreaterThanEqual => (N::Fgeu, Float, Straight),
        Op::FOrdLessThanEqual => (N::Fge, Float, Exchanged),
        Op::FUnordLessThanEqual => (N::Fgeu, Float, Exchanged),
        Op::Ordered => (N::Ford, Float, Straight),
        Op::Unordered => (N::Funord, Float, Straight),
        Op::IsFinite => (N::Fisfinite, Float, Straight),
        Op::IsNormal => (N::Fisnormal, Float, Straight),
        Op::QuantizeToF16 => (N::Fquantize2F16, Float, Straight),
        Op::ConvertFToU => (N::F2U, Float, Straight),
        Op::ConvertFToS => (N::F2I, Float, Straight),
        Op::ConvertSToF => (N::I2F, Int, Straight),
        Op::ConvertUToF => (N::U2F, Int, Straight),
        Op::UConvert => (N::U2U, Int, Straight),
        Op::SConvert => (N::I2I, Int, Straight),
        _ => return None,
    })
}

impl Lower<'_, '_> {
    /// An operation on single components.
    pub(super) fn lane(&mut self, op: N, bits: u8, sbits: u8, srcs: &[Comp]) -> R<Comp> {
        let lane = Lane { op, bits, sbits, exact: self.exact_here(), part: 0, srcs };
        match self.e.lane(&lane) {
            Some(c) => Ok(c),
            None => self.missing(format!("this operation on numbers of {sbits} bits is")),
        }
    }

    /// Whether the instruction's products and sums are not to be fused.
    pub(super) fn exact_here(&self) -> bool {
        let id = self.m.code.insts[self.n].result;
        self.exact || self.m.decoration(id, Decoration::NoContraction).is_some()
    }

    /// An operand whose scalars are of a kind; with their bits.
    fn operand(&mut self, id: u32, kind: Kind) -> R<(Rc<[Comp]>, u8)> {
        let ty = self.type_of(id)?;
        let right = match kind {
            Kind::Int => self.m.is_int(ty),
            Kind::Float => self.m.is_float(ty),
            Kind::Bool => self.m.is_bool(ty),
        };
        if !right || matches!(self.m.ty(ty), Some(Type::Matrix { .. })) {
            return self.fail(format!("an operand is a {}", self.m.type_name(ty)));
        }
        let bits = self.shape_of(ty)?.bits;
        Ok((self.comps(id)?, bits))
    }

    /// Instructions of arithmetic besides those of [`simple`]; whether it is one.
    pub(super) fn arithmetic(&mut self, op: Op) -> R<bool> {
        let x = self.operands();
        let ty = self.ty();
        match op {
            Op::FConvert => {
                let (a, from) = self.operand(x[0], Kind::Float)?;
                let to = self.result_shape(a.len(), Kind::Float)?.bits;
                let rnd = self.rounding()?;
                let comps: Vec<_> = a.iter().map(|&c| self.e.float_resize(c, from, to, rnd)).collect();
                self.define(comps)?;
            }
            Op::SatConvertSToU | Op::SatConvertUToS => {
                let (a, from) = self.operand(x[0], Kind::Int)?;
                let to = self.result_shape(a.len(), Kind::Int)?.bits;
                let signed = op == Op::SatConvertSToU;
                let comps =
                    a.iter().map(|&c| self.saturated(c, from, signed, to, !signed)).collect::<R<Vec<_>>>()?;
                self.define(comps)?;
            }
            Op::Bitcast => {
                let from = self.type_of(x[0])?;
                let bits = self.shape_of(from)?.bits;
                let a = self.comps(x[0])?;
                let comps = self.reinterpreted(&a, bits, ty)?;
                self.define(comps)?;
            }
            Op::IsNan | Op::IsInf | Op::SignBitSet => {
                let (a, bits) = self.operand(x[0], Kind::Float)?;
                self.result_shape(a.len(), Kind::Bool)?;
                let mut comps = Vec::new();
                for &c in a.iter() {
                    comps.push(match op {
                        Op::IsNan => self.lane(N::Funord, 1, bits, &[c, c])?,
                        Op::IsInf => {
                            let abs = self.lane(N::Fabs, bits, bits, &[c])?;
                            let infinity = self.float_constant(f64::INFINITY, bits);
                            self.lane(N::Feq, 1, bits, &[abs, infinity])?
                        }
                        _ => self.lane(N::Ilt, 1, bits, &[c, Comp::constant(bits, 0)])?,
                    });
                }
                self.define(comps)?;
            }
            Op::Any | Op::All => {
                let (a, _) = self.operand(x[0], Kind::Bool)?;
                let n = if op == Op::Any { N::Ior } else { N::Iand };
                let mut all = a[0];
                for &c in &a[1..] {
                    all = self.lane(n, 1, 1, &[all, c])?;
                }
                self.define([all])?;
            }
            Op::Select => self.select()?,
            Op::BitCount => {
                let (a, from) = self.operand(x[0], Kind::Int)?;
                let to = self.result_shape(a.len(), Kind::Int)?.bits;
                let mut comps = Vec::new();
                for &c in a.iter() {
                    let c = self.e.int_src(c, from, false);
                    let n = self.lane(N::BitCount, 32, from.max(32), &[c])?;
                    comps.push(self.e.resize(n, 32, to, false));
                }
                self.define(comps)?;
            }
            Op::BitFieldInsert => {
                let (a, bits) = self.operand(x[0], Kind::Int)?;
                let (b, _) = self.operand(x[1], Kind::Int)?;
                let (at, count) = (self.word(x[2])?, self.word(x[3])?);
                if bits != 32 || b.len() != a.len() {
                    return self.missing("a bit field of other than 32 bits is");
                }
                let each = a.iter().zip(b.iter());
                let comps = each
                    .map(|(&a, &b)| self.lane(N::BitfieldInsert, 32, 32, &[a, b, at, count]))
                    .collect::<R<Vec<_>>>()?;
                self.define(comps)?;
            }
            Op::BitFieldSExtract | Op::BitFieldUExtract => {
                let (a, bits) = self.operand(x[0], Kind::Int)?;
                let (at, count) = (self.word(x[1])?, self.word(x[2])?);
                if bits != 32 {
                    return self.missing("a bit field of other than 32 bits is");
                }
                let signed = op == Op::BitFieldSExtract;
                let n = if signed { N::IbitfieldExtract } else { N::UbitfieldExtract };
                let comps =
                    a.iter().map(|&a| self.lane(n, 32, 32, &[a, at, count])).collect::<R<Vec<_>>>()?;
                self.define(comps)?;
            }
            Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => {
                let (a, bits) = self.operand(x[0], Kind::Int)?;
                let (b, _) = self.operand(x[1], Kind::Int)?;
                let (low, high) = match op {
                    Op::IAddCarry => (N::Iadd, N::UaddCarry),
                    Op::ISubBorrow => (N::Isub, N::UsubBorrow),
                    Op::UMulExtended => (N::Imul, N::UmulHigh),
                    _ => (N::Imul, N::ImulHigh),
                };
                let source = self.type_of(x[0])?;
                let member = |n| self.m.part(ty, n).and_then(|part| self.m.shape(part));
                if source != self.type_of(x[1])? || (0..2).any(|n| member(n) != self.m.shape(source)) {
                    return self.fail("the operands have different types");
                }
                let mut comps = Vec::new();
                for n in [low, high] {
                    for (&a, &b) in a.iter().zip(b.iter()) {
                        comps.push(self.lane(n, bits, bits, &[a, b])?);
                    }
                }
                self.define(comps)?;
            }
            Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => {
                self.integer_dot(op)?;
            }
            Op::UCountLeadingZerosINTEL | Op::UCountTrailingZerosINTEL => {
                let (a, bits) = self.operand(x[0], Kind::Int)?;
                let count = |c: &Comp| match op {
                    Op::UCountLeadingZerosINTEL => self.leading_zeros(*c, bits),
                    _ => self.trailing_zeros(*c, bits),
                };
                let comps = a.iter().map(count).collect::<R<Vec<_>>>()?;
                self.define(comps)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Zeros above the highest one; of 0, all bits.
    pub(super) fn leading_zeros(&mut self, c: Comp, bits: u8) -> R<Comp> {
        let c = self.e.int_src(c, bits, false);
        let last = self.lane(N::UfindMsb, 32, bits.max(32), &[c])?;
        let n = self.e.op2(IrOp::Sub, IrType::U32, u32::from(bits) - 1, last.word());
        Ok(self.e.resize(Comp::Word(n), 32, bits, false))
    }

    /// Zeros below the lowest one; of 0, all bits.
    pub(super) fn trailing_zeros(&mut self, c: Comp, bits: u8) -> R<Comp> {
        let c = self.e.int_src(c, bits, false);
        let found = self.lane(N::FindLsb, 32, bits.max(32), &[c])?;
        let none = self.e.cmp(Cond::Eq, IrType::U32, found.word(), u32::MAX);
        let n = self.e.select(none, Word::Imm(bits.into()), found.word());
        Ok(self.e.resize(Comp::Word(n), 32, bits, false))
    }

    /// A scalar integer as a word.
    pub(super) fn word(&mut self, id: u32) -> R<Comp> {
        let (a, bits) = self.operand(id, Kind::Int)?;
        if a.len() != 1 {
            return self.fail("an operand is not a scalar");
        }
        Ok(self.e.resize(a[0], bits, 32, false))
    }

    /// The shape of a result of so many components.
    fn result_shape(&self, len: usize, kind: Kind) -> R<Shape> {
        let ty = self.ty();
        let right = match kind {
            Kind::Int => self.m.is_int(ty),
            Kind::Float => self.m.is_float(ty),
            Kind::Bool => self.m.is_bool(ty),
        };
        let shape = self.shape_of(ty)?;
        if !right || usize::from(shape.comps) != len {
            return self.fail(format!("the operands do not make a {}", self.m.type_name(ty)));
        }
        Ok(shape)
    }

    pub(super) fn simple_op(&mut self, op: Op, (n, kind, order): Simple) -> R<()> {
        let x = self.operands();
        let result = match op {
            Op::ConvertFToU | Op::ConvertFToS => Kind::Int,
            Op::ConvertSToF | Op::ConvertUToF => Kind::Float,
            _ if self.m.is_bool(self.ty()) => Kind::Bool,
            _ => kind,
        };
        let mut sources: ArrayVec<Rc<[Comp]>, 2> = ArrayVec::new();
        let mut sbits = 0;
        let shifts = matches!(n, N::Ushr | N::Ishr | N::Ishl);
        for (i, &id) in x.iter().enumerate() {
            let (comps, bits) = self.operand(id, kind)?;
            if i == 0 {
                sbits = bits;
            } else if comps.len() != sources.first().map_or(0, |a: &Rc<[Comp]>| a.len())
                || bits != sbits && !shifts
            {
                return self.fail("the operands have different types");
            }
            sources.push(comps);
        }
        let shape = self.result_shape(sources[0].len(), result)?;
        let converts = matches!(n, N::F2U | N::F2I | N::I2F | N::U2F | N::U2U | N::I2I);
        if !converts && result == kind && shape.bits != sbits {
            return self.fail("the result has other bits than the operands");
        }
        if matches!(n, N::Imul32x16 | N::Umul32x16) && sbits != 32 {
            return self.fail("the operands are not of 32 bits each");
        }
        if order == Operands::Exchanged {
            sources.swap(0, 1);
        }
        let mut comps: ArrayVec<Comp, 16> = ArrayVec::new();
        for i in 0..sources[0].len() {
            let srcs: ArrayVec<Comp, 2> = sources.iter().map(|s| s[i]).collect();
            comps.push(match n {
                N::F2U | N::F2I => self.float_to_int(srcs[0], sbits, shape.bits, n == N::F2I)?,
                N::I2F | N::U2F => {
                    if self
                        .m
                        .decoration(self.m.code.insts[self.n].result, Decoration::FPRoundingMode)
                        .is_some()
                        && self.rounding()? != Rnd::Near
                    {
                        return self.missing("a conversion to floats that does not round to nearest is");
                    }
                    self.lane(n, shape.bits, sbits, &srcs)?
                }
                N::U2U if self.saturates() => self.saturated(srcs[0], sbits, false, shape.bits, false)?,
                N::I2I if self.saturates() => self.saturated(srcs[0], sbits, true, shape.bits, true)?,
                _ => self.lane(n, shape.bits, sbits, &srcs)?,
            });
        }
        self.define(comps)
    }

    fn saturates(&self) -> bool {
        let id = self.m.code.insts[self.n].result;
        self.m.decoration(id, Decoration::SaturatedConversion).is_some()
    }

    /// The rounding that the instruction asks for; to nearest, if it asks for none.
    fn rounding(&self) -> R<Rnd> {
        let id = self.m.code.insts[self.n].result;
        let Some(mode) = self.m.decoration(id, Decoration::FPRoundingMode).and_then(|x| x.first()) else {
            return Ok(Rnd::Near);
        };
        Ok(match FPRoundingMode::from_u32(*mode) {
            Some(FPRoundingMode::RTE) => Rnd::Near,
            Some(FPRoundingMode::RTZ) => Rnd::Zero,
            Some(FPRoundingMode::RTP) => Rnd::Up,
            Some(FPRoundingMode::RTN) => Rnd::Down,
            None => return self.fail("the rounding mode is not known"),
        })
    }

    fn float_to_int(&mut self, c: Comp, from: u8, to: u8, signed: bool) -> R<Comp> {
        let id = self.m.code.insts[self.n].result;
        let mut c = c;
        if self.m.decoration(id, Decoration::FPRoundingMode).is_some() {
            let round = match self.rounding()? {
                Rnd::Near => N::FroundEven,
                Rnd::Up => N::Fceil,
                Rnd::Down => N::Ffloor,
                _ => N::Ftrunc,
            };
            c = self.lane(round, from, from, &[c])?;
        }
        let n = if signed { N::F2I } else { N::F2U };
        if !self.saturates() || to >= 32 {
            return self.lane(n, to, from, &[c]);
        }
        let wide = self.lane(n, 32, from, &[c])?;
        self.saturated(wide, 32, signed, to, signed)
    }

    /// An integer as the nearest of another type.
    fn saturated(&mut self, c: Comp, from: u8, from_signed: bool, to: u8, to_signed: bool) -> R<Comp> {
        let width = from.max(to).max(32);
        let mut c = self.e.resize(c, from, width, from_signed);
        let high = if to_signed { u64::MAX >> (65 - to) } else { u64::MAX >> (64 - to) };
        let source_high = if from_signed { u64::MAX >> (65 - from) } else { u64::MAX >> (64 - from) };
        let clamp =
            |this: &mut Self, c, n, limit| this.lane(n, width, width, &[c, Comp::constant(width, limit)]);
        if source_high > high {
            c = clamp(self, c, if from_signed { N::Imin } else { N::Umin }, high)?;
        }
        if from_signed && (!to_signed || to < from) {
            let low = if to_signed { !high } else { 0 };
            c = clamp(self, c, N::Imax, low)?;
        }
        Ok(self.e.resize(c, width, to, to_signed))
    }

    fn select(&mut self) -> R<()> {
        let x = self.operands();
        let (p, _) = self.operand(x[0], Kind::Bool)?;
        if self.type_of(x[1])? != self.ty() || self.type_of(x[2])? != self.ty() {
            return self.fail("the objects have other types than the result");
        }
        let (a, b) = (self.comps(x[1])?, self.comps(x[2])?);
        if p.len() != 1 && p.len() != a.len() {
            return self.fail("the condition has not as many components as the objects");
        }
        let mut comps = Vec::new();
        for (i, (&a, &b)) in a.iter().zip(b.iter()).enumerate() {
            let p = self.e.truth(p[if p.len() == 1 { 0 } else { i }], 1);
            comps.push(self.e.select_comp(p, a, b));
        }
        self.define_of_type(comps)
    }

    /// The same bits as another type.
    pub(super) fn reinterpreted(&mut self, comps: &[Comp], from: u8, ty: u32) -> R<Vec<Comp>> {
        let shape = self.shape_of(ty)?;
        if comps.len() * usize::from(from) != usize::from(shape.comps) * usize::from(shape.bits) || from == 1
        {
            return self.fail("the operand has not as many bits as the result");
        }
        if from == shape.bits {
            return Ok(comps.to_vec());
        }
        let words: Vec<Word> = match from {
            64 => comps.iter().flat_map(|&c| <[Word; 2]>::from(self.e.words64(c))).collect(),
            32 => comps.iter().map(|c| c.word()).collect(),
            _ => comps
                .chunks(32 / usize::from(from))
                .map(|parts| {
                    let parts: Vec<Word> = parts.iter().map(|c| c.word()).collect();
                    self.e.pack_word(&parts, from)
                })
                .collect(),
        };
        Ok(match shape.bits {
            64 => words.chunks(2).map(|w| Comp::Wide(w[0], w[1])).collect(),
            32 => words.into_iter().map(Comp::Word).collect(),
            bits => {
                let per = 32 / u32::from(bits);
                (0..u32::from(shape.comps))
                    .map(|i| Comp::Word(self.e.unpack_part(words[(i / per) as usize], i % per, bits)))
                    .collect()
            }
        })
    }

    pub(super) fn float_constant(&self, x: f64, bits: u8) -> Comp {
        Comp::constant(bits, crate::front::spirv::constants::float_bits(x, bits))
    }

    fn integer_dot(&mut self, op: Op) -> R<()> {
        let x = self.operands();
        let (a, bits) = self.operand(x[0], Kind::Int)?;
        let (b, b_bits) = self.operand(x[1], Kind::Int)?;
        let to = self.result_shape(1, Kind::Int)?.bits;
        let accumulates = matches!(op, Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat);
        let a_signed = !matches!(op, Op::UDot | Op::UDotAccSat);
        let b_signed = matches!(op, Op::SDot | Op::SDotAccSat);
        // Packed operands are words of four bytes.
        let (a, b, bits) = if a.len() == 1 && b.len() == 1 && bits == 32 {
            let parts = |this: &mut Self, c: Comp| -> Vec<Comp> {
                (0..4).map(|i| Comp::Word(this.e.unpack_part(c.word(), i, 8))).collect()
            };
            (parts(self, a[0]), parts(self, b[0]), 8)
        } else {
            (a.to_vec(), b.to_vec(), bits)
        };
        if a.len() != b.len() || b_bits != bits && bits != 8 {
            return self.fail("the operands have different types");
        }
        // Sums of products that do not overflow before the result is made.
        let width = if accumulates { 64 } else { to.max(32) };
        let mut sum = Comp::constant(width, 0);
        for (&a, &b) in a.iter().zip(&b) {
            let a = self.e.resize(a, bits, width, a_signed);
            let b = self.e.resize(b, bits, width, b_signed);
            let product = self.e.int2(IrOp::Mul, false, width, a, b);
            sum = self.e.int2(IrOp::Add, false, width, sum, product);
        }
        if !accumulates {
            let c = self.e.resize(sum, width, to, a_signed);
            return self.define([c]);
        }
        let (acc, acc_bits) = self.operand(x[2], Kind::Int)?;
        if acc.len() != 1 || acc_bits != to || to > 32 {
            return self.missing("an accumulator of 64 bits is");
        }
        // The sum of products wraps in the result's type, and is added with saturation.
        let sum = self.e.resize(sum, 64, to, a_signed);
        let n = if a_signed { N::IaddSat } else { N::UaddSat };
        let c = self.lane(n, to, to, &[sum, acc[0]])?;
        self.define([c])
    }
}
