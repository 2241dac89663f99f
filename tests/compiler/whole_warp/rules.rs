//! The rules of the question, one by one: what breaks it is refused.

use nvir::ir::{Phase, parse};
use nvir::verify;

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
    let p = parse::program(text).map_err(|d| d.message)?;
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
    assert_eq!(check(&GOOD.replace("if %p0 b1 b2", "if !%p0 b2 b1")), Ok(()));
}

#[test]
fn it_is_a_kernel_that_asks() {
    let fragment = GOOD.replace("program\n", "program\nstage frag\n");
    refuses(&fragment, "only kernels have blocks");
    let sub =
        GOOD.replace("kernel k() {", "kernel m() {\nb0:\n    call u32 # f1{}\n    exit\n}\n\nsub k() {");
    refuses(&sub.replacen("b2:\n    exit", "b2:\n    ret {}", 1), "not in what it calls");
}

#[test]
fn it_asks_in_its_first_block_and_once() {
    let later = GOOD.replace("b0:\n", "b0:\n    jump b9\nb9:\n");
    refuses(&later, "first block");
    let twice = GOOD.replace("    wholewarp pred %p0\n", "    wholewarp pred %p0\n    wholewarp pred %p7\n");
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
        GOOD.replace("    jump b2", "    call u32 # f1{}\n    jump b2") + "\nsub s() {\nb0:\n    exit\n}\n";
    refuses(&sub, "would miss");
}
