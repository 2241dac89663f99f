//! The rules of [`Op::WholeWarp`], which says which lanes were asked for.
//!
//! ```text
//! kernel k() {
//! b0:
//!     wholewarp pred %p0
//!     if %p0 b1 b2 join b2          the body: lanes that were asked for
//! b1:
//!     ..
//!     jump b2
//! b2:                               the tail: all lanes of every warp
//!     vote.any u32 %r9 %p8
//! ```
//!
//! It stands in the first block of a kernel, once, and the branch that ends this block is all that
//! reads it: so there is one body and one tail, and nothing before them that some lanes skip. No
//! lane ends in the body, or in what lanes do that were not asked for: in the tail it would be
//! missing. LLVM's `llvm.amdgcn.init.whole.wave`, whose model this is, says the same in words
//! (IntrinsicsAMDGPU.td) and leaves it to the writer.

use crate::ir::*;

/// Where a rule is broken, and which.
type Broken<'a> = (&'a Function, (BlockId, Option<InstId>), &'static str);

/// The first rule that a program breaks.
pub(crate) fn broken(p: &Program) -> Option<Broken<'_>> {
    let mut found = None;
    for (id, f) in p.funcs.iter().filter(|(_, f)| f.ops.contains(Op::WholeWarp)) {
        for (b, i) in f.insts_in_order().filter(|&(_, i)| f.insts[i].op == Op::WholeWarp) {
            let at = (b, Some(i));
            let rule = if p.interface.is_some() {
                "only kernels have blocks that are made up of warps"
            } else if id != p.entry {
                "which lanes were asked for is said in the kernel, not in what it calls"
            } else if b != f.entry() {
                "which lanes were asked for is said in the kernel's first block, before any branch"
            } else if found.replace(i).is_some() {
                "a kernel says once which lanes were asked for"
            } else if f.insts[i].guard.is_some() {
                "all lanes must hear which were asked for"
            } else {
                continue;
            };
            return Some((f, at, rule));
        }
    }
    let i = found?;
    of_body(p, &p.funcs[p.entry], i)
}

/// The rules of what reads it, and of the lanes until the tail.
fn of_body<'a>(p: &'a Program, f: &'a Function, i: InstId) -> Option<Broken<'a>> {
    let entry = f.entry();
    let asked = *f.insts[i].dsts.first()?;
    const READ: &str =
        "which lanes were asked for is read by the branch of the same block, and by nothing else";
    for (b, other) in f.insts_in_order() {
        let mut reads = false;
        f.insts[other].for_uses(|v| reads |= v == asked);
        if reads {
            return Some((f, (b, Some(other)), READ));
        }
    }
    for &b in &f.layout {
        let mut reads = 0;
        f.blocks[b].term.for_uses(|v| reads += u32::from(v == asked));
        let branches = b == entry && matches!(&f.blocks[b].term, Term::Branch { cond, .. } if *cond == asked);
        if reads != u32::from(b == entry) || b == entry && !branches {
            return Some((f, (b, None), READ));
        }
    }
    // A branch outside of loops heads an `if`: that is checked with the structure.
    let Merge::If { join } = f.blocks[entry].merge else { return None };
    const ENDS: &str = "a lane ends here that the tail, which all lanes run, would miss";
    // What is never reached ends nobody.
    let ends = |b: BlockId| matches!(f.blocks[b].term, Term::Exit | Term::Ret(_));
    let before = f.layout.iter().skip(1).take_while(|&&b| b != join).find(|&&b| ends(b));
    if let Some(&b) = before {
        return Some((f, (b, None), ENDS));
    }
    for (_, sub) in p.funcs.iter().filter(|(id, _)| *id != p.entry) {
        if let Some(&b) = sub.layout.iter().find(|&&b| sub.blocks[b].term == Term::Exit) {
            return Some((sub, (b, None), ENDS));
        }
    }
    None
}
