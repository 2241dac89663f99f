//! System values.

use super::super::ast::Dest;
use super::super::intrinsics::System;
use super::Lower;
use super::value::{Comp, Word};
use crate::ir::{Op, Sv, Type};
use crate::stage::{Semantic, Stage};
use arrayvec::ArrayVec;

fn several<const N: usize>(words: [Word; N]) -> ArrayVec<Word, 4> {
    words.into_iter().collect()
}

/// Whether a stage has a system value.
fn exists(value: System, stage: Stage) -> bool {
    use System::*;
    match value {
        WorkgroupId
        | WorkgroupIdZeroBase
        | LocalInvocationId
        | LocalInvocationIndex
        | WorkgroupSize
        | NumWorkgroups
        | GlobalInvocationId
        | GlobalInvocationIndex
        | WorkgroupIndex
        | WorkDim
        | SubgroupId
        | NumSubgroups => stage == Stage::Compute,
        VertexId | VertexIdZeroBase | InstanceId | BaseVertex | BaseInstance | DrawId => {
            stage == Stage::Vertex
        }
        PrimitiveId => stage.is_graphics() && stage != Stage::Vertex,
        InvocationId => matches!(stage, Stage::TessControl | Stage::Geometry),
        VerticesIn => matches!(stage, Stage::TessControl | Stage::TessEval),
        TessCoord | TessOuter | TessInner => stage == Stage::TessEval,
        FragCoord | PointCoord | FrontFace | Layer | SampleId | SamplePosition | SampleMask => {
            stage == Stage::Fragment
        }
        SubgroupInvocation | SubgroupSize | EqMask | GeMask | GtMask | LeMask | LtMask | Zero | Helper
        | HelperNow => true,
    }
}

impl Lower<'_, '_> {
    pub(super) fn system(&mut self, value: System, name: &str, dest: &Dest) {
        let shape = self.dest_shape(dest);
        if !exists(value, self.stage()) {
            self.not_here(name);
            return self.define_undef(dest);
        }
        let words = self.system_words(value);
        let comps: ArrayVec<Comp, 16> = (0..usize::from(shape.comps))
            .map(|i| {
                let w = words.get(i).copied().unwrap_or(Word::Imm(0));
                match shape.bits {
                    1 => Comp::Bool(self.e.truth(Comp::Word(w), 32)),
                    bits => self.resize(Comp::Word(w), 32, bits, false),
                }
            })
            .collect();
        self.define(dest, &comps);
    }

    fn sv(&mut self, sv: Sv) -> Word {
        self.e.b.sv(sv).into()
    }

    fn svs<const N: usize>(&mut self, list: [Sv; N]) -> [Word; N] {
        list.map(|sv| self.sv(sv))
    }

    /// Threads of a block in each direction.
    fn block_size(&mut self) -> [Word; 3] {
        match self.module.shader.workgroup_size {
            Some(size) => size.map(Word::Imm),
            None => self.svs([Sv::NtidX, Sv::NtidY, Sv::NtidZ]),
        }
    }

    /// `x + size.x * (y + size.y * z)`
    fn linear(&mut self, at: [Word; 3], size: [Word; 3]) -> Word {
        let mut index = at[2];
        for axis in [1, 0] {
            let row = self.e.op2(Op::Mul, Type::U32, index, size[axis]);
            index = self.e.op2(Op::Add, Type::U32, row, at[axis]);
        }
        index
    }

