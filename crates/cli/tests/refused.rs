//! IR text that means nothing is refused with its place and reason, whichever command reads it.

use std::path::Path;
use std::process::Command;

struct Refused {
    /// Instructions of the only block; `%r0` is given, and the last line is at fault.
    text: &'static str,
    reason: &'static str,
}

const IN_EVERY_PHASE: &[Refused] = &[
    Refused { text: "popc f32 %r1 %r0", reason: "`popc` has no type f32" },
    Refused { text: "div f16 %r1 %r0 %r0", reason: "`div` has no type f16" },
    Refused {
        text: "set.lt pred u32 %p1 %r0 0x4\n set.lt pred %p2 %p1 %p1",
        reason: "predicates are equal or not",
    },
    Refused {
        text: "set.lt pred u32 %p1 %r0 0x4\n set.eq.or pred %p2 %p1 %p1 %p1",
        reason: "no third source",
    },
    Refused { text: "atom u32 %r1 g[%r0+0x0 align 4] %r0", reason: "`atom` needs its details" },
    Refused { text: "atom.cas u32 %r1 g[%r0+0x0 align 4] %r0", reason: "`.cas` takes 2" },
    Refused { text: "atom.inc f32 %r1 g[%r0+0x0 align 4] %r0", reason: "`.inc` has no type f32" },
    Refused { text: "ld u64 {%r1 %r2} c0[0xfffc]", reason: "beyond the bank" },
    Refused { text: "ld u32 %r1 c32[0x0]", reason: "constant bank 32" },
    Refused { text: "add u32 %r1 %r0 c255[0x0]", reason: "constant bank 255" },
    Refused { text: "add u32 %r1 %r0 c0[0x3]", reason: "no multiple of 4" },
    Refused { text: "add f64 {%r1 %r2} c0[0x4] 0x0:64", reason: "no multiple of 8" },
    Refused { text: "add u32 %r1 %r0 %r7", reason: "%r7 is read and nowhere defined" },
    Refused { text: "add u32 %r1 %r0 %r2\n mov u32 %r2 0x0", reason: "does not reach" },
    Refused { text: "shl u32 %r1 -%r0 0x1", reason: "takes no such modifier" },
    Refused { text: "mov s64 {%r1 %r2} -{%r0 %r0}", reason: "takes no such modifier" },
    Refused { text: "cvt s32 s64 %r1 |{%r0 %r0}|", reason: "takes no such modifier" },
    Refused { text: "mul.rz u32 %r1 %r0 %r0", reason: "has no rounding" },
    Refused { text: "mul.sat u32 %r1 %r0 %r0", reason: "has no `.sat`" },
    Refused { text: "shladd u32 %r1 %r0 0x20 %r0", reason: "no immediate below 32" },
    Refused { text: "set.ltu pred u32 %p1 %r0 0x4", reason: "compares floats only" },
    Refused { text: "st u32 # c0[%r0+0x0 align 4] %r0", reason: "does not access this memory space" },
    Refused { text: "add f64 {%r1 %r2} {%r0 %r0} 0x40000000", reason: "an immediate of another width" },
    Refused { text: "bar.sync u32 # 0x10", reason: "0 to 15" },
    Refused { text: "cvt.b2 u32 u16 %r1 %r0", reason: "no such part" },
    Refused { text: "rdsv f32 %r1 sv[tid.x]", reason: "`rdsv` has no type f32" },
];

const IN_THE_LAST_PHASE: &[Refused] = &[
    Refused { text: "mul f64 {%r1 %r2} c0[0x0] c0[0x8]", reason: "no machine instruction does this" },
    Refused { text: "st u64 # g[%r0+0x1] {%r0 %r0}", reason: "a multiple of 1 only" },
    Refused { text: "ld u64 {%r1 %r2} g[%r0+0x0 align 8+4]", reason: "a multiple of 4 only" },
    Refused { text: "neg u32 %r1 %r0", reason: "no machine instruction does this" },
    Refused { text: "add u64 {%r1 %r2} {%r0 %r0} {%r0 %r0}", reason: "removed by lowering" },
    Refused { text: "ld u32 %r1 b0[%r0+0x0 align 4]", reason: "removed by lowering" },
];

fn refused(name: &str, r: &Refused, args: &[&str]) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.ir"));
    let lines: Vec<&str> = r.text.lines().map(str::trim).collect();
    let text =
        format!("program\nkernel k() {{\nb0:\n rdsv u32 %r0 sv[tid.x]\n {}\n exit\n}}\n", lines.join("\n "));
    std::fs::write(&path, text).expect("writable");
    let out = Command::new(env!("CARGO_BIN_EXE_nvir")).args(args).arg(&path).output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr);
    let at = if r.reason == "does not reach" { 5 } else { 4 + lines.len() };
    let place = format!("{}:{at}:2", path.display());
    let _ = std::fs::remove_file(&path);
    assert_eq!(out.status.code(), Some(1), "{args:?} {}: {said}", r.text);
    assert!(
        said.contains(r.reason) && said.contains(&place) && said.contains("^^^"),
        "{args:?} {}: {said}",
        r.text
    );
    assert!(!said.contains("bug in nvir"), "{said}");
}

#[test]
fn what_is_no_ir_is_refused_by_opt_and_compile_with_place_and_reason() {
    for r in IN_EVERY_PHASE {
        refused("every-phase", r, &["opt"]);
        refused("every-phase", r, &["compile", "-O3"]);
        refused("every-phase", r, &["opt", "--stage", "legal", "--passes", "dce"]);
    }
}

#[test]
fn what_no_machine_instruction_does_is_refused_in_the_last_phase_with_place_and_reason() {
    for r in IN_THE_LAST_PHASE {
        refused("last-phase", r, &["opt", "--stage", "legal", "--passes", "dce"]);
    }
}
