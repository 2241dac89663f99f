//! `nvir-fuzz`: campaigns of random programs and mutants from the command line.

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nvir_fuzz::runner::{self, Options, Report, Tally};
use nvir_fuzz::{TARGETS, Target};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Random programs and mutated inputs for nvir, compared with what shares no code with it.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  nvir-fuzz list                                      what there is
  nvir-fuzz run --cases 10000                         so many cases of each target
  nvir-fuzz run tgsi nir-alu --seconds 600 --threads 8
  nvir-fuzz run --cases 1000000 --shard 2/4 --log log.json --keep found
  nvir-fuzz case tgsi 4711                            one case again, with what is wrong in it
  nvir-fuzz case tgsi 4711 --input > case.tgsi        its input

A case depends on its target and number alone. Blocks of 1000 cases are what shards divide, and what is a test in GoogleTest's
protocol: deqp-runner gtest --gtest nvir-fuzz -- run --cases 1000000 spreads a campaign.
Exit code: 0 nothing found, 1 something found, 2 the command line is wrong."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The targets, with what they compare
    List,
    /// Runs cases
    Run(Run),
    /// Runs one case, and says all that is known of it
    Case {
        target: Name,
        number: u64,
        /// Print the case's input instead
        #[arg(long)]
        input: bool,
    },
}

#[derive(Args)]
struct Run {
    /// Targets; all that can run here if none is named
    targets: Vec<Name>,
    /// Number of the first case
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Cases of each target [default: 1000, or what the time allows]
    #[arg(long)]
    cases: Option<u64>,
    /// End after so many seconds, divided evenly between the targets
    #[arg(long)]
    seconds: Option<u64>,
    #[arg(long, default_value_t = std::thread::available_parallelism().map_or(1, |n| n.get()))]
    threads: usize,
    /// The K-th of N parts of the cases
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// Leave the input and the report of each finding here
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Count findings whose message contains this, and do not report them
    #[arg(long, value_name = "TEXT")]
    known: Vec<String>,
    /// Append a line of JSON for each target
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// List blocks of cases as tests
    #[arg(long = "gtest_list_tests", hide = true)]
    gtest_list_tests: bool,
    /// Run these blocks, and report in GoogleTest's form
    #[arg(long = "gtest_filter", hide = true)]
    gtest_filter: Option<String>,
}

#[derive(Clone, Copy)]
struct Name(&'static Target);

impl FromStr for Name {
    type Err = String;

    fn from_str(s: &str) -> Result<Name, String> {
        let names = || TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        nvir_fuzz::target(s).map(Name).ok_or_else(|| format!("there are {}", names()))
    }
}

#[derive(Clone, Copy)]
struct Shard {
    number: u64,
    of: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(s: &str) -> Result<Shard, String> {
        let parts = s.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((number, of)) if number >= 1 && number <= of => Ok(Shard { number, of }),
            _ => Err("a part is written as K/N, from 1/N to N/N".into()),
        }
    }
}

/// Cases of a block.
const BLOCK: u64 = 1000;

impl Run {
    fn targets(&self) -> Vec<&'static Target> {
        if !self.targets.is_empty() {
            return self.targets.iter().map(|n| n.0).collect();
        }
        TARGETS.iter().collect()
    }

    fn cases(&self) -> u64 {
        self.cases.unwrap_or(if self.seconds.is_some() { u64::MAX / 4 } else { BLOCK })
    }

    /// The blocks of this shard, in order.
    fn blocks(&self) -> impl Iterator<Item = Range<u64>> {
        let (first, end) = (self.first, self.first.saturating_add(self.cases()));
        let Shard { number, of } = self.shard.unwrap_or(Shard { number: 1, of: 1 });
        (0u64..)
            .map(move |n| {
                let start = first.saturating_add(n.saturating_mul(BLOCK));
                start..start.saturating_add(BLOCK).min(end)
            })
            .take_while(move |b| b.start < end)
            .enumerate()
            .filter(move |(n, _)| *n as u64 % of == number - 1)
            .map(|(_, b)| b)
    }

    fn options(&self) -> Options {
        Options { threads: self.threads, keep: self.keep.clone(), known: self.known.clone(), until: None }
    }
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::List => {
            let width = TARGETS.iter().map(|t| t.name.len()).max().unwrap_or(0);
            for t in TARGETS {
                let missing = (t.missing)().map_or_else(String::new, |why| format!(" (not here: {why})"));
                say(&format!("{:width$}  {}{missing}\n", t.name, t.about));
            }
            ExitCode::SUCCESS
        }
        Command::Case { target, number, input } => case(target.0, number, input),
        Command::Run(run) if run.gtest_list_tests => {
            for target in run.targets().into_iter().filter(|t| (t.missing)().is_none()) {
                say(&format!("{}.\n", suite(target)));
                run.blocks().for_each(|b| say(&format!("  {}\n", test(&b))));
            }
            ExitCode::SUCCESS
        }
        Command::Run(run) => {
            if let Some(Err(e)) = run.keep.as_ref().map(std::fs::create_dir_all) {
                eprintln!("error: {}: {e}", run.keep.unwrap_or_default().display());
                return ExitCode::from(2);
            }
            match run.gtest_filter {
                Some(ref filter) => gtest(&run, filter),
                None => campaign(&run),
            }
        }
    }
}

