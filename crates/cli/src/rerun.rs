//! A failing test that is run again and again with other settings or another source: what `bisect` and `reduce` do.

use crate::common;
use nvir::Chip;
use nvir_fixture::backend::{Backend, Emulator};
use nvir_fixture::env::Env;
use nvir_fixture::format::Test;
use nvir_fixture::run::{Failure, Loaded, Outcome, Settings};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Which test of a fixture, and where.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// Only this test
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// Only on this chip; default: all that the fixture allows
    #[arg(short, long, value_name = "CHIP")]
    target: Option<Chip>,
}

/// How one run ended.
pub(crate) struct Ended {
    /// None: all is as expected.
    pub failure: Option<Failure>,
    pub why: String,
    /// What each buffer that the test compares held at the end, if it came to one.
    pub values: BTreeMap<String, Vec<u8>>,
    steps: u64,
}

/// A test that fails.
pub(crate) struct Rerun {
    pub loaded: Loaded,
    /// Place of the test in the fixture.
    at: usize,
    pub chip: Chip,
    pub failure: Failure,
    pub why: String,
    /// Warp instructions that are enough for a run which does not hang.
    step_limit: u64,
    count: Cell<u32>,
}

impl Rerun {
    /// The first test that fails with these settings.
    pub(crate) fn failing(path: &Path, which: &Which, settings: &Settings) -> Result<Rerun, ExitCode> {
        let broken = |e: nvir_fixture::FixtureError| common::broken_fixture(&e);
        let loaded = common::read_fixture(path).map_err(broken)?;
        let chips = loaded.chips().map_err(broken)?;
        if let Some(chip) = which.target.filter(|c| !chips.contains(c)) {
            return Err(common::usage(format!("the fixture does not run on {chip}")));
        }
        let tests = loaded.fixture.tests.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
        if let Some(name) = which.test.as_ref().filter(|n| !tests.contains(n)) {
            let all = tests.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ");
            return Err(common::usage(format!("unknown test `{name}`; available: {all}")));
        }
        for chip in chips.into_iter().filter(|c| which.target.is_none_or(|t| t == *c)) {
            for (at, _) in
                tests.iter().enumerate().filter(|(_, n)| which.test.as_ref().is_none_or(|t| t == *n))
            {
                let mut simple = settings.clone();
                simple.options.debug.bisect_limit = Some(0);
                // What the simplest code takes says when another may be said to hang.
                let first = run(&loaded, at, chip, &simple);
                let mut limited = settings.clone();
                if first.failure.is_none() {
                    limited.step_limit = limited.step_limit.min((first.steps * 64).max(1 << 20));
                }
                let ended = run(&loaded, at, chip, &limited);
                if ended.failure == Some(Failure::Setup) {
                    // Whatever the compiler does, it cannot run.
                    return Err(common::fault(format!("{chip}, test `{}`: {}", tests[at], ended.why)));
                }
                if let Some(failure) = ended.failure {
                    let (why, step_limit, count) = (ended.why, limited.step_limit, Cell::new(2));
                    return Ok(Rerun { loaded, at, chip, failure, why, step_limit, count });
                }
            }
        }
        let what =
            which.test.as_ref().map_or("every test passes".to_string(), |t| format!("test `{t}` passes"));
        Err(common::fault_in(path, format!("{what}: there is nothing to look for")))
    }

    pub(crate) fn test(&self) -> &Test {
        &self.loaded.fixture.tests[self.at]
    }

    /// How many runs there were so far.
    pub(crate) fn count(&self) -> u32 {
        self.count.get()
    }

    /// Settings with the step limit of this test.
    pub(crate) fn settings(&self, settings: &Settings) -> Settings {
        Settings { step_limit: settings.step_limit.min(self.step_limit), ..settings.clone() }
    }

    /// Runs the test of another version of the fixture.
    pub(crate) fn run(&self, loaded: &Loaded, settings: &Settings) -> Ended {
        self.count.set(self.count.get() + 1);
        run(loaded, self.at, self.chip, &self.settings(settings))
    }

    /// Whether it fails as it did at first.
    pub(crate) fn fails_alike(&self, settings: &Settings) -> bool {
        self.alike(&self.run(&self.loaded, settings))
    }

    /// Whether a run ended as the first one did: in the same way, and of a refusal with the same words but numbers.
    pub(crate) fn alike(&self, ended: &Ended) -> bool {
        let words = |why: &str| -> String {
            let message = why.lines().find(|l| l.contains("error")).unwrap_or(why);
            message.chars().filter(|c| !c.is_ascii_digit()).take(200).collect()
        };
        ended.failure == Some(self.failure)
            && (self.failure != Failure::Compile || words(&ended.why) == words(&self.why))
    }
}

fn run(loaded: &Loaded, at: usize, chip: Chip, settings: &Settings) -> Ended {
    let mut ended = Ended { failure: None, why: String::new(), values: BTreeMap::new(), steps: 0 };
    let mut values = BTreeMap::new();
    let after = |test: &Test, env: &Env| {
        for (name, _) in test.buffers.iter().filter(|(_, b)| b.expect.is_some()) {
            if let Ok(bytes) = env.buffer(name).and_then(|b| env.read(&b)) {
                values.insert(name.clone(), bytes);
            }
        }
    };
    let backend = || Ok(Box::new(Emulator::default()) as Box<dyn Backend>);
    let mut next = 0..;
    let mut wanted = |_: &Test| next.next() == Some(at);
    let mut done = |r: nvir_fixture::TestReport| {
        ended.failure = r.failure;
        ended.steps = r.stats.warp_instructions;
        if let Outcome::Failed(why) = r.outcome {
            ended.why = why;
        }
    };
    loaded.run_each(&backend, chip, settings, &mut None, after, &mut wanted, &mut done);
    ended.values = values;
    ended
}
