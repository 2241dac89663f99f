//! Passes on random programs: every single pass, and every prefix of the pipeline with its lowering, keeps what a program
//! computes.

use super::{Words, chip, evaluated};
use crate::runner::Tally;
use nvir::compiler::Options;
use nvir::driver::Abi;
use nvir::ir::{Phase, Program};
use nvir::opt::{self, Session, Stage};
use nvir::{lower, verify};

const STEPS: u64 = 1_000_000;

fn is_nan(x: u32) -> bool {
    f32::from_bits(x).is_nan()
}

/// Whether a program leaves what is wanted. Which NaN a result is does not count.
fn same(want: &Words, p: &Program, before: &Program, what: &str) -> Result<(), String> {
    let got = evaluated(p, STEPS).map_err(|e| format!("{what}: {e}"))?;
    let equal = |a: &((nvir::ir::Space, u64), u32), b: &((nvir::ir::Space, u64), u32)| {
        a.0 == b.0 && (a.1 == b.1 || is_nan(a.1) && is_nan(b.1))
    };
    if want.len() == got.len() && want.iter().zip(&got).all(|(a, b)| equal(a, b)) {
        return Ok(());
    }
    let first = want.iter().zip(&got).find(|(a, b)| !equal(a, b));
    let (old, new) = (before.to_string(), p.to_string());
    let only = |a: &str, b: &str| {
        let there: std::collections::HashSet<&str> = b.lines().collect();
        a.lines().filter(|l| !there.contains(l)).collect::<Vec<_>>().join("\n")
    };
    let (gone, come) = (only(&old, &new), only(&new, &old));
    Err(format!(
        "{what}: {first:x?} ({} and {} words)\n--- gone\n{gone}\n--- new\n{come}\n--- before\n{old}",
        want.len(),
        got.len()
    ))
}

/// Runs each pass on a program by itself; on machine operations those that are meant for them.
fn each_pass(case: u64, p: &Program, stage: Stage) -> Result<(), String> {
    let (chip, options) = (chip(case), Options::default());
    let want = evaluated(p, STEPS)?;
    // Some passes are about machine operations: they are in the last stage's pipeline only, and only these are.
    let early = [Stage::Front, Stage::Ssa].map(|s| opt::pipeline(s, options.opt_level));
    let last = opt::pipeline(Stage::Legal, options.opt_level);
    for (place, pass) in opt::PASSES.iter().enumerate() {
        let meant = match stage {
            Stage::Legal => last.contains(&place),
            _ => !last.contains(&place) || early.iter().any(|p| p.contains(&place)),
        };
        if !meant {
            continue;
        }
        let what = format!("{chip}: pass {} ({stage:?})", pass.name);
        let mut q = p.clone();
        Session::new().run_pass(pass, stage, &mut q, chip, &options).map_err(|b| format!("{what}: {b}"))?;
        same(&want, &q, p, &what)?;
    }
    Ok(())
}

pub(crate) fn input(case: u64) -> (Vec<u8>, &'static str) {
    super::listing(&super::front_program(case))
}

pub(crate) fn case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let mut p = super::front_program(case);
    let (chip, options) = (chip(case), Options::default());
    verify::for_chip(&p, Phase::Front, chip).map_err(|e| format!("{e}\n{p}"))?;
    each_pass(case, &p, Stage::Front)?;
    let want = evaluated(&p, STEPS)?;
    let mut session = Session::new();
    for stage in [Stage::Front, Stage::Ssa, Stage::Legal] {
        let what = format!("{chip}: before {stage:?}");
        let before = p.clone();
        match stage {
            Stage::Front => {}
            Stage::Ssa => lower::run(&mut p, chip, &Abi::nvc0(chip), &options),
            Stage::Legal => p
                .funcs
                .values_mut()
                .try_for_each(|f| lower::legalise::run(f, chip))
                .map_err(|e| format!("{what}: {e}"))?,
        }
        verify::for_chip(&p, stage.phase(), chip).map_err(|v| format!("{what}: {v}"))?;
        same(&want, &p, &before, &what)?;
        if stage != Stage::Front {
            each_pass(case, &p, stage)?;
        }
        for &place in opt::pipeline(stage, options.opt_level) {
            let pass = &opt::PASSES[place];
            let before = p.clone();
            let what = format!("{chip}: pipeline up to {} ({stage:?})", pass.name);
            session.run_pass(pass, stage, &mut p, chip, &options).map_err(|b| format!("{what}: {b}"))?;
            same(&want, &p, &before, &what)?;
        }
    }
    tally.count("compared");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the random programs rely on: the carries of sums, which some passes fuse.
    #[test]
    fn the_evaluator_gives_the_carry_of_every_kind_of_sum() {
        let carry_of = |sum: &str| {
            let text = format!(
                "program\nkernel k() {{\nb0:\n    {sum}\n    add u32 %r3 0x0 0x0 %c2\n    st u32 # g[0x1000] %r3\n    exit\n}}\n"
            );
            let p = nvir::ir::parse::program(&text).unwrap_or_else(|d| panic!("{d:?}"));
            evaluated(&p, STEPS).expect(sum)[0].1
        };
        for (sum, carry) in [
            ("add u32 {%r1 %c2} 0xffffffff 0x1", 1),
            ("add u32 {%r1 %c2} 0xffffffff 0x0", 0),
            ("sub u32 {%r1 %c2} 0x5 0x5", 1),
            ("sub u32 {%r1 %c2} 0x5 0x6", 0),
            ("mad u32 {%r1 %c2} 0x10000 0xffff 0x10000", 1),
            ("mad u32 {%r1 %c2} 0x10000 0x10000 0xffffffff", 0),
            ("madhi u32 {%r1 %c2} 0xffffffff 0xffffffff 0x2", 1),
            ("madhi u32 {%r1 %c2} 0xffffffff 0xffffffff 0x1", 0),
            // What the shift pushes out is no carry.
            ("shladd u32 {%r1 %c2} 0x80000001 0x1 0xfffffffe", 1),
            ("shladd u32 {%r1 %c2} 0x80000001 0x1 0xfffffffd", 0),
        ] {
            assert_eq!(carry_of(sum), carry, "{sum}");
        }
    }
}
