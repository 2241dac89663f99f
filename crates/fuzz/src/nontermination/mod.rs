//! Code that never comes back, in every place: endless loops, ends of threads and returns in arms, loops, switches and
//! subroutines, behind conditions that nobody finds to hold, that some do, or all.
//!
//! A case is a `tree::Tree`, printed as TGSI, NIR or IR (`text`), compiled for every chip and compared with an evaluator that
//! runs the lanes of a warp together as constructs say (`tree::evaluate`). Ballots stand anywhere, so a join that is reached
//! by fewer lanes at a time than get there shows in the values; barriers are reached converged, which the emulator checks;
//! the divergence stack stays as deep as constructs nest. What does not end does not end anywhere: not in the emulator, nor in
//! TGSI's interpreter.

mod text;
mod tree;

use crate::config::Config;
use crate::runner::Tally;
use arbitrary::Unstructured;
use nvir::emu::FaultKind;
use nvir::random::Random;
use nvir_fixture::run::{Failure, Loaded};
use nvir_fixture::{Fixture, Outcome};
use std::path::Path;
use tree::{Allowed, Hangs, Tree};

const THREADS: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Tgsi,
    Nir,
    Ir,
}

impl Language {
    fn ending(self) -> &'static str {
        match self {
            Language::Tgsi => "tgsi",
            Language::Nir => "nir",
            Language::Ir => "ir",
        }
    }

    fn print(self, tree: &Tree) -> String {
        match self {
            Language::Tgsi => text::tgsi(tree),
            Language::Nir => text::nir(tree),
            Language::Ir => text::ir(tree),
        }
    }

    fn allows(self, case: u64) -> Allowed {
        Allowed {
            switch: self == Language::Tgsi,
            subs: self != Language::Nir,
            dead: self != Language::Nir,
            ballots: !case.is_multiple_of(4),
            nested_ballots: case % 2 == 1,
        }
    }
}

struct Case {
    language: Language,
    tree: Tree,
    allowed: Allowed,
    r: Random,
}

impl Case {
    fn new(language: Language, case: u64) -> Case {
        let mut r = Random::of(0x656e_6400 + language as u64, case);
        let bytes = r.decisions();
        let allowed = language.allows(case);
        let tree = tree::tree(&mut Unstructured::new(&bytes), allowed).unwrap_or_default();
        Case { language, tree, allowed, r }
    }

    fn text(&self) -> String {
        self.language.print(&self.tree)
    }

    /// What is in the buffer afterwards.
    fn want(&self) -> Result<Vec<u32>, Hangs> {
        // Who has ended has stored nothing.
        Ok(tree::evaluate(&self.tree)?.into_iter().map(|r| r.unwrap_or(1)).collect())
    }

    fn run(mut self, tally: &mut Tally) -> Result<(), String> {
        let (text, want) = (self.text(), self.want());
        let stack = tree::nesting(&self.tree) as u64;
        let loaded = loaded(self.language, &text)?;
        for mut config in Config::of_kernel(&mut self.r) {
            config.settings.profile = true;
            if want.is_err() {
                config.settings.step_limit = 1 << 16;
            }
            compiled(&loaded, &config, &want, stack).map_err(|why| format!("{config}: {why}\n{text}"))?;
        }
        // Which lanes the interpreter has together in a loop is not what constructs say.
        if self.language == Language::Tgsi && !self.allowed.nested_ballots {
            interpreted(&loaded, &want).map_err(|why| format!("interpreted: {why}\n{text}"))?;
        }
        tally.count(if want.is_ok() { "ended" } else { "hung" });
        Ok(())
    }
}

fn loaded(language: Language, text: &str) -> Result<Loaded, String> {
    let ending = language.ending();
    let json = format!(
        r#"{{"source":"case.{ending}","tests":[{{"name":"case","grid":[1,1,1],"block":[{THREADS},1,1],"ssbo":{{"0":"x","1":"zero"}},
        "buffers":{{"x":{{"type":"u32","len":{THREADS},"init":{{"fill":1}}}},"zero":{{"type":"u32","len":4,"init":{{"fill":0}}}}}}}}]}}"#
    );
    let path = Path::new("case.json");
    let fixture = Fixture::parse(path, &json).map_err(|e| e.to_string())?;
    Loaded::new(path, fixture, text.as_bytes().to_vec()).map_err(|e| e.to_string())
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

/// What is wrong with the compiled program: its values, that it ends or does not, or more than `stack` entries on the stack.
fn compiled(
    loaded: &Loaded,
    config: &Config,
    want: &Result<Vec<u32>, Hangs>,
    stack: u64,
) -> Result<(), String> {
    let mut left = Vec::new();
    let reports = loaded.run(config.chip, None, &config.settings, &mut None, |_, env| {
        left = words(&env.read(&env.buffers["x"]).expect("it is mapped"));
    });
    let report = reports.first().ok_or("nothing ran")?;
    let want = match (&report.outcome, report.failure, want) {
        (_, Some(Failure::Fault(Some(FaultKind::StepLimit))), Err(Hangs)) => return Ok(()),
        (Outcome::Failed(why) | Outcome::Skipped(why), ..) => return Err(why.clone()),
        (Outcome::Passed, _, Err(Hangs)) => return Err("it ends, and should not".into()),
        (Outcome::Passed, _, Ok(want)) => want,
    };
    if let Some(n) = (0..THREADS).find(|&n| left.get(n) != want.get(n)) {
        return Err(format!("thread {n}: {:#x}, not {:#x}", left[n], want[n]));
    }
    let profile = report.stats.profile.as_ref().ok_or("no profile")?;
    let most = profile.by_pc.values().map(|p| p.stack).max().unwrap_or(0);
    if most > stack { Err(format!("{most} entries on the stack, {stack} at most")) } else { Ok(()) }
}

/// The same of TGSI under its interpreter.
fn interpreted(loaded: &Loaded, want: &Result<Vec<u32>, Hangs>) -> Result<(), String> {
    let mut left = Vec::new();
    let limit = if want.is_err() { 1 << 18 } else { 1 << 24 };
    let reports = loaded.interpret(None, limit, |_, env| {
        left = words(&env.read(&env.buffers["x"]).expect("it is mapped"));
    });
    match (reports.first().map(|r| &r.1), want) {
        (Some(Outcome::Failed(why)), Err(Hangs)) if why.contains("runs too long") => Ok(()),
        (Some(Outcome::Failed(why)), _) => Err(why.clone()),
        (_, Err(Hangs)) => Err("it ends, and should not".into()),
        (_, Ok(want)) if left == *want => Ok(()),
        _ => Err("other values".into()),
    }
}

pub(crate) fn tgsi(case: u64, tally: &mut Tally) -> Result<(), String> {
    Case::new(Language::Tgsi, case).run(tally)
}

pub(crate) fn tgsi_input(case: u64) -> (Vec<u8>, &'static str) {
    (Case::new(Language::Tgsi, case).text().into_bytes(), "tgsi")
}

pub(crate) fn nir(case: u64, tally: &mut Tally) -> Result<(), String> {
    Case::new(Language::Nir, case).run(tally)
}

pub(crate) fn nir_input(case: u64) -> (Vec<u8>, &'static str) {
    (Case::new(Language::Nir, case).text().into_bytes(), "nir")
}

pub(crate) fn ir(case: u64, tally: &mut Tally) -> Result<(), String> {
    Case::new(Language::Ir, case).run(tally)
}

pub(crate) fn ir_input(case: u64) -> (Vec<u8>, &'static str) {
    (Case::new(Language::Ir, case).text().into_bytes(), "ir")
}
