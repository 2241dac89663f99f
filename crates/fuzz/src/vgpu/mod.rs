//! Mutants of recordings, executed: words, packets, lengths, addresses, arguments of calls, what stands in tables,
//! descriptors and code; and mutants of recordings as text. Whatever is done, each call gives a result, an error, or a
//! fault of its channel with place and reason, soon and in bounded memory.

mod client;
mod mutant;
mod seeds;
mod setups;
mod values;

use crate::mutation::mutate;
use crate::own_fault;
use crate::runner::Tally;
use mutant::Made;
use nvir::random::Random;
use nvir_vgpu::replay::{Options, replay};
use seeds::Seed;
use std::sync::OnceLock;

/// That no defect is told.
fn received(messages: &[String]) -> Result<(), String> {
    messages.iter().try_for_each(|m| own_fault(m))
}

fn seeds() -> &'static [Seed] {
    static ALL: OnceLock<Vec<Seed>> = OnceLock::new();
    ALL.get_or_init(seeds::all)
}

/// The seed of a case, what was made of it, and the generator to go on with.
type Case = (&'static Seed, Made, Random);

fn commands_made(case: u64) -> Case {
    let mut r = Random::of(0x636f_6d6d, case);
    let seeds = seeds();
    let (seed, other) = (r.below(seeds.len()), r.of_list(seeds));
    let made = mutant::make(&seeds[seed], other, &mut r);
    (&seeds[seed], made, r)
}

fn draws_made(case: u64) -> Case {
    static SCENES: OnceLock<Vec<Seed>> = OnceLock::new();
    let seeds = SCENES.get_or_init(seeds::scenes);
    let mut r = Random::of(0x6472_6177, case);
    let (seed, other) = (r.below(seeds.len()), r.of_list(seeds));
    let made = mutant::drawing(&seeds[seed], other, &mut r);
    (&seeds[seed], made, r)
}

/// What was done to which seed: what is executed is no text.
fn text_of((seed, made, _): Case) -> (Vec<u8>, &'static str) {
    (format!("{}\n{}\n", seed.name, made.done.join("\n")).into_bytes(), "commands")
}

fn execute((seed, made, mut r): Case, tally: &mut Tally) -> Result<(), String> {
    let outcome = client::run(seed.chip, &made.actions, &mut r)?;
    outcome.counts.iter().for_each(|what| tally.count(what));
    received(&outcome.messages).map_err(|why| format!("{why}\n{}\n{}", seed.name, made.done.join("\n")))
}

pub(crate) fn commands_input(case: u64) -> (Vec<u8>, &'static str) {
    text_of(commands_made(case))
}

pub(crate) fn commands(case: u64, tally: &mut Tally) -> Result<(), String> {
    execute(commands_made(case), tally)
}

pub(crate) fn draws_input(case: u64) -> (Vec<u8>, &'static str) {
    text_of(draws_made(case))
}

pub(crate) fn draws(case: u64, tally: &mut Tally) -> Result<(), String> {
    execute(draws_made(case), tally)
}

pub(crate) fn recording_input(case: u64) -> (Vec<u8>, &'static str) {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    let texts = TEXTS.get_or_init(seeds::texts);
    let mut r = Random::of(0x7265_636f, case);
    let (seed, other) = (r.of_list(texts), r.of_list(texts));
    let data = match r.below(8) {
        0 => mutate::bytes(seed.as_bytes(), other.as_bytes(), &mut r),
        _ => mutant::text(seed, other, &mut r).into_bytes(),
    };
    (data, "trace")
}

pub(crate) fn recording(case: u64, tally: &mut Tally) -> Result<(), String> {
    let options = Options {
        memory_limit: client::MEMORY,
        work_limit: Some(client::WORK),
        step_limit: Some(client::STEPS),
        ..Options::default()
    };
    let messages = match replay(&recording_input(case).0[..], options, &mut |_| {}) {
        Err(e) => vec![e.to_string()],
        Ok(report) => {
            tally.count("replayed");
            report.fault.into_iter().map(|(_, text)| text).collect()
        }
    };
    received(&messages)
}
