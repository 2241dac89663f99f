//! What is not SSA in NIR: registers, and phis with what their predecessors write to them.

use super::super::ast::{self, Dest, Node};
use super::{Lower, Reg, Shape};
use crate::front::common::emit::value::Comp;
use crate::front::common::ssa::{MANY_LOOPS, Var};
use crate::ir;
use arrayvec::ArrayVec;

impl Lower<'_, '_> {
    // ---- registers

    pub(super) fn reg_shape(&mut self, index: u32) -> Shape {
        self.regs.get(&index).map_or(Shape { bits: 32, comps: 1 }, |(decl, _)| decl.shape)
    }

    /// Makes variables for registers; arrays with a dynamic index go to private memory.
    pub(super) fn registers(&mut self) {
        if self.fun.regs.is_empty() {
            return;
        }
        let indexed = self.fun.indexed_registers();
        let loops = self.fun.body.iter().filter(|(node, _)| matches!(node, Node::Loop)).count();
        let writers = (loops >= MANY_LOOPS).then(|| self.fun.register_writers());
        for decl in &self.fun.regs {
            let elems = decl.elems.max(1) as usize;
            let bytes = elems * usize::from(decl.shape.comps) * usize::from(decl.shape.bits.max(8)) / 8;
            let reg = if indexed.contains(&decl.index) || elems > 64 {
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                Reg::Memory(self.private(bytes, 16))
            } else {
                let n = elems * decl.shape.words();
                let vars: Vec<Var> = (0..n).map(|_| self.e.ssa.var(decl.shape.class())).collect();
                if let Some(writers) = &writers {
                    let places = writers.get(&decl.index).map_or(&[][..], |p| p);
                    vars.iter().for_each(|&var| self.e.ssa.written_at(var, places.to_vec()));
                }
                Reg::Vars(vars)
            };
            self.regs.insert(decl.index, (*decl, reg));
        }
    }

    /// Private memory that the front-end itself puts something in.
    pub(super) fn private(&mut self, bytes: u32, align: u32) -> u32 {
        let at = self.module.private_bytes.next_multiple_of(align);
        match at.checked_add(bytes).filter(|&end| end <= 1 << 19) {
            Some(end) => {
                self.module.private_bytes = end;
                self.module.extent(ir::Space::Local, at, bytes);
            }
            None => self.error(self.span, "more private memory is used than a thread can have (512 KiB)"),
        }
        at
    }

    pub(super) fn read_reg(&mut self, reg: &ast::RegRef, i: usize) -> Comp {
        let shape = self.reg_shape(reg.index);
        match self.regs.get(&reg.index) {
            Some((_, Reg::Vars(vars))) => {
                let per = shape.words() / usize::from(shape.comps);
                let first = (reg.base as usize * usize::from(shape.comps) + i) * per;
                let list: ArrayVec<Var, 2> = vars[first..first + per].iter().copied().collect();
                self.e.read_vars(&list, shape.bits)
            }
            Some((_, Reg::Memory(at))) => {
                let at = *at;
                let mem = self.reg_memory(reg, at, shape, i);
                self.e
                    .load(mem, Shape { comps: 1, ..shape })
                    .first()
                    .copied()
                    .unwrap_or(Comp::constant(32, 0))
            }
            None => self.e.undef(shape.bits),
        }
    }

    pub(super) fn write_reg(&mut self, reg: &ast::RegRef, mask: u16, comps: &[Comp]) {
        let shape = self.reg_shape(reg.index);
        let mut next = comps.iter();
        for i in (0..usize::from(shape.comps)).filter(|i| mask >> i & 1 != 0) {
            let Some(&c) = next.next() else { return };
            match self.regs.get(&reg.index) {
                Some((_, Reg::Vars(vars))) => {
                    let per = shape.words() / usize::from(shape.comps);
                    let first = (reg.base as usize * usize::from(shape.comps) + i) * per;
                    let list: ArrayVec<Var, 2> = vars[first..first + per].iter().copied().collect();
                    self.e.write_vars(&list, c);
                }
                Some((_, Reg::Memory(at))) => {
                    let at = *at;
                    let mem = self.reg_memory(reg, at, shape, i);
                    self.e.store(mem, Shape { comps: 1, ..shape }, &[c], 1);
                }
                None => {}
            }
        }
    }

    /// Component `i` of an element of an array in private memory.
    fn reg_memory(&mut self, reg: &ast::RegRef, at: u32, shape: Shape, i: usize) -> ir::MemRef {
        let size = u32::from(shape.bits.max(8)) / 8;
        let stride = size * u32::from(shape.comps);
        let offset = at.wrapping_add(reg.base.wrapping_mul(stride)).wrapping_add(i as u32 * size);
        let mem = ir::MemRef::new(ir::Space::Local)
            .with_offset(offset as i32)
            .with_align(ir::Align::multiple_of(size));
        let mem = self.named(mem, at);
        match reg.indirect {
            None => mem,
            Some(id) => {
                let index = self.src_comp(self.fun.src(id), 0).word();
                let bytes = self.e.op2(ir::Op::Mul, ir::Type::U32, index, stride);
                let base = self.e.val(bytes);
                mem.with_base(&[base])
            }
        }
    }

    // ---- phis

    /// Makes variables for phis, and notes for every predecessor what they get from it.
    pub(super) fn find_phis(&mut self) {
        for (node, _) in &self.fun.body {
            if let Node::Phi { dest, srcs } = node {
                for (label, src) in self.fun.phi_srcs(*srcs) {
                    self.moves.entry(*label).or_default().push((self.phis.len(), *src));
                }
                let shape = self.dest_shape(dest);
                let vars = (0..shape.words()).map(|_| self.e.ssa.var(shape.class())).collect();
                self.phis.push((shape, vars));
            }
        }
    }

    pub(super) fn phi(&mut self, dest: &Dest, number: usize) {
        let (shape, vars) = self.phis[number].clone();
        let per = shape.words() / usize::from(shape.comps);
        let comps: ArrayVec<Comp, 16> =
            vars.chunks(per).take(16).map(|list| self.e.read_vars(list, shape.bits)).collect();
        self.define(dest, &comps);
    }

    /// At the end of a NIR block, before control leaves it.
    pub(super) fn end_of_block(&mut self) {
        let Some(moves) = self.moves.remove(&self.label) else { return };
        for (number, src) in moves {
            let (shape, vars) = self.phis[number].clone();
            let per = shape.words() / usize::from(shape.comps);
            for (i, list) in vars.chunks(per).enumerate() {
                let c = self.src_comp(&src, i);
                self.e.write_vars(list, c);
            }
        }
    }
}
