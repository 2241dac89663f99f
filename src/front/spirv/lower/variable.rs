//! Variables and parameters: where they lie, and what they begin with.
//!
//! - in registers, if they are simple ([`super::simple`])
//! - `Function`, `Private`, and constants of kernels: private memory; those of functions lie above what their callers use, but
//!   for those that are constants ([`super::table`])
//! - `Workgroup`: shared memory, zeroed by one thread before a barrier if the module asks for it
//! - buffers by the table of bindings ([`super::layout`]); push constants at the beginning of the kernel's input
//! - parameters of kernels: in the kernel's input, by OpenCL's rules; structures by value are copied

use super::layout::elements;
use super::memory::ConstantBytes;
use super::pointer::{Place, Pointer};
use super::texture::Opaque;
use super::value::Value;
use super::{Lower, R};
use crate::chip::CONST_BANK_BYTES;
use crate::driver::Abi;
use crate::driver::constants::MAX_TEXTURES;
use crate::driver::sanitizer::RED_ZONE;
use crate::front::common::emit::value::{Comp, Word};
use crate::front::common::lanes;
use crate::front::spirv::module::Module;
use crate::front::spirv::types::{SCALARS, Type};
use crate::ir::{Align, Cond, Extent, MemRef, Order, Space, Type as IrType};
use spirv::{BuiltIn, Decoration, FunctionParameterAttribute, StorageClass};

/// Bytes of shared memory of a variable that is zeroed.
const MOST_ZEROED: u64 = 4096;

impl Lower<'_, '_> {
    pub(super) fn pointee(&self, ty: u32) -> R<(StorageClass, u32)> {
        match self.m.ty(ty) {
            Some(&Type::Pointer { class, to }) => Ok((class, to)),
            _ => self.fail("the type of a variable is a pointer"),
        }
    }

    /// How accesses are ordered that have a decoration.
    pub(super) fn ordered(
        &self,
        mem: &mut MemRef,
        volatile: impl Fn(&Module) -> bool,
        coherent: impl Fn(&Module) -> bool,
    ) {
        if volatile(self.m) {
            mem.order = Order::Volatile;
        } else if coherent(self.m) && mem.order == Order::Weak {
            mem.order = Order::Coherent;
        }
    }

    // ---- variables outside functions

