//! Control flow in which much never comes back, where passes once went wrong: endless loops behind guards, arms that leave a
//! loop or end the thread. On every chip and level it verifies after each pass, computes what the reference interpreter does,
//! and keeps the divergence stack as deep as constructs nest, however many rounds loops run. Random ones are in `crates/fuzz`
//! (`endless`).

use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, Language, OptLevel, Options, Source};
use nvir::emu::Checks;
use nvir_fixture::run::{Loaded, Settings};
use nvir_fixture::{Fixture, Outcome};
use std::path::Path;

const THREADS: u32 = 64;

fn fixture() -> Fixture {
    let json = format!(
        r#"{{"source":"case.tgsi","tests":[{{"name":"case","grid":[1,1,1],"block":[{THREADS},1,1],"ssbo":{{"0":"x","1":"zero"}},
        "buffers":{{"x":{{"type":"u32","len":{THREADS},"init":{{"fill":1}}}},"zero":{{"type":"u32","len":4,"init":{{"fill":0}}}}}}}}]}}"#
    );
    Fixture::parse(Path::new("case.json"), &json).expect("a fixture")
}

fn loaded(text: &str) -> Loaded {
    Loaded::new(Path::new("case.json"), fixture(), text.as_bytes().to_vec()).expect("nothing is missing")
}

/// What is in the buffer that the program writes.
fn interpreted(text: &str) -> Result<Vec<u8>, String> {
    let mut left = Vec::new();
    let reports = loaded(text).interpret(None, 1 << 24, |_, env| {
        left = env.read(&env.buffers["x"]).expect("it is mapped");
    });
    match reports.into_iter().next() {
        Some((_, Outcome::Failed(why))) => Err(why),
        _ => Ok(left),
    }
}

/// Compares the compiled program with `want` everywhere; says what is wrong.
fn compare(text: &str, nesting: usize, want: &[u8]) -> Result<(), String> {
    for chip in Chip::ALL {
        for opt_level in OptLevel::ALL {
            let settings = Settings {
                options: Options { debug: DebugOptions::verifying(), ..Options::at(opt_level) },
                step_limit: 1 << 22,
                checks: Checks { sync: true, ..Checks::default() },
                profile: true,
                ..Settings::default()
            };
            let mut left = Vec::new();
            let reports = loaded(text).run(chip, None, &settings, &mut None, |_, env| {
                left = env.read(&env.buffers["x"]).expect("it is mapped");
            });
            let report = &reports[0];
            if let Outcome::Failed(why) = &report.outcome {
                return Err(format!("{chip} -O{opt_level}: {why}"));
            }
            if let Some(n) = (0..want.len()).find(|&n| left[n] != want[n]) {
                return Err(format!("{chip} -O{opt_level}: thread {} differs", n / 4));
            }
            let profile = report.stats.profile.as_ref().ok_or("no profile")?;
            let stack = profile.by_pc.values().map(|p| p.stack).max().unwrap_or(0);
            // A loop pushes its exit and its continue block, an `if` its join, and a branch the other side.
            if stack > 3 * nesting as u64 + 1 {
                return Err(format!(
                    "{chip} -O{opt_level}: {stack} entries on the stack, {nesting} constructs"
                ));
            }
        }
    }
    Ok(())
}

/// The program around a body. Registers: 0 result, 1 condition, 2 address, 3 one that is loaded by each thread, 4 a zero that
/// all load from one place, 5 and on counters of loops.
fn around(body: &str) -> String {
    format!(
        "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 64\nDCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL BUFFER[1]\nDCL TEMP[0..8]\n\
         IMM[0] UINT32 {{0, 1, 2, 4}}\nIMM[1] UINT32 {{5, 77, 13, 1000}}\n\
         SHL TEMP[2].x, SV[0].xxxx, IMM[0].zzzz\nLOAD TEMP[3].x, BUFFER[0], TEMP[2].xxxx\n\
         LOAD TEMP[4].x, BUFFER[1], IMM[0].xxxx\nMOV TEMP[0].x, SV[0].xxxx\nMOV TEMP[5].x, IMM[0].xxxx\n\
         {body}\nBARRIER\nSTORE BUFFER[0].x, TEMP[2].xxxx, TEMP[0].xxxx\nEND\n"
    )
}

