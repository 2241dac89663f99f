//! System values.

use super::super::ast::Dest;
use super::super::intrinsics::System;
use super::Lower;
use crate::front::common::emit::value::{Comp, Word};
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
                    bits => self.e.resize(Comp::Word(w), 32, bits, false),
                }
            })
            .collect();
        self.define(dest, &comps);
    }

    fn system_words(&mut self, value: System) -> ArrayVec<Word, 4> {
        let one = |w: Word| [w].into_iter().collect();
        match value {
            System::WorkgroupId | System::WorkgroupIdZeroBase => {
                several(self.e.svs([Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ]))
            }
            System::LocalInvocationId => several(self.e.svs([Sv::TidX, Sv::TidY, Sv::TidZ])),
            System::WorkgroupSize => several(self.e.block_size()),
            System::NumWorkgroups => several(self.e.svs([Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ])),
            System::LocalInvocationIndex => one(self.e.local_index()),
            System::GlobalInvocationId => several(self.e.global_id()),
            System::GlobalInvocationIndex => {
                let id = self.e.global_id();
                let block = self.e.block_size();
                let blocks = self.e.svs([Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ]);
                let mut size = block;
                for i in 0..3 {
                    size[i] = self.e.op2(Op::Mul, Type::U32, block[i], blocks[i]);
                }
                one(self.e.linear(id, size))
            }
            System::WorkgroupIndex => {
                let id = self.e.svs([Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ]);
                let size = self.e.svs([Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ]);
                one(self.e.linear(id, size))
            }
            System::WorkDim => one(self.e.sv(Sv::WorkDim)),
            System::SubgroupInvocation => one(self.e.sv(Sv::Laneid)),
            System::SubgroupSize => one(Word::Imm(32)),
            // Warps are made of the threads of a block in the order of their linear index.
            System::SubgroupId => {
                let index = self.e.local_index();
                one(self.e.op2(Op::Shr, Type::U32, index, 5))
            }
            System::NumSubgroups => {
                let [x, y, z] = self.e.block_size();
                let xy = self.e.op2(Op::Mul, Type::U32, x, y);
                let threads = self.e.op2(Op::Mul, Type::U32, xy, z);
                let up = self.e.op2(Op::Add, Type::U32, threads, 31);
                one(self.e.op2(Op::Shr, Type::U32, up, 5))
            }
            System::EqMask => one(self.e.sv(Sv::LanemaskEq)),
            System::GeMask => one(self.e.sv(Sv::LanemaskGe)),
            System::GtMask => one(self.e.sv(Sv::LanemaskGt)),
            System::LeMask => one(self.e.sv(Sv::LanemaskLe)),
            System::LtMask => one(self.e.sv(Sv::LanemaskLt)),
            System::Zero => several([Word::Imm(0); 3]),
            System::VertexId => one(self.e.sv(Sv::VertexId)),
            System::VertexIdZeroBase => {
                let [id, base] = self.e.svs([Sv::VertexId, Sv::BaseVertex]);
                one(self.e.op2(Op::Sub, Type::U32, id, base))
            }
            System::InstanceId => one(self.e.sv(Sv::InstanceId)),
            System::BaseVertex => one(self.e.sv(Sv::BaseVertex)),
            System::BaseInstance => one(self.e.sv(Sv::BaseInstance)),
            System::DrawId => one(self.e.sv(Sv::DrawId)),
            System::PrimitiveId => one(self.e.sv(Sv::PrimitiveId)),
            System::InvocationId => one(self.e.sv(Sv::InvocationId)),
            System::VerticesIn => one(self.e.sv(Sv::VerticesIn)),
            System::TessCoord => several(self.e.svs([Sv::TessCoordX, Sv::TessCoordY, Sv::TessCoordZ])),
            System::TessOuter => self.input_words(Semantic::TessOuter),
            System::TessInner => self.input_words(Semantic::TessInner),
            System::FragCoord => self.input_words(Semantic::Position),
            System::PointCoord => self.input_words(Semantic::PointCoord),
            System::Layer => self.input_words(Semantic::Layer),
            System::FrontFace => one(self.e.sv(Sv::FrontFace)),
            System::SampleId => one(self.e.sv(Sv::SampleId)),
            System::SamplePosition => several(self.e.svs([Sv::SamplePosX, Sv::SamplePosY])),
            System::SampleMask => one(self.e.sv(Sv::SampleMaskIn)),
            System::Helper => one(self.helper(false)),
            System::HelperNow => one(self.helper(true)),
        }
    }
}
