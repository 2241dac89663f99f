//! 64-bit integers and doubles: what is more than one IR operation.

use super::Body;
use crate::front::common::convert::integral;
use crate::front::tgsi::ast::Opcode;
use crate::ir::{Cond, Inst, Op, Rnd, Src, Type, ValueId};

/// Low word, high word.
type Pair = [ValueId; 2];

impl Body<'_> {
    pub(super) fn pair(&mut self, inst: Inst) -> Pair {
        self.b().pair(inst)
    }

    /// An integral double near a double.
    pub(super) fn round64(&mut self, s: Src, rnd: Rnd) -> Pair {
        self.pair(integral(Type::F64, rnd, s))
    }

    /// The sign of a double as -1.0, 0.0 or 1.0.
    pub(super) fn sign64(&mut self, s: Src) -> Pair {
        let pos = self.b().setp(Cond::Gt, Type::F64, s, Src::f64(0.0));
        let neg = self.b().setp(Cond::Lt, Type::F64, s, Src::f64(0.0));
        let high = |x: f64| (x.to_bits() >> 32) as u32;
        let hi = self.b().sel(neg, high(-1.0), 0u32);
        let hi = self.b().sel(pos, high(1.0), hi);
        let lo = self.b().mov(0u32);
        [lo, hi]
    }

    /// The sign of a 64-bit integer as -1, 0 or 1.
    pub(super) fn sign_i64(&mut self, s: Src) -> Pair {
        let [lo, hi] = self.words(s);
        let sign = self.b().op2(Op::Shr, Type::S32, hi, 31u32);
        let any = self.b().op2(Op::Or, Type::U32, lo, hi);
        let nonzero = self.b().setp(Cond::Ne, Type::U32, any, 0u32);
        let one = self.b().sel(nonzero, 1u32, 0u32);
        let lo = self.b().op2(Op::Or, Type::U32, one, sign);
        [lo, sign]
    }

    /// The two words of a 64-bit operand without modifiers.
    fn words(&mut self, s: Src) -> [ValueId; 2] {
        match *s.values() {
            [lo, hi] => [lo, hi],
            _ => {
                let x = s.as_imm64().unwrap_or(0);
                [self.b().mov(x as u32), self.b().mov((x >> 32) as u32)]
            }
        }
    }

    /// DFRACEXP: the significand in [0.5, 1) and the exponent of 2. Zeros, infinities and NaNs come back with
    /// exponent 0.
    pub(super) fn frexp64(&mut self, s: Src) -> (Pair, ValueId) {
        const EXPONENT: u32 = 0x7ff;
        const HALF: u32 = 0x3fe0_0000;
        // Copies make modifiers part of the value.
        let mut one = Inst::new(Op::Mul, Type::F64).src(s).src(Src::f64(1.0));
        one.exact = true;
        let x = if s.mods == Default::default() { s } else { self.pair(one).into() };
        let [lo, hi] = self.words(x);
        let exponent = |me: &mut Self, hi: ValueId| me.b().op2(Op::Ext, Type::U32, hi, 20u32 | 11 << 8);
        let e = exponent(self, hi);
        // Denormals are scaled to be normal first.
        let scaled = self.pair(Inst::new(Op::Mul, Type::F64).src([lo, hi]).src(Src::f64(2f64.powi(54))));
        let small = self.b().setp(Cond::Eq, Type::U32, e, 0u32);
        let nlo = self.b().sel(small, scaled[0], lo);
        let nhi = self.b().sel(small, scaled[1], hi);
        let bias = self.b().sel(small, 1022u32 + 54, 1022u32);
        let e = exponent(self, nhi);
        let power = self.b().op2(Op::Sub, Type::U32, e, bias);
        let frac = self.b().op2(Op::And, Type::U32, nhi, !(EXPONENT << 20));
        let frac = self.b().op2(Op::Or, Type::U32, frac, HALF);
        let special = self.b().setp(Cond::Eq, Type::U32, e, EXPONENT);
        let zero = self.b().setp(Cond::Eq, Type::U32, e, 0u32);
        let same = self.b().op2(Op::Or, Type::Pred, special, zero);
        let rlo = self.b().sel(same, lo, nlo);
        let rhi = self.b().sel(same, hi, frac);
        let rexp = self.b().sel(same, 0u32, power);
        ([rlo, rhi], rexp)
    }

    /// An opcode of the 64-bit types that is one IR operation, or else what it is.
    pub(super) fn simple64(op: Opcode) -> Option<(Op, Type)> {
        use Opcode::*;
        Some(match op {
            DADD => (Op::Add, Type::F64),
            DMUL => (Op::Mul, Type::F64),
            DDIV => (Op::Div, Type::F64),
            DMAD | DFMA => (Op::Mad, Type::F64),
            DMIN => (Op::Min, Type::F64),
            DMAX => (Op::Max, Type::F64),
            DABS => (Op::Abs, Type::F64),
            DNEG => (Op::Neg, Type::F64),
            DRCP => (Op::Rcp, Type::F64),
            DSQRT => (Op::Sqrt, Type::F64),
            DRSQ => (Op::Rsq, Type::F64),
            DLDEXP => (Op::Ldexp, Type::F64),
            U64ADD => (Op::Add, Type::U64),
            U64MUL => (Op::Mul, Type::U64),
            U64DIV => (Op::Div, Type::U64),
            U64MOD => (Op::Mod, Type::U64),
            I64DIV => (Op::Div, Type::S64),
            I64MOD => (Op::Mod, Type::S64),
            I64ABS => (Op::Abs, Type::S64),
            I64NEG => (Op::Neg, Type::S64),
            I64MIN => (Op::Min, Type::S64),
            I64MAX => (Op::Max, Type::S64),
            U64MIN => (Op::Min, Type::U64),
            U64MAX => (Op::Max, Type::U64),
            U64SHL => (Op::Shl, Type::U64),
            U64SHR => (Op::Shr, Type::U64),
            I64SHR => (Op::Shr, Type::S64),
            _ => return None,
        })
    }
}
