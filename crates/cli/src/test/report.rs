//! What became of the tests: lines, JSON, JUnit's XML.

use super::Ran;
use crate::device::Place;
use crate::profile;
use crate::report::one_line;
use nvir::OptLevel;
use nvir::diag::visible;
use nvir::emu::{self, Note};
use nvir_emu_jit::Choice;
use nvir_fixture::run::{Outcome, TestReport};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};
use std::path::Path;

/// Version of what `--json` writes; `docs/json.md` has the fields.
pub(crate) const SCHEMA: u64 = 1;

#[derive(Default)]
pub(crate) struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl Counts {
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
        }
    }

    pub(super) fn of(ran: &[Ran]) -> Counts {
        let mut n = Counts::default();
        for r in ran {
            match &r.cases {
                Err(_) => n.failed += 1,
                Ok(cases) => cases.iter().for_each(|c| n.add(&c.report.outcome)),
            }
        }
        n
    }
}

/// A fixture's name in the names of its tests.
pub(crate) fn stem(file: &Path) -> String {
    file.file_stem().map_or_else(|| file.to_string_lossy(), |s| s.to_string_lossy()).into_owned()
}

impl Ran {
    fn stem(&self) -> String {
        stem(&self.file)
    }
}

pub(super) fn lines(ran: &[Ran], quiet: bool) -> String {
    let mut text = String::new();
    for r in ran {
        match &r.cases {
            Err(why) => text += &format!("FAILED {}: {}\n", visible(&r.stem()), one_line(why)),
            Ok(cases) => {
                for c in cases {
                    match &c.report.outcome {
                        Outcome::Passed if !quiet => text += &format!("ok {}\n", visible(&c.name)),
                        // Those of a chip that the fixture leaves out say nothing.
                        Outcome::Skipped(why) if !quiet && !why.is_empty() => {
                            text += &format!("skipped {}: {}\n", visible(&c.name), one_line(why))
                        }
                        Outcome::Failed(why) => {
                            text += &format!("FAILED {}: {}\n", visible(&c.name), one_line(why))
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    let n = Counts::of(ran);
    text + &format!("{} passed, {} failed, {} skipped\n", n.passed, n.failed, n.skipped)
}

/// What became of one test, for JSON: of `test`, `run` and `interp`.
pub(crate) struct Line<'a> {
    pub fixture: &'a Path,
    pub name: String,
    pub test: &'a str,
    /// None of the interpreter, which runs before there is code.
    pub level: Option<OptLevel>,
    pub outcome: &'a Outcome,
    /// Of a run of compiled code, where it was, and by which engine.
    pub report: Option<(&'a TestReport, &'a Place, Choice)>,
    pub warnings: Vec<&'a String>,
}

impl Line<'_> {
    pub(crate) fn json(&self) -> Value {
        let (result, message) = match self.outcome {
            Outcome::Passed => ("passed", None),
            Outcome::Failed(why) => ("failed", Some(why)),
            Outcome::Skipped(why) => ("skipped", Some(why)),
        };
        let report = self.report.map(|(r, ..)| r);
        // A device does not count instructions.
        let counted = self.report.filter(|(r, place, _)| {
            matches!(place, Place::Emulator) && !matches!(r.outcome, Outcome::Skipped(_))
        });
        let stats = counted.map(|(r, ..)| &r.stats);
        json!({
            "fixture": self.fixture.to_string_lossy(), "name": self.name, "test": self.test,
            "chip": report.map(|r| r.chip.name()), "opt": self.level.map(opt),
            "ok": !matches!(self.outcome, Outcome::Failed(_)), "result": result, "message": message,
            "seconds": report.map(|r| r.time.as_secs_f64()), "warnings": self.warnings,
            "faults": report.map_or(Vec::new(), |r| r.stats.faults.iter().map(fault).collect()),
            "thread_instructions": stats.map(|s| s.thread_instructions),
            "warp_instructions": stats.map(|s| s.warp_instructions),
            "issue_cycles": report.and_then(|r| profile::issue_cycles(&r.profiles)),
            "engines": self.report.and_then(|(r, _, engine)| profile::engines(&r.profiles, engine)),
            "model_cycles": report.and_then(|r| r.model_cycles),
        })
    }
}

/// The document of several tests.
pub(crate) fn document(tests: Vec<Value>, n: &Counts) -> String {
    let all = json!({
        "schema": SCHEMA, "tests": tests, "passed": n.passed, "failed": n.failed, "skipped": n.skipped,
    });
    format!("{all}\n")
}

pub(super) fn json(ran: &[Ran], place: &Place, engine: Choice) -> String {
    let mut tests: Vec<Value> = Vec::new();
    for r in ran {
        match &r.cases {
            Err(why) => tests.push(broken(&r.file, why, &r.warnings)),
            Ok(cases) => tests.extend(cases.iter().map(|c| {
                Line {
                    fixture: &r.file,
                    name: c.name.clone(),
                    test: &c.test,
                    level: Some(c.level),
                    outcome: &c.report.outcome,
                    report: Some((&c.report, place, engine)),
                    warnings: r.warnings.iter().chain(&c.report.warnings).collect(),
                }
                .json()
            })),
        }
    }
    document(tests, &Counts::of(ran))
}

/// A fixture that cannot be read, which is one failed test.
pub(crate) fn broken(file: &Path, why: &str, warnings: &[String]) -> Value {
    json!({
        "fixture": file.to_string_lossy(), "name": stem(file), "test": null, "chip": null, "opt": null, "ok": false,
        "result": "failed", "message": why, "seconds": 0.0, "warnings": warnings, "faults": [],
        "thread_instructions": null, "warp_instructions": null, "issue_cycles": null, "engines": null,
        "model_cycles": null,
    })
}

/// One of the faults that `--max-faults` gathers.
fn fault(n: &Note) -> Value {
    let place = |p: &emu::Place| json!({"block": p.block, "thread": p.thread, "pc": p.pc, "instruction": p.instruction, "line": p.line});
    let f = &n.what;
    json!({
        "kind": f.kind.name(), "detail": f.detail, "kernel": f.kernel, "times": n.times, "place": place(&f.place),
        "other": f.other.as_ref().map(place),
    })
}

/// A suite a fixture.
pub(super) fn junit(ran: &[Ran]) -> Result<String, String> {
    let mut report = Report::new("nvir");
    for r in ran {
        let mut suite = TestSuite::new(r.file.to_string_lossy().as_ref());
        let failure = |why: &str| {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(one_line(why)).set_description(why);
            status
        };
        match &r.cases {
            Err(why) => {
                suite.add_test_case(TestCase::new(r.stem(), failure(why)));
            }
            Ok(cases) => {
                for c in cases {
                    let status = match &c.report.outcome {
                        Outcome::Passed => TestCaseStatus::success(),
                        Outcome::Failed(why) => failure(why),
                        Outcome::Skipped(why) => {
                            let mut status = TestCaseStatus::skipped();
                            status.set_message(why.as_str());
                            status
                        }
                    };
                    let mut case = TestCase::new(c.name.as_str(), status);
                    case.set_classname(r.stem()).set_time(c.report.time);
                    suite.add_test_case(case);
                }
            }
        }
        if !suite.test_cases.is_empty() {
            report.add_test_suite(suite);
        }
    }
    report.to_string().map_err(|e| e.to_string())
}

/// A level in JSON: a number, or `"s"`.
fn opt(level: OptLevel) -> Value {
    let name = level.name();
    name.parse::<u8>().map_or_else(|_| name.into(), Value::from)
}
