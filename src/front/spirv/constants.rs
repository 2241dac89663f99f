//! Constants: their values, specialised, and what `OpSpecConstantOp` computes of them.
//!
//! Values share their parts as the module does, so composites of composites cost nothing, however many scalars they have.

use super::module::Module;
use super::types::Type;
use spirv::Op;
use std::rc::Rc;

/// A constant.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Constant {
    /// A scalar's bits, as many as its type has; of a bool 0 or 1.
    Bits(u64),
    Composite(Vec<Rc<Constant>>),
    /// Zeros of any type.
    Null,
    Undef,
    /// Addressing mode, normalised coordinates, filter.
    Sampler([u32; 3]),
}

impl Constant {
    /// The bits of a scalar.
    pub(super) fn bits(&self) -> Option<u64> {
        match self {
            Constant::Bits(bits) => Some(*bits),
            Constant::Null | Constant::Undef => Some(0),
            _ => None,
        }
    }

    /// Part `n` of a composite.
    pub(super) fn part(&self, n: u32) -> Option<Rc<Constant>> {
        match self {
            Constant::Composite(parts) => parts.get(n as usize).cloned(),
            Constant::Null => Some(Rc::new(Constant::Null)),
            Constant::Undef => Some(Rc::new(Constant::Undef)),
            _ => None,
        }
    }
}

/// The low `bits` bits.
pub(super) fn low(x: u64, bits: u8) -> u64 {
    if bits >= 64 { x } else { x & ((1 << bits) - 1) }
}

/// A number of `bits` bits with its sign.
pub(super) fn signed(x: u64, bits: u8) -> i64 {
    let shift = 64 - u32::from(bits.clamp(1, 64));
    (x << shift) as i64 >> shift
}

/// A float of 16, 32 or 64 bits.
pub(super) fn float(x: u64, bits: u8) -> f64 {
    match bits {
        16 => half::f16::from_bits(x as u16).to_f64(),
        32 => f32::from_bits(x as u32).into(),
        _ => f64::from_bits(x),
    }
}

/// The bits of a float, rounded to nearest.
pub(super) fn float_bits(x: f64, bits: u8) -> u64 {
    match bits {
        16 => half::f16::from_f64(x).to_bits().into(),
        32 => (x as f32).to_bits().into(),
        _ => x.to_bits(),
    }
}

impl Module {
    /// The bits of a constant scalar.
    pub(super) fn constant_bits(&self, id: u32) -> Option<u64> {
        self.constants.get(id)?.bits()
    }

    /// A constant integer as a number of 32 bits.
    pub(super) fn constant_u32(&self, id: u32) -> Option<u32> {
        let bits = self.constant_bits(id)?;
        match self.code.type_of(id).and_then(|ty| self.ty(ty))? {
            Type::Int { bits: width, signed: true } => u32::try_from(signed(bits, *width)).ok(),
            Type::Int { .. } => u32::try_from(bits).ok(),
            _ => None,
        }
    }

    /// A constant index, signed or not, as far as it is one of an array that exists.
    pub(super) fn constant_index(&self, id: u32) -> Option<i64> {
        let bits = self.constant_bits(id)?;
        match self.code.type_of(id).and_then(|ty| self.ty(ty))? {
            Type::Int { bits: width, .. } => Some(signed(bits, *width)),
            _ => None,
        }
    }

    fn operand(&self, id: u32) -> Option<Rc<Constant>> {
        self.constants.get(id).cloned()
    }

    /// What an operation on constants gives; `None`: it has none.
    pub(super) fn evaluate(&self, ty: u32, op: Op, operands: &[u32]) -> Option<Constant> {
        let first = *operands.first()?;
        match op {
            Op::CompositeExtract => {
                let mut value = self.operand(first)?;
                for &n in &operands[1..] {
                    value = value.part(n)?;
                }
                return Some((*value).clone());
            }
            Op::CompositeInsert => {
                let object = self.operand(first)?;
                let into = self.operand(*operands.get(1)?)?;
                let composite = self.code.type_of(*operands.get(1)?)?;
                return self.inserted(&into, composite, operands.get(2..)?, object).map(|c| (*c).clone());
            }
            Op::VectorShuffle => {
                let (a, b) = (self.operand(first)?, self.operand(*operands.get(1)?)?);
                let len = self.parts(self.code.type_of(first)?)?;
                let part = |&n: &u32| match n {
                    u32::MAX => Some(Rc::new(Constant::Undef)),
                    n if n < len => a.part(n),
                    n => b.part(n - len),
                };
                return operands.get(2..)?.iter().map(part).collect::<Option<_>>().map(Constant::Composite);
            }
            Op::Select => {
                let bool_type = self.code.type_of(first)?;
                if self.parts(bool_type).is_none() {
                    let choice = if self.constant_bits(first)? != 0 { 1 } else { 2 };
                    return self.operand(*operands.get(choice)?).map(|c| (*c).clone());
                }
            }
            _ => {}
        }
        let all: Vec<Rc<Constant>> = operands.iter().map(|&id| self.operand(id)).collect::<Option<_>>()?;
        let source = self.code.type_of(first)?;
        match self.ty(ty)? {
            Type::Vector { part, len } => {
                let part = *part;
                let source = self.part(source, 0)?;
                let lane = |n: u32| {
                    let lanes: Vec<u64> = all.iter().map(|c| c.part(n)?.bits()).collect::<Option<_>>()?;
                    self.scalar_op(part, source, op, &lanes).map(|bits| Rc::new(Constant::Bits(bits)))
                };
                (0..u32::from(*len)).map(lane).collect::<Option<_>>().map(Constant::Composite)
            }
            _ => {
                let bits: Vec<u64> = all.iter().map(|c| c.bits()).collect::<Option<_>>()?;
                self.scalar_op(ty, source, op, &bits).map(Constant::Bits)
            }
        }
    }

