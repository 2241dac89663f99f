//! Blocks that are being made: where code goes on, constructs that no text has, variables.

use super::Emit;
use super::value::{Comp, Pred, Shape};
use crate::front::common::ssa::Var;
use crate::ir::{BlockId, Merge};
use arrayvec::ArrayVec;

impl Emit<'_> {
    pub(crate) fn begin(&mut self, block: BlockId) {
        self.scope.enter(block);
        self.b.func.layout.push(block);
        self.b.block = block;
        self.reachable = true;
    }

    /// Begins the block that ends a construct. If nobody gets there, nothing is lowered until a construct around ends.
    pub(crate) fn begin_end(&mut self, block: BlockId) {
        if self.ssa.is_reached(block) {
            self.begin(block);
        } else {
            self.b.func.layout.push(block);
            self.reachable = false;
        }
    }

    pub(crate) fn go(&mut self, to: BlockId) {
        let from = self.b.block;
        self.scope.edge(from, to);
        self.ssa.jump(self.b.func, from, to);
        self.b.func.blocks[from].term_loc = self.b.loc;
        self.reachable = false;
    }

    /// Ends the block with a branch.
    pub(crate) fn fork(&mut self, p: Pred, then: BlockId, els: BlockId) {
        let from = self.b.block;
        let (v, then, els) = match p {
            Pred::Val(v, true) => (v, els, then),
            p => (self.pred_val(p), then, els),
        };
        self.scope.edge(from, then);
        self.scope.edge(from, els);
        self.ssa.branch(self.b.func, from, v, then, els);
        self.b.func.blocks[from].term_loc = self.b.loc;
    }

    /// Ends a loop that is no construct of the text, in the block that goes round; what follows is behind it.
    pub(crate) fn close_loop(&mut self, header: BlockId, next: BlockId, exit: BlockId) {
        self.ssa.seal(self.b.func, next);
        self.begin(next);
        self.go(header);
        self.ssa.seal(self.b.func, header);
        self.ssa.seal(self.b.func, exit);
        self.begin(exit);
    }

    /// Variables for the words of a component.
    pub(crate) fn vars(&mut self, shape: Shape) -> ArrayVec<Var, 2> {
        let class = shape.class();
        (0..Shape { comps: 1, ..shape }.words()).map(|_| self.ssa.var(class)).collect()
    }

    pub(crate) fn read_vars(&mut self, vars: &[Var], bits: u8) -> Comp {
        let block = self.b.block;
        let mut read = |i: usize| self.ssa.read(self.b.func, block, vars[i]);
        match bits {
            1 => Comp::Bool(Pred::Val(read(0), false)),
            64 => Comp::Wide(read(0).into(), read(1).into()),
            _ => Comp::Word(read(0).into()),
        }
    }

    pub(crate) fn write_vars(&mut self, vars: &[Var], c: Comp) {
        let values = self.values(c);
        let block = self.b.block;
        for (&var, &value) in vars.iter().zip(&values) {
            self.ssa.write(block, var, value);
        }
    }

    /// Begins the arm of an `if` without `else`; what ends it.
    pub(crate) fn begin_when(&mut self, p: Pred) -> BlockId {
        let header = self.b.block;
        let func = &mut *self.b.func;
        let [then, join] = [(); 2].map(|()| func.detached_block());
        func.blocks[header].merge = Merge::If { join };
        self.fork(p, then, join);
        self.ssa.seal(self.b.func, then);
        self.begin(then);
        join
    }

    /// Ends such an arm.
    pub(crate) fn end_when(&mut self, join: BlockId) {
        self.go(join);
        self.ssa.seal(self.b.func, join);
        self.begin(join);
    }
}
