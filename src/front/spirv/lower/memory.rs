//! Loads, stores, copies, atomics, lengths of arrays.

use super::pointer::{Place, Pointer};
use super::value::Value;
use super::{Lower, R};
use crate::front::common::emit::memory::{Atomic, atomic_op, forward};
use crate::front::common::emit::value::{Comp, Pred, Shape, Word};
use crate::front::common::lanes;
use crate::front::spirv::constants::Constant;
use crate::front::spirv::module::Module;
use crate::front::spirv::types::{Info, Majority, Type};
use crate::ir::{Align, Cond, Inst, MemRef, Op as IrOp, Order, Scope, Space, Type as IrType};
use crate::stage::Stage;
use spirv::{Op, StorageClass};
use std::rc::Rc;

/// Bits of memory operands.
const VOLATILE: u32 = 1;
const ALIGNED: u32 = 2;
/// `NonPrivatePointer`, and what makes availability and visibility.
const COHERENT: u32 = 8 | 16 | 32;

/// What an access says of itself.
#[derive(Clone, Copy, Default)]
pub(super) struct Access {
    align: u32,
    order: Order,
}

impl Access {
    /// One of so many bytes' alignment; 0: that of the type.
    pub(super) fn aligned(align: u32) -> Access {
        Access { align, order: Order::Weak }
    }
}

impl Lower<'_, '_> {
    /// Instructions on memory; whether it is one.
    pub(super) fn accesses(&mut self, op: Op) -> R<bool> {
        let x = self.operands();
        let ty = self.ty();
        match op {
            Op::Load if self.holds_opaque(x[0]) => {
                let value = self.value(x[0])?;
                self.define_value(value);
            }
            Op::Store if self.holds_opaque(x[0]) => {
                let variable = (self.instance, x[0]);
                if self.values.get(self.m, variable).is_some() {
                    return self.missing(format!(
                        "a second store to {}, an image or sampler, is",
                        self.m.name(x[0])
                    ));
                }
                let value = Value::Opaque(self.opaque(x[1])?);
                self.values.insert(self.m, variable, (value, self.e.b.block));
            }
            Op::Load => {
                let access = self.access(&x[1..])?;
                let p = self.pointer(x[0])?;
                if p.to != ty && !(self.m.kernel && self.m.ty(p.to) == self.m.ty(ty)) {
                    return self.fail("the result has another type than what the pointer leads to");
                }
                if let Place::Descriptors { number, order } = p.place {
                    let value = self.descriptor(number, order, p.to)?;
                    self.define_value(value);
                    return Ok(true);
                }
                if let (&Place::Slot { slot, first }, Some(shape)) = (&p.place, self.m.shape(p.to)) {
                    let end = first as usize + usize::from(shape.comps);
                    if let Some(vars) = self.slots[slot].clone().get(first as usize..end) {
                        let comps = vars.iter().map(|vars| self.e.read_vars(vars, shape.bits));
                        let comps: Rc<[Comp]> = comps.collect();
                        self.define_value(Value::Comps(comps));
                        return Ok(true);
                    }
                }
                let comps = self.load_with(&p, access)?;
                self.define_of_type(comps)?;
            }
            // It holds this from the beginning.
            Op::Store if self.is_table(x[0]) => {}
            Op::Store => {
                let access = self.access(&x[2..])?;
                let p = self.pointer(x[0])?;
                if self.type_of(x[1])? != p.to {
                    return self.fail("the object has another type than what the pointer leads to");
                }
                let comps = self.comps(x[1])?;
                self.store_with(&p, &comps, access)?;
            }
            Op::CopyMemory => {
                let access = self.access(&x[2..])?;
                let (to, from) = (self.pointer(x[0])?, self.pointer(x[1])?);
                if self.m.ty(to.to) != self.m.ty(from.to) {
                    return self.fail("the pointers lead to different types");
                }
                let comps = self.load_with(&from, access)?;
                self.store_with(&to, &comps, access)?;
            }
            Op::CopyMemorySized => {
                let access = self.access(&x[3..])?;
                let (to, from) = (self.pointer(x[0])?, self.pointer(x[1])?);
                let (Place::Memory(mut to), Place::Memory(mut from)) = (to.place, from.place) else {
                    return self.missing("a copy of these pointers is");
                };
                let align = Align::multiple_of(access.align.max(1));
                (to.align, from.align) = (to.align.strongest(align), from.align.strongest(align));
                let size = self.scalar(x[2])?.word();
                self.e.copy(to, from, size);
            }
            Op::ArrayLength => self.array_length()?,
            Op::ControlBarrier => {
                let (execution, memory) = (self.constant(x[0])?, self.constant(x[1])?);
                let semantics = self.constant(x[2])?;
                self.barrier(Some(execution), memory, semantics)?;
            }
            Op::MemoryBarrier => {
                let (memory, semantics) = (self.constant(x[0])?, self.constant(x[1])?);
                self.barrier(None, memory, semantics)?;
            }
            _ => return self.atomics(op),
        }
        Ok(true)
    }

