//! What is executed, as often as it is asked for: a test of a fixture, or a recording.

use super::Args;
use crate::common;
use nvir::Chip;
use nvir::compiler::{Compiler, Options};
use nvir::emu::engine::Engine;
use nvir::input;
use nvir_fixture::run::{Failure, Loaded, Outcome, Settings};
use nvir_vgpu::replay::{self, replay};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

pub(super) enum Target {
    Fixture { loaded: Box<Loaded>, test: String, chip: Chip, settings: Box<Settings> },
    Recording(PathBuf),
}

/// How an execution ended.
pub(super) struct End {
    /// In words.
    pub how: String,
    /// By the last instruction that began.
    pub faulted: bool,
}

/// Whether a file begins as recordings do.
fn is_recording(path: &Path) -> bool {
    let mut start = [0; 6];
    let regular = path.metadata().is_ok_and(|m| m.is_file());
    regular && File::open(path).and_then(|mut f| f.read_exact(&mut start)).is_ok() && &start == b"trace "
}

impl Target {
    pub(super) fn load(a: &Args) -> Result<Target, ExitCode> {
        if is_recording(&a.input) {
            return Ok(Target::Recording(a.input.clone()));
        }
        let loaded = common::read_fixture(&a.input).map_err(|e| common::broken_fixture(&e))?;
        let allowed = loaded.chips().map_err(|e| common::broken_fixture(&e))?;
        let chip = match a.target {
            Some(chip) if allowed.contains(&chip) => chip,
            Some(chip) => return Err(common::usage(format!("the fixture does not run on {chip}"))),
            None => match allowed.last() {
                Some(&chip) => chip,
                None => return Err(common::usage("the fixture runs on no chip")),
            },
        };
        let names: Vec<&str> = loaded.fixture.tests.iter().map(|t| t.name.as_str()).collect();
        let all = || names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let test = match (&a.test, names.as_slice()) {
            (Some(name), _) if names.contains(&name.as_str()) => name.clone(),
            (Some(name), _) => {
                return Err(common::usage(format!("unknown test `{name}`; available: {}", all())));
            }
            (None, [only]) => only.to_string(),
            (None, _) => return Err(common::usage(format!("--test says which of {}", all()))),
        };
        let options = Options { opt_level: a.opt, max_gprs: a.max_gprs, ..Options::default() };
        Compiler::new(chip).with_options(options.clone()).check().map_err(common::usage)?;
        let checks = a.check.parse().map_err(|e: String| common::usage(e))?;
        let settings = Box::new(Settings { options, checks, threads: 1, ..Settings::default() });
        Ok(Target::Fixture { loaded: Box::new(loaded), test, chip, settings })
    }

    /// What it is, for the first line.
    pub(super) fn title(&self) -> String {
        match self {
            Target::Fixture { loaded, test, chip, settings } => {
                let level = settings.options.opt_level;
                format!("{}, test `{test}`, {chip} at -O{level}", loaded.path.display())
            }
            Target::Recording(path) => path.display().to_string(),
        }
    }

    /// Executes all of it, on one thread of the host.
    pub(super) fn execute(&self, engine: &Arc<dyn Engine>) -> End {
        match self {
            Target::Fixture { loaded, test, chip, settings } => {
                let settings = Settings { engine: Some(engine.clone()), ..Settings::clone(settings) };
                let reports = loaded.run(*chip, Some(test), &settings, &mut None, |_, _| {});
                let Some(report) = reports.into_iter().next() else {
                    return End { how: "nothing ran".into(), faulted: false };
                };
                let expected = loaded.fixture.tests.iter().any(|t| &t.name == test && t.fault.is_some());
                let passed = report.outcome == Outcome::Passed;
                let faulted = matches!(report.failure, Some(Failure::Fault(_))) || passed && expected;
                let how = match report.outcome {
                    Outcome::Passed if expected => "the test passed, with the fault that it expects".into(),
                    Outcome::Passed => "the test passed".into(),
                    Outcome::Skipped(why) => format!("the test is skipped: {why}"),
                    Outcome::Failed(why) => format!("the test FAILED: {why}"),
                };
                End { how, faulted }
            }
            Target::Recording(path) => {
                let options = replay::Options { engine: Some(engine.clone()), ..replay::Options::default() };
                let file = File::open(path).map_err(|e| input::why(&e));
                let report = file
                    .and_then(|f| replay(BufReader::new(f), options, &mut |_| {}).map_err(|e| e.to_string()));
                match report {
                    Err(why) => End { how: why, faulted: false },
                    Ok(report) => End {
                        faulted: report.fault.is_some(),
                        how: match (&report.fault, report.passed()) {
                            (Some((submission, fault)), _) => {
                                format!("the recording FAILED in submission {submission}: {fault}")
                            }
                            (None, true) => "the recording's results are as recorded".into(),
                            (None, false) => "the recording's results differ from what is recorded".into(),
                        },
                    },
                }
            }
        }
    }
}
