//! Code that never comes back in every place: endless loops, ends of threads and returns in arms, loops, switches and
//! subroutines, behind conditions that nobody finds to hold, that some do, or all. In TGSI, NIR and IR, on every chip and level, verified
//! after each pass: the values are those of an evaluator that runs the lanes of a warp together as constructs say, ballots
//! anywhere among them (so that no join is reached by fewer lanes at a time than get there); barriers are reached converged; the stack
//! stays as deep as constructs nest. What does not end does not end anywhere.
//!
//! `NVIR_PROGRAMS=2000 cargo test --release --test endless_random` tries more.

mod text;
mod tree;

use arbtest::arbtest;
use nvir::Chip;
use nvir::compiler::{DebugOptions, OptLevel, Options};
use nvir::emu::Checks;
use nvir::fixture::run::{Failure, Loaded, Settings};
use nvir::fixture::{Fixture, Outcome};
use std::path::Path;
use tree::{Allowed, Hangs, Tree};

const THREADS: usize = 64;

fn loaded(name: &str, text: &str) -> Loaded {
    let json = format!(
        r#"{{"source":"{name}","tests":[{{"name":"case","grid":[1,1,1],"block":[{THREADS},1,1],"ssbo":{{"0":"x","1":"zero"}},
        "buffers":{{"x":{{"type":"u32","len":{THREADS},"init":{{"fill":1}}}},"zero":{{"type":"u32","len":4,"init":{{"fill":0}}}}}}}}]}}"#
    );
    let fixture = Fixture::parse(Path::new("case.json"), &json).expect("a fixture");
    Loaded::new(Path::new("case.json"), fixture, text.as_bytes().to_vec()).expect("nothing is missing")
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

/// Holds one program against what the evaluator says.
struct Case<'a> {
    name: &'a str,
    text: String,
    want: Result<Vec<u32>, Hangs>,
    /// Entries on the divergence stack at most.
    stack: u64,
}

impl Case<'_> {
    fn compare(&self) -> Result<(), String> {
        for chip in Chip::ALL {
            for opt_level in OptLevel::ALL {
                self.on(chip, opt_level).map_err(|why| format!("{chip} -O{opt_level}: {why}"))?;
            }
        }
        Ok(())
    }

    fn on(&self, chip: Chip, opt_level: OptLevel) -> Result<(), String> {
        let settings = Settings {
            options: Options { debug: DebugOptions::verifying(), ..Options::at(opt_level) },
            step_limit: if self.want.is_err() { 1 << 16 } else { 1 << 22 },
            checks: Checks { sync: true, ..Checks::default() },
            profile: true,
            ..Settings::default()
        };
        let mut left = Vec::new();
        let reports = loaded(self.name, &self.text).run(chip, None, &settings, &mut None, |_, env| {
            left = words(&env.read(&env.buffers["x"]).expect("it is mapped"));
        });
        let report = &reports[0];
        let want = match (&report.outcome, report.failure, &self.want) {
            (_, Some(Failure::Fault(Some(nvir::emu::FaultKind::StepLimit))), Err(Hangs)) => return Ok(()),
            (Outcome::Failed(why) | Outcome::Skipped(why), ..) => return Err(why.clone()),
            (Outcome::Passed, _, Err(Hangs)) => return Err("it ends, and should not".into()),
            (Outcome::Passed, _, Ok(want)) => want,
        };
        if let Some(n) = (0..THREADS).find(|&n| left[n] != want[n]) {
            return Err(format!("thread {n}: {:#x}, not {:#x}", left[n], want[n]));
        }
        let profile = report.stats.profile.as_ref().ok_or("no profile")?;
        let stack = profile.by_pc.values().map(|p| p.stack).max().unwrap_or(0);
        match stack > self.stack {
            true => Err(format!("{stack} entries on the stack, {} at most", self.stack)),
            false => Ok(()),
        }
    }

    /// What the interpreter says, of TGSI.
    fn interpreted(&self) -> Result<(), String> {
        let mut left = Vec::new();
        let limit = if self.want.is_err() { 1 << 18 } else { 1 << 24 };
        let reports = loaded(self.name, &self.text).interpret(None, limit, |_, env| {
            left = words(&env.read(&env.buffers["x"]).expect("it is mapped"));
        });
        match (&reports[0].1, &self.want) {
            (Outcome::Failed(why), Err(Hangs)) if why.contains("step limit") || why.contains("too long") => {
                Ok(())
            }
            (Outcome::Failed(why), _) => Err(format!("interpreted: {why}")),
            (_, Err(Hangs)) => Err("interpreted: it ends, and should not".into()),
            (_, Ok(want)) if left == *want => Ok(()),
            _ => Err("interpreted: other values".into()),
        }
    }
}

fn want(tree: &Tree) -> Result<Vec<u32>, Hangs> {
    // Who has ended has stored nothing.
    Ok(tree::evaluate(tree)?.into_iter().map(|r| r.unwrap_or(1)).collect())
}

/// Tries so many trees in one language.
fn campaign(name: &'static str, allowed: Allowed, print: fn(&Tree) -> String, salt: u64) {
    let programs = std::env::var("NVIR_PROGRAMS").ok().and_then(|s| s.parse().ok()).unwrap_or(50u64);
    let (mut ended, mut hung) = (0, 0);
    for n in 0..programs {
        arbtest(|u| {
            let allowed = Allowed { nested_ballots: n % 2 == 1, ballots: n % 4 != 0, ..allowed };
            let tree = tree::tree(u, allowed)?;
            let case =
                Case { name, text: print(&tree), want: want(&tree), stack: tree::nesting(&tree) as u64 };
            *(if case.want.is_ok() { &mut ended } else { &mut hung }) += 1;
            let mut result = case.compare();
            // Which lanes the interpreter has together in a loop is not what constructs say.
            if result.is_ok() && name.ends_with(".tgsi") && !allowed.nested_ballots {
                result = case.interpreted();
            }
            if let Err(why) = result {
                panic!("{why}\n{}", case.text);
            }
            Ok(())
        })
        .seed(n << 32 | 2048 | salt)
        .run();
    }
    assert!(
        ended * 2 > programs && (programs < 40 || hung > 0),
        "{ended} of {programs} programs end, {hung} hang"
    );
}

const ALL: Allowed = Allowed { switch: true, subs: true, ballots: true, nested_ballots: true, dead: true };

#[test]
fn tgsi() {
    campaign("case.tgsi", ALL, text::tgsi, 1);
}

#[test]
fn nir() {
    campaign("case.nir", Allowed { switch: false, subs: false, dead: false, ..ALL }, text::nir, 2);
}

#[test]
fn ir() {
    campaign("case.ir", Allowed { switch: false, ..ALL }, text::ir, 3);
}
