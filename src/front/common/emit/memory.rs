//! Loads, stores, copies and atomics: from vectors to accesses as wide as their alignment allows.
//!
//! A reader says of an access what is known of its address ([`MemRef::align`]); the widest accesses that this proves aligned are
//! made, and no more is asserted. Bounds of storage buffers and the places of uniform blocks are `lower/buffers`' business, by
//! memory space.

use super::Emit;
use super::alu::int_type;
use super::value::{Comp, Shape, Word};
use crate::chip::CONST_BANK_BYTES;
use crate::ir::{Align, AtomOp, Aux, Class, Cond, Inst, MemRef, Merge, Op, Space, Src as Operand};
use crate::ir::{SrcKind, SrcMods, Type};
use arrayvec::ArrayVec;

/// Bytes up to which a copy is unrolled.
const UNROLLED: u32 = 256;

/// Atomic operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are the meaning")]
#[rustfmt::skip]
pub enum Atomic {
    Add, Sub, Imin, Umin, Imax, Umax, And, Or, Xor, Exchange, CompSwap, Fadd, Fmin, Fmax, FcompSwap, IncWrap, DecWrap,
}

/// A piece of memory that has been loaded: byte offset, bytes (at most 4), bits.
type Piece = (u32, u32, Word);

impl Emit<'_> {
    /// An address of 32 bits; constants go into the offset.
    pub(crate) fn at(&mut self, mem: MemRef, address: Word, plus: u32) -> MemRef {
        match address {
            Word::Imm(x) if !straddles(&mem, x.wrapping_add(plus)) => {
                mem.with_offset(x.wrapping_add(plus) as i32)
            }
            w => {
                let base = self.val(w);
                mem.with_base(&[base]).with_offset(plus as i32)
            }
        }
    }

    pub(crate) fn at64(&mut self, mem: MemRef, c: Comp) -> MemRef {
        let (base, offset) = match self.split_offset(c) {
            // What an offset can be is the instructions' matter; 24 bits, signed, is the least of them.
            (base, n) if (-(1 << 23)..1 << 23).contains(&(n as i64)) => (base, n as i32),
            _ => (c, 0),
        };
        let (lo, hi) = self.words64(base);
        let base = [self.val(lo), self.val(hi)];
        mem.with_base(&base).with_offset(offset)
    }

    /// The same memory in the buffer of a number: constant, or a value.
    pub(crate) fn numbered_by(&mut self, mut mem: MemRef, number: Word) -> MemRef {
        match number {
            Word::Imm(n) if n < 1 << 16 => mem.with_buffer(n as u16),
            w => {
                mem.index = Some(self.val(w));
                mem
            }
        }
    }

    /// Loads components that lie one after another.
    pub(crate) fn load(&mut self, mem: MemRef, shape: Shape) -> ArrayVec<Comp, 16> {
        self.load_as(mem, shape, false)
    }

    /// The same, with the sign extended where a component of less than 32 bits is loaded alone.
    pub(crate) fn load_as(&mut self, mem: MemRef, shape: Shape, signed: bool) -> ArrayVec<Comp, 16> {
        // Booleans in memory are 32 bits.
        let size = if shape.bits == 1 { 4 } else { u32::from(shape.bits) / 8 };
        let total = size * u32::from(shape.comps);
        let mut pieces: ArrayVec<Piece, 128> = ArrayVec::new();
        let mut at = 0;
        while at < total {
            let bytes = chunk(mem, at, total - at);
            let r = self.moved(mem, at);
            match bytes {
                1 | 2 => {
                    let signed = signed && bytes == size;
                    let ty = match (bytes, signed) {
                        (1, false) => Type::U8,
                        (1, true) => Type::S8,
                        (_, false) => Type::U16,
                        (_, true) => Type::S16,
                    };
                    let v = self.b.ld(ty, r)[0];
                    self.note_extended(v, bytes as u8 * 8, signed);
                    pieces.push((at, bytes, v.into()));
                }
                _ => {
                    let ty = Type::of_words(bytes as usize / 4).unwrap_or(Type::U32);
                    let values = self.b.ld(ty, r);
                    for (i, &v) in values.iter().enumerate() {
                        pieces.push((at + 4 * i as u32, 4, v.into()));
                    }
                }
            }
            at += bytes;
        }
        (0..u32::from(shape.comps))
            .map(|i| {
                let at = i * size;
                match shape.bits {
                    64 => {
                        let lo = self.assemble(&pieces, at, 4);
                        Comp::Wide(lo, self.assemble(&pieces, at + 4, 4))
                    }
                    1 => {
                        let w = self.assemble(&pieces, at, 4);
                        Comp::Bool(self.truth(Comp::Word(w), 32))
                    }
                    _ => Comp::Word(self.assemble(&pieces, at, size)),
                }
            })
            .collect()
    }

    /// The bytes from `at` on, out of what was loaded: part of a piece, or several pieces.
    fn assemble(&mut self, pieces: &[Piece], at: u32, bytes: u32) -> Word {
        let first = pieces.partition_point(|&(start, len, _)| start + len <= at);
        let Some(&(start, len, w)) = pieces.get(first) else { return Word::Imm(0) };
        if len == bytes {
            return w;
        }
        if len > bytes {
            return self.unpack_part(w, (at - start) / bytes, bytes as u8 * 8);
        }
        let parts: ArrayVec<Word, 4> =
            pieces[first..].iter().take((bytes / len) as usize).map(|&(.., w)| w).collect();
        self.pack_word(&parts, len as u8 * 8)
    }

    fn moved(&self, mem: MemRef, by: u32) -> MemRef {
        let mut r = mem;
        r.offset = mem.offset.wrapping_add(by as i32);
        r.align = mem.align.plus(by as i32);
        r
    }

    /// Stores the components of the mask.
    pub(crate) fn store(&mut self, mem: MemRef, shape: Shape, comps: &[Comp], write: u16) {
        let size = if shape.bits == 1 { 4 } else { u32::from(shape.bits) / 8 };
        // Words with booleans as memory has them.
        let words: ArrayVec<Comp, 16> = comps
            .iter()
            .take(16)
            .map(|&c| match c {
                Comp::Bool(p) => Comp::Word(self.select(p, Word::Imm(1), Word::Imm(0))),
                c => c,
            })
            .collect();
        let n = words.len().min(shape.comps.into()) as u32;
        let mut first = 0;
        while first < n {
            if write >> first & 1 == 0 {
                first += 1;
                continue;
            }
            let mut end = first;
            while end < n && write >> end & 1 != 0 {
                end += 1;
            }
            let (mut at, stop) = (first * size, end * size);
            while at < stop {
                let bytes = chunk(mem, at, stop - at);
                let parts: ArrayVec<Word, 4> = (0..bytes.div_ceil(4))
                    .map(|i| self.bytes(&words, size, at + 4 * i, bytes.min(4)))
                    .collect();
                let ty = match bytes {
                    1 => Type::U8,
                    2 => Type::U16,
                    _ => Type::of_words(parts.len()).unwrap_or(Type::U32),
                };
                let data = match parts[..] {
                    [w] => self.src(w),
                    [lo, hi] => self.wide(lo, hi),
                    _ => {
                        let values: ArrayVec<_, 4> = parts.iter().map(|&w| self.val(w)).collect();
                        Operand::tuple(&values)
                    }
                };
                let r = self.moved(mem, at);
                self.b.st(ty, r, data);
                at += bytes;
            }
            first = end;
        }
    }

    /// Bytes of a vector as they lie in memory: a part of a component, or several components.
    fn bytes(&mut self, comps: &[Comp], size: u32, at: u32, bytes: u32) -> Word {
        let c = comps[(at / size) as usize];
        if bytes > size {
            let parts: ArrayVec<Word, 4> =
                (0..bytes / size).map(|i| comps[(at / size + i) as usize].word()).collect();
            return self.pack_word(&parts, size as u8 * 8);
        }
        let within = at % size;
        let w = match c {
            Comp::Wide(_, hi) if within >= 4 => hi,
            c => c.word(),
        };
        let parts = size.min(4) / bytes;
        if parts == 1 { w } else { self.unpack_part(w, within % 4 / bytes, bytes as u8 * 8) }
    }

    /// An address moved by a number of strides.
    pub(crate) fn stepped(&mut self, mem: MemRef, index: Comp, stride: u32) -> MemRef {
        if let Some(n) = index.as_const() {
            return forward(mem, (n as u32).wrapping_mul(stride));
        }
        let base = mem.base();
        let wide = matches!(mem.space, Space::Global | Space::Generic);
        let mut r = mem;
        if wide {
            let (index, more) = self.without_constant(index, stride);
            r = forward(r, more);
            let (lo, hi) = match index {
                Comp::Wide(lo, hi) => (lo, Some(hi)),
                c => (c.word(), None),
            };
            let extended = hi.map_or(Some(true), |hi| self.extended(lo, hi));
            let bytes = match extended.filter(|_| i32::try_from(stride).is_ok()) {
                // The product of what was 32 bits.
                Some(signed) => {
                    let ty = if signed { Type::S32 } else { Type::U32 };
                    Comp::Wide(self.op2(Op::Mul, Type::U32, lo, stride), self.op2(Op::MulHi, ty, lo, stride))
                }
                None => {
                    let index = self.resize(index, if hi.is_some() { 64 } else { 32 }, 64, true);
                    self.int2(Op::Mul, false, 64, index, Comp::constant(64, stride.into()))
                }
            };
            let old = match base[..] {
                [lo, hi] => Comp::Wide(lo.into(), hi.into()),
                _ => Comp::constant(64, 0),
            };
            let sum = self.int2(Op::Add, false, 64, old, bytes);
            let values = self.values(sum);
            r.set_base(&values);
        } else {
            let bytes = self.op2(Op::Mul, Type::U32, index.word(), stride);
            let sum = match base[..] {
                [v] => self.op2(Op::Add, Type::U32, Word::Val(v), bytes),
                _ => bytes,
            };
            let v = self.val(sum);
            r.set_base(&[v]);
        }
        r.align = weakened(r.align, stride);
        r
    }

    /// An index of 64 bits without a constant that was added to it, and the bytes that this is.
    fn without_constant(&self, index: Comp, stride: u32) -> (Comp, u32) {
        /// So far from an address no access is split off.
        const NEAR: i64 = 1 << 16;
        let constant = || {
            let Comp::Wide(Word::Val(lo), Word::Val(hi)) = index else { return None };
            let sum = self.b.func.def_inst(lo).filter(|i| i.op == Op::Add && i.ty.words() == 2)?;
            let [Operand { kind: SrcKind::Pair([x, y]), mods }, c] = sum.srcs.as_slice() else { return None };
            let bytes = (c.as_imm64()? as i64).checked_mul(stride.into())?;
            let plain = sum.dsts.as_slice() == [lo, hi] && *mods == SrcMods::default();
            (plain && bytes.abs() < NEAR).then_some((Comp::Wide((*x).into(), (*y).into()), bytes as u32))
        };
        constant().unwrap_or((index, 0))
    }

    /// Whether a number of 64 bits is its lower half extended, and with its sign.
    fn extended(&self, lo: Word, hi: Word) -> Option<bool> {
        let (Word::Val(lo), Word::Val(hi)) = (lo, hi) else { return (hi == Word::Imm(0)).then_some(false) };
        let sign = self.b.func.def_inst(hi).filter(|i| i.op == Op::Shr && i.ty == Type::S32)?;
        (sign.srcs[0] == Operand::val(lo) && sign.srcs[1].as_imm() == Some(31)).then_some(true)
    }

    /// Copies a number of bytes.
    pub(crate) fn copy(&mut self, to: MemRef, from: MemRef, size: Word) {
        let aligned = to.align.bytes().min(from.align.bytes());
        match size {
            Word::Imm(size) if size <= UNROLLED => {
                let mut at = 0;
                while at < size {
                    let bytes = aligned.min(16).min(1 << (size - at).ilog2());
                    let shape = words_of(bytes);
                    let comps = self.load(forward(from, at), shape);
                    self.store(forward(to, at), shape, &comps, u16::MAX);
                    at += bytes;
                }
            }
            Word::Imm(size) => {
                let unit = aligned.min(16).min(1 << size.trailing_zeros().min(4));
                self.copy_loop(to, from, Word::Imm(size / unit), unit);
            }
            size => self.copy_loop(to, from, size, 1),
        }
    }

    /// Copies a number of units.
    fn copy_loop(&mut self, to: MemRef, from: MemRef, count: Word, unit: u32) {
        let done = self.ssa.var(Class::Gpr);
        self.write_vars(&[done], Comp::Word(Word::Imm(0)));
        let func = &mut *self.b.func;
        let [header, body, next, exit] = [(); 4].map(|()| func.detached_block());
        func.blocks[header].merge = Merge::Loop { exit, cont: next };
        self.go(header);
        self.begin(header);
        let index = self.read_vars(&[done], 32);
        let more = self.cmp(Cond::Lt, Type::U32, index.word(), count);
        self.fork(more, body, exit);
        self.ssa.seal(self.b.func, body);
        self.begin(body);
        let shape = words_of(unit);
        let source = self.stepped(from, index, unit);
        let comps = self.load(source, shape);
        let target = self.stepped(to, index, unit);
        self.store(target, shape, &comps, u16::MAX);
        let plus = self.op2(Op::Add, Type::U32, index.word(), 1);
        self.write_vars(&[done], Comp::Word(plus));
        self.go(next);
        self.close_loop(header, next, exit);
    }

    /// Stores constant bytes where 16 of them are aligned.
    pub(crate) fn store_bytes(&mut self, mem: MemRef, bytes: &[u8]) {
        for (n, chunk) in bytes.chunks(16).enumerate() {
            let mut at = mem.with_align(Align::multiple_of(16));
            at.offset = mem.offset.wrapping_add(16 * n as i32);
            let size = if chunk.len() % 4 == 0 { 4 } else { 1 };
            let comps: ArrayVec<Comp, 16> = chunk
                .chunks(size)
                .map(|b| {
                    Comp::constant(8 * size as u8, b.iter().rev().fold(0, |w, &b| w << 8 | u64::from(b)))
                })
                .collect();
            let shape = Shape { bits: 8 * size as u8, comps: comps.len() as u8 };
            self.store(at, shape, &comps, u16::MAX);
        }
    }

    /// Stores constant words that nothing is stored over, two at a time where they lie so; what is no number need not be there.
    pub(crate) fn store_words(&mut self, mem: MemRef, words: &[Option<u32>]) {
        for (n, pair) in words.chunks(2).enumerate() {
            let at = self.moved(mem, 8 * n as u32);
            match *pair {
                [Some(lo), Some(hi)] if at.align.bytes() >= 8 => {
                    self.b.st(Type::U64, at, Operand::imm64(u64::from(lo) | u64::from(hi) << 32));
                }
                _ => {
                    for (k, &word) in (0..).zip(pair) {
                        if let Some(word) = word {
                            let at = self.moved(at, 4 * k);
                            self.b.st(Type::U32, at, Operand::imm(word));
                        }
                    }
                }
            }
        }
    }

    /// What an atomic operation of this type finds in memory.
    pub(crate) fn atomic(&mut self, mem: MemRef, (op, ty): (AtomOp, Type), data: &[Comp]) -> Comp {
        let mut inst = Inst::new(Op::Atom, ty).with_mem(mem).with_aux(Aux::Atom(op));
        for &c in data {
            let c = self.operand(c);
            inst.srcs.push(c);
        }
        self.comp(inst)
    }
}

