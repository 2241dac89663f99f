//! Random TGSI programs: what the compiler makes of them computes what the reference interpreter does.
//!
//! `generate` makes compute programs and `stages` vertex and fragment programs, both without races and without reading
//! what nothing has written, so that every checker of the emulator is on. A finding is made smaller by `reduce`.

mod case;
mod compute;
mod generate;
mod memory;
mod reduce;
mod resources;
mod stages;
mod tables;

use crate::config::Config;
use crate::runner::{self, Tally};
use arbitrary::Unstructured;
use case::Left;
use generate::Program;
use nvir::random::Random;
use nvir_fixture::Fixture;

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
fn difference(fixture: &Fixture, text: &str, config: &Config) -> Option<String> {
    let want = case::interpreted(fixture, text).ok()?;
    match case::compiled(fixture, text, config.chip, &config.settings) {
        Err(e) => Some(e),
        Ok(got) => compare(fixture, &got, &want),
    }
}

/// A program with its fixture as JSON, and why it differs from the interpreter in a config.
struct Finding<'a> {
    text: &'a str,
    json: &'a str,
    config: &'a Config,
    why: String,
}

impl Finding<'_> {
    /// The program, a smaller one for which `wrong` still says something, and the first pass run that matters.
    fn report(&self, wrong: impl Fn(&str, &Config) -> Option<String>) -> String {
        let Finding { text, json, config, why } = self;
        // Something else may be wrong with a smaller program.
        let class = runner::class(why);
        let wrong = |t: &str, s: &Config| wrong(t, s).filter(|w| runner::class(w) == class);
        let small = reduce::reduce(text, |t| wrong(t, config).is_some());
        let smaller = wrong(&small, config).unwrap_or_default();
        let pass = (0..400).find(|&n| {
            let mut limited = (*config).clone();
            limited.settings.options.debug.bisect_limit = Some(n);
            wrong(&small, &limited).is_some()
        });
        format!(
            "{config}: {why}\n{text}\n\nmade smaller: {smaller}\n{small}\nfirst wrong with --bisect-limit {pass:?}\n\
             its fixture:\n{json}"
        )
    }
}

/// Makes a case of a generator that decides by bytes. Bytes that run out end a program early, and leave none at all in
/// few cases.
fn made<T>(
    kind: u64,
    case: u64,
    make: impl Fn(&mut Unstructured<'_>) -> arbitrary::Result<T>,
) -> (Option<T>, Random) {
    let mut r = Random::of(kind, case);
    let bytes = r.decisions();
    (make(&mut Unstructured::new(&bytes)).ok(), r)
}

const COMPUTE: u64 = 0x7467_7369;
const STAGES: u64 = 0x7374_6167;

fn input(program: Option<String>) -> (Vec<u8>, &'static str) {
    (program.unwrap_or_default().into_bytes(), "tgsi")
}

pub(crate) fn compute_input(case: u64) -> (Vec<u8>, &'static str) {
    input(made(COMPUTE, case, generate::program).0.map(|p| p.text))
}

pub(crate) fn stages_input(case: u64) -> (Vec<u8>, &'static str) {
    input(made(STAGES, case, stages::program).0.map(|p| p.text))
}

/// A compute program: on every chip, at two levels, it leaves what the interpreter leaves.
pub(crate) fn compute_case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (Some(Program { text, setup }), mut r) = made(COMPUTE, case, generate::program) else {
        return Ok(());
    };
    let fixture = setup.fixture();
    let want = case::interpreted(&fixture, &text).map_err(|e| format!("{e}\n{text}"))?;
    for config in Config::of_kernel(&mut r) {
        let why = match case::compiled(&fixture, &text, config.chip, &config.settings) {
            Err(e) => e,
            Ok(got) => match compare(&fixture, &got, &want) {
                Some(why) => why,
                None => continue,
            },
        };
        let finding = Finding { text: &text, json: &setup.json(), config: &config, why };
        return Err(finding.report(|t, s| difference(&fixture, t, s)));
    }
    tally.count("compared");
    Ok(())
}

/// A vertex or fragment program likewise.
pub(crate) fn stages_case(case: u64, tally: &mut Tally) -> Result<(), String> {
    let (Some(stages::Program { text, json }), mut r) = made(STAGES, case, stages::program) else {
        return Ok(());
    };
    let fixture = stages::expected(&json, &text).map_err(|e| format!("{e}\n{text}"))?;
    for config in Config::of_case(&mut r) {
        let Some(why) = stages::difference(&fixture, &text, &config) else { continue };
        let finding = Finding { text: &text, json: &json, config: &config, why };
        return Err(finding.report(|t, s| {
            let fixture = stages::expected(&json, t).ok()?;
            stages::difference(&fixture, t, s).filter(|w| w.contains(" is "))
        }));
    }
    tally.count("compared");
    Ok(())
}
