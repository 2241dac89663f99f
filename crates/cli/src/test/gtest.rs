//! GoogleTest's protocol, by which deqp-runner's `gtest-runner` and IDEs list and run tests.
//!
//! A suite is a fixture, named by its path; a test of it is a test on a chip at a level. Names have only letters, digits, `_`
//! and `/`, since `.`, `:`, `-` and spaces mean something in the protocol. Each test's line is written before it begins: who
//! reads it knows which one crashed. Messages follow the verdict, where no reader takes brackets in them for one.

use super::Plan;
use super::cases::Pattern;
use crate::common;
use crate::out;
use nvir::Chip;
use nvir_fixture::format::Test;
use nvir_fixture::run::{Loaded, Outcome, TestReport};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

/// What `--gtest_filter` asks for.
struct Filter {
    /// Names without stars, of which there may be thousands.
    names: HashSet<String>,
    patterns: Vec<Pattern>,
    not: Vec<Pattern>,
}

impl Filter {
    fn new(text: &str) -> Filter {
        let (yes, no) = text.split_once('-').unwrap_or((text, ""));
        let patterns = |list: &str| -> Vec<Pattern> {
            list.split(':').filter(|p| !p.is_empty()).filter_map(|p| Pattern::from_str(p).ok()).collect()
        };
        let (stars, names): (Vec<&str>, Vec<&str>) = yes.split(':').partition(|p| p.contains(['*', '?']));
        let stars = if yes.is_empty() { "*".to_string() } else { stars.join(":") };
        Filter {
            names: names.into_iter().map(str::to_string).collect(),
            patterns: patterns(&stars),
            not: patterns(no),
        }
    }

    fn wants(&self, name: &str) -> bool {
        (self.names.contains(name) || self.patterns.iter().any(|p| p.is(name)))
            && !self.not.iter().any(|p| p.is(name))
    }
}

/// A name that the protocol can carry.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '/' { c } else { '_' };
    name.chars().map(plain).collect()
}

/// A name that none before it had.
fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    let mut own = name.clone();
    let mut n = 1;
    while !taken.insert(own.clone()) {
        n += 1;
        own = format!("{name}_{n}");
    }
    own
}

/// The names of a fixture's cases in one order: (test's place, chip, level) to name.
type Names = BTreeMap<(usize, usize, usize), String>;

fn names(plan: &Plan<'_>, loaded: &Loaded, allowed: &[Chip]) -> Names {
    let mut taken = BTreeSet::new();
    let mut all = Names::new();
    for (t, test) in loaded.fixture.tests.iter().enumerate() {
        for (c, chip) in plan.targets.iter().enumerate().filter(|(_, chip)| allowed.contains(chip)) {
            for (s, how) in plan.settings.iter().enumerate() {
                let mut name = format!("{}/{chip}", plain(&test.name).replace('/', "_"));
                if plan.settings.len() > 1 {
                    name += &format!("/O{}", how.options.opt_level);
                }
                all.insert((t, c, s), unique(name, &mut taken));
            }
        }
    }
    all
}

pub(super) fn run(plan: &Plan<'_>, files: &[PathBuf]) -> ExitCode {
    let filter = Filter::new(plan.args.gtest_filter.as_deref().unwrap_or("*"));
    let mut suites = BTreeSet::new();
    let mut tally = Tally::default();
    for file in files {
        let below = file.components().filter(|c| matches!(c, Component::Normal(_))).collect::<PathBuf>();
        let suite = unique(plain(&below.with_extension("").to_string_lossy()), &mut suites);
        // A fixture without a test that is wanted is not even read, unless stars are about it.
        let named = filter.names.iter().any(|n| n.strip_prefix(&suite).is_some_and(|n| n.starts_with('.')));
        if filter.patterns.is_empty() && !named {
            continue;
        }
        one(plan, file, &suite, &filter, &mut tally);
        if plan.stopped() {
            break;
        }
    }
    if plan.args.gtest_list_tests {
        return if tally.broken { common::input_error() } else { ExitCode::SUCCESS };
    }
    out::stdout(tally.text().as_bytes());
    if tally.failed.is_empty() && !tally.broken { ExitCode::SUCCESS } else { common::input_error() }
}

#[derive(Default)]
struct Tally {
    ran: usize,
    passed: usize,
    failed: Vec<String>,
    skipped: usize,
    /// A fixture cannot be read.
    broken: bool,
}

impl Tally {
    /// The lines about a test that has ended.
    fn add(&mut self, name: &str, report: &TestReport) -> String {
        self.ran += 1;
        let ms = report.time.as_millis();
        match &report.outcome {
            Outcome::Passed => {
                self.passed += 1;
                format!("[       OK ] {name} ({ms} ms)\n")
            }
            Outcome::Skipped(why) => {
                self.skipped += 1;
                format!("[  SKIPPED ] {name} ({ms} ms)\n{why}\n")
            }
            Outcome::Failed(why) => {
                self.failed.push(name.to_string());
                format!("[  FAILED  ] {name} ({ms} ms)\n{}\n", why.trim_end())
            }
        }
    }

    fn text(&self) -> String {
        let mut text = format!("[==========] {} tests ran.\n[  PASSED  ] {} tests.\n", self.ran, self.passed);
        if self.skipped > 0 {
            text += &format!("[  SKIPPED ] {} tests.\n", self.skipped);
        }
        if !self.failed.is_empty() {
            text += &format!("[  FAILED  ] {} tests, listed below:\n", self.failed.len());
            self.failed.iter().for_each(|name| text += &format!("[  FAILED  ] {name}\n"));
        }
        text
    }
}

fn one(plan: &Plan<'_>, file: &Path, suite: &str, filter: &Filter, tally: &mut Tally) {
    let read = common::read_fixture(file).and_then(|loaded| {
        let allowed = loaded.chips()?;
        Ok((loaded, allowed))
    });
    let (loaded, allowed) = match read {
        Ok(read) => read,
        Err(e) => {
            tally.broken = true;
            common::broken_fixture(&e);
            return;
        }
    };
    let mut names = names(plan, &loaded, &allowed);
    let tests = &loaded.fixture.tests;
    names.retain(|&(t, c, s), name| {
        let own = plan.name(file, &tests[t].name, plan.targets[c], plan.settings[s].options.opt_level);
        filter.wants(&format!("{suite}.{name}")) && plan.wants(&own, file)
    });
    if plan.args.gtest_list_tests {
        if !names.is_empty() {
            let lines: String = names.values().map(|name| format!("  {name}\n")).collect();
            out::stdout(format!("{suite}.\n{lines}").as_bytes());
        }
        return;
    }
    let now = RefCell::new(String::new());
    for (c, &chip) in plan.targets.iter().enumerate() {
        for (s, how) in plan.settings.iter().enumerate() {
            // It is asked about every test, in order.
            let mut next = 0..;
            let mut wanted = |_: &Test| {
                let name = next.next().and_then(|t| names.get(&(t, c, s))).filter(|_| !plan.stopped());
                if let Some(name) = name {
                    *now.borrow_mut() = format!("{suite}.{name}");
                    out::stdout(format!("[ RUN      ] {}\n", now.borrow()).as_bytes());
                }
                name.is_some()
            };
            let mut done = |report| out::stdout(tally.add(&now.borrow(), &report).as_bytes());
            if plan.place.refuses(chip).is_none() {
                plan.each(&loaded, chip, how, |_, _| (), &mut wanted, &mut done);
            }
        }
    }
}
