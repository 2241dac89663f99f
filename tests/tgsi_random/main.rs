//! Random TGSI programs: what the compiler makes of them computes what the reference interpreter does.
//!
//! A short run is part of the tests. Long ones, by count or with a budget in seconds:
//!
//! ```text
//! NVIR_PROGRAMS=20000 NVIR_FIRST=1 NVIR_THREADS=2 cargo test --release --test tgsi_random compiled -- --nocapture
//! NVIR_FUZZ_SECONDS=600 cargo test --release --test tgsi_random -- --nocapture
//! ```
//!
//! A failure prints the program, a smaller one, the first pass that matters, and the seed; `NVIR_FUZZ_SEED=0x...` repeats it, and with
//! `NVIR_FUZZ_MINIMIZE=1` looks for a smaller program that fails. `NVIR_KEEP=FOLDER` writes the smaller one and its fixture there.

mod case;
mod compute;
mod generate;
mod memory;
mod reduce;
mod resources;
mod stages;
mod tables;

use arbtest::arbtest;
use case::Left;
use generate::Program;
use nvir::Chip;
use nvir::emu::Checks;
use nvir::fixture::Fixture;
use nvir::fixture::run::Settings;
use nvir::{Compiler, OptLevel, Options, Source};
use rayon::prelude::*;

/// A number from the environment.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|s| s.parse().ok())
}

fn budget(share: u64) -> u64 {
    variable("NVIR_FUZZ_SECONDS").map_or(2_000, |s| s * 1000) / share
}

fn settings(opt_level: OptLevel) -> Settings {
    Settings {
        options: Options::at(opt_level),
        step_limit: 1 << 22,
        checks: Checks::ALL,
        ..Settings::default()
    }
}

/// Whether two floats are as close as functions of the machine come.
fn near(a: u32, b: u32) -> bool {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    a == b || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-6 + 1e-4 * x.abs().max(y.abs())
}

/// Whether the channels of two texels differ by a step at most, as bytes or halves of words; where texels have no
/// rounding of their own they are equal.
fn near_texel(a: u32, b: u32, bits: u32) -> bool {
    let fields = 32 / bits;
    let field = |w: u32, n: u32| i64::from(w >> (n * bits) & (((1u64 << bits) - 1) as u32));
    (0..fields).all(|n| {
        let apart = (field(a, n) - field(b, n)).abs();
        apart <= 1 || apart == (1 << bits) - 1
    })
}

/// Where what was left is not what is wanted.
fn compare(fixture: &Fixture, got: &Left, want: &Left) -> Option<String> {
    for (name, want) in want {
        let (got, want) = (case::words(&got[name]), case::words(want));
        let format = fixture.tests[0].images.get(name).map(|i| i.format.as_str());
        let same = |a: u32, b: u32| match (name.as_str(), format) {
            _ if a == b => true,
            ("buffer2", _) => near(a, b),
            (_, Some("rgba8" | "rgba8_snorm" | "r8" | "bgra8")) => near_texel(a, b, 8),
            (_, Some("rg16" | "r16_snorm")) => near_texel(a, b, 16),
            _ => false,
        };
        if let Some(n) = (0..want.len()).find(|&n| !same(got[n], want[n])) {
            let place = format!("thread {}, word {}", n / 32, n % 32);
            return Some(format!(
                "{name}, word {n} ({place}): {:#x}, the interpreter says {:#x}",
                got[n], want[n]
            ));
        }
    }
    None
}

/// What the compiled program does otherwise than the interpreter; nothing if the interpreter refuses the program.
fn difference(fixture: &Fixture, text: &str, chip: Chip, settings: &Settings) -> Option<String> {
    let want = case::interpreted(fixture, text).ok()?;
    match case::compiled(fixture, text, chip, settings) {
        Err(e) => Some(e),
        Ok(got) => compare(fixture, &got, &want),
    }
}

