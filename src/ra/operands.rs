//! Which values of an instruction must stand in consecutive registers: the one place that knows.
//!
//! ```text
//! st b128 # g[%r1:%r2+0x10] %r3:%r4:%r5:%r6     tuples read: [r1 r2], [r3 r4 r5 r6]
//! ld u64 %r7:%r8 l[%r1]                         tuple written: [r7 r8]
//! ```
//!
//! A tuple of two starts at an even register, one of three or four at a multiple of four.

use crate::ir::{AtomOp, Aux, Class, Function, Inst, List, Op, SrcKind, ValueId};
use arrayvec::ArrayVec;

/// Values that stand in consecutive registers, in order: two to four, or up to eight for the
/// sources of a wide compare-and-swap.
pub(super) type Tuple = List<ValueId, 4>;

/// Registers that a tuple's first one must be a multiple of.
pub(super) const fn alignment(words: usize) -> usize {
    match words {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    }
}

/// Whether an instruction reads any tuples.
#[inline]
pub(crate) fn has_read_tuples(inst: &Inst) -> bool {
    inst.mem.as_ref().is_some_and(|m| m.base().len() > 1)
        || inst.aux == Aux::Atom(AtomOp::Cas)
        || inst.srcs.iter().any(|s| s.values().len() > 1)
}

/// The tuples that an instruction reads. A value may occur twice: preparation puts copies in
/// before.
pub(crate) fn read_tuples(inst: &Inst) -> ArrayVec<Tuple, 6> {
    let mut tuples = ArrayVec::new();
    if let Some(m) = &inst.mem {
        let base = m.base();
        if base.len() > 1 {
            tuples.push(base.iter().copied().collect());
        }
    }
    if inst.aux == Aux::Atom(AtomOp::Cas) {
        let all: Tuple = inst.srcs.iter().flat_map(|s| s.values()).copied().take(4).collect();
        // Both may be zeros, which need no register.
        if !all.is_empty() {
            tuples.push(all);
        }
        return tuples;
    }
    for s in &inst.srcs {
        if s.values().len() > 1 {
            tuples.push(s.values().iter().copied().collect());
        }
    }
    tuples
}

/// The tuple that an instruction writes: its general destinations, if there are several.
pub(crate) fn written_tuple(f: &Function, inst: &Inst) -> Option<Tuple> {
    if inst.dsts.len() < 2 || inst.op == Op::Pcopy {
        return None;
    }
    let gprs: Tuple = inst.dsts.iter().copied().filter(|&d| f.class(d) == Class::Gpr).take(4).collect();
    (gprs.len() > 1).then_some(gprs)
}

/// The result of a multiply-add by a constant and its addend, which it had better be written over
/// if nobody else reads that.
pub(super) fn tied(inst: &Inst) -> Option<(ValueId, ValueId)> {
    let immediate = |k: usize| inst.srcs.get(k).is_some_and(|s| matches!(s.kind, SrcKind::Imm(x) if x != 0));
    if inst.op != Op::Mad || !(immediate(0) || immediate(1)) || inst.srcs.len() < 3 {
        return None;
    }
    Some((*inst.dsts.first()?, inst.srcs[2].as_val()?))
}
