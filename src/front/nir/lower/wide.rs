//! Sums and products of 64 bits, as addresses have them.
//!
//! NIR computes the address of an element as `base + (index * size + constant)`. Written so, each element has a sum
//! of its own; with the constant outermost, `(base + index * size) + constant`, elements share the sum and the
//! constant becomes the offset of the access. And the product of an extended 32-bit index with a constant is added
//! by one multiply-add with carry for each word:
//!
//! ```text
//! mad u32 {%r4 %c} %r1 0x4 %r2
//! madhi u32 %r5 %r1 0x4 %r3 %c
//! ```
//!
//! Added to a pointer that a kernel is given, which operands read where it lies, a product with a power of two is better
//! a shift-add:
//!
//! ```text
//! shl u32 %r4 %r1 0x2
//! add u32 {%r5 %c} %r4 c0[0x8]
//! madhi u32 %r7 %r1 0x4 c0[0xc] %c
//! ```
//!
//! All of it holds modulo 2^64, so nothing need be known of the values.

use super::Lower;
use super::value::{Comp, Word};
use crate::ir::{BlockId, Class, Inst, Op, Space, Type, ValueId};
use rustc_hash::FxHashMap;

/// What a value of 64 bits is besides its two words.
#[derive(Clone, Copy)]
enum Shape {
    /// A sum with a constant.
    Offset(Comp, u64),
    /// A sum of two values that are no constants.
    Sum(Comp, Comp),
    /// A 32-bit number, extended with its sign or with zeros, times a constant.
    Product { factor: Word, signed: bool, by: u32 },
}

/// What is known of values, by their low words.
#[derive(Default)]
pub(super) struct Wide {
    shapes: FxHashMap<ValueId, (ValueId, Shape)>,
    /// Sums that exist already, and where: instructions with carries are not found equal later.
    sums: FxHashMap<(Comp, Comp), (Comp, BlockId)>,
}

impl Wide {
    fn get(&self, c: Comp) -> Option<Shape> {
        let Comp::Wide(Word::Val(lo), Word::Val(hi)) = c else { return None };
        self.shapes.get(&lo).filter(|(h, _)| *h == hi).map(|(_, shape)| *shape)
    }

    fn note(&mut self, c: Comp, shape: Shape) {
        if let Comp::Wide(Word::Val(lo), Word::Val(hi)) = c {
            self.shapes.insert(lo, (hi, shape));
        }
    }
}

impl Lower<'_, '_> {
    /// A value without the constant that is added to it, and that constant.
    pub(super) fn split_offset(&self, c: Comp) -> (Comp, u64) {
        match self.wide.get(c) {
            Some(Shape::Offset(base, offset)) => (base, offset),
            _ => (c, 0),
        }
    }

    /// The product that a value is.
    fn as_product(&self, c: Comp) -> Option<(Word, bool, u32)> {
        match (c, self.wide.get(c)) {
            (_, Some(Shape::Product { factor, signed, by })) => Some((factor, signed, by)),
            (Comp::Wide(factor @ Word::Val(_), Word::Imm(0)), _) => Some((factor, false, 1)),
            _ => None,
        }
    }

    /// Notes that a value is a 32-bit number with its sign extended.
    pub(super) fn note_sign_extended(&mut self, c: Comp, factor: Word) {
        self.wide.note(c, Shape::Product { factor, signed: true, by: 1 });
    }

    pub(super) fn add64(&mut self, a: Comp, b: Comp) -> Comp {
        let parts = |c: Comp| match c.as_const() {
            Some(n) => (None, n),
            None => {
                let (base, offset) = self.split_offset(c);
                (Some(base), offset)
            }
        };
        let ((x, m), (y, n)) = (parts(a), parts(b));
        let offset = m.wrapping_add(n);
        let base = match (x, y) {
            (None, None) => return Comp::constant(64, offset),
            (Some(x), None) | (None, Some(x)) => x,
            (Some(x), Some(y)) => self.sum64(x, y),
        };
        self.with_offset(base, offset)
    }

    fn with_offset(&mut self, base: Comp, offset: u64) -> Comp {
        if offset == 0 {
            return base;
        }
        let sum = self.int2(Op::Add, false, 64, base, Comp::constant(64, offset));
        self.wide.note(sum, Shape::Offset(base, offset));
        sum
    }

    /// A sum without constants. A pointer goes to the common part of indices, `(pointer + (y * width + x)) + dx`, so that
    /// neighbours share it.
    fn sum64(&mut self, x: Comp, y: Comp) -> Comp {
        for (pointer, index) in [(x, y), (y, x)] {
            if self.is_argument(pointer)
                && let Some(Shape::Sum(common, rest)) = self.wide.get(index)
                && !self.is_argument(rest)
                && matches!(self.wide.get(common), Some(Shape::Sum(..)))
            {
                let sum = self.pair_sum64(pointer, common);
                return self.pair_sum64(sum, rest);
            }
        }
        self.pair_sum64(x, y)
    }

