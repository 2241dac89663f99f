//! `nvir test`: every fixture below some paths, on every chip.
//!
//! A case is one test of a fixture on one chip at one level. [`cases`] says which are wanted (filter, shard), [`report`] writes
//! what became of them (lines, JSON, JUnit), [`gtest`] speaks GoogleTest's protocol, [`bless`] writes values into fixtures.

mod bless;
mod cases;
mod gtest;
pub(crate) mod report;

use crate::common::{self, Warnings};
use crate::device::Place;
use crate::pictures::Pictures;
use crate::report::Class;
use crate::run::How;
use crate::{out, watch};
use cases::{Pattern, Shard};
use nvir::diag::{Fault, visible};
use nvir::{Chip, OptLevel};
use nvir_fixture::env::Env;
use nvir_fixture::format::Test;
use nvir_fixture::run::{Loaded, Outcome, Settings, TestReport};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Run every fixture below the paths on every chip that it allows
///
/// Prints a line `ok NAME`, `FAILED NAME: why` or `skipped NAME: why` for each test, chip and level, and last
/// `N passed, N failed, N skipped`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir test tgsi -t gk110 --filter atomic           tests with that in their name
  nvir test tgsi --junit tests.xml --shard 2/4      the second quarter, for a CI system
  nvir test k.toml --bless                          write what the kernel gives into the fixture
  gtest-runner run --gtest $(which nvir) --output results -- test tgsi     under deqp-runner

CI_NODE_INDEX and CI_NODE_TOTAL (from 1), or TEST_SHARD_INDEX and TEST_TOTAL_SHARDS (from 0) are the same as --shard.")]
pub(crate) struct Args {
    /// Fixtures, or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only on these chips; default: all that the fixture allows
    #[arg(short, long, value_name = "CHIP", help_heading = "Which tests")]
    target: Vec<Chip>,
    /// Optimisation level; several: each of them
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N", help_heading = "Which tests")]
    opt: Vec<OptLevel>,
    #[command(flatten)]
    how: How,
    /// Fixtures run at once; 0: one a core
    #[arg(long, value_parser = common::jobs(), value_name = "N", help_heading = "Which tests")]
    jobs: Option<usize>,
    /// Print failures only
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    /// Print the names of the tests that would run
    #[arg(long, help_heading = "Which tests")]
    list: bool,
    /// Only tests whose name, as --list prints it, contains this; `*` and `?` stand for anything; several: any of them
    #[arg(long, value_name = "TEXT", help_heading = "Which tests")]
    filter: Vec<Pattern>,
    /// Begin no test after one has failed
    #[arg(long, help_heading = "Which tests")]
    fail_fast: bool,
    /// Only the Kth of N parts, K from 1. A test stays in its part when others come and go
    #[arg(long, value_name = "K/N", help_heading = "Which tests")]
    shard: Option<Shard>,
    /// Write a report in JUnit's XML
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,
    /// Print JSON instead of lines
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// With --json: also the cycles of issue of what was executed, and what executes it without a profile, and why
    #[arg(long, requires = "json")]
    profile: bool,
    /// Run again whenever a fixture, its program or another file of it changes, comes or goes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["gtest_list_tests", "gtest_filter"])]
    watch: bool,
    /// Write the values that a test leaves into its fixture's `expect`, where they differ. On several chips or levels they
    /// must agree
    #[arg(long, conflicts_with_all = ["list", "shard", "gtest_list_tests"], help_heading = "Output")]
    bless: bool,
    /// GoogleTest's protocol: print the names of all tests
    #[arg(long = "gtest_list_tests", help_heading = "GoogleTest's protocol")]
    gtest_list_tests: bool,
    /// GoogleTest's protocol: run the tests that these patterns between colons name, but not those after a `-`
    #[arg(long = "gtest_filter", value_name = "PATTERNS", help_heading = "GoogleTest's protocol")]
    gtest_filter: Option<String>,
}

impl Args {
    fn speaks_gtest(&self) -> bool {
        self.gtest_list_tests || self.gtest_filter.is_some()
    }
}

/// Everything that running one fixture needs.
struct Plan<'a> {
    args: &'a Args,
    targets: Vec<Chip>,
    settings: Vec<Settings>,
    place: Place,
    pictures: Pictures<'a>,
    shard: Option<Shard>,
    seeded: cases::Seeded,
    /// A test has failed, and none is to begin any more.
    stop: AtomicBool,
}

