//! Loads, stores and atomics: from NIR's vectors to accesses as wide as their alignment allows.
//!
//! NIR says of every access what is known of its address (`align_mul`, `align_offset`); the front-end splits it into
//! the widest accesses that this proves aligned and asserts no more. Bounds of storage buffers and the places of
//! uniform blocks are `lower/buffers`' business, by memory space.

use super::super::ast::{Dest, Src};
use super::super::indices::Indices;
use super::super::intrinsics::{Atomic, Mem};
use super::super::names::{Access, Set};
use super::Lower;
use crate::front::common::emit::memory::atomic_op;
use crate::front::common::emit::value::{Comp, Word};
use crate::ir::{Align, Cond, MemRef, Op, Order, Space, Type};
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

impl<'a> Lower<'a, '_> {
    /// A buffer's number: constant, or a value.
    fn numbered(&mut self, mem: MemRef, src: &Src) -> MemRef {
        let number = self.src_comp(src, 0).word();
        self.e.numbered_by(mem, number)
    }

    /// The uniform block with a number. Where the first is the default one, it lies in the bank of inputs.
    fn uniform_block(&mut self, mut mem: MemRef, src: &Src) -> MemRef {
        match self.block_number(src) {
            Some(number) => self.e.numbered_by(mem, number),
            None => {
                mem.space = Space::Const;
                mem.with_buffer(self.module.request.abi.input_bank.into())
            }
        }
    }

    /// A uniform block's number among the declared ones; none: it is the default one.
    pub(super) fn block_number(&mut self, src: &Src) -> Option<Word> {
        let number = self.src_comp(src, 0).word();
        match number {
            _ if !self.module.shader.default_block => Some(number),
            Word::Imm(n) => n.checked_sub(1).map(Word::Imm),
            _ => Some(self.e.op2(Op::Sub, Type::U32, number, 1)),
        }
    }

    /// Whether a value is an address among the kernel's constants.
    pub(super) fn is_constant_pointer(&self, address: Comp) -> bool {
        matches!(address, Comp::Wide(Word::Val(low), _) if self.constant_pointers.contains(&low))
    }

    pub(super) fn note_constant_pointer(&mut self, address: Comp) {
        if let Comp::Wide(Word::Val(low), _) = address {
            self.constant_pointers.insert(low);
        }
    }

    /// The place of a store or an atomic.
    fn written(&mut self, mem: Mem, srcs: &[Src], ix: &Indices, bits: u8) -> Option<MemRef> {
        let mut r = self.place(mem, srcs, ix, bits)?;
        self.module.constants_written |= r.readonly;
        r.readonly = false;
        Some(r)
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
                return Some(self.e.at(r, offset, start as u32));
            }
            Mem::Deref => return None,
        };
        if space == Space::Shared && self.stage().is_graphics() {
            self.not_here("shared memory");
            return None;
        }
        let mut r = MemRef::new(space).with_align(align(ix, bits));
        r.order = order(ix.access);
        let constant =
            matches!(mem, Mem::GlobalConstant | Mem::GlobalConstantOffset | Mem::GlobalConstantBounded);
        // What is reordered at will nobody writes meanwhile.
        r.readonly = r.order == Order::Weak && (constant || ix.access.has(Access::REORDERABLE));
        Some(match mem {
            Mem::Global | Mem::GlobalConstant => {
                let a = self.src_comp(first, 0);
                r.readonly |= self.is_constant_pointer(a);
                self.e.at64(r, a)
            }
            Mem::Global2x32 => {
                let (lo, hi) = (self.src_comp(first, 0).word(), self.src_comp(first, 1).word());
                self.e.at64(r, Comp::Wide(lo, hi))
            }
            Mem::GlobalConstantOffset | Mem::GlobalConstantBounded => {
                // Addresses of 32 bits are extended, as elsewhere.
                let a = self.src_comp(first, 0);
                let (lo, hi) = self.e.words64(a);
                let (a, n) = (Comp::Wide(lo, hi), self.src_comp(srcs.get(1)?, 0).word());
                let sum = self.e.int2(Op::Add, false, 64, a, Comp::Wide(n, Word::Imm(0)));
                self.e.at64(r, sum)
            }
            Mem::Ssbo | Mem::Ubo => {
                let r = if mem == Mem::Ubo { self.uniform_block(r, first) } else { self.numbered(r, first) };
                let offset = self.src_comp(srcs.get(1)?, 0).word();
                self.e.at(r, offset, 0)
            }
            Mem::UboVec4 => {
                let r = self
                    .uniform_block(r, first)
                    .with_align(Align::new(16, ix.component.wrapping_mul(u32::from(bits) / 8)));
                let slot = self.src_comp(srcs.get(1)?, 0).word();
                let offset = self.e.op2(Op::Shl, Type::U32, slot, 4);
                self.e.at(r, offset, base.wrapping_mul(16).wrapping_add(r.align.rest))
            }
            Mem::Shared => {
                let offset = self.src_comp(first, 0).word();
                self.e.at(r, offset, base)
            }
            Mem::Scratch => {
                let start = self.module.scratch;
                let mut r = self.named(r, start);
                r.align = r.align.plus(start as i32);
                let offset = self.src_comp(first, 0).word();
                self.e.at(r, offset, base.wrapping_add(start))
            }
            Mem::Uniform => {
                let r = r.with_buffer(abi.input_bank.into()).with_align(Align::multiple_of(16));
                let slot = self.src_comp(first, 0).word();
                let offset = self.e.op2(Op::Shl, Type::U32, slot, 4);
                self.e.at(r, offset, base.wrapping_mul(16))
            }
            _ => {
                let start = u32::from(abi.input_offset);
                let mut r = r.with_buffer(abi.input_bank.into());
                r.align = r.align.plus(start as i32);
                let offset = self.src_comp(first, 0).word();
                self.e.at(r, offset, base.wrapping_add(start))
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
                let comps = self.e.load_as(r, shape, signed);
                self.define(dest, &comps);
                if let Some(constants) = self.module.constants_at.filter(|_| mem == Mem::KernelInput)
                    && let Some(at) = srcs.first().and_then(|s| self.src_comp(s, 0).as_const())
                    && ix.base.wrapping_add(at as u32) == constants
                {
                    comps.iter().take(1).for_each(|&c| self.note_constant_pointer(c));
                }
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
        let vars: Vec<_> = (0..shape.words()).map(|_| self.e.ssa.var(shape.class())).collect();
        let per = vars.len() / usize::from(shape.comps);
        for list in vars.chunks(per) {
            self.e.write_vars(list, Comp::constant(shape.bits, 0));
        }
        let join = self.e.begin_when(inside);
        if let Some(r) = self.place(Mem::GlobalConstantBounded, srcs, ix, shape.bits) {
            let comps = self.e.load(r, shape);
            vars.chunks(per).zip(comps).for_each(|(list, c)| self.e.write_vars(list, c));
        }
        self.e.end_when(join);
        let comps: ArrayVec<Comp, 16> =
            vars.chunks(per).map(|list| self.e.read_vars(list, shape.bits)).collect();
        self.define(dest, &comps);
    }

    pub(super) fn store_intrinsic(&mut self, mem: Mem, srcs: &[Src], ix: &Indices) {
        if mem == Mem::Deref {
            return self.store_deref(srcs, ix);
        }
        let Some((data, rest)) = srcs.split_first() else { return };
        let shape = self.src_shape(data);
        if let Some(r) = self.written(mem, rest, ix, shape.bits) {
            let comps = self.src_comps(data);
            self.e.store(r, shape, &comps, ix.write_mask.unwrap_or(u16::MAX));
        }
    }

    // ---- atomics

    pub(super) fn atomic_intrinsic(&mut self, mem: Mem, op: Atomic, dest: &Dest, srcs: &[Src], ix: &Indices) {
        let bits = self.dest_shape(dest).bits;
        let data = if matches!(op, Atomic::CompSwap | Atomic::FcompSwap) { 2 } else { 1 };
        let Some(split) = srcs.len().checked_sub(data) else { return self.define_undef(dest) };
        let (address, data) = srcs.split_at(split);
        let place = match mem {
            Mem::Deref => self.deref_memory(address, ix),
            mem => self.written(mem, address, ix, bits),
        };
        let Some(mut r) = place else { return self.define_undef(dest) };
        r.order = Order::Weak;
        let data: ArrayVec<Comp, 2> = data.iter().map(|s| self.src_comp(s, 0)).collect();
        let Some(atom) = atomic_op(op, bits) else {
            self.error(self.span, format!("there are no atomics of {bits} bits"));
            return self.define_undef(dest);
        };
        if !data.iter().all(|c| c.fits(bits)) {
            self.error(self.span, format!("the operands do not have {bits} bits"));
            return self.define_undef(dest);
        }
        let old = self.e.atomic(r, atom, &data);
        let old = self.atomic_result(old, bits);
        self.define(dest, &[old]);
    }
}
