//! The same values in both worlds, on all chips, at all levels.

use super::rig::*;
use nvir::Chip;
use nvir::compiler::{OptLevel, Options};

/// In both worlds, each thread leaves `expected` of its number.
fn same(head: &str, threads: u32, all: &[Piece], expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..threads).map(expected).collect();
    for chip in Chip::ALL {
        for level in OptLevel::ALL {
            let compiler = compiler(chip, level);
            let whole = closed(&compiler, head, all);
            assert_eq!(run(&whole, threads).expect("no fault"), expected, "{chip} -O{level}, closed");
            let linked = linked(&compiler, head, all);
            let got = run(&shader(&linked), threads);
            assert_eq!(got.expect("no fault"), expected, "{chip} -O{level}, linked\n{}", linked.table());
        }
    }
}

const ADD_MUL: &[Piece] = &[
    kernel(store!(
        "b0:
    rdsv u32 %r0 sv[tid.x]
    shl u32 %r1 %r0 0x3
    call u32 %r2 @f{%r0 %r1}
    add u32 %r3 %r2 %r0
    call u32 %r4 @g{%r3}
    sub u32 %r9 %r4 %r1"
    )),
    sub(
        "f",
        "(%r0 %r1) -> r",
        "b0:
    mul u32 %r2 %r0 %r1
    call u32 %r3 @g{%r2}
    add u32 %r4 %r3 %r0
    add u32 %r5 %r4 %r1
    ret {%r5}",
    ),
    sub("g", "(%r0) -> r", "b0:\n    mad u32 %r1 %r0 0x5 0x7\n    ret {%r1}"),
];

/// What a thread of `ADD_MUL` leaves.
fn add_mul(t: u32) -> u32 {
    let g = |x: u32| x.wrapping_mul(5).wrapping_add(7);
    let f = |a: u32, b: u32| g(a.wrapping_mul(b)).wrapping_add(a).wrapping_add(b);
    g(f(t, 8 * t).wrapping_add(t)).wrapping_sub(8 * t)
}

#[test]
fn values_live_through_calls_of_calls() {
    same(" input 8", 64, ADD_MUL, add_mul);
}

#[test]
fn twelve_words_go_in_and_come_out() {
    let all = [
        kernel(store!(
            "b0:
    rdsv u32 %r0 sv[tid.x]
    add u32 %r1 %r0 0x1
    add u32 %r2 %r0 0x2
    add u32 %r3 %r0 0x3
    call u32 {%r10 %r11 %r12 %r13 %r14 %r15 %r16 %r17 %r18 %r19 %r20 %r21} @turn{%r0 %r1 %r2 %r3 %r1 %r2 %r3 %r0 %r3 %r2 %r1 %r0}
    mad u32 %r30 %r10 0x3 %r11
    mad u32 %r31 %r30 0x3 %r12
    mad u32 %r32 %r31 0x3 %r13
    mad u32 %r33 %r32 0x3 %r14
    mad u32 %r34 %r33 0x3 %r15
    mad u32 %r35 %r34 0x3 %r16
    mad u32 %r36 %r35 0x3 %r17
    mad u32 %r37 %r36 0x3 %r18
    mad u32 %r38 %r37 0x3 %r19
    mad u32 %r39 %r38 0x3 %r20
    mad u32 %r9 %r39 0x3 %r21"
        )),
        sub(
            "turn",
            "(%r0 %r1 %r2 %r3 %r4 %r5 %r6 %r7 %r8 %r9 %r10 %r11) -> rrrrrrrrrrrr",
            "b0:\n    ret {%r1 %r2 %r3 %r4 %r5 %r6 %r7 %r8 %r9 %r10 %r11 %r0}",
        ),
    ];
    same(" input 8", 32, &all, |t| {
        let given = [0, 1, 2, 3, 1, 2, 3, 0, 3, 2, 1, 0].map(|n| t + n);
        (1..=12).fold(0u32, |sum, n| sum.wrapping_mul(3).wrapping_add(given[n % 12]))
    });
}

