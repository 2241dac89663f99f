//! Loads, stores and atomics: from NIR's vectors to accesses as wide as their alignment allows.
//!
//! NIR says of every access what is known of its address (`align_mul`, `align_offset`); the front-end splits it into
//! the widest accesses that this proves aligned and asserts no more. Bounds of storage buffers and the places of
//! uniform blocks are `lower/buffers`' business, by memory space.

use super::super::ast::{Dest, Src};
use super::super::indices::Indices;
use super::super::intrinsics::{Atomic, Mem};
use super::super::names::{Access, Set};
use super::value::{Comp, Word};
use super::{Lower, Shape};
use crate::chip::CONST_BANK_BYTES;
use crate::ir::{Align, AtomOp, Cond, Inst, MemRef, Op, Order, Space, Src as Operand, Type};
use arrayvec::ArrayVec;

/// How an access is ordered that has these qualifiers.
pub(super) fn order(access: Access) -> Order {
    if access.has(Access::VOLATILE) {
        Order::Volatile
    } else if access.has(Access::COHERENT.with(Access::ATOMIC)) {
        Order::Coherent
    } else {
        Order::Weak
    }
}

/// What is said of the address of an access to components of `bits` bits.
fn align(ix: &Indices, bits: u8) -> Align {
    match ix.align_mul {
        None => Align::multiple_of(u32::from(bits.max(8)) / 8),
        Some(mul) => Align::new(mul, ix.align_offset),
    }
}

/// A piece of memory that has been loaded: byte offset, bytes (at most 4), bits.
type Piece = (u32, u32, Word);