    pub(super) fn local_index(&mut self) -> Word {
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

    fn global_id(&mut self) -> [Word; 3] {
        let size = self.block_size();
        let block = self.svs([Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ]);
        let thread = self.svs([Sv::TidX, Sv::TidY, Sv::TidZ]);
        let mut id = thread;
        for i in 0..3 {
            let first = self.e.op2(Op::Mul, Type::U32, block[i], size[i]);
            id[i] = self.e.op2(Op::Add, Type::U32, first, thread[i]);
        }
        id
    }

    fn system_words(&mut self, value: System) -> ArrayVec<Word, 4> {
        let one = |w: Word| [w].into_iter().collect();
        match value {
            System::WorkgroupId | System::WorkgroupIdZeroBase => {
                several(self.svs([Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ]))
            }
            System::LocalInvocationId => several(self.svs([Sv::TidX, Sv::TidY, Sv::TidZ])),
            System::WorkgroupSize => several(self.block_size()),
            System::NumWorkgroups => several(self.svs([Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ])),
            System::LocalInvocationIndex => one(self.local_index()),
            System::GlobalInvocationId => several(self.global_id()),
            System::GlobalInvocationIndex => {
                let id = self.global_id();
                let block = self.block_size();
                let blocks = self.svs([Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ]);
                let mut size = block;
                for i in 0..3 {
                    size[i] = self.e.op2(Op::Mul, Type::U32, block[i], blocks[i]);
                }
                one(self.linear(id, size))
            }
            System::WorkgroupIndex => {
                let id = self.svs([Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ]);
                let size = self.svs([Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ]);
                one(self.linear(id, size))
            }
            System::WorkDim => one(self.sv(Sv::WorkDim)),
            System::SubgroupInvocation => one(self.sv(Sv::Laneid)),
            System::SubgroupSize => one(Word::Imm(32)),
            // Warps are made of the threads of a block in the order of their linear index.
            System::SubgroupId => {
                let index = self.local_index();
                one(self.e.op2(Op::Shr, Type::U32, index, 5))
            }
            System::NumSubgroups => {
                let [x, y, z] = self.block_size();
                let xy = self.e.op2(Op::Mul, Type::U32, x, y);
                let threads = self.e.op2(Op::Mul, Type::U32, xy, z);
                let up = self.e.op2(Op::Add, Type::U32, threads, 31);
                one(self.e.op2(Op::Shr, Type::U32, up, 5))
            }
            System::EqMask => one(self.sv(Sv::LanemaskEq)),
            System::GeMask => one(self.sv(Sv::LanemaskGe)),
            System::GtMask => one(self.sv(Sv::LanemaskGt)),
            System::LeMask => one(self.sv(Sv::LanemaskLe)),
            System::LtMask => one(self.sv(Sv::LanemaskLt)),
            System::Zero => several([Word::Imm(0); 3]),
            System::VertexId => one(self.sv(Sv::VertexId)),
            System::VertexIdZeroBase => {
                let [id, base] = self.svs([Sv::VertexId, Sv::BaseVertex]);
                one(self.e.op2(Op::Sub, Type::U32, id, base))
            }
            System::InstanceId => one(self.sv(Sv::InstanceId)),
            System::BaseVertex => one(self.sv(Sv::BaseVertex)),
            System::BaseInstance => one(self.sv(Sv::BaseInstance)),
            System::DrawId => one(self.sv(Sv::DrawId)),
            System::PrimitiveId => one(self.sv(Sv::PrimitiveId)),
            System::InvocationId => one(self.sv(Sv::InvocationId)),
            System::VerticesIn => one(self.sv(Sv::VerticesIn)),
            System::TessCoord => several(self.svs([Sv::TessCoordX, Sv::TessCoordY, Sv::TessCoordZ])),
            System::TessOuter => self.input_words(Semantic::TessOuter),
            System::TessInner => self.input_words(Semantic::TessInner),
            System::FragCoord => self.input_words(Semantic::Position),
            System::PointCoord => self.input_words(Semantic::PointCoord),
            System::Layer => self.input_words(Semantic::Layer),
            System::FrontFace => one(self.sv(Sv::FrontFace)),
            System::SampleId => one(self.sv(Sv::SampleId)),
            System::SamplePosition => several(self.svs([Sv::SamplePosX, Sv::SamplePosY])),
            System::SampleMask => one(self.sv(Sv::SampleMaskIn)),
            System::Helper => one(self.helper(false)),
            System::HelperNow => one(self.helper(true)),
        }
    }
}
