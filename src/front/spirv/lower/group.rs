//! Operations between the lanes of a subgroup.

use super::{Lower, R};
use crate::front::common::emit::op::Op as N;
use crate::front::common::emit::subgroup::{Group, Subgroup};
use crate::front::common::emit::value::{Shape, Word};
use spirv::{GroupOperation, Op};

/// `Subgroup` among the scopes.
const SUBGROUP: u32 = 3;

/// What a reduction computes.
fn reduction(op: Op) -> Option<N> {
    Some(match op {
        Op::GroupNonUniformIAdd | Op::GroupIAdd => N::Iadd,
        Op::GroupNonUniformFAdd | Op::GroupFAdd => N::Fadd,
        Op::GroupNonUniformIMul => N::Imul,
        Op::GroupNonUniformFMul => N::Fmul,
        Op::GroupNonUniformSMin | Op::GroupSMin => N::Imin,
        Op::GroupNonUniformUMin | Op::GroupUMin => N::Umin,
        Op::GroupNonUniformFMin | Op::GroupFMin => N::Fmin,
        Op::GroupNonUniformSMax | Op::GroupSMax => N::Imax,
        Op::GroupNonUniformUMax | Op::GroupUMax => N::Umax,
        Op::GroupNonUniformFMax | Op::GroupFMax => N::Fmax,
        Op::GroupNonUniformBitwiseAnd | Op::GroupNonUniformLogicalAnd => N::Iand,
        Op::GroupNonUniformBitwiseOr | Op::GroupNonUniformLogicalOr => N::Ior,
        Op::GroupNonUniformBitwiseXor | Op::GroupNonUniformLogicalXor => N::Ixor,
        _ => return None,
    })
}