    /// An operand that is a constant: a scope, or semantics.
    pub(super) fn constant(&self, id: u32) -> R<u32> {
        match self.m.constant_u32(id) {
            Some(x) => Ok(x),
            None => self.missing(format!("{}, which is not constant, is", self.m.name(id))),
        }
    }

    /// The first of an access's memory operands.
    fn access(&self, operands: &[u32]) -> R<Access> {
        let Some(&mask) = operands.first() else { return Ok(Access::default()) };
        let order = if mask & VOLATILE != 0 {
            Order::Volatile
        } else if mask & COHERENT != 0 {
            Order::Coherent
        } else {
            Order::Weak
        };
        let align = if mask & ALIGNED != 0 { operands.get(1).copied().unwrap_or(0) } else { 0 };
        if mask & ALIGNED != 0 && !align.is_power_of_two() {
            return self.fail("the alignment is not a power of two");
        }
        Ok(Access { align, order })
    }

    /// Whether values of a type are stored where the class of memory keeps what is declared so.
    fn check_class(&self, mem: &MemRef, what: &str) -> R<()> {
        if mem.space.is_constant() || mem.space == Space::Uniform {
            return self.fail(format!("{what} to memory that is only read"));
        }
        Ok(())
    }

    pub(super) fn load_value(&mut self, p: &Pointer, align: u32) -> R<Vec<Comp>> {
        self.load_with(p, Access::aligned(align))
    }

    pub(super) fn store_value(&mut self, p: &Pointer, comps: &[Comp], align: u32) -> R<()> {
        self.store_with(p, comps, Access::aligned(align))
    }

    pub(super) fn load_with(&mut self, p: &Pointer, access: Access) -> R<Vec<Comp>> {
        match &p.place {
            Place::Slot { slot, first } => {
                let count = self.m.info(p.to).map_or(0, |info| info.comps);
                let slots = self.slots[*slot].clone();
                let Some(part) = slots.get(*first as usize..(*first + count) as usize) else {
                    return self.fail("the pointer leads outside its variable");
                };
                self.read_slots(part, p.to)
            }
            Place::Members(places) => {
                let mut comps = Vec::new();
                for (n, place) in places.iter().enumerate() {
                    let member = Pointer::new(place.clone(), self.m.part(p.to, n as u32).unwrap_or(0));
                    comps.extend(self.load_with(&member, access)?);
                }
                Ok(comps)
            }
            Place::BuiltIn(b, part) => self.built_in(*b, *part, p.to),
            Place::Attribute(a) => self.load_attribute(a, p.to, None),
            Place::Buffers { .. } => self.fail("an array of buffers is not a value"),
            Place::Descriptors { .. } => self.fail("an array of images or samplers is not a value"),
            Place::Texel(_) => self.fail("a texel is for atomic operations only"),
            Place::Memory(mem) => {
                self.check_size(p.to)?;
                let mem = self.with_access(*mem, p.to, access);
                let mut comps = Vec::new();
                self.load_memory(Part::of(p, mem), &mut comps)?;
                Ok(comps)
            }
        }
    }

