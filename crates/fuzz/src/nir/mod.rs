//! Random NIR: what the compiler makes of it computes what the host's arithmetic says.
//!
//! `generate` makes a `program::Program`, which is printed in either form that Mesa's versions print, and evaluated thread by
//! thread with `host`. Where an opcode leaves a result open (a function of the machine, a quotient by zero, a NaN's bits)
//! what follows from it is not compared.

mod generate;
pub mod host;
pub mod opcodes;
mod program;

use crate::config::Config;
use crate::runner::Tally;
use nvir::random::Random;
use nvir_fixture::run::Loaded;
use nvir_fixture::{Fixture, Outcome};
use nvir_reference::softmath::operands::operand;
use program::{Form, Program};
use std::fmt::Write;
use std::path::Path;

fn made(case: u64) -> (Program, Form, Random) {
    let mut r = Random::of(0x6e69_7200, case);
    let form = *r.of_list(&[Form::Old, Form::New]);
    let program = generate::program(&mut r);
    (program, form, r)
}

/// The input of a case.
pub fn input(case: u64) -> (Vec<u8>, &'static str) {
    let (program, form, _) = made(case);
    (program.text(form).into_bytes(), "nir")
}

/// The launch: inputs of each thread one behind the other in storage buffer 0, results in buffer 1.
fn fixture(inputs: &[u64], program: &Program) -> Fixture {
    let words = inputs.iter().flat_map(|x| [*x as u32, (x >> 32) as u32]);
    let list = words.map(|w| w.to_string()).collect::<Vec<_>>().join(",");
    let length = program.outputs.len() * program::THREADS * 2;
    let mut json = String::new();
    let _ = write!(
        json,
        "{{\"source\":\"case.nir\",\"tests\":[{{\"name\":\"case\",\"grid\":[1,1,1],\"block\":[{},1,1],\
         \"ssbo\":{{\"0\":\"in\",\"1\":\"out\"}},\"buffers\":{{\"in\":{{\"type\":\"u32\",\"len\":{},\"init\":[{list}]}},\
         \"out\":{{\"type\":\"u32\",\"len\":{length}}}}}}}]}}",
        program::THREADS,
        2 * inputs.len()
    );
    Fixture::parse(Path::new("case.json"), &json).expect("a fixture")
}

/// Why the compiled program does not leave what is wanted.
fn difference(fixture: &Fixture, text: &str, want: &[Option<u64>], config: &Config) -> Option<String> {
    let loaded = Loaded::new(Path::new("case.json"), fixture.clone(), text.as_bytes().to_vec());
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(e) => return Some(e.to_string()),
    };
    let mut left = Vec::new();
    let reports = loaded.run(config.chip, None, &config.settings, &mut None, |_, env| {
        left = env.read(&env.buffers["out"]).expect("it is mapped");
    });
    if let Some(Outcome::Failed(why)) = reports.into_iter().next().map(|r| r.outcome) {
        return Some(why);
    }
    let per = want.len() / program::THREADS;
    want.iter().zip(left.chunks_exact(8)).enumerate().find_map(|(n, (want, got))| {
        let got = u64::from_le_bytes(got.try_into().expect("eight bytes"));
        let want = (*want)?;
        (got != want)
            .then(|| format!("thread {}, result {}: {got:#x}, the host says {want:#x}", n / per, n % per))
    })
}

/// Makes a case and tries it.
pub fn case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (program, form, mut r) = made(case);
    let inputs: Vec<u64> = (0..program::THREADS * program::INPUTS)
        .map(|n| operand(&mut r, if n % 3 == 0 { 'f' } else { 'i' }, if n % 3 == 0 { 32 } else { 64 }))
        .collect();
    let mut want = Vec::new();
    for thread in 0..program::THREADS {
        let own = &inputs[thread * program::INPUTS..(thread + 1) * program::INPUTS];
        // A branch on what is open says nothing.
        let Some(results) = program.evaluate(thread as u64, own) else { return Ok(()) };
        want.extend(results);
    }
    let text = program.text(form);
    let fixture = fixture(&inputs, &program);
    for config in Config::of_kernel(&mut r) {
        let Some(why) = difference(&fixture, &text, &want, &config) else { continue };
        let pass = (0..400).find(|&n| {
            let mut limited = config.clone();
            limited.settings.options.debug.bisect_limit = Some(n);
            difference(&fixture, &text, &want, &limited).is_some()
        });
        return Err(format!("{config}: {why}\nfirst wrong with --bisect-limit {pass:?}\n{text}"));
    }
    if want.iter().flatten().count() * 4 >= want.len() {
        tally.count("compared");
    }
    Ok(())
}
