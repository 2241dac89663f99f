//! Pointers: where they lead, and chains of accesses.

use super::attribute::Attribute;
use super::image::Texel;
use super::value::Value;
use super::{Lower, R};
use crate::front::common::emit::memory::forward;
use crate::front::common::emit::value::{Comp, Word};
use crate::front::spirv::types::{Majority, Type};
use crate::ir::{Align, Cond, MemRef, Op as IrOp, Order, Space, Sv, Type as IrType};
use spirv::{BuiltIn, Op, StorageClass};
use std::rc::Rc;

/// What a pointer leads to.
#[derive(Clone)]
pub(super) enum Place {
    Memory(MemRef),
    /// Scalars from `first` on of a variable that needs no memory.
    Slot {
        slot: usize,
        first: u32,
    },
    /// A structure's members, each somewhere of its own.
    Members(Rc<[Place]>),
    /// Elements of an array of buffers: the number of the first.
    Buffers {
        space: Space,
        number: Word,
    },
    /// What the launch gives: one of its parts, or all.
    BuiltIn(BuiltIn, Option<Word>),
    /// An input or output of a graphics stage.
    Attribute(Box<Attribute>),
    /// Images, samplers or both: the number of the first.
    Descriptors {
        number: Word,
        order: Order,
    },
    /// A texel of an image.
    Texel(Box<Texel>),
}

#[derive(Clone)]
pub(super) struct Pointer {
    pub(super) place: Place,
    /// The type of what it leads to.
    pub(super) to: u32,
    /// How matrices there lie.
    pub(super) majority: Option<Majority>,
    /// Bytes from one component of a vector to the next, where it is a column of a matrix whose rows lie together.
    pub(super) spread: Option<u32>,
    /// What is there lies by the rules of std140, whatever its type says.
    pub(super) std140: bool,
}

impl Pointer {
    pub(super) fn new(place: Place, to: u32) -> Pointer {
        Pointer { place, to, majority: None, spread: None, std140: false }
    }

    pub(super) fn memory_mut(&mut self) -> Option<&mut MemRef> {
        match &mut self.place {
            Place::Memory(mem) => Some(mem),
            _ => None,
        }
    }

    /// The words that it is made of, but for memory.
    pub(super) fn words_mut(&mut self) -> Vec<&mut Word> {
        match &mut self.place {
            Place::Buffers { number, .. } | Place::Descriptors { number, .. } => vec![number],
            Place::BuiltIn(_, part) => part.iter_mut().collect(),
            Place::Attribute(a) => a.words_mut(),
            Place::Texel(t) => t.words_mut(),
            // A variable's own memory is at a known place.
            Place::Memory(_) | Place::Slot { .. } | Place::Members(_) => Vec::new(),
        }
    }
}

/// The bits of an address that say which window of the generic space it is in.
const WINDOW: u32 = 0xff00_0000;

