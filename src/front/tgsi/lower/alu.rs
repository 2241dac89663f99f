//! Arithmetic: 32-bit floats and integers, comparisons, conversions, and 64-bit types by [`wide`](super::wide).

use super::{Body, Parsed};
use crate::front::common::convert::{convert, integral, lowest_one};
use crate::front::tgsi::ast::*;
use crate::ir::{self, Aux, Cond, Inst as IrInst, Op, Rnd, Type, ValueId};

type Operands = ir::List<ir::Src, 4>;

/// Opcodes that are one IR operation on 32-bit operands.
fn simple(op: Opcode) -> Option<(Op, Type)> {
    use Opcode::*;
    Some(match op {
        ADD => (Op::Add, Type::F32),
        MUL => (Op::Mul, Type::F32),
        MAD | FMA => (Op::Mad, Type::F32),
        MIN => (Op::Min, Type::F32),
        MAX => (Op::Max, Type::F32),
        ABS => (Op::Abs, Type::F32),
        LDEXP => (Op::Ldexp, Type::F32),
        RCP => (Op::Rcp, Type::F32),
        RSQ => (Op::Rsq, Type::F32),
        SQRT => (Op::Sqrt, Type::F32),
        EX2 => (Op::Ex2, Type::F32),
        LG2 => (Op::Lg2, Type::F32),
        SIN => (Op::Sin, Type::F32),
        COS => (Op::Cos, Type::F32),
        UADD => (Op::Add, Type::U32),
        UMUL => (Op::Mul, Type::U32),
        UMAD => (Op::Mad, Type::U32),
        UDIV => (Op::Div, Type::U32),
        UMOD => (Op::Mod, Type::U32),
        IDIV => (Op::Div, Type::S32),
        MOD => (Op::Mod, Type::S32),
        IMUL_HI => (Op::MulHi, Type::S32),
        UMUL_HI => (Op::MulHi, Type::U32),
        UMAX => (Op::Max, Type::U32),
        UMIN => (Op::Min, Type::U32),
        IMAX => (Op::Max, Type::S32),
        IMIN => (Op::Min, Type::S32),
        INEG => (Op::Neg, Type::S32),
        IABS => (Op::Abs, Type::S32),
        NOT => (Op::Not, Type::U32),
        AND => (Op::And, Type::U32),
        OR => (Op::Or, Type::U32),
        XOR => (Op::Xor, Type::U32),
        SHL => (Op::Shl, Type::U32),
        USHR => (Op::Shr, Type::U32),
        ISHR => (Op::Shr, Type::S32),
        BREV => (Op::Brev, Type::U32),
        POPC => (Op::Popc, Type::U32),
        IMSB => (Op::Flo, Type::S32),
        UMSB => (Op::Flo, Type::U32),
        _ => return None,
    })
}

/// Comparisons: the type of the result, the condition, the type of the operands.
fn comparison(op: Opcode) -> Option<(Type, Cond, Type)> {
    use Opcode::*;
    use Type::{F32, F64, S32, S64, U32, U64};
    Some(match op {
        SLT => (F32, Cond::Lt, F32),
        SGE => (F32, Cond::Ge, F32),
        SEQ => (F32, Cond::Eq, F32),
        SNE => (F32, Cond::Neu, F32),
        SGT => (F32, Cond::Gt, F32),
        SLE => (F32, Cond::Le, F32),
        FSLT => (U32, Cond::Lt, F32),
        FSGE => (U32, Cond::Ge, F32),
        FSEQ => (U32, Cond::Eq, F32),
        FSNE => (U32, Cond::Neu, F32),
        USEQ => (U32, Cond::Eq, U32),
        USNE => (U32, Cond::Ne, U32),
        USLT => (U32, Cond::Lt, U32),
        USGE => (U32, Cond::Ge, U32),
        ISLT => (U32, Cond::Lt, S32),
        ISGE => (U32, Cond::Ge, S32),
        DSLT => (U32, Cond::Lt, F64),
        DSGE => (U32, Cond::Ge, F64),
        DSEQ => (U32, Cond::Eq, F64),
        DSNE => (U32, Cond::Neu, F64),
        U64SEQ => (U32, Cond::Eq, U64),
        U64SNE => (U32, Cond::Ne, U64),
        U64SLT => (U32, Cond::Lt, U64),
        U64SGE => (U32, Cond::Ge, U64),
        I64SLT => (U32, Cond::Lt, S64),
        I64SGE => (U32, Cond::Ge, S64),
        _ => return None,
    })
}