    /// What is done for these when the program begins.
    pub(super) fn global_variables(&mut self) -> R<()> {
        let mut zeroed = Vec::new();
        for &n in &self.m.globals {
            self.locate(n);
            let id = self.m.code.insts[n].result;
            let (class, to) = self.pointee(self.ty())?;
            let init = self.operands().get(1).copied();
            match class {
                StorageClass::Private => {
                    let p = self.private_variable(id, to)?;
                    self.variables.insert((0, id), p.clone());
                    if let Some(init) = init {
                        self.begin_with(&p, init)?;
                    }
                }
                StorageClass::Output if init.is_some() && self.stages.listed.contains(&id) => {
                    if let (Some(p), Some(init)) = (self.global_variable(id)?, init) {
                        self.begin_with(&p, init)?;
                    }
                }
                StorageClass::UniformConstant if self.m.kernel && init.is_some() => {
                    let p = self.private_variable(id, to)?;
                    self.variables.insert((0, id), p.clone());
                    self.begin_with(&p, init.unwrap_or(0))?;
                }
                StorageClass::Workgroup => {
                    let p = self.shared_variable(to)?;
                    self.variables.insert((0, id), p.clone());
                    if let Some(init) = init {
                        match self.m.constants.get(init).map(|c| &**c) {
                            Some(crate::front::spirv::constants::Constant::Null) => zeroed.push((n, p)),
                            Some(crate::front::spirv::constants::Constant::Undef) => {}
                            _ => {
                                return self
                                    .fail("a variable of the storage class Workgroup begins with null only");
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        if !zeroed.is_empty() {
            self.zero(&zeroed)?;
        }
        Ok(())
    }

    /// One thread stores zeros, and all wait for it.
    fn zero(&mut self, variables: &[(usize, Pointer)]) -> R<()> {
        let index = self.e.local_index();
        let first = self.e.cmp(Cond::Eq, IrType::U32, index, 0);
        let join = self.e.begin_when(first);
        for (n, p) in variables {
            self.locate(*n);
            let size = self.m.info(p.to).map_or(u64::MAX, |info| info.size);
            let Place::Memory(mem) = p.place else { continue };
            if size > MOST_ZEROED {
                return self.missing(format!("zeroing more than {MOST_ZEROED} bytes of shared memory is"));
            }
            let bytes = vec![0; (size as usize).next_multiple_of(4)];
            self.e.store_bytes(mem, &bytes);
        }
        self.e.end_when(join);
        lanes::barrier(&mut self.e.b);
        Ok(())
    }

    fn shared_variable(&mut self, to: u32) -> R<Pointer> {
        let m = self.m;
        let Some(info) = m.info(to) else { return self.fail("the variable has no type") };
        let at = self.shared.next_multiple_of(info.align.max(16));
        let size = u32::try_from(info.size).ok().map(|size| size.next_multiple_of(4));
        match size.and_then(|size| at.checked_add(size)).filter(|&end| end <= 48 << 10) {
            Some(end) => self.shared = end,
            None => return self.missing("more shared memory than a block can have (48 KiB) is"),
        }
        let var = self.shared_extent(at, self.shared - at);
        let mem = MemRef::new(Space::Shared).with_offset(at as i32).with_align(Align::multiple_of(16));
        Ok(Pointer::new(Place::Memory(mem.with_var(var)), to))
    }

    /// Notes where a variable in shared memory lies, and leaves room behind it, if that memory is sanitized: the number by
    /// which accesses name it.
    fn shared_extent(&mut self, start: u32, bytes: u32) -> u16 {
        if !self.request.sanitize.has_zones() || self.extents.len() >= usize::from(u16::MAX) {
            return 0;
        }
        self.extents.push(Extent { space: Space::Shared, start, bytes });
        self.shared = self.shared.saturating_add(RED_ZONE);
        self.extents.len() as u16
    }

    /// A variable in registers or in private memory that is never used again.
    pub(super) fn private_variable(&mut self, id: u32, to: u32) -> R<Pointer> {
        let (p, end) = self.placed(id, to, self.private)?;
        self.private = end;
        Ok(p)
    }

    /// A variable in registers or, as far as it needs memory, from an address on; and where that ends.
    fn placed(&mut self, id: u32, to: u32, mut at: u32) -> R<(Pointer, u32)> {
        if self.simple.whole(id) {
            return Ok((Pointer::new(self.slot(to)?, to), at));
        }
        let (Some(complex), Some(Type::Struct { members })) =
            (self.simple.members(id).cloned(), self.m.ty(to))
        else {
            return self.private_memory(at, to);
        };
        let mut places = Vec::new();
        for (n, &member) in members.iter().enumerate() {
            places.push(if complex.contains(&(n as u32)) {
                let (p, end) = self.private_memory(at, member)?;
                at = end;
                p.place
            } else {
                self.slot(member)?
            });
        }
        Ok((Pointer::new(Place::Members(places.into()), to), at))
    }

    /// Registers for a type.
    fn slot(&mut self, ty: u32) -> R<Place> {
        let slots = self.new_slots(ty)?;
        self.slots.push(slots);
        Ok(Place::Slot { slot: self.slots.len() - 1, first: 0 })
    }

    /// Private memory from an address on; and where it ends.
    fn private_memory(&mut self, at: u32, to: u32) -> R<(Pointer, u32)> {
        let m = self.m;
        let Some(info) = m.info(to) else { return self.fail("the variable has no type") };
        let at = at.next_multiple_of(info.align.max(16));
        let end = u32::try_from(info.size).ok().and_then(|size| at.checked_add(size.next_multiple_of(4)));
        let Some(end) = end.filter(|&end| end <= 512 << 10) else {
            return self.missing("more private memory than a thread can have (512 KiB) is");
        };
        let mem = MemRef::new(Space::Local).with_offset(at as i32).with_align(Align::multiple_of(16));
        Ok((Pointer::new(Place::Memory(mem), to), end))
    }

    /// Stores the constant that a variable begins with.
    pub(super) fn begin_with(&mut self, p: &Pointer, init: u32) -> R<()> {
        if let Some(Type::Pointer { .. }) = self.m.ty(p.to) {
            let address = self.comps(init)?;
            return self.store_value(p, &address, 0);
        }
        let Some(constant) = self.m.constants.get(init).cloned() else {
            return self.missing("a variable that begins with an address is");
        };
        let comps = self.m.info(p.to).map_or(u32::MAX, |info| info.comps);
        if let (Place::Memory(mem), true) = (&p.place, comps > SCALARS / 4) {
            let mut bytes = ConstantBytes::new(self.m.info(p.to).map_or(0, |info| info.size) as usize);
            bytes.put(self.m, &constant, p.to, 0);
            let mem = *mem;
            self.e.store_bytes(mem, &bytes.bytes);
            return Ok(());
        }
        let mut comps = Vec::new();
        self.constant_comps(&constant, p.to, &mut comps)?;
        self.store_value(p, &comps, 0)
    }

    /// The same of a variable that nothing else is ever stored to: not scalar by scalar, since none of it is replaced.
    pub(super) fn fill(&mut self, p: &Pointer, init: u32) -> R<()> {
        let m = self.m;
        let comps = m.info(p.to).map_or(u32::MAX, |info| info.comps);
        match (&p.place, m.constants.get(init)) {
            (&Place::Memory(mem), Some(constant)) if comps <= SCALARS / 4 => {
                let mut bytes = ConstantBytes::new(m.info(p.to).map_or(0, |info| info.size) as usize);
                bytes.put(m, constant, p.to, 0);
                self.e.store_words(mem, &bytes.words());
                Ok(())
            }
            _ => self.begin_with(p, init),
        }
    }

    /// The pointer that a variable outside functions is.
    pub(super) fn global_variable(&mut self, id: u32) -> R<Option<Pointer>> {
        if let Some(p) = self.variables.get(&(0, id)) {
            return Ok(Some(p.clone()));
        }
        let Some(n) = self.m.code.def(id) else { return Ok(None) };
        let inst = self.m.code.insts[n];
        if inst.op != spirv::Op::Variable || self.m.globals.binary_search(&n).is_err() {
            return Ok(None);
        }
        let (class, to) = self.pointee(inst.ty)?;
        let place = match class {
            StorageClass::StorageBuffer | StorageClass::Uniform | StorageClass::AtomicCounter => {
                let Some(&(bound, number)) = self.bindings.get(&id) else {
                    return self.fail(format!("{} has no binding", self.m.name(id)));
                };
                let space = bound.space();
                if !matches!(self.m.ty(elements(self.m, to).0), Some(Type::Struct { .. }))
                    && class != StorageClass::AtomicCounter
                {
                    return self.fail("a buffer is a structure");
                }
                match self.m.ty(to) {
                    Some(Type::Array { .. } | Type::RuntimeArray { .. })
                        if class != StorageClass::AtomicCounter =>
                    {
                        Place::Buffers { space, number: Word::Imm(number) }
                    }
                    _ => {
                        let offset =
                            self.m.decoration(id, Decoration::Offset).and_then(|x| x.first()).copied();
                        let mut mem =
                            MemRef::new(space).with_buffer(number as u16).with_align(Align::multiple_of(16));
                        mem = crate::front::common::emit::memory::forward(mem, offset.unwrap_or(0));
                        let has = |d| move |m: &Module| m.decoration(id, d).is_some();
                        self.ordered(&mut mem, has(Decoration::Volatile), has(Decoration::Coherent));
                        Place::Memory(mem)
                    }
                }
            }
            StorageClass::PushConstant => Place::Memory(self.input(0)),
            StorageClass::UniformConstant if self.uniforms.contains_key(&id) => {
                let at = self.uniforms[&id];
                let size = self.m.info(to).map_or(u64::MAX, |info| info.std140.size);
                if u64::from(at).saturating_add(size) > u64::from(CONST_BANK_BYTES) {
                    return self.missing("more uniforms than a constant bank holds are");
                }
                let place = Place::Memory(self.input(at));
                return Ok(Some(Pointer { std140: true, ..Pointer::new(place, to) }));
            }
            StorageClass::UniformConstant if self.bindings.contains_key(&id) => {
                let mut order = MemRef::new(Space::Global);
                let has = |d| move |m: &Module| m.decoration(id, d).is_some();
                self.ordered(&mut order, has(Decoration::Volatile), has(Decoration::Coherent));
                Place::Descriptors { number: Word::Imm(self.bindings[&id].1), order: order.order }
            }
            StorageClass::Input | StorageClass::Output if self.stage().is_graphics() => {
                return self.attribute_variable(id);
            }
            StorageClass::Input | StorageClass::UniformConstant
                if class == StorageClass::Input || self.m.decoration(id, Decoration::BuiltIn).is_some() =>
            {
                let built_in = self.m.decoration(id, Decoration::BuiltIn).and_then(|x| x.first()).copied();
                match built_in.map(BuiltIn::from_u32) {
                    Some(Some(b)) => Place::BuiltIn(b, None),
                    _ => return self.missing(format!("the input {} is", self.m.name(id))),
                }
            }
            StorageClass::UniformConstant if self.m.info(to).is_some_and(|info| info.opaque) => {
                return self.missing(format!("the {} {} is", self.m.type_name(to), self.m.name(id)));
            }
            _ => {
                let what = format!("the variable {} of the storage class {class:?} is", self.m.name(id));
                return self.missing(what);
            }
        };
        Ok(Some(Pointer::new(place, to)))
    }

    /// The kernel's input from a multiple of 16 bytes on.
    pub(super) fn input(&self, at: u32) -> MemRef {
        let abi = self.request.abi;
        MemRef::new(Space::Const)
            .with_buffer(abi.input_bank.into())
            .with_offset(i32::from(abi.input_offset).wrapping_add(at as i32))
            .with_align(Align::multiple_of(16))
    }

    // ---- variables of functions

    pub(super) fn local_variable(&mut self) -> R<()> {
        let id = self.m.code.insts[self.n].result;
        self.m.variable(self.n)?;
        let (class, to) = self.pointee(self.ty())?;
        if class != StorageClass::Function {
            return self.fail("a variable of a function has the storage class Function");
        }
        if self.holds_opaque(id) {
            // It is what is stored to it, once.
            return match self.operands().get(1) {
                None => Ok(()),
                Some(_) => self.missing("an initial image or sampler of a variable is"),
            };
        }
        if let Some(table) = self.tables.get(&id) {
            let p = table.clone();
            self.define_value(Value::Pointer(p));
            return Ok(());
        }
        let p = match self.variables.get(&(self.instance, id)) {
            Some(p) => p.clone(),
            None => self.frame_variable(self.instance, id, to)?,
        };
        if let Some(&init) = self.operands().get(1) {
            self.begin_with(&p, init)?;
        }
        self.define_value(Value::Pointer(p));
        Ok(())
    }

    /// Whether an id is a function's variable for an image or a sampler.
    pub(super) fn holds_opaque(&self, id: u32) -> bool {
        let pointer = self.m.code.type_of(id).and_then(|ty| self.m.ty(ty));
        let Some(&Type::Pointer { class: StorageClass::Function, to }) = pointer else { return false };
        self.m.info(to).is_some_and(|info| info.opaque)
    }

    /// A variable of a function where it is called, above what its callers use.
    fn frame_variable(&mut self, instance: u32, id: u32, to: u32) -> R<Pointer> {
        let top = self.tops.get(&instance).copied().unwrap_or(self.private);
        let (p, end) = self.placed(id, to, top)?;
        self.tops.insert(instance, end);
        self.private = self.private.max(end);
        self.variables.insert((instance, id), p.clone());
        Ok(p)
    }

    /// What a parameter of a called function is: what the caller gives, or a copy of its own of that (`ByVal`).
    pub(super) fn parameter(&mut self, callee: u32, param: u32, arg: u32, value: Value) -> R<Value> {
        let ty = self.type_of(param)?;
        let Some(&Type::Pointer { class: StorageClass::Function, to }) = self.m.ty(ty) else {
            return Ok(value);
        };
        // Nobody sees what becomes of a copy that is made for this call alone: clang's wrappers pass on what they are given.
        if !self.by_value(param) || self.by_value(arg) && self.m.uses(arg) == 1 {
            return Ok(value);
        }
        let Value::Pointer(source) = value else {
            return self.fail("a structure that is passed by value is at no known address");
        };
        let copy = self.frame_variable(callee, param, to)?;
        self.copy_variable(&copy, &source)?;
        Ok(Value::Pointer(copy))
    }

    fn by_value(&self, param: u32) -> bool {
        self.m.decoration(param, Decoration::FuncParamAttr)
            == Some(&[FunctionParameterAttribute::ByVal as u32])
    }

    /// Copies all that a pointer leads to.
    fn copy_variable(&mut self, to: &Pointer, from: &Pointer) -> R<()> {
        match (&to.place, &from.place) {
            (&Place::Memory(to), &Place::Memory(from_mem)) => {
                let size = self.m.info(from.to).map_or(0, |info| info.size);
                self.e.copy(to, from_mem, Word::Imm(u32::try_from(size).unwrap_or(u32::MAX)));
                Ok(())
            }
            _ => {
                let comps = self.load_value(from, 0)?;
                self.store_value(to, &comps, 0)
            }
        }
    }

    // ---- parameters of kernels

    pub(super) fn parameters(&mut self, function: usize, kernel: bool) -> R<()> {
        let f = &self.m.functions[function];
        self.locate(f.at);
        if !kernel {
            if !f.params.is_empty() {
                return self.fail("the function of the entry point has parameters");
            }
            return Ok(());
        }
        let abi = self.request.abi;
        let mut at = 0u32;
        for &param in &f.params {
            let ty = self.type_of(param)?;
            if self.m.info(ty).is_some_and(|info| info.opaque) {
                let value = self.opaque_parameter(param, ty)?;
                self.values.insert(self.m, (0, param), (value, self.e.b.block));
                continue;
            }
            let by_value = self.by_value(param);
            let pointee = match self.m.ty(ty) {
                Some(&Type::Pointer { class, to }) => Some((class, to)),
                _ => None,
            };
            let held = match pointee {
                Some((StorageClass::Function, to)) if by_value => to,
                _ => ty,
            };
            let m = self.m;
            let Some(info) = m.info(held) else { return self.fail("a parameter has no type") };
            at = at.next_multiple_of(info.align);
            let place = MemRef::new(Space::Const)
                .with_buffer(abi.input_bank.into())
                .with_offset(i32::from(abi.input_offset).wrapping_add(at as i32))
                .with_align(Align::multiple_of(16).plus(at as i32));
            let size = u32::try_from(info.size).unwrap_or(u32::MAX);
            at = at.saturating_add(size);
            if at > 4096 {
                return self.missing("more than 4096 bytes of kernel arguments are");
            }
            let source = Pointer::new(Place::Memory(place), held);
            let value = match pointee {
                Some((StorageClass::Function, to)) if by_value => {
                    let p = self.private_variable(param, to)?;
                    self.copy_variable(&p, &source)?;
                    Value::Pointer(p)
                }
                Some((class, to)) => {
                    let address = self.load_value(&source, 0)?[0];
                    let (lo, hi) = self.e.words64(address);
                    let mem = match class {
                        StorageClass::CrossWorkgroup | StorageClass::UniformConstant => {
                            let base = [self.e.val(lo), self.e.val(hi)];
                            let align = Align::multiple_of(self.request.pointer_align.max(1));
                            MemRef::new(Space::Global).with_base(&base).with_align(align)
                        }
                        StorageClass::Workgroup => {
                            let base = self.e.val(lo);
                            MemRef::new(Space::Shared).with_base(&[base])
                        }
                        _ => {
                            return self
                                .missing(format!("a kernel's pointer of the storage class {class:?} is"));
                        }
                    };
                    Value::Pointer(Pointer::new(Place::Memory(mem), to))
                }
                None => {
                    let comps: Vec<Comp> = self.load_value(&source, 0)?;
                    Value::Comps(comps.into())
                }
            };
            self.values.insert(self.m, (0, param), (value, self.e.b.block));
        }
        self.arguments.facts = at.next_multiple_of(4);
        let facts = 8 * (self.arguments.textures + self.arguments.images);
        let asked = self.m.globals.iter().any(|&n| {
            let id = self.m.code.insts[n].result;
            let built_in = self.m.decoration(id, Decoration::BuiltIn);
            built_in == Some(&[BuiltIn::GlobalOffset as u32]) && self.stages.used.variable(id)
        });
        self.arguments.global_offset = asked.then_some((self.arguments.facts + facts).next_multiple_of(32));
        self.input_bytes = at;
        Ok(())
    }

    /// The image or sampler that a kernel is given: they are numbered in the order of the parameters, and take no bytes.
    fn opaque_parameter(&mut self, param: u32, ty: u32) -> R<Value> {
        let numbers = &mut self.arguments;
        let (number, most, image) = match self.m.ty(ty) {
            Some(Type::Image(image)) if image.is_stored() => (&mut numbers.images, Abi::MAX_IMAGES, Some(ty)),
            Some(Type::Image(_)) => (&mut numbers.textures, MAX_TEXTURES, Some(ty)),
            Some(Type::Sampler) => (&mut numbers.samplers, MAX_TEXTURES, None),
            _ => return self.missing(format!("the parameter {} is", self.m.name(param))),
        };
        if *number == most {
            return self.missing(format!("{} is one more than {most}, which", self.m.name(param)));
        }
        *number += 1;
        let number = Word::Imm(*number - 1);
        Ok(Value::Opaque(Opaque { image: number, sampler: number, ty: image, order: Order::Weak }))
    }

    /// The sampler that a constant of a kernel is: numbered behind those of the arguments, equal ones once, in the order of the
    /// module.
    pub(super) fn constant_sampler(&mut self, wanted: [u32; 3]) -> R<Value> {
        let known = &self.arguments.constant_samplers;
        let before = known.iter().position(|s| *s == wanted).unwrap_or(known.len()) as u32;
        let number = self.arguments.samplers + before;
        if number >= MAX_TEXTURES {
            return self.missing(format!("more than {MAX_TEXTURES} samplers are"));
        }
        let number = Word::Imm(number);
        Ok(Value::Opaque(Opaque { image: number, sampler: number, ty: None, order: Order::Weak }))
    }
}