/// What became of a case.
struct Case {
    /// As `--list` prints it.
    name: String,
    test: String,
    chip: Chip,
    level: OptLevel,
    report: TestReport,
}

/// What became of a fixture.
struct Ran {
    file: PathBuf,
    /// Likely mistakes in it.
    warnings: Vec<String>,
    /// In order; or why it cannot be used.
    cases: Result<Vec<Case>, String>,
    /// With `--bless`.
    blessed: Option<Result<usize, String>>,
}

pub(crate) fn run(a: Args) -> ExitCode {
    watch::rounds(a.watch, || watch::below(&a.paths), || once(&a))
}

fn once(a: &Args) -> ExitCode {
    let settings: Vec<Settings> = match a.opt.iter().map(|&level| a.how.settings(level)).collect() {
        Ok(s) => s,
        Err(e) => return common::usage(e),
    };
    if a.profile && a.how.device.is_some() {
        return common::usage("--profile is the emulator's: it does not go with --device");
    }
    let profiled = |s: Settings| Settings { profile: a.profile, ..s };
    let settings = settings.into_iter().map(profiled).collect();
    let place = match Place::open(a.how.device.as_ref()) {
        Ok(place) => place,
        Err(e) => return common::usage(e),
    };
    let shard = match a.shard.map_or_else(Shard::from_environment, |s| Ok(Some(s))) {
        Ok(shard) => shard,
        Err(e) => return common::usage(e),
    };
    let files = match common::fixtures(&a.paths) {
        Ok(f) => f,
        Err(code) => return code,
    };
    if let Err(code) = crate::output::not_an_input(a.junit.as_deref(), &files) {
        return code;
    }
    let targets = if a.target.is_empty() { Chip::ALL.to_vec() } else { a.target.clone() };
    let (seeded, stop) = (cases::Seeded::from_environment(), AtomicBool::new(false));
    let pictures = Pictures::new(a.how.png.as_deref());
    let plan = Plan { args: a, targets, settings, place, pictures, shard, seeded, stop };
    if a.speaks_gtest() {
        return gtest::run(&plan, &files);
    }
    let bar = common::progress(files.len());
    let ran = common::in_parallel(a.jobs.unwrap_or(0), &files, |file| {
        let ran = plan.fixture(file);
        bar.inc(1);
        ran
    });
    bar.finish_and_clear();
    if a.list {
        return list(&ran);
    }
    tell_warnings(&ran, a.quiet);
    let text =
        if a.json { report::json(&ran, &plan.place, a.how.engine) } else { report::lines(&ran, a.quiet) };
    out::stdout(text.as_bytes());
    let failed = report::Counts::of(&ran).failed;
    if let Some(path) = &a.junit {
        let written = report::junit(&ran).map(|xml| common::write_output(Some(path), xml.as_bytes()));
        match written.unwrap_or_else(|e| common::fault_in(path, e)) {
            ExitCode::SUCCESS => {}
            code => return code,
        }
    }
    if a.bless {
        return bless::tell(&ran);
    }
    if failed == 0 && plan.pictures.all_written() { ExitCode::SUCCESS } else { common::input_error() }
}

/// The names of all cases, which were not run.
fn list(ran: &[Ran]) -> ExitCode {
    let mut broken = false;
    for r in ran {
        match &r.cases {
            Ok(cases) => {
                out::stdout(
                    cases.iter().map(|c| format!("{}\n", visible(&c.name))).collect::<String>().as_bytes(),
                );
            }
            Err(why) => {
                broken = true;
                crate::report::error(Class::Of(Fault::Input), None, why);
            }
        }
    }
    if broken { common::input_error() } else { ExitCode::SUCCESS }
}

/// On standard error: what is likely to be a mistake, and what runs noted.
fn tell_warnings(ran: &[Ran], quiet: bool) {
    let mut warnings = Warnings::default();
    for r in ran {
        warnings.tell(&r.file, r.warnings.iter().cloned());
        for c in r.cases.iter().flatten() {
            warnings.tell(&r.file, c.report.warnings.iter().map(|w| format!("test `{}`: {w}", c.test)));
            if !quiet {
                c.report.stats.notes.iter().for_each(|n| crate::report::note(format!("{}: {n}", c.name)));
            }
        }
    }
}

