//! What a component of a value is while its function is lowered, and how it becomes operands.
//!
//! NIR's booleans are masks of 32 bits as often as single bits; the machine compares into predicates. So a mask
//! stays a predicate ([`Word::Mask`]) until somebody reads its bits: `iand` and `b32csel` of masks are predicate
//! logic and selects, an `if` branches on it directly. Constants stay immediates for the same reason.
//!
//! Components below 32 bits live in one register whose upper bits are unspecified; [`Emit::extend`] makes them
//! zeros or copies of the sign where an operation needs that, and remembers for which values that is so already.

use super::super::convert::convert;
use super::Emit;
use crate::ir::{Class, Cond, Inst, InstId, Op, Rnd, Src, Type, ValueId};

/// Bits of a component and number of components.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Shape {
    /// Bits of a component.
    pub bits: u8,
    /// Components.
    pub comps: u8,
}

impl Shape {
    /// One component.
    pub const fn scalar(bits: u8) -> Shape {
        Shape { bits, comps: 1 }
    }

    /// What kind of register holds a component's words.
    pub fn class(self) -> Class {
        if self.bits == 1 { Class::Pred } else { Class::Gpr }
    }

    /// Values that all components take.
    pub fn words(self) -> usize {
        usize::from(self.comps) * if self.bits == 64 { 2 } else { 1 }
    }
}

/// A condition: known, or a predicate and whether it is negated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Pred {
    Const(bool),
    Val(ValueId, bool),
}

impl Pred {
    pub(crate) fn not(self) -> Pred {
        match self {
            Pred::Const(b) => Pred::Const(!b),
            Pred::Val(v, not) => Pred::Val(v, !not),
        }
    }
}

/// Up to 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Word {
    Val(ValueId),
    Imm(u32),
    /// All ones where the condition holds, else zero.
    Mask(Pred),
}

/// One component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Comp {
    /// 1 bit.
    Bool(Pred),
    /// 8, 16 or 32 bits.
    Word(Word),
    /// 64 bits, low word first.
    Wide(Word, Word),
}

impl Comp {
    /// A constant of `bits` bits.
    pub(crate) fn constant(bits: u8, value: u64) -> Comp {
        match bits {
            1 => Comp::Bool(Pred::Const(value & 1 != 0)),
            64 => Comp::Wide(Word::Imm(value as u32), Word::Imm((value >> 32) as u32)),
            _ => Comp::Word(Word::Imm(value as u32 & mask(bits))),
        }
    }

    /// Whether it is a component of that many bits.
    pub(crate) fn fits(self, bits: u8) -> bool {
        match self {
            Comp::Bool(_) => bits == 1,
            Comp::Word(_) => matches!(bits, 8 | 16 | 32),
            Comp::Wide(..) => bits == 64,
        }
    }

    /// The low word: what an operand of at most 32 bits reads.
    pub(crate) fn word(self) -> Word {
        match self {
            Comp::Bool(p) => Word::Mask(p),
            Comp::Word(w) | Comp::Wide(w, _) => w,
        }
    }

    /// The value of a constant, unsigned.
    pub(crate) fn as_const(self) -> Option<u64> {
        match self {
            Comp::Bool(Pred::Const(b)) => Some(b.into()),
            Comp::Word(Word::Imm(x)) => Some(x.into()),
            Comp::Wide(Word::Imm(lo), Word::Imm(hi)) => Some(u64::from(lo) | u64::from(hi) << 32),
            _ => None,
        }
    }
}

impl From<Word> for Comp {
    fn from(w: Word) -> Comp {
        Comp::Word(w)
    }
}

impl From<ValueId> for Word {
    fn from(v: ValueId) -> Word {
        Word::Val(v)
    }
}

impl From<u32> for Word {
    fn from(x: u32) -> Word {
        Word::Imm(x)
    }
}

/// The low `bits` bits.
pub(crate) fn mask(bits: u8) -> u32 {
    if bits >= 32 { u32::MAX } else { (1 << bits) - 1 }
}

