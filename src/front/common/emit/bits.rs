//! Bits: counting, fields, packing; and opcodes over whole vectors.

use super::super::convert;
use super::Emit;
use super::alu::{Lane, Lowered};
use super::op::Op as N;
use super::value::{Comp, Pred, Word, mask};
use crate::ir::{Aux, Cond, Inst, Op, Rnd, Type};
use arrayvec::ArrayVec;

impl Emit<'_> {
    pub(crate) fn bits(&mut self, l: &Lane<'_>) -> Lowered {
        let (a, b, bits) = (l.src(0), l.src(1), l.sbits);
        if bits == 1 {
            return None;
        }
        let word = match l.op {
            N::BitCount => match a {
                Comp::Wide(lo, hi) => {
                    let lo = self.op1(Op::Popc, Type::U32, lo);
                    let hi = self.op1(Op::Popc, Type::U32, hi);
                    self.op2(Op::Add, Type::U32, lo, hi)
                }
                a => {
                    let w = self.extend(a.word(), bits, false);
                    self.op1(Op::Popc, Type::U32, w)
                }
            },
            N::BitReverse => match a {
                Comp::Wide(lo, hi) => {
                    let lo = self.op1(Op::Brev, Type::U32, lo);
                    let hi = self.op1(Op::Brev, Type::U32, hi);
                    return Some(Comp::Wide(hi, lo));
                }
                a => {
                    let w = self.op1(Op::Brev, Type::U32, a.word());
                    self.op2(Op::Shr, Type::U32, w, 32 - u32::from(bits))
                }
            },
            N::FindLsb => match a {
                Comp::Wide(lo, hi) => {
                    let low = self.lsb(lo);
                    let high = self.lsb(hi);
                    self.of_words(lo, low, high)
                }
                a => {
                    let w = self.extend(a.word(), bits, false);
                    self.lsb(w)
                }
            },
            N::UfindMsb => match a {
                Comp::Wide(lo, hi) => {
                    let low = self.op1(Op::Flo, Type::U32, lo);
                    let high = self.op1(Op::Flo, Type::U32, hi);
                    let high = self.op2(Op::Add, Type::U32, high, 32);
                    let p = self.cmp(Cond::Ne, Type::U32, hi, 0);
                    self.select(p, high, low)
                }
                a => {
                    let w = self.extend(a.word(), bits, false);
                    self.op1(Op::Flo, Type::U32, w)
                }
            },
            N::IfindMsb => {
                let w = self.extend(a.word(), bits, true);
                self.op1(Op::Flo, Type::S32, w)
            }
            N::UfindMsbRev | N::IfindMsbRev => {
                let ty = if l.op == N::IfindMsbRev { Type::S32 } else { Type::U32 };
                let s = self.src(a.word());
                self.inst(Inst::new(Op::Flo, ty).src(s).with_aux(Aux::Shift))
            }
            N::Uclz => {
                let msb = self.op1(Op::Flo, Type::U32, a.word());
                self.op2(Op::Sub, Type::U32, 31, msb)
            }
            N::BitfieldInsert => {
                let field = self.field(l.src(2).word(), l.src(3).word());
                self.op3(Op::Ins, Type::U32, b.word(), field, a.word())
            }
            N::UbitfieldExtract | N::IbitfieldExtract => {
                let field = self.field(b.word(), l.src(2).word());
                let ty = if l.op == N::IbitfieldExtract { Type::S32 } else { Type::U32 };
                self.op2(Op::Ext, ty, a.word(), field)
            }
            N::Ubfe | N::Ibfe => {
                let offset = self.op2(Op::And, Type::U32, b.word(), 31);
                let count = self.op2(Op::And, Type::U32, l.src(2).word(), 31);
                let field = self.field(offset, count);
                let ty = if l.op == N::Ibfe { Type::S32 } else { Type::U32 };
                self.op2(Op::Ext, ty, a.word(), field)
            }
            N::Bfm => {
                let count = self.op2(Op::And, Type::U32, a.word(), 31);
                let one = self.shift(Op::Shl, 32, false, Comp::constant(32, 1), Comp::Word(count));
                let ones = self.op2(Op::Add, Type::U32, one.word(), u32::MAX);
                return Some(self.shift(Op::Shl, 32, false, Comp::Word(ones), b));
            }
            N::Bfi => {
                // The second operand's bits go to where the mask's lowest one is.
                let at = self.lsb(a.word());
                let moved = self.shift(Op::Shl, 32, false, b, Comp::Word(at));
                let x = self.bitwise(Op::And, 32, moved, a);
                let outside = self.not(a);
                let y = self.bitwise(Op::And, 32, l.src(2), outside);
                return Some(self.bitwise(Op::Or, 32, x, y));
            }
            N::ExtractU8 | N::ExtractI8 | N::ExtractU16 | N::ExtractI16 => {
                let size = if matches!(l.op, N::ExtractU8 | N::ExtractI8) { 8 } else { 16 };
                let signed = matches!(l.op, N::ExtractI8 | N::ExtractI16);
                let part = self.part(a, b, bits, size, signed);
                return Some(self.resize(Comp::Word(part), 32, bits, signed));
            }
            N::InsertU8 | N::InsertU16 => {
                let size = if l.op == N::InsertU8 { 8 } else { 16 };
                let part = self.bitwise(Op::And, bits, a, Comp::constant(bits, mask(size).into()));
                let by = self.op2(Op::Mul, Type::U32, b.word(), u32::from(size));
                return Some(self.shift(Op::Shl, bits, false, part, Comp::Word(by)));
            }
            N::PackSplit => return self.pack(l.srcs, bits),
            N::UnpackX => {
                return Some(Comp::Word(a.word()));
            }
            N::UnpackY => match a {
                Comp::Wide(_, hi) => hi,
                a => self.unpack_part(a.word(), 1, 16),
            },
            N::UnpackHalfX => return Some(self.half_to_float(a.word(), 0)),
            N::UnpackHalfY => return Some(self.half_to_float(a.word(), 1)),
            N::PackHalfSplit | N::PackHalfSplitRtz => {
                let rnd = if l.op == N::PackHalfSplit { Rnd::Near } else { Rnd::Zero };
                let (x, y) = (self.half_of(a, rnd), self.half_of(b, rnd));
                self.pack_word(&[x, y], 16)
            }
            N::SadU8x4 => self.byte_differences(a.word(), b.word(), l.src(2).word(), false),
            N::Msad4x8 => self.byte_differences(a.word(), b.word(), l.src(2).word(), true),
            N::Permute => self.op3(Op::Prmt, Type::U32, b.word(), a.word(), l.src(2).word()),
            N::SdotIadd | N::UdotUadd | N::SudotIadd => self.int_dot(l, false)?,
            N::SdotIaddSat | N::UdotUaddSat | N::SudotIaddSat => self.int_dot(l, true)?,
            _ => return None,
        };
        Some(Comp::Word(word))
    }

    /// Position of the lowest one, -1 if there is none.
    pub(crate) fn lsb(&mut self, w: Word) -> Word {
        if let Word::Imm(x) = w {
            return Word::Imm(if x == 0 { u32::MAX } else { x.trailing_zeros() });
        }
        let w = self.src(w);
        convert::lowest_one(&mut self.b, w).into()
    }

    /// Position in the low word where it has any bit, else that in the high word plus 32 (or -1).
    fn of_words(&mut self, lo: Word, low: Word, high: Word) -> Word {
        let found = self.cmp(Cond::Ne, Type::U32, high, u32::MAX);
        let plus = self.op2(Op::Add, Type::U32, high, 32);
        let high = self.select(found, plus, high);
        let p = self.cmp(Cond::Ne, Type::U32, lo, 0);
        self.select(p, low, high)
    }

    /// The operand of field operations: position and length.
    fn field(&mut self, position: Word, length: Word) -> Word {
        match (position, length) {
            (Word::Imm(p), Word::Imm(n)) => Word::Imm(p & 0xff | (n & 0xff) << 8),
            _ => {
                let n = self.op2(Op::Shl, Type::U32, length, 8);
                self.op2(Op::Or, Type::U32, n, position)
            }
        }
    }

    /// The byte or half number `index`, extended to 32 bits.
    fn part(&mut self, a: Comp, index: Comp, bits: u8, size: u8, signed: bool) -> Word {
        let per_word = 32 / u32::from(size);
        if let Word::Imm(i) = index.word() {
            let w = match a {
                Comp::Wide(_, hi) if i % (2 * per_word) >= per_word => hi,
                a => a.word(),
            };
            let part = self.unpack_part(w, i % per_word, size);
            return self.extend(part, size, signed);
        }
        let by = self.op2(Op::Mul, Type::U32, index.word(), u32::from(size));
        let moved = self.shift(Op::Shr, bits, false, a, Comp::Word(by));
        self.extend(moved.word(), size, signed)
    }

    /// Part `i` of `size` bits of a word; what is above it is unspecified.
    pub(crate) fn unpack_part(&mut self, w: Word, i: u32, size: u8) -> Word {
        let at = i * u32::from(size);
        match w {
            Word::Imm(x) => Word::Imm(x >> at & mask(size)),
            w if at == 0 => w,
            w => {
                let w = self.src(w);
                // The topmost part needs no mask.
                let v = if at + u32::from(size) == 32 {
                    self.b.op2(Op::Shr, Type::U32, w, at)
                } else {
                    self.b.op2(Op::Ext, Type::U32, w, at | u32::from(size) << 8)
                };
                self.note_extended(v, size, false);
                v.into()
            }
        }
    }

    /// Parts of 8 or 16 bits, the lowest first, in one word.
    pub(crate) fn pack_word(&mut self, parts: &[Word], size: u8) -> Word {
        if parts.iter().all(|p| matches!(p, Word::Imm(_))) {
            return Word::Imm(parts.iter().rev().fold(0, |word, p| match p {
                Word::Imm(x) => word << size | (x & mask(size)),
                _ => word,
            }));
        }
        match (parts, size) {
            (&[a, b], 16) => self.op3(Op::Prmt, Type::U32, a, 0x5410, b),
            (&[a, b], _) => {
                let w = self.op3(Op::Prmt, Type::U32, a, 0x0040, b);
                self.op2(Op::And, Type::U32, w, 0xffff)
            }
            (&[a, b, c, d], _) => {
                let low = self.op3(Op::Prmt, Type::U32, a, 0x0040, b);
                let high = self.op3(Op::Prmt, Type::U32, c, 0x0040, d);
                self.op3(Op::Prmt, Type::U32, low, 0x5410, high)
            }
            _ => parts[0],
        }
    }

    /// Components of `bits` bits in one of 32 or 64.
    fn pack(&mut self, parts: &[Comp], bits: u8) -> Lowered {
        let words: ArrayVec<Word, 8> = parts.iter().take(8).map(|c| c.word()).collect();
        Some(match (bits, &words[..]) {
            (32, &[lo, hi]) => Comp::Wide(lo, hi),
            (16, &[_, _]) | (8, &[_, _, _, _]) => Comp::Word(self.pack_word(&words, bits)),
            (16, &[a, b, c, d]) => {
                let lo = self.pack_word(&[a, b], 16);
                Comp::Wide(lo, self.pack_word(&[c, d], 16))
            }
            _ => return None,
        })
    }

    /// The sum of the bytes' differences and `sum`; with `masked`, only of bytes that are not zero in `a`.
    fn byte_differences(&mut self, a: Word, b: Word, mut sum: Word, masked: bool) -> Word {
        for i in 0..4 {
            let (x, y) = (self.unpack_part(a, i, 8), self.unpack_part(b, i, 8));
            let (x, mut y) = (self.extend(x, 8, false), self.extend(y, 8, false));
            if masked {
                let counts = self.cmp(Cond::Ne, Type::U32, x, 0);
                y = self.select(counts, y, Word::Imm(0));
            }
            sum = self.op3(Op::Sad, Type::U32, x, y, sum);
        }
        sum
    }

    fn int_dot(&mut self, l: &Lane<'_>, saturate: bool) -> Option<Word> {
        let (a_signed, b_signed) = match l.op {
            N::SdotIadd | N::SdotIaddSat => (true, true),
            N::SudotIadd | N::SudotIaddSat => (true, false),
            _ => (false, false),
        };
        let size = l.part;
        if saturate && size == 16 {
            return Some(self.wide_dot(l, a_signed));
        }
        let mut sum = Word::Imm(0);
        for i in 0..32 / u32::from(size) {
            let x = self.unpack_part(l.src(0).word(), i, size);
            let y = self.unpack_part(l.src(1).word(), i, size);
            let (x, y) = (self.extend(x, size, a_signed), self.extend(y, size, b_signed));
            sum = if i == 0 {
                self.op2(Op::Mul, Type::U32, x, y)
            } else {
                self.op3(Op::Mad, Type::U32, x, y, sum)
            };
        }
        let op = match (saturate, a_signed) {
            (false, _) => N::Iadd,
            (true, true) => N::IaddSat,
            (true, false) => N::UaddSat,
        };
        let srcs = [Comp::Word(sum), l.src(2)];
        self.lane(&Lane { op, srcs: &srcs, ..*l }).map(Comp::word)
    }

    /// A saturating sum of two products of halves: without the addend it has 33 bits already.
    fn wide_dot(&mut self, l: &Lane<'_>, signed: bool) -> Word {
        let mut sum = self.resize(l.src(2), 32, 64, signed);
        for i in 0..2 {
            let x = self.unpack_part(l.src(0).word(), i, 16);
            let y = self.unpack_part(l.src(1).word(), i, 16);
            let (x, y) = (self.extend(x, 16, signed), self.extend(y, 16, signed));
            let product = Comp::Word(self.op2(Op::Mul, Type::U32, x, y));
            let product = self.resize(product, 32, 64, signed);
            sum = self.int2(Op::Add, false, 64, sum, product);
        }
        let (low, high) =
            if signed { (i64::from(i32::MIN), i32::MAX.into()) } else { (0, i64::from(u32::MAX)) };
        let r = self.int2(Op::Min, signed, 64, sum, Comp::constant(64, high as u64));
        let r = if signed { self.int2(Op::Max, true, 64, r, Comp::constant(64, low as u64)) } else { r };
        r.word()
    }

    /// An opcode over whole vectors.
    pub(crate) fn horizontal(
        &mut self,
        op: N,
        bits: u8,
        sbits: u8,
        comps: u8,
        exact: bool,
        v: &[&[Comp]],
    ) -> Option<ArrayVec<Comp, 16>> {
        let one = |c: Comp| [c].into_iter().collect::<ArrayVec<Comp, 16>>();
        let a = *v.first()?;
        let first = *a.first()?;
        Some(match op {
            N::Fdot | N::FdotReplicated => one(self.dot(sbits, exact, a, v.get(1)?)),
            N::Fdph | N::FdphReplicated => {
                let b = *v.get(1)?;
                let dot = self.dot(sbits, exact, a, b);
                one(self.float_sum(sbits, exact, &[dot, *b.get(3)?]))
            }
            N::Fsum => one(self.float_sum(sbits, exact, a)),
            N::AllFequal | N::AllIequal | N::AnyFnequal | N::AnyInequal | N::FallEqual | N::FanyNequal => {
                let float = !matches!(op, N::AllIequal | N::AnyInequal);
                let mut all = Pred::Const(true);
                for (&x, &y) in a.iter().zip(*v.get(1)?) {
                    let since = self.b.func.insts.next_key();
                    let equal = if float {
                        self.float_equal(x, y, sbits)
                    } else {
                        self.compare_ints(Cond::Eq, false, x, y, sbits)
                    };
                    all = self.and_compared(all, equal, since);
                }
                let p =
                    if matches!(op, N::AllFequal | N::AllIequal | N::FallEqual) { all } else { all.not() };
                match op {
                    N::FallEqual | N::FanyNequal => one(self.float_of(p)),
                    _ => one(self.boolean(p, bits)),
                }
            }
            N::Pack => one(self.pack(a, sbits)?),
            N::Unpack => {
                let mut parts = ArrayVec::new();
                let words = match first {
                    Comp::Wide(lo, hi) => [lo, hi],
                    c => [c.word(); 2],
                };
                for i in 0..u32::from(comps) {
                    let at = i * u32::from(bits);
                    let w = words[(at / 32) as usize % 2];
                    let part =
                        if bits == 32 { w } else { self.unpack_part(w, at % 32 / u32::from(bits), bits) };
                    parts.push(Comp::Word(part));
                }
                parts
            }
            N::PackHalf | N::PackHalfRtz => {
                let rnd = if op == N::PackHalf { Rnd::Near } else { Rnd::Zero };
                let (x, y) = (self.half_of(first, rnd), self.half_of(*a.get(1)?, rnd));
                one(Comp::Word(self.pack_word(&[x, y], 16)))
            }
            N::UnpackHalf => (0..2).map(|i| self.half_to_float(first.word(), i)).collect(),
            N::PackSnorm | N::PackUnorm => {
                let signed = op == N::PackSnorm;
                let size = 32 / a.len() as u8;
                let scale = (mask(size) >> u32::from(signed)) as f32;
                let parts: ArrayVec<Word, 4> =
                    a.iter().take(4).map(|&c| self.quantised(c, signed, scale)).collect();
                one(Comp::Word(self.pack_word(&parts, size)))
            }
            N::UnpackSnorm | N::UnpackUnorm => {
                let signed = op == N::UnpackSnorm;
                let size = 32 / comps;
                let scale = (mask(size) >> u32::from(signed)) as f32;
                (0..u32::from(comps))
                    .map(|i| {
                        let part = self.unpack_part(first.word(), i, size);
                        let part = self.extend(part, size, signed);
                        self.dequantised(part, signed, scale)
                    })
                    .collect()
            }
            N::PackTrunc => {
                let size = 32 / a.len() as u8;
                let parts: ArrayVec<Word, 4> = a.iter().take(4).map(|c| c.word()).collect();
                one(Comp::Word(self.pack_word(&parts, size)))
            }
            N::PackSint2x16 | N::PackUint2x16 => {
                let signed = op == N::PackSint2x16;
                let parts: ArrayVec<Word, 2> = a
                    .iter()
                    .take(2)
                    .map(|c| {
                        let ty = if signed { Type::S32 } else { Type::U32 };
                        let top = mask(16) >> u32::from(signed);
                        let w = self.op2(Op::Min, ty, c.word(), top);
                        if signed { self.op2(Op::Max, ty, w, !top) } else { w }
                    })
                    .collect();
                one(Comp::Word(self.pack_word(&parts, 16)))
            }
            N::Mqsad4x8 => {
                let (window, sums) = (*v.get(1)?, *v.get(2)?);
                let pair = Comp::Wide(window.first()?.word(), window.get(1)?.word());
                let mut parts = ArrayVec::new();
                for (i, sum) in (0..).zip(sums.iter().take(4)) {
                    let bytes = self.shift(Op::Shr, 64, false, pair, Comp::constant(32, 8 * i)).word();
                    parts.push(Comp::Word(self.byte_differences(first.word(), bytes, sum.word(), true)));
                }
                parts
            }
            // Opcodes of single components in the table's notation of vectors.
            N::SadU8x4 | N::PackHalfSplit => {
                let srcs: ArrayVec<Comp, 4> = v.iter().filter_map(|s| s.first().copied()).collect();
                one(self.lane(&Lane { op, bits, sbits, exact, part: 0, srcs: &srcs })?)
            }
            _ => return None,
        })
    }
}
