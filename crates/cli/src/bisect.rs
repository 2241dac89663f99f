//! `nvir bisect`: the pass run with which a failing test begins to fail.

use crate::common;
use crate::diff::{self, PassRun};
use crate::out::{Color, errln};
use crate::rerun::{self, Rerun};
use crate::run::How;
use nvir::{Observer, OptLevel};
use nvir_fixture::run::{Failure, Settings};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Find the pass run that makes a test fail
///
/// Runs a failing test with the optimiser stopped after more and more pass runs, halving what is left, and shows the first run
/// with which it fails in the same way: wrong values, a fault, a hang (the step limit), or IR that the verifier refuses. What
/// that run changed is printed as a difference.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  nvir bisect k.toml                       the first test that fails, on the first chip where it does
  nvir bisect k.toml --test small -t gk104
  nvir compile k.tgsi --bisect-limit 42 --print-after all     and look at what came before")]
pub(crate) struct Args {
    /// A fixture with a test that fails
    fixture: PathBuf,
    #[command(flatten)]
    which: rerun::Which,
    /// Optimisation level
    #[arg(short = 'O', long = "opt", default_value = "3", value_parser = common::level(), value_name = "N")]
    opt: OptLevel,
    #[command(flatten)]
    how: How,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A pass run, and the kernel that it was of.
struct Run {
    kernel: Option<String>,
    run: PassRun,
}

/// What was found.
enum Found {
    /// With so many runs it passes, with one more it fails; none: the report does not have it.
    Run(u32, Option<Run>),
    /// It fails without any pass.
    NoPass(&'static str),
}

pub(crate) fn run(a: Args) -> ExitCode {
    let mut settings = match a.how.settings(a.opt) {
        Ok(s) => s,
        Err(e) => return common::usage(e),
    };
    settings.options.debug.verify_each = true;
    let rerun = match Rerun::failing(&a.fixture, &a.which, &settings) {
        Ok(t) => t,
        Err(code) => return code,
    };
    if rerun.loaded.source_text().is_none() {
        return common::fault_in(&a.fixture, "its source is machine code: no pass ran");
    }
    let at = |limit: u32| {
        let mut s = rerun.settings(&settings);
        s.options.debug.bisect_limit = Some(limit);
        s
    };
    let fails = |s: &Settings| rerun.fails_alike(s);
    let all = settings.options.debug.bisect_limit.unwrap_or(u32::MAX).min(runs(&rerun, &settings));
    let found = if fails(&at(0)) {
        Found::NoPass(without_passes(&rerun, &at(0)))
    } else {
        let (mut good, mut bad) = (0, all);
        while good + 1 < bad {
            let middle = good + (bad - good) / 2;
            if fails(&at(middle)) { bad = middle } else { good = middle }
        }
        Found::Run(good, last_run(&rerun, &at(bad), bad))
    };
    tell(&a, &rerun, &found)
}

/// The most pass runs that a kernel of the test takes.
fn runs(rerun: &Rerun, settings: &Settings) -> u32 {
    reports(rerun, settings).iter().map(|(_, text)| diff::pass_runs(text).len()).max().unwrap_or(0) as u32
}

/// What the compiler prints of every kernel of the test.
fn reports(rerun: &Rerun, settings: &Settings) -> Vec<(Option<String>, String)> {
    let mut settings = rerun.settings(settings);
    settings.options.debug.print_after = vec!["all".to_string()];
    settings.options.debug.print_before = vec!["all".to_string()];
    let mut all = Vec::new();
    for (name, private) in rerun.loaded.kernels_of(rerun.test()) {
        let mut observer = Observer::default();
        let _ = rerun.loaded.compile(name.as_deref(), private, rerun.chip, &settings, &mut observer);
        all.push((name, observer.report));
    }
    all
}

/// The last of so many runs, of the first kernel that has as many and that it changed.
fn last_run(rerun: &Rerun, settings: &Settings, number: u32) -> Option<Run> {
    let runs = reports(rerun, settings).into_iter().filter_map(|(kernel, text)| {
        let run = diff::pass_runs(&text).into_iter().nth(number as usize - 1)?;
        Some(Run { kernel, run })
    });
    let mut runs: Vec<Run> = runs.collect();
    let changed = runs.iter().position(|r| r.run.before != r.run.after).unwrap_or(0);
    (changed < runs.len()).then(|| runs.swap_remove(changed))
}

/// What may have the defect where no pass has it, by what makes the test pass.
fn without_passes(rerun: &Rerun, settings: &Settings) -> &'static str {
    let mut other = settings.clone();
    other.options.opt_level = OptLevel::O1;
    if settings.options.opt_level > OptLevel::O1 && !rerun.fails_alike(&other) {
        return "the order of instructions: it passes at -O1, which does not change it";
    }
    other.options.opt_level = OptLevel::O0;
    if !rerun.fails_alike(&other) {
        return "emission: it passes at -O0, where branches are not known to be uniform";
    }
    other.options.max_gprs = None;
    other.options.debug.through_memory = true;
    if !rerun.fails_alike(&other) {
        return "register assignment: it passes with values that cross blocks in memory";
    }
    match rerun.failure {
        Failure::Compile => "the front-end, lowering or register assignment, or the input itself",
        _ => {
            "the front-end, lowering, register assignment or emission; or the test expects what its kernel does not do"
        }
    }
}

fn tell(a: &Args, rerun: &Rerun, found: &Found) -> ExitCode {
    let test = &rerun.test().name;
    let mut value = json!({
        "schema": 1, "fixture": a.fixture.to_string_lossy(), "test": test, "chip": rerun.chip.name(), "opt": a.opt as u8,
        "failure": rerun.why,
    });
    let mut text = format!(
        "test `{test}` fails on {} at -O{}: {}\n",
        rerun.chip,
        a.opt,
        rerun.why.lines().next().unwrap_or_default()
    );
    match found {
        Found::NoPass(suspect) => {
            value["suspect"] = (*suspect).into();
            text += &format!("it fails without any pass; look at {suspect}\n");
        }
        Found::Run(good, run) => {
            value["passes_with_runs"] = (*good).into();
            text += &format!("it passes after {good} pass runs, and fails after {}", good + 1);
            if let Some(Run { kernel, run: r }) = run {
                value["pass"] = r.pass.as_str().into();
                value["stage"] = r.stage.as_str().into();
                value["kernel"] = kernel.clone().into();
                let kernel = kernel.as_ref().map_or(String::new(), |k| format!(", of kernel {k}"));
                text += &format!(": `{}` in stage {}{kernel}\n", r.pass, r.stage);
                let changes = diff::unified(&r.before, &r.after, Color::on_stdout() && !a.json);
                value["difference"] = changes.clone().into();
                text += &changes;
            } else {
                text += "\n";
            }
        }
    }
    if a.json {
        text = format!("{value}\n");
    }
    let code = common::write_output(None, text.as_bytes());
    if !a.json {
        errln!("{} runs of the test", rerun.count());
    }
    code
}
