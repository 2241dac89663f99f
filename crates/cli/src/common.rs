//! What several commands share: reading inputs, reporting what is wrong with them, exit codes.

use crate::report::{self, Class};
use crate::{out, output};
use nvir::compiler::{Domain, Spacing, StageOptions};
use nvir::diag::{Diagnostics, Fault};
use nvir::{CompileError, InitRegs, Language, OptLevel, Source, emu, input};
use nvir_fixture::run::Loaded;
use nvir_fixture::{Fixture, FixtureError};
use std::borrow::Cow;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The input is at fault.
pub(crate) fn input_error() -> ExitCode {
    ExitCode::from(1)
}

/// Says what is wrong with an input that no diagnostic has a place for.
pub(crate) fn fault(message: impl std::fmt::Display) -> ExitCode {
    report::error(Class::Of(Fault::Input), None, message);
    input_error()
}

/// Says what is wrong with a file.
pub(crate) fn fault_in(path: &Path, message: impl std::fmt::Display) -> ExitCode {
    report::error(Class::Of(Fault::Input), Some(path), message);
    input_error()
}

/// Says what the system refused: a result that cannot be written, no memory.
pub(crate) fn system(path: Option<&Path>, message: impl std::fmt::Display) -> ExitCode {
    report::error(Class::System, path, message);
    input_error()
}

/// A usage error.
pub(crate) fn usage(message: impl std::fmt::Display) -> ExitCode {
    report::error(Class::Usage, None, message);
    ExitCode::from(2)
}

/// A usage error about a file.
pub(crate) fn usage_of(path: &Path, message: impl std::fmt::Display) -> ExitCode {
    report::error(Class::Usage, Some(path), message);
    ExitCode::from(2)
}

/// Says on standard error what is wrong with an input.
pub(crate) fn report(d: &Diagnostics, name: &str, text: &str) {
    report::all(d, name, text);
}

/// Says why a fixture cannot be used.
pub(crate) fn broken_fixture(e: &FixtureError) -> ExitCode {
    // Without a text, what is known of the place is in the message.
    report::all(&e.what, &e.path.to_string_lossy(), &e.text);
    input_error()
}

/// A file's bytes, or standard input's for `-`.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, ExitCode> {
    input::read_any(path).map_err(|e| fault_in(path, input::why(&e)))
}

/// The same as text; of a SPIR-V module its listing.
pub(crate) fn read_text(path: &Path) -> Result<String, ExitCode> {
    let bytes = read_bytes(path)?;
    Ok(text_of(&bytes).map_err(|e| fault_in(path, e))?.into_owned())
}

/// A file's bytes as text; of a SPIR-V module its listing.
pub(crate) fn text_of(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    match nvir::front::spirv::is_module(bytes) {
        true => Language::SpirV.text(bytes),
        false => input::text(bytes).map(Into::into),
    }
}

/// A fixture with its source; `-` is a fixture on standard input, whose source is looked for here.
pub(crate) fn read_fixture(path: &Path) -> Result<Loaded, FixtureError> {
    if crate::program::is_program(path) {
        path.metadata().map_err(|e| FixtureError::new(path, input::why(&e)))?;
        return Err(crate::program::not_a_fixture(path));
    }
    if path != Path::new("-") {
        return Loaded::read(path);
    }
    let broken = |e: String| FixtureError::new(path, e);
    let bytes = input::read_from(std::io::stdin().lock()).map_err(|e| broken(e.to_string()))?;
    let fixture = Fixture::parse(path, input::text(&bytes).map_err(broken)?)?;
    let source = Loaded::source(path, &fixture)?;
    Loaded::new(path, fixture, source)
}

/// Writes a result to a file, or to standard output where none is named or it is `-`.
pub(crate) fn write_output(path: Option<&Path>, data: &[u8]) -> ExitCode {
    output::put(path, data)
}

/// Warnings, each of them once in a run.
#[derive(Default)]
pub(crate) struct Warnings(std::collections::BTreeSet<(PathBuf, String)>);

