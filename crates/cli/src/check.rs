//! `nvir check`: fixtures validated without running them, and the schema of their format.

use crate::common::{self, Warnings};
use crate::out::outln;
use crate::report;
use nvir::diag::{Diagnostic, line_column, visible};
use nvir_fixture::run::Settings;
use nvir_fixture::{FixtureError, schema};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Validate fixtures without running them
///
/// Reads each fixture below the paths, its source and the files that it names; compiles its kernels for every chip that it
/// allows; puts together what each launch gets. Prints `ok FIXTURE`, or what is wrong. In folders, TOML and JSON without the key
/// `source` is skipped; a file that is named is not.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir check tgsi                               every fixture below a folder
  nvir check --schema > nvir-fixture.json       for an editor's completion and checks as you type")]
pub(crate) struct Args {
    /// Fixtures, or folders of them
    #[arg(required_unless_present = "schema")]
    paths: Vec<PathBuf>,
    /// Print the JSON Schema of fixture files
    #[arg(long)]
    schema: bool,
    /// Print what is wrong only
    #[arg(short, long)]
    quiet: bool,
    /// Print JSON instead of lines
    #[arg(long, conflicts_with = "schema")]
    json: bool,
}

/// Version of what `--json` writes; `docs/json.md` has the fields.
const SCHEMA: u64 = 1;

/// What is wrong with a fixture.
struct Problem {
    message: String,
    line: Option<usize>,
    column: Option<usize>,
}

/// What became of a fixture.
#[derive(Default)]
struct Checked {
    problems: Vec<Problem>,
    /// Why it cannot be read, if that is what is wrong.
    broken: Option<FixtureError>,
    warnings: Vec<String>,
}

impl Checked {
    fn report(&self, file: &Path) {
        match &self.broken {
            Some(e) => _ = common::broken_fixture(e),
            None => self.problems.iter().for_each(|p| report::in_line(file, p.line, &p.message)),
        }
    }
}

pub(crate) fn run(a: Args) -> ExitCode {
    if a.schema {
        return common::write_output(None, schema::text().as_bytes());
    }
    let (files, skipped) = match common::fixtures_counted(&a.paths) {
        Ok(f) => f,
        Err(code) => return code,
    };
    let results = common::in_parallel(0, &files, |file| checked(file));
    let invalid = results.iter().filter(|c| !c.problems.is_empty()).count();
    if a.json {
        outln!("{}", json(&files, &results, skipped));
    } else {
        let mut warnings = Warnings::default();
        for (file, checked) in files.iter().zip(&results) {
            if checked.problems.is_empty() {
                warnings.tell(file, checked.warnings.iter().cloned());
                if !a.quiet {
                    outln!("ok {}", visible(&file.to_string_lossy()));
                }
            } else {
                checked.report(file);
            }
        }
        if !a.quiet {
            let valid = files.len() - invalid;
            let skipped =
                if skipped > 0 { format!(", {}", common::not_fixtures(skipped)) } else { String::new() };
            outln!("{valid} valid, {invalid} invalid{skipped}");
        }
    }
    if invalid == 0 { ExitCode::SUCCESS } else { common::input_error() }
}

/// Looks at a fixture on every chip that it allows.
fn checked(file: &Path) -> Checked {
    let loaded = common::read_fixture(file).and_then(|loaded| Ok((loaded.chips()?, loaded)));
    let (chips, loaded) = match loaded {
        Ok(l) => l,
        Err(e) => {
            let problem = |d: &Diagnostic| {
                let place = d.primary.as_ref().filter(|_| !e.text.is_empty());
                let place = place.map(|(span, _)| line_column(&e.text, span.start));
                let (line, column) = (place.map(|p| p.0), place.map(|p| p.1));
                Problem { message: d.message.clone(), line, column }
            };
            let problems = e.what.list.iter().map(problem).collect();
            return Checked { problems, broken: Some(e), warnings: Vec::new() };
        }
    };
    let mut checked = Checked { warnings: loaded.warnings(), ..Checked::default() };
    for chip in chips {
        let (wrong, unused) = loaded.check(chip, &Settings::default());
        checked.warnings.extend(unused);
        checked.warnings.sort();
        checked.warnings.dedup();
        for p in wrong {
            // Most mistakes are the same on every chip.
            if !checked.problems.iter().any(|known| known.message == p.message) {
                checked.problems.push(Problem { message: p.message, line: p.line, column: None });
            }
        }
    }
    checked
}

fn json(files: &[PathBuf], results: &[Checked], skipped: usize) -> serde_json::Value {
    let fixture = |(file, checked): (&PathBuf, &Checked)| {
        let errors = checked
            .problems
            .iter()
            .map(|p| serde_json::json!({ "message": p.message, "line": p.line, "column": p.column }));
        serde_json::json!({
            "fixture": file.to_string_lossy(),
            "ok": checked.problems.is_empty(),
            "errors": errors.collect::<Vec<_>>(),
            "warnings": checked.warnings,
        })
    };
    let invalid = results.iter().filter(|c| !c.problems.is_empty()).count();
    serde_json::json!({
        "schema": SCHEMA,
        "fixtures": files.iter().zip(results).map(fixture).collect::<Vec<_>>(),
        "valid": files.len() - invalid,
        "invalid": invalid,
        "skipped": skipped,
    })
}