    pub(super) fn store_with(&mut self, p: &Pointer, comps: &[Comp], access: Access) -> R<()> {
        let count = self.m.info(p.to).map_or(0, |info| info.comps);
        if count as usize != comps.len() {
            return self.fail("the object has another type than what the pointer leads to");
        }
        match &p.place {
            Place::Slot { slot, first } => {
                let slots = self.slots[*slot].clone();
                let Some(part) = slots.get(*first as usize..(*first + count) as usize) else {
                    return self.fail("the pointer leads outside its variable");
                };
                self.write_slots(part, comps)
            }
            Place::Members(places) => {
                let mut comps = comps;
                for (n, place) in places.iter().enumerate() {
                    let member = Pointer::new(place.clone(), self.m.part(p.to, n as u32).unwrap_or(0));
                    let count = self.m.info(member.to).map_or(0, |info| info.comps) as usize;
                    let (now, rest) = comps.split_at(count.min(comps.len()));
                    self.store_with(&member, now, access)?;
                    comps = rest;
                }
                Ok(())
            }
            Place::BuiltIn(..) => self.fail("a store to an input"),
            Place::Attribute(a) => {
                let mut comps = comps;
                self.store_attribute(a, p.to, &mut comps)
            }
            Place::Buffers { .. } => self.fail("an array of buffers is not a value"),
            Place::Descriptors { .. } => self.fail("a store to an image or a sampler"),
            Place::Texel(_) => self.fail("a texel is for atomic operations only"),
            Place::Memory(mem) => {
                let mem = self.with_access(*mem, p.to, access);
                self.check_class(&mem, "a store")?;
                let mut comps = comps;
                self.store_memory(Part::of(p, mem), &mut comps)
            }
        }
    }

    /// What is known of an access's address, and its order.
    fn with_access(&self, mut mem: MemRef, ty: u32, access: Access) -> MemRef {
        let least = self.m.info(ty).map_or(1, |info| match (access.align, self.m.kernel) {
            (0, true) => info.align,
            (0, false) => info.scalar,
            (said, _) => said,
        });
        mem.align = mem.align.strongest(Align::multiple_of(least.max(1)));
        if access.order == Order::Volatile || mem.order == Order::Weak {
            mem.order = access.order;
        }
        mem
    }

    /// The parts of a composite in memory.
    fn part_of(&self, whole: Part, n: u32) -> Option<Part> {
        let Part { mem, ty, majority, std140, .. } = whole;
        let info = self.m.info(ty)?;
        let ty_of = self.m.part(ty, n)?;
        let stride = self.stride(info, ty_of, std140);
        let mut part = Part { mem, ty: ty_of, majority, spread: None, std140 };
        match &info.ty {
            Type::Struct { .. } => {
                part.mem = forward(mem, self.member_offset(info, n, std140));
                part.majority = self.m.majority(ty, n);
            }
            Type::Array { .. } => part.mem = forward(mem, n.wrapping_mul(stride)),
            Type::Matrix { .. } => match majority {
                Some(Majority { stride, row_major: true }) => {
                    part.mem = forward(mem, n * self.m.info(ty_of)?.scalar);
                    part.spread = Some(stride);
                }
                Some(Majority { stride, .. }) => part.mem = forward(mem, n.wrapping_mul(stride)),
                None => part.mem = forward(mem, n.wrapping_mul(stride)),
            },
            _ => return None,
        }
        Some(part)
    }

    /// From one part of an array, or one column of a matrix, to the next.
    pub(super) fn stride(&self, whole: &Info, part: u32, std140: bool) -> u32 {
        match self.m.info(part) {
            Some(info) if std140 => info.std140.stride() as u32,
            _ => whole.stride,
        }
    }

