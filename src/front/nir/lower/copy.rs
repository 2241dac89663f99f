//! Copies from memory to memory: of whole variables, of the elements that wildcards name, of a number of bytes.

use super::super::ast::Src;
use super::super::indices::Indices;
use super::super::names::Access;
use super::Lower;
use super::deref::Pointer;
use super::memory::order;
use super::types::Layout;
use crate::front::common::emit::memory::forward;
use crate::front::common::emit::value::Word;
use crate::ir::MemRef;
use std::rc::Rc;

/// Elements that wildcards may name.
const ELEMENTS: u32 = 1024;

/// One side of a copy.
pub(super) struct Side {
    pub(super) mem: MemRef,
    pub(super) layout: Rc<Layout>,
    /// Number and distance of the elements that each wildcard names.
    pub(super) wild: Vec<(u32, u32)>,
}

impl Lower<'_, '_> {
    pub(super) fn copy_deref(&mut self, srcs: &[Src], ix: &Indices) {
        let Some(to) = self.copied(&srcs[0], ix.dst_access) else { return };
        let Some(from) = self.copied(&srcs[1], ix.src_access) else { return };
        let lengths = |side: &Side| side.wild.iter().map(|w| w.0).collect::<Vec<u32>>();
        if lengths(&to) != lengths(&from) || to.layout != from.layout {
            return self.error(self.span, "both sides of a copy must have one type");
        }
        let elements = to.wild.iter().try_fold(1u32, |n, &(len, _)| n.checked_mul(len));
        let Some(elements) = elements.filter(|&n| n <= ELEMENTS) else {
            return self
                .unsupported(self.span, format!("a copy of more than {ELEMENTS} elements is not supported"));
        };
        for n in 0..elements {
            let (mut rest, mut at) = (n, (0, 0));
            for (&(len, to), &(_, from)) in to.wild.iter().zip(&from.wild).rev() {
                let index = rest % len;
                rest /= len;
                at = (at.0 + index * to, at.1 + index * from);
            }
            self.e.copy(forward(to.mem, at.0), forward(from.mem, at.1), Word::Imm(to.layout.size));
        }
    }

    pub(super) fn memcpy_deref(&mut self, srcs: &[Src], ix: &Indices) {
        let Some(to) = self.copied(&srcs[0], ix.dst_access) else { return };
        let Some(from) = self.copied(&srcs[1], ix.src_access) else { return };
        let size = self.src_comp(&srcs[2], 0).word();
        self.e.copy(to.mem, from.mem, size);
    }

    pub(super) fn copied(&mut self, src: &Src, access: Access) -> Option<Side> {
        match self.pointer(src) {
            Some(Pointer::Memory { mut mem, layout, wild, .. }) => {
                mem.order = order(access);
                Some(Side { mem, layout, wild })
            }
            Some(Pointer::Unknown(why)) => {
                self.error(src.span, &*why);
                None
            }
            _ => {
                self.error(src.span, "this is not a pointer to memory");
                None
            }
        }
    }
}
