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
    Refused { text: "add u32 %r1 %r0 c0[0x3]", reason: "not a multiple of 4" },
    Refused { text: "add f64 {%r1 %r2} c0[0x4] 0x0:64", reason: "not a multiple of 8" },
    Refused { text: "add u32 %r1 %r0 %r7", reason: "%r7 is read and nowhere defined" },
    Refused { text: "add u32 %r1 %r0 %r2\n mov u32 %r2 0x0", reason: "does not reach" },
    Refused { text: "shl u32 %r1 -%r0 0x1", reason: "takes no such modifier" },
    Refused { text: "mov s64 {%r1 %r2} -{%r0 %r0}", reason: "takes no such modifier" },
    Refused { text: "cvt s32 s64 %r1 |{%r0 %r0}|", reason: "takes no such modifier" },
    Refused { text: "mul.rz u32 %r1 %r0 %r0", reason: "has no rounding" },
    Refused { text: "mul.sat u32 %r1 %r0 %r0", reason: "has no `.sat`" },
    Refused { text: "shladd u32 %r1 %r0 0x20 %r0", reason: "not an immediate below 32" },
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

/// Runs a command on a text; its exit status, output and errors.
fn on_text(name: &str, text: &str, args: &[&str]) -> (Option<i32>, String, String) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("writable");
    let out = Command::new(env!("CARGO_BIN_EXE_nvir")).args(args).arg(&path).output().expect("it runs");
    let _ = std::fs::remove_file(&path);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

#[test]
fn an_operand_that_always_faults_is_refused_by_asm_and_taken_word_by_word() {
    for (line, title) in [
        ("BAR.SYNC 0x10", "value out of range"),
        ("DADD R1, R2, R4", "misaligned register"),
        ("LD.128 R1, [R2]", "misaligned register"),
        ("BRA 0x7", "misaligned branch target"),
    ] {
        let (code, out, err) = on_text("faults.sass", &format!("{line}\nEXIT\n"), &["asm"]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{line}: {err}");
        assert!(
            err.contains(&format!("error: {title}\n")) && err.contains("faults.sass:1:"),
            "{line}: {err}"
        );
        let (code, words, err) = on_text("faults.sass", &format!("{line}\n"), &["asm", "--words"]);
        assert_eq!((code, words.len()), (Some(0), 17), "{line}: {err}");
        let (code, text, err) = on_text("faults.hex", &words, &["disasm", "--words"]);
        assert_eq!((code, text.trim()), (Some(0), line), "{err}");
    }
}

#[test]
fn a_number_that_overflows_is_refused_by_asm_in_both_ways() {
    for args in [&["asm"][..], &["asm", "--words"]] {
        let (code, _, err) = on_text("overflow.sass", "FADD32I R0, R0, 1e400\n", args);
        assert_eq!(code, Some(1), "{args:?}: {err}");
        assert!(
            err.contains("error: value out of range\n") && err.contains("overflow.sass:1:17"),
            "{args:?}: {err}"
        );
    }
}

#[test]
fn a_foreign_image_format_is_refused_in_programs_and_fixtures() {
    let program = "COMP\nDCL IMAGE[0], 2D, PIPE_FORMAT_R12_UINT, WR\nDCL TEMP[0]\n\
                   0: LOAD TEMP[0], IMAGE[0], TEMP[0], 2D\n1: END\n";
    let (code, _, err) = on_text("format.tgsi", program, &["compile"]);
    assert_eq!(code, Some(1), "{err}");
    let wanted = "unknown image format `PIPE_FORMAT_R12_UINT`";
    assert!(err.contains(wanted) && err.contains("did you mean `PIPE_FORMAT_R16_UINT`?"), "{err}");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("right-format.tgsi");
    std::fs::write(source, program.replace("R12_UINT", "R16_UINT")).expect("writable");
    let fixture = |format: &str| {
        format!(
            "{{\"source\": \"right-format.tgsi\", \"tests\": [{{\"name\": \"t\", \"block\": [1, 1, 1], \"grid\": [1, 1, 1], \
             \"images_bound\": {{\"0\": \"i\"}}, \
             \"images\": {{\"i\": {{\"type\": \"2d\", \"format\": \"{format}\", \"size\": [4, 4, 1]}}}}}}]}}"
        )
    };
    let (code, out, err) = on_text("format.json", &fixture("r16ui"), &["run", "-t", "gk110"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let (_, out, err) = on_text("format.json", &fixture("r12ui"), &["run", "-t", "gk110"]);
    let said = out + &err;
    assert!(said.contains("unknown image format `r12ui`; did you mean `r16ui`?"), "{said}");
}