    fn inserted(&self, into: &Constant, ty: u32, path: &[u32], object: Rc<Constant>) -> Option<Rc<Constant>> {
        let Some((&n, rest)) = path.split_first() else { return Some(object) };
        /// Parts of a composite that is taken apart.
        const MOST: u32 = 1 << 16;
        let count = self.parts(ty).filter(|&count| count <= MOST && n < count)?;
        let mut parts: Vec<Rc<Constant>> = (0..count).map(|n| into.part(n)).collect::<Option<_>>()?;
        parts[n as usize] = self.inserted(&parts[n as usize].clone(), self.part(ty, n)?, rest, object)?;
        Some(Rc::new(Constant::Composite(parts)))
    }

    fn width(&self, ty: u32) -> Option<u8> {
        match *self.ty(ty)? {
            Type::Bool => Some(1),
            Type::Int { bits, .. } | Type::Float { bits } => Some(bits),
            _ => None,
        }
    }

    fn scalar_op(&self, ty: u32, source: u32, op: Op, x: &[u64]) -> Option<u64> {
        let (bits, from) = (self.width(ty)?, self.width(source)?);
        let a = *x.first()?;
        let b = x.get(1).copied().unwrap_or(0);
        let (sa, sb) = (signed(a, from), signed(b, from));
        let shift = |f: &dyn Fn(u32) -> u64| if b >= bits.into() { 0 } else { f(b as u32) };
        let r = match op {
            Op::SConvert => sa as u64,
            Op::UConvert | Op::Bitcast => a,
            Op::FConvert => float_bits(float(a, from), bits),
            Op::QuantizeToF16 => {
                let x = half::f16::from_f32(f32::from_bits(a as u32));
                let x = if x.to_f32().abs() < half::f16::MIN_POSITIVE.to_f32() {
                    half::f16::from_bits(x.to_bits() & 0x8000)
                } else {
                    x
                };
                x.to_f32().to_bits().into()
            }
            Op::ConvertFToS => {
                (float(a, from) as i64).clamp(-(1i64 << (bits - 1)), ((1u64 << (bits - 1)) - 1) as i64) as u64
            }
            Op::ConvertFToU => (float(a, from) as u64).min(low(u64::MAX, bits)),
            Op::ConvertSToF => float_bits(sa as f64, bits),
            Op::ConvertUToF => float_bits(a as f64, bits),
            Op::SNegate => a.wrapping_neg(),
            Op::Not => !a,
            Op::IAdd => a.wrapping_add(b),
            Op::ISub => a.wrapping_sub(b),
            Op::IMul => a.wrapping_mul(b),
            Op::UDiv => a.checked_div(b).unwrap_or(0),
            Op::UMod => a.checked_rem(b).unwrap_or(0),
            Op::SDiv => sa.checked_div(sb).unwrap_or(0) as u64,
            Op::SRem => sa.checked_rem(sb).unwrap_or(0) as u64,
            Op::SMod => {
                let rest = sa.checked_rem(sb).unwrap_or(0);
                (if rest != 0 && (rest < 0) != (sb < 0) { rest + sb } else { rest }) as u64
            }
            Op::ShiftLeftLogical => shift(&|n| a << n),
            Op::ShiftRightLogical => shift(&|n| a >> n),
            Op::ShiftRightArithmetic => shift(&|n| (sa >> n) as u64),
            Op::BitwiseAnd | Op::LogicalAnd => a & b,
            Op::BitwiseOr | Op::LogicalOr => a | b,
            Op::BitwiseXor => a ^ b,
            Op::LogicalNot => u64::from(a == 0),
            Op::LogicalEqual | Op::IEqual => u64::from(a == b),
            Op::LogicalNotEqual | Op::INotEqual => u64::from(a != b),
            Op::ULessThan => u64::from(a < b),
            Op::ULessThanEqual => u64::from(a <= b),
            Op::UGreaterThan => u64::from(a > b),
            Op::UGreaterThanEqual => u64::from(a >= b),
            Op::SLessThan => u64::from(sa < sb),
            Op::SLessThanEqual => u64::from(sa <= sb),
            Op::SGreaterThan => u64::from(sa > sb),
            Op::SGreaterThanEqual => u64::from(sa >= sb),
            Op::Select => {
                if a != 0 {
                    b
                } else {
                    x.get(2).copied()?
                }
            }
            _ => return self.float_op(ty, op, from, a, b),
        };
        Some(low(r, bits))
    }

    /// What kernels may compute of floats beforehand.
    fn float_op(&self, ty: u32, op: Op, from: u8, a: u64, b: u64) -> Option<u64> {
        let bits = self.width(ty)?;
        let (x, y) = (float(a, from), float(b, from));
        let r = match op {
            Op::FNegate => return Some(low(a ^ 1 << (from - 1), bits)),
            Op::FAdd => x + y,
            Op::FSub => x - y,
            Op::FMul => x * y,
            Op::FDiv => x / y,
            Op::FRem => x % y,
            Op::FMod => x - y * (x / y).floor(),
            Op::FOrdEqual => return Some(u64::from(x == y)),
            Op::FUnordNotEqual => return Some(u64::from(x != y)),
            Op::FOrdLessThan => return Some(u64::from(x < y)),
            Op::FOrdGreaterThan => return Some(u64::from(x > y)),
            Op::FOrdLessThanEqual => return Some(u64::from(x <= y)),
            Op::FOrdGreaterThanEqual => return Some(u64::from(x >= y)),
            _ => return None,
        };
        Some(float_bits(r, bits))
    }
}