    /// From the beginning of a structure to a member.
    pub(super) fn member_offset(&self, whole: &Info, n: u32, std140: bool) -> u32 {
        match &whole.ty {
            Type::Struct { members } if std140 => self.m.std140_offset(members, n) as u32,
            _ => whole.offsets.get(n as usize).copied().unwrap_or(0),
        }
    }

    fn load_memory(&mut self, part: Part, out: &mut Vec<Comp>) -> R<()> {
        let Part { mem, ty, spread, .. } = part;
        match self.m.ty(ty) {
            Some(Type::Pointer { class, .. }) => {
                let bytes = self.pointer_bytes(*class);
                let c = self.e.load(mem, Shape::scalar(8 * bytes))[0];
                out.push(self.e.resize(c, 8 * bytes, 64, false));
            }
            Some(Type::Bool | Type::Event | Type::Int { .. } | Type::Float { .. } | Type::Vector { .. }) => {
                let shape = self.shape_of(ty)?;
                match spread {
                    Some(stride) if shape.comps > 1 => {
                        for i in 0..u32::from(shape.comps) {
                            let at = forward(mem, i.wrapping_mul(stride));
                            out.extend(self.e.load(at, Shape { comps: 1, ..shape }));
                        }
                    }
                    _ => out.extend(self.e.load(mem, shape)),
                }
            }
            Some(Type::Array { .. } | Type::Struct { .. } | Type::Matrix { .. }) => {
                for n in 0..self.m.parts(ty).unwrap_or(0) {
                    let Some(p) = self.part_of(part, n) else { break };
                    self.load_memory(p, out)?;
                }
            }
            _ => return self.missing(format!("values of the type {} are", self.m.type_name(ty))),
        }
        Ok(())
    }

    fn store_memory(&mut self, part: Part, comps: &mut &[Comp]) -> R<()> {
        let Part { mem, ty, spread, .. } = part;
        let mut take = |n: usize| {
            let (now, rest) = comps.split_at(n.min(comps.len()));
            *comps = rest;
            now
        };
        match self.m.ty(ty) {
            Some(Type::Pointer { class, .. }) => {
                let bytes = self.pointer_bytes(*class);
                let c = take(1)[0];
                let c = self.e.resize(c, 64, 8 * bytes, false);
                self.e.store(mem, Shape::scalar(8 * bytes), &[c], 1);
            }
            Some(Type::Bool | Type::Event | Type::Int { .. } | Type::Float { .. } | Type::Vector { .. }) => {
                let shape = self.shape_of(ty)?;
                let now = take(shape.comps.into());
                match spread {
                    Some(stride) if shape.comps > 1 => {
                        for (i, &c) in now.iter().enumerate() {
                            let at = forward(mem, (i as u32).wrapping_mul(stride));
                            self.e.store(at, Shape { comps: 1, ..shape }, &[c], 1);
                        }
                    }
                    _ => self.e.store(mem, shape, now, u16::MAX),
                }
            }
            Some(Type::Array { .. } | Type::Struct { .. } | Type::Matrix { .. }) => {
                for n in 0..self.m.parts(ty).unwrap_or(0) {
                    let Some(p) = self.part_of(part, n) else { break };
                    self.store_memory(p, comps)?;
                }
            }
            _ => return self.missing(format!("values of the type {} are", self.m.type_name(ty))),
        }
        Ok(())
    }

    fn pointer_bytes(&self, class: StorageClass) -> u8 {
        match (class, self.m.pointer_bytes) {
            (StorageClass::PhysicalStorageBuffer, _) | (_, 0) => 8,
            (_, bytes) => bytes as u8,
        }
    }