#[test]
fn a_part_of_the_lanes_calls_and_a_loop_calls_again_and_again() {
    let all = [
        kernel(store!(
            "b0:
    rdsv u32 %r0 sv[tid.x]
    and u32 %r1 %r0 0x1
    set.eq pred u32 %p2 %r1 0x0
    if %p2 b1 b2 join b3
b1:
    call u32 %r3 @steps{%r0}
    jump b3(%r3)
b2:
    jump b3(%r0)
b3(%r4):
    call u32 %r5 @steps{%r4}
    mad u32 %r9 %r5 0x64 %r4"
        )),
        // Collatz steps: each lane leaves the loop when it is done.
        sub(
            "steps",
            "(%r0) -> r",
            "b0:
    add u32 %r1 %r0 0x1
    mov u32 %r2 0x0
    jump b1(%r1 %r2)
b1(%r3 %r4): loop exit b4 cont b3
    set.eq pred u32 %p5 %r3 0x1
    jump b2
b2:
    if %p5 b4 b3
b3:
    call u32 %r6 @next{%r3}
    add u32 %r7 %r4 0x1
    jump b1(%r6 %r7)
b4:
    ret {%r4}",
        ),
        sub(
            "next",
            "(%r0) -> r",
            "b0:
    and u32 %r1 %r0 0x1
    set.ne pred u32 %p2 %r1 0x0
    if %p2 b1 b2 join b2
b1:
    mad u32 %r3 %r0 0x3 0x1
    ret {%r3}
b2:
    shr u32 %r4 %r0 0x1
    ret {%r4}",
        ),
    ];
    let steps = |x: u32| {
        let (mut x, mut n) = (x + 1, 0);
        while x != 1 {
            x = if x % 2 == 1 { 3 * x + 1 } else { x / 2 };
            n += 1;
        }
        n
    };
    same(" input 8", 64, &all, |t| {
        let x = if t % 2 == 0 { steps(t) } else { t };
        steps(x) * 100 + x
    });
}

#[test]
fn functions_share_the_memory_of_the_block_and_meet_at_its_barrier() {
    let all = [
        kernel(store!(
            "b0:
    rdsv u32 %r0 sv[tid.x]
    call u32 # @put{%r0}
    xor u32 %r1 %r0 0x3f
    call u32 %r9 @get{%r1}"
        )),
        sub(
            "put",
            "(%r0)",
            "b0:\n    shl u32 %r1 %r0 0x2\n    mul u32 %r2 %r0 %r0\n    st u32 # s[%r1+0x0 align 4] %r2\n    bar.sync u32 #\n    ret {}",
        ),
        sub(
            "get",
            "(%r0) -> r",
            "b0:\n    shl u32 %r1 %r0 0x2\n    ld u32 %r2 s[%r1+0x0 align 4]\n    ret {%r2}",
        ),
    ];
    same(" shared 256 input 8", 64, &all, |t| (t ^ 0x3f) * (t ^ 0x3f));
}

#[test]
fn divisions_bring_their_routines_along() {
    let all = [
        kernel(store!(
            "b0:
    rdsv u32 %r0 sv[tid.x]
    add u32 %r1 %r0 0x3e8
    add u32 %r2 %r0 0x3
    call u32 %r3 @ratio{%r1 %r2}
    mod u32 %r4 %r1 %r2
    mad u32 %r9 %r3 0x10 %r4"
        )),
        sub("ratio", "(%r0 %r1) -> r", "b0:\n    div u32 %r2 %r0 %r1\n    ret {%r2}"),
    ];
    same(" input 8", 32, &all, |t| (t + 1000) / (t + 3) * 16 + (t + 1000) % (t + 3));
}

/// With as many registers as callees have, the kernel needs a frame, too.
#[test]
fn frames_lie_above_those_of_callees() {
    for chip in Chip::ALL {
        let options = Options { max_gprs: Some(24), ..Options::at(OptLevel::O0) };
        let compiler = nvir::Compiler::new(chip).with_options(options);
        let linked = linked(&compiler, " input 8", ADD_MUL);
        let k = &linked.kernels[0];
        assert!(k.kernel.gprs <= 24);
        let frames: u32 = k.functions.iter().map(|f| f.1.frame).sum();
        assert!(frames > 0 && k.facts.frame > frames, "{}", linked.table());
        let expected: Vec<u32> = (0..64).map(add_mul).collect();
        assert_eq!(run(&shader(&linked), 64).expect("no fault"), expected);
    }
}

/// Two kernels and two files that each has what the other calls; the file that comes first does not matter.
#[test]
fn the_order_of_files_and_who_is_with_whom_do_not_matter() {
    let expected: Vec<u32> = (0..64).map(add_mul).collect();
    let compiler = compiler(Chip::Gk110, OptLevel::O3);
    for files in [[&[0, 1][..], &[2]], [&[2], &[0, 1]], [&[1], &[0, 2]], [&[0], &[1, 2]]] {
        let units = files.iter().map(|here| unit(&compiler, &text(" input 8", ADD_MUL, here))).collect();
        let linked = link(units).expect("they go together");
        assert_eq!(run(&shader(&linked), 64).expect("no fault"), expected, "{files:?}");
    }
}
