//! `nvir check`: fixtures validated without running them, and the schema of their format.

use crate::common::{self, Warnings};
use crate::out::say;
use nvir::diag::visible;
use nvir::fixture::FixtureError;
use nvir::fixture::run::Settings;
use nvir::fixture::schema;
use std::path::PathBuf;
use std::process::ExitCode;

/// Validate fixtures without running them
///
/// Reads each fixture below the paths, its source and the files that it names; compiles its kernels for every chip that it
/// allows; puts together what each launch gets. Prints `ok FIXTURE`, or what is wrong.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir check tgsi                               every fixture below a folder
  nvir check --schema > nvir-fixture.json       for an editor's completion and checks as you type")]
pub struct Args {
    /// Fixtures, or folders of them
    #[arg(required_unless_present = "schema")]
    paths: Vec<PathBuf>,
    /// Print the JSON Schema of fixture files
    #[arg(long)]
    schema: bool,
    /// Print what is wrong only
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(a: Args) -> ExitCode {
    if a.schema {
        return common::write_output(None, schema::text().as_bytes());
    }
    let files = match common::fixtures(&a.paths) {
        Ok(f) => f,
        Err(code) => return code,
    };
    let results = common::in_parallel(0, &files, |file| -> Result<Vec<String>, Vec<FixtureError>> {
        let loaded = common::read_fixture(file).map_err(|e| vec![e])?;
        let chips = loaded.chips().map_err(|e| vec![e])?;
        let mut found: Vec<String> = Vec::new();
        let mut told = loaded.warnings();
        for chip in chips {
            let (wrong, unused) = loaded.check(chip, &Settings::default());
            told.extend(unused);
            for what in wrong {
                if !found.contains(&what) {
                    found.push(what);
                }
            }
        }
        if found.is_empty() {
            return Ok(told);
        }
        Err(found.into_iter().map(|what| FixtureError::new(file, what)).collect())
    });
    let mut warnings = Warnings::default();
    let mut wrong = 0;
    for (file, result) in files.iter().zip(results) {
        match result {
            Ok(told) => {
                warnings.tell(file, told);
                if !a.quiet {
                    say!("ok {}", visible(&file.to_string_lossy()));
                }
            }
            Err(errors) => {
                wrong += 1;
                for e in &errors {
                    let _ = common::broken_fixture(e);
                }
            }
        }
    }
    if !a.quiet {
        say!("{} can be run, {wrong} cannot", files.len() - wrong);
    }
    if wrong == 0 { ExitCode::SUCCESS } else { common::input_error() }
}