    /// How many elements fit between the last member's begin and the end of its buffer.
    fn array_length(&mut self) -> R<()> {
        let x = self.operands();
        let p = self.pointer(x[0])?;
        let (Place::Memory(mem), Some(Type::Struct { members })) = (&p.place, self.m.ty(p.to)) else {
            return self.fail("this is not a pointer to a structure");
        };
        let info = self.m.info(p.to);
        let last = members.last().and_then(|&ty| self.m.info(ty)).map(|info| (info.ty.clone(), info.stride));
        let (Some((Type::RuntimeArray { .. }, stride)), Some(info)) = (last, info) else {
            return self.fail("the last member is not an array of unknown length");
        };
        if x[1] as usize + 1 != members.len() || mem.space != Space::Buffer {
            return self.fail("this is not an array of unknown length in a storage buffer");
        }
        let offset = info.offsets.last().copied().unwrap_or(0).wrapping_add(mem.offset as u32);
        let start = match mem.base()[..] {
            [v] => self.e.op2(IrOp::Add, IrType::U32, Word::Val(v), offset),
            _ => Word::Imm(offset),
        };
        let mut whole = MemRef::new(Space::Buffer).with_buffer(mem.buffer);
        whole.index = mem.index;
        let size = self.e.inst(Inst::new(IrOp::BufSize, IrType::U32).with_mem(whole));
        let end = self.e.op2(IrOp::Max, IrType::U32, size, start);
        let bytes = self.e.op2(IrOp::Sub, IrType::U32, end, start);
        let length = self.e.op2(IrOp::Div, IrType::U32, bytes, stride.max(1));
        self.define([Comp::Word(length)])
    }

    // ---- barriers and atomics

    /// The fence that a scope and semantics ask for.
    fn fence(&self, scope: u32, semantics: u32) -> R<Option<Scope>> {
        /// Acquire, Release, AcquireRelease, SequentiallyConsistent.
        const ORDERED: u32 = 2 | 4 | 8 | 16;
        match (semantics & ORDERED).count_ones() {
            0 => return Ok(None),
            1 => {}
            _ => return self.fail("memory semantics have more than one order"),
        }
        Ok(match scope {
            0 => Some(Scope::System),
            1 | 5 => Some(Scope::Gpu),
            2 => Some(Scope::Cta),
            3 | 4 => None,
            _ => return self.fail("the scope is not known"),
        })
    }

    fn barrier(&mut self, execution: Option<u32>, memory: u32, semantics: u32) -> R<()> {
        let fence = self.fence(memory, semantics)?;
        let whole_block = match execution {
            None | Some(3 | 4) => false,
            Some(2) => true,
            Some(_) => return self.missing("a barrier of more than a block is"),
        };
        // A barrier of a block orders what its threads did before by itself (PTX ISA, `bar.sync`).
        if let Some(scope) = fence.filter(|&scope| !(whole_block && scope == Scope::Cta)) {
            lanes::fence(&mut self.e.b, scope);
        }
        if whole_block && !matches!(self.stage(), Stage::Compute | Stage::TessControl) {
            return self.fail(format!("a barrier of a block does not exist in a {} shader", self.stage()));
        }
        if whole_block {
            lanes::barrier(&mut self.e.b);
        }
        Ok(())
    }

