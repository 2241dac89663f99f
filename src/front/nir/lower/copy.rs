//! Copies from memory to memory: of whole variables, of the elements that wildcards name, of a number of bytes.

use super::super::ast::Src;
use super::super::indices::Indices;
use super::super::names::Access;
use super::Lower;
use super::deref::{Pointer, forward};
use super::memory::order;
use super::types::Layout;
use super::value::{Comp, Word};
use crate::ir::{Class, Cond, MemRef, Merge, Op, Type};
use std::rc::Rc;

/// Bytes up to which a copy is unrolled.
const UNROLLED: u32 = 256;
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
            self.copy(forward(to.mem, at.0), forward(from.mem, at.1), Word::Imm(to.layout.size));
        }
    }

    pub(super) fn memcpy_deref(&mut self, srcs: &[Src], ix: &Indices) {
        let Some(to) = self.copied(&srcs[0], ix.dst_access) else { return };
        let Some(from) = self.copied(&srcs[1], ix.src_access) else { return };
        let size = self.src_comp(&srcs[2], 0).word();
        self.copy(to.mem, from.mem, size);
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

    /// Copies a number of bytes.
    fn copy(&mut self, to: MemRef, from: MemRef, size: Word) {
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
        let func = &mut *self.e.b.func;
        let [header, body, next, exit] = [(); 4].map(|()| func.detached_block());
        func.blocks[header].merge = Merge::Loop { exit, cont: next };
        self.go(header);
        self.begin(header);
        let index = self.read_vars(&[done], 32);
        let more = self.e.cmp(Cond::Lt, Type::U32, index.word(), count);
        self.fork(more, body, exit);
        self.ssa.seal(self.e.b.func, body);
        self.begin(body);
        let shape = words_of(unit);
        let source = self.stepped(from, index, unit);
        let comps = self.load(source, shape);
        let target = self.stepped(to, index, unit);
        self.store(target, shape, &comps, u16::MAX);
        let plus = self.e.op2(Op::Add, Type::U32, index.word(), 1);
        self.write_vars(&[done], Comp::Word(plus));
        self.go(next);
        self.close_loop(header, next, exit);
    }
}

/// A vector of that many bytes: 1, 2, 4, 8 or 16.
fn words_of(bytes: u32) -> super::Shape {
    super::Shape { bits: 8 * bytes.min(4) as u8, comps: bytes.div_ceil(4) as u8 }
}
