//! Chains of derefs: elements, members, casts, and the accesses through them. Where variables lie is
//! [`super::variable`]'s business.
//!
//! Each deref is a [`Pointer`] that later derefs and accesses look up by its SSA number; as a value (passed to a
//! function, stored) it is an address: 64 bits for global memory, an offset for shared and private memory, buffer
//! number and offset for storage buffers.

use super::super::ast::{ArrayIndex, Deref, DerefKind, Dest, Place, Src};
use super::super::indices::Indices;
use super::super::names::{Mode, Modes};
use super::super::types::{Type as NirType, TypeId};
use super::types::{Kind, Layout};
use super::{Lower, Shape};
use crate::format::Format;
use crate::front::common::emit::memory::forward;
use crate::front::common::emit::value::{Comp, Pred, Word};
use crate::ir::{Align, Inst, MemRef, Op, Space, Type};
use std::rc::Rc;

/// What a deref leads to.
#[derive(Clone)]
pub(super) enum Pointer {
    Memory {
        mem: MemRef,
        layout: Rc<Layout>,
        /// Bytes from one to the next where a pointer is stepped as an array.
        stride: u32,
        /// Number and distance of the elements of each `[*]` on the way here, the outermost first.
        wild: Vec<(u32, u32)>,
    },
    /// An image or sampler or an array of them: the number of the variable's first and the variable's format, the type
    /// of what it leads to, and how many of the variable's come before that.
    Opaque { binding: u32, ty: TypeId, format: Option<Format>, index: Word },
    /// A variable that cannot be accessed, and why: passes leave derefs behind that nobody reads.
    Unknown(Rc<str>),
}