impl Plan<'_> {
    /// The name of a case, as lines and lists have it.
    fn name(&self, file: &Path, test: &str, chip: Chip, level: OptLevel) -> String {
        let stem = file.file_stem().map_or_else(|| file.to_string_lossy(), |s| s.to_string_lossy());
        let name = format!("{stem}/{test} {chip}");
        if self.settings.len() > 1 { format!("{name} -O{level}") } else { name }
    }

    /// Runs the cases of a fixture that are wanted, or with `--list` only names them.
    fn fixture(&self, file: &Path) -> Ran {
        let mut ran =
            Ran { file: file.to_path_buf(), warnings: Vec::new(), cases: Ok(Vec::new()), blessed: None };
        if self.stopped() {
            return ran;
        }
        let mut bless = self.args.bless.then(bless::Values::default);
        let mut cases = Vec::new();
        let loaded = common::read_fixture(file).and_then(|loaded| {
            let allowed = loaded.chips()?;
            Ok((loaded, allowed))
        });
        let (loaded, allowed) = match loaded {
            Ok(l) => l,
            Err(e) => {
                self.failed();
                ran.cases = Err(e.to_string());
                return ran;
            }
        };
        for &chip in &self.targets {
            for how in &self.settings {
                let allowed = allowed.contains(&chip);
                self.on_chip(&loaded, chip, how, allowed, &mut cases, &mut bless);
            }
        }
        ran.warnings = loaded.warnings();
        ran.blessed = bless.map(|values| values.write(file, &cases));
        ran.cases = Ok(cases);
        ran
    }

    fn on_chip(
        &self,
        loaded: &Loaded,
        chip: Chip,
        how: &Settings,
        allowed: bool,
        cases: &mut Vec<Case>,
        bless: &mut Option<bless::Values>,
    ) {
        let level = how.options.opt_level;
        let named = |t: &str| self.name(&loaded.path, t, chip, level);
        let wanted = |t: &Test| self.wants(&named(&t.name), &loaded.path);
        let case = |report: TestReport| Case {
            name: named(&report.name),
            test: report.name.clone(),
            chip,
            level,
            report,
        };
        let refused = (!allowed).then(|| format!("not for {chip}")).or_else(|| self.place.refuses(chip));
        if self.args.list {
            let tests = loaded.fixture.tests.iter().filter(|t| refused.is_none() && wanted(t));
            cases.extend(tests.map(|t| case(skipped(t, chip, String::new()))));
        } else if let Some(why) = refused {
            let tests = loaded.fixture.tests.iter().filter(|t| wanted(t));
            cases.extend(tests.map(|t| case(skipped(t, chip, why.clone()))));
        } else {
            let shown = (self.settings.len() > 1).then_some(level);
            let after = |t: &Test, env: &Env| {
                self.pictures.write(loaded, t, env, chip, shown);
                if let Some(values) = bless {
                    values.take(t, env, &named(&t.name));
                }
            };
            let mut wanted = |t: &Test| !self.stopped() && wanted(t);
            self.each(loaded, chip, how, after, &mut wanted, &mut |report| cases.push(case(report)));
        }
    }

    /// Runs tests one after the other; `wanted` is asked before each.
    fn each(
        &self,
        loaded: &Loaded,
        chip: Chip,
        how: &Settings,
        after: impl FnMut(&Test, &Env),
        wanted: &mut dyn FnMut(&Test) -> bool,
        done: &mut dyn FnMut(TestReport),
    ) {
        let machine = || self.place.backend(loaded, chip, how);
        let mut seeded = |mut report: TestReport| {
            let name = self.name(&loaded.path, &report.name, chip, how.options.opt_level);
            self.seeded.apply(&name, &mut report.outcome);
            if matches!(report.outcome, Outcome::Failed(_)) {
                self.failed();
            }
            done(report);
        };
        loaded.run_each(&machine, chip, how, &mut None, after, wanted, &mut seeded);
    }

    fn wants(&self, name: &str, file: &Path) -> bool {
        let filtered = self.args.filter.is_empty() || self.args.filter.iter().any(|p| p.finds(name));
        // Names of fixtures may come again in other folders.
        filtered && self.shard.is_none_or(|s| s.has(&format!("{}/{name}", file.display())))
    }

    fn failed(&self) {
        if self.args.fail_fast {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn skipped(t: &Test, chip: Chip, why: String) -> TestReport {
    let (failure, time, stats, profiles, model_cycles, warnings) = Default::default();
    let outcome = Outcome::Skipped(why);
    TestReport { name: t.name.clone(), chip, outcome, failure, time, stats, profiles, model_cycles, warnings }
}