/// Writes to the standard output; a reader that has gone is no fault.
fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn case(target: &'static Target, number: u64, input: bool) -> ExitCode {
    if let Some(why) = (target.missing)() {
        eprintln!("error: {}: {why}", target.name);
        return ExitCode::from(2);
    }
    if input {
        let _ = std::io::stdout().write_all(&(target.input)(number).0);
        return ExitCode::SUCCESS;
    }
    let mut tally = Tally::default();
    match runner::run_case(target, number, &mut tally) {
        Ok(()) => {
            say(&format!("{} {number}: nothing is wrong {:?}\n", target.name, tally.0));
            ExitCode::SUCCESS
        }
        Err(why) => {
            say(&format!("{} {number}: {why}\n", target.name));
            ExitCode::FAILURE
        }
    }
}

/// The line of a target that is done, and its findings.
fn told(target: &Target, report: &Report, time: Duration) -> String {
    let mut text = format!(
        "{}: {} cases in {:.0} s, {} findings; {:?}, slowest {:.1} s (case {}), {} MiB\n",
        target.name,
        report.cases,
        time.as_secs_f64(),
        report.findings.len(),
        report.tally.0,
        report.slowest.0.as_secs_f64(),
        report.slowest.1,
        runner::peak_memory(),
    );
    for f in report.findings.values() {
        let line = f.message.lines().next().unwrap_or_default();
        text += &format!("  case {}, {} times: {line}\n", f.first, f.times);
    }
    text
}

fn campaign(run: &Run) -> ExitCode {
    let (named, targets) = (!run.targets.is_empty(), run.targets());
    let mut found = false;
    let start = Instant::now();
    for (n, target) in targets.iter().enumerate() {
        if let Some(why) = (target.missing)() {
            eprintln!("{}: not run: {why}", target.name);
            if named {
                return ExitCode::from(2);
            }
            continue;
        }
        let began = Instant::now();
        let until = run.seconds.map(|s| {
            let left = Duration::from_secs(s).saturating_sub(start.elapsed());
            began + left / (targets.len() - n) as u32
        });
        let total = (run.seconds.is_none()).then(|| run.blocks().map(|b| b.end - b.start).sum());
        let bar = bar(target, total);
        let mut all = Report::default();
        for block in run.blocks() {
            if until.is_some_and(|t| Instant::now() >= t) {
                break;
            }
            let options = Options { until, ..run.options() };
            let report = runner::run(target, block, &options, |_| bar.inc(1));
            for f in report.findings.values() {
                bar.suspend(|| {
                    eprintln!("{} {}: {}", target.name, f.first, f.message.lines().next().unwrap_or_default())
                });
            }
            all.add(&report);
        }
        bar.finish_and_clear();
        say(&told(target, &all, began.elapsed()));
        found |= !all.findings.is_empty();
        if let Some(Err(e)) = run.log.as_ref().map(|file| log(file, run, target, &all, began.elapsed())) {
            eprintln!("error: the log: {e}");
            return ExitCode::from(2);
        }
    }
    if found { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn bar(target: &Target, total: Option<u64>) -> ProgressBar {
    let to = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(total, to).with_message(target.name);
    let style =
        if total.is_some() { "{msg} {wide_bar} {pos}/{len} {eta}" } else { "{msg} {spinner} {pos} cases" };
    ProgressStyle::with_template(style).map_or(bar.clone(), |s| bar.with_style(s))
}

fn log(file: &PathBuf, run: &Run, target: &Target, report: &Report, time: Duration) -> std::io::Result<()> {
    let findings: Vec<_> = report
        .findings
        .values()
        .map(|f| json!({ "case": f.first, "times": f.times, "message": f.message }))
        .collect();
    let line = json!({
        "schema": 1,
        "target": target.name,
        "first": run.first,
        "cases": report.cases,
        "shard": run.shard.map(|s| format!("{}/{}", s.number, s.of)),
        "seconds": time.as_secs(),
        "tally": report.tally.0,
        "slowest": { "case": report.slowest.1, "seconds": report.slowest.0.as_secs_f64() },
        "findings": findings,
    });
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
    writeln!(file, "{line}")
}

/// Names that GoogleTest's protocol can carry.
fn suite(target: &Target) -> String {
    target.name.replace('-', "_")
}

fn test(block: &Range<u64>) -> String {
    format!("cases_{}_{}", block.start, block.end)
}

fn gtest(run: &Run, filter: &str) -> ExitCode {
    let wanted: std::collections::HashSet<&str> = filter.split(':').collect();
    let all = wanted.contains("*");
    let mut failed = Vec::new();
    let mut ran = 0;
    for target in run.targets().into_iter().filter(|t| (t.missing)().is_none()) {
        for block in run.blocks() {
            let name = format!("{}.{}", suite(target), test(&block));
            if !all && !wanted.contains(name.as_str()) {
                continue;
            }
            say(&format!("[ RUN      ] {name}\n"));
            let began = Instant::now();
            let report = runner::run(target, block, &run.options(), |_| ());
            let ms = began.elapsed().as_millis();
            ran += 1;
            if report.findings.is_empty() {
                say(&format!("[       OK ] {name} ({ms} ms)\n"));
            } else {
                say(&format!("[  FAILED  ] {name} ({ms} ms)\n{}", told(target, &report, began.elapsed())));
                failed.push(name);
            }
        }
    }
    say(&format!("[==========] {ran} tests ran.\n[  PASSED  ] {} tests.\n", ran - failed.len()));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