impl Emit<'_> {
    // ---- operands

    /// A word as an operand of 32 bits.
    pub(crate) fn src(&mut self, w: Word) -> Src {
        match w {
            Word::Val(v) => Src::val(v),
            Word::Imm(x) => Src::imm(x),
            Word::Mask(p) => {
                let w = self.select(p, Word::Imm(u32::MAX), Word::Imm(0));
                self.src(w)
            }
        }
    }

    /// A word as a value.
    pub(crate) fn val(&mut self, w: Word) -> ValueId {
        match self.src(w) {
            s if s.is_plain_val() => s.values()[0],
            s => self.b.mov(s),
        }
    }

    /// Two words as an operand of 64 bits.
    pub(crate) fn wide(&mut self, lo: Word, hi: Word) -> Src {
        match (lo, hi) {
            (Word::Imm(lo), Word::Imm(hi)) => Src::imm64(u64::from(lo) | u64::from(hi) << 32),
            _ => Src::tuple(&[self.val(lo), self.val(hi)]),
        }
    }

    /// A component as an operand as wide as it is; of a boolean, a predicate.
    pub(crate) fn operand(&mut self, c: Comp) -> Src {
        match c {
            Comp::Bool(p) => self.pred_src(p),
            Comp::Word(w) => self.src(w),
            Comp::Wide(lo, hi) => self.wide(lo, hi),
        }
    }

    /// A component's 64 bits; narrower ones zero-extended.
    pub(crate) fn words64(&mut self, c: Comp) -> (Word, Word) {
        match c {
            Comp::Wide(lo, hi) => (lo, hi),
            c => (c.word(), Word::Imm(0)),
        }
    }

    pub(crate) fn pred_src(&mut self, p: Pred) -> Src {
        match p {
            Pred::Val(v, false) => Src::val(v),
            Pred::Val(v, true) => Src::val(v).inv(),
            Pred::Const(_) => Src::val(self.pred_val(p)),
        }
    }

    pub(crate) fn pred_val(&mut self, p: Pred) -> ValueId {
        match p {
            Pred::Val(v, false) => v,
            Pred::Val(v, true) => self.b.op1(Op::Mov, Type::Pred, Src::val(v).inv()),
            Pred::Const(b) => self.b.setp(if b { Cond::Eq } else { Cond::Ne }, Type::U32, 0, 0),
        }
    }

    /// The values that a component is made of: a predicate, one word or two.
    pub(crate) fn values(&mut self, c: Comp) -> arrayvec::ArrayVec<ValueId, 2> {
        match c {
            Comp::Bool(p) => [self.pred_val(p)].into_iter().collect(),
            Comp::Word(w) => [self.val(w)].into_iter().collect(),
            Comp::Wide(lo, hi) => [self.val(lo), self.val(hi)].into_iter().collect(),
        }
    }

    // ---- predicates

    pub(crate) fn setp(&mut self, cond: Cond, ty: Type, a: Src, b: Src) -> Pred {
        Pred::Val(self.b.setp(cond, ty, a, b), false)
    }

    /// A comparison of 32-bit words.
    pub(crate) fn cmp(&mut self, cond: Cond, ty: Type, a: impl Into<Word>, b: impl Into<Word>) -> Pred {
        let (a, b) = (self.src(a.into()), self.src(b.into()));
        self.setp(cond, ty, a, b)
    }

    pub(crate) fn and(&mut self, a: Pred, b: Pred) -> Pred {
        match (a, b) {
            (Pred::Const(false), _) | (_, Pred::Const(false)) => Pred::Const(false),
            (Pred::Const(true), p) | (p, Pred::Const(true)) => p,
            _ if a == b => a,
            _ => self.combine(Op::And, a, b),
        }
    }

    /// The conjunction of a predicate and what was just compared. If that is an instruction made
    /// since, which nobody else reads, it takes the predicate along.
    pub(crate) fn and_compared(&mut self, p: Pred, compared: Pred, since: InstId) -> Pred {
        let (Pred::Val(..), Pred::Val(v, false)) = (p, compared) else { return self.and(p, compared) };
        let taken = self.pred_src(p);
        let last = self.b.func.blocks[self.b.block].body.last();
        if let Some(&i) = last.filter(|&&i| i >= since)
            && let set = &mut self.b.func.insts[i]
            && set.op == Op::Set
            && set.srcs.len() == 2
            && *set.dsts == [v]
            && set.compares_at_once()
        {
            set.srcs.push(taken);
            return compared;
        }
        self.and(p, compared)
    }

    pub(crate) fn or(&mut self, a: Pred, b: Pred) -> Pred {
        self.and(a.not(), b.not()).not()
    }

    pub(crate) fn xor(&mut self, a: Pred, b: Pred) -> Pred {
        match (a, b) {
            (Pred::Const(c), p) | (p, Pred::Const(c)) => {
                if c {
                    p.not()
                } else {
                    p
                }
            }
            (Pred::Val(a, na), Pred::Val(b, nb)) => {
                let v = self.b.op2(Op::Xor, Type::Pred, a, b);
                Pred::Val(v, na != nb)
            }
        }
    }

    fn combine(&mut self, op: Op, a: Pred, b: Pred) -> Pred {
        let (a, b) = (self.pred_src(a), self.pred_src(b));
        Pred::Val(self.b.op2(op, Type::Pred, a, b), false)
    }

    /// Whether a component of any width is not zero: how booleans are read.
    pub(crate) fn truth(&mut self, c: Comp, bits: u8) -> Pred {
        match c {
            Comp::Bool(p) | Comp::Word(Word::Mask(p)) => p,
            Comp::Word(Word::Imm(x)) => Pred::Const(x & mask(bits) != 0),
            Comp::Word(w) => {
                let w = self.extend(w, bits, false);
                self.cmp(Cond::Ne, Type::U32, w, 0)
            }
            Comp::Wide(lo, hi) => {
                let w = self.op2(Op::Or, Type::U32, lo, hi);
                self.cmp(Cond::Ne, Type::U32, w, 0)
            }
        }
    }

    /// `p ? a : b`
    pub(crate) fn select(&mut self, p: Pred, a: Word, b: Word) -> Word {
        if a == b {
            return a;
        }
        let bit = |w: Word| match w {
            Word::Mask(p) => Some(p),
            Word::Imm(0) => Some(Pred::Const(false)),
            Word::Imm(u32::MAX) => Some(Pred::Const(true)),
            _ => None,
        };
        let (v, not) = match p {
            Pred::Const(c) => return if c { a } else { b },
            Pred::Val(v, not) => (v, not),
        };
        if let (Some(x), Some(y)) = (bit(a), bit(b))
            && (matches!(a, Word::Mask(_)) || matches!(b, Word::Mask(_)))
        {
            return Word::Mask(self.select_pred(p, x, y));
        }
        let (a, b) = if not { (b, a) } else { (a, b) };
        let (a, b) = (self.src(a), self.src(b));
        self.b.sel(v, a, b).into()
    }

    pub(crate) fn select_pred(&mut self, p: Pred, a: Pred, b: Pred) -> Pred {
        let x = self.and(p, a);
        let y = self.and(p.not(), b);
        self.or(x, y)
    }

    pub(crate) fn select_comp(&mut self, p: Pred, a: Comp, b: Comp) -> Comp {
        match (a, b) {
            (Comp::Bool(a), Comp::Bool(b)) => Comp::Bool(self.select_pred(p, a, b)),
            (Comp::Wide(al, ah), Comp::Wide(bl, bh)) => {
                Comp::Wide(self.select(p, al, bl), self.select(p, ah, bh))
            }
            (a, b) => Comp::Word(self.select(p, a.word(), b.word())),
        }
    }

    // ---- words

    pub(crate) fn op1(&mut self, op: Op, ty: Type, a: impl Into<Word>) -> Word {
        let a = self.src(a.into());
        self.b.op1(op, ty, a).into()
    }

    pub(crate) fn op2(&mut self, op: Op, ty: Type, a: impl Into<Word>, b: impl Into<Word>) -> Word {
        let (a, b) = (a.into(), b.into());
        if let Some(w) = fold(op, ty, a, b) {
            return w;
        }
        let (a, b) = (self.src(a), self.src(b));
        self.b.op2(op, ty, a, b).into()
    }

    /// A float's magnitude (its highest word) with the sign of another.
    pub(crate) fn copy_sign(&mut self, magnitude: Word, sign: Word) -> Word {
        const BELOW_THE_SIGN: u32 = 31 << 8;
        self.op3(Op::Ins, Type::U32, magnitude, BELOW_THE_SIGN, sign)
    }

    pub(crate) fn op3(
        &mut self,
        op: Op,
        ty: Type,
        a: impl Into<Word>,
        b: impl Into<Word>,
        c: impl Into<Word>,
    ) -> Word {
        let (a, b, c) = (self.src(a.into()), self.src(b.into()), self.src(c.into()));
        self.b.op3(op, ty, a, b, c).into()
    }

    /// An instruction of a one-word type.
    pub(crate) fn inst(&mut self, inst: Inst) -> Word {
        self.b.value(inst).into()
    }

    /// An instruction of any type; what it gives as a component.
    pub(crate) fn comp(&mut self, inst: Inst) -> Comp {
        if inst.ty == Type::Pred {
            return Comp::Bool(Pred::Val(self.b.value(inst), false));
        }
        let values = self.b.values(inst);
        match values[..] {
            [lo, hi] => Comp::Wide(lo.into(), hi.into()),
            _ => Comp::Word(values[0].into()),
        }
    }

    pub(crate) fn undef(&mut self, bits: u8) -> Comp {
        match bits {
            1 => Comp::Bool(Pred::Val(self.b.undef(Class::Pred), false)),
            64 => Comp::Wide(self.b.undef(Class::Gpr).into(), self.b.undef(Class::Gpr).into()),
            _ => Comp::Word(self.b.undef(Class::Gpr).into()),
        }
    }

    /// A conversion with rounding; operand and result as wide as their types say.
    pub(crate) fn cvt(&mut self, ty: Type, sty: Type, rnd: Rnd, a: Comp) -> Comp {
        let a = self.operand(a);
        self.comp(convert(ty, sty, rnd, a))
    }

    /// Notes that the bits of a value from `bits` on are zero, or copies of the sign.
    pub(crate) fn note_extended(&mut self, v: ValueId, bits: u8, signed: bool) {
        self.narrow.insert(v, (bits, signed));
    }

    /// The number in the low `bits` bits, as one of 32 bits.
    pub(crate) fn extend(&mut self, w: Word, bits: u8, signed: bool) -> Word {
        if bits >= 32 {
            return w;
        }
        match w {
            Word::Imm(x) if signed => {
                let shift = 32 - u32::from(bits);
                Word::Imm(((x << shift) as i32 >> shift) as u32)
            }
            Word::Imm(x) => Word::Imm(x & mask(bits)),
            Word::Mask(_) if signed => w,
            Word::Mask(p) => self.select(p, Word::Imm(mask(bits)), Word::Imm(0)),
            Word::Val(v) => {
                match self.narrow.get(&v) {
                    Some(&(have, s)) if s == signed && have <= bits => return w,
                    // A zero-extended number of fewer bits is its own sign extension.
                    Some(&(have, false)) if have < bits => return w,
                    _ => {}
                }
                let v = if signed {
                    self.b.op2(Op::Ext, Type::S32, v, u32::from(bits) << 8)
                } else {
                    self.b.op2(Op::And, Type::U32, v, mask(bits))
                };
                self.note_extended(v, bits, signed);
                v.into()
            }
        }
    }
}

