//! `nvir interp`: TGSI fixtures under the reference interpreter.

use crate::common::{self, Warnings};
use crate::out::say;
use nvir::diag::visible;
use nvir::fixture::run::Outcome;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run TGSI fixtures on the reference interpreter, without compiling them
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir interp tgsi/crc32.toml           one fixture
  nvir interp tgsi --test random        tests of that name in every fixture below a folder")]
pub struct Args {
    /// Fixtures, and folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only this test
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// Instructions that one launch may execute, over all threads
    #[arg(long, default_value_t = 1 << 30, value_name = "N")]
    step_limit: u64,
}

pub fn run(a: Args) -> ExitCode {
    let fixtures = match common::fixtures(&a.paths) {
        Ok(f) => f,
        Err(code) => return code,
    };
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut warnings = Warnings::default();
    for path in fixtures {
        let loaded = match common::read_fixture(&path) {
            Ok(l) => l,
            Err(e) => {
                failed += 1;
                say!("FAILED {}", visible(&e.to_string()));
                continue;
            }
        };
        warnings.tell(&path, loaded.warnings());
        let name = path.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        for (test, outcome) in loaded.interpret(a.test.as_deref(), a.step_limit, |_, _| ()) {
            match outcome {
                Outcome::Passed => {
                    passed += 1;
                    say!("ok {}/{}", visible(&name), visible(&test));
                }
                Outcome::Skipped(_) => skipped += 1,
                Outcome::Failed(why) => {
                    failed += 1;
                    say!("FAILED {}/{}: {}", visible(&name), visible(&test), why.trim_end());
                }
            }
        }
    }
    if let Some(name) = a.test.filter(|_| passed + failed + skipped == 0) {
        return common::usage(format!("no test `{name}` in any fixture"));
    }
    say!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { common::input_error() }
}