const ROUND: &str = "BGNLOOP\nUADD TEMP[5].x, TEMP[5].xxxx, IMM[0].yyyy\nUSLT TEMP[1].x, IMM[1].wwww, TEMP[5].xxxx\n\
                     UIF TEMP[1].xxxx\nBRK\nENDIF\n";

#[track_caller]
fn check(body: &str, nesting: usize) {
    let text = around(body);
    let want = interpreted(&text).expect("it ends");
    compare(&text, nesting, &want).unwrap_or_else(|why| panic!("{why}\n{text}"));
}

#[test]
fn an_endless_loop_behind_a_break_does_not_grow_the_stack() {
    check(
        &format!(
            "{ROUND}BGNLOOP\nUIF TEMP[3].xxxx\nBRK\nENDIF\nBGNLOOP\nENDLOOP\nENDLOOP\n\
             UADD TEMP[0].x, TEMP[0].xxxx, TEMP[5].xxxx\nENDLOOP"
        ),
        3,
    );
}

#[test]
fn lanes_that_break_and_lanes_that_continue_from_two_arms_meet_again() {
    check(
        &format!(
            "{ROUND}BGNLOOP\nAND TEMP[1].x, TEMP[0].xxxx, IMM[0].yyyy\nUIF TEMP[1].xxxx\n\
             UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\nBRK\nELSE\nUMAD TEMP[0].x, TEMP[0].xxxx, IMM[1].xxxx, IMM[0].yyyy\n\
             CONT\nENDIF\nENDLOOP\nENDLOOP"
        ),
        3,
    );
}

#[test]
fn an_arm_that_breaks_beside_an_arm_that_ends_the_thread_waits_for_nobody() {
    check(
        &format!(
            "{ROUND}BGNLOOP\nUADD TEMP[0].x, TEMP[0].xxxx, SV[0].xxxx\nUIF TEMP[3].xxxx\n\
             XOR TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\nBRK\nELSE\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[0].yyyy\nRET\nENDIF\n\
             ENDLOOP\nENDLOOP"
        ),
        3,
    );
}

/// What passes left of programs in which they went wrong: read before it is written, so only compiled.
const REDUCED: &[(Language, &str)] = &[
    (Language::Tgsi, "COMP\n BGNLOOP\n UIF TEMP[5].xxxx\n BRK\n ENDIF\n BGNLOOP\n ENDLOOP\n ENDLOOP\n"),
    (
        Language::Tgsi,
        "COMP\nIMM[0] UINT32 {8, 2, 0, 4}\nIMM[1] UINT32 {1, 1024, 256, 2044}\n BGNLOOP\n UIF TEMP[3].xxxx\n BRK\n ENDIF\n\
         MOV TEMP[6].x, IMM[1].xxxx\n BGNLOOP\n USGE TEMP[7].x, TEMP[6].xxxx, IMM[1].zzzz\n UIF TEMP[7].xxxx\n BRK\n ENDIF\n\
         UIF TEMP[7].xxxx\n MOV TEMP[7].x, IMM[0].zzzz\n ENDIF\n ENDLOOP\n ENDLOOP\n",
    ),
    (
        Language::Nir,
        "impl main {\n\tdecl_reg vec1 32 r0\n\tvec1 32 ssa_0 = load_const (0x00000400 = 0.000000)\n\tloop {\n\
         \t\tvec1 32 ssa_5 = ult32 ssa_0, r0\n\t\tif ssa_5 {\n\t\t\tbreak\n\t\t}\n\t\tloop {\n\t\t}\n\t}\n}\n",
    ),
    (
        Language::Nir,
        "impl main {\n\tdecl_reg vec1 32 r0\n\tvec1 32 ssa_0 = load_const (0x00000400 = 0.000000)\n\tloop {\n\
         \t\tif r0 {\n\t\t\tr0 = iadd r0, ssa_0\n\t\t\tbreak\n\t\t} else {\n\t\t\tif ssa_0 {\n\t\t\t\tloop {\n\t\t\t\t}\n\
         \t\t\t} else {\n\t\t\t\treturn\n\t\t\t}\n\t\t}\n\t}\n}\n",
    ),
];

