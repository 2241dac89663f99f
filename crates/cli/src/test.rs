//! `nvir test`: every fixture below some paths, on every chip.

use crate::common::{self, Warnings};
use crate::device::Place;
use crate::out::{self, tell};
use crate::run::How;
use nvir::fixture::run::{Outcome, Settings, TestReport};
use nvir::{Chip, OptLevel};
use std::path::PathBuf;
use std::process::ExitCode;

/// Run every fixture below the paths on every chip that it allows
///
/// Prints a line `ok NAME` or `FAILED NAME: why` for each test, chip and level, and last `N passed, N failed, N skipped`.
#[derive(clap::Args)]
pub struct Args {
    /// Fixtures, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only on these chips
    #[arg(short, long, value_name = "CHIP")]
    target: Vec<Chip>,
    /// At these optimisation levels
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: Vec<OptLevel>,
    #[command(flatten)]
    how: How,
    /// Fixtures run at once; 0: one a core
    #[arg(long, default_value = "0", value_parser = common::jobs(), value_name = "N")]
    jobs: usize,
    /// Print failures only
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(a: Args) -> ExitCode {
    let settings: Vec<Settings> = match a.opt.iter().map(|&level| a.how.settings(level)).collect() {
        Ok(s) => s,
        Err(e) => return common::usage(e),
    };
    let place = match Place::open(a.how.device.as_ref()) {
        Ok(place) => place,
        Err(e) => return common::usage(e),
    };
    let files = match common::fixtures(&a.paths) {
        Ok(f) => f,
        Err(code) => return code,
    };
    let targets = if a.target.is_empty() { Chip::ALL.to_vec() } else { a.target.clone() };
    let bar = common::progress(files.len());
    let results = common::in_parallel(a.jobs, &files, |file| {
        let reports = one(file, &targets, &settings, &place);
        bar.inc(1);
        reports
    });
    bar.finish_and_clear();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut text = String::new();
    let mut warnings = Warnings::default();
    for (file, result) in files.iter().zip(results) {
        let stem = file.file_stem().map_or_else(|| file.to_string_lossy(), |s| s.to_string_lossy());
        match result {
            Err(why) => {
                failed += 1;
                text += &format!("FAILED {stem}: {}\n", one_line(&why));
            }
            Ok((general, reports)) => {
                warnings.tell(file, general);
                for (level, r) in reports {
                    let named = r.warnings.iter().map(|w| format!("test `{}`: {w}", r.name));
                    warnings.tell(file, named);
                    let mut name = format!("{stem}/{} {}", r.name, r.chip);
                    if settings.len() > 1 {
                        name += &format!(" -O{level}");
                    }
                    match &r.outcome {
                        Outcome::Passed => {
                            passed += 1;
                            if !a.quiet {
                                text += &format!("ok {name}\n");
                            }
                        }
                        Outcome::Failed(why) => {
                            failed += 1;
                            text += &format!("FAILED {name}: {}\n", one_line(why));
                        }
                        Outcome::Skipped(_) => skipped += 1,
                    }
                    if !a.quiet {
                        r.stats.notes.iter().for_each(|note| tell!("note: {name}: {note}"));
                    }
                }
            }
        }
    }
    text += &format!("{passed} passed, {failed} failed, {skipped} skipped\n");
    out::stdout(text.as_bytes());
    if failed == 0 { ExitCode::SUCCESS } else { common::input_error() }
}

/// A reason on one line.
fn one_line(why: &str) -> String {
    why.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A fixture's warnings, and the report of each test, chip and level.
type Reports = (Vec<String>, Vec<(OptLevel, TestReport)>);

fn one(
    file: &std::path::Path,
    targets: &[Chip],
    settings: &[Settings],
    place: &Place,
) -> Result<Reports, String> {
    let loaded = common::read_fixture(file).map_err(|e| e.to_string())?;
    let allowed = loaded.chips().map_err(|e| e.to_string())?;
    let mut reports = Vec::new();
    for (&chip, how) in targets.iter().flat_map(|chip| settings.iter().map(move |how| (chip, how))) {
        let level = how.options.opt_level;
        let not_allowed = (!allowed.contains(&chip)).then(|| format!("not for {chip}"));
        if let Some(why) = not_allowed.or_else(|| place.refuses(chip)) {
            reports.extend(loaded.fixture.tests.iter().map(|t| {
                let outcome = Outcome::Skipped(why.clone());
                let (stats, warnings) = Default::default();
                (level, TestReport { name: t.name.clone(), chip, outcome, stats, warnings })
            }));
        } else {
            let machine = || place.machine(chip, how);
            let ran = loaded.run_on(&machine, chip, None, how, &mut None, |_, _| ());
            reports.extend(ran.into_iter().map(|r| (level, r)));
        }
    }
    Ok((loaded.warnings(), reports))
}
