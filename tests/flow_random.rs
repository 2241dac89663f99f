//! Random control flow in which much never comes back: endless loops behind guards, arms that leave a loop or end the
//! thread, loops that nobody leaves. On every chip and level it verifies after each pass, computes what the reference
//! interpreter does, reaches its barriers converged, and keeps the divergence stack as deep as constructs nest,
//! however many rounds loops run.
//!
//! `NVIR_PROGRAMS=2000 cargo test --release --test flow_random` tries more.

use arbitrary::Unstructured;
use arbtest::arbtest;
use nvir::Chip;
use nvir::compiler::{Compiler, DebugOptions, Language, OptLevel, Options, Source};
use nvir::emu::Checks;
use nvir_fixture::run::{Loaded, Settings};
use nvir_fixture::{Fixture, Outcome};
use std::fmt::Write;
use std::path::Path;

const THREADS: u32 = 64;

/// Registers: 0 result, 1 condition, 2 address, 3 one that is loaded by each thread, 4 a zero that all load from one
/// place, 5 and on counters of loops.
const COUNTERS: usize = 5;

#[derive(Default)]
struct Gen {
    text: String,
    /// Open constructs, and the most there were.
    depth: usize,
    deepest: usize,
    /// Open counted loops.
    loops: usize,
    /// Whether BRK and CONT have a loop to be about.
    in_loop: bool,
    left: u32,
}

type Made = arbitrary::Result<()>;

impl Gen {
    fn line(&mut self, s: &str) {
        let _ = writeln!(self.text, "{s}");
    }

    fn open(&mut self, s: &str) {
        self.line(s);
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
    }

    fn close(&mut self, s: &str) {
        self.line(s);
        self.depth -= 1;
    }

    fn arithmetic(&mut self, u: &mut Unstructured<'_>) -> Made {
        let line = *u.choose(&[
            "UADD TEMP[0].x, TEMP[0].xxxx, SV[0].xxxx",
            "UMAD TEMP[0].x, TEMP[0].xxxx, IMM[1].xxxx, IMM[1].yyyy",
            "XOR TEMP[0].x, TEMP[0].xxxx, SV[0].xxxx",
            "UADD TEMP[0].x, TEMP[0].xxxx, TEMP[5].xxxx",
        ])?;
        self.line(line);
        Ok(())
    }

    /// A condition that lanes may see differently, or not.
    fn condition(&mut self, u: &mut Unstructured<'_>) -> Made {
        let line = *u.choose(&[
            "AND TEMP[1].x, TEMP[0].xxxx, IMM[0].yyyy",
            "AND TEMP[1].x, SV[0].xxxx, IMM[0].zzzz",
            "AND TEMP[1].x, TEMP[5].xxxx, IMM[0].yyyy",
            "USLT TEMP[1].x, SV[0].xxxx, IMM[1].zzzz",
        ])?;
        self.line(line);
        Ok(())
    }

    /// Branches on what no thread finds to hold.
    fn never(&mut self, u: &mut Unstructured<'_>) -> Made {
        if u.arbitrary()? {
            self.open("UIF TEMP[4].xxxx");
        } else {
            self.line("USEQ TEMP[1].x, TEMP[3].xxxx, IMM[0].xxxx");
            self.open("UIF TEMP[1].xxxx");
        }
        Ok(())
    }

    /// Code that never comes to its end.
    fn endless(&mut self, u: &mut Unstructured<'_>) -> Made {
        let inside = std::mem::replace(&mut self.in_loop, false);
        match u.int_in_range(0..=5)? {
            0 => self.line("RET"),
            1 => {
                // Left only by ending the thread.
                self.open("BGNLOOP");
                self.condition(u)?;
                self.open("UIF TEMP[1].xxxx");
                self.arithmetic(u)?;
                self.line("RET");
                self.close("ENDIF");
                self.close("ENDLOOP");
            }
            2 => {
                self.open("BGNLOOP");
                self.statements(u, 2)?;
                self.close("ENDLOOP");
            }
            3 => {
                self.condition(u)?;
                self.open("UIF TEMP[1].xxxx");
                self.endless(u)?;
                self.line("ELSE");
                self.endless(u)?;
                self.close("ENDIF");
            }
            4 => {
                self.open("BGNLOOP");
                self.condition(u)?;
                self.open("UIF TEMP[1].xxxx");
                self.line("CONT");
                self.close("ENDIF");
                self.statements(u, 1)?;
                self.close("ENDLOOP");
            }
            _ => {
                self.open("BGNLOOP");
                self.close("ENDLOOP");
            }
        }
        self.in_loop = inside;
        Ok(())
    }

    /// A way out of the loop around, or none where there is no loop.
    fn leave(&mut self, u: &mut Unstructured<'_>) -> Made {
        if u.arbitrary()? {
            self.arithmetic(u)?;
        }
        if self.in_loop {
            let way = *u.choose(&["BRK", "CONT"])?;
            self.line(way);
        }
        Ok(())
    }

    fn statements(&mut self, u: &mut Unstructured<'_>, most: u32) -> Made {
        for _ in 0..u.int_in_range(1..=most)? {
            self.statement(u)?;
        }
        Ok(())
    }