impl Lower<'_, '_> {
    /// Instructions on subgroups; whether it is one.
    pub(super) fn groups(&mut self, op: Op) -> R<bool> {
        use Subgroup::*;
        let x = self.operands();
        // The operation, its value, and its second operand by place.
        let (what, value, second) = match op {
            Op::GroupNonUniformElect => (Elect, None, None),
            Op::GroupNonUniformAll | Op::GroupAll => (VoteAll, Some(1), None),
            Op::GroupNonUniformAny | Op::GroupAny => (VoteAny, Some(1), None),
            Op::SubgroupAllKHR => (VoteAll, Some(0), None),
            Op::SubgroupAnyKHR => (VoteAny, Some(0), None),
            Op::GroupNonUniformAllEqual => (VoteIeq, Some(1), None),
            Op::SubgroupAllEqualKHR => (VoteIeq, Some(0), None),
            Op::GroupNonUniformBroadcast | Op::GroupBroadcast => (ReadInvocation, Some(1), Some(2)),
            Op::SubgroupReadInvocationKHR => (ReadInvocation, Some(0), Some(1)),
            Op::GroupNonUniformBroadcastFirst => (ReadFirstInvocation, Some(1), None),
            Op::SubgroupFirstInvocationKHR => (ReadFirstInvocation, Some(0), None),
            Op::GroupNonUniformBallot => (Ballot, Some(1), None),
            Op::SubgroupBallotKHR => (Ballot, Some(0), None),
            Op::GroupNonUniformInverseBallot => (InverseBallot, Some(1), None),
            Op::GroupNonUniformBallotBitExtract => (BallotBitfieldExtract, Some(1), Some(2)),
            Op::GroupNonUniformBallotFindLSB => (BallotFindLsb, Some(1), None),
            Op::GroupNonUniformBallotFindMSB => (BallotFindMsb, Some(1), None),
            Op::GroupNonUniformBallotBitCount => (BallotBitCountReduce, Some(2), None),
            Op::GroupNonUniformShuffle => (Shuffle, Some(1), Some(2)),
            Op::GroupNonUniformShuffleXor => (ShuffleXor, Some(1), Some(2)),
            Op::GroupNonUniformShuffleUp => (ShuffleUp, Some(1), Some(2)),
            Op::GroupNonUniformShuffleDown => (ShuffleDown, Some(1), Some(2)),
            Op::GroupNonUniformQuadBroadcast => (QuadBroadcast, Some(1), Some(2)),
            Op::GroupNonUniformQuadSwap => (QuadSwapHorizontal, Some(1), None),
            Op::GroupNonUniformRotateKHR => (Rotate, Some(1), Some(2)),
            _ if reduction(op).is_some() => (Reduce, Some(2), None),
            _ => return Ok(false),
        };
        let scoped = !matches!(value, Some(0));
        if scoped && self.constant(x[0])? != SUBGROUP {
            return self.missing("a group operation of another scope than Subgroup is");
        }
        let mut what = what;
        let mut cluster = 0;
        if matches!(what, Reduce | BallotBitCountReduce) {
            what = match (GroupOperation::from_u32(x[1]), what) {
                (Some(GroupOperation::Reduce), what) => what,
                (Some(GroupOperation::InclusiveScan), Reduce) => InclusiveScan,
                (Some(GroupOperation::ExclusiveScan), Reduce) => ExclusiveScan,
                (Some(GroupOperation::InclusiveScan), _) => BallotBitCountInclusive,
                (Some(GroupOperation::ExclusiveScan), _) => BallotBitCountExclusive,
                (Some(GroupOperation::ClusteredReduce), Reduce) if x.len() > 3 => {
                    cluster = self.constant(x[3])?;
                    what
                }
                _ => return self.missing("this group operation is"),
            };
        }
        if what == QuadSwapHorizontal {
            what = match self.constant(x[2])? {
                0 => what,
                1 => QuadSwapVertical,
                2 => QuadSwapDiagonal,
                _ => return self.fail("the direction is none of 0 to 2"),
            };
        }
        if what == Rotate && x.len() > 3 {
            cluster = self.constant(x[3])?;
        }
        let shape = match self.m.shape(self.ty()) {
            Some(shape) => shape,
            None => return self.fail("the result is not a scalar or vector"),
        };
        let (values, bits) = match value {
            Some(i) => {
                let ty = self.type_of(x[i])?;
                if what == VoteIeq && self.m.is_float(ty) {
                    what = VoteFeq;
                }
                (self.comps(x[i])?, self.shape_of(ty)?.bits)
            }
            None => ([].into(), 32),
        };
        let same = matches!(
            what,
            ReadInvocation
                | ReadFirstInvocation
                | Shuffle
                | ShuffleXor
                | ShuffleUp
                | ShuffleDown
                | QuadBroadcast
                | QuadSwapHorizontal
                | QuadSwapVertical
                | QuadSwapDiagonal
                | Rotate
                | Reduce
                | InclusiveScan
                | ExclusiveScan
        );
        if same && value.is_some_and(|i| self.m.code.type_of(x[i]) != Some(self.ty())) {
            return self.fail("the value has another type than the result");
        }
        let bools = matches!(what, VoteAll | VoteAny | Ballot);
        if bools && (bits != 1 || values.len() != 1) {
            return self.fail("the predicate is not a bool");
        }
        let ballots = matches!(
            what,
            InverseBallot
                | BallotBitfieldExtract
                | BallotFindLsb
                | BallotFindMsb
                | BallotBitCountReduce
                | BallotBitCountInclusive
                | BallotBitCountExclusive
        );
        if ballots && (bits != 32 || values.len() != 4) {
            return self.fail("a ballot is a vector of four integers of 32 bits");
        }
        if what == Ballot && shape != (Shape { bits: 32, comps: 4 }) {
            return self.fail("a ballot is a vector of four integers of 32 bits");
        }
        let second = match second {
            Some(i) => self.word(x[i])?.word(),
            None => Word::Imm(0),
        };
        let group = Group { values: &values, bits, second, shape, cluster, reduction: reduction(op) };
        match self.e.subgroup(what, &group) {
            Ok(comps) => self.define(comps)?,
            Err(why) => return self.missing(format!("{why} is")),
        }
        Ok(true)
    }
}
