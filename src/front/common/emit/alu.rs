//! Operations on single components. Integers and booleans are here; [`super::int`], [`super::float`], [`super::bits`] have the
//! rest.

use super::Emit;
use super::op::Op as N;
use super::value::{Comp, Pred, Word, mask};
use crate::ir::{Aux, Cond, Inst, Op, Rnd, Type};

/// One component of an instruction: sources as they are after modifiers, and the sizes.
pub(crate) struct Lane<'a> {
    pub op: N,
    /// Bits of the result's components.
    pub bits: u8,
    /// Bits of the first source's components.
    pub sbits: u8,
    pub exact: bool,
    /// Bits of the parts that an integer dot product multiplies.
    pub part: u8,
    pub srcs: &'a [Comp],
}

impl Lane<'_> {
    pub(crate) fn src(&self, i: usize) -> Comp {
        self.srcs.get(i).copied().unwrap_or(Comp::Word(Word::Imm(0)))
    }
}

/// What an opcode without meaning here gives.
pub(crate) type Lowered = Option<Comp>;

pub(crate) fn int_type(bits: u8, signed: bool) -> Type {
    match (bits, signed) {
        (64, true) => Type::S64,
        (64, false) => Type::U64,
        (_, true) => Type::S32,
        (_, false) => Type::U32,
    }
}

