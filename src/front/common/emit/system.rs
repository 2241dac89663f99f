//! System values that are computed from others.

use super::Emit;
use super::value::Word;
use crate::ir::{Op, Sv, Type};

impl Emit<'_> {
    pub(crate) fn sv(&mut self, sv: Sv) -> Word {
        self.b.sv(sv).into()
    }

    pub(crate) fn svs<const N: usize>(&mut self, list: [Sv; N]) -> [Word; N] {
        list.map(|sv| self.sv(sv))
    }

    /// Threads of a block in each direction.
    pub(crate) fn block_size(&mut self) -> [Word; 3] {
        match self.block_size {
            Some(size) => size.map(Word::Imm),
            None => self.svs([Sv::NtidX, Sv::NtidY, Sv::NtidZ]),
        }
    }

    /// `x + size.x * (y + size.y * z)`
    pub(crate) fn linear(&mut self, at: [Word; 3], size: [Word; 3]) -> Word {
        let mut index = at[2];
        for axis in [1, 0] {
            let row = self.op2(Op::Mul, Type::U32, index, size[axis]);
            index = self.op2(Op::Add, Type::U32, row, at[axis]);
        }
        index
    }

    pub(crate) fn local_index(&mut self) -> Word {
        let size = self.block_size();
        // Directions with one thread only need no register; a block of one thread goes on in x, where whole warps run.
        let mut at = self.svs([Sv::TidX, Sv::TidY, Sv::TidZ]);
        let one = size == [Word::Imm(1); 3];
        for (d, (w, n)) in at.iter_mut().zip(size).enumerate() {
            if n == Word::Imm(1) && !(one && d == 0) {
                *w = Word::Imm(0);
            }
        }
        self.linear(at, size)
    }

    pub(crate) fn global_id(&mut self) -> [Word; 3] {
        let size = self.block_size();
        let block = self.svs([Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ]);
        let thread = self.svs([Sv::TidX, Sv::TidY, Sv::TidZ]);
        let mut id = thread;
        for i in 0..3 {
            let first = self.op2(Op::Mul, Type::U32, block[i], size[i]);
            id[i] = self.op2(Op::Add, Type::U32, first, thread[i]);
        }
        id
    }
}
