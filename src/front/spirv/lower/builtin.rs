//! What the launch gives: inputs that are decorated `BuiltIn`.

use super::{Lower, R};
use crate::front::common::emit::value::{Comp, Shape, Word};
use crate::front::spirv::types::Type;
use crate::ir::{Align, Cond, Op, Sv, Type as IrType};
use crate::stage::Stage;
use spirv::BuiltIn;

/// Three numbers of 64 bits, of which the low words count.
const GLOBAL_OFFSET_BYTES: u32 = 24;

impl Lower<'_, '_> {
    /// A built-in input as a type, or one of its components.
    pub(super) fn built_in(&mut self, b: BuiltIn, part: Option<Word>, ty: u32) -> R<Vec<Comp>> {
        let shape = match self.m.ty(ty) {
            // The mask of samples is one.
            Some(&Type::Array { part, len: 1 }) => self.shape_of(part)?,
            _ => self.shape_of(ty)?,
        };
        let words = self.built_in_words(b)?;
        let words = match part {
            None => words,
            Some(index) => match index {
                // Beyond the last, any.
                Word::Imm(n) => vec![words.get(n as usize).copied().unwrap_or(words[0])],
                index => {
                    let mut chosen = words[0];
                    for (n, &w) in words.iter().enumerate().skip(1) {
                        let p = self.e.cmp(Cond::Eq, IrType::U32, index, n as u32);
                        chosen = self.e.select(p, w, chosen);
                    }
                    vec![chosen]
                }
            },
        };
        let is_float = matches!(b, BuiltIn::TessCoord | BuiltIn::SamplePosition);
        let is_bool = matches!(b, BuiltIn::FrontFacing | BuiltIn::HelperInvocation);
        let right = match shape.bits {
            1 => is_bool,
            32 => !is_bool && self.m.is_float(self.m.part(ty, 0).unwrap_or(ty)) == is_float,
            bits => bits == 64 && !is_bool && !is_float,
        };
        if words.len() != usize::from(shape.comps) || !right {
            return self.fail(format!("the built-in {b:?} has another type"));
        }
        Ok((words.into_iter())
            .map(|w| match shape.bits {
                1 => Comp::Bool(self.e.truth(Comp::Word(w), 32)),
                bits => self.e.resize(Comp::Word(w), 32, bits, false),
            })
            .collect())
    }

    fn global_size(&mut self) -> [Word; 3] {
        let block = self.e.block_size();
        let blocks = self.e.svs([Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ]);
        let mut size = block;
        for i in 0..3 {
            size[i] = self.e.op2(Op::Mul, IrType::U32, block[i], blocks[i]);
        }
        size
    }

    /// Where the work items of a launch begin: what the driver says behind a kernel's arguments, if the kernel asks for it.
    fn global_offset(&mut self) -> [Word; 3] {
        let Some(at) = self.arguments.global_offset else { return [Word::Imm(0); 3] };
        self.input_bytes = self.input_bytes.max(at + GLOBAL_OFFSET_BYTES);
        [0, 8, 16].map(|part| {
            let place = self.input(at + part);
            self.e.load(place.with_align(Align::multiple_of(8)), Shape::scalar(32))[0].word()
        })
    }

    /// Work items count from the global offset on.
    fn global_id(&mut self) -> [Word; 3] {
        let mut id = self.e.global_id();
        if self.arguments.global_offset.is_some() {
            let offset = self.global_offset();
            for i in 0..3 {
                id[i] = self.e.op2(Op::Add, IrType::U32, id[i], offset[i]);
            }
        }
        id
    }

    fn built_in_words(&mut self, b: BuiltIn) -> R<Vec<Word>> {
        let mask = |this: &mut Self, sv| vec![this.e.sv(sv), Word::Imm(0), Word::Imm(0), Word::Imm(0)];
        if let Some(words) = self.stage_words(b)? {
            return Ok(words);
        }
        let compute = self.stage() == Stage::Compute;
        Ok(match b {
            _ if !compute && is_of_launch(b) => {
                return self.fail(format!("the built-in {b:?} does not exist in a {} shader", self.stage()));
            }
            BuiltIn::GlobalInvocationId => self.global_id().to_vec(),
            BuiltIn::LocalInvocationId => self.e.svs([Sv::TidX, Sv::TidY, Sv::TidZ]).to_vec(),
            BuiltIn::LocalInvocationIndex => vec![self.e.local_index()],
            BuiltIn::WorkgroupId => self.e.svs([Sv::CtaidX, Sv::CtaidY, Sv::CtaidZ]).to_vec(),
            BuiltIn::NumWorkgroups => self.e.svs([Sv::NctaidX, Sv::NctaidY, Sv::NctaidZ]).to_vec(),
            BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize => self.e.block_size().to_vec(),
            BuiltIn::GlobalSize => self.global_size().to_vec(),
            BuiltIn::GlobalOffset => self.global_offset().to_vec(),
            BuiltIn::GlobalLinearId => {
                // Without the offset.
                let (at, size) = (self.e.global_id(), self.global_size());
                vec![self.e.linear(at, size)]
            }
            BuiltIn::WorkDim => vec![self.e.sv(Sv::WorkDim)],
            BuiltIn::SubgroupSize | BuiltIn::SubgroupMaxSize => vec![Word::Imm(32)],
            BuiltIn::SubgroupLocalInvocationId => vec![self.e.sv(Sv::Laneid)],
            // Warps are made of the threads of a block in the order of their linear index.
            BuiltIn::SubgroupId => {
                let index = self.e.local_index();
                vec![self.e.op2(Op::Shr, IrType::U32, index, 5)]
            }
            BuiltIn::NumSubgroups | BuiltIn::NumEnqueuedSubgroups => {
                let [x, y, z] = self.e.block_size();
                let xy = self.e.op2(Op::Mul, IrType::U32, x, y);
                let threads = self.e.op2(Op::Mul, IrType::U32, xy, z);
                let up = self.e.op2(Op::Add, IrType::U32, threads, 31);
                vec![self.e.op2(Op::Shr, IrType::U32, up, 5)]
            }
            BuiltIn::SubgroupEqMask => mask(self, Sv::LanemaskEq),
            BuiltIn::SubgroupGeMask => mask(self, Sv::LanemaskGe),
            BuiltIn::SubgroupGtMask => mask(self, Sv::LanemaskGt),
            BuiltIn::SubgroupLeMask => mask(self, Sv::LanemaskLe),
            BuiltIn::SubgroupLtMask => mask(self, Sv::LanemaskLt),
            BuiltIn::DeviceIndex | BuiltIn::ViewIndex => vec![Word::Imm(0)],
            _ => return self.missing(format!("the built-in {b:?} in {} shaders is", self.stage())),
        })
    }
}

/// Whether grids and blocks give it.
fn is_of_launch(b: BuiltIn) -> bool {
    matches!(
        b,
        BuiltIn::GlobalInvocationId
            | BuiltIn::LocalInvocationId
            | BuiltIn::LocalInvocationIndex
            | BuiltIn::WorkgroupId
            | BuiltIn::NumWorkgroups
            | BuiltIn::WorkgroupSize
            | BuiltIn::EnqueuedWorkgroupSize
            | BuiltIn::GlobalSize
            | BuiltIn::GlobalOffset
            | BuiltIn::GlobalLinearId
            | BuiltIn::WorkDim
            | BuiltIn::SubgroupId
            | BuiltIn::NumSubgroups
            | BuiltIn::NumEnqueuedSubgroups
    )
}
