//! Register allocation on random programs: its checker finds nothing, and the allocated program computes what the
//! program computes.
//!
//! `RA_PROGRAMS` sets how many programs each test takes (default 400), `RA_SEED` the first one's number.

use nvir::Chip;
use nvir::ir::Phase;
use nvir::ir::{Program, Space};
use nvir::ra::{self, Target};
use nvir::reference::allocated;
use nvir::reference::eval::{self, Machine};
use nvir::reference::random::{self, Seed, Size};
use nvir::verify;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

const STEPS: u64 = 2_000_000;

/// What a program leaves in memory that is not its own private.
fn visible(m: &Machine) -> Vec<((Space, u64), u32)> {
    let mut words: Vec<_> = m.words.iter().filter(|w| w.0.0 != Space::Local).map(|(&k, &x)| (k, x)).collect();
    words.sort_unstable_by_key(|w| (w.0.1, w.0.0));
    words
}

fn check(p: &Program, limit: u32, through_memory: bool, fewest: bool, what: &str) {
    let mut machine = Machine::new(STEPS);
    eval::run(p, &mut machine).unwrap_or_else(|e| panic!("{what}: evaluation: {e}"));
    let mut q = p.clone();
    let chip = if limit > 63 { Chip::Gk110 } else { Chip::Gf100 };
    let target =
        Target { chip, gpr_limit: limit, most_warps: u32::MAX, fewest, verify: true, through_memory };
    let a = ra::allocate_program(&mut q, &target).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(a.gprs <= limit, "{what}: {} registers", a.gprs);
    let mut after = Machine::new(2 * STEPS);
    allocated::run(&q, &a, &mut after).unwrap_or_else(|e| panic!("{what}: simulation: {e}"));
    assert!(visible(&machine) == visible(&after), "{what}: different results");
}

fn run(size: Size, limits: &[u32], through_memory: bool) {
    let (first, count) = (number("RA_SEED", 0), number("RA_PROGRAMS", 400));
    for seed in first..first + count {
        let p = random::program(&mut Seed::new(seed), size);
        if let Err(e) = verify::program(&p, Phase::Legal) {
            panic!("seed {seed}: {e}\n{p}");
        }
        let limit = limits[seed as usize % limits.len()];
        check(&p, limit, through_memory, seed % 3 == 0, &format!("seed {seed}, {size:?}, {limit} registers"));
    }
}

#[test]
fn small_programs_keep_their_results() {
    run(Size::SMALL, &[16, 18, 24, 63], false);
}

#[test]
fn large_programs_keep_their_results() {
    run(Size::LARGE, &[16, 255, 18, 63, 24, 32], false);
}

#[test]
fn programs_whose_values_cross_blocks_in_memory_keep_their_results() {
    run(Size::SMALL, &[16, 18, 24, 63], true);
    run(Size::LARGE, &[16, 255, 18, 63, 24, 32], true);
}