impl Emit<'_> {
    pub(crate) fn unary(&mut self, op: N, bits: u8, value: Comp) -> Comp {
        self.lane(&Lane { op, bits, sbits: bits, exact: false, part: 0, srcs: &[value] }).unwrap_or(value)
    }

    /// A conversion of one component.
    pub(crate) fn convert_one(&mut self, op: N, sbits: u8, bits: u8, value: Comp) -> Comp {
        self.lane(&Lane { op, bits, sbits, exact: false, part: 0, srcs: &[value] }).unwrap_or(value)
    }

    /// One component of a result.
    pub(crate) fn lane(&mut self, l: &Lane<'_>) -> Lowered {
        match l.op {
            N::Mov => Some(l.src(0)),
            N::Bcsel => {
                let p = self.truth(l.src(0), l.sbits);
                Some(self.select_comp(p, l.src(1), l.src(2)))
            }
            _ => self
                .compare(l)
                .or_else(|| self.logical(l))
                .or_else(|| self.int(l))
                .or_else(|| self.float(l))
                .or_else(|| self.bits(l))
                .or_else(|| self.convert(l)),
        }
    }

    /// A condition as a boolean of the given width.
    pub(crate) fn boolean(&self, p: Pred, bits: u8) -> Comp {
        if bits == 1 { Comp::Bool(p) } else { Comp::Word(Word::Mask(p)) }
    }

    /// Both operands of a comparison or the like, integers of less than 32 bits extended.
    pub(crate) fn ints(&mut self, a: Comp, b: Comp, bits: u8, signed: bool) -> (Comp, Comp) {
        (self.int_src(a, bits, signed), self.int_src(b, bits, signed))
    }

    pub(crate) fn int_src(&mut self, c: Comp, bits: u8, signed: bool) -> Comp {
        if bits < 32 { Comp::Word(self.extend(c.word(), bits, signed)) } else { c }
    }

    fn compare(&mut self, l: &Lane<'_>) -> Lowered {
        let (cond, float, signed) = match l.op {
            N::Feq => (Cond::Eq, true, false),
            N::Fneu => (Cond::Neu, true, false),
            N::Flt => (Cond::Lt, true, false),
            N::Fge => (Cond::Ge, true, false),
            N::Fequ => (Cond::Equ, true, false),
            N::Fneo => (Cond::Ne, true, false),
            N::Fltu => (Cond::Ltu, true, false),
            N::Fgeu => (Cond::Geu, true, false),
            N::Funord => (Cond::Nan, true, false),
            N::Ford => (Cond::Num, true, false),
            N::Ieq => (Cond::Eq, false, false),
            N::Ine => (Cond::Ne, false, false),
            N::Ilt => (Cond::Lt, false, true),
            N::Ige => (Cond::Ge, false, true),
            N::Ult => (Cond::Lt, false, false),
            N::Uge => (Cond::Ge, false, false),
            N::Bitz | N::Bitnz => {
                let one = Comp::constant(l.sbits, 1);
                let bit = self.shift(Op::Shl, l.sbits, false, one, l.src(1));
                let and = self.bitwise(Op::And, l.sbits, l.src(0), bit);
                let p = self.truth(and, l.sbits);
                let p = if l.op == N::Bitz { p.not() } else { p };
                return Some(self.boolean(p, l.bits));
            }
            N::Seq | N::Sne | N::Slt | N::Sge => {
                let op = match l.op {
                    N::Seq => N::Feq,
                    N::Sne => N::Fneu,
                    N::Slt => N::Flt,
                    _ => N::Fge,
                };
                let c = self.compare(&Lane { op, bits: 1, ..*l })?;
                let Comp::Bool(p) = c else { return None };
                return Some(self.number_of(p, l.bits, true));
            }
            _ => return None,
        };
        let p = if float {
            let (ty, a, b) = self.float_pair(l.src(0), l.src(1), l.sbits);
            let (a, b) = (self.operand(a), self.operand(b));
            self.setp(cond, ty, a, b)
        } else {
            self.compare_ints(cond, signed, l.src(0), l.src(1), l.sbits)
        };
        Some(self.boolean(p, l.bits))
    }

    pub(crate) fn compare_ints(&mut self, cond: Cond, signed: bool, a: Comp, b: Comp, bits: u8) -> Pred {
        if let (Comp::Bool(x), Comp::Bool(y)) = (a, b) {
            // As numbers of one bit: true is 1, or -1 where they are signed.
            let (x, y) = if signed { (y, x) } else { (x, y) };
            return match cond {
                Cond::Eq => self.xor(x, y).not(),
                Cond::Ne => self.xor(x, y),
                Cond::Lt => self.and(x.not(), y),
                _ => self.or(x, y.not()),
            };
        }
        // A mask compared with a constant is the condition itself.
        if let (Comp::Word(Word::Mask(p)), Comp::Word(Word::Imm(k)))
        | (Comp::Word(Word::Imm(k)), Comp::Word(Word::Mask(p))) = (a, b)
            && matches!(cond, Cond::Eq | Cond::Ne)
            && (k == 0 || k == mask(bits))
        {
            return if (k == 0) == (cond == Cond::Eq) { p.not() } else { p };
        }
        let (a, b) = self.ints(a, b, bits, signed);
        let (a, b) = (self.operand(a), self.operand(b));
        self.setp(cond, int_type(bits, signed), a, b)
    }

    /// 1 (or 1.0) where the condition holds, else 0.
    pub(crate) fn number_of(&mut self, p: Pred, bits: u8, float: bool) -> Comp {
        let one = match (float, bits) {
            (false, _) => 1,
            (true, 16) => 0x3c00,
            (true, 64) => 0x3ff0_0000,
            (true, _) => 0x3f80_0000,
        };
        let w = self.select(p, Word::Imm(one), Word::Imm(0));
        match (bits, float) {
            (1, _) => Comp::Bool(p),
            (64, true) => Comp::Wide(Word::Imm(0), w),
            (64, false) => Comp::Wide(w, Word::Imm(0)),
            _ => Comp::Word(w),
        }
    }

    /// A bitwise operation of any width; on masks and booleans, logic.
    pub(crate) fn bitwise(&mut self, op: Op, bits: u8, a: Comp, b: Comp) -> Comp {
        match (a, b) {
            (Comp::Wide(al, ah), Comp::Wide(bl, bh)) => {
                Comp::Wide(self.bitwise_word(op, al, bl), self.bitwise_word(op, ah, bh))
            }
            (Comp::Bool(a), Comp::Bool(b)) => Comp::Bool(self.bitwise_pred(op, a, b)),
            (a, b) => {
                let full = |w: Word| if w == Word::Imm(mask(bits)) { Word::Imm(u32::MAX) } else { w };
                Comp::Word(self.bitwise_word(op, full(a.word()), full(b.word())))
            }
        }
    }

    fn bitwise_pred(&mut self, op: Op, a: Pred, b: Pred) -> Pred {
        match op {
            Op::And => self.and(a, b),
            Op::Or => self.or(a, b),
            _ => self.xor(a, b),
        }
    }

    fn bitwise_word(&mut self, op: Op, a: Word, b: Word) -> Word {
        match (a, b) {
            (Word::Mask(a), Word::Mask(b)) => Word::Mask(self.bitwise_pred(op, a, b)),
            (Word::Mask(p), w) | (w, Word::Mask(p)) => match (op, w) {
                (_, Word::Imm(k)) if k == 0 || k == u32::MAX => {
                    Word::Mask(self.bitwise_pred(op, p, Pred::Const(k != 0)))
                }
                (Op::And, w) => self.select(p, w, Word::Imm(0)),
                (Op::Or, w) => self.select(p, Word::Imm(u32::MAX), w),
                _ => self.op2(op, Type::U32, a, b),
            },
            _ => self.op2(op, Type::U32, a, b),
        }
    }

    fn logical(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, b) = (l.src(0), l.src(1));
        Some(match l.op {
            N::Iand => self.bitwise(Op::And, l.bits, a, b),
            N::Ior => self.bitwise(Op::Or, l.bits, a, b),
            N::Ixor => self.bitwise(Op::Xor, l.bits, a, b),
            N::Inot => self.not(a),
            N::BitfieldSelect => {
                let x = self.bitwise(Op::And, l.bits, a, b);
                let na = self.not(a);
                let y = self.bitwise(Op::And, l.bits, na, l.src(2));
                self.bitwise(Op::Or, l.bits, x, y)
            }
            _ => return None,
        })
    }

    pub(crate) fn not(&mut self, a: Comp) -> Comp {
        match a {
            Comp::Bool(p) => Comp::Bool(p.not()),
            Comp::Word(w) => Comp::Word(self.not_word(w)),
            Comp::Wide(lo, hi) => Comp::Wide(self.not_word(lo), self.not_word(hi)),
        }
    }

    fn not_word(&mut self, w: Word) -> Word {
        match w {
            Word::Mask(p) => Word::Mask(p.not()),
            Word::Imm(x) => Word::Imm(!x),
            w => self.op1(Op::Not, Type::U32, w),
        }
    }

    /// A shift by an amount modulo the width.
    pub(crate) fn shift(&mut self, op: Op, bits: u8, signed: bool, a: Comp, by: Comp) -> Comp {
        let by = match by.word() {
            Word::Imm(n) => Word::Imm(n & (u32::from(bits) - 1)),
            w => w,
        };
        match a {
            Comp::Wide(lo, hi) => {
                let (a, n) = (self.wide(lo, hi), self.src(by));
                let mut i = Inst::new(op, int_type(64, signed)).src(a).src(n);
                i.aux = if matches!(by, Word::Imm(_)) { Aux::None } else { Aux::Wrap };
                self.comp(i)
            }
            Comp::Bool(_) => a,
            Comp::Word(w) => {
                let w = if op == Op::Shr { self.extend(w, bits, signed) } else { w };
                let ty = int_type(32, signed);
                if let Word::Imm(_) = by {
                    return Comp::Word(self.op2(op, ty, w, by));
                }
                if bits < 32 {
                    let n = self.op2(Op::And, Type::U32, by, u32::from(bits) - 1);
                    return Comp::Word(self.op2(op, ty, w, n));
                }
                let (a, n) = (self.src(w), self.src(by));
                Comp::Word(self.inst(Inst::new(op, ty).src(a).src(n).with_aux(Aux::Wrap)))
            }
        }
    }

    /// A generic operation of two integers as wide as a register or two.
    pub(crate) fn int2(&mut self, op: Op, signed: bool, bits: u8, a: Comp, b: Comp) -> Comp {
        let ty = int_type(bits, signed);
        match (a, b) {
            (Comp::Wide(..), _) | (_, Comp::Wide(..)) => {
                let (a, b) = (self.operand(a), self.operand(b));
                self.comp(Inst::new(op, ty).src(a).src(b))
            }
            _ => Comp::Word(self.op2(op, ty, a.word(), b.word())),
        }
    }

    /// Conversions between integers and booleans; those of floats are with the floats.
    fn convert(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, from, to) = (l.src(0), l.sbits, l.bits);
        Some(match l.op {
            N::I2I => self.resize(a, from, to, true),
            N::U2U => self.resize(a, from, to, false),
            N::B2B => {
                let p = self.truth(a, from);
                self.boolean(p, to)
            }
            N::I2B => {
                let p = self.truth(a, from);
                self.boolean(p, to)
            }
            N::B2I | N::B2F => {
                let p = self.truth(a, from);
                self.number_of(p, to, l.op == N::B2F)
            }
            _ => return None,
        })
    }

    /// An integer in another width.
    pub(crate) fn resize(&mut self, a: Comp, from: u8, to: u8, signed: bool) -> Comp {
        if to == 1 {
            // The lowest bit.
            return match a {
                Comp::Bool(p) => Comp::Bool(p),
                a => {
                    let low = self.op2(Op::And, Type::U32, a.word(), 1);
                    Comp::Bool(self.cmp(Cond::Ne, Type::U32, low, 0))
                }
            };
        }
        if let Comp::Bool(p) = a {
            let w = if signed { Word::Mask(p) } else { self.select(p, Word::Imm(1), Word::Imm(0)) };
            return match (to, signed) {
                (64, true) => Comp::Wide(w, w),
                (64, false) => Comp::Wide(w, Word::Imm(0)),
                _ => Comp::Word(w),
            };
        }
        if to <= from {
            return match (a, to) {
                (Comp::Wide(lo, _), 8 | 16 | 32) => Comp::Word(self.narrow_const(lo, to)),
                (Comp::Word(w), _) => Comp::Word(self.narrow_const(w, to)),
                _ => a,
            };
        }
        let w = self.extend(a.word(), from, signed);
        if to < 64 {
            return Comp::Word(self.narrow_const(w, to));
        }
        let high = match (w, signed) {
            (_, false) => Word::Imm(0),
            (Word::Mask(_), true) => w,
            (w, true) => self.op2(Op::Shr, Type::S32, w, 31),
        };
        let wide = Comp::Wide(w, high);
        if signed {
            self.note_sign_extended(wide, w);
        }
        wide
    }

    /// Constants keep only the bits that they have.
    fn narrow_const(&self, w: Word, bits: u8) -> Word {
        if let Word::Imm(x) = w { Word::Imm(x & mask(bits)) } else { w }
    }

    /// A conversion of an integer of 32 or 64 bits to a float type.
    pub(crate) fn int_to_float(&mut self, a: Comp, bits: u8, signed: bool, ty: Type) -> Comp {
        let a = self.int_src(a, bits, signed);
        self.cvt(ty, int_type(bits, signed), Rnd::Near, a)
    }
}