/// The machine's operation and type; `None`: there is none of so many bits.
pub(crate) fn atomic_op(op: Atomic, bits: u8) -> Option<(AtomOp, Type)> {
    let int = |signed| int_type(bits, signed);
    let float = if bits == 64 { Type::F64 } else { Type::F32 };
    if !matches!(bits, 32 | 64) {
        return None;
    }
    Some(match op {
        Atomic::Add => (AtomOp::Add, int(false)),
        Atomic::Sub => (AtomOp::Sub, int(false)),
        Atomic::Imin => (AtomOp::Min, int(true)),
        Atomic::Umin => (AtomOp::Min, int(false)),
        Atomic::Imax => (AtomOp::Max, int(true)),
        Atomic::Umax => (AtomOp::Max, int(false)),
        Atomic::And => (AtomOp::And, int(false)),
        Atomic::Or => (AtomOp::Or, int(false)),
        Atomic::Xor => (AtomOp::Xor, int(false)),
        Atomic::Exchange => (AtomOp::Exch, int(false)),
        // Floats are compared by their bits: zeros of both signs differ, a NaN equals itself.
        Atomic::CompSwap | Atomic::FcompSwap => (AtomOp::Cas, int(false)),
        Atomic::Fadd => (AtomOp::Add, float),
        Atomic::Fmin => (AtomOp::Fmin, float),
        Atomic::Fmax => (AtomOp::Fmax, float),
        Atomic::IncWrap => (AtomOp::Inc, int(false)),
        Atomic::DecWrap => (AtomOp::Dec, int(false)),
    })
}

