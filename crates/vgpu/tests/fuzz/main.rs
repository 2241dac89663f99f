//! Mutants of recordings, executed: words, packets, lengths, addresses, arguments of calls, what stands in tables,
//! descriptors and code; and mutants of recordings as text. Whatever is done, each call gives a result, an error, or a
//! fault of its channel with place and reason, soon and in bounded memory.
//!
//! `NVIR_FUZZ_PROGRAMS=100000 NVIR_FUZZ_SEED=7 cargo test --release -p nvir-vgpu --test fuzz -- commands` makes as many; a mutant
//! depends on seed and number alone: `NVIR_FUZZ_FIRST=1234 NVIR_FUZZ_PROGRAMS=1` makes that one again, and says what was
//! done to its seed; `NVIR_FUZZ_MESSAGES=1` prints what the calls answered. What else the variables do: `tests/fuzz` of the root package, whose campaigns these are.

#[path = "../../../../tests/fuzz/campaign.rs"]
mod campaign;
mod client;
mod mutant;
#[path = "../../../../tests/fuzz/mutate.rs"]
#[allow(dead_code)] // Text is for those with a grammar.
mod mutate;
mod seeds;
mod setups;
mod values;

use campaign::{Campaign, Mutant, Tally};
use mutate::Random;
use nvir_vgpu::replay::{Options, replay};
use std::cell::RefCell;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// What a mutant may take; a build without optimisation gets more.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 2 });

/// Processor time of this thread, or where the system does not tell, time since the process began.
fn now() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    campaign::cpu_time(&campaign::this_thread()).unwrap_or_else(|| START.elapsed())
}

/// That no defect is told, and that it did not take too long.
fn received(started: Duration, messages: &[String]) -> Result<(), String> {
    if let Some(m) = messages.iter().find(|m| m.contains("bug in nvir") || m.contains("internal error")) {
        return Err(m.clone());
    }
    let took = now().saturating_sub(started);
    if took > TIME { Err(format!("it takes {} s", took.as_secs())) } else { Ok(()) }
}

#[test]
fn commands() {
    let seeds = seeds::all();
    // What the last mutant is made of: the campaign keeps its text only.
    let last = RefCell::new(None);
    let make = |r: &mut Random| {
        let (seed, other) = (r.below(seeds.len()), r.of_list(&seeds));
        let made = mutant::make(&seeds[seed], other, r);
        let data = format!("{}\n{}", seeds[seed].name, made.done.join("\n")).into_bytes();
        *last.borrow_mut() = Some(made);
        Mutant { seed, data }
    };
    let test = |mutant: &Mutant, r: &mut Random, tally: &mut Tally| {
        let made = last.borrow_mut().take().expect("made before");
        let started = now();
        let outcome = client::run(seeds[mutant.seed].chip, &made.actions, r)?;
        if std::env::var_os("NVIR_FUZZ_MESSAGES").is_some() {
            println!("{}\n{}", mutant.text(), outcome.messages.join("\n"));
        }
        outcome.counts.iter().for_each(|what| tally.count(what));
        received(started, &outcome.messages).map_err(|why| format!("{why}\n{}", mutant.text()))
    };
    Campaign { format: "commands", count: 300, reaches: "more than one submission" }.run(make, test);
}

#[test]
fn recordings() {
    let texts = seeds::texts();
    let make = |r: &mut Random| {
        let (seed, other) = (r.below(texts.len()), r.below(texts.len()));
        let data = match r.below(8) {
            0 => mutate::bytes(texts[seed].as_bytes(), texts[other].as_bytes(), r),
            _ => mutant::text(&texts[seed], &texts[other], r).into_bytes(),
        };
        Mutant { seed, data }
    };
    let test = |mutant: &Mutant, _: &mut Random, tally: &mut Tally| {
        let mut options = Options { memory_limit: client::MEMORY, ..Options::default() };
        options.work_limit = Some(client::WORK);
        options.step_limit = Some(client::STEPS);
        let started = now();
        let messages = match replay(&mutant.data[..], options, &mut |_| {}) {
            Err(e) => vec![e.to_string()],
            Ok(report) => {
                tally.count("replayed");
                report.fault.into_iter().map(|(_, text)| text).collect()
            }
        };
        received(started, &messages)
    };
    Campaign { format: "recording", count: 60, reaches: "replayed" }.run(make, test);
}
