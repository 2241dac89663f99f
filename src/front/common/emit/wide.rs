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
//!
//! An index of 32 bits that is itself a sum with a constant is taken apart as well where the sum provably does not wrap:
//! the extension of `8 * i + 5` is that of `8 * i`, plus 5, since no carry leaves the low three bits. A signed sum is also
//! believed where the text says `nsw`.

use super::Emit;
use super::value::{Comp, Word};
use crate::ir::{BlockId, Class, Function, Inst, Op, Space, Src, Type, ValueId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Products by more are rarely offsets of elements.
const LARGEST_ELEMENT: u64 = 4096;

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
pub(crate) struct Wide {
    shapes: FxHashMap<ValueId, (ValueId, Shape)>,
    /// Sums that exist already, and where: instructions with carries are not found equal later.
    sums: FxHashMap<(Comp, Comp), (Comp, BlockId)>,
    /// Products with a constant, for their sums to be found again.
    products: FxHashMap<(Comp, u64), (Comp, BlockId)>,
    /// Words with their sign extended.
    extended: FxHashMap<ValueId, (Comp, BlockId)>,
    /// Sums of a word and the part of a constant that its low bits do not take.
    rounded: FxHashMap<(ValueId, u32), (ValueId, BlockId)>,
    /// Sums of 32 bits that the text says do not wrap as signed numbers.
    unwrapped: FxHashSet<ValueId>,
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

impl Emit<'_> {
    /// A value without the constant that is added to it, and that constant.
    pub(crate) fn split_offset(&self, c: Comp) -> (Comp, u64) {
        match self.sums.get(c) {
            Some(Shape::Offset(base, offset)) => (base, offset),
            _ => (c, 0),
        }
    }

    /// The same, and of an extended 32-bit sum the constant too where that does not wrap.
    fn split_index(&mut self, c: Comp) -> (Comp, u64) {
        match self.split_offset(c) {
            (base, 0) => self.split_extended(base).unwrap_or((base, 0)),
            split => split,
        }
    }

    /// An extended sum as the sum of the extended rest and a constant.
    fn split_extended(&mut self, c: Comp) -> Option<(Comp, u64)> {
        let (v, signed) = match (c, self.sums.get(c)) {
            (_, Some(Shape::Product { factor: Word::Val(v), signed: true, by: 1 })) => (v, true),
            (Comp::Wide(Word::Val(v), Word::Imm(0)), _) => (v, false),
            _ => return None,
        };
        let (rest, n) = self.split32(v, signed)?;
        if !signed {
            return Some((Comp::Wide(rest.into(), Word::Imm(0)), n));
        }
        let base = match self.sums.extended.get(&rest) {
            Some(&(wide, block)) if self.scope.holds(block) => wide,
            _ => self.resize(Comp::Word(rest.into()), 32, 64, true),
        };
        Some((base, n))
    }

    /// A sum of a word and a constant that extends like its parts: the word, and the constant of 64 bits.
    fn split32(&mut self, v: ValueId, signed: bool) -> Option<(ValueId, u64)> {
        let def = self.b.func.def_inst(v)?;
        let plain = def.ty.words() == 1 && def.srcs.len() == 2 && def.dsts.len() == 1 && !def.sat;
        if !matches!(def.op, Op::Add | Op::Or) || !plain {
            return None;
        }
        let word = |s: &Src| s.as_val().filter(|_| s.is_plain_val());
        let (x, n) =
            match (word(&def.srcs[0]), def.srcs[1].as_imm(), def.srcs[0].as_imm(), word(&def.srcs[1])) {
                (Some(x), Some(n), ..) | (_, _, Some(n), Some(x)) => (x, n),
                _ => return None,
            };
        let op = def.op;
        if signed && op == Op::Add && self.sums.unwrapped.contains(&v) {
            return Some((x, i64::from(n as i32) as u64));
        }
        // No carry leaves the bits that are zero in the word.
        let zeros = trailing_zeros(self.b.func, x, 4);
        let low = n & ((1u64 << zeros) - 1) as u32;
        match n - low {
            _ if low == 0 => None,
            0 => Some((x, low.into())),
            _ if op == Op::Or => None,
            high => {
                let round = match self.sums.rounded.get(&(x, high)) {
                    Some(&(w, block)) if self.scope.holds(block) => w,
                    _ => {
                        let w = self.b.op2(Op::Add, Type::U32, x, high);
                        self.sums.rounded.insert((x, high), (w, self.b.block));
                        w
                    }
                };
                Some((round, low.into()))
            }
        }
    }

    /// Notes that a 32-bit sum does not wrap as a signed number.
    pub(crate) fn note_unwrapped(&mut self, sum: ValueId) {
        self.sums.unwrapped.insert(sum);
    }

    /// Whether a value is a sum that a kernel's argument is part of.
    fn is_pointer(&self, c: Comp, depth: u32) -> bool {
        let part = |c| depth > 0 && self.is_pointer(c, depth - 1);
        self.is_argument(c)
            || match self.sums.get(c) {
                Some(Shape::Offset(base, _)) => part(base),
                Some(Shape::Sum(x, y)) => part(x) || part(y),
                _ => false,
            }
    }

    /// The product that a value is.
    fn as_product(&self, c: Comp) -> Option<(Word, bool, u32)> {
        match (c, self.sums.get(c)) {
            (_, Some(Shape::Product { factor, signed, by })) => Some((factor, signed, by)),
            (Comp::Wide(factor @ Word::Val(_), Word::Imm(0)), _) => Some((factor, false, 1)),
            _ => None,
        }
    }

    /// Notes that a value is a 32-bit number with its sign extended.
    pub(crate) fn note_sign_extended(&mut self, c: Comp, factor: Word) {
        self.sums.note(c, Shape::Product { factor, signed: true, by: 1 });
        if let Word::Val(v) = factor {
            self.sums.extended.insert(v, (c, self.b.block));
        }
    }

    pub(crate) fn add64(&mut self, a: Comp, b: Comp) -> Comp {
        let parts = |this: &mut Self, c: Comp, other: Comp| match c.as_const() {
            Some(n) => (None, n),
            None => {
                // Where no address is computed, the constant would only be added once more.
                let index = this.is_pointer(other, 4);
                let (base, offset) = if index { this.split_index(c) } else { this.split_offset(c) };
                (Some(base), offset)
            }
        };
        let ((x, m), (y, n)) = (parts(self, a, b), parts(self, b, a));
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
        self.sums.note(sum, Shape::Offset(base, offset));
        sum
    }

    /// A sum without constants. A pointer goes to the common part of indices, `(pointer + (y * width + x)) + dx`, so that
    /// neighbours share it.
    fn sum64(&mut self, x: Comp, y: Comp) -> Comp {
        for (pointer, index) in [(x, y), (y, x)] {
            if self.is_argument(pointer)
                && let Some(Shape::Sum(common, rest)) = self.sums.get(index)
                && !self.is_argument(rest)
                && matches!(self.sums.get(common), Some(Shape::Sum(..)))
            {
                let sum = self.pair_sum64(pointer, common);
                return self.pair_sum64(sum, rest);
            }
        }
        self.pair_sum64(x, y)
    }

    fn pair_sum64(&mut self, x: Comp, y: Comp) -> Comp {
        match self.sums.sums.get(&(x, y)) {
            Some(&(sum, block)) if self.scope.holds(block) => sum,
            _ => {
                let sum = self.new_sum64(x, y);
                self.sums.sums.insert((x, y), (sum, self.b.block));
                if self.sums.get(sum).is_none() {
                    self.sums.note(sum, Shape::Sum(x, y));
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
            let low = self.op2(Op::Shl, Type::U32, factor, bits);
            let [low, lo, factor, hi] = [low, lo, factor, hi].map(|w| self.src(w));
            let (sum, carry) = (self.b.gpr(), self.b.func.new_value(Class::Carry));
            self.b.push(Inst::new(Op::Add, Type::U32).src(low).src(lo).dst(sum).dst(carry));
            let high = Inst::new(Op::MadHi, ty).src(factor).src(twice).src(hi).src(carry);
            let high = self.b.value(high);
            return Comp::Wide(sum.into(), high.into());
        }
        let (factor, lo, hi) = (self.src(factor), self.src(lo), self.src(hi));
        let carry = self.b.func.new_value(Class::Carry);
        let low = self.b.gpr();
        let mad = Inst::new(Op::Mad, Type::U32).src(factor).src(by).src(lo).dst(low).dst(carry);
        self.b.push(mad);
        let high = self.b.value(Inst::new(Op::MadHi, ty).src(factor).src(by).src(hi).src(carry));
        Comp::Wide(low.into(), high.into())
    }

    fn is_argument(&self, c: Comp) -> bool {
        matches!(c, Comp::Wide(lo, hi) if self.is_constant(lo) && self.is_constant(hi))
    }

    /// Whether a word was loaded from a place in a constant buffer that is known.
    fn is_constant(&self, w: Word) -> bool {
        let Word::Val(v) = w else { return false };
        self.b.func.def_inst(v).is_some_and(|i| {
            i.op == Op::Ld && i.mem.is_some_and(|m| m.space == Space::Const && m.base().is_empty())
        })
    }

    /// A product with a constant.
    pub(crate) fn mul64(&mut self, a: Comp, by: u64) -> Comp {
        let (base, offset) = if by <= LARGEST_ELEMENT { self.split_index(a) } else { self.split_offset(a) };
        let product = match self.sums.products.get(&(base, by)) {
            Some(&(product, block)) if self.scope.holds(block) => product,
            _ => {
                let product = self.product64(base, by);
                self.sums.products.insert((base, by), (product, self.b.block));
                product
            }
        };
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
            self.sums.note(result, Shape::Product { factor, signed, by: by as u32 });
        }
        result
    }

    fn shift_plain(&mut self, a: Comp, by: u32) -> Comp {
        if by == 0 {
            return a;
        }
        let a = self.operand(a);
        self.comp(Inst::new(Op::Shl, Type::U64).src(a).src(by))
    }
}

/// How many of a word's lowest bits are certainly zero; `depth`: how far to look.
fn trailing_zeros(f: &Function, v: ValueId, depth: u32) -> u32 {
    let Some(def) = f.def_inst(v).filter(|d| depth > 0 && d.ty.words() == 1 && d.dsts.len() == 1) else {
        return 0;
    };
    let of = |n: usize| match def.srcs.get(n) {
        Some(s) => match (s.as_imm(), s.as_val().filter(|_| s.is_plain_val())) {
            (Some(x), _) => x.trailing_zeros(),
            (_, Some(v)) => trailing_zeros(f, v, depth - 1),
            _ => 0,
        },
        None => 0,
    };
    match def.op {
        Op::Shl => def.srcs[1].as_imm().map_or(0, |n| (n & 31) + of(0)),
        Op::Mul if !def.ty.is_float() => of(0) + of(1),
        Op::And => of(0).max(of(1)),
        Op::Add | Op::Or if !def.ty.is_float() && def.srcs.len() == 2 => of(0).min(of(1)),
        _ => 0,
    }
    .min(31)
}
