//! Values by id.

use super::pointer::Pointer;
use super::texture::Opaque;
use super::{Lower, R, Words};
use crate::front::common::emit::value::{Comp, Pred, Shape, Word};
use crate::front::spirv::constants::Constant;
use crate::front::spirv::graph::Instance;
use crate::front::spirv::module::Module;
use crate::front::spirv::types::{Info, SCALARS, Type};
use crate::ir::{BlockId, Class, ValueId};
use std::ops::Range;
use std::rc::Rc;

/// What an id stands for.
#[derive(Clone)]
pub(super) enum Value {
    /// Its scalars, in order; pointers among them are 64 bits.
    Comps(Rc<[Comp]>),
    Pointer(Pointer),
    /// An image, a sampler, or both.
    Opaque(Opaque),
}

/// Values by instance and id, each with the block at whose end it is there. An instance's are looked up by where its function
/// defines them.
pub(super) struct Values {
    instances: Vec<Places>,
    /// Where a value is in the list, plus 1; 0: it is not known.
    places: Vec<u32>,
    list: Vec<(Value, BlockId)>,
}

/// The places of what the instructions of a function define.
struct Places {
    first: usize,
    insts: Range<usize>,
}

impl Values {
    pub(super) fn new(m: &Module, instances: &[Instance]) -> Values {
        let mut end = 0;
        let places = |i: &Instance| {
            let f = &m.functions[i.function];
            let insts = f.at..f.blocks.last().map_or(f.at, |block| block.insts.end);
            let first = end;
            end += insts.len();
            Places { first, insts }
        };
        let instances = instances.iter().map(places).collect();
        Values { instances, places: vec![0; end], list: Vec::with_capacity(end / 2) }
    }

    fn place(&self, m: &Module, (instance, id): (u32, u32)) -> Option<usize> {
        let n = m.code.def(id)?;
        let Places { first, insts } = &self.instances[instance as usize];
        insts.contains(&n).then(|| first + n - insts.start)
    }

    pub(super) fn get(&self, m: &Module, key: (u32, u32)) -> Option<&(Value, BlockId)> {
        let place = self.places[self.place(m, key)?].checked_sub(1)?;
        self.list.get(place as usize)
    }

    pub(super) fn insert(&mut self, m: &Module, key: (u32, u32), value: (Value, BlockId)) {
        let Some(place) = self.place(m, key) else { return };
        match &mut self.places[place] {
            known @ 0 => {
                self.list.push(value);
                *known = self.list.len() as u32;
            }
            known => self.list[*known as usize - 1] = value,
        }
    }
}

impl Lower<'_, '_> {
    /// The value of an id.
    pub(super) fn value(&mut self, id: u32) -> R<Value> {
        if let Some((value, block)) = self.values.get(self.m, (self.instance, id)) {
            let (value, block) = (value.clone(), *block);
            return Ok(if self.e.scope.holds(block) { value } else { self.arriving(value, block) });
        }
        if let Some(constant) = self.m.constants.get(id) {
            if let Constant::Sampler(sampler) = **constant {
                return self.constant_sampler(sampler);
            }
            let ty = self.type_of(id)?;
            if let (Constant::Bits(bits), Some(shape)) =
                (&**constant, self.m.shape(ty).filter(|shape| shape.comps == 1))
            {
                return Ok(Value::Comps(Rc::new([Comp::constant(shape.bits, *bits)])));
            }
            let mut comps = Vec::new();
            self.constant_comps(constant, ty, &mut comps)?;
            return Ok(Value::Comps(comps.into()));
        }
        if let Some(pointer) = self.global_variable(id)? {
            return Ok(Value::Pointer(pointer));
        }
        self.fail(format!("{} is not a value that is known here", self.m.name(id)))
    }

    /// The scalars of a value.
    pub(super) fn comps(&mut self, id: u32) -> R<Rc<[Comp]>> {
        match self.value(id)? {
            Value::Comps(comps) => Ok(comps),
            Value::Pointer(p) => Ok([self.address(&p)?].into()),
            Value::Opaque(_) => {
                let ty = self.m.type_name(self.type_of(id)?);
                self.missing(format!("an operation on values of the type {ty} is"))
            }
        }
    }

    /// The only scalar of a value.
    pub(super) fn scalar(&mut self, id: u32) -> R<Comp> {
        match self.comps(id)?[..] {
            [c] => Ok(c),
            _ => self.fail(format!("{} is not a scalar", self.m.name(id))),
        }
    }

    pub(super) fn pointer(&mut self, id: u32) -> R<Pointer> {
        match self.value(id)? {
            Value::Pointer(p) => Ok(p),
            Value::Opaque(_) => self.fail(format!("{} is not a pointer", self.m.name(id))),
            Value::Comps(comps) => {
                let ty = self.type_of(id)?;
                match (self.m.ty(ty), &comps[..]) {
                    (Some(Type::Pointer { .. }), &[c]) => self.pointer_at(c, ty),
                    _ => self.fail(format!("{} is not a pointer", self.m.name(id))),
                }
            }
        }
    }

