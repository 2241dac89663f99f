//! Copies that a block makes together (`async_work_group_copy`), and waiting for them.

use super::pointer::Place;
use super::{Lower, R};
use crate::front::common::emit::value::{Comp, Word};
use crate::front::common::lanes;
use crate::ir::{Class, Cond, Op as IrOp, Type as IrType};

impl Lower<'_, '_> {
    /// Each thread copies every n-th element, n being the threads of the block; nothing is left to wait for but the others.
    pub(super) fn block_copy(&mut self) -> R<()> {
        let x = self.operands();
        let (to, from) = (self.pointer(x[1])?, self.pointer(x[2])?);
        let (Place::Memory(to_mem), Place::Memory(from_mem)) = (&to.place, &from.place) else {
            return self.fail("a copy is from memory to memory");
        };
        let (to_mem, from_mem) = (*to_mem, *from_mem);
        if to.to != from.to {
            return self.fail("the pointers lead to different types");
        }
        let m = self.m;
        let Some(info) = m.info(to.to) else {
            return self.fail("the pointers lead to no type");
        };
        let count = self.word(x[3])?;
        let stride = self.word(x[4])?.word();
        // The stride is of the pointer to global memory.
        let one = Comp::Word(Word::Imm(1)).word();
        let shared = |space| space == crate::ir::Space::Shared;
        let to_stride = if shared(to_mem.space) { one } else { stride };
        let from_stride = if shared(from_mem.space) { one } else { stride };
        let size = info.size as u32;
        let start = self.e.local_index();
        let [bx, by, bz] = self.e.block_size();
        let threads = self.e.op2(IrOp::Mul, IrType::U32, bx, by);
        let threads = self.e.op2(IrOp::Mul, IrType::U32, threads, bz);
        let at = self.e.ssa.var(Class::Gpr);
        self.e.write_vars(&[at], Comp::Word(start));
        self.repeated(
            |this| {
                let index = this.e.read_vars(&[at], 32).word();
                Ok(this.e.cmp(Cond::Lt, IrType::U32, index, count.word()))
            },
            |this| {
                let index = this.e.read_vars(&[at], 32).word();
                let from_index = this.e.op2(IrOp::Mul, IrType::U32, index, from_stride);
                let mut source = from.clone();
                source.place = Place::Memory(this.e.stepped(from_mem, Comp::Word(from_index), size));
                let comps = this.load_value(&source, 0)?;
                let to_index = this.e.op2(IrOp::Mul, IrType::U32, index, to_stride);
                let mut target = to.clone();
                target.place = Place::Memory(this.e.stepped(to_mem, Comp::Word(to_index), size));
                this.store_value(&target, &comps, 0)?;
                let plus = this.e.op2(IrOp::Add, IrType::U32, index, threads);
                this.e.write_vars(&[at], Comp::Word(plus));
                Ok(())
            },
        )?;
        self.define([Comp::Word(Word::Imm(1))])
    }

    /// All threads have made their part.
    pub(super) fn wait_for_copies(&mut self) {
        lanes::barrier(&mut self.e.b);
    }
}