    fn pair_sum64(&mut self, x: Comp, y: Comp) -> Comp {
        match self.wide.sums.get(&(x, y)) {
            Some(&(sum, block)) if self.scope.holds(block) => sum,
            _ => {
                let sum = self.new_sum64(x, y);
                self.wide.sums.insert((x, y), (sum, self.e.b.block));
                if self.wide.get(sum).is_none() {
                    self.wide.note(sum, Shape::Sum(x, y));
                }
                sum
            }
        }
    }

    /// The product in a sum is multiplied and added at once.
    fn new_sum64(&mut self, x: Comp, y: Comp) -> Comp {
        // A product by one is an extension; with zeros a plain addition takes it as it is.
        let product = |this: &Self, c| this.as_product(c).filter(|p| p.2 > 1 || p.1);
        let (p, other) = match (product(self, x), product(self, y)) {
            (None, None) => return self.int2(Op::Add, false, 64, x, y),
            (Some(p), _) => (p, y),
            (None, Some(p)) => (p, x),
        };
        let (factor, signed, by) = p;
        let Comp::Wide(lo, hi) = other else { return self.int2(Op::Add, false, 64, x, y) };
        let ty = if signed { Type::S32 } else { Type::U32 };
        // The high word of twice a number is its sign.
        let twice = if by == 1 { 2 } else { by };
        if by == 1 || by.is_power_of_two() && self.is_argument(other) {
            let bits = by.trailing_zeros();
            let low = self.e.op2(Op::Shl, Type::U32, factor, bits);
            let [low, lo, factor, hi] = [low, lo, factor, hi].map(|w| self.e.src(w));
            let (sum, carry) = (self.e.b.gpr(), self.e.b.func.new_value(Class::Carry));
            self.e.b.push(Inst::new(Op::Add, Type::U32).src(low).src(lo).dst(sum).dst(carry));
            let high = Inst::new(Op::MadHi, ty).src(factor).src(twice).src(hi).src(carry);
            let high = self.e.b.value(high);
            return Comp::Wide(sum.into(), high.into());
        }
        let (factor, lo, hi) = (self.e.src(factor), self.e.src(lo), self.e.src(hi));
        let carry = self.e.b.func.new_value(Class::Carry);
        let low = self.e.b.gpr();
        let mad = Inst::new(Op::Mad, Type::U32).src(factor).src(by).src(lo).dst(low).dst(carry);
        self.e.b.push(mad);
        let high = self.e.b.value(Inst::new(Op::MadHi, ty).src(factor).src(by).src(hi).src(carry));
        Comp::Wide(low.into(), high.into())
    }

    fn is_argument(&self, c: Comp) -> bool {
        matches!(c, Comp::Wide(lo, hi) if self.is_constant(lo) && self.is_constant(hi))
    }

    /// Whether a word was loaded from a place in a constant buffer that is known.
    fn is_constant(&self, w: Word) -> bool {
        let Word::Val(v) = w else { return false };
        self.e.b.func.def_inst(v).is_some_and(|i| {
            i.op == Op::Ld && i.mem.is_some_and(|m| m.space == Space::Const && m.base().is_empty())
        })
    }

    /// A product with a constant.
    pub(super) fn mul64(&mut self, a: Comp, by: u64) -> Comp {
        let (base, offset) = self.split_offset(a);
        let product = self.product64(base, by);
        self.with_offset(product, offset.wrapping_mul(by))
    }

    fn product64(&mut self, a: Comp, by: u64) -> Comp {
        if let Some(n) = a.as_const() {
            return Comp::constant(64, n.wrapping_mul(by));
        }
        let result = if by.is_power_of_two() {
            self.shift_plain(a, by.trailing_zeros())
        } else {
            self.int2(Op::Mul, false, 64, a, Comp::constant(64, by))
        };
        if let Some((factor, signed, old)) = self.as_product(a)
            && let Some(by) = by.checked_mul(old.into()).filter(|&n| n < 1 << 31)
        {
            self.wide.note(result, Shape::Product { factor, signed, by: by as u32 });
        }
        result
    }

    fn shift_plain(&mut self, a: Comp, by: u32) -> Comp {
        if by == 0 {
            return a;
        }
        let a = self.e.operand(a);
        self.e.comp(Inst::new(Op::Shl, Type::U64).src(a).src(by))
    }
}