    fn atomics(&mut self, op: Op) -> R<bool> {
        use Atomic::*;
        let x = self.operands();
        let one = |op, data: &[u32]| Some((op, data.to_vec()));
        let (rmw, store) = match op {
            Op::AtomicLoad
            | Op::AtomicStore
            | Op::AtomicFlagTestAndSet
            | Op::AtomicFlagClear
            | Op::AtomicIIncrement
            | Op::AtomicIDecrement => (None, matches!(op, Op::AtomicStore | Op::AtomicFlagClear)),
            Op::AtomicExchange => (one(Exchange, &x[3..]), false),
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => {
                (one(CompSwap, &[x[5], x[4]]), false)
            }
            Op::AtomicIAdd => (one(Add, &x[3..]), false),
            // The machine has no subtraction of 64 bits.
            Op::AtomicISub => (one(Add, &x[3..]), false),
            Op::AtomicSMin => (one(Imin, &x[3..]), false),
            Op::AtomicUMin => (one(Umin, &x[3..]), false),
            Op::AtomicSMax => (one(Imax, &x[3..]), false),
            Op::AtomicUMax => (one(Umax, &x[3..]), false),
            Op::AtomicAnd => (one(And, &x[3..]), false),
            Op::AtomicOr => (one(Or, &x[3..]), false),
            Op::AtomicXor => (one(Xor, &x[3..]), false),
            Op::AtomicFAddEXT => (one(Fadd, &x[3..]), false),
            Op::AtomicFMinEXT => (one(Fmin, &x[3..]), false),
            Op::AtomicFMaxEXT => (one(Fmax, &x[3..]), false),
            _ => return Ok(false),
        };
        let p = self.pointer(x[0])?;
        let mut mem = match &p.place {
            Place::Memory(mem) => Some(*mem),
            Place::Texel(_) => None,
            _ => return self.missing("an atomic operation on this pointer is"),
        };
        let ty = if store || op == Op::AtomicFlagTestAndSet { p.to } else { self.ty() };
        let bits = match self.m.ty(ty) {
            Some(Type::Int { bits, .. } | Type::Float { bits }) => *bits,
            Some(Type::Pointer { .. }) => 64,
            _ => return self.fail("atomic operations are on numbers"),
        };
        if self.m.shape(p.to).is_some_and(|shape| shape != Shape::scalar(bits)) {
            return self.fail("the result has another type than what the pointer leads to");
        }
        if let Some(mem) = &mut mem {
            mem.order = match op {
                Op::AtomicLoad | Op::AtomicStore | Op::AtomicFlagClear => Order::Volatile,
                _ => Order::Weak,
            };
            mem.align = mem.align.strongest(Align::multiple_of(u32::from(bits) / 8));
            self.check_class(mem, "an atomic operation")?;
        }
        let semantics = self.constant(x[2])?;
        let fence = self.fence(self.constant(x[1])?, semantics)?;
        /// Release, AcquireRelease, SequentiallyConsistent; Acquire and the last two.
        const BEFORE: u32 = 4 | 8 | 16;
        const AFTER: u32 = 2 | 8 | 16;
        if let Some(scope) = fence.filter(|_| semantics & BEFORE != 0) {
            lanes::fence(&mut self.e.b, scope);
        }
        let shape = Shape::scalar(bits);
        let texel = match p.place {
            Place::Texel(t) => Some(t),
            _ => None,
        };
        let old = match (op, rmw) {
            (Op::AtomicLoad, _) => Some(match (mem, &texel) {
                (Some(mem), _) => self.e.load(mem, shape)[0],
                (None, Some(t)) => self.load_texel(t, shape)?,
                (None, None) => self.e.undef(bits),
            }),
            (Op::AtomicStore | Op::AtomicFlagClear, _) => {
                let c = if op == Op::AtomicStore { self.scalar(x[3])? } else { Comp::constant(bits, 0) };
                if !c.fits(bits) {
                    return self.fail("the value has another type than what the pointer leads to");
                }
                match (mem, &texel) {
                    (Some(mem), _) => self.e.store(mem, shape, &[c], 1),
                    (None, Some(t)) => self.store_texel(t, shape, c)?,
                    (None, None) => {}
                }
                None
            }
            (_, rmw) => {
                if mem.is_some_and(|mem| mem.space == Space::Local) {
                    return self.missing("an atomic operation on private memory is");
                }
                let (atomic, data) = match (op, rmw) {
                    (_, Some((atomic, data))) => {
                        let mut data = data.iter().map(|&id| self.scalar(id)).collect::<R<Vec<Comp>>>()?;
                        if op == Op::AtomicISub && data[0].fits(bits) {
                            data[0] = self.e.int2(IrOp::Sub, false, bits, Comp::constant(bits, 0), data[0]);
                        }
                        (atomic, data)
                    }
                    (Op::AtomicIDecrement, _) => (Add, vec![Comp::constant(bits, u64::MAX)]),
                    (Op::AtomicFlagTestAndSet, _) => (Exchange, vec![Comp::constant(bits, 1)]),
                    _ => (Add, vec![Comp::constant(bits, 1)]),
                };
                if !data.iter().all(|c| c.fits(bits)) {
                    return self.fail("an operand has another type than what the pointer leads to");
                }
                let Some(atom) = atomic_op(atomic, bits) else {
                    return self.missing(format!("an atomic operation of {bits} bits is"));
                };
                let old = match (mem, &texel) {
                    (Some(mem), _) => self.e.atomic(mem, atom, &data),
                    (None, Some(t)) => self.texel_atomic(t, atom, &data)?,
                    (None, None) => self.e.undef(bits),
                };
                let old = self.atomic_result(old, bits);
                Some(match op {
                    Op::AtomicFlagTestAndSet => {
                        let p: Pred = self.e.cmp(Cond::Ne, IrType::U32, old.word(), 0);
                        Comp::Bool(p)
                    }
                    _ => old,
                })
            }
        };
        if let Some(scope) = fence.filter(|_| semantics & AFTER != 0) {
            lanes::fence(&mut self.e.b, scope);
        }
        if let Some(old) = old {
            self.define_of_type([old])?;
        }
        Ok(true)
    }
}

