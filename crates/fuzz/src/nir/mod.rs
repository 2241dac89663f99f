//! Random NIR: what the compiler makes of it computes what the host's arithmetic says.
//!
//! `generate` makes a `program::Program`, which is printed in either form that Mesa's versions print, and evaluated thread by
//! thread with `host`. Where an opcode leaves a result open (a function of the machine, a quotient by zero, a NaN's bits)
//! what follows from it is not compared.

mod generate;
pub mod host;
pub mod opcodes;
mod program;

use crate::compared;
use crate::config::Config;
use crate::runner::Tally;
use nvir::random::Random;
use nvir_reference::softmath::operands::operand;
use program::{Form, Program};

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
    let per = program.outputs.len();
    let fixture = compared::fixture("case.nir", &inputs, program::THREADS, want.len(), None);
    compared::run(&fixture, text.as_bytes(), &want, per, &Config::of_kernel(&mut r))
        .map_err(|why| format!("{why}\n{text}"))?;
    if want.iter().flatten().count() * 4 >= want.len() {
        tally.count("compared");
    }
    Ok(())
}
