//! Random IR ([`nvir_reference::random`]): passes, register allocation and machine code against the evaluator.

pub(crate) mod kernel;
pub(crate) mod passes;
pub(crate) mod registers;

use nvir::Chip;
use nvir::ir::{Program, Space};
use nvir::random::Random;
use nvir_reference::eval::{self, Machine};
use nvir_reference::random::{self, Size};

/// What a program left in memory that is not its own private, by address.
type Words = Vec<((Space, u64), u32)>;

fn visible(m: &Machine) -> Words {
    let mut words: Words = m.words.iter().filter(|w| w.0.0 != Space::Local).map(|(&k, &x)| (k, x)).collect();
    words.sort_unstable_by_key(|w| (w.0.1, w.0.0));
    words
}

/// What a program leaves, in at most so many steps.
fn evaluated(p: &Program, steps: u64) -> Result<Words, String> {
    let mut m = Machine::new(steps);
    eval::run(p, &mut m).map_err(|e| format!("evaluation: {e}\n{p}"))?;
    Ok(visible(&m))
}

fn chip(case: u64) -> Chip {
    Chip::ALL[case as usize % Chip::ALL.len()]
}

/// The case's program in the first phase.
fn front_program(case: u64) -> Program {
    let size = Size { statements: 10 + (case % 5) as u32 * 10, ..Size::SMALL };
    random::front_program(&mut Random::new(case), size)
}

fn listing(p: &Program) -> (Vec<u8>, &'static str) {
    (p.to_string().into_bytes(), "ir")
}
