//! Programs that check themselves: what they report is what the emulator's memcheck finds, and clean programs stay as they are.

mod clean;
mod faults;
mod wrap;

use nvir::Chip;
use nvir::compiler::{DebugOptions, OptLevel, Options, Sanitize};
use nvir_fixture::format::Fixture;
use nvir_fixture::run::{Loaded, Settings, TestReport};
use std::path::Path;

/// Level and register limit.
const WAYS: [(OptLevel, Option<u32>); 3] =
    [(OptLevel::O0, None), (OptLevel::O3, None), (OptLevel::O3, Some(18))];

fn settings((opt_level, max_gprs): (OptLevel, Option<u32>), sanitize: Sanitize) -> Settings {
    let debug = DebugOptions::verifying();
    Settings {
        options: Options { max_gprs, sanitize, debug, ..Options::at(opt_level) },
        ..Settings::default()
    }
}

/// The report of a fixture's only test.
fn only(source: &str, text: &str, toml: &str, chip: Chip, settings: &Settings) -> TestReport {
    let path = Path::new("k.toml");
    let fixture = Fixture::parse(path, &format!("source = \"{source}\"\n{toml}"));
    let fixture = fixture.unwrap_or_else(|e| panic!("{e}\n{toml}"));
    let loaded = Loaded::new(path, fixture, text.as_bytes().to_vec()).expect("a fixture");
    let mut all = loaded.run(chip, None, settings, &mut None, |_, _| ());
    assert_eq!(all.len(), 1, "one test");
    all.remove(0)
}
