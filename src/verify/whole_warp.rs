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
//! It stands in the first block of a kernel, once, and the branch that ends this block is all that reads it: so there is one
//! body and one tail, and nothing before them that some lanes skip. No lane ends in the body, or in what lanes do that
//! were not asked for: in the tail it would be missing. LLVM's `llvm.amdgcn.init.whole.wave`, whose model this is, says the
//! same in words (IntrinsicsAMDGPU.td) and leaves it to the writer.

use crate::ir::*;

/// Where a rule is broken, and which.
type Broken<'a> = (&'a Function, (BlockId, Option<InstId>), &'static str);

/// The first rule that a program breaks.
pub(super) fn broken(p: &Program) -> Option<Broken<'_>> {
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
    let Merge::If { join } = f.blocks[entry].merge else {
        return Some((f, (entry, None), "the branch on the lanes that were asked for has no tail"));
    };
    const ENDS: &str = "a lane ends here that the tail, which all lanes run, would miss";
    let ends =
        |f: &Function, b: BlockId| matches!(f.blocks[b].term, Term::Exit | Term::Ret(_) | Term::Unreachable);
    let before = f.layout.iter().skip(1).take_while(|&&b| b != join).find(|&&b| ends(f, b));
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

#[cfg(test)]
mod tests {
    use crate::ir::{Phase, parse};
    use crate::verify;

    const GOOD: &str = "program
kernel k() {
b0:
    rdsv u32 %r1 sv[tid.x]
    wholewarp pred %p0
    if %p0 b1 b2 join b2
b1:
    st u32 # g[{%r1 %r1}+0x0 align 4] %r1
    jump b2
b2:
    exit
}
";

    fn check(text: &str) -> Result<(), String> {
        let p = parse::program(text).map_err(|d| d.to_string())?;
        verify::program(&p, Phase::Front).map_err(|v| v.to_string())
    }

    #[track_caller]
    fn refuses(text: &str, part: &str) {
        let v = check(text).expect_err("it is invalid");
        assert!(v.contains(part), "{v}");
    }

    #[test]
    fn the_first_branch_may_ask() {
        assert_eq!(check(GOOD), Ok(()));
        // The other way round, and with something for the rest to do.
        assert_eq!(check(&GOOD.replace("if %p0 b1 b2", "if ~%p0 b2 b1")), Ok(()));
    }

    #[test]
    fn it_is_a_kernel_that_asks() {
        let fragment = GOOD.replace("program\n", "program\nstage fragment\n");
        refuses(&fragment, "only kernels have blocks");
        let sub =
            GOOD.replace("kernel k() {", "kernel m() {\nb0:\n    call u32 f1{}\n    exit\n}\n\nsub k() {");
        let sub = sub.replace("    exit\n}\n", "    exit\n}\n");
        refuses(&sub.replacen("b2:\n    exit", "b2:\n    ret {}", 1), "not in what it calls");
    }

    #[test]
    fn it_asks_in_its_first_block_and_once() {
        let later = GOOD.replace("b0:\n", "b0:\n    jump b9\nb9:\n");
        refuses(&later, "first block");
        let twice =
            GOOD.replace("    wholewarp pred %p0\n", "    wholewarp pred %p0\n    wholewarp pred %p7\n");
        refuses(&twice, "says once");
        let some = GOOD.replace("    wholewarp", "    set.lt pred u32 %p6 %r1 0x4\n    @%p6 wholewarp");
        refuses(&some, "all lanes must hear");
    }

    #[test]
    fn the_branch_alone_reads_the_answer() {
        refuses(&GOOD.replace("b1:\n", "b1:\n    sel u32 %r8 0x1 0x2 %p0\n"), "nothing else");
        refuses(&GOOD.replace("    if", "    vote.any u32 %r8 %p0\n    if"), "nothing else");
        refuses(&GOOD.replace("b1:\n", "b1:\n    @%p0 mov u32 %r8 0x2\n"), "nothing else");
        refuses(
            &GOOD.replace("jump b2\nb2:", "jump b2(%p0)\nb2(%p8):").replace("b1 b2 join", "b1 b2(%p0) join"),
            "nothing else",
        );
        refuses(&GOOD.replace("    if %p0", "    set.lt pred u32 %p6 %r1 0x4\n    if %p6"), "nothing else");
        refuses(
            &GOOD.replace("b2:\n    exit", "b2:\n    if %p0 b3 b4 join b4\nb3:\n    jump b4\nb4:\n    exit"),
            "nothing else",
        );
    }

    #[test]
    fn no_lane_ends_before_the_tail() {
        refuses(&GOOD.replace("    jump b2", "    exit"), "would miss");
        let other = GOOD.replace("b1 b2 join b2", "b1 b3 join b2").replace("b2:\n", "b3:\n    exit\nb2:\n");
        refuses(&other, "would miss");
        let sub =
            GOOD.replace("    jump b2", "    call u32 f1{}\n    jump b2") + "\nsub s() {\nb0:\n    exit\n}\n";
        refuses(&sub, "would miss");
    }
}
