//! Random SPIR-V modules: what the compiler makes of them computes what the tree that they were made of says.
//!
//! `generate` makes a `program::Program`: integers of all widths, vectors, arrays, structures, selections, switches that fall through,
//! loops, functions that return early and get pointers, shared memory, atomics there and in buffers, operations of subgroups; kernels
//! with addresses, generic pointers and local arguments. Each is compiled for one chip in one way. `module` writes it as words,
//! and `program` evaluates it.

mod generate;
mod module;
mod program;

use crate::compared;
use crate::config::Config;
use crate::runner::Tally;
use nvir::random::Random;
use nvir_reference::softmath::operands::operand;

fn made(case: u64) -> (program::Program, Random) {
    let mut r = Random::of(0x7370_6972, case);
    let program = generate::program(&mut r);
    (program, r)
}

fn bytes(program: &program::Program) -> Vec<u8> {
    module::words(program).iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// The input of a case.
pub(crate) fn input(case: u64) -> (Vec<u8>, &'static str) {
    (bytes(&made(case).0), "spv")
}

/// Makes a case and tries it.
pub(crate) fn case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (program, mut r) = made(case);
    let inputs: Vec<u64> =
        (0..program::THREADS * program::INPUTS).map(|_| operand(&mut r, 'i', 64)).collect();
    let Some(want) = program.evaluate(&inputs) else { return Ok(()) };
    let want: Vec<Option<u64>> = want.into_iter().map(Some).collect();
    let source = bytes(&program);
    let kernel = program.setting == program::Setting::Kernel;
    let shared = kernel.then_some(4 * program::THREADS);
    let fixture = compared::fixture("case.spv", &inputs, program::THREADS, want.len(), shared);
    // Programs differ more than ways to compile one of them do.
    let configs = Config::of_kernel(&mut r);
    let one = r.below(configs.len());
    compared::run(&fixture, &source, &want, program::OUTPUTS, &configs[one..=one])?;
    tally.count("compared");
    Ok(())
}