/// Conversions: to, from, rounding.
fn conversion(op: Opcode) -> Option<(Type, Type, Rnd)> {
    use Opcode::*;
    use Type::{F32, F64, S32, S64, U32, U64};
    Some(match op {
        ARL => (S32, F32, Rnd::Down),
        ARR => (S32, F32, Rnd::Near),
        I2F => (F32, S32, Rnd::Near),
        U2F => (F32, U32, Rnd::Near),
        F2I => (S32, F32, Rnd::Zero),
        F2U => (U32, F32, Rnd::Zero),
        F2D => (F64, F32, Rnd::Near),
        I2D => (F64, S32, Rnd::Near),
        U2D => (F64, U32, Rnd::Near),
        D2F => (F32, F64, Rnd::Near),
        D2I => (S32, F64, Rnd::Zero),
        D2U => (U32, F64, Rnd::Zero),
        F2I64 => (S64, F32, Rnd::Zero),
        F2U64 => (U64, F32, Rnd::Zero),
        I2I64 => (S64, S32, Rnd::Near),
        U2I64 => (U64, U32, Rnd::Near),
        D2I64 => (S64, F64, Rnd::Zero),
        D2U64 => (U64, F64, Rnd::Zero),
        I642F => (F32, S64, Rnd::Near),
        U642F => (F32, U64, Rnd::Near),
        I642D => (F64, S64, Rnd::Near),
        U642D => (F64, U64, Rnd::Near),
        _ => return None,
    })
}