/// One random program: on every chip, unoptimised and optimised, it leaves what the interpreter leaves.
fn check(u: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<()> {
    let Program { text, setup } = generate::program(u)?;
    let fixture = setup.fixture();
    let want = case::interpreted(&fixture, &text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    for chip in Chip::ALL {
        for level in [OptLevel::O0, OptLevel::O3] {
            let why = match case::compiled(&fixture, &text, chip, &settings(level)) {
                Err(e) => e,
                Ok(got) => match compare(&fixture, &got, &want) {
                    Some(why) => why,
                    None => continue,
                },
            };
            let settings = settings(level);
            let small = reduce::reduce(&text, |t| difference(&fixture, t, chip, &settings).is_some());
            let smaller = difference(&fixture, &small, chip, &settings).unwrap_or_default();
            let pass = (0..400).find(|&n| {
                let mut limited = settings.clone();
                limited.options.debug.bisect_limit = Some(n);
                difference(&fixture, &small, chip, &limited).is_some()
            });
            if let Ok(folder) = std::env::var("NVIR_KEEP") {
                let write = |name: &str, what: &str| std::fs::write(format!("{folder}/{name}"), what);
                write("case.tgsi", &small)
                    .and_then(|()| write("case.json", &setup.json()))
                    .expect("it can be written");
            }
            panic!(
                "{text}\n{chip} -O{level}: {why}\n\n{small}\n{smaller}\nfirst wrong with --bisect-limit {pass:?}"
            );
        }
    }
    Ok(())
}

/// The programs of `count` seeds from `first` on.
fn check_many(first: u64, count: u64, check: Check) {
    let threads = variable("NVIR_THREADS").unwrap_or(2) as usize;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let start = std::time::Instant::now();
    pool.install(|| {
        (first..first + count).into_par_iter().for_each(|n| {
            // Sizes from small to large, without a pattern.
            let size = 1024 + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50);
            arbtest(check).seed(n << 32 | size).run();
        });
    });
    let seconds = start.elapsed().as_secs();
    println!(
        "programs {first} to {}: {count} without a difference on three chips at two levels, {seconds} s",
        first + count - 1
    );
}

type Check = fn(&mut arbitrary::Unstructured<'_>) -> arbitrary::Result<()>;

#[test]
fn compiled_programs_compute_what_the_interpreter_computes() {
    run(check, 31);
}

#[test]
fn compiled_stages_compute_what_the_interpreter_computes() {
    run(stages::check, 60);
}

/// Checks so many programs, or what the environment says.
fn run(check: Check, short: u64) {
    /// Bytes that a program of the short run is made from.
    const SIZE: u64 = 1600;
    let seed = std::env::var("NVIR_FUZZ_SEED").ok();
    let seed = seed.and_then(|s| u64::from_str_radix(s.trim_start_matches("0x"), 16).ok());
    match (seed, variable("NVIR_PROGRAMS")) {
        (Some(seed), _) if std::env::var_os("NVIR_FUZZ_MINIMIZE").is_some() => {
            arbtest(check).seed(seed).budget_ms(6_000).minimize().run();
        }
        (Some(seed), _) => arbtest(check).seed(seed).run(),
        (_, Some(count)) => check_many(variable("NVIR_FIRST").unwrap_or(1), count, check),
        _ if std::env::var_os("NVIR_FUZZ_SECONDS").is_some() => {
            arbtest(check).size_min(1 << 10).size_max(1 << 14).budget_ms(budget(2)).run();
        }
        _ => (1..=short).for_each(|n| arbtest(check).seed(n << 32 | SIZE).run()),
    }
}

#[test]
fn mutated_texts_end_in_a_result_or_diagnostics() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tgsi");
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "tgsi"))
        .filter_map(|p| std::fs::read_to_string(p).ok())
        .collect();
    texts.sort();
    arbtest(|u| {
        let mut text = u.choose(&texts)?.clone();
        for _ in 0..u.int_in_range(1..=6)? {
            let at = text.floor_char_boundary(u.int_in_range(0..=text.len())?);
            let end = text.floor_char_boundary((at + u.int_in_range(0..=12)?).min(text.len()));
            let other = u.choose(&texts)?;
            let from = other.floor_char_boundary(u.int_in_range(0..=other.len())?);
            let to = other.floor_char_boundary((from + u.int_in_range(0..=12)?).min(other.len()));
            text.replace_range(at..end, &other[from..to]);
            if u.ratio(1, 16)? {
                let cut = text.floor_char_boundary(u.int_in_range(0..=text.len())?);
                text.truncate(cut);
            }
        }
        for chip in Chip::ALL {
            let compiler =
                Compiler::new(chip).with_options(Options { private_bytes: 64, ..Options::default() });
            match compiler.front(&Source::tgsi(&text)) {
                Ok(program) => {
                    if let Err(v) = nvir::verify::program(&program, nvir::ir::Phase::Front) {
                        panic!("{text}\n{v}");
                    }
                }
                Err(e) => drop(e.to_string()),
            }
        }
        Ok(())
    })
    .size_min(1 << 8)
    .size_max(1 << 10)
    .budget_ms(budget(2));
}