    fn statement(&mut self, u: &mut Unstructured<'_>) -> Made {
        if self.left == 0 || self.depth > 9 {
            return self.arithmetic(u);
        }
        self.left -= 1;
        match u.int_in_range(0..=9)? {
            0 | 1 => self.arithmetic(u)?,
            2 => {
                self.condition(u)?;
                self.open("UIF TEMP[1].xxxx");
                self.statements(u, 3)?;
                if u.arbitrary()? {
                    self.line("ELSE");
                    self.statements(u, 3)?;
                }
                self.close("ENDIF");
            }
            3 | 4 if self.loops < 3 => self.counted(u, 4)?,
            // if (one) break; endless
            5 => {
                let inside = std::mem::replace(&mut self.in_loop, true);
                self.open("BGNLOOP");
                if u.arbitrary()? {
                    self.statements(u, 1)?;
                }
                self.open("UIF TEMP[3].xxxx");
                if u.arbitrary()? {
                    self.arithmetic(u)?;
                }
                self.line("BRK");
                self.close("ENDIF");
                self.endless(u)?;
                self.close("ENDLOOP");
                self.in_loop = inside;
            }
            6 => {
                self.never(u)?;
                self.endless(u)?;
                self.close("ENDIF");
            }
            // One arm goes on or leaves, the other never comes back.
            7 => {
                self.open("UIF TEMP[3].xxxx");
                self.leave(u)?;
                self.line("ELSE");
                self.endless(u)?;
                self.close("ENDIF");
            }
            // Both arms leave, and what follows is never reached.
            8 if self.in_loop => {
                self.condition(u)?;
                self.open("UIF TEMP[1].xxxx");
                self.leave(u)?;
                self.line("ELSE");
                self.leave(u)?;
                self.close("ENDIF");
                if u.arbitrary()? {
                    self.arithmetic(u)?;
                }
            }
            _ => {
                self.condition(u)?;
                self.open("UIF TEMP[1].xxxx");
                self.leave(u)?;
                self.close("ENDIF");
            }
        }
        Ok(())
    }

    fn counted(&mut self, u: &mut Unstructured<'_>, most: u32) -> Made {
        let counter = COUNTERS + self.loops;
        let rounds = u.int_in_range(1..=3)?;
        self.line(&format!("MOV TEMP[{counter}].x, IMM[0].xxxx"));
        self.open("BGNLOOP");
        self.line(&format!("UADD TEMP[{counter}].x, TEMP[{counter}].xxxx, IMM[0].yyyy"));
        let limit = if self.loops == 0 {
            "IMM[1].wwww"
        } else {
            ["", "IMM[0].yyyy", "IMM[0].zzzz", "IMM[0].wwww"][rounds]
        };
        self.line(&format!("USLT TEMP[1].x, {limit}, TEMP[{counter}].xxxx"));
        self.open("UIF TEMP[1].xxxx");
        self.line("BRK");
        self.close("ENDIF");
        self.loops += 1;
        let inside = std::mem::replace(&mut self.in_loop, true);
        self.statements(u, most)?;
        self.in_loop = inside;
        self.loops -= 1;
        self.close("ENDLOOP");
        Ok(())
    }
}

/// A program and how deep its constructs nest.
fn program(u: &mut Unstructured<'_>) -> arbitrary::Result<(String, usize)> {
    let mut g = Gen { left: 24, ..Gen::default() };
    g.line("COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 64\nDCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL BUFFER[1]\nDCL TEMP[0..8]");
    g.line("IMM[0] UINT32 {0, 1, 2, 4}\nIMM[1] UINT32 {5, 77, 13, 40}");
    g.line("SHL TEMP[2].x, SV[0].xxxx, IMM[0].zzzz\nLOAD TEMP[3].x, BUFFER[0], TEMP[2].xxxx");
    g.line("LOAD TEMP[4].x, BUFFER[1], IMM[0].xxxx\nMOV TEMP[0].x, SV[0].xxxx\nMOV TEMP[5].x, IMM[0].xxxx");
    g.counted(u, 5)?;
    g.line("BARRIER");
    g.statements(u, 3)?;
    g.line("BARRIER");
    g.line("STORE BUFFER[0].x, TEMP[2].xxxx, TEMP[0].xxxx\nEND");
    Ok((g.text, g.deepest))
}

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

#[test]
fn code_that_never_comes_back_computes_what_the_interpreter_does_and_keeps_the_stack_bounded() {
    let programs = std::env::var("NVIR_PROGRAMS").ok().and_then(|s| s.parse().ok()).unwrap_or(60u64);
    let mut tried = 0;
    for n in 0..programs {
        arbtest(|u| {
            let (text, nesting) = program(u)?;
            // Threads that end early leave a barrier to the others; those that never end are refused.
            let Ok(want) = interpreted(&text) else { return Ok(()) };
            tried += 1;
            if let Err(why) = compare(&text, nesting, &want) {
                panic!("{why}\n{text}");
            }
            Ok(())
        })
        .seed(n << 32 | 2048)
        .run();
    }
    assert!(tried * 2 > programs, "{tried} of {programs} programs end");
}

/// The program around a body that uses the registers as above.
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