/// The same memory a constant number of bytes further on.
pub(crate) fn forward(mem: MemRef, by: u32) -> MemRef {
    let mut r = mem;
    r.offset = mem.offset.wrapping_add(by as i32);
    r.align = mem.align.plus(by as i32);
    r
}

/// What stays true of an address after a multiple of `stride` has been added.
fn weakened(align: Align, stride: u32) -> Align {
    let log2 = align.log2.min(stride.trailing_zeros() as u8);
    Align { log2, rest: align.rest & ((1u64 << log2) - 1) as u32 }
}

/// A vector of that many bytes: 1, 2, 4, 8 or 16.
fn words_of(bytes: u32) -> Shape {
    Shape { bits: 8 * bytes.min(4) as u8, comps: bytes.div_ceil(4) as u8 }
}

/// Whether an access at a fixed offset may lie partly beyond a bank of constant memory. No instruction has such an offset; it goes
/// into a register, as valid programs have it in code that never runs.
fn straddles(mem: &MemRef, offset: u32) -> bool {
    /// Sixteen components of 64 bits.
    const LONGEST: u32 = 128;
    let end = offset.saturating_add(LONGEST);
    let beyond = offset < CONST_BANK_BYTES && end > CONST_BANK_BYTES;
    mem.space == Space::Const && (beyond || end == u32::MAX)
}

/// Bytes of the next access: a power of two that the address is a multiple of, and so is the distance from the
/// start for the parts of a word. Constant buffers are read a word at a time, which operands can do.
fn chunk(mem: MemRef, at: u32, rest: u32) -> u32 {
    let most = if mem.space.is_constant() { 4 } else { 16 };
    let aligned = mem.align.plus(at as i32).bytes().min(most);
    let inner = if at == 0 { 4 } else { 1 << at.trailing_zeros().min(2) };
    let bytes = aligned.min(1 << rest.ilog2());
    if bytes > inner && inner < 4 { inner } else { bytes }
}
