//! Image instructions: loads, stores, atomics, sizes.

use super::super::alu::Base;
use super::super::ast::{Dest, Src};
use super::super::indices::Indices;
use super::super::intrinsics::{Atomic, ImageOp, ImageRef};
use super::super::names::ValueType;
use super::Lower;
use super::deref::Pointer;
use super::memory::order;
use crate::format::Format;
use crate::front::common::emit::memory::atomic_op;
use crate::front::common::emit::value::{Comp, Word};
use crate::front::common::image;
use crate::ir::{Dim, Op, Surf, Type, ValueId};
use arrayvec::ArrayVec;

impl Lower<'_, '_> {
    /// What an instruction gives; `None`, with an error, if there is no such.
    pub(super) fn image(
        &mut self,
        which: ImageRef,
        op: ImageOp,
        dest: Option<&Dest>,
        srcs: &[Src],
        ix: &Indices,
    ) -> Option<ArrayVec<Comp, 16>> {
        let Some(dim) = ix.image_dim else {
            self.error(self.span, "the image's dimension is not known");
            return None;
        };
        let array = ix.image_array;
        let mut s = Surf { ty: Type::U32, ..image::access((dim, array), ix.format, order(ix.access)) };
        self.image_number(which, &srcs[0], &mut s)?;
        let shape = dest.map(|d| self.dest_shape(d));
        let comps = shape.map_or(0, |s| s.comps);
        let all = ((1u16 << comps.min(4)) - 1) as u8;
        // Where the access names no type, the format does.
        let by_format = image::channel_type(s.format);
        let named = |ty: ValueType| (ty.base != Base::Bool).then(|| channel(ty.base));
        let channel = |ty: Option<ValueType>| ty.and_then(named).unwrap_or(by_format);
        match op {
            ImageOp::Size | ImageOp::Samples => {
                let lod = srcs.get(1).map(|l| self.src_comp(l, 0).word());
                if lod.is_some_and(|w| w != Word::Imm(0)) {
                    self.error(self.span, "an image has one level only");
                    return None;
                }
                // The fourth component of a size query is the number of samples.
                s.mask = if op == ImageOp::Samples { 8 } else { all };
                return Some(self.surface(Op::Suq, s, usize::from(comps)));
            }
            _ => {}
        }
        let n = dim.coordinates() + usize::from(array && dim != Dim::Cube);
        let coords = self.src_comps(srcs.get(1)?);
        s.coords = coords.iter().take(n).map(|c| self.e.val(c.word())).collect();
        if dim == Dim::Ms {
            let sample = self.src_comp(srcs.get(2)?, 0).word();
            s.sample = Some(self.e.val(sample));
        }
        match op {
            ImageOp::Load => {
                if s.format.is_none() {
                    self.needs_kepler("loads from images whose format is not declared")?;
                }
                s.ty = channel(ix.dest_type);
                s.mask = all;
                Some(self.surface(Op::Suld, s, usize::from(comps)))
            }
            ImageOp::Store => {
                s.ty = channel(ix.src_type);
                let data = self.src_comps(srcs.get(3)?);
                let channels = s.format.map_or(4, Format::channels).min(data.len()).min(4);
                s.mask = ((1u16 << channels) - 1) as u8;
                s.data = data.iter().take(channels).map(|c| self.e.val(c.word())).collect();
                Some(self.surface(Op::Sust, s, 0))
            }
            ImageOp::Atomic(_) | ImageOp::AtomicSwap => {
                let named = match op {
                    ImageOp::Atomic(Some(op)) => Some(op),
                    _ => ix.atomic_op,
                };
                let Some(named) = named else {
                    self.error(self.span, "the atomic operation is not known");
                    return None;
                };
                let bits = shape.map_or(32, |s| s.bits);
                let Some((atom, ty)) = atomic_op(named, bits) else {
                    self.error(self.span, format!("there are no atomics of {bits} bits"));
                    return None;
                };
                let count = if matches!(named, Atomic::CompSwap | Atomic::FcompSwap) { 2 } else { 1 };
                let mut data: Vec<ValueId> = Vec::new();
                for src in srcs.get(3..3 + count)? {
                    let c = self.src_comp(src, 0);
                    data.extend(self.e.values(c));
                }
                s.atom = Some(atom);
                s.ty = ty;
                s.mask = 1;
                s.data = data;
                let old = self.surface(Op::Sured, s, ty.words());
                Some(old.into_iter().map(|c| self.atomic_result(c, bits)).collect())
            }
            _ => None,
        }
    }

    fn image_number(&mut self, which: ImageRef, src: &Src, s: &mut Surf) -> Option<()> {
        let number = match which {
            ImageRef::Index => self.src_comp(src, 0).word(),
            ImageRef::Bindless => {
                self.needs_kepler("images that a handle names")?;
                // The table of bindless images is indexed by the low bits of the handle.
                let handle = self.src_comp(src, 0).word();
                s.handle = Some(self.e.val(handle));
                return Some(());
            }
            ImageRef::Deref => match self.pointer(src) {
                Some(Pointer::Opaque { binding, format, index, .. }) => {
                    s.format = s.format.or(format);
                    self.e.op2(Op::Add, Type::U32, index, binding)
                }
                _ => {
                    self.error(src.span, "this is not a pointer to an image");
                    return None;
                }
            },
        };
        match number {
            Word::Imm(n) => s.image = n as u16,
            w => s.index = Some(self.e.val(w)),
        }
        Some(())
    }

    fn surface(&mut self, op: Op, s: Surf, results: usize) -> ArrayVec<Comp, 16> {
        let wide = op == Op::Sured && s.ty.words() == 2;
        let values = image::emit(&mut self.e.b, op, s, results.min(4));
        if let (true, &[lo, hi]) = (wide, &values[..]) {
            return [Comp::Wide(lo.into(), hi.into())].into_iter().collect();
        }
        values.iter().map(|&v| Comp::Word(v.into())).collect()
    }
}

/// The type of channels of 32 bits.
pub(super) fn channel(base: Base) -> Type {
    match base {
        Base::Int => Type::S32,
        Base::Uint | Base::Bool => Type::U32,
        Base::Float => Type::F32,
    }
}