impl Lower<'_, '_> {
    /// Instructions that give pointers, or take them apart; whether it is one.
    pub(super) fn pointers(&mut self, op: Op) -> R<bool> {
        let x = self.operands();
        let ty = self.ty();
        match op {
            Op::AccessChain | Op::InBoundsAccessChain => {
                let base = self.pointer(x[0])?;
                let p = self.chain(base, &x[1..])?;
                self.define_pointer(p)?;
            }
            Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                let base = self.pointer(x[0])?;
                let base_ty = self.type_of(x[0])?;
                let base = self.next_element(base, base_ty, x[1])?;
                let p = self.chain(base, &x[2..])?;
                self.define_pointer(p)?;
            }
            Op::PtrCastToGeneric | Op::GenericCastToPtr => self.recast(x[0])?,
            Op::GenericCastToPtrExplicit => {
                let p = self.pointer(x[0])?;
                self.explicit(p, x[1])?;
            }
            Op::ConvertPtrToU => {
                let address = self.pointer_number(x[0])?;
                let bits = self.shape_of(ty)?.bits;
                let c = self.e.resize(address, 64, bits, false);
                self.define([c])?;
            }
            Op::ConvertUToPtr => {
                let bits = self.type_of(x[0]).and_then(|ty| self.shape_of(ty))?.bits;
                let c = self.scalar(x[0])?;
                let c = self.e.resize(c, bits, 64, false);
                let p = self.pointer_at(c, ty)?;
                self.define_value(Value::Pointer(p));
            }
            Op::Bitcast => {
                let source = self.type_of(x[0])?;
                let is_pointer = |ty| matches!(self.m.ty(ty), Some(Type::Pointer { .. }));
                match (is_pointer(source), is_pointer(ty)) {
                    (false, false) => return Ok(false),
                    // It says when a variable lives, and nothing else.
                    (true, true) if self.simple.whole(self.m.code.insts[self.n].result) => {}
                    (true, true) => self.recast(x[0])?,
                    (true, false) => {
                        let address = self.pointer_number(x[0])?;
                        let comps = self.reinterpreted(&[address], 64, ty)?;
                        self.define(comps)?;
                    }
                    (false, true) => {
                        let bits = self.shape_of(source)?.bits;
                        let c = match self.comps(x[0])?[..] {
                            [c] => self.e.resize(c, bits, 64, false),
                            [Comp::Word(lo), Comp::Word(hi)] if bits == 32 => Comp::Wide(lo, hi),
                            _ => return self.fail("the operand is not an address"),
                        };
                        let p = self.pointer_at(c, ty)?;
                        self.define_value(Value::Pointer(p));
                    }
                }
            }
            Op::CopyObject | Op::ExpectKHR => {
                let value = self.value(x[0])?;
                if self.type_of(x[0])? != ty {
                    return self.fail("the operand has another type than the result");
                }
                self.define_value(value);
            }
            Op::PtrEqual | Op::PtrNotEqual => {
                let (a, b) = (self.pointer_number(x[0])?, self.pointer_number(x[1])?);
                let cond = if op == Op::PtrEqual { Cond::Eq } else { Cond::Ne };
                let p = self.e.compare_ints(cond, false, a, b, 64);
                self.define([Comp::Bool(p)])?;
            }
            Op::PtrDiff => {
                let source = self.type_of(x[0])?;
                let (a, b) = (self.pointer_number(x[0])?, self.pointer_number(x[1])?);
                let Some(&Type::Pointer { to, .. }) = self.m.ty(source) else {
                    return self.fail("the operands are not pointers");
                };
                let stride = self.element_stride(source, to);
                let d = self.e.int2(IrOp::Sub, true, 64, a, b);
                let d = self.e.int2(IrOp::Div, true, 64, d, Comp::constant(64, stride.max(1).into()));
                let bits = self.shape_of(ty)?.bits;
                let d = self.e.resize(d, 64, bits, true);
                self.define([d])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A pointer as one of the result's type.
    fn recast(&mut self, id: u32) -> R<()> {
        match (self.value(id)?, self.m.ty(self.ty())) {
            (Value::Pointer(mut p), Some(&Type::Pointer { to, .. })) => {
                if let (Op::Bitcast, Place::Memory(_)) = (self.op(), &p.place) {
                    p.to = to;
                    p.spread = None;
                }
                self.define_pointer(p)
            }
            // An address is the same for every class that generic pointers can have, and null stays null.
            (Value::Comps(comps), Some(Type::Pointer { .. })) => self.define_of_type(comps),
            _ => self.fail("the result is not a pointer"),
        }
    }

    /// A pointer as the result, whose type says what it leads to.
    fn define_pointer(&mut self, mut p: Pointer) -> R<()> {
        let Some(&Type::Pointer { to, .. }) = self.m.ty(self.ty()) else {
            return self.fail("the result is not a pointer");
        };
        let same = p.to == to || self.m.ty(p.to) == self.m.ty(to);
        if !same {
            if !self.m.kernel {
                return self.fail("the result's type does not point to what the operands lead to");
            }
            if let Place::Slot { .. } | Place::Members(_) = p.place {
                return self.fail("the result's type does not point to what the operands lead to");
            }
            p.to = to;
        }
        self.define_value(Value::Pointer(p));
        Ok(())
    }

    /// Bytes from one element to the next where a pointer of a type is stepped.
    fn element_stride(&self, pointer_type: u32, to: u32) -> u32 {
        let said = self.m.decoration(pointer_type, spirv::Decoration::ArrayStride);
        match said.and_then(|x| x.first()) {
            Some(&stride) => stride,
            None => self.m.info(to).map_or(1, |info| info.size.next_multiple_of(info.align.into()) as u32),
        }
    }

    fn next_element(&mut self, base: Pointer, ty: u32, index: u32) -> R<Pointer> {
        use StorageClass::{PhysicalStorageBuffer, StorageBuffer, Uniform};
        if let Some(Type::Pointer { class: StorageBuffer | Uniform | PhysicalStorageBuffer, .. }) =
            self.m.ty(ty)
            && !self.m.has(ty, spirv::Decoration::ArrayStride)
        {
            return self.fail("the type of a pointer to elements in a buffer has no ArrayStride");
        }
        if self.m.constant_index(index) == Some(0) {
            return Ok(base);
        }
        let stride = self.element_stride(ty, base.to);
        let Place::Memory(mem) = base.place else {
            return self.missing("a pointer to another element of what is not an array is");
        };
        let index = self.index(index)?;
        Ok(Pointer { place: Place::Memory(self.e.stepped(mem, index, stride)), ..base })
    }

    /// An index, signed, of at least 32 bits.
    pub(super) fn index(&mut self, id: u32) -> R<Comp> {
        let ty = self.type_of(id)?;
        if !self.m.is_int(ty) {
            return self.fail("an index is not an integer");
        }
        let bits = self.shape_of(ty)?.bits;
        let c = self.scalar(id)?;
        Ok(self.e.resize(c, bits, bits.max(32), true))
    }

    fn chain(&mut self, mut p: Pointer, path: &[u32]) -> R<Pointer> {
        for &id in path {
            p = self.inside(p, id)?;
        }
        Ok(p)
    }

    /// One step into a composite.
    fn inside(&mut self, p: Pointer, id: u32) -> R<Pointer> {
        let constant = self.m.constant_index(id);
        let member = match self.m.ty(p.to) {
            Some(Type::Struct { members }) => {
                let n =
                    constant.and_then(|n| u32::try_from(n).ok()).filter(|&n| (n as usize) < members.len());
                match n {
                    Some(n) => n,
                    None => return self.fail("the index of a member is not a constant within the structure"),
                }
            }
            Some(
                Type::Array { .. } | Type::RuntimeArray { .. } | Type::Vector { .. } | Type::Matrix { .. },
            ) => 0,
            _ => return self.fail(format!("there is nothing inside a {}", self.m.type_name(p.to))),
        };
        let Some(part) = self.m.part(p.to, member) else {
            return self.fail("the path leads nowhere");
        };
        let part_size = self.m.info(part).map_or(0, |info| info.scalar);
        match p.place {
            Place::Slot { slot, first } => {
                let n = constant.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
                let first = first + self.m.comps_before(p.to, n);
                Ok(Pointer { to: part, ..Pointer::new(Place::Slot { slot, first }, part) })
            }
            Place::Members(places) => match places.get(member as usize) {
                Some(place) => Ok(Pointer::new(place.clone(), part)),
                None => self.fail("the path leads nowhere"),
            },
            Place::BuiltIn(b, None) => {
                let index = self.index(id)?.word();
                Ok(Pointer::new(Place::BuiltIn(b, Some(index)), part))
            }
            Place::BuiltIn(..) | Place::Texel(_) => self.fail("the path leads nowhere"),
            Place::Attribute(a) => {
                let place = self.attribute_part(&a, p.to, id, member)?;
                Ok(Pointer::new(place, part))
            }
            Place::Descriptors { number, order } => {
                let index = self.index(id)?.word();
                let (_, each) = super::layout::elements(self.m, part);
                let step = self.e.op2(IrOp::Mul, IrType::U32, index, each.max(1));
                let number = self.e.op2(IrOp::Add, IrType::U32, number, step);
                Ok(Pointer::new(Place::Descriptors { number, order }, part))
            }
            Place::Buffers { space, number } => {
                let index = self.index(id)?.word();
                let (_, each) = super::layout::elements(self.m, part);
                let step = self.e.op2(IrOp::Mul, IrType::U32, index, each.max(1));
                let number = self.e.op2(IrOp::Add, IrType::U32, number, step);
                if let Some(Type::Array { .. } | Type::RuntimeArray { .. }) = self.m.ty(part) {
                    return Ok(Pointer::new(Place::Buffers { space, number }, part));
                }
                let mem = MemRef::new(space).with_align(Align::multiple_of(16));
                let mem = self.e.numbered_by(mem, number);
                Ok(Pointer::new(Place::Memory(mem), part))
            }
            Place::Memory(mem) => {
                let m = self.m;
                let Some(info) = m.info(p.to) else { return self.fail("the path leads nowhere") };
                let std140 = p.std140;
                let stride = self.stride(info, part, std140);
                let mut q =
                    Pointer { majority: p.majority, std140, ..Pointer::new(Place::Memory(mem), part) };
                let mem = match self.m.ty(p.to) {
                    Some(Type::Struct { .. }) => {
                        q.majority = self.m.majority(p.to, member);
                        let mut mem = forward(mem, self.member_offset(info, member, std140));
                        self.ordered(
                            &mut mem,
                            |m| m.member_decoration(p.to, member, spirv::Decoration::Volatile).is_some(),
                            |m| m.member_decoration(p.to, member, spirv::Decoration::Coherent).is_some(),
                        );
                        mem
                    }
                    Some(Type::Matrix { .. }) => {
                        let index = self.index(id)?;
                        match p.majority {
                            Some(Majority { stride, row_major: true }) => {
                                q.spread = Some(stride);
                                self.e.stepped(mem, index, part_size)
                            }
                            Some(Majority { stride, .. }) => self.e.stepped(mem, index, stride),
                            None => self.e.stepped(mem, index, stride),
                        }
                    }
                    Some(Type::Vector { .. }) => {
                        let index = self.index(id)?;
                        self.e.stepped(mem, index, p.spread.unwrap_or(part_size))
                    }
                    _ => {
                        let index = self.index(id)?;
                        self.e.stepped(mem, index, stride)
                    }
                };
                q.place = Place::Memory(mem);
                Ok(q)
            }
        }
    }

    // ---- addresses

    /// A pointer as a number, null as 0.
    fn pointer_number(&mut self, id: u32) -> R<Comp> {
        match self.m.ty(self.type_of(id)?) {
            Some(Type::Pointer { .. }) => self.scalar(id),
            _ => self.fail(format!("{} is not a pointer", self.m.name(id))),
        }
    }

    /// A pointer as a number of 64 bits: an address; of buffers, the offset and above it the number.
    pub(super) fn address(&mut self, p: &Pointer) -> R<Comp> {
        let mem = match &p.place {
            Place::Memory(mem) => *mem,
            Place::Buffers { .. }
            | Place::BuiltIn(..)
            | Place::Attribute(_)
            | Place::Descriptors { .. }
            | Place::Texel(_) => return self.missing("this pointer as a value is"),
            Place::Slot { .. } | Place::Members(_) => {
                return self.fail("the address of a variable is used in a way that is not known");
            }
        };
        let base = mem.base();
        if let [lo, hi] = base[..] {
            let wide = Comp::Wide(lo.into(), hi.into());
            let offset = Comp::constant(64, mem.offset as i64 as u64);
            return Ok(if mem.offset == 0 { wide } else { self.e.int2(IrOp::Add, false, 64, wide, offset) });
        }
        let word = match base[..] {
            [v] => self.e.op2(IrOp::Add, IrType::U32, Word::Val(v), mem.offset as u32),
            _ => Word::Imm(mem.offset as u32),
        };
        Ok(match mem.space {
            Space::Global | Space::Generic => Comp::Wide(word, Word::Imm(0)),
            Space::Buffer | Space::Uniform => {
                let number = match mem.index {
                    Some(v) => self.e.op2(IrOp::Add, IrType::U32, Word::Val(v), u32::from(mem.buffer)),
                    None => Word::Imm(mem.buffer.into()),
                };
                Comp::Wide(word, number)
            }
            // The generic address: another class's pointer of such a kind is told by its window.
            Space::Shared | Space::Local if self.m.kernel => {
                let window = self.window(mem.space);
                Comp::Wide(self.e.op2(IrOp::Add, IrType::U32, window, word), Word::Imm(0))
            }
            _ => Comp::Wide(word, Word::Imm(0)),
        })
    }

    fn window(&mut self, space: Space) -> Word {
        self.e.sv(if space == Space::Shared { Sv::SharedWindow } else { Sv::LocalWindow })
    }

    /// The pointer of a type that [`Lower::address`] made a number of.
    pub(super) fn pointer_at(&mut self, c: Comp, ty: u32) -> R<Pointer> {
        let Some(&Type::Pointer { class, to }) = self.m.ty(ty) else {
            return self.fail("the type is not a pointer");
        };
        let (lo, hi) = self.e.words64(c);
        let wide = |this: &mut Self, space| {
            let base = [this.e.val(lo), this.e.val(hi)];
            MemRef::new(space).with_base(&base)
        };
        let mem = match class {
            StorageClass::CrossWorkgroup | StorageClass::PhysicalStorageBuffer => wide(self, Space::Global),
            StorageClass::Generic => wide(self, Space::Generic),
            // Constant memory of kernels is an argument's, or the module's own, which lies in private memory.
            StorageClass::UniformConstant if self.m.kernel => wide(self, Space::Generic),
            StorageClass::Workgroup | StorageClass::Function | StorageClass::Private => {
                let space = if class == StorageClass::Workgroup { Space::Shared } else { Space::Local };
                // Addresses of kernels are generic.
                let word = if self.m.kernel { self.e.op2(IrOp::And, IrType::U32, lo, !WINDOW) } else { lo };
                let base = self.e.val(word);
                MemRef::new(space).with_base(&[base])
            }
            StorageClass::StorageBuffer | StorageClass::Uniform => {
                let block =
                    self.m.decoration(super::layout::elements(self.m, to).0, spirv::Decoration::Block);
                let space = match class {
                    StorageClass::Uniform if block.is_some() => Space::Uniform,
                    _ => Space::Buffer,
                };
                let mem = self.e.numbered_by(MemRef::new(space), hi);
                let base = self.e.val(lo);
                mem.with_base(&[base])
            }
            _ => return self.missing(format!("pointers of the storage class {class:?} as values are")),
        };
        Ok(Pointer::new(Place::Memory(mem), to))
    }

    /// A generic pointer as one of a class; null if it is of another.
    fn explicit(&mut self, p: Pointer, class: u32) -> R<()> {
        let Some(class) = StorageClass::from_u32(class) else {
            return self.fail("the storage class is not known");
        };
        let wanted = match class {
            StorageClass::CrossWorkgroup => Space::Global,
            StorageClass::Workgroup => Space::Shared,
            StorageClass::Function => Space::Local,
            _ => return self.fail("no generic pointer is of that storage class"),
        };
        let known = match &p.place {
            Place::Memory(mem) if mem.space != Space::Generic => Some(mem.space == wanted),
            _ => None,
        };
        match known {
            Some(true) => return self.define_pointer(p),
            Some(false) => return self.define_of_type([Comp::constant(64, 0)]),
            None => {}
        }
        let address = self.address(&p)?;
        let (lo, hi) = self.e.words64(address);
        let top = self.e.op2(IrOp::And, IrType::U32, lo, WINDOW);
        let low = self.e.cmp(Cond::Eq, IrType::U32, hi, 0);
        let within = |this: &mut Self, space| {
            let window = this.window(space);
            let p = this.e.cmp(Cond::Eq, IrType::U32, top, window);
            this.e.and(low, p)
        };
        let (shared, local) = (within(self, Space::Shared), within(self, Space::Local));
        let is = match wanted {
            Space::Shared => shared,
            Space::Local => local,
            _ => {
                let any = self.e.or(shared, local);
                any.not()
            }
        };
        let c = self.e.select_comp(is, address, Comp::constant(64, 0));
        self.define_of_type([c])
    }
}
