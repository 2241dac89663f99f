//! `nvir interp`: TGSI fixtures under the reference interpreter.

use crate::common::{self, Warnings};
use crate::out::{self, outln};
use crate::test::report::{self, Line};
use nvir::diag::visible;
use nvir_fixture::run::Outcome;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run TGSI fixtures on the reference interpreter, without compiling them
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir interp tgsi/crc32.toml           one fixture
  nvir interp tgsi --test random        tests of that name in every fixture below a folder")]
pub(crate) struct Args {
    /// Fixtures, and folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only this test
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// Instructions that one launch may execute, over all threads
    #[arg(long, default_value_t = 1 << 30, value_name = "N")]
    step_limit: u64,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(a: Args) -> ExitCode {
    let fixtures = match common::fixtures(&a.paths) {
        Ok(f) => f,
        Err(code) => return code,
    };
    let mut counts = report::Counts::default();
    let mut tests = Vec::new();
    let mut warnings = Warnings::default();
    for path in fixtures {
        let loaded = match common::read_fixture(&path) {
            Ok(l) => l,
            Err(e) => {
                counts.failed += 1;
                match a.json {
                    true => tests.push(report::broken(&path, &e.to_string(), &[])),
                    false => outln!("FAILED {}", visible(&e.to_string())),
                }
                continue;
            }
        };
        let likely = loaded.warnings();
        warnings.tell(&path, likely.iter().cloned());
        let stem = report::stem(&path);
        for (test, outcome) in loaded.interpret(a.test.as_deref(), a.step_limit, |_, _| ()) {
            counts.add(&outcome);
            let name = format!("{stem}/{test}");
            if a.json {
                let (test, outcome) = (test.as_str(), &outcome);
                let line = Line {
                    fixture: &path,
                    name,
                    test,
                    level: None,
                    outcome,
                    report: None,
                    warnings: likely.iter().collect(),
                };
                tests.push(line.json());
                continue;
            }
            match outcome {
                Outcome::Passed => outln!("ok {}", visible(&name)),
                Outcome::Skipped(_) => {}
                Outcome::Failed(why) => outln!("FAILED {}: {}", visible(&name), why.trim_end()),
            }
        }
    }
    let n = &counts;
    if let Some(name) = a.test.filter(|_| n.passed + n.failed + n.skipped == 0) {
        return common::usage(format!("no test `{name}` in any fixture"));
    }
    match a.json {
        true => out::stdout(report::document(tests, n).as_bytes()),
        false => outln!("{} passed, {} failed, {} skipped", n.passed, n.failed, n.skipped),
    }
    if n.failed == 0 { ExitCode::SUCCESS } else { common::input_error() }
}