impl Body<'_> {
    pub(super) fn alu(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        if inst.op == Opcode::DFRACEXP {
            return self.dfracexp(inst);
        }
        let info = inst.op.info();
        let dst = &inst.dsts[0];
        // All operands are read before the first result is written.
        let mut results: [Option<ValueId>; 4] = [None; 4];
        match info.shape {
            Shape::Scalar => {
                let v = self.component(inst, 0)?[0];
                dst.comps().for_each(|c| results[c] = Some(v));
            }
            Shape::Dot(n) => {
                let v = self.dot(inst, n.into())?;
                dst.comps().for_each(|c| results[c] = Some(v));
            }
            Shape::Vec => {
                for c in dst.comps() {
                    results[c] = Some(self.vector(inst, c)?);
                }
            }
            _ if info.dsts[0].is_64() => {
                for pair in (0..2).filter(|p| dst.mask >> (2 * p) & 3 != 0) {
                    let v = self.component(inst, pair)?;
                    (results[2 * pair], results[2 * pair + 1]) = (Some(v[0]), Some(v[1]));
                }
            }
            _ if info.srcs[0].is_64() => {
                // A comparison's result goes to the component that its pair begins at; conversions fill the written
                // components in order.
                let compares = info.srcs.len() > 1;
                for (n, c) in dst.comps().enumerate() {
                    let pair = if compares { c / 2 } else { n };
                    if pair < 2 {
                        results[c] = Some(self.component(inst, pair)?[0]);
                    }
                }
            }
            _ => {
                for c in dst.comps() {
                    results[c] = Some(self.component(inst, c)?[0]);
                }
            }
        }
        let clamp = inst.saturate && matches!(info.dsts[0], Ty::F32 | Ty::Any) && !saturates(inst.op);
        for c in dst.comps() {
            if let Some(v) = results[c] {
                let v = if clamp { self.saturate(v) } else { v };
                self.write(&dst.reg, c, v)?;
            }
        }
        Ok(())
    }

    /// Appends the operands of unit `n`: a component, or a pair where the operation is 64 bits wide.
    #[inline(always)]
    fn operands(&mut self, inst: &Inst<'_>, n: usize, all: &mut Operands) -> Parsed<()> {
        let types = inst.op.info().srcs;
        // Shift amounts and exponents stand in the first component of their pair.
        let narrow = if types[0].is_64() { 2 * n } else { n };
        for (src, &ty) in inst.srcs.iter().zip(types) {
            let s = if ty.is_64() { self.operand64(src, n, ty)? } else { self.operand(src, narrow, ty)? };
            all.push(s);
        }
        Ok(())
    }

    /// The result of unit `n`: low and high word where it is 64 bits wide, else one value twice.
    fn component(&mut self, inst: &Inst<'_>, n: usize) -> Parsed<[ValueId; 2]> {
        let exact = inst.precise;
        if let Some((op, ty)) = simple(inst.op).or_else(|| Self::simple64(inst.op)) {
            let mut i = IrInst::new(op, ty);
            self.operands(inst, n, &mut i.srcs)?;
            i.exact = exact;
            i.sat = inst.saturate && saturates(inst.op);
            if matches!(op, Op::Shl | Op::Shr) {
                i.aux = Aux::Wrap;
            }
            return Ok(if ty.words() == 2 { self.pair(i) } else { [self.b().value(i); 2] });
        }
        let mut s = Operands::new();
        self.operands(inst, n, &mut s)?;
        if let Some((ty, cond, sty)) = comparison(inst.op) {
            return Ok([self.b().set(ty, cond, sty, s[0], s[1]); 2]);
        }
        if let Some((ty, sty, rnd)) = conversion(inst.op) {
            let i = convert(ty, sty, rnd, s[0]);
            return Ok(if ty.words() == 2 { self.pair(i) } else { [self.b().value(i); 2] });
        }
        use Opcode::*;
        let one = match inst.op {
            DFRAC => {
                let floor = self.round64(s[0], Rnd::Down);
                let floor = ir::Src::from(floor).neg();
                return Ok(self.pair(IrInst::new(Op::Add, Type::F64).src(s[0]).src(floor)));
            }
            DTRUNC => return Ok(self.round64(s[0], Rnd::Zero)),
            DCEIL => return Ok(self.round64(s[0], Rnd::Up)),
            DFLR => return Ok(self.round64(s[0], Rnd::Down)),
            DROUND => return Ok(self.round64(s[0], Rnd::Near)),
            DSSG => return Ok(self.sign64(s[0])),
            I64SSG => return Ok(self.sign_i64(s[0])),
            MOV | UARL => self.value(s[0]),
            DIV => {
                // GLSL asks for 2.5 units in the last place where the divisor's reciprocal is a normal number, and
                // for nothing beyond: the rounded reciprocal is good enough.
                let r = self.b().op1(Op::Rcp, Type::F32, s[1]);
                let mut i = IrInst::new(Op::Mul, Type::F32).src(s[0]).src(r);
                i.exact = exact;
                self.b().value(i)
            }
            SUB => {
                let mut i = IrInst::new(Op::Add, Type::F32).src(s[0]).src(s[1].neg());
                i.exact = exact;
                self.b().value(i)
            }
            LRP => {
                // a * (b - c) + c
                let mut i = IrInst::new(Op::Add, Type::F32).src(s[1]).src(s[2].neg());
                i.exact = exact;
                let d = self.b().value(i);
                self.b().op3(Op::Mad, Type::F32, s[0], d, s[2])
            }
            CLAMP => {
                let x = self.b().op2(Op::Max, Type::F32, s[0], s[1]);
                self.b().op2(Op::Min, Type::F32, x, s[2])
            }
            SSG => {
                let pos = self.b().set(Type::F32, Cond::Gt, Type::F32, s[0], 0u32);
                let neg = self.b().set(Type::F32, Cond::Lt, Type::F32, s[0], 0u32);
                self.b().add(Type::F32, pos, ir::Src::val(neg).neg())
            }
            FRC => {
                let floor = self.integral(s[0], Rnd::Down);
                self.b().add(Type::F32, s[0], ir::Src::val(floor).neg())
            }
            FLR => self.integral(s[0], Rnd::Down),
            CEIL => self.integral(s[0], Rnd::Up),
            ROUND => self.integral(s[0], Rnd::Near),
            TRUNC => self.integral(s[0], Rnd::Zero),
            POW => self.power(s[0], s[1]),
            CMP => {
                let less = self.b().setp(Cond::Lt, Type::F32, s[0], 0u32);
                self.b().sel(less, s[1], s[2])
            }
            UCMP => {
                let set = self.b().setp(Cond::Ne, Type::U32, s[0], 0u32);
                self.b().sel(set, s[1], s[2])
            }
            ISSG => {
                let x = self.b().op2(Op::Max, Type::S32, s[0], u32::MAX);
                self.b().op2(Op::Min, Type::S32, x, 1u32)
            }
            UBFE | IBFE => {
                let field = self.field(s[1], s[2]);
                self.b().op2(Op::Ext, if inst.op == IBFE { Type::S32 } else { Type::U32 }, s[0], field)
            }
            BFI => {
                let field = self.field(s[2], s[3]);
                self.b().op3(Op::Ins, Type::U32, s[1], field, s[0])
            }
            LSB => lowest_one(&mut self.b(), s[0]),
            _ => {
                return Err(self.no_lowering(inst, " in compute programs"));
            }
        };
        Ok([one; 2])
    }

    /// The integral float near a float.
    pub(super) fn integral(&mut self, s: ir::Src, rnd: Rnd) -> ValueId {
        self.b().value(integral(Type::F32, rnd, s))
    }

    /// `x` to the power `y`, for x >= 0. The logarithm of 0 (and of subnormals) is infinite, and times 0 it must be 0.
    pub(super) fn power(&mut self, x: ir::Src, y: ir::Src) -> ValueId {
        let log = self.b().op1(Op::Lg2, Type::F32, x);
        let product = self.b().op2(Op::MulZ, Type::F32, log, y);
        self.b().op1(Op::Ex2, Type::F32, product)
    }

    pub(super) fn dot(&mut self, inst: &Inst<'_>, n: usize) -> Parsed<ValueId> {
        let mut sum = None;
        for c in 0..n {
            let a = self.operand(&inst.srcs[0], c, Ty::F32)?;
            let b = self.operand(&inst.srcs[1], c, Ty::F32)?;
            sum = Some(match sum {
                None => self.b().mul(Type::F32, a, b),
                Some(sum) => self.b().op3(Op::Mad, Type::F32, a, b, sum),
            });
        }
        match sum {
            Some(v) => Ok(v),
            None => Ok(self.b().mov(0u32)),
        }
    }

    fn dfracexp(&mut self, inst: &Inst<'_>) -> Parsed<()> {
        let s = self.operand64(&inst.srcs[0], 0, Ty::F64)?;
        let (fraction, exponent) = self.frexp64(s);
        self.write_each(&inst.dsts[0], |c| Some(fraction[c & 1]))?;
        self.write_each(&inst.dsts[1], |_| Some(exponent))
    }
}

/// Whether the IR operation of an opcode saturates by itself.
fn saturates(op: Opcode) -> bool {
    matches!(op, Opcode::ADD | Opcode::MUL | Opcode::MAD | Opcode::FMA)
}
