//! Rules for 32-bit integers, a function a family of operations.

use super::*;

/// An integer operation to simplify.
#[derive(Clone, Copy)]
struct Integer<'a> {
    f: &'a Function,
    uses: &'a LazyUses,
    inst: &'a Inst,
}

/// What an integer operation is instead, if that is simpler.
pub(super) fn simplify(f: &Function, uses: &LazyUses, inst: &Inst) -> Option<Inst> {
    let i = Integer { f, uses, inst };
    let s = &inst.srcs;
    match inst.op {
        _ if inst.sat => None,
        Op::Add | Op::Sub | Op::Neg | Op::Abs => i.sum(),
        Op::Mul | Op::MulHi | Op::Mad | Op::ShlAdd => i.product(),
        Op::And | Op::Or | Op::Xor | Op::Not => i.logic(),
        Op::Shl | Op::Shr => i.shift(),
        Op::Ext => i.field(),
        Op::Min | Op::Max if i.same() => copy(inst, s[0]),
        Op::Sel if s[0] == s[1] => copy(inst, s[0]),
        Op::Popc if s.len() == 2 && i.imm(1) == Some(u32::MAX) => Some(with(inst, Op::Popc, &[s[0]])),
        _ => None,
    }
}

impl<'a> Integer<'a> {
    fn imm(&self, n: usize) -> Option<u32> {
        self.inst.srcs.get(n).and_then(Src::as_imm)
    }

    fn plain(&self, n: usize) -> bool {
        self.inst.srcs.get(n).is_some_and(|s| s.is_plain_val())
    }

    /// Whether both operands are the same value.
    fn same(&self) -> bool {
        let s = &self.inst.srcs;
        s.len() == 2 && self.plain(0) && s[0] == s[1]
    }

