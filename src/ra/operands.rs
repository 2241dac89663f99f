//! Which values of an instruction must stand in consecutive registers: the one place that knows.
//!
//! ```text
//! st b128 # g[%r1:%r2+0x10] %r3:%r4:%r5:%r6     windows read: [r1 r2], [r3 r4 r5 r6]
//! ld u64 %r7:%r8 l[%r1]                         window written: [r7 r8]
//! ```
//!
//! A window of two starts at an even register, one of three or four at a multiple of four.

use crate::ir::{AtomOp, Aux, Class, Function, Inst, List, Op, SrcKind, ValueId};
use arrayvec::ArrayVec;

/// Values that stand in consecutive registers, in order: two to four, or up to eight for the sources of a wide
/// compare-and-swap.
pub type Window = List<ValueId, 4>;

/// Registers that a window's first one must be a multiple of.
pub const fn alignment(words: usize) -> usize {
    match words {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    }
}

/// Whether an instruction reads any windows.
#[inline]
pub fn has_read_windows(inst: &Inst) -> bool {
    inst.mem.as_ref().is_some_and(|m| m.base().len() > 1)
        || inst.aux == Aux::Atom(AtomOp::Cas)
        || inst.srcs.iter().any(|s| s.values().len() > 1)
}

/// The windows that an instruction reads. A value may occur twice: preparation puts copies in before.
pub fn read_windows(inst: &Inst) -> ArrayVec<Window, 6> {
    let mut windows = ArrayVec::new();
    if let Some(m) = &inst.mem {
        let base = m.base();
        if base.len() > 1 {
            windows.push(base.iter().copied().collect());
        }
    }
    if inst.aux == Aux::Atom(AtomOp::Cas) {
        let all: Window = inst.srcs.iter().flat_map(|s| s.values()).copied().take(4).collect();
        // Both may be zeros, which need no register.
        if !all.is_empty() {
            windows.push(all);
        }
        return windows;
    }
    for s in &inst.srcs {
        if s.values().len() > 1 {
            windows.push(s.values().iter().copied().collect());
        }
    }
    windows
}

/// The window that an instruction writes: its general destinations, if there are several.
pub fn written_window(f: &Function, inst: &Inst) -> Option<Window> {
    if inst.dsts.len() < 2 || inst.op == Op::Pcopy {
        return None;
    }
    let gprs: Window = inst.dsts.iter().copied().filter(|&d| f.class(d) == Class::Gpr).take(4).collect();
    (gprs.len() > 1).then_some(gprs)
}

/// The result of a multiply-add by a constant and its addend, which it had better be written over if nobody else reads that.
pub fn tied(inst: &Inst) -> Option<(ValueId, ValueId)> {
    let immediate = |k: usize| inst.srcs.get(k).is_some_and(|s| matches!(s.kind, SrcKind::Imm(x) if x != 0));
    if inst.op != Op::Mad || !(immediate(0) || immediate(1)) || inst.srcs.len() < 3 {
        return None;
    }
    Some((*inst.dsts.first()?, inst.srcs[2].as_val()?))
}
