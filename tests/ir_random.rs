//! Passes on random programs: every single pass, and every prefix of the pipeline with its lowering, keeps what a program
//! computes, as the evaluator says.
//!
//! `NVIR_IR_PROGRAMS` sets how many programs each test takes (default 150), `NVIR_IR_SEED` the first one's number.

use nvir::Chip;
use nvir::compiler::Options;
use nvir::driver::Abi;
use nvir::ir::Phase;
use nvir::ir::{Program, Space};
use nvir::opt::{self, Session, Stage};
use nvir::reference::eval::{self, Machine};
use nvir::reference::random::{self, Seed, Size};
use nvir::{lower, verify};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(default)
}

const STEPS: u64 = 1_000_000;

/// What a program leaves in memory that is not its own private. Which NaN a result is does not count.
fn results(p: &Program, what: &str) -> Vec<((Space, u64), u32)> {
    let mut m = Machine::new(STEPS);
    eval::run(p, &mut m).unwrap_or_else(|e| panic!("{what}: evaluation: {e}\n{p}"));
    let visible = m.words.into_iter().filter(|w| w.0.0 != Space::Local);
    let mut words: Vec<_> = visible.collect();
    words.sort_unstable_by_key(|w| (w.0.1, w.0.0));
    words
}

fn is_nan(x: u32) -> bool {
    f32::from_bits(x).is_nan()
}

#[track_caller]
fn same(want: &[((Space, u64), u32)], p: &Program, before: &Program, what: &str) {
    let got = results(p, what);
    let equal = |a: &((Space, u64), u32), b: &((Space, u64), u32)| {
        a.0 == b.0 && (a.1 == b.1 || is_nan(a.1) && is_nan(b.1))
    };
    if want.len() == got.len() && want.iter().zip(&got).all(|(a, b)| equal(a, b)) {
        return;
    }
    let first = want.iter().zip(&got).find(|(a, b)| !equal(a, b));
    let (old, new) = (before.to_string(), p.to_string());
    let only = |a: &str, b: &str| {
        let there: std::collections::HashSet<&str> = b.lines().collect();
        a.lines().filter(|l| !there.contains(l)).collect::<Vec<_>>().join("\n")
    };
    let (gone, come) = (only(&old, &new), only(&new, &old));
    panic!(
        "{what}: {first:x?} ({} and {} words)\n--- gone\n{gone}\n--- new\n{come}\n--- before\n{old}",
        want.len(),
        got.len()
    );
}

fn chip(seed: u64) -> Chip {
    Chip::ALL[seed as usize % Chip::ALL.len()]
}

fn for_programs(mut each: impl FnMut(u64, Program)) {
    let (first, count) = (number("NVIR_IR_SEED", 0), number("NVIR_IR_PROGRAMS", 150));
    for seed in first..first + count {
        let size = Size { statements: 10 + (seed % 5) as u32 * 10, ..Size::SMALL };
        let p = random::front_program(&mut Seed::new(seed), size);
        if let Err(e) = verify::for_chip(&p, Phase::Front, chip(seed)) {
            panic!("seed {seed}: {e}\n{p}");
        }
        each(seed, p);
    }
}

/// Runs each pass on a program by itself; on machine operations those that are meant for them.
fn each_pass(seed: u64, p: &Program, stage: Stage) {
    let (chip, options) = (chip(seed), Options::default());
    let want = results(p, &format!("seed {seed}"));
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
        let what = format!("seed {seed} {chip}: pass {} ({stage:?})", pass.name);
        let mut q = p.clone();
        Session::new()
            .run_pass(pass, stage, &mut q, chip, &options)
            .unwrap_or_else(|b| panic!("{what}: {b}"));
        same(&want, &q, p, &what);
    }
}

#[test]
fn every_single_pass_keeps_what_a_program_computes() {
    for_programs(|seed, p| each_pass(seed, &p, Stage::Front));
}

#[test]
fn every_prefix_of_the_pipeline_keeps_what_a_program_computes() {
    for_programs(|seed, mut p| {
        let (chip, options) = (chip(seed), Options::default());
        let want = results(&p, &format!("seed {seed}"));
        let mut session = Session::new();
        for stage in [Stage::Front, Stage::Ssa, Stage::Legal] {
            let what = format!("seed {seed} {chip}: before {stage:?}");
            let before = p.clone();
            match stage {
                Stage::Front => {}
                Stage::Ssa => lower::run(&mut p, chip, &Abi::nvc0(chip), &options),
                Stage::Legal => p
                    .funcs
                    .values_mut()
                    .try_for_each(|f| lower::legalise::run(f, chip))
                    .unwrap_or_else(|e| panic!("{what}: {e}")),
            }
            verify::for_chip(&p, stage.phase(), chip).unwrap_or_else(|v| panic!("{what}: {v}"));
            same(&want, &p, &before, &what);
            if stage != Stage::Front {
                each_pass(seed, &p, stage);
            }
            for &place in opt::pipeline(stage, options.opt_level) {
                let pass = &opt::PASSES[place];
                let before = p.clone();
                let what = format!("seed {seed} {chip}: pipeline up to {} ({stage:?})", pass.name);
                session
                    .run_pass(pass, stage, &mut p, chip, &options)
                    .unwrap_or_else(|b| panic!("{what}: {b}"));
                same(&want, &p, &before, &what);
            }
        }
    });
}

/// What the random programs rely on: the carries of sums, which some passes fuse.
#[test]
fn the_evaluator_gives_the_carry_of_every_kind_of_sum() {
    let carry_of = |sum: &str| {
        let text = format!(
            "program\nkernel k() {{\nb0:\n    {sum}\n    add u32 %r3 0x0 0x0 %c2\n    st u32 # g[0x1000] %r3\n    exit\n}}\n"
        );
        let p = nvir::ir::parse::program(&text).unwrap_or_else(|d| panic!("{d:?}"));
        results(&p, sum)[0].1
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
