//! Barriers, and what the lanes of a warp say to each other.

use super::convert::lowest_one;
use crate::ir::build::Builder;
use crate::ir::{Aux, BarOp, Inst, Op, Scope, ShflOp, Src, Type, ValueId, VoteOp};

/// The lanes in which a predicate holds, as a mask.
pub(crate) fn ballot(b: &mut Builder<'_>, p: Src) -> ValueId {
    b.value(Inst::new(Op::Vote, Type::U32).src(p).with_aux(Aux::Vote(VoteOp::Any)))
}

/// A predicate of the active lanes' predicates.
pub(crate) fn vote(b: &mut Builder<'_>, how: VoteOp, p: Src) -> ValueId {
    b.value(Inst::new(Op::Vote, Type::Pred).src(p).with_aux(Aux::Vote(how)))
}

/// The lowest active lane; `all`: a predicate that holds.
pub(crate) fn first(b: &mut Builder<'_>, all: Src) -> ValueId {
    let active = ballot(b, all);
    lowest_one(b, active.into())
}

/// A word of another lane.
pub(crate) fn shuffle(b: &mut Builder<'_>, word: Src, how: ShflOp, by: Src) -> ValueId {
    // The clamp word: lanes 0 to 31 make up one segment; `up` is bounded from below.
    let clamp = if how == ShflOp::Up { 0u32 } else { 31 };
    b.value(Inst::new(Op::Shfl, Type::U32).src(word).src(by).src(clamp).with_aux(Aux::Shfl(how)))
}

/// Waits for the other threads of the block.
pub(crate) fn barrier(b: &mut Builder<'_>) {
    b.push(Inst::new(Op::Bar, Type::U32).with_aux(Aux::Bar(BarOp::Sync)).src(0u32));
}

/// What was stored before is seen by the scope before what is stored after.
pub(crate) fn fence(b: &mut Builder<'_>, scope: Scope) {
    b.push(Inst::new(Op::Membar, Type::U32).with_aux(Aux::Scope(scope)));
}
