//! What holds of values that lanes carry to the tail around the body, in IR by hand.

use super::{Case, input};
use nvir::Chip;
use nvir::compiler::OptLevel;
use std::fmt::Write;

/// A kernel for blocks of `block` threads. `%r1` is the number of the thread, `%r2` what it loads; `ask` ends the first block.
/// Every thread stores `%r900` to `%r907`.
fn kernel(block: [u32; 3], body: &str) -> Case {
    let [x, y, z] = block;
    let mut text = format!(
        "program block {x} {y} {z}\n\nkernel k() {{\nb0:\n    rdsv u32 %r990 sv[tid.y]\n    rdsv u32 %r991 sv[tid.x]\n    rdsv u32 %r992 sv[tid.z]\n\
         \x20   mad u32 %r993 %r992 {y:#x} %r990\n    mad u32 %r1 %r993 {x:#x} %r991\n    shl u32 %r994 %r1 0x2\n    ld u32 %r2 b0[%r994+0x0 align 4]\n\
         {body}    shl u32 %r995 %r1 0x5\n"
    );
    for n in 0..8 {
        let _ = writeln!(text, "    st u32 # b1[%r995+{:#x} align 4] %r{}", 4 * n, 900 + n);
    }
    text += "    exit\n}\n";
    Case { name: "case.ir", text, block }
}

/// `count` values that all lanes have from `from` on, computed from `%r2`.
fn many(text: &mut String, from: u32, count: u32, of: &str) {
    for n in 0..count {
        let _ = writeln!(text, "    mad u32 %r{} {of} {:#x} {:#x}", from + n, 2 * n + 3, n * 77 + 1);
    }
}

/// Their sum in `%r{to}`.
fn sum(text: &mut String, from: u32, count: u32, to: u32, scratch: u32) {
    let mut last = from;
    for n in 1..count {
        let new = if n + 1 == count { to } else { scratch + n };
        let _ = writeln!(text, "    mad u32 %r{new} %r{last} 0x5 %r{}", from + n);
        last = new;
    }
}

fn many_of(of: u32, count: u32) -> u32 {
    let v = |n: u32| of.wrapping_mul(2 * n + 3).wrapping_add(n * 77 + 1);
    (1..count).fold(v(0), |sum, n| sum.wrapping_mul(5).wrapping_add(v(n)))
}

/// A butterfly over `%r{of}`; the sum in `%r{to}`.
fn butterfly(text: &mut String, of: u32, to: u32) {
    let mut last = of;
    for (n, mask) in [16, 8, 4, 2, 1].into_iter().enumerate() {
        let n = n as u32;
        let (read, new) = (to + 20 + n, if mask == 1 { to } else { to + 10 + n });
        let _ = writeln!(
            text,
            "    shfl.bfly u32 %r{read} %r{last} {mask:#x} 0x1f\n    add u32 %r{new} %r{last} %r{read}"
        );
        last = new;
    }
}

/// What lanes carry around a body that needs every register is in the tail what it was, and other lanes read it there.
#[test]
fn values_of_lanes_that_skip_the_body_are_in_the_tail_what_they_were() {
    for block in [[13, 1, 1], [45, 1, 1], [5, 7, 1], [9, 9, 1]] {
        let mut body = String::new();
        many(&mut body, 10, 12, "%r2");
        body += "    mov u32 %r3 0x0\n    wholewarp pred %p770\n    if %p770 b1 b5 join b6\nb1:\n    and u32 %r4 %r2 0x7\n    jump b2(%r4 %r3)\nb2(%r5 %r6): loop exit b4 cont b3\n    jump b7\nb7:\n";
        body += "    set.eq pred u32 %p771 %r5 0x0\n    if %p771 b4 b3 join b3\nb3:\n    ld u32 %r7 b0[%r994+0x0 align 4]\n";
        many(&mut body, 100, 20, "%r7");
        sum(&mut body, 100, 20, 150, 120);
        body += "    add u32 %r8 %r6 %r150\n    add u32 %r9 %r5 0xffffffff\n    jump b2(%r9 %r8)\nb4:\n    jump b6(%r6)\nb5:\n    jump b6(%r3)\nb6(%r160):\n";
        sum(&mut body, 10, 12, 170, 180);
        butterfly(&mut body, 170, 300);
        butterfly(&mut body, 160, 400);
        butterfly(&mut body, 10, 500);
        body += "    set.ne pred u32 %p772 %r160 0x0\n    vote.any u32 %r600 %p772\n";
        for (n, v) in [170, 160, 300, 400, 500, 600, 21, 1].into_iter().enumerate() {
            let _ = writeln!(body, "    mov u32 %r{} %r{v}", 900 + n);
        }
        let case = kernel(block, &body);
        let asked = block.iter().product::<u32>();
        let carried = |t: u32| many_of(input(t), 12);
        let of_body = |t: u32| {
            if t < asked { many_of(input(t), 20).wrapping_mul(input(t) & 7) } else { 0 }
        };
        let over = |t: u32, f: &dyn Fn(u32) -> u32| {
            (t / 32 * 32..t / 32 * 32 + 32).fold(0u32, |s, t| s.wrapping_add(f(t)))
        };
        let mut want = Vec::new();
        for t in 0..case.threads() {
            let ballot = |t: u32| u32::from(of_body(t) != 0) << (t % 32);
            want.extend([
                carried(t),
                of_body(t),
                over(t, &carried),
                over(t, &of_body),
                over(t, &|t| input(t).wrapping_mul(3).wrapping_add(1)),
                over(t, &ballot),
                input(t).wrapping_mul(25).wrapping_add(11 * 77 + 1),
                t,
            ]);
        }
        case.compare(&want).unwrap_or_else(|why| panic!("{block:?}: {why}"));
    }
}

/// In the body a shuffle reads what the lanes had that are not there: the register is not given to what they do meanwhile.
#[test]
fn what_a_lane_brought_to_the_question_can_be_read_in_the_body() {
    for block in [[20, 1, 1], [45, 1, 1]] {
        let mut body = String::from(
            "    mad u32 %r3 %r2 0x7 0x5\n    wholewarp pred %p770\n    if %p770 b1 b2 join b3\nb1:\n    rdsv u32 %r4 sv[laneid]\n    xor u32 %r5 %r4 0x1f\n",
        );
        body += "    shfl.idx u32 %r6 %r3 %r5 0x1f\n    jump b3(%r6)\nb2:\n";
        // Enough to take any register that is free, and not so much that something is spilled.
        many(&mut body, 50, 6, "%r1");
        sum(&mut body, 50, 6, 70, 60);
        body += "    jump b3(%r70)\nb3(%r80):\n";
        for n in 0..8 {
            let _ = writeln!(body, "    mov u32 %r{} {}", 900 + n, if n == 0 { "%r80" } else { "0x0" });
        }
        let case = kernel(block, &body);
        let asked = block.iter().product::<u32>();
        let mut want = Vec::new();
        for t in 0..case.threads() {
            let there = input(t ^ 31).wrapping_mul(7).wrapping_add(5);
            want.extend([if t < asked { there } else { many_of(t, 6) }, 0, 0, 0, 0, 0, 0, 0]);
        }
        for chip in [Chip::Gk104, Chip::Gk110] {
            for opt_level in OptLevel::ALL {
                for max_gprs in [None, Some(24), Some(32)] {
                    case.compare_one(chip, opt_level, max_gprs, &want)
                        .unwrap_or_else(|why| panic!("{block:?}: {why}"));
                }
            }
        }
    }
}