    /// A value that was there at the end of a block, where that does not dominate: it came another way round.
    fn arriving(&mut self, value: Value, block: BlockId) -> Value {
        match value {
            Value::Comps(comps) => {
                Value::Comps(comps.iter().map(|&c| self.arriving_comp(c, block)).collect())
            }
            Value::Pointer(mut p) => {
                if let Some(mem) = p.memory_mut() {
                    let base: Vec<ValueId> = mem.base().iter().copied().collect();
                    let index = mem.index;
                    let base: Vec<ValueId> =
                        base.into_iter().map(|v| self.arriving_value(v, Class::Gpr, block)).collect();
                    let index = index.map(|v| self.arriving_value(v, Class::Gpr, block));
                    if let Some(mem) = p.memory_mut() {
                        mem.set_base(&base);
                        mem.index = index;
                    }
                }
                for word in p.words_mut() {
                    *word = self.arriving_word(*word, block);
                }
                Value::Pointer(p)
            }
            Value::Opaque(mut o) => {
                o.image = self.arriving_word(o.image, block);
                o.sampler = self.arriving_word(o.sampler, block);
                Value::Opaque(o)
            }
        }
    }

    fn arriving_comp(&mut self, c: Comp, block: BlockId) -> Comp {
        match c {
            Comp::Bool(p) => Comp::Bool(self.arriving_pred(p, block)),
            Comp::Word(w) => Comp::Word(self.arriving_word(w, block)),
            Comp::Wide(lo, hi) => Comp::Wide(self.arriving_word(lo, block), self.arriving_word(hi, block)),
        }
    }

    fn arriving_word(&mut self, w: Word, block: BlockId) -> Word {
        match w {
            Word::Val(v) => self.arriving_value(v, Class::Gpr, block).into(),
            Word::Imm(_) => w,
            Word::Mask(p) => Word::Mask(self.arriving_pred(p, block)),
        }
    }

    fn arriving_pred(&mut self, p: Pred, block: BlockId) -> Pred {
        match p {
            Pred::Const(_) => p,
            Pred::Val(v, not) => Pred::Val(self.arriving_value(v, Class::Pred, block), not),
        }
    }

    fn arriving_value(&mut self, v: ValueId, class: Class, block: BlockId) -> ValueId {
        let var = match self.moved.get(&v) {
            Some(&var) => var,
            None => {
                let var = self.e.ssa.var(class);
                self.e.ssa.write(block, var, v);
                self.moved.insert(v, var);
                var
            }
        };
        let here = self.e.b.block;
        self.e.ssa.read(self.e.b.func, here, var)
    }

    // ---- types

    /// Refuses types whose values are too large to be handled as a whole.
    pub(super) fn check_size(&self, ty: u32) -> R<()> {
        if self.m.info(ty).is_none_or(Info::is_large) {
            return self.missing(format!("values of more than {SCALARS} scalars are"));
        }
        Ok(())
    }

    /// The widths of a type's scalars, in order.
    pub(super) fn widths(&self, ty: u32) -> R<Vec<u8>> {
        if let Some(shape) = self.m.shape(ty) {
            return Ok(vec![shape.bits; shape.comps.into()]);
        }
        self.check_size(ty)?;
        let mut widths = Vec::new();
        self.add_widths(ty, &mut widths)?;
        Ok(widths)
    }

    /// Types nest 255 deep at most.
    fn add_widths(&self, ty: u32, widths: &mut Vec<u8>) -> R<()> {
        match self.m.ty(ty) {
            Some(Type::Bool) => widths.push(1),
            Some(Type::Int { bits, .. } | Type::Float { bits }) => widths.push(*bits),
            Some(Type::Pointer { .. }) => widths.push(64),
            Some(Type::Event) => widths.push(32),
            Some(Type::Vector { .. } | Type::Matrix { .. } | Type::Array { .. } | Type::Struct { .. }) => {
                for n in 0..self.m.parts(ty).unwrap_or(0) {
                    let part = self.m.part(ty, n).unwrap_or(0);
                    self.add_widths(part, widths)?;
                }
            }
            _ => return self.missing(format!("values of the type {} are", self.m.type_name(ty))),
        }
        Ok(())
    }

    pub(super) fn undefined(&mut self, ty: u32) -> R<Vec<Comp>> {
        Ok(self.widths(ty)?.into_iter().map(|bits| self.e.undef(bits)).collect())
    }

    /// The scalars of a constant.
    pub(super) fn constant_comps(&mut self, c: &Constant, ty: u32, out: &mut Vec<Comp>) -> R<()> {
        match c {
            Constant::Bits(bits) => {
                let scalar = self.m.shape(ty).filter(|shape| shape.comps == 1);
                let width = match scalar {
                    Some(shape) => shape.bits,
                    None => match self.widths(ty)?[..] {
                        [width] => width,
                        _ => return self.fail("the constant does not fit its type"),
                    },
                };
                out.push(Comp::constant(width, *bits));
            }
            Constant::Null => out.extend(self.widths(ty)?.into_iter().map(|bits| Comp::constant(bits, 0))),
            Constant::Undef => out.extend(self.undefined(ty)?),
            Constant::Composite(parts) => {
                self.widths(ty)?;
                for (n, part) in parts.iter().enumerate() {
                    let ty = self.m.part(ty, n as u32).unwrap_or(0);
                    self.constant_comps(part, ty, out)?;
                }
            }
            Constant::Sampler(_) => return self.missing("samplers are"),
        }
        Ok(())
    }

    /// Variables for the scalars of a type.
    pub(super) fn new_slots(&mut self, ty: u32) -> R<Rc<[Words]>> {
        Ok(self.widths(ty)?.into_iter().map(|bits| self.e.vars(Shape::scalar(bits))).collect())
    }

    pub(super) fn read_slots(&mut self, slots: &[Words], ty: u32) -> R<Vec<Comp>> {
        if let Some(shape) = self.m.shape(ty) {
            return Ok(slots.iter().map(|vars| self.e.read_vars(vars, shape.bits)).collect());
        }
        let widths = self.widths(ty)?;
        Ok(slots.iter().zip(widths).map(|(vars, bits)| self.e.read_vars(vars, bits)).collect())
    }
}