impl Warnings {
    /// Says what is likely to be a mistake in a fixture, unless it has been said.
    pub(crate) fn tell(&mut self, path: &Path, warnings: impl IntoIterator<Item = String>) {
        for w in warnings {
            if self.0.insert((path.to_path_buf(), w.clone())) {
                report::warning(Some(path), w);
            }
        }
    }
}

/// The language of a source, by an explicit choice or the file name's ending.
pub(crate) fn language_of(path: &Path, explicit: Option<Language>) -> Option<Language> {
    explicit.or_else(|| Language::of(path))
}

/// A language on the command line.
pub(crate) fn language(name: &str) -> Result<Language, String> {
    Language::of(&Path::new("input").with_extension(name))
        .ok_or_else(|| "unknown language; available: tgsi, nir, ir, spv".to_string())
}

/// An optimisation level on the command line: 0 to 3, or s.
pub(crate) fn level() -> impl clap::builder::TypedValueParser<Value = OptLevel> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(OptLevel::ALL.map(OptLevel::name)).try_map(|name| name.parse::<OptLevel>())
}

/// What to do about registers that are read before they are written, on the command line: 0 to 3.
pub(crate) fn init_regs() -> impl clap::builder::TypedValueParser<Value = InitRegs> {
    use clap::builder::TypedValueParser;
    clap::value_parser!(u8).range(0..=3).map(|n| InitRegs::ALL[usize::from(n)])
}

/// Says on standard error why a source did not compile.
pub(crate) fn report_error(e: &CompileError, source: &Source<'_>) -> ExitCode {
    report(e.diagnostics(), source.name, source.text);
    input_error()
}

/// A list of names between commas.
pub(crate) fn names(list: &Option<String>) -> Vec<String> {
    list.iter().flat_map(|l| l.split(',')).map(|n| n.trim().to_string()).filter(|n| !n.is_empty()).collect()
}

/// Regular files of some kind below paths, and files that are named themselves; each of them once. A folder without any is an
/// error.
pub(crate) fn find(
    paths: &[PathBuf],
    what: &str,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, ExitCode> {
    let mut found = Vec::new();
    let mut seen = input::Seen::default();
    for p in paths {
        if input::is_standard(p) {
            if !found.contains(p) {
                found.push(p.clone());
            }
            continue;
        }
        let wrong = |e: std::io::Error| fault_in(p, input::why(&e));
        let kind = p.metadata().map_err(wrong)?.file_type();
        if !kind.is_dir() {
            // A pipe has no other name.
            let new = if kind.is_file() { seen.first(p).map_err(wrong)? } else { !found.contains(p) };
            if new {
                found.push(p.clone());
            }
            continue;
        }
        // What is below a folder may have been found before.
        let any = std::cell::Cell::new(false);
        let noted = |f: &Path| {
            let yes = wanted(f);
            any.set(any.get() || yes);
            yes
        };
        let again = !seen.is_new(p).map_err(wrong)?;
        input::walk_new(p, &noted, &mut found, &mut seen).map_err(wrong)?;
        if !any.get() && !again {
            return Err(fault_in(p, format!("no {what} below")));
        }
    }
    Ok(found)
}

/// Fixtures below paths. What is skipped in folders is counted on standard error.
pub(crate) fn fixtures(paths: &[PathBuf]) -> Result<Vec<PathBuf>, ExitCode> {
    let (found, skipped) = fixtures_counted(paths)?;
    if skipped > 0 {
        report::note(not_fixtures(skipped));
    }
    Ok(found)
}

/// Fixtures below paths, and how many files in folders are TOML or JSON and not fixtures. A file that is named itself is one.
pub(crate) fn fixtures_counted(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, usize), ExitCode> {
    let skipped = std::cell::Cell::new(0);
    let wanted = |path: &Path| {
        let yes = Fixture::may_be(path);
        skipped.set(skipped.get() + usize::from(!yes && Fixture::has_name(path)));
        yes
    };
    Ok((find(paths, "fixture", &wanted)?, skipped.get()))
}

/// How many files were skipped, in words.
pub(crate) fn not_fixtures(skipped: usize) -> String {
    format!("{skipped} skipped (not fixtures)")
}

/// A progress bar on standard error if that is a terminal.
pub(crate) fn progress(len: usize) -> indicatif::ProgressBar {
    if !std::io::stderr().is_terminal() || out::dumb() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(len as u64);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{bar:40} {pos}/{len} {wide_msg} {eta}") {
        bar.set_style(style);
    }
    bar
}