/// Integer operations on constants, and those that change nothing.
fn fold(op: Op, ty: Type, a: Word, b: Word) -> Option<Word> {
    if ty.is_float() {
        return None;
    }
    match (op, a, b) {
        (Op::Add, Word::Imm(a), Word::Imm(b)) => Some(Word::Imm(a.wrapping_add(b))),
        (Op::Add | Op::Or | Op::Xor | Op::Shl | Op::Shr, w, Word::Imm(0)) => Some(w),
        (Op::Add | Op::Or | Op::Xor, Word::Imm(0), w) => Some(w),
        (Op::Mul, Word::Imm(a), Word::Imm(b)) => Some(Word::Imm(a.wrapping_mul(b))),
        (Op::Mul, w, Word::Imm(1)) | (Op::Mul, Word::Imm(1), w) => Some(w),
        (Op::And, Word::Imm(a), Word::Imm(b)) => Some(Word::Imm(a & b)),
        (Op::And, w, Word::Imm(u32::MAX)) => Some(w),
        (Op::Shl, Word::Imm(a), Word::Imm(b)) if b < 32 => Some(Word::Imm(a << b)),
        (Op::Shr, Word::Imm(a), Word::Imm(b)) if b < 32 => {
            Some(Word::Imm(if ty.is_signed() { (a as i32 >> b) as u32 } else { a >> b }))
        }
        _ => None,
    }
}
