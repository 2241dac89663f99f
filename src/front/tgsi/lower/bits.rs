//! Bit fields, packing, and the other vector opcodes that have a formula for each component.

use super::{Body, Parsed};
use crate::front::common::convert::{self, convert};
use crate::front::tgsi::ast::*;
use crate::ir::{self, Cond, Op, Rnd, Type, ValueId};

/// The largest value of a normalised field.
fn most(width: u32, signed: bool) -> f32 {
    (u32::MAX >> (32 - width + u32::from(signed))) as f32
}

impl Body<'_> {
    /// Position and length of a bit field, as `ext` and `ins` take them.
    pub(super) fn field(&mut self, position: ir::Src, length: ir::Src) -> ValueId {
        match (position.as_imm(), length.as_imm()) {
            (Some(p), Some(n)) => self.b().mov((p & 0xff) | ((n & 0xff) << 8)),
            _ => self.b().op3(Op::Ins, Type::U32, length, 0x0808u32, position),
        }
    }

    /// A float clamped to [0, 1], NaN to 0.
    pub(super) fn saturate(&mut self, s: impl Into<ir::Src>) -> ValueId {
        self.b().value(convert::saturate(s))
    }

    fn cvt(&mut self, ty: Type, sty: Type, s: impl Into<ir::Src>, rnd: Rnd) -> ValueId {
        self.b().value(convert(ty, sty, rnd, s))
    }

    /// `field` into the low end of `width` bits at `position` of `into`.
    fn insert(&mut self, field: ValueId, position: u32, width: u32, into: ValueId) -> ValueId {
        self.b().op3(Op::Ins, Type::U32, field, position | (width << 8), into)
    }

    /// Packs components 0 to `n` of a float vector into fields of `32 / n` bits.
    fn pack(&mut self, src: &Src, n: u32, signed: bool) -> Parsed<ValueId> {
        let width = 32 / n;
        let mut all = None;
        for c in 0..n {
            let x = self.operand(src, c as usize, Ty::F32)?;
            let field = convert::quantise(&mut self.b(), x, signed, most(width, signed));
            all = Some(match all {
                None => self.b().op2(Op::Ext, Type::U32, field, width << 8),
                Some(low) => self.insert(field, c * width, width, low),
            });
        }
        match all {
            Some(v) => Ok(v),
            None => Ok(self.b().mov(0u32)),
        }
    }

    /// Field `c` of a word of fields of `width` bits, as a normalised float.
    fn unpack(&mut self, word: ir::Src, c: u32, width: u32, signed: bool) -> ValueId {
        let position = (c * width) | (width << 8);
        let field = self.b().op2(Op::Ext, if signed { Type::S32 } else { Type::U32 }, word, position);
        convert::dequantise(&mut self.b(), field.into(), signed, most(width, signed))
    }

    /// The value of component `c` of a vector opcode's result.
    pub(super) fn vector(&mut self, inst: &Inst<'_>, c: usize) -> Parsed<ValueId> {
        use Opcode::*;
        let src = &inst.srcs[0];
        let f = Ty::F32;
        let one = ir::Src::f32(1.0);
        Ok(match (inst.op, c) {
            (PK2H, _) => {
                let (x, y) = (self.operand(src, 0, f)?, self.operand(src, 1, f)?);
                let lo = self.cvt(Type::F16, Type::F32, x, Rnd::Near);
                let hi = self.cvt(Type::F16, Type::F32, y, Rnd::Near);
                self.insert(hi, 16, 16, lo)
            }
            (PK2US, _) => self.pack(src, 2, false)?,
            (PK4B, _) => self.pack(src, 4, true)?,
            (PK4UB, _) => self.pack(src, 4, false)?,
            (UP2H, _) => {
                let x = self.operand(src, 0, Ty::U32)?;
                let x = self.value(x);
                self.b().value(convert::half_to_float(x, c as u8 & 1))
            }
            (UP2US | UP4B | UP4UB, _) => {
                let x = self.operand(src, 0, Ty::U32)?;
                let width = if inst.op == UP2US { 16 } else { 8 };
                self.unpack(x, c as u32 % (32 / width), width, inst.op == UP4B)
            }
            (DST, 0) | (LIT | EXP | LOG, 3) | (LIT, 0) | (SCS | XPD, 3) => self.b().mov(one),
            (DST, 1) => {
                let (x, y) = (self.operand(src, 1, f)?, self.operand(&inst.srcs[1], 1, f)?);
                self.b().mul(Type::F32, x, y)
            }
            (DST, 2) => {
                let x = self.operand(src, 2, Ty::Any)?;
                self.value(x)
            }
            (DST, _) => {
                let x = self.operand(&inst.srcs[1], 3, Ty::Any)?;
                self.value(x)
            }
            (LIT, 1) => {
                let x = self.operand(src, 0, f)?;
                self.b().op2(Op::Max, Type::F32, x, 0u32)
            }
            (LIT, _) => {
                let (x, y) = (self.operand(src, 0, f)?, self.operand(src, 1, f)?);
                let w = self.operand(src, 3, f)?;
                let y = self.b().op2(Op::Max, Type::F32, y, 0u32);
                let w = self.b().op2(Op::Max, Type::F32, w, ir::Src::f32(-128.0));
                let w = self.b().op2(Op::Min, Type::F32, w, ir::Src::f32(128.0));
                let power = self.power(y.into(), w.into());
                let lit = self.b().setp(Cond::Gt, Type::F32, x, 0u32);
                self.b().sel(lit, power, 0u32)
            }
            (EXP, 0) => {
                let floor = self.floor(src)?;
                self.b().op1(Op::Ex2, Type::F32, floor)
            }
            (EXP, 1) => {
                let x = self.operand(src, 0, f)?;
                let floor = self.floor(src)?;
                self.b().add(Type::F32, x, ir::Src::val(floor).neg())
            }
            (EXP, _) => {
                let x = self.operand(src, 0, f)?;
                self.b().op1(Op::Ex2, Type::F32, x)
            }
            (LOG, _) => {
                let x = self.operand(src, 0, f)?.abs();
                let log = self.b().op1(Op::Lg2, Type::F32, x);
                if c == 2 {
                    return Ok(log);
                }
                let floor = self.integral(log.into(), Rnd::Down);
                if c == 0 {
                    return Ok(floor);
                }
                let scale = self.b().op1(Op::Ex2, Type::F32, ir::Src::val(floor).neg());
                self.b().mul(Type::F32, x, scale)
            }
            (SCS, 2) => self.b().mov(0u32),
            (SCS, _) => {
                let x = self.operand(src, 0, f)?;
                self.b().op1(if c == 0 { Op::Cos } else { Op::Sin }, Type::F32, x)
            }
            (XPD, _) => {
                let (i, j) = ((c + 1) % 3, (c + 2) % 3);
                let (a, b) = (self.operand(src, j, f)?, self.operand(&inst.srcs[1], i, f)?);
                let minor = self.b().mul(Type::F32, a, b);
                let (a, b) = (self.operand(src, i, f)?, self.operand(&inst.srcs[1], j, f)?);
                self.b().op3(Op::Mad, Type::F32, a, b, ir::Src::val(minor).neg())
            }
            (DP2A, _) => {
                let dot = self.dot(inst, 2)?;
                let z = self.operand(&inst.srcs[2], 0, f)?;
                self.b().add(Type::F32, dot, z)
            }
            (DPH, _) => {
                let dot = self.dot(inst, 3)?;
                let w = self.operand(&inst.srcs[1], 3, f)?;
                self.b().add(Type::F32, dot, w)
            }
            _ => {
                return Err(self.no_lowering(inst, " in compute programs"));
            }
        })
    }

    fn floor(&mut self, src: &Src) -> Parsed<ValueId> {
        let x = self.operand(src, 0, Ty::F32)?;
        Ok(self.integral(x, Rnd::Down))
    }
}
