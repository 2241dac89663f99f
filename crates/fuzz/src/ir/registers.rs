//! Register allocation on random programs: its checker finds nothing, and the allocated program computes what the
//! program computes.

use super::{evaluated, visible};
use crate::runner::Tally;
use nvir::Chip;
use nvir::ir::{Phase, Program};
use nvir::ra::{self, Target};
use nvir::random::Random;
use nvir::verify;
use nvir_reference::allocated;
use nvir_reference::eval::Machine;
use nvir_reference::random::{self, Size};

const STEPS: u64 = 2_000_000;

fn program(case: u64) -> Program {
    let size = if case.is_multiple_of(2) { Size::SMALL } else { Size::LARGE };
    random::program(&mut Random::new(case), size)
}

pub(crate) fn input(case: u64) -> (Vec<u8>, &'static str) {
    super::listing(&program(case))
}

pub(crate) fn case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let p = program(case);
    let mut r = Random::of(0x7265_6773, case);
    verify::program(&p, Phase::Legal).map_err(|e| format!("{e}\n{p}"))?;
    let want = evaluated(&p, STEPS)?;
    let limit = *r.of_list(&[16, 18, 24, 32, 63, 255]);
    let target = Target {
        chip: if limit > 63 { Chip::Gk110 } else { Chip::Gf100 },
        gpr_limit: limit,
        threads: None,
        shared: 0,
        fewest: r.one_in(3),
        verify: true,
        through_memory: r.one_in(3),
    };
    let what = format!(
        "{limit} registers{}{}",
        if target.fewest { ", fewest" } else { "" },
        if target.through_memory { ", through memory" } else { "" }
    );
    let mut q = p.clone();
    let a = ra::allocate_program(&mut q, &target).map_err(|e| format!("{what}: {e}\n{p}"))?;
    if a.gprs > limit {
        return Err(format!("{what}: {} registers\n{p}", a.gprs));
    }
    let mut after = Machine::new(2 * STEPS);
    allocated::run(&q, &a, &mut after).map_err(|e| format!("{what}: simulation: {e}\n{p}"))?;
    if want != visible(&after) {
        return Err(format!("{what}: different results\n{p}"));
    }
    tally.count("compared");
    Ok(())
}