#[test]
fn reduced_programs_verify_after_each_pass_on_every_chip_and_level() {
    for &(language, text) in REDUCED {
        for (chip, opt_level) in Chip::ALL.into_iter().flat_map(|c| OptLevel::ALL.map(move |l| (c, l))) {
            let options = Options { debug: DebugOptions::verifying(), ..Options::at(opt_level) };
            let compiler = Compiler::new(chip).with_options(options);
            if let Err(e) = compiler.compile(&Source { language, text, entry: None, name: "case" }) {
                panic!("{chip} -O{opt_level}: {e}");
            }
        }
    }
}

#[test]
fn a_counted_loop_that_lanes_leave_early_is_unrolled_and_keeps_what_each_had() {
    check(
        "BGNLOOP\nUSLT TEMP[1].x, IMM[0].wwww, TEMP[5].xxxx\nUIF TEMP[1].xxxx\nBRK\nENDIF\n\
         UMAD TEMP[0].x, TEMP[0].xxxx, IMM[1].xxxx, TEMP[5].xxxx\nAND TEMP[1].x, TEMP[0].xxxx, IMM[0].wwww\n\
         UIF TEMP[1].xxxx\nBRK\nENDIF\nUADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\n\
         UADD TEMP[5].x, TEMP[5].xxxx, IMM[0].yyyy\nENDLOOP\nUMAD TEMP[0].x, TEMP[0].xxxx, IMM[1].zzzz, TEMP[5].xxxx",
        2,
    );
}

#[test]
fn lanes_that_continue_a_counted_loop_early_wait_for_the_others_in_each_copy() {
    check(
        "BGNLOOP\nUSLT TEMP[1].x, IMM[0].wwww, TEMP[5].xxxx\nUIF TEMP[1].xxxx\nBRK\nENDIF\n\
         UADD TEMP[5].x, TEMP[5].xxxx, IMM[0].yyyy\nAND TEMP[1].x, TEMP[0].xxxx, IMM[0].yyyy\n\
         UMAD TEMP[0].x, TEMP[0].xxxx, IMM[1].xxxx, TEMP[5].xxxx\nUIF TEMP[1].xxxx\nCONT\nENDIF\n\
         UADD TEMP[0].x, TEMP[0].xxxx, IMM[1].yyyy\nENDLOOP",
        2,
    );
}

#[test]
fn an_inner_loop_that_halves_the_counter_of_the_outer_one_is_unrolled_with_it() {
    check(
        "BGNLOOP\nUSLT TEMP[1].x, IMM[0].wwww, TEMP[5].xxxx\nUIF TEMP[1].xxxx\nBRK\nENDIF\n\
         MOV TEMP[6].x, TEMP[5].xxxx\nBGNLOOP\nUSLT TEMP[1].x, TEMP[6].xxxx, IMM[0].yyyy\nUIF TEMP[1].xxxx\nBRK\nENDIF\n\
         UMAD TEMP[0].x, TEMP[0].xxxx, IMM[1].xxxx, TEMP[6].xxxx\nUSHR TEMP[6].x, TEMP[6].xxxx, IMM[0].yyyy\nENDLOOP\n\
         UADD TEMP[5].x, TEMP[5].xxxx, IMM[0].yyyy\nENDLOOP",
        2,
    );
}

#[test]
fn a_loop_that_all_lanes_leave_together_runs_as_often_with_its_test_behind_it() {
    // The limit is loaded from one place; of the two loops one does not run at all.
    for first in ["xxxx", "yyyy"] {
        check(
            &format!(
                "UADD TEMP[7].x, TEMP[4].xxxx, IMM[0].{first}\nMOV TEMP[6].x, TEMP[3].xxxx\nBGNLOOP\n\
                 USGE TEMP[1].x, TEMP[5].xxxx, TEMP[7].xxxx\nUIF TEMP[1].xxxx\nBRK\nENDIF\nMOV TEMP[2].y, TEMP[6].xxxx\n\
                 UMAD TEMP[6].x, TEMP[0].xxxx, IMM[1].xxxx, TEMP[5].xxxx\nMOV TEMP[0].x, TEMP[2].yyyy\n\
                 UADD TEMP[5].x, TEMP[5].xxxx, IMM[0].yyyy\nENDLOOP\nUMAD TEMP[0].x, TEMP[0].xxxx, IMM[1].zzzz, TEMP[5].xxxx\n\
                 UADD TEMP[0].x, TEMP[0].xxxx, TEMP[6].xxxx"
            ),
            1,
        );
    }
}