/// What lies somewhere in memory.
#[derive(Clone, Copy)]
struct Part {
    mem: MemRef,
    ty: u32,
    majority: Option<Majority>,
    spread: Option<u32>,
    std140: bool,
}

impl Part {
    /// What a pointer leads to.
    fn of(p: &Pointer, mem: MemRef) -> Part {
        Part { mem, ty: p.to, majority: p.majority, spread: p.spread, std140: p.std140 }
    }
}

/// A constant as it lies in memory.
pub(super) struct ConstantBytes {
    pub(super) bytes: Vec<u8>,
    /// Those that say something: not what is undefined or between members.
    said: Vec<bool>,
}

impl ConstantBytes {
    /// So many bytes that say nothing.
    pub(super) fn new(size: usize) -> ConstantBytes {
        let size = size.next_multiple_of(4);
        ConstantBytes { bytes: vec![0; size], said: vec![false; size] }
    }

    /// Puts a constant of a type there, from `at` on.
    pub(super) fn put(&mut self, m: &Module, c: &Constant, ty: u32, at: usize) {
        let size = m.info(ty).map_or(0, |info| info.size as usize);
        let end = (at + size).min(self.said.len());
        match c {
            Constant::Bits(bits) => {
                if let Some(place) = self.bytes.get_mut(at..at + size) {
                    place.copy_from_slice(&bits.to_le_bytes()[..size.min(8)]);
                    self.said[at..end].fill(true);
                }
            }
            Constant::Composite(parts) => {
                let Some(info) = m.info(ty) else { return };
                for (n, part) in parts.iter().enumerate() {
                    let Some(part_ty) = m.part(ty, n as u32) else { return };
                    let offset = match info.ty {
                        Type::Struct { .. } => info.offsets[n] as usize,
                        Type::Vector { .. } => n * info.scalar as usize,
                        _ => n * info.stride as usize,
                    };
                    self.put(m, part, part_ty, at + offset);
                }
            }
            Constant::Null => self.said.get_mut(at..end).unwrap_or_default().fill(true),
            Constant::Undef | Constant::Sampler(_) => {}
        }
    }

    /// Its words, but for those that say nothing.
    pub(super) fn words(&self) -> Vec<Option<u32>> {
        let words = self.bytes.as_chunks().0.iter().zip(self.said.as_chunks::<4>().0);
        words.map(|(&bytes, said)| said.contains(&true).then(|| u32::from_le_bytes(bytes))).collect()
    }
}