impl<'a> Lower<'a, '_> {
    /// An address of 32 bits; constants go into the offset.
    fn at(&mut self, mem: MemRef, address: Word, plus: u32) -> MemRef {
        match address {
            Word::Imm(x) if !straddles(&mem, x.wrapping_add(plus)) => {
                mem.with_offset(x.wrapping_add(plus) as i32)
            }
            w => {
                let base = self.e.val(w);
                mem.with_base(&[base]).with_offset(plus as i32)
            }
        }
    }

    fn at64(&mut self, mem: MemRef, c: Comp) -> MemRef {
        let (base, offset) = match self.split_offset(c) {
            // What an offset can be is the instructions' matter; 24 bits, signed, is the least of them.
            (base, n) if (-(1 << 23)..1 << 23).contains(&(n as i64)) => (base, n as i32),
            _ => (c, 0),
        };
        let (lo, hi) = self.e.words64(base);
        let base = [self.e.val(lo), self.e.val(hi)];
        mem.with_base(&base).with_offset(offset)
    }

    /// A buffer's number: constant, or a value.
    fn numbered(&mut self, mem: MemRef, src: &Src) -> MemRef {
        let number = self.src_comp(src, 0).word();
        self.numbered_by(mem, number)
    }

    pub(super) fn numbered_by(&mut self, mut mem: MemRef, number: Word) -> MemRef {
        match number {
            Word::Imm(n) if n < 1 << 16 => mem.with_buffer(n as u16),
            w => {
                mem.index = Some(self.e.val(w));
                mem
            }
        }
    }

    /// The place that the sources (without a store's data) and indices of an intrinsic name.
    fn place(&mut self, mem: Mem, srcs: &[Src], ix: &Indices, bits: u8) -> Option<MemRef> {
        let abi = self.module.request.abi;
        let first = srcs.first()?;
        let base = ix.base;
        let space = match mem {
            Mem::Global
            | Mem::Global2x32
            | Mem::GlobalConstant
            | Mem::GlobalConstantOffset
            | Mem::GlobalConstantBounded => Space::Global,
            Mem::Ssbo => Space::Buffer,
            Mem::Ubo | Mem::UboVec4 => Space::Uniform,
            Mem::Shared => Space::Shared,
            Mem::Scratch => Space::Local,
            Mem::Uniform | Mem::KernelInput | Mem::PushConstant => Space::Const,
            Mem::Constant => {
                let mut r = self.constants(base)?;
                let (start, offset) = (r.offset, self.src_comp(first, 0).word());
                r.align = align(ix, bits).plus(start.wrapping_sub(base as i32));
                return Some(self.at(r, offset, start as u32));
            }
            Mem::Deref => return None,
        };
        if space == Space::Shared && self.stage().is_graphics() {
            self.not_here("shared memory");
            return None;
        }
        let mut r = MemRef::new(space).with_align(align(ix, bits));
        r.order = order(ix.access);
        Some(match mem {
            Mem::Global | Mem::GlobalConstant => {
                let a = self.src_comp(first, 0);
                self.at64(r, a)
            }
            Mem::Global2x32 => {
                let (lo, hi) = (self.src_comp(first, 0).word(), self.src_comp(first, 1).word());
                self.at64(r, Comp::Wide(lo, hi))
            }
            Mem::GlobalConstantOffset | Mem::GlobalConstantBounded => {
                // Addresses of 32 bits are extended, as elsewhere.
                let a = self.src_comp(first, 0);
                let (lo, hi) = self.e.words64(a);
                let (a, n) = (Comp::Wide(lo, hi), self.src_comp(srcs.get(1)?, 0).word());
                let sum = self.int2(Op::Add, false, 64, a, Comp::Wide(n, Word::Imm(0)));
                self.at64(r, sum)
            }
            Mem::Ssbo | Mem::Ubo => {
                let r = self.numbered(r, first);
                let offset = self.src_comp(srcs.get(1)?, 0).word();
                self.at(r, offset, 0)
            }
            Mem::UboVec4 => {
                let r = self
                    .numbered(r, first)
                    .with_align(Align::new(16, ix.component.wrapping_mul(u32::from(bits) / 8)));
                let slot = self.src_comp(srcs.get(1)?, 0).word();
                let offset = self.e.op2(Op::Shl, Type::U32, slot, 4);
                self.at(r, offset, base.wrapping_mul(16).wrapping_add(r.align.rest))
            }
            Mem::Shared => {
                let offset = self.src_comp(first, 0).word();
                self.at(r, offset, base)
            }
            Mem::Scratch => {
                let start = self.module.scratch;
                let mut r = self.named(r, start);
                r.align = r.align.plus(start as i32);
                let offset = self.src_comp(first, 0).word();
                self.at(r, offset, base.wrapping_add(start))
            }
            Mem::Uniform => {
                let r = r.with_buffer(abi.input_bank.into()).with_align(Align::multiple_of(16));
                let slot = self.src_comp(first, 0).word();
                let offset = self.e.op2(Op::Shl, Type::U32, slot, 4);
                self.at(r, offset, base.wrapping_mul(16))
            }
            _ => {
                let start = u32::from(abi.input_offset);
                let mut r = r.with_buffer(abi.input_bank.into());
                r.align = r.align.plus(start as i32);
                let offset = self.src_comp(first, 0).word();
                self.at(r, offset, base.wrapping_add(start))
            }
        })
    }

    pub(super) fn load_intrinsic(&mut self, mem: Mem, dest: &Dest, srcs: &[Src], ix: &Indices) {
        let shape = self.dest_shape(dest);
        if mem == Mem::Deref {
            return self.load_deref(dest, srcs, ix);
        }
        if mem == Mem::GlobalConstantBounded {
            return self.load_bounded(dest, srcs, ix);
        }
        match self.place(mem, srcs, ix, shape.bits) {
            Some(r) => {
                let signed = matches!(dest, Dest::Ssa(def) if self.signed_loads.contains(&def.index));
                let comps = self.load_as(r, shape, signed);
                self.define(dest, &comps);
            }
            None => self.define_undef(dest),
        }
    }

    /// A load where it ends before the bound, zeros where it does not.
    fn load_bounded(&mut self, dest: &Dest, srcs: &[Src], ix: &Indices) {
        let shape = self.dest_shape(dest);
        let offset = self.src_comp(&srcs[1], 0).word();
        let bound = self.src_comp(&srcs[2], 0).word();
        let size = u32::from(shape.bits.max(8)) / 8 * u32::from(shape.comps);
        // The sum may wrap, so the offset is compared with what the bound leaves.
        let fits = self.e.cmp(Cond::Ge, Type::U32, bound, size);
        let rest = self.e.op2(Op::Sub, Type::U32, bound, size);
        let inside = self.e.cmp(Cond::Le, Type::U32, offset, rest);
        let inside = self.e.and(fits, inside);
        let vars: Vec<_> = (0..super::words(shape)).map(|_| self.ssa.var(super::class(shape))).collect();
        let per = vars.len() / usize::from(shape.comps);
        for list in vars.chunks(per) {
            self.write_vars(list, Comp::constant(shape.bits, 0));
        }
        self.when(inside, |this| {
            let Some(r) = this.place(Mem::GlobalConstantBounded, srcs, ix, shape.bits) else { return };
            let comps = this.load(r, shape);
            vars.chunks(per).zip(comps).for_each(|(list, c)| this.write_vars(list, c));
        });
        let comps: ArrayVec<Comp, 16> =
            vars.chunks(per).map(|list| self.read_vars(list, shape.bits)).collect();
        self.define(dest, &comps);
    }

    pub(super) fn store_intrinsic(&mut self, mem: Mem, srcs: &[Src], ix: &Indices) {
        if mem == Mem::Deref {
            return self.store_deref(srcs, ix);
        }
        let Some((data, rest)) = srcs.split_first() else { return };
        let shape = self.src_shape(data);
        if let Some(r) = self.place(mem, rest, ix, shape.bits) {
            let comps = self.src_comps(data);
            self.store(r, shape, &comps, ix.write_mask.unwrap_or(u16::MAX));
        }
    }

    /// Loads components that lie one after another.
    pub(super) fn load(&mut self, mem: MemRef, shape: Shape) -> ArrayVec<Comp, 16> {
        self.load_as(mem, shape, false)
    }

    /// The same, with the sign extended where a component of less than 32 bits is loaded alone.
    fn load_as(&mut self, mem: MemRef, shape: Shape, signed: bool) -> ArrayVec<Comp, 16> {
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
                    let v = self.e.b.ld(ty, r)[0];
                    self.e.note_extended(v, bytes as u8 * 8, signed);
                    pieces.push((at, bytes, v.into()));
                }
                _ => {
                    let ty = Type::of_words(bytes as usize / 4).unwrap_or(Type::U32);
                    let values = self.e.b.ld(ty, r);
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
                        Comp::Bool(self.e.truth(Comp::Word(w), 32))
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
    pub(super) fn store(&mut self, mem: MemRef, shape: Shape, comps: &[Comp], write: u16) {
        let size = if shape.bits == 1 { 4 } else { u32::from(shape.bits) / 8 };
        // Words with booleans as memory has them.
        let words: ArrayVec<Comp, 16> = comps
            .iter()
            .take(16)
            .map(|&c| match c {
                Comp::Bool(p) => Comp::Word(self.e.select(p, Word::Imm(1), Word::Imm(0))),
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
                    [w] => self.e.src(w),
                    [lo, hi] => self.e.wide(lo, hi),
                    _ => {
                        let values: ArrayVec<_, 4> = parts.iter().map(|&w| self.e.val(w)).collect();
                        Operand::tuple(&values)
                    }
                };
                let r = self.moved(mem, at);
                self.e.b.st(ty, r, data);
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

    // ---- atomics

    pub(super) fn atomic_intrinsic(&mut self, mem: Mem, op: Atomic, dest: &Dest, srcs: &[Src], ix: &Indices) {
        let bits = self.dest_shape(dest).bits;
        let data = if matches!(op, Atomic::CompSwap | Atomic::FcompSwap) { 2 } else { 1 };
        let Some(split) = srcs.len().checked_sub(data) else { return self.define_undef(dest) };
        let (address, data) = srcs.split_at(split);
        let place = match mem {
            Mem::Deref => self.deref_memory(address, ix),
            mem => self.place(mem, address, ix, bits),
        };
        let Some(mut r) = place else { return self.define_undef(dest) };
        r.order = Order::Weak;
        let data: ArrayVec<Comp, 2> = data.iter().map(|s| self.src_comp(s, 0)).collect();
        let Some((op, ty)) = self.atomic_op(op, bits) else { return self.define_undef(dest) };
        if !data.iter().all(|c| c.fits(bits)) {
            self.error(self.span, format!("the operands do not have {bits} bits"));
            return self.define_undef(dest);
        }
        let mut inst = Inst::new(Op::Atom, ty).with_mem(r).with_aux(crate::ir::Aux::Atom(op));
        for c in data {
            let c = self.e.operand(c);
            inst.srcs.push(c);
        }
        let old = self.e.comp(inst);
        self.define(dest, &[old]);
    }

    /// The machine's operation and type.
    pub(super) fn atomic_op(&mut self, op: Atomic, bits: u8) -> Option<(AtomOp, Type)> {
        let int = |signed| super::alu::int_type(bits, signed);
        let float = if bits == 64 { Type::F64 } else { Type::F32 };
        if !matches!(bits, 32 | 64) {
            self.error(self.span, format!("there are no atomics of {bits} bits"));
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
