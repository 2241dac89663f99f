//! Random machine code, compiled once and launched many times: other values, partial warps, grids, constants, clocks and limits
//! each time. Each launch is executed by the interpreter, by compiled code alone, and block by block by both.

mod programs;

use crate::runner::Tally;
use nvir::Chip;
use nvir::emu::engine::{Engine, Interpreter, Lockstep};
use nvir::emu::{Launch, Memory, Options, Program};
use nvir::random::Random;
use nvir_emu_jit::Compiled;

/// Launches of a program. Compiling it takes the time of a hundred.
const LAUNCHES: usize = 256;

/// What a launch reads: hard values, and among them what makes predicates and flags.
fn values(r: &mut Random, count: usize) -> Vec<u32> {
    const HARD: [u32; 20] = [
        0,
        1,
        5,
        31,
        32,
        33,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        0xffff_fffe,
        0x7fff_ffff,
        0x0000_0400,
        0x8000_0001,
        0x0080_0000,
        0x8000_0000,
        0x3f80_0000,
        0x4f00_0000,
        0xcf00_0000,
        0x007f_ffff,
        u32::MAX,
    ];
    (0..count)
        .map(|_| match r.below(4) {
            0 | 1 => HARD[r.below(HARD.len())],
            2 => r.word() as u32,
            // A float of moderate size.
            _ => r.word() as u32 & 0x87ff_ffff | 0x3800_0000,
        })
        .collect()
}

/// Threads of a block, at most 64, and of them at most 64 along the first axis.
const BLOCKS: [[u32; 3]; 9] =
    [[32, 1, 1], [32, 1, 1], [64, 1, 1], [45, 1, 1], [13, 1, 1], [1, 1, 1], [8, 8, 1], [5, 3, 2], [33, 1, 1]];

/// What one launch is given.
struct Input {
    block: [u32; 3],
    grid: [u32; 3],
    data: Vec<u32>,
    bank: Vec<u8>,
    clock: u64,
    limit: u64,
}

impl Input {
    fn random(r: &mut Random) -> Input {
        let size = r.pick(&[1024, 1024, 1024, 800, 500]);
        Input {
            block: r.pick(&BLOCKS),
            grid: r.pick(&[[1, 1, 1], [1, 1, 1], [2, 1, 1], [1, 2, 2]]),
            data: values(r, size),
            bank: values(r, 256).iter().flat_map(|w| w.to_le_bytes()).collect(),
            clock: r.pick(&[0, 0xffff_fff0, u64::MAX - 100]),
            limit: if r.one_in(8) { r.below(1000u64) } else { 20_000 },
        }
    }
}

/// How a launch ends, and its buffer afterwards.
type Ended = (Result<(u64, u64), String>, Vec<u32>);

/// What executes a launch, on how many threads of the host.
type How<'e> = (Option<&'e dyn Engine>, usize);

fn launch(program: &Program, gprs: u32, input: &Input, (engine, threads): How<'_>) -> Ended {
    let mut memory = Memory::new();
    let buffer = memory.alloc(4 * input.data.len() as u64, 64).expect("it fits");
    memory.write_words(buffer, &input.data).expect("it fits");
    let mut launch = Launch::new(program);
    (launch.block, launch.grid, launch.clock) = (input.block, input.grid, input.clock);
    (launch.gprs, launch.shared_bytes, launch.local_bytes) = (gprs, 1024, 64);
    launch.zero_beyond_banks = true;
    launch.set_const(0, 0, &input.bank);
    launch.set_const(0, 0, &buffer.to_le_bytes());
    let mut options = Options { engine, step_limit: input.limit, threads, ..Options::default() };
    let ended = nvir::emu::run(&launch, &mut memory, &mut options);
    let mut words = vec![0; input.data.len()];
    memory.read_words(buffer, &mut words).expect("it is there");
    (ended.map(|s| (s.warp_instructions, s.thread_instructions)).map_err(|f| f.to_string()), words)
}

fn made(case: u64) -> (programs::Made, Random) {
    let mut r = Random::of(0x6c61_756e, case);
    let chip = Chip::ALL[(case % 3) as usize];
    let made = match case / 3 % 3 {
        0 => {
            let count = r.pick(&[1, 4, 12, 30]);
            programs::instructions(&mut r, chip, count)
        }
        1 => programs::flow(&mut r, chip),
        _ => programs::accesses(&mut r, chip),
    };
    (made, r)
}

pub(crate) fn input(case: u64) -> (Vec<u8>, &'static str) {
    (made(case).0.1.join("\n").into_bytes(), "sass")
}

pub(crate) fn case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (made, mut r) = made(case);
    compare(&made, &mut r, tally)
}

/// Launches a program with random inputs; the first difference.
fn compare((program, text): &programs::Made, r: &mut Random, tally: &mut Tally) -> Result<(), String> {
    // Lockstep compares all registers: no more than the code names.
    let gprs = program.decoded().instructions().iter().map(|i| i.gprs()).max().unwrap_or(0).max(1);
    let lockstep = Lockstep::new(&Compiled::Exact, &Interpreter);
    for n in 0..LAUNCHES {
        let input = Input::random(r);
        let want = launch(program, gprs, &input, (None, 1));
        let all: [(&str, &dyn Engine, usize); 3] = [
            ("lockstep", &lockstep, 1),
            ("alone", &Compiled::Eager, 1),
            ("two threads", &Compiled::Eager, 2),
        ];
        // Threads take longer to make than a launch.
        for (what, engine, threads) in &all[..if n == 0 { 3 } else { 2 }] {
            let got = launch(program, gprs, &input, (Some(*engine), *threads));
            if got != want {
                let differs = (0..input.data.len()).find(|&i| got.1[i] != want.1[i]);
                let Input { block, grid, limit, .. } = &input;
                return Err(format!(
                    "{}, launch {n} ({grid:?} blocks of {block:?}, limit {limit}), {what}: {:?}, not {:?}; word {differs:?}\n{}",
                    program.chip(),
                    got.0,
                    want.0,
                    text.join("\n")
                ));
            }
        }
        tally.count("launches");
        tally.count(if want.0.is_ok() { "ended" } else { "at fault" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_that_changes_its_guard_is_counted_for_those_that_executed_it() {
        for line in ["@P5 R2P PR, R0, 0x7f", "@P5 SHFL.IDX P5, R1, R0, 0x5, R0", "@P5 VOTE.ANY R1, P5, P0"] {
            let lines = ["S2R R0, SR_LANEID", "ISETP.LT.AND P5, PT, R0, 0x10, PT", line, "EXIT"];
            let made = programs::of_lines(Chip::Gk110, &lines);
            let compared = compare(&made, &mut Random::new(0), &mut Tally::default());
            assert_eq!(compared, Ok(()), "{line}");
        }
    }
}