    /// The integer operation that computes operand 0, if it is one of these.
    fn def(&self, ops: &[Op]) -> Option<&'a Inst> {
        let s = self.inst.srcs.first().filter(|s| s.is_plain_val())?;
        scalar_def_by(self.f, s, ops).filter(|d| !d.sat && is_int(d.ty))
    }

    /// [`Integer::def`] by one operation.
    fn def_by(&self, op: Op) -> Option<&'a Inst> {
        self.def(&[op])
    }

    /// Sums, differences, negation and absolute values.
    fn sum(&self) -> Option<Inst> {
        let Integer { f, inst, .. } = *self;
        let s = &inst.srcs;
        match inst.op {
            Op::Add if s.len() == 2 => match self.imm(1) {
                Some(0) => copy(inst, s[0]),
                Some(x) => {
                    let d = self.def_by(Op::Add).filter(|d| d.srcs.len() == 2)?;
                    let y = d.srcs[1].as_imm()?;
                    Some(with(inst, Op::Add, &[d.srcs[0], Src::imm(x.wrapping_add(y))]))
                }
                None => {
                    // a + -(a2) and the like; a negated constant operand was folded already.
                    let neg = |n: usize| {
                        scalar_def_by(f, &s[n], &[Op::Neg]).filter(|d| is_int(d.ty) && self.plain(n))
                    };
                    if let Some(d) = neg(1).filter(|d| d.srcs[0].is_plain_val()) {
                        return Some(with(inst, Op::Sub, &[s[0], d.srcs[0]]));
                    }
                    let d = neg(0).filter(|d| d.srcs[0].is_plain_val() && s[1].is_plain_val())?;
                    Some(with(inst, Op::Sub, &[s[1], d.srcs[0]]))
                }
            },
            Op::Sub if s.len() == 2 => {
                if self.same() {
                    return mov_imm(inst, 0);
                }
                match self.imm(1) {
                    Some(x) if s[0].mods == SrcMods::default() => {
                        Some(with(inst, Op::Add, &[s[0], Src::imm(x.wrapping_neg())]))
                    }
                    _ if self.imm(0) == Some(0) && self.plain(1) => Some(with(inst, Op::Neg, &[s[1]])),
                    _ => None,
                }
            }
            Op::Neg => {
                let d = self.def(&[Op::Neg, Op::Sel, Op::And, Op::Ext, Op::Shr])?;
                let number = |n: usize| d.srcs[n].as_imm();
                let base = d.srcs[0].as_val().filter(|_| d.srcs[0].is_plain_val());
                let signed = |op: Op, by: u32| {
                    let mut new = with(inst, op, &[base?.into(), Src::imm(by)]);
                    (new.ty, new.sty) = (Type::S32, Type::S32);
                    Some(new)
                };
                match d.op {
                    Op::Neg => copy(inst, d.srcs[0]),
                    Op::Sel => {
                        let [then, els] = [number(0)?, number(1)?].map(|x| Src::imm(x.wrapping_neg()));
                        Some(with(inst, Op::Sel, &[then, els, d.srcs[2]]))
                    }
                    // The number that a mask was made is made a mask again.
                    Op::And if number(1)? == 1 && is_mask(f, None, base?, 4) => copy(inst, d.srcs[0]),
                    // A bit becomes a mask.
                    Op::And if number(1)? == 1 => signed(Op::Ext, 1 << 8),
                    Op::Ext if d.ty == Type::U32 && number(1)? & !31 == 1 << 8 => signed(Op::Ext, number(1)?),
                    Op::Shr if d.ty == Type::U32 && number(1)? == 31 => signed(Op::Shr, 31),
                    _ => None,
                }
            }
            Op::Abs => {
                let d = self.def(&[Op::Abs, Op::Neg])?;
                match d.op {
                    Op::Abs => copy(inst, s[0]),
                    Op::Neg => Some(with(inst, Op::Abs, &[d.srcs[0]])),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Products, with what is added to them.
    fn product(&self) -> Option<Inst> {
        let Integer { inst, .. } = *self;
        let s = &inst.srcs;
        match inst.op {
            Op::Mul => match self.imm(1)? {
                0 => mov_imm(inst, 0),
                1 => copy(inst, s[0]),
                u32::MAX if self.plain(0) => Some(with(inst, Op::Neg, &[s[0]])),
                x if x.is_power_of_two() && self.plain(0) => {
                    Some(with(inst, Op::Shl, &[s[0], Src::imm(x.trailing_zeros())]))
                }
                x => {
                    let d = self.def(&[Op::Mul, Op::Shl])?;
                    match (d.op, d.srcs.get(1).and_then(Src::as_imm)) {
                        (Op::Mul, Some(y)) => {
                            Some(with(inst, Op::Mul, &[d.srcs[0], Src::imm(x.wrapping_mul(y))]))
                        }
                        (Op::Shl, Some(y)) if y < 32 && d.srcs[0].is_plain_val() => {
                            Some(with(inst, Op::Mul, &[d.srcs[0], Src::imm(x << y)]))
                        }
                        _ => None,
                    }
                }
            },
            Op::MulHi if self.imm(1) == Some(0) => mov_imm(inst, 0),
            Op::Mad if s.len() == 3 => match (self.imm(1), self.imm(2)) {
                (Some(0), _) => copy(inst, s[2]),
                (Some(1), _) => Some(with(inst, Op::Add, &[s[0], s[2]])),
                (Some(x), _) if self.imm(0).is_some() => {
                    let product = x.wrapping_mul(self.imm(0)?);
                    Some(with(inst, Op::Add, &[s[2], Src::imm(product)]))
                }
                (_, Some(0)) => {
                    Some(with(inst, Op::Mul, &[s[0], s[1]])).filter(|_| !s[0].mods.neg && !s[1].mods.neg)
                }
                (Some(x), None) if x.is_power_of_two() && self.plain(0) && self.plain(2) => {
                    Some(with(inst, Op::ShlAdd, &[s[0], Src::imm(x.trailing_zeros()), s[2]]))
                }
                _ => None,
            },
            Op::ShlAdd if self.imm(1) == Some(0) => Some(with(inst, Op::Add, &[s[0], s[2]])),
            Op::ShlAdd if self.imm(2) == Some(0) && self.plain(0) => Some(with(inst, Op::Shl, &[s[0], s[1]])),
            _ => None,
        }
    }

    /// Bitwise logic.
    fn logic(&self) -> Option<Inst> {
        let Integer { f, uses, inst } = *self;
        let s = &inst.srcs;
        match inst.op {
            Op::Not => {
                let d = self.def_by(Op::Not)?;
                copy(inst, d.srcs[0])
            }
            Op::And => match self.imm(1) {
                _ if self.same() => copy(inst, s[0]),
                Some(0) => mov_imm(inst, 0),
                Some(u32::MAX) => copy(inst, s[0]),
                Some(x) => {
                    let d = self.def(&[Op::And, Op::Shr, Op::Set])?;
                    let by = |d: &Inst| d.srcs.get(1).and_then(Src::as_imm);
                    match d.op {
                        Op::And => Some(with(inst, Op::And, &[d.srcs[0], Src::imm(x & by(d)?)])),
                        // A field of low bits: one instruction where the shift has no other reader.
                        Op::Shr if (x + 1).is_power_of_two() && uses.count(f, s[0].as_val()?) == 1 => {
                            let (pos, len) = (by(d).filter(|&n| n < 32)?, x.trailing_ones());
                            if pos + len > 32 && d.ty == Type::S32 || !d.srcs[0].is_plain_val() {
                                return None;
                            }
                            let mut new = with(inst, Op::Ext, &[d.srcs[0], Src::imm(pos | len << 8)]);
                            (new.ty, new.sty) = (Type::U32, Type::U32);
                            Some(new)
                        }
                        // The mask of a comparison and the number one, of either kind.
                        Op::Set if d.ty != Type::F32 && x == 1f32.to_bits() && uses.may_move(f, d) => {
                            let mut new = d.clone();
                            new.ty = Type::F32;
                            new.dsts = inst.dsts;
                            Some(new)
                        }
                        _ => None,
                    }
                }
                None => None,
            },
            Op::Or => match self.imm(1) {
                _ if self.same() => copy(inst, s[0]),
                Some(0) => copy(inst, s[0]),
                Some(u32::MAX) => mov_imm(inst, u32::MAX),
                Some(x) => {
                    let d = self.def_by(Op::Or)?;
                    Some(with(inst, Op::Or, &[d.srcs[0], Src::imm(x | d.srcs[1].as_imm()?)]))
                }
                None => None,
            },
            Op::Xor => match self.imm(1) {
                _ if self.same() => mov_imm(inst, 0),
                Some(0) => copy(inst, s[0]),
                Some(u32::MAX) if self.plain(0) => Some(with(inst, Op::Not, &[s[0]])),
                Some(x) => {
                    let d = self.def_by(Op::Xor)?;
                    Some(with(inst, Op::Xor, &[d.srcs[0], Src::imm(x ^ d.srcs[1].as_imm()?)]))
                }
                None => None,
            },
            _ => None,
        }
    }

    /// A field of a field, and of what is shifted, is a field of the whole.
    fn field(&self) -> Option<Inst> {
        let x = self.imm(1)?;
        let (pos, len) = (x & 0xff, x >> 8 & 0xff);
        let d = self.def(&[Op::Ext, Op::Shr]).filter(|d| !matches!(d.aux, Aux::Wrap))?;
        let y = d.srcs.get(1).and_then(Src::as_imm)?;
        let (first, whole) = match d.op {
            Op::Ext => (y & 0xff, y >> 8 & 0xff),
            _ => (y, 32u32.saturating_sub(y)),
        };
        let inside = first < 32 && pos + len <= whole && first + whole <= 32;
        let base = d.srcs.first().filter(|s| inside && len > 0 && s.is_plain_val())?;
        Some(with(self.inst, Op::Ext, &[*base, Src::imm((first + pos) | len << 8)]))
    }

    /// Shifts by constants.
    fn shift(&self) -> Option<Inst> {
        let Integer { f, uses, inst } = *self;
        let s = &inst.srcs;
        match inst.op {
            Op::Shl | Op::Shr if self.imm(0) == Some(0) => mov_imm(inst, 0),
            Op::Shl | Op::Shr => {
                let by = match self.imm(1)? {
                    n if matches!(inst.aux, Aux::Wrap) => n & 31,
                    n => n,
                };
                let signed = inst.op == Op::Shr && inst.ty == Type::S32;
                match by {
                    0 => return copy(inst, s[0]),
                    32.. if !signed => return mov_imm(inst, 0),
                    _ if matches!(inst.aux, Aux::Wrap) => {
                        return Some(with(inst, inst.op, &[s[0], Src::imm(by)]));
                    }
                    _ => {}
                }
                let d = self.def(&[Op::Shl, Op::Shr, Op::And]).filter(|d| !matches!(d.aux, Aux::Wrap))?;
                // A mask that only clears what is shifted out.
                if d.op == Op::And && by < 32 {
                    let (mask, whole) = (d.srcs[1].as_imm()?, u32::MAX);
                    let left = inst.op == Op::Shl;
                    let kept = if left { mask << by == whole << by } else { mask >> by == whole >> by };
                    return Some(with(inst, inst.op, &[d.srcs[0], s[1]]))
                        .filter(|_| kept && d.srcs[0].is_plain_val());
                }
                let n = d.srcs.get(1).and_then(Src::as_imm).filter(|&n| n < 32)?;
                let base = d.srcs.first().filter(|s| s.is_plain_val())?;
                match (inst.op, d.op) {
                    (Op::Shl, Op::Shl) => Some(with(inst, Op::Shl, &[*base, Src::imm((n + by).min(32))])),
                    (Op::Shr, Op::Shr) if d.ty == inst.ty => {
                        let total = if signed { (n + by).min(31) } else { (n + by).min(32) };
                        Some(with(inst, Op::Shr, &[*base, Src::imm(total)]))
                    }
                    // Sign or zero extension of a field.
                    (Op::Shr, Op::Shl) if by >= n && by < 32 && uses.count(f, s[0].as_val()?) == 1 => {
                        if by == n && !signed {
                            return Some(with(inst, Op::And, &[*base, Src::imm(u32::MAX >> n)]));
                        }
                        Some(with(inst, Op::Ext, &[*base, Src::imm((by - n) | (32 - by) << 8)]))
                    }
                    // Clearing low bits.
                    (Op::Shl, Op::Shr) if by == n => {
                        Some(with(inst, Op::And, &[*base, Src::imm(u32::MAX << n)]))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
