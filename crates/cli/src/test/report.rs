//! What became of the tests: lines, JSON, JUnit's XML.

use super::Ran;
use crate::report::one_line;
use nvir::diag::visible;
use nvir::emu::{Note, Place};
use nvir::fixture::run::Outcome;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use serde_json::{Value, json};

/// Version of what `--json` writes; `docs/json.md` has the fields.
pub const SCHEMA: u64 = 1;

#[derive(Default)]
pub struct Counts {
    passed: usize,
    pub failed: usize,
    skipped: usize,
}

impl Counts {
    pub fn of(ran: &[Ran]) -> Counts {
        let mut n = Counts::default();
        for r in ran {
            match &r.cases {
                Err(_) => n.failed += 1,
                Ok(cases) => {
                    for c in cases {
                        match c.report.outcome {
                            Outcome::Passed => n.passed += 1,
                            Outcome::Failed(_) => n.failed += 1,
                            Outcome::Skipped(_) => n.skipped += 1,
                        }
                    }
                }
            }
        }
        n
    }
}

impl Ran {
    fn stem(&self) -> String {
        self.file
            .file_stem()
            .map_or_else(|| self.file.to_string_lossy(), |s| s.to_string_lossy())
            .into_owned()
    }
}

pub fn lines(ran: &[Ran], quiet: bool) -> String {
    let mut text = String::new();
    for r in ran {
        match &r.cases {
            Err(why) => text += &format!("FAILED {}: {}\n", visible(&r.stem()), one_line(why)),
            Ok(cases) => {
                for c in cases {
                    match &c.report.outcome {
                        Outcome::Passed if !quiet => text += &format!("ok {}\n", visible(&c.name)),
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

pub fn json(ran: &[Ran]) -> String {
    let mut tests: Vec<Value> = Vec::new();
    for r in ran {
        let file = r.file.to_string_lossy();
        match &r.cases {
            Err(why) => tests.push(json!({
                "fixture": file, "name": r.stem(), "test": null, "chip": null, "opt": null, "result": "failed",
                "message": why, "seconds": 0.0, "warnings": r.warnings, "faults": [],
            })),
            Ok(cases) => tests.extend(cases.iter().map(|c| {
                let (result, message) = match &c.report.outcome {
                    Outcome::Passed => ("passed", None),
                    Outcome::Failed(why) => ("failed", Some(why)),
                    Outcome::Skipped(why) => ("skipped", Some(why)),
                };
                let warnings: Vec<&String> = r.warnings.iter().chain(&c.report.warnings).collect();
                json!({
                    "fixture": file, "name": c.name, "test": c.test, "chip": c.chip.name(), "opt": c.level as u8,
                    "result": result, "message": message, "seconds": c.report.time.as_secs_f64(), "warnings": warnings,
                    "faults": c.report.stats.faults.iter().map(fault).collect::<Vec<_>>(),
                })
            })),
        }
    }
    let n = Counts::of(ran);
    let all = json!({
        "schema": SCHEMA, "tests": tests, "passed": n.passed, "failed": n.failed, "skipped": n.skipped,
    });
    format!("{all}\n")
}

/// One of the faults that `--max-faults` gathers.
fn fault(n: &Note) -> Value {
    let place = |p: &Place| json!({"block": p.block, "thread": p.thread, "pc": p.pc, "instruction": p.instruction, "line": p.line});
    let f = &n.what;
    json!({
        "kind": f.kind.name(), "detail": f.detail, "kernel": f.kernel, "times": n.times, "place": place(&f.place),
        "other": f.other.as_ref().map(place),
    })
}

/// A suite a fixture.
pub fn junit(ran: &[Ran]) -> Result<String, String> {
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