/// Runs jobs on a number of threads (0: one a core), no more than there are jobs, and gives their results in order.
pub(crate) fn in_parallel<T: Sync, R: Send>(jobs: usize, items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    use rayon::prelude::*;
    let jobs = match (jobs, emu::thread_limit()) {
        (0, Some(most)) => most,
        (jobs, _) => jobs,
    };
    match rayon::ThreadPoolBuilder::new().num_threads(jobs.min(items.len())).stack_size(16 << 20).build() {
        Ok(pool) => pool.install(|| items.par_iter().map(&f).collect()),
        Err(_) => items.iter().map(f).collect(),
    }
}

/// How many jobs may run at once.
pub(crate) fn jobs() -> impl clap::builder::TypedValueParser<Value = usize> {
    use clap::builder::TypedValueParser;
    clap::value_parser!(u16).range(0..=1024).map(usize::from)
}

/// A number on the command line, decimal or hexadecimal.
pub(crate) fn number(text: &str) -> Result<u32, String> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => text.parse(),
    }
    .map_err(|e| e.to_string())
}

/// The same with another ending, as a file.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let stem = path.file_stem().filter(|s| *s != "-").unwrap_or(std::ffi::OsStr::new("kernel"));
    let mut name = stem.to_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}

/// `vertices-out=3,domain=triangles`: what the text of a graphics stage leaves out, and user clip planes.
pub(crate) fn stage_info(text: &str) -> Result<StageOptions, String> {
    const KEYS: &str = "vertices-out, domain, spacing, ccw, points, early-tests, post-depth-coverage, clip-distances, \
         cull-distances, clip-planes, clip-vertex-read, flush-subnormals";
    let mut stage = StageOptions::default();
    for pair in text.split(',') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, "1"));
        let small = || value.parse::<u8>().map_err(|_| format!("`{value}` is not a number from 0 to 255"));
        let flag = || small().map(|n| n != 0);
        match key.trim() {
            "vertices-out" => stage.tess.get_or_insert_default().vertices_out = small()?,
            "domain" => {
                let domain = match value {
                    "triangles" => Domain::Triangles,
                    "quads" => Domain::Quads,
                    "isolines" => Domain::Isolines,
                    _ => {
                        return Err(format!(
                            "unknown domain `{value}`; available: triangles, quads, isolines"
                        ));
                    }
                };
                stage.tess.get_or_insert_default().domain = Some(domain);
            }
            "spacing" => {
                let spacing = match value {
                    "equal" => Spacing::Equal,
                    "odd" => Spacing::FractionalOdd,
                    "even" => Spacing::FractionalEven,
                    _ => return Err(format!("unknown spacing `{value}`; available: equal, odd, even")),
                };
                stage.tess.get_or_insert_default().spacing = Some(spacing);
            }
            "ccw" => stage.tess.get_or_insert_default().ccw = flag()?,
            "points" => stage.tess.get_or_insert_default().point_mode = flag()?,
            "early-tests" => stage.fragment.get_or_insert_default().early_fragment_tests = flag()?,
            "post-depth-coverage" => stage.fragment.get_or_insert_default().post_depth_coverage = flag()?,
            "clip-distances" => stage.distances.get_or_insert_default().clip = small()?,
            "cull-distances" => stage.distances.get_or_insert_default().cull = small()?,
            "clip-planes" => stage.clip_planes = small()?,
            "clip-vertex-read" => stage.clip_vertex_read = flag()?,
            "flush-subnormals" => stage.flush_subnormals = flag()?,
            key => return Err(format!("unknown key `{key}`; available: {KEYS}")),
        }
    }
    Ok(stage)
}