impl<'a> Lower<'a, '_> {
    pub(super) fn deref(&mut self, d: &'a Deref<'a>) {
        match self.pointer_of(d) {
            Some(pointer) => {
                let comps = self.pointer_value(&pointer, &d.dest);
                self.define(&d.dest, &comps);
                if let Dest::Ssa(def) = d.dest {
                    self.places.insert(def.index, pointer);
                }
            }
            None => self.define_undef(&d.dest),
        }
    }

    /// What a source points to, if it came from a deref.
    pub(super) fn pointer(&mut self, src: &Src) -> Option<Pointer> {
        match src.place {
            Place::Ssa(index) => {
                self.def_run(index, src.span);
                self.places.get(&index).cloned()
            }
            Place::Reg(_) => None,
        }
    }

    fn pointer_of(&mut self, d: &'a Deref<'a>) -> Option<Pointer> {
        match &d.kind {
            DerefKind::Var(name) => self.variable(name),
            DerefKind::Array { parent, index, pointer } => self.element(parent, index, *pointer),
            DerefKind::Struct { parent, field } => {
                let (mem, layout, wild) = match self.pointer(parent) {
                    Some(Pointer::Memory { mem, layout, wild, .. }) => (mem, layout, wild),
                    Some(unknown @ Pointer::Unknown(_)) => return Some(unknown),
                    _ => {
                        self.error(parent.span, "this is not a pointer");
                        return None;
                    }
                };
                let Kind::Struct(members) = &layout.kind else {
                    self.error(self.span, "the layout of this structure is not in the text");
                    return None;
                };
                let Some((_, offset, member)) = members.iter().find(|(name, ..)| name == field) else {
                    self.error(self.span, format!("there is no member `{field}`"));
                    return None;
                };
                let mem = forward(mem, *offset);
                Some(Pointer::Memory { mem, layout: member.clone(), stride: member.size, wild })
            }
            DerefKind::Cast { parent, stride, align_mul, align_offset } => {
                let layout = self.layout(d.ty)?;
                let mut mem = match self.pointer(parent) {
                    Some(Pointer::Memory { mem, .. }) => mem,
                    Some(other) => return Some(other),
                    None => self.raw_pointer(parent, d.modes)?,
                };
                let said = match align_mul {
                    0 => Align::multiple_of(layout.scalar),
                    m if m.is_power_of_two() => Align::new(*m, *align_offset),
                    _ => Align::ANY,
                };
                mem.align = mem.align.strongest(said);
                let stride = if *stride != 0 { *stride } else { layout.size };
                Some(Pointer::Memory { mem, layout, stride, wild: Vec::new() })
            }
        }
    }

    pub(super) fn layout(&mut self, ty: TypeId) -> Option<Rc<Layout>> {
        let shader = self.module.shader;
        let layout = self.module.layouts.of(shader, ty);
        if layout.is_none() {
            let name = shader.types.name(ty);
            self.error(self.span, format!("the layout of type `{name}` is not in the text"));
        }
        layout
    }

    /// A value used as a pointer, by what its modes say.
    fn raw_pointer(&mut self, src: &Src, modes: Modes) -> Option<MemRef> {
        let comps = self.src_comps(src);
        let first = *comps.first()?;
        let many = modes.len() > 1 || modes.has(Mode::Generic);
        let space = match first {
            _ if modes.has(Mode::Ssbo) && comps.len() >= 2 => Space::Buffer,
            _ if modes.has(Mode::Ubo) && comps.len() >= 2 => Space::Uniform,
            Comp::Wide(..) if many => Space::Generic,
            _ if modes.has(Mode::Shared) => Space::Shared,
            _ if modes.has(Mode::FunctionTemp) || modes.has(Mode::ShaderTemp) => Space::Local,
            Comp::Wide(..) => Space::Global,
            _ => {
                self.unsupported(src.span, format!("a pointer to `{modes}` is not supported"));
                return None;
            }
        };
        let mem = MemRef::new(space);
        Some(match space {
            Space::Buffer | Space::Uniform => {
                let mem = self.e.numbered_by(mem, first.word());
                let base = self.e.val(comps[1].word());
                mem.with_base(&[base])
            }
            Space::Shared | Space::Local => {
                let base = self.e.val(first.word());
                mem.with_base(&[base])
            }
            _ => {
                let (lo, hi) = self.e.words64(first);
                let base = [self.e.val(lo), self.e.val(hi)];
                mem.with_base(&base)
            }
        })
    }

    fn element(&mut self, parent: &Src, index: &ArrayIndex, as_array: bool) -> Option<Pointer> {
        let index = match index {
            ArrayIndex::Const(n) => Comp::constant(64, *n as u64),
            ArrayIndex::Src(src) => {
                let bits = self.src_shape(src).bits;
                let c = self.src_comp(src, 0);
                self.e.resize(c, bits, bits.max(32), true)
            }
            ArrayIndex::Wildcard => return self.every_element(parent),
        };
        match self.pointer(parent) {
            Some(Pointer::Opaque { binding, ty, format, index: outer }) => {
                let types = &self.module.shader.types;
                let ty = match types.get(ty) {
                    _ if as_array => ty,
                    NirType::Array { element, .. } => element,
                    _ => {
                        self.error(parent.span, "this is not an array");
                        return None;
                    }
                };
                let (_, each) = types.flattened(ty);
                let inner = self.e.op2(Op::Mul, Type::U32, index.word(), each);
                let index = self.e.op2(Op::Add, Type::U32, outer, inner);
                Some(Pointer::Opaque { binding, ty, format, index })
            }
            Some(unknown @ Pointer::Unknown(_)) => Some(unknown),
            Some(Pointer::Memory { mem, layout, stride, wild }) => {
                let (element, stride) = match &layout.kind {
                    _ if as_array => (layout.clone(), stride),
                    Kind::Array { element, stride, .. } => (element.clone(), *stride),
                    // A component of a vector.
                    Kind::Value(shape) => {
                        let scalar = Layout::value(Shape { comps: 1, ..*shape });
                        let size = scalar.size;
                        (Rc::new(scalar), size)
                    }
                    _ => {
                        self.error(parent.span, "this is not an array");
                        return None;
                    }
                };
                let mem = self.e.stepped(mem, index, stride);
                Some(Pointer::Memory { mem, layout: element, stride, wild })
            }
            None => {
                self.error(parent.span, "this is not a pointer");
                None
            }
        }
    }

    /// `&(*parent)[*]`, as copies have it.
    fn every_element(&mut self, parent: &Src) -> Option<Pointer> {
        if let Some(Pointer::Memory { mem, layout, mut wild, .. }) = self.pointer(parent)
            && let Kind::Array { element, stride, len } = &layout.kind
        {
            wild.push((*len, *stride));
            return Some(Pointer::Memory { mem, layout: element.clone(), stride: *stride, wild });
        }
        self.error(parent.span, "this is not an array");
        None
    }

    /// The address as a value of the destination's shape.
    fn pointer_value(&mut self, pointer: &Pointer, dest: &Dest) -> arrayvec::ArrayVec<Comp, 16> {
        let shape = self.dest_shape(dest);
        let mut comps = arrayvec::ArrayVec::new();
        match pointer {
            Pointer::Unknown(_) => comps.extend((0..shape.comps).map(|_| Comp::constant(shape.bits, 0))),
            Pointer::Opaque { binding, index, .. } => {
                let n = self.e.op2(Op::Add, Type::U32, *index, *binding);
                comps.push(self.e.resize(Comp::Word(n), 32, shape.bits.max(8), false));
            }
            Pointer::Memory { mem, .. } => {
                let base = mem.base();
                let offset = mem.offset as u32;
                let word = match base[..] {
                    [v] => self.e.op2(Op::Add, Type::U32, Word::Val(v), offset),
                    _ => Word::Imm(offset),
                };
                if let [lo, hi] = base[..] {
                    let wide = Comp::Wide(lo.into(), hi.into());
                    let offset = Comp::constant(64, mem.offset as i64 as u64);
                    comps.push(if mem.offset == 0 {
                        wide
                    } else {
                        self.e.int2(Op::Add, false, 64, wide, offset)
                    });
                } else {
                    if matches!(mem.space, Space::Buffer | Space::Uniform) && shape.comps >= 2 {
                        let number = match mem.index {
                            Some(v) => self.e.op2(Op::Add, Type::U32, Word::Val(v), u32::from(mem.buffer)),
                            None => Word::Imm(mem.buffer.into()),
                        };
                        comps.push(self.e.resize(Comp::Word(number), 32, shape.bits.max(8), false));
                    }
                    comps.push(self.e.resize(Comp::Word(word), 32, shape.bits.max(8), false));
                }
            }
        }
        comps
    }

    /// The memory that an access goes to.
    pub(super) fn deref_memory(&mut self, srcs: &[Src], ix: &Indices) -> Option<MemRef> {
        let src = srcs.first()?;
        let side = self.copied(src, ix.access)?;
        if side.wild.is_empty() {
            return Some(side.mem);
        }
        self.error(src.span, "a wildcard names several elements; only a copy takes it");
        None
    }

    /// Whether a pointer leads to one of the memories that the index names.
    pub(super) fn mode_is(&mut self, dest: &Dest, src: &Src, ix: &Indices) {
        let modes: &[Mode] = match self.pointer(src) {
            Some(Pointer::Memory { mem, .. }) => match mem.space {
                Space::Shared => &[Mode::Shared],
                Space::Local => &[Mode::FunctionTemp, Mode::ShaderTemp, Mode::Constant],
                Space::Global => &[Mode::Global],
                Space::Buffer => &[Mode::Ssbo],
                Space::Uniform => &[Mode::Ubo],
                Space::Const => &[Mode::Uniform, Mode::PushConst],
                _ => &[],
            },
            _ => &[],
        };
        if modes.is_empty() {
            self.unsupported(self.span, "generic pointers whose memory is not known are not supported");
            return self.define_undef(dest);
        }
        let yes = ix.modes.has(Mode::Generic) || modes.iter().any(|&mode| ix.modes.has(mode));
        let bits = self.dest_shape(dest).bits;
        let answer = self.e.boolean(Pred::Const(yes), bits);
        self.define(dest, &[answer]);
    }

    /// How many elements fit between an unbounded array's begin and the end of its storage buffer.
    pub(super) fn array_length(&mut self, dest: &Dest, src: &Src) {
        let found = match self.pointer(src) {
            Some(Pointer::Memory { mem, layout, .. }) if mem.space == Space::Buffer => match layout.kind {
                Kind::Array { stride, .. } if stride > 0 => Some((mem, stride)),
                _ => None,
            },
            _ => None,
        };
        let Some((mem, stride)) = found else {
            self.error(src.span, "this is not an array in a storage buffer");
            return self.define_undef(dest);
        };
        let start = match mem.base()[..] {
            [v] => self.e.op2(Op::Add, Type::U32, Word::Val(v), mem.offset as u32),
            _ => Word::Imm(mem.offset as u32),
        };
        let mut whole = MemRef::new(Space::Buffer).with_buffer(mem.buffer);
        whole.index = mem.index;
        let size = self.e.inst(Inst::new(Op::BufSize, Type::U32).with_mem(whole));
        let end = self.e.op2(Op::Max, Type::U32, size, start);
        let bytes = self.e.op2(Op::Sub, Type::U32, end, start);
        let length = self.e.op2(Op::Div, Type::U32, bytes, stride);
        self.define(dest, &[Comp::Word(length)]);
    }

    pub(super) fn load_deref(&mut self, dest: &Dest, srcs: &[Src], ix: &Indices) {
        let shape = self.dest_shape(dest);
        match self.deref_memory(srcs, ix) {
            Some(mem) => {
                let comps = self.e.load(mem, shape);
                self.define(dest, &comps);
            }
            None => self.define_undef(dest),
        }
    }

    pub(super) fn store_deref(&mut self, srcs: &[Src], ix: &Indices) {
        let (Some(mem), Some(data)) = (self.deref_memory(srcs, ix), srcs.get(1)) else { return };
        let shape = self.src_shape(data);
        let comps = self.src_comps(data);
        self.e.store(mem, shape, &comps, ix.write_mask.unwrap_or(u16::MAX));
    }
}

pub(super) fn opaque(layout: &Layout) -> bool {
    match &layout.kind {
        Kind::Opaque => true,
        Kind::Array { element, .. } => opaque(element),
        _ => false,
    }
}
